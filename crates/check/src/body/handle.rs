//! The operands of texture and surface instructions (PTX ISA sections 9.7.10 and 9.7.11): `[tex, {x, y}]`,
//! `[tex, sampler, {x, y}]`, `[surf, {x}]`, and `[tensor-map, {x, y}]`.
//!
//! A handle is the name of an opaque variable or parameter, or a 64-bit register with its address. Samplers
//! must be named where textures and samplers are separate (`texmode_independent`); elsewhere the assembler
//! ignores the handle that stands there.

use super::Walk;
use super::accepts::{Accepts, Spaces};
use super::address::INDIRECT_TEXTURES;
use super::forms::{Special, Want};
use super::meaning::Meaning;
use super::mismatch::{Fits, Forbidden, Reason, Sort, mismatch};
use softwarp_isa::instruction::{Overrides, Space};
use softwarp_isa::{Opaque, StateSpace, Type, Version};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Operand, OperandKind};

impl Walk<'_, '_> {
    /// `[tex, {x}]`
    pub(super) fn handle(
        &mut self,
        of: Opaque,
        coordinates: Option<(&'static [u8], Accepts)>,
        (array, cube): (bool, bool),
        operand: &Operand,
    ) -> Fits {
        let at = operand.span;
        let OperandKind::Address(parts) = operand.kind else {
            let error = matches!(operand.kind, OperandKind::Error);
            return if error { Ok(()) } else { mismatch(at, Reason::Sort(Sort::Register)) };
        };
        let parts = parts.of(&self.context.module.operands);
        let independent = self.context.checked.header.independent_textures && of == Opaque::Texref;
        let (handle, sampler, place) = match (parts, coordinates.is_some()) {
            ([handle], false) => (handle, None, None),
            ([handle, coordinates], true) => (handle, None, Some(coordinates)),
            ([handle, sampler, coordinates], true) if of == Opaque::Texref => {
                (handle, Some(sampler), Some(coordinates))
            }
            _ => return mismatch(at, Reason::Sort(Sort::List)),
        };
        self.opaque(of, handle)?;
        match sampler {
            Some(sampler) if independent => self.opaque(Opaque::Samplerref, sampler)?,
            Some(_) if cube => return mismatch(at, Reason::Sort(Sort::List)),
            Some(sampler) => self.any_handle(sampler)?,
            None if independent && coordinates.is_some() => {
                return mismatch(at, Reason::Forbidden(Forbidden::Sampler));
            }
            None => {}
        }
        match (coordinates, place) {
            (Some((counts, element)), Some(place)) => self.coordinates(of, (counts, element), array, place),
            _ => Ok(()),
        }
    }

    /// The name of an opaque variable of this type, or a register with its address.
    fn opaque(&mut self, of: Opaque, operand: &Operand) -> Fits {
        let at = operand.span;
        let OperandKind::Name(symbol) = operand.kind else { return mismatch(at, Reason::Handle(of)) };
        match self.meaning(symbol) {
            Meaning::Register { ty: Type::B64 | Type::U64 | Type::S64, lanes: 1, .. }
                if self.has_indirect() =>
            {
                Ok(())
            }
            Meaning::Register { ty: Type::B64 | Type::U64 | Type::S64, lanes: 1, .. } => {
                mismatch(at, Reason::Forbidden(Forbidden::IndirectHandle))
            }
            Meaning::Variable(id) => {
                let variable = self.context.checked.variable(id);
                let texture = variable.space == StateSpace::Tex && of == Opaque::Texref;
                if (variable.opaque() == Some(of) && !variable.is_array()) || texture {
                    Ok(())
                } else {
                    mismatch(at, Reason::Handle(of))
                }
            }
            Meaning::Unknown => mismatch(at, Reason::Undeclared(symbol)),
            _ => mismatch(at, Reason::Handle(of)),
        }
    }

    /// A sampler where textures have their own: the assembler ignores it, but wants a handle.
    fn any_handle(&mut self, operand: &Operand) -> Fits {
        let OperandKind::Name(symbol) = operand.kind else {
            return mismatch(operand.span, Reason::Handle(Opaque::Samplerref));
        };
        match self.meaning(symbol) {
            Meaning::Variable(id) if self.context.checked.variable(id).opaque().is_some() => Ok(()),
            _ => self.opaque(Opaque::Samplerref, operand),
        }
    }

    /// Whether handles can be in registers.
    fn has_indirect(&self) -> bool {
        let (version, sm) = INDIRECT_TEXTURES;
        self.context.version() >= version && self.context.target().sm() >= sm
    }

    fn coordinates(
        &mut self,
        of: Opaque,
        (counts, element): (&[u8], Accepts),
        array: bool,
        operand: &Operand,
    ) -> Fits {
        let place = matches!(operand.kind, OperandKind::Name(_) | OperandKind::Member(..));
        let vector = matches!(operand.kind, OperandKind::Vector(_));
        if !place && !vector && !matches!(operand.kind, OperandKind::Error) {
            return mismatch(operand.span, Reason::Sort(Sort::Constant));
        }
        // Integers may stand for the coordinates of a texture, in a vector and not for a single one.
        let lanes = match operand.kind {
            OperandKind::Name(symbol) => matches!(self.meaning(symbol), Meaning::Register { lanes: 2.., .. }),
            _ => vector,
        };
        let element = if lanes { element.with_integers() } else { element };
        if array && let OperandKind::Vector(parts) = operand.kind {
            return self.layered(counts, element, parts.of(&self.context.module.operands), operand);
        }
        let want = Want::source("c", element);
        // The first versions have four coordinates in braces, whatever the geometry.
        if self.context.version() < Version::new(1, 2) && matches!(operand.kind, OperandKind::Vector(_)) {
            return self.vector(&want, &[4], element, false, operand);
        }
        // The assembler lets one register stand for all coordinates.
        let bare = counts.contains(&1) || of == Opaque::Surfref || !array;
        self.vector(&want, counts, element, bare, operand)
    }

    /// `{index, x, y}`: the layer of an array, and coordinates that can be of another type.
    fn layered(&mut self, counts: &[u8], element: Accepts, parts: &[Operand], operand: &Operand) -> Fits {
        if !counts.iter().any(|&count| usize::from(count) == parts.len()) {
            return mismatch(operand.span, Reason::Size { found: parts.len() });
        }
        let [index, rest @ ..] = parts else { return Ok(()) };
        if !self.is_special(index) {
            let want = Want::source("c", Accepts::INDEX);
            self.value(Special::No, &want, Accepts::INDEX, index)?;
        }
        self.braced(&Want::source("c", element), element, rest, operand.span)
    }

    /// `[tensor-map, {x, y}]`: the map is in global memory, or its address in a register, whatever the register's type;
    /// the coordinates are 32-bit integers in braces.
    pub(super) fn tensor(&mut self, dimensions: u8, overrides: Overrides, operand: &Operand) -> Fits {
        let at = operand.span;
        let OperandKind::Address(parts) = operand.kind else {
            let error = matches!(operand.kind, OperandKind::Error);
            return if error { Ok(()) } else { mismatch(at, Reason::Sort(Sort::Register)) };
        };
        let [map, between @ .., coordinates] = parts.of(&self.context.module.operands) else {
            return mismatch(at, Reason::Sort(Sort::Address));
        };
        self.tensor_map(map)?;
        if !matches!(coordinates.kind, OperandKind::Vector(_) | OperandKind::Error) {
            return mismatch(coordinates.span, Reason::Size { found: 1 });
        }
        self.overrides(dimensions, overrides, at, between)?;
        let want = Want::source("tensorCoords", Accepts::INDEX);
        match coordinates.kind {
            OperandKind::Vector(_) => self.vector(&want, &[dimensions], Accepts::INDEX, false, coordinates),
            OperandKind::Error => Ok(()),
            _ => mismatch(coordinates.span, Reason::Size { found: 1 }),
        }
    }

    /// What stands between a tensor map and the coordinates.
    fn overrides(&mut self, dimensions: u8, overrides: Overrides, at: Span, parts: &[Operand]) -> Fits {
        let (address, sizes) = match (overrides, parts) {
            (Overrides::None, []) => return Ok(()),
            (Overrides::Address, [address]) => (address, None),
            (Overrides::Size, [address, sizes]) => (address, Some((sizes, None))),
            (Overrides::Strides, [address, sizes, strides, upper]) => {
                (address, Some((sizes, Some((strides, upper)))))
            }
            _ => return mismatch(at, Reason::Sort(Sort::Address)),
        };
        let mut value = |name, accepts, operand: &Operand| match operand.kind {
            OperandKind::Name(_) | OperandKind::Error => {
                self.value(Special::No, &Want::source(name, accepts), accepts, operand)
            }
            _ => mismatch(operand.span, Reason::Sort(Sort::Vector)),
        };
        value("gAddrToOverride", Accepts::REPLACED_ADDRESS, address)?;
        if let Some((_, Some((_, upper)))) = sizes {
            value("tensorUpperStrideToOverride", Accepts::REPLACED_UPPER, upper)?;
        }
        let mut vector = |name, accepts, count, operand: &Operand| match operand.kind {
            OperandKind::Vector(_) => {
                self.vector(&Want::source(name, accepts), &[count], accepts, false, operand)
            }
            OperandKind::Error => Ok(()),
            _ => mismatch(operand.span, Reason::Size { found: 1 }),
        };
        if let Some((sizes, strides)) = sizes {
            vector("tensorSizeToOverride", Accepts::REPLACED_SIZE, dimensions, sizes)?;
            if let Some((strides, _)) = strides {
                let count = dimensions.saturating_sub(1);
                vector("tensorLowerStrideToOverride", Accepts::REPLACED_STRIDE, count, strides)?;
            }
        }
        Ok(())
    }

    /// `[endpoint, offset]` or `[endpoint, offset, counter]`: registers.
    pub(super) fn fabric(
        &mut self,
        endpoint: Accepts,
        offset: Accepts,
        counter: bool,
        operand: &Operand,
    ) -> Fits {
        let at = operand.span;
        let OperandKind::Address(parts) = operand.kind else {
            let error = matches!(operand.kind, OperandKind::Error);
            return if error { Ok(()) } else { mismatch(at, Reason::Sort(Sort::Register)) };
        };
        let parts = parts.of(&self.context.module.operands);
        if parts.len() != if counter { 3 } else { 2 } {
            return mismatch(at, Reason::Sort(Sort::Address));
        }
        for (index, part) in parts.iter().enumerate() {
            let (name, accepts) = if index == 0 { ("leId", endpoint) } else { ("offset", offset) };
            match part.kind {
                OperandKind::Name(_) | OperandKind::Error => {}
                _ => return mismatch(part.span, Reason::Sort(Sort::Constant)),
            }
            self.value(Special::No, &Want::source(name, accepts), accepts, part)?;
        }
        Ok(())
    }

    fn tensor_map(&mut self, map: &Operand) -> Fits {
        let symbol = match map.kind {
            OperandKind::Name(symbol) => symbol,
            OperandKind::Offset(base, _) => match base.of(&self.context.module.operands) {
                [Operand { kind: OperandKind::Name(symbol), .. }] => *symbol,
                _ => return mismatch(map.span, Reason::Forbidden(Forbidden::ImmediateAddress)),
            },
            OperandKind::Error => return Ok(()),
            _ => return mismatch(map.span, Reason::Forbidden(Forbidden::ImmediateAddress)),
        };
        match self.meaning(symbol) {
            Meaning::Register { .. } => Ok(()),
            Meaning::Variable(id) => match self.context.checked.variable(id).space {
                StateSpace::Global => Ok(()),
                _ => mismatch(map.span, Reason::Space { id, spaces: Spaces::one(Space::Global) }),
            },
            Meaning::Special(_) => mismatch(map.span, Reason::Forbidden(Forbidden::Special)),
            Meaning::Unknown => mismatch(map.span, Reason::Undeclared(symbol)),
            Meaning::Function(_) => mismatch(map.span, Reason::Sort(Sort::Function)),
            Meaning::Label(_) => mismatch(map.span, Reason::Sort(Sort::Label)),
            Meaning::WarpSize => mismatch(map.span, Reason::Forbidden(Forbidden::ImmediateAddress)),
        }
    }
}
