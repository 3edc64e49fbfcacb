//! Words for what is wrong with an instruction as a whole: its mnemonic, its guard, its labels, how many operands it
//! has, and where it exists. `explain_operand` has those for single operands. Everything here is off the clean path.

use super::Walk;
use super::forms::Variant;
use super::meaning::Meaning;
use super::mismatch::{Mismatch, Reason};
use crate::codes::instructions as codes;
use crate::context::Context;
use softwarp_isa::instruction::{InstructionForm, MnemonicError, MnemonicErrorKind, Signature, mend};
use softwarp_isa::special::SpecialRegister;
use softwarp_isa::{Target, Version};
use softwarp_syntax::tree::{Instruction, Name, Operand, Symbol};
use softwarp_syntax::{Diagnostic, Span};

/// A mnemonic that is none.
pub(super) fn fault(context: &Context<'_>, instruction: &Instruction, fault: &MnemonicError) -> Diagnostic {
    let code = match fault.kind {
        MnemonicErrorKind::UnknownOpcode { .. } => codes::UNKNOWN_INSTRUCTION,
        MnemonicErrorKind::UnknownModifier { .. } => codes::UNKNOWN_MODIFIER,
        MnemonicErrorKind::NotWithOpcode { .. } => codes::FOREIGN_MODIFIER,
        MnemonicErrorKind::Duplicate { .. } => codes::DUPLICATE_MODIFIER,
        MnemonicErrorKind::Missing { .. } => codes::MISSING_MODIFIER,
        MnemonicErrorKind::Combination { .. } => codes::MODIFIER_COMBINATION,
        MnemonicErrorKind::Misplaced { .. } => codes::MISPLACED_MODIFIER,
    };
    let span = instruction.mnemonic_span;
    let at = fault.words.first().and_then(|&word| word_span(span, context.source, word)).unwrap_or(span);
    let diagnostic = Diagnostic::new(code, at, fault.to_string());
    let near = match &fault.kind {
        MnemonicErrorKind::UnknownOpcode { nearest: Some(opcode), .. } => Some((*opcode).to_owned()),
        MnemonicErrorKind::UnknownModifier { nearest: Some(word), .. } => Some(format!(".{word}")),
        _ => fault.nearest.clone(),
    };
    let diagnostic = match near {
        Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
        None => diagnostic,
    };
    match mended(context, instruction, fault) {
        Some(text) => {
            let message = format!("write `{text}`");
            diagnostic.with_fix(span, text, message)
        }
        None => diagnostic,
    }
}

/// The mnemonic that was certainly meant, if the wrong one stands in one piece.
fn mended(context: &Context<'_>, instruction: &Instruction, fault: &MnemonicError) -> Option<String> {
    let text = instruction.mnemonic_span.text(context.source);
    let mut words = text.split('.');
    let opcode = words.next()?;
    let in_one_piece = !text.contains(|c: char| c.is_whitespace() || matches!(c, '/' | '['));
    in_one_piece.then(|| mend(opcode, &words.collect::<Vec<_>>(), fault))?
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
    form: &InstructionForm,
    variant: Variant,
) -> Diagnostic {
    let (version, target) = (context.version(), context.target());
    let signature = form.signatures.get(variant.signature as usize);
    let gate = signature.and_then(|signature| signature.shut_gate(version, target));
    let what = match gate.and_then(|gate| gate.word) {
        Some(word) => format!("`.{word}` on `{}`", form.opcode),
        None => format!("`{}`", spelling(form)),
    };
    if let Some(removal) = gate.and_then(|gate| gate.removal(version, target)) {
        let message =
            format!("{what} ended with {}; this module says PTX {version}, {target}", removal.in_words());
        return Diagnostic::new(codes::UNAVAILABLE, instruction.mnemonic_span, message)
            .with_help(removal.instead);
    }
    let needs = gate.map_or_else(String::new, |gate| gate.in_words());
    let diagnostic = Diagnostic::new(
        codes::UNAVAILABLE,
        instruction.mnemonic_span,
        format!("{what} needs {needs}; this module says PTX {version}, {target}"),
    )
    .with_help(match signature.and_then(|signature| suffixed(signature, version, target)) {
        Some(suffixed) => format!("write `.target {suffixed}`: only targets with a suffix have it"),
        None => "raise `.version` or `.target`, if what runs the module has them".to_owned(),
    });
    // A newer version on the same target is all that it takes.
    let least = signature.and_then(|signature| {
        Version::all().find(|&newer| newer > version && signature.shut_gate(newer, target).is_none())
    });
    context.raising_version(diagnostic, least)
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
pub(super) fn spelling(form: &InstructionForm) -> String {
    form.mnemonic()
}

/// A number of operands that no form of the mnemonic has.
pub(super) fn count(
    context: &Context<'_>,
    instruction: &Instruction,
    form: &InstructionForm,
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
    match form.signatures.first() {
        Some(signature) => diagnostic.with_help(format!("its syntax is `{}`", syntax_line(form, signature))),
        None => diagnostic,
    }
}

/// A form as the manual would write it: `ld.global.u32 d, [a]`.
pub(super) fn syntax_line(form: &InstructionForm, signature: &Signature) -> String {
    format!("{} {}", spelling(form), signature.in_words()).trim_end().to_owned()
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

/// The diagnostic for a [`Mismatch`] whose reason is an undeclared name.
pub(super) fn undeclared_in(walk: &Walk<'_, '_>, mismatch: &Mismatch) -> Diagnostic {
    match mismatch.why {
        Reason::Undeclared(symbol) => undeclared(walk, symbol, mismatch.at),
        _ => Diagnostic::new(codes::OPERAND_SORT, mismatch.at, "this cannot stand here"),
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

/// A 32-bit address of global memory.
pub(super) fn narrow_address(at: Span) -> Diagnostic {
    Diagnostic::new(
        codes::NARROW_ADDRESS,
        at,
        "a 32-bit address of global or generic memory: there is no 32-bit mode any more",
    )
    .with_help("use a 64-bit register: `mov.u64`, `cvta.u64` and a .u64 base")
}
