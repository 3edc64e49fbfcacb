//! Textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).
//!
//! Lanes with the same handles are executed together: their texture is looked up once.

mod observe;

use super::run::{Flow, first};
use super::{Env, Split, Warp};
use crate::fault::{BadTexture, FaultKind, Tried, Trouble};
use crate::memory::Spaces;
use crate::texture::array::Level;
use crate::texture::query::answer;
use crate::texture::sample::{SamplePoint, View};
use crate::texture::sampler::{AddressMode, Sampler};
use crate::texture::{Bound, Geometry, Source, Texture, Textures, fast, level};
use softwarp_ir::texture::{Detail, Handle, Lookup, Query, Values};
use softwarp_ir::{Slot, TextureOp};
use softwarp_num::half::{Binary16, Half};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// The fault of a handle, for the first lane that has it.
pub(super) fn trouble<T>(lanes: u32, bad: BadTexture) -> Tried<T> {
    Err(Trouble::new(first(lanes), FaultKind::Texture(Box::new(bad))))
}

/// The name of a handle in faults.
pub(super) fn name(textures: &Textures, handle: u64) -> String {
    match textures.variable(handle) {
        Some(variable) => variable.name.to_string(),
        None => format!("handle 0x{handle:x}"),
    }
}

/// The object of a handle; a fault if there is none.
pub(super) fn find<'a>(
    textures: &'a Textures,
    handle: u64,
    wanted: &'static str,
    lanes: u32,
) -> Tried<&'a Bound> {
    match (textures.find(handle), textures.variable(handle)) {
        (Some(bound), _) => Ok(bound),
        (None, Some(variable)) => trouble(lanes, BadTexture::Unbound { name: variable.name.to_string() }),
        (None, None) => trouble(lanes, BadTexture::NoHandle { handle, wanted }),
    }
}

/// The handle of each lane.
pub(super) fn handles(frame: &Frame, handle: Handle) -> [u64; LANES] {
    match handle {
        Handle::Known(handle) => [handle; LANES],
        Handle::Register(slot) => frame.row::<u64>(slot),
    }
}

/// The lanes that have the same words as the first of them.
pub(super) fn alike(rest: u32, same: impl Fn(usize, usize) -> bool) -> u32 {
    let lead = first(rest);
    lanes(rest).filter(|&lane| same(lead, lane)).fold(0, |mask, lane| mask | 1 << lane)
}

/// Whether all lanes have the same words, including lanes that do not take part. It has no branch for each lane.
fn all_alike(words: &[u64; LANES]) -> bool {
    words.iter().fold(0, |different, word| different | (word ^ words[0])) == 0
}

impl Warp {
    /// Executes an operation of textures and surfaces for the lanes of a split that take part.
    pub(super) fn texture(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &TextureOp,
        taking: u32,
    ) -> Tried<Flow> {
        let frame = &mut self.calls[split.call as usize].frame;
        let textures = env.launch.textures;
        match op {
            TextureOp::Lookup(op) => lookup(frame, textures, &env.spaces, op, taking)?,
            TextureOp::Query(op) => query(frame, textures, op, taking)?,
            TextureOp::Surface(op) => super::surface::access(frame, textures, op, taking)?,
            TextureOp::IsType(op) => {
                let is = frame.row::<u64>(op.pointer).map(|at| textures.variable(at).map(|it| it.opaque));
                let holds = |lane: usize| u32::from(is[lane] == Some(op.opaque)) << lane;
                let mask = (0..LANES).fold(0, |mask, lane| mask | holds(lane));
                frame.set_predicate(op.d, mask, taking);
            }
        }
        Ok(Flow::Next)
    }
}

/// `txq`, `suq`
fn query(frame: &mut Frame, textures: &Textures, op: &Query, taking: u32) -> Tried<()> {
    let handles = handles(frame, op.handle);
    let level = op.level.map(|slot| frame.row::<u32>(slot));
    let mut values = [0; LANES];
    for lane in lanes(taking) {
        let level = level.map(|level| level[lane] as i32);
        values[lane] = match answer(textures, handles[lane], op.of, op.member, level) {
            Ok(value) => value,
            Err(bad) => return trouble(1 << lane, bad),
        };
    }
    frame.set_row(op.d, values, taking);
    Ok(())
}

/// `tex`, `tld4`
fn lookup(
    frame: &mut Frame,
    textures: &Textures,
    spaces: &Spaces<'_>,
    op: &Lookup,
    taking: u32,
) -> Tried<()> {
    let mut results = [[0u32; LANES]; 4];
    each_texture(frame, textures, spaces, op, taking, |looked| {
        look(frame, &looked.view, op, looked.linear, looked.lanes, &mut results);
    })?;
    finish(frame, op, &results, taking);
    Ok(())
}

/// Lanes that look into the same texture.
struct Looked<'a> {
    handle: u64,
    texture: &'a Texture,
    view: View<'a>,
    linear: bool,
    lanes: u32,
}

/// Calls a function for lanes that have the same texture and sampler.
fn each_texture(
    frame: &Frame,
    textures: &Textures,
    spaces: &Spaces<'_>,
    op: &Lookup,
    taking: u32,
    mut f: impl FnMut(Looked<'_>),
) -> Tried<()> {
    let texture_handles = handles(frame, op.texture);
    let sampler_handles = op.sampler.map_or([0; LANES], |sampler| handles(frame, sampler));
    let mut left = taking;
    while left != 0 {
        let together = match all_alike(&texture_handles) && all_alike(&sampler_handles) {
            true => left,
            false => alike(left, |a, b| {
                texture_handles[a] == texture_handles[b] && sampler_handles[a] == sampler_handles[b]
            }),
        };
        let lead = first(together);
        let handle = texture_handles[lead];
        let texture = match find(textures, handle, "a texture", together)? {
            Bound::Texture(texture) => texture,
            other => {
                let (name, is) = (name(textures, handle), other.words());
                return trouble(together, BadTexture::Kind { name, is, wanted: "a texture" });
            }
        };
        let mut sampler = texture.sampler;
        if op.sampler.is_some() {
            let handle = sampler_handles[lead];
            sampler = match find(textures, handle, "a sampler", together)? {
                Bound::Sampler(own) => {
                    Sampler { normalized: texture.sampler.normalized && !own.force_unnormalized, ..*own }
                }
                other => {
                    let (name, is) = (name(textures, handle), other.words());
                    return trouble(together, BadTexture::Kind { name, is, wanted: "a sampler" });
                }
            };
        }
        let is = texture.source.geometry();
        if !op.geometry.reads(is) {
            let bad = BadTexture::Geometry { name: name(textures, handle), is, wanted: op.geometry };
            return trouble(together, bad);
        }
        let mut own = [Level { offset: 0, size: [1; 3], pitch: 0, slice: 0 }];
        let Some(view) = view(texture, &sampler, op.geometry, spaces, &mut own) else {
            return trouble(together, BadTexture::Freed { name: name(textures, handle) });
        };
        let linear = matches!(texture.source, Source::Linear { .. });
        f(Looked { handle, texture, view, linear, lanes: together });
        left &= !together;
    }
    Ok(())
}

/// A texture's texels; `None` if they are in memory that is not there any more.
fn view<'a>(
    texture: &'a Texture,
    sampler: &'a Sampler,
    geometry: Geometry,
    spaces: &Spaces<'a>,
    own: &'a mut [Level; 1],
) -> Option<View<'a>> {
    let format = texture.source.format();
    let bordered = sampler.address.contains(&AddressMode::Border);
    let border = if bordered {
        crate::texture::sample::border(format, texture.integers, sampler.border)
    } else {
        [0; 4]
    };
    let integers = texture.integers;
    let (cells, levels, layers, samples): (_, &[Level], _, _) = match &texture.source {
        Source::Array(array) => {
            let description = &array.description;
            (&array.cells, &array.levels, description.layers, description.samples)
        }
        Source::Linear { address, texels, .. } => {
            let bytes = u64::from(*texels) * u64::from(format.bytes());
            let (cells, offset) = spaces.global.range(*address, bytes).ok()?;
            *own = [Level { offset, size: [*texels, 1, 1], pitch: bytes, slice: bytes }];
            (cells, &own[..], 1, 1)
        }
        Source::Pitch { address, width, height, pitch, .. } => {
            let row = u64::from(*width) * u64::from(format.bytes());
            let bytes = pitch * u64::from(height.saturating_sub(1)) + row;
            let (cells, offset) = spaces.global.range(*address, bytes).ok()?;
            *own = [Level { offset, size: [*width, *height, 1], pitch: *pitch, slice: bytes }];
            (cells, &own[..], 1, 1)
        }
    };
    Some(View { cells, levels, layers, samples, format, geometry, integers, sampler, border, seen: None })
}

/// The lookups of lanes that have the same texture and sampler.
fn look(
    frame: &Frame,
    view: &View<'_>,
    op: &Lookup,
    linear: bool,
    taking: u32,
    results: &mut [[u32; LANES]; 4],
) {
    let plain = !op.integers && op.offsets.is_empty() && op.detail == Detail::Base && op.gather.is_none();
    if let [x, y] = *op.coordinates
        && plain
        && fast::look(view, &frame.row(x), &frame.row(y), taking, results)
    {
        return;
    }
    let rows = |slots: &[Slot]| -> [[u32; LANES]; 4] {
        std::array::from_fn(|n| slots.get(n).map_or([0; LANES], |&slot| frame.row::<u32>(slot)))
    };
    let mut coordinates = rows(&op.coordinates);
    let (mut layer, mut sample) = ([0; LANES], [0; LANES]);
    if op.geometry.is_layered() {
        layer = coordinates[0];
        coordinates.rotate_left(1);
    }
    if op.geometry.is_multisampled() {
        sample = coordinates[0];
        coordinates.rotate_left(1);
    }
    let levels = view.levels.len() as u32;
    let (detail, gradients) = match &op.detail {
        Detail::Base => ([0; LANES], None),
        Detail::Level(slot) => (frame.row::<u32>(*slot), None),
        Detail::Gradient([x, y]) => ([0; LANES], Some([rows(x), rows(y)])),
    };
    let offsets = rows(&op.offsets);
    for lane in lanes(taking) {
        // Offsets have four bits. In one dimension the bits above them are an offset to the row, which has an effect
        // at the border only.
        let mut offset = [0, 1, 2].map(|n: usize| (offsets[n][lane] as i32) << 28 >> 28);
        if op.geometry == Geometry::D1 {
            offset[1] = (offsets[0][lane] as i32) << 24 >> 28;
        }
        // Textures over a row of memory are read by other instructions than arrays of one dimension.
        let misfit = op.geometry == Geometry::D1 && op.integers != linear;
        let value = if misfit {
            [0; 4]
        } else if op.integers {
            let index = [0, 1, 2].map(|n: usize| (coordinates[n][lane] as i32).wrapping_add(offset[n]));
            let level = matches!(op.detail, Detail::Level(_)).then_some(detail[lane] as i32);
            view.fetch(index, layer[lane], level, sample[lane])
        } else {
            let at = [0, 1, 2].map(|n: usize| f32::from_bits(coordinates[n][lane]));
            let detail = match (&op.detail, &gradients) {
                (Detail::Level(_), _) => level::explicit(f32::from_bits(detail[lane]), levels),
                (Detail::Gradient(_), Some(along)) => {
                    let along = [0, 1]
                        .map(|n: usize| [0, 1, 2].map(|part: usize| f32::from_bits(along[n][part][lane])));
                    view.detail(at, along)
                }
                _ => 0,
            };
            let place = SamplePoint { at, layer: layer[lane], detail, offset };
            match op.gather {
                Some(channel) => view.gather(&place, usize::from(channel)),
                None => view.sample(&place),
            }
        };
        for (row, word) in results.iter_mut().zip(value) {
            row[lane] = word;
        }
    }
}

/// Writes the results of lookups to registers. All texels are resident.
fn finish(frame: &mut Frame, op: &Lookup, results: &[[u32; LANES]; 4], taking: u32) {
    let half = |word: u32| u32::from(Binary16::narrow(f32::from_bits(word)));
    match op.values {
        Values::Words => {
            op.d.iter().zip(results).for_each(|(&d, row)| frame.set_row(d, *row, taking));
        }
        Values::Halves => {
            op.d.iter().zip(results).for_each(|(&d, row)| frame.set_row(d, row.map(half), taking));
        }
        Values::Pairs => {
            for (&d, pair) in op.d.iter().zip(results.chunks_exact(2)) {
                let packed = std::array::from_fn(|lane| half(pair[0][lane]) | half(pair[1][lane]) << 16);
                frame.set_row(d, packed, taking);
            }
        }
    }
    if let Some(predicate) = op.resident {
        frame.set_predicate(predicate, u32::MAX, taking);
    }
}
