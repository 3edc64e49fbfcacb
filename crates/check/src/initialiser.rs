//! Initialisers (PTX ISA section 5.4.4): whether they fit the variable, and the bytes and addresses they
//! settle to.
//!
//! Lists nest as the array's dimensions do, with the elements of a vector innermost. As in the assembler, the
//! values simply follow one another: a row that is left short is not padded.

use crate::checked::{Address, Addressee, Initialiser, VarId};
use crate::codes::declarations as codes;
use crate::constant::{self, Value};
use crate::context::Context;
use crate::names::Entity;
use crate::{gates, opaque};
use softwarp_isa::{Class, StateSpace, Type};
use softwarp_syntax::tree::{At, BinaryOp, DeclaredType, Expr, ExprId, Name, Range};
use softwarp_syntax::{Diagnostic, Span};

/// Judges the initialiser of a declared variable; returns what it settles to and the number of elements in its
/// outermost list. Stops at the first error, as the assembler does.
pub fn settle(context: &mut Context<'_>, id: VarId, root: ExprId) -> Option<(Initialiser, u64)> {
    let variable = context.checked.variable(id);
    let mut walk = Walk {
        name: context.text(variable.name),
        ty: variable.ty,
        vector: variable.vector,
        dimensions: variable.dimensions.clone(),
        open: variable.open,
        data: Initialiser::default(),
        lists: Vec::new(),
        short_row: None,
        warned: false,
    };
    walk.visit(context, root, 0)?;
    while let Some(list) = walk.lists.last_mut() {
        match list.elements.of(&context.module.elements).get(list.next) {
            Some(&element) => {
                list.next += 1;
                let depth = list.depth;
                walk.visit(context, element, depth)?;
            }
            None => {
                walk.lists.pop();
            }
        }
    }
    let outermost = match context.module.expression(root).is {
        Expr::List(elements) => u64::from(elements.len),
        _ => 1,
    };
    Some((walk.data, outermost))
}

/// A list that is being walked.
struct List {
    elements: Range<ExprId>,
    next: usize,
    /// How deep its elements are.
    depth: usize,
}

struct Walk<'a> {
    name: &'a str,
    ty: DeclaredType,
    vector: u8,
    dimensions: Box<[u64]>,
    open: bool,
    data: Initialiser,
    lists: Vec<List>,
    /// A row that was left short, if no value has followed it yet.
    short_row: Option<Span>,
    /// Whether the one warning about rows was given.
    warned: bool,
}

impl Walk<'_> {
    /// Judges an expression at a depth: a list that its elements are left to be walked of, or a value.
    fn visit(&mut self, context: &mut Context<'_>, id: ExprId, depth: usize) -> Option<()> {
        let At { is, span } = context.module.expression(id);
        let rank = self.dimensions.len();
        if let (DeclaredType::Opaque(opaque), Expr::Field(name, value)) = (self.ty, is) {
            if (1..=rank).contains(&depth) {
                opaque::check_stray_member(context, opaque, name, value);
                return Some(());
            }
            return opaque::check_member(context, opaque, id, &mut self.data).then_some(());
        }
        if depth < rank {
            let size = if depth == 0 && self.open { u64::MAX } else { self.dimensions[depth] };
            return match is {
                Expr::List(elements) => self.enter_row(context, elements, depth, size, span),
                // The assembler takes `name = value` for the value.
                Expr::Field(..) if depth > 0 && rank == depth => self.value(context, id, span),
                _ => self.mismatch(context, span, "is an array, so its initialiser is a list in braces"),
            };
        }
        match self.ty {
            DeclaredType::Opaque(opaque) if depth == rank => match is {
                Expr::List(elements) => self.enter(elements, depth + 1),
                _ => {
                    let what =
                        format!("is a `{opaque}`: its initialiser names members, as in `{{ width = 64 }}`");
                    self.mismatch(context, span, &what)
                }
            },
            DeclaredType::Opaque(opaque) => {
                opaque::check_member(context, opaque, id, &mut self.data).then_some(())
            }
            DeclaredType::Value(Type::F16) => {
                let message = format!("`{}` is of type `.f16`, which takes no initialiser", self.name);
                let help = "declare it `.b16` and write the bits, as in `0x3c00` for 1.0";
                context.report(Diagnostic::new(codes::F16_INITIALISER, span, message).with_help(help));
                None
            }
            DeclaredType::Value(_) if self.vector > 1 && depth == rank => match is {
                Expr::List(elements) if elements.len == u32::from(self.vector) => {
                    self.enter(elements, depth + 1)
                }
                Expr::List(elements) => {
                    let message = format!(
                        "`{}` is a vector of {} elements, and this list has {}",
                        self.name, self.vector, elements.len
                    );
                    let help = "vectors are initialised whole";
                    context.report(Diagnostic::new(codes::VECTOR_ELEMENTS, span, message).with_help(help));
                    None
                }
                _ => self.mismatch(context, span, "is a vector, so its initialiser is a list in braces"),
            },
            DeclaredType::Value(Type::F16x2) => self.packed(context, id, depth, span),
            DeclaredType::Value(_) => match is {
                Expr::List(_) => self.mismatch(context, span, "takes one value here, not a list"),
                _ => self.value(context, id, span),
            },
        }
    }

    fn enter(&mut self, elements: Range<ExprId>, depth: usize) -> Option<()> {
        self.lists.push(List { elements, next: 0, depth });
        Some(())
    }

    fn enter_row(
        &mut self,
        context: &mut Context<'_>,
        elements: Range<ExprId>,
        depth: usize,
        size: u64,
        span: Span,
    ) -> Option<()> {
        if u64::from(elements.len) > size {
            let message = format!(
                "this list has {} elements, and `{}` has room for {size} here",
                elements.len, self.name
            );
            context.report(Diagnostic::new(codes::TOO_MANY_ELEMENTS, span, message));
            return None;
        }
        if depth > 0 && u64::from(elements.len) < size {
            self.short_row = self.short_row.or(Some(span));
        }
        self.enter(elements, depth + 1)
    }

    /// An `.f16x2`: the assembler wants a list, of whatever length and depth, and stores binary32.
    fn packed(&mut self, context: &mut Context<'_>, id: ExprId, depth: usize, span: Span) -> Option<()> {
        let innermost = self.dimensions.len() + usize::from(self.vector > 1);
        match context.module.expression(id).is {
            Expr::List(elements) => {
                if depth == innermost {
                    let message = format!(
                        "`{}` is of type `.f16x2`: the assembler takes this list but stores 32-bit numbers from it",
                        self.name
                    );
                    context.deviation(codes::F16X2_INITIALISER, span, message);
                }
                self.enter(elements, depth + 1)
            }
            _ if depth > innermost => {
                let value = constant::evaluate(context, id)?;
                self.store(context, value, Type::B32, span);
                Some(())
            }
            _ => self.mismatch(context, span, "is of type `.f16x2`, which takes no value here"),
        }
    }

    /// One value or address.
    fn value(&mut self, context: &mut Context<'_>, id: ExprId, span: Span) -> Option<()> {
        let DeclaredType::Value(ty) = self.ty else { return None };
        let At { is, .. } = context.module.expression(id);
        match is {
            Expr::Field(_, value) => self.plain(context, value, ty, span),
            Expr::Mask((mask, mask_span), inner) => self.masked(context, mask, mask_span, inner, ty, span),
            _ => self.plain(context, id, ty, span),
        }
    }

    /// A value or address without a mask.
    fn plain(&mut self, context: &mut Context<'_>, id: ExprId, ty: Type, span: Span) -> Option<()> {
        if let Some(form) = AddressForm::read(context, id) {
            let address = self.address(context, &form, span)?;
            if !matches!(ty, Type::U32 | Type::U64) {
                let what = format!("is of type `.{ty}`; addresses go into `.u32` and `.u64`");
                return self.mismatch(context, span, &what);
            }
            let size = (ty.bits() / 8) as u8;
            self.store_address(context, Address { size, ..address }, ty);
            return Some(());
        }
        let value = constant::evaluate(context, id)?;
        let fits = matches!(
            (ty.class(), value),
            (Class::Signed | Class::Unsigned, Value::Int { .. })
                | (Class::Float, Value::F32(_) | Value::F64(_))
                | (Class::Bits, _)
        );
        if !fits {
            let what = format!("is of type `.{ty}`, and its initial value is {}", value.sort());
            return self.mismatch_with(context, span, &what, literal_help(context, ty, span));
        }
        self.store(context, value, ty, span);
        Some(())
    }

    /// `0xff00(x)`: one byte of an address or integer.
    fn masked(
        &mut self,
        context: &mut Context<'_>,
        mask: u64,
        mask_span: Span,
        inner: ExprId,
        ty: Type,
        span: Span,
    ) -> Option<()> {
        context.require(&gates::MASK, mask_span);
        let form = AddressForm::read(context, inner);
        if form.is_none() {
            context.require(&gates::INTEGER_MASK, mask_span);
            if context.version() == gates::INTEGER_MASK.since {
                let message =
                    "a mask over an integer came with PTX 7.3, says the manual; the assembler takes it";
                context.deviation(codes::EARLY_MASK, mask_span, message);
            }
        }
        let shift = mask.trailing_zeros();
        if mask == 0 || !shift.is_multiple_of(8) || mask >> shift != 0xff {
            let message = format!("the mask {mask:#x} does not select one byte");
            let help = "a mask is 0xff, 0xff00, 0xff0000 and so on";
            context.report(Diagnostic::new(codes::MASK, mask_span, message).with_help(help));
            return None;
        }
        if let Some(form) = form {
            let address = self.address(context, &form, span)?;
            if !matches!(ty, Type::U8 | Type::U32 | Type::U64) {
                let what =
                    format!("is of type `.{ty}`; a byte of an address goes into `.u8`, `.u32` or `.u64`");
                return self.mismatch(context, span, &what);
            }
            self.store_address(context, Address { size: 1, mask: Some(mask), ..address }, ty);
            return Some(());
        }
        let value = constant::evaluate(context, inner)?;
        match (value, ty.class()) {
            (Value::Int { value, .. }, Class::Signed | Class::Unsigned | Class::Bits) => {
                let byte = Value::Int { value: (value & mask) >> shift, unsigned: true };
                self.store(context, byte, ty, span);
                Some(())
            }
            (Value::Int { .. }, _) => {
                let what = format!("is of type `.{ty}`, and its initial value is a byte of an integer");
                self.mismatch(context, span, &what)
            }
            _ => {
                let message =
                    "a mask selects a byte of an integer or address, not of a floating-point number";
                context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message));
                None
            }
        }
    }

    /// What an address in an initialiser is of. `at` and `size` are left to the caller.
    fn address(&mut self, context: &mut Context<'_>, form: &AddressForm, span: Span) -> Option<Address> {
        if form.generic {
            context.require(&gates::GENERIC_VALUE, span);
        }
        let mut offset = 0u64;
        for &part in &form.offsets {
            let value = constant::evaluate(context, part)?;
            let Some(value) = value.int() else {
                let message = format!("an offset is an integer, not {}", value.sort());
                context.report(Diagnostic::new(codes::EXPRESSION_TYPE, span, message));
                return None;
            };
            offset = offset.wrapping_add(value);
        }
        let of = addressee(context, form, self.name)?;
        let offset = offset as i64;
        Some(Address { at: 0, size: 0, of, offset, generic: form.generic, mask: None })
    }

    fn mismatch(&self, context: &mut Context<'_>, span: Span, what: &str) -> Option<()> {
        self.mismatch_with(context, span, what, None)
    }

    fn mismatch_with(
        &self,
        context: &mut Context<'_>,
        span: Span,
        what: &str,
        help: Option<String>,
    ) -> Option<()> {
        let mut diagnostic =
            Diagnostic::new(codes::INITIALISER_TYPE, span, format!("`{}` {what}", self.name));
        diagnostic.help = help;
        context.report(diagnostic);
        None
    }

    fn store_address(&mut self, context: &mut Context<'_>, address: Address, ty: Type) {
        self.after_short_row(context);
        let at = self.data.bytes.len() as u64;
        self.data.addresses.push(Address { at, ..address });
        self.data.bytes.extend(std::iter::repeat_n(0, (ty.bits() / 8) as usize));
    }

    fn store(&mut self, context: &mut Context<'_>, value: Value, ty: Type, span: Span) {
        self.after_short_row(context);
        let size = (ty.register_type().bits() / 8) as usize;
        let bits = match value {
            Value::Int { value, .. } => {
                if ty.is_int() && size < 8 && !fits(value as i64, size) {
                    let message = format!(
                        "{} does not fit a `.{ty}`; its low {} bits are kept",
                        Shown(value),
                        8 * size
                    );
                    context.report(Diagnostic::new(codes::CHOPPED, span, message));
                }
                value
            }
            Value::F32(bits) => {
                if ty == Type::F64 {
                    let message =
                        "the assembler stores the 32 bits of this literal as they are, not their value";
                    let help = "write it as `0d…` or as a decimal number";
                    context.report(Diagnostic::new(codes::SINGLE_IN_DOUBLE, span, message).with_help(help));
                }
                u64::from(bits)
            }
            Value::F64(value) if size == 4 => u64::from((value as f32).to_bits()),
            Value::F64(value) => value.to_bits(),
        };
        let bytes = u128::from(bits).to_le_bytes();
        self.data.bytes.extend(&bytes[..size.min(bytes.len())]);
    }

    /// Says once that what follows a short row moves up into it.
    fn after_short_row(&mut self, context: &mut Context<'_>) {
        if let Some(row) = self.short_row.take()
            && !self.warned
        {
            self.warned = true;
            let message = format!(
                "this row of `{}` is short: the assembler lets the next values follow at once, the manual pads it with zeros",
                self.name
            );
            let help = "write the zeros";
            let code = if context.options.strict { codes::SHORT_ROW.error } else { codes::SHORT_ROW.warning };
            context.report(Diagnostic::new(code, row, message).with_help(help));
        }
    }
}

/// An integer as one would write it.
struct Shown(u64);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let signed = self.0 as i64;
        if signed > -(1 << 32) { write!(f, "{signed}") } else { write!(f, "{:#x}", self.0) }
    }
}

/// Whether an integer fits that many bytes, signed or unsigned.
fn fits(value: i64, bytes: usize) -> bool {
    let bits = 8 * bytes as u32;
    (-(1 << (bits - 1))..1 << bits).contains(&value)
}

/// How the value could have been written for this type.
fn literal_help(context: &Context<'_>, ty: Type, span: Span) -> Option<String> {
    let text = span.text(context.source);
    let digits = text.trim_start_matches('-');
    if ty.class() == Class::Float && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("write `{text}.0`"));
    }
    None
}

/// `x`, `x+4`, `generic(x)+4`: the shape of an address.
struct AddressForm {
    name: Name,
    generic: bool,
    offsets: Vec<ExprId>,
}

impl AddressForm {
    /// Reads the shape; `None` if the expression is not an address.
    fn read(context: &Context<'_>, root: ExprId) -> Option<AddressForm> {
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
fn addressee(context: &mut Context<'_>, form: &AddressForm, variable: &str) -> Option<Addressee> {
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
            context.checked.functions[id.0 as usize].referenced = true;
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
