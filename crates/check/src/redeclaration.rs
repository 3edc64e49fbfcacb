//! Declares the names of variables, and compares declarations that repeat a name (PTX ISA sections 5.4.6 and 11.6).

use crate::checked::{VarId, Variable, VariableKind};
use crate::codes::declarations as codes;
use crate::context::Context;
use crate::names::{Entity, Found};
use softwarp_isa::special::SpecialRegister;
use softwarp_syntax::tree::{Linkage, Symbol};
use softwarp_syntax::{Diagnostic, Span};

/// Declares a name in the innermost scope; at module scope a variable can be declared more than once.
pub fn declare(context: &mut Context<'_>, variable: Variable) -> VarId {
    let id = VarId(context.checked.variables.len() as u32);
    let (symbol, span) = (variable.name, variable.span);
    if variable.kind == VariableKind::Module && variable.count.is_none() {
        predefined(context, symbol, span);
    }
    let outcome = match variable.count {
        Some(count) => context.names.declare_family(symbol, count, Entity::Variable(id), span),
        None => context.names.declare(symbol, Entity::Variable(id), span),
    };
    match outcome {
        Ok(()) => {}
        Err(clash) if variable.kind == VariableKind::Module => return redeclare(context, variable, clash),
        Err(clash) => duplicate(context, &variable, clash),
    }
    context.checked.variables.push(variable);
    if let (Some(function), true) = (context.function, context.names.depth() > 0) {
        context.checked.functions[function.0 as usize].locals.push(id);
    }
    id
}

/// Reports a special register's name at module scope, where the assembler has it declared already.
pub fn predefined(context: &mut Context<'_>, symbol: Symbol, span: Span) {
    let name = context.text(symbol);
    if SpecialRegister::from_name(name).is_some() {
        let message = format!("`{name}` is a special register, which is declared at module scope already");
        let help = "give it another name; in a body, a declaration hides the special register";
        context.report(Diagnostic::new(codes::PREDEFINED, span, message).with_help(help));
    }
}

/// Declares the name of a judged parameter.
pub fn declare_parameter(context: &mut Context<'_>, id: VarId) {
    let variable = context.checked.variable(id);
    if let Err(clash) = context.names.declare(variable.name, Entity::Variable(id), variable.span) {
        let variable = variable.clone();
        duplicate(context, &variable, clash);
    }
}

/// Reports a name that is declared twice in a scope.
fn duplicate(context: &mut Context<'_>, variable: &Variable, clash: Found) {
    let name = match variable.count {
        Some(count) => format!("{}<{count}>", context.text(variable.name)),
        None => context.text(variable.name).to_owned(),
    };
    let message = match (clash.entity, variable.count) {
        (Entity::Variable(other), _) if context.checked.variable(other).name != variable.name => {
            let other = context.checked.variable(other);
            let mut family = context.text(other.name).to_owned();
            if let Some(count) = other.count {
                family.push_str(&format!("<{count}>"));
            }
            format!("`{name}` and `{family}` share a name")
        }
        _ => format!("`{name}` is declared twice in the same scope"),
    };
    let diagnostic = Diagnostic::new(codes::DUPLICATE, variable.span, message);
    context.report(diagnostic.with_related(clash.span, "first declared here"));
}

/// A second declaration at module scope: `.extern` ones repeat others, one at most is the definition.
fn redeclare(context: &mut Context<'_>, variable: Variable, clash: Found) -> VarId {
    context.ordered = true;
    let fresh = VarId(context.checked.variables.len() as u32);
    let is_extern = |variable: &Variable| variable.linkage == Some(Linkage::Extern);
    let (Entity::Variable(id), None, None) = (clash.entity, clash.member, variable.count) else {
        duplicate(context, &variable, clash);
        context.checked.variables.push(variable);
        return fresh;
    };
    let known = context.checked.variable(id);
    let name = context.text(variable.name);
    if !is_extern(&variable) && !is_extern(known) || known.count.is_some() {
        duplicate(context, &variable, clash);
        context.checked.variables.push(variable);
        return fresh;
    }
    if !same_type(known, &variable) {
        let message = format!(
            "`{name}` is declared as {} here, and as {} before",
            variable.described(),
            known.described()
        );
        let diagnostic = Diagnostic::new(codes::REDECLARATION, variable.span, message);
        context.report(diagnostic.with_related(clash.span, "first declared here"));
        return id;
    }
    let known_extern = is_extern(known);
    if known.space != variable.space {
        let message = format!(
            "`{name}` is in `{}` here and in `{}` before; the assembler lets this pass",
            variable.space, known.space
        );
        context.deviation(codes::SPACE_CHANGED, variable.span, message);
    }
    if known_extern && !is_extern(&variable) {
        if variable.linkage.is_none() {
            let message =
                format!("`{name}` is declared `.extern`, and a definition that others can see is `.visible`");
            let diagnostic = Diagnostic::new(codes::EXTERN_STATIC, variable.span, message)
                .with_help("write `.visible`, or leave the `.extern` declaration away");
            context.report(diagnostic.with_related(clash.span, "declared `.extern` here"));
        }
        let user = context.checked.variable(id).user;
        context.checked.variables[id.0 as usize] = Variable { user, ..variable };
    }
    id
}

/// Whether two declarations agree; an open dimension agrees with any.
fn same_type(a: &Variable, b: &Variable) -> bool {
    let outermost = match (a.dimensions.split_first(), b.dimensions.split_first()) {
        (None, None) => true,
        (Some((first, inner)), Some((other, other_inner))) => {
            inner == other_inner && (first == other || a.open || b.open)
        }
        _ => false,
    };
    a.ty == b.ty && a.vector == b.vector && outermost
}
