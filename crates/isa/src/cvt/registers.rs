//! Which registers and constants the operands of a form take.
//!
//! PTX ISA sections 5.2.1 (compatible types), 5.2.3 (what holds alternate formats) and 9.4.1 (operands
//! wider than the instruction's type). The exceptions below are the assembler's and were measured.

use super::{Form, Modifier, Opcode, OperandName};
use crate::{Class, Type};

/// Registers that the assembler lets hold a `bf16x2` source in some forms, pointless as most are.
const ODD_BF16X2: [Type; 6] = [Type::B32, Type::U32, Type::S32, Type::F16x2, Type::F32, Type::Pred];

/// Registers that the assembler lets hold an `s2f6x2` destination.
const ODD_S2F6X2: [Type; 4] = [Type::B16, Type::U16, Type::S16, Type::F16];

impl Form {
    /// The type of an operand: a type word of the form, or the type that the manual gives random bits,
    /// scales and `cvt.pack`'s destination. `None` where the form has no such operand.
    pub fn operand_type(self, name: OperandName) -> Option<Type> {
        if !self.has_operand(name) {
            return None;
        }
        Some(match name {
            OperandName::D if self.opcode() == Opcode::CvtPack => Type::B32,
            OperandName::D => self.dtype(),
            OperandName::A | OperandName::B | OperandName::E | OperandName::F => self.atype(),
            OperandName::C | OperandName::Rbits => Type::B32,
            OperandName::ScaleFactor if self.modifiers().has(Modifier::ScaledN1) => Type::B8,
            OperandName::ScaleFactor => Type::B16,
        })
    }

    /// The register type one would declare for an operand: its own type where a variable can have it
    /// and it is a single value, else the bit type that holds it.
    pub fn register(self, name: OperandName) -> Option<Type> {
        let ty = self.operand_type(name)?;
        let plain = ty.is_fundamental() && ty.lanes() == 1;
        Some(if plain { ty } else { ty.register_type() })
    }

    /// Whether the assembler takes a register of this type for that operand.
    pub fn accepts(self, name: OperandName, register: Type) -> bool {
        let Some(ty) = self.operand_type(name) else { return false };
        match name {
            OperandName::Rbits | OperandName::ScaleFactor => return register == ty,
            OperandName::A if ty == Type::Bf16x2 && self.is_odd_about_bf16x2() => {
                return ODD_BF16X2.contains(&register);
            }
            OperandName::D if ty == Type::S2f6x2 => return ODD_S2F6X2.contains(&register),
            _ => {}
        }
        if self.opcode() == Opcode::CvtPack {
            // Integers all, whatever the destination's bits are made of, and wider ones at will.
            let ty = if name == OperandName::C { Type::B32 } else { Type::S32 };
            return register.bits() >= 32 && register.is_fundamental() && same_kind(ty, register);
        }
        if !ty.is_fundamental() {
            return register == ty.register_type();
        }
        let as_wide = if self.takes_wider_registers() {
            register.bits() >= ty.bits()
        } else {
            register.bits() == ty.bits()
        };
        as_wide && register.is_fundamental() && same_kind(ty, register)
    }

    /// Whether the assembler takes a constant for that operand: for single integers, f32 and f64 among
    /// the sources. Of these f64 alone was not measured. There are no constants of packed types, f16 or
    /// bf16, and random bits and scales must be registers.
    pub fn accepts_immediate(self, name: OperandName) -> bool {
        let source = !matches!(name, OperandName::D | OperandName::Rbits | OperandName::ScaleFactor);
        source
            && self
                .operand_type(name)
                .is_some_and(|ty| ty.is_int() || matches!(ty, Type::F32 | Type::F64 | Type::B32))
    }

    /// Operands may be wider than their types as long as these are all fundamental; an alternate
    /// format on one side makes the assembler exact about the other too.
    fn takes_wider_registers(self) -> bool {
        self.types().iter().all(|ty| ty.is_fundamental())
    }

    /// The forms for which the assembler checks only the size of a `bf16x2` source: those to e2m1x2
    /// and those with one scale.
    fn is_odd_about_bf16x2(self) -> bool {
        self.dtype() == Type::E2m1x2 || self.modifiers().has(Modifier::ScaledN1)
    }
}

/// Whether the two hold the same kind of thing, size aside: bits go with everything but predicates,
/// integers with integers, floats with the very same type. The assembler counts an `f16x2` register
/// as untyped wherever an integer is wanted.
fn same_kind(ty: Type, register: Type) -> bool {
    if register.class() == Class::Bits {
        return true;
    }
    match ty.class() {
        Class::Signed | Class::Unsigned => register.is_int() || register == Type::F16x2,
        Class::Bits => register.class() != Class::Pred,
        _ => register == ty,
    }
}
