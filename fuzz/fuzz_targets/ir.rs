//! The parser of the intermediate representation never panics, and what it reads is printed as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use softwarp_ir::Function;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(function) = Function::parse(text) else { return };
    let printed = format!("{function:#}");
    let again = Function::parse(&printed).expect("what is printed can be read");
    assert_eq!(format!("{again:#}"), printed);
});
