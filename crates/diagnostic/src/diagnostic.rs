//! One thing that is wrong, or odd, with an input.

use crate::{Code, Severity, Span};

/// A part of one of several texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Location {
    /// The text's number: an index into the modules that were given. 0 where there is one.
    pub unit: u32,
    /// The bytes.
    pub span: Span,
}

/// Another place that matters, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Where it is; perhaps in another text.
    pub location: Location,
    /// Why it matters: "`x` is declared `.f32` here".
    pub message: String,
}

/// One thing that is wrong, or odd, with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule.
    pub code: Code,
    /// What is wrong, in one line.
    pub message: String,
    /// Where it is; none for what has no text, such as a tensor map.
    pub location: Option<Location>,
    /// Other places that matter.
    pub related: Vec<Related>,
    /// What would be right, in one line.
    pub help: Option<String>,
    /// What to write instead, where nothing else can have been meant.
    pub fix: Option<Box<Fix>>,
}

/// A change of the text after which the diagnostic is gone. It is certain: a program may make it without asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, in a line: "write `.version 9.0`".
    pub message: String,
    /// The changes, in the text of the primary place, in order. No two of them touch.
    pub edits: Vec<Edit>,
}

/// A part of a text, and what to put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace; empty where something is inserted.
    pub span: Span,
    /// What to put there.
    pub text: String,
}

impl Diagnostic {
    /// One about a part of the only text.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(Location { unit: 0, span }, code, message)
    }

    /// One about a part of one of several texts.
    pub fn at(location: Location, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic { location: Some(location), ..Diagnostic::without_place(code, message) }
    }

    /// One about something that has no text.
    pub fn without_place(code: Code, message: impl Into<String>) -> Diagnostic {
        let (location, related, help, fix) = (None, Vec::new(), None, None);
        Diagnostic { code, message: message.into(), location, related, help, fix }
    }

    /// Adds help.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds the change of one place that is certain to be right.
    #[must_use]
    pub fn with_fix(mut self, span: Span, text: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        let edits = vec![Edit { span, text: text.into() }];
        self.fix = Some(Box::new(Fix { message: message.into(), edits }));
        self
    }

    /// Adds another place of the same text.
    #[must_use]
    pub fn with_related(self, span: Span, message: impl Into<String>) -> Diagnostic {
        let unit = self.unit();
        self.with_related_at(Location { unit, span }, message)
    }

    /// Adds another place of any text.
    #[must_use]
    pub fn with_related_at(mut self, location: Location, message: impl Into<String>) -> Diagnostic {
        self.related.push(Related { location, message: message.into() });
        self
    }

    /// The severity, which the code has.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The bytes of the primary place; empty if there is none.
    pub fn span(&self) -> Span {
        self.location.unwrap_or_default().span
    }

    /// The text that the primary place is in; 0 if there is none.
    pub fn unit(&self) -> u32 {
        self.location.unwrap_or_default().unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn related_places_are_in_the_text_of_the_primary_one_unless_said_otherwise() {
        let location = Location { unit: 2, span: Span::new(1, 2) };
        let elsewhere = Location { unit: 1, span: Span::new(3, 4) };
        let diagnostic = Diagnostic::at(location, Code("W0801"), "odd")
            .with_related(Span::new(5, 6), "here")
            .with_related_at(elsewhere, "there");
        let units: Vec<u32> = diagnostic.related.iter().map(|related| related.location.unit).collect();
        assert_eq!((diagnostic.unit(), units), (2, vec![2, 1]));
        assert_eq!(diagnostic.severity(), Severity::Warning);
    }

    #[test]
    fn without_a_place_the_span_is_empty() {
        let diagnostic = Diagnostic::without_place(Code("E1003"), "too many dimensions");
        assert_eq!((diagnostic.location, diagnostic.span()), (None, Span::default()));
    }
}
