//! Prints operations and functions as text.
//!
//! A line is an operation: its number, its guard, what it writes, its name, what it reads, and its immediate operands.
//! `r4` is a row of 32-bit words, `d4` one of 64-bit words, `p4` a predicate. `{:#}` prints all that can be read back
//! (`parse/`); `{}` leaves out tables beside the operations and shortens immediate operands.

use crate::alu::{Alu, AluOp, Immediate};
use crate::operand::List;
use crate::{Function, Op, Slot};
use std::fmt;

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.guard())?;
        match self {
            Op::Alu(alu) => alu.fmt(f),
            Op::Branch(_, target) => write!(f, "bra {target}"),
            Op::Other(_, step) => step.fmt(f),
        }
    }
}

impl fmt::Display for Alu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, d) in self.d.iter().enumerate() {
            write!(f, "{}{d}", if n == 0 { "" } else { ", " })?;
        }
        f.write_str(" = ")?;
        match &self.op {
            AluOp::Instruction(form, _) => f.write_str(&form.mnemonic())?,
            AluOp::Simple(simple) => write!(f, "{simple}")?,
        }
        let all = f.alternate();
        let mut list = List::behind_name(f);
        self.s.iter().try_for_each(|slot| list.item(&slot))?;
        match &self.op {
            AluOp::Instruction(_, Immediate::Lut(lut)) => list.item(&format_args!("{lut:#x}")),
            AluOp::Instruction(_, Immediate::Video(selectors)) if all || *selectors != Default::default() => {
                list.item(&format_args!("{selectors:?}"))
            }
            AluOp::Instruction(_, Immediate::Video(_) | Immediate::None) | AluOp::Simple(_) => Ok(()),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print_head(f)?;
        if f.alternate() {
            self.print_tables(f)?;
        }
        let width = self.ops.len().saturating_sub(1).to_string().len();
        for (n, op) in self.ops.iter().enumerate() {
            write!(f, "{n:width$}: ")?;
            fmt::Display::fmt(op, f)?;
            f.write_str("\n")?;
        }
        Ok(())
    }
}

/// Prints a line with a title and items, if there are any.
fn line(f: &mut impl fmt::Write, title: &str, items: &[String]) -> fmt::Result {
    if items.is_empty() { Ok(()) } else { writeln!(f, "{title}: {}", items.join(", ")) }
}

impl Function {
    /// Prints what a frame has, and what it holds before the first operation.
    pub fn print_head(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let Function { narrow, wide, predicates, local_bytes, parameter_bytes, .. } = self;
        writeln!(f, "rows: {narrow} of 32 bits, {wide} of 64 bits, {predicates} predicates")?;
        if *local_bytes + *parameter_bytes > 0 {
            writeln!(
                f,
                "memory per thread: {local_bytes} bytes local, {parameter_bytes} bytes of parameters"
            )?;
        }
        for (slot, value) in &self.narrow_constants {
            writeln!(f, "r{slot} = {value:#x}")?;
        }
        for (slot, value) in &self.wide_constants {
            writeln!(f, "d{slot} = {value:#x}")?;
        }
        for (slot, axis) in &self.start.of_cta {
            writeln!(f, "r{slot} = Ctaid({axis})")?;
        }
        for given in &self.start.given {
            writeln!(f, "{given}")?;
        }
        Ok(())
    }

    /// Prints the tables beside the operations.
    fn print_tables(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let narrow = self.shared_narrow.iter().map(|(slot, value)| format!("r{slot} = {value:#x}"));
        let wide = self.shared_wide.iter().map(|(slot, value)| format!("d{slot} = {value:#x}"));
        line(f, "shared", &narrow.chain(wide).collect::<Vec<_>>())?;
        if let Some([narrow, wide]) = &self.start.zeroed {
            let narrow = narrow.iter().map(|&row| Slot::narrow(row).to_string());
            let wide = wide.iter().map(|&row| Slot::wide(row).to_string());
            let all: Vec<String> = narrow.chain(wide).collect();
            if all.is_empty() { writeln!(f, "zeroed: none")? } else { line(f, "zeroed", &all)? }
        }
        let unread = self.forwarded.unread.iter().enumerate().filter(|(_, unread)| **unread);
        line(f, "unread", &unread.map(|(op, _)| op.to_string()).collect::<Vec<_>>())?;
        let given = self.forwarded.given.iter();
        let given = given.map(|one| format!("{} = {} of {}", one.op, one.row, one.register));
        line(f, "from launch", &given.collect::<Vec<_>>())?;
        let counts = (0..self.ops.len()).map(|op| (op, self.instructions_between(op, op + 1)));
        let counts = counts.filter(|(_, count)| *count != 1);
        line(f, "instructions", &counts.map(|(op, count)| format!("{op} = {count}")).collect::<Vec<_>>())
    }

    /// Whether the fast loop leaves an operation out: nothing reads its result.
    pub fn is_unread(&self, op: usize) -> bool {
        self.forwarded.unread.get(op).copied().unwrap_or(false)
    }
}
