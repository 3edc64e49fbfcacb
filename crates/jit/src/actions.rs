//! What compiled code can do for an operation: the actions, and the arithmetic among them.

use crate::Level;
use crate::buffers::pooled;
use crate::conversions::{Convert, Extend, WideConvert};
use crate::functions::{Float, Half, Rounding, Special};
use crate::integers::Integer;
use softwarp_ir::{Alu, Function, Guard, Op, Slot, Step};

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
    /// The arithmetic of one that is arithmetic of a single operation.
    pub(crate) fn compute(self) -> Option<Compute> {
        match self {
            Action::Compute(compute) => Some(compute),
            Action::Nothing | Action::Copy(..) | Action::Fused(_) | Action::Loop => None,
            Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => None,
            Action::FrameAddress | Action::Atomic | Action::Fence | Action::Exchange | Action::Step => None,
            Action::Branch | Action::Exit => None,
        }
    }

    /// Whether compiled code is left at an operation each time: what it writes, the interpreter or another entry finds in
    /// the frame.
    pub(crate) fn always_leaves(self) -> bool {
        match self {
            Action::Exit => true,
            Action::Nothing | Action::Copy(..) | Action::Compute(_) | Action::Fused(_) => false,
            Action::Loop | Action::Step | Action::Branch => false,
            Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => false,
            Action::FrameAddress | Action::Atomic | Action::Fence | Action::Exchange => false,
        }
    }

    /// Whether some lanes may execute an operation while others wait after it, and all go on there.
    pub(crate) fn may_be_skipped(self) -> bool {
        match self {
            Action::Branch | Action::Exit => false,
            // All lanes of the warp take part in it.
            Action::Exchange => false,
            Action::Nothing | Action::Copy(..) | Action::Compute(_) | Action::Fused(_) => true,
            Action::Loop | Action::Step | Action::Fence => true,
            Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => true,
            Action::FrameAddress | Action::Atomic => true,
        }
    }

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

    /// Whether compiled code is left at an operation always or often: a block begins after it.
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

/// The arithmetic of an operation that all lanes execute.
pub(crate) fn arithmetic<'a>(
    function: &'a Function,
    actions: &[Action],
    op: usize,
) -> Option<(Compute, &'a Alu)> {
    let (Some(compute), Op::Alu(alu)) = (actions[op].compute(), &function.ops[op]) else { return None };
    (alu.guard == Guard::ALWAYS).then_some((compute, alu))
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
    /// The order of two values that are not in this one.
    pub(crate) fn opposite(self) -> Order {
        match self {
            Order::Eq => Order::Ne,
            Order::Ne => Order::Eq,
            Order::Lt => Order::Ge,
            Order::Le => Order::Gt,
            Order::Gt => Order::Le,
            Order::Ge => Order::Lt,
        }
    }

    /// Whether a value that is above another is in the order.
    pub(crate) fn holds_above(self) -> bool {
        match self {
            Order::Gt | Order::Ge | Order::Ne => true,
            Order::Lt | Order::Le | Order::Eq => false,
        }
    }

    /// Whether a value that is below another is in the order.
    pub(crate) fn holds_below(self) -> bool {
        match self {
            Order::Lt | Order::Le | Order::Ne => true,
            Order::Gt | Order::Ge | Order::Eq => false,
        }
    }

    /// Whether it gives for equal values what it gives for values above, but not for those below.
    pub(crate) fn joins_equal_to_above(self) -> bool {
        match self {
            Order::Lt | Order::Ge => true,
            Order::Le | Order::Gt | Order::Eq | Order::Ne => false,
        }
    }

    /// Whether it gives for equal values what it gives for values below, but not for those above.
    pub(crate) fn joins_equal_to_below(self) -> bool {
        match self {
            Order::Le | Order::Gt => true,
            Order::Lt | Order::Ge | Order::Eq | Order::Ne => false,
        }
    }

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
    pub(crate) fn has_code(self, level: Level) -> bool {
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

/// Whether lanes that wait go first at an operation that the interpreter performs, or lanes wait for others.
fn waits_in_interpreter(step: &Step) -> bool {
    match step {
        Step::Atomic(_) | Step::Warp(_) => true,
        Step::Load(access) => access.order.is_strong(),
        // These are performed at once.
        Step::Store(_) | Step::Special(_) | Step::Texture(_) | Step::Matrix(_) | Step::Asynchronous(_) => {
            false
        }
        // These are not performed so (`is_performed` in `decode.rs`).
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => true,
        Step::Call(_) | Step::FrameAddress(_) | Step::Alloca(_) => true,
        Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => true,
        Step::Multimem(_) | Step::Group(_) | Step::Cluster(_) | Step::TensorCore(_) => true,
    }
}
