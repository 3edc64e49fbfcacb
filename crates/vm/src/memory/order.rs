//! Which lane wins when several of a warp store to one place with one instruction.
//!
//! PTX leaves that open, the hardware does not, and compilers come to depend on it: where the lanes of a butterfly
//! reduction end with sums that differ in the last bit, all of them store theirs to one place. An H200 stores 128 bytes
//! of a warp at a time: all lanes together if each has at most 4 bytes, one half of them after the other with 8, one
//! quarter after the other with 16. Of lanes that are stored together the lowest wins, and what comes later overwrites
//! what came before. This holds in `.shared` as in `.global`, for single elements and vectors, whichever lanes take
//! part: 43,008 recorded places agree. Atomic operations are done lane by lane, the lowest first.

use softwarp_units::lanes::LANES;

/// Bytes that are stored at a time.
const TOGETHER: u64 = 128;

/// How many lanes, each with a given number of bytes, are stored together.
#[inline(always)]
pub(crate) fn together(bytes: u64) -> usize {
    let most = (TOGETHER / bytes.max(1)).clamp(1, LANES as u64);
    most as usize
}

/// All lanes, in an order in which the one that wins is the last at its place; each has a given number of bytes, a power of two.
#[inline(always)]
pub(crate) fn storing(bytes: u64) -> impl Iterator<Item = usize> + Clone {
    let backwards = together(bytes) - 1;
    (0..LANES).map(move |at| at ^ backwards)
}

/// The lane whose value remains, of lanes that all store to one place, a given number of bytes each. There is at least
/// one.
#[inline(always)]
pub(crate) fn winner(bytes: u64, taking: u32) -> usize {
    let highest = LANES - 1 - taking.leading_zeros() as usize % LANES;
    let group = highest & !(together(bytes) - 1);
    group + (taking >> group).trailing_zeros() as usize % LANES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the rule is told: the lowest lane of the last group that has one.
    fn told(bytes: u64, taking: u32) -> usize {
        let group = (32 * 4 / bytes.max(4)) as usize;
        let groups = (0..LANES).step_by(group).map(|first| (first..first + group).collect::<Vec<_>>());
        let mut with_some = groups.filter_map(|lanes| lanes.into_iter().find(|lane| taking >> lane & 1 == 1));
        with_some.next_back().expect("one takes part")
    }

    #[test]
    fn the_lowest_lane_of_the_last_group_wins() {
        assert_eq!(winner(4, u32::MAX), 0);
        assert_eq!(winner(8, u32::MAX), 16);
        assert_eq!(winner(16, u32::MAX), 24);
        assert_eq!(winner(16, 0x0000_0c30), 10);
        let masks = (0..2000u32).map(|n| n.wrapping_mul(0x9e37_79b9) ^ n << 7).chain((0..32).map(|n| 1 << n));
        for taking in masks.filter(|&mask| mask != 0) {
            for bytes in [1, 2, 4, 8, 16] {
                let last = storing(bytes).filter(|lane| taking >> lane & 1 == 1).last();
                assert_eq!(last, Some(told(bytes, taking)), "{bytes} bytes of {taking:#x}");
                assert_eq!(winner(bytes, taking), told(bytes, taking), "{bytes} bytes of {taking:#x}");
            }
        }
    }
}
