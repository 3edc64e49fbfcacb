//! Which register of which thread holds which cell in `tcgen05.ld` and `tcgen05.st` (PTX ISA section 9.7.16.2.3.1).

use crate::lanes::LANES;

/// A shape of data that a warp loads or stores, before it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `.32x32b`
    Lanes32x32b,
    /// `.16x64b`
    Lanes16x64b,
    /// `.16x128b`
    Lanes16x128b,
    /// `.16x256b`
    Lanes16x256b,
    /// `.16x32bx2`: two accesses, half of the threads each.
    Lanes16x32bx2,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 5] = [
        Shape::Lanes32x32b,
        Shape::Lanes16x64b,
        Shape::Lanes16x128b,
        Shape::Lanes16x256b,
        Shape::Lanes16x32bx2,
    ];

    /// The modifier, without its dot.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Lanes32x32b => "32x32b",
            Shape::Lanes16x64b => "16x64b",
            Shape::Lanes16x128b => "16x128b",
            Shape::Lanes16x256b => "16x256b",
            Shape::Lanes16x32bx2 => "16x32bx2",
        }
    }

    /// The lanes that it accesses.
    pub fn lanes(self) -> usize {
        if self == Shape::Lanes32x32b { 32 } else { 16 }
    }

    /// The columns that it accesses; of `.16x32bx2` those of each half.
    fn columns(self) -> usize {
        match self {
            Shape::Lanes32x32b | Shape::Lanes16x32bx2 => 1,
            Shape::Lanes16x64b => 2,
            Shape::Lanes16x128b => 4,
            Shape::Lanes16x256b => 8,
        }
    }

    /// The registers of a thread.
    fn registers(self) -> usize {
        self.columns() * self.lanes() * if self == Shape::Lanes16x32bx2 { 2 } else { 1 } / LANES
    }
}

/// What `tcgen05.ld` and `tcgen05.st` move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// The shape.
    pub shape: Shape,
    /// How often the shape is repeated along the columns: 1 to 128.
    pub repeat: usize,
    /// `.pack::16b`, `.unpack::16b`: a register has the low halves of two neighbouring columns.
    pub packed: bool,
}

/// A cell, counted from the address of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The lane.
    pub lane: usize,
    /// The column; with `.pack::16b` the first of two.
    pub column: usize,
    /// Whether it belongs to the second access of `.16x32bx2`.
    pub second: bool,
}

impl Fragment {
    /// Whether the shape can be repeated that often: no thread has more than 128 registers of it.
    pub fn exists(&self) -> bool {
        self.repeat.is_power_of_two() && self.repeat <= 128 && self.registers() <= 128
    }

    /// The registers of a thread.
    pub fn registers(&self) -> usize {
        self.shape.registers() * self.repeat
    }

    /// The columns that it accesses; of `.16x32bx2` those of each half.
    pub fn columns(&self) -> usize {
        self.shape.columns() * self.repeat * self.width()
    }

    /// The columns of a register.
    fn width(&self) -> usize {
        if self.packed { 2 } else { 1 }
    }

    /// The cell of a register of a thread.
    #[inline]
    pub fn cell(&self, register: usize, thread: usize) -> Cell {
        let (quad, in_quad) = (thread / 4, thread % 4);
        let (lane, column, second) = match self.shape {
            Shape::Lanes32x32b => (thread, register, false),
            Shape::Lanes16x64b => (quad + thread % 2 * 8, register * 2 + in_quad / 2, false),
            Shape::Lanes16x128b => (quad + register % 2 * 8, register / 2 * 4 + in_quad, false),
            Shape::Lanes16x256b => {
                (quad + register / 2 % 2 * 8, register / 4 * 8 + in_quad * 2 + register % 2, false)
            }
            Shape::Lanes16x32bx2 => (thread % 16, register, thread >= 16),
        };
        Cell { lane, column: column * self.width(), second }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_cell_is_held_once() {
        for shape in Shape::ALL {
            for (repeat, packed) in (0..8).flat_map(|power| [(1 << power, false), (1 << power, true)]) {
                let fragment = Fragment { shape, repeat, packed };
                if !fragment.exists() {
                    continue;
                }
                let mut held = HashSet::new();
                for register in 0..fragment.registers() {
                    for thread in 0..LANES {
                        let cell = fragment.cell(register, thread);
                        assert!(cell.lane < shape.lanes() && cell.column < fragment.columns(), "{cell:?}");
                        assert!(held.insert((cell.lane, cell.column, cell.second)), "{cell:?} twice");
                    }
                }
                let halves = if shape == Shape::Lanes16x32bx2 { 2 } else { 1 };
                let width = if packed { 2 } else { 1 };
                assert_eq!(held.len() * width, shape.lanes() * fragment.columns() * halves);
            }
        }
    }

    #[test]
    fn fragments_have_as_many_registers_as_the_manual_says() {
        let registers = |shape, repeat| Fragment { shape, repeat, packed: false }.registers();
        assert_eq!(registers(Shape::Lanes32x32b, 128), 128);
        assert_eq!(registers(Shape::Lanes16x64b, 16), 16);
        assert_eq!(registers(Shape::Lanes16x32bx2, 4), 4);
        assert_eq!(registers(Shape::Lanes16x128b, 8), 16);
        assert_eq!(registers(Shape::Lanes16x256b, 32), 128);
        assert!(!Fragment { shape: Shape::Lanes16x256b, repeat: 64, packed: false }.exists());
    }

    #[test]
    fn a_shape_of_256_bits_is_an_accumulator_of_mma() {
        let fragment = Fragment { shape: Shape::Lanes16x256b, repeat: 2, packed: false };
        assert_eq!(fragment.cell(3, 5), Cell { lane: 9, column: 3, second: false });
        assert_eq!(fragment.cell(4, 5), Cell { lane: 1, column: 10, second: false });
        let narrow = Fragment { shape: Shape::Lanes16x64b, ..fragment };
        assert_eq!(narrow.cell(1, 7), Cell { lane: 9, column: 3, second: false });
    }
}
