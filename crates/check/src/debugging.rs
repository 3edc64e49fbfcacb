//! `.file` (PTX ISA section 11.5.2): numbers of files are given once.

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
