//! `call` (PTX ISA sections 7.1 and 9.7.13.5): arguments against parameters, direct and through a pointer.
//!
//! An argument must have its parameter's size, a type that goes with its type, and its alignment; an array
//! must have as many bytes. A register can stand for a `.param` and the other way round. A call through a
//! pointer names a prototype, or a list of functions that may be meant, both of them declared before.

use super::Walk;
use super::explain;
use super::labels::Marks;
use super::meaning::Meaning;
use super::operand::kind_of;
use crate::checked::{FuncId, Function, VarId, Variable, VariableKind};
use crate::codes::declarations as declared;
use crate::codes::instructions as codes;
use crate::gates;
use softwarp_isa::instruction::LiteralKind;
use softwarp_isa::{Class, StateSpace, Type};
use softwarp_syntax::tree::{
    DeclaredType, Instruction, Name, Operand, OperandKind, Prototype, Specifier, Statement, Variables,
};
use softwarp_syntax::{Diagnostic, Span};

/// What a parameter is to its caller.
#[derive(Clone, Debug)]
struct Formal<'m> {
    name: &'m str,
    span: Span,
    ty: Option<Type>,
    bytes: u64,
    alignment: u64,
    array: bool,
    /// Whether it is an array without a size.
    open: bool,
    /// Whether it is a vector register.
    vector: bool,
}

/// What is called.
#[derive(Clone, Copy, Debug)]
enum Callee {
    Function(FuncId),
    /// Something of this prototype, by its statement.
    Prototype(u32),
}

/// One of the two lists of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Return,
    Input,
}

impl Which {
    fn of(self, function: &Function) -> &[VarId] {
        match self {
            Which::Return => &function.returns,
            Which::Input => &function.parameters,
        }
    }

    fn in_prototype(self, prototype: &Prototype) -> &[Variables] {
        let list = match self {
            Which::Return => &prototype.returns,
            Which::Input => &prototype.parameters,
        };
        list.as_deref().unwrap_or_default()
    }
}

impl<'m> Walk<'_, 'm> {
    /// A `call`, all of it: `call (ret), f, (a, b), prototype`.
    pub(super) fn call(&mut self, instruction: &Instruction, operands: &[Operand]) {
        let (returns, rest) = match operands {
            [Operand { kind: OperandKind::Paren(list), .. }, rest @ ..] => (Some(*list), rest),
            rest => (None, rest),
        };
        let Some((target, rest)) = rest.split_first() else {
            return self.say(explain::call_count(instruction.mnemonic_span, "a function to call"));
        };
        let (arguments, rest) = match rest {
            [Operand { kind: OperandKind::Paren(list), .. }, rest @ ..] => (Some(*list), rest),
            rest => (None, rest),
        };
        let prototype = match rest {
            [] => None,
            [one] => Some(one),
            [_, extra, ..] => return self.say(explain::call_count(extra.span, "at most one prototype")),
        };
        let pool = &self.context.module.operands;
        let returns = returns.map_or(&[][..], |list| list.of(pool));
        let arguments = arguments.map_or(&[][..], |list| list.of(pool));
        self.returned(returns);
        let Some(callee) = self.callee(target, prototype) else {
            for operand in returns.iter().chain(arguments) {
                if let Err(mismatch) = self.names_exist(operand) {
                    let diagnostic = explain::undeclared_in(self, &mismatch);
                    self.say(diagnostic);
                }
            }
            return;
        };
        for (which, given) in [(Which::Return, returns), (Which::Input, arguments)] {
            let wanted = self.count(callee, which);
            if given.len() != wanted {
                self.wrong_count(callee, which, (given.len(), wanted), target.span);
                continue;
            }
            for (n, argument) in given.iter().enumerate() {
                if let Some(formal) = self.formal(callee, which, n) {
                    self.argument(argument, &formal, which == Which::Return);
                    self.narrow_parameter(argument.span, &formal);
                }
            }
        }
    }

    #[cold]
    fn wrong_count(&mut self, callee: Callee, which: Which, (given, wanted): (usize, usize), at: Span) {
        let what = match which {
            Which::Return => "return parameter",
            Which::Input => "input parameter",
        };
        let message = format!("this call has {}, where the function has {wanted}", counted(given, what));
        let declared = match callee {
            Callee::Function(id) => Some(self.context.checked.function(id).span),
            Callee::Prototype(index) => self.prototype_at(index).map(|prototype| prototype.span),
        };
        let diagnostic = Diagnostic::new(codes::CALL_COUNT, at, message);
        self.say(match declared {
            Some(span) => diagnostic.with_related(span, "declared here"),
            None => diagnostic,
        });
    }

    /// What is called. Says what is wrong if that cannot be made out.
    fn callee(&mut self, target: &Operand, prototype: Option<&Operand>) -> Option<Callee> {
        let OperandKind::Name(symbol) = target.kind else {
            if !matches!(target.kind, OperandKind::Error) {
                self.say(explain::call_count(target.span, "a function, or a register with its address"));
            }
            return None;
        };
        let text = self.context.text(symbol);
        let not_callable = |what: &str, help: &str| {
            Some(
                Diagnostic::new(
                    codes::CALL_TARGET,
                    target.span,
                    format!("`{text}` is {what}: it cannot be called"),
                )
                .with_help(help),
            )
        };
        let meaning = self.called_meaning(symbol);
        if let (Meaning::Register { .. } | Meaning::Variable(_), Some(function)) =
            (meaning, self.context.function)
        {
            self.context.checked.functions[function.0 as usize].calls_indirectly = true;
        }
        let wrong = match meaning {
            Meaning::Function(id) if self.context.checked.function(id).entry => {
                not_callable("a kernel", "only a `.func` can be called")
            }
            Meaning::Function(_) if prototype.is_some() => {
                not_callable("a function", "leave the prototype out, or call through a register")
            }
            Meaning::Function(id) => {
                self.check_provided(id, target.span);
                return Some(Callee::Function(id));
            }
            Meaning::Register { ty, lanes: 1, .. }
                if (ty.is_int() || ty.class() == Class::Bits) && matches!(ty.bits(), 32 | 64) =>
            {
                let Some(prototype) = prototype else {
                    self.say(
                        Diagnostic::new(
                            codes::CALL_PROTOTYPE,
                            target.span,
                            format!("`{text}` is a register: a call through it needs a prototype"),
                        )
                        .with_help(
                            "declare `P: .callprototype _ (…);` before it and end the call with `, P`",
                        ),
                    );
                    return None;
                };
                return self.prototype(prototype);
            }
            Meaning::Register { ty, .. } => not_callable(
                &format!("a register of type .{ty}"),
                "a function's address is in a register of type .u64",
            ),
            Meaning::Variable(_) if prototype.is_none() => {
                not_callable("a variable", "call a `.func`, or load its address into a .u64 register")
            }
            // An array of functions' addresses.
            Meaning::Variable(_) => None,
            Meaning::Label(_) => not_callable("a label", "use `bra` to go to a label"),
            Meaning::Special(_) | Meaning::WarpSize => not_callable("predefined", "call a `.func`"),
            Meaning::Unknown => Some(explain::undeclared(self, symbol, target.span)),
        };
        if let Some(diagnostic) = wrong {
            self.say(diagnostic);
        }
        None
    }

    /// A function that newer architectures no longer have, unless the module defines it further down.
    fn check_provided(&mut self, id: FuncId, at: Span) {
        let function = self.context.checked.function(id);
        let ended = self.context.text(function.name) == "cudaDeviceSynchronize"
            && self.context.checked.header.arch.sm() >= 90;
        if ended && !function.defined && !self.has_said_enough() {
            let message = "`cudaDeviceSynchronize` cannot be called from kernels on sm_90 and newer";
            let diagnostic = Diagnostic::new(declared::UNRESOLVED, at, message)
                .with_help("end the kernel, and launch what depends on its children after it");
            let diagnostic = self.on_the_assemblers_line(diagnostic);
            self.context.deferred.if_undefined.push((id, diagnostic));
        }
    }

    /// How many parameters there are.
    fn count(&self, callee: Callee, which: Which) -> usize {
        match callee {
            Callee::Function(id) => which.of(self.context.checked.function(id)).len(),
            Callee::Prototype(index) => {
                self.prototype_at(index).map_or(0, |one| which.in_prototype(one).len())
            }
        }
    }

    /// The n-th parameter.
    fn formal(&self, callee: Callee, which: Which, n: usize) -> Option<Formal<'m>> {
        match callee {
            Callee::Function(id) => {
                let id = which.of(self.context.checked.function(id)).get(n)?;
                Some(self.formal_of(self.context.checked.variable(*id)))
            }
            Callee::Prototype(index) => {
                let variables = which.in_prototype(self.prototype_at(index)?).get(n)?;
                Some(self.formal_in_prototype(variables))
            }
        }
    }

    fn prototype_at(&self, index: u32) -> Option<&Prototype> {
        match self.statements.get(index as usize) {
            Some(Statement::CallPrototype(prototype)) => Some(prototype),
            _ => None,
        }
    }

    fn formal_of(&self, variable: &Variable) -> Formal<'m> {
        Formal {
            name: self.context.text(variable.name),
            span: variable.span,
            ty: variable.value_type().map(|ty| whole(ty, variable.vector)),
            bytes: variable.bytes(),
            alignment: variable.alignment,
            array: variable.is_array(),
            open: variable.open,
            vector: variable.vector > 1,
        }
    }

    /// The label after a call through a pointer.
    fn prototype(&mut self, operand: &Operand) -> Option<Callee> {
        let OperandKind::Name(symbol) = operand.kind else {
            self.say(explain::call_count(operand.span, "the label of a prototype"));
            return None;
        };
        match self.meaning(symbol) {
            Meaning::Label(Some(number)) => match self.memory.labels.marks(number) {
                Marks::Prototype(index) => {
                    return self.prototype_at(index).map(|_| Callee::Prototype(index));
                }
                Marks::CallTargets(index) => {
                    let Some(Statement::CallTargets(targets)) = self.statements.get(index as usize) else {
                        return None;
                    };
                    let first = targets.is.first()?;
                    return match self.meaning(first.symbol) {
                        Meaning::Function(id) => Some(Callee::Function(id)),
                        _ => None,
                    };
                }
                Marks::Code | Marks::BranchTargets => {}
            },
            // A variable with a list of functions.
            Meaning::Variable(_) => return None,
            Meaning::Unknown => {
                let diagnostic = explain::undeclared(self, symbol, operand.span);
                self.say(diagnostic);
                return None;
            }
            _ => {}
        }
        let text = self.context.text(symbol);
        self.say(
            Diagnostic::new(
                codes::CALL_PROTOTYPE,
                operand.span,
                format!("`{text}` is not the label of a `.callprototype` or `.calltargets` above this call"),
            )
            .with_help("declare the prototype before the call"),
        );
        None
    }

    /// A parameter as a prototype declares it: its words are the declaration's.
    fn formal_in_prototype(&self, variables: &Variables) -> Formal<'m> {
        let mut formal = Formal {
            name: "_",
            span: variables.span,
            ty: None,
            bytes: 0,
            alignment: 0,
            array: false,
            open: false,
            vector: false,
        };
        let mut lanes = 1;
        let mut aligned = 0;
        for specifier in variables.specifiers.of(&self.context.module.specifiers) {
            match specifier.is {
                Specifier::Align(align) => aligned = align.is,
                Specifier::Vector(size) => lanes = u8::try_from(size).unwrap_or(1),
                Specifier::Type(DeclaredType::Value(ty)) => formal.ty = Some(ty),
                _ => {}
            }
        }
        formal.vector = lanes > 1;
        formal.ty = formal.ty.map(|ty| whole(ty, lanes));
        let element = formal.ty.map_or(8, |ty| u64::from(ty.register_type().bits() / 8));
        formal.bytes = element;
        formal.alignment = aligned.max(element);
        if let Some(declarator) = variables.declarators.of(&self.context.module.declarators).first() {
            formal.name = self.context.text(declarator.name.symbol);
            for dimension in declarator.dimensions.iter() {
                formal.array = true;
                let size = dimension.is.and_then(|id| self.literal(id)).unwrap_or(0);
                formal.open |= size == 0;
                formal.bytes = formal.bytes.saturating_mul(size);
            }
        }
        formal
    }

    fn literal(&self, id: softwarp_syntax::tree::ExprId) -> Option<u64> {
        use softwarp_syntax::tree::{Expr, Literal};
        match self.context.module.expression(id).is {
            Expr::Literal(Literal::Int { value, .. }) => Some(value),
            _ => None,
        }
    }

    fn argument(&mut self, argument: &Operand, formal: &Formal<'_>, returned: bool) {
        let at = argument.span;
        let (ty, bytes, alignment, array) = match argument.kind {
            OperandKind::Error => return,
            OperandKind::Sink if returned => return,
            OperandKind::Literal(literal) if !returned => {
                return self.constant_argument(kind_of(literal), formal, at);
            }
            OperandKind::Expr(id) if !returned => {
                let kind = self.kind_of_expression(id);
                return self.constant_argument(kind, formal, at);
            }
            OperandKind::Name(symbol) => match self.meaning(symbol) {
                Meaning::Register { ty, lanes, .. } => {
                    let bytes = u64::from(ty.register_type().bits() / 8) * u64::from(lanes);
                    (Some(whole(ty, lanes)), bytes, bytes, false)
                }
                Meaning::Variable(id) if self.context.checked.variable(id).space == StateSpace::Param => {
                    let variable = self.context.checked.variable(id);
                    if variable.kind != VariableKind::Local {
                        return self.say(mismatch(formal, at, "it is a parameter of this function itself"));
                    }
                    (variable.value_type(), variable.bytes(), variable.alignment, variable.is_array())
                }
                Meaning::WarpSize => return self.constant_argument(LiteralKind::Integer, formal, at),
                Meaning::Unknown => {
                    let diagnostic = explain::undeclared(self, symbol, at);
                    return self.say(diagnostic);
                }
                _ => return self.say(mismatch(formal, at, "it is neither a register nor a `.param`")),
            },
            _ => {
                return self.say(mismatch(formal, at, "it is neither a register, a `.param` nor a constant"));
            }
        };
        let (Some(ty), Some(wanted)) = (ty, formal.ty) else {
            if ty.is_some() != formal.ty.is_some() {
                self.say(mismatch(formal, at, "one of the two is opaque"));
            }
            return;
        };
        let fits = if array || formal.array {
            array == formal.array
                && (formal.open || bytes == formal.bytes)
                && elements_go_together(wanted, ty)
        } else {
            goes_with(wanted, ty)
        };
        if !fits {
            let is = if array { format!("an array of {bytes} bytes, .{ty}") } else { format!(".{ty}") };
            return self.say(mismatch(formal, at, &format!("it is {is}")));
        }
        if alignment != formal.alignment && alignment != 0 {
            self.say(
                Diagnostic::new(
                    codes::CALL_ALIGNMENT,
                    at,
                    format!(
                        "this argument is aligned to {alignment} bytes, its parameter `{}` to {}",
                        formal.name, formal.alignment
                    ),
                )
                .with_related(formal.span, format!("`{}` is declared here", formal.name))
                .with_help(format!("declare the argument with `.align {}`", formal.alignment)),
            );
        }
    }

    /// The ABI passes no typed scalars of fewer than 32 bits. The assembler finds out as it comes to code that runs, so
    /// this asks in kernels only; whether the module has the ABI is known at its end.
    fn narrow_parameter(&mut self, at: Span, formal: &Formal<'_>) {
        let narrow = matches!(formal.ty, Some(Type::U8 | Type::S8 | Type::U16 | Type::S16 | Type::Pred));
        let scalar = !formal.array && !formal.vector;
        let (Some(ty), true, true) = (formal.ty, narrow && self.kernel, scalar) else { return };
        self.say_if_abi(
            Diagnostic::new(
                codes::CALL_NARROW,
                at,
                format!(
                    "the parameter `{}` is .{ty}: such values cannot be passed to functions",
                    formal.name
                ),
            )
            .with_related(formal.span, format!("`{}` is declared here", formal.name))
            .with_help("declare it as .b32, or with a bit type of its size"),
        );
    }

    fn constant_argument(&mut self, kind: LiteralKind, formal: &Formal<'_>, at: Span) {
        let Some(ty) = formal.ty else { return };
        let integer = kind == LiteralKind::Integer;
        let fits = match ty.class() {
            Class::Bits => true,
            Class::Float => integer == (ty == Type::F16x2),
            Class::Pred => false,
            _ => integer,
        };
        // Constants have 64 bits, which a vector must have to be one.
        let unfit_vector = formal.vector && ty.bits() != 64;
        if !fits || formal.array || unfit_vector {
            self.say(mismatch(
                formal,
                at,
                if integer { "it is an integer constant" } else { "it is a float constant" },
            ));
        }
    }

    /// Judges the head of a `.callprototype`.
    pub(super) fn check_prototype(&mut self, prototype: &Prototype) {
        self.context.require(&gates::CALL_PROTOTYPE, prototype.span);
        let space = |variables: &Variables| {
            let specifiers = variables.specifiers.of(&self.context.module.specifiers).iter();
            specifiers.clone().find_map(|specifier| match specifier.is {
                Specifier::Space { space, .. } => Some(space),
                _ => None,
            })
        };
        let returns = prototype.returns.as_deref().unwrap_or_default();
        let inputs = prototype.parameters.as_deref().unwrap_or_default();
        let returned = |variables: &&Variables| space(variables) == Some(StateSpace::Param);
        let elsewhere = |variables: &&Variables| {
            space(variables).is_some_and(|space| !matches!(space, StateSpace::Param | StateSpace::Reg))
        };
        let in_memory = (returns.len() > 1).then(|| returns.iter().find(returned)).flatten();
        let foreign = returns.iter().chain(inputs).find(elsewhere);
        let noreturn = prototype
            .directives
            .iter()
            .find(|directive| self.context.text(directive.is.word.symbol) == "noreturn");
        let mut wrong = Vec::new();
        if let Some(variables) = in_memory {
            let message = "one of several return parameters is in `.param`; those are in `.reg`";
            let diagnostic = Diagnostic::new(declared::SEVERAL_RETURNS, variables.span, message);
            wrong.push(diagnostic.with_help("return one array of bytes, or write `.reg`"));
        }
        if let Some(variables) = foreign {
            let message = "the parameters of functions are in `.param` or `.reg`";
            wrong.push(
                Diagnostic::new(declared::PARAMETER_SPACE, variables.span, message)
                    .with_help("write `.param`"),
            );
        }
        if let (Some(directive), false) = (noreturn, returns.is_empty()) {
            let message = "a prototype that is `.noreturn` has return parameters";
            let diagnostic = Diagnostic::new(declared::NORETURN, directive.span, message);
            wrong.push(diagnostic.with_help("leave `.noreturn` away, or the return parameters"));
        }
        self.context.deferred.several_results |= returns.len() > 1;
        wrong.into_iter().for_each(|diagnostic| self.say(diagnostic));
    }

    /// A name in `.calltargets`.
    pub(super) fn call_target(&mut self, name: Name) {
        match self.meaning(name.symbol) {
            Meaning::Function(_) => {}
            Meaning::Unknown => {
                let diagnostic = explain::undeclared(self, name.symbol, name.span);
                self.say(diagnostic);
            }
            _ => {
                let text = self.context.text(name.symbol);
                self.say(
                    Diagnostic::new(codes::CALL_TARGET, name.span, format!("`{text}` is not a function"))
                        .with_help("`.calltargets` lists functions"),
                );
            }
        }
    }
}

/// Whether an argument of one type goes with a parameter of another (section 5.2.1).
fn goes_with(wanted: Type, given: Type) -> bool {
    wanted.compatible(given)
        || (given == Type::F16x2 && wanted.bits() == 32 && (wanted.is_int() || wanted.class() == Class::Bits))
}

/// Whether an array of one type goes with a parameter that is one of another: bits go with everything.
fn elements_go_together(wanted: Type, given: Type) -> bool {
    wanted == given || wanted.class() == Class::Bits || given.class() == Class::Bits
}

/// A register's type for a call: a vector is passed as untyped bits of the same total width.
fn whole(ty: Type, lanes: u8) -> Type {
    match u32::from(lanes) * ty.register_type().bits() {
        _ if lanes <= 1 => ty,
        16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        _ => Type::B128,
    }
}

fn mismatch(formal: &Formal<'_>, at: Span, is: &str) -> Diagnostic {
    let wanted = match (formal.ty, formal.array) {
        (Some(ty), true) if formal.open => format!("an array of .{ty}"),
        (Some(ty), true) => format!("an array of {} bytes, .{ty}", formal.bytes),
        (None, true) => format!("an array of {} bytes", formal.bytes),
        (Some(ty), false) => format!(".{ty}"),
        (None, false) => "opaque".to_owned(),
    };
    Diagnostic::new(
        codes::CALL_TYPE,
        at,
        format!("this argument does not fit the parameter `{}`, which is {wanted}: {is}", formal.name),
    )
    .with_related(formal.span, format!("`{}` is declared here", formal.name))
    .with_help(format!("pass a register or `.param` that is {wanted}"))
}

fn counted(n: usize, what: &str) -> String {
    match n {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{n} {what}s"),
    }
}
