//! Semantic highlighting: every token by what it means.

use crate::analysis::{Analysis, Document, Entity, Role};
use crate::protocol::{
    Position, SemanticTokens, SemanticTokensLegend, SemanticTokensParams, SemanticTokensRangeParams,
};
use crate::world::{Answer, World};
use softwarp_isa::{StateSpace, Type};
use softwarp_syntax::{Span, tokens};

/// What tokens can be: their places in the legend.
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

/// The names of the kinds, in their order.
const KINDS: [&str; 10] = [
    "keyword",
    "type",
    "function",
    "parameter",
    "variable",
    "label",
    "number",
    "string",
    "operator",
    "macro",
];

/// Bits of the modifiers: their places in the legend.
const DECLARATION: u32 = 1;
const READONLY: u32 = 2;
const STATIC: u32 = 4;
const MODIFICATION: u32 = 8;

/// The names of what tokens can be.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: KINDS.map(str::to_owned).to_vec(),
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
    let occurrences = analysis.occurrences();
    let mut next_name = occurrences.partition_point(|one| one.span.end <= span.start);
    let mut columns = Columns::new(document, span.start);
    let mut data = Vec::new();
    let (mut line, mut character) = (0, 0);
    let mut previous = Span::default();
    for token in tokens(source) {
        if token.start < span.start {
            previous = token;
            continue;
        }
        if token.start >= span.end {
            break;
        }
        while occurrences.get(next_name).is_some_and(|one| one.span.end <= token.start) {
            next_name += 1;
        }
        let class = match occurrences.get(next_name) {
            Some(one) if one.span.start <= token.start => Some(of_name(analysis, one.entity, one.role)),
            _ => of_token(token.text(source), previous.text(source)),
        };
        previous = token;
        let Some((kind, modifiers)) = class else { continue };
        let Some((start, length)) = columns.of(token) else { continue };
        let delta_line = start.line - line;
        let delta_start = if delta_line == 0 { start.character - character } else { start.character };
        (line, character) = (start.line, start.character);
        data.push([delta_line, delta_start, length, kind as u32, modifiers]);
    }
    SemanticTokens { data }
}

/// Goes along the lines of a document, so that the line of a token need not be looked for.
struct Columns<'d> {
    document: &'d Document,
    /// Whether columns are bytes.
    is_ascii: bool,
    line: u32,
    /// Where the line begins, and where the next one does.
    start: u32,
    end: u32,
}

impl Columns<'_> {
    fn new(document: &Document, byte: u32) -> Columns<'_> {
        let line = document.text.line(byte);
        let mut columns =
            Columns { document, is_ascii: document.source().is_ascii(), line, start: 0, end: 0 };
        columns.enter(line);
        columns
    }

    fn enter(&mut self, line: u32) {
        self.line = line;
        self.start = self.document.text.line_start(line);
        self.end = self.document.text.line_start(line + 1);
    }

    /// The position of a token and its length; nothing if it goes over several lines. Tokens come in their order.
    fn of(&mut self, token: Span) -> Option<(Position, u32)> {
        while token.start >= self.end {
            self.enter(self.line + 1);
        }
        let source = self.document.source();
        if token.end >= self.end && token.text(source).contains('\n') {
            return None;
        }
        if self.is_ascii {
            let position = Position { line: self.line, character: token.start - self.start };
            return Some((position, token.end - token.start));
        }
        Some((self.document.text.position(token.start), self.document.text.units(token.text(source))))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Encoding, Text};

    /// Each token of a part with its position, kind and modifiers.
    fn listed(text: &str, span: Span) -> Vec<[u32; 5]> {
        let text = Text::new(text.to_owned(), Encoding::Utf16);
        let (mut line, mut character) = (0, 0);
        let document = Document::new(text, softwarp_check::Options::default());
        let tokens = in_span(&document, span).data.into_iter();
        let absolute = tokens.map(|[lines, columns, length, kind, modifiers]| {
            character = if lines == 0 { character + columns } else { columns };
            line += lines;
            [line, character, length, kind, modifiers]
        });
        absolute.collect()
    }

    #[test]
    fn a_part_has_the_tokens_of_the_whole() {
        let text = ".version 8.0\r\n.target sm_90\r.address_size 64\n/* a\nb */ .global .u32 x = 3;\n\
                    .pragma \"a\nb\";\n.entry k() {\n\n .reg .b32 %r<3>; mov.u32 %r1, %r2; ret; }\n";
        for text in
            [text.to_owned(), text.replace("/* a", "/* \u{1f600}").replace("; ret", "; /*\u{e9}*/ ret")]
        {
            let whole = listed(&text, Span::new(0, text.len() as u32));
            assert!(whole.len() > 20, "{whole:?}");
            let positions = Text::new(text.clone(), Encoding::Utf16);
            for start in 0..text.len() as u32 {
                let end = (start + 40).min(text.len() as u32);
                let inside = |one: &&[u32; 5]| {
                    let at = positions.offset(Position { line: one[0], character: one[1] }).expect("a line");
                    start <= at && at < end
                };
                let expected: Vec<[u32; 5]> = whole.iter().filter(inside).copied().collect();
                assert_eq!(listed(&text, Span::new(start, end)), expected, "{start}..{end}");
            }
        }
    }

    #[test]
    fn kinds_are_places_in_the_legend() {
        assert_eq!(KINDS[Kind::Keyword as usize], "keyword");
        assert_eq!(KINDS[Kind::Label as usize], "label");
        assert_eq!(KINDS[Kind::Macro as usize], "macro");
    }
}
