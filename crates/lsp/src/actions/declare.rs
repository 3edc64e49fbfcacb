//! Declares a register that is not: in a family that has too few, or for itself.

use super::{Proposal, operand_at};
use crate::analysis::{Document, statement_span};
use softwarp_check::codes::instructions as codes;
use softwarp_diagnostic::{Diagnostic, Edit, Span};
use softwarp_isa::instruction::Kind;
use softwarp_isa::{StateSpace, Type};
use softwarp_syntax::tree::Statement;

pub(super) fn proposals(document: &Document, diagnostic: &Diagnostic) -> Vec<Proposal> {
    if diagnostic.code != codes::UNDECLARED {
        return Vec::new();
    }
    let name = diagnostic.span().text(document.source()).split('.').next().unwrap_or_default();
    if name.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<Proposal> = enlarge(document, diagnostic, name).into_iter().collect();
    all.extend(declare(document, diagnostic, name));
    all
}

/// `%r9` where there is `%r<9>`.
fn enlarge(document: &Document, diagnostic: &Diagnostic, name: &str) -> Option<Proposal> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number: u32 = name[prefix.len()..].parse().ok()?;
    let analysis = document.analysis();
    let (item, _) = analysis.function_at(diagnostic.span().start)?;
    let family = analysis.statements(item).iter().filter_map(|statement| match statement {
        Statement::Variable(variables) => Some(variables.declarators.of(&analysis.module.declarators)),
        _ => None,
    });
    let declarator =
        family.flatten().find(|one| one.count.is_some() && analysis.name(one.name.symbol) == prefix)?;
    let count = declarator.count.as_ref()?;
    let new = u64::from(number.checked_add(1)?);
    (new > count.is).then(|| Proposal {
        title: format!("enlarge `{prefix}<{}>` to `{prefix}<{new}>`", count.is),
        edits: vec![Edit { span: count.span, text: new.to_string() }],
        certain: false,
    })
}

/// `.reg .b32 %x;` before the first statement that declares none.
fn declare(document: &Document, diagnostic: &Diagnostic, name: &str) -> Option<Proposal> {
    let analysis = document.analysis();
    let at = diagnostic.span();
    let ty = wanted_type(document, at)?;
    let (item, function) = analysis.function_at(at.start)?;
    let body = function.body.as_ref()?;
    let is_register = |statement: &&Statement| match statement {
        Statement::Variable(variables) => {
            variables.specifiers.of(&analysis.module.specifiers).iter().any(|one| {
                matches!(one.is, softwarp_syntax::tree::Specifier::Space { space: StateSpace::Reg, .. })
            })
        }
        _ => false,
    };
    let last = analysis
        .statements(item)
        .iter()
        .filter(is_register)
        .map(statement_span)
        .filter(|span| span.end <= at.start)
        .last();
    let (place, indent) = match last {
        Some(span) => (span.end, indent(document, span)),
        None => (body.span.start + 1, "\t".to_owned()),
    };
    let text = format!("\n{indent}.reg .{ty} {name};");
    Some(Proposal {
        title: format!("declare `.reg .{ty} {name};`"),
        edits: vec![Edit { span: Span::new(place, place), text }],
        certain: false,
    })
}

fn indent(document: &Document, span: Span) -> String {
    let line = document.text.line_span(document.text.line(span.start)).text(document.source());
    line.chars().take_while(|c| c.is_whitespace()).collect()
}

/// The type of register that stands there.
fn wanted_type(document: &Document, at: Span) -> Option<Type> {
    let analysis = document.analysis();
    let instruction = analysis.instruction_at(at.start)?;
    if instruction
        .guard
        .is_some_and(|guard| guard.name.span.start <= at.start && at.start < guard.name.span.end)
    {
        return Some(Type::Pred);
    }
    let (instruction, index) = operand_at(document, at)?;
    let form = analysis.form(instruction.mnemonic)?;
    let operands = instruction.operands.of(&analysis.module.operands);
    let wanted = crate::analysis::wanted(form, operands)?.get(index)?;
    let address = if analysis.checked.header.address_bits == 32 { Type::B32 } else { Type::B64 };
    match &wanted.kind {
        Kind::Value(value) if value.forms.register => Some(untyped(value.register())),
        Kind::Vector { element, .. } => Some(untyped(element.register())),
        Kind::Pair(first, second) => {
            let is_second = operands[index]
                .span
                .text(document.source())
                .find('|')
                .is_some_and(|bar| at.start > operands[index].span.start + bar as u32);
            let part = if is_second { &second.kind } else { &first.kind };
            match part {
                Kind::Value(value) => Some(untyped(value.register())),
                _ => None,
            }
        }
        Kind::Address(_) => Some(address),
        _ => None,
    }
}

/// The type that compilers declare: integers are bits.
fn untyped(ty: Type) -> Type {
    match (ty.is_int(), ty.bits()) {
        (true, 16) => Type::B16,
        (true, 32) => Type::B32,
        (true, 64) => Type::B64,
        _ => ty,
    }
}
