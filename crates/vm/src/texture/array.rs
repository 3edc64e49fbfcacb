//! Arrays of texels: what textures and surfaces show (CUDA's arrays, layered, cube and mipmapped ones included).
//!
//! Texels lie row by row, x fastest; rows begin at multiples of 16 bytes, as accesses of a surface may be as wide.

use super::format::Format;
use super::{Geometry, TextureError};
use crate::host_memory::{Account, Charge};
use crate::memory::cell::SharedBytes;

/// Rows begin at multiples of this many bytes.
const ROW_ALIGNMENT: u64 = 16;

/// The most of each dimension, of layers and of samples, as an H200 has them.
const MOST: &[(Geometry, [u32; 4])] = &[
    (Geometry::D1, [131_072, 1, 1, 1]),
    (Geometry::D2, [131_072, 65536, 1, 1]),
    (Geometry::D3, [16384, 16384, 16384, 1]),
    (Geometry::A1, [32768, 1, 1, 2048]),
    (Geometry::A2, [32768, 32768, 1, 2048]),
    (Geometry::Cube, [32768, 32768, 1, 6]),
    (Geometry::ACube, [32768, 32768, 1, 2046]),
    (Geometry::D2Ms, [32768, 32768, 1, 1]),
    (Geometry::A2Ms, [32768, 32768, 1, 2048]),
];

/// The properties of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayDescription {
    /// The format of its texels.
    pub format: Format,
    /// The arrangement of the texels.
    pub geometry: Geometry,
    /// Width, height and depth of the first level; 1 for dimensions that it has not.
    pub size: [u32; 3],
    /// Layers; of cubes, faces: six for each. 1 for what has none.
    pub layers: u32,
    /// Levels of a mipmap; 1 for what is none.
    pub levels: u32,
    /// Samples of a texel; 1 unless it is multi-sampled.
    pub samples: u32,
}

/// One level of an array, or of a texture over global memory, which has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The offset of its first texel.
    pub offset: u64,
    /// Width, height and depth, in texels.
    pub size: [u32; 3],
    /// From a row to the next.
    pub pitch: u64,
    /// From a slice (a plane of a volume, a layer) to the next.
    pub slice: u64,
}

/// An array of texels.
#[derive(Debug)]
pub struct Array {
    /// Its properties.
    pub description: ArrayDescription,
    /// Its levels, the largest first.
    pub levels: Vec<Level>,
    /// The texels.
    pub cells: SharedBytes,
    /// The charge for their host memory.
    _charge: Charge,
}

/// ```
/// use softwarp_vm::texture::Geometry;
/// use softwarp_vm::texture::array::ArrayDescription;
/// use softwarp_vm::texture::format::Format;
///
/// let format = Format::parse("u8x4").expect("a format");
/// let layers = ArrayDescription::plane(format, 64, 32).layered(5);
/// assert_eq!((layers.geometry, layers.layers), (Geometry::A2, 5));
/// let mipmap = ArrayDescription::volume(format, 16, 16, 8).mipmapped(3);
/// assert_eq!((mipmap.geometry, mipmap.level_size(2)), (Geometry::D3, [4, 4, 2]));
/// assert_eq!(ArrayDescription::cube(format, 8).layered(12).geometry, Geometry::ACube);
/// ```
impl ArrayDescription {
    fn of(format: Format, geometry: Geometry, size: [u32; 3]) -> ArrayDescription {
        ArrayDescription { format, geometry, size, layers: 1, levels: 1, samples: 1 }
    }

    /// One row of texels.
    pub fn row(format: Format, width: u32) -> ArrayDescription {
        ArrayDescription::of(format, Geometry::D1, [width, 1, 1])
    }

    /// Rows of texels.
    pub fn plane(format: Format, width: u32, height: u32) -> ArrayDescription {
        ArrayDescription::of(format, Geometry::D2, [width, height, 1])
    }

    /// Planes of texels.
    pub fn volume(format: Format, width: u32, height: u32, depth: u32) -> ArrayDescription {
        ArrayDescription::of(format, Geometry::D3, [width, height, depth])
    }

    /// Six planes that are the faces of a cube.
    pub fn cube(format: Format, width: u32) -> ArrayDescription {
        ArrayDescription { layers: 6, ..ArrayDescription::of(format, Geometry::Cube, [width, width, 1]) }
    }

    /// An array of `layers` of it; of cubes, `layers` counts faces.
    pub fn layered(self, layers: u32) -> ArrayDescription {
        let geometry = match self.geometry {
            Geometry::D1 => Geometry::A1,
            Geometry::D2 => Geometry::A2,
            Geometry::Cube => Geometry::ACube,
            Geometry::D2Ms => Geometry::A2Ms,
            other => other,
        };
        ArrayDescription { geometry, layers, ..self }
    }

    /// With that many levels, each half as large as the one before.
    pub fn mipmapped(self, levels: u32) -> ArrayDescription {
        ArrayDescription { levels, ..self }
    }

    /// With that many samples of each texel.
    pub fn multisampled(self, samples: u32) -> ArrayDescription {
        let geometry = match self.geometry {
            Geometry::D2 => Geometry::D2Ms,
            Geometry::A2 => Geometry::A2Ms,
            other => other,
        };
        ArrayDescription { geometry, samples, ..self }
    }

    /// Checks the properties.
    pub fn check(&self) -> Result<(), TextureError> {
        let most =
            MOST.iter().find(|(geometry, _)| *geometry == self.geometry).map_or([0; 4], |(_, most)| *most);
        let [width, height, depth] = self.size;
        for ((what, given), most) in
            [("width", width), ("height", height), ("depth", depth), ("layers", self.layers)]
                .into_iter()
                .zip(most)
        {
            if given == 0 || given > most {
                return Err(TextureError::Size { what, given, most });
            }
        }
        let is_cube = matches!(self.geometry, Geometry::Cube | Geometry::ACube);
        if is_cube && (width != height || !self.layers.is_multiple_of(6)) {
            return Err(TextureError::Cube { width, height, layers: self.layers });
        }
        let largest = self.size.into_iter().max().unwrap_or(1);
        let most = 32 - largest.leading_zeros();
        if self.levels == 0 || self.levels > most {
            return Err(TextureError::Size { what: "levels", given: self.levels, most });
        }
        let most = if self.geometry.is_multisampled() { 16 } else { 1 };
        if self.samples == 0 || self.samples > most {
            return Err(TextureError::Size { what: "samples", given: self.samples, most });
        }
        Ok(())
    }

    /// Width, height and depth of a level.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        self.size.map(|size| size.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Slices of a level: planes, or layers times samples.
    pub fn slices(&self, level: u32) -> u64 {
        u64::from(self.level_size(level)[2]) * u64::from(self.layers) * u64::from(self.samples)
    }
}

impl Array {
    /// An array of zeros, which an account of host memory is charged for.
    pub(crate) fn new(description: ArrayDescription, account: &Account) -> Result<Array, TextureError> {
        description.check()?;
        let mut levels = Vec::new();
        let mut offset = 0u64;
        let full = |bytes: u64| TextureError::OutOfMemory { bytes };
        for level in 0..description.levels {
            let size = description.level_size(level);
            let row = u64::from(size[0]) * u64::from(description.format.bytes());
            let pitch = row.next_multiple_of(ROW_ALIGNMENT);
            let slice = pitch * u64::from(size[1]);
            levels.push(Level { offset, size, pitch, slice });
            let bytes = slice.checked_mul(description.slices(level)).ok_or_else(|| full(u64::MAX))?;
            offset = offset.checked_add(bytes).ok_or_else(|| full(u64::MAX))?;
        }
        let charge = account.charge(offset).map_err(TextureError::Limit)?;
        let cells = SharedBytes::new(offset).ok_or_else(|| full(offset))?;
        Ok(Array { description, levels, cells, _charge: charge })
    }

    /// Calls a function for each row of a level with its place and its place in tight data, until one fails.
    fn rows(&self, level: u32, mut f: impl FnMut(u64, usize, usize)) -> Result<(), TextureError> {
        let missing = TextureError::NoLevel { level, levels: self.description.levels };
        let &Level { offset, size, pitch, slice } = self.levels.get(level as usize).ok_or(missing)?;
        let row = size[0] as usize * self.description.format.bytes() as usize;
        let mut at = 0;
        for plane in 0..self.description.slices(level) {
            for y in 0..u64::from(size[1]) {
                f(offset + plane * slice + y * pitch, at, row);
                at += row;
            }
        }
        Ok(())
    }

    /// Bytes of a level without gaps.
    pub fn level_bytes(&self, level: u32) -> u64 {
        let [width, height, _] = self.description.level_size(level);
        u64::from(width)
            * u64::from(self.description.format.bytes())
            * u64::from(height)
            * self.description.slices(level)
    }

    /// Fills a level, row by row without gaps. Fewer bytes than it has leave the rest as it is.
    pub fn write(&self, level: u32, data: &[u8]) -> Result<(), TextureError> {
        let bytes = self.level_bytes(level);
        if data.len() as u64 > bytes {
            return Err(TextureError::TooMuchData { bytes, given: data.len() as u64 });
        }
        self.rows(level, |place, at, row| {
            if let Some(rest) = data.get(at..) {
                self.cells.write(place, &rest[..row.min(rest.len())]);
            }
        })
    }

    /// The contents of a level, row by row without gaps.
    pub fn read(&self, level: u32) -> Result<Vec<u8>, TextureError> {
        let bytes = self.level_bytes(level);
        let full = || TextureError::OutOfMemory { bytes };
        let size = usize::try_from(bytes).map_err(|_| full())?;
        let mut data = Vec::new();
        data.try_reserve_exact(size).map_err(|_| full())?;
        data.resize(size, 0);
        self.rows(level, |place, at, row| {
            if let Some(room) = data.get_mut(at..at + row) {
                self.cells.read(place, room);
            }
        })?;
        Ok(data)
    }
}
