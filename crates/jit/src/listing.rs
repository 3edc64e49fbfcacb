//! Machine code as text.

use crate::budget::{Budget, Limits};
use crate::code::emit;
use crate::emit::Part;
use crate::flow::Flow;
use crate::{Level, Shape};
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};
use softwarp_ir::Function;

/// A line of a listing.
#[derive(Clone, Debug)]
pub struct Line {
    /// What the instruction belongs to.
    pub part: Part,
    /// Its offset from the start of the code.
    pub offset: u64,
    /// How many bytes it takes.
    pub length: u64,
    /// The instruction, as the manuals of Intel write it.
    pub text: String,
}

/// The machine code of a function, instruction by instruction, whether this CPU can execute it or not. `None` if it
/// cannot be compiled.
pub fn listing(function: &Function, shape: Shape) -> Option<Vec<Line>> {
    let level = Level::current().unwrap_or(Level::Avx512);
    let budget = Budget::new(Limits::default(), function.ops.len());
    let flow = Flow::of(function, level, &budget).ok()?;
    lines(function, &flow, level, shape)
}

/// The same at a level.
pub(crate) fn lines(function: &Function, flow: &Flow, level: Level, shape: Shape) -> Option<Vec<Line>> {
    let (mut unit, ..) = emit(function, flow, level, (shape, true), true).ok()?;
    let starts: Vec<(u64, Part)> = unit.marks.iter().map(|&(start, part)| (start as u64, part)).collect();
    let mut formatter = IntelFormatter::new();
    let mut decoder = Decoder::new(64, unit.a.finish().ok()?, DecoderOptions::NONE);
    let mut lines = Vec::new();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let offset = instruction.ip();
        let at = starts.partition_point(|&(start, _)| start <= offset);
        let part = starts.get(at.wrapping_sub(1)).map_or(Part::Rest, |&(_, part)| part);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        lines.push(Line { part, offset, length: instruction.len() as u64, text });
    }
    Some(lines)
}
