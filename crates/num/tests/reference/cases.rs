//! Which conversions there are, which inputs to try, and the comparison itself.

use super::exact::Exact;
use super::layout::{Layout, Number, count, layout_of, number, values, width};
use super::round::{carry_threshold, choose, neighbours, random_width};
use super::{Step, finish};
use rayon::prelude::*;
use softwarp_num::{Conversion, ConversionLoop, Format, Rounding, Saturation, Scaling};
use softwarp_testkit::SplitMix64;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

/// Every conversion that can be written down.
pub fn combinations() -> impl Iterator<Item = Conversion> {
    let flags = 0..16u8;
    let formats = Format::ALL.into_iter().flat_map(|src| Format::ALL.map(|dst| (src, dst)));
    formats.flat_map(move |(src, dst)| {
        let flags = flags.clone();
        Rounding::ALL.into_iter().flat_map(move |rounding| {
            let flags = flags.clone();
            Saturation::ALL.into_iter().flat_map(move |saturation| {
                let flags = flags.clone();
                Scaling::ALL.into_iter().flat_map(move |scaling| {
                    flags.clone().map(move |flag| Conversion {
                        rounding,
                        saturation,
                        scaling,
                        integral: flag & 1 != 0,
                        ftz: flag & 2 != 0,
                        relu: flag & 4 != 0,
                        positive_zero: flag & 8 != 0,
                        ..Conversion::new(src, dst)
                    })
                })
            })
        })
    })
}

/// Every conversion that exists, once, those that share their rounding together.
pub fn conversions() -> &'static BTreeMap<Step, Vec<ConversionLoop>> {
    static CONVERSIONS: OnceLock<BTreeMap<Step, Vec<ConversionLoop>>> = OnceLock::new();
    CONVERSIONS.get_or_init(|| {
        let mut steps = BTreeMap::<Step, Vec<ConversionLoop>>::new();
        for c in combinations().filter(|c| c.canonical() == *c) {
            if let Some(compiled) = c.compiled() {
                assert_eq!(compiled.conversion(), c);
                steps.entry(c.into()).or_default().push(compiled);
            }
        }
        steps
    })
}

/// An input: the source's code, and the scale or random bits.
pub type Input = (u64, u32);

/// Scales to try: both ends, the ends of the narrow formats' ranges, around one, and NaN.
#[rustfmt::skip]
pub const SCALES: [u32; 24] = [
    0x00, 0x01, 0x02, 0x10, 0x40, 0x60, 0x6f, 0x70, 0x71, 0x78, 0x7c, 0x7d,
    0x7e, 0x7f, 0x80, 0x81, 0x84, 0x88, 0x8e, 0x90, 0xa0, 0xc0, 0xfe, 0xff,
];

/// Random codes of a format.
pub fn random_codes(random: &mut SplitMix64, format: Format, n: usize) -> Vec<u64> {
    (0..n).map(|_| random.next_u64() >> (64 - width(format))).collect()
}

/// Puts codes into memory, one after another.
pub fn to_bytes(codes: impl Iterator<Item = u64>, bytes: usize) -> Vec<u8> {
    codes.flat_map(|code| code.to_le_bytes().into_iter().take(bytes)).collect()
}

/// Reads codes from memory.
pub fn from_bytes(memory: &[u8], bytes: usize) -> impl Iterator<Item = u64> {
    memory.chunks_exact(bytes).map(move |chunk| {
        let mut code = [0; 8];
        code[..bytes].copy_from_slice(chunk);
        u64::from_le_bytes(code)
    })
}

/// Runs a conversion over inputs, all in one go, as its users do.
pub fn run(compiled: &ConversionLoop, inputs: &[Input]) -> Vec<u64> {
    let c = compiled.conversion();
    let src = to_bytes(inputs.iter().map(|input| input.0), c.src.bytes());
    let aux = to_bytes(inputs.iter().map(|input| input.1.into()), compiled.aux_bytes());
    let mut dst = vec![0xa5; inputs.len() * c.dst.bytes()];
    compiled.run(&src, &aux, &mut dst);
    from_bytes(&dst, c.dst.bytes()).collect()
}

/// Compares conversions that share a rounding step with the reference; says where they differ.
pub fn compare(step: Step, loops: &[ConversionLoop], inputs: &[Input]) -> Vec<String> {
    let rounded: Vec<_> = inputs.iter().map(|&(code, aux)| step.round(code, aux)).collect();
    let differences = |compiled: &ConversionLoop| {
        let c = compiled.conversion();
        let ours = run(compiled, inputs);
        let rows = inputs.iter().zip(&rounded).zip(ours).filter_map(|((&(code, aux), &rounded), ours)| {
            let right = finish(c, code, rounded);
            (ours != right).then(|| format!("\n    {code:x} (aux {aux:x}) gave {ours:x}, not {right:x}"))
        });
        let rows: Vec<_> = rows.collect();
        let shown: String = rows.iter().take(6).map(String::as_str).collect();
        (!rows.is_empty()).then(|| format!("{c:?}: {} of {} differ{shown}", rows.len(), inputs.len()))
    };
    loops.iter().filter_map(differences).collect()
}

/// Compares all conversions that `which` gives inputs for, and says how many results were compared.
pub fn compare_all(which: impl Fn(Step) -> Vec<Vec<Input>> + Sync) -> usize {
    let steps: Vec<_> = conversions().iter().collect();
    let differences = Mutex::new(Vec::new());
    let compared: usize = steps
        .par_iter()
        .flat_map_iter(|(step, loops)| {
            which(**step).into_iter().map(move |inputs| (step, loops, inputs)).collect::<Vec<_>>()
        })
        .map(|(step, loops, inputs)| {
            let found = compare(**step, loops, &inputs);
            differences.lock().expect("no thread fails").extend(found);
            loops.len() * inputs.len()
        })
        .sum();
    let differences = differences.into_inner().expect("no thread fails");
    let shown = differences.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} comparisons failed:\n{shown}", differences.len());
    compared
}

/// Every code of a source of at most 16 bits, for each of the scales if there are any.
pub fn every_input(step: Step) -> Vec<Vec<Input>> {
    let scales: &[u32] = if step.scaling == Scaling::None { &[0] } else { &SCALES };
    scales.iter().map(|&scale| (0..count(step.src)).map(|code| (code, scale)).collect()).collect()
}

/// The source's code next to a value, toward zero.
fn code_near(src: Format, value: &Exact) -> u64 {
    let chosen = choose(Rounding::TowardZero, value, neighbours(src, value), (0, 1));
    chosen.code.unwrap_or(super::layout::largest(src, value.is_negative()))
}

/// The codes at and around a value: itself (or the one below) and its neighbours.
fn around(src: Format, value: &Exact) -> [u64; 4] {
    let code = code_near(src, value);
    let mask = u64::MAX >> (64 - width(src));
    [code.wrapping_sub(1) & mask, code, code.wrapping_add(1) & mask, code.wrapping_add(2) & mask]
}

/// Values of the destination that are worth looking at the surroundings of: all of them where they are
/// few, else every few, and always those at the ends.
fn landmarks(dst: Format) -> Vec<Exact> {
    let finite = |code| match number(dst, code) {
        Number::Finite { value, .. } => Some(value),
        _ => None,
    };
    match layout_of(dst) {
        Layout::Integer { .. } => {
            let powers = (0..=66).flat_map(|k| [-1, 0, 1].map(|d| &Exact::new(1, k) + &Exact::new(d, 0)));
            let both = powers.flat_map(|value| [value.negated(), value]);
            both.chain((-300..300).map(|n| Exact::new(n, 0))).collect()
        }
        _ if width(dst) <= 8 => values(dst).iter().map(|(value, _)| value.clone()).collect(),
        Layout::Float { padding, .. } => {
            let (bits, ends) = (width(dst) - padding, 40);
            let stride = ((1u128 << bits) / 6000) as u64 | 1;
            let dense = (0..6000).map(|n| n * stride);
            let least = 0..ends;
            let last = super::layout::largest(dst, false) >> padding;
            let codes = dense.chain(least).chain(last - ends..=last);
            let sign = 1 << (bits - 1);
            codes.flat_map(|code| [code, code ^ sign]).filter_map(|code| finite(code << padding)).collect()
        }
        other => panic!("{other:?} is narrow"),
    }
}

/// Source codes around all landmarks of the destination and around the midpoints that follow them, the
/// values first multiplied by a power of two.
pub fn telling_codes(src: Format, dst: Format, power: i32) -> Vec<u64> {
    let mut codes = Vec::new();
    for value in landmarks(dst) {
        let (_, next) = neighbours(dst, &(&value + &Exact::new(1, -1100)));
        let sum = &value + &next.value;
        codes.extend(around(src, &value.times_power(power)));
        codes.extend(around(src, &sum.times_power(power - 1)));
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Codes that are special in themselves: zeros, subnormals, limits, infinities, NaNs; for integers the
/// limits.
pub fn special_codes(src: Format) -> Vec<u64> {
    let mask = u64::MAX >> (64 - width(src));
    let positive: Vec<u64> = match layout_of(src) {
        Layout::Float { mantissa, exponent, bias, .. } => {
            let infinity = ((1u64 << exponent) - 1) << mantissa;
            let least_normal = 1u64 << mantissa;
            let one = (bias as u64) << mantissa;
            let half_unit = 1u64 << (mantissa - 1);
            let payloads = (0..mantissa).flat_map(|bit| [1 << bit, (2 << bit) - 1]);
            let nans = payloads.map(|payload| infinity | payload);
            [0, 1, 2, 3, half_unit, least_normal - 1, least_normal, least_normal + 1]
                .into_iter()
                .chain([one - 1, one, one + 1, one + half_unit, infinity - 1, infinity])
                .chain(nans)
                .collect()
        }
        _ => (0..width(src)).flat_map(|bit| [1 << bit, (1 << bit) - 1, (1 << bit) + 1, 3 << bit]).collect(),
    };
    let sign = 1 << (width(src) - 1);
    positive
        .iter()
        .flat_map(|&code| [code & mask, (code ^ sign) & mask, code.wrapping_neg() & mask])
        .collect()
}

/// Random codes of the source whose values lie in the destination's range or not far from it.
pub fn random_codes_in_range(
    random: &mut SplitMix64,
    src: Format,
    dst: Format,
    power: i32,
    n: usize,
) -> Vec<u64> {
    let (least, most) = match layout_of(dst) {
        Layout::Float { mantissa, exponent, bias, .. } => {
            (-bias - mantissa as i32 - 2, (1 << exponent) - bias + 2)
        }
        Layout::PowerOfTwo => (-130, 130),
        Layout::Fixed { .. } => (-10, 4),
        Layout::Integer { bits, .. } => (-3, bits as i32 + 2),
    };
    let value = |random: &mut SplitMix64| {
        let significand = random.next_u64() >> 11 | 1 << 52;
        let exponent = least + (random.next_u64() % (most - least) as u64) as i32;
        let value = Exact::new(significand, exponent.max(-1070) - 52 + power);
        if random.next_u64() & 1 == 0 { value } else { value.negated() }
    };
    (0..n).map(|_| code_near(src, &value(random))).collect()
}

/// Adds random bits to codes: none, all, a few others, and where rounding turns, one less and one more.
pub fn with_random_bits(random: &mut SplitMix64, src: Format, dst: Format, codes: &[u64]) -> Vec<Input> {
    let most = (1 << random_width(dst)) - 1;
    let mut inputs = Vec::new();
    for &code in codes {
        inputs.extend([0, most, random.next_u64() as u32 & 0xffff].map(|bits| (code, bits)));
        let Number::Finite { value, .. } = number(src, code) else { continue };
        if let Some(threshold) = carry_threshold(dst, &value) {
            let near = [threshold.wrapping_sub(1), threshold, threshold + 1];
            inputs.extend(near.into_iter().filter(|&bits| bits <= most).map(|bits| (code, bits)));
        }
    }
    inputs
}
