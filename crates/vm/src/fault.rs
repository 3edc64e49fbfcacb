//! What stops a launch: bad accesses, traps, deadlocks, limits; and everything needed to say where.

use crate::host_memory::Refused;
use softwarp_image::FunctionId;
use softwarp_ir::Memory;
use softwarp_syntax::Span;
use softwarp_units::mbarrier::Misuse;
use softwarp_units::texture::Geometry;

/// A launch that was stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The kernel that was launched.
    pub kernel: String,
    /// The place, unless the fault concerns the launch as a whole.
    pub place: Option<Place>,
    /// If the launch reached a limit or was cancelled: where warps were, of some of those that had begun.
    pub running: Vec<Place>,
    /// Of a bad access by a load, a store or an atomic operation: what the registers that the instruction reads held in
    /// the thread of the place.
    pub registers: Vec<Held>,
}

/// What a register of an instruction held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Where the register stands in the instruction.
    pub operand: HeldIn,
    /// How many bits it has.
    pub bits: u8,
    /// Its bits.
    pub value: u64,
}

/// Where a register stands in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldIn {
    /// In the address, in brackets.
    Address,
    /// Among the data behind the address, counted through vectors.
    Data(u32),
}

/// The place of a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The function.
    pub function: FunctionId,
    /// Its name.
    pub function_name: String,
    /// The module that defines it: an index into the modules that were loaded together.
    pub unit: u32,
    /// The instruction.
    pub span: Span,
    /// `%ctaid`
    pub cta: [u32; 3],
    /// `%tid` of the first thread concerned.
    pub thread: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
    /// The lanes of the warp that executed the instruction.
    pub lanes: u32,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// An access to memory that must not be.
    Access(Box<BadAccess>),
    /// `trap`
    Trap,
    /// `brkpt`, which ends a launch where no debugger is attached.
    Breakpoint,
    /// `__assertfail`: what was asserted, and where in the source.
    Assert {
        /// The expression.
        message: String,
        /// The source file.
        file: String,
        /// Its line.
        line: u32,
        /// The function in the source.
        function: String,
    },
    /// Nothing can go on: every thread that is left waits at a barrier.
    Deadlock(Vec<Waiting>),
    /// A barrier that does not exist.
    NoBarrier(u32),
    /// A barrier's count that is zero or not a multiple of the warp's size, where it must be.
    BarrierCount(u32),
    /// A thread arrives at the cluster's barrier again before it has completed.
    ArrivesTwice,
    /// An mbarrier was used as it must not be.
    Mbarrier {
        /// Its address in `.shared`.
        address: u64,
        /// The variable that it is, or is in.
        nearest: Option<Nearest>,
        /// The error.
        misuse: Misuse,
    },
    /// A copy that the hardware refuses.
    Copy {
        /// The rule's name: one of [`COPY_RULES`] or of a tensor copy's; `softwarp explain` knows both.
        rule: &'static str,
        /// How it was broken.
        message: String,
    },
    /// A use of tensor memory or of a descriptor that the hardware refuses, or for which no behaviour is defined.
    TensorCore(String),
    /// Calls or stack variables took more than there is.
    StackOverflow,
    /// A call through a pointer that is not the address of a function that can be called.
    NoFunction(u64),
    /// `brx.idx` with an index past its list.
    NoTarget {
        /// The index.
        index: u32,
        /// How many targets there are.
        targets: u32,
    },
    /// `free` of what `malloc` did not give, or gave and was freed.
    BadFree(u64),
    /// A texture, sampler or surface that cannot be used so.
    Texture(Box<BadTexture>),
    /// The launch needs more host memory than there is, or than its limit allows.
    OutOfMemory {
        /// The thing that needs it.
        what: &'static str,
        /// How many bytes.
        bytes: u64,
        /// Bytes that are in use.
        used: u64,
        /// Bytes that may be in use.
        most: u64,
    },
    /// More instructions than the launch was allowed.
    StepLimit,
    /// More time than the launch was allowed.
    TimeLimit,
    /// The host asked it to stop.
    Cancelled,
}

/// An error in the use of a texture, sampler or surface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The words say what the fields are; names are those of variables, or `handle 0x…`.
pub enum BadTexture {
    /// Nothing is bound to a variable.
    Unbound { name: String },
    /// A number that stands for nothing.
    NoHandle { handle: u64, wanted: &'static str },
    /// The handle stands for another kind of object.
    Kind { name: String, is: &'static str, wanted: &'static str },
    /// The geometry is not that of the instruction.
    Geometry { name: String, is: Geometry, wanted: Geometry },
    /// `.trap`: coordinates that are outside. The first counts bytes, or texels of a formatted access.
    OutOfRange { name: String, coordinates: Vec<i32>, size: Vec<u32> },
    /// A surface's first coordinate that is not a multiple of the access.
    Misaligned { name: String, x: i32, bytes: u32 },
    /// The memory that the texture shows was freed.
    Freed { name: String },
    /// Nothing is bound that could answer, and the initialiser does not say.
    NoAnswer { name: String, member: &'static str },
}

/// The rules of copies that are no rules of tensors, by name, and what each says.
pub const COPY_RULES: &[(&str, &str)] = &[
    ("copy-size", "a bulk copy moves a multiple of 16 bytes, and st.bulk writes a multiple of 8"),
    ("copy-map", "a tensor map is 128 bytes that encode one, in .param, .const or .global memory"),
];

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Use {
    Read,
    Write,
    Atomic,
}

/// An error of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not, or not wholly, in memory that exists.
    OutOfBounds,
    /// The address is not a multiple of the access's size.
    Misaligned,
    /// The memory cannot be written.
    ReadOnly,
    /// The memory was freed.
    Freed,
    /// The memory had the variables of a module that was unloaded.
    Unloaded,
    /// The operation does not exist in that state space.
    WrongSpace,
    /// The address stands for several places, and the instruction is not one for that.
    Multicast,
    /// The address does not stand for several places, and the instruction is one for that.
    NotMulticast,
    /// The address is in the shared memory of another CTA, which `.shared::cluster` reaches and `.shared` does not.
    OtherCta,
    /// The address is in the shared memory of a CTA that the cluster has not.
    NoCta,
    /// The address is in the shared memory of a CTA that has ended.
    Ended,
}

/// An access that must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct BadAccess {
    /// The error.
    pub problem: Problem,
    /// Whether it read or wrote.
    pub usage: Use,
    /// The state space: never generic, but what the address means.
    pub space: Memory,
    /// The address in that space.
    pub address: u64,
    /// The address as a generic one, where the access was generic.
    pub generic: Option<u64>,
    /// Bytes that one thread accesses.
    pub bytes: u32,
    /// The variable that the instruction names, or the thing that is nearest to the address.
    pub nearest: Option<Nearest>,
}

/// A thing in memory that is near an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// The kind of thing, with its name.
    pub what: What,
    /// Its first address.
    pub base: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The beginning of the access relative to it.
    pub at: Relative,
    /// It has been freed.
    pub freed: bool,
}

/// A thing in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A variable of the module or function.
    Variable(String),
    /// Memory that the host allocated.
    Allocation,
    /// Memory that `malloc` gave.
    Heap,
    /// A CTA's shared memory.
    Shared,
    /// A thread's stack.
    Stack,
    /// The kernel's parameters.
    Parameters,
}

/// The position of an address relative to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relative {
    /// A given number of bytes before its first.
    Before(u64),
    /// A given number of bytes past its first.
    Inside(u64),
    /// A given number of bytes past its last; 0 is right behind it.
    After(u64),
}

impl Relative {
    /// The position of an address relative to a range.
    pub(crate) fn of(address: u64, base: u64, bytes: u64) -> Relative {
        match address.checked_sub(base) {
            None => Relative::Before(base - address),
            Some(inside) if inside < bytes => Relative::Inside(inside),
            Some(past) => Relative::After(past - bytes),
        }
    }
}

/// Threads that wait at a barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The place of the threads.
    pub place: Place,
    /// At which barrier; `None` for one of the cluster, and where it is an mbarrier.
    pub barrier: Option<u32>,
    /// At which mbarrier.
    pub mbarrier: Option<AwaitedMbarrier>,
    /// How many threads the barrier has counted, and how many it waits for.
    pub arrived: u32,
    /// How many it waits for.
    pub expected: u32,
}

/// An mbarrier that threads poll, and that no running thread can complete.
#[derive(Clone, Debug, PartialEq)]
pub struct AwaitedMbarrier {
    /// Its address in `.shared`.
    pub address: u64,
    /// The variable that it is, or is in.
    pub nearest: Option<Nearest>,
    /// Whether it was initialised, and not invalidated since.
    pub initialised: bool,
    /// The parity of the phase that is not complete.
    pub parity: u32,
    /// Arrivals that are missing.
    pub pending: u32,
    /// Arrivals that a phase expects.
    pub expected: u32,
    /// Bytes that are missing.
    pub bytes: i64,
}

impl std::fmt::Display for AwaitedMbarrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", Named(self.address, self.nearest.as_ref()))?;
        if !self.initialised {
            return write!(f, ", which was not initialised");
        }
        let Self { parity, pending, expected, bytes, .. } = self;
        write!(f, ", whose phase of parity {parity} lacks {pending} of {expected} arrivals and {bytes} bytes")
    }
}

/// An mbarrier by its name and address.
struct Named<'a>(u64, Option<&'a Nearest>);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Named(address, nearest) = self;
        match nearest {
            Some(Nearest { what: What::Variable(name), at: Relative::Inside(0), .. }) => {
                write!(f, "mbarrier `{name}` at .shared address 0x{address:x}")
            }
            Some(Nearest { what: What::Variable(name), at: Relative::Inside(bytes), .. }) => {
                write!(f, "mbarrier {bytes} bytes into `{name}`, at .shared address 0x{address:x}")
            }
            _ => write!(f, "mbarrier at .shared address 0x{address:x}"),
        }
    }
}

/// A fault while its place is still to be said, by the warp: the first lane concerned, and what.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) lane: usize,
    pub(crate) kind: FaultKind,
}

impl Trouble {
    pub(crate) fn new(lane: usize, kind: FaultKind) -> Box<Trouble> {
        Box::new(Trouble { lane, kind })
    }
}

pub(crate) type Tried<T> = Result<T, Box<Trouble>>;

impl FaultKind {
    /// The fault of a request that the account of host memory refused.
    pub(crate) fn out_of_memory(what: &'static str, refused: Refused) -> FaultKind {
        let Refused { bytes, used, most } = refused;
        FaultKind::OutOfMemory { what, bytes, used, most }
    }

    /// Whether it concerns the launch as a whole: one of its limits, or a request to stop.
    pub fn is_limit(&self) -> bool {
        matches!(self, FaultKind::StepLimit | FaultKind::TimeLimit | FaultKind::Cancelled)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(place) = &self.place {
            let ([cx, cy, cz], [tx, ty, tz]) = (place.cta, place.thread);
            write!(
                f,
                ", in thread ({tx},{ty},{tz}) of CTA ({cx},{cy},{cz}), function `{}`",
                place.function_name
            )?;
        }
        write!(f, ", kernel `{}`", self.kernel)
    }
}

impl std::error::Error for Fault {}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FaultKind::Access(bad) => write!(f, "{bad}"),
            FaultKind::Trap => write!(f, "trap"),
            FaultKind::Breakpoint => write!(f, "breakpoint"),
            FaultKind::Assert { message, file, line, function } => {
                write!(f, "assertion `{message}` failed at {file}:{line} in {function}")
            }
            FaultKind::Deadlock(waiting) => match waiting.first() {
                Some(Waiting { mbarrier: Some(mbarrier), .. }) => {
                    write!(f, "deadlock: no thread can go on; one waits for {mbarrier}")
                }
                Some(Waiting { barrier: Some(barrier), arrived, expected, .. }) => write!(
                    f,
                    "deadlock: no thread can go on; barrier {barrier} has {arrived} of {expected} threads"
                ),
                Some(Waiting { arrived, expected, .. }) => write!(
                    f,
                    "deadlock: no thread can go on; the cluster's barrier has {arrived} of {expected} threads"
                ),
                None => write!(f, "deadlock: no thread can go on"),
            },
            FaultKind::NoBarrier(number) => write!(f, "there is no barrier {number}: they are 0 to 15"),
            FaultKind::BarrierCount(count) => {
                write!(f, "a barrier cannot wait for {count} threads: the count must be a multiple of 32")
            }
            FaultKind::ArrivesTwice => {
                write!(f, "a thread arrives at the cluster's barrier twice before it has completed")
            }
            FaultKind::Mbarrier { address, nearest, misuse } => {
                write!(f, "{}: {misuse}", Named(*address, nearest.as_ref()))
            }
            FaultKind::Copy { rule, message } => write!(f, "{message} [{rule}]"),
            FaultKind::TensorCore(message) => write!(f, "{message}"),
            FaultKind::StackOverflow => write!(f, "stack overflow"),
            FaultKind::NoFunction(address) => {
                write!(f, "call of 0x{address:x}, which is not the address of a function")
            }
            FaultKind::NoTarget { index, targets } => {
                write!(f, "brx.idx with index {index}: its list has {targets} targets")
            }
            FaultKind::BadFree(address) => write!(f, "free of 0x{address:x}, which malloc did not give"),
            FaultKind::Texture(bad) => write!(f, "{bad}"),
            FaultKind::OutOfMemory { what, bytes, used, most } => write!(
                f,
                "out of host memory: {what} need{} {bytes} bytes more, and {used} of at most {most} are in use",
                if what.ends_with('s') { "" } else { "s" }
            ),
            FaultKind::StepLimit => write!(f, "stopped: the limit on instructions was reached"),
            FaultKind::TimeLimit => write!(f, "stopped: the time limit was reached"),
            FaultKind::Cancelled => write!(f, "stopped on request"),
        }
    }
}

impl std::fmt::Display for BadTexture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |numbers: &[String]| numbers.join(",");
        match self {
            BadTexture::Unbound { name } => write!(f, "nothing is bound to `{name}`"),
            BadTexture::NoHandle { handle, wanted } => {
                write!(
                    f,
                    "0x{handle:x} is not the handle of {wanted}, nor the address of a variable that has one"
                )
            }
            BadTexture::Kind { name, is, wanted } => write!(f, "`{name}` is {is}, not {wanted}"),
            BadTexture::Geometry { name, is, wanted } => {
                write!(f, "`{name}` is .{}, and the instruction .{}", is.name(), wanted.name())
            }
            BadTexture::OutOfRange { name, coordinates, size } => {
                let coordinates: Vec<String> = coordinates.iter().map(i32::to_string).collect();
                let size: Vec<String> = size.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "access of surface `{name}` at ({}) is out of range: it has ({})",
                    list(&coordinates),
                    list(&size)
                )
            }
            BadTexture::Misaligned { name, x, bytes } => {
                write!(f, "access of surface `{name}` at x = {x} is misaligned: it is of {bytes} bytes")
            }
            BadTexture::Freed { name } => write!(f, "the memory that texture `{name}` shows was freed"),
            BadTexture::NoAnswer { name, member } => {
                write!(f, "nothing is bound to `{name}`, and its initialiser does not give `{member}`")
            }
        }
    }
}

impl std::fmt::Display for BadAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let usage = match self.usage {
            Use::Read => "read",
            Use::Write => "write",
            Use::Atomic => "atomic access",
        };
        let problem = match self.problem {
            Problem::OutOfBounds => "out of bounds",
            Problem::Misaligned => "misaligned",
            Problem::ReadOnly => "of read-only memory",
            Problem::Freed => "of freed memory",
            Problem::Unloaded => "of a module that was unloaded",
            Problem::WrongSpace => "in a state space that has none",
            Problem::Multicast => "of multicast memory, which only `multimem` instructions reach",
            Problem::NotMulticast => "not at a multimem address",
            Problem::OtherCta => "in another CTA, which only `.shared::cluster` reaches",
            Problem::NoCta => "in no CTA of the cluster",
            Problem::Ended => "in a CTA of the cluster that has ended",
        };
        let space = space_name(self.space);
        write!(f, "{usage} of {} bytes at {space} address 0x{:x} is {problem}", self.bytes, self.address)?;
        let Some(nearest) = &self.nearest else { return Ok(()) };
        match nearest.at {
            Relative::Before(bytes) => write!(f, ": {bytes} bytes before ")?,
            Relative::Inside(bytes) => write!(f, ": {bytes} bytes into ")?,
            Relative::After(0) => write!(f, ": right behind ")?,
            Relative::After(bytes) => write!(f, ": {bytes} bytes behind ")?,
        }
        nearest.write_name(f)?;
        write!(f, ", which has {} bytes", nearest.bytes)
    }
}

impl Nearest {
    /// Writes the name of the variable or allocation.
    pub(crate) fn write_name(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.what {
            What::Variable(name) => write!(f, "`{name}`"),
            What::Allocation => write!(f, "the allocation at 0x{:x}", self.base),
            What::Heap => write!(f, "the block that malloc gave at 0x{:x}", self.base),
            What::Shared => write!(f, "the CTA's shared memory"),
            What::Stack => write!(f, "the thread's stack"),
            What::Parameters => write!(f, "the parameters"),
        }
    }
}

/// A state space's name with its dot; `generic` for a generic address.
pub fn space_name(space: Memory) -> &'static str {
    match space {
        Memory::Generic => "generic",
        Memory::Global => ".global",
        Memory::Constant => ".const",
        Memory::Shared | Memory::Cluster => ".shared",
        Memory::Local | Memory::Frame => ".local",
        Memory::Kernel | Memory::Function => ".param",
    }
}
