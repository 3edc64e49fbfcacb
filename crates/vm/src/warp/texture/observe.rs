//! Tells the sanitizers which texels textures and surfaces are about to use: those that `each_texture` and `each_array`
//! find, as the executor has them.
//!
//! Texels in global memory are told with their addresses. Arrays have none: each gets a range of numbers that no address
//! is (`sanitize::ARRAYS`).

use super::{each_texture, look, name};
use crate::fault::{Nearest, Relative, Use, What};
use crate::sanitize::{Actor, Agent, Sanitizer, ShadowAddress, Touch};
use crate::texture::Source;
use crate::texture::sample::View;
use crate::warp::surface::{Accessed, TexelAccess, each_array, words};
use crate::warp::{Env, Split, Warp};
use softwarp_ir::texture::{Lookup, SurfaceAccess, SurfaceOp};
use softwarp_ir::{Memory, TextureOp};
use softwarp_units::lanes::{Frame, LANES, lanes};
use std::cell::RefCell;
use std::sync::Arc;

/// The most bytes of a surface access.
const MOST_BYTES: usize = 32;

/// Reports to a sanitizer.
struct Observer<'a, 'b> {
    env: &'a Env<'b>,
    sanitizer: &'a Sanitizer<'a>,
    actor: &'a Actor,
}

impl Observer<'_, '_> {
    /// An access to an array's texels, or to memory if it has no base.
    fn touch(&self, handle: u64, base: Option<u64>, touch: &Touch<'_>) {
        let named = || match base {
            None => self.env.spaces.nearest(Memory::Global, touch.at.address),
            Some(base) => {
                let what = What::Variable(name(self.env.launch.textures, handle));
                let at = Relative::Inside(touch.at.address - base);
                Some(Nearest { what, base, bytes: 0, at, freed: false })
            }
        };
        self.sanitizer.touch(self.env.launch, self.actor, touch, &named);
    }
}

impl Warp {
    /// An instruction of textures or surfaces is about to be executed. The executor reports bad operands.
    pub(crate) fn observe_texture(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        op: &TextureOp,
    ) {
        let frame = &self.calls[split.call as usize].frame;
        let see = Observer { env, sanitizer, actor };
        match op {
            TextureOp::Lookup(op) => see.lookups(frame, op),
            TextureOp::Surface(op) => {
                let textures = env.launch.textures;
                let _ = each_array(frame, textures, op, actor.lanes, |accessed| {
                    see.surface(frame, op, &accessed);
                });
            }
            TextureOp::Query(_) | TextureOp::IsType(_) => {}
        }
    }
}

impl Observer<'_, '_> {
    /// `tex`, `tld4`: looks up as the executor does, and reports the texels that were read.
    fn lookups(&self, frame: &Frame, op: &Lookup) {
        let (env, textures) = (self.env, self.env.launch.textures);
        let _ = each_texture(frame, textures, &env.spaces, op, self.actor.lanes, |looked| {
            let seen = RefCell::new(Vec::new());
            let view = View { seen: Some(&seen), ..looked.view };
            let bytes = view.format.bytes().into();
            let start = view.levels.first().map_or(0, |level| level.offset);
            let (base, first) = match &looked.texture.source {
                Source::Array(array) => {
                    let base = self.sanitizer.array(Arc::as_ptr(array) as usize);
                    (Some(base), base)
                }
                Source::Linear { address, .. } | Source::Pitch { address, .. } => {
                    (None, address.wrapping_sub(start))
                }
            };
            for lane in lanes(looked.lanes) {
                let mut results = [[0; LANES]; 4];
                look(frame, &view, op, looked.linear, 1 << lane, &mut results);
                for offset in seen.borrow_mut().drain(..) {
                    let at = self.at(first.wrapping_add(offset));
                    let read = Touch::by_thread(lane, Use::Read, at, bytes);
                    self.touch(looked.handle, base, &Touch { agent: Agent::Lookup, ..read });
                }
            }
        });
    }

    /// `suld`, `sust`, `sured`
    fn surface(&self, frame: &Frame, op: &SurfaceOp, accessed: &Accessed<'_>) {
        let base = self.sanitizer.array(Arc::as_ptr(accessed.array) as usize);
        let TexelAccess { bytes, usage, order } = accessed.access;
        // The bytes of a store that converts nothing are known.
        let stores = op.access == SurfaceAccess::Store;
        let rows: Vec<[u64; LANES]> =
            op.data.iter().filter(|_| stores).map(|&slot| words(frame, slot, op.bytes)).collect();
        for lane in lanes(accessed.lanes) {
            let Some(spot) = accessed.spots[lane] else { continue };
            let mut buffer = [0; MOST_BYTES];
            for (room, row) in buffer.chunks_mut(op.bytes.max(1).into()).zip(&rows) {
                room.iter_mut().zip(row[lane].to_le_bytes()).for_each(|(to, from)| *to = from);
            }
            let data = if stores { buffer.get(..bytes as usize) } else { None };
            let touch = Touch::by_thread(lane, usage, self.at(base + spot as u64), bytes.into());
            self.touch(accessed.handle, Some(base), &Touch { order, data, ..touch });
        }
    }

    /// An address in global memory, or the number of a texel.
    fn at(&self, address: u64) -> ShadowAddress {
        ShadowAddress { space: Memory::Global, cta: self.env.cta, address }
    }
}
