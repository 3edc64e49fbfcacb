//! A function while it is lowered: its registers, the operations so far, and how operations are appended.

use crate::form::Form;
use crate::scopes::Scopes;
use crate::session::{Lowering, Session, Unsupported};
use crate::virtuals::Virtual;
use softwarp_check::checked::{FuncId, VarId, Variable};
use softwarp_ir::{Alu, Element, Guard, Location, Op, Slot, Step};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{MnemonicId, Statement};
use softwarp_units::alu::simple::Simple;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::rc::Rc;

/// Why an instruction cannot be executed, or what it was lowered to.
pub type Lowered<T> = Result<T, Refusal>;

/// Why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such thing yet.
    Form,
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

/// A keyed hash of one number by a multiplication whose halves are added up. Constants of the module are keys, so
/// that without a random factor a file could make them collide.
#[derive(Clone)]
pub struct MultiplyShift {
    key: [u64; 2],
    hash: u64,
}

impl Default for MultiplyShift {
    fn default() -> MultiplyShift {
        let state = RandomState::new();
        MultiplyShift { key: [state.hash_one(0u64), state.hash_one(1u64) | 1], hash: 0 }
    }
}

impl BuildHasher for MultiplyShift {
    type Hasher = MultiplyShift;

    fn build_hasher(&self) -> MultiplyShift {
        self.clone()
    }
}

impl Hasher for MultiplyShift {
    fn finish(&self) -> u64 {
        self.hash
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, value: u64) {
        let [add, factor] = self.key;
        let product = u128::from(self.hash ^ value ^ add) * u128::from(factor);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }
}

pub type NumberMap<V> = HashMap<u64, V, MultiplyShift>;

/// Stands for the label of what is done before a function returns, where that is done in one place.
pub const EPILOGUE: u32 = u32::MAX;

/// A function while it is lowered. Slots in its operations are numbers of virtual registers, and targets of
/// branches are statements, until the end.
pub struct Builder<'s, 'a> {
    pub session: &'s mut Session<'a>,
    pub unit: u32,
    pub of: Lowering<'a>,
    pub id: FuncId,
    pub entry: bool,
    pub statements: &'a [Statement],
    /// The labels of the body, once a table of them has been met.
    pub scopes: Option<Scopes>,
    pub ops: Vec<Op>,
    pub spans: Vec<Span>,
    /// The mnemonic that each operation is lowered from, if it is of an instruction.
    pub mnemonics: Vec<Option<MnemonicId>>,
    /// That of the operations to come.
    pub mnemonic: Option<MnemonicId>,
    /// How many instructions begin before each operation.
    pub instructions: Vec<u32>,
    /// How many have begun.
    pub begun: u32,
    /// The instruction at hand has no operation yet.
    pub begins: bool,
    pub locations: Vec<(u32, Location)>,
    /// Operations that copy a whole row.
    pub copies: Vec<u32>,
    pub virtuals: Vec<Virtual>,
    pub registers: NumberMap<Register>,
    pub narrow_constants: Vec<(u32, u32)>,
    pub wide_constants: Vec<(u32, u64)>,
    pub narrow_known: NumberMap<Slot>,
    pub wide_known: NumberMap<Slot>,
    /// Constants that are addresses in `.shared`, with their slots.
    pub shared_narrow: Vec<(u32, u32)>,
    pub shared_wide: Vec<(u32, u64)>,
    /// By width and address.
    pub shared_known: HashMap<(u32, u64), Slot>,
    /// The operation that each label is at, by its statement.
    pub labels: HashMap<u32, u32>,
    /// The guard of the instruction at hand.
    pub guard: Guard,
    /// The place of the instruction at hand.
    pub span: Span,
    /// The statements that the assembler takes `.sat` from.
    pub unsaturated: HashSet<u32>,
    /// The instruction at hand is one of them.
    pub saturation_forgotten: bool,
    /// The sums that the assembler makes one with a product.
    pub contractions: Contractions,
    /// The statement at hand.
    pub statement: u32,
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
    pub local_bytes: u64,
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

impl<'a> Builder<'_, 'a> {
    /// Notes what cannot be executed.
    pub fn refuse(&mut self, span: Span, what: String) {
        self.session.unsupported.push(Unsupported { unit: self.unit, span, what });
    }

    /// Appends an operation.
    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
        self.spans.push(self.span);
        self.mnemonics.push(self.mnemonic);
        self.instructions.push(self.begun);
        self.begun += u32::from(std::mem::take(&mut self.begins));
    }

    /// Appends a step under the instruction's guard.
    pub fn step(&mut self, step: Step) -> Lowered<()> {
        self.push(Op::Other(self.guard, Box::new(step)));
        Ok(())
    }

    /// The same whatever the guard.
    pub fn step_always(&mut self, step: Step) {
        self.push(Op::Other(Guard::ALWAYS, Box::new(step)));
    }

    /// Appends one of lowering's own operations.
    pub fn simple(&mut self, simple: Simple, d: Slot, sources: &[Slot]) {
        let alu = Alu::simple(simple, d, sources, self.guard);
        if alu.op.is_copy() {
            self.copies.push(self.ops.len() as u32);
        }
        self.push(Op::Alu(alu));
    }

    /// Appends one of lowering's own operations whatever the guard.
    pub fn simple_always(&mut self, simple: Simple, d: Slot, sources: &[Slot]) {
        self.push(Op::Alu(Alu::simple(simple, d, sources, Guard::ALWAYS)));
    }

    /// Lowers something whatever the guard, for values that nothing else sees.
    pub fn always<T>(&mut self, lower: impl FnOnce(&mut Self) -> T) -> T {
        let guard = std::mem::replace(&mut self.guard, Guard::ALWAYS);
        let lowered = lower(self);
        self.guard = guard;
        lowered
    }

    /// What each operation is lowered from, if it is of an instruction.
    pub fn sources(&self) -> impl Iterator<Item = Option<Rc<Form>>> {
        self.mnemonics.iter().map(|mnemonic| self.form((*mnemonic)?))
    }

    /// A variable that lives in memory, if it is not a register.
    pub fn variable(&self, id: VarId) -> &'a Variable {
        self.of.checked.variable(id)
    }
}
