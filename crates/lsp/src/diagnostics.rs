//! Diagnostics as the protocol has them: with links to the pages of their codes, related places, and fixes.

use crate::analysis::Document;
use crate::protocol::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Uri,
};
use crate::world::World;
use softwarp_diagnostic::{Diagnostic as Found, Explained, Severity};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The page of codes, which has a heading for each.
const CODES_PAGE: &str = "https://github.com/softwarp/softwarp/blob/main/docs/codes.md";

/// What every diagnostic of ours says where it comes from.
pub const SOURCE: &str = "softwarp";

/// The most diagnostics that are sent for a file.
const MOST: usize = 1000;

static PAGES: LazyLock<HashMap<&'static str, &'static Explained>> = LazyLock::new(|| {
    let checked = softwarp_check::codes::ALL.iter().copied().flatten();
    let all = softwarp_syntax::codes::ALL.iter().chain(checked).chain(softwarp_image::codes::ALL);
    all.map(|page| (page.code.0, page)).collect()
});

/// What a code means.
pub fn explained(code: &str) -> Option<&'static Explained> {
    PAGES.get(code).copied()
}

/// The address of a code's page.
pub fn link(code: &str) -> Uri {
    let Some(page) = explained(code) else { return Uri(CODES_PAGE.to_owned()) };
    // As GitHub makes anchors of headings.
    let kind = if page.code.severity() == Severity::Warning { " (warning)" } else { "" };
    let heading = format!("{code}: {}{kind}", page.title).to_lowercase();
    let kept = heading.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
    Uri(format!("{CODES_PAGE}#{anchor}"))
}

/// Everything to say about a document that is open.
pub fn of(world: &World, uri: &Uri, document: &Document, found: &[Found]) -> Vec<Diagnostic> {
    let shown = found.iter().filter(|one| world.levels.severity(one).is_some());
    shown.take(MOST).map(|one| in_protocol(world, uri, document, one)).collect()
}

/// A diagnostic as the protocol has it.
pub fn in_protocol(world: &World, uri: &Uri, document: &Document, found: &Found) -> Diagnostic {
    let related = found.related.iter().filter(|related| related.location.unit == 0);
    let related = related.map(|related| DiagnosticRelatedInformation {
        location: world.location(uri, document, related.location.span),
        message: related.message.clone(),
    });
    let related: Vec<_> = related.collect();
    let message = match &found.help {
        Some(help) => format!("{}\nhelp: {help}", found.message),
        None => found.message.clone(),
    };
    let is_old = found.message.contains("deprecated");
    Diagnostic {
        range: document.text.range(found.span()),
        severity: match world.levels.severity(found).unwrap_or(found.severity()) {
            Severity::Error => DiagnosticSeverity::Error,
            Severity::Warning => DiagnosticSeverity::Warning,
        },
        code: found.code.0.to_owned(),
        code_description: Some(CodeDescription { href: link(found.code.0) }),
        source: SOURCE.to_owned(),
        message,
        tags: is_old.then(|| vec![DiagnosticTag::Deprecated]),
        related_information: (world.related && !related.is_empty()).then_some(related),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_is_a_heading_of_the_page() {
        let page = include_str!("../../../docs/codes.md");
        for code in PAGES.keys() {
            let link = link(code).0;
            let (_, anchor) = link.split_once('#').expect("an anchor");
            let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
            let anchors = headings.map(|heading| {
                let kept = heading.to_lowercase();
                let kept = kept.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
            });
            assert!(anchors.into_iter().any(|one| one == anchor), "{link}");
        }
    }
}
