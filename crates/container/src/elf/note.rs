//! Notes about the tools that made a cubin: the section `.note.nv.tkinfo`.
//!
//! Checked on ptxas, nvlink and NVRTC 13.4. A note is as in every ELF file: three u32 (length of the name, length of
//! the description, type), the name and the description, each padded to a multiple of 4. The name is
//! `NVIDIA Corp` with a NUL, the type 2000. The description begins with six u32: the version 2, then where in the
//! strings behind them the name of the file, the tool (`ptxas`, `nvlink`), its version, its build and its command line
//! begin. Strings end with a NUL.

use crate::source::{part, u32_at};
use crate::{AssemblerOptions, MOST_ENTRIES, text};

const NAME: &[u8] = b"NVIDIA Corp\0";
const TYPE: u32 = 2000;
const VERSION: u32 = 2;
const STRINGS_AT: usize = 24;

/// A tool that made a cubin or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) tool: String,
    pub(super) options: AssemblerOptions,
}

/// Reads the notes of a section, up to what is not one.
pub(super) fn read(section: &[u8]) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut rest = section;
    while let Some((note, after)) = split(rest) {
        if note.kind == TYPE && note.name == NAME && notes.len() < MOST_ENTRIES {
            notes.extend(read_tool(note.description));
        }
        rest = after;
    }
    notes
}

/// A note of any kind.
struct Raw<'a> {
    kind: u32,
    name: &'a [u8],
    description: &'a [u8],
}

/// The first note, and what follows it.
fn split(bytes: &[u8]) -> Option<(Raw<'_>, &[u8])> {
    let (name_length, length, kind) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?, u32_at(bytes, 8)?);
    let bytes = bytes.get(12..)?;
    let name = part(bytes, 0, name_length.into())?;
    let bytes = bytes.get(name.len().next_multiple_of(4)..)?;
    let description = part(bytes, 0, length.into())?;
    let after = bytes.get(description.len().next_multiple_of(4)..).unwrap_or_default();
    Some((Raw { kind, name, description }, after))
}

fn read_tool(description: &[u8]) -> Option<Note> {
    if u32_at(description, 0)? != VERSION {
        return None;
    }
    let strings = description.get(STRINGS_AT..)?;
    let string = |index: usize| {
        let at = usize::try_from(u32_at(description, 4 * index)?).ok()?;
        Some(String::from_utf8_lossy(text::before_nul(strings.get(at..)?)).into_owned())
    };
    Some(Note { tool: string(2)?, options: AssemblerOptions::parse(&string(5)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(tool: &str, options: &str) -> Vec<u8> {
        let strings = format!("\0{tool}\0V13\0Build\0{options}\0");
        let options_at = strings.len() - options.len() - 1;
        let numbers = [12, 24 + strings.len() as u32, TYPE];
        let places = [VERSION, 0, 1, 0, 0, options_at as u32];
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        let mut bytes = [&words(&numbers), NAME, &words(&places), strings.as_bytes()].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn notes_are_read_in_order() {
        let other = [4u32, 3, 1].iter().flat_map(|word| word.to_le_bytes()).chain(*b"GNU\0abc\0").collect();
        let bytes = [note("nvlink", "-arch sm_90 "), other, note("ptxas", "-fmad false ")].concat();
        let notes = read(&bytes);
        assert_eq!(notes.iter().map(|note| note.tool.as_str()).collect::<Vec<_>>(), ["nvlink", "ptxas"]);
        assert_eq!(notes[1].options.fmad, Some(false));
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let bytes = note("ptxas", "-fmad false ");
        for length in 0..bytes.len() - 4 {
            assert_eq!(read(&bytes[..length]), [], "{length}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                assert!(read(&changed).len() <= 1);
            }
        }
    }
}
