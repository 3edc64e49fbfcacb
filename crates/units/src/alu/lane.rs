//! What the word of a lane means: the types that functions of one lane are written in, and the macros that make a
//! loop of such a function for one type or for all types that a form may have.

use crate::lanes::Word;

/// A value of one lane, kept in a word of a row: 16-bit values with zeros above them.
pub trait Lane: Copy {
    /// The word.
    type Word: Word;
    /// The value in a word.
    fn of(word: Self::Word) -> Self;
    /// The word with the value.
    fn word(self) -> Self::Word;
}

macro_rules! lane {
    ($($value:ident through $unsigned:ident in $word:ident),*) => {$(
        impl Lane for $value {
            type Word = $word;
            #[inline(always)]
            fn of(word: $word) -> $value {
                word as $value
            }
            #[inline(always)]
            fn word(self) -> $word {
                self as $unsigned as $word
            }
        }
    )*};
}

lane!(u16 through u16 in u32, i16 through u16 in u32, u32 through u32 in u32);
lane!(i32 through u32 in u32, u64 through u64 in u64, i64 through u64 in u64);

/// The loop of a function of one lane: `each!(|a: u32, b: u32| a & b)`.
macro_rules! each {
    (|$a:ident: $A:ty| $d:expr) => {
        $crate::alu::alu_loop!(|frame, inst, mask| $crate::alu::unary(frame, inst, mask, |$a: $A| $d))
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty| $d:expr) => {
        $crate::alu::alu_loop!(|frame, inst, mask| $crate::alu::binary(
            frame,
            inst,
            mask,
            |$a: $A, $b: $B| $d
        ))
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $d:expr) => {
        $crate::alu::alu_loop!(|frame, inst, mask| {
            $crate::alu::ternary(frame, inst, mask, |$a: $A, $b: $B, $c: $C| $d)
        })
    };
}
pub(crate) use each;

/// The loop of a function that is the same for signed and unsigned values, by the width of a type:
/// `widths!(ty, |a, b| a.wrapping_add(b))`. Other types have none.
macro_rules! widths {
    ($ty:expr, |$($a:ident),*| $d:expr) => {
        match $ty {
            Type::U16 | Type::S16 | Type::B16 => $crate::alu::lane::each!(|$($a: u16),*| $d),
            Type::U32 | Type::S32 | Type::B32 => $crate::alu::lane::each!(|$($a: u32),*| $d),
            Type::U64 | Type::S64 | Type::B64 => $crate::alu::lane::each!(|$($a: u64),*| $d),
            _ => return None,
        }
    };
}
pub(crate) use widths;

/// The loop of a function of signed or of unsigned values, by type: `integers!(ty, |a, b| a.max(b))`.
macro_rules! integers {
    ($ty:expr, |$($a:ident),*| $d:expr) => {
        match $ty {
            Type::U16 => $crate::alu::lane::each!(|$($a: u16),*| $d),
            Type::S16 => $crate::alu::lane::each!(|$($a: i16),*| $d),
            Type::U32 => $crate::alu::lane::each!(|$($a: u32),*| $d),
            Type::S32 => $crate::alu::lane::each!(|$($a: i32),*| $d),
            Type::U64 => $crate::alu::lane::each!(|$($a: u64),*| $d),
            Type::S64 => $crate::alu::lane::each!(|$($a: i64),*| $d),
            _ => return None,
        }
    };
}
pub(crate) use integers;
