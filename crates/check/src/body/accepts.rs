//! What may stand for a value operand, as sets of bits: checking a register is one bit test.
//!
//! PTX ISA section 5.2.1 (compatible types) and 9.4.1 (wider registers), through `softwarp_isa::instruction`; and where
//! the assembler takes more or less than the table says.

use super::forms::Special;
use softwarp_isa::instruction::{
    Fit, InstructionForm, LiteralKind, Modifier, Opcode, Selector, Space, Value,
};
use softwarp_isa::{Class, Type};

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
    /// The name of a function: the assembler checks its type only where the manual fixes the operand's.
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
    /// Elements of vector registers (`%v.x`) are not accepted as elements of the vector.
    pub const PLAIN: u32 = 32768;
    /// `x+4` of a variable is not taken for a value.
    pub const NO_VARIABLE: u32 = 65536;
    /// Predicates are not accepted as elements of the vector.
    pub const NO_PREDICATE: u32 = 131072;
    /// The sink `_` is not accepted as an element of the vector.
    pub const NO_SINK: u32 = 262144;

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

    /// What a value of a form takes.
    pub fn new(value: &Value, form: &InstructionForm, special: Special) -> Accepts {
        let mut registers = 0;
        for ty in register_types().filter(|&ty| value.accepts(ty)) {
            registers |= bit(ty);
        }
        let literal = |kind, flag| if value.accepts_literal(kind) { flag } else { 0 };
        let flag = |holds: bool, flag| if holds { flag } else { 0 };
        let packs = special == Special::Mov && value.ty.class() == Class::Bits;
        let takes_addresses = value.forms.address || special == Special::Mov;
        let reads_special = matches!(form.opcode, Opcode::Mov | Opcode::Cvt)
            && form.types.iter().all(|ty| !matches!(ty.class(), Class::Float | Class::Fixed));
        let forms = literal(LiteralKind::Integer, Accepts::INTEGER)
            | literal(LiteralKind::F32, Accepts::F32)
            | literal(LiteralKind::F64, Accepts::F64)
            | flag(takes_addresses && !form.has(Modifier::To), Accepts::ADDRESS)
            | flag(value.forms.special && reads_special, Accepts::SPECIAL)
            | flag(value.forms.negated, Accepts::NEGATED)
            | flag(value.forms.sink, Accepts::SINK)
            | flag(packs, Accepts::PACKED)
            | flag(value.forms.minus, Accepts::MINUS)
            | flag(takes_braces(form) && value.fit != Fit::Fixed, Accepts::BRACED);
        // The assembler does not mind the types of the packed operands of `dp4a`.
        let packed = matches!(form.opcode, Opcode::Dp2a | Opcode::Dp4a) && value.ty == Type::B32;
        let fixed = match form.opcode {
            Opcode::Cvt => !value.ty.is_fundamental(),
            _ => matches!(value.fit, Fit::Fixed | Fit::Exact | Fit::AddressSized) && !packed,
        };
        // Random bits and scales of a conversion.
        let exact = form.opcode == Opcode::Cvt && value.fit == Fit::Exact;
        // The address of a variable and an offset make a number of 32 bits there.
        let no_variable = exact
            || fixed && value.fit != Fit::AddressSized && value.ty.bits() != 32
            || !value.ty.is_fundamental()
            || form.opcode == Opcode::Createpolicy && value.ty.bits() == 64;
        let converts = special == Special::Address && value.forms.address;
        let moves_predicate = special == Special::Mov && value.ty == Type::Pred;
        let restores = form.opcode == Opcode::Stackrestore;
        let forms = forms
            | flag(
                !fixed && !exact && !converts && !moves_predicate && !is_simd_video(form) && !restores,
                Accepts::FUNCTION,
            )
            | flag(
                value.forms.selector != Selector::No || is_simd_video(form) || restores,
                Accepts::NO_OFFSET,
            )
            | flag(no_variable && special != Special::Address, Accepts::NO_VARIABLE)
            | flag(fixed && special != Special::Address, Accepts::FIXED);
        let space = match (special, form.opcode) {
            (Special::Address, Opcode::Mapa | Opcode::Getctarank) => Some(Space::Shared),
            (Special::Address, _) => form.spaces.first().copied(),
            _ => None,
        };
        let video = form.opcode.video_elements().is_some();
        let accepts =
            Accepts { registers, forms, ty: value.ty, space, selector: value.forms.selector, video };
        // Floats are no packed integers, and no sizes of a tensor.
        let sizes = [Modifier::BoxDim, Modifier::GlobalDim, Modifier::ElementStride];
        let size = form.opcode == Opcode::Tensormap && sizes.into_iter().any(|word| form.has(word));
        if packed || size { accepts.without_type(Type::F32).without(Accepts::F32) } else { accepts }
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

    /// What an element of a vector accepts where a single value accepts this: the assembler lets integers of the
    /// size stand where a float is wanted.
    pub fn as_element(self) -> Accepts {
        let mut loose = self.with_integers();
        if loose.registers != self.registers && self.ty.bits() == 32 {
            loose.registers |= bit(Type::F16x2);
        }
        loose
    }

    /// Adds integers of the size where a float is wanted.
    pub fn with_integers(mut self) -> Accepts {
        if self.ty.class() == Class::Float && self.ty.is_fundamental() && self.ty != Type::F16x2 {
            for ty in register_types().filter(|ty| ty.is_int() && ty.bits() == self.ty.bits()) {
                self.registers |= bit(ty);
            }
        }
        self
    }

    /// Adds predicates: the assembler counts them as 32 bits in places.
    pub fn with_predicates(mut self) -> Accepts {
        self.registers |= bit(Type::Pred);
        self
    }

    /// Registers of these types only.
    pub fn only(mut self, types: &[Type]) -> Accepts {
        self.registers = types.iter().fold(0, |all, &ty| all | bit(ty));
        self
    }

    /// Removes registers of a type.
    pub fn without_type(mut self, ty: Type) -> Accepts {
        self.registers &= !bit(ty);
        self
    }

    /// Adds these forms.
    pub fn with(mut self, forms: u32) -> Accepts {
        self.forms |= forms;
        self
    }

    /// Removes these forms.
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
    /// These spaces.
    pub fn new(spaces: &[Space]) -> Spaces {
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

    /// The state spaces in the set.
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

/// Whether this is a SIMD video instruction, such as `vadd4`: its sources are plain registers.
fn is_simd_video(form: &InstructionForm) -> bool {
    form.opcode.video_elements().is_some_and(|elements| elements > 1)
}

/// Opcodes that have vectors in some forms: in the others `{a}` may stand for `a`.
const VECTOR_OPCODES: [Opcode; 5] = [Opcode::Ld, Opcode::Ldu, Opcode::St, Opcode::Suld, Opcode::Sust];

/// Whether `{a}` may stand for `a`: in floating-point forms of `multimem` too, which have vectors.
fn takes_braces(form: &InstructionForm) -> bool {
    let floats = || form.types.iter().any(|ty| matches!(ty.class(), Class::Float | Class::Fixed));
    VECTOR_OPCODES.contains(&form.opcode) && !form.has(Modifier::Async) && !form.has(Modifier::Bulk)
        || form.types.iter().any(|ty| matches!(ty, Type::E4m3x4 | Type::E5m2x4 | Type::E3m2x4 | Type::E2m3x4))
            && matches!(form.opcode, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Fma)
        || (form.opcode == Opcode::Multimem && !form.has(Modifier::Red) && floats())
}
