//! The types of PTX ISA section 5.2, the versions and the targets.

use softwarp_isa::{Class, Target, TargetError, Type, Variant, Version, VersionError};
use softwarp_num::{Format, Packed};

fn named(names: &str) -> Vec<Type> {
    names.split_whitespace().map(|name| Type::from_name(name).unwrap()).collect()
}

fn all(wanted: impl Fn(Type) -> bool) -> Vec<Type> {
    Type::ALL.iter().copied().filter(|ty| wanted(*ty)).collect()
}

#[test]
fn names_are_unique_and_found() {
    for ty in Type::ALL {
        assert_eq!(Type::from_name(ty.name()), Some(*ty));
        assert_eq!(format!("{ty:?}"), format!(".{ty}"));
    }
    for name in ["", "f31", ".f32", "F32", "u8x3", "e4m3x3"] {
        assert_eq!(Type::from_name(name), None, "{name}");
    }
}

#[test]
fn the_fundamental_types_are_those_of_table_8() {
    let of = |class| all(|ty| ty.is_fundamental() && ty.class() == class);
    assert_eq!(of(Class::Signed), named("s8 s16 s32 s64"));
    assert_eq!(of(Class::Unsigned), named("u8 u16 u32 u64"));
    assert_eq!(of(Class::Float), named("f16 f16x2 f32 f64"));
    assert_eq!(of(Class::Bits), named("b8 b16 b32 b64 b128"));
    assert_eq!(of(Class::Pred), named("pred"));
    assert_eq!(of(Class::Fixed), []);
}

#[test]
fn a_fundamental_type_is_a_basic_type_and_a_size() {
    for ty in all(Type::is_fundamental) {
        let bits: u32 = match ty {
            Type::F16x2 => 32,
            Type::Pred => 1,
            _ => ty.name()[1..].parse().unwrap(),
        };
        assert_eq!(ty.bits(), bits, "{ty}");
        let alike =
            all(|other| other.is_fundamental() && (other.class(), other.bits()) == (ty.class(), bits));
        // f16x2 shares both with f32 and is told apart by what it packs.
        assert!(alike == [ty] || bits == 32 && ty.class() == Class::Float, "{ty}");
    }
}

#[test]
fn compatible_types_have_one_kind_and_one_size() {
    let yes =
        ["s8 u8", "u64 s64", "b32 f32", "b32 f16x2", "b32 u32", "b8 s8", "b64 f64", "f32 f32", "pred pred"];
    let no = [
        "s8 u16",
        "f32 u32",
        "f32 s32",
        "f16 u16",
        "b32 f64",
        "b16 u32",
        "f32 f16x2",
        "f16x2 u32",
        "pred b8",
        "pred u8",
        "b8 e4m3",
        "b16 bf16",
        "bf16 f16",
    ];
    for (pairs, expected) in [(yes.as_slice(), true), (&no, false)] {
        for pair in pairs {
            let [a, b] = named(pair)[..] else { panic!("{pair}") };
            assert_eq!(a.compatible(b), expected, "{pair}");
            assert_eq!(b.compatible(a), expected, "{pair}");
        }
    }
}

#[test]
fn eight_bit_types_stand_on_ld_st_and_cvt_only() {
    assert_eq!(all(|ty| ty.only_on().is_some()), named("s8 u8 b8"));
    assert_eq!(Type::U8.only_on(), Some(["ld", "st", "cvt"].as_slice()));
}

#[test]
fn alternate_and_packed_types_are_for_instructions_only() {
    let alternate = named("bf16 tf32 e4m3 e5m2 e2m3 e3m2 e2m1 ue8m0 ue4m3 ue5m3 s2f6");
    for ty in alternate {
        assert!(!ty.is_fundamental(), "{ty}");
        assert_eq!(ty.packed(), Format::from_name(ty.name()).map(Packed::scalar));
        assert_eq!(ty.register_type().class(), Class::Bits, "{ty}");
        assert!(ty.register_type().bits() >= ty.bits(), "{ty}");
    }
    assert_eq!(all(|ty| ty.lanes() > 1 && ty.is_fundamental()), [Type::F16x2]);
}

#[test]
fn single_values_are_held_in_bit_types() {
    let held = |names, register| {
        for ty in named(names) {
            assert_eq!(ty.register_type(), register, "{ty}");
        }
    };
    held("u8 s8 b8 e4m3 e5m2 e2m3 e3m2 e2m1 ue8m0 ue4m3 ue5m3 s2f6 u4 s4 u2 s2", Type::B8);
    held("u16 s16 f16 b16 bf16", Type::B16);
    held("u32 s32 f32 b32 tf32", Type::B32);
    held("u64 s64 f64 b64", Type::B64);
    held("b128", Type::B128);
    held("pred", Type::Pred);
}

#[test]
fn packed_types_join_two_or_four_of_one_type() {
    for ty in all(|ty| ty.lanes() > 1) {
        let packed = ty.packed().unwrap();
        assert!(matches!(packed.lanes, 2 | 4), "{ty}");
        assert_eq!(ty.name(), packed.to_string());
        assert!(Type::from_name(packed.element.name()).is_some(), "{ty}");
    }
}

#[test]
fn packed_types_are_held_as_table_9_says() {
    // e2m1x4 is .b16: the assembler's word, and four times four bits.
    let rows = [
        ("f16x2", "b32"),
        ("f32x2", "b64"),
        ("bf16x2", "b32"),
        ("e4m3x2", "b16"),
        ("e5m2x2", "b16"),
        ("e2m3x2", "b16"),
        ("e3m2x2", "b16"),
        ("ue8m0x2", "b16"),
        ("ue5m3x2", "b16"),
        ("s2f6x2", "b16"),
        ("e2m1x2", "b8"),
        ("e4m3x4", "b32"),
        ("e5m2x4", "b32"),
        ("e2m3x4", "b32"),
        ("e3m2x4", "b32"),
        ("e2m1x4", "b16"),
        ("u16x2", "b32"),
        ("s16x2", "b32"),
        ("u8x4", "b32"),
        ("s8x4", "b32"),
    ];
    for (name, register) in rows {
        let ty = Type::from_name(name).unwrap();
        assert_eq!(ty.register_type().name(), register, "{name}");
        assert_eq!(ty.bits(), ty.register_type().bits(), "{name}");
    }
    assert_eq!(rows.len(), all(|ty| ty.lanes() > 1).len());
}

#[test]
fn the_packed_integer_types_of_chapter_5_are_u16x2_and_s16x2() {
    let integers = all(|ty| ty.lanes() > 1 && matches!(ty.class(), Class::Signed | Class::Unsigned));
    // Those of four bytes are no part of section 5.2.4.2; `add` and others have them since PTX 9.2.
    assert_eq!(integers, named("u16x2 s16x2 u8x4 s8x4"));
    assert_eq!(Type::U16x2.packed(), Some(Packed { element: Format::U16, lanes: 2 }));
    assert_eq!(Type::S16x2.packed(), Some(Packed { element: Format::S16, lanes: 2 }));
    assert!(integers.iter().all(|ty| !ty.is_fundamental() && !ty.is_int()));
}

#[test]
fn versions_are_read_ordered_and_known() {
    let all: Vec<Version> = Version::all().collect();
    assert!(all.is_sorted() && all.len() == 48);
    assert_eq!(all.last(), Some(&Version::LATEST));
    for version in all {
        assert_eq!(version.to_string().parse(), Ok(version));
    }
    assert!(Version::new(8, 8) < Version::new(9, 0));
    let error = |text: &str| text.parse::<Version>().unwrap_err();
    for text in ["", "9", "9.", ".1", "9.1.0", "+9.1", "9.1 ", "x.y", "999.0", "9,1"] {
        assert_eq!(error(text), VersionError::Malformed(text.to_owned()));
        assert_eq!(error(text).code(), "malformed-version");
    }
    assert_eq!(error("9.5").to_string(), "PTX 9.5 is newer than the newest known here, 9.4");
    assert_eq!(error("5.2").to_string(), "there is no PTX 5.2: 6.0 came after 5.1");
    assert_eq!(error("0.9").to_string(), "there is no PTX 0.9: the first was 1.0");
    assert_eq!(error("0.9").code(), "unknown-version");
}

#[test]
fn targets_are_read_ordered_and_dated() {
    let all: Vec<Target> = Target::all().collect();
    assert!(all.is_sorted_by_key(|target| (target.sm(), target.variant())));
    for target in &all {
        assert_eq!(target.name().parse(), Ok(*target));
        assert_eq!(target.name().replace("sm_", "compute_").parse(), Ok(*target));
        assert!(target.introduced().is_known());
        let suffix = match target.variant() {
            Variant::Baseline => "",
            Variant::Family => "f",
            Variant::Architecture => "a",
        };
        assert_eq!(target.name(), format!("sm_{}{suffix}", target.sm()));
    }
    let introduced = |name: &str| name.parse::<Target>().unwrap().introduced().to_string();
    assert_eq!(introduced("sm_13"), "1.2");
    assert_eq!(introduced("sm_72"), "6.1");
    assert_eq!(introduced("sm_100f"), "8.8");
    let error = |name: &str| name.parse::<Target>().unwrap_err();
    assert_eq!(error("sm_90b").to_string(), "`sm_90b` is not a target architecture; did you mean sm_90?");
    assert_eq!(error("gfx1100"), TargetError { name: "gfx1100".to_owned(), nearest: None });
    assert_eq!(error("sm_90f").code(), "unknown-target");
}

#[test]
fn families_follow_table_70() {
    let family = |name: &str| name.parse::<Target>().unwrap().family();
    assert_eq!(family("sm_90a"), None);
    for name in ["sm_100", "sm_103f", "sm_107a"] {
        assert_eq!(family(name), Some(10), "{name}");
    }
    for name in ["sm_101f", "sm_110a"] {
        assert_eq!(family(name), Some(11), "{name}");
    }
    assert_eq!(family("sm_121"), Some(12));
}

#[test]
fn sm_101_became_sm_110() {
    let old: Target = "sm_101a".parse().unwrap();
    let new: Target = "sm_110a".parse().unwrap();
    assert_eq!(old.renamed(), Some((Version::new(9, 0), new)));
    assert!(old.exists_in(Version::new(8, 8)) && !old.exists_in(Version::new(9, 0)));
    assert!(!new.exists_in(Version::new(8, 8)) && new.exists_in(Version::new(9, 0)));
}

#[test]
fn architectures_are_read_from_names_and_numbers() {
    for (name, arch) in [("sm_90", 90), ("sm_90a", 90), ("sm_100f", 100), ("compute_120", 120), ("103", 103)]
    {
        let found = Target::architecture_from_name(name).map(|target| (target.sm(), target.variant()));
        assert_eq!(found, Some((arch, Variant::Baseline)), "{name}");
    }
    for name in ["", "sm_", "a", "sm_90x", "sm_-1", "sm_+1", "sm_99", "sm_99999999999"] {
        assert_eq!(Target::architecture_from_name(name), None, "{name}");
    }
}
