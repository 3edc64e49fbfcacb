//! What a run prints: a JSON object, or a table for people.
//!
//! Memory that is read back can be large: it is written a piece at a time, never as one string.

use super::super::{CommandError, Printed, output};
use super::table;
use crate::bytes::to_hex;
use crate::run::elements::{self, Elements};
use crate::run::{Memories, RunError};
use serde_json::Value as Json;
use softwarp::num::Format;
use std::io::{self, IsTerminal, Write};

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Style {
    /// A short table of what memories hold
    Text,
    /// One object
    Json,
}

impl Style {
    /// As asked for; else for people on a terminal, and for programs elsewhere.
    pub fn wanted(asked: Option<Style>) -> Style {
        asked.unwrap_or(if io::stdout().is_terminal() { Style::Text } else { Style::Json })
    }
}

/// Memory that is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// A buffer, variable or surface.
    pub name: String,
    /// The array that it is, if that is known.
    pub elements: Option<Elements>,
    /// Programs get numbers, not digits.
    pub numbers: bool,
}

/// The members of the object, in order, and the verdict.
#[derive(Debug)]
pub struct Document {
    /// Whether all is well: the first member.
    pub ok: bool,
    members: Vec<(&'static str, Member)>,
    /// The verdict, if it is bad.
    pub failure: Option<CommandError>,
}

#[derive(Debug)]
enum Member {
    Json(Json),
    /// What memories hold.
    Dumps(Vec<Shown>),
}

impl Document {
    /// An object without members but `ok`.
    pub fn new(ok: bool) -> Document {
        Document { ok, members: Vec::new(), failure: None }
    }

    /// Adds a member.
    pub fn add(&mut self, key: &'static str, value: Json) {
        self.members.push((key, Member::Json(value)));
    }

    /// Adds what memories hold.
    pub fn add_dumps(&mut self, shown: Vec<Shown>) {
        self.members.push(("dumps", Member::Dumps(shown)));
    }

    /// Prints the object on one line, or tables.
    pub fn print(self, machine: &dyn Memories, style: Style) -> Result<Printed, CommandError> {
        output::stdout(|out| match style {
            Style::Json => self.write(machine, out),
            Style::Text => self.tables(machine, out),
        })?;
        Ok(Printed { text: String::new(), failure: self.failure })
    }

    fn write(&self, machine: &dyn Memories, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"ok\":{}", self.ok)?;
        for (key, member) in &self.members {
            write!(out, ",\"{key}\":")?;
            match member {
                Member::Json(value) => serde_json::to_writer(&mut *out, value)?,
                Member::Dumps(shown) => dumps(machine, shown, out)?,
            }
        }
        writeln!(out, "}}")
    }

    /// What memories hold; if that is nothing, that all is well. The rest was told on standard error.
    fn tables(&self, machine: &dyn Memories, out: &mut dyn Write) -> io::Result<()> {
        let checked = self.members.iter().any(|(key, _)| *key == "differences");
        let is_dump = |member: &Member| matches!(member, Member::Dumps(shown) if !shown.is_empty());
        if self.ok && checked {
            writeln!(out, "ok: the results are as expected")?;
        } else if self.ok && !self.members.iter().any(|(_, member)| is_dump(member)) {
            writeln!(out, "ok")?;
        }
        let mut shown = self.members.iter().flat_map(|(_, member)| match member {
            Member::Dumps(shown) => shown.as_slice(),
            Member::Json(_) => &[],
        });
        shown.try_for_each(|one| {
            let memory = machine.memory(&one.name).map_err(Unwritten::from)?;
            out.write_all(table::table(one, &memory).map_err(Unwritten::from)?.as_bytes())
        })
    }
}

fn dumps(machine: &dyn Memories, shown: &[Shown], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{")?;
    for (index, Shown { name, elements, numbers }) in shown.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{}:", Json::from(name.as_str()))?;
        let memory = machine.memory(name).map_err(Unwritten::from)?;
        match elements {
            Some(Elements { format: Some(format), shape, .. }) if *numbers => {
                let mut list = List { format: *format, shape, at: 0 };
                memory.pieces(|piece| list.write(piece, out).map_err(Unwritten))?;
                if list.at == 0 {
                    write!(out, "[]")?;
                }
            }
            _ => {
                write!(out, "\"")?;
                memory.pieces(|piece| out.write_all(to_hex(piece).as_bytes()).map_err(Unwritten))?;
                write!(out, "\"")?;
            }
        }
    }
    write!(out, "}}")
}

/// Numbers as lists in lists.
struct List<'a> {
    format: Format,
    shape: &'a [usize],
    /// How many are written.
    at: usize,
}

impl List<'_> {
    /// Writes the next numbers.
    fn write(&mut self, piece: &[u8], out: &mut dyn Write) -> io::Result<()> {
        for code in elements::codes(self.format, piece) {
            // Along the last axes from each on.
            let blocks =
                (0..self.shape.len()).map(|axis| self.shape[axis..].iter().product::<usize>().max(1));
            let begins = blocks.clone().filter(|block| self.at.is_multiple_of(*block)).count();
            let ends = blocks.filter(|block| (self.at + 1).is_multiple_of(*block)).count();
            let comma = if self.at == 0 { "" } else { "," };
            let number = table::json_number(self.format, code);
            write!(out, "{comma}{}{number}{}", "[".repeat(begins), "]".repeat(ends))?;
            self.at += 1;
        }
        Ok(())
    }
}

/// Why memory was not written: it could not be read, or not be written.
#[derive(Debug)]
pub struct Unwritten(pub io::Error);

impl From<RunError> for Unwritten {
    fn from(error: RunError) -> Unwritten {
        Unwritten(io::Error::other(error.to_string()))
    }
}

impl From<Unwritten> for io::Error {
    fn from(error: Unwritten) -> io::Error {
        error.0
    }
}
