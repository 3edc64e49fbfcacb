//! The rules of tensor maps (PTX ISA sections 5.5 and 9.7.9.27.1.1, the driver's header): what is wrong with a map,
//! in words and numbers. The driver says CUDA_ERROR_INVALID_VALUE and nothing else.
//!
//! **Errors on sm_90 are exactly what its driver refuses**, as recorded; where documents ask for more, it is a
//! warning. For targets without recordings, the documents decide. Other warnings are about maps that are legal and
//! perhaps not what was meant; they are looked for only where there is no error, since they compute with the numbers.

mod access;
mod modes;
mod suspicion;
mod tensor;

use crate::codes;
use crate::map::{Description, Map};
use crate::object;
use softwarp_diagnostic::{Diagnostic, Explained, Severity};
use softwarp_isa::Target;
use softwarp_isa::device::TensorFeature;

impl Map {
    /// The map of a description, or all that is wrong with it.
    pub fn new(description: &Description, target: Target) -> Result<Map, Vec<Diagnostic>> {
        let findings = check(description, target);
        if findings.iter().any(|finding| finding.severity() == Severity::Error) {
            return Err(findings);
        }
        Ok(Map::resolve(description))
    }

    /// The map of a 128-byte object, or all that is wrong with it.
    pub fn from_object(bytes: &[u8; object::SIZE], target: Target) -> Result<Map, Vec<Diagnostic>> {
        Map::new(&object::decode(bytes)?.description, target)
    }
}

/// All that is to be said about a description on a target, in the order of the codes.
pub fn check(description: &Description, target: Target) -> Vec<Diagnostic> {
    let mut checker = Checker { description, target, findings: Vec::new() };
    if !target.supports(TensorFeature::Maps) {
        checker.report(
            &codes::TARGET,
            format!("{target} has no tensor maps"),
            Some("sm_90 or later".to_string()),
        );
        return checker.findings;
    }
    checker.lists();
    checker.tensor();
    checker.access();
    checker.modes();
    if checker.findings.iter().all(|finding| finding.severity() == Severity::Warning) {
        checker.suspicions(&Map::resolve(description));
    }
    checker.findings.sort_by_key(|finding| finding.code);
    checker.findings
}

/// Whether what the driver and the hardware do with maps was recorded. On newer targets documents decide.
fn is_recorded(target: Target) -> bool {
    target.sm() < Target::SM_100.sm()
}

/// A check under way.
struct Checker<'a> {
    description: &'a Description,
    target: Target,
    findings: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn report(&mut self, rule: &Explained, message: String, fix: Option<String>) {
        self.findings.push(codes::diagnostic(rule, message, fix));
    }

    /// Reports a number that is no multiple, and the multiples around it.
    fn report_multiple(&mut self, rule: &Explained, name: &str, value: u64, of: u64) {
        let below = value - value % of;
        let next = match below.checked_add(of) {
            Some(above) => format!("{above} is the next that is"),
            None => format!("{below} is the last that is"),
        };
        self.report(rule, format!("{name} = {value} is not a multiple of {of}"), Some(next));
    }

    /// Reports a number outside a range.
    fn report_range(&mut self, rule: &Explained, name: &str, value: i128, least: i128, most: i128) {
        let nearest = value.clamp(least, most);
        let message = format!("{name} = {value} is not within {least} to {most}");
        self.report(rule, message, Some(format!("{nearest} is the nearest that is")));
    }
}
