//! What was executed, as a table and as JSON.

use super::super::remark;
use super::document::Document;
use super::lines::LineTable;
use crate::columns::{columns, lines};
use serde_json::{Value as Json, json};
use softwarp::vm::device::Report;
use softwarp::vm::stats::{Counts, OpCount};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Detail {
    /// All launches together
    All,
    /// The same, and each line of the PTX
    Lines,
}

/// Launches, added up.
pub struct Stats {
    launches: usize,
    ctas: u64,
    counts: Counts,
    elapsed: Duration,
    opcodes: Vec<(String, OpCount)>,
    lines: Option<LineTable>,
}

impl Stats {
    /// Adds up.
    pub fn new(reports: &[Report], lines: Option<LineTable>) -> Stats {
        let mut counts = Counts::default();
        let mut opcodes: BTreeMap<String, OpCount> = BTreeMap::new();
        for report in reports {
            counts.warp_instructions += report.counts.warp_instructions;
            counts.thread_instructions += report.counts.thread_instructions;
            counts.divergent_branches += report.counts.divergent_branches;
            counts.exchanges += report.counts.exchanges;
            for (mnemonic, count) in &report.mnemonics {
                let sum = opcodes.entry(mnemonic.clone()).or_default();
                sum.warp += count.warp;
                sum.thread += count.thread;
            }
        }
        let mut opcodes: Vec<(String, OpCount)> = opcodes.into_iter().collect();
        opcodes.sort_by_key(|(_, count)| std::cmp::Reverse(count.warp));
        Stats {
            launches: reports.len(),
            ctas: reports.iter().map(|report| report.ctas).sum(),
            counts,
            elapsed: reports.iter().map(|report| report.elapsed).sum(),
            opcodes,
            lines,
        }
    }

    /// Active lanes of a warp, on average.
    fn lanes(&self) -> f64 {
        self.counts.thread_instructions as f64 / self.counts.warp_instructions.max(1) as f64
    }

    /// Instructions of threads in a second.
    fn speed(&self) -> f64 {
        self.counts.thread_instructions as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Tells people, and puts it into what programs get.
    pub fn tell(&self, result: &mut Document) {
        remark(self.table().trim_end());
        result.add("stats", self.json());
    }

    /// The statistics as a table.
    fn table(&self) -> String {
        let Stats { launches, ctas, counts, elapsed, opcodes, lines: by_line } = self;
        let rows: Vec<Vec<String>> = vec![
            vec!["launches".into(), launches.to_string()],
            vec!["CTAs".into(), ctas.to_string()],
            vec!["instructions of warps".into(), counts.warp_instructions.to_string()],
            vec!["instructions of threads".into(), counts.thread_instructions.to_string()],
            vec!["active lanes on average".into(), format!("{:.1} of 32", self.lanes())],
            vec!["divergent branches".into(), counts.divergent_branches.to_string()],
            vec!["exchanges among lanes".into(), counts.exchanges.to_string()],
            vec!["time".into(), format!("{:.3} s", elapsed.as_secs_f64())],
            vec![
                "speed, interpreted".into(),
                format!("{:.1} million instructions of threads a second", self.speed() / 1e6),
            ],
        ];
        let mut counted: Vec<Vec<String>> =
            vec![vec!["instruction".into(), "warps".into(), "threads".into()]];
        counted.extend(opcodes.iter().map(|(mnemonic, count)| {
            vec![mnemonic.clone(), count.warp.to_string(), count.thread.to_string()]
        }));
        let numbers = lines(&counted, &[0, 1, 2], |column| column > 0, "");
        let by_line = by_line.as_ref().map_or(String::new(), |table| format!("\n{}", table.table()));
        format!("{}\n{numbers}{by_line}", columns(&rows))
    }

    /// The statistics as JSON.
    fn json(&self) -> Json {
        let opcodes: serde_json::Map<String, Json> = self
            .opcodes
            .iter()
            .map(|(mnemonic, count)| (mnemonic.clone(), json!({"warp": count.warp, "thread": count.thread})))
            .collect();
        let mut stats = json!({
            "launches": self.launches,
            "ctas": self.ctas,
            "warp_instructions": self.counts.warp_instructions,
            "thread_instructions": self.counts.thread_instructions,
            "divergent_branches": self.counts.divergent_branches,
            "exchanges": self.counts.exchanges,
            "seconds": self.elapsed.as_secs_f64(),
            "by_instruction": opcodes,
        });
        if let Some(lines) = &self.lines {
            stats["by_line"] = lines.json();
        }
        stats
    }
}
