//! What is assembled together, its constants, and the code around all others: where warps are entered and left.

use super::Emitted;
use crate::Level;
use crate::assembler::*;
use crate::classes::Steps;
use crate::context::{Context, Entry, IN_REGISTERS, Register};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem::offset_of;

/// Everything that is assembled together: both kinds of code of a function, constants and stubs.
pub(crate) struct Unit {
    pub(crate) a: Assembler,
    /// What the CPU has.
    pub(crate) level: Level,
    constants: Vec<Register>,
    /// Where constants are, and words for all lanes.
    known: HashMap<[u64; 8], usize, BuildHasherDefault<Mixer>>,
    known_words: HashMap<u32, usize, BuildHasherDefault<Mixer>>,
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
    /// Where the code of operations and other parts begins: an offset, and what it belongs to.
    pub(crate) marks: Vec<(usize, Part)>,
}

/// Bytes of code that an operation has, at most but for a few.
const BYTES: usize = 512;

/// A hash of words. It is faster than the one of the standard library, and need not withstand chosen keys: at worst,
/// a function whose constants were chosen for it is compiled slowly.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
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
    pub(crate) fn new(ops: usize, level: Level) -> Emitted<Unit> {
        let mut a = Assembler::new((BYTES * ops).min(1 << 20))?;
        if level == Level::Avx2 {
            a.use_halves();
        }
        let [leave, arrive, leave_together, out, next] = std::array::from_fn(|_| a.create_label());
        let (known, known_words, constants, marks) =
            (HashMap::default(), HashMap::default(), Vec::new(), Vec::new());
        Ok(Unit { a, level, constants, known, known_words, leave, arrive, leave_together, out, next, marks })
    }

    /// What follows belongs to a part.
    pub(crate) fn mark(&mut self, part: Part) {
        self.marks.push((self.a.position(), part));
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
    fn constant(&mut self, words: [u64; 8]) -> AsmMemoryOperand {
        let index = *self.known.entry(words).or_insert_with(|| {
            self.constants.push(Register(words));
            self.constants.len() - 1
        });
        zmmword_ptr(r11 + 64 * index)
    }

    /// The constants, in their order.
    pub(crate) fn constants(&self) -> Vec<Register> {
        self.constants.clone()
    }

    /// A word for all lanes.
    pub(crate) fn word(&mut self, value: u32) -> AsmMemoryOperand {
        if let Some(&index) = self.known_words.get(&value) {
            return zmmword_ptr(r11 + 64 * index);
        }
        let operand = self.constant([u64::from(value) << 32 | u64::from(value); 8]);
        self.known_words.insert(value, operand.displacement() / 64);
        operand
    }

    /// The differences of lanes to the first: a part of a row.
    pub(crate) fn steps(&mut self, steps: Steps, part: usize, wide: bool) -> AsmMemoryOperand {
        match wide {
            true => self.constant(std::array::from_fn(|lane| steps.at(8 * part + lane) as u64)),
            false => self.words(std::array::from_fn(|lane| steps.at(16 * part + lane) as u32)),
        }
    }

    /// 16 words of 32 bits.
    pub(crate) fn words(&mut self, words: [u32; 16]) -> AsmMemoryOperand {
        self.constant(std::array::from_fn(|n| u64::from(words[2 * n + 1]) << 32 | u64::from(words[2 * n])))
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

    /// Where a warp is left: the next one is entered, unless there is none, the budget is spent, or lanes wait
    /// elsewhere.
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
        // The caller writes values that are in registers to the frame.
        a.bt(ecx, IN_REGISTERS.trailing_zeros())?;
        a.jb(out)?;
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
