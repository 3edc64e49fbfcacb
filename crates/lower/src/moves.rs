//! `mov` (PTX ISA sections 9.7.9.1 and 9.7.9.2): copies, addresses, packing and unpacking.

use crate::builder::{Builder, Lowered, Refusal, Register, because};
use crate::form::Form;
use softwarp_check::Reference;
use softwarp_ir::Slot;
use softwarp_isa::Type;
use softwarp_isa::instruction::Opcode;
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::alu::simple::{Field, Simple};

impl Builder<'_, '_> {
    /// `mov`
    pub fn moves(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        if form.instruction.opcode != Opcode::Mov {
            return Err(Refusal::Elsewhere);
        }
        let (d, a, ty) = (operands.start, operands.start + 1, form.ty());
        if operands.len != 2 {
            return Err(Refusal::Form);
        }
        if form.instruction.vector > 1 {
            return self.move_vector(d, a, ty);
        }
        match (self.pieces(d)?, self.pieces(a)?) {
            (None, None) => self.move_one(d, a, ty),
            (None, Some(pieces)) => {
                let d = self.destination(d, ty)?.slot;
                self.pack(d, &pieces, ty)
            }
            (Some(pieces), None) => {
                let source = self.source(a, ty)?;
                self.unpack(&pieces, source, ty)
            }
            (Some(to), Some(from)) => {
                let whole = self.fresh(ty.bits());
                self.always(|builder| builder.pack(whole, &from, ty))?;
                self.unpack(&to, whole, ty)
            }
        }
    }

    /// The pieces of a value that is packed or unpacked: `{a, b}`, or a vector register.
    fn pieces(&mut self, index: u32) -> Lowered<Option<Vec<Piece>>> {
        match (self.operand(index).kind, self.reference(index)) {
            (OperandKind::Vector(parts), _) if parts.len > 1 => {
                Ok(Some(self.places(parts).map(Piece::Operand).collect()))
            }
            (OperandKind::Name(_), Reference::Variable(id, member)) if self.lanes(index) > 1 => {
                let lanes = 0..self.lanes(index);
                lanes
                    .map(|n| self.register(id, member, n).map(Piece::Register))
                    .collect::<Lowered<_>>()
                    .map(Some)
            }
            _ => Ok(None),
        }
    }

    fn move_one(&mut self, d: u32, a: u32, ty: Type) -> Lowered<()> {
        let destination = self.destination(d, ty)?;
        let bits = if ty == Type::Pred { 1 } else { ty.bits() };
        if matches!(self.reference(a), Reference::Special(_)) {
            let into = Register { id: destination.slot, bits };
            let register = self.special(a, Some(into))?;
            if register == into {
                return Ok(());
            }
            let source = self.fit(register, ty)?;
            self.copy(destination.slot, source, bits);
            return Ok(());
        }
        let source = self.source(a, ty)?;
        self.copy(destination.slot, source, bits);
        Ok(())
    }

    /// Copies a register of a given number of bits.
    pub fn copy(&mut self, d: Slot, source: Slot, bits: u32) {
        match bits {
            1 => self.simple(Simple::MovePredicate, d, &[source]),
            2..=32 => self.simple(Simple::Move32, d, &[source]),
            33..=64 => self.simple(Simple::Move64, d, &[source]),
            _ => {
                self.simple(Simple::Move64, d, &[source]);
                self.simple(Simple::Move64, d.next(), &[source.next()]);
            }
        }
    }

    /// `mov.v4.u32 v, %tid`, `mov.v2.f32 {a, b}, {c, d}`
    fn move_vector(&mut self, d: u32, a: u32, ty: Type) -> Lowered<()> {
        let destinations = self.vector_registers(d)?;
        let mut sources = Vec::new();
        match (self.operand(a).kind, self.reference(a)) {
            (OperandKind::Vector(parts), _) => {
                for part in self.places(parts) {
                    sources.push(self.source(part, ty)?);
                }
            }
            (OperandKind::Name(symbol), Reference::Special(register)) => {
                for component in 0..register.components {
                    let read = self.special_component(symbol, component, register.ty, None)?;
                    sources.push(self.fit(read, ty)?);
                }
            }
            _ => sources = self.vector_registers(a)?.into_iter().flatten().collect(),
        }
        // All are read before any is written.
        if sources.iter().any(|&source| destinations.contains(&Some(source))) {
            for source in &mut sources {
                let held = self.fresh(ty.bits());
                self.always(|builder| builder.copy(held, *source, ty.bits()));
                *source = held;
            }
        }
        for (d, source) in destinations.into_iter().zip(sources) {
            if let Some(d) = d {
                self.copy(d, source, ty.bits());
            }
        }
        Ok(())
    }

    /// The registers of a vector; none for `_`.
    fn vector_registers(&mut self, index: u32) -> Lowered<Vec<Option<Slot>>> {
        match (self.operand(index).kind, self.reference(index)) {
            (OperandKind::Vector(parts), _) => {
                let places = self.places(parts);
                let one = |part| match self.operand(part).kind {
                    OperandKind::Sink => Ok(None),
                    _ => match self.named_register(part)? {
                        Some(register) => Ok(Some(register.id)),
                        None => because("with such a vector"),
                    },
                };
                places.map(one).collect()
            }
            (_, Reference::Variable(id, member)) if self.is_register(id) => {
                (0..self.lanes(index)).map(|n| self.register(id, member, n).map(|one| Some(one.id))).collect()
            }
            _ => because("with such a vector"),
        }
    }

    /// `mov.b64 d, {a, b}`
    fn pack(&mut self, d: Slot, pieces: &[Piece], ty: Type) -> Lowered<()> {
        let bits = ty.bits() / pieces.len().max(1) as u32;
        let element = piece(bits)?;
        let mut sources = Vec::new();
        for piece in pieces {
            sources.push(match *piece {
                Piece::Operand(index) => self.source(index, element)?,
                Piece::Register(register) => self.fit(register, element)?,
            });
        }
        // A value of 128 bits is two rows.
        let (low, high) = sources.split_at(if ty.bits() > 64 { sources.len() / 2 } else { sources.len() });
        for (d, half) in [(d, low), (d.next(), high)].into_iter().filter(|(_, half)| !half.is_empty()) {
            match (ty.bits(), bits) {
                (..=32, _) => self.simple(Simple::Pack32(bits), d, half),
                (_, 64) => self.simple(Simple::Move64, d, half),
                _ => self.simple(Simple::Pack64(bits), d, half),
            }
        }
        Ok(())
    }

    /// `mov.b64 {d, e}, a`
    fn unpack(&mut self, pieces: &[Piece], source: Slot, ty: Type) -> Lowered<()> {
        let bits = ty.bits() / pieces.len().max(1) as u32;
        let element = piece(bits)?;
        for (n, piece) in pieces.iter().enumerate() {
            let d = match *piece {
                Piece::Operand(index) if matches!(self.operand(index).kind, OperandKind::Sink) => continue,
                Piece::Operand(index) => self.destination(index, element)?.slot,
                Piece::Register(register) => register.id,
            };
            let at = n as u32 * bits;
            let (row, shift) = (if at < 64 { source } else { source.next() }, at % 64);
            match (ty.bits(), bits) {
                (..=32, _) => self.simple(Simple::Extract32(Field { shift, bits }), d, &[source]),
                (_, 64) => self.simple(Simple::Move64, d, &[row]),
                _ => self.simple(Simple::Extract64(Field { shift, bits }), d, &[row]),
            }
        }
        Ok(())
    }
}

/// A piece of a value.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// What stands at a place among the operands.
    Operand(u32),
    /// An element of a vector register.
    Register(Register),
}

/// The type of a piece of a given number of bits.
fn piece(bits: u32) -> Lowered<Type> {
    Ok(match bits {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        _ => return because("with pieces of that width"),
    })
}
