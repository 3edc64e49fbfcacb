//! Inlay hints: the types of registers where they are first written, and the lines of the program behind `.loc`.

use crate::analysis::Entity;
use crate::protocol::{InlayHint, InlayHintKind, InlayHintParams, Position};
use crate::source_lines::Lines;
use crate::world::{Answer, World};
use softwarp_check::occurrences::first_writes;

/// The hints of a part of a document.
pub fn hints(world: &World, params: InlayHintParams) -> Answer<Option<Vec<InlayHint>>> {
    let document = world.document(&params.text_document.uri)?;
    let span = document.text.span(params.range);
    let analysis = document.analysis();
    let mut hints = Vec::new();
    for one in first_writes(analysis.occurrences(), &analysis.checked) {
        let Entity::Variable(id, _) = one.entity else { continue };
        if one.span.start >= span.start && one.span.end <= span.end {
            let label = format!(": {}", analysis.variable(id).described().trim_matches('`'));
            hints.push(hint(document.text.position(one.span.end), label, InlayHintKind::Type));
        }
    }
    let lines = Lines::new(document.source(), &analysis.module);
    for (at, place) in lines.all(document.source(), &analysis.module) {
        if at.start >= span.start && at.end <= span.end {
            let name = place.file.rsplit(['/', '\\']).next().unwrap_or_default();
            let end = document.text.line_span(document.text.line(at.start)).end;
            let label = format!("{name}:{}", place.line);
            let hint = hint(document.text.position(end), label, InlayHintKind::Parameter);
            hints.push(InlayHint { padding_left: Some(true), ..hint });
        }
    }
    hints.sort_by_key(|hint| hint.position);
    Ok(Some(hints))
}

fn hint(position: Position, label: String, kind: InlayHintKind) -> InlayHint {
    InlayHint { position, label, kind, padding_left: None }
}
