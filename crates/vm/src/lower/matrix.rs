//! Matrix instructions (PTX ISA sections 9.7.14 and 9.7.15).

use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// Matrix instructions.
    pub fn matrix(&mut self, _form: &Form, _operands: Range<Operand>) -> Lowered<()> {
        Err(Refusal::Form)
    }
}
