//! Runs one form on rows of values, with the loops of all levels that the CPU has.

use softwarp_isa::instruction::{InstructionForm, resolve};
use softwarp_units::alu::select_levels;
use softwarp_units::alu::{AluLoop, Inst};
use softwarp_units::lanes::{ALL, Frame, LANES, Row};

/// An operation of 32 lanes at a time. Sources are in slots 0 to 4, in rows of both widths; results in slot 5.
pub struct Operation {
    compiled: Vec<AluLoop>,
    extra: u32,
    frame: Frame,
}

/// The slots of a predicate that is a source, of p and of q.
const C: u32 = 1;
const P: u32 = 2;
const Q: u32 = 3;
const D: u32 = 5;

impl Operation {
    /// The form with this spelling.
    pub fn new(form: &str) -> Operation {
        let (compiled, extra) = select_levels(&shape(form)).unwrap_or_else(|| panic!("{form} has no loop"));
        let frame = Frame {
            narrow: vec![Row([0; LANES]); 6],
            wide: vec![Row([0; LANES]); 6],
            predicates: vec![0; 4],
        };
        Operation { compiled: compiled.available(), extra, frame }
    }

    /// Puts values into a source.
    pub fn set(&mut self, source: usize, values: &[u64; LANES]) {
        self.frame.wide[source] = Row(*values);
        self.frame.narrow[source] = Row(values.map(|value| value as u32));
    }

    fn run(&mut self, d: &[u32], s: &[u32]) {
        let mut before: Option<Frame> = None;
        for &alu_loop in &self.compiled {
            let inst = Inst::new((alu_loop, self.extra), d, s);
            alu_loop.run(&mut self.frame, &inst, ALL);
            let of = |frame: &Frame| (frame.narrow.clone(), frame.wide.clone(), frame.predicates.clone());
            if let Some(before) = before {
                assert!(of(&before) == of(&self.frame), "levels differ");
            }
            before = Some(self.frame.clone());
        }
    }

    /// The results, in a row of 64-bit words or of 32-bit ones; a predicate, if given, is the last source.
    pub fn values(&mut self, wide: bool, sources: usize, predicate: Option<u32>) -> [u64; LANES] {
        let slots = self.sources(sources, predicate);
        self.run(&[D], &slots);
        if wide { self.frame.wide[D as usize].0 } else { self.frame.narrow[D as usize].0.map(u64::from) }
    }

    /// The predicates p and, if both are wanted, q.
    #[allow(dead_code)] // Not all tests are about comparisons.
    pub fn predicates(&mut self, sources: usize, predicate: Option<u32>, both: bool) -> [u32; 2] {
        let slots = self.sources(sources, predicate);
        self.run(if both { &[P, Q] } else { &[P] }, &slots);
        [P, Q].map(|slot| self.frame.predicates[slot as usize])
    }

    fn sources(&mut self, count: usize, predicate: Option<u32>) -> Vec<u32> {
        let mut slots: Vec<u32> = (0..count as u32).collect();
        if let Some(lanes) = predicate {
            self.frame.predicates[C as usize] = lanes;
            slots.push(C);
        }
        slots
    }
}

/// What a spelling means.
fn shape(form: &str) -> InstructionForm {
    let mut words = form.split('.');
    let opcode = words.next().unwrap_or_default();
    match resolve(opcode, &words.collect::<Vec<_>>()) {
        Ok(shape) => *shape,
        other => panic!("{form}: {other:?}"),
    }
}
