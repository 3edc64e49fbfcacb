//! Variables (PTX ISA sections 5.1 to 5.4): whether what is declared may exist in its state space and scope.

use crate::checked::{Attributes, VarId, Variable, VariableKind};
use crate::codes::declarations as codes;
use crate::constant::WARP_SIZE;
use crate::context::Context;
use crate::gates::Feature;
use crate::redeclaration::declare;
use crate::specifiers::{self, Position, Specified};
use crate::{gates, initialiser};
use softwarp_isa::{Opaque, StateSpace, Type, Version};
use softwarp_syntax::tree::{At, Declarator, DeclaredType, Expr, Linkage, Literal, Variables};
use softwarp_syntax::{Diagnostic, Span};

/// Parameters that are passed through memory can be aligned this much at most.
const LARGEST_PARAMETER_ALIGNMENT: u64 = 128;

/// The version from which `.reg` and `.local` variables belong to functions: the assembler uses the ABI.
const ABI: Version = Version::new(3, 0);

/// Judges and declares variables at module scope.
pub fn declare_at_module_scope(context: &mut Context<'_>, variables: &Variables) {
    let specified = specifiers::read(context, variables, Position::Module);
    for declarator in variables.declarators.of(&context.module.declarators) {
        let variable = resolve(context, declarator, &specified, VariableKind::Module);
        check_element(context, &variable, specified.ty_span);
        check_scope(context, &variable);
        check_common(context, &variable);
        finish(context, variable, declarator);
    }
}

/// Judges and declares variables in a body.
pub fn declare_local(context: &mut Context<'_>, variables: &Variables) {
    let specified = specifiers::read(context, variables, Position::Body);
    // Before there were parameter lists, kernels declared their parameters in their bodies.
    let kernel = context.function.filter(|&id| context.checked.function(id).entry);
    let old = context.version() < gates::PARAMETER_LIST.since && specified.space == Some(StateSpace::Param);
    let parameter_of = kernel.filter(|_| old);
    let kind = if parameter_of.is_some() { VariableKind::KernelParameter } else { VariableKind::Local };
    for declarator in variables.declarators.of(&context.module.declarators) {
        let variable = resolve(context, declarator, &specified, kind);
        check_element(context, &variable, specified.ty_span);
        check_parameter_alignment(context, &variable, specified.alignment);
        check_local(context, &variable);
        let id = finish(context, variable, declarator);
        if let Some(kernel) = parameter_of {
            context.checked.functions[kernel.0 as usize].parameters.push(id);
        }
    }
}

/// Judges a parameter, without declaring its name; `None` if there is none. Where its function has no body, the
/// assembler gives it no place and does not ask whether it could have one.
pub fn parameter(
    context: &mut Context<'_>,
    variables: &Variables,
    kind: VariableKind,
    defined: bool,
) -> Option<Variable> {
    let position = match kind {
        VariableKind::KernelParameter => Position::KernelParameter,
        _ => Position::Parameter,
    };
    let specified = specifiers::read(context, variables, position);
    let declarator = variables.declarators.of(&context.module.declarators).first()?;
    let variable = resolve(context, declarator, &specified, kind);
    check_parameter(context, &variable, variables.span);
    if defined {
        check_element(context, &variable, specified.ty_span);
        check_type_in_space(context, &variable);
        check_parameter_alignment(context, &variable, specified.alignment);
        check_attributes(context, &variable, specified.attributes_span);
    }
    Some(variable)
}

/// Puts a variable together from its specifiers and declarator.
fn resolve(
    context: &mut Context<'_>,
    declarator: &Declarator,
    specified: &Specified,
    kind: VariableKind,
) -> Variable {
    let (dimensions, open) = dimensions(context, declarator);
    let count = declarator.count.as_deref().map(|count| family_count(context, *count));
    let space = specified.space.unwrap_or_else(|| {
        let name = context.text(declarator.name.symbol);
        let message = format!("`{name}` needs a state space, such as `.global` or `.reg`");
        context.report(Diagnostic::new(codes::STATE_SPACE, specified.span, message));
        if kind == VariableKind::Module { StateSpace::Global } else { StateSpace::Reg }
    });
    let mut variable = Variable {
        name: declarator.name.symbol,
        space,
        bank: specified.bank.and_then(|bank| u8::try_from(bank.is).ok()),
        ty: specified.ty,
        vector: specified.vector,
        dimensions: dimensions.into(),
        open,
        alignment: 1,
        count,
        initialiser: None,
        linkage: specified.linkage,
        attributes: specified.attributes.clone(),
        pointer: specified.pointer,
        kind,
        function: if kind == VariableKind::Module { None } else { context.function },
        span: declarator.name.span,
        user: None,
    };
    variable.alignment = alignment(context, &variable, specified.alignment);
    if specified.bank.is_some() {
        check_bank_use(context, &variable);
    }
    if kind == VariableKind::Module || kind == VariableKind::Local {
        check_attributes(context, &variable, specified.attributes_span);
    }
    variable
}

/// The sizes of an array's dimensions, and whether the outermost is left open. A zero there counts as open.
fn dimensions(context: &mut Context<'_>, declarator: &Declarator) -> (Vec<u64>, bool) {
    let mut sizes = Vec::with_capacity(declarator.dimensions.len());
    for (index, dimension) in declarator.dimensions.iter().enumerate() {
        let size = match dimension.is.map(|id| context.module.expression(id)) {
            None => 0,
            Some(At { is: Expr::Literal(Literal::Int { value, .. }), .. }) => value,
            Some(At { is: Expr::Name(name), .. }) if context.text(name) == "WARP_SZ" => WARP_SIZE,
            // Nothing else is grammar.
            Some(_) => 1,
        };
        if size == 0 && index > 0 {
            let name = context.text(declarator.name.symbol);
            let message = format!("only the outermost dimension of `{name}` can be left open");
            context.report(Diagnostic::new(codes::INCOMPLETE, dimension.span, message));
        }
        sizes.push(size);
    }
    let open = sizes.first() == Some(&0);
    (sizes, open)
}

/// Families of this many names and more are too large for the assembler.
const CRASHING_COUNT: u64 = 1 << 28;

fn family_count(context: &mut Context<'_>, count: At<u64>) -> u32 {
    if (CRASHING_COUNT..=u64::from(u32::MAX)).contains(&count.is) {
        let message = format!("a family of {} names: ptxas runs out of memory or never ends", count.is);
        context.report(Diagnostic::new(codes::CRASH, count.span, message).with_help("declare fewer"));
    }
    u32::try_from(count.is).unwrap_or_else(|_| {
        let message = format!("{} names do not fit 32 bits", count.is);
        context.report(Diagnostic::new(codes::FAMILY_COUNT, count.span, message));
        u32::MAX
    })
}

/// What `.align` says, at least what the type needs.
fn alignment(context: &mut Context<'_>, variable: &Variable, asked: Option<At<u64>>) -> u64 {
    let natural = variable.element_bytes().next_power_of_two();
    let Some(At { is: asked, span }) = asked else { return natural };
    if asked.is_power_of_two() && asked < natural && variable.space != StateSpace::Reg {
        let name = context.text(variable.name);
        let message =
            format!("`{name}` needs an alignment of {natural}, and gets it, whatever `.align` says");
        context.report(Diagnostic::new(codes::RAISED_ALIGNMENT, span, message));
    }
    if asked.is_power_of_two() { asked.max(natural) } else { natural }
}

/// Parameters that functions pass through memory, and variables for them, can be aligned so much and no more.
fn check_parameter_alignment(context: &mut Context<'_>, variable: &Variable, asked: Option<At<u64>>) {
    let Some(At { is: asked, span }) = asked else { return };
    let limited = variable.space == StateSpace::Param && variable.kind != VariableKind::KernelParameter;
    if limited && asked.is_power_of_two() && asked > LARGEST_PARAMETER_ALIGNMENT {
        let name = context.text(variable.name);
        let message = format!(
            "the parameter `{name}` is aligned to {asked}; the most is {LARGEST_PARAMETER_ALIGNMENT}"
        );
        let help = format!("write `.align {LARGEST_PARAMETER_ALIGNMENT}`");
        context.report(Diagnostic::new(codes::PARAMETER_ALIGNMENT, span, message).with_help(help));
    }
}

/// Banks other than 0 are for arrays that another module or the driver provides, and bank 0 is not.
fn check_bank_use(context: &mut Context<'_>, variable: &Variable) {
    if context.version() >= Version::new(2, 2) {
        return;
    }
    let provided = variable.linkage == Some(Linkage::Extern) && variable.open;
    if (variable.bank != Some(0)) == provided {
        return;
    }
    let name = context.text(variable.name);
    let (message, help) = match variable.bank {
        Some(0) => (
            format!("`{name}` is an `.extern` array without size, which bank 0 cannot have"),
            "name a bank from 1 to 10",
        ),
        _ => (
            format!("banks 1 to 10 are for `.extern` arrays without size, and `{name}` is none"),
            "leave the bank away",
        ),
    };
    context.report(Diagnostic::new(codes::BANK, variable.span, message).with_help(help));
}

/// Whether variables can have the type at all. The assembler looks at the type of the variable, and an array's
/// is another than its elements'.
fn check_element(context: &mut Context<'_>, variable: &Variable, span: Span) {
    let feature = match variable.ty {
        DeclaredType::Opaque(_) => &gates::OPAQUE,
        DeclaredType::Value(Type::B128) if variable.vector == 1 => &gates::B128,
        DeclaredType::Value(ty) if !ty.is_fundamental() && variable.vector == 1 => {
            return instruction_type(context, variable, ty, span);
        }
        DeclaredType::Value(_) => return,
    };
    if !variable.is_array() {
        context.require(feature, span);
    } else if !context.has(feature) {
        let Feature { what, since, .. } = feature;
        let message = format!("{what} needs PTX {since}; the assembler does not look at arrays");
        context.deviation(codes::UNSEEN_ELEMENTS, span, message);
    }
}

/// A type that only instructions have. The assembler does not check three of them and those of arrays,
/// and then fails all the same unless it needs no layout for the variable.
fn instruction_type(context: &mut Context<'_>, variable: &Variable, ty: Type, span: Span) {
    let forgotten = variable.is_array() || matches!(ty, Type::E2m3x4 | Type::E3m2x4 | Type::E2m1x4);
    let without_layout = match (variable.space, variable.kind) {
        (StateSpace::Shared, VariableKind::Module) => !context.options.relocatable && !variable.open,
        (StateSpace::Reg, VariableKind::Parameter | VariableKind::Return) => !variable.is_array(),
        _ => false,
    };
    if forgotten && without_layout {
        let message = format!("`.{ty}` is for instructions, says the manual; the assembler lets this pass");
        context.deviation(codes::FORGOTTEN_TYPE, span, message);
        return;
    }
    let holder = ty.register_type();
    let message = format!("`.{ty}` is a type of instructions; variables that hold it are `.{holder}`");
    let help = format!("declare it `.{holder}`");
    context.report(Diagnostic::new(codes::INSTRUCTION_TYPE, span, message).with_help(help));
}

/// What depends on the type and the state space alone.
fn check_type_in_space(context: &mut Context<'_>, variable: &Variable) {
    let name = context.text(variable.name);
    let span = variable.span;
    let array = variable.is_array();
    if variable.value_type() == Some(Type::Pred) {
        if array {
            let message = format!("`{name}` is a predicate, and there are no arrays of predicates");
            let help = format!("declare several: `.reg .pred {name}<4>;`");
            context.report(Diagnostic::new(codes::PREDICATE, span, message).with_help(help));
        } else if variable.space != StateSpace::Reg && variable.space != StateSpace::Tex {
            let message =
                format!("`{name}` is a predicate in `{}`; predicates are registers", variable.space);
            let help = format!("write `.reg .pred {name}`, or declare it `.b8` and convert with `selp`");
            context.report(Diagnostic::new(codes::PREDICATE, span, message).with_help(help));
        }
    }
    match variable.space {
        StateSpace::Reg if array || variable.opaque().is_some() => {
            let what = match variable.opaque() {
                Some(opaque) => format!("a `{opaque}`"),
                None => "an array".to_owned(),
            };
            let message = format!("`{name}` is {what}, which no register can hold");
            let help = match variable.opaque() {
                Some(_) => "declare it `.global` at module scope".to_owned(),
                None => format!("declare several registers, as `{name}<4>`, or an array in `.local`"),
            };
            context.report(Diagnostic::new(codes::REGISTER, span, message).with_help(help));
        }
        StateSpace::Param if !array => {
            let packed =
                matches!(variable.value_type(), Some(ty) if ty == Type::F16x2 || !ty.is_fundamental());
            let opaque = variable.opaque().is_some() && variable.kind != VariableKind::KernelParameter;
            if packed || opaque || variable.vector > 1 {
                let message =
                    format!("`{name}` cannot be a parameter: those are scalars or arrays of basic types");
                let help = match variable.element_bytes() {
                    0 => "pass it in a register".to_owned(),
                    bytes => format!("write `.param .align {bytes} .b8 {name}[{bytes}]`"),
                };
                context.report(Diagnostic::new(codes::PARAMETER_TYPE, span, message).with_help(help));
            }
        }
        StateSpace::Tex => {
            let right = matches!(variable.value_type(), Some(Type::U32 | Type::U64));
            if !right || array || variable.vector > 1 {
                let message = format!("`{name}` is in `.tex`, where variables are plain `.u32` or `.u64`");
                context.report(Diagnostic::new(codes::TEXTURE_SPACE, span, message));
            }
        }
        _ => {}
    }
    if variable.opaque() == Some(Opaque::Samplerref) && !context.checked.header.independent_textures {
        let message =
            format!("`{name}` is a sampler of its own, and this module's samplers are part of its textures");
        if array {
            let message = format!("{message}; the assembler does not look at arrays");
            context.deviation(codes::UNSEEN_ELEMENTS, span, message);
        } else {
            let mut diagnostic = Diagnostic::new(codes::SAMPLER, span, message)
                .with_help("add `texmode_independent` to `.target`");
            if let Some(target) = context.checked.header.target_span {
                diagnostic = diagnostic.with_related(target, "the target is chosen here");
            }
            context.report(diagnostic);
        }
    }
}

/// What a variable may be at module scope.
fn check_scope(context: &mut Context<'_>, variable: &Variable) {
    check_type_in_space(context, variable);
    let name = context.text(variable.name);
    match variable.space {
        StateSpace::Reg | StateSpace::Local if context.version() >= ABI => {
            let message = format!("`{name}` is in `{}`, whose variables belong to functions", variable.space);
            let help = "declare it in the body that uses it";
            context.report(Diagnostic::new(codes::MODULE_SCOPE, variable.span, message).with_help(help));
        }
        StateSpace::Reg | StateSpace::Local => {
            let message =
                format!("`{name}` is in `{}` at module scope: the module cannot use the ABI", variable.space);
            context.report(Diagnostic::new(codes::NO_ABI, variable.span, message));
        }
        StateSpace::Param => {
            let message = format!("`{name}` is in `.param`, whose variables belong to functions");
            context.report(Diagnostic::new(codes::MODULE_SCOPE, variable.span, message));
        }
        _ => {}
    }
    if let Some(opaque) = variable.opaque()
        && matches!(variable.space, StateSpace::Const | StateSpace::Shared)
    {
        let message = format!("`{name}` is a `{opaque}`; those are in `.global`");
        if variable.is_array() {
            let message = format!("{message}, but the assembler does not look at arrays");
            context.deviation(codes::UNSEEN_ELEMENTS, variable.span, message);
        } else {
            context.report(Diagnostic::new(codes::OPAQUE_SPACE, variable.span, message));
        }
    }
}

/// What a variable may be in a body.
fn check_local(context: &mut Context<'_>, variable: &Variable) {
    let name = context.text(variable.name);
    if let Some(opaque) = variable.opaque() {
        let message =
            format!("`{name}` is a `{opaque}`; those stand at module scope, or are parameters of kernels");
        context.report(Diagnostic::new(codes::OPAQUE_SPACE, variable.span, message));
        return;
    }
    check_type_in_space(context, variable);
    match variable.space {
        StateSpace::Tex => {
            let message = format!("`{name}` is in `.tex`, whose variables stand at module scope");
            context.report(Diagnostic::new(codes::TEXTURE_SPACE, variable.span, message));
        }
        // Older versions still had kernels read their parameters this way.
        StateSpace::Param if context.version() >= Version::new(1, 4) => {
            context.require(&gates::LOCAL_PARAM, variable.span);
        }
        _ => {}
    }
}

/// What a parameter may be, its type in its space aside.
fn check_parameter(context: &mut Context<'_>, variable: &Variable, whole: Span) {
    let name = context.text(variable.name);
    let (span, space) = (variable.span, variable.space);
    let kernel = variable.kind == VariableKind::KernelParameter;
    if kernel && space != StateSpace::Param {
        let message =
            format!("the kernel's parameter `{name}` is in `{space}`; those of kernels are in `.param`");
        // The assembler notices at the token behind it.
        let at = crate::context::next_token(context.source, whole.end);
        let diagnostic = Diagnostic::new(codes::PARAMETER_SPACE, at, message);
        context.report(diagnostic.with_related(span, "it is declared here").with_help("write `.param`"));
    } else if !matches!(space, StateSpace::Param | StateSpace::Reg) {
        let message =
            format!("the parameter `{name}` is in `{space}`; those of functions are in `.param` or `.reg`");
        context.report(Diagnostic::new(codes::PARAMETER_SPACE, span, message).with_help("write `.param`"));
    } else if !kernel && space == StateSpace::Param {
        context.require(&gates::FUNCTION_PARAM, span);
    }
    if context.text(variable.name) == "_" && !kernel {
        let message = "a parameter needs a name of its own, and `_` is none";
        context.report(Diagnostic::new(codes::PARAMETER_NAME, span, message));
    }
}

fn check_common(context: &mut Context<'_>, variable: &Variable) {
    if variable.linkage != Some(Linkage::Common) {
        return;
    }
    let name = context.text(variable.name);
    let message = if variable.space != StateSpace::Global {
        format!("`{name}` is `.common` in `{}`; only `.global` variables can be", variable.space)
    } else if let Some(opaque) = variable.opaque() {
        if variable.is_array() {
            let message =
                format!("`{name}` is `.common` and `{opaque}`; the assembler does not look at arrays");
            context.deviation(codes::UNSEEN_ELEMENTS, variable.span, message);
            return;
        }
        format!("`{name}` is `.common` and a `{opaque}`, which cannot be")
    } else {
        return;
    };
    context.report(Diagnostic::new(codes::COMMON, variable.span, message));
}

/// Attributes are for `.global` variables.
fn check_attributes(context: &mut Context<'_>, variable: &Variable, span: Span) {
    let Attributes { managed, unified } = &variable.attributes;
    // The assembler does not look at families that are `.managed`.
    let managed = *managed && variable.count.is_none();
    if variable.space == StateSpace::Global || !managed && unified.is_none() {
        return;
    }
    let which = if managed { ".managed" } else { ".unified" };
    let name = context.text(variable.name);
    let message = format!("`{name}` is in `{}`; `{which}` is for `.global` variables", variable.space);
    context.report(Diagnostic::new(codes::ATTRIBUTE, span, message));
}

/// Declares a judged variable and judges its initialiser.
fn finish(context: &mut Context<'_>, variable: Variable, declarator: &Declarator) -> VarId {
    let name = context.text(variable.name);
    let is_extern = variable.linkage == Some(Linkage::Extern);
    let span = variable.span;
    let space = variable.space;
    let initialised = declarator.initialiser.is_some();
    let tex = space == StateSpace::Tex;
    if initialised && !matches!(space, StateSpace::Global | StateSpace::Const | StateSpace::Tex) {
        let message = format!("`{name}` is in `{space}`, where nothing has an initial value");
        let help = "store the value at run time, or declare it `.global` or `.const`";
        context.report(Diagnostic::new(codes::INITIALISER_PLACE, span, message).with_help(help));
    }
    if initialised && is_extern {
        let message = format!("`{name}` is `.extern`: its initial value is given where it is defined");
        let help = "leave the value away, or `.extern`";
        context.report(Diagnostic::new(codes::EXTERN_INITIALISER, span, message).with_help(help));
    }
    let judged = initialised && !is_extern && matches!(space, StateSpace::Global | StateSpace::Const);
    let id = declare(context, variable);
    let mut elements = 0;
    if let (true, Some(root)) = (judged, declarator.initialiser) {
        match initialiser::resolve(context, id, root) {
            Some((mut data, outermost)) => {
                elements = outermost;
                let variable = &mut context.checked.variables[id.0 as usize];
                if variable.open && outermost > 0 {
                    variable.dimensions[0] = outermost;
                    variable.open = false;
                }
                // The list of an `.f16x2` may be longer than it is.
                data.clip(variable.size().unwrap_or(u64::MAX));
                variable.initialiser = Some(Box::new(data));
            }
            // What is wrong with it has been said; its size would have come from there.
            None => elements = 1,
        }
    } else if tex && initialised {
        let message = format!("`{name}` is in `.tex`, where nothing has an initial value");
        context.report(Diagnostic::new(codes::INITIALISER_PLACE, span, message));
    }
    let open = context.checked.variable(id).open
        || declarator.dimensions.first().is_some_and(|first| first.is.is_none());
    let sized = judged && elements > 0;
    if open && !is_extern && !sized && context.checked.variable(id).open {
        let message = format!("`{name}` is an array without a size");
        let help = match space {
            StateSpace::Shared => {
                "give it a size, or write `.extern .shared` for memory that the launch provides"
            }
            _ => "give it a size, or a list of initial values to take it from",
        };
        context.report(Diagnostic::new(codes::INCOMPLETE, span, message).with_help(help));
    }
    id
}
