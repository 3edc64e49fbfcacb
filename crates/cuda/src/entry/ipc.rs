//! Memory and events of other processes (driver API: "Unified Addressing": `cuIpc*`): arguments are checked, and what
//! would leave the process is refused.

use super::memory::second;
use super::stream::event;
use crate::code::{Code, ensure};
use crate::driver::event::Event;
use crate::ffi::Out;
use crate::handle::Handle;
use crate::memory::Kind;
use crate::symbols::not_supported;

/// `CUipcMemHandle` and `CUipcEventHandle`
type Ticket = [u8; 64];

crate::entries! {
    /// A handle of memory for other processes.
    fn cuIpcGetMemHandle(to: Out<Ticket>, address: u64) {
        let (driver, _) = second()?;
        to.required()?;
        let block = driver.block(address).ok_or(Code::INVALID_VALUE)?;
        ensure(block.kind == Kind::Device, Code::INVALID_VALUE)?;
        Err(not_supported("cuIpcGetMemHandle"))
    }

    /// Gives memory of another process back: there is none.
    fn cuIpcCloseMemHandle(_address: u64) {
        second()?;
        Err(Code::INVALID_VALUE)
    }

    /// A handle of an event for other processes.
    fn cuIpcGetEventHandle(to: Out<Ticket>, shared: Handle<Event>) {
        let (driver, _) = second()?;
        to.required()?;
        event(driver, shared)?;
        Err(not_supported("cuIpcGetEventHandle"))
    }
}
