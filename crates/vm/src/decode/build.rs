//! From a function's operations to its plan ([`super::plan`]).

use super::Decoded;
use super::plan::{Jump, Plan, PlanEntry};
use crate::fast::Direct;
use softwarp_ir::{Function, Guard, MatrixOp, Op, Slot, Step, WarpOpKind};
use softwarp_units::alu::Inst;
use softwarp_units::alu::fused::{Part, fuse};
use softwarp_units::alu::simple::Simple;

/// The most entries in a row without a branch or a pause. Limits are checked at these.
const LONGEST: u32 = 1024;

/// The plan of a function.
pub(super) fn plan(function: &Function, decoded: &[Decoded]) -> Plan {
    let Function { ops, instructions, forwarded, .. } = function;
    let mut targets = vec![false; ops.len() + 1];
    ops.iter().flat_map(Op::targets).for_each(|&target| {
        targets[(target as usize).min(ops.len())] = true;
    });
    let fused = fused(ops, decoded, &targets);
    let (mut fused, mut given) = (fused.iter().peekable(), forwarded.given.iter().peekable());
    let room = ops.len() + 1;
    let mut plan = Plan {
        entries: Vec::with_capacity(room),
        starts: Vec::with_capacity(room),
        of: Vec::with_capacity(room),
    };
    // Whether the current entry has begun.
    let mut open = false;
    let mut accesses = 0;
    let mut since_branch = 0;
    for (at, op) in ops.iter().enumerate() {
        if open && targets[at] {
            plan.entries.push(PlanEntry::Nothing);
            open = false;
        }
        if !open && since_branch >= LONGEST {
            plan.starts.push(at as u32);
            plan.entries.push(PlanEntry::Pause);
            since_branch = 0;
        }
        since_branch = if matches!(op, Op::Branch(..)) { 0 } else { since_branch + 1 };
        // A branch is fused with the arithmetic before it.
        if let (Op::Branch(guard, target), false, false) = (op, open, targets[at])
            && let Some(last @ &mut PlanEntry::Plain(inst)) = plan.entries.last_mut()
        {
            *last = PlanEntry::Test(Inst { guard: *guard, ..inst }, Jump { to: *target, counts: [0; 2] });
            plan.of.push(plan.entries.len() as u32 - 1);
            continue;
        }
        if !open {
            plan.starts.push(at as u32);
        }
        plan.of.push(plan.entries.len() as u32);
        let row = given.next_if(|given| given.op as usize == at).map(|given| given.row);
        let both = fused.next_if(|(second, _)| *second == at);
        let first = fused.peek().is_some_and(|(second, _)| *second == at + 1);
        open = first || forwarded.unread.get(at).copied().unwrap_or(false) || is_silent(op);
        if !open {
            plan.entries.push(match both {
                Some((_, inst)) => PlanEntry::Plain(*inst),
                None if is_sync_before_matrix(ops, at) => PlanEntry::WarpSync,
                None => entry(op, decoded.get(at), row, accesses),
            });
            accesses +=
                u32::from(matches!(plan.entries.last(), Some(PlanEntry::Load(_) | PlanEntry::Store(_))));
        }
    }
    if open {
        plan.entries.push(PlanEntry::Nothing);
    }
    plan.starts.push(ops.len() as u32);
    plan.of.push(plan.entries.len() as u32);
    let before = |op: u32| instructions.get(op as usize).copied().unwrap_or(0);
    for (index, entry) in plan.entries.iter_mut().enumerate() {
        if let PlanEntry::Branch(_, jump) | PlanEntry::Test(_, jump) = entry {
            let target = (jump.to as usize).min(ops.len());
            let counts = [before(plan.starts[index + 1]), before(target as u32)];
            *jump = Jump { to: plan.of[target], counts };
        }
    }
    plan
}

/// Whether the operation has an effect on observers only.
fn is_silent(op: &Op) -> bool {
    matches!(op, Op::Other(_, step) if matches!(&**step, Step::Group(op) if op.is_silent()))
}

/// Pairs of operations that are one loop: where the second is, and the loop.
fn fused(ops: &[Op], decoded: &[Decoded], targets: &[bool]) -> Vec<(usize, Inst)> {
    let part = |at: usize| match &ops[at] {
        Op::Alu(alu) if alu.guard == Guard::ALWAYS => Part::of(alu.op.form()?),
        _ => None,
    };
    let mut fused = Vec::new();
    let mut before = None;
    for at in 0..ops.len() {
        let this = part(at);
        if !targets[at]
            && let (Some(one), Some(other)) = (before, this)
            && let (Some(a), Some(b)) = (decoded[at - 1].alu(), decoded[at].alu())
            && let Some(inst) = fuse((one, a), (other, b))
        {
            fused.push((at, inst));
        }
        before = this;
    }
    fused
}

fn entry(op: &Op, decoded: Option<&Decoded>, given: Option<Slot>, accesses: u32) -> PlanEntry {
    match op {
        Op::Alu(_) => match decoded.and_then(Decoded::alu) {
            Some(inst) if inst.guard == Guard::ALWAYS => PlanEntry::Plain(*inst),
            Some(inst) => PlanEntry::Guarded(*inst),
            None => PlanEntry::Other,
        },
        Op::Branch(guard, target) => PlanEntry::Branch(*guard, Jump { to: *target, counts: [0; 2] }),
        Op::Other(guard, step) => match (&**step, given) {
            (Step::Special(read), Some(row)) => copied(read.d, row, *guard),
            (Step::Load(access), Some(row)) => match access.registers.first().and_then(|one| one.slot) {
                Some(d) => copied(d, row, *guard),
                None => PlanEntry::Nothing,
            },
            (Step::Load(access), None) if *guard == Guard::ALWAYS => {
                Direct::load(access, accesses).map_or(PlanEntry::Other, PlanEntry::Load)
            }
            (Step::Store(access), _) if *guard == Guard::ALWAYS => {
                Direct::store(access, accesses).map_or(PlanEntry::Other, PlanEntry::Store)
            }
            (Step::Matrix(MatrixOp::Mma(_)), _) if *guard == Guard::ALWAYS => PlanEntry::Multiply,
            _ => PlanEntry::Other,
        },
    }
}

/// Whether an operation is the `bar.warp.sync` that lowering puts before every matrix instruction.
fn is_sync_before_matrix(ops: &[Op], at: usize) -> bool {
    let step = |at: usize| match ops.get(at) {
        Some(Op::Other(Guard::ALWAYS, step)) => Some(&**step),
        _ => None,
    };
    let meets = matches!(step(at), Some(Step::Warp(op)) if op.op == WarpOpKind::Sync);
    meets && matches!(step(at + 1), Some(Step::Matrix(..)))
}

/// A copy of a row that a launch gives.
fn copied(d: Slot, row: Slot, guard: Guard) -> PlanEntry {
    let simple = if row.is_wide() { Simple::Move64 } else { Simple::Move32 };
    let inst = Inst { guard, ..Inst::new(simple.bind(), &[d.number()], &[row.number()]) };
    if guard == Guard::ALWAYS { PlanEntry::Plain(inst) } else { PlanEntry::Guarded(inst) }
}
