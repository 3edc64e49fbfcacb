//! The modifiers of `cvt`: the dotted words that are not types.
//!
//! PTX ISA section 9.7.10.24 (`cvt`). What they do to numbers is [`softwarp_num::Conversion`]'s to say.

use softwarp_num::Rounding;

/// A modifier of `cvt`. Their order is the order in which a canonical spelling has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // The table documents each.
pub enum Modifier {
    Rn,
    Rna,
    Rz,
    Rm,
    Rp,
    Rs,
    Rni,
    Rzi,
    Rmi,
    Rpi,
    Ftz,
    Sat,
    Relu,
    Satfinite,
    Pzo,
    ScaledN1,
    ScaledN2,
}

/// Which modifiers exclude each other by their very nature: a spelling has at most one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModifierKind {
    /// How to round to a format of floating-point numbers (`.rn`, …).
    FloatRounding,
    /// How to round to an integral number (`.rni`, …).
    IntegerRounding,
    /// A scale operand (`.scaled::…`).
    Scale,
    /// Anything else; such a modifier excludes nothing but itself.
    Flag,
}

use ModifierKind::{Flag, FloatRounding, IntegerRounding, Scale};

/// One row per modifier, in their order: name, kind, what it does.
#[rustfmt::skip]
const ROWS: [(&str, ModifierKind, &str); Modifier::COUNT] = [
    ("rn",                FloatRounding,   "round to nearest, ties to even"),
    ("rna",               FloatRounding,   "round to nearest, ties away from zero"),
    ("rz",                FloatRounding,   "round toward zero"),
    ("rm",                FloatRounding,   "round down"),
    ("rp",                FloatRounding,   "round up"),
    ("rs",                FloatRounding,   "round stochastically, with given random bits"),
    ("rni",               IntegerRounding, "round to the nearest integer, ties to even"),
    ("rzi",               IntegerRounding, "round to an integer toward zero"),
    ("rmi",               IntegerRounding, "round down to an integer"),
    ("rpi",               IntegerRounding, "round up to an integer"),
    ("ftz",               Flag,            "flush f32 subnormals to zero"),
    ("sat",               Flag,            "clamp integers to the destination's range, floats to 0 through 1"),
    ("relu",              Flag,            "make negative results zero"),
    ("satfinite",         Flag,            "make what is too large the largest finite number"),
    ("pzo",               Flag,            "make zeros positive"),
    ("scaled::n1::ue8m0", Scale,           "one scale for all elements"),
    ("scaled::n2::ue8m0", Scale,           "a scale for each of two elements"),
];

impl Modifier {
    const COUNT: usize = Modifier::ScaledN2 as usize + 1;

    /// Every modifier, in canonical order.
    #[rustfmt::skip]
    pub const ALL: [Modifier; Modifier::COUNT] = [
        Modifier::Rn, Modifier::Rna, Modifier::Rz, Modifier::Rm, Modifier::Rp, Modifier::Rs,
        Modifier::Rni, Modifier::Rzi, Modifier::Rmi, Modifier::Rpi,
        Modifier::Ftz, Modifier::Sat, Modifier::Relu, Modifier::Satfinite, Modifier::Pzo,
        Modifier::ScaledN1, Modifier::ScaledN2,
    ];

    /// The name, without its dot.
    pub const fn name(self) -> &'static str {
        ROWS[self as usize].0
    }

    /// Which others it excludes.
    pub const fn kind(self) -> ModifierKind {
        ROWS[self as usize].1
    }

    /// What it does, in a few words.
    pub const fn about(self) -> &'static str {
        ROWS[self as usize].2
    }

    /// Finds a modifier by its name, without its dot.
    pub fn from_name(name: &str) -> Option<Modifier> {
        Modifier::ALL.into_iter().find(|modifier| modifier.name() == name)
    }

    /// The rounding it asks for, if it is one of the roundings.
    pub const fn rounding(self) -> Option<Rounding> {
        match self {
            Modifier::Rn | Modifier::Rni => Some(Rounding::NearestEven),
            Modifier::Rna => Some(Rounding::NearestAway),
            Modifier::Rz | Modifier::Rzi => Some(Rounding::TowardZero),
            Modifier::Rm | Modifier::Rmi => Some(Rounding::Down),
            Modifier::Rp | Modifier::Rpi => Some(Rounding::Up),
            Modifier::Rs => Some(Rounding::Stochastic),
            _ => None,
        }
    }
}

impl std::fmt::Display for Modifier {
    /// With its dot: `.rn`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A set of modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Modifiers(u32);

impl Modifiers {
    /// The empty set.
    pub const NONE: Modifiers = Modifiers(0);

    /// Whether the modifier is in it.
    pub const fn has(self, modifier: Modifier) -> bool {
        self.0 & (1 << modifier as u32) != 0
    }

    /// The set with the modifier.
    #[must_use]
    pub const fn with(self, modifier: Modifier) -> Modifiers {
        Modifiers(self.0 | 1 << modifier as u32)
    }

    /// The modifiers in canonical order.
    pub fn iter(self) -> impl Iterator<Item = Modifier> {
        Modifier::ALL.into_iter().filter(move |modifier| self.has(*modifier))
    }

    /// The first rounding in it.
    pub fn rounding(self) -> Option<Modifier> {
        self.iter().find(|modifier| modifier.rounding().is_some())
    }
}

impl FromIterator<Modifier> for Modifiers {
    fn from_iter<I: IntoIterator<Item = Modifier>>(modifiers: I) -> Modifiers {
        modifiers.into_iter().fold(Modifiers::NONE, Modifiers::with)
    }
}

impl std::fmt::Debug for Modifiers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.iter().try_for_each(|modifier| write!(f, "{modifier}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_follows_the_enum() {
        for (i, modifier) in Modifier::ALL.into_iter().enumerate() {
            assert_eq!(modifier as usize, i);
            assert_eq!(Modifier::from_name(modifier.name()), Some(modifier));
            assert!(!modifier.about().is_empty());
            let rounds = matches!(modifier.kind(), FloatRounding | IntegerRounding);
            assert_eq!(rounds, modifier.rounding().is_some());
        }
    }
}
