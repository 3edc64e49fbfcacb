//! Reports of faults and findings, for people: on stderr, or in the file that `SOFTWARP_REPORT` names.

use crate::code::Code;
use crate::driver::Driver;
use crate::module::Function;
use softwarp::vm::device::{LaunchError, Outcome};
use softwarp::vm::fault::{FaultKind, Problem};
use std::io::Write as _;

/// Writes a report.
pub fn write(driver: &Driver, text: &str) {
    let written = driver.config.report.as_ref().and_then(|path| {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).ok()?;
        writeln!(file, "{text}").ok()
    });
    if written.is_none() {
        eprintln!("{text}");
    }
}

/// The code that a GPU gives for a fault, as recorded.
fn code_of(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::Access(bad) if bad.problem == Problem::Misaligned => Code::MISALIGNED_ADDRESS,
        FaultKind::Access(_) | FaultKind::StackOverflow | FaultKind::NoFunction(_) => Code::ILLEGAL_ADDRESS,
        FaultKind::Assert { .. } => Code::ASSERT,
        FaultKind::Copy { .. } => Code::ILLEGAL_INSTRUCTION,
        FaultKind::BarrierCount(_) | FaultKind::NoBarrier(_) => Code::ILLEGAL_INSTRUCTION,
        FaultKind::StepLimit | FaultKind::TimeLimit | FaultKind::Cancelled | FaultKind::Deadlock(_) => {
            Code::LAUNCH_TIMEOUT
        }
        FaultKind::OutOfMemory { .. } => Code::OUT_OF_MEMORY,
        _ => Code::LAUNCH_FAILED,
    }
}

/// A launch has ended: its findings are reported; a fault is reported and kept.
pub fn ended(driver: &Driver, function: &Function, outcome: &Outcome) {
    for finding in &outcome.report.findings {
        write(driver, &format!("softwarp: kernel `{}`: {finding}", function.name));
    }
    let Some(fault) = &outcome.fault else { return };
    let code = code_of(&fault.kind);
    write(driver, &format!("softwarp: kernel `{}`: {fault}", function.name));
    driver.set_fault(code);
}

/// A launch was refused. What a GPU would have run is said; what it refuses too is only a code.
pub fn refused(driver: &Driver, name: &str, error: &LaunchError, code: Code) {
    if code == Code::NOT_SUPPORTED || code == Code::OUT_OF_MEMORY {
        write(driver, &format!("softwarp: kernel `{name}`: {error}"));
    }
}
