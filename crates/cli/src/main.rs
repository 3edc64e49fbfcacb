//! The `softwarp` command.

#![forbid(unsafe_code)]

/// What is done where there is no memory ([`softwarp_heap`]).
#[cfg(unix)]
#[global_allocator]
static HEAP: softwarp_heap::Heap = softwarp_heap::Heap;

/// Bytes that a command needs to begin with.
#[cfg(unix)]
const LEAST: u64 = 8 << 20;

fn main() -> std::process::ExitCode {
    #[cfg(unix)]
    {
        softwarp_heap::exit_when_exhausted();
        if !softwarp_heap::has_room(LEAST) {
            eprintln!(
                "error: the system has no memory for this process: {} MiB more are needed",
                LEAST >> 20
            );
            return std::process::ExitCode::from(2);
        }
    }
    softwarp_cli::main()
}
