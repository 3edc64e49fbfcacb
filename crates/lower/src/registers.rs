//! The registers and constants of a function, before they have rows.

use crate::builder::{Builder, Lowered, Register, because};
use crate::virtuals::Virtual;
use softwarp_check::checked::VarId;
use softwarp_ir::Slot;
use softwarp_ir::debug::{self, Registers};
use softwarp_isa::Type;
use softwarp_syntax::Span;
use softwarp_syntax::tree::Statement;
use softwarp_units::alu::simple::Simple;

impl Builder<'_, '_> {
    /// A virtual register of a given number of bits.
    pub fn fresh(&mut self, bits: u32) -> Slot {
        let id = self.virtuals.len() as u32;
        match bits {
            1 => {
                self.virtuals.push(Virtual::Predicate);
                Slot::predicate(id)
            }
            2..=32 => {
                self.virtuals.push(Virtual::Narrow);
                Slot::narrow(id)
            }
            33..=64 => {
                self.virtuals.push(Virtual::Wide);
                Slot::wide(id)
            }
            _ => {
                self.virtuals.extend([Virtual::Pair, Virtual::High]);
                Slot::wide(id)
            }
        }
    }

    /// The register that a variable is; of a vector, one of its elements.
    pub fn register(&mut self, id: VarId, member: Option<u32>, element: u8) -> Lowered<Register> {
        let variable = self.of.checked.variable(id);
        // Vectors have at most 8 elements, and a family has no more members than fit a number.
        let key = u64::from(id.0) << 36 ^ u64::from(member.map_or(0, |member| member.wrapping_add(1))) << 3;
        if let Some(&register) = self.registers.get(&(key | u64::from(element & 7))) {
            return Ok(register);
        }
        let bits = match variable.value_type() {
            Some(Type::Pred) => 1,
            Some(ty) => ty.register_type().bits(),
            None => return because(format!("with `{}`", self.of.module.name(variable.name))),
        };
        for element in 0..variable.vector.clamp(1, 8) {
            let register = Register { id: self.fresh(bits), bits };
            self.registers.insert(key | u64::from(element), register);
        }
        match self.registers.get(&(key | u64::from(element & 7))) {
            Some(&register) => Ok(register),
            None => because("with an element that is not there"),
        }
    }

    /// A row of 32-bit words that are all the same.
    pub fn narrow_constant(&mut self, value: u32) -> Slot {
        if let Some(&known) = self.constants.known_narrow.get(&u64::from(value)) {
            return known;
        }
        let slot = self.constants.narrow.len() as u32;
        self.constants.narrow.push((slot, value));
        let id = Slot::narrow(self.virtuals.len() as u32);
        self.virtuals.push(Virtual::NarrowConstant(slot));
        self.constants.known_narrow.insert(value.into(), id);
        id
    }

    /// A row of 64-bit words that are all the same.
    pub fn wide_constant(&mut self, value: u64) -> Slot {
        if let Some(&known) = self.constants.known_wide.get(&value) {
            return known;
        }
        let slot = self.constants.wide.len() as u32;
        self.constants.wide.push((slot, value));
        let id = Slot::wide(self.virtuals.len() as u32);
        self.virtuals.push(Virtual::WideConstant(slot));
        self.constants.known_wide.insert(value, id);
        id
    }

    /// An address in `.shared`, as it is in the first CTA of a cluster, in a row of a given number of bits. Each CTA has its
    /// own, so it is no constant that another could share.
    pub fn shared_address(&mut self, address: u64, bits: u32) -> Slot {
        if !matches!(bits, 32 | 64) {
            // There is no such register for an address.
            return self.constant(address, bits);
        }
        if let Some(&known) = self.constants.shared.known.get(&(bits, address)) {
            return known;
        }
        let number = self.virtuals.len() as u32;
        let id = if bits == 32 { Slot::narrow(number) } else { Slot::wide(number) };
        if bits == 32 {
            let slot = self.constants.narrow.len() as u32;
            self.constants.narrow.push((slot, address as u32));
            self.constants.shared.narrow.push((slot, address as u32));
            self.virtuals.push(Virtual::NarrowConstant(slot));
        } else {
            let slot = self.constants.wide.len() as u32;
            self.constants.wide.push((slot, address));
            self.constants.shared.wide.push((slot, address));
            self.virtuals.push(Virtual::WideConstant(slot));
        }
        self.constants.shared.known.insert((bits, address), id);
        id
    }

    /// A row of constants of a given number of bits; of 128, with zeros above.
    pub fn constant(&mut self, value: u64, bits: u32) -> Slot {
        match bits {
            ..=32 => self.narrow_constant((value & (u64::MAX >> (64 - bits.clamp(1, 32)))) as u32),
            33..=64 => self.wide_constant(value),
            _ => {
                let (low, high, pair) = (self.wide_constant(value), self.wide_constant(0), self.fresh(128));
                self.simple_always(Simple::Move64, pair, &[low]);
                self.simple_always(Simple::Move64, pair.next(), &[high]);
                pair
            }
        }
    }
}

/// A register of the text that has been met.
pub struct Met {
    pub id: VarId,
    /// Of a family, which member.
    pub member: Option<u32>,
    /// Of a vector, which element.
    pub element: u8,
    /// As the text writes it.
    pub name: String,
}

impl Builder<'_, '_> {
    /// The registers of the text that have been met, in any order.
    pub fn met_registers(&self) -> impl Iterator<Item = (Met, Register)> {
        self.registers.iter().map(|(&key, &register)| {
            // As `Builder::register` makes it.
            let (id, element) = (VarId((key >> 36) as u32), (key & 7) as u8);
            let member = ((key >> 3) as u32).checked_sub(1);
            let variable = self.of.checked.variable(id);
            let mut name = self.of.module.name(variable.name).to_owned();
            if let Some(member) = member {
                name += &member.to_string();
            }
            if variable.vector > 1 {
                let element = ["x", "y", "z", "w"].get(usize::from(element)).copied().unwrap_or("…");
                name = format!("{name}.{element}");
            }
            (Met { id, member, element, name }, register)
        })
    }

    /// The registers of the text with their slots, by the numbers of these.
    pub fn debug_registers(&self, slots: &[u32]) -> Registers {
        let end_of_scope = self.ends_of_scopes();
        let of = |(met, register): (Met, Register)| {
            let variable = self.of.checked.variable(met.id);
            let slot = register.id.with_number(*slots.get(register.id.number() as usize)?);
            let (Met { id, member, element, name }, start) = (met, variable.span.start);
            let ends = end_of_scope.iter().filter(|block| block.start <= start && start < block.end);
            let end = ends.map(|block| block.end).min().unwrap_or(u32::MAX);
            let (ty, scope) = (variable.value_type()?, Span::new(start, end));
            Some(debug::Register { name, variable: id.0, member, element, ty, slot, scope })
        };
        Registers::new(self.met_registers().filter_map(of).collect())
    }

    /// The blocks of the body within its own braces.
    fn ends_of_scopes(&self) -> Vec<Span> {
        let (mut open, mut blocks) = (Vec::new(), Vec::new());
        for statement in self.statements {
            match statement {
                Statement::Open(span) => open.push(span.start),
                Statement::Close(span) => {
                    blocks.extend(open.pop().map(|start| Span::new(start, span.end)));
                }
                _ => {}
            }
        }
        blocks
    }
}
