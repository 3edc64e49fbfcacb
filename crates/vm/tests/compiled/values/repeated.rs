//! Instructions that name a register more than once: as several results, as a result and a source, an address, a guard or
//! a mask. Each is executed in straight code, in loops that all lanes run alike and that they leave one after the other,
//! after a branch, and under guards; compiled code does what the interpreter does.

use super::{BLOCKS, compare, ends_well, module};
use std::fmt::Write;

const DECLARED: &str = "    .shared .align 128 .b8 memory[8192]; .local .align 16 .b8 own[64];
    .reg .pred %p<4>, %q, %u, %g; .reg .b32 %r<8>, %w, %sa, %i, %c, %mask; .reg .b64 %d<4>, %at, %wd; .reg .b16 %h<8>;
    .reg .b8 %b<4>; .reg .f32 %f<8>; .reg .f64 %e<2>; .reg .b128 %o<2>;";

const FUNCTIONS: &str = ".const .align 16 .b8 fixed[128] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
.func (.reg .u32 ra, .reg .u32 rb) two(.reg .u32 a, .reg .u32 b) { add.u32 ra, a, b; sub.u32 rb, a, b; ret; }";

/// What registers hold at first: the same in all lanes, from lane to lane a step further, or anything.
const SETUP: &str = "    mov.u32 %sa, memory; mov.u64 %at, %mine;
    mul.lo.u32 %w, %t, 16; and.b32 %w, %w, 4080; add.u32 %w, %w, %sa; mad.wide.u32 %wd, %t, 64, %in;
    ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%wd]; st.shared.v4.u32 [%w], {%r0, %r1, %x, %r3};
    st.shared.v4.u32 [%w+4096], {%r2, %t, %r0, %r1}; st.local.v4.u32 [own], {%r3, %r1, %t, %r0};
    st.local.v4.u32 [own+16], {%x, %r2, 7, %lane}; st.global.v4.u32 [%at+192], {%r0, %x, %r1, 9}; bar.sync 0;
    mov.u32 %r0, %x; mov.u32 %r1, 77; mov.u32 %r4, %lane; mov.u32 %r5, %r3; mov.u32 %r6, 5; mov.u32 %r7, 3;
    mov.b64 %d0, {%r2, %r5}; mov.b64 %d1, {%r5, %x}; mov.u64 %d2, 9; add.u64 %d3, %at, 192; mov.b128 %o0, {%d0, %d1};
    mov.b128 %o1, {%d1, %d2}; mov.f32 %f0, 0f3f800000; cvt.rn.f32.u32 %f1, %x; mov.f32 %f2, 0f40000000;
    cvt.rn.f32.u32 %f3, %t; mov.f32 %f4, %f1; mov.f32 %f5, %f2; mov.f32 %f6, %f0; mov.f32 %f7, %f3;
    cvt.f64.f32 %e0, %f1; cvt.f64.f32 %e1, %f2; cvt.u16.u32 %h0, %x; mov.u16 %h1, 4; cvt.u16.u32 %h2, %r5; mov.u16 %h3, 9;
    mov.u16 %h4, %h0; mov.u16 %h5, %h1; mov.u16 %h6, 1; mov.u16 %h7, %h0; cvt.u8.u32 %b0, %x; cvt.u8.u32 %b1, %r5;
    cvt.u8.u32 %b2, %r1; cvt.u8.u32 %b3, %r6; setp.lt.u32 %p0, %x, 9; setp.ne.u32 %p1, %r6, 0; and.b32 %c, %x, 1;
    setp.eq.u32 %p2, %c, 1; setp.gt.u32 %p3, %lane, 20;\n";

/// An instruction, and what comes before it each time.
struct Case {
    before: &'static str,
    instruction: String,
    /// All lanes of a warp must execute it.
    whole: bool,
}

fn case(instruction: impl Into<String>) -> Case {
    Case { before: "", instruction: instruction.into(), whole: false }
}

fn after(before: &'static str, instruction: impl Into<String>) -> Case {
    Case { before, ..case(instruction) }
}

fn whole(instruction: impl Into<String>) -> Case {
    Case { whole: true, ..case(instruction) }
}

/// Lists of registers, some of which stand in them more than once.
fn lists(of: char, count: usize) -> Vec<String> {
    let patterns: &[&[u32]] = match count {
        2 => &[&[0, 0], &[1, 1]],
        4 => &[&[0, 0, 0, 0], &[0, 1, 0, 1], &[0, 0, 1, 1], &[0, 1, 2, 0], &[2, 0, 1, 1]],
        _ => &[&[0, 0, 0, 0, 0, 0, 0, 0], &[0, 1, 0, 1, 0, 1, 0, 1], &[0, 1, 2, 3, 3, 2, 1, 0]],
    };
    let list = |pattern: &&[u32]| {
        let registers: Vec<String> = pattern.iter().map(|n| format!("%{of}{n}")).collect();
        format!("{{{}}}", registers.join(", "))
    };
    patterns.iter().map(list).collect()
}

/// The registers that an instruction names, each once.
fn registers(instruction: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for part in instruction.split('%').skip(1) {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        let name = &part[..end];
        let numbered = name.len() == 2 && name.as_bytes()[1].is_ascii_digit() && !name.starts_with('n');
        if numbered && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Adds registers to the thread's result.
fn gather(registers: &[&str]) -> String {
    let mut text = String::new();
    for name in registers {
        let _ = match name.as_bytes()[0] {
            b'r' => write!(text, "mad.lo.u32 %acc, %acc, 31, %{name}; "),
            b'd' => write!(
                text,
                "mov.b64 {{%c, %i}}, %{name}; mad.lo.u32 %acc, %acc, 31, %c; xor.b32 %acc, %acc, %i; "
            ),
            b'f' => write!(text, "mov.b32 %c, %{name}; mad.lo.u32 %acc, %acc, 31, %c; "),
            b'e' => write!(
                text,
                "mov.b64 {{%c, %i}}, %{name}; mad.lo.u32 %acc, %acc, 31, %c; xor.b32 %acc, %acc, %i; "
            ),
            b'h' => write!(text, "cvt.u32.u16 %c, %{name}; mad.lo.u32 %acc, %acc, 31, %c; "),
            b'b' => write!(text, "cvt.u32.u8 %c, %{name}; mad.lo.u32 %acc, %acc, 31, %c; "),
            b'p' => write!(text, "selp.u32 %c, 3, 5, %{name}; mad.lo.u32 %acc, %acc, 31, %c; "),
            _ => write!(
                text,
                "mov.b128 {{%wd, _}}, %{name}; cvt.u32.u64 %c, %wd; mad.lo.u32 %acc, %acc, 31, %c; "
            ),
        };
    }
    text
}

/// Changes registers, so that an instruction that is repeated has other sources.
fn change(registers: &[&str]) -> String {
    let mut text = String::new();
    for name in registers {
        let _ = match name.as_bytes()[0] {
            b'r' => write!(text, "add.u32 %{name}, %{name}, 3; "),
            b'd' => write!(text, "add.u64 %{name}, %{name}, 8; "),
            b'f' => write!(text, "add.f32 %{name}, %{name}, 0f3f800000; "),
            b'h' => write!(text, "add.u16 %{name}, %{name}, 7; "),
            b'p' => write!(text, "not.pred %{name}, %{name}; "),
            _ => Ok(()),
        };
    }
    text
}

/// The body of a kernel that executes an instruction in all ways.
fn body(case: &Case) -> String {
    let Case { before, instruction, whole } = case;
    let named = registers(instruction);
    let (all, first, change) = (gather(&named), gather(&named[..1]), change(&named));
    let once = format!("activemask.b32 %mask; {before} {instruction};");
    let count = "add.u32 %w, %w, 0; add.u32 %n7, %n7, 1;";
    let mut text = SETUP.to_owned();
    let _ = write!(
        text,
        "    {once} {all}\n    mov.u32 %n7, 0;
A: {once} {first} {change} {count} setp.lt.u32 %q, %n7, 5; @%q bra A; {all}
    mov.u32 %n7, 0;
B: {all} {once} {count} setp.lt.u32 %q, %n7, 4; @%q bra B; {all}
    mov.u32 %n7, 0;
C: setp.lt.u32 %u, %n7, 3; activemask.b32 %mask; {before} @%u {instruction}; {all} {change} {count}
    setp.lt.u32 %q, %n7, 6; @%q bra C; {all}\n"
    );
    if !whole {
        let _ = write!(
            text,
            "    mov.u32 %n7, 0; and.b32 %n6, %x, 3;
D: {once} {all} {change} {count} setp.le.u32 %q, %n7, %n6; @%q bra D; {all}
    mov.u32 %n7, 0;
E: xor.b32 %c, %x, %n7; and.b32 %c, %c, 1; setp.eq.u32 %u, %c, 0; @%u bra F; {once} {all}
F: {change} {count} setp.lt.u32 %q, %n7, 5; @%q bra E; {all}
    mov.u32 %n7, 0;\n"
        );
        // The mask of an operation among lanes names those that pass the guard.
        for (label, guard) in ["%p0", "!%p1", "%p2", "%g"].into_iter().enumerate() {
            let _ = write!(
                text,
                "    mov.u32 %n7, 0;
G{label}: setp.gt.u32 %g, %x, %n7; activemask.b32 %mask; vote.sync.ballot.b32 %mask, {guard}, %mask; {before}
    @{guard} {instruction}; {all} {change} {count} setp.lt.u32 %q, %n7, 4; @%q bra G{label}; {all}\n"
            );
        }
    }
    text.push_str("    st.global.u32 [%mine], %acc;\n");
    text
}

/// Runs each compiled and interpreted.
fn check(cases: &[Case], blocks: &[[u32; 3]]) {
    for case in cases {
        let text = module(FUNCTIONS, DECLARED, &body(case));
        let text = text.replace(".version 8.6\n.target sm_90\n", ".version 9.4\n.target sm_90a\n");
        assert!(ends_well(&text), "{}", case.instruction);
        compare(&case.instruction, &text, blocks);
    }
}

/// CTAs of whole and of partial warps.
fn blocks() -> [[u32; 3]; 4] {
    [BLOCKS[0], BLOCKS[3], BLOCKS[9], BLOCKS[12]]
}

#[test]
fn predicates() {
    let pairs = ["%p0|%p0", "%p0|_", "_|%p0", "%p1|%p0", "%p1|%p1", "%p0"];
    let comparisons = [
        "lt.u32 {}, %r0, %r1",
        "lt.and.u32 {}, %r0, %r1, %p0",
        "ge.or.s32 {}, %r4, %r5, !%p1",
        "eq.xor.u64 {}, %d0, %d1, %p0",
        "lt.f32 {}, %f1, %f2",
        "gtu.f64 {}, %e0, %e1",
        "lt.u16 {}, %h0, %h1",
        "nan.xor.f32 {}, %f1, %f2, !%p0",
        "eq.u32 {}, %r1, %r6",
        "lt.u32 {}, %x, 7",
        "ne.and.u32 {}, %r1, %r6, %p1",
    ];
    let pairs_only = ["lt.f16x2 {}, %r0, %r5", "ge.and.bf16x2 {}, %r5, %r0, %p0"];
    let mut cases = Vec::new();
    for pair in pairs {
        let two = pairs_only.iter().filter(|_| pair.contains('|'));
        cases.extend(
            comparisons.iter().chain(two).map(|one| case(format!("setp.{}", one.replace("{}", pair)))),
        );
    }
    for operation in ["and.pred %p0, %p0, %p1", "xor.pred %p0, %p0, %p0", "not.pred %p0, %p0"] {
        cases.push(case(operation));
    }
    for one in [
        "%r0|%p0, %r0, %r0, %r1, 0x96, %p0",
        "%r1|%p1, %r0, %r1, %r5, 0x1e, !%p0",
        "_|%p0, %r0, %r1, %r5, 1, %p0",
    ] {
        cases.push(case(format!("lop3.or.b32 {one}")));
        cases.push(case(format!("lop3.and.b32 {one}")));
    }
    check(&cases, &blocks());
}

#[test]
fn moves() {
    let mut cases = Vec::new();
    for (ty, big, of, count) in [
        ("b64", "%d0", 'r', 2),
        ("b32", "%r0", 'h', 2),
        ("b64", "%d0", 'h', 4),
        ("b32", "%r5", 'b', 4),
        ("b128", "%o0", 'd', 2),
        ("b64", "%d0", 'f', 2),
    ] {
        for list in lists(of, count) {
            cases.push(case(format!("mov.{ty} {list}, {big}")));
            cases.push(case(format!("mov.{ty} {big}, {list}")));
        }
    }
    for one in [
        "v2.b32 {%r0, %r1}, {%r1, %r0}",
        "v2.b32 {%r0, %r0}, {%r1, %r0}",
        "v2.b32 {%r1, %r0}, {%r0, %r0}",
        "v4.b32 {%r0, %r1, %r2, %r3}, {%r1, %r2, %r3, %r0}",
        "v4.b32 {%r0, %r1, %r0, %r1}, {%r1, %r0, %r1, %r0}",
        "v2.b64 {%d0, %d1}, {%d1, %d0}",
        "v2.b16 {%h0, %h1}, {%h1, %h0}",
        "v2.f32 {%f0, %f1}, {%f1, %f0}",
    ] {
        cases.push(case(format!("mov.{one}")));
    }
    check(&cases, &blocks());
}

#[test]
fn results_that_are_sources() {
    let instructions = [
        "add.cc.u32 %r0, %r5, %r0; addc.cc.u32 %r0, %r0, %r0; addc.u32 %r0, %r0, %r0",
        "sub.cc.u32 %r0, %r0, %r1; subc.u32 %r0, %r0, %r0",
        "mad.lo.cc.u32 %r0, %r0, %r5, %r0; madc.hi.u32 %r0, %r0, %r5, %r0",
        "mad.wide.u32 %d0, %r0, %r5, %d0",
        "mul.hi.u64 %d0, %d0, %d0",
        "shf.l.wrap.b32 %r0, %r0, %r0, %r0",
        "bfi.b32 %r0, %r0, %r5, %r6, %r7",
        "prmt.b32 %r0, %r0, %r0, %r0",
        "lop3.b32 %r0, %r1, %r0, %r5, 0xe8",
        "selp.u32 %r0, %r1, %r0, %p0",
        "vset4.u32.u32.ne %r0, %r0, %r1, %r0",
        "call (%r0, %r0), two, (%r0, %r0)",
        "call (%r0, %r1), two, (%r1, %r0)",
    ];
    let straight: Vec<Case> = instructions.into_iter().filter(|one| !one.contains(';')).map(case).collect();
    check(&straight, &blocks());
    // Only the first instruction of several has a guard.
    let several: Vec<Case> = instructions.into_iter().filter(|one| one.contains(';')).map(case).collect();
    check(&several, &blocks());
}

#[test]
fn addresses_that_are_loaded() {
    let global = "and.b64 %d3, %d3, 48; add.u64 %d3, %d3, %at; add.u64 %d3, %d3, 192; and.b64 %d3, %d3, -16;";
    let shared = "and.b32 %r0, %r0, 0xff0; add.u32 %r0, %r0, %sa;";
    let local = "and.b32 %r0, %r0, 0x10; mov.u32 %c, own; add.u32 %r0, %r0, %c;";
    let constant = "and.b32 %r0, %r0, 0x30; mov.u32 %c, fixed; add.u32 %r0, %r0, %c;";
    let mut cases = Vec::new();
    for list in ["{%d3, %d3}", "{%d3, %d0}", "{%d0, %d3}"] {
        cases.push(after(global, format!("ld.global.v2.u64 {list}, [%d3]")));
        cases.push(after(global, format!("ld.v2.u32 {list}, [%d3]")));
    }
    for list in ["%r0, %r0", "%r0, %r1", "%r1, %r0"] {
        cases.push(after(shared, format!("ld.shared.v2.u32 {{{list}}}, [%r0]")));
        cases.push(after(shared, format!("ld.shared.v4.u32 {{{list}, {list}}}, [%r0]")));
        cases.push(after(local, format!("ld.local.v2.u32 {{{list}}}, [%r0]")));
        cases.push(after(constant, format!("ld.const.v2.u32 {{{list}}}, [%r0]")));
    }
    cases.push(after(shared, "atom.shared.exch.b32 %r0, [%r0], %r0"));
    check(&cases, &blocks());
}

#[test]
fn atomic_operations() {
    let at = "[%at+192]";
    let mut cases = Vec::new();
    for list in lists('f', 2) {
        cases.push(case(format!("atom.global.add.v2.f32 {list}, {at}, {list}")));
        cases.push(case(format!("atom.global.add.v2.f32 {list}, {at}, {{%f1, %f0}}")));
    }
    cases.extend(
        lists('f', 4).iter().map(|list| case(format!("atom.global.add.v4.f32 {list}, {at}, {list}"))),
    );
    cases.extend(
        lists('h', 4).iter().map(|list| case(format!("atom.global.max.noftz.v4.bf16 {list}, {at}, {list}"))),
    );
    cases.extend(
        lists('h', 8).iter().map(|list| case(format!("atom.global.add.noftz.v8.f16 {list}, {at}, {list}"))),
    );
    for one in
        ["add.u32 %r0, [%at+192], %r0", "cas.b32 %r0, [%at+192], %r0, %r0", "exch.b128 %o0, [%at+192], %o0"]
    {
        cases.push(case(format!("atom.global.{one}")));
    }
    check(&cases, &blocks());
}

#[test]
fn operations_among_lanes() {
    let mut cases = Vec::new();
    for (d, p) in [("%r0", "%p0"), ("%r1", "%p1"), ("%r0", "_")] {
        for kind in ["idx", "up", "down", "bfly"] {
            cases.push(case(format!("shfl.sync.{kind}.b32 {d}|{p}, {d}, %r6, 31, %mask")));
            cases.push(case(format!("shfl.sync.{kind}.b32 {d}|{p}, %r4, {d}, {d}, %mask")));
        }
        cases.push(case(format!("match.all.sync.b32 {d}|{p}, {d}, %mask")));
        cases.push(case(format!("match.all.sync.b64 {d}|{p}, %d2, %mask")));
        if p != "_" {
            cases.push(case(format!("elect.sync {d}|{p}, %mask")));
            cases.push(case(format!("vote.sync.any.pred {p}, !{p}, %mask")));
            cases.push(case(format!("vote.sync.ballot.b32 {d}, {p}, %mask")));
        }
    }
    for one in [
        "match.all.sync.b32 _|%p0, %r4, %mask",
        "match.any.sync.b32 %r0, %r0, %mask",
        "redux.sync.xor.b32 %r0, %r0, %mask",
    ] {
        cases.push(case(one));
    }
    let masked = "mov.u32 %r0, %mask;";
    for one in [
        "shfl.sync.idx.b32 %r0|%p0, %r0, %r6, 31, %r0",
        "match.all.sync.b32 %r0|%p0, %r0, %r0",
        "elect.sync %r0|%p0, %r0",
        "redux.sync.or.b32 %r0, %r0, %r0",
    ] {
        cases.push(after(masked, one));
    }
    check(&cases, &blocks());
}

#[test]
fn matrices() {
    let mut cases = Vec::new();
    let shared = "and.b32 %r0, %r0, 0xff0; add.u32 %r0, %r0, %sa;";
    for (x, count) in [("x2", 2), ("x4", 4)] {
        for list in lists('r', count) {
            cases.push(whole(format!("ldmatrix.sync.aligned.m8n8.{x}.shared.b16 {list}, [%w]")));
            cases.push(whole(format!("ldmatrix.sync.aligned.m8n8.{x}.trans.shared.b16 {list}, [%w]")));
            let loaded = format!("ldmatrix.sync.aligned.m8n8.{x}.shared.b16 {list}, [%r0]");
            cases.push(Case { before: shared, ..whole(loaded) });
        }
    }
    for list in lists('f', 4) {
        let fragments = "{%r0, %r1, %r0, %r1}, {%r5, %r5}";
        cases.push(whole(format!(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {list}, {fragments}, {list}"
        )));
    }
    for list in lists('r', 4) {
        cases.push(whole(format!(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {list}, {list}, {{%r5, %r0}}, {list}"
        )));
    }
    for list in lists('r', 2) {
        cases.push(whole(format!(
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {list}, {{%r0, %r1, %r0, %r1}}, {list}, {list}"
        )));
    }
    cases.push(whole("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0, %e0}, {%e0}, {%e1}, {%e0, %e0}"));
    for list in lists('r', 8) {
        cases.push(whole(format!("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {list}, [memory], 16")));
    }
    for list in lists('f', 8) {
        let (a, b) = ("{%r0, %r1, %r2, %r3, %r0, %r1, %r2, %r3}", "{%r0, %r0, %r2, %r5, %r0, %r1, %r2, %r3}");
        cases.push(whole(format!("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {list}, [%in], 16")));
        cases
            .push(whole(format!("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {list}, {a}, {b}, {list}")));
    }
    check(&cases, &[BLOCKS[0], BLOCKS[2], BLOCKS[7]]);
}

/// Of two predicates that are one, the first remains: ptxas makes the comparison itself of `setp p|p`. Of several
/// registers that are one, the last.
#[test]
fn what_remains() {
    let body = "    mov.u64 %d0, 0x0000000200000001; mov.u32 %n7, 0; mov.u32 %r7, 0; mov.u32 %r5, 0x3c000000;
    setp.eq.u32 %g, %t, 0; @%g mbarrier.init.shared.b64 [memory], 1000; bar.sync 0;
A:
    setp.lt.u32 %p0|%p0, %n7, 100; @!%p0 trap; setp.gt.u32 %p0|%p0, %n7, 100; @%p0 trap;
    setp.lt.and.u32 %p0|%p0, %n7, 100, !%p0; @!%p0 trap; setp.gt.xor.s32 %p0|%p0, %x, -1, %p0; @%p0 trap;
    setp.lt.f32 %p1|%p1, 0f3f800000, 0f40000000; @!%p1 trap; setp.eq.f64 %p1|%p1, 0d0000000000000000, 0d3ff0000000000000; @%p1 trap;
    setp.eq.f16x2 %p1|%p1, %r5, %r7; @!%p1 trap; setp.eq.f16x2 _|%p1, %r5, %r7; @%p1 trap;
    mbarrier.test_wait.parity.phase_type::primary.shared.b64 %p2|%p2, [memory], 1; @!%p2 trap;
    mov.b64 {%r0, %r0}, %d0; setp.ne.u32 %q, %r0, 2; @%q trap; mov.v2.b32 {%r1, %r1}, {%n7, %r0}; setp.ne.u32 %q, %r1, 2; @%q trap;
    call (%r2, %r2), two, (7, 3); setp.ne.u32 %q, %r2, 4; @%q trap;
    add.u32 %n7, %n7, 1; setp.lt.u32 %q, %n7, 4; @%q bra A;
    st.global.u32 [%mine], %r0;
";
    let text = module(FUNCTIONS, DECLARED, body);
    let text = text.replace(".version 8.6\n.target sm_90\n", ".version 9.4\n.target sm_90a\n");
    compare("what remains", &text, &blocks());
    assert!(ends_well(&text));
}
