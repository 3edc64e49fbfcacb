//! Video instructions, where the hardware does as the manual says. `recorded.rs` has the rest.

use super::harness::{check, check_with};
use softwarp_units::alu::video::selectors;

fn part(word: i128, selector: u32, ty: &str) -> i128 {
    let (first, width) = match selector {
        0 => (0, 32),
        1..=4 => (8 * (selector - 1), 8),
        _ => (16 * (selector - 5), 16),
    };
    let bits = word >> first & ((1 << width) - 1);
    if ty == "s32" { bits << (128 - width) >> (128 - width) } else { bits }
}

fn clamp(value: i128, width: u32, ty: &str) -> i128 {
    match ty {
        "s32" => value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1),
        _ => value.clamp(0, (1 << width) - 1),
    }
}

type Operation = (&'static str, fn(i128, i128) -> i128);

const OPERATIONS: [Operation; 5] = [
    ("vadd", |a, b| a + b),
    ("vsub", |a, b| a - b),
    ("vabsdiff", |a, b| (a - b).abs()),
    ("vmin", |a, b| a.min(b)),
    ("vmax", |a, b| a.max(b)),
];

/// Selectors as `extra` has them.
fn packed(selectors: [u32; 3]) -> u32 {
    selectors[0] | selectors[1] << 4 | selectors[2] << 8
}

type Comparison = (&'static str, fn(&i128, &i128) -> bool);

#[test]
fn comparisons_of_parts_give_one() {
    let comparisons: [Comparison; 6] = [
        ("eq", i128::eq),
        ("ne", i128::ne),
        ("lt", i128::lt),
        ("le", i128::le),
        ("gt", i128::gt),
        ("ge", i128::ge),
    ];
    for (name, holds) in comparisons {
        check_with(&format!("vset.s32.u32.{name}"), packed([0, 3, 5]), "b32", "b32 b32", |s| {
            [holds(&part(s[0], 3, "s32"), &part(s[1], 5, "u32")).into()]
        });
        check_with(&format!("vset.s32.u32.{name}.add"), packed([0, 3, 5]), "b32", "b32 b32 b32", |s| {
            [s[2] + i128::from(holds(&part(s[0], 3, "s32"), &part(s[1], 5, "u32")))]
        });
        check(&format!("vset4.s32.s32.{name}"), "b32", "b32 b32 b32", |s| {
            [(1..5)
                .map(|n| i128::from(holds(&part(s[0], n, "s32"), &part(s[1], n, "s32"))) << (8 * (n - 1)))
                .sum()]
        });
        check(&format!("vset2.u32.s32.{name}.add"), "b32", "b32 b32 b32", |s| {
            let one = |n: u32| i128::from(holds(&part(s[0], n, "u32"), &part(s[1], n, "s32")));
            [s[2] + one(5) + one(6)]
        });
    }
}

#[test]
fn pairs_and_quads_work_element_by_element() {
    let average: Operation = ("vavrg", |a, b| if a + b >= 0 { (a + b + 1) >> 1 } else { (a + b) >> 1 });
    for (count, first, width) in [(2u32, 5, 16), (4, 1, 8)] {
        for (name, operation) in OPERATIONS.into_iter().chain([average]) {
            for (d, a, b) in [("u32", "u32", "u32"), ("s32", "u32", "s32"), ("u32", "s32", "s32")] {
                let element =
                    move |s: &[i128], n| operation(part(s[0], first + n, a), part(s[1], first + n, b));
                let form = format!("{name}{count}.{d}.{a}.{b}");
                check(&form, "b32", "b32 b32 b32", |s| {
                    [(0..count).map(|n| (element(s, n) & ((1 << width) - 1)) << (width * n)).sum()]
                });
                check(&format!("{form}.sat"), "b32", "b32 b32 b32", |s| {
                    let one = |n| clamp(element(s, n), width, d) & ((1 << width) - 1);
                    [(0..count).map(|n| one(n) << (width * n)).sum()]
                });
                check(&format!("{form}.add"), "b32", "b32 b32 b32", |s| {
                    [s[2] + (0..count).map(|n| element(s, n)).sum::<i128>()]
                });
            }
        }
    }
}

#[test]
fn selectors_pick_elements_of_both_sources() {
    assert_eq!(selectors(4, None, None, None), Some(0b1111 | 0o3210 << 4 | 0o7654 << 16));
    assert_eq!(selectors(2, Some("h1"), Some("h30"), Some("h02")), Some(0b10 | 0o30 << 4 | 0o02 << 16));
    assert_eq!(selectors(4, Some("b20"), Some("b7007"), None), Some(0b101 | 0o7007 << 4 | 0o7654 << 16));
    assert_eq!(selectors(2, Some("h2"), None, None), None);
    assert_eq!(selectors(4, None, Some("b321"), None), None);
    assert_eq!(selectors(4, None, Some("h3210"), None), None);
}
