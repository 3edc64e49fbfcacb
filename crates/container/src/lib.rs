//! How code arrives at `cuModuleLoadData` and its relatives, and in files, and how PTX is found in it.
//!
//! The driver API takes a pointer without a length; what it points to tells by its first bytes what it is:
//!
//! | first bytes | what | module |
//! |---|---|---|
//! | white space, a comment, `.version` | PTX text, up to a NUL | `text` |
//! | `50 ED 55 BA` | fat binary (fatbin): PTX, cubins and LTO-IR for several architectures | `fatbin` |
//! | `B1 43 62 46` | wrapper of a fat binary: a structure with a pointer to it | `fatbin` |
//! | `7F 45 4C 46` | ELF file for machine 190: a cubin, which may have its PTX in it | `elf` |
//! | `8B 53 57 4C` | linked PTX texts, the result of our `cuLinkComplete` | `linked` |
//!
//! [`read`] reads the headers and gives an [`Image`]; [`Image::choose`] chooses what runs on a device and unpacks only
//! that. [`modules`] does the same with a whole file, which may also be a program of the host with fat binaries in it
//! (`host`). Nothing here is trusted: offsets and sizes are checked against what a [`Source`] has, decompression stops at
//! the declared size, and everything has an upper bound.

#![forbid(unsafe_code)]

mod arch;
mod choose;
mod compression;
mod elf;
mod error;
mod fatbin;
mod host;
mod linked;
mod options;
mod source;
mod text;

pub use arch::{Arch, Variant, Wanted};
pub use choose::Chosen;
pub use error::{NoCode, Present, ReadError};
pub use fatbin::Wrapper;
pub use host::{Modules, modules};
pub use linked::{one_file, write as write_linked};
pub use options::AssemblerOptions;
pub use source::Source;
pub use text::Text;

use compression::{Budget, Packed};
use elf::Cubin;

/// The most bytes of a container.
pub const MOST_BYTES: usize = 2 << 30;
/// The most bytes that are unpacked or copied for one choice.
pub const MOST_UNPACKED: usize = 1 << 30;
/// The most entries of a fat binary, texts of a cubin and texts of a linked container.
pub const MOST_ENTRIES: usize = 1 << 16;

/// What was found at a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// Code, in one of the forms.
    Image(Image<'a>),
    /// A pointer to a fat binary. The caller follows it and reads again.
    Wrapper(Wrapper),
}

/// The form in which code came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One PTX text.
    Text,
    /// A fat binary.
    Fatbin,
    /// A cubin.
    Elf,
    /// A program, library or object file of the host.
    Host,
    /// Linked PTX texts of ours.
    Linked,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// Machine code, possibly with its PTX inside.
    Cubin,
    /// The compiler's intermediate code for link-time optimization.
    LtoIr,
    /// A kind of a fat binary's entry that is not known here.
    Other(u16),
}

/// Code for one or several architectures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// The form in which it came.
    pub form: Form,
    /// What is in it, in its order.
    pub entries: Vec<Entry<'a>>,
}

/// Code for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it holds.
    pub kind: Kind,
    /// The architecture that it is for. None if a PTX text does not say it where it should.
    pub arch: Option<Arch>,
    /// For PTX, the version of the language, major and minor. (0, 0) if a text does not say it.
    pub ptx_version: (u16, u16),
    /// The assembler's options that the entry itself carries. Those inside a cubin are with its texts.
    pub options: AssemblerOptions,
    /// The name of the source file, if it is recorded.
    pub identifier: Option<String>,
    body: Body<'a>,
}

/// The contents of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Body<'a> {
    /// A text that was read.
    Text(Text),
    /// A cubin that was read.
    Cubin(Cubin),
    /// Bytes that are not unpacked yet.
    Packed(Packed<'a>),
}

/// The PTX of one entry.
struct Contents {
    texts: Vec<Text>,
    /// How many parts of a linked cubin have no PTX.
    missing: usize,
}

impl Entry<'_> {
    /// The PTX texts in it: one for PTX, any number for a cubin, none for what is not known here.
    pub fn texts(&self) -> Result<Vec<Text>, ReadError> {
        Ok(self.contents(&mut Budget::new(MOST_UNPACKED))?.texts)
    }

    fn contents(&self, budget: &mut Budget) -> Result<Contents, ReadError> {
        match (&self.body, self.kind) {
            (Body::Text(text), _) => Ok(Contents { texts: vec![text.clone()], missing: 0 }),
            (Body::Cubin(cubin), _) => Ok(Contents { texts: cubin.texts.clone(), missing: cubin.missing }),
            (Body::Packed(packed), Kind::Ptx) => {
                let bytes = packed.unpack(budget)?;
                let mut text = Text::new(text::before_nul(&bytes), budget)?;
                text.options = self.options.clone();
                text.name = self.identifier.clone();
                Ok(Contents { texts: vec![text], missing: 0 })
            }
            (Body::Packed(packed), Kind::Cubin) => {
                let bytes = packed.unpack(budget)?;
                let cubin = elf::read(&&*bytes, budget)?;
                Ok(Contents { texts: cubin.texts, missing: cubin.missing })
            }
            (Body::Packed(_), Kind::LtoIr | Kind::Other(_)) => Ok(Contents { texts: Vec::new(), missing: 0 }),
        }
    }
}

/// Reads what a source holds.
///
/// Of a source without an end, only those bytes are asked for that the bytes before them promise: the first four one
/// at a time, then headers, then what the headers say. PTX text is read up to its NUL, once it is known to be PTX.
pub fn read<'a>(source: &impl Source<'a>) -> Result<Found<'a>, ReadError> {
    let image = match source::magic(source) {
        Some(fatbin::WRAPPER_MAGIC) => return Ok(Found::Wrapper(fatbin::read_wrapper(source)?)),
        Some(fatbin::OLD_MAGIC) => return Err(ReadError::OldFatbin),
        Some(fatbin::MAGIC) => Image { form: Form::Fatbin, entries: fatbin::read(source)? },
        Some(elf::MAGIC) if linked::is_linked(source) => {
            let texts = linked::read(source)?;
            Image { form: Form::Linked, entries: texts.into_iter().map(text_entry).collect() }
        }
        Some(elf::MAGIC) => {
            let cubin = elf::read(source, &mut Budget::new(MOST_UNPACKED))?;
            Image { form: Form::Elf, entries: vec![cubin_entry(cubin)] }
        }
        _ => Image { form: Form::Text, entries: vec![text_entry(text::read(source)?)] },
    };
    Ok(Found::Image(image))
}

fn text_entry(text: Text) -> Entry<'static> {
    Entry {
        kind: Kind::Ptx,
        arch: text.arch,
        ptx_version: text.version.unwrap_or_default(),
        options: text.options.clone(),
        identifier: text.name.clone(),
        body: Body::Text(text),
    }
}

fn cubin_entry(cubin: Cubin) -> Entry<'static> {
    Entry {
        kind: Kind::Cubin,
        arch: Some(cubin.arch),
        ptx_version: cubin.texts.first().and_then(|text| text.version).unwrap_or_default(),
        options: cubin.texts.first().map(|text| text.options.clone()).unwrap_or_default(),
        identifier: None,
        body: Body::Cubin(cubin),
    }
}

#[cfg(test)]
mod tests;
