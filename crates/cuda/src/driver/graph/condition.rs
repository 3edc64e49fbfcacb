//! Conditions of graphs, and nodes that choose by one which graph is done.
//!
//! The handle of a condition is the address of four bytes of the device's memory, and the device function
//! `cudaGraphSetConditional` writes to them. A node looks at them when it is reached.

use crate::code::{Code, Done};
use crate::driver::{self, Driver};
use std::sync::atomic::{AtomicBool, Ordering};

/// How a node chooses (`CUgraphConditionalNodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Choice {
    /// The first graph if the condition is not 0, the second, if there is one, otherwise.
    If = 0,
    /// The graph again and again, as long as the condition is not 0.
    While = 1,
    /// The graph whose number is the condition's value, if there is one.
    Switch = 2,
}

impl Choice {
    /// The choice with a number.
    pub fn of(number: u32) -> Option<Choice> {
        [Choice::If, Choice::While, Choice::Switch].into_iter().find(|&choice| choice as u32 == number)
    }

    /// Whether a node of this kind can have a given number of graphs.
    pub fn allows(self, graphs: u32) -> bool {
        match self {
            Choice::If => graphs == 1 || graphs == 2,
            Choice::While => graphs == 1,
            Choice::Switch => graphs >= 1,
        }
    }

    /// The number of the graph that a value chooses.
    pub fn chosen(self, value: u32) -> usize {
        match self {
            Choice::If | Choice::While => usize::from(value == 0),
            Choice::Switch => value as usize,
        }
    }
}

/// A condition.
#[derive(Debug)]
pub struct Condition {
    /// Where its value is: its handle.
    pub address: u64,
    /// The handle of its context.
    pub context: u64,
    /// What it is when a graph is launched; without it, what it was.
    initial: Option<u32>,
    /// A node has it.
    used: AtomicBool,
}

impl Condition {
    /// A condition in the memory of the machine.
    pub fn new(driver: &Driver, context: u64, initial: Option<u32>) -> Result<Condition, Code> {
        let taken = driver.machine.allocate_aligned(4, 256).map_err(|_| Code::OUT_OF_MEMORY)?;
        let condition = Condition { address: taken, context, initial, used: AtomicBool::new(false) };
        condition.write(driver, initial.unwrap_or(0))?;
        Ok(condition)
    }

    fn write(&self, driver: &Driver, value: u32) -> Done {
        driver.machine.write(self.address, &value.to_le_bytes()).map_err(|_| Code::INVALID_VALUE)
    }

    /// Its value now.
    pub fn value(&self, driver: &Driver) -> Result<u32, Code> {
        let mut bytes = [0; 4];
        driver.machine.read(self.address, &mut bytes).map_err(|_| Code::INVALID_VALUE)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// A launch begins: the condition gets its initial value, if it has one.
    pub fn begin(&self, driver: &Driver) -> Done {
        self.initial.map_or(Ok(()), |value| self.write(driver, value))
    }

    /// A node takes it. False if another has it.
    pub fn take(&self) -> bool {
        !self.used.swap(true, Ordering::SeqCst)
    }

    /// The node that had it is gone.
    pub fn give_back(&self) {
        self.used.store(false, Ordering::SeqCst);
    }

    /// Whether a node has it.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::SeqCst)
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        if let Some(driver) = driver::existing() {
            let _ = driver.machine.free(self.address);
        }
    }
}
