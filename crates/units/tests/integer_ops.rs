//! The loops of integer instructions against references that work on wide integers, bit by bit where the manual
//! does.

mod arithmetic;
mod bits;
mod choice;
mod harness;
mod recorded;
mod video;
