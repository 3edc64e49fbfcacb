//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.25 and 9.7.13.15).

use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// Asynchronous copies and mbarriers.
    pub fn asynchronous(&mut self, _form: &Form, _operands: Range<Operand>) -> Lowered<()> {
        Err(Refusal::Form)
    }
}
