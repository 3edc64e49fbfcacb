//! Random kernels with wrong addresses.
//!
//! The address of an access is a base, terms of the thread's place in its CTA, what is added in each round of a loop, and an
//! offset. One thread in one round is chosen to meet an edge: the beginning or the end of a buffer, another buffer, or a
//! place where numbers wrap around. The others are where the terms put them: near it, far apart, or nowhere.
//!
//! What a kernel leaves depends on no order of threads: it loads what nobody stores to, or stores one value everywhere, or
//! performs one atomic operation whose order makes no difference.

use crate::choices::Choices;
use std::fmt::Write;

/// Bytes of the buffers that accesses are meant for: the input, which is loaded from, and the one that is stored to. Their
/// ends are at multiples of 16, where a guard page can be.
pub const INPUT: u64 = 4096 - 48;
pub const STORED: u64 = 1024 + 16;

/// Bytes of the output, which is never meant.
pub const OUT: u64 = 2 * 256 * 16;

/// Bytes of shared memory, of an array of a thread, and of constants.
const SHARED: u64 = 2048 + 16;
const LOCAL: u64 = 80;
const CONSTANT: u64 = 256;

/// Shapes of CTAs.
const BLOCKS: [[u32; 2]; 18] = [
    [32, 1],
    [16, 2],
    [16, 2],
    [16, 16],
    [1, 1],
    [7, 1],
    [33, 1],
    [64, 1],
    [16, 4],
    [8, 4],
    [4, 8],
    [2, 16],
    [20, 3],
    [48, 1],
    [31, 2],
    [96, 1],
    [100, 1],
    [32, 4],
];

/// What is compared, and with what a kernel is launched.
pub struct Kernel {
    pub text: String,
    pub block: [u32; 2],
    pub ctas: u32,
    /// What is added to the base, unless the text has it.
    pub place: Place,
    /// Whether the buffer that is meant has the highest addresses of all.
    pub is_last: bool,
    /// Whether the kernel is meant for the buffer that is stored to.
    pub stores: bool,
}

/// A number that depends on where buffers are.
#[derive(Clone, Copy)]
pub struct Place {
    /// Where it is counted from.
    pub from: From,
    pub more: u64,
    /// The end of something, which the highest access meets; the lowest one meets others.
    is_end: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The base.
    Base,
    /// The buffer that the kernel is not meant for.
    Other,
    /// The address 0.
    Zero,
}

/// What is accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Global,
    Generic,
    Shared,
    /// Shared memory by a generic address.
    GenericShared,
    Local,
    GenericLocal,
    Constant,
    Parameters,
}

/// What a kernel does to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Load,
    Store,
    /// An atomic operation, with the name that it has.
    Update(&'static str),
    /// Copies to shared memory.
    Copy,
}

/// The thread that meets the edge.
#[derive(Clone, Copy)]
struct Thread {
    x: u64,
    y: u64,
    /// Its number in the CTA.
    index: u64,
}

/// A part of an address, which grows with the thread.
#[derive(Clone, Copy)]
enum Term {
    /// A number of the thread times a factor.
    Number(Number, u64),
    /// Elements at an index that is computed in 32 bits: the number times a factor and more.
    Index { number: Number, times: u32, more: u32, bytes: u32, signed: bool },
    /// Anywhere among some places, in units of some bytes.
    Mixed { places: u64, bytes: u64 },
}

#[derive(Clone, Copy)]
enum Number {
    X,
    Y,
    Index,
    /// The lane, its row of 16, its place in that.
    Lane,
    Row,
    InRow,
    Odd,
}

impl Number {
    fn of(self, thread: Thread) -> u64 {
        match self {
            Number::X => thread.x,
            Number::Y => thread.y,
            Number::Index => thread.index,
            Number::Lane => thread.index % 32,
            Number::Row => thread.x >> 4,
            Number::InRow => thread.x & 15,
            Number::Odd => thread.index & 1,
        }
    }

    /// The register.
    fn name(self) -> &'static str {
        match self {
            Number::X => "%x",
            Number::Y => "%y",
            Number::Index => "%t",
            Number::Lane => "%lane",
            Number::Row => "%row",
            Number::InRow => "%in_row",
            Number::Odd => "%odd",
        }
    }
}

impl Term {
    fn of(self, thread: Thread) -> u64 {
        match self {
            Term::Number(number, factor) => number.of(thread).wrapping_mul(factor),
            Term::Index { number, times, more, bytes, signed } => {
                let index = (number.of(thread) as u32).wrapping_mul(times).wrapping_add(more);
                let index = if signed { index as i32 as u64 } else { index.into() };
                index.wrapping_mul(bytes.into())
            }
            Term::Mixed { places, bytes } => {
                u64::from((thread.index as u32).wrapping_mul(0x9e37_79b1) >> 16) % places * bytes
            }
        }
    }

    /// Adds it to `%f`.
    fn emit(self, text: &mut String) {
        let _ = match self {
            Term::Number(number, factor) if factor < 1 << 16 && factor.is_multiple_of(3) => {
                writeln!(text, "    mul.wide.u32 %d, {}, {factor}; add.s64 %f, %f, %d;", number.name())
            }
            Term::Number(number, factor) => writeln!(
                text,
                "    cvt.u64.u32 %d, {}; mad.lo.s64 %f, %d, {}, %f;",
                number.name(),
                factor as i64
            ),
            Term::Index { number, times, more, bytes, signed } => {
                let (name, sign) = (number.name(), if signed { "s32" } else { "u32" });
                let (times, more) = (times as i32, more as i32);
                writeln!(
                    text,
                    "    mad.lo.s32 %i, {name}, {times}, {more}; mul.wide.{sign} %d, %i, {bytes}; add.s64 %f, %f, %d;"
                )
            }
            Term::Mixed { places, bytes } => writeln!(
                text,
                "    mul.lo.u32 %i, %t, 0x9e3779b1; shr.u32 %i, %i, 16; rem.u32 %i, %i, {places};
    mul.wide.u32 %d, %i, {bytes}; add.s64 %f, %f, %d;"
            ),
        };
    }
}

/// An access at a distance from the address.
#[derive(Clone, Copy)]
struct Access {
    /// The type of an element, its bytes, and how many there are.
    ty: &'static str,
    bytes: u64,
    count: u64,
    offset: i64,
    /// Only some threads perform it.
    guarded: bool,
    order: &'static str,
}

impl Access {
    fn total(self) -> u64 {
        self.bytes * self.count
    }
}

/// A number far from what an address can reach: near half of all numbers, or a part of them, or any.
fn huge(choices: &mut Choices<'_>) -> u64 {
    let near = (choices.below(64) as i64 - 32) as u64;
    let near = near.wrapping_mul(choices.pick(&[1, 4, 4, 8, 16]));
    match choices.below(9) {
        8 => choices.below(16) << choices.pick(&[60, 61, 59, 32, 28]),
        0..=2 => (1u64 << 63).wrapping_add(near),
        3 => (1u64 << 62).wrapping_add(near),
        4 => (1u64 << 32).wrapping_add(near),
        5 => (1u64 << 31).wrapping_add(near),
        6 => (u64::MAX / choices.pick(&[15, 16, 31, 7, 3])).wrapping_add(near),
        _ => choices.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) & !3,
    }
}

fn factor(choices: &mut Choices<'_>, total: u64) -> u64 {
    match choices.below(24) {
        0..=14 => total,
        15 => 2 * total,
        16 => choices.pick(&[1, 2, 4, 8, 12, 16, 20, 64, 128, 256]),
        17 | 18 => total.wrapping_neg(),
        19 => 4 * total,
        20 => choices.below(300),
        _ => huge(choices),
    }
}

/// Rows of 16 threads half of all numbers apart, with several accesses each, so that one row lies around the place where
/// signed numbers wrap around: the least and the largest distance of a thread from the first are both in that row.
fn rows_far_apart(choices: &mut Choices<'_>) -> (Vec<Access>, Vec<Term>) {
    let (ty, bytes) = choices.pick(&[("b32", 4u64), ("b64", 8)]);
    let order = choices.pick(&[1, 1, -1, 2]);
    let access =
        |n: i64| Access { ty, bytes, count: 1, offset: n * order * bytes as i64, guarded: false, order: "" };
    let accesses = (0..2 + choices.below(3) as i64).map(access).collect();
    let far = (1u64 << 63).wrapping_sub(bytes * choices.below(18));
    let rows = choices.pick(&[Number::Y, Number::Row]);
    (accesses, vec![Term::Number(choices.pick(&[Number::X, Number::InRow]), bytes), Term::Number(rows, far)])
}

fn terms(choices: &mut Choices<'_>, total: u64) -> Vec<Term> {
    use Number::{InRow, Index, Lane, Odd, Row, X, Y};
    let near = choices.pick(&[X, X, X, Index, Lane, InRow]);
    let far = choices.pick(&[Y, Y, Row, Row, Index, Odd, Lane, X]);
    let mut terms = Vec::new();
    match choices.below(8) {
        0 => {}
        1 => terms
            .push(Term::Mixed { places: 1 + choices.below(64), bytes: choices.pick(&[1, total, total, 64]) }),
        2 => terms.push(Term::Index {
            number: near,
            times: choices.pick(&[1, 1, 2, 16, u32::MAX, 1 << 28]),
            more: choices.pick(&[0, 0, u32::MAX - 7, i32::MAX as u32 - 7, u32::MAX - 40, 1 << 31]),
            bytes: choices.pick(&[total as u32, total as u32, 4, 1]),
            signed: choices.below(2) == 0,
        }),
        _ => terms.push(Term::Number(near, factor(choices, total))),
    }
    match choices.below(6) {
        0..=2 => {}
        3 => terms.push(Term::Number(far, huge(choices))),
        _ => {
            terms.push(Term::Number(far, factor(choices, total).wrapping_mul(choices.pick(&[1, 16, 16, 5]))))
        }
    }
    terms
}

fn accesses(choices: &mut Choices<'_>, space: Space, does: Does) -> Vec<Access> {
    const LOADED: [(&str, u64); 11] = [
        ("u8", 1),
        ("s8", 1),
        ("b8", 1),
        ("u16", 2),
        ("s16", 2),
        ("u32", 4),
        ("b32", 4),
        ("f32", 4),
        ("u64", 8),
        ("b64", 8),
        ("f64", 8),
    ];
    let (ty, bytes) = match does {
        Does::Load | Does::Store => choices.pick(&LOADED),
        Does::Update(operation) => choices.pick(match operation {
            "add" => &[("u32", 4), ("u32", 4), ("u64", 8), ("f32", 4), ("s32", 4)],
            "max" | "min" => &[("u32", 4), ("s32", 4), ("u64", 8), ("s64", 8)],
            "inc" => &[("u32", 4)],
            _ => &[("b32", 4), ("b32", 4), ("b64", 8)],
        }),
        Does::Copy => ("b8", choices.pick(&[4, 8, 16])),
    };
    let count = match does {
        Does::Load | Does::Store => choices.pick(&[1, 1, 1, 2, 4]),
        Does::Update(_) | Does::Copy => 1,
    };
    let count = if count * bytes > 16 { 1 } else { count };
    let orders: &[&str] = match (space, does) {
        (Space::Global, Does::Load) => &["", "", "", "", ".nc", ".volatile", ".relaxed.gpu"],
        (Space::Generic | Space::GenericShared | Space::Shared | Space::Global, _) => {
            &["", "", "", ".volatile", ".relaxed.gpu"]
        }
        _ => &[""],
    };
    let total = (count * bytes) as i64;
    let number = choices.pick(&[1, 1, 2, 2, 3, 4]);
    let order = choices.pick(orders);
    (0..number)
        .map(|n| {
            let offset = match choices.below(24) {
                0..=17 => n * total,
                18..=20 => -n * total,
                21 => choices.pick(&[1, 2, 4, 8, -1, -4, 1024, -1024, 1 << 20]),
                22 => total * (choices.below(40) as i64 - 20),
                _ => 0,
            };
            let guarded = choices.below(4) == 0;
            let order = if matches!(does, Does::Update(_) | Does::Copy) { "" } else { order };
            Access { ty, bytes, count, offset, guarded, order }
        })
        .collect()
}

/// The edge that is met: an address from the base, or from elsewhere.
fn edge(choices: &mut Choices<'_>, size: u64, total: u64) -> Place {
    let slip = match choices.below(16) {
        0..=10 => 0,
        11 => choices.pick(&[total as i64, -(total as i64)]),
        12 => choices.below(16) as i64 + 1,
        13 => -(choices.below(16) as i64) - 1,
        14 => -(total as i64) * choices.below(16) as i64,
        _ => choices.pick(&[1i64, 2, 3, 4, 8, 12, 64, 4096]) * choices.pick(&[1i64, -1]),
    } as u64;
    let at = |from, more: u64, is_end| Place { from, more: more.wrapping_add(slip), is_end };
    match choices.below(16) {
        0..=7 => at(From::Base, size.wrapping_sub(total), true),
        8..=11 => at(From::Base, 0, false),
        12 => at(From::Base, (size / 2) & !15, choices.below(2) == 0),
        13 => at(From::Other, 0, choices.below(2) == 0),
        14 => at(From::Zero, 1 << 32, choices.below(2) == 0),
        _ => {
            let far = choices.pick(&[0, 1 << 63, 1 << 62, 1 << 47, 0u64.wrapping_sub(total)]);
            at(From::Zero, far, choices.below(2) == 0)
        }
    }
}

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64
.const .align 16 .b8 table[256] = {1, 2, 3, 4, 5, 6, 7, 8};
.visible .entry k(.param .align 16 .b8 block[48], .param .u64 base, .param .u64 out, .param .u64 far)
{
    .shared .align 16 .b8 memory[2064]; .local .align 16 .b8 own[80];
    .reg .b32 %x, %y, %t, %n, %lane, %row, %in_row, %odd, %i, %acc, %v<4>, %k, %slot;
    .reg .b64 %base, %out, %far, %f, %d, %a, %w<4>, %q; .reg .b32 %s; .reg .pred %p, %some;
    mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %n, %ntid.x; mad.lo.u32 %t, %y, %n, %x;
    mov.u32 %lane, %laneid; shr.u32 %row, %x, 4; and.b32 %in_row, %x, 15; and.b32 %odd, %t, 1;
    ld.param.u64 %out, [out]; ld.param.u64 %far, [far]; mov.u32 %acc, 1; mov.u64 %f, 0;
    mov.u32 %v0, 0; mov.u32 %v1, 0; mov.u32 %v2, 0; mov.u32 %v3, 0;
    mov.u64 %w0, 0; mov.u64 %w1, 0; mov.u64 %w2, 0; mov.u64 %w3, 0;
    shl.b32 %slot, %t, 2; rem.u32 %slot, %slot, 2048; mov.u32 %i, memory; add.u32 %slot, %slot, %i;
    st.shared.u32 [%slot], %t; st.local.v2.u32 [own], {%t, %x}; st.local.u32 [own+76], %t; bar.sync 0;
";

/// A random kernel.
pub fn kernel(choices: &mut Choices<'_>) -> Kernel {
    let is_far = choices.below(12) == 0;
    let space = match choices.below(16) {
        _ if is_far => choices.pick(&[Space::Global, Space::Global, Space::Generic]),
        0..=5 => Space::Global,
        6..=8 => Space::Generic,
        9..=11 => Space::Shared,
        12 => Space::GenericShared,
        13 => choices.pick(&[Space::Local, Space::GenericLocal]),
        14 => Space::Constant,
        _ => Space::Parameters,
    };
    let update = Does::Update("add");
    let does = match space {
        _ if is_far => choices.pick(&[Does::Load, Does::Store]),
        Space::Constant | Space::Parameters => Does::Load,
        Space::Local | Space::GenericLocal => choices.pick(&[Does::Load, Does::Store]),
        Space::Global => {
            choices.pick(&[Does::Load, Does::Load, Does::Load, Does::Store, Does::Store, update, Does::Copy])
        }
        Space::Shared => choices.pick(&[Does::Load, Does::Load, Does::Store, update, Does::Copy]),
        Space::Generic | Space::GenericShared => choices.pick(&[Does::Load, Does::Load, Does::Store, update]),
    };
    let does = match does {
        Does::Update(_) => {
            let others = ["add", "add", "max", "min", "or", "and", "xor", "exch", "cas", "inc"];
            Does::Update(choices.pick(&others))
        }
        Does::Load | Does::Store | Does::Copy => does,
    };
    let size = match (space, does) {
        (Space::Global | Space::Generic, Does::Load | Does::Copy) => INPUT,
        (Space::Global | Space::Generic, Does::Store | Does::Update(_)) => STORED,
        (Space::Shared | Space::GenericShared, _) => SHARED,
        (Space::Local | Space::GenericLocal, _) => LOCAL,
        (Space::Constant, _) => CONSTANT,
        (Space::Parameters, _) => 72,
    };
    let (accesses, terms, block) = match is_far {
        true => {
            let (accesses, terms) = rows_far_apart(choices);
            (accesses, terms, choices.pick(&[[16, 2], [16, 2], [16, 4], [32, 1], [32, 2]]))
        }
        false => {
            let accesses = accesses(choices, space, does);
            let terms = terms(choices, accesses[0].total());
            (accesses, terms, choices.pick(&BLOCKS))
        }
    };
    let total = accesses[0].total();
    let threads = u64::from(block[0] * block[1]);
    // Threads below it take part in guarded accesses.
    let taking = if choices.below(3) == 0 { threads } else { 1 + choices.below(threads) };
    let diverges = choices.below(8) == 0 && !is_far;
    let rounds = choices.pick(&[1u64, 1, 2, 3, 5]);
    let next = choices.pick(&[0, total, total.wrapping_neg(), 64, 128 * total, 4096]);
    // Where accesses are, from the base on, as far as it is known.
    let of_thread = |index: u64| {
        let thread = Thread { x: index % u64::from(block[0]), y: index / u64::from(block[0]), index };
        terms.iter().fold(0u64, |sum, term| sum.wrapping_add(term.of(thread)))
    };
    let mut distances = Vec::new();
    for access in &accesses {
        for index in 0..if access.guarded || diverges { taking } else { threads } {
            let first = of_thread(index).wrapping_add(access.offset as u64);
            distances.extend((0..rounds).map(|round| first.wrapping_add(round.wrapping_mul(next)) as i64));
        }
    }
    let place = edge(choices, size, total);
    let least = distances.iter().copied().min().unwrap_or(0);
    let most = distances.iter().copied().max().unwrap_or(0);
    let outermost = if place.is_end { most } else { least };
    let any = choices.pick(&distances);
    let met = choices.pick(&[outermost, outermost, outermost, any]);
    let place = Place { more: place.more.wrapping_sub(met as u64), ..place };
    let mut kernel = Kernel {
        text: HEAD.to_owned(),
        block,
        ctas: 1 + choices.below(2) as u32,
        place,
        is_last: choices.below(2) == 0,
        stores: matches!(does, Does::Store | Does::Update(_)),
    };
    let text = &mut kernel.text;
    let base = match space {
        Space::Global | Space::Generic => "ld.param.u64 %base, [base];",
        Space::Shared => "mov.u32 %i, memory; cvt.u64.u32 %base, %i;",
        Space::GenericShared => "mov.u64 %base, memory; cvta.shared.u64 %base, %base;",
        Space::Local => "mov.u64 %base, own;",
        Space::GenericLocal => "mov.u64 %base, own; cvta.local.u64 %base, %base;",
        Space::Constant => "mov.u64 %base, table;",
        Space::Parameters => "mov.u64 %base, block;",
    };
    let _ = writeln!(text, "    {base} setp.lt.u32 %some, %t, {taking};");
    for term in terms {
        term.emit(text);
    }
    // A constant where it does not depend on where buffers are.
    match place.from == From::Base && choices.below(2) == 0 {
        true => writeln!(text, "    add.s64 %f, %f, {};", place.more as i64),
        false => writeln!(text, "    add.s64 %f, %f, %far;"),
    }
    .expect("a string");
    let _ = writeln!(text, "    add.s64 %a, %base, %f; cvt.u32.u64 %s, %a; mov.u32 %k, {rounds};\nL:");
    if diverges {
        let _ = writeln!(text, "    setp.ge.u32 %p, %t, {taking}; @%p bra S;");
    }
    for access in accesses {
        perform(text, space, does, access);
    }
    let _ = writeln!(
        text,
        "S:  add.s64 %a, %a, {next}; add.u32 %s, %s, {}; sub.u32 %k, %k, 1; setp.ne.u32 %p, %k, 0; @%p bra L;",
        next as u32,
        next = next as i64
    );
    text.push_str(END);
    kernel
}

/// What a copy brings is read, and so is what was stored to shared memory.
const END: &str = "    cp.async.wait_all; bar.sync 0; ld.shared.u32 %v0, [%slot]; mad.lo.u32 %acc, %acc, 31, %v0;
    ld.local.u32 %v0, [own]; mad.lo.u32 %acc, %acc, 31, %v0; ld.local.u32 %v0, [own+76]; add.u32 %acc, %acc, %v0;
    mov.u32 %i, %ctaid.x; mad.lo.u32 %i, %i, 256, %t; mul.wide.u32 %d, %i, 16; add.s64 %out, %out, %d;
    st.global.u32 [%out], %acc; ret;
}
";

fn perform(text: &mut String, space: Space, does: Does, access: Access) {
    let Access { ty, bytes, count, offset, guarded, order } = access;
    let guard = if guarded { "@%some " } else { "" };
    let (name, register) = match space {
        Space::Global => (".global", "%a"),
        Space::Generic | Space::GenericShared | Space::GenericLocal => ("", "%a"),
        Space::Shared => (".shared", "%s"),
        Space::Local => (".local", "%a"),
        Space::Constant => (".const", "%a"),
        Space::Parameters => (".param", "%a"),
    };
    let at = format!("[{register}+{offset}]");
    let letter = if bytes == 8 { 'w' } else { 'v' };
    let ty = if ty == "f64" { "b64" } else { ty };
    let registers: Vec<String> = (0..count).map(|n| format!("%{letter}{n}")).collect();
    let (list, vector) = match count {
        1 => (registers[0].clone(), String::new()),
        _ => (format!("{{{}}}", registers.join(", ")), format!(".v{count}")),
    };
    let _ = match does {
        Does::Load => {
            // The order stands before the space, but for `.nc`.
            let qualified = match order {
                ".nc" => format!("{name}.nc"),
                order => format!("{order}{name}"),
            };
            let _ = writeln!(text, "    {guard}ld{qualified}{vector}.{ty} {list}, {at};");
            for one in registers {
                let _ = match letter {
                    'w' => writeln!(
                        text,
                        "    cvt.u32.u64 %i, {one}; mad.lo.u32 %acc, %acc, 31, %i; shr.u64 %q, {one}, 32; cvt.u32.u64 %i, %q; add.u32 %acc, %acc, %i;"
                    ),
                    _ => writeln!(text, "    mad.lo.u32 %acc, %acc, 31, {one};"),
                };
            }
            Ok(())
        }
        Does::Store => {
            for one in &registers {
                let _ = match letter {
                    'w' => writeln!(text, "    mov.u64 {one}, 0x5a5a5a5a5a5a5a5a;"),
                    _ => writeln!(text, "    mov.u32 {one}, 0x5a5a5a5a;"),
                };
            }
            writeln!(text, "    {guard}st{order}{name}{vector}.{ty} {at}, {list};")
        }
        Does::Update(operation) => {
            let value = if bytes == 8 { "%w0" } else { "%v0" };
            let _ = match (ty, bytes) {
                ("f32", _) => writeln!(text, "    mov.b32 %v0, 0f3f800000;"),
                (_, 8) => writeln!(text, "    mov.u64 %w0, 0x500000003;"),
                _ => writeln!(text, "    mov.u32 %v0, 0x50003;"),
            };
            match (operation, offset.rem_euclid(3)) {
                ("cas", _) => {
                    writeln!(text, "    {guard}atom{name}.cas.{ty} {value}, {at}, {value}, {value};")
                }
                ("exch", _) | (_, 0) => {
                    writeln!(text, "    {guard}atom{name}.{operation}.{ty} {value}, {at}, {value};")
                }
                _ => writeln!(text, "    {guard}red{name}.{operation}.{ty} {at}, {value};"),
            }
        }
        // One of both places is as it should be, and the same for all threads.
        Does::Copy => match space {
            Space::Shared => writeln!(
                text,
                "    ld.param.u64 %d, [base]; {guard}cp.async.ca.shared.global {at}, [%d], {bytes};"
            ),
            _ => writeln!(
                text,
                "    mov.u32 %i, memory; {guard}cp.async.ca.shared.global [%i+2048], {at}, {bytes};"
            ),
        },
    };
}
