//! Textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).

use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// Textures and surfaces.
    pub fn texture(&mut self, _form: &Form, _operands: Range<Operand>) -> Lowered<()> {
        Err(Refusal::Form)
    }
}
