//! The directives a module begins with: `.version`, `.target`, `.address_size` (PTX ISA sections 11.1.1 to
//! 11.1.3), and what the rest of the checker assumes where they are missing or wrong.

use crate::checked::Header;
use crate::codes::declarations as codes;
use crate::context::{Context, next_token};
use crate::gates;
use crate::options::Options;
use softwarp_isa::{Target, Variant, Version, VersionError, nearest, only_slip};
use softwarp_syntax::tree::{Directive, Item, Name};
use softwarp_syntax::{Diagnostic, Span};

/// Options of `.target` that are no architectures.
const TARGET_OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

/// What is assumed until the module says otherwise.
pub fn assumed(options: Options) -> Header {
    let target = options.arch.unwrap_or(Target::SM_90);
    Header {
        version: Version::LATEST,
        version_span: None,
        target,
        arch: target,
        target_span: None,
        independent_textures: false,
        f64_as_f32: false,
        debug: false,
        address_bits: 64,
    }
}

/// Judges the header and settles it.
pub fn check(context: &mut Context<'_>) {
    let module = context.module;
    let mut items = module.items.iter().peekable();

    match items.next_if(|item| matches!(item, Item::Version(_))) {
        Some(Item::Version(version)) => check_version(context, version),
        // What is wrong with it has been said.
        _ if next_token(context.source, 0).text(context.source).starts_with(".version") => {}
        _ => {
            // The assembler notices behind the `.target` directives.
            let targets = module.items.iter().take_while(|item| matches!(item, Item::Target(_)));
            let end =
                targets.last().map_or(0, |item| if let Item::Target(one) = item { one.span.end } else { 0 });
            missing(context, ".version", "9.0", end);
        }
    }
    let mut targets = 0;
    while let Some(Item::Target(target)) = items.next_if(|item| matches!(item, Item::Target(_))) {
        check_target(context, target, targets == 0);
        targets += 1;
    }
    if targets == 0 && context.checked.header.version_span.is_some() {
        let end = context.checked.header.version_span.map_or(0, |span| span.end);
        missing(context, ".target", "sm_90", end);
    }
    if let Some(Item::AddressSize(size)) = items.next_if(|item| matches!(item, Item::AddressSize(_))) {
        check_address_size(context, size);
    }
    for item in items {
        misplaced(context, item);
    }
    if context.options.arch.is_none() {
        context.checked.header.arch = context.checked.header.target;
    }
    check_whole(context);
}

fn missing(context: &mut Context<'_>, directive: &str, example: &str, from: u32) {
    let place = if directive == ".version" { "a module begins with" } else { "after `.version` comes" };
    let span = next_token(context.source, from);
    let diagnostic = Diagnostic::new(codes::MISSING_HEADER, span, format!("{place} `{directive}`"));
    context.report(diagnostic.with_help(format!("write `{directive} {example}` here")));
}

fn misplaced(context: &mut Context<'_>, item: &Item) {
    let (span, order) = match item {
        Item::Version(directive) => (directive.span, "`.version` stands once, at the very start"),
        Item::Target(directive) => (directive.span, "`.target` stands right after `.version`"),
        Item::AddressSize(directive) => {
            (directive.span, "`.address_size` stands once, right after `.target`")
        }
        _ => return,
    };
    context.report(Diagnostic::new(codes::MISPLACED_HEADER, span, order));
}

fn check_version(context: &mut Context<'_>, directive: &Directive<(u32, u32)>) {
    let header = &mut context.checked.header;
    header.version_span = Some(directive.span);
    let (major, minor) = directive.is;
    let version = match (u8::try_from(major), u8::try_from(minor)) {
        (Ok(major), Ok(minor)) => Version::new(major, minor),
        _ => Version::new(u8::MAX, u8::MAX),
    };
    if version.is_known() {
        header.version = version;
        return;
    }
    if (major, minor) > (u32::from(Version::LATEST.major), u32::from(Version::LATEST.minor)) {
        let message =
            format!("PTX {major}.{minor} is newer than {0}: the module is read as PTX {0}", Version::LATEST);
        let help = format!("what PTX {major}.{minor} added is not known here, and refused if it is used");
        context.report(Diagnostic::new(codes::NEWER_VERSION, directive.span, message).with_help(help));
        return;
    }
    let message = VersionError::Unknown(version).to_string();
    let known = Version::all().filter(|known| *known < version).last();
    let help = format!("write `.version {}`", known.unwrap_or(Version::new(1, 0)));
    context.report(Diagnostic::new(codes::UNKNOWN_VERSION, directive.span, message).with_help(help));
}

/// A target whose name has more letters or zeros than it should: the assembler ignores them.
fn loose_target(context: &mut Context<'_>, name: &Name, text: &str) -> Option<Target> {
    let target = Target::from_loose_name(text)?;
    let message = format!("there is no target `{text}`; the assembler reads it as {target}");
    context.deviation_with(codes::LOOSE_TARGET, name.span, message, |diagnostic| {
        diagnostic.with_fix(name.span, target.name(), format!("write `{target}`"))
    });
    Some(target)
}

/// Judges one `.target`; several can follow one another, and only the first must name an architecture.
fn check_target(context: &mut Context<'_>, directive: &Directive<Vec<Name>>, first: bool) {
    context.checked.header.target_span = Some(directive.span);
    let mut texture_mode = None;
    for (index, name) in directive.is.iter().enumerate() {
        let text = context.text(name.symbol);
        if let Some(target) = Target::from_name(text).or_else(|| loose_target(context, name, text)) {
            context.checked.header.target = target;
            continue;
        }
        if index == 0 && first && TARGET_OPTIONS.contains(&text) {
            let message = format!("`.target` names an architecture first, then options such as `{text}`");
            context.report(Diagnostic::new(codes::TARGET_OPTION, name.span, message));
        }
        match text {
            "texmode_unified" | "texmode_independent" => {
                if texture_mode.is_some_and(|mode| mode != text) {
                    let message =
                        "textures cannot be both unified with their samplers and independent of them";
                    context.report(Diagnostic::new(codes::TARGET_OPTION, name.span, message));
                }
                texture_mode = Some(text);
                if text == "texmode_independent" {
                    context.checked.header.independent_textures = true;
                    context.require(&gates::TEXMODE, name.span);
                }
            }
            "debug" => {
                context.checked.header.debug = true;
                context.require(&gates::DEBUG_TARGET, name.span);
            }
            "map_f64_to_f32" => context.checked.header.f64_as_f32 = true,
            _ => unknown_target(context, name, text),
        }
    }
    if context.checked.header.f64_as_f32 && context.target().has_f64() {
        let message = format!("`map_f64_to_f32` is for targets without `.f64`; {} has it", context.target());
        context.report(
            Diagnostic::new(codes::TARGET_OPTION, directive.span, message).with_help("leave it away"),
        );
    }
}

fn unknown_target(context: &mut Context<'_>, name: &Name, text: &str) {
    let known = || Target::all().map(Target::name).chain(TARGET_OPTIONS);
    let mut diagnostic =
        Diagnostic::new(codes::UNKNOWN_TARGET, name.span, format!("there is no target `{text}`"));
    if let Some(near) = nearest(text, known()) {
        diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
    }
    if let Some(meant) = only_slip(text, known()) {
        diagnostic = diagnostic.with_fix(name.span, meant, format!("write `{meant}`"));
    }
    context.report(diagnostic);
}

fn check_address_size(context: &mut Context<'_>, directive: &Directive<u64>) {
    context.require(&gates::ADDRESS_SIZE, directive.span);
    let message = match directive.is {
        64 => return,
        // The assembler refuses it at the very end, without a line.
        32 => "32-bit addresses are no longer supported by any target".to_owned(),
        other => format!("addresses have 32 or 64 bits, not {other}"),
    };
    let right = "write `.address_size 64`";
    let code = if directive.is == 32 { codes::ADDRESS_32 } else { codes::ADDRESS_SIZE };
    let diagnostic = Diagnostic::new(code, directive.span, message).with_help(right);
    // A module for 32-bit addresses takes more than another number; any other number can only have been meant for 64.
    context.report(match directive.is {
        32 => diagnostic,
        _ => diagnostic.with_fix(directive.span, ".address_size 64", right),
    });
}

/// What concerns several directives at once.
fn check_whole(context: &mut Context<'_>) {
    let header = context.checked.header;
    if let Some(span) = header.target_span {
        let target = header.target;
        if header.version_span.is_some() && header.version < target.introduced() && has_contents(context) {
            let message = format!("PTX {} does not know {target}", header.version);
            let diagnostic = Diagnostic::new(codes::TARGET_TOO_NEW, span, message)
                .with_help(format!("write `.version {}` or newer", target.introduced()));
            // An unknown target has been taken for another.
            let named = target_name(context, span, target);
            let diagnostic = context.raising_version(diagnostic, named.map(|_| target.introduced()));
            context.report(related_version(diagnostic, header));
        } else if let Some((version, now)) = target.renamed()
            && header.version >= version
        {
            let message =
                format!("{target} is called {now} from PTX {version} on; the assembler still takes it");
            let named = target_name(context, span, target);
            context.deviation_with(codes::RENAMED_TARGET, span, message, |diagnostic| match named {
                Some(name) => diagnostic.with_fix(name, now.name(), format!("write `{now}`")),
                None => diagnostic,
            });
        }
        if let Some(why) = context.options.arch.and_then(|arch| unfit(target, arch)) {
            context.report(Diagnostic::new(codes::ARCHITECTURE, span, why));
        }
    }
    if context.options.relocatable && header.version_span.is_some() {
        context.require(&gates::RELOCATABLE, header.version_span.unwrap_or_default());
    }
    if header.debug && !context.module.items.iter().any(|item| is_debug_section(context, item)) {
        let message = "the target option `debug` promises debugging sections, and there are none";
        let span = header.target_span.unwrap_or_default();
        let diagnostic = Diagnostic::new(codes::DEBUG_SECTIONS, span, message);
        context.report(diagnostic.with_help("leave `debug` away, or add the `.section .debug_…` directives"));
    }
}

/// Where a `.target` names an architecture.
fn target_name(context: &Context<'_>, directive: Span, target: Target) -> Option<Span> {
    let targets = context.module.items.iter().find_map(|item| match item {
        Item::Target(one) if one.span == directive => Some(&one.is),
        _ => None,
    })?;
    let name = targets.iter().find(|name| context.text(name.symbol) == target.name())?;
    Some(name.span)
}

/// Whether there is anything behind the header: the assembler judges some of it only then.
fn has_contents(context: &Context<'_>) -> bool {
    let is_header = |item: &Item| matches!(item, Item::Version(_) | Item::Target(_) | Item::AddressSize(_));
    !context.module.items.iter().all(is_header)
}

fn related_version(diagnostic: Diagnostic, header: Header) -> Diagnostic {
    match header.version_span {
        Some(span) => diagnostic.with_related(span, "the version is chosen here"),
        None => diagnostic,
    }
}

fn is_debug_section(context: &Context<'_>, item: &Item) -> bool {
    let Item::Section(section) = item else { return false };
    context.text(section.is.name.symbol).trim_start_matches('.').starts_with("debug_")
}

/// Why a module for `target` cannot be assembled for `arch`, in words; `None` if it can.
pub fn unfit(target: Target, arch: Target) -> Option<String> {
    let number = |target: Target| target.renamed().map_or(target, |(_, now)| now).sm();
    let (wanted, given) = (number(target), number(arch));
    if wanted > given {
        return Some(format!("a module for {target} does not run on the older {arch}"));
    }
    match target.variant() {
        Variant::Baseline => None,
        Variant::Family if target.family() == arch.family() => None,
        Variant::Family => Some(format!("a module for {target} runs on its family only, not on {arch}")),
        Variant::Architecture if wanted == given && arch.variant() == Variant::Architecture => None,
        Variant::Architecture => Some(format!("a module for {target} runs on {target} only, not on {arch}")),
    }
}
