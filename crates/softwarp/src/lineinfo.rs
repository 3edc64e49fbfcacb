//! The lines of the program that PTX was made from, as `.loc` and `.file` name them (sections 11.5.2 and 11.5.3).
//!
//! A `.loc` applies to the instructions behind it, up to the next. One of an inlined function has the function's name and
//! the place of the call (`inlined_at`). Where that place is in an inlined function itself, an earlier `.loc` has the same
//! numbers and says where that one was inlined.

use crate::demangle::demangled;
use crate::syntax::tree::{Function, Item, Statement};
use crate::syntax::{Module, Span};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most calls of inlined functions that are followed.
const DEEPEST: usize = 64;
/// The longest name that is read as one of C++.
const LONGEST_NAME: usize = 4096;
/// The most bytes of a source file that are read.
const MOST_READ: u64 = 16 << 20;
/// The most characters of a source line that are shown.
const MOST_SHOWN: usize = 160;

/// The ends of the names of files that are read. PTX could name any file.
const LANGUAGES: &[&str] = &[
    "c", "cc", "cpp", "cu", "cuh", "cxx", "f90", "h", "hh", "hpp", "hxx", "inl", "ipp", "jl", "mlir", "mojo",
    "py", "rs",
];

/// A place in the program that PTX was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as `.file` names it.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if there is none.
    pub column: u32,
    /// The inlined function that the place is in, as C++ calls it; none for a place in the function of the PTX itself.
    pub function: Option<String>,
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            0 => write!(f, "{}:{}", self.file, self.line),
            column => write!(f, "{}:{}:{column}", self.file, self.line),
        }
    }
}

impl SourceLine {
    /// The text of the line, if the file is found: by its name, or in one of the folders. Only regular files of at most
    /// 16 MiB with a name as programs have it (`.cu`, `.h`, `.py` and the like) are read.
    pub fn text(&self, folders: &[&Path]) -> Option<String> {
        let name = Path::new(&*self.file);
        name.extension().and_then(|end| end.to_str()).filter(|end| LANGUAGES.contains(end))?;
        let paths =
            std::iter::once(PathBuf::from(name)).chain(folders.iter().map(|folder| folder.join(name)));
        let is_read = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MOST_READ)
        };
        let file = std::fs::File::open(paths.into_iter().find(is_read)?).ok()?;
        let lines = BufReader::new(file.take(MOST_READ)).split(b'\n');
        let line = lines.map_while(Result::ok).nth(self.line.checked_sub(1)? as usize)?;
        let line = String::from_utf8_lossy(&line);
        let text: String = line.trim().chars().take(MOST_SHOWN).collect();
        (!text.is_empty()).then_some(text)
    }
}

/// The place of an instruction in the program, from the inlined function that it is in to the function of the PTX. It is
/// empty if no `.loc` applies.
pub fn stack(source: &str, module: &Module, at: Span) -> Vec<SourceLine> {
    let function =
        functions(module).find(|function| function.span.start <= at.start && at.start < function.span.end);
    let statements =
        function.and_then(|function| function.body.as_ref()).map_or(&[][..], |body| &body.statements);
    let mut before: Vec<Loc<'_>> = statements
        .iter()
        .filter_map(|statement| match statement {
            Statement::Loc(span) if span.start < at.start => Loc::read(span.text(source)),
            _ => None,
        })
        .collect();
    let mut stack = Vec::new();
    let Some(mut loc) = before.pop() else { return stack };
    let files = files(source, module);
    while stack.len() < DEEPEST {
        let Some(file) = files.get(&loc.at.file).cloned() else { break };
        let Numbers { line, column, .. } = loc.at;
        let name = loc.inlined.map(|inlined| function_name(source, module, inlined.name));
        stack.push(SourceLine { file, line, column, function: name });
        let Some(Inlined { call, .. }) = loc.inlined else { break };
        // Where the call is in an inlined function too, a `.loc` before has its place.
        let parent = before.iter().rev().find(|other| other.at == call && other.at != loc.at);
        loc = parent.copied().unwrap_or(Loc { at: call, inlined: None });
    }
    stack
}

/// A function of a module with its instructions, and the lines that they come from.
#[derive(Clone, Debug)]
pub struct FunctionLines {
    /// Its name.
    pub name: String,
    /// Its head in the text.
    pub head: Span,
    /// The line of its first instruction that is not in an inlined function.
    pub source: Option<SourceLine>,
    /// Its instructions, in order, each with the innermost line.
    pub instructions: Vec<(Span, Option<SourceLine>)>,
}

/// All functions that have a body. Inlined functions are not named.
pub fn of_module(source: &str, module: &Module) -> Vec<FunctionLines> {
    let files = files(source, module);
    let line = |at: Numbers| {
        let file = files.get(&at.file)?.clone();
        Some(SourceLine { file, line: at.line, column: at.column, function: None })
    };
    let of_function = |function: &Function| {
        let body = function.body.as_ref()?;
        let (mut now, mut first, mut instructions) = (None, None, Vec::new());
        for statement in &body.statements {
            match statement {
                Statement::Loc(span) => {
                    let loc = Loc::read(span.text(source));
                    now = loc.and_then(|loc| line(loc.at));
                    first = first
                        .or_else(|| loc.filter(|loc| loc.inlined.is_none()).and_then(|loc| line(loc.at)));
                }
                Statement::Instruction(instruction) => instructions.push((instruction.span, now.clone())),
                _ => {}
            }
        }
        let name = function.name.span.text(source).to_owned();
        Some(FunctionLines { name, head: function.head, source: first, instructions })
    };
    functions(module).filter_map(of_function).collect()
}

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(&**function),
        _ => None,
    })
}

/// The names of files, by number. Of two with the same number, the first counts.
fn files(source: &str, module: &Module) -> BTreeMap<u32, Arc<str>> {
    let mut files = BTreeMap::new();
    for item in &module.items {
        if let Item::File(file) = item
            && let Ok(number) = u32::try_from(file.is.index)
        {
            files.entry(number).or_insert_with(|| file.is.name.text(source).trim_matches('"').into());
        }
    }
    files
}

/// The numbers of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    file: u32,
    line: u32,
    column: u32,
}

/// `.loc 1 20 3, function_name $name+4, inlined_at 1 10 3`
#[derive(Clone, Copy, Debug)]
struct Loc<'a> {
    at: Numbers,
    inlined: Option<Inlined<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Inlined<'a> {
    /// `$name+4`
    name: &'a str,
    call: Numbers,
}

impl<'a> Loc<'a> {
    fn read(text: &'a str) -> Option<Loc<'a>> {
        let mut parts = text.splitn(3, ',');
        let numbers = |part: &str, word: &str| {
            let mut numbers =
                part.trim().strip_prefix(word)?.split_whitespace().map_while(|it| it.parse().ok());
            let (file, line) = (numbers.next()?, numbers.next()?);
            Some(Numbers { file, line, column: numbers.next().unwrap_or(0) })
        };
        let at = numbers(parts.next()?, ".loc")?;
        let name = parts.next().and_then(|part| part.trim().strip_prefix("function_name")).map(str::trim);
        let call = parts.next().and_then(|part| numbers(part, "inlined_at"));
        let inlined = name.zip(call).map(|(name, call)| Inlined { name, call });
        Some(Loc { at, inlined })
    }
}

/// The function that a label of `.debug_str` names, as C++ calls it; the label if there is no such name.
fn function_name(source: &str, module: &Module, label: &str) -> String {
    let (name, offset) = label.split_once('+').unwrap_or((label, "0"));
    let offset = offset.trim().parse().unwrap_or(0);
    let sections = module.items.iter().filter_map(|item| match item {
        Item::Section(section) if section.is.name.span.text(source) == ".debug_str" => {
            Some(section.is.contents)
        }
        _ => None,
    });
    let found = sections.into_iter().find_map(|contents| string(contents.text(source), name.trim(), offset));
    match found {
        Some(found) => plain_name(&found).unwrap_or(found),
        None => label.to_owned(),
    }
}

/// The string at a label of a section: numbers behind `.b8`, up to a zero.
fn string(contents: &str, label: &str, offset: usize) -> Option<String> {
    let begins = |line: &&str| line.split_once(':').is_some_and(|(name, _)| name.trim() == label);
    let mut lines = contents.lines();
    if label != ".debug_str" {
        lines.find(begins)?;
    }
    let lines = lines.map(|line| line.split_once("//").map_or(line, |(before, _)| before));
    let numbers = lines.filter_map(|line| line.trim().strip_prefix(".b8")).flat_map(|line| line.split(','));
    let bytes = numbers.map_while(|number| number.trim().parse::<u8>().ok()).skip(offset);
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).take(LONGEST_NAME).collect();
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

/// The name of a function without its parameters and the namespace that nvcc adds to what a file keeps to itself.
fn plain_name(name: &str) -> Option<String> {
    let text = demangled(name, false)?;
    let own =
        text.strip_prefix("_INTERNAL_").and_then(|rest| rest.split_once("::")).map(|(_, own)| own.to_owned());
    Some(own.unwrap_or(text))
}
