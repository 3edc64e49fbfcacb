//! `mma` and `mma.sp` (PTX ISA sections 9.7.14.5.14 and 9.7.14.6.3).

use super::{expect, format, rounding};
use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_ir::MatrixOp;
use softwarp_ir::matrix::{self, Mma, MmaProduct, Product};
use softwarp_isa::instruction::Modifier;
use softwarp_isa::{Class, Type};
use softwarp_num::Format;
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::matrix::integer::{Factors, Int, IntegerProduct};
use softwarp_units::matrix::layout::{self, Dimensions, Widths};
use softwarp_units::matrix::sparse::Sparsity;
use softwarp_units::matrix::{BlockScale, FloatProduct, Unit};

/// The types of a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Types {
    pub d: Type,
    /// `None` for single bits.
    pub factors: Option<[Type; 2]>,
    pub c: Type,
}

impl Types {
    /// Bits that a factor has in a register; 32, words, if it is a bit.
    pub fn factor_bits(&self, form: &Form) -> u32 {
        match self.factors {
            None => 32,
            // Factors of fewer than 8 bits have bytes of their own, if they may be of several types.
            Some([a, _]) if form.has(Modifier::KindF8f6f4) || form.has(Modifier::KindMxf8f6f4) => {
                a.bits().max(8)
            }
            Some([a, _]) => a.bits(),
        }
    }
}

/// The shape that a form says.
pub(super) fn dimensions(form: &Form) -> Lowered<Dimensions> {
    form.instruction.matrix().and_then(Dimensions::of).ok_or(Refusal::Form)
}

/// What is computed by one unit. The `k` of `size` is how many products make an element.
pub(super) fn product(
    form: &Form,
    types: &Types,
    unit: Unit,
    size: Dimensions,
    sparse: bool,
) -> Lowered<Product> {
    let Dimensions { n, k: stored, .. } = size;
    // The rows of a sparse matrix are multiplied one by one.
    let m = if sparse { 1 } else { size.m };
    let Some([a, b]) = types.factors else {
        let factors = if form.has(Modifier::Xor) { Factors::Xor } else { Factors::And };
        return Ok(Product::Integer(IntegerProduct { factors, saturate: false, m, n, k: stored }));
    };
    if types.d == Type::F64 {
        return Ok(Product::Double(rounding(form)));
    }
    if a.is_int() {
        let int = |ty: Type| Int { bits: ty.bits(), signed: ty.class() == Class::Signed };
        let factors = Factors::Integers(int(a), int(b));
        let saturate = form.has(Modifier::Satfinite);
        return Ok(Product::Integer(IntegerProduct { factors, saturate, m, n, k: stored }));
    }
    if form.has(Modifier::Satfinite) {
        return because("with `.satfinite` of floating-point numbers");
    }
    let scale = match form.instruction.types.get(4) {
        Some(&ty) => Some(BlockScale { format: format(ty)?, block: stored / scales(form) }),
        None => None,
    };
    let (a, b, c, d) = (format(a)?, format(b)?, format(types.c)?, format(types.d)?);
    Ok(Product::Float(FloatProduct { unit, a, b, c, d, m, n, k: stored, sparse, scale }))
}

/// How many scales a row of A has.
fn scales(form: &Form) -> usize {
    match () {
        () if form.has(Modifier::ScaleVec4X) => 4,
        () if form.has(Modifier::ScaleVec2X) || form.has(Modifier::KindMxf4) => 2,
        () => 1,
    }
}

/// Where in its byte a factor is: a shift and a mask.
fn within(ty: Type, bits: u32) -> (u32, u32) {
    match format(ty) {
        Ok(Format::E2m1) if bits == 8 => (2, 0xf),
        Ok(Format::E3m2 | Format::E2m3) => (0, 0x3f),
        _ => (0, u32::MAX >> (32 - bits.clamp(1, 32))),
    }
}

impl Builder<'_, '_> {
    /// `mma`, `mma.sp`
    pub(super) fn mma(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let types = match form.instruction.types[..] {
            [d, a, b, c] | [d, a, b, c, _] => Types { d, factors: Some([a, b]), c },
            [d, c] => Types { d, factors: None, c },
            _ => return Err(Refusal::Form),
        };
        let mut shape = dimensions(form)?;
        if types.factors.is_none() {
            shape.k /= 32;
        }
        let bits = types.factor_bits(form);
        let widths = Widths { factor: bits, c: types.c.bits(), d: types.d.bits() };
        let sparse = match form.has(Modifier::Sp) || form.has(Modifier::SpOrderedMetadata) {
            false => None,
            true => Some(self.sparsity(operands.start + 5, bits, shape.k)?),
        };
        let stored = sparse.map_or(shape.k, |it| it.stored());
        let halves = types.factors == Some([Type::F16; 2]);
        let layout = if shape == (Dimensions { m: 8, n: 8, k: 4 }) && halves {
            let majors: Vec<bool> = form
                .instruction
                .modifiers
                .iter()
                .filter(|word| matches!(word, Modifier::Row | Modifier::Col))
                .map(|word| *word == Modifier::Row)
                .collect();
            let [a, b] = majors[..] else { return Err(Refusal::Form) };
            layout::quad_pairs([a, b], widths)
        } else {
            layout::mma(shape, stored, widths)
        };
        let product = product(form, &types, Unit::Mma, Dimensions { k: stored, ..shape }, sparse.is_some())?;
        let within = types.factors.map_or([(0, u32::MAX); 2], |both| both.map(|ty| within(ty, bits)));
        let scaled = form.has(Modifier::BlockScale);
        let product = MmaProduct { product, layout, sparse, within, scales: scaled.then(|| scales(form)) };
        let first = operands.start;
        let mut op = self.mma_registers(product, &types, first)?;
        if sparse.is_some() {
            op.metadata = Some(self.source(first + 4, Type::B32)?);
        }
        if scaled {
            let at = first + if sparse.is_some() { 6 } else { 4 };
            op.scales = Some([self.block_scale(at)?, self.block_scale(at + 2)?]);
        }
        self.matrices(MatrixOp::Mma(op))
    }

    /// What the selector at an operand says about a sparse A with factors of `bits` bits.
    pub(super) fn sparsity(&self, selector: u32, bits: u32, k: usize) -> Lowered<Sparsity> {
        let selector = self.immediate(selector)?;
        match usize::try_from(selector).ok().and_then(|it| Sparsity::new(bits, k, it)) {
            Some(sparsity) => Ok(sparsity),
            // An H200 stops with an illegal instruction.
            None => because("with that sparsity selector"),
        }
    }

    /// The scales of a factor, and which bytes of which threads they are.
    fn block_scale(&mut self, at: u32) -> Lowered<matrix::BlockScale> {
        let data = self.source(at, Type::B32)?;
        let OperandKind::Vector(ids) = self.operand(at + 1).kind else { return Err(Refusal::Form) };
        expect(ids.len as usize, 2)?;
        let byte = self.source(ids.start, Type::U16)?;
        let thread = self.source(ids.start + 1, Type::U16)?;
        Ok(matrix::BlockScale { data, byte, thread })
    }

    /// A product with its registers of D, A, B and C.
    pub(super) fn mma_registers(&mut self, product: MmaProduct, types: &Types, first: u32) -> Lowered<Mma> {
        let layout = &product.layout;
        let register = |ty: Type| if ty == Type::F64 { Type::B64 } else { Type::B32 };
        let factor = register(types.factors.map_or(Type::B32, |[a, _]| a));
        let d = self.registers_written(first, register(types.d))?;
        expect(d.len(), layout.d.registers())?;
        let a = self.registers_read(first + 1, factor)?;
        expect(a.len(), layout.a.registers())?;
        let b = self.registers_read(first + 2, factor)?;
        expect(b.len(), layout.b.registers())?;
        let c = self.registers_read(first + 3, register(types.c))?;
        expect(c.len(), layout.c.registers())?;
        Ok(Mma { d, a, b, c, metadata: None, scales: None, product: Box::new(product) })
    }
}
