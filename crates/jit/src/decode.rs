//! What compiled code does for each operation of a function.

use crate::Level;
pub(crate) use crate::actions::{Action, Combine, Compute, Order, PredicateOp, ShortType, Width};
use crate::buffers::Buffer;
pub(crate) use crate::conversions::{Convert, Extend, WideConvert};
use crate::forms::instruction;
pub(crate) use crate::functions::{Float, Rounding, Special};
pub(crate) use crate::integers::Integer;
use crate::memory::{is_own, is_pair, is_plain_atomic, is_plain_load, is_plain_store};
use softwarp_ir::{
    Alu, AluOp, AsyncOp, Class, FrameAddress, Function, Guard, MatrixOp, Op, Slot, Step, WarpOp, WarpOpKind,
};
use softwarp_isa::instruction::Opcode;
use softwarp_units::alu::simple::Simple;

/// What compiled code does for each operation. `None` if one has registers of 128 bits.
pub(crate) fn decode(function: &Function, level: Level) -> Option<Buffer<Action>> {
    let forwarded = &function.forwarded;
    let mut given = forwarded.given.iter().peekable();
    let mut actions = Buffer::new(function.ops.len());
    for (at, op) in function.ops.iter().enumerate() {
        if is_pair(op) {
            return None;
        }
        let row = given.next_if(|given| given.op as usize == at).map(|given| given.row);
        if forwarded.unread.get(at).copied().unwrap_or(false) {
            actions.push(Action::Nothing);
            continue;
        }
        actions.push(match op {
            Op::Alu(alu) => {
                let compute = compute(function, alu).filter(|compute| compute.has_code(level));
                compute.map_or(Action::Loop, Action::Compute)
            }
            Op::Branch(..) => Action::Branch,
            Op::Other(guard, step) => of_step(function, level, (*guard == Guard::ALWAYS, step), row),
        });
    }
    Some(actions)
}

/// What compiled code does for an operation that is no arithmetic: `always` says that it has no guard, and `row` is what
/// the launch gives in place of its result.
fn of_step(function: &Function, level: Level, (always, step): (bool, &Step), row: Option<Slot>) -> Action {
    let otherwise = if is_performed(step) { Action::Step } else { Action::Exit };
    let owns = level == Level::Avx512;
    match step {
        Step::Group(op) if op.is_silent() => Action::Nothing,
        Step::Fence(_) => Action::Fence,
        Step::Special(read) => row.filter(|_| always).map_or(otherwise, |row| Action::Copy(read.d, row)),
        Step::Load(access) => match row {
            Some(row) if always => match access.registers.first().and_then(|one| one.slot) {
                Some(d) => Action::Copy(d, row),
                None => Action::Nothing,
            },
            None if is_plain_load(access) => match access.order.is_strong() {
                false => Action::Load,
                true if always => Action::Poll,
                true => Action::Step,
            },
            None if owns && is_own(access, true) => Action::LoadOwn,
            Some(_) | None => otherwise,
        },
        Step::Store(access) if row.is_none() && is_plain_store(access) => Action::Store,
        Step::Store(access) if row.is_none() && owns && is_own(access, false) => Action::StoreOwn,
        Step::Atomic(atomic) if row.is_none() && is_plain_atomic(atomic) => Action::Atomic,
        Step::FrameAddress(of) if row.is_none() && always && has_code(of) => Action::FrameAddress,
        Step::Warp(op) if always && is_exchange(function, op) => Action::Exchange,
        Step::Group(_) | Step::Store(_) | Step::Atomic(_) | Step::FrameAddress(_) => otherwise,
        Step::Warp(_) | Step::Texture(_) | Step::Matrix(_) | Step::Asynchronous(_) => otherwise,
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield => otherwise,
        Step::Switch(_) | Step::Call(_) | Step::Alloca(_) => otherwise,
        Step::StackSave(_) | Step::StackRestore(_) | Step::Barrier(_) => otherwise,
        Step::Multimem(_) | Step::Cluster(_) | Step::TensorCore(_) => otherwise,
    }
}

/// Whether the interpreter can perform an operation while compiled code runs: the same lanes go on behind it.
fn is_performed(step: &Step) -> bool {
    match step {
        Step::Matrix(op) => match op {
            MatrixOp::Load(_) | MatrixOp::Store(_) | MatrixOp::Transpose(_) | MatrixOp::Mma(_) => true,
            MatrixOp::FragmentLoad(_) | MatrixOp::FragmentStore(_) => true,
            // The other warps of its group take part in it.
            MatrixOp::Wgmma(_) => false,
        },
        Step::Asynchronous(op) => is_performed_copy(op),
        Step::Load(_) | Step::Store(_) | Step::Atomic(_) => true,
        Step::Special(_) | Step::Texture(_) | Step::Warp(_) => true,
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => false,
        Step::Call(_) | Step::FrameAddress(_) | Step::Alloca(_) => false,
        Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => false,
        Step::Multimem(_) | Step::Group(_) | Step::Cluster(_) | Step::TensorCore(_) => false,
    }
}

/// Whether the interpreter can perform an asynchronous operation while compiled code runs.
fn is_performed_copy(op: &AsyncOp) -> bool {
    match op {
        AsyncOp::Copy(_) => true,
        AsyncOp::MbarrierInit(_) | AsyncOp::MbarrierInval(_) | AsyncOp::MbarrierTx(_) => false,
        AsyncOp::MbarrierArrive(_) | AsyncOp::MbarrierWait(_) => false,
        AsyncOp::MbarrierCheckLayout(_) | AsyncOp::PendingCount(_) => false,
        AsyncOp::CopyArrive(_) | AsyncOp::Bulk(_) | AsyncOp::Store(_) => false,
        AsyncOp::Reduce(_) | AsyncOp::Zero(_) | AsyncOp::Tensor(_) => false,
        AsyncOp::Replace(_) | AsyncOp::CopyMap(_) => false,
    }
}

/// Whether the address of a variable of the frame has code: one of 64 bits.
fn has_code(of: &FrameAddress) -> bool {
    of.d.is_wide() && i32::try_from(of.offset).is_ok()
}

/// The value of a row that holds the same constant in all lanes.
pub(crate) fn constant(function: &Function, slot: Slot) -> Option<u32> {
    match (value_of(&function.shared_narrow, slot), slot.class()) {
        (None, Class::Narrow) => value_of(&function.narrow_constants, slot),
        (Some(_), Class::Narrow) | (_, Class::Wide | Class::Predicate) => None,
    }
}

/// The value that a list of constants has for a row.
pub(crate) fn value_of(list: &[(u32, u32)], slot: Slot) -> Option<u32> {
    let at = list.binary_search_by_key(&slot.number(), |&(number, _)| number).ok()?;
    Some(list[at].1)
}

/// Whether an operation among lanes has code: shuffles within constant bounds, votes, and reductions of integers, unless some
/// lanes are not named.
fn is_exchange(function: &Function, op: &WarpOp) -> bool {
    use WarpOpKind::{ActiveMask, Elect, MatchAll32, MatchAll64, MatchAny32, MatchAny64, ReduxF32};
    use WarpOpKind::{
        ReduxAdd, ReduxAnd, ReduxMaxS32, ReduxMaxU32, ReduxMinS32, ReduxMinU32, ReduxOr, ReduxXor,
    };
    use WarpOpKind::{ShflBfly, ShflDown, ShflIdx, ShflUp, Sync, VoteAll, VoteAny, VoteBallot, VoteUni};
    // Members that are known at run time only are looked at there.
    let all =
        op.members.and_then(|members| constant(function, members)).is_none_or(|named| named == u32::MAX);
    let is_constant = |n: usize| op.s.get(n).is_some_and(|slot| constant(function, slot).is_some());
    all && match op.op {
        ShflUp | ShflDown | ShflBfly | ShflIdx => is_constant(2),
        Sync | VoteAll | VoteAny | VoteBallot | VoteUni => true,
        ReduxAdd | ReduxAnd | ReduxOr | ReduxXor => true,
        ReduxMinS32 | ReduxMinU32 | ReduxMaxS32 | ReduxMaxU32 => true,
        MatchAny32 | MatchAny64 | MatchAll32 | MatchAll64 => false,
        ReduxF32 { .. } | ActiveMask | Elect => false,
    }
}

fn compute(function: &Function, alu: &Alu) -> Option<Compute> {
    use Width::{W32, W64};
    match &alu.op {
        AluOp::Simple(simple) => Some(match *simple {
            Simple::Move32 => Compute::Copy(W32),
            Simple::Move64 => Compute::Copy(W64),
            Simple::MovePredicate => Compute::Predicate(PredicateOp::Copy),
            Simple::Not => Compute::Predicate(PredicateOp::Not),
            Simple::Truth(holds) => Compute::Predicate(PredicateOp::Truth(holds)),
            Simple::Extract32(field) if field.shift + field.bits <= 32 => {
                Compute::Extend(Extend::Field { shift: field.shift, bits: field.bits })
            }
            Simple::Extract64(field) if field.shift == 0 && field.bits == 32 => {
                Compute::Extend(Extend::Low32)
            }
            Simple::Extract64(field) if field.shift == 32 && field.bits == 32 => Compute::High32,
            Simple::Extract64(field) if field.shift < 64 && (1..=32).contains(&field.bits) => {
                Compute::WideConvert(WideConvert::Field { shift: field.shift, bits: field.bits })
            }
            Simple::Pack32(16) if alu.s.count() == 2 => Compute::Halves,
            Simple::Dividend(of) => Compute::Special(Special::Dividend { ftz: of.ftz }),
            Simple::Reciprocal(_) => Compute::Special(Special::Divisor),
            Simple::Pack64(32) if alu.s.count() == 2 => Compute::Pack64,
            Simple::Sign32(of) if matches!(of.to, 16 | 32) => {
                Compute::Extend(Extend::Sign { from: of.from, to: of.to })
            }
            Simple::Sign64(of) if of.from == 32 => Compute::Extend(Extend::Sign64),
            Simple::Zero64 => Compute::Extend(Extend::Zero64),
            Simple::Add32 => Compute::Add(W32),
            Simple::Add64 => Compute::Add(W64),
            Simple::Sub32 => Compute::Sub(W32),
            Simple::Sub64 => Compute::Sub(W64),
            // Other fields, widths and numbers of sources.
            Simple::Extract32(_) | Simple::Extract64(_) | Simple::Pack32(_) | Simple::Pack64(_) => {
                return None;
            }
            Simple::Sign32(_) | Simple::Sign64(_) | Simple::Inside { .. } => return None,
        }),
        AluOp::Instruction(form, _) if form.opcode == Opcode::Prmt && form.modifiers.is_empty() => {
            let selector = constant(function, alu.s.get(2)?).filter(|selector| selector & 0x8888 == 0);
            Some(match selector {
                Some(selector) => Compute::Permute(selector as u16),
                None => Compute::Integer(Integer::Permute),
            })
        }
        AluOp::Instruction(form, immediate) => instruction(form, *immediate, alu),
    }
}
