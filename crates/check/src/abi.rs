//! What depends on whether the module has the ABI (PTX ISA sections 7.1 and 10.1).
//!
//! The assembler does without it if a function or prototype has several results, or if there are `.reg` or `.local`
//! variables at module scope. Then values of any type are passed in registers; but there are no calls through
//! pointers, no functions of other modules, no addresses of functions, and no recursion in what a kernel reaches.

use crate::call_graph::compiled_functions;
use crate::checked::{FuncId, VarId, VariableKind};
use crate::codes::declarations as codes;
use crate::context::Context;
use softwarp_isa::{StateSpace, Type};
use softwarp_syntax::{Diagnostic, Span};

/// Judges the module's functions and calls, after everything in it.
pub fn check(context: &mut Context<'_>) {
    let if_abi = std::mem::take(&mut context.deferred.if_abi);
    match reason(context) {
        None => {
            if_abi.into_iter().for_each(|diagnostic| context.report(diagnostic));
            check_narrow_parameters(context);
        }
        Some(reason) => check_without(context, reason),
    }
}

/// What makes the module do without the ABI, and where it stands.
fn reason(context: &Context<'_>) -> Option<(&'static str, Option<Span>)> {
    let checked = &context.checked;
    let several = checked.functions.iter().find(|function| function.returns.len() > 1);
    let global = || {
        checked.variables.iter().find(|variable| {
            variable.kind == VariableKind::Module
                && matches!(variable.space, StateSpace::Reg | StateSpace::Local)
        })
    };
    match several {
        Some(function) => Some(("this function has several results", Some(function.span))),
        None if context.deferred.several_results => Some(("a prototype has several results", None)),
        None => global().map(|variable| ("this variable is at module scope", Some(variable.span))),
    }
}

/// What the module cannot have without the ABI. The assembler names no line.
fn check_without(context: &mut Context<'_>, (why, reason): (&str, Option<Span>)) {
    let functions = &context.checked.functions;
    let mut wrong = Vec::new();
    let mut say = |span: Span, message: String| {
        let diagnostic = Diagnostic::new(codes::NEEDS_ABI, span, message).with_help(
            "return one array of bytes in `.param`, and declare `.reg` and `.local` variables in bodies",
        );
        wrong.push(match reason {
            Some(reason) => {
                diagnostic.with_related(reason, format!("{why}: the module does without the ABI"))
            }
            None => diagnostic,
        });
    };
    for function in functions {
        let name = context.text(function.name);
        if function.calls_indirectly {
            say(function.span, format!("`{name}` calls through a pointer, which needs the ABI"));
        }
        if function.address_taken && function.defined && !function.entry {
            say(function.span, format!("the address of `{name}` is taken, which needs the ABI"));
        }
        let foreign =
            function.calls.iter().map(|&id| context.checked.function(id)).find(|callee| !callee.defined);
        if let Some(callee) = foreign {
            let callee = context.text(callee.name);
            say(function.span, format!("`{name}` calls `{callee}` of another module, which needs the ABI"));
        }
    }
    if let Some(id) = recursive(context) {
        let function = context.checked.function(id);
        let name = context.text(function.name);
        say(function.span, format!("`{name}` is recursive, which needs the ABI"));
    }
    wrong.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// A function that a kernel reaches and that can call itself: a back edge of the depth-first search.
fn recursive(context: &Context<'_>) -> Option<FuncId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let functions = &context.checked.functions;
    let mut marks = vec![Mark::New; functions.len()];
    let kernels = functions.iter().enumerate().filter(|(_, function)| function.entry);
    for (kernel, _) in kernels {
        let mut path = vec![(kernel, 0usize)];
        while let Some((at, next)) = path.last_mut() {
            marks[*at] = if marks[*at] == Mark::Done { Mark::Done } else { Mark::Open };
            let Some(&callee) = functions[*at].calls.get(*next).filter(|_| marks[*at] == Mark::Open) else {
                marks[*at] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[callee.0 as usize] {
                Mark::New => path.push((callee.0 as usize, 0)),
                Mark::Open => return Some(callee),
                Mark::Done => {}
            }
        }
    }
    None
}

/// With the ABI, what functions take and return has at least 32 bits, or a bit type. Functions that no kernel
/// reaches are looked at only if the linker may need them.
fn check_narrow_parameters(context: &mut Context<'_>) {
    let checked = &context.checked;
    let narrow = |&id: &VarId| {
        let parameter = checked.variable(id);
        let ty = parameter.value_type().filter(|_| !parameter.is_array() && parameter.vector == 1)?;
        matches!(ty, Type::S8 | Type::U8 | Type::S16 | Type::U16 | Type::Pred).then_some(parameter)
    };
    let mut wrong = checked.functions.iter().enumerate().filter(|(_, function)| !function.entry).filter_map(
        |(index, function)| {
            let parameter = function.returns.iter().chain(&function.parameters).find_map(narrow)?;
            Some((index, function, parameter))
        },
    );
    let Some(first) = wrong.next() else { return };
    let compiled = compiled_functions(context);
    let found = std::iter::once(first).chain(wrong).find(|(index, ..)| compiled[*index]);
    if let Some((_, function, parameter)) = found {
        let (name, of) = (context.text(parameter.name), context.text(function.name));
        let message =
            format!("`{name}` of the function `{of}` has less than 32 bits, which the ABI does not pass");
        let help = "declare it `.b32`, or `.b16` or `.b8`";
        let diagnostic = Diagnostic::new(codes::NARROW_PARAMETER, parameter.span, message);
        context.report(diagnostic.with_help(help));
    }
}
