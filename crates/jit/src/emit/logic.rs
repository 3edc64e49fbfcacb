//! Bitwise functions of three rows.

use super::{Emitted, Emitter, Vector, ZMM, vector3};
use crate::classes::Class;
use crate::fuse::{Logic, VARIABLES, composed};

/// A vector instruction with three operands and a byte, the last operand of which may be in memory.
macro_rules! ternary {
    ($self:ident, $op:ident, $d:expr, $a:expr, $b:expr, $byte:expr) => {
        match $b {
            Vector::Register(b) => $self.unit.a.$op($d, $a, ZMM[usize::from(b)], $byte)?,
            Vector::Memory(b) | Vector::Loaded(b) => $self.unit.a.$op($d, $a, b, $byte)?,
            Vector::Broadcast(slot) => {
                let b = $self.broadcast_of(slot);
                $self.unit.a.$op($d, $a, b, $byte)?
            }
        }
    };
}

impl Emitter<'_> {
    /// Emits a bitwise function.
    pub(super) fn logic(&mut self, op: usize, logic: Logic) -> Emitted {
        if let Class::Affine(_) = self.result_class(op, logic.d) {
            return self.scalar_logic(op, logic);
        }
        for part in 0..if logic.d.is_wide() { 4 } else { 2 } {
            let target = self.target(op, logic.d, part, 3);
            match logic.count == 2 {
                true => self.logic_of_two(op, logic, part, target)?,
                false => self.logic_of_three(op, logic, part, target)?,
            }
            self.put(op, logic.d, part, target)?;
        }
        Ok(())
    }

    /// One that an instruction with two sources may have.
    fn logic_of_two(&mut self, op: usize, logic: Logic, part: usize, target: u8) -> Emitted {
        let Logic { sources: [a, b, _], table, d, .. } = logic;
        let t = ZMM[usize::from(target)];
        // The second is not in the complement, which only the first operand can be in.
        let (a, b, table) = if table == 0x30 { (b, a, 0x0c) } else { (a, b, table) };
        let one = self.register(op, a, part, 0, false)?;
        let one = ZMM[usize::from(one)];
        let two = self.source(op, b, part, 1, false)?;
        match (table, d.is_wide()) {
            (0xc0, false) => vector3!(self, vpandd, t, one, two),
            (0xc0, true) => vector3!(self, vpandq, t, one, two),
            (0xfc, false) => vector3!(self, vpord, t, one, two),
            (0xfc, true) => vector3!(self, vporq, t, one, two),
            (0x3c, false) => vector3!(self, vpxord, t, one, two),
            (0x3c, true) => vector3!(self, vpxorq, t, one, two),
            (0x0c, false) => vector3!(self, vpandnd, t, one, two),
            (0x0c, true) => vector3!(self, vpandnq, t, one, two),
            // As a function of the last two operands: what is in the target does not matter.
            (_, wide) => {
                let [_, second, third] = VARIABLES;
                let table = i32::from(composed(table, [second, third, 0]));
                match wide {
                    false => ternary!(self, vpternlogd, t, one, two, table),
                    true => ternary!(self, vpternlogq, t, one, two, table),
                }
            }
        }
        Ok(())
    }

    /// One of three sources, of which the target has one first.
    fn logic_of_three(&mut self, op: usize, logic: Logic, part: usize, target: u8) -> Emitted {
        let wide = logic.d.is_wide();
        let mut operands = [Vector::Register(target); 3];
        for (n, operand) in operands.iter_mut().enumerate() {
            *operand = self.source(op, logic.sources[n], part, n as u8, false)?;
        }
        let is_target = |n: &usize| matches!(operands[*n], Vector::Register(register) if register == target);
        let in_memory = |n: &usize| !matches!(operands[*n], Vector::Register(_));
        // What is in memory is loaded into the target, or is the last operand.
        let first = (0..3).find(is_target).or_else(|| (0..3).find(in_memory)).unwrap_or(0);
        let rest = [(first + 1) % 3, (first + 2) % 3];
        let [second, third] = if in_memory(&rest[0]) { [rest[1], rest[0]] } else { rest };
        let t = ZMM[usize::from(target)];
        if !is_target(&first) {
            let from = self.in_register(operands[first], wide, target)?;
            if from != target {
                self.unit.a.vmovdqa64(t, ZMM[usize::from(from)])?;
            }
        }
        let two = self.in_register(operands[second], wide, second as u8)?;
        let mut variables = [0; 3];
        for (place, of) in [first, second, third].into_iter().enumerate() {
            variables[of] = VARIABLES[place];
        }
        let table = i32::from(composed(logic.table, variables));
        let two = ZMM[usize::from(two)];
        match wide {
            false => ternary!(self, vpternlogd, t, two, operands[third], table),
            true => ternary!(self, vpternlogq, t, two, operands[third], table),
        }
        Ok(())
    }
}
