//! From a conversion, a value known at run time, to the body's instance compiled for it.
//!
//! [`families!`] lists what exists: it expands to a `match` whose every leaf is one monomorphised loop.
//! A leaf costs three compiled loops, one per CPU feature set, so conversions that do the same work are
//! folded together first ([`Conversion::canonical`]).

use crate::body::{self, Path};
use crate::clones::{Clones, clones};
use crate::stream::{Fenced, LARGE, LINE, Stores, lines, soon_read, soon_written};
use crate::{Conversion, Format, Rounding, Saturation, Scaling};

/// The compiled loops for one conversion.
///
/// Elements lie one after another, little-endian, each in [`Format::bytes`] bytes.
#[derive(Clone, Copy)]
pub struct Kernel {
    conversion: Conversion,
    clones: Clones,
    packed: Clones,
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernel").field(&self.conversion).finish()
    }
}

impl Kernel {
    /// What it computes, in canonical form.
    pub fn conversion(&self) -> Conversion {
        self.conversion
    }

    /// Bytes of auxiliary input per element: 1 for a scale, 2 for random bits, else 0.
    pub fn aux_bytes(&self) -> usize {
        aux_bytes(self.conversion)
    }

    /// Converts the elements of `src` into `dst`, on this thread, as many as fit in all of them.
    ///
    /// `aux` has [`Kernel::aux_bytes`] bytes for each element.
    pub fn run(&self, src: &[u8], aux: &[u8], dst: &mut [u8]) {
        self.clones.run(src, aux, dst);
    }

    /// The same on arrays in which 4-bit codes lie two to a byte, the first in the low half.
    ///
    /// An odd count of 4-bit results leaves the last half byte zero.
    pub fn run_packed(&self, src: &[u8], aux: &[u8], dst: &mut [u8]) {
        self.packed.run(src, aux, dst);
    }

    /// Converts a single element.
    pub fn one(&self, code: u64, aux: u32) -> u64 {
        let mut out = [0; 8];
        let bytes = self.conversion.dst.bytes();
        self.run(
            &code.to_le_bytes()[..self.conversion.src.bytes()],
            &aux.to_le_bytes()[..self.aux_bytes()],
            &mut out[..bytes],
        );
        u64::from_le_bytes(out)
    }
}

/// Bytes of auxiliary input per element.
const fn aux_bytes(c: Conversion) -> usize {
    match (c.rounding, c.scaling) {
        (Rounding::Stochastic, _) => 2,
        (_, Scaling::None) => 0,
        _ => 1,
    }
}

/// Elements between two requests for memory ahead. Few: requests that come in bursts wait for each other.
const STRIDE: usize = 64;

/// Parts of an array that are worked on in turn.
const STREAMS: usize = 4;

/// The loop. Cloned for each CPU feature set by [`crate::clones`].
///
/// With `PACKED`, 4-bit codes lie two to a byte; otherwise each has a byte of its own.
#[inline(always)]
pub(crate) fn convert_elements<const CODE: u32, const PACKED: bool, S: Stores>(
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
        convert_past_caches::<CODE, S>(stores, spread, src, aux, dst)
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
fn convert_past_caches<const CODE: u32, S: Stores>(
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

/// The two codes of each byte to a byte each.
#[inline(always)]
fn spread_nibbles(packed: &[u8], codes: &mut [u8]) {
    let (pairs, _) = codes.as_chunks_mut();
    for (pair, &packed) in pairs.iter_mut().zip(packed) {
        let packed = u16::from(packed);
        *pair = ((packed | packed << 4) & 0x0f0f).to_le_bytes();
    }
}

/// The codes of two bytes to one byte.
#[inline(always)]
fn gather_nibbles(codes: &[u8], packed: &mut [u8]) {
    let (pairs, _) = codes.as_chunks();
    for (&pair, packed) in pairs.iter().zip(packed) {
        let pair = u16::from_le_bytes(pair);
        *packed = (pair | pair >> 4) as u8;
    }
}

/// Leaves only the path that `CODE` takes for the code generator to see.
#[inline(always)]
fn element<const CODE: u32>(c: Conversion, x: u64, aux: u32) -> u64 {
    match const { body::path(Conversion::from_code(CODE)) } {
        Path::IntToInt => body::element(Path::IntToInt, c, x, aux),
        Path::IntToFloat => body::element(Path::IntToFloat, c, x, aux),
        Path::FloatToInt => body::element(Path::FloatToInt, c, x, aux),
        Path::Move => x,
        Path::By32 => body::element(Path::By32, c, x, aux),
        Path::By64 => body::element(Path::By64, c, x, aux),
        Path::Widen => body::element(Path::Widen, c, x, aux),
        Path::Integral => body::element(Path::Integral, c, x, aux),
        Path::Stochastic => body::element(Path::Stochastic, c, x, aux),
        Path::ToExponent => body::element(Path::ToExponent, c, x, aux),
        Path::ToFixed => body::element(Path::ToFixed, c, x, aux),
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
/// modifiers, all of which exist.
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
                    return Some(Kernel {
                        conversion: LEAF,
                        clones: clones::<CODE, false>(),
                        packed: clones::<CODE, NIBBLES>(),
                    });
                }
            }
        )*
    };
}

impl Conversion {
    /// The compiled loops for this conversion; `None` where no such conversion exists.
    ///
    /// All that PTX has are here, and besides: from every narrow format straight to f32, to FP8 without
    /// saturation, and to ue4m3.
    #[rustfmt::skip]
    pub fn kernel(self) -> Option<Kernel> {
        let c = self.canonical();
        families!(c:
            // Integers.
            [U8 S8 U16 S16 U32 S32 U64 S64] => [U8 S8 U16 S16 U32 S32 U64 S64]
                [NearestEven] [(None None) (Clamp None)];
            [U8 S8 U16 S16 U32 S32 U64 S64] => [F16 F32 F64]
                [NearestEven TowardZero Down Up] [(None None) (Clamp None)];
            [U8 S8 U16 S16 U32 S32 U64 S64] => [Bf16]
                [NearestEven TowardZero Down Up] [(None None)];
            [F16 Bf16 F32 F64] => [U8 S8 U16 S16 U32 S32 U64 S64]
                [NearestEven TowardZero Down Up] [(None None)];
            [F32] => [U8 S8 U16 S16 U32 S32 U64 S64]
                [Down Up] [(None None ftz)];

            // A float in its own format, perhaps rounded to an integral value.
            [F16] => [F16] [NearestEven] [(None None) (Clamp None)];
            [F64] => [F64] [NearestEven] [(None None) (Clamp None)];
            [Bf16] => [Bf16] [NearestEven] [(None None)];
            [F32] => [F32] [NearestEven] [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];
            [F16] => [F16] [NearestEven TowardZero Down Up] [(None None integral) (Clamp None integral)];
            [F64] => [F64] [NearestEven TowardZero Down Up] [(None None integral) (Clamp None integral)];
            [Bf16] => [Bf16] [NearestEven TowardZero Down Up] [(None None integral)];
            [F32] => [F32] [NearestEven TowardZero Down Up]
                [(None None integral) (None None integral ftz) (Clamp None integral) (Clamp None integral ftz)];

            // Between the fundamental floats and bf16, tf32.
            [F32] => [F16] [NearestEven TowardZero Down Up] [(None None) (Clamp None)];
            [F32] => [Bf16] [NearestEven TowardZero Down Up]
                [(None None) (None None ftz) (None None ftz positive_zero)];
            [F32] => [F16 Bf16 Tf32] [NearestEven TowardZero]
                [(None None) (None None relu) (Finite None) (Finite None relu)
                 (None None positive_zero) (Finite None positive_zero)];
            [F32] => [Tf32] [NearestAway] [(None None) (Finite None)];
            [F64] => [F16] [NearestEven TowardZero Down Up] [(None None) (Clamp None)];
            [F64] => [Bf16] [NearestEven TowardZero Down Up] [(None None)];
            [F64] => [F32] [NearestEven TowardZero Down Up]
                [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];
            [F16] => [Bf16] [NearestEven TowardZero Down Up] [(None None)];
            [Bf16] => [F16] [NearestEven TowardZero Down Up] [(None None)];
            [F16] => [F32] [NearestEven] [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];
            [Bf16] => [F32] [NearestEven] [(None None) (None None ftz)];
            [F16] => [F64] [NearestEven] [(None None) (Clamp None)];
            [Bf16] => [F64] [NearestEven] [(None None)];
            [F32] => [F64] [NearestEven] [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];

            // Down to the narrow formats.
            [F32 F16 Bf16] => [E4m3 E5m2 E2m3 E3m2 E2m1] [NearestEven TowardZero]
                [(Finite None) (Finite None relu) (Finite None positive_zero)
                 (Finite DivideFlushed) (Finite DivideFlushed relu) (Finite DivideFlushed positive_zero)];
            [F32 F16 Bf16] => [E4m3 E5m2] [NearestEven TowardZero] [(None None)];
            [F32 F16 Bf16] => [Ue5m3] [NearestEven TowardZero Up] [(None None) (Finite None)];
            [F32 F16 Bf16] => [Ue5m3] [NearestEven TowardZero] [(None DivideFlushed) (Finite DivideFlushed)];
            [F32] => [Ue4m3] [NearestEven TowardZero Up] [(None None) (Finite None)];
            [F32 Bf16] => [Ue8m0] [TowardZero Up] [(None None) (Finite None)];
            [F32 Bf16] => [S2f6] [NearestEven TowardZero]
                [(Finite None) (Finite None relu) (Finite Divide) (Finite Divide relu)];

            // With random bits.
            [F32] => [F16 Bf16] [Stochastic]
                [(None None) (None None relu) (Finite None) (Finite None relu)];
            [F32] => [E4m3 E5m2 E2m3 E3m2 E2m1] [Stochastic] [(Finite None) (Finite None relu)];

            // Up from the narrow formats.
            [E4m3 E5m2 E2m3 E3m2 E2m1] => [F16] [NearestEven] [(None None) (None None relu)];
            [E4m3 E5m2 E2m3 E3m2 E2m1 S2f6] => [Bf16] [NearestEven]
                [(None None) (None None relu) (Finite None) (Finite None relu)
                 (None Multiply) (None Multiply relu) (Finite Multiply) (Finite Multiply relu)];
            [Ue5m3] => [F16] [NearestEven] [(None None)];
            [Ue5m3] => [Bf16] [NearestEven]
                [(None None) (Finite None) (None Multiply) (Finite Multiply)];
            [Ue8m0] => [Bf16] [NearestEven] [(None None)];
            [E4m3 E5m2 E2m3 E3m2 E2m1 Ue8m0 Ue4m3 Ue5m3 S2f6] => [F32] [NearestEven] [(None None)];
        );
        Option::None
    }
}
