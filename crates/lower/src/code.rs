//! The operations of a function while they are appended, and what is known about each.

use softwarp_ir::{Location, Op};
use softwarp_syntax::Span;
use softwarp_syntax::tree::MnemonicId;

/// The operations so far, with parallel lists of where they come from.
#[derive(Debug, Default)]
pub struct Code {
    pub ops: Vec<Op>,
    pub spans: Vec<Span>,
    /// The mnemonic that each operation is lowered from, if it is of an instruction.
    pub mnemonics: Vec<Option<MnemonicId>>,
    /// How many instructions begin before each operation.
    pub instructions: Vec<u32>,
    /// How many instructions have begun.
    pub begun: u32,
    /// The first operation of each line of the source that `.loc` names.
    pub locations: Vec<(u32, Location)>,
    /// Operations that copy a whole row.
    pub copies: Vec<u32>,
}

impl Code {
    /// The number of the operation that is appended next.
    pub fn next(&self) -> u32 {
        self.ops.len() as u32
    }

    /// Appends an operation. `begins` says that it is the first of its instruction.
    pub fn push(&mut self, op: Op, span: Span, mnemonic: Option<MnemonicId>, begins: bool) {
        self.ops.push(op);
        self.spans.push(span);
        self.mnemonics.push(mnemonic);
        self.instructions.push(self.begun);
        self.begun += u32::from(begins);
    }

    /// Removes the last operation.
    pub fn pop(&mut self) {
        self.ops.pop();
        self.spans.pop();
        self.mnemonics.pop();
        self.begun = self.instructions.pop().unwrap_or(0);
    }

    /// Notes that the operations to come are of a line of the source.
    pub fn locate(&mut self, location: Location) {
        let at = self.next();
        match self.locations.last_mut() {
            Some((first, last)) if *first == at => *last = location,
            Some((_, last)) if *last == location => {}
            _ => self.locations.push((at, location)),
        }
    }
}
