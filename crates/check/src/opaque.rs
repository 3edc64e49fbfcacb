//! The members of opaque variables (PTX ISA section 5.3): whether a type has them, and what values they take.
//!
//! The assembler knows the members of each type but looks at no value: `normalized_coords = 2` passes. Where
//! members stand in the list of an array and not in one of its elements', it does not look at their names
//! either.

use crate::checked::FieldValue;
use crate::codes::declarations as codes;
use crate::constant::{self, Value};
use crate::context::Context;
use softwarp_isa::space::opaque::{ADDRESS_MODES, FILTER_MODES, Member, Standing, TextureMode, Values};
use softwarp_isa::{Opaque, nearest};
use softwarp_syntax::tree::{At, Expr, ExprId, Symbol};
use softwarp_syntax::{Diagnostic, Span};

/// Judges one element of the list that initialises an opaque variable: the member, and its value if that has a
/// meaning. `None` if it is no member.
pub fn check_member(
    context: &mut Context<'_>,
    opaque: Opaque,
    element: ExprId,
) -> Option<(Member, Option<FieldValue>)> {
    let At { is, span } = context.module.expression(element);
    let Expr::Field((name, name_span), value) = is else {
        let message = format!("the initialiser of a `{opaque}` names its members, as in `width = 64`");
        context.report(Diagnostic::new(codes::OPAQUE_MEMBER, span, message));
        return None;
    };
    let member = Member::from_name(context.text(name));
    let Some((member, standing)) = member.map(|member| (member, member.on(opaque, mode(context, opaque))))
    else {
        unknown_member(context, opaque, name, name_span);
        return None;
    };
    match standing {
        Standing::Counts => {}
        Standing::Ignored => {
            let message =
                format!("`{}` of a `{opaque}` is ignored here: the sampler's counts", member.name());
            let help = "set it in a `.samplerref`";
            context.report(Diagnostic::new(codes::IGNORED_MEMBER, name_span, message).with_help(help));
        }
        Standing::Absent => {
            unknown_member(context, opaque, name, name_span);
            return None;
        }
    }
    Some((member, check_value(context, Some(member), value)))
}

/// Judges a member that stands where an element of an array should be: its name is not looked at.
pub fn check_stray_member(context: &mut Context<'_>, opaque: Opaque, name: (Symbol, Span), value: ExprId) {
    let member = Member::from_name(context.text(name.0))
        .filter(|member| member.on(opaque, mode(context, opaque)) != Standing::Absent);
    if member.is_none() {
        let text = context.text(name.0);
        let message = format!("a `{opaque}` has no member `{text}`; the assembler does not look at arrays");
        context.deviation(codes::UNSEEN_ELEMENTS, name.1, message);
    }
    check_value(context, member, value);
}

/// The mode that counts for a type. That there are no samplers in the unified one is said at their declaration.
fn mode(context: &Context<'_>, opaque: Opaque) -> TextureMode {
    match context.checked.header.independent_textures || opaque == Opaque::Samplerref {
        true => TextureMode::Independent,
        false => TextureMode::Unified,
    }
}

fn unknown_member(context: &mut Context<'_>, opaque: Opaque, name: Symbol, span: Span) {
    let text = context.text(name);
    let mode = mode(context, opaque);
    let has = Member::all()
        .filter(|member| member.on(opaque, mode) != Standing::Absent)
        .map(|member| member.name());
    let of: Vec<String> = Member::from_name(text).map_or(Vec::new(), |member| {
        let others = Opaque::ALL.iter();
        let others = others.filter(|&&other| member.on(other, TextureMode::Independent) != Standing::Absent);
        others.map(|other| format!("`{other}`")).collect()
    });
    let message = format!("a `{opaque}` has no member `{text}`");
    let help = match nearest(text, has.clone()) {
        _ if !of.is_empty() => format!("that is a member of {}", of.join(" and ")),
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", has.collect::<Vec<_>>().join(", ")),
    };
    context.report(Diagnostic::new(codes::OPAQUE_MEMBER, span, message).with_help(help));
}

/// Judges a value: the words must exist, the rest is between the manual and its reader. `None` if it has none.
fn check_value(context: &mut Context<'_>, member: Option<Member>, value: ExprId) -> Option<FieldValue> {
    let At { is, span } = context.module.expression(value);
    let (value, right) = match is {
        Expr::Name(name) if context.text(name) != "WARP_SZ" => {
            let text = context.text(name);
            let known = FILTER_MODES.iter().chain(ADDRESS_MODES).copied();
            let Some(word) = known.clone().find(|&word| word == text) else {
                let message = format!("`{text}` is no value of a texture's or sampler's member");
                let help = match nearest(text, known.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
                };
                context.report(Diagnostic::new(codes::OPAQUE_MEMBER, span, message).with_help(help));
                return None;
            };
            let right = member.is_none_or(|member| member.values().words().contains(&word));
            (FieldValue::Word(word), right)
        }
        _ => {
            let (bits, int) = match constant::evaluate(context, value)? {
                Value::Int { value, .. } => (value, true),
                Value::F32(bits) => (u64::from(bits), false),
                Value::F64(value) => (value.to_bits(), false),
            };
            let right = member.is_none_or(|member| int && member.values().takes(bits));
            (FieldValue::Number(bits), right)
        }
    };
    if let (false, Some(member)) = (right, member) {
        let words: Vec<String> = member.values().words().iter().map(|word| format!("`{word}`")).collect();
        let takes = match member.values() {
            Values::Flag => "0 or 1".to_owned(),
            Values::FilterMode | Values::AddressMode => words.join(" or "),
            _ => "an integer".to_owned(),
        };
        let message = format!("`{}` takes {takes}; the assembler does not look", member.name());
        context.deviation(codes::OPAQUE_VALUE, span, message);
    }
    Some(value)
}
