//! Target architectures: the `sm_…` names of a module's `.target` directive.
//!
//! PTX ISA section 11.1.2: which targets there are, the PTX version that introduced each, and the
//! families. The platform options of that directive (`texmode_unified`, `debug` and so on) are not
//! targets and not here.

use std::fmt;
use std::str::FromStr;

use crate::Version;
use crate::nearest::nearest;

/// Which features beyond the architecture's baseline a target includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// None: `sm_100`. Such code runs on later architectures too.
    Baseline,
    /// Those of the family: `sm_100f`. Such code runs on later architectures of the family.
    Family,
    /// Those of this very architecture, and of its family: `sm_100a`. Such code runs on no other.
    Architecture,
}

/// One row of the table of targets.
struct TargetRow {
    name: &'static str,
    sm: u16,
    variant: Variant,
    /// The PTX version whose modules may first name it.
    since: Version,
}

const fn row(name: &'static str, sm: u16, variant: Variant, major: u8, minor: u8) -> TargetRow {
    TargetRow { name, sm, variant, since: Version::new(major, minor) }
}

use Variant::{Architecture as A, Baseline as B, Family as F};

/// The table. The versions were also measured: they are what the assembler accepts (sm_21 and PTX 5.1, which
/// it knows, are not in the manual).
#[rustfmt::skip]
const ROWS: &[TargetRow] = &[
    row("sm_10",    10, B, 1, 0), row("sm_11",    11, B, 1, 0),
    row("sm_12",    12, B, 1, 2), row("sm_13",    13, B, 1, 2),
    row("sm_20",    20, B, 2, 0), row("sm_21",    21, B, 2, 0),
    row("sm_30",    30, B, 3, 0), row("sm_32",    32, B, 4, 0),
    row("sm_35",    35, B, 3, 1), row("sm_37",    37, B, 4, 1),
    row("sm_50",    50, B, 4, 0), row("sm_52",    52, B, 4, 1), row("sm_53",    53, B, 4, 2),
    row("sm_60",    60, B, 5, 0), row("sm_61",    61, B, 5, 0), row("sm_62",    62, B, 5, 0),
    row("sm_70",    70, B, 5, 1), row("sm_72",    72, B, 6, 1), row("sm_75",    75, B, 6, 3),
    row("sm_80",    80, B, 7, 0), row("sm_86",    86, B, 7, 1), row("sm_87",    87, B, 7, 4),
    row("sm_88",    88, B, 9, 0), row("sm_89",    89, B, 7, 8),
    row("sm_90",    90, B, 7, 8),                               row("sm_90a",   90, A, 8, 0),
    row("sm_100",  100, B, 8, 6), row("sm_100f", 100, F, 8, 8), row("sm_100a", 100, A, 8, 6),
    row("sm_101",  101, B, 8, 6), row("sm_101f", 101, F, 8, 8), row("sm_101a", 101, A, 8, 6),
    row("sm_103",  103, B, 8, 8), row("sm_103f", 103, F, 8, 8), row("sm_103a", 103, A, 8, 8),
    row("sm_107",  107, B, 9, 4), row("sm_107f", 107, F, 9, 4), row("sm_107a", 107, A, 9, 4),
    row("sm_110",  110, B, 9, 0), row("sm_110f", 110, F, 9, 0), row("sm_110a", 110, A, 9, 0),
    row("sm_120",  120, B, 8, 7), row("sm_120f", 120, F, 8, 8), row("sm_120a", 120, A, 8, 7),
    row("sm_121",  121, B, 8, 8), row("sm_121f", 121, F, 8, 8), row("sm_121a", 121, A, 8, 8),
];

/// sm_101 is sm_110 under its first name; modules of this version and later use the second.
const SM_101_RENAMED: Version = Version::new(9, 0);

/// A target architecture, one of those the manual knows. Targets order by number, then by variant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target(u8);

impl Target {
    /// Hopper: the architecture whose hardware was recorded.
    pub const SM_90: Target = Target::known(90);
    /// Blackwell for data centres.
    pub const SM_100: Target = Target::known(100);
    /// The successor of sm_100.
    pub const SM_103: Target = Target::known(103);
    /// Thor.
    pub const SM_110: Target = Target::known(110);
    /// Blackwell for desks.
    pub const SM_120: Target = Target::known(120);

    /// The number of targets.
    pub(crate) const COUNT: usize = ROWS.len();

    /// Its place among all of them.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of the architecture of the target at a place.
    pub(crate) const fn sm_at(index: usize) -> u16 {
        ROWS[index].sm
    }

    /// The first row of an architecture, which is its baseline.
    const fn known(sm: u16) -> Target {
        let mut place = 0;
        while ROWS[place].sm != sm {
            place += 1;
        }
        Target(place as u8)
    }

    fn row(self) -> &'static TargetRow {
        &ROWS[usize::from(self.0)]
    }

    /// Every known target, by number, then baseline, family, architecture.
    pub fn all() -> impl Iterator<Item = Target> {
        (0..ROWS.len() as u8).map(Target)
    }

    /// Finds a target by its name: `sm_100a`, or `compute_100a`, which means the same.
    pub fn from_name(name: &str) -> Option<Target> {
        let digits = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        Target::all().find(|target| target.name().strip_prefix("sm_") == Some(digits))
    }

    /// Finds the architecture that a name or its bare number is of, as its baseline target: `sm_90`, `sm_90a`,
    /// `compute_90` and `90` are all sm_90.
    pub fn architecture_from_name(name: &str) -> Option<Target> {
        let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_")).unwrap_or(name);
        let digits = number.strip_suffix(['a', 'f']).unwrap_or(number);
        let sm: u16 =
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()?;
        Target::all().find(|target| target.sm() == sm)
    }

    /// The same architecture without features of its own: sm_90 for sm_90a.
    pub fn baseline(self) -> Target {
        Target::all().find(|target| target.sm() == self.sm()).unwrap_or(self)
    }

    /// Finds the target that the assembler reads in a name it should not have. It takes the digits behind `sm_` as a
    /// number (`sm_090`), the last letter as the variant if it is `a` or `f`, and ignores the rest: `sm_90b` is sm_90.
    pub fn from_loose_name(name: &str) -> Option<Target> {
        let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let sm = rest[..digits].parse::<u16>().ok()?;
        let variant = match rest[digits..].bytes().last() {
            Some(b'a') => Variant::Architecture,
            Some(b'f') => Variant::Family,
            _ => Variant::Baseline,
        };
        Target::all().find(|target| target.sm() == sm && target.variant() == variant)
    }

    /// The name: `sm_100a`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The number of the architecture: 100 for `sm_100a`.
    pub fn sm(self) -> u16 {
        self.row().sm
    }

    /// Which features beyond the baseline it includes.
    pub fn variant(self) -> Variant {
        self.row().variant
    }

    /// The PTX version that introduced it.
    pub fn introduced(self) -> Version {
        self.row().since
    }

    /// The PTX version from which it goes by another name, and that name's target: `sm_101` became
    /// `sm_110`.
    pub fn renamed(self) -> Option<(Version, Target)> {
        let now = match self.name() {
            "sm_101" => "sm_110",
            "sm_101f" => "sm_110f",
            "sm_101a" => "sm_110a",
            _ => return None,
        };
        Target::from_name(now).map(|target| (SM_101_RENAMED, target))
    }

    /// Whether modules of this version may name it.
    pub fn exists_in(self, version: Version) -> bool {
        version >= self.introduced() && self.renamed().is_none_or(|(renamed, _)| version < renamed)
    }

    /// The architecture's family, as the two digits of `sm_10x`, `sm_11x`, `sm_12x`. Architectures
    /// before sm_100 have none; sm_101 belongs with sm_110, which it became.
    pub fn family(self) -> Option<u16> {
        family_of(self.sm())
    }
}

/// The family of an architecture by its number; see [`Target::family`].
pub(crate) fn family_of(sm: u16) -> Option<u16> {
    match sm {
        101 => Some(11),
        100.. => Some(sm / 10),
        _ => None,
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a target architecture{}", hint(*.nearest))]
pub struct TargetError {
    /// The text.
    pub name: String,
    /// The known target it looks most like.
    pub nearest: Option<Target>,
}

impl TargetError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        "unknown-target"
    }
}

/// The end of the message about a text that is no target.
fn hint(nearest: Option<Target>) -> String {
    match nearest {
        Some(target) => format!("; did you mean {target}?"),
        None => ": they are named as in sm_90a".to_owned(),
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(name: &str) -> Result<Target, TargetError> {
        Target::from_name(name).ok_or_else(|| TargetError {
            name: name.to_owned(),
            nearest: nearest(name, Target::all().map(Target::name)).and_then(Target::from_name),
        })
    }
}
