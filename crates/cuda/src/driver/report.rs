//! Reports of faults and findings, for people: on stderr, or in the file that `SOFTWARP_REPORT` names.

use crate::code::Code;
use crate::driver::{Driver, place};
use crate::handle::lock;
use softwarp::vm::comparison::Reproduction;
use softwarp::vm::device::{Launch, LaunchError, ModuleId, Outcome};
use softwarp::vm::fault::{FaultKind, Problem};
use softwarp::vm::sanitize::{Finding, Site};
use softwarp_container::one_file;
use std::any::Any;
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
        FaultKind::Copy { .. } | FaultKind::TensorCore(_) => Code::ILLEGAL_INSTRUCTION,
        FaultKind::BarrierCount(_) | FaultKind::NoBarrier(_) => Code::ILLEGAL_INSTRUCTION,
        FaultKind::StepLimit | FaultKind::TimeLimit | FaultKind::Cancelled | FaultKind::Deadlock(_) => {
            Code::LAUNCH_TIMEOUT
        }
        FaultKind::OutOfMemory { .. } => Code::OUT_OF_MEMORY,
        _ => Code::LAUNCH_FAILED,
    }
}

/// A launch has ended: it is counted, and its findings are reported; a fault is reported and kept.
pub fn ended(driver: &Driver, launch: &Launch<'_>, outcome: &Outcome) {
    let fault = outcome.fault.as_ref().map(|fault| code_of(&fault.kind));
    driver.summary.launched(launch.kernel, launch.block, outcome, fault);
    for finding in &outcome.report.findings {
        report_finding(driver, (launch.module, launch.kernel), finding);
    }
    let words = outcome.report.findings.iter().find(|finding| finding.kind.sanitizer() == "compare");
    let words = words.map(ToString::to_string).unwrap_or_default();
    for reproduction in &outcome.report.comparisons.reproductions {
        write(driver, &reproduce(driver, reproduction, &words));
    }
    let Some(fault) = &outcome.fault else { return };
    let code = code_of(&fault.kind);
    let place = fault.place.as_ref().or(fault.running.first());
    let place = place.map(|it| place::lines(driver, launch.module, launch.kernel, "", it));
    let held = place::registers(driver, launch.module, fault);
    let place = place.unwrap_or_default();
    // Launches are stopped only at the end of the process.
    let what = match &fault.kind {
        FaultKind::Cancelled => format!("it had not ended and was stopped{}", driver.after_limit()),
        kind => kind.to_string(),
    };
    write(driver, &format!("softwarp: kernel `{}`: {what}{place}{held}", launch.kernel));
    driver.set_fault(code);
}

/// Writes a folder that reproduces a launch: what to say of it.
fn reproduce(driver: &Driver, reproduction: &Reproduction, words: &str) -> String {
    let place = &driver.config.mismatches;
    let written = one_file(&reproduction.texts)
        .map_err(std::io::Error::other)
        .and_then(|(name, code)| softwarp::reproduction::write(place, reproduction, (name, &code), words));
    match written {
        Ok(folder) => format!("softwarp: `{}` reproduces the mismatch", folder.display()),
        Err(error) => {
            format!(
                "softwarp: what reproduces the mismatch cannot be written to `{}`: {error}",
                place.display()
            )
        }
    }
}

/// The kernel, the kind of a finding, and the places that it is about.
pub type Reported = (ModuleId, String, &'static str, [(u32, u32); 2]);

/// Reports a finding, unless an earlier launch of the kernel had the same. Returns whether it did.
fn report_finding(driver: &Driver, (module, kernel): (ModuleId, &str), finding: &Finding) -> bool {
    let at = |site: &Site| (site.place.unit, site.place.span.start);
    let places = [at(&finding.at), finding.other.as_ref().map_or((u32::MAX, 0), at)];
    let is_new = lock(&driver.reported).insert((module, kernel.into(), finding.kind.word(), places));
    if !is_new {
        return false;
    }
    let is_race = finding.kind.sanitizer() == "race";
    let roles = match (&finding.other, is_race) {
        (None, _) => ["", ""],
        (Some(_), true) => ["later access: ", "earlier access: "],
        (Some(_), false) => ["", "other: "],
    };
    let sites = [Some(&finding.at), finding.other.as_ref()];
    let places: String = roles
        .iter()
        .zip(sites)
        .filter_map(|(role, site)| Some((role, site?)))
        .map(|(role, site)| place::lines(driver, module, kernel, role, &site.place))
        .collect();
    let times = match finding.count {
        0 | 1 => String::new(),
        count => format!("\n    {count} times at these places"),
    };
    write(driver, &format!("softwarp: kernel `{kernel}`: {finding}{places}{times}"));
    true
}

/// Reports blocks of the device's heap that no kernel has freed, unless they were reported before.
pub fn leaks(driver: &Driver) {
    for (module, finding) in driver.machine.leaks_of_modules() {
        if report_finding(driver, (module, &finding.kernel), &finding) {
            driver.summary.found(finding.kind.word());
        }
    }
}

/// A launch has ended in a panic.
pub fn panicked(driver: &Driver, name: &str, panic: &(dyn Any + Send)) {
    driver.summary.did_not_begin(name);
    driver.summary.refused();
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let why = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    write(driver, &format!("softwarp: kernel `{name}`: an error of softwarp itself: {why}"));
}

/// A launch was refused. What a GPU would have run is said; what it refuses too is only a code.
pub fn refused(driver: &Driver, name: &str, error: &LaunchError, code: Code) {
    if code == Code::NOT_SUPPORTED || code == Code::OUT_OF_MEMORY {
        driver.summary.refused();
        write(driver, &format!("softwarp: kernel `{name}`: {error}"));
    }
}
