//! Labels of blocks, and code that stands outside of the blocks.

use super::idle::Behind;
use super::{Emitted, Emitter, G32, G64, Quick, Unit, special};
use crate::assembler::*;
use crate::buffers::Buffer;
use crate::buffers::pooled;
use crate::context::LEARN;
use crate::places::Place;
use softwarp_ir::{Op, Slot, Step};

/// Labels of the code of one mode, by block.
pub(crate) struct Labels {
    /// The block itself.
    pub(crate) blocks: CodeLabels,
    /// Entered from the frame: loads what the block reads. Of masked code: a routine that loads it for the lanes in
    /// `k6` and `k7`.
    pub(crate) enters: CodeLabels,
    /// Of uniform code: entered behind a barrier at which it was left.
    pub(crate) passed: Buffer<Option<CodeLabel>>,
    /// A routine of masked code that saves what the block reads.
    pub(crate) saves: CodeLabels,
    /// From masked code to uniform code.
    pub(crate) switches: CodeLabels,
    /// Masked code, entered from the frame.
    pub(crate) starts: CodeLabels,
    /// Enters masked code at the block in `eax`.
    pub(crate) enter_masked: CodeLabel,
    /// Leaves masked code.
    pub(crate) leave_masked: CodeLabel,
    pub(crate) dispatch: CodeLabel,
}

impl Labels {
    pub(crate) fn new(unit: &mut Unit, blocks: usize) -> Labels {
        let passed = Buffer::filled(None, blocks);
        let [blocks, enters, saves, switches, starts] = std::array::from_fn(|_| unit.a.create_labels(blocks));
        let [enter_masked, leave_masked, dispatch] = std::array::from_fn(|_| unit.a.create_label());
        Labels { blocks, enters, passed, saves, switches, starts, enter_masked, leave_masked, dispatch }
    }
}

/// Code that stands outside of the blocks.
#[derive(Clone, Copy)]
pub(crate) enum Late {
    /// Leaves compiled code before an operation.
    Exit { op: usize, label: CodeLabel, apart: Option<usize> },
    /// Leaves it after an operation that the interpreter has performed: a result differs among the lanes.
    Differs { op: usize, label: CodeLabel, apart: Option<usize> },
    /// Leaves it for some lanes, while others wait at a block.
    Wait { block: usize, label: CodeLabel },
    /// Leaves it before a block, when the budget is spent.
    Spent { block: usize, label: CodeLabel },
    /// Has the interpreter perform an operation, and goes on behind it.
    Slow { op: usize, label: CodeLabel, back: CodeLabel, apart: Option<usize> },
    /// An access under a guard that not all lanes pass.
    Guarded { op: usize, label: CodeLabel, back: CodeLabel },
    /// An access that checks for a group outside of the region that it looks at: the interpreter learns the region, and
    /// the check is made again. Without another region, code is left before the access.
    Learn { op: usize, label: CodeLabel, again: CodeLabel },
    /// An access of which each half of the warp has a first lane: its offsets, with all checks. If they hold, it goes on
    /// at `checked`, and otherwise at `slow`.
    Halves { op: usize, label: CodeLabel, slow: CodeLabel, checked: CodeLabel, count: usize },
    /// Operations with accesses that are checked alone, since the check of a group failed: numbered.
    Alone(usize),
    /// An operation among lanes that the interpreter has performed and counted.
    Counted { label: CodeLabel, back: CodeLabel },
    /// A special function for all inputs.
    General(special::General),
    /// A minimum or maximum of a row with a NaN.
    Choose {
        op: usize,
        max: bool,
        sources: [Slot; 2],
        label: CodeLabel,
        back: CodeLabel,
        held: Option<usize>,
    },
    /// A row of f32 with NaNs that are not canonical.
    Canonical { registers: [u8; 2], label: CodeLabel, back: CodeLabel },
    /// A predicate that is the same in all lanes.
    Known { quick: Quick, back: CodeLabel },
    /// A branch by such a predicate.
    Branch { op: usize, quick: Quick },
    /// A comparison whose first lane is above the bound, in `rcx`: whether the value wraps around behind it.
    Wrapping { first: CodeLabel, above: CodeLabel, general: CodeLabel, most: i32, wide: bool, signed: bool },
    /// The first warp to come to a barrier or an end, or one that has come elsewhere than those before it.
    Arrived { at: u32, label: CodeLabel, back: CodeLabel },
    /// The last poll of lanes while others may wait: behind an atomic operation of masked code.
    Polled { op: usize, label: CodeLabel, back: CodeLabel },
    /// A branch that diverges: the lanes that take it are in `eax`. Its predicate, where that is known, and what is known of
    /// the warps behind.
    Diverge { op: usize, label: CodeLabel, predicate: Option<u32>, behind: Option<Behind> },
    /// All warps of the CTA have come to a barrier.
    Behind { op: usize, label: CodeLabel },
    /// All warps of the CTA have ended.
    Ended { op: usize, label: CodeLabel },
    /// Masked code goes on with the lowest block at which lanes wait.
    Dispatch { block: usize, label: CodeLabel },
}

pooled!(Late, Option<CodeLabel>);

/// A group of accesses that the code of a block has checked.
#[derive(Clone, Copy)]
pub(crate) struct Checked {
    /// The access that checks.
    pub(crate) first: usize,
    /// Where code goes on in which each access is checked alone.
    pub(crate) alone: Option<CodeLabel>,
}

/// Operations that are compiled again, with each access checked alone.
pub(crate) struct Alone {
    /// Up to which operation.
    pub(crate) last: usize,
    /// The accesses where they are entered: those that check for groups.
    pub(crate) enters: Vec<(usize, CodeLabel)>,
    /// Behind the last operation.
    pub(crate) back: CodeLabel,
}

impl Emitter<'_> {
    /// Has the interpreter learn the region of an access of all lanes, whose address is that of the first lane. Then the
    /// access is performed again; or code is left before it.
    pub(super) fn learn_region(&mut self, op: usize, again: CodeLabel) -> Emitted {
        if let Op::Other(_, step) = &self.function.ops[op]
            && let Step::Load(access) | Step::Store(access) = &**step
            && let Some(base) = access.address.base.filter(|&base| !self.flow.is_fixed(base))
            && let Some(web) = self.flow.read(op, base)
        {
            let first = self.first(base);
            match (self.places[web], base.is_wide()) {
                (Place::Scalar(from), true) => self.unit.a.mov(first, G64[usize::from(from)])?,
                (Place::Scalar(from), false) => self.unit.a.mov(first, G32[usize::from(from)])?,
                (Place::Frame | Place::Vector(_) | Place::Halves, true | false) => self.save(web)?,
            }
        }
        let (perform, exit) = (self.perform, self.exit_label(op));
        self.unit.a.mov(eax, (op as u32 | LEARN) as i32)?;
        self.unit.a.call(perform)?;
        self.unit.a.jz(exit)?;
        self.unit.a.jmp(again)
    }
}
