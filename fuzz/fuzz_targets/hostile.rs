//! Kernels with wrong addresses end the same compiled and interpreted, and none by a signal. With `SOFTWARP_GUARD=1` an
//! access outside of a buffer is one. The generator is that of `crates/vm/tests/hostile.rs`.
#![no_main]

#[allow(dead_code, reason = "the tests make choices from seeds, too")]
#[path = "../../crates/vm/tests/compiled/choices.rs"]
mod choices;
#[path = "../../crates/vm/tests/hostile/kernel.rs"]
mod kernel;
#[path = "../../crates/vm/tests/hostile/run.rs"]
mod run;

use choices::Choices;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    run::compare("these bytes", &mut Choices::Bytes(data));
});
