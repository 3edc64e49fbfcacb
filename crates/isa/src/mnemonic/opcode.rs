//! The opcodes of PTX as values (PTX ISA chapter 9): the first word of every mnemonic.
//!
//! The list and the instruction table must name the same opcodes; `tests/rows.rs` compares them.

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

#[rustfmt::skip]
opcodes! {
    Abs "abs",
    Activemask "activemask",
    Add "add",
    Addc "addc",
    Alloca "alloca",
    And "and",
    Applypriority "applypriority",
    Atom "atom",
    Bar "bar",
    Barrier "barrier",
    Bfe "bfe",
    Bfi "bfi",
    Bfind "bfind",
    Bmsk "bmsk",
    Bra "bra",
    Brev "brev",
    Brkpt "brkpt",
    Brx "brx",
    Call "call",
    Clmad "clmad",
    Clusterlaunchcontrol "clusterlaunchcontrol",
    Clz "clz",
    Cnot "cnot",
    Copysign "copysign",
    Cos "cos",
    Cp "cp",
    Createpolicy "createpolicy",
    Cvt "cvt",
    Cvta "cvta",
    Discard "discard",
    Div "div",
    Dp2a "dp2a",
    Dp4a "dp4a",
    Elect "elect",
    Ex2 "ex2",
    Exit "exit",
    Fabric "fabric",
    Fence "fence",
    Fma "fma",
    Fns "fns",
    Getctarank "getctarank",
    Griddepcontrol "griddepcontrol",
    Isspacep "isspacep",
    Istypep "istypep",
    Ld "ld",
    Ldmatrix "ldmatrix",
    Ldu "ldu",
    Lg2 "lg2",
    Lop3 "lop3",
    Mad "mad",
    Mad24 "mad24",
    Madc "madc",
    Mapa "mapa",
    Match "match",
    Max "max",
    Mbarrier "mbarrier",
    Membar "membar",
    Min "min",
    Mma "mma",
    Mov "mov",
    Movmatrix "movmatrix",
    Mul "mul",
    Mul24 "mul24",
    Multimem "multimem",
    Nanosleep "nanosleep",
    Neg "neg",
    Not "not",
    Or "or",
    Pmevent "pmevent",
    Popc "popc",
    Prefetch "prefetch",
    Prefetchu "prefetchu",
    Prmt "prmt",
    Rcp "rcp",
    Red "red",
    Redux "redux",
    Rem "rem",
    Ret "ret",
    Rsqrt "rsqrt",
    Sad "sad",
    Selp "selp",
    Set "set",
    Setmaxnreg "setmaxnreg",
    Setp "setp",
    Shf "shf",
    Shfl "shfl",
    Shl "shl",
    Shr "shr",
    Sin "sin",
    Slct "slct",
    Spcompress "spcompress",
    Spdecompress "spdecompress",
    Sqrt "sqrt",
    St "st",
    Stackrestore "stackrestore",
    Stacksave "stacksave",
    Stmatrix "stmatrix",
    Sub "sub",
    Subc "subc",
    Suld "suld",
    Suq "suq",
    Sured "sured",
    Sust "sust",
    Szext "szext",
    Tanh "tanh",
    Tcgen05 "tcgen05",
    Tensormap "tensormap",
    Testp "testp",
    Tex "tex",
    Tld4 "tld4",
    Trap "trap",
    Txq "txq",
    Vabsdiff "vabsdiff",
    Vabsdiff2 "vabsdiff2",
    Vabsdiff4 "vabsdiff4",
    Vadd "vadd",
    Vadd2 "vadd2",
    Vadd4 "vadd4",
    Vavrg2 "vavrg2",
    Vavrg4 "vavrg4",
    Vmad "vmad",
    Vmax "vmax",
    Vmax2 "vmax2",
    Vmax4 "vmax4",
    Vmin "vmin",
    Vmin2 "vmin2",
    Vmin4 "vmin4",
    Vote "vote",
    Vset "vset",
    Vset2 "vset2",
    Vset4 "vset4",
    Vshl "vshl",
    Vshr "vshr",
    Vsub "vsub",
    Vsub2 "vsub2",
    Vsub4 "vsub4",
    Wgmma "wgmma",
    Wmma "wmma",
    Xor "xor",
}

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
