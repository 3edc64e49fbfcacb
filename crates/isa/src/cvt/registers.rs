//! Which registers and constants the operands of a form take: as its row says.

use super::{CvtForm, Opcode, OperandName};
use crate::Type;
use crate::operand::Value;

impl CvtForm {
    /// The type of an operand: a type word of the form, or the type that the manual gives random bits,
    /// scales and `cvt.pack`'s destination. `None` where the form has no such operand.
    pub fn operand_type(self, name: OperandName) -> Option<Type> {
        let value = self.value(name)?;
        // The assembler takes registers of integers for it; the manual calls it untyped.
        let packed = name == OperandName::D && self.opcode() == Opcode::CvtPack;
        Some(if packed { Type::B32 } else { value.ty })
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
        self.value(name).is_some_and(|value| value.accepts(register))
    }

    /// Whether the assembler takes a constant for that operand: for single integers, f32 and f64 among
    /// the sources. Of these f64 alone was not measured. There are no constants of packed types, f16 or
    /// bf16, and random bits and scales must be registers.
    pub fn accepts_immediate(self, name: OperandName) -> bool {
        self.value(name).is_some_and(|value| value.forms.immediate)
    }

    /// What the row of the table says of an operand.
    fn value(self, name: OperandName) -> Option<&'static Value> {
        let entry = self.entry();
        let place = entry.operands.iter().position(|operand| operand.names().contains(&name))?;
        entry.values.get(place)
    }
}
