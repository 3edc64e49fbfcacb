//! The launches that are debugged.

use super::super::run::{self, LaunchArgs, Ready};
use super::super::{CommandError, output};
use crate::render;
use crate::run::{Options, Run, RunError, fault};
use softwarp::debug::drive::{Frontend, Target};
use softwarp::debug::expression::{NoValue, Scope, Variable};
use softwarp::debug::session::{Resume, Session};
use softwarp::debug::value::Value;
use softwarp::debug::view::{Buffer, Program};
use softwarp::ir::Memory;
use softwarp::isa::Type;
use softwarp::vm::debug::Debugger;
use softwarp::vm::device::{LaunchError, LoadOptions, ModuleId};
use softwarp::vm::fault::{Fault, FaultKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes what kernels print.
pub type Print = Box<dyn Fn(&str) + Send + Sync>;

/// The launches of a launch file, or the one that the arguments describe.
pub(super) struct Launches {
    ready: Ready,
    machine: Option<Run>,
    /// What stopped the last launch, if something did.
    fault: Option<Box<Fault>>,
    print: Print,
    repeats: Arc<AtomicBool>,
}

impl Launches {
    /// Reads files, and checks that the launches can begin.
    pub fn new(args: &LaunchArgs, repeats: Arc<AtomicBool>, print: Print) -> Result<Launches, CommandError> {
        let mut ready = run::ready(args)?;
        ready.load = LoadOptions { debug: true, ..ready.load };
        Ok(Launches { ready, machine: None, fault: None, print, repeats })
    }

    /// The names and texts of the PTX files.
    pub fn sources(&self) -> &[softwarp::source::Source] {
        &self.ready.sources
    }

    /// What stopped a launch, for people.
    fn told(&mut self, fault: &Fault) -> String {
        let Some(machine) = &mut self.machine else { return fault.kind.to_string() };
        let event = fault::event(machine, &self.ready.sources, fault);
        render::event(&self.ready.sources, &event, false)
    }

    /// What the launch file wants to be read back, for people.
    fn results(&self) -> String {
        self.machine.as_ref().map_or_else(String::new, |machine| run::tables(machine, &self.ready))
    }
}

impl Target for Launches {
    type Error = CommandError;

    fn restart(&mut self) -> Result<Program, CommandError> {
        let (machine, file) = run::machine(&self.ready)?;
        self.ready.file = file;
        let module = machine.device().module(ModuleId::default());
        let module = module.map_err(|error| CommandError::Input(error.to_string()))?;
        let program = Program::new(&self.ready.sources, &module, machine.named_buffers(&self.ready.file));
        self.machine = Some(machine);
        self.fault = None;
        Ok(program)
    }

    fn run(&mut self, debugger: &dyn Debugger) -> Result<(), CommandError> {
        let Launches { ready, machine: Some(machine), print, repeats, fault } = self else { return Ok(()) };
        let print = |text: &str| {
            if !repeats.load(Ordering::Relaxed) {
                print(text);
            }
        };
        for index in 0..ready.file.launches.len() {
            let options = Options { debugger: Some(debugger), print: Some(&print), ..Options::default() };
            match machine.launch(&ready.file, index, &options) {
                Ok(_) => {}
                Err(RunError::Launch { error: LaunchError::Fault(stopped), .. }) => {
                    if stopped.kind != FaultKind::Cancelled {
                        *fault = Some(stopped);
                    }
                    return Ok(());
                }
                Err(error) => return Err(run::refused(ready, &error, machine)),
            }
        }
        Ok(())
    }

    fn ended(&mut self, session: &mut Session, front: &mut dyn Frontend) -> Resume {
        let told = match self.fault.take() {
            Some(fault) => self.told(&fault),
            None => format!("the launches have ended\n{}", self.results()),
        };
        let Some(machine) = &self.machine else { return Resume::Quit };
        let afterwards = Afterwards { machine, buffers: session.program.buffers.clone() };
        front.ended(session, &told, &afterwards)
    }
}

/// Memory when no launch runs: buffers and variables of the module.
struct Afterwards<'a> {
    machine: &'a Run,
    buffers: Vec<Buffer>,
}

impl Scope for Afterwards<'_> {
    fn register(&self, _name: &str) -> Option<Value> {
        None
    }

    fn variable(&self, name: &str) -> Option<Variable> {
        let found = self.buffers.iter().find(|buffer| buffer.name == name);
        let (address, bytes, ty) = match found {
            Some(buffer) => (buffer.address, buffer.bytes, buffer.ty.unwrap_or(Type::B32)),
            None => {
                let module = self.machine.device().module(ModuleId::default()).ok()?;
                let (_, object) = module.variable(name)?;
                let symbol = module.symbol(name)?;
                (symbol.address, symbol.bytes, object.value_type()?)
            }
        };
        Some(Variable { space: Memory::Generic, address, generic: Some(address), ty, bytes })
    }

    fn read(&self, space: Memory, address: u64, into: &mut [u8]) -> Result<(), NoValue> {
        if !matches!(space, Memory::Generic | Memory::Global) {
            return Err(NoValue(format!("no thread runs, so there is no .{} memory", space.name())));
        }
        let read = self.machine.device().read(address, into);
        read.map_err(|error| NoValue(error.to_string()))
    }
}

/// Prints to standard error, as `softwarp run` does.
pub fn to_standard_error() -> Print {
    Box::new(output::stderr)
}
