//! What the declarations of a name in several modules must agree on.

use super::{is_refused, linked, places, reported};
use crate::support::object;
use softwarp_image::codes;
use softwarp_syntax::Code;

#[test]
fn sizes_must_agree_unless_one_is_open() {
    let bodies = [".extern .global .u32 x;", ".visible .global .u32 x[4];"];
    let finding = is_refused(&bodies, codes::SIZE);
    assert_eq!(places(&bodies, &finding), [(0, "x".into()), (1, "x".into())]);
    assert_eq!(finding.message, "`x` is `.u32` of 4 bytes here, and `.u32[4]` of 16 bytes in another module");
    assert_eq!(finding.related[0].message, "defined as `.u32[4]` of 16 bytes here");
    is_refused(&[".weak .global .u32 x;", ".weak .global .u64 x;"], codes::SIZE);
    is_refused(&[".weak .global .u32 x;", ".visible .global .u64 x;"], codes::SIZE);
    is_refused(&[".extern .shared .u32 x[4];", ".visible .shared .u32 x[8];"], codes::SIZE);
    is_refused(
        &[".extern .global .u32 x;", ".extern .global .u32 x[4];", ".visible .global .u32 x;"],
        codes::SIZE,
    );
    assert_eq!(reported(&[".extern .global .u32 x[];", ".visible .global .u32 x[4];"]), []);
    assert_eq!(reported(&[".extern .const .u32 x[];", ".weak .const .u32 x[3] = {5};"]), []);
}

#[test]
fn state_spaces_and_attributes_must_agree() {
    let bodies = [".extern .global .u32 x;", ".visible .const .u32 x = 3;"];
    let finding = is_refused(&bodies, codes::SPACE);
    assert_eq!(finding.message, "`x` is in `.global` here, and in `.const` in another module");
    assert_eq!(finding.related[0].message, "defined as a variable in `.const` here");
    is_refused(&[".weak .global .u32 x;", ".visible .shared .u32 x;"], codes::SPACE);
    let managed = ".visible .global .attribute(.managed) .u32 x;";
    is_refused(&[".extern .global .u32 x;", managed], codes::ATTRIBUTE);
    is_refused(&[".weak .global .u32 x;", managed], codes::ATTRIBUTE);
    is_refused(
        &[".extern .global .attribute(.managed) .u32 x;", ".visible .global .u32 x;"],
        codes::ATTRIBUTE,
    );
    assert_eq!(reported(&[".extern .global .attribute(.managed) .u32 x;", managed]), []);
    // nvlink does not look where only the declaration is `.unified`.
    let unified = ".extern .global .attribute(.unified(1, 2)) .u32 x;";
    let finding = is_refused(&[unified, ".visible .global .u32 x;"], codes::ATTRIBUTE);
    let message = "`x` is `.unified(1, 2)` here, and without attributes in another module";
    assert_eq!(finding.message, message);
    assert_eq!(reported(&[unified, &unified.replace("extern", "visible")]), []);
}

#[test]
fn types_that_differ_are_warned_about() {
    let differ = [
        (".u32 x", ".f32 x"),
        (".u32 x[2][3]", ".u32 x[3][2]"),
        (".v4 .u32 x", ".u32 x[4]"),
        (".u64 x", ".u32 x[2]"),
    ];
    for (a, b) in differ {
        let bodies = [format!(".extern .global .align 16 {a};"), format!(".visible .global .align 16 {b};")];
        let bodies = [&*bodies[0], &*bodies[1]];
        let image = linked(&bodies);
        let codes: Vec<Code> = image.warnings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [codes::TYPE], "{bodies:?}");
        assert_eq!(places(&bodies, &image.warnings[0]), [(0, "x".into()), (1, "x".into())]);
    }
    // Compatible ones, and bytes, which compilers write for structures.
    for (a, b) in
        [(".u32 x", ".s32 x"), (".b32 x", ".f32 x"), (".b8 x[16]", ".u64 x[2]"), (".u32 x[]", ".u32 x[9]")]
    {
        let bodies = [format!(".extern .global .align 16 {a};"), format!(".visible .global .align 16 {b};")];
        assert_eq!(reported(&[&bodies[0], &bodies[1]]), [], "{bodies:?}");
    }
}

#[test]
fn a_definition_that_is_aligned_less_than_a_module_expects_is_warned_about() {
    let aligned = |linkage, by| format!(".{linkage} .global .align {by} .u32 x[4];");
    assert_eq!(reported(&[&aligned("extern", 16), &aligned("visible", 4)]), [codes::ALIGNMENT]);
    assert_eq!(reported(&[&aligned("weak", 16), &aligned("visible", 4)]), [codes::ALIGNMENT]);
    assert_eq!(reported(&[&aligned("extern", 4), &aligned("visible", 16)]), []);
    let image = linked(&[&aligned("extern", 16), &aligned("visible", 4)]);
    assert_eq!(object(&image, "x").alignment, 4, "the definition counts, as for nvlink");
}

/// What comes of a caller of `f` with one head, and a definition with another.
fn prototypes(declared: &str, defined: &str) -> Vec<Code> {
    let caller = format!(".extern .func {declared};\n.visible .global .u64 p = f;");
    reported(&[&caller, &format!(".visible .func {defined}\n{{\nret;\n}}")])
}

#[test]
fn prototypes_agree_in_number_size_and_floating_point() {
    for (a, b) in [("b32", "u32"), ("s32", "b32"), ("u64", "b64"), ("f16", "b16"), ("f32", "f32")] {
        assert_eq!(prototypes(&format!("f(.param .{a} a)"), &format!("f(.param .{b} a)")), [], "{a} {b}");
    }
    for (a, b) in [("b32", "f32"), ("b32", "b64"), ("f64", "b64"), ("b16", "b32"), ("b8", "b16")] {
        let codes = prototypes(&format!("f(.param .{a} a)"), &format!("f(.param .{b} a)"));
        assert_eq!(codes, [codes::PROTOTYPE], "{a} {b}");
        let codes = prototypes(&format!("(.param .{a} a) f()"), &format!("(.param .{b} a) f()"));
        assert_eq!(codes, [codes::PROTOTYPE], "{a} {b}");
    }
    let wrong = [
        ("f()", "f(.param .b32 a)"),
        ("f(.param .b32 a, .param .b32 b)", "f(.param .b32 a)"),
        ("f()", "(.param .b32 r) f()"),
        ("f(.param .b32 a)", "f(.param .align 4 .b8 a[4])"),
        ("f(.param .align 4 .b8 a[4])", "f(.param .align 4 .b8 a[8])"),
        ("f(.param .align 4 .b8 a[4])", "f(.param .align 4 .b32 a[1])"),
        ("f(.param .align 4 .f32 a[4])", "f(.param .align 4 .u32 a[4])"),
    ];
    for (declared, defined) in wrong {
        assert_eq!(prototypes(declared, defined), [codes::PROTOTYPE], "{declared} {defined}");
    }
    assert_eq!(prototypes("f(.param .b32 a)", "f(.reg .b32 a)"), []);
    assert_eq!(prototypes("f(.param .align 4 .u8 a[4])", "f(.param .align 4 .b8 a[4])"), []);
    let aligned = prototypes("f(.param .align 4 .b8 a[16])", "f(.param .align 8 .b8 a[16])");
    assert_eq!(aligned, [codes::ALIGNMENT]);
}

#[test]
fn prototypes_are_shown_with_both_places() {
    let bodies = [
        ".extern .func f(.param .b32 a, .param .b32 b);\n.visible .global .u64 p = f;",
        ".visible .func f(.param .b32 a, .param .f32 b)\n{\nret;\n}",
    ];
    let finding = is_refused(&bodies, codes::PROTOTYPE);
    assert_eq!(places(&bodies, &finding), [(0, "f".into()), (1, "f".into())]);
    assert_eq!(finding.message, "`f` has `.b32` as parameter 2 here, and `.f32` in another module");
}

#[test]
fn prototypes_that_nothing_uses_are_warned_about() {
    let defined = ".visible .func f(.param .b64 a)\n{\nret;\n}";
    assert_eq!(reported(&[".extern .func f(.param .b32 a);", defined]), [codes::UNNOTICED]);
    let weak = [32, 64].map(|bits| format!(".weak .func f(.param .b{bits} a)\n{{\nret;\n}}"));
    assert_eq!(reported(&[&weak[0], &weak[1]]), [codes::PROTOTYPE], "definitions are always compared");
}

#[test]
fn kernels_are_compared_by_the_bytes_of_their_parameters_if_at_all() {
    let kernel = |linkage, parameters| format!(".{linkage} .entry k({parameters})\n{{\nret;\n}}");
    let (narrow, wide) = (".param .u32 a", ".param .u64 a");
    let two = ".param .u32 a, .param .u32 b";
    let pair = |a: &str, b: &str| reported(&[a, b]);
    assert_eq!(pair(&kernel("weak", narrow), &kernel("weak", wide)), [codes::PROTOTYPE]);
    assert_eq!(pair(&kernel("weak", two), &kernel("weak", wide)), [codes::UNNOTICED]);
    assert_eq!(pair(&kernel("weak", narrow), &kernel("visible", wide)), [codes::UNNOTICED]);
    assert_eq!(pair(&kernel("weak", narrow), &kernel("weak", narrow)), []);
    let declared = ".extern .entry k(.param .u64 a);";
    assert_eq!(pair(declared, &kernel("visible", narrow)), [codes::UNNOTICED]);
    assert_eq!(pair(declared, ".global .u32 y;"), [], "nothing uses it");
}

#[test]
fn a_name_is_of_one_sort() {
    let function = ".visible .func x()\n{\nret;\n}";
    let kernel = ".visible .entry x()\n{\nret;\n}";
    let finding = is_refused(&[".extern .global .u32 x;", function], codes::KIND);
    assert_eq!(finding.message, "`x` is a variable here, and a function in another module");
    assert_eq!(finding.related[0].message, "defined as a function here");
    is_refused(&[".visible .global .u32 x;", function], codes::KIND);
    is_refused(&[kernel, function], codes::KIND);
    let caller = ".extern .func x();\n.visible .global .u64 p = x;";
    is_refused(&[caller, kernel], codes::KIND);
    assert_eq!(reported(&[".extern .func x();", kernel]), [codes::UNNOTICED], "nothing uses it");
    let open = [".extern .func x();", ".extern .global .u32 x[];"];
    assert_eq!(reported(&open), [codes::MISSING, codes::UNNOTICED]);
}

#[test]
fn handles_of_a_name_are_one_whatever_their_linkage() {
    let (visible, weak) = (".visible .global .texref x;", ".weak .global .texref x;");
    let (declared, private) = (".extern .global .texref x;", ".global .texref x;");
    for (a, b) in [(visible, visible), (weak, weak), (declared, visible), (declared, declared)] {
        assert_eq!(reported(&[a, b]), [], "{a} {b}");
        let image = linked(&[a, b]);
        assert_eq!((image.objects.len(), object(&image, "x").offset), (1, Some(0)));
    }
    for (a, b) in [(private, private), (private, declared), (visible, private)] {
        assert_eq!(reported(&[a, b]), [codes::PRIVATE_HANDLE], "{a} {b}");
        assert_eq!(linked(&[a, b]).objects.len(), 1);
    }
    for other in [".visible .global .surfref x;", ".visible .global .u64 x;", ".weak .global .u32 x;"] {
        is_refused(&[declared, other], codes::HANDLE);
        is_refused(&[private, other], codes::HANDLE);
    }
    let textures =
        [".visible .global .texref x = { width = 1 };", ".visible .global .texref x = { width = 2 };"];
    assert_eq!(reported(&textures), [codes::INITIAL_VALUE]);
}
