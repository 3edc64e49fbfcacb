//! What a program and the processes that it started did, summed up from what the driver library writes.

use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A line of the driver library: what a process did so far.
#[derive(Clone, Debug, Default, Deserialize)]
struct Line {
    process: u32,
    started: u64,
    launches: u64,
    kernels: u64,
    warps: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    kernel_seconds: f64,
    bytes_copied: u64,
    faults: u64,
    fault_code: Option<u32>,
    refused: u64,
    findings: BTreeMap<String, u64>,
    not_looked_at: u64,
    #[serde(default)]
    compared: Compared,
    /// Kernels that ran when the line was written.
    #[serde(default)]
    running: Vec<String>,
    /// The GPU that the program saw.
    #[serde(default)]
    gpu: String,
    /// How many launches ran code for a newer GPU, by its name.
    #[serde(default)]
    newer_ptx: BTreeMap<String, u64>,
}

/// What compare mode did.
#[derive(Clone, Debug, Default, Deserialize)]
struct Compared {
    equal: u64,
    order_dependent: u64,
    mismatches: u64,
    not_compiled: u64,
    not_compared: BTreeMap<String, u64>,
}

/// What all processes did.
#[derive(Debug, Default)]
pub struct Total {
    processes: usize,
    sum: Line,
}

impl Total {
    /// Reads the file. The last line of a process counts; what is no line is passed over.
    pub fn read(path: &Path) -> Total {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        Total::of(&text)
    }

    fn of(text: &str) -> Total {
        let mut processes = BTreeMap::new();
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            processes.insert((line.started, line.process), line);
        }
        let mut total = Total { processes: processes.len(), ..Total::default() };
        for line in processes.into_values() {
            total.sum.add(line);
        }
        total
    }

    /// Whether there was a fault, a finding, a kernel that could not be executed, or one that did not end.
    pub fn has_found(&self) -> bool {
        let Line { faults, refused, findings, running, .. } = &self.sum;
        *faults > 0 || *refused > 0 || !findings.is_empty() || !running.is_empty()
    }

    /// For people.
    pub fn text(&self) -> String {
        let sum = &self.sum;
        if self.processes == 0 {
            return "softwarp: the program did not initialise the CUDA driver\n".to_owned();
        }
        let among =
            if self.processes > 1 { format!(" in {} processes", self.processes) } else { String::new() };
        let mut text = format!(
            "softwarp: {} of {}{among}, {}, {:.3} s in kernels, {} copied\n",
            many(sum.launches, "launch", "launches"),
            many(sum.kernels, "kernel", "kernels"),
            many(sum.thread_instructions, "thread instruction", "thread instructions"),
            sum.kernel_seconds,
            many(sum.bytes_copied, "byte", "bytes"),
        );
        let code = sum.fault_code.map_or(String::new(), |code| format!(" (error {code})"));
        let findings: u64 = sum.findings.values().sum();
        let kinds: Vec<String> =
            sum.findings.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        text.push_str(&format!(
            "softwarp: {}{code}, {}{kinds}\n",
            many(sum.faults, "fault", "faults"),
            many(findings, "finding", "findings"),
        ));
        if sum.refused > 0 {
            let launches = many(sum.refused, "launch", "launches");
            text.push_str(&format!("softwarp: {launches} could not be executed\n"));
        }
        if !sum.running.is_empty() {
            let launches = many(sum.running.len() as u64, "launch", "launches");
            text.push_str(&format!(
                "softwarp: {launches} had not ended when the process did: {}\n",
                sum.running.join(", ")
            ));
        }
        if sum.not_looked_at > 0 {
            let launches = many(sum.not_looked_at, "launch", "launches");
            text.push_str(&format!(
                "softwarp: in {launches} a sanitizer reached a limit and did not see everything\n"
            ));
        }
        text.push_str(&sum.compared.text());
        if !sum.newer_ptx.is_empty() {
            let newer: Vec<String> = sum
                .newer_ptx
                .iter()
                .map(|(gpu, number)| format!("{} of PTX for {gpu}", many(*number, "launch", "launches")))
                .collect();
            text.push_str(&format!("softwarp: {} ran on a simulated {}\n", newer.join(" and "), sum.gpu));
        }
        text
    }

    /// For programs.
    pub fn json(&self, code: u8) -> Json {
        let sum = &self.sum;
        json!({
            "processes": self.processes,
            "launches": sum.launches,
            "kernels": sum.kernels,
            "warps": sum.warps,
            "warp_instructions": sum.warp_instructions,
            "thread_instructions": sum.thread_instructions,
            "kernel_seconds": sum.kernel_seconds,
            "bytes_copied": sum.bytes_copied,
            "faults": sum.faults,
            "fault_code": sum.fault_code,
            "refused": sum.refused,
            "findings": sum.findings,
            "not_looked_at": sum.not_looked_at,
            "compared": sum.compared.json(),
            "not_ended": sum.running,
            "gpu": sum.gpu,
            "newer_ptx": sum.newer_ptx,
            "exit_code": code,
        })
    }
}

impl Compared {
    /// All launches in compare mode.
    fn launches(&self) -> u64 {
        self.compared() + self.not_compiled + self.not_compared.values().sum::<u64>()
    }

    /// Launches that were compared.
    fn compared(&self) -> u64 {
        self.equal + self.order_dependent + self.mismatches
    }

    /// For people: nothing without compare mode.
    fn text(&self) -> String {
        if self.launches() == 0 {
            return String::new();
        }
        let mut text = format!(
            "softwarp: compared {} compiled and interpreted: {} equal, {} order-dependent, {}",
            many(self.compared(), "launch", "launches"),
            self.equal,
            self.order_dependent,
            many(self.mismatches, "mismatch", "mismatches"),
        );
        if self.not_compiled > 0 {
            let launches = many(self.not_compiled, "launch", "launches");
            text.push_str(&format!("; {launches} without compiled code"));
        }
        for (why, number) in &self.not_compared {
            let launches = many(*number, "launch", "launches");
            text.push_str(&format!("; {launches} not compared ({})", why.replace('_', " ")));
        }
        text.push('\n');
        text
    }

    /// For programs.
    fn json(&self) -> Json {
        json!({
            "launches": self.launches(),
            "compared": self.compared(),
            "equal": self.equal,
            "order_dependent": self.order_dependent,
            "mismatches": self.mismatches,
            "not_compiled": self.not_compiled,
            "not_compared": self.not_compared,
        })
    }

    /// Adds another process's counts.
    fn add(&mut self, other: Compared) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.equal, other.equal);
        add(&mut self.order_dependent, other.order_dependent);
        add(&mut self.mismatches, other.mismatches);
        add(&mut self.not_compiled, other.not_compiled);
        for (why, number) in other.not_compared {
            add(self.not_compared.entry(why).or_default(), number);
        }
    }
}

impl Line {
    /// Adds another process's counts. Kernels of several processes are counted in each.
    fn add(&mut self, other: Line) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.launches, other.launches);
        add(&mut self.kernels, other.kernels);
        add(&mut self.warps, other.warps);
        add(&mut self.warp_instructions, other.warp_instructions);
        add(&mut self.thread_instructions, other.thread_instructions);
        add(&mut self.bytes_copied, other.bytes_copied);
        add(&mut self.faults, other.faults);
        add(&mut self.refused, other.refused);
        add(&mut self.not_looked_at, other.not_looked_at);
        self.compared.add(other.compared);
        self.kernel_seconds += other.kernel_seconds;
        self.fault_code = self.fault_code.or(other.fault_code);
        self.running.extend(other.running);
        if !other.gpu.is_empty() {
            self.gpu = other.gpu;
        }
        for (gpu, number) in other.newer_ptx {
            add(self.newer_ptx.entry(gpu).or_default(), number);
        }
        for (kind, number) in other.findings {
            add(self.findings.entry(kind).or_default(), number);
        }
    }
}

/// "1 launch", "2 launches"
fn many(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(process: u32, launches: u64, rest: &str) -> String {
        format!(
            "{{\"process\":{process},\"started\":17,\"ended\":false,\"launches\":{launches},\"kernels\":1,\"warps\":2,\
             \"warp_instructions\":3,\"thread_instructions\":90,\"kernel_seconds\":0.5,\"bytes_copied\":8,{rest},\
             \"not_looked_at\":0,\"running\":[]}}\n"
        )
    }

    #[test]
    fn the_last_line_of_each_process_counts() {
        let quiet = "\"faults\":0,\"fault_code\":null,\"refused\":0,\"findings\":{}";
        let found = "\"faults\":1,\"fault_code\":700,\"refused\":0,\"findings\":{\"race\":2}";
        let text = [&line(1, 1, quiet), "no line\n", &line(1, 5, quiet), &line(2, 1, quiet)].concat();
        let total = Total::of(&text);
        assert_eq!((total.processes, total.sum.launches, total.has_found()), (2, 6, false));
        assert_eq!(
            total.text(),
            "softwarp: 6 launches of 2 kernels in 2 processes, 180 thread instructions, 1.000 s in kernels, 16 bytes \
             copied\nsoftwarp: 0 faults, 0 findings\n"
        );
        let total = Total::of(&line(1, 1, found));
        assert!(total.has_found());
        assert!(total.text().ends_with("softwarp: 1 fault (error 700), 2 findings (2 race)\n"));
        assert_eq!(total.json(3)["findings"]["race"], 2);
        assert!(Total::of("").text().contains("did not initialise"));
        let newer = "\"gpu\":\"sm_90\",\"newer_ptx\":{\"sm_100a\":1,\"sm_120\":2}";
        let total = Total::of(&line(1, 3, &format!("{quiet},{newer}")));
        assert!(!total.has_found());
        assert!(
            total.text().ends_with(
                "softwarp: 1 launch of PTX for sm_100a and 2 launches of PTX for sm_120 ran on a simulated sm_90\n"
            )
        );
        assert_eq!(
            (&total.json(0)["gpu"], &total.json(0)["newer_ptx"]["sm_120"]),
            (&"sm_90".into(), &2.into())
        );
        let total = Total::of(&line(1, 0, quiet).replace("[]", "[\"spin\",\"copy\"]"));
        assert!(total.has_found());
        assert!(
            total.text().ends_with("softwarp: 2 launches had not ended when the process did: spin, copy\n"),
            "{}",
            total.text()
        );
    }
}
