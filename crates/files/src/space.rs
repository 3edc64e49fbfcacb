//! The input spaces of recorded conversion sums, and the hash over their results.
//!
//! A space has `n` indices, cut into 64 chunks in order. Index `i` stands for an input by the source
//! type: the bit pattern `i` itself for sources of up to 32 bits; for two f32 sources `a = i` and
//! `b = i * 2654435761 + 0x9E3779B9`; for 64-bit sources a sample drawn from `i` ([`wide`]).
//! A chunk's sum is, modulo 2^64, that of `hash(out ^ hash(i))` over its indices.

use rayon::prelude::*;
use softwarp::num::splitmix;
use softwarp::num::{ConversionLoop, Cvt, Vectorise, vectorised};

/// Chunks of a space.
pub const CHUNKS: u64 = 64;

/// Indices handled at once: what they need stays in the first-level cache.
const BLOCK: usize = 1024;

/// The second source of the index `i`, where there are two.
#[inline(always)]
pub fn second(i: u64) -> u64 {
    i.wrapping_mul(2_654_435_761).wrapping_add(0x9e37_79b9) & 0xffff_ffff
}

/// The 64-bit sample of the index `i`: by its last two bits, raw bits, or a binary64 of middling
/// exponent with a free mantissa, one that is a tie for binary32, or one that is or nearly is a tie for f16.
pub fn wide(i: u64) -> u64 {
    let r = splitmix::hash(i);
    if i & 3 == 0 {
        return r;
    }
    let free = r & 0xf_ffff_ffff_ffff;
    let exponent = 863 + (r >> 52 & 0x7ff) % 320;
    let tie = free >> 42 << 42 | 1 << 41;
    let mantissa = match i & 3 {
        1 => free,
        2 => free >> 29 << 29 | 1 << 28,
        _ if r & 3 == 3 => tie,
        _ => tie + (r & 3) - 1,
    };
    r & 1 << 63 | exponent << 52 | mantissa & 0xf_ffff_ffff_ffff
}

/// Where the code of one lane comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feed {
    /// These bits of the index.
    Index { shift: u32, mask: u64, bytes: usize },
    /// The second f32 source.
    Second,
    /// The 64-bit sample.
    Wide,
}

impl Feed {
    fn bytes(self) -> usize {
        match self {
            Feed::Index { bytes, .. } => bytes,
            Feed::Second => 4,
            Feed::Wide => 8,
        }
    }
}

/// A `cvt` that can be replayed over its space.
#[derive(Debug)]
pub struct Replay {
    cvt: Cvt,
    compiled: ConversionLoop,
    feeds: Vec<Feed>,
}

impl Replay {
    /// `None` if the instruction does not exist or takes random bits or a scale, which spaces do not have.
    pub fn new(cvt: Cvt) -> Option<Replay> {
        let compiled = cvt.compiled()?;
        let pairs = !cvt.packed_source && cvt.lanes == 2;
        if compiled.aux_bytes() != 0 || (cvt.lanes > 1 && !cvt.packed_source && !pairs) {
            return None;
        }
        let element = cvt.element.src;
        let feed = |lane: u32| match (pairs, lane) {
            (true, 0) => Feed::Second,
            _ if element.bits() == 64 => Feed::Wide,
            _ => {
                let shift = if pairs { 0 } else { cvt.src().shift(lane) };
                Feed::Index { shift, mask: element.mask(), bytes: element.bytes() }
            }
        };
        Some(Replay { cvt, compiled, feeds: (0..cvt.lanes.into()).map(feed).collect() })
    }

    /// How many indices the space has.
    pub fn indices(&self) -> u64 {
        match self.cvt.src().bits() {
            64 => 1 << 24,
            bits => 1 << bits,
        }
    }
}

/// The sum of hashes over 32-bit results, whose indices begin at `first`.
pub fn sum_of_results(first: u64, results: &[u32]) -> u64 {
    let term = |(at, result): (usize, &u32)| {
        splitmix::hash(u64::from(*result) ^ splitmix::hash(first.wrapping_add(at as u64)))
    };
    results.par_iter().enumerate().map(term).reduce(|| 0, u64::wrapping_add)
}

/// The sums of several instructions over the same range of indices.
///
/// All of them share the inputs and their hashes.
pub fn sums(replays: &[&Replay], indices: std::ops::Range<u64>) -> Vec<u64> {
    let mut sums = vec![0u64; replays.len()];
    let mut hashes = [0u64; BLOCK];
    let mut inputs: Vec<(Feed, Vec<u8>)> = Vec::new();
    for replay in replays {
        for &feed in &replay.feeds {
            if !inputs.iter().any(|(known, _)| *known == feed) {
                inputs.push((feed, vec![0; feed.bytes() * BLOCK]));
            }
        }
    }
    let mut low = [0u8; 8 * BLOCK];
    let mut high = [0u8; 8 * BLOCK];

    let mut start = indices.start;
    while start < indices.end {
        let count = BLOCK.min((indices.end - start) as usize);
        vectorised(HashIndices { start, hashes: &mut hashes[..count] });
        for (feed, bytes) in &mut inputs {
            vectorised(Fill { feed: *feed, start, bytes });
        }
        for (replay, sum) in replays.iter().zip(&mut sums) {
            let lane = |lane: usize| {
                let feed = replay.feeds.get(lane)?;
                let (_, bytes) = inputs.iter().find(|(known, _)| known == feed)?;
                bytes.get(..count * feed.bytes())
            };
            let dst = replay.cvt.element.dst;
            let used = count * dst.bytes();
            replay.compiled.run(lane(0).unwrap_or(&[]), &[], &mut low[..used]);
            let upper = lane(1).map(|codes| {
                replay.compiled.run(codes, &[], &mut high[..used]);
                &high[..used]
            });
            let part = BlockSum { low: &low[..used], high: upper, cvt: replay.cvt, hashes: &hashes[..count] };
            *sum = sum.wrapping_add(vectorised(part));
        }
        start += count as u64;
    }
    sums
}

/// Hashes a block's indices.
struct HashIndices<'a> {
    start: u64,
    hashes: &'a mut [u64],
}

impl Vectorise for HashIndices<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (i, hash) in (self.start..).zip(self.hashes) {
            *hash = splitmix::hash(i);
        }
    }
}

/// Writes the codes that a block's indices stand for.
struct Fill<'a> {
    feed: Feed,
    start: u64,
    bytes: &'a mut [u8],
}

impl Vectorise for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Fill { feed, start, bytes } = self;
        match feed {
            Feed::Index { shift, mask, bytes: 1 } => write(start, bytes, |i| [(i >> shift & mask) as u8]),
            Feed::Index { shift, bytes: 2, .. } => {
                write(start, bytes, |i| ((i >> shift) as u16).to_le_bytes());
            }
            Feed::Index { shift, .. } => write(start, bytes, |i| ((i >> shift) as u32).to_le_bytes()),
            Feed::Second => write(start, bytes, |i| (second(i) as u32).to_le_bytes()),
            Feed::Wide => write(start, bytes, |i| wide(i).to_le_bytes()),
        }
    }
}

#[inline(always)]
fn write<const BYTES: usize>(start: u64, bytes: &mut [u8], code: impl Fn(u64) -> [u8; BYTES]) {
    let (codes, _) = bytes.as_chunks_mut();
    for (i, place) in (start..).zip(codes) {
        *place = code(i);
    }
}

/// A block's part of a sum, from its results, one byte string per lane.
struct BlockSum<'a> {
    low: &'a [u8],
    high: Option<&'a [u8]>,
    cvt: Cvt,
    hashes: &'a [u64],
}

impl Vectorise for BlockSum<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        match self.cvt.element.dst.bytes() {
            1 => self.of::<1>(),
            2 => self.of::<2>(),
            4 => self.of::<4>(),
            _ => self.of::<8>(),
        }
    }
}

impl BlockSum<'_> {
    #[inline(always)]
    fn of<const BYTES: usize>(&self) -> u64 {
        let dst = self.cvt.element.dst;
        let (low, _) = self.low.as_chunks::<BYTES>();
        let codes = low.iter().zip(self.hashes);
        if let Some(high) = self.high {
            let (high, _) = high.as_chunks::<BYTES>();
            let shift = dst.pitch();
            return codes.zip(high).fold(0, |sum: u64, ((low, hash), high)| {
                sum.wrapping_add(splitmix::hash((word(low) | word(high) << shift) ^ hash))
            });
        }
        // A signed integer is read from a 32-bit register.
        if BYTES < 4 && dst.is_int() && dst.is_signed() {
            let unused = 64 - dst.bits();
            return codes.fold(0, |sum: u64, (code, hash)| {
                let extended = ((word(code) << unused) as i64 >> unused) as u32;
                sum.wrapping_add(splitmix::hash(u64::from(extended) ^ hash))
            });
        }
        codes.fold(0, |sum: u64, (code, hash)| sum.wrapping_add(splitmix::hash(word(code) ^ hash)))
    }
}

#[inline(always)]
fn word<const BYTES: usize>(bytes: &[u8; BYTES]) -> u64 {
    let mut word = [0; 8];
    word[..BYTES].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
