//! Copies against what an H200 did: bytes, transaction counts and faults.
//!
//! `golden/load*.jsonl.gz` and `store*.jsonl.gz` have a copy a line: the map in the driver's numbers, the instruction's
//! coordinates and offsets, and the FNV-1a of the memory that was written. `_extremes` has large coordinates and
//! offsets and misaligned shared addresses; `store_values` reductions of every pair of telling values.

use crate::support;
use serde_json::Value;
use softwarp_tensor::copy::{Memory, load, store};
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::walk::RULES;
use softwarp_tensor::{
    Description, Direction, Element, Interleave, Map, Mode, Request, Swizzle, Target, Walk, WideMode,
};

const SHARED: usize = 48 << 10;
const GLOBAL: usize = 512 << 10;

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).expect("a number")
}

fn map(row: &Value) -> Map {
    let description = support::called(&row["map"]).expect("options that exist");
    Map::new(&description, Target::SM_90).unwrap_or_else(|findings| panic!("{row}: {findings:?}"))
}

fn request(row: &Value, direction: Direction) -> Request {
    let mut coordinates = [0; 5];
    let mut offsets = [0; 3];
    for (to, from) in coordinates.iter_mut().zip(support::list(&row["coords"])) {
        *to = from;
    }
    if row["offsets"].is_array() {
        for (to, from) in offsets.iter_mut().zip(support::list(&row["offsets"])) {
            *to = from;
        }
    }
    let mode = match (row["map"]["api"].as_str(), direction) {
        (Some("tiled"), _) => Mode::Tile,
        (_, Direction::Load) => Mode::Im2col,
        _ => Mode::Im2colNoOffs,
    };
    Request { mode, direction, coordinates, offsets, shared: number(&row["smem_offset"]).into() }
}

/// A memory of words that follow a rule.
fn words(bytes: usize, word: impl Fn(u32) -> u32) -> Vec<u8> {
    (0..bytes as u32 / 4).flat_map(|index| word(index).to_le_bytes()).collect()
}

fn global_words() -> Vec<u8> {
    words(GLOBAL, |index| index.wrapping_mul(2_654_435_761))
}

fn fnv(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// What the recording says happened.
fn expected(row: &Value) -> String {
    match row["result"].as_str() {
        Some("fault") => {
            row["error"].as_str().and_then(|error| error.split(' ').next_back()).expect("an error").into()
        }
        _ => format!("{} {}", row["tx"], row["fnv64"].as_str().expect("a hash")),
    }
}

fn length(row: &Value) -> usize {
    row["len"].as_u64().unwrap_or(0) as usize
}

/// Prints a score and fails unless it is full.
fn score(name: &str, outcome: impl Fn(&Value) -> String) {
    let rows: Vec<Value> = support::recording(&format!("{name}.jsonl.gz")).collect();
    let wrong: Vec<String> = rows
        .iter()
        .enumerate()
        .filter_map(|(number, row)| {
            let (was, should) = (outcome(row), expected(row));
            (was != should).then(|| format!("line {}: {was} instead of {should}: {row}", number + 1))
        })
        .collect();
    println!("{name}: {} of {}", rows.len() - wrong.len(), rows.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
}

fn loads(name: &str) {
    let global = global_words();
    score(name, |row| {
        let mut shared = vec![0xcd; SHARED];
        match load(&map(row), &request(row, Direction::Load), global.as_slice(), &mut shared) {
            Ok(loaded) => format!("{} {}", loaded.transaction_bytes, fnv(&shared[..length(row)])),
            Err(fault) => fault.error().to_string(),
        }
    });
}

fn stores(name: &str) {
    let global = global_words();
    let shared = words(SHARED, |index| index.wrapping_mul(2_246_822_519).wrapping_add(374_761_393));
    score(name, |row| {
        let (direction, mut global) = match row["reduce"].as_str() {
            None => (Direction::Store, vec![0xcd; GLOBAL]),
            Some(name) => {
                (Direction::Reduce(Operation::from_name(name).expect("an operation")), global.clone())
            }
        };
        match store(&map(row), &request(row, direction), &shared, global.as_mut_slice()) {
            Ok(()) => format!("null {}", fnv(&global[..length(row)])),
            Err(fault) => fault.error().to_string(),
        }
    });
}

#[test]
fn loads_are_what_the_hardware_does() {
    loads("load");
}

#[test]
fn loads_at_the_extremes_are_what_the_hardware_does() {
    loads("load_extremes");
}

#[test]
fn stores_and_reductions_are_what_the_hardware_does() {
    stores("store");
}

#[test]
fn stores_at_the_extremes_are_what_the_hardware_does() {
    stores("store_extremes");
}

#[test]
fn reductions_of_telling_values_are_what_the_hardware_computes() {
    for row in support::recording("store_values.jsonl.gz") {
        let element = Element::from_driver(number(&row["element"])).expect("a type");
        let operation = Operation::from_name(row["reduce"].as_str().expect("a name")).expect("an operation");
        let hex =
            |value: &Value| u64::from_str_radix(value.as_str().expect("a number"), 16).expect("hexadecimal");
        let values: Vec<u64> = row["values"].as_array().expect("a list").iter().map(hex).collect();
        let bytes = element.bits() as usize / 8;
        let recorded = row["result"].as_str().expect("the results");
        for (number, result) in recorded.as_bytes().chunks(2 * bytes).enumerate() {
            let (old, new) = (values[number / 16], values[number % 16]);
            let mut destination = old.to_le_bytes();
            operation.apply(element, &mut destination[..bytes], &new.to_le_bytes()[..bytes]);
            let was: String = destination[..bytes].iter().map(|byte| format!("{byte:02x}")).collect();
            let should = std::str::from_utf8(result).expect("hexadecimal");
            assert_eq!(was, should, "{operation} of {element} {old:x} and {new:x}, little-endian");
        }
    }
}

/// A tensor of 8 x 8 words in 256 bytes, with a box of two rows.
fn small() -> Map {
    let description = Description::tiled(Element::F32, &[8, 8], &[32], &[8, 2]);
    Map::new(&description, Target::SM_90).expect("legal")
}

fn at(mode: Mode, direction: Direction, coordinates: [i32; 5]) -> Request {
    Request { mode, direction, coordinates, offsets: [0; 3], shared: 0 }
}

#[test]
fn memory_that_is_not_there_is_named() {
    let request = at(Mode::Tile, Direction::Load, [0, 7, 0, 0, 0]);
    let fault = load(&small(), &request, [0; 240].as_slice(), &mut [0; 64]).expect_err("too short");
    assert_eq!(
        fault.to_string(),
        "32 bytes at byte 224 of the tensor are not in global memory [copy-global-memory]"
    );
    let fault = load(&small(), &request, [0; 256].as_slice(), &mut [0; 63]).expect_err("too short");
    let text = "64 bytes from shared address 0x0 are not in 63 bytes of it [copy-shared-memory]";
    assert_eq!(fault.to_string(), text);
}

#[test]
fn a_request_goes_only_its_own_way() {
    let fault = load(&small(), &at(Mode::Tile, Direction::Store, [0; 5]), [0; 256].as_slice(), &mut [0; 64]);
    assert_eq!(fault.expect_err("a store").code, "copy-mode");
    let fault = store(&small(), &at(Mode::Tile, Direction::Load, [0; 5]), &[0; 64], [0; 256].as_mut_slice());
    assert_eq!(fault.expect_err("a load").code, "copy-mode");
}

#[test]
fn memories_of_other_kinds_take_part() {
    /// Every byte is the low byte of its offset; nothing can be written.
    struct Ramp;
    impl Memory for Ramp {
        fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), softwarp_tensor::copy::Outside> {
            for (byte, at) in into.iter_mut().zip(offset..) {
                *byte = at as u8;
            }
            Ok(())
        }

        fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), softwarp_tensor::copy::Outside> {
            Err(softwarp_tensor::copy::Outside { offset, length: from.len() })
        }
    }
    let mut shared = [0; 64];
    load(&small(), &at(Mode::Tile, Direction::Load, [0, 1, 0, 0, 0]), &Ramp, &mut shared).expect("loads");
    assert_eq!(shared, std::array::from_fn(|at| at as u8 + 32));
    let fault = store(&small(), &at(Mode::Tile, Direction::Store, [0; 5]), &shared, &mut Ramp);
    assert_eq!(fault.expect_err("read-only").code, "copy-global-memory");
}

#[test]
fn every_rule_has_a_copy_that_breaks_it() {
    let f32s = Description::tiled(Element::F32, &[64, 64, 8], &[256, 16384], &[8, 2, 1]);
    let images = Description::im2col(Element::F32, &[64, 8, 4], &[256, 2048], (&[-1], &[0]), (8, 4));
    let mut w = Description::wide(Element::F16, &[64, 9, 4], &[128, 1152], WideMode::W, (0, 0), (64, 16));
    w.swizzle = Swizzle::B128;
    let rows = Description::tiled(Element::F32, &[64, 64], &[256], &[8, 2]);
    let large = Description { dims: vec![64, (1 << 31) + 1, 8], ..f32s.clone() };
    let packed = Description::tiled(Element::B4x16P64, &[256, 4], &[128], &[128, 2]);
    let load = |mode, coordinates| at(mode, Direction::Load, coordinates);
    let reduce = |name| Direction::Reduce(Operation::from_name(name).expect("an operation"));
    let broken: &[(&Description, Request, &str, &str)] = &[
        (&f32s, load(Mode::Im2col, [0; 5]), "copy-mode", "needs a map of kind im2col; this one is tiled"),
        (&f32s, load(Mode::Scatter4, [0; 5]), "copy-mode", "no load in mode tile::scatter4"),
        (&f32s, load(Mode::Gather4, [0; 5]), "copy-rank", "2 dimensions; this one has 3"),
        (&large, load(Mode::Tile, [0; 5]), "copy-dimension", "dimension 1 has 2147483649 elements"),
        (&rows, load(Mode::Gather4, [0; 5]), "copy-four-rows", "the box has 2 rows"),
        (&f32s, load(Mode::Tile, [2, 0, 0, 0, 0]), "copy-start", "coordinate 0 is 2, 8 bytes into the row"),
        (&packed, load(Mode::Tile, [64, 0, 0, 0, 0]), "copy-start", "multiple of 128"),
        (
            &images,
            load(Mode::Im2col, [0, 8, 0, 0, 0]),
            "copy-base",
            "8 in W, outside the bounding box [-1, 8)",
        ),
        (&w, load(Mode::Im2colW, [0, 9, 0, 0, 0]), "copy-base", "9 in W, right of the bounding box [0, 9)"),
        (
            &w,
            Request { offsets: [512, 0, 0], ..load(Mode::Im2colW, [0; 5]) },
            "copy-w-offsets",
            "wHalo < 512 and wOffset < 32; they are 512 and 0",
        ),
        (&f32s, at(Mode::Tile, Direction::Store, [0, -1, 0, 0, 0]), "copy-negative", "coordinate 1 is -1"),
        (
            &images,
            at(Mode::Im2colNoOffs, Direction::Store, [0; 5]),
            "copy-store-corners",
            "in W are -1 and 0",
        ),
        (&f32s, at(Mode::Tile, reduce("max"), [0; 5]), "copy-reduce-type", "s64, f16, bf16, not f32"),
        (
            &packed,
            at(Mode::Tile, Direction::Store, [0; 5]),
            "copy-packed-direction",
            "b4x16_p64 cannot be stored",
        ),
        (&f32s, Request { shared: 64, ..load(Mode::Tile, [0; 5]) }, "copy-shared-alignment", "0x40"),
    ];
    for (description, request, code, text) in broken {
        let map = Map::new(description, Target::SM_100).unwrap_or_else(|findings| panic!("{findings:?}"));
        let fault = Walk::new(&map, request).expect_err(code);
        assert_eq!(fault.code, *code);
        assert!(fault.message.contains(text), "{fault}");
    }
    // No map of an interleaved tensor along W is legal, so that its rule can only be asked.
    let mut interleaved = Map::new(&w, Target::SM_100).expect("legal");
    interleaved.interleave = Interleave::B16;
    let fault = Walk::new(&interleaved, &load(Mode::Im2colW, [0; 5])).expect_err("interleaved");
    assert_eq!(fault.code, "copy-w-interleave");
    // Rules of memory have a test of their own.
    let elsewhere = ["copy-w-interleave", "copy-shared-memory", "copy-global-memory"];
    let met = broken.iter().map(|row| row.2).chain(elsewhere);
    for (code, _) in RULES {
        assert!(met.clone().any(|met| met == *code), "no copy breaks {code}");
    }
}

#[test]
fn one_element_in_the_tensor_makes_a_store_write_its_whole_chunk() {
    let description = Description::tiled(Element::U16, &[9, 1], &[32], &[16, 1]);
    let map = Map::new(&description, Target::SM_90).expect("legal");
    let mut global = [0xcd; 40];
    store(&map, &at(Mode::Tile, Direction::Store, [0; 5]), &[1; 128], global.as_mut_slice()).expect("stores");
    assert_eq!(global[..32], [1; 32]);
    assert_eq!(global[32..], [0xcd; 8]);
}

#[test]
fn tf32_loads_round_to_nearest_even_at_ten_bits() {
    let description = Description::tiled(Element::Tf32, &[8], &[], &[8]);
    let map = Map::new(&description, Target::SM_90).expect("legal");
    let given: [u32; 8] = [
        0x3f80_1000,
        0x3f80_3000,
        0x3f80_1001,
        0x7f7f_ffff,
        0xff80_0001,
        0x0000_1001,
        0x8000_0fff,
        0x7f80_0000,
    ];
    let rounded: [u32; 8] = [
        0x3f80_0000,
        0x3f80_4000,
        0x3f80_2000,
        0x7f80_0000,
        0x7fff_e000,
        0x0000_2000,
        0x8000_0000,
        0x7f80_0000,
    ];
    let global: Vec<u8> = given.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut shared = [0; 32];
    load(&map, &at(Mode::Tile, Direction::Load, [0; 5]), global.as_slice(), &mut shared).expect("loads");
    assert_eq!(shared.to_vec(), rounded.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
}
