//! What only the whole module shows: how much memory there is, and what remains unresolved (PTX ISA sections
//! 5.1.3, 5.1.6.1, 5.1.7, 5.1.8, 5.3 and 10.6).
//!
//! The assembler reports most of it without a line.

use crate::abi;
use crate::call_graph::{Reachable, compiled_functions};
use crate::checked::{FuncId, Variable, VariableKind, is_provided};
use crate::codes::declarations as codes;
use crate::codes::instructions::UNRETURNED;
use crate::context::{Context, Unreturned};
use crate::cta_groups;
use crate::gates;
use softwarp_isa::device::{self, CONSTANT_BYTES, LARGE_PARAMETER_BYTES, PARAMETER_BYTES};
use softwarp_isa::{Opaque, StateSpace};
use softwarp_syntax::tree::Linkage;
use softwarp_syntax::{Code, Diagnostic, Module, Span};

/// Judges the module as a whole, after everything in it.
pub fn check(context: &mut Context<'_>) {
    check_constants(context);
    check_functions(context);
    check_variables(context);
    check_kernels(context);
    abi::check(context);
    check_constant_pointers(context);
    check_unreturned(context);
    cta_groups::check(context);
}

/// Reports a kernel with too many parameters. The assembler notices at the end of its body.
pub fn check_parameters(context: &mut Context<'_>, id: FuncId, body: Span) {
    let function = context.checked.function(id);
    if !function.entry {
        return;
    }
    let mut bytes = 0u64;
    for &id in &function.parameters {
        let parameter = context.checked.variable(id);
        bytes = padded(bytes, parameter.alignment).saturating_add(parameter.bytes());
    }
    if bytes <= PARAMETER_BYTES {
        return;
    }
    let (name, named) = (context.text(function.name), function.span);
    let at = Span::new(body.end.saturating_sub(1), body.end);
    if context.require(&gates::LARGE_PARAMETERS, at) && bytes > LARGE_PARAMETER_BYTES {
        let message = format!(
            "the kernel `{name}` has {bytes} bytes of parameters; the most is {LARGE_PARAMETER_BYTES}"
        );
        let diagnostic = Diagnostic::new(codes::PARAMETER_BYTES, at, message)
            .with_related(named, "the kernel is named here")
            .with_help("pass a pointer to global memory");
        context.report(diagnostic);
    }
}

/// The next multiple of an alignment.
fn padded(bytes: u64, alignment: u64) -> u64 {
    let mask = alignment.max(1) - 1;
    bytes.saturating_add(mask) & !mask
}

/// One after another in the order of the text. For the linker they are counted without gaps, and those of other
/// modules not at all.
fn check_constants(context: &mut Context<'_>) {
    let relocatable = context.options.relocatable;
    let mut bytes = 0u64;
    let mut last = None;
    for variable in &context.checked.variables {
        let counted = variable.space == StateSpace::Const
            && matches!(variable.kind, VariableKind::Module | VariableKind::Local)
            && variable.bank.unwrap_or(0) == 0
            && variable.count.is_none()
            && !(relocatable && variable.linkage == Some(Linkage::Extern));
        if counted {
            let gap = if relocatable { 1 } else { variable.alignment };
            bytes = padded(bytes, gap).saturating_add(variable.bytes());
            if bytes > CONSTANT_BYTES {
                last = last.or(Some(variable.span));
            }
        }
    }
    if let Some(span) = last {
        let message =
            format!("the module has {bytes} bytes of `.const` variables; the most is {CONSTANT_BYTES}");
        let help = "declare some of them `.global`";
        context.report(Diagnostic::new(codes::CONSTANT_BYTES, span, message).with_help(help));
    }
}

/// Functions that were declared and never defined.
fn check_functions(context: &mut Context<'_>) {
    let mut wrong = Vec::new();
    for (id, diagnostic) in std::mem::take(&mut context.deferred.if_undefined) {
        if !context.checked.function(id).defined {
            wrong.push(diagnostic);
        }
    }
    for function in &context.checked.functions {
        let name = context.text(function.name);
        let is_extern = function.linkage == Some(Linkage::Extern);
        let message = match (function.defined, is_extern) {
            (true, _) => None,
            (false, _) if is_provided(name) => {
                if function.address_taken {
                    let message =
                        format!("`{name}` is a function of the driver's: it has no address to take");
                    let help = "call it directly, from a function of this module if an address is needed";
                    wrong.push(
                        Diagnostic::new(codes::PROVIDED_ADDRESS, function.span, message).with_help(help),
                    );
                }
                None
            }
            (false, false) => {
                Some((format!("`{name}` is declared and never defined"), "define it, or write `.extern`"))
            }
            (false, true) => {
                let missing = function.referenced && !context.options.relocatable;
                missing.then(|| {
                    let message =
                        format!("`{name}` is in another module, and this one is assembled on its own");
                    let help = match name.starts_with("__cudaCDP2") {
                        true => "it lets kernels launch kernels: assemble it for the linker (`-c`); nothing here runs it",
                        false => "assemble it for the linker (`-c`)",
                    };
                    (message, help)
                })
            }
        };
        if let Some((message, help)) = message {
            wrong.push(Diagnostic::new(codes::UNRESOLVED, function.span, message).with_help(help));
        }
        if function.attributes.unified.is_some() && !context.options.relocatable {
            wrong.push(unified(name, function.span));
        }
    }
    wrong.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// Variables of other modules, and attributes, that only the linker can make something of.
fn check_variables(context: &mut Context<'_>) {
    if context.options.relocatable {
        return;
    }
    let mut wrong = Vec::new();
    for variable in &context.checked.variables {
        let name = context.text(variable.name);
        let elsewhere = variable.linkage == Some(Linkage::Extern) && variable.bank.is_none();
        if elsewhere && variable.open && matches!(variable.space, StateSpace::Global | StateSpace::Const) {
            let message =
                format!("`{name}` is an array of another module, and this one is assembled on its own");
            let help = "give it a size, or assemble it for the linker (`-c`)";
            wrong.push(Diagnostic::new(codes::UNRESOLVED, variable.span, message).with_help(help));
        } else if elsewhere && variable.kind == VariableKind::Module && !variable.open {
            let message =
                format!("`{name}` is `.extern`, and this module is assembled on its own: it is defined here");
            wrong.push(Diagnostic::new(codes::EXTERN_IGNORED, variable.span, message));
        }
        if variable.attributes.unified.is_some() {
            wrong.push(unified(name, variable.span));
        }
    }
    wrong.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

fn unified(name: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` is `.unified`, which needs the linker");
    Diagnostic::new(codes::UNIFIED, span, message).with_help("assemble it for the linker (`-c`)")
}

/// What the variables that a kernel uses amount to.
#[derive(Default)]
struct Usage {
    shared_bytes: u64,
    textures: usize,
    samplers: usize,
    surfaces: usize,
}

impl Usage {
    fn add(&mut self, variable: &Variable) {
        match (variable.space, variable.opaque()) {
            (StateSpace::Shared, _) => {
                self.shared_bytes =
                    padded(self.shared_bytes, variable.alignment).saturating_add(variable.bytes());
            }
            (StateSpace::Tex, _) | (_, Some(Opaque::Texref)) => self.textures += 1,
            (_, Some(Opaque::Samplerref)) => self.samplers += 1,
            (_, Some(Opaque::Surfref)) => self.surfaces += 1,
            _ => {}
        }
    }

    /// What is too much, in words.
    fn too_much(&self, context: &Context<'_>) -> Option<(Code, String, &'static str)> {
        // The GPU that is assembled for decides, not `.target`.
        let most = context.checked.header.arch.static_shared_bytes();
        if self.shared_bytes > most && !context.options.relocatable {
            let message = format!("{} bytes of `.shared` variables; the most is {most}", self.shared_bytes);
            return Some((
                codes::SHARED_BYTES,
                message,
                "declare `.extern .shared` memory and give its size at launch",
            ));
        }
        let counts = [
            (self.textures, device::TEXTURES, "textures"),
            (self.samplers, device::SAMPLERS, "samplers"),
            (self.surfaces, device::SURFACES, "surfaces"),
        ];
        let (count, most, what) = counts.into_iter().find(|(count, most, _)| count > most)?;
        Some((codes::TEXTURES, format!("{count} {what}; the most is {most}"), "pass handles as parameters"))
    }
}

/// Reports kernels that use too much: all of their own and their callees' variables, and those at module scope
/// that they use.
fn check_kernels(context: &mut Context<'_>) {
    let mut everything = Usage::default();
    context.checked.variables.iter().for_each(|variable| everything.add(variable));
    if everything.too_much(context).is_none() {
        return;
    }
    let mut wrong = Vec::new();
    let mut reachable = Reachable::new(context);
    let kernels = context.checked.functions.iter().enumerate().filter(|(_, function)| function.entry);
    // Walking the calls of each kernel is quadratic in the worst case; kernels past this number are not checked.
    const MOST_KERNELS: usize = 256;
    for (kernel, function) in kernels.take(MOST_KERNELS) {
        let mut usage = Usage::default();
        for id in reachable.variables(context, FuncId(kernel as u32)) {
            usage.add(context.checked.variable(id));
        }
        if let Some((code, what, help)) = usage.too_much(context) {
            let message = format!("the kernel `{}` uses {what}", context.text(function.name));
            wrong.push(Diagnostic::new(code, function.span, message).with_help(help));
        }
    }
    wrong.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// The first parameter that points to constants.
pub fn constant_pointer(variables: &[Variable]) -> Option<&Variable> {
    variables
        .iter()
        .find(|variable| variable.pointer.is_some_and(|pointer| pointer.space == Some(StateSpace::Const)))
}

/// Whether an instruction converts addresses of constants.
pub fn converts_constants(module: &Module) -> bool {
    let (Some(cvta), Some(constant)) = (module.symbols.find("cvta"), module.symbols.find("const")) else {
        return false;
    };
    let mut mnemonics = module.mnemonics.iter();
    mnemonics.any(|mnemonic| mnemonic.opcode == cvta && mnemonic.modifiers.contains(&constant))
}

/// Pointers to constant buffers as parameters, and generic pointers to constants: not both in one module.
fn check_constant_pointers(context: &mut Context<'_>) {
    if !converts_constants(context.module) {
        return;
    }
    if let Some(parameter) = constant_pointer(&context.checked.variables) {
        let name = context.text(parameter.name);
        let message = format!(
            "`{name}` points to constants, and a module with such parameters cannot use `cvta.const`"
        );
        let diagnostic = Diagnostic::new(codes::CONSTANT_POINTERS, parameter.span, message);
        context.report(diagnostic.with_help("write `.ptr` without `.const`"));
    }
}

/// Reports loads of `.param` variables that no call returned into, in functions that the assembler makes code
/// for.
fn check_unreturned(context: &mut Context<'_>) {
    let unreturned = std::mem::take(&mut context.deferred.unreturned);
    if unreturned.is_empty() {
        return;
    }
    let compiled = compiled_functions(context);
    for Unreturned { function, variable, at } in unreturned {
        if compiled.get(function.0 as usize).copied().unwrap_or(false) {
            let variable = context.checked.variable(variable);
            let name = context.text(variable.name);
            let diagnostic = Diagnostic::new(
                UNRETURNED,
                at,
                format!("`{name}` is read, but no call above this returns into it"),
            )
            .with_related(variable.span, format!("`{name}` is declared here"))
            .with_help("read a `.param` of a body only after `call (it), …`; use `.local` for variables");
            context.report(diagnostic);
        }
    }
}
