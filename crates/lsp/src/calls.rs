//! The call hierarchy: who calls a function, and whom it calls, over all documents.

use crate::analysis::{Analysis, Document, Entity, Occurrence, Role};
use crate::protocol::{
    CallHierarchyCallsParams, CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall,
    CallHierarchyPrepareParams, Range, SymbolKind, Uri,
};
use crate::world::{Answer, World};
use softwarp_check::checked::FuncId;
use std::collections::BTreeMap;

/// The function under the cursor.
pub fn prepare(world: &World, params: CallHierarchyPrepareParams) -> Answer<Option<Vec<CallHierarchyItem>>> {
    let at = &params.at;
    let (document, byte) = world.place(at)?;
    let analysis = document.analysis();
    let function = match analysis.occurrence_at(byte).map(|one| one.entity) {
        Some(Entity::Function(id)) => Some(id),
        _ => analysis.function_at(byte).and_then(|(item, _)| id_of(analysis, item)),
    };
    Ok(function.and_then(|id| item(&at.text_document.uri, document, id)).map(|item| vec![item]))
}

fn id_of(analysis: &Analysis, item: u32) -> Option<FuncId> {
    let name = analysis.function(item)?.name.symbol;
    let id = analysis.checked.functions.iter().position(|function| function.name == name)?;
    Some(FuncId(id as u32))
}

fn item(uri: &Uri, document: &Document, id: FuncId) -> Option<CallHierarchyItem> {
    let analysis = document.analysis();
    let function = analysis.checked.function(id);
    let tree = analysis.function(function.item)?;
    Some(CallHierarchyItem {
        name: analysis.name(function.name).to_owned(),
        kind: SymbolKind::Function,
        detail: if function.entry { "kernel" } else { "function" }.to_owned(),
        uri: uri.clone(),
        range: document.text.range(tree.span),
        selection_range: document.text.range(tree.name.span),
    })
}

/// The uses of functions in instructions, each with the function that it stands in.
fn calls(analysis: &Analysis) -> impl Iterator<Item = (u32, FuncId, &Occurrence)> {
    analysis.occurrences().iter().filter_map(|one| match (one.entity, one.role, one.at) {
        (Entity::Function(id), Role::Read, Some((item, _))) => Some((item, id, one)),
        _ => None,
    })
}

/// Who calls a function.
pub fn incoming(
    world: &World,
    params: CallHierarchyCallsParams,
) -> Answer<Option<Vec<CallHierarchyIncomingCall>>> {
    let mut found = Vec::new();
    for (uri, document) in world.documents() {
        let analysis = document.analysis();
        let mut callers: BTreeMap<u32, Vec<Range>> = BTreeMap::new();
        for (caller, id, one) in calls(analysis) {
            if analysis.name(analysis.checked.function(id).name) == params.item.name {
                callers.entry(caller).or_default().push(document.text.range(one.span));
            }
        }
        for (caller, from_ranges) in callers {
            if let Some(from) = id_of(analysis, caller).and_then(|id| item(&uri, &document, id)) {
                found.push(CallHierarchyIncomingCall { from, from_ranges });
            }
        }
    }
    Ok(Some(found))
}

/// Whom a function calls.
pub fn outgoing(
    world: &World,
    params: CallHierarchyCallsParams,
) -> Answer<Option<Vec<CallHierarchyOutgoingCall>>> {
    let uri = &params.item.uri;
    let all = world.documents();
    let Some((_, document)) = all.iter().find(|(known, _)| known == uri) else { return Ok(None) };
    let analysis = document.analysis();
    let mut callees: BTreeMap<u32, Vec<Range>> = BTreeMap::new();
    for (caller, id, one) in calls(analysis) {
        let name = analysis.function(caller).map(|function| analysis.name(function.name.symbol));
        if name == Some(params.item.name.as_str()) {
            callees.entry(id.0).or_default().push(document.text.range(one.span));
        }
    }
    let found = callees.into_iter().filter_map(|(id, from_ranges)| {
        let name = analysis.name(analysis.checked.function(FuncId(id)).name);
        // The definition, wherever it is.
        let elsewhere = all.iter().find_map(|(uri, document)| {
            let analysis = document.analysis();
            let functions = (0..).zip(&analysis.checked.functions);
            let (id, _) =
                functions.into_iter().find(|(_, one)| one.defined && analysis.name(one.name) == name)?;
            item(uri, document, FuncId(id))
        });
        let to = elsewhere.or_else(|| item(uri, document, FuncId(id)))?;
        Some(CallHierarchyOutgoingCall { to, from_ranges })
    });
    Ok(Some(found.collect()))
}
