//! What is assembled together, its constants, and the code around all others: where warps are entered and left.

use super::Emitted;
use crate::classes::Steps;
use crate::context::{Context, Entry, IN_REGISTERS, Register};
use iced_x86::code_asm::*;
use std::collections::HashMap;
use std::mem::offset_of;

/// Everything that is assembled together: both kinds of code of a function, constants and stubs.
pub(crate) struct Unit {
    pub(crate) a: CodeAssembler,
    constants: HashMap<Vec<u8>, usize>,
    /// Where a warp is left.
    pub(crate) leave: CodeLabel,
    /// Where the warp in `rax` is entered.
    next: CodeLabel,
    last_label: Option<usize>,
    /// Where the code of operations and other parts begins: the index of an instruction, and what it belongs to.
    pub(crate) marks: Vec<(usize, Part)>,
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
    pub(crate) fn new() -> Emitted<Unit> {
        let mut a = CodeAssembler::new(64)?;
        let (leave, next) = (a.create_label(), a.create_label());
        Ok(Unit { a, constants: HashMap::new(), leave, next, last_label: None, marks: Vec::new() })
    }

    /// What follows belongs to a part.
    pub(crate) fn mark(&mut self, part: Part) {
        self.marks.push((self.a.instructions().len(), part));
    }

    /// Puts a label here. An instruction can have one label only.
    pub(crate) fn place(&mut self, label: &mut CodeLabel) -> Emitted {
        if self.last_label == Some(self.a.instructions().len()) {
            self.a.nop()?;
        }
        self.last_label = Some(self.a.instructions().len());
        self.a.set_label(label)
    }

    /// 64 bytes that code reads.
    pub(crate) fn bytes(&mut self, bytes: Vec<u8>) -> AsmMemoryOperand {
        let next = self.constants.len();
        let index = *self.constants.entry(bytes).or_insert(next);
        zmmword_ptr(r11 + 64 * index)
    }

    /// The constants, in their order.
    pub(crate) fn constants(&self) -> Vec<Register> {
        let mut constants = vec![Register::default(); self.constants.len()];
        for (bytes, &index) in &self.constants {
            for (word, bytes) in constants[index].0.iter_mut().zip(bytes.chunks_exact(8)) {
                *word = u64::from_le_bytes(std::array::from_fn(|n| bytes[n]));
            }
        }
        constants
    }

    /// A word for all lanes.
    pub(crate) fn word(&mut self, value: u32) -> AsmMemoryOperand {
        self.bytes(value.to_le_bytes().repeat(16))
    }

    /// The differences of lanes to the first: a part of a row.
    pub(crate) fn steps(&mut self, steps: Steps, part: usize, wide: bool) -> AsmMemoryOperand {
        let lanes = if wide { 8 } else { 16 };
        let mut bytes = Vec::with_capacity(64);
        for lane in part * lanes..(part + 1) * lanes {
            let value = steps.at(lane);
            if wide {
                bytes.extend_from_slice(&value.to_le_bytes());
            } else {
                bytes.extend_from_slice(&(value as u32).to_le_bytes());
            }
        }
        self.bytes(bytes)
    }

    /// 16 words of 32 bits.
    pub(crate) fn words(&mut self, words: [u32; 16]) -> AsmMemoryOperand {
        self.bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect())
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
        let (mut leave, mut out) = (self.leave, self.a.create_label());
        self.mark(Part::Frame);
        self.place(&mut leave)?;
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
