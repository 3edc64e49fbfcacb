//! What compiled code does for each operation of a function.

use crate::Level;
use crate::buffers::{Buffer, pooled};
use crate::conversions::{Conversion, conversion};
pub(crate) use crate::conversions::{Convert, Extend, WideConvert};
pub(crate) use crate::functions::{Float, Half, Rounding, Special};
use crate::functions::{half, special};
pub(crate) use crate::integers::Integer;
use crate::integers::integer as other_integer;
use crate::memory::{is_own, is_pair, is_plain_atomic, is_plain_load, is_plain_store};
use softwarp_ir::{
    Alu, AluOp, AsyncOp, Class, FrameAddress, Function, Guard, Immediate, MatrixOp, Op, Slot, Step, WarpOp,
    WarpOpKind,
};
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};
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
            _ => false,
        }
    }

    /// Whether compiled code is left at an operation always or often: a block begins behind it.
    pub(crate) fn may_always_leave(self, op: &Op) -> bool {
        match (self, op) {
            (Action::Step, Op::Other(_, step)) => match &**step {
                // Lanes that wait go first, or lanes wait for others.
                Step::Atomic(_) | Step::Warp(_) => true,
                Step::Load(access) => access.order.is_strong(),
                _ => false,
            },
            _ => self == Action::Exit,
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
        match self {
            Compute::Integer(integer) => return integer.is_elementwise(),
            Compute::WideConvert(convert) => return convert.is_elementwise(),
            _ => {}
        }
        !matches!(
            self,
            Compute::Wide { .. }
                | Compute::Extend(Extend::Sign64 | Extend::Zero64 | Extend::Low32)
                | Compute::Pack64
                | Compute::High32
                | Compute::Shl(Width::W64)
                | Compute::Shr { width: Width::W64, .. }
        )
    }

    /// Whether a level has instructions for it.
    fn has_code(self, level: Level) -> bool {
        match self {
            Compute::WideConvert(convert) => level == Level::Avx512 || !convert.needs_avx512(),
            _ => true,
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
        _ => false,
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
        _ => false,
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
            _ => return None,
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

fn instruction(form: &InstructionForm, immediate: Immediate, alu: &Alu) -> Option<Compute> {
    let ty = *form.types.first()?;
    let modifiers = form.modifiers.as_slice();
    let width = match ty {
        Type::B16 | Type::U16 | Type::S16 | Type::B32 | Type::U32 | Type::S32 | Type::F32 => Some(Width::W32),
        Type::B64 | Type::U64 | Type::S64 | Type::F64 => Some(Width::W64),
        _ => None,
    };
    let signed = matches!(ty, Type::S32 | Type::S64);
    let integer = matches!(ty, Type::U32 | Type::S32 | Type::U64 | Type::S64);
    let bits = matches!(ty, Type::B32 | Type::B64);
    // 16-bit words have zeros above.
    let short = matches!(ty, Type::B16 | Type::U16);
    if ty == Type::Pred {
        return predicate(form, alu);
    }
    Some(match (form.opcode, modifiers) {
        (Opcode::Setp, _) => return comparison(form, alu),
        (Opcode::Cvt, _) => match conversion(form)? {
            Conversion::Copy32 => Compute::Copy(Width::W32),
            Conversion::Copy64 => Compute::Copy(Width::W64),
            Conversion::Extend(extend) => Compute::Extend(extend),
            Conversion::Short(convert) => Compute::Convert(convert),
            Conversion::Wide(convert) => Compute::WideConvert(convert),
        },
        (Opcode::Selp, []) if form.types.len() == 1 => Compute::Select(width?),
        (Opcode::Add, []) if integer => Compute::Add(width?),
        (Opcode::Sub, []) if integer => Compute::Sub(width?),
        (Opcode::Neg, []) if integer => Compute::Neg(width?),
        (Opcode::Mul, [Modifier::Lo]) if integer => Compute::Mul(width?),
        (Opcode::Mul, [Modifier::Hi]) if matches!(ty, Type::U32 | Type::S32) => Compute::High { signed },
        (Opcode::Mad, [Modifier::Lo]) if integer => Compute::Mad(width?),
        (Opcode::Mul, [Modifier::Wide]) if matches!(ty, Type::U32 | Type::S32) => {
            Compute::Wide { signed, add: false }
        }
        (Opcode::Mad, [Modifier::Wide]) if matches!(ty, Type::U32 | Type::S32) => {
            Compute::Wide { signed, add: true }
        }
        (Opcode::Mul, [Modifier::Wide]) if ty == Type::U16 => Compute::Mul(Width::W32),
        (Opcode::Mad, [Modifier::Wide]) if ty == Type::U16 => Compute::Mad(Width::W32),
        (Opcode::Min, []) if integer || short => Compute::Min { width: width?, signed },
        (Opcode::Max, []) if integer || short => Compute::Max { width: width?, signed },
        (Opcode::And, []) if bits || short => Compute::And(width?),
        (Opcode::Or, []) if bits || short => Compute::Or(width?),
        (Opcode::Xor, []) if bits || short => Compute::Xor(width?),
        (Opcode::Not, []) if bits => Compute::Not(width?),
        (Opcode::Lop3, []) if ty == Type::B32 => match immediate {
            Immediate::Lut(lut) => Compute::Lop3(lut),
            _ => return None,
        },
        (Opcode::Shf, [direction, Modifier::Wrap]) if ty == Type::B32 => {
            Compute::Funnel { left: *direction == Modifier::L }
        }
        (Opcode::Shl, []) if bits => Compute::Shl(width?),
        (Opcode::Shr, []) if bits || integer || short => Compute::Shr { width: width?, signed },
        (opcode, &[direction]) if ty == Type::F32 && Rounding::directed(direction).is_some() => {
            Compute::Rounded(rounded(opcode)?, Rounding::directed(direction)?)
        }
        (Opcode::Copysign, _) => return other_integer(form).map(Compute::Integer),
        (opcode, _) if form.types.len() == 1 && ty == Type::F32 => return float(opcode, modifiers, alu),
        (opcode, _) if form.types.len() == 1 && ty == Type::F64 => match float(opcode, modifiers, alu)? {
            Compute::Float(float) => Compute::Double(float),
            _ => return None,
        },
        _ => {
            return half(form).map(Compute::Half).or_else(|| other_integer(form).map(Compute::Integer));
        }
    })
}

fn float(opcode: Opcode, modifiers: &[Modifier], alu: &Alu) -> Option<Compute> {
    if let [kept @ .., Modifier::Ftz] = modifiers
        && !kept.contains(&Modifier::Approx)
        && !kept.contains(&Modifier::Full)
    {
        return match float(opcode, kept, alu)? {
            Compute::Float(float) => Some(Compute::Flushed(float)),
            _ => None,
        };
    }
    let nearest = matches!(modifiers, [] | [Modifier::Rn]);
    let bare = modifiers.is_empty();
    if modifiers.contains(&Modifier::Approx) || modifiers.contains(&Modifier::Full) {
        return special(opcode, modifiers).map(Compute::Special);
    }
    Some(Compute::Float(match opcode {
        Opcode::Add if nearest => Float::Add,
        Opcode::Sub if nearest => Float::Sub,
        Opcode::Mul if nearest => Float::Mul,
        Opcode::Fma | Opcode::Mad if nearest => Float::Fma,
        Opcode::Div if modifiers == [Modifier::Rn] => Float::Div,
        Opcode::Rcp if modifiers == [Modifier::Rn] => Float::Rcp,
        Opcode::Sqrt if modifiers == [Modifier::Rn] => Float::Sqrt,
        Opcode::Neg if bare => Float::Neg,
        Opcode::Abs if bare => Float::Abs,
        Opcode::Min if bare && alu.s.count() == 2 => Float::Min,
        Opcode::Max if bare && alu.s.count() == 2 => Float::Max,
        _ => return None,
    }))
}

/// The arithmetic of f32 that may have a rounding other than to nearest.
fn rounded(opcode: Opcode) -> Option<Float> {
    Some(match opcode {
        Opcode::Add => Float::Add,
        Opcode::Sub => Float::Sub,
        Opcode::Mul => Float::Mul,
        Opcode::Fma | Opcode::Mad => Float::Fma,
        Opcode::Div => Float::Div,
        Opcode::Rcp => Float::Rcp,
        Opcode::Sqrt => Float::Sqrt,
        _ => return None,
    })
}

fn predicate(form: &InstructionForm, _alu: &Alu) -> Option<Compute> {
    if !form.modifiers.is_empty() {
        return None;
    }
    Some(Compute::Predicate(match form.opcode {
        Opcode::And => PredicateOp::And,
        Opcode::Or => PredicateOp::Or,
        Opcode::Xor => PredicateOp::Xor,
        Opcode::Not => PredicateOp::Not,
        _ => return None,
    }))
}

fn comparison(form: &InstructionForm, _alu: &Alu) -> Option<Compute> {
    let (&operator, rest) = form.modifiers.split_first()?;
    let &[ty] = form.types.as_slice() else { return None };
    let (rest, ftz) = match rest {
        [kept @ .., Modifier::Ftz] => (kept, true),
        all => (all, false),
    };
    let combine = match rest {
        [] => Combine::Nothing,
        [Modifier::And] => Combine::And,
        [Modifier::Or] => Combine::Or,
        [Modifier::Xor] => Combine::Xor,
        _ => return None,
    };
    if matches!(ty, Type::F32 | Type::F64 | Type::F16 | Type::Bf16) {
        // The predicates of vcmpps that raise no exceptions.
        let predicate = match operator {
            Modifier::Eq => 0x00,
            Modifier::Lt => 0x11,
            Modifier::Le => 0x12,
            Modifier::Nan => 0x03,
            Modifier::Neu => 0x04,
            Modifier::Geu => 0x15,
            Modifier::Gtu => 0x16,
            Modifier::Num => 0x07,
            Modifier::Equ => 0x08,
            Modifier::Ltu => 0x19,
            Modifier::Leu => 0x1a,
            Modifier::Ne => 0x0c,
            Modifier::Ge => 0x1d,
            Modifier::Gt => 0x1e,
            _ => return None,
        };
        return match ty {
            Type::F64 | Type::F16 | Type::Bf16 if ftz => None,
            Type::F16 => Some(Compute::CompareShort { of: ShortType::F16, predicate, combine }),
            Type::Bf16 => Some(Compute::CompareShort { of: ShortType::Bf16, predicate, combine }),
            Type::F64 => Some(Compute::CompareDouble { predicate, combine }),
            _ => Some(Compute::CompareFloat { predicate, combine, ftz }),
        };
    }
    if ftz {
        return None;
    }
    let (width, signed) = match ty {
        Type::B16 | Type::U16 | Type::B32 | Type::U32 => (Width::W32, false),
        Type::S16 => (Width::W32, false),
        Type::S32 => (Width::W32, true),
        Type::B64 | Type::U64 => (Width::W64, false),
        Type::S64 => (Width::W64, true),
        _ => return None,
    };
    let order = match operator {
        Modifier::Eq => Order::Eq,
        Modifier::Ne => Order::Ne,
        Modifier::Lt | Modifier::Lo => Order::Lt,
        Modifier::Le | Modifier::Ls => Order::Le,
        Modifier::Gt | Modifier::Hi => Order::Gt,
        Modifier::Ge | Modifier::Hs => Order::Ge,
        _ => return None,
    };
    if ty == Type::S16 && !matches!(order, Order::Eq | Order::Ne) {
        return Some(Compute::CompareShort { of: ShortType::S16, predicate: order.predicate(), combine });
    }
    Some(Compute::Compare { width, signed, order, combine })
}
