//! `tcgen05.mma` (PTX ISA section 9.7.16.10).
//!
//! With `.cta_group::2` each CTA of the pair has its rows of A, in its own shared or tensor memory, its rows of D and its
//! scales; of B each has half of the columns in its shared memory.

use super::shared::{Lines, Source};
use super::{Buffers, address, bad_field, wrong};
use crate::fault::Tried;
use crate::tensor_memory::TensorMemory;
use crate::warp::{Env, Warp};
use softwarp_ir::tensor_core::{TensorFactor, TensorMma};
use softwarp_num::Format;
use softwarp_units::lanes::{Frame, lanes};
use softwarp_units::matrix::Scales;
use softwarp_units::matrix::lines::{Line, Places, ROWS, STORED};
use softwarp_units::tensor_core::Address;
use softwarp_units::tensor_core::descriptor::{SharedDescriptor, Swizzle};
use softwarp_units::tensor_core::element::{Element, From, negate};
use softwarp_units::tensor_core::instruction::{Instruction, Scale};
use softwarp_units::tensor_core::layout::Panel;
use softwarp_units::tensor_core::mask::ZeroColumns;
use softwarp_units::tensor_core::product::{Block, Product, multiply};

/// A product that a lane issues, its operands taken apart.
pub(super) struct Issued {
    pub(super) instruction: Instruction,
    pub(super) d: Address,
    pub(super) a: Factor,
    pub(super) b: SharedDescriptor,
    metadata: Option<Address>,
    scales: Option<[Address; 2]>,
    mask: Option<ZeroColumns>,
    /// Lanes that are not written, of both CTAs.
    disabled: [u32; 8],
    adds: bool,
    scale_d: u32,
}

/// Where A is.
pub(super) enum Factor {
    Shared(SharedDescriptor),
    Tensor(Address),
}

impl Issued {
    /// What a lane issues.
    pub(super) fn of(frame: &Frame, op: &TensorMma, lane: usize) -> Tried<Issued> {
        let bad = bad_field(lane);
        let bits = frame.row::<u32>(op.instruction)[lane];
        let instruction = Instruction::new(bits, &op.modifiers).map_err(&bad)?;
        let descriptor = |slot| SharedDescriptor::new(frame.row::<u64>(slot)[lane]).map_err(&bad);
        let at = |operand| address(frame, operand, lane);
        let a = match op.a {
            TensorFactor::Descriptor(slot) => Factor::Shared(descriptor(slot)?),
            TensorFactor::Tensor(operand) => Factor::Tensor(at(operand)),
        };
        let mask = op.mask.map(|slot| ZeroColumns::new(frame.row::<u64>(slot)[lane], instruction.m));
        let mut disabled = [0; 8];
        disabled.iter_mut().zip(&op.disabled).for_each(|(to, &slot)| *to = frame.row::<u32>(slot)[lane]);
        let issued = Issued {
            instruction,
            d: at(op.d),
            a,
            b: descriptor(op.b)?,
            metadata: op.metadata.map(at),
            // CUTLASS leaves the scales' byte of a cell in the upper two bits: only the instruction descriptor has it.
            scales: op.scales.map(|scales| scales.map(|operand| Address(at(operand).0 & 0x3fff_ffff))),
            mask: mask.transpose().map_err(&bad)?,
            disabled,
            adds: frame.predicate(op.adds) >> lane & 1 == 1,
            scale_d: op.scale_d,
        };
        issued.check(lane)?;
        Ok(issued)
    }

    /// Rules about several operands.
    fn check(&self, lane: usize) -> Tried<()> {
        let Issued { instruction: it, d, .. } = self;
        let half = it.layout.uses_half();
        let begins = |at: Address| at.lane() == 0 || half && at.lane() == 16;
        if !begins(*d) {
            let lanes = if half { "0 or 16" } else { "0" };
            return wrong(
                lane,
                format!(
                    "D at tensor memory address {:#010x} begins at lane {}, and must at {lanes}",
                    d.0,
                    d.lane()
                ),
            );
        }
        let tensor = if let Factor::Tensor(a) = self.a { Some(a) } else { None };
        for (name, at) in [("A", tensor), ("the sparsity metadata", self.metadata)] {
            if let Some(at) = at.filter(|at| at.lane() != d.lane()) {
                return wrong(
                    lane,
                    format!(
                        "{name} at tensor memory address {:#010x} begins at lane {}, and D at lane {}: they must be the same",
                        at.0,
                        at.lane(),
                        d.lane()
                    ),
                );
            }
        }
        if tensor.is_some() && it.transpose[0] {
            return wrong(
                lane,
                "the transposition of A (bit 15) of the instruction descriptor is set, and A is in tensor memory",
            );
        }
        for (scales, name) in self.scales.iter().flatten().zip(["A", "B"]) {
            if scales.lane() != 0 {
                return wrong(
                    lane,
                    format!(
                        "the scales of {name} at tensor memory address {:#010x} begin at lane {}, and must at 0",
                        scales.0,
                        scales.lane()
                    ),
                );
            }
        }
        self.check_swizzling(lane)
    }

    /// Transposed matrices and swizzling.
    fn check_swizzling(&self, lane: usize) -> Tried<()> {
        let it = &self.instruction;
        let a = if let Factor::Shared(a) = &self.a { Some(a) } else { None };
        for ((descriptor, transposed), (element, name)) in
            [a, Some(&self.b)].into_iter().zip(it.transpose).zip(it.factors.into_iter().zip(["A", "B"]))
        {
            let Some(descriptor) = descriptor.filter(|_| transposed) else { continue };
            let pairs = descriptor.swizzle == Swizzle::Pairs;
            if pairs != (element == Element::Float(Format::Tf32)) {
                let needs = if pairs { "only tf32 allows" } else { "tf32 needs" };
                return wrong(
                    lane,
                    format!(
                        "a transposed {name} has the swizzling mode (bits 61 to 63) {}, and {needs} 128 bytes with 32-byte \
                         atomicity",
                        if pairs { "1" } else { "other than 1" }
                    ),
                );
            }
            if descriptor.absolute {
                return wrong(
                    lane,
                    format!(
                        "a transposed {name} has an absolute leading dimension (bit 52), which allows none"
                    ),
                );
            }
        }
        Ok(())
    }

    /// The columns of B that a CTA of the pair has: which, and where it finds them.
    pub(super) fn columns_of(&self, ctas: usize, index: usize) -> (std::ops::Range<usize>, Lines) {
        let it = &self.instruction;
        let each = it.n / ctas;
        let lines = Lines {
            descriptor: self.b,
            element: it.factors[1],
            k_major: !it.transpose[1],
            first: self.mask.map_or(0, |mask| mask.shift),
            length: it.k,
        };
        (index * each..(index + 1) * each, lines)
    }

    /// The rows of A in shared memory.
    pub(super) fn rows(&self, descriptor: SharedDescriptor) -> Lines {
        let it = &self.instruction;
        let (element, k_major, length) = (it.factors[0], !it.transpose[0], it.stored());
        Lines { descriptor, element, k_major, first: 0, length }
    }

    /// What is read in tensor memory besides A and D: addresses, and columns from there on.
    pub(super) fn others(&self) -> impl Iterator<Item = (Address, usize)> {
        let it = &self.instruction;
        let metadata = self.metadata.map(|at| (at, metadata_columns(it)));
        let scales = self.scales.zip(it.scale).map(|([a, b], scale)| {
            let rows = [it.layout.rows(), it.n / it.layout.parts()];
            [(a, scale_columns(&scale, 0, rows[0])), (b, scale_columns(&scale, 1, rows[1]))]
        });
        metadata.into_iter().chain(scales.into_iter().flatten())
    }

    /// The cells that sixteen rows of a CTA read and write, for those who look on.
    pub(super) fn cells(&self, op: &TensorMma, panel: &Panel, index: usize) -> PanelCells {
        let it = &self.instruction;
        let disabled = self.disabled[index * 4 + panel.lane / 32] >> (panel.lane % 32);
        let rows = panel.lane..panel.lane + ROWS;
        let d = self.d.column()..self.d.column() + panel.count;
        let mut reads = Vec::new();
        let mut read = |lane: usize, columns: std::ops::Range<usize>| reads.push((lane, columns));
        let written: Vec<usize> =
            rows.clone().filter(|lane| disabled >> (lane - panel.lane) & 1 == 0).collect();
        if self.adds {
            written.iter().for_each(|&lane| read(lane, d.clone()));
        }
        if let Factor::Tensor(a) = self.a
            && !op.modifiers.shifts_a
        {
            rows.clone().for_each(|lane| read(lane, a.column()..a.column() + it.row_bytes()[0] / 4));
        }
        if let Some(at) = self.metadata {
            let first = at.column() + if it.factors[0].bits() >= 16 { it.selector } else { 0 };
            rows.clone().for_each(|lane| read(lane, first..at.column() + metadata_columns(it)));
        }
        if let (Some(at), Some(scale)) = (self.scales, it.scale) {
            let quarter = panel.lane / 32 * 32;
            let of = [(panel.row..panel.row + ROWS, it.layout.rows()), (0..panel.count, panel.count)];
            for (factor, (range, rows)) in of.into_iter().enumerate() {
                for row in range {
                    for word in scale.id[factor] / 4..=(scale.id[factor] + scale.count - 1) / 4 {
                        let column = at[factor].column() + row / 32 + word * scale_stride(rows);
                        read(quarter + row % 32, column..column + 1);
                    }
                }
            }
        }
        PanelCells { reads, written, columns: d }
    }

    /// Checks that what is read and written in tensor memory is allocated.
    fn check_memory(&self, memory: &TensorMemory, lane: usize) -> Tried<()> {
        let it = &self.instruction;
        let check = |at: Address, columns: usize| match memory.check(Address(at.0 & 0xffff), 1, columns) {
            Ok(()) => Ok(()),
            Err(message) => wrong(lane, message),
        };
        check(self.d, it.n / it.layout.parts())?;
        if let Factor::Tensor(a) = self.a {
            check(a, it.row_bytes()[0] / 4)?;
        }
        self.others().try_for_each(|(at, columns)| check(at, columns))
    }
}

/// Cells that sixteen rows of a product use.
pub(super) struct PanelCells {
    /// Lanes, and columns of each.
    pub(super) reads: Vec<(usize, std::ops::Range<usize>)>,
    /// Lanes that are written, all in these columns.
    pub(super) written: Vec<usize>,
    pub(super) columns: std::ops::Range<usize>,
}

/// Columns between one group of four scales and the next, for a factor with this number of rows.
fn scale_stride(rows: usize) -> usize {
    rows.div_ceil(128) * 4
}

/// Columns that the scales of a factor with this number of rows take.
fn scale_columns(scale: &Scale, factor: usize, rows: usize) -> usize {
    rows.div_ceil(32) + (scale.id[factor] + scale.count - 1) / 4 * scale_stride(rows)
}

/// Columns that metadata take, from the address on.
fn metadata_columns(it: &Instruction) -> usize {
    if it.factors[0].bits() >= 16 { it.selector + 1 } else { 2 }
}

impl Warp {
    /// `tcgen05.mma`
    pub(super) fn tensor_mma(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        op: &TensorMma,
        taking: u32,
    ) -> Tried<()> {
        for lane in lanes(taking) {
            let issued = Issued::of(&self.calls[call].frame, op, lane)?;
            let group = self.cta_group(env, op.modifiers.ctas, lane)?;
            let it = &issued.instruction;
            let work = it.m * it.n * it.k / 256;
            env.meter.work_within(env.launch, work as u64)?;
            let Buffers { rows, columns, scratch } = &mut self.products;
            columns.clear();
            columns.resize(it.n, Line::ZERO);
            for (index, rank) in group.clone().enumerate() {
                issued.check_memory(&env.tensor[rank], lane)?;
                let (range, lines) = issued.columns_of(group.len(), index);
                lines.read(&Source::new(&env.spaces, rank, lane), &mut columns[range])?;
            }
            if it.negate[1] {
                negate(it.factors[1], columns);
            }
            if let Some(mask) = &issued.mask {
                let zeros = columns.iter_mut().enumerate().filter(|(at, _)| mask.is_zero(*at, it.m, it.n));
                zeros.for_each(|(_, line)| *line = Line::ZERO);
            }
            for (index, rank) in group.enumerate() {
                rows.clear();
                rows.resize(it.layout.rows(), Line::ZERO);
                if let Factor::Shared(descriptor) = issued.a {
                    issued.rows(descriptor).read(&Source::new(&env.spaces, rank, lane), rows)?;
                }
                let memory = &mut env.tensor[rank];
                for panel in it.layout.panels(it.n, issued.d.lane()) {
                    one_panel(&issued, op, memory, (panel, index), (rows, columns), scratch);
                }
            }
        }
        Ok(())
    }
}

/// Multiplies sixteen rows.
fn one_panel(
    issued: &Issued,
    op: &TensorMma,
    memory: &mut TensorMemory,
    (panel, index): (Panel, usize),
    (rows, columns): (&[Line], &[Line]),
    scratch: &mut softwarp_units::tensor_core::product::Scratch,
) {
    let it = &issued.instruction;
    let mut a: [Line; ROWS] =
        std::array::from_fn(|row| rows.get(panel.row + row).copied().unwrap_or(Line::ZERO));
    if let Factor::Tensor(at) = issued.a {
        a = rows_in_tensor(memory, it, panel.lane, at.column(), op.modifiers.shifts_a);
    }
    if it.negate[0] {
        negate(it.factors[0], &mut a);
    }
    let places = issued.metadata.map(|at| places(memory, it, panel.lane, at.column()));
    let scales = issued.scales.zip(it.scale).map(|([a, b], scale)| {
        let quarter = panel.lane / 32 * 32;
        let (rows, columns) = (panel.row..panel.row + ROWS, 0..panel.count);
        let of_a = read_scales(memory, (&scale, 0, it.layout.rows()), (quarter, a.column()), rows);
        let of_b = read_scales(memory, (&scale, 1, panel.count), (quarter, b.column()), columns);
        (of_a, of_b)
    });
    let b = &columns[panel.first..panel.first + panel.count];
    let product = Product {
        instruction: it,
        a: &a,
        b,
        places: places.as_ref(),
        scales: scales.as_ref().map(|(a, b)| Scales { a, b }),
        adds: issued.adds,
        scale_d: issued.scale_d,
    };
    let disabled = issued.disabled[index * 4 + panel.lane / 32] >> (panel.lane % 32);
    let written = !(disabled as u16);
    let words = memory.lanes_mut(panel.lane, ROWS);
    multiply(&product, &mut Block { words, column: issued.d.column(), written }, scratch);
}

/// Rows of A in tensor memory, perhaps each that of the next lane; the last of 32 lanes stays.
fn rows_in_tensor(
    memory: &TensorMemory,
    it: &Instruction,
    lane: usize,
    column: usize,
    shifts: bool,
) -> [Line; ROWS] {
    std::array::from_fn(|row| {
        let at = lane + row;
        let at = if shifts && at % 32 != 31 { at + 1 } else { at };
        let words = memory.lanes(at, 1).get(column..).unwrap_or_default();
        let mut line = Line::ZERO;
        for (piece, words) in words.as_chunks::<4>().0.iter().enumerate().take(it.row_bytes()[0].div_ceil(16))
        {
            line.set(piece, it.factors[0].take(From::Tensor, *words));
        }
        line
    })
}

/// Where in their rows the stored elements of a sparse A are.
///
/// Elements of 8 bits and less have the metadata of a row in its lane. Of larger ones, sixteen lanes have those of
/// sixteen rows in the order of registers of `mma.sp`: a lane has half a word of each of two rows.
fn places(memory: &TensorMemory, it: &Instruction, lane: usize, column: usize) -> Places {
    let word =
        |lane: usize, column: usize| u64::from(memory.lanes(lane, 1).get(column).copied().unwrap_or(0));
    let bits = it.factors[0].bits();
    let mut places = [[0; STORED]; ROWS];
    for (row, places) in places.iter_mut().enumerate() {
        let metadata = if bits >= 16 {
            let half = |upper: usize| {
                let word = word(lane + row % 8 + 8 * upper, column + it.selector);
                word >> (row / 8 * 16) & 0xffff
            };
            half(0) | half(1) << 16
        } else {
            word(lane + row, column) | word(lane + row, column + 1) << 32
        };
        let chunk = match bits {
            32 => 2,
            4 => 8,
            _ => 4,
        };
        for (at, place) in places.iter_mut().enumerate().take(it.stored()) {
            let (index, within) = (at / (chunk / 2), at % (chunk / 2));
            let four = (metadata >> (4 * index) & 15) as u8;
            let position = match chunk {
                2 => four >> 1 & 1,
                4 => four >> (2 * within) & 3,
                _ => (four >> (within / 2 * 2) & 3) * 2 + (within % 2) as u8,
            };
            *place = (index * chunk) as u8 + position;
        }
    }
    places
}

/// Scales of `rows` rows of A, or columns of B: 32 of them in the lanes of a quarter, the next in the columns after. A word
/// has four scales of a row; what does not fit is after those of all rows.
fn read_scales(
    memory: &TensorMemory,
    (scale, factor, rows): (&Scale, usize, usize),
    (quarter, column): (usize, usize),
    range: std::ops::Range<usize>,
) -> Vec<u32> {
    let mut scales = Vec::with_capacity(range.len() * scale.count);
    for at in range {
        let words = memory.lanes(quarter + at % 32, 1);
        for index in 0..scale.count {
            let byte = scale.id[factor] + index;
            let word = words.get(column + at / 32 + byte / 4 * scale_stride(rows)).copied().unwrap_or(0);
            scales.push(word >> (byte % 4 * 8) & 0xff);
        }
    }
    scales
}
