//! Operands as slots (PTX ISA chapter 6): registers, constants, special registers, addresses of variables; and
//! the arithmetic instructions, which need no more than that.

use crate::builder::{Builder, Lowered, Refusal, Register, because};
use crate::form::Form;
use crate::special;
use softwarp_check::Reference;
use softwarp_check::constant::{Value, WARP_SIZE};
use softwarp_ir::{Alu, AluOp, Guard, Immediate, Op, ReadSpecial, Slot, Slots, Step};
use softwarp_isa::instruction::{Access, Kind, Signature};
use softwarp_isa::{Class, Type};
use softwarp_syntax::Module;
use softwarp_syntax::tree::{At, Expr, ExprId, Literal, Operand, OperandKind, Range, Symbol, UnaryOp};
use softwarp_units::alu::simple::{Extension, Field, Simple};

/// A destination while its instruction is lowered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    /// What the instruction writes.
    pub slot: Slot,
    /// The register that the result goes to, if it is wider than the instruction's type.
    wider: Option<(Register, Type)>,
}

impl Destination {
    /// A register of the instruction's own width.
    pub fn plain(slot: Slot) -> Destination {
        Destination { slot, wider: None }
    }
}

impl<'a> Builder<'_, 'a> {
    /// An operand, by its place in the pool.
    pub fn operand(&self, index: u32) -> &'a Operand {
        &self.of.module.operands[index as usize]
    }

    /// The operands in a range, as places in the pool.
    pub fn places(&self, range: Range<Operand>) -> std::ops::Range<u32> {
        range.start..range.start + range.len
    }

    /// What the name in an operand means.
    pub fn reference(&self, index: u32) -> Reference {
        self.of.references.operands.get(index as usize).copied().unwrap_or(Reference::Nothing)
    }

    /// The register that an operand names.
    pub fn named_register(&mut self, index: u32) -> Lowered<Option<Register>> {
        let Reference::Variable(id, member) = self.reference(index) else { return Ok(None) };
        if self.variable(id).space != softwarp_isa::StateSpace::Reg {
            return Ok(None);
        }
        let element = match self.operand(index).kind {
            OperandKind::Member(_, member) => self.element(member)?,
            _ => 0,
        };
        self.register(id, member, element).map(Some)
    }

    /// How many registers an operand names: 0 if it is none, more than 1 for a vector.
    pub fn lanes(&self, index: u32) -> u8 {
        match (self.operand(index).kind, self.reference(index)) {
            (OperandKind::Member(..), _) => 1,
            (_, Reference::Variable(id, _)) if self.variable(id).space == softwarp_isa::StateSpace::Reg => {
                self.variable(id).vector.max(1)
            }
            (_, Reference::Special(register)) => register.components,
            _ => 0,
        }
    }

    /// Which element `.x` and its like are.
    pub fn element(&self, member: Symbol) -> Lowered<u8> {
        Ok(match self.of.module.name(member) {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            other => return because(format!("with the selector `.{other}`")),
        })
    }

    /// A source of this type, in the rows of the type.
    pub fn source(&mut self, index: u32, ty: Type) -> Lowered<Slot> {
        let operand = self.operand(index);
        match operand.kind {
            OperandKind::Name(_) | OperandKind::Member(..) => self.named(index, ty),
            OperandKind::Literal(literal) => Ok(self.literal(literal.into(), ty)),
            OperandKind::Expr(id) => {
                let value = self.evaluate(id)?;
                Ok(self.literal(value, ty))
            }
            OperandKind::Not(parts) => {
                let inner = self.source(parts.start, Type::Pred)?;
                let inverted = self.fresh(1);
                self.simple_always(Simple::Not, inverted, &[inner]);
                Ok(inverted)
            }
            OperandKind::Vector(parts) if parts.len == 1 => self.source(parts.start, ty),
            OperandKind::Offset(..) | OperandKind::Index(_) => self.address_value(index, ty),
            _ => because("with such an operand"),
        }
    }

    fn named(&mut self, index: u32, ty: Type) -> Lowered<Slot> {
        match self.reference(index) {
            Reference::Variable(id, member) => match self.named_register(index)? {
                Some(register) => self.fit(register, ty),
                None => self.variable_address(id, member, 0, ty.bits()),
            },
            Reference::Special(_) => {
                let register = self.special(index, None)?;
                self.fit(register, ty)
            }
            Reference::WarpSize => Ok(self.constant(WARP_SIZE, ty.bits())),
            Reference::Function(_) => self.address_value(index, ty),
            Reference::Label(_) => because("with the address of a label"),
            Reference::Nothing => because("with such an operand"),
        }
    }

    /// Reads a special register into a register of its own type: this one, if one is given and it fits.
    pub fn special(&mut self, index: u32, into: Option<Register>) -> Lowered<Register> {
        let Reference::Special(register) = self.reference(index) else { return Err(Refusal::Form) };
        let (symbol, component) = match self.operand(index).kind {
            OperandKind::Name(symbol) => (symbol, 0),
            OperandKind::Member(symbol, member) => (symbol, self.element(member)?),
            _ => return Err(Refusal::Form),
        };
        self.special_component(symbol, component, register.ty, into)
    }

    /// One component of a special register.
    pub fn special_component(
        &mut self,
        symbol: Symbol,
        component: u8,
        ty: Type,
        into: Option<Register>,
    ) -> Lowered<Register> {
        let name = self.of.module.name(symbol);
        let Some(register) = special::find(name, component) else {
            return because(format!("with `{name}`"));
        };
        let bits = if ty == Type::Pred { 1 } else { ty.bits() };
        match into.filter(|into| into.bits == bits) {
            Some(into) => {
                self.step(Step::Special(ReadSpecial { register, d: into.id }))?;
                Ok(into)
            }
            None => {
                let d = self.fresh(bits);
                self.step_always(Step::Special(ReadSpecial { register, d }));
                Ok(Register { id: d, bits })
            }
        }
    }

    /// A register as a source of this type: where it is wider than the type, its low bits.
    pub fn fit(&mut self, register: Register, ty: Type) -> Lowered<Slot> {
        let wanted = if ty == Type::Pred { 1 } else { ty.bits() };
        Ok(match (register.bits, wanted) {
            (1, 1) => register.id,
            (1, _) | (_, 1) => return because("with a predicate and a value for one another"),
            (128, 65..) | (64, 33..=64) | (..=32, 17..=32) | (..=16, 16) | (..=32, ..16) => register.id,
            (128, 33..=64) => register.id,
            (..=32, 16) => self.extracted(Simple::Extract32, register.id, 16),
            (64.., ..=32) => self.extracted(Simple::Extract64, register.id, wanted.min(32)),
            (..=32, 33..=64) => {
                let wide = self.fresh(64);
                self.simple_always(Simple::Zero64, wide, &[register.id]);
                wide
            }
            _ => return because("with a register of that width"),
        })
    }

    fn extracted(&mut self, simple: fn(Field) -> Simple, source: Slot, bits: u32) -> Slot {
        let d = self.fresh(32);
        self.simple_always(simple(Field { shift: 0, bits }), d, &[source]);
        d
    }

    /// A constant of this type.
    pub fn literal(&mut self, value: Value, ty: Type) -> Slot {
        if ty == Type::Pred {
            let truth = self.fresh(1);
            self.simple_always(Simple::Truth(value.bits() != 0), truth, &[]);
            return truth;
        }
        let bits = constant_bits(value, ty);
        self.constant(bits, ty.bits())
    }

    /// What a constant expression is worth.
    pub fn evaluate(&self, id: ExprId) -> Lowered<Value> {
        let module = self.of.module;
        match module.expression(id).is {
            Expr::Literal(literal) => return Ok(literal.into()),
            Expr::Unary(UnaryOp::Minus, inner) => {
                if let Expr::Literal(Literal::Int { value, unsigned }) = module.expression(inner).is {
                    return Ok(Value::Int { value: value.wrapping_neg(), unsigned });
                }
            }
            _ => {}
        }
        // Evaluation makes room for all names of a module, so it gets one that has none.
        let mut alone = Module::default();
        let root = transplant(module, id, &mut alone);
        match softwarp_check::evaluate(&alone, root, self.of.source).0 {
            Some(value) => Ok(value),
            None => because("with such a constant"),
        }
    }

    /// The value of an operand that only a constant can be.
    pub fn immediate(&self, index: u32) -> Lowered<u64> {
        match self.operand(index).kind {
            OperandKind::Literal(literal) => Ok(Value::from(literal).bits()),
            OperandKind::Expr(id) => Ok(self.evaluate(id)?.bits()),
            OperandKind::Name(_) if self.reference(index) == Reference::WarpSize => Ok(WARP_SIZE),
            _ => because("with an operand that is no constant"),
        }
    }

    /// A destination of this type. [`Builder::deliver`] must follow the instruction.
    pub fn destination(&mut self, index: u32, ty: Type) -> Lowered<Destination> {
        let wanted = if ty == Type::Pred { 1 } else { ty.bits() };
        let index = match self.operand(index).kind {
            OperandKind::Vector(parts) if parts.len == 1 => parts.start,
            _ => index,
        };
        if matches!(self.operand(index).kind, OperandKind::Sink) {
            return Ok(Destination::plain(self.fresh(wanted)));
        }
        let Some(register) = self.named_register(index)? else {
            return because("with such a destination");
        };
        let signed = ty.class() == Class::Signed && ty.lanes() == 1;
        let same = match (register.bits, wanted) {
            (1, 1) | (128, 65..) | (64, 33..=64) => true,
            (1, _) | (_, 1) => return because("with a predicate and a value for one another"),
            (bits @ ..=32, ..=32) => !signed || bits <= wanted,
            _ => false,
        };
        match same {
            true => Ok(Destination::plain(register.id)),
            false if wanted < register.bits => {
                Ok(Destination { slot: self.fresh(wanted.max(32)), wider: Some((register, ty)) })
            }
            false => because("with a destination of that width"),
        }
    }

    /// The guard of an instruction that writes these destinations: none if nothing but lowering sees them.
    pub fn guard_of(&self, destination: Destination) -> Guard {
        if destination.wider.is_some() { Guard::ALWAYS } else { self.current.guard }
    }

    /// Extends what an instruction wrote to the width of the register (section 9.4.1).
    pub fn deliver(&mut self, destination: Destination) {
        let Some((register, ty)) = destination.wider else { return };
        let (slot, signed) = (destination.slot, ty.class() == Class::Signed);
        let extension = Extension { from: ty.bits().min(32), to: register.bits.min(32) };
        match (register.bits, ty.bits(), signed) {
            (..=32, ..) => self.simple(Simple::Sign32(extension), register.id, &[slot]),
            (_, ..=32, true) => self.simple(Simple::Sign64(extension), register.id, &[slot]),
            (_, ..=32, false) => self.simple(Simple::Zero64, register.id, &[slot]),
            _ => self.simple(Simple::Move64, register.id, &[slot]),
        }
        if register.bits > 64 {
            let high = match signed {
                false => self.wide_constant(0),
                true => {
                    let (sign, high) = (self.fresh(32), self.fresh(64));
                    self.simple_always(Simple::Extract64(Field { shift: 63, bits: 1 }), sign, &[register.id]);
                    self.simple_always(Simple::Sign64(Extension { from: 1, to: 32 }), high, &[sign]);
                    high
                }
            };
            self.simple(Simple::Move64, register.id.next(), &[high]);
        }
    }

    /// A source without braces where a vector is wanted: a vector register, or a vector of one.
    pub fn whole(&mut self, index: u32, ty: Type) -> Lowered<Vec<Slot>> {
        match self.reference(index) {
            Reference::Variable(id, member) if self.is_register(id) && self.lanes(index) > 1 => {
                let mut slots = Vec::new();
                for n in 0..self.lanes(index) {
                    let register = self.register(id, member, n)?;
                    slots.push(self.fit(register, ty)?);
                }
                Ok(slots)
            }
            _ => Ok(vec![self.source(index, ty)?]),
        }
    }

    /// An instruction that a loop does: destinations and sources in the order of the operands.
    pub fn alu(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let signature = signature(&form.instruction.signatures, operands.len as usize)?;
        let mut gathered = Gathered::default();
        let mut immediate = Immediate::None;
        for (index, wanted) in self.places(operands).zip(&signature.operands) {
            match (&wanted.kind, wanted.access) {
                (Kind::Value(value), Access::Read) => gathered.read(self.source(index, value.ty)?)?,
                (Kind::Value(value), Access::Write) => gathered.write(self.destination(index, value.ty)?)?,
                (Kind::Vector { element, .. }, Access::Read) => match self.operand(index).kind {
                    OperandKind::Vector(parts) => {
                        for part in self.places(parts) {
                            gathered.read(self.source(part, element.ty)?)?;
                        }
                    }
                    _ => {
                        for slot in self.whole(index, element.ty)? {
                            gathered.read(slot)?;
                        }
                    }
                },
                (Kind::Pair(first, second), Access::Write) => {
                    let (Kind::Value(one), Kind::Value(other)) = (&first.kind, &second.kind) else {
                        return Err(Refusal::Form);
                    };
                    match self.operand(index).kind {
                        OperandKind::Pair(parts) => {
                            gathered.write(self.destination(parts.start, one.ty)?)?;
                            if !matches!(self.operand(parts.start + 1).kind, OperandKind::Sink) {
                                gathered.write(self.destination(parts.start + 1, other.ty)?)?;
                            }
                        }
                        _ => gathered.write(self.destination(index, one.ty)?)?,
                    }
                }
                (Kind::Immediate(_), _) => {
                    immediate = Immediate::Lut(self.immediate(index)? as u8);
                }
                _ => return Err(Refusal::Form),
            }
        }
        self.emit(AluOp::Instruction(form.instruction.clone(), immediate), gathered)
    }

    /// Appends an arithmetic operation with the operands gathered for it.
    pub fn emit(&mut self, op: AluOp, gathered: Gathered) -> Lowered<()> {
        let Gathered { d, s } = gathered;
        let guard = self.current.guard;
        if let [Some(only), None] = d {
            self.current.guard = self.guard_of(only);
        } else if d.iter().flatten().any(|one| one.wider.is_some()) {
            return because("with a destination of that width");
        }
        let mut slots = Slots::default();
        for destination in d.iter().flatten() {
            if !slots.push(destination.slot) {
                return because("with so many destinations");
            }
        }
        self.push(Op::Alu(Alu { op, d: slots, s, guard: self.current.guard }));
        self.current.guard = guard;
        d.into_iter().flatten().for_each(|one| self.deliver(one));
        Ok(())
    }
}

/// The operands of an arithmetic operation, as they are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathered {
    d: [Option<Destination>; 2],
    s: Slots<5>,
}

impl Gathered {
    /// The next source.
    pub fn read(&mut self, slot: Slot) -> Lowered<()> {
        if self.s.push(slot) { Ok(()) } else { because("with so many sources") }
    }

    /// The next destination.
    pub fn write(&mut self, destination: Destination) -> Lowered<()> {
        match self.d.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(destination),
            None => return because("with so many destinations"),
        }
        Ok(())
    }
}

/// The operand list of a form that has that many operands.
pub(super) fn signature(signatures: &[Signature], count: usize) -> Lowered<&Signature> {
    let all = signatures.iter().find(|signature| signature.operands.len() == count);
    all.ok_or(Refusal::Form)
}

/// The bits of a constant as an operand of a type. Decimal and `0d…` numbers are rounded where the type has 32 bits;
/// of all others the bits stand as they are, as in the assembler: `0f3f800000` as an `.f64` is nearly zero.
pub(super) fn constant_bits(value: Value, ty: Type) -> u64 {
    match value {
        Value::F64(value) if ty.bits() == 32 => u64::from((value as f32).to_bits()),
        value => value.bits(),
    }
}

/// Copies an expression to another module, with the warp's size for its name, and gives its place there.
fn transplant(from: &Module, id: ExprId, to: &mut Module) -> ExprId {
    let At { is, span } = from.expression(id);
    let mut inner = |id| transplant(from, id, to);
    let is = match is {
        Expr::Unary(op, a) => Expr::Unary(op, inner(a)),
        Expr::Binary(op, a, b) => Expr::Binary(op, inner(a), inner(b)),
        Expr::Conditional(a, b, c) => Expr::Conditional(inner(a), inner(b), inner(c)),
        Expr::Cast(ty, a) => Expr::Cast(ty, inner(a)),
        Expr::Paren(a) => Expr::Paren(inner(a)),
        Expr::Name(symbol) if from.name(symbol) == "WARP_SZ" => {
            Expr::Literal(Literal::Int { value: WARP_SIZE, unsigned: false })
        }
        Expr::Literal(literal) => Expr::Literal(literal),
        _ => Expr::Error,
    };
    to.expressions.push(At { is, span });
    ExprId(to.expressions.len() as u32 - 1)
}
