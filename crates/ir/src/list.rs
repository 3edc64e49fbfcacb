//! Lists of operands while they are parsed: operands by place, then immediate operands by name.

use crate::immediate::Immediate;
use crate::input::{Input, Parsed};
use crate::operand::Operand;

/// Operands, one for each field.
pub(crate) struct Operands<'a, 'b> {
    input: &'b mut Input<'a>,
    /// The names of immediate operands, which follow all others.
    names: &'static [&'static str],
    first: bool,
}

impl<'a, 'b> Operands<'a, 'b> {
    pub(crate) fn new(input: &'b mut Input<'a>, names: &'static [&'static str]) -> Operands<'a, 'b> {
        Operands { input, names, first: true }
    }

    /// Whether an operand comes next, after its comma.
    fn is_next(&mut self) -> bool {
        let mut ahead = self.input.clone();
        if !self.first && !ahead.eat(",") || ahead.is_at_end() {
            return false;
        }
        let word = ahead.peek_word();
        let is_name = self.names.contains(&word) && !word.is_empty();
        !is_name
    }

    /// The next operand. One that is absent may be left out after all others, and is `_` otherwise.
    pub(crate) fn next<T: Operand>(&mut self) -> Parsed<T> {
        let absent = T::absent();
        if !self.is_next() {
            return absent.ok_or_else(|| self.input.error("an operand is missing"));
        }
        if !std::mem::take(&mut self.first) {
            self.input.expect(",")?;
        }
        match absent {
            Some(absent) if self.input.eat_absent() => Ok(absent),
            _ => T::parse(self.input),
        }
    }

    /// The immediate operands, which come next.
    pub(crate) fn named(self) -> Parsed<Immediates<'a>> {
        let mut list = Vec::new();
        let mut first = self.first;
        while !self.input.is_at_end() {
            if !std::mem::take(&mut first) {
                self.input.expect(",")?;
            }
            let at = self.input.clone();
            let name = self.input.word()?;
            if !self.names.contains(&name) {
                return Err(at.error(format!("the operation has no immediate operand `{name}`")));
            }
            let value = if self.input.eat("=") {
                let value = self.input.clone();
                self.input.skip_value()?;
                Some(value)
            } else {
                None
            };
            list.push((name, at, value));
        }
        Ok(Immediates { list, end: self.input.clone() })
    }
}

/// Immediate operands: each with its name, where it stands, and its value; without one it is true.
pub(crate) struct Immediates<'a> {
    list: Vec<(&'a str, Input<'a>, Option<Input<'a>>)>,
    end: Input<'a>,
}

impl Immediates<'_> {
    /// The immediate operand of a name.
    pub(crate) fn take<T: Immediate>(&mut self, name: &str) -> Parsed<T> {
        let Some(at) = self.list.iter().position(|(other, ..)| *other == name) else {
            return T::absent().ok_or_else(|| self.end.error(format!("`{name}=` is missing")));
        };
        match self.list.remove(at) {
            (_, _, Some(mut value)) => T::parse(&mut value),
            (_, place, None) => T::set().ok_or_else(|| place.error(format!("`{name}` has no value"))),
        }
    }

    /// At the end: there are no other operands.
    pub(crate) fn finish(self) -> Parsed<()> {
        match self.list.first() {
            Some((name, at, _)) => Err(at.error(format!("`{name}` stands twice"))),
            None => Ok(()),
        }
    }
}
