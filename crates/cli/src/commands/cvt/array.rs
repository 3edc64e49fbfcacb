//! `softwarp cvt --input`: a whole array, a slab at a time.

use super::{Args, CommandError, Printed};
use crate::arrays::{self, ArrayConversion};
use crate::commands::files::{self, Input, Output};
use crate::commands::progress::Progress;
use crate::commands::sources;
use crate::literal::Literal;
use crate::npy::Reader;
use crate::widening::Widening;
use serde_json::json;
use softwarp::isa::{CvtForm, Semantics};
use softwarp::num::{Cvt, Format};
use std::io::Write;
use std::path::Path;

/// Elements converted at a time: 64 MiB of f32. Even, so that slabs of 4-bit codes begin on a byte.
const SLAB: u64 = 16 << 20;

/// Where each element's scale or random bits come from.
enum Auxiliary {
    None,
    Seed(u64),
    Scale(u8),
    File(Reader<Input>, Format, String),
}

/// Converts the array in `input` by a form into a new one at `output`.
pub fn run(form: CvtForm, args: &Args, input: &Path, output: &Path) -> Result<Printed, CommandError> {
    let Semantics::Cvt(cvt) = form.semantics() else {
        return Err(CommandError::Usage(format!("{form} takes no arrays: give its operands as values")));
    };
    let compiled = cvt.compiled().ok_or_else(|| CommandError::Usage(format!("{form} is not implemented")))?;
    check_options(form, cvt, args)?;
    let files = [Some(input.to_owned()), args.rbits.clone(), args.scales.clone()];
    sources::only_one_standard_input(&files.into_iter().flatten().collect::<Vec<_>>())?;
    let reader = files::open_array(input)?;
    let plan = arrays::plan(cvt, &reader.header)
        .map_err(|error| CommandError::input(sources::name(input), error))?;
    let auxiliary = auxiliary(args, &plan)?;
    let step =
        |from: &[u8], extra: &[u8], _, to: &mut [u8]| arrays::convert_packed(&compiled, from, extra, to);
    convert(&form.to_string(), args, (input, reader), auxiliary, &plan, output, step)
}

/// Converts the array in `input` by an exact conversion into a new one at `output`.
pub fn widen(widening: &Widening, args: &Args, input: &Path, output: &Path) -> Result<Printed, CommandError> {
    let name = super::direct::name(widening);
    if args.seed.is_some() || args.rbits.is_some() || args.scale.is_some() || args.scales.is_some() {
        return Err(CommandError::Usage(format!("{name} is exact: it takes neither random bits nor scales")));
    }
    let reader = files::open_array(input)?;
    let plan = arrays::plan_elements(widening.src, widening.dst, &reader.header)
        .map_err(|error| CommandError::input(sources::name(input), error))?;
    let step = |from: &[u8], _: &[u8], elements, to: &mut [u8]| widening.run(from, elements, to);
    convert(&name, args, (input, reader), Auxiliary::None, &plan, output, step)
}

/// Converts an array a slab at a time, by a step that is given elements, what goes with them, how many they are, and
/// where the results go.
fn convert(
    name: &str,
    args: &Args,
    (input, mut reader): (&Path, Reader<Input>),
    mut auxiliary: Auxiliary,
    plan: &ArrayConversion,
    output: &Path,
    step: impl Fn(&[u8], &[u8], usize, &mut [u8]),
) -> Result<Printed, CommandError> {
    Output::unless_both_to_stdout(output, args.json)?;
    let mut out = Output::create(output)?;
    let progress = Progress::new(plan.elements, "elements");
    out.file.write_all(&plan.output.to_bytes()).map_err(|error| out.failure(error))?;
    let (mut from, mut extra, mut to) = (Vec::new(), Vec::new(), Vec::new());
    let mut done = 0;
    while done < plan.elements {
        let elements = SLAB.min(plan.elements - done);
        let bytes = |format| arrays::bytes(format, elements).unwrap_or(u64::MAX);
        reader
            .next(bytes(plan.src), &mut from)
            .map_err(|error| CommandError::input(sources::name(input), error))?;
        auxiliary.fill(done, elements, &mut extra)?;
        to.resize(bytes(plan.dst) as usize, 0);
        step(&from, &extra, elements as usize, &mut to);
        out.file.write_all(&to).map_err(|error| out.failure(error))?;
        done += elements;
        progress.at(done);
    }
    out.keep()?;
    Ok(report(name, args, plan, progress.finish().as_secs_f64()))
}

fn report(name: &str, args: &Args, plan: &ArrayConversion, seconds: f64) -> Printed {
    let bytes = |format| arrays::bytes(format, plan.elements).unwrap_or(0);
    let bytes = bytes(plan.src) + bytes(plan.dst);
    let rate = bytes as f64 / seconds.max(1e-9) / 1e9;
    if args.json {
        let shape = &plan.output.shape;
        let dtype = plan.output.dtype.to_string();
        let report = json!({
            "form": name, "elements": plan.elements, "shape": shape, "dtype": dtype,
            "bytes": bytes, "seconds": seconds,
        });
        return crate::commands::json(&report).into();
    }
    let digits = if seconds < 0.1 { 6 } else { 3 };
    crate::commands::remark(&format!(
        "{} elements in {seconds:.digits$} s, {rate:.2} GB/s read and written",
        plan.elements
    ));
    Printed::default()
}

/// Checks that the form gets the auxiliary input it takes and no other.
fn check_options(form: CvtForm, cvt: Cvt, args: &Args) -> Result<(), CommandError> {
    let random = args.seed.is_some() || args.rbits.is_some();
    let scaled = args.scale.is_some() || args.scales.is_some();
    let wanted = arrays::auxiliary(cvt);
    match wanted {
        Some(Format::U16) if !random => {
            Err(CommandError::Usage(format!("{form} takes random bits: give --seed or --rbits")))
        }
        Some(Format::Ue8m0) if !scaled => {
            Err(CommandError::Usage(format!("{form} takes scales: give --scale or --scales")))
        }
        _ if random && wanted != Some(Format::U16) => {
            Err(CommandError::Usage(format!("{form} takes no random bits: --seed and --rbits are for .rs")))
        }
        _ if scaled && wanted != Some(Format::Ue8m0) => Err(CommandError::Usage(format!(
            "{form} takes no scales: --scale and --scales are for .scaled::…"
        ))),
        _ => Ok(()),
    }
}

fn auxiliary(args: &Args, plan: &ArrayConversion) -> Result<Auxiliary, CommandError> {
    if let Some(seed) = args.seed {
        return Ok(Auxiliary::Seed(seed));
    }
    if let Some(text) = &args.scale {
        let in_option = |error: &dyn std::fmt::Display| CommandError::Usage(format!("--scale: {error}"));
        let literal = Literal::parse(text).map_err(|error| in_option(&error))?;
        let encoded = literal.encode(Format::Ue8m0).map_err(|error| in_option(&error))?;
        if !encoded.exact {
            let why = format!("{} is not a power of two; a ue8m0 code is written as in 0x7f", literal.text());
            return Err(in_option(&why));
        }
        return Ok(Auxiliary::Scale(encoded.code as u8));
    }
    let (path, format) = match (&args.rbits, &args.scales) {
        (Some(path), _) => (path, Format::U16),
        (None, Some(path)) => (path, Format::Ue8m0),
        (None, None) => return Ok(Auxiliary::None),
    };
    let reader = files::open_array(path)?;
    arrays::check_auxiliary(plan, &reader.header, format)
        .map_err(|error| CommandError::input(sources::name(path), error))?;
    Ok(Auxiliary::File(reader, format, sources::name(path)))
}

impl Auxiliary {
    /// Puts what elements `first`, `first + 1`, … get into `buffer`, which it replaces.
    fn fill(&mut self, first: u64, elements: u64, buffer: &mut Vec<u8>) -> Result<(), CommandError> {
        match self {
            Auxiliary::None => buffer.clear(),
            Auxiliary::Seed(seed) => arrays::random_bits(*seed, first, elements as usize, buffer),
            Auxiliary::Scale(code) => {
                buffer.clear();
                buffer.resize(elements as usize, *code);
            }
            Auxiliary::File(reader, format, name) => {
                let bytes = arrays::bytes(*format, elements).unwrap_or(u64::MAX);
                reader.next(bytes, buffer).map_err(|error| CommandError::input(name, error))?;
            }
        }
        Ok(())
    }
}
