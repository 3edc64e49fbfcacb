//! The instructions of modules and the lines that they stand in: where breakpoints are.

use crate::demangle::demangled;
use crate::lineinfo::{self, SourceLine};
use crate::source::Source;
use crate::syntax::tree::{Item, Statement};
use crate::syntax::{Module, Span};
use std::collections::BTreeMap;

/// An instruction of a module, by the module and its first byte in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstructionKey {
    /// The module, of those that were loaded together.
    pub unit: u32,
    /// The first byte.
    pub start: u32,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Which.
    pub key: InstructionKey,
    /// Its place in the text.
    pub span: Span,
    /// Its line in the PTX, from 1.
    pub line: u32,
    /// The line of the program that the PTX was made from.
    pub source: Option<SourceLine>,
    /// The function that it is in: an index into [`Code::functions`].
    pub function: usize,
}

/// A function with a body.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name in the PTX.
    pub name: String,
    /// Its name in C++, if it has one.
    pub demangled: Option<String>,
    /// The module.
    pub unit: u32,
    /// Its labels, and the first byte of the instruction behind each.
    labels: BTreeMap<String, u32>,
}

impl Function {
    /// Its name for people.
    pub fn shown(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// Why there is no such place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// No instruction is on that line or behind it.
    #[error("{file} has no instruction on line {line} or behind it")]
    Line {
        /// The file.
        file: String,
        /// The line.
        line: u32,
    },
    /// No such file.
    #[error("no instruction comes from a file `{0}`: PTX made with -lineinfo names its files; known are {1}")]
    File(String, String),
    /// No function and no label.
    #[error("there is no function or label `{0}`; functions are {1}")]
    Name(String, String),
}

/// The instructions of the modules that were loaded together.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The names of the PTX files.
    names: Vec<String>,
    /// The functions that have a body.
    pub functions: Vec<Function>,
    /// By module and place.
    instructions: Vec<Instruction>,
}

impl Code {
    /// Finds the instructions of PTX files.
    pub fn new<'a>(files: impl Iterator<Item = (&'a Source, &'a Module)>) -> Code {
        let mut code = Code::default();
        for (unit, (source, module)) in (0..).zip(files) {
            code.names.push(source.name.clone());
            for lines in lineinfo::of_module(&source.text, module) {
                let function = code.functions.len();
                code.functions.push(Function {
                    demangled: demangled(&lines.name, false),
                    labels: labels(&source.text, module, &lines.name),
                    name: lines.name,
                    unit,
                });
                code.instructions.extend(lines.instructions.into_iter().map(|(span, line)| Instruction {
                    key: InstructionKey { unit, start: span.start },
                    span,
                    line: source.position(span.start).line,
                    source: line,
                    function,
                }));
            }
        }
        code.instructions.sort_by_key(|one| one.key);
        code
    }

    /// All instructions, in the order of the texts.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// An instruction.
    pub fn get(&self, key: InstructionKey) -> Option<&Instruction> {
        let at = self.instructions.binary_search_by_key(&key, |one| one.key).ok()?;
        self.instructions.get(at)
    }

    /// The name of a PTX file.
    pub fn file(&self, unit: u32) -> &str {
        self.names.get(unit as usize).map_or("", String::as_str)
    }

    /// The instructions that a place means: `12` (a line of the PTX), `kernel.cu:12`, a function or a label. `within` is
    /// the module and function whose lines and labels are meant first.
    pub fn find(&self, place: &str, within: Option<&Instruction>) -> Result<Vec<InstructionKey>, NoPlace> {
        let place = place.trim();
        if let Ok(line) = place.parse() {
            return self.ptx_line(within.map_or(0, |one| one.key.unit), line);
        }
        if let Some((file, line)) = place.rsplit_once(':')
            && let Ok(line) = line.parse()
        {
            return self.file_line(file, line);
        }
        let name = place.strip_prefix('*').unwrap_or(place);
        let label = within.and_then(|one| {
            let function = self.functions.get(one.function)?;
            Some(InstructionKey { unit: function.unit, start: *function.labels.get(name)? })
        });
        if let Some(key) = label {
            return Ok(vec![key]);
        }
        let called = |function: &Function| {
            let plain = function.demangled.as_deref().map(|full| full.split('<').next().unwrap_or(full));
            function.name == name || function.demangled.as_deref() == Some(name) || plain == Some(name)
        };
        let mut found = Vec::new();
        for (index, function) in self.functions.iter().enumerate() {
            if called(function) {
                let first = self.instructions.iter().find(|one| one.function == index);
                found.extend(first.map(|one| one.key));
            } else if let Some(&start) = function.labels.get(name) {
                found.push(InstructionKey { unit: function.unit, start });
            }
        }
        match found.is_empty() {
            false => Ok(found),
            true => {
                let all: Vec<String> =
                    self.functions.iter().take(20).map(|one| format!("`{}`", one.shown())).collect();
                Err(NoPlace::Name(name.to_owned(), all.join(", ")))
            }
        }
    }

    /// The first instruction of a line of a PTX file, or of the next line that has one.
    fn ptx_line(&self, unit: u32, line: u32) -> Result<Vec<InstructionKey>, NoPlace> {
        let behind = |one: &&Instruction| one.key.unit == unit && one.line >= line;
        let first = self.instructions.iter().filter(behind).min_by_key(|one| (one.line, one.key.start));
        first.map(|one| vec![one.key]).ok_or_else(|| NoPlace::Line { file: self.file(unit).to_owned(), line })
    }

    /// The instructions that begin a line of a file: the PTX, or one that it was made from.
    pub fn file_line(&self, file: &str, line: u32) -> Result<Vec<InstructionKey>, NoPlace> {
        if let Some(unit) = (0..).zip(&self.names).find_map(|(unit, name)| ends(name, file).then_some(unit)) {
            return self.ptx_line(unit, line);
        }
        let of_file = |one: &&Instruction| one.source.as_ref().is_some_and(|at| ends(&at.file, file));
        let line_of = |one: &Instruction| one.source.as_ref().map_or(0, |at| at.line);
        if !self.instructions.iter().any(|one| of_file(&one)) {
            let mut known: Vec<&str> =
                self.instructions.iter().filter_map(|one| one.source.as_ref()).map(|at| &*at.file).collect();
            known.sort_unstable();
            known.dedup();
            known.extend(self.names.iter().map(String::as_str));
            known.truncate(20);
            return Err(NoPlace::File(file.to_owned(), known.join(", ")));
        }
        let behind = self.instructions.iter().filter(of_file).map(line_of).filter(|at| *at >= line);
        let Some(line) = behind.min() else {
            return Err(NoPlace::Line { file: file.to_owned(), line });
        };
        let on_line = |one: &Instruction| of_file(&one) && line_of(one) == line;
        let begins = |pair: &[Instruction]| {
            let [before, one] = pair else { return false };
            on_line(one) && !(on_line(before) && before.function == one.function)
        };
        let first = self.instructions.first().filter(|one| on_line(one)).map(|one| one.key);
        let others = self.instructions.windows(2).filter(|pair| begins(pair)).map(|pair| pair[1].key);
        Ok(first.into_iter().chain(others).collect())
    }
}

/// Whether a path is what another one ends with, by whole names.
fn ends(path: &str, wanted: &str) -> bool {
    std::path::Path::new(path).ends_with(wanted)
}

/// The labels of a function, and the instruction behind each.
fn labels(text: &str, module: &Module, name: &str) -> BTreeMap<String, u32> {
    let bodies = module.items.iter().filter_map(|item| match item {
        Item::Function(function) if function.name.span.text(text) == name => function.body.as_ref(),
        _ => None,
    });
    let mut labels = BTreeMap::new();
    for body in bodies {
        let mut waiting: Vec<&str> = Vec::new();
        for statement in &body.statements {
            match statement {
                Statement::Label(label) => waiting.push(label.span.text(text)),
                Statement::Instruction(instruction) => {
                    for label in waiting.drain(..) {
                        labels.entry(label.to_owned()).or_insert(instruction.span.start);
                    }
                }
                _ => {}
            }
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"src/a.cu\"\n\
        .visible .entry _Z3twov()\n{\n.loc 1 3 1\nbar.sync 0;\n.loc 1 5 1\nbar.sync 1;\nL: bar.sync 2;\n.loc 1 3 9\nret;\n}\n";

    #[test]
    fn places_are_found_by_line_file_name_and_label() {
        let source = Source::new("dir/k.ptx", TEXT.as_bytes().to_vec());
        let parsed = crate::syntax::parse(TEXT);
        let code = Code::new([(&source, &parsed.module)].into_iter());
        let lines = |place: &str| {
            let found = code.find(place, None).map_err(|error| error.to_string())?;
            Ok::<Vec<u32>, String>(
                found.iter().filter_map(|key| code.get(*key)).map(|one| one.line).collect(),
            )
        };
        assert_eq!(lines("1"), Ok(vec![8]));
        assert_eq!(lines("9"), Ok(vec![10]));
        assert_eq!(lines("k.ptx:11"), Ok(vec![11]));
        assert_eq!(lines("a.cu:3"), Ok(vec![8, 13]));
        assert_eq!(lines("a.cu:4"), Ok(vec![10]));
        assert_eq!(lines("two"), Ok(vec![8]));
        assert_eq!(lines("L"), Ok(vec![11]));
        assert!(lines("b.cu:1").is_err_and(|text| text.contains("src/a.cu")));
        assert!(lines("three").is_err_and(|text| text.contains("`two`")));
        assert!(lines("99").is_err());
        assert!(lines("a.cu:6").is_err());
    }
}
