//! The registers of an instruction and the types that it reads and writes them with.

use crate::check::Reference;
use crate::isa::instruction::{self, Access, InstructionForm, Kind, Wanted};
use crate::isa::{Class, StateSpace, Type};
use crate::syntax::Module;
use crate::syntax::tree::{Instruction, Item, MnemonicId, Operand, OperandKind, Range, Statement};
use crate::vm::device::Loaded;
use std::collections::HashMap;
use std::sync::Arc;

/// A register of the text: its variable, the member of a family, the element of a vector.
pub type RegisterKey = (u32, Option<u32>, u8);

/// A use of a register by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The register.
    pub register: RegisterKey,
    /// The type that the instruction has for it.
    pub ty: Type,
    /// Whether it is written.
    pub writes: bool,
    /// Whether it is part of an address.
    pub address: bool,
}

/// Finds uses of registers, and remembers the forms of mnemonics.
#[derive(Debug, Default)]
pub struct Operands {
    forms: HashMap<(u32, MnemonicId), Option<Arc<InstructionForm>>>,
}

impl Operands {
    /// The form of an instruction of a module, which has a number.
    pub fn form(&mut self, (unit, of): (u32, &Loaded), id: MnemonicId) -> Option<Arc<InstructionForm>> {
        let look_up = || {
            let (module, mnemonic) = (&of.module, of.module.mnemonic(id));
            let name = |word: &_| module.name(*word);
            let bank = |word| if str::starts_with(word, "const[") { "const" } else { word };
            let words: Vec<&str> = mnemonic.modifiers.iter().map(name).map(bank).collect();
            instruction::resolve(module.name(mnemonic.opcode), &words).ok().map(|form| Arc::new(*form))
        };
        self.forms.entry((unit, id)).or_insert_with(look_up).clone()
    }

    /// The registers of an instruction, in the order of its operands.
    pub fn uses(&mut self, unit: (u32, &Loaded), instruction: &Instruction) -> Vec<Use> {
        let mut found = Found { of: unit.1, uses: Vec::new() };
        let form = self.form(unit, instruction.mnemonic);
        let count = instruction.operands.len as usize;
        let signature = form.as_ref().and_then(|form| {
            let fits = |arity: (usize, usize)| arity.0 <= count && count <= arity.1;
            form.signatures.iter().find(|signature| fits(signature.arity()))
        });
        for (number, index) in places(instruction.operands).enumerate() {
            match signature.and_then(|signature| signature.operands.get(number)) {
                Some(wanted) => found.wanted(index, wanted),
                None => found.any(index, None, number == 0 && form.is_some(), false),
            }
        }
        found.uses
    }
}

struct Found<'a> {
    of: &'a Loaded,
    uses: Vec<Use>,
}

/// The places of operands in the list of the module.
pub fn places(range: Range<Operand>) -> std::ops::Range<u32> {
    range.start..range.start + range.len
}

impl Found<'_> {
    fn wanted(&mut self, index: u32, wanted: &Wanted) {
        let writes = wanted.access == Access::Write;
        let kind = self.of.module.operands.get(index as usize).map(|operand| operand.kind);
        match (&wanted.kind, kind) {
            (Kind::Value(value), _) => self.any(index, Some(value.ty), writes, false),
            (Kind::Vector { element, .. }, _) => self.any(index, Some(element.ty), writes, false),
            (Kind::Pair(first, second), Some(OperandKind::Pair(parts))) => {
                self.wanted(parts.start, first);
                self.wanted(parts.start + 1, second);
            }
            (Kind::Pair(first, _), _) => self.wanted(index, first),
            _ => self.any(index, None, writes, false),
        }
    }

    /// All registers of an operand, with a type or the declared one.
    fn any(&mut self, index: u32, ty: Option<Type>, writes: bool, address: bool) {
        let Some(operand) = self.of.module.operands.get(index as usize) else { return };
        let inside = matches!(
            operand.kind,
            OperandKind::Address(_)
                | OperandKind::Offset(..)
                | OperandKind::Index(_)
                | OperandKind::Unified(_)
        );
        if let Some(parts) = operand.kind.parts() {
            let (ty, writes) = if inside { (None, false) } else { (ty, writes) };
            places(parts).for_each(|part| self.any(part, ty, writes, address || inside));
            return;
        }
        let reference = self.of.references.operands.get(index as usize);
        let Some(&Reference::Variable(id, member)) = reference else { return };
        let variable = self.of.checked.variable(id);
        let Some(declared) = variable.value_type().filter(|_| variable.space == StateSpace::Reg) else {
            return;
        };
        let elements = match operand.kind {
            OperandKind::Member(_, element) => {
                let element = match self.of.module.name(element) {
                    "y" | "g" => 1,
                    "z" | "b" => 2,
                    "w" | "a" => 3,
                    _ => 0,
                };
                element..element + 1
            }
            _ => 0..variable.vector.max(1),
        };
        let ty = ty.filter(|ty| *ty != Type::Pred || declared == Type::Pred).unwrap_or(declared);
        let uses = elements.map(|element| Use { register: (id.0, member, element), ty, writes, address });
        self.uses.extend(uses);
    }
}

/// The instruction of a module that begins at a byte.
pub fn instruction_at(module: &Module, start: u32) -> Option<&Instruction> {
    let functions = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    });
    let mut inside = functions.filter(|one| one.span.start <= start && start < one.span.end);
    let statements = &inside.next()?.body.as_ref()?.statements;
    statements.iter().find_map(|statement| match statement {
        Statement::Instruction(instruction) if instruction.span.start == start => Some(instruction),
        _ => None,
    })
}

/// The type of a register for people: where it is declared as bits, a type that instructions use it with. Floating-point
/// types count before signed integers, and these before unsigned ones.
pub fn display_types(operands: &mut Operands, (unit, of): (u32, &Loaded)) -> HashMap<RegisterKey, Type> {
    let rank = |ty: Type| match ty.class() {
        Class::Float => 3,
        Class::Signed => 2,
        Class::Unsigned => 1,
        _ => 0,
    };
    let mut types: HashMap<RegisterKey, Type> = HashMap::new();
    for item in &of.module.items {
        let Item::Function(function) = item else { continue };
        let Some(body) = &function.body else { continue };
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            for one in operands.uses((unit, of), instruction) {
                let known = types.entry(one.register).or_insert(one.ty);
                if rank(one.ty) > rank(*known) {
                    *known = one.ty;
                }
            }
        }
    }
    types
}

/// The type to show a register of a declared type with.
pub fn shown_type(declared: Type, used: Option<Type>) -> Type {
    let bits = super::value::bits_of;
    match used {
        Some(used) if declared.class() == Class::Bits && bits(used) == bits(declared) => used,
        _ => declared,
    }
}
