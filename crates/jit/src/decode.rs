//! What compiled code does for each operation of a function.

use crate::Level;
use crate::buffers::{Buffer, pooled};
pub(crate) use crate::conversions::{Convert, Extend, WideConvert};
use crate::forms::instruction;
pub(crate) use crate::functions::{Float, Half, Rounding, Special};
pub(crate) use crate::integers::Integer;
use crate::memory::{is_own, is_pair, is_plain_atomic, is_plain_load, is_plain_store};
use softwarp_ir::{
    Alu, AluOp, AsyncOp, Class, FrameAddress, Function, Guard, MatrixOp, Op, Slot, Step, WarpOp, WarpOpKind,
};
use softwarp_isa::instruction::Opcode;
use softwarp_units::alu::simple::Simple;

/// What compiled code does for an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// The operation has no effect.
    Nothing,
    /// A row that the launch gives is copied.
    Copy(Slot, Slot),
    /// Arithmetic in vector or scalar instructions.
    Compute(Compute),
    /// Arithmetic that several operations stand for: its number in [`crate::flow::Flow::fused`].
    Fused(u32),
    /// Arithmetic by the interpreter's loop.
    Loop,
    /// A weak load of one element, or of several.
    Load,
    /// A strong one: it is ordered with the stores of other threads, and lanes may wait for these.
    Poll,
    /// A store of one element, or of several.
    Store,
    /// A load or a store of the memory that each thread has to itself.
    LoadOwn,
    StoreOwn,
    /// The address of a variable there.
    FrameAddress,
    /// A relaxed atomic operation on words of 32 or 64 bits.
    Atomic,
    /// A fence.
    Fence,
    /// An operation among the lanes of a warp, if all of them execute it together.
    Exchange,
    /// An operation that the interpreter performs, if it can without leaving compiled code.
    Step,
    Branch,
    /// Compiled code is left.
    Exit,
}

pooled!(Action);

impl Action {
    /// Whether each lane's result may be written as soon as the lane's sources are read.
    pub(crate) fn is_elementwise(self) -> bool {
        match self {
            Action::Compute(compute) => compute.is_elementwise(),
            Action::Copy(..) | Action::Fused(_) => true,
            Action::Nothing | Action::Branch | Action::Exit | Action::Fence | Action::FrameAddress => false,
            Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => false,
            Action::Loop | Action::Step | Action::Atomic | Action::Exchange => false,
        }
    }

    /// Whether compiled code is left at an operation always or often: a block begins behind it.
    pub(crate) fn may_always_leave(self, op: &Op) -> bool {
        match self {
            Action::Exit => true,
            Action::Step => match op {
                Op::Other(_, step) => waits_in_interpreter(step),
                Op::Alu(_) | Op::Branch(..) => false,
            },
            Action::Nothing | Action::Copy(..) | Action::Compute(_) | Action::Fused(_) | Action::Loop => {
                false
            }
            Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => false,
            Action::FrameAddress | Action::Atomic | Action::Fence | Action::Exchange | Action::Branch => {
                false
            }
        }
    }
}

/// The width of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    W32,
    W64,
}

/// A comparison of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Order {
    /// The predicate of `vpcmpd`.
    pub(crate) fn predicate(self) -> u8 {
        match self {
            Order::Eq => 0,
            Order::Lt => 1,
            Order::Le => 2,
            Order::Ne => 4,
            Order::Ge => 5,
            Order::Gt => 6,
        }
    }
}

/// The type of 16-bit words that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortType {
    S16,
    F16,
    Bf16,
}

/// How a comparison's result is combined with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Nothing,
    And,
    Or,
    Xor,
}

/// Arithmetic that has code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compute {
    Copy(Width),
    Add(Width),
    Sub(Width),
    Neg(Width),
    /// The low half of a product.
    Mul(Width),
    /// The high half of a product of 32-bit words.
    High {
        signed: bool,
    },
    /// Bytes of two words, by a constant selector.
    Permute(u16),
    /// The low half of a product, and a sum.
    Mad(Width),
    /// A product of twice the width; with a third source, a sum.
    Wide {
        signed: bool,
        add: bool,
    },
    And(Width),
    Or(Width),
    Xor(Width),
    Not(Width),
    Lop3(u8),
    Shl(Width),
    Shr {
        width: Width,
        signed: bool,
    },
    /// A funnel shift by an amount modulo 32.
    Funnel {
        left: bool,
    },
    Min {
        width: Width,
        signed: bool,
    },
    Max {
        width: Width,
        signed: bool,
    },
    Select(Width),
    Extend(Extend),
    /// Two rows of 16 bits as one of 32.
    Halves,
    /// Two rows of 32 bits as one of 64.
    Pack64,
    /// The high 32 bits of 64.
    High32,
    Compare {
        width: Width,
        signed: bool,
        order: Order,
        combine: Combine,
    },
    /// A comparison of f32: the predicate of `vcmpps`.
    CompareFloat {
        predicate: u8,
        combine: Combine,
        ftz: bool,
    },
    /// A comparison of f64: the predicate of `vcmppd`.
    CompareDouble {
        predicate: u8,
        combine: Combine,
    },
    /// A comparison of 16-bit words: the predicate of `vpcmpd` or `vcmpps`.
    CompareShort {
        of: ShortType,
        predicate: u8,
        combine: Combine,
    },
    Integer(Integer),
    Half(Half),
    /// In f64.
    Double(Float),
    Float(Float),
    /// In f32, rounded in a direction.
    Rounded(Float, Rounding),
    /// With `.ftz`.
    Flushed(Float),
    Convert(Convert),
    /// Of or to rows of 64-bit words.
    WideConvert(WideConvert),
    Special(Special),
    /// An operation on predicates.
    Predicate(PredicateOp),
}

/// An operation on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredicateOp {
    Copy,
    Not,
    And,
    Or,
    Xor,
    Truth(bool),
}

impl Compute {
    fn is_elementwise(self) -> bool {
        use Width::{W32, W64};
        match self {
            Compute::Integer(integer) => integer.is_elementwise(),
            Compute::WideConvert(convert) => convert.is_elementwise(),
            Compute::Shl(width) | Compute::Shr { width, .. } => width == W32,
            // Source and result differ in width.
            Compute::Extend(Extend::Sign64 | Extend::Zero64 | Extend::Low32) => false,
            Compute::Wide { .. } | Compute::Pack64 | Compute::High32 => false,
            Compute::Extend(Extend::Field { .. } | Extend::Sign { .. }) => true,
            Compute::Copy(W32 | W64) | Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) => true,
            Compute::Mul(_) | Compute::High { .. } | Compute::Mad(_) | Compute::Permute(_) => true,
            Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) => true,
            Compute::Funnel { .. } | Compute::Min { .. } | Compute::Max { .. } | Compute::Select(_) => true,
            Compute::Halves | Compute::Half(_) | Compute::Double(_) | Compute::Float(_) => true,
            Compute::Rounded(..) | Compute::Flushed(_) | Compute::Convert(_) | Compute::Special(_) => true,
            Compute::Compare { .. } | Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => true,
            Compute::CompareShort { .. } | Compute::Predicate(_) => true,
        }
    }

    /// Whether a level has instructions for it.
    fn has_code(self, level: Level) -> bool {
        match self {
            Compute::WideConvert(convert) => level == Level::Avx512 || !convert.needs_avx512(),
            Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) | Compute::Mul(_) => true,
            Compute::High { .. } | Compute::Permute(_) | Compute::Mad(_) | Compute::Wide { .. } => true,
            Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) => true,
            Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Select(_) => true,
            Compute::Min { .. } | Compute::Max { .. } | Compute::Extend(_) | Compute::Halves => true,
            Compute::Pack64 | Compute::High32 | Compute::Compare { .. } | Compute::CompareFloat { .. } => {
                true
            }
            Compute::CompareDouble { .. } | Compute::CompareShort { .. } | Compute::Integer(_) => true,
            Compute::Half(_) | Compute::Double(_) | Compute::Float(_) | Compute::Rounded(..) => true,
            Compute::Flushed(_) | Compute::Convert(_) | Compute::Special(_) | Compute::Predicate(_) => true,
        }
    }
}

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
            Op::Alu(alu) => match compute(function, alu) {
                Some(compute) if compute.has_code(level) => Action::Compute(compute),
                _ => Action::Loop,
            },
            Op::Branch(..) => Action::Branch,
            Op::Other(guard, step) => match (&**step, row) {
                (Step::Group(op), _) if op.is_silent() => Action::Nothing,
                (Step::Fence(_), _) => Action::Fence,
                (Step::Special(read), Some(row)) if *guard == Guard::ALWAYS => Action::Copy(read.d, row),
                (Step::Load(access), Some(row)) if *guard == Guard::ALWAYS => {
                    match access.registers.first().and_then(|one| one.slot) {
                        Some(d) => Action::Copy(d, row),
                        None => Action::Nothing,
                    }
                }
                (Step::Load(access), None) if is_plain_load(access) => match access.order.is_strong() {
                    false => Action::Load,
                    true if *guard == Guard::ALWAYS => Action::Poll,
                    true => Action::Step,
                },
                (Step::Store(access), None) if is_plain_store(access) => Action::Store,
                (Step::Atomic(atomic), None) if is_plain_atomic(atomic) => Action::Atomic,
                (Step::Load(access), None) if level == Level::Avx512 && is_own(access, true) => {
                    Action::LoadOwn
                }
                (Step::Store(access), None) if level == Level::Avx512 && is_own(access, false) => {
                    Action::StoreOwn
                }
                (Step::FrameAddress(of), None) if *guard == Guard::ALWAYS && has_code(of) => {
                    Action::FrameAddress
                }
                (Step::Warp(op), _) if *guard == Guard::ALWAYS && is_exchange(function, op) => {
                    Action::Exchange
                }
                (step, _) if is_performed(step) => Action::Step,
                _ => Action::Exit,
            },
        });
    }
    Some(actions)
}

/// Whether the interpreter can perform an operation while compiled code runs: the same lanes go on behind it.
fn is_performed(step: &Step) -> bool {
    match step {
        Step::Matrix(op) => !matches!(op, MatrixOp::Wgmma(_)),
        Step::Asynchronous(op) => matches!(op, AsyncOp::Copy(_)),
        Step::Load(_) | Step::Store(_) | Step::Atomic(_) => true,
        Step::Special(_) | Step::Texture(_) | Step::Warp(_) => true,
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => false,
        Step::Call(_) | Step::FrameAddress(_) | Step::Alloca(_) => false,
        Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => false,
        Step::Multimem(_) | Step::Group(_) | Step::Cluster(_) | Step::TensorCore(_) => false,
    }
}

/// Whether lanes that wait go first at an operation that the interpreter performs, or lanes wait for others.
fn waits_in_interpreter(step: &Step) -> bool {
    match step {
        Step::Atomic(_) | Step::Warp(_) => true,
        Step::Load(access) => access.order.is_strong(),
        // These are performed at once.
        Step::Store(_) | Step::Special(_) | Step::Texture(_) | Step::Matrix(_) | Step::Asynchronous(_) => {
            false
        }
        // These are not performed so ([`is_performed`]).
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => true,
        Step::Call(_) | Step::FrameAddress(_) | Step::Alloca(_) => true,
        Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => true,
        Step::Multimem(_) | Step::Group(_) | Step::Cluster(_) | Step::TensorCore(_) => true,
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
        _ => None,
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
            Some(match constant(function, alu.s.get(2)?) {
                Some(selector) if selector & 0x8888 == 0 => Compute::Permute(selector as u16),
                _ => Compute::Integer(Integer::Permute),
            })
        }
        AluOp::Instruction(form, immediate) => instruction(form, *immediate, alu),
    }
}
