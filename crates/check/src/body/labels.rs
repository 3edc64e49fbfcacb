//! Labels (PTX ISA sections 4.4 and 5.4.6): a label is visible in the whole of the block that it stands in,
//! before it too, and in the blocks inside that one.
//!
//! Labels that have been passed are in [`crate::names::Names`] like every other name, so that clashes are
//! found there. Those to come are found here: a first look over the statements notes the labels of every
//! block, and the walk then binds a block's labels as it enters it.

use softwarp_syntax::tree::{Statement, Symbol};

/// What stands after a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    /// A place that one can branch to.
    Code,
    /// `.branchtargets`
    BranchTargets,
    /// `.calltargets`, at this statement.
    CallTargets(u32),
    /// `.callprototype`, at this statement.
    Prototype(u32),
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Noted {
    block: u32,
    symbol: Symbol,
    statement: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bound {
    symbol: Symbol,
    statement: u32,
    hidden: u32,
}

/// The labels of a function that are visible at the point of the walk.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// The labels of the function, those of a block together, blocks in the order of their beginnings.
    noted: Vec<Noted>,
    /// The first in `noted` whose block has not been entered.
    next: usize,
    entered: u32,
    /// For each symbol its innermost binding.
    heads: Vec<u32>,
    bound: Vec<Bound>,
    /// Where the bindings of each open block begin.
    blocks: Vec<u32>,
    /// What the labels passed so far mark; [`crate::names::Entity::Label`] has the index.
    marks: Vec<Marks>,
}

impl Labels {
    /// Looks over the statements of a function, and enters its outermost block.
    pub fn begin(&mut self, symbols: usize, statements: &[Statement]) {
        self.heads.resize(symbols, NONE);
        self.noted.clear();
        self.marks.clear();
        self.blocks.clear();
        (self.next, self.entered) = (0, 0);
        let mut open = vec![0];
        let mut last = 0;
        for (index, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Open(_) => {
                    last += 1;
                    open.push(last);
                }
                Statement::Close(_) => {
                    open.pop();
                }
                Statement::Label(name) => {
                    let block = open.last().copied().unwrap_or(0);
                    self.noted.push(Noted { block, symbol: name.symbol, statement: index as u32 });
                }
                _ => {}
            }
        }
        self.noted.sort_by_key(|noted| noted.block);
        self.enter();
    }

    /// Enters the next block.
    pub fn enter(&mut self) {
        self.blocks.push(self.bound.len() as u32);
        while let Some(&Noted { block, symbol, statement }) = self.noted.get(self.next)
            && block == self.entered
        {
            let head = &mut self.heads[symbol.0 as usize];
            let hidden = std::mem::replace(head, self.bound.len() as u32);
            self.bound.push(Bound { symbol, statement, hidden });
            self.next += 1;
        }
        self.entered += 1;
    }

    /// Leaves the innermost block.
    pub fn leave(&mut self) {
        let Some(start) = self.blocks.pop() else { return };
        while self.bound.len() > start as usize
            && let Some(Bound { symbol, hidden, .. }) = self.bound.pop()
        {
            self.heads[symbol.0 as usize] = hidden;
        }
    }

    /// Leaves every block.
    pub fn end(&mut self) {
        while !self.blocks.is_empty() {
            self.leave();
        }
    }

    /// Whether there is such a label, before or after this point.
    pub fn visible(&self, symbol: Symbol) -> bool {
        self.heads.get(symbol.0 as usize).is_some_and(|&head| head != NONE)
    }

    /// The statement that the label is.
    pub fn statement(&self, symbol: Symbol) -> Option<u32> {
        let head = *self.heads.get(symbol.0 as usize)?;
        self.bound.get(head as usize).map(|bound| bound.statement)
    }

    /// The names of the labels that are visible, innermost last.
    pub fn names(&self) -> impl Iterator<Item = Symbol> {
        self.bound.iter().map(|bound| bound.symbol)
    }

    /// Notes what the label being passed marks; gives its number.
    pub fn pass(&mut self, marks: Marks) -> u32 {
        self.marks.push(marks);
        self.marks.len() as u32 - 1
    }

    /// What a label that has been passed marks.
    pub fn marks(&self, number: u32) -> Marks {
        self.marks.get(number as usize).copied().unwrap_or(Marks::Code)
    }
}
