//! Diagnostics as SARIF 2.1.0, the format of static analysis results that GitHub's code scanning and editors read.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use super::policy::Finding;
use serde_json::{Value as Json, json};
use softwarp::diagnostic::{Explained, Severity};
use softwarp::source::Source;
use softwarp::syntax::{Edit, Fix, Span};
use std::collections::BTreeSet;

/// The results of a file. `ruleIndex` is added by [`log`], which has the rules.
pub fn results(source: &Source, findings: &[Finding]) -> Vec<Json> {
    findings.iter().map(|finding| result(source, finding)).collect()
}

fn result(source: &Source, finding: &Finding) -> Json {
    let diagnostic = &finding.diagnostic;
    let mut message = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    let related = diagnostic.related.iter().zip(1..).map(|(place, id): (_, u32)| {
        let mut location = location(source, place.location.span);
        location["id"] = id.into();
        location["message"] = json!({"text": place.message});
        location
    });
    let related: Vec<Json> = related.collect();
    let mut result = json!({
        "ruleId": diagnostic.code.0,
        "level": level(finding.severity),
        "message": {"text": message},
        "locations": [location(source, diagnostic.span())],
        "relatedLocations": related,
    });
    if let Some(fix) = &diagnostic.fix {
        result["fixes"] = json!([fixed(source, fix)]);
    }
    result
}

/// A fix (section 3.55 of the format).
fn fixed(source: &Source, fix: &Fix) -> Json {
    let replacement = |edit: &Edit| {
        json!({
            "deletedRegion": region(source, edit.span),
            "insertedContent": {"text": edit.text},
        })
    };
    json!({
        "description": {"text": fix.message},
        "artifactChanges": [{
            "artifactLocation": {"uri": uri(&source.name)},
            "replacements": fix.edits.iter().map(replacement).collect::<Vec<Json>>(),
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn location(source: &Source, span: Span) -> Json {
    json!({
        "physicalLocation": {
            "artifactLocation": {"uri": uri(&source.name)},
            "region": region(source, span),
        },
    })
}

fn region(source: &Source, span: Span) -> Json {
    let (begin, end) = (source.position(span.start), source.position(span.end.max(span.start)));
    json!({
        "startLine": begin.line, "startColumn": begin.column,
        "endLine": end.line, "endColumn": end.column,
    })
}

/// A path as a reference in a URI: what is not plain in one is escaped.
fn uri(name: &str) -> String {
    let name = name.replace('\\', "/");
    let name = name.strip_prefix("./").unwrap_or(&name);
    let mut uri = String::from(if name.starts_with('/') { "file://" } else { "" });
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The whole log. What could not be read is in `failures`, each a line.
pub fn log(mut results: Vec<Json>, failures: &[String]) -> Json {
    let used: BTreeSet<String> =
        results.iter().filter_map(|result| result["ruleId"].as_str().map(str::to_owned)).collect();
    let rules: Vec<&Explained> =
        crate::codes::all().into_iter().filter(|row| used.contains(row.code.0)).collect();
    for result in &mut results {
        let index = rules.iter().position(|row| result["ruleId"] == row.code.0);
        if let Some(index) = index {
            result["ruleIndex"] = index.into();
        }
    }
    let notifications: Vec<Json> =
        failures.iter().map(|line| json!({"level": "error", "message": {"text": line}})).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "softwarp",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.into_iter().map(rule).collect::<Vec<Json>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": failures.is_empty(),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    })
}

fn rule(row: &Explained) -> Json {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    json!({
        "id": row.code.0,
        "shortDescription": {"text": words(row.title)},
        "fullDescription": {"text": words(row.text)},
        "help": {"text": format!("softwarp explain {}", row.code)},
        "defaultConfiguration": {"level": level(row.code.severity())},
    })
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("./build/a b.ptx"), "build/a%20b.ptx");
        assert_eq!(uri("/kernels/ä%.ptx"), "file:///kernels/%C3%A4%25.ptx");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }
}
