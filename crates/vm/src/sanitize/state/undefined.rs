//! Reports registers that are undefined where they are used.

use super::{Actor, Sanitizer};
use crate::fault::Place;
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use crate::sanitize::defined::{Cause, Misuse};
use crate::sanitize::{Finding, FindingKind, Site};
use softwarp_units::lanes::LANES;

/// The numbers of what is found, once for each register and for each shuffle.
const REGISTER: u8 = 30;
const SHUFFLE: u8 = 31;

impl Sanitizer<'_> {
    /// Whether undefined registers are looked for.
    pub(crate) fn tracks_registers(&self) -> bool {
        self.wants.init || self.wants.sync
    }

    /// A register is used that is undefined.
    pub(crate) fn undefined(&self, launch: &LaunchInfo<'_>, actor: &Actor, misuse: Misuse) {
        let lane = misuse.lanes.trailing_zeros() as usize % LANES;
        let at = self.site_of(launch, actor, lane);
        let thread = actor.warp * LANES as u32 + lane as u32;
        let kernel = launch.name.into();
        let (key, kind, other) = match misuse.cause {
            Cause::Register(code, index) if self.wants.init => {
                let Some(of) = launch.program.codes.get(code as usize) else { return };
                let table = of.registers.as_deref();
                let Some(origin) = table.and_then(|table| table.origins.get(index as usize)) else { return };
                let function = launch.image.function(of.function);
                let place = Place {
                    function: of.function,
                    function_name: function.name.to_string(),
                    unit: function.unit,
                    span: origin.span,
                    ..at.place.clone()
                };
                let (register, never) = (origin.name.clone(), origin.never);
                let kind = FindingKind::UndefinedRegister { register, usage: misuse.usage, never };
                ((REGISTER, code, index, 0), kind, Some(Site { place, location: None }))
            }
            Cause::Shuffle(code, pc) if self.wants.sync => {
                let op = self.op(&Actor { code, pc, ..*actor });
                let other = self.site(launch, op, actor.cta, thread, misuse.lanes);
                ((SHUFFLE, op, 0, 0), FindingKind::UndefinedShuffle, Some(other))
            }
            _ => return,
        };
        let finding = Finding { kind, kernel, at, other, touched: None, count: 1 };
        lock(&self.state).report(key, finding);
    }
}
