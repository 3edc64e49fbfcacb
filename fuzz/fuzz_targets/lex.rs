//! Tokens are not empty, lie inside the text, and follow one another.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let mut end = 0;
    for token in softwarp_syntax::tokens(source) {
        assert!(end <= token.start && token.start < token.end);
        assert!(source.get(token.start as usize..token.end as usize).is_some());
        end = token.end;
    }
});
