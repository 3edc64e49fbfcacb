//! Registers that were not written: which lanes of which rows are undefined, and where that matters.
//!
//! As in MemorySanitizer, an undefined value may be copied and computed with; what comes of it is undefined, too. It is
//! reported where it decides something: in an address, as a guard, as an operand that says what an instruction does, and
//! where it is written to global or shared memory. Compilers leave registers undefined on paths that do not use them, and
//! merge them with others; that is no mistake.
//!
//! A row has a bit for each lane, and one register that it comes from. The rows are those of the machine: registers that
//! share one are never live together, and one that may be read before it is written has its row to itself from the start
//! of the function on ([`softwarp_lower::allocate`](crate::lower)).
//!
//! The halves of a register are told apart, since compilers pack and unpack values; parameters and results of functions
//! are followed, a word at a time.
//!
//! Not followed: values that go through memory count as defined when they are loaded, and single bits of a register are
//! not told apart.

use super::RegisterUse;
use super::bounds::TAGGED;
use softwarp_image::Window;
use softwarp_ir::MatrixOp;
use softwarp_ir::defined::{CONSTANT, Effect, GIVEN, Table, Uses};
use softwarp_ir::matrix::{FragmentLoad, FragmentStore, LoadMatrix, StoreMatrix, WgmmaFactor};
use softwarp_ir::{Access, Alu, AluOp, Memory, Op, Slot, Step, WarpOp, WarpOpKind};
use softwarp_units::alu::simple::Simple;
use softwarp_units::lanes::{Frame, LANES, lanes};

/// The cause of an undefined value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A register that was not written: the function's code, and an index into the origins of its table.
    Register(u32, u32),
    /// A shuffle: the function's code, and the operation.
    Shuffle(u32, u32),
}

/// The cause in rows where nothing is undefined.
const NOTHING: Cause = Cause::Register(u32::MAX, 0);

/// Lanes for which the low and the high half of a row are undefined.
type Halves = [u32; 2];

/// An undefined register, used where it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Misuse {
    pub(crate) cause: Cause,
    pub(crate) usage: RegisterUse,
    pub(crate) lanes: u32,
}

/// The registers of a call: which are undefined.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    code: u32,
    undefined: Vec<Halves>,
    /// The cause of each row.
    causes: Vec<Cause>,
    /// The lanes for which each word of the parameters is undefined, and what it comes from.
    parameters: Vec<(u32, Cause)>,
    /// Whether any lane of any row may be undefined.
    any: bool,
}

impl Shadow {
    /// A call begins.
    pub(crate) fn start(&mut self, code: u32, table: Option<&Table>) {
        self.code = code;
        self.undefined.clear();
        self.causes.clear();
        self.parameters.clear();
        self.any = false;
        let Some(table) = table else { return };
        self.undefined.resize(table.rows as usize, [0; 2]);
        self.causes.resize(table.rows as usize, NOTHING);
        self.parameters.resize(table.parameter_bytes.div_ceil(4) as usize, (0, NOTHING));
        for &(row, origin) in &table.start {
            self.undefined[row as usize] = [u32::MAX; 2];
            self.causes[row as usize] = Cause::Register(code, origin);
            self.any = true;
        }
    }

    /// Copies what is known of parameters of some lanes from another call: from, to, how many bytes.
    pub(crate) fn pass(&mut self, other: &Shadow, (from, to, bytes): (u64, u64, u64), lanes: u32) {
        for word in 0..bytes.div_ceil(4) {
            let &(undefined, cause) = match other.parameters.get((from / 4 + word) as usize) {
                Some(known) => known,
                None => &(0, NOTHING),
            };
            if let Some(known) = self.parameters.get_mut((to / 4 + word) as usize) {
                known.0 = known.0 & !lanes | undefined & lanes;
                if undefined & lanes != 0 {
                    known.1 = cause;
                    self.any = true;
                }
            }
        }
    }

    fn halves(&self, row: u32) -> Halves {
        self.undefined.get(row as usize).copied().unwrap_or([0; 2])
    }

    fn of(&self, row: u32) -> u32 {
        let [low, high] = self.halves(row);
        low | high
    }

    /// The cause for which one of some rows is undefined in one of some lanes.
    fn cause(&self, rows: &[u32], lanes: u32) -> Cause {
        let row = rows.iter().find(|&&row| self.of(row) & lanes != 0);
        row.and_then(|&row| self.causes.get(row as usize).copied()).unwrap_or(NOTHING)
    }

    fn set(&mut self, row: u32, undefined: u32, lanes: u32, cause: Cause) {
        self.set_halves(row, [undefined; 2], lanes, cause);
    }

    fn set_halves(&mut self, row: u32, undefined: Halves, lanes: u32, cause: Cause) {
        if row <= GIVEN {
            return;
        }
        let Some(halves) = self.undefined.get_mut(row as usize) else { return };
        for (bits, undefined) in halves.iter_mut().zip(undefined) {
            *bits = *bits & !lanes | undefined & lanes;
            if undefined & lanes != 0 {
                self.causes[row as usize] = cause;
                self.any = true;
            }
        }
    }

    /// Whether one of some rows is undefined for lanes that use it. It counts as defined from then on: it is told once.
    fn misused(&mut self, rows: &[u32], taking: u32, usage: RegisterUse) -> Option<Misuse> {
        let &row = rows.iter().find(|&&row| self.of(row) & taking != 0)?;
        let lanes = self.of(row) & taking;
        let cause = self.causes.get(row as usize).copied().unwrap_or(NOTHING);
        self.undefined[row as usize] = [0; 2];
        Some(Misuse { cause, usage, lanes })
    }

    /// An operation is about to be executed by the lanes of `mask` that pass its guard.
    pub(crate) fn step(
        &mut self,
        table: &Table,
        at: usize,
        op: &Op,
        frame: &Frame,
        mask: u32,
        local: Window,
    ) -> Option<Misuse> {
        if !self.any {
            return None;
        }
        let uses = table.uses(at);
        let misused = uses.guard.and_then(|row| self.misused(&[row], mask, RegisterUse::Guard));
        let taking = op.guard().lanes(frame, mask);
        let step = match op {
            Op::Branch(..) => return misused,
            Op::Alu(alu) => {
                self.compute(&uses, (alu, table), frame, taking);
                return misused;
            }
            Op::Other(_, step) => &**step,
        };
        misused.or_else(|| self.other(&uses, step, (frame, local), taking))
    }

    /// Computes which results of arithmetic are undefined.
    fn compute(&mut self, uses: &Uses<'_>, (alu, table): (&Alu, &Table), frame: &Frame, taking: u32) {
        let whole = |undefined: u32| [undefined; 2];
        let any = |rows: &[u32]| rows.iter().fold(0, |any, &row| any | self.of(row));
        let undefined = match (uses.effect, uses.reads) {
            (Effect::Select, &[a, b, p]) => {
                let holds = alu.s.get(2).map_or(0, |predicate| frame.predicate(predicate));
                let (a, b, p) = (self.halves(a), self.halves(b), self.of(p));
                [0, 1].map(|half| p | a[half] & holds | b[half] & !holds)
            }
            (Effect::Difference, &[a, b]) if a == b => [0; 2],
            (Effect::All, reads) => {
                let mut registers = reads.iter().filter(|&&row| row != CONSTANT).peekable();
                match registers.peek() {
                    None => [0; 2],
                    Some(_) => whole(registers.fold(u32::MAX, |all, &row| all & self.of(row))),
                }
            }
            (Effect::Move, &[a]) => match alu.op {
                AluOp::Simple(Simple::Extract32(field) | Simple::Extract64(field)) => {
                    let half = if table.wide.contains(&a) { 32 } else { 16 };
                    whole(self.halves(a)[usize::from(field.shift >= half)])
                }
                AluOp::Simple(Simple::Sign32(_) | Simple::Sign64(_)) => whole(self.halves(a)[0]),
                _ => self.halves(a),
            },
            (Effect::Move, pieces) => {
                let (low, high) = pieces.split_at(pieces.len() / 2);
                [any(low), any(high)]
            }
            (Effect::Halves, reads) => reads.iter().fold([0; 2], |any, &row| {
                let halves = self.halves(row);
                [any[0] | halves[0], any[1] | halves[1]]
            }),
            (Effect::Low, &[a]) => whole(self.halves(a)[0]),
            (_, reads) => whole(any(reads)),
        };
        let lanes = (undefined[0] | undefined[1]) & taking;
        let cause = if lanes == 0 { NOTHING } else { self.cause(uses.reads, lanes) };
        for &row in uses.writes {
            self.set_halves(row, undefined, taking, cause);
        }
    }

    fn define(&mut self, uses: &Uses<'_>, taking: u32) {
        uses.writes.iter().for_each(|&row| self.set(row, 0, taking, NOTHING));
    }

    /// Everything that is no arithmetic.
    fn other(
        &mut self,
        uses: &Uses<'_>,
        step: &Step,
        (frame, local): (&Frame, Window),
        taking: u32,
    ) -> Option<Misuse> {
        let reads = uses.reads;
        let (bases, data) = reads.split_at(uses.bases.min(reads.len()));
        let misused = match step {
            Step::Load(access) if access.address.memory == Memory::Function => {
                return self.load_parameters(uses, access, taking);
            }
            Step::Load(_) => self.misused(bases, taking, RegisterUse::Address),
            Step::Store(access) if access.address.memory == Memory::Function => {
                return self.store_parameters(uses, access, taking);
            }
            Step::Store(access) => {
                let wrong = self.misused(bases, taking, RegisterUse::Address);
                let private =
                    matches!(access.address.memory, Memory::Local | Memory::Frame | Memory::Function);
                // A generic address may be in a thread's own memory.
                let stored = match access.address.memory {
                    Memory::Generic => taking & !in_local(frame, access.address.base, local),
                    _ if private => 0,
                    _ => taking,
                };
                wrong.or_else(|| self.misused(data, stored, RegisterUse::Stored))
            }
            Step::Atomic(_) => {
                let wrong = self.misused(bases, taking, RegisterUse::Address);
                wrong.or_else(|| self.misused(data, taking, RegisterUse::Stored))
            }
            Step::Barrier(_) | Step::Switch(_) | Step::Alloca(_) | Step::StackRestore(_) => {
                self.misused(reads, taking, RegisterUse::Operand)
            }
            Step::Call(_) => self.misused(reads, taking, RegisterUse::Address),
            Step::Warp(op) => return self.among_lanes(uses, op, taking),
            Step::Matrix(op) => return self.matrix(uses, op, frame, taking),
            Step::Asynchronous(_) | Step::Multimem(_) => self.misused(bases, taking, RegisterUse::Address),
            _ => None,
        };
        self.define(uses, taking);
        misused
    }

    /// Parameters are written: what is undefined remains so.
    fn store_parameters(&mut self, uses: &Uses<'_>, access: &Access, taking: u32) -> Option<Misuse> {
        if access.address.base.is_some() {
            return None;
        }
        let mut at = access.address.offset as u64;
        for &row in uses.reads {
            let (undefined, cause) = (self.of(row), self.cause(&[row], u32::MAX));
            for word in at / 4..(at + u64::from(access.bytes)).div_ceil(4) {
                if let Some(known) = self.parameters.get_mut(word as usize) {
                    // Of words that are written in part, any part counts.
                    let part = access.bytes < 4 && !at.is_multiple_of(4);
                    let before = if part { known.0 } else { known.0 & !taking };
                    known.0 = before | undefined & taking;
                    if undefined & taking != 0 {
                        known.1 = cause;
                    }
                }
            }
            at += u64::from(access.bytes);
        }
        None
    }

    /// Parameters are read.
    fn load_parameters(&mut self, uses: &Uses<'_>, access: &Access, taking: u32) -> Option<Misuse> {
        let mut at = access.address.offset as u64;
        let words = access.address.base.is_none() && access.bytes >= 4;
        let rows = usize::from(access.bytes > 8) + 1;
        for registers in uses.writes.chunks(rows) {
            let range = at / 4..(at + u64::from(access.bytes)).div_ceil(4);
            let known = range.filter_map(|word| self.parameters.get(word as usize)).filter(|_| words);
            let (mut undefined, mut cause) = (0, NOTHING);
            for &(lanes, of) in known {
                undefined |= lanes;
                cause = if lanes != 0 { of } else { cause };
            }
            registers.iter().for_each(|&row| self.set(row, undefined, taking, cause));
            at += u64::from(access.bytes);
        }
        None
    }

    /// An operation among lanes; shuffles are checked when they are performed.
    fn among_lanes(&mut self, uses: &Uses<'_>, op: &WarpOp, taking: u32) -> Option<Misuse> {
        let (members, sources) = uses.reads.split_at(usize::from(op.members.is_some()).min(uses.reads.len()));
        let misused = self.misused(members, taking, RegisterUse::Operand);
        if is_shuffle(op.op) {
            return misused;
        }
        // The value of one lane goes to all others.
        let any = sources.iter().fold(0, |any, &row| any | self.of(row)) & taking;
        let cause = self.cause(sources, any);
        let undefined = if any != 0 { taking } else { 0 };
        uses.writes.iter().for_each(|&row| self.set(row, undefined, taking, cause));
        misused
    }

    /// A shuffle was done by some lanes of this call: the lane that each took its value from, and those lanes that have
    /// one. Values of lanes that do not take part are undefined.
    pub(crate) fn shuffled(
        &mut self,
        table: &Table,
        at: usize,
        has_row: bool,
        (mask, present): (u32, u32),
        (sources, found): ([u32; LANES], u32),
    ) {
        let uses = table.uses(at);
        let &[_, a, ..] = uses.reads else { return };
        let before = self.of(a);
        let source = |lane: usize| sources[lane] % LANES as u32;
        let absent = lanes(mask & found).filter(|&lane| present >> source(lane) & 1 == 0);
        let absent = absent.fold(0, |lanes, lane| lanes | 1 << lane);
        let copied = lanes(mask).filter(|&lane| before >> source(lane) & 1 == 1);
        let copied = copied.fold(0, |lanes, lane| lanes | 1u32 << lane) & !absent;
        let shuffle = Cause::Shuffle(self.code, at as u32);
        let cause = if absent != 0 { shuffle } else { self.cause(&[a], before) };
        // The row, then the predicate, which says only whether the lane was in range.
        for (index, &row) in uses.writes.iter().enumerate() {
            self.set(row, if has_row && index == 0 { absent | copied } else { 0 }, mask, cause);
        }
    }

    /// Matrices. What is undefined in C is undefined in the same place of D; of factors, only registers count that no
    /// lane has written.
    fn matrix(&mut self, uses: &Uses<'_>, op: &MatrixOp, frame: &Frame, taking: u32) -> Option<Misuse> {
        let reads = uses.reads;
        match op {
            MatrixOp::Mma(op) => {
                let (a, b, c) = (op.a.len(), op.b.len(), op.c.len());
                let factors = reads.get(..a + b).unwrap_or(&[]);
                let sums = reads.get(a + b..a + b + c).unwrap_or(&[]);
                self.product(factors, sums, uses.writes, taking);
                None
            }
            MatrixOp::Wgmma(op) => {
                let a = match &op.a {
                    WgmmaFactor::Registers(slots) => slots.len(),
                    WgmmaFactor::Descriptor(_) => 0,
                };
                let d = op.c.len();
                let factors = reads.get(d..d + a).unwrap_or(&[]);
                // Without the sum, what D held before does not matter.
                let adds = frame.predicate(op.adds) & taking != 0;
                let sums = if adds { reads.get(..d).unwrap_or(&[]) } else { &[] };
                let descriptors = reads.get(d + a..).unwrap_or(&[]);
                let misused = self.misused(descriptors, taking, RegisterUse::Operand);
                self.product(factors, sums, uses.writes, taking);
                misused
            }
            MatrixOp::Transpose(_) => {
                self.product(reads, &[], uses.writes, taking);
                None
            }
            MatrixOp::Load(LoadMatrix { row: address, .. })
            | MatrixOp::Store(StoreMatrix { row: address, .. })
            | MatrixOp::FragmentLoad(FragmentLoad { address, .. })
            | MatrixOp::FragmentStore(FragmentStore { address, .. }) => {
                // The base of the address comes first.
                let (base, data) = reads.split_at(usize::from(address.base.is_some()).min(reads.len()));
                let wrong = self.misused(base, taking, RegisterUse::Address);
                let stores = matches!(op, MatrixOp::Store(_) | MatrixOp::FragmentStore(_));
                let stored = if stores { taking } else { 0 };
                let misused = wrong.or_else(|| self.misused(data, stored, RegisterUse::Stored));
                self.define(uses, taking);
                misused
            }
        }
    }

    fn product(&mut self, factors: &[u32], sums: &[u32], writes: &[u32], taking: u32) {
        let missing = factors.iter().find(|&&row| taking != 0 && self.of(row) & taking == taking).copied();
        let sums: Vec<(u32, Cause)> =
            sums.iter().map(|&row| (self.of(row), self.cause(&[row], taking))).collect();
        for (index, &row) in writes.iter().enumerate() {
            let (undefined, cause) = match missing {
                Some(factor) => (taking, self.cause(&[factor], taking)),
                None => sums.get(index).copied().unwrap_or((0, NOTHING)),
            };
            self.set(row, undefined, taking, cause);
        }
    }
}

/// The lanes whose generic address may be in their own memory.
fn in_local(frame: &Frame, base: Option<Slot>, local: Window) -> u32 {
    let Some(base) = base else { return 0 };
    let wide = base.is_wide();
    let row = if wide { frame.row::<u64>(base) } else { frame.row::<u32>(base).map(u64::from) };
    // With tags, the window is larger.
    let size = if wide { TAGGED } else { local.size };
    let inside = |lane: usize| row[lane].wrapping_sub(local.base) < size;
    (0..LANES).fold(0, |mask, lane| mask | u32::from(inside(lane)) << lane)
}

/// Whether an operation among lanes is a shuffle.
pub(crate) fn is_shuffle(op: WarpOpKind) -> bool {
    use WarpOpKind::{ShflBfly, ShflDown, ShflIdx, ShflUp};
    matches!(op, ShflUp | ShflDown | ShflBfly | ShflIdx)
}
