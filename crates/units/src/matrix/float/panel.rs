//! Sixteen rows of D = A·B + C for many columns, with C and D in the registers of a warp: what `wgmma` needs of a warp,
//! and every `mma` that [`super::fragment`] does not do.
//!
//! The rows of A and the columns of B come as the bytes that a register or shared memory holds. Lanes 4g to 4g + 3
//! have row g of C and D, or g + 8, as in `mma.m16n8` (PTX ISA sections 9.7.14.5 and 9.7.15.5.1), eight columns after
//! eight.

#![allow(clippy::needless_range_loop, reason = "columns of arrays of rows")]

use super::fragment::{Row, Sums};
use super::lanes::{Addends, Factors, Words, sums};
use super::rules::{Order, Rule};
use crate::matrix::FloatProduct;
use crate::matrix::lines::{Line, Places, ROWS};
#[cfg(target_arch = "x86_64")]
use softwarp_num::Avx512;
use softwarp_num::half::f16_of_e4m3;
use softwarp_num::{Avx2, Format, Vectorise};

/// The most products of a sum: those of FP8.
const LONGEST: usize = 32;

/// A product without C.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// What is multiplied; `m` is 16 also if A is sparse.
    pub product: &'a FloatProduct,
    /// How: all in one sum, or one of the sums of [`Order::Halves`], where factors of FP8 count as those of f16.
    pub rule: Rule,
    /// The rows of A.
    pub a: &'a [Line; ROWS],
    /// The columns of B.
    pub b: &'a [Line],
    /// How many elements a column of B has: more than `k` if A is sparse.
    pub length: usize,
    /// If A is sparse.
    pub places: Option<&'a Places>,
}

/// D = A·B + C. Returns false if that is not done here, or a number is outside the fast range: then D is not to be used, and
/// [`super::multiply`] has the answer.
///
/// `c` has four registers for every eight columns, or two of f16, and nothing if C is zero; D the same number in each
/// element of `d`.
pub fn multiply(panel: &Panel<'_>, c: &[&Row], d: &mut [Sums]) -> bool {
    let FloatProduct { a, b, c: of_c, d: of_d, n, k, scale, .. } = *panel.product;
    let rule = panel.rule;
    let known =
        |format| matches!(format, Format::F16 | Format::Bf16 | Format::Tf32 | Format::E5m2 | Format::E4m3);
    let registers = if of_d == Format::F32 { 4 } else { 2 };
    let fits = known(a)
        && known(b)
        && of_c == of_d
        && scale.is_none()
        && matches!(rule.order, Order::Together | Order::Halves)
        && k <= LONGEST
        && panel.length <= 2 * LONGEST
        && (panel.places.is_some() || panel.length == k)
        && (super::lanes::fits(rule, k) || is_long(rule, k))
        && n.is_multiple_of(8)
        && (panel.b.len(), d.len()) == (n, n / 8)
        && (c.is_empty() || c.len() == n / 8 * registers);
    if !fits {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = Avx512::current() {
        return super::wide_panel::multiply(cpu, panel, c, d);
    }
    portable(panel, c, d)
}

/// Whether sums need more than 32 bits: only the loops of AVX-512 do these.
pub(super) fn is_long(rule: Rule, k: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    let wide = Avx512::current().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    let wide = false;
    wide && rule.order == Order::Together && rule.fraction == 25 && k == LONGEST
}

/// [`multiply`] in loops for any CPU.
fn portable(panel: &Panel<'_>, c: &[&Row], d: &mut [Sums]) -> bool {
    // They take long to compile: with SSE2 alone, one serves all lengths.
    if cfg!(target_arch = "x86_64") && Avx2::current().is_none() {
        return Loops::<64> { panel, c, d }.run();
    }
    match panel.length {
        0..=8 => sized(Loops::<8> { panel, c, d }),
        9..=16 => sized(Loops::<16> { panel, c, d }),
        17..=32 => sized(Loops::<32> { panel, c, d }),
        _ => sized(Loops::<64> { panel, c, d }),
    }
}

/// Runs the loops with AVX2, which is known to be there, or at the only level of another architecture.
#[inline(always)]
fn sized<const K: usize>(loops: Loops<'_, K>) -> bool {
    match Avx2::current() {
        Some(cpu) => cpu.run(loops),
        None => !cfg!(target_arch = "x86_64") && loops.run(),
    }
}

/// Rows of A with `K` elements, of which those that are not stored are zeros.
struct Loops<'a, const K: usize> {
    panel: &'a Panel<'a>,
    c: &'a [&'a Row],
    d: &'a mut [Sums],
}

/// Columns that are worked on together.
const WIDTH: usize = 16;

impl<const K: usize> Vectorise for Loops<'_, K> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let FloatProduct { a: of_a, b: of_b, d: of_d, k, .. } = *self.panel.product;
        let (rule, narrow) = (self.panel.rule, of_d == Format::F16);
        let mut rows = [Factors::<K, 1>::ZERO; ROWS];
        for (row, (factors, line)) in rows.iter_mut().zip(self.panel.a).enumerate() {
            let mut codes = [0; K];
            line.elements(of_a.bits(), &mut codes);
            if let Some(places) = self.panel.places {
                let stored = std::mem::replace(&mut codes, [0; K]);
                for (code, &place) in stored.iter().zip(&places[row]).take(k) {
                    let element = &mut codes[usize::from(place) % K];
                    if *element != 0 {
                        // Two meet the same element of B.
                        return false;
                    }
                    *element = *code;
                }
            }
            taken(factors, 0, of_a, rule, codes);
        }
        let mut columns = Factors::<WIDTH, K>::ZERO;
        let mut addends = Addends::<WIDTH>::ZERO;
        // Where a column of a tile is: the register, and how far up in it.
        let each = if narrow { 2 } else { 4 };
        let place = |column: usize| match narrow {
            true => (column / 8 * 2, column % 2 * 16),
            false => (column / 8 * 4 + column % 2, 0),
        };
        for (tile, d) in self.d.chunks_mut(2).enumerate() {
            let mut elements = [[0; K]; WIDTH];
            let lines = self.panel.b.iter().skip(tile * WIDTH);
            elements.iter_mut().zip(lines).for_each(|(codes, line)| line.elements(of_b.bits(), codes));
            for at in 0..K {
                taken(&mut columns, at, of_b, rule, std::array::from_fn(|column| elements[column][at]));
            }
            let c = self.c.get(tile * 2 * each..).unwrap_or_default();
            for (row, factors) in rows.iter().enumerate() {
                let (below, lane) = (row / 8 * (each / 2), row % 8 * 4);
                let words = std::array::from_fn(|column| {
                    let (register, shift) = place(column);
                    c.get(register + below).map_or(0, |words| words[lane + column % 8 / 2] >> shift)
                });
                let mut put = |codes: [u32; WIDTH]| {
                    for (column, code) in codes.iter().enumerate().take(d.len() * 8) {
                        let (register, shift) = place(column);
                        let word = &mut d[column / 8].0[register % each + below][lane + column % 8 / 2];
                        *word = if shift == 0 { *code } else { *word | code << 16 };
                    }
                };
                match narrow {
                    true => {
                        addends.take(Words::F16, &words);
                        put(sums(&columns, factors, |at| (0, at), &addends, rule, true));
                    }
                    false => {
                        addends.take(Words::F32, &words);
                        put(sums(&columns, factors, |at| (0, at), &addends, rule, false));
                    }
                }
            }
        }
        addends.is_in_range() && columns.is_in_range() && rows.iter().all(Factors::is_in_range)
    }
}

/// Takes factors for one column.
#[inline(always)]
fn taken<const N: usize, const K: usize>(
    into: &mut Factors<N, K>,
    at: usize,
    format: Format,
    rule: Rule,
    codes: [u32; N],
) {
    match format {
        Format::F16 => into.take(at, Words::F16, &codes),
        Format::Bf16 => into.take(at, Words::Bf16, &codes),
        Format::Tf32 => into.take(at, Words::Tf32, &codes),
        Format::E5m2 => into.take(at, Words::E5m2, &codes),
        _ if rule.order == Order::Halves => into.take(at, Words::F16, &codes.map(f16_of_e4m3)),
        _ => into.take(at, Words::E4m3, &codes),
    }
}
