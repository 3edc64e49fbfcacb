//! Bytes, rows and places.

use super::*;
use crate::memory::wide::Baseline;
use softwarp_units::lanes::ALL;

#[test]
fn bytes_go_in_and_come_out_at_any_place() {
    let cells = SharedBytes::new(100).unwrap();
    let all: Vec<u8> = (1..=100).collect();
    for first in 0..40 {
        for length in 0..60 {
            cells.write(first, &all[..length]);
            let mut back = vec![0; length];
            cells.read(first, &mut back);
            assert_eq!(back[..], all[..length], "{length} bytes at {first}");
        }
    }
    let bytes: Vec<u8> = (1..=40).collect();
    for at in 0..16 {
        cells.write(at, &bytes);
        let mut back = [0; 40];
        cells.read(at, &mut back);
        assert_eq!(back[..], bytes[..]);
        for length in 0..10 {
            cells.write(at, &[7; 10][..length]);
            cells.read(at, &mut back[..length]);
            assert!(back[..length].iter().all(|&byte| byte == 7));
        }
        cells.write(at, &bytes);
    }
    assert_eq!(u32::load(&cells, 16), u32::from_le_bytes([2, 3, 4, 5]));
    assert_eq!(u16::load(&cells, 16), u16::from_le_bytes([2, 3]));
}

#[test]
fn the_first_bytes_of_an_access_come_out_alone() {
    let cells = SharedBytes::new(20).unwrap();
    cells.write(0, &std::array::from_fn::<u8, 20, _>(|at| at as u8 + 1));
    for whole in [4, 8, 16] {
        for (at, count) in [0, 16].into_iter().flat_map(|at| (0..=whole).map(move |count| (at, count))) {
            let inside = count.min(20 - at);
            let mut found = [0xff; 16];
            cells.read_first(at as u64, inside, &mut found[..whole]);
            let (read, rest) = found.split_at(inside);
            assert!(
                read.iter().zip(at as u8 + 1..).all(|(&byte, expected)| byte == expected),
                "{count} at {at}"
            );
            assert!(rest.iter().all(|&byte| byte == 0xff), "{count} at {at}");
        }
    }
}

fn size(bytes: u64) -> Size {
    Size::new(bytes).expect("a power of two")
}

/// Addresses as they stand, all lanes taking part.
fn plain(at: &[u64; LANES], bytes: u64) -> LaneAddresses<u64> {
    LaneAddresses { taking: ALL, lead: at[0], offset: 0, base: 0, last: 0, size: size(bytes) }
}

/// The places of a row, with what every CPU has.
fn places<'a>(
    cells: &'a SharedBytes,
    at: &[u64; LANES],
    bytes: u64,
    each: &'a mut [u64; LANES],
) -> Option<LaneOffsets<'a, 'a>> {
    // SAFETY: every CPU has the level.
    unsafe { cells.places::<Baseline, u64>(at, plain(at, bytes), each) }
}

#[test]
fn a_size_is_a_power_of_two() {
    for bytes in [0, 3, 6, 12, 24, u64::MAX] {
        assert!(Size::new(bytes).is_none(), "{bytes}");
    }
    for bytes in [1, 2, 4, 8, 16, 32] {
        assert_eq!(Size::new(bytes).map(Size::bytes), Some(bytes));
    }
}

/// A plain slice lies at any address, whatever is copied to it.
#[test]
fn bytes_go_to_slices_that_are_not_aligned() {
    let cells = SharedBytes::new(1024).unwrap();
    let bytes: Vec<u8> = (0..400u32).map(|n| (n * 7 + n / 256) as u8).collect();
    for at in [0, 8, 3] {
        for start in 0..9 {
            cells.write(at, &bytes[start..start + 300]);
            let mut back = vec![0; 320];
            cells.read(at, &mut back[start..start + 300]);
            assert_eq!(back[start..start + 300], bytes[start..start + 300], "{start}");
        }
    }
}

/// Threads write and read the same places by rows, halves, elements of all widths and single bytes. What is read was
/// written, element by element. This is what ThreadSanitizer is run on.
#[test]
fn threads_share_memory_and_see_whole_elements() {
    const ROUNDS: u32 = if cfg!(miri) { 3 } else { 200 };
    let cells = SharedBytes::new(8 * LANES as u64).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let cells = &cells;
            scope.spawn(move || share(cells, thread, ROUNDS));
        }
    });
    // No access was torn: each word is one that a thread wrote.
    for at in 0..2 * LANES {
        assert_whole(u32::load(&cells, 4 * at));
    }
}

/// A word that repeats its low byte.
fn word(round: u32, thread: u32) -> u32 {
    (round * 4 + thread) % 256 * 0x0101_0101
}

fn assert_whole(word: u32) {
    assert_eq!(word, word % 256 * 0x0101_0101, "{word:#x} is in pieces");
}

fn share(cells: &SharedBytes, thread: u32, rounds: u32) {
    for round in 0..rounds {
        let value = word(round, thread);
        let row = [value; LANES];
        let piece = CachedRegion::new(0, cells);
        let at: [u64; LANES] = std::array::from_fn(|lane| 4 * ((lane as u64 * 5 + u64::from(round)) % 64));
        // SAFETY: every CPU has the level.
        unsafe {
            match (round + thread) % 5 {
                0 => cells.write_row::<Baseline, u32>(4 * u64::from(round % 32), &row),
                1 => assert!(piece.write_halves::<Baseline, u32>([0, 64], &row)),
                2 => places(cells, &at, 4, &mut [0; LANES]).unwrap().scatter(0, &row, ALL),
                3 => (u64::from(value) << 32 | u64::from(value)).store(cells, 8 * (round as usize % 32)),
                _ => {
                    u32::update(cells, 4 * (round as usize % 64), |_| value);
                }
            }
            let mut back = [0u32; LANES];
            cells.read_row::<Baseline, u32>(4 * u64::from(round % 32), &mut back);
            back.into_iter().for_each(assert_whole);
            assert!(piece.read_halves::<Baseline, u32>([64, 128], &mut back));
            back.into_iter().for_each(assert_whole);
            places(cells, &at, 4, &mut [0; LANES])
                .unwrap()
                .gather::<Baseline, u32>(0)
                .into_iter()
                .for_each(assert_whole);
        }
        let mut bytes = [0; 256];
        cells.read(0, &mut bytes);
        bytes.as_chunks::<4>().0.iter().for_each(|&word| assert_whole(u32::from_le_bytes(word)));
    }
}

/// Threads write and read 16 bytes by every kind of access to them. All bytes of what is read are the same.
#[test]
fn threads_share_memory_and_see_whole_pieces_of_16_bytes() {
    const ROUNDS: u32 = if cfg!(miri) { 5 } else { 2000 };
    let cells = SharedBytes::new(16 * LANES as u64).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let cells = &cells;
            scope.spawn(move || (0..ROUNDS).for_each(|round| share_pieces(cells, round, thread)));
        }
    });
}

fn share_pieces(cells: &SharedBytes, round: u32, thread: u32) {
    let byte = (round * 4 + thread) as u8;
    let piece = u128::from_le_bytes([byte; 16]);
    let whole = |piece: u128| {
        let byte = piece as u8;
        assert_eq!(piece, u128::from_le_bytes([byte; 16]), "{piece:#x} is in pieces");
    };
    let lane = (round as usize * 5) % LANES;
    let at: [u64; LANES] = std::array::from_fn(|lane| 16 * ((lane as u64 * 5 + u64::from(round)) % 32));
    match (round + thread) % 4 {
        0 => piece.store(cells, 16 * lane),
        1 => cells.write(0, &[byte; 16 * LANES]),
        2 => places(cells, &at, 16, &mut [0; LANES]).unwrap().scatter(0, &[piece; LANES], ALL),
        _ => whole(u128::update(cells, 16 * lane, |_| piece)),
    }
    whole(u128::load(cells, 16 * (LANES - 1 - lane)));
    // SAFETY: every CPU has the level.
    let row: [u128; LANES] =
        unsafe { places(cells, &at, 16, &mut [0; LANES]).unwrap().gather::<Baseline, u128>(0) };
    row.into_iter().for_each(whole);
    // Also from a place that is not aligned on.
    let mut bytes = [0; 16 * LANES - 3];
    cells.read(3, &mut bytes);
    bytes[13..].as_chunks().0.iter().for_each(|&piece| whole(u128::from_le_bytes(piece)));
}

#[test]
fn a_gather_reads_each_place() {
    let cells = SharedBytes::new(64).unwrap();
    7u32.store(&cells, 60);
    let mut at = [0; LANES];
    at[31] = 60;
    // SAFETY: every CPU has the level.
    let row: [u32; LANES] =
        unsafe { places(&cells, &at, 4, &mut [0; LANES]).unwrap().gather::<Baseline, u32>(0) };
    assert_eq!(row[31], 7);
    assert_eq!(row[30], 0);
}

#[test]
fn places_outside_or_misaligned_are_none() {
    let cells = SharedBytes::new(64).unwrap();
    assert!(places(&cells, &[60; LANES], 4, &mut [0; LANES]).is_some());
    for wrong in [1 << 40, 61, 62, 64] {
        let mut at = [0; LANES];
        at[17] = wrong;
        assert!(places(&cells, &at, 4, &mut [0; LANES]).is_none(), "{wrong}");
    }
    assert!(places(&cells, &[0; LANES], 128, &mut [0; LANES]).is_none());
}

#[test]
#[should_panic(expected = "elements are parts of an access")]
fn an_element_outside_an_access_is_caught() {
    let cells = SharedBytes::new(64).unwrap();
    places(&cells, &[56; LANES], 8, &mut [0; LANES]).unwrap().scatter(8, &[0u32; LANES], ALL);
}

fn copies<C: Cpu>() {
    let cells = SharedBytes::new(8 * 40).unwrap();
    for word in 0..80u32 {
        word.store(&cells, 4 * word as usize);
    }
    for first in [0u32, 1, 2, 7, 8] {
        let mut row = [0; LANES];
        // SAFETY: the caller saw that the CPU has the level.
        unsafe { cells.read_row::<C, u32>(u64::from(first) * 4, &mut row) };
        assert_eq!(row, std::array::from_fn(|lane| first + lane as u32));
        let at: [u64; LANES] = std::array::from_fn(|lane| 8 * (31 - lane as u64));
        let mut each = [0; LANES];
        // SAFETY: the caller saw that the CPU has the level.
        let (narrow, wide) = unsafe {
            let places = cells.places::<C, u64>(&at, plain(&at, 8), &mut each).unwrap();
            (places.gather::<C, u32>(4), places.gather::<C, u64>(0))
        };
        assert_eq!(narrow, std::array::from_fn(|lane| 2 * (31 - lane as u32) + 1));
        assert_eq!(
            wide,
            std::array::from_fn(|lane| u64::from(narrow[lane]) << 32 | u64::from(narrow[lane] - 1))
        );
    }
}

fn finds<C: Cpu, W: Address>(words: [W; LANES], lead: W) {
    // SAFETY: the caller saw that the CPU has the level.
    unsafe {
        assert_eq!(C::apart(&words, lead, 8), ALL & !(1 << 9));
        assert_eq!(C::apart(&words, lead, 0), 1);
        let from =
            LaneAddresses { taking: ALL & !(1 << 9), lead, offset: 16, base: 8, last: 1000, size: size(8) };
        let (mut each, mut plainly) = ([0; LANES], [0; LANES]);
        assert_eq!(C::place(&words, from, &mut each), Baseline::place(&words, from, &mut plainly));
        assert_eq!(each, plainly);
        assert_eq!(each[9], each[0]);
        for (from, right) in [
            (from, true),
            (LaneAddresses { taking: ALL, ..from }, false),
            (LaneAddresses { last: each[31], ..from }, true),
            (LaneAddresses { last: each[31] - 1, ..from }, false),
            (LaneAddresses { size: size(16), ..from }, false),
        ] {
            assert_eq!(C::place(&words, from, &mut each), right);
        }
    }
}

/// Two halves that begin anywhere, in steps of 0 or 4, and with one lane elsewhere.
fn halves<C: Cpu, W: Address>(word: fn(u64) -> W) {
    for step in [0, 4] {
        let leads = [word(0u64.wrapping_sub(8)), word(400)];
        let mut row: [W; LANES] =
            std::array::from_fn(|lane| leads[lane / 16].plus(step * (lane as u64 % 16)));
        // SAFETY: the caller saw that the CPU has the level.
        unsafe {
            assert!(C::halves(&row, leads, step));
            assert!(!C::halves(&row, leads, 4 - step));
            for lane in [1, 15, 16, 31] {
                let before = std::mem::replace(&mut row[lane], word(1));
                assert!(!C::halves(&row, leads, step), "lane {lane}");
                row[lane] = before;
            }
        }
    }
}

/// A piece gives and takes halves that are wholly inside and aligned.
fn pieces<C: Cpu>() {
    let cells = SharedBytes::new(200).unwrap();
    let row: [u32; LANES] = std::array::from_fn(|lane| 1 + lane as u32);
    let piece = CachedRegion::new(1000, &cells);
    let mut back = [0; LANES];
    // SAFETY: the caller saw that the CPU has the level.
    unsafe {
        assert!(piece.write_halves::<C, u32>([1136, 1004], &row));
        assert!(piece.read_halves::<C, u32>([1136, 1004], &mut back));
        assert_eq!(back, row);
        // Of halves that are stored together, the first wins.
        assert!(piece.write_halves::<C, u32>([1000, 1004], &row));
        assert_eq!((u32::load(&cells, 0), u32::load(&cells, 4)), (1, 2));
        for wrong in [[1140, 1000], [1000, 1140], [996, 1000], [1000, 1002], [u64::MAX - 3, 1000], [0, 1000]]
        {
            assert!(!piece.read_halves::<C, u32>(wrong, &mut back), "{wrong:?}");
            assert!(!piece.write_halves::<C, u32>(wrong, &row), "{wrong:?}");
        }
        assert!(!CachedRegion::EMPTY.read_halves::<C, u32>([0, 0], &mut back));
    }
    assert_eq!(piece.elements::<u32>([1000, 1196]), Some([1, u32::load(&cells, 196)]));
    assert_eq!(piece.elements::<u32>([1000, 1200]), None);
}

fn finds_all<C: Cpu>() {
    halves::<C, u32>(|word| word as u32);
    halves::<C, u64>(|word| word);
    pieces::<C>();
    // Words of 32 bits begin anew on the way.
    let narrow =
        std::array::from_fn(
            |lane| {
                if lane == 9 { 5 } else { 0u32.wrapping_sub(8).wrapping_add(8 * lane as u32) }
            },
        );
    let wide = std::array::from_fn(|lane| if lane == 9 { 5 } else { 64 + 8 * lane as u64 });
    finds::<C, u32>(narrow, narrow[0]);
    finds::<C, u64>(wide, wide[0]);
    copies::<C>();
}

#[test]
fn rows_and_gathers_are_the_same_at_all_levels() {
    finds_all::<Baseline>();
    #[cfg(target_arch = "x86_64")]
    {
        use crate::memory::wide::{Avx2, Avx512};
        use softwarp_num::Level;
        if Level::current() >= Level::Avx2 {
            finds_all::<Avx2>();
        }
        if Level::current() >= Level::Avx512 {
            finds_all::<Avx512>();
        }
    }
}

#[test]
fn memory_that_no_machine_has_is_refused() {
    assert!(SharedBytes::new(u64::MAX).is_none());
    assert!(SharedBytes::new(1 << 62).is_none());
}
