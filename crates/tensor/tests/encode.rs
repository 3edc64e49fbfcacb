//! Verdicts and objects against what a driver said and made (sm_90, driver 580), without exceptions.

use crate::support::{bytes, called, recording};
use softwarp_tensor::object::{decode, encode};
use softwarp_tensor::{Access, Map, Target};

/// Holds every call of a recording: accepted or refused, and the 128 bytes. Returns how many, and how many accepted.
fn hold(name: &str) -> (usize, usize) {
    let (mut calls, mut accepted) = (0, 0);
    for row in recording(name) {
        calls += 1;
        let id = &row["id"];
        let map = called(&row).map(|description| Map::new(&description, Target::SM_90));
        match (row["rc"].as_u64().unwrap(), map) {
            (0, Some(Ok(map))) => {
                accepted += 1;
                assert_eq!(encode(&map), bytes(&row["desc"]), "{name} {id}");
            }
            (0, judged) => panic!("{name} {id}: accepted by the driver, refused here: {judged:?}"),
            (_, Some(Ok(map))) => panic!("{name} {id}: refused by the driver, accepted here: {map:?}"),
            (_, _) => {}
        }
    }
    println!("{name}: {calls} of {calls} calls, {accepted} objects");
    (calls, accepted)
}

#[test]
fn tiled_and_im2col_calls_end_as_recorded() {
    assert_eq!(hold("encode.jsonl.gz"), (3000, 1588));
}

#[test]
fn wide_calls_end_as_recorded() {
    assert_eq!(hold("encode_wide.jsonl.gz"), (1500, 200));
}

#[test]
fn calls_at_the_limits_end_as_recorded() {
    let (calls, accepted) = hold("encode_edges.jsonl.gz");
    assert!(calls > 2500 && accepted > 1500, "{calls} {accepted}");
}

#[test]
fn recorded_objects_decode_to_what_was_asked_for() {
    let mut objects = 0;
    for name in ["encode.jsonl.gz", "encode_wide.jsonl.gz", "encode_edges.jsonl.gz"] {
        for row in recording(name).filter(|row| row["rc"] == 0) {
            let object = bytes(&row["desc"]);
            let decoded = decode(&object).unwrap();
            assert_eq!(decoded.unknown, [], "{name} {}", row["id"]);
            let mut asked = called(&row).unwrap();
            let wide = matches!(asked.access, Access::Wide { .. });
            if let Access::Wide { lower, upper, channels, pixels, .. } = asked.access {
                let corners = |corner| {
                    let mut corners = vec![0; asked.dims.len() - 2];
                    corners[0] = corner;
                    corners
                };
                let (lower, upper) = (corners(lower), corners(upper));
                asked.access = Access::Im2col { lower, upper, channels, pixels };
            }
            assert_eq!(decoded.description, asked, "{name} {}", row["id"]);
            assert!(!wide || decoded.notes.iter().any(|note| note.contains("im2col::w")));
            let map = Map::from_object(&object, Target::SM_90).unwrap();
            assert_eq!(encode(&map), object, "{name} {}", row["id"]);
            objects += 1;
        }
    }
    println!("{objects} objects decoded and encoded again");
    assert!(objects > 3000);
}

#[test]
fn copies_complete_the_bytes_that_the_map_says() {
    let mut loads = 0;
    for row in recording("load.jsonl.gz").filter(|row| row["tx"].is_u64()) {
        let map = Map::new(&called(&row["map"]).unwrap(), Target::SM_90).unwrap();
        assert_eq!(map.copied_bytes(), row["tx"].as_u64().unwrap(), "{}", row["map"]);
        loads += 1;
    }
    println!("load.jsonl.gz: {loads} of {loads} loads");
    assert!(loads > 500);
}
