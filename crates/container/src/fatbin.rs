//! Fat binaries: code for several architectures in one container, and the wrapper that points to one.
//!
//! NVIDIA does not document the format. What follows was checked on the output of nvcc 13.4. All numbers are
//! little-endian.
//!
//! The wrapper has 24 bytes: u32 magic, u32 version, a pointer to the fat binary, a pointer. The last is a file name
//! or null in version 1, an array of pointers to fat binaries that ends with a null in version 2.
//!
//! The header has 16 bytes: u32 magic, u16 version 1, u16 size of the header, u64 size of all entries. An entry is a
//! header and the stored bytes; the next one follows at once:
//!
//! | at | what |
//! |---|---|
//! | 0 | u16 kind: 1 PTX, 2 cubin, 8 LTO-IR |
//! | 2 | u16 version 0x0101 |
//! | 4 | u32 size of the header, at least 64 |
//! | 8 | u64 stored size, padded to a multiple of 8 |
//! | 16 | u32 compressed size, without padding; 0 if not compressed |
//! | 20 | u32 offset in the entry of two u32: offset and length of the assembler's options; 0 if there are none |
//! | 24 | u16 minor, u16 major: for PTX the version of the language |
//! | 28 | u32 architecture |
//! | 32 | u32 offset, u32 length of the identifier, which is the name of the source file (with `-lineinfo` or `-G`) |
//! | 40 | u64 flags |
//! | 56 | u64 size when unpacked; 0 if not compressed |
//!
//! Flags: 0x1 64 bits, 0x2 debug, 0x10 Linux, 0x2000 LZ4, 0x8000 zstd, 0x100000 suffix `a`, 0x200000 suffix `f`.
//! 0x10000 (LTO-IR) and 0x1000000 (cubins of sm_100 and later) are not known; with the latter, bytes of the cubin's
//! section `.nv.compat` follow the NUL of the options.
//!
//! PTX and LTO-IR carry options: ` --fmad false -maxrregcount=32 ` for PTX, `-ftz=0 … -fmad=1 ` for LTO-IR.

use super::compression::{Compression, Packed};
use super::source::{Source, part, promised, u16_at, u32_at, u64_at};
use super::{Arch, AssemblerOptions, Body, Entry, Kind, MOST_ENTRIES, ReadError, Variant, text};

pub(super) const MAGIC: u32 = 0xba55_ed50;
pub(super) const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// The structure of pointers of CUDA 3 and earlier, which was no container.
pub(super) const OLD_MAGIC: u32 = 0x1ee5_5a01;

const WRAPPER_SIZE: u64 = 24;
const HEADER_SIZE: u16 = 16;
const ENTRY_HEADER_SIZE: u32 = 64;

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;

/// A structure that points to a fat binary. The pointers are those of the process that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// 1, or 2 if the last pointer is to an array.
    pub version: u32,
    /// Address of the fat binary.
    pub data: u64,
    /// Version 1: address of a file name, or 0. Version 2: address of an array of addresses of fat binaries that ends
    /// with a 0.
    pub filename_or_prelinked: u64,
}

/// Reads a wrapper.
pub(super) fn read_wrapper<'a>(source: &impl Source<'a>) -> Result<Wrapper, ReadError> {
    const WHAT: &str = "wrapper of a fat binary";
    let bytes = promised(source, 0, WRAPPER_SIZE, WHAT)?;
    let wrapper = || {
        Some(Wrapper {
            version: u32_at(bytes, 4)?,
            data: u64_at(bytes, 8)?,
            filename_or_prelinked: u64_at(bytes, 16)?,
        })
    };
    wrapper().ok_or(ReadError::Truncated { what: WHAT })
}

/// Reads the headers of a fat binary and its entries.
pub(super) fn read<'a>(source: &impl Source<'a>) -> Result<Vec<Entry<'a>>, ReadError> {
    const WHAT: &str = "fat binary";
    let bytes = promised(source, 0, HEADER_SIZE.into(), WHAT)?;
    let header = || Some((u16_at(bytes, 4)?, u16_at(bytes, 6)?, u64_at(bytes, 8)?));
    let (version, header_size, size) = header().ok_or(ReadError::Truncated { what: WHAT })?;
    if version != 1 || header_size < HEADER_SIZE {
        return Err(ReadError::FatbinVersion { version, header_size });
    }
    let mut rest = promised(source, header_size.into(), size, WHAT)?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        if entries.len() == MOST_ENTRIES {
            return Err(ReadError::TooMany { what: "entries of a fat binary" });
        }
        let (entry, after) = read_entry(rest).ok_or(ReadError::FatbinEntry { index: entries.len() })?;
        entries.push(entry);
        rest = after;
    }
    Ok(entries)
}

/// Reads fat binaries one behind the other, as sections of programs have them: each begins at a multiple of 8, and
/// nothing but zeros lies between them.
pub(super) fn read_all(section: &[u8]) -> Result<Vec<Vec<Entry<'_>>>, ReadError> {
    let mut found = Vec::new();
    let mut rest = section;
    while let Some(magic) = u32_at(rest, 0) {
        let mut taken = 8;
        if magic == MAGIC {
            if found.len() == MOST_ENTRIES {
                return Err(ReadError::TooMany { what: "fat binaries in a file" });
            }
            found.push(read(&rest)?);
            let sizes = u16_at(rest, 6).zip(u64_at(rest, 8));
            let size = sizes.and_then(|(header, size)| size.checked_add(header.into()));
            let size = size.and_then(|size| usize::try_from(size.checked_next_multiple_of(8)?).ok());
            taken = size.ok_or(ReadError::Truncated { what: "fat binary" })?;
        } else if magic != 0 {
            return Err(ReadError::Elf { what: "its section of fat binaries has something else in it" });
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(found)
}

/// Reads one entry; gives what follows it. None if something does not lie inside.
fn read_entry(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let header_size = u32_at(bytes, 4).filter(|size| *size >= ENTRY_HEADER_SIZE)?;
    let header = part(bytes, 0, header_size.into())?;
    let stored_size = u64_at(header, 8)?;
    let stored = part(bytes, header_size.into(), stored_size)?;
    let after = bytes.get(header.len()..)?.get(stored.len()..)?;

    let flags = u64_at(header, 40)?;
    let kind = match u16_at(header, 0)? {
        1 => Kind::Ptx,
        2 => Kind::Cubin,
        8 => Kind::LtoIr,
        other => Kind::Other(other),
    };
    let entry = Entry {
        kind,
        arch: Some(Arch { number: u32_at(header, 28)?, variant: variant(flags) }),
        ptx_version: (u16_at(header, 26)?, u16_at(header, 24)?),
        options: read_options(header)?,
        identifier: Some(read_identifier(header)?).filter(|name| !name.is_empty()),
        body: Body::Packed(read_packed(header, stored, flags)?),
    };
    Some((entry, after))
}

fn variant(flags: u64) -> Variant {
    if flags & FLAG_SPECIFIC != 0 {
        Variant::Specific
    } else if flags & FLAG_FAMILY != 0 {
        Variant::Family
    } else {
        Variant::Baseline
    }
}

fn read_packed<'a>(header: &[u8], stored: &'a [u8], flags: u64) -> Option<Packed<'a>> {
    let compression = if flags & FLAG_ZSTD != 0 {
        Compression::Zstd
    } else if flags & FLAG_LZ4 != 0 {
        Compression::Lz4
    } else {
        return Some(Packed { stored, compression: Compression::None, size: stored.len() as u64 });
    };
    let stored = part(stored, 0, u32_at(header, 16)?.into())?;
    Some(Packed { stored, compression, size: u64_at(header, 56)? })
}

fn read_options(header: &[u8]) -> Option<AssemblerOptions> {
    let at = usize::try_from(u32_at(header, 20)?).ok()?;
    if at == 0 {
        return Some(AssemblerOptions::default());
    }
    let place = header.get(at..)?;
    let bytes = part(header, u32_at(place, 0)?.into(), u32_at(place, 4)?.into())?;
    Some(AssemblerOptions::parse(&String::from_utf8_lossy(text::before_nul(bytes))))
}

/// The identifier; empty if there is none.
fn read_identifier(header: &[u8]) -> Option<String> {
    let (at, length) = (u32_at(header, 32)?, u32_at(header, 36)?);
    let bytes = part(header, at.into(), length.into())?;
    Some(String::from_utf8_lossy(text::before_nul(bytes)).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u16, size: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&HEADER_SIZE.to_le_bytes());
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes
    }

    #[test]
    fn a_header_must_be_known_and_whole() {
        assert_eq!(read(&&*header(1, 0)), Ok(Vec::new()));
        assert_eq!(read(&&*header(9, 0)), Err(ReadError::FatbinVersion { version: 9, header_size: 16 }));
        assert_eq!(read(&&*header(1, 8)), Err(ReadError::Truncated { what: "fat binary" }));
        assert!(matches!(read(&&*header(1, u64::MAX)), Err(ReadError::TooLarge { .. })));
        assert!(matches!(read(&&*header(1, 1 << 40)), Err(ReadError::TooLarge { .. })));
    }

    #[test]
    fn an_entry_must_lie_inside() {
        let mut entry = vec![0; 72];
        entry[0] = 1;
        entry[4] = 64;
        entry[8] = 8;
        assert!(read_entry(&entry).is_some_and(|(entry, after)| entry.kind == Kind::Ptx && after.is_empty()));
        for (at, value) in [(4, 63), (4, 255), (8, 9), (15, 255), (20, 60), (20, 255)] {
            let mut bad = entry.clone();
            bad[at] = value;
            assert!(read_entry(&bad).is_none(), "{at}: {value}");
        }
        assert!(read_entry(&entry[..71]).is_none());
    }

    #[test]
    fn too_many_entries_are_refused() {
        let mut entry = [0; 64];
        entry[4] = 64;
        let mut bytes = header(1, 64 * (MOST_ENTRIES as u64 + 1));
        bytes.extend(entry.repeat(MOST_ENTRIES + 1));
        assert_eq!(read(&&*bytes), Err(ReadError::TooMany { what: "entries of a fat binary" }));
    }

    #[test]
    fn a_wrapper_gives_its_pointers() {
        let mut bytes = WRAPPER_MAGIC.to_le_bytes().to_vec();
        bytes.extend_from_slice(&2u32.to_le_bytes());
        bytes.extend_from_slice(&0x1234_5678_9abcu64.to_le_bytes());
        bytes.extend_from_slice(&0x10u64.to_le_bytes());
        let wrapper = Wrapper { version: 2, data: 0x1234_5678_9abc, filename_or_prelinked: 0x10 };
        assert_eq!(read_wrapper(&&*bytes), Ok(wrapper));
        assert!(read_wrapper(&&bytes[..23]).is_err());
    }
}
