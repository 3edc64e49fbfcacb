//! The outline of a document, what can be folded, and the symbols of the workspace.

use crate::analysis::{Analysis, Document};
use crate::protocol::{
    DocumentSymbol, DocumentSymbolParams, FoldingRange, FoldingRangeParams, Location, SymbolInformation,
    SymbolKind, WorkspaceSymbolParams,
};
use crate::world::{Answer, World};
use softwarp_check::checked::Variable;
use softwarp_isa::StateSpace;
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Item, Statement};

/// The most symbols of the workspace that are given.
const MOST: usize = 500;

/// The outline: functions with their parameters, variables and labels; variables of the module.
pub fn document_symbols(world: &World, params: DocumentSymbolParams) -> Answer<Option<Vec<DocumentSymbol>>> {
    let document = world.document(&params.text_document.uri)?;
    Ok(Some(outline(document)))
}

fn symbol(document: &Document, name: &str, kind: SymbolKind, whole: Span, name_span: Span) -> DocumentSymbol {
    DocumentSymbol {
        // An empty name is an error to clients.
        name: if name.is_empty() { "_".to_owned() } else { name.to_owned() },
        detail: None,
        kind,
        range: document.text.range(whole.to(name_span)),
        selection_range: document.text.range(name_span),
        children: None,
    }
}

fn variable_symbol(document: &Document, analysis: &Analysis, variable: &Variable) -> DocumentSymbol {
    let kind = match variable.space {
        StateSpace::Const => SymbolKind::Constant,
        StateSpace::Param => SymbolKind::Field,
        _ => SymbolKind::Variable,
    };
    let family = variable.count.map_or_else(String::new, |count| format!("<{count}>"));
    let name = format!("{}{family}", analysis.name(variable.name));
    let detail = format!("{} {}", variable.space, variable.described().trim_matches('`'));
    DocumentSymbol { detail: Some(detail), ..symbol(document, &name, kind, variable.span, variable.span) }
}

fn outline(document: &Document) -> Vec<DocumentSymbol> {
    let analysis = document.analysis();
    let checked = &analysis.checked;
    let mut symbols: Vec<DocumentSymbol> = Vec::new();
    let of_module = checked.variables.iter().filter(|variable| variable.function.is_none());
    symbols.extend(of_module.map(|variable| variable_symbol(document, analysis, variable)));
    let mut children: Vec<Vec<DocumentSymbol>> = vec![Vec::new(); checked.functions.len()];
    for variable in &checked.variables {
        if let Some(of) = variable.function.and_then(|id| children.get_mut(id.0 as usize)) {
            of.push(variable_symbol(document, analysis, variable));
        }
    }
    for (item, function) in analysis.functions() {
        let name = analysis.name(function.name.symbol);
        let kind = if function.entry { SymbolKind::Function } else { SymbolKind::Method };
        let detail = match (function.entry, function.body.is_some()) {
            (true, _) => "kernel",
            (false, true) => "function",
            (false, false) => "function, declared",
        };
        let id = checked.functions.iter().position(|known| known.item == item);
        let mut inner = id.and_then(|id| children.get_mut(id)).map(std::mem::take).unwrap_or_default();
        inner.extend(analysis.statements(item).iter().filter_map(|statement| match statement {
            Statement::Label(label) => {
                Some(symbol(document, analysis.name(label.symbol), SymbolKind::Key, label.span, label.span))
            }
            _ => None,
        }));
        inner.sort_by_key(|symbol| symbol.selection_range.start);
        symbols.push(DocumentSymbol {
            detail: Some(detail.to_owned()),
            children: Some(inner),
            ..symbol(document, name, kind, function.span, function.name.span)
        });
    }
    symbols.sort_by_key(|symbol| symbol.range.start);
    symbols
}

/// What can be folded: bodies, blocks, sections and comments of several lines.
pub fn folding(world: &World, params: FoldingRangeParams) -> Answer<Option<Vec<FoldingRange>>> {
    let document = world.document(&params.text_document.uri)?;
    let analysis = document.analysis();
    let mut spans: Vec<(Span, Option<&'static str>)> = Vec::new();
    for item in &analysis.module.items {
        match item {
            Item::Function(function) => {
                let Some(body) = &function.body else { continue };
                spans.push((body.span, None));
                let mut open = Vec::new();
                for statement in &body.statements {
                    match statement {
                        Statement::Open(span) => open.push(*span),
                        Statement::Close(span) => {
                            spans.extend(open.pop().map(|start: Span| (start.to(*span), None)))
                        }
                        _ => {}
                    }
                }
            }
            Item::Section(section) => spans.push((section.span, None)),
            Item::Variable(variables) => spans.push((variables.span, None)),
            _ => {}
        }
    }
    spans
        .extend(softwarp_syntax::comments(document.source()).into_iter().map(|span| (span, Some("comment"))));
    let ranges = spans.into_iter().filter_map(|(span, kind)| {
        let (start_line, end_line) =
            (document.text.line(span.start), document.text.line(span.end.saturating_sub(1)));
        // The line with the closing brace stays visible.
        let closes = span.text(document.source()).ends_with('}') && kind.is_none();
        let end_line = if closes { end_line.saturating_sub(1) } else { end_line };
        (end_line > start_line).then_some(FoldingRange { start_line, end_line, kind })
    });
    let mut ranges: Vec<FoldingRange> = ranges.collect();
    ranges.sort_by_key(|range| (range.start_line, range.end_line));
    Ok(Some(ranges))
}

/// Functions and variables of all documents, by a part of their names.
pub fn workspace_symbols(
    world: &World,
    params: WorkspaceSymbolParams,
) -> Answer<Option<Vec<SymbolInformation>>> {
    let query = params.query.to_lowercase();
    let mut found: Vec<SymbolInformation> = Vec::new();
    for (uri, document) in world.documents() {
        for one in outline(&document) {
            if found.len() < MOST && one.name.to_lowercase().contains(&query) {
                let location = Location { uri: uri.clone(), range: one.selection_range };
                found.push(SymbolInformation { location, name: one.name, kind: one.kind });
            }
        }
    }
    Ok(Some(found))
}
