//! Which kernels may wait for something that the program does later: a launch of such a kernel returns before the kernel
//! has ended (`stream.rs`).
//!
//! These are kernels that read a clock, sleep, use atomic operations or read memory strongly, as code that waits does.
//! Besides them there are kernels with loops that end by what others do, or never:
//!
//! - A loop that is not left: from some operation that can be reached, no end of the function can be.
//! - A loop that reads memory, stores nothing, and carries no register from one round to the next: each round does the
//!   same, unless the memory has changed.
//!
//! A loop that counts and never ends is not found. The call that launches such a kernel does not return.

use softwarp::ir::{Function, Guard, Op, Role, Slot, Step};
use std::collections::HashSet;

/// The longest loop, in operations, that is looked at for what it carries.
const LONGEST_POLL: usize = 64;

/// Whether a function may wait.
pub fn may_wait(function: &Function) -> bool {
    let ops = &function.ops;
    ops.iter().any(waits) || has_loop_without_end(ops) || polls(ops)
}

/// Whether an operation is of the kind that kernels wait with: reads of clocks and strong or volatile reads of memory.
fn waits(op: &Op) -> bool {
    let Op::Other(_, step) = op else { return false };
    match &**step {
        Step::Special(special) => special.register.is_clock(),
        Step::Atomic(_) | Step::Yield => true,
        Step::Load(access) => access.order.is_strong(),
        _ => false,
    }
}

/// Whether an operation can be reached from which no end of the function can be.
fn has_loop_without_end(ops: &[Op]) -> bool {
    // A function without a branch back comes to its end.
    if !ops.iter().enumerate().any(|(at, op)| op.targets().iter().any(|&target| target as usize <= at)) {
        return false;
    }
    let next = |at: usize| {
        let op = &ops[at];
        let behind = (!op.ends_block()).then_some(at + 1);
        op.targets().iter().map(|&target| target as usize).chain(behind)
    };
    let mut reached = vec![false; ops.len()];
    let mut waiting = vec![0];
    while let Some(at) = waiting.pop() {
        if at < ops.len() && !std::mem::replace(&mut reached[at], true) {
            waiting.extend(next(at));
        }
    }
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); ops.len() + 1];
    let mut ending = vec![false; ops.len()];
    for at in (0..ops.len()).filter(|&at| reached[at]) {
        next(at).for_each(|next| before[next.min(ops.len())].push(at as u32));
        if let Op::Other(_, step) = &ops[at]
            && matches!(**step, Step::Return | Step::Exit | Step::Trap)
        {
            waiting.push(at);
        }
    }
    // After the last operation is an end, too.
    waiting.extend(before[ops.len()].iter().map(|&at| at as usize));
    while let Some(at) = waiting.pop() {
        if !std::mem::replace(&mut ending[at], true) {
            waiting.extend(before[at].iter().map(|&at| at as usize));
        }
    }
    (0..ops.len()).any(|at| reached[at] && !ending[at])
}

/// Whether there is an innermost loop that reads memory, and whose rounds differ only if memory does.
fn polls(ops: &[Op]) -> bool {
    // The last branch back before the operation: a loop that has it inside is not an innermost one.
    let mut last_back = None;
    for (at, op) in ops.iter().enumerate() {
        let Some(start) = op.targets().iter().map(|&target| target as usize).filter(|&it| it <= at).min()
        else {
            continue;
        };
        let is_innermost = last_back.is_none_or(|last| last < start);
        last_back = Some(at);
        if is_innermost && at - start < LONGEST_POLL && is_poll(&ops[start..=at]) {
            return true;
        }
    }
    false
}

/// Whether the operations of a loop do the same in each round unless memory changes.
fn is_poll(ops: &[Op]) -> bool {
    let mut loads = false;
    for op in ops {
        let Op::Other(_, step) = op else { continue };
        match &**step {
            Step::Load(_) => loads = true,
            Step::Store(_) | Step::Call(_) => return false,
            _ => {}
        }
    }
    loads && !carries(ops)
}

/// Whether a loop reads a register that an earlier round may have written.
fn carries(ops: &[Op]) -> bool {
    let slots = |op: &Op| {
        let mut all = Vec::new();
        op.clone().visit(|slot, role| all.push((*slot, role)));
        all
    };
    let all: Vec<Vec<(Slot, Role)>> = ops.iter().map(slots).collect();
    let written: HashSet<Slot> =
        all.iter().flatten().filter(|(_, role)| *role == Role::Write).map(|(slot, _)| *slot).collect();
    let mut defined = HashSet::new();
    for (op, slots) in ops.iter().zip(&all) {
        for (slot, role) in slots {
            if role.is_read() && written.contains(slot) && !defined.contains(slot) {
                return true;
            }
        }
        // Under a guard the register may keep what it had.
        if op.guard() == Guard::ALWAYS {
            defined.extend(slots.iter().filter(|(_, role)| *role == Role::Write).map(|(slot, _)| *slot));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use softwarp::isa::Target;
    use softwarp::vm::device::{Device, LoadOptions};

    /// Whether a kernel with a body may wait.
    fn waits(body: &str) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n) {{\n\
             .reg .pred %q; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
             ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;\n{body}\nret; }}"
        );
        let device = Device::beside_host(Target::SM_90, 64, None);
        let id = device.load_module(&[&text], LoadOptions::default()).expect("a module");
        let module = device.module(id).expect("loaded");
        let program = module.program("k").expect("lowered");
        program.functions().any(super::may_wait)
    }

    #[test]
    fn code_without_loops_and_loops_that_count_do_not_wait() {
        assert!(!waits("st.global.u32 [%d1], %r1;"));
        assert!(!waits("L: add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, %r1; @%q bra L;"));
        assert!(!waits(
            "L: ld.global.u32 %r3, [%d1]; add.u32 %r2, %r2, %r3; setp.lt.u32 %q, %r2, %r1; @%q bra L;"
        ));
        // A list.
        assert!(!waits("L: ld.global.u64 %d1, [%d1]; setp.ne.u64 %q, %d1, 0; @%q bra L;"));
        // It stores what its end depends on, as unoptimised code does.
        assert!(!waits(
            "L: ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, 1; st.global.u32 [%d1], %r3; setp.lt.u32 %q, %r3, %r1; \
             @%q bra L;"
        ));
    }

    #[test]
    fn loops_without_end_wait() {
        assert!(waits("L: bra L;"));
        assert!(waits("L: add.u32 %r2, %r2, 1; st.global.u32 [%d1], %r2; bra L;"));
        assert!(waits("setp.eq.u32 %q, %r1, 0; @!%q bra E; L: add.u32 %r2, %r2, 1; bra L; E:"));
    }

    #[test]
    fn loops_that_end_by_what_others_store_wait() {
        assert!(waits("L: ld.global.u32 %r3, [%d1]; setp.eq.u32 %q, %r3, 0; @%q bra L;"));
        assert!(waits("L: ld.volatile.global.u32 %r3, [%d1]; st.global.u32 [%d1+4], %r3;"));
    }
}
