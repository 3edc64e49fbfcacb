//! The state that the functions of a kernel share while they are lowered.

use crate::form::Forms;
use softwarp_check::checked::{FuncId, Variable};
use softwarp_check::{CheckedModule, References};
use softwarp_image::{FunctionId, Image, Windows};
use softwarp_isa::StateSpace;
use softwarp_syntax::{Module, Span};
use std::cell::OnceCell;
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

/// Which of the things that ptxas does to a program, besides translating it, are done here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fidelity {
    /// A product and a sum without a rounding of their own become one fused multiply-add.
    pub contraction: bool,
    /// `mad.hi.sat.s32` loses its `.sat` beside another half of the same product.
    pub lost_saturation: bool,
}

impl Fidelity {
    /// As ptxas does it, and so as a GPU computes.
    pub const PTXAS: Fidelity = Fidelity { contraction: true, lost_saturation: true };

    /// As the PTX manual says.
    pub const MANUAL: Fidelity = Fidelity { contraction: false, lost_saturation: false };
}

impl Default for Fidelity {
    fn default() -> Fidelity {
        Fidelity::PTXAS
    }
}

/// How a kernel is lowered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What ptxas does to a program.
    pub fidelity: Fidelity,
    /// For a debugger: every register has a slot of its own, which [`softwarp_ir::Function::debug`] tells, and copies are
    /// not propagated. Results are the same.
    pub debug: bool,
}

impl From<Fidelity> for Options {
    fn from(fidelity: Fidelity) -> Options {
        Options { fidelity, debug: false }
    }
}

/// Something that cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The module: an index into the units.
    pub unit: u32,
    /// The place in the text.
    pub span: Span,
    /// What, in a sentence.
    pub what: String,
}

/// What is looked up in a module.
pub struct UnitNames {
    pub forms: Forms,
    /// The guards of each function, as a range of [`References::guards`].
    pub guards: HashMap<FuncId, Range<usize>>,
}

impl UnitNames {
    pub fn new(unit: &Lowering<'_>) -> UnitNames {
        let mut guards = HashMap::new();
        let mut start = 0;
        for run in unit.references.guards.chunk_by(|one, other| one.function == other.function) {
            guards.insert(run[0].function, start..start + run.len());
            start += run.len();
        }
        UnitNames { forms: Forms::default(), guards }
    }
}

/// The state that the functions of a kernel share while they are lowered.
pub struct Session<'a> {
    pub units: &'a [Lowering<'a>],
    pub image: &'a Image,
    pub windows: Windows,
    pub kernel: FunctionId,
    pub options: Options,
    pub names: Vec<UnitNames>,
    /// The code of each function, if it is reached.
    pub of_function: Vec<Option<u32>>,
    /// The functions that are reached, in the order of their codes.
    pub reached: Vec<FunctionId>,
    pub calls_indirectly: bool,
    /// Every function has a table of its registers.
    pub all_tables: bool,
    /// Targets of all `brx.idx` so far.
    pub edges: usize,
    pub unsupported: Vec<Unsupported>,
    /// See [`Session::most_passed`].
    pub most_passed: OnceCell<u64>,
}

/// The most bytes that are passed for an array without a size.
const MOST_PASSED: u64 = 1 << 16;

impl Session<'_> {
    /// Bytes of a parameter. One that is an array without a size has as many as the largest argument of all functions:
    /// each call may pass another number, of which the function knows nothing.
    pub fn parameter_size(&self, variable: &Variable) -> u64 {
        match variable.open {
            true => self.most_passed(),
            false => variable.size().unwrap_or(0),
        }
    }

    /// The size of the largest argument of all functions.
    pub fn most_passed(&self) -> u64 {
        let largest = || {
            let checked = self.units.iter().map(|unit| unit.checked);
            let locals = checked.flat_map(|checked| {
                let ids = checked.functions.iter().flat_map(|function| &function.locals);
                ids.map(|&id| checked.variable(id))
            });
            let sizes = locals.filter(|local| local.space == StateSpace::Param).filter_map(Variable::size);
            sizes.max().unwrap_or(0).min(MOST_PASSED).next_multiple_of(16)
        };
        *self.most_passed.get_or_init(largest)
    }

    /// The code of a function, which will be lowered if it has not been.
    pub fn reach(&mut self, function: FunctionId) -> u32 {
        let code = &mut self.of_function[function.0 as usize];
        if let Some(code) = *code {
            return code;
        }
        let number = self.reached.len() as u32;
        *code = Some(number);
        self.reached.push(function);
        number
    }

    /// Notes that any function whose address is taken may be called.
    pub fn reach_indirectly(&mut self) {
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
