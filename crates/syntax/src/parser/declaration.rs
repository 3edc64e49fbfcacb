//! Declarations of variables and parameters (PTX ISA sections 5.4 and 11.6).
//!
//! The assembler wants, in this order: linkage; state space, alignment and attributes in any order; the
//! vector's length; the type; the names.

use super::{Parser, Read, Skip};
use crate::token::{Mark, Token};
use crate::tree::{
    At, Declarator, DeclaredType, Expr, ExprId, Item, Linkage, Name, Range, Specifier, Variables,
};
use crate::{Span, codes};
use softwarp_isa::{Opaque, StateSpace, Type};

/// Types of instructions that a declaration can name so far as the grammar goes; the checker refuses them.
/// Others, such as `.bf16` and `.u4`, are not even grammatical there.
const GRAMMATICAL: &[Type] = &[
    Type::E2m1x2,
    Type::E2m1x4,
    Type::E2m3x2,
    Type::E2m3x4,
    Type::E3m2x2,
    Type::E3m2x4,
    Type::E4m3,
    Type::E4m3x2,
    Type::E4m3x4,
    Type::E5m2,
    Type::E5m2x2,
    Type::E5m2x4,
    Type::F32x2,
    Type::S16x2,
    Type::S2f6x2,
    Type::U16x2,
    Type::Ue8m0x2,
];

/// The type that a word in a declaration is.
fn declared(word: &str) -> Option<Type> {
    Type::from_name(word).filter(|known| known.is_fundamental() || GRAMMATICAL.contains(known))
}

/// The linkage that a word is.
pub(super) fn linkage(word: &str) -> Option<Linkage> {
    match word {
        "extern" => Some(Linkage::Extern),
        "visible" => Some(Linkage::Visible),
        "weak" => Some(Linkage::Weak),
        "common" => Some(Linkage::Common),
        _ => None,
    }
}

/// Where a declaration stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum DeclaredIn {
    Module,
    Body,
    Parameter,
}

impl Parser<'_> {
    /// Reads what begins with a linkage, a function's directive or a variable's qualifier.
    pub(super) fn declaration_or_function(&mut self) -> Read<()> {
        let start = self.span.start;
        let mut linkages = Vec::new();
        if let Some(is) = self.dotted().and_then(linkage) {
            linkages.push(At { is, span: self.span });
            self.bump();
        }
        if let Some(word @ ("entry" | "func")) = self.dotted() {
            if linkages.first().is_some_and(|first| first.is == Linkage::Common) {
                let message = format!("functions cannot be `.common`: expected a variable, found `.{word}`");
                let _ = self.fail(codes::LINKAGE, self.span, message);
            }
            let function = self.function(start, linkages, true)?;
            self.module.items.push(Item::Function(Box::new(function)));
            return Ok(());
        }
        if let Some(second) = self.dotted().filter(|word| !linkages.is_empty() && linkage(word).is_some()) {
            return Err(self.fail(codes::LINKAGE, self.span, format!("a second linkage, `.{second}`")));
        }
        let variables = self.variables(start, linkages.first().copied(), DeclaredIn::Module)?;
        self.module.items.push(Item::Variable(variables));
        Ok(())
    }

    /// Reads a declaration of variables, to its semicolon.
    pub(super) fn variables(
        &mut self,
        start: u32,
        linkage: Option<At<Linkage>>,
        place: DeclaredIn,
    ) -> Read<Variables> {
        let first = self.module.specifiers.len();
        if let Some(At { is, span }) = linkage {
            self.specify(Specifier::Linkage(is), span);
        }
        self.specifiers(first, place)?;
        let specifiers = Range::new(first as u32, (self.module.specifiers.len() - first) as u32);
        if let Some(word) = self.dotted() {
            return Err(self.behind_type(word));
        }
        let first = self.module.declarators.len();
        if !self.at(Mark::Semicolon) {
            self.declarator(place)?;
            while self.eat(Mark::Comma) || self.lacks_comma() {
                self.declarator(place)?;
            }
        }
        let declarators = Range::new(first as u32, (self.module.declarators.len() - first) as u32);
        self.end_statement("`,`, `=`, `[` or `;`")?;
        Ok(Variables { specifiers, declarators, span: self.since(start) })
    }

    /// Whether a name follows another on the same line, without a comma: reported, and read as if it were there.
    fn lacks_comma(&mut self) -> bool {
        if self.token != Token::Word || self.begins_line() || super::is_reserved(self.text()) {
            return false;
        }
        let _ = self.unexpected(codes::EXPECTED, "`,`, `=`, `[` or `;`");
        true
    }

    /// Reads a declaration in a body from its second word on; the first was this state space.
    pub(super) fn variables_in(&mut self, word: Span, space: Option<StateSpace>) -> Read<Variables> {
        let first = self.module.specifiers.len();
        if let Some(space) = space {
            self.specify(Specifier::Space { space, bank: None }, word);
        }
        let mut variables = self.variables(word.start, None, DeclaredIn::Body)?;
        variables.specifiers = Range::new(first as u32, variables.specifiers.len + 1);
        Ok(variables)
    }

    /// Reads one parameter.
    pub(super) fn parameter(&mut self) -> Read<Variables> {
        let start = self.span.start;
        self.statement = start;
        let first = self.module.specifiers.len();
        self.specifiers(first, DeclaredIn::Parameter)?;
        self.pointer()?;
        let specifiers = Range::new(first as u32, (self.module.specifiers.len() - first) as u32);
        self.declarator(DeclaredIn::Parameter)?;
        let declarators = Range::new(self.module.declarators.len() as u32 - 1, 1);
        Ok(Variables { specifiers, declarators, span: self.since(start) })
    }

    fn specify(&mut self, is: Specifier, span: Span) {
        self.module.specifiers.push(At { is, span });
    }

    /// Reads qualifiers up to and with the type; the declaration's own begin at `first` in the pool.
    fn specifiers(&mut self, first: usize, place: DeclaredIn) -> Read<()> {
        loop {
            let span = self.span;
            let Some(word) = self.dotted() else { break };
            let is = match word {
                "align" => {
                    self.bump();
                    Specifier::Align(self.number("an alignment: one integer literal")?)
                }
                "attribute" => {
                    self.bump();
                    Specifier::Attribute(self.attributes(&["managed", "unified"])?.into())
                }
                _ => {
                    let Some(space) = self.space(word) else { break };
                    self.bump();
                    space
                }
            };
            self.specify(is, self.since(span.start));
        }
        if let Some(length @ ("v2" | "v4")) = self.dotted() {
            let is = Specifier::Vector(if length == "v2" { 2 } else { 4 });
            self.specify(is, self.span);
            self.bump();
        }
        self.declared_type(first, place)
    }

    /// The state space that a word is. (Those with `::` are for instructions only.)
    fn space(&mut self, word: &str) -> Option<Specifier> {
        let (name, bank) = match word.strip_prefix("const[").and_then(|rest| rest.strip_suffix(']')) {
            Some(bank) => ("const", Some(bank.parse().unwrap_or(u32::MAX))),
            None => (word, None),
        };
        let space = StateSpace::from_name(name).filter(|&space| space != StateSpace::Sreg)?;
        Some(Specifier::Space { space, bank })
    }

    fn declared_type(&mut self, first: usize, place: DeclaredIn) -> Read<()> {
        let mut reported = false;
        loop {
            let span = self.span;
            let Some(word) = self.dotted() else {
                if reported {
                    return Ok(());
                }
                if let Some(ty) = self.undotted_type() {
                    self.specify(Specifier::Type(DeclaredType::Value(ty)), span);
                    self.bump();
                    return Ok(());
                }
                return Err(self.unexpected(codes::TYPE, "a type, such as `.b32`"));
            };
            let known = declared(word)
                .map(DeclaredType::Value)
                .or_else(|| Opaque::from_name(word).map(DeclaredType::Opaque));
            if let Some(known) = known {
                self.specify(Specifier::Type(known), span);
                self.bump();
                return Ok(());
            }
            // Behind a word that does not belong here the type may still come: both are understood, and only
            // the first mistake is reported.
            let none = self.module.specifiers.len() == first;
            if none && place != DeclaredIn::Parameter && linkage(word).is_none() {
                let code = if place == DeclaredIn::Module { codes::ITEM } else { codes::STATEMENT };
                return Err(self.fail(
                    code,
                    span,
                    format!("`.{word}` cannot stand here: it declares nothing"),
                ));
            }
            if !reported {
                self.no_type(word, place);
                reported = true;
            }
            let symbol = self.intern(word);
            self.specify(Specifier::Unknown(symbol), span);
            self.bump();
        }
    }

    /// A type without its dot, with a name behind it: reported, and read as if the dot were there.
    fn undotted_type(&mut self) -> Option<Type> {
        let ty = (self.token == Token::Word).then(|| declared(self.text())).flatten()?;
        let rest = self.source.get(self.span.end as usize..).unwrap_or("").trim_start();
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '%' | '$' | '_')) {
            return None;
        }
        let message = format!("expected a type, such as `.b32`, found `{ty}`");
        let diagnostic = crate::Diagnostic::new(codes::TYPE, self.span, message);
        self.report(diagnostic.with_help(format!("write `.{ty}`")));
        Some(ty)
    }

    /// Reports a word where a type should be.
    fn no_type(&mut self, word: &str, place: DeclaredIn) {
        let (code, message) = if linkage(word).is_some() {
            (codes::LINKAGE, format!("`.{word}` must be the first word of a declaration"))
        } else if word.starts_with('v') && word[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            (
                codes::TYPE,
                format!("`.{word}` is no vector: variables can be `.v2` or `.v4`, before their type"),
            )
        } else if matches!(word, "align" | "attribute") || StateSpace::from_name(word).is_some() {
            (codes::ORDER, format!("`.{word}` must stand before the vector's length and the type"))
        } else if Type::from_name(word).is_some() {
            (codes::TYPE, format!("`.{word}` is a type for instructions only; variables need a bit type"))
        } else if place == DeclaredIn::Parameter && word == "ptr" {
            (codes::ORDER, "`.ptr` must stand behind the type".to_string())
        } else {
            (codes::TYPE, format!("`.{word}` is no type and no qualifier of variables"))
        };
        let mut diagnostic = crate::Diagnostic::new(code, self.span, message);
        if let Some(near) = nearest_type(word) {
            diagnostic = diagnostic.with_help(format!("did you mean `.{near}`?"));
        }
        if code == codes::TYPE
            && Type::from_name(word).is_none()
            && let Some(meant) = misspelt_type(word)
        {
            diagnostic = diagnostic.with_fix(self.span, format!(".{meant}"), format!("write `.{meant}`"));
        }
        self.report(diagnostic);
    }

    /// `.ptr .global .align 16`, behind the type of a parameter.
    fn pointer(&mut self) -> Read<()> {
        let mut span = self.span;
        if self.at_dotted("ptr") {
            self.specify(Specifier::Ptr, span);
            self.bump();
            span = self.span;
            let spaces = [StateSpace::Const, StateSpace::Global, StateSpace::Local, StateSpace::Shared];
            if let Some(word) = self.dotted()
                && let Some(is @ Specifier::Space { space, .. }) = self.space(word)
                && spaces.contains(&space)
            {
                self.specify(is, span);
                self.bump();
                span = self.span;
            }
        }
        if self.at_dotted("align") {
            self.bump();
            let is = Specifier::Align(self.number("an alignment: one integer literal")?);
            self.specify(is, self.since(span.start));
        }
        match self.dotted() {
            Some(word) => Err(self.behind_type(word)),
            None => Ok(()),
        }
    }

    /// Reports a word where a name should be.
    fn behind_type(&mut self, word: &str) -> Skip {
        let message = if declared(word).is_some() || Opaque::from_name(word).is_some() {
            format!("a second type, `.{word}`: expected a name")
        } else if matches!(word, "align" | "attribute" | "v2" | "v4") || StateSpace::from_name(word).is_some()
        {
            format!("`.{word}` must stand before the type")
        } else {
            format!("`.{word}` cannot stand here: expected a name")
        };
        self.fail(codes::ORDER, self.span, message)
    }

    /// `(.managed, .unified(1, 2))`, of the names that are allowed here.
    pub(super) fn attributes(&mut self, allowed: &[&str]) -> Read<Vec<(Name, Vec<At<u64>>)>> {
        self.expect(Mark::OpenParen, "`(`")?;
        let mut attributes = Vec::new();
        loop {
            if !self.dotted().is_some_and(|word| allowed.contains(&word)) {
                let expected = if allowed.len() > 1 { "`.managed` or `.unified`" } else { "`.unified`" };
                return Err(self.unexpected(codes::ATTRIBUTE, expected));
            }
            let unified = self.at_dotted("unified");
            let name = self.dotted_name();
            let mut arguments = Vec::new();
            if unified {
                self.expect(Mark::OpenParen, "`(` and the two halves of a UUID")?;
                arguments.push(self.literal_integer()?);
                self.expect(Mark::Comma, "`,` and the second half of the UUID")?;
                arguments.push(self.literal_integer()?);
                self.expect(Mark::CloseParen, "`)`")?;
            }
            attributes.push((name, arguments));
            if !self.eat(Mark::Comma) {
                break;
            }
        }
        self.expect(Mark::CloseParen, "`)`")?;
        Ok(attributes)
    }

    /// One integer literal; here the warp's size does not count.
    fn literal_integer(&mut self) -> Read<At<u64>> {
        if self.token == Token::Int {
            self.number("an integer literal")
        } else {
            Err(self.unexpected(codes::NUMBER, "an integer literal"))
        }
    }

    /// Reads one declared name, into the pool.
    fn declarator(&mut self, place: DeclaredIn) -> Read<()> {
        let start = self.span.start;
        let name = if place == DeclaredIn::Parameter && self.token == Token::Word && self.text() == "_" {
            self.word()
        } else {
            self.name("a name")?
        };
        let (mut count, mut dimensions, mut initialiser) = (None, Vec::new(), None);
        if place == DeclaredIn::Parameter {
            if self.at(Mark::OpenBracket) {
                dimensions.push(self.dimension(true)?);
            }
        } else if self.eat(Mark::Less) {
            count = Some(Box::new(self.number("how many: one integer literal")?));
            self.expect(Mark::Greater, "`>`")?;
        } else {
            while self.at(Mark::OpenBracket) {
                dimensions.push(self.dimension(dimensions.is_empty())?);
            }
            if self.eat(Mark::Equals) {
                initialiser = Some(self.initialiser()?);
            }
        }
        let span = self.since(start);
        let dimensions = dimensions.into();
        self.module.declarators.push(Declarator { name, count, dimensions, initialiser, span });
        Ok(())
    }

    /// `[4]`, or `[]` for the first of an array's dimensions.
    fn dimension(&mut self, may_be_open: bool) -> Read<At<Option<ExprId>>> {
        let start = self.span.start;
        self.bump();
        let mut size = None;
        if !(may_be_open && self.at(Mark::CloseBracket)) {
            size = Some(self.size()?);
        }
        self.expect(Mark::CloseBracket, "`]`: an array's length is one integer literal")?;
        Ok(At { is: size, span: self.since(start) })
    }

    /// An array's length.
    fn size(&mut self) -> Read<ExprId> {
        let text = self.text();
        let is_name = self.token == Token::Word;
        let number = self.number("an array's length: one integer literal")?;
        let expression = if is_name {
            Expr::Name(self.intern(text))
        } else {
            let (value, unsigned) = crate::literal::integer(text);
            Expr::Literal(crate::tree::Literal::Int { value, unsigned })
        };
        Ok(self.push_expression(expression, number.span))
    }
}

/// The type of variables that a word was certainly meant to be: a slip of one, and of no other word of declarations.
fn misspelt_type(word: &str) -> Option<&'static str> {
    const OTHERS: [&str; 10] =
        ["align", "attribute", "const", "global", "local", "param", "ptr", "reg", "shared", "tex"];
    let types = Type::ALL.iter().map(|ty| ty.name()).filter(|name| declared(name).is_some());
    let meant = softwarp_isa::only_slip(word, types.chain(OTHERS))?;
    (!OTHERS.contains(&meant)).then_some(meant)
}

/// The type that a misspelled word may stand for.
fn nearest_type(word: &str) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    match Type::from_name(&lower) {
        Some(known) if declared(&lower).is_some() => (lower != word).then(|| known.name()),
        Some(known) => match known.bits() {
            ..=8 => Some("b8"),
            9..=16 => Some("b16"),
            17..=32 => Some("b32"),
            _ => None,
        },
        None => match lower.as_str() {
            "int" => Some("s32"),
            "float" => Some("f32"),
            "double" => Some("f64"),
            _ => None,
        },
    }
}
