//! Lowers small modules, and picks operations apart.

use softwarp_image::{FunctionId, Image, Unit};
use softwarp_ir::{Access, Alu, AluOp, Function, Guard, Immediate, Op, Program, Step};
use softwarp_lower::{Fidelity, Lowering, Unsupported};
use softwarp_syntax::Severity;
use softwarp_units::alu::simple::Simple;

pub const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Lowers the last kernel of a module, which stands below [`HEAD`].
pub fn lower(text: &str) -> (Result<Program, Vec<Unsupported>>, Image, String) {
    lower_below(HEAD, text)
}

pub fn lower_below(head: &str, text: &str) -> (Result<Program, Vec<Unsupported>>, Image, String) {
    let source = format!("{head}{text}");
    let parsed = softwarp_syntax::parse(&source);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let (checked, references, diagnostics) =
        softwarp_check::resolve_references(&parsed.module, &source, softwarp_check::Options::default());
    let errors: Vec<_> = diagnostics.iter().filter(|one| one.severity() == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let unit = Unit { module: &parsed.module, checked: &checked };
    let image = softwarp_image::lay_out(&[unit], softwarp_image::Options::default()).expect("laid out");
    let kernel = image.functions.iter().rposition(|function| function.entry).expect("a kernel");
    let lowering =
        Lowering { module: &parsed.module, source: &source, checked: &checked, references: &references };
    let program = softwarp_lower::lower(&[lowering], &image, FunctionId(kernel as u32), Fidelity::PTXAS);
    (program, image, source)
}

pub fn program(text: &str) -> Program {
    match lower(text).0 {
        Ok(program) => program,
        Err(refused) => panic!("{refused:?}"),
    }
}

/// The code of a kernel of these declarations and statements.
pub fn kernel(body: &str) -> Function {
    let registers = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .b128 %q<9>;\
        .reg .f32 %f<9>; .reg .f64 %d<9>;";
    let text = format!(".entry k(.param .u64 a, .param .u32 b)\n{{\n{registers}\n{body}\n}}\n");
    program(&text).functions.remove(0)
}

/// An operation in a word or two.
pub fn word(op: &Op) -> String {
    match op {
        Op::Alu(_) => "alu".to_owned(),
        Op::Branch(guard, target) if *guard == Guard::ALWAYS => format!("bra {target}"),
        Op::Branch(_, target) => format!("bra? {target}"),
        Op::Other(_, step) => match &**step {
            Step::Load(access) => format!("ld {:?}", access.address.memory),
            Step::Store(access) => format!("st {:?}", access.address.memory),
            Step::Special(read) => format!("{:?}", read.register),
            Step::Switch(switch) => format!("switch {:?}", switch.targets),
            Step::Call(call) => format!("call {:?}", call.callee),
            Step::Barrier(barrier) => format!("{:?}", barrier.op),
            Step::Warp(warp) => format!("{:?}", warp.op),
            Step::FrameAddress(frame) => format!("frame {}", frame.offset),
            Step::Alloca(alloca) => format!("alloca {}", alloca.alignment),
            Step::Atomic(atomic) => format!("atomic {:?} {:?}", atomic.op, atomic.ty),
            other => format!("{other:?}"),
        },
    }
}

pub fn words(code: &Function) -> Vec<String> {
    code.ops.iter().map(word).collect()
}

pub fn inst(op: &Op) -> &Alu {
    match op {
        Op::Alu(alu) => alu,
        other => panic!("{other:?} is no arithmetic"),
    }
}

/// Which of lowering's own operations it is.
pub fn simple(op: &Op) -> Simple {
    match inst(op).op {
        AluOp::Simple(simple) => simple,
        AluOp::Instruction(..) => panic!("{op:?} is an instruction"),
    }
}

/// The operand that is part of an instruction.
pub fn immediate(op: &Op) -> Immediate {
    match inst(op).op {
        AluOp::Simple(_) => panic!("{op:?} is no instruction"),
        AluOp::Instruction(_, immediate) => immediate,
    }
}

pub fn access(op: &Op) -> &Access {
    match op {
        Op::Other(_, step) => match &**step {
            Step::Load(access) | Step::Store(access) => access,
            other => panic!("{other:?} is no access"),
        },
        other => panic!("{other:?} is no access"),
    }
}
