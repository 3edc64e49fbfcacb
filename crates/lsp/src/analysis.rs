//! What a text means: its tree, the names in it with what each of them is, and the forms of its instructions.

use crate::text::Text;
use softwarp_check::checked::{VarId, Variable};
pub use softwarp_check::occurrences::{Entity, Occurrence, Role, wanted};
use softwarp_check::occurrences::{occurrences, places_of};
use softwarp_check::{CheckedModule, Options, References, resolve_references};
use softwarp_image::{Image, Unit, lay_out};
use softwarp_isa::instruction::{InstructionForm, resolve};
use softwarp_syntax::tree::{Function, Instruction, Item, MnemonicId, Statement, Symbol};
use softwarp_syntax::{Module, Severity, Span, parse};
use std::cell::OnceCell;

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
            let form = |mnemonic| self.form(mnemonic);
            occurrences(&self.module, &self.checked, &self.references, &form)
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
        places_of(self.occurrences(), entity)
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
