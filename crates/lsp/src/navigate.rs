//! Definitions, references, highlights and renaming. Functions, and variables that other modules can see, are followed
//! over all documents and PTX files of the workspace.

use crate::analysis::{Analysis, Document, Entity, Occurrence, Role};
use crate::protocol::{
    Definition, DefinitionParams, DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams,
    Location, Position, PrepareRenameParams, Range, ReferenceParams, RenameParams, TextEdit, Uri,
    WorkspaceEdit,
};
use crate::source_lines::{self, Lines};
use crate::uri;
use crate::world::{Answer, Failure, Found, World};
use softwarp_check::checked::{FuncId, VarId};
use softwarp_isa::SpecialRegister;
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Item, Linkage, Statement};
use std::collections::BTreeMap;

/// Where what stands under the cursor is defined; of a `.loc` or `.file`, the place in the program that it names.
pub fn definition(world: &World, params: DefinitionParams) -> Answer<Option<Definition>> {
    let at = &params.at;
    let (document, byte) = world.place(at)?;
    let uri = &at.text_document.uri;
    if let Some(location) = source_place(world, uri, document, byte) {
        return Ok(Some(Definition::One(location)));
    }
    let Some(one) = document.analysis().occurrence_at(byte) else { return Ok(None) };
    let mut found: Vec<Location> = declarations(document.analysis(), one.entity)
        .into_iter()
        .map(|span| world.location(uri, document, span))
        .collect();
    if let Some(name) = shared_name(document.analysis(), one.entity)
        && !is_defined_here(document.analysis(), one.entity)
    {
        let defined: Vec<Location> = world
            .documents()
            .into_iter()
            .filter(|(other, _)| other != uri)
            .filter_map(|(other, document)| {
                let entity = named(document.analysis(), &name)?;
                is_defined_here(document.analysis(), entity).then_some(())?;
                let span = *declarations(document.analysis(), entity).last()?;
                Some(world.location(&other, &document, span))
            })
            .collect();
        if !defined.is_empty() {
            found = defined;
        }
    }
    Ok((!found.is_empty()).then_some(Definition::Several(found)))
}

/// The place in the program that a `.loc` or `.file` under the cursor names, if the file is there.
fn source_place(world: &World, uri: &Uri, document: &Document, byte: u32) -> Option<Location> {
    let analysis = document.analysis();
    let lines = Lines::new(document.source(), &analysis.module);
    let beside = uri::to_path(uri);
    let (name, line, column) = match analysis.statement_at(byte) {
        Some((item, index)) => {
            let Statement::Loc(span) = analysis.statements(item).get(index as usize)? else { return None };
            let place = lines.place(span.text(document.source()))?;
            (place.file, place.line, place.column)
        }
        None => analysis.module.items.iter().find_map(|item| match item {
            Item::File(file) if file.span.start <= byte && byte <= file.span.end => {
                Some((file.is.name.text(document.source()).trim_matches('"').to_owned(), 1, 1))
            }
            _ => None,
        })?,
    };
    let path = source_lines::find(&name, beside.as_deref(), &world.folders)?;
    Some(at_line(&uri::of_path(&path), line, column))
}

/// A place in a file by line and column, both from 1.
pub fn at_line(uri: &Uri, line: u32, column: u32) -> Location {
    let position = Position { line: line.saturating_sub(1), character: column.saturating_sub(1) };
    Location { uri: uri.clone(), range: Range { start: position, end: position } }
}

/// The places where something is declared. The body of a function is behind the last one.
fn declarations(analysis: &Analysis, entity: Entity) -> Vec<Span> {
    let declared = analysis.places_of(entity).into_iter().filter(|one| one.role == Role::Declared);
    let mut spans: Vec<Span> = declared.map(|one| one.span).collect();
    if let Entity::Function(id) = entity {
        let function = analysis.checked.function(id);
        if function.defined && spans.contains(&function.span) {
            spans = vec![function.span];
        }
        // The item with the body is the definition.
        if let Some(tree) = analysis.function(function.item).filter(|tree| tree.body.is_some()) {
            spans = vec![tree.name.span];
        }
    }
    spans
}

/// The name of what other modules can see.
fn shared_name(analysis: &Analysis, entity: Entity) -> Option<String> {
    match entity {
        Entity::Function(id) => Some(analysis.name(analysis.checked.function(id).name).to_owned()),
        Entity::Variable(id, None) => {
            let variable = analysis.variable(id);
            let shared = variable.function.is_none() && variable.linkage.is_some();
            shared.then(|| analysis.name(variable.name).to_owned())
        }
        _ => None,
    }
}

fn is_defined_here(analysis: &Analysis, entity: Entity) -> bool {
    match entity {
        Entity::Function(id) => analysis.checked.function(id).defined,
        Entity::Variable(id, _) => analysis.variable(id).linkage != Some(Linkage::Extern),
        _ => true,
    }
}

/// What a name means to other modules.
fn named(analysis: &Analysis, name: &str) -> Option<Entity> {
    let functions =
        (0..).zip(&analysis.checked.functions).map(|(id, one)| (Entity::Function(FuncId(id)), one.name));
    let variables = (0..).zip(&analysis.checked.variables).filter(|(_, one)| one.function.is_none());
    let variables = variables.map(|(id, one)| (Entity::Variable(VarId(id), None), one.name));
    let mut all = functions.chain(variables).filter(|(_, symbol)| analysis.name(*symbol) == name);
    all.find_map(|(entity, _)| shared_name(analysis, entity).is_some().then_some(entity))
}

/// All places of what stands under the cursor, in all documents where others can see it.
fn everywhere(world: &World, uri: &Uri, byte: u32) -> Answer<Vec<(Found, Vec<Occurrence>)>> {
    let document = world.document(uri)?;
    let Some(one) = document.analysis().occurrence_at(byte) else { return Ok(Vec::new()) };
    let shared = shared_name(document.analysis(), one.entity);
    let mut found = Vec::new();
    // What others cannot see is in this document alone.
    let documents = match shared {
        Some(_) => world.documents(),
        None => world.found(uri).into_iter().collect(),
    };
    for (other, document) in documents {
        let entity = match &shared {
            _ if other == *uri => Some(one.entity),
            Some(name) => named(document.analysis(), name),
            None => None,
        };
        if let Some(entity) = entity {
            let places = document.analysis().places_of(entity);
            found.push(((other, document), places));
        }
    }
    Ok(found)
}

/// All uses of what stands under the cursor.
pub fn references(world: &World, params: ReferenceParams) -> Answer<Option<Vec<Location>>> {
    let at = &params.at;
    let (_, byte) = world.place(at)?;
    let mut found = Vec::new();
    for ((uri, document), places) in everywhere(world, &at.text_document.uri, byte)? {
        let wanted =
            places.iter().filter(|one| params.context.include_declaration || one.role != Role::Declared);
        found.extend(wanted.map(|one| world.location(&uri, &document, one.span)));
    }
    Ok(Some(found))
}

/// The same in this document, told apart by what is done.
pub fn highlight(world: &World, params: DocumentHighlightParams) -> Answer<Option<Vec<DocumentHighlight>>> {
    let (document, byte) = world.place(&params.at)?;
    let Some(one) = document.analysis().occurrence_at(byte) else { return Ok(None) };
    let places = document.analysis().places_of(one.entity);
    let highlights = places.iter().map(|one| DocumentHighlight {
        range: document.text.range(one.span),
        kind: match one.role {
            Role::Declared => DocumentHighlightKind::Text,
            Role::Read => DocumentHighlightKind::Read,
            Role::Written => DocumentHighlightKind::Write,
        },
    });
    Ok(Some(highlights.collect()))
}

/// What can be renamed, and why not if it cannot.
fn renamable(document: &Document, byte: u32) -> Answer<Occurrence> {
    let refuse = |why: &str| Err(Failure::Failed(why.to_owned()));
    let Some(one) = document.analysis().occurrence_at(byte) else {
        return refuse("there is no name of this module here");
    };
    match one.entity {
        Entity::Special(_) | Entity::WarpSize => refuse("the names of special registers are fixed"),
        Entity::Variable(_, Some(_)) => {
            refuse("this is a member of a family: rename the family where it is declared")
        }
        _ => Ok(one),
    }
}

/// Says whether there is something to rename, and its place.
pub fn prepare_rename(world: &World, params: PrepareRenameParams) -> Answer<Option<Range>> {
    let (document, byte) = world.place(&params.at)?;
    let one = renamable(document, byte)?;
    Ok(Some(document.text.range(one.span)))
}

/// Renames what stands under the cursor.
pub fn rename(world: &World, params: RenameParams) -> Answer<Option<WorkspaceEdit>> {
    let at = &params.at;
    let (document, byte) = world.place(at)?;
    let one = renamable(document, byte)?;
    let name = params.new_name.as_str();
    is_name(name)?;
    let analysis = document.analysis();
    is_free(analysis, one.entity, name)?;
    let is_family = matches!(one.entity, Entity::Variable(id, _) if analysis.variable(id).count.is_some());
    if is_family && name.ends_with(|c: char| c.is_ascii_digit()) {
        let why = "the name of a family cannot end in a digit: its members would not be found";
        return Err(Failure::Failed(why.to_owned()));
    }
    let mut changes: BTreeMap<Uri, Vec<TextEdit>> = BTreeMap::new();
    for ((uri, document), places) in everywhere(world, &at.text_document.uri, byte)? {
        let edits = places.iter().map(|one| {
            let number = match one.entity {
                Entity::Variable(_, Some(member)) => member.to_string(),
                _ => String::new(),
            };
            TextEdit { range: document.text.range(one.span), new_text: format!("{name}{number}") }
        });
        let edits: Vec<TextEdit> = edits.collect();
        if !edits.is_empty() {
            changes.insert(uri, edits);
        }
    }
    Ok(Some(WorkspaceEdit { changes }))
}

/// Whether a text is a name of PTX (section 4.4).
fn is_name(name: &str) -> Answer<()> {
    let wrong =
        || Err(Failure::Failed(format!("`{}` is not a name", name.chars().take(60).collect::<String>())));
    let mut rest = name.chars();
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    match rest.next() {
        Some('_' | '$' | '%') if rest.as_str().is_empty() => return wrong(),
        Some(first) if first.is_ascii_alphabetic() || matches!(first, '_' | '$' | '%') => {}
        _ => return wrong(),
    }
    if !rest.all(inside) {
        return wrong();
    }
    if SpecialRegister::from_name(name).is_some() {
        return Err(Failure::Failed(format!("`{name}` is a special register")));
    }
    Ok(())
}

/// Whether nothing else of the same scope has a name.
fn is_free(analysis: &Analysis, entity: Entity, name: &str) -> Answer<()> {
    let scope = |entity: Entity| match entity {
        Entity::Variable(id, _) => {
            analysis.variable(id).function.map(|function| analysis.checked.function(function).item)
        }
        Entity::Label(item, _) => Some(item),
        _ => None,
    };
    let wanted = scope(entity);
    let taken = analysis.occurrences().iter().find(|one| {
        one.role == Role::Declared
            && one.entity != entity
            && (scope(one.entity) == wanted || scope(one.entity).is_none() || wanted.is_none())
            && analysis.name_of(one.entity) == name
    });
    match taken {
        None => Ok(()),
        Some(_) => Err(Failure::Failed(format!("`{name}` is declared already"))),
    }
}
