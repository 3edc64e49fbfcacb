//! Control flow, calls, special registers and the stack.

use crate::Slot;

/// `brx.idx`
#[derive(Clone, Debug)]
pub struct Switch {
    /// The index.
    pub index: Slot,
    /// The operations that it branches to.
    pub targets: Vec<u32>,
}

/// A special register, read into a slot.
#[derive(Clone, Copy, Debug)]
pub struct ReadSpecial {
    /// The destination.
    pub d: Slot,
    /// The register.
    pub register: Special,
}

/// The address in `.local` of a variable of the call's frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameAddress {
    /// The destination.
    pub d: Slot,
    /// Bytes from the start of the frame.
    pub offset: u64,
}

/// `alloca`
#[derive(Clone, Copy, Debug)]
pub struct Alloca {
    /// The address in `.local`.
    pub d: Slot,
    /// The size in bytes, in as many bits as the address.
    pub size: Slot,
    /// The alignment in bytes.
    pub alignment: u64,
}

/// `stacksave`: the top of the thread's stack, for `stackrestore`.
#[derive(Clone, Copy, Debug)]
pub struct StackSave {
    /// The destination.
    pub d: Slot,
}

/// `stackrestore`
#[derive(Clone, Copy, Debug)]
pub struct StackRestore {
    /// What `stacksave` gave.
    pub a: Slot,
}

/// A call.
///
/// All values travel through the per-thread parameter memory: a function finds its parameters at the start of its
/// own, each at the next multiple of 16 (or of its alignment, if that is more), and leaves its return values behind
/// them in the same way. That is so for functions that the machine provides, too: of `vprintf`, the arguments are
/// at 0 and 16 and the result is at 32. `.reg` parameters are loaded and stored by operations of the function.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// Bytes to copy from the caller's arguments to the callee's parameters: from, to, length; both count from
    /// the start of the per-thread parameter memory of their function.
    pub inputs: Vec<(u64, u64, u64)>,
    /// Bytes to copy back on return: from the callee's, to the caller's, length.
    pub outputs: Vec<(u64, u64, u64)>,
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each variant says what its fields are.
pub enum Callee {
    /// A function: an index into [`crate::Program::functions`].
    Direct(u32),
    /// The function whose address is in a register.
    Indirect(Slot),
    /// One that the machine provides.
    Provided(Provided),
}

/// Functions that the machine provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // They are CUDA's.
pub enum Provided {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
    /// `cnpGetParameterBufferV2`: memory for the parameters of a kernel that a kernel launches.
    ParameterBuffer,
    /// `cnpLaunchDeviceV2`: launches it.
    LaunchDevice,
}

/// The special registers that a program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are PTX's.
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NwarpId,
    SmId,
    NsmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    /// `begin`, `end`, `cap`, `0` and `1`, in this order.
    ReservedSmem(u8),
    ClusterId(u8),
    NclusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    CurrentGraphExec,
    EnvReg(u8),
    /// `%pm0` to `%pm7`, and from 8 on `%pm0_64` to `%pm7_64`.
    Pm(u8),
}

impl Special {
    /// Whether it has 64 bits.
    pub fn is_wide(self) -> bool {
        use Special::*;
        match self {
            GridId | Clock64 | GlobalTimer | CurrentGraphExec => true,
            // The counters of 64 bits follow the eight of 32.
            Pm(number) => number >= 8,
            Tid(_) | Ntid(_) | Ctaid(_) | Nctaid(_) | LaneId | WarpId | NwarpId | SmId | NsmId => false,
            LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => false,
            TotalSmemSize | AggrSmemSize | DynamicSmemSize | ReservedSmem(_) => false,
            ClusterId(_) | NclusterId(_) | ClusterCtaid(_) | ClusterNctaid(_) => false,
            ClusterCtarank | ClusterNctarank | IsExplicitCluster | EnvReg(_) => false,
            Clock | ClockHi | GlobalTimerLo | GlobalTimerHi => false,
        }
    }
}

impl Callee {
    /// Whether the machine provides it.
    pub fn is_provided(&self) -> bool {
        matches!(self, Callee::Provided(_))
    }
}

impl Special {
    /// Whether it is a clock or timer.
    pub fn is_clock(self) -> bool {
        use Special::*;
        match self {
            Clock | ClockHi | Clock64 | GlobalTimer | GlobalTimerLo | GlobalTimerHi => true,
            GridId | CurrentGraphExec | Pm(_) => false,
            Tid(_) | Ntid(_) | Ctaid(_) | Nctaid(_) | LaneId | WarpId | NwarpId | SmId | NsmId => false,
            LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => false,
            TotalSmemSize | AggrSmemSize | DynamicSmemSize | ReservedSmem(_) => false,
            ClusterId(_) | NclusterId(_) | ClusterCtaid(_) | ClusterNctaid(_) => false,
            ClusterCtarank | ClusterNctarank | IsExplicitCluster | EnvReg(_) => false,
        }
    }
}
