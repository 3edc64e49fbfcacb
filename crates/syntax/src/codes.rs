//! The diagnostics of this crate, as data: a stable code each, what it means, and a module that breaks the
//! rule beside one that does not.

use crate::{Code, Explained};

/// A module with the usual headers.
macro_rules! module {
    ($($text:expr),*) => { concat!(".version 9.0\n.target sm_90\n.address_size 64\n", $($text),*) };
}

/// A module with a kernel whose body is given.
macro_rules! kernel {
    ($($text:expr),*) => { module!(".visible .entry k()\n{\n    .reg .b32 %r<4>;\n    .reg .pred %p<2>;\n", $($text),*, "    ret;\n}\n") };
}

/// Ten times a text.
macro_rules! ten {
    ($text:expr) => {
        concat!($text, $text, $text, $text, $text, $text, $text, $text, $text, $text)
    };
}

/// Declares the codes as constants and their table together.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $code:literal $title:literal $text:literal $wrong:expr, $right:expr;)*) => {
        $(pub(crate) const $name: Code = Code($code);)*

        /// Every code that the lexer and the parser report.
        pub const ALL: &[Explained] =
            &[$(Explained { code: $name, title: $title, text: $text, wrong: $wrong, right: $right },)*];
    };
}

codes! {
    COMMENT "E0001" "a comment does not end"
        "A comment that begins with `/*` goes on to the next `*/`; comments do not nest (PTX ISA section 4.2)."
        module!("/* all of the rest\n.global .u32 x;\n"),
        module!("/* only this */\n.global .u32 x;\n");
    TEXT "E0002" "a string does not end"
        "A string goes from one double quote to the next. There are no escapes in it: `\\\"` ends it like any other quote."
        module!(".file 1 \"kernel.cu\n"),
        module!(".file 1 \"kernel.cu\"\n");
    CHARACTER "E0003" "a character that cannot stand in PTX"
        "PTX is written in ASCII (PTX ISA section 4.1). Other characters may stand in comments only, and NUL nowhere, since the assembler takes it for the end of the file."
        module!(".global .u32 größe;\n"),
        module!(".global .u32 groesse; // Größe\n");
    LENGTH "E0004" "the text is too long"
        "Texts of 4 GiB and more are not read."
        "",
        module!("");
    EXPECTED "E0005" "something else is expected here"
        "The grammar of PTX (sections 4.3 and 11) wants another word or mark here. The usual reason is a semicolon or a comma that is missing in what comes before."
        kernel!("    mov.b32 %r1, 1\n    mov.b32 %r2, 2;\n"),
        kernel!("    mov.b32 %r1, 1;\n    mov.b32 %r2, 2;\n");
    UNCLOSED "E0006" "a brace is not closed"
        "The body of a function, or a section, goes on to the end of the file, or up to where another kernel begins."
        module!(".visible .entry k()\n{\n    {\n    ret;\n}\n"),
        module!(".visible .entry k()\n{\n    {\n    ret;\n    }\n}\n");
    DEPTH "E0007" "nested too deep"
        "Expressions and initialisers may nest 256 deep and blocks 1,024 deep. The assembler gives up at some depth, too."
        module!(".global .u32 x = ", ten!(ten!("(((")), "1", ten!(ten!(")))")), ";\n"),
        module!(".global .u32 x = (1);\n");
    FLOOD "E0008" "too many errors"
        "After a hundred errors reading stops: this is hardly PTX."
        kernel!(ten!(ten!("    1;\n")), "    1;\n"),
        kernel!("    mov.b32 %r1, 1;\n");
    ITEM "E0009" "this cannot stand at module scope"
        "At module scope there are directives, variables and functions (PTX ISA section 11). Instructions and labels belong into the body of a function."
        module!("ret;\n"),
        module!(".visible .entry k()\n{\n    ret;\n}\n");
    STATEMENT "E0010" "this cannot stand in a body"
        "A body consists of instructions, labels, blocks, variables and a few directives (PTX ISA section 4.3). An empty statement is none of them, a guard belongs to an instruction, and `.branchtargets`, `.calltargets` and `.callprototype` need a label before them."
        kernel!("    mov.b32 %r1, 1;;\n"),
        kernel!("    mov.b32 %r1, 1;\n");
    HEADER "E0011" "a header is malformed or in the wrong place"
        "A module begins with `.version`, `.target` and, if it likes, `.address_size`, once each and in this order (PTX ISA section 11.1)."
        module!(".address_size 64\n"),
        module!("");
    TYPE "E0012" "no type that a variable can have"
        "A variable has a fundamental type, such as `.b32` or `.f64`, or is a handle, such as `.texref`; before it may stand `.v2` or `.v4` (PTX ISA sections 5.2 to 5.4). Alternate and packed formats, such as `.bf16`, are types of instructions; their data lives in variables of a bit type of the same size."
        module!(".global .bf16 x;\n"),
        module!(".global .b16 x;\n");
    ORDER "E0013" "the words of a declaration are in the wrong order"
        "A declaration has its linkage first; then state space, alignment and attributes; then the vector's length, the type, and the names. On a kernel's parameter, `.ptr` with its state space and alignment follows the type."
        module!(".global .u32 .align 8 x;\n"),
        module!(".global .align 8 .u32 x;\n");
    LINKAGE "E0014" "linkage where there can be none"
        "`.extern`, `.visible`, `.weak` and `.common` come first in a declaration, one of them at most, and at module scope; functions cannot be `.common` (PTX ISA section 11.6)."
        module!(".visible .weak .global .u32 x;\n"),
        module!(".visible .global .u32 x;\n");
    ATTRIBUTE "E0015" "no such attribute"
        "Variables can be `.managed` and `.unified(uuid, uuid)`, functions only the latter (PTX ISA section 5.4.8)."
        module!(".global .attribute(.shared) .u32 x;\n"),
        module!(".global .attribute(.managed) .u32 x;\n");
    NUMBER "E0016" "one integer literal is expected"
        "Lengths of arrays, alignments and the numbers of directives are single literals, in any notation, or `WARP_SZ`. The assembler takes no expressions there, although the manual speaks of constant expressions."
        module!(".global .u32 x[2*4];\n.global .align (8) .u32 y;\n"),
        module!(".global .u32 x[8];\n.global .align 8 .u32 y;\n");
    NAME "E0017" "a name is expected"
        "A name begins with a letter, or with `_`, `$` or `%` and something behind it, and goes on with letters, digits, `_` and `$` (PTX ISA section 4.4). `_` alone is the sink, and `WARP_SZ` a constant."
        module!(".global .u32 1x;\n"),
        module!(".global .u32 x1;\n");
    PERFORMANCE "E0018" "no directive that can stand before a body"
        "Between a function's parameters and its body there may be directives such as `.maxntid` and `.noreturn` (PTX ISA sections 11.4, 11.7 and 11.8)."
        module!(".visible .entry k() .maxthreads 256\n{\n    ret;\n}\n"),
        module!(".visible .entry k() .maxntid 256\n{\n    ret;\n}\n");
    MODIFIER "E0019" "a directive as a modifier"
        "Some words are directives wherever they stand, so that no instruction can have them as a modifier: `.reg` above all, since registers have no address."
        kernel!("    ld.reg.b32 %r1, [%r2];\n"),
        kernel!("    mov.b32 %r1, %r2;\n");
    OPERAND "E0020" "no operand"
        "An operand is a name, perhaps with a member (`%tid.x`), an index (`a[4]`) or an offset (`a+4`); a constant; an address in brackets; or names and constants in braces (PTX ISA chapter 6). Vectors do not nest, and the sink `_` can only stand first or in a vector."
        kernel!("    mov.b32 %r1, _;\n"),
        kernel!("    mov.b32 %r1, %r2;\n");
    EXPRESSION "E0021" "no constant expression"
        "A constant expression is made of literals, `WARP_SZ`, operators and casts to `.s64` and `.u64` (PTX ISA section 4.5.4). Names have no part in it: an offset goes behind the name of a variable, with a plus sign (`x+8`, `x+-8`). Operators do not apply to `0f3f800000` unless it is in parentheses."
        module!(".global .u32 x;\n.global .u64 p = 4 + x;\n"),
        module!(".global .u32 x;\n.global .u64 p = x + 4;\n");
    INITIALISER "E0022" "no initial value"
        "An initial value is a constant expression, the name of a variable or function, perhaps with an offset, in `generic(…)` or behind a mask, or a list of values in braces (PTX ISA section 5.4.4)."
        module!(".global .u32 x = ;\n"),
        module!(".global .u32 x = 0;\n");
    OVERFLOW "E0023" "an integer is too large"
        "Integers have 64 bits (PTX ISA section 4.5.1). The assembler notices most longer ones, wherever they stand; of those that it overlooks, the low 64 bits count."
        module!(".global .u64 x = 0xfffffffffffffffff;\n"),
        module!(".global .u64 x = 0xffffffffffffffff;\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn every_example_does_what_it_says() {
        for row in ALL {
            let right = parse(row.right).diagnostics;
            assert!(right.is_empty(), "{}: {right:?}", row.code);
            // Four GiB are too much for an example.
            if row.code != LENGTH {
                let wrong = parse(row.wrong).diagnostics;
                assert!(wrong.iter().any(|found| found.code == row.code), "{}: {wrong:?}", row.code);
            }
        }
    }

    #[test]
    fn codes_are_in_order_and_unique() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
    }
}
