//! Objects there and back, objects of any bytes, and `tensormap.replace`.

use crate::support::{bytes, recording};
use proptest::prelude::*;
use softwarp_tensor::object::{decode, encode};
use softwarp_tensor::replace::{Field, Refusal, replace, write};
use softwarp_tensor::{
    Access, Description, Element, Fill, Interleave, Map, Promotion, Swizzle, Target, WideMode, check,
};

fn one_of<T: Copy + std::fmt::Debug + 'static>(list: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(list)
}

/// Descriptions most of which are legal somewhere.
fn descriptions() -> impl Strategy<Value = Description> {
    let modes = (
        one_of(Element::ALL),
        one_of(Interleave::ALL),
        one_of(Swizzle::ALL),
        one_of(Promotion::ALL),
        one_of(Fill::ALL),
    );
    let tensor = (
        1usize..=5,
        prop::array::uniform5(1u64..=1 << 32),
        prop::array::uniform4(0u64..1 << 35),
        0u64..1 << 52,
    );
    let access = (
        prop::array::uniform5(1u32..=8),
        prop::array::uniform5(1u32..=12),
        0u32..3,
        prop::array::uniform6(-16i32..16),
        1u32..=16,
        (1u32..=64, prop::bool::ANY),
    );
    (modes, tensor, access).prop_map(|((element, interleave, swizzle, promotion, fill), tensor, access)| {
        let (rank, dims, strides, address) = tensor;
        let (steps, mut box_dims, kind, corners, units, (pixels, plain)) = access;
        let mut inner = (units * 128 / element.bits()).min(256);
        if element.is_padded() {
            inner = 128;
        }
        box_dims[0] = inner;
        let rank = if kind > 0 || !plain && interleave != Interleave::None { rank.max(3) } else { rank };
        let group = if element.is_padded() { 128 } else { 16 };
        let mut dims = dims[..rank].to_vec();
        dims[0] = (dims[0] / group * group).max(group);
        for dim in &mut dims[..rank] {
            // Spatial dimensions of an im2col tensor are signed.
            *dim = if kind > 0 { (*dim & 0x3fff_ffff).max(64) / 64 * 64 } else { *dim };
        }
        Description {
            element,
            address: address * 32,
            dims,
            strides: strides[..rank - 1].iter().map(|stride| stride * 32).collect(),
            element_strides: steps[..rank].to_vec(),
            interleave: if plain { Interleave::None } else { interleave },
            swizzle,
            promotion,
            fill: if element.is_float() { fill } else { Fill::Zero },
            access: match kind {
                0 => Access::Tiled { box_dims: box_dims[..rank].to_vec() },
                1 => Access::Im2col {
                    lower: corners[..rank - 2].to_vec(),
                    upper: corners[3..3 + rank - 2].to_vec(),
                    channels: inner,
                    pixels,
                },
                _ => Access::Wide {
                    mode: if pixels % 2 == 0 { WideMode::W } else { WideMode::W128 },
                    lower: corners[0],
                    upper: corners[3],
                    channels: inner,
                    pixels,
                },
            },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn legal_maps_survive_the_object(description in descriptions(), arch in one_of(&[Target::SM_90, Target::SM_100, Target::SM_103, Target::SM_120])) {
        let map = Map::new(&description, arch);
        prop_assume!(map.is_ok());
        let map = map.unwrap();
        prop_assert_eq!(&map.describe(), &description);
        let object = encode(&map);
        let decoded = decode(&object).unwrap();
        prop_assert_eq!(&decoded.unknown, &[]);
        if !matches!(description.access, Access::Wide { .. }) {
            prop_assert_eq!(&decoded.description, &description);
            prop_assert_eq!(Map::from_object(&object, arch).unwrap(), map);
        }
        prop_assert_eq!(encode(&Map::from_object(&object, Target::SM_103).unwrap_or(map)), object);
    }

    #[test]
    fn any_bytes_decode_or_say_why_not(low in prop::array::uniform32(any::<u8>()), high in prop::array::uniform32(any::<u8>())) {
        let object: [u8; 128] = std::array::from_fn(|at| if at % 64 < 32 { low[at % 32] } else { high[at % 32] });
        match decode(&object) {
            Err(findings) => prop_assert!(findings.iter().all(|finding| finding.code.0 == "E1050")),
            Ok(decoded) => {
                // Whatever was understood, nothing was invented: all of it is in the bytes.
                let map = Map::new(&decoded.description, Target::SM_103);
                let findings = check(&decoded.description, Target::SM_90);
                prop_assert!(map.is_ok() || !findings.is_empty());
            }
        }
    }

    #[test]
    fn replacing_is_encoding_anew(description in descriptions(), other in descriptions()) {
        let arch = Target::SM_103;
        let (Ok(map), Ok(other)) = (Map::new(&description, arch), Map::new(&other, arch)) else {
            return Err(TestCaseError::reject("illegal"));
        };
        prop_assume!(matches!(description.access, Access::Tiled { .. }));
        prop_assume!(map.rank <= other.rank && !matches!(map.element, Element::Tf32 | Element::Tf32Ftz));
        let Access::Tiled { box_dims } = other.describe().access else {
            return Err(TestCaseError::reject("columns"));
        };
        let (mode, atomicity, span_96) = other.swizzle.object_code();
        let mut fields = vec![
            (Field::GlobalAddress, 0, other.address),
            (Field::Rank, 0, other.rank as u64 - 1),
            (Field::Elemtype, 0, other.element.replace_number().into()),
            (Field::InterleaveLayout, 0, other.interleave.driver().into()),
            (Field::SwizzleMode, 0, if span_96 { 4 } else { mode.into() }),
            (Field::SwizzleAtomicity, 0, atomicity.into()),
            (Field::FillMode, 0, other.fill.driver().into()),
        ];
        for (dimension, &size) in box_dims.iter().enumerate() {
            fields.push((Field::GlobalDim, dimension, other.dims[dimension]));
            fields.push((Field::BoxDim, dimension, size.into()));
            fields.push((Field::ElementStride, dimension, other.element_strides[dimension].into()));
            if dimension > 0 {
                fields.push((Field::GlobalStride, dimension - 1, other.strides[dimension]));
            }
        }
        let mut object = encode(&map);
        for (field, ordinal, value) in fields {
            // 2^32 does not fit the instruction's 32 bits.
            prop_assume!(field != Field::GlobalDim || value <= u32::MAX.into());
            prop_assert_eq!(replace(&mut object, field, ordinal, value, arch), Ok(()));
        }
        let mut anew = encode(&Map { promotion: map.promotion, ..other });
        // The two words that the driver derives stay as they were.
        let old = encode(&map);
        for at in [0x40..0x44, 0x48..0x4c] {
            anew[at.clone()].copy_from_slice(&old[at]);
        }
        prop_assert_eq!(object, anew);
    }
}

#[test]
fn the_hardware_replaces_fields_as_recorded() {
    let mut rows = 0;
    for row in recording("replace.jsonl.gz") {
        let field = Field::from_name(row["field"].as_str().unwrap()).unwrap();
        let mut object = bytes(&row["before"]);
        write(&mut object, field, row["ordinal"].as_u64().unwrap() as usize, row["value"].as_u64().unwrap());
        assert_eq!(object, bytes(&row["after"]), "{} {} {}", row["field"], row["ordinal"], row["value"]);
        rows += 1;
    }
    println!("replace.jsonl.gz: {rows} of {rows}");
    assert!(rows > 1400);
}

#[test]
fn values_that_a_field_cannot_hold_are_refused_and_change_nothing() {
    let map =
        Map::new(&Description::tiled(Element::F16, &[64, 64], &[128], &[64, 64]), Target::SM_90).unwrap();
    let object = encode(&map);
    let refused = [
        (Field::GlobalAddress, 0, 8),
        (Field::GlobalAddress, 0, 1 << 57),
        (Field::Rank, 0, 5),
        (Field::BoxDim, 0, 0),
        (Field::BoxDim, 1, 257),
        (Field::GlobalDim, 1, 0),
        (Field::GlobalDim, 1, 1 << 32),
        (Field::GlobalStride, 0, 24),
        (Field::GlobalStride, 0, 1 << 40),
        (Field::ElementStride, 0, 9),
        (Field::Elemtype, 0, 13),
        (Field::InterleaveLayout, 0, 3),
        (Field::SwizzleMode, 0, 4),
        (Field::FillMode, 0, 2),
        (Field::FillMode, 0, u64::MAX),
    ];
    for (field, ordinal, value) in refused {
        let mut changed = object;
        let refusal = replace(&mut changed, field, ordinal, value, Target::SM_90).unwrap_err();
        assert!(matches!(refusal, Refusal::Value { .. }), "{refusal}");
        assert_eq!(changed, object);
    }
    let ordinals =
        [(Field::GlobalStride, 4), (Field::BoxDim, 5), (Field::GlobalDim, usize::MAX), (Field::Rank, 1)];
    for (field, ordinal) in ordinals {
        let refusal = replace(&mut object.clone(), field, ordinal, 1, Target::SM_90).unwrap_err();
        assert_eq!(refusal, Refusal::Ordinal { field, ordinal });
    }
    let refusal = replace(&mut object.clone(), Field::SwizzleAtomicity, 0, 1, Target::SM_90).unwrap_err();
    assert_eq!(refusal.to_string(), "sm_90 has no swizzle_atomicity");
    let refusal = replace(&mut object.clone(), Field::GlobalStride, 0, 24, Target::SM_90).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "global_stride = 24 is not within 0 to 1099511627760 and a multiple of 16"
    );
}

#[test]
fn a_tf32_map_stays_tf32_when_its_type_is_replaced_by_f32() {
    let map = Map::new(&Description::tiled(Element::Tf32, &[64], &[], &[64]), Target::SM_90).unwrap();
    let mut object = encode(&map);
    replace(&mut object, Field::Elemtype, 0, Element::F32.replace_number().into(), Target::SM_90).unwrap();
    assert_eq!(decode(&object).unwrap().description.element, Element::Tf32);
    replace(&mut object, Field::Elemtype, 0, Element::F16.replace_number().into(), Target::SM_90).unwrap();
    let decoded = decode(&object).unwrap();
    assert_eq!(decoded.description.element, Element::F16);
    assert_eq!(decoded.unknown, [(8, 0x1_0000)]);
}

#[test]
fn what_replacing_leaves_behind_is_noted() {
    let map =
        Map::new(&Description::tiled(Element::F16, &[64, 64], &[128], &[64, 64]), Target::SM_90).unwrap();
    let mut object = encode(&map);
    replace(&mut object, Field::BoxDim, 1, 32, Target::SM_90).unwrap();
    replace(&mut object, Field::SwizzleMode, 0, 3, Target::SM_90).unwrap();
    let notes = decode(&object).unwrap().notes;
    assert_eq!(notes.len(), 2);
    assert!(notes[0].contains("counts 8192 bytes; the driver would count 4096"), "{notes:?}");
    assert!(notes[1].contains("alignment of 16; the driver would say 1024"), "{notes:?}");
}

#[test]
fn unreadable_objects_say_which_field() {
    let map =
        Map::new(&Description::tiled(Element::F16, &[64, 64], &[128], &[64, 64]), Target::SM_90).unwrap();
    let good = encode(&map);
    // Rank 2 in bits 6:4, element type 6 in bits 10:7.
    assert_eq!(good[8..12], [0x10, 0x03, 0, 0]);
    let cases: &[([u8; 4], &[&str])] = &[
        ([0x10, 0x07, 0, 0], &["the element type"]),
        ([0x90, 0x07, 0, 0], &["the element type"]),
        ([0x50, 0x03, 0, 0], &["the rank"]),
        ([0x11, 0x03, 0, 0], &["the rank"]),
        ([0x10, 0x1b, 0, 0], &["the interleave"]),
        ([0x10, 0x23, 0x08, 0], &["the swizzle"]),
        ([0x10, 0x63, 0x40, 0], &["the swizzle"]),
        ([0xf0, 0x7f, 0x78, 0], &["the rank", "the element type", "the interleave", "the swizzle"]),
    ];
    for (modes, fields) in cases {
        let mut object = good;
        object[8..12].copy_from_slice(modes);
        match (decode(&object), fields) {
            (Err(findings), fields) => {
                assert_eq!(findings.len(), fields.len(), "{findings:?}");
                for (finding, field) in findings.iter().zip(*fields) {
                    assert!(finding.message.starts_with(field), "{finding:?}");
                }
            }
            (Ok(decoded), _) => panic!("{modes:?}: {decoded:?}"),
        }
    }
}

#[test]
fn bits_without_a_meaning_are_reported() {
    let map = Map::new(&Description::tiled(Element::U8, &[64], &[], &[64]), Target::SM_90).unwrap();
    let mut object = encode(&map);
    object[0x0a] |= 0x20;
    object[0x24] = 7;
    object[0x7f] = 0x80;
    let decoded = decode(&object).unwrap();
    assert_eq!(decoded.unknown, [(0x08, 1 << 21), (0x24, 7), (0x7c, 1 << 31)]);
    assert_eq!(decoded.description, map.describe());
}
