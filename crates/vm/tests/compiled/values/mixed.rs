//! Instructions of the table on registers of all classes, whose results are mostly in registers of their sources.

use super::{BLOCKS, difference, module, programs};
use crate::check::valid;
use crate::choices::Choices;
use crate::run::reduce;
use crate::table::{Operand, arithmetic};
use softwarp_isa::Type;

const DECLARED: &str = "    .reg .pred %p<4>; .reg .pred %l; .reg .b16 %h<4>; .reg .b32 %r<7>, %s, %c; .reg .f32 %f<4>; .reg .b64 %d<4>, %a;";

/// Sources of 32 bits that are not varying: the same in all lanes, or from lane to lane a step further.
const SOURCES: [&str; 14] =
    ["%x", "%y", "%z", "%cta", "%nx", "%ny", "%lane", "%t", "%n0", "%n1", "%n6", "0", "7", "0x80000000"];

struct Mixed {
    choices: Choices<'static>,
    lines: Vec<String>,
    labels: u32,
}

impl Mixed {
    fn line(&mut self, line: String) {
        self.lines.push(format!("    {line}"));
    }

    fn register(&mut self, ty: Type) -> String {
        let numbered = |name: &str, n: u64| format!("%{name}{n}");
        match (ty, ty.bits()) {
            (Type::Pred, _) => numbered("p", self.choices.below(4)),
            (Type::F32, _) if self.choices.once_in(2) => numbered("f", self.choices.below(4)),
            (_, ..=16) => numbered("h", self.choices.below(4)),
            (_, ..=32) => numbered("r", self.choices.below(7)),
            _ => numbered("d", self.choices.below(4)),
        }
    }

    /// A register gets a value of some class.
    fn begin(&mut self) {
        let (r, d, f) = (self.choices.below(7), self.choices.below(4), self.choices.below(4));
        let source = |mixed: &mut Mixed| mixed.choices.pick(&SOURCES);
        let (a, b, c) = (source(self), source(self), self.choices.below(7));
        match self.choices.below(10) {
            0..=2 => self.line(format!("mov.b32 %r{r}, {a};")),
            3 => self.line(format!("add.u32 %r{r}, %r{c}, {a};")),
            4 => self.line(format!("mad.lo.u32 %r{r}, %y, {a}, %x;")),
            5 => self.line(format!("mul.wide.u32 %d{d}, %r{c}, {a};")),
            6 => self.line(format!("mad.wide.u32 %d{d}, %x, 12, %in;")),
            7 => self
                .line(format!("mad.wide.u32 %a, %t, 4, %in; ld.global.u32 %r{r}, [%a+{}];", 4 * self.labels)),
            8 => self.line(format!("cvt.rn.f32.u32 %f{f}, %r{c};")),
            _ => {
                let p = self.choices.below(4);
                self.line(format!("setp.lt.u32 %p{p}, %x, {b};"));
            }
        }
    }

    /// An instruction of the table, whose result is often in the register of a source of its type.
    fn any(&mut self) {
        let Some(found) = arithmetic(&mut self.choices) else { return };
        let guard = match self.choices.below(8) {
            0 => format!("@%p{} ", self.choices.below(4)),
            _ => String::new(),
        };
        let mut operands = Vec::new();
        for operand in &found.operands {
            operands.push(match *operand {
                Operand::Value { register: Type::U32 | Type::S32 | Type::B32, written: false, .. }
                    if self.choices.once_in(4) =>
                {
                    let named = 3 + self.choices.below(8);
                    SOURCES[named as usize].to_owned()
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
        // A register of one digit, after its kind.
        let kind = |operand: &String| operand.get(..2).filter(|_| operand.len() == 3).map(str::to_owned);
        let result = operands.first().and_then(kind);
        let is_like = |other: &&String| result.is_some() && kind(other) == result;
        let sources: Vec<String> = operands.iter().skip(1).filter(is_like).cloned().collect();
        if !sources.is_empty() && self.choices.below(3) != 0 {
            let at = self.choices.below(sources.len() as u64) as usize;
            operands[0].clone_from(&sources[at]);
        }
        self.line(format!("{guard}{} {};", found.form.mnemonic(), operands.join(", ")));
    }

    fn statements(&mut self, count: u64) {
        for _ in 0..count {
            if self.choices.once_in(3) { self.begin() } else { self.any() }
        }
    }

    /// Statements that all lanes execute, or some, or some of them several times.
    fn block(&mut self) {
        self.labels += 1;
        let (label, count) = (self.labels, 2 + self.choices.below(6));
        match self.choices.below(4) {
            0 => {
                let (a, b) = (
                    self.choices.pick(&["%x", "%lane", "%n6", "%y"]),
                    self.choices.pick(&["3", "16", "%n3"]),
                );
                self.line(format!("setp.ge.u32 %l, {a}, {b}; @%l bra L{label};"));
                self.statements(count);
                self.lines.push(format!("L{label}:"));
            }
            1 => {
                // Lanes leave one after the other, or all at once.
                let last = self.choices.pick(&["%n0", "%s", "2"]);
                self.line("and.b32 %s, %t, 3; mov.u32 %c, 0;".to_owned());
                self.lines.push(format!("L{label}:"));
                self.statements(count);
                self.line(format!("add.u32 %c, %c, 1; setp.lt.u32 %l, %c, {last}; @%l bra L{label};"));
            }
            _ => self.statements(count),
        }
    }
}

fn text(lines: &[String]) -> String {
    let mut body = String::new();
    for line in lines {
        body += line;
        body.push('\n');
    }
    for n in 0..7 {
        body += &format!("    st.global.u32 [%mine+{}], %r{n};\n", 4 * n);
    }
    for n in 0..4 {
        body += &format!(
            "    st.global.f32 [%mine+{}], %f{n}; st.global.u64 [%mine+{}], %d{n}; st.global.u16 [%mine+{}], %h{n};
    selp.u32 %c, 1, 0, %p{n}; st.global.u32 [%mine+{}], %c;\n",
            32 + 4 * n,
            48 + 8 * n,
            80 + 2 * n,
            96 + 4 * n
        );
    }
    module("", DECLARED, &body)
}

#[test]
fn random_instructions_on_values_of_all_classes_do_the_same_compiled_and_interpreted() {
    for seed in programs(150) {
        let mut mixed = Mixed { choices: Choices::seeded(seed), lines: Vec::new(), labels: 0 };
        (0..7).for_each(|_| mixed.begin());
        (0..6).for_each(|_| mixed.block());
        let lines = valid(mixed.lines, &text);
        let blocks: [[u32; 3]; 4] =
            std::array::from_fn(|n| BLOCKS[(seed as usize * 4 + n * 5) % BLOCKS.len()]);
        let Some(found) = difference(&text(&lines), &blocks) else { continue };
        eprintln!("seed {seed}: {found}");
        let differs = |lines: &[String]| is_whole(lines) && difference(&text(lines), &blocks).is_some();
        let without = |lines: &[String], from: usize, to: usize| [&lines[..from], &lines[to..]].concat();
        let lines = reduce(lines, differs, without);
        panic!(
            "seed {seed}: {}\n{}",
            difference(&text(&lines), &blocks).unwrap_or_default(),
            lines.join("\n")
        );
    }
}

/// Whether each branch has its label.
fn is_whole(lines: &[String]) -> bool {
    let label = |line: &String| line.split("bra ").nth(1).map(|rest| rest.trim_end_matches(';').to_owned());
    lines.iter().filter_map(label).all(|label| lines.iter().any(|line| *line == format!("{label}:")))
}
