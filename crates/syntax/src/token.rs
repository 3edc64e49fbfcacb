//! Tokens of PTX text (PTX ISA section 4).

/// What sort of token it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The end of the text.
    End,
    /// `foo`, `%r1`, `$L1`, `_`
    Word,
    /// `.global`, `.shared::cta`, `.const[3]`, `.1d`
    Dotted,
    /// `10`, `0x1F`, `017`, `0b11`, with or without `U`
    Int,
    /// `1.5`, `1.`, `.5`, `1e5`
    Decimal,
    /// `0f3f800000`
    Single,
    /// `0d3ff0000000000000`
    Double,
    /// `"…"`
    Text,
    /// A character, or a pair of them, that stands for itself.
    Mark(Mark),
    /// `@@DWARF`, which begins a directive of PTX 1.
    Dwarf,
    /// A character that means nothing in PTX.
    Unknown,
}

/// Tokens that stand for themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub(crate) enum Mark {
    Comma,
    Semicolon,
    Colon,
    Dot,
    At,
    Question,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Exclamation,
    Tilde,
    And,
    Or,
    Caret,
    Equals,
    Less,
    Greater,
    ShiftLeft,
    ShiftRight,
    LessEquals,
    GreaterEquals,
    EqualsEquals,
    ExclamationEquals,
    AndAnd,
    OrOr,
}
