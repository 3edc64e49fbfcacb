//! On which line the assembler reports a fault, where an instruction takes several.

use super::Walk;
use super::explain::word_span;
use crate::codes::instructions as codes;
use crate::context::Context;
use softwarp_syntax::tree::{Instruction, Statement};
use softwarp_syntax::{Code, Diagnostic, Location, Span};

/// What the assembler reports as soon as it reads it, on that very line.
const ON_THEIR_OWN_LINES: [Code; 9] = [
    codes::UNDECLARED,
    codes::NO_LABEL,
    codes::UNKNOWN_MODIFIER,
    codes::GUARD,
    codes::MEMBER,
    codes::VECTOR_ELEMENTS,
    codes::NEGATION,
    codes::OFFSET,
    codes::NO_ARRAY,
];

impl Walk<'_, '_> {
    /// Moves a diagnostic to the line where the assembler reports it. The assembler finds most errors of an instruction
    /// at its end, and reports them on the line that it had read up to after the first word.
    pub(super) fn on_the_assemblers_line(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let Some(Statement::Instruction(instruction)) = self.statements.get(self.at) else {
            return diagnostic;
        };
        let place = place(self.context, instruction);
        let source = self.context.source;
        let named = diagnostic.span();
        let between = Span::new(named.start.min(place.start), named.start.max(place.start)).text(source);
        if !ON_THEIR_OWN_LINES.contains(&diagnostic.code) && between.contains('\n') {
            diagnostic.location = Some(Location { unit: diagnostic.unit(), span: place });
            diagnostic = diagnostic.with_related(named, "it stands here");
        }
        diagnostic
    }
}

/// Where the assembler reports what is wrong with an instruction as a whole: it has read one word beyond the
/// opcode by then, unless a guard stands before that.
fn place(context: &Context<'_>, instruction: &Instruction) -> Span {
    let span = instruction.mnemonic_span;
    if instruction.guard.is_some() {
        return span;
    }
    let operand = || instruction.operands.of(&context.module.operands).first().map(|operand| operand.span);
    let next = match context.module.mnemonic(instruction.mnemonic).modifiers.is_empty() {
        true => operand(),
        false => word_span(span, context.source, 0).map(|word| Span::new(word.start, span.end)),
    };
    match next {
        Some(next) if Span::new(span.start, next.start).text(context.source).contains('\n') => next,
        _ => span,
    }
}

#[cfg(test)]
mod tests {
    use crate::Options;
    use softwarp_syntax::{Lines, parse};

    /// The lines of the diagnostics about an instruction that begins on the first line.
    fn lines(instruction: &str) -> Vec<u32> {
        let before = ".version 9.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n\
            .reg .u32 r, s; .reg .f32 f; .reg .pred p;\n";
        let source = format!("{before}{instruction}\nret;\n}}\n");
        let parsed = parse(&source);
        let lines = Lines::new(&source);
        let diagnostics = crate::check(&parsed.module, &source, Options::default());
        diagnostics.iter().map(|diagnostic| lines.line(diagnostic.span().start) - 6).collect()
    }

    #[test]
    fn faults_of_the_whole_are_on_the_line_of_the_second_word() {
        assert_eq!(lines("add.u32\nr,\nf,\ns;"), [1]);
        assert_eq!(lines("add\n.u32\nr,\nf,\ns;"), [2]);
        assert_eq!(lines("@p\nadd\n.u32\nr,\nf,\ns;"), [2]);
        assert_eq!(lines("bar.sync\n16;"), [1]);
    }

    #[test]
    fn faults_of_a_word_are_on_its_own_line() {
        assert_eq!(lines("add.u32\nr,\nnone,\ns;"), [3]);
        assert_eq!(lines("mov.u32\nr,\n%tid.q;"), [3]);
    }

    #[test]
    fn faults_of_a_constant_are_where_its_last_part_is() {
        assert_eq!(lines("add.u32 r,\nr,\n4\n/\n0\n;"), [5]);
        assert_eq!(lines("mov.u32 r, 1?\n2.0:\n3;"), [3]);
        assert_eq!(lines("add.u32 r, r,\n(.u32)\n2\n;"), [2]);
        assert_eq!(lines("mov.f32\nf,\n1.0e999\n;"), [3]);
    }
}
