//! The info log of the JIT compiler with `CU_JIT_LOG_VERBOSE`: what a module and its kernels take, in the form of ptxas.

use crate::jit::Options;
use crate::module::{Function, Module};
use crate::registers::{MOST, most_for};
use softwarp::ir::{Class, Op, Step};
use softwarp::vm::device::{Device as Machine, ModuleId};
use std::fmt::Write as _;
use std::time::Duration;

/// Barriers that a block has.
const BARRIERS: u32 = 16;

/// The lines for a module. Kernels come from the last to the first, as the assembler compiles them, unless it is told to
/// compile fast or for a debugger.
pub fn lines(machine: &Machine, of: &Module, options: &Options, arch: &str, spent: Duration) -> String {
    let id = of.id;
    let Ok(module) = machine.module(id) else { return String::new() };
    let kernels = module.image.functions.iter().filter(|function| function.entry && function.defined);
    let mut names: Vec<&str> = kernels.map(|function| &*function.name).collect();
    if !options.in_order {
        names.reverse();
    }
    let mut log = String::new();
    if let Some(most) = options.register_limit() {
        for name in &names {
            let _ = writeln!(
                log,
                "ptxas info    : Overriding maximum register limit 256 for '{name}' with  {most} of maxrregcount option"
            );
        }
    }
    let _ = write!(log, "ptxas info    : {} bytes gmem", module.image.global.bytes);
    let each = spent.as_secs_f64() * 1000.0 / names.len().max(1) as f64;
    for name in names {
        let Some(function) = Function::find(machine, of, name) else { continue };
        let _ = write!(
            log,
            "\nptxas info    : Compiling entry function '{name}' for '{arch}'\n\
             ptxas info    : Function properties for {name}\n\
             ptxas         .     {} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
             ptxas info    : Used {} registers, used {} barriers",
            function.local,
            function.registers.count,
            barriers(machine, id, name),
        );
        if function.local > 0 {
            let _ = write!(log, ", {} bytes cumulative stack size", function.local);
        }
        if function.declared_shared > 0 {
            let _ = write!(log, ", {} bytes smem", function.declared_shared);
        }
        let _ = write!(log, "\nptxas info    : Compile time = {each:.3} ms");
    }
    log
}

/// How many barriers a kernel uses: up to the highest number. One that is not constant may be any.
fn barriers(machine: &Machine, id: ModuleId, name: &str) -> u32 {
    let Ok(module) = machine.module(id) else { return 0 };
    let Ok(program) = module.program(name) else { return 0 };
    let mut most = 0;
    for function in program.functions() {
        for op in &function.ops {
            let Op::Other(_, step) = op else { continue };
            let Step::Barrier(barrier) = &**step else { continue };
            let slot = barrier.number;
            let constant = function.narrow_constants.iter().find(|(row, _)| *row == slot.number());
            let number = constant.filter(|_| slot.class() == Class::Narrow).map(|(_, value)| *value);
            most = most.max(number.map_or(BARRIERS, |number| number.saturating_add(1).min(BARRIERS)));
        }
    }
    most
}

impl Options {
    /// The most registers of a thread, from the options that set it.
    pub fn register_limit(&self) -> Option<u32> {
        let by_threads = self.threads.filter(|&threads| threads > 0).map(|threads| most_for(threads.into()));
        let asked = self.max_registers.filter(|&most| most > 0).map(|most| most.min(MOST));
        asked.into_iter().chain(by_threads).min()
    }
}
