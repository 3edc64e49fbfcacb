//! What is wrong with a spelling of `cvt`: data, and one line of words for it.
//!
//! `cvt/diagnose.rs` finds the problems; rendering them against a source file is for the crates above.

use std::fmt;
use std::ops::Range;

use super::{CvtForm, Modifier, ModifierKind, Opcode};
use crate::{Class, Type};

/// Why a spelling is no form of `cvt` or `cvt.pack`: all that is wrong with it, and what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// What is wrong, in the order in which one would put it right. Never empty.
    pub problems: Vec<Problem>,
    /// The legal forms nearest to the spelling: one if it is clear what was meant, a few if several
    /// are equally near, none if nothing is.
    pub nearest: Vec<CvtForm>,
}

/// One thing that is wrong with a spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub kind: ProblemKind,
    /// Where it is: bytes of the spelling. For something missing, the word that calls for it.
    pub span: Range<usize>,
    /// What could stand there instead, without dots; empty if nothing could or anything might.
    pub legal: Vec<String>,
}

/// The kinds of problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// There is no word at all.
    Empty,
    /// Two dots with nothing between, or a dot at the end.
    StrayDot,
    /// A word that is neither a modifier nor a type.
    UnknownName {
        /// The word.
        name: String,
        /// The known word it looks like.
        nearest: Option<&'static str>,
    },
    /// A modifier that stands twice.
    Duplicate {
        /// The modifier.
        modifier: Modifier,
    },
    /// `.pack` elsewhere than right after `cvt`.
    MisplacedPack,
    /// Fewer types than a destination and a source.
    MissingType {
        /// How many types were found.
        found: usize,
    },
    /// More types than the instruction takes.
    ExtraType {
        /// The first one too many.
        ty: Type,
    },
    /// A type that the instruction does not convert, as it stands.
    NotConverted {
        /// The instruction.
        opcode: Opcode,
        /// The type.
        ty: Type,
    },
    /// Types that the instruction knows, but not together.
    NoConversion {
        /// The instruction.
        opcode: Opcode,
        /// Its type words.
        types: Vec<Type>,
    },
    /// A rounding must be given.
    MissingRounding {
        /// The destination type.
        to: Type,
        /// The source type.
        from: Type,
    },
    /// A rounding may be given, but not this one.
    WrongRounding {
        /// The rounding.
        rounding: Modifier,
        /// The destination type.
        to: Type,
        /// The source type.
        from: Type,
    },
    /// No rounding may be given, for nothing is rounded.
    NeedlessRounding {
        /// The rounding.
        rounding: Modifier,
        /// The destination type.
        to: Type,
        /// The source type.
        from: Type,
    },
    /// A modifier that this conversion never has.
    Illegal {
        /// The modifier.
        modifier: Modifier,
        /// The destination type.
        to: Type,
        /// The source type.
        from: Type,
    },
    /// A modifier that this conversion always has.
    Required {
        /// The modifier.
        modifier: Modifier,
        /// The instruction.
        opcode: Opcode,
        /// The destination type.
        to: Type,
    },
    /// Two modifiers that exclude each other, here or always.
    Conflict {
        /// The one.
        first: Modifier,
        /// The other.
        second: Modifier,
    },
    /// Modifiers, one or two, that stand only with another.
    Needs {
        /// The modifiers.
        modifiers: Vec<Modifier>,
        /// What they need.
        other: Modifier,
    },
    /// Each two of the modifiers go together, but not all of them.
    Combination,
}

impl ProblemKind {
    /// The stable code of the problem.
    pub fn code(&self) -> &'static str {
        match self {
            ProblemKind::Empty => "cvt-empty",
            ProblemKind::StrayDot => "cvt-stray-dot",
            ProblemKind::UnknownName { .. } => "cvt-unknown-name",
            ProblemKind::Duplicate { .. } => "cvt-duplicate-modifier",
            ProblemKind::MisplacedPack => "cvt-misplaced-pack",
            ProblemKind::MissingType { .. } => "cvt-missing-type",
            ProblemKind::ExtraType { .. } => "cvt-extra-type",
            ProblemKind::NotConverted { .. } => "cvt-type-not-converted",
            ProblemKind::NoConversion { .. } => "cvt-no-conversion",
            ProblemKind::MissingRounding { .. } => "cvt-missing-rounding",
            ProblemKind::WrongRounding { .. } => "cvt-wrong-rounding",
            ProblemKind::NeedlessRounding { .. } => "cvt-needless-rounding",
            ProblemKind::Illegal { .. } => "cvt-illegal-modifier",
            ProblemKind::Required { .. } => "cvt-missing-modifier",
            ProblemKind::Conflict { .. } => "cvt-modifier-conflict",
            ProblemKind::Needs { .. } => "cvt-modifier-needs-other",
            ProblemKind::Combination => "cvt-no-such-combination",
        }
    }
}

impl FormError {
    /// The stable code of the first problem.
    pub fn code(&self) -> &'static str {
        self.problems.first().map_or("cvt-empty", |problem| problem.kind.code())
    }
}

impl fmt::Display for FormError {
    /// One line: the problems, then the nearest legal form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if i == 0 { "" } else { "; " })?;
        }
        match self.nearest.as_slice() {
            [] => Ok(()),
            [one] => write!(f, "; did you mean {one}?"),
            [first, ..] => write!(f, "; for example {first}"),
        }
    }
}

impl std::error::Error for FormError {}

/// Writes `.a`, `.a or .b`, `one of .a, .b, .c`.
fn one_of(names: &[String]) -> String {
    match names {
        [first, second] => format!(".{first} or .{second}"),
        [_, _, ..] => format!("one of .{}", names.join(", .")),
        _ => format!(".{}", names.concat()),
    }
}

/// The name with its article, as it is spoken: `a u8`, `an s8`, `an f16`.
fn a(ty: Type) -> String {
    let article = if ty.name().starts_with(['s', 'f', 'e']) { "an" } else { "a" };
    format!("{article} {ty}")
}

/// A word as it may be shown: on one line, and not at any length.
fn shown(word: &str) -> String {
    const LONGEST: usize = 32;
    let mut text: String = word.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if word.chars().nth(LONGEST).is_some() {
        text.push('…');
    }
    text
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let legal = || one_of(&self.legal);
        match &self.kind {
            ProblemKind::Empty => write!(f, "nothing to convert: write a form such as cvt.rn.f16.f32"),
            ProblemKind::StrayDot => write!(f, "a dot with no name after it"),
            ProblemKind::UnknownName { name, nearest: Some(nearest) } => {
                write!(f, "`.{}` is neither a modifier nor a type of cvt; `.{nearest}` is", shown(name))
            }
            ProblemKind::UnknownName { name, nearest: None } => {
                write!(f, "`.{}` is neither a modifier nor a type of cvt", shown(name))
            }
            ProblemKind::Duplicate { modifier } => write!(f, "`{modifier}` stands twice"),
            ProblemKind::MisplacedPack => write!(f, "`.pack` must follow `cvt` directly"),
            ProblemKind::MissingType { found: 0 } => {
                write!(f, "the types are missing: a destination, then a source")
            }
            ProblemKind::MissingType { .. } => {
                write!(f, "a type is missing: there must be a destination and a source")
            }
            ProblemKind::ExtraType { ty } => write!(f, "`.{ty}` is one type too many"),
            ProblemKind::NotConverted { opcode, ty } => {
                write!(f, "{} does not take `.{ty}`", opcode.name())?;
                match self.legal.is_empty() {
                    true => Ok(()),
                    false => write!(f, ", but {}", legal()),
                }
            }
            ProblemKind::NoConversion { opcode, types } => no_conversion(f, *opcode, types, &self.legal),
            ProblemKind::MissingRounding { to, from } => {
                write!(f, "{to} from {from} needs a rounding: {}", legal())
            }
            ProblemKind::WrongRounding { rounding, to, from } => {
                match (rounding.kind(), to.class()) {
                    (ModifierKind::FloatRounding, Class::Signed | Class::Unsigned) => {
                        write!(f, "`{rounding}` rounds to a floating-point format; float to integer")?;
                    }
                    (ModifierKind::IntegerRounding, Class::Float | Class::Fixed) => {
                        write!(f, "`{rounding}` rounds to an integral number; {to} from {from}")?;
                    }
                    _ => write!(f, "`{rounding}` is not for {to} from {from}, which")?,
                }
                write!(f, " needs {}", legal())
            }
            ProblemKind::NeedlessRounding { rounding, to, from } if to.is_int() && from.is_int() => {
                write!(f, "`{rounding}` has nothing to round: both {to} and {from} are integers")
            }
            ProblemKind::NeedlessRounding { rounding, to, from } => {
                write!(f, "`{rounding}` has nothing to round: every {from} is {}", a(*to))
            }
            ProblemKind::Illegal { modifier, to, from } => illegal(f, *modifier, *to, *from, &self.legal),
            ProblemKind::Required { modifier, opcode: Opcode::CvtPack, .. } => {
                write!(f, "`{modifier}` is required for cvt.pack")
            }
            ProblemKind::Required { modifier, to, .. } => write!(f, "`{modifier}` is required for `{to}`"),
            ProblemKind::Conflict { first, second } => {
                write!(f, "`{first}` and `{second}` do not go together")
            }
            ProblemKind::Needs { modifiers, other } => {
                for (i, modifier) in modifiers.iter().enumerate() {
                    write!(f, "{}`{modifier}`", if i == 0 { "" } else { " with " })?;
                }
                write!(f, " needs `{other}` here")
            }
            ProblemKind::Combination => write!(f, "these modifiers do not go together"),
        }
    }
}

fn no_conversion(
    f: &mut fmt::Formatter<'_>,
    opcode: Opcode,
    types: &[Type],
    legal: &[String],
) -> fmt::Result {
    match (opcode, types) {
        (Opcode::Cvt, [to, from]) if legal.is_empty() => {
            write!(f, "there is no conversion from {from} to {to}; nothing converts from {from}")
        }
        (Opcode::Cvt, [to, from]) => {
            write!(f, "there is no conversion from {from} to {to}; {from} converts to {}", legal.join(", "))
        }
        _ => {
            let words: String = types.iter().map(|ty| format!(".{ty}")).collect();
            write!(f, "{} does not take `{words}`, but {}", opcode.name(), one_of(legal))
        }
    }
}

/// Says why a modifier is illegal; `legal` are the flags that this conversion takes.
fn illegal(
    f: &mut fmt::Formatter<'_>,
    modifier: Modifier,
    to: Type,
    from: Type,
    legal: &[String],
) -> fmt::Result {
    let unsigned = to.packed().is_some_and(|packed| !packed.element.is_signed());
    let to_float = to.class() == Class::Float;
    match modifier {
        Modifier::Sat if to.is_int() && from.is_int() => {
            write!(f, "`.sat` has nothing to clamp: every {from} is {}", a(to))
        }
        Modifier::Sat => write!(f, "`.sat` is for integers, f16, f32 and f64, not for {to} from {from}"),
        Modifier::Ftz if to != Type::F32 && from != Type::F32 => {
            write!(f, "`.ftz` flushes f32 subnormals, and neither {to} nor {from} is f32")
        }
        Modifier::Relu if to_float && unsigned => {
            write!(f, "`.relu` has nothing to do: {to} has no negative numbers")
        }
        Modifier::Relu | Modifier::Satfinite | Modifier::Pzo if to.is_int() => {
            write!(f, "`{modifier}` is for floating-point destinations, not for {to}")
        }
        _ => {
            let other_scale =
                |name: &&String| modifier.kind() == ModifierKind::Scale && name.starts_with("scaled");
            write!(f, "`{modifier}` does not apply to {to} from {from}")?;
            match legal.iter().find(other_scale) {
                Some(other) => write!(f, ", which takes `.{other}`"),
                None => Ok(()),
            }
        }
    }
}
