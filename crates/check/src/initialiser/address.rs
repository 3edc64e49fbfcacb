//! Addresses in initialisers (PTX ISA section 5.4.4): their shape, and what they are of.

use crate::checked::Addressee;
use crate::codes::declarations as codes;
use crate::context::Context;
use crate::gates;
use crate::names::Entity;
use softwarp_isa::StateSpace;
use softwarp_syntax::Diagnostic;
use softwarp_syntax::tree::{At, BinaryOp, Expr, ExprId, Name};

/// `x`, `x+4`, `generic(x)+4`: the shape of an address.
pub struct AddressForm {
    pub name: Name,
    /// Converted to a generic one.
    pub generic: bool,
    /// The offsets that are added to it.
    pub offsets: Vec<ExprId>,
}

impl AddressForm {
    /// Reads the shape; `None` if the expression is not an address.
    pub fn read(context: &Context<'_>, root: ExprId) -> Option<AddressForm> {
        let mut offsets = Vec::new();
        let mut id = root;
        loop {
            let At { is, span } = context.module.expression(id);
            match is {
                Expr::Binary(BinaryOp::Add, left, right) => {
                    offsets.push(right);
                    id = left;
                }
                Expr::Name(symbol) if context.text(symbol) != "WARP_SZ" => {
                    return Some(AddressForm { name: Name { symbol, span }, generic: false, offsets });
                }
                Expr::Generic(inner) => {
                    let At { is, span } = context.module.expression(inner);
                    let Expr::Name(symbol) = is else { return None };
                    return Some(AddressForm { name: Name { symbol, span }, generic: true, offsets });
                }
                _ => return None,
            }
        }
    }
}

/// What the name in an address means, if its address can be taken before the program runs.
pub fn addressee(context: &mut Context<'_>, form: &AddressForm, variable: &str) -> Option<Addressee> {
    let Name { symbol, span } = form.name;
    let text = context.text(symbol);
    let found = context.names.lookup(symbol);
    match found.map(|found| (found.entity, found.member, found.span)) {
        Some((Entity::Variable(id), member, declared)) => {
            let space = context.checked.variable(id).space;
            let is_opaque = context.checked.variable(id).opaque().is_some();
            match space {
                StateSpace::Global | StateSpace::Const | StateSpace::Tex => {
                    context.require(&gates::ADDRESS_VALUE, span);
                    if is_opaque {
                        let message =
                            format!("`{text}` is opaque: its address is no initial value, says the manual");
                        context.deviation(codes::OPAQUE_ADDRESS, span, message);
                    }
                    Some(Addressee::Variable(id, member))
                }
                StateSpace::Reg | StateSpace::Sreg => {
                    let message = format!("`{text}` is a register, which has no address");
                    let diagnostic = Diagnostic::new(codes::INITIALISER_SYMBOL, span, message);
                    context.report(diagnostic.with_related(declared, "declared here"));
                    None
                }
                _ => {
                    let message = format!(
                        "`{text}` is in `{space}`; only `.global` and `.const` variables have an address before the program runs"
                    );
                    let diagnostic = Diagnostic::new(codes::INITIALISER_SPACE, span, message);
                    context.report(diagnostic.with_related(declared, "declared here"));
                    None
                }
            }
        }
        Some((Entity::Function(id), ..)) => {
            let entry = context.checked.function(id).entry;
            let function = &mut context.checked.functions[id.0 as usize];
            (function.referenced, function.address_taken) = (true, true);
            if form.generic {
                let message = format!("`{text}` is a function; `generic()` is for variables");
                let help = format!("write `{text}`");
                context.report(Diagnostic::new(codes::FUNCTION_ADDRESS, span, message).with_help(help));
                return None;
            }
            if !form.offsets.is_empty() {
                let message = format!("`{text}` is a function; nothing can be added to its address");
                context.report(Diagnostic::new(codes::FUNCTION_ADDRESS, span, message));
                return None;
            }
            context.require(&gates::FUNCTION_VALUE, span);
            if entry {
                context.require(&gates::ENTRY_VALUE, span);
            }
            Some(Addressee::Function(id))
        }
        Some((Entity::Label(_), _, declared)) => {
            let message = format!("`{text}` is a label, which has no address before the program runs");
            let diagnostic = Diagnostic::new(codes::INITIALISER_SYMBOL, span, message);
            context.report(diagnostic.with_related(declared, "declared here"));
            None
        }
        None => {
            let message =
                format!("`{text}`, in the initialiser of `{variable}`, is not declared before this");
            let mut diagnostic = Diagnostic::new(codes::INITIALISER_SYMBOL, span, message);
            if let Some(near) = context.names.nearest(context.module, text) {
                diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
            }
            context.report(diagnostic);
            None
        }
    }
}
