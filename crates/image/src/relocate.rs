//! Addresses, once memory has been placed: of objects and functions, and in the bytes of variables.

use crate::contents::Contents;
use crate::image::{BANK_BYTES, FunctionId, Image, Kind, ObjectId, Relocation, Target};
use crate::window::{CODE_STRIDE, Windows};
use softwarp_isa::StateSpace;

impl Relocation {
    /// Puts a value, or the one byte of it that is wanted, where it goes.
    pub(crate) fn put(&self, value: u64, contents: &mut Contents) {
        let shift = 8 * u32::from(self.byte.unwrap_or(0).min(7));
        let bytes = (value >> shift).to_le_bytes();
        contents.patch(self.offset, &bytes[..usize::from(self.width.min(8))]);
    }
}

impl Image {
    /// Where an object is in its own state space: what `mov` gives for its name. `None` if it has no address
    /// before the program runs (registers, frames of functions, undefined names).
    pub fn address(&self, windows: &Windows, id: ObjectId, member: Option<u32>) -> Option<u64> {
        let object = self.object(id);
        let start = match object.space {
            StateSpace::Global => windows.globals.base,
            StateSpace::Const => u64::from(object.bank) * BANK_BYTES,
            StateSpace::Shared => self.header.arch.properties().reserved_shared,
            StateSpace::Tex => 0,
            StateSpace::Param if object.kind == softwarp_check::checked::VariableKind::KernelParameter => 0,
            _ => return None,
        };
        let member = object.stride().wrapping_mul(u64::from(member.unwrap_or(0)));
        Some(start.wrapping_add(object.offset?).wrapping_add(member))
    }

    /// The address of a function: not where its code is, since there is none, but a number of its own.
    pub fn function_address(&self, windows: &Windows, id: FunctionId) -> u64 {
        windows.code.base.wrapping_add((u64::from(id.0) + 1).wrapping_mul(CODE_STRIDE))
    }

    /// The function at an address.
    pub fn function_at(&self, windows: &Windows, address: u64) -> Option<FunctionId> {
        let offset = address.checked_sub(windows.code.base)?;
        let index = (offset / CODE_STRIDE).checked_sub(1).filter(|_| offset.is_multiple_of(CODE_STRIDE))?;
        let index = u32::try_from(index).ok()?;
        (index < self.functions.len() as u32).then_some(FunctionId(index))
    }

    /// The value that a relocation stands for, before a byte of it is chosen; `None` if its target has no
    /// address.
    pub fn value(&self, windows: &Windows, relocation: &Relocation) -> Option<u64> {
        let address = match relocation.target {
            Target::Function(id) => self.function_address(windows, id),
            Target::Object(id, member) => {
                let address = self.address(windows, id, member)?;
                match relocation.kind {
                    Kind::Generic => windows.generic(self.object(id).space, address),
                    _ => address,
                }
            }
        };
        Some(address.wrapping_add_signed(relocation.addend))
    }

    /// What an object holds at first, with all addresses in place; `None` if nothing was given. An address that
    /// is not known remains zero.
    pub fn initial(&self, windows: &Windows, id: ObjectId) -> Option<Contents> {
        let object = self.object(id);
        let mut contents = object.contents.clone()?;
        for relocation in &object.relocations {
            if let Some(value) = self.value(windows, relocation) {
                relocation.put(value, &mut contents);
            }
        }
        Some(contents)
    }
}
