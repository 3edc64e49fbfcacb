//! Prints operations and functions as text.
//!
//! A line is an operation: its number, its guard, what it writes, its name, what it reads, and its immediate operands.
//! `r4` is a row of 32-bit words, `d4` one of 64-bit words, `p4` a predicate.

use crate::alu::{Alu, AluOp, Immediate};
use crate::operand::{List, Operand};
use crate::{Function, Op};
use std::fmt;

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.guard())?;
        match self {
            Op::Alu(alu) => alu.fmt(f),
            Op::Branch(_, target) => write!(f, "bra {target}"),
            Op::Other(_, step) => write!(f, "{step}"),
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
        let mut list = List::behind_name(f);
        self.s.print(&mut list)?;
        match &self.op {
            AluOp::Instruction(_, Immediate::Lut(lut)) => list.item(&format_args!("{lut:#x}")),
            AluOp::Instruction(_, Immediate::Video(selectors)) if *selectors != Default::default() => {
                list.item(&format_args!("{selectors:?}"))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print_head(f)?;
        let width = self.ops.len().saturating_sub(1).to_string().len();
        for (n, op) in self.ops.iter().enumerate() {
            writeln!(f, "{n:width$}: {op}")?;
        }
        Ok(())
    }
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

    /// Whether the fast loop leaves an operation out: nothing reads its result.
    pub fn is_unread(&self, op: usize) -> bool {
        self.forwarded.unread.get(op).copied().unwrap_or(false)
    }
}
