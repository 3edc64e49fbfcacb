//! Virtual registers: what the operations of a function name until they get rows.

/// What a virtual register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Virtual {
    /// A row of 32-bit words.
    Narrow,
    /// A row of 64-bit words.
    Wide,
    /// Two rows of 64-bit words that follow one another. The virtual register after it is its [`Virtual::High`].
    Pair,
    /// The second row of the pair before it.
    High,
    /// A predicate.
    Predicate,
    /// A row of 32-bit words that is never written: which of them.
    NarrowConstant(u32),
    /// A row of 64-bit words that is never written: which of them.
    WideConstant(u32),
}

/// How many rows of a frame are never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstantRows {
    /// Of 32-bit words.
    pub narrow: u32,
    /// Of 64-bit words.
    pub wide: u32,
}

/// The rows of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Of 32-bit words.
    pub narrow: u32,
    /// Of 64-bit words.
    pub wide: u32,
    /// Predicates.
    pub predicates: u32,
}
