//! Several warps of a CTA abreast, in a block of f32 arithmetic between two barriers.
//!
//! A sum of products is a chain: each `vfmadd231ps` waits for the one before. Code for several warps interleaves their
//! instructions, so that their chains overlap. Vectors that all of them load from the same place of shared memory are
//! loaded once.
//!
//! There is code for blocks whose loads from shared memory are all in groups, with arithmetic on these and on rows of the
//! frame. Everything is checked first, for all the warps. Where a check fails, or fewer warps are left, the code for one
//! warp follows.

use super::plain::Plain;
use super::{Emitted, Emitter, G64, Late, ZMM, field};
use crate::assembler::*;
use crate::classes::Class;
use crate::context::{COMPACT, Context, Entry, Region};
use crate::decode::{Action, Compute};
use crate::flow::before;
use crate::functions::Float;
use crate::places::SCALARS;
use crate::reach::Reach;
use crate::{Level, Mode};
use softwarp_ir::{Guard, Memory, Op, Slot};
use std::mem::offset_of;

/// How many warps there may be abreast, the best number first.
const ABREAST: [usize; 2] = [4, 2];

/// The fewest arithmetic operations of a block for which there is such code.
const FEWEST: usize = 6;

/// Accesses that are checked together.
struct Checked {
    first: usize,
    base: Slot,
    /// The offset of the first access.
    offset: i32,
    /// The bytes that all lanes access.
    reach: Reach,
    /// All warps have to access the same places.
    common: bool,
    /// Whether the address of the first access is known to be aligned.
    is_aligned: bool,
}

/// A load.
#[derive(Clone, Copy)]
struct Loaded {
    web: usize,
    /// The number of its group.
    group: usize,
    /// Where the parts are, relative to the first access of the group.
    parts: [i32; 2],
    /// All lanes of a part read one element.
    element: bool,
}

enum Step {
    Load(Loaded),
    Float { float: Float, d: usize, sources: [usize; 3] },
}

/// What is done in a block.
struct Plan {
    groups: Vec<Checked>,
    /// With the operation of each.
    steps: Vec<(usize, Step)>,
    /// Rows that are read from the frame, and those that are written to it.
    ins: Vec<usize>,
    outs: Vec<usize>,
    warps: usize,
}

/// Where a web is.
#[derive(Clone)]
enum Value {
    /// In memory.
    Memory(Loaded),
    /// In registers, for all warps.
    Common([u8; 2]),
    /// In registers, by warp.
    Own(Vec<[u8; 2]>),
}

/// The values of the webs of a block, and the registers that are free.
struct Values {
    webs: Vec<(usize, Value)>,
    free: Vec<u8>,
    /// The registers of pointers, by group and warp.
    pointers: Vec<Vec<AsmRegister64>>,
}

impl Values {
    fn get(&self, web: usize) -> Emitted<&Value> {
        self.webs.iter().find(|(other, _)| *other == web).map(|(_, value)| value).ok_or(Unencodable)
    }

    fn take_register(&mut self) -> Emitted<u8> {
        self.free.pop().ok_or(Unencodable)
    }

    fn take_pairs(&mut self, count: usize) -> Emitted<Vec<[u8; 2]>> {
        (0..count).map(|_| Ok([self.take_register()?, self.take_register()?])).collect()
    }

    /// The value of a web is not read any more.
    fn forget(&mut self, web: usize) {
        let Some(at) = self.webs.iter().position(|(other, _)| *other == web) else { return };
        match self.webs.swap_remove(at).1 {
            Value::Memory(_) => {}
            Value::Common([a, b]) => self.free.extend(if a == b { vec![a] } else { vec![a, b] }),
            Value::Own(pairs) => self.free.extend(pairs.into_iter().flatten()),
        }
    }
}

impl Emitter<'_> {
    /// Behind a barrier: code for several warps. Code for one follows, which is entered where that one cannot go on.
    pub(super) fn abreast(&mut self, block: usize) -> Emitted {
        if self.mode != Mode::Uniform || self.unit.level != Level::Avx512 {
            return Ok(());
        }
        let mut single = self.unit.a.create_label();
        let Some(plan) = self.plan(block, single) else { return Ok(()) };
        let a = &mut self.unit.a;
        a.mov(rax, qword_ptr(field!(first)))?;
        a.test(rax, rax)?;
        a.jz(single)?;
        a.mov(rax, qword_ptr(field!(current)))?;
        a.add(rax, (plan.warps * size_of::<Entry>()) as i32)?;
        a.cmp(rax, qword_ptr(field!(last)))?;
        a.ja(single)?;
        let pointers = self.check_warps(&plan, single)?;
        let mut values = Values { webs: Vec::new(), free: (0..32).rev().collect(), pointers };
        self.move_rows(&plan, &mut values, false)?;
        for (op, step) in &plan.steps {
            match step {
                Step::Load(loaded) => self.load_abreast(&mut values, *loaded)?,
                Step::Float { float, d, sources } => {
                    self.float_abreast(&plan, &mut values, (*op, *float), *d, *sources)?
                }
            }
        }
        self.move_rows(&plan, &mut values, true)?;
        self.arrive_abreast(&plan, block)?;
        self.unit.place(&mut single)
    }

    /// How many warps there is code for in a block, if it is for several.
    pub(crate) fn warps_abreast(&mut self, block: usize) -> Option<usize> {
        if self.unit.level != Level::Avx512 {
            return None;
        }
        let single = self.unit.a.create_label();
        self.plan(block, single).map(|plan| plan.warps)
    }

    /// What is done in a block, if all of it can be done for several warps.
    fn plan(&self, block: usize, single: CodeLabel) -> Option<Plan> {
        let (start, end) = (self.flow.blocks[block].start, self.flow.blocks[block].end);
        if !self.is_barrier(end - 1) || !self.has_constant_number(end - 1) {
            return None;
        }
        let mut plan =
            Plan { groups: Vec::new(), steps: Vec::new(), ins: Vec::new(), outs: Vec::new(), warps: 0 };
        for op in start..end - 1 {
            if !self.flow.budget.spend(4 * plan.steps.len()) {
                return None;
            }
            match self.flow.actions[op] {
                Action::Nothing => {}
                Action::Load => {
                    let loaded = self.plan_load(&mut plan, op, single)?;
                    plan.steps.push((op, Step::Load(loaded)));
                }
                Action::Compute(Compute::Float(float)) => {
                    let step = self.plan_float(&mut plan, op, float)?;
                    plan.steps.push((op, step));
                }
                // Blocks with others are not computed for several warps.
                Action::Copy(..) | Action::Compute(_) | Action::Fused(_) | Action::Loop => return None,
                Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => return None,
                Action::FrameAddress | Action::Atomic | Action::Fence | Action::Exchange => return None,
                Action::Step | Action::Branch | Action::Exit => return None,
            }
        }
        let is_float = |(_, step): &&(usize, Step)| matches!(step, Step::Float { .. });
        let floats = plan.steps.iter().filter(is_float).count();
        let written = |web: usize| {
            plan.steps.iter().rev().find_map(|(_, step)| match step {
                Step::Load(loaded) if loaded.web == web => Some(false),
                Step::Float { d, .. } if *d == web => Some(true),
                Step::Load(_) | Step::Float { .. } => None,
            })
        };
        for web in self.live_at(before(end - 1)) {
            if !self.flow.budget.spend(plan.steps.len()) {
                return None;
            }
            match written(web) {
                // Values that are loaded would have to be written as they are.
                Some(false) => return None,
                Some(true) => plan.outs.push(web),
                None => {}
            }
        }
        plan.warps = ABREAST.into_iter().find(|&warps| self.fits(&plan, warps))?;
        (floats >= FEWEST).then_some(plan)
    }

    /// Whether there are registers for several warps.
    fn fits(&self, plan: &Plan, warps: usize) -> bool {
        let pointers: usize = plan.groups.iter().map(|group| if group.common { 1 } else { warps }).sum();
        let mut live = plan.ins.clone();
        let loads = plan.steps.iter().filter_map(|(_, step)| match step {
            Step::Load(loaded) => Some(loaded.web),
            Step::Float { .. } => None,
        });
        let mut all_loaded: Vec<usize> = loads.collect();
        all_loaded.sort_unstable();
        let mut most = 0;
        for (op, step) in &plan.steps {
            let web = match step {
                Step::Load(loaded) => loaded.web,
                Step::Float { d, .. } => *d,
            };
            if !self.flow.budget.spend(4 * live.len()) {
                return false;
            }
            if !live.contains(&web) {
                live.push(web);
            }
            let loaded = live.iter().filter(|web| all_loaded.binary_search(web).is_ok()).count();
            most = most.max(2 * loaded + 2 * warps * (live.len() - loaded));
            live.retain(|&web| self.flow.is_live(web, before(op + 1)));
        }
        // Operands that are loaded for an instruction have registers, too, and a sum may need one beside its source.
        pointers <= SCALARS.len() && most + 2 * warps + 2 <= 32
    }

    fn plan_load(&self, plan: &mut Plan, op: usize, single: CodeLabel) -> Option<Loaded> {
        let Op::Other(Guard::ALWAYS, step) = &self.function.ops[op] else { return None };
        let plain = Plain::of(op, step, single, self.sites[op])?;
        let whole = plain.registers.first().is_some_and(|one| one.bits == 32) && !plain.is_packed();
        let shared = plain.address.memory == Memory::Shared && !plain.store && !plain.is_wide();
        if !(whole && shared && plain.is_single() && plain.bytes() == 4 && self.has_code(&plain, false)) {
            return None;
        }
        let web = self.flow.written(op, plain.slot)?;
        let base = plain.base.filter(|&base| !self.flow.is_fixed(base))?;
        let Class::Affine(steps) = self.class(op, base) else { return None };
        let element = self.reads_elements(&plain)?;
        let group = self.groups.get(op)?;
        let number = match plan.groups.iter().position(|other| other.first == group.first) {
            Some(number) => number,
            None => {
                // Its base must not be written in the block: its value is in the frame.
                let start = self.flow.blocks[self.flow.block_of[op]].start;
                let of_base = self.flow.read(op, base)?;
                let writes = |op: usize| self.flow.writes(op).iter().any(|touch| touch.web == of_base);
                if group.first != op || (start..op).any(writes) || !self.flow.is_live(of_base, before(start))
                {
                    return None;
                }
                let reach = Reach::of(steps, group.range, 4)?;
                let fits = reach.compared(false).all(|end| i32::try_from(end).is_ok());
                let reach = Some(reach).filter(|_| fits)?;
                let offset = plain.address.offset as i32;
                plan.groups.push(Checked {
                    first: group.first,
                    base,
                    offset,
                    reach,
                    common: !element,
                    is_aligned: self.is_aligned(&plain),
                });
                plan.groups.len() - 1
            }
        };
        let first = self.distance(&plain, &group);
        let second = first.checked_add(i32::try_from(steps.half).ok()?)?;
        Some(Loaded { web, group: number, parts: [first, second], element })
    }

    fn plan_float(&self, plan: &mut Plan, op: usize, float: Float) -> Option<Step> {
        let Op::Alu(alu) = &self.function.ops[op] else { return None };
        let has_code = match float {
            Float::Add | Float::Sub | Float::Mul | Float::Fma => true,
            Float::Div | Float::Rcp | Float::Sqrt | Float::Neg | Float::Abs => false,
            Float::Min | Float::Max => false,
        };
        if alu.guard != Guard::ALWAYS || !has_code {
            return None;
        }
        let d = self.flow.written(op, alu.d.get(0)?)?;
        let count = float.sources();
        let mut sources = [usize::MAX; 3];
        for (source, slot) in sources.iter_mut().zip(alu.s.iter()).take(count) {
            if self.flow.is_fixed(slot) {
                return None;
            }
            let web = self.flow.read(op, slot)?;
            *source = web;
            let is_made = plan.steps.iter().any(|(_, step)| match step {
                Step::Load(loaded) => loaded.web == web,
                Step::Float { d, .. } => *d == web,
            });
            if !is_made && !plan.ins.contains(&web) {
                if !self.classes.webs[web].is_vector() || self.flow.webs[web].is_wide() {
                    return None;
                }
                plan.ins.push(web);
            }
        }
        Some(Step::Float { float, d, sources })
    }

    /// The rows of the frame of a warp: in `rdx`, or those of the current one.
    fn rows_of(&mut self, warp: usize) -> Emitted<AsmRegister64> {
        if warp == 0 {
            return Ok(r12);
        }
        self.unit.a.mov(rdx, qword_ptr(field!(current)))?;
        let place = rdx + (warp * size_of::<Entry>() + offset_of!(Entry, narrow));
        self.unit.a.mov(rdx, qword_ptr(place))?;
        Ok(rdx)
    }

    /// Checks all accesses of all warps. Returns the registers with the places of the first accesses of groups.
    fn check_warps(&mut self, plan: &Plan, single: CodeLabel) -> Emitted<Vec<Vec<AsmRegister64>>> {
        let mut registers = SCALARS.into_iter().map(|number| G64[usize::from(number)]);
        let mut pointers: Vec<Vec<AsmRegister64>> = plan.groups.iter().map(|_| Vec::new()).collect();
        let region = |offset: usize| qword_ptr(r15 + (offset_of!(Context, shared) + offset));
        for warp in 0..plan.warps {
            let rows = self.rows_of(warp)?;
            let a = &mut self.unit.a;
            for (group, pointers) in plan.groups.iter().zip(&mut pointers) {
                let base = group.base.number() as usize * 128;
                a.mov(eax, dword_ptr(rows + base))?;
                if group.common && warp > 0 {
                    a.cmp(eax, dword_ptr(r12 + base))?;
                    a.jne(single)?;
                    pointers.push(pointers[0]);
                    continue;
                }
                if group.offset != 0 {
                    a.add(eax, group.offset)?;
                }
                a.sub(eax, dword_ptr(r15 + (offset_of!(Context, shared) + offset_of!(Region, base))))?;
                for end in group.reach.compared(false) {
                    a.lea(rcx, ptr(rax + i32::try_from(end).map_err(|_| Unencodable)?))?;
                    a.cmp(rcx, region(offset_of!(Region, room)))?;
                    a.jae(single)?;
                }
                if !group.is_aligned {
                    a.test(al, 3)?;
                    a.jnz(single)?;
                }
                a.add(rax, region(offset_of!(Region, host)))?;
                let pointer = registers.next().ok_or(Unencodable)?;
                a.mov(pointer, rax)?;
                pointers.push(pointer);
            }
        }
        Ok(pointers)
    }

    /// Reads rows from the frames of all warps, or writes them with canonical NaNs.
    fn move_rows(&mut self, plan: &Plan, values: &mut Values, write: bool) -> Emitted {
        if !write {
            for &web in &plan.ins {
                let pairs = values.take_pairs(plan.warps)?;
                values.webs.push((web, Value::Own(pairs)));
            }
        }
        let nan = self.unit.word(0x7fff_ffff);
        for warp in 0..plan.warps {
            let rows = self.rows_of(warp)?;
            for &web in if write { &plan.outs } else { &plan.ins } {
                let Value::Own(pairs) = values.get(web)? else { return Err(Unencodable) };
                for (part, &register) in pairs[warp].iter().enumerate() {
                    let place = self.flow.webs[web].slot.number() as usize * 128 + 64 * part;
                    let (z, row) = (ZMM[usize::from(register)], zmmword_ptr(rows + place));
                    if write {
                        self.unit.a.vcmpps(k5, z, z, 3)?;
                        self.unit.a.vmovdqa32(z.k5(), nan)?;
                        self.unit.a.vmovdqa64(row, z)?;
                    } else {
                        self.unit.a.vmovdqa64(z, row)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A load: of vectors now, of elements when they are read.
    fn load_abreast(&mut self, values: &mut Values, loaded: Loaded) -> Emitted {
        values.forget(loaded.web);
        if loaded.element {
            values.webs.push((loaded.web, Value::Memory(loaded)));
            return Ok(());
        }
        let pointer = values.pointers[loaded.group][0];
        let first = values.take_register()?;
        self.unit.a.vmovdqu32(ZMM[usize::from(first)], zmmword_ptr(pointer + loaded.parts[0]))?;
        let mut second = first;
        if loaded.parts[0] != loaded.parts[1] {
            second = values.take_register()?;
            self.unit.a.vmovdqu32(ZMM[usize::from(second)], zmmword_ptr(pointer + loaded.parts[1]))?;
        }
        values.webs.push((loaded.web, Value::Common([first, second])));
        Ok(())
    }

    /// Arithmetic of all warps.
    fn float_abreast(
        &mut self,
        plan: &Plan,
        values: &mut Values,
        (op, float): (usize, Float),
        d: usize,
        sources: [usize; 3],
    ) -> Emitted {
        let [a, b, c] = sources;
        let ends = |web: usize| web == d || !self.flow.is_live(web, before(op + 1));
        let own = match values.webs.iter().find(|(web, _)| *web == c) {
            Some((_, Value::Own(pairs))) if c != a && c != b && ends(c) => Some(pairs.clone()),
            Some((_, Value::Own(_) | Value::Common(_) | Value::Memory(_))) | None => None,
        };
        let own = own.filter(|_| float == Float::Fma);
        let in_place = own.is_some();
        let targets = match own {
            Some(own) => own,
            None => values.take_pairs(plan.warps)?,
        };
        for (warp, target) in targets.iter().enumerate() {
            // Elements that both parts read.
            let mut ready = [None; 3];
            for part in 0..2 {
                let t = ZMM[usize::from(target[part])];
                let one = self.operand_abreast(values, a, (warp, part), &mut ready[0])?;
                let two = self.operand_abreast(values, b, (warp, part), &mut ready[1])?;
                match float {
                    Float::Fma => {
                        if !in_place {
                            let three = self.operand_abreast(values, c, (warp, part), &mut ready[2])?;
                            self.unit.a.vmovaps(t, three)?;
                        }
                        self.unit.a.vfmadd231ps(t, one, two)?;
                    }
                    Float::Add => self.unit.a.vaddps(t, one, two)?,
                    Float::Sub => self.unit.a.vsubps(t, one, two)?,
                    Float::Mul => self.unit.a.vmulps(t, one, two)?,
                    Float::Div | Float::Rcp | Float::Sqrt | Float::Neg => return Err(Unencodable),
                    Float::Abs | Float::Min | Float::Max => return Err(Unencodable),
                }
                // Elements of this part alone.
                for ready in &mut ready {
                    if let Some((register, false)) = *ready {
                        values.free.push(register);
                        *ready = None;
                    }
                }
            }
            values.free.extend(ready.iter().flatten().map(|(register, _)| register));
        }
        let at = values.webs.iter().position(|(web, _)| *web == c);
        if let (true, Some(at)) = (in_place, at) {
            values.webs.swap_remove(at);
        }
        values.forget(d);
        values.webs.push((d, Value::Own(targets)));
        for web in sources.into_iter().filter(|&web| web != d && web != usize::MAX) {
            if !self.flow.is_live(web, before(op + 1)) {
                values.forget(web);
            }
        }
        if !self.flow.is_live(d, before(op + 1)) {
            values.forget(d);
        }
        Ok(())
    }

    /// An operand of one warp and part, in a register. One that is loaded for it, and whether it is that of both parts,
    /// is kept in `ready`.
    fn operand_abreast(
        &mut self,
        values: &mut Values,
        web: usize,
        (warp, part): (usize, usize),
        ready: &mut Option<(u8, bool)>,
    ) -> Emitted<AsmRegisterZmm> {
        let loaded = match values.get(web)? {
            Value::Common(registers) => return Ok(ZMM[usize::from(registers[part])]),
            Value::Own(pairs) => return Ok(ZMM[usize::from(pairs[warp][part])]),
            Value::Memory(loaded) => *loaded,
        };
        if let Some((register, _)) = *ready {
            return Ok(ZMM[usize::from(register)]);
        }
        let register = values.take_register()?;
        let place = values.pointers[loaded.group][warp] + loaded.parts[part];
        self.unit.a.vpbroadcastd(ZMM[usize::from(register)], dword_ptr(place))?;
        *ready = Some((register, loaded.parts[0] == loaded.parts[1]));
        Ok(ZMM[usize::from(register)])
    }

    /// All these warps have come to the barrier at the end of the block. Those before them have, too: there is no other
    /// way out of the block for warps that are together.
    fn arrive_abreast(&mut self, plan: &Plan, block: usize) -> Emitted {
        let (start, barrier) = (self.flow.blocks[block].start, self.flow.blocks[block].end - 1);
        let count = self.instructions(start, barrier).checked_mul(plan.warps as i32).ok_or(Unencodable)?;
        let label = self.unit.a.create_label();
        self.late.push(Late::Behind { op: barrier, label });
        let a = &mut self.unit.a;
        a.sub(rbp, count)?;
        a.mov(dword_ptr(field!(stop)), (barrier as u32 | COMPACT) as i32)?;
        a.mov(rax, qword_ptr(field!(current)))?;
        a.add(rax, ((plan.warps - 1) * size_of::<Entry>()) as i32)?;
        a.mov(qword_ptr(field!(current)), rax)?;
        a.add(rax, size_of::<Entry>() as i32)?;
        a.cmp(rax, qword_ptr(field!(last)))?;
        a.jae(label)?;
        self.unit.enter_warp()
    }
}
