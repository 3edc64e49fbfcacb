//! Random programs in PTX: arithmetic of many types, divergent branches, loops, calls, memory, exchanges among lanes and
//! barriers.

#[path = "text/memory.rs"]
mod memory;

use crate::choices::Choices;
use crate::table::{Operand, arithmetic};
use softwarp_isa::Type;
use std::fmt::Write;

/// A generator of programs.
pub struct Generator<'a, 'b> {
    choices: &'a mut Choices<'b>,
    lines: Vec<String>,
    labels: u32,
    /// Loops and branches around the statement.
    depth: u32,
    /// Statements that may still be written.
    left: u32,
    /// Whether lanes may have ended: what others read of their registers is undefined.
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
        format!("%d{}", self.below(4))
    }

    fn f(&mut self) -> String {
        format!("%f{}", self.below(6))
    }

    fn p(&mut self) -> String {
        format!("%p{}", self.below(4))
    }

    /// A source of 32 bits: a register or a constant.
    fn source(&mut self) -> String {
        match self.below(4) {
            0 => ["0", "1", "31", "-1", "0x80000000", "12345", "32", "7"][self.below(8) as usize].to_string(),
            _ => self.r(),
        }
    }

    fn float_source(&mut self) -> String {
        let constants = [
            "0f00000000",
            "0f80000000",
            "0f3F800000",
            "0f7F800000",
            "0f7FFFFFFF",
            "0f00000001",
            "0fC0490FDB",
        ];
        match self.below(4) {
            0 => self.pick(&constants).to_string(),
            _ => self.f(),
        }
    }

    fn guard(&mut self) -> String {
        match self.below(6) {
            0 => format!("@{} ", self.p()),
            1 => format!("@!{} ", self.p()),
            _ => String::new(),
        }
    }

    fn h(&mut self) -> String {
        format!("%h{}", self.below(4))
    }

    fn line(&mut self, line: &str) {
        self.lines.push(format!("    {line}"));
    }

    fn label(&mut self, name: &str) {
        self.lines.push(format!("{name}:"));
    }

    /// A statement.
    fn statement(&mut self) {
        self.left = self.left.saturating_sub(1);
        match self.below(32) {
            0..=3 => self.integer(),
            4..=6 => self.float(),
            7 | 8 => self.wide(),
            9..=11 => self.compare(),
            12..=16 => self.memory(),
            17 | 18 => self.exchange(),
            19 | 20 => self.convert(),
            21 | 22 if self.depth < 3 => self.branch(),
            23 if self.depth < 2 => self.repeat(),
            24 if self.choices.once_in(4) => self.finish(),
            25 => self.call(),
            _ => self.any(),
        }
    }

    /// An instruction of the table.
    fn any(&mut self) {
        let Some(found) = arithmetic(self.choices) else { return };
        let guard = self.guard();
        let mut operands = Vec::new();
        for operand in &found.operands {
            operands.push(match *operand {
                Operand::Value { register, written: false, immediate: true, ty }
                    if self.choices.once_in(4) =>
                {
                    self.constant(ty, register)
                }
                Operand::Value { register, .. } => self.register(register),
                Operand::Pair(first, second) => {
                    let (one, other) = (self.register(first), self.register(second));
                    if one == other { one } else { format!("{one}|{other}") }
                }
                Operand::Vector(ty, count) => {
                    let list: Vec<String> = (0..count).map(|_| self.register(ty)).collect();
                    format!("{{{}}}", list.join(", "))
                }
                Operand::Lut(lut) => lut.to_string(),
            });
        }
        let line = format!("{guard}{} {};", found.form.mnemonic(), operands.join(", "));
        self.line(&line);
    }

    /// A register that a type fits into.
    fn register(&mut self, ty: Type) -> String {
        match (ty, ty.bits()) {
            (Type::Pred, _) => self.p(),
            (Type::F32, _) if self.choices.once_in(2) => self.f(),
            (_, ..=16) => self.h(),
            (_, ..=32) => self.r(),
            _ => self.d(),
        }
    }

    fn constant(&mut self, ty: Type, register: Type) -> String {
        let bits = self.choices.bits();
        match ty {
            Type::F32 => format!("0f{:08x}", bits as u32),
            Type::F64 => format!("0d{bits:016x}"),
            Type::U8 | Type::S8 | Type::B8 | Type::U16 | Type::S16 | Type::B16 => (bits as u8).to_string(),
            Type::U32 | Type::S32 | Type::B32 => (bits as i32).to_string(),
            Type::U64 | Type::S64 | Type::B64 => (bits as i64).to_string(),
            _ => self.register(register),
        }
    }

    /// Some lanes end, or the program does with a fault.
    fn finish(&mut self) {
        let p = self.p();
        self.ended = true;
        let what = self.pick(&["exit", "ret", "exit", "ret", "trap"]);
        self.line(&format!("@{p} {what};"));
    }

    fn call(&mut self) {
        let (d, a, b) = (self.r(), self.r(), self.r());
        self.line(&format!("call ({d}), sum, ({a}, {b});"));
    }

    fn integer(&mut self) {
        let (guard, d, a, b, c) = (self.guard(), self.r(), self.r(), self.source(), self.source());
        let three = ["mad.lo.u32", "mad.lo.s32", "shf.l.wrap.b32", "shf.r.wrap.b32", "shf.l.clamp.b32"];
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
            "div.u32",
            "rem.s32",
            "add.s32",
        ];
        let line = match self.below(10) {
            8 => return self.products(),
            9 => return self.logic(),
            0 => format!("{guard}{} {d}, {a}, {b}, {c};", self.pick(&three)),
            1 => format!("{guard}lop3.b32 {d}, {a}, {b}, {c}, {};", self.below(256)),
            2 => format!(
                "{guard}{} {d}, {a};",
                self.pick(&["not.b32", "neg.s32", "popc.b32", "clz.b32", "abs.s32", "mov.b32"])
            ),
            3 => format!("{guard}selp.b32 {d}, {a}, {b}, {};", self.p()),
            4 => format!("{guard}bfe.u32 {d}, {a}, {}, {};", self.below(32), self.below(33)),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(&line);
    }

    /// Both halves of products of the same words.
    fn products(&mut self) {
        let (guard, d, e, a, b) = (self.guard(), self.r(), self.r(), self.r(), self.source());
        let halves = [
            self.pick(&["mul.lo.s32", "mul.hi.s32", "mul.hi.u32"]),
            self.pick(&["mul.lo.u32", "mul.hi.u32"]),
        ];
        let swapped = self.choices.once_in(2);
        self.line(&format!("{guard}{} {d}, {a}, {b};", halves[0]));
        if self.choices.once_in(4) {
            self.integer();
        }
        match swapped && !b.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            true => self.line(&format!("{guard}{} {e}, {b}, {a};", halves[1])),
            false => self.line(&format!("{guard}{} {e}, {a}, {b};", halves[1])),
        }
    }

    /// Bitwise operations whose results are read once, mostly.
    fn logic(&mut self) {
        let registers: [String; 4] = std::array::from_fn(|_| self.r().to_string());
        for _ in 0..2 + self.below(5) {
            let (guard, c) = (self.guard(), self.source());
            let pick = |n: u64| &registers[n as usize % 4];
            let [d, a, b] = std::array::from_fn(|_| pick(self.below(4)));
            let guard = if self.choices.once_in(4) { guard } else { Default::default() };
            let line = match self.below(6) {
                0 => format!("{guard}not.b32 {d}, {a};"),
                1 => format!("{guard}lop3.b32 {d}, {a}, {b}, {c}, {};", self.below(256)),
                2 => format!("{guard}{} {d}, {a}, {c};", self.pick(&["and.b32", "or.b32", "xor.b32"])),
                _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&["and.b32", "or.b32", "xor.b32"])),
            };
            self.line(&line);
        }
    }

    fn float(&mut self) {
        let (guard, d, a, b, c) =
            (self.guard(), self.f(), self.f(), self.float_source(), self.float_source());
        let two = [
            "add.f32",
            "sub.f32",
            "mul.f32",
            "min.f32",
            "max.f32",
            "div.rn.f32",
            "add.ftz.f32",
            "mul.rz.f32",
            "add.sat.f32",
            "max.NaN.f32",
        ];
        let one = [
            "neg.f32",
            "abs.f32",
            "sqrt.rn.f32",
            "rcp.rn.f32",
            "rsqrt.approx.f32",
            "ex2.approx.f32",
            "mov.f32",
            "lg2.approx.f32",
            "sin.approx.f32",
            "cos.approx.ftz.f32",
            "rcp.approx.f32",
            "tanh.approx.f32",
            "sqrt.approx.f32",
        ];
        let line = match self.below(5) {
            0 | 1 => format!("{guard}fma.rn.f32 {d}, {a}, {b}, {c};"),
            2 => format!("{guard}{} {d}, {a};", self.pick(&one)),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(&line);
    }

    fn wide(&mut self) {
        let (guard, d, a, b) = (self.guard(), self.d(), self.d(), self.d());
        let (r, s) = (self.r(), self.source());
        let two = [
            "add.s64",
            "sub.s64",
            "mul.lo.u64",
            "and.b64",
            "or.b64",
            "xor.b64",
            "min.s64",
            "max.u64",
            "min.u64",
        ];
        let line = match self.below(6) {
            0 => format!("{guard}{} {d}, {r}, {s};", self.pick(&["mul.wide.s32", "mul.wide.u32"])),
            1 => format!("{guard}{} {d}, {r}, {s}, {a};", self.pick(&["mad.wide.s32", "mad.wide.u32"])),
            2 => format!("{guard}{} {d}, {a}, {s};", self.pick(&["shl.b64", "shr.u64", "shr.s64"])),
            3 => format!("{guard}selp.b64 {d}, {a}, {b}, {};", self.p()),
            4 => format!("{guard}{} {d}, {a};", self.pick(&["not.b64", "neg.s64", "mov.b64"])),
            _ => format!("{guard}{} {d}, {a}, {b};", self.pick(&two)),
        };
        self.line(&line);
    }

    fn convert(&mut self) {
        let (guard, r, f, d) = (self.guard(), self.r(), self.f(), self.d());
        let line = match self.below(10) {
            0 => format!("{guard}cvt.s64.s32 {d}, {r};"),
            1 => format!("{guard}cvt.u64.u32 {d}, {r};"),
            2 => format!("{guard}cvt.u32.u64 {r}, {d};"),
            3 => format!("{guard}cvt.rn.f32.s32 {f}, {r};"),
            4 => format!("{guard}cvt.rn.f32.u32 {f}, {r};"),
            5 => format!("{guard}cvt.rzi.s32.f32 {r}, {f};"),
            6 => format!("{guard}mov.b32 {r}, {f};"),
            7 => format!("{guard}mov.b32 {f}, {r};"),
            8 => format!("{guard}mov.b64 {{{r}, %r0}}, {d};"),
            _ => format!("{guard}mov.b64 {d}, {{{r}, %r1}};"),
        };
        self.line(&line);
    }

    fn compare(&mut self) {
        let (guard, p, q, c) = (self.guard(), self.p(), self.p(), self.p());
        let (a, b) = (self.r(), self.source());
        let (x, y) = (self.f(), self.float_source());
        let (d, e) = (self.d(), self.d());
        let order = self.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let float_order = self.pick(&["eq", "ne", "lt", "leu", "gtu", "ge", "num", "nan", "neu", "equ"]);
        let ty = self.pick(&["s32", "u32"]);
        let wide = self.pick(&["s64", "u64"]);
        let combine = self.pick(&["and", "or", "xor"]);
        let line = match self.below(7) {
            0 => format!("{guard}setp.{order}.{combine}.{ty} {p}, {a}, {b}, {c};"),
            1 if p != q => format!("{guard}setp.{order}.{ty} {p}|{q}, {a}, {b};"),
            2 => format!("{guard}setp.{float_order}.f32 {p}, {x}, {y};"),
            3 => format!("{guard}setp.{order}.{wide} {p}, {d}, {e};"),
            4 => format!("{guard}{}.pred {p}, {q}, {c};", combine),
            5 => format!("{guard}not.pred {p}, {q};"),
            _ => format!("{guard}setp.{order}.{ty} {p}, {a}, {b};"),
        };
        self.line(&line);
    }

    fn exchange(&mut self) {
        if self.depth != 0 {
            return self.integer();
        }
        let (d, a, b, p) = (self.r(), self.r(), self.source(), self.p());
        let (q, negated) = (self.p(), self.pick(&["", "!"]));
        let line = match self.below(10) {
            0 | 1 if !self.ended => {
                let kind = self.pick(&["bfly", "idx", "down", "up"]);
                let clamp = self.pick(&["31", "0x181f", "0", "0x1c03"]);
                let second = if self.choices.once_in(2) { format!("|{q}") } else { String::new() };
                format!("shfl.sync.{kind}.b32 {d}{second}, {a}, {b}, {clamp}, -1;")
            }
            2 => format!("vote.sync.ballot.b32 {d}, {negated}{p}, -1;"),
            3 => format!("vote.sync.{}.pred {q}, {negated}{p}, -1;", self.pick(&["any", "all", "uni"])),
            4 => format!("match.any.sync.b32 {d}, {a}, -1;"),
            5 => format!("match.all.sync.b64 {d}|{q}, {}, -1;", self.d()),
            6 => {
                let op = self.pick(&["add.u32", "min.s32", "max.u32", "and.b32", "xor.b32"]);
                format!("redux.sync.{op} {d}, {a}, -1;")
            }
            7 => format!("barrier.sync.aligned 1; bar.red.popc.u32 {d}, 0, {p};"),
            8 => {
                self.line("bar.sync 0;");
                self.line(&format!("st.shared.u32 [%far], {a}; bar.sync 0;"));
                let by = self.pick(&["1", "31", "32", "64"]);
                self.line(&format!("xor.b32 %x, %t, {by}; and.b32 %x, %x, 127; mov.u32 %n, memory;"));
                self.line("mad.lo.u32 %x, %x, 4, %n;");
                format!("ld.shared.u32 {d}, [%x+4096];")
            }
            _ => "bar.sync 0;".to_string(),
        };
        self.line(&line);
    }

    /// `if`, with or without `else`.
    fn branch(&mut self) {
        self.labels += 1;
        let (label, p) = (self.labels, self.p());
        let negated = if self.below(2) == 0 { "!" } else { "" };
        self.line(&format!("@{negated}{p} bra E{label};"));
        self.depth += 1;
        self.block();
        if self.below(2) == 0 {
            self.line(&format!("bra D{label};"));
            self.label(&format!("E{label}"));
            self.block();
            self.label(&format!("D{label}"));
        } else {
            self.label(&format!("E{label}"));
        }
        self.depth -= 1;
    }

    /// A loop, as often as all lanes agree on, or as each lane says.
    fn repeat(&mut self) {
        self.labels += 1;
        let (label, r, depth) = (self.labels, self.r(), self.depth);
        let times = 1 + self.below(5);
        match self.below(2) {
            0 => self.line(&format!("mov.u32 %c{depth}, {times};")),
            _ => {
                self.line(&format!("and.b32 %c{depth}, {r}, 7;"));
                self.line(&format!("add.u32 %c{depth}, %c{depth}, 1;"));
            }
        }
        self.label(&format!("R{label}"));
        self.depth += 1;
        self.block();
        self.depth -= 1;
        self.line(&format!("sub.u32 %c{depth}, %c{depth}, 1;"));
        self.line(&format!("setp.ne.u32 %l{depth}, %c{depth}, 0;"));
        self.line(&format!("@%l{depth} bra R{label};"));
    }

    fn block(&mut self) {
        for _ in 0..1 + self.below(5) {
            if self.left > 0 && !self.choices.are_spent() {
                self.statement();
            }
        }
    }
}

/// The statements of a program.
pub fn statements(choices: &mut Choices<'_>) -> Vec<String> {
    let mut generator = Generator { choices, lines: Vec::new(), labels: 0, depth: 0, left: 60, ended: false };
    while generator.left > 0 && !generator.choices.are_spent() {
        generator.statement();
    }
    generator.lines
}

/// What a module declares beside its kernel.
pub const DECLARED: &str = ".version 8.6\n.target sm_90\n.address_size 64
.const .align 16 .u32 table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
.func (.reg .u32 %d) sum(.reg .u32 %a, .reg .u32 %b)
{
    .reg .pred %p; .reg .u32 %c;
    setp.gt.s32 %p, %a, %b; mul.lo.u32 %c, %a, 3; @%p bra OVER; add.u32 %c, %b, %a; xor.b32 %c, %c, 5;
OVER:
    add.u32 %d, %c, %b;
    ret;
}
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .shared .align 32 .b8 memory[10240]; .local .align 16 .b8 local[64];
    .reg .pred %p<4>; .reg .pred %l<4>; .reg .pred %z; .reg .b32 %r<8>; .reg .f32 %f<6>; .reg .b64 %d<5>; .reg .b16 %h<4>;
    .reg .b32 %c<4>; .reg .b32 %x, %t, %n, %slot, %tx, %ty, %memory, %shared_row, %shared_first, %far;
    .reg .b64 %row, %first, %in, %out, %own, %warp, %mine, %q, %k, %window, %lead;
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
    mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %t, %ntid.x; mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %t, %t, %ty, %tx; cvt.u16.u32 %h0, %tx;
    mov.u32 %memory, memory; mad.lo.u32 %far, %t, 4, %memory; add.u32 %far, %far, 4096;
    mov.u32 %x, %warpid; mad.lo.u32 %memory, %x, 1024, %memory;
    shl.b32 %x, %ty, 6; add.u32 %shared_first, %x, %memory; cvt.u64.u32 %first, %x; add.s64 %first, %first, %in;
    shl.b32 %x, %tx, 2; add.u32 %shared_row, %shared_first, %x; cvt.u64.u32 %row, %x; add.s64 %row, %row, %first;
    mad.lo.u32 %r0, %r1, 128, %t;
    mad.wide.u32 %own, %r0, 4, %in;
    shr.u32 %r2, %t, 5; mad.wide.u32 %warp, %r2, 64, %in;
    mad.wide.u32 %mine, %r0, 256, %out;
    setp.lt.u32 %z, %t, 32; and.b32 %x, %r0, -32; mad.wide.u32 %lead, %x, 256, %out;
    shl.b32 %slot, %t, 2; add.u32 %slot, %slot, %memory; add.u32 %slot, %slot, 512;
    cvt.u64.u32 %window, %memory; cvta.shared.u64 %window, %window;
    ld.global.u32 %r3, [%own]; ld.global.u32 %r4, [%own+128]; xor.b32 %r5, %r3, %t;
    ld.global.f32 %f0, [%own+64]; ld.global.f32 %f1, [%own+4]; cvt.rn.f32.u32 %f2, %r0;
    ld.global.u16 %h1, [%own+8]; ld.global.s8 %h2, [%own+9];
    setp.lt.s32 %p0, %r3, 0; setp.gt.u32 %p1, %r5, %r4; setp.lt.u32 %p2, %t, 17;
    cvt.u64.u32 %d0, %r3; mov.b64 %d1, {%r3, %r4}; cvt.f64.f32 %d2, %f0;
";

/// A whole module.
pub fn module(statements: &[String]) -> String {
    let mut text = DECLARED.to_owned();
    for line in statements {
        let _ = writeln!(text, "{line}");
    }
    for n in 0..8 {
        let _ = writeln!(text, "    st.global.u32 [%mine+{}], %r{n};", 128 + 4 * n);
    }
    for n in 0..6 {
        let _ = writeln!(text, "    st.global.f32 [%mine+{}], %f{n};", 160 + 4 * n);
    }
    for n in 0..5 {
        let _ = writeln!(text, "    st.global.u64 [%mine+{}], %d{n};", 184 + 8 * n);
    }
    for n in 0..4 {
        let _ = writeln!(text, "    st.global.u16 [%mine+{}], %h{n};", 224 + 2 * n);
        let _ = writeln!(text, "    selp.u32 %x, 1, 0, %p{n}; st.global.u32 [%mine+{}], %x;", 232 + 4 * n);
    }
    text + "    ret;\n}\n"
}
