//! What the server can do, as it tells the client.

use crate::actions::{FIX_ALL, QUICK_FIX};
use crate::highlighting;
use crate::protocol::json;
use crate::run::COMMANDS;
use crate::world::World;
use serde_json::{Value, json};

/// The documents are sent as changes of parts.
const INCREMENTAL: u32 = 2;

/// What the server can do: `ServerCapabilities` of the protocol.
pub fn capabilities(world: &World) -> Value {
    let mut all = json!({
        "positionEncoding": world.encoding.name(),
        "textDocumentSync": {"openClose": true, "change": INCREMENTAL},
        "completionProvider": {"triggerCharacters": [".", "%", "@", "[", "$"]},
        "hoverProvider": true,
        "signatureHelpProvider": {"triggerCharacters": [" ", ","]},
        "definitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "documentSymbolProvider": true,
        "codeActionProvider": {"codeActionKinds": [QUICK_FIX, FIX_ALL]},
        "codeLensProvider": {},
        "workspaceSymbolProvider": true,
        "documentFormattingProvider": true,
        "renameProvider": {"prepareProvider": true},
        "foldingRangeProvider": true,
    });
    if world.program.is_some() {
        all["executeCommandProvider"] = json!({"commands": COMMANDS});
    }
    all["callHierarchyProvider"] = true.into();
    let legend = json::value(&highlighting::legend());
    all["semanticTokensProvider"] = json!({"legend": legend, "range": true, "full": true});
    all["inlayHintProvider"] = true.into();
    all["workspace"] = json!({"workspaceFolders": {"supported": true, "changeNotifications": true}});
    all
}
