//! The words in front of declared names (PTX ISA sections 5.1, 5.2, 5.4.5, 5.4.8 and 11.6): what they mean
//! together. Their order is grammar, which the parser checks.

use crate::checked::{Attributes, Pointer};
use crate::codes::declarations as codes;
use crate::context::Context;
use crate::gates;
use softwarp_isa::{StateSpace, Type, Version};
use softwarp_syntax::tree::{At, DeclaredType, Linkage, Name, Specifier, Variables};
use softwarp_syntax::{Diagnostic, Span};

/// Where a declaration stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At module scope.
    Module,
    /// In a body.
    Body,
    /// In the parameter list of a kernel.
    KernelParameter,
    /// In the parameter list of a function, or its return parameters.
    Parameter,
}

/// What the words add up to. Where they are wrong, what was probably meant.
#[derive(Clone, Debug)]
pub struct Specified {
    /// `.extern` and the like.
    pub linkage: Option<Linkage>,
    /// `None` without one.
    pub space: Option<StateSpace>,
    /// `.const[3]`
    pub bank: Option<At<u64>>,
    /// `.align`; the last one counts.
    pub alignment: Option<At<u64>>,
    /// 1, 2 or 4.
    pub vector: u8,
    /// The type; `.b32` if none could be read.
    pub ty: DeclaredType,
    /// The place of the type in the text.
    pub ty_span: Span,
    /// `.attribute(…)`
    pub attributes: Attributes,
    /// Where `.attribute(…)` stands.
    pub attributes_span: Span,
    /// `.ptr`
    pub pointer: Option<Pointer>,
    /// All of the words.
    pub span: Span,
}

/// Reads and judges the words of a declaration.
pub fn read(context: &mut Context<'_>, variables: &Variables, position: Position) -> Specified {
    let specifiers = variables.specifiers.of(&context.module.specifiers);
    let start = specifiers.first().map_or(variables.span, |first| first.span);
    let end = specifiers.last().map_or(start, |last| last.span);
    let mut result = Specified {
        linkage: None,
        space: None,
        bank: None,
        alignment: None,
        vector: 1,
        ty: DeclaredType::Value(Type::B32),
        ty_span: start,
        attributes: Attributes::default(),
        attributes_span: start,
        pointer: None,
        span: start.to(end),
    };
    let mut typed = false;
    for At { is, span } in specifiers {
        let span = *span;
        match is {
            Specifier::Linkage(linkage) => {
                result.linkage = Some(*linkage);
                match linkage {
                    Linkage::Weak => context.require(&gates::WEAK, span),
                    Linkage::Common => context.require(&gates::COMMON, span),
                    Linkage::Extern | Linkage::Visible => true,
                };
            }
            Specifier::Space { space, bank } => match &mut result.pointer {
                Some(pointer) => {
                    pointer.space = Some(*space);
                    if bank.is_some() {
                        let message = "`.ptr` names no bank, says the manual; the assembler ignores it";
                        context.deviation(codes::POINTER_BANK, span, message);
                    }
                }
                None => {
                    let bank = bank.map(|bank| At { is: u64::from(bank), span });
                    check_space(context, &mut result, *space, bank, span);
                }
            },
            Specifier::Align(value) => {
                check_alignment(context, *value);
                match &mut result.pointer {
                    Some(pointer) => pointer.alignment = u32::try_from(value.is).unwrap_or(0),
                    None if typed => kernel_only(context, position, span),
                    None => result.alignment = Some(*value),
                }
            }
            Specifier::Vector(size) => result.vector = u8::try_from(*size).unwrap_or(1),
            Specifier::Type(ty) => {
                typed = true;
                result.ty = *ty;
                result.ty_span = span;
                check_vector(context, &result);
            }
            Specifier::Attribute(attributes) => {
                result.attributes_span = span;
                check_attributes(context, attributes, &mut result.attributes);
            }
            Specifier::Ptr => {
                result.pointer = Some(Pointer { space: None, alignment: 0 });
                kernel_only(context, position, span);
                context.require(&gates::PTR, span);
            }
            // Reported by the parser. What it was meant for need not be reported as missing.
            Specifier::Unknown(_) => result.space = result.space.or(Some(StateSpace::Global)),
        }
    }
    if result.space == Some(StateSpace::Tex) && !variables.declarators.is_empty() {
        context.require_before("`.tex`", Version::new(1, 5), result.span, "write `.global .texref`");
    }
    result
}

/// Reports `.ptr`, or an alignment after the type, on anything but a kernel's parameter.
fn kernel_only(context: &mut Context<'_>, position: Position, span: Span) {
    if position != Position::KernelParameter {
        let message = "what a pointer points to is said of kernels' parameters only";
        let help = "leave it away; `.align` before the type aligns the parameter itself";
        context.report(Diagnostic::new(codes::POINTER, span, message).with_help(help));
    }
}

fn check_space(
    context: &mut Context<'_>,
    result: &mut Specified,
    space: StateSpace,
    bank: Option<At<u64>>,
    span: Span,
) {
    if let Some(first) = result.space {
        let message = format!("a variable is in one state space; this is in `{first}` already");
        context.report(Diagnostic::new(codes::STATE_SPACE, span, message));
        return;
    }
    result.space = Some(space);
    result.bank = bank;
    if let Some(bank) = bank {
        check_bank(context, bank);
    }
}

/// Whether there are vectors of the type, and the type exists. Whether variables can have it depends on more.
fn check_vector(context: &mut Context<'_>, result: &Specified) {
    let (vector, span) = (result.vector, result.ty_span);
    let ty = match result.ty {
        DeclaredType::Value(ty) if ty.is_fundamental() => ty,
        DeclaredType::Value(ty) if vector > 1 => {
            let message = format!("`.{ty}` is a type of instructions; there are no vectors of it");
            context.report(Diagnostic::new(codes::VECTOR, span, message));
            return;
        }
        DeclaredType::Opaque(opaque) if vector > 1 => {
            let message = format!("`{opaque}` is opaque; there are no vectors of it");
            context.report(Diagnostic::new(codes::VECTOR, span, message));
            return;
        }
        _ => return,
    };
    if ty == Type::F16x2 && vector == 1 {
        context.require(&gates::F16X2, span);
    }
    let bits = u32::from(vector) * ty.bits();
    if vector > 1 && ty == Type::Pred {
        context.report(Diagnostic::new(codes::PREDICATE, span, "there are no vectors of predicates"));
    } else if bits > 128 {
        let message = format!("a vector has at most 128 bits; `.v{vector} .{ty}` has {bits}");
        let fits = 128 / ty.bits();
        let help = if fits >= 2 { format!("write `.v{fits} .{ty}`") } else { "declare an array".to_owned() };
        context.report(Diagnostic::new(codes::VECTOR, span, message).with_help(help));
    }
}

/// Reports an alignment that is no power of two.
fn check_alignment(context: &mut Context<'_>, value: At<u64>) {
    let At { is: alignment, span } = value;
    if alignment == 1 << 31 {
        let message = "an alignment of 2^31: ptxas crashes on it";
        context.report(Diagnostic::new(codes::CRASH, span, message).with_help("write a smaller alignment"));
    }
    if alignment.is_power_of_two() && alignment <= u64::from(u32::MAX) {
        return;
    }
    let message = match alignment {
        0..=0xffff_ffff => format!("an alignment is a power of two, and {alignment} is not"),
        _ => format!("the alignment {alignment} does not fit 32 bits"),
    };
    let help = match alignment {
        0 => "write `.align 1`, or leave it away".to_owned(),
        1..=0x7fff_ffff => format!("write `.align {}`", alignment.next_power_of_two()),
        _ => "the largest is 2147483648".to_owned(),
    };
    context.report(Diagnostic::new(codes::ALIGNMENT, span, message).with_help(help));
}

/// Reports a bank of constant memory that the version or the hardware does not have.
fn check_bank(context: &mut Context<'_>, bank: At<u64>) {
    let help = "leave the bank away; pass pointers to constant buffers as parameters with `.ptr .const`";
    context.require_before("naming a bank of constant memory", Version::new(2, 2), bank.span, help);
    if bank.is != 0 {
        context.require(&gates::BANKS, bank.span);
    }
    if bank.is > 10 {
        let message = format!("there is no bank {}: they are 0 to 10", bank.is);
        context.report(Diagnostic::new(codes::BANK, bank.span, message));
    }
}

/// Judges the contents of `.attribute(…)` and settles them. Their names and arguments are grammar.
pub fn check_attributes(
    context: &mut Context<'_>,
    attributes: &[(Name, Vec<At<u64>>)],
    result: &mut Attributes,
) {
    for (name, arguments) in attributes {
        match (context.text(name.symbol), arguments.as_slice()) {
            ("managed", _) => {
                context.require(&gates::MANAGED, name.span);
                result.managed = true;
            }
            ("unified", [upper, lower]) => {
                context.require(&gates::UNIFIED, name.span);
                result.unified = Some(Box::new((upper.is, lower.is)));
                check_numbers(context, arguments);
            }
            _ => {}
        }
    }
}

/// Warns of numbers that do not fit 64 bits: the assembler keeps their low bits.
fn check_numbers(context: &mut Context<'_>, arguments: &[At<u64>]) {
    for argument in arguments {
        let text = argument.span.text(context.source);
        let decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if decimal && !text.starts_with('0') && text.parse::<u64>().is_err() {
            let message = format!("`{text}` does not fit 64 bits; the assembler keeps the low ones");
            context.deviation(codes::LONG_NUMBER, argument.span, message);
        }
    }
}
