//! Products of values that are the same in all lanes, as they are known where some lanes take part, in warps that lack
//! lanes.

use super::{BLOCKS, compare, module};
use std::fmt::Write;

const DECLARED: &str =
    "    .reg .pred %q; .reg .b32 %r<8>, %s, %c; .reg .b64 %d<4>; .reg .b32 %last, %count, %warp;";

/// Values that are the same in all lanes of a warp, in some shapes.
const SAME: [&str; 8] = ["%y", "%z", "%cta", "%nx", "%ny", "%last", "%count", "%warp"];

const PRODUCTS: [&str; 12] = [
    "mul.wide.u32 %d0, %r0, U; xor.b64 %d1, %d1, %d0;",
    "mul.wide.s32 %d0, U, %r0; xor.b64 %d1, %d1, %d0;",
    "mad.wide.u32 %d1, %r0, U, %d1;",
    "mad.wide.s32 %d1, U, %r1, %d1;",
    "mul.hi.u32 %r2, %r0, U; add.u32 %r1, %r1, %r2;",
    "mul.hi.s32 %r2, U, %r0; add.u32 %r1, %r1, %r2;",
    "mad.hi.u32 %r1, %r0, U, %r1;",
    "mul.lo.u32 %r2, %r0, U; mul.hi.u32 %r3, %r0, U; xor.b32 %r2, %r2, %r3; add.u32 %r1, %r1, %r2;",
    "mul.lo.u32 %r1, %r1, U; add.u32 %r1, %r1, %r0;",
    "mad.lo.u32 %r1, %r1, U, %r0;",
    "mad.lo.u32 %r1, %r1, U, %n1;",
    "mul.wide.u32 %d0, U, U; xor.b64 %d1, %d1, %d0; mul.lo.u64 %d2, %d1, %d0; add.s64 %d1, %d1, %d2;",
];

#[test]
fn products_in_warps_that_lack_lanes_do_the_same_compiled_and_interpreted() {
    for same in SAME {
        let mut body = "    mov.u32 %last, %nctaid.x; mov.u32 %count, %nwarpid; mov.u32 %warp, %warpid;
    mad.wide.u32 %d0, %t, 4, %in; ld.global.u32 %r0, [%d0]; mov.u32 %r1, %r0; mov.u64 %d1, %d0;\n"
            .to_owned();
        for (n, product) in PRODUCTS.into_iter().enumerate() {
            let product = product.replace('U', same).replace(&same.replace('U', same), same);
            // Lanes leave the loop one by one; then all of them go on.
            let _ = writeln!(
                body,
                "    and.b32 %s, %t, 7; mov.u32 %c, 0;
A{n}:
    {product}
    add.u32 %c, %c, 1; setp.le.u32 %q, %c, %s; @%q bra A{n};
    {product} st.global.u64 [%mine+{}], %d1; st.global.u32 [%mine+{}], %r1;",
                16 * n,
                16 * n + 8
            );
        }
        compare(same, &module("", DECLARED, &body), &BLOCKS);
    }
}
