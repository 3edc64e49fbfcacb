//! Memory and events of other processes.

use crate::context::ensure_context;
use crate::driver::ipc::*;
use crate::ffi::Out;

crate::entries! {
    /// A handle of memory for other processes.
    fn cudaIpcGetMemHandle(ticket: Out<Ticket>, address: u64) {
        ensure_context()?;
        cuIpcGetMemHandle(ticket, address)
    }

    /// Opens memory of another process.
    fn cudaIpcOpenMemHandle(address: Out<u64>, ticket: Ticket, flags: u32) {
        ensure_context()?;
        cuIpcOpenMemHandle_v2(address, ticket, flags)
    }

    /// Gives memory of another process back.
    fn cudaIpcCloseMemHandle(address: u64) {
        ensure_context()?;
        cuIpcCloseMemHandle(address)
    }

    /// A handle of an event for other processes.
    fn cudaIpcGetEventHandle(ticket: Out<Ticket>, event: u64) {
        ensure_context()?;
        cuIpcGetEventHandle(ticket, event)
    }

    /// Opens an event of another process.
    fn cudaIpcOpenEventHandle(event: Out<u64>, ticket: Ticket) {
        ensure_context()?;
        cuIpcOpenEventHandle(event, ticket)
    }
}
