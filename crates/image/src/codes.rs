//! Every diagnostic of linking and laying out, explained: E08xx and W08xx.
//!
//! Most are about several modules. Their examples stand in one text, one after another, with
//! [`NEXT_MODULE`] between them.

use softwarp_syntax::{Code, Explained};

/// The line between the modules of an example.
pub const NEXT_MODULE: &str = "// ---- second module ----\n";

/// One module or two, each with its target and what stands below the header.
macro_rules! modules {
    ([]) => { "" };
    ([$one:literal]) => { modules!(["sm_90" $one]) };
    ([$target:literal $one:literal]) => {
        concat!(".version 9.0\n.target ", $target, "\n.address_size 64\n", $one)
    };
    ([$one:literal, $two:literal]) => { modules!(["sm_90" $one, "sm_90" $two]) };
    ([$target:literal $one:literal, $other:literal $two:literal]) => {
        concat!(modules!([$target $one]), "// ---- second module ----\n", modules!([$other $two]))
    };
}

/// Declares codes and their table together, so that neither can lack a row of the other.
macro_rules! codes {
    ($($name:ident $code:literal $title:literal, $text:literal, $wrong:tt => $right:tt;)*) => {
        $(#[doc = $title] pub const $name: Code = Code($code);)*

        /// Every one.
        pub const ALL: &[Explained] = &[
            $(Explained {
                code: $name, title: $title, text: $text, wrong: modules!($wrong), right: modules!($right),
            },)*
        ];
    };
}

#[rustfmt::skip]
codes! {
    TOO_LARGE "E0801" "A variable, or a state space, needs 2^63 bytes or more",
        "The assembler counts bytes modulo 2^61 and takes such sizes without a word. There is no memory for \
         them.",
        [ ".global .u64 x[4611686018427387904];\n" ]
        => [ ".global .u64 x[4096];\n" ];
    BANK_FULL "E0802" "Modules together have more than 65,536 bytes of constants",
        "A program has one bank of 64 KB for the `.const` variables of all its modules (section 5.1.3). Each \
         module may keep to that and all of them together not.",
        [ ".const .u8 a[40000];\n", ".const .u8 b[40000];\n" ]
        => [ ".const .u8 a[40000];\n", ".global .u8 b[40000];\n" ];
    MISSING "E0803" "No module defines the name",
        "An `.extern` name is defined by another module, as `.visible`, `.weak` or `.common` (section 11.6). A \
         name without such a word is its module's own and does not count. Variables must be defined even if \
         nothing uses them; functions that nothing uses need not, nor those that the driver provides: \
         `vprintf`, `malloc`, `free` and `__assertfail`.",
        [ ".extern .global .u32 x;\n", ".global .u32 x = 7;\n" ]
        => [ ".extern .global .u32 x;\n", ".visible .global .u32 x = 7;\n" ];
    DEFINED_TWICE "E0804" "Two modules define the name",
        "A `.visible` name is defined once in a program. Several modules may define a `.weak` name, of which \
         the first counts, or declare a `.common` variable, which they then share, if at most one of them \
         gives it an initial value (sections 11.6.3 and 11.6.4).",
        [ ".visible .global .u32 x = 7;\n", ".visible .global .u32 x = 7;\n" ]
        => [ ".visible .global .u32 x = 7;\n", ".weak .global .u32 x = 7;\n" ];
    KIND "E0805" "Modules mean different sorts of things by a name",
        "What one module declares as a variable, a function or a kernel, no other can define as something else.",
        [ ".extern .global .u32 f;\n", ".visible .func f()\n{\n    ret;\n}\n" ]
        => [ ".extern .func f();\n", ".visible .func f()\n{\n    ret;\n}\n" ];
    SPACE "E0806" "Modules have a variable in different state spaces",
        "The code that reads a variable depends on the state space, so that all modules must name the same, \
         and the same bank of `.const`.",
        [ ".extern .global .u32 x;\n", ".visible .const .u32 x = 7;\n" ]
        => [ ".extern .const .u32 x;\n", ".visible .const .u32 x = 7;\n" ];
    SIZE "E0807" "Modules declare a variable with different sizes",
        "All declarations of a variable have the same size; an `.extern` array may leave it open (`x[]`). \
         `.common` variables may differ, and take as much as the largest needs; a definition with an initial \
         value must be at least as large as they are.",
        [ ".extern .global .u32 x[4];\n", ".visible .global .u32 x[8];\n" ]
        => [ ".extern .global .u32 x[];\n", ".visible .global .u32 x[8];\n" ];
    ATTRIBUTE "E0808" "Modules declare a name with different attributes",
        "`.managed` and `.unified` decide where a variable lives and how it is read (section 5.4.8); all \
         declarations must have the same.",
        [ ".extern .global .u32 x;\n", ".visible .global .attribute(.managed) .u32 x;\n" ]
        => [ ".extern .global .attribute(.managed) .u32 x;\n", ".visible .global .attribute(.managed) .u32 x;\n" ];
    HANDLE "E0809" "A name is a texture, sampler or surface in one module and something else in another",
        "The driver binds textures, samplers and surfaces by name, whatever their linkage: all modules must \
         mean the same by it.",
        [ ".extern .global .texref t;\n", ".visible .global .surfref t;\n" ]
        => [ ".extern .global .texref t;\n", ".visible .global .texref t;\n" ];
    PROTOTYPE "E0810" "Modules declare a function with different parameters",
        "Caller and function must agree on the number of parameters and return values, on their sizes, and on \
         which are floating-point numbers. `.u32`, `.s32` and `.b32` are the same here, `.f32` is not. Two \
         `.weak` kernels of one name have as many bytes of parameters.",
        [
            ".extern .func f(.param .b32 a);\n.visible .global .u64 p = f;\n",
            ".visible .func f(.param .b64 a)\n{\n    ret;\n}\n"
        ]
        => [
            ".extern .func f(.param .b32 a);\n.visible .global .u64 p = f;\n",
            ".visible .func f(.param .u32 a)\n{\n    ret;\n}\n"
        ];
    ADDRESS_SIZE "E0811" "Modules differ in the size of their addresses",
        "Modules that pass addresses to one another must have the same `.address_size`. Today it is 64 \
         throughout, and a module with another is refused before it is linked.",
        [] => [];
    TARGETS "E0812" "No architecture runs all modules",
        "A program is linked for one architecture. A module for sm_80 can also be assembled for a later one, \
         but one for sm_90a for nothing else, and one for sm_100f only for its family (section 11.1.2).",
        [ "sm_90a" ".global .u32 x;\n", "sm_100" ".global .u32 y;\n" ]
        => [ "sm_90a" ".global .u32 x;\n", "sm_80" ".global .u32 y;\n" ];

    TYPE "W0821" "Modules declare a variable with different types",
        "The linker compares sizes only. One of the modules reads something else than the other writes.",
        [ ".extern .global .u32 x;\n", ".visible .global .f32 x = 1.0;\n" ]
        => [ ".extern .global .f32 x;\n", ".visible .global .f32 x = 1.0;\n" ];
    ALIGNMENT "W0822" "A module counts on an alignment that the definition does not give",
        "The linker places a variable as its definition says. A module that declares it with a stricter \
         `.align` may use instructions that then fail. Functions expect their parameters aligned as their \
         callers pass them.",
        [ ".extern .global .align 16 .u32 x[4];\n", ".visible .global .align 4 .u32 x[4];\n" ]
        => [ ".extern .global .align 4 .u32 x[4];\n", ".visible .global .align 16 .u32 x[4];\n" ];
    INITIAL_VALUE "W0823" "Modules give a weak variable different initial values",
        "The value of the first module counts, so that the order of the modules matters. The same goes for \
         the members of textures, samplers and surfaces.",
        [ ".weak .global .u32 x = 7;\n", ".weak .global .u32 x = 8;\n" ]
        => [ ".weak .global .u32 x = 7;\n", ".visible .global .u32 x = 8;\n" ];
    UNNOTICED "W0824" "Modules declare a function differently, and the linker does not notice",
        "The linker sees functions that are defined, called, or whose address is taken, and hardly ever \
         compares the parameters of kernels. Here it sees nothing, and a call that is added later would fail.",
        [ ".extern .func f(.param .b32 a);\n", ".visible .func f(.param .b64 a)\n{\n    ret;\n}\n" ]
        => [ ".extern .func f(.param .b64 a);\n", ".visible .func f(.param .b64 a)\n{\n    ret;\n}\n" ];
    TEXTURE_MODE "W0825" "Modules with different texture modes share a texture",
        "In the unified mode a texture has a sampler's members, in the independent mode it has not \
         (section 5.3). One that both use is bound in one of the ways only.",
        [ "sm_90" ".extern .global .texref t;\n", "sm_90, texmode_independent" ".visible .global .texref t;\n" ]
        => [ ".extern .global .texref t;\n", ".visible .global .texref t;\n" ];
    PRIVATE_HANDLE "W0826" "A texture, sampler or surface without linkage is shared all the same",
        "The driver binds them by name. Modules that have one of the same name have the same one, even if \
         neither says `.visible`.",
        [ ".global .texref t;\n", ".global .texref t;\n" ]
        => [ ".visible .global .texref t;\n", ".extern .global .texref t;\n" ];
}
