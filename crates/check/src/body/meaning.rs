//! What a name in an operand means: a register, a variable, a label, a special register (PTX ISA section 10).

use super::Walk;
use crate::checked::{FuncId, VarId};
use crate::names::{Entity, Found, Register};
use softwarp_isa::special::SpecialRegister;
use softwarp_isa::{StateSpace, Type};
use softwarp_syntax::Module;
use softwarp_syntax::tree::{DeclaredType, Symbol};

/// What a name means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// A register, or one of a family.
    Register {
        id: VarId,
        ty: Type,
        /// 1, or the number of elements of a vector.
        lanes: u8,
    },
    /// A variable in memory, or one of opaque type.
    Variable(VarId),
    Function(FuncId),
    /// A label, with its number if it has been passed.
    Label(Option<u32>),
    Special(&'static SpecialRegister),
    /// `WARP_SZ`
    WarpSize,
    Unknown,
}

impl Walk<'_, '_> {
    /// What a name means here. Declared names hide special registers.
    #[inline]
    pub(super) fn meaning(&mut self, symbol: Symbol) -> Meaning {
        match self.context.names.register(symbol) {
            Some(Register { id, ty, lanes }) => Meaning::Register { id, ty, lanes },
            None => self.looked_up_meaning(symbol),
        }
    }

    fn looked_up_meaning(&mut self, symbol: Symbol) -> Meaning {
        let found = self.context.resolve(symbol);
        self.meaning_of(symbol, found)
    }

    /// What the name of a function in a `call` means.
    pub(super) fn called_meaning(&mut self, symbol: Symbol) -> Meaning {
        let found = self.context.resolve_called(symbol);
        self.meaning_of(symbol, found)
    }

    fn meaning_of(&mut self, symbol: Symbol, found: Option<Found>) -> Meaning {
        match found {
            Some(found) => match found.entity {
                Entity::Variable(id) => {
                    let variable = self.context.checked.variable(id);
                    match (variable.space, variable.ty) {
                        (StateSpace::Reg, DeclaredType::Value(ty)) => {
                            let lanes = variable.vector;
                            // Uses of registers at module scope are counted.
                            if found.depth > 0 {
                                self.context.names.note_register(symbol, Register { id, ty, lanes });
                            }
                            Meaning::Register { id, ty, lanes }
                        }
                        _ => Meaning::Variable(id),
                    }
                }
                Entity::Function(id) => Meaning::Function(id),
                Entity::Label(number) => Meaning::Label(Some(number)),
            },
            None => self.undeclared_meaning(symbol),
        }
    }

    fn undeclared_meaning(&mut self, symbol: Symbol) -> Meaning {
        if self.memory.labels.visible(symbol) {
            return Meaning::Label(None);
        }
        match self.memory.specials.find(self.context.module, symbol) {
            Known::Special(register) => Meaning::Special(register),
            Known::WarpSize => Meaning::WarpSize,
            Known::Nothing => Meaning::Unknown,
        }
    }
}

/// The predefined names among a module's symbols, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct Specials {
    known: Vec<Option<Known>>,
}

/// What a symbol is by itself, declarations aside.
#[derive(Clone, Copy, Debug)]
enum Known {
    Special(&'static SpecialRegister),
    WarpSize,
    Nothing,
}

impl Specials {
    /// Makes room for a module's symbols.
    pub fn prepare(&mut self, module: &Module) {
        self.known.resize(module.symbols.len(), None);
    }

    /// Whether a symbol is the name of a special register.
    pub fn has(&mut self, module: &Module, symbol: Symbol) -> bool {
        matches!(self.find(module, symbol), Known::Special(_))
    }

    fn find(&mut self, module: &Module, symbol: Symbol) -> Known {
        let Some(slot) = self.known.get_mut(symbol.0 as usize) else { return Known::Nothing };
        *slot.get_or_insert_with(|| {
            let text = module.name(symbol);
            match SpecialRegister::from_name(text) {
                Some(register) => Known::Special(register),
                None if text == "WARP_SZ" => Known::WarpSize,
                None => Known::Nothing,
            }
        })
    }
}

/// Which element a member names, of a vector of that many: `x`, `y`, `z`, `w`, or as a colour.
pub(super) fn element(text: &str) -> Option<u8> {
    Some(match text {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
}
