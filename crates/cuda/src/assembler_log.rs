//! What is wrong with code, in the words of the assembler.
//!
//! Programs show the JIT compiler's log, and some look into it. So the lines have the form of ptxas
//! (`ptxas application ptx input, line 4; error   : …`). Where a diagnostic of softwarp corresponds to one of ptxas, the
//! text is that of ptxas; otherwise it is softwarp's own.

use crate::code::Code;
use crate::module::Texts;
use softwarp::syntax::Diagnostic;
use softwarp::vm::device::LoadError;
use softwarp_container::ReadError;

/// The name that the assembler has for a text that is not a file.
const INPUT: &str = "application ptx input";

/// The last line of a log with errors.
const ABORTED: &str = "ptxas fatal   : Ptx assembly aborted due to errors";

/// What is no code at all.
const NOT_RECOGNISED: &str = "error   : Binary format for key='0', ident='' is not recognized";

/// What the assembler says of a target that is newer than what it compiles for.
pub const NEWER_TARGET: &str =
    "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";

/// A diagnostic as the assembler says it.
enum Words {
    /// An error with its line; the assembler goes on.
    Error(String),
    /// An error with its line, which is the last.
    Fatal(String),
    /// The whole log, without a line.
    Alone(String),
}

/// The name of the instruction that a place is in, without modifiers.
fn instruction(source: &str, at: usize) -> &str {
    let before = source.get(..at).unwrap_or("");
    let start = before.rfind([';', '{', '}']).map_or(0, |end| end + 1);
    let mut words = source.get(start..).unwrap_or("").trim_start();
    // A vector operand has braces too: then the place is in what begins before it.
    if words.starts_with('%') {
        let outer = before.get(..start.saturating_sub(1)).unwrap_or("");
        words = outer.rfind([';', '{', '}']).map_or(outer, |end| &outer[end + 1..]).trim_start();
    }
    if let Some(guarded) = words.strip_prefix('@') {
        words = guarded.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    let end = words.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(words.len());
    &words[..end]
}

/// What stands between the first two backquotes of a message.
fn quoted(message: &str) -> &str {
    message.split('`').nth(1).unwrap_or("")
}

/// The architecture that a message says is needed: `needs sm_90 or newer`.
fn needed(message: &str) -> Option<&str> {
    let rest = message.split_once("needs ")?.1;
    let target = rest.split([' ', ',']).next()?;
    let follows = rest.get(target.len()..)?;
    (target.starts_with("sm_") && follows.starts_with(" or newer")).then_some(target)
}

/// A diagnostic in the assembler's words.
fn words(diagnostic: &Diagnostic, source: &str) -> Words {
    let span = diagnostic.span();
    let (name, message) = (span.text(source), &diagnostic.message);
    let code = diagnostic.code.0;
    let of_instruction =
        |text: &str| Words::Error(format!("{text} '{}'", instruction(source, span.start as usize)));
    match code {
        _ if ("E0005"..="E0022").contains(&code) && code != "E0011" && !name.is_empty() => {
            let near = name.split_whitespace().next().unwrap_or(name);
            Words::Error(format!("Parsing error near '{near}': syntax error"))
        }
        "E0011" | "E0102" => Words::Fatal(format!("Missing .target directive at start of file '{INPUT}'")),
        "E0104" => Words::Fatal(format!("Unsupported .target '{name}'")),
        "E0108" => Words::Alone(
            "ptxas fatal   :  32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or \
             higher architectures."
                .into(),
        ),
        "E0111" if message.contains("older") => Words::Alone(NEWER_TARGET.into()),
        "E0201" => {
            let kind = if message.starts_with("the function") { "function" } else { "variable" };
            Words::Error(format!("Duplicate definition of {kind} '{}'", quoted(message)))
        }
        "E0206" => Words::Alone(format!("ptxas fatal   : Unresolved extern function '{name}'")),
        "E0250" | "E0251" => Words::Error(format!("Unknown symbol '{name}'")),
        "E0310" => Words::Error("Alignment must be a power of two".into()),
        "E0401" => Words::Error("Initial value type mismatch".into()),
        "E0413" => Words::Error("Constant expression has division by zero".into()),
        "E0415" => Words::Error("Constant overflow".into()),
        "E0502" if name.starts_with('.') => Words::Error(format!("Unknown modifier '{name}'")),
        "E0505" => of_instruction("Rounding modifier required for instruction"),
        "E0109" | "E0510" => match needed(message) {
            Some(target) => {
                Words::Error(format!("Feature '{}' requires .target {target} or higher", quoted(message)))
            }
            None => Words::Error(message.clone()),
        },
        "E0601" | "E0603" | "E0604" => of_instruction("Arguments mismatch for instruction"),
        "E0610" => Words::Error("Predicate expression expected".into()),
        "E0701" => of_instruction("State space mismatch between instruction and address in instruction"),
        _ => Words::Error(message.clone()),
    }
}

/// The log for diagnostics of texts.
fn log_of(errors: &[(u32, Diagnostic)], texts: &Texts) -> String {
    let (mut mismatches, mut lines) = (Vec::new(), Vec::new());
    for (index, diagnostic) in errors {
        let source = texts.texts.get(*index as usize).map_or("", String::as_str);
        let at = diagnostic.span().start as usize;
        let line = source.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
        let place = format!("ptxas {INPUT}, line {line}");
        match words(diagnostic, source) {
            Words::Alone(text) => return text,
            Words::Fatal(text) => return format!("{place}; fatal   : {text}\n{ABORTED}"),
            Words::Error(text) => {
                // An instruction with a name that is unknown has wrong operands too, which are said first.
                if text.starts_with("Unknown symbol") {
                    let name = instruction(source, at);
                    mismatches
                        .push(format!("{place}; error   : Arguments mismatch for instruction '{name}'"));
                }
                lines.push(format!("{place}; error   : {text}"));
            }
        }
    }
    mismatches.dedup();
    mismatches.append(&mut lines);
    mismatches.push(ABORTED.to_owned());
    mismatches.join("\n")
}

/// The code for what is wrong with a module, and the words for the error log.
pub fn explain(error: &LoadError, texts: &Texts) -> (Code, String) {
    match error {
        LoadError::Invalid(errors) => {
            let is_newer = errors.iter().any(|(_, it)| it.code.0 == "E0101");
            let code = if is_newer { Code::UNSUPPORTED_PTX_VERSION } else { Code::INVALID_PTX };
            (code, log_of(errors, texts))
        }
        LoadError::Unlinked(errors) => {
            let lines: Vec<String> =
                errors.iter().map(|it| format!("ptxas fatal   : {}", it.message)).collect();
            (Code::INVALID_PTX, lines.join("\n"))
        }
        LoadError::Memory(error) => (Code::OUT_OF_MEMORY, error.to_string()),
        other => (Code::INVALID_PTX, other.to_string()),
    }
}

/// The line of the info log for a warning of a module, if the assembler has one.
pub fn warning(diagnostic: &Diagnostic, source: &str) -> Option<String> {
    match diagnostic.code.0 {
        "W0202" => Some(format!(
            "ptxas warning : Unresolved extern variable '{}' in whole program compilation, ignoring extern \
             qualifier",
            diagnostic.span().text(source)
        )),
        "E0108" => Some(
            "ptxas warning :  64 Bit host architecture (--machine) being used mismatches with .address_size of \
             32 bits"
                .into(),
        ),
        _ => None,
    }
}

/// A `.version` that is newer than what is known.
pub fn newer_version((major, minor): (u16, u16), known: (u16, u16)) -> String {
    let (known_major, known_minor) = known;
    format!(
        "ptxas {INPUT}, line 1; fatal   : Unsupported .version {major}.{minor}; current version is \
         '{known_major}.{known_minor}'"
    )
}

/// What is wrong with a container: words for the log, and words for people if those say more.
pub fn container(error: &ReadError) -> (String, Option<String>) {
    let own = format!("error   : {error}");
    match error {
        ReadError::NotAnImage => (NOT_RECOGNISED.into(), None),
        ReadError::ForeignElf { .. } | ReadError::FatbinVersion { .. } => (NOT_RECOGNISED.into(), Some(own)),
        ReadError::Elf { .. } => ("fatal   : Unknown arch name ''".into(), Some(own)),
        ReadError::NoCode(none) if none.present.is_empty() => (String::new(), Some(own)),
        _ => (own, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_of_a_place_is_found() {
        let source = "L: @!%p add.u32 %r, %f; mov.b64 {%a, %b}, %c;\n  x";
        assert_eq!(instruction("{ add.u32 %r", 10), "add");
        assert_eq!(instruction("; @%p ld.global.u32 %r", 19), "ld");
        assert_eq!(instruction(source, source.find("%a").expect("there")), "mov");
        assert_eq!(instruction("", 5), "");
    }

    #[test]
    fn the_needed_architecture_is_taken_from_the_message() {
        assert_eq!(needed("`x` needs sm_90 or newer, PTX 7.8; this is sm_80"), Some("sm_90"));
        assert_eq!(needed("`x` needs PTX 7.8"), None);
    }
}
