//! What functions reach by direct calls: depth-first searches over the calls that bodies have recorded.

use crate::checked::{FuncId, Function, VarId};
use crate::context::Context;

/// Which functions the assembler generates code for, or calls to.
pub(crate) fn compiled_functions(context: &Context<'_>) -> Vec<bool> {
    let functions = &context.checked.functions;
    let root = |(index, function): (usize, &Function)| {
        let root = function.entry || context.options.relocatable && function.defined;
        root.then_some(FuncId(index as u32))
    };
    let mut open: Vec<FuncId> = functions.iter().enumerate().filter_map(root).collect();
    let mut compiled = vec![false; functions.len()];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut compiled[id.0 as usize], true) {
            open.extend(&context.checked.function(id).calls);
        }
    }
    compiled
}

/// Searches the variables of one kernel after another, with marks that are allocated once.
pub(crate) struct Reachable {
    /// For every function and variable the kernel that reached it last.
    functions: Vec<Option<FuncId>>,
    variables: Vec<Option<FuncId>>,
}

impl Reachable {
    /// Nothing has been reached.
    pub fn new(context: &Context<'_>) -> Reachable {
        Reachable {
            functions: vec![None; context.checked.functions.len()],
            variables: vec![None; context.checked.variables.len()],
        }
    }

    /// The variables that a kernel and what it calls have, in the order of their declarations.
    pub fn variables(&mut self, context: &Context<'_>, kernel: FuncId) -> Vec<VarId> {
        let mut found = Vec::new();
        let mut open = vec![kernel];
        while let Some(id) = open.pop() {
            if self.functions[id.0 as usize].replace(kernel) == Some(kernel) {
                continue;
            }
            let function = context.checked.function(id);
            open.extend(&function.calls);
            for &id in function.locals.iter().chain(&function.uses) {
                if self.variables[id.0 as usize].replace(kernel) != Some(kernel) {
                    found.push(id);
                }
            }
        }
        found.sort_unstable();
        found
    }
}
