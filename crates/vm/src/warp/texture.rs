//! Textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).
//!
//! Lanes with the same handles go together: what they stand for is found once.

mod observe;

use super::run::{Flow, first};
use super::{Env, Split, Warp};
use crate::fault::{BadTexture, FaultKind, Tried, Trouble};
use crate::memory::Spaces;
use crate::texture::array::Level;
use crate::texture::query::answer;
use crate::texture::sample::{Place, View};
use crate::texture::sampler::{AddressMode, Sampler};
use crate::texture::{Bound, Geometry, Source, Texture, Textures, fast, level};
use softwarp_ir::Operands;
use softwarp_ir::texture::{Detail, Handle, Lookup, Query, TextureOp, Values};
use softwarp_num::half::{Binary16, Half};
use softwarp_units::lanes::{Frame, LANES, lanes};

/// What is wrong with a handle, for the first lane that has it.
pub(super) fn trouble<T>(lanes: u32, bad: BadTexture) -> Tried<T> {
    Err(Trouble::new(first(lanes), FaultKind::Texture(Box::new(bad))))
}

/// What a handle is called in faults.
pub(super) fn name(textures: &Textures, handle: u64) -> String {
    match textures.variable(handle) {
        Some(variable) => variable.name.to_string(),
        None => format!("handle 0x{handle:x}"),
    }
}

/// What a handle stands for, where something must.
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

/// The words of a handle for each lane, and the reads that are left.
pub(super) fn handles<'a>(frame: &Frame, handle: Handle, reads: &'a [u32]) -> ([u64; LANES], &'a [u32]) {
    match (handle, reads.split_first()) {
        (Handle::Known(handle), _) => ([handle; LANES], reads),
        (Handle::Register, Some((&slot, rest))) => (frame.row::<u64>(slot), rest),
        (Handle::Register, None) => ([0; LANES], reads),
    }
}

/// Those of some lanes that have the same words as the first one.
pub(super) fn alike(rest: u32, same: impl Fn(usize, usize) -> bool) -> u32 {
    let lead = first(rest);
    lanes(rest).filter(|&lane| same(lead, lane)).fold(0, |mask, lane| mask | 1 << lane)
}

/// Whether all lanes have the same words, those too that take no part; without a branch for each.
fn all_alike(words: &[u64; LANES]) -> bool {
    words.iter().fold(0, |different, word| different | (word ^ words[0])) == 0
}

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn texture(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &TextureOp,
        operands: &Operands,
        taking: u32,
    ) -> Tried<Flow> {
        let frame = &mut self.calls[split.call as usize].frame;
        let textures = env.launch.textures;
        match op {
            TextureOp::Lookup(op) => lookup(frame, textures, &env.spaces, op, operands, taking)?,
            TextureOp::Query(op) => query(frame, textures, op, operands, taking)?,
            TextureOp::Surface(op) => super::surface::access(frame, textures, op, operands, taking)?,
            TextureOp::IsType(opaque) => {
                if let ([pointer], [d]) = (&operands.reads[..], &operands.writes[..]) {
                    let is = frame.row::<u64>(*pointer).map(|at| textures.variable(at).map(|it| it.opaque));
                    let mask =
                        (0..LANES).fold(0, |mask, lane| mask | u32::from(is[lane] == Some(*opaque)) << lane);
                    frame.set_predicate(*d, mask, taking);
                }
            }
        }
        Ok(Flow::Next)
    }
}

/// `txq`, `suq`
fn query(frame: &mut Frame, textures: &Textures, op: &Query, operands: &Operands, taking: u32) -> Tried<()> {
    let (handles, rest) = handles(frame, op.handle, &operands.reads);
    let level = rest.first().filter(|_| op.level).map(|&slot| frame.row::<u32>(slot));
    let mut values = [0; LANES];
    for lane in lanes(taking) {
        let level = level.map(|level| level[lane] as i32);
        values[lane] = match answer(textures, handles[lane], op.of, op.member, level) {
            Ok(value) => value,
            Err(bad) => return trouble(1 << lane, bad),
        };
    }
    if let [d] = operands.writes[..] {
        frame.set_row(d, values, taking);
    }
    Ok(())
}

/// `tex`, `tld4`
fn lookup(
    frame: &mut Frame,
    textures: &Textures,
    spaces: &Spaces<'_>,
    op: &Lookup,
    operands: &Operands,
    taking: u32,
) -> Tried<()> {
    let mut results = [[0u32; LANES]; 4];
    each_texture(frame, textures, spaces, op, operands, taking, |looked| {
        look(frame, &looked.view, op, looked.reads, looked.linear, looked.lanes, &mut results);
    })?;
    finish(frame, op, &operands.writes, &results, taking);
    Ok(())
}

/// Lanes that look into the same texture.
struct Looked<'a> {
    handle: u64,
    texture: &'a Texture,
    view: View<'a>,
    /// The coordinates and what is behind them.
    reads: &'a [u32],
    linear: bool,
    lanes: u32,
}

/// Calls a function for lanes that have the same texture and sampler.
fn each_texture(
    frame: &Frame,
    textures: &Textures,
    spaces: &Spaces<'_>,
    op: &Lookup,
    operands: &Operands,
    taking: u32,
    mut f: impl FnMut(Looked<'_>),
) -> Tried<()> {
    let (texture_handles, rest) = handles(frame, op.texture, &operands.reads);
    let (sampler_handles, rest) = match op.sampler {
        Some(sampler) => handles(frame, sampler, rest),
        None => ([0; LANES], rest),
    };
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
        f(Looked { handle, texture, view, reads: rest, linear, lanes: together });
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
    reads: &[u32],
    linear: bool,
    taking: u32,
    results: &mut [[u32; LANES]; 4],
) {
    let plain = !op.integers && !op.offset && op.detail == Detail::Base && op.gather.is_none();
    if let [x, y] = *reads
        && plain
        && fast::look(view, &frame.row(x), &frame.row(y), taking, results)
    {
        return;
    }
    let mut rows = reads.iter().map(|&slot| frame.row::<u32>(slot));
    let mut take = |count: usize| -> [[u32; LANES]; 4] {
        std::array::from_fn(|n| if n < count { rows.next().unwrap_or([0; LANES]) } else { [0; LANES] })
    };
    let mut coordinates = take(op.coordinates());
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
    let (detail, gradients) = match op.detail {
        Detail::Base => ([0; LANES], None),
        Detail::Level => (take(1)[0], None),
        Detail::Gradient => ([0; LANES], Some([take(op.gradients()), take(op.gradients())])),
    };
    let offsets = if op.offset { take(op.geometry.dimensions()) } else { [[0; LANES]; 4] };
    for lane in lanes(taking) {
        // Offsets have four bits. In one dimension what is above them is the row's, which only the border shows.
        let mut offset = [0, 1, 2].map(|n: usize| (offsets[n][lane] as i32) << 28 >> 28);
        if op.geometry == Geometry::D1 {
            offset[1] = (offsets[0][lane] as i32) << 24 >> 28;
        }
        // The hardware has another kind of texture for rows in memory, and other instructions.
        let misfit = op.geometry == Geometry::D1 && op.integers != linear;
        let value = if misfit {
            [0; 4]
        } else if op.integers {
            let index = [0, 1, 2].map(|n: usize| (coordinates[n][lane] as i32).wrapping_add(offset[n]));
            let level = (op.detail == Detail::Level).then_some(detail[lane] as i32);
            view.fetch(index, layer[lane], level, sample[lane])
        } else {
            let at = [0, 1, 2].map(|n: usize| f32::from_bits(coordinates[n][lane]));
            let detail = match (op.detail, &gradients) {
                (Detail::Level, _) => level::explicit(f32::from_bits(detail[lane]), levels),
                (Detail::Gradient, Some(along)) => {
                    let along = [0, 1]
                        .map(|n: usize| [0, 1, 2].map(|part: usize| f32::from_bits(along[n][part][lane])));
                    view.detail(at, along)
                }
                _ => 0,
            };
            let place = Place { at, layer: layer[lane], detail, offset };
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

/// Writes what lookups gave. Everything is resident.
fn finish(frame: &mut Frame, op: &Lookup, writes: &[u32], results: &[[u32; LANES]; 4], taking: u32) {
    let half = |word: u32| u32::from(Binary16::narrow(f32::from_bits(word)));
    let count = match op.values {
        Values::Words => {
            writes.iter().zip(results).for_each(|(&d, row)| frame.set_row(d, *row, taking));
            4
        }
        Values::Halves => {
            writes.iter().zip(results).for_each(|(&d, row)| frame.set_row(d, row.map(half), taking));
            4
        }
        Values::Pairs => {
            for (&d, pair) in writes.iter().zip(results.chunks_exact(2)) {
                let packed = std::array::from_fn(|lane| half(pair[0][lane]) | half(pair[1][lane]) << 16);
                frame.set_row(d, packed, taking);
            }
            2
        }
    };
    if let Some(&predicate) = writes.get(count).filter(|_| op.resident) {
        frame.set_predicate(predicate, u32::MAX, taking);
    }
}
