//! Diagnostics for programs: JSON lines, and annotations for GitHub's CI.

use super::policy::Finding;
use serde_json::{Value as Json, json};
use softwarp::source::Source;
use softwarp::syntax::{Diagnostic, Edit, Fix, Related, Severity};

/// One JSON object on a line.
pub fn json(source: &Source, finding: &Finding) -> String {
    format!("{}\n", object(source, &finding.diagnostic, finding.severity))
}

/// A diagnostic as a JSON object.
pub fn object(source: &Source, diagnostic: &Diagnostic, severity: Severity) -> Json {
    let begin = source.position(diagnostic.span().start);
    let end = source.position(diagnostic.span().end.max(diagnostic.span().start));
    let related = |place: &Related| {
        let at = source.position(place.location.span.start);
        json!({"line": at.line, "column": at.column, "message": place.message})
    };
    json!({
        "file": source.name,
        "line": begin.line,
        "column": begin.column,
        "end_line": end.line,
        "end_column": end.column,
        "severity": severity.name(),
        "code": diagnostic.code.0,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "related": diagnostic.related.iter().map(related).collect::<Vec<_>>(),
        "fix": diagnostic.fix.as_deref().map(|fix| fix_object(source, fix)),
    })
}

/// A fix: what it does, and the places to change.
fn fix_object(source: &Source, fix: &Fix) -> Json {
    let edit = |edit: &Edit| {
        let (begin, end) = (source.position(edit.span.start), source.position(edit.span.end));
        json!({
            "line": begin.line,
            "column": begin.column,
            "end_line": end.line,
            "end_column": end.column,
            "text": edit.text,
        })
    };
    json!({"message": fix.message, "edits": fix.edits.iter().map(edit).collect::<Vec<_>>()})
}

/// A workflow command: `::error file=x.ptx,line=1,col=2,endLine=1,endColumn=5,title=E0601::message`
pub fn github(source: &Source, finding: &Finding) -> String {
    let diagnostic = &finding.diagnostic;
    let begin = source.position(diagnostic.span().start);
    let end = source.position(diagnostic.span().end.max(diagnostic.span().start));
    let mut message = diagnostic.message.clone();
    for place in &diagnostic.related {
        message.push_str(&format!(
            "\nline {}: {}",
            source.position(place.location.span.start).line,
            place.message
        ));
    }
    if let Some(help) = &diagnostic.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    format!(
        "::{} file={},line={},col={},endLine={},endColumn={},title={}::{}\n",
        finding.severity.name(),
        // GitHub knows files by their paths from the root of the repository.
        property(source.name.strip_prefix("./").unwrap_or(&source.name)),
        begin.line,
        begin.column,
        end.line,
        end.column,
        property(diagnostic.code.0),
        data(&message)
    )
}

/// Text after `::`, escaped as the runner reads it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, where more has a meaning.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp::syntax::{Code, Span};

    #[test]
    fn what_has_a_meaning_to_github_is_escaped() {
        let source = Source::new("a,b:c%.ptx", b"x\ny".to_vec());
        let diagnostic = Diagnostic::new(Code("W0101"), Span::new(2, 3), "100 %: a,\nb").with_help("c");
        let finding = Finding { diagnostic, severity: Severity::Warning };
        assert_eq!(
            github(&source, &finding),
            "::warning file=a%2Cb%3Ac%25.ptx,line=2,col=1,endLine=2,endColumn=2,title=W0101::100 %25: a,%0Ab%0Ahelp: c\n"
        );
    }
}
