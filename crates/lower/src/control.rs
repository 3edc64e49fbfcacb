//! Control flow within a function (PTX ISA section 9.7.12).

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use crate::scopes::Scopes;
use softwarp_check::Reference;
use softwarp_ir::{Op, Step, Switch};
use softwarp_isa::Type;
use softwarp_isa::instruction::Opcode;
use softwarp_syntax::tree::{Operand, Range, Statement, Symbol};

/// The most edges of the control flow that the tables of all `brx.idx` of a kernel may make. Each instruction has
/// those of its whole table, so that a table of all labels makes a quadratic number of them.
const MOST_EDGES: usize = 1 << 22;

impl Builder<'_, '_> {
    /// Branches, calls and the end of threads.
    pub fn control(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match form.instruction.opcode {
            Opcode::Bra => self.branch(operands),
            Opcode::Brx => self.switch(operands),
            Opcode::Call => self.call(operands),
            Opcode::Ret => self.leave(),
            Opcode::Exit => self.step(Step::Exit),
            Opcode::Trap => self.step(Step::Trap),
            Opcode::Brkpt => self.step(Step::Breakpoint),
            Opcode::Nanosleep => self.step(Step::Yield),
            // Without effect here.
            Opcode::Griddepcontrol | Opcode::Pmevent => Ok(()),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// `bra`
    fn branch(&mut self, operands: Range<Operand>) -> Lowered<()> {
        let Reference::Label(target) = self.reference(operands.start) else { return Err(Refusal::Form) };
        self.push(Op::Branch(self.current.guard, target));
        Ok(())
    }

    /// `brx.idx`
    fn switch(&mut self, operands: Range<Operand>) -> Lowered<()> {
        let index = self.source(operands.start, Type::U32)?;
        let Reference::Label(list) = self.reference(operands.start + 1) else { return Err(Refusal::Form) };
        let Some(Statement::BranchTargets(names)) = self.statements.get(list as usize + 1) else {
            return because("with such a list of targets");
        };
        self.session.edges += names.is.len();
        if self.session.edges > MOST_EDGES {
            return because(format!("with more than {MOST_EDGES} targets in all tables"));
        }
        let mut targets = Vec::new();
        for name in &names.is {
            match self.label(list, name.symbol) {
                Some(target) => targets.push(target),
                None => return because(format!("with the target `{}`", self.of.module.name(name.symbol))),
            }
        }
        self.step(Step::Switch(Switch { index, targets }))
    }

    /// The statement of the label that a name means at a statement.
    fn label(&mut self, at: u32, symbol: Symbol) -> Option<u32> {
        let statements = self.statements;
        self.labels.scopes.get_or_insert_with(|| Scopes::new(statements)).find(at, symbol)
    }
}
