//! A memory image for people and programs: as tables ([`table`]), JSON ([`json`]) and a drawing ([`svg`]).
//!
//! The image says where everything is (PTX ISA sections 5.1 to 5.4); these modules only print it. Nothing is as
//! large as a declared size: arrays show their beginning, families their first members.

pub mod json;
pub mod svg;
pub mod table;

mod region;
pub mod spell;
mod value;

use softwarp::image::{Contents, Image, ObjectId, Windows};
use softwarp::isa::space::opaque::TextureMode;
use std::borrow::Cow;

/// An image, and what to tell of it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The image.
    pub image: &'a Image,
    /// The names of the modules' files, in the order in which they were linked.
    pub files: &'a [&'a str],
    /// Where the state spaces are: absolute addresses are then told, and are in the bytes.
    pub windows: Option<&'a Windows>,
}

impl<'a> View<'a> {
    /// The file that a module came from, if there are several.
    fn file(&self, unit: u32) -> Option<&'a str> {
        self.files.get(unit as usize).copied().filter(|_| self.files.len() > 1)
    }

    /// How the first module handles textures.
    fn mode(&self) -> TextureMode {
        match self.image.header.independent_textures {
            true => TextureMode::Independent,
            false => TextureMode::Unified,
        }
    }

    /// What an object holds at first: with addresses if it is known where the state spaces are.
    fn contents(&self, id: ObjectId) -> Option<Cow<'a, Contents>> {
        match self.windows {
            Some(windows) => self.image.initial(windows, id).map(Cow::Owned),
            None => self.image.object(id).contents.as_ref().map(Cow::Borrowed),
        }
    }

    /// The generic address of an object, if it is known where the state spaces are and it has one.
    fn address(&self, id: ObjectId, member: Option<u32>) -> Option<u64> {
        let windows = self.windows?;
        let address = self.image.address(windows, id, member)?;
        Some(windows.generic(self.image.object(id).space, address))
    }
}
