//! The words after an opcode as values: types, state spaces, shapes of matrices, and everything else that a row of the
//! instruction table can name.
//!
//! A row with a word that is missing here does not parse, and `tests/rows.rs` fails.

use std::fmt;

use super::Space;
use crate::Type;

/// The shape of a matrix operation, as its word gives it: `m16n8k16`, or `m8n8` without a depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixShape {
    /// The word.
    pub name: &'static str,
    /// Rows of the result.
    pub m: u16,
    /// Columns of the result.
    pub n: u16,
    /// Elements of a row of the first factor, if the word says it.
    pub k: Option<u16>,
}

impl MatrixShape {
    fn parse(name: &'static str) -> Option<MatrixShape> {
        let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (n, k) = match rest.split_once('k') {
            Some((n, k)) => (n, Some(k.parse().ok()?)),
            None => (rest, None),
        };
        Some(MatrixShape { name, m: m.parse().ok()?, n: n.parse().ok()?, k })
    }
}

/// Declares [`Modifier`] with the names of its plain words.
macro_rules! modifiers {
    ($($variant:ident $name:literal,)*) => {
        /// A word of a mnemonic after the opcode, without its dot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // The names are PTX's.
        pub enum Modifier {
            /// A type.
            Type(Type),
            /// A state space.
            Space(Space),
            /// The shape of a matrix operation.
            Shape(MatrixShape),
            $($variant,)*
        }

        impl Modifier {
            /// As PTX spells it, without its dot.
            pub const fn name(self) -> &'static str {
                match self {
                    Modifier::Type(ty) => ty.name(),
                    Modifier::Space(space) => space.name(),
                    Modifier::Shape(shape) => shape.name,
                    $(Modifier::$variant => $name,)*
                }
            }

            fn plain(name: &str) -> Option<Modifier> {
                match name { $($name => Some(Modifier::$variant),)* _ => None }
            }
        }
    };
}

#[rustfmt::skip]
modifiers! {
    S128x128b "128x128b",
    S128x256b "128x256b",
    S16x128b "16x128b",
    S16x256b "16x256b",
    S16x32bx2 "16x32bx2",
    S16x64b "16x64b",
    D1 "1d",
    D2 "2d",
    D2Ms "2dms",
    S32x128b "32x128b",
    S32x32b "32x32b",
    D3 "3d",
    D4 "4d",
    S4x256b "4x256b",
    D5 "5d",
    S64x128b "64x128b",
    A "a",
    A1d "a1d",
    A2d "a2d",
    A2dms "a2dms",
    Abs "abs",
    AccF16 "acc::f16",
    AccF32 "acc::f32",
    AcqRel "acq_rel",
    Acquire "acquire",
    Acube "acube",
    Add "add",
    AddrMode0 "addr_mode_0",
    AddrMode1 "addr_mode_1",
    AddrMode2 "addr_mode_2",
    Alias "alias",
    Aligned "aligned",
    All "all",
    Alloc "alloc",
    And "and",
    Any "any",
    Approx "approx",
    ArraySize "array_size",
    Arrive "arrive",
    ArriveDrop "arrive_drop",
    Ashift "ashift",
    Async "async",
    AsyncGeneric "async::generic",
    B "b",
    B1 "b1",
    B1024 "b1024",
    B2 "b2",
    B4 "b4",
    B4e "b4e",
    B4x16P64 "b4x16_p64",
    B6x16P32 "b6x16_p32",
    B8x16 "b8x16",
    Ballot "ballot",
    Base "base",
    Bfly "bfly",
    Block16 "block16",
    Block32 "block32",
    BlockScale "block_scale",
    BoxDim "box_dim",
    Bulk "bulk",
    BulkGroup "bulk_group",
    C "c",
    Ca "ca",
    Cas "cas",
    Cc "cc",
    Cg "cg",
    ChannelDataType "channel_data_type",
    ChannelOrder "channel_order",
    CheckLayout "check_layout",
    Clamp "clamp",
    Cluster "cluster",
    Col "col",
    CollectorADiscard "collector::a::discard",
    CollectorAFill "collector::a::fill",
    CollectorALastuse "collector::a::lastuse",
    CollectorAUse "collector::a::use",
    CollectorB0Discard "collector::b0::discard",
    CollectorB0Fill "collector::b0::fill",
    CollectorB0Lastuse "collector::b0::lastuse",
    CollectorB0Use "collector::b0::use",
    CollectorB1Discard "collector::b1::discard",
    CollectorB1Fill "collector::b1::fill",
    CollectorB1Lastuse "collector::b1::lastuse",
    CollectorB1Use "collector::b1::use",
    CollectorB2Discard "collector::b2::discard",
    CollectorB2Fill "collector::b2::fill",
    CollectorB2Lastuse "collector::b2::lastuse",
    CollectorB2Use "collector::b2::use",
    CollectorB3Discard "collector::b3::discard",
    CollectorB3Fill "collector::b3::fill",
    CollectorB3Lastuse "collector::b3::lastuse",
    CollectorB3Use "collector::b3::use",
    CollectorBDiscard "collector::b::discard",
    CollectorBFill "collector::b::fill",
    CollectorBLastuse "collector::b::lastuse",
    CollectorBUse "collector::b::use",
    Commit "commit",
    CommitGroup "commit_group",
    CompleteTx "complete_tx",
    CountedBytes "counted::bytes",
    Cp "cp",
    CpFenceproxy "cp_fenceproxy",
    CpMask "cp_mask",
    Cs "cs",
    Cta "cta",
    CtaGroup1 "cta_group::1",
    CtaGroup2 "cta_group::2",
    Cube "cube",
    Cv "cv",
    Cvt "cvt",
    D "d",
    Dealloc "dealloc",
    Dec "dec",
    DecompressLutB "decompress::lut::b",
    Depth "depth",
    Down "down",
    E2m1p4x4 "e2m1p4x4",
    Ecl "ecl",
    Ecr "ecr",
    ElementStride "element_stride",
    Elemtype "elemtype",
    Eq "eq",
    Equ "equ",
    Exch "exch",
    Exclusive "exclusive",
    ExpectTx "expect_tx",
    F4e "f4e",
    FabricFabric "fabric::fabric",
    FabricGeneric "fabric::generic",
    Fence "fence",
    FenceAfterThreadSync "fence::after_thread_sync",
    FenceBeforeThreadSync "fence::before_thread_sync",
    FillMode "fill_mode",
    FilterMode "filter_mode",
    Finite "finite",
    ForceUnnormalizedCoords "force_unnormalized_coords",
    Fractional "fractional",
    Ftz "ftz",
    Full "full",
    G "g",
    Ge "ge",
    GenericFabric "generic::fabric",
    GetFirstCtaid "get_first_ctaid",
    GetFirstCtaidX "get_first_ctaid::x",
    GetFirstCtaidY "get_first_ctaid::y",
    GetFirstCtaidZ "get_first_ctaid::z",
    Geu "geu",
    Gl "gl",
    GlobalAddress "global_address",
    GlobalDim "global_dim",
    GlobalStride "global_stride",
    Gpu "gpu",
    Grad "grad",
    Gt "gt",
    Gtu "gtu",
    Height "height",
    Hi "hi",
    Hs "hs",
    Idx "idx",
    IgnoreOob "ignore_oob",
    Im2col "im2col",
    Im2colW "im2col::w",
    Im2colW128 "im2col::w::128",
    Im2colNoOffs "im2col_no_offs",
    Im2colNoOffsW "im2col_no_offs::w",
    Inc "inc",
    Infinite "infinite",
    Init "init",
    InterleaveLayout "interleave_layout",
    Inval "inval",
    IsCanceled "is_canceled",
    KindF16 "kind::f16",
    KindF8f6f4 "kind::f8f6f4",
    KindI8 "kind::i8",
    KindMxf4 "kind::mxf4",
    KindMxf4nvf4 "kind::mxf4nvf4",
    KindMxf8f6f4 "kind::mxf8f6f4",
    KindTf32 "kind::tf32",
    KindTi16 "kind::ti16",
    L "l",
    L1 "L1",
    L1Bytes32 "L1::32B",
    L1EvictFirst "L1::evict_first",
    L1EvictLast "L1::evict_last",
    L1EvictNormal "L1::evict_normal",
    L1EvictUnchanged "L1::evict_unchanged",
    L1NoAllocate "L1::no_allocate",
    L2 "L2",
    L2Bytes128 "L2::128B",
    L2Bytes256 "L2::256B",
    L2Bytes64 "L2::64B",
    L2CacheHint "L2::cache_hint",
    L2EvictFirst "L2::evict_first",
    L2EvictLast "L2::evict_last",
    L2EvictNormal "L2::evict_normal",
    L2EvictUnchanged "L2::evict_unchanged",
    LaunchDependents "launch_dependents",
    LayoutV0 "layout::v0",
    LayoutV1 "layout::v1",
    Ld "ld",
    LdReduce "ld_reduce",
    Le "le",
    Leu "leu",
    Level "level",
    Lo "lo",
    Load "load",
    Ls "ls",
    Lt "lt",
    Ltu "ltu",
    Lu "lu",
    Mask "mask",
    Max "max",
    Mbarrier "mbarrier",
    MbarrierArriveOne "mbarrier::arrive::one",
    MbarrierCompleteTx16Bytes "mbarrier::complete_tx::16B",
    MbarrierCompleteTxBytes "mbarrier::complete_tx::bytes",
    MbarrierReportDisabled "mbarrier::report::disabled",
    MbarrierReportFabric "mbarrier::report::fabric",
    MbarrierReportValidityPer16bytes8 "mbarrier::report::validity::per_16bytes::8",
    MbarrierReportValidityPer16bytes80 "mbarrier::report::validity::per_16bytes::80",
    MbarrierReportValidityPer16bytes8000 "mbarrier::report::validity::per_16bytes::8000",
    MbarrierReportValidityPer16bytes80000000 "mbarrier::report::validity::per_16bytes::80000000",
    MbarrierReportValidityPerElementFf "mbarrier::report::validity::per_element::ff",
    MbarrierInit "mbarrier_init",
    MemoryLayout "memory_layout",
    Min "min",
    Mma "mma",
    MmaAsync "mma_async",
    Mmio "mmio",
    MulticastCluster "multicast::cluster",
    MulticastCluster16b "multicast::cluster::16b",
    MulticastCluster32b "multicast::cluster::32b",
    MulticastClusterAll "multicast::cluster::all",
    Multimem "multimem",
    PropagateNan "NaN",
    Nan "nan",
    Nc "nc",
    Ne "ne",
    Neu "neu",
    NoComplete "noComplete",
    Noftz "noftz",
    Noinc "noinc",
    Normal "normal",
    NormalizedCoords "normalized_coords",
    Notanumber "notanumber",
    Num "num",
    NumMipmapLevels "num_mipmap_levels",
    NumSamples "num_samples",
    Number "number",
    Oob "oob",
    OpRestrictFetching "op_restrict::fetching",
    Or "or",
    Override "override",
    OverrideGlobalAddress "override::global_address",
    OverrideGlobalDim "override::global_dim",
    OverrideGlobalDimStride "override::global_dim_stride",
    P "p",
    Pack "pack",
    Pack16b "pack::16b",
    Parity "parity",
    PendingCount "pending_count",
    PhaseTypeConditional "phase_type::conditional",
    PhaseTypePrimary "phase_type::primary",
    Po "po",
    Popc "popc",
    Prefetch "prefetch",
    Proxy "proxy",
    ProxyReadonly "proxy::readonly",
    Pzo "pzo",
    QueryCancel "query_cancel",
    R "r",
    Range "range",
    Rank "rank",
    Rc16 "rc16",
    Rc8 "rc8",
    Read "read",
    Red "red",
    Reduce "reduce",
    Relaxed "relaxed",
    Release "release",
    RelinquishAllocPermit "relinquish_alloc_permit",
    Relu "relu",
    Replace "replace",
    Rm "rm",
    Rmi "rmi",
    Rn "rn",
    Rna "rna",
    Rni "rni",
    Row "row",
    Rp "rp",
    Rpi "rpi",
    Rs "rs",
    Rz "rz",
    Rzi "rzi",
    Samplerref "samplerref",
    Sat "sat",
    Satfinite "satfinite",
    Sc "sc",
    ScaleVec1X "scale_vec::1X",
    ScaleVec2X "scale_vec::2X",
    ScaleVec4X "scale_vec::4X",
    ScaledN1Ue8m0 "scaled::n1::ue8m0",
    ScaledN2Ue8m0 "scaled::n2::ue8m0",
    Shift "shift",
    Shiftamt "shiftamt",
    Shr15 "shr15",
    Shr7 "shr7",
    Sp "sp",
    Sparse1Of16 "sp::1:16",
    Sparse1Of2 "sp::1:2",
    Sparse1Of4 "sp::1:4",
    Sparse1Of8 "sp::1:8",
    Sparse2Of16 "sp::2:16",
    Sparse2Of4 "sp::2:4",
    Sparse2Of8 "sp::2:8",
    Sparse4Of16 "sp::4:16",
    Sparse4Of8 "sp::4:8",
    SpOrderedMetadata "sp::ordered_metadata",
    Spcompress "spcompress",
    St "st",
    Store "store",
    Submit "submit",
    Subnormal "subnormal",
    Surfref "surfref",
    SwizzleAtomicity "swizzle_atomicity",
    SwizzleMode "swizzle_mode",
    Sync "sync",
    SyncRestrictReads "sync_restrict::reads",
    SyncRestrictSharedCluster "sync_restrict::shared::cluster",
    SyncRestrictSharedCta "sync_restrict::shared::cta",
    SyncRestrictSharedReadMmaA "sync_restrict::shared::read::mma::a",
    Sys "sys",
    Tensor "tensor",
    Tensormap "tensormap",
    TensormapGeneric "tensormap::generic",
    TestWait "test_wait",
    Texref "texref",
    Tile "tile",
    TileGather4 "tile::gather4",
    TileScatter4 "tile::scatter4",
    To "to",
    Trans "trans",
    Trap "trap",
    TryCancel "try_cancel",
    TryGet "try_get",
    TryPullred "try_pullred",
    TryPut "try_put",
    TryRed "try_red",
    TryWait "try_wait",
    Ue8m0x4 "ue8m0x4",
    Uni "uni",
    Unpack16b "unpack::16b",
    Up "up",
    V2 "v2",
    V4 "v4",
    V8 "v8",
    ValidAddr "valid_addr",
    Volatile "volatile",
    Wait "wait",
    WaitLd "wait::ld",
    WaitSt "wait::st",
    WaitAll "wait_all",
    WaitGroup "wait_group",
    Warp "warp",
    Warpx2Pairs01And23 "warpx2::01_23",
    Warpx2Pairs02And13 "warpx2::02_13",
    Warpx4 "warpx4",
    Wb "wb",
    Weak "weak",
    Wide "wide",
    Width "width",
    Wrap "wrap",
    Ws "ws",
    Wt "wt",
    X1 "x1",
    X128 "x128",
    X16 "x16",
    X2 "x2",
    X32 "x32",
    X4 "x4",
    X64 "x64",
    X8 "x8",
    Xor "xor",
    Xorsign "xorsign",
    Zero "zero",
}

impl Modifier {
    /// Finds one by its name, without its dot.
    pub fn from_name(name: &'static str) -> Option<Modifier> {
        Type::from_name(name)
            .map(Modifier::Type)
            .or_else(|| Space::from_name(name).map(Modifier::Space))
            .or_else(|| Modifier::plain(name))
            .or_else(|| MatrixShape::parse(name).map(Modifier::Shape))
    }
}

impl Modifier {
    /// The type, if it is one.
    pub const fn ty(self) -> Option<Type> {
        match self {
            Modifier::Type(ty) => Some(ty),
            _ => None,
        }
    }

    /// The state space, if it is one.
    pub const fn space(self) -> Option<Space> {
        match self {
            Modifier::Space(space) => Some(space),
            _ => None,
        }
    }

    /// Whether a copy goes to several CTAs of the cluster.
    pub const fn is_multicast(self) -> bool {
        matches!(
            self,
            Modifier::MulticastCluster
                | Modifier::MulticastCluster16b
                | Modifier::MulticastCluster32b
                | Modifier::MulticastClusterAll
        )
    }

    /// Whether an mbarrier is told which bytes of a copy are valid.
    pub const fn reports_validity(self) -> bool {
        matches!(
            self,
            Modifier::MbarrierReportValidityPer16bytes8
                | Modifier::MbarrierReportValidityPer16bytes80
                | Modifier::MbarrierReportValidityPer16bytes8000
                | Modifier::MbarrierReportValidityPer16bytes80000000
                | Modifier::MbarrierReportValidityPerElementFf
        )
    }

    /// How many elements of a group structured sparsity keeps, and how many the group has: 2 and 4 for `.sp::2:4`.
    pub const fn sparsity(self) -> Option<(u32, u32)> {
        Some(match self {
            Modifier::Sparse1Of2 => (1, 2),
            Modifier::Sparse1Of4 => (1, 4),
            Modifier::Sparse1Of8 => (1, 8),
            Modifier::Sparse1Of16 => (1, 16),
            Modifier::Sparse2Of4 => (2, 4),
            Modifier::Sparse2Of8 => (2, 8),
            Modifier::Sparse2Of16 => (2, 16),
            Modifier::Sparse4Of8 => (4, 8),
            Modifier::Sparse4Of16 => (4, 16),
            _ => return None,
        })
    }

    /// How many registers an operand has, if it says that: 4 for `.v4` and `.x4`.
    pub const fn registers(self) -> Option<u8> {
        Some(match self {
            Modifier::X1 => 1,
            Modifier::V2 | Modifier::X2 => 2,
            Modifier::V4 | Modifier::X4 => 4,
            Modifier::V8 | Modifier::X8 => 8,
            Modifier::X16 => 16,
            Modifier::X32 => 32,
            Modifier::X64 => 64,
            Modifier::X128 => 128,
            _ => return None,
        })
    }
}

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
