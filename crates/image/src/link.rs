//! Links modules: which definition each name means (PTX ISA sections 11.2.3 and 11.6), as nvlink has it.
//!
//! A name without linkage is its module's own. Of all others with the same text one is chosen: a `.visible`
//! definition before a `.weak` one, that before a `.common` one, of which the largest counts. Every other
//! declaration then means the chosen one, and has to agree with it, which `compatibility.rs` checks. Handles of
//! textures, samplers and surfaces are bound by their names when the program is loaded: all of a name are one,
//! whatever their linkage.

use crate::declaration::{Declaration, Named, Standing, is_handle};
use crate::image::Object;
use crate::{Options, Unit, codes, compatibility};
use softwarp_check::checked::{Function, VarId, Variable, VariableKind, is_provided};
use softwarp_check::unfit;
use softwarp_isa::{StateSpace, Target};
use softwarp_syntax::{Diagnostic, Location, Related, Severity};
use std::collections::HashMap;

/// How many of the places that matter are shown.
const MOST_PLACES: usize = 8;

/// A module, and a variable or function of it.
pub(crate) type Home = (u32, u32);

/// What the names of modules came to.
#[derive(Debug)]
pub(crate) struct Linked {
    /// By module and variable: the module and variable that define it. Itself, for most.
    pub(crate) variables: Vec<Vec<Home>>,
    /// By module and function, likewise.
    pub(crate) functions: Vec<Vec<Home>>,
    /// What is odd and no error.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Of variables that were made of several declarations, where another asks for more than the chosen one.
    alignments: HashMap<Home, u64>,
    /// Other modules are to come.
    pub(crate) relocatable: bool,
}

impl Linked {
    /// The least alignment that other declarations of a variable ask for, if it was made of all of them.
    pub(crate) fn alignment(&self, unit: u32, id: VarId) -> u64 {
        self.alignments.get(&(unit, id.0)).copied().unwrap_or(1)
    }

    /// Whether an `.extern` variable that remained one is defined elsewhere. Without a linker the assembler
    /// defines it here; and what the driver provides, a bank of constants, is in no other module.
    pub(crate) fn is_elsewhere(&self, object: &Object) -> bool {
        self.relocatable && !(object.open && object.bank > 0)
    }
}

/// Finds the definition of every name. Errors come with the warnings that were found beside them.
pub(crate) fn link(units: &[Unit<'_>], options: Options) -> Result<Linked, Vec<Diagnostic>> {
    let own = |unit: u32, count: usize| (0..count as u32).map(|index| (unit, index)).collect();
    let all = || (0..).zip(units.iter().map(|unit| unit.checked));
    let linked = Linked {
        variables: all().map(|(unit, checked)| own(unit, checked.variables.len())).collect(),
        functions: all().map(|(unit, checked)| own(unit, checked.functions.len())).collect(),
        warnings: Vec::new(),
        alignments: HashMap::new(),
        relocatable: options.relocatable,
    };
    let mut linker = Linker { units, linked, findings: Vec::new(), missing: Vec::new() };
    let has_aliases = linker.follow_aliases();
    // A module on its own: what it declares `.extern` the assembler defines, or leaves for the linker.
    if units.len() > 1 {
        linker.compare_headers();
        for group in declarations(units).chunk_by(|a, b| a.name == b.name) {
            linker.resolve(group);
        }
        linker.look_among_private_names();
    }
    if has_aliases {
        linker.shorten();
    }
    let Linker { mut linked, findings, .. } = linker;
    if findings.iter().any(|finding| finding.severity() == Severity::Error) {
        return Err(findings);
    }
    linked.warnings = findings;
    Ok(linked)
}

/// What has a name at module scope, with the name.
fn named<'a>(unit: &Unit<'a>) -> impl Iterator<Item = (&'a str, Named<'a>)> {
    let Unit { module, checked } = *unit;
    let at_module_scope =
        |variable: &Variable| variable.kind == VariableKind::Module && variable.space != StateSpace::Reg;
    let variables = (0..).zip(&checked.variables).filter(move |(_, variable)| at_module_scope(variable));
    let variables = variables.map(|(index, it)| (it.name, Named::Variable(index, it)));
    let functions = (0..).zip(&checked.functions).map(|(index, it)| (it.name, Named::Function(index, it)));
    variables.chain(functions).map(|(symbol, of)| (module.name(symbol), of))
}

/// Every name that modules share, those with the same text together, in the order in which they first appear.
fn declarations<'a>(units: &[Unit<'a>]) -> Vec<Declaration<'a>> {
    let mut numbers: HashMap<&'a str, u32> = HashMap::new();
    let mut all = Vec::new();
    for (unit, of) in (0..).zip(units) {
        for (name, of) in named(of) {
            let standing = of.standing();
            if standing != Standing::Private {
                let next = numbers.len() as u32;
                let name = *numbers.entry(name).or_insert(next);
                all.push(Declaration { unit, of, standing, name });
            }
        }
    }
    all.sort_by_key(|declaration| declaration.name);
    all
}

struct Linker<'a, 'u> {
    units: &'u [Unit<'a>],
    linked: Linked,
    findings: Vec<Diagnostic>,
    /// Names without a definition, and the index of the diagnostic about each.
    missing: Vec<(&'a str, usize)>,
}

impl<'a> Linker<'a, '_> {
    /// Makes aliases mean their functions, and says whether there are any.
    fn follow_aliases(&mut self) -> bool {
        for (unit, of) in (0..).zip(self.units).filter(|(_, of)| !of.checked.aliases.is_empty()) {
            let functions = (0..).zip(&of.checked.functions);
            let ids: HashMap<_, u32> = functions.map(|(index, function)| (function.name, index)).collect();
            for &(alias, function) in &of.checked.aliases {
                if let Some(&alias) = ids.get(&alias) {
                    self.mean((unit, alias), (unit, function.0));
                }
            }
        }
        self.units.iter().any(|unit| !unit.checked.aliases.is_empty())
    }

    /// An alias may mean a function that has come to mean that of another module.
    fn shorten(&mut self) {
        for homes in [&mut self.linked.functions, &mut self.linked.variables] {
            for unit in 0..homes.len() {
                for index in 0..homes[unit].len() {
                    let (owner, at) = homes[unit][index];
                    homes[unit][index] = homes[owner as usize][at as usize];
                }
            }
        }
    }

    /// Makes a function mean another, and its parameters the other's.
    fn mean(&mut self, from: Home, to: Home) {
        self.linked.functions[from.0 as usize][from.1 as usize] = to;
        let (Some(from_function), Some(to_function)) = (self.function(from), self.function(to)) else {
            return;
        };
        let parameters = |function: &'a Function| [&function.parameters, &function.returns];
        for (from_list, to_list) in parameters(from_function).into_iter().zip(parameters(to_function)) {
            if from_list.len() == to_list.len() {
                for (a, b) in from_list.iter().zip(to_list) {
                    self.linked.variables[from.0 as usize][a.0 as usize] = (to.0, b.0);
                }
            }
        }
    }

    fn function(&self, (unit, index): Home) -> Option<&'a Function> {
        self.units.get(unit as usize)?.checked.functions.get(index as usize)
    }

    /// Versions may differ; addresses must have one size, and there must be a GPU that runs all modules.
    fn compare_headers(&mut self) {
        let Some((first, rest)) = self.units.split_first() else { return };
        let start = |unit: u32, of: &Unit<'_>| {
            let span = of.checked.header.target_span.unwrap_or_default();
            Location { unit, span }
        };
        let bits = first.checked.header.address_bits;
        for (unit, of) in (1..).zip(rest) {
            let other = of.checked.header.address_bits;
            if other != bits {
                let message = format!("this module has addresses of {other} bits, and another of {bits}");
                let diagnostic = Diagnostic::at(start(unit, of), codes::ADDRESS_SIZE, message);
                self.findings.push(diagnostic.with_related_at(start(0, first), "the other is here"));
            }
        }
        let newness = |target: Target| {
            let target = target.renamed().map_or(target, |(_, now)| now);
            (target.sm(), target.variant())
        };
        let newest = (0..).zip(self.units).max_by_key(|(_, of)| newness(of.checked.header.arch));
        let Some((newest, there)) = newest else { return };
        let arch = there.checked.header.arch;
        for (unit, of) in (0..).zip(self.units) {
            if let Some(why) = unfit(of.checked.header.arch, arch) {
                let diagnostic = Diagnostic::at(start(unit, of), codes::TARGETS, why)
                    .with_help("assemble all modules for one architecture")
                    .with_related_at(start(newest, there), format!("this is for {arch}"));
                self.findings.push(diagnostic);
            }
        }
    }

    /// Resolves a name that modules share.
    fn resolve(&mut self, group: &[Declaration<'a>]) {
        let chosen = group.iter().reduce(|best, next| if next.rank() > best.rank() { next } else { best });
        let Some(chosen) = chosen else { return };
        if chosen.standing == Standing::Declared {
            if chosen.is_provided_memory() {
                return;
            }
            if !self.linked.relocatable && self.is_missing(chosen) {
                self.report_missing(chosen, group);
            }
        }
        for other in group.iter().filter(|other| !std::ptr::eq(*other, chosen)) {
            self.join(chosen, other);
        }
    }

    /// Makes a declaration mean the chosen one, if they agree.
    fn join(&mut self, chosen: &Declaration<'a>, other: &Declaration<'a>) {
        let found = compatibility::compare(self.units, chosen, other);
        let refused = found.iter().any(|finding| finding.severity() == Severity::Error);
        self.findings.extend(found);
        if refused {
            return;
        }
        match (chosen.of, other.of) {
            (Named::Variable(to, variable), Named::Variable(from, other_variable)) => {
                let home = (chosen.unit, to);
                self.linked.variables[other.unit as usize][from as usize] = home;
                let merged = chosen.standing <= Standing::Common && other.standing == chosen.standing;
                if merged && other_variable.alignment > variable.alignment {
                    let strictest = self.linked.alignments.entry(home).or_default();
                    *strictest = other_variable.alignment.max(*strictest);
                }
            }
            (Named::Function(to, _), Named::Function(from, _)) => {
                let home = self.linked.functions[chosen.unit as usize][to as usize];
                self.mean((other.unit, from), home);
            }
            _ => {}
        }
    }

    /// Whether a name that no module defines is needed. Variables are even if nothing uses them; handles are
    /// bound when the program is loaded.
    fn is_missing(&self, chosen: &Declaration<'a>) -> bool {
        match chosen.of {
            Named::Variable(_, variable) => !is_handle(variable),
            Named::Function(..) => !is_provided(chosen.text(self.units)),
        }
    }

    fn report_missing(&mut self, chosen: &Declaration<'a>, group: &[Declaration<'a>]) {
        let name = chosen.text(self.units);
        let message = format!("`{name}` is declared `.extern`, and no module defines it");
        let mut diagnostic = Diagnostic::at(chosen.location(), codes::MISSING, message)
            .with_help("add the module that defines it");
        let others = group.iter().filter(|other| !std::ptr::eq(*other, chosen));
        for other in others.take(MOST_PLACES) {
            diagnostic = diagnostic.with_related_at(other.location(), "declared here too");
        }
        self.missing.push((name, self.findings.len()));
        self.findings.push(diagnostic);
    }

    /// What is missing may be there after all, without the word that shows it to other modules.
    fn look_among_private_names(&mut self) {
        if self.missing.is_empty() {
            return;
        }
        let missing: HashMap<&str, usize> = self.missing.drain(..).collect();
        for (unit, of) in (0..).zip(self.units) {
            for (name, of) in named(of).filter(|(_, of)| of.standing() == Standing::Private) {
                let finding = missing.get(name).and_then(|&index| self.findings.get_mut(index));
                if let Some(finding) = finding.filter(|finding| finding.related.len() <= MOST_PLACES) {
                    let message = "only this module sees the one here".into();
                    finding.related.push(Related { location: Location { unit, span: of.span() }, message });
                    finding.help = Some("make the one that is there `.visible`".into());
                }
            }
        }
    }
}
