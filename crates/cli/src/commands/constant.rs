//! `softwarp const`: the value of a constant expression (PTX ISA section 4.5), and the bytes of a variable that is
//! initialised with it (section 5.4.4).
//!
//! The JSON object, whose keys stay as they are:
//!
//! - `expression`: as it was read; `diagnostics`: as those of `softwarp check --json`;
//! - `type` (`s64`, `u64`, `f64` or `f32`), `value` (a number, or one of the strings `inf`, `-inf`, `nan`) and
//!   `bits`, unless there are errors;
//! - of an integer, `signed` and `unsigned`: the same bits as either;
//! - of a floating-point number, `literal` (`0d…` or `0f…`) and `exact` (all of its digits or `m × 2^e`; null if
//!   it is not finite); of an f64 also `f32`: `literal`, `value` and `words` of what it becomes as a single;
//! - with `--as`, `stored`: `type`, `bytes` (lowest first) and `note` (or null).

use super::checking::{Colour, SHOWN, errors};
use super::{CommandError, Printed, check, columns, json_number};
use crate::explain::explain;
use crate::literal::display_f64;
use crate::names;
use serde_json::{Value as Json, json};
use softwarp::check::constant::Value;
use softwarp::isa::{Type, nearest};
use softwarp::num::{Conversion, Format};
use softwarp::source::Source;
use softwarp::syntax::{Diagnostic, parse_expression};

/// Evaluate a PTX constant expression as the assembler does
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The expression, in quotes for the shell's sake
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    expression: String,
    /// More words of it, from those who spared the quotes
    #[arg(hide = true)]
    more: Vec<String>,
    /// Show the bytes of a variable of this type that begins with it, as in u8 or f32
    #[arg(long = "as", value_name = "TYPE")]
    stored_as: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Integers have 64 bits and are signed (.s64) or unsigned (.u64); floating-point numbers are .f64,
and .f32 if written as 0f…. Where the assembler and C differ, this is the assembler: `%` is
unsigned, shift counts wrap at 64. Masks such as 0xff00(1000) select a byte.

What is wrong with an expression is shown as `softwarp check` does; exit 1.

Examples:
  softwarp const '(1 << 20) - 1'
  softwarp const '-7 % 3' --as u8
  softwarp const '1.0 / 3.0' --as f32
  softwarp const '0xff00(1000)' --json";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let ty = args.stored_as.as_deref().map(variable_type).transpose()?;
    let words: Vec<&str> = std::iter::once(&args.expression).chain(&args.more).map(String::as_str).collect();
    let source = Source::new("<expression>", words.join(" ").replace('\u{2212}', "-").into_bytes());
    let parsed = parse_expression(&source.text);
    let mut diagnostics = parsed.diagnostics;
    let mut value = None;
    if let (Some(root), true) = (parsed.root, diagnostics.is_empty()) {
        (value, diagnostics) = softwarp::check::evaluate(&parsed.module, root, &source.text);
    }
    let value = value.filter(|_| errors(&diagnostics).next().is_none());
    let stored = match (value, ty) {
        (Some(value), Some(ty)) => Some(Stored::new(value, ty)?),
        _ => None,
    };
    let text = if args.json {
        super::json(&in_json(&source, &diagnostics, value, stored.as_ref()))
    } else {
        in_text(&source, &diagnostics, value, stored.as_ref())
    };
    Ok(Printed { text, failure: value.is_none().then_some(CommandError::Reported(1)) })
}

/// A type that a variable can have.
fn variable_type(name: &str) -> Result<Type, CommandError> {
    let name = name.strip_prefix('.').unwrap_or(name);
    let known = || Type::ALL.iter().copied().filter(|ty| ty.is_fundamental());
    let by_other_name = || names::find(name).and_then(|format| Type::from_name(format.name()));
    let found = Type::from_name(name).or_else(by_other_name);
    found.filter(|ty| ty.is_fundamental()).ok_or_else(|| {
        let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
        let meant = nearest(name, known().map(Type::name));
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        CommandError::Usage(format!("`{shown}` is not a type of variables{meant}"))
    })
}

/// What a variable holds that begins with a constant.
struct Stored {
    ty: Type,
    bytes: String,
    /// What is lost on the way, or odd.
    note: Option<String>,
}

impl Stored {
    fn new(value: Value, ty: Type) -> Result<Stored, CommandError> {
        if !value.goes_into(ty) {
            let message = format!("a variable of type .{ty} cannot begin with {}", value.sort());
            return Err(CommandError::Input(message));
        }
        let bytes = value.stored_as(ty).iter().map(|byte| format!("{byte:02x}")).collect();
        let size = ty.bits();
        let note = match value {
            Value::Int { .. } if value.is_chopped(ty) => Some(format!("the low {size} bits")),
            Value::F64(value) if size == 32 => Some(single(value).words),
            Value::F32(_) if size == 64 => Some("its 32 bits, not its value".to_owned()),
            Value::F32(_) | Value::F64(_) if size < 32 => Some(format!("the low {size} bits of its pattern")),
            _ if size == 128 => Some("the assembler leaves the upper 8 bytes undefined".to_owned()),
            _ => None,
        };
        Ok(Stored { ty, bytes, note })
    }
}

/// What an f64 becomes as an f32.
struct Single {
    literal: String,
    value: f64,
    words: String,
}

fn single(value: f64) -> Single {
    let bits = value as f32;
    let code = u64::from(bits.to_bits());
    let words = explain(Conversion::new(Format::F64, Format::F32), value.to_bits(), 0, code).to_string();
    Single { literal: format!("0f{code:08x}"), value: f64::from(bits), words }
}

/// The value of a floating-point constant, which an f64 holds exactly, and its bits as PTX writes them.
fn float(value: Value) -> Option<(f64, String)> {
    match value {
        Value::Int { .. } => None,
        Value::F32(bits) => Some((f64::from(f32::from_bits(bits)), format!("0f{bits:08x}"))),
        Value::F64(value) => Some((value, format!("0d{:016x}", value.to_bits()))),
    }
}

/// All the digits of a number; where they are too many, as an odd number times a power of two.
fn exact(value: f64) -> Option<String> {
    const MOST: usize = 64;
    if !value.is_finite() {
        return None;
    }
    let digits = format!("{value:.1074}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if digits.len() <= MOST {
        return Some(digits.to_owned());
    }
    let (sign, bits) = (if value < 0.0 { "-" } else { "" }, value.abs().to_bits());
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (whole, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let zeros = whole.trailing_zeros();
    Some(format!("{sign}{} × 2^{}", whole >> zeros, exponent + zeros as i32))
}

/// The bits of an integer, eight to a group.
fn binary(value: u64) -> String {
    let groups: Vec<String> = value.to_be_bytes().iter().map(|byte| format!("{byte:08b}")).collect();
    format!("0b{}", groups.join("_"))
}

fn in_text(
    source: &Source,
    diagnostics: &[Diagnostic],
    value: Option<Value>,
    stored: Option<&Stored>,
) -> String {
    let colour = Colour::Auto.wanted(&std::io::stdout());
    let shown = diagnostics.iter().take(SHOWN);
    let mut text: String = shown.map(|one| crate::render::text(source, one, colour)).collect();
    let Some(value) = value else { return text };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, what: String| rows.push(vec![name.to_owned(), what]);
    let ty = value.ty();
    match float(value) {
        None => {
            let bits = value.bits();
            let shown = if ty == Type::S64 { (bits as i64).to_string() } else { bits.to_string() };
            row("value", format!("{shown} (.{ty})"));
            row("signed", (bits as i64).to_string());
            row("unsigned", bits.to_string());
            row("hex", format!("{bits:#018x}"));
            row("binary", binary(bits));
        }
        Some((number, literal)) => {
            row("value", format!("{} (.{ty})", display_f64(number)));
            exact(number).into_iter().for_each(|digits| row("exact", digits));
            row("bits", literal);
            if let Value::F64(number) = value {
                let single = single(number);
                let shown = display_f64(single.value);
                row("as .f32", format!("{} = {shown}: {}", single.literal, single.words));
            }
        }
    }
    if let Some(Stored { ty, bytes, note }) = stored {
        let note = note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
        row(&format!("in .{ty}"), format!("{bytes}{note}"));
    }
    text.push_str(&columns(&rows));
    text
}

fn in_json(
    source: &Source,
    diagnostics: &[Diagnostic],
    value: Option<Value>,
    stored: Option<&Stored>,
) -> Json {
    let diagnostics: Vec<Json> = diagnostics
        .iter()
        .map(|diagnostic| check::formats::object(source, diagnostic, diagnostic.severity()))
        .collect();
    let mut object = json!({"expression": source.text});
    if let Some(value) = value {
        let (ty, bits) = (value.ty(), value.bits());
        object["type"] = ty.name().into();
        match float(value) {
            None => {
                object["value"] = if ty == Type::S64 { (bits as i64).into() } else { bits.into() };
                object["signed"] = (bits as i64).into();
                object["unsigned"] = bits.into();
            }
            Some((number, literal)) => {
                object["value"] = json_number(number);
                object["exact"] = exact(number).into();
                object["literal"] = literal.into();
            }
        }
        object["bits"] = format!("0x{bits:0digits$x}", digits = ty.bits() as usize / 4).into();
        if let Value::F64(number) = value {
            let Single { literal, value, words } = single(number);
            object["f32"] = json!({"literal": literal, "value": json_number(value), "words": words});
        }
    }
    if let Some(Stored { ty, bytes, note }) = stored {
        object["stored"] = json!({"type": ty.name(), "bytes": bytes, "note": note});
    }
    object["diagnostics"] = diagnostics.into();
    object
}
