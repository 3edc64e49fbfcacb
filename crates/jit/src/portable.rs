//! CPUs without code generation: nothing is compiled, and the interpreter runs everything.

use crate::context::{Call, Context, Done, Entry, Lanes, POLLS, Region, SITES};
use crate::{Shape, Wanted};
use softwarp_ir::Function;
use softwarp_units::lanes::Frame;

/// A compiled function. There is none.
#[derive(Debug)]
pub enum Compiled {}

/// Room that compiled code works in.
#[derive(Debug)]
pub struct Scratch {
    sites: Box<[Region; SITES]>,
    /// Lanes that wait.
    pub waiting: Vec<Lanes>,
    /// The polls that are left.
    pub polls_left: u32,
    /// Whether lanes have waited during a whole call.
    pub kept_waiting: bool,
    /// The warps of a CTA.
    pub entries: Vec<Entry>,
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            sites: Box::new([Region::EMPTY; SITES]),
            waiting: Vec::new(),
            polls_left: POLLS,
            kept_waiting: false,
            entries: Vec::new(),
        }
    }
}

impl Scratch {
    /// Regions by site.
    pub fn sites(&mut self) -> &mut [Region; SITES] {
        &mut self.sites
    }

    /// Forgets what it knows of a launch.
    pub fn clear(&mut self) {
        self.sites.fill(Region::EMPTY);
        self.waiting.clear();
        self.entries.clear();
    }

    /// Where the shared memory of the last call is in the host's memory.
    pub fn shared_host(&self) -> u64 {
        0
    }
}

/// What instructions belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The code that is called.
    Frame,
    /// An operation, in code that all lanes execute together.
    Uniform(u32),
    /// An operation, in code that some lanes execute.
    Masked(u32),
    /// Entries, exits, and rare cases.
    Rest,
}

/// A line of a listing.
#[derive(Clone, Debug)]
pub struct Line {
    /// What the instruction belongs to.
    pub part: Part,
    /// Its offset from the start of the code.
    pub offset: u64,
    /// How many bytes it takes.
    pub length: u64,
    /// The instruction.
    pub text: String,
}

/// Compiles nothing.
pub fn compile(_: &Function, _: Shape, _: Wanted) -> Option<Compiled> {
    None
}

/// What a caller allows for a compilation.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The most bytes of memory.
    pub memory: u64,
    /// Whether it is to be given up.
    pub stop: &'a dyn Fn() -> bool,
}

/// Why a function was not compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The same would come out again.
    Never,
    /// The caller has asked to give it up.
    Stopped,
}

/// Compiles nothing.
pub fn compile_within(_: &Function, _: Shape, _: Wanted, _: Limits<'_>) -> Result<Compiled, Refused> {
    Err(Refused::Never)
}

/// Compiles nothing.
pub fn listing(_: &Function, _: Shape) -> Option<Vec<Line>> {
    None
}

impl Context {
    /// The frame of the warp that runs. None does.
    pub fn frame(&self) -> *mut Frame {
        std::ptr::null_mut()
    }
}

impl Compiled {
    /// Whether code can be entered at an operation.
    pub fn has_entry(&self, _: usize) -> bool {
        match *self {}
    }

    /// The site of an access.
    pub fn site(&self, _: usize) -> usize {
        match *self {}
    }

    /// Whether lanes that have diverged can be run.
    pub fn has_masked(&self) -> bool {
        match *self {}
    }

    /// How many bytes of code there are.
    pub fn len(&self) -> usize {
        match *self {}
    }

    /// How many steps of work its compilation took.
    pub fn steps(&self) -> u64 {
        match *self {}
    }

    /// The next operation behind one at which code can be entered.
    pub fn next_entry(&self, _: usize) -> usize {
        match *self {}
    }

    /// Prepares calls of [`Compiled::run`].
    pub fn prepare(&self, _: &mut Scratch, _: &Call) {
        match *self {}
    }

    /// Sets where a warp is entered.
    pub fn enter_at(&self, _: &mut Entry, _: &[Lanes]) -> bool {
        match *self {}
    }

    /// Sets where warps are entered.
    pub fn enter_together(&self, _: &mut [Entry]) -> bool {
        match *self {}
    }

    /// Completes the rows of a frame.
    pub fn complete(&self, _: &mut Entry, _: &mut Frame) {
        match *self {}
    }

    /// Completes the frame of a warp that was to be entered and is not.
    pub fn complete_unentered(&self, _: &Entry, _: &mut Frame) -> bool {
        match *self {}
    }

    /// Writes what is in registers to the rows of a frame.
    pub fn write_registers(&self, _: &Scratch, _: &Entry, _: &mut Frame) {
        match *self {}
    }

    /// Runs code.
    ///
    /// # Safety
    /// There is none to run.
    pub unsafe fn run(&self, _: &mut Scratch, _: &mut [Entry], _: bool, _: i64) -> Done {
        match *self {}
    }
}
