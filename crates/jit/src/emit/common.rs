//! What is found out about a function once, for the code of both modes.

use super::plain::sites;
use crate::Shape;
use crate::classes::Fixed;
use crate::decode::Action;
use crate::flow::Flow;
use crate::groups::Groups;
use crate::quotients::{Reciprocal, reciprocals};
use crate::spans::Spans;
use softwarp_ir::Function;

/// What both modes know of a function.
pub(crate) struct Common {
    /// The sites of accesses.
    pub(crate) sites: Vec<u8>,
    pub(super) groups: Groups,
    pub(super) spans: Spans,
    pub(super) reciprocals: Vec<Reciprocal>,
    pub(super) fixed: Fixed,
    /// Whether there are operations among the lanes of a warp.
    pub(super) has_exchanges: bool,
}

impl Common {
    pub(crate) fn of(function: &Function, flow: &Flow, shape: Shape) -> Common {
        let fixed = Fixed::of(function, flow, shape);
        let spans = Spans::of(function, flow, |slot| fixed.constant(flow, slot));
        let (groups, reciprocals) = (Groups::of(function, flow), reciprocals(function, flow));
        let has_exchanges = flow.actions.contains(&Action::Exchange);
        Common { sites: sites(function), groups, spans, reciprocals, fixed, has_exchanges }
    }
}
