//! Special registers (PTX ISA chapter 10): their names, types and where they exist.

use crate::availability::{Availability, Targets};
use crate::nearest::nearest;
use crate::{Type, Version};

/// A special register, or a family of numbered ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialRegister {
    /// The name with its percent sign. For a family (`%pm0` to `%pm7`), what stands before the number.
    name: &'static str,
    /// How many there are: 0 for one that has no number.
    count: u8,
    /// The text behind the number in the name.
    suffix: &'static str,
    /// The type of the register, or of each of its components.
    pub ty: Type,
    /// How many components it has: 4 (`.x`, `.y`, `.z`, `.w`) or 1.
    pub components: u8,
    /// Whether instructions of fewer bits may read its low ones: `.u16` ones registers that once were that
    /// narrow, and `.u32` ones `%gridid`.
    pub narrow: bool,
    /// Where it exists: any one of these suffices.
    pub availability: &'static [Availability],
}

macro_rules! since {
    ($targets:expr, $major:literal, $minor:literal) => {
        &[Availability { targets: $targets, since: Version::new($major, $minor) }]
    };
}

const fn one(name: &'static str, ty: Type, availability: &'static [Availability]) -> SpecialRegister {
    SpecialRegister { name, count: 0, suffix: "", ty, components: 1, narrow: false, availability }
}

const fn four(name: &'static str, availability: &'static [Availability]) -> SpecialRegister {
    SpecialRegister { components: 4, ..one(name, Type::U32, availability) }
}

const fn narrow(register: SpecialRegister) -> SpecialRegister {
    SpecialRegister { narrow: true, ..register }
}

const fn many(count: u8, suffix: &'static str, register: SpecialRegister) -> SpecialRegister {
    SpecialRegister { count, suffix, ..register }
}

use Targets::{All, From};
use Type::{B32, Pred, U32, U64};

/// The table.
#[rustfmt::skip]
const ROWS: &[SpecialRegister] = &[
    narrow(four("%tid",            since!(All, 1, 0))),
    narrow(four("%ntid",           since!(All, 1, 0))),
    one("%laneid",            U32, since!(All, 1, 3)),
    one("%warpid",            U32, since!(All, 1, 3)),
    one("%nwarpid",           U32, since!(From(20), 2, 0)),
    narrow(four("%ctaid",          since!(All, 1, 0))),
    narrow(four("%nctaid",         since!(All, 1, 0))),
    one("%smid",              U32, since!(All, 1, 3)),
    one("%nsmid",             U32, since!(From(20), 2, 0)),
    narrow(one("%gridid",     U64, since!(All, 1, 0))),
    one("%is_explicit_cluster", Pred, since!(From(90), 7, 8)),
    four("%clusterid",             since!(From(90), 7, 8)),
    four("%nclusterid",            since!(From(90), 7, 8)),
    four("%cluster_ctaid",         since!(From(90), 7, 8)),
    four("%cluster_nctaid",        since!(From(90), 7, 8)),
    one("%cluster_ctarank",   U32, since!(From(90), 7, 8)),
    one("%cluster_nctarank",  U32, since!(From(90), 7, 8)),
    one("%lanemask_eq",       U32, since!(From(20), 2, 0)),
    one("%lanemask_le",       U32, since!(From(20), 2, 0)),
    one("%lanemask_lt",       U32, since!(From(20), 2, 0)),
    one("%lanemask_ge",       U32, since!(From(20), 2, 0)),
    one("%lanemask_gt",       U32, since!(From(20), 2, 0)),
    one("%clock",             U32, since!(All, 1, 0)),
    one("%clock_hi",          U32, since!(From(20), 5, 0)),
    one("%clock64",           U64, since!(From(20), 2, 0)),
    one("%pm0",               U32, since!(All, 1, 3)),
    one("%pm1",               U32, since!(All, 1, 3)),
    one("%pm2",               U32, since!(All, 1, 3)),
    one("%pm3",               U32, since!(All, 1, 3)),
    many(8, "", one("%pm",    U32, since!(From(20), 3, 0))),
    many(8, "_64", one("%pm", U64, since!(From(50), 4, 0))),
    many(32, "", one("%envreg", B32, since!(All, 1, 0))),
    one("%globaltimer",       U64, since!(From(30), 3, 1)),
    one("%globaltimer_lo",    U32, since!(From(30), 3, 1)),
    one("%globaltimer_hi",    U32, since!(From(30), 3, 1)),
    one("%reserved_smem_offset_begin", B32, since!(From(80), 7, 6)),
    one("%reserved_smem_offset_end",   B32, since!(From(80), 7, 6)),
    one("%reserved_smem_offset_cap",   B32, since!(From(80), 7, 6)),
    many(2, "", one("%reserved_smem_offset_", B32, since!(From(80), 7, 6))),
    one("%total_smem_size",   U32, since!(From(20), 4, 1)),
    one("%aggr_smem_size",    U32, since!(From(90), 8, 1)),
    one("%dynamic_smem_size", U32, since!(From(20), 4, 1)),
    one("%current_graph_exec", U64, since!(From(50), 8, 0)),
    one("%perctamemoryoffset", U64, since!(From(80), 9, 4)),
    one("%perctamemorysize",   U64, since!(From(80), 9, 4)),
];

impl SpecialRegister {
    /// Every row: single registers and families.
    pub fn all() -> impl Iterator<Item = &'static SpecialRegister> {
        ROWS.iter()
    }

    /// Finds a special register by its name, percent sign included: `%tid`, `%envreg17`. Components are not
    /// part of the name.
    pub fn from_name(name: &str) -> Option<&'static SpecialRegister> {
        ROWS.iter().find(|row| row.is_named(name))
    }

    /// The name of the special register that a misspelt one looks like.
    pub fn nearest(name: &str) -> Option<&'static str> {
        nearest(name, ROWS.iter().filter(|row| row.count == 0).map(|row| row.name))
    }

    fn is_named(&self, name: &str) -> bool {
        if self.count == 0 {
            return name == self.name;
        }
        let number = name.strip_prefix(self.name).and_then(|rest| rest.strip_suffix(self.suffix));
        number.is_some_and(|digits| {
            let canonical = digits == "0" || !digits.starts_with('0');
            canonical && digits.parse::<u8>().is_ok_and(|number| number < self.count)
        })
    }

    /// The name; of a family, with its numbers: `%pm<8>_64`.
    pub fn display_name(&self) -> String {
        match self.count {
            0 => self.name.to_owned(),
            count => format!("{}<{count}>{}", self.name, self.suffix),
        }
    }

    /// Whether `mov` of this type reads it: integers and bits of its size, and of fewer bits where older
    /// versions of PTX had it narrower.
    pub fn readable_as(&self, ty: Type) -> bool {
        if self.ty == Type::Pred || ty == Type::Pred {
            return self.ty == ty;
        }
        let integer = ty.is_int() || matches!(ty, Type::B16 | Type::B32 | Type::B64);
        let narrower = self.narrow && ty.bits() >= 16 && ty.bits() < self.ty.bits();
        integer && (ty.bits() == self.ty.bits() || narrower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let ty = |name| SpecialRegister::from_name(name).map(|register| register.ty);
        assert_eq!(ty("%tid"), Some(U32));
        assert_eq!(ty("%clock64"), Some(U64));
        assert_eq!(ty("%envreg31"), Some(B32));
        assert_eq!(ty("%envreg32"), None);
        assert_eq!(ty("%envreg01"), None);
        assert_eq!(ty("%pm7"), Some(U32));
        assert_eq!(ty("%pm7_64"), Some(U64));
        assert_eq!(ty("%pm8"), None);
        assert_eq!(ty("%reserved_smem_offset_1"), Some(B32));
        assert_eq!(ty("%reserved_smem_offset_2"), None);
        assert_eq!(SpecialRegister::nearest("%laneids"), Some("%laneid"));
    }

    #[test]
    fn movs_that_read_them() {
        let reads = |name, ty| SpecialRegister::from_name(name).unwrap().readable_as(ty);
        assert!(reads("%tid", Type::U32) && reads("%tid", Type::S16) && !reads("%tid", Type::U64));
        assert!(reads("%gridid", Type::U64) && reads("%gridid", Type::U32) && reads("%gridid", Type::B16));
        assert!(!reads("%laneid", Type::U16) && !reads("%laneid", Type::F32));
        assert!(reads("%is_explicit_cluster", Type::Pred) && !reads("%is_explicit_cluster", Type::U32));
    }
}
