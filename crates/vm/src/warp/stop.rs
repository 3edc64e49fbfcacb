//! What a debugger sees of a CTA while one of its warps is about to execute an instruction.

use super::addresses::addresses;
use super::{Activation, Env, Split, State as Condition, Warp};
use crate::debug::{At, BarrierState, Call, Control, Group, Shape, State, Thread, Unreadable, Waits};
use crate::decode::{Code, Program};
use crate::fault::{Fault, Use};
use crate::memory::local::LocalMemory;
use softwarp_image::Image;
use softwarp_ir::{Address, Memory, Op, Slot, Special};
use softwarp_isa::device::BARRIERS;
use softwarp_syntax::Span;
use softwarp_units::lanes::{Class, LANES};

/// The other warps of the CTA: those before a warp, and those after it.
pub(crate) type Peers<'a> = [&'a [Warp]; 2];

/// A CTA that is stopped.
struct Stopped<'a, 'b> {
    warp: &'a Warp,
    peers: Peers<'a>,
    env: &'a Env<'b>,
    /// The lanes that run, which are in no list meanwhile.
    running: Split,
}

impl Warp {
    /// Shows an instruction to the debugger before it is executed.
    pub(super) fn debug(&self, env: &Env<'_>, peers: Peers<'_>, running: Split) -> Control {
        match env.launch.debugger {
            Some(debugger) => debugger.before(&Stopped { warp: self, peers, env, running }),
            None => Control::Continue,
        }
    }

    /// Shows a fault to the debugger.
    pub(super) fn debug_fault(&self, env: &Env<'_>, peers: Peers<'_>, running: Split, fault: &Fault) {
        if let Some(debugger) = env.launch.debugger {
            debugger.failed(&Stopped { warp: self, peers, env, running }, fault);
        }
    }
}

impl Stopped<'_, '_> {
    fn code(&self, activation: &Activation) -> &Code {
        &self.env.launch.program.codes[activation.code as usize]
    }

    fn warps(&self) -> impl Iterator<Item = &Warp> {
        self.peers[0].iter().chain(std::iter::once(self.warp)).chain(self.peers[1])
    }

    fn warp(&self, index: u32) -> Option<&Warp> {
        self.warps().find(|warp| warp.index == index)
    }

    /// The split that a lane is in.
    fn split(&self, thread: Thread) -> Option<(&Warp, &Split)> {
        let warp = self.warp(thread.warp)?;
        let has = |split: &&Split| thread.lane < LANES as u32 && split.mask >> thread.lane & 1 == 1;
        let own = std::iter::once(&self.running).filter(|_| warp.index == self.warp.index);
        own.chain(&warp.splits).find(has).map(|split| (warp, split))
    }

    /// The activations of a thread, the innermost first, each with the operation that comes next.
    fn activations(&self, thread: Thread) -> Vec<(&Activation, u32)> {
        let Some((warp, split)) = self.split(thread) else { return Vec::new() };
        let mut found = Vec::new();
        let mut next = Some((split.call, split.pc));
        // A caller has a smaller depth.
        while let Some((call, pc)) = next
            && let Some(activation) = warp.calls.get(call as usize)
            && found.len() <= split.depth as usize
        {
            found.push((activation, pc));
            next = activation.caller;
        }
        found
    }

    fn span(code: &Code, index: u32) -> Span {
        let last = code.spans.len().saturating_sub(1);
        code.spans.get((index as usize).min(last)).copied().unwrap_or_default()
    }

    fn group(&self, warp: &Warp, split: &Split, current: bool) -> Option<Group> {
        let code = self.code(warp.calls.get(split.call as usize)?);
        let waits = match split.state {
            Condition::Ready => Waits::Ready,
            Condition::Barrier(number) => Waits::Barrier(number),
            Condition::Cluster(_) => Waits::Cluster,
            Condition::Exchange(_, lanes) => Waits::Lanes(lanes),
        };
        let (index, span) = (split.pc, Self::span(code, split.pc));
        let (function, depth) = (code.function, split.depth);
        Some(Group { warp: warp.index, lanes: split.mask, function, index, span, depth, waits, current })
    }

    /// A byte of memory.
    fn byte(&self, thread: Thread, call: usize, space: Memory, address: u64) -> Option<u8> {
        let spaces = &self.env.spaces;
        let (space, address) = match space {
            Memory::Generic => {
                let (space, base) = spaces.window_of(address);
                (space, address.wrapping_sub(base))
            }
            Memory::Frame => {
                let (activation, _) = *self.activations(thread).get(call)?;
                (Memory::Local, activation.base.wrapping_add(address))
            }
            _ => (space, address),
        };
        let of_lane = |memory: &LocalMemory, at: u64| {
            (at < memory.len()).then(|| memory.load(thread.lane as usize, at, 1) as u8)
        };
        match space {
            Memory::Local => {
                let local = &self.warp(thread.warp)?.local;
                of_lane(local, address.checked_sub(spaces.windows.local.size - local.len())?)
            }
            Memory::Function => of_lane(&self.activations(thread).get(call)?.0.parameters, address),
            _ => {
                let (cells, at) = spaces.judge(space, address, 1, Use::Read).ok()?;
                let mut byte = [0];
                cells.read(at, &mut byte);
                Some(byte[0])
            }
        }
    }
}

impl State for Stopped<'_, '_> {
    fn at(&self) -> At<'_> {
        let activation = &self.warp.calls[self.running.call as usize];
        let code = self.code(activation);
        let (index, lanes) = (self.running.pc, self.running.mask);
        let op = code.ops.get(index as usize);
        let executing = op.map_or(lanes, |op: &Op| op.guard().lanes(&activation.frame, lanes));
        At {
            function: code.function,
            index,
            op,
            span: Self::span(code, index),
            cta: self.env.cta,
            warp: self.warp.index,
            lanes,
            executing,
            depth: self.running.depth,
        }
    }

    fn shape(&self) -> Shape<'_> {
        let launch = self.env.launch;
        let (grid, block, cluster) = (launch.grid, launch.block, launch.cluster);
        Shape { kernel: launch.name, grid, block, cluster, shared_bytes: launch.shared_bytes }
    }

    fn program(&self) -> &Program {
        self.env.launch.program
    }

    fn image(&self) -> &Image {
        self.env.spaces.image
    }

    fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        for warp in self.warps() {
            if warp.index == self.warp.index {
                groups.extend(self.group(warp, &self.running, true));
            }
            let others = warp.splits.iter().filter(|split| split.mask != 0);
            groups.extend(others.filter_map(|split| self.group(warp, split, false)));
        }
        groups
    }

    fn calls(&self, thread: Thread) -> Vec<Call> {
        let activations = self.activations(thread).into_iter().enumerate();
        let calls = activations.map(|(number, (activation, index))| {
            let code = self.code(activation);
            // Of a caller, the operation before the next is the call.
            let shown = if number == 0 { index } else { index.saturating_sub(1) };
            Call { function: code.function, index, span: Self::span(code, shown) }
        });
        calls.collect()
    }

    fn register(&self, thread: Thread, call: usize, slot: Slot) -> Option<u64> {
        let activations = self.activations(thread);
        let (frame, lane) = (&activations.get(call)?.0.frame, thread.lane as usize);
        let number = slot.number() as usize;
        if slot.class() == Class::Predicate {
            return frame.predicates.get(number).map(|bits| u64::from(bits >> lane & 1));
        }
        match slot.is_wide() {
            true => frame.wide.get(number).map(|row| row.0[lane]),
            false => frame.narrow.get(number).map(|row| row.0[lane].into()),
        }
    }

    fn special(&self, thread: Thread, register: Special) -> Option<u64> {
        let warp = self.warp(thread.warp).filter(|_| !register.is_clock())?;
        match register {
            Special::GridId => Some(self.env.launch.number),
            Special::IsExplicitCluster => Some(self.env.launch.clustered.into()),
            _ if register.is_wide() => None,
            _ => warp.special_row(self.env, register, 0).get(thread.lane as usize).map(|&word| word.into()),
        }
    }

    fn read(
        &self,
        thread: Thread,
        call: usize,
        space: Memory,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Unreadable> {
        let bytes = into.len() as u64;
        for (offset, byte) in (0..).zip(into) {
            let read = address.checked_add(offset).and_then(|at| self.byte(thread, call, space, at));
            *byte = read.ok_or(Unreadable { space, address, bytes })?;
        }
        Ok(())
    }

    fn addresses(&self, address: &Address) -> [u64; 32] {
        addresses(&self.warp.calls[self.running.call as usize], address)
    }

    fn shared_window(&self) -> u64 {
        self.env.spaces.window
    }

    fn barriers(&self) -> Vec<BarrierState> {
        let at = |number: u32| {
            let (arrived, expected) = self.env.barriers.counted(number);
            BarrierState { number: Some(number), arrived, expected }
        };
        let mut all: Vec<BarrierState> = (0..BARRIERS).map(at).filter(|one| one.arrived != 0).collect();
        let (arrived, expected) = self.env.cluster.counted();
        if arrived != 0 {
            all.push(BarrierState { number: None, arrived, expected });
        }
        all
    }
}
