//! Reports accesses outside variables.

use super::{Actor, Sanitizer};
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use crate::sanitize::bounds::Bounds;
use crate::sanitize::{Finding, FindingKind, Touched, Watch};
use softwarp_units::lanes::LANES;

impl<'a> Sanitizer<'a> {
    /// Looks at bounds, too, if that is wanted.
    #[must_use]
    pub(crate) fn with_bounds(mut self, bounds: impl FnOnce() -> Bounds) -> Self {
        self.bounds = self.wants.bounds.then(bounds);
        self
    }

    /// With a byte whose last write is wanted.
    pub(crate) fn with_watch(mut self, watch: Option<&'a Watch>) -> Self {
        self.watch = watch;
        self
    }

    /// Lanes are about to use memory that they must not.
    pub(crate) fn out_of_bounds(
        &self,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        kind: FindingKind,
        touched: Touched,
    ) {
        let at = self.site_of(launch, actor, actor.lanes.trailing_zeros() as usize % LANES);
        let number = match kind {
            FindingKind::DeadLocal => 41,
            FindingKind::ForeignLocal { .. } => 42,
            _ => 40,
        };
        let base = touched.nearest.as_ref().map_or(0, |nearest| nearest.base);
        let kernel = launch.name.into();
        let finding = Finding { kind, kernel, at, other: None, touched: Some(touched), count: 1 };
        lock(&self.state).report((number, self.op(actor), u32::MAX, base), finding);
    }
}
