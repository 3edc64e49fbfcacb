//! A diagnostic is data; whoever shows it decides how.

use crate::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The module may not do what its author thinks.
    Warning,
    /// The assembler would refuse the module.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A stable name: `E0102`, `W0003`. What each means is in the table of the crate that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub &'static str);

impl Code {
    /// By the letter that the code begins with.
    pub fn severity(self) -> Severity {
        if self.0.starts_with('W') { Severity::Warning } else { Severity::Error }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// Another place that matters, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Where.
    pub span: Span,
    /// Why: "`x` is declared `.f32` here".
    pub message: String,
}

/// Something to say about a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule.
    pub code: Code,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Other places that matter.
    pub related: Vec<Related>,
    /// What would fix it, in one line.
    pub help: Option<String>,
}

impl Diagnostic {
    /// One without related places or help.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, message: message.into(), span, related: Vec::new(), help: None }
    }

    /// The same with help.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// The same with another place.
    #[must_use]
    pub fn with_related(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.related.push(Related { span, message: message.into() });
        self
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// What a code means: the page behind `softwarp explain CODE`.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// Which.
    pub code: Code,
    /// The rule, in one line.
    pub title: &'static str,
    /// Why, in a paragraph or two, with the manual's section.
    pub text: &'static str,
    /// A whole module that breaks it.
    pub wrong: &'static str,
    /// The same, mended.
    pub right: &'static str,
}
