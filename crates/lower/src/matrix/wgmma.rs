//! `wgmma.mma_async` (PTX ISA sections 9.7.15.5 and 9.7.15.6).
//!
//! Four warps compute 64 rows of D, each 16 of them, from its part of A and the whole of B. A warp does its part when it
//! issues the instruction: nothing that it reads may change before the group is complete. Groups are those of all four
//! warps, so that `wgmma.wait_group` is where they meet.

use super::mma::{Types, dimensions, product};
use super::{expect, format};
use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_ir::MatrixOp;
use softwarp_ir::matrix::{Product, Wgmma, WgmmaFactor, WgmmaProduct};
use softwarp_isa::Type;
use softwarp_isa::instruction::Modifier;
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::matrix::Unit;
use softwarp_units::matrix::layout::{self, Dimensions, Widths};
use softwarp_units::matrix::sparse::Sparsity;

/// Rows of D that a warp computes.
const ROWS: usize = 16;

impl Builder<'_, '_> {
    /// `wgmma.mma_async`
    pub(super) fn wgmma(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let types = match form.shape.types[..] {
            [d, a, b] => Types { d, factors: Some([a, b]), c: d },
            [d] => Types { d, factors: None, c: d },
            _ => return Err(Refusal::Form),
        };
        let bits = types.factor_bits(form);
        let shape = dimensions(form)?;
        let k = if types.factors.is_none() { shape.k / 32 } else { shape.k };
        let mut places = self.places(operands);
        let mut next = || places.next().ok_or(Refusal::Form);

        let (d, a, b) = (next()?, next()?, next()?);
        let sparse = match form.has(Modifier::Sp) {
            false => None,
            true => {
                let (metadata, selector) = (next()?, next()?);
                let selector = self.immediate(selector)?;
                match usize::try_from(selector).ok().and_then(|it| Sparsity::new(bits, k, it)) {
                    Some(sparsity) => Some((metadata, sparsity)),
                    None => return because("with that sparsity selector"),
                }
            }
        };
        let stored = sparse.map_or(k, |(_, it)| it.stored());
        let adds = next()?;
        let product = product(form, &types, Unit::Wgmma, (ROWS, shape.n, stored), sparse.is_some())?;
        let in_registers = matches!(self.operand(a).kind, OperandKind::Vector(_));

        let mut negate = [0; 2];
        if let (Product::Float(_), Some(factors)) = (&product, types.factors) {
            for (sign, ty) in negate.iter_mut().zip(factors) {
                *sign = match self.immediate(next()?)? as i64 {
                    1 => 0,
                    -1 => 1 << (format(ty)?.bits() - 1),
                    _ => return because("with a scale that is neither 1 nor -1"),
                };
            }
        }
        let mut k_major = [true; 2];
        if bits == 16 {
            for major in k_major.iter_mut().skip(usize::from(in_registers)) {
                *major = match self.immediate(next()?)? {
                    0 => true,
                    1 => false,
                    _ => return because("with a transposition that is neither 0 nor 1"),
                };
            }
        }

        let widths = Widths { factor: bits, c: 32, d: types.d.bits() };
        let part = Dimensions { m: ROWS, n: shape.n, k };
        let fragments = layout::mma(part, stored, widths);
        let written = self.registers_written(d, Type::B32)?;
        expect(written.len(), fragments.d.registers())?;
        let c = self.registers_read(d, Type::B32)?;
        let a = match in_registers {
            true => {
                let registers = self.registers_read(a, Type::B32)?;
                expect(registers.len(), fragments.a.registers())?;
                WgmmaFactor::Registers(registers)
            }
            false => WgmmaFactor::Descriptor(self.source(a, Type::B64)?),
        };
        let b = self.source(b, Type::B64)?;
        let metadata = match sparse {
            Some((metadata, _)) => Some(self.source(metadata, Type::B32)?),
            None => None,
        };
        let adds = self.source(adds, Type::Pred)?;
        let product = Box::new(WgmmaProduct {
            product,
            d: fragments.d,
            sparse: sparse.map(|(_, it)| it),
            bits,
            stored,
            k,
            n: shape.n,
            k_major,
            negate,
        });
        self.matrices(MatrixOp::Wgmma(Wgmma { d: written, c, a, b, metadata, adds, product }))
    }
}
