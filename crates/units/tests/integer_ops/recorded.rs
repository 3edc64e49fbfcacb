//! What an H200 computed: each line of the recording is an instruction and the FNV-1a of its 1,024 results, for
//! values that the first line lists. (`vshl` with `.sat` is left out: what comes of it follows no rule.)

use super::harness::shape;
use serde_json::Value;
use softwarp_testkit::recording;
use softwarp_units::alu::{AluLoop, Inst};
use softwarp_units::alu::{select_levels, video};
use softwarp_units::lanes::{ALL, Frame, LANES, Row};

fn lines() -> Vec<Value> {
    recording::values(recording::golden("units", "integer_ops.jsonl.gz")).collect()
}

/// An operand as written: `-%a32.b1`.
struct Operand<'a> {
    negated: bool,
    /// `d`, `a`, `b` or `c`.
    name: &'a str,
    width: u32,
    selector: Option<&'a str>,
}

impl Operand<'_> {
    fn of(text: &str) -> Operand<'_> {
        let (negated, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (register, selector) = text.split_once('.').map_or((text, None), |(r, s)| (r, Some(s)));
        let (name, width) = register.trim_start_matches('%').split_at(1);
        Operand { negated, name, width: width.parse().unwrap_or(32), selector }
    }

    /// Its slot: rows of 16-bit values are apart from those of 32.
    fn slot(&self) -> u32 {
        let number = "dabc".find(self.name).expect("a register") as u32;
        if self.width == 16 { 4 + number } else { number }
    }
}

/// What lowering would make of an instruction.
fn instruction(form: &str) -> (Inst, Vec<AluLoop>, u32) {
    let (mnemonic, operands) = form.split_once(' ').expect("operands");
    let operands: Vec<Operand<'_>> = operands.split(',').map(Operand::of).collect();
    let (compiled, mut extra) =
        select_levels(&shape(mnemonic)).unwrap_or_else(|| panic!("{form} has no loop"));
    let compiled = compiled.available();
    let mut s: Vec<u32> = operands.iter().skip(1).map(Operand::slot).collect();
    let selector = |n: usize| operands.get(n).and_then(|operand| operand.selector);
    let opcode = mnemonic.split('.').next().unwrap_or_default();
    match opcode.strip_prefix('v').and_then(|name| name.chars().last()) {
        Some(count @ ('2' | '4')) => {
            let count = count.to_digit(10).expect("a digit");
            let all = video::selectors(count, selector(0), selector(1), selector(2)).expect("selectors");
            s.resize(3, 0);
            s.push(8);
            return (inst(compiled[0], &operands[0], &s, extra), compiled, all);
        }
        Some(_) => {
            let parts = ["b0", "b1", "b2", "b3", "h0", "h1"];
            for n in 0..3 {
                let part = selector(n)
                    .map_or(0, |name| 1 + parts.iter().position(|part| *part == name).expect("a part"));
                extra |= (part as u32) << (16 + 4 * n);
            }
            for (n, _) in operands.iter().enumerate().filter(|(_, operand)| operand.negated) {
                extra |= 1 << (27 + n);
            }
        }
        None => {}
    }
    (inst(compiled[0], &operands[0], &s, extra), compiled, 0)
}

fn inst(alu_loop: AluLoop, d: &Operand<'_>, s: &[u32], extra: u32) -> Inst {
    Inst::new((alu_loop, extra), &[d.slot()], s)
}

#[test]
fn results_are_those_of_the_hardware() {
    let lines = lines();
    let rows: Vec<[u64; 3]> = lines[0]["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| [0, 1, 2].map(|n| u64::from_str_radix(row[n].as_str().expect("hex"), 16).expect("hex")))
        .collect();
    let mut wrong = Vec::new();
    for line in &lines[1..] {
        let form = line["form"].as_str().expect("a form");
        let (inst, compiled, selectors) = instruction(form);
        let width =
            Operand::of(form.split_once(' ').expect("operands").1.split(',').next().unwrap_or("")).width;
        for alu_loop in compiled {
            let mut sum = 0xcbf2_9ce4_8422_2325u64;
            for group in rows.as_chunks::<LANES>().0 {
                let mut frame = Frame {
                    narrow: vec![Row([0; LANES]); 9],
                    wide: vec![Row([0; LANES]); 4],
                    predicates: vec![0],
                };
                frame.narrow[8] = Row([selectors; LANES]);
                for (lane, values) in group.iter().enumerate() {
                    for (n, &value) in values.iter().enumerate() {
                        frame.wide[n + 1].0[lane] = value;
                        frame.narrow[n + 1].0[lane] = value as u32;
                        frame.narrow[n + 5].0[lane] = u32::from(value as u16);
                    }
                }
                alu_loop.run(&mut frame, &inst, ALL);
                let slot = inst.d[0] as usize;
                for lane in 0..LANES {
                    let result = if width == 64 {
                        frame.wide[slot].0[lane]
                    } else {
                        frame.narrow[slot].0[lane].into()
                    };
                    for byte in result.to_le_bytes() {
                        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                    }
                }
            }
            if format!("{sum:016x}") != line["fnv"].as_str().expect("a sum") {
                wrong.push(form);
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}
