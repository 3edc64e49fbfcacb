//! What is assembled together, its constants, and the code around all others: where warps are entered and left.

use super::Emitted;
use crate::Level;
use crate::assembler::*;
use crate::classes::Steps;
use crate::context::{Context, Entry, GOES_ON, IN_REGISTERS, Register};
use std::hash::{BuildHasher, RandomState};
use std::mem::offset_of;
use std::sync::LazyLock;

/// Everything that is assembled together: both kinds of code of a function, constants and stubs.
pub(crate) struct Unit {
    pub(crate) a: Assembler,
    /// What the CPU has.
    pub(crate) level: Level,
    /// It has AVX-512 with VNNI, VBMI and VBMI2.
    pub(crate) has_vbmi: bool,
    /// It has AVX-512 with IFMA.
    pub(crate) has_ifma: bool,
    constants: Constants,
    /// Where a warp is left.
    pub(crate) leave: CodeLabel,
    /// A warp has come to the barrier or end in `eax`, where those before it did not. If it is the first, code goes on at
    /// `rdx`.
    pub(crate) arrive: CodeLabel,
    /// Where the last warp of a CTA is left whose warps have all come to one place.
    pub(crate) leave_together: CodeLabel,
    /// Returns to the caller.
    out: CodeLabel,
    /// Where the warp in `rax` is entered.
    pub(crate) next: CodeLabel,
    /// Where the code of operations and other parts begins, if that is shown: an offset, and what it belongs to.
    pub(crate) marks: Vec<(usize, Part)>,
    /// Whether `marks` are kept.
    listed: bool,
}

/// Bytes of code that an operation has, at most but for a few.
const BYTES: usize = 512;

/// Constants without duplicates.
struct Constants {
    all: Vec<Register>,
    /// Numbers of constants plus one, or 0, from where their hashes say on: a power of two, and at least twice as many as
    /// there are constants.
    table: Vec<u32>,
    /// Words for all lanes that were asked for last, by their hashes, with the number of the constant plus one.
    words: [(u32, u32); 64],
    /// Steps that were asked for last, by their lanes: the steps, the part and width, and the number of the constant plus
    /// one.
    steps: [(Steps, (usize, bool), u32); 16],
}

impl Default for Constants {
    fn default() -> Constants {
        Constants {
            all: Vec::with_capacity(32),
            table: vec![0; 128],
            words: [(0, 0); 64],
            steps: [(Steps::ZERO, (0, false), 0); 16],
        }
    }
}

impl Constants {
    /// The number of a constant.
    fn index(&mut self, words: [u64; 8]) -> usize {
        if self.table.len() < 2 * (self.all.len() + 1) {
            self.grow();
        }
        let mut at = self.hash(&words);
        while let Some(found) = (self.table[at] as usize).checked_sub(1) {
            let both = self.all[found].0.iter().zip(&words);
            if both.fold(0, |difference, (a, b)| difference | a ^ b) == 0 {
                return found;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        self.all.push(Register(words));
        self.table[at] = self.all.len() as u32;
        self.all.len() - 1
    }

    /// Where a constant is looked for first: the NH hash, with keys of this process, so that no kernel can have constants
    /// chosen for it.
    fn hash(&self, words: &[u64; 8]) -> usize {
        let mut hash = 0;
        for (word, key) in words.chunks_exact(2).zip(HASH_KEYS.chunks_exact(2)) {
            let [a, b] = [0, 1].map(|n| u128::from(word[n].wrapping_add(key[n])));
            hash ^= a * b;
        }
        ((hash >> 64 ^ hash) as u64 >> (64 - self.table.len().trailing_zeros())) as usize
    }

    #[cold]
    fn grow(&mut self) {
        self.table = vec![0; 2 * self.table.len()];
        for number in 0..self.all.len() {
            let mut at = self.hash(&self.all[number].0);
            while self.table[at] != 0 {
                at = (at + 1) & (self.table.len() - 1);
            }
            self.table[at] = number as u32 + 1;
        }
    }
}

/// Random numbers for [`Constants::hash`].
static HASH_KEYS: LazyLock<[u64; 8]> = LazyLock::new(|| {
    let random = RandomState::new();
    std::array::from_fn(|n| random.hash_one(n))
});

/// Words of 32 bits, two in each of 64 bits.
fn pairs(words: [u32; 16]) -> [u64; 8] {
    std::array::from_fn(|n| u64::from(words[2 * n + 1]) << 32 | u64::from(words[2 * n]))
}

/// What instructions belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The code that is called.
    Frame,
    /// An operation, in code that all lanes execute together.
    Uniform(u32),
    /// An operation, in code that some lanes execute.
    Masked(u32),
    /// Entries, exits, and rare cases.
    Rest,
}

impl Unit {
    /// Nothing yet, of a function with a number of operations.
    pub(crate) fn new(ops: usize, level: Level, listed: bool) -> Emitted<Unit> {
        let mut a = Assembler::new((BYTES * ops).min(1 << 20))?;
        if level == Level::Avx2 {
            a.use_halves();
        }
        let has_vbmi = level == Level::Avx512
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        let has_ifma = level == Level::Avx512 && is_x86_feature_detected!("avx512ifma");
        let [leave, arrive, leave_together, out, next] = std::array::from_fn(|_| a.create_label());
        let (constants, marks) = (Constants::default(), Vec::new());
        Ok(Unit {
            a,
            level,
            has_vbmi,
            has_ifma,
            constants,
            leave,
            arrive,
            leave_together,
            out,
            next,
            marks,
            listed,
        })
    }

    /// What follows belongs to a part.
    pub(crate) fn mark(&mut self, part: Part) {
        if self.listed {
            self.marks.push((self.a.position(), part));
        }
    }

    /// Puts a label here.
    pub(crate) fn place(&mut self, label: &mut CodeLabel) -> Emitted {
        self.a.set_label(label)
    }

    /// 64 bytes that code reads.
    pub(crate) fn bytes(&mut self, bytes: Vec<u8>) -> AsmMemoryOperand {
        let mut all = [0; 64];
        all.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        self.constant(std::array::from_fn(|n| u64::from_le_bytes(all.as_chunks().0[n])))
    }

    /// Eight words of 64 bits that code reads.
    pub(crate) fn constant(&mut self, words: [u64; 8]) -> AsmMemoryOperand {
        zmmword_ptr(r11 + 64 * self.constants.index(words))
    }

    /// The constants, in their order.
    pub(crate) fn constants(&mut self) -> Vec<Register> {
        std::mem::take(&mut self.constants.all)
    }

    /// A word for all lanes.
    pub(crate) fn word(&mut self, value: u32) -> AsmMemoryOperand {
        let hash = (value.wrapping_mul(0x9e37_79b9) >> 26) as usize;
        let index = match self.constants.words[hash] {
            (known, number @ 1..) if known == value => number as usize - 1,
            (_, _) => {
                let index = self.constants.index([u64::from(value) << 32 | u64::from(value); 8]);
                self.constants.words[hash] = (value, index as u32 + 1);
                index
            }
        };
        zmmword_ptr(r11 + 64 * index).even()
    }

    /// The differences of lanes to the first: a part of a row.
    pub(crate) fn steps(&mut self, steps: Steps, part: usize, wide: bool) -> AsmMemoryOperand {
        let hash = (steps.lane.trailing_zeros() as usize + 4 * part) % 16;
        if let (known, which, number @ 1..) = self.constants.steps[hash]
            && (known, which) == (steps, (part, wide))
        {
            return zmmword_ptr(r11 + 64 * (number as usize - 1));
        }
        let words = match wide {
            true => std::array::from_fn(|lane| steps.at(8 * part + lane) as u64),
            false => pairs(std::array::from_fn(|lane| steps.at(16 * part + lane) as u32)),
        };
        let index = self.constants.index(words);
        self.constants.steps[hash] = (steps, (part, wide), index as u32 + 1);
        zmmword_ptr(r11 + 64 * index)
    }

    /// 16 words of 32 bits.
    pub(crate) fn words(&mut self, words: [u32; 16]) -> AsmMemoryOperand {
        self.constant(pairs(words))
    }

    /// Begins the function that callers call: `extern "C" fn(*mut Context)`.
    pub(crate) fn prologue(&mut self) -> Emitted {
        self.mark(Part::Frame);
        let a = &mut self.a;
        for register in [rbx, rbp, r12, r13, r14, r15] {
            a.push(register)?;
        }
        a.sub(rsp, 8)?;
        a.mov(r15, rdi)?;
        a.mov(rbp, qword_ptr(r15 + offset_of!(Context, budget)))?;
        a.mov(r11, qword_ptr(r15 + offset_of!(Context, constants)))?;
        a.mov(rax, qword_ptr(r15 + offset_of!(Context, current)))?;
        let mut next = self.next;
        self.place(&mut next)?;
        self.next = next;
        let a = &mut self.a;
        a.mov(r12, qword_ptr(rax + offset_of!(Entry, narrow)))?;
        a.mov(r13, qword_ptr(rax + offset_of!(Entry, wide)))?;
        a.mov(r14, qword_ptr(rax + offset_of!(Entry, predicates)))?;
        a.mov(ecx, dword_ptr(rax + offset_of!(Entry, mask)))?;
        a.mov(dword_ptr(r15 + offset_of!(Context, mask)), ecx)?;
        a.jmp(qword_ptr(rax + offset_of!(Entry, target)))
    }

    /// Where a warp is left: the next one is entered, unless there is none, the budget is spent, lanes wait elsewhere, or
    /// the warp has come to neither a barrier nor an end.
    pub(crate) fn finish(&mut self) -> Emitted {
        self.mark(Part::Frame);
        self.arrivals()?;
        let (mut leave, mut out) = (self.leave, self.out);
        self.place(&mut leave)?;
        self.dissolve()?;
        let (next, a) = (self.next, &mut self.a);
        a.mov(rax, qword_ptr(r15 + offset_of!(Context, current)))?;
        a.mov(ecx, dword_ptr(r15 + offset_of!(Context, exit)))?;
        a.mov(dword_ptr(rax + offset_of!(Entry, op)), ecx)?;
        a.mov(edx, dword_ptr(r15 + offset_of!(Context, mask)))?;
        a.mov(dword_ptr(rax + offset_of!(Entry, mask)), edx)?;
        a.mov(qword_ptr(rax + offset_of!(Entry, left)), rbp)?;
        // The caller writes values that are in registers to the frame, or goes on with the warp.
        for flag in [IN_REGISTERS, GOES_ON] {
            a.bt(ecx, flag.trailing_zeros())?;
            a.jb(out)?;
        }
        a.cmp(dword_ptr(r15 + offset_of!(Context, first_pending)), -1)?;
        a.jne(out)?;
        a.add(rax, size_of::<Entry>() as i32)?;
        a.cmp(rax, qword_ptr(r15 + offset_of!(Context, last)))?;
        a.jae(out)?;
        a.test(rbp, rbp)?;
        a.jle(out)?;
        a.mov(qword_ptr(r15 + offset_of!(Context, current)), rax)?;
        a.jmp(next)?;
        self.place(&mut out)?;
        let a = &mut self.a;
        a.mov(qword_ptr(r15 + offset_of!(Context, budget)), rbp)?;
        a.vzeroupper()?;
        a.add(rsp, 8)?;
        for register in [r15, r14, r13, r12, rbp, rbx] {
            a.pop(register)?;
        }
        a.ret()
    }
}
