//! ELF files of x86-64: their sections, program headers and symbols.
//!
//! Any bytes are taken. What does not lie in the file is not there: nothing panics, and nothing takes more time than
//! the file is long.

/// The size of a file header, and of a row of the section table.
const HEADER: usize = 64;
/// The size of a program header.
const PROGRAM: usize = 56;
/// The size of a symbol.
const SYMBOL: usize = 24;
/// `EM_X86_64`
const X86_64: u16 = 62;
/// `PT_LOAD` and `PT_INTERP`
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
/// `SHT_NOBITS`: a section without bytes in the file.
const NO_BITS: u32 = 8;
/// `SHT_NOTE`
const NOTE: u32 = 7;
/// `NT_GNU_BUILD_ID`
const BUILD_ID: u32 = 3;
/// `STT_FUNC`
const FUNCTION: u8 = 2;
/// The most sections that are looked at. Linked files have fewer than a hundred.
const MOST_SECTIONS: usize = 1 << 16;

/// A table of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `.symtab`: all symbols, unless the file was stripped.
    All,
    /// `.dynsym`: those that other objects use, or that come from them.
    Dynamic,
}

impl Table {
    /// The type of the section.
    fn kind(self) -> u32 {
        match self {
            Table::All => 2,
            Table::Dynamic => 11,
        }
    }
}

/// A file.
#[derive(Clone, Copy, Debug)]
pub struct Elf<'a> {
    bytes: &'a [u8],
    programs: &'a [u8],
    sections: &'a [u8],
    /// The names of sections.
    names: &'a [u8],
}

/// A section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Section {
    name: u32,
    kind: u32,
    offset: u64,
    size: u64,
    link: u32,
}

/// A part of the file that is mapped into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Where it is in the file.
    pub offset: u64,
    /// Its address, before the object is moved.
    pub address: u64,
    /// How many bytes of the file it has.
    pub size: u64,
    /// Whether it is code.
    pub executable: bool,
}

/// A symbol that is a function with code in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Where its name begins in the names of the table.
    pub name: u32,
    /// Its address, before the object is moved.
    pub address: u64,
    /// How many bytes it has.
    pub size: u64,
}

/// The symbols of a file.
#[derive(Clone, Copy, Debug)]
pub struct Symbols<'a> {
    table: &'a [u8],
    /// The names, each ended by a NUL.
    pub names: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// A part of the file.
fn part(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let begin = usize::try_from(offset).ok()?;
    bytes.get(begin..begin.checked_add(usize::try_from(size).ok()?)?)
}

/// A text that ends with a NUL, without it.
pub fn text_at(names: &[u8], at: u32) -> Option<&[u8]> {
    let text = names.get(usize::try_from(at).ok()?..)?;
    Some(&text[..text.iter().position(|byte| *byte == 0)?])
}

impl<'a> Elf<'a> {
    /// Reads the header of a file. None if it is no 64-bit file of x86-64, or its tables are not in it.
    pub fn read(bytes: &'a [u8]) -> Option<Elf<'a>> {
        // ELF64, little-endian.
        if bytes.len() < HEADER || !bytes.starts_with(b"\x7fELF\x02\x01") || u16_at(bytes, 18)? != X86_64 {
            return None;
        }
        let (row, count) = (usize::from(u16_at(bytes, 54)?), u16_at(bytes, 56)?);
        let size = u64::from(count) * PROGRAM as u64;
        let programs = if row == PROGRAM { part(bytes, u64_at(bytes, 32)?, size)? } else { &[] };
        let mut elf = Elf { bytes, programs, sections: &[], names: &[] };
        let offset = u64_at(bytes, 40)?;
        if offset != 0 && usize::from(u16_at(bytes, 58)?) == HEADER {
            let first = section(part(bytes, offset, HEADER as u64)?)?;
            // Numbers that do not fit are in the first row.
            let count = match u16_at(bytes, 60)? {
                0 => usize::try_from(first.size).ok()?,
                count => count.into(),
            };
            let names = match u16_at(bytes, 62)? {
                u16::MAX => first.link,
                names => names.into(),
            };
            if count > MOST_SECTIONS {
                return None;
            }
            elf.sections = part(bytes, offset, (count * HEADER) as u64)?;
            elf.names = elf.section(names).and_then(|section| elf.contents(section)).unwrap_or_default();
        }
        Some(elf)
    }

    fn sections(&self) -> impl Iterator<Item = Section> + use<'a> {
        self.sections.chunks_exact(HEADER).filter_map(section)
    }

    fn section(&self, index: u32) -> Option<Section> {
        self.sections().nth(usize::try_from(index).ok()?)
    }

    fn contents(&self, section: Section) -> Option<&'a [u8]> {
        if section.kind == NO_BITS { None } else { part(self.bytes, section.offset, section.size) }
    }

    fn named(&self, name: &[u8]) -> Option<Section> {
        self.sections().find(|section| text_at(self.names, section.name) == Some(name))
    }

    /// Whether there is a section with this name.
    pub fn has_section(&self, name: &[u8]) -> bool {
        self.named(name).is_some()
    }

    /// The contents of the section with this name.
    pub fn section_contents(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.contents(self.named(name)?)
    }

    /// The symbols of a table. None if the file has no such table.
    pub fn symbols(&self, table: Table) -> Option<Symbols<'a>> {
        let section = self.sections().find(|section| section.kind == table.kind())?;
        let names = self.contents(self.section(section.link)?)?;
        Some(Symbols { table: self.contents(section)?, names })
    }

    /// The parts that are mapped into memory.
    pub fn loads(&self) -> impl Iterator<Item = Load> + use<'a> {
        let rows = self.programs.chunks_exact(PROGRAM);
        rows.filter(|row| u32_at(row, 0) == Some(LOAD)).filter_map(|row| {
            let executable = u32_at(row, 4)? & 1 != 0;
            Some(Load {
                offset: u64_at(row, 8)?,
                address: u64_at(row, 16)?,
                size: u64_at(row, 32)?,
                executable,
            })
        })
    }

    /// The bytes of code at an address, to the end of the part of the file that they are in.
    pub fn code_at(&self, address: u64) -> Option<&'a [u8]> {
        let holds =
            |load: &Load| load.executable && address >= load.address && address - load.address < load.size;
        let load = self.loads().find(holds)?;
        let before = address - load.address;
        part(self.bytes, load.offset.checked_add(before)?, load.size - before)
    }

    /// The loader that the program asks for.
    pub fn interpreter(&self) -> Option<&'a [u8]> {
        let mut rows = self.programs.chunks_exact(PROGRAM);
        let row = rows.find(|row| u32_at(row, 0) == Some(INTERPRETER))?;
        text_at(part(self.bytes, u64_at(row, 8)?, u64_at(row, 32)?)?, 0)
    }

    /// The identification that the linker has given to the file, which a file with its symbols has, too.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        let notes = self.sections().filter(|section| section.kind == NOTE);
        notes.filter_map(|section| self.contents(section)).find_map(build_id)
    }
}

fn section(row: &[u8]) -> Option<Section> {
    Some(Section {
        name: u32_at(row, 0)?,
        kind: u32_at(row, 4)?,
        offset: u64_at(row, 24)?,
        size: u64_at(row, 32)?,
        link: u32_at(row, 40)?,
    })
}

/// The build identification among the notes of a section.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    let padded = |size: u32| usize::try_from(size).ok()?.checked_next_multiple_of(4);
    loop {
        let (name, size, kind) = (u32_at(notes, 0)?, u32_at(notes, 4)?, u32_at(notes, 8)?);
        let rest = notes.get(12..)?;
        let after = rest.get(padded(name)?..)?;
        if kind == BUILD_ID && name == 4 && rest.starts_with(b"GNU\0") {
            return after.get(..usize::try_from(size).ok()?);
        }
        notes = after.get(padded(size)?..)?;
    }
}

impl<'a> Symbols<'a> {
    /// The functions with code in the object.
    pub fn functions(&self) -> impl Iterator<Item = Function> + use<'a> {
        self.table.chunks_exact(SYMBOL).filter_map(|row| {
            let is_function = row[4] & 15 == FUNCTION;
            let defined = u16_at(row, 6)? != 0;
            let function =
                Function { name: u32_at(row, 0)?, address: u64_at(row, 8)?, size: u64_at(row, 16)? };
            (is_function && defined && function.address != 0).then_some(function)
        })
    }

    /// The names from that of a function on, which ends with the first NUL.
    pub fn from_name(&self, function: &Function) -> Option<&'a [u8]> {
        self.names.get(usize::try_from(function.name).ok()?..)
    }

    /// The name of a function.
    pub fn name(&self, function: &Function) -> Option<&'a [u8]> {
        text_at(self.names, function.name)
    }
}
