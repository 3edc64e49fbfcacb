//! Compressed vector clocks: what threads know of one another (PTX ISA section 8.9.5, base causality order).
//!
//! The accesses of a warp carry a clock, which advances whenever one of its lanes synchronises. A [`Knowledge`] says, for
//! each warp of each CTA, up to which clock its accesses are ordered before what the holder does next. It is compressed
//! along the hierarchy of threads: one number where all lanes of a warp are known up to the same clock, a number for each
//! lane elsewhere, and nothing for CTAs that the holder has not synchronised with. Lanes that know the same share one value, and
//! so do messages that hand it on.
//!
//! Besides what threads did themselves, there are planes for what was done for them: by asynchronous copies and products
//! that they have waited for, and for writes that a proxy fence or `fence.mbarrier_init` covers.
//!
//! What completes on an mbarrier is known by the mbarrier's phase.

use softwarp_units::lanes::{LANES, lanes};
use std::sync::Arc;

/// The most CTAs of a [`Knowledge`]. One that would have more counts as knowing everything.
const MOST_CTAS: usize = 1 << 16;

/// The planes of clocks: kinds of accesses that are ordered separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plane {
    /// Accesses of threads.
    Thread,
    /// `cp.async`
    Copy,
    /// Reads of bulk copies in groups.
    Source,
    /// Writes of bulk copies in groups.
    Target,
    /// `wgmma.mma_async`; `tcgen05.mma`, `.cp` and `.shift`
    Product,
    /// Operations of `tcgen05` that `tcgen05.fence::before_thread_sync` has followed: they need not be complete, but the
    /// tensor cores perform what follows after them.
    Pipelined,
    /// Writes of threads to shared memory that a proxy fence has followed.
    FencedShared,
    /// Writes of threads to global memory that a proxy fence has followed.
    FencedGlobal,
    /// `mbarrier.init` of threads that `fence.mbarrier_init` has followed.
    Init,
}

/// How many planes there are.
const PLANES: usize = 9;

/// Clocks of the lanes of a warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// The clock that all lanes have at least.
    all: u32,
    /// The clock of each lane, where they differ.
    each: Option<Arc<[u32; LANES]>>,
}

impl Clock {
    #[inline]
    pub(super) fn lane(&self, lane: usize) -> u32 {
        self.each.as_ref().map_or(self.all, |each| self.all.max(each[lane]))
    }

    /// Whether it is the same for all lanes.
    #[inline]
    pub(super) fn is_uniform(&self) -> bool {
        self.each.is_none()
    }

    /// The least of all lanes.
    #[inline]
    pub(super) fn least(&self) -> u32 {
        self.all
    }

    /// Raises the clocks of some lanes, which are all of the warp's that there are or not.
    fn raise(&mut self, mask: u32, whole: bool, to: u32) {
        if whole {
            self.all = self.all.max(to);
            if self.each.as_ref().is_some_and(|each| each.iter().all(|&one| one <= self.all)) {
                self.each = None;
            }
        } else if to > self.all {
            let each = Arc::make_mut(self.each.get_or_insert_with(|| Arc::new([0; LANES])));
            lanes(mask).for_each(|lane| each[lane] = each[lane].max(to));
        }
    }

    fn join(&mut self, other: &Clock) {
        self.all = self.all.max(other.all);
        match (&mut self.each, &other.each) {
            (_, None) => {}
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            (Some(mine), Some(theirs)) => {
                for (mine, &theirs) in Arc::make_mut(mine).iter_mut().zip(theirs.iter()) {
                    *mine = (*mine).max(theirs);
                }
            }
            (none, Some(theirs)) => *none = Some(Arc::clone(theirs)),
        }
        if self.each.as_ref().is_some_and(|each| each.iter().all(|&one| one <= self.all)) {
            self.each = None;
        }
    }

    fn covers(&self, other: &Clock) -> bool {
        if self.all >= other.all && other.each.is_none() {
            return true;
        }
        (0..LANES).all(|lane| self.lane(lane) >= other.lane(lane))
    }
}

/// The clocks of a CTA, by plane and warp.
#[derive(Clone, Debug, Default)]
struct CtaClocks {
    planes: [Option<Box<[Clock]>>; PLANES],
}

impl CtaClocks {
    fn clock(&self, plane: Plane, warp: usize) -> Option<&Clock> {
        self.planes[plane as usize].as_ref()?.get(warp)
    }

    fn plane(&mut self, plane: usize, warps: usize) -> &mut [Clock] {
        self.planes[plane].get_or_insert_with(|| vec![Clock::default(); warps].into_boxed_slice())
    }

    fn join(&mut self, other: &CtaClocks) {
        for (mine, theirs) in self.planes.iter_mut().zip(&other.planes) {
            match (mine, theirs) {
                (_, None) => {}
                (Some(mine), Some(theirs)) => {
                    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.join(theirs));
                }
                (none, Some(theirs)) => *none = Some(theirs.clone()),
            }
        }
    }

    fn covers(&self, other: &CtaClocks) -> bool {
        self.planes.iter().zip(&other.planes).all(|(mine, theirs)| match (mine, theirs) {
            (_, None) => true,
            (None, Some(theirs)) => theirs.iter().all(|clock| *clock == Clock::default()),
            (Some(mine), Some(theirs)) => mine.iter().zip(theirs).all(|(mine, theirs)| mine.covers(theirs)),
        })
    }
}

/// The knowledge of a thread: for every other thread, the accesses that are ordered before what it does next.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// Clocks by the number of the CTA.
    ctas: Vec<(u32, Arc<CtaClocks>)>,
    /// The last phase of each mbarrier, by its number, that is known to be complete.
    phases: Vec<(u32, u32)>,
    /// The limit was reached: everything counts as known.
    everything: bool,
}

impl Knowledge {
    #[inline]
    fn cta(&self, cta: u32) -> Option<&CtaClocks> {
        match self.ctas.as_slice() {
            [(only, clocks)] => (*only == cta).then_some(&**clocks),
            list => list.binary_search_by_key(&cta, |entry| entry.0).ok().map(|at| &*list[at].1),
        }
    }

    /// The clock of a warp.
    #[inline]
    pub(super) fn clock(&self, plane: Plane, cta: u32, warp: usize) -> Option<&Clock> {
        self.cta(cta)?.clock(plane, warp)
    }

    /// Whether what a lane did up to a clock is known.
    #[inline]
    pub(super) fn knows(&self, plane: Plane, cta: u32, warp: usize, lane: usize, clock: u32) -> bool {
        self.everything || self.clock(plane, cta, warp).is_some_and(|known| known.lane(lane) >= clock)
    }

    /// Whether what all lanes of a warp did up to a clock is known.
    #[inline]
    pub(super) fn knows_all(&self, plane: Plane, cta: u32, warp: usize, clock: u32) -> bool {
        self.everything || self.clock(plane, cta, warp).is_some_and(|known| known.least() >= clock)
    }

    /// Whether a phase of an mbarrier is known to be complete.
    pub(super) fn knows_phase(&self, mbarrier: u32, phase: u32) -> bool {
        let found = self.phases.binary_search_by_key(&mbarrier, |entry| entry.0);
        self.everything || found.is_ok_and(|at| self.phases[at].1 >= phase)
    }

    /// Learns that a phase of an mbarrier is complete.
    pub(super) fn learn_phase(&mut self, mbarrier: u32, phase: u32) {
        match self.phases.binary_search_by_key(&mbarrier, |entry| entry.0) {
            Ok(at) => self.phases[at].1 = self.phases[at].1.max(phase),
            Err(at) => self.phases.insert(at, (mbarrier, phase)),
        }
    }

    /// Learns what some lanes of a warp did up to a clock; these are all of the warp's or not.
    pub(super) fn learn(
        &mut self,
        plane: Plane,
        (cta, warps): (u32, usize),
        warp: usize,
        (mask, whole): (u32, bool),
        clock: u32,
    ) {
        let at = match self.ctas.binary_search_by_key(&cta, |entry| entry.0) {
            Ok(at) => at,
            Err(_) if self.ctas.len() >= MOST_CTAS => return self.everything = true,
            Err(at) => {
                self.ctas.insert(at, (cta, Arc::default()));
                at
            }
        };
        let clocks = Arc::make_mut(&mut self.ctas[at].1);
        if let Some(known) = clocks.plane(plane as usize, warps).get_mut(warp) {
            known.raise(mask, whole, clock);
        }
    }

    /// All that is known of what threads did becomes known in another plane.
    pub(super) fn copy_plane(&mut self, to: Plane) {
        for (_, clocks) in &mut self.ctas {
            if let Some(from) = clocks.planes[Plane::Thread as usize].clone() {
                let into = Arc::make_mut(clocks).plane(to as usize, from.len());
                into.iter_mut().zip(&from).for_each(|(into, from)| into.join(from));
            }
        }
    }

    fn covers(&self, other: &Knowledge) -> bool {
        self.everything
            || !other.everything
                && self.ctas.len() >= other.ctas.len()
                && other.phases.iter().all(|&(mbarrier, phase)| self.knows_phase(mbarrier, phase))
                && other.ctas.iter().all(|(cta, theirs)| {
                    self.cta(*cta).is_some_and(|mine| std::ptr::eq(mine, &**theirs) || mine.covers(theirs))
                })
    }

    fn join_all(&mut self, other: &Knowledge) {
        self.everything |= other.everything;
        for &(mbarrier, phase) in &other.phases {
            self.learn_phase(mbarrier, phase);
        }
        for (cta, theirs) in &other.ctas {
            match self.ctas.binary_search_by_key(cta, |entry| entry.0) {
                Ok(at) => {
                    let mine = &mut self.ctas[at].1;
                    if !Arc::ptr_eq(mine, theirs) && !mine.covers(theirs) {
                        if theirs.covers(mine) {
                            *mine = Arc::clone(theirs);
                        } else {
                            Arc::make_mut(mine).join(theirs);
                        }
                    }
                }
                Err(_) if self.ctas.len() >= MOST_CTAS => self.everything = true,
                Err(at) => self.ctas.insert(at, (*cta, Arc::clone(theirs))),
            }
        }
    }
}

/// Adds what another knows. What is the same stays shared.
pub(super) fn join(into: &mut Arc<Knowledge>, from: &Arc<Knowledge>) {
    if Arc::ptr_eq(into, from) || into.covers(from) {
        return;
    }
    if from.covers(into) {
        *into = Arc::clone(from);
    } else {
        Arc::make_mut(into).join_all(from);
    }
}

/// The same into what may be nothing yet.
pub(super) fn join_option(into: &mut Option<Arc<Knowledge>>, from: &Arc<Knowledge>) {
    match into {
        Some(into) => join(into, from),
        None => *into = Some(Arc::clone(from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: (u32, usize) = (7, 2);

    #[test]
    fn lanes_are_told_apart_until_all_are_known() {
        let mut known = Knowledge::default();
        known.learn(Plane::Thread, OF, 1, (1 << 3, false), 5);
        assert!(known.knows(Plane::Thread, 7, 1, 3, 5) && !known.knows(Plane::Thread, 7, 1, 4, 5));
        assert!(!known.knows_all(Plane::Thread, 7, 1, 5) && !known.knows(Plane::Thread, 8, 1, 3, 5));
        known.learn(Plane::Thread, OF, 1, (u32::MAX, true), 6);
        assert!(known.knows_all(Plane::Thread, 7, 1, 6));
        assert_eq!(known.clock(Plane::Thread, 7, 1), Some(&Clock { all: 6, each: None }));
    }

    #[test]
    fn what_is_joined_covers_both_and_is_shared_where_one_side_is_all_of_it() {
        let [mut one, mut other] = [(); 2].map(|()| Arc::new(Knowledge::default()));
        Arc::make_mut(&mut one).learn(Plane::Thread, OF, 0, (u32::MAX, true), 3);
        Arc::make_mut(&mut other).learn(Plane::Thread, (8, 2), 0, (1, false), 4);
        Arc::make_mut(&mut other).learn_phase(2, 9);
        let mut both = Arc::clone(&one);
        join(&mut both, &other);
        assert!(both.covers(&one) && both.covers(&other) && !one.covers(&other));
        join(&mut one, &both);
        assert!(Arc::ptr_eq(&one, &both));
    }

    #[test]
    fn a_proxy_fence_covers_what_is_known_then() {
        let mut known = Knowledge::default();
        known.learn(Plane::Thread, OF, 0, (1, false), 4);
        known.copy_plane(Plane::FencedShared);
        known.learn(Plane::Thread, OF, 0, (1, false), 5);
        assert!(
            known.knows(Plane::FencedShared, 7, 0, 0, 4) && !known.knows(Plane::FencedShared, 7, 0, 0, 5)
        );
    }
}
