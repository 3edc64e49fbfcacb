//! Device facts: what the GPUs of each architecture have, and what all of them have in common.
//!
//! This is the only place that states them; `check`, `image`, `tensor` and the machine ask here. The sources are
//!
//! - *guide*: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability";
//! - *manual*: the named section of the PTX ISA;
//! - *assembler*: what ptxas 13.4 accepts, and how it places things in cubins;
//! - *measured*: recorded on an H200 (sm_90, driver 580).

use crate::Target;

/// Threads of a warp: `WARP_SZ` (manual, section 10).
pub const WARP_SIZE: u32 = 32;

/// Warps of a warpgroup (manual, section 9.7.15).
pub const WARPGROUP_WARPS: u32 = 4;

/// Barriers of a CTA (manual, section 9.7.13.1).
pub const BARRIERS: u32 = 16;

/// The most threads of a CTA (guide; from sm_20 on).
pub const CTA_THREADS: u32 = 1024;

/// The most threads of a CTA in each dimension (guide; from sm_20 on).
pub const CTA_SIZE: [u32; 3] = [1024, 1024, 64];

/// The most CTAs of a grid in each dimension (guide; from sm_30 on).
pub const GRID_SIZE: [u32; 3] = [0x7fff_ffff, 65535, 65535];

/// Bytes of a bank of constant memory (manual, section 5.1.3).
pub const CONSTANT_BYTES: u64 = 64 << 10;

/// Banks of constant memory, the module's own first (manual, section 5.1.3).
pub const CONSTANT_BANKS: u64 = 11;

/// Bytes of a kernel's parameters that every version and target has (manual, section 5.1.6.1; assembler).
pub const PARAMETER_BYTES: u64 = 4352;

/// Bytes of a kernel's parameters from PTX 8.1 and sm_70 on (manual, section 5.1.6.1; assembler).
pub const LARGE_PARAMETER_BYTES: u64 = 32764;

/// Bytes of `.shared` variables that a kernel can have on every target (assembler). More is for the launch to ask for.
pub const STATIC_SHARED_BYTES: u64 = 48 << 10;

/// Bytes of local memory that a thread can have. Of 512 KiB the driver keeps 576 bytes: it refuses to launch kernels
/// with more (measured).
pub const LOCAL_BYTES: u64 = (512 << 10) - 576;

/// Textures that a kernel can use, apart from handles in registers (manual, sections 5.1.8 and 5.3).
pub const TEXTURES: usize = 256;

/// Samplers that a kernel can use, apart from handles in registers (manual, section 5.3).
pub const SAMPLERS: usize = 32;

/// Surfaces that a kernel can use, apart from handles in registers (manual, section 5.3).
pub const SURFACES: usize = 32;

/// Bytes of the window of `.shared` addresses in the generic address space, for all CTAs of a cluster (measured).
pub const SHARED_WINDOW: u64 = 1 << 32;

/// Bytes of `.shared` addresses that each CTA of a cluster has: those from its rank times this on (measured).
pub const CTA_SHARED: u64 = 1 << 24;

/// Bytes of the window of `.local` addresses in the generic address space (measured).
pub const LOCAL_WINDOW: u64 = 1 << 24;

/// Bytes that sizes of shared memory are rounded up to, as special registers tell them (measured).
pub const SHARED_UNIT: u64 = 128;

/// Bytes of shared memory that the system keeps for each CTA, where it does (measured; see
/// [`Properties::reserved_shared`]).
pub const RESERVED_SHARED: u64 = 1024;

/// Bytes of [`RESERVED_SHARED`] that the system uses (measured).
pub const RESERVED_SHARED_USED: u64 = 0x120;

/// Multiprocessors of the device that is modelled, an H200, whatever the target (measured: `%nsmid`).
pub const MULTIPROCESSORS: u32 = 132;

/// CTAs that a multiprocessor of that device can have at once (guide, sm_90).
pub const MULTIPROCESSOR_CTAS: u32 = 32;

/// What only some architectures can do with tensor maps: the target notes of `cp.async.bulk.tensor` and
/// `tensormap.replace` (manual, sections 9.7.9.27 and 9.7.9.28).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorFeature {
    /// Tensor maps.
    Maps,
    /// Elements of less than a byte.
    SubByteElements,
    /// Atoms of the 128-byte swizzle other than 16 bytes.
    SwizzleAtoms,
    /// Loads of elements of less than a byte and with such atoms; stores take them wherever they exist.
    SubByteLoads,
    /// The swizzle of 96 bytes.
    Swizzle96,
    /// Stores of rows of 64 six-bit elements, with weaker alignment.
    HalfRows,
    /// `.im2col::w`
    Im2colW,
    /// `.im2col::w::128`
    Im2colW128,
    /// `.tile::gather4`
    Gather4,
    /// `.tile::scatter4`
    Scatter4,
}

/// What the GPUs of an architecture have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Bytes of shared memory that a CTA can ask for at its launch (guide). Before sm_70: what the assembler takes.
    pub cta_shared: u64,
    /// Bytes of shared memory of a multiprocessor (guide).
    pub multiprocessor_shared: u64,
    /// Bytes that the system keeps for itself at the start of each CTA's shared memory (measured on sm_90; assembler).
    pub reserved_shared: u64,
    /// Where a kernel's parameters begin in the constant bank that they are passed in (assembler).
    pub parameter_start: u64,
    /// The most CTAs of a cluster; 0 where there are no clusters. More than 8 are not portable (guide).
    pub cluster_ctas: u32,
    /// What it can do with tensor maps (manual).
    pub tensor: &'static [TensorFeature],
}

use TensorFeature::{
    Gather4, HalfRows, Im2colW, Im2colW128, Maps, Scatter4, SubByteElements, SubByteLoads, Swizzle96,
    SwizzleAtoms,
};

const NO_MAPS: &[TensorFeature] = &[];
const HOPPER: &[TensorFeature] = &[Maps];
/// Blackwell for data centres, and Thor.
const BLACKWELL: &[TensorFeature] =
    &[Maps, SubByteElements, SwizzleAtoms, SubByteLoads, Im2colW, Im2colW128, Gather4, Scatter4];
const SM_103: &[TensorFeature] = &[
    Maps,
    SubByteElements,
    SwizzleAtoms,
    SubByteLoads,
    Im2colW,
    Im2colW128,
    Gather4,
    Scatter4,
    Swizzle96,
    HalfRows,
];
/// Blackwell for desks.
const DESK_BLACKWELL: &[TensorFeature] = &[Maps, SubByteElements, SwizzleAtoms, Im2colW, Gather4];

/// A row: the architecture; KiB of shared memory of a CTA and of a multiprocessor; bytes of it that the system keeps;
/// where parameters begin; CTAs of a cluster; tensor maps.
const fn row(
    sm: u16,
    [cta_shared, multiprocessor_shared]: [u64; 2],
    [reserved_shared, parameter_start]: [u64; 2],
    cluster_ctas: u32,
    tensor: &'static [TensorFeature],
) -> (u16, Properties) {
    let properties = Properties {
        cta_shared: cta_shared << 10,
        multiprocessor_shared: multiprocessor_shared << 10,
        reserved_shared,
        parameter_start,
        cluster_ctas,
        tensor,
    };
    (sm, properties)
}

/// The table, by architecture. The guide does not list sm_88, which counts as sm_86, and sm_107, which counts as sm_100.
#[rustfmt::skip]
const TABLE: &[(u16, Properties)] = &[
    row(10,  [48, 16],   [0, 0x160],    0, NO_MAPS),
    row(11,  [48, 16],   [0, 0x160],    0, NO_MAPS),
    row(12,  [48, 16],   [0, 0x160],    0, NO_MAPS),
    row(13,  [48, 16],   [0, 0x160],    0, NO_MAPS),
    row(20,  [48, 48],   [0, 0x160],    0, NO_MAPS),
    row(21,  [48, 48],   [0, 0x160],    0, NO_MAPS),
    row(30,  [48, 48],   [0, 0x160],    0, NO_MAPS),
    row(32,  [48, 48],   [0, 0x160],    0, NO_MAPS),
    row(35,  [48, 48],   [0, 0x160],    0, NO_MAPS),
    row(37,  [48, 112],  [0, 0x160],    0, NO_MAPS),
    row(50,  [48, 64],   [0, 0x160],    0, NO_MAPS),
    row(52,  [48, 96],   [0, 0x160],    0, NO_MAPS),
    row(53,  [48, 64],   [0, 0x160],    0, NO_MAPS),
    row(60,  [48, 64],   [0, 0x160],    0, NO_MAPS),
    row(61,  [48, 96],   [0, 0x160],    0, NO_MAPS),
    row(62,  [48, 64],   [0, 0x160],    0, NO_MAPS),
    row(70,  [96, 96],   [0, 0x160],    0, NO_MAPS),
    row(72,  [96, 96],   [0, 0x160],    0, NO_MAPS),
    row(75,  [64, 64],   [0, 0x160],    0, NO_MAPS),
    row(80,  [163, 164], [0, 0x160],    0, NO_MAPS),
    row(86,  [99, 100],  [0, 0x160],    0, NO_MAPS),
    row(87,  [163, 164], [0, 0x160],    0, NO_MAPS),
    row(88,  [99, 100],  [0, 0x160],    0, NO_MAPS),
    row(89,  [99, 100],  [0, 0x160],    0, NO_MAPS),
    row(90,  [227, 228], [RESERVED_SHARED, 0x210], 16, HOPPER),
    row(100, [227, 228], [RESERVED_SHARED, 0x380], 16, BLACKWELL),
    row(101, [227, 228], [RESERVED_SHARED, 0x380], 16, BLACKWELL),
    row(103, [227, 228], [RESERVED_SHARED, 0x380], 16, SM_103),
    row(107, [227, 228], [RESERVED_SHARED, 0x380], 16, BLACKWELL),
    row(110, [227, 228], [RESERVED_SHARED, 0x380], 16, BLACKWELL),
    row(120, [99, 100],  [RESERVED_SHARED, 0x380], 16, DESK_BLACKWELL),
    row(121, [99, 100],  [RESERVED_SHARED, 0x380], 16, DESK_BLACKWELL),
];

/// The row of every target. One without a row would be an error of the compiler.
const PLACES: [u8; Target::COUNT] = {
    let mut places = [0; Target::COUNT];
    let mut target = 0;
    while target < places.len() {
        let mut place = 0;
        while TABLE[place].0 != Target::sm_at(target) {
            place += 1;
        }
        places[target] = place as u8;
        target += 1;
    }
    places
};

impl Target {
    /// What the GPUs of its architecture have.
    pub fn properties(self) -> &'static Properties {
        &TABLE[usize::from(PLACES[self.index()])].1
    }

    /// Whether its GPUs have it.
    pub fn supports(self, feature: TensorFeature) -> bool {
        self.properties().tensor.contains(&feature)
    }

    /// Bytes of `.shared` variables that a kernel can have: what every launch gets, and with an architecture-specific
    /// target all that the hardware has (assembler).
    pub fn static_shared_bytes(self) -> u64 {
        match self.variant() {
            crate::Variant::Architecture => self.properties().cta_shared,
            _ => STATIC_SHARED_BYTES,
        }
    }

    /// Whether it computes in `.f64`; the assembler makes `.f32` of it elsewhere (manual, section 9.7.3).
    pub fn has_f64(self) -> bool {
        self.sm() >= 13
    }

    /// Whether the threads of a warp make progress independently (guide, "Independent Thread Scheduling").
    pub fn has_independent_threads(self) -> bool {
        self.sm() >= 70
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_has_a_row_and_every_row_an_architecture() {
        for target in Target::all() {
            assert!(TABLE.iter().any(|(sm, _)| *sm == target.sm()), "{target}");
        }
        for (sm, properties) in TABLE {
            assert!(Target::all().any(|target| target.sm() == *sm), "sm_{sm}");
            assert!(
                properties.cta_shared + properties.reserved_shared
                    <= properties.multiprocessor_shared.max(48 << 10)
            );
            assert_eq!(properties.cluster_ctas > 0, properties.tensor.contains(&Maps));
        }
        assert!(TABLE.is_sorted_by_key(|(sm, _)| *sm));
    }
}
