//! Memory of the program that is registered: kernels see it at its own address.
//!
//! The machine maps pieces that begin at multiples of 256; a piece that two registrations share is mapped once.

use crate::code::{Code, ensure};
use crate::ffi::Host;
use crate::handle::lock;
use softwarp::vm::device::Device as Machine;
use softwarp::vm::memory::host::HostPlace;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The machine maps multiples of this.
const PIECE: u64 = 4096;

/// Pages that are mapped: how many registrations use each run of them.
static PAGES: Mutex<BTreeMap<u64, (u64, u32)>> = Mutex::new(BTreeMap::new());

/// Whether the process can read and write a range. Where the system does not say, it is assumed.
fn is_there(start: u64, end: u64) -> bool {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return true };
    let mut reached = start;
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let Some((Some(from), Some(until))) = range.map(|(from, until)| (number(from), number(until))) else {
            continue;
        };
        if from <= reached && reached < until && words.next().is_some_and(|flags| flags.starts_with("rw")) {
            reached = until;
        }
    }
    reached >= end
}

/// Maps the pages of a range. The pages that another range has mapped are left alone.
pub fn map(machine: &Machine, start: u64, end: u64) -> Result<(), Code> {
    let (first, last) = (start / PIECE * PIECE, end.next_multiple_of(PIECE));
    ensure(is_there(first, last), Code::INVALID_VALUE)?;
    let mut pages = lock(&PAGES);
    let mut page = first;
    while page < last {
        let covering =
            pages.range_mut(..=page).next_back().filter(|(base, (bytes, _))| page < **base + bytes);
        if let Some((base, (bytes, count))) = covering {
            *count += 1;
            page = *base + *bytes;
            continue;
        }
        let next = pages.range(page..).next().map_or(last, |(base, _)| (*base).min(last));
        let Some(pointer) = Host::at(page).pointer() else { return Err(Code::INVALID_VALUE) };
        // SAFETY: the program has registered the memory, and the API says that it stays until it is unregistered; pages are
        // readable and writable as a whole. That it is not used at the same time is the program's duty, as with a GPU.
        let memory = unsafe { crate::ffi::borrow_host(pointer, (next - page) as usize) };
        let memory = memory.map_err(|_| Code::INVALID_VALUE)?;
        machine.map_host(&memory, HostPlace::SameAddress).map_err(|_| Code::INVALID_VALUE)?;
        pages.insert(page, (next - page, 1));
        page = next;
    }
    Ok(())
}

/// Ends what [`map`] did.
pub fn unmap(machine: &Machine, start: u64, end: u64) {
    let (first, last) = (start / PIECE * PIECE, end.next_multiple_of(PIECE));
    let mut pages = lock(&PAGES);
    let before = pages.range(..=first).next_back().map_or(first, |(base, _)| *base);
    let touched: Vec<u64> = pages
        .range(before..last)
        .filter(|(base, (bytes, _))| **base + bytes > first)
        .map(|(base, _)| *base)
        .collect();
    for base in touched {
        if let Some((_, count)) = pages.get_mut(&base) {
            *count -= 1;
            if *count == 0 {
                pages.remove(&base);
                let _ = machine.free(base);
            }
        }
    }
}
