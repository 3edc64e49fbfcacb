//! `softwarp cvt --list`: the conversions that there are, of and to given formats.

use super::{Args, CommandError, Printed, direct};
use crate::commands::columns;
use crate::names;
use crate::widening::Widening;
use serde_json::{Value as Json, json};
use softwarp::isa::CvtForm;
use softwarp::num::Format;
use softwarp_report::cvt::{Question, answer};

/// A conversion of the list.
struct Row {
    form: String,
    from: String,
    to: String,
    /// Where it exists; none for what is not PTX.
    availability: Option<String>,
}

/// Lists the forms whose element types are the given ones.
pub fn run(args: &Args, question: Question) -> Result<Printed, CommandError> {
    let format = |name: &String| names::format(name).map_err(CommandError::Usage);
    let from = args.form.as_ref().map(format).transpose()?;
    let to = match args.values.as_slice() {
        [] => None,
        [one] => Some(format(one)?),
        _ => {
            return Err(CommandError::usage(
                "--list takes two formats at most: the source and the destination",
            ));
        }
    };
    let wanted = |src: Option<Format>, dst: Option<Format>| {
        (from.is_none() || src == from) && (to.is_none() || dst == to)
    };
    let mut rows = Vec::new();
    for form in CvtForm::all() {
        let element = |ty: softwarp::isa::Type| ty.packed().map(|packed| packed.element);
        let verdict = answer(form, question);
        if !wanted(element(form.atype()), element(form.dtype())) || verdict.legal == Some(false) {
            continue;
        }
        rows.push(Row {
            form: form.to_string(),
            from: form.atype().to_string(),
            to: form.dtype().to_string(),
            availability: Some(form.availability_in_words()),
        });
    }
    // Those beyond PTX, where no GPU was asked about.
    if question.target.is_none() && question.ptx.is_none() {
        let beyond = Widening::all().filter(|one| wanted(Some(one.src), Some(one.dst)));
        let beyond = beyond.filter(|one| CvtForm::parse(&direct::name(one)).is_err());
        rows.extend(beyond.map(|one| Row {
            form: direct::name(&one),
            from: one.src.to_string(),
            to: one.dst.to_string(),
            availability: None,
        }));
    }
    if rows.is_empty() {
        let side =
            |word: &str, format: Option<Format>| format.map_or(String::new(), |f| format!(" {word} {f}"));
        let message = format!("there is no conversion{}{} there", side("from", from), side("to", to));
        return Err(CommandError::Input(message));
    }
    Ok(if args.json { crate::commands::json(&in_json(&rows)) } else { text(&rows) }.into())
}

fn text(rows: &[Row]) -> String {
    let beyond = "not PTX: exact, for values and arrays";
    let cells =
        |row: &Row| vec![row.form.clone(), row.availability.clone().unwrap_or_else(|| beyond.to_owned())];
    columns(&rows.iter().map(cells).collect::<Vec<_>>())
}

/// A list of `form`, `from`, `to` and `availability` (null for what is not PTX).
fn in_json(rows: &[Row]) -> Json {
    let object = |row: &Row| json!({"form": row.form, "from": row.from, "to": row.to, "availability": row.availability});
    rows.iter().map(object).collect()
}
