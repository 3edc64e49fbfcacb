//! Versions of the PTX ISA: the number in a module's `.version` directive.
//!
//! PTX ISA section 11.1.1, and the release history of chapter 13.

use std::fmt;
use std::str::FromStr;

/// A version of the PTX ISA. Versions order as one expects: 8.8 before 9.0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The number before the dot.
    pub major: u8,
    /// The number after the dot.
    pub minor: u8,
}

/// The minor versions of each major version, from the release history; the assembler also knows 5.1.
const RELEASES: [(u8, std::ops::RangeInclusive<u8>); 9] = [
    (1, 0..=5),
    (2, 0..=3),
    (3, 0..=2),
    (4, 0..=3),
    (5, 0..=1),
    (6, 0..=5),
    (7, 0..=8),
    (8, 0..=8),
    (9, 0..=4),
];

impl Version {
    /// The newest version known here.
    pub const LATEST: Version = Version::new(9, 4);

    /// A version from its two numbers, known or not.
    pub const fn new(major: u8, minor: u8) -> Version {
        Version { major, minor }
    }

    /// Every released version, oldest first.
    pub fn all() -> impl Iterator<Item = Version> {
        RELEASES.into_iter().flat_map(|(major, minors)| minors.map(move |minor| Version { major, minor }))
    }

    /// Whether it was ever released.
    pub fn is_known(self) -> bool {
        Version::all().any(|version| version == self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// It is not two numbers with a dot between.
    #[error("`{0}` is not a PTX version: it is two numbers with a dot between, as in 9.1")]
    Malformed(String),
    /// It has the right shape, but no such version was released.
    #[error("{}", unknown(*.0))]
    Unknown(Version),
}

/// What is wrong with a version that was not released.
fn unknown(version: Version) -> String {
    if version > Version::LATEST {
        return format!("PTX {version} is newer than the newest known here, {}", Version::LATEST);
    }
    let before = Version::all().filter(|known| *known < version).last();
    let after = Version::all().find(|known| *known > version);
    match (before, after) {
        (Some(before), Some(after)) => format!("there is no PTX {version}: {after} came after {before}"),
        _ => format!("there is no PTX {version}: the first was 1.0"),
    }
}

impl VersionError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            VersionError::Malformed(_) => "malformed-version",
            VersionError::Unknown(_) => "unknown-version",
        }
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Reads a released version such as `9.1`.
    fn from_str(text: &str) -> Result<Version, VersionError> {
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u8>().ok(),
            false => None,
        };
        let (major, minor) = text
            .split_once('.')
            .and_then(|(major, minor)| Some((number(major)?, number(minor)?)))
            .ok_or_else(|| VersionError::Malformed(text.to_owned()))?;
        let version = Version { major, minor };
        if version.is_known() { Ok(version) } else { Err(VersionError::Unknown(version)) }
    }
}
