//! The swizzle modes against the tables of PTX ISA section 5.5.7.

use softwarp_tensor::Swizzle;
use softwarp_tensor::swizzle::{Atomicity, CELL, LINE};

/// What the manual's table for a mode shows, from an address where the pattern starts: row by row, which of a line's
/// eight cells lies in each place.
fn table(mode: Swizzle) -> Vec<String> {
    let base = 0x10000_u64;
    let rows = (mode.period() / LINE).max(1);
    let row = |row: u32| {
        let line = base + u64::from(row * LINE);
        let cell = |place: u32| {
            let address = mode.apply(line + u64::from(place * CELL));
            assert_eq!(address / u64::from(LINE), line / u64::from(LINE), "cells stay in their line");
            char::from_digit((address - line) as u32 / CELL, 10).expect("a cell")
        };
        (0..8).map(cell).collect()
    };
    (0..rows).map(row).collect()
}

#[test]
fn the_tables_of_the_manual_are_those_of_the_formulas() {
    let tables: [(Swizzle, &[&str]); 8] = [
        (Swizzle::None, &["01234567"]),
        (Swizzle::B32, &["01234567", "10325476"]),
        (Swizzle::B64, &["01234567", "10325476", "23016745", "32107654"]),
        (Swizzle::B96, &["01234567", "10325476"]),
        (
            Swizzle::B128,
            &["01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"],
        ),
        (Swizzle::B128Atom32, &["01234567", "23016745", "45670123", "67452301"]),
        (Swizzle::B128Atom32Flip8, &["01234567", "23016745", "45670123", "67452301"]),
        (Swizzle::B128Atom64, &["01234567", "45670123"]),
    ];
    for (mode, rows) in tables {
        assert_eq!(table(mode), rows, "{mode}");
    }
}

#[test]
fn every_pattern_repeats_after_its_period() {
    for &mode in Swizzle::ALL {
        let period = u64::from(mode.period());
        for address in 0..4096 {
            assert_eq!(mode.apply(address + period), mode.apply(address) + period, "{mode} at {address:#x}");
        }
        if mode != Swizzle::None {
            let half = period / 2;
            let differs = (0..4096).any(|at| mode.apply(at + half) != mode.apply(at) + half);
            assert!(differs, "{mode} does not repeat sooner");
        }
    }
}

#[test]
fn every_mode_is_a_bijection_that_undoes_itself() {
    for &mode in Swizzle::ALL {
        let mut seen = vec![false; 4096];
        for address in 0..4096_u64 {
            let place = mode.apply(address);
            assert_eq!(mode.apply(place), address, "{mode} at {address:#x}");
            assert!(!std::mem::replace(&mut seen[place as usize], true), "{mode} at {address:#x}");
        }
        let top = u64::MAX - 1023;
        assert_eq!(mode.apply(mode.apply(top)), top, "{mode} at the end of the addresses");
    }
}

#[test]
fn atoms_stay_whole() {
    for &mode in Swizzle::ALL {
        let grain = u64::from(mode.grain());
        for atom in (0..4096).step_by(grain as usize) {
            for byte in 0..grain {
                assert_eq!(mode.apply(atom + byte), mode.apply(atom) + byte, "{mode} at {atom:#x}");
            }
        }
        let reach = mode.reach();
        for address in 0..4096 {
            assert_eq!(mode.apply(address) / reach, address / reach, "{mode} at {address:#x}");
        }
    }
}

#[test]
fn the_flip_exchanges_halves_of_cells_in_every_second_line() {
    let (flip, plain) = (Swizzle::B128Atom32Flip8, Swizzle::B128Atom32);
    for address in 0..2048 {
        let flipped = if address / 128 % 2 == 1 { 8 } else { 0 };
        assert_eq!(flip.apply(address), plain.apply(address) ^ flipped, "{address:#x}");
    }
}

#[test]
fn base_offsets_follow_the_formulas_of_the_manual() {
    for address in (0..8192).step_by(16) {
        let line = (address / 128) as u32;
        assert_eq!(Swizzle::B128.base_offset(address), line % 8);
        assert_eq!(Swizzle::B128Atom32.base_offset(address), line % 8);
        assert_eq!(Swizzle::B96.base_offset(address), line % 2);
        assert_eq!(Swizzle::B64.base_offset(address), line % 4);
        assert_eq!(Swizzle::B32.base_offset(address), line % 2);
    }
    let boundaries = [Swizzle::B128, Swizzle::B96, Swizzle::B64, Swizzle::B32].map(Swizzle::boundary);
    assert_eq!(boundaries, [1024, 256, 512, 256]);
}

#[test]
fn the_pattern_is_that_of_the_address_wherever_a_copy_starts() {
    // Line `i` of a copy whose base offset is `b` has line `b + i` of the pattern.
    for mode in [Swizzle::B32, Swizzle::B64, Swizzle::B96, Swizzle::B128] {
        let lines = u64::from(mode.boundary() / LINE);
        for start in (0..4096).step_by(128) {
            for line in 0..16 {
                let pattern = (u64::from(mode.base_offset(start)) + line) % lines * 128;
                assert_eq!(
                    mode.difference(start + line * 128),
                    mode.difference(pattern),
                    "{mode} at {start:#x}"
                );
            }
        }
    }
}

#[test]
fn only_the_pairs_of_table_14_exist() {
    use Atomicity::*;
    let atoms = [None, Some(B16), Some(B32), Some(B32Flip8), Some(B64)];
    let legal: Vec<(u32, usize)> = [0, 32, 64, 96, 128]
        .into_iter()
        .flat_map(|span| (0..atoms.len()).map(move |atom| (span, atom)))
        .filter(|(span, atom)| Swizzle::with(*span, atoms[*atom]).is_some())
        .collect();
    assert_eq!(legal, [(0, 0), (32, 1), (64, 1), (96, 1), (128, 1), (128, 2), (128, 3), (128, 4)]);
    for &mode in Swizzle::ALL {
        assert_eq!(Swizzle::with(mode.span(), mode.atomicity()), Some(mode));
    }
}

#[test]
fn larger_atoms_need_their_own_alignment() {
    let needs = Swizzle::ALL.iter().map(|mode| (mode.name(), mode.atom_alignment()));
    for (name, alignment) in needs {
        let expected = match name {
            "128B_ATOM_32B" | "128B_ATOM_32B_FLIP_8B" => 32,
            "128B_ATOM_64B" => 64,
            _ => 16,
        };
        assert_eq!(alignment, expected, "{name}");
    }
}
