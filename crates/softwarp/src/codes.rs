//! Every code that a diagnostic can have, over all crates.

use crate::syntax::Explained;

/// All of them, in order.
pub fn all() -> Vec<&'static Explained> {
    let own = crate::source::CODES.iter().chain(crate::syntax::codes::ALL);
    let checked = crate::check::codes::ALL.iter().copied().flatten();
    let mut all: Vec<&'static Explained> = own.chain(checked).chain(crate::image::codes::ALL).collect();
    all.sort_by_key(|row| row.code);
    all
}
