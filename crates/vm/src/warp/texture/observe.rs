//! Tells the sanitizers which texels textures and surfaces are about to use.
//!
//! Texels in global memory are told with their addresses. Arrays have none: each gets a range of numbers that no address
//! is (`sanitize::ARRAYS`).

use super::{each_texture, look, name};
use crate::fault::{Nearest, Relative, Use, What};
use crate::sanitize::{Actor, Agent, Sanitizer, Touch};
use crate::texture::Source;
use crate::texture::sample::View;
use crate::warp::surface::{each_array, words};
use crate::warp::{Env, Split, Warp};
use softwarp_ir::texture::SurfaceAccess;
use softwarp_ir::{Memory, Order, Scope, TextureOp};
use softwarp_units::lanes::{LANES, lanes};
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
            None => self.env.spaces.nearest(Memory::Global, touch.address),
            Some(base) => {
                let what = What::Variable(name(self.env.launch.textures, handle));
                let at = Relative::Inside(touch.address - base);
                Some(Nearest { what, base, bytes: 0, at, freed: false })
            }
        };
        self.sanitizer.touch(self.env.launch, self.actor, touch, &named);
    }
}

impl Warp {
    /// An instruction of textures or surfaces is about to be executed. What is wrong with it is found then.
    pub(crate) fn observe_texture(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        op: &TextureOp,
    ) {
        let frame = &self.calls[split.call as usize].frame;
        let textures = env.launch.textures;
        let see = Observer { env, sanitizer, actor };
        let (space, cta, completes) = (Memory::Global, env.cta, None);
        match op {
            TextureOp::Lookup(op) => {
                let _ = each_texture(frame, textures, &env.spaces, op, actor.lanes, |looked| {
                    let seen = RefCell::new(Vec::new());
                    let view = View { seen: Some(&seen), ..looked.view };
                    let bytes = view.format.bytes().into();
                    let start = view.levels.first().map_or(0, |level| level.offset);
                    let (base, first) = match &looked.texture.source {
                        Source::Array(array) => {
                            let base = sanitizer.array(Arc::as_ptr(array) as usize);
                            (Some(base), base)
                        }
                        Source::Linear { address, .. } | Source::Pitch { address, .. } => {
                            (None, address.wrapping_sub(start))
                        }
                    };
                    for lane in lanes(looked.lanes) {
                        let mut results = [[0; LANES]; 4];
                        look(frame, &view, op, looked.linear, 1 << lane, &mut results);
                        for at in seen.borrow_mut().drain(..) {
                            let (address, usage, agent) = (first.wrapping_add(at), Use::Read, Agent::Lookup);
                            let (order, data) = (Order::WEAK, None);
                            let touch = Touch {
                                lane,
                                usage,
                                order,
                                space,
                                cta,
                                address,
                                bytes,
                                data,
                                agent,
                                completes,
                            };
                            see.touch(looked.handle, base, &touch);
                        }
                    }
                });
            }
            TextureOp::Surface(op) => {
                let _ = each_array(frame, textures, op, actor.lanes, |accessed| {
                    let base = sanitizer.array(Arc::as_ptr(accessed.array) as usize);
                    let (usage, order, bytes) = match op.access {
                        SurfaceAccess::Load => {
                            (Use::Read, Order::WEAK, u32::from(op.bytes) * op.elements() as u32)
                        }
                        SurfaceAccess::Store => {
                            (Use::Write, Order::WEAK, u32::from(op.bytes) * op.elements() as u32)
                        }
                        SurfaceAccess::StoreFormatted => {
                            (Use::Write, Order::WEAK, accessed.array.description.format.bytes())
                        }
                        SurfaceAccess::Reduce(_, ty) | SurfaceAccess::ReduceFormatted(_, ty) => {
                            (Use::Atomic, Order::relaxed(Scope::Gpu), ty.bits() / 8)
                        }
                    };
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
                        let (address, agent) = (base + spot as u64, Agent::Thread);
                        let bytes = bytes.into();
                        let touch =
                            Touch { lane, usage, order, space, cta, address, bytes, data, agent, completes };
                        see.touch(accessed.handle, Some(base), &touch);
                    }
                });
            }
            TextureOp::Query(_) | TextureOp::IsType(_) => {}
        }
    }
}
