//! State spaces (PTX ISA section 5.1): where variables live, and what that means for them. The opaque types
//! of section 5.3 are beside it, in [`opaque`].
//!
//! Together with the types of section 5.2 they are all that a program sees of a GPU's resources: how much
//! there is of each differs between targets, what kinds there are does not.

use std::fmt;

pub mod opaque;

pub use opaque::{Member, Opaque, TextureMode};

/// A state space that variables are declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateSpace {
    /// Registers: fast storage. Each architecture has a number of them beyond which programs get slower, not
    /// wrong: any number is taken here.
    Reg,
    /// Special registers: read-only, predefined, different from platform to platform.
    Sreg,
    /// Read-only memory that all threads share.
    Const,
    /// Memory that all threads share.
    Global,
    /// Memory of one thread.
    Local,
    /// Parameters: of a kernel, one set for each grid; of a function, or the arguments of a call, one set for
    /// each thread.
    Param,
    /// Memory of a CTA, which all threads of its cluster reach for as long as the CTA lives.
    Shared,
    /// Texture memory: deprecated, gone since PTX 1.5; `.global .texref` replaces it.
    Tex,
}

impl StateSpace {
    /// Every state space.
    pub const ALL: &[StateSpace] = &[
        StateSpace::Reg,
        StateSpace::Sreg,
        StateSpace::Const,
        StateSpace::Global,
        StateSpace::Local,
        StateSpace::Param,
        StateSpace::Shared,
        StateSpace::Tex,
    ];

    /// The directive, without its dot.
    pub const fn name(self) -> &'static str {
        match self {
            StateSpace::Reg => "reg",
            StateSpace::Sreg => "sreg",
            StateSpace::Const => "const",
            StateSpace::Global => "global",
            StateSpace::Local => "local",
            StateSpace::Param => "param",
            StateSpace::Shared => "shared",
            StateSpace::Tex => "tex",
        }
    }

    /// Its row of Table 7. `.param` has two: `owner` says which, the other spaces do not care.
    pub const fn properties(self, owner: Owner) -> Properties {
        use {Access::*, Addressing::*, Initialising::*, Owner::*, Sharing::*, StateSpace::*};
        match (self, owner) {
            (Reg, _) => row(Unaddressed, Never, ReadWrite, PerThread),
            (Sreg, _) => row(Unaddressed, Never, ReadOnly, PerCta),
            (Const, _) => row(Addressed, InText, ReadOnly, PerGrid),
            (Global, _) => row(Addressed, InText, ReadWrite, Context),
            (Local, _) => row(Addressed, Never, ReadWrite, PerThread),
            (Param, Kernel) => row(Addressed, Never, ReadOnly, PerGrid),
            (Param, Function) => row(Restricted, Never, ReadWrite, PerThread),
            (Shared, _) => row(Addressed, Never, ReadWrite, PerCluster),
            (Tex, _) => row(Unaddressed, ByDriver, ReadOnly, Context),
        }
    }

    /// Finds a state space by its name, without its dot.
    pub fn from_name(name: &str) -> Option<StateSpace> {
        StateSpace::ALL.iter().copied().find(|space| space.name() == name)
    }
}

impl fmt::Display for StateSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// Whose parameters are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// Parameters of a kernel, which the host passes.
    Kernel,
    /// Parameters of a device function, and the arguments of its callers.
    Function,
}

/// What a state space is like: a row of Table 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Properties {
    /// Whether its variables have addresses.
    pub addressing: Addressing,
    /// Where its variables get their first values from.
    pub initialising: Initialising,
    /// Who may write.
    pub access: Access,
    /// Who sees the same variable.
    pub sharing: Sharing,
}

const fn row(
    addressing: Addressing,
    initialising: Initialising,
    access: Access,
    sharing: Sharing,
) -> Properties {
    Properties { addressing, initialising, access, sharing }
}

/// Whether the variables of a state space have addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// Variables have addresses.
    Addressed,
    /// Formal parameters have, once `mov` asks for it; the arguments declared in bodies have none.
    Restricted,
    /// Variables have no addresses.
    Unaddressed,
}

/// Where the variables of a state space get their first values from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Initialising {
    /// From the module's text; zero without an initialiser.
    InText,
    /// The driver initialises them.
    ByDriver,
    /// They have no initial values: they hold what was written to them, or what the caller passed.
    Never,
}

/// Whether instructions may write to a state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // They say it.
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// Which threads see the same variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Each thread has its own.
    PerThread,
    /// The threads of a CTA.
    PerCta,
    /// One for each CTA, which the other active CTAs of its cluster see too.
    PerCluster,
    /// All threads of a grid.
    PerGrid,
    /// All threads of a context.
    Context,
}
