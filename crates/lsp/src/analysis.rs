//! What a text means: its tree, the names in it with what each of them is, and the forms of its instructions.

use crate::text::Text;
use softwarp_check::checked::{FuncId, VarId, Variable};
use softwarp_check::{CheckedModule, Options, Reference, References, resolve_references};
use softwarp_image::{Image, Unit, lay_out};
use softwarp_isa::SpecialRegister;
use softwarp_isa::instruction::{Access, InstructionForm, Kind, Wanted, resolve};
use softwarp_syntax::tree::{
    Expr, Function, Instruction, Item, MnemonicId, Name, Operand, OperandKind, Statement, Symbol,
};
use softwarp_syntax::{Module, Severity, Span, parse};
use std::cell::OnceCell;
use std::collections::HashMap;

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

/// A text, understood.
pub struct Analysis {
    /// Its tree.
    pub module: Module,
    /// What it means.
    pub checked: CheckedModule,
    /// Whether there are errors in it.
    pub has_errors: bool,
    references: References,
    occurrences: OnceCell<Vec<Occurrence>>,
    forms: OnceCell<Vec<Option<Box<InstructionForm>>>>,
    image: OnceCell<Option<Image>>,
}

impl Analysis {
    /// Understands a text.
    pub fn new(source: &str, options: Options) -> Analysis {
        let parsed = parse(source);
        let (checked, references, diagnostics) = resolve_references(&parsed.module, source, options);
        let has_errors =
            parsed.diagnostics.iter().chain(&diagnostics).any(|one| one.severity() == Severity::Error);
        Analysis {
            module: parsed.module,
            checked,
            has_errors,
            references,
            occurrences: OnceCell::new(),
            forms: OnceCell::new(),
            image: OnceCell::new(),
        }
    }

    /// The functions, each with its item's number.
    pub fn functions(&self) -> impl Iterator<Item = (u32, &Function)> {
        (0..).zip(&self.module.items).filter_map(|(number, item)| match item {
            Item::Function(function) => Some((number, &**function)),
            _ => None,
        })
    }

    /// The function of an item.
    pub fn function(&self, item: u32) -> Option<&Function> {
        match self.module.items.get(item as usize)? {
            Item::Function(function) => Some(function),
            _ => None,
        }
    }

    /// The statements of an item's function.
    pub fn statements(&self, item: u32) -> &[Statement] {
        let body = self.function(item).and_then(|function| function.body.as_ref());
        body.map_or(&[], |body| &body.statements)
    }

    /// The function that a byte is in.
    pub fn function_at(&self, byte: u32) -> Option<(u32, &Function)> {
        self.functions().find(|(_, function)| function.span.start <= byte && byte < function.span.end)
    }

    /// The statement that a byte is in or right behind: its function's item, and its index.
    pub fn statement_at(&self, byte: u32) -> Option<(u32, u32)> {
        let (item, _) = self.function_at(byte)?;
        let statements = self.statements(item);
        let after = statements.partition_point(|statement| statement_span(statement).start <= byte);
        let index = after.checked_sub(1)?;
        (byte <= statement_span(&statements[index]).end).then_some((item, index as u32))
    }

    /// The instruction that a byte is in.
    pub fn instruction_at(&self, byte: u32) -> Option<&Instruction> {
        let (item, index) = self.statement_at(byte)?;
        match self.statements(item).get(index as usize)? {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        }
    }

    /// The form of a mnemonic, if it is legal.
    pub fn form(&self, mnemonic: MnemonicId) -> Option<&InstructionForm> {
        let forms = self.forms.get_or_init(|| {
            let one = |mnemonic: &softwarp_syntax::tree::Mnemonic| {
                let words: Vec<&str> =
                    mnemonic.modifiers.iter().map(|&word| self.module.name(word)).collect();
                resolve(self.module.name(mnemonic.opcode), &words).ok()
            };
            self.module.mnemonics.iter().map(one).collect()
        });
        forms.get(mnemonic.0 as usize)?.as_deref()
    }

    /// Where variables are in memory; nothing while there are errors.
    pub fn image(&self) -> Option<&Image> {
        let lay_out = || {
            let unit = Unit { module: &self.module, checked: &self.checked };
            let options = softwarp_image::Options { relocatable: true, red_zones: false };
            if self.has_errors { None } else { lay_out(&[unit], options).ok() }
        };
        self.image.get_or_init(lay_out).as_ref()
    }

    /// All names that mean something, in the order of the text.
    pub fn occurrences(&self) -> &[Occurrence] {
        self.occurrences.get_or_init(|| {
            let functions =
                (0..).zip(&self.checked.functions).map(|(id, function)| (function.name, FuncId(id)));
            let functions = functions.collect();
            let labels = HashMap::new();
            let mut walk = Walk { analysis: self, found: Vec::new(), functions, labels, at: None };
            walk.module();
            let mut found = walk.found;
            found.sort_by_key(|one| (one.span.start, one.span.end));
            found.dedup_by_key(|one| one.span);
            found
        })
    }

    /// The name at a byte, or right before it.
    pub fn occurrence_at(&self, byte: u32) -> Option<Occurrence> {
        let all = self.occurrences();
        let after = all.partition_point(|one| one.span.start <= byte);
        all[..after].last().copied().filter(|one| byte <= one.span.end)
    }

    /// All places of what stands at a place. A family is one thing where its declaration is asked for, else a member is.
    pub fn places_of(&self, entity: Entity) -> Vec<Occurrence> {
        let all = self.occurrences().iter().copied();
        all.filter(|one| is_same(one.entity, entity) || declares_family(one, entity)).collect()
    }

    /// The variable of an id.
    pub fn variable(&self, id: VarId) -> &Variable {
        self.checked.variable(id)
    }

    /// The text of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.module.name(symbol)
    }

    /// The name of an entity, as it is written where it is used.
    pub fn name_of(&self, entity: Entity) -> String {
        match entity {
            Entity::Variable(id, member) => {
                let name = self.name(self.variable(id).name);
                member.map_or_else(|| name.to_owned(), |member| format!("{name}{member}"))
            }
            Entity::Function(id) => self.name(self.checked.function(id).name).to_owned(),
            Entity::Label(item, index) => match self.statements(item).get(index as usize) {
                Some(Statement::Label(name)) => self.name(name.symbol).to_owned(),
                _ => String::new(),
            },
            Entity::Special(register) => register.display_name(),
            Entity::WarpSize => "WARP_SZ".to_owned(),
        }
    }
}

fn is_same(a: Entity, b: Entity) -> bool {
    match (a, b) {
        // The whole family was asked for.
        (Entity::Variable(a, _), Entity::Variable(b, None)) => a == b,
        _ => a == b,
    }
}

fn declares_family(one: &Occurrence, entity: Entity) -> bool {
    matches!((one.entity, entity), (Entity::Variable(a, None), Entity::Variable(b, _)) if a == b)
}

/// All of a statement's text.
pub fn statement_span(statement: &Statement) -> Span {
    match statement {
        Statement::Open(span) | Statement::Close(span) | Statement::Loc(span) | Statement::Pragma(span) => {
            *span
        }
        Statement::Label(name) => name.span,
        Statement::Instruction(instruction) => instruction.span,
        Statement::Variable(variables) => variables.span,
        Statement::BranchTargets(directive) | Statement::CallTargets(directive) => directive.span,
        Statement::CallPrototype(prototype) => prototype.span,
        Statement::Function(function) => function.span,
        Statement::Alias(alias) => alias.span,
        Statement::Other(other) => other.span,
    }
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

/// Collects names.
struct Walk<'a> {
    analysis: &'a Analysis,
    found: Vec<Occurrence>,
    functions: HashMap<Symbol, FuncId>,
    /// The labels of the function at hand.
    labels: HashMap<Symbol, u32>,
    at: Option<(u32, u32)>,
}

impl Walk<'_> {
    fn push(&mut self, span: Span, entity: Entity, role: Role) {
        self.found.push(Occurrence { span, entity, role, at: self.at });
    }

    fn module(&mut self) {
        let analysis = self.analysis;
        for (number, variable) in (0..).zip(&analysis.checked.variables) {
            self.push(variable.span, Entity::Variable(VarId(number), None), Role::Declared);
        }
        for (item, function) in analysis.functions() {
            self.function_name(function.name, Role::Declared);
            let labels =
                analysis.statements(item).iter().zip(0..).filter_map(|(statement, index)| match statement {
                    Statement::Label(name) => Some((name.symbol, index)),
                    _ => None,
                });
            self.labels = labels.collect();
            for (index, statement) in (0..).zip(analysis.statements(item)) {
                self.at = Some((item, index));
                self.statement(item, index, statement);
            }
            self.at = None;
        }
        for item in &analysis.module.items {
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
            let guards = &self.analysis.references.guards;
            let function = |id: FuncId| self.analysis.checked.function(id).item;
            let index = self.at.map_or(0, |(_, index)| index);
            let start = guards.partition_point(|one| (function(one.function), one.statement) < (item, index));
            if let Some(reference) = guards.get(start).filter(|one| one.statement == index)
                && let Some(entity) = entity(item, reference.predicate)
            {
                self.push(guard.name.span, entity, Role::Read);
            }
        }
        let pool = &self.analysis.module.operands;
        let operands = instruction.operands.of(pool);
        let wanted = self.analysis.form(instruction.mnemonic).and_then(|form| wanted(form, operands));
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
        let pool = &self.analysis.module.operands;
        let Some(operand) = pool.get(index as usize) else { return };
        if let OperandKind::Name(symbol) | OperandKind::Member(symbol, _) = operand.kind {
            let length = self.analysis.name(symbol).len() as u32;
            let span = Span::new(operand.span.start, operand.span.end.min(operand.span.start + length));
            let reference = self.analysis.references.operands.get(index as usize);
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
        let analysis = self.analysis;
        let variables =
            (0..).zip(&analysis.checked.variables).filter(|(_, variable)| variable.function.is_none());
        let mut names: HashMap<Symbol, Entity> =
            variables.map(|(id, variable)| (variable.name, Entity::Variable(VarId(id), None))).collect();
        let functions = (0..).zip(&analysis.checked.functions);
        names.extend(functions.map(|(id, function)| (function.name, Entity::Function(FuncId(id)))));
        for expression in &analysis.module.expressions {
            let Expr::Name(symbol) = expression.is else { continue };
            let warp_size = (analysis.name(symbol) == "WARP_SZ").then_some(Entity::WarpSize);
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

/// A document: its text, and what it means once somebody asks.
pub struct Document {
    /// Its text.
    pub text: Text,
    /// How it is checked.
    pub options: Options,
    analysis: OnceCell<Analysis>,
}

impl Document {
    /// Takes a text.
    pub fn new(text: Text, options: Options) -> Document {
        Document { text, options, analysis: OnceCell::new() }
    }

    /// Its text.
    pub fn source(&self) -> &str {
        self.text.as_str()
    }

    /// What it means.
    pub fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| Analysis::new(self.text.as_str(), self.options))
    }

    /// Changes the text.
    pub fn change(&mut self, change: impl FnOnce(&mut Text)) {
        self.analysis = OnceCell::new();
        change(&mut self.text);
    }
}
