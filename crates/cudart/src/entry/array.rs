//! Arrays and mipmapped arrays, and the formats of their texels.

use super::memory::Extent;
use crate::code::{Code, Done, ensure};
use crate::context::{device, ensure_context};
use crate::driver::array::*;
use crate::ffi::{In, Out, zeroed};

crate::c_struct! {
    /// `cudaChannelFormatDesc`: the bits of each channel and what they are.
    ChannelFormat { bits: [i32; 4], kind: i32, }
}

/// `cudaChannelFormatKind`.
mod kind {
    pub const SIGNED: i32 = 0;
    pub const UNSIGNED: i32 = 1;
    pub const FLOAT: i32 = 2;
    pub const NV12: i32 = 4;
    pub const FIRST_FRACTION: i32 = 5;
    pub const LAST_FRACTION: i32 = 16;
    pub const LAST: i32 = 45;
}

/// The driver's formats of fractions begin with this one. They have the order of the runtime's.
const FRACTIONS: u32 = 0xc0;

/// The flags that an array can have; others are ignored.
const FLAGS: u32 = 0xef;

/// The driver's formats, with the kind and the bits of a channel.
const FORMATS: [(u32, i32, i32); 8] = [
    (0x01, kind::UNSIGNED, 8),
    (0x02, kind::UNSIGNED, 16),
    (0x03, kind::UNSIGNED, 32),
    (0x08, kind::SIGNED, 8),
    (0x09, kind::SIGNED, 16),
    (0x0a, kind::SIGNED, 32),
    (0x10, kind::FLOAT, 16),
    (0x20, kind::FLOAT, 32),
];

/// Whether the driver's format is one of integers.
pub fn is_integer(format: u32) -> bool {
    FORMATS.iter().any(|row| row.0 == format && row.1 != kind::FLOAT)
}

/// Bytes of a channel of the driver's format.
fn channel_bytes(format: u32) -> usize {
    match FORMATS.iter().find(|row| row.0 == format) {
        Some(row) => row.2 as usize / 8,
        None => fraction(format).map_or(1, |(_, bits)| bits as usize / 8),
    }
}

/// The channels of a format of fractions, and their bits.
fn fraction(format: u32) -> Option<(u32, i32)> {
    let index = format.checked_sub(FRACTIONS).filter(|index| *index < 12)?;
    Some((1 << (index % 3), if index % 6 < 3 { 8 } else { 16 }))
}

impl ChannelFormat {
    /// The driver's format and the number of channels.
    pub fn to_driver(self) -> Result<(u32, u32), Code> {
        let count = self.bits.iter().take_while(|bits| **bits != 0).count();
        let rest_is_zero = self.bits[count..].iter().all(|bits| *bits == 0);
        let same = self.bits[..count].iter().all(|bits| *bits == self.bits[0]);
        let known = matches!(count, 1 | 2 | 4) && rest_is_zero && same;
        match self.kind {
            kind::SIGNED..=kind::FLOAT => {
                ensure(known, Code::INVALID_CHANNEL_DESCRIPTOR)?;
                let row = FORMATS.iter().find(|row| (row.1, row.2) == (self.kind, self.bits[0]));
                Ok((row.ok_or(Code::INVALID_CHANNEL_DESCRIPTOR)?.0, count as u32))
            }
            kind::FIRST_FRACTION..=kind::LAST_FRACTION => {
                let format = FRACTIONS + (self.kind - kind::FIRST_FRACTION) as u32;
                let fits = known && fraction(format) == Some((count as u32, self.bits[0]));
                ensure(fits, Code::INVALID_CHANNEL_DESCRIPTOR)?;
                Ok((format, count as u32))
            }
            // Compressed blocks and planes.
            kind::NV12..=kind::LAST => Err(Code::NOT_SUPPORTED),
            _ => Err(Code::INVALID_CHANNEL_DESCRIPTOR),
        }
    }

    /// What the driver's format and number of channels are here.
    pub fn of_driver(format: u32, channels: u32) -> ChannelFormat {
        let (kind, bits) = match FORMATS.iter().find(|row| row.0 == format) {
            Some(row) => (row.1, row.2),
            None => match fraction(format) {
                Some((_, bits)) => (kind::FIRST_FRACTION + (format - FRACTIONS) as i32, bits),
                None => (3, 0),
            },
        };
        let mut all = [0; 4];
        all.iter_mut().take(channels as usize).for_each(|it| *it = bits);
        ChannelFormat { bits: all, kind }
    }
}

/// What an array is.
pub fn descriptor(array: u64) -> Result<Descriptor, Code> {
    let mut found: Descriptor = zeroed();
    cuArray3DGetDescriptor_v2(Out::of(&mut found), array)?;
    Ok(found)
}

impl Descriptor {
    /// Bytes of a texel.
    pub fn texel(&self) -> usize {
        channel_bytes(self.format) * self.channels as usize
    }
}

/// The driver's description of what is asked for.
fn described(format: ChannelFormat, extent: Extent, flags: u32) -> Result<Descriptor, Code> {
    let (format, channels) = format.to_driver()?;
    let Extent { width, height, depth } = extent;
    Ok(Descriptor { width, height, depth, format, channels, flags: flags & FLAGS })
}

/// Makes an array or another thing of texels; there is none after an error.
fn make(
    to: Out<u64>,
    format: In<ChannelFormat>,
    extent: Extent,
    flags: u32,
    create: impl FnOnce(Out<u64>, In<Descriptor>) -> Done,
) -> Done {
    to.required()?;
    let format = format.get()?;
    ensure_context()?;
    let mut handle = 0;
    let made = described(format, extent, flags).and_then(|it| create(Out::of(&mut handle), In::of(&it)));
    to.set(if made.is_ok() { handle } else { 0 })?;
    made
}

/// The format of channels.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: i32) -> ChannelFormat {
    ChannelFormat { bits: [x, y, z, w], kind }
}

crate::entries! {
    /// An array of one or two dimensions.
    fn cudaMallocArray(array: Out<u64>, format: In<ChannelFormat>, width: usize, height: usize, flags: u32) {
        make(array, format, Extent { width, height, depth: 0 }, flags, cuArray3DCreate_v2)
    }

    /// An array of up to three dimensions, or of layers.
    fn cudaMalloc3DArray(array: Out<u64>, format: In<ChannelFormat>, extent: Extent, flags: u32) {
        make(array, format, extent, flags, cuArray3DCreate_v2)
    }

    /// An array with smaller levels of itself.
    fn cudaMallocMipmappedArray(
        mipmap: Out<u64>, format: In<ChannelFormat>, extent: Extent, levels: u32, flags: u32,
    ) {
        make(mipmap, format, extent, flags, |to, it| cuMipmappedArrayCreate(to, it, levels))
    }

    /// Frees an array; null is nothing.
    fn cudaFreeArray(array: u64) {
        ensure_context()?;
        if array == 0 { Ok(()) } else { cuArrayDestroy(array) }
    }

    /// Frees a mipmapped array; null is nothing.
    fn cudaFreeMipmappedArray(mipmap: u64) {
        ensure_context()?;
        if mipmap == 0 { Ok(()) } else { cuMipmappedArrayDestroy(mipmap) }
    }

    /// A level of a mipmapped array.
    fn cudaGetMipmappedArrayLevel(array: Out<u64>, mipmap: u64, level: u32) {
        array.required()?;
        ensure_context()?;
        cuMipmappedArrayGetLevel(array, mipmap, level)
    }

    /// What an array is.
    fn cudaArrayGetInfo(format: Out<ChannelFormat>, extent: Out<Extent>, flags: Out<u32>, array: u64) {
        ensure_context()?;
        let found = descriptor(array)?;
        format.set_if_any(ChannelFormat::of_driver(found.format, found.channels));
        extent.set_if_any(Extent { width: found.width, height: found.height, depth: found.depth });
        flags.set_if_any(found.flags);
        Ok(())
    }

    /// The format of an array.
    fn cudaGetChannelDesc(format: Out<ChannelFormat>, array: u64) {
        format.required()?;
        ensure_context()?;
        let found = descriptor(array)?;
        format.set(ChannelFormat::of_driver(found.format, found.channels))
    }

    /// A plane of an array.
    fn cudaArrayGetPlane(plane: Out<u64>, array: u64, index: u32) {
        plane.required()?;
        ensure_context()?;
        cuArrayGetPlane(plane, array, index)
    }

    /// The memory that an array needs.
    fn cudaArrayGetMemoryRequirements(requirements: u64, array: u64, number: i32) {
        ensure(requirements != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuArrayGetMemoryRequirements(requirements, array, device(number)?)
    }

    /// The memory that a mipmapped array needs.
    fn cudaMipmappedArrayGetMemoryRequirements(requirements: u64, mipmap: u64, number: i32) {
        ensure(requirements != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuMipmappedArrayGetMemoryRequirements(requirements, mipmap, device(number)?)
    }

    /// The tiles of a sparse array.
    fn cudaArrayGetSparseProperties(properties: u64, array: u64) {
        ensure(properties != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuArrayGetSparseProperties(properties, array)
    }

    /// The tiles of a sparse mipmapped array.
    fn cudaMipmappedArrayGetSparseProperties(properties: u64, mipmap: u64) {
        ensure(properties != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuMipmappedArrayGetSparseProperties(properties, mipmap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_channels_go_to_the_driver_and_back() {
        for (format, kind, bits) in FORMATS {
            for channels in [1, 2, 4] {
                let mut all = [0; 4];
                all[..channels].fill(bits);
                let here = ChannelFormat { bits: all, kind };
                assert_eq!(here.to_driver(), Ok((format, channels as u32)));
                let back = ChannelFormat::of_driver(format, channels as u32);
                assert_eq!((back.bits, back.kind), (all, kind));
            }
        }
        let fraction = ChannelFormat { bits: [16, 16, 0, 0], kind: 9 };
        assert_eq!(fraction.to_driver(), Ok((0xc4, 2)));
        let back = ChannelFormat::of_driver(0xc4, 2);
        assert_eq!((back.bits, back.kind), (fraction.bits, fraction.kind));
    }

    #[test]
    fn formats_that_no_array_has_are_refused() {
        let code = |bits, kind| ChannelFormat { bits, kind }.to_driver().err();
        assert_eq!(code([32, 32, 32, 0], kind::FLOAT), Some(Code::INVALID_CHANNEL_DESCRIPTOR));
        assert_eq!(code([8, 16, 0, 0], kind::UNSIGNED), Some(Code::INVALID_CHANNEL_DESCRIPTOR));
        assert_eq!(code([8, 0, 0, 0], kind::FLOAT), Some(Code::INVALID_CHANNEL_DESCRIPTOR));
        assert_eq!(code([8, 0, 8, 0], kind::UNSIGNED), Some(Code::INVALID_CHANNEL_DESCRIPTOR));
        assert_eq!(code([0; 4], 3), Some(Code::INVALID_CHANNEL_DESCRIPTOR));
        assert_eq!(code([32, 0, 0, 0], 9), Some(Code::INVALID_CHANNEL_DESCRIPTOR));
        assert_eq!(code([4, 4, 4, 4], 17), Some(Code::NOT_SUPPORTED));
        assert_eq!(code([32, 0, 0, 0], -1), Some(Code::INVALID_CHANNEL_DESCRIPTOR));
    }
}
