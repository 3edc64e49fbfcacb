//! Statements of PTX ISA section 5.5 that no recording and no worked example shows by itself, on maps as people write
//! them.

use softwarp::tensor::copy::{load, store};
use softwarp::tensor::{CopyFault, Direction, Element, Map, Mode, Target};
use softwarp_cli::tensors::file;
use softwarp_cli::tensors::request::{Asked, Copy, Refusal};

fn map(text: &str) -> (Map, Target) {
    let file = file::read(text.as_bytes());
    let arch = file.target.unwrap_or(Target::SM_90);
    let map = Map::new(&file.description.expect("readable"), arch);
    (map.unwrap_or_else(|findings| panic!("{text}: {findings:?}")), arch)
}

/// A copy of a map, or the hardware's fault.
fn copy(
    text: &str,
    mode: Option<Mode>,
    direction: Direction,
    at: &[i32],
    offsets: &[u32],
) -> Result<Copy, CopyFault> {
    let (map, arch) = map(text);
    let offsets = (!offsets.is_empty()).then(|| offsets.to_vec());
    let asked = Asked { at: Some(at.to_vec()), offsets, mode, direction, shared: 0 };
    Copy::new(map, arch, &asked).map_err(|refusal| match refusal {
        Refusal::Fault(fault) => fault,
        Refusal::Usage(why) => panic!("{why}"),
    })
}

/// Coordinates of the first element of each row.
fn rows(copy: &Copy) -> Vec<Vec<i64>> {
    let cells = copy.walk.cells().filter(|cell| cell.column == 0);
    cells.map(|cell| cell.coordinates[..copy.map.rank].to_vec()).collect()
}

// R5.5.1.1.1-8
#[test]
fn both_six_bit_types_have_number_15() {
    assert_eq!(Element::from_name("b6x16_p32"), Element::from_name("b6p2x16"));
    assert_eq!(Element::from_name("b6x16_p32").map(Element::replace_number), Some(15));
    assert_eq!(Element::B6x16.driver(), 15);
}

// R5.5.3.2-3
#[test]
fn the_traversal_stride_of_dimension_0_counts_only_when_interleaved() {
    let plain = r#"{"type": "u32", "dims": [16, 4], "box": [8, 1], "element_strides": [2, 1]}"#;
    let copied = copy(plain, None, Direction::Load, &[4, 0], &[]).expect("no fault");
    assert_eq!(copied.walk.transaction_bytes(), 32);
    let runs: Vec<_> = copied.walk.collect();
    assert_eq!((runs.len(), runs[0].length), (1, 32), "eight elements side by side");
    let sliced = r#"{"type": "u32", "dims": [16, 4, 2], "box": [8, 1, 1], "element_strides": [2, 1, 1], "interleave": "16B"}"#;
    let sliced = copy(sliced, None, Direction::Load, &[4, 0, 0], &[]).expect("no fault");
    let across: Vec<i64> = rows(&sliced).iter().map(|row| row[0]).collect();
    assert_eq!(across, [4, 6, 8, 10]);
}

// R5.5.3.3-1, R5.5.3.3-2, R5.5.3.3-3
#[test]
fn what_is_outside_is_filled_with_zero_or_with_the_special_nan() {
    for (fill, lane) in [("zero", 0_u16), ("nan", 0x7ff7)] {
        let text =
            format!(r#"{{"type": "f32", "dims": [6, 2], "strides": [32], "box": [8, 1], "fill": "{fill}"}}"#);
        let copied = copy(&text, None, Direction::Load, &[0, 1], &[]).expect("no fault");
        // The tensor's last byte is the memory's last: nothing behind it is read.
        let (global, mut shared) = ([7; 32 + 24], [0xcd; 32]);
        load(&copied.map, &copied.request, global.as_slice(), &mut shared).expect("in memory");
        assert_eq!(shared[..24], [7; 24]);
        assert!(shared[24..].as_chunks().0.iter().all(|bytes| u16::from_le_bytes(*bytes) == lane), "{fill}");
    }
}

// R5.5.3.4-3
#[test]
fn scatter4_puts_four_rows_of_shared_memory_into_four_rows_of_the_tensor() {
    let text = r#"{"target": "sm_100", "type": "u8", "dims": [32, 10], "box": [16, 1]}"#;
    let copied =
        copy(text, Some(Mode::Scatter4), Direction::Store, &[16, 2, 5, 0, 9], &[]).expect("no fault");
    let shared: Vec<u8> = (0..64).map(|at| at / 16 + 1).collect();
    let mut global = vec![0; 320];
    store(&copied.map, &copied.request, &shared, global.as_mut_slice()).expect("in memory");
    let written: Vec<(usize, u8)> = (0..10).map(|row| (row, global[row * 32 + 16])).collect();
    let expected = [(0, 3), (1, 0), (2, 1), (3, 0), (4, 0), (5, 2), (6, 0), (7, 0), (8, 0), (9, 4)];
    assert_eq!(written, expected);
    assert!((0..10).all(|row| global[row * 32..row * 32 + 16] == [0; 16]), "the other half stays");
}

// R5.5.3.4-6, R5.5.3.4-7, R5.5.3.4.1-4
#[test]
fn gather4_keeps_the_rules_of_tiles_and_has_its_own() {
    let fault = |text: &str, at: &[i32]| {
        copy(text, Some(Mode::Gather4), Direction::Load, at, &[]).map(|_| ()).unwrap_err().code
    };
    let two_rows = r#"{"target": "sm_100", "type": "u8", "dims": [32, 10], "box": [16, 2]}"#;
    assert_eq!(fault(two_rows, &[0; 5]), "copy-four-rows");
    let one = r#"{"target": "sm_100", "type": "u8", "dims": [32, 10], "box": [16, 1]}"#;
    assert_eq!(fault(one, &[8, 0, 0, 0, 0]), "copy-start");
    // Two dimensions cannot be interleaved at all.
    let sliced =
        r#"{"target": "sm_100", "type": "u8", "dims": [32, 10], "box": [16, 1], "interleave": "16B"}"#;
    let findings = file::read(sliced.as_bytes()).check(Target::SM_100);
    assert!(findings.iter().any(|finding| finding.code.0 == "E1004"), "{findings:?}");
    // Rows outside are filled, each for itself.
    let copied = copy(one, Some(Mode::Gather4), Direction::Load, &[0, -1, 3, 10, 9], &[]).expect("no fault");
    let held: Vec<bool> = copied.walk.cells().map(|cell| cell.in_bounds()).collect();
    assert_eq!(held, [false, true, false, true]);
}

// R5.5.4-3, R5.5.4.1-12
#[test]
fn images_are_nwc_nhwc_and_ndhwc() {
    let three = r#"{"type": "u8", "dims": [32, 3, 9], "channels": 16, "pixels": 4}"#;
    let walked = rows(&copy(three, None, Direction::Load, &[16, 1, 5], &[]).expect("no fault"));
    assert_eq!(walked, [[16, 1, 5], [16, 2, 5], [16, 0, 6], [16, 1, 6]]);
    let five = r#"{"type": "u8", "dims": [32, 2, 2, 2, 9], "channels": 16, "pixels": 9}"#;
    let walked = rows(&copy(five, None, Direction::Load, &[0, 0, 0, 0, 5], &[]).expect("no fault"));
    assert_eq!(walked[..3], [[0, 0, 0, 0, 5], [0, 1, 0, 0, 5], [0, 0, 1, 0, 5]]);
    assert_eq!(
        walked[4..],
        [[0, 0, 0, 1, 5], [0, 1, 0, 1, 5], [0, 0, 1, 1, 5], [0, 1, 1, 1, 5], [0, 0, 0, 0, 6]]
    );
}

// R5.5.4.1-16, R5.5.4.1-17, R5.5.4.1-18
#[test]
fn im2col_offsets_have_16_8_and_5_bits() {
    for (dims, zeros, most) in
        [("[16, 9, 2]", 1, 0xffff_u32), ("[16, 9, 9, 2]", 2, 0xff), ("[16, 9, 9, 9, 2]", 3, 0x1f)]
    {
        let text = format!(r#"{{"type": "u8", "dims": {dims}, "channels": 16, "pixels": 1}}"#);
        let first = |offset: u32| {
            let (at, offsets) = (vec![0; zeros + 2], [vec![offset], vec![0; zeros - 1]].concat());
            rows(&copy(&text, None, Direction::Load, &at, &offsets).expect("no fault"))[0][1]
        };
        assert_eq!((first(0), first(most), first(most + 1)), (0, i64::from(most), 0), "{dims}");
    }
}

// R5.5.4.3-1, R5.5.4.3-2
#[test]
fn pixels_behind_the_last_image_are_filled() {
    let text = r#"{"type": "u8", "dims": [16, 2, 2, 3], "channels": 16, "pixels": 8}"#;
    let copied = copy(text, None, Direction::Load, &[0, 0, 1, 2], &[]).expect("no fault");
    let held: Vec<bool> = copied.walk.cells().map(|cell| cell.in_bounds()).collect();
    assert_eq!(held, [true, true, false, false, false, false, false, false]);
    assert_eq!(copied.walk.transaction_bytes(), 128, "fill counts");
}

// R5.5.5.1-1, R5.5.5.1-2, R5.5.5.1-6
#[test]
fn im2col_w_may_start_left_of_its_box_and_stays_in_its_row() {
    let text = r#"{"target": "sm_100", "wide": "w", "type": "u8", "dims": [64, 4, 5, 3], "lower": [1], "upper": [-1],
                   "channels": 64, "pixels": 6, "swizzle": "64B"}"#;
    let walked = rows(&copy(text, None, Direction::Load, &[0, -2, 3, 0], &[0, 0]).expect("no fault"));
    assert_eq!(walked.iter().map(|row| row[1]).collect::<Vec<_>>(), [-2, -1, 0, 1, 2, 1]);
    assert!(walked.iter().all(|row| row[2] == 3));
    assert_eq!((walked[4][3], walked[5][3]), (0, 1));
    assert_eq!(copy(text, None, Direction::Load, &[0, 3, 3, 0], &[0, 0]).unwrap_err().code, "copy-base");
}

// R5.5.6-4, R5.5.6-5
#[test]
fn slices_are_always_moved_whole() {
    for (bytes, name) in [(16, "16B"), (32, "32B")] {
        let text = format!(
            r#"{{"type": "u16", "dims": [3, 4, 2], "box": [16, 1, 1], "interleave": "{name}", "swizzle": "32B"}}"#
        );
        let copied = copy(&text, None, Direction::Load, &[1, 2, 1], &[]).expect("no fault");
        assert_eq!(copied.walk.row_bytes(), (bytes, bytes), "{name}");
        let first = copied.walk.cells().next().and_then(|cell| cell.global);
        assert_eq!(first, Some(u64::from(bytes) * (1 + 2 * 3 + 12)), "{name}");
        assert_eq!(copied.walk.transaction_bytes(), 16 * u64::from(bytes), "{name}");
    }
}
