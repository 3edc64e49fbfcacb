//! The tree as JSON text, for tools: `softwarp ast`.
//!
//! Everything has a `kind` where there is a choice, names are texts, and places are `[start, end]` in bytes.

use crate::Span;
use crate::tree::{
    At, BinaryOp, Declarator, DeclaredType, Directive, Expr, ExprId, Function, Instruction, Item, Linkage,
    Literal, Module, Name, Operand, OperandKind, Performance, Range, Specifier, Statement, Symbol, UnaryOp,
    Variables,
};

/// Writes a module, as one line of JSON.
pub fn json(source: &str, module: &Module) -> String {
    let mut writer = Writer { source, module, out: String::with_capacity(source.len() * 8), comma: false };
    writer.object(|w| w.list("items", &module.items, Writer::item));
    writer.out
}

struct Writer<'a> {
    source: &'a str,
    module: &'a Module,
    out: String,
    /// Whether a comma must come before the next value.
    comma: bool,
}

impl<'a> Writer<'a> {
    fn value(&mut self, text: &str) {
        self.separate();
        self.out.push_str(text);
        self.comma = true;
    }

    fn separate(&mut self) {
        if std::mem::take(&mut self.comma) {
            self.out.push(',');
        }
    }

    fn key(&mut self, key: &str) {
        self.separate();
        self.quoted(key);
        self.out.push(':');
        self.comma = false;
    }

    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                control if (control as u32) < 0x20 => {
                    self.out.push_str(&format!("\\u{:04x}", control as u32));
                }
                other => self.out.push(other),
            }
        }
        self.out.push('"');
        self.comma = true;
    }

    fn object(&mut self, fields: impl FnOnce(&mut Writer<'a>)) {
        self.separate();
        self.out.push('{');
        fields(self);
        self.out.push('}');
        self.comma = true;
    }

    fn array<T>(&mut self, elements: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Writer<'a>, T)) {
        self.separate();
        self.out.push('[');
        for element in elements {
            each(self, element);
        }
        self.out.push(']');
        self.comma = true;
    }

    fn list<T>(
        &mut self,
        key: &str,
        elements: impl IntoIterator<Item = T>,
        each: impl FnMut(&mut Writer<'a>, T),
    ) {
        self.key(key);
        self.array(elements, each);
    }

    fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        self.quoted(text);
    }

    fn number(&mut self, key: &str, number: u64) {
        self.key(key);
        self.value(&number.to_string());
    }

    fn flag(&mut self, key: &str, flag: bool) {
        self.key(key);
        self.value(if flag { "true" } else { "false" });
    }

    fn kind(&mut self, kind: &str) {
        self.text("kind", kind);
    }

    fn span(&mut self, span: Span) {
        self.key("span");
        self.value(&format!("[{},{}]", span.start, span.end));
    }

    fn symbol(&mut self, key: &str, symbol: Symbol) {
        self.text(key, self.module.name(symbol));
    }

    fn name(&mut self, name: &Name) {
        self.object(|w| {
            w.symbol("name", name.symbol);
            w.span(name.span);
        });
    }

    fn source(&mut self, key: &str, span: Span) {
        self.text(key, span.text(self.source));
    }

    fn item(&mut self, item: &Item) {
        self.object(|w| match item {
            Item::Version(at) => {
                w.kind("version");
                w.number("major", at.is.0 as u64);
                w.number("minor", at.is.1 as u64);
                w.span(at.span);
            }
            Item::Target(at) => {
                w.kind("target");
                w.list("names", &at.is, Writer::name);
                w.span(at.span);
            }
            Item::AddressSize(at) => {
                w.kind("address_size");
                w.number("bits", at.is);
                w.span(at.span);
            }
            Item::Variable(variables) => w.variables("variables", variables),
            Item::Function(function) => w.function(function),
            Item::Alias(at) => {
                w.kind("alias");
                w.list("names", [&at.is.0, &at.is.1], Writer::name);
                w.span(at.span);
            }
            Item::File(at) => {
                w.kind("file");
                w.number("index", at.is.index);
                w.source("name", at.is.name);
                if let Some((time, size)) = at.is.stamp {
                    w.number("time", time);
                    w.number("size", size);
                }
                w.span(at.span);
            }
            Item::Section(at) => {
                w.kind("section");
                w.symbol("name", at.is.name.symbol);
                w.text("contents", at.is.contents.text(w.source).trim_ascii_end());
                w.span(at.span);
            }
            Item::Pragma(at) => {
                w.kind("pragma");
                w.list("texts", &at.is, |w, span| w.quoted_source(*span));
                w.span(at.span);
            }
            Item::Other(at) => w.other(at),
        });
    }

    fn quoted_source(&mut self, span: Span) {
        self.separate();
        self.quoted(span.text(self.source));
    }

    fn other(&mut self, at: &Directive<Symbol>) {
        self.kind("other");
        self.symbol("word", at.is);
        self.span(at.span);
    }

    fn variables(&mut self, kind: &str, variables: &Variables) {
        self.kind(kind);
        self.list("specifiers", variables.specifiers.of(&self.module.specifiers), Writer::specifier);
        self.list("declarators", variables.declarators.of(&self.module.declarators), Writer::declarator);
        self.span(variables.span);
    }

    fn specifier(&mut self, at: &At<Specifier>) {
        self.object(|w| {
            match &at.is {
                Specifier::Linkage(linkage) => w.linkage(*linkage),
                Specifier::Space { space, bank } => {
                    w.kind("space");
                    w.text("space", space.name());
                    if let Some(bank) = bank {
                        w.number("bank", u64::from(*bank));
                    }
                }
                Specifier::Align(number) => {
                    w.kind("align");
                    w.number("bytes", number.is);
                }
                Specifier::Vector(length) => {
                    w.kind("vector");
                    w.number("length", *length);
                }
                Specifier::Type(DeclaredType::Value(is)) => {
                    w.kind("type");
                    w.text("type", is.name());
                }
                Specifier::Type(DeclaredType::Opaque(is)) => {
                    w.kind("type");
                    w.text("type", is.name());
                }
                Specifier::Attribute(attributes) => {
                    w.kind("attribute");
                    w.list("attributes", attributes.iter(), Writer::attribute);
                }
                Specifier::Ptr => w.kind("ptr"),
                Specifier::Unknown(symbol) => {
                    w.kind("unknown");
                    w.symbol("word", *symbol);
                }
            }
            w.span(at.span);
        });
    }

    fn attribute(&mut self, (name, arguments): &(Name, Vec<At<u64>>)) {
        self.object(|w| {
            w.symbol("name", name.symbol);
            w.list("arguments", arguments, |w, at| w.value(&at.is.to_string()));
            w.span(name.span);
        });
    }

    fn linkage(&mut self, linkage: Linkage) {
        self.kind("linkage");
        let name = match linkage {
            Linkage::Extern => "extern",
            Linkage::Visible => "visible",
            Linkage::Weak => "weak",
            Linkage::Common => "common",
        };
        self.text("linkage", name);
    }

    fn declarator(&mut self, declarator: &Declarator) {
        self.object(|w| {
            w.symbol("name", declarator.name.symbol);
            if let Some(count) = &declarator.count {
                w.number("count", count.is);
            }
            if !declarator.dimensions.is_empty() {
                w.list("dimensions", declarator.dimensions.iter(), |w, at| match at.is {
                    Some(id) => w.expression(id),
                    None => w.value("null"),
                });
            }
            if let Some(id) = declarator.initialiser {
                w.key("initialiser");
                w.expression(id);
            }
            w.span(declarator.span);
        });
    }

    fn function(&mut self, function: &Function) {
        self.kind(if function.entry { "entry" } else { "func" });
        self.list("linkage", &function.linkage, |w, at| w.object(|w| w.linkage(at.is)));
        self.list("attributes", &function.attributes, Writer::attribute);
        self.parameters("returns", &function.returns);
        self.symbol("name", function.name.symbol);
        self.parameters("parameters", &function.parameters);
        self.list("directives", &function.directives, Writer::performance);
        self.key("body");
        match &function.body {
            Some(body) => self.array(&body.statements, Writer::statement),
            None => self.value("null"),
        }
        self.span(function.span);
    }

    fn parameters(&mut self, key: &str, parameters: &Option<Vec<Variables>>) {
        self.key(key);
        match parameters {
            Some(parameters) => {
                self.array(parameters, |w, variables| w.object(|w| w.variables("parameter", variables)))
            }
            None => self.value("null"),
        }
    }

    fn performance(&mut self, directive: &Directive<Performance>) {
        self.object(|w| {
            w.symbol("word", directive.is.word.symbol);
            w.list("arguments", &directive.is.arguments, |w, at| w.value(&at.is.to_string()));
            w.span(directive.span);
        });
    }

    fn statement(&mut self, statement: &Statement) {
        self.object(|w| match statement {
            Statement::Open(span) => {
                w.kind("open");
                w.span(*span);
            }
            Statement::Close(span) => {
                w.kind("close");
                w.span(*span);
            }
            Statement::Label(name) => {
                w.kind("label");
                w.symbol("name", name.symbol);
                w.span(name.span);
            }
            Statement::Instruction(instruction) => w.instruction(instruction),
            Statement::Variable(variables) => w.variables("variables", variables),
            Statement::Loc(span) => {
                w.kind("loc");
                w.span(*span);
            }
            Statement::Pragma(span) => {
                w.kind("pragma");
                w.span(*span);
            }
            Statement::BranchTargets(at) => w.targets("branchtargets", at),
            Statement::CallTargets(at) => w.targets("calltargets", at),
            Statement::CallPrototype(prototype) => {
                w.kind("callprototype");
                w.parameters("returns", &prototype.returns);
                w.parameters("parameters", &prototype.parameters);
                w.list("directives", &prototype.directives, Writer::performance);
                w.span(prototype.span);
            }
            Statement::Function(function) => w.function(function),
            Statement::Other(at) => w.other(at),
            Statement::Alias(at) => {
                w.kind("alias");
                w.list("names", [&at.is.0, &at.is.1], Writer::name);
                w.span(at.span);
            }
        });
    }

    fn targets(&mut self, kind: &str, at: &Directive<Vec<Name>>) {
        self.kind(kind);
        self.list("names", &at.is, Writer::name);
        self.span(at.span);
    }

    fn instruction(&mut self, instruction: &Instruction) {
        self.kind("instruction");
        if let Some(guard) = instruction.guard {
            self.key("guard");
            self.object(|w| {
                w.symbol("name", guard.name.symbol);
                w.flag("negated", guard.negated);
                w.span(guard.name.span);
            });
        }
        let mnemonic = self.module.mnemonic(instruction.mnemonic);
        self.symbol("opcode", mnemonic.opcode);
        self.list("modifiers", &mnemonic.modifiers, |w, &word| {
            w.separate();
            w.quoted(w.module.name(word));
        });
        self.operands("operands", instruction.operands);
        self.span(instruction.span);
    }

    fn operands(&mut self, key: &str, operands: Range<Operand>) {
        let module = self.module;
        self.list(key, operands.of(&module.operands), Writer::operand);
    }

    fn operand(&mut self, operand: &Operand) {
        self.object(|w| {
            let compound = |w: &mut Writer<'a>, kind: &str, parts: Range<Operand>| {
                w.kind(kind);
                w.operands("parts", parts);
            };
            match operand.kind {
                OperandKind::Name(symbol) => {
                    w.kind("name");
                    w.symbol("name", symbol);
                }
                OperandKind::Member(name, member) => {
                    w.kind("member");
                    w.symbol("name", name);
                    w.symbol("member", member);
                }
                OperandKind::Sink => w.kind("sink"),
                OperandKind::Literal(literal) => w.literal(literal),
                OperandKind::Expr(id) => {
                    w.kind("expression");
                    w.key("value");
                    w.expression(id);
                }
                OperandKind::Not(parts) => compound(w, "not", parts),
                OperandKind::Negated(parts) => compound(w, "negated", parts),
                OperandKind::Pair(parts) => compound(w, "pair", parts),
                OperandKind::Vector(parts) => compound(w, "vector", parts),
                OperandKind::Paren(parts) => compound(w, "paren", parts),
                OperandKind::Address(parts) => compound(w, "address", parts),
                OperandKind::Unified(parts) => compound(w, "unified", parts),
                OperandKind::Index(parts) => compound(w, "index", parts),
                OperandKind::Offset(parts, offset) => {
                    compound(w, "offset", parts);
                    w.key("offset");
                    w.expression(offset);
                }
                OperandKind::Error => w.kind("error"),
            }
            w.span(operand.span);
        });
    }

    fn literal(&mut self, literal: Literal) {
        match literal {
            Literal::Int { value, unsigned } => {
                self.kind("int");
                let signed = value as i64;
                let text = if unsigned { value.to_string() } else { signed.to_string() };
                self.key("value");
                self.value(&text);
                self.flag("unsigned", unsigned);
            }
            Literal::F32(bits) => {
                self.kind("f32");
                self.text("bits", &format!("0x{bits:08x}"));
            }
            Literal::F64(bits) => {
                self.kind("f64");
                self.text("bits", &format!("0x{bits:016x}"));
            }
        }
    }

    /// Expressions are at most a few hundred deep: the parser sees to it.
    fn expression(&mut self, id: ExprId) {
        let at = self.module.expression(id);
        self.object(|w| {
            match at.is {
                Expr::Literal(literal) => w.literal(literal),
                Expr::Name(symbol) => {
                    w.kind("name");
                    w.symbol("name", symbol);
                }
                Expr::Unary(operator, operand) => {
                    w.kind("unary");
                    w.text("operator", unary(operator));
                    w.parts(&[operand]);
                }
                Expr::Binary(operator, left, right) => {
                    w.kind("binary");
                    w.text("operator", binary(operator));
                    w.parts(&[left, right]);
                }
                Expr::Conditional(condition, yes, no) => {
                    w.kind("conditional");
                    w.parts(&[condition, yes, no]);
                }
                Expr::Cast(to, operand) => {
                    w.kind("cast");
                    w.text("type", to.name());
                    w.parts(&[operand]);
                }
                Expr::Paren(inner) => {
                    w.kind("paren");
                    w.parts(&[inner]);
                }
                Expr::Generic(inner) => {
                    w.kind("generic");
                    w.parts(&[inner]);
                }
                Expr::Mask((mask, _), inner) => {
                    w.kind("mask");
                    w.number("mask", mask);
                    w.parts(&[inner]);
                }
                Expr::List(elements) => {
                    w.kind("list");
                    w.parts(elements.of(&w.module.elements));
                }
                Expr::Field((name, _), value) => {
                    w.kind("field");
                    w.symbol("name", name);
                    w.parts(&[value]);
                }
                Expr::Error => w.kind("error"),
            }
            w.span(at.span);
        });
    }

    fn parts(&mut self, parts: &[ExprId]) {
        self.list("parts", parts, |w, &id| w.expression(id));
    }
}

fn unary(operator: UnaryOp) -> &'static str {
    match operator {
        UnaryOp::Plus => "+",
        UnaryOp::Minus => "-",
        UnaryOp::Not => "!",
        UnaryOp::Complement => "~",
    }
}

fn binary(operator: BinaryOp) -> &'static str {
    match operator {
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Lt => "<",
        BinaryOp::Gt => ">",
        BinaryOp::Le => "<=",
        BinaryOp::Ge => ">=",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::And => "&",
        BinaryOp::Xor => "^",
        BinaryOp::Or => "|",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
    }
}
