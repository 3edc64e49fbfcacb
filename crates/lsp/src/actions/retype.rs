//! Mends an operand of a wrong type: another type for the instruction, or for the register.

use super::{Proposal, operand_at};
use crate::analysis::{Analysis, Document, Entity, wanted};
use softwarp_check::checked::VarId;
use softwarp_check::codes::instructions as codes;
use softwarp_diagnostic::{Diagnostic, Edit};
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Kind, Signature, Value, Wanted, resolve};
use softwarp_syntax::tree::{DeclaredType, Instruction, Item, Specifier, Statement, Variables};

/// The most other types that are proposed for an instruction.
const MOST: usize = 3;

pub(super) fn proposals(document: &Document, diagnostic: &Diagnostic) -> Vec<Proposal> {
    if diagnostic.code != codes::OPERAND_TYPE {
        return Vec::new();
    }
    let analysis = document.analysis();
    let Some((instruction, index)) = operand_at(document, diagnostic.span()) else { return Vec::new() };
    let Some(form) = analysis.form(instruction.mnemonic) else { return Vec::new() };
    let mut all = instruction_types(document, instruction, form);
    all.extend(register_type(document, diagnostic, instruction, form, index));
    all
}

/// The types of the registers that stand as operands; `None` for other operands.
fn register_types(analysis: &Analysis, instruction: &Instruction) -> Vec<Option<Type>> {
    let operands = instruction.operands.of(&analysis.module.operands);
    let of =
        |operand: &softwarp_syntax::tree::Operand| match analysis.occurrence_at(operand.span.start)?.entity {
            Entity::Variable(id, _) => analysis.variable(id).value_type(),
            _ => None,
        };
    operands.iter().map(of).collect()
}

/// The same instruction with another type that all its registers have.
fn instruction_types(
    document: &Document,
    instruction: &Instruction,
    form: &InstructionForm,
) -> Vec<Proposal> {
    let analysis = document.analysis();
    let [old] = form.types.as_slice() else { return Vec::new() };
    let types = register_types(analysis, instruction);
    let operands = instruction.operands.of(&analysis.module.operands);
    let words: Vec<&str> = form.words.iter().map(|word| word.name()).collect();
    let with = |ty: &Type| {
        let words: Vec<&str> =
            words.iter().map(|&word| if word == old.name() { ty.name() } else { word }).collect();
        resolve(form.opcode.name(), &words).ok()
    };
    let accepts = |(ty, wanted): (&Option<Type>, &Wanted)| match (ty, &wanted.kind) {
        (Some(ty), Kind::Value(value)) => value.accepts(*ty),
        _ => true,
    };
    // Where the module may not use it, it is no help.
    let header = &analysis.checked.header;
    let fits = |ty: &Type| {
        with(ty).is_some_and(|form| {
            let exists = |one: &Signature| one.shut_gate(header.version, header.target).is_none();
            let fits = wanted(&form, operands).is_some_and(|wanted| types.iter().zip(wanted).all(accepts));
            fits && form.signatures.iter().any(exists)
        })
    };
    let span = instruction.mnemonic_span;
    let text = span.text(document.source());
    Type::ALL
        .iter()
        .filter(|ty| *ty != old && ty.is_fundamental() && fits(ty))
        .take(MOST)
        .map(|ty| {
            let new = text.replacen(&format!(".{old}"), &format!(".{ty}"), 1);
            Proposal {
                title: format!("write `{new}`"),
                edits: vec![Edit { span, text: new }],
                certain: false,
            }
        })
        .collect()
}

/// Another type where the register is declared.
fn register_type(
    document: &Document,
    diagnostic: &Diagnostic,
    instruction: &Instruction,
    form: &InstructionForm,
    index: usize,
) -> Option<Proposal> {
    let analysis = document.analysis();
    let operands = instruction.operands.of(&analysis.module.operands);
    let Kind::Value(Value { ty, .. }) = &wanted(form, operands)?.get(index)?.kind else { return None };
    let ty = if ty.is_fundamental() { *ty } else { ty.register_type() };
    let Entity::Variable(id, _) = analysis.occurrence_at(diagnostic.span().start)?.entity else {
        return None;
    };
    let variables = declaration(analysis, id)?;
    let specifiers = variables.specifiers.of(&analysis.module.specifiers);
    let span = specifiers
        .iter()
        .find(|one| matches!(one.is, Specifier::Type(DeclaredType::Value(_))))
        .map(|one| one.span)?;
    let declared = variables.declarators.of(&analysis.module.declarators);
    let names: Vec<&str> = declared.iter().map(|one| one.span.text(document.source())).collect();
    Some(Proposal {
        title: format!(
            "declare {} as `.{ty}`",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
        edits: vec![Edit { span, text: format!(".{ty}") }],
        certain: false,
    })
}

/// The declaration of a variable.
fn declaration(analysis: &Analysis, id: VarId) -> Option<&Variables> {
    let at = analysis.variable(id).span;
    let of_module = analysis.module.items.iter().filter_map(|item| match item {
        Item::Variable(variables) => Some(variables),
        _ => None,
    });
    let (item, _) = analysis.function_at(at.start).unzip();
    let statements = item.map_or(&[][..], |item| analysis.statements(item));
    let of_body = statements.iter().filter_map(|statement| match statement {
        Statement::Variable(variables) => Some(variables),
        _ => None,
    });
    of_module
        .chain(of_body)
        .find(|variables| variables.span.start <= at.start && at.end <= variables.span.end)
}
