//! Video instructions (PTX ISA section 9.7.18): their operands can be parts of registers. [`softwarp_units::alu::video`] says
//! how its loops take that.

use crate::builder::{Builder, Lowered, because};
use crate::form::Form;
use crate::operand::{Destination, Gathered};
use softwarp_check::Reference;
use softwarp_ir::{AluOp, Immediate, Slot};
use softwarp_isa::Type;
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::alu::video::{self, Part, Selectors};

impl<'a> Builder<'_, 'a> {
    /// `vadd.s32.u32.s32 d.b0, a.h1, -b, c`, `vadd4.u32.u32.u32 d.b10, a.b7531, b, c`
    pub fn video(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let mut gathered = Gathered::default();
        let mut selectors = [None; 3];
        let mut negations = [false; 3];
        let elements = form.instruction.opcode.video_elements().unwrap_or(1);
        for (n, index) in self.places(operands).enumerate() {
            let (index, negated) = match self.operand(index).kind {
                OperandKind::Negated(parts) => (parts.start, true),
                _ => (index, false),
            };
            match (self.selector(index), selectors.get_mut(n)) {
                (None, _) => {}
                (selector, Some(place)) => *place = selector,
                (Some(selector), None) => return because(format!("with the selector `.{selector}`")),
            }
            match (n, negated) {
                (_, false) => {}
                (1..=3, true) if elements == 1 => negations[n - 1] = true,
                _ => return because("with such a negated operand"),
            }
            match n {
                0 => gathered.write(self.whole_destination(index)?)?,
                _ => gathered.read(self.whole_source(index)?)?,
            }
        }
        let mut immediate = Immediate::None;
        let [d, a, b] = selectors;
        if elements == 1 {
            let parts = [part(d)?, part(a)?, part(b)?];
            immediate = Immediate::Video(Selectors { parts, negated: negations });
        } else if selectors != [None; 3] {
            let Some(word) = video::selectors(elements, d, a, b) else {
                return because("with such selectors");
            };
            gathered.read(self.narrow_constant(word))?;
        }
        self.emit(AluOp::Instruction(form.instruction.clone(), immediate), gathered)
    }

    /// What follows the dot of an operand, if it selects parts of a register.
    fn selector(&self, index: u32) -> Option<&'a str> {
        match (self.operand(index).kind, self.reference(index)) {
            (OperandKind::Member(_, member), Reference::Variable(id, _)) if self.variable(id).vector <= 1 => {
                Some(self.of.module.name(member))
            }
            _ => None,
        }
    }

    /// A source, all of its register.
    fn whole_source(&mut self, index: u32) -> Lowered<Slot> {
        match self.whole_register(index)? {
            Some(slot) => Ok(slot),
            None => self.source(index, Type::B32),
        }
    }

    fn whole_destination(&mut self, index: u32) -> Lowered<Destination> {
        match self.whole_register(index)? {
            Some(slot) => Ok(Destination::plain(slot)),
            None => self.destination(index, Type::B32),
        }
    }

    fn whole_register(&mut self, index: u32) -> Lowered<Option<Slot>> {
        match (self.selector(index), self.reference(index)) {
            (Some(_), Reference::Variable(id, member)) if self.is_register(id) => {
                Ok(Some(self.register(id, member, 0)?.id))
            }
            _ => Ok(None),
        }
    }
}

/// The part of a register that a selector names.
fn part(selector: Option<&str>) -> Lowered<Part> {
    let Some(name) = selector else { return Ok(Part::All) };
    match Part::from_name(name) {
        Some(part) => Ok(part),
        None => because(format!("with the selector `.{name}`")),
    }
}
