//! Conversions in stages: loops that many conversions share.
//!
//! A loop for each of some 900 conversions would be quick to run and slow to compile. Only the common ones have a loop of
//! their own ([`crate::dedicated`]). The others go through the working format in a buffer that stays in the first-level
//! cache: one loop for each source format decodes, one for each destination format and kind of rounding encodes, and
//! modifiers are [`Parameters`] that these loops read. The functions of one element are the same ([`crate::body`]).
//!
//! Loops work on blocks of [`BLOCK`] elements, so that they need no code for a rest. Binary32, binary64 and 64-bit
//! sources are working values already.

use crate::body;
use crate::levels::{Cpu, Levels};
use crate::multiversion;
use crate::parameters::Parameters;
use crate::path::{Path, int_value, path};
use crate::stream::{soon_read, soon_written};
use crate::{Conversion, Format, Rounding, Scaling};

/// Elements of a block.
const BLOCK: usize = 32;

/// Elements that go through the stages at once.
const PIECE: usize = 8 * BLOCK;

/// Parts of an array that are worked on in turn: memory answers several streams sooner than one.
const STREAMS: usize = 4;

multiversion! {
    /// A loop over a number of blocks, with auxiliary input if it takes any. A working value is the four or
    /// eight bytes of a binary32, a binary64 or a 64-bit integer.
    struct Stage(p: &Parameters, blocks: usize, from: &[u8], aux: &[u8], to: &mut [u8]);
}

/// A conversion in stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Staged {
    /// From the source to the result, with working values between them.
    stages: (Stage, Option<Stage>, Option<Stage>),
    parameters: Parameters,
    /// Bytes of an element of the source, of its auxiliary input, and of the result.
    bytes: [usize; 3],
}

impl Staged {
    /// The stages of a conversion; `None` for what no conversion of PTX needs.
    pub(crate) fn new(c: Conversion, aux: usize) -> Option<Staged> {
        let bytes = [c.src.bytes(), aux, c.dst.bytes()];
        Some(Staged { stages: stages(c)?, parameters: Parameters::of(c), bytes })
    }

    /// Converts as many elements as fit in all.
    pub(crate) fn run(&self, src: &[u8], aux: &[u8], dst: &mut [u8]) {
        let [src_bytes, aux_bytes, dst_bytes] = self.bytes;
        let fit = |len: usize, bytes: usize| len.checked_div(bytes).unwrap_or(usize::MAX);
        let count = fit(src.len(), src_bytes).min(fit(aux.len(), aux_bytes)).min(fit(dst.len(), dst_bytes));
        let slices =
            |start: usize, count: usize| self.bytes.map(|bytes| start * bytes..(start + count) * bytes);
        let pieces = count / PIECE;
        if pieces > 0 {
            let mut working = [[0; 8 * PIECE]; 2];
            let part = pieces / STREAMS;
            for turn in 0..pieces {
                let piece = if turn < part * STREAMS { turn % STREAMS * part + turn / STREAMS } else { turn };
                let [from, with, to] = slices(piece * PIECE, PIECE);
                soon_read(src, from.start, from.len());
                soon_written(dst, to.start, to.len());
                self.convert(PIECE / BLOCK, &src[from], &aux[with], &mut dst[to], &mut working);
            }
        }
        let mut working = [[0; 8 * BLOCK]; 2];
        let mut start = pieces * PIECE;
        while start < count {
            let some = (count - start).min(BLOCK);
            let [from, with, to] = slices(start, some);
            let (src, aux, dst) = (&src[from], &aux[with], &mut dst[to]);
            if some == BLOCK {
                self.convert(1, src, aux, dst, &mut working);
            } else {
                // Zeros fill the block up.
                let (mut from, mut with, mut to) = ([0; 8 * BLOCK], [0; 2 * BLOCK], [0; 8 * BLOCK]);
                from[..src.len()].copy_from_slice(src);
                with[..aux.len()].copy_from_slice(aux);
                self.convert(1, &from, &with, &mut to, &mut working);
                dst.copy_from_slice(&to[..dst.len()]);
            }
            start += some;
        }
    }

    /// Converts a single element.
    pub(crate) fn one(&self, c: Conversion, code: u64, aux: u32) -> u64 {
        body::element(path(c), c, &self.parameters, code & c.src.mask(), aux) & c.dst.mask()
    }

    /// As [`Staged::run`], with 4-bit codes two to a byte, of the source, of the result, or of both.
    pub(crate) fn run_packed(&self, [spread, gather]: [bool; 2], src: &[u8], aux: &[u8], dst: &mut [u8]) {
        let [src_bytes, aux_bytes, dst_bytes] = self.bytes;
        let per = |packed: bool, bytes: usize| if packed { PIECE / 2 } else { PIECE * bytes };
        let (src_step, dst_step) = (per(spread, src_bytes), per(gather, dst_bytes));
        let mut aux = aux.chunks(PIECE * aux_bytes.max(1));
        for (src, dst) in src.chunks(src_step).zip(dst.chunks_mut(dst_step)) {
            let aux = aux.next().unwrap_or(&[]);
            let (mut from, mut to) = ([0; PIECE], [0; PIECE]);
            let src = if spread {
                spread_nibbles(src, &mut from);
                &from[..2 * src.len()]
            } else {
                src
            };
            if gather {
                let count = (2 * dst.len()).min(src.len() / src_bytes);
                self.run(src, aux, &mut to[..count]);
                gather_nibbles(&to, &mut dst[..count.div_ceil(2)]);
            } else {
                self.run(src, aux, dst);
            }
        }
    }

    /// A given number of blocks, with room for their working values.
    #[inline(always)]
    fn convert<const BYTES: usize>(
        &self,
        blocks: usize,
        src: &[u8],
        aux: &[u8],
        dst: &mut [u8],
        [first, second]: &mut [[u8; BYTES]; 2],
    ) {
        let p = &self.parameters;
        match self.stages {
            (a, None, _) => a.run(p, blocks, src, aux, dst),
            (a, Some(b), None) => {
                a.run(p, blocks, src, aux, first);
                b.run(p, blocks, first, aux, dst);
            }
            (a, Some(b), Some(c)) => {
                a.run(p, blocks, src, aux, first);
                b.run(p, blocks, first, aux, second);
                c.run(p, blocks, second, aux, dst);
            }
        }
    }
}

/// The two codes of each byte to a byte each.
#[inline(always)]
pub(crate) fn spread_nibbles(packed: &[u8], codes: &mut [u8]) {
    let (pairs, _) = codes.as_chunks_mut();
    for (pair, &packed) in pairs.iter_mut().zip(packed) {
        let packed = u16::from(packed);
        *pair = ((packed | packed << 4) & 0x0f0f).to_le_bytes();
    }
}

/// The codes of two bytes to one byte.
#[inline(always)]
pub(crate) fn gather_nibbles(codes: &[u8], packed: &mut [u8]) {
    let (pairs, _) = codes.as_chunks();
    for (&pair, packed) in pairs.iter().zip(packed) {
        let pair = u16::from_le_bytes(pair);
        *packed = (pair | pair >> 4) as u8;
    }
}

// ---- the loops ----------------------------------------------------------------------------------------

/// The number in up to eight bytes.
#[inline(always)]
fn load<const B: usize>(bytes: &[u8; B]) -> u64 {
    let mut word = [0; 8];
    word[..B].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The low bytes of a number.
#[inline(always)]
fn store<const B: usize>(x: u64) -> [u8; B] {
    let bytes = x.to_le_bytes();
    std::array::from_fn(|n| bytes[n])
}

/// The elements of a number of blocks, each of `B` bytes.
#[inline(always)]
fn elements<const B: usize>(bytes: &[u8], blocks: usize) -> &[[[u8; B]; BLOCK]] {
    &bytes.as_chunks::<B>().0.as_chunks::<BLOCK>().0[..blocks]
}

/// As [`elements`], to be written.
#[inline(always)]
fn elements_mut<const B: usize>(bytes: &mut [u8], blocks: usize) -> &mut [[[u8; B]; BLOCK]] {
    &mut bytes.as_chunks_mut::<B>().0.as_chunks_mut::<BLOCK>().0[..blocks]
}

/// A format as a constant parameter.
const fn format_of(format: u8) -> Format {
    Format::ALL[format as usize]
}

/// A rounding as a constant parameter.
const fn rounding_of(rounding: u8) -> Rounding {
    Rounding::ALL[rounding as usize]
}

/// Loops, by what they make of an element `x` and of its auxiliary input. The numbers are the bytes of an element that
/// is read, of one that is written (or `B`), and of its auxiliary input.
macro_rules! loops {
    ($(
        $name:ident as $compiled:ident[$($parameter:ident)*], $from:tt to $to:tt $(with $aux:tt)?
            = |$p:ident, $x:ident $(, $extra:ident)?| $result:expr;
    )*) => {$(
        #[inline(always)]
        fn $name<C: Cpu, $(const $parameter: u8,)* const B: usize>(
            _: C,
            $p: &Parameters,
            blocks: usize,
            from: &[u8],
            _aux: &[u8],
            to: &mut [u8],
        ) {
            let from = elements::<$from>(from, blocks);
            let to = elements_mut::<$to>(to, blocks);
            loops!(@each from to $(_aux $aux blocks)?, |$x $(, $extra)?| $result);
        }

        multiversion! {
            fn $compiled[$(const $parameter: u8,)* const B: usize][$($parameter,)* B]
                (p: &Parameters, blocks: usize, from: &[u8], aux: &[u8], to: &mut [u8]): Stage = $name;
        }
    )*};
    (@each $elements:ident $to:ident, |$x:ident| $result:expr) => {
        for (from, to) in $elements.iter().zip($to) {
            for lane in 0..BLOCK {
                let $x = load(&from[lane]);
                to[lane] = store($result);
            }
        }
    };
    (@each $elements:ident $to:ident $aux:ident $bytes:tt $blocks:ident, |$x:ident, $extra:ident| $result:expr) => {
        for ((from, aux), to) in $elements.iter().zip(elements::<$bytes>($aux, $blocks)).zip($to) {
            for lane in 0..BLOCK {
                let ($x, $extra) = (load(&from[lane]), load(&aux[lane]) as u32);
                to[lane] = store($result);
            }
        }
    };
}

loops! {
    // From codes to working values.
    decode as decoders[SRC], B to 4 = |_p, x| body::decode(const { format_of(SRC) }, x as u32).into();
    decode_int as int_decoders[SRC], B to 4 = |_p, x| body::small_int(const { format_of(SRC) }, x).into();
    extend as extenders[SRC], B to 8 = |_p, x| int_value(const { format_of(SRC) }, x) as u64;
    fold as folders[SRC], B to 8 = |_p, x| body::folded_int(const { format_of(SRC) }, x);

    // From working values to others.
    round as integral_rounders[ROUNDING], 4 to B
        = |p, x| body::integral32(const { rounding_of(ROUNDING) }, p, x as u32).into();
    widen as wideners[], 4 to B = |p, x| body::widen(p, x as u32);
    rescale as rescalers[], 4 to B with 1 = |p, x, scale| body::rescale(p, x as u32, scale);

    // From working values to codes.
    encode32 as encoders32[DST ROUNDING], 4 to B
        = |p, x| body::encode(const { format_of(DST) }, const { rounding_of(ROUNDING) }, p, x as u32).into();
    encode64 as encoders64[DST ROUNDING], 8 to B
        = |p, x| body::encode(const { format_of(DST) }, const { rounding_of(ROUNDING) }, p, x);
    to_int32 as integers32[ROUNDING], 4 to B
        = |p, x| body::to_int(const { rounding_of(ROUNDING) }, p, x as u32).into();
    to_int64 as integers64[ROUNDING], 8 to B = |p, x| body::to_int(const { rounding_of(ROUNDING) }, p, x);
    clamp_int as integer_clamps[], 8 to B = |p, x| body::clamp_int(p, x as i64);
    clamp_float as float_clamps[], 8 to B = |p, x| body::clamped(p, x);
    integral64 as integral_rounders64[ROUNDING], 8 to B
        = |p, x| body::integral64(const { rounding_of(ROUNDING) }, p, x);
    round_u64 as integer_rounders[ROUNDING], 8 to B
        = |p, x| body::clamped(p, body::round_u64(const { rounding_of(ROUNDING) }, p, x));
    stochastic as random_rounders[DST], 4 to B with 2
        = |p, x, random| body::stochastic(const { format_of(DST) }, p, x as u32, random).into();
    to_exponent as exponents[], 4 to B = |p, x| body::to_exponent(p, x as u32).into();
    to_fixed as fixed_rounders[ROUNDING], 8 to B
        = |p, x| body::to_fixed(Format::S2f6, const { rounding_of(ROUNDING) }, p, x).into();
}

// ---- which loops --------------------------------------------------------------------------------------

/// The stages of a conversion, each of the level in use.
fn stages(c: Conversion) -> Option<(Stage, Option<Stage>, Option<Stage>)> {
    let widener = match c.scaling {
        Scaling::None => wideners::<8>(),
        _ => rescalers::<8>(),
    };
    // The binary32 of floats of at most 32 bits and of small integers: f32 is its own.
    let narrow = decoder(c.src);
    let narrow = |then: Option<Levels<Stage>>| {
        let then = then?.best();
        Some(match c.src {
            Format::F32 => (then, None, None),
            _ => (narrow?.best(), Some(then), None),
        })
    };
    // The binary64 of those, by way of binary32.
    let widened = |then: Option<Levels<Stage>>| match (narrow(Some(widener))?, then?.best()) {
        ((widen, None, _), then) => Some((widen, Some(then), None)),
        ((decode, widen, _), then) => Some((decode, widen, Some(then))),
    };
    // What is a binary64 or a 64-bit integer already.
    let wide = |then: Option<Levels<Stage>>| Some((then?.best(), None, None));
    let folded = |then: Option<Levels<Stage>>| Some((folder(c.src)?.best(), Some(then?.best()), None));
    let small = decoder(c.src).is_some();
    match (path(c), c.src, c.dst) {
        (Path::IntToInt, Format::U64 | Format::S64, _) => wide(integer_clamp(c.dst.bytes())),
        (Path::IntToInt, ..) => {
            Some((extender(c.src)?.best(), Some(integer_clamp(c.dst.bytes())?.best()), None))
        }
        (Path::IntToFloat | Path::Widen, _, Format::F64) if small => widened(Some(float_clamps::<8>())),
        (Path::IntToFloat, ..) if small => narrow(encoder32(c.dst, c.rounding)),
        (Path::IntToFloat, Format::U64 | Format::S64, Format::F64) => wide(integer_rounder(c.rounding)),
        (Path::IntToFloat, _, Format::F64) => folded(Some(float_clamps::<8>())),
        (Path::IntToFloat, ..) => folded(encoder64(c.dst, c.rounding)),
        (Path::FloatToInt, Format::F64, _) => wide(integer64(c.dst.bytes(), c.rounding)),
        (Path::FloatToInt, ..) if c.dst.bits() == 64 => widened(integer64(8, c.rounding)),
        (Path::FloatToInt, ..) => narrow(integer32(c.dst.bytes(), c.rounding)),
        (Path::Move | Path::Widen, Format::F64, _) => wide(Some(float_clamps::<8>())),
        (Path::Move | Path::Widen, ..) => {
            Some((extender(Format::U32)?.best(), Some(integer_clamp(4)?.best()), None))
        }
        (Path::By32, ..) => narrow(encoder32(c.dst, c.rounding)),
        (Path::By64, Format::F64, _) => wide(encoder64(c.dst, c.rounding)),
        (Path::By64, ..) => widened(encoder64(c.dst, c.rounding)),
        (Path::Integral, Format::F64, _) => wide(integral_rounder64(c.rounding)),
        (Path::Integral, ..) => {
            let encode = encoder32(c.dst, Rounding::NearestEven)?.best();
            match narrow(integral_rounder(c.rounding))? {
                (round, None, _) => Some((round, Some(encode), None)),
                (decode, round, _) => Some((decode, round, Some(encode))),
            }
        }
        (Path::Stochastic, ..) => narrow(random_rounder(c.dst)),
        (Path::ToExponent, ..) => narrow(Some(exponents::<1>())),
        (Path::ToFixed, ..) => widened(fixed_rounder(c.rounding)),
    }
}

/// Functions that find the loops for a format, a rounding, a count of bytes or two of these, among those listed.
macro_rules! choices {
    ($($name:ident: format = $($loops:ident[$($format:ident)*])*;)*) => {$(
        fn $name(format: Format) -> Option<Levels<Stage>> {
            Some(match format {
                $($(Format::$format => $loops::<{ Format::$format as u8 }, { Format::$format.bytes() }>(),)*)*
                _ => return None,
            })
        }
    )*};
    ($($name:ident: rounding = $loops:ident[$($rounding:ident)*] to $bytes:literal;)*) => {$(
        fn $name(rounding: Rounding) -> Option<Levels<Stage>> {
            Some(match rounding {
                $(Rounding::$rounding => $loops::<{ Rounding::$rounding as u8 }, $bytes>(),)*
                _ => return None,
            })
        }
    )*};
    ($($name:ident: format, rounding = $loops:ident $([$($format:ident)*] $roundings:tt)*;)*) => {$(
        fn $name(format: Format, rounding: Rounding) -> Option<Levels<Stage>> {
            match format {
                $($(Format::$format => choices!(@roundings $loops, $format as u8, $format.bytes(), rounding $roundings),)*)*
                _ => None,
            }
        }
    )*};
    ($($name:ident: bytes, rounding = $loops:ident[$($bytes:literal)*] $roundings:tt;)*) => {$(
        fn $name(bytes: usize, rounding: Rounding) -> Option<Levels<Stage>> {
            match bytes {
                $($bytes => choices!(@bytes $loops, $bytes, rounding $roundings),)*
                _ => None,
            }
        }
    )*};
    (@roundings $loops:ident, $format:ident as u8, $same:ident.bytes(), $given:ident [$($rounding:ident)*]) => {
        match one_direction($given) {
            $(Rounding::$rounding => Some(
                $loops::<{ Format::$format as u8 }, { Rounding::$rounding as u8 }, { Format::$same.bytes() }>(),
            ),)*
            _ => None,
        }
    };
    (@bytes $loops:ident, $bytes:literal, $given:ident [$($rounding:ident)*]) => {
        match one_direction($given) {
            $(Rounding::$rounding => Some($loops::<{ Rounding::$rounding as u8 }, $bytes>()),)*
            _ => None,
        }
    };
}

choices! {
    decoder: format = decoders[F16 Bf16 F32 E4m3 E5m2 E2m3 E3m2 E2m1 Ue8m0 Ue4m3 Ue5m3 S2f6] int_decoders[U8 S8 U16 S16];
    extender: format = extenders[U8 S8 U16 S16 U32 S32];
    folder: format = folders[U32 S32 U64 S64];
    random_rounder: format = random_rounders[F16 Bf16 E4m3 E5m2 E2m3 E3m2 E2m1];
}

choices! {
    encoder32: format, rounding = encoders32
        [F16 Bf16] [NearestEven TowardZero Up]
        [Tf32] [NearestEven NearestAway TowardZero]
        [F32] [NearestEven]
        [E4m3 E5m2 E2m3 E3m2 E2m1] [NearestEven TowardZero]
        [Ue4m3 Ue5m3] [NearestEven TowardZero Up];
    encoder64: format, rounding = encoders64
        [F16 Bf16 F32] [NearestEven TowardZero Up]
        [E4m3 E5m2 E2m3 E3m2 E2m1 Ue5m3] [NearestEven TowardZero];
}

choices! {
    integer32: bytes, rounding = integers32[1 2 4] [NearestEven TowardZero Up];
    integer64: bytes, rounding = integers64[1 2 4 8] [NearestEven TowardZero Up];
}

choices! {
    integral_rounder: rounding = integral_rounders[NearestEven TowardZero Down Up] to 4;
    integral_rounder64: rounding = integral_rounders64[NearestEven TowardZero Down Up] to 8;
    integer_rounder: rounding = integer_rounders[NearestEven TowardZero Down Up] to 8;
    fixed_rounder: rounding = fixed_rounders[NearestEven TowardZero] to 1;
}

/// The directed roundings share loops: the parameters say in which direction they round.
fn one_direction(rounding: Rounding) -> Rounding {
    if matches!(rounding, Rounding::Down) { Rounding::Up } else { rounding }
}

fn integer_clamp(bytes: usize) -> Option<Levels<Stage>> {
    Some(match bytes {
        1 => integer_clamps::<1>(),
        2 => integer_clamps::<2>(),
        4 => integer_clamps::<4>(),
        8 => integer_clamps::<8>(),
        _ => return None,
    })
}
