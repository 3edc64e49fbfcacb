//! Which lane and register holds which element of a matrix (PTX ISA sections 9.7.14.4.1, 9.7.14.5.1 to 9.7.14.5.13,
//! 9.7.14.6.2 and 9.7.15.5.1): the one place that knows.
//!
//! A matrix is an array of elements here: A row by row, B column by column, C and D row by row (column by column where
//! a product is computed [turned over](Layout::turned)). In every layout an element's index is a part that depends on
//! the lane plus a part that depends on the register and the place in it, so a fragment is two short lists.
//!
//! Nearly all layouts are of one kind. Lanes form eight groups of four; a group has a row (of B, a column), its four
//! lanes have neighbouring elements of that row, and registers differ in which 8 rows and which part of these they
//! hold. The manual leaves the fragments of `wmma` open; these are an H200's, and they are of this kind, too.

use crate::lanes::LANES;
use softwarp_isa::instruction::MatrixShape;

/// How the registers of a warp hold a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Bits of an element: 4, 8, 16, 32 or 64. Matrices of single bits have elements of 32, their words.
    pub bits: u32,
    /// The lane's part of an element's index.
    pub lanes: [u16; LANES],
    /// The register's part: for each register, for each element in it from its low bits.
    pub elements: Vec<u16>,
    /// How many elements the matrix has.
    pub size: usize,
    order: Order,
}

/// What is simple about the lanes' parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The lanes of a group hold neighbouring elements: a register of theirs is a run.
    Runs,
    /// Each lane's element is two after that of the lane before.
    Pairs,
    /// Nothing.
    Any,
}

/// The first element that the first lane has in a register: which row (of B, column), and which of its elements.
pub type Origin = (usize, usize);

impl Fragment {
    /// A layout in groups of four lanes, of a matrix whose rows have a given number of elements. Neighbouring lanes are `step`
    /// elements apart.
    #[inline]
    pub fn grouped(bits: u32, length: usize, size: usize, step: usize, origins: &[Origin]) -> Fragment {
        let lanes = std::array::from_fn(|lane| (lane / 4 * length + lane % 4 * step) as u16);
        let each = per_register(bits);
        let elements = origins
            .iter()
            .flat_map(|&(row, at)| (0..each).map(move |element| (row * length + at + element) as u16))
            .collect();
        let order = match step {
            _ if step == each => Order::Runs,
            2 if length == 8 => Order::Pairs,
            _ => Order::Any,
        };
        Fragment { bits, lanes, elements, size, order }
    }

    /// A factor with `rows` rows of `k` elements (columns, of B), its registers' origins given.
    #[inline]
    pub fn factor(bits: u32, rows: usize, k: usize, origins: &[Origin]) -> Fragment {
        Fragment::grouped(bits, k, rows * k, per_register(bits), origins)
    }

    /// A layout by its parts and the name of what is simple about the lanes' parts (`Runs`, `Pairs` or `Any`), as `{:?}`
    /// shows them. `None` if no matrix of this size has these elements, or if the lanes' parts are not so simple.
    pub fn of_parts(
        bits: u32,
        lanes: [u16; LANES],
        elements: Vec<u16>,
        size: usize,
        order: &str,
    ) -> Option<Fragment> {
        if !matches!(bits, 4 | 8 | 16 | 32 | 64) || !elements.len().is_multiple_of(per_register(bits)) {
            return None;
        }
        let most = |parts: &[u16]| parts.iter().copied().max().map_or(0, usize::from);
        if most(&lanes) + most(&elements) >= size {
            return None;
        }
        let each = per_register(bits) as u16;
        let is_run = |lane: usize| lanes[lane].wrapping_sub(lanes[lane / 4 * 4]) == lane as u16 % 4 * each;
        let (order, holds) = match order {
            "Runs" => (Order::Runs, (0..LANES).all(is_run)),
            "Pairs" => (Order::Pairs, (0..LANES).all(|lane| usize::from(lanes[lane]) == 2 * lane)),
            "Any" => (Order::Any, true),
            _ => return None,
        };
        holds.then_some(Fragment { bits, lanes, elements, size, order })
    }

    /// How many registers a lane has.
    #[inline]
    pub fn registers(&self) -> usize {
        self.elements.len() / per_register(self.bits)
    }

    /// How many of them hold the whole matrix: the hardware does not look at the others.
    #[inline]
    pub fn distinct(&self) -> usize {
        self.size / (LANES * per_register(self.bits))
    }

    /// Collects a matrix from rows of 32-bit registers.
    #[inline(always)]
    pub fn gather<'a>(&self, registers: impl Iterator<Item = &'a [u32; LANES]>, into: &mut [u32]) {
        match self.bits {
            4 => self.gather_bits::<4, 8, 32>(registers, into),
            8 => self.gather_bits::<8, 4, 16>(registers, into),
            16 => self.gather_bits::<16, 2, 8>(registers, into),
            _ => self.gather_bits::<32, 1, 4>(registers, into),
        }
    }

    /// [`Fragment::gather`] for elements of `BITS` bits: `EACH` in a register, `RUN` in the registers of a group.
    #[inline(always)]
    fn gather_bits<'a, const BITS: u32, const EACH: usize, const RUN: usize>(
        &self,
        registers: impl Iterator<Item = &'a [u32; LANES]>,
        into: &mut [u32],
    ) {
        let mask = u32::MAX >> (32 - BITS);
        for (row, places) in registers.zip(self.elements.chunks_exact(EACH)) {
            let start = usize::from(places[0]);
            match self.order {
                Order::Runs => {
                    for (words, &first) in row.chunks_exact(4).zip(self.lanes.iter().step_by(4)) {
                        let run = &mut into[start + usize::from(first)..][..RUN];
                        for (at, element) in run.iter_mut().enumerate() {
                            *element = words[at / EACH] >> (BITS * (at % EACH) as u32) & mask;
                        }
                    }
                }
                Order::Pairs => {
                    let elements = into[start..].iter_mut().step_by(2);
                    elements.zip(row).for_each(|(element, &word)| *element = word);
                }
                Order::Any => {
                    for (at, &place) in places.iter().enumerate() {
                        for (word, &lane) in row.iter().zip(&self.lanes) {
                            into[usize::from(lane) + usize::from(place)] = word >> (BITS * at as u32) & mask;
                        }
                    }
                }
            }
        }
    }

    /// A register of the matrix, of 32 bits.
    #[inline(always)]
    pub fn scatter(&self, register: usize, from: &[u32]) -> [u32; LANES] {
        let each = per_register(self.bits);
        let places = &self.elements[register * each..][..each];
        let mut row = [0; LANES];
        if self.order == Order::Pairs {
            let elements = from[usize::from(places[0])..].iter().step_by(2);
            row.iter_mut().zip(elements).for_each(|(word, &element)| *word = element);
            return row;
        }
        for (at, &place) in places.iter().enumerate() {
            for (word, &lane) in row.iter_mut().zip(&self.lanes) {
                *word |= from[usize::from(lane) + usize::from(place)] << (self.bits * at as u32 % 32);
            }
        }
        row
    }

    /// Collects a matrix from rows of 64-bit registers.
    #[inline]
    pub fn gather_wide<'a>(&self, registers: impl Iterator<Item = &'a [u64; LANES]>, into: &mut [u64]) {
        for (row, &place) in registers.zip(&self.elements) {
            for (&word, &lane) in row.iter().zip(&self.lanes) {
                into[usize::from(lane) + usize::from(place)] = word;
            }
        }
    }

    /// A register of the matrix, of 64 bits.
    #[inline]
    pub fn scatter_wide(&self, register: usize, from: &[u64]) -> [u64; LANES] {
        let place = usize::from(self.elements[register]);
        self.lanes.map(|lane| from[usize::from(lane) + place])
    }
}

/// How many elements a register holds.
fn per_register(bits: u32) -> usize {
    (32 / bits).max(1) as usize
}

/// The three dimensions of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dimensions {
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

impl Dimensions {
    /// The dimensions of a shape; `None` if it has no `k`.
    #[inline]
    pub fn of(shape: MatrixShape) -> Option<Dimensions> {
        Some(Dimensions { m: shape.m.into(), n: shape.n.into(), k: shape.k?.into() })
    }
}

/// The fragments of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of A.
    pub a: Fragment,
    /// Of B.
    pub b: Fragment,
    /// Of C.
    pub c: Fragment,
    /// Of D.
    pub d: Fragment,
    /// How many products of these dimensions there are, one behind the other: 4 in `mma.m8n8k4` of halves.
    pub products: usize,
    /// Whether D is computed with rows for columns, as Bᵀ·Aᵀ: C and D are then column by column.
    pub turned: bool,
}

/// Bits of the elements of A and B (in registers), of C and of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Of A and B.
    pub factor: u32,
    /// Of C.
    pub c: u32,
    /// Of D.
    pub d: u32,
}

/// The fragments of `mma`. `stored` is how many of A's `k` elements of a row are there: half, if it is sparse.
#[inline]
pub fn mma(dimensions: Dimensions, stored: usize, widths: Widths) -> Layout {
    let Dimensions { m, n, k } = dimensions;
    let run = 4 * per_register(widths.factor);
    Layout {
        a: Fragment::factor(widths.factor, m, stored, &tiles(m, stored, run)),
        b: Fragment::factor(widths.factor, n, k, &tiles(n, k, run)),
        c: sums(widths.c, m, n),
        d: sums(widths.d, m, n),
        products: 1,
        turned: false,
    }
}

/// The 8 × `run` tiles of a factor, those below one another first.
fn tiles(rows: usize, length: usize, run: usize) -> Vec<Origin> {
    let along = (0..length).step_by(run);
    along.flat_map(|at| (0..rows).step_by(8).map(move |row| (row, at))).collect()
}

/// The fragment of C or D with `m` rows of `n` elements: 8 × 8 tiles, those below one another first, in which each
/// lane has two neighbours.
#[inline]
pub fn sums(bits: u32, m: usize, n: usize) -> Fragment {
    pairs(bits, m, n, &tiles(m, n, 8))
}

fn pairs(bits: u32, rows: usize, length: usize, tiles: &[Origin]) -> Fragment {
    let each = per_register(bits);
    let origins: Vec<Origin> =
        tiles.iter().flat_map(|&(row, at)| (0..2).step_by(each).map(move |half| (row, at + half))).collect();
    Fragment::grouped(bits, length, rows * length, 2, &origins)
}

/// The fragments of `wmma`, as an H200 has them. `halves`: of A and B of type `f16`, which are in eight registers
/// whatever the shape, so that some are there twice or four times.
#[inline]
pub fn wmma(dimensions: Dimensions, widths: Widths, halves: bool) -> Layout {
    let Dimensions { m, n, k } = dimensions;
    let run = 4 * per_register(widths.factor);
    // What is 8 wide is on the right of the hardware's product, with rows for columns if it is A.
    let turned = m == 8 && n == 32;
    let factor = |rows: usize, left: bool| {
        let mut origins: Vec<Origin> = match (rows, left) {
            // Products of 16 rows, one behind the other.
            (32, _) => [0, 16]
                .iter()
                .flat_map(|&first| tiles(16, k, run).into_iter().map(move |(row, at)| (row + first, at)))
                .collect(),
            (_, true) => tiles(rows, k, run),
            // Products of 8 columns, one behind the other.
            (_, false) => (0..rows)
                .step_by(8)
                .flat_map(|first| (0..k).step_by(run).map(move |at| (first, at)))
                .collect(),
        };
        if halves {
            let all = origins.len().max(1);
            origins = origins.iter().copied().cycle().take(8usize.max(all)).collect();
        }
        Fragment::factor(widths.factor, rows, k, &origins)
    };
    let sums = |bits| if turned { sums(bits, n, m) } else { sums(bits, m, n) };
    Layout {
        a: factor(m, !turned),
        b: factor(n, turned),
        c: sums(widths.c),
        d: sums(widths.d),
        products: 1,
        turned,
    }
}

/// The fragments of `mma.m8n8k4` of halves: four products, each of two groups of four lanes that lie 16 lanes apart.
/// `rows` says for A and for B whether it is row-major.
#[inline]
pub fn quad_pairs(rows: [bool; 2], widths: Widths) -> Layout {
    let product = |lane: usize| lane % 16 / 4;
    let high = |lane: usize| lane / 16 * 4;
    // A lane has a row of A (a column of B), or what is at one `k` of four of them.
    let factor = |whole: bool| Fragment {
        bits: 16,
        lanes: std::array::from_fn(|lane| {
            let (row, k) = if whole { (high(lane) + lane % 4, 0) } else { (high(lane), lane % 4) };
            ((product(lane) * 8 + row) * 4 + k) as u16
        }),
        elements: (0..4).map(|at| if whole { at } else { at * 4 }).collect(),
        size: 128,
        order: Order::Any,
    };
    let sums = |bits: u32| Fragment {
        bits,
        lanes: std::array::from_fn(|lane| {
            let (row, column) = if bits == 16 { (lane % 4, 0) } else { (lane & 1, lane & 2) };
            ((product(lane) * 8 + high(lane) + row) * 8 + column) as u16
        }),
        elements: (0..8).map(|at| if bits == 16 { at } else { (at & 2) * 8 + (at & 4) + (at & 1) }).collect(),
        size: 256,
        order: Order::Any,
    };
    let [a, b] = rows;
    Layout { a: factor(a), b: factor(!b), c: sums(widths.c), d: sums(widths.d), products: 4, turned: false }
}
