//! ELF files: cubins with machine code, the PTX that assemblers leave in them, and sections of programs of the host.
//!
//! A cubin made with `-lineinfo` or `-G` has the whole PTX module in a section `.nv_debug_ptx_txt`: a NUL in place of
//! each line end, comments and `.loc` blanked, line numbers kept. The language version in it is the assembler's own. A
//! cubin that was linked of several has a section `.nv_debug_ptx_txt.NUMBER` for each that had one, in the order in
//! which they were given to the linker. Assembling such a text again gives the same machine code.
//!
//! What follows was checked on ptxas, nvlink and NVRTC 13.4.
//!
//! - The file is ELF64, little-endian, of machine 190. `e_flags` has the architecture in bits 8 to 15 if the ABI
//!   version (byte 8) is 8, as it is for all architectures now. Earlier toolkits wrote ABI version 7 with the
//!   architecture in bits 0 to 7 (from LLVM's `ELF.h`, not checked). The suffix is not in it: sm_90 and sm_90a have
//!   the same flags.
//! - The section is not compressed (`SHF_COMPRESSED`); a zstd section would be read.
//! - The section `.note.nv.tkinfo` has a note for each tool that made the file: the linker first, then one for each
//!   of its inputs in order. See [`note`].

mod note;

use super::compression::{Budget, Compression, Packed};
use super::source::{Source, byte, promised, u16_at, u32_at, u64_at};
use super::{Arch, AssemblerOptions, MOST_ENTRIES, ReadError, Text};
use note::Note;
use std::borrow::Cow;

pub(super) const MAGIC: u32 = u32::from_le_bytes(*b"\x7fELF");

const HEADER_SIZE: u64 = 64;
const SECTION_HEADER_SIZE: usize = 64;
const MACHINE: u16 = 190;
/// A section without bytes in the file.
const NOBITS: u32 = 8;
/// Types from here on are NVIDIA's own. Some of them have no bytes in the file either: relocatable cubins have
/// uninitialized global (7 more) and shared memory (10 more) in such sections.
const FIRST_OWN_TYPE: u32 = 0x7000_0000;
/// The section begins with a header that says how the rest is compressed.
const FLAG_COMPRESSED: u64 = 0x800;
const COMPRESSION_HEADER_SIZE: usize = 24;
const COMPRESSION_ZSTD: u32 = 2;

const TEXT_SECTION: &[u8] = b".nv_debug_ptx_txt";
const NOTE_SECTION: &[u8] = b".note.nv.tkinfo";

/// What a cubin says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cubin {
    pub(super) arch: Arch,
    /// The PTX texts that it was made of, in order.
    pub(super) texts: Vec<Text>,
    /// How many of the parts that it was linked of have no text.
    pub(super) missing: usize,
}

/// One row of the section table.
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    offset: u64,
    size: u64,
    link: u32,
}

/// The part of the file's header that is used.
struct Header {
    arch: Arch,
    /// Where the program headers begin, and how many bytes they have.
    programs: (u64, u64),
    sections_at: u64,
    sections: u64,
    names: u32,
}

/// Reads a cubin.
pub(super) fn read<'a>(source: &impl Source<'a>, budget: &mut Budget) -> Result<Cubin, ReadError> {
    let header = read_header(source, |machine| machine == MACHINE)?;
    let table = section_table(source, &header)?;
    let rows = || table.chunks_exact(SECTION_HEADER_SIZE).filter_map(section);
    check_extents(source, &header, rows())?;
    let names = section_names(source, &header, rows())?;
    let is_text = |row: &Section| {
        let after = name_after(names, row.name, TEXT_SECTION);
        after.is_some_and(|after| matches!(after.first(), Some(0 | b'.')))
    };
    let is_note = |row: &Section| {
        let after = name_after(names, row.name, NOTE_SECTION);
        after.is_some_and(|after| after.first() == Some(&0))
    };

    let mut texts = Vec::new();
    for row in rows().filter(is_text) {
        if texts.len() == MOST_ENTRIES {
            return Err(ReadError::TooMany { what: "PTX texts in a cubin" });
        }
        texts.push(read_text(source, &row, budget)?);
    }
    let notes = match rows().find(is_note) {
        Some(row) => note::read(section_bytes(source, &row)?),
        None => Vec::new(),
    };
    let missing = give_options(&mut texts, &notes);
    Ok(Cubin { arch: with_suffix(header.arch, &notes), texts, missing })
}

/// The contents of the sections of a program of the host that have a name, in order. Nothing else of the file is read.
pub(super) fn host_sections<'a>(source: &impl Source<'a>, name: &[u8]) -> Result<Vec<&'a [u8]>, ReadError> {
    let header = read_header(source, |machine| machine != MACHINE)?;
    let table = section_table(source, &header)?;
    let rows = || table.chunks_exact(SECTION_HEADER_SIZE).filter_map(section);
    let names = section_names(source, &header, rows())?;
    let has_name =
        |row: &Section| name_after(names, row.name, name).is_some_and(|after| after.first() == Some(&0));
    rows().filter(has_name).take(MOST_ENTRIES).map(|row| section_bytes(source, &row)).collect()
}

fn section_table<'a>(source: &impl Source<'a>, header: &Header) -> Result<&'a [u8], ReadError> {
    let size = header.sections.saturating_mul(SECTION_HEADER_SIZE as u64);
    promised(source, header.sections_at, size, "section table of an ELF file")
}

/// The names of sections.
fn section_names<'a>(
    source: &impl Source<'a>,
    header: &Header,
    mut rows: impl Iterator<Item = Section>,
) -> Result<&'a [u8], ReadError> {
    let row = usize::try_from(header.names).ok().and_then(|index| rows.nth(index));
    section_bytes(source, &row.ok_or(ReadError::Elf { what: "it has no names of sections" })?)
}

/// What the headers promise must be there, needed or not: a file that was cut off is damaged.
fn check_extents<'a>(
    source: &impl Source<'a>,
    header: &Header,
    rows: impl Iterator<Item = Section>,
) -> Result<(), ReadError> {
    let (from, size) = header.programs;
    promised(source, from, size, "program headers of an ELF file")?;
    rows.filter(|row| row.kind < FIRST_OWN_TYPE).try_for_each(|row| section_bytes(source, &row).map(drop))
}

/// Reads the header of a file for a machine that is wanted.
fn read_header<'a>(source: &impl Source<'a>, wanted: impl Fn(u16) -> bool) -> Result<Header, ReadError> {
    // One byte at a time: a text may have the magic number and nothing more.
    if byte(source, 4) != Some(2) || byte(source, 5) != Some(1) {
        return Err(ReadError::NotAnImage);
    }
    const WHAT: &str = "header of an ELF file";
    let truncated = ReadError::Truncated { what: WHAT };
    let bytes = promised(source, 0, HEADER_SIZE, WHAT)?;
    let machine = u16_at(bytes, 18).ok_or(truncated.clone())?;
    if !wanted(machine) {
        return Err(ReadError::ForeignElf { machine });
    }
    let numbers = || {
        let programs_size = u64::from(u16_at(bytes, 54)?) * u64::from(u16_at(bytes, 56)?);
        let counts = (u16_at(bytes, 58)?, u16_at(bytes, 60)?, u16_at(bytes, 62)?);
        Some(((u64_at(bytes, 32)?, programs_size), u64_at(bytes, 40)?, u32_at(bytes, 48)?, counts))
    };
    let (programs, sections_at, flags, (row_size, sections, names)) = numbers().ok_or(truncated)?;
    if sections_at == 0 {
        return Err(ReadError::Elf { what: "it has no sections" });
    }
    if usize::from(row_size) != SECTION_HEADER_SIZE {
        return Err(ReadError::Elf { what: "its section table has rows of another size" });
    }
    let old = bytes.get(8).is_some_and(|version| *version < 8);
    let arch = Arch::baseline(if old { flags & 0xff } else { flags >> 8 & 0xff });
    let mut header = Header { arch, programs, sections_at, sections: sections.into(), names: names.into() };
    if sections == 0 || names == u16::MAX {
        // Numbers that do not fit are in the first row.
        let row = promised(source, sections_at, SECTION_HEADER_SIZE as u64, "section table of an ELF file")?;
        let row = section(row).ok_or(ReadError::Elf { what: "it has no sections" })?;
        header.sections = if sections == 0 { row.size } else { sections.into() };
        header.names = if names == u16::MAX { row.link } else { names.into() };
    }
    Ok(header)
}

fn section(row: &[u8]) -> Option<Section> {
    Some(Section {
        name: u32_at(row, 0)?,
        kind: u32_at(row, 4)?,
        flags: u64_at(row, 8)?,
        offset: u64_at(row, 24)?,
        size: u64_at(row, 32)?,
        link: u32_at(row, 40)?,
    })
}

/// What follows a beginning of a section's name; none if the name begins otherwise.
fn name_after<'a>(names: &'a [u8], at: u32, beginning: &[u8]) -> Option<&'a [u8]> {
    names.get(usize::try_from(at).ok()?..)?.strip_prefix(beginning)
}

fn section_bytes<'a>(source: &impl Source<'a>, row: &Section) -> Result<&'a [u8], ReadError> {
    let size = if row.kind == NOBITS { 0 } else { row.size };
    promised(source, row.offset, size, "section of an ELF file")
}

/// The text of a section: NULs are line ends.
fn read_text<'a>(source: &impl Source<'a>, row: &Section, budget: &mut Budget) -> Result<Text, ReadError> {
    let stored = section_bytes(source, row)?;
    let bytes = if row.flags & FLAG_COMPRESSED == 0 {
        Cow::Borrowed(stored)
    } else {
        let truncated = ReadError::Truncated { what: "compressed section" };
        let (kind, size) = u32_at(stored, 0).zip(u64_at(stored, 8)).ok_or(truncated)?;
        if kind != COMPRESSION_ZSTD {
            return Err(ReadError::SectionCompression { kind });
        }
        let stored = stored.get(COMPRESSION_HEADER_SIZE..).unwrap_or_default();
        Packed { stored, compression: Compression::Zstd, size }.unpack(budget)?
    };
    let mut text = Text::new(&bytes, budget)?;
    text.restore_lines();
    Ok(text)
}

/// Gives each text the options of the note that belongs to it; gives the number of notes without a text.
///
/// A text has no name that its note would have. The assemblers' notes and the texts come in the same order, and
/// whether there is a text follows from the options. Where the numbers do not agree, every text gets what all the
/// notes together forbid.
fn give_options(texts: &mut [Text], notes: &[Note]) -> usize {
    let assembled = || notes.iter().filter(|note| note.tool != "nvlink");
    let keeping = || assembled().filter(|note| note.options.keeps_ptx());
    if keeping().count() == texts.len() {
        for (text, note) in texts.iter_mut().zip(keeping()) {
            text.options = note.options.clone();
        }
        return if texts.is_empty() { 0 } else { assembled().count() - texts.len() };
    }
    let fmad = assembled().any(|note| note.options.fmad == Some(false)).then_some(false);
    for text in texts {
        text.options = AssemblerOptions { fmad, ..AssemblerOptions::default() };
    }
    0
}

/// The suffix of an architecture is in the command lines only.
fn with_suffix(arch: Arch, notes: &[Note]) -> Arch {
    let named = notes.iter().filter_map(|note| note.options.arch);
    named.filter(|named| named.number == arch.number).max().unwrap_or(arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(tool: &str, options: &str) -> Note {
        Note { tool: tool.to_owned(), options: AssemblerOptions::parse(options) }
    }

    fn fmads(texts: usize, notes: &[Note]) -> (Vec<Option<bool>>, usize) {
        let mut texts = vec![Text::default(); texts];
        let missing = give_options(&mut texts, notes);
        (texts.iter().map(|text| text.options.fmad).collect(), missing)
    }

    #[test]
    fn options_go_to_their_texts() {
        let notes = [
            note("nvlink", "-arch sm_90"),
            note("ptxas", "-lineinfo -fmad false"),
            note("ptxas", "-arch sm_90 -fmad true"),
            note("ptxas", "-g"),
        ];
        assert_eq!(fmads(2, &notes), (vec![Some(false), None], 1));
        assert_eq!(fmads(3, &notes), (vec![Some(false); 3], 0));
        assert_eq!(fmads(0, &notes), (vec![], 0));
        assert_eq!(fmads(1, &[]), (vec![None], 0));
        assert_eq!(fmads(0, &notes[2..3]), (vec![], 0));
    }

    #[test]
    fn the_suffix_comes_from_the_command_line() {
        let arch = |options| with_suffix(Arch::baseline(90), &[note("ptxas", options)]).to_string();
        assert_eq!(arch("-arch sm_90a"), "sm_90a");
        assert_eq!(arch("-arch sm_100a"), "sm_90");
        assert_eq!(arch(""), "sm_90");
    }
}
