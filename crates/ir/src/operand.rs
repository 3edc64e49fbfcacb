//! Operands: what has slots, how they are visited, printed and parsed.
//!
//! An operand is one item of the text, whatever it has inside: a slot `r4`, an address `[global d4+8]`, a list
//! `{r4, r5}` (of one operand, that operand alone), or `_` where it is absent. Operands that are absent after all others
//! are left out.

use crate::asynchronous::Choice;
use crate::immediate::Immediate;
use crate::input::{Input, Parsed};
use crate::matrix::{BlockScale, WgmmaFactor};
use crate::texture::{Detail, Handle};
use crate::{Address, Callee, Element, Guard, Memory, Slot, Slots};
use std::fmt::{self, Write};

/// What an operation does with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is read as the base of an address.
    Address,
    /// It is read.
    Read,
    /// It is written, in those lanes that pass the guard.
    Write,
}

impl Role {
    /// Whether the slot is read.
    pub fn is_read(self) -> bool {
        match self {
            Role::Read | Role::Address => true,
            Role::Write => false,
        }
    }
}

/// What a slot is to its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The base of an address.
    Base,
    /// A value.
    Value,
}

impl Part {
    /// The role of a part of an operand that is read.
    pub(crate) fn read(self) -> Role {
        match self {
            Part::Base => Role::Address,
            Part::Value => Role::Read,
        }
    }
}

/// An operand that has slots.
pub(crate) trait Operand: Sized {
    /// Shows each slot.
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part));

    /// Whether it is absent.
    fn is_absent(&self) -> bool {
        false
    }

    /// What it is where it is absent, if it may be.
    fn absent() -> Option<Self> {
        None
    }

    /// Prints it as one item.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Reads it.
    fn parse(input: &mut Input<'_>) -> Parsed<Self>;
}

/// An operand as an item of a list.
struct Item<'a, T>(&'a T);

impl<T: Operand> fmt::Display for Item<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_absent() { f.write_char('_') } else { self.0.fmt(f) }
    }
}

/// A list of operands while it is printed.
pub(crate) struct List<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    /// What stands before the first item.
    first: &'static str,
    /// Whether there is an item.
    pub(crate) any: bool,
    /// Operands that are absent, before the next one that is not.
    absent: usize,
}

impl<'a, 'b> List<'a, 'b> {
    /// A list behind a name.
    pub(crate) fn behind_name(out: &'a mut fmt::Formatter<'b>) -> List<'a, 'b> {
        List { out, first: " ", any: false, absent: 0 }
    }

    /// A list at the start of a line.
    pub(crate) fn at_start(out: &'a mut fmt::Formatter<'b>) -> List<'a, 'b> {
        List { out, first: "", any: false, absent: 0 }
    }

    /// Prints an item.
    pub(crate) fn item(&mut self, item: &dyn fmt::Display) -> fmt::Result {
        let separator = if std::mem::replace(&mut self.any, true) { ", " } else { self.first };
        write!(self.out, "{separator}{item}")
    }

    /// Prints an operand.
    pub(crate) fn operand(&mut self, operand: &impl Operand) -> fmt::Result {
        if operand.is_absent() {
            self.absent += 1;
            return Ok(());
        }
        for _ in 0..std::mem::take(&mut self.absent) {
            self.item(&'_')?;
        }
        self.item(&Item(operand))
    }

    /// Prints an immediate operand, unless it is false, absent or empty; in the short form at most a line of it.
    pub(crate) fn immediate(&mut self, name: &str, value: &impl Immediate) -> fmt::Result {
        let text = format!("{value:?}");
        match text.as_str() {
            "false" | "None" | "[]" | "weak" => Ok(()),
            "true" => self.item(&name),
            _ if self.out.alternate() || text.chars().count() <= MOST_IMMEDIATE => {
                self.item(&format_args!("{name}={text}"))
            }
            // A layout is a table of some hundred numbers.
            _ => {
                let short: String = text.chars().take(MOST_IMMEDIATE).collect();
                self.item(&format_args!("{name}={short}…"))
            }
        }
    }
}

/// The most characters of an immediate operand in the short form.
const MOST_IMMEDIATE: usize = 120;

/// Reads operands in braces.
fn parse_braces<T: Operand>(input: &mut Input<'_>) -> Parsed<Vec<T>> {
    let mut list = Vec::new();
    input.expect("{")?;
    while !input.eat("}") {
        if !list.is_empty() {
            input.expect(",")?;
        }
        list.push(match T::absent() {
            Some(absent) if input.eat_absent() => absent,
            _ => T::parse(input)?,
        });
    }
    Ok(list)
}

/// Prints operands in braces.
fn print_braces<'a, T: Operand + 'a>(
    f: &mut fmt::Formatter<'_>,
    list: impl Iterator<Item = &'a T>,
) -> fmt::Result {
    f.write_char('{')?;
    for (n, one) in list.enumerate() {
        write!(f, "{}{}", if n == 0 { "" } else { ", " }, Item(one))?;
    }
    f.write_char('}')
}

impl Operand for Slot {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        f(self, Part::Value);
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Slot> {
        input.slot()
    }
}

impl Operand for Guard {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Some(mut slot) = self.predicate() {
            f(&mut slot, Part::Value);
            *self = Guard::new(slot, self.is_negated());
        }
    }

    fn is_absent(&self) -> bool {
        self.predicate().is_none()
    }

    fn absent() -> Option<Guard> {
        Some(Guard::ALWAYS)
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.predicate() {
            None => f.write_char('_'),
            Some(slot) if self.is_negated() => write!(f, "!{slot}"),
            Some(slot) => write!(f, "{slot}"),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Guard> {
        let negated = input.eat("!");
        let start = input.clone();
        let slot = input.slot()?;
        if slot.class() != crate::Class::Predicate {
            return Err(start.error("a predicate was expected"));
        }
        Ok(Guard::new(slot, negated))
    }
}

impl fmt::Display for Address {
    /// `[global d4+8]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.memory.name())?;
        match (self.base, self.offset) {
            (None, offset) if offset < 0 => write!(f, " -{:#x}", offset.unsigned_abs())?,
            (None, offset) => write!(f, " {offset:#x}")?,
            (Some(base), 0) => write!(f, " {base}")?,
            (Some(base), offset) if offset < 0 => write!(f, " {base}-{}", offset.unsigned_abs())?,
            (Some(base), offset) => write!(f, " {base}+{offset}")?,
        }
        f.write_char(']')
    }
}

/// An offset after a base: `+8`, `-8`, or nothing.
fn parse_offset(input: &mut Input<'_>) -> Parsed<i64> {
    if input.eat("+") {
        return input.number();
    }
    if input.rest().starts_with('-') { input.number() } else { Ok(0) }
}

impl Operand for Address {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Some(base) = &mut self.base {
            f(base, Part::Base);
        }
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Address> {
        input.expect("[")?;
        let start = input.clone();
        let name = input.name()?;
        let Some(memory) = Memory::ALL.into_iter().find(|memory| memory.name() == name) else {
            return Err(start.error(format!("`{name}` is no memory")));
        };
        let base = if input.is_at_slot() { Some(input.slot()?) } else { None };
        let offset = if base.is_some() { parse_offset(input)? } else { input.number()? };
        input.expect("]")?;
        Ok(Address { memory, base, offset, named: None })
    }
}

impl Operand for Element {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.slot.visit(f);
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            None => write!(f, "_:{}", self.bits),
            // The row says whether a register has 32 or 64 bits.
            Some(slot) if self.bits == if slot.is_wide() { 64 } else { 32 } => write!(f, "{slot}"),
            Some(slot) => write!(f, "{slot}:{}", self.bits),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Element> {
        let slot = if input.eat_word("_") { None } else { Some(input.slot()?) };
        let start = input.clone();
        let bits = match slot {
            Some(slot) if !input.rest().starts_with(':') => {
                if slot.is_wide() {
                    64
                } else {
                    32
                }
            }
            _ => {
                input.expect(":")?;
                input.number()?
            }
        };
        match bits {
            8 | 16 | 32 | 64 | 128 => Ok(Element { slot, bits }),
            _ => Err(start.error("a register has 8, 16, 32, 64 or 128 bits")),
        }
    }
}

impl Operand for Handle {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Handle::Register(slot) = self {
            f(slot, Part::Value);
        }
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Handle::Known(handle) => write!(f, "{handle:#x}"),
            Handle::Register(slot) => write!(f, "{slot}"),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Handle> {
        match input.is_at_slot() {
            true => input.slot().map(Handle::Register),
            false => input.number().map(Handle::Known),
        }
    }
}

impl Operand for Detail {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        match self {
            Detail::Base => {}
            Detail::Level(slot) => f(slot, Part::Value),
            Detail::Gradient(both) => both.iter_mut().flatten().for_each(|slot| f(slot, Part::Value)),
        }
    }

    fn is_absent(&self) -> bool {
        matches!(self, Detail::Base)
    }

    fn absent() -> Option<Detail> {
        Some(Detail::Base)
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::Base => f.write_char('_'),
            Detail::Level(slot) => write!(f, "level({slot})"),
            Detail::Gradient([x, y]) => {
                f.write_str("gradient(")?;
                print_braces(f, x.iter())?;
                f.write_str(", ")?;
                print_braces(f, y.iter())?;
                f.write_char(')')
            }
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Detail> {
        if input.eat_word("level") {
            input.expect("(")?;
            let slot = input.slot()?;
            input.expect(")")?;
            return Ok(Detail::Level(slot));
        }
        input.expect("gradient")?;
        input.expect("(")?;
        let x = parse_braces(input)?;
        input.expect(",")?;
        let y = parse_braces(input)?;
        input.expect(")")?;
        Ok(Detail::Gradient([x, y]))
    }
}

impl Operand for Choice {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        match self {
            Choice::All => {}
            Choice::Size(slot) => f(slot, Part::Value),
            Choice::Ignore(guard) => guard.visit(f),
        }
    }

    fn is_absent(&self) -> bool {
        matches!(self, Choice::All)
    }

    fn absent() -> Option<Choice> {
        Some(Choice::All)
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::All => f.write_char('_'),
            Choice::Size(slot) => write!(f, "{slot}"),
            Choice::Ignore(guard) => write!(f, "ignore({})", Item(guard)),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Choice> {
        if !input.eat_word("ignore") {
            return input.slot().map(Choice::Size);
        }
        input.expect("(")?;
        let guard = if input.eat_word("_") { Guard::ALWAYS } else { Guard::parse(input)? };
        input.expect(")")?;
        Ok(Choice::Ignore(guard))
    }
}

impl Operand for BlockScale {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        [&mut self.data, &mut self.byte, &mut self.thread].into_iter().for_each(|slot| f(slot, Part::Value));
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_braces(f, [&self.data, &self.byte, &self.thread].into_iter())
    }

    fn parse(input: &mut Input<'_>) -> Parsed<BlockScale> {
        let [data, byte, thread] = <[Slot; 3]>::parse(input)?;
        Ok(BlockScale { data, byte, thread })
    }
}

impl Operand for WgmmaFactor {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        match self {
            WgmmaFactor::Registers(slots) => slots.visit(f),
            WgmmaFactor::Descriptor(slot) => f(slot, Part::Value),
        }
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WgmmaFactor::Registers(slots) => print_braces(f, slots.iter()),
            WgmmaFactor::Descriptor(slot) => write!(f, "{slot}"),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<WgmmaFactor> {
        match input.rest().starts_with('{') {
            true => parse_braces(input).map(WgmmaFactor::Registers),
            false => input.slot().map(WgmmaFactor::Descriptor),
        }
    }
}

impl Operand for Callee {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Callee::Indirect(slot) = self {
            f(slot, Part::Value);
        }
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Callee::Direct(function) => write!(f, "function({function})"),
            Callee::Indirect(slot) => write!(f, "{slot}"),
            Callee::Provided(provided) => write!(f, "{provided:?}"),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Callee> {
        if input.is_at_slot() {
            return input.slot().map(Callee::Indirect);
        }
        if !input.eat_word("function") {
            return Immediate::parse(input).map(Callee::Provided);
        }
        input.expect("(")?;
        let function = input.number()?;
        input.expect(")")?;
        Ok(Callee::Direct(function))
    }
}

impl<T: Operand> Operand for Option<T> {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Some(operand) = self {
            operand.visit(f);
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().map_or(Ok(()), |operand| operand.fmt(f))
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Option<T>> {
        T::parse(input).map(Some)
    }
}

impl<T: Operand> Operand for Vec<T> {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.iter_mut().for_each(|operand| operand.visit(f));
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn absent() -> Option<Vec<T>> {
        Some(Vec::new())
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self[..] {
            [one] if !one.is_absent() => one.fmt(f),
            all => print_braces(f, all.iter()),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Vec<T>> {
        match input.rest().starts_with('{') {
            true => parse_braces(input),
            false => T::parse(input).map(|one| vec![one]),
        }
    }
}

impl<T: Operand, const N: usize> Operand for [T; N] {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.iter_mut().for_each(|operand| operand.visit(f));
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_braces(f, self.iter())
    }

    fn parse(input: &mut Input<'_>) -> Parsed<[T; N]> {
        let start = input.clone();
        let list = parse_braces(input)?;
        list.try_into().map_err(|_| start.error(format!("{N} operands were expected in braces")))
    }
}

impl<const N: usize> Operand for Slots<N> {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.iter_mut().for_each(|slot| f(slot, Part::Value));
    }

    fn is_absent(&self) -> bool {
        self.count() == 0
    }

    fn absent() -> Option<Slots<N>> {
        Some(Slots::default())
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().collect::<Vec<Slot>>().fmt(f)
    }

    fn parse(input: &mut Input<'_>) -> Parsed<Slots<N>> {
        let start = input.clone();
        let list = Vec::<Slot>::parse(input)?;
        if list.len() > N {
            return Err(start.error(format!("there are at most {N} operands")));
        }
        Ok(Slots::of(&list))
    }
}
