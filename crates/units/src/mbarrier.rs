//! The word that an mbarrier is (PTX ISA section 9.7.13.15), as on an H200: there, the word comes to light when the
//! object is invalidated, and the upper half of what it was is what `arrive` returns.
//!
//! | bits | what |
//! |---|---|
//! | 63 | the phase's parity |
//! | 62:43 | arrivals still pending in this phase, negated |
//! | 42 | `.layout::v1` (ours) |
//! | 41:21 | bytes still awaited, negated |
//! | 20:1 | arrivals that a phase expects, negated |
//! | 0 | invalidated (ours) |
//!
//! A phase is complete when nothing is pending and no bytes are awaited. Counts that leave their fields are faults, as
//! on the hardware.

/// The most arrivals that a phase can expect, and the most bytes that one operation can name.
pub const MOST: u32 = (1 << 20) - 1;

const COUNT_BITS: u32 = 20;
const BYTES_BITS: u32 = 21;
const PENDING: u32 = 43;
const LAYOUT: u64 = 1 << 42;
const BYTES: u32 = 21;
const EXPECTED: u32 = 1;
const INVALID: u64 = 1;

/// An mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier(pub u64);

/// What cannot be done with an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// It was never initialised: the word is zero.
    Uninitialised,
    /// It was invalidated.
    Invalidated,
    /// A count for `init` that is not within 1 to [`MOST`].
    Count(u32),
    /// More arrivals than are pending.
    Arrivals {
        /// How many arrivals there were.
        count: u32,
        /// How many were pending.
        pending: u32,
    },
    /// More bytes than [`MOST`] in one operation.
    Bytes(u32),
    /// More bytes awaited, or completed before they were expected, than the object can count.
    Awaited(i64),
}

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Misuse::Uninitialised => write!(f, "it was never initialised"),
            Misuse::Invalidated => write!(f, "it was invalidated"),
            Misuse::Count(count) => write!(f, "a phase cannot expect {count} arrivals: 1 to {MOST}"),
            Misuse::Arrivals { count, pending } => {
                write!(f, "{count} arrivals, and {pending} are pending in this phase")
            }
            Misuse::Bytes(bytes) => write!(f, "an operation names {bytes} bytes: at most {MOST}"),
            Misuse::Awaited(bytes) => {
                write!(f, "it would await {bytes} bytes: from -{MOST} to {} can be counted", MOST + 1)
            }
        }
    }
}

/// A field, as the negated number that it holds.
fn field(word: u64, at: u32, bits: u32) -> u64 {
    0u64.wrapping_sub(word >> at) & ((1 << bits) - 1)
}

fn with(word: u64, at: u32, bits: u32, value: u64) -> u64 {
    let mask = (1 << bits) - 1;
    word & !(mask << at) | (0u64.wrapping_sub(value) & mask) << at
}

impl Mbarrier {
    /// One whose phases expect that many arrivals.
    #[inline]
    pub fn new(count: u32, second_layout: bool) -> Result<Mbarrier, Misuse> {
        if !(1..=MOST).contains(&count) {
            return Err(Misuse::Count(count));
        }
        let layout = if second_layout { LAYOUT } else { 0 };
        let word = with(with(layout, PENDING, COUNT_BITS, count.into()), EXPECTED, COUNT_BITS, count.into());
        Ok(Mbarrier(word))
    }

    /// Whether it can be used.
    #[inline]
    pub fn check(self) -> Result<Mbarrier, Misuse> {
        match self.0 {
            0 => Err(Misuse::Uninitialised),
            word if word & INVALID != 0 => Err(Misuse::Invalidated),
            _ => Ok(self),
        }
    }

    /// After `inval`.
    #[inline]
    pub fn invalidated(self) -> Mbarrier {
        Mbarrier(self.0 | INVALID)
    }

    /// Whether it was initialised with `.layout::v1`.
    #[inline]
    pub fn has_second_layout(self) -> bool {
        self.0 & LAYOUT != 0
    }

    /// The parity of the phase that is not complete.
    #[inline]
    pub fn parity(self) -> u32 {
        (self.0 >> 63) as u32
    }

    /// Arrivals still pending in this phase.
    #[inline]
    pub fn pending(self) -> u32 {
        field(self.0, PENDING, COUNT_BITS) as u32
    }

    /// Arrivals that a phase expects.
    #[inline]
    pub fn expected(self) -> u32 {
        field(self.0, EXPECTED, COUNT_BITS) as u32
    }

    /// Bytes still awaited in this phase; negative if more completed than were expected so far.
    #[inline]
    pub fn awaited(self) -> i64 {
        let shift = 64 - BYTES_BITS;
        -(((self.0 >> BYTES) << shift) as i64 >> shift)
    }

    /// What `arrive` returns: the phase and what is pending.
    #[inline]
    pub fn token(self) -> u64 {
        self.0 >> 32 << 32 & !LAYOUT
    }

    /// `pending_count` of such a state, or of anything.
    #[inline]
    pub fn pending_of(token: u64) -> u32 {
        (1 << COUNT_BITS) - ((token >> PENDING) as u32 & MOST)
    }

    /// Expects more bytes in this phase.
    #[inline]
    pub fn expect(self, bytes: u32) -> Result<Mbarrier, Misuse> {
        self.add(bytes, 1)
    }

    /// A given number of bytes have come.
    #[inline]
    pub fn complete(self, bytes: u32) -> Result<Mbarrier, Misuse> {
        self.add(bytes, -1)
    }

    fn add(self, bytes: u32, sign: i64) -> Result<Mbarrier, Misuse> {
        if bytes > MOST {
            return Err(Misuse::Bytes(bytes));
        }
        let awaited = self.check()?.awaited() + sign * i64::from(bytes);
        if !(-i64::from(MOST)..=i64::from(MOST) + 1).contains(&awaited) {
            return Err(Misuse::Awaited(awaited));
        }
        let after = Mbarrier(with(self.0, BYTES, BYTES_BITS, awaited as u64));
        Ok(if bytes == 0 { after } else { after.turned() })
    }

    /// A given number of threads arrive; with `drop`, later phases expect as many less.
    #[inline]
    pub fn arrive(self, count: u32, drop: bool) -> Result<Mbarrier, Misuse> {
        let (pending, expected) = (self.check()?.pending(), self.expected());
        if count > pending || drop && count > expected {
            return Err(Misuse::Arrivals { count, pending });
        }
        if count == 0 {
            return Ok(self);
        }
        let mut word = with(self.0, PENDING, COUNT_BITS, (pending - count).into());
        if drop {
            word = with(word, EXPECTED, COUNT_BITS, (expected - count).into());
        }
        Ok(Mbarrier(word).turned())
    }

    /// The next phase, if this one is complete.
    fn turned(self) -> Mbarrier {
        if self.pending() != 0 || self.awaited() != 0 {
            return self;
        }
        Mbarrier(with(self.0, PENDING, COUNT_BITS, self.expected().into()) ^ 1 << 63)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_tokens_are_those_of_the_hardware() {
        let mut barrier = Mbarrier::new(3, false).unwrap();
        assert_eq!(barrier.token(), 0x7fff_e800_0000_0000);
        barrier = barrier.arrive(1, false).unwrap();
        assert_eq!(barrier.0, 0x7fff_f000_001f_fffa);
        assert_eq!(Mbarrier::pending_of(barrier.token()), 2);
        barrier = barrier.expect(16).unwrap();
        assert_eq!(barrier.token(), 0x7fff_f3ff_0000_0000);
        barrier = barrier.arrive(2, false).unwrap();
        assert_eq!((barrier.parity(), barrier.pending(), barrier.awaited()), (0, 0, 16));
        barrier = barrier.complete(16).unwrap();
        assert_eq!((barrier.parity(), barrier.pending(), barrier.awaited()), (1, 3, 0));
        assert_eq!(Mbarrier::pending_of(0), 1 << 20);
    }

    #[test]
    fn bytes_that_come_early_are_owed() {
        let barrier = Mbarrier::new(1, false).unwrap().complete(64).unwrap();
        assert_eq!(barrier.awaited(), -64);
        let barrier = barrier.expect(32).unwrap().arrive(1, false).unwrap();
        assert_eq!((barrier.parity(), barrier.pending()), (0, 0));
        assert_eq!(barrier.expect(32).unwrap().parity(), 1);
    }

    #[test]
    fn those_who_drop_out_are_not_expected_again() {
        let barrier = Mbarrier::new(3, false).unwrap().arrive(1, true).unwrap().arrive(2, false).unwrap();
        assert_eq!((barrier.parity(), barrier.pending(), barrier.expected()), (1, 2, 2));
        let nobody = barrier.arrive(2, true).unwrap();
        assert_eq!((nobody.parity(), nobody.pending()), (0, 0));
    }

    #[test]
    fn what_the_hardware_faults_on_is_refused() {
        let barrier = Mbarrier::new(2, false).unwrap();
        assert_eq!(barrier.arrive(5, false), Err(Misuse::Arrivals { count: 5, pending: 2 }));
        assert_eq!(Mbarrier(0).arrive(1, false), Err(Misuse::Uninitialised));
        assert_eq!(barrier.invalidated().expect(1), Err(Misuse::Invalidated));
        assert_eq!(Mbarrier::new(0, false), Err(Misuse::Count(0)));
        let full = barrier.complete(MOST).unwrap();
        assert_eq!(full.complete(1), Err(Misuse::Awaited(-(1 << 20))));
        assert_eq!(barrier.expect(MOST).unwrap().expect(1).unwrap().awaited(), 1 << 20);
    }
}
