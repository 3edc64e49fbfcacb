//! Linked PTX: what `cuLinkComplete` gives in place of a cubin.
//!
//! Programs hand those bytes unread to `cuModuleLoadData` or `cuLibraryLoadData`. They hold the texts that were added,
//! to be linked when they are loaded. The format is softwarp's own and not stable: the version changes with it.
//! Little-endian:
//!
//! | at | what |
//! |---|---|
//! | 0 | magic number `8B 53 57 4C` |
//! | 4 | u32 version, 1 |
//! | 8 | u64 size of the whole container |
//! | 16 | u32 number of texts, u32 0 |
//!
//! Each text has a header of 16 bytes (u32 length of its name, u32 length of its options, u64 length of the text),
//! then name, options and text follow. The options are written as the assembler's command line. A text without a
//! name has one of length 0.

use super::compression::Budget;
use super::source::{Source, part, promised, u32_at, u64_at};
use super::{AssemblerOptions, MOST_ENTRIES, MOST_UNPACKED, ReadError, Text};

pub(super) const MAGIC: u32 = 0x4c57_538b;
const VERSION: u32 = 1;
const HEADER_SIZE: usize = 24;
const TEXT_HEADER_SIZE: usize = 16;

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
    let mut bytes = Vec::with_capacity(HEADER_SIZE + body.len());
    bytes.extend_from_slice(&MAGIC.to_le_bytes());
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&((HEADER_SIZE + body.len()) as u64).to_le_bytes());
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.append(&mut body);
    Ok(bytes)
}

/// Reads a container.
pub(super) fn read<'a>(source: &impl Source<'a>) -> Result<Vec<Text>, ReadError> {
    const WHAT: &str = "container of linked texts";
    let header = promised(source, 0, HEADER_SIZE as u64, WHAT)?;
    let numbers = || Some((u32_at(header, 4)?, u64_at(header, 8)?, u32_at(header, 16)?));
    let (version, size, count) = numbers().ok_or(ReadError::Truncated { what: WHAT })?;
    if version != VERSION {
        return Err(ReadError::LinkedVersion { version });
    }
    let body = size.checked_sub(HEADER_SIZE as u64).ok_or(ReadError::LinkedText { index: 0 })?;
    let mut rest = promised(source, HEADER_SIZE as u64, body, WHAT)?;
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
        for length in 0..bytes.len() {
            assert!(read(&&bytes[..length]).is_err(), "{length}");
        }
        for at in 4..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let _ = read(&&*changed);
            }
        }
        let longer = [&bytes[..8], &(bytes.len() as u64 + 1).to_le_bytes(), &bytes[16..], b"x"].concat();
        assert_eq!(read(&&*longer), Err(ReadError::LinkedText { index: 3 }));
        let other = [&bytes[..4], &[2], &bytes[5..]].concat();
        assert_eq!(read(&&*other), Err(ReadError::LinkedVersion { version: 2 }));
    }
}
