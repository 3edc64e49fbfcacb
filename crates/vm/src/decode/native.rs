//! Compiled code of a function, made when it has run for long enough.

use super::flaw::with_flaw;
use softwarp_ir::Function;
use softwarp_jit::{Compiled, Shape, Wanted, compile};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// The compiled code of a function, for each shape of CTAs.
#[derive(Debug, Default)]
pub(crate) struct Native {
    compiled: [OnceLock<Option<Compiled>>; Shape::COUNT],
    /// The same with masked code, made when lanes have diverged.
    masked: [OnceLock<Option<Compiled>>; Shape::COUNT],
    /// Instructions of warps that the interpreter executed.
    interpreted: AtomicU64,
    /// How often lanes diverged, or were too few, without masked code.
    diverged: AtomicU64,
}

impl Native {
    /// The compiled code, if there is some or it is time to make it.
    #[inline]
    pub(crate) fn get(&self, function: &Function, shape: Shape, jit: Jit) -> Option<&Compiled> {
        if let Some(masked) = self.masked[shape.index()].get() {
            return masked.as_ref();
        }
        let slot = &self.compiled[shape.index()];
        let profitable = jit == Jit::Auto;
        if let Some(compiled) = slot.get() {
            let compiled = compiled.as_ref()?;
            if self.diverged.load(Ordering::Relaxed) < DIVERGENT {
                return Some(compiled);
            }
            let wanted = Wanted { masked: true, profitable };
            return self.masked[shape.index()]
                .get_or_init(|| compile(&with_flaw(function), shape, wanted))
                .as_ref();
        }
        let pays = || self.interpreted.load(Ordering::Relaxed) >= PAYS * function.ops.len() as u64;
        match jit {
            // A launch that is compared runs in the two modes, and in none of its own.
            Jit::Off | Jit::Compare => return None,
            Jit::Auto if !pays() => return None,
            Jit::Auto | Jit::On => {}
        }
        let wanted = Wanted { masked: false, profitable };
        slot.get_or_init(|| compile(&with_flaw(function), shape, wanted)).as_ref()
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
