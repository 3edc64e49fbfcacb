//! The names in a text, each with what it is and what is done with it.

use crate::checked::{FuncId, VarId};
use crate::{CheckedModule, Reference, References};
use softwarp_isa::instruction::{Access, InstructionForm, Kind, Wanted};
use softwarp_isa::{SpecialRegister, StateSpace};
use softwarp_syntax::tree::{
    Expr, Function, Instruction, Item, MnemonicId, Name, Operand, OperandKind, Statement, Symbol,
};
use softwarp_syntax::{Module, Span};
use std::collections::{HashMap, HashSet};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// A register or a variable in memory; of a family, which member.
    Variable(VarId, Option<u32>),
    /// A function.
    Function(FuncId),
    /// A label: the function's item, and the index of the statement in its body.
    Label(u32, u32),
    /// A special register.
    Special(&'static SpecialRegister),
    /// `WARP_SZ`
    WarpSize,
}

/// What is done with a name where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is declared.
    Declared,
    /// It is read, branched to or called.
    Read,
    /// It is written.
    Written,
}

/// A name in the text.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence {
    /// Its bytes.
    pub span: Span,
    /// What it is.
    pub entity: Entity,
    /// What is done with it.
    pub role: Role,
    /// The instruction that it stands in: the item of its function, and its statement.
    pub at: Option<(u32, u32)>,
}

/// What an instruction does with its operands: one for each, of the operand list that has as many.
pub fn wanted<'f>(form: &'f InstructionForm, operands: &[Operand]) -> Option<&'f [Wanted]> {
    let count = operands.len();
    let fits = |signature: &&softwarp_isa::instruction::Signature| {
        let (least, most) = signature.arity();
        (least..=most).contains(&count)
    };
    let signature = form.signatures.iter().find(fits).or(form.signatures.first())?;
    Some(&signature.operands)
}

/// All names that mean something, in the order of the text. `form` gives the form of a mnemonic, if it is legal; what
/// instructions that have none do with their operands is not known, and taken as reading.
pub fn occurrences<'a>(
    module: &'a Module,
    checked: &'a CheckedModule,
    references: &'a References,
    form: &'a dyn Fn(MnemonicId) -> Option<&'a InstructionForm>,
) -> Vec<Occurrence> {
    let functions = (0..).zip(&checked.functions).map(|(id, function)| (function.name, FuncId(id)));
    let functions = functions.collect();
    let labels = HashMap::new();
    let mut walk = Walk { module, checked, references, form, found: Vec::new(), functions, labels, at: None };
    walk.module();
    let mut found = walk.found;
    found.sort_by_key(|one| (one.span.start, one.span.end));
    found.dedup_by_key(|one| one.span);
    found
}

/// Those of one entity. A family is one thing where its declaration is asked for, else a member is.
pub fn places_of(all: &[Occurrence], entity: Entity) -> Vec<Occurrence> {
    let is_wanted = |one: &&Occurrence| match (one.entity, entity) {
        // The whole family was asked for, or this declares it.
        (Entity::Variable(one, _), Entity::Variable(other, None))
        | (Entity::Variable(one, None), Entity::Variable(other, _)) => one == other,
        (one, other) => one == other,
    };
    all.iter().filter(is_wanted).copied().collect()
}

/// The places where registers are first written, in the order of the text.
pub fn first_writes(all: &[Occurrence], checked: &CheckedModule) -> Vec<Occurrence> {
    let mut seen: HashSet<(VarId, Option<u32>)> = HashSet::new();
    let mut is_first = |one: &&Occurrence| match (one.entity, one.role) {
        (Entity::Variable(id, member), Role::Written) => {
            checked.variable(id).space == StateSpace::Reg && seen.insert((id, member))
        }
        _ => false,
    };
    all.iter().filter(|one| is_first(one)).copied().collect()
}

/// Collects names.
struct Walk<'a> {
    module: &'a Module,
    checked: &'a CheckedModule,
    references: &'a References,
    form: &'a dyn Fn(MnemonicId) -> Option<&'a InstructionForm>,
    found: Vec<Occurrence>,
    functions: HashMap<Symbol, FuncId>,
    /// The labels of the function at hand.
    labels: HashMap<Symbol, u32>,
    at: Option<(u32, u32)>,
}

impl<'a> Walk<'a> {
    fn push(&mut self, span: Span, entity: Entity, role: Role) {
        self.found.push(Occurrence { span, entity, role, at: self.at });
    }

    fn module(&mut self) {
        for (number, variable) in (0..).zip(&self.checked.variables) {
            self.push(variable.span, Entity::Variable(VarId(number), None), Role::Declared);
        }
        for (item, function) in functions(self.module) {
            self.function_name(function.name, Role::Declared);
            let labels =
                statements(function).iter().zip(0..).filter_map(|(statement, index)| match statement {
                    Statement::Label(name) => Some((name.symbol, index)),
                    _ => None,
                });
            self.labels = labels.collect();
            for (index, statement) in (0..).zip(statements(function)) {
                self.at = Some((item, index));
                self.statement(item, index, statement);
            }
            self.at = None;
        }
        for item in &self.module.items {
            if let Item::Alias(alias) = item {
                self.function_name(alias.is.0, Role::Declared);
                self.function_name(alias.is.1, Role::Read);
            }
        }
        self.initialisers();
    }

    fn function_name(&mut self, name: Name, role: Role) {
        if let Some(&id) = self.functions.get(&name.symbol) {
            self.push(name.span, Entity::Function(id), role);
        }
    }

    fn statement(&mut self, item: u32, index: u32, statement: &Statement) {
        match statement {
            Statement::Label(name) => self.push(name.span, Entity::Label(item, index), Role::Declared),
            Statement::Instruction(instruction) => self.instruction(item, instruction),
            Statement::BranchTargets(targets) => {
                for name in &targets.is {
                    if let Some(&label) = self.labels.get(&name.symbol) {
                        self.push(name.span, Entity::Label(item, label), Role::Read);
                    }
                }
            }
            Statement::CallTargets(targets) => {
                targets.is.iter().for_each(|&name| self.function_name(name, Role::Read));
            }
            Statement::Function(function) => self.function_name(function.name, Role::Declared),
            _ => {}
        }
    }

    fn instruction(&mut self, item: u32, instruction: &Instruction) {
        if let Some(guard) = instruction.guard {
            let guards = &self.references.guards;
            let function = |id: FuncId| self.checked.function(id).item;
            let index = self.at.map_or(0, |(_, index)| index);
            let start = guards.partition_point(|one| (function(one.function), one.statement) < (item, index));
            if let Some(reference) = guards.get(start).filter(|one| one.statement == index)
                && let Some(entity) = entity(item, reference.predicate)
            {
                self.push(guard.name.span, entity, Role::Read);
            }
        }
        let pool = &self.module.operands;
        let operands = instruction.operands.of(pool);
        let wanted = (self.form)(instruction.mnemonic).and_then(|form| wanted(form, operands));
        let is_call =
            wanted.is_some_and(|wanted| matches!(wanted.first().map(|one| &one.kind), Some(Kind::Call)));
        for (number, index) in (0..).zip(instruction.operands.start..) {
            let Some(operand) = operands.get(number) else { break };
            let role = match wanted.and_then(|wanted| wanted.get(number)) {
                _ if is_call => call_role(number, operand),
                Some(wanted) => role(wanted.access),
                None => Role::Read,
            };
            let second = match wanted.and_then(|wanted| wanted.get(number)).map(|wanted| &wanted.kind) {
                Some(Kind::Pair(_, second)) => Some(self::role(second.access)),
                _ => None,
            };
            self.operand(item, index, role, second);
        }
    }

    /// The names of an operand. What is in an address is read.
    fn operand(&mut self, item: u32, index: u32, role: Role, second: Option<Role>) {
        let pool = &self.module.operands;
        let Some(operand) = pool.get(index as usize) else { return };
        if let OperandKind::Name(symbol) | OperandKind::Member(symbol, _) = operand.kind {
            let length = self.module.name(symbol).len() as u32;
            let span = Span::new(operand.span.start, operand.span.end.min(operand.span.start + length));
            let reference = self.references.operands.get(index as usize);
            if let Some(entity) = reference.and_then(|&reference| entity(item, reference)) {
                self.push(span, entity, role);
            }
        }
        let inner = match operand.kind {
            OperandKind::Address(_) | OperandKind::Offset(..) | OperandKind::Index(_) => Role::Read,
            _ => role,
        };
        for (number, part) in operand
            .kind
            .parts()
            .into_iter()
            .flat_map(|range| range.start..range.start + range.len)
            .enumerate()
        {
            let role = second.filter(|_| number == 1).unwrap_or(inner);
            self.operand(item, part, role, None);
        }
    }

    /// The names in constant expressions, which are those of module scope.
    fn initialisers(&mut self) {
        let variables =
            (0..).zip(&self.checked.variables).filter(|(_, variable)| variable.function.is_none());
        let mut names: HashMap<Symbol, Entity> =
            variables.map(|(id, variable)| (variable.name, Entity::Variable(VarId(id), None))).collect();
        let functions = (0..).zip(&self.checked.functions);
        names.extend(functions.map(|(id, function)| (function.name, Entity::Function(FuncId(id)))));
        for expression in &self.module.expressions {
            let Expr::Name(symbol) = expression.is else { continue };
            let warp_size = (self.module.name(symbol) == "WARP_SZ").then_some(Entity::WarpSize);
            if let Some(entity) = names.get(&symbol).copied().or(warp_size) {
                self.push(expression.span, entity, Role::Read);
            }
        }
    }
}

fn role(access: Access) -> Role {
    match access {
        Access::Read => Role::Read,
        Access::Write | Access::ReadWrite => Role::Written,
    }
}

/// In `call (d), f, (a);` the first list is written.
fn call_role(number: usize, operand: &Operand) -> Role {
    match operand.kind {
        OperandKind::Paren(_) if number == 0 => Role::Written,
        _ => Role::Read,
    }
}

fn entity(item: u32, reference: Reference) -> Option<Entity> {
    Some(match reference {
        Reference::Nothing => return None,
        Reference::Variable(id, member) => Entity::Variable(id, member),
        Reference::Function(id) => Entity::Function(id),
        Reference::Label(statement) => Entity::Label(item, statement),
        Reference::Special(register) => Entity::Special(register),
        Reference::WarpSize => Entity::WarpSize,
    })
}

/// The functions of a module, each with its item's number.
fn functions(module: &Module) -> impl Iterator<Item = (u32, &Function)> {
    (0..).zip(&module.items).filter_map(|(number, item)| match item {
        Item::Function(function) => Some((number, &**function)),
        _ => None,
    })
}

fn statements(function: &Function) -> &[Statement] {
    function.body.as_ref().map_or(&[], |body| &body.statements)
}
