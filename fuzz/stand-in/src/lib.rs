//! `fuzz_target!` as a plain function, so that the fuzz targets are type-checked without libFuzzer:
//! `cargo check --manifest-path fuzz/Cargo.toml --config fuzz/stand-in/use.toml`.

#![forbid(unsafe_code)]

/// Checks a target's body against the type of its input.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $type:ty| $body:expr) => {
        /// The target.
        #[allow(dead_code, reason = "nothing calls it where it is only checked")]
        fn target($input: $type) {
            $body
        }
    };
}
