//! What was launched: the kernel and the dimensions of its grid, as plain data. Execution and the sanitizers read it.
//!
//! CTAs have a place in the grid (`%ctaid`), a number in the order of the grid (x first), and a rank in their cluster.

use crate::decode::Program;
use crate::host_memory::Account;
use softwarp_image::{FunctionId, Image};
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::lanes::{LANES, Row};

/// The kernel and the dimensions of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchInfo<'a> {
    pub(crate) program: &'a Program,
    pub(crate) image: &'a Image,
    pub(crate) kernel: FunctionId,
    pub(crate) name: &'a str,
    /// In CTAs.
    pub(crate) grid: [u32; 3],
    /// In threads.
    pub(crate) block: [u32; 3],
    /// CTAs of a cluster; the grid is a multiple.
    pub(crate) cluster: [u32; 3],
    /// Bytes of shared memory of a CTA.
    pub(crate) shared_bytes: u64,
    /// Host memory of the device.
    pub(crate) account: &'a Account,
}

impl LaunchInfo<'_> {
    /// Threads in a CTA.
    pub(crate) fn block_threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// `%tid` of a thread of a CTA.
    pub(crate) fn thread(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [index % x, index / x % y, index / x / y]
    }

    /// `%tid` of 32 threads of a CTA, by axis, from one on.
    pub(crate) fn threads_from(&self, first: u32) -> [Row<u32>; 3] {
        let mut axes = [Row([0; LANES]); 3];
        let [mut x, mut y, mut z] = self.thread(first);
        for lane in 0..LANES {
            (axes[0].0[lane], axes[1].0[lane], axes[2].0[lane]) = (x, y, z);
            x += 1;
            if x == self.block[0] {
                (x, y) = (0, y + 1);
            }
            if y == self.block[1] {
                (y, z) = (0, z + 1);
            }
        }
        axes
    }

    /// Lanes of a warp of a CTA that there are threads for.
    pub(crate) fn lanes(&self, warp: usize) -> u32 {
        match self.block_threads().saturating_sub(warp as u32 * LANES as u32) {
            rest @ 0..32 => (1 << rest) - 1,
            _ => u32::MAX,
        }
    }

    /// CTAs in a cluster.
    pub(crate) fn cluster_ctas(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters in each dimension.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis].max(1))
    }

    /// `%ctaid` of the CTA with a rank in a cluster of the grid.
    #[inline]
    pub(crate) fn cta(&self, cluster: u64, rank: u32) -> [u32; 3] {
        if self.cluster == [1; 3] && self.grid[1] == 1 && self.grid[2] == 1 {
            return [cluster as u32, 0, 0];
        }
        if let ([1, 1, 1], [x, y, _], Ok(index)) = (self.cluster, self.grid, u32::try_from(cluster)) {
            return [index % x, index / x % y, index / x / y];
        }
        let [x, y, _] = self.clusters().map(u64::from);
        let [width, height, _] = self.cluster;
        let first = [cluster % x, cluster / x % y, cluster / x / y];
        let inside = [rank % width, rank / width % height, rank / width / height];
        std::array::from_fn(|axis| first[axis] as u32 * self.cluster[axis] + inside[axis])
    }

    /// `%ctaid` of the CTA after another in the order of the grid.
    #[inline]
    pub(crate) fn after(&self, [x, y, z]: [u32; 3]) -> [u32; 3] {
        match (x + 1 == self.grid[0], y + 1 == self.grid[1]) {
            (false, _) => [x + 1, y, z],
            (true, false) => [0, y + 1, z],
            (true, true) => [0, 0, z + 1],
        }
    }

    /// The first address in `.shared` of a CTA of a cluster.
    pub(crate) fn window(&self, cta: [u32; 3]) -> u64 {
        let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| u64::from(cta[axis] % self.cluster[axis]));
        let [width, height, _] = self.cluster.map(u64::from);
        (x + width * (y + height * z)) * CTA_SHARED
    }

    /// `%ctaid` of the CTA with a rank in the cluster of another.
    pub(crate) fn sibling(&self, cta: [u32; 3], rank: u32) -> [u32; 3] {
        let [x, y, _] = self.clusters().map(u64::from);
        let of: [u64; 3] = std::array::from_fn(|axis| u64::from(cta[axis] / self.cluster[axis]));
        self.cta(of[0] + x * (of[1] + y * of[2]), rank)
    }

    /// `%ctaid` of a CTA by its number in the grid.
    pub(crate) fn nth(&self, index: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.grid[0]), u64::from(self.grid[1]));
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }

    /// The number of a CTA in the grid.
    pub(crate) fn linear(&self, cta: [u32; 3]) -> u64 {
        let [x, y, z] = cta.map(u64::from);
        x + u64::from(self.grid[0]) * (y + u64::from(self.grid[1]) * z)
    }

    pub(crate) fn ctas(&self) -> u64 {
        self.grid.iter().map(|&size| u64::from(size)).product()
    }

    /// How many clusters there are.
    pub(crate) fn units(&self) -> u64 {
        self.clusters().iter().map(|&size| u64::from(size)).product()
    }
}
