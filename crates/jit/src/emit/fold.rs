//! Loads that are operands of the arithmetic that reads them: a factor of an `fma` is taken from memory where it is used.
//!
//! Only loads whose bounds another access of their group has checked are performed later than they stand: they cannot
//! fail. Between such a load and the operation that reads it, nothing writes to memory, and nothing leaves the code.

use super::plain::Plain;
use super::scalar::ScalarPair;
use super::{Emitted, Emitter, G32, G64, Vector, ZMM};
use crate::Mode;
use crate::assembler::*;
use crate::classes::Class;
use crate::context::Context;
use crate::decode::{Action, Compute, Float, Width};
use crate::flow::before;
use softwarp_ir::{Alu, Guard, Op, Slot, Step};
use std::mem::offset_of;

/// How far behind a load the operation that reads it is looked for.
const FURTHEST: usize = 16;

/// How many operands of an operation are folded: as many as there are registers for pointers.
const MOST: usize = POINTERS.len();

/// The registers that keep the pointers of groups from one operation to the next.
const POINTERS: [AsmRegister64; 2] = [rcx, rdx];

/// The temporary registers of operands that are the same for both parts of a row.
const READY: [u8; 2] = [5, 6];

/// A load that the operation that reads it performs.
#[derive(Clone, Copy)]
struct Fold {
    web: usize,
    reader: usize,
    /// The number of the group's pointer.
    pointer: usize,
    /// How far each part is from there.
    parts: [i32; 2],
    /// A part is one element, for all lanes.
    element: bool,
}

/// Loads that are still to be performed, and what registers have.
#[derive(Default)]
pub(crate) struct Folds {
    pending: Vec<Fold>,
    /// Those that code outside of the blocks performs again.
    again: Vec<Fold>,
    /// The pointers in registers, by number.
    pointers: [Option<usize>; 2],
    /// Which of them was used last.
    last: usize,
    /// Webs in the registers of [`READY`].
    ready: Ready,
}

/// A web for each of the registers of [`READY`], or none.
#[derive(Clone, Copy, PartialEq)]
struct Ready([usize; 2]);

impl Default for Ready {
    fn default() -> Ready {
        Ready([usize::MAX; 2])
    }
}

impl Folds {
    /// The registers of pointers have been written, or may have been.
    pub(crate) fn forget(&mut self) {
        self.pointers = [None; 2];
    }

    /// Code outside of the blocks will perform the loads of an operation again.
    pub(super) fn keep(&mut self, op: usize) {
        self.again.extend(self.pending.iter().filter(|fold| fold.reader == op));
    }

    /// In that code: the loads of an operation are to be performed.
    pub(super) fn restore(&mut self, op: usize) {
        self.clear();
        self.pending.extend(self.again.iter().filter(|fold| fold.reader == op));
    }

    /// Whether a web is a load that is still to be performed.
    pub(super) fn has(&self, web: usize) -> bool {
        self.pending.iter().any(|fold| fold.web == web)
    }

    /// A new block begins.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.forget();
    }
}

impl Emitter<'_> {
    /// Leaves a load to the operation that reads it, if it can be. Both parts are at distances from the pointer of its
    /// group.
    pub(super) fn fold(&mut self, plain: &Plain<'_>, parts: [i32; 2], element: bool) -> bool {
        let group = self.group(plain.op).filter(|group| group.first != plain.op);
        let whole = plain.registers.first().is_some_and(|one| one.bits == 32);
        let (Some(group), true, 4) = (group, whole && plain.is_single() && !plain.is_packed(), plain.bytes())
        else {
            return false;
        };
        let Some(web) = self.flow.written(plain.op, plain.slot) else { return false };
        let Some(reader) = self.reader(plain, web) else { return false };
        self.folds.pending.push(Fold { web, reader, pointer: group.pointer, parts, element });
        true
    }

    /// The operation that a load can be left to: the only one that reads it.
    fn reader(&self, plain: &Plain<'_>, web: usize) -> Option<usize> {
        let last = self.groups.last_in(self.flow.block_of[plain.op])?;
        let reads = |op: &usize| self.flow.reads(*op).iter().any(|touch| touch.web == web);
        let reader = (plain.op + 1..=last.min(plain.op + FURTHEST)).find(reads)?;
        let folded = self.folds.pending.iter().filter(|fold| fold.reader == reader).count();
        let varies = || self.flow.writes(reader).iter().all(|to| self.classes.webs[to.web] == Class::Varying);
        let can_read = self.function.ops[reader].guard() == Guard::ALWAYS
            && match self.flow.actions[reader].compute().map_or(Operands::Rows, operands) {
                Operands::Memory => true,
                Operands::MemoryOfVectors => varies(),
                Operands::Rows => false,
            };
        let quiet = (plain.op + 1..reader).all(|op| self.is_quiet(plain, op));
        let ends = !self.flow.is_live(web, before(reader + 1));
        (can_read && quiet && ends && folded < MOST).then_some(reader)
    }

    /// Whether an operation behind an access neither writes to memory nor leaves the code.
    fn is_quiet(&self, plain: &Plain<'_>, op: usize) -> bool {
        if let (Action::Load, Op::Other(Guard::ALWAYS, step)) =
            (self.flow.actions[op], &self.function.ops[op])
        {
            return self.is_checked(plain, op, step);
        }
        self.keeps_pointers(op)
    }

    /// Whether an operation has code without jumps, and code that writes no registers of pointers.
    fn keeps_pointers(&self, op: usize) -> bool {
        match self.flow.actions[op] {
            Action::Nothing | Action::Copy(..) => true,
            Action::Compute(compute) => {
                self.function.ops[op].guard() == Guard::ALWAYS && is_straight(compute)
            }
            Action::Fused(_) | Action::Loop | Action::Step | Action::Exchange => false,
            Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => false,
            Action::FrameAddress | Action::Atomic | Action::Fence | Action::Branch | Action::Exit => false,
        }
    }

    /// Whether a load behind an access is one that another access of its group has checked.
    fn is_checked(&self, plain: &Plain<'_>, op: usize, step: &Step) -> bool {
        let Some(other) = Plain::of(op, step, plain.slow, self.sites[op]) else { return false };
        self.group(op).is_some_and(|group| group.first != op && group.first <= plain.op)
            && self.has_code(&other, false)
            && !self.is_scattered(&other)
    }

    /// Before an operation: says whether the pointers in registers stay there.
    pub(super) fn begin_folds(&mut self, op: usize) {
        if self.folds.pointers == [None; 2] {
            return;
        }
        let load = self.flow.actions[op] == Action::Load && self.function.ops[op].guard() == Guard::ALWAYS;
        if !load && !self.keeps_pointers(op) || self.mode != Mode::Uniform || self.masked || self.alone {
            self.folds.forget();
        }
    }

    /// An operand that is read from memory, or that is ready in a register.
    pub(super) fn folded(&mut self, web: usize, part: usize) -> Emitted<Option<Vector>> {
        if let Some(n) = self.folds.ready.0.iter().position(|&ready| ready == web) {
            return Ok(Some(Vector::Register(READY[n])));
        }
        let Some(&fold) = self.folds.pending.iter().find(|fold| fold.web == web) else { return Ok(None) };
        let at = self.pointer(fold.pointer)? + fold.parts[part];
        Ok(Some(Vector::Loaded(if fold.element { dword_bcst(at) } else { zmmword_ptr(at) })))
    }

    /// The register of a pointer.
    fn pointer(&mut self, number: usize) -> Emitted<AsmRegister64> {
        let folds = &mut self.folds;
        if let Some(n) = folds.pointers.iter().position(|&pointer| pointer == Some(number)) {
            folds.last = n;
            return Ok(POINTERS[n]);
        }
        let n = 1 - folds.last;
        (folds.pointers[n], folds.last) = (Some(number), n);
        let place = r15 + (offset_of!(Context, pointers) + 8 * number);
        self.unit.a.mov(POINTERS[n], qword_ptr(place))?;
        Ok(POINTERS[n])
    }

    /// Before arithmetic on two parts: has operands ready that are the same for both, where each part would otherwise
    /// load them or distribute them to all lanes.
    pub(super) fn ready(&mut self, op: usize, sources: &[Slot]) -> Emitted {
        self.folds.ready = Ready::default();
        if self.mode != Mode::Uniform {
            return Ok(());
        }
        let mut next = 0;
        let folded = self.folds.pending.iter().filter(|fold| fold.reader == op).count();
        for &slot in sources {
            let web = (!self.flow.is_fixed(slot)).then(|| self.flow.read(op, slot)).flatten();
            let Some(web) = web.filter(|web| !self.folds.ready.0.contains(web)) else { continue };
            let fold = self.folds.pending.iter().find(|fold| fold.web == web).copied();
            let scalar = self.places[web].scalar().filter(|_| self.classes.webs[web] == Class::UNIFORM);
            if fold.is_none() && scalar.is_none() {
                continue;
            }
            let z = READY.get(next).map(|&register| ZMM[usize::from(register)]);
            let Some(z) = z else { break };
            match (fold, scalar) {
                (Some(fold), _) => {
                    // One operand of an instruction can be in memory.
                    let first = self.folds.ready == Ready::default();
                    if folded < 2 || !first || fold.parts[0] != fold.parts[1] {
                        continue;
                    }
                    let at = self.pointer(fold.pointer)? + fold.parts[0];
                    match fold.element {
                        true => self.unit.a.vpbroadcastd(z, dword_ptr(at))?,
                        false => self.unit.a.vmovdqu32(z, zmmword_ptr(at))?,
                    }
                }
                (None, Some(g)) => match slot.is_wide() {
                    true => self.unit.a.vpbroadcastq(z, G64[usize::from(g)])?,
                    false => self.unit.a.vpbroadcastd(z, G32[usize::from(g)])?,
                },
                (None, None) => continue,
            }
            self.folds.ready.0[next] = web;
            next += 1;
        }
        Ok(())
    }

    /// Makes the sources of arithmetic on integers ready.
    pub(super) fn ready_for(&mut self, op: usize, alu: &Alu, compute: Compute) -> Emitted {
        let (Some(a), Some(b)) = (alu.s.get(0), alu.s.get(1)) else { return Ok(()) };
        // The code of recurrent products uses these registers.
        let in_use = compute == Compute::Mul(Width::W32) && self.is_recurrent(op, [a, b]);
        let is_ready = !in_use && is_pair(compute).is_some();
        if is_ready { self.ready(op, &[a, b]) } else { Ok(()) }
    }

    /// The sources of arithmetic in the better order: the second can be a word of memory for all lanes.
    pub(super) fn ordered(&self, op: usize, compute: Compute, a: Slot, b: Slot) -> (Slot, Slot) {
        let is_folded = |slot: Slot| {
            let web = (!self.flow.is_fixed(slot)).then(|| self.flow.read(op, slot)).flatten();
            web.is_some_and(|web| self.folds.has(web))
        };
        let is_operand = |slot: Slot| self.class(op, slot) == Class::UNIFORM || is_folded(slot);
        let swaps = is_pair(compute) == Some(Pair::Commutes)
            && is_operand(a)
            && self.class(op, b).is_vector()
            && !is_folded(b);
        if swaps { (b, a) } else { (a, b) }
    }

    /// Called after arithmetic whose sources were made ready.
    pub(super) fn end_ready(&mut self, op: usize) {
        self.folds.ready = Ready::default();
        self.folds.pending.retain(|fold| fold.reader != op);
    }
}

/// What arithmetic takes from memory in place of a row.
enum Operands {
    /// Any source.
    Memory,
    /// Any source, where the result is a vector.
    MemoryOfVectors,
    /// Nothing.
    Rows,
}

/// What code of arithmetic takes from memory.
fn operands(compute: Compute) -> Operands {
    match compute {
        Compute::Float(float) => match float {
            Float::Add | Float::Sub | Float::Mul | Float::Fma | Float::Min | Float::Max => Operands::Memory,
            Float::Div | Float::Rcp | Float::Sqrt | Float::Neg | Float::Abs => Operands::Rows,
        },
        Compute::Add(width) | Compute::Sub(width) => of_words(width),
        Compute::And(width) | Compute::Or(width) | Compute::Xor(width) => of_words(width),
        Compute::Min { width, .. } | Compute::Max { width, .. } => of_words(width),
        Compute::Copy(_) | Compute::Neg(_) | Compute::Mul(_) | Compute::High { .. } => Operands::Rows,
        Compute::Permute(_) | Compute::Mad(_) | Compute::Wide { .. } | Compute::Not(_) => Operands::Rows,
        Compute::Lop3(_) | Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } => Operands::Rows,
        Compute::Select(_) | Compute::Extend(_) | Compute::Halves | Compute::Pack64 => Operands::Rows,
        Compute::High32 | Compute::Compare { .. } | Compute::CompareFloat { .. } => Operands::Rows,
        Compute::CompareDouble { .. } | Compute::CompareShort { .. } | Compute::Integer(_) => Operands::Rows,
        Compute::Half(_) | Compute::Double(_) | Compute::Rounded(..) | Compute::Flushed(_) => Operands::Rows,
        Compute::Convert(_) | Compute::WideConvert(_) | Compute::Special(_) => Operands::Rows,
        Compute::Predicate(_) => Operands::Rows,
    }
}

fn of_words(width: Width) -> Operands {
    match width {
        Width::W32 => Operands::MemoryOfVectors,
        Width::W64 => Operands::Rows,
    }
}

/// Whether arithmetic has code without jumps, and code that writes no registers of pointers.
fn is_straight(compute: Compute) -> bool {
    match compute {
        Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) => true,
        Compute::Float(float) => match float {
            Float::Add | Float::Sub | Float::Mul | Float::Fma => true,
            Float::Div | Float::Rcp | Float::Sqrt | Float::Neg | Float::Abs => false,
            Float::Min | Float::Max => false,
        },
        Compute::Neg(_) | Compute::Mul(_) | Compute::High { .. } | Compute::Permute(_) => false,
        Compute::Mad(_) | Compute::Wide { .. } | Compute::And(_) | Compute::Or(_) => false,
        Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) | Compute::Shl(_) => false,
        Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Min { .. } | Compute::Max { .. } => false,
        Compute::Select(_) | Compute::Extend(_) | Compute::Halves | Compute::Pack64 => false,
        Compute::High32 | Compute::Compare { .. } | Compute::CompareFloat { .. } => false,
        Compute::CompareDouble { .. } | Compute::CompareShort { .. } | Compute::Integer(_) => false,
        Compute::Half(_) | Compute::Double(_) | Compute::Rounded(..) | Compute::Flushed(_) => false,
        Compute::Convert(_) | Compute::WideConvert(_) | Compute::Special(_) => false,
        Compute::Predicate(_) => false,
    }
}

/// Arithmetic on two integers whose second source may be a word for all lanes.
#[derive(PartialEq)]
enum Pair {
    /// The sources can be exchanged.
    Commutes,
    InOrder,
}

/// Whether arithmetic is on such a pair of integers.
fn is_pair(compute: Compute) -> Option<Pair> {
    if matches!(compute, Compute::Mul(_)) {
        return Some(Pair::Commutes);
    }
    Some(match ScalarPair::of(compute)? {
        ScalarPair::Add | ScalarPair::And | ScalarPair::Or | ScalarPair::Xor => Pair::Commutes,
        ScalarPair::Sub => Pair::InOrder,
    })
}
