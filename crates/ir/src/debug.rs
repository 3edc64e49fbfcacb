//! What a debugger needs of a function: the slot of each register of the text.
//!
//! A function has it only if it was lowered for debugging. Each register then has a slot of its own for the whole
//! function, and copies are not propagated, so that a slot always holds what the text last wrote to its register.

use crate::Slot;
use softwarp_isa::Type;
use softwarp_syntax::Span;

/// A register of the text, or an element of a vector of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name as the text writes it: `%r7`, `%v.x`.
    pub name: String,
    /// The number of its variable among those of the checked module.
    pub variable: u32,
    /// Of a family, which member.
    pub member: Option<u32>,
    /// Of a vector, which element.
    pub element: u8,
    /// The declared type.
    pub ty: Type,
    /// The slot; of 128 bits, the first of two.
    pub slot: Slot,
    /// The text that its name means it in: from its declaration to the end of the block.
    pub scope: Span,
}

/// The registers of a function, in the order of their declarations and numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    list: Vec<Register>,
}

impl Registers {
    /// Takes registers in any order.
    pub fn new(mut list: Vec<Register>) -> Registers {
        list.sort_by_key(|register| (register.variable, register.member, register.element));
        Registers { list }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Register> {
        self.list.iter()
    }

    /// The register that a reference in the text means.
    pub fn of(&self, variable: u32, member: Option<u32>, element: u8) -> Option<&Register> {
        let key = (variable, member, element);
        let at = self.list.binary_search_by_key(&key, |one| (one.variable, one.member, one.element)).ok()?;
        self.list.get(at)
    }

    /// The register that a name means at a place of the text: of several, that of the innermost block.
    pub fn named(&self, name: &str, at: u32) -> Option<&Register> {
        let here = |one: &&Register| one.name == name && one.scope.start <= at && at <= one.scope.end;
        self.list.iter().filter(here).max_by_key(|one| one.scope.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_declaration_counts() {
        let register = |variable, scope: (u32, u32), slot| Register {
            name: "%r1".to_owned(),
            variable,
            member: None,
            element: 0,
            ty: Type::B32,
            slot: Slot::narrow(slot),
            scope: Span::new(scope.0, scope.1),
        };
        let registers = Registers::new(vec![register(2, (40, 60), 5), register(1, (10, 100), 4)]);
        let slot = |at| registers.named("%r1", at).map(|one| one.slot);
        assert_eq!(slot(5), None);
        assert_eq!(slot(20), Some(Slot::narrow(4)));
        assert_eq!(slot(50), Some(Slot::narrow(5)));
        assert_eq!(slot(70), Some(Slot::narrow(4)));
        assert_eq!(registers.of(2, None, 0).map(|one| one.slot), Some(Slot::narrow(5)));
        assert_eq!(registers.of(3, None, 0), None);
    }
}
