//! What may stand in the brackets of an address, beyond its state space (PTX ISA sections 6.4.1 and 9.7.9): which
//! registers hold the address, whether special registers do, and whether the brackets may be missing.
//!
//! The manual wants 32 or 64 bits. The assembler takes registers of any width for most instructions; those that it
//! makes calls of want the width of the address, and a few instructions want one type. All of this was measured.

use softwarp_isa::StateSpace;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode, Space};

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
    /// Integers and bits of 64 bits at most, but not of 16.
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
const WIDE_ADDRESSES: [Opcode; 10] = [
    Opcode::Ld,
    Opcode::Ldu,
    Opcode::St,
    Opcode::Atom,
    Opcode::Red,
    Opcode::Prefetch,
    Opcode::Prefetchu,
    Opcode::Discard,
    Opcode::Applypriority,
    Opcode::Mbarrier,
];

/// The rule for an operand that is an address in one of these spaces.
pub(super) fn of(form: &InstructionForm, operand: &str, spaces: &[Space]) -> AddressRule {
    let has = |modifier| form.has(modifier);
    let generic = spaces == [Space::Generic];
    let asynchronous = has(Modifier::Async);
    let width = match form.opcode {
        Opcode::Tcgen05 if spaces == [Space::Tensor] && has(Modifier::Mma) => Width::Bits,
        Opcode::Tcgen05 if spaces == [Space::Tensor] => Width::Word,
        Opcode::Tcgen05 | Opcode::Wmma => Width::WordOrLong,
        Opcode::Ldmatrix | Opcode::Stmatrix if generic => Width::WordOrLong,
        Opcode::Tensormap if has(Modifier::Tile) => Width::WordOrLong,
        Opcode::Prefetch if has(Modifier::Tensormap) => Width::WordOrLong,
        Opcode::St | Opcode::Red if asynchronous && (generic || operand != "mbar") => Width::WordOrLong,
        Opcode::Multimem if asynchronous && !has(Modifier::Bulk) => Width::WordOrLong,
        Opcode::Multimem if has(Modifier::Red) && !has(Modifier::Bulk) && form.vector == 1 => Width::Long,
        Opcode::Cp if generic && has(Modifier::Arrive) => Width::WordOrLong,
        Opcode::Cp
            if has(Modifier::Bulk)
                && !has(Modifier::Tensor)
                && !has(Modifier::Reduce)
                && operand == "mbar" =>
        {
            Width::NotSixteen
        }
        _ => Width::Any,
    };
    let all_wide = spaces.iter().all(|space| matches!(space, Space::Generic | Space::Global));
    let reads_many = form.opcode == Opcode::Multimem
        && (has(Modifier::LdReduce) || has(Modifier::St))
        && !has(Modifier::Bulk)
        && all_wide;
    let checked_barrier = form.opcode == Opcode::Mbarrier && !has(Modifier::CheckLayout);
    AddressRule {
        wide: all_wide
            && !asynchronous
            && ((!has(Modifier::Tensormap) && WIDE_ADDRESSES.contains(&form.opcode)) || reads_many),
        width,
        no_special: checked_barrier
            || form.opcode == Opcode::Prefetchu
            || (form.opcode == Opcode::Tcgen05
                && (spaces == [Space::Tensor] || (has(Modifier::Alloc) && !generic))),
        only: match form.opcode {
            Opcode::Prefetchu => Some(StateSpace::Global),
            _ if checked_barrier && generic => Some(StateSpace::Shared),
            _ => None,
        },
        opaque: (width != Width::WordOrLong || form.opcode == Opcode::Tensormap)
            && width != Width::Word
            && width != Width::Bits
            && !matches!(form.opcode, Opcode::Ld | Opcode::Ldu | Opcode::Mbarrier | Opcode::Atom)
            && !(matches!(form.opcode, Opcode::St | Opcode::Multimem)
                && has_store(form)
                && operand != "mbar"),
        bare: form.opcode == Opcode::Cp
            && has(Modifier::Tensor)
            && spaces.iter().all(|space| space.of_variables() == Some(StateSpace::Shared)),
        unchecked: form.opcode == Opcode::Fence,
    }
}

/// Whether a form stores registers.
fn has_store(form: &InstructionForm) -> bool {
    form.opcode == Opcode::St || form.has(Modifier::St)
}
