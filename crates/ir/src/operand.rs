//! Operands: what has slots, how they are visited and how they are printed.

use crate::asynchronous::Choice;
use crate::matrix::{BlockScale, WgmmaFactor};
use crate::texture::{Detail, Handle};
use crate::{Address, Callee, Element, Guard, Slot, Slots};
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
        self != Role::Write
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
pub(crate) trait Operand {
    /// Shows each slot.
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part));

    /// Prints it, after a separator if something is printed.
    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result;
}

/// A list of operands while it is printed.
pub(crate) struct List<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    /// What stands before the first item.
    first: &'static str,
    /// Whether there is an item.
    pub(crate) any: bool,
}

impl<'a, 'b> List<'a, 'b> {
    /// A list behind a name.
    pub(crate) fn behind_name(out: &'a mut fmt::Formatter<'b>) -> List<'a, 'b> {
        List { out, first: " ", any: false }
    }

    /// A list at the start of a line.
    pub(crate) fn at_start(out: &'a mut fmt::Formatter<'b>) -> List<'a, 'b> {
        List { out, first: "", any: false }
    }

    /// Prints an item.
    pub(crate) fn item(&mut self, item: &dyn fmt::Display) -> fmt::Result {
        let separator = if std::mem::replace(&mut self.any, true) { ", " } else { self.first };
        write!(self.out, "{separator}{item}")
    }

    /// Prints an immediate operand, unless it is false, absent or empty.
    pub(crate) fn immediate(&mut self, name: &str, value: &dyn fmt::Debug) -> fmt::Result {
        let text = format!("{value:?}");
        match text.as_str() {
            "false" | "None" | "[]" | "weak" => Ok(()),
            "true" => self.item(&name),
            _ => {
                let mut short = String::new();
                // A layout is a table of some hundred numbers.
                for (n, c) in text.chars().enumerate() {
                    if n == MOST_IMMEDIATE {
                        short.push('…');
                        break;
                    }
                    short.push(c);
                }
                self.item(&format_args!("{name}={short}"))
            }
        }
    }
}

/// The most characters of an immediate operand that are printed.
const MOST_IMMEDIATE: usize = 120;

impl Operand for Slot {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        f(self, Part::Value);
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        out.item(self)
    }
}

impl Operand for Guard {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Some(mut slot) = self.predicate() {
            f(&mut slot, Part::Value);
            *self = Guard::new(slot, self.is_negated());
        }
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self.predicate() {
            None => Ok(()),
            Some(slot) if self.is_negated() => out.item(&format_args!("!{slot}")),
            Some(slot) => out.item(&slot),
        }
    }
}

impl fmt::Display for Address {
    /// `[global d4+8]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.memory.name())?;
        match (self.base, self.offset) {
            (None, offset) => write!(f, " {offset:#x}")?,
            (Some(base), 0) => write!(f, " {base}")?,
            (Some(base), offset) if offset < 0 => write!(f, " {base}-{}", offset.unsigned_abs())?,
            (Some(base), offset) => write!(f, " {base}+{offset}")?,
        }
        f.write_char(']')
    }
}

impl Operand for Address {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Some(base) = &mut self.base {
            f(base, Part::Base);
        }
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        out.item(self)
    }
}

impl Operand for Element {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.slot.visit(f);
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self.slot {
            None => out.item(&"_"),
            // The row says whether a register has 32 or 64 bits.
            Some(slot) if matches!(self.bits, 32 | 64) => out.item(&slot),
            Some(slot) => out.item(&format_args!("{slot}:{}", self.bits)),
        }
    }
}

impl Operand for Handle {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Handle::Register(slot) = self {
            f(slot, Part::Value);
        }
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self {
            Handle::Known(handle) => out.item(&format_args!("{handle:#x}")),
            Handle::Register(slot) => out.item(slot),
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

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self {
            Detail::Base => Ok(()),
            Detail::Level(slot) => out.item(&format_args!("level {slot}")),
            Detail::Gradient([x, y]) => out.item(&format_args!("gradient {x:?} {y:?}")),
        }
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

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self {
            Choice::All => Ok(()),
            Choice::Size(slot) => slot.print(out),
            Choice::Ignore(guard) => guard.print(out),
        }
    }
}

impl Operand for BlockScale {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        [&mut self.data, &mut self.byte, &mut self.thread].into_iter().for_each(|slot| f(slot, Part::Value));
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        out.item(&format_args!("{} {{{}, {}}}", self.data, self.byte, self.thread))
    }
}

impl Operand for WgmmaFactor {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        match self {
            WgmmaFactor::Registers(slots) => slots.visit(f),
            WgmmaFactor::Descriptor(slot) => f(slot, Part::Value),
        }
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self {
            WgmmaFactor::Registers(slots) => slots.print(out),
            WgmmaFactor::Descriptor(slot) => slot.print(out),
        }
    }
}

impl Operand for Callee {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Callee::Indirect(slot) = self {
            f(slot, Part::Value);
        }
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self {
            Callee::Direct(function) => out.item(&format_args!("function {function}")),
            Callee::Indirect(slot) => out.item(slot),
            Callee::Provided(provided) => out.item(&format_args!("{provided:?}")),
        }
    }
}

impl<T: Operand> Operand for Option<T> {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Some(operand) = self {
            operand.visit(f);
        }
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        self.as_ref().map_or(Ok(()), |operand| operand.print(out))
    }
}

impl<T: Operand> Operand for Vec<T> {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.iter_mut().for_each(|operand| operand.visit(f));
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        self.iter().try_for_each(|operand| operand.print(out))
    }
}

impl<T: Operand, const N: usize> Operand for [T; N] {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.iter_mut().for_each(|operand| operand.visit(f));
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        self.iter().try_for_each(|operand| operand.print(out))
    }
}

impl<const N: usize> Operand for Slots<N> {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        self.iter_mut().for_each(|slot| f(slot, Part::Value));
    }

    fn print(&self, out: &mut List<'_, '_>) -> fmt::Result {
        self.iter().try_for_each(|slot| slot.print(out))
    }
}
