//! Files with the symbols of an object that was stripped of them, in the places where debuggers look.

use crate::elf::{Elf, Table};
use crate::mapped::Mapped;
use crate::runtime::{self, Runtime};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Where distributions have such files.
const FOLDER: &str = "/usr/lib/debug";

/// The section with the name of the file and its checksum.
const LINK: &[u8] = b".gnu_debuglink";

/// The runtime of an object, by the symbols in another file.
pub fn runtime(path: &Path, object: &Elf<'_>) -> Option<Runtime> {
    let build_id = object.build_id();
    let link = object.section_contents(LINK).and_then(link);
    let by_id = build_id.and_then(by_build_id).map(|file| (file, None));
    let name = link.as_ref().map(|(name, _)| name.as_path());
    let by_name = name.into_iter().flat_map(|name| by_name(path, name));
    let by_name = by_name.map(|file| (file, link.as_ref().map(|(_, checksum)| *checksum)));
    by_id.into_iter().chain(by_name).find_map(|(file, checksum)| {
        let bytes = Mapped::open(&file).ok()?;
        let elf = Elf::read(&bytes)?;
        // It must be the object's own: by the identification, or else by the checksum.
        let belongs = match build_id {
            Some(build_id) => elf.build_id() == Some(build_id),
            None => checksum == Some(crc32(&bytes)),
        };
        if belongs { runtime::find(object, &elf.symbols(Table::All)?) } else { None }
    })
}

/// The name of a file, without a folder, and its checksum.
fn link(section: &[u8]) -> Option<(PathBuf, u32)> {
    let length = section.iter().position(|byte| *byte == 0)?;
    let checksum = section.get((length + 1).next_multiple_of(4)..)?.first_chunk()?;
    let name = &section[..length];
    let plain = !name.is_empty() && !name.contains(&b'/') && name != b".." && name != b".";
    plain.then(|| (OsString::from_vec(name.to_vec()).into(), u32::from_le_bytes(*checksum)))
}

fn by_build_id(id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty() && rest.len() < 64)?;
    let mut name = format!("{FOLDER}/.build-id/{first:02x}/");
    for byte in rest {
        let _ = write!(name, "{byte:02x}");
    }
    name.push_str(".debug");
    Some(name.into())
}

/// The places of a file that a link names: beside the object, in `.debug` there, and where distributions have them.
fn by_name(object: &Path, name: &Path) -> Vec<PathBuf> {
    let Some(folder) = std::fs::canonicalize(object).ok().and_then(|path| path.parent().map(Path::to_owned))
    else {
        return Vec::new();
    };
    let inside = folder.strip_prefix("/").unwrap_or(&folder);
    let folders = [folder.clone(), folder.join(".debug"), Path::new(FOLDER).join(inside)];
    folders.into_iter().map(|folder| folder.join(name)).collect()
}

/// The checksum of links: CRC-32 of ISO 3309.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut value, mut bit) = (index as u32, 0);
            while bit < 8 {
                value = value >> 1 ^ if value & 1 == 1 { 0xedb8_8320 } else { 0 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum: u32, byte| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_checksums_are_read() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(link(b"a.debug\0\x01\x02\x03\x04"), Some(("a.debug".into(), 0x0403_0201)));
        assert_eq!(link(b"ab.debug\0\0\0\0\x01\x02\x03\x04"), Some(("ab.debug".into(), 0x0403_0201)));
        for wrong in [
            &b""[..],
            b"a.debug",
            b"a.debug\0\x01\x02\x03",
            b"../a\0\0\0\0\x01\x02\x03\x04",
            b"\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(link(wrong), None, "{wrong:?}");
        }
        assert_eq!(by_build_id(&[0xab, 0xcd, 1]), Some("/usr/lib/debug/.build-id/ab/cd01.debug".into()));
        assert_eq!(by_build_id(&[]), None);
    }
}
