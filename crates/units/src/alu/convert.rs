//! Conversions (PTX ISA section 9.7.9: `cvt`, `cvt.pack`).
//!
//! `softwarp-num` performs the conversions. One loop calls it for every form: `extra` is the form's index among all
//! forms. The commonest conversions have loops of their own; a test holds them equal to the others.
//!
//! A form of `cvt` to floats of fewer bits than the register, or to integers, leaves zeros above its result: if the
//! register is wider, an operation that extends follows.

use super::lane::each;
use super::single;
use super::{AluLoops, alu_loop};
use crate::alu::Inst;
use crate::lanes::{Frame, LANES};
use softwarp_isa::Type;
use softwarp_isa::cvt::{CvtForm, OperandName, Semantics};
use softwarp_isa::instruction::InstructionForm;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_num::half::{Bfloat16, Binary16, Half};
use softwarp_num::{ConversionLoop, Cvt, Extra, Format, pack};
use std::sync::LazyLock;

/// The loop for a form.
pub fn select(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    if form.opcode != Opcode::Cvt {
        return None;
    }
    if let Some(compiled) = common(form) {
        return Some((compiled, 0));
    }
    let form = CvtForm::from_words(&form.words)?;
    let place = FORMS.iter().position(|ready| ready.form == form)?;
    FORMS[place].can_run().then_some(())?;
    Some((alu_loop!(|frame, inst, mask| convert(frame, inst, mask)), u32::try_from(place).ok()?))
}

/// The loops of the commonest conversions: one register to one, without modifiers that change much.
fn common(form: &InstructionForm) -> Option<AluLoops> {
    use Type::{Bf16, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
    let &[to, from] = form.types.as_slice() else { return None };
    Some(match (form.modifiers.as_slice(), to, from) {
        // To as many bits or fewer, the low bits stay.
        (&[], U8 | S8, U8 | S8 | U16 | S16 | U32 | S32) => each!(|a: u32| a & 0xff),
        (&[], U16 | S16, U16 | S16 | U32 | S32) => each!(|a: u32| a & 0xffff),
        (&[], U32 | S32, U32 | S32) => each!(|a: u32| a),
        (&[], U64 | S64, U64 | S64) => each!(|a: u64| a),
        (&[], U8 | S8, U64 | S64) => each!(|a: u64| a as u32 & 0xff),
        (&[], U16 | S16, U64 | S64) => each!(|a: u64| a as u32 & 0xffff),
        (&[], U32 | S32, U64 | S64) => each!(|a: u64| a as u32),
        // To more, the source's sign says what comes above.
        (&[], U16 | S16, U8) => each!(|a: u32| a & 0xff),
        (&[], U16 | S16, S8) => each!(|a: u32| a as i8 as i16),
        (&[], U32 | S32, U8) => each!(|a: u32| a & 0xff),
        (&[], U32 | S32, S8) => each!(|a: u32| i32::from(a as i8)),
        (&[], U32 | S32, U16) => each!(|a: u16| u32::from(a)),
        (&[], U32 | S32, S16) => each!(|a: i16| i32::from(a)),
        (&[], U64 | S64, U8) => each!(|a: u32| u64::from(a as u8)),
        (&[], U64 | S64, S8) => each!(|a: u32| i64::from(a as i8)),
        (&[], U64 | S64, U16) => each!(|a: u16| u64::from(a)),
        (&[], U64 | S64, S16) => each!(|a: i16| i64::from(a)),
        (&[], U64 | S64, U32) => each!(|a: u32| u64::from(a)),
        (&[], U64 | S64, S32) => each!(|a: i32| i64::from(a)),

        (&[Modifier::Rn], F32, F64) => each!(|a: f64| narrowed(a)),
        (&[], F64, F32) => each!(|a: f32| widened(a)),
        (&[Modifier::Rn], F16, F32) => each!(|a: f32| Binary16::narrow(a)),
        (&[Modifier::Rn], Bf16, F32) => each!(|a: f32| Bfloat16::narrow(a)),
        (&[], F32, F16) => each!(|a: u16| single::bits(Binary16::widen(a))),
        (&[], F32, Bf16) => each!(|a: u16| Bfloat16::widen(a)),
        _ => return common_rounded(form.modifiers.as_slice(), to, from),
    })
}

/// The same, of those between integers and floats, and of floats to whole numbers. NaN is 0, or the sign bit alone where
/// 64 bits are on either side. A subnormal that is flushed makes no difference to the two roundings that have `.ftz` here.
fn common_rounded(modifiers: &[Modifier], to: Type, from: Type) -> Option<AluLoops> {
    use Modifier::{Ftz, Rmi, Rn, Rni, Rpi, Rzi, Sat};
    use Type::{F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
    Some(match (modifiers, to, from) {
        (&[Rn], F32, U8) => each!(|a: u32| f32::from(a as u8)),
        (&[Rn], F32, S8) => each!(|a: u32| f32::from(a as i8)),
        (&[Rn], F32, U16) => each!(|a: u16| f32::from(a)),
        (&[Rn], F32, S16) => each!(|a: i16| f32::from(a)),
        (&[Rn], F32, S32) => each!(|a: i32| a as f32),
        (&[Rn], F32, U32) => each!(|a: u32| a as f32),
        (&[Rn], F32, S64) => each!(|a: i64| a as f32),
        (&[Rn], F32, U64) => each!(|a: u64| a as f32),
        (&[Rn], F64, S32) => each!(|a: i32| f64::from(a)),
        (&[Rn], F64, U32) => each!(|a: u32| f64::from(a)),
        (&[Rn], F64, S64) => each!(|a: i64| a as f64),
        (&[Rn], F64, U64) => each!(|a: u64| a as f64),

        (&[Rzi] | &[Rzi, Ftz], S32, F32) => each!(|a: f32| if a.is_nan() { 0 } else { a as i32 }),
        (&[Rzi] | &[Rzi, Ftz], U32, F32) => each!(|a: f32| a as u32),
        (&[Rzi] | &[Rzi, Ftz], S64, F32) => each!(|a: f32| if a.is_nan() { i64::MIN } else { a as i64 }),
        (&[Rzi] | &[Rzi, Ftz], U64, F32) => each!(|a: f32| if a.is_nan() { 1 << 63 } else { a as u64 }),
        (&[Rzi], S32, F64) => each!(|a: f64| if a.is_nan() { i32::MIN } else { a as i32 }),
        (&[Rzi], U32, F64) => each!(|a: f64| if a.is_nan() { 1 << 31 } else { a as u32 }),
        (&[Rzi], S64, F64) => each!(|a: f64| if a.is_nan() { i64::MIN } else { a as i64 }),
        (&[Rzi], U64, F64) => each!(|a: f64| if a.is_nan() { 1 << 63 } else { a as u64 }),
        (&[Rni] | &[Rni, Ftz], S32, F32) => each!(|a: f32| a.round_ties_even() as i32),
        (&[Rmi], S32, F32) => each!(|a: f32| a.floor() as i32),
        (&[Rpi], S32, F32) => each!(|a: f32| a.ceil() as i32),

        (&[Rni], F32, F32) => each!(|a: f32| single::bits(a.round_ties_even())),
        (&[Rzi], F32, F32) => each!(|a: f32| single::bits(a.trunc())),
        (&[Rmi], F32, F32) => each!(|a: f32| single::bits(a.floor())),
        (&[Rpi], F32, F32) => each!(|a: f32| single::bits(a.ceil())),
        (&[Sat], F32, F32) => each!(|a: f32| if a > 0.0 { a.min(1.0) } else { 0.0 }),
        (&[Rni], F64, F64) => each!(|a: f64| whole(a, a.round_ties_even())),
        (&[Rzi], F64, F64) => each!(|a: f64| whole(a, a.trunc())),
        (&[Rmi], F64, F64) => each!(|a: f64| whole(a, a.floor())),
        (&[Rpi], F64, F64) => each!(|a: f64| whole(a, a.ceil())),
        _ => return None,
    })
}

/// The bits of an f64 that was rounded to a whole number: a NaN becomes quiet and stays otherwise.
#[inline(always)]
fn whole(a: f64, rounded: f64) -> u64 {
    if a.is_nan() { a.to_bits() | 1 << 51 } else { rounded.to_bits() }
}

/// An f64 as an f32: NaNs become quiet and keep what fits of their payload.
#[inline(always)]
fn narrowed(x: f64) -> u32 {
    let bits = x.to_bits();
    let nan = (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x3f_ffff;
    if x.is_nan() { nan } else { (x as f32).to_bits() }
}

/// An f32 as an f64, likewise.
#[inline(always)]
fn widened(x: f32) -> u64 {
    let bits = u64::from(x.to_bits());
    let nan = (bits & 0x8000_0000) << 32 | 0x7ff8 << 48 | (bits & 0x3f_ffff) << 29;
    if x.is_nan() { nan } else { f64::from(x).to_bits() }
}

/// A form and the code that runs it.
struct Ready {
    form: CvtForm,
    semantics: Semantics,
    compiled: Option<ConversionLoop>,
    /// Whether its operands are in rows of 64-bit words.
    wide: bool,
    wide_result: bool,
    scaled: bool,
    random: bool,
}

impl Ready {
    fn new(form: CvtForm) -> Ready {
        let semantics = form.semantics();
        let compiled = match semantics {
            Semantics::Cvt(cvt) => cvt.compiled(),
            Semantics::Pack { .. } => None,
        };
        let wide = |name| form.operand_type(name).is_some_and(|ty| ty.bits() > 32);
        Ready {
            form,
            semantics,
            compiled,
            wide: wide(OperandName::A),
            wide_result: wide(OperandName::D),
            scaled: form.has_operand(OperandName::ScaleFactor),
            random: form.has_operand(OperandName::Rbits),
        }
    }

    fn can_run(&self) -> bool {
        self.compiled.is_some() || matches!(self.semantics, Semantics::Pack { .. })
    }
}

static FORMS: LazyLock<Vec<Ready>> = LazyLock::new(|| CvtForm::all().map(Ready::new).collect());

/// The loop of every form: sources as the operands say, then random bits or scales.
fn convert(frame: &mut Frame, inst: &Inst, mask: u32) {
    let Some(ready) = FORMS.get((inst.extra & 0xffff) as usize) else { return };
    match (ready.semantics, ready.compiled) {
        (Semantics::Cvt(cvt), Some(compiled)) => elements(frame, inst, mask, ready, cvt, compiled),
        (Semantics::Pack { to, with_c }, _) => {
            let [a, b] = [0, 1].map(|source| frame.row::<u32>(inst.s[source]));
            let c = with_c.then(|| frame.row::<u32>(inst.s[2]));
            let mut d = [0; LANES];
            for lane in 0..LANES {
                d[lane] = pack(to, a[lane] as i32, b[lane] as i32, c.map(|c| c[lane]));
            }
            frame.set_row(inst.d[0], d, mask);
        }
        _ => {}
    }
}

/// Converts all elements of all lanes in one go.
fn elements(frame: &mut Frame, inst: &Inst, mask: u32, ready: &Ready, cvt: Cvt, compiled: ConversionLoop) {
    let sources = cvt.sources().min(4);
    let with = (ready.scaled || ready.random).then(|| frame.row::<u32>(inst.s[sources]));
    let extra = |lane: usize| match with {
        Some(row) if ready.scaled => Extra { scale: row[lane] as u16, ..Extra::default() },
        Some(row) => Extra { rbits: row[lane], ..Extra::default() },
        None => Extra::default(),
    };
    let auxiliary = compiled.aux_bytes();
    let (from, to) = (cvt.element.src.bytes(), cvt.element.dst.bytes());
    let per_lane = usize::from(cvt.lanes).min(4);
    let (mut codes, mut aux, mut results) =
        ([0u8; 8 * 4 * LANES], [0u8; 4 * 4 * LANES], [0u8; 8 * 4 * LANES]);
    let source = |source: usize| match ready.wide {
        true => frame.row::<u64>(inst.s[source]),
        false => frame.row::<u32>(inst.s[source]).map(u64::from),
    };
    if is_whole(cvt.element.src) {
        for number in 0..sources {
            // Of several sources, the last has the lowest element.
            let (bytes, at) = match cvt.packed_source {
                true => (per_lane * from, 0),
                false => (from, (per_lane - 1 - number) * from),
            };
            let codes = codes[at..].chunks_mut(per_lane * from);
            match bytes {
                1 => put_bytes::<1>(&source(number), codes),
                2 => put_bytes::<2>(&source(number), codes),
                4 => put_bytes::<4>(&source(number), codes),
                _ => put_bytes::<8>(&source(number), codes),
            }
        }
    } else {
        let rows: [[u64; LANES]; 4] =
            std::array::from_fn(|number| if number < sources { source(number) } else { [0; LANES] });
        for lane in 0..LANES {
            let registers = rows.map(|row| row[lane]);
            for element in 0..per_lane {
                let code = cvt.source_code(&registers[..sources], element as u32);
                let at = lane * per_lane + element;
                codes[at * from..][..from].copy_from_slice(&code.to_le_bytes()[..from]);
            }
        }
    }
    if auxiliary > 0 {
        for at in 0..LANES * per_lane {
            let value = cvt.lane_extra(extra(at / per_lane), (at % per_lane) as u32).to_le_bytes();
            aux[at * auxiliary..][..auxiliary].copy_from_slice(&value[..auxiliary]);
        }
    }
    let count = LANES * per_lane;
    compiled.run(&codes[..count * from], &aux[..count * auxiliary], &mut results[..count * to]);
    let mut d = [0u64; LANES];
    match (is_whole(cvt.element.dst), per_lane * to) {
        (true, 1) => take_bytes::<1>(&mut d, &results),
        (true, 2) => take_bytes::<2>(&mut d, &results),
        (true, 4) => take_bytes::<4>(&mut d, &results),
        (true, 8) => take_bytes::<8>(&mut d, &results),
        _ => {
            for (d, codes) in d.iter_mut().zip(results.chunks_exact(per_lane * to)) {
                let mut elements = [0u64; 4];
                for (element, code) in elements.iter_mut().zip(codes.chunks_exact(to)) {
                    let mut bytes = [0; 8];
                    bytes[..to].copy_from_slice(code);
                    *element = u64::from_le_bytes(bytes);
                }
                *d = cvt.dst().join(&elements[..per_lane]);
            }
        }
    }
    if ready.wide_result {
        frame.set_row(inst.d[0], d, mask);
    } else {
        frame.set_row(inst.d[0], d.map(|d| d as u32), mask);
    }
}

/// Whether the elements of a format fill bytes: in a register they lie as in memory.
fn is_whole(format: Format) -> bool {
    format.bits() as usize == 8 * format.bytes()
}

/// Writes the lowest bytes of registers to the beginnings of chunks.
#[inline(always)]
fn put_bytes<const N: usize>(row: &[u64; LANES], chunks: std::slice::ChunksMut<'_, u8>) {
    for (word, chunk) in row.iter().zip(chunks) {
        if let (Some(to), Some(from)) = (chunk.first_chunk_mut::<N>(), word.to_le_bytes().first_chunk::<N>())
        {
            *to = *from;
        }
    }
}

/// Registers of bytes that lie one behind the other.
#[inline(always)]
fn take_bytes<const N: usize>(row: &mut [u64; LANES], bytes: &[u8]) {
    for (word, from) in row.iter_mut().zip(bytes.as_chunks::<N>().0) {
        let mut whole = [0; 8];
        whole[..N].copy_from_slice(from);
        *word = u64::from_le_bytes(whole);
    }
}
