//! Number formats, codes, and conversions between them.

use crate::request::{Answer, Failure, format, pattern, read, shown};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use softwarp::isa::CvtForm;
use softwarp::literal::{Literal, display};
use softwarp::num::{Class, Format};
use softwarp_report::cvt::{self, Question};
use softwarp_report::formats as report;
use softwarp_report::numbers::{json_number, json_value};
use softwarp_report::{explain, names, widening};

/// The most codes of a number line.
const MOST: u64 = 4096;

/// A code with its value.
fn code(format: Format, code: u64) -> Json {
    json!({"bits": pattern(format.bits(), code), "value": exact(format, code)})
}

/// The value of a code; integers beyond 2^53, which pages cannot hold, as text.
pub fn exact(format: Format, code: u64) -> Json {
    match json_value(format, code) {
        Json::Number(number) if number.is_u64() || number.is_i64() => {
            let magnitude = number.as_i64().map_or(number.as_u64().unwrap_or(0), i64::unsigned_abs);
            if magnitude > 1 << 53 { number.to_string().into() } else { number.into() }
        }
        other => other,
    }
}

fn class(format: Format, code: u64) -> &'static str {
    match format.classify(code) {
        Class::Zero => "zero",
        Class::Subnormal => "subnormal",
        Class::Normal => "normal",
        Class::Infinite => "infinite",
        Class::Nan => "nan",
    }
}

fn described(format: Format) -> Json {
    let known = report::json_one(format);
    let field = |field: &report::Field| json!({"name": field.name, "letter": field.letter.to_string(), "bits": field.bits});
    let landmark = |(name, bits): (&str, u64)| json!({"name": name, "bits": pattern(format.bits(), bits), "value": exact(format, bits)});
    json!({
        "name": format.name(), "bits": format.bits(), "about": known["about"], "kind": known["kind"],
        "fields": report::fields(format).iter().map(field).collect::<Vec<_>>(),
        "formula": report::formula(format), "bias": report::bias(format), "signed": format.is_signed(),
        "largest": code(format, format.max_finite()), "least": code(format, format.min_finite()),
        "leastNormal": format.min_normal().map(|one| code(format, one)),
        "leastPositive": code(format, format.min_positive()),
        "infinity": format.infinity().map(|one| code(format, one)),
        "nan": format.canonical_nan().map(|one| code(format, one)),
        "aliases": names::aliases(format),
        "landmarks": report::landmarks(format).into_iter().map(landmark).collect::<Vec<_>>(),
    })
}

/// Answers `formats`.
pub fn formats(_: &Json) -> Answer {
    Ok(Format::ALL.into_iter().map(described).collect())
}

/// The code that a request means: bits, or a number as people write it.
fn meant(format: Format, bits: Option<&str>, text: Option<&str>) -> Result<u64, Failure> {
    let wrong = |error: softwarp::literal::LiteralError| Failure::new(error.to_string());
    match (bits, text) {
        (Some(bits), _) => {
            let digits = bits.strip_prefix("0x").unwrap_or(bits);
            let found = u64::from_str_radix(digits, 16).ok().filter(|code| *code <= format.mask());
            found.ok_or_else(|| {
                Failure::new(format!("`{}` is no pattern of {} bits", shown(bits), format.bits()))
            })
        }
        (None, Some(text)) => Ok(Literal::parse(text).map_err(wrong)?.encode(format).map_err(wrong)?.code),
        (None, None) => Err(Failure::new("the request has neither `bits` nor `text`")),
    }
}

#[derive(Deserialize)]
struct Of {
    format: String,
    bits: Option<String>,
    text: Option<String>,
    most: Option<u64>,
}

/// Answers `number.decode`.
pub fn decode(request: &Json) -> Answer {
    let asked: Of = read(request)?;
    let format = format(&asked.format)?;
    let bits = meant(format, asked.bits.as_deref(), asked.text.as_deref())?;
    let mut left = format.bits();
    let mut fields = Vec::new();
    for field in report::fields(format) {
        left -= field.bits;
        let mask = u64::MAX >> (64 - field.bits.clamp(1, 64));
        fields.push(json!({
            "name": field.name, "letter": field.letter.to_string(), "bits": field.bits,
            "value": pattern(field.bits, bits >> left & mask),
        }));
    }
    let (up, down) = (format.next_up(bits), format.next_down(bits));
    let step = up.map(|up| format.decode(up) - format.decode(bits)).filter(|step| step.is_finite());
    Ok(json!({
        "format": format.name(), "bits": pattern(format.bits(), bits), "text": display(format, bits),
        "value": exact(format, bits), "class": class(format, bits), "fields": fields,
        "up": up.map(|one| code(format, one)), "down": down.map(|one| code(format, one)),
        "ulp": step.map(json_number),
    }))
}

/// Answers `number.line`.
pub fn line(request: &Json) -> Answer {
    let asked: Of = read(request)?;
    let format = format(&asked.format)?;
    let most = asked.most.unwrap_or(MOST).clamp(2, MOST);
    let count = format.mask().checked_add(1);
    let complete = count.is_some_and(|count| count <= most);
    // Of wide formats, codes at equal distances: as many of each magnitude.
    let step = if complete { 1 } else { (format.mask() / (most - 1)).max(1) };
    let mut codes: Vec<u64> = (0..most).map_while(|index| index.checked_mul(step)).collect();
    codes.retain(|code| *code <= format.mask());
    codes.push(format.max_finite());
    codes.push(format.min_finite());
    codes.retain(|code| format.classify(*code) != Class::Nan);
    codes.sort_by(|a, b| format.decode(*a).total_cmp(&format.decode(*b)));
    codes.dedup();
    let row = |one: &u64| json!({"bits": pattern(format.bits(), *one), "value": exact(format, *one), "class": class(format, *one)});
    let values: Vec<Json> = codes.iter().map(row).collect();
    Ok(json!({"format": format.name(), "complete": complete, "values": values}))
}

/// Answers `number.svg`.
pub fn svg(request: &Json) -> Answer {
    let asked: Of = read(request)?;
    Ok(json!({"svg": report::draw(format(&asked.format)?)}))
}

#[derive(Deserialize)]
struct Form {
    form: String,
    #[serde(default)]
    values: Vec<String>,
}

/// Answers `number.cvt`.
pub fn cvt(request: &Json) -> Answer {
    let Form { form, values } = read(request)?;
    let form = CvtForm::parse(&names::in_ptx(&form)).map_err(|error| Failure::new(error.to_string()))?;
    let values: Vec<String> = values.iter().map(|value| value.replace('\u{2212}', "-")).collect();
    let evaluation = match values.as_slice() {
        [] => None,
        values => Some(cvt::evaluate(form, values)?),
    };
    let verdict = cvt::answer(form, Question { target: None, ptx: None });
    Ok(cvt::json(form, &verdict, evaluation.as_ref()))
}

#[derive(Deserialize)]
struct Between {
    from: Option<String>,
    to: Option<String>,
    value: Option<String>,
}

impl Between {
    /// The forms whose elements are of the formats.
    fn forms(&self) -> Result<Vec<CvtForm>, Failure> {
        let from = self.from.as_deref().map(format).transpose()?;
        let to = self.to.as_deref().map(format).transpose()?;
        let element = |ty: softwarp::isa::Type| ty.packed().map(|packed| packed.element);
        let fits = |form: &CvtForm| {
            (from.is_none() || element(form.atype()) == from) && (to.is_none() || element(form.dtype()) == to)
        };
        Ok(CvtForm::all().filter(fits).collect())
    }
}

/// Answers `number.forms`.
pub fn forms(request: &Json) -> Answer {
    let asked: Between = read(request)?;
    let row = |form: &CvtForm| {
        json!({
            "form": form.to_string(), "syntax": cvt::syntax(*form), "about": cvt::about(*form).unwrap_or_default(),
            "from": form.atype().to_string(), "to": form.dtype().to_string(),
            "availability": form.availability_in_words(),
        })
    };
    Ok(asked.forms()?.iter().map(row).collect())
}

/// An element that a conversion made, as `number.cvt` tells it.
fn element(story: &explain::Explanation) -> Json {
    let (from, to) = (story.conversion.src, story.conversion.dst);
    json!({
        "lane": 0, "format": to.name(), "from": "a", "source_bits": pattern(from.bits(), story.source),
        "source": exact(from, story.source), "bits": pattern(to.bits(), story.result),
        "value": exact(to, story.result), "outcome": story.outcome.name(), "error": story.error,
        "words": story.to_string(),
    })
}

/// Answers `number.compare`.
pub fn compare(request: &Json) -> Answer {
    let asked: Between = read(request)?;
    let (Some(from), Some(to), Some(value)) = (&asked.from, &asked.to, &asked.value) else {
        return Err(Failure::new("the request needs `from`, `to` and `value`"));
    };
    let (src, dst) = (format(from)?, format(to)?);
    let source = meant(src, None, Some(&value.replace('\u{2212}', "-")))?;
    let mut rows = Vec::new();
    for form in asked.forms()? {
        let softwarp::isa::Semantics::Cvt(cvt) = form.semantics() else { continue };
        // Random bits of zero, and a scale of one.
        let extra = cvt.lane_extra(softwarp::num::Extra::default(), 0);
        let Some(compiled) = cvt.compiled() else { continue };
        let result = compiled.one(source, extra);
        let story = explain::explain(cvt.element, source, extra, result);
        rows.push(json!({
            "form": form.to_string(), "about": cvt::about(form).unwrap_or_default(), "element": element(&story),
        }));
    }
    if rows.is_empty()
        && let Some(widening) = widening::Widening::all().find(|one| one.src == src && one.dst == dst)
    {
        let result = widening.one(source);
        let conversion = softwarp::num::Conversion::new(src, dst);
        let story = explain::explain(conversion, source, 0, result);
        rows.push(
            json!({"form": format!("{dst}.{src}"), "about": "exact; not PTX", "element": element(&story)}),
        );
    }
    if rows.is_empty() {
        return Err(Failure::new(format!("there is no conversion from {src} to {dst}")));
    }
    Ok(rows.into())
}
