//! How an instruction orders memory: its semantics and its scope (PTX ISA sections 8.4, 8.5 and 8.8).
//!
//! The machine itself runs everything in an order that is stronger than any of these. The race sanitizer needs to know
//! what the program may rely on.

use softwarp_isa::instruction::Modifier;
use std::fmt;

/// The semantics of a memory operation or a fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantics {
    /// It orders nothing, and must not race.
    #[default]
    Weak,
    /// Strong, and orders nothing by itself.
    Relaxed,
    /// Strong; what follows is behind what it observes.
    Acquire,
    /// Strong; what precedes it is before who observes it.
    Release,
    /// Both.
    AcquireRelease,
}

/// Which threads may synchronise with an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The threads of the CTA.
    Cta,
    /// The threads of the cluster.
    Cluster,
    /// The threads of the device.
    Gpu,
    /// All threads of the system.
    #[default]
    Sys,
}

/// The semantics and the scope of an operation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Order {
    /// Weak, relaxed, acquire, release or both.
    pub semantics: Semantics,
    /// Among whom; means nothing for weak operations.
    pub scope: Scope,
}

impl fmt::Debug for Order {
    /// `weak`, or the semantics and the scope: `acquire.gpu`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let semantics = match self.semantics {
            Semantics::Weak => return f.write_str("weak"),
            Semantics::Relaxed => "relaxed",
            Semantics::Acquire => "acquire",
            Semantics::Release => "release",
            Semantics::AcquireRelease => "acq_rel",
        };
        let scope = match self.scope {
            Scope::Cta => "cta",
            Scope::Cluster => "cluster",
            Scope::Gpu => "gpu",
            Scope::Sys => "sys",
        };
        write!(f, "{semantics}.{scope}")
    }
}

impl Order {
    /// A weak operation.
    pub const WEAK: Order = Order { semantics: Semantics::Weak, scope: Scope::Sys };

    /// A relaxed operation.
    pub fn relaxed(scope: Scope) -> Order {
        Order { semantics: Semantics::Relaxed, scope }
    }

    /// What the modifiers of an instruction say; `implied` where they say nothing.
    #[allow(clippy::wildcard_enum_match_arm, reason = "other modifiers say nothing of the order")]
    pub fn of(modifiers: &[Modifier], implied: Order) -> Order {
        let semantics = modifiers.iter().find_map(|word| {
            Some(match *word {
                Modifier::Weak => Semantics::Weak,
                Modifier::Relaxed | Modifier::Volatile | Modifier::Mmio => Semantics::Relaxed,
                Modifier::Acquire => Semantics::Acquire,
                Modifier::Release => Semantics::Release,
                Modifier::AcqRel | Modifier::Sc => Semantics::AcquireRelease,
                _ => return None,
            })
        });
        let scope = modifiers.iter().find_map(|word| {
            Some(match *word {
                Modifier::Cta => Scope::Cta,
                Modifier::Cluster => Scope::Cluster,
                Modifier::Gpu | Modifier::Gl => Scope::Gpu,
                Modifier::Sys => Scope::Sys,
                _ => return None,
            })
        });
        Order { semantics: semantics.unwrap_or(implied.semantics), scope: scope.unwrap_or(implied.scope) }
    }

    /// Whether it is strong.
    #[inline]
    pub fn is_strong(self) -> bool {
        match self.semantics {
            Semantics::Weak => false,
            Semantics::Relaxed | Semantics::Acquire | Semantics::Release | Semantics::AcquireRelease => true,
        }
    }

    /// Whether it is an acquire operation.
    pub fn acquires(self) -> bool {
        match self.semantics {
            Semantics::Acquire | Semantics::AcquireRelease => true,
            Semantics::Weak | Semantics::Relaxed | Semantics::Release => false,
        }
    }

    /// Whether it is a release operation.
    pub fn releases(self) -> bool {
        match self.semantics {
            Semantics::Release | Semantics::AcquireRelease => true,
            Semantics::Weak | Semantics::Relaxed | Semantics::Acquire => false,
        }
    }
}

/// `membar` and `fence`, but for those between proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Its semantics and scope.
    pub order: Order,
    /// `.mbarrier_init`: it orders only what `mbarrier.init` wrote.
    pub mbarrier_init: bool,
}
