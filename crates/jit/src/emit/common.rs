//! What is found out about a function once, for the code of both modes.

use super::plain::sites;
use crate::Shape;
use crate::classes::Fixed;
use crate::decode::Action;
use crate::flow::Flow;
use crate::groups::Groups;
use crate::quotients::{Reciprocal, reciprocals};
use crate::spans::Spans;
use softwarp_ir::{Function, Op, Step};

/// What both modes know of a function.
pub(crate) struct Common {
    /// The sites of accesses.
    pub(crate) sites: Vec<u8>,
    pub(super) groups: Groups,
    pub(super) spans: Spans,
    pub(super) reciprocals: Vec<Reciprocal>,
    pub(super) fixed: Fixed,
    /// How many operations among the lanes of a warp there are before each operation, and in all. Empty if there are none.
    pub(super) exchanges_before: Vec<u32>,
}

impl Common {
    pub(crate) fn of(function: &Function, flow: &Flow, shape: Shape) -> Common {
        let fixed = Fixed::of(function, flow, shape);
        let spans = Spans::of(function, flow, |slot| fixed.constant(flow, slot));
        let (groups, reciprocals) = (Groups::of(function, flow), reciprocals(function, flow));
        let exchanges_before = exchanges_before(function, flow);
        Common { sites: sites(function), groups, spans, reciprocals, fixed, exchanges_before }
    }
}

/// How many operations among the lanes of a warp there are before each operation, and in all.
fn exchanges_before(function: &Function, flow: &Flow) -> Vec<u32> {
    if !flow.actions.contains(&Action::Exchange) {
        return Vec::new();
    }
    let mut count = 0;
    let counted = flow.actions.iter().zip(&function.ops).map(|(action, op)| {
        let is_one =
            matches!((action, op), (Action::Exchange, Op::Other(_, step)) if matches!(**step, Step::Warp(_)));
        let before = count;
        count += u32::from(is_one);
        before
    });
    let mut before: Vec<u32> = counted.collect();
    before.push(count);
    before
}
