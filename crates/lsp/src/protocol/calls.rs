//! Language features: the hierarchy of calls.

use super::SymbolKind;
use super::json::{reads, writes};
use super::structures::{Range, Uri};

/// A function in the hierarchy of calls.
#[derive(Debug)]
pub struct CallHierarchyItem {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// More about it.
    pub detail: String,
    /// Its document.
    pub uri: Uri,
    /// All of it.
    pub range: Range,
    /// Its name's place.
    pub selection_range: Range,
}

writes!(CallHierarchyItem:
    "name" = name,
    "kind" = kind,
    "detail" = detail,
    "uri" = uri,
    "range" = range,
    "selectionRange" = selection_range
);

/// What a client sends back of an item.
#[derive(Debug)]
pub struct KnownItem {
    /// Its name.
    pub name: String,
    /// Its document.
    pub uri: Uri,
}

reads!(KnownItem: "name" = name, "uri" = uri);

/// `callHierarchy/incomingCalls` and `callHierarchy/outgoingCalls`
#[derive(Debug)]
pub struct CallHierarchyCallsParams {
    /// The function that is asked about.
    pub item: KnownItem,
}

reads!(CallHierarchyCallsParams: "item" = item);

/// Who calls a function.
#[derive(Debug)]
pub struct CallHierarchyIncomingCall {
    /// The caller.
    pub from: CallHierarchyItem,
    /// Where in it.
    pub from_ranges: Vec<Range>,
}

writes!(CallHierarchyIncomingCall: "from" = from, "fromRanges" = from_ranges);

/// Whom a function calls.
#[derive(Debug)]
pub struct CallHierarchyOutgoingCall {
    /// The function that is called.
    pub to: CallHierarchyItem,
    /// Where in the caller.
    pub from_ranges: Vec<Range>,
}

writes!(CallHierarchyOutgoingCall: "to" = to, "fromRanges" = from_ranges);
