//! Waits for values in memory and writes of values to it, in the order of a stream.

use super::Driver;
use crate::code::{Code, Done, ensure};
use crate::symbols::not_supported;
use std::time::Duration;

/// `CUstreamWaitValue_flags`: what is compared, and whether writes of other devices are flushed before.
mod wait {
    pub const AT_LEAST: u32 = 0;
    pub const EQUAL: u32 = 1;
    pub const AND: u32 = 2;
    pub const NOR: u32 = 3;
    pub const FLUSH: u32 = 1 << 30;
}

/// `CUstreamBatchMemOpType` values.
mod operation {
    pub const WAIT_32: u32 = 1;
    pub const WRITE_32: u32 = 2;
    pub const FLUSH: u32 = 3;
    pub const WAIT_64: u32 = 4;
    pub const WRITE_64: u32 = 5;
    pub const BARRIER: u32 = 6;
    pub const ATOMIC: u32 = 8;
}

/// How often memory is looked at.
const PERIOD: Duration = Duration::from_micros(50);

/// The most operations of a batch.
const MOST: usize = 256;

/// Six words of `CUstreamBatchMemOpParams`.
pub type Operation = [u64; 6];

/// A value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Where it is.
    pub address: u64,
    /// What it is compared with or becomes.
    pub bits: u64,
    /// 4 or 8.
    pub bytes: u64,
    /// How it is compared or written.
    pub flags: u32,
}

impl Value {
    /// The number at the address.
    fn now(&self, driver: &Driver) -> Result<u64, Code> {
        let mut bytes = [0; 8];
        let part = &mut bytes[..self.bytes as usize];
        driver.machine.read(self.address, part).map_err(|_| Code::INVALID_VALUE)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Whether what is at the address is what is waited for.
    fn is_reached(&self, driver: &Driver) -> Result<bool, Code> {
        let (now, wanted) = (self.now(driver)?, self.bits);
        // The difference counts, so that numbers can begin again.
        let at_least = match self.bytes {
            4 => (now as u32).wrapping_sub(wanted as u32) as i32 >= 0,
            _ => now.wrapping_sub(wanted) as i64 >= 0,
        };
        Ok(match self.flags & !wait::FLUSH {
            wait::AT_LEAST => at_least,
            wait::EQUAL => now == wanted,
            wait::AND => now & wanted != 0,
            _ => !(now | wanted) & (u64::MAX >> (64 - 8 * self.bytes)) != 0,
        })
    }

    fn check(&self, driver: &Driver) -> Done {
        ensure(self.address != 0 && self.address.is_multiple_of(self.bytes), Code::INVALID_VALUE)?;
        let block = driver.block(self.address).ok_or(Code::INVALID_VALUE)?;
        ensure(block.holds(self.address, self.bytes), Code::INVALID_VALUE)
    }
}

/// What is done with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is waited for.
    Wait(Value),
    /// It is written.
    Write(Value),
    /// Nothing: everything before is seen by everything behind anyway.
    Fence,
}

impl Step {
    /// The step of an operation.
    fn of(given: Operation) -> Result<Step, Code> {
        let [kind, address, bits, flags, ..] = given;
        let value = |bytes: u64| {
            let bits = if bytes == 4 { bits & u64::from(u32::MAX) } else { bits };
            Value { address, bits, bytes, flags: flags as u32 }
        };
        match kind as u32 {
            operation::WAIT_32 => Ok(Step::Wait(value(4))),
            operation::WAIT_64 => Ok(Step::Wait(value(8))),
            operation::WRITE_32 => Ok(Step::Write(value(4))),
            operation::WRITE_64 => Ok(Step::Write(value(8))),
            operation::FLUSH | operation::BARRIER => Ok(Step::Fence),
            operation::ATOMIC => Err(not_supported("CU_STREAM_MEM_OP_ATOMIC_REDUCTION")),
            _ => Err(Code::NOT_SUPPORTED),
        }
    }

    fn check(&self, driver: &Driver) -> Done {
        match self {
            Step::Wait(value) => {
                ensure(value.flags & !wait::FLUSH <= wait::NOR, Code::INVALID_VALUE)?;
                value.check(driver)
            }
            // The only flag is that other writes need not come before.
            Step::Write(value) => {
                ensure(value.flags <= 1, Code::INVALID_VALUE)?;
                value.check(driver)
            }
            Step::Fence => Ok(()),
        }
    }

    fn perform(&self, driver: &Driver) -> Done {
        match self {
            Step::Wait(value) => {
                while driver.may_launch() && !value.is_reached(driver)? {
                    std::thread::sleep(PERIOD);
                }
                Ok(())
            }
            Step::Write(value) => {
                let bytes = value.bits.to_le_bytes();
                let part = &bytes[..value.bytes as usize];
                driver.machine.write(value.address, part).map_err(|_| Code::INVALID_VALUE)
            }
            Step::Fence => Ok(()),
        }
    }

    /// Whether a node of a launchable graph that does this may do another step in its place.
    fn may_become(&self, other: &Step) -> bool {
        match (self, other) {
            (Step::Wait(a), Step::Wait(b)) => a.bytes == b.bytes && (a.flags ^ b.flags) & wait::FLUSH == 0,
            (Step::Write(a), Step::Write(b)) => a.bytes == b.bytes && a.flags == b.flags,
            (Step::Fence, Step::Fence) => true,
            _ => false,
        }
    }
}

/// Several steps, one after the other.
#[derive(Debug)]
pub struct Batch {
    /// The handle of the context.
    pub context: u64,
    /// What was asked for, if it was asked for by operations.
    pub given: Vec<Operation>,
    steps: Vec<Step>,
}

impl Batch {
    /// A step alone.
    pub fn single(driver: &Driver, context: u64, step: Step) -> Result<Batch, Code> {
        step.check(driver)?;
        Ok(Batch { context, given: vec![operation_of(step)], steps: vec![step] })
    }

    /// Operations, which are checked.
    pub fn of(driver: &Driver, context: u64, given: Vec<Operation>) -> Result<Batch, Code> {
        ensure(given.len() <= MOST, Code::INVALID_VALUE)?;
        let mut steps = Vec::with_capacity(given.len());
        for &operation in &given {
            let step = Step::of(operation)?;
            step.check(driver)?;
            steps.push(step);
        }
        Ok(Batch { context, given, steps })
    }

    /// Whether it may wait for something that happens later.
    pub fn may_wait(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Wait(_)))
    }

    /// Whether it is one wait, for something that has happened.
    pub fn is_over(&self, driver: &Driver) -> Result<bool, Code> {
        match self.steps[..] {
            [Step::Wait(value)] => value.is_reached(driver),
            _ => Ok(false),
        }
    }

    /// Does all.
    pub fn perform(&self, driver: &Driver) -> Done {
        self.steps.iter().try_for_each(|step| step.perform(driver))
    }

    /// Whether a node of a launchable graph that does this may do another batch in its place.
    pub fn may_become(&self, other: &Batch) -> bool {
        let is_like = |(a, b): (&Step, &Step)| a.may_become(b);
        self.context == other.context
            && self.steps.len() == other.steps.len()
            && self.steps.iter().zip(&other.steps).all(is_like)
    }
}

/// The operation that asks for a step.
fn operation_of(step: Step) -> Operation {
    let of = |value: Value, narrow, wide| {
        let kind = if value.bytes == 4 { narrow } else { wide };
        [u64::from(kind), value.address, value.bits, value.flags.into(), 0, 0]
    };
    match step {
        Step::Wait(value) => of(value, operation::WAIT_32, operation::WAIT_64),
        Step::Write(value) => of(value, operation::WRITE_32, operation::WRITE_64),
        Step::Fence => [operation::BARRIER.into(), 0, 0, 0, 0, 0],
    }
}
