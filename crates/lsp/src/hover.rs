//! Hover: what stands under the cursor, explained.

use crate::analysis::{Analysis, Document, Entity, statement_span};
use crate::flow::{Writers, last_writers};
use crate::protocol::{Hover, HoverParams, Markdown};
use crate::source_lines::Lines;
use crate::world::{Answer, World};
use crate::{constant, diagnostics, words};
use softwarp_check::checked::{FuncId, VarId, VariableKind};
use softwarp_image::{Image, Object};
use softwarp_isa::instruction::{nearest_opcode, resolve};
use softwarp_isa::manual::MANUAL;
use softwarp_isa::{SpecialRegister, StateSpace, availability};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Expr, Instruction, Item, Literal, Operand, OperandKind, Statement};

/// The most bytes of a variable that are shown.
const MOST_BYTES: u64 = 32;

/// What stands under the cursor.
pub fn hover(world: &World, params: HoverParams) -> Answer<Option<Hover>> {
    let (document, byte) = world.place(&params.at)?;
    Ok(explain(document, byte)
        .map(|(text, span)| Hover { contents: Markdown(text), range: document.text.range(span) }))
}

fn explain(document: &Document, byte: u32) -> Option<(String, Span)> {
    let analysis = document.analysis();
    if let Some(one) = analysis.occurrence_at(byte) {
        return Some((entity(document, one.entity, byte), one.span));
    }
    if let Some(instruction) = analysis.instruction_at(byte) {
        let span = instruction.mnemonic_span;
        if span.start <= byte && byte <= span.end {
            return Some((mnemonic(analysis, instruction), span));
        }
    }
    if let Some((literal, span)) = literal_at(analysis, byte) {
        let text = span.text(document.source());
        return Some((format!("**{text}**\n\n{}", constant::readings(literal)), span));
    }
    directive(document, byte)
}

fn entity(document: &Document, entity: Entity, byte: u32) -> String {
    match entity {
        Entity::Variable(id, member) => variable(document, id, member, byte),
        Entity::Function(id) => function(document, id),
        Entity::Label(item, index) => label(document, item, index),
        Entity::Special(register) => special(register),
        Entity::WarpSize => {
            format!(
                "**WARP_SZ**: the number of threads in a warp, 32 ([PTX ISA]({MANUAL}#predefined-constants))"
            )
        }
    }
}

/// An instruction's form.
fn mnemonic(analysis: &Analysis, instruction: &Instruction) -> String {
    let header = &analysis.checked.header;
    if let Some(form) = analysis.form(instruction.mnemonic) {
        return words::form(form, header.version, header.target);
    }
    let mnemonic = analysis.module.mnemonic(instruction.mnemonic);
    let name = analysis.name(mnemonic.opcode);
    let modifiers: Vec<&str> = mnemonic.modifiers.iter().map(|&word| analysis.name(word)).collect();
    match resolve(name, &modifiers) {
        Ok(form) => words::form(&form, header.version, header.target),
        Err(error) => {
            let near = error.nearest.clone().or_else(|| nearest_opcode(name).map(str::to_owned));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("**{name}**: {error}{near}")
        }
    }
}

fn variable(document: &Document, id: VarId, member: Option<u32>, byte: u32) -> String {
    let analysis = document.analysis();
    let variable = analysis.variable(id);
    let name = analysis.name_of(Entity::Variable(id, member));
    let family = match (member, variable.count) {
        (None, Some(count)) => format!("<{count}>"),
        _ => String::new(),
    };
    let what = match variable.kind {
        VariableKind::Module => "variable of the module",
        VariableKind::Local if variable.space == StateSpace::Reg => "register",
        VariableKind::Local => "variable of the function",
        VariableKind::KernelParameter => "parameter of the kernel",
        VariableKind::Parameter => "parameter of the function",
        VariableKind::Return => "return value of the function",
    };
    let mut text = format!(
        "```ptx\n{} {} {name}{family}\n```\n{what}",
        variable.space,
        variable.described().trim_matches('`')
    );
    let line = document.text.line(variable.span.start) + 1;
    text.push_str(&format!(", declared in line {line}\n"));
    if variable.space == StateSpace::Reg {
        if let Some((item, statement)) = analysis.statement_at(byte) {
            let writers = last_writers(analysis, item, statement, Entity::Variable(id, member));
            if member.is_some() || variable.count.is_none() {
                text.push_str(&written(document, item, &writers));
            }
        }
    } else if let Some(image) = analysis.image() {
        text.push_str(&layout(image, image.object(image.object_of(0, id))));
    } else if let Some(size) = variable.size() {
        text.push_str(&format!(
            "\n{size} bytes, aligned to {}. (No address while there are errors.)\n",
            variable.alignment
        ));
    }
    text
}

/// Who has written a register.
fn written(document: &Document, item: u32, writers: &Writers) -> String {
    /// The most writers that are shown.
    const MOST: usize = 6;
    let mut text = String::new();
    let statements = document.analysis().statements(item);
    if !writers.statements.is_empty() {
        text.push_str("\nLast written by:\n");
    }
    for &writer in writers.statements.iter().take(MOST) {
        let span = statement_span(&statements[writer as usize]);
        let line = document.text.line(span.start) + 1;
        let source: Vec<&str> = span.text(document.source()).split_whitespace().collect();
        text.push_str(&format!("- line {line}: `{}`\n", source.join(" ")));
    }
    if let Some(more) = writers.statements.len().checked_sub(MOST).filter(|&more| more > 0) {
        text.push_str(&format!("- and {more} more\n"));
    }
    match (writers.unwritten, writers.statements.is_empty()) {
        (true, true) => text.push_str("\nNot written before.\n"),
        (true, false) => text.push_str("\nOn some way nothing has written it before.\n"),
        _ => {}
    }
    text
}

/// Where a variable is, and what it holds.
fn layout(image: &Image, object: &Object) -> String {
    let mut text = String::from("\n");
    if object.open {
        text.push_str("The launch or another module gives its size.");
    } else {
        text.push_str(&format!("{} bytes, aligned to {}", object.total(), object.alignment));
        let base = match object.space {
            StateSpace::Global => Some(image.windows.globals.base),
            StateSpace::Const => Some(image.windows.constant.base + 0x1_0000 * u64::from(object.bank)),
            StateSpace::Shared => Some(image.windows.shared.base),
            _ => None,
        };
        if let Some(offset) = object.offset {
            text.push_str(&format!(", at offset {offset} of its space"));
            if let Some(base) = base {
                text.push_str(&format!("; generic address `0x{:x}`", base.wrapping_add(offset)));
            }
        }
    }
    text.push('\n');
    if let Some(contents) = &object.contents {
        let shown = contents.size.min(MOST_BYTES);
        let mut bytes = vec![0; shown as usize];
        contents.read(0, &mut bytes);
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let more = if contents.size > shown { " …" } else { "" };
        text.push_str(&format!("\nBytes at first: `{}`{more}\n", bytes.join(" ")));
        for relocation in object.relocations.iter().take(4) {
            text.push_str(&format!("\nAt byte {} an address is put when it is loaded.\n", relocation.offset));
        }
    }
    text
}

fn function(document: &Document, id: FuncId) -> String {
    let analysis = document.analysis();
    let function = analysis.checked.function(id);
    let head = analysis.function(function.item).map(|tree| tree.head.text(document.source()));
    let mut text = format!("```ptx\n{}\n```\n", head.unwrap_or_default().trim_end_matches([';', '{']).trim());
    text.push_str(if function.entry { "kernel" } else { "function" });
    text.push_str(&format!(", declared in line {}\n", document.text.line(function.span.start) + 1));
    if let Some(image) = analysis.image() {
        let placed = image.function(image.function_of(0, id));
        let shared = placed.shared.bytes;
        if shared > 0 {
            text.push_str(&format!("\nShared memory of its own: {shared} bytes.\n"));
        }
    }
    if !function.defined {
        text.push_str("\nDefined elsewhere.\n");
    }
    text
}

fn label(document: &Document, item: u32, index: u32) -> String {
    let analysis = document.analysis();
    let places = analysis.places_of(Entity::Label(item, index));
    let line = match analysis.statements(item).get(index as usize) {
        Some(statement) => document.text.line(statement_span(statement).start) + 1,
        None => 0,
    };
    let name = analysis.name_of(Entity::Label(item, index));
    let from = places.iter().filter(|one| one.at.is_some_and(|at| at.1 != index));
    let from: Vec<String> = from.map(|one| (document.text.line(one.span.start) + 1).to_string()).collect();
    let named = match from.as_slice() {
        [] => "; nothing branches to it".to_owned(),
        lines => format!("; named in line {}", lines.join(", ")),
    };
    format!("**{name}**: label in line {line}{named}")
}

/// A special register.
pub fn special(register: &SpecialRegister) -> String {
    let name = register.display_name();
    let components = if register.components == 4 { ".v4 " } else { "" };
    let anchor = format!("special-registers-{}", name.trim_start_matches('%').replace('_', "-"));
    let anchor = anchor.split('<').next().unwrap_or_default().to_owned();
    format!(
        "```ptx\n.sreg {components}.{} {name}\n```\n{}\n\nExists on {}.\n\n[PTX ISA: special registers]({MANUAL}#{anchor})",
        register.ty,
        special_meaning(&name),
        availability::in_words(register.availability)
    )
}

/// What a special register holds.
pub fn special_meaning(name: &str) -> &'static str {
    match name.split('<').next().unwrap_or_default() {
        "%tid" => "the thread's position in its CTA",
        "%ntid" => "the size of the CTA in threads",
        "%laneid" => "the thread's number in its warp",
        "%warpid" => "the warp's number in its CTA",
        "%nwarpid" => "the most warps that there can be",
        "%ctaid" => "the CTA's position in the grid",
        "%nctaid" => "the size of the grid in CTAs",
        "%smid" => "the number of the multiprocessor",
        "%nsmid" => "the most multiprocessors that there can be",
        "%gridid" => "the number of the grid",
        "%is_explicit_cluster" => "whether the launch named the size of clusters",
        "%clusterid" => "the cluster's position in the grid",
        "%nclusterid" => "the size of the grid in clusters",
        "%cluster_ctaid" => "the CTA's position in its cluster",
        "%cluster_nctaid" => "the size of the cluster in CTAs",
        "%cluster_ctarank" => "the CTA's number in its cluster",
        "%cluster_nctarank" => "the number of CTAs in the cluster",
        "%lanemask_eq" => "a mask with the thread's own bit",
        "%lanemask_le" => "a mask of the thread and those before it in the warp",
        "%lanemask_lt" => "a mask of the threads before it in the warp",
        "%lanemask_ge" => "a mask of the thread and those behind it in the warp",
        "%lanemask_gt" => "a mask of the threads behind it in the warp",
        "%clock" | "%clock_hi" | "%clock64" => "a counter of cycles",
        "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi" => "a timer, in nanoseconds",
        "%envreg" => "a value that the driver sets",
        "%total_smem_size" => "bytes of shared memory of the CTA",
        "%aggr_smem_size" => "bytes of shared memory of the CTA, with what the system reserves",
        "%dynamic_smem_size" => "bytes of shared memory that the launch asked for",
        "%current_graph_exec" => "the graph that is being executed",
        "%pm" | "%pm0" | "%pm1" | "%pm2" | "%pm3" => "a performance counter",
        _ => "a value that the machine provides",
    }
}

/// The literal at a byte, and its place.
fn literal_at(analysis: &Analysis, byte: u32) -> Option<(Literal, Span)> {
    let inside = |span: Span| span.start <= byte && byte <= span.end;
    if let Some(instruction) = analysis.instruction_at(byte) {
        let pool = &analysis.module.operands;
        let mut rest: Vec<&Operand> = instruction.operands.of(pool).iter().collect();
        while let Some(operand) = rest.pop() {
            if let OperandKind::Literal(literal) = operand.kind
                && inside(operand.span)
            {
                return Some((literal, operand.span));
            }
            rest.extend(operand.kind.parts().into_iter().flat_map(|parts| parts.of(pool)));
        }
    }
    let expressions = analysis.module.expressions.iter().filter(|expression| inside(expression.span));
    let literals = expressions.filter_map(|expression| match expression.is {
        Expr::Literal(literal) => Some((literal, expression.span)),
        _ => None,
    });
    literals.min_by_key(|(_, span)| span.end - span.start)
}

/// `.loc`, `.version` and `.target`.
fn directive(document: &Document, byte: u32) -> Option<(String, Span)> {
    let analysis = document.analysis();
    if let Some((item, index)) = analysis.statement_at(byte)
        && let Statement::Loc(span) = &analysis.statements(item)[index as usize]
    {
        let lines = Lines::new(document.source(), &analysis.module);
        let place = lines.place(span.text(document.source()))?;
        return Some((
            format!("The instructions behind it come from `{}` line {}.", place.file, place.line),
            *span,
        ));
    }
    let inside = |span: Span| span.start <= byte && byte <= span.end;
    analysis.module.items.iter().find_map(|item| match item {
        Item::Version(version) if inside(version.span) => {
            let (major, minor) = version.is;
            let text = format!("PTX ISA {major}.{minor}: what follows may use what it has ([releases]({MANUAL}#release-notes)).");
            Some((text, version.span))
        }
        Item::Target(target) if inside(target.span) => {
            let header = &analysis.checked.header;
            let since = header.target.introduced();
            let text = format!("**{}**: the least GPU that this runs on; since PTX {since}.", header.target.name());
            Some((text, target.span))
        }
        _ => None,
    })
}

/// What a code means, in Markdown.
pub fn code(code: &str) -> Option<String> {
    let page = diagnostics::explained(code)?;
    Some(format!("**{code}**: {}\n\n{}", page.title, page.text))
}
