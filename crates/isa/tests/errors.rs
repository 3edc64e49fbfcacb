//! Every kind of error, made to happen; and no text makes anything worse happen.

use proptest::prelude::*;
use softwarp_isa::cvt::{Modifier, Problem, ProblemKind};
use softwarp_isa::{CvtForm, Target, Type, Version};

/// The first code, the text it points at, and the words.
#[track_caller]
fn check(spelling: &str, code: &str, at: &str, words: &str) {
    let error = CvtForm::parse(spelling).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert_eq!(&spelling[error.problems[0].span.clone()], at, "{error}");
    assert_eq!(error.to_string(), words);
}

#[test]
fn nothing() {
    check("", "cvt-empty", "", "nothing to convert: write a form such as cvt.rn.f16.f32");
    check("  ", "cvt-empty", "  ", "nothing to convert: write a form such as cvt.rn.f16.f32");
}

#[test]
fn stray_dot() {
    check("rn..f16.f32", "cvt-stray-dot", "", "a dot with no name after it; did you mean cvt.rn.f16.f32?");
}

#[test]
fn unknown_name() {
    check(
        "cvt.rn.satfinit.e4m3x2.f32",
        "cvt-unknown-name",
        "satfinit",
        "`.satfinit` is neither a modifier nor a type of cvt; `.satfinite` is; did you mean \
         cvt.rn.satfinite.e4m3x2.f32?",
    );
    check("rn.cheese.f32", "cvt-unknown-name", "cheese", "`.cheese` is neither a modifier nor a type of cvt");
    let long = format!("{}\n.f32", "z".repeat(1000));
    let words = CvtForm::parse(&long).unwrap_err().to_string();
    assert!(words.len() < 200 && !words.contains('\n'), "{words}");
}

#[test]
fn duplicate() {
    check(
        "rn.f16.f32.rn",
        "cvt-duplicate-modifier",
        "rn",
        "`.rn` stands twice; did you mean cvt.rn.f16.f32?",
    );
}

#[test]
fn misplaced_pack() {
    check(
        "cvt.sat.pack.u16.s32",
        "cvt-misplaced-pack",
        "pack",
        "`.pack` must follow `cvt` directly; did you mean cvt.pack.sat.u16.s32?",
    );
}

#[test]
fn missing_type() {
    check("cvt", "cvt-missing-type", "", "the types are missing: a destination, then a source");
    check("rn.f32", "cvt-missing-type", "", "a type is missing: there must be a destination and a source");
}

#[test]
fn extra_type() {
    check(
        "rn.f32.f64.s8",
        "cvt-extra-type",
        "s8",
        "`.s8` is one type too many; did you mean cvt.rn.f32.f64?",
    );
}

#[test]
fn type_not_converted() {
    check(
        "rn.e4m3.f32",
        "cvt-type-not-converted",
        "e4m3",
        "cvt does not take `.e4m3`, but .e4m3x2 or .e4m3x4; did you mean cvt.rn.satfinite.e4m3x2.f32?",
    );
    check(
        "rn.bf16x2.pred",
        "cvt-type-not-converted",
        "pred",
        "cvt does not take `.pred`; for example cvt.rn.bf16x2.f32",
    );
}

#[test]
fn no_conversion() {
    check(
        "rn.f32.e4m3x2",
        "cvt-no-conversion",
        "f32.e4m3x2",
        "there is no conversion from e4m3x2 to f32; e4m3x2 converts to f16x2, bf16x2; for example \
         cvt.rn.f16x2.e4m3x2",
    );
    check(
        "rn.f32.tf32",
        "cvt-no-conversion",
        "f32.tf32",
        "there is no conversion from tf32 to f32; nothing converts from tf32; for example cvt.rn.f32.f64",
    );
    check(
        "pack.sat.u8.s32",
        "cvt-no-conversion",
        "u8.s32",
        "cvt.pack does not take `.u8.s32`, but one of .u16.s32, .s16.s32, .u8.s32.b32, .s8.s32.b32, \
         .u4.s32.b32, .s4.s32.b32, .u2.s32.b32, .s2.s32.b32; did you mean cvt.pack.sat.u8.s32.b32?",
    );
}

#[test]
fn missing_rounding() {
    check(
        "cvt.s32.f64",
        "cvt-missing-rounding",
        "s32",
        "s32 from f64 needs a rounding: one of .rni, .rzi, .rmi, .rpi; for example cvt.rni.s32.f64",
    );
}

#[test]
fn wrong_rounding() {
    check(
        "rn.s32.f32",
        "cvt-wrong-rounding",
        "rn",
        "`.rn` rounds to a floating-point format; float to integer needs one of .rni, .rzi, .rmi, .rpi; \
         did you mean cvt.rni.s32.f32?",
    );
    check(
        "rni.f16.f32",
        "cvt-wrong-rounding",
        "rni",
        "`.rni` rounds to an integral number; f16 from f32 needs one of .rn, .rz, .rm, .rp; did you mean \
         cvt.rn.f16.f32?",
    );
    check(
        "rn.ue8m0x2.f32",
        "cvt-wrong-rounding",
        "rn",
        "`.rn` is not for ue8m0x2 from f32, which needs .rz or .rp; for example cvt.rz.ue8m0x2.f32",
    );
}

#[test]
fn needless_rounding() {
    check(
        "rn.f32.f16",
        "cvt-needless-rounding",
        "rn",
        "`.rn` has nothing to round: every f16 is an f32; did you mean cvt.f32.f16?",
    );
    check(
        "rz.u8.s64",
        "cvt-needless-rounding",
        "rz",
        "`.rz` has nothing to round: both u8 and s64 are integers; did you mean cvt.u8.s64?",
    );
}

#[test]
fn illegal_modifier() {
    let check = |spelling, at, words| check(spelling, "cvt-illegal-modifier", at, words);
    check("sat.s32.u8", "sat", "`.sat` has nothing to clamp: every u8 is an s32; did you mean cvt.s32.u8?");
    check(
        "rn.sat.bf16.f32",
        "sat",
        "`.sat` is for integers, f16, f32 and f64, not for bf16 from f32; did you mean cvt.rn.bf16.f32?",
    );
    check(
        "rni.ftz.s32.f64",
        "ftz",
        "`.ftz` flushes f32 subnormals, and neither s32 nor f64 is f32; did you mean cvt.rni.s32.f64?",
    );
    check(
        "rz.relu.ue8m0x2.f32",
        "relu",
        "`.relu` has nothing to do: ue8m0x2 has no negative numbers; did you mean cvt.rz.ue8m0x2.f32?",
    );
    check(
        "rni.satfinite.s32.f32",
        "satfinite",
        "`.satfinite` is for floating-point destinations, not for s32; did you mean cvt.rni.s32.f32?",
    );
    check(
        "rn.satfinite.scaled::n2::ue8m0.e4m3x2.f32",
        "scaled::n2::ue8m0",
        "`.scaled::n2::ue8m0` does not apply to e4m3x2 from f32, which takes `.scaled::n1::ue8m0`; did you \
         mean cvt.rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32?",
    );
    check("rn.pzo.f32.f64", "pzo", "`.pzo` does not apply to f32 from f64; did you mean cvt.rn.f32.f64?");
}

#[test]
fn missing_modifier() {
    check(
        "rn.e4m3x2.f32",
        "cvt-missing-modifier",
        "e4m3x2",
        "`.satfinite` is required for `e4m3x2`; did you mean cvt.rn.satfinite.e4m3x2.f32?",
    );
    check(
        "pack.u16.s32",
        "cvt-missing-modifier",
        "u16",
        "`.sat` is required for cvt.pack; did you mean cvt.pack.sat.u16.s32?",
    );
}

#[test]
fn modifier_conflict() {
    check(
        "rn.rz.f16.f32",
        "cvt-modifier-conflict",
        "rz",
        "`.rn` and `.rz` do not go together; did you mean cvt.rn.f16.f32?",
    );
    check(
        "rn.sat.relu.f16.f32",
        "cvt-modifier-conflict",
        "relu",
        "`.sat` and `.relu` do not go together; for example cvt.rn.sat.f16.f32",
    );
    check(
        "rp.scaled::n1::ue8m0.ue5m3x2.f32",
        "cvt-modifier-conflict",
        "scaled::n1::ue8m0",
        "`.rp` and `.scaled::n1::ue8m0` do not go together; for example \
         cvt.rn.scaled::n1::ue8m0.ue5m3x2.f32",
    );
}

#[test]
fn modifier_needs_other() {
    check(
        "rm.pzo.bf16.f32",
        "cvt-modifier-needs-other",
        "pzo",
        "`.rm` with `.pzo` needs `.ftz` here; for example cvt.rn.pzo.bf16.f32",
    );
}

#[test]
fn no_such_combination() {
    // No spelling comes to this with today's table; the kind is there so that a new row cannot leave an
    // error without words.
    let problem = Problem { kind: ProblemKind::Combination, span: 0..0, legal: Vec::new() };
    assert_eq!(problem.kind.code(), "cvt-no-such-combination");
    assert_eq!(problem.to_string(), "these modifiers do not go together");
}

#[test]
fn all_problems_are_found_at_once() {
    let error = CvtForm::parse("ftz.e4m3x2.f16x2").unwrap_err();
    let codes: Vec<&str> = error.problems.iter().map(|problem| problem.kind.code()).collect();
    assert_eq!(codes, ["cvt-missing-rounding", "cvt-illegal-modifier", "cvt-missing-modifier"]);
    assert_eq!(error.problems[0].legal, ["rn", "rz"]);
}

/// Words that a spelling may have, and some that it may not.
fn word() -> impl Strategy<Value = String> {
    let known = Modifier::ALL.into_iter().map(Modifier::name).chain(Type::ALL.iter().map(|ty| ty.name()));
    let others = ["", "cvt", "pack", " ", "é", "rnn", "f33"];
    let words: Vec<String> = known.chain(others).map(str::to_owned).collect();
    prop_oneof![9 => proptest::sample::select(words), 1 => any::<String>()]
}

fn spelling() -> impl Strategy<Value = String> {
    let dotted = proptest::collection::vec(word(), 0..8).prop_map(|words| words.join("."));
    prop_oneof![3 => dotted, 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

    #[test]
    fn any_text_is_a_form_or_a_good_error(text in spelling()) {
        match CvtForm::parse(&text) {
            Ok(form) => prop_assert_eq!(CvtForm::parse(&form.to_string()), Ok(form)),
            Err(error) => {
                prop_assert!(!error.problems.is_empty());
                for problem in &error.problems {
                    prop_assert!(text.get(problem.span.clone()).is_some(), "{:?}", problem);
                    prop_assert!(!matches!(problem.kind, ProblemKind::Combination));
                }
                let words = error.to_string();
                prop_assert!(!words.is_empty() && !words.contains('\n'));
            }
        }
    }

    #[test]
    fn any_text_is_a_version_or_target_or_an_error(text in any::<String>()) {
        let _ = text.parse::<Version>().map_err(|error| error.to_string());
        let _ = text.parse::<Target>().map_err(|error| error.to_string());
    }
}
