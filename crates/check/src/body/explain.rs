//! Words for what is wrong with an instruction. Everything here is off the clean path.
//!
//! A message names the operand as the manual's syntax line does, says what it is and what would do; the
//! place of a declaration that matters is shown beside it, and the help is one line that would mend it.

use super::Walk;
use super::fit::{Misfit, Sort, Why};
use super::meaning::Meaning;
use super::plan::{Accepts, Spaces, Variant, Want, What};
use super::ranges::Bounds;
use super::rule::Width;
use crate::checked::VarId;
use crate::codes::instructions as codes;
use crate::context::Context;
use softwarp_isa::instruction::{Fault, FaultKind, LiteralKind, Shape, Signature};
use softwarp_isa::special::SpecialRegister;
use softwarp_isa::{Class, Opaque, Target, Type, Version};
use softwarp_syntax::tree::{Instruction, Name, Operand, Symbol};
use softwarp_syntax::{Code, Diagnostic, Span};
use std::fmt::Display;

/// A mnemonic that is none.
pub(super) fn fault(context: &Context<'_>, instruction: &Instruction, fault: &Fault) -> Diagnostic {
    let code = match fault.kind {
        FaultKind::UnknownOpcode { .. } => codes::UNKNOWN_INSTRUCTION,
        FaultKind::UnknownModifier { .. } => codes::UNKNOWN_MODIFIER,
        FaultKind::NotWithOpcode { .. } => codes::FOREIGN_MODIFIER,
        FaultKind::Duplicate { .. } => codes::DUPLICATE_MODIFIER,
        FaultKind::Missing { .. } => codes::MISSING_MODIFIER,
        FaultKind::Combination { .. } => codes::MODIFIER_COMBINATION,
        FaultKind::Misplaced { .. } => codes::MISPLACED_MODIFIER,
    };
    let span = instruction.mnemonic_span;
    let at = fault.words.first().and_then(|&word| word_span(span, context.source, word)).unwrap_or(span);
    let diagnostic = Diagnostic::new(code, at, fault.to_string());
    let near = match &fault.kind {
        FaultKind::UnknownOpcode { nearest: Some(opcode), .. } => Some((*opcode).to_owned()),
        FaultKind::UnknownModifier { nearest: Some(word), .. } => Some(format!(".{word}")),
        _ => fault.nearest.clone(),
    };
    match near {
        Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// Where the n-th modifier of a mnemonic stands. White space can stand around dots.
pub(super) fn word_span(mnemonic: Span, source: &str, word: usize) -> Option<Span> {
    let text = mnemonic.text(source);
    let (dot, _) = text.match_indices('.').nth(word)?;
    let rest = &text[dot + 1..];
    let end = rest.find(|c: char| c == '.' || c.is_whitespace()).unwrap_or(rest.len());
    let start = mnemonic.start + dot as u32;
    Some(Span::new(start, start + 1 + end as u32))
}

/// A form that the module's version or target does not have.
pub(super) fn gate(
    context: &Context<'_>,
    instruction: &Instruction,
    shape: &Shape,
    variant: Variant,
) -> Diagnostic {
    let (version, target) = (context.version(), context.target());
    let signature = shape.signatures.get(variant.signature as usize);
    let gate = signature.and_then(|signature| signature.shut_gate(version, target));
    let what = match gate.and_then(|gate| gate.word) {
        Some(word) => format!("`.{word}` on `{}`", shape.opcode),
        None => format!("`{}`", spelling(shape)),
    };
    if let Some(removal) = gate.and_then(|gate| gate.removal(version, target)) {
        let message =
            format!("{what} ended with {}; this module says PTX {version}, {target}", removal.in_words());
        return Diagnostic::new(codes::UNAVAILABLE, instruction.mnemonic_span, message)
            .with_help(removal.instead);
    }
    let needs = gate.map_or_else(String::new, |gate| gate.in_words());
    Diagnostic::new(
        codes::UNAVAILABLE,
        instruction.mnemonic_span,
        format!("{what} needs {needs}; this module says PTX {version}, {target}"),
    )
    .with_help(match signature.and_then(|signature| suffixed(signature, version, target)) {
        Some(suffixed) => format!("write `.target {suffixed}`: only targets with a suffix have it"),
        None => "raise `.version` or `.target`, if what runs the module has them".to_owned(),
    })
}

/// The same GPU with the suffix `f` or `a`, if that is all that a form lacks.
fn suffixed(signature: &Signature, version: Version, target: Target) -> Option<Target> {
    let newest = Version::new(u8::MAX, 0);
    let has = |version: Version| {
        Target::all().find(|other| {
            other.sm() == target.sm() && *other != target && signature.shut_gate(version, *other).is_none()
        })
    };
    has(version).or_else(|| has(newest))
}

/// `.const[2]`, if the module cannot have it: there were banks of constant memory from PTX 1.5 to 2.1.
pub(super) fn bank(context: &Context<'_>, instruction: &Instruction, bank: u64) -> Option<Diagnostic> {
    const MOST: u64 = 10;
    let version = context.version();
    let wrong = if version >= Version::new(2, 2) {
        format!("banks of constant memory ended with PTX 2.2; this module says PTX {version}")
    } else if version < Version::new(1, 5) && bank != 0 {
        format!("banks of constant memory came with PTX 1.5; this module says PTX {version}")
    } else if bank > MOST {
        format!("there are banks 0 to {MOST} of constant memory, not {bank}")
    } else {
        return None;
    };
    Some(Diagnostic::new(codes::BANK, instruction.mnemonic_span, wrong).with_help("write `.const`"))
}

/// The mnemonic, as the manual orders it.
fn spelling(shape: &Shape) -> String {
    shape.mnemonic()
}

/// A number of operands that no form of the mnemonic has.
pub(super) fn count(
    context: &Context<'_>,
    instruction: &Instruction,
    shape: &Shape,
    mut counts: Vec<usize>,
    operands: &[Operand],
) -> Diagnostic {
    counts.sort_unstable();
    counts.dedup();
    let wanted: Vec<String> = counts.iter().map(usize::to_string).collect();
    let given = operands.len();
    let plural = if counts == [1] { "" } else { "s" };
    let at =
        operands.iter().map(|operand| operand.span).reduce(Span::to).unwrap_or(instruction.mnemonic_span);
    let message = format!(
        "`{}` takes {} operand{plural}, here are {given}",
        instruction.mnemonic_span.text(context.source),
        wanted.join(" or ")
    );
    let diagnostic = Diagnostic::new(codes::OPERAND_COUNT, at, message);
    match shape.signatures.first() {
        Some(signature) => diagnostic.with_help(format!("its syntax is `{}`", form(shape, signature))),
        None => diagnostic,
    }
}

/// A form as the manual would write it: `ld.global.u32 d, [a]`.
fn form(shape: &Shape, signature: &Signature) -> String {
    format!("{} {}", spelling(shape), signature.in_words()).trim_end().to_owned()
}

/// A name that means nothing.
pub(super) fn undeclared(walk: &Walk<'_, '_>, symbol: Symbol, at: Span) -> Diagnostic {
    let text = walk.context.text(symbol);
    let diagnostic = Diagnostic::new(codes::UNDECLARED, at, format!("`{text}` is not declared here"));
    let near = walk.has_said_little().then(|| {
        let special = text.starts_with('%').then(|| SpecialRegister::nearest(text)).flatten();
        walk.context.names.nearest(walk.context.module, text).or(special.map(str::to_owned))
    });
    let near = near.flatten();
    diagnostic.with_help(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if text.starts_with('%') => format!("declare it: `.reg .b32 {text};`"),
        None => "declare it before its first use, in this block or around it".to_owned(),
    })
}

/// The same for a [`Misfit`] that is one.
pub(super) fn undeclared_in(walk: &Walk<'_, '_>, misfit: &Misfit) -> Diagnostic {
    match misfit.why {
        Why::Undeclared(symbol) => undeclared(walk, symbol, misfit.at),
        _ => Diagnostic::new(codes::OPERAND_SORT, misfit.at, "this cannot stand here"),
    }
}

/// A branch to the label of a list of targets or of a prototype.
pub(super) fn no_code(walk: &Walk<'_, '_>, name: Name) -> Diagnostic {
    let text = walk.context.text(name.symbol);
    let message = format!("`{text}` is the label of a list or prototype, not of code");
    Diagnostic::new(codes::NOT_A_LABEL, name.span, message).with_help("name a label before an instruction")
}

/// A branch to something that is no label of the function.
pub(super) fn no_label(walk: &Walk<'_, '_>, name: Name) -> Diagnostic {
    let text = walk.context.text(name.symbol);
    const MOST: usize = 4096;
    let labels = walk.memory.labels.names().take(MOST).map(|symbol| walk.context.text(symbol));
    let near = walk.has_said_little().then(|| softwarp_isa::nearest(text, labels)).flatten();
    let found = walk.context.names.lookup(name.symbol);
    let diagnostic = match found {
        Some(found) => Diagnostic::new(
            codes::NOT_A_LABEL,
            name.span,
            format!("`{text}` is not a label that one can branch to"),
        )
        .with_related(found.span, format!("`{text}` is declared here")),
        None => Diagnostic::new(
            codes::NO_LABEL,
            name.span,
            format!("there is no label `{text}` that is visible here"),
        ),
    };
    diagnostic.with_help(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "a label is visible in the block that it stands in and in the blocks inside".to_owned(),
    })
}

/// A guard that is no predicate.
pub(super) fn guard(walk: &Walk<'_, '_>, name: Name, meaning: Meaning) -> Diagnostic {
    let text = walk.context.text(name.symbol);
    let is = match meaning {
        Meaning::Register { ty, .. } => format!("a register of type .{ty}"),
        Meaning::Variable(_) => "a variable in memory".to_owned(),
        Meaning::Function(_) => "a function".to_owned(),
        Meaning::Label(_) => "a label".to_owned(),
        Meaning::Special(_) => "a special register".to_owned(),
        Meaning::WarpSize | Meaning::Unknown => "a constant".to_owned(),
    };
    let diagnostic = Diagnostic::new(
        codes::GUARD,
        name.span,
        format!("a guard is a predicate register; `{text}` is {is}"),
    )
    .with_help(format!("compare first: `setp.ne.u32 %p, {text}, 0;` and guard with `@%p`"));
    match meaning {
        Meaning::Register { id, .. } | Meaning::Variable(id) => diagnostic
            .with_related(walk.context.checked.variable(id).span, format!("`{text}` is declared here")),
        _ => diagnostic,
    }
}

/// `call` with operands in places where it has none.
pub(super) fn call_count(at: Span, wanted: &str) -> Diagnostic {
    Diagnostic::new(codes::CALL_COUNT, at, format!("`call` wants {wanted} here"))
        .with_help("its syntax is `call (returns), function, (arguments);`")
}

/// An operand that is not what the form wants.
pub(super) fn misfit(
    walk: &Walk<'_, '_>,
    shape: &Shape,
    variant: Variant,
    (position, want): (usize, &Want),
    misfit: &Misfit,
) -> Diagnostic {
    let words = Words { walk, shape, variant, position, want, at: misfit.at };
    words.diagnostic(misfit.why)
}

/// Where a message is about.
struct Words<'a, 'w, 'm> {
    walk: &'a Walk<'w, 'm>,
    shape: &'a Shape,
    variant: Variant,
    position: usize,
    want: &'a Want,
    at: Span,
}

impl Words<'_, '_, '_> {
    fn diagnostic(&self, why: Why) -> Diagnostic {
        match why {
            Why::Undeclared(symbol) if matches!(self.want.what, What::Label) => {
                no_label(self.walk, Name { symbol, span: self.at })
            }
            Why::Undeclared(symbol) => undeclared(self.walk, symbol, self.at),
            Why::Sort(sort) => self.sort(sort),
            Why::Type { id, ty } => self.register_type(id, ty),
            Why::SpecialType { ty } => self
                .saying(
                    codes::OPERAND_TYPE,
                    format!("is a special register of type .{ty}; {}", self.wanted()),
                )
                .with_help(format!("read it with `mov.{ty}` first")),
            Why::Constant(kind) => self.constant(kind),
            Why::Range { value, least, most } => self
                .saying(codes::IMMEDIATE_RANGE, format!("is {value}; it can be {least} to {most}"))
                .with_help(format!("use a constant from {least} to {most}")),
            Why::Size { found } => self.size(found),
            Why::Mixed { first, other } => self
                .saying(
                    codes::VECTOR_ELEMENTS,
                    format!("is a vector of a .{first} and a .{other}: they do not go together"),
                )
                .with_help("give its elements the same type, or bits of the same size"),
            Why::Packed { bits } => self.packed(bits),
            Why::Member { lanes } => {
                self.saying(codes::MEMBER, "has no such element").with_help(match lanes {
                    0 | 1 => "only vectors have elements, and this is a single value".to_owned(),
                    2 => "a vector of two has the elements .x and .y".to_owned(),
                    _ => "a vector has the elements .x, .y, .z and .w".to_owned(),
                })
            }
            Why::Negated => self
                .saying(codes::NEGATION, "cannot be negated")
                .with_help("negate into another register first, with `not` or `neg`"),
            Why::InvertedFloat => self
                .saying(codes::IMMEDIATE, "is a float with `!` or `~`, which are of integers")
                .with_help("write the number itself, or its bits as an integer"),
            Why::OnlySink => self
                .saying(codes::SINK, "can only be the sink `_`: this form returns nothing")
                .with_help("write `_`"),
            Why::Sink => self
                .saying(codes::SINK, "cannot be the sink `_`")
                .with_help("name a register: `_` is for results that nobody wants"),
            Why::Special => self
                .saying(codes::SPECIAL, "cannot be a special register")
                .with_help("move it into a register first: only `mov` and `cvt` read special registers"),
            Why::ReadOnly => self
                .saying(codes::READ_ONLY, "is a special register: it can only be read")
                .with_help("write to a register of your own"),
            Why::SpecialUnavailable(register) => self
                .saying(
                    codes::SPECIAL_UNAVAILABLE,
                    format!(
                        "is `{}`, which needs {}; this module says PTX {}, {}",
                        register.display_name(),
                        softwarp_isa::availability::in_words(register.availability),
                        self.walk.context.version(),
                        self.walk.context.target()
                    ),
                )
                .with_help("raise `.version` or `.target`, if what runs the module has them"),
            Why::Space { id, spaces } => self.space(id, spaces),
            Why::AddressType { id, ty, width } => self
                .saying(
                    codes::ADDRESS_TYPE,
                    format!("is a .{ty} register, which cannot hold an address here"),
                )
                .with_related(self.span_of(id), format!("`{}` is declared .{ty} here", self.name_of(id)))
                .with_help(match width {
                    Width::Word | Width::Bits => "an address of tensor memory is in a .b32 register",
                    _ => "put the address into a .u64 register",
                }),
            Why::NarrowAddress => narrow_address(self.at),
            Why::ImmediateAddress => self
                .saying(codes::IMMEDIATE_ADDRESS, "is a constant: only local memory has such addresses")
                .with_help("put the address into a register"),
            Why::FloatOffset => self
                .saying(codes::OFFSET, "has an offset that is not an integer")
                .with_help("offsets are integer constants, in bytes"),
            Why::WritesInput(id) => self
                .about(codes::PARAMETER_ACCESS, id, "is an input parameter, which cannot be written")
                .with_help("copy it into a register or a local variable"),
            Why::ReadsReturn(id) => self
                .about(codes::PARAMETER_ACCESS, id, "is a return parameter, which cannot be read")
                .with_help("keep the value in a register as well"),
            Why::ParameterKind { func: true } => self
                .saying(codes::PARAMETER_KIND, "is not one of the kernel's own `.param` variables")
                .with_help("use `.param` or `.param::entry` for a kernel's parameters"),
            Why::ParameterKind { func: false } => self
                .saying(codes::PARAMETER_KIND, "is no parameter of a kernel, as `.param::entry` wants")
                .with_help("use `.param` or `.param::func`"),
            Why::AddressTaken(id) => self
                .about(codes::ADDRESS_TAKEN, id, "is a `.param` of a call, which has no address")
                .with_help("use `.local` for a variable whose address is needed"),
            Why::ReturnAddress(id) => self
                .about(codes::ADDRESS_TAKEN, id, "is a return parameter; its address needs PTX 5.1, sm_30")
                .with_help("raise `.version` or `.target`"),
            Why::OpaqueAccess(id) => self
                .about(codes::OPAQUE_ACCESS, id, "is opaque: it cannot be accessed as memory")
                .with_help("use `tex`, `suld`, `sust` or a query"),
            Why::OpaqueAddress(id) => self
                .about(codes::OPAQUE_ADDRESS, id, "is opaque: its address is a .u64")
                .with_help("use `mov.u64` and a 64-bit register"),
            Why::OpaqueVersion(id) => self
                .about(codes::OPAQUE_ADDRESS, id, "is opaque; taking its address needs PTX 3.1, sm_20")
                .with_help("raise `.version` or `.target`"),
            Why::Handle(of) => self.handle(of),
            Why::IndirectHandle => self
                .saying(codes::HANDLE, "is a register with a handle, which needs PTX 3.1, sm_20")
                .with_help("name the variable, or raise `.version` or `.target`"),
            Why::Sampler => self
                .saying(codes::SAMPLER, "names no sampler")
                .with_help("with `texmode_independent`, write `[texture, sampler, {x}]`"),
            Why::NoArray(id) => self
                .about(codes::NO_ARRAY, id, "is not an array: it has no elements")
                .with_help("write an offset in bytes: `x+4`"),
            Why::Unified(id) => self
                .about(codes::UNIFIED, id, "has no attribute `.unified`, or is not read here")
                .with_help("leave `.unified` out"),
            Why::NoTable => self
                .saying(codes::NOT_A_LABEL, "is not the label of a list of targets above it")
                .with_help("write `T: .branchtargets A, B;` before the branch, and `T` here"),
            Why::NoCode(symbol) => no_code(self.walk, Name { symbol, span: self.at }),
            Why::PredicateUnavailable { version, sm } => self
                .saying(
                    codes::UNAVAILABLE,
                    format!("has a predicate beside it, which needs PTX {version}, sm_{sm}"),
                )
                .with_help("leave the predicate away, or raise `.version` or `.target`"),
            Why::Bounds { value, bounds } => self.bounds(value, bounds),
            Why::FunctionOffset => self
                .saying(codes::FUNCTION_OFFSET, "is an offset from a function's address")
                .with_help("a function's address is used as it is"),
        }
    }

    /// A message that begins with the operand: "operand 2 (`a`) of `add.u32` …".
    fn saying(&self, code: Code, rest: impl Display) -> Diagnostic {
        let message = format!("{} of `{}` {rest}", self.operand(), spelling(self.shape));
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
            _ => match self.shape.signatures.get(self.variant.signature as usize) {
                Some(signature) => format!("its syntax is `{}`", form(self.shape, signature)),
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
                let signature = self.shape.signatures.get(self.variant.signature as usize);
                let syntax = signature.map_or_else(String::new, |signature| form(self.shape, signature));
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
        let mut words: Vec<&str> = self.shape.words.iter().map(|word| word.name()).collect();
        if let [own] = self.shape.types[..]
            && self.walk.has_said_little()
            && accepts.ty == own
            && let Some(word) = words.iter_mut().find(|word| **word == own.name())
        {
            *word = ty.name();
            if softwarp_isa::instruction::resolve(self.shape.opcode.name(), &words).is_ok() {
                return format!(
                    "use `{}.{}`, or declare `{name}` as .{}",
                    self.shape.opcode,
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
        let wanted = match self.shape.vector {
            0 | 1 => "another number is wanted".to_owned(),
            lanes => format!("its vectors have {lanes}"),
        };
        self.saying(codes::VECTOR_SIZE, format!("is {is}; {wanted}"))
            .with_help("write as many elements in the braces as the instruction moves")
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
            format!("name the space: `{}{own}`", self.shape.opcode)
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

/// A 32-bit address of global memory.
pub(super) fn narrow_address(at: Span) -> Diagnostic {
    Diagnostic::new(
        codes::NARROW_ADDRESS,
        at,
        "a 32-bit address of global or generic memory: there is no 32-bit mode any more",
    )
    .with_help("use a 64-bit register: `mov.u64`, `cvta.u64` and a .u64 base")
}

/// The register one would declare.
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
