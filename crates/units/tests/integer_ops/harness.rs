//! Runs one form over many values and holds every lane against a reference.

use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, resolve};
use softwarp_testkit::SplitMix64;
use softwarp_units::alu::{AluLoop, Inst, select_levels};
use softwarp_units::lanes::{ALL, Frame, LANES, Row, Slot};

/// The form that a mnemonic spells.
pub fn shape(mnemonic: &str) -> InstructionForm {
    let mut words = mnemonic.split('.');
    let opcode = words.next().unwrap_or_default();
    match resolve(opcode, &words.collect::<Vec<_>>()) {
        Ok(shape) => *shape,
        other => panic!("{mnemonic}: {other:?}"),
    }
}

/// What an operand is: a value of a type, or the carry flag.
#[derive(Clone, Copy)]
struct Operand {
    ty: Type,
    carry: bool,
}

impl Operand {
    fn all(text: &str) -> Vec<Operand> {
        let one = |name: &str| match name {
            "carry" => Operand { ty: Type::Pred, carry: true },
            _ => Operand { ty: Type::from_name(name).expect("a type"), carry: false },
        };
        text.split_whitespace().map(one).collect()
    }

    fn bits(self) -> u32 {
        if self.ty == Type::Pred { 1 } else { self.ty.bits() }
    }

    /// The number that the type's bits stand for.
    fn number(self, bits: u64) -> i128 {
        let unused = 128 - self.bits();
        let signed = self.ty.name().starts_with('s') && self.ty.lanes() == 1;
        if signed { (i128::from(bits) << unused) >> unused } else { i128::from(bits) }
    }

    /// The slot of the `n`-th operand of its sort.
    fn slot(self, n: usize) -> u32 {
        if self.carry { Slot::CARRY.number() } else { n as u32 + 1 }
    }

    fn write(self, frame: &mut Frame, n: usize, lane: usize, bits: u64) {
        let slot = self.slot(n) as usize;
        match self.bits() {
            1 => frame.predicates[slot] = frame.predicates[slot] & !(1 << lane) | (bits as u32 & 1) << lane,
            64 => frame.wide[slot].0[lane] = bits,
            _ => frame.narrow[slot].0[lane] = bits as u32,
        }
    }

    fn read(self, frame: &Frame, n: usize, lane: usize) -> u64 {
        let slot = self.slot(n) as usize;
        match self.bits() {
            1 => u64::from(frame.predicates[slot] >> lane & 1),
            64 => frame.wide[slot].0[lane],
            _ => frame.narrow[slot].0[lane].into(),
        }
    }
}

/// Values that tell: around zero, the ends, powers of two, and bytes in order.
const TELLING: [u64; 22] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    0xff,
    0x7fff,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0x0123_4567_89ab_cdef,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX,
];

/// A source of values for operands.
pub struct Random(SplitMix64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn value(&mut self) -> u64 {
        let choice = self.next();
        let telling = TELLING[(choice >> 8) as usize % TELLING.len()];
        match choice % 8 {
            0 => self.next(),
            1 => self.next() % 70,
            2 => 1 << (self.next() % 64),
            3 => telling.wrapping_neg(),
            4 => self.next() % 70 * 0x0101_0101,
            _ => telling,
        }
    }
}

/// The most destinations of a form.
const MOST: usize = 2;

/// How much is tried: rows of 32 lanes, besides all pairs of telling values.
const ROWS: usize = 48;

/// Holds a form against a reference, which gets the sources as numbers and gives the destinations; only the low bits
/// of those count. All lanes and some, on every level that the CPU has, and with the destination in a source's slot.
pub fn check<const N: usize>(
    mnemonic: &str,
    destinations: &str,
    sources: &str,
    reference: impl Fn(&[i128]) -> [i128; N],
) {
    check_with(mnemonic, 0, destinations, sources, reference);
}

/// The same with an upper half of `extra`.
pub fn check_with<const N: usize>(
    mnemonic: &str,
    upper: u32,
    destinations: &str,
    sources: &str,
    reference: impl Fn(&[i128]) -> [i128; N],
) {
    // The loop is compiled once, not for each reference.
    let padded = |numbers: &[i128]| {
        let mut all = [0; MOST];
        all[..N].copy_from_slice(&reference(numbers));
        all
    };
    check_lanes((mnemonic, upper), destinations, sources, &padded);
}

fn check_lanes(
    (mnemonic, upper): (&str, u32),
    destinations: &str,
    sources: &str,
    reference: &dyn Fn(&[i128]) -> [i128; MOST],
) {
    let (d, s) = (Operand::all(destinations), Operand::all(sources));
    let (compiled, extra) =
        select_levels(&shape(mnemonic)).unwrap_or_else(|| panic!("{mnemonic} has no loop"));
    let compiled = compiled.available();
    let pairs = (TELLING.len() * TELLING.len()).div_ceil(LANES);
    let mut random = Random(SplitMix64::new(mnemonic.len() as u64));
    for row in 0..pairs + ROWS {
        let mut frame = Frame {
            narrow: vec![Row([0; LANES]); 12],
            wide: vec![Row([0; LANES]); 12],
            predicates: vec![0; 12],
        };
        let mut values = [[0u64; 8]; LANES];
        for (lane, values) in values.iter_mut().enumerate() {
            for (n, operand) in s.iter().enumerate() {
                let pair = row * LANES + lane;
                let chosen = match n {
                    0 if row < pairs => TELLING[pair / TELLING.len() % TELLING.len()],
                    1 if row < pairs => TELLING[pair % TELLING.len()],
                    _ => random.value(),
                };
                values[n] = chosen & u64::MAX >> (64 - operand.bits());
                operand.write(&mut frame, n, lane, values[n]);
            }
            // What must stay in lanes that do not take part.
            for (n, operand) in d.iter().enumerate().filter(|(_, operand)| !operand.carry) {
                operand.write(&mut frame, 8 + n, lane, random.next() & u64::MAX >> (64 - operand.bits()));
            }
        }
        let slots = |operands: &[Operand], first: usize, at: usize| {
            operands
                .iter()
                .filter(|operand| !operand.carry)
                .enumerate()
                .nth(at)
                .map(|(n, o)| o.slot(first + n))
        };
        let destinations: Vec<u32> = (0..2).map_while(|at| slots(&d, 8, at)).collect();
        let sources: Vec<u32> = (0..5).map_while(|at| slots(&s, 0, at)).collect();
        let inst = Inst::new((compiled[0], extra | upper << 16), &destinations, &sources);
        for mask in [ALL, 0, 1 << (row % 32), random.next() as u32] {
            for (at, alu_loop) in compiled.iter().enumerate() {
                let mut after = frame.clone();
                alu_loop.run(&mut after, &inst, mask);
                for (lane, values) in values.iter().enumerate() {
                    let numbers: Vec<i128> = s.iter().zip(values).map(|(o, bits)| o.number(*bits)).collect();
                    let expected = reference(&numbers);
                    for (n, operand) in d.iter().enumerate() {
                        let expected = match mask >> lane & 1 {
                            1 => expected[n] as u64 & u64::MAX >> (64 - operand.bits()),
                            _ => operand.read(&frame, 8 + n, lane),
                        };
                        let got = operand.read(&after, 8 + n, lane);
                        assert_eq!(
                            got, expected,
                            "{mnemonic} ({upper:#x}), destination {n}, {numbers:x?}, lane {lane} of {mask:#x}, \
                             level {at}: {got:#x}, not {expected:#x}"
                        );
                    }
                }
            }
        }
        // Written over the first source, the result is the same.
        if d.first().map(|o| o.bits() == 64) == s.first().map(|o| o.bits() == 64) && d[0].bits() > 1 {
            assert_same_over_source(mnemonic, &d[0], &frame, inst, &compiled);
        }
    }
}

/// A result that is written over the first source is the one that is written elsewhere.
fn assert_same_over_source(mnemonic: &str, d: &Operand, frame: &Frame, mut inst: Inst, compiled: &[AluLoop]) {
    let mut separate = frame.clone();
    compiled[0].run(&mut separate, &inst, ALL);
    inst.d[0] = inst.s[0];
    let mut over = frame.clone();
    compiled[compiled.len() - 1].run(&mut over, &inst, ALL);
    for lane in 0..LANES {
        assert_eq!(d.read(&over, 0, lane), d.read(&separate, 8, lane), "{mnemonic} over its source");
    }
}
