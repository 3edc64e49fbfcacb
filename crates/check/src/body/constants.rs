//! Constant expressions among operands (PTX ISA section 4.5): the assembler evaluates each where it reads it, whatever
//! the instruction makes of the value.

use super::Walk;
use crate::codes::declarations as codes;
use crate::constant;
use softwarp_syntax::tree::{ExprId, Operand, OperandKind};
use softwarp_syntax::{Location, Span};

impl Walk<'_, '_> {
    /// Whether all constants among operands have a value. What is wrong with one has been said.
    pub(super) fn have_values(&mut self, operands: &[Operand]) -> bool {
        let mut all = true;
        for operand in operands {
            all &= self.has_values(operand);
        }
        all
    }

    fn has_values(&mut self, operand: &Operand) -> bool {
        let module = self.context.module;
        let own = match operand.kind {
            OperandKind::Name(_) | OperandKind::Member(..) => return true,
            OperandKind::Literal(literal) => {
                let said = self.context.diagnostics.len();
                constant::check_range(self.context, literal, operand.span);
                self.context.diagnostics.len() == said
            }
            OperandKind::Expr(id) | OperandKind::Offset(_, id) => self.has_value(id),
            OperandKind::Sink | OperandKind::Error => true,
            // Their parts are looked at below.
            OperandKind::Not(_) | OperandKind::Negated(_) | OperandKind::Pair(_) | OperandKind::Vector(_) => {
                true
            }
            OperandKind::Paren(_) | OperandKind::Address(_) | OperandKind::Unified(_) => true,
            OperandKind::Index(_) => true,
        };
        // Expressions in parts are the assembler's to read, too.
        let parts = operand.kind.parts().map_or(&[][..], |parts| parts.of(&module.operands));
        self.have_values(parts) && own
    }

    fn has_value(&mut self, id: ExprId) -> bool {
        if self.has_said_enough() {
            return true;
        }
        let said = self.context.diagnostics.len();
        if constant::evaluate(self.context, id).is_some() {
            // Warnings are those of constants in the data.
            self.context.diagnostics.truncate(said);
            return true;
        }
        let source = self.context.source;
        for diagnostic in &mut self.context.diagnostics[said..] {
            let span = diagnostic.span();
            // An operator is applied when its last operand has been read, and a cast refused before its operand.
            if diagnostic.code != codes::CAST
                && let Some(line) = span.text(source).rfind('\n')
            {
                let last = Span::new(span.start + line as u32 + 1, span.end);
                diagnostic.location = Some(Location { unit: diagnostic.unit(), span: last });
            }
        }
        self.memory.said += 1;
        false
    }
}
