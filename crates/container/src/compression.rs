//! Compressed contents: LZ4 blocks and zstd frames, as `nvcc -compress-mode` writes them.
//!
//! Checked on the output of nvcc 13.4: `default`, `size` and `balance` write one zstd frame, `speed` one LZ4 block,
//! `none` neither. Frames of PTX and cubins say their size, those of LTO-IR do not.

use super::ReadError;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::borrow::Cow;
use std::io::Read;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Lz4,
    Zstd,
}

/// Bytes as they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed<'a> {
    pub(super) stored: &'a [u8],
    pub(super) compression: Compression,
    /// The number of bytes when they are unpacked.
    pub(super) size: u64,
}

/// The bytes that may still be allocated.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(bytes: usize) -> Budget {
        Budget(bytes)
    }

    /// Takes from it, or says that it is too much.
    pub(super) fn take(&mut self, bytes: u64, what: &'static str) -> Result<usize, ReadError> {
        let taken = usize::try_from(bytes).ok().filter(|bytes| *bytes <= self.0);
        let taken = taken.ok_or(ReadError::TooLarge { what, bytes })?;
        self.0 -= taken;
        Ok(taken)
    }
}

/// An LZ4 block grows to at most this many times its size: each further byte of a length adds 255 bytes.
const LZ4_GROWTH: u64 = 255;
/// zstd output is taken in pieces of this many bytes, so that memory grows with what is really there.
const PIECE: usize = 64 << 10;
/// The largest window of a zstd frame: that of the highest level.
const MOST_WINDOW: u64 = 128 << 20;

impl<'a> Packed<'a> {
    /// The bytes, which must be as many as declared.
    pub(super) fn unpack(&self, budget: &mut Budget) -> Result<Cow<'a, [u8]>, ReadError> {
        if self.compression == Compression::None {
            return Ok(Cow::Borrowed(self.stored));
        }
        let size = budget.take(self.size, "compressed code")?;
        let bytes = match self.compression {
            Compression::Lz4 => lz4(self.stored, size),
            Compression::None | Compression::Zstd => zstd(self.stored, size),
        }?;
        if bytes.len() == size {
            Ok(Cow::Owned(bytes))
        } else {
            Err(ReadError::Decompression { why: "there is less than the header says".to_owned() })
        }
    }
}

fn lz4(stored: &[u8], size: usize) -> Result<Vec<u8>, ReadError> {
    if size as u64 > (stored.len() as u64).saturating_mul(LZ4_GROWTH) {
        return Err(ReadError::Decompression { why: "so much does not fit into an LZ4 block".to_owned() });
    }
    lz4_flex::block::decompress(stored, size)
        .map_err(|error| ReadError::Decompression { why: format!("LZ4: {error}") })
}

fn zstd(stored: &[u8], size: usize) -> Result<Vec<u8>, ReadError> {
    let failed = |why: String| ReadError::Decompression { why: format!("zstd: {why}") };
    let mut frame = FrameDecoder::new();
    frame.set_max_window_size(MOST_WINDOW);
    let mut decoder =
        StreamingDecoder::new_with_decoder(stored, frame).map_err(|error| failed(error.to_string()))?;
    let mut bytes = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let count = decoder.read(&mut piece).map_err(|error| failed(error.to_string()))?;
        let Some(read) = piece.get(..count).filter(|read| !read.is_empty()) else { return Ok(bytes) };
        if read.len() > size - bytes.len() {
            return Err(failed("there is more than the header says".to_owned()));
        }
        bytes.extend_from_slice(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with one block that repeats a byte.
    fn frame(repeat: u32) -> Vec<u8> {
        let block = repeat << 3 | 1 << 1 | 1;
        let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
        bytes.extend_from_slice(&block.to_le_bytes()[..3]);
        bytes.push(b'x');
        bytes
    }

    fn unpack(stored: &[u8], compression: Compression, size: u64) -> Result<Vec<u8>, ReadError> {
        let packed = Packed { stored, compression, size };
        packed.unpack(&mut Budget::new(1 << 20)).map(Cow::into_owned)
    }

    #[test]
    fn a_zstd_frame_gives_what_its_header_says() {
        assert_eq!(unpack(&frame(5), Compression::Zstd, 5), Ok(b"xxxxx".to_vec()));
        for size in [0, 4, 6, 1000] {
            let error = unpack(&frame(5), Compression::Zstd, size).expect_err("another size");
            assert!(matches!(error, ReadError::Decompression { .. }), "{error}");
        }
        assert!(
            unpack(&frame(100_000), Compression::Zstd, 100_000).is_ok_and(|bytes| bytes.len() == 100_000)
        );
    }

    #[test]
    fn an_lz4_block_gives_what_its_header_says() {
        // One literal, then a match of 4 bytes one back, then the last literal.
        let block = [0x10, b'x', 1, 0, 0x10, b'y'];
        assert_eq!(unpack(&block, Compression::Lz4, 6), Ok(b"xxxxxy".to_vec()));
        for size in [0, 1, 5, 7, 2000] {
            assert!(unpack(&block, Compression::Lz4, size).is_err(), "{size}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let error = unpack(&frame(5), Compression::Zstd, 2 << 20).expect_err("more than the budget");
        assert_eq!(error, ReadError::TooLarge { what: "compressed code", bytes: 2 << 20 });
        assert!(unpack(&frame(5), Compression::Zstd, u64::MAX).is_err());
    }
}
