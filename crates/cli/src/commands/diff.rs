//! `softwarp diff`: how far the elements of two arrays are apart, in units in the last place.
//!
//! The JSON object, whose keys stay as they are: `a`, `b` (the files), `type`, `shape`, `elements`, `equal` (bit by
//! bit), `differ` (elements whose values differ), `beyond` (those farther apart than `max_ulp_allowed`, or NaN in one),
//! `max_ulp_allowed`, `nan_in_one`, `zeros_of_other_sign`, `not_finite` (differing elements without an error in
//! numbers), `first`, `max_ulp`, `max_abs_error`, `max_rel_error` (each null, or `index`, `a`, `b`, `a_bits`,
//! `b_bits`, `ulp` and `error`) and `histogram` (a list of `from`, `to`, `elements`).

use super::checking::count;
use super::files::{self, Input};
use super::progress::Progress;
use super::{CommandError, Printed, columns, sources};
use crate::arrays::{self, ArrayError};
use crate::differences::{Difference, Differences};
use crate::literal::{display, display_f64};
use crate::names;
use crate::npy::{DType, Reader};
use serde_json::{Value as Json, json};
use softwarp::num::Format;
use std::path::{Path, PathBuf};

/// Compare two arrays of numbers: how many elements differ, by how many ulp, and where
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The .npy array to compare with; `-` is standard input
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other .npy array, of the same shape
    #[arg(value_name = "B")]
    b: PathBuf,
    /// What the arrays hold, as in e4m3; without it, what their dtype says
    #[arg(long = "type", value_name = "FORMAT")]
    format: Option<String>,
    /// The largest distance that is accepted
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_ulp: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
A distance in ulp is the number of steps between two values through all values of the format:
  +0 and -0 are one value (and are counted); infinity is one step above the largest number
  two NaN are equal, whatever their bits; NaN in one array only is beyond every distance
Errors are those of elements that are finite in both; relative ones are relative to A, where A is not 0.
Exit 0 if no element is farther apart than --max-ulp, 1 if one is or the shapes differ, 2 for a usage error, or
if a file or stream cannot be read or written.

Examples:
  softwarp diff reference.npy result.npy
  softwarp diff --type e4m3 --max-ulp 1 a.npy b.npy --json";

/// Elements that are compared at a time.
const SLAB: u64 = 1 << 20;

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    sources::only_one_standard_input(&[args.a.clone(), args.b.clone()])?;
    let given = args.format.as_deref().map(names::format).transpose().map_err(CommandError::Usage)?;
    let (mut a, mut b) = (files::open_array(&args.a)?, files::open_array(&args.b)?);
    let format = match given {
        Some(format) => format,
        None => usual(a.header.dtype).ok_or_else(|| {
            let message =
                format!("the array holds {}: say what that is by --type, as in --type bf16", a.header.dtype);
            CommandError::Usage(format!("{}: {message}", sources::name(&args.a)))
        })?,
    };
    let shape = shape(&args.a, &a, format)?;
    let other = self::shape(&args.b, &b, format)?;
    if shape != other {
        let error = ArrayError::Shape { found: other, wanted: shape };
        return Err(CommandError::input(sources::name(&args.b), error));
    }
    let elements = crate::npy::elements(&shape)
        .ok_or_else(|| CommandError::input(sources::name(&args.a), ArrayError::TooLarge))?;
    let mut differences = Differences::new(format, args.max_ulp);
    let progress = Progress::new(elements, "elements");
    let (mut left, mut from_a, mut from_b) = (elements, Vec::new(), Vec::new());
    while left > 0 {
        let some = SLAB.min(left);
        let bytes = arrays::bytes(format, some).unwrap_or(u64::MAX);
        a.next(bytes, &mut from_a).map_err(|error| CommandError::input(sources::name(&args.a), error))?;
        b.next(bytes, &mut from_b).map_err(|error| CommandError::input(sources::name(&args.b), error))?;
        differences.add(&from_a, &from_b, some);
        left -= some;
        progress.at(elements - left);
    }
    progress.finish();
    let report = Report { args, shape: &shape, differences: &differences };
    let text = if args.json { super::json(&report.json()) } else { report.text() };
    Ok(Printed { text, failure: (differences.beyond > 0).then_some(CommandError::Reported(1)) })
}

/// The format that a dtype says.
fn usual(dtype: DType) -> Option<Format> {
    Some(match (dtype.kind, dtype.size) {
        ('f', 2) => Format::F16,
        ('f', 4) => Format::F32,
        ('f', 8) => Format::F64,
        ('i', 1) => Format::S8,
        ('i', 2) => Format::S16,
        ('i', 4) => Format::S32,
        ('i', 8) => Format::S64,
        ('u', 1) => Format::U8,
        ('u', 2) => Format::U16,
        ('u', 4) => Format::U32,
        ('u', 8) => Format::U64,
        _ => return None,
    })
}

/// The shape in elements of an array that must hold a format.
fn shape(path: &Path, reader: &Reader<Input>, format: Format) -> Result<Vec<usize>, CommandError> {
    let in_file = |error| CommandError::input(sources::name(path), error);
    arrays::check_dtype(&reader.header, format).map_err(in_file)?;
    arrays::element_shape(format, &reader.header.shape)
        .ok_or_else(|| in_file(ArrayError::Lanes { axis: 1, lanes: 2 }))
}

/// What there is to say.
struct Report<'a> {
    args: &'a Args,
    shape: &'a [usize],
    differences: &'a Differences,
}

impl Report<'_> {
    /// The index of an element along each axis.
    fn index(&self, mut place: u64) -> Vec<u64> {
        let mut index = vec![0; self.shape.len()];
        for (at, &axis) in index.iter_mut().zip(self.shape).rev() {
            *at = place % axis.max(1) as u64;
            place /= axis.max(1) as u64;
        }
        index
    }

    fn text(&self) -> String {
        let all = self.differences;
        let format = all.format;
        let names = format!("{} and {}", sources::name(&self.args.a), sources::name(&self.args.b));
        let mut text = format!("{names}: {} elements of {format}\n", all.elements);
        let zeros = match all.zeros_of_other_sign {
            0 => String::new(),
            zeros => format!("; {} of the other sign", count((zeros as usize, "zero"))),
        };
        if all.differ == 0 {
            let how = if all.equal { "equal, bit by bit" } else { "equal in value, not bit by bit" };
            text.push_str(&format!("{how}{zeros}\n"));
            return text;
        }
        let share = 100.0 * all.differ as f64 / all.elements as f64;
        let beyond = match all.allowed {
            0 => String::new(),
            allowed => format!(", {} of them by more than {allowed} ulp", all.beyond),
        };
        text.push_str(&format!("{} differ ({share:.3} %){beyond}{zeros}\n", all.differ));
        let mut rows = Vec::new();
        let mut row = |name: &str, size: String, difference: &Option<Difference>| {
            if let Some(one) = difference {
                let index: Vec<String> = self.index(one.place).iter().map(u64::to_string).collect();
                let digits = format.bits().div_ceil(4) as usize;
                let code = |code: u64| format!("{} (0x{code:0digits$x})", display(format, code));
                let values = format!("{} and {}", code(one.a), code(one.b));
                rows.push(vec![name.to_owned(), size, format!("[{}]", index.join(", ")), values]);
            }
        };
        let size =
            |difference: &Option<Difference>| difference.map_or(String::new(), |one| rounded(one.error));
        row("first", String::new(), &all.first);
        row(
            "max ulp",
            all.max_ulp.and_then(|one| one.ulp).map_or(String::new(), |ulp| ulp.to_string()),
            &all.max_ulp,
        );
        row("max abs error", size(&all.max_abs), &all.max_abs);
        row("max rel error", size(&all.max_rel), &all.max_rel);
        text.push_str(&columns(&rows));
        text.push_str(&format!("\n{}", self.histogram()));
        text
    }

    fn histogram(&self) -> String {
        let mut rows = vec![["ulp", "elements"].map(str::to_owned).to_vec()];
        for (from, to, count) in self.differences.histogram() {
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            rows.push(vec![range, count.to_string()]);
        }
        if self.differences.nan_in_one > 0 {
            rows.push(vec!["NaN in one".to_owned(), self.differences.nan_in_one.to_string()]);
        }
        columns(&rows)
    }

    fn json(&self) -> Json {
        let all = self.differences;
        let format = all.format;
        let place = |difference: &Option<Difference>| match difference {
            None => Json::Null,
            Some(one) => json!({
                "index": self.index(one.place),
                "a": super::json_value(format, one.a), "b": super::json_value(format, one.b),
                "a_bits": format!("{:#x}", one.a), "b_bits": format!("{:#x}", one.b),
                "ulp": one.ulp, "error": super::json_number(one.error),
            }),
        };
        let histogram = all.histogram().into_iter();
        let histogram: Vec<Json> =
            histogram.map(|(from, to, count)| json!({"from": from, "to": to, "elements": count})).collect();
        json!({
            "a": sources::name(&self.args.a), "b": sources::name(&self.args.b), "type": format.name(),
            "shape": self.shape, "elements": all.elements, "equal": all.equal, "differ": all.differ,
            "beyond": all.beyond, "max_ulp_allowed": all.allowed, "nan_in_one": all.nan_in_one,
            "zeros_of_other_sign": all.zeros_of_other_sign, "not_finite": all.not_finite,
            "first": place(&all.first), "max_ulp": place(&all.max_ulp),
            "max_abs_error": place(&all.max_abs), "max_rel_error": place(&all.max_rel),
            "histogram": histogram,
        })
    }
}

/// A number in six digits.
fn rounded(x: f64) -> String {
    display_f64(format!("{x:.5e}").parse().unwrap_or(x))
}
