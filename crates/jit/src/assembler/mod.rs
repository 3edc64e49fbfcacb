//! An assembler for x86-64 with AVX-512: the instructions that compiled code uses.
//!
//! Instructions are encoded at once. Jumps forward have distances of 32 bits, which are written when the code is finished;
//! jumps back have 8 bits where these suffice. Jumps stay inside blocks of 32 bytes where the CPU needs it
//! (`boundaries.rs`). The lists that code is written to are kept for the next function of the thread; finished code is
//! copied to memory that can be made executable.
//!
//! A method encodes one instruction. Its tables are `vector.rs` (prefix EVEX), `masks.rs` (prefix VEX) and `scalar.rs`
//! (general-purpose registers). What cannot be encoded (an offset that is too large, a memory operand of another size)
//! makes [`Assembler::finish`] fail.
//!
//! For CPUs without AVX-512, instructions on 512 bits become several on 256 bits (`halves/`).

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "instructions of the CPU and their operands, not operations"
)]

mod boundaries;
mod encode;
#[cfg(test)]
mod failures;
mod halves;
mod masks;
mod operands;
mod scalar;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(test)]
mod written;

use boundaries::{BLOCK, Jumps, Movable};
use encode::Bytes;
pub(crate) use operands::*;

#[cfg(test)]
use memmap2::MmapMut;
use std::cell::Cell;

/// Code that cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unencodable;

/// The result of encoding an instruction. Failures show when the code is finished.
pub(crate) type Encoded<T = ()> = Result<T, Unencodable>;

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeLabel(u32);

/// Labels that were created together, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeLabels {
    first: u32,
    count: u32,
}

impl CodeLabels {
    /// One of them.
    #[inline]
    pub(crate) fn at(self, number: usize) -> CodeLabel {
        debug_assert!(number < self.count as usize);
        CodeLabel(self.first + number as u32)
    }

    /// All, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = CodeLabel> {
        (self.first..self.first + self.count).map(CodeLabel)
    }
}

/// Where a label is that has no place yet.
const NOWHERE: u32 = u32::MAX;

/// The most bytes that an instruction is written with: it has fewer, but its last part is written as a word.
const LONGEST: usize = 32;

/// A 32-bit distance that is not known yet: the end of the instruction, and the label.
struct Distance {
    end: usize,
    label: CodeLabel,
}

/// The lists that code is written to.
#[derive(Default)]
struct Room {
    /// Bytes, and room for more.
    buffer: Vec<u8>,
    /// Where each label is.
    labels: Vec<u32>,
    distances: Vec<Distance>,
}

thread_local! {
    /// The lists of the last function, if none is being written.
    static ROOM: Cell<Option<Room>> = const { Cell::new(None) };
}

/// The most bytes of a buffer that is kept.
const KEPT: usize = 1 << 22;

/// The code so far.
pub(crate) struct Assembler {
    room: Room,
    length: usize,
    failed: bool,
    jumps: Jumps,
    movable: Movable,
    /// The end of the last `lock` prefix, which is appended apart from its instruction.
    lock_end: usize,
    /// Instructions on 512 bits are made of halves.
    halves: Option<halves::Halves>,
}

impl Assembler {
    /// No code yet, and room for a number of bytes.
    pub(crate) fn new(room: usize) -> Encoded<Assembler> {
        let mut lists = ROOM.try_with(Cell::take).ok().flatten().unwrap_or_default();
        lists.labels.clear();
        lists.distances.clear();
        // Bytes that are there already are written over. Pages that are not written take no memory.
        if lists.buffer.len() < room.max(LONGEST) {
            lists.buffer = vec![0; room.max(1 << 14)];
        }
        let (jumps, movable) = (Jumps::of_this_cpu(), Movable::default());
        Ok(Assembler { room: lists, length: 0, failed: false, jumps, movable, lock_end: 0, halves: None })
    }

    /// How many bytes there are so far.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Fails once [`Assembler::finish`] will.
    #[inline]
    pub(crate) fn check(&self) -> Encoded {
        if self.failed { Err(Unencodable) } else { Ok(()) }
    }

    /// How many bytes there are. They are not moved any more.
    #[inline]
    pub(crate) fn position(&mut self) -> usize {
        self.keep_in_place();
        self.length
    }

    /// A label that has no place yet.
    #[inline]
    pub(crate) fn create_label(&mut self) -> CodeLabel {
        self.room.labels.push(NOWHERE);
        CodeLabel(self.room.labels.len() as u32 - 1)
    }

    /// Several of them.
    pub(crate) fn create_labels(&mut self, count: usize) -> CodeLabels {
        let first = self.room.labels.len();
        self.room.labels.resize(first + count, NOWHERE);
        CodeLabels { first: first as u32, count: count as u32 }
    }

    /// Puts a label here.
    #[inline]
    pub(crate) fn set_label(&mut self, label: &mut CodeLabel) -> Encoded {
        self.forget_vectors();
        self.keep_in_place();
        let place = &mut self.room.labels[label.0 as usize];
        self.failed |= *place != NOWHERE;
        *place = self.length as u32;
        Ok(())
    }

    /// Where a label is.
    pub(crate) fn place_of(&self, label: CodeLabel) -> Encoded<u64> {
        place_of(&self.room.labels, label)
    }

    /// What was asked for cannot be encoded.
    #[cold]
    fn fail(&mut self) {
        self.failed = true;
    }

    /// Appends the bytes of an instruction.
    #[inline]
    fn append(&mut self, bytes: Bytes) {
        let place = match self.room.buffer.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut) {
            Some(place) => place,
            None => self.grow(),
        };
        write(place, 0, bytes);
        self.length += bytes.count;
    }

    /// The same in two parts.
    #[inline]
    fn append_both(&mut self, first: Bytes, second: Bytes) {
        let place = match self.room.buffer.get_mut(self.length..).and_then(<[u8]>::first_chunk_mut) {
            Some(place) => place,
            None => self.grow(),
        };
        write(place, 0, first);
        write(place, first.count, second);
        self.length += first.count + second.count;
    }

    /// Makes room; returns where the next instruction is written. Where the system has no memory, the code has failed: what
    /// follows is counted, and written over the first instruction.
    #[cold]
    fn grow(&mut self) -> &mut [u8; LONGEST] {
        let buffer = &mut self.room.buffer;
        // Most systems move long lists without copying them. What is added is written, which takes time.
        let more = (buffer.len() / 8).max(buffer.len().min(1 << 20)).max(LONGEST);
        self.failed = self.failed || buffer.try_reserve_exact(more).is_err();
        if !self.failed {
            buffer.resize(buffer.len() + more, 0);
        }
        let start = if self.failed { 0 } else { self.length };
        let place = buffer.get_mut(start..).and_then(<[u8]>::first_chunk_mut);
        place.expect("the buffer has been made long enough")
    }

    /// Appends a jump: its opcode with an 8-bit distance, or that with a 32-bit one, which may have two bytes, the first
    /// in the lower bits.
    #[inline(never)]
    fn jump_to(&mut self, short: Option<u8>, near: u16, label: CodeLabel) {
        self.make_words();
        let is_conditional = near > 0xff;
        if !is_conditional {
            self.keep_in_place();
        }
        let place = self.room.labels[label.0 as usize];
        if let Some(short) = short
            && self.short_distance(place, BLOCK).is_some()
        {
            self.align_jump(2);
            let distance = self.short_distance(place, 0).unwrap_or_default();
            return self.append(Bytes::new(u16::from_le_bytes([short, distance as u8]).into(), 2));
        }
        let bytes = 5 + usize::from(is_conditional);
        self.align_jump(bytes);
        self.append(Bytes::new(near.into(), bytes));
        self.room.distances.push(Distance { end: self.length, label });
    }

    /// The distance of a place from the end of a short jump, which is behind some more bytes, if it has 8 bits.
    fn short_distance(&self, place: u32, more: usize) -> Option<i8> {
        let end = (self.length + more + 2) as i64;
        (place != NOWHERE).then(|| i8::try_from(i64::from(place) - end).ok()).flatten()
    }

    /// Appends the distance of a label: 32 bits.
    fn distance_to(&mut self, label: CodeLabel) {
        self.append(Bytes::new(0, 4));
        self.room.distances.push(Distance { end: self.length, label });
    }

    /// The code, with all distances. Fails if an instruction could not be encoded, or a label has no place.
    pub(crate) fn finish(&mut self) -> Encoded<&[u8]> {
        let Room { buffer, labels, distances } = &mut self.room;
        if self.failed {
            return Err(Unencodable);
        }
        for Distance { end, label } in distances.drain(..) {
            let distance = place_of(labels, label)? as i64 - end as i64;
            let distance = i32::try_from(distance).map_err(|_| Unencodable)?;
            buffer[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        if self.length > i32::MAX as usize {
            return Err(Unencodable);
        }
        Ok(&buffer[..self.length])
    }

    /// A copy of the code, which is finished, in memory that can be made executable.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> Encoded<MmapMut> {
        let code = &self.room.buffer[..self.length];
        let memory = memmap2::MmapOptions::new().len(code.len().max(1)).map_anon();
        let mut memory = memory.map_err(|_| Unencodable)?;
        memory[..code.len()].copy_from_slice(code);
        Ok(memory)
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.room);
        if room.buffer.len() <= KEPT {
            // A thread that ends keeps nothing.
            _ = ROOM.try_with(|kept| kept.set(Some(room)));
        }
    }
}

/// Writes some bytes, and others behind them that do not count.
#[inline]
fn write(place: &mut [u8; LONGEST], at: usize, bytes: Bytes) {
    // An instruction has at most 15 bytes.
    let at = at & 15;
    place[at..at + 8].copy_from_slice(&bytes.word.to_le_bytes());
}

/// Where a label is.
fn place_of(labels: &[u32], label: CodeLabel) -> Encoded<u64> {
    match labels[label.0 as usize] {
        NOWHERE => Err(Unencodable),
        place => Ok(u64::from(place)),
    }
}
