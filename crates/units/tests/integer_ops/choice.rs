//! Comparisons and selection.

use super::harness::check;

type Comparison = (&'static str, fn(&i128, &i128) -> bool);

const ANY: [Comparison; 2] = [("eq", i128::eq), ("ne", i128::ne)];
const ORDERED: [Comparison; 4] = [("lt", i128::lt), ("le", i128::le), ("gt", i128::gt), ("ge", i128::ge)];
const UNSIGNED: [Comparison; 4] = [("lo", i128::lt), ("ls", i128::le), ("hi", i128::gt), ("hs", i128::ge)];

/// The comparisons that a type has.
fn comparisons(ty: &str) -> Vec<Comparison> {
    match &ty[..1] {
        "b" => ANY.to_vec(),
        "s" => [&ANY[..], &ORDERED].concat(),
        _ => [&ANY[..], &ORDERED, &UNSIGNED].concat(),
    }
}

fn combined(op: &str, truth: bool, c: i128) -> i128 {
    let truth = i128::from(truth);
    match op {
        "and" => truth & c,
        "or" => truth | c,
        _ => truth ^ c,
    }
}

const TYPES: [&str; 9] = ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"];

#[test]
fn setp_gives_the_comparison_and_its_opposite() {
    for ty in TYPES {
        let two = format!("{ty} {ty}");
        for (name, holds) in comparisons(ty) {
            check(&format!("setp.{name}.{ty}"), "pred", &two, |s| [holds(&s[0], &s[1]).into()]);
            check(&format!("setp.{name}.{ty}"), "pred pred", &two, |s| {
                let holds = holds(&s[0], &s[1]);
                [holds.into(), (!holds).into()]
            });
            for op in ["and", "or", "xor"] {
                check(&format!("setp.{name}.{op}.{ty}"), "pred pred", &format!("{two} pred"), |s| {
                    let holds = holds(&s[0], &s[1]);
                    [combined(op, holds, s[2]), combined(op, !holds, s[2])]
                });
            }
        }
    }
}

#[test]
fn set_writes_ones_or_one() {
    let truths =
        [("u32", 0xffff_ffff), ("s32", 0xffff_ffff), ("f32", 0x3f80_0000), ("f16", 0x3c00), ("bf16", 0x3f80)];
    for ty in TYPES {
        for (name, holds) in comparisons(ty).into_iter().take(4) {
            for (to, truth) in truths {
                let d = if to.ends_with("16") { "b16" } else { "b32" };
                check(&format!("set.{name}.{to}.{ty}"), d, &format!("{ty} {ty}"), |s| {
                    [if holds(&s[0], &s[1]) { truth } else { 0 }]
                });
                check(&format!("set.{name}.xor.{to}.{ty}"), d, &format!("{ty} {ty} pred"), |s| {
                    [combined("xor", holds(&s[0], &s[1]), s[2]) * truth]
                });
            }
        }
    }
}

#[test]
fn selection_copies_bits() {
    for ty in ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"] {
        let bits = format!("b{}", &ty[1..]);
        check(&format!("selp.{ty}"), &bits, &format!("{bits} {bits} pred"), |s| [s[usize::from(s[2] == 0)]]);
        check(
            &format!("slct.{ty}.s32"),
            &bits,
            &format!("{bits} {bits} s32"),
            |s| [s[usize::from(s[2] < 0)]],
        );
        // Sign and magnitude: above the sign bit alone is less than zero, unless it is a NaN; flushed, subnormals
        // are zero.
        for (word, last_zero) in [("", 0), (".ftz", 0x7f_ffff)] {
            check(&format!("slct{word}.{ty}.f32"), &bits, &format!("{bits} {bits} b32"), |s| {
                let (sign, magnitude) = (s[2] >> 31, s[2] & 0x7fff_ffff);
                let nan = magnitude > 0x7f80_0000;
                [s[usize::from(nan || sign == 1 && magnitude > last_zero)]]
            });
        }
    }
}
