//! Interned names: every text once, in one string, found by hash tables of indices.
//!
//! Most names are short (`%rd12`), and so are most mnemonics. A text of up to sixteen bytes is a number, and is
//! compared as one; longer ones have a table of their own.
//!
//! Both tables use keyed hashes, with a random key for each instance, so that no file can be written whose names
//! collide. Short texts have pair-multiply-shift hashing, which is strongly universal (Thorup, "High speed hashing for
//! integers and strings", 2015); of long ones, blocks of sixteen bytes are multiplied into one another with secret
//! keys, as in wyhash. Numbers of symbols depend on the order of the text alone, never on the key.

use crate::lexer::IN_WORD;
use std::hash::{BuildHasher, RandomState};

/// An interned word or name; [`Module::name`](crate::Module::name) has its text.
///
/// Equal texts have equal symbols. The text is as written, dots not included for modifiers and directives,
/// the leading `%` or `$` included for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// The texts of symbols.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    key: Key,
    /// All texts, one behind the other.
    texts: String,
    /// Where the text of each symbol ends; it begins where the one before ends.
    ends: Vec<u32>,
    /// Short texts, by open addressing, a power of two long.
    short: Vec<Short>,
    /// How many of them there are.
    short_count: usize,
    /// The hash of each long text and its symbol.
    long: Vec<(u32, Symbol)>,
    /// Long texts, by open addressing, a power of two long: indices plus one, 0 where there is none.
    slots: Vec<u32>,
    /// Registers by their numbers.
    registers: Registers,
}

/// The symbols of names such as `%r12`, which most names are: a letter or a few, and a number. They are found without a
/// hash, and those with near numbers lie together.
#[derive(Clone, Debug, Default)]
struct Registers {
    /// By a hash of the letters; empty, or as long as [`FAMILIES`] says. Where two fall together the first is here.
    families: Vec<Family>,
}

#[derive(Clone, Debug, Default)]
struct Family {
    /// The letters, as [`register_at`] gives them; 0 where there is none.
    letters: u32,
    /// For each number its symbol plus one, or 0.
    symbols: Vec<u32>,
}

/// How many families of registers there is room for.
const FAMILIES: usize = 32;
/// Registers with larger numbers are found as other names are. It bounds the memory.
const MOST_NUMBERS: u32 = 1 << 16;

impl Registers {
    #[inline]
    fn place(letters: u32) -> usize {
        (letters.wrapping_mul(0x9e37_79b1) >> 27) as usize % FAMILIES
    }

    #[inline]
    fn find(&self, letters: u32, number: u32) -> Option<Symbol> {
        let family = self.families.get(Registers::place(letters))?;
        let &symbol = family.symbols.get(number as usize)?;
        (family.letters == letters && symbol != 0).then(|| Symbol(symbol - 1))
    }

    fn add(&mut self, letters: u32, number: u32, symbol: Symbol) {
        self.families.resize_with(FAMILIES, Family::default);
        let family = &mut self.families[Registers::place(letters)];
        if family.letters == 0 {
            family.letters = letters;
        }
        if family.letters == letters && number < MOST_NUMBERS {
            let length = family.symbols.len().max((number as usize + 1).next_power_of_two());
            family.symbols.resize(length, 0);
            family.symbols[number as usize] = symbol.0 + 1;
        }
    }
}

/// The letters and the number of a register's name, if a text is one that [`register_at`] knows.
#[inline]
fn register(text: &str) -> Option<(u32, u32)> {
    let mut window = [0; 12];
    window.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    let (letters, number, end) = register_at(&window, 0)?;
    (end == text.len()).then_some((letters, number))
}

/// The letters and the number of the register's name that stands at some place, and the place behind it: one to four
/// letters behind `%`, and a number of up to five digits that does not begin with 0.
#[inline]
pub(crate) fn register_at(bytes: &[u8], at: usize) -> Option<(u32, u32, usize)> {
    // So much is looked at; what stands at the very end of a text is found as other names are.
    let text: &[u8; 12] = bytes.get(at..)?.first_chunk()?;
    if text[0] != b'%' || !text[1].is_ascii_alphabetic() {
        return None;
    }
    let mut letters = u32::from(text[1]);
    let mut first = 2;
    while first < 5 && text[first].is_ascii_alphabetic() {
        letters = letters << 8 | u32::from(text[first]);
        first += 1;
    }
    let (mut number, mut end) = (0u32, first);
    while end < 11 && end < first + 5 && text[end].is_ascii_digit() {
        number = number.wrapping_mul(10).wrapping_add(u32::from(text[end] & 15));
        end += 1;
    }
    let zero = text[first] == b'0' && end > first + 1;
    (end > first && !zero && !IN_WORD[text[end] as usize]).then_some((letters, number, at + end))
}

/// A text of up to sixteen bytes.
#[derive(Clone, Copy, Debug)]
struct Short {
    /// Its bytes and its length, as [`pack`] puts them together; 0 where there is none.
    key: u128,
    length: u32,
    symbol: Symbol,
}

/// The random key of an instance.
#[derive(Clone, Debug)]
struct Key {
    /// The keys, for each half of a short text or block.
    halves: [u128; 2],
}

impl Default for Key {
    fn default() -> Key {
        let state = RandomState::new();
        let half = |n: u64| u128::from(state.hash_one(n)) << 64 | u128::from(state.hash_one(!n));
        Key { halves: [half(0), half(1)] }
    }
}

impl Key {
    /// Where to begin to look for a short text.
    #[inline]
    fn short(&self, key: u128) -> usize {
        let [a, b] = self.halves;
        let (high, low) = (key >> 64, key & u128::from(u64::MAX));
        (a.wrapping_add(low).wrapping_mul(b.wrapping_add(high)) >> 64) as usize
    }

    /// The hash of a long text: its blocks of sixteen bytes are multiplied into one another, each with the secret
    /// keys. The last block may overlap the one before.
    fn long(&self, text: &str) -> u32 {
        let bytes = text.as_bytes();
        let [a, b] = self.halves;
        let mut hash = (a >> 64) as u64 ^ bytes.len() as u64;
        let mut mix = |block: [u8; 16]| {
            let block = u128::from_le_bytes(block);
            let low = hash ^ block as u64 ^ a as u64;
            let high = (block >> 64) as u64 ^ (b >> 64) as u64;
            let product = u128::from(low) * u128::from(high);
            hash = (product as u64 ^ (product >> 64) as u64).wrapping_add(b as u64);
        };
        let (blocks, _) = bytes.as_chunks::<16>();
        blocks.iter().for_each(|block| mix(*block));
        if let Some(last) = bytes.last_chunk::<16>() {
            mix(*last);
        }
        hash as u32 ^ (hash >> 32) as u32
    }
}

const NO_SHORT: Short = Short { key: 0, length: 0, symbol: Symbol(0) };

impl Symbols {
    /// The text of a symbol.
    #[inline]
    pub fn text(&self, symbol: Symbol) -> &str {
        let index = symbol.0 as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.texts[start as usize..self.ends[index] as usize]
    }

    /// How many there are; symbols are the numbers below.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The symbol with this text, if it occurs.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        match pack(text.as_bytes()) {
            Some(key) => self.short_slot(key, text.len() as u32)?.ok(),
            None => self.long_slot(self.key.long(text), text)?.ok(),
        }
    }

    /// The symbol with this text, which is most likely the name of a register.
    #[inline]
    pub(crate) fn intern_register(&mut self, text: &str) -> Symbol {
        let Some((letters, number)) = register(text) else { return self.intern(text) };
        match self.registers.find(letters, number) {
            Some(symbol) => symbol,
            None => self.new_register(text, letters, number),
        }
    }

    /// The symbol of a register that has occurred.
    #[inline]
    pub(crate) fn find_register(&self, letters: u32, number: u32) -> Option<Symbol> {
        self.registers.find(letters, number)
    }

    #[cold]
    fn new_register(&mut self, text: &str, letters: u32, number: u32) -> Symbol {
        let symbol = self.intern(text);
        self.registers.add(letters, number, symbol);
        symbol
    }

    /// The symbol with this text, a new one if need be.
    #[inline]
    pub fn intern(&mut self, text: &str) -> Symbol {
        match pack(text.as_bytes()) {
            Some(key) => match self.short_slot(key, text.len() as u32) {
                Some(Ok(symbol)) => symbol,
                slot => self.add_short(key, slot.and_then(Result::err), text),
            },
            None => self.intern_long(text),
        }
    }

    /// Interns what stands before the digits at the end of a symbol's text.
    pub(crate) fn intern_prefix(&mut self, symbol: Symbol) {
        let text = self.text(symbol);
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        if prefix.len() < text.len() && self.find(prefix).is_none() {
            let prefix = prefix.to_owned();
            self.intern(&prefix);
        }
    }

    fn intern_long(&mut self, text: &str) -> Symbol {
        let hash = self.key.long(text);
        match self.long_slot(hash, text) {
            Some(Ok(symbol)) => symbol,
            slot => self.add_long(hash, slot.and_then(Result::err), text),
        }
    }

    /// Where a short text is, or the empty slot where it would be; `None` without a table.
    #[inline]
    fn short_slot(&self, key: u128, length: u32) -> Option<Result<Symbol, usize>> {
        let mask = self.short.len().checked_sub(1)?;
        let mut slot = self.key.short(key) & mask;
        loop {
            let there = self.short.get(slot)?;
            if there.key == key && there.length == length {
                return Some(Ok(there.symbol));
            }
            if there.length == 0 {
                return Some(Err(slot));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// As [`Symbols::short_slot`], for a long text.
    fn long_slot(&self, hash: u32, text: &str) -> Option<Result<Symbol, usize>> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        loop {
            let Some(index) = self.slots[slot].checked_sub(1) else {
                return Some(Err(slot));
            };
            let (known, symbol) = self.long[index as usize];
            if known == hash && self.text(symbol) == text {
                return Some(Ok(symbol));
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn add_short(&mut self, key: u128, slot: Option<usize>, text: &str) -> Symbol {
        let symbol = self.add(text);
        let length = text.len() as u32;
        self.short_count += 1;
        let new = Short { key, length, symbol };
        match slot {
            Some(slot) if self.short_count * 2 <= self.short.len() => self.short[slot] = new,
            _ => {
                let larger = vec![NO_SHORT; (self.short.len() * 2).max(256)];
                let old = std::mem::replace(&mut self.short, larger);
                for short in old.into_iter().filter(|short| short.length > 0).chain([new]) {
                    if let Some(Err(slot)) = self.short_slot(short.key, short.length) {
                        self.short[slot] = short;
                    }
                }
            }
        }
        symbol
    }

    #[cold]
    fn add_long(&mut self, hash: u32, slot: Option<usize>, text: &str) -> Symbol {
        let symbol = self.add(text);
        self.long.push((hash, symbol));
        match slot {
            Some(slot) if self.long.len() * 2 <= self.slots.len() => {
                self.slots[slot] = self.long.len() as u32
            }
            _ => {
                let length = (self.slots.len() * 2).max(256);
                self.slots.clear();
                self.slots.resize(length, 0);
                for (index, (hash, _)) in self.long.iter().enumerate() {
                    let mut slot = *hash as usize & (length - 1);
                    while self.slots[slot] != 0 {
                        slot = (slot + 1) & (length - 1);
                    }
                    self.slots[slot] = index as u32 + 1;
                }
            }
        }
        symbol
    }

    fn add(&mut self, text: &str) -> Symbol {
        let symbol = Symbol(self.ends.len() as u32);
        self.texts.push_str(text);
        self.ends.push(self.texts.len() as u32);
        symbol
    }
}

/// The bytes of a text of one to sixteen bytes; texts of the same length are equal if these are.
#[inline]
fn pack(bytes: &[u8]) -> Option<u128> {
    if bytes.len() > 16 {
        return None;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        Some(u128::from(u64::from_le_bytes(*first)) << 64 | u128::from(u64::from_le_bytes(*last)))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        Some(u128::from(u32::from_le_bytes(*first)) << 32 | u128::from(u32::from_le_bytes(*last)))
    } else {
        let (first, last) = (bytes.first()?, bytes.last()?);
        Some(u128::from(*first) << 16 | u128::from(bytes[bytes.len() / 2]) << 8 | u128::from(*last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_symbols() {
        let mut symbols = Symbols::default();
        assert_eq!(symbols.find("x"), None);
        let all: Vec<Symbol> = (0..10_000).map(|n| symbols.intern(&format!("%r{n}"))).collect();
        for (n, &symbol) in all.iter().enumerate() {
            let text = format!("%r{n}");
            assert_eq!(symbols.intern(&text), symbol);
            assert_eq!(symbols.find(&text), Some(symbol));
            assert_eq!(symbols.text(symbol), text);
        }
        assert_eq!(symbols.len(), all.len());
        assert_eq!(symbols.find("%r10000"), None);
        assert_eq!(symbols.text(symbols.find("%r0").unwrap()), "%r0");
        let empty = symbols.intern("");
        assert_eq!(symbols.text(empty), "");
    }

    /// How far short texts lie from where they are looked for first, all together.
    fn displacement(symbols: &Symbols) -> usize {
        let mask = symbols.short.len() - 1;
        let slots = symbols.short.iter().enumerate().filter(|(_, short)| short.length > 0);
        slots.map(|(slot, short)| slot.wrapping_sub(symbols.key.short(short.key)) & mask).sum()
    }

    #[test]
    fn no_names_collide_by_design() {
        // Under `(high.rotate_left(29) ^ low) * constant`, an unkeyed hash, all of these fall into one slot.
        let hostile = (0..1u64 << 14).map(|n| {
            let high =
                (0..7).fold(0x3030_3030_3030_3030, |high, byte| high | (n >> (2 * byte) & 3) << (8 * byte));
            let low = 0x4040_4040_4040_4040 ^ (high ^ 0x3030_3030_3030_3030u64).rotate_left(29);
            let bytes = [high.to_le_bytes(), low.to_le_bytes()].concat();
            String::from_utf8(bytes).expect("all bytes are ASCII")
        });
        let registers = (0..1 << 14).map(|n| format!("%r{n}"));
        for names in [hostile.collect::<Vec<_>>(), registers.collect()] {
            let mut symbols = Symbols::default();
            let count =
                names.iter().map(|name| symbols.intern(name)).collect::<std::collections::HashSet<_>>().len();
            assert_eq!(count, names.len());
            let far = displacement(&symbols);
            assert!(far < 16 * names.len(), "{count} names lie {far} slots away, such as {:?}", names[1]);
        }
    }
}
