//! Random programs whose addresses and branches come from the indices of threads, in CTAs and grids of many shapes, do
//! the same compiled and interpreted. The generator is that of `crates/vm/tests/shapes.rs`.
#![no_main]

#[allow(dead_code, reason = "the tests make choices from seeds, too")]
#[path = "../../crates/vm/tests/compiled/choices.rs"]
mod choices;
#[path = "../../crates/vm/tests/shapes/compare.rs"]
mod compare;
#[path = "../../crates/vm/tests/shapes/indices.rs"]
mod indices;
#[allow(dead_code, reason = "the tests have kernels, too")]
#[path = "../../crates/vm/tests/shapes/kernel.rs"]
mod kernel;
#[allow(dead_code, reason = "the tests have kernels, too")]
#[path = "../../crates/vm/tests/shapes/launches.rs"]
mod launches;
#[path = "../../crates/vm/tests/shapes/modules.rs"]
mod modules;

use choices::Choices;
use compare::Outcome;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&[low, high], rest)) = data.split_first_chunk() else { return };
    let seed = u64::from(u16::from_le_bytes([low, high]));
    if let Outcome::Differs(found) = modules::compare_module(seed, &mut Choices::Bytes(rest)) {
        panic!("{found}");
    }
});
