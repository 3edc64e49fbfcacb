//! `--stats=lines`: a row for each line of the PTX that has instructions.

use crate::columns::lines;
use crate::run::counted::Counted;
use crate::run::observe::{Observer, Seen};
use serde_json::{Value as Json, json};
use softwarp::lineinfo::SourceLine;
use softwarp::source::Source;
use softwarp::vm::stats::OpCount;
use std::collections::BTreeMap;

/// The most characters of a line that are shown.
const MOST_SHOWN: usize = 60;

/// A line of a file.
#[derive(Clone, Debug, Default)]
struct Row {
    file: String,
    line: u32,
    text: String,
    source: Option<SourceLine>,
    count: OpCount,
    seen: Seen,
}

/// Lines, in the order of the files.
#[derive(Clone, Debug)]
pub struct LineTable(Vec<Row>);

impl LineTable {
    /// Adds up what the instructions of each line did.
    pub fn new(sources: &[Source], functions: &[Counted], observer: &Observer) -> LineTable {
        let mut rows: BTreeMap<(usize, u32), Row> = BTreeMap::new();
        for (unit, one) in functions.iter().flat_map(|it| it.instructions.iter().map(|one| (it.unit, one))) {
            let Some(source) = sources.get(unit) else { continue };
            let row = rows.entry((unit, one.line)).or_insert_with(|| Row {
                file: source.name.clone(),
                line: one.line,
                text: words(source.line(one.line).text(&source.text)),
                source: one.source.clone(),
                ..Row::default()
            });
            row.count.warp += one.count.warp;
            row.count.thread += one.count.thread;
            if let Some(operation) = one.operation {
                row.seen.add(&observer.seen(operation));
            }
        }
        LineTable(rows.into_values().collect())
    }

    /// For people. Columns in which no line has anything are left out.
    pub fn table(&self) -> String {
        let head = ["line", "warps", "lanes", "divergent", "sectors/request", "bank conflicts", "source"];
        let mut rows = vec![[&head[..], &["instruction"]].concat().into_iter().map(str::to_owned).collect()];
        let several = self.0.iter().any(|row| self.0.first().is_some_and(|first| first.file != row.file));
        rows.extend(self.0.iter().map(|row| row.cells(several)));
        let has = |column: usize| {
            rows.iter().skip(1).any(|row: &Vec<String>| row.get(column).is_some_and(|cell| !cell.is_empty()))
        };
        let kept: Vec<usize> = (0..=head.len()).filter(|column| *column < 3 || has(*column)).collect();
        lines(&rows, &kept, |column| column < 6, "")
    }

    /// For programs.
    pub fn json(&self) -> Json {
        self.0.iter().map(Row::json).collect()
    }
}

/// A line with one space between its words.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Row {
    /// Active lanes on average.
    fn lanes(&self) -> f64 {
        self.count.thread as f64 / self.count.warp.max(1) as f64
    }

    /// Sectors of a request on average, if there was one.
    fn sectors(&self) -> Option<f64> {
        (self.seen.requests > 0).then(|| self.seen.sectors as f64 / self.seen.requests as f64)
    }

    fn cells(&self, several: bool) -> Vec<String> {
        let Seen { divergent, shared_requests, conflicts, .. } = self.seen;
        let some = |shown: bool, text: String| if shown { text } else { String::new() };
        let place = match several {
            true => format!("{}:{}", self.file, self.line),
            false => self.line.to_string(),
        };
        vec![
            place,
            self.count.warp.to_string(),
            some(self.count.warp > 0, format!("{:.1}", self.lanes())),
            some(divergent > 0, divergent.to_string()),
            self.sectors().map_or(String::new(), |sectors| format!("{sectors:.1}")),
            some(shared_requests > 0, conflicts.to_string()),
            self.source.as_ref().map_or(String::new(), |source| format!("{}:{}", source.file, source.line)),
            self.text.chars().take(MOST_SHOWN).collect(),
        ]
    }

    fn json(&self) -> Json {
        let Seen { divergent, requests, sectors, shared_requests, conflicts } = self.seen;
        let mut row = json!({
            "file": self.file, "line": self.line, "text": self.text,
            "warp": self.count.warp, "thread": self.count.thread, "divergent_branches": divergent,
        });
        let mut put = |key: &str, value: Json| row[key] = value;
        if requests > 0 {
            put("global", json!({"requests": requests, "sectors": sectors}));
        }
        if shared_requests > 0 {
            put("shared", json!({"requests": shared_requests, "bank_conflicts": conflicts}));
        }
        if let Some(source) = &self.source {
            put("source", json!({"file": &*source.file, "line": source.line, "column": source.column}));
        }
        row
    }
}
