//! Instructions for one CTA and for a pair of CTAs, which a kernel cannot have both (PTX ISA section 9.7.16.5).
//!
//! The assembler judges a kernel with the functions that it reaches. If the kernel has such an instruction or calls
//! through a pointer, all functions whose addresses are taken count as reached too. For the linker it judges each
//! function alone. It names no line.

use crate::checked::{FuncId, Function};
use crate::codes::instructions::CTA_GROUPS;
use crate::context::Context;
use softwarp_syntax::{Diagnostic, Span};

/// Walking the calls of each kernel is quadratic in the worst case; kernels past this number are not checked.
const MOST_KERNELS: usize = 256;

/// The first instruction found of each group.
type Groups = [Option<Span>; 2];

/// Reports kernels with instructions of both groups; for the linker, functions.
pub fn check(context: &mut Context<'_>) {
    let functions = &context.checked.functions;
    if !(0..2).all(|group| functions.iter().any(|function| function.cta_groups[group].is_some())) {
        return;
    }
    let wrong: Vec<Diagnostic> = match context.options.relocatable {
        true => {
            functions.iter().filter_map(|function| both(context, function, function.cta_groups)).collect()
        }
        false => {
            let kernels = (0..).zip(functions).filter(|(_, function)| function.entry);
            let mut walk = Walk { context, marks: vec![None; functions.len()] };
            let judge = |(id, kernel)| both(context, kernel, walk.kernel(FuncId(id)));
            kernels.take(MOST_KERNELS).filter_map(judge).collect()
        }
    };
    wrong.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// What is wrong if there are instructions of both groups.
fn both(context: &Context<'_>, function: &Function, groups: Groups) -> Option<Diagnostic> {
    let [Some(one), Some(pair)] = groups else { return None };
    let name = context.text(function.name);
    let sort = if function.entry { "kernel" } else { "function" };
    let message = format!("the {sort} `{name}` uses `.cta_group::1` and `.cta_group::2`");
    let (first, second) = if one.start < pair.start { (one, pair) } else { (pair, one) };
    let diagnostic = Diagnostic::new(CTA_GROUPS, second, message)
        .with_related(first, "the other group is used here")
        .with_help("use the same group in all `tcgen05` instructions of a kernel");
    Some(diagnostic)
}

/// Searches what one kernel after another reaches.
struct Walk<'a, 'm> {
    context: &'a Context<'m>,
    /// For every function the kernel that reached it last.
    marks: Vec<Option<FuncId>>,
}

impl Walk<'_, '_> {
    /// The groups of a kernel and of what it reaches.
    fn kernel(&mut self, kernel: FuncId) -> Groups {
        let (mut groups, mut indirect) = ([None; 2], false);
        self.reach(kernel, vec![kernel], &mut groups, &mut indirect);
        if indirect || groups.iter().any(Option::is_some) {
            let all = (0..).zip(&self.context.checked.functions);
            let taken = all.filter(|(_, function)| function.address_taken && !function.entry);
            let taken = taken.map(|(id, _)| FuncId(id)).collect();
            self.reach(kernel, taken, &mut groups, &mut indirect);
        }
        groups
    }

    /// Adds the groups of functions and of what they call.
    fn reach(&mut self, kernel: FuncId, mut open: Vec<FuncId>, groups: &mut Groups, indirect: &mut bool) {
        let checked = &self.context.checked;
        while let Some(id) = open.pop() {
            if self.marks[id.0 as usize].replace(kernel) == Some(kernel) {
                continue;
            }
            let function = checked.function(id);
            for (known, &new) in groups.iter_mut().zip(&function.cta_groups) {
                *known = known.or(new);
            }
            *indirect |= function.calls_indirectly;
            open.extend(&function.calls);
            let aliases = checked.aliases.iter().filter(|(name, _)| *name == function.name);
            open.extend(aliases.map(|(_, of)| of));
        }
    }
}
