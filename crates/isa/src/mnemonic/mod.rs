//! The words of a mnemonic as values: opcodes, state spaces and all other modifiers.

mod modifier;
mod names;
mod opcode;

pub use modifier::{MatrixShape, Modifier};
pub(crate) use names::{in_name, names_word};
pub use opcode::Opcode;

use crate::StateSpace;

/// A state space as an instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // The names are PTX's.
pub enum Space {
    /// None: a generic address.
    Generic,
    Const,
    Global,
    Local,
    Param,
    ParamEntry,
    ParamFunc,
    Shared,
    SharedCta,
    SharedCluster,
    /// Tensor memory, which only `tcgen05` reaches: its addresses are 32-bit values.
    Tensor,
}

impl Space {
    /// Finds one by its word, without its dot: `shared::cta`.
    pub fn from_name(name: &str) -> Option<Space> {
        Some(match name {
            "const" => Space::Const,
            "global" => Space::Global,
            "local" => Space::Local,
            "param" => Space::Param,
            "param::entry" => Space::ParamEntry,
            "param::func" => Space::ParamFunc,
            "shared" => Space::Shared,
            "shared::cta" => Space::SharedCta,
            "shared::cluster" => Space::SharedCluster,
            _ => return None,
        })
    }

    /// The word, without its dot; empty for generic addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Generic => "",
            Space::Const => "const",
            Space::Global => "global",
            Space::Local => "local",
            Space::Param => "param",
            Space::ParamEntry => "param::entry",
            Space::ParamFunc => "param::func",
            Space::Shared => "shared",
            Space::SharedCta => "shared::cta",
            Space::SharedCluster => "shared::cluster",
            Space::Tensor => "tmem",
        }
    }

    /// The state space that variables there are declared in; `None` for generic addresses and tensor
    /// memory.
    pub const fn of_variables(self) -> Option<StateSpace> {
        match self {
            Space::Generic | Space::Tensor => None,
            Space::Const => Some(StateSpace::Const),
            Space::Global => Some(StateSpace::Global),
            Space::Local => Some(StateSpace::Local),
            Space::Param | Space::ParamEntry | Space::ParamFunc => Some(StateSpace::Param),
            Space::Shared | Space::SharedCta | Space::SharedCluster => Some(StateSpace::Shared),
        }
    }
}
