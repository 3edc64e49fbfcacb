//! Copies of rows and planes between memory and arrays.

use crate::code::{Code, Done};
use crate::driver::Driver;
use crate::driver::transfer::{Side, copy_now};
use softwarp::vm::texture::array::Array as Texels;
use std::sync::Arc;

/// Where a side of a copy is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In memory.
    Memory {
        /// Memory that the driver knows or not.
        is_known: bool,
        /// Where the first row begins.
        start: u64,
        /// Bytes from a row to the next.
        pitch: u64,
        /// Bytes from a plane to the next.
        slice: u64,
    },
    /// In a level of an array.
    Array {
        /// The texels.
        texels: Arc<Texels>,
        /// The level.
        level: u32,
        /// Bytes of a row, rows and planes that are left out.
        origin: [u64; 3],
    },
    /// In bytes that were kept, without gaps.
    Kept(Arc<Vec<u8>>),
}

/// A copy of rows and planes.
#[derive(Clone, Debug)]
pub struct Region {
    /// Where to.
    pub to: Place,
    /// Where from.
    pub from: Place,
    /// Bytes of a row, rows of a plane, and planes.
    pub extent: [u64; 3],
}

/// Where a row is.
enum Row<'a> {
    Memory(Side),
    Array(&'a Texels, u64),
    Kept(&'a [u8]),
}

impl Place {
    /// A row by its number and that of its plane.
    fn row(&self, extent: [u64; 3], y: u64, z: u64) -> Option<Row<'_>> {
        match self {
            Place::Memory { is_known, start, pitch, slice } => {
                let address = start.wrapping_add(z.wrapping_mul(*slice)).wrapping_add(y.wrapping_mul(*pitch));
                Some(Row::Memory(match is_known {
                    true => Side::Known(address),
                    false => Side::Pageable(address),
                }))
            }
            Place::Array { texels, level, origin } => {
                let level = texels.levels.get(*level as usize)?;
                let at =
                    level.offset + (origin[2] + z) * level.slice + (origin[1] + y) * level.pitch + origin[0];
                Some(Row::Array(texels, at))
            }
            Place::Kept(bytes) => {
                let start = usize::try_from((z * extent[1] + y) * extent[0]).ok()?;
                Some(Row::Kept(bytes.get(start..start + extent[0] as usize)?))
            }
        }
    }

    /// Whether it is memory of the program that the driver does not know.
    pub fn is_pageable(&self) -> bool {
        matches!(self, Place::Memory { is_known: false, .. })
    }
}

/// Reads a row.
fn read(driver: &Driver, from: &Row<'_>, into: &mut [u8]) -> Done {
    match from {
        Row::Memory(side) => {
            let to = Side::Pageable(into.as_mut_ptr() as u64);
            copy_now(driver, to, *side, into.len() as u64)
        }
        Row::Array(texels, at) => {
            texels.cells.read(*at, into);
            Ok(())
        }
        Row::Kept(bytes) => {
            into.copy_from_slice(bytes);
            Ok(())
        }
    }
}

/// Writes a row.
fn write(driver: &Driver, to: &Row<'_>, bytes: &[u8]) -> Done {
    match to {
        Row::Memory(side) => {
            copy_now(driver, *side, Side::Pageable(bytes.as_ptr() as u64), bytes.len() as u64)
        }
        Row::Array(texels, at) => {
            texels.cells.write(*at, bytes);
            Ok(())
        }
        Row::Kept(_) => Err(Code::INVALID_VALUE),
    }
}

impl Region {
    /// Calls a function for each row of the source with its bytes.
    fn each_row(&self, driver: &Driver, mut f: impl FnMut(u64, u64, &[u8]) -> Done) -> Done {
        let [width, height, depth] = self.extent;
        let mut row = vec![0; usize::try_from(width).map_err(|_| Code::INVALID_VALUE)?];
        for z in 0..depth {
            for y in 0..height {
                let from = self.from.row(self.extent, y, z).ok_or(Code::INVALID_VALUE)?;
                read(driver, &from, &mut row)?;
                f(y, z, &row)?;
            }
        }
        Ok(())
    }

    /// Copies now.
    pub fn run(&self, driver: &Driver) -> Done {
        driver.summary.copied(self.extent.iter().product());
        self.each_row(driver, |y, z, row| {
            let to = self.to.row(self.extent, y, z).ok_or(Code::INVALID_VALUE)?;
            write(driver, &to, row)
        })
    }

    /// The same copy from bytes that are read now.
    pub fn keep_source(self, driver: &Driver) -> Result<Region, Code> {
        let mut bytes = Vec::new();
        self.each_row(driver, |_, _, row| {
            bytes.extend_from_slice(row);
            Ok(())
        })?;
        Ok(Region { from: Place::Kept(Arc::new(bytes)), ..self })
    }
}
