//! Masks of lanes, as in `units`.

#[path = "../../../crates/units/src/alu/ballot.rs"]
pub mod ballot;
