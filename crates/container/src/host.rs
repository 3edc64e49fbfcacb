//! Whole files: what the driver takes, and programs of the host with fat binaries in them.
//!
//! Checked on nvcc 13.4. The host's compiler puts fat binaries into the section `.nv_fatbin`, one for each file of
//! CUDA C++: each is a module of its own. With separate compilation (`-rdc=true`) they are in `__nv_relfatbin`, to be
//! linked with each other, and `.nv_fatbin` has the machine code that nvlink made of them, without PTX unless line
//! information was asked for. A program that is linked has an empty module besides.

use super::compression::Budget;
use super::{Chosen, Form, Found, Image, Kind, MOST_UNPACKED, NoCode, Present, ReadError, Wanted};
use super::{elf, fatbin, read};

/// Each fat binary here is a module.
const WHOLE: &[u8] = b".nv_fatbin";
/// Those here are linked.
const RELOCATABLE: &[u8] = b"__nv_relfatbin";

/// The PTX modules of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modules {
    /// The form of the file.
    pub form: Form,
    /// The modules, in the order of the file. There is at least one.
    pub modules: Vec<Chosen>,
    /// Everything that the file has, taken or not.
    pub present: Vec<Present>,
}

/// The PTX modules of a file that are wanted.
///
/// Texts, fat binaries and cubins are one module. Programs, libraries and object files of the host have any number.
pub fn modules(bytes: &[u8], wanted: Wanted) -> Result<Modules, ReadError> {
    let mut budget = Budget::new(MOST_UNPACKED);
    match read(&bytes) {
        Ok(Found::Image(image)) => {
            let present = image.present();
            let chosen = image.choose_for(wanted, &mut budget)?;
            Ok(Modules { form: image.form, modules: vec![chosen], present })
        }
        // A pointer of a process that is no more.
        Ok(Found::Wrapper(_)) => Err(ReadError::NotAnImage),
        Err(ReadError::ForeignElf { machine }) => host(bytes, machine, wanted, &mut budget),
        Err(error) => Err(error),
    }
}

/// The modules of a program of the host.
fn host(bytes: &[u8], machine: u16, wanted: Wanted, budget: &mut Budget) -> Result<Modules, ReadError> {
    let whole = images(bytes, WHOLE)?;
    let relocatable = images(bytes, RELOCATABLE)?;
    let all = || whole.iter().chain(&relocatable);
    if all().next().is_none() {
        return Err(ReadError::NoFatbin { machine });
    }
    let present: Vec<Present> = all().flat_map(Image::present).collect();
    let mut modules = chosen(&whole, wanted, budget)?;
    // Machine code that was linked of several files with line information has the PTX of all of them.
    if !modules.iter().any(|module| module.kind == Kind::Cubin) {
        modules.extend(linked(chosen(&relocatable, wanted, budget)?, relocatable.len()));
    }
    if modules.is_empty() {
        return Err(ReadError::NoCode(NoCode { wanted, form: Form::Host, present }));
    }
    Ok(Modules { form: Form::Host, modules, present })
}

fn images<'a>(bytes: &'a [u8], section: &[u8]) -> Result<Vec<Image<'a>>, ReadError> {
    let mut images = Vec::new();
    for section in elf::host_sections(&bytes, section)? {
        let found = fatbin::read_all(section)?.into_iter();
        images.extend(found.map(|entries| Image { form: Form::Fatbin, entries }));
    }
    Ok(images)
}

/// What is wanted of each image that has it.
fn chosen(images: &[Image<'_>], wanted: Wanted, budget: &mut Budget) -> Result<Vec<Chosen>, ReadError> {
    let mut modules = Vec::new();
    for image in images {
        match image.choose_for(wanted, budget) {
            Ok(chosen) => modules.push(chosen),
            Err(ReadError::NoCode(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(modules)
}

/// Several parts as one module; none if there are none.
fn linked(parts: Vec<Chosen>, images: usize) -> Option<Chosen> {
    let missing = images - parts.len();
    let mut parts = parts.into_iter();
    let mut all = parts.next()?;
    all.missing += missing;
    for part in parts {
        all.texts.extend(part.texts);
        all.arch = all.arch.max(part.arch);
        all.missing += part.missing;
    }
    Some(all)
}
