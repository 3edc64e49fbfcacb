//! `cvt` and `cvt.pack` as shapes: their table is [`crate::cvt`].

use super::words::is_idle;
use super::{Access, Fault, FaultKind, Fit, Forms, Gate, Kind, Selector, Shape, Signature, Value, Wanted};
use crate::availability::{Availability, Targets};
use crate::cvt::{Form, FormError, Modifier, Opcode, OperandName, ProblemKind};
use crate::pattern::Operand;
use crate::{Type, Version};

/// What `cvt` and these words spell.
pub(super) fn resolve(modifiers: &[&str]) -> Result<Box<Shape>, Fault> {
    let kept: Vec<usize> = (0..modifiers.len()).filter(|&at| !is_idle("cvt", modifiers, at)).collect();
    let words: Vec<&str> = kept.iter().map(|&at| modifiers[at]).collect();
    match Form::parse(&words.join(".")) {
        Ok(form) => Ok(Box::new(shape(form))),
        Err(error) => {
            let mut fault = fault(&error, &words);
            fault.words = fault.words.iter().filter_map(|&word| kept.get(word).copied()).collect();
            Err(fault)
        }
    }
}

fn shape(form: Form) -> Shape {
    let pack = (form.opcode() == Opcode::CvtPack).then_some(super::Modifier::Pack);
    let modifiers =
        form.modifiers().iter().filter_map(|modifier| super::Modifier::from_name(modifier.name()));
    let types = form.types().iter().map(|&ty| super::Modifier::Type(ty));
    let words = pack.into_iter().chain(modifiers).chain(types).collect();
    let signature = Signature {
        syntax: form.syntax_line(),
        operands: form.operands().iter().map(|operand| wanted(form, operand)).collect(),
        gates: gates(form),
    };
    Shape { signatures: vec![signature], ..Shape::new(super::Opcode::Cvt, words) }
}

/// Where a form exists. The oldest modules have no `.ftz`, and PTX 1.4 has it only where `.f32` meets types of 16 and 32
/// bits, or a narrower one is made of it.
fn gates(form: Form) -> Vec<Gate> {
    const PTX_14: &[Availability] = &[Availability { targets: Targets::All, since: Version::new(1, 4) }];
    const PTX_15: &[Availability] = &[Availability { targets: Targets::All, since: Version::new(1, 5) }];
    let mut gates = vec![Gate { word: None, any_of: form.availability(), removed: None }];
    if form.modifiers().iter().any(|modifier| modifier == Modifier::Ftz) {
        let wide = |ty: &Type| ty.is_int() && ty.bits() == 64;
        let late = match form.types() {
            [Type::F64, Type::F32] => true,
            [Type::F32, from] => from.is_int() && from.bits() == 8,
            [to, Type::F32] => wide(to),
            _ => false,
        };
        gates.push(Gate { word: Some("ftz"), any_of: if late { PTX_15 } else { PTX_14 }, removed: None });
    }
    gates
}

fn wanted(form: Form, operand: &Operand<OperandName>) -> Wanted {
    let first = operand.names().first().copied().unwrap_or(OperandName::D);
    let access = if first == OperandName::D { Access::Write } else { Access::Read };
    let value = value(form, first, access);
    let kind = match operand {
        Operand::Single(_) => Kind::Value(value),
        Operand::Vector(names) => {
            Kind::Vector { counts: vec![names.len() as u8], element: value, bare: false }
        }
    };
    Wanted { name: first.name(), access, optional: false, kind }
}

fn value(form: Form, name: OperandName, access: Access) -> Value {
    // A special register is read only where integers become integers.
    let integers = form.types().iter().all(|ty| ty.is_int());
    let special = access == Access::Read && form.opcode() == Opcode::Cvt && integers;
    Value {
        ty: form.operand_type(name).unwrap_or(Type::B32),
        fit: Fit::Convert(form, name),
        forms: Forms {
            register: true,
            immediate: form.accepts_immediate(name),
            address: false,
            special,
            negated: false,
            sink: false,
            minus: false,
            selector: Selector::No,
        },
    }
}

fn fault(error: &FormError, modifiers: &[&str]) -> Fault {
    let problem = error.problems.first();
    let word = problem.map_or(0, |problem| word_at(modifiers, problem.span.start));
    let text = || modifiers.get(word).copied().unwrap_or_default().to_owned();
    let mut words = vec![word];
    let kind = match problem.map(|problem| &problem.kind) {
        Some(ProblemKind::UnknownName { name, nearest }) => {
            FaultKind::UnknownModifier { word: name.clone(), nearest: *nearest }
        }
        Some(ProblemKind::Duplicate { .. } | ProblemKind::ExtraType { .. }) => {
            FaultKind::Duplicate { word: text() }
        }
        Some(ProblemKind::MisplacedPack) => FaultKind::Misplaced { word: text() },
        Some(ProblemKind::Empty | ProblemKind::MissingType { .. }) | None => {
            words.clear();
            FaultKind::Missing { choices: Vec::new(), what: "type" }
        }
        Some(ProblemKind::MissingRounding { .. }) => {
            words.clear();
            FaultKind::Missing { choices: Vec::new(), what: "rounding" }
        }
        Some(ProblemKind::Required { modifier, .. }) => {
            words.clear();
            FaultKind::Missing { choices: vec![modifier.name()], what: "modifier" }
        }
        Some(_) => FaultKind::Combination { word: text(), choices: Vec::new() },
    };
    Fault { kind, words, nearest: error.nearest.first().map(Form::to_string) }
}

/// Which of the words a byte of their spelling is in.
fn word_at(words: &[&str], byte: usize) -> usize {
    let mut end = 0;
    for (index, word) in words.iter().enumerate() {
        end += word.len() + 1;
        if byte < end {
            return index;
        }
    }
    words.len().saturating_sub(1)
}
