//! The CUDA runtime among the symbols of an object.
//!
//! What follows was checked on the runtimes 11.8, 12.0 to 12.9 and 13.0 to 13.5, linked by GNU's linker, gold and lld.
//!
//! - The runtime is one object file of the archive, and its code one section. In a linked object it is a run of
//!   functions with public names (`cudaMalloc`, `__cudaRegisterFatBinary`) and private ones
//!   (`libcudart_static_<hash>`; before 12.8 `__cudart<number>`). Functions outside of the run are the program's, also
//!   if their names begin alike: nvcc puts `__cudaUnregisterBinaryUtil` and `__cudaRegisterLinkedBinary_…` into
//!   programs. The first and the last function of the run are private.
//! - Its version is a constant in the code: `movl $13040,(%rdi); xor %eax,%eax`.
//! - All functions begin at multiples of 16, and what lies between them is padding. Some are shorter than a jump, which
//!   has 14 bytes: `__cudaLaunchKernel` has 10.

use crate::elf::{Elf, Function, Symbols, Table};
use crate::search;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// A public function that all runtimes have, and that programs hardly use: the sign of a runtime among the names.
const SIGN: &[u8] = b"cudaGetExportTable\0";

/// How far the functions of one runtime are from the one above, at most. The whole runtime has about 0.6 MB.
const REACH: u64 = 2 << 20;

/// The most functions that are looked at. A runtime has about 2,000.
const MOST_FUNCTIONS: usize = 1 << 16;

/// The most names, and functions with one name, that are tried as signs.
const MOST_SIGNS: usize = 4;

/// The section with what nvcc registers: an object that has it has kernels.
const KERNELS: &[u8] = b".nvFatBinSegment";

/// What kernels are registered with.
const REGISTRATION: &[u8] = b"__cudaRegisterFatBinary";

/// What an object has to do with the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// It has no runtime in it.
    Nothing,
    /// It has one, whose functions are known.
    Runtime(Runtime),
    /// It has one, and no symbols of it.
    NoSymbols,
}

/// A runtime in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The version.
    pub version: Version,
    /// Its public functions, by their addresses.
    pub functions: Vec<Public>,
}

/// A public function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// The name.
    pub name: Vec<u8>,
    /// The address, before the object is moved.
    pub address: u64,
    /// How many bytes it has to itself, the padding that follows included.
    pub room: u64,
}

/// The version of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The major number, as in 13.
    pub major: u32,
    /// The exact number, as in 13040.
    pub number: Option<u32>,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}.{}", number / 1000, number % 1000 / 10),
            None => write!(f, "{}", self.major),
        }
    }
}

/// What an object has in it.
pub fn look(elf: &Elf<'_>) -> Content {
    if let Some(runtime) = elf.symbols(Table::All).and_then(|symbols| find(elf, &symbols)) {
        return Content::Runtime(runtime);
    }
    if elf.has_section(KERNELS) && !imports_registration(elf) { Content::NoSymbols } else { Content::Nothing }
}

/// Whether kernels are registered with another object's runtime.
fn imports_registration(elf: &Elf<'_>) -> bool {
    elf.symbols(Table::Dynamic).is_some_and(|symbols| search::find(symbols.names, REGISTRATION, 0).is_some())
}

/// Finds the runtime among symbols: those of the object, or of a file that was made for it.
pub fn find(code: &Elf<'_>, symbols: &Symbols<'_>) -> Option<Runtime> {
    let mut from = 0;
    for _ in 0..MOST_SIGNS {
        let name = search::find(symbols.names, SIGN, from)?;
        let signs = symbols.functions().filter(|function| usize::try_from(function.name) == Ok(name));
        let found = signs.take(MOST_SIGNS).find_map(|sign| around(code, symbols, sign.address));
        if found.is_some() {
            return found;
        }
        from = name + 1;
    }
    None
}

/// The functions at one address. Linkers may fold functions that have the same code.
#[derive(Default)]
struct Place<'a> {
    public: Vec<&'a [u8]>,
    private: bool,
    /// The end of the longest.
    end: u64,
}

/// The runtime that has a function at an address.
fn around(code: &Elf<'_>, symbols: &Symbols<'_>, sign: u64) -> Option<Runtime> {
    let near = |function: &Function| function.address.abs_diff(sign) <= REACH;
    let mut places: BTreeMap<u64, Place<'_>> = BTreeMap::new();
    for (index, function) in symbols.functions().filter(near).enumerate() {
        if index == MOST_FUNCTIONS {
            return None;
        }
        let place = places.entry(function.address).or_default();
        place.end = place.end.max(function.address.saturating_add(function.size));
        match symbols.from_name(&function).map(Name::of) {
            Some(Name::Public) => place.public.extend(symbols.name(&function)),
            Some(Name::Private) => place.private = true,
            Some(Name::Other) | None => {}
        }
    }
    let is_runtime = |(_, place): &(&u64, &Place<'_>)| place.private || !place.public.is_empty();
    let is_private = |(_, place): &(&u64, &Place<'_>)| place.private;
    // The first and the last function of a runtime are private: what lies beyond them is the program's.
    let low = *places.range(..sign).rev().take_while(is_runtime).filter(is_private).last()?.0;
    let (high, last) = places.range(sign..).take_while(is_runtime).filter(is_private).last()?;
    let (high, end) = (*high, last.end);
    let mut functions = Vec::new();
    for (&address, place) in places.range(low..=high) {
        let next = places.range((Excluded(address), Unbounded)).next();
        let room = next.map_or(place.end, |(next, _)| *next) - address;
        functions.extend(place.public.iter().map(|name| Public { name: name.to_vec(), address, room }));
    }
    let has = |name: &[u8]| functions.iter().any(|function| function.name == name);
    if !has(REGISTRATION) {
        return None;
    }
    let text = code.code_at(low)?;
    let text = text.get(..usize::try_from(end - low).ok()?).unwrap_or(text);
    let number = number(text);
    let by_names = || match () {
        () if has(b"cudaBindTexture") => 11,
        () if has(b"cudaGetDeviceProperties_v2") => 12,
        () => 13,
    };
    let major = number.map_or_else(by_names, |number| number / 1000);
    Some(Runtime { version: Version { major, number }, functions })
}

/// What a name says about its function.
enum Name {
    Public,
    Private,
    Other,
}

impl Name {
    /// By the beginning of the name.
    fn of(text: &[u8]) -> Name {
        let old = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
        if text.starts_with(b"libcudart_static_") || text.strip_prefix(b"__cudart").is_some_and(old) {
            Name::Private
        } else if text.starts_with(b"cuda") || text.starts_with(b"__cuda") {
            Name::Public
        } else {
            Name::Other
        }
    }
}

/// The version that the code has in it.
fn number(code: &[u8]) -> Option<u32> {
    let mut from = 0;
    while let Some(at) = search::find(code, b"\xc7\x07", from) {
        if let Some([_, _, a, b, c, d, 0x31, 0xc0]) = code.get(at..at + 8) {
            let number = u32::from_le_bytes([*a, *b, *c, *d]);
            if (7_000..100_000).contains(&number) && number % 10 == 0 {
                return Some(number);
            }
        }
        from = at + 1;
    }
    None
}
