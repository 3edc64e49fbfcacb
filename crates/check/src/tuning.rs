//! The numbers of a function's tuning directives, and which of the directives go together (PTX ISA section 11.4).
//!
//! Lines are the assembler's: a directive that could take another number is judged at the token after it.

use crate::codes::declarations as codes;
use crate::context::{Context, next_token};
use crate::gates::Feature;
use crate::pragma;
use softwarp_isa::Version;
use softwarp_isa::device::CTA_THREADS;
use softwarp_syntax::tree::{At, Directive, Performance};
use softwarp_syntax::{Diagnostic, Span};

/// A directive between a function's parameters and its body, and since when there is one. Which stand with
/// kernels and which with functions is grammar.
const fn since(what: &'static str, since: Version, least_sm: u16) -> Feature {
    Feature { what, since, least_sm }
}

#[rustfmt::skip]
const TUNINGS: &[(&str, Feature)] = &[
    ("maxnreg",              since("`.maxnreg`",              Version::new(1, 3), 0)),
    ("maxntid",              since("`.maxntid`",              Version::new(1, 3), 0)),
    ("reqntid",              since("`.reqntid`",              Version::new(2, 1), 0)),
    ("minnctapersm",         since("`.minnctapersm`",         Version::new(2, 0), 0)),
    ("maxnctapersm",         since("`.maxnctapersm`",         Version::new(1, 3), 0)),
    ("reqnctapercluster",    since("`.reqnctapercluster`",    Version::new(7, 8), 90)),
    ("explicitcluster",      since("`.explicitcluster`",      Version::new(7, 8), 90)),
    ("maxclusterrank",       since("`.maxclusterrank`",       Version::new(7, 8), 90)),
    ("blocksareclusters",    since("`.blocksareclusters`",    Version::new(9, 0), 90)),
    ("local_maxnreg",        since("`.local_maxnreg`",        Version::new(8, 8), 0)),
    ("minperctamemory",      since("`.minperctamemory`",      Version::new(9, 4), 80)),
    ("noreturn",             since("`.noreturn`",             Version::new(6, 4), 30)),
    ("abi_preserve",         since("`.abi_preserve`",         Version::new(9, 0), 80)),
    ("abi_preserve_control", since("`.abi_preserve_control`", Version::new(9, 0), 80)),
    ("language",             since("`.language`",             Version::new(9, 2), 0)),
];

/// Directives whose numbers have a limit: there are as many registers, predicates or languages.
const LIMITED: &[(&str, u64)] = &[("abi_preserve", 239), ("abi_preserve_control", 11), ("language", 10)];

/// Directives whose numbers cannot be 0.
const POSITIVE: &[&str] = &["maxntid", "reqntid", "minnctapersm", "maxnctapersm", "maxnreg", "local_maxnreg"];

/// Directives with several numbers: three at most, and any number of languages.
const LISTS: &[&str] = &["maxntid", "reqntid", "reqnctapercluster", "language"];

/// Judges each directive before a body.
pub fn check(context: &mut Context<'_>, directives: &[Directive<Performance>]) {
    for (index, directive) in directives.iter().enumerate() {
        let word = context.text(directive.is.word.symbol);
        let arguments = &directive.is.arguments;
        if word == "pragma" {
            pragma::check(context, directive.span, pragma::PragmaScope::Head);
        }
        if let Some((_, feature)) = TUNINGS.iter().find(|(known, _)| *known == word) {
            let at =
                if LISTS.contains(&word) { judged_at(context, directive) } else { directive.is.word.span };
            context.require(feature, at);
        }
        for argument in arguments {
            check_size(context, word, *argument);
        }
        if word == "maxnctapersm" {
            let help = "write `.minnctapersm`";
            context.require_before("`.maxnctapersm`", Version::new(2, 1), directive.is.word.span, help);
        }
        let zero = arguments.iter().find(|argument| argument.is as u32 == 0);
        if let (Some(zero), true) = (zero, POSITIVE.contains(&word)) {
            let message = format!("`.{word}` needs positive numbers, and this is 0");
            let mut diagnostic =
                Diagnostic::new(codes::TUNING_NUMBER, judged_at(context, directive), message);
            diagnostic = diagnostic.with_help(format!("write a number from 1 on, or leave `.{word}` out"));
            context.report(diagnostic.with_related(zero.span, "the number"));
        }
        let crashes = arguments.iter().find(|argument| argument.is == u64::from(u32::MAX));
        if let (Some(number), "maxntid" | "reqntid") = (crashes, word) {
            let message = format!("`.{word} {}`: ptxas crashes on it", number.is);
            let diagnostic = Diagnostic::new(codes::CRASH, number.span, message);
            context.report(diagnostic.with_help(format!("a block has at most {CTA_THREADS} threads")));
        }
        check_most(context, word, arguments);
        let module = context.module;
        let before = |other: &str| {
            let earlier = directives[..index].iter();
            earlier.rev().find(|one| module.name(one.is.word.symbol) == other).map(|one| one.span)
        };
        let other = match word {
            "reqnctapercluster" => before("maxclusterrank").map(|span| ("maxclusterrank", span)),
            "maxclusterrank" => before("reqnctapercluster").map(|span| ("reqnctapercluster", span)),
            _ => None,
        };
        if let Some((other, span)) = other {
            let at = judged_at(context, directive);
            conflict(context, at, word, other, span);
        }
        if let ("abi_preserve" | "abi_preserve_control", Some(first)) = (word, before(word)) {
            let message = format!("`.{word}` stands twice");
            let diagnostic = Diagnostic::new(codes::TUNING_CONFLICT, directive.is.word.span, message);
            context.report(diagnostic.with_related(first, "the first").with_help("leave one of them out"));
        }
    }
}

/// Judges the directives of a kernel together. The assembler does at the end of its body.
pub fn check_together(context: &mut Context<'_>, directives: &[Directive<Performance>], body: Span) {
    let module = context.module;
    let find = |word: &str| {
        directives.iter().find(|one| module.name(one.is.word.symbol) == word).map(|one| one.span)
    };
    let end = Span::new(body.end.saturating_sub(1), body.end);
    let (most, exact) = (find("maxntid"), find("reqntid"));
    let lone = find("blocksareclusters").filter(|_| exact.is_none() || find("reqnctapercluster").is_none());
    if let (Some(most), Some(_)) = (most, exact) {
        conflict(context, end, "reqntid", "maxntid", most);
    }
    if let Some(span) = lone {
        let message = "`.blocksareclusters` needs `.reqntid` and `.reqnctapercluster` beside it";
        let diagnostic =
            Diagnostic::new(codes::TUNING_CONFLICT, end, message).with_related(span, "it stands here");
        context.report(diagnostic.with_help("say how large a block and a cluster are, or leave it out"));
    }
}

fn conflict(context: &mut Context<'_>, at: Span, word: &str, other: &str, span: Span) {
    let message = format!("`.{word}` and `.{other}` exclude one another");
    let diagnostic = Diagnostic::new(codes::TUNING_CONFLICT, at, message);
    context.report(
        diagnostic.with_related(span, format!("`.{other}` stands here")).with_help("leave one of them out"),
    );
}

/// Numbers have 32 bits; of one with more than 64 the assembler has lost the upper bits before it looks.
fn check_size(context: &mut Context<'_>, word: &str, argument: At<u64>) {
    if u32::try_from(argument.is).is_err() {
        let message = format!("`.{word} {}` does not fit 32 bits", argument.is);
        let diagnostic = Diagnostic::new(codes::TUNING_NUMBER, argument.span, message);
        context.report(diagnostic.with_help("the largest number is 4294967295"));
    }
}

/// Judges numbers that have a limit of their own.
fn check_most(context: &mut Context<'_>, word: &str, arguments: &[At<u64>]) {
    let Some((_, most)) = LIMITED.iter().find(|(known, _)| *known == word) else { return };
    for argument in arguments.iter().filter(|argument| argument.is > *most) {
        let message = format!("`.{word} {}` is beyond {most}", argument.is);
        let diagnostic = Diagnostic::new(codes::TUNING_NUMBER, argument.span, message);
        context.report(diagnostic.with_help(format!("write a number from 0 to {most}")));
    }
}

/// Where the assembler judges a directive: at its last number, or one token later if more numbers could follow.
fn judged_at(context: &Context<'_>, directive: &Directive<Performance>) -> Span {
    let arguments = &directive.is.arguments;
    let word = context.text(directive.is.word.symbol);
    if LISTS.contains(&word) && (arguments.len() < 3 || word == "language") {
        return next_token(context.source, directive.span.end);
    }
    arguments.last().map_or(directive.is.word.span, |last| last.span)
}
