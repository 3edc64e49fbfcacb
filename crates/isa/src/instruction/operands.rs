//! What the operands of a row want in a form that the row covers.

use super::Modifier::{
    A1d, A2d, A2dms, Acube, B2, Cube, D1, D2, D2Ms, D3, Im2colW, Im2colW128, OverrideGlobalAddress,
    OverrideGlobalDim, OverrideGlobalDimStride, TileGather4, TileScatter4,
};
use super::{
    Access, Coordinates, Fit, Forms, InstructionForm, Kind, Opcode, Overrides, Selector, Space, Value, Wanted,
};
use crate::row::language::{self, Count, Presence, Sparse};
use crate::{Opaque, Type};

/// The operand that a form wants.
pub(super) fn wanted(operand: &language::Operand, form: &InstructionForm) -> Wanted {
    let optional = operand.presence == Presence::Optional;
    let plain = |name, kind| Wanted { name, access: Access::Read, optional, kind };
    match &operand.kind {
        language::Kind::Value(value) => wanted_value(value, form, optional),
        language::Kind::Pair(first, second, may_lack) => {
            let first = wanted_value(first, form, false);
            let second = wanted_value(second, form, *may_lack);
            Wanted {
                name: first.name,
                access: first.access,
                optional,
                kind: Kind::Pair(Box::new(first), Box::new(second)),
            }
        }
        language::Kind::Address(name, space) => plain(name, Kind::Address(address(*space, form))),
        language::Kind::Texture(at) => plain("tex", handle(Opaque::Texref, at.as_ref(), form)),
        language::Kind::Surface(at) => plain("surf", handle(Opaque::Surfref, at.as_ref(), form)),
        language::Kind::Sampler => plain("sampler", handle(Opaque::Samplerref, None, form)),
        language::Kind::Tensor => plain("tensorMap", tensor(form)),
        language::Kind::Fabric(counter) => plain("leId", fabric(*counter)),
        language::Kind::Immediate(name, range) => plain(name, Kind::Immediate(*range)),
        language::Kind::Label => plain("label", Kind::Label),
        language::Kind::Sink => Wanted { access: Access::Write, ..plain("_", Kind::Sink) },
        language::Kind::Call => plain("call", Kind::Call),
    }
}

fn wanted_value(value: &language::Value, form: &InstructionForm, optional: bool) -> Wanted {
    let access = value.access();
    let kind = match value.instantiate(&form.types, access) {
        None => Kind::Any,
        Some(element) => match &value.count {
            None => Kind::Value(element),
            Some(Count::Fixed { counts, bare }) => {
                Kind::Vector { bare: *bare, counts: counts.clone(), element }
            }
            Some(Count::Columns { per }) => {
                let count = form.matrix().map_or(0, |matrix| matrix.n / u16::from(*per));
                Kind::Vector { bare: false, counts: vec![u8::try_from(count).unwrap_or(0)], element }
            }
            Some(Count::Free) if form.vector == 1 => {
                Kind::Vector { bare: true, counts: vec![1, 2, 4], element }
            }
            Some(Count::Free) => Kind::Vector { bare: false, counts: vec![form.vector], element },
            Some(Count::Im2col) => Kind::Vector { bare: false, counts: vec![im2col_count(form)], element },
            Some(Count::Offsets) => {
                Kind::Vector { bare: true, counts: offset_counts(form).to_vec(), element }
            }
            Some(Count::Sparse(part)) => {
                Kind::Vector { bare: false, counts: vec![sparse_count(*part, form)], element }
            }
            Some(Count::Gradients) => Kind::Vector { bare: false, counts: gradient_counts(form), element },
            Some(Count::Words { times, always }) => match form.vector.saturating_mul(*times) {
                // Of a vector some elements may be thrown away, but not a single value.
                1 if !always => {
                    Kind::Value(Value { forms: Forms { sink: false, ..element.forms }, ..element })
                }
                count => Kind::Vector { bare: false, counts: vec![count], element },
            },
        },
    };
    Wanted { name: value.name, access, optional, kind }
}

fn address(space: Option<&str>, form: &InstructionForm) -> Vec<Space> {
    let nth = |index: usize| form.spaces.get(index).copied().unwrap_or(Space::Generic);
    match space {
        None => vec![nth(0)],
        Some("2") => vec![nth(1)],
        Some("generic") => vec![Space::Generic],
        Some("tmem") => vec![Space::Tensor],
        Some(name) => name.split('|').map(|name| Space::from_name(name).unwrap_or(Space::Generic)).collect(),
    }
}

fn handle(of: Opaque, at: Option<&language::Value>, form: &InstructionForm) -> Kind {
    let coordinates = at.and_then(|value| {
        let element = value.instantiate(&form.types, Access::Read)?;
        let array = form.modifiers.iter().any(|word| matches!(word, A1d | A2d | Acube | A2dms));
        let index = Value { ty: Type::U32, fit: Fit::Fixed, ..element };
        let index = (array && of == Opaque::Texref).then_some(index);
        Some(Coordinates { counts: coordinate_counts(form), element, index })
    });
    Kind::Handle { of, coordinates }
}

/// How many coordinates a geometry takes. The assembler lets longer vectors pass; there are none of three.
fn coordinate_counts(form: &InstructionForm) -> &'static [u8] {
    let geometry = form.modifiers.iter().find_map(|word| match word {
        D1 => Some(1),
        D2 | A1d => Some(2),
        D3 | A2d | D2Ms | A2dms | Cube | Acube => Some(4),
        _ => None,
    });
    match geometry {
        Some(2) => &[2, 4],
        Some(4) => &[4],
        _ => &[1, 2, 4],
    }
}

/// How many offsets in texels a geometry takes: longer vectors pass, too.
fn offset_counts(form: &InstructionForm) -> &'static [u8] {
    match gradient_count(form) {
        1 => &[1, 2, 4],
        2 => &[2, 4],
        _ => &[4],
    }
}

/// How many directions a geometry has, layers and samples aside; three are written as four.
fn gradient_count(form: &InstructionForm) -> u8 {
    let directions = form.modifiers.iter().find_map(|word| match word {
        D1 | A1d => Some(1),
        D2 | A2d | D2Ms | A2dms => Some(2),
        _ => None,
    });
    directions.unwrap_or(4)
}

/// How many derivatives may stand: as many as there are directions; of cubes the assembler does not count them.
fn gradient_counts(form: &InstructionForm) -> Vec<u8> {
    match form.has(Cube) || form.has(Acube) {
        true => vec![1, 2, 4],
        false => vec![gradient_count(form)],
    }
}

/// How many offsets an im2col mode takes: one for each dimension but the channels and the images; the modes along W
/// take two, the offset and the halo.
fn im2col_count(form: &InstructionForm) -> u8 {
    match form.has(Im2colW) || form.has(Im2colW128) {
        true => 2,
        false => form.dimensions().map_or(1, |dimensions| dimensions.saturating_sub(2)),
    }
}

/// An endpoint and offsets in it: registers of 32 and 64 bits.
fn fabric(counter: bool) -> Kind {
    let register = |ty| Value {
        ty,
        fit: Fit::Fixed,
        forms: Forms {
            register: true,
            immediate: false,
            address: false,
            special: false,
            negated: false,
            sink: false,
            minus: false,
            selector: Selector::No,
        },
    };
    Kind::Fabric { endpoint: register(Type::U32), offset: register(Type::U64), counter }
}

/// How many words of 32 bits an operand of structured sparsity has: the elements, or their indices, of `.x4` groups.
/// `spcompress` counts words of compressed elements instead of groups, and `tcgen05.ld` words of dense ones.
fn sparse_count(part: Sparse, form: &InstructionForm) -> u8 {
    let (kept, of) = form.modifiers.iter().find_map(|word| word.sparsity()).unwrap_or((1, 1));
    let element = form.types.first().map_or(0, |ty| ty.bits());
    let index = if form.has(B2) { 2 } else { 4 };
    let times = u32::from(form.vector);
    let groups = match form.opcode {
        Opcode::Spcompress => times * 32 / (element * kept).max(1),
        Opcode::Tcgen05 => times * 32 / (element * of).max(1),
        _ => times,
    };
    let bits = match part {
        Sparse::Metadata => groups * kept * index,
        Sparse::Compressed => groups * kept * element,
        Sparse::Dense => groups * of * element,
    };
    u8::try_from(bits.div_ceil(32)).unwrap_or(0)
}

/// Four rows of a tensor of two dimensions are a column and four rows.
fn tensor(form: &InstructionForm) -> Kind {
    let overrides = if form.has(OverrideGlobalDim) {
        Overrides::Size
    } else if form.has(OverrideGlobalDimStride) {
        Overrides::Strides
    } else if form.has(OverrideGlobalAddress) {
        Overrides::Address
    } else {
        Overrides::None
    };
    if form.has(TileGather4) || form.has(TileScatter4) {
        return Kind::Tensor { dimensions: 5, overrides };
    }
    form.dimensions().map_or(Kind::Any, |dimensions| Kind::Tensor { dimensions, overrides })
}
