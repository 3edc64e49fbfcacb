//! `softwarp explain`: what a diagnostic's code means, with an example of it and one without.

use super::{CommandError, Printed, columns};
use serde_json::{Value as Json, json};
use softwarp::syntax::{Code, Explained};

/// Say what a code of a diagnostic means, with examples
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The code, as in E0601; without it, all are listed
    code: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  softwarp explain E0005
  softwarp explain";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let all = crate::codes::all();
    let Some(name) = &args.code else {
        let text = if args.json { super::json(&all.iter().map(in_json).collect()) } else { list(&all) };
        return Ok(text.into());
    };
    let mut rules = softwarp::tensor::walk::RULES.iter().chain(softwarp::vm::fault::COPY_RULES);
    if let Some((rule, text)) = rules.find(|(rule, _)| rule.eq_ignore_ascii_case(name)) {
        let page = format!("{rule}: why the hardware refuses a copy\n\n{}\n", wrapped(text));
        let json =
            json!({"code": rule, "severity": "error", "title": text, "text": text, "wrong": "", "right": ""});
        return Ok(if args.json { super::json(&json) } else { page }.into());
    }
    let row =
        all.iter().find(|row| row.code.0.eq_ignore_ascii_case(name)).ok_or_else(|| unknown(name, &all))?;
    Ok(if args.json { super::json(&in_json(row)) } else { page(row) }.into())
}

/// A code by its name, in upper or lower case.
pub fn code(name: &str) -> Result<Code, CommandError> {
    let all = crate::codes::all();
    let row = all.iter().find(|row| row.code.0.eq_ignore_ascii_case(name));
    row.map(|row| row.code).ok_or_else(|| unknown(name, &all))
}

fn list(all: &[&Explained]) -> String {
    columns(&all.iter().map(|row| vec![row.code.to_string(), row.title.to_owned()]).collect::<Vec<_>>())
}

fn page(row: &Explained) -> String {
    let mut page = format!("{}: {}\n\n{}\n", row.code, row.title, wrapped(row.text));
    // What takes gigabytes has no example.
    for (word, module) in [("Wrong", row.wrong), ("Right", row.right)] {
        if !module.is_empty() {
            page.push_str(&format!("\n{word}:\n\n"));
            page.extend(module.trim_end().lines().map(|line| format!("    {line}\n")));
        }
    }
    page
}

/// Paragraphs in lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let paragraph = |text: &str| {
        let (mut lines, mut line) = (Vec::new(), String::new());
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 100 {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
        lines.join("\n")
    };
    text.split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n\n")
}

fn in_json(row: &&Explained) -> Json {
    json!({
        "code": row.code.0, "severity": row.code.severity().name(), "title": row.title,
        "text": row.text.split_whitespace().collect::<Vec<_>>().join(" "), "wrong": row.wrong, "right": row.right,
    })
}

/// Codes are too alike for the usual distance: those with most characters in common at their places come first.
fn unknown(name: &str, all: &[&Explained]) -> CommandError {
    let upper = name.to_ascii_uppercase();
    let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
    let alike = |row: &&&Explained| row.code.0.bytes().zip(upper.bytes()).filter(|(a, b)| a == b).count();
    let mut near: Vec<&&Explained> = all.iter().filter(|row| alike(row) >= 3).collect();
    near.sort_by_key(|row| std::cmp::Reverse(alike(row)));
    let near: Vec<&str> = near.iter().take(4).map(|row| row.code.0).collect();
    let hint = match near.as_slice() {
        [] => "`softwarp explain` lists them".to_owned(),
        near => format!("near to it are {}", near.join(", ")),
    };
    CommandError::Usage(format!("`{shown}` is not a code; {hint}"))
}
