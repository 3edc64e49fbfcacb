//! The `softwarp` command.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    softwarp_cli::main()
}
