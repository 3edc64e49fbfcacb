//! Where something exists: on which targets, from which PTX version on.
//!
//! The "PTX ISA Notes" and "Target ISA Notes" under each instruction of PTX ISA chapter 9, as data.

use std::fmt;

use crate::Version;
use crate::target::{Target, Variant, family_of};

/// A set of targets, the way the manual describes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// All targets.
    All,
    /// This architecture and every later one, in any variant.
    From(u16),
    /// This architecture alone, in any variant.
    Only(u16),
    /// The family-specific targets: the `f` and `a` variants of each of these architectures and of the
    /// later ones in its family.
    Families(&'static [u16]),
    /// The architecture-specific targets: the `a` variants of just these architectures.
    Architectures(&'static [u16]),
}

impl Targets {
    /// Whether the target is one of them.
    pub fn contain(self, target: Target) -> bool {
        let sm = target.sm();
        match self {
            Targets::All => true,
            Targets::From(least) => sm >= least,
            Targets::Only(one) => sm == one,
            Targets::Families(firsts) => {
                target.variant() != Variant::Baseline
                    && firsts.iter().any(|&first| follows_in_family(target, first))
            }
            Targets::Architectures(which) => target.variant() == Variant::Architecture && which.contains(&sm),
        }
    }
}

/// Whether the target is in the family of architecture `first`, and not older than it. sm_101 counts
/// as the sm_110 that it became.
fn follows_in_family(target: Target, first: u16) -> bool {
    let sm = target.renamed().map_or(target.sm(), |(_, now)| now.sm());
    target.family() == family_of(first) && sm >= first
}

/// Writes `sm_100, sm_103 and sm_107`.
fn list(f: &mut fmt::Formatter<'_>, architectures: &[u16]) -> fmt::Result {
    for (i, sm) in architectures.iter().enumerate() {
        let before = match i {
            0 => "",
            _ if i + 1 == architectures.len() => " and ",
            _ => ", ",
        };
        write!(f, "{before}sm_{sm}")?;
    }
    Ok(())
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Targets::All => write!(f, "every target"),
            Targets::From(least) => write!(f, "sm_{least} or newer"),
            Targets::Only(one) => write!(f, "sm_{one}"),
            Targets::Families(_) => {
                let mut known: Vec<u16> =
                    Target::all().filter(|target| self.contain(*target)).map(Target::sm).collect();
                known.dedup();
                write!(f, "the a and f variants of ")?;
                list(f, &known)
            }
            Targets::Architectures([one]) => write!(f, "sm_{one}a"),
            Targets::Architectures(which) => {
                write!(f, "the a variants of ")?;
                list(f, which)
            }
        }
    }
}

/// One way for something to be available: on one of these targets, from this PTX version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Availability {
    /// The targets that have it.
    pub targets: Targets,
    /// The PTX version that introduced it there. A target that is itself younger needs its own.
    pub since: Version,
}

impl Availability {
    /// The least version of a module that may use it on this target; `None` where no version may.
    pub fn min_version(self, target: Target) -> Option<Version> {
        let version = self.since.max(target.introduced());
        (self.targets.contain(target) && target.exists_in(version)).then_some(version)
    }
}

impl fmt::Display for Availability {
    /// In words: `sm_80 or newer, PTX 7.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, PTX {}", self.targets, self.since)
    }
}

/// The least version over several alternatives; `None` where none of them has the target.
pub fn min_version(alternatives: &[Availability], target: Target) -> Option<Version> {
    alternatives.iter().filter_map(|one| one.min_version(target)).min()
}

/// Several alternatives in words: `sm_89, PTX 8.1; sm_90 or newer, PTX 7.8`.
pub fn in_words(alternatives: &[Availability]) -> String {
    alternatives.iter().map(Availability::to_string).collect::<Vec<_>>().join("; ")
}
