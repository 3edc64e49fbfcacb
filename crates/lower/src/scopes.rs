//! Which label a name in a table of labels means.

use softwarp_syntax::tree::{Statement, Symbol};
use std::collections::HashMap;

/// The labels of a body by the blocks that they stand in (section 5.4.6): the names in tables of labels are not
/// operands, so their meanings have not been references.
#[derive(Debug, Default)]
pub struct Scopes {
    /// The block of each statement.
    blocks: Vec<u32>,
    /// The block around each block; the outermost is around itself.
    around: Vec<u32>,
    labels: HashMap<(u32, Symbol), u32>,
}

impl Scopes {
    pub fn new(statements: &[Statement]) -> Scopes {
        let mut scopes = Scopes { around: vec![0], ..Scopes::default() };
        let mut block = 0;
        for (index, statement) in (0..).zip(statements) {
            match statement {
                Statement::Open(_) => {
                    scopes.around.push(block);
                    block = scopes.around.len() as u32 - 1;
                }
                Statement::Close(_) => block = scopes.around[block as usize],
                Statement::Label(name) => {
                    scopes.labels.entry((block, name.symbol)).or_insert(index);
                }
                _ => {}
            }
            scopes.blocks.push(block);
        }
        scopes
    }

    /// The label in the innermost block around a statement that has one of that name.
    pub fn find(&self, at: u32, symbol: Symbol) -> Option<u32> {
        let mut block = *self.blocks.get(at as usize)?;
        loop {
            if let Some(&label) = self.labels.get(&(block, symbol)) {
                return Some(label);
            }
            if block == 0 {
                return None;
            }
            block = self.around[block as usize];
        }
    }
}
