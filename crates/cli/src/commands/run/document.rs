//! The JSON object that a run prints.
//!
//! Memory that is read back can be large: it is written as hexadecimal digits a piece at a time, never as one string.

use super::super::{CommandError, Printed, output};
use crate::run::data::digits;
use crate::run::{Run, RunError};
use serde_json::Value as Json;
use std::io::{self, Write};

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
    /// The contents of memories, by their names.
    Dumps(Vec<String>),
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
    pub fn add_dumps(&mut self, names: Vec<String>) {
        self.members.push(("dumps", Member::Dumps(names)));
    }

    /// Prints the object on one line.
    pub fn print(self, machine: &Run) -> Result<Printed, CommandError> {
        output::stdout(|out| self.write(machine, out))?;
        Ok(Printed { text: String::new(), failure: self.failure })
    }

    fn write(&self, machine: &Run, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"ok\":{}", self.ok)?;
        for (key, member) in &self.members {
            write!(out, ",\"{key}\":")?;
            match member {
                Member::Json(value) => serde_json::to_writer(&mut *out, value)?,
                Member::Dumps(names) => dumps(machine, names, out)?,
            }
        }
        writeln!(out, "}}")
    }
}

fn dumps(machine: &Run, names: &[String], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{")?;
    for (index, name) in names.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{}:\"", Json::from(name.as_str()))?;
        let memory = machine.memory(name).map_err(Unwritten::from)?;
        memory.pieces(|piece| out.write_all(digits(piece).as_bytes()).map_err(Unwritten))?;
        write!(out, "\"")?;
    }
    write!(out, "}}")
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
