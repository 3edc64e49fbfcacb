//! Reads the values that immediate operands have: enumerations and structures, as `{:?}` prints them.

use crate::asynchronous::TensorWay;
use crate::group::Queue;
use crate::immediate::Immediate;
use crate::input::{Input, Parsed};
use crate::matrix::{Memory, MmaProduct, Packing, Product, TileKind, Tiles, WgmmaProduct};
use crate::multimem::MultimemKind;
use crate::tensor_core::{ReducedNumbers, Reduction};
use crate::texture::{SurfaceAccess, Values};
use crate::{AtomicOp, BarrierOp, Order, Provided, Scope, Semantics, Special, WarpOpKind};
use softwarp_isa::space::opaque::Member;
use softwarp_isa::{Opaque, Type};
use softwarp_num::{Format, Rounding};
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::replace::Field;
use softwarp_tensor::{Element, Mode};
use softwarp_units::alu::video::{Part, Selectors};
use softwarp_units::matrix::integer::{Factors, Int, IntegerProduct};
use softwarp_units::matrix::layout::{Fragment, Layout};
use softwarp_units::matrix::sparse::Sparsity;
use softwarp_units::matrix::{BlockScale, FloatProduct, Unit};
use softwarp_units::tensor_core::instruction::{Kind, Modifiers, ScaleVector};
use softwarp_units::tensor_core::{copy, fragment};
use softwarp_units::texture::{Clamp, Geometry};

/// An enumeration. A variant that is not listed does not compile.
macro_rules! choices {
    ($ty:ty: $( $variant:ident $( ( $($place:ident),+ ) )? $( { $($name:ident),+ } )? ),+ $(,)?) => {
        impl Immediate for $ty {
            fn parse(input: &mut Input<'_>) -> Parsed<$ty> {
                type This = $ty;
                let _all_are_listed = |value: &$ty| match value {
                    $( This::$variant { .. } => {} )+
                };
                let start = input.clone();
                match input.word()? {
                    $(
                        stringify!($variant) => {
                            $( input.expect("(")?; $( let $place = member(input)?; )+ input.expect(")")?; )?
                            $( input.expect("{")?; $( let $name = field(input, stringify!($name))?; )+ input.expect("}")?; )?
                            Ok(This::$variant $( ( $($place),+ ) )? $( { $($name),+ } )?)
                        }
                    )+
                    other => Err(start.error(format!("`{other}` is no {}", stringify!($ty)))),
                }
            }
        }
    };
}

/// A structure, all of whose members are public.
macro_rules! structure {
    ($ty:ident: $($name:ident),+ $(,)?) => {
        impl Immediate for $ty {
            fn parse(input: &mut Input<'_>) -> Parsed<$ty> {
                input.expect(stringify!($ty))?;
                input.expect("{")?;
                $( let $name = field(input, stringify!($name))?; )+
                input.expect("}")?;
                Ok($ty { $($name),+ })
            }
        }
    };
}

/// A member without a name, and the comma after it.
fn member<T: Immediate>(input: &mut Input<'_>) -> Parsed<T> {
    let value = T::parse(input)?;
    input.eat(",");
    Ok(value)
}

/// A member with its name, and the comma after it.
fn field<T: Immediate>(input: &mut Input<'_>, name: &str) -> Parsed<T> {
    input.expect(name)?;
    input.expect(":")?;
    member(input)
}

/// One of all values of a type, by what `{:?}` prints.
fn one_of<T: Copy + std::fmt::Debug>(input: &mut Input<'_>, all: &[T], what: &str) -> Parsed<T> {
    let start = input.clone();
    let word = input.word()?;
    let found = all.iter().find(|one| format!("{one:?}") == word);
    found.copied().ok_or_else(|| start.error(format!("`{word}` is no {what}")))
}

choices!(AtomicOp: And, Or, Xor, Exch, Cas, Add, Inc, Dec, Min, Max);
choices!(BarrierOp: Sync, Arrive, Popc, And, Or);
choices!(
    WarpOpKind: Sync, ShflUp, ShflDown, ShflBfly, ShflIdx, VoteAll, VoteAny, VoteUni, VoteBallot, MatchAny32,
    MatchAny64, MatchAll32, MatchAll64, ReduxAdd, ReduxMinU32, ReduxMinS32, ReduxMaxU32, ReduxMaxS32, ReduxAnd,
    ReduxOr, ReduxXor, ReduxF32 { max, abs, nan }, ActiveMask, Elect,
);
choices!(
    Special: Tid(axis), Ntid(axis), Ctaid(axis), Nctaid(axis), LaneId, WarpId, NwarpId, SmId, NsmId, GridId,
    LanemaskEq, LanemaskLe, LanemaskLt, LanemaskGe, LanemaskGt, Clock, ClockHi, Clock64, GlobalTimer,
    GlobalTimerLo, GlobalTimerHi, TotalSmemSize, AggrSmemSize, DynamicSmemSize, ReservedSmem(number),
    ClusterId(axis), NclusterId(axis), ClusterCtaid(axis), ClusterNctaid(axis), ClusterCtarank, ClusterNctarank,
    IsExplicitCluster, CurrentGraphExec, EnvReg(number), Pm(number),
);
choices!(Provided: Vprintf, Malloc, Free, AssertFail, ParameterBuffer, LaunchDevice);
choices!(Queue: Copies, Bulk, Products);
choices!(MultimemKind: LoadReduce(op), Store, Reduce(op));
choices!(Values: Words, Halves, Pairs);
choices!(SurfaceAccess: Load, Store, StoreFormatted, Reduce(op, ty), ReduceFormatted(op, ty));
choices!(TensorWay: Load, Store, Reduce(op), Prefetch);
choices!(Packing: Bytes, Six, Four);
choices!(TileKind: Halves { transposed }, Bytes(packing), Wide(packing));
choices!(Product: Float(product), Integer(product), Double(rounding));
choices!(ReducedNumbers: Float { abs, nan }, Signed, Unsigned);
choices!(
    Member: Width, Height, Depth, ChannelDataType, ChannelOrder, NormalizedCoords, ForceUnnormalizedCoords,
    FilterMode, AddrMode0, AddrMode1, AddrMode2, ArraySize, NumMipmapLevels, NumSamples, MemoryLayout,
);
choices!(Rounding: NearestEven, NearestAway, TowardZero, Down, Up, Stochastic);
choices!(Operation: Add, Min, Max, Inc, Dec, And, Or, Xor);
choices!(
    Field: GlobalAddress, Rank, BoxDim, GlobalDim, GlobalStride, ElementStride, Elemtype, InterleaveLayout,
    SwizzleMode, SwizzleAtomicity, FillMode,
);
choices!(Mode: Tile, Gather4, Scatter4, Im2col, Im2colNoOffs, Im2colW, Im2colW128);
choices!(Part: All, Byte(number), Half(number));
choices!(Factors: Integers(a, b), And, Xor);
choices!(Unit: Mma, Wgmma, Tcgen05);
choices!(Kind: F16, Tf32, F8f6f4, I8, Mxf8f6f4, Mxf4, Mxf4nvf4);
choices!(ScaleVector: One, Two, Four, Block16, Block32);
choices!(copy::Packing: Bytes, Six, Four);
choices!(
    copy::Shape: Lanes128x256b, Lanes4x256b, Lanes128x128b, Lanes64x128b02And13, Lanes64x128b01And23,
    Lanes32x128b,
);
choices!(
    fragment::Shape: Lanes32x32b, Lanes16x64b, Lanes16x128b, Lanes16x256b, Lanes16x32bx2,
);
choices!(Clamp: Trap, Clamp, Zero);

structure!(Tiles: count, kind);
structure!(Memory: fragment, length, along, stride, bits, unit);
structure!(MmaProduct: product, layout, sparse, within, scales);
structure!(WgmmaProduct: product, d, sparse, bits, stored, k, n, k_major, negate);
structure!(Reduction: max, numbers);
structure!(Selectors: parts, negated);
structure!(Int: bits, signed);
structure!(IntegerProduct: factors, saturate, m, n, k);
structure!(FloatProduct: unit, a, b, c, d, m, n, k, sparse, scale);
structure!(BlockScale: format, block);
structure!(Sparsity: chunk, bits, selector, length);
structure!(Layout: a, b, c, d, products, turned);
structure!(Modifiers: kind, ctas, ws, sparse, shifts_a, scale);

impl Immediate for fragment::Fragment {
    fn parse(input: &mut Input<'_>) -> Parsed<fragment::Fragment> {
        input.expect_words("Fragment {")?;
        let (shape, repeat) = (field(input, "shape")?, field(input, "repeat")?);
        let packed = field(input, "packed")?;
        input.expect("}")?;
        Ok(fragment::Fragment { shape, repeat, packed })
    }
}

impl Immediate for Fragment {
    fn parse(input: &mut Input<'_>) -> Parsed<Fragment> {
        let start = input.clone();
        input.expect_words("Fragment {")?;
        let (bits, lanes) = (field(input, "bits")?, field(input, "lanes")?);
        let (elements, size) = (field(input, "elements")?, field(input, "size")?);
        input.expect_words("order :")?;
        let order = input.word()?;
        input.eat(",");
        input.expect("}")?;
        Fragment::of_parts(bits, lanes, elements, size, order)
            .ok_or_else(|| start.error("no matrix has this fragment"))
    }
}

/// Types whose values are written by their names.
macro_rules! named {
    ($type:ty: $all:expr, $what:literal) => {
        impl Immediate for $type {
            fn parse(input: &mut Input<'_>) -> Parsed<$type> {
                one_of(input, $all, $what)
            }
        }
    };
}

named!(Format: &Format::ALL, "format");
named!(Element: Element::ALL, "element of a tensor");
named!(Geometry: Geometry::ALL, "geometry");
named!(Opaque: Opaque::ALL, "opaque type");
named!(Type: Type::ALL, "type");
impl Immediate for Order {
    fn parse(input: &mut Input<'_>) -> Parsed<Order> {
        use Scope::{Cluster, Cta, Gpu, Sys};
        use Semantics::{Acquire, AcquireRelease, Relaxed, Release};
        let strong = [Relaxed, Acquire, Release, AcquireRelease].into_iter().flat_map(|semantics| {
            [Cta, Cluster, Gpu, Sys].into_iter().map(move |scope| Order { semantics, scope })
        });
        let all: Vec<Order> = std::iter::once(Order::WEAK).chain(strong).collect();
        one_of(input, &all, "order of memory")
    }

    fn absent() -> Option<Order> {
        Some(Order::WEAK)
    }
}
