//! Runs kernels with their launch files, by the program `softwarp run`, and shows what it finds where it is.
//!
//! A run takes a while, so it has a thread of its own; the server goes on meanwhile.

use crate::diagnostics::SOURCE;
use crate::protocol::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, ExecuteCommandParams, Location,
    MessageType, Position, Range, Uri, json,
};
use crate::uri;
use crate::world::{Answer, Failure, World};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command that runs the kernels of a launch file; its arguments are the PTX's URI and the launch file's path.
pub const RUN: &str = "softwarp.run";
/// The same, with all sanitizers.
pub const SANITIZE: &str = "softwarp.sanitize";
/// Every command.
pub const COMMANDS: &[&str] = &[RUN, SANITIZE];

/// The most seconds that a run may take.
const SECONDS: u32 = 60;

/// A run that is to be started.
#[derive(Debug)]
pub struct Job {
    program: PathBuf,
    launch: PathBuf,
    sanitize: bool,
    document: Uri,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// The document whose kernels ran.
    pub document: Uri,
    /// What it found.
    pub findings: Vec<Diagnostic>,
    /// What to tell.
    pub message: (MessageType, String),
    /// The answer to the request.
    pub result: Answer<Value>,
}

/// What a command asks for.
pub fn job(world: &World, params: &ExecuteCommandParams) -> Answer<Job> {
    if !COMMANDS.contains(&params.command.as_str()) {
        let known = COMMANDS.join(", ");
        return Err(Failure::Parameters(format!("there is no such command; those are {known}")));
    }
    let arguments = params.arguments.as_deref().unwrap_or_default();
    let [Value::String(document), Value::String(launch)] = arguments else {
        let why = "the arguments are the URI of the PTX and the path of the launch file";
        return Err(Failure::Parameters(why.to_owned()));
    };
    let document = Uri(document.clone());
    let open = world.document(&document)?;
    let path = uri::to_path(&document)
        .ok_or_else(|| Failure::Failed(format!("{} is no file: save it first", document.0)))?;
    if std::fs::read_to_string(&path).ok().as_deref() != Some(open.source()) {
        return Err(Failure::Failed(format!("{} has changes: save it first", path.display())));
    }
    let program = world.program.clone();
    let program = program.ok_or_else(|| Failure::Failed("this server cannot run kernels".to_owned()))?;
    Ok(Job { program, launch: PathBuf::from(launch), sanitize: params.command == SANITIZE, document })
}

impl Job {
    /// Runs it.
    pub fn run(self) -> Outcome {
        let mut command = Command::new(&self.program);
        command.args(["run", "--format", "json", "--time", &SECONDS.to_string()]);
        if self.sanitize {
            command.args(["--sanitize", "all"]);
        }
        let file = std::fs::read(&self.launch).ok().and_then(|file| json::parse(&file).ok());
        if file.is_some_and(|file| file.get("expect").is_some()) {
            command.arg("--check");
        }
        command.arg(&self.launch).stdin(Stdio::null());
        if let Some(folder) = self.launch.parent().filter(|folder| folder.is_dir()) {
            command.current_dir(folder);
        }
        let name =
            self.launch.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                let why = format!("cannot start {}: {error}", self.program.display());
                return self.failed(why);
            }
        };
        let Ok(result) = json::parse(&output.stdout) else {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            return self.failed(format!("{name}: {line}"));
        };
        let path = uri::to_path(&self.document);
        let findings = findings(&result, path.as_deref(), &self.document);
        let message = match (result["ok"].as_bool().unwrap_or(false), findings.len()) {
            (true, _) => (MessageType::Info, format!("{name}: ran; {}", summary(&result))),
            (false, 0) => (MessageType::Warning, format!("{name}: the results differ from what it expects")),
            (false, count) => {
                let things = if count == 1 { "thing" } else { "things" };
                (MessageType::Warning, format!("{name}: {count} {things} found"))
            }
        };
        Outcome { document: self.document, findings, message, result: Ok(result) }
    }

    fn failed(self, why: String) -> Outcome {
        let message = (MessageType::Error, why.clone());
        Outcome { document: self.document, findings: Vec::new(), message, result: Err(Failure::Failed(why)) }
    }
}

/// What was read back, in a few words.
fn summary(result: &Value) -> String {
    let dumps = result["dumps"].as_object();
    match dumps.map(|dumps| dumps.keys().cloned().collect::<Vec<_>>()).unwrap_or_default().as_slice() {
        [] => "nothing is read back".to_owned(),
        names => format!("read back: {}", names.join(", ")),
    }
}

/// Faults and findings as diagnostics, with the other place of each.
fn findings(result: &Value, path: Option<&Path>, document: &Uri) -> Vec<Diagnostic> {
    let listed = result["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let all = listed.iter().chain(Some(&result["fault"]).filter(|fault| fault.is_object()));
    all.filter_map(|finding| {
        // A fault has its place itself.
        let own = if finding["at"].is_object() { &finding["at"] } else { finding };
        let at = place(own, path)?;
        let mut related = Vec::new();
        if let Some(other) = place(&finding["other"], path) {
            let location = Location { uri: document.clone(), range: other };
            related.push(DiagnosticRelatedInformation {
                location,
                message: whose(&finding["other"], "the other access"),
            });
        }
        related.push(DiagnosticRelatedInformation {
            location: Location { uri: document.clone(), range: at },
            message: whose(own, "this access"),
        });
        let kind = finding["kind"].as_str().unwrap_or("fault");
        Some(Diagnostic {
            range: at,
            severity: DiagnosticSeverity::Error,
            code: kind.to_owned(),
            code_description: None,
            source: format!("{SOURCE} run"),
            message: finding["message"].as_str().unwrap_or(kind).to_owned(),
            tags: None,
            related_information: Some(related),
        })
    })
    .collect()
}

/// Which thread it was.
fn whose(at: &Value, what: &str) -> String {
    let numbers = |value: &Value| {
        let numbers = value.as_array().map_or(&[][..], Vec::as_slice);
        numbers.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
    };
    format!("{what}: thread ({}) of CTA ({})", numbers(&at["thread"]), numbers(&at["cta"]))
}

/// The place of an instruction, if it is in the document.
fn place(at: &Value, path: Option<&Path>) -> Option<Range> {
    let file = Path::new(at["file"].as_str()?);
    if path.is_some_and(|path| path.file_name() != file.file_name()) {
        return None;
    }
    let line = u32::try_from(at["line"].as_u64()?).ok()?.checked_sub(1)?;
    let start = u32::try_from(at["column"].as_u64()?).ok()?.saturating_sub(1);
    let length = at["instruction"].as_str().map_or(1, |text| text.encode_utf16().count() as u32);
    let position = |character| Position { line, character };
    Some(Range { start: position(start), end: position(start + length) })
}

/// The launch files that name a PTX file: `.json` files of its folder with `launches`. Each with the kernels that it
/// launches.
pub fn launch_files(ptx: &Path) -> Vec<(PathBuf, Vec<String>)> {
    /// The most files that are looked at, and the largest.
    const MOST: usize = 200;
    const LARGEST: u64 = 4 << 20;
    let Some(folder) = ptx.parent() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let json = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(json).take(MOST).collect();
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| {
            let about = std::fs::metadata(&path).ok()?;
            if !about.is_file() || about.len() > LARGEST {
                return None;
            }
            let file = json::parse(&std::fs::read(&path).ok()?).ok()?;
            let launches = file["launches"].as_array()?;
            let named = match file["ptx"].as_str() {
                Some(name) => folder.join(name),
                None => path.with_extension("ptx"),
            };
            let same = named == ptx
                || named.canonicalize().ok().is_some_and(|named| Some(named) == ptx.canonicalize().ok());
            let kernels = launches.iter().filter_map(|launch| launch["kernel"].as_str().map(str::to_owned));
            same.then(|| (path, kernels.collect()))
        })
        .collect()
}

/// The arguments of a command that runs a launch file.
pub fn arguments(document: &Uri, launch: &Path) -> Vec<Value> {
    vec![Value::from(document.0.as_str()), Value::from(launch.to_string_lossy())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn findings_have_both_places() {
        let result = json!({"ok": false, "findings": [{
            "kind": "race", "message": "race",
            "at": {"file": "a.ptx", "line": 12, "column": 5, "instruction": "ld;", "thread": [1, 0, 0], "cta": [0, 0, 0]},
            "other": {"file": "a.ptx", "line": 11, "column": 5, "instruction": "st;", "thread": [0, 0, 0], "cta": [0, 0, 0]},
        }], "fault": {"kind": "out_of_bounds", "message": "far", "at": {"file": "b.ptx", "line": 1, "column": 1}}});
        let uri = Uri("file:///x/a.ptx".to_owned());
        let found = findings(&result, Some(Path::new("/x/a.ptx")), &uri);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].range.start, Position { line: 11, character: 4 });
        let related = found[0].related_information.as_ref().expect("other places");
        assert_eq!(related[0].location.range.start.line, 10);
        assert!(related[0].message.contains("thread (0,0,0)"), "{}", related[0].message);
        assert_eq!(findings(&json!(3), None, &uri), []);
    }
}
