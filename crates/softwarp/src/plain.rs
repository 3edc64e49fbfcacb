//! Diagnostics as plain text, for error messages: severity, code, message, place, the line in question, help.
//!
//! The command line shows more (several places in one excerpt, colours); programs that want that have the diagnostics
//! themselves.

use crate::source::Source;
use crate::syntax::Diagnostic;
use std::fmt::Write as _;

/// How many bytes of a line are shown.
const WIDTH: usize = 200;

/// A diagnostic with its place in a file, as text. What is printed of the file is bounded.
///
/// ```
/// use softwarp::check::Options;
/// use softwarp::source::Source;
///
/// let source = Source::new("k.ptx", b".version 8.0\n.target sm_90\n.reg .b33 %r;\n".to_vec());
/// let found = source.diagnose(Options::default());
/// let text = softwarp::plain::text(&source, &found[0]);
/// assert!(text.starts_with("error[E") && text.contains(" --> k.ptx:3:"), "{text}");
/// ```
pub fn text(source: &Source, diagnostic: &Diagnostic) -> String {
    let mut text = format!("{}[{}]: {}\n", diagnostic.severity().name(), diagnostic.code, diagnostic.message);
    let mut place = |span: crate::syntax::Span, reason: &str| {
        let position = source.position(span.start);
        let line = source.line(position.line).text(&source.text);
        let shown = &line[..line.floor_char_boundary(WIDTH)];
        let _ = writeln!(text, " --> {}:{}:{}{reason}", source.name, position.line, position.column);
        let _ = writeln!(text, "  | {}", shown.trim());
    };
    place(diagnostic.span(), "");
    for related in &diagnostic.related {
        place(related.location.span, &format!(": {}", related.message));
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "  = help: {help}");
    }
    text
}
