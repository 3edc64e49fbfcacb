//! Architectures as containers name them.

use std::fmt;

/// Which features beyond the architecture's baseline code uses. Variants order from the most portable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// None: `sm_90`.
    #[default]
    Baseline,
    /// Those of the family: `sm_100f`.
    Family,
    /// Those of this architecture: `sm_90a`.
    Specific,
}

/// An architecture such as `sm_90a`, known to the rest of softwarp or not. Architectures order by number, then by
/// variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Ten times the major number, plus the minor one.
    pub number: u32,
    /// The suffix.
    pub variant: Variant,
}

impl Arch {
    /// An architecture without suffix.
    pub const fn baseline(number: u32) -> Arch {
        Arch { number, variant: Variant::Baseline }
    }

    /// An architecture from its name: `sm_90a`, `compute_90a`, `lto_90a`.
    pub fn from_name(name: &str) -> Option<Arch> {
        let digits = ["sm_", "compute_", "lto_"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
        let (digits, variant) = match digits.as_bytes().last()? {
            b'a' => (&digits[..digits.len() - 1], Variant::Specific),
            b'f' => (&digits[..digits.len() - 1], Variant::Family),
            _ => (digits, Variant::Baseline),
        };
        let plain =
            !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse().ok().map(|number| Arch { number, variant }) } else { None }
    }

    /// Whether PTX for it runs on a device of a given number: PTX for older architectures does, and PTX with a suffix
    /// runs on that architecture only. (PTX with `f` would run on later members of the family too.)
    pub fn ptx_runs_on(self, device: u32) -> bool {
        match self.variant {
            Variant::Baseline => self.number <= device,
            Variant::Family | Variant::Specific => self.number == device,
        }
    }

    /// Whether machine code for it runs on a device of a given number: that of the same major number does.
    pub fn machine_code_runs_on(self, device: u32) -> bool {
        self.ptx_runs_on(device) && self.number / 10 == device / 10
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            Variant::Baseline => "",
            Variant::Family => "f",
            Variant::Specific => "a",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}

/// What code is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// For any architecture, the newest first.
    Any,
    /// For a device by the number of its architecture, such as 90. Code with the suffix of that very number runs there.
    Device(u32),
    /// For a device; where there is no such code, what is for the oldest architecture that is newer.
    DeviceOrNewer(u32),
    /// For a target. Code with a suffix is taken for the same suffix only.
    Target(Arch),
}

impl Wanted {
    pub(super) fn takes_ptx(self, arch: Arch) -> bool {
        match self {
            Wanted::Any => true,
            Wanted::Device(device) | Wanted::DeviceOrNewer(device) => arch.ptx_runs_on(device),
            Wanted::Target(target) => {
                arch.ptx_runs_on(target.number)
                    && (arch.variant == Variant::Baseline || arch.variant == target.variant)
            }
        }
    }

    /// Whether code is taken though it is for a newer architecture.
    pub(super) fn takes_newer(self, arch: Arch) -> bool {
        match self {
            Wanted::Any | Wanted::Device(_) | Wanted::Target(_) => false,
            Wanted::DeviceOrNewer(device) => arch.number > device,
        }
    }

    pub(super) fn takes_machine_code(self, arch: Arch) -> bool {
        match self {
            Wanted::Any => true,
            Wanted::Device(number) | Wanted::DeviceOrNewer(number) | Wanted::Target(Arch { number, .. }) => {
                self.takes_ptx(arch) && arch.machine_code_runs_on(number)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in ["sm_90", "sm_90a", "sm_100f", "sm_121a"] {
            assert_eq!(Arch::from_name(name).map(|arch| arch.to_string()).as_deref(), Some(name));
        }
        assert_eq!(Arch::from_name("compute_80"), Some(Arch::baseline(80)));
        for name in ["", "sm_", "sm_a", "sm_+9", "90", "sm_90b", "sm_99999999999", "sm_9é"] {
            assert_eq!(Arch::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn code_runs_where_it_may() {
        let runs = |name, device| {
            let arch = Arch::from_name(name).expect(name);
            (arch.ptx_runs_on(device), arch.machine_code_runs_on(device))
        };
        assert_eq!(runs("sm_90", 90), (true, true));
        assert_eq!(runs("sm_90a", 90), (true, true));
        assert_eq!(runs("sm_90a", 100), (false, false));
        assert_eq!(runs("sm_80", 90), (true, false));
        assert_eq!(runs("sm_80", 86), (true, true));
        assert_eq!(runs("sm_100", 90), (false, false));
        assert_eq!(runs("sm_100f", 103), (false, false));
    }
}
