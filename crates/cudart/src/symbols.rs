//! All public symbols of the runtime API, with their versions.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// The address of an exported function.
#[derive(Clone, Copy, Debug)]
pub struct Address(*const ());

// SAFETY: the address of a function is the same for all threads, and is not followed here.
unsafe impl Sync for Address {}

impl Address {
    /// As a number.
    pub fn bits(self) -> u64 {
        self.0 as u64
    }
}

/// An exported function.
#[derive(Debug)]
pub struct Symbol {
    /// Its symbol, such as `cudaMalloc`.
    pub symbol: &'static str,
    /// Whether it does anything.
    pub implemented: bool,
    /// Where it is.
    pub address: Address,
}

include!(concat!(env!("OUT_DIR"), "/api.rs"));

/// The function of a name.
pub fn find(name: &str) -> Option<&'static Symbol> {
    SYMBOLS.iter().find(|it| it.symbol == name)
}

/// What a function does that is not implemented: it says so once.
pub(crate) fn not_supported(symbol: &'static str) -> u32 {
    static SAID: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(symbol) {
        eprintln!("softwarp: {symbol} is not supported (cudaErrorNotSupported)");
    }
    crate::code::note(crate::code::Code::NOT_SUPPORTED);
    crate::code::Code::NOT_SUPPORTED.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_public_names_are_there() {
        let of_13 = SYMBOLS.iter().filter(|it| !it.symbol.starts_with("v12_")).count();
        assert_eq!(of_13, 458);
        assert!(find("cudaMalloc").is_some_and(|it| it.implemented));
        assert!(find("cudaGLGetDevices").is_some_and(|it| !it.implemented && it.address.bits() != 0));
    }
}
