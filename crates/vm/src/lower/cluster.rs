//! CTAs of a cluster (PTX ISA sections 9.7.9.23 and 9.7.13.3).

use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// CTAs of a cluster.
    pub fn cluster(&mut self, _form: &Form, _operands: Range<Operand>) -> Lowered<()> {
        Err(Refusal::Form)
    }
}
