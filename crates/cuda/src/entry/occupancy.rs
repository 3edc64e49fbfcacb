//! How many CTAs fit on a multiprocessor (driver API: "Occupancy"). Of registers, those count that a kernel needs in any
//! case.

use super::launch::launchable;
use crate::attributes::attribute;
use crate::code::{Code, Done, ensure};
use crate::driver::{Driver, current};
use crate::ffi::{In, Out};
use crate::handle::Handle;
use crate::module::Function;

/// Shared memory is given in multiples of this, with what the system keeps for each CTA.
const UNIT: u64 = 128;

/// The most CTAs of clusters that a multiprocessor has at a time, as recorded.
const CLUSTERED: u64 = 8;

fn of_device(driver: &Driver, id: u32) -> u64 {
    attribute(driver.config.arch, 0, id).map_or(0, |value| value as u64)
}

/// CTAs of a given size that fit on a multiprocessor.
pub(crate) fn ctas(driver: &Driver, function: &Function, threads: u64, dynamic: u64) -> u64 {
    let (most_threads, most_ctas) = (of_device(driver, 39), of_device(driver, 106));
    if threads > 1024 || dynamic > u64::from(function.most_dynamic()) {
        return 0;
    }
    let by_threads = most_threads / threads.next_multiple_of(32);
    let by_registers =
        u64::from(crate::registers::warps(function.registers.least)) / threads.div_ceil(32).max(1);
    let shared = (function.shared + dynamic + of_device(driver, 111)).next_multiple_of(UNIT);
    let by_shared = of_device(driver, 81) / shared.max(1);
    by_threads.min(by_shared).min(by_registers).min(most_ctas)
}

fn active(to: Out<i32>, of: Handle<Function>, threads: i32, dynamic: usize, flags: u32) -> Done {
    let (driver, _) = current()?;
    to.required()?;
    let function = launchable(driver, of)?;
    ensure(threads > 0 && flags <= 1, Code::INVALID_VALUE)?;
    // Only 32 bits of the size count.
    to.set(ctas(driver, &function, threads as u64, (dynamic as u32).into()) as i32)
}

/// The size of CTAs that fills multiprocessors best: the largest of those.
fn best(
    grid: Out<i32>,
    block: Out<i32>,
    of: Handle<Function>,
    shared_of: Option<extern "C" fn(i32) -> usize>,
    dynamic: usize,
    limit: i32,
) -> Done {
    let (driver, _) = current()?;
    grid.required()?;
    block.required()?;
    let function = launchable(driver, of)?;
    ensure(limit >= 0, Code::INVALID_VALUE)?;
    let most = if limit == 0 { 1024 } else { limit as u64 }.min(function.most_threads());
    let (mut best_threads, mut best_ctas, mut filled) = (0, 0, 0);
    let mut threads = most;
    while threads > 0 {
        let dynamic = shared_of.map_or(dynamic, |shared| shared(threads as i32));
        let ctas = ctas(driver, &function, threads, dynamic as u64);
        if ctas * threads > filled {
            (best_threads, best_ctas, filled) = (threads, ctas, ctas * threads);
        }
        threads = (threads - 1) / 32 * 32;
    }
    grid.set((best_ctas * of_device(driver, 16)) as i32)?;
    block.set(best_threads as i32)
}

crate::entries! {
    /// CTAs of a given size that fit on a multiprocessor.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(to: Out<i32>, of: Handle<Function>, threads: i32, dynamic: usize) {
        active(to, of, threads, dynamic, 0)
    }

    /// The same with flags.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: Out<i32>, of: Handle<Function>, threads: i32, dynamic: usize, flags: u32,
    ) {
        active(to, of, threads, dynamic, flags)
    }

    /// A size of CTAs that fills a device.
    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, of: Handle<Function>, shared_of: Option<extern "C" fn(i32) -> usize>,
        dynamic: usize, limit: i32,
    ) {
        best(grid, block, of, shared_of, dynamic, limit)
    }

    /// The same with flags.
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>, block: Out<i32>, of: Handle<Function>, shared_of: Option<extern "C" fn(i32) -> usize>,
        dynamic: usize, limit: i32, flags: u32,
    ) {
        current()?;
        ensure(flags <= 1, Code::INVALID_VALUE)?;
        best(grid, block, of, shared_of, dynamic, limit)
    }

    /// Dynamic shared memory that CTAs of a size can have if a number of them is to fit.
    fn cuOccupancyAvailableDynamicSMemPerBlock(to: Out<usize>, of: Handle<Function>, count: i32, threads: i32) {
        let (driver, _) = current()?;
        to.required()?;
        let function = launchable(driver, of)?;
        ensure(count > 0 && threads > 0, Code::INVALID_VALUE)?;
        ensure(count as u64 <= ctas(driver, &function, threads as u64, 0), Code::INVALID_VALUE)?;
        let all = of_device(driver, 81) / count as u64;
        let free = (all / UNIT * UNIT).saturating_sub(function.shared);
        to.set(free.min(function.most_dynamic().into()) as usize)
    }

    /// The largest cluster that a launch can have.
    fn cuOccupancyMaxPotentialClusterSize(to: Out<i32>, of: Handle<Function>, config: In<super::launch::LaunchConfig>) {
        let (driver, _) = current()?;
        to.required()?;
        let function = launchable(driver, of)?;
        config.get()?;
        // Any other size than that which launches have, or may have at most, is refused.
        let refused = function.needs_cluster() || function.directives.cluster.is_some_and(|size| size[1] > 1);
        ensure(!refused, Code::INVALID_CLUSTER_SIZE)?;
        let large = function.large_clusters.load(std::sync::atomic::Ordering::SeqCst) != 0;
        let most = driver.config.arch.properties().cluster_ctas as i32;
        to.set(if large { most } else { most.min(8) })
    }

    /// Clusters of a launch that fit on a device.
    fn cuOccupancyMaxActiveClusters(to: Out<i32>, of: Handle<Function>, config: In<super::launch::LaunchConfig>) {
        let (driver, _) = current()?;
        to.required()?;
        let function = launchable(driver, of)?;
        let config = config.get()?;
        let threads = config.block.iter().map(|&size| u64::from(size)).product::<u64>();
        ensure(threads > 0, Code::INVALID_VALUE)?;
        let Some(cluster) = config.cluster()?.or_else(|| function.set_cluster()) else { return to.set(0) };
        let said = function.directives.cluster.unwrap_or(cluster);
        let ranks = cluster.iter().map(|&size| u64::from(size)).product::<u64>();
        let large = function.large_clusters.load(std::sync::atomic::Ordering::SeqCst) != 0;
        let most = if large { u64::from(driver.config.arch.properties().cluster_ctas) } else { 8 };
        let most = function.directives.most_ctas.unwrap_or(most).min(most);
        let divides = config.grid.iter().zip(cluster).all(|(&grid, size)| size != 0 && grid.is_multiple_of(size));
        ensure(said == cluster && ranks <= most && divides, Code::INVALID_CLUSTER_SIZE)?;
        let each = ctas(driver, &function, threads, config.shared.into()).min(CLUSTERED);
        // Clusters of more than two CTAs do not use some multiprocessors of an H200.
        let all = of_device(driver, 16);
        let used = if ranks > 2 { all * 124 / 132 } else { all };
        to.set((each * used / ranks) as i32)
    }
}
