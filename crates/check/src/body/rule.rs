//! What may stand in the brackets of an address, beyond its state space (PTX ISA sections 6.4.1 and 9.7.9): which
//! registers hold the address, whether special registers do, and whether the brackets may be missing.
//!
//! The manual wants 32 or 64 bits. The assembler takes registers of any width for most instructions; those that it
//! makes calls of want the width of the address, and a few instructions want one type. All of this was measured.

use softwarp_isa::StateSpace;
use softwarp_isa::instruction::{Shape, Space};

/// Rules for the address operands of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AddressRule {
    /// 32 bits of it would ask for the 32-bit ABI, which is gone.
    pub wide: bool,
    /// Which registers hold it.
    pub width: Width,
    /// Special registers cannot stand.
    pub no_special: bool,
    /// Variables must be in this space, though the address is generic.
    pub only: Option<StateSpace>,
    /// The assembler lets opaque variables stand.
    pub opaque: bool,
    /// The brackets may be missing.
    pub bare: bool,
    /// Nothing but the names is looked at.
    pub unchecked: bool,
}

/// The registers that hold an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Width {
    /// Integers and bits of 64 bits at most.
    #[default]
    Any,
    /// The same, but for those of 16 bits.
    NotSixteen,
    /// 32 or 64 bits.
    WordOrLong,
    /// 64 bits.
    Long,
    /// 32 bits: tensor memory.
    Word,
    /// Untyped 32 bits.
    Bits,
}

/// Opcodes of which a 32-bit address of global or generic memory turns on the 32-bit ABI.
const WIDE_ADDRESSES: [&str; 10] =
    ["ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu", "discard", "applypriority", "mbarrier"];

/// The rule for an operand that is an address in one of these spaces.
pub(super) fn of(shape: &Shape, operand: &str, spaces: &[Space]) -> AddressRule {
    let has = |word: &str| shape.words.contains(&word);
    let generic = spaces == [Space::Generic];
    let asynchronous = has("async");
    let width = match shape.opcode {
        "tcgen05" if spaces == [Space::Tensor] && has("mma") => Width::Bits,
        "tcgen05" if spaces == [Space::Tensor] => Width::Word,
        "tcgen05" | "wmma" => Width::WordOrLong,
        "ldmatrix" | "stmatrix" if generic => Width::WordOrLong,
        "tensormap" if has("tile") => Width::WordOrLong,
        "prefetch" if has("tensormap") => Width::WordOrLong,
        "st" | "red" if asynchronous && (generic || operand != "mbar") => Width::WordOrLong,
        "multimem" if asynchronous && !has("bulk") => Width::WordOrLong,
        "multimem" if has("red") && !has("bulk") && shape.vector == 1 => Width::Long,
        "cp" if generic && has("arrive") => Width::WordOrLong,
        "cp" if has("bulk") && !has("tensor") && !has("reduce") && operand == "mbar" => Width::NotSixteen,
        _ => Width::Any,
    };
    let all_wide = spaces.iter().all(|space| matches!(space, Space::Generic | Space::Global));
    let reads_many =
        shape.opcode == "multimem" && (has("ld_reduce") || has("st")) && !has("bulk") && all_wide;
    let checked_barrier = shape.opcode == "mbarrier" && !has("check_layout");
    AddressRule {
        wide: all_wide
            && !asynchronous
            && ((!has("tensormap") && WIDE_ADDRESSES.contains(&shape.opcode)) || reads_many),
        width,
        no_special: checked_barrier
            || shape.opcode == "prefetchu"
            || (shape.opcode == "tcgen05" && (spaces == [Space::Tensor] || (has("alloc") && !generic))),
        only: match shape.opcode {
            "prefetchu" => Some(StateSpace::Global),
            _ if checked_barrier && generic => Some(StateSpace::Shared),
            _ => None,
        },
        opaque: (width != Width::WordOrLong || shape.opcode == "tensormap")
            && width != Width::Word
            && width != Width::Bits
            && !matches!(shape.opcode, "ld" | "ldu" | "mbarrier" | "atom")
            && !(matches!(shape.opcode, "st" | "multimem") && has_store(shape) && operand != "mbar"),
        bare: shape.opcode == "cp"
            && has("tensor")
            && spaces.iter().all(|space| space.of_variables() == Some(StateSpace::Shared)),
        unchecked: shape.opcode == "fence",
    }
}

/// Whether a form stores registers.
fn has_store(shape: &Shape) -> bool {
    shape.opcode == "st" || shape.words.contains(&"st")
}
