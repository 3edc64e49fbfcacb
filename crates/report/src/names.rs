//! The names that number formats go by: those of PTX, and those of libraries and papers.
//!
//! Everything that names a format (arguments, options) reads it here. Letters may be upper or lower case, `-` stands
//! for `_`, and a dot in front is ignored. Names that mean different formats to different people (`fp6`,
//! `float8_e4m3`, which has infinities in ml_dtypes) are not in the table.

use softwarp::isa::nearest;
use softwarp::num::Format;
use softwarp::num::block::BlockFormat;

/// A format of single numbers with its other names.
pub struct NumberRow {
    /// The format. [`Format::name`] is its first name.
    pub format: Format,
    /// Its other names, in lower case.
    pub aliases: &'static [&'static str],
}

/// A block-scaled format with its other names.
pub struct BlockRow {
    /// The format. [`BlockFormat::name`] is its first name.
    pub format: BlockFormat,
    /// Its other names, in lower case.
    pub aliases: &'static [&'static str],
}

const fn row(format: Format, aliases: &'static [&'static str]) -> NumberRow {
    NumberRow { format, aliases }
}

const fn block_row(format: BlockFormat, aliases: &'static [&'static str]) -> BlockRow {
    BlockRow { format, aliases }
}

/// The other names of formats of single numbers; formats without any are not listed.
#[rustfmt::skip]
pub const NUMBERS: &[NumberRow] = &[
    row(Format::F16,   &["fp16", "float16", "half", "binary16", "__half"]),
    row(Format::Bf16,  &["bfloat16", "__nv_bfloat16"]),
    row(Format::Tf32,  &["tfloat32", "tensorfloat32"]),
    row(Format::F32,   &["fp32", "float32", "float", "single", "binary32"]),
    row(Format::F64,   &["fp64", "float64", "double", "binary64"]),
    row(Format::E4m3,  &["fp8", "fp8_e4m3", "fp8e4m3", "fp8e4nv", "float8_e4m3fn", "f8e4m3fn", "e4m3fn", "__nv_fp8_e4m3"]),
    row(Format::E5m2,  &["bf8", "fp8_e5m2", "fp8e5m2", "fp8e5", "float8_e5m2", "f8e5m2", "__nv_fp8_e5m2"]),
    row(Format::E2m3,  &["fp6_e2m3", "fp6e2m3", "float6_e2m3fn", "f6e2m3fn", "e2m3fn", "__nv_fp6_e2m3"]),
    row(Format::E3m2,  &["fp6_e3m2", "fp6e3m2", "float6_e3m2fn", "f6e3m2fn", "e3m2fn", "__nv_fp6_e3m2"]),
    row(Format::E2m1,  &["fp4", "fp4_e2m1", "fp4e2m1", "float4_e2m1fn", "float4_e2m1fn_x2", "f4e2m1fn", "e2m1fn", "__nv_fp4_e2m1"]),
    row(Format::Ue8m0, &["e8m0", "e8m0fnu", "float8_e8m0fnu", "f8e8m0fnu", "__nv_fp8_e8m0"]),
    row(Format::U2,    &["uint2"]),
    row(Format::S2,    &["int2", "i2"]),
    row(Format::U4,    &["uint4"]),
    row(Format::S4,    &["int4", "i4"]),
    row(Format::U8,    &["uint8", "byte"]),
    row(Format::S8,    &["int8", "i8"]),
    row(Format::U16,   &["uint16", "ushort"]),
    row(Format::S16,   &["int16", "i16", "short"]),
    row(Format::U32,   &["uint32", "uint"]),
    row(Format::S32,   &["int32", "i32", "int"]),
    row(Format::U64,   &["uint64"]),
    row(Format::S64,   &["int64", "i64"]),
];

/// The other names of block-scaled formats.
#[rustfmt::skip]
pub const BLOCKS: &[BlockRow] = &[
    block_row(BlockFormat::Mxfp8E4m3, &["mxfp8", "mxfp8e4m3", "mxfp8_e4m3fn"]),
    block_row(BlockFormat::Mxfp8E5m2, &["mxfp8e5m2"]),
    block_row(BlockFormat::Mxfp6E2m3, &["mxfp6e2m3", "mxfp6_e2m3fn"]),
    block_row(BlockFormat::Mxfp6E3m2, &["mxfp6e3m2", "mxfp6_e3m2fn"]),
    block_row(BlockFormat::Mxfp4,     &["mxfp4_e2m1", "mxfp4e2m1", "mxfp4_e2m1fn"]),
    block_row(BlockFormat::Nvfp4,     &["nvfp4_e2m1", "nvfp4e2m1"]),
];

/// The other names of a format.
pub fn aliases(format: Format) -> &'static [&'static str] {
    NUMBERS.iter().find(|row| row.format == format).map_or(&[], |row| row.aliases)
}

/// The other names of a block-scaled format.
pub fn block_aliases(format: BlockFormat) -> &'static [&'static str] {
    BLOCKS.iter().find(|row| row.format == format).map_or(&[], |row| row.aliases)
}

/// A name as the tables have it.
fn plain(name: &str) -> String {
    name.strip_prefix('.').unwrap_or(name).to_ascii_lowercase().replace('-', "_")
}

/// Finds a format by any of its names.
pub fn find(name: &str) -> Option<Format> {
    let name = plain(name);
    let alias = || NUMBERS.iter().find(|row| row.aliases.contains(&name.as_str())).map(|row| row.format);
    Format::from_name(&name).or_else(alias)
}

/// Finds a block-scaled format by any of its names.
pub fn find_block(name: &str) -> Option<BlockFormat> {
    let name = plain(name);
    let alias = || BLOCKS.iter().find(|row| row.aliases.contains(&name.as_str())).map(|row| row.format);
    BlockFormat::from_name(&name).or_else(alias)
}

/// Finds a format by any of its names, or says what is wrong with the name.
pub fn format(name: &str) -> Result<Format, String> {
    find(name).ok_or_else(|| {
        let known = Format::ALL
            .iter()
            .flat_map(|format| [format.name()].into_iter().chain(aliases(*format).iter().copied()));
        unknown(name, "a format", known, Format::ALL.iter().map(|format| format.name()))
    })
}

/// Finds a block-scaled format by any of its names, or says what is wrong with the name.
pub fn block(name: &str) -> Result<BlockFormat, String> {
    find_block(name).ok_or_else(|| {
        let all = BlockFormat::ALL;
        let known = all
            .iter()
            .flat_map(|format| [format.name()].into_iter().chain(block_aliases(*format).iter().copied()));
        unknown(name, "a block format", known, all.iter().map(|format| format.name()))
    })
}

/// What to say about a name that is not there.
fn unknown<'a>(
    name: &str,
    what: &str,
    known: impl Iterator<Item = &'a str>,
    all: impl Iterator<Item = &'a str>,
) -> String {
    let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
    let why = match plain(name).as_str() {
        "fp6" | "float6" => "; fp6_e2m3 and fp6_e3m2 are".to_owned(),
        "mxfp6" => "; mxfp6_e2m3 and mxfp6_e3m2 are".to_owned(),
        "float8_e4m3" => "; PTX has float8_e4m3fn, without infinities".to_owned(),
        plain => match nearest(plain, known) {
            Some(meant) => format!("; did you mean {meant}?"),
            None => format!(
                "; there are {}; `softwarp formats` lists their other names",
                all.collect::<Vec<_>>().join(", ")
            ),
        },
    };
    format!("`{shown}` is not {what}{why}")
}

/// The spelling of a `cvt` form with the names of PTX in place of others: `rn.satfinite.fp8x2.float` becomes
/// `rn.satfinite.e4m3x2.f32`.
pub fn in_ptx(form: &str) -> String {
    let word = |word: &str| {
        let (name, lanes) = match word.strip_suffix("x2").map(|name| (name, "x2")) {
            Some(split) => split,
            None => word.strip_suffix("x4").map_or((word, ""), |name| (name, "x4")),
        };
        // `float4_e2m1fn_x2` is a name of its own.
        match find(word).map(|format| (format, "")).or_else(|| find(name).map(|format| (format, lanes))) {
            Some((format, lanes)) => format!("{format}{lanes}"),
            None => word.to_owned(),
        }
    };
    form.split('.').map(word).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_means_one_format() {
        let mut seen = BTreeSet::new();
        let names =
            NUMBERS.iter().flat_map(|row| row.aliases).chain(BLOCKS.iter().flat_map(|row| row.aliases));
        let first = Format::ALL
            .iter()
            .map(|format| format.name())
            .chain(BlockFormat::ALL.iter().map(|one| one.name()));
        for name in names.copied().chain(first) {
            assert!(seen.insert(name), "{name} stands twice");
            assert_eq!(plain(name), name);
        }
        for row in NUMBERS {
            assert!(row.aliases.iter().all(|name| format(name) == Ok(row.format)));
        }
        for row in BLOCKS {
            assert!(row.aliases.iter().all(|name| block(name) == Ok(row.format)));
        }
    }

    #[test]
    fn letters_and_hyphens_do_not_matter() {
        assert_eq!(find("E4M3"), Some(Format::E4m3));
        assert_eq!(find(".Float8-E4M3FN"), Some(Format::E4m3));
        assert_eq!(find_block("NVFP4"), Some(BlockFormat::Nvfp4));
        for (name, wanted) in [
            ("fp6", "fp6_e2m3 and fp6_e3m2 are"),
            ("float8_e4m3", "PTX has float8_e4m3fn"),
            ("bfloat61", "did you mean bfloat16?"),
            ("banana", "there are f16, bf16"),
        ] {
            let message = format(name).unwrap_err();
            assert!(message.contains(wanted), "{message}");
        }
    }

    #[test]
    fn forms_are_spelled_in_the_names_of_ptx() {
        assert_eq!(in_ptx("rn.satfinite.FP8x2.float"), "rn.satfinite.e4m3x2.f32");
        assert_eq!(in_ptx("cvt.rn.half.double"), "cvt.rn.f16.f64");
        assert_eq!(in_ptx("f32.float4_e2m1fn_x2"), "f32.e2m1");
        assert_eq!(in_ptx("rn.satfinite.e4m3x2.f32"), "rn.satfinite.e4m3x2.f32");
        assert_eq!(in_ptx("rs.scaled::n1::ue8m0.what"), "rs.scaled::n1::ue8m0.what");
    }
}
