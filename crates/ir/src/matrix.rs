//! Matrix instructions (PTX ISA sections 9.7.14 and 9.7.15).

use crate::{Address, Slot};
use softwarp_num::Rounding;
use softwarp_units::matrix::FloatProduct;
use softwarp_units::matrix::integer::IntegerProduct;
use softwarp_units::matrix::layout::{Fragment, Layout};
use softwarp_units::matrix::sparse::Sparsity;

/// `ldmatrix`
#[derive(Clone, Debug)]
pub struct LoadMatrix {
    /// The registers.
    pub d: Vec<Option<Slot>>,
    /// The address of a row.
    pub row: Address,
    /// The tiles.
    pub tiles: Tiles,
}

/// `stmatrix`
#[derive(Clone, Debug)]
pub struct StoreMatrix {
    /// The address of a row.
    pub row: Address,
    /// The registers.
    pub data: Vec<Slot>,
    /// The tiles.
    pub tiles: Tiles,
}

/// `movmatrix`
#[derive(Clone, Copy, Debug)]
pub struct Transpose {
    /// The result.
    pub d: Option<Slot>,
    /// The matrix.
    pub a: Slot,
}

/// `wmma.load`
#[derive(Clone, Debug)]
pub struct FragmentLoad {
    /// The fragment.
    pub d: Vec<Option<Slot>>,
    /// The address of the matrix.
    pub address: Address,
    /// The stride.
    pub stride: Option<Slot>,
    /// How the fragment lies in memory.
    pub memory: Box<Memory>,
}

/// `wmma.store`
#[derive(Clone, Debug)]
pub struct FragmentStore {
    /// The address of the matrix.
    pub address: Address,
    /// The fragment.
    pub data: Vec<Slot>,
    /// The stride.
    pub stride: Option<Slot>,
    /// How the fragment lies in memory.
    pub memory: Box<Memory>,
}

/// The tiles that `ldmatrix` and `stmatrix` move: rows of 16 bytes, each at an address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// The number of tiles.
    pub count: u32,
    /// The shape and element type of a tile.
    pub kind: TileKind,
}

/// What a tile is, and how a warp holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileKind {
    /// 8 × 8 elements of 16 bits, in one register.
    Halves {
        /// `.trans`
        transposed: bool,
    },
    /// 16 × 16 (`stmatrix`: 8 × 16) elements of 8 bits, transposed, in two registers (one).
    Bytes(Packing),
    /// 8 × 16 elements of 8 bits, in one register.
    Wide(Packing),
}

/// How the elements of 8 bits in registers lie in a row of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    Bytes,
    /// Of 6 bits, packed.
    Six,
    /// Of 4 bits, packed.
    Four,
}

impl TileKind {
    /// How many rows a tile has in memory, when it is loaded or stored.
    pub fn rows(self, loads: bool) -> u32 {
        match self {
            TileKind::Bytes(_) if loads => 16,
            TileKind::Bytes(_) | TileKind::Halves { .. } | TileKind::Wide(_) => 8,
        }
    }

    /// How many registers it takes.
    pub fn registers(self, loads: bool) -> u32 {
        self.rows(loads) / 8
    }
}

/// A fragment in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The layout of the fragment in registers.
    pub fragment: Fragment,
    /// How many elements the lines have in which the fragment counts.
    pub length: usize,
    /// Whether these lines are contiguous in memory.
    pub along: bool,
    /// Elements from one line in memory to the next, without an operand that says it.
    pub stride: u64,
    /// Bits of an element in memory: words of bits have 32.
    pub bits: u32,
    /// How many elements of the manual's one of ours is: 32 of bits, else 1.
    pub unit: u64,
}

/// What a lane of a fragment reads or writes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes from the lane's address.
    pub offset: u64,
    /// The lowest bit in the register.
    pub shift: u32,
    /// Which register.
    pub register: usize,
}

impl Memory {
    /// Bytes of a piece.
    pub fn piece_bytes(&self) -> u64 {
        if self.bits < 32 && self.along { 4 } else { u64::from(self.bits / 8) }
    }

    /// The pieces of a lane: whole registers where their elements are neighbours in memory.
    pub fn pieces(&self, lane: usize, stride: u64) -> impl Iterator<Item = Piece> {
        // There are 1, 2, 4 or 8 elements in a register. Lines are as long as powers of two, too: no division is needed.
        let each = (32 / self.bits).max(1).trailing_zeros();
        let step = if self.along { 1 << each } else { 1 };
        let first = usize::from(self.fragment.lanes[lane]);
        let (shift, mask) = (self.length.trailing_zeros(), self.length - 1);
        debug_assert!(self.length.is_power_of_two(), "the lines of fragments");
        let elements = self.fragment.elements.iter().enumerate().step_by(step);
        elements.map(move |(at, &part)| {
            let index = first + usize::from(part);
            let (line, within) = ((index >> shift) as u64, (index & mask) as u64);
            let element = match self.along {
                true => line.wrapping_mul(stride).wrapping_add(within),
                false => within.wrapping_mul(stride).wrapping_add(line),
            };
            let offset = element.wrapping_mul(u64::from(self.bits)) / 8;
            Piece { offset, shift: (at as u32 & ((1 << each) - 1)) * self.bits, register: at >> each }
        })
    }
}

/// What a product computes.
#[derive(Clone, Copy, Debug)]
pub enum Product {
    /// Floating-point numbers.
    Float(FloatProduct),
    /// Integers and bits.
    Integer(IntegerProduct),
    /// `f64`
    Double(Rounding),
}

/// `mma` and `wmma.mma`.
#[derive(Clone, Debug)]
pub struct Mma {
    /// D.
    pub d: Vec<Option<Slot>>,
    /// A.
    pub a: Vec<Slot>,
    /// B.
    pub b: Vec<Slot>,
    /// C.
    pub c: Vec<Slot>,
    /// The metadata of a sparse A.
    pub metadata: Option<Slot>,
    /// The scales of A and of B.
    pub scales: Option<[BlockScale; 2]>,
    /// What is computed.
    pub product: Box<MmaProduct>,
}

/// The scales of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockScale {
    /// The scales.
    pub data: Slot,
    /// The bytes of `data` that are the scales.
    pub byte: Slot,
    /// The threads whose `data` has the scales.
    pub thread: Slot,
}

/// What `mma` and `wmma.mma` compute.
#[derive(Clone, Debug)]
pub struct MmaProduct {
    /// What is computed: one of the layout's products, turned over if that is.
    pub product: Product,
    /// Which lane holds what.
    pub layout: Layout,
    /// If A is sparse.
    pub sparse: Option<Sparsity>,
    /// Of factors in bytes: which bits of these they are, as a shift and a mask, of A and of B.
    pub within: [(u32, u32); 2],
    /// How many scales each row of A has, if there are any.
    pub scales: Option<usize>,
}

/// `wgmma.mma_async`
#[derive(Clone, Debug)]
pub struct Wgmma {
    /// D, which is written.
    pub d: Vec<Option<Slot>>,
    /// D, which is read.
    pub c: Vec<Slot>,
    /// A.
    pub a: WgmmaFactor,
    /// The descriptor of B.
    pub b: Slot,
    /// The metadata of a sparse A.
    pub metadata: Option<Slot>,
    /// The predicate that says whether D is added.
    pub adds: Slot,
    /// What is computed.
    pub product: Box<WgmmaProduct>,
}

/// Where the factor A of `wgmma.mma_async` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WgmmaFactor {
    /// In registers.
    Registers(Vec<Slot>),
    /// In shared memory, as a descriptor says.
    Descriptor(Slot),
}

/// What `wgmma.mma_async` computes.
#[derive(Clone, Debug)]
pub struct WgmmaProduct {
    /// What is computed, by one warp: 16 rows of D.
    pub product: Product,
    /// C and D.
    pub d: Fragment,
    /// If A is sparse.
    pub sparse: Option<Sparsity>,
    /// Bits of a factor; of bits, 32.
    pub bits: u32,
    /// How many factors a row of A has that are stored, and how many a column of B.
    pub stored: usize,
    /// Columns of B, their elements.
    pub k: usize,
    /// Columns of B.
    pub n: usize,
    /// Whether `k` runs fastest in A, if it is in memory, and in B.
    pub k_major: [bool; 2],
    /// What A's and B's elements are xor-ed with: their sign, if they are negated.
    pub negate: [u32; 2],
}
