//! The tree for serde, with the feature `serde`: what `softwarp ast` prints as JSON.
//!
//! Everything has a `kind` where there is a choice, names are texts, and places are `[start, end]` in bytes. The tree
//! holds symbols, ranges and ids; a [`Tree`] knows the module and the text that these refer to. Nodes are converted to
//! the types here while they are written, one at a time, so that no second tree is built.

mod operand;

use crate::Span;
use crate::tree::{
    At, Declarator, DeclaredType, Directive, ExprId, Function, Instruction, Item, Linkage, Module, Name,
    Operand, Performance, Range, Specifier, Statement, Symbol, Variables,
};
use operand::Expression;
use serde::{Serialize, Serializer};

/// A module with its text, to be serialized.
///
/// ```
/// use softwarp_syntax::{Tree, parse};
///
/// let text = ".version 9.0\n";
/// let parsed = parse(text);
/// let json = serde_json::to_string(&Tree::new(text, &parsed.module))?;
/// assert_eq!(json, r#"{"items":[{"kind":"version","major":9,"minor":0,"span":[0,12]}]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Serialize)]
pub struct Tree<'a> {
    items: List<'a, Item>,
}

impl<'a> Tree<'a> {
    /// The module and the text that it was read from.
    pub fn new(source: &'a str, module: &'a Module) -> Tree<'a> {
        Tree { items: Context { source, module }.list(&module.items) }
    }
}

/// What nodes refer to.
#[derive(Clone, Copy, Debug)]
struct Context<'a> {
    source: &'a str,
    module: &'a Module,
}

impl<'a> Context<'a> {
    fn name(self, symbol: Symbol) -> &'a str {
        self.module.name(symbol)
    }

    fn list<T>(self, nodes: &'a [T]) -> List<'a, T> {
        List { context: self, nodes }
    }

    fn operands(self, operands: Range<Operand>) -> List<'a, Operand> {
        self.list(operands.of(&self.module.operands))
    }

    fn expression(self, id: ExprId) -> Expression<'a> {
        Expression { context: self, id }
    }
}

/// A node of the tree that has a form for serde.
trait Node {
    type Serialized<'a>: Serialize
    where
        Self: 'a;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a>;
}

/// Nodes, converted one by one while they are written.
#[derive(Debug)]
struct List<'a, T> {
    context: Context<'a>,
    nodes: &'a [T],
}

impl<T: Node> Serialize for List<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.nodes.iter().map(|node| node.form(self.context)))
    }
}

/// A node's fields, and behind them its place.
#[derive(Serialize)]
struct Placed<T> {
    #[serde(flatten)]
    fields: T,
    span: (u32, u32),
}

impl<T> Placed<T> {
    fn new(fields: T, span: Span) -> Placed<T> {
        Placed { fields, span: (span.start, span.end) }
    }
}

#[derive(Serialize)]
struct NameFields<'a> {
    name: &'a str,
}

impl Node for Name {
    type Serialized<'a> = Placed<NameFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Placed<NameFields<'a>> {
        Placed::new(NameFields { name: context.name(self.symbol) }, self.span)
    }
}

/// What stands at module scope or in a body.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum StatementFields<'a> {
    Version {
        major: u32,
        minor: u32,
    },
    Target {
        names: List<'a, Name>,
    },
    AddressSize {
        bits: u64,
    },
    File {
        index: u64,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        time: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    Section {
        name: &'a str,
        contents: &'a str,
    },
    Pragma {
        #[serde(skip_serializing_if = "Option::is_none")]
        texts: Option<Vec<&'a str>>,
    },
    Alias {
        names: [Placed<NameFields<'a>>; 2],
    },
    Variables(VariablesFields<'a>),
    Entry(FunctionFields<'a>),
    Func(FunctionFields<'a>),
    Open,
    Close,
    Label(NameFields<'a>),
    Instruction(InstructionFields<'a>),
    Loc,
    #[serde(rename = "branchtargets")]
    BranchTargets {
        names: List<'a, Name>,
    },
    #[serde(rename = "calltargets")]
    CallTargets {
        names: List<'a, Name>,
    },
    #[serde(rename = "callprototype")]
    CallPrototype {
        returns: Option<Parameters<'a>>,
        parameters: Option<Parameters<'a>>,
        directives: List<'a, Directive<Performance>>,
    },
    Other {
        word: &'a str,
    },
}

impl<'a> StatementFields<'a> {
    fn alias(context: Context<'a>, (alias, function): &'a (Name, Name)) -> StatementFields<'a> {
        StatementFields::Alias { names: [alias.form(context), function.form(context)] }
    }

    fn function(context: Context<'a>, function: &'a Function) -> StatementFields<'a> {
        let fields = FunctionFields::new(context, function);
        if function.entry { StatementFields::Entry(fields) } else { StatementFields::Func(fields) }
    }
}

impl Node for Item {
    type Serialized<'a> = Placed<StatementFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a> {
        use StatementFields as Fields;
        let (fields, span) = match self {
            Item::Version(at) => (Fields::Version { major: at.is.0, minor: at.is.1 }, at.span),
            Item::Target(at) => (Fields::Target { names: context.list(&at.is) }, at.span),
            Item::AddressSize(at) => (Fields::AddressSize { bits: at.is }, at.span),
            Item::Variable(variables) => {
                (Fields::Variables(VariablesFields::new(context, variables)), variables.span)
            }
            Item::Function(function) => (Fields::function(context, function), function.span),
            Item::Alias(at) => (Fields::alias(context, &at.is), at.span),
            Item::File(at) => {
                let (time, size) = at.is.stamp.unzip();
                let name = at.is.name.text(context.source);
                (Fields::File { index: at.is.index, name, time, size }, at.span)
            }
            Item::Section(at) => {
                let contents = at.is.contents.text(context.source).trim_ascii_end();
                (Fields::Section { name: context.name(at.is.name.symbol), contents }, at.span)
            }
            Item::Pragma(at) => {
                let texts = at.is.iter().map(|span| span.text(context.source)).collect();
                (Fields::Pragma { texts: Some(texts) }, at.span)
            }
            Item::Other(at) => (Fields::Other { word: context.name(at.is) }, at.span),
        };
        Placed::new(fields, span)
    }
}

impl Node for Statement {
    type Serialized<'a> = Placed<StatementFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a> {
        use StatementFields as Fields;
        let (fields, span) = match self {
            Statement::Open(span) => (Fields::Open, *span),
            Statement::Close(span) => (Fields::Close, *span),
            Statement::Label(name) => {
                (Fields::Label(NameFields { name: context.name(name.symbol) }), name.span)
            }
            Statement::Instruction(one) => {
                (Fields::Instruction(InstructionFields::new(context, one)), one.span)
            }
            Statement::Variable(variables) => {
                (Fields::Variables(VariablesFields::new(context, variables)), variables.span)
            }
            Statement::Loc(span) => (Fields::Loc, *span),
            Statement::Pragma(span) => (Fields::Pragma { texts: None }, *span),
            Statement::BranchTargets(at) => (Fields::BranchTargets { names: context.list(&at.is) }, at.span),
            Statement::CallTargets(at) => (Fields::CallTargets { names: context.list(&at.is) }, at.span),
            Statement::CallPrototype(prototype) => {
                let fields = Fields::CallPrototype {
                    returns: Parameters::new(context, prototype.returns.as_deref()),
                    parameters: Parameters::new(context, prototype.parameters.as_deref()),
                    directives: context.list(&prototype.directives),
                };
                (fields, prototype.span)
            }
            Statement::Function(function) => (Fields::function(context, function), function.span),
            Statement::Alias(at) => (Fields::alias(context, &at.is), at.span),
            Statement::Other(at) => (Fields::Other { word: context.name(at.is) }, at.span),
        };
        Placed::new(fields, span)
    }
}

#[derive(Serialize)]
struct VariablesFields<'a> {
    specifiers: List<'a, At<Specifier>>,
    declarators: List<'a, Declarator>,
}

impl<'a> VariablesFields<'a> {
    fn new(context: Context<'a>, variables: &Variables) -> VariablesFields<'a> {
        VariablesFields {
            specifiers: context.list(variables.specifiers.of(&context.module.specifiers)),
            declarators: context.list(variables.declarators.of(&context.module.declarators)),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum SpecifierFields<'a> {
    Linkage {
        linkage: &'static str,
    },
    Space {
        space: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        bank: Option<u32>,
    },
    Align {
        bytes: u64,
    },
    Vector {
        length: u64,
    },
    Type {
        r#type: &'static str,
    },
    Attribute {
        attributes: List<'a, (Name, Vec<At<u64>>)>,
    },
    Ptr,
    Unknown {
        word: &'a str,
    },
}

impl SpecifierFields<'_> {
    fn linkage(linkage: Linkage) -> Self {
        let linkage = match linkage {
            Linkage::Extern => "extern",
            Linkage::Visible => "visible",
            Linkage::Weak => "weak",
            Linkage::Common => "common",
        };
        SpecifierFields::Linkage { linkage }
    }
}

impl Node for At<Specifier> {
    type Serialized<'a> = Placed<SpecifierFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a> {
        let fields = match &self.is {
            Specifier::Linkage(linkage) => SpecifierFields::linkage(*linkage),
            Specifier::Space { space, bank } => SpecifierFields::Space { space: space.name(), bank: *bank },
            Specifier::Align(number) => SpecifierFields::Align { bytes: number.is },
            Specifier::Vector(length) => SpecifierFields::Vector { length: *length },
            Specifier::Type(DeclaredType::Value(is)) => SpecifierFields::Type { r#type: is.name() },
            Specifier::Type(DeclaredType::Opaque(is)) => SpecifierFields::Type { r#type: is.name() },
            Specifier::Attribute(list) => SpecifierFields::Attribute { attributes: context.list(list) },
            Specifier::Ptr => SpecifierFields::Ptr,
            Specifier::Unknown(symbol) => SpecifierFields::Unknown { word: context.name(*symbol) },
        };
        Placed::new(fields, self.span)
    }
}

/// The linkage of a function has no place of its own.
impl Node for At<Linkage> {
    type Serialized<'a> = SpecifierFields<'a>;

    fn form<'a>(&'a self, _: Context<'a>) -> SpecifierFields<'a> {
        SpecifierFields::linkage(self.is)
    }
}

#[derive(Serialize)]
struct AttributeFields<'a> {
    name: &'a str,
    arguments: Vec<u64>,
}

impl Node for (Name, Vec<At<u64>>) {
    type Serialized<'a> = Placed<AttributeFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a> {
        let (name, arguments) = self;
        let arguments = arguments.iter().map(|at| at.is).collect();
        Placed::new(AttributeFields { name: context.name(name.symbol), arguments }, name.span)
    }
}

#[derive(Serialize)]
struct DeclaratorFields<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dimensions: Vec<Option<Expression<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initialiser: Option<Expression<'a>>,
}

impl Node for Declarator {
    type Serialized<'a> = Placed<DeclaratorFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a> {
        let dimension = |at: &At<Option<ExprId>>| at.is.map(|id| context.expression(id));
        let fields = DeclaratorFields {
            name: context.name(self.name.symbol),
            count: self.count.as_ref().map(|count| count.is),
            dimensions: self.dimensions.iter().map(dimension).collect(),
            initialiser: self.initialiser.map(|id| context.expression(id)),
        };
        Placed::new(fields, self.span)
    }
}

#[derive(Serialize)]
struct FunctionFields<'a> {
    linkage: List<'a, At<Linkage>>,
    attributes: List<'a, (Name, Vec<At<u64>>)>,
    returns: Option<Parameters<'a>>,
    name: &'a str,
    parameters: Option<Parameters<'a>>,
    directives: List<'a, Directive<Performance>>,
    body: Option<List<'a, Statement>>,
}

impl<'a> FunctionFields<'a> {
    fn new(context: Context<'a>, function: &'a Function) -> FunctionFields<'a> {
        FunctionFields {
            linkage: context.list(&function.linkage),
            attributes: context.list(&function.attributes),
            returns: Parameters::new(context, function.returns.as_deref()),
            name: context.name(function.name.symbol),
            parameters: Parameters::new(context, function.parameters.as_deref()),
            directives: context.list(&function.directives),
            body: function.body.as_ref().map(|body| context.list(&body.statements)),
        }
    }
}

/// Declarations in parentheses.
struct Parameters<'a> {
    context: Context<'a>,
    list: &'a [Variables],
}

impl<'a> Parameters<'a> {
    fn new(context: Context<'a>, list: Option<&'a [Variables]>) -> Option<Parameters<'a>> {
        list.map(|list| Parameters { context, list })
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ParameterFields<'a> {
    Parameter(VariablesFields<'a>),
}

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = |one: &Variables| {
            Placed::new(ParameterFields::Parameter(VariablesFields::new(self.context, one)), one.span)
        };
        serializer.collect_seq(self.list.iter().map(form))
    }
}

#[derive(Serialize)]
struct PerformanceFields<'a> {
    word: &'a str,
    arguments: Vec<u64>,
}

impl Node for Directive<Performance> {
    type Serialized<'a> = Placed<PerformanceFields<'a>>;

    fn form<'a>(&'a self, context: Context<'a>) -> Self::Serialized<'a> {
        let arguments = self.is.arguments.iter().map(|at| at.is).collect();
        Placed::new(PerformanceFields { word: context.name(self.is.word.symbol), arguments }, self.span)
    }
}

#[derive(Serialize)]
struct InstructionFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    guard: Option<Placed<GuardFields<'a>>>,
    opcode: &'a str,
    modifiers: List<'a, Symbol>,
    operands: List<'a, Operand>,
}

#[derive(Serialize)]
struct GuardFields<'a> {
    name: &'a str,
    negated: bool,
}

impl<'a> InstructionFields<'a> {
    fn new(context: Context<'a>, instruction: &'a Instruction) -> InstructionFields<'a> {
        let mnemonic = context.module.mnemonic(instruction.mnemonic);
        let guard = instruction.guard.map(|guard| {
            let fields = GuardFields { name: context.name(guard.name.symbol), negated: guard.negated };
            Placed::new(fields, guard.name.span)
        });
        InstructionFields {
            guard,
            opcode: context.name(mnemonic.opcode),
            modifiers: context.list(&mnemonic.modifiers),
            operands: context.operands(instruction.operands),
        }
    }
}
