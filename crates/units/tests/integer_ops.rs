//! The loops of integer instructions against references that work on wide integers, bit by bit where the manual
//! does.

#[path = "integer_ops/arithmetic.rs"]
mod arithmetic;
#[path = "integer_ops/bits.rs"]
mod bits;
#[path = "integer_ops/choice.rs"]
mod choice;
#[path = "integer_ops/harness.rs"]
mod harness;
#[path = "integer_ops/recorded.rs"]
mod recorded;
#[path = "integer_ops/video.rs"]
mod video;
