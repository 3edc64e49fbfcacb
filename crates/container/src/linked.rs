//! Linked PTX: what `cuLinkComplete` gives in place of a cubin.
//!
//! Most programs hand those bytes unread to `cuModuleLoadData` or `cuLibraryLoadData`; some look whether they are an ELF
//! file. So they are one, of the machine of cubins, with a single section that holds the texts that were added, to be
//! linked when they are loaded. The file's header says so: behind the ABI version stands `SWL`. The format is softwarp's
//! own and not stable: the version changes with it. The section begins right behind the file's header. Little-endian:
//!
//! | at | what |
//! |---|---|
//! | 0 | magic number `8B 53 57 4C` |
//! | 4 | u32 version, 1 |
//! | 8 | u64 size of the section |
//! | 16 | u32 number of texts, u32 0 |
//!
//! Each text has a header of 16 bytes (u32 length of its name, u32 length of its options, u64 length of the text),
//! then name, options and text follow. The options are written as the assembler's command line. A text without a
//! name has one of length 0.

use super::compression::Budget;
use super::source::{Source, byte, part, promised, u32_at, u64_at};
use super::{AssemblerOptions, MOST_ENTRIES, MOST_UNPACKED, ReadError, Text};

const MAGIC: u32 = 0x4c57_538b;
/// The first bytes of the file's header: ELF, 64 bits, little-endian, and what says that it is of this format.
const IDENTITY: [u8; 16] = *b"\x7fELF\x02\x01\x01\x33\x08SWL\0\0\0\0";
const ELF_HEADER_SIZE: u64 = 64;
const ELF_ROW_SIZE: u16 = 64;
const ELF_MACHINE: u16 = 190;
const NAMES: &[u8] = b"\0.softwarp.linked\0.shstrtab\0";
const VERSION: u32 = 1;
const HEADER_SIZE: usize = 24;
const TEXT_HEADER_SIZE: usize = 16;

/// A module as a file of its own: a usual name for it, and its bytes. Several texts are one container.
pub fn one_file(texts: &[String]) -> Result<(&'static str, Vec<u8>), ReadError> {
    if let [text] = texts {
        return Ok(("module.ptx", text.clone().into_bytes()));
    }
    let texts: Vec<Text> = texts.iter().cloned().map(Text::from_source).collect();
    Ok(("module.linked", write(&texts)?))
}

/// Writes texts as one container. Their versions and architectures are not written: they are in the texts.
pub fn write(texts: &[Text]) -> Result<Vec<u8>, ReadError> {
    let too_many = ReadError::TooMany { what: "linked texts" };
    let count = u32::try_from(texts.len()).ok().filter(|_| texts.len() <= MOST_ENTRIES).ok_or(too_many)?;
    let mut body = Vec::new();
    for text in texts {
        let name = text.name.as_deref().unwrap_or_default();
        let options = text.options.to_string();
        let lengths = (u32::try_from(name.len()), u32::try_from(options.len()));
        let (Ok(name_length), Ok(options_length)) = lengths else {
            return Err(ReadError::TooLarge { what: "name of a linked text", bytes: name.len() as u64 });
        };
        body.extend_from_slice(&name_length.to_le_bytes());
        body.extend_from_slice(&options_length.to_le_bytes());
        body.extend_from_slice(&(text.source.len() as u64).to_le_bytes());
        for part in [name, &options, &text.source] {
            body.extend_from_slice(part.as_bytes());
        }
    }
    if body.len() > MOST_UNPACKED {
        return Err(ReadError::TooLarge { what: "linked texts", bytes: body.len() as u64 });
    }
    let mut section = Vec::with_capacity(HEADER_SIZE + body.len());
    section.extend_from_slice(&MAGIC.to_le_bytes());
    section.extend_from_slice(&VERSION.to_le_bytes());
    section.extend_from_slice(&((HEADER_SIZE + body.len()) as u64).to_le_bytes());
    section.extend_from_slice(&count.to_le_bytes());
    section.extend_from_slice(&[0; 4]);
    section.append(&mut body);
    let arch = texts.iter().filter_map(|text| text.arch).map(|arch| arch.number).max().unwrap_or(0);
    Ok(elf_file(&section, arch))
}

/// An ELF file with one section besides its names.
fn elf_file(section: &[u8], arch: u32) -> Vec<u8> {
    let size = section.len() as u64;
    let names_at = ELF_HEADER_SIZE + size;
    let rows_at = (names_at + NAMES.len() as u64).next_multiple_of(8);
    let mut bytes = Vec::with_capacity(rows_at as usize + 3 * usize::from(ELF_ROW_SIZE));
    bytes.extend_from_slice(&IDENTITY);
    // An executable file of the machine, version 1.
    for half in [2, ELF_MACHINE, 1, 0] {
        bytes.extend_from_slice(&half.to_le_bytes());
    }
    for word in [0, 0, rows_at] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&(arch << 8).to_le_bytes());
    // The size of this header; no program headers; three sections, the last with the names.
    for half in [ELF_HEADER_SIZE as u16, 0, 0, ELF_ROW_SIZE, 3, 2] {
        bytes.extend_from_slice(&half.to_le_bytes());
    }
    bytes.extend_from_slice(section);
    bytes.extend_from_slice(NAMES);
    bytes.resize(rows_at as usize + usize::from(ELF_ROW_SIZE), 0);
    // Contents of a program, and a table of strings.
    for (name, kind, at, size) in [(1u32, 1u32, ELF_HEADER_SIZE, size), (18, 3, names_at, NAMES.len() as u64)]
    {
        bytes.extend_from_slice(&name.to_le_bytes());
        bytes.extend_from_slice(&kind.to_le_bytes());
        for word in [0, 0, at, size, 0, 1, 0] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    bytes
}

/// Whether a file that has the magic number of ELF is of this format. Its bytes are asked for one at a time.
pub(super) fn is_linked<'a>(source: &impl Source<'a>) -> bool {
    IDENTITY.iter().enumerate().all(|(at, expected)| byte(source, at) == Some(*expected))
}

/// Reads a container.
pub(super) fn read<'a>(source: &impl Source<'a>) -> Result<Vec<Text>, ReadError> {
    const WHAT: &str = "container of linked texts";
    let header = promised(source, ELF_HEADER_SIZE, HEADER_SIZE as u64, WHAT)?;
    let numbers = || Some((u32_at(header, 0)?, u32_at(header, 4)?, u64_at(header, 8)?, u32_at(header, 16)?));
    let (magic, version, size, count) = numbers().ok_or(ReadError::Truncated { what: WHAT })?;
    if magic != MAGIC || version != VERSION {
        return Err(ReadError::LinkedVersion { version });
    }
    let body = size.checked_sub(HEADER_SIZE as u64).ok_or(ReadError::LinkedText { index: 0 })?;
    let mut rest = promised(source, ELF_HEADER_SIZE + HEADER_SIZE as u64, body, WHAT)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= MOST_ENTRIES);
    let count = count.ok_or(ReadError::TooMany { what: "linked texts" })?;
    let mut budget = Budget::new(MOST_UNPACKED);
    let mut texts = Vec::new();
    for index in 0..count {
        let (text, after) = read_text(rest, &mut budget).ok_or(ReadError::LinkedText { index })??;
        texts.push(text);
        rest = after;
    }
    if rest.is_empty() { Ok(texts) } else { Err(ReadError::LinkedText { index: count }) }
}

/// Reads one text; gives what follows it. None if something does not lie inside.
fn read_text<'a>(bytes: &'a [u8], budget: &mut Budget) -> Option<Result<(Text, &'a [u8]), ReadError>> {
    let (name_length, options_length) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?);
    let text_length = u64_at(bytes, 8)?;
    let rest = bytes.get(TEXT_HEADER_SIZE..)?;
    let name = part(rest, 0, name_length.into())?;
    let rest = rest.get(name.len()..)?;
    let options = part(rest, 0, options_length.into())?;
    let rest = rest.get(options.len()..)?;
    let source = part(rest, 0, text_length)?;
    let rest = rest.get(source.len()..)?;
    let text = Text::new(source, budget).map(|mut text| {
        text.name = Some(String::from_utf8_lossy(name).into_owned()).filter(|name| !name.is_empty());
        text.options = AssemblerOptions::parse(&String::from_utf8_lossy(options));
        (text, rest)
    });
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<Text> {
        let mut first = Text::from_source(".version 8.0\n.target sm_90\n.func f;\n".to_owned());
        first.name = Some("first.ptx".to_owned());
        first.options = AssemblerOptions::parse("-fmad false -O 2 -lineinfo");
        let second = Text::from_source(".version 9.0\n.target sm_80\n// π\n".to_owned());
        vec![first, second, Text::default()]
    }

    #[test]
    fn what_is_written_is_read_back() {
        for count in 0..=3 {
            let texts = &texts()[..count];
            let bytes = write(texts).expect("small");
            assert_eq!(read(&&*bytes).as_deref(), Ok(texts));
        }
    }

    #[test]
    fn what_is_cut_off_or_changed_is_refused_or_read() {
        let bytes = write(&texts()).expect("small");
        let start = ELF_HEADER_SIZE as usize;
        let end =
            start + u64::from_le_bytes(bytes[start + 8..start + 16].try_into().expect("eight")) as usize;
        assert!(is_linked(&&*bytes) && !is_linked(&&bytes[..15]));
        for length in 0..end {
            assert!(read(&&bytes[..length]).is_err(), "{length}");
        }
        for at in 4..end {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = read(&&*changed);
            }
        }
        let (head, section) = (&bytes[..start], &bytes[start..end]);
        let size = (section.len() as u64 + 1).to_le_bytes();
        let longer = [head, &section[..8], &size, &section[16..], b"x"].concat();
        assert_eq!(read(&&*longer), Err(ReadError::LinkedText { index: 3 }));
        let other = [head, &section[..4], &[2], &section[5..]].concat();
        assert_eq!(read(&&*other), Err(ReadError::LinkedVersion { version: 2 }));
    }
}
