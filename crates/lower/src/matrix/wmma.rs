//! `wmma` (PTX ISA section 9.7.14.4).

use super::expect;
use super::mma::{Types, dimensions, product};
use crate::builder::{Builder, Lowered, Refusal};
use crate::form::Form;
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, Memory, MmaProduct};
use softwarp_ir::{MatrixOp, Slot};
use softwarp_isa::Type;
use softwarp_isa::instruction::Modifier;
use softwarp_syntax::tree::{Operand, Range};
use softwarp_units::matrix::Unit;
use softwarp_units::matrix::layout::{self, Dimensions, Layout, Widths};

/// The fragments of a shape whose factors have a type (`None`: bits), which may be `f16`.
fn fragments(shape: Dimensions, factor: Option<Type>, widths: Widths) -> Layout {
    let k = if factor.is_none() { shape.k / 32 } else { shape.k };
    layout::wmma(Dimensions { k, ..shape }, widths, factor == Some(Type::F16))
}

impl Builder<'_, '_> {
    /// `wmma.load`, `wmma.store`
    pub(super) fn wmma_access(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let shape = dimensions(form)?;
        let loads = form.has(Modifier::Load);
        let ty = form.instruction.types.first().copied();
        let bits = ty.map_or(32, Type::bits);
        let layout = fragments(shape, ty, Widths { factor: bits, c: bits, d: bits });
        let unit = if ty.is_none() { 32 } else { 1 };
        // Lines of A are its rows, of B its columns; of C and D rows, or columns if they are turned over.
        let (k, by_rows) = (shape.k / unit, form.has(Modifier::Row));
        let (fragment, length, lines_are_rows, rows, columns) = match form.instruction.modifiers.get(1) {
            Some(&Modifier::A) => (layout.a, k, true, shape.m, shape.k),
            Some(&Modifier::B) => (layout.b, k, false, shape.k, shape.n),
            _ if layout.turned => (layout.c, shape.m, false, shape.m, shape.n),
            _ => (layout.c, shape.n, true, shape.m, shape.n),
        };
        let stride = if by_rows { columns } else { rows } as u64;
        let along = by_rows == lines_are_rows;
        let registers = fragment.registers();
        let memory = Box::new(Memory { fragment, length, along, stride, bits, unit: unit as u64 });
        let (address, values) = if loads { (1, 0) } else { (0, 1) };
        let (address, values) = (operands.start + address, operands.start + values);
        let address = self.address(address, form.space())?;
        let register = if bits == 64 { Type::B64 } else { Type::B32 };
        let op = if loads {
            let d = self.registers_written(values, register)?;
            expect(d.len(), registers)?;
            let stride = self.stride(operands)?;
            MatrixOp::FragmentLoad(FragmentLoad { d, address, stride, memory })
        } else {
            let data = self.registers_read(values, register)?;
            expect(data.len(), registers)?;
            let stride = self.stride(operands)?;
            MatrixOp::FragmentStore(FragmentStore { address, data, stride, memory })
        };
        self.matrices(op)
    }

    /// The stride of `wmma.load` and `wmma.store`, if there is one.
    fn stride(&mut self, operands: Range<Operand>) -> Lowered<Option<Slot>> {
        match operands.len {
            ..=2 => Ok(None),
            _ => Ok(Some(self.source(operands.start + 2, Type::U32)?)),
        }
    }

    /// `wmma.mma`
    pub(super) fn wmma(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let types = match form.instruction.types[..] {
            [d, a, b, c] => Types { d, factors: Some([a, b]), c },
            [d, c] if form.has(Modifier::B1) => Types { d, factors: None, c },
            [d, c] => Types { d, factors: Some([Type::F16; 2]), c },
            _ => return Err(Refusal::Form),
        };
        let shape = dimensions(form)?;
        let widths = Widths { factor: types.factor_bits(form), c: types.c.bits(), d: types.d.bits() };
        let layout = fragments(shape, types.factors.map(|[a, _]| a), widths);
        let (m, n) = if layout.turned { (shape.n, shape.m) } else { (shape.m, shape.n) };
        let k = if types.factors.is_none() { shape.k / 32 } else { shape.k };
        let product = product(form, &types, Unit::Mma, Dimensions { m, n, k }, false)?;
        let product = MmaProduct { product, layout, sparse: None, within: [(0, u32::MAX); 2], scales: None };
        let op = self.mma_registers(product, &types, operands.start)?;
        self.matrices(MatrixOp::Mma(op))
    }
}
