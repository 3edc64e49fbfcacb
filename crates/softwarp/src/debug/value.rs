//! Values of registers and memory, by their types.

use crate::isa::{Class, Type};
use crate::literal::display;

/// Bits of a type. They print as the number that they are, with the bits beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The type.
    pub ty: Type,
    /// The bits.
    pub bits: u128,
}

impl Value {
    /// A value of a type: bits beyond it are dropped.
    pub fn new(ty: Type, bits: u128) -> Value {
        Value { ty, bits: bits & mask(bits_of(ty)) }
    }

    /// The bytes of memory as a value.
    pub fn of_bytes(ty: Type, bytes: &[u8]) -> Value {
        let bits = bytes.iter().take(16).rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        Value::new(ty, bits)
    }

    /// The same bits as another type.
    pub fn as_type(self, ty: Type) -> Value {
        Value::new(ty, self.bits)
    }

    /// The number alone, without the bits.
    pub fn number(&self) -> String {
        match (self.ty.class(), self.ty.packed()) {
            (Class::Pred, _) => (self.bits & 1 == 1).to_string(),
            (_, Some(packed)) => {
                let (count, bits) = (u32::from(packed.lanes), bits_of(self.ty) / u32::from(packed.lanes));
                let code = |index: u32| (self.bits >> (index * bits)) as u64 & packed.element.mask();
                match count {
                    1 => display(packed.element, code(0)),
                    _ => {
                        let all: Vec<String> =
                            (0..count).map(|index| display(packed.element, code(index))).collect();
                        format!("{{{}}}", all.join(", "))
                    }
                }
            }
            _ => self.bits.to_string(),
        }
    }

    /// The bits in hexadecimal, all digits of the type.
    pub fn hexadecimal(&self) -> String {
        let digits = bits_of(self.ty).div_ceil(4) as usize;
        format!("0x{:0digits$x}", self.bits)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ty {
            Type::Pred => f.write_str(&self.number()),
            Type::B64 | Type::B128 => f.write_str(&self.hexadecimal()),
            _ => write!(f, "{} ({})", self.number(), self.hexadecimal()),
        }
    }
}

/// Bits of a type; one of a predicate.
pub fn bits_of(ty: Type) -> u32 {
    if ty == Type::Pred { 1 } else { ty.bits().clamp(1, 128) }
}

/// Bytes of a type in memory.
pub fn bytes_of(ty: Type) -> u64 {
    u64::from(bits_of(ty).div_ceil(8))
}

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits.clamp(1, 128))
}

/// A type by its name: those of PTX, and `i32` and the like for signed integers.
pub fn type_named(name: &str) -> Option<Type> {
    let name = name.strip_prefix('.').unwrap_or(name);
    match name {
        "i8" => Some(Type::S8),
        "i16" => Some(Type::S16),
        "i32" | "int" => Some(Type::S32),
        "i64" => Some(Type::S64),
        "float" => Some(Type::F32),
        "double" => Some(Type::F64),
        _ => Type::from_name(name).filter(|ty| *ty != Type::Pred),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_numbers_with_their_bits() {
        let shown = |ty, bits| Value::new(ty, bits).to_string();
        assert_eq!(shown(Type::F32, 0x3fc0_0000), "1.5 (0x3fc00000)");
        assert_eq!(shown(Type::S32, 0xffff_ffff), "-1 (0xffffffff)");
        assert_eq!(shown(Type::U16, 0x1_0007), "7 (0x0007)");
        assert_eq!(shown(Type::Pred, 1), "true");
        assert_eq!(shown(Type::F16x2, 0x4000_3c00), "{1, 2} (0x40003c00)");
        assert_eq!(shown(Type::B64, 0x7f00), "0x0000000000007f00");
        assert_eq!(Value::of_bytes(Type::U32, &[1, 2, 0, 0]).bits, 0x201);
        assert_eq!((type_named("i32"), type_named(".f16")), (Some(Type::S32), Some(Type::F16)));
        assert_eq!(type_named("pred"), None);
    }
}
