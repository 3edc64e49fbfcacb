//! Copies that need not be made: what reads the copy can read the original.
//!
//! Compilers write `mov.u64 %rd31, %rd2`, `cvta.to.global.u64 %rd3, %rd1` (the same address) and, at the beginning
//! of every kernel, loads of parameters and copies of special registers. Where nothing that is read in between is
//! written, readers of the copy are given its source. Of parameters and special registers, the source is a row that
//! the launch fills before the kernel begins. Copies that nothing reads any more stay in the text's operations, where
//! a trace shows them, and are left out of the plan.
//!
//! **Why this is sound in a warp**: as with the sharing of rows (`allocate.rs`), each lane is a program of its own on
//! its own columns. Two cases are looked for:
//!
//! - within a run of operations without branches and labels, readers between the copy and the next write to either
//!   register;
//! - a copy among the operations that every lane executes first of all, and once, of a source that is not written
//!   from there on, to a register that nothing else writes or reads before: all readers.

use crate::virtuals::{ConstantRows, Virtual};
use softwarp_ir::Role;
use softwarp_ir::start::{Forwarded, FromLaunch, Given, Start};
use softwarp_ir::{Access, Class, Element, Guard, Memory, Op, Slot, Special, Step};

/// The most rows that a launch fills.
const MOST_GIVEN: usize = 24;

/// The most copies that are remembered at once within a run.
const MOST_NEAR: usize = 16;

/// The registers of a function, to which rows that the launch gives are added.
pub struct Registers<'a> {
    pub virtuals: &'a mut Vec<Virtual>,
    /// How many rows of constants there are, of 32-bit and of 64-bit words.
    pub constants: &'a mut ConstantRows,
    pub start: &'a mut Start,
}

/// How a register is used.
#[derive(Clone, Copy)]
struct Usage {
    writes: u32,
    /// The last operation that writes it.
    written: u32,
    /// The first that reads it.
    read: u32,
}

/// Lets readers of copies read the originals. `copies` are operations that copy a whole row, in their order;
/// `parameters` says how many bytes of them a kernel has, if the function is one.
pub fn forward(
    ops: &mut [Op],
    copies: &[u32],
    parameters: Option<u64>,
    mut registers: Registers<'_>,
) -> Forwarded {
    let given = parameters.map_or_else(Vec::new, |bytes| give(ops, bytes, &mut registers));
    if copies.is_empty() && given.is_empty() {
        return Forwarded::default();
    }
    replace(ops, copies, &given, registers.virtuals);
    let mut read = vec![false; registers.virtuals.len()];
    for op in ops.iter_mut() {
        op.visit(|slot, role| {
            if let Some(read) = read.get_mut(slot.number() as usize) {
                *read |= role.is_read();
            }
        });
    }
    let mut unread = vec![false; ops.len()];
    for at in copies.iter().copied().chain(given.iter().map(|given| given.op)) {
        let Some(d) = ends_of(&ops[at as usize]).0.map(|slot| slot.number() as usize) else { continue };
        let whole = matches!(registers.virtuals.get(d), Some(Virtual::Narrow | Virtual::Wide));
        unread[at as usize] = whole && !read[d];
    }
    Forwarded { unread, given }
}

/// What a copy writes and what it reads, if these are registers.
fn ends_of(op: &Op) -> (Option<Slot>, Option<Slot>) {
    match op {
        Op::Alu(alu) => (alu.d.get(0), alu.s.get(0)),
        Op::Other(_, step) => match &**step {
            Step::Special(read) => (Some(read.d), None),
            Step::Load(access) => (access.registers.first().and_then(|one| one.slot), None),
            // They are no copies.
            Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield => (None, None),
            Step::Switch(_) | Step::Call(_) | Step::FrameAddress(_) | Step::Alloca(_) => (None, None),
            Step::StackSave(_) | Step::StackRestore(_) | Step::Store(_) | Step::Atomic(_) => (None, None),
            Step::Fence(_) | Step::Barrier(_) | Step::Warp(_) | Step::Multimem(_) => (None, None),
            Step::Group(_) | Step::Texture(_) | Step::Cluster(_) | Step::Asynchronous(_) => (None, None),
            Step::Matrix(_) | Step::TensorCore(_) => (None, None),
        },
        Op::Branch(..) => (None, None),
    }
}

/// Finds what the launch can give, and makes rows of it.
fn give(ops: &[Op], parameters: u64, registers: &mut Registers<'_>) -> Vec<FromLaunch> {
    let mut found: Vec<FromLaunch> = Vec::new();
    // What each row is, and which of those found has it.
    let mut known: Vec<(Given, usize)> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let Op::Other(_, step) = op else { continue };
        let is = if let Step::Special(read) = &**step
            && is_fixed(read.register)
        {
            Given::Special(0, read.register)
        } else if let Step::Load(access) = &**step
            && let Some(given) = of_parameters(access, parameters)
        {
            given
        } else {
            continue;
        };
        if let Some(&(_, first)) = known.iter().find(|(one, _)| *one == is) {
            found.push(FromLaunch { op: at as u32, ..found[first] });
            continue;
        }
        if known.len() == MOST_GIVEN {
            continue;
        }
        known.push((is, found.len()));
        let wide = matches!(is, Given::Wide(..));
        let count = if wide { &mut registers.constants.wide } else { &mut registers.constants.narrow };
        let slot = *count;
        *count += 1;
        let number = registers.virtuals.len() as u32;
        let class = if wide { Class::Wide } else { Class::Narrow };
        registers.virtuals.push(if wide {
            Virtual::WideConstant(slot)
        } else {
            Virtual::NarrowConstant(slot)
        });
        let start = &mut *registers.start;
        match is {
            Given::Special(_, Special::Ctaid(axis)) => start.of_cta.push((slot, axis)),
            Given::Special(_, special) => start.given.push(Given::Special(slot, special)),
            Given::Narrow(_, offset) => start.given.push(Given::Narrow(slot, offset)),
            Given::Wide(_, offset) => start.given.push(Given::Wide(slot, offset)),
        }
        found.push(FromLaunch {
            op: at as u32,
            row: Slot::new(class, slot),
            register: Slot::new(class, number),
        });
    }
    found
}

/// Whether a special register stays the same while a warp of a CTA runs, and is cheap to know.
fn is_fixed(register: Special) -> bool {
    use Special::*;
    match register {
        Tid(_) | Ntid(_) | Ctaid(_) | Nctaid(_) | LaneId | WarpId => true,
        LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => true,
        Clock | ClockHi | Clock64 | GlobalTimer | GlobalTimerLo | GlobalTimerHi | Pm(_) => false,
        NwarpId | SmId | NsmId | GridId | CurrentGraphExec | EnvReg(_) => false,
        TotalSmemSize | AggrSmemSize | DynamicSmemSize | ReservedSmem(_) => false,
        ClusterId(_) | NclusterId(_) | ClusterCtaid(_) | ClusterNctaid(_) => false,
        ClusterCtarank | ClusterNctarank | IsExplicitCluster => false,
    }
}

/// The parameter that is loaded, if it is one word of them at a fixed place.
fn of_parameters(access: &Access, parameters: u64) -> Option<Given> {
    let address = &access.address;
    let bytes = u64::from(access.bytes);
    let offset = u64::try_from(address.offset).ok().filter(|offset| offset.is_multiple_of(bytes.max(1)))?;
    let inside = offset.checked_add(bytes).is_some_and(|end| end <= parameters);
    if address.memory != Memory::Kernel || address.base.is_some() || access.order.is_strong() || !inside {
        return None;
    }
    let offset = u32::try_from(offset).ok()?;
    match (access.bytes, access.registers.as_slice()) {
        (4, &[Element { slot: Some(_), bits: 32 }]) => Some(Given::Narrow(0, offset)),
        (8, &[Element { slot: Some(_), bits: 64 }]) => Some(Given::Wide(0, offset)),
        _ => None,
    }
}

fn usages(ops: &mut [Op], registers: usize) -> Vec<Usage> {
    let mut usages = vec![Usage { writes: 0, written: 0, read: u32::MAX }; registers];
    for (at, op) in (0..).zip(ops) {
        op.visit(|slot, role| {
            let Some(usage) = usages.get_mut(slot.number() as usize) else { return };
            match role {
                Role::Read | Role::Address => usage.read = usage.read.min(at),
                Role::Write => (usage.writes, usage.written) = (usage.writes + 1, at),
            }
        });
    }
    usages
}

/// Where operations are that branches lead to.
fn marked(ops: &[Op]) -> Vec<bool> {
    let mut marked = vec![false; ops.len() + 1];
    for &target in ops.iter().flat_map(Op::targets) {
        marked[(target as usize).min(ops.len())] = true;
    }
    marked
}

/// Gives readers the originals.
fn replace(ops: &mut [Op], copies: &[u32], given: &[FromLaunch], virtuals: &[Virtual]) {
    let usages = usages(ops, virtuals.len());
    let marked = marked(ops);
    let parts = |op: &Op| op.ends_block() || !op.targets().is_empty();
    let first_run = (0..ops.len()).find(|&at| marked[at] || parts(&ops[at])).unwrap_or(ops.len()) as u32;
    let (mut copies, mut given) = (copies.iter().peekable(), given.iter().peekable());
    // What a register is replaced by everywhere, and what some are replaced by within a run.
    let mut everywhere: Vec<Option<Slot>> = vec![None; virtuals.len()];
    let mut near: Vec<(Slot, Slot)> = Vec::new();
    for at in 0..ops.len() {
        if marked[at] {
            near.clear();
        }
        let op = &mut ops[at];
        op.visit(|slot, role| match role {
            Role::Read | Role::Address => {
                let whole = everywhere.get(slot.number() as usize).copied().flatten();
                let close = near.iter().find(|(d, _)| *d == *slot).map(|&(_, s)| s);
                *slot = close.or(whole).unwrap_or(*slot);
            }
            Role::Write => near.retain(|&(d, s)| d != *slot && s != *slot),
        });
        let row = given.next_if(|given| given.op as usize == at).map(|given| given.register);
        let is_copy = copies.next_if(|&&copy| copy as usize == at).is_some();
        if is_copy || row.is_some() {
            let (d, s) = ends_of(op);
            let at = at as u32;
            if op.guard() == Guard::ALWAYS
                && let (Some(d), Some(s)) = (d, row.or(s))
                && d != s
                && are_alike(virtuals, d, s)
            {
                let (to, from) = (usages[d.number() as usize], usages[s.number() as usize]);
                let fixed = from.writes == 0 || from.writes == 1 && from.written < at;
                if at < first_run && to.writes == 1 && to.read > at && fixed {
                    everywhere[d.number() as usize] = Some(s);
                } else if near.len() < MOST_NEAR {
                    near.push((d, s));
                }
            }
        }
        if parts(&ops[at]) {
            near.clear();
        }
    }
}

/// Whether one register is a row that the other could be read from instead.
fn are_alike(virtuals: &[Virtual], d: Slot, s: Slot) -> bool {
    let of = |register: Slot| virtuals.get(register.number() as usize);
    matches!(
        (of(d), of(s)),
        (Some(Virtual::Narrow), Some(Virtual::Narrow | Virtual::NarrowConstant(_)))
            | (Some(Virtual::Wide), Some(Virtual::Wide | Virtual::WideConstant(_)))
    )
}
