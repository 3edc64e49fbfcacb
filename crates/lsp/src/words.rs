//! Words for instructions: what a form is, which operands it takes, since when it exists.

use softwarp_isa::instruction::{
    Access, Fit, InstructionForm, Kind, Modifier, Signature, Space, Value, Wanted,
};
use softwarp_isa::{Target, Version, manual};

/// What an operand may be, in a line.
pub fn operand(wanted: &Wanted) -> String {
    let access = match wanted.access {
        Access::Read => "",
        Access::Write => "result: ",
        Access::ReadWrite => "read and written: ",
    };
    let optional = if wanted.optional { "; may be left out" } else { "" };
    format!("{access}{}{optional}", kind(&wanted.kind))
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Value(one) => value(one),
        Kind::Pair(first, second) => {
            let both = |wanted: &Wanted| self::kind(&wanted.kind);
            format!("{}; and behind `|`: {}", both(first), both(second))
        }
        Kind::Vector { counts, element, .. } => {
            let counts: Vec<String> = counts.iter().map(u8::to_string).collect();
            format!("a vector of {}: each {}", counts.join(" or "), value(element))
        }
        Kind::Address(spaces) => format!("an address {}", self::spaces(spaces)),
        Kind::Handle { of, .. } => format!("a `{of}`, or a register with its handle"),
        Kind::Tensor { dimensions, .. } => {
            format!("the address of a tensor map, and {dimensions} coordinates of type `.s32`")
        }
        Kind::Fabric { .. } => "an endpoint and an offset".to_owned(),
        Kind::Immediate(Some((least, most))) => format!("a constant from {least} to {most}"),
        Kind::Immediate(None) => "a constant".to_owned(),
        Kind::Label => "a label of this function".to_owned(),
        Kind::Sink => "`_`".to_owned(),
        Kind::Call => "what it returns, the function, and its arguments".to_owned(),
        Kind::Any => "anything".to_owned(),
    }
}

fn spaces(spaces: &[Space]) -> String {
    let names: Vec<String> = spaces
        .iter()
        .map(|space| match space {
            Space::Generic => "any space (generic)".to_owned(),
            space => format!("`.{}`", space.name()),
        })
        .collect();
    format!("in {}", names.join(" or "))
}

fn value(value: &Value) -> String {
    let fit = match value.fit {
        Fit::Wider => " or wider",
        Fit::Sized => ", or any of its size",
        Fit::AddressSized => ", as an address",
        Fit::Typed | Fit::Fixed | Fit::Exact => "",
    };
    let ty = value.ty;
    let held = if ty.is_fundamental() { String::new() } else { format!(" in a `.{}`", ty.register_type()) };
    let mut text = match value.forms.register {
        true => format!("a register of `.{ty}`{held}{fit}"),
        false => format!("`.{ty}`"),
    };
    let others = [
        (value.forms.immediate, "a constant"),
        (value.forms.special, "a special register"),
        (value.forms.address, "the address of a variable"),
        (value.forms.negated, "its negation `!p`"),
        (value.forms.sink, "`_`"),
    ];
    let others: Vec<&str> = others.into_iter().filter(|(may, _)| *may).map(|(_, other)| other).collect();
    if let Some((last, rest)) = others.split_last() {
        rest.iter().for_each(|other| text.push_str(&format!(", {other}")));
        text.push_str(&format!(" or {last}"));
    }
    text
}

/// A form with one of its operand lists.
pub fn syntax(form: &InstructionForm, signature: &Signature) -> String {
    let operands = signature.in_words();
    let space = if operands.is_empty() { "" } else { " " };
    format!("{}{space}{operands};", form.mnemonic())
}

/// Where an operand list exists, in words; and what the module lacks.
pub fn availability(signature: &Signature, version: Version, target: Target) -> String {
    let mut lines: Vec<String> = Vec::new();
    for gate in &signature.gates {
        let what = gate.word.map_or_else(String::new, |word| format!("`.{word}`: "));
        let removed = gate
            .removed
            .as_ref()
            .map_or_else(String::new, |gone| format!("; removed in {}: {}", gone.in_words(), gone.instead));
        let line = format!("{what}{}{removed}", gate.in_words());
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let mut text = format!("Exists on {}", lines.join("; "));
    if signature.shut_gate(version, target).is_some() {
        text.push_str(&format!(". **Not in this module:** PTX {version}, {}", target.name()));
    }
    text.push('.');
    text
}

/// What the words of a form say, of those that need saying.
pub fn modifiers(form: &InstructionForm) -> Vec<(String, &'static str)> {
    let known = form.words.iter().filter_map(|word| Some((format!("`.{}`", word.name()), meaning(*word)?)));
    known.collect()
}

/// What a word means that is the same in every instruction.
pub fn meaning(word: Modifier) -> Option<&'static str> {
    Some(match word.name() {
        "rn" => "rounds to the nearest, ties to even",
        "rna" => "rounds to the nearest, ties away from zero",
        "rz" => "rounds toward zero",
        "rm" => "rounds down",
        "rp" => "rounds up",
        "rs" => "rounds at random, by given bits",
        "rni" => "rounds to an integer: the nearest, ties to even",
        "rzi" => "rounds to an integer, toward zero",
        "rmi" => "rounds down to an integer",
        "rpi" => "rounds up to an integer",
        "ftz" => "subnormal inputs and results become zero",
        "sat" => "the result is clamped: to [0, 1] for floating-point numbers, to the range for integers",
        "satfinite" => "what is too large becomes the largest finite number",
        "relu" => "negative results become zero",
        "approx" => "approximate, faster than exact",
        "full" => "approximate, over the full range",
        "NaN" => "NaN if an input is NaN",
        "xorsign" => "the sign is the exclusive or of the inputs' signs",
        "lo" => "the low half of the product",
        "hi" => "the high half of the product",
        "wide" => "the product, twice as wide as the factors",
        "cc" => "writes the carry",
        "uni" => "all threads of the warp do the same",
        "sync" => "waits for the threads of the mask, or of the barrier",
        "aligned" => "all threads of the warp execute the same instruction",
        "volatile" => "may not be cached or left out",
        "relaxed" => "ordered by the scope alone",
        "acquire" => "what follows is not done before it",
        "release" => "what precedes is done before it",
        "acq_rel" => "acquires and releases",
        "weak" => "not for communication among threads",
        "cta" => "scope: the CTA",
        "cluster" => "scope: the cluster",
        "gpu" => "scope: the GPU",
        "sys" => "scope: all of the system",
        "nc" => "through the cache for data that does not change",
        "ca" => "cached at all levels",
        "cg" => "cached in L2 only",
        "cs" => "likely read once",
        "cv" => "not cached",
        "wb" => "written back",
        "wt" => "written through",
        "v2" => "two elements at once",
        "v4" => "four elements at once",
        "v8" => "eight elements at once",
        "eq" => "equal; false if a number is NaN",
        "ne" => "not equal; false if a number is NaN",
        "lt" => "less; false if a number is NaN",
        "le" => "less or equal; false if a number is NaN",
        "gt" => "greater; false if a number is NaN",
        "ge" => "greater or equal; false if a number is NaN",
        "equ" => "equal; true if a number is NaN",
        "neu" => "not equal; true if a number is NaN",
        "ltu" => "less; true if a number is NaN",
        "leu" => "less or equal; true if a number is NaN",
        "gtu" => "greater; true if a number is NaN",
        "geu" => "greater or equal; true if a number is NaN",
        "num" => "both are numbers",
        "nan" => "one is NaN",
        "ls" => "lower or the same, unsigned",
        "hs" => "higher or the same, unsigned",
        _ => return None,
    })
}

/// All about a form, in Markdown.
pub fn form(form: &InstructionForm, version: Version, target: Target) -> String {
    /// The most operand lists that are shown.
    const MOST: usize = 4;
    let mut text = format!("**{}**: {}\n", form.mnemonic(), manual::summary(form.opcode));
    text.push_str("```ptx\n");
    for signature in form.signatures.iter().take(MOST) {
        text.push_str(&syntax(form, signature));
        text.push('\n');
    }
    text.push_str("```\n");
    if let Some(signature) = form.signatures.first() {
        for wanted in &signature.operands {
            text.push_str(&format!("- `{}`: {}\n", wanted.in_words(), operand(wanted)));
        }
    }
    for (word, meaning) in modifiers(form) {
        text.push_str(&format!("- {word}: {meaning}\n"));
    }
    if let Some(signature) = form.signatures.first() {
        text.push_str(&format!("\n{}\n", availability(signature, version, target)));
    }
    text.push_str(&format!("\n[PTX ISA: {}]({})", form.opcode, manual::link(form)));
    text
}
