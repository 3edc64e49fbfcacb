//! Checked modules to bytecode: a kernel and everything that it can call.
//!
//! A function is lowered in one walk over its statements. Each instruction becomes operations over virtual
//! registers (`function.rs`, `operand.rs`, and a file for each kind of instruction); when the function's text has
//! been seen, registers that are never live together get the same rows (`allocate.rs`). What a mnemonic means is
//! looked up once for a module (`form.rs`).
//!
//! What cannot be executed is refused here, by name and place, all of it at once: a program that loads does not
//! stop at an instruction that is not there.

mod address;
mod allocate;
mod assembler;
mod asynchronous;
mod call;
mod cluster;
mod contract;
mod control;
mod defined;
mod form;
mod forward;
mod function;
mod group;
mod matrix;
mod memory;
mod moves;
mod multimem;
mod operand;
mod parameter;
mod registers;
mod special;
mod texture;
mod video;
mod warp;

use form::Forms;
use softwarp_check::checked::FuncId;
use softwarp_check::{CheckedModule, References};
use softwarp_image::{FunctionId, Image, Windows};
use softwarp_ir::{Function, NONE, Program};
use softwarp_syntax::{Module, Span};
use std::collections::HashMap;
use std::ops::Range;

/// A module: its text and tree, and what they mean. It must have been checked without errors.
#[derive(Clone, Copy, Debug)]
pub struct Lowering<'a> {
    /// The tree.
    pub module: &'a Module,
    /// The text.
    pub source: &'a str,
    /// What is declared.
    pub checked: &'a CheckedModule,
    /// What the names in operands mean.
    pub references: &'a References,
}

/// Something that cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The module: an index into the units.
    pub unit: u32,
    /// Where in its text.
    pub span: Span,
    /// What, in a sentence.
    pub what: String,
}

/// Lowers a kernel and everything that it can call.
pub fn lower(units: &[Lowering<'_>], image: &Image, kernel: FunctionId) -> Result<Program, Vec<Unsupported>> {
    let mut session = Session {
        units,
        image,
        windows: image.windows,
        kernel,
        names: units.iter().map(UnitNames::new).collect(),
        of_function: vec![NONE; image.functions.len()],
        reached: Vec::new(),
        calls_indirectly: false,
        all_tables: false,
        edges: 0,
        unsupported: Vec::new(),
    };
    session.reach(kernel);
    let mut functions: Vec<Function> = Vec::new();
    while let Some(&function) = session.reached.get(functions.len()) {
        let function = function::lower(&mut session, function);
        functions.push(function);
    }
    // What one function leaves undefined, another may use.
    let undefined = |code: &Function| code.registers.as_ref().is_some_and(|table| !table.origins.is_empty());
    if functions.len() > 1 && session.unsupported.is_empty() && functions.iter().any(undefined) {
        session.all_tables = true;
        for code in functions.iter_mut().filter(|code| code.registers.is_none()) {
            *code = function::lower(&mut session, code.function);
        }
    }
    let Session { of_function, mut unsupported, .. } = session;
    if unsupported.is_empty() {
        return Ok(Program { functions, of_function });
    }
    unsupported.sort_by_key(|one| (one.unit, one.span));
    Err(unsupported)
}

/// What is looked up in a module.
struct UnitNames {
    forms: Forms,
    /// The guards of each function, as a range of [`References::guards`].
    guards: HashMap<FuncId, Range<usize>>,
}

impl UnitNames {
    fn new(unit: &Lowering<'_>) -> UnitNames {
        let mut guards = HashMap::new();
        let mut start = 0;
        for run in unit.references.guards.chunk_by(|one, other| one.function == other.function) {
            guards.insert(run[0].function, start..start + run.len());
            start += run.len();
        }
        UnitNames { forms: Forms::default(), guards }
    }
}

/// What lasts from function to function.
struct Session<'a> {
    units: &'a [Lowering<'a>],
    image: &'a Image,
    windows: Windows,
    kernel: FunctionId,
    names: Vec<UnitNames>,
    /// The code of each function, if it is reached.
    of_function: Vec<u32>,
    /// The functions that are reached, in the order of their codes.
    reached: Vec<FunctionId>,
    calls_indirectly: bool,
    /// Every function has a table of its registers.
    all_tables: bool,
    /// Targets of all `brx.idx` so far.
    edges: usize,
    unsupported: Vec<Unsupported>,
}

impl Session<'_> {
    /// The code of a function, which will be lowered if it has not been.
    fn reach(&mut self, function: FunctionId) -> u32 {
        let code = &mut self.of_function[function.0 as usize];
        if *code == NONE {
            *code = self.reached.len() as u32;
            self.reached.push(function);
        }
        *code
    }

    /// Notes that any function whose address is taken may be called.
    fn reach_indirectly(&mut self) {
        if std::mem::replace(&mut self.calls_indirectly, true) {
            return;
        }
        for (unit, of) in (0..).zip(self.units) {
            for (index, function) in of.checked.functions.iter().enumerate() {
                let id = self.image.function_of(unit, FuncId(index as u32));
                let of = self.image.function(id);
                if function.address_taken && of.defined && !of.entry {
                    self.reach(id);
                }
            }
        }
    }
}
