//! Tensor memory and the fifth generation of tensor cores (PTX ISA section 9.7.16).
//!
//! `.collector` says what the hardware may keep: it changes no result, and nothing is lowered for it.
//! `.sync_restrict` narrows what an arrival waits for; here everything is done when it is issued.

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_ir::tensor_core::{
    ReducedNumbers, Reduction, TensorAddress, TensorAlloc, TensorCommit, TensorCopyIn, TensorDealloc,
    TensorFactor, TensorFence, TensorLoad, TensorMma, TensorRelinquish, TensorShift, TensorStore, TensorWait,
};
use softwarp_ir::{Step, TensorCoreOp};
use softwarp_isa::Type;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::tensor_core::copy::{self, Packing};
use softwarp_units::tensor_core::fragment::{Fragment, Shape};
use softwarp_units::tensor_core::instruction::{Kind, Modifiers, ScaleVector};

impl Builder<'_, '_> {
    /// `tcgen05`
    pub fn tensor_core(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        if form.instruction.opcode != Opcode::Tcgen05 {
            return Err(Refusal::Elsewhere);
        }
        let at = |index: u32| operands.start + index;
        let ctas = if form.has(Modifier::CtaGroup2) { 2 } else { 1 };
        let Some(first) = form.instruction.modifiers.first() else { return Err(Refusal::Form) };
        let op = match first {
            Modifier::Alloc => {
                let to = self.address(at(0), form.space())?;
                let columns = self.source(at(1), Type::U32)?;
                return self.tensor_together(TensorCoreOp::Alloc(TensorAlloc { to, columns, ctas }));
            }
            Modifier::Dealloc => {
                let address = self.source(at(0), Type::U32)?;
                let columns = self.source(at(1), Type::U32)?;
                return self.tensor_together(TensorCoreOp::Dealloc(TensorDealloc { address, columns, ctas }));
            }
            Modifier::RelinquishAllocPermit => {
                return self.tensor_together(TensorCoreOp::Relinquish(TensorRelinquish { ctas }));
            }
            Modifier::Ld => return self.tensor_load(form, operands),
            Modifier::St => return self.tensor_store(form, operands),
            Modifier::WaitLd => return self.tensor_together(TensorCoreOp::Wait(TensorWait { loads: true })),
            Modifier::WaitSt => return self.tensor_together(TensorCoreOp::Wait(TensorWait { loads: false })),
            Modifier::FenceBeforeThreadSync => TensorCoreOp::Fence(TensorFence { before: true }),
            Modifier::FenceAfterThreadSync => TensorCoreOp::Fence(TensorFence { before: false }),
            Modifier::Commit => {
                let mbarrier = self.address(at(0), form.space())?;
                let mask = if form.has(Modifier::MulticastCluster32b) { Type::U32 } else { Type::U16 };
                let multicast = match operands.len {
                    2.. => Some(self.source(at(1), mask)?),
                    _ => None,
                };
                TensorCoreOp::Commit(TensorCommit { mbarrier, multicast, ctas })
            }
            Modifier::Cp => {
                let to = self.tensor_address(at(0))?;
                let from = self.source(at(1), Type::U64)?;
                let (shape, packing) = (copy_shape(form)?, packing(form));
                TensorCoreOp::Copy(TensorCopyIn { to, from, shape, packing, ctas })
            }
            Modifier::Shift => {
                TensorCoreOp::Shift(TensorShift { address: self.tensor_address(at(0))?, ctas })
            }
            Modifier::Mma => return self.tensor_mma(form, operands),
            _ => return Err(Refusal::Form),
        };
        self.step(Step::TensorCore(op))
    }

    /// Appends an instruction of a whole warp.
    fn tensor_together(&mut self, op: TensorCoreOp) -> Lowered<()> {
        self.together(Step::TensorCore(op))
    }

    /// `[taddr]`, `[taddr+4]`
    fn tensor_address(&mut self, index: u32) -> Lowered<TensorAddress> {
        let OperandKind::Address(parts) = self.operand(index).kind else { return Err(Refusal::Form) };
        if parts.len != 1 {
            return Err(Refusal::Form);
        }
        let part = parts.start;
        let (base, offset) = match self.operand(part).kind {
            OperandKind::Offset(base, offset) => (base.start, self.evaluate(offset)?.bits() as u32),
            _ => (part, 0),
        };
        match self.operand(base).kind {
            OperandKind::Literal(_) | OperandKind::Expr(_) => {
                let offset = (self.immediate(base)? as u32).wrapping_add(offset);
                Ok(TensorAddress { base: None, offset })
            }
            _ => Ok(TensorAddress { base: Some(self.source(base, Type::U32)?), offset }),
        }
    }

    /// The columns between the two accesses of `.16x32bx2`.
    fn split(&self, index: u32) -> Lowered<u32> {
        match u32::try_from(self.immediate(index)?) {
            Ok(split) if split < 1 << 16 => Ok(split),
            _ => because("with an offset that is no number of columns"),
        }
    }

    /// `tcgen05.ld`
    fn tensor_load(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        if form.has(Modifier::Spcompress) {
            return because("because no document says in which order compressed elements lie");
        }
        let mut places = self.places(operands);
        let fragment = fragment(form, Modifier::Pack16b)?;
        let d = self.registers_written(next(&mut places)?, Type::B32)?;
        if d.len() != fragment.registers() {
            return Err(Refusal::Form);
        }
        let reduction = form.has(Modifier::Red).then(|| reduction(form));
        let reduced = match reduction {
            Some(_) => self.registers_written(next(&mut places)?, Type::B32)?.into_iter().next().flatten(),
            None => None,
        };
        let address = self.tensor_address(next(&mut places)?)?;
        let split = match fragment.shape {
            Shape::Lanes16x32bx2 => self.split(next(&mut places)?)?,
            _ => 0,
        };
        let load = TensorLoad { d, reduced, address, fragment, split, reduction };
        self.tensor_together(TensorCoreOp::Load(load))
    }

    /// `tcgen05.st`
    fn tensor_store(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let mut places = self.places(operands);
        let fragment = fragment(form, Modifier::Unpack16b)?;
        let address = self.tensor_address(next(&mut places)?)?;
        let split = match fragment.shape {
            Shape::Lanes16x32bx2 => self.split(next(&mut places)?)?,
            _ => 0,
        };
        let data = self.registers_read(next(&mut places)?, Type::B32)?;
        if data.len() != fragment.registers() {
            return Err(Refusal::Form);
        }
        self.tensor_together(TensorCoreOp::Store(TensorStore { address, data, fragment, split }))
    }

    /// `tcgen05.mma`
    fn tensor_mma(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let modifiers = modifiers(form)?;
        let mut places = self.places(operands);
        let d = self.tensor_address(next(&mut places)?)?;
        let a = next(&mut places)?;
        let a = match self.operand(a).kind {
            OperandKind::Address(_) => TensorFactor::Tensor(self.tensor_address(a)?),
            _ => TensorFactor::Descriptor(self.source(a, Type::U64)?),
        };
        let b = self.source(next(&mut places)?, Type::U64)?;
        let metadata = match modifiers.sparse {
            true => Some(self.tensor_address(next(&mut places)?)?),
            false => None,
        };
        let instruction = self.source(next(&mut places)?, Type::U32)?;
        let scales = match modifiers.kind.is_scaled() {
            true => {
                let a = self.tensor_address(next(&mut places)?)?;
                Some([a, self.tensor_address(next(&mut places)?)?])
            }
            false => None,
        };
        let mut rest = next(&mut places)?;
        let mut disabled = Vec::new();
        if matches!(self.operand(rest).kind, OperandKind::Vector(_)) || self.lanes(rest) > 1 {
            disabled = self.registers_read(rest, Type::B32)?;
            rest = next(&mut places)?;
        }
        let adds = self.source(rest, Type::Pred)?;
        let (mut mask, mut scale_d) = (None, 0);
        if let Some(last) = places.next() {
            match modifiers.ws {
                true => mask = Some(self.source(last, Type::U64)?),
                false if modifiers.kind == Kind::I8 => {
                    return because("with `scale-input-d`, which the manual gives no meaning for integers");
                }
                false => scale_d = self.immediate(last)? as u32,
            }
        }
        self.step(Step::TensorCore(TensorCoreOp::Mma(TensorMma {
            d,
            a,
            b,
            metadata,
            instruction,
            scales,
            disabled,
            adds,
            mask,
            modifiers,
            scale_d,
        })))
    }
}

/// The next operand.
fn next(places: &mut std::ops::Range<u32>) -> Lowered<u32> {
    places.next().ok_or(Refusal::Form)
}

/// What a load or store moves.
fn fragment(form: &Form, packed: Modifier) -> Lowered<Fragment> {
    let shapes = [
        (Modifier::S32x32b, Shape::Lanes32x32b),
        (Modifier::S16x64b, Shape::Lanes16x64b),
        (Modifier::S16x128b, Shape::Lanes16x128b),
        (Modifier::S16x256b, Shape::Lanes16x256b),
        (Modifier::S16x32bx2, Shape::Lanes16x32bx2),
    ];
    let shape = shapes.iter().find(|(modifier, _)| form.has(*modifier)).ok_or(Refusal::Form)?.1;
    let fragment = Fragment { shape, repeat: usize::from(form.instruction.vector), packed: form.has(packed) };
    if fragment.exists() { Ok(fragment) } else { Err(Refusal::Form) }
}

fn reduction(form: &Form) -> Reduction {
    let numbers = match form.ty() {
        Type::S32 => ReducedNumbers::Signed,
        Type::U32 => ReducedNumbers::Unsigned,
        _ => ReducedNumbers::Float { abs: form.has(Modifier::Abs), nan: form.has(Modifier::PropagateNan) },
    };
    Reduction { max: form.has(Modifier::Max), numbers }
}

fn copy_shape(form: &Form) -> Lowered<copy::Shape> {
    Ok(match () {
        () if form.has(Modifier::S128x256b) => copy::Shape::Lanes128x256b,
        () if form.has(Modifier::S4x256b) => copy::Shape::Lanes4x256b,
        () if form.has(Modifier::S128x128b) => copy::Shape::Lanes128x128b,
        () if form.has(Modifier::S32x128b) => copy::Shape::Lanes32x128b,
        () if form.has(Modifier::Warpx2Pairs01And23) => copy::Shape::Lanes64x128b01And23,
        () if form.has(Modifier::Warpx2Pairs02And13) => copy::Shape::Lanes64x128b02And13,
        () => return Err(Refusal::Form),
    })
}

fn packing(form: &Form) -> Packing {
    match () {
        () if form.has(Modifier::B6x16P32) => Packing::Six,
        () if form.has(Modifier::B4x16P64) => Packing::Four,
        () => Packing::Bytes,
    }
}

fn modifiers(form: &Form) -> Lowered<Modifiers> {
    if form.has(Modifier::DecompressLutB) {
        return because("because no document describes its table");
    }
    let kind = match () {
        () if form.has(Modifier::KindF16) => Kind::F16,
        () if form.has(Modifier::KindTf32) => Kind::Tf32,
        () if form.has(Modifier::KindF8f6f4) => Kind::F8f6f4,
        () if form.has(Modifier::KindI8) => Kind::I8,
        () if form.has(Modifier::KindMxf8f6f4) => Kind::Mxf8f6f4,
        () if form.has(Modifier::KindMxf4) => Kind::Mxf4,
        () if form.has(Modifier::KindMxf4nvf4) => Kind::Mxf4nvf4,
        () => return because("because no document describes its numbers"),
    };
    let scale = [
        (Modifier::ScaleVec1X, ScaleVector::One),
        (Modifier::ScaleVec2X, ScaleVector::Two),
        (Modifier::ScaleVec4X, ScaleVector::Four),
        (Modifier::Block16, ScaleVector::Block16),
        (Modifier::Block32, ScaleVector::Block32),
    ];
    Ok(Modifiers {
        kind,
        ctas: if form.has(Modifier::CtaGroup2) { 2 } else { 1 },
        ws: form.has(Modifier::Ws),
        sparse: form.has(Modifier::Sp),
        shifts_a: form.has(Modifier::Ashift),
        scale: scale.iter().find(|(modifier, _)| form.has(*modifier)).map(|(_, scale)| *scale),
    })
}
