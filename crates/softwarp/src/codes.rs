//! Every code that a diagnostic can have, over all crates, with its explanation.

use crate::syntax::{Code, Explained};
use std::sync::LazyLock;

static TENSOR_MAPS: LazyLock<Vec<Explained>> = LazyLock::new(|| of_tensor_maps(crate::tensor::codes::ALL));

/// Rules of tensor maps in the form of all others. Their examples are map files.
pub fn of_tensor_maps(rules: &[crate::tensor::Explained]) -> Vec<Explained> {
    let row = |rule: &crate::tensor::Explained| Explained {
        code: Code(rule.code),
        title: rule.title,
        text: rule.text,
        wrong: rule.wrong,
        right: "",
    };
    rules.iter().map(row).collect()
}

/// All of them, in order.
pub fn all() -> Vec<&'static Explained> {
    let own = crate::source::CODES.iter().chain(crate::syntax::codes::ALL);
    let checked = crate::check::codes::ALL.iter().copied().flatten();
    let placed = crate::image::codes::ALL.iter().chain(TENSOR_MAPS.iter());
    let mut all: Vec<&'static Explained> = own.chain(checked).chain(placed).collect();
    all.sort_by_key(|row| row.code);
    all
}
