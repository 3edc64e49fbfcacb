//! Where the manual describes what: a line on each opcode, and the address of its section.
//!
//! Addresses are those of the PTX ISA on the web, whose sections keep their names from version to version while their
//! numbers change.

use crate::instruction::{InstructionForm, Modifier, Opcode};
use crate::{Class, Type};

/// The manual.
pub const MANUAL: &str = "https://docs.nvidia.com/cuda/parallel-thread-execution/index.html";

/// What an opcode does, in a line; and the name of its section. `*` stands for the section's group, which depends on
/// the type.
type Row = (Opcode, &'static str, &'static str);

/// What an opcode does, in a line.
pub fn summary(opcode: Opcode) -> &'static str {
    ROWS.iter().find(|row| row.0 == opcode).map_or("", |row| row.2)
}

/// The address of the section that describes a form.
pub fn link(form: &InstructionForm) -> String {
    let section = ROWS.iter().find(|row| row.0 == form.opcode).map_or("instruction-set", |row| row.1);
    let word = |modifier: Modifier| form.words.contains(&modifier);
    let section = match (form.opcode, section.strip_prefix('*')) {
        (Opcode::Cvt, _) if word(Modifier::Pack) => {
            "data-movement-and-conversion-instructions-cvt-pack".to_owned()
        }
        (Opcode::Add | Opcode::Sub | Opcode::Mad, _) if word(Modifier::Cc) => {
            format!("extended-precision-arithmetic-instructions-{}-cc", form.opcode)
        }
        (_, Some(name)) => format!("{}-{name}", group(form.types.first().copied())),
        (_, None) => section.to_owned(),
    };
    format!("{MANUAL}#{section}")
}

/// The group of an arithmetic instruction.
fn group(ty: Option<Type>) -> &'static str {
    match ty.map(Type::class) {
        Some(Class::Float) if ty.is_some_and(|ty| ty.bits() / u32::from(ty.lanes()) <= 16) => {
            "half-precision-floating-point-instructions"
        }
        Some(Class::Float) => "floating-point-instructions",
        _ => "integer-arithmetic-instructions",
    }
}

use Opcode::*;

macro_rules! rows {
    ($($group:literal { $($opcode:ident $section:literal $summary:literal,)* })*) => {
        const ROWS: &[Row] = &[$($(($opcode, concat!($group, $section), $summary),)*)*];
    };
}

#[rustfmt::skip]
rows! {
    "*" {
        Abs "abs" "the absolute value of a number",
        Add "add" "adds two numbers",
        Div "div" "divides one number by another",
        Ex2 "ex2" "two to a power, approximately",
        Fma "fma" "multiplies two numbers and adds a third, rounding once",
        Mad "mad" "multiplies two numbers and adds a third",
        Max "max" "the greater of two or three numbers",
        Min "min" "the less of two or three numbers",
        Mul "mul" "multiplies two numbers",
        Neg "neg" "negates a number",
        Sub "sub" "subtracts one number from another",
        Tanh "tanh" "the hyperbolic tangent, approximately",
    }
    "integer-arithmetic-instructions-" {
        Bfe "bfe" "extracts a field of bits",
        Bfi "bfi" "inserts a field of bits",
        Bfind "bfind" "the place of the highest bit that differs from the sign",
        Bmsk "bmsk" "a mask of ones from a position, of a width",
        Brev "brev" "reverses the bits of a word",
        Clmad "clmad" "multiplies without carries, and adds",
        Clz "clz" "counts leading zeros",
        Dp2a "dp2a" "the dot product of two halves and two bytes, added to a number",
        Dp4a "dp4a" "the dot product of four bytes and four bytes, added to a number",
        Fns "fns" "finds the n-th set bit",
        Mad24 "mad24" "multiplies two numbers of 24 bits and adds a third",
        Mul24 "mul24" "multiplies two numbers of 24 bits",
        Popc "popc" "counts ones",
        Rem "rem" "the remainder of a division",
        Sad "sad" "adds the absolute difference of two numbers to a third",
        Szext "szext" "extends the sign or zeros from a position",
    }
    "extended-precision-arithmetic-instructions-" {
        Addc "addc" "adds two numbers and the carry",
        Madc "madc" "multiplies two numbers, adds a third and the carry",
        Subc "subc" "subtracts one number from another, with the borrow",
    }
    "floating-point-instructions-" {
        Copysign "copysign" "one number with the sign of another",
        Cos "cos" "the cosine, approximately",
        Lg2 "lg2" "the logarithm to base two, approximately",
        Rcp "rcp" "the reciprocal of a number",
        Rsqrt "rsqrt" "the reciprocal of a square root, approximately",
        Sin "sin" "the sine, approximately",
        Sqrt "sqrt" "the square root of a number",
        Testp "testp" "tests for a class of floating-point numbers",
    }
    "comparison-and-selection-instructions-" {
        Selp "selp" "one of two values, by a predicate",
        Set "set" "compares two numbers; the result is a number",
        Setp "setp" "compares two numbers; the result is a predicate",
        Slct "slct" "one of two values, by the sign of a third",
    }
    "logic-and-shift-instructions-" {
        And "and" "the bits that are set in both",
        Cnot "cnot" "one if the value is zero, else zero",
        Lop3 "lop3" "any function of three bits, by a table of eight",
        Not "not" "inverts bits",
        Or "or" "the bits that are set in either",
        Shf "shf" "shifts a pair of words",
        Shl "shl" "shifts left",
        Shr "shr" "shifts right",
        Xor "xor" "the bits that differ",
    }
    "data-movement-and-conversion-instructions" {
        Applypriority "-applypriority" "gives a cache line its usual priority",
        Cp "-asynchronous-copy" "copies memory asynchronously",
        Createpolicy "-createpolicy" "makes a cache policy",
        Cvt "-cvt" "converts a value to another type",
        Cvta "-cvta" "converts an address to a generic one, or back",
        Discard "-discard" "makes the contents of a cache line undefined",
        Fabric "" "copies to and from logical endpoints",
        Getctarank "-getctarank" "the rank of the CTA that an address of shared memory is in",
        Isspacep "-isspacep" "whether a generic address is in a state space",
        Ld "-ld" "loads from memory",
        Ldu "-ldu" "loads from memory what all threads of a warp read at the same address",
        Mapa "-mapa" "the address of a variable in the shared memory of another CTA of the cluster",
        Mov "-mov" "copies a value, or the address of a variable; packs and unpacks vectors",
        Multimem "-multimem" "loads, stores and reductions on several copies of memory at once",
        Prefetch "-prefetch-prefetchu" "brings a cache line near",
        Prefetchu "-prefetch-prefetchu" "brings a cache line near, for uniform loads",
        Prmt "-prmt" "picks four bytes out of eight",
        Shfl "-shfl-sync" "exchanges registers among the threads of a warp",
        Spcompress "" "compresses values to structured sparsity",
        Spdecompress "" "expands values of structured sparsity",
        St "-st" "stores to memory",
        Tensormap "-tensormap-replace" "changes a tensor map in memory",
    }
    "texture-instructions-" {
        Istypep "istypep" "whether a handle is of a texture, sampler or surface",
        Tex "tex" "reads a texture",
        Tld4 "tld4" "reads the four texels that bilinear filtering would use",
        Txq "txq" "asks for properties of a texture or sampler",
    }
    "surface-instructions-" {
        Suld "suld" "loads from a surface",
        Suq "suq" "asks for properties of a surface",
        Sured "sured" "an atomic reduction on a surface",
        Sust "sust" "stores to a surface",
    }
    "control-flow-instructions-" {
        Bra "bra" "branches to a label",
        Brx "brx-idx" "branches to one of a list of labels",
        Call "call" "calls a function",
        Exit "exit" "ends the thread",
        Ret "ret" "returns from the function, or ends the kernel",
    }
    "parallel-synchronization-and-communication-instructions" {
        Activemask "-activemask" "the threads of the warp that execute this",
        Atom "-atom" "an atomic operation on memory that gives the old value",
        Bar "-bar" "a barrier of the CTA or warp",
        Barrier "-bar" "a barrier of the CTA or cluster",
        Clusterlaunchcontrol "-clusterlaunchcontrol-try-cancel" "cancels the launch of a cluster, to take over its work",
        Elect "-elect-sync" "elects one thread of a warp",
        Fence "-membar" "orders memory accesses",
        Griddepcontrol "-griddepcontrol" "controls when dependent grids start",
        Match "-match-sync" "the threads of a warp that have the same value",
        Mbarrier "-mbarrier" "operations on barrier objects in shared memory",
        Membar "-membar" "orders memory accesses",
        Red "-red" "an atomic reduction on memory",
        Redux "-redux-sync" "a reduction over the threads of a warp",
        Vote "-vote-sync" "a vote of the threads of a warp",
    }
    "warp-level-matrix-instructions" {
        Ldmatrix "-ldmatrix" "loads matrices from shared memory, distributed over a warp",
        Mma "-mma" "multiplies matrices and adds a third, by a warp",
        Movmatrix "-movmatrix" "transposes a matrix in the registers of a warp",
        Stmatrix "-stmatrix" "stores matrices of a warp to shared memory",
        Wmma "-wmma" "matrix operations of a warp on fragments",
    }
    "asynchronous-warpgroup-level-matrix-instructions" {
        Wgmma "" "asynchronous matrix products of four warps",
    }
    "tensorcore-5th-generation-instructions" {
        Tcgen05 "" "tensor memory and matrix products of the fifth generation",
    }
    "stack-manipulation-instructions-" {
        Alloca "alloca" "takes memory of the stack",
        Stackrestore "stackrestore" "sets the stack pointer",
        Stacksave "stacksave" "the stack pointer",
    }
    "video-instructions" {
        Vabsdiff "" "the absolute difference of parts of words",
        Vabsdiff2 "" "the absolute differences of two halves",
        Vabsdiff4 "" "the absolute differences of four bytes",
        Vadd "" "adds parts of words",
        Vadd2 "" "adds two halves",
        Vadd4 "" "adds four bytes",
        Vavrg2 "" "the means of two halves",
        Vavrg4 "" "the means of four bytes",
        Vmad "" "multiplies parts of words and adds a number",
        Vmax "" "the greater of two parts of words",
        Vmax2 "" "the greater ones of two halves",
        Vmax4 "" "the greater ones of four bytes",
        Vmin "" "the less of two parts of words",
        Vmin2 "" "the less ones of two halves",
        Vmin4 "" "the less ones of four bytes",
        Vset "" "compares parts of words",
        Vset2 "" "compares two halves",
        Vset4 "" "compares four bytes",
        Vshl "" "shifts a part of a word left",
        Vshr "" "shifts a part of a word right",
        Vsub "" "subtracts parts of words",
        Vsub2 "" "subtracts two halves",
        Vsub4 "" "subtracts four bytes",
    }
    "miscellaneous-instructions-" {
        Brkpt "brkpt" "stops for a debugger",
        Nanosleep "nanosleep" "suspends the thread for a while",
        Pmevent "pmevent" "triggers events of performance monitors",
        Setmaxnreg "setmaxnreg" "changes how many registers the warp may have",
        Trap "trap" "aborts the launch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::resolve;

    #[test]
    fn every_opcode_has_its_line() {
        let without: Vec<&str> = Opcode::ALL
            .iter()
            .filter(|&&opcode| summary(opcode).is_empty())
            .map(|opcode| opcode.name())
            .collect();
        assert!(without.is_empty(), "{without:?}");
        assert_eq!(ROWS.len(), Opcode::ALL.len(), "a row is there twice");
    }

    #[test]
    fn arithmetic_is_described_by_its_type() {
        let section = |opcode, words: &[&str]| {
            let link = link(&resolve(opcode, words).unwrap());
            link.split_once('#').unwrap().1.to_owned()
        };
        assert_eq!(section("add", &["s32"]), "integer-arithmetic-instructions-add");
        assert_eq!(section("add", &["f32"]), "floating-point-instructions-add");
        assert_eq!(section("add", &["f16x2"]), "half-precision-floating-point-instructions-add");
        assert_eq!(section("add", &["cc", "u32"]), "extended-precision-arithmetic-instructions-add-cc");
        assert_eq!(section("ld", &["global", "f32"]), "data-movement-and-conversion-instructions-ld");
    }
}
