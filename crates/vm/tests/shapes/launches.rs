//! The shapes of CTAs and grids in which a kernel is launched, and the sizes that go with them.

use crate::kernel::{Argument, Dimensions, Kernel};
use softwarp_num::splitmix::SplitMix64;

/// Threads along x.
pub const WIDTHS: [u32; 22] =
    [1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 20, 24, 31, 32, 33, 48, 64, 96, 100, 256, 1024];

/// Threads along y and z.
const DEPTHS: [u32; 15] = [1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 32, 33, 64, 128, 1024];

/// The shape of a launch, and the sizes that its kernel is told.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Elements; some of the last threads have none.
    pub n: u32,
    /// The same along each axis.
    pub along: [u32; 3],
    /// A small number.
    pub k: u32,
}

/// Often a few elements fewer than threads.
fn ragged(random: &mut SplitMix64, whole: u32) -> u32 {
    let left = match random.below(5) {
        0 => whole,
        1 => whole - 1,
        2 => whole / 2 + 1,
        _ => whole.saturating_sub(1 + random.below(31) as u32),
    };
    left.max(1)
}

impl Shape {
    /// The shape of this number among those of a kernel, with about as many threads in a grid; the same number gives the
    /// same shape. None where the kernel cannot have it.
    pub fn of(kernel: &Kernel, threads: u32, number: u64) -> Option<Shape> {
        let mut random = SplitMix64::new(number);
        // Every width comes in turn.
        let x = WIDTHS[(number % WIDTHS.len() as u64) as usize];
        let mut one_of = |list: &[u32]| list[random.below(list.len())];
        let axes = match kernel.dimensions {
            Dimensions::One => 1,
            Dimensions::Two | Dimensions::Block(_) => 2,
            Dimensions::Three => 3,
            Dimensions::Any => one_of(&[1, 2, 2, 3]),
        };
        let block = match kernel.dimensions {
            Dimensions::Block([x, y]) => [x, y, 1],
            _ => {
                let fits = |area: u32, one: u32| area * one <= kernel.most;
                // Few threads along the other axes are as likely as many.
                let most = one_of(&[2, 8, 32, 1024]);
                let y: Vec<u32> = DEPTHS.into_iter().filter(|&y| y <= most && fits(x, y)).collect();
                let y = if axes > 1 && !y.is_empty() { one_of(&y) } else { 1 };
                let z: Vec<u32> =
                    DEPTHS.into_iter().filter(|&z| z <= most.min(64) && fits(x * y, z)).collect();
                [x, y, if axes > 2 && !z.is_empty() { one_of(&z) } else { 1 }]
            }
        };
        let size: u32 = block.iter().product();
        if size > kernel.most
            || kernel.warps && !size.is_multiple_of(32)
            || kernel.power_of_two && !size.is_power_of_two()
        {
            return None;
        }
        let mut left = (threads / size).clamp(1, 6);
        let mut grid = [1; 3];
        for axis in &mut grid[..axes as usize] {
            *axis = if left > 1 { one_of(&[1, 2, 3, left]).min(left) } else { 1 };
            left /= *axis;
        }
        let along = [0, 1, 2].map(|axis| grid[axis] * block[axis]);
        let n = ragged(&mut random, along.iter().product());
        let along = along.map(|whole| ragged(&mut random, whole));
        Some(Shape { grid, block, n, along, k: 1 + random.below(12) as u32 })
    }

    /// The value of a size.
    fn size(&self, name: char) -> u32 {
        let [width, height, depth] = self.along;
        match name {
            'n' => self.n,
            'w' => width,
            'h' => height,
            'd' => depth,
            's' => width.max(height).min(60),
            'k' => self.k,
            other => panic!("what is the size `{other}`?"),
        }
    }

    /// The bytes of an argument that is not a buffer.
    pub fn argument(&self, argument: &Argument, bytes: usize) -> Vec<u8> {
        let value = match argument {
            Argument::Size(name) => i64::from(self.size(*name)),
            Argument::Integer(value) => *value,
            Argument::Float(value) => i64::from(value.to_bits()),
            Argument::Buffer(kind) => panic!("a buffer of {kind}"),
        };
        value.to_le_bytes()[..bytes].to_vec()
    }
}
