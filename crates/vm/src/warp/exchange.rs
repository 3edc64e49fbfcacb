//! Operations among the lanes of a warp, as functions of what each lane brings (PTX ISA sections 9.7.9.6,
//! 9.7.13.9 to 9.7.13.14).

use softwarp_ir::WarpOpKind;
use softwarp_num::{Vectorise, vectorised};
use softwarp_units::lanes::{LANES, lanes};

/// The operands of the lanes.
#[derive(Clone, Debug)]
pub(crate) struct Brought {
    /// The value.
    pub a: [u64; LANES],
    /// The second operand of `shfl`.
    pub b: [u32; LANES],
    /// The third operand of `shfl`.
    pub c: [u32; LANES],
    /// The predicate.
    pub p: u32,
}

/// The results of the lanes: a row and a predicate. A result that the operation does not have is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub d: [u32; LANES],
    pub p: u32,
}

/// Performs an operation among the lanes present.
pub(crate) fn exchange(kind: WarpOpKind, from: &Brought, present: u32) -> Got {
    use WarpOpKind::*;
    let all_get = |d: u32| Got { d: [d; LANES], p: 0 };
    let vote = |holds: bool| Got { d: [0; LANES], p: if holds { present } else { 0 } };
    let fold = |start: u32, f: fn(u32, u32) -> u32| {
        all_get(lanes(present).fold(start, |sum, lane| f(sum, from.a[lane] as u32)))
    };
    let yes = from.p & present;
    match kind {
        Sync => all_get(0),
        ShflUp | ShflDown | ShflBfly | ShflIdx => {
            shuffle(kind, (&from.a.map(|value| value as u32), &from.b, &from.c), present)
        }
        VoteAll => vote(yes == present),
        VoteAny => vote(yes != 0),
        VoteUni => vote(yes == present || yes == 0),
        VoteBallot => all_get(yes),
        MatchAny32 | MatchAny64 => Got { d: vectorised(Matches { values: &from.a, present }), p: 0 },
        MatchAll32 | MatchAll64 => {
            let first = from.a[present.trailing_zeros() as usize % LANES];
            let equal = lanes(present).all(|lane| from.a[lane] == first);
            if equal { Got { d: [present; LANES], p: present } } else { all_get(0) }
        }
        ReduxAdd => fold(0, u32::wrapping_add),
        ReduxAnd => fold(u32::MAX, |a, b| a & b),
        ReduxOr => fold(0, |a, b| a | b),
        ReduxXor => fold(0, |a, b| a ^ b),
        ReduxMinU32 => fold(u32::MAX, u32::min),
        ReduxMaxU32 => fold(0, u32::max),
        ReduxMinS32 => fold(i32::MAX as u32, |a, b| (a as i32).min(b as i32) as u32),
        ReduxMaxS32 => fold(i32::MIN as u32, |a, b| (a as i32).max(b as i32) as u32),
        ReduxF32 { max, abs, nan } => all_get(reduce_floats(from, present, max, abs, nan)),
        ActiveMask => all_get(present),
        // The lowest lane is elected: any choice is allowed that is always the same.
        Elect => {
            let leader = present.trailing_zeros();
            Got { d: [leader; LANES], p: present & present.wrapping_neg() }
        }
    }
}

/// `match.any`: for each lane present, those with its value. One distinct value after the other is compared with all.
struct Matches<'a> {
    values: &'a [u64; LANES],
    present: u32,
}

impl Vectorise for Matches<'_> {
    type Output = [u32; LANES];

    #[inline(always)]
    fn run(self) -> [u32; LANES] {
        let (mut found, mut left) = ([0; LANES], self.present);
        while left != 0 {
            let value = self.values[left.trailing_zeros() as usize];
            let mut equal = 0;
            for (lane, &other) in self.values.iter().enumerate() {
                equal |= u32::from(other == value) << lane;
            }
            // Other lanes with it are there no longer, or have never been.
            equal &= left;
            for (lane, found) in found.iter_mut().enumerate() {
                *found |= if equal >> lane & 1 == 1 { equal } else { 0 };
            }
            left &= !equal;
        }
        found
    }
}

/// The operands of `shfl`: the value, the lane or distance, and the bounds.
type Shuffled<'a> = (&'a [u32; LANES], &'a [u32; LANES], &'a [u32; LANES]);

/// `shfl`
pub(crate) fn shuffle(kind: WarpOpKind, rows: Shuffled<'_>, present: u32) -> Got {
    let mut got = vectorised(Shuffle { kind, rows });
    got.p &= present;
    got
}

/// `shfl` in all lanes, present or not: without branches this is faster. Compiled for CPU features.
struct Shuffle<'a> {
    kind: WarpOpKind,
    rows: Shuffled<'a>,
}

impl Vectorise for Shuffle<'_> {
    type Output = Got;

    #[inline(always)]
    fn run(self) -> Got {
        match self.kind {
            // The source may be below lane 0, which no bound allows.
            WarpOpKind::ShflUp => {
                self.with(|lane, b, _, most| (lane.wrapping_sub(b), lane as i32 - b as i32 >= most as i32))
            }
            WarpOpKind::ShflDown => self.with(|lane, b, _, most| (lane + b, lane + b <= most)),
            WarpOpKind::ShflBfly => self.with(|lane, b, _, most| (lane ^ b, lane ^ b <= most)),
            _ => self.with(|lane, b, segment, most| {
                let source = lane & segment | b & !segment;
                (source, source <= most)
            }),
        }
    }
}

impl Shuffle<'_> {
    /// The source of each lane, and whether it is in range: a function of the lane, the operand, the mask of
    /// segments and the upper bound.
    #[inline(always)]
    fn with(self, f: impl Fn(u32, u32, u32, u32) -> (u32, bool)) -> Got {
        let (a, b, c) = self.rows;
        let (mut sources, mut inside) = ([0; LANES], 0);
        for lane in 0..LANES {
            let (own, clamp, segment) = (lane as u32, c[lane] & 31, c[lane] >> 8 & 31);
            let (source, holds) = f(own, b[lane] & 31, segment, own & segment | clamp & !segment);
            sources[lane] = if holds { source } else { own };
            inside |= u32::from(holds) << lane;
        }
        let mut d = [0; LANES];
        for lane in 0..LANES {
            d[lane] = a[sources[lane] as usize % LANES];
        }
        Got { d, p: inside }
    }
}

fn reduce_floats(from: &Brought, present: u32, max: bool, abs: bool, nan: bool) -> u32 {
    const NAN: u32 = 0x7fff_ffff;
    // As integers that are in the order of the numbers, with -0 below +0.
    let order = |bits: u32| (bits as i32 ^ ((bits as i32 >> 31) as u32 >> 1) as i32, bits);
    let keep = if abs { 0x7fff_ffff } else { u32::MAX };
    let values = || lanes(present).map(|lane| from.a[lane] as u32 & keep);
    let is_nan = |bits: u32| bits << 1 > 0xff00_0000;
    if nan && values().any(is_nan) {
        return NAN;
    }
    let numbers = values().filter(|&bits| !is_nan(bits)).map(order);
    let found = if max { numbers.max() } else { numbers.min() };
    found.map_or(NAN, |(_, bits)| bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp_units::lanes::ALL;

    fn brought(a: impl Fn(usize) -> u64, b: u32, c: u32) -> Brought {
        Brought { a: std::array::from_fn(a), b: [b; LANES], c: [c; LANES], p: 0 }
    }

    #[test]
    fn shuffles_stay_in_their_segments() {
        // Segments of 8 lanes: clamp and mask as CUDA's `width` gives them.
        let down = exchange(WarpOpKind::ShflDown, &brought(|l| l as u64, 3, 0x181f), ALL);
        let up = exchange(WarpOpKind::ShflUp, &brought(|l| l as u64, 3, 0x1800), ALL);
        let xor = exchange(WarpOpKind::ShflBfly, &brought(|l| l as u64, 9, 0x181f), ALL);
        let idx = exchange(WarpOpKind::ShflIdx, &brought(|l| l as u64, 10, 0x181f), ALL);
        for lane in 0..LANES {
            let (segment, within) = (lane & !7, lane & 7);
            let stays = |inside, source| if inside { source } else { lane as u32 };
            assert_eq!(down.d[lane], stays(within + 3 < 8, lane as u32 + 3));
            assert_eq!(down.p >> lane & 1 == 1, within + 3 < 8);
            assert_eq!(up.d[lane], stays(within >= 3, (lane as u32).wrapping_sub(3)));
            assert_eq!(up.p >> lane & 1 == 1, within >= 3);
            // A source in a lower segment counts as in range, since there is only an upper bound.
            assert_eq!(xor.d[lane], stays(lane ^ 9 <= segment + 7, lane as u32 ^ 9));
            assert_eq!(idx.d[lane], segment as u32 + 2);
        }
    }

    #[test]
    fn matches_name_the_lanes_with_the_same_value() {
        let present = 0b1011_0110;
        let any = exchange(WarpOpKind::MatchAny32, &brought(|l| l as u64 & 1, 0, 0), present);
        assert_eq!(any.d[1], 0b1010_0010);
        assert_eq!(any.d[2], 0b0001_0100);
        let all = exchange(WarpOpKind::MatchAll64, &brought(|l| l as u64 & 1, 0, 0), present);
        assert_eq!((all.d[1], all.p), (0, 0));
        let all = exchange(WarpOpKind::MatchAll64, &brought(|_| 1 << 40, 0, 0), present);
        assert_eq!((all.d[1], all.p), (present, present));
    }

    #[test]
    fn float_reductions_order_zeros_and_leave_nans_out() {
        let values = [-0.0f32, 0.0, f32::NAN, -3.0];
        let from = brought(|l| values.get(l).map_or(0, |v| u64::from(v.to_bits())), 0, 0);
        let run =
            |max, abs, nan, present| exchange(WarpOpKind::ReduxF32 { max, abs, nan }, &from, present).d[0];
        assert_eq!(run(true, false, false, 0b1111), 0.0f32.to_bits());
        assert_eq!(run(false, false, false, 0b0011), (-0.0f32).to_bits());
        assert_eq!(run(false, false, false, 0b1111), (-3.0f32).to_bits());
        assert_eq!(run(true, true, false, 0b1111), 3.0f32.to_bits());
        assert_eq!(run(true, false, true, 0b1111), 0x7fff_ffff);
        assert_eq!(run(true, false, false, 0b0100), 0x7fff_ffff);
    }

    #[test]
    fn votes_count_only_the_lanes_present() {
        let from = Brought { p: 0b0110, ..brought(|_| 0, 0, 0) };
        let vote = |kind, present| exchange(kind, &from, present);
        assert_eq!(vote(WarpOpKind::VoteAll, 0b0110).p, 0b0110);
        assert_eq!(vote(WarpOpKind::VoteAll, 0b0111).p, 0);
        assert_eq!(vote(WarpOpKind::VoteAny, 0b1001).p, 0);
        assert_eq!(vote(WarpOpKind::VoteUni, 0b1001).p, 0b1001);
        assert_eq!(vote(WarpOpKind::VoteUni, 0b0011).p, 0);
        assert_eq!(vote(WarpOpKind::VoteBallot, 0b0011).d[5], 0b0010);
        assert_eq!(vote(WarpOpKind::Elect, 0b1100), Got { d: [2; LANES], p: 0b0100 });
    }
}
