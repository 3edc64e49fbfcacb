//! The lists of structures and functions.

use std::fmt;

/// A version of the headers, such as 12.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    fn parse(text: &str) -> Version {
        let (major, minor) = text.split_once('.').expect("a version has a point");
        let number = |text: &str| text.parse().expect("a version has numbers");
        Version { major: number(major), minor: number(minor) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The first and the last version that has something.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    pub first: Version,
    pub last: Version,
}

impl Versions {
    fn parse(text: &str) -> Versions {
        let (first, last) = text.split_once('-').expect("two versions");
        Versions { first: Version::parse(first), last: Version::parse(last) }
    }

    pub fn has(self, version: Version) -> bool {
        (self.first..=self.last).contains(&version)
    }

    /// Whether any of them has a major number.
    pub fn has_major(self, major: u32) -> bool {
        (self.first.major..=self.last.major).contains(&major)
    }

    /// Those of a major number.
    pub fn within_major(self, major: u32) -> Versions {
        let first = self.first.max(Version { major, minor: 0 });
        Versions { first, last: self.last.min(Version { major, minor: 99 }) }
    }

    fn meet(self, other: Versions) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A field of a structure, with its offset and size in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub offset: usize,
    pub size: usize,
}

impl Field {
    /// Whether later versions may put something there.
    pub fn is_reserved(&self) -> bool {
        let last = self.name.rsplit('.').next().unwrap_or_default();
        last.strip_prefix("reserved").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    }

    pub fn end(&self) -> usize {
        self.offset + self.size
    }
}

/// A structure, as some versions have it.
#[derive(Clone, Debug)]
pub struct Structure {
    /// Its name, and whether C needs `struct` before it.
    pub name: String,
    pub tagged: bool,
    pub versions: Versions,
    pub size: usize,
    pub fields: Vec<Field>,
}

impl Structure {
    /// How a later layout differs in what an earlier version has; what was reserved may be something.
    pub fn differs_from(&self, new: &Structure) -> Option<String> {
        if self.size != new.size {
            return Some(format!("{} and {} bytes", self.size, new.size));
        }
        self.moved(new)
    }

    /// A field that is elsewhere in a later version.
    fn moved(&self, new: &Structure) -> Option<String> {
        let plain = |name: &str| name.replace('?', "");
        let fields = self.fields.iter().filter(|it| !it.is_reserved());
        let moved = fields.into_iter().find(|old| {
            let mut same = new.fields.iter().filter(|it| plain(&it.name) == plain(&old.name));
            same.any(|it| (it.offset, it.size) != (old.offset, old.size))
        });
        moved.map(|field| format!("{} is elsewhere", field.name))
    }

    /// Whether a later structure has more at the end and is the same otherwise.
    pub fn begins_with(&self, old: &Structure) -> bool {
        old.size <= self.size && old.moved(self).is_none()
    }
}

/// A function, as some versions have it.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    pub versions: Versions,
    pub parameters: u32,
    pub structures: Vec<String>,
}

fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// Structures in the order of their names and versions.
pub fn structures() -> Vec<Structure> {
    rows(include_str!("structures.txt"))
        .map(|row| {
            let (head, fields) = row.split_once(": ").unwrap_or_else(|| panic!("{row}"));
            let words: Vec<&str> = head.split(' ').collect();
            let &[name, versions, size] = words.as_slice() else { panic!("{row}") };
            let field = |text: &str| {
                let words: Vec<&str> = text.split(' ').collect();
                let &[name, offset, size] = words.as_slice() else { panic!("{row}") };
                Field { name: name.into(), offset: number(offset), size: number(size) }
            };
            let plain = name.strip_prefix("struct:");
            Structure {
                name: plain.unwrap_or(name).into(),
                tagged: plain.is_some(),
                versions: Versions::parse(versions),
                size: number(size),
                fields: fields.split(", ").map(field).collect(),
            }
        })
        .collect()
}

/// The functions of the runtime API.
pub fn functions() -> Vec<Function> {
    rows(include_str!("functions.txt"))
        .map(|row| {
            let mut words = row.split(' ');
            let mut word = || words.next().unwrap_or_else(|| panic!("{row}"));
            let (name, versions, parameters) = (word(), word(), word());
            Function {
                name: name.into(),
                versions: Versions::parse(versions),
                parameters: number(parameters) as u32,
                structures: words.map(|name| name.trim_start_matches("struct:").into()).collect(),
            }
        })
        .collect()
}

/// The layouts that a structure has in some versions.
pub fn of_version<'a>(all: &'a [Structure], name: &str, versions: Versions) -> Vec<&'a Structure> {
    all.iter().filter(|it| it.name == name && it.versions.meet(versions)).collect()
}
