//! Every code that a diagnostic can have, over all crates, with its explanation.

use crate::diagnostic::Explained;

/// All of them, in order.
pub fn all() -> Vec<&'static Explained> {
    let own = crate::source::CODES.iter().chain(crate::syntax::codes::ALL);
    let checked = crate::check::codes::ALL.iter().copied().flatten();
    let placed = crate::image::codes::ALL.iter().chain(crate::tensor::codes::ALL);
    let mut all: Vec<&'static Explained> = own.chain(checked).chain(placed).collect();
    all.sort_by_key(|row| row.code);
    all
}
