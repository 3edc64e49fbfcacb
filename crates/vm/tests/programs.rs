//! Tracing and counting of a launch, and a program that was not lowered from text.

use crate::small::*;
use softwarp_ir::start::{Forwarded, Start};
use softwarp_ir::{
    Access, Address, Alu, AluOp, Element, Function, Guard, Immediate, Memory, Op, ReadSpecial, Slot, Slots,
    Special, Step, WarpOp, WarpOpKind,
};
use softwarp_units::lanes::Frame;
use softwarp_vm::device::{Launch, Program};
use softwarp_vm::stats::{Event, Tracer};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Counts events, and keeps what the first lane's sum was after each addition.
#[derive(Default)]
struct Looker {
    events: AtomicU64,
    spans: Mutex<Vec<(u32, u32)>>,
}

impl Tracer for Looker {
    fn before(&self, event: &Event<'_>, _frame: &Frame) {
        self.events.fetch_add(1, Ordering::Relaxed);
        self.spans.lock().expect("no panic").push((event.warp, event.lanes));
    }

    fn after(&self, _frame: &Frame) {}
}

#[test]
fn everything_can_be_counted_and_looked_at() {
    let body = "
        mov.u32 %r1, 0;
    L:  add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 5;
        @%p1 bra L;
        st.global.u32 [%o], %r1;";
    let device = device("", body);
    let looker = Looker::default();
    let out = device.allocate(4 * 40).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let plain = Launch::new("k", [1, 1, 1], [40, 1, 1], &arguments);
    let unwatched = device.launch(&plain).expect("no fault");
    let report =
        device.launch(&Launch { tracer: Some(&looker), count_operations: true, ..plain }).expect("no fault");
    assert_eq!(report.counts, unwatched.counts);
    let count = |word: &str| {
        let found = report.mnemonics.iter().find(|(mnemonic, _)| mnemonic == word);
        found.map(|(_, count)| (count.warp, count.thread))
    };
    assert_eq!(count("add.u32"), Some((10, 5 * 40)));
    assert_eq!(count("bra"), Some((10, 5 * 40)));
    assert_eq!(count("st.global.u32"), Some((2, 40)));
    assert_eq!(looker.events.load(Ordering::Relaxed), report.counts.warp_instructions);
    assert!(looker.spans.lock().expect("no panic").contains(&(1, 0xff)));
}

/// A program made by hand: each lane adds the lanes below it, in a loop, without any text.
#[test]
fn a_program_made_by_hand_runs() {
    let alu = |mnemonic: &str, d: Slot, s: &[Slot]| {
        let mut words = mnemonic.split('.');
        let opcode = words.next().expect("an opcode");
        let form = softwarp_isa::instruction::resolve(opcode, &words.collect::<Vec<_>>()).expect("a form");
        let op = AluOp::Instruction(Arc::from(form), Immediate::None);
        Op::Alu(Alu { op, d: Slots::of(&[d]), s: Slots::of(s), guard: Guard::ALWAYS })
    };
    let other = |step| Op::Other(Guard::ALWAYS, Box::new(step));
    let address = |memory, base| Address { memory, base, offset: 0, named: None };
    let [one, lane, counter, sum, active, four] = [0, 1, 2, 3, 4, 5].map(Slot::narrow);
    let [out, place] = [0, 1].map(Slot::wide);
    let more = Slot::predicate(1);
    let access = |memory, base, register, bytes| {
        Access::new(address(memory, base), bytes, false, vec![register]).expect("an access of PTX")
    };
    let ops = vec![
        other(Step::Special(ReadSpecial { register: Special::LaneId, d: lane })),
        other(Step::Load(access(Memory::Kernel, None, Element::new(out, 64), 8))),
        alu("add.u32", sum, &[sum, counter]),
        alu("add.u32", counter, &[counter, one]),
        alu("setp.lt.u32", more, &[counter, lane]),
        Op::Branch(Guard::new(more, false), 2),
        other(Step::Warp(WarpOp {
            op: WarpOpKind::ActiveMask,
            members: None,
            d: Some(active),
            p: None,
            s: Slots::default(),
            negated: false,
        })),
        alu("mad.wide.u32", place, &[lane, four, out]),
        other(Step::Store(access(Memory::Global, Some(place), Element::new(sum, 32), 4))),
        other(Step::Return),
    ];
    let device = device("", "");
    let function = softwarp_image::FunctionId(0);
    let code = Function {
        function,
        spans: vec![Default::default(); ops.len()],
        instructions: (0..=ops.len() as u32).collect(),
        start: Start::default(),
        forwarded: Forwarded::default(),
        ops,
        locations: Vec::new(),
        narrow: 6,
        wide: 2,
        predicates: 2,
        narrow_constants: vec![(0, 1), (5, 4)],
        wide_constants: Vec::new(),
        shared_narrow: Vec::new(),
        shared_wide: Vec::new(),
        local_bytes: 0,
        parameter_bytes: 0,
        named: Vec::new(),
        registers: None,
        debug: None,
    };
    let program = Program::new(softwarp_ir::Program { functions: vec![code], of_function: vec![Some(0)] });
    let out = device.allocate(128).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch::new("k", [1, 1, 1], [32, 1, 1], &arguments);
    let report = device.launch_program(&launch, &program).expect("no fault");
    let sums = (0..32u32).map(|lane| (0..lane.max(1)).sum());
    assert_eq!(words(&device, out, 32), sums.collect::<Vec<u32>>());
    assert_eq!(report.counts.divergent_branches, 30);
}
