//! A launch gives the same bits whatever floating-point environment the host program has set, and leaves it as it was.

#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use crate::odd_environment::{self, ODD, get, within};
use crate::small::*;
use softwarp_vm::device::{Device, Launch};

/// Sums and products that are rounded, subnormal results, quotients, roots, f64 and approximate functions.
const BODY: &str = "
    .reg .f64 %g<2>;
    cvt.rn.f32.u32 %f0, %r30;
    add.rn.f32 %f1, %f0, 0f33D6BF95;
    mul.rn.f32 %f2, %f1, 0f00800001;
    mul.rn.f32 %f2, %f2, 0f3DCCCCCD;
    div.rn.f32 %f3, %f1, 0f40400000;
    fma.rn.f32 %f4, %f3, %f1, 0fB3D6BF95;
    sqrt.rn.f32 %f5, %f1;
    ex2.approx.f32 %f6, %f3;
    cvt.f64.f32 %g0, %f1;
    div.rn.f64 %g1, %g0, 0d4008000000000000;
    cvt.rn.f32.f64 %f7, %g1;
    mov.b32 %r1, %f2; mov.b32 %r2, %f3; xor.b32 %r1, %r1, %r2;
    mov.b32 %r2, %f4; mad.lo.u32 %r1, %r1, 31, %r2;
    mov.b32 %r2, %f5; mad.lo.u32 %r1, %r1, 31, %r2;
    mov.b32 %r2, %f6; mad.lo.u32 %r1, %r1, 31, %r2;
    mov.b32 %r2, %f7; mad.lo.u32 %r1, %r1, 31, %r2;
    st.global.u32 [%o], %r1;";

fn result(device: &mut Device, threads: usize) -> Vec<u32> {
    let (out, result) =
        launch_on(device, (40, 64), 40 * 64, |launch| Launch { threads: Some(threads), ..launch });
    result.unwrap_or_else(|error| panic!("{error}"));
    words(device, out, 40 * 64)
}

#[test]
fn a_launch_does_not_depend_on_the_host_s_environment() {
    let standard = get();
    let mut device = device("", BODY);
    let expected = result(&mut device, 1);
    assert_eq!(result(&mut device, 2), expected);
    assert_eq!(get(), standard);
    for &word in ODD {
        for threads in [1, 2] {
            let words = within(word, || result(&mut device, threads));
            assert!(words == expected, "environment {word:#x}, {threads} threads");
        }
    }
}

/// The threads of the host's pool may be in such an environment, too.
#[test]
fn nor_on_that_of_worker_threads() {
    let mut device = device("", BODY);
    let expected = result(&mut device, 1);
    for &word in ODD {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(move |_| {
                odd_environment::set(word);
            })
            .build()
            .expect("a pool");
        assert!(pool.install(|| result(&mut device, 2)) == expected, "environment {word:#x}");
        let after = pool.broadcast(|_| get());
        let same = odd_environment::set(word);
        let set = get();
        odd_environment::set(same);
        assert!(after.iter().all(|&after| after == set), "{after:x?}, not {word:#x}");
    }
}
