//! Codes about instructions: names in bodies (E025x), mnemonics (E05xx), operands (E06xx) and addresses (E07xx).

use super::declarations::Deviation;
use softwarp_syntax::{Code, Explained};

/// A kernel with these statements, in a module of its own. What comes before the kernel may be given first.
macro_rules! kernel {
    ($body:literal) => {
        kernel!("", $body)
    };
    ($before:literal, $body:literal) => {
        concat!(
            ".version 9.0\n.target sm_90\n.address_size 64\n\n",
            $before,
            ".visible .entry k()\n{\n",
            $body,
            "    ret;\n}\n"
        )
    };
}

/// Declares the codes and their table together, so that neither can lack a row of the other.
macro_rules! codes {
    ($($name:ident $code:literal $title:literal
        $text:literal
        wrong $wrong:expr;
        right $right:expr;)*
    {
        $($deviation:ident $warning:literal $error:literal $about:literal
        $why:literal
        odd $odd:expr;
        mended $mended:expr;)*
    }) => {
        $(#[doc = $title] pub const $name: Code = Code($code);)*
        $(
            #[doc = $about]
            pub const $deviation: Deviation = Deviation { warning: Code($warning), error: Code($error) };
        )*

        /// Every one.
        pub const ALL: &[Explained] = &[$(Explained {
            code: $name,
            title: $title,
            text: $text,
            wrong: $wrong,
            right: $right,
        },)*
        $(
            Explained { code: Code($warning), title: $about, text: $why, wrong: $odd, right: $mended },
            Explained {
                code: Code($error),
                title: $about,
                text: concat!($why, " In strict mode the manual wins, and this is an error."),
                wrong: $odd,
                right: $mended,
            },
        )*];
    };
}

#[rustfmt::skip]
codes! {
    UNDECLARED "E0250" "a name must be declared before it is used"
        "Registers, variables and functions are known from their declaration to the end of the block they are \
         declared in; only labels are known before they stand. A family such as %r<4> declares %r0 to %r3 \
         (PTX ISA 5.4.6)."
        wrong kernel!("    .reg .u32 %r<4>;\n    mov.u32 %r4, 1;\n");
        right kernel!("    .reg .u32 %r<5>;\n    mov.u32 %r4, 1;\n");
    NO_LABEL "E0251" "a branch needs a label that is visible"
        "A label is visible in the block that it stands in, before it too, and in the blocks inside that one. It \
         is not visible from outside the block (PTX ISA 4.4)."
        wrong kernel!("    bra DONE;\n    {\n    DONE:\n    }\n");
        right kernel!("    bra DONE;\n    {\n    }\n    DONE:\n");
    NOT_A_LABEL "E0252" "a branch goes to a label"
        "`bra` takes a label of the same function. To branch by a number use `brx.idx` with `.branchtargets`; to \
         enter a function use `call` (PTX ISA 9.7.13)."
        wrong kernel!("    .reg .u32 r;\n    bra r;\n");
        right kernel!("L:\n    bra L;\n");
    DUPLICATE_LABEL "E0253" "a name is declared once in a block"
        "Two labels of one block cannot have the same name, nor can a label and a variable (PTX ISA 4.4)."
        wrong kernel!("L:\nL:\n    bra L;\n");
        right kernel!("L:\nM:\n    bra L;\n");
    UNKNOWN_INSTRUCTION "E0501" "there is no such instruction"
        "The word is not the name of an instruction of PTX. Chapter 9 of the manual lists them."
        wrong kernel!("    .reg .u32 r;\n    addd.u32 r, r, 1;\n");
        right kernel!("    .reg .u32 r;\n    add.u32 r, r, 1;\n");
    UNKNOWN_MODIFIER "E0502" "there is no such modifier"
        "No instruction has a modifier of that name."
        wrong kernel!("    .reg .u32 r;\n    add.uint32 r, r, 1;\n");
        right kernel!("    .reg .u32 r;\n    add.u32 r, r, 1;\n");
    FOREIGN_MODIFIER "E0503" "an instruction does not have a modifier"
        "The modifier exists, but this instruction has it in none of its forms. Its section in chapter 9 of the \
         manual lists those it has."
        wrong kernel!("    .reg .u32 r;\n    and.wide.b32 r, r, r;\n");
        right kernel!("    .reg .u32 r;\n    and.b32 r, r, r;\n");
    DUPLICATE_MODIFIER "E0504" "a modifier stands once"
        "The modifier stands twice, or beside another one of which only one can stand."
        wrong kernel!("    .reg .f32 f;\n    add.ftz.ftz.f32 f, f, f;\n");
        right kernel!("    .reg .f32 f;\n    add.ftz.f32 f, f, f;\n");
    MISSING_MODIFIER "E0505" "a modifier is missing"
        "The instruction does not say enough: a rounding where the result can be inexact, a type, a comparison."
        wrong kernel!("    .reg .f32 f;\n    .reg .s32 i;\n    cvt.f32.s32 f, i;\n");
        right kernel!("    .reg .f32 f;\n    .reg .s32 i;\n    cvt.rn.f32.s32 f, i;\n");
    MODIFIER_COMBINATION "E0506" "modifiers do not go together"
        "Each of the modifiers is one that the instruction has, but no form has all of them."
        wrong kernel!("    .reg .s64 r;\n    add.sat.s64 r, r, r;\n");
        right kernel!("    .reg .s32 r;\n    add.sat.s32 r, r, r;\n");
    MISPLACED_MODIFIER "E0507" "a word of an instruction's name stands right after it"
        "Some instructions have names of several words, such as mul.lo and cp.async.bulk; the other modifiers come \
         after them."
        wrong kernel!("    .reg .s32 r;\n    mul.s32.lo r, r, r;\n");
        right kernel!("    .reg .s32 r;\n    mul.lo.s32 r, r, r;\n");
    UNAVAILABLE "E0510" "the module's version or target does not have this"
        "Instructions and their modifiers came with a version of PTX and with an architecture. The assembler goes \
         by the module's `.version` and `.target`; the notes at the end of each instruction's section say which are \
         needed."
        wrong ".version 7.0\n.target sm_70\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .b16 h;\n    fma.rn.bf16 h, h, h, h;\n    ret;\n}\n";
        right ".version 7.0\n.target sm_80\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .b16 h;\n    fma.rn.bf16 h, h, h, h;\n    ret;\n}\n";
    BANK "E0511" "banks of constant memory are gone"
        "`.const[2]` names a bank of constant memory. There were eleven of them from PTX 1.5 to 2.1; since then \
         large constant data is reached through pointers (PTX ISA 5.1.3)."
        wrong kernel!(".const .u32 c;\n", "    .reg .u32 r;\n    ld.const[2].u32 r, [c];\n");
        right kernel!(".const .u32 c;\n", "    .reg .u32 r;\n    ld.const.u32 r, [c];\n");
    OPERAND_COUNT "E0601" "an instruction has another number of operands"
        "Each form of an instruction has its list of operands; some of them may be left out."
        wrong kernel!("    .reg .u32 r;\n    add.u32 r, r;\n");
        right kernel!("    .reg .u32 r;\n    add.u32 r, r, r;\n");
    OPERAND_SORT "E0602" "an operand is of another sort than the instruction wants"
        "Where a register is wanted, an address or a label cannot stand; where memory is accessed, the address \
         stands in brackets; a destination is never a constant (PTX ISA 6.1 to 6.4)."
        wrong kernel!("    .reg .u64 d;\n    .reg .u32 r;\n    ld.global.u32 r, d;\n");
        right kernel!("    .reg .u64 d;\n    .reg .u32 r;\n    ld.global.u32 r, [d];\n");
    OPERAND_TYPE "E0603" "a register has a type that does not fit"
        "An operand must have the instruction's size, and a type that goes with the instruction's: signed and \
         unsigned integers go together, bits go with everything of their size, floats only with themselves \
         (PTX ISA 5.2.1). Loads, stores and conversions take wider registers (9.4.1). Packed and alternate formats \
         are held by bits."
        wrong kernel!("    .reg .u32 r;\n    .reg .f32 f;\n    add.f32 f, f, r;\n");
        right kernel!("    .reg .f32 r;\n    .reg .f32 f;\n    add.f32 f, f, r;\n");
    IMMEDIATE "E0604" "a constant is of another kind than the instruction wants"
        "Integer operands take integer constants, floats take constants with a point or bits (0f…, 0d…). Bits take \
         integers, and the bits of a float of the same size. There are no constants of 16-bit and packed floats \
         (PTX ISA 4.5)."
        wrong kernel!("    .reg .f32 f;\n    mov.f32 f, 1;\n");
        right kernel!("    .reg .f32 f;\n    mov.f32 f, 1.0;\n");
    IMMEDIATE_RANGE "E0605" "a constant is beyond its range"
        "Some operands are constants that the instruction encodes, and these have a range."
        wrong kernel!("    pmevent 16;\n");
        right kernel!("    pmevent 15;\n");
    VECTOR_SIZE "E0606" "a vector has another number of elements"
        "With .v2, .v4 or .v8 the operand has as many elements, in braces or as a register declared so; `mov` packs \
         two or four elements into a value of as many bits as they have together (PTX ISA 6.5)."
        wrong kernel!("    .reg .u64 d;\n    .reg .u32 r<4>;\n    ld.global.v4.u32 {r0, r1}, [d];\n");
        right kernel!("    .reg .u64 d;\n    .reg .u32 r<4>;\n    ld.global.v4.u32 {r0, r1, r2, r3}, [d];\n");
    VECTOR_ELEMENTS "E0607" "the elements of a vector do not go together"
        "The elements in braces must have one size, and types that go with one another."
        wrong kernel!("    .reg .u64 d;\n    .reg .u32 r;\n    .reg .f32 f;\n    ld.global.v2.b32 {r, f}, [d];\n");
        right kernel!("    .reg .u64 d;\n    .reg .u32 r;\n    .reg .u32 f;\n    ld.global.v2.b32 {r, f}, [d];\n");
    MEMBER "E0608" "there is no such element"
        "Vectors have the elements .x, .y, .z and .w, or .r, .g, .b and .a; those of two only the first two. Single \
         values have none (PTX ISA 6.5)."
        wrong kernel!("    .reg .u32 r;\n    .reg .v2 .u32 v;\n    mov.u32 r, v.z;\n");
        right kernel!("    .reg .u32 r;\n    .reg .v4 .u32 v;\n    mov.u32 r, v.z;\n");
    GUARD "E0610" "a guard is a predicate register"
        "`@p` and `@!p` take a register of type .pred (PTX ISA 9.3)."
        wrong kernel!("    .reg .u32 r;\n    @r mov.u32 r, 1;\n");
        right kernel!("    .reg .u32 r;\n    .reg .pred p;\n    setp.ne.u32 p, r, 0;\n    @p mov.u32 r, 1;\n");
    NEGATION "E0611" "an operand cannot be negated here"
        "`!p` stands for the negation of a predicate where the instruction takes one; there is no negation of other \
         operands."
        wrong kernel!("    .reg .b32 r;\n    and.b32 r, !r, r;\n");
        right kernel!("    .reg .pred p;\n    and.pred p, !p, p;\n");
    SINK "E0612" "the sink cannot stand here"
        "`_` stands for a result that is not wanted, in those instructions whose syntax has it, and for elements of \
         a loaded vector. It is never a source."
        wrong kernel!("    .reg .u32 r;\n    .reg .u64 d;\n    st.global.v2.u32 [d], {r, _};\n");
        right kernel!("    .reg .u32 r;\n    .reg .u64 d;\n    ld.global.v2.u32 {r, _}, [d];\n");
    SPECIAL "E0613" "a special register is read with mov"
        "Special registers are operands of `mov` and of integer `cvt` only (PTX ISA 10)."
        wrong kernel!("    .reg .u32 r;\n    add.u32 r, r, %tid.x;\n");
        right kernel!("    .reg .u32 r, t;\n    mov.u32 t, %tid.x;\n    add.u32 r, r, t;\n");
    READ_ONLY "E0614" "a special register cannot be written"
        "Special registers tell about the machine; they cannot be a destination (PTX ISA 10)."
        wrong kernel!("    mov.u32 %laneid, 1;\n");
        right kernel!("    .reg .u32 r;\n    mov.u32 r, %laneid;\n");
    SPECIAL_UNAVAILABLE "E0615" "the module's version or target does not have a special register"
        "Special registers came with a version of PTX and with an architecture (PTX ISA 10)."
        wrong ".version 7.0\n.target sm_70\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .u32 r;\n    mov.u32 r, %clusterid.x;\n    ret;\n}\n";
        right ".version 7.8\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .u32 r;\n    mov.u32 r, %clusterid.x;\n    ret;\n}\n";
    CALL_COUNT "E0620" "a call passes another number of parameters"
        "A call lists its return parameters, the function and its arguments, each list in parentheses and as long \
         as the function's (PTX ISA 9.7.13)."
        wrong kernel!(".func f(.param .b32 a) { ret; }\n", "    .param .b32 p;\n    call f, (p, p);\n");
        right kernel!(".func f(.param .b32 a) { ret; }\n", "    .param .b32 p;\n    call f, (p);\n");
    CALL_TYPE "E0621" "an argument does not fit its parameter"
        "An argument must have the size of its parameter and a type that goes with its type; an array must have as \
         many bytes (PTX ISA 7.1)."
        wrong kernel!(".func f(.param .b32 a) { ret; }\n", "    .param .b64 p;\n    call f, (p);\n");
        right kernel!(".func f(.param .b32 a) { ret; }\n", "    .param .b32 p;\n    call f, (p);\n");
    CALL_ALIGNMENT "E0622" "an argument is aligned otherwise than its parameter"
        "The bytes of an argument are laid out as the parameter's, so that both must say the same alignment \
         (PTX ISA 7.1)."
        wrong kernel!(".func f(.param .align 8 .b8 a[16]) { ret; }\n", "    .param .align 4 .b8 p[16];\n    call f, (p);\n");
        right kernel!(".func f(.param .align 8 .b8 a[16]) { ret; }\n", "    .param .align 8 .b8 p[16];\n    call f, (p);\n");
    CALL_TARGET "E0623" "what is called is not a function"
        "A call names a `.func`, or a register with the address of one. Kernels cannot be called."
        wrong kernel!(".visible .entry other() { ret; }\n", "    call other;\n");
        right kernel!(".func other() { ret; }\n", "    call other;\n");
    CALL_PROTOTYPE "E0624" "a call through a register needs a prototype"
        "The assembler must know the parameters of what is called: `.callprototype` declares them, or `.calltargets` \
         lists the functions that may be meant. Either stands before the call, after a label that the call names \
         (PTX ISA 11.3)."
        wrong kernel!("    .reg .u64 f;\n    call f;\n");
        right kernel!("    .reg .u64 f;\nP: .callprototype _ ();\n    call f, P;\n");
    CALL_NARROW "E0625" "predicates and small integers are not passed to functions"
        "The calling convention passes values of at least 32 bits, and untyped ones of fewer. The assembler refuses \
         a call that passes a predicate or an integer of 8 or 16 bits (PTX ISA 7.1)."
        wrong kernel!(".func f(.param .u8 a) { ret; }\n", "    .param .u8 p;\n    call f, (p);\n");
        right kernel!(".func f(.param .b8 a) { ret; }\n", "    .param .b8 p;\n    call f, (p);\n");
    SPACE "E0701" "a variable is in another state space than the instruction's"
        "An instruction that names a state space takes the addresses of variables in it. One that names none takes \
         generic addresses, and those of global, shared and local variables (PTX ISA 5.1, 6.4.1)."
        wrong kernel!(".shared .u32 s;\n", "    .reg .u32 r;\n    ld.global.u32 r, [s];\n");
        right kernel!(".shared .u32 s;\n", "    .reg .u32 r;\n    ld.shared.u32 r, [s];\n");
    ADDRESS_TYPE "E0702" "an address is in an integer register"
        "A register in brackets must have an integer or bit type of at most 64 bits (PTX ISA 6.4.1)."
        wrong kernel!("    .reg .f64 d;\n    .reg .u32 r;\n    ld.global.u32 r, [d];\n");
        right kernel!("    .reg .u64 d;\n    .reg .u32 r;\n    ld.global.u32 r, [d];\n");
    NARROW_ADDRESS "E0703" "there are no 32-bit addresses of global memory any more"
        "A 32-bit register as an address of global or generic memory asks for the 32-bit mode, which the assembler \
         no longer has. Shared, local, constant and parameter memory still take 32-bit addresses."
        wrong kernel!("    .reg .u32 d;\n    .reg .u32 r;\n    ld.global.u32 r, [d];\n");
        right kernel!("    .reg .u64 d;\n    .reg .u32 r;\n    ld.global.u32 r, [d];\n");
    IMMEDIATE_ADDRESS "E0704" "only local memory has constant addresses"
        "The assembler takes a number as an address only in local memory."
        wrong kernel!("    .reg .u32 r;\n    ld.shared.u32 r, [16];\n");
        right kernel!("    .reg .u32 r, a;\n    mov.u32 a, 16;\n    ld.shared.u32 r, [a];\n");
    OFFSET "E0705" "an offset is an integer constant"
        "Addresses are a base and an offset in bytes, an integer constant expression (PTX ISA 6.4.1)."
        wrong kernel!(".global .u32 g[4];\n", "    .reg .u32 r;\n    ld.global.u32 r, [g+1.0];\n");
        right kernel!(".global .u32 g[4];\n", "    .reg .u32 r;\n    ld.global.u32 r, [g+4];\n");
    PARAMETER_ACCESS "E0706" "parameters are read, return parameters are written"
        "Input parameters can only be read, return parameters of the function itself only written (PTX ISA 5.1.6)."
        wrong ".version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry k(.param .u32 p)\n{\n    .reg .u32 r;\n    st.param.u32 [p], r;\n    ret;\n}\n";
        right ".version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry k(.param .u32 p)\n{\n    .reg .u32 r;\n    ld.param.u32 r, [p];\n    ret;\n}\n";
    PARAMETER_KIND "E0707" "`::entry` is for kernels' parameters, `::func` for functions'"
        "`.param::entry` means the parameters of a kernel, `.param::func` those of a device function and the \
         `.param` variables of a call (PTX ISA 5.1.6)."
        wrong ".version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry k(.param .u32 p)\n{\n    .reg .u32 r;\n    ld.param::func.u32 r, [p];\n    ret;\n}\n";
        right ".version 9.0\n.target sm_90\n.address_size 64\n\n.visible .entry k(.param .u32 p)\n{\n    .reg .u32 r;\n    ld.param::entry.u32 r, [p];\n    ret;\n}\n";
    ADDRESS_TAKEN "E0708" "a call's parameters have no address"
        "A `.param` variable of a body may live in registers: its address cannot be taken. That of a kernel's or \
         function's own parameter can, and that of a return parameter from PTX 5.1 and sm_30 on (PTX ISA 5.1.6)."
        wrong kernel!("    .reg .u64 d;\n    .param .b32 p;\n    mov.u64 d, p;\n");
        right kernel!("    .reg .u64 d;\n    .local .b32 p;\n    mov.u64 d, p;\n");
    OPAQUE_ACCESS "E0709" "textures, samplers and surfaces are not memory"
        "Variables of opaque type are accessed by texture and surface instructions alone (PTX ISA 5.3)."
        wrong kernel!(".global .texref t;\n", "    .reg .u32 r;\n    ld.global.u32 r, [t];\n");
        right kernel!(".global .texref t;\n", "    .reg .u32 r;\n    txq.width.b32 r, [t];\n");
    OPAQUE_ADDRESS "E0710" "the address of an opaque variable is a .u64"
        "`mov.u64` takes the address of a texture, sampler or surface, from PTX 3.1 and sm_20 on (PTX ISA 5.3)."
        wrong kernel!(".global .texref t;\n", "    .reg .b64 d;\n    mov.b64 d, t;\n");
        right kernel!(".global .texref t;\n", "    .reg .b64 d;\n    mov.u64 d, t;\n");
    HANDLE "E0711" "a texture instruction wants a handle"
        "Texture instructions take a `.texref`, surface instructions a `.surfref`, by name or as its address in a \
         64-bit register (PTX ISA 9.7.10, 9.7.11)."
        wrong kernel!(".global .surfref s;\n", "    .reg .u32 r;\n    txq.width.b32 r, [s];\n");
        right kernel!(".global .surfref s;\n", "    .reg .u32 r;\n    suq.width.b32 r, [s];\n");
    SAMPLER "E0712" "a sampler must be named where textures and samplers are separate"
        "With `texmode_independent` a texture instruction names a texture and a sampler (PTX ISA 5.3)."
        wrong ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n\n.global .texref t;\n.global .samplerref s;\n.visible .entry k()\n{\n    .reg .f32 f<4>;\n    tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f0}];\n    ret;\n}\n";
        right ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n\n.global .texref t;\n.global .samplerref s;\n.visible .entry k()\n{\n    .reg .f32 f<4>;\n    tex.1d.v4.f32.f32 {f0, f1, f2, f3}, [t, s, {f0}];\n    ret;\n}\n";
    NO_ARRAY "E0713" "only arrays have elements"
        "`x[i]` is the address of an element of an array; a single variable or register has none (PTX ISA 6.4.2)."
        wrong kernel!(".global .u32 g;\n", "    .reg .u64 d;\n    mov.u64 d, g[0];\n");
        right kernel!(".global .u32 g[4];\n", "    .reg .u64 d;\n    mov.u64 d, g[0];\n");
    FUNCTION_OFFSET "E0714" "a function's address has no offset"
        "The address of a function is only good for calling it."
        wrong kernel!(".func f() { ret; }\n", "    .reg .u64 d;\n    mov.u64 d, f+4;\n");
        right kernel!(".func f() { ret; }\n", "    .reg .u64 d;\n    mov.u64 d, f;\n");
    UNIFIED "E0715" "`.unified` is for reading variables with that attribute"
        "`[x].unified` says that the variable has the same address in every module; it must be declared with \
         `.attribute(.unified(…))`, and stores do not have it (PTX ISA 5.4.8, 9.7.9.8)."
        wrong kernel!(".global .u32 g;\n", "    .reg .u32 r;\n    ld.global.u32 r, [g].unified;\n");
        right kernel!(".global .u32 g;\n", "    .reg .u32 r;\n    ld.global.u32 r, [g];\n");
    UNRETURNED "E0716" "a call's `.param` is read after the call"
        "A `.param` variable of a body carries arguments and results. The assembler wants a call that returns into \
         it to stand above every `ld.param` of it, in functions that it makes code for (PTX ISA 5.1.6.4)."
        wrong kernel!("    .reg .u32 r;\n    .param .u32 p;\n    ld.param.u32 r, [p];\n");
        right kernel!(".func (.param .u32 o) f() { st.param.u32 [o], 1; ret; }\n", "    .reg .u32 r;\n    .param .u32 p;\n    call (p), f;\n    ld.param.u32 r, [p];\n");

    WRITTEN_TWICE "E0616" "the registers that `tcgen05.ld` writes are distinct"
        "Each element of what `tcgen05.ld` loads, and the reduced value of `.red`, is written to a register of its own \
         (PTX ISA 9.7.16.8)."
        wrong ".version 9.0\n.target sm_100a\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .b32 r<3>;\n    tcgen05.ld.sync.aligned.32x32b.x2.b32 {r1, r1}, [r0];\n    ret;\n}\n";
        right ".version 9.0\n.target sm_100a\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .b32 r<3>;\n    tcgen05.ld.sync.aligned.32x32b.x2.b32 {r1, r2}, [r0];\n    ret;\n}\n";
    CTA_GROUPS "E0717" "a kernel uses tensor memory for one CTA, or for a pair"
        "All `tcgen05` instructions of a kernel and of the functions that it reaches have the same `.cta_group`. \
         Functions whose addresses are taken count as reached by every kernel that has such instructions, or that \
         calls through a pointer. For the linker each function is judged alone (PTX ISA 9.7.16.5)."
        wrong ".version 9.0\n.target sm_100a\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .b32 r;\n    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n    tcgen05.shift.cta_group::2.down [r];\n    ret;\n}\n";
        right ".version 9.0\n.target sm_100a\n.address_size 64\n\n.visible .entry k()\n{\n    .reg .b32 r;\n    tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n    tcgen05.shift.cta_group::2.down [r];\n    ret;\n}\n";

    // What the assembler lets pass and the manual does not.
    {
    DEMOTED "W0502" "E0591" "a target without .f64 computes in .f32"
        "Targets before sm_13 have no `.f64` arithmetic. The manual refuses it there; the assembler makes `.f32` \
         instructions of it (PTX ISA 11.1.2)."
        odd ".version 2.3\n.target sm_12\n.address_size 64\n\n.entry k()\n{\n    .reg .f64 d;\n    add.f64 d, d, d;\n    exit;\n}\n";
        mended ".version 2.3\n.target sm_13\n.address_size 64\n\n.entry k()\n{\n    .reg .f64 d;\n    add.f64 d, d, d;\n    exit;\n}\n";
    ODD_OPERAND "W0602" "E0692" "an operand that the manual does not have"
        "The assembler does not look closely at some operands: it takes one register for the vector that `sust` stores, \
         vectors for the level of detail of `tex`, and opaque variables as addresses of `red`, `cp` and others. The \
         manual has no such forms, and what they would do is not said (PTX ISA 5.3, 9.7.10, 9.7.11)."
        odd kernel!(".global .surfref s;\n", "    .reg .b32 r;\n    sust.b.1d.v2.b8.zero [s, {r}], r;\n");
        mended kernel!(".global .surfref s;\n", "    .reg .b32 r;\n    sust.b.1d.v2.b8.zero [s, {r}], {r, r};\n");
    ENTRY_PARAMETER "W0701" "E0791" "`.param::entry` of a function's parameter"
        "`.param::entry` means the parameters of a kernel. The manual refuses it for those of a function; the \
         assembler does not mind (PTX ISA 5.1.6)."
        odd ".version 9.0\n.target sm_90\n.address_size 64\n\n.func f(.param .u32 p)\n{\n    .reg .u32 r;\n    ld.param::entry.u32 r, [p];\n    ret;\n}\n";
        mended ".version 9.0\n.target sm_90\n.address_size 64\n\n.func f(.param .u32 p)\n{\n    .reg .u32 r;\n    ld.param::func.u32 r, [p];\n    ret;\n}\n";
    OTHER_BANK "W0702" "E0792" "a load names another bank of constant memory than its variable's"
        "The manual wants loads from a bank other than 0 to name it. The assembler does not compare the banks \
         (PTX ISA 5.1.3.1)."
        odd ".version 2.1\n.target sm_20\n\n.const .u32 c = 1;\n.entry k()\n{\n    .reg .u32 r;\n    ld.const[1].u32 r, [c];\n    exit;\n}\n";
        mended ".version 2.1\n.target sm_20\n\n.const .u32 c = 1;\n.entry k()\n{\n    .reg .u32 r;\n    ld.const.u32 r, [c];\n    exit;\n}\n";
    INDEPENDENT_POINTER "W0703" "E0793" "a pointer to a texture, where textures and samplers are separate"
        "The manual has pointers to textures in the unified mode only; the assembler takes the address in either \
         (PTX ISA 5.3)."
        odd ".version 9.0\n.target sm_90, texmode_independent\n.address_size 64\n\n.global .texref t;\n.entry k()\n{\n    .reg .u64 d;\n    mov.u64 d, t;\n    ret;\n}\n";
        mended kernel!(".global .texref t;\n", "    .reg .u64 d;\n    mov.u64 d, t;\n");
    UNIFIED_ACCESS "W0704" "E0794" "a `.unified` variable is only read, by loads that say so"
        "The manual lets variables with the attribute `.unified` be read only, and their loads end in `.unified`. \
         The assembler asks for neither (PTX ISA 5.4.8)."
        odd kernel!(".global .attribute(.unified(1, 2)) .u32 x;\n", "    .reg .u32 r;\n    ld.global.u32 r, [x];\n");
        mended kernel!(".global .u32 x;\n", "    .reg .u32 r;\n    ld.global.u32 r, [x];\n");
    }
}
