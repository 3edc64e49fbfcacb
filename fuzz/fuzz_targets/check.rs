//! Judging never panics, whatever the parser made of a text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use softwarp_check::{Options, check};

fuzz_target!(|source: &str| {
    let parsed = softwarp_syntax::parse(source);
    for (relocatable, strict) in [(false, false), (true, true)] {
        check(&parsed.module, source, Options { relocatable, strict, ..Options::default() });
    }
});
