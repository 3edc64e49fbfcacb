//! Memory and events of other processes.

use crate::ffi::Out;

crate::c_struct! {
    /// `cudaIpcMemHandle_t` and `cudaIpcEventHandle_t`.
    Ticket { words: [u64; 8], }
}

crate::driver! {
    fn cuIpcGetMemHandle(ticket: Out<Ticket>, address: u64);
    fn cuIpcOpenMemHandle_v2(address: Out<u64>, ticket: Ticket, flags: u32);
    fn cuIpcCloseMemHandle(address: u64);
    fn cuIpcGetEventHandle(ticket: Out<Ticket>, event: u64);
    fn cuIpcOpenEventHandle(event: Out<u64>, ticket: Ticket);
}
