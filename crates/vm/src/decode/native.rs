//! Compiled code of a function, made when it has run for long enough.

use super::flaw::with_flaw;
use crate::host_memory::{Account, Charge};
use softwarp_ir::Function;
use softwarp_jit::{Compiled, Limits, Refused, Shape, Wanted, compile_within};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, TryLockError};
use std::time::Duration;

/// When functions are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Jit {
    /// Never: the interpreter runs everything.
    Off,
    /// Before they run.
    On,
    /// When they have run for long enough that it pays.
    #[default]
    Auto,
    /// Each launch runs interpreted and compiled, from the same memory, and what differs is a finding
    /// ([`crate::comparison`]).
    Compare,
}

impl Jit {
    /// `off`, `on`, `auto` or `compare`.
    pub fn from_name(name: &str) -> Option<Jit> {
        match name {
            "off" => Some(Jit::Off),
            "on" => Some(Jit::On),
            "auto" => Some(Jit::Auto),
            "compare" => Some(Jit::Compare),
            _ => None,
        }
    }

    /// What the environment variable `SOFTWARP_JIT` says; `auto` if that is no name.
    pub fn from_environment() -> Jit {
        static KNOWN: OnceLock<Jit> = OnceLock::new();
        let name = || std::env::var("SOFTWARP_JIT").ok();
        *KNOWN.get_or_init(|| name().and_then(|name| Jit::from_name(&name)).unwrap_or_default())
    }
}

/// Instructions of warps after which a function is compiled, for each operation that it has: compiling one takes about
/// as long as interpreting this number of them. A function that ends soon after costs at most twice what it had to.
const PAYS: u64 = 200;

/// How many times lanes diverge before masked code is made.
const DIVERGENT: u64 = 16;

/// The part of what compiling a function takes that its code may be.
const CODE_PART: u64 = 4;

/// The part of the memory of a device and its launches that compiling a function may take, and the most.
const PART: u64 = 4;
const MOST: u64 = 1 << 30;

/// What a launch allows for compiling a function.
#[derive(Clone, Copy)]
pub(crate) struct Allowed<'a> {
    /// What the device and its launches hold.
    pub(crate) account: &'a Account,
    /// What compiled code is charged to.
    pub(crate) code: &'a Account,
    /// Whether the launch has to stop.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl<'a> Allowed<'a> {
    fn limits(self) -> Limits<'a> {
        let memory = (self.account.most() / PART).min(self.account.left()).min(MOST);
        // The code is a part of that.
        let memory = memory.min(self.code.left().saturating_mul(CODE_PART));
        Limits { memory, stop: self.stop }
    }
}

/// Compiled code, if there is some, and its charge.
type Made = Option<(Compiled, Charge)>;

/// The compiled code of a function, for each shape of CTAs.
#[derive(Debug, Default)]
pub(crate) struct Native {
    compiled: [OnceLock<Made>; Shape::COUNT],
    /// The same with masked code, made when lanes have diverged.
    masked: [OnceLock<Made>; Shape::COUNT],
    /// Held by the thread that compiles the function.
    compiling: Mutex<()>,
    /// Instructions of warps that the interpreter executed.
    interpreted: AtomicU64,
    /// How often lanes diverged, or were too few, without masked code.
    diverged: AtomicU64,
}

/// How long a thread sleeps that waits for another one to compile a function.
const NAP: Duration = Duration::from_micros(50);

impl Native {
    /// The compiled code, if there is some or it is time to make it, within the limits of a launch.
    #[inline]
    pub(crate) fn get(
        &self,
        function: &Function,
        (jit, shape): (Jit, Shape),
        allowed: Allowed<'_>,
    ) -> Option<&Compiled> {
        if let Some(Some((masked, _))) = self.masked[shape.index()].get() {
            return Some(masked);
        }
        let slot = &self.compiled[shape.index()];
        let profitable = jit == Jit::Auto;
        if let Some(compiled) = slot.get() {
            let (compiled, _) = compiled.as_ref()?;
            if self.diverged.load(Ordering::Relaxed) < DIVERGENT {
                return Some(compiled);
            }
            let wanted = Wanted { masked: true, profitable };
            // It may take too much.
            let masked = self.make(&self.masked[shape.index()], function, (shape, wanted), allowed);
            return masked.or(Some(compiled));
        }
        let pays = || self.interpreted.load(Ordering::Relaxed) >= PAYS * function.ops.len() as u64;
        match jit {
            // A launch that is compared runs in the two modes, and in none of its own.
            Jit::Off | Jit::Compare => return None,
            Jit::Auto if !pays() => return None,
            Jit::Auto | Jit::On => {}
        }
        let wanted = Wanted { masked: false, profitable };
        self.make(slot, function, (shape, wanted), allowed)
    }

    /// Compiles the function, unless another thread has or the launch has to stop.
    #[cold]
    fn make<'a>(
        &'a self,
        slot: &'a OnceLock<Made>,
        function: &Function,
        (shape, wanted): (Shape, Wanted),
        allowed: Allowed<'_>,
    ) -> Option<&'a Compiled> {
        let _compiling = loop {
            if let Some(made) = slot.get() {
                return made.as_ref().map(|(compiled, _)| compiled);
            }
            match self.compiling.try_lock() {
                Ok(held) => break held,
                Err(TryLockError::Poisoned(held)) => break held.into_inner(),
                // The other thread may belong to a launch with more time.
                Err(TryLockError::WouldBlock) if (allowed.stop)() => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(NAP),
            }
        };
        if slot.get().is_none() {
            match compile_within(&with_flaw(function), shape, wanted, allowed.limits()) {
                Ok(compiled) => {
                    let charge = allowed.code.charge(compiled.len() as u64).ok();
                    _ = slot.set(charge.map(|charge| (compiled, charge)));
                }
                Err(Refused::Never) => _ = slot.set(None),
                Err(Refused::Stopped) => return None,
            }
        }
        slot.get()?.as_ref().map(|(compiled, _)| compiled)
    }

    /// Lanes diverged that compiled code cannot run.
    #[inline]
    pub(crate) fn diverged(&self) {
        self.diverged.fetch_add(1, Ordering::Relaxed);
    }

    /// Has masked code made from now on, if lanes have diverged and it is not made yet. Returns whether that is so.
    pub(crate) fn hasten(&self, shape: Shape) -> bool {
        let is_late =
            self.masked[shape.index()].get().is_none() && self.diverged.load(Ordering::Relaxed) != 0;
        if is_late {
            self.diverged.fetch_max(DIVERGENT, Ordering::Relaxed);
        }
        is_late && self.compiled[shape.index()].get().is_some_and(Option::is_some)
    }

    /// Adds instructions that the interpreter executed.
    #[inline]
    pub(crate) fn interpreted(&self, instructions: u64) {
        self.interpreted.fetch_add(instructions, Ordering::Relaxed);
    }
}
