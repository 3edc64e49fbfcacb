//! Every code that a diagnostic of the command line can have: those of the library, and those of map files.

use crate::tensors;
use softwarp::codes::of_tensor_maps;
use softwarp::syntax::Explained;
use std::sync::LazyLock;

static MAP_FILES: LazyLock<Vec<Explained>> = LazyLock::new(|| of_tensor_maps(tensors::CODES));

/// All of them, in order.
pub fn all() -> Vec<&'static Explained> {
    let mut all = softwarp::codes::all();
    all.extend(MAP_FILES.iter());
    all.sort_by_key(|row| row.code);
    all
}
