//! Conversions that are folded into one with fewer modifiers really do the same work.

use crate::reference::cases::{combinations, random_codes, special_codes};
use crate::reference::expected;
use crate::reference::layout::width;
use rayon::prelude::*;
use softwarp_num::{Conversion, Scaling};
use softwarp_testkit::SplitMix64;

/// Where a conversion and the one it is folded into differ by the reference.
fn difference(c: Conversion) -> Option<String> {
    let folded = c.canonical();
    let mut random = SplitMix64::new(7);
    let mut codes = special_codes(c.src);
    codes.extend(random_codes(&mut random, c.src, 60));
    if width(c.src) <= 8 {
        codes.extend(0..1 << width(c.src));
    }
    let aux: &[u32] = if c.scaling == Scaling::None { &[0, 0x1fff, 0xa5a5] } else { &[0, 0x7f, 0x90, 0xff] };
    codes.iter().flat_map(|&code| aux.iter().map(move |&aux| (code, aux))).find_map(|(code, aux)| {
        let (own, other) = (expected(c, code, aux), expected(folded, code, aux));
        (own != other).then(|| format!("{c:?} gives {own:x} for {code:x} (aux {aux:x}), folded {other:x}"))
    })
}

#[test]
fn folded_conversions_give_the_same_results() {
    let combinations: Vec<_> =
        combinations().filter(|c| c.canonical() != *c && c.compiled().is_some()).collect();
    assert!(combinations.len() > 1000, "{} combinations are folded", combinations.len());
    let differences: Vec<_> = combinations.into_par_iter().filter_map(difference).collect();
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} conversions:\n{shown}", differences.len());
}

#[test]
fn folding_twice_is_folding_once() {
    assert!(combinations().all(|c| c.canonical().canonical() == c.canonical()));
}
