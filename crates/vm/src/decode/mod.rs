//! Programs made ready for execution: the intermediate representation, with a vector loop chosen for each operation.
//!
//! The operations of the IR stay as they are: traces, sanitizers and faults read them. Beside each stands what the
//! interpreter calls for it (`Decoded`). The [`plan::Plan`] has the same operations once more for the fast loop,
//! without those that have no effect.

mod build;
mod flaw;
pub(crate) mod native;
pub(crate) mod plan;

use crate::fast::Quick;
use plan::Plan;
use softwarp_ir::{Alu, AluOp, Function, Immediate, Op, Step};
use softwarp_isa::instruction::InstructionForm;
use softwarp_units::alu::simple::Simple;
use softwarp_units::alu::{AluLoop, Inst, select};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// A kernel and every function that it can call, decoded: [`crate::device::Device::launch_program`] runs it.
#[derive(Debug)]
pub struct Program {
    /// The functions, the kernel first.
    pub(crate) codes: Vec<Code>,
    /// The index in `codes` of each function of the image that is reached.
    pub(crate) of_function: Vec<Option<u32>>,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Code {
    /// The function in the intermediate representation.
    pub(crate) ir: Function,
    /// The decoded operations, one for each operation.
    pub(crate) decoded: Vec<Decoded>,
    /// The operations for the fast loop.
    pub(crate) plan: Plan,
    /// Compiled code.
    pub(crate) native: native::Native,
}

impl Deref for Code {
    type Target = Function;

    #[inline(always)]
    fn deref(&self) -> &Function {
        &self.ir
    }
}

/// A decoded operation: the function that the interpreter calls for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decoded {
    /// The loop of an arithmetic operation, with its operands.
    Alu(Inst),
    /// The loops of a load or store.
    Access(Quick),
    /// The warp interprets the step.
    Step,
}

impl Decoded {
    /// The loop of an arithmetic operation.
    #[inline(always)]
    pub(crate) fn alu(&self) -> Option<&Inst> {
        match self {
            Decoded::Alu(inst) => Some(inst),
            _ => None,
        }
    }

    /// The loops of a load or store.
    #[inline(always)]
    pub(crate) fn access(&self) -> &Quick {
        match self {
            Decoded::Access(quick) => quick,
            _ => &Quick::NEVER,
        }
    }
}

impl Program {
    /// The functions in the intermediate representation, the kernel first.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.codes.iter().map(|code| &code.ir)
    }

    /// About how many bytes [`Program::new`] takes at most.
    pub(crate) fn bytes(program: &softwarp_ir::Program) -> u64 {
        /// For each operation.
        const OPERATION: u64 = 320;
        let operations: usize = program.functions.iter().map(|function| function.ops.len()).sum();
        operations as u64 * OPERATION + (program.functions.len() * 2 * size_of::<Code>()) as u64
    }

    /// Decodes a program: chooses the loop of each operation.
    pub fn new(program: softwarp_ir::Program) -> Program {
        let mut loops = Loops::default();
        let codes = program.functions.into_iter().map(|function| loops.code(function)).collect();
        Program { codes, of_function: program.of_function }
    }
}

/// The loops of the instructions that a program has, each looked up once.
#[derive(Default)]
struct Loops {
    known: HashMap<*const InstructionForm, (AluLoop, u32)>,
}

impl Loops {
    fn code(&mut self, ir: Function) -> Code {
        let decoded: Vec<Decoded> = ir.ops.iter().map(|op| self.decode(op)).collect();
        let plan = build::plan(&ir, &decoded);
        Code { ir, decoded, plan, native: native::Native::default() }
    }

    fn decode(&mut self, op: &Op) -> Decoded {
        match op {
            Op::Alu(alu) => Decoded::Alu(self.bind(alu)),
            Op::Other(_, step) => match &**step {
                Step::Load(access) | Step::Store(access) => {
                    Decoded::Access(Quick::of(&access.address, access.bytes, access.registers.len()))
                }
                _ => Decoded::Step,
            },
            Op::Branch(..) => Decoded::Step,
        }
    }

    fn bind(&mut self, alu: &Alu) -> Inst {
        let (kernel, extra) = match &alu.op {
            AluOp::Simple(simple) => simple.bind(),
            AluOp::Instruction(form, immediate) => {
                let (kernel, modifiers) = self.of_form(form);
                let operand = match immediate {
                    Immediate::None => 0,
                    Immediate::Lut(lut) => u32::from(*lut) << 16,
                    Immediate::Video(selectors) => selectors.packed(),
                };
                (kernel, modifiers | operand)
            }
        };
        let (mut d, mut s) = ([0; 2], [0; 5]);
        d.iter_mut().zip(alu.d.iter()).for_each(|(row, slot)| *row = slot.number());
        s.iter_mut().zip(alu.s.iter()).for_each(|(row, slot)| *row = slot.number());
        let (d, s) = (&d[..alu.d.count()], &s[..alu.s.count()]);
        Inst { guard: alu.guard, ..Inst::new((kernel, extra), d, s) }
    }

    /// The loop of a form. Lowering refuses forms that have none.
    fn of_form(&mut self, form: &Arc<InstructionForm>) -> (AluLoop, u32) {
        *self.known.entry(Arc::as_ptr(form)).or_insert_with(|| match select(form) {
            Some(found) => found,
            None => Simple::Move32.bind(),
        })
    }
}
