//! What each target can do with tensor maps: the target notes of `cp.async.bulk.tensor` and `tensormap.replace`
//! (PTX ISA sections 9.7.9.27 and 9.7.9.28). Architecture-specific variants (`sm_100a`) count as their number.

use std::fmt;

/// A target, by its number: 90 for `sm_90` and `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch(pub u32);

impl Arch {
    /// Hopper: the target whose driver and hardware were recorded.
    pub const SM_90: Arch = Arch(90);
    /// Blackwell for data centres.
    pub const SM_100: Arch = Arch(100);
    /// Its successor; the only one with the 96-byte swizzle.
    pub const SM_103: Arch = Arch(103);
    /// Thor.
    pub const SM_110: Arch = Arch(110);
    /// Blackwell for desks.
    pub const SM_120: Arch = Arch(120);

    /// Reads `sm_90`, `sm_90a`, `sm_100f`, `compute_90` or a bare number.
    pub fn from_name(name: &str) -> Option<Arch> {
        let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_")).unwrap_or(name);
        let digits = number.strip_suffix(['a', 'f']).unwrap_or(number);
        if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(Arch)
    }

    /// Whether tensor maps exist.
    pub const fn has_maps(self) -> bool {
        self.0 >= 90
    }

    /// Whether what the driver and the hardware do was recorded. Elsewhere documents decide.
    pub const fn is_recorded(self) -> bool {
        self.0 < 100
    }

    /// Whether there are elements of less than a byte.
    pub const fn has_packed(self) -> bool {
        self.0 >= 100
    }

    /// Whether the 128-byte swizzle has atoms other than 16 bytes.
    pub const fn has_atoms(self) -> bool {
        self.0 >= 100
    }

    /// Whether loads take packed elements and atoms other than 16 bytes; stores do wherever these exist.
    pub const fn loads_packed_and_atoms(self) -> bool {
        self.has_packed() && !self.is_desk_blackwell()
    }

    /// Whether there is a swizzle of 96 bytes.
    pub const fn has_span_96(self) -> bool {
        self.0 == 103
    }

    /// Whether stores take rows of 64 six-bit elements, with weaker alignment.
    pub const fn has_half_rows(self) -> bool {
        self.0 == 103
    }

    /// Whether there is `.im2col::w`.
    pub const fn has_wide(self) -> bool {
        self.0 >= 100
    }

    /// Whether there is `.im2col::w::128`.
    pub const fn has_wide_128(self) -> bool {
        self.has_wide() && !self.is_desk_blackwell()
    }

    /// Whether there is `.tile::gather4`.
    pub const fn has_gather4(self) -> bool {
        self.0 >= 100
    }

    /// Whether there is `.tile::scatter4`.
    pub const fn has_scatter4(self) -> bool {
        self.has_gather4() && !self.is_desk_blackwell()
    }

    /// Bytes of shared memory in a multiprocessor, the most that one copy may fill.
    pub const fn shared_bytes(self) -> u64 {
        if self.is_desk_blackwell() { 100 << 10 } else { 228 << 10 }
    }

    const fn is_desk_blackwell(self) -> bool {
        self.0 / 10 == 12
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}
