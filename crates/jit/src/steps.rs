//! Steps from lane to lane: how a value differs among the lanes of a warp.

/// How a value grows from lane to lane, modulo its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Steps {
    /// From each lane to the next, within each half of the warp.
    pub(crate) lane: i64,
    /// From the first lane of the first half to that of the second.
    pub(crate) half: i64,
}

impl Steps {
    /// The same in all lanes.
    pub(crate) const ZERO: Steps = Steps { lane: 0, half: 0 };

    /// The same step from each lane to the next.
    pub(crate) fn even(lane: i64) -> Steps {
        Steps { lane, half: lane.wrapping_mul(16) }
    }

    /// The difference of a lane to the first.
    pub(crate) fn at(self, lane: usize) -> i64 {
        let within = self.lane.wrapping_mul((lane % 16) as i64);
        within.wrapping_add(self.half.wrapping_mul((lane / 16) as i64))
    }

    /// The least and the largest difference of a lane to the first, unless lanes are so far apart that they may wrap around.
    pub(crate) fn range(self) -> Option<(i64, i64)> {
        differences(self, 64)
    }

    pub(crate) fn map(self, f: impl Fn(i64) -> i64) -> Steps {
        Steps { lane: f(self.lane), half: f(self.half) }
    }

    pub(crate) fn add(self, other: Steps) -> Steps {
        Steps { lane: self.lane.wrapping_add(other.lane), half: self.half.wrapping_add(other.half) }
    }

    pub(crate) fn narrow(self) -> Steps {
        self.map(|step| i64::from(step as i32))
    }

    /// Whether the lanes are near enough that code can check that they do not wrap around.
    pub(crate) fn is_small(self) -> bool {
        self.lane.unsigned_abs() < 1 << 20 && self.half.unsigned_abs() < 1 << 24
    }

    pub(crate) fn is_negative(self) -> bool {
        self.lane < 0 || self.half < 0
    }

    /// What a function makes of the differences, if the results are steps, too.
    pub(crate) fn through(self, f: impl Fn(i64) -> i64) -> Option<Steps> {
        let at = |lane: usize| f(self.at(lane)).wrapping_sub(f(0));
        let steps = Steps { lane: at(1), half: at(16) };
        (0..32).all(|lane| steps.at(lane) == at(lane)).then_some(steps)
    }

    /// Whether the differences of lanes to the first are only in bits that are zero in the first: as many low bits as
    /// `zeros` says. Then no lane wraps around.
    pub(crate) fn fit(self, zeros: u32) -> bool {
        self.range().is_some_and(|(least, most)| least >= 0 && most < 1 << zeros.min(31))
    }
}

/// The least and the largest difference of a lane to the first, as integers. `None` if one is a quarter of all addresses or
/// more.
pub(crate) fn differences(steps: Steps, bits: u32) -> Option<(i64, i64)> {
    let (lane, half) = (i128::from(steps.lane), i128::from(steps.half));
    // From lane to lane it only grows, or only shrinks.
    let ends = [0, 15 * lane, half, half + 15 * lane];
    let least = ends.into_iter().fold(0, i128::min);
    let most = ends.into_iter().fold(0, i128::max);
    Some((near(least, bits)?, near(most, bits)?))
}

/// A number, if it is less than a quarter of all addresses away from 0.
pub(crate) fn near(number: i128, bits: u32) -> Option<i64> {
    let quarter = 1u128 << (bits - 2);
    i64::try_from(number).ok().filter(|_| number.unsigned_abs() < quarter)
}
