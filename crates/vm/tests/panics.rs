//! A panic in an operation that compiled code leaves to the interpreter does not end the process: it goes on after compiled
//! code, to whoever launched.

use crate::small::device;
use softwarp_vm::device::{Device, Jit, Launch, LaunchError, Report};
use softwarp_vm::injected::panic_in_next_callback;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Compiled code leaves `%clock64` to the interpreter: alone or in a loop after a barrier, by all lanes or by some.
const BODIES: [&str; 3] = [
    "mov.u64 %d1, %clock64; st.global.u32 [%o], %t;",
    "mov.u32 %r1, 0;
    L: bar.sync 0; mov.u64 %d1, %clock64; st.global.u32 [%o], %t;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 4; @%p1 bra L;",
    "and.b32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 1; st.global.u32 [%o], %t;
    @%p1 bra E; mov.u64 %d1, %clock64; mov.u64 %d2, %clock64; E:",
];

fn launch(device: &Device, out: u64, threads: usize) -> Result<Report, LaunchError> {
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch::new("k", [64, 1, 1], [64, 1, 1], &arguments);
    device.launch(&Launch { jit: Jit::On, threads: Some(threads), ..launch })
}

#[test]
fn a_panic_in_an_operation_of_compiled_code_reaches_the_caller() {
    for body in BODIES {
        let device = device("", body);
        let out = device.allocate(4 * 64 * 64).expect("memory");
        for threads in [1, 1, 3] {
            // The second time there is code for lanes that have diverged.
            launch(&device, out, threads).expect("it runs");
            panic_in_next_callback();
            let caught = catch_unwind(AssertUnwindSafe(|| launch(&device, out, threads)));
            let panic = caught.expect_err("a panic");
            // Another one comes from a thread of `rayon`.
            let text = panic.downcast_ref::<&str>().copied();
            assert_eq!(text, Some("a test has asked for this panic"), "{body}");
            launch(&device, out, threads).expect("it runs again");
        }
    }
}
