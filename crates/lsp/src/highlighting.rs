//! Semantic highlighting: every token by what it means.

use crate::analysis::{Analysis, Document, Entity, Role};
use crate::protocol::{
    SemanticTokens, SemanticTokensLegend, SemanticTokensParams, SemanticTokensRangeParams,
};
use crate::world::{Answer, World};
use softwarp_isa::{StateSpace, Type};
use softwarp_syntax::{Span, tokens};

/// What tokens can be, in the order of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Keyword,
    Type,
    Function,
    Parameter,
    Variable,
    Label,
    Number,
    String,
    Operator,
    Macro,
}

const KINDS: &[(&str, Kind)] = &[
    ("keyword", Kind::Keyword),
    ("type", Kind::Type),
    ("function", Kind::Function),
    ("parameter", Kind::Parameter),
    ("variable", Kind::Variable),
    ("label", Kind::Label),
    ("number", Kind::Number),
    ("string", Kind::String),
    ("operator", Kind::Operator),
    ("macro", Kind::Macro),
];

/// Bits of the modifiers: their places in the legend.
const DECLARATION: u32 = 1;
const READONLY: u32 = 2;
const STATIC: u32 = 4;
const MODIFICATION: u32 = 8;

/// The names of what tokens can be.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: KINDS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        token_modifiers: ["declaration", "readonly", "static", "modification"].map(str::to_owned).to_vec(),
    }
}

/// The tokens of a document.
pub fn full(world: &World, params: SemanticTokensParams) -> Answer<Option<SemanticTokens>> {
    let document = world.document(&params.text_document.uri)?;
    let whole = Span::new(0, document.source().len() as u32);
    Ok(Some(in_span(document, whole)))
}

/// The tokens of a part.
pub fn range(world: &World, params: SemanticTokensRangeParams) -> Answer<Option<SemanticTokens>> {
    let document = world.document(&params.text_document.uri)?;
    Ok(Some(in_span(document, document.text.span(params.range))))
}

fn in_span(document: &Document, span: Span) -> SemanticTokens {
    let analysis = document.analysis();
    let source = document.source();
    let mut names = analysis.occurrences().iter().peekable();
    let mut data = Vec::new();
    let (mut line, mut character) = (0, 0);
    let mut previous = "";
    for token in tokens(source) {
        let text = token.text(source);
        while names.next_if(|one| one.span.end <= token.start).is_some() {}
        let name = names.peek().filter(|one| one.span.start <= token.start);
        let class = match name {
            Some(one) => Some(of_name(analysis, one.entity, one.role)),
            None => of_token(text, previous),
        };
        previous = text;
        let inside = token.start >= span.start && token.start < span.end && !text.contains('\n');
        let Some((kind, modifiers)) = class.filter(|_| inside) else { continue };
        let start = document.text.position(token.start);
        let length = document.text.units(text);
        let delta_line = start.line - line;
        let delta_start = if delta_line == 0 { start.character - character } else { start.character };
        (line, character) = (start.line, start.character);
        let token_type = KINDS.iter().position(|(_, one)| *one == kind).unwrap_or(0) as u32;
        data.extend([delta_line, delta_start, length, token_type, modifiers]);
    }
    SemanticTokens { data }
}

fn of_name(analysis: &Analysis, entity: Entity, role: Role) -> (Kind, u32) {
    let declared = match role {
        Role::Declared => DECLARATION,
        Role::Written => MODIFICATION,
        Role::Read => 0,
    };
    match entity {
        Entity::Variable(id, _) => {
            let variable = analysis.variable(id);
            match variable.space {
                StateSpace::Param => (Kind::Parameter, declared),
                StateSpace::Const => (Kind::Variable, declared | READONLY | STATIC),
                StateSpace::Reg => (Kind::Variable, declared),
                _ => (Kind::Variable, declared | STATIC),
            }
        }
        Entity::Function(_) => (Kind::Function, declared),
        Entity::Label(..) => (Kind::Label, declared),
        Entity::Special(_) | Entity::WarpSize => (Kind::Macro, READONLY),
    }
}

/// A token that is no name, by its own text and that of the token before it.
fn of_token(text: &str, previous: &str) -> Option<(Kind, u32)> {
    let first = text.chars().next()?;
    Some(match first {
        '"' => (Kind::String, 0),
        '0'..='9' => (Kind::Number, 0),
        '.' if text.len() > 1 => match Type::from_name(&text[1..]) {
            Some(_) => (Kind::Type, 0),
            None if text.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => (Kind::Number, 0),
            None => (Kind::Keyword, 0),
        },
        'a'..='z' if softwarp_isa::instruction::known(text) => (Kind::Keyword, 0),
        'a'..='z' if previous == ".target" || text.starts_with("sm_") => (Kind::Macro, READONLY),
        '@' | '+' | '-' | '*' | '/' | '!' | '~' | '&' | '|' | '^' | '<' | '>' | '=' | '?' => {
            (Kind::Operator, 0)
        }
        _ => return None,
    })
}
