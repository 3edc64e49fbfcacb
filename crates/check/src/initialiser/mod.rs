//! Initialisers (PTX ISA section 5.4.4): whether they fit the variable, and the bytes and addresses they
//! settle to.
//!
//! Lists nest as the array's dimensions do, with the elements of a vector innermost. In the assembler the values
//! simply follow one another: a row that is left short is not padded. In the manual each list fills its own row,
//! and so it does here where the manual counts.

mod address;

use address::{AddressForm, addressee};

use crate::checked::{Address, Field, Initialiser, VarId, Variable};
use crate::codes::declarations as codes;
use crate::constant::{self, Value};
use crate::context::Context;
use crate::{gates, opaque};
use softwarp_isa::{Class, Opaque, Type};
use softwarp_syntax::tree::{At, DeclaredType, Expr, ExprId, Range};
use softwarp_syntax::{Diagnostic, Span};

/// Judges the initialiser of a declared variable; returns what it settles to and the number of elements in its
/// outermost list. Stops at the first error, as the assembler does.
pub fn resolve(context: &mut Context<'_>, id: VarId, root: ExprId) -> Option<(Initialiser, u64)> {
    let variable = context.checked.variable(id);
    let mut walk = Walk {
        row_bytes: row_bytes(variable),
        name: context.text(variable.name),
        ty: variable.ty,
        vector: variable.vector,
        dimensions: variable.dimensions.clone(),
        open: variable.open,
        data: Initialiser::default(),
        at: 0,
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
            None => walk.leave(context.options.strict),
        }
    }
    let outermost = match context.module.expression(root).is {
        Expr::List(elements) => u64::from(elements.len),
        _ => 1,
    };
    Some((walk.data, outermost))
}

/// Bytes of a handle: an opaque variable, or an element of an array of them.
const HANDLE_BYTES: u64 = 8;

/// A list that is being walked.
struct List {
    elements: Range<ExprId>,
    next: usize,
    /// How deep its elements are.
    depth: usize,
    /// Where a row or a handle ends, given in full or not; of other lists, where they begin.
    end: u64,
    /// The text of a row inside an array.
    row: Option<Span>,
}

/// Bytes of the lists at each depth of an array: of the whole, of a row, of a row's row.
fn row_bytes(variable: &Variable) -> Vec<u64> {
    let mut bytes = variable.element_bytes();
    let mut inner: Vec<u64> = variable
        .dimensions
        .iter()
        .rev()
        .map(|&size| {
            bytes = bytes.saturating_mul(size);
            bytes
        })
        .collect();
    inner.reverse();
    inner
}

struct Walk<'a> {
    name: &'a str,
    ty: DeclaredType,
    vector: u8,
    dimensions: Box<[u64]>,
    row_bytes: Vec<u64>,
    open: bool,
    data: Initialiser,
    /// Where the next value goes, in bytes from the start of the variable.
    at: u64,
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
            return self.member(context, opaque, id);
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
                Expr::List(elements) => self.enter(elements, depth + 1, HANDLE_BYTES, None),
                _ => {
                    let what =
                        format!("is a `{opaque}`: its initialiser names members, as in `{{ width = 64 }}`");
                    self.mismatch(context, span, &what)
                }
            },
            DeclaredType::Opaque(opaque) => self.member(context, opaque, id),
            DeclaredType::Value(Type::F16) => {
                let message = format!("`{}` is of type `.f16`, which takes no initialiser", self.name);
                let help = "declare it `.b16` and write the bits, as in `0x3c00` for 1.0";
                context.report(Diagnostic::new(codes::F16_INITIALISER, span, message).with_help(help));
                None
            }
            DeclaredType::Value(_) if self.vector > 1 && depth == rank => match is {
                Expr::List(elements) if elements.len == u32::from(self.vector) => {
                    self.enter(elements, depth + 1, 0, None)
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

    /// Enters a list: of a row or a handle, with the bytes that it has.
    fn enter(&mut self, elements: Range<ExprId>, depth: usize, bytes: u64, row: Option<Span>) -> Option<()> {
        let end = self.at.saturating_add(bytes);
        self.lists.push(List { elements, next: 0, depth, end, row });
        Some(())
    }

    /// Leaves the innermost list. What follows a short row comes at once, or where the manual counts after it.
    fn leave(&mut self, strict: bool) {
        let Some(List { end, row, .. }) = self.lists.pop().filter(|list| self.at < list.end) else { return };
        self.short_row = self.short_row.or(row);
        if strict || row.is_none() {
            self.at = end;
        }
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
        // What the outermost list leaves out is zero for everyone.
        let (bytes, row) = if depth > 0 { (self.row_bytes[depth], Some(span)) } else { (0, None) };
        self.enter(elements, depth + 1, bytes, row)
    }

    /// A member of an opaque variable, or of an element of an array of them.
    fn member(&mut self, context: &mut Context<'_>, opaque: Opaque, id: ExprId) -> Option<()> {
        let (member, value) = opaque::check_member(context, opaque, id)?;
        if let Some(value) = value {
            self.data.fields.push(Field { element: self.at / HANDLE_BYTES, member, value });
        }
        Some(())
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
                self.enter(elements, depth + 1, 0, None)
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
        if !value.goes_into(ty) {
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
        let shift = constant::mask_shift(context, mask, mask_span)?;
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
        let byte = constant::masked(context, mask, shift, inner, span)?;
        if !byte.goes_into(ty) {
            let what = format!("is of type `.{ty}`, and its initial value is a byte of an integer");
            return self.mismatch(context, span, &what);
        }
        self.store(context, byte, ty, span);
        Some(())
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
        self.data.addresses.push(Address { at: self.at, ..address });
        let zeros = [0; 8];
        self.put(&zeros[..zeros.len().min((ty.bits() / 8) as usize)]);
    }

    fn store(&mut self, context: &mut Context<'_>, value: Value, ty: Type, span: Span) {
        self.after_short_row(context);
        if value.is_chopped(ty) {
            let message = format!(
                "{} does not fit a `.{ty}`; its low {} bits are kept",
                Shown(value.bits()),
                ty.bits()
            );
            context.report(Diagnostic::new(codes::CHOPPED, span, message));
        }
        if let (Value::F32(_), Type::F64) = (value, ty) {
            let message = "the assembler stores the 32 bits of this literal as they are, not their value";
            let help = "write it as `0d…` or as a decimal number";
            context.report(Diagnostic::new(codes::SINGLE_IN_DOUBLE, span, message).with_help(help));
        }
        let (bytes, size) = value.bytes(ty);
        self.put(&bytes[..size]);
    }

    fn put(&mut self, bytes: &[u8]) {
        self.data.put(self.at, bytes);
        self.at = self.at.saturating_add(bytes.len() as u64);
    }

    /// Says once that what follows a short row moves up into it, or would in the assembler.
    fn after_short_row(&mut self, context: &mut Context<'_>) {
        if let Some(row) = self.short_row.take()
            && !self.warned
        {
            self.warned = true;
            let chosen = if context.options.strict { ", as is done here" } else { "" };
            let message = format!(
                "this row of `{}` is short: the assembler lets the next values follow at once, the manual pads it with zeros{chosen}",
                self.name
            );
            context.report(Diagnostic::new(codes::SHORT_ROW, row, message).with_help("write the zeros"));
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

/// How the value could have been written for this type.
fn literal_help(context: &Context<'_>, ty: Type, span: Span) -> Option<String> {
    let text = span.text(context.source);
    let digits = text.trim_start_matches('-');
    if ty.class() == Class::Float && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("write `{text}.0`"));
    }
    None
}
