//! Messages about operands that do not fit their form. Modules without errors never get here.
//!
//! A message names the operand as the manual's syntax line does, says what it is and what it could be. The
//! declaration that it is about is shown beside it. The help is one line and says how to correct the operand.

use super::Walk;
use super::accepts::{Accepts, Spaces};
use super::explain::{narrow_address, no_code, no_label, spelling, syntax_line, undeclared};
use super::forms::{Variant, Want, What};
use super::mismatch::{Forbidden, Mismatch, Misuse, Reason, Sort};
use super::ranges::Bounds;
use super::rule::Width;
use crate::checked::VarId;
use crate::codes::instructions as codes;
use softwarp_isa::instruction::{InstructionForm, LiteralKind};
use softwarp_isa::special::SpecialRegister;
use softwarp_isa::{Class, Opaque, Type};
use softwarp_syntax::tree::Name;
use softwarp_syntax::{Code, Diagnostic, Span};
use std::fmt::Display;

/// An operand that is not what the form wants.
pub(super) fn mismatch(
    walk: &Walk<'_, '_>,
    form: &InstructionForm,
    variant: Variant,
    (position, want): (usize, &Want),
    mismatch: &Mismatch,
) -> Diagnostic {
    let words = Words { walk, form, variant, position, want, at: mismatch.at };
    words.diagnostic(mismatch.why)
}

/// What a message is about.
struct Words<'a, 'w, 'm> {
    walk: &'a Walk<'w, 'm>,
    form: &'a InstructionForm,
    variant: Variant,
    position: usize,
    want: &'a Want,
    at: Span,
}

impl Words<'_, '_, '_> {
    fn diagnostic(&self, why: Reason) -> Diagnostic {
        match why {
            Reason::Undeclared(symbol) if matches!(self.want.what, What::Label) => {
                no_label(self.walk, Name { symbol, span: self.at })
            }
            Reason::Undeclared(symbol) => undeclared(self.walk, symbol, self.at),
            Reason::NoCode(symbol) => no_code(self.walk, Name { symbol, span: self.at }),
            Reason::Sort(sort) => self.sort(sort),
            Reason::Type { id, ty } => self.register_type(id, ty),
            Reason::SpecialType { ty } => self
                .saying(
                    codes::OPERAND_TYPE,
                    format!("is a special register of type .{ty}; {}", self.wanted()),
                )
                .with_help(format!("read it with `mov.{ty}` first")),
            Reason::Constant(kind) => self.constant(kind),
            Reason::Range { value, least, most } => self
                .saying(codes::IMMEDIATE_RANGE, format!("is {value}; it can be {least} to {most}"))
                .with_help(format!("use a constant from {least} to {most}")),
            Reason::Bounds { value, bounds } => self.bounds(value, bounds),
            Reason::Above { value, most, of } => self
                .saying(
                    codes::IMMEDIATE_RANGE,
                    format!("is {value}; it can be at most {most}, which is `{of}`"),
                )
                .with_help(format!("use at most {most}; what is in a register is not looked at")),
            Reason::Fraction { value } => self
                .saying(codes::IMMEDIATE_RANGE, format!("is {value}; it can be a number above 0 and up to 1"))
                .with_help("use such a constant, or leave it away for 1.0"),
            Reason::Size { found } => self.size(found),
            Reason::Mixed { first, other } => self
                .saying(
                    codes::VECTOR_ELEMENTS,
                    format!("is a vector of a .{first} and a .{other}: they do not go together"),
                )
                .with_help("give its elements the same type, or bits of the same size"),
            Reason::Packed { bits } => self.packed(bits),
            Reason::Member { lanes } => self.member(lanes),
            Reason::PredicateUnavailable { version, sm } => self
                .saying(
                    codes::UNAVAILABLE,
                    format!("has a predicate beside it, which needs PTX {version}, sm_{sm}"),
                )
                .with_help("leave the predicate away, or raise `.version` or `.target`"),
            Reason::SpecialUnavailable(register) => self.special_unavailable(register),
            Reason::Space { id, spaces } => self.space(id, spaces),
            Reason::AddressType { id, ty, width } => self.address_type(id, ty, width),
            Reason::NarrowAddress => narrow_address(self.at),
            Reason::Handle(of) => self.handle(of),
            Reason::Forbidden(forbidden) => {
                let (code, rest, help) = words_of(forbidden);
                self.saying(code, rest).with_help(help)
            }
            Reason::Misused(id, misuse) => {
                let (code, is, help) = words_of_misuse(misuse);
                self.about(code, id, is).with_help(help)
            }
        }
    }

    /// A message that begins with the operand: "operand 2 (`a`) of `add.u32` …".
    fn saying(&self, code: Code, rest: impl Display) -> Diagnostic {
        let message = format!("{} of `{}` {rest}", self.operand(), spelling(self.form));
        Diagnostic::new(code, self.at, message)
    }

    /// "operand 2 (`a`)"
    fn operand(&self) -> String {
        format!("operand {} (`{}`)", self.position + 1, self.want.name)
    }

    fn name_of(&self, id: VarId) -> String {
        let variable = self.walk.context.checked.variable(id);
        let name = self.walk.context.text(variable.name);
        match variable.count {
            Some(count) => format!("{name}<{count}>"),
            None => name.to_owned(),
        }
    }

    fn span_of(&self, id: VarId) -> Span {
        self.walk.context.checked.variable(id).span
    }

    /// A message about a variable: "`x` is …".
    fn about(&self, code: Code, id: VarId, is: &str) -> Diagnostic {
        let name = self.name_of(id);
        self.saying(code, format!("is `{name}`, which {is}"))
            .with_related(self.span_of(id), format!("`{name}` is declared here"))
    }

    /// What would do, as the end of a sentence.
    fn wanted(&self) -> String {
        match self.want.what {
            What::Value(accepts) | What::Vector { element: accepts, .. } => {
                format!("it can be {}", types(accepts))
            }
            What::Address(..) => "it is an address in brackets".to_owned(),
            What::Label => "it is a label".to_owned(),
            What::Immediate(_) => "it is a constant".to_owned(),
            _ => "something else is wanted".to_owned(),
        }
    }

    fn sort(&self, sort: Sort) -> Diagnostic {
        let wanted = match self.want.what {
            What::Value(accepts) if accepts.constants() => "a register or a constant is wanted",
            What::Value(_) => "a register is wanted",
            What::Pair { .. } => "a pair `d|p` is wanted",
            What::Vector { .. } => "a vector `{a, b, …}` is wanted",
            What::Address(..) => "an address in brackets is wanted",
            What::Handle { .. } => "a handle in brackets is wanted",
            What::Tensor { .. } => "a tensor map and coordinates in brackets are wanted",
            What::Fabric { counter: false, .. } => "an endpoint and an offset in brackets are wanted",
            What::Fabric { counter: true, .. } => "an endpoint and two offsets in brackets are wanted",
            What::Immediate(_) => "a constant is wanted",
            What::Label => "a label is wanted",
            What::Sink => "the sink `_` is wanted",
            What::Any => "something else is wanted",
        };
        let is = sort.name();
        let diagnostic = self.saying(codes::OPERAND_SORT, format!("is {is}; {wanted}"));
        let help = match (self.want.what, sort) {
            (What::Value(accepts), Sort::Variable) if !self.want.writes => {
                format!(
                    "load from it with `ld`, or take its address with `mov.u64` into a register of type .{}",
                    accepts.ty
                )
            }
            (What::Value(accepts), Sort::Address) => {
                format!("load first: `ld.{} r, […];`", register_for(accepts))
            }
            (What::Value(accepts), Sort::Constant) if !self.want.writes => {
                format!("move the constant into a register first; here can stand {}", types(accepts))
            }
            (What::Address(..), Sort::Register) => "put it in brackets: `[a]`".to_owned(),
            _ => match self.form.signatures.get(self.variant.signature as usize) {
                Some(signature) => format!("its syntax is `{}`", syntax_line(self.form, signature)),
                None => return diagnostic,
            },
        };
        diagnostic.with_help(help)
    }

    fn register_type(&self, id: VarId, ty: Type) -> Diagnostic {
        let name = self.name_of(id);
        let accepts = match self.want.what {
            What::Value(accepts) | What::Vector { element: accepts, .. } => accepts,
            What::Handle { coordinates: Some((_, accepts)), .. } => accepts,
            // Which half of a pair it is, the syntax line shows.
            _ => {
                let signature = self.form.signatures.get(self.variant.signature as usize);
                let syntax =
                    signature.map_or_else(String::new, |signature| syntax_line(self.form, signature));
                return self
                    .saying(codes::OPERAND_TYPE, format!("has a .{ty} register, `{name}`, that does not fit"))
                    .with_related(self.span_of(id), format!("`{name}` is declared .{ty} here"))
                    .with_help(format!("its syntax is `{syntax}`"));
            }
        };
        let message = format!("is a .{ty} register; it can be {}", types(accepts));
        self.saying(codes::OPERAND_TYPE, message)
            .with_related(self.span_of(id), format!("`{name}` is declared .{ty} here"))
            .with_help(self.type_help(accepts, &name, ty))
    }

    /// Another type for the instruction if the register's is one it has, else one for the register.
    fn type_help(&self, accepts: Accepts, name: &str, ty: Type) -> String {
        let mut words: Vec<&str> = self.form.words.iter().map(|word| word.name()).collect();
        if let [own] = self.form.types[..]
            && self.walk.has_said_little()
            && accepts.ty == own
            && let Some(word) = words.iter_mut().find(|word| **word == own.name())
        {
            *word = ty.name();
            if softwarp_isa::instruction::resolve(self.form.opcode.name(), &words).is_ok() {
                return format!(
                    "use `{}.{}`, or declare `{name}` as .{}",
                    self.form.opcode,
                    words.join("."),
                    register_for(accepts)
                );
            }
        }
        format!("declare `{name}` as .{}, or convert it with `cvt` or `mov` first", register_for(accepts))
    }

    fn constant(&self, kind: LiteralKind) -> Diagnostic {
        let is = match kind {
            LiteralKind::Integer => "an integer",
            LiteralKind::F32 => "a 32-bit float",
            LiteralKind::F64 => "a float",
        };
        let ty = match self.want.what {
            What::Value(accepts) | What::Vector { element: accepts, .. } => accepts.ty,
            _ => Type::U32,
        };
        self.saying(codes::IMMEDIATE, format!("is {is}; a constant of type .{ty} is wanted")).with_help(
            match (ty.class(), kind) {
                (Class::Float, LiteralKind::Integer) => {
                    "write it with a point (1.0), or as bits (0f3f800000)"
                }
                (_, LiteralKind::Integer) => "use a register",
                _ => "write an integer",
            },
        )
    }

    fn size(&self, found: usize) -> Diagnostic {
        let is = match found {
            1 => "one value".to_owned(),
            _ => format!("{found} values"),
        };
        let wanted = match self.form.vector {
            0 | 1 => "another number is wanted".to_owned(),
            lanes => format!("its vectors have {lanes}"),
        };
        self.saying(codes::VECTOR_SIZE, format!("is {is}; {wanted}"))
            .with_help("write as many elements in the braces as the instruction moves")
    }

    fn member(&self, lanes: u8) -> Diagnostic {
        self.saying(codes::MEMBER, "has no such element").with_help(match lanes {
            0 | 1 => "only vectors have elements, and this is a single value",
            2 => "a vector of two has the elements .x and .y",
            _ => "a vector has the elements .x, .y, .z and .w",
        })
    }

    fn special_unavailable(&self, register: &SpecialRegister) -> Diagnostic {
        let context = &self.walk.context;
        let needs = softwarp_isa::availability::in_words(register.availability);
        let name = register.display_name();
        let (version, target) = (context.version(), context.target());
        self.saying(
            codes::SPECIAL_UNAVAILABLE,
            format!("is `{name}`, which needs {needs}; this module says PTX {version}, {target}"),
        )
        .with_help("raise `.version` or `.target`, if what runs the module has them")
    }

    fn address_type(&self, id: VarId, ty: Type, width: Width) -> Diagnostic {
        self.saying(codes::ADDRESS_TYPE, format!("is a .{ty} register, which cannot hold an address here"))
            .with_related(self.span_of(id), format!("`{}` is declared .{ty} here", self.name_of(id)))
            .with_help(match width {
                Width::Word | Width::Bits => "an address of tensor memory is in a .b32 register",
                _ => "put the address into a .u64 register",
            })
    }

    fn packed(&self, bits: u32) -> Diagnostic {
        let wanted = match self.want.what {
            What::Value(accepts) => accepts.ty.bits(),
            _ => 0,
        };
        self.saying(
            codes::VECTOR_SIZE,
            format!(
                "is a vector of {bits} bits in all; it packs two or four elements of {wanted} bits in all"
            ),
        )
        .with_help(format!("use `mov.b{bits}`, or elements of another size"))
    }

    fn bounds(&self, value: i64, bounds: &Bounds) -> Diagnostic {
        let mut can = match (bounds.least, bounds.most) {
            (i64::MIN, i64::MAX) => "any number".to_owned(),
            (least, i64::MAX) => format!("{least} or more"),
            (least, most) => format!("{least} to {most}"),
        };
        if bounds.power {
            can.push_str(", a power of two");
        }
        if bounds.multiple > 1 {
            can.push_str(&format!(", a multiple of {}", bounds.multiple));
        }
        if bounds.not_zero {
            can.push_str(", but not zero");
        }
        self.saying(codes::IMMEDIATE_RANGE, format!("is {value}; it can be {can}"))
            .with_help("use such a constant; what is in a register is not looked at")
    }

    fn space(&self, id: VarId, spaces: Spaces) -> Diagnostic {
        let variable = self.walk.context.checked.variable(id);
        let own = variable.space;
        let list: Vec<String> = spaces
            .iter()
            .map(|space| match space.name() {
                "" => "a generic address".to_owned(),
                name => format!("`.{name}`"),
            })
            .collect();
        let help = if list == ["a generic address"] {
            format!("name the space: `{}{own}`", self.form.opcode)
        } else {
            format!("use `{own}` in the instruction, or declare `{}` in the other space", self.name_of(id))
        };
        self.about(
            codes::SPACE,
            id,
            &format!("is in `{own}`, but the instruction wants {}", list.join(" or ")),
        )
        .with_help(help)
    }

    fn handle(&self, of: Opaque) -> Diagnostic {
        self.saying(
            codes::HANDLE,
            format!("wants the name of a .{} variable, or a .u64 register with its address", of.name()),
        )
        .with_help(format!("declare it at module scope: `.global .{} t;`", of.name()))
    }
}

/// The code of a forbidden operand, what a message says of the operand, and the help.
fn words_of(forbidden: Forbidden) -> (Code, &'static str, &'static str) {
    match forbidden {
        Forbidden::Negated => {
            (codes::NEGATION, "cannot be negated", "negate into another register first, with `not` or `neg`")
        }
        Forbidden::InvertedFloat => (
            codes::IMMEDIATE,
            "is a float with `!` or `~`, which are of integers",
            "write the number itself, or its bits as an integer",
        ),
        Forbidden::OnlySink => {
            (codes::SINK, "can only be the sink `_`: this form returns nothing", "write `_`")
        }
        Forbidden::Sink => {
            (codes::SINK, "cannot be the sink `_`", "name a register: `_` is for results that are not needed")
        }
        Forbidden::Special => (
            codes::SPECIAL,
            "cannot be a special register",
            "move it into a register first: only `mov` and `cvt` read special registers",
        ),
        Forbidden::ReadOnly => (
            codes::READ_ONLY,
            "is a special register: it can only be read",
            "write to a register of your own",
        ),
        Forbidden::ImmediateAddress => (
            codes::IMMEDIATE_ADDRESS,
            "is a constant: only local memory has such addresses",
            "put the address into a register",
        ),
        Forbidden::FloatOffset => {
            (codes::OFFSET, "has an offset that is not an integer", "offsets are integer constants, in bytes")
        }
        Forbidden::IndirectHandle => (
            codes::HANDLE,
            "is a register with a handle, which needs PTX 3.1, sm_20",
            "name the variable, or raise `.version` or `.target`",
        ),
        Forbidden::Sampler => (
            codes::SAMPLER,
            "names no sampler",
            "with `texmode_independent`, write `[texture, sampler, {x}]`",
        ),
        Forbidden::NoTable => (
            codes::NOT_A_LABEL,
            "is not the label of a list of targets above it",
            "write `T: .branchtargets A, B;` before the branch, and `T` here",
        ),
        Forbidden::FunctionOffset => (
            codes::FUNCTION_OFFSET,
            "is an offset from a function's address",
            "a function's address is used as it is",
        ),
        Forbidden::NotOfKernel => (
            codes::PARAMETER_KIND,
            "is not one of the kernel's own `.param` variables",
            "use `.param` or `.param::entry` for a kernel's parameters",
        ),
        Forbidden::NotOfEntry => (
            codes::PARAMETER_KIND,
            "is no parameter of a kernel, as `.param::entry` wants",
            "use `.param` or `.param::func`",
        ),
    }
}

/// The code of a misuse, what a message says of the variable, and the help.
fn words_of_misuse(misuse: Misuse) -> (Code, &'static str, &'static str) {
    match misuse {
        Misuse::WritesInput => (
            codes::PARAMETER_ACCESS,
            "is an input parameter, which cannot be written",
            "copy it into a register or a local variable",
        ),
        Misuse::ReadsReturn => (
            codes::PARAMETER_ACCESS,
            "is a return parameter, which cannot be read",
            "keep the value in a register as well",
        ),
        Misuse::AddressTaken => (
            codes::ADDRESS_TAKEN,
            "is a `.param` of a call, which has no address",
            "use `.local` for a variable whose address is needed",
        ),
        Misuse::ReturnAddress => (
            codes::ADDRESS_TAKEN,
            "is a return parameter; its address needs PTX 5.1, sm_30",
            "raise `.version` or `.target`",
        ),
        Misuse::OpaqueAccess => (
            codes::OPAQUE_ACCESS,
            "is opaque: it cannot be accessed as memory",
            "use `tex`, `suld`, `sust` or a query",
        ),
        Misuse::OpaqueAddress => {
            (codes::OPAQUE_ADDRESS, "is opaque: its address is a .u64", "use `mov.u64` and a 64-bit register")
        }
        Misuse::OpaqueVersion => (
            codes::OPAQUE_ADDRESS,
            "is opaque; taking its address needs PTX 3.1, sm_20",
            "raise `.version` or `.target`",
        ),
        Misuse::NoArray => {
            (codes::NO_ARRAY, "is not an array: it has no elements", "write an offset in bytes: `x+4`")
        }
        Misuse::Unified => {
            (codes::UNIFIED, "has no attribute `.unified`, or is not read here", "leave `.unified` out")
        }
    }
}

/// The type of the register to declare for an operand.
fn register_for(accepts: Accepts) -> Type {
    if accepts.register(accepts.ty) { accepts.ty } else { accepts.ty.register_type() }
}

/// The register types that may stand, as a list.
fn types(accepts: Accepts) -> String {
    let all: Vec<String> = accepts.types().map(|ty| format!(".{ty}")).collect();
    match all.split_last() {
        None => "no register".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}
