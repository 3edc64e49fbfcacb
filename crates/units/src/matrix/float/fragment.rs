//! `mma.sync` of m16n8 with f16, bf16, tf32 or FP8 factors, on the registers of a warp.
//!
//! Lane 4g + t holds elements of rows g and g + 8, and of columns 2t and 2t + 1, of factors as many as a word holds (PTX ISA section 9.7.14.5). Registers of
//! A and C are turned so that the 16 rows of a column lie beside each other; a factor of B is then the same for all of
//! them.

use super::exact::canonical;
use super::lanes::{Addends, Factors, Words, sums};
use super::rules::{Order, Rule};
use crate::lanes::LANES;
#[cfg(target_arch = "x86_64")]
use softwarp_num::Avx512;
use softwarp_num::half::{Binary16, Half, f16_of_e4m3, f16_of_e5m2};
use softwarp_num::{Format, Vectorise, vectorised, vectorised_rare};

/// A register of all lanes.
pub type Row = [u32; LANES];

/// The registers of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Sums(pub [Row; 4]);

impl Sums {
    /// Zeros.
    pub const ZERO: Sums = Sums([[0; LANES]; 4]);
}

/// D = A·B + C of a warp. Returns false if a number is outside the fast range: then D is not to be used, and
/// [`super::multiply`] has the answer.
///
/// Of every eight products (four of tf32), `a` has two registers and `b` one. C and D are of f32, or of f16 if `c` has
/// only two registers, and D then only its first two.
pub fn multiply(factors: Format, a: &[&Row], b: &[&Row], c: &[&Row], d: &mut Sums) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = Avx512::current()
        && super::wide::multiply(cpu, factors, a, b, c, d)
    {
        return true;
    }
    portable(factors, a, b, c, d)
}

/// [`multiply`] of f16 or bf16 where the registers are: of a frame's rows, by their numbers, it reads A, B and C and
/// writes D. Returns false, and has done nothing, also if that would be no faster.
#[inline]
pub fn multiply_rows(
    factors: Format,
    rows: &mut [crate::lanes::Row<u32>],
    reads: &[u32],
    writes: &[u32],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = Avx512::current() {
        return super::wide::multiply_rows(cpu, factors, rows, reads, writes);
    }
    let _ = (factors, rows, reads, writes);
    false
}

/// [`multiply`] in loops for any CPU.
pub fn portable(factors: Format, a: &[&Row], b: &[&Row], c: &[&Row], d: &mut Sums) -> bool {
    let (words, d) = (factors, &mut d.0);
    if c.len() != 4 && (c.len() != 2 || factors != Format::F16) {
        return false;
    }
    match (factors, a, b) {
        (Format::F16 | Format::Bf16, &[a0, a1], &[b0]) => {
            vectorised(Multiply::<8, 2> { words, a: &[[a0, a1]], b: &[b0], c, d })
        }
        (Format::F16 | Format::Bf16, &[a0, a1, a2, a3], &[b0, b1]) => {
            // AVX-512 has its own way, above.
            vectorised_rare(Multiply::<16, 4> { words, a: &[[a0, a1], [a2, a3]], b: &[b0, b1], c, d })
        }
        (Format::Tf32, &[a0, a1], &[b0]) => {
            vectorised(Multiply::<4, 1> { words, a: &[[a0, a1]], b: &[b0], c, d })
        }
        (Format::Tf32, &[a0, a1, a2, a3], &[b0, b1]) => {
            vectorised(Multiply::<8, 2> { words, a: &[[a0, a1], [a2, a3]], b: &[b0, b1], c, d })
        }
        _ => false,
    }
}

/// [`multiply`] for FP8 factors, by [`super::rules::Order::Halves`]. Of every sixteen products, `a` has two registers
/// and `b` one.
pub fn multiply_bytes(factors: [Format; 2], a: &[&Row], b: &[&Row], c: &[&Row], d: &mut Sums) -> bool {
    let mut halves = [[0; LANES]; 6];
    if a.len() + b.len() > halves.len() || !matches!(c.len(), 2 | 4) {
        return false;
    }
    let mut sum = Sums::ZERO;
    // A word holds four neighbours: of each sum two.
    for shift in [0, 16] {
        let first = sum;
        vectorised(Widen { factors, a, b, shift, into: &mut halves });
        let rows = halves.each_ref();
        let (left, right) = (&rows[..a.len()], &rows[a.len()..][..b.len()]);
        if !multiply(Format::F16, left, right, &first.0.each_ref()[..c.len()], &mut sum) {
            return false;
        }
    }
    let narrow = c.len() == 2;
    for ((d, c), sum) in d.0.iter_mut().zip(c).zip(&sum.0) {
        *d = if narrow { halves_added(c, sum) } else { added(c, sum) };
    }
    true
}

/// Sums of f32, rounded to nearest.
pub fn added(left: &Row, right: &Row) -> Row {
    std::array::from_fn(|lane| canonical(f32::from_bits(left[lane]) + f32::from_bits(right[lane])))
}

/// Sums of f16, two in a word, rounded to nearest.
pub fn halves_added(left: &Row, right: &Row) -> Row {
    vectorised(AddHalves(left, right))
}

struct AddHalves<'a>(&'a Row, &'a Row);

impl Vectorise for AddHalves<'_> {
    type Output = Row;

    #[inline(always)]
    fn run(self) -> Row {
        let mut row = [0; LANES];
        for (lane, word) in row.iter_mut().enumerate() {
            // Two roundings, to f32 and to f16, are one here: f32 has more than twice the bits.
            let sum = |shift: u32| sum_of_halves(self.0[lane] >> shift, self.1[lane] >> shift);
            *word = sum(0) | sum(16) << 16;
        }
        row
    }
}

/// Converts two bytes of each word to f16.
struct Widen<'a> {
    factors: [Format; 2],
    a: &'a [&'a Row],
    b: &'a [&'a Row],
    shift: u32,
    into: &'a mut [Row; 6],
}

impl Vectorise for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let formats = self.a.iter().map(|_| self.factors[0]).chain(self.b.iter().map(|_| self.factors[1]));
        for ((row, format), into) in self.a.iter().chain(self.b).zip(formats).zip(self.into) {
            for (word, into) in row.iter().zip(into) {
                let [low, high] = [word >> self.shift & 0xff, word >> (self.shift + 8) & 0xff];
                *into = match format {
                    Format::E5m2 => f16_of_e5m2(low) | f16_of_e5m2(high) << 16,
                    _ => f16_of_e4m3(low) | f16_of_e4m3(high) << 16,
                };
            }
        }
    }
}

/// The sum of the f16 in the low halves of two words.
#[inline(always)]
fn sum_of_halves(a: u32, b: u32) -> u32 {
    Binary16::narrow(Binary16::widen(a as u16) + Binary16::widen(b as u16)).into()
}

/// A product of `K` factors; `H` is how many numbers of B a lane has.
struct Multiply<'a, const K: usize, const H: usize> {
    /// The format of factors.
    words: Format,
    /// Of each four columns of words, the upper and the lower rows.
    a: &'a [[&'a Row; 2]],
    b: &'a [&'a Row],
    c: &'a [&'a Row],
    d: &'a mut [Row; 4],
}

impl<const K: usize, const H: usize> Vectorise for Multiply<'_, K, H> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        // Known where it is compiled, so that the loops have no choice to make.
        match (self.words, self.c) {
            (Format::F16, &[upper, lower]) => self.by([Words::F16, Words::HighF16], &[[upper, lower]]),
            (words, &[c0, c1, c2, c3]) => {
                let c = &[[c0, c2], [c1, c3]];
                match words {
                    Format::F16 => self.by([Words::F16, Words::HighF16], c),
                    Format::Bf16 => self.by([Words::Bf16, Words::HighBf16], c),
                    _ => self.by([Words::Tf32], c),
                }
            }
            _ => false,
        }
    }
}

impl<const K: usize, const H: usize> Multiply<'_, K, H> {
    /// With `S` factors in a word. `c` has the upper and the lower rows: of even and of odd columns, or of both if these
    /// are halves of words.
    #[inline(always)]
    fn by<const S: usize, const C: usize>(self, factors: [Words; S], c: &[[&Row; 2]; C]) -> bool {
        let rule = Rule { order: Order::Together, fraction: 25, mantissa: 23 };
        let narrow = C == 1;
        let mut a = Factors::<ROWS, K>::ZERO;
        for (at, &[upper, lower]) in self.a.iter().enumerate() {
            for (column, words) in columns(upper, lower).iter().enumerate() {
                for (step, &factor) in factors.iter().enumerate() {
                    a.take(((at * 4 + column) * S + step) % K, factor, words);
                }
            }
        }
        let mut b = Factors::<LANES, H>::ZERO;
        for (at, words) in self.b.iter().enumerate() {
            for (step, &factor) in factors.iter().enumerate() {
                b.take((at * S + step) % H, factor, words);
            }
        }
        let mut addends = Addends::ZERO;
        for odd in 0..2 {
            let [upper, lower] = c[odd % C];
            let c = columns(upper, lower);
            let mut d = [[0; ROWS]; 4];
            for (pair, d) in d.iter_mut().enumerate() {
                let words = if !narrow { Words::F32 } else { [Words::F16, Words::HighF16][odd] };
                addends.take(words, &c[pair]);
                let place = |at: usize| (at / (4 * S) * S + at % S, (pair * 2 + odd) * 4 + at % (4 * S) / S);
                *d = sums(&a, &b, place, &addends, rule, narrow);
            }
            let [upper, lower] = lanes(&d);
            match (narrow, odd) {
                (false, _) => [self.d[odd], self.d[odd + 2]] = [upper, lower],
                (true, 0) => [self.d[0], self.d[1]] = [upper, lower],
                (true, _) => {
                    for (d, high) in self.d.iter_mut().zip([upper, lower]) {
                        d.iter_mut().zip(high).for_each(|(d, high)| *d |= high << 16);
                    }
                }
            }
        }
        a.is_in_range() && b.is_in_range() && addends.is_in_range()
    }
}

/// The rows of C and D.
const ROWS: usize = 16;

/// Of two registers, the upper and the lower rows of a fragment, the columns of words.
#[inline(always)]
fn columns(upper: &Row, lower: &Row) -> [[u32; ROWS]; 4] {
    let mut columns = [[0; ROWS]; 4];
    for row in 0..8 {
        for column in 0..4 {
            columns[column][row] = upper[row * 4 + column];
            columns[column][row + 8] = lower[row * 4 + column];
        }
    }
    columns
}

/// Two registers of columns.
#[inline(always)]
fn lanes(columns: &[[u32; ROWS]; 4]) -> [Row; 2] {
    let mut rows = [[0; LANES]; 2];
    for row in 0..8 {
        for column in 0..4 {
            rows[0][row * 4 + column] = columns[column][row];
            rows[1][row * 4 + column] = columns[column][row + 8];
        }
    }
    rows
}
