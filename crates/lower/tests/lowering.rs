//! What small modules are lowered to.

mod lowered;

use lowered::{HEAD, access, immediate, inst, kernel, lower, lower_below, program, simple, words};
use softwarp_image::{FunctionId, Unit};
use softwarp_ir::{
    BarrierOp, Callee, Element, Guard, Immediate, Location, Memory, Op, Provided, Slot, Slots, Special, Step,
    WarpOpKind,
};
use softwarp_lower::{Fidelity, Lowering};
use softwarp_syntax::Lines;
use softwarp_units::alu::simple::{Extension, Simple};
use softwarp_units::alu::video::{Part, Selectors};

#[test]
fn a_kernel_becomes_an_operation_for_each_instruction() {
    let code = kernel(
        "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; @%p1 bra DONE;\n\
         add.u32 %r2, %r1, 7; st.global.u32 [%rd1+8], %r2; DONE: ret;",
    );
    assert_eq!(words(&code), ["ld Kernel", "Tid(0)", "alu", "bra? 6", "alu", "st Global", "Return"]);
    assert_eq!(
        (code.narrow, code.wide, code.predicates),
        (3, 2, 2),
        "a constant, what the launch gives, and one more"
    );
    assert_eq!(code.narrow_constants, [(0, 7)]);
    let add = inst(&code.ops[4]);
    assert_eq!(
        (add.s.get(1), add.s.get(2)),
        (Some(Slot::narrow(0)), None),
        "the constant is the row of setp's"
    );
    assert_eq!(add.s.get(0), Some(Slot::narrow(1)), "%tid.x is given");
    assert_eq!(add.d, Slots::of(&[Slot::narrow(2)]), "%r2 has the row of %r1, which is not read any more");
    let store = access(&code.ops[5]);
    assert_eq!((store.address.offset, store.address.is_wide(), store.bytes), (8, true, 4));
    assert_eq!(store.registers, [Element::new(Slot::narrow(2), 32)]);
    assert_eq!(store.address.base, Some(Slot::wide(0)), "the parameter is given, too");
}

#[test]
fn readers_of_a_copy_read_its_source_until_one_of_both_is_written() {
    let code = kernel(
        "add.u32 %r1, %r5, %r6; mov.u32 %r2, %r1; add.u32 %r3, %r2, %r2; add.u32 %r1, %r3, %r3;\n\
         add.u32 %r4, %r2, %r1; st.shared.u32 [%r4], %r4;",
    );
    assert_eq!(words(&code)[..6], ["alu", "alu", "alu", "alu", "alu", "st Shared"], "the copy is still told");
    let (made, copy) = (inst(&code.ops[0]).d.get(0), inst(&code.ops[1]));
    assert_eq!(copy.s.get(0), made);
    assert_eq!(inst(&code.ops[2]).s.iter().map(Some).collect::<Vec<_>>(), [made; 2]);
    assert_eq!(inst(&code.ops[4]).s.get(0), copy.d.get(0), "by then %r1 is another value");
    // Behind a label, lanes may come from elsewhere.
    let code = kernel(
        "add.u32 %r1, %r5, %r6; mov.u32 %r2, %r1; L: add.u32 %r3, %r2, %r2; @%p1 bra L; @%p2 mov.u32 %r2, 7;",
    );
    assert_eq!(inst(&code.ops[2]).s.get(0), inst(&code.ops[1]).d.get(0));
}

#[test]
fn the_end_of_the_text_returns() {
    assert_eq!(words(&kernel("mov.u32 %r1, 1;")), ["alu", "Return"]);
    assert_eq!(words(&kernel("bra E; exit; E:")), ["bra 2", "Exit", "Return"]);
    assert_eq!(words(&kernel("@%p1 ret;")), ["Return", "Return"]);
    assert_eq!(words(&kernel("L: bra L;")), ["bra 0"]);
}

#[test]
fn everything_that_is_not_executed_is_named_with_its_line() {
    let text = ".entry k()\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n\
        ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r1}, [%r2];\nadd.u32 %r1, %r2, %r3;\n\
        ldmatrix.sync.aligned.m8n16.x2.s8.s4 {%r1, %r2}, [%rd2];\nret;\n}\n";
    // No document says how such rows lie.
    let head = ".version 9.4\n.target sm_100a\n.address_size 64\n";
    let (program, _, source) = lower_below(head, text);
    let lines = Lines::new(&source);
    let refused = program.expect_err("refused");
    let said: Vec<(u32, &str)> = refused.iter().map(|one| (lines.line(one.span.start), &*one.what)).collect();
    let wanted = [
        (7, "`ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4` is not executed"),
        (9, "`ldmatrix.sync.aligned.m8n16.x2.s8.s4` is not executed"),
    ];
    assert_eq!(said, wanted);
}

/// Forms that the assembler takes, and of which nobody says what they do.
#[test]
fn forms_without_a_meaning_are_refused_with_the_reason() {
    let registers = ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;";
    let copy = "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group.override::global_address";
    for (instruction, reason) in [
        ("ld.global.v2.u32 {%tid.x, %r1}, [%rd1];".to_owned(), "into a special register"),
        ("suld.b.1d.b32.trap {%r1, %r2}, [%rd1, {%r3}];".to_owned(), "with a vector, but without `.v2`"),
        ("sust.b.1d.b16.trap [%rd1, {%r3}], {%h1, %h2};".to_owned(), "with a vector, but without `.v2`"),
        (format!("{copy} [%rd1, %rd2, {{%r1}}], [%r2];"), "that override the tensor map's"),
    ] {
        let text = format!(".entry k()\n{{\n{registers}\n{instruction}\nret;\n}}\n");
        let head = ".version 9.4\n.target sm_107f\n.address_size 64\n";
        let (program, ..) = lower_below(head, &text);
        let refused = program.expect_err(&instruction);
        assert!(refused.iter().all(|one| one.what.contains(reason)), "{instruction}: {refused:?}");
    }
}

#[test]
fn only_what_the_kernel_reaches_is_lowered_and_refused() {
    let text = ".func other() { cp.async.commit_group; ret; }\n.func used() { ret; }\n\
        .entry k() { call used; ret; }\n";
    let program = program(text);
    assert_eq!(program.functions.len(), 2);
    assert_eq!(program.of_function, [None, Some(1), Some(0)]);
    assert_eq!(words(&program.functions[0]), ["call Direct(1)", "Return"]);
}

#[test]
fn a_call_finds_its_function_in_another_module() {
    let sources = [
        ".extern .func (.param .b32 o) f(.param .b32 x);\n.extern .global .u32 g;\n.entry k()\n{\n.reg .b32 %r<3>;\n\
         call (%r1), f, (%r2); st.global.u32 [g], %r1; ret;\n}\n",
        ".visible .global .u32 before; .visible .global .u32 g;\n\
         .visible .func (.param .b32 o) f(.param .b32 x) { st.param.b32 [o], 1; ret; }\n",
    ]
    .map(|text| format!("{HEAD}{text}"));
    let options = softwarp_check::Options { relocatable: true, ..Default::default() };
    let modules = sources.each_ref().map(|source| softwarp_syntax::parse(source).module);
    let meanings: Vec<_> = modules
        .iter()
        .zip(&sources)
        .map(|(module, source)| softwarp_check::resolve_references(module, source, options))
        .collect();
    let units: Vec<Unit<'_>> =
        modules.iter().zip(&meanings).map(|(module, (checked, ..))| Unit { module, checked }).collect();
    let image = softwarp_image::lay_out(&units, softwarp_image::Options::default()).expect("linked");
    let lowerings: Vec<Lowering<'_>> = modules
        .iter()
        .zip(&sources)
        .zip(&meanings)
        .map(|((module, source), (checked, references, _))| Lowering { module, source, checked, references })
        .collect();
    let kernel = image.functions.iter().position(|function| function.entry).expect("a kernel");
    let program = softwarp_lower::lower(&lowerings, &image, FunctionId(kernel as u32), Fidelity::PTXAS)
        .expect("lowered");
    assert_eq!(words(&program.functions[0])[..2], ["st Function", "call Direct(1)"]);
    assert_eq!(words(&program.functions[1]), ["st Function", "Return"]);
    let store = access(&program.functions[0].ops[3]).address;
    assert_eq!(store.offset as u64, softwarp_image::Windows::WIDE.globals.base + 4);
}

#[test]
fn values_that_do_not_live_together_share_rows() {
    let chain: String = (2..90).map(|n| format!("add.u32 %r{n}, %r{}, 1;\n", n - 1)).collect();
    let code = kernel(&format!("mov.u32 %r1, 0;\n{chain}st.shared.u32 [%r1], %r89;"));
    assert_eq!(code.narrow, 2 + 1, "two constants, one of them the address, and the value at hand");
}

#[test]
fn guards_stand_on_every_operation_that_has_an_effect() {
    let code =
        kernel("setp.eq.u32 %p1, %r1, 0;\n@!%p1 mov.b64 {%r2, %r3}, %rd1;\n@%p1 st.shared.u32 [%r2], %r3;");
    assert_eq!(words(&code), ["alu", "alu", "alu", "st Shared", "Return"]);
    let p = inst(&code.ops[0]).d.get(0).expect("a predicate");
    assert_eq!(inst(&code.ops[1]).guard, Guard::new(p, true));
    assert_eq!(inst(&code.ops[2]).guard, Guard::new(p, true));
    assert!(matches!(code.ops[3], Op::Other(guard, _) if guard == Guard::new(p, false)));
}

#[test]
fn pairs_sinks_and_negated_predicates() {
    let code = kernel(
        "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;\nsetp.lt.s32 %p4|_, %r1, %r2;\n\
            @%p1 bra E; @%p2 bra E; E: @%p4 exit;",
    );
    assert_eq!(words(&code)[..3], ["alu", "alu", "alu"], "the negation comes first");
    let (not, first, second) = (inst(&code.ops[0]), inst(&code.ops[1]), inst(&code.ops[2]));
    assert_eq!(first.s.get(2), not.d.get(0));
    assert!(first.d.get(0) != first.d.get(1) && first.d.get(1).is_some());
    assert_eq!(second.d.get(1), None);
}

#[test]
fn values_are_packed_at_once_and_unpacked_piece_by_piece() {
    let code = kernel(
        "mov.b64 %rd1, {%r1, %r2};\nmov.b64 {%r3, _}, %rd1;\nmov.b32 {%h1, %h2}, %r3;\n\
         mov.b64 %rd2, {%h1, %h2, %h1, %h2};\nmov.b128 %q1, {%rd1, %rd2};\nmov.b128 {%rd3, %rd4}, %q1;",
    );
    let lines: Vec<usize> = [1, 1, 2, 1, 2, 2].to_vec();
    assert_eq!(code.ops.len(), lines.iter().sum::<usize>() + 1);
    assert_eq!(simple(&code.ops[0]), Simple::Pack64(32));
    let four = inst(&code.ops[4]);
    assert_eq!(simple(&code.ops[4]), Simple::Pack64(16));
    assert_eq!(four.s.count(), 4);
    let (low, high) = (inst(&code.ops[7]), inst(&code.ops[8]));
    assert_eq!(
        low.s.get(0).map(Slot::next),
        high.s.get(0),
        "the halves of a register of 128 bits follow one another"
    );
}

#[test]
fn a_vector_register_is_packed_and_unpacked_like_its_elements() {
    let code = kernel(
        ".reg .v2 .b32 v; .reg .v2 .b32 w;\nmov.b64 %rd1, v;\nmov.b64 w, %rd1;\n\
            mov.v2.b32 v, w;\nst.global.v2.b32 [%rd2], v;",
    );
    assert_eq!(words(&code), ["alu", "alu", "alu", "alu", "alu", "st Global", "Return"]);
    let pack = inst(&code.ops[0]);
    assert_eq!(simple(&code.ops[0]), Simple::Pack64(32));
    assert_eq!((pack.s.get(0) == pack.s.get(1), pack.s.get(2)), (false, None));
    let swapped = kernel("mov.v2.u32 {%r1, %r2}, {%r2, %r1};\nst.shared.v2.b32 [%r3], {%r1, %r2};");
    assert_eq!(words(&swapped).len(), 4 + 2, "both are read before one is written");
}

#[test]
fn constants_are_chopped_or_rounded_as_the_assembler_does() {
    let code = kernel(
        "add.u16 %h1, %h2, -1;\nadd.s32 %r1, %r2, 0xfffffffff;\nadd.f32 %f1, %f2, 0.1;\nadd.f32 %f1, %f1, 0f3f800000;\n\
         add.f64 %d1, %d2, 0f3f800000;\nadd.s64 %rd1, %rd2, -2;\nshl.b64 %rd1, %rd1, (1<<4)|WARP_SZ;",
    );
    let narrow: Vec<u32> = code.narrow_constants.iter().map(|&(_, value)| value).collect();
    let wide: Vec<u64> = code.wide_constants.iter().map(|&(_, value)| value).collect();
    assert_eq!(narrow, [0xffff, 0xffff_ffff, 0.1f32.to_bits(), 0x3f80_0000, 48]);
    assert_eq!(wide, [0x3f80_0000, -2i64 as u64]);
}

#[test]
fn special_registers_go_straight_to_their_destination_or_to_a_row_of_their_own() {
    let code = kernel(
        "mov.u32 %r1, %ctaid.y;\ncvt.u64.u32 %rd1, %laneid;\nmov.u16 %h1, %tid.z;\nmov.u64 %rd2, %clock64;",
    );
    let wanted = ["Ctaid(1)", "LaneId", "alu", "Tid(2)", "alu", "alu", "Clock64", "Return"];
    assert_eq!(words(&code), wanted);
    let code = kernel("mov.u32 %r1, %envreg17;\nmov.b32 %r2, %reserved_smem_offset_1;");
    assert_eq!(words(&code), ["EnvReg(17)", "ReservedSmem(4)", "Return"]);
    assert_eq!(Special::EnvReg(17), Special::EnvReg(17));
}

#[test]
fn vector_registers_are_a_row_for_each_element() {
    let code = kernel(
        ".reg .v4 .b32 v; .reg .v2 .f32 w;\nld.global.v4.b32 v, [%rd1];\nmov.b32 %r1, v.w;\n\
         st.global.v2.f32 [%rd1], w;\nmov.v4.u32 v, %tid;\nst.global.v4.b32 [%rd1], v;",
    );
    let load = access(&code.ops[0]);
    assert_eq!(load.registers.iter().map(|one| one.bits).collect::<Vec<_>>(), [32; 4]);
    assert_eq!(inst(&code.ops[1]).s.get(0), load.registers[3].slot);
    assert_eq!(words(&code).iter().filter(|word| word.starts_with("Tid")).count(), 4);
}

#[test]
fn accesses_know_their_memory_and_widths() {
    let code = kernel(
        ".shared .align 4 .b8 s[64]; .local .align 8 .b8 l[16];\n\
         ld.shared.s8 %r1, [s+3];\nst.local.u16 [l+2], %r1;\nld.volatile.global.v2.u8 {%h1, _}, [%rd1+-4];\n\
         ld.u32 %r2, [s];\nld.b128 %q1, [%rd1];\nst.shared.b32 [%r2], 5;\nld.global.nc.L1::no_allocate.f64 %d1, [%rd1];",
    );
    let at = |n: usize| access(&code.ops[n]);
    let placed = |n: usize| (at(n).address.memory, at(n).address.offset, at(n).bytes, at(n).signed);
    assert_eq!(placed(0), (Memory::Shared, 1024 + 3, 1, true));
    assert_eq!(placed(1), (Memory::Frame, 2, 2, false));
    assert_eq!(placed(2), (Memory::Global, -4, 1, false));
    assert_eq!(
        placed(3),
        (Memory::Shared, 1024, 4, false),
        "the variable's own memory, though the form is generic"
    );
    assert_eq!((at(4).bytes, at(4).registers[0].bits), (16, 128));
    assert_eq!((at(5).address.is_wide(), at(5).registers[0].bits), (false, 32));
    assert_eq!(at(2).registers[1].slot, None);
    assert!(at(2).order.is_strong() && !at(0).order.is_strong() && !at(6).order.is_strong());
    assert_eq!(code.local_bytes, 16);
}

#[test]
fn addresses_are_constants_unless_they_are_of_a_frame() {
    let (result, image, _) = lower(
        ".global .u32 g[4];\n.extern .shared .b8 dynamic[];\n.entry k(.param .u64 a)\n{\n.reg .b64 %rd<9>; .reg .b32 %r<9>;\n\
         .shared .b8 s[40]; .local .b32 l;\n\
         mov.u64 %rd1, g+8; mov.u64 %rd2, l; cvta.local.u64 %rd3, l; mov.u32 %r1, dynamic; st.shared.u32 [s], %r1; ret;\n}\n",
    );
    let code = result.expect("lowered").functions.remove(0);
    assert_eq!(words(&code), ["alu", "frame 0", "alu", "frame 0", "alu", "alu", "st Shared", "Return"]);
    let windows = softwarp_image::Windows::WIDE;
    let wide: Vec<u64> = code.wide_constants.iter().map(|&(_, value)| value).collect();
    assert_eq!(wide, [windows.globals.base + 8, windows.local.base]);
    let dynamic = image.kernels().next().and_then(|kernel| kernel.dynamic_shared).expect("dynamic");
    assert!(dynamic >= 40);
    assert_eq!(code.narrow_constants, [(0, 1024 + dynamic as u32)]);
}

#[test]
fn space_conversions_are_arithmetic() {
    let code = kernel(
        "cvta.to.global.u64 %rd1, %rd1;\ncvta.shared.u64 %rd2, %rd1;\n\
            cvta.to.shared.u64 %rd3, %rd2;\nisspacep.shared %p1, %rd2;\n\
            isspacep.global %p2, %rd2;",
    );
    assert_eq!(code.ops.len(), 1 + 1 + 1 + 1 + 3 + 1);
    let windows = softwarp_image::Windows::WIDE;
    assert!(code.wide_constants.iter().any(|&(_, value)| value == windows.shared.base));
}

#[test]
fn narrow_results_are_extended_to_wider_registers() {
    let code =
        kernel("cvt.s8.s32 %r1, %r2;\ncvt.u8.u32 %r3, %r1;\ncvt.s16.s32 %r4, %r2;\ncvt.u32.u16 %r5, %h1;");
    assert_eq!(words(&code), ["alu", "alu", "alu", "alu", "alu", "alu", "Return"]);
    let (narrow, extended) = (inst(&code.ops[0]), inst(&code.ops[1]));
    assert_eq!(extended.s.get(0), narrow.d.get(0));
    assert_eq!(simple(&code.ops[1]), Simple::Sign32(Extension { from: 8, to: 32 }));
    let code = kernel(
        "cvt.u32.u16 %q1, %h1;\ncvt.s32.s16 %q2, %h1;\nst.global.b128 [%rd1], %q1;\nst.global.b128 [%rd1], %q2;",
    );
    assert_eq!(words(&code).iter().filter(|word| *word == "alu").count(), 3 + 5, "both halves are written");
}

#[test]
fn branches_through_a_table_find_labels_in_their_scope() {
    let code = kernel(
        "{ T: .branchtargets A, B, C;\nbrx.idx %r1, T;\nA: mov.u32 %r2, 1;\n\
            { B: exit; }\nB: mov.u32 %r3, 1; }\nC: ret;",
    );
    assert_eq!(words(&code), ["switch [1, 3, 4]", "alu", "Exit", "alu", "Return"]);
}

#[test]
fn arguments_travel_through_parameter_memory() {
    let program = program(
        ".func (.param .b64 out) f(.param .b32 x, .param .align 32 .b8 y[20])\n{\n.reg .b32 %r<3>; .reg .b64 %rd<3>;\n\
         ld.param.b32 %r1, [x]; ld.param.b32 %r2, [y+4]; st.param.b64 [out], 7; ret;\n}\n\
         .entry k()\n{\n.reg .b32 %r<3>; .reg .b64 %rd<3>;\n\
         { .param .b32 p0; .param .align 32 .b8 p1[20]; .param .b64 r;\n\
         st.param.b32 [p0], 1; st.param.b32 [p1+4], 2; call (r), f, (p0, p1); ld.param.b64 %rd1, [r]; } ret;\n}\n",
    );
    let callee = &program.functions[1];
    assert_eq!(words(callee), ["ld Function", "ld Function", "st Function", "Return"]);
    let offsets: Vec<i64> = callee.ops[..3].iter().map(|op| access(op).address.offset).collect();
    assert_eq!(offsets, [0, 32 + 4, 64]);
    let Op::Other(_, step) = &program.functions[0].ops[2] else { panic!("a call") };
    let Step::Call(call) = &**step else { panic!("{step:?}") };
    let p0 = access(&program.functions[0].ops[0]).address.offset as u64;
    let p1 = access(&program.functions[0].ops[1]).address.offset as u64 - 4;
    let r = access(&program.functions[0].ops[3]).address.offset as u64;
    assert_eq!(call.inputs, [(p0, 0, 4), (p1, 32, 20)]);
    assert_eq!(call.outputs, [(64, r, 8)]);
    assert!(program.functions[0].parameter_bytes >= r + 8);
}

#[test]
fn registers_and_constants_as_arguments_are_stored_first() {
    let program = program(
        ".func (.reg .b32 out) f(.reg .b32 x, .reg .b64 y)\n{\nadd.u32 out, x, 1; ret;\n}\n\
         .entry k()\n{\n.reg .b32 %r<3>;\ncall (%r1), f, (%r2, 9); ret;\n}\n",
    );
    assert_eq!(
        words(&program.functions[0]),
        ["st Function", "st Function", "call Direct(1)", "ld Function", "Return"]
    );
    assert_eq!(words(&program.functions[1]), ["ld Function", "ld Function", "alu", "st Function", "Return"]);
    assert_eq!(access(&program.functions[1].ops[3]).address.offset, 32);
}

#[test]
fn a_parameter_whose_address_is_taken_is_copied_to_the_frame() {
    let program = program(
        ".func f(.param .align 8 .b8 y[12])\n{\n.reg .b32 %r<3>; .reg .b64 %rd<3>;\nmov.b64 %rd1, y; ld.local.b32 %r1, [%rd1+4]; ret;\n}\n\
         .entry k()\n{\n{ .param .align 8 .b8 p[12]; st.param.b32 [p], 1; call f, (p); } ret;\n}\n",
    );
    let wanted =
        ["ld Function", "st Frame", "ld Function", "st Frame", "frame 0", "alu", "ld Local", "Return"];
    assert_eq!(words(&program.functions[1]), wanted);
    assert_eq!(program.functions[1].local_bytes, 12);
}

#[test]
fn a_call_through_a_register_reaches_what_has_its_address_taken() {
    let program = program(
        ".func (.param .b32 o) f(.param .b32 x) { ret; }\n.func (.param .b32 o) g(.param .b32 x) { ret; }\n\
         .func (.param .b32 o) h(.param .b32 x) { ret; }\n.global .u64 table[2] = {f, g};\n\
         .entry k()\n{\n.reg .b64 %rd<3>; .reg .b32 %r<3>;\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
         ld.global.u64 %rd1, [table]; call (%r1), %rd1, (%r2), P; ret;\n}\n",
    );
    assert_eq!(program.functions.len(), 3);
    assert_eq!(program.of_function[2], None);
    let call = program.functions[0].ops.iter().find_map(|op| match op {
        Op::Other(_, step) => match &**step {
            Step::Call(call) => Some(call),
            _ => None,
        },
        _ => None,
    });
    let call = call.expect("a call");
    assert!(matches!(call.callee, Callee::Indirect(slot) if slot.is_wide()));
    assert_eq!((call.inputs[0].1, call.outputs[0].0), (0, 16));
}

#[test]
fn functions_of_the_machine_are_called_by_name() {
    let program = program(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.entry k()\n{\n.reg .b64 %rd<3>; .reg .b32 %r<3>;\n\
         { .param .b64 p0; .param .b64 p1; .param .b32 r; st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd2;\n\
         call (r), vprintf, (p0, p1); ld.param.b32 %r1, [r]; } ret;\n}\n",
    );
    let Op::Other(_, step) = &program.functions[0].ops[2] else { panic!("a call") };
    let Step::Call(call) = &**step else { panic!("{step:?}") };
    assert_eq!(call.callee, Callee::Provided(Provided::Vprintf));
    assert_eq!(call.inputs.iter().map(|input| input.1).collect::<Vec<_>>(), [0, 16]);
    assert_eq!(call.outputs[0].0, 32);
}

#[test]
fn barriers_and_lane_operations() {
    let code = kernel(
        "bar.sync 0;\nbarrier.sync 1, 64;\nbar.red.and.pred %p1, 0, !%p2;\nshfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;\n\
         vote.sync.ballot.b32 %r3, !%p1, -1;\nvote.sync.any.pred %p2, %p1, -1;\nredux.sync.min.s32 %r1, %r2, -1;\n\
         match.all.sync.b64 %r1|_, %rd1, -1;\nactivemask.b32 %r4;\nbar.warp.sync -1;\nelect.sync _|%p1, -1;",
    );
    let wanted = [
        "Sync",
        "Sync",
        "And",
        "ShflBfly",
        "VoteBallot",
        "VoteAny",
        "ReduxMinS32",
        "MatchAll64",
        "ActiveMask",
        "Sync",
        "Elect",
        "Return",
    ];
    assert_eq!(words(&code), wanted);
    let step = |n: usize| match &code.ops[n] {
        Op::Other(_, step) => (**step).clone(),
        other => panic!("{other:?}"),
    };
    let Step::Barrier(barrier) = step(1) else { panic!("a barrier") };
    assert!(!barrier.aligned && barrier.count.is_some() && barrier.op == BarrierOp::Sync);
    let Step::Barrier(barrier) = step(2) else { panic!("a barrier") };
    assert!(barrier.aligned && barrier.predicate.is_negated() && barrier.count.is_none());
    let Step::Warp(vote) = step(4) else { panic!("a vote") };
    assert!(vote.negated && vote.d.is_some() && vote.p.is_none() && vote.op == WarpOpKind::VoteBallot);
    let Step::Warp(vote) = step(5) else { panic!("a vote") };
    assert!(vote.d.is_none() && vote.p.is_some());
}

#[test]
fn atomic_operations() {
    let code = kernel(
        "atom.global.add.u32 %r1, [%rd1], 1;\natom.shared.cas.b64 %rd2, [%r1], %rd3, 0;\n\
            red.global.add.f32 [%rd1], %f1;\natom.global.exch.b32 _, [%rd1], %r2;",
    );
    assert_eq!(
        words(&code),
        ["atomic Add .u32", "atomic Cas .b64", "atomic Add .f32", "atomic Exch .b32", "Return"]
    );
    let destinations = |n: usize| match &code.ops[n] {
        Op::Other(_, step) => match &**step {
            Step::Atomic(atomic) => (atomic.d.len(), atomic.b.len(), atomic.c.is_some()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!([0, 1, 2, 3].map(destinations), [(1, 1, false), (1, 1, true), (0, 1, false), (0, 1, false)]);
}

#[test]
fn hints_are_no_operations() {
    let code = kernel(
        "prefetch.global.L2 [%rd1];\ngriddepcontrol.wait;\npmevent 3;\nmembar.gl;\n\
            nanosleep.u32 20;\ncreatepolicy.fractional.L2::evict_first.b64 %rd1, 1.0;",
    );
    assert_eq!(
        words(&code),
        ["Fence(Fence { order: acq_rel.gpu, mbarrier_init: false })", "Yield", "alu", "Return"]
    );
}

#[test]
fn parts_of_registers_and_tables_are_immediates() {
    let code = kernel(
        "vadd.s32.u32.s32.sat %r1, %r2.b1, %r3.h1;\n\
            vmad.s32.s32.u32 %r1, %r2, -%r3, %r4;\nlop3.b32 %r1, %r2, %r3, %r4, 0xe8;",
    );
    let parts = [Part::All, Part::Byte(1), Part::Half(1)];
    assert_eq!(immediate(&code.ops[0]), Immediate::Video(Selectors { parts, negated: [false; 3] }));
    let negated = Selectors { negated: [false, true, false], ..Selectors::default() };
    assert_eq!(immediate(&code.ops[1]), Immediate::Video(negated));
    assert_eq!(immediate(&code.ops[2]), Immediate::Lut(0xe8));
    assert_eq!(inst(&code.ops[2]).s.get(3), None);
    let code =
        kernel("vadd4.u32.u32.u32 %r1.b10, %r2, %r3.b7531, %r4;\nvadd2.u32.u32.u32 %r1, %r2, %r3, %r4;");
    assert_eq!(code.narrow_constants, [(0, 0b11 | 0o3210 << 4 | 0o7531 << 16)]);
    assert_eq!((inst(&code.ops[0]).s.get(3), inst(&code.ops[1]).s.get(3)), (Some(Slot::narrow(0)), None));
}

#[test]
fn operations_know_the_line_they_were_made_from() {
    let source = ".file 1 \"x.cu\"\n.entry k()\n{\n.reg .b32 %r<3>;\n.loc 1 10 3\nmov.u32 %r1, 1;\nmov.u32 %r2, 1;\n\
        .loc 1 11 5\n.loc 1 12 7\nadd.u32 %r1, %r1, %r2;\nret;\n}\n";
    let program = program(source);
    let code = &program.functions[0];
    let lines: Vec<Option<(u32, u32)>> =
        (0..4).map(|op| code.location(op).map(|at: Location| (at.line, at.column))).collect();
    assert_eq!(lines, [Some((10, 3)), Some((10, 3)), Some((12, 7)), Some((12, 7))]);
    assert_eq!(code.spans.len(), code.ops.len());
}

#[test]
fn uninitialised_registers_have_rows_that_nothing_else_wrote() {
    // %r2 is read where only one of two paths has written it.
    let code = kernel(
        "mov.u32 %r1, 5;\nst.shared.u32 [%r9], %r1;\n@%p1 bra E;\nmov.u32 %r2, 6;\nE: st.shared.u32 [%r9], %r2;",
    );
    let (first, second) = (access(&code.ops[1]).registers[0].slot, access(&code.ops[4]).registers[0].slot);
    assert_ne!(first, second);
}
