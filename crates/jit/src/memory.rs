//! Which accesses to memory have code.

use softwarp_ir::{Access, AsyncOp, Atomic, AtomicOp, Memory, Op, Slot, Step};
use softwarp_isa::Type;

/// Whether an operation is one on registers of 128 bits: it names the first of two rows, and means both.
pub(crate) fn is_pair(op: &Op) -> bool {
    match op {
        Op::Other(_, step) => match &**step {
            Step::Load(access) | Step::Store(access) => {
                access.bytes == 16 || access.registers.iter().any(|one| one.bits > 64)
            }
            Step::Atomic(atomic) => atomic.ty.bits() > 64,
            Step::Asynchronous(AsyncOp::Store(store)) => store.bytes == 16,
            // The others have no registers of 128 bits.
            Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => {
                false
            }
            Step::Call(_) | Step::Special(_) | Step::FrameAddress(_) | Step::Alloca(_) => false,
            Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => false,
            Step::Warp(_) | Step::Multimem(_) | Step::Group(_) | Step::Texture(_) | Step::Cluster(_) => false,
            Step::Asynchronous(_) | Step::Matrix(_) | Step::TensorCore(_) => false,
        },
        Op::Alu(alu) => alu.op.form().is_some_and(|form| form.types.contains(&Type::B128)),
        Op::Branch(..) => false,
    }
}

/// The memory of an access that may look at a region.
pub(crate) fn memory_of(step: &Step) -> Option<Memory> {
    match step {
        Step::Load(access) | Step::Store(access) => Some(access.address.memory),
        Step::Atomic(atomic) => Some(atomic.address.memory),
        // The interpreter performs these.
        Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield | Step::Switch(_) => None,
        Step::Call(_) | Step::Special(_) | Step::FrameAddress(_) | Step::Alloca(_) => None,
        Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) | Step::Barrier(_) => None,
        Step::Warp(_) | Step::Multimem(_) | Step::Group(_) | Step::Texture(_) | Step::Cluster(_) => None,
        Step::Asynchronous(_) | Step::Matrix(_) | Step::TensorCore(_) => None,
    }
}

/// Whether a load has code: one of an element that is as wide as its register or narrower, or of several of 32 or 64 bits,
/// from memory that has regions.
pub(crate) fn is_plain_load(access: &Access) -> bool {
    use Memory::{Cluster, Constant, Frame, Function, Generic, Global, Kernel, Local, Shared};
    let memory = match access.address.memory {
        Global | Generic | Shared | Constant | Kernel => true,
        Cluster | Local | Frame | Function => false,
    };
    (has_plain_size(access) || widens(access)) && memory && has_registers(access)
}

/// Whether a store has code: the same, and one that is ordered. On this host all stores are.
pub(crate) fn is_plain_store(access: &Access) -> bool {
    let memory = match access.address.memory {
        Memory::Global | Memory::Generic | Memory::Shared => true,
        Memory::Constant | Memory::Kernel | Memory::Cluster => false,
        Memory::Local | Memory::Frame | Memory::Function => false,
    };
    has_plain_size(access) && memory && has_registers(access)
}

/// Whether an access to the memory that each thread has to itself has code, with AVX-512: a load or a store of elements as
/// elsewhere, in the frame or among the parameters of functions, or at an address of 64 bits.
pub(crate) fn is_own(access: &Access, is_load: bool) -> bool {
    let address = &access.address;
    let place = match address.memory {
        Memory::Local => address.base.is_some_and(Slot::is_wide),
        Memory::Frame | Memory::Function => address.base.is_none(),
        Memory::Generic | Memory::Global | Memory::Constant | Memory::Kernel => false,
        Memory::Shared | Memory::Cluster => false,
    };
    let sizes = has_plain_size(access) || is_load && widens(access);
    place && sizes && has_registers(access) && i32::try_from(address.offset).is_ok()
}

/// Whether a load extends an element to 64 bits.
fn widens(access: &Access) -> bool {
    matches!((access.bytes, &access.registers[..]), (1 | 2 | 4, [one]) if one.bits == 64)
}

fn has_registers(access: &Access) -> bool {
    access.registers.iter().all(|one| one.slot.is_some())
}

/// Whether an atomic operation has code: a relaxed one on words of 32 or 64 bits, or on several floats.
pub(crate) fn is_plain_atomic(atomic: &Atomic) -> bool {
    use AtomicOp::{Add, And, Cas, Dec, Exch, Inc, Max, Min, Or, Xor};
    use Type::{B32, B64, F32, F64, S32, S64, U32, U64};
    let Atomic { address, op, ty, d, b, c, order, .. } = atomic;
    let types = match op {
        Add => matches!(ty, U32 | S32 | B32 | U64 | S64 | F32 | F64),
        And | Or | Xor | Exch | Cas => matches!(ty, B32 | U32 | S32 | B64 | U64 | S64),
        Min | Max => matches!(ty, U32 | S32 | U64 | S64),
        Inc | Dec => *ty == U32,
    };
    let base = match address.memory {
        Memory::Shared => true,
        Memory::Global | Memory::Generic => address.base.is_none_or(Slot::is_wide),
        Memory::Constant | Memory::Kernel | Memory::Function => false,
        Memory::Cluster | Memory::Local | Memory::Frame => false,
    };
    let wide = ty.bits() == 64;
    let fits = |slot: &Option<Slot>| slot.is_some_and(|slot| slot.is_wide() == wide);
    let operands = b.iter().all(fits) && (*op == Cas) == c.is_some() && (c.is_none() || fits(c));
    let results = d.iter().all(|slot| slot.is_none() || fits(slot));
    let count = b.len() == 1 || *ty == F32 && matches!(b.len(), 2 | 4);
    // An element is read behind those before it have been written.
    let is_behind = |n: usize| d.iter().take(n).any(|d| d.is_some() && *d == b[n]);
    let apart = !(1..b.len()).any(is_behind);
    let relaxed = !order.acquires() && !order.releases();
    let near = address.base.is_none() || i32::try_from(address.offset).is_ok();
    types && base && operands && results && count && apart && relaxed && near
}

/// Whether an access has one element that is as wide as its register or narrower, up to 16 bytes in several that are as
/// wide, or 4 or 8 bytes in shorter ones.
fn has_plain_size(access: &Access) -> bool {
    match access.registers[..] {
        [one] => matches!((access.bytes, one.bits), (4, 32) | (8, 64) | (1 | 2, 8..=32)),
        [] | [_, _, ..] => {
            let (bytes, count) = (access.bytes, access.registers.len());
            let mut bits = access.registers.iter().map(|one| one.bits);
            let in_words = matches!((bytes, count), (4, 2 | 4) | (8, 2));
            let is_packed = matches!((bytes, count), (2, 2 | 4) | (1, 4));
            in_words && bits.all(|bits| bits == 8 * bytes)
                || is_packed && bits.all(|bits| matches!(bits, 16 | 32))
        }
    }
}
