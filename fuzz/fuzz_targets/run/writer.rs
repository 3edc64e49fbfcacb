//! Writes programs from the instruction table.

use softwarp_isa::instruction::{
    Coordinates, Kind, Overrides, Signature, Space, Value, Wanted, opcodes, resolve, spell,
};
use softwarp_isa::{Class, Opaque, Type};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The opcodes that move memory or control, or have many forms, which are chosen more often than the others.
const FAVOURITES: &[&str] = &[
    "ld",
    "st",
    "atom",
    "red",
    "mov",
    "shfl",
    "vote",
    "bar",
    "barrier",
    "redux",
    "match",
    "cvt",
    "prmt",
    "isspacep",
    "mul",
    "mad",
    "fence",
    "mbarrier",
    "cp",
    "ldmatrix",
    "stmatrix",
    "mma",
    "mapa",
    "tex",
    "tld4",
    "txq",
    "suld",
    "sust",
    "sured",
    "suq",
    "wgmma",
    "wmma",
    "multimem",
    "cp",
    "mbarrier",
    "tensormap",
    "clusterlaunchcontrol",
    "getctarank",
    "istypep",
];

/// Opcodes that the generator writes by itself, or that only take others' turns.
const AVOIDED: &[&str] = &["bra", "brx", "call", "ret", "trap", "brkpt", "exit", "nanosleep", "alloca"];

/// How textures are arranged: there is one of each, and a surface of those that are no cubes.
pub const GEOMETRIES: &[&str] = &["1d", "2d", "3d", "a1d", "a2d", "cube", "acube"];

static OPCODES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut all: Vec<&'static str> = opcodes().filter(|opcode| !AVOIDED.contains(opcode)).collect();
    all.sort_unstable();
    all
});

/// Choices from bytes; the first of everything where there are no more.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
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
pub struct Writer<'a> {
    pub choices: Choices<'a>,
    pub registers: BTreeSet<&'static str>,
    pub labels: usize,
    /// The mnemonic whose operands are written.
    pub mnemonic: String,
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

    /// What a value had better be for its instruction to get anywhere.
    fn likely(&mut self, value: &Value) -> Option<String> {
        let has = |word: &str| self.mnemonic.contains(word);
        let likely = match value.ty.bits() {
            64 if has("wgmma") => ["%D0", "%D1"][self.choices.below(2)].to_owned(),
            32 if !value.forms.immediate => return None,
            32 if has("bulk") && !has("tensor") => (16 * (1 + self.choices.below(8))).to_string(),
            32 if has("mbarrier") => (1 + self.choices.below(3)).to_string(),
            32 if has("mapa") => self.choices.below(4).to_string(),
            _ => return None,
        };
        (!self.choices.once_in(8)).then_some(likely)
    }

    fn value(&mut self, value: &Value) -> String {
        let forms = value.forms;
        if forms.register
            && !forms.sink
            && let Some(likely) = self.likely(value)
        {
            return likely;
        }
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

    /// `[t_2d, {x, y}]`
    fn handle(&mut self, of: Opaque, coordinates: Option<Coordinates>) -> Option<String> {
        let geometry = self.mnemonic.split('.').find(|word| GEOMETRIES.contains(word)).unwrap_or("2d");
        let other = self.choices.pick(GEOMETRIES);
        let geometry = if self.choices.once_in(16) { other } else { geometry };
        let name = match (of, self.choices.below(6)) {
            (Opaque::Samplerref, _) => "%H2".to_owned(),
            (Opaque::Texref, 5) => ["%H0", "linear", "pitched"][self.choices.below(3)].to_owned(),
            (Opaque::Surfref, 5) => "%H1".to_owned(),
            (Opaque::Surfref, _) => format!("s_{}", geometry.replace("cube", "2d").replace("aa", "a")),
            (Opaque::Texref, _) => format!("t_{geometry}"),
        };
        let Some(coordinates) = coordinates else { return Some(format!("[{name}]")) };
        let &count = coordinates.counts.get(self.choices.below(coordinates.counts.len()))?;
        let element = coordinates.element;
        let mut one = |index: u8, first: Option<Value>| {
            let value = first.filter(|_| index == 0).unwrap_or(element);
            match (self.choices.below(4), value.ty) {
                (0, _) => self.value(&value),
                (_, Type::F32) => ["%F0", "%F1"][self.choices.below(2)].to_owned(),
                _ => ["%T", "%R", "%K1"][self.choices.below(3)].to_owned(),
            }
        };
        let list: Vec<String> = (0..count).map(|index| one(index, coordinates.index)).collect();
        Some(format!("[{name}, {{{}}}]", list.join(", ")))
    }

    /// `[map, {x, y}]`
    fn tensor(&mut self, dimensions: u8) -> String {
        let family = if self.mnemonic.contains("im2col") { "I" } else { "M" };
        let rank =
            if self.choices.once_in(12) { 1 + self.choices.below(5) as u8 } else { dimensions.clamp(1, 5) };
        let list: Vec<&str> =
            (0..dimensions).map(|_| self.choices.pick(&["%N3", "%T", "%R", "%K1"])).collect();
        format!("[%{family}{}, {{{}}}]", rank.max(if family == "I" { 3 } else { 1 }), list.join(", "))
    }

    fn address(&mut self, spaces: &[Space], wide: u64) -> String {
        let has = |word: &str| self.mnemonic.contains(word);
        let shared =
            spaces.iter().any(|it| matches!(it, Space::Shared | Space::SharedCta | Space::SharedCluster));
        let base = match () {
            () if has("multimem") && !shared => Some("%MM"),
            () if has("tensormap") && !shared => Some("%TM"),
            () if has("mbarrier") && shared && self.choices.once_in(2) => {
                Some(["bars", "bars+8", "%B0", "%B1"][self.choices.below(4)])
            }
            () => None,
        };
        if let Some(base) = base
            && !self.choices.once_in(16)
        {
            return format!("[{base}]");
        }
        let Some(&space) = spaces.get(self.choices.below(spaces.len())) else { return "[%A0]".to_owned() };
        let bases: &[&str] = match space {
            Space::Generic => &["%A0", "%A1", "%G0", "%G1", "%G2", "%P0"],
            Space::Global => &["%A0", "%A1", "g", "%P0"],
            Space::SharedCluster => &["s", "%S0", "%S1", "%K0", "%K2"],
            Space::Shared | Space::SharedCta => &["s", "%S0", "%S1", "dynamic"],
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
                // No two of a vector that is written may be the same.
                let first = self.choices.below(4);
                let name = element.register().name();
                let one = |writer: &mut Self, at: usize| match element.forms.register {
                    true => {
                        writer.registers.insert(name);
                        format!("%{name}_{}", first + at)
                    }
                    false => writer.value(element),
                };
                let elements: Vec<String> = (0..usize::from(count)).map(|at| one(self, at)).collect();
                format!("{{{}}}", elements.join(", "))
            }
            Kind::Address(spaces) => self.address(spaces, wide),
            Kind::Handle { of, coordinates } => self.handle(*of, *coordinates)?,
            Kind::Tensor { dimensions, overrides: Overrides::None } => self.tensor(*dimensions),
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
        let Ok(shape) = resolve(opcode, &words) else { return None };
        let signatures: Vec<&Signature> = shape.signatures.iter().collect();
        let signature = *signatures.get(self.choices.below(signatures.len()))?;
        self.mnemonic.clone_from(&mnemonic);
        let wide = ["matrix", "bulk", "wmma", "cp.async"].iter().any(|word| mnemonic.contains(word));
        let element = shape.types.first().map_or(4, |ty| u64::from(ty.bits()).div_ceil(8));
        let mut operands = Vec::new();
        for wanted in &signature.operands {
            if wanted.optional && self.choices.once_in(2) {
                continue;
            }
            let wide = if wide { 16 } else { element * u64::from(shape.vector) };
            operands.push(self.operand(wanted, wide)?);
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
    pub fn body(&mut self, depth: usize, room: &mut usize, in_kernel: bool) -> Vec<String> {
        let mut lines = Vec::new();
        while *room > 0 && !self.choices.0.is_empty() {
            *room -= 1;
            match self.choices.below(28) {
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
                9 => lines.extend(["barrier.cluster.arrive;", "barrier.cluster.wait;"].map(str::to_owned)),
                10 => {
                    let waits = [
                        "cp.async.commit_group;",
                        "cp.async.wait_group 0;",
                        "cp.async.bulk.commit_group;",
                        "cp.async.bulk.wait_group.read 0;",
                        "wgmma.fence.sync.aligned;",
                        "wgmma.commit_group.sync.aligned;",
                        "wgmma.wait_group.sync.aligned 0;",
                        "mbarrier.try_wait.parity.shared.b64 %Q, [bars], 0;",
                        "fence.proxy.async;",
                    ];
                    lines.push(self.choices.pick(&waits).to_owned());
                }
                _ => lines.extend(self.instruction()),
            }
        }
        lines
    }
}
