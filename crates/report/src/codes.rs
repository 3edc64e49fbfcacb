//! Every code that a diagnostic of the command line can have: those of the library, and those of map files.

use crate::tensors;
use softwarp::diagnostic::{Code, Explained};

/// All of them, in order.
pub fn all() -> Vec<&'static Explained> {
    let mut all = softwarp::codes::all();
    all.extend(tensors::CODES);
    all.sort_by_key(|row| row.code);
    all
}

/// What is wrong, in general: the title of a code's page.
pub fn title(code: Code) -> &'static str {
    all().iter().find(|row| row.code == code).map_or("", |row| row.title)
}
