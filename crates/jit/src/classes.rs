//! Divergence analysis: which values are the same in all lanes, and which grow by a constant from lane to lane.
//!
//! An optimistic fixpoint over webs. The claims hold as long as all lanes of a warp execute everything together, which
//! is what the uniform code of a function ([`crate::Mode::Uniform`]) assumes: where it is entered, they are verified.

use crate::decode::{Action, Compute, Extend, Width};
use crate::flow::Flow;
use crate::{Mode, Shape};
use softwarp_ir::start::Given;
use softwarp_ir::{Alu, Function, Guard, Op, Slot, Special, Step};
use std::collections::HashMap;

/// How the lanes of a value are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Nothing is known yet.
    Unknown,
    /// The value grows by this stride from each lane to the next, modulo the width. With a stride of zero it is the same
    /// in all lanes.
    Affine(i64),
    Varying,
}

impl Class {
    pub(crate) const UNIFORM: Class = Class::Affine(0);

    fn meet(self, other: Class) -> Class {
        match (self, other) {
            (Class::Unknown, class) | (class, Class::Unknown) => class,
            (a, b) if a == b => a,
            _ => Class::Varying,
        }
    }
}

/// The classes of the webs and of the rows that are never written.
pub(crate) struct Classes {
    pub(crate) webs: Vec<Class>,
    fixed: HashMap<Slot, (Class, Option<u64>)>,
}

impl Classes {
    pub(crate) fn of(function: &Function, flow: &Flow, shape: Shape, mode: Mode) -> Classes {
        let fixed = fixed(function, shape);
        let mut classes = Classes { webs: vec![Class::Varying; flow.webs.len()], fixed };
        if mode == Mode::Masked {
            return classes;
        }
        classes.webs.fill(Class::Unknown);
        for (web, class) in flow.webs.iter().zip(&mut classes.webs) {
            if web.from_start {
                // The frame begins with zeros.
                *class = Class::UNIFORM;
            }
        }
        loop {
            let mut changed = false;
            for (at, op) in function.ops.iter().enumerate() {
                changed |= classes.transfer(flow, at, op);
            }
            if !changed {
                break;
            }
        }
        classes
            .webs
            .iter_mut()
            .filter(|class| **class == Class::Unknown)
            .for_each(|class| *class = Class::Varying);
        classes
    }

    /// The class of a source, and its value if that is known.
    pub(crate) fn source(&self, flow: &Flow, op: usize, slot: Slot) -> (Class, Option<u64>) {
        if flow.is_fixed(slot) {
            return self.fixed.get(&slot).copied().unwrap_or((Class::Varying, None));
        }
        match flow.read(op, slot) {
            Some(web) => (self.webs[web], None),
            None => (Class::Varying, None),
        }
    }

    fn transfer(&mut self, flow: &Flow, at: usize, op: &Op) -> bool {
        let mut changed = false;
        let result = self.result(flow, at, op);
        for touch in &flow.touches[at].writes {
            let class = self.webs[touch.web].meet(result);
            changed |= class != self.webs[touch.web];
            self.webs[touch.web] = class;
        }
        changed
    }

    /// The class of what an operation writes.
    fn result(&self, flow: &Flow, at: usize, op: &Op) -> Class {
        if op.guard() != Guard::ALWAYS {
            return Class::Varying;
        }
        let source = |slot: Slot| self.source(flow, at, slot);
        match (flow.actions[at], op) {
            (Action::Copy(_, s), _) => source(s).0,
            (Action::Compute(compute), Op::Alu(alu)) => self.computed(flow, at, compute, alu),
            (Action::Load, Op::Other(_, step)) => match &**step {
                Step::Load(access) => match access.address.base.map(|base| source(base).0) {
                    Some(Class::Affine(0)) | None if access.bytes >= 4 => Class::UNIFORM,
                    Some(Class::Unknown) => Class::Unknown,
                    _ => Class::Varying,
                },
                _ => Class::Varying,
            },
            _ => Class::Varying,
        }
    }

    fn computed(&self, flow: &Flow, at: usize, compute: Compute, alu: &Alu) -> Class {
        let mut strides = [(0i64, None); 3];
        for (n, slot) in alu.s.iter().enumerate().take(3) {
            if slot.class() == softwarp_ir::Class::Predicate {
                continue;
            }
            match self.source(flow, at, slot) {
                (Class::Unknown, _) => return Class::Unknown,
                (Class::Varying, _) => return Class::Varying,
                (Class::Affine(stride), value) => strides[n] = (stride, value),
            }
        }
        let [(a, a_value), (b, b_value), (c, _)] = strides;
        let narrow = |stride: i64| i64::from(stride as i32);
        let uniform = a == 0 && b == 0 && c == 0;
        let sign = |value: u64| i64::from(value as u32 as i32);
        // A product of an affine value and a constant.
        // The same where the source must not wrap around as an unsigned number.
        let scaled_unsigned = || match (a, b, a_value, b_value) {
            (0, 0, ..) => Some(0),
            (stride, 0, _, Some(value)) | (0, stride, Some(value), _) if stride > 0 => {
                Some(stride.wrapping_mul(value as u32 as i64))
            }
            _ => None,
        };
        let scaled = |narrow_value: bool| match (a, b, a_value, b_value) {
            (0, 0, ..) => Some(0),
            (stride, 0, _, Some(value)) | (0, stride, Some(value), _) => {
                Some(stride.wrapping_mul(if narrow_value { sign(value) } else { value as i64 }))
            }
            _ => None,
        };
        let affine = match compute {
            Compute::Copy(_) => Some(a),
            Compute::Add(Width::W32) => Some(narrow(a.wrapping_add(b))),
            Compute::Add(Width::W64) => Some(a.wrapping_add(b)),
            Compute::Sub(Width::W32) => Some(narrow(a.wrapping_sub(b))),
            Compute::Sub(Width::W64) => Some(a.wrapping_sub(b)),
            Compute::Mul(Width::W32) => scaled(true).map(narrow),
            Compute::Mul(Width::W64) => scaled(false),
            Compute::Mad(Width::W32) => scaled(true).map(|scaled| narrow(scaled.wrapping_add(c))),
            Compute::Mad(Width::W64) => scaled(false).map(|scaled| scaled.wrapping_add(c)),
            // Code checks that the source does not wrap around among the lanes.
            Compute::Wide { signed, .. } if a.abs() < 1 << 20 && b.abs() < 1 << 20 => match signed {
                true => scaled(true).map(|scaled| scaled.wrapping_add(c)),
                false => scaled_unsigned().map(|scaled| scaled.wrapping_add(c)),
            },
            Compute::Shl(width) => match (a, b, b_value) {
                (0, 0, _) => Some(0),
                (_, 0, Some(by)) if by < 32 && width == Width::W32 => Some(narrow(a << by)),
                (_, 0, Some(by)) if by < 32 => Some(a << by),
                _ => None,
            },
            Compute::Extend(Extend::Sign64) if a.abs() < 1 << 20 => Some(a),
            Compute::Extend(Extend::Zero64) if (0..1 << 20).contains(&a) => Some(a),
            Compute::Extend(Extend::Low32) => Some(narrow(a)),
            Compute::Neg(_) | Compute::Shr { .. } | Compute::And(_) | Compute::Or(_) | Compute::Xor(_) => {
                uniform.then_some(0)
            }
            Compute::Not(_) | Compute::Min { .. } | Compute::Max { .. } | Compute::Extend(_) => {
                uniform.then_some(0)
            }
            _ => None,
        };
        affine.map_or(Class::Varying, Class::Affine)
    }
}

/// Rows that are never written: their classes, and their values where these are known.
fn fixed(function: &Function, shape: Shape) -> HashMap<Slot, (Class, Option<u64>)> {
    let mut fixed = HashMap::new();
    for &(slot, value) in &function.narrow_constants {
        fixed.insert(Slot::narrow(slot), (Class::UNIFORM, Some(u64::from(value))));
    }
    for &(slot, value) in &function.wide_constants {
        fixed.insert(Slot::wide(slot), (Class::UNIFORM, Some(value)));
    }
    for &(slot, _) in &function.shared_narrow {
        fixed.insert(Slot::narrow(slot), (Class::UNIFORM, None));
    }
    for &(slot, _) in &function.shared_wide {
        fixed.insert(Slot::wide(slot), (Class::UNIFORM, None));
    }
    for &(slot, _) in &function.start.of_cta {
        fixed.insert(Slot::narrow(slot), (Class::UNIFORM, None));
    }
    for &given in &function.start.given {
        let (slot, class) = match given {
            Given::Narrow(slot, _) => (Slot::narrow(slot), Class::UNIFORM),
            Given::Wide(slot, _) => (Slot::wide(slot), Class::UNIFORM),
            Given::Special(slot, special) => (Slot::narrow(slot), special_class(special, shape)),
        };
        fixed.insert(slot, (class, None));
    }
    fixed
}

fn special_class(special: Special, shape: Shape) -> Class {
    match special {
        Special::Tid(0) if shape.first_axis_affine => Class::Affine(1),
        Special::Tid(1) if shape.second_axis_uniform => Class::UNIFORM,
        Special::Tid(2) if shape.third_axis_uniform => Class::UNIFORM,
        Special::LaneId => Class::Affine(1),
        Special::Ntid(_) | Special::Nctaid(_) | Special::Ctaid(_) | Special::WarpId | Special::NwarpId => {
            Class::UNIFORM
        }
        _ => Class::Varying,
    }
}
