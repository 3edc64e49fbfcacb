//! Jumps inside aligned blocks of 32 bytes.
//!
//! CPUs of the Skylake generation do not keep the decoded instructions of a block of 32 bytes if a jump crosses its end or
//! ends at it (Intel, "Mitigations for Jump Conditional Code Erratum", 2019). On such CPUs, NOPs in front of the jump move
//! it to the next block. A comparison in front of a conditional jump moves with it, since the CPU fuses the two.

use super::Assembler;

/// Bytes of a block.
pub(super) const BLOCK: usize = 32;

/// NOPs of one to nine bytes.
const NOPS: [&[u8]; 9] = [
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0x00],
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
    &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
];

/// Where jumps may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jumps {
    Anywhere,
    /// Inside blocks.
    InBlocks,
}

impl Jumps {
    /// What is best for this CPU. Those with AVX-512 VBMI are later than Skylake's generation.
    pub(super) fn of_this_cpu() -> Jumps {
        match is_x86_feature_detected!("avx512vbmi") {
            true => Jumps::Anywhere,
            false => Jumps::InBlocks,
        }
    }
}

/// The last instruction, if it may move with a jump behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Movable {
    start: usize,
    end: usize,
}

impl Assembler {
    /// The last instruction began at `start` and may move with a jump behind it.
    #[inline]
    pub(super) fn set_movable(&mut self, start: usize) {
        if start != self.lock_end {
            self.movable = Movable { start, end: self.length };
        }
    }

    /// What is written is not moved any more: a label or a mark is behind it, or no conditional jump.
    #[inline]
    pub(super) fn keep_in_place(&mut self) {
        self.movable = Movable::default();
    }

    /// Appends NOPs, if a jump of `bytes` would cross the end of a block or end at it.
    pub(super) fn align_jump(&mut self, bytes: usize) {
        if self.jumps == Jumps::Anywhere {
            return;
        }
        let Movable { start, end } = self.movable;
        let start = if end == self.length { start } else { self.length };
        if start / BLOCK == (self.length + bytes) / BLOCK {
            return;
        }
        let padding = start.next_multiple_of(BLOCK) - start;
        let end = self.length;
        for _ in 0..padding {
            self.raw(*b"\x90");
        }
        // Without memory, the bytes are not there.
        if self.failed {
            return;
        }
        let buffer = &mut self.room.buffer;
        buffer.copy_within(start..end, start + padding);
        for place in buffer[start..start + padding].chunks_mut(NOPS.len()) {
            place.copy_from_slice(NOPS[place.len() - 1]);
        }
        self.keep_in_place();
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::Jumps;
    use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};

    /// Comparisons, jumps and other instructions by the bits of a seed, and where labels are between them.
    fn code(jumps: Jumps, seed: u64) -> (Vec<u8>, Vec<u64>) {
        let mut a = Assembler::new(0).expect("memory");
        a.jumps = jumps;
        let mut behind = a.create_label();
        let mut labels = Vec::new();
        let mut state = seed;
        for _ in 0..400 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let (which, back) = (state >> 60, labels.get(state as usize >> 8 & 7).copied().unwrap_or(behind));
            match which {
                0..=2 => a.cmp(eax, (state >> 32) as i32),
                3 => a.cmp(rcx, qword_ptr(r15 + (state >> 50) as i32)),
                4 => a.test(edx, edx),
                5..=6 => a.jne(back),
                7..=8 => a.jae(behind),
                9 => a.jmp(back),
                10 => a.jmp(qword_ptr(r15 + 8 * (state as i32 >> 20))),
                11 => a.ret(),
                12 => a.lock().add(dword_ptr(rax), ecx),
                13 => a.call(qword_ptr(r12)),
                14 => a.vpaddd(zmm1, zmm2, zmmword_ptr(rax + 64i32)),
                _ => {
                    let mut label = a.create_label();
                    labels.insert(0, label);
                    a.set_label(&mut label)
                }
            }
            .expect("it is encoded");
        }
        a.set_label(&mut behind).expect("a place");
        let places = labels.iter().map(|&label| a.place_of(label).expect("a place")).collect();
        (a.finish().expect("code").to_vec(), places)
    }

    /// The instructions of code, without NOPs.
    fn instructions(code: &[u8]) -> Vec<Instruction> {
        let all = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).into_iter();
        all.inspect(|one| assert!(!one.is_invalid())).filter(|one| one.mnemonic() != Mnemonic::Nop).collect()
    }

    /// The number of the instruction that a jump goes to.
    fn target(all: &[Instruction], jump: &Instruction) -> Option<usize> {
        let is_near = jump.op0_kind() == OpKind::NearBranch64;
        is_near.then(|| all.partition_point(|one| one.ip() < jump.near_branch_target()))
    }

    #[test]
    fn jumps_stay_inside_blocks() {
        let mut crossing = [0; 2];
        for seed in 0..200 {
            let [(free, _), (aligned, places)] =
                [Jumps::Anywhere, Jumps::InBlocks].map(|jumps| code(jumps, seed));
            let [free, aligned] = [free, aligned].map(|code| instructions(&code));
            assert_eq!(free.len(), aligned.len());
            for (one, other) in free.iter().zip(&aligned) {
                assert_eq!(one.mnemonic(), other.mnemonic());
                assert_eq!(one.has_lock_prefix(), other.has_lock_prefix());
                assert_eq!(target(&free, one), target(&aligned, other));
            }
            for (all, crossing) in [&free, &aligned].into_iter().zip(&mut crossing) {
                *crossing += all.iter().filter(|one| is_crossing(one.ip(), one)).count();
            }
            // A comparison and the conditional jump right behind it.
            for pair in aligned.windows(2).filter(|pair| pair[0].next_ip() == pair[1].ip()) {
                let [Mnemonic::Cmp | Mnemonic::Test, Mnemonic::Jne | Mnemonic::Jae] =
                    [0, 1].map(|n| pair[n].mnemonic())
                else {
                    continue;
                };
                let is_fixed = places.contains(&pair[1].ip());
                assert!(is_fixed || !is_crossing(pair[0].ip(), &pair[1]), "seed {seed}");
            }
        }
        assert!(crossing[0] > 1000, "{}", crossing[0]);
        assert_eq!(crossing[1], 0);
    }

    /// Whether a jump that begins at `start`, with what is moved together with it, crosses the end of a block.
    fn is_crossing(start: u64, jump: &Instruction) -> bool {
        use Mnemonic::{Call, Jae, Jmp, Jne, Ret};
        matches!(jump.mnemonic(), Call | Jae | Jmp | Jne | Ret) && start / 32 != jump.next_ip() / 32
    }
}
