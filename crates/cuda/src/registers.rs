//! How many registers a thread of a kernel has, as far as that can be said here.
//!
//! On a GPU the assembler decides it. Here is an estimate from the values that are live at once, with the habits of ptxas
//! that count in small kernels: a value begins at an even register, parameters are read from constant memory where an
//! instruction allows it, a load does not overwrite its address, and two registers are the system's.
//!
//! Launches are limited by another number, which no assembler can go below: the values that were loaded and are needed
//! again on the other side of an operation that memory accesses cannot be moved across.

use softwarp::ir::start::Given;
use softwarp::ir::{Access, Alu, AluOp, Class, Function, Guard, Memory, Op, Role, Slot, Special, Step};
use softwarp::isa::instruction::Opcode;
use softwarp::vm::tuning::Tuning;

/// The fewest registers of a kernel: the stack pointer, one more, and two of the system's.
const FEWEST: u32 = 4;

/// The fewest of a kernel that calls functions.
const FEWEST_WITH_CALLS: u32 = 24;

/// The most registers of a thread.
pub const MOST: u32 = 255;

/// Registers of a multiprocessor.
const ALL: u32 = 65536;

/// Functions with more operations are not looked at in detail.
const MOST_OPERATIONS: usize = 1 << 18;

/// What is known of a kernel's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The estimate.
    pub count: u32,
    /// What a thread needs in any case.
    pub least: u32,
}

impl Default for Registers {
    fn default() -> Registers {
        Registers { count: FEWEST, least: FEWEST }
    }
}

impl Registers {
    /// The same where directives or options limit what the assembler may use. It stores values in local memory then.
    pub fn limited(self, directives: &Tuning, asked: Option<u32>) -> Registers {
        let said = directives.most_registers.map(|most| u32::try_from(most).unwrap_or(MOST));
        let asked = [asked, said].into_iter().flatten().filter(|&most| most > 0).min();
        let asked = asked.map_or(MOST, |most| most.clamp(FEWEST, MOST));
        let (bound, least) = match directives.most_threads {
            Some(threads) => (most_for(threads), self.least.min(most_for(threads))),
            None => (MOST, self.least),
        };
        let least = least.min(asked);
        // A count that would limit launches is given only if it must be.
        let free = most_for(1024).max(least);
        let free = if directives.most_threads.is_some() { bound } else { free };
        Registers { count: self.count.min(bound).min(asked).min(free), least }
    }

    /// The most threads of a block.
    pub fn most_threads(self) -> u64 {
        u64::from(warps(self.least)) * 32
    }
}

/// Warps that a multiprocessor has room for if each thread has a number of registers.
pub fn warps(registers: u32) -> u32 {
    let each = registers.clamp(1, MOST + 1).next_multiple_of(8) * 32;
    ALL / each / 4 * 4
}

/// The most registers that threads of a block of a given size can have.
pub fn most_for(threads: u64) -> u32 {
    let warps = u32::try_from(threads.div_ceil(32)).unwrap_or(32).clamp(1, 32).next_multiple_of(4);
    (ALL / (warps * 32) / 8 * 8).min(MOST)
}

/// The registers of a kernel: that of its functions which is first.
pub fn of<'a>(functions: impl Iterator<Item = &'a Function>) -> Registers {
    let mut functions = functions;
    let Some(kernel) = functions.next() else { return Registers::default() };
    let calls =
        kernel.ops.iter().any(|op| matches!(op, Op::Other(_, step) if matches!(**step, Step::Call(_))));
    let fewest = if calls { FEWEST_WITH_CALLS } else { FEWEST };
    if kernel.ops.len() > MOST_OPERATIONS {
        let words = kernel.narrow.saturating_add(kernel.wide.saturating_mul(2));
        return Registers { count: words.clamp(fewest, MOST), least: FEWEST };
    }
    let values = Values::of(kernel);
    let pressure = values.pressure(kernel);
    let count = pressure.registers().clamp(fewest, MOST);
    let least = (values.kept(kernel) + 2).clamp(FEWEST, MOST);
    Registers { count: count.max(least), least }
}

/// What is live at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pressure {
    narrow: u32,
    wide: u32,
}

impl Pressure {
    fn registers(self) -> u32 {
        match (self.narrow, self.wide) {
            (0 | 1, 0) => FEWEST,
            // Each value begins at an even register for as long as there are few.
            (narrow, wide) => FEWEST + 2 * (narrow + wide),
        }
    }

    /// The count of narrow or wide values.
    fn of_kind(&mut self, is_wide: bool) -> &mut u32 {
        if is_wide { &mut self.wide } else { &mut self.narrow }
    }
}

/// A set of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rows(Vec<u64>);

impl Rows {
    fn new(count: usize) -> Rows {
        Rows(vec![0; count.div_ceil(64)])
    }

    fn has(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 != 0)
    }

    /// Adds a row; whether it is new.
    fn add(&mut self, row: usize) -> bool {
        let Some(word) = self.0.get_mut(row / 64) else { return false };
        let is_new = *word >> (row % 64) & 1 == 0;
        *word |= 1 << (row % 64);
        is_new
    }

    fn remove(&mut self, row: usize) -> bool {
        let was = self.has(row);
        if let Some(word) = self.0.get_mut(row / 64) {
            *word &= !(1 << (row % 64));
        }
        was
    }

    /// Adds all rows of another set; whether that changes anything.
    fn add_all(&mut self, other: &Rows) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        changed
    }
}

/// Which rows are values that need registers: not constants, nor parameters that are read where they are.
struct Values {
    narrow: usize,
    count: usize,
    /// Rows that need none.
    free: Rows,
}

/// What an operation reads and writes.
#[derive(Default)]
struct Uses {
    reads: Vec<Slot>,
    addresses: Vec<Slot>,
    writes: Vec<Slot>,
}

fn uses(op: &Op) -> Uses {
    let mut uses = Uses::default();
    op.clone().visit(|slot, role| match role {
        Role::Read => uses.reads.push(*slot),
        Role::Address => uses.addresses.push(*slot),
        Role::Write => uses.writes.push(*slot),
    });
    uses
}

/// Whether the result of an operation is not read, since a row that the launch gives has it.
fn is_unread(function: &Function, at: usize) -> bool {
    function.forwarded.unread.get(at).copied().unwrap_or(false)
}

fn step(op: &Op) -> Option<&Step> {
    match op {
        Op::Other(_, step) => Some(step),
        _ => None,
    }
}

/// The access of an operation to memory that has addresses in registers.
fn access(op: &Op) -> Option<(&Access, bool)> {
    let is_memory = |access: &&Access| {
        !matches!(access.address.memory, Memory::Kernel | Memory::Function | Memory::Constant)
    };
    match step(op)? {
        Step::Load(load) => Some(load).filter(is_memory).map(|load| (load, true)),
        Step::Store(store) => Some(store).filter(is_memory).map(|store| (store, false)),
        _ => None,
    }
}

impl Values {
    fn of(function: &Function) -> Values {
        let (narrow, wide) = (function.narrow as usize, function.wide as usize);
        let mut values = Values { narrow, count: narrow + wide, free: Rows::new(narrow + wide) };
        for &(row, _) in &function.narrow_constants {
            values.free.add(row as usize);
        }
        for &(row, _) in &function.wide_constants {
            values.free.add(narrow + row as usize);
        }
        let mut parameters = Rows::new(values.count);
        for given in &function.start.given {
            match *given {
                Given::Special(row, register) => {
                    // What is the same for all threads of a block is in registers of another kind.
                    if !matches!(register, Special::Tid(_) | Special::LaneId) {
                        values.free.add(row as usize);
                    }
                }
                Given::Narrow(row, _) => {
                    parameters.add(row as usize);
                }
                Given::Wide(row, _) => {
                    parameters.add(narrow + row as usize);
                }
            }
        }
        for &(row, _) in &function.start.of_cta {
            values.free.add(row as usize);
        }
        values.spare_parameters(function, &mut parameters);
        values
    }

    /// A parameter needs a register if it is an address, or stored, or added to another address.
    fn spare_parameters(&mut self, function: &Function, parameters: &mut Rows) {
        for (at, op) in function.ops.iter().enumerate() {
            if is_unread(function, at) {
                continue;
            }
            let used = uses(op);
            let needs_all = match op {
                Op::Alu(alu) => adds_addresses(alu),
                Op::Other(..) => true,
                Op::Branch(..) => false,
            };
            let reads = used.reads.iter().filter(|_| needs_all);
            for &slot in used.addresses.iter().chain(reads) {
                if let Some(row) = self.row(slot) {
                    parameters.remove(row);
                }
            }
        }
        self.free.add_all(parameters);
    }

    /// The number of a row among all; none for predicates.
    fn row(&self, slot: Slot) -> Option<usize> {
        match slot.class() {
            Class::Narrow => Some(slot.number() as usize),
            Class::Wide => Some(self.narrow + slot.number() as usize),
            Class::Predicate => None,
        }
    }

    /// The number of a row that is a value.
    fn value(&self, slot: Slot) -> Option<usize> {
        self.row(slot).filter(|&row| !self.free.has(row))
    }

    /// Goes over an operation backwards: what is live behind it becomes what is live before it.
    fn before(&self, op: &Op, uses: &Uses, live: &mut Rows, now: &mut Pressure) {
        if op.guard() == Guard::ALWAYS {
            for row in uses.writes.iter().filter_map(|&slot| self.value(slot)) {
                *now.of_kind(row >= self.narrow) -= u32::from(live.remove(row));
            }
        }
        for row in uses.reads.iter().chain(&uses.addresses).filter_map(|&slot| self.value(slot)) {
            *now.of_kind(row >= self.narrow) += u32::from(live.add(row));
        }
    }

    /// What is live behind each block.
    fn live_out(&self, function: &Function, flow: &Flow) -> Vec<Rows> {
        let mut live = vec![Rows::new(self.count); flow.starts.len()];
        let mut rest: Vec<usize> = (0..flow.starts.len() - 1).collect();
        let mut waiting = vec![true; flow.starts.len()];
        while let Some(block) = rest.pop() {
            waiting[block] = false;
            let mut rows = live[block].clone();
            let mut now = self.count(&rows);
            for at in (flow.starts[block]..flow.starts[block + 1]).rev() {
                if !is_unread(function, at) {
                    self.before(&function.ops[at], &uses(&function.ops[at]), &mut rows, &mut now);
                }
            }
            for &before in &flow.predecessors[block] {
                if live[before].add_all(&rows) && !waiting[before] {
                    waiting[before] = true;
                    rest.push(before);
                }
            }
        }
        live
    }

    fn count(&self, live: &Rows) -> Pressure {
        let mut pressure = Pressure::default();
        for row in (0..self.count).filter(|&row| live.has(row)) {
            *pressure.of_kind(row >= self.narrow) += 1;
        }
        pressure
    }

    /// The most that is live at once.
    fn pressure(&self, function: &Function) -> Pressure {
        let flow = Flow::of(function);
        let live_out = self.live_out(function, &flow);
        let mut most = Pressure::default();
        for (bounds, live) in flow.starts.windows(2).zip(live_out) {
            let mut now = self.count(&live);
            let mut live = live;
            for at in (bounds[0]..bounds[1]).rev() {
                if is_unread(function, at) {
                    continue;
                }
                let op = &function.ops[at];
                let used = uses(op);
                let here = self.at(op, &used, &live, now);
                if here.registers() > most.registers() {
                    most = here;
                }
                self.before(op, &used, &mut live, &mut now);
            }
        }
        most
    }

    /// What an operation needs at once, with what is live behind it.
    fn at(&self, op: &Op, used: &Uses, behind: &Rows, mut here: Pressure) -> Pressure {
        let mut more = Vec::new();
        let access = access(op);
        // A load does not overwrite its address.
        let addresses = used.addresses.iter().filter(|_| access.is_some());
        for row in used.writes.iter().chain(addresses).filter_map(|&slot| self.value(slot)) {
            if !behind.has(row) && !more.contains(&row) {
                more.push(row);
                *here.of_kind(row >= self.narrow) += 1;
            }
        }
        if let Some((access, is_load)) = access {
            here.wide += u32::from(access.address.base.is_none() && access.address.memory == Memory::Global);
            let is_constant = |slot: &Slot| self.row(*slot).is_some_and(|row| self.free.has(row));
            here.narrow += u32::from(!is_load && used.reads.iter().any(is_constant));
        }
        here
    }

    /// Words that were loaded and are needed again behind an operation that accesses cannot be moved across, at most.
    fn kept(&self, function: &Function) -> u32 {
        // Fewer rows than that never limit a launch.
        if function.narrow + 2 * function.wide <= most_for(1024) {
            return 0;
        }
        let flow = Flow::of(function);
        let live_out = self.live_out(function, &flow);
        let bounds = flow.starts.windows(2).zip(&live_out);
        bounds.map(|(bounds, live)| self.kept_in(function, bounds[0]..bounds[1], live)).max().unwrap_or(0)
    }

    /// The same in one block.
    fn kept_in(&self, function: &Function, block: std::ops::Range<usize>, live_out: &Rows) -> u32 {
        // For each row, the load that wrote it and the last operation that read it since.
        let mut loaded: Vec<Option<(usize, usize)>> = vec![None; self.count];
        let mut changes = vec![0i64; block.len() + 1];
        let words = |row: usize| if row < self.narrow { 1 } else { 2 };
        let mut close = |row: usize, span: (usize, usize)| {
            // Between its load and its last use it is in registers.
            if span.1 > span.0 {
                changes[span.0 + 1 - block.start] += words(row);
                changes[span.1 - block.start] -= words(row);
            }
        };
        for at in block.clone() {
            if is_unread(function, at) {
                continue;
            }
            let op = &function.ops[at];
            let used = uses(op);
            for row in used.reads.iter().chain(&used.addresses).filter_map(|&slot| self.value(slot)) {
                if let Some(span) = &mut loaded[row] {
                    span.1 = at;
                }
            }
            for row in used.writes.iter().filter_map(|&slot| self.value(slot)) {
                if let Some(span) = loaded[row].take() {
                    close(row, span);
                }
                loaded[row] = access(op).is_some_and(|(_, is_load)| is_load).then_some((at, at));
            }
        }
        for (row, span) in loaded.into_iter().enumerate() {
            if let Some((from, last)) = span {
                let until = if live_out.has(row) { block.end } else { last };
                close(row, (from, until));
            }
        }
        let (mut now, mut most) = (0, 0);
        for at in block.clone() {
            now += changes[at - block.start];
            if is_fixed(&function.ops[at]) {
                most = most.max(now);
            }
        }
        u32::try_from(most).unwrap_or(0)
    }
}

/// Whether an operation is a sum of 64 bits, as addresses are.
fn adds_addresses(alu: &Alu) -> bool {
    let is_sum = match &alu.op {
        AluOp::Instruction(form, _) => matches!(form.opcode, Opcode::Add | Opcode::Sub | Opcode::Mad),
        AluOp::Simple(_) => false,
    };
    is_sum && alu.d.iter().any(|slot| slot.is_wide())
}

/// Whether accesses to memory cannot be moved across an operation.
fn is_fixed(op: &Op) -> bool {
    match step(op) {
        Some(Step::Load(access) | Step::Store(access)) => access.order.is_strong(),
        Some(Step::Atomic(_) | Step::Barrier(_) | Step::Fence(_)) => true,
        _ => false,
    }
}

/// The control flow of a function.
struct Flow {
    /// The first operation of each block, and the number of operations.
    starts: Vec<usize>,
    predecessors: Vec<Vec<usize>>,
}

impl Flow {
    fn of(function: &Function) -> Flow {
        let count = function.ops.len();
        let mut leads = vec![false; count + 1];
        leads[0] = true;
        for (at, op) in function.ops.iter().enumerate() {
            let to = op.targets();
            to.iter().for_each(|&target| leads[(target as usize).min(count)] = true);
            leads[at + 1] |= !to.is_empty() || op.ends_block();
        }
        let mut starts: Vec<usize> = (0..count).filter(|&at| leads[at]).collect();
        starts.push(count);
        let mut predecessors = vec![Vec::new(); starts.len()];
        for block in 0..starts.len() - 1 {
            let op = &function.ops[starts[block + 1] - 1];
            for &target in op.targets() {
                if let Ok(to) = starts.binary_search(&(target as usize)) {
                    predecessors[to].push(block);
                }
            }
            if !op.ends_block() {
                predecessors[block + 1].push(block);
            }
        }
        Flow { starts, predecessors }
    }
}
