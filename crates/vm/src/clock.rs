//! The host's clock. A web page's WebAssembly has none in the standard library: time stands still there, limits of time are
//! not checked, and the clocks of kernels count their reads.

/// Whether the host has a clock.
pub(crate) const EXISTS: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use std::time::Instant;

/// A moment; all are the same.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instant;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Instant {
    /// The present moment.
    pub(crate) fn now() -> Instant {
        Instant
    }

    /// Time since then: none.
    pub(crate) fn elapsed(self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
