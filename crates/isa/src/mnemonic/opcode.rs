//! The opcodes of PTX as values (PTX ISA chapter 9): the first word of every mnemonic.
//!
//! They are the first words of the rows of the instruction table: `build.rs` lists them.

use std::fmt;

/// Declares [`Opcode`] with its names.
macro_rules! opcodes {
    ($($variant:ident $name:literal,)*) => {
        /// The first word of a mnemonic: `ld` of `ld.global.f32`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)] // The names are PTX's.
        pub enum Opcode { $($variant,)* }

        impl Opcode {
            /// Every opcode, in alphabetical order.
            pub const ALL: &[Opcode] = &[$(Opcode::$variant,)*];

            /// As PTX spells it.
            pub const fn name(self) -> &'static str {
                match self { $(Opcode::$variant => $name,)* }
            }

            /// Finds one by its name.
            pub fn from_name(name: &str) -> Option<Opcode> {
                match name { $($name => Some(Opcode::$variant),)* _ => None }
            }
        }
    };
}

// The opcodes of the rows in `src/table`, which `build.rs` lists: `opcodes! { Abs "abs", … }`.
include!(concat!(env!("OUT_DIR"), "/opcodes.rs"));

impl Opcode {
    /// Of a video instruction (PTX ISA section 9.7.20), how many elements of a word it works on: 1, 2 or 4.
    pub const fn video_elements(self) -> Option<u32> {
        use Opcode::*;
        Some(match self {
            Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vmad | Vset => 1,
            Vadd2 | Vsub2 | Vabsdiff2 | Vmin2 | Vmax2 | Vavrg2 | Vset2 => 2,
            Vadd4 | Vsub4 | Vabsdiff4 | Vmin4 | Vmax4 | Vavrg4 | Vset4 => 4,
            _ => return None,
        })
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
