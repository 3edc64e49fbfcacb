//! What every name in the operands of a module means, for the stages that run it: they need not know scopes,
//! families and forward labels again.
//!
//! Checking alone does not need this, and it takes memory; so it is recorded only when asked for
//! ([`crate::resolve_references`]).

use super::Walk;
use super::meaning::Meaning;
use crate::checked::{FuncId, VarId};
use crate::names::Entity;
use softwarp_isa::special::SpecialRegister;
use softwarp_syntax::tree::{Instruction, OperandKind, Symbol};

/// What a name in an operand means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Not a name, or one that means nothing.
    Nothing,
    /// A register or a variable in memory; of a family, which member.
    Variable(VarId, Option<u32>),
    /// A function.
    Function(FuncId),
    /// A label of the function: the index of its statement in the body.
    Label(u32),
    /// A special register.
    Special(&'static SpecialRegister),
    /// `WARP_SZ`
    WarpSize,
}

/// The guard of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardReference {
    /// The function.
    pub function: FuncId,
    /// The index of the instruction's statement in the body.
    pub statement: u32,
    /// The predicate.
    pub predicate: Reference,
}

/// What the names in a module's operands mean.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// For every operand of [`softwarp_syntax::Module::operands`], at the same index.
    pub operands: Vec<Reference>,
    /// Those instructions that have guards, in the order of the text.
    pub guards: Vec<GuardReference>,
}

impl Walk<'_, '_> {
    /// Notes what the names of an instruction mean.
    pub(super) fn resolve_references(&mut self, statement: usize, instruction: &Instruction) {
        let Some(mut references) = self.memory.references.take() else { return };
        let pool = &self.context.module.operands;
        references.operands.resize(pool.len(), Reference::Nothing);
        if let (Some(guard), Some(function)) = (instruction.guard, self.context.function) {
            let predicate = self.reference(guard.name.symbol);
            references.guards.push(GuardReference { function, statement: statement as u32, predicate });
        }
        let mut rest = vec![instruction.operands];
        while let Some(range) = rest.pop() {
            for (index, operand) in (range.start as usize..).zip(range.of(pool)) {
                if let OperandKind::Name(symbol) | OperandKind::Member(symbol, _) = operand.kind {
                    references.operands[index] = self.reference(symbol);
                }
                rest.extend(operand.kind.parts());
            }
        }
        self.memory.references = Some(references);
    }

    fn reference(&mut self, symbol: Symbol) -> Reference {
        if let Some(found) = self.context.names.lookup(symbol) {
            return match found.entity {
                Entity::Variable(id) => Reference::Variable(id, found.member),
                Entity::Function(id) => Reference::Function(id),
                Entity::Label(_) => self.label_reference(symbol),
            };
        }
        match self.meaning(symbol) {
            Meaning::Label(_) => self.label_reference(symbol),
            Meaning::Special(register) => Reference::Special(register),
            Meaning::WarpSize => Reference::WarpSize,
            _ => Reference::Nothing,
        }
    }

    fn label_reference(&self, symbol: Symbol) -> Reference {
        self.memory.labels.statement(symbol).map_or(Reference::Nothing, Reference::Label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use softwarp_syntax::tree::{Item, Statement};

    #[test]
    fn names_mean_what_is_in_scope_where_they_stand() {
        let source = ".version 9.0\n.target sm_90\n.address_size 64\n.global .u32 g;\n.entry k()\n{\n\
            .reg .u32 %r<4>;\n.reg .pred p;\n@p bra DONE;\n\
            { .reg .u32 %r2; mov.u32 %r2, %tid.x; }\nld.global.u32 %r2, [g+4];\nDONE:\nret;\n}\n";
        let parsed = softwarp_syntax::parse(source);
        let (checked, references, diagnostics) =
            crate::resolve_references(&parsed.module, source, Options::default());
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let named = |name: &str| {
            let at = checked.variables.iter().position(|variable| parsed.module.name(variable.name) == name);
            VarId(at.expect("declared") as u32)
        };
        let Some(Item::Function(function)) = parsed.module.items.last() else { panic!("a function") };
        let statements = &function.body.as_ref().expect("a body").statements;
        let done = statements.iter().position(|statement| matches!(statement, Statement::Label(_)));
        let wanted = [
            Reference::Label(done.expect("a label") as u32),
            Reference::Variable(named("%r2"), None),
            Reference::Special(SpecialRegister::from_name("%tid").expect("one")),
            Reference::Variable(named("%r"), Some(2)),
            Reference::Variable(named("g"), None),
        ];
        for reference in wanted {
            assert!(references.operands.contains(&reference), "{reference:?} in {:?}", references.operands);
        }
        assert_eq!(references.guards.len(), 1);
        assert_eq!(references.guards[0].predicate, Reference::Variable(named("p"), None));
    }
}
