//! What stands in a function's body: statements, instructions and their operands (PTX ISA sections 4.1, 6
//! and 9).
//!
//! One walk over the statements. Each instruction's mnemonic has been looked up once for the module
//! ([`forms`]), and its operands are held against the operand lists that the form can have; the first that
//! fits ends the matter. Only where none fits are words made of it ([`explain`]).

mod accepts;
mod address;
mod call;
mod constants;
mod explain;
mod explain_operand;
mod forms;
mod fragment;
mod handle;
mod labels;
mod line;
mod meaning;
mod mismatch;
mod operand;
mod ranges;
mod references;
mod relations;
mod remark;
mod rule;
mod vector;

pub use references::{GuardReference, Reference, References};

use crate::checked::FuncId;
use crate::codes::instructions as codes;
use crate::context::Context;
use crate::declaration;
use crate::function;
use crate::gates;
use crate::names::{Entity, Found};
use crate::pragma::{self, PragmaScope};
use forms::{FormEntry, FormTable, Special, Variant, Verdict};
use labels::{Labels, Marks};
use meaning::{Meaning, Specials};
use remark::Remark;
use softwarp_isa::Type;
use softwarp_syntax::tree::{Body, Guard, Instruction, Name, Operand, OperandKind, Statement, Symbol};
use softwarp_syntax::{Diagnostic, Span};

/// What lasts from body to body.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    forms: FormTable,
    labels: Labels,
    specials: Specials,
    /// How many diagnostics about bodies have been made.
    said: usize,
    /// Whether a call has returned into a variable, by the variable's number.
    returned: Vec<bool>,
    /// What the names mean, if that is asked for.
    pub references: Option<References>,
}

impl Memory {
    /// At the start of a module, to record what the names mean.
    pub fn recording_references() -> Memory {
        Memory { references: Some(References::default()), ..Memory::default() }
    }

    /// Before a body whose variables have the numbers of others.
    pub fn forget_variables(&mut self) {
        self.returned.clear();
    }
}

/// At most this many diagnostics about function bodies are reported. More could take more memory than the module.
const MOST_SAID: usize = 1000;

/// Judges a body. The scope of the function is open, and its parameters are declared in it.
pub(crate) fn check(context: &mut Context<'_>, memory: &mut Memory, function: FuncId, body: &Body) {
    memory.forms.prepare(context.module);
    memory.specials.prepare(context.module);
    memory.labels.begin(context.module.symbols.len(), &body.statements);
    let mut forms = std::mem::take(&mut memory.forms);
    let kernel = context.checked.function(function).entry;
    let mut walk =
        Walk { context, memory, kernel, statements: &body.statements, at: 0, bank: None, remark: None };
    for (index, statement) in body.statements.iter().enumerate() {
        walk.statement(&mut forms, index, statement);
    }
    memory.labels.end();
    memory.forms = forms;
}

/// An operand, by its position, that is not what is wanted.
type Misplaced = (usize, mismatch::Mismatch);

/// A point of the walk over a function's body.
struct Walk<'w, 'm> {
    context: &'w mut Context<'m>,
    /// What lasts from body to body, but for the forms, which are read while the walk goes on.
    memory: &'w mut Memory,
    /// Whether the function is an `.entry`.
    kernel: bool,
    statements: &'w [Statement],
    /// The statement that the walk is at.
    at: usize,
    /// The bank of constant memory that the instruction names.
    bank: Option<u64>,
    /// What was noticed about the instruction's operands.
    remark: Option<(Span, Remark)>,
}

/// The minus sign that `vmad` cannot have: two of the factors cancel out; of the product and the summand one can have
/// it, and with `.po` neither.
fn negated_twice(special: Special, [a, b, c]: [&Operand; 3]) -> Option<Misplaced> {
    let negated = |operand: &Operand| matches!(operand.kind, OperandKind::Negated(_));
    let (product, summand) = (negated(a) != negated(b), negated(c));
    let conflict = product && summand || special == Special::VmadPlusOne && (product || summand);
    let at = [(3, c), (2, b), (1, a)].into_iter().find(|(_, operand)| negated(operand));
    let forbidden = mismatch::Reason::Forbidden(mismatch::Forbidden::Negated);
    at.filter(|_| conflict).map(|(n, operand)| (n, mismatch::Mismatch { at: operand.span, why: forbidden }))
}

impl Walk<'_, '_> {
    fn statement(&mut self, forms: &mut FormTable, index: usize, statement: &Statement) {
        self.at = index;
        match statement {
            Statement::Instruction(instruction) => {
                self.instruction(forms, instruction);
                if self.memory.references.is_some() {
                    self.resolve_references(index, instruction);
                }
            }
            Statement::Label(name) => self.label(*name, index),
            Statement::Open(_) => {
                self.context.names.push_scope();
                self.memory.labels.enter();
            }
            Statement::Close(_) => {
                self.memory.labels.leave();
                self.context.names.pop_scope();
            }
            Statement::Variable(variables) => declaration::declare_local(self.context, variables),
            Statement::BranchTargets(targets) => {
                self.context.require(&gates::BRANCH_TARGETS, targets.span);
                for &name in &targets.is {
                    self.branch_target(name);
                }
            }
            Statement::CallTargets(targets) => {
                self.context.require(&gates::CALL_TARGETS, targets.span);
                for &name in &targets.is {
                    self.call_target(name);
                }
            }
            Statement::Function(function) if function.body.is_none() => {
                self.context.ordered = true;
                let around = self.context.function;
                let item = around.map_or(0, |id| self.context.checked.function(id).item);
                function::declare(self.context, function, item);
            }
            Statement::Alias(alias) => {
                self.context.ordered = true;
                function::alias(self.context, alias);
            }
            Statement::Pragma(span) => {
                let place = if self.kernel { PragmaScope::Kernel } else { PragmaScope::Function };
                pragma::check(self.context, *span, place);
            }
            Statement::Function(_) | Statement::Loc(_) | Statement::Other(_) => {}
            Statement::CallPrototype(prototype) => self.check_prototype(prototype),
        }
    }

    fn has_said_enough(&self) -> bool {
        self.memory.said >= MOST_SAID
    }

    /// Whether so little has been said that help may be looked for far and wide.
    fn has_said_little(&self) -> bool {
        self.memory.said < MOST_SAID / 10
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        if !self.has_said_enough() {
            self.memory.said += 1;
            let diagnostic = self.on_the_assemblers_line(diagnostic);
            self.context.report(diagnostic);
        }
    }

    /// Says it at the end, if the module turns out to have the ABI.
    fn say_if_abi(&mut self, diagnostic: Diagnostic) {
        if !self.has_said_enough() {
            self.memory.said += 1;
            let diagnostic = self.on_the_assemblers_line(diagnostic);
            self.context.deferred.if_abi.push(diagnostic);
        }
    }

    fn label(&mut self, name: Name, index: usize) {
        let marks = match self.statements.get(index + 1) {
            Some(Statement::BranchTargets(_)) => Marks::BranchTargets,
            Some(Statement::CallTargets(_)) => Marks::CallTargets(index as u32 + 1),
            Some(Statement::CallPrototype(_)) => Marks::Prototype(index as u32 + 1),
            _ => Marks::Code,
        };
        let number = self.memory.labels.pass(marks);
        if let Err(Found { span, entity, .. }) =
            self.context.names.declare(name.symbol, Entity::Label(number), name.span)
        {
            let text = self.context.text(name.symbol);
            let what = if matches!(entity, Entity::Label(_)) { "label" } else { "name" };
            self.say(
                Diagnostic::new(
                    codes::DUPLICATE_LABEL,
                    name.span,
                    format!("the {what} `{text}` is taken in this block"),
                )
                .with_related(span, format!("`{text}` is declared here"))
                .with_help("give the label another name, or put it into a block of its own"),
            );
        }
    }

    /// Whether a name means a label here. One that is declared later is found only if nothing else has its name at
    /// this point, be it a register of a family or a special register.
    fn is_label(&mut self, symbol: Symbol) -> bool {
        match self.context.names.lookup(symbol) {
            Some(found) => matches!(found.entity, Entity::Label(_)),
            None => {
                self.memory.labels.visible(symbol) && !self.memory.specials.has(self.context.module, symbol)
            }
        }
    }

    /// Whether a label marks code, and not the targets or the prototype of a branch or call. A list of targets may name
    /// its own label, which the assembler does not know yet.
    fn marks_code(&self, symbol: Symbol) -> bool {
        let Some(label) = self.memory.labels.statement(symbol) else { return true };
        let at = label as usize + 1;
        let list = matches!(
            self.statements.get(at),
            Some(Statement::BranchTargets(_) | Statement::CallTargets(_) | Statement::CallPrototype(_))
        );
        !list || at == self.at
    }

    /// A name that must be one of a label to branch to.
    fn branch_target(&mut self, name: Name) {
        if self.is_label(name.symbol) && !self.marks_code(name.symbol) {
            let diagnostic = explain::no_code(self, name);
            self.say(diagnostic);
        } else if !self.is_label(name.symbol) {
            let diagnostic = explain::no_label(self, name);
            self.say(diagnostic);
        }
    }

    fn guard(&mut self, guard: &Guard) {
        let name = guard.name;
        match self.meaning(name.symbol) {
            Meaning::Register { ty: Type::Pred, lanes: 1, .. } => {}
            Meaning::Unknown => {
                let diagnostic = explain::undeclared(self, name.symbol, name.span);
                self.say(diagnostic);
            }
            meaning => {
                let diagnostic = explain::guard(self, name, meaning);
                self.say(diagnostic);
            }
        }
    }

    fn instruction(&mut self, forms: &mut FormTable, instruction: &Instruction) {
        if let Some(guard) = &instruction.guard {
            self.guard(guard);
        }
        if self.has_said_enough() && !forms.knows(instruction.mnemonic) {
            return;
        }
        let module = self.context.module;
        let place = forms.find(self.context, instruction.mnemonic);
        let form = forms.entry(place);
        let operands = instruction.operands.of(&module.operands);
        if !self.have_values(operands) {
            return;
        }
        match &form.verdict {
            Verdict::Form if form.special == Special::Call => self.call(instruction, operands),
            Verdict::Form => {
                let FormEntry { narrow, demoted, bank, cta_group, distinct, .. } = *form;
                self.bank = bank;
                if let Some(group) = cta_group {
                    self.note_cta_group(group, instruction.mnemonic_span);
                }
                if !self.fits_a_variant(forms, place, operands) {
                    self.mismatch(forms, place, instruction, operands);
                } else if narrow {
                    self.say(explain::narrow_address(instruction.mnemonic_span));
                } else if let Some((at, remark)) = self.remark.take() {
                    self.remark(at, remark);
                }
                if demoted {
                    self.demoted(instruction);
                }
                if distinct {
                    self.written_twice(operands);
                }
                if let Some(bank) = bank
                    && let Some(diagnostic) = explain::bank(self.context, instruction, bank)
                {
                    self.say(diagnostic);
                }
            }
            Verdict::Wrong(fault) => {
                let diagnostic = explain::fault(self.context, instruction, fault);
                self.say(diagnostic);
            }
        }
    }

    /// Notes an instruction for one CTA or for a pair: a kernel cannot have both.
    #[cold]
    fn note_cta_group(&mut self, group: u8, at: Span) {
        if let Some(id) = self.context.function
            && let Some(first) =
                self.context.checked.functions[id.0 as usize].cta_groups.get_mut(usize::from(group))
        {
            first.get_or_insert(at);
        }
    }

    /// Reports a register that stands twice among those that `tcgen05.ld` writes.
    #[cold]
    fn written_twice(&mut self, operands: &[Operand]) {
        let module = self.context.module;
        let mut seen: Vec<(Symbol, Span)> = Vec::new();
        let written = operands.iter().take_while(|operand| !matches!(operand.kind, OperandKind::Address(_)));
        let elements = written.flat_map(|operand| match operand.kind {
            OperandKind::Vector(elements) => elements.of(&module.operands),
            _ => std::slice::from_ref(operand),
        });
        for element in elements {
            let OperandKind::Name(symbol) = element.kind else { continue };
            match seen.iter().find(|(known, _)| *known == symbol) {
                Some(&(_, first)) => {
                    let name = self.context.text(symbol);
                    let message = format!("`tcgen05.ld` writes `{name}` twice");
                    return self.say(
                        Diagnostic::new(codes::WRITTEN_TWICE, element.span, message)
                            .with_related(first, "it is written here first")
                            .with_help("name another register for each element"),
                    );
                }
                None => seen.push((symbol, element.span)),
            }
        }
    }

    /// `.f64` on a target that has none.
    #[cold]
    fn demoted(&mut self, instruction: &Instruction) {
        let target = self.context.target();
        let message =
            format!("{target} has no .f64: the assembler computes in .f32; the manual asks for sm_13");
        self.deviation(codes::DEMOTED, instruction.mnemonic_span, message, |diagnostic| {
            diagnostic.with_help("raise `.target`, or write .f32")
        });
    }

    /// Whether the operands are those of one of the form's lists, and the module may use it.
    fn fits_a_variant(&mut self, forms: &FormTable, place: usize, operands: &[Operand]) -> bool {
        (0..forms.variants(place)).any(|n| {
            let variant = forms.variant(place, n);
            self.remark = None;
            variant.len as usize == operands.len()
                && variant.open
                && self.first_mismatch(forms, place, variant, operands).is_none()
        })
    }

    /// Whether an operand is what is wanted, so far as that is seen at once: most are registers of the right type, or
    /// constants that may stand.
    #[inline]
    fn is_usual(&self, want: &forms::Want, operand: &Operand) -> bool {
        let forms::What::Value(accepts) = &want.what else { return false };
        match operand.kind {
            OperandKind::Name(symbol) => {
                let register = self.context.names.register(symbol);
                register.is_some_and(|register| register.lanes == 1 && accepts.register(register.ty))
            }
            OperandKind::Literal(literal) if want.bounds.is_none() => {
                operand::constant_of(want, *accepts, operand::kind_of(literal), operand.span).is_ok()
            }
            _ => false,
        }
    }

    /// The first operand that is not what the list wants, and why.
    fn first_mismatch(
        &mut self,
        forms: &FormTable,
        place: usize,
        variant: Variant,
        operands: &[Operand],
    ) -> Option<Misplaced> {
        let special = forms.entry(place).special;
        for (n, (operand, want)) in operands.iter().zip(forms.wants(variant)).enumerate() {
            if self.is_usual(want, operand) {
                continue;
            }
            if let Err(mismatch) = self.fits(forms, special, want, operand) {
                return Some((n, mismatch));
            }
        }
        match operands {
            [_, a, b, c] if matches!(special, Special::Vmad | Special::VmadPlusOne) => {
                negated_twice(special, [a, b, c])
            }
            // Packed into a value, or unpacked from one; not both.
            [to, from]
                if special == Special::Mov
                    && !matches!(forms.want(variant, 0).what, forms::What::Vector { .. }) =>
            {
                (self.is_vector(to) && self.is_vector(from)).then_some((
                    1,
                    mismatch::Mismatch { at: from.span, why: mismatch::Reason::Sort(mismatch::Sort::Vector) },
                ))
            }
            _ => self.broken_relation(special, forms.wants(variant), operands),
        }
    }

    /// Whether an operand is a vector, in braces or as a register.
    fn is_vector(&mut self, operand: &Operand) -> bool {
        match operand.kind {
            OperandKind::Vector(_) => true,
            OperandKind::Name(symbol) => matches!(self.meaning(symbol), Meaning::Register { lanes: 2.., .. }),
            _ => false,
        }
    }

    /// Says why an instruction fits none of its form's operand lists.
    #[cold]
    fn mismatch(&mut self, forms: &FormTable, place: usize, instruction: &Instruction, operands: &[Operand]) {
        if self.has_said_enough() {
            return;
        }
        let (Ok(form), _) = forms::look_up(self.context.module, instruction.mnemonic) else {
            return;
        };
        let form = &*form;
        let mut best: Option<(usize, Variant, Option<Misplaced>)> = None;
        for n in 0..forms.variants(place) {
            let variant = forms.variant(place, n);
            if variant.len as usize != operands.len() {
                continue;
            }
            let mismatch = self.first_mismatch(forms, place, variant, operands);
            let reached = mismatch.as_ref().map_or(operands.len(), |(n, _)| *n);
            if best.as_ref().is_none_or(|(most, seen, _)| (reached, variant.open) > (*most, seen.open)) {
                best = Some((reached, variant, mismatch));
            }
        }
        let Some((_, variant, mismatch)) = best else {
            let counts = (0..forms.variants(place)).map(|n| forms.variant(place, n).len as usize);
            let diagnostic = explain::count(self.context, instruction, form, counts.collect(), operands);
            return self.say(diagnostic);
        };
        if !variant.open {
            let diagnostic = explain::gate(self.context, instruction, form, variant);
            self.say(diagnostic);
        }
        if let Some((n, mismatch)) = mismatch {
            let want = forms.want(variant, n);
            let diagnostic = explain_operand::mismatch(self, form, variant, (n, want), &mismatch);
            self.say(diagnostic);
            if let mismatch::Reason::Undeclared(symbol) = mismatch.why {
                self.undeclared_among(operands, &mut vec![symbol]);
            }
        }
    }

    /// Says which other names among operands mean nothing, each once.
    fn undeclared_among(&mut self, operands: &[Operand], said: &mut Vec<Symbol>) {
        let module = self.context.module;
        for operand in operands {
            match operand.kind {
                OperandKind::Name(symbol) | OperandKind::Member(symbol, _)
                    if !said.contains(&symbol) && matches!(self.meaning(symbol), Meaning::Unknown) =>
                {
                    said.push(symbol);
                    let diagnostic = explain::undeclared(self, symbol, operand.span);
                    self.say(diagnostic);
                }
                kind => {
                    if let Some(parts) = kind.parts() {
                        self.undeclared_among(parts.of(&module.operands), said);
                    }
                }
            }
        }
    }
}
