//! Each rule: a map that breaks it and only it, its words, and verdicts on any numbers whatever.

use crate::support::{bytes, described, target};
use proptest::prelude::*;
use serde_json::Value;
use softwarp_tensor::{
    Access, Description, Diagnostic, Element, Fill, Interleave, Map, Promotion, Severity, Swizzle, Target,
    WideMode, check, packed_strides,
};
use softwarp_tensor::{codes, explain};

/// All that is to be said about a map in JSON.
fn judged(text: &str) -> Vec<Diagnostic> {
    let map: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    if !map["object"].is_null() {
        return match Map::from_object(&bytes(&map["object"]), target(&map)) {
            Ok(map) => check(&map.describe(), Target::SM_90),
            Err(findings) => findings,
        };
    }
    match described(&map) {
        Ok(description) => check(&description, target(&map)),
        Err(findings) => findings,
    }
}

fn codes_of(text: &str) -> Vec<&'static str> {
    judged(text).iter().map(|finding| finding.code.0).collect()
}

/// The one finding about a map.
fn only(text: &str) -> Diagnostic {
    let mut findings = judged(text);
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings.remove(0)
}

#[test]
fn each_example_breaks_its_rule_and_no_other() {
    for rule in codes::ALL {
        assert_eq!(codes_of(rule.wrong), [rule.code.0]);
        assert!(codes_of(rule.right).is_empty(), "{}: {:?}", rule.code, codes_of(rule.right));
    }
}

#[test]
fn codes_are_in_order_and_explained() {
    let all: Vec<&str> = codes::ALL.iter().map(|rule| rule.code.0).collect();
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(all, sorted);
    for rule in codes::ALL {
        let finding = judged(rule.wrong).into_iter().find(|finding| finding.code == rule.code).unwrap();
        assert_eq!(finding.severity() == Severity::Error, rule.code.0.starts_with('E'));
        assert!(!rule.text.is_empty() && !finding.message.is_empty());
        assert_eq!(explain(&rule.code.0.to_lowercase()).unwrap().code, rule.code);
    }
    assert!(explain("E1099").is_none());
}

#[test]
fn messages_have_the_numbers_and_say_what_would_be_right() {
    let cases = [
        ("E1013", "strides[0] = 1000 is not a multiple of 16", "1008 is the next that is"),
        ("E1010", "address = 8 is not a multiple of 16", "16 is the next that is"),
        ("E1012", "dims[1] = 0 is not within 1 to 4294967296", "1 is the nearest that is"),
        ("E1020", "box[1] = 257 is not within 1 to 256", "256 is the nearest that is"),
        ("E1021", "box[0] = 12 of f16 is 24 bytes, not a multiple of 16", "box[0] = 16 is the next that is"),
        (
            "E1022",
            "box[0] = 128 of f16 is 256 bytes; the swizzle 128B spans 128",
            "box[0] = 64 at most, or another swizzle",
        ),
        ("E1024", "a copy is 234496 bytes; sm_90 has 233472 bytes of shared memory", "copy less at a time"),
        ("W1007", "the driver counts 256 bytes; a copy completes 384 on its mbarrier", "expect 384 bytes"),
    ];
    for (code, message, fix) in cases {
        let finding = only(explain(code).unwrap().wrong);
        assert_eq!((finding.message.as_str(), finding.help.as_deref()), (message, Some(fix)));
    }
}

#[test]
fn all_violations_are_reported_at_once() {
    let text = r#"{"element": "s32", "address": 4, "dims": [0, 64], "strides": [20], "box": [3, 300],
        "element_strides": [1, 9], "fill": "nan", "swizzle": "128B_ATOM_64B", "interleave": "32B"}"#;
    let expected = ["E1004", "E1010", "E1012", "E1013", "E1020", "E1021", "E1023", "E1041", "E1045", "W1001"];
    assert_eq!(codes_of(text), expected);
}

#[test]
fn targets_differ_in_what_they_have() {
    let on = |arch: &str, text: &str| codes_of(&text.replacen('{', &format!(r#"{{"target": "{arch}", "#), 1));
    let atoms = r#"{"element": "f16", "dims": [64, 64], "box": [64, 8], "swizzle": "128B_ATOM_32B"}"#;
    assert_eq!(on("sm_90a", atoms), ["E1041"]);
    assert_eq!(on("sm_100a", atoms), [""; 0]);
    assert_eq!(on("sm_120", atoms), ["W1011"]);

    let span_96 = r#"{"element": "u8", "dims": [96, 64], "box": [96, 8], "swizzle": "96B"}"#;
    assert_eq!(on("sm_90", span_96), ["E1041"]);
    assert_eq!(on("sm_100", span_96), ["E1041"]);
    assert_eq!(on("sm_103", span_96), [""; 0]);

    let packed =
        r#"{"element": "b6p2x16", "dims": [192, 64], "strides": [144], "box": [64, 8], "swizzle": "64B"}"#;
    assert_eq!(on("sm_90", packed), ["E1040"]);
    assert_eq!(on("sm_100", packed), ["E1013", "E1015", "E1025", "E1044"]);
    assert_eq!(on("sm_103", packed), ["W1011"]);

    let wide = r#"{"element": "f16", "dims": [64, 9, 7, 64], "lower": [0], "upper": [0], "channels": 64,
        "pixels": 128, "wide": "w128", "swizzle": "128B"}"#;
    assert_eq!(on("sm_90", wide), ["W1003"]);
    assert_eq!(on("sm_100", wide), [""; 0]);
    assert_eq!(on("sm_110", wide), [""; 0]);
    assert_eq!(on("sm_120", wide), ["E1042"]);

    let large = r#"{"element": "f32", "dims": [256, 256], "box": [256, 128]}"#;
    assert_eq!(on("sm_90", large), [""; 0]);
    assert_eq!(on("sm_120", large), ["E1024"]);
}

#[test]
fn elements_are_known_by_the_manuals_names_and_the_drivers() {
    let cases = [
        ("b32", Element::U32),
        (".b64", Element::U64),
        ("b6x16_p32", Element::B6x16),
        (".b6p2x16", Element::B6x16),
        ("BF16", Element::Bf16),
        ("FLOAT16", Element::F16),
        ("CU_TENSOR_MAP_DATA_TYPE_FLOAT16", Element::F16),
        ("CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ", Element::Tf32Ftz),
        ("CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B", Element::B4x16P64),
        ("f32.ftz", Element::F32Ftz),
    ];
    for (name, element) in cases {
        assert_eq!(Element::from_name(name), Some(element), "{name}");
    }
    assert_eq!(Element::from_name("f24"), None);
    assert_eq!(Element::from_name(""), None);
    assert_eq!(Swizzle::from_name("CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B"), Some(Swizzle::B128Atom32));
    assert_eq!(Swizzle::from_name("SWIZZLE_64B"), Some(Swizzle::B64));
    assert_eq!(Interleave::from_name("CU_TENSOR_MAP_INTERLEAVE_NONE"), Some(Interleave::None));
    assert_eq!(Promotion::from_name("CU_TENSOR_MAP_L2_PROMOTION_L2_256B"), Some(Promotion::B256));
    assert_eq!(Fill::from_name("CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA"), Some(Fill::Nan));
    assert_eq!(Fill::from_name("CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE"), Some(Fill::Zero));
    assert_eq!(WideMode::from_name("CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128"), Some(WideMode::W128));
}

#[test]
fn dense_strides_follow_from_dimensions() {
    assert_eq!(packed_strides(Element::F16, &[64, 9, 14, 64]), [128, 1152, 16128]);
    assert_eq!(packed_strides(Element::B6x16, &[128, 3]), [96]);
    assert_eq!(packed_strides(Element::U8, &[7]), [0; 0]);
    assert_eq!(packed_strides(Element::U8, &[]), [0; 0]);
    assert_eq!(packed_strides(Element::U64, &[u64::MAX, u64::MAX, 2]), [u64::MAX, u64::MAX]);
}

#[test]
fn builders_make_plain_maps() {
    let (dims, strides) = ([64, 9, 14, 64], packed_strides(Element::F16, &[64, 9, 14, 64]));
    let plain = [
        Description::tiled(Element::F16, &dims, &strides, &[64, 3, 3, 1]),
        Description::im2col(Element::F16, &dims, &strides, (&[-1, -1], &[-1, -1]), (8, 64)),
    ];
    for description in plain {
        assert_eq!(check(&description, Target::SM_90), []);
    }
    let wide = Description::wide(Element::F16, &dims, &strides, WideMode::W, (0, 0), (64, 128));
    let swizzled = Description { swizzle: Swizzle::B128, ..wide };
    assert_eq!(check(&swizzled, Target::SM_100), []);
}

/// Numbers near every limit, and any others.
fn wild() -> impl Strategy<Value = u64> {
    let limits: Vec<u64> = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).collect();
    prop_oneof![prop::sample::select(limits), any::<u64>(), 0u64..300, Just(u64::MAX)]
}

fn wilds<T>(cut: fn(u64) -> T, most: usize) -> impl Strategy<Value = Vec<T>>
where
    T: std::fmt::Debug,
{
    prop::collection::vec(wild(), 0..=most).prop_map(move |list| list.into_iter().map(cut).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, ..ProptestConfig::default() })]

    #[test]
    fn no_numbers_and_no_lengths_break_the_rules(
        modes in (0usize..16, 0usize..3, 0usize..8, 0usize..2),
        address in wild(),
        dims in wilds(|number| number, 7),
        strides in wilds(|number| number, 7),
        steps in wilds(|number| number as u32, 7),
        sizes in wilds(|number| number as u32, 7),
        lower in wilds(|number| number as i32, 4),
        upper in wilds(|number| number as i32, 4),
        columns in (wild(), wild(), 0u32..3, 0..Target::all().count()),
    ) {
        let (element, interleave, swizzle, fill) = modes;
        let (channels, pixels) = (columns.0 as u32, columns.1 as u32);
        let corner = |list: &[i32]| list.first().copied().unwrap_or(0);
        let access = match columns.2 {
            0 => Access::Tiled { box_dims: sizes },
            1 => Access::Im2col { lower, upper, channels, pixels },
            _ => Access::Wide { mode: WideMode::W128, lower: corner(&lower), upper: corner(&upper), channels, pixels },
        };
        let description = Description {
            element: Element::ALL[element],
            address,
            dims,
            strides,
            element_strides: steps,
            interleave: Interleave::ALL[interleave],
            swizzle: Swizzle::ALL[swizzle],
            promotion: Promotion::None,
            fill: Fill::ALL[fill],
            access,
        };
        let target = Target::all().nth(columns.3).expect("there are as many");
        let findings = check(&description, target);
        prop_assert!(findings.len() < 100);
        prop_assert!(findings.is_sorted_by_key(|finding| finding.code));
        let map = Map::new(&description, target);
        prop_assert_eq!(map.is_err(), findings.iter().any(|finding| finding.severity() == Severity::Error));
    }
}
