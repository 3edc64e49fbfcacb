//! `--jit` and `lower --asm`: compiled code.

use softwarp::image::Image;
use softwarp::ir::{Function, Program};
use softwarp::jit::{Line, Part, Shape, listing};
use softwarp::vm::device::Jit;
use std::fmt::Write;
use std::iter::Peekable;
use std::vec::IntoIter;

/// When kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// The interpreter runs everything
    Off,
    /// Before they run
    On,
    /// When they have run for long enough that it pays
    Auto,
}

impl When {
    /// As a launch has it.
    pub fn jit(self) -> Jit {
        match self {
            When::Off => Jit::Off,
            When::On => Jit::On,
            When::Auto => Jit::Auto,
        }
    }
}

/// The lines of one part of a listing, from the next on.
fn part(text: &mut String, lines: &mut Peekable<IntoIter<Line>>, of: Part) {
    while let Some(line) = lines.next_if(|line| line.part == of) {
        let _ = writeln!(text, "    {:6x}  {}", line.offset, line.text);
    }
}

/// The machine code of the functions of a program, beside their operations.
pub fn print(text: &mut String, image: &Image, program: &Program, block: [u32; 3]) {
    for function in &program.functions {
        let is = image.function(function.function);
        let word = if is.entry { ".entry" } else { ".func" };
        let _ = writeln!(text, "{word} {}", is.name);
        let Some(lines) = listing(function, Shape::of(block)) else {
            let _ = writeln!(text, "not compiled: the interpreter runs it\n");
            continue;
        };
        let _ = writeln!(text, "{} bytes", lines.last().map_or(0, |line| line.offset));
        let mut lines = lines.into_iter().peekable();
        while let Some(next) = lines.peek().map(|line| line.part) {
            head(text, function, next);
            part(text, &mut lines, next);
        }
        text.push('\n');
    }
}

/// What a part is.
fn head(text: &mut String, function: &Function, part: Part) {
    let operation = |op: u32| function.ops.get(op as usize).map_or_else(String::new, ToString::to_string);
    let _ = match part {
        Part::Frame => writeln!(text, "entry and exit"),
        Part::Uniform(op) => writeln!(text, "{op}: {}", operation(op)),
        Part::Masked(op) => writeln!(text, "{op}, some lanes: {}", operation(op)),
        Part::Rest => writeln!(text, "entries of blocks, exits, rare cases"),
    };
}
