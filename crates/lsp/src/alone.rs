//! The answers of the server about one text, for programs that are not clients of it: a page that has no processes.

use crate::highlighting::legend;
use crate::levels::Levels;
use crate::protocol::Uri;
use crate::requests;
use crate::world::World;
use serde_json::{Value, json};
use softwarp_check::{Options, Recheck};
use softwarp_diagnostic::{Diagnostic, Span};

/// A text that can be asked about.
pub struct Alone {
    world: World,
    uri: Uri,
    options: Options,
}

impl Alone {
    /// Takes a text.
    pub fn new(text: &str, options: Options) -> Alone {
        let mut world = World::new(None, options, Levels::default());
        (world.snippets, world.related) = (true, true);
        let uri = Uri("file:///module.ptx".to_owned());
        world.open(uri.clone(), 1, text.to_owned());
        Alone { world, uri, options }
    }

    /// Answers a request of the protocol; `textDocument` is put into its parameters.
    ///
    /// ```
    /// use serde_json::json;
    /// use softwarp_lsp::Alone;
    ///
    /// let text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret; }\n";
    /// let alone = Alone::new(text, Default::default());
    /// let at = json!({"position": {"line": 3, "character": 13}});
    /// let hover = alone.ask("textDocument/hover", at).unwrap();
    /// assert!(hover["contents"]["value"].as_str().unwrap().contains("ret"));
    /// ```
    pub fn ask(&self, method: &str, mut params: Value) -> Result<Value, String> {
        params["textDocument"] = json!({ "uri": self.uri.0 });
        match requests::answer(&self.world, method, params) {
            None => Err(format!("there is no request `{method}`")),
            Some(Ok(answer)) => answer.parse().map_err(|error: serde_json::Error| error.to_string()),
            Some(Err((_, message))) => Err(message),
        }
    }

    /// Everything to say about the text.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.world
            .document(&self.uri)
            .map_or_else(|_| Vec::new(), |document| Recheck::default().check(document.source(), self.options))
    }

    /// Where a span begins and ends: lines and columns in UTF-16 units, from 0.
    pub fn range(&self, span: Span) -> [(u32, u32); 2] {
        let range =
            self.world.document(&self.uri).map(|document| document.text.range(span)).unwrap_or_default();
        [(range.start.line, range.start.character), (range.end.line, range.end.character)]
    }

    /// The names of kinds of tokens, and of their modifiers, by the numbers of `textDocument/semanticTokens/full`.
    pub fn legend() -> (Vec<String>, Vec<String>) {
        let legend = legend();
        (legend.token_types, legend.token_modifiers)
    }
}
