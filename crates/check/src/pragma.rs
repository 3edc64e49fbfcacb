//! `.pragma` (PTX ISA sections 11.4.7 and 12): where each stands and what its argument may be, as the assembler has it.
//!
//! A pragma is known by how its string begins. One that is not known is refused at module scope and ignored elsewhere.
//! `abi_param_reg` is not in the manual: the number of registers in which a function takes its parameters. Where the
//! arguments of `used_bytes_mask` stand in a function, they are not checked: the assembler checks them only in
//! code that a kernel reaches.

use crate::codes::declarations as codes;
use crate::context::Context;
use crate::gates::{self, Feature};
use softwarp_syntax::{Diagnostic, Span};

/// Where a pragma stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PragmaScope {
    Module,
    /// Before a kernel's body.
    Head,
    Kernel,
    Function,
}

impl PragmaScope {
    fn is_body(self) -> bool {
        matches!(self, PragmaScope::Kernel | PragmaScope::Function)
    }
}

/// Pragmas about the code around them, and since when they exist.
const IN_BODIES: &[(&str, &Feature)] = &[
    ("enable_smem_spilling", &gates::SMEM_SPILLING),
    ("frequency", &gates::FREQUENCY),
    ("used_bytes_mask", &gates::USED_BYTES_MASK),
];

/// How many registers parameters can have: there are 255, and the first four are not theirs, nor the last two.
const MOST_PARAMETER_REGISTERS: u64 = 249;

/// Judges the strings of a directive.
pub fn check(context: &mut Context<'_>, directive: Span, place: PragmaScope) {
    let mut from = directive.start;
    let mut rest = directive.text(context.source);
    while let Some((before, inner)) = rest.split_once('"')
        && let Some((text, behind)) = inner.split_once('"')
    {
        let start = from + before.len() as u32;
        let end = start + text.len() as u32 + 2;
        check_text(context, text, Span::new(start, end), place);
        (from, rest) = (end, behind);
    }
}

fn check_text(context: &mut Context<'_>, text: &str, span: Span, place: PragmaScope) {
    if let Some((name, feature)) = IN_BODIES.iter().find(|(name, _)| text.starts_with(name)) {
        if !place.is_body() {
            let message = format!("the pragma `{name}` stands outside of a body");
            let diagnostic = Diagnostic::new(codes::PRAGMA_PLACE, span, message);
            context.report(diagnostic.with_help("put it into the body of the kernel or function"));
        } else if context.require(feature, span) {
            check_in_body(context, name, text[name.len()..].trim(), span, place);
        }
    } else if let Some(argument) = text.strip_prefix("abi_param_reg") {
        check_registers(context, argument.trim(), span, place);
    } else if place.is_body() && text.trim() == "global knobs" {
        let message = "the pragma `global knobs` has no argument";
        context.report(Diagnostic::new(codes::PRAGMA_VALUE, span, message));
    } else if place == PragmaScope::Module && text != "nounroll" {
        let message = format!("`{text}` is no pragma of a module");
        let diagnostic = Diagnostic::new(codes::PRAGMA_UNKNOWN, span, message);
        context.report(diagnostic.with_help("leave it out; `nounroll` may stand here"));
    }
}

fn check_in_body(context: &mut Context<'_>, name: &str, argument: &str, span: Span, place: PragmaScope) {
    let number = number(argument);
    let wanted = match name {
        "enable_smem_spilling" if place == PragmaScope::Function => {
            let message = "the pragma `enable_smem_spilling` stands in a function";
            let diagnostic = Diagnostic::new(codes::PRAGMA_PLACE, span, message);
            return context.report(diagnostic.with_help("put it into the body of the kernel"));
        }
        "frequency" if number.is_none_or(|number| number <= 0) => "a positive number",
        "used_bytes_mask" if number.is_none() && place == PragmaScope::Kernel => "a number",
        _ => return,
    };
    let message = format!("the pragma `{name}` has `{argument}` where {wanted} stands");
    context.report(Diagnostic::new(codes::PRAGMA_VALUE, span, message));
}

fn check_registers(context: &mut Context<'_>, argument: &str, span: Span, place: PragmaScope) {
    let fits = |number: i128| (1..=i128::from(MOST_PARAMETER_REGISTERS)).contains(&number);
    if argument != "all" && !number(argument).is_some_and(fits) {
        let message =
            format!("the pragma `abi_param_reg` has `{argument}` where a number of registers stands");
        let help = format!("write `all`, or a number from 1 to {MOST_PARAMETER_REGISTERS}");
        context.report(Diagnostic::new(codes::PRAGMA_VALUE, span, message).with_help(help));
    } else if place == PragmaScope::Kernel {
        let message = "the pragma `abi_param_reg` stands in the body of a kernel";
        let diagnostic = Diagnostic::new(codes::PRAGMA_PLACE, span, message);
        context
            .report(diagnostic.with_help("put it into the function that it is about, or before all of them"));
    }
}

/// A decimal or hexadecimal number; one beyond the range is the greatest.
fn number(text: &str) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |digits| (digits, 16));
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
    Some(if negative { -value } else { value })
}
