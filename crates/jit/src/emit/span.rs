//! Loads of several words that each lane has one behind the other: 16 bytes for each lane, whose words are then brought
//! together by element (a transposition of four words by four lanes).

use super::plain::Plain;
use super::several::LanePlaces;
use super::{Emitted, Emitter, ZMM, field};
use crate::Level;
use crate::assembler::*;
use crate::context::{Context, Region, Register};
use crate::spans::{Index, Span};
use std::mem::offset_of;

/// Bytes for the words of a span in the context: two registers for each word but the first.
const BYTES: usize = 6 * size_of::<Register>();

impl Emitter<'_> {
    /// The span of a load, and the number of its word in it.
    pub(super) fn span(&self, plain: &Plain<'_>) -> Option<(Span, usize)> {
        let (span, word) = self.spans.get(plain.op)?;
        let first = match &self.function.ops[span.first] {
            softwarp_ir::Op::Other(_, step) => {
                Plain::of(span.first, step, plain.slow, self.sites[span.first])?
            }
            softwarp_ir::Op::Alu(_) | softwarp_ir::Op::Branch(..) => return None,
        };
        let is_apart = |plain: &Plain<'_>| {
            self.has_code(plain, self.masked)
                && self.is_scattered(plain)
                && (self.masked || self.strides(plain).is_none() && self.halves_step(plain).is_none())
        };
        (self.unit.level == Level::Avx512 && is_apart(&first) && is_apart(plain)).then_some((span, word))
    }

    /// Whether the words of a span are in the context: a field of it.
    fn is_loaded(span: &Span) -> AsmMemoryOperand {
        dword_ptr(r15 + (offset_of!(Context, loaded_spans) + 4 * span.number))
    }

    /// Where a half of a row of a span is.
    fn kept(span: &Span, word: usize, half: usize) -> AsmMemoryOperand {
        let skip = BYTES * span.number + size_of::<Register>() * (2 * (word - 1) + half);
        zmmword_ptr(r15 + (offset_of!(Context, spans) + skip))
    }

    /// At the first load of a span: its words are not in the context.
    pub(super) fn begin_span(&mut self, span: &Span) -> Emitted {
        self.unit.a.mov(Self::is_loaded(span), 0)
    }

    /// Loads a row that is in the context, and goes to `done`; goes on if it is not.
    pub(super) fn load_kept(
        &mut self,
        plain: &Plain<'_>,
        (span, word): (Span, usize),
        done: CodeLabel,
    ) -> Emitted {
        let mut other = self.unit.a.create_label();
        self.unit.a.cmp(Self::is_loaded(&span), 0)?;
        self.unit.a.jz(other)?;
        for half in 0..2 {
            let target = self.target(plain.op, plain.slot, half, 4);
            self.unit.a.vmovdqa64(ZMM[usize::from(target)], Self::kept(&span, word, half))?;
            self.put(plain.op, plain.slot, half, target)?;
        }
        self.unit.a.jmp(done)?;
        self.unit.place(&mut other)
    }

    /// Loads all words of a span and goes to `done`. Where lanes have not all of them in the region, it goes on.
    pub(super) fn load_span(&mut self, plain: &Plain<'_>, span: &Span, done: CodeLabel) -> Emitted {
        let mut other = self.unit.a.create_label();
        if let Some(index) = span.index {
            self.check_index(index, other)?;
        }
        self.raw_offsets(plain)?;
        let low = self.unit.constant([3; 8]);
        let asm = &mut self.unit.a;
        asm.vpmaxuq(zmm4, zmm0, zmm1)?;
        asm.vpmaxuq(zmm5, zmm2, zmm3)?;
        asm.vpmaxuq(zmm4, zmm4, zmm5)?;
        // Places for 16 bytes.
        asm.vpcmpuq(k1, zmm4, plain.region(offset_of!(Region, room) + 8 * 4).qwords(), 5)?;
        asm.vporq(zmm4, zmm0, zmm1)?;
        asm.vporq(zmm5, zmm2, zmm3)?;
        asm.vporq(zmm4, zmm4, zmm5)?;
        asm.vptestmq(k2, zmm4, low)?;
        asm.kortestw(k1, k2)?;
        asm.jnz(other)?;
        asm.mov(Self::is_loaded(span), 1)?;
        asm.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
        asm.vpbroadcastq(zmm4, rdx)?;
        for (part, &offsets) in ZMM.iter().enumerate().take(4) {
            asm.vpaddq(offsets, offsets, zmm4)?;
            asm.vmovdqu64(zmmword_ptr(field!(lane_offsets) + 64 * part), offsets)?;
        }
        for half in 0..2 {
            self.load_quarters(LanePlaces::Kept, half)?;
            self.transpose([0, 1, 2, 3])?;
            for (n, &to) in ZMM.iter().enumerate().take(4) {
                self.transposed(to, n)?;
            }
            for (word, &row) in ZMM.iter().enumerate().take(4).skip(1) {
                self.unit.a.vmovdqa64(Self::kept(span, word, half), row)?;
            }
            self.put(plain.op, plain.slot, half, 0)?;
        }
        self.unit.a.jmp(done)?;
        self.unit.place(&mut other)
    }

    /// Goes to `other` if an index wraps around in a lane when the most is added to it.
    fn check_index(&mut self, index: Index, other: CodeLabel) -> Emitted {
        let most = self.unit.word(index.most);
        for (half, mask) in [k1, k2].into_iter().enumerate() {
            let from = self.web_part(index.web, half, 0, false)?;
            let from = ZMM[usize::from(self.in_register(from, false, 0)?)];
            self.unit.a.vpaddd(zmm1, from, most)?;
            match index.signed {
                true => self.unit.a.vpcmpd(mask, zmm1, from, 1)?,
                false => self.unit.a.vpcmpud(mask, zmm1, from, 1)?,
            }
        }
        self.unit.a.kortestw(k1, k2)?;
        self.unit.a.jnz(other)
    }
}
