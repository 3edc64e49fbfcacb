//! Mnemonics made ready for the walk: each distinct one is looked up in the instruction table once, and what
//! its operands may be is laid out so that checking an instruction is a few array accesses and bit tests.
//!
//! PTX ISA chapter 9 through `softwarp_isa::instruction`; which registers fit is section 5.2.1 and 9.4.1. A
//! form with optional operands becomes one [`Variant`] for every way of leaving some out.

use super::fragment;
use super::ranges::{self, Bounds};
use super::rule::{self, AddressRule};
use crate::context::Context;
use softwarp_isa::instruction::{self, Access, Modifier, Opcode};
use softwarp_isa::instruction::{
    Fault, Fit, Kind, LiteralKind, Overrides, Selector, Shape, Signature, Space, Value, Wanted,
};
use softwarp_isa::{Class, Opaque, Target, Type, Version};
use softwarp_syntax::Module;
use softwarp_syntax::tree::MnemonicId;

/// Where the asked mnemonics lie. One lasts for a whole module.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// For every mnemonic of the module its place in `plans`, or [`UNASKED`].
    places: Vec<u32>,
    plans: Vec<Plan>,
    variants: Vec<Variant>,
    wants: Vec<Want>,
    counts: Vec<Vec<u8>>,
}

const UNASKED: u32 = u32::MAX;

/// More ways than that of leaving optional operands out are not written down: no form has as many.
const MOST_OPTIONAL: u32 = 6;

/// A mnemonic, looked up.
#[derive(Debug)]
pub(super) struct Plan {
    pub verdict: Verdict,
    /// Opcodes that need more than the table says.
    pub special: Special,
    /// It converts 32-bit addresses, which there are no more.
    pub narrow: bool,
    /// It computes in `.f64`, which the target has not: the assembler makes `.f32` of it.
    pub demoted: bool,
    /// `.const[2]`
    pub bank: Option<u64>,
    first: u32,
    len: u32,
}

/// What the table says of a mnemonic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is a form; [`shape`] has it in full.
    Form,
    /// It is none, and why.
    Fault(Box<Fault>),
}

/// What the table says of a mnemonic, in full. The walk keeps only what it needs of it, so that a module of
/// nothing but different mnemonics takes no more memory than others.
pub(super) fn shape(module: &Module, id: MnemonicId) -> (Result<Box<Shape>, Fault>, Option<u64>) {
    let mnemonic = module.mnemonic(id);
    let mut modifiers: Vec<&str> = mnemonic.modifiers.iter().map(|&word| module.name(word)).collect();
    let bank = modifiers.iter_mut().find_map(|word| {
        let number = word.strip_prefix("const[")?.strip_suffix(']')?.trim().parse().ok()?;
        *word = "const";
        Some(number)
    });
    (instruction::resolve(module.name(mnemonic.opcode), &modifiers), bank)
}

/// Opcodes with rules of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// None.
    No,
    /// `ld`, `ldu`: reads memory into registers.
    Load,
    /// `st`: writes memory.
    Store,
    /// `atom`, `red`: writes memory, and reads it.
    Update,
    /// `mov`: packs, unpacks and takes addresses.
    Mov,
    /// `cvta`, `mapa`, and others that take the address of a variable in a space that they name.
    Address,
    /// `call`
    Call,
    /// `brx.idx`: its label is that of a table.
    IndexedBranch,
}

/// One operand list of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    first: u32,
    pub len: u32,
    /// Which of the form's signatures it is of.
    pub signature: u32,
    /// Whether the module's version and target have it.
    pub open: bool,
}

/// An operand that a form wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// As the manual names it.
    pub name: &'static str,
    /// It is a destination.
    pub writes: bool,
    pub what: What,
    /// Which constants may stand, if not all.
    pub bounds: Option<&'static Bounds>,
    /// The same for each element of a vector; none where all may stand.
    pub elements: &'static [Bounds],
}

impl Want {
    /// A source of that kind.
    pub fn source(name: &'static str, accepts: Accepts) -> Want {
        Want { name, writes: false, what: What::Value(accepts), bounds: None, elements: &[] }
    }
}

/// What may stand for an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Value(Accepts),
    /// The two are in the pool of wants, at that place and the next.
    Pair {
        parts: u32,
        second_optional: bool,
        /// The version and architecture that have the second, where they are others than the form's.
        since: Option<(Version, u16)>,
    },
    Vector {
        /// In the pool of counts.
        counts: u32,
        element: Accepts,
        bare: bool,
    },
    /// An address in one of these spaces.
    Address(Spaces, AddressRule),
    Handle {
        of: Opaque,
        coordinates: Option<(&'static [u8], Accepts)>,
        /// The geometry is that of an array, and the first coordinate an index into it.
        array: bool,
        /// The geometry is that of a cube: in the unified mode it has no sampler.
        cube: bool,
        /// Asks about a sampler (`txq.filter_mode`).
        of_sampler: bool,
    },
    Tensor {
        dimensions: u8,
        overrides: Overrides,
    },
    /// An endpoint, an offset in it and perhaps that of a counter.
    Fabric {
        endpoint: Accepts,
        offset: Accepts,
        counter: bool,
    },
    Immediate(Option<(i64, i64)>),
    Label,
    /// `_`
    Sink,
    Any,
}

/// What may stand for a value: a bit for each register type, and a bit for each other thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepts {
    /// Bit `n` is the type with number `n`.
    registers: u32,
    forms: u32,
    pub ty: Type,
    /// The space that a variable must be in for its address to stand: that which the instruction names.
    pub space: Option<Space>,
    /// Which part of the register can be named.
    pub selector: Selector,
    /// It is an operand of a video instruction: what follows its dot is such a part, never an element.
    pub video: bool,
}

impl Accepts {
    pub const INTEGER: u32 = 1;
    pub const F32: u32 = 2;
    pub const F64: u32 = 4;
    pub const ADDRESS: u32 = 8;
    pub const SPECIAL: u32 = 16;
    pub const NEGATED: u32 = 32;
    pub const SINK: u32 = 64;
    /// `{a, b}` packed into one value, or unpacked from one.
    pub const PACKED: u32 = 128;
    /// `{a}` is as good as `a`.
    pub const BRACED: u32 = 256;
    /// The name of a function: the assembler minds its type only where the manual fixes the operand's.
    pub const FUNCTION: u32 = 512;
    /// The manual fixes the operand's type, whatever the mnemonic's types are.
    pub const FIXED: u32 = 1024;
    /// `-a`
    pub const MINUS: u32 = 2048;
    /// Special registers are no elements of the vector.
    pub const NO_SPECIAL: u32 = 4096;
    /// `a+4` is not taken for a value.
    pub const NO_OFFSET: u32 = 8192;
    /// Each element of the vector is a register that fits by itself.
    pub const EACH: u32 = 16384;
    /// Elements of vector registers are no elements of the vector.
    pub const PLAIN: u32 = 32768;
    /// `x+4` of a variable is not taken for a value.
    pub const NO_VARIABLE: u32 = 65536;
    /// Predicates are no elements of the vector.
    pub const NO_PREDICATE: u32 = 131072;

    /// 32-bit integers: indices and coordinates of the instructions that fix their type.
    pub const INDEX: Accepts = Accepts {
        registers: bit(Type::S32) | bit(Type::U32) | bit(Type::B32),
        forms: Accepts::INTEGER,
        ty: Type::S32,
        space: None,
        selector: Selector::No,
        video: false,
    };

    /// 64-bit integers in registers: addresses that stand for those of a tensor map.
    pub const REPLACED_ADDRESS: Accepts = Accepts {
        registers: bit(Type::S64) | bit(Type::U64) | bit(Type::B64),
        forms: 0,
        ty: Type::U64,
        ..Accepts::INDEX
    };

    /// Sizes of a tensor: integers of 8 or 16 bits.
    pub const REPLACED_SIZE: Accepts = Accepts {
        registers: bit(Type::S8)
            | bit(Type::U8)
            | bit(Type::B8)
            | bit(Type::S16)
            | bit(Type::U16)
            | bit(Type::B16),
        ty: Type::B16,
        ..Accepts::INDEX
    };

    /// Lower bits of the strides of a tensor.
    pub const REPLACED_STRIDE: Accepts = Accepts {
        registers: bit(Type::S32) | bit(Type::U32) | bit(Type::B32) | bit(Type::F32),
        ty: Type::B32,
        ..Accepts::INDEX
    };

    /// Upper bits of the strides, in one register.
    pub const REPLACED_UPPER: Accepts = Accepts {
        registers: bit(Type::S16) | bit(Type::U16) | bit(Type::B16),
        forms: 0,
        ty: Type::B16,
        ..Accepts::INDEX
    };

    fn new(value: &Value, shape: &Shape, special: Special) -> Accepts {
        let mut registers = 0;
        for ty in register_types().filter(|&ty| value.accepts(ty)) {
            registers |= bit(ty);
        }
        let literal = |kind, flag| if value.accepts_literal(kind) { flag } else { 0 };
        let flag = |holds: bool, flag| if holds { flag } else { 0 };
        let packs = special == Special::Mov && value.ty.class() == Class::Bits;
        let takes_addresses = value.forms.address || special == Special::Mov;
        let reads_special = matches!(shape.opcode, Opcode::Mov | Opcode::Cvt)
            && shape.types.iter().all(|ty| !matches!(ty.class(), Class::Float | Class::Fixed));
        let forms = literal(LiteralKind::Integer, Accepts::INTEGER)
            | literal(LiteralKind::F32, Accepts::F32)
            | literal(LiteralKind::F64, Accepts::F64)
            | flag(takes_addresses && !shape.has(Modifier::To), Accepts::ADDRESS)
            | flag(value.forms.special && reads_special, Accepts::SPECIAL)
            | flag(value.forms.negated, Accepts::NEGATED)
            | flag(value.forms.sink, Accepts::SINK)
            | flag(packs, Accepts::PACKED)
            | flag(value.forms.minus, Accepts::MINUS)
            | flag(takes_braces(shape) && value.fit != Fit::Fixed, Accepts::BRACED);
        // The assembler does not mind the types of the packed operands of `dp4a`.
        let packed = matches!(shape.opcode, Opcode::Dp2a | Opcode::Dp4a) && value.ty == Type::B32;
        let fixed = match shape.opcode {
            Opcode::Cvt => !value.ty.is_fundamental(),
            _ => matches!(value.fit, Fit::Fixed | Fit::Exact | Fit::AddressSized) && !packed,
        };
        // The address of a variable and an offset make a number of 32 bits there.
        let no_variable = fixed && value.fit != Fit::AddressSized && value.ty.bits() != 32
            || !value.ty.is_fundamental()
            || shape.opcode == Opcode::Createpolicy && value.ty.bits() == 64;
        let converts = special == Special::Address && value.forms.address;
        let moves_predicate = special == Special::Mov && value.ty == Type::Pred;
        let forms = forms
            | flag(!fixed && !converts && !moves_predicate && !is_simd_video(shape), Accepts::FUNCTION)
            | flag(value.forms.selector != Selector::No || is_simd_video(shape), Accepts::NO_OFFSET)
            | flag(no_variable && special != Special::Address, Accepts::NO_VARIABLE)
            | flag(fixed && special != Special::Address, Accepts::FIXED);
        let space = match (special, shape.opcode) {
            (Special::Address, Opcode::Mapa | Opcode::Getctarank) => Some(Space::Shared),
            (Special::Address, _) => shape.spaces.first().copied(),
            _ => None,
        };
        let video = shape.opcode.video_elements().is_some();
        Accepts { registers, forms, ty: value.ty, space, selector: value.forms.selector, video }
    }

    /// Whether a register of this type may stand.
    pub fn register(self, ty: Type) -> bool {
        self.registers & bit(ty) != 0
    }

    /// Whether all of these may stand.
    pub fn has(self, forms: u32) -> bool {
        self.forms & forms == forms
    }

    /// Whether any constant may stand.
    pub fn constants(self) -> bool {
        self.forms & (Accepts::INTEGER | Accepts::F32 | Accepts::F64) != 0
    }

    /// The register types that may stand, in the order of the manual's table.
    pub fn types(self) -> impl Iterator<Item = Type> {
        register_types().filter(move |&ty| self.register(ty))
    }

    /// The same, and what one of a vector's elements may be beside: the assembler lets integers of the size
    /// stand where a float is wanted.
    fn as_element(self) -> Accepts {
        let mut loose = self.with_integers();
        if loose.registers != self.registers && self.ty.bits() == 32 {
            loose.registers |= bit(Type::F16x2);
        }
        loose
    }

    /// The same, and integers of the size where a float is wanted.
    pub fn with_integers(mut self) -> Accepts {
        if self.ty.class() == Class::Float && self.ty.is_fundamental() && self.ty != Type::F16x2 {
            for ty in register_types().filter(|ty| ty.is_int() && ty.bits() == self.ty.bits()) {
                self.registers |= bit(ty);
            }
        }
        self
    }

    /// The same, and predicates: the assembler counts them as 32 bits in places.
    pub fn with_predicates(mut self) -> Accepts {
        self.registers |= bit(Type::Pred);
        self
    }

    /// Registers of these types only.
    pub fn only(mut self, types: &[Type]) -> Accepts {
        self.registers = types.iter().fold(0, |all, &ty| all | bit(ty));
        self
    }

    /// The same without registers of a type.
    pub fn without_type(mut self, ty: Type) -> Accepts {
        self.registers &= !bit(ty);
        self
    }

    /// The same with these forms.
    pub fn with(mut self, forms: u32) -> Accepts {
        self.forms |= forms;
        self
    }

    /// The same without these forms.
    pub fn without(mut self, forms: u32) -> Accepts {
        self.forms &= !forms;
        self
    }
}

/// The types that a register can have: they are first in the table, so that their bits fit.
fn register_types() -> impl Iterator<Item = Type> {
    Type::ALL.iter().copied().filter(|ty| ty.is_fundamental())
}

const fn bit(ty: Type) -> u32 {
    let number = ty as u32;
    if number < 32 { 1 << number } else { 0 }
}

/// A set of the state spaces that an instruction can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spaces(u16);

impl Spaces {
    fn new(spaces: &[Space]) -> Spaces {
        Spaces(spaces.iter().fold(0, |set, &space| set | 1 << space as u16))
    }

    /// Just this one.
    pub fn one(space: Space) -> Spaces {
        Spaces::new(&[space])
    }

    /// Whether it has this one.
    pub fn has(self, space: Space) -> bool {
        self.0 & 1 << space as u16 != 0
    }

    /// Whether there are none, and nothing is known.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those in it.
    pub fn iter(self) -> impl Iterator<Item = Space> {
        const ALL: [Space; 11] = [
            Space::Generic,
            Space::Const,
            Space::Global,
            Space::Local,
            Space::Param,
            Space::ParamEntry,
            Space::ParamFunc,
            Space::Shared,
            Space::SharedCta,
            Space::SharedCluster,
            Space::Tensor,
        ];
        ALL.into_iter().filter(move |&space| self.has(space))
    }
}

impl Plans {
    /// Makes room for the mnemonics of a module.
    pub fn prepare(&mut self, module: &Module) {
        self.places.resize(module.mnemonics.len(), UNASKED);
    }

    /// The place of a mnemonic's plan.
    pub fn find(&mut self, context: &Context<'_>, mnemonic: MnemonicId) -> usize {
        match self.places.get(mnemonic.0 as usize) {
            Some(&place) if place != UNASKED => place as usize,
            _ => self.ask(context, mnemonic),
        }
    }

    /// Whether a mnemonic has been looked up.
    pub fn knows(&self, mnemonic: MnemonicId) -> bool {
        self.places.get(mnemonic.0 as usize).is_some_and(|&place| place != UNASKED)
    }

    /// A plan by its place.
    pub fn plan(&self, place: usize) -> &Plan {
        &self.plans[place]
    }

    /// How many operand lists a plan has.
    pub fn variants(&self, place: usize) -> usize {
        self.plans[place].len as usize
    }

    /// One of a plan's operand lists.
    pub fn variant(&self, place: usize, n: usize) -> Variant {
        self.variants[self.plans[place].first as usize + n]
    }

    /// The n-th operand of a list.
    pub fn want(&self, variant: Variant, n: usize) -> Want {
        self.wants[variant.first as usize + n]
    }

    /// The operand at that place of the pool: part of a pair.
    pub fn part(&self, place: u32) -> Want {
        self.wants[place as usize]
    }

    /// The numbers of elements that a vector may have.
    pub fn counts(&self, place: u32) -> &[u8] {
        &self.counts[place as usize]
    }

    #[cold]
    fn ask(&mut self, context: &Context<'_>, id: MnemonicId) -> usize {
        let (resolution, bank) = shape(context.module, id);
        let first = self.variants.len() as u32;
        let (mut special, mut narrow, mut demoted) = (Special::No, false, false);
        let verdict = match resolution {
            Err(fault) => Verdict::Fault(Box::new(fault)),
            Ok(shape) => {
                special = Special::of(&shape);
                narrow = shape.opcode == Opcode::Cvta && shape.types == [Type::U32];
                for (n, signature) in shape.signatures.iter().enumerate() {
                    let mut open = signature.shut_gate(context.version(), context.target()).is_none();
                    if !open && is_demoted(context, &shape, signature) {
                        (open, demoted) = (true, true);
                    }
                    self.lay_out(&shape, (n as u32, signature, open), (special, context.target()));
                }
                Verdict::Form
            }
        };
        let place = self.plans.len();
        self.plans.push(Plan {
            verdict,
            special,
            narrow,
            demoted,
            bank,
            first,
            len: self.variants.len() as u32 - first,
        });
        if let Some(known) = self.places.get_mut(id.0 as usize) {
            *known = place as u32;
        }
        place
    }

    /// Writes down a signature once for every choice among its optional operands, fullest first.
    fn lay_out(&mut self, shape: &Shape, of: (u32, &Signature, bool), case: (Special, Target)) {
        let (number, signature, open) = of;
        let optional = signature.operands.iter().filter(|operand| operand.optional).count() as u32;
        for left_out in 0..1u32 << optional.min(MOST_OPTIONAL) {
            let mut wants = Vec::with_capacity(signature.operands.len());
            let mut seen = 0;
            for operand in &signature.operands {
                let skipped = operand.optional && {
                    seen += 1;
                    left_out >> (seen - 1) & 1 != 0
                };
                if !skipped {
                    wants.push(self.want_of(shape, operand, case));
                }
            }
            let (first, len) = (self.wants.len() as u32, wants.len() as u32);
            self.wants.extend(wants);
            self.variants.push(Variant { first, len, signature: number, open });
        }
    }

    fn want_of(&mut self, shape: &Shape, wanted: &Wanted, case: (Special, Target)) -> Want {
        let (special, target) = case;
        let what = match &wanted.kind {
            // The depth that `tex` compares with is checked as if its type were fixed.
            Kind::Value(value) if wanted.name == "dref" => What::Value(
                Accepts::new(value, shape, special).without(Accepts::FUNCTION).with(Accepts::FIXED),
            ),
            Kind::Value(value) if shape.opcode == Opcode::Cvt => {
                What::Value(converted(shape, Accepts::new(value, shape, special)))
            }
            Kind::Value(value) => {
                What::Value(fragment::value(shape, wanted.name, Accepts::new(value, shape, special)))
            }
            Kind::Pair(first, second) => {
                let second_optional = second.optional;
                let parts = [self.want_of(shape, first, case), self.want_of(shape, second, case)];
                let place = self.wants.len() as u32;
                self.wants.extend(parts);
                let texture = matches!(shape.opcode, Opcode::Tex | Opcode::Tld4);
                let since = texture.then_some((Version::new(7, 1), 60));
                What::Pair { parts: place, second_optional, since }
            }
            Kind::Vector { counts, element, bare } => {
                self.counts.push(counts.clone());
                let mut element = Accepts::new(element, shape, special);
                let result = wanted.access == Access::Write;
                if LOOSE_VECTORS.contains(&shape.opcode) {
                    element = element.as_element();
                } else if result && LOOSE_RESULTS.contains(&shape.opcode) {
                    element = element.with_integers();
                }
                element = fragment::accepts(shape, wanted.name, target, element);
                if calls_for_gradients(shape, wanted.name) {
                    element = element.with(Accepts::NO_SPECIAL);
                }
                // The assembler lets one register stand for all that a surface or `st.async` stores.
                let stores = shape.opcode == Opcode::Sust
                    || (shape.opcode == Opcode::St && shape.has(Modifier::Async));
                let bare = *bare || (stores && shape.vector > 1);
                What::Vector { counts: self.counts.len() as u32 - 1, element, bare }
            }
            Kind::Address(spaces) => What::Address(Spaces::new(spaces), rule::of(shape, wanted.name, spaces)),
            Kind::Handle { of, coordinates } => What::Handle {
                of: *of,
                coordinates: coordinates.map(|all| (all.counts, Accepts::new(&all.element, shape, special))),
                array: shape.modifiers.iter().any(|word| ARRAY_GEOMETRIES.contains(word)),
                cube: (shape.has(Modifier::Cube) || shape.has(Modifier::Acube))
                    && !shape.has(Modifier::Level),
                of_sampler: shape.modifiers.iter().any(|word| SAMPLER_QUERIES.contains(word)),
            },
            Kind::Fabric { endpoint, offset, counter } => What::Fabric {
                endpoint: Accepts::new(endpoint, shape, special),
                offset: Accepts::new(offset, shape, special),
                counter: *counter,
            },
            Kind::Tensor { dimensions, overrides } => {
                What::Tensor { dimensions: *dimensions, overrides: *overrides }
            }
            Kind::Immediate(range) => What::Immediate(*range),
            Kind::Label => What::Label,
            Kind::Sink => What::Sink,
            Kind::Call | Kind::Any => What::Any,
        };
        let writes = matches!(wanted.access, Access::Write | Access::ReadWrite);
        let elements = ranges::of_elements(shape, wanted.name);
        Want { name: wanted.name, writes, what, bounds: ranges::of(shape, wanted.name), elements }
    }
}

/// Operands that the assembler moves into a register before it converts them: with `.rna`, and between `.f32` and `.f64`
/// with `.ftz`. It moves neither decimal constants nor wide registers.
fn converted(shape: &Shape, accepts: Accepts) -> Accepts {
    let has = |ty| shape.types.contains(&ty);
    if shape.has(Modifier::Rna) && has(Type::Tf32) {
        accepts.without(Accepts::F64)
    } else if shape.has(Modifier::Ftz) && has(Type::F32) && has(Type::F64) {
        Accepts { registers: accepts.registers & !bit(Type::B128), ..accepts }
    } else {
        accepts
    }
}

/// Whether a form is shut only for its `.f64`, on a target without: the assembler lets it pass as `.f32`.
fn is_demoted(context: &Context<'_>, shape: &Shape, signature: &Signature) -> bool {
    // There are no such roundings of `.f32` there.
    let directed = shape.has(Modifier::Rm) || shape.has(Modifier::Rp);
    if context.target().has_f64() || !shape.types.contains(&Type::F64) || directed {
        return false;
    }
    let first = Target::all().find(|target| target.has_f64());
    first.is_some_and(|target| signature.shut_gate(context.version(), target).is_none())
}

/// Whether this is a SIMD video instruction, such as `vadd4`: its sources are plain registers.
fn is_simd_video(shape: &Shape) -> bool {
    shape.opcode.video_elements().is_some_and(|elements| elements > 1)
}

/// Whether the derivatives of a texture's coordinates are moved one by one, which takes no special registers.
fn calls_for_gradients(shape: &Shape, operand: &str) -> bool {
    let solid =
        shape.modifiers.iter().any(|word| matches!(word, Modifier::D3 | Modifier::Cube | Modifier::Acube));
    solid && matches!(operand, "dPdx" | "dPdy")
}

/// Opcodes that have vectors in some forms: in the others `{a}` may stand for `a`.
const VECTOR_OPCODES: [Opcode; 5] = [Opcode::Ld, Opcode::Ldu, Opcode::St, Opcode::Suld, Opcode::Sust];

/// Whether `{a}` may stand for `a`: in floating-point forms of `multimem` too, which have vectors.
fn takes_braces(shape: &Shape) -> bool {
    let floats = || shape.types.iter().any(|ty| matches!(ty.class(), Class::Float | Class::Fixed));
    VECTOR_OPCODES.contains(&shape.opcode) && !shape.has(Modifier::Async)
        || shape
            .types
            .iter()
            .any(|ty| matches!(ty, Type::E4m3x4 | Type::E5m2x4 | Type::E3m2x4 | Type::E2m3x4))
            && matches!(shape.opcode, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Fma)
        || (shape.opcode == Opcode::Multimem && !shape.has(Modifier::Red) && floats())
}

/// Opcodes whose vectors of floats may be vectors of integers, as far as the assembler minds.
const LOOSE_VECTORS: [Opcode; 6] =
    [Opcode::Ld, Opcode::Ldu, Opcode::St, Opcode::Atom, Opcode::Red, Opcode::Multimem];

/// Opcodes of which the same is true of results only.
const LOOSE_RESULTS: [Opcode; 2] = [Opcode::Tex, Opcode::Tld4];

const ARRAY_GEOMETRIES: [Modifier; 4] = [Modifier::A1d, Modifier::A2d, Modifier::Acube, Modifier::A2dms];

/// What `txq` asks of the sampler, where textures and samplers are separate (section 9.7.10.3).
const SAMPLER_QUERIES: [Modifier; 5] = [
    Modifier::FilterMode,
    Modifier::AddrMode0,
    Modifier::AddrMode1,
    Modifier::AddrMode2,
    Modifier::ForceUnnormalizedCoords,
];

impl Special {
    fn of(shape: &Shape) -> Special {
        match shape.opcode {
            Opcode::Ld | Opcode::Ldu => Special::Load,
            Opcode::St => Special::Store,
            Opcode::Atom | Opcode::Red => Special::Update,
            Opcode::Mov => Special::Mov,
            Opcode::Cvta | Opcode::Mapa | Opcode::Getctarank => Special::Address,
            Opcode::Call => Special::Call,
            Opcode::Brx => Special::IndexedBranch,
            _ => Special::No,
        }
    }
}
