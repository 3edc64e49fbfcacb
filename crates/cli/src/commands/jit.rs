//! `--jit`: when kernels are compiled, and whether compiled code is compared with the interpreter.

use softwarp::vm::device::Jit;

/// When kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// The interpreter runs everything
    Off,
    /// Before they run
    On,
    /// When they have run for long enough that it pays
    Auto,
    /// Each launch runs interpreted and compiled, and what differs is a finding
    Compare,
}

impl When {
    /// As a launch has it.
    pub fn jit(self) -> Jit {
        match self {
            When::Off => Jit::Off,
            When::On => Jit::On,
            When::Auto => Jit::Auto,
            When::Compare => Jit::Compare,
        }
    }
}
