//! `.file` and `.pragma` (PTX ISA sections 11.5.2 and 11.4.7): numbers of files are given once, and some pragmas stand in
//! the bodies of functions only.

use crate::codes::declarations as codes;
use crate::context::{Context, next_token};
use softwarp_syntax::tree::{Directive, FileDirective};
use softwarp_syntax::{Diagnostic, Span};

/// Reports a number that another `.file` has. The assembler looks at the token after the name, which could be a comma.
pub fn twice(context: &mut Context<'_>, file: &Directive<FileDirective>, first: Span) {
    let at = match file.is.stamp {
        Some(_) => file.span,
        None => next_token(context.source, file.span.end),
    };
    let message = format!("`.file {}` stands twice", file.is.index);
    let diagnostic = Diagnostic::new(codes::FILE_TWICE, at, message);
    let help = "give every file a number of its own";
    context.report(diagnostic.with_related(first, "the first").with_help(help));
}

/// Pragmas about the code around them.
const IN_BODIES: &[&str] = &["enable_smem_spilling", "frequency", "used_bytes_mask"];

/// Judges a pragma that stands at module scope or before a kernel's body; `text` is the string, quotes included.
pub fn outside_body(context: &mut Context<'_>, text: Span) {
    let words = text.text(context.source).trim_matches('"');
    let Some(name) = words.split_whitespace().next() else { return };
    if IN_BODIES.contains(&name) {
        let message = format!("the pragma `{name}` stands outside of a body");
        let diagnostic = Diagnostic::new(codes::PRAGMA_PLACE, text, message);
        context.report(diagnostic.with_help("put it into the body of the kernel or function"));
    }
}
