//! What the declarations of one name in several modules have to agree on, as nvlink has it.
//!
//! It compares state spaces, sizes, `.managed` and the prototypes of functions that are used, and not types,
//! alignments or initial values. Where these differ, the program links but one of its modules is compiled for
//! another declaration: a warning.

use crate::declaration::{Declaration, Named, Standing, is_handle};
use crate::{Unit, codes};
use softwarp_check::checked::{CheckedModule, Function, Initialiser, Run, Variable};
use softwarp_isa::Type;
use softwarp_syntax::{Code, Diagnostic};

/// What is wrong between the declaration that was chosen for a name and another.
pub(crate) fn compare<'a>(
    units: &[Unit<'a>],
    chosen: &Declaration<'a>,
    other: &Declaration<'a>,
) -> Vec<Diagnostic> {
    let mut pair = Pair { units, chosen, other, findings: Vec::new() };
    match (chosen.of, other.of) {
        (Named::Variable(_, a), Named::Variable(_, b)) => pair.variables(a, b),
        (Named::Function(_, a), Named::Function(_, b)) if a.entry == b.entry => pair.functions(a, b),
        (a, b) => {
            let (there, here) = (sort(a), sort(b));
            let code = if pair.is_noticed() { codes::KIND } else { codes::UNNOTICED };
            pair.differ(code, format!("is {here} here, and {there} in another module"), there);
        }
    }
    pair.findings
}

fn sort(of: Named<'_>) -> &'static str {
    match of {
        Named::Variable(..) => "a variable",
        Named::Function(_, function) if function.entry => "a kernel",
        Named::Function(..) => "a function",
    }
}

/// Two declarations of a name, and what is wrong between them.
struct Pair<'a, 'p> {
    units: &'p [Unit<'a>],
    chosen: &'p Declaration<'a>,
    other: &'p Declaration<'a>,
    findings: Vec<Diagnostic>,
}

impl<'a> Pair<'a, '_> {
    /// Says that the other declaration differs from the chosen one, which is `there`.
    fn differ(&mut self, code: Code, message: String, there: impl AsRef<str>) {
        let name = self.other.text(self.units);
        let diagnostic = Diagnostic::at(self.other.location(), code, format!("`{name}` {message}"));
        let word = if self.chosen.standing <= Standing::Declared { "declared" } else { "defined" };
        let there = match there.as_ref() {
            "" => format!("{word} here"),
            there => format!("{word} as {there} here"),
        };
        self.findings.push(diagnostic.with_related_at(self.chosen.location(), there));
    }

    /// Whether the linker gets to see both.
    fn is_noticed(&self) -> bool {
        [self.chosen, self.other].iter().all(|one| one.standing != Standing::Idle)
    }

    /// Whether both define the name for the whole program.
    fn is_defined_twice(&mut self) -> bool {
        let twice = [self.chosen, self.other].iter().all(|one| one.standing == Standing::Strong);
        if twice {
            self.differ(codes::DEFINED_TWICE, "is defined in another module already".into(), "");
        }
        twice
    }

    fn checked(&self, of: &Declaration<'a>) -> &'a CheckedModule {
        self.units[of.unit as usize].checked
    }

    fn variables(&mut self, a: &Variable, b: &Variable) {
        if is_handle(a) || is_handle(b) {
            return self.handles(a, b);
        }
        if self.is_defined_twice() {
            return;
        }
        if (a.space, a.bank.unwrap_or(0)) != (b.space, b.bank.unwrap_or(0)) {
            let (there, here) = (space(a), space(b));
            let message = format!("is in {here} here, and in {there} in another module");
            return self.differ(codes::SPACE, message, format!("a variable in {there}"));
        }
        if a.attributes != b.attributes {
            let (there, here) = (attributes(a), attributes(b));
            let message = format!("is {here} here, and {there} in another module");
            self.differ(codes::ATTRIBUTE, message, there);
        }
        if !self.sizes_agree(a, b) {
            let (there, here) = (in_bytes(a), in_bytes(b));
            let message = format!("is {here} here, and {there} in another module");
            return self.differ(codes::SIZE, message, there);
        }
        let merged = self.chosen.standing == self.other.standing;
        let common = self.other.standing == Standing::Common;
        if !common && !types_agree(a, b) {
            let (there, here) = (a.described(), b.described());
            let message = format!("is {here} here, and {there} in another module");
            self.differ(codes::TYPE, message, there);
        }
        if b.alignment > a.alignment && !(merged && self.chosen.standing <= Standing::Common) {
            let (there, here) = (a.alignment, b.alignment);
            let message = format!("is aligned to {here} bytes here, and to {there} where it is defined");
            self.differ(codes::ALIGNMENT, message, "");
        }
        if merged && self.chosen.standing == Standing::Weak && !initialisers_agree(a, b) {
            let message = "is `.weak` with another initial value in another module, which wins".into();
            self.differ(codes::INITIAL_VALUE, message, "");
        }
    }

    /// Commons take what the largest needs. A definition with an initial value must have room for them; one
    /// without must be as large as everything else.
    fn sizes_agree(&self, a: &Variable, b: &Variable) -> bool {
        if a.open || b.open || a.size() == b.size() {
            return true;
        }
        let common = self.other.standing == Standing::Common;
        let room = a.initialiser.is_some() || self.chosen.standing == Standing::Common;
        common && room && b.size() <= a.size() && a.size().is_some()
    }

    /// Handles of one name are one, whatever their linkage, if they are of one sort.
    fn handles(&mut self, a: &Variable, b: &Variable) {
        if a.ty != b.ty || a.is_array() != b.is_array() {
            let (there, here) = (a.described(), b.described());
            let message = format!("is {here} here, and {there} in another module; the driver binds by name");
            return self.differ(codes::HANDLE, message, there);
        }
        let mode = |of: &Declaration<'a>| self.checked(of).header.independent_textures;
        if mode(self.chosen) != mode(self.other) {
            let message = "is bound for two modules that differ in their texture mode".into();
            self.differ(codes::TEXTURE_MODE, message, "");
        }
        if a.linkage.is_none() || b.linkage.is_none() {
            let message = "has no linkage and is one with that of another module all the same".into();
            self.differ(codes::PRIVATE_HANDLE, message, "");
        }
        if self.other.standing != Standing::Declared && !initialisers_agree(a, b) {
            self.differ(codes::INITIAL_VALUE, "has other members in another module, which win".into(), "");
        }
    }

    fn functions(&mut self, a: &'a Function, b: &'a Function) {
        if self.is_defined_twice() {
            return;
        }
        if a.attributes != b.attributes {
            let message = "has another `.attribute` in another module".into();
            self.differ(codes::ATTRIBUTE, message, "");
        }
        let (there, here) = (self.checked(self.chosen), self.checked(self.other));
        let noticed = if a.entry {
            let weak = [self.chosen, self.other].iter().all(|one| one.standing == Standing::Weak);
            weak && parameter_bytes(there, a) != parameter_bytes(here, b)
        } else {
            self.is_noticed()
        };
        if let Some(difference) = difference((there, a), (here, b), types_differ) {
            let code = if noticed { codes::PROTOTYPE } else { codes::UNNOTICED };
            self.differ(code, format!("has {difference}"), "");
        } else if let Some(difference) = difference((there, a), (here, b), alignments_differ) {
            self.differ(codes::ALIGNMENT, format!("has {difference}"), "");
        }
    }
}

/// `` `.global` ``, `` bank 2 of `.const` ``
fn space(variable: &Variable) -> String {
    match variable.bank.unwrap_or(0) {
        0 => format!("`{}`", variable.space),
        bank => format!("bank {bank} of `{}`", variable.space),
    }
}

/// `` `.u32[4]` with 16 bytes ``
fn in_bytes(variable: &Variable) -> String {
    match variable.size() {
        Some(size) => format!("{} of {size} bytes", variable.described()),
        None => format!("{} of 2^63 bytes or more", variable.described()),
    }
}

fn attributes(variable: &Variable) -> String {
    let managed = variable.attributes.managed.then(|| "`.managed`".to_owned());
    let unified =
        variable.attributes.unified.as_deref().map(|(upper, lower)| format!("`.unified({upper}, {lower})`"));
    let all: Vec<String> = managed.into_iter().chain(unified).collect();
    if all.is_empty() { "without attributes".into() } else { all.join(" and ") }
}

/// Compatible elements in the same arrangement; or one is an array of bytes, which is how compilers declare what
/// has no type in PTX.
fn types_agree(a: &Variable, b: &Variable) -> bool {
    let bytes = |variable: &Variable| {
        variable.is_array()
            && variable.vector == 1
            && variable.value_type().is_some_and(|ty| ty.compatible(Type::B8))
    };
    let elements = match (a.value_type(), b.value_type()) {
        (Some(a), Some(b)) => a.compatible(b),
        _ => a.ty == b.ty,
    };
    let outermost = usize::from(a.open || b.open);
    let [inner, other_inner] = [a, b].map(|of| of.dimensions.get(outermost..).unwrap_or_default());
    let arrangement = a.vector == b.vector && a.is_array() == b.is_array() && inner == other_inner;
    bytes(a) || bytes(b) || elements && arrangement
}

/// Whether two variables hold the same at first, as far as bytes and members say.
fn initialisers_agree(a: &Variable, b: &Variable) -> bool {
    let nothing = Initialiser::default();
    let [a, b] = [a, b].map(|of| of.initialiser.as_deref().unwrap_or(&nothing));
    written(a).eq(written(b)) && a.fields == b.fields && a.addresses.len() == b.addresses.len()
}

/// The runs that are not zero throughout.
fn written(of: &Initialiser) -> impl Iterator<Item = &Run> {
    of.runs.iter().filter(|run| run.bytes.iter().any(|&byte| byte != 0))
}

/// Bytes of a kernel's parameters.
fn parameter_bytes(checked: &CheckedModule, function: &Function) -> u64 {
    function.parameters.iter().fold(0, |bytes: u64, &id| {
        let parameter = checked.variable(id);
        let at = bytes.checked_next_multiple_of(parameter.alignment.max(1)).unwrap_or(u64::MAX);
        at.saturating_add(parameter.size().unwrap_or(u64::MAX))
    })
}

/// How the heads of two functions differ, in words: the chosen one `there`, the other `here`.
fn difference(
    there: (&CheckedModule, &Function),
    here: (&CheckedModule, &Function),
    differ: fn(&Variable, &Variable) -> Option<(String, String)>,
) -> Option<String> {
    let lists = [
        ("return value", &there.1.returns, &here.1.returns),
        ("parameter", &there.1.parameters, &here.1.parameters),
    ];
    for (word, a, b) in lists {
        if a.len() != b.len() {
            let (there, here) = (counted(a.len(), word), counted(b.len(), word));
            return Some(format!("{here} here, and {there} in another module"));
        }
        for (number, (&a, &b)) in (1..).zip(a.iter().zip(b)) {
            if let Some((a, b)) = differ(there.0.variable(a), here.0.variable(b)) {
                return Some(format!("{b} as {word} {number} here, and {a} in another module"));
            }
        }
    }
    None
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// nvlink tells numbers of 32 and 64 bits that are floating-point from others, and nothing more. State spaces
/// are for the assembler.
fn types_differ(a: &Variable, b: &Variable) -> Option<(String, String)> {
    let float = |variable: &Variable| matches!(variable.value_type(), Some(Type::F32 | Type::F64));
    let same = float(a) == float(b)
        && a.element_bytes() == b.element_bytes()
        && a.is_array() == b.is_array()
        && a.size() == b.size();
    (!same).then(|| (a.described(), b.described()))
}

fn alignments_differ(a: &Variable, b: &Variable) -> Option<(String, String)> {
    let words =
        |variable: &Variable| format!("{} aligned to {} bytes", variable.described(), variable.alignment);
    (a.alignment != b.alignment).then(|| (words(a), words(b)))
}
