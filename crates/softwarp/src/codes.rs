//! Every code that a diagnostic can have, over all crates.

use crate::syntax::{Code, Explained};
use std::sync::LazyLock;

/// The rules of tensor maps, whose examples are map files.
static TENSOR_MAPS: LazyLock<Vec<Explained>> = LazyLock::new(|| {
    let rules = crate::tensor::codes::ALL.iter().chain(crate::tensors::CODES);
    let row = |rule: &crate::tensor::Explained| Explained {
        code: Code(rule.code),
        title: rule.title,
        text: rule.text,
        wrong: rule.wrong,
        right: "",
    };
    rules.map(row).collect()
});

/// All of them, in order.
pub fn all() -> Vec<&'static Explained> {
    let own = crate::source::CODES.iter().chain(crate::syntax::codes::ALL);
    let checked = crate::check::codes::ALL.iter().copied().flatten();
    let placed = crate::image::codes::ALL.iter().chain(TENSOR_MAPS.iter());
    let mut all: Vec<&'static Explained> = own.chain(checked).chain(placed).collect();
    all.sort_by_key(|row| row.code);
    all
}
