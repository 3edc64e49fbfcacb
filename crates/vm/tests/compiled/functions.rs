//! Random functions of the intermediate representation: all arithmetic forms and the operations of lowering, on any rows,
//! with guards, divergent branches out of nested ifs and loops, accesses, exchanges among lanes and barriers.

#[path = "functions/lanes.rs"]
mod lanes;
#[path = "functions/memory.rs"]
mod memory;

use crate::choices::Choices;
use crate::table::{Operand, arithmetic};
use softwarp_image::FunctionId;
use softwarp_ir::start::{Given, Start};
use softwarp_ir::{
    Alu, AluOp, Class, Function, Guard, Immediate, Op, ReadSpecial, Slot, Slots, Special, Step, Switch,
};
use softwarp_isa::Type;
use softwarp_isa::instruction::resolve;
use softwarp_syntax::Span;
use softwarp_units::alu::simple::{Extension, Field, Quotient, Simple};
use std::sync::Arc;

/// Constants of 32 bits. The first ones have at most 16.
const NARROW: [u32; 20] = [
    0,
    1,
    2,
    31,
    0x8000,
    0xffff,
    0x3c00,
    0x7c01,
    u32::MAX,
    0x8000_0000,
    0x7fff_ffff,
    0x7f80_0001,
    0x3f80_0000,
    32,
    128,
    STRIDE,
    4,
    0xfe0,
    0x1e0,
    1024,
];
const SHORT: u32 = 8;
const ZERO: Slot = Slot::narrow(0);
const ONE: Slot = Slot::narrow(1);
const TWO: Slot = Slot::narrow(2);
const MOST_THREADS: Slot = Slot::narrow(14);
const BYTES_OUT: Slot = Slot::narrow(15);
const FOUR: Slot = Slot::narrow(16);
const PLACES_IN: Slot = Slot::narrow(17);
const PLACES_SHARED: Slot = Slot::narrow(18);
const BYTES_SHARED: Slot = Slot::narrow(19);
/// The row with the address of shared memory, which is among the constants.
const SHARED: Slot = Slot::narrow(20);
const WIDE: [u64; 8] =
    [0, 1, u64::MAX, 1 << 63, 63, 0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0001, 0x1_0000_0000];

/// Rows that the launch gives.
const GIVEN: [Special; 6] = [
    Special::Tid(0),
    Special::Tid(1),
    Special::Ntid(0),
    Special::LaneId,
    Special::WarpId,
    Special::LanemaskLt,
];
const TID: [Slot; 2] = [Slot::narrow(21), Slot::narrow(22)];
const NTID: Slot = Slot::narrow(23);
const LANE: Slot = Slot::narrow(24);
const WARP: Slot = Slot::narrow(25);
const CTA: Slot = Slot::narrow(27);
/// Any values.
const FIRST: u32 = 28;
const COUNT: u32 = 8;
/// Values of 16 bits, with zeros above.
const FIRST_SHORT: u32 = FIRST + COUNT;
const SHORTS: u32 = 4;
/// Counters of loops, and addresses in shared memory: of the warp's part, and of the thread's in it.
const COUNTER: u32 = FIRST_SHORT + SHORTS;
const PART: Slot = Slot::narrow(COUNTER + 3);
const OWN_SHARED: Slot = Slot::narrow(COUNTER + 4);
const TEMPORARY: Slot = Slot::narrow(COUNTER + 5);
const THREAD: Slot = Slot::narrow(COUNTER + 6);
const NARROW_ROWS: u32 = COUNTER + 7;
/// Where in shared memory the words begin that threads exchange at barriers: behind the parts of four warps.
const FAR: u32 = 4096;

const IN: Slot = Slot::wide(8);
const OUT: Slot = Slot::wide(9);
const FIRST_WIDE: u32 = 10;
const WIDES: u32 = 5;
const OWN_IN: Slot = Slot::wide(FIRST_WIDE + WIDES);
const OWN_OUT: Slot = Slot::wide(FIRST_WIDE + WIDES + 1);
const ADDRESS: Slot = Slot::wide(FIRST_WIDE + WIDES + 2);
const WIDE_ROWS: u32 = FIRST_WIDE + WIDES + 3;

/// The carry flag is before them.
const FIRST_PREDICATE: u32 = 1;
const PREDICATES: u32 = 4;
const LOOP_PREDICATE: u32 = FIRST_PREDICATE + PREDICATES;
const UNUSED: Slot = Slot::predicate(LOOP_PREDICATE + 3);
const PREDICATE_ROWS: u32 = LOOP_PREDICATE + 4;

/// Bytes of the output of a thread: scratch memory, and its registers.
const STRIDE: u32 = 256;

/// The places in memory that a module has.
#[derive(Clone, Copy)]
pub struct Places {
    /// The kernel.
    pub function: FunctionId,
    /// The address of 8 KiB of shared memory.
    pub shared: u32,
    /// The address of 64 bytes of constants.
    pub constants: i64,
}

/// A construct around the statement.
struct Around {
    /// Branches to its end.
    leaving: Vec<usize>,
}

/// A generator of functions.
pub struct Generator<'a, 'b> {
    choices: &'a mut Choices<'b>,
    places: Places,
    ops: Vec<Op>,
    around: Vec<Around>,
    loops: u32,
    left: u32,
    /// Whether lanes may have ended: what others read of their registers is undefined.
    ended: bool,
}

/// A function.
pub fn function(choices: &mut Choices<'_>, places: Places) -> Function {
    let left = 12 + choices.below(60) as u32;
    let mut generator =
        Generator { choices, places, ops: Vec::new(), around: Vec::new(), loops: 0, left, ended: false };
    generator.begin();
    while generator.left > 0 && !generator.choices.are_spent() {
        generator.statement();
    }
    generator.end();
    let Generator { ops, choices, .. } = generator;
    finished(ops, choices, places)
}

/// An operation without effect.
pub fn nothing() -> Op {
    Op::Alu(Alu::simple(Simple::Truth(false), UNUSED, &[], Guard::ALWAYS))
}

/// The tables around the operations.
fn finished(ops: Vec<Op>, choices: &mut Choices<'_>, places: Places) -> Function {
    let mut narrow_constants: Vec<(u32, u32)> = (0..).zip(NARROW).collect();
    narrow_constants.push((SHARED.number(), places.shared));
    let specials = (TID[0].number()..).zip(GIVEN).map(|(row, special)| Given::Special(row, special));
    let given = specials.chain([Given::Wide(IN.number(), 0), Given::Wide(OUT.number(), 8)]).collect();
    let mut counted = 0;
    let mut instructions = vec![0];
    for op in &ops {
        let belongs = matches!(op, Op::Alu(_)) && choices.once_in(8);
        counted += u32::from(!belongs);
        instructions.push(counted);
    }
    Function {
        spans: (0..ops.len() as u32).map(|op| Span { start: op, end: op + 1 }).collect(),
        ops,
        instructions,
        narrow: NARROW_ROWS,
        wide: WIDE_ROWS,
        predicates: PREDICATE_ROWS,
        narrow_constants,
        wide_constants: (0..).zip(WIDE).collect(),
        shared_narrow: vec![(SHARED.number(), places.shared)],
        local_bytes: 64,
        start: Start { given, of_cta: vec![(CTA.number(), 0)], zeroed: None },
        ..Function::empty(places.function)
    }
}

/// The type of an instruction's operand, as rows have it.
fn class(ty: Type) -> Class {
    match ty {
        Type::Pred => Class::Predicate,
        _ if ty.bits() > 32 => Class::Wide,
        _ => Class::Narrow,
    }
}

impl Generator<'_, '_> {
    fn below(&mut self, count: u64) -> u64 {
        self.choices.below(count)
    }

    /// A row of any values, which may be written.
    fn register(&mut self) -> Slot {
        Slot::narrow(FIRST + self.below(u64::from(COUNT)) as u32)
    }

    fn short(&mut self) -> Slot {
        Slot::narrow(FIRST_SHORT + self.below(u64::from(SHORTS)) as u32)
    }

    fn wide(&mut self) -> Slot {
        Slot::wide(FIRST_WIDE + self.below(u64::from(WIDES)) as u32)
    }

    fn predicate(&mut self) -> Slot {
        Slot::predicate(FIRST_PREDICATE + self.below(u64::from(PREDICATES)) as u32)
    }

    /// A source of 32 bits.
    fn source(&mut self) -> Slot {
        match self.below(8) {
            0 | 1 => Slot::narrow(self.below(u64::from(SHARED.number())) as u32),
            2 => Slot::narrow(SHARED.number() + self.below(u64::from(FIRST - SHARED.number())) as u32),
            3 => self.short(),
            _ => self.register(),
        }
    }

    /// A source of a type.
    fn read(&mut self, ty: Type) -> Slot {
        match (class(ty), ty.bits()) {
            (Class::Predicate, _) => self.predicate(),
            (Class::Wide, _) if self.choices.once_in(4) => {
                Slot::wide(self.below(u64::from(FIRST_WIDE)) as u32)
            }
            (Class::Wide, _) => self.wide(),
            (Class::Narrow, 16) if self.choices.once_in(4) => {
                Slot::narrow(self.below(u64::from(SHORT)) as u32)
            }
            (Class::Narrow, 16) => self.short(),
            (Class::Narrow, _) => self.source(),
        }
    }

    /// A destination of a type.
    fn write(&mut self, ty: Type) -> Slot {
        match (class(ty), ty.bits()) {
            (Class::Predicate, _) => self.predicate(),
            (Class::Wide, _) => self.wide(),
            (Class::Narrow, ..=16) if !self.choices.once_in(4) => self.short(),
            (Class::Narrow, _) => self.register(),
        }
    }

    fn guard(&mut self) -> Guard {
        match self.below(6) {
            0 => Guard::new(self.predicate(), false),
            1 => Guard::new(self.predicate(), true),
            _ => Guard::ALWAYS,
        }
    }

    fn simple(&mut self, op: Simple, d: Slot, s: &[Slot]) {
        self.ops.push(Op::Alu(Alu::simple(op, d, s, Guard::ALWAYS)));
    }

    /// An instruction by its mnemonic.
    fn fixed(&mut self, mnemonic: &str, d: Slot, s: &[Slot], guard: Guard) {
        let mut words = mnemonic.split('.');
        let opcode = words.next().unwrap_or_default();
        let form = resolve(opcode, &words.collect::<Vec<_>>()).expect("a form of the table");
        let op = AluOp::Instruction(Arc::from(form), Immediate::None);
        self.ops.push(Op::Alu(Alu { op, d: Slots::of(&[d]), s: Slots::of(s), guard }));
    }

    fn step(&mut self, guard: Guard, step: Step) {
        self.ops.push(Op::Other(guard, Box::new(step)));
    }

    /// The addresses of a thread, and values to begin with.
    fn begin(&mut self) {
        self.addresses();
        for n in 0..COUNT {
            self.load_word(Slot::narrow(FIRST + n), 4 * i64::from(n));
        }
        for n in 0..SHORTS {
            let field = Simple::Extract32(Field { shift: n * 4, bits: 16 });
            self.simple(field, Slot::narrow(FIRST_SHORT + n), &[Slot::narrow(FIRST + n)]);
        }
        for n in 0..WIDES - 1 {
            let sources = [Slot::narrow(FIRST + n), Slot::narrow(FIRST + n + 1)];
            self.simple(Simple::Pack64(32), Slot::wide(FIRST_WIDE + n), &sources);
        }
        for n in 0..PREDICATES {
            let (d, a) = (Slot::predicate(FIRST_PREDICATE + n), Slot::narrow(FIRST + n));
            self.fixed("setp.lt.s32", d, &[a, Slot::narrow(FIRST + n + 2)], Guard::ALWAYS);
        }
    }

    /// A statement.
    fn statement(&mut self) {
        self.left = self.left.saturating_sub(1);
        match self.below(32) {
            0..=11 => self.arithmetic(),
            12..=15 => self.lowered(),
            16 => {
                let list = [
                    Special::LaneId,
                    Special::LanemaskGt,
                    Special::Tid(1),
                    Special::Ctaid(0),
                    Special::NsmId,
                ];
                let (register, d, guard) = (self.choices.pick(&list), self.register(), self.guard());
                self.step(guard, Step::Special(ReadSpecial { d, register }));
            }
            17..=22 => self.access(),
            23 | 24 => self.exchange(),
            25 if self.around.is_empty() => self.barrier(),
            26 | 27 if self.around.len() < 4 => self.branch(),
            28 if self.loops < 3 => self.repeat(),
            29 if self.around.len() < 4 => self.switch(),
            30 if !self.around.is_empty() => self.leave(),
            31 if self.choices.once_in(8) => self.finish(),
            _ => self.arithmetic(),
        }
    }

    /// An instruction of the table.
    fn arithmetic(&mut self) {
        let Some(found) = arithmetic(self.choices) else { return };
        let (mut d, mut s, mut immediate) = (Vec::new(), Vec::new(), Immediate::None);
        for operand in &found.operands {
            match *operand {
                Operand::Value { ty, written: true, .. } => d.push(self.write(ty)),
                Operand::Value { ty, .. } => s.push(self.read(ty)),
                Operand::Pair(first, second) => {
                    d.push(self.write(first));
                    d.push(self.write(second));
                }
                Operand::Vector(ty, count) => s.extend((0..count).map(|_| self.read(ty))),
                Operand::Lut(lut) => immediate = Immediate::Lut(lut),
            }
        }
        // Rows that are written twice by one operation have no defined value.
        if d.len() > 2 || s.len() > 5 || d.len() == 2 && d[0] == d[1] {
            return;
        }
        let (op, guard) = (AluOp::Instruction(found.form, immediate), self.guard());
        self.ops.push(Op::Alu(Alu { op, d: Slots::of(&d), s: Slots::of(&s), guard }));
    }

    /// One of lowering's own operations.
    fn lowered(&mut self) {
        let guard = self.guard();
        let (r, s, t) = (self.register(), self.source(), self.source());
        let (d, e, f) = (self.wide(), self.read(Type::B64), self.read(Type::B64));
        let (p, q) = (self.predicate(), self.predicate());
        let bits = 1 + self.below(32) as u32;
        let shift = self.below(u64::from(33 - bits)) as u32;
        let quotient = Quotient { ftz: self.choices.once_in(2), full: self.choices.once_in(2) };
        let (op, d, s) = match self.below(20) {
            0 => (Simple::Move32, r, vec![s]),
            1 => (Simple::Move64, d, vec![e]),
            2 => (Simple::MovePredicate, p, vec![q]),
            3 => (Simple::Not, p, vec![q]),
            4 => (Simple::Truth(self.choices.once_in(2)), p, vec![]),
            5 => (Simple::Extract32(Field { shift, bits }), r, vec![s]),
            6 => (
                Simple::Extract64(Field { shift: self.below(65 - u64::from(bits)) as u32, bits }),
                r,
                vec![e],
            ),
            7 => (Simple::Extract64(Field { shift: self.choices.pick(&[0, 32]), bits: 32 }), r, vec![e]),
            8 => (Simple::Pack32(16), r, vec![self.short(), self.short()]),
            9 => (Simple::Pack64(32), d, vec![s, t]),
            10 => (Simple::Pack64(16), d, (0..4).map(|_| self.short()).collect()),
            11 => {
                let from = self.choices.pick(&[8, 16, bits]);
                let to = self.choices.pick(&[32, 32, 16]);
                (Simple::Sign32(Extension { from: from.min(to), to }), r, vec![s])
            }
            12 => (
                Simple::Sign64(Extension { from: self.choices.pick(&[32, 32, 16, 8, 1]), to: 64 }),
                d,
                vec![s],
            ),
            13 => (Simple::Zero64, d, vec![s]),
            14 => (self.choices.pick(&[Simple::Add32, Simple::Sub32]), r, vec![s, t]),
            15 | 16 => (self.choices.pick(&[Simple::Add64, Simple::Sub64]), d, vec![e, f]),
            17 | 18 => {
                // Only their product is defined: which NaN a factor is, is left open.
                let factor = self.choices.pick(&[Simple::Dividend(quotient), Simple::Reciprocal(quotient)]);
                self.simple(factor, TEMPORARY, &[s, t]);
                return self.fixed("mul.f32", r, &[TEMPORARY, t], guard);
            }
            _ => {
                let size = Slot::wide(self.below(8) as u32);
                (Simple::Inside { inverted: self.choices.once_in(2) }, p, vec![e, f, size])
            }
        };
        self.ops.push(Op::Alu(Alu { op: AluOp::Simple(op), d: Slots::of(&[d]), s: Slots::of(&s), guard }));
    }

    fn branch_guard(&mut self) -> Guard {
        let predicate = self.predicate();
        if self.choices.once_in(3) {
            let (a, b) = (self.source(), self.source());
            self.fixed("setp.lt.u32", predicate, &[a, b], Guard::ALWAYS);
        }
        Guard::new(predicate, self.choices.once_in(2))
    }

    fn jump(&mut self, guard: Guard) -> usize {
        self.ops.push(Op::Branch(guard, 0));
        self.ops.len() - 1
    }

    /// Lets branches go to the next operation.
    fn land(&mut self, branches: &[usize]) {
        let here = self.ops.len() as u32;
        for &at in branches {
            match &mut self.ops[at] {
                Op::Branch(_, target) => *target = here,
                Op::Other(_, step) => {
                    if let Step::Switch(switch) = &mut **step {
                        switch.targets.push(here);
                    }
                }
                Op::Alu(_) => {}
            }
        }
    }

    fn block(&mut self) {
        self.around.push(Around { leaving: Vec::new() });
        for _ in 0..1 + self.below(5) {
            if self.left > 0 && !self.choices.are_spent() {
                self.statement();
            }
        }
    }

    /// Branches out of the innermost construct, which is left, go to the next operation.
    fn close(&mut self) {
        let Some(around) = self.around.pop() else { return };
        self.land(&around.leaving);
    }

    /// `if`, with or without `else`.
    fn branch(&mut self) {
        let guard = self.branch_guard();
        let skip = self.jump(guard);
        self.block();
        if self.choices.once_in(2) {
            let over = self.jump(Guard::ALWAYS);
            self.land(&[skip]);
            let before = self.around.pop();
            self.block();
            self.close();
            self.around.extend(before);
            self.land(&[over]);
        } else {
            self.land(&[skip]);
        }
        self.close();
    }

    /// A loop, as often as all lanes agree on, or as each lane says.
    fn repeat(&mut self) {
        let (counter, predicate) =
            (Slot::narrow(COUNTER + self.loops), Slot::predicate(LOOP_PREDICATE + self.loops));
        let r = self.register();
        match self.below(2) {
            0 => self.simple(Simple::Move32, counter, &[TWO]),
            _ => {
                self.simple(Simple::Extract32(Field { shift: 0, bits: 2 }), counter, &[r]);
                self.simple(Simple::Add32, counter, &[counter, ONE]);
            }
        }
        let start = self.ops.len() as u32;
        self.loops += 1;
        self.block();
        self.loops -= 1;
        self.simple(Simple::Sub32, counter, &[counter, ONE]);
        self.fixed("setp.ne.u32", predicate, &[counter, ZERO], Guard::ALWAYS);
        self.ops.push(Op::Branch(Guard::new(predicate, false), start));
        self.close();
    }

    /// A switch over up to four blocks, which fall through.
    fn switch(&mut self) {
        let (index, r) = (self.register(), self.source());
        self.simple(Simple::Extract32(Field { shift: 0, bits: 2 }), index, &[r]);
        let guard = self.guard();
        self.step(guard, Step::Switch(Switch { index, targets: Vec::new() }));
        let at = self.ops.len() - 1;
        self.around.push(Around { leaving: Vec::new() });
        for _ in 0..4 {
            self.land(&[at]);
            self.block();
            self.close();
        }
        self.close();
    }

    /// Leaves a construct around it.
    fn leave(&mut self) {
        let guard = self.branch_guard();
        let at = self.jump(guard);
        let from = self.below(self.around.len() as u64) as usize;
        self.around[from].leaving.push(at);
    }

    /// Some lanes end, or the program does with a fault.
    fn finish(&mut self) {
        let guard = self.branch_guard();
        self.ended = true;
        let step = match self.below(8) {
            0 => Step::Trap,
            1..=4 => Step::Exit,
            _ => Step::Return,
        };
        self.step(guard, step);
    }

    /// Stores all registers.
    fn end(&mut self) {
        for n in 0..COUNT + SHORTS {
            self.store_word(Slot::narrow(FIRST + n), 64 + 4 * i64::from(n));
        }
        for n in 0..PREDICATES {
            let predicate = Slot::predicate(FIRST_PREDICATE + n);
            self.fixed("selp.b32", TEMPORARY, &[ONE, ZERO, predicate], Guard::ALWAYS);
            self.store_word(TEMPORARY, 128 + 4 * i64::from(n));
        }
        for n in 0..WIDES {
            self.store_word(Slot::wide(FIRST_WIDE + n), 160 + 8 * i64::from(n));
        }
        self.step(Guard::ALWAYS, Step::Return);
    }
}
