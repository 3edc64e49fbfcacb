//! Memory, as in `vm`.

#[path = "../../../crates/vm/src/memory/cell.rs"]
pub mod cell;
#[path = "../../../crates/vm/src/memory/unguarded.rs"]
mod guard;
#[path = "../../../crates/vm/src/memory/order.rs"]
pub(crate) mod order;
#[path = "../../../crates/vm/src/memory/sixteen.rs"]
mod sixteen;
#[path = "../../../crates/vm/src/memory/wide.rs"]
pub(crate) mod wide;
