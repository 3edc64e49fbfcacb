//! Memory as a whole: windows, stacks, shared memory, banks, families, and what is too large for any memory.

use crate::support;
use crate::support::{headed, id, lay, lay_as, lay_with, object, try_lay};
use softwarp_check::Options;
use softwarp_check::checked::FieldValue;
use softwarp_image::{Function, Image, Kind, State, Windows, codes};
use softwarp_isa::device::CTA_SHARED;
use softwarp_isa::space::opaque::{Member, TextureMode};
use softwarp_isa::{StateSpace, Target};
use softwarp_syntax::Code;

const WINDOWS: &Windows = &Windows::WIDE;

fn function<'a>(image: &'a Image, name: &str) -> &'a Function {
    image.functions.iter().find(|function| &*function.name == name).unwrap_or_else(|| panic!("no `{name}`"))
}

fn offset(image: &Image, name: &str) -> u64 {
    object(image, name).offset.unwrap_or_else(|| panic!("`{name}` has no offset"))
}

/// What is wrong with a module that the checker takes: codes and messages.
fn faults(body: &str) -> Vec<(Code, String)> {
    let findings = try_lay(&headed("9.0", "sm_90", body), Options::default()).expect_err("too large");
    findings.into_iter().map(|found| (found.code, found.message)).collect()
}

// Windows.

#[test]
fn a_static_variable_of_rank_1_is_where_the_hardware_has_it() {
    let image = lay(
        ".visible .entry k()\n{\n.shared .b8 first[64];\n.shared .u32 next;\nst.shared.u32 [next], 1;\nret;\n}",
    );
    let address = image.address(WINDOWS, id(&image, "first"), None);
    assert_eq!(address, Some(0x400), "the first KiB is the system's");
    let generic = |rank: u64| WINDOWS.generic(StateSpace::Shared, rank * CTA_SHARED + 0x400);
    assert_eq!(WINDOWS.locate(generic(1)), (StateSpace::Shared, 0x0100_0400));
    assert!(WINDOWS.shared_of(1).contains(generic(1)) && !WINDOWS.shared_of(0).contains(generic(1)));
    assert!(WINDOWS.is_in(StateSpace::Shared, generic(1)), "and of the cluster");
    assert_eq!((WINDOWS.shared_of(0).size, WINDOWS.shared.size), (1 << 24, 1 << 32));
    assert!(WINDOWS.shared.base.is_multiple_of(1 << 32));
    assert!(!WINDOWS.shared.contains(WINDOWS.shared_of(255).base + CTA_SHARED));
}

#[test]
fn the_system_keeps_the_first_kib_of_shared_memory_from_sm_90_on() {
    let reserved = |name| Target::from_name(name).unwrap().properties().reserved_shared;
    assert_eq!(["sm_75", "sm_89", "sm_90", "sm_120a"].map(reserved), [0, 0, 1024, 1024]);
    let text = headed("8.0", "sm_80", ".shared .u32 x;");
    let image = lay_with(&text, Options { arch: Target::from_name("sm_80"), ..Options::default() });
    assert_eq!(image.address(WINDOWS, id(&image, "x"), None), Some(0));
}

#[test]
fn global_addresses_are_generic_addresses() {
    let image = lay(".global .u32 g;");
    let address = image.address(WINDOWS, id(&image, "g"), None).unwrap();
    assert!(WINDOWS.globals.contains(address));
    assert_eq!(WINDOWS.generic(StateSpace::Global, address), address);
    assert_eq!(WINDOWS.locate(address), (StateSpace::Global, address));
}

#[test]
fn addresses_of_32_bits_fit_32_bits() {
    // The assembler takes no `.address_size 32` any more, so every module has 64; the windows can still be asked for.
    let image = lay_as("2.2", "sm_20", ".const .u32 c;\n.global .u32 g = 7;\n.global .u32 p[2] = {g, c};");
    assert_eq!(image.header.address_bits, 64);
    let windows = Windows::for_address_bits(32);
    assert_eq!(windows, &Windows::NARROW);
    let address = image.address(windows, id(&image, "g"), None).unwrap();
    assert_eq!(address, 0x1000_0000);
    let mut bytes = [0; 8];
    image.initial(windows, id(&image, "p")).unwrap().read(0, &mut bytes);
    assert_eq!(bytes, [0, 0, 0, 0x10, 0, 0, 0, 0]);
}

// Kernel parameters.

#[test]
fn strictly_aligned_parameters_lie_where_the_assembler_puts_them() {
    // Target, kernel parameters, offset of `p`, bytes together.
    let cases = [
        ("sm_75", ".param .align 128 .b8 p[4]", 32, 36),
        ("sm_89", ".param .b8 q, .param .align 128 .b8 p[4224]", 32, 4256),
        ("sm_89", ".param .b8 q, .param .align 128 .b8 p[4225]", 128, 4353),
        ("sm_89", ".param .align 256 .b8 p[5000]", 0, 5000),
        ("sm_90", ".param .align 16 .b8 p[4]", 0, 4),
        ("sm_90", ".param .align 128 .b8 p[4]", 112, 116), // So does an H200's driver.
        ("sm_90", ".param .b8 q, .param .align 32 .b8 p[5000]", 16, 5016),
        ("sm_90", ".param .align 1024 .b8 p[4]", 496, 500),
        ("sm_100a", ".param .align 1024 .b8 p[4]", 0, 4),
        ("sm_120a", ".param .b8 q, .param .align 128 .b8 p[5000]", 128, 5128),
    ];
    for (target, parameters, at, total) in cases {
        let arch = Target::from_name(target);
        let text = headed("9.0", "sm_75", &format!(".visible .entry k({parameters}) {{ ret; }}"));
        let image = lay_with(&text, Options { arch, ..Options::default() });
        assert_eq!(
            (offset(&image, "p"), image.functions[0].parameter_extent.bytes),
            (at, total),
            "{target} {parameters}"
        );
    }
}

#[test]
fn a_parameters_generic_address_is_aligned_too() {
    for target in ["sm_75", "sm_90", "sm_100a"] {
        let arch = Target::from_name(target).unwrap();
        let text = headed("9.0", "sm_75", ".visible .entry k(.param .align 128 .b8 p[4]) { ret; }");
        let image = lay_with(&text, Options { arch: Some(arch), ..Options::default() });
        let windows = Windows::for_target(64, arch);
        assert!(windows.generic(StateSpace::Param, offset(&image, "p")).is_multiple_of(128), "{target}");
        assert_eq!(windows.parameter.base & 0xfff, arch.properties().parameter_start);
    }
    assert_eq!(Windows::for_target(64, Target::from_name("sm_90").unwrap()), Windows::WIDE);
}

#[test]
fn the_largest_block_of_parameters_fits_its_window() {
    let image = lay(".visible .entry k(.param .u32 n, .param .b8 p[32760]) { ret; }");
    let kernel = function(&image, "k");
    assert_eq!(kernel.parameter_extent.bytes, 32764);
    assert!(kernel.parameter_extent.bytes <= WINDOWS.parameter.size);
    assert_eq!(image.address(WINDOWS, id(&image, "p"), None), Some(4));
}

#[test]
fn parameters_of_functions_returns_and_arguments_are_laid_out_apart() {
    let image = lay(
        ".func (.param .u64 r) f(.param .b8 a, .param .align 8 .b8 b[12])\n{\nret;\n}\n.visible .entry k()\n{\n\
         .param .u64 out;\n.param .b8 x;\n.param .align 8 .b8 y[12];\ncall (out), f, (x, y);\nret;\n}",
    );
    let f = function(&image, "f");
    assert_eq!((f.parameter_extent.bytes, f.parameter_extent.alignment, f.return_extent.bytes), (20, 8, 8));
    assert_eq!([offset(&image, "a"), offset(&image, "b"), offset(&image, "r")], [0, 8, 0]);
    assert_eq!(function(&image, "k").arguments.bytes, 8 + 8 + 12);
}

// Stacks.

#[test]
fn a_stack_is_the_deepest_chain_of_calls() {
    let image =
        lay(".func leaf()\n{\n.local .b8 a[24];\nret;\n}\n.func small()\n{\n.local .u32 b;\nret;\n}\n\
         .func middle()\n{\n.local .align 16 .b8 c[16];\ncall leaf, ();\ncall small, ();\nret;\n}\n\
         .visible .entry k()\n{\n.local .u32 d;\ncall middle, ();\ncall small, ();\nret;\n}");
    assert_eq!(function(&image, "leaf").stack, 24);
    assert_eq!(function(&image, "middle").stack, 16 + 24);
    assert_eq!(
        function(&image, "k").stack,
        16 + 16 + 24,
        "frames begin at multiples of the strictest alignment"
    );
    assert!(image.functions.iter().all(|function| !function.recursive && function.recursion == 0));
}

#[test]
fn recursion_takes_its_frames_once_a_round() {
    let image = lay(".func odd();\n.func leaf()\n{\n.local .u64 l[4];\nret;\n}\n\
         .func even()\n{\n.local .u64 a[2];\ncall odd, ();\nret;\n}\n\
         .func odd()\n{\n.local .u64 b;\ncall even, ();\ncall leaf, ();\nret;\n}");
    let even = function(&image, "even");
    assert!(even.recursive && function(&image, "odd").recursive && !function(&image, "leaf").recursive);
    assert_eq!((even.stack, even.recursion), (16 + 8 + 32, 16 + 8));
    assert_eq!(even.stack_at(1), 56);
    assert_eq!(even.stack_at(3), 56 + 2 * 24);
    assert_eq!(even.stack_at(u64::MAX), u64::MAX, "no memory has that");
}

#[test]
fn a_function_that_calls_itself_is_recursive_and_so_is_its_caller() {
    let image = lay(
        ".func f()\n{\n.local .u32 a;\ncall f, ();\nret;\n}\n.visible .entry k()\n{\n.local .u32 b;\ncall f, ();\nret;\n}",
    );
    let (f, k) = (function(&image, "f"), function(&image, "k"));
    assert!(f.recursive && k.recursive, "a call of either may lead to a call of `f` while it is active");
    assert_eq!([f.stack, f.recursion, k.stack, k.recursion], [4, 4, 8, 4]);
}

#[test]
fn a_call_through_a_pointer_may_go_wherever_an_address_is_taken() {
    let image = lay(
        ".func big()\n{\n.local .b8 a[1024];\nret;\n}\n.func unseen()\n{\n.local .b8 b[4096];\nret;\n}\n\
         .global .u64 table[1] = {big};\n.visible .entry k()\n{\n.reg .u64 d;\n.local .u64 c;\nld.global.u64 d, [table];\n\
         p: .callprototype _ ();\ncall d, (), p;\nret;\n}\n.visible .entry plain()\n{\nret;\n}",
    );
    let k = function(&image, "k");
    assert_eq!(k.stack, 8 + 1024);
    assert!(k.indirect && !k.recursive && !function(&image, "plain").indirect);
    assert_eq!(function(&image, "plain").stack, 0);
}

#[test]
fn a_chain_of_20000_calls_needs_no_stack_of_ours() {
    let mut text = String::from(".func f0()\n{\n.local .u64 a;\nret;\n}\n");
    for n in 1..20_000 {
        text += &format!(".func f{n}()\n{{\n.local .u64 a;\ncall f{}, ();\nret;\n}}\n", n - 1);
    }
    let image = lay(&text);
    assert_eq!(function(&image, "f19999").stack, 8 * 20_000);
}

#[test]
fn local_variables_at_module_scope_are_below_all_frames() {
    let body = ".local .u32 fixed;\n.local .align 16 .b8 more[4];\n.entry k()\n{\n.reg .u32 r;\n.local .u64 own;\n\
                ld.local.u32 r, [fixed];\nld.local.u32 r, [more];\nret;\n}";
    let image = lay_as("2.2", "sm_20", body);
    assert_eq!((offset(&image, "fixed"), offset(&image, "more")), (0, 16));
    assert_eq!((image.thread.bytes, image.thread.alignment), (20, 16));
    assert_eq!((function(&image, "k").frame.bytes, offset(&image, "own")), (8, 0));
}

// Shared memory.

#[test]
fn variables_of_different_kernels_lie_over_one_another() {
    let uses = |name: &str, of: &[&str]| {
        let stores: String = of.iter().map(|name| format!("st.shared.u32 [{name}], 1;\n")).collect();
        format!(".visible .entry {name}()\n{{\n{stores}ret;\n}}\n")
    };
    let declared = ".shared .align 4 .b8 a[40960];\n.shared .align 4 .b8 b[40960];\n.shared .align 16 .b8 both[32];\n\
                    .shared .u32 none;\n";
    let image = lay(&format!("{declared}{}{}", uses("ka", &["a", "both"]), uses("kb", &["both", "b"])));
    assert_eq!((offset(&image, "a"), offset(&image, "b")), (0, 0));
    assert_eq!(offset(&image, "both"), 40960, "one place in both kernels");
    for kernel in ["ka", "kb"] {
        let shared = function(&image, kernel).shared;
        assert_eq!((shared.bytes, shared.alignment), (40960 + 32, 16));
    }
    assert_eq!(offset(&image, "none"), 0, "what no kernel uses has a place, but takes nothing from any");
}

#[test]
fn a_kernel_has_the_shared_memory_of_what_it_calls() {
    let image = lay(
        ".shared .u32 x[4];\n.func f()\n{\n.shared .u64 own;\nst.shared.u32 [x], 1;\nst.shared.u64 [own], 1;\nret;\n}\n\
         .visible .entry k()\n{\ncall f, ();\nret;\n}\n.visible .entry other()\n{\nret;\n}",
    );
    assert_eq!(function(&image, "k").shared.bytes, 24);
    assert_eq!(function(&image, "other").shared.bytes, 0);
}

#[test]
fn dynamic_arrays_alias_and_begin_after_the_static_variables() {
    // As measured on an H200: `x` at 0x400, `plain` at 0x410, `strict` at 0x440.
    let body = ".extern .shared .b8 plain[];\n.extern .shared .u32 same[];\n.extern .shared .align 64 .b8 strict[];\n\
         .visible .entry k()\n{\n.shared .u32 x;\nst.shared.u32 [x], 1;\nst.shared.u8 [plain], 1;\n\
         st.shared.u32 [same], 1;\nst.shared.u8 [strict], 1;\nret;\n}\n";
    let image = lay(body);
    let kernel = function(&image, "k");
    assert_eq!((kernel.shared.bytes, kernel.shared.alignment, kernel.dynamic_shared), (4, 64, Some(16)));
    let address = |name| image.address(WINDOWS, id(&image, name), None);
    assert_eq!(
        ["x", "plain", "same", "strict"].map(address),
        [Some(0x400), Some(0x410), Some(0x410), Some(0x440)]
    );
    assert_eq!(
        object(&image, "plain").alignment,
        16,
        "as the assembler aligns arrays without size, at least"
    );
    let image = lay(&format!("{body}.visible .entry bare()\n{{\nst.shared.u8 [plain], 1;\nret;\n}}"));
    let plain = object(&image, "plain");
    assert_eq!(plain.offset, None, "elsewhere in each kernel");
    assert_eq!(function(&image, "k").dynamic_offset(plain), 16);
    assert_eq!(function(&image, "bare").dynamic_offset(plain), 0);
}

#[test]
fn in_a_relocatable_object_external_variables_have_no_place() {
    let text = headed(
        "9.0",
        "sm_90",
        ".extern .shared .b8 x[8];\n.extern .global .u32 g;\n.extern .const .u32 c;\n.shared .u32 own;\n\
         .visible .entry k()\n{\n.reg .u32 r;\nst.shared.u32 [x], 1;\nst.shared.u32 [own], 1;\nld.const.u32 r, [c];\n\
         st.global.u32 [g], r;\nret;\n}",
    );
    let image = lay_with(&text, Options { relocatable: true, ..Options::default() });
    for name in ["x", "g", "c"] {
        assert_eq!(object(&image, name).offset, None, "{name}");
    }
    assert_eq!((function(&image, "k").shared.bytes, image.global.bytes, image.constant[0].bytes), (4, 0, 0));
}

// Variables.

#[test]
fn a_family_lies_member_by_member() {
    let image = lay(
        ".global .u8 odd;\n.global .align 8 .u32 m<4>;\n.global .u16 after;\n.const .u32 c<3>;\n.global .u64 p = c2;",
    );
    let family = object(&image, "m");
    assert_eq!((family.size, family.stride(), family.total(), family.offset), (4, 8, 28, Some(8)));
    assert_eq!(offset(&image, "after"), 36);
    let address = |member| image.address(WINDOWS, id(&image, "m"), member);
    assert_eq!(address(Some(3)), address(None).map(|first| first + 24));
    assert_eq!(object(&image, "p").relocations[0].kind, Kind::Offset);
    let mut bytes = [0; 8];
    image.initial(WINDOWS, id(&image, "p")).unwrap().read(0, &mut bytes);
    assert_eq!(u64::from_le_bytes(bytes), 8, "the third member");
}

#[test]
fn words_of_128_bits_and_vectors_of_small_types() {
    let image = lay(
        ".global .b128 wide = 1;\n.global .v4 .u8 bytes = {1, 2, 3, 4};\n.global .v2 .b16 halves = {0x1234, 0x5678};\n\
         .global .v4 .s8 rows[2] = {{-1, 2, 3, 4}, {5, 6, 7, 8}};",
    );
    let extent = |name| (object(&image, name).size, object(&image, name).alignment);
    assert_eq!((extent("wide"), extent("bytes"), extent("halves")), ((16, 16), (4, 4), (4, 4)));
    assert_eq!(support::bytes(object(&image, "wide"))[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(support::bytes(object(&image, "bytes")), [1, 2, 3, 4]);
    assert_eq!(support::bytes(object(&image, "halves")), [0x34, 0x12, 0x78, 0x56]);
    assert_eq!((extent("rows"), object(&image, "rows").element), ((8, 4), 4));
    assert_eq!(support::bytes(object(&image, "rows")), [0xff, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_mask_over_an_unknown_address_leaves_zero() {
    let text = headed("9.0", "sm_90", ".extern .global .u32 away;\n.global .u8 b[2] = {0xff(away), 7};");
    let image = lay_with(&text, Options { relocatable: true, ..Options::default() });
    let relocation = object(&image, "b").relocations[0];
    assert_eq!(image.value(WINDOWS, &relocation), None);
    let mut bytes = [9; 2];
    image.initial(WINDOWS, id(&image, "b")).unwrap().read(0, &mut bytes);
    assert_eq!(bytes, [0, 7]);
}

#[test]
fn an_opaque_variable_says_what_it_was_given_and_nothing_else() {
    let body = ".global .texref tex = { width = 8, normalized_coords = 1, filter_mode = linear, width = 16 };\n\
        .global .samplerref smp = { addr_mode_0 = clamp_to_border, filter_mode = nearest };\n.global .surfref srf;";
    let image = lay_as("9.0", "sm_90, texmode_independent", body);
    let state = |name, mode| State::of(object(&image, name), 0, mode).expect("opaque");
    let independent = state("tex", TextureMode::Independent);
    assert_eq!(independent.get(Member::Width), Some(FieldValue::Number(16)), "the last counts");
    assert_eq!(independent.get(Member::FilterMode), None, "the sampler's counts");
    assert_eq!(independent.get(Member::Height), None, "what the host binds says");
    let unified = state("tex", TextureMode::Unified);
    assert_eq!(unified.get(Member::FilterMode), Some(FieldValue::Word("linear")));
    let sampler = state("smp", TextureMode::Independent);
    let given: Vec<_> = sampler.members().collect();
    let expected = [
        (Member::FilterMode, FieldValue::Word("nearest")),
        (Member::AddrMode0, FieldValue::Word("clamp_to_border")),
    ];
    assert_eq!(given, expected);
    let unset: Vec<_> = sampler.unset().collect();
    assert_eq!(unset, [Member::ForceUnnormalizedCoords, Member::AddrMode1, Member::AddrMode2]);
    assert_eq!(state("srf", TextureMode::Unified).members().count(), 0);
    assert_eq!(State::of(object(&lay(".global .u32 x;"), "x"), 0, TextureMode::Unified), None);
    assert_eq!(image.global.bytes, 24, "a handle of 8 bytes each");
}

#[test]
fn constants_that_fit_only_in_another_order_are_put_in_that() {
    let text = headed("9.0", "sm_90", ".const .b8 x;\n.const .align 65536 .b8 y;");
    let image = lay_with(&text, Options { relocatable: true, ..Options::default() });
    assert_eq!((offset(&image, "y"), offset(&image, "x")), (0, 1));
    assert_eq!(image.constant[0].bytes, 2);
}

// Bounds.

#[test]
fn a_variable_of_2_to_the_63_bytes_is_too_large_and_one_byte_less_is_not() {
    let image = lay(".global .u8 x[9223372036854775807];");
    assert_eq!(image.global.bytes, i64::MAX as u64);
    let found = faults(
        ".global .u8 x[9223372036854775808];\n.global .u64 y[4611686018427387904][4611686018427387904];",
    );
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|(code, _)| *code == codes::TOO_LARGE), "{found:?}");
    assert_eq!(found[0].1, "`x` has 2^63 bytes or more, which no memory has");
}

#[test]
fn variables_that_fit_alone_may_be_too_much_together() {
    let found =
        faults(".global .u8 x[9223372036854775807];\n.global .u8 y;\n.global .align 2147483648 .u8 z;");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], (codes::TOO_LARGE, "with `y`, `.global` has 2^63 bytes or more".into()));
    let halves = ".shared .align 2147483648 .b8 a[4611686018427387905];\n.shared .align 2147483648 .b8 b[4611686018427387905];";
    assert_eq!(faults(halves).len(), 1);
}

#[test]
fn the_strictest_alignments_stack_up_without_harm() {
    let body: String = (0..100).map(|n| format!(".global .align 2147483648 .u8 x{n};\n")).collect();
    let image = lay(&body);
    assert_eq!(offset(&image, "x99"), 99 << 31);
    assert_eq!((image.global.bytes, image.global.alignment), ((99 << 31) + 1, 1 << 31));
}

#[test]
fn a_gigabyte_with_one_value_is_one_run() {
    let image = lay(".global .u32 x[268435456] = {1};\n.global .u64 last = x+1073741820;");
    let x = object(&image, "x");
    let contents = x.contents.as_ref().unwrap();
    assert_eq!((x.size, contents.size, contents.written()), (1 << 30, 1 << 30, 4));
    let mut bytes = [9; 8];
    contents.read((1 << 30) - 4, &mut bytes);
    assert_eq!(bytes, [0; 8]);
}

#[test]
fn a_family_of_four_thousand_million_members_is_one_row() {
    let image = lay(".global .u32 m<4000000000>;\n.visible .entry k()\n{\n.reg .u32 r<4000000000>;\nret;\n}");
    assert_eq!(image.global.bytes, 16_000_000_000);
    assert_eq!(image.objects.len(), 2);
    let first = image.address(WINDOWS, id(&image, "m"), Some(0)).unwrap();
    let last = image.address(WINDOWS, id(&image, "m"), Some(3_999_999_999)).unwrap();
    assert_eq!(last - first, 15_999_999_996);
}

#[test]
fn a_hundred_thousand_variables_lie_in_order() {
    let mut body: String = (0..100_000).map(|n| format!(".global .u32 x{n};\n")).collect();
    body += ".shared .u8 s;\n";
    let image = lay(&body);
    assert_eq!(image.global.bytes, 400_000);
    assert!((0..100_000).zip(&image.objects).all(|(n, object)| object.offset == Some(4 * n)));
}
