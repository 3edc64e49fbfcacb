//! The worked examples of the manual's sections 5.1 and 5.4, with the results that it states, and its rules about
//! sizes, alignment and initial values. `docs/spec-coverage.md` says which test answers for which requirement.
//!
//! Where the assembler reads the manual otherwise, both results are here: the manual's under `strict`.

use crate::support;
use crate::support::{bytes, headed, id, lay, lay_as, lay_with, object};
use softwarp_check::Options;
use softwarp_image::image::BANK_BYTES;
use softwarp_image::{Image, Kind, Relocation, Target, Windows};
use softwarp_isa::StateSpace;

const WINDOWS: &Windows = &Windows::WIDE;

/// Elements of four bytes.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    words(bytes).into_iter().map(f32::from_bits).collect()
}

/// What a variable holds with all addresses in place.
fn initial(image: &Image, name: &str) -> Vec<u8> {
    let contents = image.initial(WINDOWS, id(image, name)).expect("an initialiser");
    let mut bytes = vec![0; contents.size as usize];
    contents.read(0, &mut bytes);
    bytes
}

fn address(image: &Image, name: &str) -> u64 {
    image.address(WINDOWS, id(image, name), None).expect("an address")
}

/// The relocations of a variable: where, of what, added, how meant, which byte.
fn relocations(image: &Image, name: &str) -> Vec<(u64, String, i64, Kind, Option<u8>)> {
    let target = |relocation: &Relocation| match relocation.target {
        Target::Object(id, _) => image.object(id).name.to_string(),
        Target::Function(id) => image.function(id).name.to_string(),
    };
    let row = |found: &Relocation| (found.offset, target(found), found.addend, found.kind, found.byte);
    object(image, name).relocations.iter().map(row).collect()
}

#[test]
fn variables_without_an_initialiser_are_zero() {
    let image = lay(".global .u32 g[3];\n.const .v2 .f32 c;\n.global .u8 half[4] = {7};");
    for name in ["g", "c"] {
        assert_eq!(object(&image, name).contents, None, "nothing given: all zero");
        assert!(bytes(object(&image, name)).iter().all(|&byte| byte == 0));
    }
    assert_eq!(initial(&image, "half"), [7, 0, 0, 0], "and so is what an initialiser leaves out");
}

#[test]
fn registers_may_carry_alignment_and_have_no_address() {
    let image = lay(".visible .entry k()\n{\n.reg .align 8 .b32 r;\n.reg .v4 .f32 v;\nret;\n}");
    assert_eq!((object(&image, "r").alignment, object(&image, "r").offset), (8, None));
    assert_eq!((object(&image, "v").alignment, object(&image, "v").size), (16, 16));
    assert_eq!(image.address(WINDOWS, id(&image, "r"), None), None);
}

#[test]
fn constants_of_65536_bytes_fit_and_one_more_does_not() {
    let image = lay(".const .b8 a[65535];\n.const .b8 b;");
    assert_eq!(image.constant[0].bytes, BANK_BYTES);
    let source = headed("9.0", "sm_90", ".const .b8 a[65535];\n.const .b8 b[2];");
    let read = support::read(&source, Options::default());
    assert!(!read.errors.is_empty(), "the checker says so, as the assembler does");
}

#[test]
fn an_incomplete_array_points_to_the_start_of_its_bank_and_aliases_the_others_there() {
    let image = lay_as(
        "1.5",
        "sm_13",
        ".const .u32 own = 1;\n.extern .const[2] .b32 const_buffer[];\n.extern .const[2] .u8 same[];\n\
         .extern .const[10] .b32 last[];\n.const .u32 more;",
    );
    assert_eq!(address(&image, "const_buffer"), 2 * BANK_BYTES);
    assert_eq!(address(&image, "same"), 2 * BANK_BYTES);
    assert_eq!(address(&image, "last"), 10 * BANK_BYTES);
    assert_eq!((address(&image, "own"), address(&image, "more")), (0, 4), "without a number, bank zero");
    let end = WINDOWS.generic(StateSpace::Const, address(&image, "last") + BANK_BYTES - 1);
    assert!(WINDOWS.is_in(StateSpace::Const, end), "all 64 KiB of the last bank have addresses");
}

#[test]
fn local_variables_are_on_the_stack_of_each_call() {
    let image = lay(
        ".func f()\n{\n.local .u32 a[4];\nret;\n}\n.visible .entry k()\n{\n.local .u64 b;\ncall f, ();\nret;\n}",
    );
    let (f, k) = (&image.functions[0], &image.functions[1]);
    assert_eq!((f.frame.bytes, k.frame.bytes), (16, 8));
    assert_eq!(k.stack, 8 + 16, "a call has its own frame below the caller's");
    assert_eq!((object(&image, "a").offset, object(&image, "b").offset), (Some(0), Some(0)));
    assert_eq!(image.address(WINDOWS, id(&image, "a"), None), None, "no address before it is called");
}

#[test]
fn what_a_pointer_parameter_points_to_is_aligned_to_4_by_default() {
    let image = lay(".visible .entry foo(.param .u32 param1, .param .u32 .ptr.global.align 16 param2,\n\
         .param .u32 .ptr.const.align 8 param3, .param .u32 .ptr.align 16 param4, .param .u64 .ptr param5) { ret; }");
    let pointed = |name| object(&image, name).pointed_alignment();
    assert_eq!(pointed("param1"), None, "no pointer");
    assert_eq!([pointed("param2"), pointed("param3"), pointed("param4")], [Some(16), Some(8), Some(16)]);
    assert_eq!(pointed("param5"), Some(4));
    assert_eq!(
        object(&image, "param5").pointer.unwrap().alignment,
        0,
        "the assembler records that nothing was said"
    );
}

#[test]
fn kernel_parameters_lie_one_after_another_at_multiples_of_their_alignment() {
    let image = lay(
        ".visible .entry foo(.param .b32 N, .param .align 8 .b8 buffer[64])\n{\n.reg .u32 %n;\n.reg .f64 %d;\n\
         ld.param.u32 %n, [N];\nld.param.f64 %d, [buffer];\nret;\n}",
    );
    assert_eq!((object(&image, "N").offset, object(&image, "N").size), (Some(0), 4));
    assert_eq!((object(&image, "buffer").offset, object(&image, "buffer").size), (Some(8), 64));
    assert_eq!(image.functions[0].parameter_extent.bytes, 72);
}

#[test]
fn vectors_are_aligned_to_their_whole_size() {
    let image = lay(
        ".global .v4 .f32 V;\n.shared .v2 .u16 uv;\n.global .v4 .b8 v;\n.global .u8 odd;\n.global .v2 .f64 d;",
    );
    let extent = |name| (object(&image, name).size, object(&image, name).alignment);
    assert_eq!(extent("V"), (16, 16), "a length-4 vector of floats");
    assert_eq!(extent("uv"), (4, 4), "a length-2 vector of unsigned ints");
    assert_eq!(extent("v"), (4, 4), "a length-4 vector of bytes");
    assert_eq!(extent("d"), (16, 16));
    assert!(object(&image, "d").offset.unwrap().is_multiple_of(16), "and so is its address");
}

#[test]
fn an_array_reserves_the_product_of_its_dimensions() {
    let image = lay(
        ".visible .entry k()\n{\n.local .u16 kernel[19][19];\n.shared .u8 mailbox[128];\nret;\n}\n.global .f64 t[2][3][4];",
    );
    assert_eq!(object(&image, "kernel").size, 722, "361 halfwords");
    assert_eq!(object(&image, "mailbox").size, 128);
    assert_eq!(object(&image, "t").size, 2 * 3 * 4 * 8);
    assert_eq!(*object(&image, "kernel").dimensions, [19, 19]);
}

#[test]
fn an_omitted_first_dimension_is_the_number_of_elements_given() {
    let image = lay(".global .u32 index[] = { 0, 1, 2, 3, 4, 5, 6, 7 };\n\
         .global .s32 offset[][2] = { {-1, 0}, {0, -1}, {1, 0}, {0, 1} };");
    assert_eq!(*object(&image, "index").dimensions, [8], "eight elements");
    assert_eq!(*object(&image, "offset").dimensions, [4, 2], "a 4x2 array");
    assert_eq!((object(&image, "index").size, object(&image, "offset").size), (32, 32));
    assert!(!object(&image, "index").open && !object(&image, "offset").open);
    let offset: Vec<i32> = words(&initial(&image, "offset")).into_iter().map(|word| word as i32).collect();
    assert_eq!(offset, [-1, 0, 0, -1, 1, 0, 0, 1]);
}

#[test]
fn what_an_array_initialiser_leaves_out_is_zero() {
    let image = lay(".const .f32 vals[8] = { 0.33, 0.25, 0.125 };\n.global .u32 none[3] = {};");
    assert_eq!(floats(&initial(&image, "vals")), [0.33, 0.25, 0.125, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let full = lay(".const .f32 vals[8] = { 0.33, 0.25, 0.125, 0.0, 0.0, 0.0, 0.0, 0.0 };");
    assert_eq!(initial(&image, "vals"), initial(&full, "vals"), "the manual's equivalent");
    assert_eq!(initial(&image, "none"), [0; 12]);
}

#[test]
fn short_rows_are_padded_by_the_manual_and_packed_by_the_assembler() {
    let strict = Options { strict: true, ..Options::default() };
    let rows = |options, text: &str| words(&initial(&lay_with(&headed("9.0", "sm_90", text), options), "x"));
    let example = ".global .s32 x[3][2] = { {1,2}, {3} };";
    assert_eq!(rows(strict, example), [1, 2, 3, 0, 0, 0]);
    assert_eq!(rows(strict, ".global .s32 x[3][2] = { {1,2}, {3,0}, {0,0} };"), [1, 2, 3, 0, 0, 0]);
    assert_eq!(
        rows(Options::default(), example),
        [1, 2, 3, 0, 0, 0],
        "the example cannot tell the two apart"
    );
    let telling = ".global .s32 x[2][2] = { {1}, {3} };";
    assert_eq!(rows(strict, telling), [1, 0, 3, 0]);
    assert_eq!(rows(Options::default(), telling), [1, 3, 0, 0]);
}

#[test]
fn a_name_in_an_initialiser_is_an_address_and_an_offset_is_added_to_it() {
    let image = lay(".global .u32 g[4];\n.global .u64 p = g;\n.global .u64 q[2] = {g+4, g+-4};");
    let at = address(&image, "g");
    assert_eq!(initial(&image, "p"), at.to_le_bytes());
    assert_eq!(initial(&image, "q"), [(at + 4).to_le_bytes(), (at - 4).to_le_bytes()].concat());
    assert_eq!(relocations(&image, "q")[1], (8, "g".into(), -4, Kind::Generic, None));
}

#[test]
fn a_plain_name_is_the_address_in_its_own_space_and_generic_the_generic_one() {
    // The example, with pointers of 64 bits: in 32, addresses of 64 bits lose their upper half.
    let image = lay(".const .u32 before = 1;\n.const .u32 foo = 42;\n.global .u32 bar[] = { 2, 3, 5 };\n\
         .global .u64 p1 = foo;\n.global .u64 p2 = generic(foo);\n.global .u32 short = generic(foo);");
    assert_eq!(initial(&image, "p1"), 4u64.to_le_bytes(), "offset of foo in .const");
    let generic = WINDOWS.constant.base + 4;
    assert_eq!(initial(&image, "p2"), generic.to_le_bytes(), "generic address of foo");
    assert_eq!(WINDOWS.locate(generic), (StateSpace::Const, 4));
    assert_eq!(initial(&image, "short"), (generic as u32).to_le_bytes());
    assert_eq!(relocations(&image, "p1"), [(0, "foo".into(), 0, Kind::Offset, None)]);
    assert_eq!(relocations(&image, "p2"), [(0, "foo".into(), 0, Kind::Generic, None)]);
}

#[test]
fn an_array_of_generic_pointers_points_to_the_elements() {
    let image = lay(
        ".global .u32 bar[] = { 2, 3, 5 };\n.global .u64 parr[] = { generic(bar), generic(bar)+4,\ngeneric(bar)+8 };\n\
         .global .u32 narrow[] = { generic(bar), generic(bar)+4,\ngeneric(bar)+8 };",
    );
    let bar = address(&image, "bar");
    let expected: Vec<u8> = [0, 4, 8].iter().flat_map(|offset| (bar + offset).to_le_bytes()).collect();
    assert_eq!(initial(&image, "parr"), expected);
    let lower: Vec<u32> = [0, 4, 8].iter().map(|offset| (bar + offset) as u32).collect();
    assert_eq!(words(&initial(&image, "narrow")), lower, "as in the manual, in 32 bits");
}

#[test]
fn a_mask_takes_one_byte_of_an_address() {
    let masks: Vec<String> = (0..8).map(|byte| format!("{:#x}", 0xffu64 << (8 * byte))).collect();
    let list = |of: &str| masks.iter().map(|mask| format!("{mask}({of})")).collect::<Vec<_>>().join(", ");
    let image = lay(&format!(
        ".const .u32 pad[64];\n.const .u32 foo = 42;\n.global .u8 addr[] = {{{}}};\n.global .u8 addr2[] = {{{}}};\n\
         .global .u8 addr3[] = {{{}}};\n.global .u8 addr4[] = {{{}}};\n.global .u64 wide = 0xff00(generic(foo));",
        list("foo"),
        list("foo+4"),
        list("generic(foo)"),
        list("generic(foo)+4"),
    ));
    let foo = address(&image, "foo");
    assert_eq!(foo, 256);
    assert_eq!(initial(&image, "addr"), foo.to_le_bytes());
    assert_eq!(initial(&image, "addr2"), (foo + 4).to_le_bytes());
    let generic = WINDOWS.constant.base + foo;
    assert_eq!(initial(&image, "addr3"), generic.to_le_bytes());
    assert_eq!(initial(&image, "addr4"), (generic + 4).to_le_bytes());
    assert_eq!(relocations(&image, "addr4")[5], (5, "foo".into(), 4, Kind::Generic, Some(5)));
    assert_eq!(
        initial(&image, "wide"),
        [generic.to_le_bytes()[1], 0, 0, 0, 0, 0, 0, 0],
        "at the lowest position"
    );
}

#[test]
fn a_mask_takes_one_byte_of_a_number() {
    let image = lay(".global .u8 addr5[] = { 0xFF(1000 + 546), 0xFF00(131187), 0xFF0000(131187) };");
    assert_eq!(initial(&image, "addr5"), [0x0a, 0x00, 0x02]);
}

#[test]
fn before_3_1_a_global_name_was_its_generic_address_which_is_the_same_number() {
    let text =
        ".global .u32 g[4];\n.global .u64 p = g+8;\n.const .u32 pad;\n.const .u32 c;\n.global .u64 q = c;";
    let (old, new) = (lay_as("3.0", "sm_30", text), lay_as("3.1", "sm_30", text));
    for image in [&old, &new] {
        assert_eq!(relocations(image, "p"), [(0, "g".into(), 8, Kind::Generic, None)]);
        let value = address(image, "g") + 8;
        assert_eq!(initial(image, "p"), value.to_le_bytes());
        assert_eq!(
            WINDOWS.locate(value),
            (StateSpace::Global, value),
            "an offset in .global is a generic address"
        );
        assert_eq!(initial(image, "q"), 4u64.to_le_bytes(), "names of .const were always offsets");
    }
}

#[test]
fn a_functions_name_is_the_address_of_its_first_instruction() {
    let image = lay(
        ".func f() { ret; }\n.func g() { ret; }\n.global .u64 table[2] = {g, f};\n.visible .entry k() { ret; }\n\
         .global .u64 kernels[1] = {k};",
    );
    let table = initial(&image, "table");
    let entry = |at: usize| u64::from_le_bytes(table[at..at + 8].try_into().unwrap());
    let found = |address| image.function_at(WINDOWS, address).map(|id| &*image.function(id).name);
    assert_eq!([found(entry(0)), found(entry(8))], [Some("g"), Some("f")]);
    assert_ne!(entry(0), entry(8));
    assert_eq!(found(entry(0) + 1), None);
    assert_eq!(relocations(&image, "kernels"), [(0, "k".into(), 0, Kind::Function, None)]);
}

#[test]
fn the_examples_of_initialisers_hold_what_the_manual_says() {
    let common = ".global .s32 n = 10;\n\
         .global .f32 blur_kernel[][3] = {{.05,.1,.05},{.1,.4,.1},{.05,.1,.05}};\n\
         .global .u32 foo[] = { 2, 3, 5, 7, 9, 11 };\n";
    let first = lay(&format!("{common}.global .u64 ptr = generic(foo);"));
    assert_eq!(words(&initial(&first, "n")), [10]);
    assert_eq!(*object(&first, "blur_kernel").dimensions, [3, 3]);
    assert_eq!(floats(&initial(&first, "blur_kernel")), [0.05, 0.1, 0.05, 0.1, 0.4, 0.1, 0.05, 0.1, 0.05]);
    assert_eq!(words(&initial(&first, "foo")), [2, 3, 5, 7, 9, 11]);
    assert_eq!(initial(&first, "ptr"), address(&first, "foo").to_le_bytes(), "foo[0]");
    // The text declares `ptr` twice: two modules here.
    let second = lay(&format!("{common}.global .u64 ptr = generic(foo)+8;"));
    assert_eq!(initial(&second, "ptr"), (address(&second, "foo") + 2 * 4).to_le_bytes(), "foo[2]");
}

#[test]
fn the_examples_of_declarations_hold_what_the_manual_says() {
    let image =
        lay(".global .u32 loc;\n.const .f32 bias[] = {-1.0, 1.0};\n.global .u8 bg[4] = {0, 0, 0, 0};\n\
         .visible .entry k()\n{\n.reg .s32 i;\n.reg .v4 .f32 accel;\n.reg .pred p, q, r;\nret;\n}");
    assert_eq!(object(&image, "loc").size, 4);
    assert_eq!(floats(&initial(&image, "bias")), [-1.0, 1.0]);
    assert_eq!(initial(&image, "bg"), [0; 4]);
    assert_eq!((object(&image, "accel").size, object(&image, "p").size), (16, 0));
}

#[test]
fn a_variable_lies_at_a_multiple_of_its_alignment() {
    let image = lay(
        ".global .u8 a;\n.global .align 64 .u8 b;\n.global .u8 c;\n.global .align 1 .u64 d;\n.global .u16 e[3];\n\
         .global .align 16 .b8 f[3];",
    );
    for object in &image.objects {
        assert!(object.offset.unwrap().is_multiple_of(object.alignment), "{}", object.name);
        assert!(address(&image, &object.name).is_multiple_of(object.alignment), "{}", object.name);
    }
    assert_eq!((object(&image, "b").alignment, object(&image, "b").offset), (64, Some(64)));
    assert_eq!(object(&image, "d").alignment, 8, "less than the type needs is raised in silence");
    assert_eq!(
        (object(&image, "a").alignment, object(&image, "e").alignment),
        (1, 2),
        "by default, the type's size"
    );
}

#[test]
fn an_arrays_alignment_is_that_of_its_start_not_of_its_elements() {
    let image = lay(".global .align 16 .b8 x[3] = {1, 2, 3};\n.global .u64 p[3] = {x, x+1, x+2};");
    assert_eq!((object(&image, "x").size, object(&image, "x").element), (3, 1));
    assert_eq!(initial(&image, "x"), [1, 2, 3], "one after another");
    assert!(address(&image, "x").is_multiple_of(16));
}

#[test]
fn eight_bytes_at_a_boundary_of_four() {
    let image = lay(".const .b8 odd;\n.const .align 4 .b8 bar[8] = {0,0,0,0,2,0,0,0};");
    let bar = object(&image, "bar");
    assert_eq!((bar.size, bar.alignment, bar.element, bar.offset), (8, 4, 1, Some(4)));
    assert_eq!(initial(&image, "bar"), [0, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn a_unified_variable_keeps_its_identifier_and_has_one_address() {
    let text = headed(
        "9.0",
        "sm_90",
        ".global .attribute(.unified(19,95)) .f32 f;\n.global .u64 p = f;\n\
         .func .attribute(.unified(0xAB, 0xCD)) bar() { ret; }",
    );
    let options = Options { relocatable: true, ..Options::default() };
    let image = lay_with(&text, options);
    assert_eq!(object(&image, "f").attributes.unified.as_deref(), Some(&(19, 95)));
    assert_eq!(image.functions[0].attributes.unified.as_deref(), Some(&(0xab, 0xcd)));
    assert_eq!(
        initial(&image, "p"),
        address(&image, "f").to_le_bytes(),
        "there is one machine, and one address"
    );
}
