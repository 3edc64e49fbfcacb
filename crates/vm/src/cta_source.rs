//! Where compiled code gets the next CTA from when one has ended.

/// A source of CTAs, by their numbers in the grid.
pub(crate) trait CtaSource {
    /// Begins the next one.
    fn next(&mut self) -> Option<u64>;

    /// How many may begin after the one that began last, in the order of the grid, before [`CtaSource::next`] is called
    /// again.
    fn ahead(&self) -> u64;

    /// Some of these have begun: their number.
    fn begun(&mut self, count: u64);
}
