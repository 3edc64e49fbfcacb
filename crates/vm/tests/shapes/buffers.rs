//! What the buffers of the kernels hold, by the kind of their elements.

use softwarp_num::splitmix::SplitMix64;
use std::collections::BTreeMap;

/// Bytes of each buffer.
pub const BYTES: usize = 1 << 18;

/// The contents of each kind that was asked for, made once.
#[derive(Default)]
pub struct Contents(BTreeMap<(String, usize), Vec<u8>>);

impl Contents {
    /// Makes those of a kind; the place of the argument makes two buffers of one kind different.
    pub fn prepare(&mut self, kind: &str, place: usize) {
        self.0.entry((kind.to_owned(), place)).or_insert_with(|| make(kind, place));
    }

    /// Those of a kind that was prepared.
    pub fn of(&self, kind: &str, place: usize) -> &[u8] {
        &self.0[&(kind.to_owned(), place)]
    }
}

/// Between -2 and 2, and a few others.
fn float(random: &mut SplitMix64) -> f32 {
    let bits = random.next_u64();
    let special = [0f32, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, 1.0, -3e38];
    match bits % 128 {
        0 => special[(bits >> 8) as usize % special.len()],
        _ => (bits >> 40) as f32 / (1 << 22) as f32 - 2.0,
    }
}

fn make(kind: &str, place: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(place as u64 * 1000 + kind.len() as u64);
    let mut sum = 0u32;
    let mut bytes = Vec::with_capacity(BYTES);
    while bytes.len() < BYTES {
        match kind {
            "f32" => bytes.extend(float(&mut random).to_le_bytes()),
            "positive" => bytes.extend((float(&mut random).abs() * 20.0 + 0.5).to_le_bytes()),
            "f64" => bytes.extend(f64::from(float(&mut random)).to_le_bytes()),
            // A half of about the same value: fewer bits of the exponent.
            "f16" => {
                let bits = float(&mut random).to_bits();
                let magnitude = (bits & 0x7fff_ffff).wrapping_sub(112 << 23) >> 13 & 0x7fff;
                bytes.extend(((bits >> 16 & 0x8000 | magnitude) as u16).to_le_bytes());
            }
            "u8" | "u8x4" | "u16" | "i16" | "u32" | "u64" => bytes.extend(random.next_u64().to_le_bytes()),
            "sorted" => {
                sum += random.below(8) as u32;
                bytes.extend(sum.to_le_bytes());
            }
            "rows" => {
                bytes.extend(sum.to_le_bytes());
                sum += random.below(5) as u32;
            }
            "out" => bytes.push(0xaa),
            "zero" => bytes.push(0),
            other => panic!("what is in `{other}`?"),
        }
    }
    bytes
}
