//! An assembler for x86-64 with AVX-512: the instructions that compiled code uses.
//!
//! Instructions are encoded at once, into the memory that will be executable. Jumps forward have distances of 32 bits, which are written when the
//! code is finished; jumps back have 8 bits where these suffice. A method encodes one instruction. Its tables are
//! `vector.rs` (prefix EVEX), `masks.rs` (prefix VEX) and `scalar.rs` (general-purpose registers). What cannot be encoded
//! (an offset that is too large, a memory operand of another size) makes [`Assembler::finish`] fail.
//!
//! For CPUs without AVX-512, instructions on 512 bits become several on 256 bits (`halves/`).

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

pub(crate) use operands::*;

use memmap2::MmapMut;

/// Code that cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unencodable;

/// The result of encoding an instruction. Failures show when the code is finished.
pub(crate) type Encoded<T = ()> = Result<T, Unencodable>;

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeLabel(u32);

/// Where a label is that has no place yet.
const NOWHERE: u32 = u32::MAX;

/// The most bytes of an instruction.
const LONGEST: usize = 16;

/// A 32-bit distance that is not known yet: the end of the instruction, and the label.
struct Distance {
    end: usize,
    label: CodeLabel,
}

/// The code so far.
pub(crate) struct Assembler {
    /// Bytes, and room for more. Pages that are not written take no memory.
    buffer: MmapMut,
    length: usize,
    /// Where each label is.
    labels: Vec<u32>,
    distances: Vec<Distance>,
    failed: bool,
    /// Instructions on 512 bits are made of halves.
    halves: Option<halves::Halves>,
}

impl Assembler {
    /// No code yet, and room for a number of bytes.
    pub(crate) fn new(room: usize) -> Encoded<Assembler> {
        Ok(Assembler {
            buffer: map(room)?,
            length: 0,
            labels: Vec::new(),
            distances: Vec::new(),
            failed: false,
            halves: None,
        })
    }

    /// How many bytes there are.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.length
    }

    /// A label that has no place yet.
    #[inline]
    pub(crate) fn create_label(&mut self) -> CodeLabel {
        self.labels.push(NOWHERE);
        CodeLabel(self.labels.len() as u32 - 1)
    }

    /// Puts a label here.
    #[inline]
    pub(crate) fn set_label(&mut self, label: &mut CodeLabel) -> Encoded {
        self.forget_vectors();
        let place = &mut self.labels[label.0 as usize];
        self.failed |= *place != NOWHERE;
        *place = self.length as u32;
        Ok(())
    }

    /// Where a label is.
    pub(crate) fn place_of(&self, label: CodeLabel) -> Encoded<u64> {
        match self.labels[label.0 as usize] {
            NOWHERE => Err(Unencodable),
            place => Ok(u64::from(place)),
        }
    }

    /// What was asked for cannot be encoded.
    #[cold]
    fn fail(&mut self) {
        self.failed = true;
    }

    /// Appends the bytes of an instruction: the lowest of a word.
    #[inline]
    fn append(&mut self, word: u128, bytes: usize) {
        if self.buffer.len() < self.length + LONGEST {
            self.grow();
        }
        self.buffer[self.length..self.length + LONGEST].copy_from_slice(&word.to_le_bytes());
        self.length += bytes;
    }

    #[cold]
    fn grow(&mut self) {
        match map(2 * self.buffer.len()) {
            Ok(mut larger) => {
                larger[..self.length].copy_from_slice(&self.buffer[..self.length]);
                self.buffer = larger;
            }
            // What follows is written over what is there.
            Err(Unencodable) => (self.failed, self.length) = (true, 0),
        }
    }

    /// Appends a jump: its opcode with an 8-bit distance, or that with a 32-bit one, which may have two bytes.
    #[inline(never)]
    fn jump_to(&mut self, short: Option<u8>, near: &[u8], label: CodeLabel) {
        self.make_words();
        let place = self.labels[label.0 as usize];
        if place != NOWHERE
            && let Some(short) = short
            && let Ok(distance) = i8::try_from(i64::from(place) - (self.length as i64 + 2))
        {
            return self.append(u128::from(u16::from_le_bytes([short, distance as u8])), 2);
        }
        let opcode = near.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte));
        self.append(opcode, near.len() + 4);
        self.distances.push(Distance { end: self.length, label });
    }

    /// Appends the distance of a label: 32 bits.
    fn distance_to(&mut self, label: CodeLabel) {
        self.append(0, 4);
        self.distances.push(Distance { end: self.length, label });
    }

    /// The code, with all distances. Fails if an instruction could not be encoded, or a label has no place.
    pub(crate) fn finish(&mut self) -> Encoded<&[u8]> {
        for Distance { end, label } in std::mem::take(&mut self.distances) {
            let distance = self.place_of(label)? as i64 - end as i64;
            let distance = i32::try_from(distance).map_err(|_| Unencodable)?;
            self.buffer[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        if self.failed || self.length > i32::MAX as usize {
            return Err(Unencodable);
        }
        Ok(&self.buffer[..self.length])
    }

    /// The memory of the code, which is finished.
    pub(crate) fn into_memory(self) -> MmapMut {
        self.buffer
    }
}

/// Memory that can be made executable.
fn map(bytes: usize) -> Encoded<MmapMut> {
    MmapMut::map_anon(bytes.max(1 << 14)).map_err(|_| Unencodable)
}
