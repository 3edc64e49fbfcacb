//! Matrix instructions (PTX ISA sections 9.7.14 and 9.7.15): what is common to them, and those that move matrices.
//!
//! All of them are for whole warps, so that diverged lanes reconverge first. `tcgen05` is in `tensor_core.rs`.

mod mma;
mod wgmma;
mod wmma;

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_ir::group::Queue;
use softwarp_ir::matrix::{LoadMatrix, Packing, StoreMatrix, TileKind, Tiles, Transpose};
use softwarp_ir::{MatrixOp, Slot, Slots, Step, WarpOp, WarpOpKind};
use softwarp_isa::Type;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_num::{Format, Rounding};
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    /// Matrix instructions.
    pub fn matrix(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match (form.instruction.opcode, form.instruction.modifiers.first().copied()) {
            (Opcode::Ldmatrix, _) => self.tiles(form, operands, true),
            (Opcode::Stmatrix, _) => self.tiles(form, operands, false),
            (Opcode::Movmatrix, _) => self.transpose(operands),
            (Opcode::Mma, _) => self.mma(form, operands),
            (Opcode::Wmma, Some(Modifier::Load | Modifier::Store)) => self.wmma_access(form, operands),
            (Opcode::Wmma, _) => self.wmma(form, operands),
            (Opcode::Wgmma, Some(Modifier::MmaAsync)) => self.wgmma(form, operands),
            (Opcode::Wgmma, Some(Modifier::Fence | Modifier::CommitGroup | Modifier::WaitGroup)) => {
                self.group(form, Queue::Products, operands)
            }
            (Opcode::Wgmma, _) => Err(Refusal::Form),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// Appends a step of a whole warp.
    pub fn together(&mut self, step: Step) -> Lowered<()> {
        let members = self.constant(u64::from(u32::MAX), 32);
        self.step(Step::Warp(WarpOp {
            op: WarpOpKind::Sync,
            members: Some(members),
            d: None,
            p: None,
            s: Slots::default(),
            negated: false,
        }))?;
        self.step(step)
    }

    /// Appends a matrix instruction.
    fn matrices(&mut self, op: MatrixOp) -> Lowered<()> {
        self.together(Step::Matrix(op))
    }

    /// The registers of a vector that is read.
    pub(crate) fn registers_read(&mut self, index: u32, ty: Type) -> Lowered<Vec<Slot>> {
        match self.operand(index).kind {
            OperandKind::Vector(parts) => self.places(parts).map(|part| self.source(part, ty)).collect(),
            _ => self.whole(index, ty),
        }
    }

    /// The registers of a vector that is written; none for `_`.
    pub(crate) fn registers_written(&mut self, index: u32, ty: Type) -> Lowered<Vec<Option<Slot>>> {
        let written = |builder: &mut Self, part: u32| match builder.operand(part).kind {
            OperandKind::Sink => Ok(None),
            _ => Ok(Some(builder.destination(part, ty)?.slot)),
        };
        match self.operand(index).kind {
            OperandKind::Vector(parts) => self.places(parts).map(|part| written(self, part)).collect(),
            // A vector register is read and written by the same names.
            _ if self.lanes(index) > 1 => Ok(self.whole(index, ty)?.into_iter().map(Some).collect()),
            _ => Ok(vec![written(self, index)?]),
        }
    }

    /// `ldmatrix`, `stmatrix`
    fn tiles(&mut self, form: &Form, operands: Range<Operand>, loads: bool) -> Lowered<()> {
        let packing = match () {
            () if form.has(Modifier::B6x16P32) => Packing::Six,
            () if form.has(Modifier::B4x16P64) => Packing::Four,
            // No document says how rows of these lie.
            () if form.instruction.types.contains(&Type::S4) => return Err(Refusal::Form),
            () => Packing::Bytes,
        };
        let shape = form.instruction.matrix().map(|shape| (shape.m, shape.n));
        let kind = match () {
            () if shape == Some((8, 8)) => TileKind::Halves { transposed: form.has(Modifier::Trans) },
            () if shape == Some((8, 16)) => TileKind::Wide(packing),
            () => TileKind::Bytes(packing),
        };
        let tiles = Tiles { count: u32::from(form.instruction.vector), kind };
        let (address, registers) = if loads { (1, 0) } else { (0, 1) };
        let registers = operands.start + registers;
        let row = self.address(operands.start + address, form.space())?;
        let wanted = (tiles.count * kind.registers(loads)) as usize;
        let (op, found) = if loads {
            let d = self.registers_written(registers, Type::B32)?;
            let found = d.len();
            (MatrixOp::Load(LoadMatrix { d, row, tiles }), found)
        } else {
            let data = self.registers_read(registers, Type::B32)?;
            let found = data.len();
            (MatrixOp::Store(StoreMatrix { row, data, tiles }), found)
        };
        if found != wanted {
            return Err(Refusal::Form);
        }
        self.matrices(op)
    }

    /// `movmatrix`
    fn transpose(&mut self, operands: Range<Operand>) -> Lowered<()> {
        let a = self.source(operands.start + 1, Type::B32)?;
        let [d] = self.registers_written(operands.start, Type::B32)?[..] else { return Err(Refusal::Form) };
        self.matrices(MatrixOp::Transpose(Transpose { d, a }))
    }
}

/// The format of a type of floating-point numbers.
fn format(ty: Type) -> Lowered<Format> {
    match ty.packed() {
        Some(packed) if packed.lanes == 1 => Ok(packed.element),
        _ => Err(Refusal::Form),
    }
}

/// The rounding that a form says.
fn rounding(form: &Form) -> Rounding {
    match () {
        () if form.has(Modifier::Rz) => Rounding::TowardZero,
        () if form.has(Modifier::Rm) => Rounding::Down,
        () if form.has(Modifier::Rp) => Rounding::Up,
        () => Rounding::NearestEven,
    }
}

/// Refuses registers that are not as many as they should be: the checker would not let them pass.
fn expect(found: usize, wanted: usize) -> Lowered<()> {
    if found == wanted { Ok(()) } else { because("with so many registers") }
}
