//! Loops that are compiled for one conversion each: the common ones.
//!
//! [`families!`] lists them: it expands to a `match` whose every leaf is one monomorphised loop. A leaf costs three
//! compiled loops, one per level, and those with stores past the caches or packed codes one more each; all other
//! conversions share loops ([`crate::stages`]).

use crate::body;
use crate::conversion::aux_bytes;
use crate::multiversion;
use crate::parameters::Parameters;
use crate::path::{Path, path};
use crate::stages::{gather_nibbles, spread_nibbles};
use crate::stream::{Fenced, LARGE, LINE, Stores, lines, soon_read, soon_written};
use crate::{Conversion, Format, Rounding, Saturation, Scaling};

multiversion! {
    /// `(src, aux, dst)`, as in [`crate::ConversionLoop::run`].
    pub(crate) struct Loop(src: &[u8], aux: &[u8], dst: &mut [u8]);
}

multiversion! {
    /// The loops of the conversion with this code.
    fn loops[const CODE: u32, const PACKED: bool][CODE, PACKED]
        (src: &[u8], aux: &[u8], dst: &mut [u8]): Loop = convert_elements;
}

/// The loops of one conversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dedicated {
    /// With each code in bytes of its own.
    pub(crate) plain: Loop,
    /// With 4-bit codes two to a byte.
    pub(crate) packed: Loop,
}

/// Elements between two requests for memory ahead. Few: requests that come in bursts wait for each other.
const STRIDE: usize = 64;

/// Parts of an array that are worked on in turn.
const STREAMS: usize = 4;

/// The loop.
///
/// With `PACKED`, 4-bit codes lie two to a byte; otherwise each has a byte of its own.
#[inline(always)]
fn convert_elements<S: Stores, const CODE: u32, const PACKED: bool>(
    stores: S,
    src: &[u8],
    aux: &[u8],
    dst: &mut [u8],
) {
    let c = const { Conversion::from_code(CODE) };
    let spread = const { PACKED && Conversion::from_code(CODE).src.pitch() == 4 };
    let gather = const { PACKED && Conversion::from_code(CODE).dst.pitch() == 4 };
    let aux_step = STRIDE * const { aux_bytes(Conversion::from_code(CODE)) };
    let (src_step, dst_step) = (stride_bytes(c.src, spread), stride_bytes(c.dst, gather));
    let done = if const { S::PAST_CACHES && widens(Conversion::from_code(CODE)) } && dst.len() >= LARGE {
        convert_past_caches::<S, CODE>(stores, spread, src, aux, dst)
    } else {
        0
    };
    let (src, dst) = (&src[done * src_step / STRIDE..], &mut dst[done * dst_step / STRIDE..]);
    let aux = aux.get(done * aux_step / STRIDE..).unwrap_or(&[]);
    // Whole strides first: their fixed length lets the compiler leave out all bookkeeping. They are taken
    // in turn from several parts of the array, since memory answers several streams sooner than one.
    let whole = (src.len() / src_step).min(dst.len() / dst_step);
    let part = whole / STREAMS;
    for turn in 0..whole {
        let stride = if turn < part * STREAMS { turn % STREAMS * part + turn / STREAMS } else { turn };
        soon_read(src, stride * src_step, src_step);
        soon_written(dst, stride * dst_step, dst_step);
        let codes = &src[stride * src_step..][..src_step];
        let aux = aux.get(stride * aux_step..).unwrap_or(&[]);
        let out = &mut dst[stride * dst_step..][..dst_step];
        convert_stride::<CODE>(spread, gather, codes, aux, out);
    }
    let (src_rest, dst_rest) = (&src[whole * src_step..], &mut dst[whole * dst_step..]);
    let aux_rest = aux.get(whole * aux_step..).unwrap_or(&[]);
    convert_stride::<CODE>(spread, gather, src_rest, aux_rest, dst_rest);
}

/// Whether most of the time goes into writing. Only to f32, where arrays are large: each costs one more loop.
const fn widens(c: Conversion) -> bool {
    matches!(c.dst, Format::F32) && c.src.bytes() < 4
}

/// Converts a large array up to its last few elements, in order, with stores that do not read the lines
/// first; returns how many elements it did. None where the results do not lie in step with the lines.
#[inline(always)]
fn convert_past_caches<S: Stores, const CODE: u32>(
    stores: S,
    spread: bool,
    src: &[u8],
    aux: &[u8],
    dst: &mut [u8],
) -> usize {
    let c = const { Conversion::from_code(CODE) };
    let aux_step = STRIDE * const { aux_bytes(Conversion::from_code(CODE)) };
    let (src_step, line_step) = (stride_bytes(c.src, spread), stride_bytes(c.dst, false) / LINE);
    let stores = Fenced::new(stores);
    let (before, lines) = lines(dst);
    let head = before.len() / c.dst.bytes();
    let (src_head, aux_head) = (head * src_step / STRIDE, head * aux_step / STRIDE);
    let in_step = before.len() % c.dst.bytes() == 0 && head * src_step % STRIDE == 0;
    if !in_step || src.len() < src_head || aux.len() < aux_head {
        return 0;
    }
    convert_stride::<CODE>(spread, false, &src[..src_head], aux, before);
    let (src, aux) = (&src[src_head..], &aux[aux_head..]);
    let whole = (src.len() / src_step).min(lines.len() / line_step);
    if spread && c.dst.bytes() == 4 && aux_step == 0 {
        // Sixteen codes are a table that fits in a register.
        let table = std::array::from_fn(|code| element::<CODE>(c, code as u64, 0) as u32);
        stores.look_up(&table, &src[..whole * src_step], &mut lines[..whole * line_step]);
    } else {
        for stride in 0..whole {
            soon_read(src, stride * src_step, src_step);
            let codes = &src[stride * src_step..][..src_step];
            let aux = aux.get(stride * aux_step..).unwrap_or(&[]);
            let mut results = [0; 4 * STRIDE];
            convert_stride::<CODE>(spread, false, codes, aux, &mut results);
            stores.store(&results, &mut lines[stride * line_step..][..line_step]);
        }
    }
    drop(stores);
    head + whole * STRIDE
}

/// Up to a stride of elements.
#[inline(always)]
fn convert_stride<const CODE: u32>(spread: bool, gather: bool, src: &[u8], aux: &[u8], dst: &mut [u8]) {
    let c = const { Conversion::from_code(CODE) };
    let (mut from, mut to) = ([0; STRIDE], [0; STRIDE]);
    let codes = if spread {
        spread_nibbles(src, &mut from);
        &from[..(2 * src.len()).min(STRIDE)]
    } else {
        src
    };
    if gather {
        let count = (2 * dst.len()).min(codes.len() / c.src.bytes()).min(STRIDE);
        convert_bytes::<CODE>(codes, aux, &mut to[..count]);
        gather_nibbles(&to, &mut dst[..count.div_ceil(2)]);
    } else {
        convert_bytes::<CODE>(codes, aux, dst);
    }
}

const fn stride_bytes(format: Format, packed: bool) -> usize {
    if packed { STRIDE / 2 } else { STRIDE * format.bytes() }
}

#[inline(always)]
fn convert_bytes<const CODE: u32>(src: &[u8], aux: &[u8], dst: &mut [u8]) {
    let c = const { Conversion::from_code(CODE) };
    let elements = src.chunks_exact(c.src.bytes()).zip(dst.chunks_exact_mut(c.dst.bytes()));
    match const { aux_bytes(Conversion::from_code(CODE)) } {
        0 => {
            for (src, dst) in elements {
                store(dst, element::<CODE>(c, load(src), 0));
            }
        }
        per_element => {
            for ((src, dst), aux) in elements.zip(aux.chunks_exact(per_element)) {
                store(dst, element::<CODE>(c, load(src), load(aux) as u32));
            }
        }
    }
}

/// Leaves only the path that `CODE` takes for the code generator to see.
#[inline(always)]
fn element<const CODE: u32>(c: Conversion, x: u64, aux: u32) -> u64 {
    let p = const { &Parameters::of(Conversion::from_code(CODE)) };
    match const { path(Conversion::from_code(CODE)) } {
        Path::IntToInt => body::element(Path::IntToInt, c, p, x, aux),
        Path::IntToFloat => body::element(Path::IntToFloat, c, p, x, aux),
        Path::FloatToInt => body::element(Path::FloatToInt, c, p, x, aux),
        Path::Move => x,
        Path::By32 => body::element(Path::By32, c, p, x, aux),
        Path::By64 => body::element(Path::By64, c, p, x, aux),
        Path::Widen => body::element(Path::Widen, c, p, x, aux),
        Path::Integral => body::element(Path::Integral, c, p, x, aux),
        Path::Stochastic => body::element(Path::Stochastic, c, p, x, aux),
        Path::ToExponent => body::element(Path::ToExponent, c, p, x, aux),
        Path::ToFixed => body::element(Path::ToFixed, c, p, x, aux),
    }
}

#[inline(always)]
fn load(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

#[inline(always)]
fn store(bytes: &mut [u8], x: u64) {
    let from = x.to_le_bytes();
    bytes.copy_from_slice(&from[..bytes.len()]);
}

/// Looks a conversion up among families: each is a product of sources, destinations, roundings and
/// modifiers, all of which get a loop.
macro_rules! families {
    ($c:ident: $( [$($src:ident)*] => [$($dst:ident)*] $rounding:tt $modifiers:tt; )*) => {
        $( families!(@src $c [$($src)*] [$($dst)*] $rounding $modifiers); )*
    };
    (@src $c:ident [$($src:ident)*] $dst:tt $rounding:tt $modifiers:tt) => {
        match $c.src {
            $( Format::$src => { families!(@dst $c $src $dst $rounding $modifiers); } )*
            _ => {}
        }
    };
    (@dst $c:ident $src:ident [$($dst:ident)*] $rounding:tt $modifiers:tt) => {
        match $c.dst {
            $( Format::$dst => { families!(@rounding $c $src $dst $rounding $modifiers); } )*
            _ => {}
        }
    };
    (@rounding $c:ident $src:ident $dst:ident [$($rounding:ident)*] $modifiers:tt) => {
        match $c.rounding {
            $( Rounding::$rounding => { families!(@modifiers $c $src $dst $rounding $modifiers); } )*
            _ => {}
        }
    };
    (@modifiers $c:ident $src:ident $dst:ident $rounding:ident
        [$( ($saturation:ident $scaling:ident $($flag:ident)*) )*]) => {
        $(
            {
                const LEAF: Conversion = Conversion {
                    rounding: Rounding::$rounding,
                    saturation: Saturation::$saturation,
                    scaling: Scaling::$scaling,
                    $( $flag: true, )*
                    ..Conversion::new(Format::$src, Format::$dst)
                };
                if $c.code() == LEAF.code() {
                    const CODE: u32 = LEAF.canonical().code();
                    const NIBBLES: bool = LEAF.src.pitch() == 4 || LEAF.dst.pitch() == 4;
                    return Some(Dedicated {
                        plain: loops::<CODE, false>().best(),
                        packed: loops::<CODE, NIBBLES>().best(),
                    });
                }
            }
        )*
    };
}

impl Dedicated {
    /// The loops of a conversion in canonical form, if it has its own.
    #[rustfmt::skip]
    pub(crate) fn new(c: Conversion) -> Option<Dedicated> {
        families!(c:
            // Down to the narrow formats.
            [F32] => [E4m3 E5m2 E2m3 E3m2 E2m1] [NearestEven] [(Finite None)];
            [F32] => [E4m3 E5m2] [NearestEven] [(None None)];
            [F16 Bf16] => [E4m3 E5m2] [NearestEven] [(Finite None)];
            [F32] => [F16 Bf16 Tf32] [NearestEven] [(None None)];
            // Up from them.
            [E4m3 E5m2 E2m3 E3m2 E2m1 Ue8m0 F16 Bf16] => [F32] [NearestEven] [(None None)];
            [E4m3 E5m2 E2m1] => [F16 Bf16] [NearestEven] [(None None)];
            // Between f64, f32 and integers.
            [F64] => [F32] [NearestEven] [(None None)];
            [F32] => [F64] [NearestEven] [(None None)];
            [U8 S8 S32 U32] => [F32] [NearestEven] [(None None)];
            [F32] => [U8 S8 S32 U32] [NearestEven TowardZero] [(None None)];
        );
        Option::None
    }
}
