//! Copies of tensors, and what changes a tensor map (PTX ISA sections 9.7.9.25.5, 9.7.9.28 and 9.7.13.16).

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_ir::asynchronous::{CopyMap, ReplaceField, TensorCopy, TensorWay};
use softwarp_ir::{Address, AsyncOp};
use softwarp_isa::Type;
use softwarp_isa::instruction::Modifier;
use softwarp_isa::instruction::Space;
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_tensor::Mode;
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::replace::Field;

impl Builder<'_, '_> {
    pub(super) fn tensor_copy(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let has = |modifier| form.has(modifier);
        let words = || form.instruction.words.iter();
        if words().any(|word| word.reports_validity()) {
            return because("with a report of what is valid");
        }
        if has(Modifier::OverrideGlobalAddress) {
            return because("with values that override the tensor map's");
        }
        if has(Modifier::Im2colNoOffsW) {
            return because("along W");
        }
        let rank = form.instruction.dimensions();
        let Some(rank) = rank else { return Err(Refusal::Form) };
        let mode = words().find_map(|word| Mode::from_name(word.name())).unwrap_or(Mode::Tile);
        let way = if has(Modifier::Prefetch) {
            TensorWay::Prefetch
        } else if has(Modifier::Reduce) {
            let operation = words().find_map(|word| Operation::from_name(word.name()));
            TensorWay::Reduce(operation.ok_or(Refusal::Form)?)
        } else if form.space() == Space::Global {
            TensorWay::Store
        } else {
            TensorWay::Load
        };
        let mut places = self.places(operands);
        let mut next = || places.next().ok_or(Refusal::Form);
        let (mut shared, mut mbarrier) = (None, None);
        if way == TensorWay::Load {
            shared = Some(self.address(next()?, form.space())?);
        }
        let (map, parts) = self.tensor(next()?)?;
        let mut coordinates = Vec::new();
        for index in self.places(parts) {
            coordinates.push(self.source(index, Type::B32)?);
        }
        match way {
            TensorWay::Load => {
                let cluster = form.space() == Space::SharedCluster;
                let space = if cluster { Space::SharedCluster } else { Space::Shared };
                mbarrier = Some(self.address(next()?, space)?);
            }
            TensorWay::Store | TensorWay::Reduce(_) => {
                shared = Some(self.address(next()?, Space::Shared)?);
            }
            TensorWay::Prefetch => {}
        }
        let mut offsets = Vec::new();
        if matches!(mode, Mode::Im2col | Mode::Im2colW | Mode::Im2colW128) {
            let OperandKind::Vector(parts) = self.operand(next()?).kind else { return Err(Refusal::Form) };
            for index in self.places(parts) {
                offsets.push(self.source(index, Type::U16)?);
            }
        }
        let mut multicast = None;
        if words().any(|word| word.is_multicast()) {
            let ty = if has(Modifier::MulticastCluster32b) { Type::U32 } else { Type::U16 };
            multicast = Some(self.source(next()?, ty)?);
        }
        let wanted = if matches!(mode, Mode::Gather4 | Mode::Scatter4) { 5 } else { rank };
        if coordinates.len() != usize::from(wanted) || offsets.len() > 3 {
            return Err(Refusal::Form);
        }
        self.issue(AsyncOp::Tensor(TensorCopy {
            map,
            shared,
            mbarrier,
            coordinates,
            offsets,
            multicast,
            pair: has(Modifier::CtaGroup2),
            mode,
            way,
            rank,
        }))
    }

    /// `[map, {x, y}]`: where the map is, and the coordinates.
    fn tensor(&mut self, index: u32) -> Lowered<(Address, Range<Operand>)> {
        let OperandKind::Address(parts) = self.operand(index).kind else { return Err(Refusal::Form) };
        if parts.len != 2 {
            return Err(Refusal::Form);
        }
        let OperandKind::Vector(coordinates) = self.operand(parts.start + 1).kind else {
            return because("with coordinates that are no vector");
        };
        Ok((self.address_of(parts.start, Space::Generic)?, coordinates))
    }

    /// `tensormap.replace`
    pub(super) fn replace(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let Some(field) = form.instruction.words.iter().find_map(|word| Field::from_name(word.name())) else {
            return Err(Refusal::Form);
        };
        let map = self.address(operands.start, form.space())?;
        let ordinal = match operands.len {
            3 => self.immediate(operands.start + 1)?,
            _ => 0,
        };
        let ordinal = usize::try_from(ordinal).map_err(|_| Refusal::Form)?;
        let ty = if field.value_bits() == 64 { Type::B64 } else { Type::B32 };
        let value = self.source(operands.start + operands.len - 1, ty)?;
        self.issue(AsyncOp::Replace(ReplaceField { map, value, field, ordinal }))
    }

    /// `tensormap.cp_fenceproxy`
    pub(super) fn copy_map(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let to = self.address(operands.start, form.space())?;
        let from = self.address(operands.start + 1, Self::second_space(form))?;
        self.issue(AsyncOp::CopyMap(CopyMap { to, from }))
    }
}
