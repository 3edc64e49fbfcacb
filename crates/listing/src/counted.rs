//! How often each instruction of the PTX was executed, by its place in the text.

use softwarp::image::FunctionId;
use softwarp::lineinfo::{self, SourceLine};
use softwarp::source::Source;
use softwarp::vm::device::{Module, Report};
use softwarp::vm::stats::OpCount;
use std::collections::BTreeMap;

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Its line in the PTX, from 1.
    pub line: u32,
    /// The line that it comes from.
    pub source: Option<SourceLine>,
    /// Its operation: what [`super::observe`] counts is under its name.
    pub operation: Option<Operation>,
    /// How often it was executed.
    pub count: OpCount,
}

/// An operation of a function, by its index.
pub type Operation = (FunctionId, u32);

/// A function.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The file, by its number.
    pub unit: usize,
    /// Its name.
    pub name: String,
    /// The line of its head in the PTX, from 1.
    pub line: u32,
    /// The line that it begins at in the program.
    pub source: Option<SourceLine>,
    /// Its instructions, in the order of the text.
    pub instructions: Vec<Instruction>,
}

impl Counted {
    /// How often warps began it: executions of its first instruction.
    pub fn calls(&self) -> u64 {
        self.instructions.first().map_or(0, |first| first.count.warp)
    }
}

/// The first operation of an instruction: its index, and its executions in all launches.
type First = (u32, OpCount);

/// All functions of a module that these are the files of, with what the launches executed of them.
pub fn counted(module: &Module, sources: &[Source], reports: &[Report]) -> Vec<Counted> {
    let sums = sums(module, reports);
    let mut functions = Vec::new();
    for (unit, (loaded, source)) in module.units.iter().zip(sources).enumerate() {
        for lines in lineinfo::of_module(&loaded.source, &loaded.module) {
            let is_it =
                |one: &softwarp::image::Function| one.unit as usize == unit && *one.name == lines.name;
            let id = module.image.functions.iter().position(is_it).map(|index| FunctionId(index as u32));
            let found = id.and_then(|id| Some((id, sums.get(&id)?)));
            let instruction = |(span, source_line): (softwarp::diagnostic::Span, Option<SourceLine>)| {
                // An instruction without operations of its own is executed with the one behind it.
                let first = found.and_then(|(id, sums)| {
                    let (start, (op, count)) = sums.range(span.start..).next()?;
                    Some(((*start == span.start).then_some((id, *op)), *count))
                });
                let (operation, count) = first.unwrap_or_default();
                let line = source.position(span.start).line;
                Instruction { line, source: source_line, operation, count }
            };
            functions.push(Counted {
                unit,
                line: source.position(lines.head.start).line,
                source: lines.source,
                instructions: lines.instructions.into_iter().map(instruction).collect(),
                name: lines.name,
            });
        }
    }
    functions
}

/// Of each function that ran, the first operations of its instructions, by their places in the text.
fn sums(module: &Module, reports: &[Report]) -> BTreeMap<FunctionId, BTreeMap<u32, First>> {
    let mut sums: BTreeMap<FunctionId, BTreeMap<u32, First>> = BTreeMap::new();
    for report in reports {
        let mut program = None;
        for (id, counts) in &report.operations {
            let function = module.image.function(*id);
            // A kernel comes first, and what it can call behind it.
            if function.entry {
                program = module.program(&function.name).ok();
            }
            let Some(code) = program.iter().flat_map(|one| one.functions()).find(|code| code.function == *id)
            else {
                continue;
            };
            let of_function = sums.entry(*id).or_default();
            let mut last = None;
            for ((op, span), count) in (0..).zip(&code.spans).zip(counts) {
                if last.replace(*span) == Some(*span) {
                    continue;
                }
                let (_, sum) = of_function.entry(span.start).or_insert((op, OpCount::default()));
                sum.warp += count.warp;
                sum.thread += count.thread;
            }
        }
    }
    sums
}
