//! Random kernels whose addresses and branches come from the indices of threads and CTAs: from all special registers of
//! that kind, by products, division and remainder. They access buffers, shared memory, arrays of their own and
//! parameters of calls, with elements of all sizes, and with vectors that name a register twice.

#[path = "indices/accesses.rs"]
mod accesses;

use crate::choices::Choices;
use std::fmt::Write;

/// Bytes of the input.
pub const INPUT: usize = 1 << 15;

/// Bytes of a thread's output: those that statements store to, and then its registers.
pub const OWN: usize = 256;

/// Bytes to which all threads add.
pub const COMMON: usize = 256;

/// What a module has beside the statements of its kernel. `%mine` is the thread's part of the output, `%t` its index in
/// the CTA, and `%own` its word of shared memory.
const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64
.func (.param .b32 got) mix(.param .b32 a, .param .b64 b, .param .align 8 .b8 c[16])
{
    .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
    ld.param.u32 %r0, [a]; ld.param.u64 %d0, [b]; ld.param.v2.u32 {%r1, %r2}, [c]; ld.param.u32 %r3, [c+12];
    cvt.u32.u64 %r3, %d0; setp.lt.s32 %p, %r0, %r1; @%p add.s32 %r0, %r0, %r2; mad.lo.s32 %r0, %r0, 3, %r3;
    st.param.b32 [got], %r0; ret;
}
.func divide(.param .b64 to, .param .b32 a, .param .b32 b)
{
    .reg .b32 %r<4>; .reg .b64 %d;
    ld.param.u64 %d, [to]; ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b]; or.b32 %r1, %r1, 1; rem.u32 %r2, %r0, %r1;
    st.u32 [%d], %r2; st.u32 [%d+4], %r0; ret;
}
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 common, .param .u32 n)
{
    .shared .align 16 .b8 memory[8192]; .local .align 16 .b8 array[64];
    .reg .b32 %r<8>, %t, %own, %x, %y, %z, %n, %threads, %c<4>; .reg .b64 %d<5>, %in, %mine, %common, %at, %a, %g;
    .reg .b16 %h<4>; .reg .f32 %f<4>; .reg .pred %p<4>, %q, %l<4>; .reg .f64 %e;
    ld.param.u64 %in, [in]; ld.param.u64 %mine, [out]; ld.param.u64 %common, [common]; ld.param.u32 %n, [n];
    mov.u32 %x, %tid.x; mov.u32 %y, %ntid.x; mov.u32 %z, %tid.y; mad.lo.u32 %t, %z, %y, %x; mov.u32 %z, %ntid.y;
    mul.lo.u32 %threads, %y, %z; mov.u32 %x, %tid.z; mad.lo.u32 %t, %x, %threads, %t; mov.u32 %x, %ntid.z;
    mul.lo.u32 %threads, %threads, %x; mov.u32 %x, %ctaid.z; mov.u32 %y, %nctaid.y; mov.u32 %z, %ctaid.y;
    mad.lo.u32 %x, %x, %y, %z; mov.u32 %y, %nctaid.x; mov.u32 %z, %ctaid.x; mad.lo.u32 %x, %x, %y, %z;
    mad.lo.u32 %r0, %x, %threads, %t; mul.wide.u32 %d0, %r0, 256; add.s64 %mine, %mine, %d0;
    mov.u32 %own, memory; mad.lo.u32 %own, %t, 8, %own; mov.u64 %a, array; cvta.local.u64 %g, %a;
    and.b32 %x, %r0, 0xfff; mul.wide.u32 %d1, %x, 4; add.s64 %d1, %in, %d1; ld.global.u32 %r1, [%d1];
    ld.global.u32 %r2, [%in+64]; mov.u32 %r3, %tid.x; mov.u32 %r4, %tid.y; mov.u32 %r5, %laneid; xor.b32 %r6, %r1, %t;
    mov.u32 %r7, %ctaid.x; cvt.u64.u32 %d1, %r1; cvt.s64.s32 %d2, %r6; mov.b64 %d3, {%r1, %r4}; mul.wide.u32 %d4, %r4, 7;
    cvt.u16.u32 %h0, %r1; cvt.u16.u32 %h1, %r3; shr.u16 %h2, %h0, 3; mov.b16 %h3, %h1; mov.f64 %e, 0d3ff8000000000000;
    cvt.rn.f32.u32 %f0, %r3; cvt.rn.f32.s32 %f1, %r1; mov.b32 %f2, %r6; mov.f32 %f3, 0f3fc00000;
    setp.lt.u32 %p0, %t, 20; setp.lt.s32 %p1, %r1, 0; setp.eq.u32 %p2, %r4, 0; setp.lt.u32 %p3, %r0, %n;
    st.local.v4.u32 [array], {%r1, %t, %r3, %r4}; st.local.v4.u32 [array+16], {%r5, %r6, %r7, %r0};
    st.local.v4.u32 [array+32], {%t, %r1, %r3, %r4}; st.local.v4.u32 [array+48], {%r5, %r4, %t, %r0};
";

/// Registers of threads, warps and CTAs.
const SPECIAL: [&str; 20] = [
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%laneid",
    "%warpid",
    "%lanemask_lt",
    "%lanemask_eq",
    "%lanemask_ge",
    "%nctaid.z",
];

const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "10",
    "15",
    "16",
    "31",
    "32",
    "33",
    "100",
    "641",
    "-1",
    "-7",
    "0x80000000",
    "0x7fffffff",
];

/// A kernel that is being written.
struct Generator<'a, 'b> {
    choices: &'a mut Choices<'b>,
    lines: Vec<String>,
    labels: u32,
    /// Loops and branches around the statement.
    depth: u32,
    loops: u32,
    left: u32,
    /// Lanes may have ended.
    ended: bool,
}

impl Generator<'_, '_> {
    fn below(&mut self, n: u64) -> u64 {
        self.choices.below(n)
    }

    fn pick<'c>(&mut self, list: &[&'c str]) -> &'c str {
        self.choices.pick(list)
    }

    fn r(&mut self) -> String {
        format!("%r{}", self.below(8))
    }

    fn d(&mut self) -> String {
        format!("%d{}", self.below(5))
    }

    fn h(&mut self) -> String {
        format!("%h{}", self.below(4))
    }

    fn f(&mut self) -> String {
        format!("%f{}", self.below(4))
    }

    fn p(&mut self) -> String {
        format!("%p{}", self.below(4))
    }

    /// A register or a constant.
    fn source(&mut self) -> String {
        match self.below(3) {
            0 => self.pick(&NUMBERS).to_owned(),
            _ => self.r(),
        }
    }

    fn guard(&mut self) -> String {
        match self.below(6) {
            0 => format!("@{} ", self.p()),
            1 => format!("@!{} ", self.p()),
            _ => String::new(),
        }
    }

    /// One line; it is left out as a whole when a kernel is made smaller.
    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn statement(&mut self) {
        self.left = self.left.saturating_sub(1);
        match self.below(34) {
            0..=3 => self.index(),
            4 | 5 => self.quotient(),
            6..=8 => self.wide(),
            9..=13 => self.load(),
            14..=16 => self.store(),
            17 | 18 => self.own_array(),
            19..=21 => self.compare(),
            22 | 23 => self.integer(),
            24 => self.short(),
            25 => self.float(),
            26 => self.call(),
            27 | 28 => self.together(),
            29 | 30 if self.depth < 3 => self.branch(),
            31 | 32 if self.loops < 3 => self.repeat(),
            33 if self.depth > 0 && self.choices.once_in(4) => {
                self.ended = true;
                let (p, what) = (self.p(), self.pick(&["exit", "ret"]));
                self.line(format!("@{p} {what};"));
            }
            _ => self.index(),
        }
    }

    /// Something of the indices of the thread.
    fn index(&mut self) {
        let (guard, d, special, other) =
            (self.guard(), self.r(), self.choices.pick(&SPECIAL), self.choices.pick(&SPECIAL));
        let (a, b) = (self.r(), self.source());
        let line = match self.below(7) {
            0 => format!("{guard}mov.u32 {d}, {special};"),
            1 => format!("mov.u32 %x, {special}; {guard}mad.lo.u32 {d}, %x, {b}, {a};"),
            2 => format!("mov.u32 %x, {special}; mov.u32 %y, {other}; {guard}mad.lo.s32 {d}, %x, %y, {d};"),
            3 => format!("mov.u32 %x, {special}; {guard}add.s32 {d}, {a}, %x;"),
            4 => format!("mov.u32 %x, {special}; mul.lo.u32 {d}, %x, {b}; {guard}add.u32 {d}, {d}, {a};"),
            5 => format!("mov.u32 %x, {special}; {guard}shl.b32 {d}, %x, {};", self.below(8)),
            _ => format!("mov.u32 %x, {special}; mov.u32 %y, {other}; {guard}sub.s32 {d}, %x, %y;"),
        };
        self.line(line);
    }

    fn quotient(&mut self) {
        let (guard, d, a) = (self.guard(), self.r(), self.r());
        let by = self.pick(&["3", "5", "7", "10", "16", "32", "100", "641", "-7", "1", "31", "64"]);
        let op = self.pick(&["div.u32", "rem.u32", "div.s32", "rem.s32"]);
        let special = self.choices.pick(&SPECIAL);
        let line = match self.below(5) {
            0 => format!("{guard}{op} {d}, {a}, {by};"),
            1 => format!("mov.u32 %x, {special}; {guard}{op} {d}, %x, {by};"),
            2 => format!("or.b32 %x, {a}, 1; {guard}{op} {d}, {d}, %x;"),
            3 => format!("mov.u32 %x, {special}; add.u32 %x, %x, 1; {guard}{op} {d}, {a}, %x;"),
            _ => {
                let (e, b) = (self.d(), self.d());
                let op = self.pick(&["div.u64", "rem.u64", "div.s64", "rem.s64"]);
                format!("or.b64 %at, {b}, 3; {guard}{op} {e}, {e}, %at;")
            }
        };
        self.line(line);
    }

    fn wide(&mut self) {
        let (guard, d, a, b) = (self.guard(), self.d(), self.d(), self.d());
        let (r, s) = (self.r(), self.source());
        let special = self.choices.pick(&SPECIAL);
        let two =
            ["add.s64", "sub.s64", "mul.lo.u64", "and.b64", "xor.b64", "min.s64", "max.u64", "mul.hi.u64"];
        let line = match self.below(10) {
            0 => format!("{guard}{} {d}, {r}, {s};", self.pick(&["mul.wide.s32", "mul.wide.u32"])),
            1 => {
                let op = self.pick(&["mul.wide.s32", "mul.wide.u32"]);
                format!("mov.u32 %x, {special}; {guard}{op} {d}, %x, {s};")
            }
            2 => {
                let op = self.pick(&["mad.wide.s32", "mad.wide.u32"]);
                format!("mov.u32 %x, {special}; {guard}{op} {d}, %x, {s}, {a};")
            }
            3 => {
                let op = self.pick(&["mul.wide.u16", "mul.wide.s16"]);
                format!("{guard}{op} {r}, {}, {};", self.h(), self.h())
            }
            4 => format!(
                "{guard}{} {d}, {a}, {};",
                self.pick(&["shl.b64", "shr.u64", "shr.s64"]),
                self.below(40)
            ),
            5 => format!(
                "{guard}{} {d}, {r};",
                self.pick(&["cvt.u64.u32", "cvt.s64.s32", "cvt.s64.s16", "cvt.u64.u8"])
            ),
            6 => format!("{guard}cvt.u32.u64 {r}, {a};"),
            7 => format!("{guard}mov.b64 {d}, {{{r}, {}}};", self.r()),
            8 => format!("{guard}mov.b64 {{{r}, {}}}, {a};", self.r()),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(line);
    }

    fn compare(&mut self) {
        let (guard, p, q, c) = (self.guard(), self.p(), self.p(), self.p());
        let (a, b, special) = (self.r(), self.source(), self.choices.pick(&SPECIAL));
        let order = self.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let ty = self.pick(&["s32", "u32"]);
        let combine = self.pick(&["and", "or", "xor"]);
        let line = match self.below(9) {
            0 => format!("{guard}setp.{order}.{combine}.{ty} {p}, {a}, {b}, {c};"),
            1 | 2 => format!("mov.u32 %x, {special}; {guard}setp.{order}.{ty} {p}, %x, {b};"),
            3 => format!("mov.u32 %x, {special}; and.b32 %x, %x, 1; {guard}setp.eq.u32 {p}, %x, 0;"),
            4 if p != q => format!("{guard}setp.{order}.{ty} {p}|{q}, {a}, {b};"),
            5 => {
                format!("{guard}setp.{order}.{} {p}, {}, {};", self.pick(&["s64", "u64"]), self.d(), self.d())
            }
            6 => format!("{guard}{combine}.pred {p}, {q}, {c};"),
            7 => format!("{guard}setp.{order}.f32 {p}, {}, {};", self.f(), self.f()),
            _ => format!("{guard}setp.{order}.{ty} {p}, {a}, {b};"),
        };
        self.line(line);
    }

    fn integer(&mut self) {
        let (guard, d, a, b, c) = (self.guard(), self.r(), self.r(), self.source(), self.r());
        let p = self.p();
        let three = [
            "mad.lo.u32",
            "shf.l.wrap.b32",
            "shf.r.clamp.b32",
            "sad.u32",
            "mad24.lo.u32",
            "dp4a.s32.u32",
            "prmt.b32",
        ];
        let two = [
            "add.u32",
            "sub.u32",
            "mul.lo.s32",
            "mul.hi.u32",
            "and.b32",
            "or.b32",
            "xor.b32",
            "shl.b32",
            "shr.u32",
            "shr.s32",
            "min.s32",
            "max.u32",
            "min.u32",
            "max.s32",
            "mul24.lo.s32",
        ];
        let one =
            ["not.b32", "neg.s32", "popc.b32", "clz.b32", "abs.s32", "brev.b32", "bfind.u32", "mov.b32"];
        let line = match self.below(8) {
            0 => format!("{guard}{} {d}, {a}, {b}, {c};", self.pick(&three)),
            1 => format!("{guard}lop3.b32 {d}, {a}, {b}, {c}, {};", self.below(256)),
            2 => format!("{guard}{} {d}, {a};", self.pick(&one)),
            3 => format!("{guard}selp.b32 {d}, {a}, {b}, {p};"),
            4 => format!(
                "{guard}{} {d}, {a}, {}, {};",
                self.pick(&["bfe.u32", "bfe.s32"]),
                self.below(32),
                self.below(33)
            ),
            5 => format!("{guard}bfi.b32 {d}, {a}, {c}, {}, {};", self.below(32), self.below(33)),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(line);
    }

    fn short(&mut self) {
        let (guard, d, a, b, r) = (self.guard(), self.h(), self.h(), self.h(), self.r());
        let two = [
            "add.s16",
            "sub.s16",
            "mul.lo.u16",
            "and.b16",
            "xor.b16",
            "min.s16",
            "max.u16",
            "rem.u16",
            "mul.hi.s16",
        ];
        let line = match self.below(6) {
            0 => format!("{guard}cvt.{}.u32 {d}, {r};", self.pick(&["u16", "s16", "u8", "s8"])),
            1 => format!("{guard}cvt.{} {r}, {a};", self.pick(&["u32.u16", "s32.s16", "s32.s8", "u32.u8"])),
            2 => format!("{guard}mov.b32 {r}, {{{a}, {b}}};"),
            3 => format!("{guard}mov.b32 {{{d}, {}}}, {r};", self.h()),
            4 => format!("{guard}{} {d}, {a}, {};", self.pick(&["shl.b16", "shr.u16", "shr.s16"]), r),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(line);
    }

    fn float(&mut self) {
        let (guard, d, a, b) = (self.guard(), self.f(), self.f(), self.f());
        let (r, h) = (self.r(), self.h());
        let line = match self.below(7) {
            0 => format!("{guard}fma.rn.f32 {d}, {a}, {b}, {};", self.f()),
            1 => format!("{guard}cvt.f32.f16 {d}, {h};"),
            2 => format!("{guard}cvt.rn.f16.f32 {h}, {a};"),
            3 => format!("{guard}cvt.{} {d}, {r};", self.pick(&["rn.f32.u32", "rn.f32.s32"])),
            4 => format!("{guard}cvt.rzi.{}.f32 {r}, {a};", self.pick(&["s32", "u32"])),
            5 => format!(
                "{guard}{} {h}, {h}, {};",
                self.pick(&["add.f16", "mul.f16", "min.f16", "max.bf16"]),
                self.h()
            ),
            _ => format!(
                "{guard}{} {d}, {a}, {b};",
                self.pick(&["add.f32", "sub.f32", "mul.f32", "min.f32", "max.f32"])
            ),
        };
        self.line(line);
    }

    fn call(&mut self) {
        let (a, b, d, c) = (self.r(), self.r(), self.r(), self.d());
        let guard = self.guard();
        let place = 8 * self.below(7);
        let line = match self.below(2) {
            0 => format!(
                "{{ .param .b32 pa; .param .b64 pb; .param .align 8 .b8 pc[16]; .param .b32 pr; st.param.b32 [pa], {a}; \
                 st.param.b64 [pb], {c}; st.param.v2.b32 [pc], {{{b}, %t}}; st.param.b32 [pc+12], {d}; \
                 call (pr), mix, (pa, pb, pc); ld.param.b32 {d}, [pr]; }}"
            ),
            _ => format!(
                "add.s64 %at, %g, {place}; {{ .param .b64 pt; .param .b32 pa; .param .b32 pb; st.param.b64 [pt], %at; \
                 st.param.b32 [pa], {a}; st.param.b32 [pb], {b}; {guard}call divide, (pt, pa, pb); }} ld.u32 {d}, [%at];"
            ),
        };
        self.line(line);
    }

    /// What all threads do together: outside of branches and loops, while all of them are there.
    fn together(&mut self) {
        if self.depth > 0 || self.ended {
            return self.wide();
        }
        let (d, a, p) = (self.r(), self.r(), self.p());
        let factor = self.pick(&["1", "3", "7", "16", "17", "31"]);
        let offset = self.below(40);
        let line = match self.below(5) {
            0 | 1 => format!(
                "bar.sync 0; st.shared.u32 [%own], {a}; bar.sync 0; mad.lo.u32 %x, %t, {factor}, {offset}; \
                 rem.u32 %x, %x, %threads; mov.u32 %y, memory; mad.lo.u32 %x, %x, 8, %y; ld.shared.u32 {d}, [%x]; bar.sync 0;"
            ),
            2 => format!("vote.sync.ballot.b32 {d}, {p}, -1;"),
            3 => {
                let kind = self.pick(&["bfly", "idx", "down", "up"]);
                let clamp = self.pick(&["31", "0x181f", "0", "0x1c03"]);
                format!("shfl.sync.{kind}.b32 {d}, {a}, {}, {clamp}, -1;", self.below(32))
            }
            _ => format!("bar.red.popc.u32 {d}, 0, {p};"),
        };
        self.line(line);
    }

    fn branch(&mut self) {
        self.labels += 1;
        let (label, p) = (self.labels, self.p());
        let negated = if self.below(2) == 0 { "!" } else { "" };
        if self.below(3) == 0 {
            // On the indices of threads.
            let (special, by) =
                (self.choices.pick(&SPECIAL), self.pick(&["1", "2", "3", "8", "16", "17", "0"]));
            let order = self.pick(&["lt.u32", "gt.u32", "ne.s32", "eq.s32"]);
            self.line(format!("mov.u32 %x, {special}; setp.{order} {p}, %x, {by};"));
        }
        self.line(format!("@{negated}{p} bra E{label};"));
        self.depth += 1;
        self.block();
        if self.below(2) == 0 {
            self.line(format!("bra D{label};"));
            self.line(format!("E{label}:"));
            self.block();
            self.line(format!("D{label}:"));
        } else {
            self.line(format!("E{label}:"));
        }
        self.depth -= 1;
    }

    /// A loop: as often as all lanes agree on, or as each lane says, with and without another way out.
    fn repeat(&mut self) {
        self.labels += 1;
        let (label, r, at) = (self.labels, self.r(), self.loops);
        let special = self.choices.pick(&SPECIAL);
        let begin = match self.below(4) {
            0 => format!("mov.u32 %c{at}, {};", 1 + self.below(5)),
            1 => format!("and.b32 %c{at}, {r}, 7; add.u32 %c{at}, %c{at}, 1;"),
            2 => format!("mov.u32 %c{at}, {special}; rem.u32 %c{at}, %c{at}, 6; add.u32 %c{at}, %c{at}, 1;"),
            _ => format!("rem.u32 %c{at}, %t, 5; add.u32 %c{at}, %c{at}, 1;"),
        };
        self.line(begin);
        self.line(format!("R{label}:"));
        self.depth += 1;
        self.loops += 1;
        self.block();
        if self.below(2) == 0 {
            let p = self.p();
            self.line(format!("@{p} bra O{label};"));
            self.block();
        }
        self.loops -= 1;
        self.depth -= 1;
        self.line(format!("sub.u32 %c{at}, %c{at}, 1; setp.ne.u32 %l{at}, %c{at}, 0; @%l{at} bra R{label};"));
        self.line(format!("O{label}:"));
    }

    fn block(&mut self) {
        for _ in 0..1 + self.below(4) {
            if self.left > 0 && !self.choices.are_spent() {
                self.statement();
            }
        }
    }
}

/// The statements of a kernel.
pub fn statements(choices: &mut Choices<'_>) -> Vec<String> {
    let mut generator =
        Generator { choices, lines: Vec::new(), labels: 0, depth: 0, loops: 0, left: 40, ended: false };
    while generator.left > 0 && !generator.choices.are_spent() {
        generator.statement();
    }
    generator.lines
}

/// A whole module.
pub fn module(statements: &[String]) -> String {
    let mut text = HEAD.to_owned();
    for line in statements {
        let _ = writeln!(text, "    {line}");
    }
    for n in 0..8 {
        let _ = writeln!(text, "    st.global.u32 [%mine+{}], %r{n};", 128 + 4 * n);
    }
    for n in 0..5 {
        let _ = writeln!(text, "    st.global.u64 [%mine+{}], %d{n};", 160 + 8 * n);
    }
    for n in 0..4 {
        let _ = writeln!(text, "    st.global.u16 [%mine+{}], %h{n};", 200 + 2 * n);
        let _ = writeln!(text, "    st.global.f32 [%mine+{}], %f{n};", 208 + 4 * n);
        let _ = writeln!(text, "    selp.u32 %x, 1, 0, %p{n}; st.global.u8 [%mine+{}], %x;", 224 + n);
    }
    text + "    st.global.f64 [%mine+232], %e; ld.local.v4.u32 {%r0, %r1, %r2, %r3}, [array+16];
    st.global.v4.u32 [%mine+240], {%r0, %r1, %r2, %r3};\n    ret;\n}\n"
}
