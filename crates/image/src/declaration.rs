//! Names at module scope that modules share: what has the name, and which declaration takes precedence.

use crate::Unit;
use softwarp_check::checked::{Function, Variable};
use softwarp_isa::StateSpace;
use softwarp_syntax::tree::Linkage;
use softwarp_syntax::{Location, Span};

/// How much a declaration weighs when one of several is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// Not seen by other modules.
    Private,
    /// A function that is defined elsewhere and that nothing uses: the assembler drops it.
    Idle,
    /// Defined elsewhere.
    Declared,
    /// Memory that all modules share. With an initial value it is a definition like others.
    Common,
    /// Counts if there is none that is stronger.
    Weak,
    /// There is one in the program.
    Strong,
}

/// A name at module scope that other modules may share.
#[derive(Clone, Copy)]
pub(crate) struct Declaration<'a> {
    /// The module.
    pub(crate) unit: u32,
    /// The variable or function that is declared.
    pub(crate) of: Named<'a>,
    /// Its precedence among declarations of the name.
    pub(crate) standing: Standing,
    /// The name as a number: equal texts, equal numbers.
    pub(crate) name: u32,
}

/// What a name is of, and its index in its module.
#[derive(Clone, Copy)]
pub(crate) enum Named<'a> {
    Variable(u32, &'a Variable),
    Function(u32, &'a Function),
}

impl Named<'_> {
    pub(crate) fn span(self) -> Span {
        match self {
            Named::Variable(_, variable) => variable.span,
            Named::Function(_, function) => function.span,
        }
    }

    pub(crate) fn standing(self) -> Standing {
        match self {
            Named::Variable(_, variable) if is_handle(variable) => match variable.linkage {
                Some(Linkage::Extern) => Standing::Declared,
                _ => Standing::Weak,
            },
            Named::Variable(_, variable) => match variable.linkage {
                None => Standing::Private,
                Some(Linkage::Extern) => Standing::Declared,
                Some(Linkage::Common) if variable.initialiser.is_none() => Standing::Common,
                Some(Linkage::Weak) => Standing::Weak,
                Some(Linkage::Common | Linkage::Visible) => Standing::Strong,
            },
            Named::Function(_, function) => match function.linkage {
                None => Standing::Private,
                _ if !function.defined && !is_used(function) => Standing::Idle,
                _ if !function.defined => Standing::Declared,
                Some(Linkage::Weak) => Standing::Weak,
                Some(_) => Standing::Strong,
            },
        }
    }
}

impl<'a> Declaration<'a> {
    /// Among equal standings: the largest of commons, and of mere declarations the one that says most.
    pub(crate) fn rank(&self) -> (Standing, u64) {
        let says = match (self.standing, self.of) {
            (Standing::Common, Named::Variable(_, variable)) => variable.size().unwrap_or(u64::MAX),
            (Standing::Declared, Named::Variable(_, variable)) if variable.open => {
                u64::from(!self.is_provided_memory())
            }
            (Standing::Declared, _) => 2,
            _ => 0,
        };
        (self.standing, says)
    }

    /// Memory that no module defines: an array of `.shared` that gets its size at launch, and a bank of
    /// constants. Each module has its own declaration of it.
    pub(crate) fn is_provided_memory(&self) -> bool {
        match self.of {
            Named::Variable(_, of) => of.open && (of.space == StateSpace::Shared || of.bank.is_some()),
            Named::Function(..) => false,
        }
    }

    pub(crate) fn location(&self) -> Location {
        Location { unit: self.unit, span: self.of.span() }
    }

    /// The name.
    pub(crate) fn text(&self, units: &[Unit<'a>]) -> &'a str {
        let symbol = match self.of {
            Named::Variable(_, variable) => variable.name,
            Named::Function(_, function) => function.name,
        };
        units[self.unit as usize].module.name(symbol)
    }
}

/// A texture, sampler or surface. Arrays of them are not bound by name.
pub(crate) fn is_handle(variable: &Variable) -> bool {
    variable.opaque().is_some() && !variable.is_array()
}

/// Whether anything calls a function or takes its address.
pub(crate) fn is_used(function: &Function) -> bool {
    function.referenced || function.address_taken
}
