//! Groups of asynchronous operations, and fences for them: [`crate::program::group`].

use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use crate::program::Step;
use crate::program::group::{GroupOp, Queue};
use softwarp_syntax::tree::{Operand, Range};

impl Builder<'_, '_> {
    /// `commit_group`, `wait_group`, `wait_all`
    pub fn group(&mut self, form: &Form, queue: Queue, operands: Range<Operand>) -> Lowered<()> {
        let has = |word: &str| form.has(word);
        let op = match () {
            () if has("commit_group") => GroupOp::Commit(queue),
            () if has("fence") => GroupOp::Registers,
            () => {
                let all = has("wait_all");
                let pending = if all { 0 } else { self.immediate(operands.start)? };
                let pending = u32::try_from(pending).map_err(|_| Refusal::Form)?;
                GroupOp::Wait { queue, pending, reads: has("read"), all }
            }
        };
        self.step(Step::Group(op))
    }

    /// `membar`, `fence`
    pub fn fence(&mut self, form: &Form) -> Lowered<()> {
        if form.has("proxy") && form.shape.words.iter().any(|word| word.starts_with("async")) {
            self.step(Step::Group(GroupOp::Proxy))?;
        }
        self.step(Step::Fence)
    }
}
