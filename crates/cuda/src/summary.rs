//! What a process did on the GPU, in numbers, for the program that started it: `softwarp exec` sums it up.
//!
//! If `SOFTWARP_SUMMARY` names a file, lines of JSON are appended to it, each with everything that this process did so
//! far; the last line of a process counts. A line is written when the driver is initialised, at the first launch, at
//! every fault and finding, some ten times a second while kernels run, and when the process ends by `exit` or by
//! returning from `main`. So a process that ends by a signal or `_exit` lacks only what it did in its last tenth of a
//! second, and no fault or finding. A line that names kernels that run is followed by another one when they have ended:
//! if it is the last, the process ended while they ran.

use crate::code::Code;
use crate::handle::lock;
use softwarp::vm::comparison::Comparisons;
use softwarp::vm::device::Outcome;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How often a line is written while nothing happens but launches.
const INTERVAL: Duration = Duration::from_millis(100);

/// The counts of a process.
#[derive(Debug)]
pub struct Summary {
    file: Option<PathBuf>,
    /// The number of the GPU's architecture, such as 90.
    gpu: u16,
    /// Nanoseconds since 1970: with the number of the process, it tells one process from another.
    started: u128,
    bytes_copied: AtomicU64,
    launches: Mutex<Launches>,
}

/// What launches came to.
#[derive(Debug, Default)]
struct Launches {
    launches: u64,
    kernels: HashSet<String>,
    warps: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    time: Duration,
    refused: u64,
    faults: u64,
    fault: Option<Code>,
    /// How many findings of each kind there are.
    findings: BTreeMap<&'static str, u64>,
    /// Launches in which the sanitizers reached a limit.
    not_looked_at: u64,
    /// What compare mode did.
    comparisons: Comparisons,
    /// How many launches ran code for a newer GPU, by its name.
    newer: BTreeMap<&'static str, u64>,
    /// The kernels that run now.
    running: Vec<String>,
    /// Some of them are named in the last line.
    named: bool,
    /// When the last line was written.
    written: Option<Instant>,
}

impl Launches {
    /// A kernel runs no more.
    fn ends(&mut self, kernel: &str) {
        if let Some(at) = self.running.iter().position(|name| name == kernel) {
            self.running.swap_remove(at);
        }
    }

    /// Whether the last line was written long ago.
    fn is_time(&self) -> bool {
        self.written.is_none_or(|written| written.elapsed() >= INTERVAL)
    }
}

/// The most running kernels that a line names.
const MOST_RUNNING: usize = 16;

impl Summary {
    /// Nothing so far, on a GPU by the number of its architecture.
    pub fn new(file: Option<&Path>, gpu: u16) -> Summary {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let summary = Summary {
            file: file.map(Path::to_owned),
            gpu,
            started: now.as_nanos(),
            bytes_copied: AtomicU64::new(0),
            launches: Mutex::default(),
        };
        // However the process ends, it has initialised the driver.
        summary.so_far();
        summary
    }

    /// A kernel begins to run.
    pub fn begins(&self, kernel: &str) {
        if self.file.is_none() {
            return;
        }
        let mut counts = lock(&self.launches);
        counts.running.push(kernel.to_owned());
        if counts.launches == 0 && !counts.named || counts.is_time() {
            self.write(&mut counts, false);
        }
    }

    /// A kernel that was to begin was refused.
    pub fn did_not_begin(&self, kernel: &str) {
        if self.file.is_some() {
            let mut counts = lock(&self.launches);
            counts.ends(kernel);
            if counts.named {
                self.write(&mut counts, false);
            }
        }
    }

    /// Bytes were copied by a call or by a node of a graph.
    pub fn copied(&self, bytes: u64) {
        self.bytes_copied.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A launch that ends now ran code for a newer GPU.
    pub fn is_newer(&self, gpu: &'static str) {
        *lock(&self.launches).newer.entry(gpu).or_default() += 1;
    }

    /// A launch with blocks of a given size has ended.
    pub fn launched(&self, kernel: &str, block: [u32; 3], outcome: &Outcome, fault: Option<Code>) {
        if self.file.is_none() {
            return;
        }
        let mut counts = lock(&self.launches);
        let report = &outcome.report;
        let threads: u64 = block.iter().map(|&size| u64::from(size)).product();
        counts.ends(kernel);
        counts.launches += 1;
        if !counts.kernels.contains(kernel) {
            counts.kernels.insert(kernel.to_owned());
        }
        counts.warps += report.ctas.saturating_mul(threads.div_ceil(32));
        counts.warp_instructions += report.counts.warp_instructions;
        counts.thread_instructions += report.counts.thread_instructions;
        counts.time += report.elapsed;
        counts.not_looked_at += u64::from(!report.not_looked_at.is_empty());
        for finding in &report.findings {
            *counts.findings.entry(finding.kind.word()).or_default() += 1;
        }
        counts.comparisons.add(report.comparisons.counts());
        counts.faults += u64::from(fault.is_some());
        counts.fault = counts.fault.or(fault);
        let is_urgent = fault.is_some() || !report.findings.is_empty() || counts.named;
        if is_urgent || counts.is_time() {
            self.write(&mut counts, false);
        }
    }

    /// Something was found when no launch ran.
    pub fn found(&self, kind: &'static str) {
        let mut counts = lock(&self.launches);
        *counts.findings.entry(kind).or_default() += 1;
        self.write(&mut counts, false);
    }

    /// A launch could not be executed.
    pub fn refused(&self) {
        let mut counts = lock(&self.launches);
        counts.refused += 1;
        self.write(&mut counts, false);
    }

    /// Work of a stream did not end in time.
    pub fn timed_out(&self, code: Code) {
        let mut counts = lock(&self.launches);
        counts.faults += 1;
        counts.fault = counts.fault.or(Some(code));
        self.write(&mut counts, false);
    }

    /// Writes what there is.
    pub fn so_far(&self) {
        self.write(&mut lock(&self.launches), false);
    }

    /// The process ends.
    pub fn end(&self) {
        self.write(&mut lock(&self.launches), true);
    }

    /// Appends a line. If the file cannot be written, the program goes on without an error.
    fn write(&self, counts: &mut Launches, ended: bool) {
        let Some(path) = &self.file else { return };
        counts.written = Some(Instant::now());
        counts.named = !counts.running.is_empty();
        let line = self.line(counts, ended);
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        // One write, so that lines of several processes do not mix.
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    fn line(&self, counts: &Launches, ended: bool) -> String {
        let mut findings = String::new();
        for (kind, count) in &counts.findings {
            let comma = if findings.is_empty() { "" } else { "," };
            let _ = write!(findings, "{comma}\"{kind}\":{count}");
        }
        let newer: Vec<String> =
            counts.newer.iter().map(|(gpu, count)| format!("\"{gpu}\":{count}")).collect();
        // Names of kernels have no characters that JSON escapes.
        let running = counts.running.iter().take(MOST_RUNNING);
        let running: Vec<String> = running.map(|name| format!("\"{name}\"")).collect();
        let fault = counts.fault.map_or("null".to_owned(), |code| code.0.to_string());
        let fields = [
            ("process", std::process::id().to_string()),
            ("started", self.started.to_string()),
            ("ended", ended.to_string()),
            ("launches", counts.launches.to_string()),
            ("kernels", counts.kernels.len().to_string()),
            ("warps", counts.warps.to_string()),
            ("warp_instructions", counts.warp_instructions.to_string()),
            ("thread_instructions", counts.thread_instructions.to_string()),
            ("kernel_seconds", format!("{:.6}", counts.time.as_secs_f64())),
            ("bytes_copied", self.bytes_copied.load(Ordering::Relaxed).to_string()),
            ("faults", counts.faults.to_string()),
            ("fault_code", fault),
            ("refused", counts.refused.to_string()),
            ("findings", format!("{{{findings}}}")),
            ("not_looked_at", counts.not_looked_at.to_string()),
            ("compared", compared(&counts.comparisons)),
            ("gpu", format!("\"sm_{}\"", self.gpu)),
            ("newer_ptx", format!("{{{}}}", newer.join(","))),
            ("running", format!("[{}]", running.join(","))),
        ];
        let fields = fields.map(|(name, value)| format!("\"{name}\":{value}"));
        format!("{{{}}}\n", fields.join(","))
    }
}

/// What compare mode did, as JSON.
fn compared(comparisons: &Comparisons) -> String {
    let Comparisons { equal, order_dependent, mismatches, not_compiled, not_compared, .. } = comparisons;
    let not_compared: Vec<String> =
        not_compared.iter().map(|(why, count)| format!("\"{}\":{count}", why.word())).collect();
    format!(
        "{{\"equal\":{equal},\"order_dependent\":{order_dependent},\"mismatches\":{mismatches},\
         \"not_compiled\":{not_compiled},\"not_compared\":{{{}}}}}",
        not_compared.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_appended_and_the_last_one_has_everything() {
        let path = std::env::temp_dir().join(format!("softwarp-summary-{}", std::process::id()));
        let summary = Summary::new(Some(&path), 90);
        summary.copied(12);
        summary.refused();
        summary.is_newer("sm_120a");
        summary.copied(30);
        summary.begins("spin");
        summary.did_not_begin("spin");
        lock(&summary.launches).findings.extend([("race", 2), ("leak", 1)]);
        summary.end();
        let text = std::fs::read_to_string(&path).expect("written");
        let _ = std::fs::remove_file(&path);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 5);
        assert_eq!((&lines[0]["bytes_copied"], &lines[0]["launches"]), (&0.into(), &0.into()));
        assert_eq!((&lines[1]["bytes_copied"], &lines[1]["ended"]), (&12.into(), &false.into()));
        assert_eq!(lines[2]["running"], serde_json::json!(["spin"]));
        assert_eq!(lines[3]["running"], serde_json::json!([]));
        assert_eq!((&lines[4]["bytes_copied"], &lines[4]["ended"]), (&42.into(), &true.into()));
        assert_eq!((&lines[4]["refused"], &lines[4]["findings"]["race"]), (&1.into(), &2.into()));
        assert_eq!(lines[4]["newer_ptx"], serde_json::json!({"sm_120a": 1}));
        assert_eq!((&lines[0]["gpu"], &lines[0]["newer_ptx"]), (&"sm_90".into(), &serde_json::json!({})));
        assert_eq!(lines[0]["started"], lines[4]["started"]);
    }
}
