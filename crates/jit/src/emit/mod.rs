//! Code generation: from operations to instructions with AVX-512.
//!
//! Registers: `r15` the context, `r12`, `r13`, `r14` the rows of 32-bit words, the rows of 64-bit words and the
//! predicates of the frame, `rbp` the budget, `r11` constants; `rax`, `rcx`, `rdx` and the first vector registers are temporary.
//! `k6` and `k7` are the lanes that an operation writes, where these are not all.

mod abreast;
mod access;
mod atomic;
mod bits;
mod carry;
mod common;
mod compute;
mod control;
mod convert;
mod divide_wide;
mod double;
mod elements;
mod exchange;
mod finish;
mod float;
mod flushed;
mod fold;
mod guard;
mod half;
mod idle;
mod index;
mod integer;
mod interpolate;
mod late;
mod leading;
mod logic;
mod nans;
mod one;
mod own;
mod packed;
mod plain;
mod predicates;
mod prefetch;
mod products;
mod quick;
mod rounded;
mod rows;
mod scalar;
mod several;
mod short;
mod span;
mod special;
mod strided;
mod stub;
mod together;
mod unit;
mod update;
mod verify;
mod wide_convert;

pub(crate) use common::Common;
pub(crate) use late::{Alone, Checked, Labels, Late};
pub(crate) use quick::Quick;
pub use unit::Part;
pub(crate) use unit::Unit;

use crate::assembler::*;
use crate::buffers::Buffer;
use crate::classes::{AtBarriers, Class, Classes, Steps};
use crate::decode::{Action, Compute, Width};
use crate::flow::{Flow, Touch};
use crate::fuse::Fused;
use crate::groups::Groups;
use crate::places::{Place, SCALARS, SCALARS_OF_HALVES, TEMPORARIES, places};
use crate::quotients::Reciprocal;
use crate::row_addresses::RowAddresses;
use crate::sets::BitSets;
use crate::spans::Spans;
use crate::{Level, Mode, Shape, same};
use softwarp_ir::{Alu, Function, Guard, Op, Slot, Step};

pub(crate) type Emitted<T = ()> = Encoded<T>;

pub(crate) const ZMM: [AsmRegisterZmm; 32] = [
    zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7, zmm8, zmm9, zmm10, zmm11, zmm12, zmm13, zmm14, zmm15,
    zmm16, zmm17, zmm18, zmm19, zmm20, zmm21, zmm22, zmm23, zmm24, zmm25, zmm26, zmm27, zmm28, zmm29, zmm30,
    zmm31,
];
pub(crate) const YMM: [AsmRegisterYmm; 32] = [
    ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11, ymm12, ymm13, ymm14, ymm15,
    ymm16, ymm17, ymm18, ymm19, ymm20, ymm21, ymm22, ymm23, ymm24, ymm25, ymm26, ymm27, ymm28, ymm29, ymm30,
    ymm31,
];
pub(crate) const XMM: [AsmRegisterXmm; 32] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14, xmm15,
    xmm16, xmm17, xmm18, xmm19, xmm20, xmm21, xmm22, xmm23, xmm24, xmm25, xmm26, xmm27, xmm28, xmm29, xmm30,
    xmm31,
];
pub(crate) const G64: [AsmRegister64; 16] =
    [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15];
pub(crate) const G32: [AsmRegister32; 16] =
    [eax, ecx, edx, ebx, esp, ebp, esi, edi, r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d];

/// The number of `rax`.
pub(crate) const RAX: u8 = 0;
pub(crate) const RCX: u8 = 1;
pub(crate) const RDX: u8 = 2;

/// A vector operand.
#[derive(Clone, Copy)]
pub(crate) enum Vector {
    Register(u8),
    /// 64 bytes of memory.
    Memory(AsmMemoryOperand),
    /// The first word of a row, for all lanes.
    Broadcast(Slot),
    /// What a load reads: 64 bytes of memory at any address, or an element for all lanes.
    Loaded(AsmMemoryOperand),
}

/// A vector instruction with three operands, the last of which may be in memory.
macro_rules! vector3 {
    ($self:ident, $op:ident, $d:expr, $a:expr, $b:expr) => {{
        let b = $self.operand($b);
        $self.unit.a.$op($d, $a, b)?
    }};
}
pub(crate) use vector3;

/// A field of the context.
macro_rules! field {
    ($field:ident) => {
        (r15 + std::mem::offset_of!(crate::context::Context, $field))
    };
}
pub(crate) use field;

/// Emits the code of one mode of a function.
pub(crate) struct Emitter<'a> {
    pub(crate) unit: &'a mut Unit,
    pub(crate) function: &'a Function,
    pub(crate) flow: &'a Flow<'a>,
    pub(crate) classes: Classes<'a>,
    pub(crate) places: Buffer<Place>,
    /// Addresses that accesses compute.
    pub(crate) addresses: RowAddresses,
    /// The operations of such an address are performed after all.
    rebuilds: bool,
    pub(crate) mode: Mode,
    /// All registers that webs have, as bits: vectors and scalars.
    pub(crate) used: (u32, u16),
    /// The webs of a block that are not in their rows of the frame: of the block that was asked for last.
    outside: (Option<usize>, Vec<usize>),
    /// Webs of f32 whose NaNs are made canonical when they are used.
    pub(crate) lazy: Buffer<bool>,
    /// The webs without signalling NaNs, if any operation asks for them.
    pub(crate) quiet: Buffer<bool>,
    pub(crate) own: &'a mut Labels,
    /// The labels of the other mode.
    pub(crate) other: &'a Labels,
    /// Whether there is masked code.
    pub(crate) has_masked: bool,
    /// The sites of accesses.
    pub(crate) sites: &'a [u8],
    pub(crate) late: Buffer<Late>,
    /// Exits by operation, of code for all lanes, and of code for some while others wait at a block: the number of the
    /// code in `late`, plus one; or 0.
    exits: Buffer<[u32; 2]>,
    /// Code that leaves for some lanes, by the block at which the others wait.
    waits: Vec<(usize, CodeLabel)>,
    /// A routine that has the interpreter perform an operation, and code that saves all registers of webs in the context
    /// and leaves.
    pub(crate) perform: CodeLabel,
    pub(crate) leave_with_registers: CodeLabel,
    /// The affine values of the frame where uniform code is left at barriers.
    pub(crate) at_barriers: AtBarriers,
    /// The webs that are written between the last entry and the start of each block, once this is needed.
    pub(crate) written: Option<BitSets>,
    /// Results that are written to the frame where they are computed: operations and webs, sorted.
    pub(crate) kept: Vec<(usize, usize)>,
    /// The webs that a block leaves in the frame: of the block that was asked for last.
    untouched: Option<(usize, Vec<usize>)>,
    /// Accesses that are checked together.
    pub(crate) groups: &'a Groups,
    /// Loads that are performed together.
    pub(crate) spans: &'a Spans,
    /// What quotients do with reciprocals, by operation.
    pub(crate) reciprocals: &'a [Reciprocal],
    /// How many operations among the lanes of a warp there are before each operation. Empty if there are none.
    exchanges_before: &'a [u32],
    /// Groups that the code of the block has checked.
    pub(crate) checked: Vec<Checked>,
    /// Operations that are compiled again without groups.
    pub(crate) without_groups: Vec<Alone>,
    /// Each access is checked alone.
    pub(crate) alone: bool,
    /// Only the lanes in the mask registers are written.
    pub(crate) masked: bool,
    /// In uniform code for some lanes, which execute the blocks of an `if`: the block at which the others wait.
    pub(crate) apart: Option<usize>,
    /// The number of these lanes, where they are the first ones.
    leading: Option<leading::Leading>,
    /// These lanes, where they are known and all of them execute.
    lanes: Option<u32>,
    /// Vectors of f32 that are the same in all lanes ([`same`]).
    pub(crate) same: Buffer<bool>,
    /// The group of accesses that is checked for these lanes: its first access.
    leading_group: Option<usize>,
    /// The predicate that the operation before has left in `eax`.
    in_eax: Option<Slot>,
    /// The operation before has compared, and goes to these labels where its result is the same in all lanes.
    quick: Option<Quick>,
    /// A comparison of scalars that nothing but the branch behind it reads, which performs it.
    decides: Option<usize>,
    /// A web whose NaNs the code of the operation has made canonical.
    clean: Option<usize>,
    /// An affine web whose first lane is in the last temporary register, since its place in the frame is written.
    held: Option<usize>,
    /// While arithmetic is emitted: the rows of the frame that it has begun to write.
    begun: Option<[Option<Slot>; 2]>,
    /// Loads that are operands.
    folds: fold::Folds,
    /// Accesses with prefetches, and the rows of the pointers to their arrays.
    prefetched: Vec<(usize, Slot)>,
    /// The accesses that are prefetched for the next CTA or the next round of a loop.
    prefetched_ahead: Vec<usize>,
    /// Warps that come to the barrier or end where code is left without doing anything.
    idle: Option<idle::Idle>,
}

/// All registers that webs have, as bits: vectors and scalars.
fn used_registers(flow: &Flow, places: &[Place]) -> (u32, u16) {
    let (mut vectors, mut scalars) = (0, 0);
    for (web, place) in flow.webs.iter().zip(places) {
        match place {
            Place::Frame | Place::Halves => {}
            Place::Vector(registers) => {
                let used = &registers[..if web.is_wide() { 4 } else { 2 }];
                used.iter().for_each(|register| vectors |= 1 << register);
            }
            Place::Scalar(register) => scalars |= 1 << register,
        }
    }
    (vectors, scalars)
}

/// The last temporary register.
const HELD: u8 = TEMPORARIES - 1;

impl<'a> Emitter<'a> {
    pub(crate) fn new(
        unit: &'a mut Unit,
        function: &'a Function,
        (flow, common): (&'a Flow<'a>, &'a Common),
        (shape, mode): (Shape, Mode),
        (own, other): (&'a mut Labels, &'a Labels),
        has_masked: bool,
    ) -> Emitter<'a> {
        let classes = Classes::of(function, flow, &common.fixed, (shape, mode));
        let same = same::find(function, flow, &classes, mode);
        let scalars = match unit.level {
            Level::Avx2 => &SCALARS_OF_HALVES[..],
            Level::Avx512 => &SCALARS,
        };
        let addresses = RowAddresses::of(function, flow, &classes, mode);
        let places = places(flow, &classes, &addresses, mode, scalars);
        let used = used_registers(flow, &places);
        let [perform, leave_with_registers] = std::array::from_fn(|_| unit.a.create_label());
        let mut emitter = Emitter {
            perform,
            leave_with_registers,
            unit,
            function,
            flow,
            classes,
            places,
            addresses,
            rebuilds: false,
            mode,
            used,
            outside: (None, Vec::new()),
            lazy: Buffer::default(),
            quiet: Buffer::default(),
            own,
            other,
            has_masked,
            sites: &common.sites,
            late: Buffer::new(64),
            exits: Buffer::filled([0; 2], function.ops.len() + 1),
            waits: Vec::new(),
            at_barriers: Vec::new(),
            written: None,
            kept: Vec::new(),
            untouched: None,
            groups: &common.groups,
            spans: &common.spans,
            reciprocals: &common.reciprocals,
            exchanges_before: &common.exchanges_before,
            checked: Vec::new(),
            without_groups: Vec::new(),
            alone: false,
            masked: mode == Mode::Masked,
            apart: None,
            leading: None,
            lanes: None,
            same,
            leading_group: None,
            in_eax: None,
            quick: None,
            decides: None,
            clean: None,
            held: None,
            begun: None,
            folds: fold::Folds::default(),
            prefetched: Vec::new(),
            prefetched_ahead: Vec::new(),
            idle: None,
        };
        emitter.lazy = emitter.find_lazy();
        emitter.quiet = emitter.find_quiet();
        emitter.kept = emitter.find_kept();
        emitter
    }

    /// The memory of a part of a row: 64 bytes.
    pub(crate) fn row(&self, slot: Slot, part: usize) -> AsmMemoryOperand {
        let (base, bytes) = if slot.is_wide() { (r13, 256) } else { (r12, 128) };
        zmmword_ptr(base + (slot.number() as usize * bytes + 64 * part))
    }

    /// The first word of a row.
    pub(crate) fn first(&self, slot: Slot) -> AsmMemoryOperand {
        match slot.is_wide() {
            true => qword_ptr(r13 + slot.number() as usize * 256),
            false => dword_ptr(r12 + slot.number() as usize * 128),
        }
    }

    pub(crate) fn broadcast_of(&self, slot: Slot) -> AsmMemoryOperand {
        match slot.is_wide() {
            true => qword_bcst(r13 + slot.number() as usize * 256),
            false => dword_bcst(r12 + slot.number() as usize * 128),
        }
    }

    /// A vector as the last operand of an instruction.
    pub(crate) fn operand(&self, vector: Vector) -> Operand {
        match vector {
            Vector::Register(register) => Operand::Register(ZMM[usize::from(register)]),
            Vector::Memory(memory) | Vector::Loaded(memory) => Operand::Memory(memory),
            Vector::Broadcast(slot) => Operand::Memory(self.broadcast_of(slot)),
        }
    }

    /// A predicate.
    pub(crate) fn predicate(&self, slot: Slot) -> AsmMemoryOperand {
        dword_ptr(r14 + slot.number() as usize * 4)
    }

    /// A part of a source, as an operand of an instruction on words as wide as the row's. `float` says that any NaN is
    /// as good as the canonical one. The temporary register may be used.
    pub(crate) fn source(
        &mut self,
        op: usize,
        slot: Slot,
        part: usize,
        temporary: u8,
        float: bool,
    ) -> Emitted<Vector> {
        if self.flow.is_fixed(slot) {
            let row = self.row(slot, part);
            let even = self.classes.constant(self.flow, slot).is_some();
            return Ok(Vector::Memory(if even { row.even() } else { row }));
        }
        let Some(web) = self.flow.read(op, slot) else { return Ok(Vector::Memory(self.row(slot, part))) };
        self.web_part(web, part, temporary, float)
    }

    /// A part of a web.
    pub(crate) fn web_part(
        &mut self,
        web: usize,
        part: usize,
        temporary: u8,
        float: bool,
    ) -> Emitted<Vector> {
        if let Some(folded) = self.folded(web, part)? {
            return Ok(folded);
        }
        let t = ZMM[usize::from(temporary)];
        if let Place::Vector(registers) = self.places[web] {
            if self.lazy[web] && !float && self.clean != Some(web) {
                self.unit.a.vmovdqa64(t, ZMM[usize::from(registers[part])])?;
                self.canonical(temporary)?;
                return Ok(Vector::Register(temporary));
            }
            return Ok(Vector::Register(registers[part]));
        }
        let slot = self.flow.webs[web].slot;
        let wide = slot.is_wide();
        match (self.classes.webs[web], self.places[web]) {
            (Class::HalfAffine(step), Place::Halves) => self.pair_part(slot, step, part, temporary),
            (Class::Varying | Class::HalfAffine(_) | Class::Unknown, _) => {
                Ok(Vector::Memory(self.row(slot, part)))
            }
            (Class::UNIFORM, Place::Frame) if self.held == Some(web) => Ok(Vector::Register(HELD)),
            (Class::UNIFORM, Place::Frame) => {
                self.check_first(slot)?;
                Ok(Vector::Broadcast(slot))
            }
            (Class::Affine(steps), place) => {
                if place == Place::Frame && self.held != Some(web) {
                    self.check_first(slot)?;
                }
                match (place.scalar(), wide) {
                    (_, true | false) if self.held == Some(web) => {
                        self.unit.a.vmovdqa64(t, ZMM[usize::from(HELD)])?;
                    }
                    (Some(g), true) => self.unit.a.vpbroadcastq(t, G64[usize::from(g)])?,
                    (Some(g), false) => self.unit.a.vpbroadcastd(t, G32[usize::from(g)])?,
                    (None, true) => self.unit.a.vpbroadcastq(t, self.first(slot))?,
                    (None, false) => self.unit.a.vpbroadcastd(t, self.first(slot))?,
                }
                if steps != Steps::ZERO {
                    let steps = self.unit.steps(steps, part, wide);
                    match wide {
                        true => self.unit.a.vpaddq(t, t, steps)?,
                        false => self.unit.a.vpaddd(t, t, steps)?,
                    }
                }
                Ok(Vector::Register(temporary))
            }
        }
    }

    /// A part of a source, in a register: the temporary one, or its own, which must not be written.
    pub(crate) fn register(
        &mut self,
        op: usize,
        slot: Slot,
        part: usize,
        temporary: u8,
        float: bool,
    ) -> Emitted<u8> {
        let source = self.source(op, slot, part, temporary, float)?;
        self.in_register(source, slot.is_wide(), temporary)
    }

    pub(crate) fn in_register(&mut self, source: Vector, wide: bool, temporary: u8) -> Emitted<u8> {
        let t = ZMM[usize::from(temporary)];
        match source {
            Vector::Register(register) => return Ok(register),
            Vector::Memory(memory) => self.unit.a.vmovdqa64(t, memory)?,
            Vector::Loaded(element) if element.is_broadcast() => match wide {
                true => self.unit.a.vpbroadcastq(t, qword_ptr(element))?,
                false => self.unit.a.vpbroadcastd(t, dword_ptr(element))?,
            },
            Vector::Loaded(memory) => self.unit.a.vmovdqu32(t, memory)?,
            Vector::Broadcast(slot) => match wide {
                true => self.unit.a.vpbroadcastq(t, self.first(slot))?,
                false => self.unit.a.vpbroadcastd(t, self.first(slot))?,
            },
        }
        Ok(temporary)
    }

    /// Makes NaNs the canonical one.
    pub(crate) fn canonical(&mut self, register: u8) -> Emitted {
        let z = ZMM[usize::from(register)];
        let nan = self.unit.word(0x7fff_ffff);
        self.unit.a.vcmpps(k5, z, z, 3)?;
        self.unit.a.vmovdqa32(z.k5(), nan)
    }

    /// Makes the NaNs of a web canonical, where it is.
    pub(crate) fn clean(&mut self, web: usize) -> Emitted {
        let Place::Vector([low, high, ..]) = self.places[web] else { return Ok(()) };
        // Where some lanes execute, others may have another web in the same registers.
        if !self.lazy[web] || self.masked {
            return Ok(());
        }
        let (label, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        self.unit.a.vcmpps(k5, ZMM[usize::from(low)], ZMM[usize::from(high)], 3)?;
        self.unit.a.kortestw(k5, k5)?;
        self.unit.a.jnz(label)?;
        self.unit.place(&mut back)?;
        self.late.push(Late::Canonical { registers: [low, high], label, back });
        self.clean = Some(web);
        Ok(())
    }

    /// The register in which a part of a result may be computed: the web's own, if nothing needs a mask.
    pub(crate) fn target(&self, op: usize, slot: Slot, part: usize, temporary: u8) -> u8 {
        let own = self.flow.written(op, slot).and_then(|web| self.places[web].vector());
        own.filter(|_| !self.masked).map_or(temporary, |registers| registers[part])
    }

    /// Writes a part of a result that is in a register.
    pub(crate) fn put(&mut self, op: usize, slot: Slot, part: usize, from: u8) -> Emitted {
        let Some(web) = self.flow.written(op, slot) else { return Ok(()) };
        let (z, wide) = (ZMM[usize::from(from)], slot.is_wide());
        let place = self.places[web];
        if place.vector().is_none() {
            self.begin_row(slot);
        }
        if !self.masked {
            return match place {
                Place::Vector(registers) if registers[part] == from => Ok(()),
                Place::Vector(registers) => self.unit.a.vmovdqa64(ZMM[usize::from(registers[part])], z),
                Place::Frame | Place::Scalar(_) | Place::Halves => {
                    self.unit.a.vmovdqa64(self.row(slot, part), z)
                }
            };
        }
        self.put_masked(place, slot, (part, wide), from)
    }

    fn put_masked(&mut self, place: Place, slot: Slot, (part, wide): (usize, bool), from: u8) -> Emitted {
        let z = ZMM[usize::from(from)];
        let (row, mask) = (self.row(slot, part), self.mask_of_part(part, wide)?);
        let a = &mut self.unit.a;
        match (place.vector().map(|registers| ZMM[usize::from(registers[part])]), wide) {
            (Some(to), true) => a.vmovdqa64(to.under(mask), z),
            (Some(to), false) => a.vmovdqa32(to.under(mask), z),
            (None, true) => a.vmovdqa64(row.under(mask), z),
            (None, false) => a.vmovdqa32(row.under(mask), z),
        }
    }

    /// How many instructions begin from one operation to before another.
    pub(crate) fn instructions(&self, start: usize, end: usize) -> i32 {
        self.function.instructions_between(start, end).min(i32::MAX as u64) as i32
    }

    /// The webs that are live at a position and not in their rows of the frame already.
    pub(crate) fn outside_at(&mut self, position: u32) -> Emitted<Vec<usize>> {
        let block = self.flow.block_of.get(position as usize / 3).copied();
        if self.outside.0 != block {
            let around = self.flow.around(position);
            self.flow.budget.spend(around.len());
            let is_outside =
                |web: &usize| self.places[*web] != Place::Frame || !self.classes.webs[*web].is_vector();
            self.outside = (block, around.iter().copied().filter(is_outside).collect());
        }
        self.pace(self.outside.1.len())?;
        Ok(self.outside.1.iter().copied().filter(|&web| self.flow.is_live(web, position)).collect())
    }

    /// The webs that are live at a position.
    pub(crate) fn live_at(&self, position: u32) -> impl Iterator<Item = usize> + use<'a> {
        self.flow.live(position)
    }

    /// The class of a source.
    pub(crate) fn class(&self, op: usize, slot: Slot) -> Class {
        self.classes.source(self.flow, op, slot).0
    }

    /// The class of a result.
    pub(crate) fn result_class(&self, op: usize, slot: Slot) -> Class {
        self.flow.written(op, slot).map_or(Class::Varying, |web| self.classes.webs[web])
    }

    /// Adds steps of work. Fails once the budget is spent, or if there is too much code.
    pub(crate) fn pace(&self, steps: usize) -> Emitted {
        self.unit.a.check()?;
        self.flow.budget.pace(steps, self.unit.a.length())
    }

    /// Emits an operation.
    pub(crate) fn operation(&mut self, op: usize) -> Emitted {
        self.perform_operation(op)?;
        if self.kept.is_empty() { Ok(()) } else { self.keep(op) }
    }

    fn perform_operation(&mut self, op: usize) -> Emitted {
        self.pace(1 + self.flow.touches_of(op))?;
        let number = op as u32;
        self.unit.mark(match self.mode {
            Mode::Uniform if self.alone => Part::Rest,
            Mode::Uniform => Part::Uniform(number),
            Mode::Masked => Part::Masked(number),
        });
        let function = self.function;
        let in_eax = self.in_eax.take();
        self.begin_folds(op);
        match (self.flow.actions[op], &function.ops[op]) {
            (Action::Compute(_), _) if !self.rebuilds && self.addresses.is_left_to_access(op) => Ok(()),
            (Action::Nothing, _) => {
                self.in_eax = in_eax;
                Ok(())
            }
            (Action::Copy(d, s), _) => self.copy(op, d, s),
            (Action::Compute(compute), Op::Alu(alu)) => {
                self.hold(op)?;
                self.begun = Some([None; 2]);
                self.guarded(op, alu, compute)?;
                (self.held, self.begun) = (None, None);
                Ok(())
            }
            (Action::Fused(number), _) => {
                self.hold(op)?;
                self.begun = Some([None; 2]);
                match self.flow.fused[number as usize] {
                    Fused::Logic(logic) => self.logic(op, logic)?,
                    Fused::Product { results, sources, signed } => {
                        self.both_halves(op, signed, results, sources)?
                    }
                }
                (self.held, self.begun) = (None, None);
                Ok(())
            }
            (Action::Exchange, Op::Other(_, step)) if self.mode == Mode::Uniform => {
                if let Step::Warp(warp) = &**step { self.exchange(op, warp) } else { self.exit(op) }
            }
            (Action::Loop | Action::Step | Action::Exchange, _) => self.call_interpreter(op, None),
            (Action::Load | Action::Store, Op::Other(guard, step)) => self.access(op, *guard, step),
            (Action::Poll, Op::Other(guard, step)) => self.poll(op, *guard, step),
            (Action::LoadOwn | Action::StoreOwn, Op::Other(guard, step)) => self.own(op, *guard, step),
            (Action::FrameAddress, Op::Other(_, step)) => {
                let Step::FrameAddress(of) = &**step else { return self.exit(op) };
                self.frame_address(op, of.d, of.offset as i32)
            }
            (Action::Atomic, Op::Other(guard, step)) => {
                if let Step::Atomic(atomic) = &**step {
                    self.atomic(op, *guard, atomic)
                } else {
                    self.exit(op)
                }
            }
            // Where no lane passes its guard, it does no harm.
            (Action::Fence, _) => self.unit.a.mfence(),
            (Action::Branch, Op::Branch(guard, target)) => {
                self.branch(op, (*guard, in_eax), *target as usize)
            }
            (Action::Exit, _) => self.exit(op),
            // No such operation has these actions.
            (Action::Compute(_) | Action::Load | Action::Store | Action::Poll, _) => self.exit(op),
            (Action::LoadOwn | Action::StoreOwn | Action::FrameAddress, _) => self.exit(op),
            (Action::Atomic | Action::Branch, _) => self.exit(op),
        }
    }

    /// Arithmetic begins to write a row of the frame.
    fn begin_row(&mut self, slot: Slot) {
        if let Some(begun) = &mut self.begun
            && let Some(free) = begun.iter_mut().find(|row| row.is_none_or(|row| row == slot))
        {
            *free = Some(slot);
        }
    }

    /// Checks that the first lane of a row of the frame may still be read: a result may have the row of a source, whose
    /// other lanes are made of that lane. So all sources that are kept so are read, or held, before a part of a result is
    /// written. Code that does not do that is not made.
    fn check_first(&self, slot: Slot) -> Emitted {
        let is_begun = self.begun.is_some_and(|begun| begun.contains(&Some(slot)));
        debug_assert!(!is_begun, "{slot} is read after it is written");
        if is_begun { Err(Unencodable) } else { Ok(()) }
    }

    /// Keeps the first lane of an affine source whose place in the frame is also that of the result: the result is
    /// written part by part.
    fn hold(&mut self, op: usize) -> Emitted {
        let (reads, writes) = (self.flow.reads(op), self.flow.writes(op));
        let is_held = |web: usize, slot: Slot| {
            writes.iter().any(|write| write.slot == slot && write.web != web)
                && self.places[web] == Place::Frame
                && !self.classes.webs[web].is_vector()
                && !self.folds.has(web)
        };
        let held = reads.iter().find(|read| is_held(read.web, read.slot));
        let Some(&Touch { slot, web }) = held else { return Ok(()) };
        if !writes.iter().any(|write| self.classes.webs[write.web].is_vector()) {
            return Ok(());
        }
        let (z, first) = (ZMM[usize::from(HELD)], self.first(slot));
        match slot.is_wide() {
            true => self.unit.a.vpbroadcastq(z, first)?,
            false => self.unit.a.vpbroadcastd(z, first)?,
        }
        self.held = Some(web);
        Ok(())
    }

    fn copy(&mut self, op: usize, d: Slot, s: Slot) -> Emitted {
        if let Class::Affine(_) = self.result_class(op, d) {
            self.scalar_to(op, s, RAX)?;
            return self.put_scalar(op, d, RAX);
        }
        if self.is_pair(op, d) {
            return self.pair(op, Compute::Copy(Width::W32), d, [s; 3]);
        }
        for part in 0..if d.is_wide() { 4 } else { 2 } {
            let target = self.target(op, d, part, 0);
            let from = self.register(op, s, part, target, false)?;
            self.put(op, d, part, from)?;
        }
        Ok(())
    }

    /// Arithmetic under a guard: lanes that do not pass keep what they have.
    fn guarded(&mut self, op: usize, alu: &Alu, compute: Compute) -> Emitted {
        if alu.guard == Guard::ALWAYS {
            return self.compute(op, alu, compute);
        }
        let skip = self.unit.a.create_label();
        let before = self.begin_guard(alu.guard, skip)?;
        self.compute(op, alu, compute)?;
        self.end_guard(alu.guard, before, skip)
    }
}
