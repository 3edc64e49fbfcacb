//! Integer arithmetic, with carries, and on packed values.

use super::harness::check;

const INTEGERS: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];

fn width(ty: &str) -> u32 {
    ty[1..].parse().expect("a width")
}

/// The least and the greatest number of a type.
fn ends(ty: &str) -> (i128, i128) {
    let width = width(ty);
    if ty.starts_with('s') { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

#[test]
fn sums_differences_and_negations_wrap() {
    for ty in INTEGERS {
        let two = format!("{ty} {ty}");
        check(&format!("add.{ty}"), ty, &two, |s| [s[0] + s[1]]);
        check(&format!("sub.{ty}"), ty, &two, |s| [s[0] - s[1]]);
        check(&format!("min.{ty}"), ty, &two, |s| [if s[1] < s[0] { s[1] } else { s[0] }]);
        check(&format!("max.{ty}"), ty, &two, |s| [if s[1] > s[0] { s[1] } else { s[0] }]);
        check(&format!("sad.{ty}"), ty, &format!("{two} {ty}"), |s| [s[2] + (s[0] - s[1]).abs()]);
    }
    for ty in ["s16", "s32", "s64"] {
        check(&format!("neg.{ty}"), ty, ty, |s| [-s[0]]);
        check(&format!("abs.{ty}"), ty, ty, |s| [s[0].abs()]);
    }
}

#[test]
fn saturation_stops_at_the_ends() {
    for ty in ["s32", "u32"] {
        let (least, greatest) = ends(ty);
        check(
            &format!("add.sat.{ty}"),
            ty,
            &format!("{ty} {ty}"),
            |s| [(s[0] + s[1]).clamp(least, greatest)],
        );
    }
    let clamp = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into());
    check("sub.sat.s32", "s32", "s32 s32", |s| [clamp(s[0] - s[1])]);
    check("mad.hi.sat.s32", "s32", "s32 s32 s32", |s| [clamp(((s[0] * s[1]) >> 32) + s[2])]);
    check("addc.sat.s32", "s32", "s32 s32 carry", |s| [clamp(s[0] + s[1] + s[2])]);
    check("subc.sat.s32", "s32", "s32 s32 carry", |s| [clamp(s[0] - s[1] - 1 + s[2])]);
    check("min.relu.s32", "s32", "s32 s32", |s| [s[0].min(s[1]).max(0)]);
    check("max.relu.s32", "s32", "s32 s32", |s| [s[0].max(s[1]).max(0)]);
}

#[test]
fn products_have_a_low_a_high_and_a_wide_form() {
    for ty in INTEGERS {
        let (two, three, width) = (format!("{ty} {ty}"), format!("{ty} {ty} {ty}"), width(ty));
        let high = move |s: &[i128]| match ty {
            "u64" => ((s[0] as u128 * s[1] as u128) >> 64) as i128,
            _ => (s[0] * s[1]) >> width,
        };
        check(&format!("mul.lo.{ty}"), ty, &two, |s| [s[0].wrapping_mul(s[1])]);
        check(&format!("mul.hi.{ty}"), ty, &two, |s| [high(s)]);
        check(&format!("mad.lo.{ty}"), ty, &three, |s| [s[0].wrapping_mul(s[1]).wrapping_add(s[2])]);
        check(&format!("mad.hi.{ty}"), ty, &three, |s| [high(s) + s[2]]);
        if width < 64 {
            let wide = format!("{}{}", &ty[..1], 2 * width);
            check(&format!("mul.wide.{ty}"), &wide, &two, |s| [s[0] * s[1]]);
            check(&format!("mad.wide.{ty}"), &wide, &format!("{two} {wide}"), |s| [s[0] * s[1] + s[2]]);
        }
    }
}

#[test]
fn products_of_24_bits_have_48() {
    let unsigned = |s: &[i128]| (s[0] & 0xff_ffff) * (s[1] & 0xff_ffff);
    let signed = |s: &[i128]| (s[0] << 104 >> 104) * (s[1] << 104 >> 104);
    check("mul24.lo.u32", "u32", "u32 u32", |s| [unsigned(s)]);
    check("mul24.hi.u32", "u32", "u32 u32", |s| [unsigned(s) >> 16]);
    check("mul24.lo.s32", "s32", "s32 s32", |s| [signed(s)]);
    check("mul24.hi.s32", "s32", "s32 s32", |s| [signed(s) >> 16]);
    check("mad24.lo.u32", "u32", "u32 u32 u32", |s| [unsigned(s) + s[2]]);
    check("mad24.hi.u32", "u32", "u32 u32 u32", |s| [(unsigned(s) >> 16) + s[2]]);
    check("mad24.lo.s32", "s32", "s32 s32 s32", |s| [signed(s) + s[2]]);
    check("mad24.hi.s32", "s32", "s32 s32 s32", |s| [(signed(s) >> 16) + s[2]]);
    check("mad24.hi.sat.s32", "s32", "s32 s32 s32", |s| {
        [((signed(s) >> 16) + s[2]).clamp(i32::MIN.into(), i32::MAX.into())]
    });
}

#[test]
fn division_goes_toward_zero_and_by_zero_gives_ones() {
    for ty in INTEGERS {
        let two = format!("{ty} {ty}");
        check(&format!("div.{ty}"), ty, &two, |s| [if s[1] == 0 { -1 } else { s[0] / s[1] }]);
        check(&format!("rem.{ty}"), ty, &two, |s| [if s[1] == 0 { -1 } else { s[0] % s[1] }]);
    }
}

#[test]
fn carries_go_through_the_flag() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let width = width(ty);
        let unsigned = move |value: i128| value & ((1 << width) - 1);
        let carry = move |value: i128| value >> width & 1;
        let (two, three) = (format!("{ty} {ty}"), format!("{ty} {ty} {ty}"));
        let (two_in, three_in) = (format!("{two} carry"), format!("{three} carry"));
        let out = format!("{ty} carry");
        let sum = move |a: i128, b: i128, c: i128| {
            let sum = unsigned(a) + unsigned(b) + c;
            [sum, carry(sum)]
        };
        let difference = move |a: i128, b: i128, c: i128| sum(a, !b, c);
        check(&format!("add.cc.{ty}"), &out, &two, |s| sum(s[0], s[1], 0));
        check(&format!("addc.{ty}"), ty, &two_in, |s| [sum(s[0], s[1], s[2])[0]]);
        check(&format!("addc.cc.{ty}"), &out, &two_in, |s| sum(s[0], s[1], s[2]));
        check(&format!("sub.cc.{ty}"), &out, &two, |s| difference(s[0], s[1], 1));
        check(&format!("subc.{ty}"), ty, &two_in, |s| [difference(s[0], s[1], s[2])[0]]);
        check(&format!("subc.cc.{ty}"), &out, &two_in, |s| difference(s[0], s[1], s[2]));
        for half in ["lo", "hi"] {
            let product = move |s: &[i128]| match (half, ty) {
                ("lo", _) => s[0].wrapping_mul(s[1]),
                (_, "u64") => ((s[0] as u128 * s[1] as u128) >> 64) as i128,
                _ => (s[0] * s[1]) >> width,
            };
            check(&format!("mad.{half}.cc.{ty}"), &out, &three, |s| sum(product(s), s[2], 0));
            check(&format!("madc.{half}.{ty}"), ty, &three_in, |s| [sum(product(s), s[2], s[3])[0]]);
            check(&format!("madc.{half}.cc.{ty}"), &out, &three_in, |s| sum(product(s), s[2], s[3]));
        }
    }
}

/// A function of two elements, on those of two words.
fn packed(ty: &str, s: &[i128], f: impl Fn(i128, i128) -> i128) -> [i128; 1] {
    let (width, count) = if ty.ends_with("16x2") { (16, 2) } else { (8, 4) };
    let element = |word: i128, n: u32| {
        let bits = word >> (width * n) & ((1 << width) - 1);
        if ty.starts_with('s') { bits << (128 - width) >> (128 - width) } else { bits }
    };
    let one = |n: u32| (f(element(s[0], n), element(s[1], n)) & ((1 << width) - 1)) << (width * n);
    [(0..count).map(one).sum()]
}

#[test]
fn packed_elements_do_not_touch_each_other() {
    for ty in ["u16x2", "s16x2", "u8x4", "s8x4"] {
        let (least, greatest) = ends(ty.split('x').next().expect("an element"));
        let operations = |word: &str| format!("{word}.{ty}");
        check(&operations("add"), "b32", "b32 b32", |s| packed(ty, s, |a, b| a + b));
        check(&operations("add.sat"), "b32", "b32 b32", |s| {
            packed(ty, s, |a, b| (a + b).clamp(least, greatest))
        });
        check(&operations("min"), "b32", "b32 b32", |s| packed(ty, s, i128::min));
        check(&operations("max"), "b32", "b32 b32", |s| packed(ty, s, i128::max));
        check(&operations("set.eq"), "b32", "b32 b32", |s| packed(ty, s, |a, b| -i128::from(a == b)));
        check(&operations("set.ne"), "b32", "b32 b32", |s| packed(ty, s, |a, b| -i128::from(a != b)));
        check(&operations("set.lt"), "b32", "b32 b32", |s| packed(ty, s, |a, b| -i128::from(a < b)));
        check(&operations("set.le"), "b32", "b32 b32", |s| packed(ty, s, |a, b| -i128::from(a <= b)));
        check(&operations("set.gt"), "b32", "b32 b32", |s| packed(ty, s, |a, b| -i128::from(a > b)));
        check(&operations("set.ge"), "b32", "b32 b32", |s| packed(ty, s, |a, b| -i128::from(a >= b)));
        if ty.ends_with("x4") {
            check(&operations("sub"), "b32", "b32 b32", |s| packed(ty, s, |a, b| a - b));
            check(&operations("sub.sat"), "b32", "b32 b32", |s| {
                packed(ty, s, |a, b| (a - b).clamp(least, greatest))
            });
        }
        if ty.starts_with('s') {
            check(&operations("min.relu"), "b32", "b32 b32", |s| packed(ty, s, |a, b| a.min(b).max(0)));
            check(&operations("max.relu"), "b32", "b32 b32", |s| packed(ty, s, |a, b| a.max(b).max(0)));
        }
    }
    check("neg.s8x4", "b32", "b32", |s| packed("s8x4", &[s[0], 0], |a, _| -a));
}
