//! Loads and stores of several elements in the common cases: each lane's elements are moved in one piece of up to 16
//! bytes, or in pieces of 16 bytes, since other threads must not see half of them.
//!
//! `unsafe` is here for calls of a level's instructions within functions that are compiled for it, as in `fast/mod.rs`.

use super::element::{elements, put};
use super::{Any, At, Load, Near, Quick, RowCpu, Store, find_each, find_near, is_refused};
use crate::memory::Spaces;
use crate::memory::cell::{Scalar, Unit};
use crate::memory::order;
use softwarp_ir::Access;
use softwarp_num::multiversion;
use softwarp_units::lanes::{Frame, LANES};

/// The functions for a number of elements of a number of bytes. Other vectors are left to the general way.
pub(super) fn quick(bytes: u8, elements: usize) -> Quick {
    match (bytes, elements) {
        (1, 2) => functions::<u16, u8>(),
        (1, 4) => functions::<u32, u8>(),
        (2, 2) => functions::<u32, u16>(),
        (2, 4) => functions::<u64, u16>(),
        (4, 2) => functions::<u64, u32>(),
        (4, 4 | 8) => functions::<u128, u32>(),
        (8, 2 | 4) => functions::<u128, u64>(),
        _ => Quick::NEVER,
    }
}

fn functions<P: Unit, T: Scalar>() -> Quick {
    Quick { near: near::<P, T>().best(), apart: apart::<P, T>().best(), store: stores::<P, T>().best() }
}

multiversion! {
    fn near[P: Unit, T: Scalar][P, T]
        (frame: &mut Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool: Load = load_same;
}
multiversion! {
    fn apart[P: Unit, T: Scalar][P, T]
        (frame: &mut Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool: Load = load_each;
}
multiversion! {
    fn stores[P: Unit, T: Scalar][P, T]
        (frame: &Frame, access: &Access, spaces: &Spaces<'_>, taking: u32, hint: &mut u32) -> bool: Store = store;
}

/// Bytes of an access.
#[inline(always)]
fn total<T: Scalar>(access: &Access) -> u64 {
    (T::BYTES * access.registers.len()) as u64
}

/// Where an element is in its piece: the number of the word, and how far it is from its lowest bit.
#[inline(always)]
fn within<P: Unit, T: Scalar>(index: usize) -> (usize, usize) {
    let bits = 8 * (index * T::BYTES % P::BYTES);
    (bits / 64, bits % 64)
}

/// A load from one place.
#[inline(always)]
fn load_same<C: RowCpu, P: Unit, T: Scalar>(
    _: C,
    frame: &mut Frame,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
    hint: &mut u32,
) -> bool {
    let at = At { spaces, taking, hint };
    let near = find_near::<Any, C::Cpu>(frame, &access.address, total::<T>(access), at);
    let Some((cells, Near::Same(at))) = near else { return false };
    for (n, registers) in access.registers.chunks(P::BYTES / T::BYTES).enumerate() {
        let words = P::load(cells, at as usize + n * P::BYTES).words();
        for (index, &register) in registers.iter().enumerate() {
            let (word, by) = within::<P, T>(index);
            put(frame, access.signed, register, &[T::from_word(words[word] >> by); LANES], taking);
        }
    }
    true
}

/// A load from places anywhere in one piece of memory.
#[inline(always)]
fn load_each<C: RowCpu, P: Unit, T: Scalar>(
    _: C,
    frame: &mut Frame,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
    hint: &mut u32,
) -> bool {
    let at = At { spaces, taking, hint };
    let mut each = [0; LANES];
    let found = find_each::<Any, C::Cpu>(frame, &access.address, total::<T>(access), at, &mut each);
    let Some(places) = found else { return false };
    for (n, registers) in access.registers.chunks(P::BYTES / T::BYTES).enumerate() {
        // SAFETY: the CPU has the level: see the head of the file.
        let pieces = unsafe { places.gather::<C::Cpu, P>((n * P::BYTES) as u64) };
        for (index, &register) in registers.iter().enumerate() {
            let (word, by) = within::<P, T>(index);
            let mut row = [T::default(); LANES];
            for lane in 0..LANES {
                row[lane] = T::from_word(pieces[lane].words()[word] >> by);
            }
            put(frame, access.signed, register, &row, taking);
        }
    }
    true
}

#[inline(always)]
fn store<C: RowCpu, P: Unit, T: Scalar>(
    _: C,
    frame: &Frame,
    access: &Access,
    spaces: &Spaces<'_>,
    taking: u32,
    hint: &mut u32,
) -> bool {
    let bytes = total::<T>(access);
    let mut each = [0; LANES];
    let near =
        find_near::<Any, C::Cpu>(frame, &access.address, bytes, At { spaces, taking, hint: &mut *hint });
    let same = match near {
        Some((cells, _)) if is_refused::<Any>(cells, spaces) => return false,
        Some((cells, Near::Same(at))) => Some((cells, at)),
        _ => None,
    };
    let places = match same {
        Some(_) => None,
        None => {
            let at = At { spaces, taking, hint };
            let places = find_each::<Any, C::Cpu>(frame, &access.address, bytes, at, &mut each);
            let Some(places) = places.filter(|places| !is_refused::<Any>(places.cells(), spaces)) else {
                return false;
            };
            Some(places)
        }
    };
    for (n, registers) in access.registers.chunks(P::BYTES / T::BYTES).enumerate() {
        let mut words = [[0u64; 2]; LANES];
        for (index, &register) in registers.iter().enumerate() {
            let (word, by) = within::<P, T>(index);
            let row = elements::<T>(frame, register);
            for lane in 0..LANES {
                words[lane][word] |= row[lane].to_word() << by;
            }
        }
        let skip = n * P::BYTES;
        if let Some((cells, at)) = same {
            let last = order::winner(bytes, taking) % LANES;
            P::of_words(words[last]).store(cells, at as usize + skip);
        }
        if let Some(places) = &places {
            places.scatter(skip as u64, &words.map(P::of_words), taking);
        }
    }
    true
}
