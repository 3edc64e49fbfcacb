//! Codes about declarations: headers (01), names and linkage (02), declarations (03), initialisers and constant
//! expressions (04).

use softwarp_syntax::{Code, Explained};

/// Something that the assembler lets pass though the manual does not: a warning, or in strict mode an error.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// Following the assembler.
    pub warning: Code,
    /// Following the manual.
    pub error: Code,
}

/// A whole module: as it is, `[declarations]` under the usual header, or `{ statements }` in a kernel there.
macro_rules! module {
    ([$text:literal]) => { concat!(".version 9.0\n.target sm_90\n.address_size 64\n", $text) };
    ({ $body:literal }) => {
        concat!(module!([".visible .entry k()\n{\n"]), $body, "\nret;\n}\n")
    };
    ((surfaces $($name:ident)*)) => {
        concat!(
            module!([""]),
            $(".global .surfref ", stringify!($name), ";\n",)*
            ".visible .entry k()\n{\n.reg .b32 r;\n",
            $("suld.b.1d.b32.trap r, [", stringify!($name), ", {r}];\n",)*
            "ret;\n}\n"
        )
    };
    ($whole:literal) => { $whole };
}

/// Declares codes and their table together, so that neither can lack a row of the other.
macro_rules! codes {
    (
        $($name:ident $code:literal $title:literal, $text:literal, $wrong:tt => $right:tt;)*
        {
            $($deviation:ident $warning:literal $error:literal $about:literal, $why:literal, $odd:tt => $mended:tt;)*
        }
    ) => {
        $(#[doc = $title] pub const $name: Code = Code($code);)*
        $(
            #[doc = $about]
            pub const $deviation: Deviation = Deviation { warning: Code($warning), error: Code($error) };
        )*

        /// Every one.
        pub const ALL: &[Explained] = &[
            $(Explained { code: Code($code), title: $title, text: $text, wrong: module!($wrong), right: module!($right) },)*
            $(
                Explained {
                    code: Code($warning), title: $about, text: $why, wrong: module!($odd), right: module!($mended),
                },
                Explained {
                    code: Code($error),
                    title: $about,
                    text: concat!($why, " In strict mode the manual wins, and this is an error."),
                    wrong: module!($odd),
                    right: module!($mended),
                },
            )*
        ];
    };
}

#[rustfmt::skip]
codes! {
    UNKNOWN_VERSION "E0101" "The module is written in a PTX version that does not exist",
        "A module begins with the version of PTX it is written in; see section 11.1.1 of the manual. Versions \
         have gaps: 8.8 is followed by 9.0.",
        ".version 8.9\n.target sm_90\n"
        => ".version 8.8\n.target sm_90\n";
    MISSING_HEADER "E0102" "`.version` or `.target` is missing",
        "A module begins with `.version` and `.target`, in this order, before everything else but comments \
         (sections 11.1.1 and 11.1.2).",
        ".version 9.0\n.global .u32 x;\n"
        => ".version 9.0\n.target sm_90\n.global .u32 x;\n";
    MISPLACED_HEADER "E0103" "A header directive stands where it cannot",
        "`.version`, `.target` and `.address_size` stand at the start of the module, in this order. Only \
         `.target` may be repeated, at once.",
        ".version 9.0\n.target sm_90\n.global .u32 x;\n.address_size 64\n"
        => [ ".global .u32 x;\n" ];
    UNKNOWN_TARGET "E0104" "There is no such target",
        "`.target` names an architecture (`sm_90a`) and options: `texmode_unified`, `texmode_independent`, \
         `debug`, `map_f64_to_f32` (section 11.1.2).",
        ".version 9.0\n.target sm_99\n"
        => ".version 9.0\n.target sm_90\n";
    TARGET_TOO_NEW "E0105" "The version of PTX does not know the target",
        "Each architecture came with a version of PTX; older modules cannot name it (section 11.1.2).",
        ".version 7.4\n.target sm_90\n.global .u32 x;\n"
        => ".version 7.8\n.target sm_90\n.global .u32 x;\n";
    TARGET_OPTION "E0106" "An option of `.target` is out of place",
        "The architecture comes first; `texmode_unified` and `texmode_independent` exclude one another; \
         `map_f64_to_f32` is for targets below sm_13 (section 11.1.2).",
        ".version 9.0\n.target sm_90, texmode_unified, texmode_independent\n"
        => ".version 9.0\n.target sm_90, texmode_independent\n";
    ADDRESS_SIZE "E0107" "Addresses have 32 or 64 bits",
        "`.address_size` says how many bits an address has (section 11.1.3).",
        ".version 9.0\n.target sm_90\n.address_size 48\n"
        => ".version 9.0\n.target sm_90\n.address_size 64\n";
    ADDRESS_32 "E0108" "32-bit addresses are no longer supported",
        "The language still has `.address_size 32`, but no assembler of today makes code for it.",
        ".version 9.0\n.target sm_90\n.address_size 32\n"
        => ".version 9.0\n.target sm_90\n.address_size 64\n";
    FEATURE "E0109" "A feature is newer than the module's version or target",
        "Features came with versions of PTX and with architectures. The module's own `.version` and `.target` \
         count, not the GPU it is assembled for.",
        ".version 7.8\n.target sm_80\n.address_size 64\n.global .b128 x;\n"
        => ".version 8.3\n.target sm_80\n.address_size 64\n.global .b128 x;\n";
    REMOVED "E0110" "A feature ended with an older version",
        "Banks of constant memory ended with PTX 2.2 (section 5.1.3.1), the `.tex` state space with 1.5 \
         (section 5.1.8).",
        [ ".tex .u32 t;\n" ]
        => [ ".global .texref t;\n" ];
    ARCHITECTURE "E0111" "The module cannot be assembled for this architecture",
        "A module runs on its target and newer ones; with the suffix `a` on that very architecture, with `f` \
         on its family (section 11.1.2). Without `--arch`, a module is assembled for its own target.",
        ".version 9.0\n.target sm_100a\n"
        => ".version 9.0\n.target sm_90\n";
    DEBUG_SECTIONS "E0112" "`debug` without debugging sections",
        "The target option `debug` promises DWARF sections in the module, and the assembler insists on them \
         (section 11.1.2).",
        ".version 9.0\n.target sm_90, debug\n"
        => ".version 9.0\n.target sm_90\n";
    NEWER_VERSION "W0103" "The module is written in a newer version of PTX",
        "A newer toolkit wrote the module. It is read as the newest version known here; ptxas 13.4 refuses it. What \
         the newer version added is an error where it is used.",
        ".version 9.5\n.target sm_90\n"
        => ".version 9.4\n.target sm_90\n";
    DUPLICATE "E0201" "A name is declared twice",
        "A name is declared once in a scope; an inner block is a scope of its own. A family such as `%r<4>` \
         has the names `%r0` to `%r3` (sections 4.4 and 5.4.6).",
        { ".reg .b32 r<4>;\n.reg .f32 r2;" }
        => { ".reg .b32 r<4>;\n.reg .f32 r4;" };
    REDECLARATION "E0202" "Declarations of the same name disagree",
        "A name can be declared `.extern` and defined elsewhere in the module; both must say the same type, \
         and for functions the same sort and linkage (section 10.6).",
        [ ".extern .global .u32 x;\n.visible .global .f32 x;\n" ]
        => [ ".extern .global .u32 x;\n.visible .global .u32 x;\n" ];
    EXTERN_STATIC "E0203" "An `.extern` variable is defined without linkage",
        "`.extern` says that a variable is visible between modules; a definition without linkage is not.",
        [ ".extern .global .u32 x;\n.global .u32 x;\n" ]
        => [ ".extern .global .u32 x;\n.visible .global .u32 x;\n" ];
    PROTOTYPE "E0204" "The declarations of a function have different parameters",
        "All declarations of a function have the same number of parameters, with the same types, state spaces \
         and alignments; names may differ.",
        [ ".func f(.param .b32 a);\n.func f(.param .b64 a)\n{\n    ret;\n}\n" ]
        => [ ".func f(.param .b32 a);\n.func f(.param .b32 b)\n{\n    ret;\n}\n" ];
    EXTERN_DEFINITION "E0205" "A function is `.extern` and has a body",
        "`.extern` says that a function is defined in another module.",
        [ ".extern .func f()\n{\n    ret;\n}\n" ]
        => [ ".visible .func f()\n{\n    ret;\n}\n" ];
    UNRESOLVED "E0206" "Something is used or declared that is nowhere defined",
        "A function that is declared needs a body in the module, unless it is `.extern`; a module that is \
         assembled on its own cannot use `.extern` functions and arrays without size (section 10.6).",
        [ ".func f();\n" ]
        => [ ".func f()\n{\n    ret;\n}\n" ];
    PROVIDED_ADDRESS "E0208" "A function of the driver's has no address",
        "`vprintf`, `malloc`, `free`, `__assertfail` and the system calls are provided when the program is loaded. \
         They can be called; their addresses cannot be taken.",
        [ ".extern .func (.param .b64 p) malloc(.param .b64 n);\n.global .u64 p = malloc;\n" ]
        => [ ".func f()\n{\n    ret;\n}\n.global .u64 p = f;\n" ];
    NEEDS_ABI "E0210" "A module without the ABI does what needs it",
        "With several results of a function, or `.reg` and `.local` variables at module scope, the assembler does \
         without the ABI (section 10.1). Then nothing can be called through a pointer or in another module, no \
         function has an address, and none that a kernel reaches can be recursive.",
        [ ".func (.reg .b32 a, .reg .b32 b) two()\n{\n    ret;\n}\n.func f()\n{\n    call f;\n    ret;\n}\n.visible .entry k()\n{\n    call f;\n    ret;\n}\n" ]
        => [ ".func (.reg .b32 a) one()\n{\n    ret;\n}\n.func f()\n{\n    call f;\n    ret;\n}\n.visible .entry k()\n{\n    call f;\n    ret;\n}\n" ];
    PREDEFINED "E0209" "A special register's name at module scope",
        "Special registers are declared at module scope, in every version (chapter 10): nothing else there can have \
         such a name. In a body, a declaration hides them.",
        [ ".global .u32 %laneid;\n" ]
        => [ ".global .u32 laneid;\n" ];
    ALIAS "E0207" "An alias cannot be",
        "`.alias` gives a function of this module a second name, which has been declared with the same \
         parameters and has no body (section 11.8).",
        [ ".func f()\n{\n    ret;\n}\n.alias g, f;\n" ]
        => [ ".func g();\n.func f()\n{\n    ret;\n}\n.alias g, f;\n" ];
    EXTERN_IGNORED "W0202" "An `.extern` variable of a module that is assembled on its own",
        "Without the linker there is no other module to define it; the assembler ignores `.extern` and gives \
         it memory here.",
        [ ".extern .global .u32 x;\n" ]
        => [ ".global .u32 x;\n" ];
    STATE_SPACE "E0301" "A variable needs one state space",
        "Every variable lives in one state space: `.reg`, `.const`, `.global`, `.local`, `.param` or \
         `.shared` (section 5.1).",
        [ ".u32 x;\n" ]
        => [ ".global .u32 x;\n" ];
    MODULE_SCOPE "E0302" "Variables of this state space belong to functions",
        "Registers, local memory and parameters belong to a function. Before PTX 3.0, `.reg` and `.local` \
         variables could stand at module scope (sections 5.1.1 and 5.1.5).",
        [ ".local .u32 x;\n" ]
        => { ".local .u32 x;" };
    INSTRUCTION_TYPE "E0303" "Variables cannot have this type",
        "Alternate and packed formats are types of instructions; their data lives in variables of bit types \
         (sections 5.2.3 and 5.2.4).",
        [ ".global .e4m3x2 x;\n" ]
        => [ ".global .b16 x;\n" ];
    PREDICATE "E0304" "Predicates are scalar registers",
        "`.pred` holds one truth value, in a register: it has no address, and there are no arrays and vectors \
         of it (section 5.2.1).",
        [ ".global .pred p;\n" ]
        => { ".reg .pred p;" };
    VECTOR "E0305" "There is no such vector",
        "Vectors have two or four elements of a basic type, and at most 128 bits (section 5.4.2).",
        [ ".global .v4 .f64 v;\n" ]
        => [ ".global .v2 .f64 v;\n" ];
    REGISTER "E0306" "A register cannot hold this",
        "Registers hold scalars and vectors; arrays and opaque variables are in memory (section 5.1.1).",
        { ".reg .u32 x[4];" }
        => { ".reg .u32 x<4>;" };
    INCOMPLETE "E0308" "An array lacks a size",
        "Only the outermost dimension can be left open, and only if the array is `.extern` or has initial \
         values to count (section 5.4.3).",
        [ ".global .u32 x[];\n" ]
        => [ ".global .u32 x[] = { 1, 2, 3 };\n" ];
    FAMILY_COUNT "E0309" "Too many names",
        "The number in `%r<100>` has 32 bits (section 5.4.6).",
        { ".reg .b32 r<4294967296>;" }
        => { ".reg .b32 r<100>;" };
    ALIGNMENT "E0310" "An alignment is a power of two",
        "`.align` counts bytes, and addresses are multiples of it (section 5.4.5).",
        [ ".global .align 12 .b8 x[24];\n" ]
        => [ ".global .align 16 .b8 x[24];\n" ];
    PARAMETER_ALIGNMENT "E0311" "A function's parameter is aligned too much",
        "Parameters that functions pass in memory are aligned to 128 bytes at most; those of kernels have no \
         such limit.",
        [ ".func f(.param .align 256 .b8 x[4])\n{\n    ret;\n}\n" ]
        => [ ".func f(.param .align 128 .b8 x[4])\n{\n    ret;\n}\n" ];
    BANK "E0312" "There is no such bank of constant memory",
        "Bank 0 held the variables of the module, banks 1 to 10 arrays that the driver provides; they had to \
         be `.extern` arrays without size (section 5.1.3.1).",
        ".version 2.0\n.target sm_20\n.const[2] .b32 c[4];\n"
        => ".version 2.0\n.target sm_20\n.extern .const[2] .b32 c[];\n";
    TEXTURE_SPACE "E0313" "This cannot be in `.tex`",
        "Variables of the old `.tex` state space stood at module scope and were plain `.u32` or `.u64` \
         handles (section 5.1.8).",
        ".version 1.4\n.target sm_13\n.tex .f32 t;\n"
        => ".version 1.4\n.target sm_13\n.tex .u32 t;\n";
    OPAQUE_SPACE "E0314" "Textures, samplers and surfaces are in `.global`",
        "Opaque variables stand at module scope in `.global`, or are parameters of kernels (section 5.3).",
        { ".global .texref t;" }
        => [ ".global .texref t;\n" ];
    SAMPLER "E0315" "Samplers need independent texture mode",
        "With `texmode_unified`, which is the default, a texture's sampler is part of it; `.samplerref` needs \
         `texmode_independent` (section 5.3).",
        [ ".global .samplerref s;\n" ]
        => ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n.global .samplerref s;\n";
    COMMON "E0316" "This cannot be `.common`",
        "`.common` is for `.global` variables that are not opaque (section 10.6.4).",
        [ ".common .shared .u32 x;\n" ]
        => [ ".common .global .u32 x;\n" ];
    ATTRIBUTE "E0317" "The attribute does not apply",
        "`.managed` and `.unified` are attributes of `.global` variables (section 5.4.8).",
        [ ".shared .attribute(.managed) .u32 x;\n" ]
        => [ ".global .attribute(.managed) .u32 x;\n" ];
    UNIFIED "E0318" "`.unified` needs the linker",
        "Variables and functions with the attribute `.unified` can only be assembled for the linker (`-c`).",
        [ ".global .attribute(.unified(1, 2)) .u32 x;\n" ]
        => [ ".global .u32 x;\n" ];
    PARAMETER_SPACE "E0319" "Parameters are not in this state space",
        "Kernels have their parameters in `.param`, functions in `.param` or `.reg` (section 5.1.6).",
        [ ".visible .entry k(.reg .u32 n)\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k(.param .u32 n)\n{\n    ret;\n}\n" ];
    PARAMETER_TYPE "E0320" "This cannot be a parameter",
        "In `.param` are scalars of basic types and arrays; vectors and packed types are passed as arrays of \
         bytes (section 5.1.6).",
        [ ".visible .entry k(.param .v2 .f32 v)\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k(.param .align 8 .b8 v[8])\n{\n    ret;\n}\n" ];
    PARAMETER_NAME "E0321" "A parameter needs a name",
        "`_` stands for parameters in `.callprototype`, where they are not used.",
        [ ".func f(.param .b32 _)\n{\n    ret;\n}\n" ]
        => [ ".func f(.param .b32 a)\n{\n    ret;\n}\n" ];
    INCOMPLETE_PARAMETER "E0322" "A parameter lacks a size",
        "Only the last parameter of a function, in `.param`, can be an array without a size (section 10.2).",
        [ ".visible .entry k(.param .b8 x[])\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k(.param .b8 x[8])\n{\n    ret;\n}\n" ];
    SEVERAL_RETURNS "E0323" "Several return parameters are registers",
        "A function returns one parameter in `.param`, or several in `.reg`, for which the assembler leaves \
         the ABI (section 10.1). Modules for the linker have it, so there a function returns one at most.",
        [ ".func (.param .b32 a, .param .b32 b) f()\n{\n    ret;\n}\n" ]
        => [ ".func (.param .align 4 .b8 ab[8]) f()\n{\n    ret;\n}\n" ];
    POINTER "E0324" "`.ptr` is for kernels",
        "`.ptr` tells what a kernel's parameter points to (section 5.1.6.3).",
        [ ".func f(.param .u64 .ptr .global p)\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k(.param .u64 .ptr .global p)\n{\n    ret;\n}\n" ];
    PARAMETER_BYTES "E0326" "Too many bytes of parameters",
        "A kernel has 4352 bytes of parameters; from PTX 8.1 on and on sm_70 or newer, 32764 (section \
         5.1.6.1).",
        [ ".visible .entry k(.param .b8 x[40000])\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k(.param .u64 .ptr .global x)\n{\n    ret;\n}\n" ];
    CONSTANT_BYTES "E0327" "Too many bytes of constants",
        "A module has 64 KB of `.const` variables (section 5.1.3).",
        [ ".const .b8 x[65537];\n" ]
        => [ ".const .b8 x[65536];\n" ];
    SHARED_BYTES "E0328" "Too many bytes of shared memory",
        "A kernel has 48 KB of `.shared` variables; architecture-specific targets have what the hardware has. \
         More is possible with `.extern .shared` and a size at launch (section 5.1.7).",
        { ".shared .b8 x[50000];" }
        => { ".shared .b8 x[49152];" };
    CONSTANT_POINTERS "E0329" "Generic pointers to constants, beside pointers to constant buffers",
        "A module that takes pointers to constant buffers as parameters (`.ptr .const`) cannot make generic \
         pointers to its own constants with `cvta.const` (section 5.1.6.1).",
        [ ".const .u32 c;\n.visible .entry k(.param .u64 .ptr .const p)\n{\n    .reg .u64 d;\n    cvta.const.u64 d, c;\n    ret;\n}\n" ]
        => [ ".const .u32 c;\n.visible .entry k(.param .u64 .ptr p)\n{\n    .reg .u64 d;\n    cvta.const.u64 d, c;\n    ret;\n}\n" ];
    TEXTURES "E0330" "A kernel uses too many textures, samplers or surfaces",
        "A kernel can name 256 textures, 32 samplers and 32 surfaces; more are possible through handles in \
         registers (sections 5.1.8 and 5.3).",
        (surfaces s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 s12 s13 s14 s15 s16 s17 s18 s19 s20 s21 s22 s23 s24 s25 s26 s27 s28 s29 s30 s31 s32)
        => (surfaces s0);
    NARROW_PARAMETER "E0331" "Parameters of functions have at least 32 bits",
        "With the ABI, functions neither take nor return predicates and integers of 8 or 16 bits. Bit types \
         such as `.b16` pass.",
        [ ".func f(.reg .u16 a)\n{\n    ret;\n}\n.visible .entry k()\n{\n    .reg .u16 x;\n    call f, (x);\n    ret;\n}\n" ]
        => [ ".func f(.reg .b32 a)\n{\n    ret;\n}\n.visible .entry k()\n{\n    .reg .b32 x;\n    call f, (x);\n    ret;\n}\n" ];
    TUNING_NUMBER "E0333" "A tuning directive has a number that it cannot have",
        "Numbers of blocks, threads and registers are positive and have 32 bits (section 11.4).",
        [ ".visible .entry k() .maxntid 0\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k() .maxntid 256\n{\n    ret;\n}\n" ];
    TUNING_CONFLICT "E0334" "Tuning directives do not go together",
        "`.maxntid` excludes `.reqntid`, `.maxclusterrank` excludes `.reqnctapercluster`, and `.blocksareclusters` \
         needs both `.reqntid` and `.reqnctapercluster` (section 11.4).",
        [ ".visible .entry k() .maxntid 256 .reqntid 256\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k() .reqntid 256\n{\n    ret;\n}\n" ];
    NORETURN "E0332" "A function that returns something is not `.noreturn`",
        "`.noreturn` says that a function never goes back to its caller, so it has no return parameters \
         (section 11.4.6).",
        [ ".func (.param .b32 a) f() .noreturn\n{\n    trap;\n}\n" ]
        => [ ".func f() .noreturn\n{\n    trap;\n}\n" ];
    FILE_TWICE "E0341" "Two files have one number",
        "`.file` gives a source file the number that `.loc` names it by. No two have the same (section 11.5.2).",
        [ ".file 1 \"a.cu\"\n.file 1 \"b.cu\"\n.visible .entry k()\n{\n    ret;\n}\n" ]
        => [ ".file 1 \"a.cu\"\n.file 2 \"b.cu\"\n.visible .entry k()\n{\n    ret;\n}\n" ];
    PRAGMA_PLACE "E0342" "A pragma stands where it cannot",
        "Some pragmas are about the code around them: `used_bytes_mask` and `frequency` stand in the body of a kernel or \
         function, `enable_smem_spilling` in that of a kernel. `abi_param_reg` stands in no kernel (sections 11.4.7 and 12).",
        [ ".pragma \"enable_smem_spilling\";\n.visible .entry k()\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k()\n{\n    .pragma \"enable_smem_spilling\";\n    ret;\n}\n" ];
    PRAGMA_UNKNOWN "E0343" "A module has no such pragma",
        "Before the functions of a module only pragmas that the assembler knows may stand. In a body, others are ignored \
         (section 11.4.7).",
        [ ".pragma \"unroll\";\n.visible .entry k()\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k()\n{\n    .pragma \"nounroll\";\n    ret;\n}\n" ];
    PRAGMA_VALUE "E0344" "A pragma has an argument that it cannot have",
        "`frequency` has a positive number, `used_bytes_mask` a mask, `abi_param_reg` a number of registers (sections \
         11.4.7 and 12).",
        [ ".visible .entry k()\n{\n    .pragma \"frequency 0\";\n    ret;\n}\n" ]
        => [ ".visible .entry k()\n{\n    .pragma \"frequency 10\";\n    ret;\n}\n" ];
    NO_ABI "W0305" "A variable at module scope turns the ABI off",
        "Before PTX 3.0, `.reg` and `.local` variables could stand at module scope. Such a module is \
         assembled without the ABI: there is no stack, and no recursion (sections 5.1.1 and 5.1.5).",
        ".version 2.0\n.target sm_20\n.reg .u32 x;\n"
        => ".version 2.0\n.target sm_20\n.global .u32 x;\n";
    RAISED_ALIGNMENT "W0306" "`.align` says less than the type needs",
        "A variable is aligned at least to the size of its elements; less has no effect (section 5.4.5).",
        [ ".global .align 1 .u64 x;\n" ]
        => [ ".global .align 8 .u64 x;\n" ];
    CRASH "W0307" "The assembler crashes on this",
        "ptxas 13.4 ends with a segmentation fault, a division by zero or for want of memory, and says nothing about \
         the module: `st.param` through a register in a kernel, a family of 2^28 registers or more, \
         `.maxntid 4294967295`, an alignment of 2^31. Here it is read as the language has it.",
        [ ".visible .entry k() .maxntid 4294967295\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k() .maxntid 1024\n{\n    ret;\n}\n" ];
    INITIALISER_TYPE "E0401" "The initial value does not fit the type",
        "Integers take integers, floating-point types take `1.0` or `0f3f800000`, bit types take both; arrays \
         and vectors take lists; addresses go into `.u32` and `.u64` (section 5.4.4).",
        [ ".global .f32 x = 1;\n" ]
        => [ ".global .f32 x = 1.0;\n" ];
    INITIALISER_PLACE "E0402" "Nothing has an initial value in this state space",
        "Only `.global` and `.const` variables have initial values (section 5.4.4).",
        [ ".shared .u32 x = 1;\n" ]
        => [ ".global .u32 x = 1;\n" ];
    EXTERN_INITIALISER "E0403" "An `.extern` variable has no initial value",
        "`.extern` says that the variable is defined in another module, which also gives its value.",
        [ ".extern .global .u32 x = 1;\n" ]
        => [ ".visible .global .u32 x = 1;\n" ];
    F16_INITIALISER "E0404" "`.f16` takes no initial value",
        "The assembler has no literals for `.f16` (section 5.4.4).",
        [ ".global .f16 x = 1.0;\n" ]
        => [ ".global .b16 x = 0x3c00;\n" ];
    TOO_MANY_ELEMENTS "E0405" "A list is too long",
        "A list has at most as many elements as the dimension of the array that it initialises (section \
         5.4.4).",
        [ ".global .u32 x[2] = { 1, 2, 3 };\n" ]
        => [ ".global .u32 x[3] = { 1, 2, 3 };\n" ];
    VECTOR_ELEMENTS "E0406" "A vector is initialised whole",
        "A vector's list has as many elements as the vector; only arrays may be left short.",
        [ ".global .v4 .f32 v = { 1.0, 2.0 };\n" ]
        => [ ".global .v4 .f32 v = { 1.0, 2.0, 0.0, 0.0 };\n" ];
    INITIALISER_SYMBOL "E0407" "A name in an initialiser is unknown or has no address",
        "Initialisers name variables and functions that have been declared before; there is no looking ahead \
         (section 5.4.4).",
        [ ".global .u64 p = x;\n.global .u32 x;\n" ]
        => [ ".global .u32 x;\n.global .u64 p = x;\n" ];
    INITIALISER_SPACE "E0408" "Addresses of this state space are not known before the program runs",
        "Initialisers take the addresses of `.global` and `.const` variables, of functions and kernels \
         (section 5.4.4).",
        [ ".shared .u32 s;\n.global .u64 p = s;\n" ]
        => [ ".global .u32 s;\n.global .u64 p = s;\n" ];
    FUNCTION_ADDRESS "E0409" "A function's address stands alone",
        "Nothing can be added to a function's address, and it is generic as it is.",
        [ ".func f()\n{\n    ret;\n}\n.global .u64 p = f+8;\n" ]
        => [ ".func f()\n{\n    ret;\n}\n.global .u64 p = f;\n" ];
    MASK "E0410" "A mask selects one byte",
        "`0xff(x)`, `0xff00(x)` and so on store one byte of an address or integer (section 5.4.4).",
        [ ".global .u32 g;\n.global .u8 p = 0xffff(g);\n" ]
        => [ ".global .u32 g;\n.global .u8 p[2] = { 0xff(g), 0xff00(g) };\n" ];
    EXPRESSION_TYPE "E0412" "The operands of a constant expression do not fit",
        "Both operands are integers, or both are decimal floating-point numbers; shifts, bitwise and logical \
         operators, `%`, `?:` and casts take integers (section 4.5).",
        [ ".global .f64 x = 1.0 + 2;\n" ]
        => [ ".global .f64 x = 1.0 + 2.0;\n" ];
    DIVISION_BY_ZERO "E0413" "Division by zero in a constant expression",
        "All of a constant expression is evaluated, also the branch of `?:` that is not taken.",
        [ ".global .s32 x = 1 / 0;\n" ]
        => [ ".global .s32 x = 1 / 1;\n" ];
    CAST "E0414" "Constants are cast to `.s64` or `.u64`",
        "Casts choose whether the operations on an integer are signed (section 4.5).",
        [ ".global .s64 x = (.s32) 5;\n" ]
        => [ ".global .s64 x = (.s64) 5;\n" ];
    CONSTANT_RANGE "E0415" "A floating-point number is out of range",
        "Decimal numbers are binary64; the assembler refuses those that overflow and those below the smallest \
         normal number.",
        [ ".global .f64 x = 1e400;\n" ]
        => [ ".global .f64 x = 1e300;\n" ];
    OPAQUE_MEMBER "E0416" "The member of an opaque variable is wrong",
        "Opaque variables are initialised by naming members, and each type has its own; values are integers \
         or the names of filter and address modes (section 5.3).",
        [ ".global .texref t = { memory_layout = 1 };\n" ]
        => [ ".global .texref t = { width = 64, filter_mode = nearest };\n" ];
    SHORT_ROW "W0401" "A short row is not padded",
        "The manual, like C, pads each row of a nested list with zeros. The assembler stores the values one \
         after another: `x[2][2] = {{1},{3}}` holds 1, 3, 0, 0. In strict mode the row is padded: 1, 0, 3, 0.",
        [ ".global .u32 x[2][2] = { { 1 }, { 3 } };\n" ]
        => [ ".global .u32 x[2][2] = { { 1, 0 }, { 3, 0 } };\n" ];
    CHOPPED "W0406" "An initial value does not fit",
        "Integers in initialisers have 64 bits and lose their upper ones without a word: `.u8 x = 256` stores \
         0.",
        [ ".global .u8 x = 256;\n" ]
        => [ ".global .u8 x = 255;\n" ];
    SINGLE_IN_DOUBLE "W0407" "A 32-bit literal for a 64-bit number",
        "The assembler stores the bits of `0f3f800000` as they are; in an `.f64` they mean another number.",
        [ ".global .f64 x = 0f3f800000;\n" ]
        => [ ".global .f64 x = 0d3ff0000000000000;\n" ];
    IGNORED_MEMBER "W0408" "A member that nothing looks at",
        "With `texmode_independent`, how a texture is filtered and what happens beyond its edges is the \
         sampler's affair: `filter_mode` and `addr_mode_0` to `addr_mode_2` of a `.texref` are ignored \
         (section 5.3.2).",
        ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n.global .texref t = { filter_mode = linear };\n"
        => ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n.global .samplerref s = { filter_mode = linear };\n";

    // What the assembler lets pass and the manual does not.
    {
    LOOSE_TARGET "W0102" "E0192" "The target has letters that mean nothing",
        "The assembler reads the number of a target and, as its last letter, `a` or `f`; it ignores what else there \
         is: `sm_90b` is sm_90. The manual has no such targets.",
        ".version 9.0\n.target sm_90b\n"
        => ".version 9.0\n.target sm_90a\n";
    RENAMED_TARGET "W0101" "E0191" "The target has another name in this version",
        "sm_101 became sm_110 with PTX 9.0. The assembler takes both names; the manual only the new one.",
        ".version 9.0\n.target sm_101\n"
        => ".version 9.0\n.target sm_110\n";
    SPACE_CHANGED "W0201" "E0291" "Declarations of a variable are in different state spaces",
        "An `.extern` declaration and the definition should agree; the assembler does not compare the state \
         spaces.",
        [ ".extern .global .u32 x;\n.visible .const .u32 x;\n" ]
        => [ ".extern .const .u32 x;\n.visible .const .u32 x;\n" ];
    FORGOTTEN_TYPE "W0301" "E0391" "Variables should not have this type",
        "The manual has packed formats as types of instructions only; the assembler forgets to look for \
         `.e2m3x4`, `.e3m2x4` and `.e2m1x4`.",
        [ ".shared .e2m3x4 x;\n" ]
        => [ ".shared .b32 x;\n" ];
    POINTER_BANK "W0302" "E0392" "`.ptr` names a bank of constant memory",
        "The manual has `.ptr .const` without a bank; the assembler ignores it.",
        [ ".visible .entry k(.param .u64 .ptr .const[2] p)\n{\n    ret;\n}\n" ]
        => [ ".visible .entry k(.param .u64 .ptr .const p)\n{\n    ret;\n}\n" ];
    UNSEEN_ELEMENTS "W0303" "E0393" "The elements of an array break a rule that the assembler does not enforce",
        "Rules about a type also hold for arrays of it, says the manual: `.samplerref` needs \
         `texmode_independent`, opaque variables are in `.global`, `.b128` needs PTX 8.3. The assembler does \
         not look at arrays.",
        [ ".global .samplerref s[2];\n" ]
        => ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n.global .samplerref s[2];\n";
    LONG_NUMBER "W0304" "E0394" "A number does not fit 64 bits",
        "The two halves of a `.unified` identifier have 64 bits each; the assembler keeps the low bits of \
         longer ones.",
        [ ".global .attribute(.unified(18446744073709551616, 2)) .u32 x;\n" ]
        => [ ".global .u32 x;\n" ];
    F16X2_INITIALISER "W0402" "E0492" "The initial value of an `.f16x2` is not what it seems",
        "The assembler takes a list for an `.f16x2` and stores its first value as a 32-bit floating-point \
         number.",
        [ ".global .f16x2 x = { 1.0, 2.0 };\n" ]
        => [ ".global .b32 x = 0x40003c00;\n" ];
    OPAQUE_VALUE "W0403" "E0493" "The member of an opaque variable has an odd value",
        "The assembler looks at no value of a member: `normalized_coords = 2` passes.",
        [ ".global .texref t = { normalized_coords = 2 };\n" ]
        => [ ".global .texref t = { normalized_coords = 1 };\n" ];
    OPAQUE_ADDRESS "W0404" "E0494" "The address of an opaque variable is an initial value",
        "The manual lets `mov` take the address of a texture, not an initialiser; the assembler lets both.",
        [ ".global .texref t;\n.global .u64 p = t;\n" ]
        => [ ".global .u32 t;\n.global .u64 p = t;\n" ];
    EARLY_MASK "W0405" "E0495" "A mask over an integer, in PTX 7.2",
        "The manual has masks over integers from PTX 7.3 on, the assembler from 7.2 on.",
        ".version 7.2\n.target sm_80\n.address_size 64\n.global .u8 x = 0xff(1000);\n"
        => ".version 7.3\n.target sm_80\n.address_size 64\n.global .u8 x = 0xff(1000);\n";
    }
}
