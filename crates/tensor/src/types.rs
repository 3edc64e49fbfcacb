//! The parameters of a tensor map that are chosen from lists (PTX ISA sections 5.5.1, 5.5.6, 5.5.7): tables with
//! the driver's numbers, the object's and `tensormap.replace`'s, which all differ.

use std::fmt;

macro_rules! listed {
    (
        $(#[$about:meta])*
        $name:ident, $prefix:literal {
            $($(#[$doc:meta])* $variant:ident = $driver:literal, $text:literal $(| $alias:literal)*;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them, in the driver's order.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The driver's number; for what the driver lacks, the one after its last.
            pub const fn driver(self) -> u32 {
                match self {
                    $($name::$variant => $driver,)*
                }
            }

            /// Finds it by the driver's number.
            pub fn from_driver(number: u32) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.driver() == number)
            }

            /// The name in map files and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// Other words for it: the manual's, and the driver's without what all of its names begin with.
            pub const fn aliases(self) -> &'static [&'static str] {
                match self {
                    $($name::$variant => &[$($alias,)*],)*
                }
            }

            /// Finds it by its name or an alias, in any case, with or without the manual's leading dot or the
            /// beginning of the driver's names.
            pub fn from_name(name: &str) -> Option<$name> {
                let bare = without_prefix(name.strip_prefix('.').unwrap_or(name), "CU_TENSOR_MAP_");
                let bare = without_prefix(bare, $prefix);
                $name::ALL.iter().copied().find(|one| {
                    one.name().eq_ignore_ascii_case(bare)
                        || one.aliases().iter().any(|alias| alias.eq_ignore_ascii_case(bare))
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// A name without what it begins with, in any case.
fn without_prefix<'a>(name: &'a str, prefix: &str) -> &'a str {
    match name.split_at_checked(prefix.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(prefix) => rest,
        _ => name,
    }
}

listed! {
    /// What a tensor is made of.
    Element, "DATA_TYPE_" {
        /// Unsigned, 8 bits.
        U8 = 0, "u8" | "uint8";
        /// Unsigned, 16 bits.
        U16 = 1, "u16" | "uint16";
        /// Unsigned, 32 bits; also for `.b32`.
        U32 = 2, "u32" | "b32" | "uint32";
        /// Signed, 32 bits.
        S32 = 3, "s32" | "int32";
        /// Unsigned, 64 bits; also for `.b64`.
        U64 = 4, "u64" | "b64" | "uint64";
        /// Signed, 64 bits.
        S64 = 5, "s64" | "int64";
        /// binary16.
        F16 = 6, "f16" | "float16";
        /// binary32.
        F32 = 7, "f32" | "float32";
        /// binary64.
        F64 = 8, "f64" | "float64";
        /// bfloat16.
        Bf16 = 9, "bf16" | "bfloat16";
        /// binary32, subnormals flushed in reductions.
        F32Ftz = 10, "f32.ftz" | "f32_ftz" | "float32_ftz";
        /// TF32: loads round.
        Tf32 = 11, "tf32" | "tfloat32";
        /// TF32, subnormals flushed in reductions.
        Tf32Ftz = 12, "tf32.ftz" | "tf32_ftz" | "tfloat32_ftz";
        /// Sixteen 4-bit elements in 64 bits.
        B4x16 = 13, "b4x16" | "16u4_align8b";
        /// Sixteen 4-bit elements in 64 bits, with 64 bits of padding in shared memory.
        B4x16P64 = 14, "b4x16_p64" | "16u4_align16b";
        /// Sixteen 6-bit elements: with 32 bits of padding in shared memory when loaded (`.b6x16_p32`), a byte
        /// each there when stored (`.b6p2x16`).
        B6x16 = 15, "b6x16_p32" | "b6p2x16" | "16u6_align16b";
    }
}

listed! {
    /// How channels are grouped in global memory.
    Interleave, "INTERLEAVE_" {
        /// They are not: NDHWC.
        None = 0, "none";
        /// Slices of 16 bytes.
        B16 = 1, "16B";
        /// Slices of 32 bytes.
        B32 = 2, "32B";
    }
}

listed! {
    /// How 16-byte cells are exchanged in shared memory, with their atomicity (Table 14).
    Swizzle, "SWIZZLE_" {
        /// Not at all.
        None = 0, "none";
        /// In spans of 32 bytes.
        B32 = 1, "32B";
        /// In spans of 64 bytes.
        B64 = 2, "64B";
        /// In spans of 128 bytes.
        B128 = 3, "128B";
        /// In spans of 128 bytes, 32 bytes staying together.
        B128Atom32 = 4, "128B_ATOM_32B";
        /// In spans of 128 bytes, 32 bytes staying together; every second line has the 8-byte halves of its cells
        /// exchanged.
        B128Atom32Flip8 = 5, "128B_ATOM_32B_FLIP_8B";
        /// In spans of 128 bytes, 64 bytes staying together.
        B128Atom64 = 6, "128B_ATOM_64B";
        /// In spans of 96 bytes. The driver has no name for it; `tensormap.replace` does.
        B96 = 7, "96B";
    }
}

listed! {
    /// How much of global memory the L2 cache fetches at a time.
    Promotion, "L2_PROMOTION_" {
        /// No promotion.
        None = 0, "none";
        /// 64 bytes.
        B64 = 1, "64B" | "L2_64B";
        /// 128 bytes.
        B128 = 2, "128B" | "L2_128B";
        /// 256 bytes.
        B256 = 3, "256B" | "L2_256B";
    }
}

listed! {
    /// What elements outside the tensor read as.
    Fill, "FLOAT_OOB_FILL_" {
        /// Zero.
        Zero = 0, "zero" | "none";
        /// The special NaN OOB-NaN.
        Nan = 1, "nan" | "oob-nan" | "nan_request_zero_fma";
    }
}

listed! {
    /// How many pixels an access along W moves.
    WideMode, "IM2COL_WIDE_MODE_" {
        /// As many as the map says: `.im2col::w`.
        W = 0, "w" | "im2col::w";
        /// 128: `.im2col::w::128`.
        W128 = 1, "w128" | "w::128" | "im2col::w::128";
    }
}

impl Element {
    /// Bits that an element takes in global memory.
    pub const fn bits(self) -> u32 {
        match self {
            Element::U8 => 8,
            Element::U16 | Element::F16 | Element::Bf16 => 16,
            Element::U32
            | Element::S32
            | Element::F32
            | Element::F32Ftz
            | Element::Tf32
            | Element::Tf32Ftz => 32,
            Element::U64 | Element::S64 | Element::F64 => 64,
            Element::B4x16 | Element::B4x16P64 => 4,
            Element::B6x16 => 6,
        }
    }

    /// The number in the object, and its bit for the TF32 kinds.
    pub const fn object_code(self) -> (u32, bool) {
        match self {
            Element::U8 => (0, false),
            Element::U16 => (1, false),
            Element::U32 => (2, false),
            Element::S32 => (3, false),
            Element::U64 => (4, false),
            Element::S64 => (5, false),
            Element::F16 => (6, false),
            Element::F32 => (7, false),
            Element::Tf32 => (7, true),
            Element::F32Ftz => (8, false),
            Element::Tf32Ftz => (8, true),
            Element::F64 => (9, false),
            Element::Bf16 => (10, false),
            Element::B4x16 => (11, false),
            Element::B4x16P64 => (12, false),
            Element::B6x16 => (13, false),
        }
    }

    /// Finds it by the number in the object and the TF32 bit. That bit means nothing beside other numbers.
    pub fn from_object_code(code: u32, tf32: bool) -> Option<Element> {
        let found = |bit| Element::ALL.iter().copied().find(|one| one.object_code() == (code, bit));
        found(tf32).or_else(|| found(false))
    }

    /// The number in `tensormap.replace`.
    pub const fn replace_number(self) -> u32 {
        match self {
            Element::F32Ftz => 8,
            Element::F64 => 9,
            Element::Bf16 => 10,
            same => same.driver(),
        }
    }

    /// Finds it by the number in `tensormap.replace`.
    pub fn from_replace_number(number: u32) -> Option<Element> {
        Element::ALL.iter().copied().find(|one| one.replace_number() == number)
    }

    /// Whether an element is less than a byte.
    pub const fn is_packed(self) -> bool {
        self.bits() < 8
    }

    /// Whether padding goes between packed elements in shared memory, which binds a row to 128 elements.
    pub const fn is_padded(self) -> bool {
        matches!(self, Element::B4x16P64 | Element::B6x16)
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Element::F16
                | Element::F32
                | Element::F64
                | Element::Bf16
                | Element::F32Ftz
                | Element::Tf32
                | Element::Tf32Ftz
        )
    }
}

impl Interleave {
    /// Bytes of a slice; 0 without.
    pub const fn bytes(self) -> u32 {
        match self {
            Interleave::None => 0,
            Interleave::B16 => 16,
            Interleave::B32 => 32,
        }
    }
}

impl Swizzle {
    /// Mode, atomicity and the bit for 96 bytes, as in the object.
    pub const fn object_code(self) -> (u32, u32, bool) {
        match self {
            Swizzle::None => (0, 0, false),
            Swizzle::B32 => (1, 0, false),
            Swizzle::B64 => (2, 0, false),
            Swizzle::B128 => (3, 0, false),
            Swizzle::B128Atom32 => (3, 1, false),
            Swizzle::B128Atom32Flip8 => (3, 2, false),
            Swizzle::B128Atom64 => (3, 3, false),
            Swizzle::B96 => (0, 0, true),
        }
    }

    /// Finds it by mode, atomicity and the bit for 96 bytes; most such triples mean nothing (Table 14).
    pub fn from_object_code(mode: u32, atomicity: u32, span_96: bool) -> Option<Swizzle> {
        Swizzle::ALL.iter().copied().find(|one| one.object_code() == (mode, atomicity, span_96))
    }

    /// Alignment in shared memory at which the pattern starts (section 5.5.7).
    pub const fn alignment(self) -> u32 {
        match self {
            Swizzle::None => 0x10,
            Swizzle::B32 | Swizzle::B96 => 0x100,
            Swizzle::B64 => 0x200,
            Swizzle::B128 | Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 | Swizzle::B128Atom64 => 0x400,
        }
    }

    /// Bytes of the span within which cells are exchanged; 0 without.
    pub const fn span(self) -> u32 {
        match self {
            Swizzle::None => 0,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B96 => 96,
            Swizzle::B128 | Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 | Swizzle::B128Atom64 => 128,
        }
    }
}
