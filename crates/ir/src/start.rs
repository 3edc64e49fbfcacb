//! What the frame of a function holds before its first operation, besides constants: rows that the launch fills.

use crate::{Slot, Special};
use std::fmt;

/// What a frame begins with, besides constants.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Rows that stay the same for a warp of a launch, and are never written.
    pub given: Vec<Given>,
    /// Rows of 32-bit words that hold an axis of `%ctaid`, and are never written.
    pub of_cta: Vec<(u32, u8)>,
    /// Rows of 32-bit words, and of 64-bit words, that may be read before they are written; without it, all.
    pub zeroed: Option<[Vec<u32>; 2]>,
}

impl Start {
    /// How many rows of 32-bit words are given.
    pub fn narrow_given(&self) -> usize {
        self.of_cta.len() + self.given.len() - self.wide_given()
    }

    /// How many rows of 64-bit words.
    pub fn wide_given(&self) -> usize {
        self.given.iter().filter(|given| matches!(given, Given::Wide(..))).count()
    }
}

/// A row that a launch gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A special register, in a row of 32-bit words.
    Special(u32, Special),
    /// 32 bits of a kernel's parameters, from an offset on.
    Narrow(u32, u32),
    /// 64 bits of them.
    Wide(u32, u32),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Special(slot, register) => write!(f, "r{slot} = {register:?}"),
            Given::Narrow(slot, offset) => write!(f, "r{slot} = [param {offset:#x}]"),
            Given::Wide(slot, offset) => write!(f, "d{slot} = [param {offset:#x}]"),
        }
    }
}

/// What copy propagation found.
#[derive(Clone, Debug, Default)]
pub struct Forwarded {
    /// Whether the result of each operation is not read; empty if all are.
    pub unread: Vec<bool>,
    /// Operations that copy a row that the launch gives, in their order.
    pub given: Vec<FromLaunch>,
}

/// An operation that copies a row that the launch gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromLaunch {
    /// The operation.
    pub op: u32,
    /// The row.
    pub row: Slot,
    /// The virtual register that it is while the function is lowered.
    pub register: Slot,
}
