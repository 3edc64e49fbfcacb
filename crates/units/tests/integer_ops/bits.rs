//! Operations on bits: counting, fields, logic, shifts, permutations of bytes.

use super::harness::{check, check_with};

/// A bit of a number.
fn bit(value: i128, n: i128) -> i128 {
    value >> n & 1
}

#[test]
fn bits_are_counted_and_found() {
    for (ty, width) in [("b32", 32), ("b64", 64)] {
        check(&format!("popc.{ty}"), "u32", ty, |s| [(0..width).map(|n| bit(s[0], n)).sum()]);
        check(&format!("clz.{ty}"), "u32", ty, |s| {
            [(0..width).rev().take_while(|&n| bit(s[0], n) == 0).count() as i128]
        });
        check(&format!("brev.{ty}"), ty, ty, |s| [(0..width).map(|n| bit(s[0], n) << (width - 1 - n)).sum()]);
    }
    for (ty, width) in [("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)] {
        let found =
            move |s: &[i128]| (0..width).rev().find(|&n| bit(if s[0] < 0 { !s[0] } else { s[0] }, n) == 1);
        check(&format!("bfind.{ty}"), "u32", ty, |s| [found(s).unwrap_or(-1)]);
        check(&format!("bfind.shiftamt.{ty}"), "u32", ty, |s| [found(s).map_or(-1, |n| width - 1 - n)]);
    }
}

#[test]
fn the_nth_set_bit_is_searched_both_ways() {
    check("fns.b32", "b32", "b32 b32 s32", |s| {
        let (mask, base, offset) = (s[0], s[1], s[2]);
        if offset == i32::MIN.into() {
            return [0];
        }
        if base > 31 || offset == 0 && bit(mask, base) == 0 {
            return [-1];
        }
        if offset == 0 {
            return [base];
        }
        let (mut place, mut left) = (base, offset.abs());
        while (0..32).contains(&place) {
            left -= bit(mask, place);
            if left == 0 {
                return [place];
            }
            place += offset.signum();
        }
        [-1]
    });
}

#[test]
fn fields_are_taken_and_put_in() {
    for (ty, width) in [("u32", 32), ("s32", 32), ("u64", 64), ("s64", 64)] {
        check(&format!("bfe.{ty}"), ty, &format!("{ty} u32 u32"), |s| {
            let byte = |count: i128| if width == 32 { count & 0xff } else { count };
            let (a, position, length) = (s[0], byte(s[1]), byte(s[2]));
            let signed = ty.starts_with('s') && length > 0;
            let sign = if signed { bit(a, (position + length - 1).min(width - 1)) } else { 0 };
            let one = |n: i128| if n < length && position + n < width { bit(a, position + n) } else { sign };
            [(0..width).map(|n| one(n) << n).sum()]
        });
    }
    for (ty, width) in [("b32", 32), ("b64", 64)] {
        check(&format!("bfi.{ty}"), ty, &format!("{ty} {ty} u32 u32"), |s| {
            let byte = |count: i128| if width == 32 { count & 0xff } else { count };
            let (position, length) = (byte(s[2]), byte(s[3]));
            let one = |n: i128| match (position..position + length).contains(&n) {
                true => bit(s[0], n - position),
                false => bit(s[1], n),
            };
            [(0..width).map(|n| one(n) << n).sum()]
        });
    }
    for mode in ["clamp", "wrap"] {
        let count = move |b: i128| if mode == "wrap" { b & 31 } else { b.min(32) };
        check(&format!("szext.{mode}.u32"), "u32", "u32 u32", |s| [s[0] & ((1 << count(s[1])) - 1)]);
        check(&format!("szext.{mode}.s32"), "s32", "s32 u32", |s| {
            let count = count(s[1]);
            let low = s[0] & ((1 << count) - 1);
            [if count > 0 && bit(low, count - 1) == 1 { low - (1 << count) } else { low }]
        });
        check(&format!("bmsk.{mode}.b32"), "b32", "u32 u32", |s| {
            let first = if mode == "wrap" { s[0] & 31 } else { s[0] };
            [(0..32).filter(|n| (first..first + count(s[1])).contains(n)).map(|n| 1 << n).sum()]
        });
    }
}

#[test]
fn logic_works_bit_by_bit() {
    for ty in ["b16", "b32", "b64", "pred"] {
        let two = format!("{ty} {ty}");
        check(&format!("and.{ty}"), ty, &two, |s| [s[0] & s[1]]);
        check(&format!("or.{ty}"), ty, &two, |s| [s[0] | s[1]]);
        check(&format!("xor.{ty}"), ty, &two, |s| [s[0] ^ s[1]]);
        check(&format!("not.{ty}"), ty, ty, |s| [!s[0]]);
        if ty != "pred" {
            check(&format!("cnot.{ty}"), ty, ty, |s| [i128::from(s[0] == 0)]);
        }
    }
    for table in [0x00, 0x80, 0xfe, 0x1a, 0x96, 0xe8, 0xca, 0xff, 0x40, 0x01] {
        let entry =
            move |s: &[i128], n: i128| bit(table, bit(s[0], n) << 2 | bit(s[1], n) << 1 | bit(s[2], n));
        let all = move |s: &[i128]| (0..32).map(|n| entry(s, n) << n).sum::<i128>();
        check_with("lop3.b32", table as u32, "b32", "b32 b32 b32", |s| [all(s)]);
        check_with("lop3.or.b32", table as u32, "b32 pred", "b32 b32 b32 pred", |s| {
            [all(s), i128::from(all(s) != 0) | s[3]]
        });
        check_with("lop3.and.b32", table as u32, "b32 pred", "b32 b32 b32 pred", |s| {
            [all(s), i128::from(all(s) != 0) & s[3]]
        });
    }
}

#[test]
fn shifts_clamp_their_amount() {
    for (ty, width) in [("b16", 16), ("b32", 32), ("b64", 64)] {
        check(&format!("shl.{ty}"), ty, &format!("{ty} u32"), |s| [s[0] << s[1].min(width)]);
    }
    for ty in ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"] {
        check(&format!("shr.{ty}"), ty, &format!("{ty} u32"), |s| [s[0] >> s[1].min(64)]);
    }
    for mode in ["clamp", "wrap"] {
        let amount = move |c: i128| if mode == "wrap" { c & 31 } else { c.min(32) };
        check(&format!("shf.l.{mode}.b32"), "b32", "b32 b32 u32", |s| {
            [(s[1] << 32 | s[0]) << amount(s[2]) >> 32]
        });
        check(&format!("shf.r.{mode}.b32"), "b32", "b32 b32 u32", |s| [(s[1] << 32 | s[0]) >> amount(s[2])]);
    }
}

type Mode = (&'static str, fn(i128, i128) -> i128);

#[test]
fn bytes_are_permuted() {
    let byte = |s: &[i128], n: i128| (s[1] << 32 | s[0]) >> (8 * n) & 0xff;
    check("prmt.b32", "b32", "b32 b32 b32", |s| {
        let one = |n: i128| {
            let choice = s[2] >> (4 * n) & 15;
            let byte = byte(s, choice & 7);
            if choice > 7 { bit(byte, 7) * 0xff } else { byte }
        };
        [(0..4).map(|n| one(n) << (8 * n)).sum()]
    });
    // Each with the byte that a place gets.
    let modes: [Mode; 6] = [
        ("f4e", |c, n| c + n),
        ("b4e", |c, n| (c - n) & 7),
        ("rc8", |c, _| c),
        ("ecl", |c, n| n.max(c)),
        ("ecr", |c, n| n.min(c)),
        ("rc16", |c, n| (c & 1) << 1 | n & 1),
    ];
    for (mode, source) in modes {
        check(&format!("prmt.b32.{mode}"), "b32", "b32 b32 b32", |s| {
            [(0..4).map(|n| byte(s, source(s[2] & 3, n)) << (8 * n)).sum()]
        });
    }
}

#[test]
fn dot_products_extend_by_the_types_of_their_factors() {
    let part = |word: i128, n: u32, width: u32, ty: &str| {
        let bits = word >> (width * n) & ((1 << width) - 1);
        if ty == "s32" { bits << (128 - width) >> (128 - width) } else { bits }
    };
    for a in ["u32", "s32"] {
        for b in ["u32", "s32"] {
            check(&format!("dp4a.{a}.{b}"), "u32", "b32 b32 u32", |s| {
                [s[2] + (0..4).map(|n| part(s[0], n, 8, a) * part(s[1], n, 8, b)).sum::<i128>()]
            });
            for (half, first) in [("lo", 0), ("hi", 2)] {
                check(&format!("dp2a.{half}.{a}.{b}"), "u32", "b32 b32 u32", |s| {
                    [s[2] + (0..2).map(|n| part(s[0], n, 16, a) * part(s[1], first + n, 8, b)).sum::<i128>()]
                });
            }
        }
    }
}

#[test]
fn carryless_products_are_products_without_carries() {
    let product =
        |s: &[i128]| (0..64).filter(|&n| bit(s[0], n) == 1).fold(0u128, |sum, n| sum ^ (s[1] as u128) << n);
    check("clmad.lo.u64", "u64", "u64 u64 u64", |s| [product(s) as i128 ^ s[2]]);
    check("clmad.hi.u64", "u64", "u64 u64 u64", |s| [(product(s) >> 64) as i128 ^ s[2]]);
}
