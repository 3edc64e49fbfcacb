//! Memory and events of other processes (driver API: "Unified Addressing": `cuIpc*`). A process gets handles of its own
//! memory and events, and cannot open them, as with a GPU. Those of another process are refused.

use super::memory::second;
use super::stream::event;
use crate::c_struct;
use crate::code::{Code, ensure};
use crate::driver::event::Event;
use crate::ffi::Out;
use crate::handle::Handle;
use crate::memory::Kind;
use crate::symbols::not_supported;

c_struct! {
    /// `CUipcMemHandle` and `CUipcEventHandle`: which process it is of, and what.
    Ticket {
        magic: u64,
        process: u64,
        what: u64,
        rest: [u64; 5],
    }
}

/// What all handles begin with.
const MAGIC: u64 = 0x3143_5049_7077_7473;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZY_ACCESS: u32 = 1;

impl Ticket {
    fn new(what: u64) -> Ticket {
        Ticket { magic: MAGIC, process: std::process::id().into(), what, rest: [0; 5] }
    }

    /// Opens what cannot be opened: the process's own, or that of another.
    fn open(self, name: &'static str) -> Code {
        match self {
            Ticket { magic: MAGIC, process, .. } if process == u64::from(std::process::id()) => {
                Code::INVALID_CONTEXT
            }
            Ticket { magic: MAGIC, .. } => not_supported(name),
            _ => Code::INVALID_VALUE,
        }
    }
}

crate::entries! {
    /// A handle of memory for other processes.
    fn cuIpcGetMemHandle(to: Out<Ticket>, address: u64) {
        let (driver, _) = second()?;
        to.required()?;
        let block = driver.block(address).ok_or(Code::INVALID_VALUE)?;
        ensure(block.kind == Kind::Device, Code::INVALID_VALUE)?;
        to.set(Ticket::new(block.base))
    }

    /// Opens memory of another process.
    fn cuIpcOpenMemHandle_v2(to: Out<u64>, ticket: Ticket, flags: u32) {
        second()?;
        to.required()?;
        ensure(flags == LAZY_ACCESS, Code::INVALID_VALUE)?;
        Err(ticket.open("cuIpcOpenMemHandle of another process"))
    }

    /// Gives memory of another process back: there is none.
    fn cuIpcCloseMemHandle(_address: u64) {
        second()?;
        Err(Code::INVALID_VALUE)
    }

    /// A handle of an event for other processes, if it was made for them.
    fn cuIpcGetEventHandle(to: Out<Ticket>, shared: Handle<Event>) {
        let (driver, _) = second()?;
        to.required()?;
        let found = event(driver, shared).and_then(|event| ensure(event.shared, Code::INVALID_HANDLE));
        if let Err(code) = found {
            to.set(Ticket { magic: 0, process: 0, what: 0, rest: [0; 5] })?;
            return Err(code);
        }
        to.set(Ticket::new(shared.bits()))
    }

    /// Opens an event of another process.
    fn cuIpcOpenEventHandle(to: Out<Handle<Event>>, ticket: Ticket) {
        second()?;
        to.required()?;
        Err(ticket.open("cuIpcOpenEventHandle of another process"))
    }
}
