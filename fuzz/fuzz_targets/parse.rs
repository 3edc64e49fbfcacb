//! Reading never panics, and what it says lies inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let parsed = softwarp_syntax::parse(source);
    for diagnostic in &parsed.diagnostics {
        let (start, end) = (diagnostic.span().start as usize, diagnostic.span().end as usize);
        assert!(start <= end && source.is_char_boundary(start) && source.is_char_boundary(end));
    }
});
