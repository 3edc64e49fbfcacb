//! The registers of an instruction that faulted, by the names that they have in the text.
//!
//! The machine tells which operand a value belongs to ([`Held`]). What cannot be told apart in the text is left out:
//! vectors that are one register, members of vectors, special registers.

use crate::check::Reference;
use crate::debug::operands::{Operands, instruction_at, places};
use crate::isa::instruction::Opcode;
use crate::isa::{Class, StateSpace, Type};
use crate::syntax::Span;
use crate::syntax::tree::OperandKind;
use crate::vm::device::Loaded;
use crate::vm::fault::{Held, HeldIn};
use std::fmt;

/// A register, and what it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name.
    pub name: String,
    /// Whether it is the address of the access; else it is data.
    pub is_address: bool,
    /// The type that the instruction gives data.
    pub ty: Option<Type>,
    /// How many bits it has.
    pub bits: u8,
    /// Its bits.
    pub value: u64,
}

/// The registers of the instruction at a place of a module, in its order.
pub fn named(of: &Loaded, at: Span, held: &[Held]) -> Vec<Register> {
    let Some(parts) = Parts::of(of, at) else { return Vec::new() };
    let register = |held: &Held| {
        let (name, ty) = match held.operand {
            HeldIn::Address => (parts.address.clone()?, None),
            HeldIn::Data(index) => (parts.data.get(index as usize)?.clone()?, parts.ty),
        };
        let is_address = held.operand == HeldIn::Address;
        Some(Register { name, is_address, ty, bits: held.bits, value: held.value })
    };
    held.iter().filter_map(register).collect()
}

impl Register {
    /// Its value as a number, if the instruction says what it means: the text of a number, or `nan`, `inf` or `-inf`.
    pub fn number(&self) -> Option<String> {
        let ty = self.ty?;
        let signed = || ((self.value << (64 - u32::from(self.bits))) as i64) >> (64 - u32::from(self.bits));
        match ty.class() {
            _ if ty.lanes() > 1 || self.bits == 0 => None,
            Class::Signed => Some(signed().to_string()),
            Class::Unsigned => Some(self.value.to_string()),
            Class::Float if u32::from(self.bits) == ty.bits() => {
                let number = match ty {
                    Type::F64 => f64::from_bits(self.value).to_string(),
                    Type::F32 => f32::from_bits(self.value as u32).to_string(),
                    Type::F16 => softwarp_num::Format::F16.decode(self.value).to_string(),
                    Type::Bf16 => softwarp_num::Format::Bf16.decode(self.value).to_string(),
                    _ => return None,
                };
                Some(number.to_ascii_lowercase())
            }
            Class::Float | Class::Fixed | Class::Bits | Class::Pred => None,
        }
    }
}

impl fmt::Display for Register {
    /// `%f1 = 1.5 (0x3fc00000)`, `%rd4 = 0x7f0000001004`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Register { name, value, .. } = self;
        match self.number() {
            Some(number) => write!(f, "{name} = {number} (0x{value:x})"),
            None => write!(f, "{name} = 0x{value:x}"),
        }
    }
}

/// The parts of an access.
struct Parts {
    /// The register that the address begins with.
    address: Option<String>,
    /// What is behind the address, one by one: the register, if it is one. Empty if it is not one for each number of the
    /// access.
    data: Vec<Option<String>>,
    /// The type of the data.
    ty: Option<Type>,
}

impl Parts {
    fn of(of: &Loaded, at: Span) -> Option<Parts> {
        let instruction = instruction_at(&of.module, at.start)?;
        let form = Operands::default().form((0, of), instruction.mnemonic)?;
        if !matches!(form.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red) {
            return None;
        }
        let kind = |index: u32| of.module.operands.get(index as usize).map(|operand| operand.kind);
        let mut operands = places(instruction.operands);
        let address = operands.find_map(|index| match kind(index)? {
            OperandKind::Address(parts) => Some(parts.start),
            _ => None,
        })?;
        let base = match kind(address)? {
            OperandKind::Offset(base, _) => base.start,
            _ => address,
        };
        let (mut data, mut is_list) = (Vec::new(), None);
        for index in operands {
            let parts = match kind(index)? {
                OperandKind::Vector(parts) => Some(parts),
                _ => None,
            };
            is_list.get_or_insert(parts.is_some());
            data.extend(parts.map_or(index..index + 1, places).map(|part| name(of, part)));
        }
        if (form.vector > 1) != is_list.unwrap_or(false) {
            data.clear();
        }
        Some(Parts { address: name(of, base), data, ty: form.types.last().copied() })
    }
}

/// The name of the register that an operand is, if it is one and no vector.
fn name(of: &Loaded, index: u32) -> Option<String> {
    let operand = of.module.operands.get(index as usize)?;
    let (OperandKind::Name(_), Some(&Reference::Variable(id, _))) =
        (operand.kind, of.references.operands.get(index as usize))
    else {
        return None;
    };
    let variable = of.checked.variable(id);
    let is_plain = variable.space == StateSpace::Reg && variable.vector <= 1;
    is_plain.then(|| operand.span.text(&of.source).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with an instruction, and where that is.
    fn module(instruction: &str) -> (Loaded, Span) {
        let head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\
            .reg .b64 %rd<9>; .reg .b32 %r<9>, x, y; .reg .b16 %rs<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n\
            .reg .pred %p<9>; .reg .v2 .u32 %v; .shared .u64 a;\n";
        let source = format!("{head}{instruction}\nret;\n}}\n");
        let parsed = crate::syntax::parse(&source);
        let options = crate::check::Options::default();
        let (checked, references, _) = crate::check::resolve_references(&parsed.module, &source, options);
        let (module, start) = (parsed.module, head.len() as u32);
        let loaded = Loaded { source: source.clone(), module, checked, references, warnings: Vec::new() };
        (loaded, Span::new(start, start + instruction.len() as u32))
    }

    fn words(instruction: &str, held: &[(HeldIn, u8, u64)]) -> Vec<String> {
        let held: Vec<Held> =
            held.iter().map(|&(operand, bits, value)| Held { operand, bits, value }).collect();
        let (loaded, span) = module(instruction);
        named(&loaded, span, &held).iter().map(Register::to_string).collect()
    }

    const ADDRESS: (HeldIn, u8, u64) = (HeldIn::Address, 64, 0x7f00_0000_1004);

    fn data(index: u32, bits: u8, value: u64) -> (HeldIn, u8, u64) {
        (HeldIn::Data(index), bits, value)
    }

    #[test]
    fn registers_are_named_and_typed() {
        assert_eq!(words("ld.global.u32 %r1, [%rd4+16];", &[ADDRESS]), ["%rd4 = 0x7f0000001004"]);
        assert_eq!(
            words("@!%p1 st.global.f32 [%rd4], %f1;", &[ADDRESS, data(0, 32, 0x3fc0_0000)]),
            ["%rd4 = 0x7f0000001004", "%f1 = 1.5 (0x3fc00000)"]
        );
        let two = [data(0, 32, 7), data(1, 32, 0xffff_ffff)];
        assert_eq!(
            words("st.global.v2.s32 [a /* , %x */ ], // [%y]\n {x, y};", &two),
            ["x = 7 (0x7)", "y = -1 (0xffffffff)"]
        );
        assert_eq!(
            words("atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", &two),
            ["%r2 = 0x7", "%r3 = 0xffffffff"]
        );
        assert_eq!(
            words("red.global.add.f64 [%rd1], %fd1;", &[data(0, 64, 1 << 63)]),
            ["%fd1 = -0 (0x8000000000000000)"]
        );
        assert_eq!(words("st.u16 [%rd1], %rs1;", &[data(0, 16, 0xffff)]), ["%rs1 = 65535 (0xffff)"]);
        assert_eq!(words("st.f32 [%rd1], %f1;", &[data(0, 32, 0x7fc0_0000)]), ["%f1 = nan (0x7fc00000)"]);
        assert_eq!(words("st.s8 [%rd1], %r1;", &[data(0, 32, 300)]), ["%r1 = 300 (0x12c)"]);
    }

    #[test]
    fn what_is_no_register_is_left_out() {
        let one = [data(0, 32, 7)];
        for instruction in [
            "st.global.u32 [%rd1], 7;",
            "st.global.u32 [%rd1], %tid.x;",
            "st.global.u32 [%rd1], WARP_SZ;",
            "st.global.v2.u32 [%rd1], %v;",
            "st.global.u32 [%rd1], {%v};",
            "cp.async.ca.shared.global [%r1], [%rd1], 4;",
            "bar.sync 0;",
        ] {
            assert_eq!(words(instruction, &one), [""; 0], "{instruction}");
        }
        assert_eq!(words("ld.global.u32 %r1, [4096];", &[ADDRESS]), [""; 0]);
    }
}
