//! What a texel is made of: one, two or four channels of one type, as CUDA's arrays have them.

use softwarp_num::half::{Binary16, Half};

/// The type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names say it.
pub enum Channel {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    F16,
    F32,
}

/// Every type and its name.
const CHANNELS: &[(Channel, &str)] = &[
    (Channel::U8, "u8"),
    (Channel::S8, "s8"),
    (Channel::U16, "u16"),
    (Channel::S16, "s16"),
    (Channel::U32, "u32"),
    (Channel::S32, "s32"),
    (Channel::F16, "f16"),
    (Channel::F32, "f32"),
];

impl Channel {
    /// Its bytes.
    #[inline]
    pub const fn bytes(self) -> u32 {
        match self {
            Channel::U8 | Channel::S8 => 1,
            Channel::U16 | Channel::S16 | Channel::F16 => 2,
            Channel::U32 | Channel::S32 | Channel::F32 => 4,
        }
    }

    /// `u8`
    #[inline]
    pub fn name(self) -> &'static str {
        CHANNELS.iter().find(|(channel, _)| *channel == self).map_or("", |(_, name)| name)
    }

    /// Whether it is an integer of 8 or 16 bits: such can be read as fractions of their largest value.
    #[inline]
    pub const fn is_normalizable(self) -> bool {
        matches!(self, Channel::U8 | Channel::S8 | Channel::U16 | Channel::S16)
    }

    /// Whether it holds floating-point numbers.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, Channel::F16 | Channel::F32)
    }

    /// Whether its integers have a sign.
    #[inline]
    pub const fn is_signed(self) -> bool {
        matches!(self, Channel::S8 | Channel::S16 | Channel::S32)
    }

    /// A code as a 32-bit integer, extended as the type is.
    #[inline(always)]
    pub const fn extend(self, code: u32) -> u32 {
        match self {
            Channel::S8 => code as u8 as i8 as i32 as u32,
            Channel::S16 => code as u16 as i16 as i32 as u32,
            _ => code,
        }
    }

    /// A code as what a texture read as floating point gives for it: integers of 8 and 16 bits as fractions, rounded
    /// once; those of 32 bits as they stand.
    #[inline(always)]
    pub fn float(self, code: u32) -> u32 {
        let value = match self {
            Channel::U8 => code as f32 / 255.0,
            Channel::U16 => code as f32 / 65535.0,
            Channel::S8 => (f32::from(code as u8 as i8) / 127.0).max(-1.0),
            Channel::S16 => (f32::from(code as u16 as i16) / 32767.0).max(-1.0),
            Channel::F16 => return Binary16::widen(code as u16).to_bits(),
            Channel::U32 | Channel::S32 | Channel::F32 => return code,
        };
        value.to_bits()
    }

    /// The code for a number, for border colours and formatted stores of halves: about the nearest fraction, as an H200
    /// has it; of halves, the next one towards zero; integers of 32 bits take the number's bits.
    #[inline]
    pub fn nearest(self, value: f32) -> u32 {
        // Four digits more than the code has are taken, the rest is cut; what a fraction of 2^n is more than one of
        // 2^n - 1 is subtracted, cut as well, and the sum is rounded, halves towards zero.
        let fraction = |least: f32, digits: u32| {
            let clamped = if value.is_nan() { 0.0 } else { value.clamp(least, 1.0) };
            let fixed = (f64::from(clamped.abs()) * f64::from(16 << digits)) as u32;
            let code = (fixed - (fixed >> digits) + 7) >> 4;
            if clamped < 0.0 { code.wrapping_neg() } else { code }
        };
        match self {
            Channel::U8 => fraction(0.0, 8),
            Channel::U16 => fraction(0.0, 16),
            Channel::S8 => fraction(-1.0, 7) & 0xff,
            Channel::S16 => fraction(-1.0, 15) & 0xffff,
            Channel::F16 => u32::from(truncated(value)),
            Channel::U32 | Channel::S32 | Channel::F32 => value.to_bits(),
        }
    }
}

/// A texel: that many channels of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Their type.
    pub channel: Channel,
    /// How many: 1, 2 or 4.
    pub channels: u8,
}

impl Format {
    /// A format; `None` unless there are 1, 2 or 4 channels.
    #[inline]
    pub const fn new(channel: Channel, channels: u8) -> Option<Format> {
        match channels {
            1 | 2 | 4 => Some(Format { channel, channels }),
            _ => None,
        }
    }

    /// Reads `u8x4`.
    #[inline]
    pub fn parse(text: &str) -> Option<Format> {
        let (name, channels) = text.split_once('x')?;
        let (channel, _) = CHANNELS.iter().find(|(_, known)| *known == name)?;
        Format::new(*channel, channels.parse().ok()?)
    }

    /// Bytes of a texel.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.channel.bytes() * self.channels as u32
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.channel.name(), self.channels)
    }
}

/// A single as a half, towards zero. A NaN keeps its sign and the upper bits of its payload.
fn truncated(value: f32) -> u16 {
    let bits = value.to_bits();
    let nan = (bits >> 16) as u16 & 0x8000 | 0x7c00 | (bits >> 13) as u16 & 0x3ff;
    if value.is_nan() { nan } else { Binary16::truncate(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names_and_sizes() {
        for (name, bytes) in [("u8x1", 1), ("s16x2", 4), ("f16x4", 8), ("u32x4", 16), ("f32x2", 8)] {
            let format = Format::parse(name).unwrap();
            assert_eq!((format.to_string().as_str(), format.bytes()), (name, bytes));
        }
        for wrong in ["u8", "u8x3", "f64x1", "x4", "u8x", ""] {
            assert_eq!(Format::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn halves_are_cut_toward_zero_and_nans_keep_their_payload() {
        for (value, code) in [(65519.996, 0x7bff), (1e9, 0x7bff), (f32::INFINITY, 0x7c00), (-6e-8, 0x8001)] {
            assert_eq!(truncated(value), code, "{value}");
        }
        assert_eq!(truncated(f32::from_bits(0xffc0_2000)), 0xfe01);
    }

    #[test]
    fn fractions_are_rounded_once_and_the_least_signed_code_is_minus_one() {
        assert_eq!(f32::from_bits(Channel::U8.float(255)), 1.0);
        assert_eq!(f32::from_bits(Channel::U8.float(1)), 1.0 / 255.0);
        assert_eq!(f32::from_bits(Channel::S8.float(0x80)), -1.0);
        assert_eq!(f32::from_bits(Channel::S16.float(0x8000)), -1.0);
        assert_eq!(Channel::S8.extend(0xff), u32::MAX);
    }
}
