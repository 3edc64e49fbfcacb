//! `--coverage`: how often each line was executed, as lcov has it (`man geninfo`).

use super::super::CommandError;
use super::super::files::Output;
use crate::run::counted::Counted;
use softwarp::source::Source;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// What is known of a file: the lines of its functions, how often each began, and executions of lines.
#[derive(Debug, Default)]
struct Record<'a> {
    functions: BTreeMap<&'a str, (u32, u64)>,
    lines: BTreeMap<u32, u64>,
}

/// Writes the file.
pub fn write(path: &Path, sources: &[Source], functions: &[Counted]) -> Result<(), CommandError> {
    Output::write(path, text(sources, functions).as_bytes())
}

/// A record for each file of PTX, and one for each file that `.loc` names. A count is of executions by warps, added up over
/// the instructions of a line.
fn text(sources: &[Source], functions: &[Counted]) -> String {
    let mut ptx: BTreeMap<usize, Record<'_>> = BTreeMap::new();
    let mut named: BTreeMap<&str, Record<'_>> = BTreeMap::new();
    for function in functions {
        let (name, calls) = (function.name.as_str(), function.calls());
        let record = ptx.entry(function.unit).or_default();
        record.functions.insert(name, (function.line, calls));
        for one in &function.instructions {
            *record.lines.entry(one.line).or_default() += one.count.warp;
        }
        if let Some(source) = &function.source {
            named.entry(&source.file).or_default().functions.insert(name, (source.line, calls));
        }
        for (source, count) in
            function.instructions.iter().filter_map(|one| Some((one.source.as_ref()?, one.count)))
        {
            // Line 0 is for what no line stands for.
            if source.line > 0 {
                *named.entry(&source.file).or_default().lines.entry(source.line).or_default() += count.warp;
            }
        }
    }
    let mut text = String::new();
    for (unit, record) in &ptx {
        // PTX from standard input or from a compiler is in no file.
        if let Some(source) = sources.get(*unit).filter(|source| Path::new(&source.name).exists()) {
            record.write(&source.name, &mut text);
        }
    }
    named.iter().for_each(|(name, record)| record.write(name, &mut text));
    text
}

impl Record<'_> {
    fn write(&self, name: &str, text: &mut String) {
        let name: String = name.chars().filter(|one| !one.is_control()).collect();
        let _ = writeln!(text, "TN:\nSF:{name}");
        for (function, (line, _)) in &self.functions {
            let _ = writeln!(text, "FN:{line},{function}");
        }
        for (function, (_, calls)) in &self.functions {
            let _ = writeln!(text, "FNDA:{calls},{function}");
        }
        let hit = self.functions.values().filter(|(_, calls)| *calls > 0).count();
        let _ = writeln!(text, "FNF:{}\nFNH:{hit}", self.functions.len());
        for (line, count) in &self.lines {
            let _ = writeln!(text, "DA:{line},{count}");
        }
        let hit = self.lines.values().filter(|count| **count > 0).count();
        let _ = writeln!(text, "LF:{}\nLH:{hit}\nend_of_record", self.lines.len());
    }
}
