//! What the forms of `cvt` and `cvt.pack` are, mean and need: the rules of the specification, each
//! asked of the whole table. `golden.rs` holds the table to the assembler row by row.

use softwarp_isa::cvt::{Modifier, ModifierKind, Modifiers, Opcode, Operand, OperandName};
use softwarp_isa::{Class, CvtForm, Semantics, Target, Type, Version};
use softwarp_num::{Format, Rounding, Saturation, Scaling};

fn form(spelling: &str) -> CvtForm {
    CvtForm::parse(spelling).unwrap_or_else(|error| panic!("{spelling}: {error}"))
}

fn is_legal(spelling: &str) -> bool {
    CvtForm::parse(spelling).is_ok()
}

fn target(name: &str) -> Target {
    name.parse().unwrap()
}

fn cvts() -> impl Iterator<Item = CvtForm> {
    CvtForm::all().filter(|form| form.opcode() == Opcode::Cvt)
}

fn is_float(ty: Type) -> bool {
    matches!(ty.class(), Class::Float | Class::Fixed)
}

/// The destinations that a source type has.
fn destinations(from: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> =
        cvts().filter(|form| form.atype().name() == from).map(|form| form.dtype().name()).collect();
    names.sort();
    names.dedup();
    names
}

const NARROW_X2: [&str; 5] = ["e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"];
const NARROW_X4: [&str; 5] = ["e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"];
const SCALARS: &str = "u8 u16 u32 u64 s8 s16 s32 s64 bf16 f16 f32 f64";

#[test]
fn the_forms_of_9_1_and_9_4_are_all_there() {
    let count = |name: &str, ptx| {
        cvts().filter(|form| form.min_version(target(name)).is_some_and(|least| least <= ptx)).count()
    };
    let (v91, v94) = (Version::new(9, 1), Version::new(9, 4));
    assert_eq!([count("sm_90a", v91), count("sm_100a", v91), count("sm_120a", v91)], [856, 931, 913]);
    assert_eq!([count("sm_90a", v94), count("sm_100a", v94), count("sm_103a", v94)], [856, 971, 971]);
    assert_eq!([count("sm_120a", v94), count("sm_107a", v94)], [953, 1268]);
}

#[test]
fn modifiers_may_stand_in_any_order() {
    let canonical = form("cvt.rn.relu.satfinite.scaled::n2::ue8m0.bf16x2.e5m2x2");
    for spelling in [
        "cvt.bf16x2.e5m2x2.rn.relu.scaled::n2::ue8m0.satfinite",
        "bf16x2.satfinite.e5m2x2.scaled::n2::ue8m0.relu.rn",
        ".rn.satfinite.relu.scaled::n2::ue8m0.bf16x2.e5m2x2",
        "  cvt.rn.relu.satfinite.scaled::n2::ue8m0.bf16x2.e5m2x2\n",
    ] {
        assert_eq!(form(spelling), canonical, "{spelling}");
    }
    assert_ne!(form("rn.f16.f64"), form("f64.f16"));
}

#[test]
fn all_144_pairs_of_plain_types_convert() {
    for to in SCALARS.split(' ') {
        for from in SCALARS.split(' ') {
            assert!(
                cvts().any(|form| form.dtype().name() == to && form.atype().name() == from),
                "{to}.{from}"
            );
        }
    }
}

#[test]
fn float_roundings_are_for_results_that_are_floats() {
    for form in cvts() {
        let (to, from) = (form.dtype(), form.atype());
        if form.modifiers().rounding().is_some_and(|r| r.kind() == ModifierKind::FloatRounding) {
            assert!(is_float(to), "{form}");
            // Among f16, f32 and f64 only narrowing rounds.
            let plain = |ty: Type| ty.is_fundamental() && ty.lanes() == 1 && is_float(ty);
            assert!(!(plain(to) && plain(from)) || to.bits() < from.bits(), "{form}");
        }
    }
    assert!(is_legal("rn.f32.s32") && is_legal("rn.f16.f32") && !is_legal("rn.f32.f16"));
}

#[test]
fn integer_roundings_are_for_integral_results() {
    for form in cvts() {
        let (to, from) = (form.dtype(), form.atype());
        let rounding = form.modifiers().rounding();
        let integral = rounding.is_some_and(|r| r.kind() == ModifierKind::IntegerRounding);
        assert!(!integral || is_float(from) && (to.is_int() || to == from), "{form}");
        assert!(integral || !(to.is_int() && is_float(from)), "float to integer needs one: {form}");
    }
    assert!(is_legal("rni.f32.f32") && !is_legal("rni.f16.f32"));
}

#[test]
fn a_rounding_is_required_between_integers_and_floats() {
    assert_eq!(CvtForm::parse("cvt.f32.s32").unwrap_err().code(), "cvt-missing-rounding");
    assert_eq!(CvtForm::parse("cvt.s32.f64").unwrap_err().code(), "cvt-missing-rounding");
}

#[test]
fn sat_is_legal_only_where_it_can_matter() {
    let sat = |form: &CvtForm| form.modifiers().has(Modifier::Sat);
    let integer_pairs = cvts().filter(sat).filter(|form| form.dtype().is_int() && form.atype().is_int());
    assert_eq!(integer_pairs.count(), 38);
    assert!(is_legal("sat.u8.s8") && is_legal("sat.s8.u8") && !is_legal("sat.s16.u8"));
    for form in cvts().filter(sat) {
        let plain = |ty: Type| ty.is_int() || matches!(ty, Type::F16 | Type::F32 | Type::F64);
        assert!(plain(form.dtype()) && plain(form.atype()), "{form}");
    }
}

#[test]
fn ftz_is_legal_only_where_an_f32_takes_part() {
    for form in cvts().filter(|form| form.modifiers().has(Modifier::Ftz)) {
        assert!(form.types().contains(&Type::F32), "{form}");
    }
}

#[test]
fn the_listed_forms_are_there() {
    for spelling in [
        "rni.ftz.sat.s32.f32",
        "rn.ftz.sat.f32.s32",
        "rn.relu.satfinite.f16x2.f32",
        "rz.f16x2.f32",
        "rn.relu.satfinite.bf16x2.f32",
        "rz.bf16x2.f32",
        "rna.tf32.f32",
        "rna.satfinite.tf32.f32",
        "rn.satfinite.e4m3x2.f32",
        "rn.satfinite.relu.e4m3x2.f32",
        "rn.satfinite.e5m2x2.f32",
        "rn.satfinite.relu.e5m2x2.f32",
        "rn.f16x2.e4m3x2",
        "rn.relu.f16x2.e4m3x2",
        "rn.f16x2.e5m2x2",
        "rn.relu.f16x2.e5m2x2",
        "rn.satfinite.e2m1x2.f32",
        "rn.satfinite.relu.e2m1x2.f32",
        "rs.satfinite.e4m3x4.f32",
        "rs.relu.satfinite.e4m3x4.f32",
        "rs.satfinite.e2m1x4.f32",
        "rs.relu.satfinite.e2m1x4.f32",
    ] {
        form(spelling);
    }
}

#[test]
fn the_unlisted_forms_are_there_too() {
    for spelling in [
        "rn.satfinite.e2m3x2.f32",
        "rn.satfinite.e3m2x2.f16x2",
        "rz.ue8m0x2.f32",
        "rn.satfinite.s2f6x2.f32",
        "rs.satfinite.e5m2x4.f32",
        "rs.satfinite.e2m3x4.f32",
        "rs.satfinite.e3m2x4.f32",
        "rn.satfinite.e4m3x2.bf16x2",
        "rs.f16x2.f32",
        "rs.relu.satfinite.bf16x2.f32",
        "rn.f16x2.e2m3x2",
        "rn.f16x2.e2m1x2",
        "rn.bf16x2.ue8m0x2",
        "rn.bf16x2.s2f6x2",
        "rn.relu.satfinite.tf32.f32",
    ] {
        form(spelling);
    }
}

#[test]
fn satfinite_is_mandatory_for_fp8_fp6_and_fp4() {
    for name in NARROW_X2.into_iter().chain(NARROW_X4) {
        let to = Type::from_name(name).unwrap();
        let mut forms = cvts().filter(|form| form.dtype() == to).peekable();
        assert!(forms.peek().is_some(), "{name}");
        assert!(forms.all(|form| form.modifiers().has(Modifier::Satfinite)), "{name}");
        let error = CvtForm::parse(&format!("rn.{name}.f32")).unwrap_err();
        assert!(error.problems.iter().any(|p| p.kind.code() == "cvt-missing-modifier"), "{name}");
    }
}

#[test]
fn the_matrix_of_alternate_formats() {
    let to_narrow_x2 = |from: &str| {
        let all = destinations(from);
        NARROW_X2.iter().all(|name| all.contains(name))
    };
    let ints = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];
    let plus = |names: &[&'static str]| {
        let mut all: Vec<&str> = ints.iter().chain(names).copied().collect();
        all.sort();
        all
    };
    assert_eq!(destinations("f16"), plus(&["bf16", "f16", "f32", "f64"]));
    assert_eq!(destinations("bf16"), plus(&["bf16", "f16", "f32", "f64"]));
    assert!(to_narrow_x2("f16x2") && to_narrow_x2("bf16x2") && to_narrow_x2("f32"));
    assert!(!destinations("f16x2").contains(&"ue8m0x2"));
    assert!(destinations("bf16x2").contains(&"ue8m0x2") && destinations("f32").contains(&"ue8m0x2"));
    for name in ["f16", "bf16", "tf32", "f64", "s2f6x2"] {
        assert!(destinations("f32").contains(&name), "{name}");
    }
    for from in NARROW_X2 {
        assert_eq!(destinations(from), ["bf16x2", "f16x2"], "{from}");
        assert_eq!(
            form(&format!("rn.bf16x2.{from}")).min_version(target("sm_100a")),
            Some(Version::new(9, 2))
        );
    }
    assert_eq!(destinations("ue8m0x2"), ["bf16x2"]);
    assert_eq!(destinations("s2f6x2"), ["bf16x2"]);
    assert_eq!(destinations("tf32"), [""; 0]);
    for x4 in NARROW_X4 {
        assert_eq!(destinations(x4), [""; 0], "{x4}");
    }
}

#[test]
fn pairs_outside_the_matrix_are_refused() {
    for spelling in
        ["rn.f32.e4m3x2", "rn.e5m2x2.e4m3x2", "rn.f16x2.ue8m0x2", "rn.f32.tf32", "rn.ue8m0x2.f16x2"]
    {
        assert_eq!(CvtForm::parse(spelling).unwrap_err().code(), "cvt-no-conversion", "{spelling}");
    }
}

#[test]
fn ue8m0_takes_directed_roundings_down_and_no_relu() {
    assert!(is_legal("rz.ue8m0x2.f32") && is_legal("rp.satfinite.ue8m0x2.bf16x2"));
    assert!(!is_legal("rn.ue8m0x2.f32") && !is_legal("rz.relu.ue8m0x2.f32"));
}

#[test]
fn narrow_formats_are_converted_only_packed() {
    for name in ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0", "ue4m3", "ue5m3", "s2f6"] {
        let ty = Type::from_name(name).unwrap();
        assert!(CvtForm::all().all(|form| !form.types().contains(&ty)), "{name}");
        let error = CvtForm::parse(&format!("rn.satfinite.{name}.f32")).unwrap_err();
        assert_eq!(error.code(), "cvt-type-not-converted", "{name}");
    }
    for ty in [Type::U16x2, Type::S16x2, Type::F32x2, Type::B8, Type::B16, Type::B64, Type::Pred] {
        assert!(CvtForm::all().all(|form| !form.types().contains(&ty)), "{ty}");
    }
}

#[test]
fn f16_converts_with_every_plain_type() {
    for other in SCALARS.split(' ') {
        let has = |to: &str, from: &str| cvts().any(|f| f.dtype().name() == to && f.atype().name() == from);
        assert!(has("f16", other) && has(other, "f16"), "{other}");
    }
    assert!(is_legal("rn.f16x2.f32") && is_legal("rn.f16x2.e4m3x2") && is_legal("rn.satfinite.e4m3x2.f16x2"));
    assert!(!is_legal("rn.f16x2.f64") && !is_legal("rni.s32.f16x2"));
}

#[test]
fn needs_of_the_alternate_formats() {
    let least = |spelling: &str, name: &str| {
        form(spelling).min_version(target(name)).map(|version| version.to_string())
    };
    let some = |version: &str| Some(version.to_owned());
    assert_eq!(least("rn.satfinite.e4m3x2.f32", "sm_80"), None);
    assert_eq!(least("rn.satfinite.e4m3x2.f32", "sm_89"), some("8.1"));
    assert_eq!(least("rn.satfinite.e4m3x2.f32", "sm_90"), some("7.8"));
    assert_eq!(least("rna.tf32.f32", "sm_75"), None);
    assert_eq!(least("rna.tf32.f32", "sm_80"), some("7.0"));
    assert_eq!(least("rna.satfinite.tf32.f32", "sm_80"), some("8.1"));
    assert_eq!(least("rs.f16x2.f32", "sm_100a"), some("8.7"));
    for name in ["sm_90a", "sm_100", "sm_100f", "sm_110a", "sm_120a"] {
        assert_eq!(least("rs.f16x2.f32", name), None, "{name}");
    }
    // The manual's word for targets that were not measured.
    assert_eq!(least("u8.u8", "sm_10"), some("1.0"));
    assert_eq!(least("f64.f32", "sm_12"), None);
    assert_eq!(least("f64.f32", "sm_13"), some("1.2"));
    assert_eq!(least("rn.satfinite.e2m1x2.f32", "sm_101a"), some("8.6"));
    assert_eq!(least("rn.satfinite.e2m1x2.bf16x2", "sm_101a"), None);
}

#[test]
fn availability_in_words() {
    let words = |spelling: &str| form(spelling).availability_in_words();
    assert_eq!(words("u8.u8"), "every target, PTX 1.0");
    assert_eq!(words("rn.bf16.f32"), "sm_80 or newer, PTX 7.0");
    assert_eq!(words("rn.f16x2.e4m3x2"), "sm_89, PTX 8.1; sm_90 or newer, PTX 7.8");
    assert_eq!(
        words("rn.f16x2.e2m1x2"),
        "the a and f variants of sm_100, sm_101, sm_103, sm_107, sm_110, sm_120 and sm_121, PTX 8.6"
    );
    assert_eq!(words("rs.f16x2.f32"), "the a variants of sm_100, sm_103 and sm_107, PTX 8.7");
    assert_eq!(words("rz.satfinite.s2f6x2.f32"), "sm_107a, PTX 9.4");
    assert_eq!(words("rn.pzo.f16.f32"), "the a and f variants of sm_107, PTX 9.4");
}

#[test]
fn cvt_pack_has_eight_forms() {
    let packs: Vec<String> =
        CvtForm::all().filter(|form| form.opcode() == Opcode::CvtPack).map(|form| form.to_string()).collect();
    assert_eq!(
        packs,
        [
            "cvt.pack.sat.u16.s32",
            "cvt.pack.sat.s16.s32",
            "cvt.pack.sat.u8.s32.b32",
            "cvt.pack.sat.s8.s32.b32",
            "cvt.pack.sat.u4.s32.b32",
            "cvt.pack.sat.s4.s32.b32",
            "cvt.pack.sat.u2.s32.b32",
            "cvt.pack.sat.s2.s32.b32",
        ]
    );
    for spelling in ["u32.s32", "b16.s32", "u16.u32", "u16.s64", "u8.s32.u32", "u16.s32.b32", "u8.s32"] {
        let error = CvtForm::parse(&format!("cvt.pack.sat.{spelling}")).unwrap_err();
        assert_eq!(error.code(), "cvt-no-conversion", "{spelling}");
    }
    assert_eq!(CvtForm::parse("cvt.pack.u16.s32").unwrap_err().code(), "cvt-missing-modifier");
    assert_eq!(CvtForm::parse("pack.sat.u16.s32"), CvtForm::parse("cvt.pack.sat.u16.s32"));
}

#[test]
fn cvt_pack_needs_sm_72_and_sub_byte_types_sm_75() {
    let least = |spelling: &str, name: &str| form(spelling).min_version(target(name));
    for spelling in ["pack.sat.u16.s32", "pack.sat.s8.s32.b32"] {
        assert_eq!(least(spelling, "sm_70"), None);
        assert_eq!(least(spelling, "sm_72"), Some(Version::new(6, 5)));
        assert_eq!(form(spelling).availability_in_words(), "sm_72 or newer, PTX 6.5");
    }
    for spelling in ["pack.sat.u4.s32.b32", "pack.sat.s2.s32.b32"] {
        assert_eq!(least(spelling, "sm_72"), None);
        assert_eq!(least(spelling, "sm_75"), Some(Version::new(6, 5)));
    }
}

#[test]
fn what_cvt_pack_means() {
    assert_eq!(form("pack.sat.s16.s32").semantics(), Semantics::Pack { to: Format::S16, with_c: false });
    assert_eq!(form("pack.sat.u2.s32.b32").semantics(), Semantics::Pack { to: Format::U2, with_c: true });
}

#[test]
fn operands_have_their_shapes() {
    let operands = |spelling: &str| {
        form(spelling).operands().iter().map(Operand::to_string).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(operands("rn.f16.f32"), "d, a");
    assert_eq!(operands("rn.f16x2.f32"), "d, a, b");
    assert_eq!(operands("rs.f16x2.f32"), "d, a, b, rbits");
    assert_eq!(operands("rs.satfinite.e2m1x4.f32"), "d, {a, b, e, f}, rbits");
    assert_eq!(operands("rn.bf16x2.e4m3x2"), "d, a");
    assert_eq!(operands("rn.scaled::n2::ue8m0.bf16x2.e4m3x2"), "d, a, scale-factor");
    assert_eq!(operands("pack.sat.u8.s32.b32"), "d, a, b, c");
    assert_eq!(form("rn.f16.f32").operand_type(OperandName::B), None);
    let scaled = form("rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32");
    assert_eq!(scaled.operand_type(OperandName::ScaleFactor), Some(Type::B8));
    assert!(!scaled.accepts(OperandName::C, Type::B32));
}

#[test]
fn narrow_values_may_live_in_wider_registers() {
    let wide = form("rni.u8.f32");
    for ty in [Type::U8, Type::B16, Type::S32, Type::B64] {
        assert!(wide.accepts(OperandName::D, ty), "{ty}");
    }
    assert!(!form("u32.u32").accepts(OperandName::A, Type::U16));
    assert!(!form("rni.u8.bf16").accepts(OperandName::D, Type::U32));
    let pack = form("pack.sat.u8.s32.b32");
    assert!(pack.accepts(OperandName::A, Type::S32) && pack.accepts(OperandName::D, Type::U32));
    // As the assembler has it: wider integers, but no floats.
    assert!(pack.accepts(OperandName::A, Type::S64) && pack.accepts(OperandName::D, Type::B128));
    assert!(!pack.accepts(OperandName::A, Type::F32) && !pack.accepts(OperandName::D, Type::F32));
    assert!(pack.accepts(OperandName::C, Type::F32) && !pack.accepts(OperandName::C, Type::B16));
}

#[test]
fn constants_are_for_single_sources() {
    let takes = |spelling: &str, name| form(spelling).accepts_immediate(name);
    assert!(takes("rn.f16.f32", OperandName::A) && takes("u8.s64", OperandName::A));
    assert!(takes("rs.satfinite.e4m3x4.f32", OperandName::F) && takes("pack.sat.u8.s32.b32", OperandName::C));
    assert!(!takes("rn.f16.f32", OperandName::D) && !takes("rn.f16x2.e4m3x2", OperandName::A));
    assert!(!takes("rs.f16x2.f32", OperandName::Rbits) && !takes("rn.f16.f32", OperandName::B));
    assert!(!takes("rn.scaled::n2::ue8m0.bf16x2.e4m3x2", OperandName::ScaleFactor));
}

#[test]
fn every_form_says_what_its_words_say() {
    for form in cvts() {
        let Semantics::Cvt(cvt) = form.semantics() else { panic!("{form}") };
        let modifiers: Modifiers = form.modifiers();
        let element = cvt.element;
        assert_eq!(Some(cvt.dst()), form.dtype().packed(), "{form}");
        assert_eq!(Some(cvt.src()), form.atype().packed(), "{form}");
        let sources = [OperandName::A, OperandName::B, OperandName::E, OperandName::F];
        let given = sources.into_iter().filter(|name| form.has_operand(*name)).count();
        assert_eq!(given, if cvt.packed_source { 1 } else { usize::from(cvt.lanes) }, "{form}");
        assert_eq!(element.rounding == Rounding::Stochastic, form.has_operand(OperandName::Rbits), "{form}");
        assert_eq!(element.scaling != Scaling::None, form.has_operand(OperandName::ScaleFactor), "{form}");
        assert_eq!(cvt.shared_scale, modifiers.has(Modifier::ScaledN1), "{form}");
        assert_eq!(element.ftz, modifiers.has(Modifier::Ftz), "{form}");
        assert_eq!(element.relu, modifiers.has(Modifier::Relu), "{form}");
        assert_eq!(element.positive_zero, modifiers.has(Modifier::Pzo), "{form}");
        assert_eq!(element.saturation == Saturation::Clamp, modifiers.has(Modifier::Sat), "{form}");
        assert_eq!(element.saturation == Saturation::Finite, modifiers.has(Modifier::Satfinite), "{form}");
        assert!(!element.integral || !element.dst.is_int(), "{form}");
    }
}

#[test]
fn what_some_forms_mean() {
    let element = |spelling: &str| match form(spelling).semantics() {
        Semantics::Cvt(cvt) => cvt.element,
        Semantics::Pack { .. } => panic!("{spelling}"),
    };
    assert_eq!(element("f32.f16").rounding, Rounding::NearestEven);
    assert_eq!(element("bf16.f16").rounding, Rounding::NearestEven);
    assert_eq!(element("rpi.f32.f32").rounding, Rounding::Up);
    assert!(
        element("rpi.f32.f32").integral && !element("rpi.s32.f32").integral && !element("f32.f32").integral
    );
    assert_eq!(element("rna.tf32.f32").rounding, Rounding::NearestAway);
    assert_eq!(element("rn.scaled::n2::ue8m0.bf16x2.s2f6x2").scaling, Scaling::Multiply);
    assert_eq!(element("rn.satfinite.scaled::n2::ue8m0.s2f6x2.bf16x2").scaling, Scaling::Divide);
    assert_eq!(element("rn.satfinite.scaled::n1::ue8m0.e2m1x2.bf16x2").scaling, Scaling::DivideFlushed);
}
