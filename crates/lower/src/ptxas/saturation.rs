//! What the assembler makes of `mad.hi.sat.s32` (PTX ISA section 9.7.1.4) beside other products of its factors.
//!
//! The GPU multiplies two words into two: the assembler lets the low half of a product and the high half of the
//! same product share one instruction, and where the high half is a `mad.hi.sat.s32` the result is not saturated. Programs
//! see that on the GPU, so it is done here, too. What is shared was found out by giving ptxas 13.4 some 2,300 kernels
//! and reading what it made of them; the results of an H200 agree.
//!
//! The assembler goes through a basic block and remembers the last half of a product that it met, one in all, whatever
//! its factors. `mul.lo` is a low half, and `mad.lo` of zero; `mul.hi` and `mad.hi` are high ones; `mad.wide`
//! is a low half and then a high one, but `mul.wide` is none. The next half shares the instruction if it is the other
//! one of the same two factors, in either order and with or without signs; if not, it is the one remembered. Guards make
//! no difference. What was folded before (a constant times a constant; low halves that are shifts, copies or
//! negations) and results that are not read are passed over.

use crate::builder::Builder;
use crate::form::Form;
use softwarp_check::Reference;
use softwarp_check::checked::VarId;
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};
use softwarp_syntax::tree::{Instruction, MnemonicId, Operand, OperandKind, Range, Statement};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A register: of a family which member, and of a vector which element.
pub(crate) type Name = (VarId, Option<u32>, u8);

/// What a register holds, as far as the assembler can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Constant(u32),
    /// An unknown value. Registers with the same number hold the same value.
    Number(u32),
    /// What `neg` made: it becomes part of a low product, which then has other factors.
    Negated(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Low,
    High,
}

/// What an instruction is to the assembler while it looks for halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// `mul.lo`
    Low,
    /// `mad.lo`, which is a low half if nothing is added
    LowAndSum,
    /// `mul.hi`, `mad.hi`
    High,
    /// `mad.wide`
    Both,
    /// One that makes it forget: it is other products inside, or the block ends with it.
    Other,
    /// One that it passes over.
    Nothing,
}

impl Role {
    fn of(form: &InstructionForm) -> Role {
        use Modifier::{Approx, Cc, Full, Hi, Lo, Sat, Wide};
        use Opcode::{
            Bra, Brkpt, Brx, Call, Div, Exit, Fence, Mad, Mad24, Madc, Membar, Mul, Mul24, Pmevent, Rcp, Rem,
            Ret, Sqrt, Trap,
        };
        use Type::{S16, S32, U16, U32};
        match (form.opcode, form.modifiers.as_slice(), form.types.as_slice()) {
            (Mul, [Lo], [S32 | U32]) => Role::Low,
            (Mad, [Lo], [S32 | U32]) => Role::LowAndSum,
            (Mul | Mad, [Hi], [S32 | U32]) | (Mad, [Hi, Sat], [S32]) => Role::High,
            (Mad, [Wide], [S32 | U32]) => Role::Both,
            (Mul, [Lo | Hi | Wide], [S16 | U16]) | (Mad, [Hi], [S16 | U16]) => Role::Other,
            (Mul24, ..) | (Mad24 | Madc, [Hi, ..], _) | (Mad, [_, Cc, ..], _) => Role::Other,
            (Div | Rem | Rcp | Sqrt, ..) if !form.has(Approx) && !form.has(Full) => Role::Other,
            (Bra | Brx | Call | Ret | Exit | Trap | Brkpt, ..) => Role::Other,
            (Membar | Fence | Pmevent, ..) => Role::Other,
            _ => Role::Nothing,
        }
    }
}

/// Whether it is `mad.hi.sat.s32`.
fn is_saturating(form: &InstructionForm) -> bool {
    form.opcode == Opcode::Mad && form.modifiers == [Modifier::Hi, Modifier::Sat] && form.types == [Type::S32]
}

/// A half of a product that was met: which, its factors, and the statement if it saturates.
type Met = (Half, [Value; 2], Option<u32>);

/// The walk through a function.
#[derive(Debug, Default)]
struct Walk {
    values: HashMap<Name, Value>,
    numbers: u32,
    /// The half that has no other yet.
    last: Option<Met>,
    forgotten: HashSet<u32>,
}

impl Walk {
    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn value(&mut self, name: Name) -> Value {
        if let Some(&known) = self.values.get(&name) {
            return known;
        }
        let value = Value::Number(self.number());
        self.values.insert(name, value);
        value
    }

    fn meet(&mut self, half: Half, factors: [Value; 2], saturating: Option<u32>) {
        match self.last.take() {
            Some((other, same, statement)) if other != half && same == factors => {
                self.forgotten.extend(statement.into_iter().chain(saturating));
            }
            _ => self.last = Some((half, factors, saturating)),
        }
    }

    /// Another block begins.
    fn forget(&mut self) {
        self.last = None;
        // To clear a map takes as long as it ever was large.
        self.values = HashMap::new();
    }
}

/// Whether a low half of this product is still a multiplication when the assembler looks for it.
fn stays_low(factors: [Value; 2]) -> bool {
    let simple = |value: &Value| match *value {
        Value::Constant(value) => {
            value == u32::MAX || value == 0 || value < 1 << 31 && value.is_power_of_two()
        }
        _ => false,
    };
    !factors.iter().any(simple) && !folds(factors)
}

/// Whether a high half of this product is still a multiplication when the assembler looks for it.
fn stays_high(factors: [Value; 2], signed: bool) -> bool {
    let simple = |value: &Value| match *value {
        Value::Constant(value) => value == 0 || value == 1 && !signed,
        _ => false,
    };
    !factors.iter().any(simple) && !folds(factors)
}

fn folds(factors: [Value; 2]) -> bool {
    matches!(factors, [Value::Constant(_), Value::Constant(_)])
}

impl Builder<'_, '_> {
    /// The statements of the function whose saturation is forgotten.
    pub fn forgotten_saturations(&self) -> HashSet<u32> {
        let mut mnemonics = (0..self.of.module.mnemonics.len() as u32).map(MnemonicId);
        if !mnemonics.any(|mnemonic| self.form(mnemonic).is_some_and(|form| is_saturating(&form.instruction)))
        {
            return HashSet::new();
        }
        let targets = self.targets();
        let unread = self.unread(&targets, &HashSet::new());
        let mut walk = Walk::default();
        for (index, statement) in (0..).zip(self.statements) {
            match statement {
                Statement::Label(_) if targets.contains(&index) => walk.forget(),
                Statement::Instruction(_) if self.leads_on(index) => {}
                Statement::Instruction(instruction) => {
                    self.walk(&mut walk, unread.contains(&index), index, instruction);
                }
                _ => {}
            }
        }
        walk.forgotten
    }

    /// What a mnemonic spells, if the instruction table has it.
    pub(crate) fn form(&self, mnemonic: MnemonicId) -> Option<Rc<Form>> {
        let names = &self.session.names[self.unit as usize];
        names.forms.find(self.of.module, mnemonic)
    }

    fn walk(&self, walk: &mut Walk, unread: bool, index: u32, instruction: &Instruction) {
        let Some(form) = self.form(instruction.mnemonic) else { return };
        let role = Role::of(&form.instruction);
        let places = self.places(instruction.operands);
        let source = |walk: &mut Walk, n: u32| self.factor(walk, places.start + n);
        let halves = match role {
            Role::Other => {
                walk.forget();
                [false; 2]
            }
            _ if places.len() < 3 || unread => [false; 2],
            Role::Low => [true, false],
            Role::LowAndSum => [source(walk, 3) == Value::Constant(0), false],
            Role::High => [false, true],
            Role::Both => [true, true],
            Role::Nothing => [false; 2],
        };
        if halves != [false; 2] {
            let mut factors = [source(walk, 1), source(walk, 2)];
            factors.sort();
            if halves[0] && stays_low(factors) {
                match factors.iter().any(|factor| matches!(factor, Value::Negated(_))) {
                    true => walk.last = None,
                    false => walk.meet(Half::Low, factors, None),
                }
            }
            let signed = form.instruction.types.last() == Some(&Type::S32);
            if halves[1] && stays_high(factors, signed) {
                walk.meet(Half::High, factors, is_saturating(&form.instruction).then_some(index));
            }
        }
        self.write(walk, instruction, &form.instruction);
    }

    /// Notes what an instruction leaves in its destinations, which stand first.
    fn write(&self, walk: &mut Walk, instruction: &Instruction, form: &InstructionForm) {
        let places = self.places(instruction.operands);
        let held = match (form.opcode, form.types.as_slice(), instruction.guard) {
            (Opcode::Mov, [Type::B32 | Type::U32 | Type::S32], None) if places.len() == 2 => {
                self.factor(walk, places.start + 1)
            }
            (Opcode::Neg, [Type::S32], _) => Value::Negated(walk.number()),
            _ => Value::Number(walk.number()),
        };
        if let Some(name) = self.name(places.start) {
            walk.values.insert(name, held);
        } else if let Some(first) = places.clone().next() {
            self.each_part(first, &mut |name| {
                let number = walk.number();
                walk.values.insert(name, Value::Number(number));
            });
        }
    }

    fn factor(&self, walk: &mut Walk, index: u32) -> Value {
        if let Some(name) = self.name(index) {
            return walk.value(name);
        }
        match self.immediate(index) {
            Ok(value) => Value::Constant(value as u32),
            Err(_) => Value::Number(walk.number()),
        }
    }

    /// The register that an operand is.
    pub(crate) fn name(&self, index: u32) -> Option<Name> {
        let operand = self.of.module.operands.get(index as usize)?;
        let element = match operand.kind {
            OperandKind::Name(_) => 0,
            OperandKind::Member(_, member) => self.element(member).ok()?,
            _ => return None,
        };
        match self.reference(index) {
            Reference::Variable(id, member) if self.is_register(id) => Some((id, member, element)),
            _ => None,
        }
    }

    /// The registers in an operand. (Operands nest only as deep as the grammar has it.)
    pub(crate) fn each_part(&self, index: u32, found: &mut impl FnMut(Name)) {
        if let Some(name) = self.name(index) {
            found(name);
        }
        if let Some(parts) = self.of.module.operands.get(index as usize).and_then(|one| one.kind.parts()) {
            self.each_of(parts, found);
        }
    }

    fn each_of(&self, parts: Range<Operand>, found: &mut impl FnMut(Name)) {
        self.places(parts).for_each(|part| self.each_part(part, found));
    }

    /// Whether a statement is a branch to the next one, which ends no block.
    pub(crate) fn leads_on(&self, index: u32) -> bool {
        match self.statements.get(index as usize) {
            Some(Statement::Instruction(instruction)) => {
                self.reference(instruction.operands.start) == Reference::Label(index + 1)
            }
            _ => false,
        }
    }

    /// The labels that control comes to from elsewhere.
    pub(crate) fn targets(&self) -> HashSet<u32> {
        // Of a list of targets, any label may be meant.
        if self.statements.iter().any(|statement| matches!(statement, Statement::BranchTargets(_))) {
            return (0..self.statements.len() as u32).collect();
        }
        let mut targets = HashSet::new();
        for (index, statement) in (0..).zip(self.statements) {
            match statement {
                Statement::Instruction(instruction) if !self.leads_on(index) => {
                    for operand in self.places(instruction.operands) {
                        if let Reference::Label(label) = self.reference(operand) {
                            targets.insert(label);
                        }
                    }
                }
                _ => {}
            }
        }
        targets
    }

    /// The instructions whose result is not read: it is written again in the same block first, or never read at all.
    /// What those left out read does not count.
    pub(crate) fn unread(&self, targets: &HashSet<u32>, left_out: &HashSet<u32>) -> HashSet<u32> {
        let mut somewhere = HashSet::new();
        for (index, statement) in (0..).zip(self.statements) {
            if let Statement::Instruction(instruction) = statement
                && !left_out.contains(&index)
            {
                self.each_read(instruction, &mut |name| {
                    somewhere.insert(name);
                });
            }
        }
        let mut unread = HashSet::new();
        // From the end of a block to its start: whether a register that was seen is read next.
        let mut next: HashMap<Name, bool> = HashMap::new();
        // Nothing comes behind the block.
        let mut at_the_end = self.entry;
        for (index, statement) in self.statements.iter().enumerate().rev() {
            let index = index as u32;
            let Statement::Instruction(instruction) = statement else {
                if targets.contains(&index) {
                    next = HashMap::new();
                    at_the_end = false;
                }
                continue;
            };
            let Some(form) = self.form(instruction.mnemonic) else { continue };
            if Role::of(&form.instruction) == Role::Other && !self.leads_on(index) {
                next = HashMap::new();
                let leaves = match form.instruction.opcode {
                    Opcode::Exit | Opcode::Trap => true,
                    Opcode::Ret => self.entry,
                    _ => false,
                };
                at_the_end = leaves && instruction.guard.is_none();
            }
            if let Some(name) = self.name(instruction.operands.start) {
                let later = || !at_the_end && somewhere.contains(&name);
                if !next.get(&name).copied().unwrap_or_else(later) {
                    unread.insert(index);
                }
                if instruction.guard.is_none() {
                    next.insert(name, false);
                }
            }
            if !left_out.contains(&index) {
                self.each_read(instruction, &mut |name| {
                    next.insert(name, true);
                });
            }
        }
        unread
    }

    /// The registers that an instruction reads: those that do not stand first, by themselves.
    pub(crate) fn each_read(&self, instruction: &Instruction, found: &mut impl FnMut(Name)) {
        for (n, index) in self.places(instruction.operands).enumerate() {
            let operand = self.of.module.operands.get(index as usize);
            if n > 0 || operand.is_some_and(|operand| operand.kind.parts().is_some()) {
                self.each_part(index, found);
            }
        }
    }
}
