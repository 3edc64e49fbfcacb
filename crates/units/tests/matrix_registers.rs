//! Products on the registers of a warp against those of elements, one after the other: the same bits, at every level of
//! CPU features.

use softwarp_num::{Format, LEVEL_VARIABLE, Level, Rounding};
use softwarp_testkit::SplitMix64;
use softwarp_units::matrix::float::fragment::{Row, Sums};
use softwarp_units::matrix::float::panel::{self, Panel};
use softwarp_units::matrix::float::{exact, multiply, rules::Order, rules::Rule};
use softwarp_units::matrix::integer::{self, Factors, Int, IntegerProduct};
use softwarp_units::matrix::lines::{Line, Places, ROWS};
use softwarp_units::matrix::registers::{self, Operands};
use softwarp_units::matrix::sparse::Sparsity;
use softwarp_units::matrix::{FloatProduct, Unit, double};

/// Random words of 32 bits.
struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed))
    }

    fn next(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn below(&mut self, end: u32) -> u32 {
        self.0.below(end as usize) as u32
    }
}

/// What numbers are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Near 1.
    Near,
    /// Of many sizes.
    Wide,
    /// Often zero.
    Zeros,
    /// Subnormal, of formats whose subnormal numbers are inside the fast range.
    Small,
    /// The largest below 2.
    Full,
    /// Of all sizes inside the fast range, and more.
    Ends,
    /// Pairs whose sum is zero or nearly so.
    Cancelling,
    /// Any codes: infinity and NaN, too.
    Any,
}

const KINDS: [Kind; 8] =
    [Kind::Near, Kind::Wide, Kind::Zeros, Kind::Small, Kind::Full, Kind::Ends, Kind::Cancelling, Kind::Any];

fn code(random: &mut Random, format: Format, kind: Kind) -> u32 {
    let (mantissa, bias, most) = match format {
        Format::F16 => (10, 15, 30),
        Format::Bf16 => (7, 127, 254),
        Format::E4m3 => (3, 7, 14),
        Format::E5m2 => (2, 15, 30),
        _ => (23, 127, 254),
    };
    let sign = random.below(2) << (format.bits() - 1);
    let bits = random.next() & ((1 << mantissa) - 1);
    let around = |random: &mut Random, reach: i32| {
        (bias - reach + random.below(2 * reach as u32 + 1) as i32).clamp(0, most) as u32
    };
    let small = most < 254;
    let field = match kind {
        Kind::Near | Kind::Cancelling => around(random, 2),
        Kind::Wide => around(random, 14),
        Kind::Zeros if random.below(2) == 0 => return sign,
        Kind::Zeros => bias as u32,
        Kind::Small if small => 0,
        Kind::Small => around(random, 30),
        Kind::Full => return (bias as u32) << mantissa | ((1 << mantissa) - 1),
        Kind::Ends => around(random, 52),
        Kind::Any => return random.next() & format.mask() as u32,
    };
    sign | field << mantissa | bits
}

/// Numbers for a matrix whose lines have a given number of elements.
fn codes(random: &mut Random, format: Format, kind: Kind, lines: usize, length: usize) -> Vec<u32> {
    let mut codes: Vec<u32> = (0..lines * length).map(|_| code(random, format, kind)).collect();
    if kind == Kind::Cancelling {
        // The second half of a line is the first, in A with another sign; the last bit differs sometimes.
        for line in codes.chunks_exact_mut(length) {
            let (first, second) = line.split_at_mut(length / 2);
            for (x, y) in first.iter().zip(second) {
                *y = x ^ u32::from(random.below(4) == 0);
            }
        }
    }
    codes
}

fn packed(bits: u32, codes: &[u32]) -> Line {
    let mut line = Line::ZERO;
    for (at, code) in codes.iter().enumerate() {
        let place = at * bits as usize;
        line.0[place / 32] |= code << (place % 32);
    }
    line
}

/// The registers of C or D with a given number of columns: of f16, two for every eight, else four.
fn registers_of(matrix: &[u32], n: usize, narrow: bool) -> Vec<Row> {
    let each = if narrow { 2 } else { 4 };
    let register = |at: usize| -> Row {
        std::array::from_fn(|lane| {
            let (eight, within) = (at / each * 8, at % each);
            let column = eight + lane % 4 * 2;
            let element = |row: usize, column: usize| matrix[row * n + column];
            match narrow {
                true => {
                    let row = lane / 4 + within * 8;
                    element(row, column) | element(row, column + 1) << 16
                }
                false => element(lane / 4 + within / 2 * 8, column + within % 2),
            }
        })
    };
    (0..n / 8 * each).map(register).collect()
}

/// The registers that hold lines, eight in each: those of the next eight after each other if `below`.
fn registers_of_lines(lines: &[Line], pieces: usize, below: bool) -> Vec<Row> {
    let blocks = lines.len() / 8;
    let register = |at: usize| -> Row {
        let (block, piece) = if below { (at % blocks, at / blocks) } else { (at / pieces, at % pieces) };
        std::array::from_fn(|lane| lines[block * 8 + lane / 4].0[piece * 4 + lane % 4])
    };
    (0..blocks * pieces).map(register).collect()
}

fn results(sums: &[Sums], narrow: bool) -> Vec<Row> {
    sums.iter().flat_map(|sums| sums.0[..if narrow { 2 } else { 4 }].to_vec()).collect()
}

/// Places of half of the elements, in order or any; `None` if A is not sparse.
fn choose(random: &mut Random, stored: usize, any: bool) -> Places {
    let mut places = [[0; 64]; ROWS];
    for row in &mut places {
        for (at, place) in row.iter_mut().enumerate().take(stored) {
            let first = random.below(2);
            let within = if any { random.below(4) } else { at as u32 % 2 * 2 + first };
            *place = (at / 2 * 4) as u8 + within as u8;
        }
    }
    places
}

/// D by [`exact`].
fn exactly(
    product: &FloatProduct,
    [a, b, c]: [&[u32]; 3],
    places: Option<&Places>,
    whole: usize,
) -> Vec<u32> {
    let FloatProduct { n, k, .. } = *product;
    let row = FloatProduct { m: 1, ..*product };
    let mut d = vec![0; ROWS * n];
    for (at, d) in d.chunks_exact_mut(n).enumerate() {
        let place = |step: usize| places.map_or(step, |places| places[at][step].into());
        let chosen: Vec<u32> = (0..n * k).map(|i| b[i / k * whole + place(i % k)]).collect();
        let (a, c) = (&a[at * k..][..k], &c[at * n..][..n]);
        exact::multiply(&row, Rule::of(product), a, &chosen, c, d, None);
    }
    d
}

#[test]
fn panels_have_the_bits_of_exact_products() {
    let mut random = Random::new(3);
    let forms = [
        (Format::F16, Format::F16, Format::F32, 16),
        (Format::F16, Format::F16, Format::F16, 16),
        (Format::Bf16, Format::Bf16, Format::F32, 16),
        (Format::Tf32, Format::Tf32, Format::F32, 8),
        (Format::E4m3, Format::E4m3, Format::F32, 32),
        (Format::E5m2, Format::E4m3, Format::F32, 32),
        (Format::E4m3, Format::E5m2, Format::F16, 32),
    ];
    for (form, sparse) in forms.iter().flat_map(|form| [(form, false), (form, true)]) {
        let &(a, b, d, k) = form;
        for (round, kind) in (0..12).flat_map(|round| KINDS.map(|kind| (round, kind))) {
            let n = [8, 16, 24, 64][round % 4];
            let product =
                FloatProduct { unit: Unit::Wgmma, a, b, c: d, d, m: ROWS, n, k, sparse, scale: None };
            let whole = if sparse { 2 * k } else { k };
            let places = sparse.then(|| choose(&mut random, k, round % 3 == 2));
            let left = codes(&mut random, a, kind, ROWS, k);
            let mut right = codes(&mut random, b, kind, n, whole);
            if kind == Kind::Cancelling {
                let sign = 1 << (b.bits() - 1);
                right.chunks_mut(whole / 2).skip(1).step_by(2).flatten().for_each(|code| *code ^= sign);
            }
            let c = codes(&mut random, d, kind, ROWS, n);
            let lines: [Line; ROWS] = std::array::from_fn(|row| packed(a.bits(), &left[row * k..][..k]));
            let columns: Vec<Line> = right.chunks(whole).map(|column| packed(b.bits(), column)).collect();
            let addends = registers_of(&c, n, d == Format::F16);
            let addends: Vec<&Row> = addends.iter().collect();
            let mut sums = vec![Sums::ZERO; n / 8];
            let rule = Rule::of(&product);
            let (a, b, places) = (&lines, &columns[..], places.as_ref());
            let panel = Panel { product: &product, rule, a, b, length: whole, places };
            let done = panel::multiply(&panel, &addends, &mut sums);
            if done {
                let want = exactly(&product, [&left, &right, &c], places, whole);
                let want = registers_of(&want, n, d == Format::F16);
                assert_eq!(results(&sums, d == Format::F16), want, "{product:?}, {kind:?}, round {round}");
            }
            let in_range = matches!(kind, Kind::Near | Kind::Wide | Kind::Zeros | Kind::Small);
            // In loops, two elements of A must not meet the same of B.
            let reached = Level::current() == Level::Avx512 || !sparse || round % 3 != 2;
            assert!(
                done || !in_range || !reached,
                "{product:?} of {kind:?}, round {round}, is inside the fast range"
            );
        }
    }
}

#[test]
fn a_panel_without_c_adds_nothing() {
    let product = FloatProduct {
        unit: Unit::Wgmma,
        a: Format::F16,
        b: Format::F16,
        c: Format::F32,
        d: Format::F32,
        m: ROWS,
        n: 8,
        k: 16,
        sparse: false,
        scale: None,
    };
    let (a, b) = ([packed(16, &[0x3c00; 16]); ROWS], vec![packed(16, &[0x4000; 16]); 8]);
    let panel = Panel { product: &product, rule: Rule::of(&product), a: &a, b: &b, length: 16, places: None };
    let mut sums = [Sums::ZERO];
    assert!(panel::multiply(&panel, &[], &mut sums));
    assert_eq!(sums[0], Sums([[32f32.to_bits(); 32]; 4]));
    // What is not finite is left to others.
    let b = vec![packed(16, &[0x7c00; 16]); 8];
    assert!(!panel::multiply(&Panel { b: &b, ..panel }, &[], &mut sums));
}

/// A product in registers, if it is done there, and what it should be.
fn in_registers(product: &FloatProduct, random: &mut Random, kind: Kind) -> Option<(Vec<Row>, Vec<Row>)> {
    let FloatProduct { a, b, d, m, n, k, sparse, .. } = *product;
    let narrow = d == Format::F16;
    let whole = if sparse { 2 * k } else { k };
    let [of_a, of_b] = [k, whole].map(|length| length * a.bits() as usize / 128);
    let left = codes(random, a, kind, m, k);
    let right = codes(random, b, kind, n, whole);
    let c = codes(random, d, kind, m, n);
    let metadata: Row = std::array::from_fn(|_| 0x4444_e4e4 ^ (random.below(2) * 0xaa00_0000));
    let sparsity = sparse.then(|| Sparsity::new(a.bits(), whole, 0).expect("the first selector"));
    let (mut of_left, mut addends, mut want) = (Vec::new(), Vec::new(), Vec::new());
    for half in 0..m / ROWS {
        let left = &left[half * ROWS * k..][..ROWS * k];
        let c = &c[half * ROWS * n..][..ROWS * n];
        let lines: Vec<Line> = left.chunks(k).map(|row| packed(a.bits(), row)).collect();
        of_left.extend(registers_of_lines(&lines, of_a, true));
        addends.extend(registers_of(c, n, narrow));
        let places = sparsity.map(|it| softwarp_units::matrix::lines::places(&it, &metadata));
        want.extend(registers_of(&exactly(product, [left, &right, c], places.as_ref(), whole), n, narrow));
    }
    let columns: Vec<Line> = right.chunks(whole).map(|column| packed(b.bits(), column)).collect();
    let of_right = registers_of_lines(&columns, of_b, false);
    let [a, b, c] = [&of_left, &of_right, &addends].map(|rows| rows.iter().collect::<Vec<&Row>>());
    let sparse = sparsity.as_ref().map(|sparsity| (sparsity, &metadata));
    let mut sums = vec![Sums::ZERO; m / ROWS * n / 8];
    let done = registers::floats(product, &Operands { a: &a, b: &b, c: &c, sparse }, &mut sums);
    done.then(|| (results(&sums, narrow), want))
}

#[test]
fn products_of_a_warp_have_the_bits_of_exact_ones() {
    use Format::{Bf16, E4m3, E5m2, F16, F32, Tf32};
    let mut random = Random::new(4);
    let forms = [
        (F16, F16, F32, 16, 16, 16, false),
        (F16, F16, F16, 16, 16, 16, false),
        (Bf16, Bf16, F32, 32, 8, 16, false),
        (F16, F16, F16, 32, 8, 16, false),
        (Tf32, Tf32, F32, 16, 16, 8, false),
        (E4m3, E5m2, F32, 16, 8, 32, false),
        (E5m2, E4m3, F16, 16, 8, 16, false),
        (F16, F16, F32, 16, 8, 16, true),
        (F16, F16, F16, 16, 8, 8, true),
        (Bf16, Bf16, F32, 16, 8, 16, true),
        (Tf32, Tf32, F32, 16, 8, 8, true),
        (E4m3, E4m3, F32, 16, 8, 32, true),
        (E5m2, E4m3, F16, 16, 8, 32, true),
    ];
    for (a, b, d, m, n, k, sparse) in forms {
        let product = FloatProduct { unit: Unit::Mma, a, b, c: d, d, m, n, k, sparse, scale: None };
        if (a, n) == (Tf32, 16) {
            assert_eq!(Rule::of(&product).order, Order::Fours);
        }
        for kind in (0..5).flat_map(|_| KINDS) {
            let done = in_registers(&product, &mut random, kind);
            // Sums in f16 of large numbers are infinite before the last.
            let in_range = matches!(kind, Kind::Near | Kind::Zeros) || kind == Kind::Wide && d == F32;
            assert!(done.is_some() || !in_range, "{product:?} of {kind:?}");
            if let Some((got, want)) = done {
                assert_eq!(got, want, "{product:?} of {kind:?}");
            }
        }
    }
}

#[test]
fn products_of_integers_are_the_same_in_registers() {
    let mut random = Random::new(5);
    let forms = [
        (8, 16, 8, 32, false),
        (8, 16, 8, 16, false),
        (8, 8, 8, 16, false),
        (8, 32, 8, 16, false),
        (8, 16, 16, 16, false),
        (4, 16, 8, 64, false),
        (4, 8, 8, 32, false),
        (8, 16, 8, 32, true),
        (8, 16, 8, 16, true),
        (4, 16, 8, 64, true),
    ];
    for ((bits, m, n, k, sparse), round) in
        forms.iter().flat_map(|&form| (0..8).map(move |round| (form, round)))
    {
        let int = |signed| Int { bits, signed };
        let factors = Factors::Integers(int(round % 2 == 0), int(round / 2 % 2 == 0));
        let product = IntegerProduct { factors, saturate: round >= 4, m: if sparse { 1 } else { m }, n, k };
        let whole = if sparse { 2 * k } else { k };
        let mask = (1 << bits) - 1;
        let mut numbers = |count: usize| -> Vec<u32> { (0..count).map(|_| random.next() & mask).collect() };
        let (left, right) = (numbers(m * k), numbers(n * whole));
        let c: Vec<u32> = (0..m * n).map(|_| (random.next() >> 1).wrapping_add(0x6000_0000)).collect();
        let metadata: Row = std::array::from_fn(|_| 0x4444_e4e4);
        let sparsity = sparse.then(|| Sparsity::new(bits, whole, 0).expect("the first selector"));
        let mut want = vec![0; m * n];
        match &sparsity {
            None => integer::multiply(&product, &left, &right, &c, &mut want),
            Some(sparsity) => {
                let places = softwarp_units::matrix::lines::places(sparsity, &metadata);
                for (row, want) in want.chunks_exact_mut(n).enumerate() {
                    let place = |step: usize| usize::from(places[row][step]);
                    let chosen: Vec<u32> = (0..n * k).map(|i| right[i / k * whole + place(i % k)]).collect();
                    integer::multiply(&product, &left[row * k..][..k], &chosen, &c[row * n..][..n], want);
                }
            }
        }
        let pieces = |length: usize| length * bits as usize / 128;
        let rows = m.min(ROWS);
        let (mut of_left, mut addends, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        // Of eight rows only the first two registers are there.
        let each = |matrix: &[u32]| match m {
            8 => registers_of(&[matrix, &vec![0; 8 * n]].concat(), n, false)[..2].to_vec(),
            _ => registers_of(matrix, n, false),
        };
        for half in 0..m.div_ceil(ROWS) {
            let part =
                |matrix: &[u32], length: usize| matrix[half * ROWS * length..][..rows * length].to_vec();
            let lines: Vec<Line> = part(&left, k).chunks(k).map(|row| packed(bits, row)).collect();
            of_left.extend(registers_of_lines(&lines, pieces(k), true));
            addends.extend(each(&part(&c, n)));
            expected.extend(each(&part(&want, n)));
        }
        let columns: Vec<Line> = right.chunks(whole).map(|column| packed(bits, column)).collect();
        let of_right = registers_of_lines(&columns, pieces(whole), false);
        let [a, b, c] = [&of_left, &of_right, &addends].map(|rows| rows.iter().collect::<Vec<&Row>>());
        let sparse = sparsity.as_ref().map(|sparsity| (sparsity, &metadata));
        let mut sums = vec![Sums::ZERO; m.div_ceil(ROWS) * n / 8];
        let done = registers::integers(&product, &Operands { a: &a, b: &b, c: &c, sparse }, &mut sums);
        assert!(done || Level::current() < Level::Avx512, "{product:?}");
        if done {
            let got: Vec<Row> = match m {
                8 => sums[0].0[..2].to_vec(),
                _ => results(&sums, false),
            };
            assert_eq!(got, expected, "{product:?}, round {round}");
        }
    }
}

#[test]
fn products_without_tensor_cores_have_the_bits_of_exact_ones() {
    let mut random = Random::new(6);
    for (c, d) in [(Format::F32, Format::F32), (Format::F16, Format::F16), (Format::F16, Format::F32)] {
        let (a, b) = (Format::F16, Format::F16);
        let product =
            FloatProduct { unit: Unit::Mma, a, b, c, d, m: 8, n: 8, k: 4, sparse: false, scale: None };
        for kind in (0..20).flat_map(|_| KINDS) {
            let left = codes(&mut random, a, kind, 8, 4);
            let right = codes(&mut random, b, kind, 8, 4);
            let addends = codes(&mut random, c, kind, 8, 8);
            let (mut want, mut got) = (vec![0; 64], vec![1; 64]);
            exact::multiply(&product, Rule::of(&product), &left, &right, &addends, &mut want, None);
            multiply(&product, &left, &right, &addends, &mut got, None);
            assert_eq!(got, want, "{product:?} of {kind:?}");
        }
    }
}

#[test]
fn products_of_f64_are_fused_in_order_and_keep_nans() {
    let mut random = Random::new(7);
    let k = 4;
    let mut number = |_| (f64::from(random.next()) / 65536.0 - 30000.0).to_bits();
    let mut a: Vec<u64> = (0..8 * k).map(&mut number).collect();
    let (b, c): (Vec<u64>, Vec<u64>) =
        ((0..8 * k).map(&mut number).collect(), (0..64).map(&mut number).collect());
    a[3 * k] = 0x7ff0_0000_0000_1234;
    let mut d = vec![0; 64];
    double::multiply(Rounding::NearestEven, k, &a, &b, &c, &mut d);
    for (at, &d) in d.iter().enumerate() {
        let (row, column) = (at / 8, at % 8);
        let sum = (0..k).fold(f64::from_bits(c[at]), |sum, step| {
            f64::from_bits(a[row * k + step]).mul_add(f64::from_bits(b[column * k + step]), sum)
        });
        let want = if row == 3 { 0x7ff8_0000_0000_1234 } else { sum.to_bits() };
        assert_eq!(d, want, "row {row}, column {column}");
    }
}

#[test]
fn other_levels_of_cpu_features_give_the_same() {
    let asked = std::env::var(LEVEL_VARIABLE);
    if asked.is_ok() {
        return;
    }
    for level in Level::ALL.iter().filter(|level| **level < Level::best()) {
        let own = std::env::current_exe().expect("this test");
        let ran = std::process::Command::new(own)
            .arg("matrix_registers::")
            .env(LEVEL_VARIABLE, level.name())
            .output();
        let ran = ran.expect("it starts");
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "at {}: {text}", level.name());
    }
}
