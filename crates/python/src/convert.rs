//! Conversions of arrays, and `cvt` on registers.

use crate::formats::{find, rounding_name};
use crate::pool::on_pool;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use softwarp::isa::cvt::OperandName;
use softwarp::isa::{CvtForm, Semantics, Type};
use softwarp::num::slice::convert_packed;
use softwarp::num::{
    Conversion, ConversionLoop, Cvt, Extra, Format, Kind, Packed, Rounding, Saturation, pack,
};
use softwarp_cli::widening::Widening;
use softwarp_cli::{arrays, names};
use std::borrow::Cow;

/// Elements that are converted at a time where there are several steps, or random bits.
const PIECE: usize = 1 << 16;

/// A step of a conversion.
#[allow(clippy::large_enum_variant, reason = "a conversion has three at most")]
enum Stage {
    Loop(ConversionLoop),
    /// From f64 to f32, rounded to odd: a later rounding gives what rounding the f64 would.
    Odd,
}

impl Stage {
    fn result(&self) -> Format {
        match self {
            Stage::Loop(one) => one.conversion().dst,
            Stage::Odd => Format::F32,
        }
    }

    fn run(&self, from: &[u8], random: &[u8], to: &mut [u8]) {
        match self {
            Stage::Loop(one) => one.run(from, random, to),
            Stage::Odd => {
                for (x, odd) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
                    *odd = arrays::to_odd(f64::from_le_bytes(*x)).to_le_bytes();
                }
            }
        }
    }
}

/// How elements of one format become those of another, with one rounding. Each takes whole bytes.
struct Plan {
    src: Format,
    dst: Format,
    stages: Vec<Stage>,
}

impl Plan {
    /// The conversion in as few steps as there are. All but the last are exact, or cannot be told from exact ones.
    fn new(src: Format, dst: Format, rounding: Rounding, saturate: Option<bool>) -> Option<Plan> {
        let last = |from: Format| direct(from, dst, rounding, saturate).map(Stage::Loop);
        let exact = |to: Format| {
            let exact = Conversion::new(src, to).compiled().map(Stage::Loop);
            exact.filter(|_| !src.is_int() && src.bits() <= 16 || src.is_int() && src.bits() <= 32)
        };
        // Rounding to odd leaves two bits more than the format has, and stochastic rounding wants more.
        let fits_odd = matches!(dst.spec().kind, Kind::Float { mantissa, .. } if mantissa <= 20)
            && rounding != Rounding::Stochastic;
        let stages = if src == dst {
            Vec::new()
        } else if let Some(one) = last(src) {
            vec![one]
        } else if src == Format::F64 {
            vec![Stage::Odd, last(Format::F32).filter(|_| fits_odd)?]
        } else if src.is_int() {
            vec![exact(Format::F64)?, Stage::Odd, last(Format::F32).filter(|_| fits_odd)?]
        } else {
            vec![exact(Format::F32)?, last(Format::F32)?]
        };
        Some(Plan { src, dst, stages })
    }

    /// Converts as many elements as there are, on all cores.
    fn run(&self, from: &[u8], seed: Option<u64>, to: &mut [u8]) {
        let whole_bytes = self.src.pitch() >= 8 && self.dst.pitch() >= 8;
        if let ([Stage::Loop(one)], true, None) = (self.stages.as_slice(), whole_bytes, seed) {
            return convert_packed(one, from, &[], to);
        }
        let pieces =
            from.par_chunks(PIECE * self.src.bytes()).zip(to.par_chunks_mut(PIECE * self.dst.bytes()));
        pieces.enumerate().for_each(|(number, (from, to))| self.piece(number * PIECE, from, seed, to));
    }

    fn piece(&self, first: usize, from: &[u8], seed: Option<u64>, to: &mut [u8]) {
        let elements = from.len() / self.src.bytes();
        let mut random = Vec::new();
        if let Some(seed) = seed {
            arrays::random_bits(seed, first as u64, elements, &mut random);
        }
        let Some((last, before)) = self.stages.split_last() else { return to.copy_from_slice(from) };
        let mut current = Cow::Borrowed(from);
        for stage in before {
            let mut next = vec![0; elements * stage.result().bytes()];
            stage.run(&current, &[], &mut next);
            current = Cow::Owned(next);
        }
        last.run(&current, &random, to);
    }
}

/// A conversion in one step, if there is one.
fn direct(src: Format, dst: Format, rounding: Rounding, saturate: Option<bool>) -> Option<ConversionLoop> {
    let conversion = Conversion::new(src, dst).with_rounding(rounding);
    let saturated = if dst.is_int() { Saturation::Clamp } else { Saturation::Finite };
    let wanted = match saturate {
        Some(true) => [saturated, saturated],
        Some(false) => [Saturation::None, Saturation::None],
        // As PTX has it: results narrower than 16 bits saturate where they can.
        None if !dst.is_int() && dst.bits() < 16 => [Saturation::Finite, Saturation::None],
        None => [Saturation::None, saturated],
    };
    let mut asked = wanted.into_iter().map(|saturation| (rounding, saturation));
    let compiled =
        |(rounding, saturation)| conversion.with_rounding(rounding).with_saturation(saturation).compiled();
    if let Some(found) = asked.find_map(compiled) {
        return Some(found);
    }
    // Conversions that are exact do not round, and some of them exist only with one rounding or saturation.
    let is_wide = matches!(
        (src, dst),
        (Format::F16 | Format::Bf16, Format::F32 | Format::F64) | (Format::F32, Format::F64)
    );
    let is_exact = is_wide || src.bits() <= 8 && Widening::new(src, dst).is_some();
    let others = [Rounding::NearestEven, Rounding::TowardZero]
        .into_iter()
        .flat_map(|rounding| [Saturation::None, Saturation::Finite].map(|saturation| (rounding, saturation)));
    others.filter(|_| is_exact).find_map(compiled)
}

/// Why there is no such conversion.
fn missing(src: Format, dst: Format, how: Rounding, saturate: Option<bool>) -> PyErr {
    let exists = |rounding: &Rounding| Plan::new(src, dst, *rounding, saturate).is_some();
    let others: Vec<&str> = Rounding::ALL.into_iter().filter(exists).map(rounding_name).collect();
    let with = match saturate {
        None => "",
        Some(false) => ", without saturation",
        Some(true) => ", with saturation",
    };
    let hint = match others.as_slice() {
        [] if saturate == Some(false) && Plan::new(src, dst, how, None).is_some() => {
            format!("; {dst} has neither infinity nor NaN, so that saturate=True is needed")
        }
        [] => String::new(),
        others => format!("; there is with {}", others.join(", ")),
    };
    let name = rounding_name(how);
    PyValueError::new_err(format!(
        "there is no conversion from {src} to {dst} with rounding {name}{with}{hint}"
    ))
}

/// Converts the elements in the bytes of `x` into those of `out`. Elements narrower than a byte take one.
#[pyfunction]
#[pyo3(signature = (x, out, from_, to, rounding, saturate, seed))]
#[allow(clippy::too_many_arguments, reason = "they are those of Python's function")]
pub fn convert(
    py: Python<'_>,
    x: PyReadonlyArray1<'_, u8>,
    mut out: PyReadwriteArray1<'_, u8>,
    from_: &str,
    to: &str,
    rounding: &str,
    saturate: Option<bool>,
    seed: Option<u64>,
) -> PyResult<()> {
    let (src, dst, how) = (find(from_)?, find(to)?, crate::formats::rounding(rounding)?);
    match (how, seed) {
        (Rounding::Stochastic, None) => {
            return Err(PyValueError::new_err("rounding rs takes random bits: give a seed"));
        }
        (Rounding::Stochastic, Some(_)) | (_, None) => {}
        (_, Some(_)) => return Err(PyValueError::new_err("a seed is for rounding rs")),
    }
    let plan = Plan::new(src, dst, how, saturate).ok_or_else(|| missing(src, dst, how, saturate))?;
    let (from, to) = (x.as_slice()?, out.as_slice_mut()?);
    if from.len() / src.bytes() != to.len() / dst.bytes() {
        return Err(PyValueError::new_err("the arrays have different numbers of elements"));
    }
    py.detach(|| on_pool(|| plan.run(from, seed, to)));
    Ok(())
}

/// Rounds f64 elements to f32 so that a second rounding, to fewer bits, gives what one rounding would.
#[pyfunction]
pub fn to_odd(
    py: Python<'_>,
    x: PyReadonlyArray1<'_, f64>,
    mut out: PyReadwriteArray1<'_, f32>,
) -> PyResult<()> {
    let (from, to) = (x.as_slice()?, out.as_slice_mut()?);
    py.detach(|| on_pool(|| from.par_iter().zip(to).for_each(|(x, odd)| *odd = arrays::to_odd(*x))));
    Ok(())
}

/// A register of a form: its operand's name, the format of its elements (`None` for bits that are no numbers), how
/// many there are, and its bits.
type Register = (&'static str, Option<&'static str>, u8, u32);

fn parse(form: &str) -> PyResult<CvtForm> {
    CvtForm::parse(&names::in_ptx(form)).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn register(form: CvtForm, name: OperandName) -> Register {
    let bits = form.operand_type(name).map_or(32, Type::bits);
    let packed = match name {
        OperandName::ScaleFactor => Some(Packed { element: Format::Ue8m0, lanes: (bits / 8) as u8 }),
        _ => form.operand_type(name).and_then(Type::packed),
    };
    (name.name(), packed.map(|packed| packed.element.name()), packed.map_or(1, |packed| packed.lanes), bits)
}

fn sources(form: CvtForm) -> Vec<OperandName> {
    let names = form.operands().iter().flat_map(|operand| operand.names());
    names.copied().filter(|name| *name != OperandName::D).collect()
}

/// A form of `cvt`: its full spelling, the registers that it reads, and the one that it writes.
#[pyfunction]
pub fn cvt_form(form: &str) -> PyResult<(String, Vec<Register>, Register)> {
    let form = parse(form)?;
    let result = match form.semantics() {
        Semantics::Cvt(cvt) => ("d", Some(cvt.element.dst.name()), cvt.lanes, cvt.dst().bits()),
        Semantics::Pack { .. } => ("d", None, 1, 32),
    };
    Ok((form.to_string(), sources(form).into_iter().map(|name| register(form, name)).collect(), result))
}

/// Runs a form on registers, an element of each array at a time.
#[pyfunction]
pub fn cvt(
    py: Python<'_>,
    form: &str,
    operands: Vec<PyReadonlyArray1<'_, u64>>,
    mut out: PyReadwriteArray1<'_, u64>,
) -> PyResult<()> {
    let form = parse(form)?;
    let names = sources(form);
    let registers = operands.iter().map(|one| one.as_slice()).collect::<Result<Vec<&[u64]>, _>>()?;
    let out = out.as_slice_mut()?;
    if registers.len() != names.len() || registers.iter().any(|one| one.len() != out.len()) {
        return Err(PyValueError::new_err(format!(
            "{form} takes {} operands of the same shape",
            names.len()
        )));
    }
    let of = |name| names.iter().position(|one| *one == name).map(|index| registers[index]);
    match form.semantics() {
        Semantics::Cvt(cvt) => {
            let compiled = cvt.compiled();
            let compiled =
                compiled.ok_or_else(|| PyValueError::new_err(format!("{form} is not implemented")))?;
            let sources = [OperandName::A, OperandName::B, OperandName::E, OperandName::F].map(of);
            let sources: Vec<&[u64]> = sources.into_iter().flatten().collect();
            let (rbits, scales) = (of(OperandName::Rbits), of(OperandName::ScaleFactor));
            let one = |(at, out): (usize, &mut u64)| {
                let usual = Extra::default();
                let extra = Extra {
                    rbits: rbits.map_or(usual.rbits, |bits| bits[at] as u32),
                    scale: scales.map_or(usual.scale, |scales| scales[at] as u16),
                };
                *out = evaluate(cvt, &compiled, sources.iter().map(|source| source[at]), extra);
            };
            py.detach(|| on_pool(|| out.par_iter_mut().enumerate().for_each(one)));
        }
        Semantics::Pack { to, with_c } => {
            let value = |name, at: usize| of(name).map_or(0, |values| values[at] as u32);
            for (at, out) in out.iter_mut().enumerate() {
                let c = with_c.then(|| value(OperandName::C, at));
                let (a, b) = (value(OperandName::A, at), value(OperandName::B, at));
                *out = pack(to, a as i32, b as i32, c).into();
            }
        }
    }
    Ok(())
}

/// What an instruction leaves in its destination.
fn evaluate(cvt: Cvt, compiled: &ConversionLoop, given: impl Iterator<Item = u64>, extra: Extra) -> u64 {
    let mut sources = [0; 4];
    sources.iter_mut().zip(given).for_each(|(to, from)| *to = from);
    let mut codes = [0; 4];
    for (lane, code) in (0..u32::from(cvt.lanes)).zip(&mut codes) {
        *code = compiled.one(cvt.source_code(&sources, lane), cvt.lane_extra(extra, lane));
    }
    cvt.dst().join(&codes[..usize::from(cvt.lanes).min(4)])
}
