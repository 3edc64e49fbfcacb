//! Programs of random instructions from the table, on random addresses, are loaded and run: nothing panics, hangs or
//! takes memory without bound, and the loop that is watched does what the plain one does.
#![no_main]

use libfuzzer_sys::fuzz_target;
use softwarp_isa::instruction::{Kind, Resolution, Signature, Space, Value, Wanted, opcodes, resolve, spell};
use softwarp_isa::{Class, Type};
use softwarp_vm::device::{Device, Launch, LaunchError, LoadError, LoadOptions};
use softwarp_vm::sanitize::Sanitize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Duration;

/// The most instructions of a program.
const MOST: usize = 48;

/// Bytes of each buffer.
const BUFFER: u64 = 1024;

/// The opcodes that move memory or control, or have many forms, which are chosen more often than the others.
const FAVOURITES: &[&str] = &[
    "ld", "st", "atom", "red", "mov", "shfl", "vote", "bar", "barrier", "redux", "match", "cvt", "prmt",
    "isspacep", "mul", "mad", "fence", "mbarrier", "cp", "ldmatrix", "stmatrix", "mma", "mapa",
];

/// Opcodes that the generator writes by itself, or that only take others' turns.
const AVOIDED: &[&str] = &["bra", "brx", "call", "ret", "trap", "brkpt", "exit", "nanosleep", "alloca"];

static OPCODES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut all: Vec<&'static str> = opcodes().filter(|opcode| !AVOIDED.contains(opcode)).collect();
    all.sort_unstable();
    all
});

/// Choices from bytes; the first of everything where there are no more.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    fn below(&mut self, count: usize) -> usize {
        let number = if count > 256 { usize::from(self.byte()) << 8 } else { 0 } | usize::from(self.byte());
        number % count.max(1)
    }

    fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// A program that grows.
struct Writer<'a> {
    choices: Choices<'a>,
    registers: BTreeSet<&'static str>,
    labels: usize,
}

impl Writer<'_> {
    fn register(&mut self, ty: Type) -> String {
        let name = ty.name();
        self.registers.insert(name);
        format!("%{name}_{}", self.choices.below(3))
    }

    fn literal(&mut self, ty: Type) -> String {
        let wild = i64::from_le_bytes(std::array::from_fn(|_| self.choices.byte()));
        let number = if self.choices.once_in(3) { wild } else { i64::from(wild as u8) };
        match (ty.class(), ty) {
            (_, Type::F32) => format!("0f{:08x}", number as u32),
            (_, Type::F64) => format!("0d{number:016x}"),
            (Class::Pred, _) => (number & 1).to_string(),
            (Class::Signed, _) => (number as i32).to_string(),
            _ => (number as u32).to_string(),
        }
    }

    fn value(&mut self, value: &Value) -> String {
        let forms = value.forms;
        if forms.sink && self.choices.once_in(8) {
            return "_".to_owned();
        }
        let float = matches!(value.ty.class(), Class::Float) && !matches!(value.ty, Type::F32 | Type::F64);
        if forms.immediate && !float && (!forms.register || self.choices.once_in(3)) {
            return self.literal(value.ty);
        }
        if forms.special && self.choices.once_in(4) {
            let specials = ["%tid.x", "%ctaid.x", "%laneid", "%ntid.y", "%lanemask_lt", "%warpid", "%nsmid"];
            return self.choices.pick(&specials).to_owned();
        }
        if forms.address && self.choices.once_in(4) {
            return self.choices.pick(&["s", "g", "c"]).to_owned();
        }
        let register = self.register(value.register());
        if forms.negated && self.choices.once_in(3) { format!("!{register}") } else { register }
    }

    fn address(&mut self, spaces: &[Space], wide: u64) -> String {
        let Some(&space) = spaces.get(self.choices.below(spaces.len())) else { return "[%A0]".to_owned() };
        let bases: &[&str] = match space {
            Space::Generic => &["%A0", "%A1", "%G0", "%G1", "%G2", "%P0"],
            Space::Global => &["%A0", "%A1", "g", "%P0"],
            Space::Shared | Space::SharedCta | Space::SharedCluster => &["s", "%S0", "%S1", "dynamic"],
            Space::Local => &["l", "%L0"],
            Space::Const => &["c", "%C0"],
            _ => &["pa", "pn"],
        };
        let base = if self.choices.once_in(24) { "%u64_0" } else { self.choices.pick(bases) };
        if base == "%u64_0" {
            self.registers.insert("u64");
        }
        let offset = match self.choices.below(24) {
            0..12 => 0,
            12..21 => (self.choices.below(16) as i64) * wide as i64,
            21 | 22 => self.choices.below(256) as i64 - 128,
            _ => i64::from(self.choices.byte()) << 24,
        };
        format!("[{base}+{offset}]")
    }

    fn operand(&mut self, wanted: &Wanted, wide: u64) -> Option<String> {
        Some(match &wanted.kind {
            Kind::Value(value) => self.value(value),
            Kind::Pair(first, second) => {
                let one = self.operand(first, wide)?;
                if second.optional && self.choices.once_in(2) {
                    one
                } else {
                    format!("{one}|{}", self.operand(second, wide)?)
                }
            }
            Kind::Vector { counts, element, .. } => {
                let count = *counts.get(self.choices.below(counts.len()))?;
                let elements: Vec<String> = (0..count).map(|_| self.value(element)).collect();
                format!("{{{}}}", elements.join(", "))
            }
            Kind::Address(spaces) => self.address(spaces, wide),
            Kind::Immediate(range) => {
                let (low, high) = range.unwrap_or((0, 255));
                (low + self.choices.below((high - low + 1).clamp(1, 256) as usize) as i64).to_string()
            }
            _ => return None,
        })
    }

    /// An instruction; none where the choices lead nowhere.
    fn instruction(&mut self) -> Option<String> {
        let favourite = self.choices.once_in(2);
        let opcode = if favourite { self.choices.pick(FAVOURITES) } else { self.choices.pick(&OPCODES) };
        let mnemonic = match opcode {
            "cvt" => self.conversion(),
            _ => spell(opcode, |count| self.choices.below(count))?,
        };
        let words: Vec<&str> = mnemonic.split('.').skip(1).collect();
        let Ok(Resolution::Shape(shape)) = resolve(opcode, &words) else { return None };
        let signatures: Vec<&Signature> = shape.signatures.iter().collect();
        let signature = *signatures.get(self.choices.below(signatures.len()))?;
        let element = shape.types.first().map_or(4, |ty| u64::from(ty.bits()).div_ceil(8));
        let mut operands = Vec::new();
        for wanted in &signature.operands {
            if wanted.optional && self.choices.once_in(2) {
                continue;
            }
            operands.push(self.operand(wanted, element * u64::from(shape.vector))?);
        }
        let guard = match self.choices.below(6) {
            4 => format!("@{} ", self.register(Type::Pred)),
            5 => format!("@!{} ", self.register(Type::Pred)),
            _ => String::new(),
        };
        Some(format!("{guard}{mnemonic} {};", operands.join(", ")))
    }

    fn conversion(&mut self) -> String {
        const TYPES: &[&str] = &[
            "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "f16x2",
            "e4m3x2", "tf32",
        ];
        const WORDS: &[&str] =
            &["", ".rn", ".rz", ".rni", ".rzi", ".rm", ".sat", ".rn.satfinite", ".rni.ftz"];
        format!("cvt{}.{}.{}", self.choices.pick(WORDS), self.choices.pick(TYPES), self.choices.pick(TYPES))
    }

    /// Statements, one to a line.
    fn body(&mut self, depth: usize, room: &mut usize, in_kernel: bool) -> Vec<String> {
        let mut lines = Vec::new();
        while *room > 0 && !self.choices.0.is_empty() {
            *room -= 1;
            match self.choices.below(24) {
                0 if depth < 3 => {
                    // A loop of few rounds, nested or not.
                    self.labels += 1;
                    let (label, rounds) = (self.labels, 1 + self.choices.below(5));
                    lines.push(format!("mov.u32 %N{depth}, {rounds};"));
                    lines.push(format!("L{label}:"));
                    lines.extend(self.body(depth + 1, room, in_kernel));
                    lines.push(format!("sub.u32 %N{depth}, %N{depth}, 1;"));
                    lines.push(format!("setp.ne.u32 %Q, %N{depth}, 0;"));
                    lines.push(format!("@%Q bra L{label};"));
                }
                1 | 2 if depth < 3 => {
                    self.labels += 1;
                    let label = self.labels;
                    let guard = self.register(Type::Pred);
                    lines.push(format!("@{guard} bra L{label};"));
                    lines.extend(self.body(depth + 1, room, in_kernel));
                    lines.push(format!("L{label}:"));
                }
                3 if in_kernel => lines.push("call (%R), f, (%A0, %R);".to_owned()),
                4 => {
                    let lane = self.choices.below(64);
                    let register = self.register(Type::Pred);
                    lines.push(format!("setp.lt.u32 {register}, %T, {lane};"));
                }
                5 if depth > 0 => return lines,
                6 => {
                    let guard = self.register(Type::Pred);
                    lines.push(format!("@{guard} {};", self.choices.pick(&["exit", "ret", "trap"])));
                }
                7 => lines.push("st.u32 [%A1], %T;".to_owned()),
                8 => {
                    // Halves of one product, which the assembler lets share a multiplication.
                    let forms = ["mul.lo.s32 %R, %T, %N3;", "mad.hi.sat.s32 %R, %T, %N3, %R;"];
                    lines.push(self.choices.pick(&forms).to_owned());
                }
                _ => lines.extend(self.instruction()),
            }
        }
        lines
    }
}

const DECLARED: &str = ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 16 .b8 g[512];\n\
    .const .align 16 .b8 c[256] = {1, 2, 3, 4, 5, 6, 7, 8};\n.shared .align 16 .b8 s[1024];\n\
    .extern .shared .align 16 .b8 dynamic[];\n";

const PROLOGUE: &str = ".reg .b64 %A<2>, %G<3>, %P0, %X; .reg .b32 %T, %R, %S<2>, %L0, %C0, %N<4>; .reg .pred %Q;\n\
    .local .align 16 .b8 l[256];\n\
    mov.u32 %T, %tid.x;\nmov.u32 %R, 7;\nmov.u32 %S0, s;\nmad.lo.u32 %S1, %T, 16, %S0;\nmov.u32 %L0, l;\n\
    mov.u32 %C0, c;\ncvta.shared.u64 %G0, s;\ncvta.local.u64 %G1, l;\ncvta.global.u64 %G2, g;\n";

/// The text of a program, without the lines that are named.
fn text(registers: &BTreeSet<&str>, bodies: [&[String]; 2]) -> String {
    let mut text = DECLARED.to_owned();
    let heads = [
        ".func (.reg .b32 %r) f(.reg .b64 %p, .reg .b32 %n)",
        ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u32 pn)",
    ];
    let begins = [
        "mov.b64 %P0, %p;\nmov.b64 %A0, %p;\nmov.b64 %A1, %p;\nmov.u32 %r, %n;\n",
        "ld.param.u64 %A0, [pa];\nld.param.u64 %A1, [pb];\nmad.wide.u32 %P0, %T, 16, %A1;\n",
    ];
    for ((head, begin), body) in heads.into_iter().zip(begins).zip(bodies) {
        let _ = write!(text, "{head}\n{{\n{PROLOGUE}{begin}");
        for name in registers {
            let _ = writeln!(text, ".reg .{name} %{name}_<3>;");
        }
        for line in body {
            let _ = writeln!(text, "{line}");
        }
        text.push_str("ret;\n}\n");
    }
    text
}

/// Takes the line at a byte out of the program, if it may go.
fn drop_line(source: &str, at: usize, bodies: &mut [Vec<String>; 2]) -> bool {
    let start = source[..at.min(source.len())].rfind('\n').map_or(0, |at| at + 1);
    let line = source[start..].lines().next().unwrap_or("");
    let mut found = false;
    for body in bodies {
        let before = body.len();
        body.retain(|one| one != line || one.ends_with(':') || one.contains("%N") || one.contains("bra L"));
        found |= body.len() < before;
    }
    found
}

fuzz_target!(|data: &[u8]| {
    let mut writer = Writer { choices: Choices(data), registers: BTreeSet::from(["pred"]), labels: 0 };
    let flags = writer.choices.byte();
    let shape = writer.choices.byte();
    let function = writer.body(0, &mut (MOST / 4), false);
    let kernel = writer.body(0, &mut MOST.clone(), true);
    let mut bodies = [function, kernel];
    // What the checker and the machine do not take goes, and the rest is tried again.
    for _ in 0..8 {
        let source = text(&writer.registers, [&bodies[0], &bodies[1]]);
        let places: Vec<usize> = match Device::load(&[&source], LoadOptions::default()) {
            Ok(mut device) => match device.program("k") {
                Ok(_) => {
                    run(&source, flags, shape);
                    return;
                }
                Err(LaunchError::Unsupported(list)) => {
                    list.iter().map(|one| one.span.start as usize).collect()
                }
                Err(_) => return,
            },
            Err(LoadError::Invalid(found)) => found.iter().map(|(_, it)| it.span.start as usize).collect(),
            Err(_) => return,
        };
        let mut dropped = false;
        for at in places {
            dropped |= drop_line(&source, at, &mut bodies);
        }
        if !dropped {
            return;
        }
    }
});

/// Runs a program in the plain loop and in the one that is watched, and compares.
fn run(source: &str, flags: u8, shape: u8) {
    let (grid, block) = (1 + u32::from(shape & 1), [1, 32, 45, 64][usize::from(shape >> 1 & 3)]);
    let once = |sanitize: Sanitize, threads: usize| {
        let mut device = Device::load(&[source], LoadOptions::default()).expect("it was loaded before");
        let a = device.allocate(BUFFER).expect("memory");
        let b = device.allocate_uninitialised(BUFFER).expect("memory");
        let bytes: Vec<u8> = (0..BUFFER).map(|at| (at as u8).wrapping_mul(flags | 1)).collect();
        device.write(a, &bytes).expect("inside");
        let arguments = [a.to_le_bytes().to_vec(), b.to_le_bytes().to_vec(), 40u32.to_le_bytes().to_vec()];
        let launch = Launch {
            sanitize,
            threads: Some(threads),
            dynamic_shared: 512,
            most_instructions: Some(20_000),
            most_time: Some(Duration::from_secs(3)),
            ..Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments)
        };
        let outcome = device.launch(&launch).map(|report| report.counts).map_err(|error| error.to_string());
        let mut contents = vec![0; 2 * BUFFER as usize];
        let (first, second) = contents.split_at_mut(BUFFER as usize);
        device.read(a, first).expect("inside");
        device.read(b, second).expect("inside");
        (outcome, contents)
    };
    let plain = once(Sanitize::default(), 1);
    let watched = once(Sanitize { init: flags & 1 != 0, race: flags & 2 != 0, sync: true }, 1);
    // Clocks are no part of this; limits may be reached a little sooner or later.
    if plain.0.is_ok() && watched.0.is_ok() && !source.contains("clock") && !source.contains("timer") {
        assert_eq!(plain, watched, "{source}");
    }
    if flags & 4 != 0 && grid > 1 {
        let _ = once(Sanitize::default(), 2);
    }
}
