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

/// Rows of D that a warp computes.
const ROWS: usize = 16;

impl Builder<'_, '_> {
    /// `wgmma.mma_async`
    pub(super) fn wgmma(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let types = match form.instruction.types[..] {
            [d, a, b] => Types { d, factors: Some([a, b]), c: d },
            [d] => Types { d, factors: None, c: d },
            _ => return Err(Refusal::Form),
        };
        let bits = types.factor_bits(form);
        let shape = dimensions(form)?;
        let k = if types.factors.is_none() { shape.k / 32 } else { shape.k };
        let mut places = self.places(operands);

        let (d, a, b) = (next(&mut places)?, next(&mut places)?, next(&mut places)?);
        let sparse = match form.has(Modifier::Sp) {
            false => None,
            true => {
                let (metadata, selector) = (next(&mut places)?, next(&mut places)?);
                Some((metadata, self.sparsity(selector, bits, k)?))
            }
        };
        let stored = sparse.map_or(k, |(_, it)| it.stored());
        let adds = next(&mut places)?;
        let size = Dimensions { m: ROWS, n: shape.n, k: stored };
        let product = product(form, &types, Unit::Wgmma, size, sparse.is_some())?;
        let in_registers = matches!(self.operand(a).kind, OperandKind::Vector(_));
        let negate = match (&product, types.factors) {
            (Product::Float(_), Some(factors)) => self.signs(&mut places, factors)?,
            _ => [0; 2],
        };
        let k_major = match bits {
            16 => self.k_major(&mut places, in_registers)?,
            _ => [true; 2],
        };

        let widths = Widths { factor: bits, c: 32, d: types.d.bits() };
        let fragments = layout::mma(Dimensions { k, ..size }, stored, widths);
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

    /// The operands `imm-scale-a` and `imm-scale-b`: the sign bits to invert in elements of A and B.
    fn signs(&self, places: &mut std::ops::Range<u32>, factors: [Type; 2]) -> Lowered<[u32; 2]> {
        let mut negate = [0; 2];
        for (sign, ty) in negate.iter_mut().zip(factors) {
            *sign = match self.immediate(next(places)?)? as i64 {
                1 => 0,
                -1 => 1 << (format(ty)?.bits() - 1),
                _ => return because("with a scale that is neither 1 nor -1"),
            };
        }
        Ok(negate)
    }

    /// The operands `imm-trans-a` and `imm-trans-b`: whether `k` runs fastest in A and B. An A in registers has none.
    fn k_major(&self, places: &mut std::ops::Range<u32>, in_registers: bool) -> Lowered<[bool; 2]> {
        let mut k_major = [true; 2];
        for major in k_major.iter_mut().skip(usize::from(in_registers)) {
            *major = match self.immediate(next(places)?)? {
                0 => true,
                1 => false,
                _ => return because("with a transposition that is neither 0 nor 1"),
            };
        }
        Ok(k_major)
    }
}

/// The next operand.
fn next(places: &mut std::ops::Range<u32>) -> Lowered<u32> {
    places.next().ok_or(Refusal::Form)
}
