//! What the server can do, as it tells the client.

use crate::highlighting;
use crate::run::COMMANDS;
use crate::world::World;
use gen_lsp_types as lsp;

/// What the server can do.
pub fn capabilities(world: &World) -> lsp::ServerCapabilities {
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    lsp::ServerCapabilities {
        position_encoding: Some(world.encoding.kind()),
        text_document_sync: Some(
            lsp::TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(lsp::TextDocumentSyncKind::Incremental),
                ..Default::default()
            }
            .into(),
        ),
        completion_provider: Some(lsp::CompletionOptions {
            trigger_characters: words(&[".", "%", "@", "[", "$"]),
            ..Default::default()
        }),
        hover_provider: Some(true.into()),
        signature_help_provider: Some(lsp::SignatureHelpOptions {
            trigger_characters: words(&[" ", ","]),
            ..Default::default()
        }),
        definition_provider: Some(true.into()),
        references_provider: Some(true.into()),
        document_highlight_provider: Some(true.into()),
        document_symbol_provider: Some(true.into()),
        code_action_provider: Some(
            lsp::CodeActionOptions {
                code_action_kinds: Some(vec![
                    lsp::CodeActionKind::QuickFix,
                    lsp::CodeActionKind::SourceFixAll,
                ]),
                ..Default::default()
            }
            .into(),
        ),
        code_lens_provider: Some(lsp::CodeLensOptions::default()),
        workspace_symbol_provider: Some(true.into()),
        document_formatting_provider: Some(true.into()),
        rename_provider: Some(
            lsp::RenameOptions { prepare_provider: Some(true), ..Default::default() }.into(),
        ),
        folding_range_provider: Some(true.into()),
        execute_command_provider: world.program.is_some().then(|| lsp::ExecuteCommandOptions {
            commands: COMMANDS.iter().map(|&command| command.to_owned()).collect(),
            ..Default::default()
        }),
        call_hierarchy_provider: Some(true.into()),
        semantic_tokens_provider: Some(
            lsp::SemanticTokensOptions {
                legend: highlighting::legend(),
                range: Some(true.into()),
                full: Some(true.into()),
                ..Default::default()
            }
            .into(),
        ),
        inlay_hint_provider: Some(true.into()),
        workspace: Some(lsp::WorkspaceOptions {
            workspace_folders: Some(lsp::WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(true.into()),
            }),
            ..Default::default()
        }),
        ..Default::default()
    }
}
