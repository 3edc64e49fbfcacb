//! Several modules become one image: which definition each name means, and what modules must agree on. The
//! verdicts are those of nvlink 13.4 on the same modules, assembled with `ptxas -c`; where we differ on purpose,
//! the test says so.

mod agreement;

use crate::support::{Source, bytes, headed, id, object, read};
use softwarp_check::Options;
use softwarp_image::codes::{self, NEXT_MODULE};
use softwarp_image::{Image, Kind, Target, Unit, Windows, lay_out};
use softwarp_syntax::tree::Linkage;
use softwarp_syntax::{Code, Diagnostic, Severity};

/// A kernel that uses the variable `x`.
const USER: &str = ".visible .entry k()\n{\n.reg .b64 r;\nmov.u64 r, x;\nret;\n}\n";

fn link_sources(sources: &[Source], relocatable: bool) -> Result<Image, Vec<Diagnostic>> {
    let units: Vec<Unit<'_>> =
        sources.iter().map(|source| Unit { module: &source.module, checked: &source.checked }).collect();
    lay_out(&units, softwarp_image::Options { relocatable, red_zones: false })
}

/// Reads modules for the linker. None has errors.
fn sources(texts: &[String]) -> Vec<Source> {
    let options = Options { relocatable: true, ..Options::default() };
    let read = |text: &String| {
        let source = read(text, options);
        assert!(source.errors.is_empty(), "{:?}\n{text}", source.errors);
        source
    };
    texts.iter().map(read).collect()
}

/// Links what stands below the usual header.
fn link(bodies: &[&str]) -> Result<Image, Vec<Diagnostic>> {
    let texts: Vec<String> = bodies.iter().map(|body| headed("9.0", "sm_90", body)).collect();
    link_sources(&sources(&texts), false)
}

fn linked(bodies: &[&str]) -> Image {
    link(bodies).unwrap_or_else(|findings| panic!("{bodies:?}: {findings:?}"))
}

/// What was found, errors or warnings.
fn found(result: Result<Image, Vec<Diagnostic>>) -> Vec<Diagnostic> {
    match result {
        Ok(image) => image.warnings,
        Err(findings) => findings,
    }
}

/// The codes of what is found between modules.
fn reported(bodies: &[&str]) -> Vec<Code> {
    found(link(bodies)).iter().map(|finding| finding.code).collect()
}

#[track_caller]
fn is_refused(bodies: &[&str], code: Code) -> Diagnostic {
    let findings = link(bodies).expect_err(&format!("{bodies:?}"));
    let codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [code], "{bodies:?}");
    findings.into_iter().next().expect("there is one")
}

/// The name of the module and the text of a place: of the diagnostic first, then of the others.
fn places(bodies: &[&str], finding: &Diagnostic) -> Vec<(u32, String)> {
    let text = |unit: u32, span: softwarp_syntax::Span| {
        (unit, span.text(&headed("9.0", "sm_90", bodies[unit as usize])).to_owned())
    };
    let own = text(finding.unit(), finding.span());
    let others = finding.related.iter().map(|place| text(place.location.unit, place.location.span));
    std::iter::once(own).chain(others).collect()
}

/// The first byte of `x`, and the objects that have the name.
fn winner(bodies: &[&str]) -> (u8, usize) {
    let image = linked(bodies);
    let count = image.objects.iter().filter(|object| &*object.name == "x").count();
    (bytes(object(&image, "x"))[0], count)
}

#[test]
fn wrong_examples_are_reported_and_right_ones_are_not() {
    let codes_of = |text: &str| -> Vec<Code> {
        let texts: Vec<String> = text.split(NEXT_MODULE).map(str::to_owned).collect();
        let sources = sources(&texts);
        found(link_sources(&sources, false)).iter().map(|finding| finding.code).collect()
    };
    for row in codes::ALL.iter().filter(|row| !row.wrong.is_empty()) {
        assert_eq!(codes_of(row.wrong), [row.code], "{}: the wrong example", row.code);
        assert_eq!(codes_of(row.right), [], "{}: the right example", row.code);
    }
}

#[test]
fn explanations_say_something_and_codes_are_distinct() {
    let mut seen: Vec<&str> = codes::ALL.iter().map(|row| &row.code.0[1..]).collect();
    for row in codes::ALL {
        assert!(row.code.0[1..].starts_with("08"), "{}", row.code);
        assert!(!row.title.ends_with('.') && row.text.ends_with('.'), "{}", row.code);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), codes::ALL.len());
}

#[test]
fn an_extern_name_means_the_definition_of_another_module() {
    let image = linked(&[
        ".extern .global .u32 x;\n.visible .global .u64 p = x;",
        ".visible .global .u64 before;\n.visible .global .u32 x = 7;",
    ]);
    let names: Vec<&str> = image.objects.iter().map(|object| &*object.name).collect();
    assert_eq!(names, ["p", "before", "x"]);
    let (pointer, x) = (object(&image, "p"), object(&image, "x"));
    assert_eq!((pointer.offset, x.offset, x.unit, x.linkage), (Some(0), Some(16), 1, Some(Linkage::Visible)));
    let relocation = pointer.relocations[0];
    assert_eq!(relocation.target, Target::Object(id(&image, "x"), None));
    assert_eq!((relocation.offset, relocation.width, relocation.addend), (0, 8, 0));
    let windows = Windows::for_address_bits(64);
    let address = image.address(windows, id(&image, "x"), None).expect("it has one");
    let mut stored = [0; 8];
    image.initial(windows, id(&image, "p")).expect("it is given").read(0, &mut stored);
    assert_eq!(u64::from_le_bytes(stored), address);
    assert_eq!(address, windows.globals.base + 16);
}

#[test]
fn calls_and_pointers_reach_functions_of_other_modules() {
    let image = linked(&[
        ".extern .func f(.param .b32 a);\n.visible .global .u64 p = f;\n\
         .visible .entry k()\n{\n.param .b32 a;\ncall f, (a);\nret;\n}",
        ".visible .func f(.param .b32 a)\n{\n.local .b32 frame[4];\nret;\n}",
    ]);
    let names: Vec<&str> = image.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["k", "f"]);
    let (kernel, function) = (&image.functions[0], &image.functions[1]);
    assert_eq!(image.function(kernel.calls[0]).name, function.name);
    assert_eq!((kernel.stack, function.frame.bytes), (16, 16));
    let relocation = object(&image, "p").relocations[0];
    assert_eq!((relocation.target, relocation.kind), (Target::Function(kernel.calls[0]), Kind::Function));
    let parameters = image.objects.iter().filter(|object| &*object.name == "a").count();
    assert_eq!(parameters, 2, "the function's own and the caller's argument, not the declaration's");
}

#[test]
fn a_pointer_that_one_module_takes_counts_in_all() {
    let image = linked(&[
        ".extern .func f();\n.visible .entry k()\n{\n.reg .b64 r;\nmov.u64 r, f;\np: .callprototype _ ();\n\
         call r, p;\nret;\n}",
        ".visible .func f()\n{\n.local .b32 frame[4];\nret;\n}",
    ]);
    assert_eq!(image.kernels().next().map(|kernel| (kernel.stack, kernel.indirect)), Some((16, true)));
}

#[test]
fn names_without_linkage_are_each_modules_own() {
    let image = linked(&[".global .u32 x = 1;", ".global .u32 x = 2;", ".visible .global .u32 x = 3;"]);
    let values: Vec<u8> = image.objects.iter().map(|object| bytes(object)[0]).collect();
    let offsets: Vec<Option<u64>> = image.objects.iter().map(|object| object.offset).collect();
    assert_eq!((values, offsets), (vec![1, 2, 3], vec![Some(0), Some(4), Some(8)]));
    let kernel = ".entry k()\n{\nret;\n}\n.func f()\n{\nret;\n}";
    assert_eq!(linked(&[kernel, kernel]).functions.len(), 4);
    assert_eq!(linked(&[".shared .u32 x[8];", ".shared .u32 x[8];"]).objects.len(), 2);
}

#[test]
fn a_visible_definition_wins_over_weak_and_common_ones() {
    let (visible, weak) = (".visible .global .u32 x = 1;", ".weak .global .u32 x = 2;");
    let (common, declared) = (".common .global .u32 x;", ".extern .global .u32 x;");
    for others in [[weak, common, declared], [declared, common, weak], [common, weak, declared]] {
        for place in 0..=3 {
            let mut bodies = others.to_vec();
            bodies.insert(place, visible);
            assert_eq!(winner(&bodies), (1, 1), "{bodies:?}");
        }
        // nvlink crashes on a common one before a weak one.
        assert_eq!(winner(&others), (2, 1), "{others:?}");
    }
}

#[test]
fn the_first_of_several_weak_definitions_counts() {
    let (one, two) = (".weak .global .u32 x = 1;", ".weak .global .u32 x = 2;");
    assert_eq!(winner(&[one, two]), (1, 1));
    assert_eq!(winner(&[two, one]), (2, 1));
    assert_eq!(reported(&[one, two]), [codes::INITIAL_VALUE]);
    assert_eq!(reported(&[one, one]), []);
    let (short, long) = (".weak .func f()\n{\nret;\n}", ".weak .func f()\n{\n.local .b32 l;\nret;\n}");
    let image = linked(&[short, long]);
    assert_eq!((image.functions.len(), image.functions[0].unit, image.functions[0].frame.bytes), (1, 0, 0));
    let strong = linked(&[short, ".visible .func f()\n{\n.local .b32 l;\nret;\n}"]);
    assert_eq!((strong.functions.len(), strong.functions[0].unit), (1, 1));
}

#[test]
fn commons_share_the_memory_of_the_largest() {
    let image = linked(&[
        ".common .global .align 4 .u32 x;",
        ".common .global .align 4 .f32 x[4];",
        ".common .global .align 64 .u8 x;",
        ".visible .global .u8 after;",
    ]);
    let x = object(&image, "x");
    assert_eq!((image.objects.len(), x.size, x.unit, x.linkage), (2, 16, 1, Some(Linkage::Common)));
    // nvlink takes the alignment of the first, which leaves the third module with an address it does not expect.
    assert_eq!((x.alignment, image.global.alignment), (64, 64));
    assert!(image.warnings.is_empty());
}

#[test]
fn a_common_with_an_initial_value_is_a_definition() {
    let (given, other) = (".common .global .u32 x = 3;", ".common .global .u32 x = 4;");
    is_refused(&[given, other], codes::DEFINED_TWICE);
    is_refused(&[given, ".visible .global .u32 x = 4;"], codes::DEFINED_TWICE);
    assert_eq!(winner(&[".weak .global .u32 x = 4;", given]), (3, 1));
    assert_eq!(winner(&[".common .global .u32 x;", given]), (3, 1));
}

#[test]
fn commons_fit_into_definitions() {
    let given = ".visible .global .u32 x[4] = {9};";
    assert_eq!(winner(&[".common .global .u32 x;", given]), (9, 1));
    assert_eq!(winner(&[".weak .global .u32 x[4] = {1};", ".common .global .u32 x;"]), (1, 1));
    is_refused(&[".common .global .u32 x[8];", given], codes::SIZE);
    is_refused(&[given, ".common .global .u32 x[8];"], codes::SIZE);
    // Without an initial value all sizes are the same.
    is_refused(&[".visible .global .u32 x[4];", ".common .global .u32 x;"], codes::SIZE);
    is_refused(&[".common .global .u32 x;", ".weak .global .u32 x[4];"], codes::SIZE);
    is_refused(&[".extern .global .u32 x;", ".common .global .u32 x[4];"], codes::SIZE);
}

#[test]
fn a_name_that_is_defined_twice_is_refused_with_both_places() {
    let bodies =
        [".visible .global .u32 x = 1;", ".visible .global .u32 other;\n.visible .global .u32 x = 1;"];
    let finding = is_refused(&bodies, codes::DEFINED_TWICE);
    assert_eq!(places(&bodies, &finding), [(1, "x".into()), (0, "x".into())]);
    assert_eq!(finding.message, "`x` is defined in another module already");
    for one in
        [".visible .entry k()\n{\nret;\n}", ".visible .func k()\n{\nret;\n}", ".visible .shared .u32 k;"]
    {
        is_refused(&[one, one], codes::DEFINED_TWICE);
    }
    let three = [bodies[0]; 3];
    assert_eq!(reported(&three), [codes::DEFINED_TWICE; 2], "each further one");
}

#[test]
fn a_name_that_nobody_defines_is_refused_with_every_place() {
    let declared = ".extern .global .u32 x;";
    let bodies = [".global .u32 y;", declared, declared];
    let finding = is_refused(&bodies, codes::MISSING);
    assert_eq!(places(&bodies, &finding), [(1, "x".into()), (2, "x".into())]);
    let bodies = [declared, declared, ".global .u32 x = 7;"];
    let finding = is_refused(&bodies, codes::MISSING);
    assert_eq!(places(&bodies, &finding), [(0, "x".into()), (1, "x".into()), (2, "x".into())]);
    assert_eq!(finding.related[1].message, "only this module sees the one here");
    is_refused(&[".extern .shared .u32 x[4];", ".global .u32 y;"], codes::MISSING);
}

#[test]
fn a_function_is_missing_if_something_uses_it() {
    let caller = "\n.visible .entry k()\n{\ncall f;\nret;\n}";
    let other = ".global .u32 y;";
    assert_eq!(reported(&[".extern .func f();", other]), []);
    is_refused(&[&format!(".extern .func f();{caller}"), other], codes::MISSING);
    is_refused(&[".extern .func f();\n.visible .global .u64 p = f;", other], codes::MISSING);
    let hidden = ".func f()\n{\nret;\n}";
    is_refused(&[&format!(".extern .func f();{caller}"), hidden], codes::MISSING);
    for name in ["vprintf", "malloc", "free", "__assertfail"] {
        let text = format!(".extern .func f();{caller}").replace("f()", &format!("{name}()"));
        assert_eq!(reported(&[&text.replace("call f", &format!("call {name}")), other]), [], "{name}");
    }
}

#[test]
fn for_the_linker_names_may_remain_open() {
    let declared = ".extern .global .align 16 .u32 x;\n.visible .global .u64 p = x;";
    let second = ".extern .global .u32 x;\n.visible .global .u64 q = x;\n.extern .func f();";
    let texts = [declared, second].map(|body| headed("9.0", "sm_90", body));
    let image = link_sources(&sources(&texts), true).expect("links");
    let x = object(&image, "x");
    assert_eq!((x.offset, x.linkage, x.unit), (None, Some(Linkage::Extern), 0));
    let target = Target::Object(id(&image, "x"), None);
    assert_eq!(
        [object(&image, "p"), object(&image, "q")].map(|object| object.relocations[0].target),
        [target; 2]
    );
    assert_eq!(image.global.bytes, 16);
}

#[test]
fn a_module_on_its_own_defines_what_it_declares() {
    let text = headed("9.0", "sm_90", &format!(".extern .global .u32 x;\n{USER}"));
    for (relocatable, offset) in [(false, Some(0)), (true, None)] {
        let source = read(&text, Options { relocatable, ..Options::default() });
        let image = link_sources(&[source], relocatable).expect("links");
        assert_eq!(object(&image, "x").offset, offset);
    }
}

#[test]
fn memory_of_the_launch_belongs_to_each_module() {
    let dynamic = |kernel: &str, fixed: u32| {
        format!(
            ".extern .shared .u32 x[];\n.visible .entry {kernel}()\n{{\n.shared .u32 s[{fixed}];\n.reg .b32 r;\n\
             ld.shared.u32 r, [s];\nst.shared.u32 [x], r;\nret;\n}}"
        )
    };
    let image = linked(&[&dynamic("j", 4), &dynamic("k", 8)]);
    assert_eq!(image.objects.iter().filter(|object| object.is_dynamic_shared()).count(), 2);
    let starts: Vec<Option<u64>> = image.kernels().map(|kernel| kernel.dynamic_shared).collect();
    assert_eq!(starts, [Some(16), Some(32)]);
    let image = linked(&[".extern .shared .u32 x[];", ".visible .shared .u32 x[8];"]);
    assert_eq!((image.objects.len(), object(&image, "x").size), (1, 32), "a definition counts");
    let others = [".extern .global .u32 x[];", ".extern .func x();\n.visible .global .u64 p = x;"];
    for (other, code) in others.into_iter().zip([codes::SPACE, codes::KIND]) {
        assert_eq!(reported(&[".extern .shared .u32 x[];", other]), [codes::MISSING, code], "{other}");
    }
}

#[test]
fn an_alias_is_a_definition() {
    let alias = ".visible .func f()\n{\n.local .b32 l;\nret;\n}\n.visible .func g();\n.alias g, f;";
    let caller = ".extern .func g();\n.visible .entry k()\n{\ncall g;\nret;\n}";
    for bodies in [[caller, alias], [alias, caller]] {
        let image = linked(&bodies);
        let kernel = image.kernels().next().expect("there is one");
        assert_eq!(&*image.function(kernel.calls[0]).name, "f");
        assert_eq!((image.functions.len(), kernel.stack), (2, 4));
    }
    is_refused(&[".visible .func g()\n{\nret;\n}", alias], codes::DEFINED_TWICE);
    // nvlink stumbles over this one.
    let image = linked(&[".weak .func g()\n{\nret;\n}", alias]);
    assert_eq!(image.functions.len(), 1);
}

#[test]
fn there_must_be_an_architecture_for_all() {
    let pair = |a: &str, b: &str| {
        let texts = [headed("9.0", a, ".global .u32 x;"), headed("8.8", b, ".global .u32 y;")];
        let found = found(link_sources(&sources(&texts), false));
        found.into_iter().map(|finding| (finding.code, finding.unit())).collect::<Vec<_>>()
    };
    for (a, b) in [("sm_90", "sm_80"), ("sm_80", "sm_90a"), ("sm_100f", "sm_103"), ("sm_100f", "sm_100a")] {
        assert_eq!(pair(a, b), [], "{a} {b}");
    }
    assert_eq!(pair("sm_90a", "sm_100"), [(codes::TARGETS, 0)]);
    assert_eq!(pair("sm_100f", "sm_120"), [(codes::TARGETS, 0)]);
    assert_eq!(pair("sm_103", "sm_100a"), [(codes::TARGETS, 1)]);
}

#[test]
fn what_was_assembled_for_one_architecture_fits() {
    let options =
        Options { arch: softwarp_isa::Target::from_name("sm_90"), relocatable: true, strict: false };
    let texts = [headed("9.0", "sm_90", ".global .u32 x;"), headed("7.8", "sm_80", ".global .u32 y;")];
    let sources: Vec<Source> = texts.iter().map(|text| read(text, options)).collect();
    assert_eq!(found(link_sources(&sources, false)).len(), 0);
}

#[test]
fn addresses_must_have_one_size() {
    let text = headed("9.0", "sm_90", ".global .u32 x;");
    let mut sources = sources(&[text.clone(), text]);
    sources[1].checked.header.address_bits = 32;
    let findings = link_sources(&sources, false).expect_err("they differ");
    assert_eq!((findings[0].code, findings[0].unit()), (codes::ADDRESS_SIZE, 1));
    assert_eq!(findings[0].related[0].location.unit, 0);
}

#[test]
fn constants_of_all_modules_share_a_bank() {
    let bodies = [".const .u8 a[40000];", ".const .u8 b[30000];"];
    let finding = is_refused(&bodies, codes::BANK_FULL);
    assert_eq!(places(&bodies, &finding), [(1, "b".into())]);
    assert_eq!(linked(&[bodies[0], ".const .u8 b[20000];"]).constant[0].bytes, 60000);
}

#[test]
fn warnings_come_with_errors_too() {
    let bodies = [
        ".extern .global .u32 x;\n.extern .global .u32 y;",
        ".visible .global .f32 x;",
        ".const .u8 a[40000];",
        ".const .u8 b[40000];",
    ];
    assert_eq!(reported(&bodies), [codes::TYPE, codes::MISSING]);
    let severities: Vec<Severity> = found(link(&bodies)).iter().map(|finding| finding.severity()).collect();
    assert_eq!(severities, [Severity::Warning, Severity::Error]);
    let late = [bodies[0].split('\n').next().expect("a line"), bodies[1], bodies[2], bodies[3]];
    assert_eq!(reported(&late), [codes::TYPE, codes::BANK_FULL]);
}

#[test]
fn many_names_in_many_modules_link() {
    const COUNT: usize = 20_000;
    let define = |i: usize| format!(".visible .global .u32 name_{i} = {i};\n.global .u32 own;\n");
    let (mut defining, mut declaring) = (String::new(), String::new());
    for i in 0..COUNT {
        defining += &define(i).replace("own", &format!("own_{i}"));
        declaring += &format!(".extern .global .u32 name_{i};\n.visible .global .u64 p_{i} = name_{i};\n");
    }
    let image = linked(&[&declaring, &defining]);
    assert_eq!(image.objects.len(), 3 * COUNT);
    let last = object(&image, &format!("p_{}", COUNT - 1));
    let Target::Object(id, None) = last.relocations[0].target else { panic!("{last:?}") };
    assert_eq!(&*image.object(id).name, format!("name_{}", COUNT - 1));
}
