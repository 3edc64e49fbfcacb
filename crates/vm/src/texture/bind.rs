//! Opaque variables of modules: texture, sampler and surface references, and what stands for them in registers.

use super::sampler::{AddressMode, Filter, Sampler};
use super::{Bound, TextureReferences, Variable};
use softwarp_check::checked::FieldValue;
use softwarp_image::{Image, Object, ObjectId, State, Windows};
use softwarp_ir::texture::handle_of;
use softwarp_isa::space::opaque::{Member, TextureMode};
use softwarp_isa::{Opaque, StateSpace};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) fn opaque(object: &Object) -> Option<Opaque> {
    object.opaque().or((object.space == StateSpace::Tex).then_some(Opaque::Texref))
}

/// The sampler that an opaque variable's initialiser gives.
pub(crate) fn initial(object: &Object, element: u64, mode: TextureMode) -> Sampler {
    let mut sampler = Sampler::default();
    let Some(state) = State::of(object, element, mode) else { return sampler };
    for (member, value) in state.members() {
        let set = matches!(value, FieldValue::Number(1..));
        let word = if let FieldValue::Word(word) = value { word } else { "" };
        let address = match word {
            "wrap" => AddressMode::Wrap,
            "mirror" => AddressMode::Mirror,
            "clamp_to_border" => AddressMode::Border,
            _ => AddressMode::Clamp,
        };
        match member {
            Member::NormalizedCoords => sampler.normalized = set,
            Member::ForceUnnormalizedCoords => sampler.force_unnormalized = set,
            Member::FilterMode if word == "linear" => sampler.filter = Filter::Linear,
            Member::AddrMode0 => sampler.address[0] = address,
            Member::AddrMode1 => sampler.address[1] = address,
            Member::AddrMode2 => sampler.address[2] = address,
            _ => {}
        }
    }
    sampler
}

impl TextureReferences {
    /// The opaque variables of a module, with samplers as their initialisers say.
    pub(crate) fn of(image: &Image, windows: &Windows) -> TextureReferences {
        let (mut bound, mut variables) = (HashMap::new(), HashMap::new());
        let mode = mode(image);
        for index in 0..image.objects.len() {
            let id = ObjectId(index as u32);
            let object = image.object(id);
            let (Some(opaque), Some(first)) = (opaque(object), handle_of(image, windows, id, None)) else {
                continue;
            };
            let elements = object.total().checked_div(object.element).unwrap_or(1).clamp(1, 1 << 16);
            for element in 0..elements {
                let handle = first + element * object.element;
                let name = match elements {
                    1 => object.name.clone(),
                    _ => format!("{}[{element}]", object.name).into(),
                };
                let members = given(object, element, mode);
                variables.insert(handle, Variable { name, opaque, members });
                if opaque == Opaque::Samplerref {
                    bound.insert(handle, Bound::Sampler(initial(object, element, mode)));
                }
            }
        }
        TextureReferences { bound, variables: Arc::new(variables) }
    }
}

/// The members that an opaque variable's initialiser gives, for `txq` and `suq`.
fn given(object: &Object, element: u64, mode: TextureMode) -> Vec<(Member, u32)> {
    let Some(state) = State::of(object, element, mode) else { return Vec::new() };
    let number = |(member, value): (Member, FieldValue)| {
        let position = |word: &str| member.values().words().iter().position(|known| *known == word);
        let value = match value {
            FieldValue::Number(number) => number as u32,
            FieldValue::Word(word) => position(word).unwrap_or(0) as u32,
        };
        (member, value)
    };
    state.members().map(number).collect()
}

pub(crate) fn mode(image: &Image) -> TextureMode {
    match image.header.independent_textures {
        true => TextureMode::Independent,
        false => TextureMode::Unified,
    }
}
