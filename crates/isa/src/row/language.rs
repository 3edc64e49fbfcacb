//! The language in which the rows of the instruction table are written: the manual's syntax lines, with the
//! types of the operands added.
//!
//! ```text
//! setp.cmp.bool{.ftz}.f32          p_{|q_}, a, b, c:pred
//! ld{.weak}{.ss}{.cop}{.vec}.type  d*v:1~, [a]
//! mul.wide.type                    d:wide, a, b
//! ```
//!
//! The first word is the opcode. Of the others `.word` must stand and `{.word}` may; one that a section's sets name
//! stands for any member, and `.lo|hi` for either. The order is that of the manual; which other orders the assembler
//! takes is in `spelling.rs`.
//!
//! An operand is `name*count:type` and marks:
//!
//! - A name of `d`, `p` or `q` (or beginning with one and a digit) is a destination, any other a source.
//!   `+d` is both. `%a` is a register only; `#a` a constant only, with its range as `#a:0..15`.
//! - The type is `1`, `2`, …: the first or second type word of the mnemonic; `wide`: twice the first's width;
//!   or the name of a type. Without one it is the first type word.
//! - The count makes a vector: `*4`; `*v`: as many as `.v4` or `.x4` say, and no vector where neither stands;
//!   `*2v`: twice as many; `*1/2`: either, `*1!` with braces; `*n4`: a fourth of N in the shape `m64n128k16`. `*v!` is a vector even of
//!   one, with its braces. `*v?` is a vector of any size
//!   where no such word stands. `*i` are the offsets of an im2col copy; `*sm`, `*sc` and `*sd` are the metadata, the compressed and the dense
//!   elements of structured sparsity; `*o` and `*g` are the offsets and derivatives of a texture's geometry.
//! - Marks after the type: `~` wider registers too, unless a type word of the form is a format that no variable can
//!   have; `=` that very type, `#` any register of the size, `^` an address-sized register; `_` the sink `_` may stand,
//!   `&` a variable's address too, `$` a special register too, but not for a float.
//! - `@s` at the end: a byte or half of the register may be named (`a.b0`); `@h` and `@b` two halves or four bytes
//!   of a SIMD video instruction's sources, `@hw` and `@bw` those of its destination that are written; with `-`, a
//!   minus sign may stand.
//! - `d|p` is a pair of destinations, `d{|p}` one whose second may be missing. `{, c}` may be missing;
//!   `{, c?word}` stands exactly when that word does.
//! - `[a]` is an address in the mnemonic's first state space, `[b:2]` in its second, `[b:shared::cta]` in that
//!   one; without such a word, generic. `[tex c:2]`, `[surf c:s32]` are handles with coordinates, as many as
//!   the geometry word says; `[tex]`, `[surf]` and `[sampler]` are without; `[tensor]` is a tensor with coordinates;
//!   `[fabric]` is an endpoint with an offset, `[fabric::counted]` with that of a counter too.
//! - `label` and `call` are what they say; `_` is the sink and nothing else.

use super::TableRow;
use crate::mnemonic::{Modifier, Opcode, in_name};
use crate::operand::{self, Access, Fit, Forms, Selector};
use crate::{Class, Type};

/// One place for a word: any of these, or none if it is optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub choices: Vec<Modifier>,
    pub optional: bool,
}

impl Slot {
    /// The choice with this name.
    pub fn choice(&self, word: &str) -> Option<Modifier> {
        self.choices.iter().copied().find(|choice| choice.name() == word)
    }
}

/// A row, read.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub slots: Vec<Slot>,
    pub operands: Vec<Operand>,
    pub row: TableRow,
    /// How many of the slots are words of the assembler's name for it.
    pub named: usize,
}

/// An operand of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand {
    pub kind: Kind,
    pub presence: Presence,
}

/// When an operand stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Always,
    Optional,
    With(Modifier),
}

/// What stands for an operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Value(Value),
    Pair(Value, Value, bool),
    /// The part after the colon, if there is one.
    Address(&'static str, Option<&'static str>),
    Texture(Option<Value>),
    Surface(Option<Value>),
    Sampler,
    Tensor,
    /// Whether a counter follows.
    Fabric(bool),
    Immediate(&'static str, Option<(i64, i64)>),
    Label,
    Sink,
    Call,
}

/// A value operand as the row writes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub name: &'static str,
    pub register_only: bool,
    pub read_write: bool,
    pub count: Option<Count>,
    pub ty: Ty,
    pub fit: Mark,
    pub sink: bool,
    pub address: bool,
    pub special: bool,
    pub minus: bool,
    pub selector: Selector,
}

impl Value {
    /// Whether it is a destination, by its name.
    pub fn is_destination(&self) -> bool {
        let rest = self.name.strip_prefix(['d', 'p', 'q']);
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// What is done with it.
    pub fn access(&self) -> Access {
        match (self.read_write, self.is_destination()) {
            (true, _) => Access::ReadWrite,
            (false, true) => Access::Write,
            (false, false) => Access::Read,
        }
    }

    /// The value that it is in a form with these type words; `None` if the form lacks the one that it refers to.
    pub fn instantiate(&self, types: &[Type], access: Access) -> Option<operand::Value> {
        let ty = match self.ty {
            Ty::Word(index) => *types.get(index)?,
            Ty::Wide => twice_as_wide(*types.first()?)?,
            Ty::Fixed(ty) => ty,
        };
        let declarable = || types.iter().all(|ty| ty.is_fundamental());
        let fit = match (self.fit, self.ty) {
            (Mark::Wider, Ty::Fixed(_)) => Fit::Wider,
            (Mark::Wider, _) if declarable() => Fit::Wider,
            (Mark::Exact, _) => Fit::Exact,
            (Mark::Sized, _) => Fit::Sized,
            (Mark::AddressSized, _) => Fit::AddressSized,
            (_, Ty::Word(_) | Ty::Wide) => Fit::Typed,
            (_, Ty::Fixed(_)) => Fit::Fixed,
        };
        let source = access == Access::Read;
        // There are no constants of 16-bit floats and of packed types.
        let writable = ty.is_fundamental() && !matches!(ty, Type::F16 | Type::F16x2);
        Some(operand::Value {
            ty,
            fit,
            forms: Forms {
                register: true,
                immediate: source && writable && !self.register_only,
                address: self.address,
                special: self.special && ty.class() != Class::Float,
                negated: source && ty == Type::Pred,
                sink: self.sink,
                minus: self.minus,
                selector: self.selector,
            },
        })
    }
}

fn twice_as_wide(ty: Type) -> Option<Type> {
    Some(match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        _ => return None,
    })
}

/// Which registers the row lets stand beside those of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    /// `~`
    Wider,
    /// `=`
    Exact,
    /// `#`
    Sized,
    /// `^`
    AddressSized,
}

/// How many elements a vector has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Any of these; and whether a single value may stand without braces.
    Fixed { counts: Vec<u8>, bare: bool },
    /// That many times what `.v4` or `.x4` say; and whether one is a vector too.
    Words { times: u8, always: bool },
    /// What `.v4` says; without such a word a vector of any size, or no vector.
    Free,
    /// The N of the shape `m64n128k16`, divided by this.
    Columns { per: u8 },
    /// As many offsets in texels as the texture's geometry has.
    Offsets,
    /// As many offsets as a tensor copy in an im2col mode has.
    Im2col,
    /// As many derivatives as the texture's geometry has directions.
    Gradients,
    /// As many words as structured sparsity needs.
    Sparse(Sparse),
}

/// The operands of structured sparsity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sparse {
    Metadata,
    Compressed,
    Dense,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    /// The type word of this index.
    Word(usize),
    /// Twice the width of the first type word.
    Wide,
    Fixed(Type),
}

/// Why a line is no row. The lines are part of the program, so this is for its authors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{at}` in `{line}`")]
pub struct RowError {
    /// The row.
    pub line: &'static str,
    /// The part that cannot be read.
    pub at: &'static str,
}

/// The opcode of a row.
pub(crate) fn opcode(line: &'static str) -> &'static str {
    &line[..line.find(['.', '{', ' ']).unwrap_or(line.len())]
}

/// Reads a row.
pub(crate) fn parse(
    row: &TableRow,
    sets: &[&'static [(&'static str, &'static str)]],
) -> Result<Parsed, RowError> {
    let line = row.line;
    let error = |at| RowError { line, at };
    let (head, operands) = line.split_once(' ').unwrap_or((line, ""));
    let opcode = opcode(line);
    Opcode::from_name(opcode).ok_or(error(opcode))?;
    let slots = parse_words(&head[opcode.len()..], sets).map_err(error)?;
    let required = slots.iter().take_while(|slot| !slot.optional);
    let firsts: Vec<&str> =
        required.filter_map(|slot| slot.choices.first()).map(|word| word.name()).collect();
    Ok(Parsed {
        named: in_name(opcode, &firsts),
        slots,
        operands: parse_operands(operands.trim()).map_err(error)?,
        row: *row,
    })
}

fn choices(names: &'static str, sets: &[&'static [(&'static str, &'static str)]]) -> Option<Vec<Modifier>> {
    let mut words = Vec::new();
    for name in names.split('|') {
        let set = sets.iter().flat_map(|sets| sets.iter()).find(|(known, _)| *known == name);
        match set {
            Some((_, members)) => words.extend(members.split(' ')),
            None => words.push(name),
        }
    }
    words.into_iter().map(Modifier::from_name).collect()
}

fn parse_words(
    mut rest: &'static str,
    sets: &[&'static [(&'static str, &'static str)]],
) -> Result<Vec<Slot>, &'static str> {
    let mut slots = Vec::new();
    while !rest.is_empty() {
        let (names, optional, after) = if let Some(inner) = rest.strip_prefix("{.") {
            let (names, after) = inner.split_once('}').ok_or(rest)?;
            (names, true, after)
        } else {
            let inner = rest.strip_prefix('.').ok_or(rest)?;
            let end = inner.find(['.', '{']).unwrap_or(inner.len());
            (&inner[..end], false, &inner[end..])
        };
        if names.is_empty() {
            return Err(rest);
        }
        slots.push(Slot { choices: choices(names, sets).ok_or(names)?, optional });
        rest = after;
    }
    Ok(slots)
}

fn parse_operands(mut rest: &'static str) -> Result<Vec<Operand>, &'static str> {
    let mut operands = Vec::new();
    while !rest.is_empty() {
        let (text, optional, after) = if let Some(inner) = rest.strip_prefix("{,") {
            let end = inner.rfind_matching().ok_or(rest)?;
            (inner[..end].trim(), true, &inner[end + 1..])
        } else {
            let end = operand_end(rest);
            (rest[..end].trim(), false, &rest[end..])
        };
        let (text, word) = match text.split_once('?') {
            Some((text, word)) if optional && !text.is_empty() => (text, Some(word)),
            _ => (text, None),
        };
        let presence = match word {
            Some(word) => Presence::With(Modifier::from_name(word).ok_or(word)?),
            None if optional => Presence::Optional,
            None => Presence::Always,
        };
        operands.push(Operand { kind: parse_operand(text).ok_or(text)?, presence });
        // The comma before a mandatory operand; that of an optional one is inside its braces.
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Ok(operands)
}

/// Finds the brace that closes one already open.
trait Matching {
    fn rfind_matching(&self) -> Option<usize>;
}

impl Matching for str {
    fn rfind_matching(&self) -> Option<usize> {
        let mut depth = 1;
        for (at, byte) in self.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }
}

/// Where the first operand of a list ends: at a comma, or at the brace of an optional one.
fn operand_end(text: &str) -> usize {
    let optional = text.find("{,").unwrap_or(text.len());
    text.find(',').map_or(optional, |comma| comma.min(optional))
}

fn parse_operand(text: &'static str) -> Option<Kind> {
    match text {
        "label" => return Some(Kind::Label),
        "_" => return Some(Kind::Sink),
        "call" => return Some(Kind::Call),
        _ => {}
    }
    if let Some(inner) = text.strip_prefix('[') {
        return parse_address(inner.strip_suffix(']')?);
    }
    if let Some(inner) = text.strip_prefix('#') {
        let Some((name, range)) = inner.split_once(':') else { return Some(Kind::Immediate(inner, None)) };
        let (least, most) = range.split_once("..")?;
        return Some(Kind::Immediate(name, Some((least.parse().ok()?, most.parse().ok()?))));
    }
    if let Some((first, second)) = text.split_once("{|") {
        let second = parse_value(second.strip_suffix('}')?)?;
        return Some(Kind::Pair(parse_value(first)?, second, true));
    }
    if let Some((first, second)) = text.split_once('|') {
        return Some(Kind::Pair(parse_value(first)?, parse_value(second)?, false));
    }
    parse_value(text).map(Kind::Value)
}

fn parse_address(inner: &'static str) -> Option<Kind> {
    let (what, coordinates) = inner.split_once(' ').map_or((inner, None), |(what, rest)| (what, Some(rest)));
    let coordinates = match coordinates {
        Some(text) => Some(parse_value(text)?),
        None => None,
    };
    Some(match what {
        "tex" => Kind::Texture(coordinates),
        "surf" => Kind::Surface(coordinates),
        "sampler" => Kind::Sampler,
        "tensor" => Kind::Tensor,
        "fabric" => Kind::Fabric(false),
        "fabric::counted" => Kind::Fabric(true),
        _ => match what.split_once(':') {
            Some((name, space)) => Kind::Address(name, Some(space)),
            None => Kind::Address(what, None),
        },
    })
}

fn parse_value(text: &'static str) -> Option<Value> {
    let (register_only, text) = text.strip_prefix('%').map_or((false, text), |text| (true, text));
    let (read_write, text) = text.strip_prefix('+').map_or((false, text), |text| (true, text));
    let (text, part) = text.split_once('@').unwrap_or((text, ""));
    let (part, minus) = part.strip_suffix('-').map_or((part, false), |part| (part, true));
    let selector = parse_selector(part)?;
    let marks_at = text.find(['~', '=', '#', '^', '_', '&', '$']).unwrap_or(text.len());
    let (text, marks) = text.split_at(marks_at);
    let (text, ty) = match text.split_once(':') {
        Some((text, ty)) => (text, parse_type(ty)?),
        None => (text, Ty::Word(0)),
    };
    let (name, count) = match text.split_once('*') {
        Some((name, count)) => (name, Some(parse_count(count)?)),
        None => (text, None),
    };
    let mark = |mark: char| marks.contains(mark);
    let fits = [('~', Mark::Wider), ('=', Mark::Exact), ('#', Mark::Sized), ('^', Mark::AddressSized)];
    let fit = fits.into_iter().find(|(sign, _)| mark(*sign)).map_or(Mark::None, |(_, fit)| fit);
    (!name.is_empty()).then_some(Value {
        name,
        register_only,
        read_write,
        count,
        ty,
        fit,
        sink: mark('_'),
        address: mark('&'),
        special: mark('$'),
        minus,
        selector,
    })
}

fn parse_selector(text: &str) -> Option<Selector> {
    Some(match text {
        "" => Selector::No,
        "s" => Selector::Scalar,
        "h" => Selector::Halves,
        "b" => Selector::Bytes,
        "hw" => Selector::HalvesWritten,
        "bw" => Selector::BytesWritten,
        _ => return None,
    })
}

fn parse_type(text: &str) -> Option<Ty> {
    match text {
        "wide" => Some(Ty::Wide),
        "1" | "2" | "3" | "4" | "5" => text.parse::<usize>().ok().map(|index| Ty::Word(index - 1)),
        _ => Type::from_name(text).map(Ty::Fixed),
    }
}

fn parse_count(text: &str) -> Option<Count> {
    if let Some(per) = text.strip_prefix('n') {
        return per.parse().ok().filter(|per| *per > 0).map(|per| Count::Columns { per });
    }
    match text {
        "v?" => return Some(Count::Free),
        "i" => return Some(Count::Im2col),
        "o" => return Some(Count::Offsets),
        "g" => return Some(Count::Gradients),
        "sm" => return Some(Count::Sparse(Sparse::Metadata)),
        "sc" => return Some(Count::Sparse(Sparse::Compressed)),
        "sd" => return Some(Count::Sparse(Sparse::Dense)),
        _ => {}
    }
    let (text, always) = text.strip_suffix('!').map_or((text, false), |text| (text, true));
    if let Some(times) = text.strip_suffix('v') {
        let times = if times.is_empty() { 1 } else { times.parse().ok()? };
        return Some(Count::Words { times, always });
    }
    let counts = text.split('/').map(|count| count.parse().ok()).collect::<Option<Vec<u8>>>()?;
    Some(Count::Fixed { bare: counts.contains(&1) && !always, counts })
}
