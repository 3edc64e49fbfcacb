//! The thread that wrote a place of global memory last: the launches run again, and every store is looked at.
//!
//! Stores and atomic operations are seen, by any address. Copies that the hardware makes by itself (`cp.async.bulk`, tensor
//! copies) and matrix stores to global memory are not.

use crate::run::file::LaunchFile;
use crate::run::{Options, Run, RunError};
use softwarp::diagnostic::Span;
use softwarp::image::FunctionId;
use softwarp::ir::{Address, Memory, Op, Step};
use softwarp::units::lanes::{Frame, lanes};
use softwarp::vm::device::LoadOptions;
use softwarp::vm::stats::{Event, Tracer};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A store, or an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The launch, from 0.
    pub launch: usize,
    /// `%ctaid`
    pub cta: [u32; 3],
    /// `%tid`
    pub thread: [u32; 3],
    /// The function.
    pub function: FunctionId,
    /// The instruction in its text.
    pub span: Span,
}

/// Looks at the stores of a launch.
struct Watch {
    launch: usize,
    block: [u32; 3],
    place: Range<u64>,
    last: Mutex<Option<Write>>,
}

impl Watch {
    fn note(&self, event: &Event<'_>, address: &Address, bytes: u64, frame: &Frame) {
        if !matches!(address.memory, Memory::Global | Memory::Generic) {
            return;
        }
        let base: [u64; 32] = match address.base {
            None => [0; 32],
            Some(slot) if slot.is_wide() => frame.row::<u64>(slot),
            Some(slot) => frame.row::<u32>(slot).map(u64::from),
        };
        let active = event.op.guard().lanes(frame, event.lanes);
        for lane in lanes(active) {
            let start = base[lane].wrapping_add_signed(address.offset);
            if start < self.place.end && self.place.start < start.saturating_add(bytes) {
                let number = event.warp * 32 + lane as u32;
                let [x, y, _] = self.block.map(|size| size.max(1));
                let thread = [number % x, number / x % y, number / x / y];
                let Event { cta, function, span, .. } = *event;
                let write = Write { launch: self.launch, cta, thread, function, span };
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(write);
            }
        }
    }
}

impl Tracer for Watch {
    fn before(&self, event: &Event<'_>, frame: &Frame) {
        let Op::Other(_, step) = event.op else { return };
        match &**step {
            Step::Store(access) => {
                let bytes = u64::from(access.bytes) * access.registers.len() as u64;
                self.note(event, &access.address, bytes, frame);
            }
            Step::Atomic(atomic) => {
                let bytes = u64::from(atomic.ty.bits().div_ceil(8)) * atomic.b.len().max(1) as u64;
                self.note(event, &atomic.address, bytes, frame);
            }
            _ => {}
        }
    }

    fn after(&self, _frame: &Frame) {}
}

/// The last write to some bytes of a buffer, or none that is seen.
pub fn last(
    file: &LaunchFile,
    sources: &[&str],
    load: LoadOptions,
    options: &Options<'_>,
    (buffer, bytes): (&str, Range<u64>),
) -> Result<Option<Write>, RunError> {
    let mut run = Run::prepare(file, sources, load)?;
    let placed = run.buffers().iter().find(|placed| placed.name == buffer).map(|placed| placed.address);
    let address = placed.or_else(|| run.device().symbol(buffer).map(|symbol| symbol.address));
    let Some(address) = address else { return Ok(None) };
    let place = address.saturating_add(bytes.start)..address.saturating_add(bytes.end);
    let mut last = None;
    for (index, launch) in file.launches.iter().enumerate() {
        let watch =
            Watch { launch: index, block: launch.block, place: place.clone(), last: Mutex::new(None) };
        let options = Options { tracer: Some(&watch), threads: Some(1), ..*options };
        run.launch(file, index, &options)?;
        last = watch.last.into_inner().unwrap_or_else(PoisonError::into_inner).or(last);
    }
    Ok(last)
}
