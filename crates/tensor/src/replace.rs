//! `tensormap.replace`: writes one field of an object (PTX ISA section 9.7.9.28), with that instruction's own numbers.
//!
//! On the hardware (recorded on sm_90) nothing is refused: the low bits of a value are written, sizes and traversal
//! strides less one, and nothing else changes. [`write()`] does that; [`replace`] refuses what the fields cannot hold.
//! So on the hardware a dimension of 0 becomes 2^32, and a box of 300 one of 44. And as the assembler does it:
//! - An element type other than the TF32 kinds leaves the TF32 bit alone, so that replacing `tf32` by `f32` changes
//!   nothing.
//! - The words that the driver derives from others (bytes at 0x40, alignment at 0x48) keep their old values.
//! - Ordinal 4 of the strides passes the assembler and overwrites the word of all strides' top bits.
//!
//! The manual has this for tiled maps only; the fields that im2col maps share are at the same places there.

use crate::map::MOST_DIMENSIONS;
use crate::object::{self, Bits, SIZE};
use crate::types::{Element, Fill, Interleave, Swizzle};
use softwarp_isa::Target;
use softwarp_isa::device::TensorFeature;

/// A field that can be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// The tensor's address.
    GlobalAddress,
    /// The rank, less one.
    Rank,
    /// A size of the box.
    BoxDim,
    /// A dimension.
    GlobalDim,
    /// A stride in bytes; ordinal 0 is that of dimension 1.
    GlobalStride,
    /// A traversal stride.
    ElementStride,
    /// The element type, by `replace`'s number.
    Elemtype,
    /// The interleave.
    InterleaveLayout,
    /// The swizzle's span; 4 is 96 bytes.
    SwizzleMode,
    /// What stays together in a swizzle of 128 bytes.
    SwizzleAtomicity,
    /// The fill.
    FillMode,
}

impl Field {
    /// Every field.
    pub const ALL: &[Field] = &[
        Field::GlobalAddress,
        Field::Rank,
        Field::BoxDim,
        Field::GlobalDim,
        Field::GlobalStride,
        Field::ElementStride,
        Field::Elemtype,
        Field::InterleaveLayout,
        Field::SwizzleMode,
        Field::SwizzleAtomicity,
        Field::FillMode,
    ];

    /// What the instruction writes, without its dot.
    pub const fn name(self) -> &'static str {
        match self {
            Field::GlobalAddress => "global_address",
            Field::Rank => "rank",
            Field::BoxDim => "box_dim",
            Field::GlobalDim => "global_dim",
            Field::GlobalStride => "global_stride",
            Field::ElementStride => "element_stride",
            Field::Elemtype => "elemtype",
            Field::InterleaveLayout => "interleave_layout",
            Field::SwizzleMode => "swizzle_mode",
            Field::SwizzleAtomicity => "swizzle_atomicity",
            Field::FillMode => "fill_mode",
        }
    }

    /// Finds it by its name, with or without the dot.
    pub fn from_name(name: &str) -> Option<Field> {
        let bare = name.strip_prefix('.').unwrap_or(name);
        Field::ALL.iter().copied().find(|field| field.name() == bare)
    }

    /// Bits of the instruction's value: `.b32` or `.b64`.
    pub const fn value_bits(self) -> u32 {
        match self {
            Field::GlobalAddress | Field::GlobalStride => 64,
            _ => 32,
        }
    }

    /// How many ordinals it has; 0 where the instruction takes none.
    pub const fn ordinals(self) -> usize {
        match self {
            Field::BoxDim | Field::GlobalDim | Field::ElementStride => MOST_DIMENSIONS,
            Field::GlobalStride => MOST_DIMENSIONS - 1,
            _ => 0,
        }
    }

    /// Whether the value must be an immediate.
    pub const fn is_immediate(self) -> bool {
        matches!(
            self,
            Field::Elemtype
                | Field::InterleaveLayout
                | Field::SwizzleMode
                | Field::SwizzleAtomicity
                | Field::FillMode
        )
    }

    /// The values that it holds, and what their multiple they must be.
    fn range(self, target: Target) -> (u64, u64, u64) {
        match self {
            Field::GlobalAddress => (0, (1 << 57) - 16, 16),
            Field::Rank => (0, MOST_DIMENSIONS as u64 - 1, 1),
            Field::BoxDim => (1, 256, 1),
            Field::GlobalDim => (1, u32::MAX.into(), 1),
            Field::GlobalStride => (0, (1 << 40) - 16, 16),
            Field::ElementStride => (1, 8, 1),
            Field::Elemtype if target.supports(TensorFeature::SubByteElements) => {
                (0, Element::B6x16.replace_number().into(), 1)
            }
            Field::Elemtype => (0, Element::Tf32Ftz.replace_number().into(), 1),
            Field::InterleaveLayout => (0, Interleave::B32.driver().into(), 1),
            Field::SwizzleMode if target.supports(TensorFeature::Swizzle96) => (0, 4, 1),
            Field::SwizzleMode => (0, Swizzle::B128.driver().into(), 1),
            Field::SwizzleAtomicity => (0, 3, 1),
            Field::FillMode => (0, Fill::Nan.driver().into(), 1),
        }
    }
}

/// Why a field was not replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The target cannot do it at all.
    #[error("{target} has no {}", field.name())]
    Target {
        /// Which field.
        field: Field,
        /// Which target.
        target: Target,
    },
    /// The field has no such ordinal.
    #[error("{} {}", field.name(), ordinals(*field, *ordinal))]
    Ordinal {
        /// Which field.
        field: Field,
        /// The ordinal.
        ordinal: usize,
    },
    /// The field cannot hold the value.
    #[error("{} = {value} is not within {least} to {most}{}", field.name(), multiples(*multiple))]
    Value {
        /// Which field.
        field: Field,
        /// The value.
        value: u64,
        /// The least that it can hold.
        least: u64,
        /// The most.
        most: u64,
        /// What it must be a multiple of.
        multiple: u64,
    },
}

fn ordinals(field: Field, ordinal: usize) -> String {
    match field.ordinals() {
        0 => "takes no ordinal".to_owned(),
        count => format!("has ordinals 0 to {}, not {ordinal}", count - 1),
    }
}

fn multiples(of: u64) -> String {
    if of > 1 { format!(" and a multiple of {of}") } else { String::new() }
}

/// Replaces a field, or says why it cannot hold the value; the object then stays as it was. The ordinal is 0 where
/// the instruction takes none.
pub fn replace(
    object: &mut [u8; SIZE],
    field: Field,
    ordinal: usize,
    value: u64,
    target: Target,
) -> Result<(), Refusal> {
    if !target.supports(TensorFeature::Maps)
        || field == Field::SwizzleAtomicity && !target.supports(TensorFeature::SwizzleAtoms)
    {
        return Err(Refusal::Target { field, target });
    }
    if ordinal >= field.ordinals().max(1) {
        return Err(Refusal::Ordinal { field, ordinal });
    }
    let (least, most, multiple) = field.range(target);
    if !(least..=most).contains(&value) || !value.is_multiple_of(multiple) {
        return Err(Refusal::Value { field, value, least, most, multiple });
    }
    write(object, field, ordinal, value);
    Ok(())
}

/// Writes the low bits of a value into a field, as the hardware does. An ordinal above 4 writes nothing; the assembler
/// lets none through.
pub fn write(object: &mut [u8; SIZE], field: Field, ordinal: usize, value: u64) {
    if ordinal >= MOST_DIMENSIONS {
        return;
    }
    let mut words = object::words(object);
    let low = value as u32;
    let less_one = low.wrapping_sub(1);
    let modes = &mut words[object::MODES];
    match field {
        Field::GlobalAddress => {
            words[0] = low;
            words[1] = (value >> 32) as u32;
        }
        Field::Rank => object::RANK.set(modes, low),
        Field::BoxDim => match ordinal.checked_sub(1) {
            None => object::INNER.set(&mut words[object::STEPS], less_one),
            Some(index) => Bits::nth(8, index).set(&mut words[object::BOX], less_one),
        },
        Field::GlobalDim => words[object::DIMS + ordinal] = less_one,
        Field::GlobalStride => object::set_stride(&mut words, ordinal, value),
        Field::ElementStride => Bits::nth(3, ordinal).set(&mut words[object::STEPS], less_one),
        Field::Elemtype => {
            let (code, tf32) = Element::from_replace_number(low).map_or((low, false), Element::object_code);
            object::ELEMENT.set(modes, code);
            if tf32 {
                object::TF32.set(modes, 1);
            }
        }
        Field::InterleaveLayout => object::INTERLEAVE.set(modes, low),
        Field::SwizzleMode => {
            object::SWIZZLE.set(modes, low);
            object::SPAN_96.set(modes, low >> 2);
        }
        Field::SwizzleAtomicity => object::ATOMICITY.set(modes, low),
        Field::FillMode => object::FILL.set(modes, low),
    }
    *object = object::bytes(&words);
}
