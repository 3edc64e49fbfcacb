//! The language in which the instruction table is written: the manual's own syntax lines.
//!
//! PTX ISA chapter 9 opens each instruction with lines such as
//!
//! ```text
//! cvt.frnd2{.relu}{.scaled::n2::ue8m0}.s2f6x2.f32   d, a, b{, scale-factor}
//! ```
//!
//! and so does our table. A pattern is
//!
//! - an opcode;
//! - words, each after a dot: `.word` must stand, `{.word}` may. A word that a [`Legend`] knows as a
//!   set stands for any one of its members (`frnd2` for `rn` or `rz`), any other for itself;
//! - after white space, operands with commas between: a name, or a braced vector of names
//!   `{a, b, e, f}`. An optional operand `{, name}` stands exactly when one of the words stands that,
//!   by the legend, call for it.
//!
//! [`Pattern::parse`] reads a line, [`Pattern::expand`] writes out every spelling it covers. The order
//! of the words is that of the line; which other orders a reader accepts is the reader's business.

use std::fmt;

/// What the names in a group of patterns mean.
#[derive(Clone, Copy, Debug)]
pub struct Legend {
    /// Names of sets, each with its members separated by spaces.
    pub sets: &'static [(&'static str, &'static str)],
    /// Optional operands, each with the words (separated by spaces) that call for it.
    pub calls: &'static [(&'static str, &'static str)],
}

/// One place for a word: any of these, or none if it is optional.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slot {
    choices: Vec<&'static str>,
    optional: bool,
}

/// One operand of an instruction: a single name, or several in braces. An instruction that knows its
/// operands has a type of its own for their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand<N = &'static str> {
    /// `a`
    Single(N),
    /// `{a, b, e, f}`
    Vector(Vec<N>),
}

impl<N> Operand<N> {
    /// The names in it.
    pub fn names(&self) -> &[N] {
        match self {
            Operand::Single(name) => std::slice::from_ref(name),
            Operand::Vector(names) => names,
        }
    }

    /// The same shape with other names, if there is one for each.
    pub fn try_map<M>(&self, name: impl Fn(&N) -> Option<M>) -> Option<Operand<M>> {
        match self {
            Operand::Single(one) => name(one).map(Operand::Single),
            Operand::Vector(names) => names.iter().map(name).collect::<Option<_>>().map(Operand::Vector),
        }
    }
}

impl<N: fmt::Display> fmt::Display for Operand<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Single(name) => name.fmt(f),
            Operand::Vector(names) => {
                f.write_str("{")?;
                for (i, name) in names.iter().enumerate() {
                    write!(f, "{}{name}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// A syntax line, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The first word, to which no dot belongs.
    pub opcode: &'static str,
    slots: Vec<Slot>,
    operands: Vec<(Operand, When)>,
}

/// When an operand stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// When one of these words does.
    With(Vec<&'static str>),
}

/// One spelling that a pattern covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The words after the opcode, in the line's order.
    pub words: Vec<&'static str>,
    /// The operands that stand with them.
    pub operands: Vec<Operand>,
}

/// Why a line is no pattern. The lines are part of the program, so this is for its authors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// There is no white space with operands after it.
    NoOperands,
    /// A word does not start with a dot, or an opening brace has no closing one.
    Malformed(&'static str),
    /// No word calls for this optional operand.
    Uncalled(&'static str),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::NoOperands => write!(f, "no operands"),
            PatternError::Malformed(rest) => write!(f, "cannot read on at `{rest}`"),
            PatternError::Uncalled(name) => write!(f, "nothing calls for the optional operand `{name}`"),
        }
    }
}

impl std::error::Error for PatternError {}

fn look_up(entries: &[(&'static str, &'static str)], name: &str) -> Option<Vec<&'static str>> {
    let (_, members) = entries.iter().find(|(known, _)| *known == name)?;
    Some(members.split_whitespace().collect())
}

impl Pattern {
    /// Reads a syntax line.
    pub fn parse(line: &'static str, legend: &Legend) -> Result<Pattern, PatternError> {
        let (head, operands) = line.trim().split_once(char::is_whitespace).ok_or(PatternError::NoOperands)?;
        let opcode_end = head.find(['.', '{']).unwrap_or(head.len());
        let (opcode, words) = head.split_at(opcode_end);
        Ok(Pattern {
            opcode,
            slots: parse_words(words, legend)?,
            operands: parse_operands(operands.trim(), legend)?,
        })
    }

    /// Every spelling that the pattern covers. Earlier words vary slowest, and an optional word is
    /// absent before it is present.
    pub fn expand(&self) -> Vec<Expansion> {
        let mut spellings: Vec<Vec<&'static str>> = vec![Vec::new()];
        for slot in &self.slots {
            let absent = slot.optional.then_some(None);
            let choices: Vec<Option<&'static str>> =
                absent.into_iter().chain(slot.choices.iter().copied().map(Some)).collect();
            spellings = spellings
                .iter()
                .flat_map(|words| {
                    choices.iter().map(move |choice| words.iter().copied().chain(*choice).collect())
                })
                .collect();
        }
        spellings.into_iter().map(|words| self.with_operands(words)).collect()
    }

    fn with_operands(&self, words: Vec<&'static str>) -> Expansion {
        let stands = |when: &When| match when {
            When::Always => true,
            When::With(callers) => callers.iter().any(|caller| words.contains(caller)),
        };
        let operands = self
            .operands
            .iter()
            .filter(|(_, when)| stands(when))
            .map(|(operand, _)| operand.clone())
            .collect();
        Expansion { words, operands }
    }
}

fn parse_words(mut rest: &'static str, legend: &Legend) -> Result<Vec<Slot>, PatternError> {
    let mut slots = Vec::new();
    while !rest.is_empty() {
        let malformed = PatternError::Malformed(rest);
        let (name, optional, after) = if let Some(inner) = rest.strip_prefix("{.") {
            let (name, after) = inner.split_once('}').ok_or(malformed.clone())?;
            (name, true, after)
        } else {
            let inner = rest.strip_prefix('.').ok_or(malformed.clone())?;
            let end = inner.find(['.', '{']).unwrap_or(inner.len());
            let (name, after) = inner.split_at(end);
            (name, false, after)
        };
        if name.is_empty() {
            return Err(malformed);
        }
        slots.push(Slot { choices: look_up(legend.sets, name).unwrap_or_else(|| vec![name]), optional });
        rest = after;
    }
    Ok(slots)
}

fn parse_operands(mut rest: &'static str, legend: &Legend) -> Result<Vec<(Operand, When)>, PatternError> {
    let mut operands = Vec::new();
    while !rest.is_empty() {
        let malformed = PatternError::Malformed(rest);
        if let Some(inner) = rest.strip_prefix("{,") {
            let (name, after) = inner.split_once('}').ok_or(malformed)?;
            let name = name.trim();
            let callers = look_up(legend.calls, name).ok_or(PatternError::Uncalled(name))?;
            operands.push((Operand::Single(name), When::With(callers)));
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('{') {
            let (names, after) = inner.split_once('}').ok_or(malformed)?;
            operands.push((Operand::Vector(names.split(',').map(str::trim).collect()), When::Always));
            rest = after;
        } else {
            let end = rest.find([',', '{']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.trim().is_empty() {
                return Err(malformed);
            }
            operands.push((Operand::Single(name.trim()), When::Always));
            rest = after;
        }
        // The comma before a mandatory operand; that of an optional one is inside its braces.
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Ok(operands)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEGEND: Legend =
        Legend { sets: &[("rnd", "rn rz"), ("ty", "f16 f32")], calls: &[("s", "scaled::n1 scaled::n2")] };

    fn spellings(line: &'static str) -> Vec<String> {
        let pattern = Pattern::parse(line, &LEGEND).unwrap();
        let write = |e: &Expansion| {
            let operands: Vec<String> = e.operands.iter().map(Operand::to_string).collect();
            format!("{}.{} {}", pattern.opcode, e.words.join("."), operands.join(", "))
        };
        pattern.expand().iter().map(write).collect()
    }

    #[test]
    fn sets_and_optional_words_multiply() {
        assert_eq!(
            spellings("op.rnd{.ftz}.f64 d, a"),
            ["op.rn.f64 d, a", "op.rn.ftz.f64 d, a", "op.rz.f64 d, a", "op.rz.ftz.f64 d, a"]
        );
        assert_eq!(spellings("op{.rnd}.f16 d, a"), ["op.f16 d, a", "op.rn.f16 d, a", "op.rz.f16 d, a"]);
        assert_eq!(spellings("op.ty.ty d, a").len(), 4);
    }

    #[test]
    fn an_optional_operand_follows_its_word() {
        assert_eq!(
            spellings("op{.scaled::n1}.b8 d, {a, b}, c{, s}"),
            ["op.b8 d, {a, b}, c", "op.scaled::n1.b8 d, {a, b}, c, s"]
        );
    }

    #[test]
    fn bad_lines_are_errors() {
        let error = |line| Pattern::parse(line, &LEGEND).unwrap_err();
        assert_eq!(error("op.f16"), PatternError::NoOperands);
        assert_eq!(error("op{.f16 d"), PatternError::Malformed("{.f16"));
        assert_eq!(error("op.rn..f16 d"), PatternError::Malformed("..f16"));
        assert_eq!(error("op.f16 d, , a"), PatternError::Malformed(", a"));
        assert_eq!(error("op.f16 d{, z}"), PatternError::Uncalled("z"));
    }
}
