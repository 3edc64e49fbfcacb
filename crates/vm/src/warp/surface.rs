//! Accesses of surfaces (PTX ISA section 9.7.11).
//!
//! [`each_array`] finds what lanes access: the array, the place of each lane in it ([`Spots`]), the number of bytes and
//! the kind of access ([`TexelAccess`]). The executor performs these accesses, and `texture/observe.rs` reports them.

use super::atomic::combination;
use super::run::first;
use super::texture::{alike, find, handles, name, trouble};
use crate::fault::{BadTexture, Tried, Use};
use crate::memory::cell::{SharedBytes, Unit};
use crate::texture::array::Array;
use crate::texture::surface::{Spot, formatted};
use crate::texture::{Bound, Textures};
use softwarp_ir::texture::{SurfaceAccess, SurfaceOp};
use softwarp_ir::{AtomicOp, Order, Scope, Slot};
use softwarp_isa::Type;
use softwarp_units::lanes::{Frame, LANES, lanes};
use std::sync::Arc;

/// The place in the array that each lane accesses; `None` out of range.
pub(super) type Spots = [Option<usize>; LANES];

/// `suld`, `sust`, `sured`
pub(super) fn access(frame: &mut Frame, textures: &Textures, op: &SurfaceOp, taking: u32) -> Tried<()> {
    let mut found = Vec::with_capacity(1);
    each_array(frame, textures, op, taking, |accessed| found.push(accessed))?;
    for Accessed { array, spots, lanes, .. } in found {
        perform(frame, array, op, &spots, lanes);
    }
    Ok(())
}

/// The access of each lane to an array.
#[derive(Clone, Copy)]
pub(super) struct TexelAccess {
    pub bytes: u32,
    pub usage: Use,
    pub order: Order,
}

impl TexelAccess {
    fn of(array: &Array, op: &SurfaceOp) -> TexelAccess {
        let (usage, order) = match op.access {
            SurfaceAccess::Load => (Use::Read, Order::WEAK),
            SurfaceAccess::Store | SurfaceAccess::StoreFormatted => (Use::Write, Order::WEAK),
            SurfaceAccess::Reduce(..) | SurfaceAccess::ReduceFormatted(..) => {
                (Use::Atomic, Order::relaxed(Scope::Gpu))
            }
        };
        let bytes = match op.access {
            SurfaceAccess::StoreFormatted => array.description.format.bytes(),
            _ => u32::from(op.bytes) * op.elements() as u32,
        };
        TexelAccess { bytes, usage, order }
    }
}

/// Lanes that access the same surface.
pub(super) struct Accessed<'a> {
    pub handle: u64,
    pub array: &'a Arc<Array>,
    pub access: TexelAccess,
    pub spots: Spots,
    pub lanes: u32,
}

/// Calls a function for lanes that have the same surface.
pub(super) fn each_array<'a>(
    frame: &Frame,
    textures: &'a Textures,
    op: &SurfaceOp,
    taking: u32,
    mut f: impl FnMut(Accessed<'a>),
) -> Tried<()> {
    let handles = handles(frame, op.surface);
    let places = &op.coordinates;
    let mut left = taking;
    while left != 0 {
        let together = alike(left, |a, b| handles[a] == handles[b]);
        let handle = handles[first(together)];
        let array = match find(textures, handle, "a surface", together)? {
            Bound::Surface(array) => array,
            other => {
                let (name, is) = (name(textures, handle), other.words());
                return trouble(together, BadTexture::Kind { name, is, wanted: "a surface" });
            }
        };
        let is = array.description.geometry;
        if !op.geometry.reads(is) {
            let bad = BadTexture::Geometry { name: name(textures, handle), is, wanted: op.geometry };
            return trouble(together, bad);
        }
        // A layer and two coordinates, or three.
        let rows: [[u32; LANES]; 3] =
            std::array::from_fn(|n| places.get(n).map_or([0; LANES], |&slot| frame.row::<u32>(slot)));
        let access = TexelAccess::of(array, op);
        let mut spots = [None; LANES];
        for lane in lanes(together) {
            let coordinates = [0, 1, 2].map(|n: usize| rows[n][lane] as i32);
            spots[lane] = match spot(array, op, access.bytes, coordinates.get(..places.len()).unwrap_or(&[]))
            {
                Ok(spot) => spot,
                Err(mut bad) => {
                    if let BadTexture::OutOfRange { name: own, .. }
                    | BadTexture::Misaligned { name: own, .. } = &mut bad
                    {
                        *own = name(textures, handle);
                    }
                    return trouble(1 << lane, bad);
                }
            };
        }
        f(Accessed { handle, array, access, spots, lanes: together });
        left &= !together;
    }
    Ok(())
}

/// The place of an access of `bytes` bytes; `None` if it is out of range and ignored. Faults have no name yet.
fn spot(array: &Array, op: &SurfaceOp, bytes: u32, coordinates: &[i32]) -> Result<Option<usize>, BadTexture> {
    let part = |n: usize| coordinates.get(n).copied().unwrap_or(0);
    let texel = array.description.format.bytes();
    let scale = match op.access {
        SurfaceAccess::StoreFormatted => texel as i32,
        SurfaceAccess::ReduceFormatted(..) => bytes as i32,
        _ => 1,
    };
    let layered = usize::from(op.geometry.is_layered());
    let x = part(layered).saturating_mul(scale);
    let y = if op.geometry.dimensions() > 1 { part(layered + 1) } else { 0 };
    let slice = match layered {
        // An index has no sign.
        1 => i32::try_from(part(0) as u32).unwrap_or(i32::MAX),
        _ if op.geometry.dimensions() > 2 => part(2),
        _ => 0,
    };
    match array.spot(x, y, slice, bytes, op.clamp) {
        Spot::At(at) => Ok(Some(at as usize)),
        Spot::Misaligned => Err(BadTexture::Misaligned { name: String::new(), x, bytes }),
        Spot::Outside if op.clamp == crate::texture::surface::Clamp::Trap => {
            let [width, height, depth] = array.description.size;
            let first = width * texel / scale as u32;
            let mut size = vec![first, height, depth];
            size.truncate(op.geometry.dimensions());
            if layered == 1 {
                size.insert(0, array.description.layers);
            }
            Err(BadTexture::OutOfRange { name: String::new(), coordinates: coordinates.to_vec(), size })
        }
        Spot::Outside => Ok(None),
    }
}

fn perform(frame: &mut Frame, array: &Array, op: &SurfaceOp, spots: &Spots, taking: u32) {
    let cells = &array.cells;
    match op.access {
        SurfaceAccess::Load => {
            let size = usize::from(op.bytes);
            let texels = spots.map(|spot| {
                let mut texel = Texel::default();
                if let Some(spot) = spot {
                    cells.read(spot as u64, &mut texel[..(size * op.d.len()).min(16)]);
                }
                texel
            });
            for (n, &d) in op.d.iter().enumerate() {
                let row = texels.map(|texel| channel(&texel, n * size, size));
                match op.bytes {
                    8 => frame.set_row(d, row, taking),
                    _ => frame.set_row(d, row.map(|word| word as u32), taking),
                }
            }
        }
        SurfaceAccess::Store => {
            let rows = op.data.iter().map(|&slot| words(frame, slot, op.bytes));
            store(cells, &rows.collect::<Vec<_>>(), usize::from(op.bytes), spots, taking);
        }
        SurfaceAccess::StoreFormatted => {
            let format = array.description.format;
            // Channels that the instruction does not give become zero.
            let rows = (0..usize::from(format.channels)).map(|n| {
                let row = op.data.get(n).map_or([0; LANES], |&slot| frame.row::<u32>(slot));
                row.map(|word| u64::from(formatted(format.channel, word)))
            });
            store(cells, &rows.collect::<Vec<_>>(), format.channel.bytes() as usize, spots, taking);
        }
        SurfaceAccess::Reduce(reduction, ty) => reduce(frame, cells, reduction, ty, &op.data, spots, taking),
        SurfaceAccess::ReduceFormatted(reduction, ty) => {
            let ty = match (ty.bits(), array.description.format.channel.is_signed()) {
                (64, true) => Type::S64,
                (64, false) => Type::U64,
                (_, true) => Type::S32,
                (_, false) => Type::U32,
            };
            reduce(frame, cells, reduction, ty, &op.data, spots, taking);
        }
    }
}

/// The bytes of a texel, which are accessed in one piece.
type Texel = [u8; 16];

/// A channel of `bytes` bytes of a texel, extended with zeros.
fn channel(texel: &Texel, at: usize, bytes: usize) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(texel.iter().skip(at).take(bytes)).for_each(|(to, byte)| *to = *byte);
    u64::from_le_bytes(word)
}

/// Stores the channels of texels, of `bytes` bytes each.
fn store(cells: &SharedBytes, rows: &[[u64; LANES]], bytes: usize, spots: &Spots, taking: u32) {
    for lane in lanes(taking) {
        let Some(spot) = spots[lane] else { continue };
        let mut texel = Texel::default();
        for (to, row) in texel.chunks_mut(bytes.max(1)).zip(rows) {
            let size = to.len().min(8);
            to[..size].copy_from_slice(&row[lane].to_le_bytes()[..size]);
        }
        cells.write(spot as u64, &texel[..(bytes * rows.len()).min(16)]);
    }
}

/// A row of words of a given number of bytes.
pub(super) fn words(frame: &Frame, slot: Slot, bytes: u8) -> [u64; LANES] {
    match bytes {
        8 => frame.row::<u64>(slot),
        _ => frame.row::<u32>(slot).map(u64::from),
    }
}

fn reduce(
    frame: &Frame,
    cells: &SharedBytes,
    reduction: AtomicOp,
    ty: Type,
    data: &[Slot],
    spots: &Spots,
    taking: u32,
) {
    let combine = combination(reduction, ty, true, true);
    let Some(&slot) = data.first() else { return };
    let row = words(frame, slot, (ty.bits() / 8) as u8);
    for lane in lanes(taking) {
        let Some(spot) = spots[lane] else { continue };
        match ty.bits() {
            64 => {
                u64::update(cells, spot, |before| combine(before, row[lane], 0));
            }
            _ => {
                u32::update(cells, spot, |before| combine(before.into(), row[lane], 0) as u32);
            }
        }
    }
}
