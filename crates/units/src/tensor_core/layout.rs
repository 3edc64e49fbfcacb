//! Which lanes and columns of tensor memory hold D (PTX ISA section 9.7.16.10.5).
//!
//! A product is done in panels of sixteen rows: sixteen lanes that follow one another, and columns that do. A from
//! tensor memory, the metadata of a sparse A and scales are read by the part of tensor memory that has the panel's
//! lanes, so that what the manual calls duplicated is where it is needed.

/// The layouts, by the manual's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 256 rows of two CTAs.
    A,
    /// 128 rows of two CTAs: the second half of the columns is in the upper 64 lanes.
    B,
    /// 128 rows of two CTAs, A sparse: sixteen of each 32 lanes.
    C,
    /// 128 rows.
    D,
    /// 64 rows, `.ws`: the second half of the columns is in the upper 64 lanes.
    E,
    /// 64 rows: sixteen of each 32 lanes.
    F,
    /// 32 rows, `.ws`: each quarter of the columns is in 32 lanes.
    G,
}

/// Sixteen rows of D, and some of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// The first of the CTA's rows of A.
    pub row: usize,
    /// The first lane.
    pub lane: usize,
    /// The first column of B.
    pub first: usize,
    /// How many columns, from that of D's address on.
    pub count: usize,
}

/// Rows of a panel.
pub const ROWS: usize = 16;

impl Layout {
    /// The layout of a product; none if no instruction has that many rows.
    pub fn of(m: usize, ctas: usize, ws: bool, sparse: bool) -> Option<Layout> {
        Some(match (m, ctas, ws) {
            (32, 1, true) => Layout::G,
            (64, 1, true) => Layout::E,
            (64, 1, false) => Layout::F,
            (128, 1, _) => Layout::D,
            (128, 2, false) if sparse => Layout::C,
            (128, 2, false) => Layout::B,
            (256, 2, false) => Layout::A,
            _ => return None,
        })
    }

    /// Rows of a CTA.
    pub fn rows(self) -> usize {
        match self {
            Layout::A | Layout::D => 128,
            Layout::B | Layout::C | Layout::E | Layout::F => 64,
            Layout::G => 32,
        }
    }

    /// In how many parts the columns are, one beside the other in lanes.
    pub fn parts(self) -> usize {
        match self {
            Layout::A | Layout::C | Layout::D | Layout::F => 1,
            Layout::B | Layout::E => 2,
            Layout::G => 4,
        }
    }

    /// Whether it begins at lane 0 or at lane 16; the others begin at lane 0.
    pub fn uses_half(self) -> bool {
        matches!(self, Layout::C | Layout::F)
    }

    /// The panels of a product with that many columns that begins at a lane.
    pub fn panels(self, n: usize, lane: usize) -> impl Iterator<Item = Panel> {
        let (groups, parts) = (self.rows() / ROWS, self.parts());
        (0..parts).flat_map(move |part| {
            (0..groups).map(move |group| Panel {
                row: group * ROWS,
                lane: lane + if self.uses_half() { group * 32 } else { part * self.rows() + group * ROWS },
                first: part * (n / parts),
                count: n / parts,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_fill_the_lanes_that_the_manual_draws() {
        let lanes = |layout: Layout| layout.panels(64, 0).map(|panel| panel.lane).collect::<Vec<_>>();
        assert_eq!(lanes(Layout::D), [0, 16, 32, 48, 64, 80, 96, 112]);
        assert_eq!(lanes(Layout::F), [0, 32, 64, 96]);
        assert_eq!(lanes(Layout::E), [0, 16, 32, 48, 64, 80, 96, 112]);
        assert_eq!(lanes(Layout::G), [0, 16, 32, 48, 64, 80, 96, 112]);
        let last = Layout::G.panels(64, 0).last();
        assert_eq!(last, Some(Panel { row: 16, lane: 112, first: 48, count: 16 }));
        let last = Layout::E.panels(64, 0).last();
        assert_eq!(last, Some(Panel { row: 48, lane: 112, first: 32, count: 32 }));
    }
}
