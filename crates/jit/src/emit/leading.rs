//! Code for the first lanes of a warp, where their number is known: the last steps of a tree in shared memory.
//!
//! Each step loads what the one before has stored. The CPU does not forward stores with masks to loads, which then wait
//! until the store is in the cache. So as many bytes are stored as there are lanes, without a mask.

use super::plain::Plain;
use super::{Emitted, Emitter, XMM, ZMM};
use crate::Level;
use crate::assembler::*;
use crate::classes::Steps;
use crate::context::{Context, Region};
use crate::decode::{Order, Width};
use crate::groups::Group;
use crate::reach::Reach;
use softwarp_ir::Slot;
use std::mem::offset_of;

/// A number of lanes: 1, 2, 4, 8 or 16.
#[derive(Clone, Copy)]
pub(super) struct Leading(u32);

impl Leading {
    /// The lanes of a mask.
    pub(super) fn of(lanes: u32) -> Option<Leading> {
        let count = lanes.count_ones();
        (count <= 16 && count.is_power_of_two() && lanes == (1 << count) - 1).then_some(Leading(count))
    }

    pub(super) fn count(self) -> i32 {
        self.0 as i32
    }
}

/// Whether a comparison of 32-bit words holds.
pub(super) fn holds(signed: bool, order: Order, a: u32, b: u32) -> bool {
    let ordering = if signed { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
    match order {
        Order::Eq => ordering.is_eq(),
        Order::Ne => ordering.is_ne(),
        Order::Lt => ordering.is_lt(),
        Order::Le => ordering.is_le(),
        Order::Gt => ordering.is_gt(),
        Order::Ge => ordering.is_ge(),
    }
}

impl Emitter<'_> {
    /// The predicate of a comparison in a warp whose lanes do not all agree, where consecutive values, the first of them a
    /// multiple of 32, are compared with a constant. Since the lanes disagree, one of them has the constant, or the value
    /// beside it: its low five bits say which.
    pub(super) fn mixed_result(
        &self,
        op: usize,
        (width, signed, order): (Width, bool, Order),
        [a, b]: [Slot; 2],
        steps: Steps,
    ) -> Option<u32> {
        let aligned = self.classes.zeros(self.flow, op, a) >= 5;
        if width != Width::W32 || steps != Steps::even(1) || !aligned {
            return None;
        }
        let bound = self.classes.source(self.flow, op, b).1? as u32;
        let lanes = (0..32).filter(|lane| holds(signed, order, bound & !31 | lane, bound));
        Some(lanes.fold(0, |mask, lane| mask | 1 << lane))
    }

    /// The lanes that an access of consecutive words is for, if there is code for their number.
    pub(super) fn leading_words(&self, plain: &Plain<'_>) -> Option<Leading> {
        self.leading.filter(|_| plain.bytes() == 4 && !plain.widens() && self.unit.level == Level::Avx512)
    }

    /// The place in the host's memory of what the first lane accesses, in `rax`, and the bytes that are to be added to it. In
    /// shared memory it is checked with the others of its group; where that fails, code is left before the first of them.
    /// `rcx` is used.
    pub(super) fn check_leading(&mut self, plain: &Plain<'_>, lanes: Leading) -> Emitted<i32> {
        let is_checked = |group: &Group| group.first == plain.op || self.leading_group == Some(group.first);
        let group = self.groups.get(plain.op).filter(|group| plain.is_shared() && is_checked(group));
        let Some(group) = group else {
            self.check_elements(plain, lanes.count() as usize)?;
            return Ok(0);
        };
        let pointer = qword_ptr(r15 + (offset_of!(Context, pointers) + 8 * group.pointer));
        if group.first != plain.op {
            self.unit.a.mov(rax, pointer)?;
            return Ok(self.distance(plain, &group));
        }
        let mut plain = *plain;
        plain.slow = self.exit_label(plain.op);
        self.first_offset(&plain)?;
        let reach = Reach::run(group.range, 4 * lanes.count() as usize).ok_or(Unencodable)?;
        self.check_ends(&plain, reach)?;
        self.check_alignment(&plain)?;
        self.unit.a.add(rax, plain.region(offset_of!(Region, host)).qword())?;
        self.unit.a.mov(pointer, rax)?;
        self.leading_group = Some(group.first);
        Ok(0)
    }

    /// Loads or stores words one behind the other, whose place is in `rax` plus an offset.
    pub(super) fn move_leading(&mut self, plain: &Plain<'_>, lanes: Leading, offset: i32) -> Emitted {
        let at = rax + offset;
        if plain.store {
            let from = self.element(plain, (0, 0), 7)?;
            return self.store_leading(from, at, lanes);
        }
        let target = self.element_target(plain, (0, 0), 7);
        let (z, asm) = (ZMM[usize::from(target)], &mut self.unit.a);
        match lanes.0 {
            1 => asm.vpbroadcastd(z, dword_ptr(at))?,
            2 => asm.vpbroadcastq(z, qword_ptr(at))?,
            4 => asm.vbroadcasti32x4(z, xmmword_ptr(at))?,
            8 => asm.vbroadcasti64x4(z, ymmword_ptr(at))?,
            16 => asm.vmovdqu32(z, zmmword_ptr(at))?,
            _ => return Err(Unencodable),
        }
        self.put_element(plain, (0, 0), target)
    }

    fn store_leading(&mut self, from: u8, at: AsmMemoryOperand, Leading(count): Leading) -> Emitted {
        let (z, asm) = (ZMM[usize::from(from)], &mut self.unit.a);
        match count {
            1 => {
                asm.vmovdqa64(zmm7, z)?;
                asm.vmovd(ecx, XMM[7])?;
                asm.mov(dword_ptr(at), ecx)
            }
            2 => {
                asm.vmovdqa64(zmm7, z)?;
                asm.vmovq(rcx, XMM[7])?;
                asm.mov(qword_ptr(at), rcx)
            }
            4 => asm.vextracti32x4(xmmword_ptr(at), z, 0),
            8 => asm.vextracti64x4(ymmword_ptr(at), z, 0),
            16 => asm.vmovdqu32(zmmword_ptr(at), z),
            _ => Err(Unencodable),
        }
    }
}
