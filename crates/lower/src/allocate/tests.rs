//! Random programs, run lane by lane on virtual registers and all lanes together, in any order, on the rows that
//! these were given: every operation must read the same.

use super::*;
use softwarp_ir::{Alu, AluOp, Class, Slots, Step, Switch};
use softwarp_num::splitmix::SplitMix64;
use softwarp_units::alu::simple::Simple;
use std::collections::HashMap;

const LANES: usize = 3;

/// Which operation it is makes no difference to allocation.
const ANY: AluOp = AluOp::Simple(Simple::Move32);

/// A virtual register as a slot.
fn slot(registers: &[Virtual], number: usize) -> Slot {
    let class = match registers[number] {
        Virtual::Narrow | Virtual::NarrowConstant(_) => Class::Narrow,
        Virtual::Wide | Virtual::Pair | Virtual::High | Virtual::WideConstant(_) => Class::Wide,
        Virtual::Predicate => Class::Predicate,
    };
    Slot::new(class, number as u32)
}

/// A program of random operations and branches. Which register is what is random, too.
fn program(random: &mut SplitMix64) -> (Vec<Op>, Vec<Virtual>) {
    let mut registers = Vec::new();
    for _ in 0..2 + random.below(12) {
        match random.below(6) {
            0 => registers.push(Virtual::Wide),
            1 => registers.extend([Virtual::Pair, Virtual::High]),
            2 | 3 => registers.push(Virtual::Predicate),
            _ => registers.push(Virtual::Narrow),
        }
    }
    registers.push(Virtual::NarrowConstant(0));
    let any = |random: &mut SplitMix64| slot(&registers, random.below(registers.len()));
    let written = |random: &mut SplitMix64| loop {
        let register = any(random);
        if !matches!(registers[register.number() as usize], Virtual::NarrowConstant(_) | Virtual::High) {
            return register;
        }
    };
    let predicates: Vec<u32> =
        (0..registers.len() as u32).filter(|&n| registers[n as usize] == Virtual::Predicate).collect();
    let count = 3 + random.below(24);
    let mut ops = Vec::new();
    for _ in 0..count {
        let guard = match predicates.is_empty() || random.below(3) == 0 {
            true => Guard::ALWAYS,
            false => {
                let predicate = predicates[random.below(predicates.len())];
                Guard::new(Slot::predicate(predicate), random.below(2) == 0)
            }
        };
        let target = random.below(count) as u32;
        ops.push(match random.below(9) {
            0 | 1 => Op::Branch(guard, target),
            2 => {
                let step = if random.below(3) == 0 {
                    Step::Return
                } else {
                    let targets = (0..3).map(|_| random.below(count) as u32).collect();
                    Step::Switch(Switch { index: any(random), targets })
                };
                Op::Other(guard, Box::new(step))
            }
            _ => {
                let guard = if random.below(4) > 0 { Guard::ALWAYS } else { guard };
                let sources: Vec<Slot> = (0..random.below(4)).map(|_| any(random)).collect();
                let mut d = vec![written(random)];
                let second = written(random);
                if random.below(4) == 0 && second != d[0] {
                    d.push(second);
                }
                Op::Alu(Alu { op: ANY, d: Slots::of(&d), s: Slots::of(&sources), guard })
            }
        });
    }
    ops.push(Op::Other(Guard::ALWAYS, Box::new(Step::Return)));
    (ops, registers)
}

/// The slots of an operation, in the order of [`visit`].
fn slots_of(op: &Op) -> Vec<(u32, Role)> {
    let mut slots = Vec::new();
    op.clone().visit(|slot, role| slots.push((slot.number(), role)));
    slots
}

/// Storage by kind of row and slot.
type Store = HashMap<(u8, u32), u64>;

/// Where a virtual register that was given this slot keeps its value.
fn cells(register: Virtual, slot: u32) -> Vec<(u8, u32)> {
    match register {
        Virtual::Narrow | Virtual::NarrowConstant(_) => vec![(0, slot)],
        Virtual::Wide | Virtual::High | Virtual::WideConstant(_) => vec![(1, slot)],
        Virtual::Pair => vec![(1, slot), (1, slot + 1)],
        Virtual::Predicate => vec![(2, slot)],
    }
}

/// A lane: where it is, and what it has read so far.
struct Lane {
    at: u32,
    steps: usize,
    store: Store,
    read: Vec<u64>,
}

impl Lane {
    fn new() -> Lane {
        Lane { at: 0, steps: 0, store: Store::new(), read: Vec::new() }
    }

    fn is_done(&self) -> bool {
        self.at == u32::MAX || self.steps > 200
    }

    /// One operation. `allocated` says where registers are; `ops` what they are.
    fn step(&mut self, lane: usize, ops: &[Op], allocated: &[Op], registers: &[Virtual]) {
        let n = self.at as usize;
        self.steps += 1;
        let operands = slots_of(&ops[n]);
        let places = slots_of(&allocated[n]);
        let mut values = Vec::new();
        for (&(register, role), &(slot, _)) in operands.iter().zip(&places) {
            if role.is_read() {
                let cells = cells(registers[register as usize], slot);
                let value = cells.iter().map(|cell| self.store.get(cell).copied().unwrap_or(0));
                values.push(value.fold(0u64, |sum, one| sum.wrapping_mul(31).wrapping_add(one)));
            }
        }
        self.read.extend(&values);
        let is = ops[n].guard();
        let passes = match is {
            Guard::ALWAYS => true,
            // The guard is read first.
            guard => (values[0] & 1 == 1) != guard.is_negated(),
        };
        self.at += 1;
        if !passes {
            return;
        }
        let mut hash = SplitMix64::new(
            values.iter().fold(n as u64 + 7 * lane as u64, |sum, one| sum.wrapping_mul(3) ^ one),
        );
        match &ops[n] {
            Op::Branch(_, target) => self.at = *target,
            Op::Other(_, step) => match &**step {
                Step::Switch(switch) => self.at = switch.targets[hash.below(switch.targets.len())],
                _ => self.at = u32::MAX,
            },
            Op::Alu(_) => {
                for (&(register, role), &(slot, _)) in operands.iter().zip(&places) {
                    if role == Role::Write {
                        for cell in cells(registers[register as usize], slot) {
                            let value = hash.next_u64() >> 32;
                            self.store.insert(cell, value);
                        }
                    }
                }
            }
        }
    }
}

/// Each virtual register in a place of its own.
fn apart(ops: &[Op]) -> Vec<Op> {
    let mut ops = ops.to_vec();
    ops.iter_mut().for_each(|op| op.visit(|slot, _| *slot = slot.with_number(10 + 2 * slot.number())));
    ops
}

/// Where a half of a pair is its pair's second cell, also while each register is in a place of its own.
fn without_halves(ops: &mut [Op], registers: &[Virtual]) {
    for op in ops {
        op.visit(|slot, _| {
            if registers[slot.number() as usize] == Virtual::High {
                *slot = slot.with_number(slot.number() - 1);
            }
        });
    }
}

#[test]
fn random_programs_read_the_same_from_shared_rows() {
    let mut random = SplitMix64::new(1);
    let mut saved = 0;
    for case in 0..4000 {
        let (mut ops, registers) = program(&mut random);
        without_halves(&mut ops, &registers);
        let mut allocated = ops.clone();
        let steps = if case % 3 == 0 { 0 } else { MOST_STEPS };
        let hulls = hulls_within(&mut allocated, &registers, steps);
        let (slots, rows) = assign(&hulls, &registers, ConstantRows { narrow: 1, wide: 0 });
        for op in &mut allocated {
            op.visit(|slot, _| *slot = slot.with_number(slots[slot.number() as usize]));
        }
        saved += registers.len().saturating_sub((rows.narrow + rows.wide + rows.predicates - 1) as usize);
        let mut lanes: Vec<Lane> = (0..LANES).map(|_| Lane::new()).collect();
        while lanes.iter().any(|lane| !lane.is_done()) {
            let lane = random.below(LANES);
            if !lanes[lane].is_done() {
                lanes[lane].step(lane, &ops, &allocated, &registers);
            }
        }
        let apart = apart(&ops);
        for (number, lane) in lanes.iter().enumerate() {
            let mut alone = Lane::new();
            while !alone.is_done() {
                alone.step(number, &ops, &apart, &registers);
            }
            assert_eq!(lane.read, alone.read, "case {case}, lane {number}: {ops:?} became {allocated:?}");
        }
    }
    assert!(saved > 4000, "rows are shared: {saved} saved");
}

/// An operation on rows of 32-bit words.
fn alu(d: u32, s: &[u32]) -> Op {
    let sources: Vec<Slot> = s.iter().map(|&source| Slot::narrow(source)).collect();
    Op::Alu(Alu { op: ANY, d: Slots::of(&[Slot::narrow(d)]), s: Slots::of(&sources), guard: Guard::ALWAYS })
}

#[test]
fn a_chain_of_values_takes_one_row() {
    let registers = vec![Virtual::Narrow; 100];
    let mut ops: Vec<Op> = (1..100).map(|n| alu(n, &[n - 1])).collect();
    // The first is read before it is written, so it is live from the start, and zero.
    let rows =
        allocate(&mut ops, &registers, ConstantRows::default(), (Sharing::Rows, false), Names::default).rows;
    assert_eq!(rows, Rows { narrow: 1, wide: 0, predicates: 1 });
    // For a debugger, each value stays.
    let mut ops: Vec<Op> = (1..100).map(|n| alu(n, &[n - 1])).collect();
    let apart =
        allocate(&mut ops, &registers, ConstantRows::default(), (Sharing::None, false), Names::default);
    assert_eq!(apart.rows, Rows { narrow: 100, wide: 0, predicates: 1 });
    let mut slots = apart.slots;
    slots.sort_unstable();
    assert_eq!(slots, (0..100).collect::<Vec<u32>>());
}

#[test]
fn what_a_loop_carries_keeps_its_row_through_the_loop() {
    // 0 and 1 are carried; 2 lives inside.
    let registers = vec![Virtual::Narrow; 3];
    let mut ops = vec![
        alu(0, &[]),
        alu(1, &[]),
        alu(2, &[0]),
        alu(0, &[2]),
        alu(1, &[1, 0]),
        Op::Branch(Guard::new(Slot::predicate(3), false), 2),
        alu(1, &[1]),
    ];
    let mut registers = registers;
    registers.push(Virtual::Predicate);
    let rows =
        allocate(&mut ops, &registers, ConstantRows::default(), (Sharing::Rows, false), Names::default).rows;
    assert_eq!(rows, Rows { narrow: 3, wide: 0, predicates: 2 });
}

#[test]
fn a_write_under_a_guard_keeps_what_was_there() {
    let registers = vec![Virtual::Narrow, Virtual::Narrow, Virtual::Predicate];
    let mut guarded = alu(1, &[]);
    if let Op::Alu(inst) = &mut guarded {
        inst.guard = Guard::new(Slot::predicate(2), false);
    }
    // 1 is zero in lanes that do not pass, so nothing may be in its row before.
    let mut ops = vec![alu(0, &[]), alu(0, &[0]), guarded, alu(0, &[1])];
    let rows =
        allocate(&mut ops, &registers, ConstantRows::default(), (Sharing::Rows, false), Names::default).rows;
    assert_eq!(rows.narrow, 2);
}

#[test]
fn pairs_are_two_rows_that_follow_one_another() {
    let registers = vec![Virtual::Wide, Virtual::Pair, Virtual::High, Virtual::Wide];
    let mut ops = vec![alu(0, &[]), alu(1, &[0]), alu(2, &[0]), alu(3, &[1, 2])];
    let rows = allocate(
        &mut ops,
        &registers,
        ConstantRows { narrow: 0, wide: 5 },
        (Sharing::Rows, false),
        Names::default,
    )
    .rows;
    assert_eq!(rows.wide, 5 + 1 + 2);
    let Op::Alu(last) = &ops[3] else { panic!("arithmetic") };
    assert_eq!(last.s.get(1), last.s.get(0).map(Slot::next));
}
