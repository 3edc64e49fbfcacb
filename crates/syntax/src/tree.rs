//! What a module says, as the parser understood it: a flat, compact tree.
//!
//! Statements lie one after another; a block is an [`Statement::Open`] and a [`Statement::Close`], so that
//! nothing here is as deep as hostile text can nest. Names are interned ([`Symbol`]), and so are whole
//! mnemonics ([`MnemonicId`]): `ld.global.f32` is checked once, however often it occurs. Operands and
//! expressions lie in pools of the module and are referred to by [`Range`]s and ids.
//!
//! The parser decides only what is a matter of grammar. Whether words fit together (types, state spaces,
//! versions, names) is for the checker.

use crate::Span;
use softwarp_isa::{Opaque, StateSpace, Type};
use std::marker::PhantomData;

/// An interned mnemonic: an index into [`Module::mnemonics`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MnemonicId(pub u32);

/// An expression: an index into [`Module::expressions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A run of elements in one of the module's pools.
#[derive(Debug, PartialEq, Eq)]
pub struct Range<T> {
    /// Index of the first.
    pub start: u32,
    /// The number of elements.
    pub len: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Range<T> {
    fn clone(&self) -> Range<T> {
        *self
    }
}

impl<T> Copy for Range<T> {}

impl<T> Range<T> {
    /// `len` elements from `start` on.
    pub const fn new(start: u32, len: u32) -> Range<T> {
        Range { start, len, of: PhantomData }
    }

    /// The elements, in the pool that the range is of.
    pub fn of(self, pool: &[T]) -> &[T] {
        &pool[self.start as usize..][..self.len as usize]
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// A name and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its text, interned.
    pub symbol: Symbol,
    /// Its place.
    pub span: Span,
}

/// A value and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub is: T,
    /// Its place.
    pub span: Span,
}

/// A module: everything in a file.
#[derive(Debug, Default)]
pub struct Module {
    /// What stands at module scope, in order.
    pub items: Vec<Item>,
    /// Texts of the symbols.
    pub symbols: Symbols,
    /// The mnemonics that occur.
    pub mnemonics: Vec<Mnemonic>,
    /// Pool of operands.
    pub operands: Vec<Operand>,
    /// Pool of expressions.
    pub expressions: Vec<At<Expr>>,
    /// Pool of the elements of initialiser lists.
    pub elements: Vec<ExprId>,
    /// Pool of the words of declarations.
    pub specifiers: Vec<At<Specifier>>,
    /// Pool of declared names.
    pub declarators: Vec<Declarator>,
}

impl Module {
    /// The text of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.symbols.text(symbol)
    }

    /// A mnemonic.
    pub fn mnemonic(&self, id: MnemonicId) -> &Mnemonic {
        &self.mnemonics[id.0 as usize]
    }

    /// An expression.
    pub fn expression(&self, id: ExprId) -> At<Expr> {
        self.expressions[id.0 as usize]
    }
}

pub use crate::symbols::{Symbol, Symbols};

/// An opcode and its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mnemonic {
    /// `ld`
    pub opcode: Symbol,
    /// `global`, `f32`, in the order written, dots not included. `shared::cta` is one.
    pub modifiers: Vec<Symbol>,
}

/// What stands at module scope.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `.version 9.0`: major and minor, as written.
    Version(Directive<(u32, u32)>),
    /// `.target sm_90, texmode_independent`
    Target(Directive<Vec<Name>>),
    /// `.address_size 64`
    AddressSize(Directive<u64>),
    /// A variable, or several of the same type.
    Variable(Variables),
    /// An `.entry` or `.func`, defined or declared.
    Function(Box<Function>),
    /// `.alias a, b;`
    Alias(Directive<(Name, Name)>),
    /// `.file 1 "x.cu", 123, 456`
    File(Directive<FileDirective>),
    /// `.section .debug_info { … }`: its contents are kept as text.
    Section(Directive<Section>),
    /// `.pragma "…";`
    Pragma(Directive<Vec<Span>>),
    /// Debugging data as PTX 1 had it: `@@DWARF .section …`, `@@DWARF .byte …`. The word, dot not included.
    Other(Directive<Symbol>),
}

/// A directive, and all of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive<T> {
    /// The content of the directive.
    pub is: T,
    /// From its dot to its end.
    pub span: Span,
}

/// `.file`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileDirective {
    /// Its number.
    pub index: u64,
    /// The quoted name, quotes included.
    pub name: Span,
    /// Timestamp and size.
    pub stamp: Option<(u64, u64)>,
}

/// `.section`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    /// Its name, with the dot if it has one.
    pub name: Name,
    /// Between the braces.
    pub contents: Span,
}

/// `.extern`, `.visible`, `.weak`, `.common`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are PTX's.
pub enum Linkage {
    Extern,
    Visible,
    Weak,
    Common,
}

/// The type in a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeclaredType {
    /// One that instructions know too (whether variables may have it is for the checker).
    Value(Type),
    /// A handle.
    Opaque(Opaque),
}

/// A word that qualifies a declaration, and its argument, in the order written. The parser has refused what
/// the assembler's grammar refuses: linkage comes first and once, then spaces, alignments and attributes in
/// any order and number, then the vector's length, then the type.
#[derive(Clone, Debug, PartialEq)]
pub enum Specifier {
    /// `.extern` and the like.
    Linkage(Linkage),
    /// `.global`; `.const[3]` with its bank. (Those with `::` are for instructions.)
    Space {
        /// The state space.
        space: StateSpace,
        /// `[3]`; what does not fit counts as the largest.
        bank: Option<u32>,
    },
    /// `.align 8`
    Align(At<u64>),
    /// `.v4`: 2, 4, 8, or whatever number stands after `.v`.
    Vector(u64),
    /// `.f32`, `.texref`
    Type(DeclaredType),
    /// `.attribute(.managed, .unified(1, 2))`: names with their arguments.
    Attribute(Box<[(Name, Vec<At<u64>>)]>),
    /// `.ptr`, on a kernel's parameter; what follows it (`.global`, `.align 16`) comes as further specifiers.
    Ptr,
    /// Any other word with a dot: no type and no qualifier. The parser has said so already.
    Unknown(Symbol),
}

/// A declaration of one variable or several: `.reg .b32 %r<10>, a;`, or of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variables {
    /// Qualifiers in the order written, in [`Module::specifiers`].
    pub specifiers: Range<At<Specifier>>,
    /// The names, in [`Module::declarators`]. One of a kind without a name has none (`.global .u32;`, unnamed
    /// parameters).
    pub declarators: Range<Declarator>,
    /// The place of the whole declaration.
    pub span: Span,
}

/// One declared name.
#[derive(Clone, Debug, PartialEq)]
pub struct Declarator {
    /// Its name, up to `<` if it has that.
    pub name: Name,
    /// `<10>`. Rare enough to lie elsewhere, as the dimensions do.
    pub count: Option<Box<At<u64>>>,
    /// `[4][]`: `None` for one left open. The literal or name in it, as an expression.
    pub dimensions: Box<[At<Option<ExprId>>]>,
    /// After `=`.
    pub initialiser: Option<ExprId>,
    /// All of it.
    pub span: Span,
}

/// A constant expression, or a list of them in braces. None is more than some hundreds deep: the parser sees
/// to it, so that code that walks one may recurse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    /// A literal.
    Literal(Literal),
    /// A name: an address, an enumerant (`nearest`), or a predefined constant (`WARP_SZ`).
    Name(Symbol),
    /// `-x`, `~x`, `!x`, `+x`
    Unary(UnaryOp, ExprId),
    /// `x + y`
    Binary(BinaryOp, ExprId, ExprId),
    /// `x ? y : z`
    Conditional(ExprId, ExprId, ExprId),
    /// `(.s64) x`
    Cast(Type, ExprId),
    /// `(x)`: kept, since the assembler distinguishes it in places.
    Paren(ExprId),
    /// `generic(x)`
    Generic(ExprId),
    /// `0xff00(x)`
    Mask((u64, Span), ExprId),
    /// `{x, y}`
    List(Range<ExprId>),
    /// `normalized_coords = 1`, in the initialiser of an opaque variable.
    Field((Symbol, Span), ExprId),
    /// What could not be read.
    Error,
}

/// The operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    Complement,
}

/// The operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// An integer: its low 64 bits (longer ones wrap, as in the assembler), and whether it is unsigned (`U`,
    /// or too large for a signed one).
    Int {
        /// Low 64 bits.
        value: u64,
        /// Whether operations on it are unsigned.
        unsigned: bool,
    },
    /// `0f3f800000`: the bits.
    F32(u32),
    /// `0d…` or a decimal one: the bits.
    F64(u64),
}

/// An `.entry` or `.func`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Whether `.entry`.
    pub entry: bool,
    /// `.visible` and the like, in the order written.
    pub linkage: Vec<At<Linkage>>,
    /// `.attribute(…)` before the name.
    pub attributes: Vec<(Name, Vec<At<u64>>)>,
    /// `(.param .b32 r)`: `None` without parentheses.
    pub returns: Option<Vec<Variables>>,
    /// Its name.
    pub name: Name,
    /// `(…)`: `None` without parentheses.
    pub parameters: Option<Vec<Variables>>,
    /// `.maxntid 256, 1, 1` and the like, in the order written.
    pub directives: Vec<Directive<Performance>>,
    /// Between the braces; `None` for a declaration.
    pub body: Option<Body>,
    /// From the first word to the closing brace or semicolon.
    pub span: Span,
    /// Without the body.
    pub head: Span,
}

/// `.maxntid 256, 1, 1`; `.noreturn`; `.pragma "…"` before the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Performance {
    /// The word, dot not included.
    pub word: Name,
    /// Its numbers.
    pub arguments: Vec<At<u64>>,
}

/// A function's body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// What stands in it, in order, without the outermost braces.
    pub statements: Vec<Statement>,
    /// From brace to brace.
    pub span: Span,
}

/// What stands in a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `{`
    Open(Span),
    /// `}`
    Close(Span),
    /// `name:`
    Label(Name),
    /// An instruction.
    Instruction(Instruction),
    /// Variables.
    Variable(Variables),
    /// `.loc …`
    Loc(Span),
    /// `.pragma "…";`
    Pragma(Span),
    /// `label: .branchtargets a, b;` (the label comes before it as a [`Statement::Label`]).
    BranchTargets(Box<Directive<Vec<Name>>>),
    /// `label: .calltargets f, g;`
    CallTargets(Box<Directive<Vec<Name>>>),
    /// `label: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;`
    CallPrototype(Box<Prototype>),
    /// A function declared inside a body: `.func f ();`
    Function(Box<Function>),
    /// `.alias a, b;` inside a body.
    Alias(Box<Directive<(Name, Name)>>),
    /// A `.target`, which the assembler passes over, or a directive that cannot stand in a body.
    Other(Box<Directive<Symbol>>),
}

/// `.callprototype`
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// `None` without parentheses.
    pub returns: Option<Vec<Variables>>,
    /// `None` without parentheses.
    pub parameters: Option<Vec<Variables>>,
    /// `.noreturn`, `.abi_preserve 4`
    pub directives: Vec<Directive<Performance>>,
    /// The place of the whole prototype.
    pub span: Span,
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instruction {
    /// `@p` or `@!p`
    pub guard: Option<Guard>,
    /// Opcode and modifiers.
    pub mnemonic: MnemonicId,
    /// Where they stand. (Words in it are separated by dots, possibly with white space.)
    pub mnemonic_span: Span,
    /// Its operands, in [`Module::operands`].
    pub operands: Range<Operand>,
    /// From the guard to the semicolon.
    pub span: Span,
}

/// `@p`, `@!p`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// The predicate.
    pub name: Name,
    /// Whether `!`.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// The kind of operand, with its parts.
    pub kind: OperandKind,
    /// Its bytes in the text.
    pub span: Span,
}

/// What an operand is. Compound ones refer to their parts in [`Module::operands`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OperandKind {
    /// A register, variable, label, function or special register.
    Name(Symbol),
    /// `%tid.x`, `v.y`, `r.b0`, `r.h1`: a name and what follows its dot.
    Member(Symbol, Symbol),
    /// `_`
    Sink,
    /// A number.
    Literal(Literal),
    /// A constant expression that is more than a literal (`4*8`, `WARP_SZ`; `-1` is a literal).
    Expr(ExprId),
    /// `!p` (one part)
    Not(Range<Operand>),
    /// `-r`: a negated operand that is no literal (one part).
    Negated(Range<Operand>),
    /// `p|q` (two parts)
    Pair(Range<Operand>),
    /// `{a, b}`
    Vector(Range<Operand>),
    /// `(a, b)`, in `call`
    Paren(Range<Operand>),
    /// `[a]`, `[a+4]`, `[a, {x, y}]`, `[tensorMap, {x, y}]`, `[tex, sampler, {x}]`,
    /// `[tensorMap, address, {sizes}, {strides}, upper, {x, y}]`: its parts, separated by
    /// commas. A part with an offset is an [`OperandKind::Offset`].
    Address(Range<Operand>),
    /// `a+4`, `a+-4`, `a-4`: the base as the one part, and the offset.
    Offset(Range<Operand>, ExprId),
    /// `[a].unified`: the address as the one part.
    Unified(Range<Operand>),
    /// `a[4]`, `a[i]`, `a[i+4]`: two parts, the name and the index.
    Index(Range<Operand>),
    /// What could not be read.
    Error,
}

impl OperandKind {
    /// The parts of a compound operand.
    pub fn parts(self) -> Option<Range<Operand>> {
        match self {
            OperandKind::Not(parts)
            | OperandKind::Negated(parts)
            | OperandKind::Pair(parts)
            | OperandKind::Vector(parts)
            | OperandKind::Paren(parts)
            | OperandKind::Address(parts)
            | OperandKind::Unified(parts)
            | OperandKind::Offset(parts, _)
            | OperandKind::Index(parts) => Some(parts),
            OperandKind::Name(_)
            | OperandKind::Member(..)
            | OperandKind::Sink
            | OperandKind::Literal(_)
            | OperandKind::Expr(_)
            | OperandKind::Error => None,
        }
    }
}
