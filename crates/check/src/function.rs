//! Kernels and functions (PTX ISA sections 10.1, 11.2, 11.4 and 11.6): their heads, what repeated declarations
//! must agree on, and aliases.

use crate::checked::{Attributes, FuncId, Function, VarId, Variable, VariableKind};
use crate::codes::declarations as codes;
use crate::context::Context;
use crate::declaration;
use crate::gates;
use crate::names::{Entity, Found};
use crate::redeclaration;
use crate::specifiers;
use crate::tuning;
use softwarp_isa::StateSpace;
use softwarp_syntax::tree::{self, Directive, Linkage, Name, Variables};
use softwarp_syntax::{Diagnostic, Span};

/// Judges a function's head, and whether it agrees with earlier declarations. A function that is declared inside a
/// body is known there only, unless it was before. `None` if the function has no name.
pub fn declare(context: &mut Context<'_>, function: &tree::Function, item: u32) -> Option<FuncId> {
    let name = function.name;
    if context.text(name.symbol).is_empty() {
        return None;
    }
    if context.names.depth() == 0 {
        redeclaration::predefined(context, name.symbol, noticed(function));
    }
    let known = context
        .names
        .lookup(name.symbol)
        .filter(|found| found.depth == context.names.depth() || matches!(found.entity, Entity::Function(_)));
    let id = match known.map(|found| (found.entity, found.member)) {
        Some((Entity::Function(id), None)) => id,
        _ => FuncId(context.checked.functions.len() as u32),
    };
    let around = context.function.replace(id);
    let judged = head(context, function, item);
    match known {
        None => {
            context.checked.functions.push(judged);
            // Cannot clash: nothing of the name is known in this scope.
            let _ = context.names.declare(name.symbol, Entity::Function(id), name.span);
        }
        Some(found) if !matches!(found.entity, Entity::Function(_)) || found.member.is_some() => {
            context.ordered = true;
            taken(context, function, found);
            context.checked.functions.push(judged);
        }
        Some(found) => redeclare(context, function, id, judged, found),
    }
    context.function = around;
    Some(id)
}

/// Declares a function's parameters in the scope of its body.
pub fn declare_parameters(context: &mut Context<'_>, id: FuncId) {
    let judged = context.checked.function(id);
    let parameters: Vec<VarId> = judged.returns.iter().chain(&judged.parameters).copied().collect();
    for id in parameters {
        redeclaration::declare_parameter(context, id);
    }
}

/// Judges what the assembler notices at the end of a function's body.
pub fn check_at_end(context: &mut Context<'_>, function: &tree::Function, id: FuncId, body: Span) {
    conflicting_definition(context, function, id, body);
    tuning::check_together(context, &function.directives, body);
}

/// Judges everything before the body.
fn head(context: &mut Context<'_>, function: &tree::Function, item: u32) -> Function {
    let linkage = function.linkage.first();
    if let Some(weak) = linkage.filter(|linkage| linkage.is == Linkage::Weak) {
        context.require(&gates::WEAK, weak.span);
    }
    let mut attributes = Attributes::default();
    specifiers::check_attributes(context, &function.attributes, &mut attributes);

    let input = if function.entry { VariableKind::KernelParameter } else { VariableKind::Parameter };
    let defined = function.body.is_some();
    let returns =
        parameters(context, function.returns.as_deref().unwrap_or(&[]), VariableKind::Return, defined);
    let inputs = parameters(context, function.parameters.as_deref().unwrap_or(&[]), input, defined);
    if let (true, Some(first)) = (function.entry, inputs.first()) {
        let span = context.checked.variable(*first).span;
        context.require(&gates::PARAMETER_LIST, span);
    }
    check_returns(context, &returns, noticed(function));
    check_open_parameters(context, &inputs);
    let mut noreturn = false;
    for directive in &function.directives {
        noreturn |= context.text(directive.is.word.symbol) == "noreturn";
    }
    let preserved = ["abi_preserve", "abi_preserve_control"].map(|word| {
        let mut stand = function.directives.iter();
        let found = stand.find(|directive| context.text(directive.is.word.symbol) == word);
        found.and_then(|directive| directive.is.arguments.first()).map(|number| number.is)
    });
    tuning::check(context, &function.directives);
    if noreturn && !returns.is_empty() {
        let name = context.text(function.name.symbol);
        let message = format!("`{name}` is `.noreturn`, and has return parameters");
        let help = "leave `.noreturn` away, or the return parameters";
        context.report(Diagnostic::new(codes::NORETURN, noticed(function), message).with_help(help));
    }
    Function {
        name: function.name.symbol,
        entry: function.entry,
        linkage: linkage.map(|linkage| linkage.is),
        parameters: inputs,
        returns,
        attributes,
        noreturn,
        preserved,
        defined,
        locals: Vec::new(),
        uses: Vec::new(),
        referenced: false,
        calls: Vec::new(),
        calls_indirectly: false,
        address_taken: false,
        cta_groups: [None; 2],
        item,
        span: function.name.span,
    }
}

fn parameters(
    context: &mut Context<'_>,
    list: &[Variables],
    kind: VariableKind,
    defined: bool,
) -> Vec<VarId> {
    let mut ids = Vec::with_capacity(list.len());
    for variables in list {
        if let Some(variable) = declaration::parameter(context, variables, kind, defined) {
            ids.push(VarId(context.checked.variables.len() as u32));
            context.checked.variables.push(variable);
        }
    }
    ids
}

fn check_returns(context: &mut Context<'_>, returns: &[VarId], noticed: Span) {
    let mut in_memory = None;
    for &id in returns {
        let variable = context.checked.variable(id);
        let (name, span) = (context.text(variable.name), variable.span);
        if variable.open {
            let message = format!("the return parameter `{name}` is an array without a size");
            context.report(Diagnostic::new(codes::INCOMPLETE_PARAMETER, span, message));
        } else if returns.len() > 1 && variable.space == StateSpace::Param {
            in_memory = in_memory.or(Some((name, span)));
        }
    }
    if let Some((name, span)) = in_memory {
        let message =
            format!("one of several return parameters, `{name}` is in `.param`; those are in `.reg`");
        let diagnostic = Diagnostic::new(codes::SEVERAL_RETURNS, noticed, message)
            .with_related(span, "it is declared here")
            .with_help("return one array of bytes, or write `.reg`");
        context.report(diagnostic);
    } else if returns.len() > 1 && context.options.relocatable {
        let message = "a function with several return parameters does without the ABI; the linker needs it";
        let diagnostic = Diagnostic::new(codes::SEVERAL_RETURNS, noticed, message);
        context.report(diagnostic.with_help("return one array of bytes in `.param`"));
    }
}

/// Only the last parameter of a function can be an array without a size, and none of a kernel's.
fn check_open_parameters(context: &mut Context<'_>, inputs: &[VarId]) {
    for (index, &id) in inputs.iter().enumerate() {
        let variable = context.checked.variable(id);
        if !variable.open {
            continue;
        }
        let (name, span, kind) = (context.text(variable.name), variable.span, variable.kind);
        let message = if kind == VariableKind::KernelParameter {
            format!("the kernel's parameter `{name}` is an array without a size")
        } else if index + 1 < inputs.len() {
            format!("`{name}` is an array without a size, which only the last parameter can be")
        } else if variable.space != StateSpace::Param {
            format!("`{name}` is an array without a size, which only a parameter in `.param` can be")
        } else {
            context.require(&gates::UNSIZED_PARAMETER, span);
            continue;
        };
        context
            .report(Diagnostic::new(codes::INCOMPLETE_PARAMETER, span, message).with_help("give it a size"));
    }
}

/// Where the assembler notices what is wrong with a head: at the end of a kernel's parameters, and one token
/// later for a function.
fn noticed(function: &tree::Function) -> Span {
    if function.entry {
        let last = function.parameters.as_ref().and_then(|parameters| parameters.last());
        return last
            .map_or(function.name.span, |last| Span::new(last.span.end.saturating_sub(1), last.span.end));
    }
    match &function.body {
        Some(body) => Span::new(body.span.start, body.span.start + 1),
        None => Span::new(function.span.end.saturating_sub(1), function.span.end),
    }
}

/// The name belongs to a variable.
fn taken(context: &mut Context<'_>, function: &tree::Function, found: Found) {
    let name = context.text(function.name.symbol);
    let message = format!("the function `{name}` has the name of a variable");
    let diagnostic = Diagnostic::new(codes::REDECLARATION, noticed(function), message)
        .with_related(function.name.span, "the function is named here")
        .with_related(found.span, "the variable is declared here");
    context.report(diagnostic);
}

/// What a second declaration of a function must agree on with the first.
fn redeclare(
    context: &mut Context<'_>,
    function: &tree::Function,
    id: FuncId,
    judged: Function,
    found: Found,
) {
    let name = context.text(function.name.symbol);
    let at = noticed(function);
    let known = context.checked.function(id);
    let mut wrong = Vec::new();
    if known.defined {
        wrong.push((codes::DUPLICATE, format!("the function `{name}` is defined already")));
    }
    if known.entry != judged.entry {
        let sort = |entry: bool| if entry { "a kernel" } else { "a function" };
        let message = format!("`{name}` is {} here, and {} before", sort(judged.entry), sort(known.entry));
        wrong.push((codes::REDECLARATION, message));
    } else if let Some(difference) = prototypes_differ(context, known, &judged) {
        wrong.push((codes::PROTOTYPE, format!("`{name}` is declared with {difference} before")));
    }
    let mut directives = |what: &str, differ: bool| {
        if differ {
            wrong.push((
                codes::REDECLARATION,
                format!("`{name}` is declared with and without the same `{what}`"),
            ));
        }
    };
    directives(".noreturn", known.noreturn != judged.noreturn);
    directives(".abi_preserve", known.preserved != judged.preserved);
    let silent = judged.linkage.is_none() && known.linkage != Some(Linkage::Extern);
    if judged.linkage != known.linkage && !silent {
        let (now, before) = (linkage_word(judged.linkage), linkage_word(known.linkage));
        let message = format!("`{name}` is declared {now} here, and {before} before");
        wrong.push((codes::REDECLARATION, message));
    }
    context.ordered |= !wrong.is_empty();
    for (code, message) in wrong {
        let diagnostic = Diagnostic::new(code, at, message)
            .with_related(function.name.span, "declared again here")
            .with_related(found.span, "first declared here");
        context.report(diagnostic);
    }
    let known = &mut context.checked.functions[id.0 as usize];
    let linkage = judged.linkage.or(known.linkage);
    if judged.defined || !known.defined {
        *known = Function {
            linkage,
            defined: known.defined || judged.defined,
            referenced: known.referenced,
            calls_indirectly: known.calls_indirectly,
            address_taken: known.address_taken,
            cta_groups: known.cta_groups,
            uses: std::mem::take(&mut known.uses),
            calls: std::mem::take(&mut known.calls),
            locals: std::mem::take(&mut known.locals),
            ..judged
        };
    }
}

fn linkage_word(linkage: Option<Linkage>) -> &'static str {
    match linkage {
        None => "without linkage",
        Some(Linkage::Extern) => "`.extern`",
        Some(Linkage::Visible) => "`.visible`",
        Some(Linkage::Weak) => "`.weak`",
        Some(Linkage::Common) => "`.common`",
    }
}

/// How two heads differ, in words.
fn prototypes_differ(context: &Context<'_>, a: &Function, b: &Function) -> Option<String> {
    for (sort, a, b) in
        [("return parameters", &a.returns, &b.returns), ("parameters", &a.parameters, &b.parameters)]
    {
        if a.len() != b.len() {
            return Some(format!("{} {sort}", a.len()));
        }
        for (index, (&a, &b)) in a.iter().zip(b).enumerate() {
            let (a, b) = (context.checked.variable(a), context.checked.variable(b));
            if let Some(what) = parameters_differ(a, b) {
                return Some(format!("another {what} of parameter {}", index + 1));
            }
        }
    }
    None
}

fn parameters_differ(a: &Variable, b: &Variable) -> Option<&'static str> {
    if a.space != b.space {
        Some("state space")
    } else if a.ty != b.ty || a.vector != b.vector || a.dimensions != b.dimensions {
        Some("type")
    } else if a.alignment != b.alignment {
        Some("alignment")
    } else {
        None
    }
}

/// A body for a function that is declared `.extern`: noticed at its end.
fn conflicting_definition(context: &mut Context<'_>, function: &tree::Function, id: FuncId, body: Span) {
    let known = context.checked.function(id);
    let was_extern = function.linkage.first().is_some_and(|linkage| linkage.is == Linkage::Extern);
    if known.linkage == Some(Linkage::Extern) || was_extern {
        let name = context.text(function.name.symbol);
        let message =
            format!("`{name}` is defined here, and declared `.extern`, which says that it is elsewhere");
        let at = Span::new(body.end.saturating_sub(1), body.end);
        let diagnostic = Diagnostic::new(codes::EXTERN_DEFINITION, at, message)
            .with_related(function.name.span, "the function is named here")
            .with_help("write `.visible` for a function that other modules call");
        context.report(diagnostic);
    }
}

/// Judges `.alias a, f;`: another name for a function (section 11.8).
pub fn alias(context: &mut Context<'_>, directive: &Directive<(Name, Name)>) {
    let (alias, function) = directive.is;
    context.require(&gates::ALIAS, directive.span);
    let mut find = |name: Name| {
        let entity = context.names.lookup(name.symbol).map(|found| found.entity);
        if let Some(Entity::Function(id)) = entity {
            return Some(id);
        }
        let text = context.text(name.symbol);
        let message = format!("`{text}` is not a function that has been declared");
        let mut diagnostic = Diagnostic::new(codes::ALIAS, name.span, message);
        if let Some(near) = context.names.nearest(context.module, text) {
            diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
        }
        context.report(diagnostic);
        None
    };
    let (Some(alias_id), Some(id)) = (find(alias), find(function)) else { return };
    let (name, of) = (context.text(alias.symbol), context.text(function.symbol));
    let (a, f) = (context.checked.function(alias_id), context.checked.function(id));
    let message = if alias_id == id {
        format!("`{name}` would be an alias of itself")
    } else if f.entry {
        format!("`{of}` is a kernel, which has no aliases")
    } else if a.defined {
        format!("`{name}` is defined as a function of its own")
    } else if f.linkage == Some(Linkage::Extern) {
        format!("`{of}` is `.extern`; only functions of this module have aliases")
    } else if f.linkage == Some(Linkage::Weak) {
        format!("`{of}` is `.weak`: another module's may take its place, so it has no aliases")
    } else if f.defined && !has_body(context, f) {
        format!("`{of}` is an alias itself")
    } else if let Some(difference) = prototypes_differ(context, f, a) {
        format!("`{name}` does not look like `{of}`, which has {difference}")
    } else {
        context.checked.functions[alias_id.0 as usize].defined = true;
        context.checked.aliases.push((alias.symbol, id));
        return;
    };
    context.report(Diagnostic::new(codes::ALIAS, directive.span, message));
}

/// Whether the item that is noted for a function has its body: what is defined without is an alias.
fn has_body(context: &Context<'_>, function: &Function) -> bool {
    match context.module.items.get(function.item as usize) {
        Some(tree::Item::Function(item)) => item.body.is_some(),
        _ => false,
    }
}
