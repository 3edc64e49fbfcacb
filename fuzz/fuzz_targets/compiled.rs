//! Random programs, in PTX and in the intermediate representation, do the same compiled and interpreted: they leave the
//! same memory, the same counts and the same faults. The generators are those of `crates/vm/tests/compiled.rs`.
#![no_main]

#[path = "../../crates/vm/tests/compiled/check.rs"]
mod check;
#[allow(dead_code, reason = "the tests make choices from seeds, too")]
#[path = "../../crates/vm/tests/compiled/choices.rs"]
mod choices;
#[path = "../../crates/vm/tests/compiled/functions.rs"]
mod functions;
#[allow(dead_code, reason = "the tests look at how much was compiled")]
#[path = "../../crates/vm/tests/compiled/run.rs"]
mod run;
#[path = "../../crates/vm/tests/compiled/table.rs"]
mod table;
#[path = "../../crates/vm/tests/compiled/text.rs"]
mod text;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    check::compare_bytes(data);
});
