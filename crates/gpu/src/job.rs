//! What a worker is asked to do: modules, memory, textures, launches, and what is read back.
//!
//! Kinds and modes are the driver's own numbers (`CUarray_format`, `CUaddress_mode`, `CUtensorMapSwizzle`, …).

use serde::{Deserialize, Serialize};

/// Bytes of a job or of an answer: a number in the list that travels beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob(pub usize);

/// A whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// Texts of PTX, which are linked if there are several.
    pub modules: Vec<String>,
    /// Memory of the device.
    pub buffers: Vec<Buffer>,
    /// Buffers that are freed before the first launch.
    pub freed: Vec<String>,
    /// Variables of the module that the host sets.
    pub variables: Vec<(String, Blob)>,
    /// Surfaces.
    pub surfaces: Vec<Surface>,
    /// Textures.
    pub textures: Vec<Texture>,
    /// The launches, in order.
    pub launches: Vec<Launch>,
    /// Buffers, surfaces or else variables that are read back.
    pub read: Vec<String>,
    /// The bytes.
    #[serde(skip)]
    pub blobs: Vec<Vec<u8>>,
}

impl Job {
    /// Adds bytes.
    pub fn blob(&mut self, bytes: Vec<u8>) -> Blob {
        self.blobs.push(bytes);
        Blob(self.blobs.len() - 1)
    }

    /// The bytes that a number stands for.
    pub fn bytes(&self, blob: Blob) -> &[u8] {
        self.blobs.get(blob.0).map_or(&[], Vec::as_slice)
    }
}

/// Memory of the device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// What it begins with; zeros behind that.
    pub contents: Option<Blob>,
}

/// An array of texels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Array {
    /// Width, height, and depth or layers; 0 for dimensions that it has not.
    pub size: [u64; 3],
    /// `CUarray_format`
    pub format: u32,
    /// Channels of a texel.
    pub channels: u32,
    /// Bytes of a texel.
    pub texel: u64,
    /// `CUDA_ARRAY3D_…`
    pub flags: u32,
    /// What each level holds, row by row.
    pub levels: Vec<Blob>,
}

impl Array {
    /// Width, height and depth of a level, at least 1. Layers and faces do not become fewer.
    pub fn level(&self, level: usize) -> [u64; 3] {
        let layered = self.flags & (LAYERED | CUBEMAP) != 0;
        let [width, height, depth] = self.size;
        let smaller = |size: u64| size.checked_shr(level as u32).unwrap_or(0).max(1);
        [smaller(width), smaller(height), if layered { depth.max(1) } else { smaller(depth) }]
    }
}

/// `CUDA_ARRAY3D_LAYERED`
pub const LAYERED: u32 = 1;
/// `CUDA_ARRAY3D_SURFACE_LDST`
pub const SURFACE: u32 = 2;
/// `CUDA_ARRAY3D_CUBEMAP`
pub const CUBEMAP: u32 = 4;
/// `CUDA_ARRAY3D_TEXTURE_GATHER`
pub const GATHER: u32 = 8;

/// A surface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Surface {
    /// Its name.
    pub name: String,
    /// Kernels get its handle; else it is a variable of the module.
    pub object: bool,
    /// Its array.
    pub array: Array,
}

/// A texture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Texture {
    /// Its name.
    pub name: String,
    /// Kernels get its handle; else it is a variable of the module.
    pub object: bool,
    /// Where its texels are.
    pub texels: Texels,
    /// `CUarray_format`
    pub format: u32,
    /// Channels of a texel.
    pub channels: u32,
    /// How it is read.
    pub sampling: Sampling,
}

/// Where the texels of a texture are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Texels {
    /// In an array of its own.
    Array(Array),
    /// In the array of a surface.
    Surface(String),
    /// In one row of a buffer.
    Linear {
        /// The buffer.
        buffer: String,
        /// Where it begins.
        offset: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// In rows of a buffer.
    Pitched {
        /// The buffer.
        buffer: String,
        /// Where it begins.
        offset: u64,
        /// Texels of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Bytes from a row to the next.
        pitch: u64,
    },
}

/// How a texture is read. Of a variable, what is not given is as its initialiser has it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sampling {
    /// `CUaddress_mode` of each dimension.
    pub address: Option<[u32; 3]>,
    /// `CUfilter_mode`
    pub filter: Option<u32>,
    /// `CUfilter_mode` between levels.
    pub mip_filter: Option<u32>,
    /// Coordinates go from 0 to 1.
    pub normalized: Option<bool>,
    /// Integers are not fractions.
    pub integers: bool,
    /// What lies outside.
    pub border: Option<[f32; 4]>,
}

/// A launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// The kernel.
    pub kernel: String,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// All CTAs are there at once.
    pub cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

/// An argument: bytes, and addresses and handles that are put into them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Argument {
    /// The bytes.
    pub bytes: Blob,
    /// What is put where.
    pub places: Vec<(usize, Placed)>,
}

/// Something that only the worker knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Placed {
    /// The address of a buffer, plus a number of bytes.
    Buffer(String, i64),
    /// The handle of a texture.
    Texture(String),
    /// The handle of a surface.
    Surface(String),
    /// A tensor map whose tensor is in a buffer, this number of bytes beyond its beginning.
    TensorMap(TensorMap, String, i64),
}

/// A tensor map.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TensorMap {
    /// `CUtensorMapDataType`
    pub element: u32,
    /// Sizes.
    pub dims: Vec<u64>,
    /// Bytes from one to the next, but for the first dimension.
    pub strides: Vec<u64>,
    /// Steps within the box.
    pub element_strides: Vec<u32>,
    /// `CUtensorMapInterleave`
    pub interleave: u32,
    /// `CUtensorMapSwizzle`
    pub swizzle: u32,
    /// `CUtensorMapL2promotion`
    pub promotion: u32,
    /// `CUtensorMapFloatOOBfill`
    pub fill: u32,
    /// What a copy moves.
    pub access: Access,
}

/// What a copy moves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Access {
    /// A box.
    Tiled {
        /// Its sizes.
        box_dims: Vec<u32>,
    },
    /// Columns of pixels.
    Im2col {
        /// The lower corner.
        lower: Vec<i32>,
        /// The upper corner.
        upper: Vec<i32>,
        /// Channels of a pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
    /// Columns of pixels along W.
    Wide {
        /// `CUtensorMapIm2ColWideMode`
        mode: u32,
        /// The lower corner.
        lower: i32,
        /// The upper corner.
        upper: i32,
        /// Channels of a pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
}

/// What a job came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// What was read back, by name.
    pub memories: Vec<(String, Vec<u8>)>,
    /// Where the buffers were.
    pub addresses: Vec<(String, u64)>,
}
