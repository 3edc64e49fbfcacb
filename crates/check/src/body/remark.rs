//! What there is to say about an instruction though it fits: where the assembler lets pass what the manual
//! does not (PTX ISA sections 5.1.3, 5.1.6, 5.3, 5.4.8), and what only the whole module shows.

use super::Walk;
use crate::checked::VarId;
use crate::codes::declarations::{CRASH, Deviation};
use crate::codes::instructions as codes;
use crate::context::Unreturned;
use softwarp_syntax::tree::{Operand, OperandKind};
use softwarp_syntax::{Diagnostic, Span};

/// Something noticed while the operands were looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Remark {
    /// `ld.param::entry` of a function's parameter.
    EntryParameter(VarId),
    /// `.const[2]` of a variable in another bank.
    OtherBank(VarId),
    /// The address of a texture where textures and samplers are separate.
    IndependentTexture(VarId),
    /// A load of a `.unified` variable that does not say so.
    PlainLoad(VarId),
    /// A store to a `.unified` variable.
    UnifiedStore(VarId),
    /// An opaque variable accessed as memory, where the assembler does not look.
    OpaqueMemory(VarId),
    /// One value where the manual has a vector, or a vector where it has one value.
    OtherShape,
    /// `st.param` through a register in a kernel.
    ParameterStore,
    /// A load of a call's `.param` before any call returned into it.
    Unreturned(VarId),
}

impl Walk<'_, '_> {
    /// Notes something, to be said if the instruction fits otherwise.
    pub(super) fn notice(&mut self, at: Span, remark: Remark) {
        self.remark = Some((at, remark));
    }

    /// Says what was noticed.
    #[cold]
    pub(super) fn remark(&mut self, at: Span, remark: Remark) {
        let (deviation, id, says) = match remark {
            Remark::EntryParameter(id) => {
                let says =
                    "is a parameter of a function; `.param::entry` is for those of kernels, says the manual";
                (codes::ENTRY_PARAMETER, id, says)
            }
            Remark::OtherBank(id) => (
                codes::OTHER_BANK,
                id,
                "is in another bank than the load names; the assembler does not compare them",
            ),
            Remark::IndependentTexture(id) => {
                let says = "is a texture; with `texmode_independent` the manual has no pointers to textures";
                (codes::INDEPENDENT_POINTER, id, says)
            }
            Remark::PlainLoad(id) => (
                codes::UNIFIED_ACCESS,
                id,
                "is `.unified`; the manual wants loads of it to say `[…].unified`",
            ),
            Remark::UnifiedStore(id) => {
                (codes::UNIFIED_ACCESS, id, "is `.unified`; the manual lets such variables only be read")
            }
            Remark::OpaqueMemory(id) => (
                codes::ODD_OPERAND,
                id,
                "is opaque and here accessed as memory; the manual has no such access",
            ),
            Remark::OtherShape => {
                let message =
                    "this operand has another number of values than the manual wants; the assembler takes it";
                return self.deviation(codes::ODD_OPERAND, at, message.to_owned(), |diagnostic| {
                    diagnostic.with_help("write as many values as the instruction's syntax shows")
                });
            }
            Remark::ParameterStore => {
                let message = "`st.param` through a register in a kernel: ptxas crashes on it";
                let diagnostic = Diagnostic::new(CRASH, at, message);
                return self.say(diagnostic.with_help("name the `.param` variable of the call"));
            }
            Remark::Unreturned(id) => return self.unreturned(id, at),
        };
        let variable = self.context.checked.variable(id);
        let name = self.context.text(variable.name);
        let declared = variable.span;
        self.deviation(deviation, at, format!("`{name}` {says}"), |diagnostic| {
            diagnostic.with_related(declared, format!("`{name}` is declared here"))
        });
    }

    /// Says what the assembler lets pass though the manual does not: a warning, in strict mode an error.
    pub(super) fn deviation(
        &mut self,
        deviation: Deviation,
        at: Span,
        message: String,
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let code = if self.context.options.strict { deviation.error } else { deviation.warning };
        self.say(more(Diagnostic::new(code, at, message)));
    }

    /// One for each function is enough: the assembler stops there.
    fn unreturned(&mut self, variable: VarId, at: Span) {
        let Some(function) = self.context.function else { return };
        if self.context.deferred.unreturned.last().is_none_or(|last| last.function != function) {
            self.context.deferred.unreturned.push(Unreturned { function, variable, at });
        }
    }

    /// Notes the variables that a call returns into.
    pub(super) fn returned(&mut self, returns: &[Operand]) {
        for operand in returns {
            if let OperandKind::Name(symbol) = operand.kind
                && let super::Meaning::Variable(VarId(id)) = self.meaning(symbol)
            {
                let most = self.context.checked.variables.len();
                self.memory.returned.resize(most, false);
                if let Some(returned) = self.memory.returned.get_mut(id as usize) {
                    *returned = true;
                }
            }
        }
    }

    /// Whether a call before this point returned into a variable.
    pub(super) fn is_returned(&self, VarId(id): VarId) -> bool {
        self.memory.returned.get(id as usize).copied().unwrap_or(false)
    }
}
