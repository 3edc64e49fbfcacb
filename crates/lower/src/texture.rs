//! Textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use crate::operand::Destination;
use softwarp_check::Reference;
use softwarp_ir::texture::handle_of;
use softwarp_ir::texture::{Detail, Handle, IsType, Lookup, Query, SurfaceAccess, SurfaceOp, Values};
use softwarp_ir::{Access, Address, AtomicOp, Element, Memory, Slot, Step, TextureOp};
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_isa::space::opaque::Member;
use softwarp_isa::{Opaque, StateSpace, Type};
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::texture::Clamp;
use softwarp_units::texture::Geometry;

impl Builder<'_, '_> {
    /// Textures and surfaces.
    pub fn texture(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match form.instruction.opcode {
            Opcode::Tex | Opcode::Tld4 => self.lookup(form, operands),
            Opcode::Txq => self.query(form, operands, Opaque::Texref),
            Opcode::Suq => self.query(form, operands, Opaque::Surfref),
            Opcode::Istypep => self.is_type(form, operands),
            Opcode::Suld | Opcode::Sust | Opcode::Sured => self.surface(form, operands),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// A texture, sampler or surface: by name, or what a register or parameter holds.
    fn handle(&mut self, index: u32) -> Lowered<Handle> {
        if let Some(register) = self.named_register(index)? {
            return Ok(Handle::Register(self.fit(register, Type::U64)?));
        }
        let Reference::Variable(id, member) = self.reference(index) else {
            return because("with such a handle");
        };
        let object = self.session.image.object_of(self.unit, id);
        if let Some(handle) = handle_of(self.session.image, &self.session.windows, object, member) {
            return Ok(Handle::Known(handle));
        }
        let is = self.session.image.object(object);
        match (is.space, is.offset) {
            // A kernel's parameter holds a handle.
            (StateSpace::Param, Some(offset)) if self.entry => {
                let value = self.fresh(64);
                let address = Address::fixed(Memory::Kernel, offset as i64, Some(object));
                let Some(access) = Access::new(address, 8, false, vec![Element::new(value, 64)]) else {
                    return because("with such a handle");
                };
                self.step_always(Step::Load(access));
                Ok(Handle::Register(value))
            }
            _ => because(format!("with `{}`", is.name)),
        }
    }

    /// The parts of a vector, or a single value.
    fn parts(&mut self, index: u32, ty: Type) -> Lowered<Vec<Slot>> {
        match self.operand(index).kind {
            OperandKind::Vector(parts) => self.places(parts).map(|part| self.source(part, ty)).collect(),
            _ => self.whole(index, ty),
        }
    }

    /// The first parts of a vector; the others are ignored.
    fn first_parts(&mut self, index: u32, ty: Type, count: usize) -> Lowered<Vec<Slot>> {
        let mut parts = self.parts(index, ty)?;
        if parts.len() < count {
            return because("with so few elements");
        }
        parts.truncate(count);
        Ok(parts)
    }

    /// The registers of a vector, or a single one, to be written.
    fn results(&mut self, index: u32, ty: Type) -> Lowered<Vec<Destination>> {
        match (self.operand(index).kind, self.reference(index)) {
            (OperandKind::Vector(parts), _) => {
                self.places(parts).map(|part| self.destination(part, ty)).collect()
            }
            (OperandKind::Name(_), Reference::Variable(id, member)) if self.lanes(index) > 1 => {
                let lanes = 0..self.lanes(index);
                lanes.map(|n| self.register(id, member, n).map(|one| Destination::plain(one.id))).collect()
            }
            _ => Ok(vec![self.destination(index, ty)?]),
        }
    }

    /// Appends the step, and what extends its results to their registers.
    fn finish_texture(&mut self, op: TextureOp, results: Vec<Destination>) -> Lowered<()> {
        self.step(Step::Texture(op))?;
        results.into_iter().for_each(|result| self.deliver(result));
        Ok(())
    }

    /// What stands between the brackets.
    fn bracketed(&self, index: u32) -> Lowered<Range<Operand>> {
        match self.operand(index).kind {
            OperandKind::Address(parts) => Ok(parts),
            _ => Err(Refusal::Form),
        }
    }

    fn lookup(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let mut places = self.places(operands);
        let (Some(d), Some(at)) = (places.next(), places.next()) else { return Err(Refusal::Form) };
        let geometry = geometry(form)?;
        let [dtype, ctype] = form.instruction.types[..] else { return Err(Refusal::Form) };
        let (values, ty) = match dtype {
            Type::F16 => (Values::Halves, Type::F16),
            Type::F16x2 => (Values::Pairs, Type::B32),
            _ => (Values::Words, Type::B32),
        };
        let channels = [Modifier::R, Modifier::G, Modifier::B, Modifier::A];
        let gather =
            channels.iter().position(|&channel| form.instruction.opcode == Opcode::Tld4 && form.has(channel));
        let parts = self.bracketed(at)?;
        let mut inside = self.places(parts);
        let (Some(texture), Some(coordinates)) = (inside.next(), inside.next_back()) else {
            return Err(Refusal::Form);
        };
        let texture = self.handle(texture)?;
        // Elsewhere the assembler ignores what stands there.
        let sampler = match inside.next().filter(|_| self.of.checked.header.independent_textures) {
            Some(sampler) => Some(self.handle(sampler)?),
            None => None,
        };
        let coordinates = self.first_parts(coordinates, Type::B32, Lookup::coordinates(geometry))?;
        let detail = self.detail(form, geometry, &mut places)?;
        // A scalar is what a depth texture is compared with. There are no such textures, and of others an H200
        // ignores it.
        let offsets = match places.next() {
            Some(operand) if self.is_vector(operand) => {
                self.first_parts(operand, Type::B32, geometry.dimensions())?
            }
            _ => Vec::new(),
        };
        let (vector, predicate) = match self.operand(d).kind {
            OperandKind::Pair(parts) => (parts.start, Some(parts.start + 1)),
            _ => (d, None),
        };
        let mut results = self.results(vector, ty)?;
        if results.len() != if values == Values::Pairs { 2 } else { 4 } {
            return Err(Refusal::Form);
        }
        let d = results.iter().map(|result| result.slot).collect();
        let mut resident = None;
        if let Some(predicate) = predicate {
            let predicate = self.destination(predicate, Type::Pred)?;
            resident = Some(predicate.slot);
            results.push(predicate);
        }
        let op = Lookup {
            d,
            resident,
            texture,
            sampler,
            coordinates,
            detail,
            offsets,
            geometry,
            integers: ctype == Type::S32,
            gather: gather.map(|channel| channel as u8),
            values,
        };
        self.finish_texture(TextureOp::Lookup(op), results)
    }

    /// The level of detail of a lookup, and the operands that it takes.
    fn detail(
        &mut self,
        form: &Form,
        geometry: Geometry,
        places: &mut std::ops::Range<u32>,
    ) -> Lowered<Detail> {
        let mut next = || places.next().ok_or(Refusal::Form);
        Ok(match () {
            () if form.has(Modifier::Level) => {
                let operand = next()?;
                if self.is_vector(operand) {
                    return because("with a vector for the level of detail");
                }
                Detail::Level(self.source(operand, Type::B32)?)
            }
            () if form.has(Modifier::Grad) => {
                let count = Lookup::gradients(geometry);
                let x = self.first_parts(next()?, Type::B32, count)?;
                let y = self.first_parts(next()?, Type::B32, count)?;
                Detail::Gradient([x, y])
            }
            () => Detail::Base,
        })
    }

    /// Whether an operand is a vector.
    fn is_vector(&self, index: u32) -> bool {
        matches!(self.operand(index).kind, OperandKind::Vector(_)) || self.lanes(index) > 1
    }

    fn query(&mut self, form: &Form, operands: Range<Operand>, of: Opaque) -> Lowered<()> {
        let mut places = self.places(operands);
        let (Some(d), Some(at)) = (places.next(), places.next()) else { return Err(Refusal::Form) };
        let Some(member) = form.instruction.words.iter().find_map(|word| Member::from_name(word.name()))
        else {
            return Err(Refusal::Form);
        };
        let samples = matches!(
            member,
            Member::FilterMode
                | Member::AddrMode0
                | Member::AddrMode1
                | Member::AddrMode2
                | Member::ForceUnnormalizedCoords
        );
        let of = match self.of.checked.header.independent_textures && samples {
            true => Opaque::Samplerref,
            false => of,
        };
        let parts = self.bracketed(at)?;
        let handle = self.handle(parts.start)?;
        let mut level = None;
        if form.has(Modifier::Level) {
            let Some(operand) = places.next() else { return Err(Refusal::Form) };
            level = self.first_parts(operand, Type::B32, 1)?.first().copied();
        }
        let d = self.destination(d, Type::B32)?;
        self.finish_texture(TextureOp::Query(Query { d: d.slot, handle, level, member, of }), vec![d])
    }

    fn is_type(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let Some(opaque) = form.instruction.words.iter().find_map(|word| Opaque::from_name(word.name()))
        else {
            return Err(Refusal::Form);
        };
        let pointer = self.source(operands.start + 1, Type::U64)?;
        let d = self.destination(operands.start, Type::Pred)?;
        self.finish_texture(TextureOp::IsType(IsType { d: d.slot, pointer, opaque }), vec![d])
    }

    fn surface(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let loads = form.instruction.opcode == Opcode::Suld;
        let (at, data) = match loads {
            true => (operands.start + 1, operands.start),
            false => (operands.start, operands.start + 1),
        };
        if operands.len != 2 {
            return Err(Refusal::Form);
        }
        let geometry = geometry(form)?;
        let clamp = match () {
            () if form.has(Modifier::Trap) => Clamp::Trap,
            () if form.has(Modifier::Clamp) => Clamp::Clamp,
            () => Clamp::Zero,
        };
        let ty = form.ty();
        let formatted = form.has(Modifier::P);
        let access = match form.instruction.opcode {
            Opcode::Suld => SurfaceAccess::Load,
            Opcode::Sust if formatted => SurfaceAccess::StoreFormatted,
            Opcode::Sust => SurfaceAccess::Store,
            _ => {
                let Some(op) = form.instruction.modifiers.iter().find_map(|&word| reduction(word)) else {
                    return Err(Refusal::Form);
                };
                match formatted {
                    true => SurfaceAccess::ReduceFormatted(op, ty),
                    false => SurfaceAccess::Reduce(op, ty),
                }
            }
        };
        let parts = self.bracketed(at)?;
        if parts.len != 2 {
            return Err(Refusal::Form);
        }
        let surface = self.handle(parts.start)?;
        let count = geometry.dimensions() + usize::from(geometry.is_layered());
        let coordinates = self.first_parts(parts.start + 1, Type::B32, count)?;
        let (results, data) = match loads {
            true => (self.results(data, ty)?, Vec::new()),
            false => (Vec::new(), self.parts(data, ty)?),
        };
        let elements = if loads { results.len() } else { data.len() };
        let vector = usize::from(form.instruction.vector);
        if vector > 1 && elements != vector {
            return because("with one value for a vector");
        }
        // What the assembler makes of these is not said.
        if vector == 1 && elements != 1 {
            return because("with a vector, but without `.v2` or `.v4`");
        }
        let bytes = (ty.bits() / 8) as u8;
        if !matches!(elements, 1 | 2 | 4) || u32::from(bytes) * elements as u32 > 16 {
            return Err(Refusal::Form);
        }
        let d = results.iter().map(|result| result.slot).collect();
        let op = SurfaceOp { d, surface, coordinates, data, access, geometry, clamp, bytes };
        self.finish_texture(TextureOp::Surface(op), results)
    }
}

fn geometry(form: &Form) -> Lowered<Geometry> {
    form.instruction.words.iter().find_map(|word| Geometry::from_name(word.name())).ok_or(Refusal::Form)
}

fn reduction(modifier: Modifier) -> Option<AtomicOp> {
    Some(match modifier {
        Modifier::Add => AtomicOp::Add,
        Modifier::Min => AtomicOp::Min,
        Modifier::Max => AtomicOp::Max,
        Modifier::And => AtomicOp::And,
        Modifier::Or => AtomicOp::Or,
        _ => return None,
    })
}
