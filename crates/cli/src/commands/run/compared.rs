//! What compare mode did (`--jit compare`), for people and for programs.

use super::super::remark;
use super::document::Document;
use crate::run::compared::reproduce;
use serde_json::{Map, Value as Json, json};
use softwarp::vm::comparison::Comparisons;
use softwarp::vm::sanitize::Finding;
use std::path::Path;

/// Adds what was compared to what is printed. Differences are findings, and told with the others. What reproduces them goes
/// to folders in a place.
pub fn report(result: &mut Document, comparisons: &Comparisons, findings: &[Finding], place: &Path) {
    if comparisons.launches() == 0 {
        return;
    }
    remark(&words(comparisons));
    let mut folders = Vec::new();
    let found = findings.iter().filter(|finding| finding.kind.sanitizer() == "compare");
    let mut found = found.map(ToString::to_string);
    for reproduction in &comparisons.reproductions {
        let words = found.next().unwrap_or_default();
        match reproduce(place, reproduction, &words) {
            Ok(folder) => {
                remark(&format!("{} reproduces the mismatch", folder.display()));
                folders.push(folder.display().to_string());
            }
            Err(error) => remark(&format!("{} cannot be written: {error}", place.display())),
        }
    }
    let not_compared: Map<String, Json> = comparisons
        .not_compared
        .iter()
        .map(|(why, count)| (why.word().to_owned(), (*count).into()))
        .collect();
    let compared = json!({
        "launches": comparisons.launches(),
        "compared": comparisons.compared(),
        "equal": comparisons.equal,
        "order_dependent": comparisons.order_dependent,
        "mismatches": comparisons.mismatches,
        "not_compiled": comparisons.not_compiled,
        "not_compared": not_compared,
        "folders": folders,
    });
    result.add("compared", compared);
}

/// The counts in words.
fn words(comparisons: &Comparisons) -> String {
    let launches = |number: u64| {
        if number == 1 { "1 launch".to_owned() } else { format!("{number} launches") }
    };
    let mut text = format!(
        "compared {} compiled and interpreted: {} equal, {} order-dependent, {}",
        launches(comparisons.compared()),
        comparisons.equal,
        comparisons.order_dependent,
        match comparisons.mismatches {
            1 => "1 mismatch".to_owned(),
            number => format!("{number} mismatches"),
        },
    );
    if comparisons.not_compiled > 0 {
        text.push_str(&format!("; {} without compiled code", launches(comparisons.not_compiled)));
    }
    for (why, number) in &comparisons.not_compared {
        text.push_str(&format!("; {} not compared: {}", launches(*number), why.words()));
    }
    text
}
