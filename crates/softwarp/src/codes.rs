//! Every code that a diagnostic can have, over all crates.

use crate::syntax::Explained;

/// All of them, in order.
pub fn all() -> Vec<&'static Explained> {
    let own = crate::source::CODES.iter().chain(crate::syntax::codes::ALL);
    let mut all: Vec<&'static Explained> =
        own.chain(crate::check::codes::ALL.iter().copied().flatten()).collect();
    all.sort_by_key(|row| row.code);
    all
}
