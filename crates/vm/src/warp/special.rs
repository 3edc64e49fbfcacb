//! Special registers (PTX ISA chapter 10).

use super::{Env, Warp};
use crate::memory::Spaces;
use softwarp_ir::{Slot, Special};
use softwarp_isa::device::{MULTIPROCESSORS, RESERVED_SHARED, RESERVED_SHARED_USED, SHARED_UNIT};
use softwarp_units::lanes::LANES;

impl Warp {
    /// Reads a special register.
    pub(super) fn special(&mut self, env: &mut Env<'_>, call: usize, register: Special, d: Slot, mask: u32) {
        let frame = &mut self.calls[call].frame;
        if register.is_wide() {
            let value = match register {
                Special::GridId => env.launch.number,
                Special::Clock64 => env.meter.clock(env.launch),
                Special::GlobalTimer => env.meter.nanoseconds(env.launch),
                _ => 0,
            };
            frame.set_row(d, [value; LANES], mask);
            return;
        }
        let launch = env.launch;
        if register == Special::IsExplicitCluster {
            frame.set_predicate(d, if launch.clustered { u32::MAX } else { 0 }, mask);
            return;
        }
        let clock = match register {
            Special::Clock | Special::ClockHi => env.meter.clock(launch),
            Special::GlobalTimerLo | Special::GlobalTimerHi => env.meter.nanoseconds(launch),
            _ => 0,
        };
        let row = self.special_row(env, register, clock);
        self.calls[call].frame.set_row(d, row, mask);
    }

    /// The values of a special register of 32 bits; of a clock, from what it says.
    pub(super) fn special_row(&self, env: &Env<'_>, register: Special, clock: u64) -> [u32; LANES] {
        let launch = env.launch;
        let lanes = |f: fn(u32) -> u32| -> [u32; LANES] { std::array::from_fn(|lane| f(lane as u32)) };
        let all = |value: u32| [value; LANES];
        let at = |list: [u32; 3], index: u8| list.get(usize::from(index)).copied().unwrap_or(0);
        let size = |index: u8| at(launch.cluster, index).max(1);
        match register {
            Special::Tid(index) => self.tid.get(usize::from(index)).map_or([0; LANES], |row| row.0),
            Special::Ntid(index) => all(at(launch.block, index)),
            Special::Ctaid(index) => all(at(env.cta, index)),
            Special::Nctaid(index) => all(at(launch.grid, index)),
            Special::LaneId => lanes(|lane| lane),
            Special::WarpId => all(self.index),
            Special::NwarpId => all(launch.block_threads().div_ceil(LANES as u32)),
            Special::SmId => all((launch.linear(env.cta) % u64::from(MULTIPROCESSORS)) as u32),
            Special::NsmId => all(MULTIPROCESSORS),
            Special::LanemaskEq => lanes(|lane| 1 << lane),
            Special::LanemaskLt => lanes(|lane| (1 << lane) - 1),
            Special::LanemaskLe => lanes(|lane| (2u32 << lane).wrapping_sub(1)),
            Special::LanemaskGt => lanes(|lane| !(2u32 << lane).wrapping_sub(1)),
            Special::LanemaskGe => lanes(|lane| !((1 << lane) - 1)),
            Special::Clock | Special::GlobalTimerLo => all(clock as u32),
            Special::ClockHi | Special::GlobalTimerHi => all((clock >> 32) as u32),
            Special::TotalSmemSize => all(total_shared(&env.spaces) as u32),
            Special::AggrSmemSize => {
                all((env.spaces.shared.len() - zones(&env.spaces) + env.spaces.shared_base()) as u32)
            }
            Special::DynamicSmemSize => all(launch.dynamic_shared),
            // The shared memory that the system reserves, and its end, as measured.
            Special::ReservedSmem(1) => all((env.spaces.reserved_start() + RESERVED_SHARED_USED) as u32),
            Special::ReservedSmem(2) => all((env.spaces.reserved_start() + RESERVED_SHARED) as u32),
            Special::ReservedSmem(_) => all(env.spaces.reserved_start() as u32),
            // Without clusters, each CTA is a cluster.
            Special::ClusterId(index) => all(at(env.cta, index) / size(index)),
            Special::NclusterId(index) => all(at(launch.clusters(), index)),
            Special::ClusterCtaid(index) => all(at(env.cta, index) % size(index)),
            Special::ClusterNctaid(index) => all(at(launch.cluster, index)),
            Special::ClusterCtarank => all(env.rank),
            Special::ClusterNctarank => all(launch.cluster_ctas()),
            // Values of the driver, as `cooperative_groups` reads them.
            Special::EnvReg(1) => all((launch.workspace >> 32) as u32),
            Special::EnvReg(2) => all(launch.workspace as u32),
            _ => all(0),
        }
    }
}

/// `%total_smem_size`: without what the system keeps.
fn total_shared(spaces: &Spaces<'_>) -> u64 {
    spaces.shared.len().saturating_sub(zones(spaces)).next_multiple_of(SHARED_UNIT)
}

/// Bytes of red zones in the shared memory.
fn zones(spaces: &Spaces<'_>) -> u64 {
    spaces.image.function(spaces.kernel).shared_zones.min(spaces.shared.len())
}
