//! `softwarp cvt`: numbers, or arrays of numbers, converted by a form of PTX's `cvt`.

mod array;
mod direct;
mod list;

use super::{CommandError, Printed, checking};
use softwarp::isa::{CvtForm, VersionError};
use softwarp_report::cvt::{self, Question, Verdict};
use std::path::PathBuf;

/// Convert numbers or arrays by a form of PTX's cvt, and say what happened
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The form, with or without `cvt.`, as in rn.satfinite.e4m3x2.f32; or TO.FROM, as in f32.e4m3, for an exact
    /// conversion to a wider format
    #[arg(required_unless_present = "list")]
    form: Option<String>,
    /// The operands in PTX's order; without any, the form is described
    values: Vec<String>,
    /// List the forms instead: all, those of a source format (--list e4m3), or those to another one too
    /// (--list f32 e4m3)
    #[arg(long, conflicts_with_all = ["input", "output"])]
    list: bool,
    /// Convert this .npy array; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "output", conflicts_with = "values")]
    input: Option<PathBuf>,
    /// Where the converted array goes; `-` is standard output
    #[arg(long, value_name = "FILE", requires = "input")]
    output: Option<PathBuf>,
    /// Random bits for an array under .rs: those of splitmix64 from this seed
    #[arg(long, value_name = "N", requires = "input", conflicts_with = "rbits")]
    seed: Option<u64>,
    /// Random bits for an array under .rs: a .npy array of <u2, one for each element; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "input")]
    rbits: Option<PathBuf>,
    /// Scale for a whole array: a power of two such as 2^-3 or 0.125, or a ue8m0 code such as 0x7c
    #[arg(long, value_name = "SCALE", requires = "input", conflicts_with = "scales")]
    scale: Option<String>,
    /// Scales for an array: a .npy array of ue8m0 codes (|u1), one for each element; `-` is standard input
    #[arg(long, value_name = "FILE", requires = "input")]
    scales: Option<PathBuf>,
    /// Say whether the form is legal on this GPU, as in sm_90a; exit 1 if not. With --list, leave out the others
    #[arg(long, value_name = "SM", alias = "target")]
    arch: Option<String>,
    /// Say whether the form is legal in this version of PTX; exit 1 if not. With --list, leave out the others
    #[arg(long, value_name = "VERSION")]
    ptx: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Values:
  1.5  -2e-3        decimals, rounded to nearest even into the source format
  0x3fc00000        a bit pattern of the source format, or of a whole packed register
  0f3fc00000 0d…    PTX's floating constants
  inf -inf nan 2^-3
  A packed source takes one register pattern, or its elements with the highest first.
  A scale-factor takes a pattern, or one power of two for all elements.

Names of formats may be those of libraries (fp8, float8_e4m3fn, half): `softwarp formats` lists them.
Exact conversions beyond PTX's are written TO.FROM: f32.e4m3, f64.e2m1, e4m3.e2m1.

Arrays:
  The elements are converted in C order; for x2 and x4 forms the last axis must divide by 2 or 4.
  f16, f32, f64 and integers are arrays of their dtype; bf16 is <u2, narrower formats |u1 (FP6 a
  byte each, FP4 two to a byte with the first in the low half); raw |V1 and <V2 are read too.
  Under --seed, element i gets the upper 16 bits of splitmix64's output number i.

Examples:
  softwarp cvt rn.satfinite.e4m3x2.f32 1.5 -300
  softwarp cvt rn.satfinite.e4m3x2.f32 --arch sm_89 --ptx 8.1
  softwarp cvt rs.satfinite.e2m1x4.f32 1 2 3 4 0x12345678 --json
  softwarp cvt rn.satfinite.e2m1x2.f32 --input weights.npy --output codes.npy
  softwarp cvt f32.e2m1 --input codes.npy --output values.npy
  softwarp cvt --list f32 e4m3";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let question = question(args.arch.as_deref(), args.ptx.as_deref())?;
    if args.list {
        return list::run(args, question);
    }
    let spelling = crate::names::in_ptx(args.form.as_deref().unwrap_or_default());
    let values: Vec<String> = args.values.iter().map(|value| value.replace('\u{2212}', "-")).collect();
    let form = match CvtForm::parse(&spelling) {
        Ok(form) => form,
        Err(error) => match direct::parse(&spelling) {
            Some(widening) => return direct::run(&widening, args, &values),
            None => return Err(CommandError::usage(error)),
        },
    };
    let verdict = cvt::answer(form, question);
    if let (Some(input), Some(output)) = (&args.input, &args.output) {
        if let Some(failure) = failure(&verdict) {
            return Err(failure);
        }
        return array::run(form, args, input, output);
    }
    let evaluation = match values.as_slice() {
        [] => None,
        values => Some(cvt::evaluate(form, values).map_err(CommandError::Usage)?),
    };
    let text = if args.json {
        super::json(&cvt::json(form, &verdict, evaluation.as_ref()))
    } else {
        cvt::text(form, &verdict, evaluation.as_ref())
    };
    Ok(Printed { text, failure: failure(&verdict) })
}

/// Where a form is asked about.
fn question(target: Option<&str>, ptx: Option<&str>) -> Result<Question, CommandError> {
    let target = target.map(checking::target).transpose()?;
    let ptx = ptx.map(str::parse).transpose().map_err(|error: VersionError| CommandError::usage(error))?;
    Ok(Question { target, ptx })
}

/// What to report, if the form is not legal where it was asked about.
fn failure(verdict: &Verdict) -> Option<CommandError> {
    let Verdict { legal, form, words, .. } = verdict;
    (*legal == Some(false)).then(|| CommandError::Input(format!("{form} is {words}")))
}
