//! A function while it is lowered: its registers, the operations so far, and how operations are appended.

use crate::code::Code;
use crate::form::Form;
use crate::number_map::NumberMap;
use crate::scopes::Scopes;
use crate::session::{Lowering, Session, Unsupported};
use crate::virtuals::Virtual;
use softwarp_check::checked::{FuncId, VarId, Variable};
use softwarp_ir::{Alu, Element, Guard, Op, Slot, Step};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{MnemonicId, Statement};
use softwarp_units::alu::simple::Simple;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Why an instruction cannot be executed, or what it was lowered to.
pub type Lowered<T> = Result<T, Refusal>;

/// Why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such thing yet.
    Form,
    /// The instruction is none of those that this file lowers.
    Elsewhere,
    /// Something about an operand, in words that follow the mnemonic.
    Because(String),
}

pub fn because<T>(what: impl Into<String>) -> Lowered<T> {
    Err(Refusal::Because(what.into()))
}

/// A register and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The virtual register.
    pub id: Slot,
    /// 1 for a predicate.
    pub bits: u32,
}

impl Register {
    /// The register as an element of an access.
    pub fn element(self) -> Element {
        Element::new(self.id, self.bits as u8)
    }
}

/// Stands for the label of what is done before a function returns, where that is done in one place.
pub const EPILOGUE: u32 = u32::MAX;

/// A function while it is lowered. Slots in its operations are numbers of virtual registers, and targets of
/// branches are statements, until the end.
pub struct Builder<'s, 'a> {
    pub session: &'s mut Session<'a>,
    /// The module of the function.
    pub of: Lowering<'a>,
    /// The number of the module.
    pub unit: u32,
    pub id: FuncId,
    /// Whether the function is a kernel.
    pub entry: bool,
    pub statements: &'a [Statement],
    pub current: Current,
    pub code: Code,
    pub labels: Labels,
    pub virtuals: Vec<Virtual>,
    /// The virtual registers of the variables in `.reg` that have been met.
    pub registers: NumberMap<Register>,
    pub constants: Constants,
    pub ptxas: Decisions,
    pub memory: PrivateMemory,
}

/// The instruction that is lowered.
#[derive(Debug)]
pub struct Current {
    /// The index of its statement.
    pub statement: u32,
    pub span: Span,
    pub mnemonic: Option<MnemonicId>,
    pub guard: Guard,
    /// It has no operation yet.
    pub begins: bool,
}

/// The labels of a function.
#[derive(Debug, Default)]
pub struct Labels {
    /// The operation that each label is at, by its statement.
    pub ops: HashMap<u32, u32>,
    /// The labels of the body by their blocks, once a table of labels has been met.
    pub scopes: Option<Scopes>,
}

/// Rows that are never written.
#[derive(Debug, Default)]
pub struct Constants {
    /// The slots of 32-bit constants, with their values.
    pub narrow: Vec<(u32, u32)>,
    /// The slots of 64-bit constants, with their values.
    pub wide: Vec<(u32, u64)>,
    /// The virtual registers of 32-bit constants, by their values.
    pub known_narrow: NumberMap<Slot>,
    /// The virtual registers of 64-bit constants, by their values.
    pub known_wide: NumberMap<Slot>,
    pub shared: SharedConstants,
}

/// Constants that are addresses in `.shared`.
#[derive(Debug, Default)]
pub struct SharedConstants {
    /// The slots of 32-bit addresses, with the addresses.
    pub narrow: Vec<(u32, u32)>,
    /// The slots of 64-bit addresses, with the addresses.
    pub wide: Vec<(u32, u64)>,
    /// The virtual registers of addresses, by width and address.
    pub known: HashMap<(u32, u64), Slot>,
}

/// What ptxas does to the statements of a function besides translating them.
#[derive(Debug, Default)]
pub struct Decisions {
    /// The statements that it takes `.sat` from.
    pub unsaturated: HashSet<u32>,
    /// The sums that it makes one with a product.
    pub contractions: Contractions,
}

/// The products and sums of a function that become one multiply-add.
#[derive(Debug, Default)]
pub struct Contractions {
    /// By its statement, what a sum takes in.
    pub sums: HashMap<u32, Taken>,
    /// The statements of the products that sums take in, with the slots of their factors once these are known.
    pub products: HashMap<u32, Option<[Slot; 2]>>,
}

/// A product that a sum takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its statement.
    pub product: u32,
    /// Which of the terms it is.
    pub second: bool,
    /// Whether it was negated on the way.
    pub negated: bool,
}

/// The memory of a call of the function: parameters, arguments and the frame.
#[derive(Debug, Default)]
pub struct PrivateMemory {
    /// Where parameters and return values lie in the parameter memory.
    pub homes: HashMap<VarId, u64>,
    /// Parameters and return values whose addresses are taken lie in the frame instead.
    pub in_frame: HashMap<VarId, u64>,
    /// Where the arguments of calls begin in the parameter memory.
    pub arguments: u64,
    /// Where there is room for values that calls pass in registers.
    pub scratch: u64,
    /// Bytes of parameter memory in all.
    pub parameter_bytes: u64,
    /// Bytes of the frame.
    pub local_bytes: u64,
}

impl<'a> Builder<'_, 'a> {
    /// Notes what cannot be executed.
    pub fn refuse(&mut self, span: Span, what: String) {
        self.session.unsupported.push(Unsupported { unit: self.unit, span, what });
    }

    /// Appends an operation.
    pub fn push(&mut self, op: Op) {
        let current = &mut self.current;
        let begins = std::mem::take(&mut current.begins);
        self.code.push(op, current.span, current.mnemonic, begins);
    }

    /// Appends a step under the instruction's guard.
    pub fn step(&mut self, step: Step) -> Lowered<()> {
        self.push(Op::Other(self.current.guard, Box::new(step)));
        Ok(())
    }

    /// Appends a step whatever the guard.
    pub fn step_always(&mut self, step: Step) {
        self.push(Op::Other(Guard::ALWAYS, Box::new(step)));
    }

    /// Appends one of lowering's own operations.
    pub fn simple(&mut self, simple: Simple, d: Slot, sources: &[Slot]) {
        let alu = Alu::simple(simple, d, sources, self.current.guard);
        if alu.op.is_copy() {
            self.code.copies.push(self.code.next());
        }
        self.push(Op::Alu(alu));
    }

    /// Appends one of lowering's own operations whatever the guard.
    pub fn simple_always(&mut self, simple: Simple, d: Slot, sources: &[Slot]) {
        self.push(Op::Alu(Alu::simple(simple, d, sources, Guard::ALWAYS)));
    }

    /// Lowers something whatever the guard, for values that nothing else sees.
    pub fn always<T>(&mut self, lower: impl FnOnce(&mut Self) -> T) -> T {
        let guard = std::mem::replace(&mut self.current.guard, Guard::ALWAYS);
        let lowered = lower(self);
        self.current.guard = guard;
        lowered
    }

    /// What each operation is lowered from, if it is of an instruction.
    pub fn sources(&self) -> impl Iterator<Item = Option<Rc<Form>>> {
        self.code.mnemonics.iter().map(|mnemonic| self.form((*mnemonic)?))
    }

    /// A variable that lives in memory, if it is not a register.
    pub fn variable(&self, id: VarId) -> &'a Variable {
        self.of.checked.variable(id)
    }
}
