//! Options of the JIT compiler and the linker (`CUjit_option`): mainly where their logs go.

use crate::code::{Code, ensure};
use crate::ffi::{Host, In, Out};

/// `CUjit_option` values that are looked at.
mod option {
    pub const MAX_REGISTERS: u32 = 0;
    pub const THREADS_PER_BLOCK: u32 = 1;
    pub const WALL_TIME: u32 = 2;
    pub const INFO_LOG: u32 = 3;
    pub const INFO_LOG_BYTES: u32 = 4;
    pub const ERROR_LOG: u32 = 5;
    pub const ERROR_LOG_BYTES: u32 = 6;
    pub const TARGET: u32 = 9;
    pub const DEBUG: u32 = 11;
    pub const VERBOSE: u32 = 12;
    pub const FAST_COMPILE: u32 = 16;
    pub const FMA: u32 = 25;
    /// Numbers from this on are no options.
    pub const END: u32 = 38;
}

/// The logs that a caller wants, from the options of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Logs {
    error: Option<(Host, usize)>,
    info: Option<(Host, usize)>,
    values: Option<Out<u64>>,
    error_index: usize,
    info_index: usize,
    wall_time: Option<usize>,
    /// The other options.
    pub options: Options,
}

/// Options that say how to compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Products and sums are not to be contracted.
    pub no_fma: bool,
    /// The GPU to compile for.
    pub target: Option<u32>,
    /// The most registers of a thread.
    pub max_registers: Option<u32>,
    /// The fewest threads that a block is to be able to have.
    pub threads: Option<u32>,
    /// The info log has what kernels take.
    pub verbose: bool,
    /// Kernels are compiled in their order: without much optimization, or for a debugger.
    pub in_order: bool,
}

impl Logs {
    /// Reads the options of a call.
    pub fn read(count: u32, options: In<u32>, values: Out<u64>) -> Result<Logs, Code> {
        let mut logs = Logs::default();
        let (mut error, mut info) = ((None, None), (None, None));
        for index in 0..count as usize {
            let (id, value) = (options.get_at(index)?, values.as_in().get_at(index)?);
            ensure(id < option::END, Code::INVALID_VALUE)?;
            match id {
                option::ERROR_LOG => error.0 = Some(Host::at(value)),
                option::INFO_LOG => info.0 = Some(Host::at(value)),
                option::ERROR_LOG_BYTES => (error.1, logs.error_index) = (Some(value as u32 as usize), index),
                option::INFO_LOG_BYTES => (info.1, logs.info_index) = (Some(value as u32 as usize), index),
                option::WALL_TIME => logs.wall_time = Some(index),
                option::TARGET => logs.options.target = Some(value as u32),
                option::FMA => logs.options.no_fma = value as u32 == 0,
                option::MAX_REGISTERS => logs.options.max_registers = Some(value as u32),
                option::THREADS_PER_BLOCK => logs.options.threads = Some(value as u32),
                option::VERBOSE => logs.options.verbose = value as u32 != 0,
                option::DEBUG | option::FAST_COMPILE => logs.options.in_order |= value as u32 != 0,
                _ => {}
            }
        }
        // A log has a place and a size, or neither.
        for log in [error, info] {
            let is_whole = log.0.is_some_and(|to| !to.is_null()) && log.1.is_some_and(|room| room > 0);
            ensure(is_whole || (log.0.is_none() && log.1.is_none()), Code::INVALID_VALUE)?;
        }
        logs.values = Some(values);
        logs.error = error.0.zip(error.1);
        logs.info = info.0.zip(info.1);
        Ok(logs)
    }

    /// Whether the caller wants to know errors.
    pub fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Whether the caller wants to know warnings.
    pub fn has_info(&self) -> bool {
        self.info.is_some()
    }

    /// Writes how long compiling took, if the caller wants to know: milliseconds, as a `float`.
    pub fn write_time(&self, spent: std::time::Duration) {
        if let (Some(values), Some(index)) = (self.values, self.wall_time) {
            values.set_at(index, u64::from((spent.as_secs_f32() * 1000.0).to_bits()));
        }
    }

    /// Writes the logs and their lengths.
    pub fn write(&self, error: &str, info: &str) {
        let Some(values) = self.values else { return };
        for (wanted, index, text) in
            [(self.error, self.error_index, error), (self.info, self.info_index, info)]
        {
            let Some((to, room)) = wanted else { continue };
            // What is cut off has the buffer's length, unless nothing but the NUL fits.
            let length = match text.len() {
                length if length < room => length,
                _ if room > 1 => room,
                _ => 0,
            };
            if !to.is_null() && room > 0 {
                // SAFETY: the caller's buffer for the log has this room, as its options say.
                unsafe { to.set_text(text, room) };
            }
            values.set_at(index, length as u64);
        }
    }
}
