//! All public symbols of the driver API, and how `cuGetProcAddress` chooses among them.

use crate::code::Code;
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

/// An exported symbol, a row of `api.txt`.
#[derive(Debug)]
pub struct Symbol {
    /// The symbol, such as `cuMemAlloc_v2`.
    pub symbol: &'static str,
    /// What programs call it, such as `cuMemAlloc`.
    pub name: &'static str,
    /// The version of the API that it came with: 1000 times the major number and 10 times the minor one.
    pub version: u32,
    /// Whether it does anything.
    pub implemented: bool,
    /// Where it is.
    pub own: Address,
    /// Where its twin is that takes the null stream for the thread's own.
    pub per_thread: Option<Address>,
}

include!(concat!(env!("OUT_DIR"), "/api.rs"));

/// Why `cuGetProcAddress` finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// There is no such name.
    Name,
    /// The name is newer than the version that was asked for.
    Version,
}

/// The function that a name means in a version of the API: the newest symbol that is not newer.
pub fn find(name: &str, version: u32, per_thread: bool) -> Result<Address, NotFound> {
    let mut of_name = SYMBOLS.iter().filter(|symbol| symbol.name == name).peekable();
    if of_name.peek().is_none() {
        return Err(NotFound::Name);
    }
    let found = of_name.rfind(|symbol| symbol.version <= version).ok_or(NotFound::Version)?;
    Ok(found.per_thread.filter(|_| per_thread).unwrap_or(found.own))
}

/// The address of an exported symbol.
pub fn exported(symbol: &str) -> Option<u64> {
    SYMBOLS.iter().find_map(|row| {
        let twin = row.per_thread.filter(|_| {
            symbol.strip_prefix(row.symbol).is_some_and(|rest| matches!(rest, "_ptsz" | "_ptds"))
        });
        let own = (row.symbol == symbol).then_some(row.own);
        own.or(twin).map(Address::bits)
    })
}

/// What a function does that is not implemented: it says so once.
pub(crate) fn not_supported(symbol: &'static str) -> Code {
    static SAID: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if crate::handle::lock(&SAID).insert(symbol) {
        eprintln!("softwarp: {symbol} is not supported (CUDA_ERROR_NOT_SUPPORTED)");
    }
    Code::NOT_SUPPORTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_that_is_not_newer_is_found() {
        let symbol = |name: &str| SYMBOLS.iter().find(|it| it.symbol == name).expect("a symbol").own.bits();
        let find = |name, version| find(name, version, false).map(Address::bits);
        assert_eq!(find("cuMemAlloc", 2000), Ok(symbol("cuMemAlloc")));
        assert_eq!(find("cuMemAlloc", 3010), Ok(symbol("cuMemAlloc")));
        assert_eq!(find("cuMemAlloc", 13000), Ok(symbol("cuMemAlloc_v2")));
        assert_eq!(find("cuMemAlloc_v2", 13000), Err(NotFound::Name));
        assert_eq!(find("cuArrayGetPlane", 11000), Err(NotFound::Version));
        assert_eq!(find("", 13000), Err(NotFound::Name));
    }

    #[test]
    fn twins_are_found_by_flag() {
        let own = find("cuMemcpyAsync", 13000, false).expect("there").bits();
        let twin = find("cuMemcpyAsync", 13000, true).expect("there").bits();
        assert_ne!(own, twin);
        assert_eq!(
            find("cuInit", 13000, true).map(Address::bits),
            find("cuInit", 13000, false).map(Address::bits)
        );
    }

    #[test]
    fn symbols_of_a_name_are_in_the_order_of_their_versions() {
        for pair in SYMBOLS.windows(2).filter(|pair| pair[0].name == pair[1].name) {
            assert!(pair[0].version <= pair[1].version, "{}", pair[1].symbol);
        }
        let twins = SYMBOLS.iter().filter(|symbol| symbol.per_thread.is_some()).count();
        assert!(SYMBOLS.len() + twins >= 716);
    }
}
