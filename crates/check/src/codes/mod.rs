//! The diagnostics of this crate, as data.

use softwarp_syntax::Explained;

pub mod declarations;
pub mod instructions;

/// Every code that the checker reports.
pub const ALL: &[&[Explained]] = &[declarations::ALL, instructions::ALL];
