//! The tests of the command, a module for each subject.
//!
//! One binary: each further one would link all crates again, and compile what tests share.

#[cfg(target_os = "linux")]
mod actions;
mod asynchronous;
mod binary;
mod blackwell;
mod bugs;
mod check_cli;
mod check_fix;
mod check_project;
mod cli;
mod clusters;
mod codes_page;
mod compare_cli;
mod const_cli;
mod containers;
mod cuda;
mod debug_cli;
mod documents;
mod exec_cli;
mod exec_ends;
mod files;
mod golden;
mod gpu;
mod inputs;
mod instructions_page;
mod launch_files;
mod layout_cli;
mod lower_cli;
mod lsp_cli;
mod matrix;
mod no_memory;
mod numbers_cli;
mod pages;
mod programs;
mod recorded;
mod run_cli;
mod run_limits;
mod run_lines;
mod run_registers;
mod run_sanitize;
mod sanitized;
mod schema;
mod streams;
mod support_table;
mod tensor_cli;
mod tensor_copies;
mod tensor_page;
mod textures;
mod triton;
mod verify_cli;
