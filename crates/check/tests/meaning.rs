//! What a checked module says beyond its verdict: initial values, sizes, members of opaque variables, who may
//! call whom.

use softwarp_check::checked::{CheckedModule, Field, FieldValue, Function, Run, Variable};
use softwarp_check::{Options, resolve};
use softwarp_isa::space::opaque::Member;
use softwarp_syntax::{Module, Severity, parse};

/// A module's meaning, and the codes of what was said about it.
struct Meaning {
    module: Module,
    checked: CheckedModule,
    codes: Vec<&'static str>,
}

impl Meaning {
    fn of(text: &str, options: Options) -> Meaning {
        let source = format!(".version 9.0\n.target sm_90\n.address_size 64\n{text}\n");
        let parsed = parse(&source);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let (checked, diagnostics) = resolve(&parsed.module, &source, options);
        let errors: Vec<_> = diagnostics.iter().filter(|one| one.severity() == Severity::Error).collect();
        assert!(errors.is_empty(), "{text}: {errors:?}");
        let codes = diagnostics.iter().map(|diagnostic| diagnostic.code.0).collect();
        Meaning { module: parsed.module, checked, codes }
    }

    fn variable(&self, name: &str) -> &Variable {
        let mut all = self.checked.variables.iter();
        all.find(|variable| self.module.name(variable.name) == name).expect("a variable")
    }

    fn function(&self, name: &str) -> &Function {
        let mut all = self.checked.functions.iter();
        all.find(|function| self.module.name(function.name) == name).expect("a function")
    }

    fn runs(&self, name: &str) -> &[Run] {
        &self.variable(name).initialiser.as_ref().expect("an initialiser").runs
    }

    fn fields(&self, name: &str) -> &[Field] {
        &self.variable(name).initialiser.as_ref().expect("an initialiser").fields
    }
}

const STRICT: Options = Options { arch: None, relocatable: false, strict: true };

fn run(at: u64, bytes: &[u8]) -> Run {
    Run { at, bytes: bytes.to_vec() }
}

#[test]
fn short_rows_are_packed_as_the_assembler_does_or_padded_as_the_manual_says() {
    let text = ".global .u8 x[2][2] = {{1},{3}};";
    let (packed, padded) = (Meaning::of(text, Options::default()), Meaning::of(text, STRICT));
    assert_eq!(packed.runs("x"), [run(0, &[1, 3])]);
    assert_eq!(padded.runs("x"), [run(0, &[1]), run(2, &[3])]);
    assert_eq!((packed.codes, padded.codes), (vec!["W0401"], vec!["W0401"]));
}

#[test]
fn rows_of_rows_are_padded_too() {
    let text = ".global .u8 x[2][2][2] = {{{1}},{{2,3},{4}}};";
    assert_eq!(Meaning::of(text, Options::default()).runs("x"), [run(0, &[1, 2, 3, 4])]);
    assert_eq!(Meaning::of(text, STRICT).runs("x"), [run(0, &[1]), run(4, &[2, 3, 4])]);
}

#[test]
fn vectors_count_as_elements_of_their_rows() {
    let text = ".global .v2 .u8 x[2][2] = {{{1,2}},{{3,4},{5,6}}};";
    assert_eq!(Meaning::of(text, STRICT).runs("x"), [run(0, &[1, 2]), run(4, &[3, 4, 5, 6])]);
}

#[test]
fn a_short_row_at_the_end_is_no_difference_and_no_warning() {
    let text = ".global .u8 x[3][2] = {{1,2},{3}};";
    for options in [Options::default(), STRICT] {
        let meaning = Meaning::of(text, options);
        assert_eq!(meaning.runs("x"), [run(0, &[1, 2, 3])]);
        assert!(meaning.codes.is_empty(), "{:?}", meaning.codes);
    }
}

#[test]
fn an_empty_row_is_padded_like_any_other() {
    let text = ".global .u8 x[2][2] = {{},{3}};";
    assert_eq!(Meaning::of(text, Options::default()).runs("x"), [run(0, &[3])]);
    assert_eq!(Meaning::of(text, STRICT).runs("x"), [run(2, &[3])]);
}

#[test]
fn an_open_array_pads_its_rows_too() {
    let meaning = Meaning::of(".global .u8 x[][3] = {{1},{2}};", STRICT);
    assert_eq!(meaning.runs("x"), [run(0, &[1]), run(3, &[2])]);
    assert_eq!(meaning.variable("x").size(), Some(6));
}

#[test]
fn padding_takes_no_memory() {
    let meaning = Meaning::of(".global .u32 x[2][1099511627776] = {{1},{2}};", STRICT);
    assert_eq!(meaning.runs("x"), [run(0, &[1, 0, 0, 0]), run(1 << 42, &[2, 0, 0, 0])]);
    assert_eq!(meaning.variable("x").size(), Some(1 << 43));
}

#[test]
fn addresses_stand_on_zeros_where_their_rows_begin() {
    let text = ".global .u32 g;\n.global .u64 x[2][2] = {{g},{g+4,7}};";
    let meaning = Meaning::of(text, STRICT);
    let places = |meaning: &Meaning| {
        let data = meaning.variable("x").initialiser.as_ref().expect("an initialiser");
        data.addresses.iter().map(|address| (address.at, address.offset)).collect::<Vec<_>>()
    };
    assert_eq!(places(&meaning), [(0, 0), (16, 4)]);
    assert_eq!(
        meaning.runs("x"),
        [run(0, &[0; 8]), run(16, &[0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0])]
    );
    assert_eq!(places(&Meaning::of(text, Options::default())), [(0, 0), (8, 4)]);
}

#[test]
fn a_list_for_an_f16x2_ends_with_the_variable() {
    let one = [0, 0, 0x80, 0x3f];
    let meaning = Meaning::of(".global .f16x2 x = {1.0, 2.0};", Options::default());
    assert_eq!(meaning.runs("x"), [run(0, &one)]);
    let meaning = Meaning::of(".global .f16x2 x[2] = {{1.0, 2.0}, {3.0, 4.0}};", Options::default());
    assert_eq!(meaning.runs("x"), [run(0, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40])]);
}

#[test]
fn sizes_are_exact_below_2_to_the_63() {
    let size = |dimensions: &str| {
        Meaning::of(&format!(".global .u64 x{dimensions};"), Options::default()).variable("x").size()
    };
    assert_eq!(size(""), Some(8));
    assert_eq!(size("[3][5]"), Some(120));
    assert_eq!(size("[1152921504606846975]"), Some((1 << 63) - 8));
    assert_eq!(size("[1152921504606846976]"), None);
    assert_eq!(size("[2305843009213693952]"), None);
    assert_eq!(size("[4294967296][4294967296]"), None);
}

#[test]
fn members_of_opaque_variables_have_numbers_and_words() {
    use FieldValue::{Number, Word};
    let field = |element, member, value| Field { element, member, value };
    let text = ".global .texref t = { width = 2 + 3, filter_mode = linear };\n\
                .global .texref a[3] = { { width = 5 }, { height = -1, addr_mode_0 = wrap } };\n\
                .global .texref stray[2] = { width = 5, { height = 6 } };\n\
                .global .texref odd = { width = 1.5, height = 0f3f800000, depth = WARP_SZ };";
    let meaning = Meaning::of(text, Options::default());
    assert_eq!(
        meaning.fields("t"),
        [field(0, Member::Width, Number(5)), field(0, Member::FilterMode, Word("linear"))]
    );
    assert_eq!(
        meaning.fields("a"),
        [
            field(0, Member::Width, Number(5)),
            field(1, Member::Height, Number(u64::MAX)),
            field(1, Member::AddrMode0, Word("wrap")),
        ]
    );
    assert_eq!(meaning.fields("stray"), [field(0, Member::Height, Number(6))]);
    assert_eq!(
        meaning.fields("odd"),
        [
            field(0, Member::Width, Number(1.5f64.to_bits())),
            field(0, Member::Height, Number(0x3f80_0000)),
            field(0, Member::Depth, Number(32)),
        ]
    );
}

#[test]
fn who_may_be_called_from_where_is_known() {
    let text = ".func direct() { ret; }\n.func moved() { ret; }\n.func listed() { ret; }\n.func tabled() { ret; }\n\
                .func both() { ret; }\n.func none() { ret; }\n\
                .global .u64 table[1] = { tabled };\n\
                .entry indirect()\n{\n.reg .u64 p;\ncall direct;\ncall both;\nmov.u64 p, moved;\nmov.u64 p, both;\n\
                P: .callprototype _ ();\ncall p, P;\n\
                L: .calltargets listed;\ncall p, L;\nret;\n}\n\
                .entry plain()\n{\ncall direct;\nret;\n}";
    let meaning = Meaning::of(text, Options::default());
    let taken: Vec<&str> = ["direct", "moved", "listed", "tabled", "both", "none"]
        .into_iter()
        .filter(|name| meaning.function(name).address_taken)
        .collect();
    assert_eq!(taken, ["moved", "listed", "tabled", "both"]);
    assert!(meaning.function("indirect").calls_indirectly);
    assert!(!meaning.function("plain").calls_indirectly);
}

#[test]
fn a_declaration_before_its_definition_keeps_that_its_address_was_taken() {
    let text = ".func f();\n.entry k()\n{\n.reg .u64 p;\nmov.u64 p, f;\nret;\n}\n.func f() { ret; }";
    assert!(Meaning::of(text, Options::default()).function("f").address_taken);
}

#[test]
fn aliases_name_the_function_with_the_body() {
    let text = ".visible .func f() { ret; }\n.visible .func a();\n.alias a, f;";
    let meaning = Meaning::of(text, Options::default());
    let named: Vec<(&str, &str)> = meaning
        .checked
        .aliases
        .iter()
        .map(|&(name, of)| {
            (meaning.module.name(name), meaning.module.name(meaning.checked.function(of).name))
        })
        .collect();
    assert_eq!(named, [("a", "f")]);
}

#[test]
fn an_alias_has_no_alias() {
    let source = ".version 9.0\n.target sm_90\n.visible .func f() { ret; }\n.visible .func a();\n.alias a, f;\n\
                  .visible .func b();\n.alias b, a;\n";
    let parsed = parse(source);
    let (_, diagnostics) = resolve(&parsed.module, source, Options::default());
    let messages: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert!(messages.contains(&"`a` is an alias itself"), "{messages:?}");
}
