//! Groups of asynchronous operations, and fences for them (PTX ISA sections 9.7.9.25.3.2, 9.7.9.25.4 and 9.7.15.7).
//!
//! What is asynchronous is done when it is issued, so most of this is for the sanitizers only: they see who does not
//! wait. But four warps multiply together, and the product is complete when all of them have issued it.

use crate::Slot;
use crate::input::{Input, Parsed};
use crate::list::{Immediates, Operands};
use crate::operand::{List, Role};
use crate::properties::Properties;
use std::fmt;

/// The registers of the text that an operation reads and writes, by numbers that no two share; of a product, only those
/// that must not be used before it is complete. Functions without products and loads from tensor memory have none of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The registers that it reads.
    pub reads: Vec<u32>,
    /// The registers that it writes.
    pub writes: Vec<u32>,
    /// It is a `mov`: compilers rename registers, take them apart and put them together with these, and the assembler
    /// sees through it. What it writes is what it reads.
    pub moves: bool,
}

/// An operation on groups of asynchronous operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOp {
    /// `commit_group`
    Commit(Queue),
    /// `wait_group`, `wait_all`
    Wait {
        /// The kind of operations that are waited for.
        queue: Queue,
        /// How many of the last groups need not be complete.
        pending: u32,
        /// `.read`: only what they read must have been read.
        reads: bool,
        /// Operations that are not in a group must be complete, too.
        all: bool,
    },
    /// `wgmma.fence`
    Registers,
    /// `fence.proxy.async`, for what is in these state spaces.
    Proxy {
        /// Shared memory.
        shared: bool,
        /// Global memory.
        global: bool,
    },
    /// Nothing, by all warps of a warpgroup: `setmaxnreg`
    WholeGroup,
    /// Nothing, by all lanes of a warp that have not exited: before what says `.aligned`
    WholeWarp,
}

/// What goes into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// `cp.async`
    Copies,
    /// `cp.async.bulk` and its like
    Bulk,
    /// `wgmma.mma_async`
    Products,
}

impl GroupOp {
    /// Whether only sanitizers see it.
    pub fn is_silent(self) -> bool {
        match self {
            GroupOp::Commit(queue) | GroupOp::Wait { queue, .. } => match queue {
                Queue::Products => false,
                Queue::Copies | Queue::Bulk => true,
            },
            GroupOp::Registers | GroupOp::Proxy { .. } | GroupOp::WholeGroup | GroupOp::WholeWarp => true,
        }
    }
}

impl GroupOp {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            GroupOp::Commit(_) => "commit_group",
            GroupOp::Wait { .. } => "wait_group",
            GroupOp::Registers => "wgmma.fence",
            GroupOp::Proxy { .. } => "fence.proxy.async",
            GroupOp::WholeGroup => "whole_warpgroup",
            GroupOp::WholeWarp => "whole_warp",
        }
    }

    /// What it does besides computing: a wait for products may wait for other warps.
    #[inline]
    pub fn properties(&self) -> Properties {
        let waits = match self {
            GroupOp::Wait { queue, .. } => match queue {
                Queue::Products => true,
                Queue::Copies | Queue::Bulk => false,
            },
            GroupOp::Commit(_) | GroupOp::Registers | GroupOp::Proxy { .. } => false,
            GroupOp::WholeGroup | GroupOp::WholeWarp => false,
        };
        Properties { waits, ..Properties::default() }
    }

    /// It has no slots.
    pub(crate) fn visit(&mut self, _: &mut impl FnMut(&mut Slot, Role)) {}

    pub(crate) fn print_writes(&self, _: &mut List<'_, '_>) -> fmt::Result {
        Ok(())
    }

    pub(crate) fn print_reads(&self, out: &mut List<'_, '_>) -> fmt::Result {
        match self {
            GroupOp::Commit(queue) => out.immediate("queue", queue),
            GroupOp::Wait { queue, pending, reads, all } => {
                out.immediate("queue", queue)?;
                out.immediate("pending", pending)?;
                out.immediate("reads", reads)?;
                out.immediate("all", all)
            }
            GroupOp::Proxy { shared, global } => {
                out.immediate("shared", shared)?;
                out.immediate("global", global)
            }
            GroupOp::Registers | GroupOp::WholeGroup | GroupOp::WholeWarp => Ok(()),
        }
    }

    /// Reads one by its name; none if it has none of these.
    pub(crate) fn parse(name: &str, reads: &mut Input<'_>) -> Option<Parsed<GroupOp>> {
        type Make = fn(&mut Immediates<'_>) -> Parsed<GroupOp>;
        let (names, make): (&[&str], Make) = match name {
            "commit_group" => (&["queue"], |named| Ok(GroupOp::Commit(named.take("queue")?))),
            "wait_group" => (&["queue", "pending", "reads", "all"], |named| {
                Ok(GroupOp::Wait {
                    queue: named.take("queue")?,
                    pending: named.take("pending")?,
                    reads: named.take("reads")?,
                    all: named.take("all")?,
                })
            }),
            "fence.proxy.async" => (&["shared", "global"], |named| {
                Ok(GroupOp::Proxy { shared: named.take("shared")?, global: named.take("global")? })
            }),
            "wgmma.fence" => (&[], |_| Ok(GroupOp::Registers)),
            "whole_warpgroup" => (&[], |_| Ok(GroupOp::WholeGroup)),
            "whole_warp" => (&[], |_| Ok(GroupOp::WholeWarp)),
            _ => return None,
        };
        let read = |mut named: Immediates<'_>| {
            let op = make(&mut named)?;
            named.finish()?;
            Ok(op)
        };
        Some(Operands::new(reads, names).named().and_then(read))
    }
}
