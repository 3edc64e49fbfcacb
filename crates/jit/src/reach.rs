//! Why a check of two bytes is a check of all lanes.
//!
//! Lanes access bytes of a region of memory. Code knows the offset of the first lane in the region, modulo 2^64, and how far
//! other accesses are from it: by the steps of the lanes ([`Steps`]), and by the offsets of the accesses of a group. It
//! compares few places with the end of the region, as unsigned numbers. What follows holds for all 64-bit values; `tests`
//! tries all values of 8 bits by the same functions.
//!
//! **Two ends.** Let `first` and `last` be the distances of the lowest and of the highest byte, as integers that have not
//! wrapped around, with all bytes that are accessed between them. If `offset + first` and `offset + last` modulo 2^64 are
//! both below the size of the region, so is every byte: `last - first` is below 2^63 ([`Reach`] is not made otherwise), and
//! a region has at most 2^63 bytes. From the place of `first` on, `last - first` more bytes end below 2^64. So the place of
//! `last` is the place of `first` plus that difference, without a remainder, and what is between them is between them modulo
//! 2^64, too. The least and the largest of differences that have wrapped around would not do: lanes may be 2^63 away while
//! both of these are near. This is the check of a group, of its first lanes alone, of warps abreast, and of lanes apart.
//!
//! **Runs.** Elements one after the other from a place on have `first` 0 and `last` at most 511: the same, whether there are
//! 32, 16, or as many as take part. An element that is inside of the region at its first byte is so at its last one, since
//! the place is compared with the number of places for an element ([`Region::room`](crate::context::Region)).
//!
//! **Two runs.** Each half of the warp has a run of its own, and both are checked. How far they are apart makes no
//! difference: the place of the second is computed modulo 2^64, for the check as for the access.
//!
//! **Gathers.** Each lane's place is compared by itself.
//!
//! **Alignment.** Steps, and distances in a group, are multiples of the size of an access, which divides 2^64. So all places
//! are multiples of it, or none.
//!
//! **32 bits.** The offset of an address of 32 bits is below 2^32, and distances are added to it in 64 bits, without
//! wrapping around. A place below the size of the region is then the lane's address modulo 2^32; one that would have wrapped
//! around is not below it, and is left to the interpreter.

use crate::steps::{Steps, differences, near};

/// Bits of the widest address.
const BITS: u32 = 64;

/// The bytes that all lanes access, alone or in a group: the distances of the lowest and of the highest one from what the
/// first lane accesses in the first access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    first: i64,
    last: i64,
}

impl Reach {
    /// Of accesses of some bytes by lanes with steps: one, or a group whose least and largest distances to the first are
    /// given. `None` if they are too far apart for a check of both ends.
    pub(crate) fn of(steps: Steps, group: (i64, i64), bytes: usize) -> Option<Reach> {
        Reach::in_bits(steps, group, bytes, BITS)
    }

    /// Of some bytes one after the other, in accesses of a group.
    pub(crate) fn run(group: (i64, i64), bytes: usize) -> Option<Reach> {
        Reach::of(Steps::ZERO, group, bytes)
    }

    /// The same for addresses of fewer bits.
    fn in_bits(steps: Steps, (least, most): (i64, i64), bytes: usize, bits: u32) -> Option<Reach> {
        let (lowest, highest) = differences(steps, bits)?;
        let first = i128::from(lowest) + i128::from(least);
        let last = i128::from(highest) + i128::from(most) + bytes as i128 - 1;
        let [first, last] = [near(first, bits)?, near(last, bits)?];
        (first <= 0 && last >= 0).then_some(Reach { first, last })
    }

    /// The distances that are compared with the size of the region, once they are added to the offset of the first lane. Not
    /// below an offset of 32 bits there is nothing to check.
    pub(crate) fn compared(self, is_wide: bool) -> impl Iterator<Item = i64> {
        let is_above = self.first == 0 && !is_wide;
        [self.first, self.last].into_iter().skip(usize::from(is_above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Steps;

    /// Bits of the addresses that are tried, all of them.
    const FEW: u32 = 8;
    const ADDRESSES: usize = 1 << FEW;

    /// Sizes of regions: up to half of all addresses.
    const SIZES: [usize; 17] = [0, 1, 2, 3, 4, 7, 8, 16, 17, 31, 32, 33, 63, 64, 100, 127, 128];

    /// The least and the largest distance of accesses of a group.
    const GROUPS: [(i64, i64); 5] = [(0, 0), (0, 4), (-4, 0), (-8, 12), (0, 48)];

    fn all_steps() -> impl Iterator<Item = Steps> {
        let word = || i64::from(i8::MIN)..=i64::from(i8::MAX);
        word().flat_map(move |lane| word().map(move |half| Steps { lane, half }))
    }

    /// The bytes that all lanes access, modulo the number of addresses: of the first and the last access of a group.
    fn touched(steps: Steps, (least, most): (i64, i64), bytes: usize) -> [bool; ADDRESSES] {
        let mut touched = [false; ADDRESSES];
        for lane in 0..32 {
            let (within, half) = (lane % 16, lane / 16);
            for distance in [least, 0, most] {
                for byte in 0..bytes as i64 {
                    let at = steps.lane * within + steps.half * half + distance + byte;
                    touched[at.rem_euclid(ADDRESSES as i64) as usize] = true;
                }
            }
        }
        touched
    }

    /// The offsets and sizes at which places pass, by their distances from the offset.
    fn passing(compared: &[i64], is_wide: bool) -> impl Iterator<Item = (usize, usize)> {
        let place = move |offset: usize, distance: i64| match is_wide {
            true => (offset as i64 + distance).rem_euclid(ADDRESSES as i64),
            // In a wider register, where what is below 0 is large.
            false => offset as i64 + distance,
        };
        let sizes = SIZES.into_iter().flat_map(|size| (0..ADDRESSES).map(move |offset| (offset, size)));
        sizes.filter(move |&(offset, size)| {
            compared.iter().all(|&distance| (0..size as i64).contains(&place(offset, distance)))
        })
    }

    fn is_inside(touched: &[bool; ADDRESSES], offset: usize, size: usize) -> bool {
        (size..ADDRESSES).all(|outside| !touched[(outside + ADDRESSES - offset) % ADDRESSES])
    }

    #[test]
    fn both_ends_are_inside_only_where_every_byte_of_every_lane_is() {
        let mut checked = 0u64;
        for steps in all_steps() {
            for (bytes, group) in [1, 2, 4, 8, 16].into_iter().flat_map(|n| GROUPS.map(|group| (n, group))) {
                let Some(reach) = Reach::in_bits(steps, group, bytes, FEW) else { continue };
                let touched = touched(steps, group, bytes);
                let compared: Vec<i64> = reach.compared(true).collect();
                for (offset, size) in passing(&compared, true) {
                    checked += 1;
                    assert!(is_inside(&touched, offset, size), "{steps:?} {group:?} {bytes} {offset} {size}");
                }
            }
        }
        assert!(checked > 100_000, "{checked}");
    }

    #[test]
    fn offsets_of_fewer_bits_than_registers_need_no_limit() {
        for steps in all_steps() {
            let (bytes, group) = (4, (-4, 8));
            let reach = Reach::of(steps, group, bytes).expect("far from 2^62");
            let touched = touched(steps, group, bytes);
            let compared: Vec<i64> = reach.compared(false).collect();
            for (offset, size) in passing(&compared, false) {
                assert!(is_inside(&touched, offset, size), "{steps:?} {offset} {size}");
            }
        }
    }

    #[test]
    fn two_runs_may_be_any_distance_apart() {
        for (half, bytes) in (i64::from(i8::MIN)..=127).flat_map(|half| [1, 2, 4].map(|bytes| (half, bytes)))
        {
            let run = 16 * bytes - 1;
            let compared = [0, run as i64, half, half + run as i64];
            let touched = touched(Steps { lane: bytes as i64, half }, (0, 0), bytes);
            for (offset, size) in passing(&compared, true) {
                assert!(is_inside(&touched, offset, size), "{half} {bytes} {offset} {size}");
            }
        }
    }

    /// What the limit is for: without it, the least and the largest difference pass while lanes between them do not.
    #[test]
    fn ends_that_have_wrapped_around_are_not_enough() {
        let wrong = all_steps().filter(|&steps| {
            let wrapped = [0, 15, 16, 31]
                .map(|lane: i64| i64::from((steps.lane * (lane % 16) + steps.half * (lane / 16)) as i8));
            let ends =
                [wrapped.into_iter().fold(0, i64::min), wrapped.into_iter().fold(3, |a, b| a.max(b + 3))];
            let touched = touched(steps, (0, 0), 4);
            passing(&ends, true).any(|(offset, size)| !is_inside(&touched, offset, size))
        });
        assert!(wrong.count() > 1000);
    }

    #[test]
    fn lanes_that_are_near_have_a_reach() {
        assert_eq!(Reach::of(Steps::even(4), (-8, 16), 4), Some(Reach { first: -8, last: 16 + 127 }));
        assert_eq!(
            Reach::of(Steps { lane: 4, half: -1024 }, (0, 0), 4),
            Some(Reach { first: -1024, last: 63 })
        );
        assert_eq!(Reach::of(Steps { lane: 4, half: 1 << 62 }, (0, 0), 4), None);
        assert_eq!(Reach::of(Steps { lane: 1 << 60, half: 0 }, (0, 0), 4), None);
        assert_eq!(Reach::of(Steps { lane: i64::MIN, half: i64::MIN }, (0, 0), 4), None);
        assert_eq!(Reach::of(Steps::ZERO, (i64::MIN, i64::MAX), 4), None);
    }
}
