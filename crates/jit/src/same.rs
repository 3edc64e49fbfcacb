//! Rows of f32 that are the same in all lanes, although they are vectors: what arithmetic makes of such rows and of values
//! that are the same in all lanes, as in sums of the results of warps. A part of such a row is computed once.
//!
//! An optimistic fixpoint over webs, behind the divergence analysis. As its claims, these are verified where uniform code
//! is entered.

use crate::Mode;
use crate::actions::arithmetic;
use crate::buffers::Buffer;
use crate::classes::{Class, Classes};
use crate::decode::Compute;
use crate::flow::Flow;
use softwarp_ir::{Alu, Function, Slot};

/// Finds these webs.
pub(crate) fn find(function: &Function, flow: &Flow, classes: &Classes<'_>, mode: Mode) -> Buffer<bool> {
    let mut same = Buffer::filled(false, flow.webs.len());
    let arithmetic = |op: usize| {
        let (Compute::Float(_), alu) = arithmetic(function, &flow.actions, op)? else { return None };
        Some(alu)
    };
    // The first of them come from values that are the same in all lanes alone.
    let begins = |op: usize| {
        let is_uniform = |slot: Slot| classes.source(flow, op, slot).0 == Class::UNIFORM;
        arithmetic(op).is_some_and(|alu| alu.s.iter().all(is_uniform))
    };
    if mode == Mode::Masked || !(0..flow.actions.len()).any(begins) {
        return same;
    }
    let may_be = |web: usize| {
        let of = &flow.webs[web];
        !classes.merged[web]
            && !of.from_start
            && !of.is_wide()
            && classes.webs[web] == Class::Varying
            && flow.defs(web).iter().all(|&op| arithmetic(op).is_some())
    };
    let mut candidates: Vec<usize> = (0..flow.webs.len()).filter(|&web| may_be(web)).collect();
    candidates.iter().for_each(|&web| same[web] = true);
    let work = 16 * candidates.iter().map(|&web| flow.defs(web).len()).sum::<usize>();
    let holds = |same: &[bool], op: usize, alu: &Alu| {
        alu.s.iter().all(|slot| match classes.source(flow, op, slot).0 {
            Class::UNIFORM => true,
            Class::Affine(_) | Class::HalfAffine(_) | Class::Varying | Class::Unknown => {
                !flow.is_fixed(slot) && flow.read(op, slot).is_some_and(|web| same[web])
            }
        })
    };
    loop {
        let mut changed = false;
        for &web in &candidates {
            let all = |op: &usize| arithmetic(*op).is_some_and(|alu| holds(&same, *op, alu));
            if same[web] && !flow.defs(web).iter().all(all) {
                (same[web], changed) = (false, true);
            }
        }
        if !changed || !flow.budget.spend(work) {
            return same;
        }
        // What is read may be written before or after.
        candidates.reverse();
    }
}
