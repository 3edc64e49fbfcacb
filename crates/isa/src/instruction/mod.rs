//! Looks mnemonics up in the instruction table: what each means and which operands it takes.
//!
//! PTX ISA chapter 9. The rows are in `table/`, one file per section of the manual, written in the
//! language of `row/language.rs`, which is that of the manual's syntax lines with types added. Nothing
//! here states what is legal; everything is read off the rows.
//!
//! [`resolve`] takes an opcode and the words after it, and gives the [`InstructionForm`] that they spell: the types,
//! the state spaces, the operands wanted, and where the form exists. It is meant to be called once per
//! distinct mnemonic of a module.
//!
//! Word order is the assembler's, which is freer than the manual's: see `spelling.rs`.

mod convert;
mod diagnose;
mod error;
mod mend;
mod next;
mod operands;
mod resolve;

pub use crate::mnemonic::{MatrixShape, Modifier, Opcode, Space};
pub use crate::operand::{Access, Fit, Forms, LiteralKind, Selector, Value};
pub use crate::row::{Gate, Removal, Section, TableRow};
pub use error::{MnemonicError, MnemonicErrorKind};
pub use mend::mend;
pub use next::{NextWord, NextWords, next_words};
pub use resolve::{known, nearest_opcode, opcodes, resolve, spell};

use crate::{Opaque, Target, Type, Version};

/// A form: what a legal mnemonic says, operands aside.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionForm {
    /// The first word: `ld`.
    pub opcode: Opcode,
    /// All other words, in the manual's order: for messages.
    pub words: Vec<Modifier>,
    /// The words that are neither types nor state spaces, in order.
    pub modifiers: Vec<Modifier>,
    /// The words that are types, in order.
    pub types: Vec<Type>,
    /// The words that are state spaces, in order.
    pub spaces: Vec<Space>,
    /// 2, 4 or 8 with `.v2`, `.v4`, `.v8`, or the number of registers of `.x4` and the like; else 1.
    pub vector: u8,
    /// The operand lists it may have: usually one. An instruction is right if it fits any of them.
    pub signatures: Vec<Signature>,
}

impl InstructionForm {
    pub(crate) fn new(opcode: Opcode, words: Vec<Modifier>) -> InstructionForm {
        let plain = |word: &Modifier| !matches!(word, Modifier::Type(_) | Modifier::Space(_));
        InstructionForm {
            opcode,
            modifiers: words.iter().copied().filter(plain).collect(),
            types: words.iter().filter_map(|word| word.ty()).collect(),
            spaces: words.iter().filter_map(|word| word.space()).collect(),
            vector: words.iter().find_map(|word| word.registers()).unwrap_or(1),
            words,
            signatures: Vec::new(),
        }
    }

    /// Whether a modifier stands.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// The shape of a matrix operation.
    pub fn matrix(&self) -> Option<MatrixShape> {
        self.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::Shape(shape) => Some(*shape),
            _ => None,
        })
    }

    /// The dimensions that a tensor copy names: 2 for `.2d`.
    pub fn dimensions(&self) -> Option<u8> {
        self.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::D1 => Some(1),
            Modifier::D2 => Some(2),
            Modifier::D3 => Some(3),
            Modifier::D4 => Some(4),
            Modifier::D5 => Some(5),
            _ => None,
        })
    }

    /// The mnemonic, as the manual would write it: `ld.global.f32`.
    pub fn mnemonic(&self) -> String {
        let mut text = self.opcode.name().to_owned();
        for word in &self.words {
            text.push('.');
            text.push_str(word.name());
        }
        text
    }
}

/// One operand list of a form, and where the form exists with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The row that it comes from, in the language of `row/language.rs`; see [`Signature::in_words`].
    pub syntax: &'static str,
    /// The operands, in order. Optional ones may be left out from any place.
    pub operands: Vec<Wanted>,
    /// Where it exists: all of these gates must be open.
    pub gates: Vec<Gate>,
}

impl Signature {
    /// The first gate that is shut for a module of this version for this target.
    pub fn shut_gate(&self, version: Version, target: Target) -> Option<&Gate> {
        self.gates.iter().find(|gate| !gate.is_open(version, target))
    }

    /// The operand list as the manual would write it: `d, [a]{, cache-policy}`.
    pub fn in_words(&self) -> String {
        let mut text = String::new();
        for (index, operand) in self.operands.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let name = operand.in_words();
            match operand.optional {
                true => text.push_str(&format!("{{{separator}{name}}}")),
                false => text.push_str(&format!("{separator}{name}")),
            }
        }
        text
    }

    /// How many operands there may be: least and most.
    pub fn arity(&self) -> (usize, usize) {
        let required = self.operands.iter().filter(|operand| !operand.optional).count();
        (required, self.operands.len())
    }
}

/// An operand that a form wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// As the manual names it: `d`, `a`, `cache-policy`.
    pub name: &'static str,
    /// Whether it is a destination.
    pub access: Access,
    /// Whether it may be left out.
    pub optional: bool,
    /// What may stand there.
    pub kind: Kind,
}

impl Wanted {
    /// The operand as the manual would write it: `[a]`, `{d0, d1}`, `d|p`.
    pub fn in_words(&self) -> String {
        let name = self.name;
        match &self.kind {
            Kind::Address(_) => format!("[{name}]"),
            Kind::Handle { coordinates: None, .. } => format!("[{name}]"),
            Kind::Handle { coordinates: Some(all), .. } => {
                format!("[{name}, {}]", braced("c", all.counts.first().copied().unwrap_or(1)))
            }
            Kind::Tensor { dimensions, overrides } => {
                let between = match overrides {
                    Overrides::None => String::new(),
                    Overrides::Address => "gAddr, ".to_owned(),
                    Overrides::Size => format!("gAddr, {}, ", braced("size", *dimensions)),
                    Overrides::Strides => format!(
                        "gAddr, {}, {}, upper, ",
                        braced("size", *dimensions),
                        braced("stride", dimensions.saturating_sub(1))
                    ),
                };
                format!("[{name}, {between}{}]", braced("c", *dimensions))
            }
            Kind::Fabric { counter: false, .. } => format!("[{name}, offset]"),
            Kind::Fabric { counter: true, .. } => format!("[{name}, offset, counter]"),
            Kind::Vector { counts, .. } => braced(name, counts.first().copied().unwrap_or(1)),
            Kind::Pair(first, second) if second.optional => {
                format!("{}{{|{}}}", first.in_words(), second.in_words())
            }
            Kind::Pair(first, second) => format!("{}|{}", first.in_words(), second.in_words()),
            Kind::Sink => "_".to_owned(),
            Kind::Call => "(returns), function, (arguments)".to_owned(),
            Kind::Value(_) | Kind::Immediate(_) | Kind::Label | Kind::Any => name.to_owned(),
        }
    }
}

/// A vector of that many elements: `{a0, a1}`, `{a0, …, a7}`.
fn braced(name: &str, count: u8) -> String {
    match count {
        0..=4 => {
            let all: Vec<String> = (0..count).map(|n| format!("{name}{n}")).collect();
            format!("{{{}}}", all.join(", "))
        }
        _ => format!("{{{name}0, …, {name}{}}}", count - 1),
    }
}

/// What may stand for an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// One value: a register, and whatever else its [`Forms`] say. A predicate is a value of type `.pred`.
    Value(Value),
    /// `d|p`: two destinations. The second may be left out, with its bar, if it is optional.
    Pair(Box<Wanted>, Box<Wanted>),
    /// `{a, b, c, d}`: that many values (or a vector register of that many); any of the counts.
    Vector {
        /// How many elements there may be.
        counts: Vec<u8>,
        /// What each may be.
        element: Value,
        /// Whether a single register may stand without braces for a vector of one.
        bare: bool,
    },
    /// `[a]`, `[a+4]`: an address in one of these spaces.
    Address(Vec<Space>),
    /// `[tex, {x, y}]` and `[tex, sampler, {x, y}]`; with a surface `[surf, {x, y}]`.
    Handle {
        /// What is addressed, or a 64-bit register with its handle.
        of: Opaque,
        /// The coordinates: `None` for queries, which have none.
        coordinates: Option<Coordinates>,
    },
    /// `[tensor-map, {x, y, z}]`
    Tensor {
        /// The number of coordinates.
        dimensions: u8,
        /// What else stands between them.
        overrides: Overrides,
    },
    /// `[endpoint, offset]` and `[endpoint, offset, counter]`
    Fabric {
        /// The number of the endpoint.
        endpoint: Value,
        /// The offset of the data, and of the counter.
        offset: Value,
        /// Whether a counter stands.
        counter: bool,
    },
    /// A constant (or constant expression), from this range if the assembler checks it.
    Immediate(Option<(i64, i64)>),
    /// A label of the function.
    Label,
    /// The sink `_`, and nothing else.
    Sink,
    /// `call`'s operands, which have a syntax of their own: the checker knows it.
    Call,
    /// Something that the table does not describe: anything may stand.
    Any,
}

/// What a tensor copy takes instead of the tensor map's values (`.override::…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrides {
    /// Nothing.
    None,
    /// The address: `[map, address, {x}]`.
    Address,
    /// The address and the size of a tensor of one dimension: `[map, address, {size}, {x}]`.
    Size,
    /// The address, sizes and strides, whose upper bits are in one register: `[map, address, {s, s}, {t}, u, {x, y}]`.
    Strides,
}

/// The coordinates in a texture or surface address: a vector, or one value where 1 is among the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinates {
    /// How many there are: the counts that the assembler takes.
    pub counts: &'static [u8],
    /// What each may be.
    pub element: Value,
    /// What the first may be instead, where it is the index into an array of textures.
    pub index: Option<Value>,
}
