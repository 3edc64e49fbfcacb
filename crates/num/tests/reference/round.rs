//! Rounding, as its definition reads: find the two neighbours, choose one.

use super::exact::Exact;
use super::layout::{Layout, infinity, largest, layout_of, sign_bit, values, width};
use num_bigint::BigInt;
use softwarp_num::{Format, Rounding};
use std::cmp::Ordering;

/// A number of the format that a value may round to.
#[derive(Clone, Debug)]
pub struct Neighbour {
    pub value: Exact,
    /// `None` beyond the largest finite number, where the format goes on only in thought: what follows
    /// MAX in MAX's own spacing takes part in the choice, and choosing it is an overflow.
    pub code: Option<u64>,
    /// The last bit of its significand is zero.
    pub even: bool,
}

/// The two neighbours of a value: the greatest number not above it, and the least not below it.
///
/// A value beyond the first number after MAX counts as that number.
pub fn neighbours(format: Format, x: &Exact) -> (Neighbour, Neighbour) {
    match layout_of(format) {
        Layout::Integer { .. } => whole_neighbours(format, x),
        _ if width(format) <= 16 => listed_neighbours(format, x),
        _ => spaced_neighbours(format, x),
    }
}

/// Looks the neighbours up in the list of all the format's values.
pub fn listed_neighbours(format: Format, x: &Exact) -> (Neighbour, Neighbour) {
    let list = values(format);
    let listed = |(value, code): &(Exact, u64)| Neighbour {
        value: value.clone(),
        code: Some(*code),
        even: code & 1 == 0,
    };
    let beyond = |last: &(Exact, u64), before: &(Exact, u64)| Neighbour {
        value: &last.0 + &(&last.0 - &before.0),
        code: None,
        even: last.1 & 1 == 1,
    };
    let not_above = list.partition_point(|(value, _)| value <= x);
    let n = list.len();
    if not_above > 0 && list[not_above - 1].0 == *x {
        let exactly = listed(&list[not_above - 1]);
        return (exactly.clone(), exactly);
    }
    if not_above == n {
        return within(listed(&list[n - 1]), beyond(&list[n - 1], &list[n - 2]), x);
    }
    if not_above == 0 {
        let least = listed(&list[0]);
        // Unsigned formats end at their least number: what is below (ue8m0 has no zero) becomes it.
        let symmetric = sign_bit(format) != 0 || matches!(layout_of(format), Layout::Fixed { .. });
        return if symmetric { within(beyond(&list[0], &list[1]), least, x) } else { (least.clone(), least) };
    }
    (listed(&list[not_above - 1]), listed(&list[not_above]))
}

/// Moves a value that is beyond what follows MAX to it.
fn within(below: Neighbour, above: Neighbour, x: &Exact) -> (Neighbour, Neighbour) {
    if *x >= above.value {
        (above.clone(), above)
    } else if *x <= below.value {
        (below.clone(), below)
    } else {
        (below, above)
    }
}

/// Works the neighbours out for floating formats with too many values to list: at the magnitude 2^e the
/// numbers are 2^(e - mantissa bits) apart, and below the least normal number as far as there.
pub fn spaced_neighbours(format: Format, x: &Exact) -> (Neighbour, Neighbour) {
    let Layout::Float { mantissa, bias, padding, .. } = layout_of(format) else {
        panic!("{format} is no floating format")
    };
    let least = 1 - bias;
    let exponent = x.exponent().unwrap_or(least).max(least);
    let spacing = exponent - mantissa as i32;
    let steps = x.abs().floor_in_units(spacing);
    let with_sign = |magnitude: Exact| if x.is_negative() { magnitude.negated() } else { magnitude };
    let sign = if x.is_negative() { sign_bit(format) } else { 0 };
    // `steps` counts from zero, so subnormals have as many as their mantissa field says, and the numbers
    // of each binade start at 2^mantissa.
    let at = |steps: BigInt| {
        let value = with_sign(Exact::new(steps.clone(), spacing));
        let magnitude = (steps.clone() + (BigInt::from(exponent - least) << mantissa)) << padding;
        let magnitude = u64::try_from(magnitude).ok();
        let code = magnitude.filter(|&code| code <= largest(format, false)).map(|code| code | sign);
        Neighbour { value, code, even: !steps.bit(0) }
    };
    let inner = at(steps.clone());
    let exact = inner.value == *x;
    if inner.code.is_none() {
        // At or beyond what follows MAX.
        return (inner.clone(), inner);
    }
    let outer = if exact { inner.clone() } else { at(steps + 1) };
    if x.is_negative() { (outer, inner) } else { (inner, outer) }
}

/// The neighbouring integers; those outside the format's range have no code.
fn whole_neighbours(format: Format, x: &Exact) -> (Neighbour, Neighbour) {
    let Layout::Integer { bits, signed } = layout_of(format) else { panic!("{format} is no integer format") };
    let range =
        if signed { -(1i128 << (bits - 1))..=(1i128 << (bits - 1)) - 1 } else { 0..=(1i128 << bits) - 1 };
    let at = |n: BigInt| Neighbour {
        value: Exact::new(n.clone(), 0),
        code: i128::try_from(&n)
            .ok()
            .filter(|n| range.contains(n))
            .map(|n| n as u64 & (u64::MAX >> (64 - bits))),
        even: !n.bit(0),
    };
    let floor = at(x.floor_in_units(0));
    if floor.value == *x {
        return (floor.clone(), floor);
    }
    let ceiling = at(x.floor_in_units(0) + 1);
    (floor, ceiling)
}

/// How many random bits stochastic rounding adds to the discarded ones.
pub fn random_width(dst: Format) -> u32 {
    if dst == Format::F16 { 13 } else { 16 }
}

/// Chooses between the neighbours of `x`. `random` is the random bits' value, and how many they are.
pub fn choose(
    rounding: Rounding,
    x: &Exact,
    (below, above): (Neighbour, Neighbour),
    random: (u32, u32),
) -> Neighbour {
    if below.value == above.value {
        return below;
    }
    let negative = x.is_negative();
    let nearest = |tie_goes_up: bool| match x.times(2).cmp(&(&below.value + &above.value)) {
        Ordering::Less => false,
        Ordering::Equal => tie_goes_up,
        Ordering::Greater => true,
    };
    let goes_up = match rounding {
        Rounding::NearestEven => nearest(above.even),
        Rounding::NearestAway => nearest(!negative),
        Rounding::TowardZero => negative,
        Rounding::Down => false,
        Rounding::Up => true,
        Rounding::Stochastic => {
            let toward_zero = if negative { &above.value } else { &below.value };
            let spacing = &above.value - &below.value;
            let discarded = (x - toward_zero).abs();
            // discarded / spacing + random / 2^width >= 1, without the divisions.
            let (random, width) = random;
            let sum = &discarded.times(1 << width) + &spacing.times(random);
            let carries = sum >= spacing.times(1 << width);
            carries != negative
        }
    };
    if goes_up { above } else { below }
}

/// The least random value with which `x` rounds away from zero, if rounding is called for at all.
pub fn carry_threshold(dst: Format, x: &Exact) -> Option<u32> {
    let (below, above) = neighbours(dst, x);
    if below.value == above.value {
        return None;
    }
    let width = random_width(dst);
    let stays = |random| {
        let chosen = choose(Rounding::Stochastic, x, (below.clone(), above.clone()), (random, width));
        chosen.value.abs() < x.abs()
    };
    // The largest that does not carry, bit by bit from the top.
    let largest = (0..width)
        .rev()
        .map(|bit| 1 << bit)
        .fold(0, |largest, bit| if stays(largest | bit) { largest | bit } else { largest });
    Some(largest + 1)
}

/// What a value that rounded beyond the largest finite number becomes: `true` if it is infinity,
/// `false` if the rounding points inwards and it stays at the largest.
pub fn overflows(rounding: Rounding, negative: bool) -> bool {
    match rounding {
        Rounding::TowardZero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
        Rounding::NearestEven | Rounding::NearestAway | Rounding::Stochastic => true,
    }
}

/// The code for an infinite result: infinity, or NaN where there is none (`None`: neither exists).
pub fn overflow_code(format: Format, negative: bool) -> Option<u64> {
    infinity(format, negative).or(super::nan::canonical(format))
}
