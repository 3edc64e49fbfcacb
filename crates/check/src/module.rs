//! The walk over a module, in the order of the text: the header, then every item, and the body of each function as
//! it comes. What only the whole module shows comes last.

use crate::body::{self, Memory};
use crate::checked::FuncId;
use crate::context::Context;
use crate::{debugging, declaration, function, header, limits, pragma};
use softwarp_isa::Version;
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Function, Item};
use std::collections::HashMap;

/// Judges a whole module. Afterwards the context's diagnostics are in the order of the text.
pub fn check(context: &mut Context<'_>, memory: &mut Memory) {
    check_items(context, memory);
    limits::check(context);
    context.diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
}

/// Where the walk comes to a body.
#[derive(Clone, Copy, Debug)]
pub struct BodyPlace {
    /// The function.
    pub function: FuncId,
    /// From brace to brace.
    pub span: Span,
    /// How many names are declared at module scope before it.
    pub names: usize,
    /// How many variables are known before it.
    pub variables: usize,
}

/// Judges the header and the items in turn; gives the bodies that there are.
pub fn check_items(context: &mut Context<'_>, memory: &mut Memory) -> Vec<BodyPlace> {
    let mut bodies = Vec::new();
    let module = context.module;
    header::check(context);
    let mut files = HashMap::new();
    for (index, item) in module.items.iter().enumerate() {
        match item {
            Item::Variable(variables) => declaration::declare_at_module_scope(context, variables),
            Item::Function(function) => {
                bodies.extend(check_function(context, memory, function, index as u32));
            }
            Item::Alias(alias) => function::alias(context, alias),
            Item::File(file) => {
                if let Some(first) = files.insert(file.is.index, file.span) {
                    debugging::twice(context, file, first);
                }
            }
            Item::Pragma(pragma) => pragma::check(context, pragma.span, pragma::PragmaScope::Module),
            Item::Other(dwarf) => {
                let help = "write `.section .debug_info { … }`";
                context.require_before("`@@DWARF`", Version::new(2, 0), dwarf.span, help);
            }
            _ => {}
        }
    }
    bodies
}

/// Judges a function: its head, its body, and what the assembler notices at the body's end.
fn check_function(
    context: &mut Context<'_>,
    memory: &mut Memory,
    function: &Function,
    item: u32,
) -> Option<BodyPlace> {
    let id = function::declare(context, function, item)?;
    let body = function.body.as_ref()?;
    let place = BodyPlace {
        function: id,
        span: body.span,
        names: context.names.declared(),
        variables: context.checked.variables.len(),
    };
    let around = context.function.replace(id);
    context.names.push_scope();
    function::declare_parameters(context, id);
    body::check(context, memory, id, body);
    function::check_at_end(context, function, id, body.span);
    limits::check_parameters(context, id, body.span);
    context.names.pop_scope();
    context.function = around;
    Some(place)
}
