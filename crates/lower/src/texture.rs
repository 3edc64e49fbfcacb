//! Textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).

use super::form::Form;
use super::function::{Builder, Lowered, Refusal, because};
use super::operand::Destination;
use softwarp_check::Reference;
use softwarp_ir::texture::handle_of;
use softwarp_ir::texture::{Detail, Handle, Lookup, Query, SurfaceAccess, SurfaceOp, TextureOp, Values};
use softwarp_ir::{Access, Address, AtomicOp, Memory, Operands, Step};
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_isa::space::opaque::Member;
use softwarp_isa::{Opaque, StateSpace, Type};
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::texture::Clamp;
use softwarp_units::texture::Geometry;

impl Builder<'_, '_> {
    /// Textures and surfaces.
    pub fn texture(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match form.shape.opcode {
            Opcode::Tex | Opcode::Tld4 => self.lookup(form, operands),
            Opcode::Txq => self.query(form, operands, Opaque::Texref),
            Opcode::Suq => self.query(form, operands, Opaque::Surfref),
            Opcode::Istypep => self.is_type(form, operands),
            _ => self.surface(form, operands),
        }
    }

    /// A texture, sampler or surface: by name, or what a register or parameter holds.
    fn handle(&mut self, index: u32, reads: &mut Vec<u32>) -> Lowered<Handle> {
        if let Some(register) = self.named_register(index)? {
            reads.push(self.fit(register, Type::U64)?);
            return Ok(Handle::Register);
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
                let (memory, named) = (Memory::Kernel, Some(object));
                let address =
                    Address { memory, base: softwarp_ir::NONE, wide: false, offset: offset as i64, named };
                let Some(access) = Access::new(address, 8, false, vec![(value, 64)]) else {
                    return because("with such a handle");
                };
                self.step_always(Step::Load(access));
                reads.push(value);
                Ok(Handle::Register)
            }
            _ => because(format!("with `{}`", is.name)),
        }
    }

    /// The parts of a vector, or a single value.
    fn parts(&mut self, index: u32, ty: Type) -> Lowered<Vec<u32>> {
        match self.operand(index).kind {
            OperandKind::Vector(parts) => self.places(parts).map(|part| self.source(part, ty)).collect(),
            _ => self.whole(index, ty),
        }
    }

    /// Their number: those beyond it are ignored.
    fn first_parts(&mut self, index: u32, ty: Type, count: usize, reads: &mut Vec<u32>) -> Lowered<()> {
        let parts = self.parts(index, ty)?;
        match parts.get(..count) {
            Some(parts) => reads.extend(parts),
            None => return because("with so few elements"),
        }
        Ok(())
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
    fn finish_texture(&mut self, op: TextureOp, reads: Vec<u32>, results: Vec<Destination>) -> Lowered<()> {
        let writes = results.iter().map(|result| result.slot).collect();
        self.step(Step::Texture(op, Operands { reads, writes, addresses: Vec::new() }))?;
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
        let [dtype, ctype] = form.shape.types[..] else { return Err(Refusal::Form) };
        let (values, ty) = match dtype {
            Type::F16 => (Values::Halves, Type::F16),
            Type::F16x2 => (Values::Pairs, Type::B32),
            _ => (Values::Words, Type::B32),
        };
        let channels = [Modifier::R, Modifier::G, Modifier::B, Modifier::A];
        let gather =
            channels.iter().position(|&channel| form.shape.opcode == Opcode::Tld4 && form.has(channel));
        let detail = match () {
            () if form.has(Modifier::Level) => Detail::Level,
            () if form.has(Modifier::Grad) => Detail::Gradient,
            () => Detail::Base,
        };
        let parts = self.bracketed(at)?;
        let mut inside = self.places(parts);
        let (Some(texture), Some(coordinates)) = (inside.next(), inside.next_back()) else {
            return Err(Refusal::Form);
        };
        let mut reads = Vec::new();
        let texture = self.handle(texture, &mut reads)?;
        // Elsewhere the assembler ignores what stands there.
        let sampler = match inside.next().filter(|_| self.of.checked.header.independent_textures) {
            Some(sampler) => Some(self.handle(sampler, &mut reads)?),
            None => None,
        };
        let mut lookup = Lookup {
            geometry,
            texture,
            sampler,
            integers: ctype == Type::S32,
            detail,
            offset: false,
            gather: gather.map(|channel| channel as u8),
            values,
            resident: false,
        };
        self.first_parts(coordinates, Type::B32, lookup.coordinates(), &mut reads)?;
        for _ in 0..match detail {
            Detail::Base => 0,
            Detail::Level => 1,
            Detail::Gradient => 2,
        } {
            let Some(operand) = places.next() else { return Err(Refusal::Form) };
            let count = if detail == Detail::Level { 1 } else { lookup.gradients() };
            let vector =
                matches!(self.operand(operand).kind, OperandKind::Vector(_)) || self.lanes(operand) > 1;
            if detail == Detail::Level && vector {
                return because("with a vector for the level of detail");
            }
            self.first_parts(operand, Type::B32, count, &mut reads)?;
        }
        // A scalar is what a depth texture is compared with. There are no such textures, and of others an H200
        // ignores it.
        if let Some(operand) = places.next()
            && (matches!(self.operand(operand).kind, OperandKind::Vector(_)) || self.lanes(operand) > 1)
        {
            self.first_parts(operand, Type::B32, geometry.dimensions(), &mut reads)?;
            lookup.offset = true;
        }
        let (vector, predicate) = match self.operand(d).kind {
            OperandKind::Pair(parts) => (parts.start, Some(parts.start + 1)),
            _ => (d, None),
        };
        let mut results = self.results(vector, ty)?;
        if results.len() != if values == Values::Pairs { 2 } else { 4 } {
            return Err(Refusal::Form);
        }
        if let Some(predicate) = predicate {
            results.push(self.destination(predicate, Type::Pred)?);
            lookup.resident = true;
        }
        self.finish_texture(TextureOp::Lookup(lookup), reads, results)
    }

    fn query(&mut self, form: &Form, operands: Range<Operand>, of: Opaque) -> Lowered<()> {
        let mut places = self.places(operands);
        let (Some(d), Some(at)) = (places.next(), places.next()) else { return Err(Refusal::Form) };
        let Some(member) = form.shape.words.iter().find_map(|word| Member::from_name(word.name())) else {
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
        let mut reads = Vec::new();
        let handle = self.handle(parts.start, &mut reads)?;
        let level = form.has(Modifier::Level);
        if level {
            let Some(operand) = places.next() else { return Err(Refusal::Form) };
            self.first_parts(operand, Type::B32, 1, &mut reads)?;
        }
        let results = self.results(d, Type::B32)?;
        self.finish_texture(TextureOp::Query(Query { member, of, handle, level }), reads, results)
    }

    fn is_type(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let Some(opaque) = form.shape.words.iter().find_map(|word| Opaque::from_name(word.name())) else {
            return Err(Refusal::Form);
        };
        let reads = vec![self.source(operands.start + 1, Type::U64)?];
        let results = vec![self.destination(operands.start, Type::Pred)?];
        self.finish_texture(TextureOp::IsType(opaque), reads, results)
    }

    fn surface(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let loads = form.shape.opcode == Opcode::Suld;
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
        let access = match form.shape.opcode {
            Opcode::Suld => SurfaceAccess::Load,
            Opcode::Sust if formatted => SurfaceAccess::StoreFormatted,
            Opcode::Sust => SurfaceAccess::Store,
            _ => {
                let Some(op) = form.shape.modifiers.iter().find_map(|&word| reduction(word)) else {
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
        let mut reads = Vec::new();
        let surface = self.handle(parts.start, &mut reads)?;
        let coordinates = geometry.dimensions() + usize::from(geometry.is_layered());
        self.first_parts(parts.start + 1, Type::B32, coordinates, &mut reads)?;
        let mut results = Vec::new();
        let elements = match loads {
            true => {
                results = self.results(data, ty)?;
                results.len()
            }
            false => {
                let stored = self.parts(data, ty)?;
                reads.extend(&stored);
                stored.len()
            }
        };
        let vector = usize::from(form.shape.vector);
        if vector > 1 && elements != vector {
            return because("with one value for a vector");
        }
        // What the assembler makes of these is not said.
        if vector == 1 && elements != 1 {
            return because("with a vector, but without `.v2` or `.v4`");
        }
        let bytes = (ty.bits() / 8) as u8;
        let op = SurfaceOp { access, geometry, surface, clamp, bytes, elements: elements as u8 };
        if !matches!(elements, 1 | 2 | 4) || u32::from(bytes) * elements as u32 > 16 {
            return Err(Refusal::Form);
        }
        self.finish_texture(TextureOp::Surface(op), reads, results)
    }
}

fn geometry(form: &Form) -> Lowered<Geometry> {
    form.shape.words.iter().find_map(|word| Geometry::from_name(word.name())).ok_or(Refusal::Form)
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
