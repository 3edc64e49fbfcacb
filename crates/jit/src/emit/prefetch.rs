//! Prefetches.
//!
//! A kernel of one dimension mostly accesses arrays from one warp to the next: the memory behind that of a warp is soon
//! accessed by others. Compiled code does too much between two accesses for the CPU to have many of them under way.

use super::plain::Plain;
use super::{Emitted, Emitter};
use crate::Mode;
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::{Action, Compute, Width};
use softwarp_ir::{Op, Slot};

/// The distance of a prefetch from the access, in bytes: the next warps access what is there.
const DISTANCE: i32 = 512;

/// The most arrays of a kernel that are prefetched: a CPU has few misses under way at a time.
const ARRAYS: usize = 8;

/// The most sums that an address is followed through.
const SUMS: usize = 8;

impl Emitter<'_> {
    /// Prefetches behind a load or store of consecutive words, whose first is at `rax` plus an offset: once for each array,
    /// outside of loops.
    pub(super) fn prefetch(&mut self, plain: &Plain<'_>, offset: i32) -> Emitted {
        let in_loop = self.flow.blocks[self.flow.block_of[plain.op]].depth > 0;
        let several_axes = self.function.start.of_cta.iter().any(|&(_, axis)| axis != 0);
        if self.masked || self.mode != Mode::Uniform || in_loop || several_axes {
            return Ok(());
        }
        if plain.is_shared() || plain.total() != 4 {
            return Ok(());
        }
        let Some(array) = plain.base.and_then(|base| self.array_of(plain.op, base)) else { return Ok(()) };
        match self.prefetched.iter().find(|(_, other)| *other == array) {
            Some((op, _)) if *op != plain.op => return Ok(()),
            Some(_) => {}
            None if self.prefetched.len() == ARRAYS => return Ok(()),
            None => self.prefetched.push((plain.op, array)),
        }
        for line in [0, 64] {
            self.unit.a.prefetcht0(byte_ptr(rax + (offset + DISTANCE + line)))?;
        }
        Ok(())
    }

    /// The row of the pointer that an address is a sum of, which is the same in all lanes.
    fn array_of(&self, op: usize, base: Slot) -> Option<Slot> {
        let (mut op, mut slot) = (op, base);
        let mut array = None;
        for _ in 0..SUMS {
            let Some(web) = self.flow.read(op, slot) else { break };
            let &[sum] = self.flow.defs(web) else { break };
            let (Action::Compute(Compute::Add(Width::W64)), Op::Alu(alu)) =
                (self.flow.actions[sum], &self.function.ops[sum])
            else {
                break;
            };
            let (a, b) = (alu.s.get(0)?, alu.s.get(1)?);
            let (same, other) = match [a, b].map(|slot| self.class(sum, slot) == Class::UNIFORM) {
                [true, false] => (a, b),
                [false, true] => (b, a),
                _ => break,
            };
            array = Some(same);
            (op, slot) = (sum, other);
        }
        array
    }
}
