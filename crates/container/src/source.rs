//! Where bytes come from.

use super::{MOST_BYTES, ReadError};

/// Bytes that may have no known end, such as those behind a pointer of a C caller.
///
/// A reader asks only for bytes that earlier bytes promise, so that an implementation for a pointer may assume that
/// they are there if the data is well formed. Offsets and sums of an offset and a count never exceed [`MOST_BYTES`].
pub trait Source<'a> {
    /// `count` bytes from an offset; none if the source is known to end before.
    fn bytes(&self, from: usize, count: usize) -> Option<&'a [u8]>;

    /// The bytes from the start up to the first NUL, without it. None if there are more than `most`. A source that
    /// ends without a NUL ends the text.
    fn until_nul(&self, most: usize) -> Option<&'a [u8]>;
}

impl<'a> Source<'a> for &'a [u8] {
    fn bytes(&self, from: usize, count: usize) -> Option<&'a [u8]> {
        self.get(from..from.checked_add(count)?)
    }

    fn until_nul(&self, most: usize) -> Option<&'a [u8]> {
        let end = self.iter().position(|byte| *byte == 0).unwrap_or(self.len());
        if end <= most { self.get(..end) } else { None }
    }
}

/// One byte.
pub(super) fn byte<'a>(source: &impl Source<'a>, at: usize) -> Option<u8> {
    if at >= MOST_BYTES {
        return None;
    }
    source.bytes(at, 1)?.first().copied()
}

/// The first four bytes as a number, asked for one at a time: a text may end after any of them. None if one of them
/// is a NUL, which no magic number has.
pub(super) fn magic<'a>(source: &impl Source<'a>) -> Option<u32> {
    let mut bytes = [0; 4];
    for (at, place) in bytes.iter_mut().enumerate() {
        *place = byte(source, at).filter(|byte| *byte != 0)?;
    }
    Some(u32::from_le_bytes(bytes))
}

/// Bytes that a header promises.
pub(super) fn promised<'a>(
    source: &impl Source<'a>,
    from: u64,
    count: u64,
    what: &'static str,
) -> Result<&'a [u8], ReadError> {
    let end = from.checked_add(count).filter(|end| *end <= MOST_BYTES as u64);
    if end.is_none() {
        return Err(ReadError::TooLarge { what, bytes: from.saturating_add(count) });
    }
    let (Ok(from), Ok(count)) = (usize::try_from(from), usize::try_from(count)) else {
        return Err(ReadError::TooLarge { what, bytes: count });
    };
    source.bytes(from, count).ok_or(ReadError::Truncated { what })
}

/// A number of two bytes in a header.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

/// A number of four bytes in a header.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A number of eight bytes in a header.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// A range of bytes whose start and length are numbers of a header.
pub(super) fn part(bytes: &[u8], from: u64, count: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(from).ok()?..)?.get(..usize::try_from(count).ok()?)
}
