//! What each pass of the compiler finds out about a function, as text: for file tests and for people.
//!
//! A pass is a row of [`PASSES`]: its name and a function that prints what it found. The text is stable: it does not
//! depend on the CPU, but for the level that is asked for. `crates/jit/tests/filetests` has tests of each.
//!
//! ```
//! use softwarp_ir::Function;
//! use softwarp_jit::{Shape, passes};
//!
//! let text = "rows: 3 of 32 bits, 0 of 64 bits, 0 predicates\nr0 = 0x4\nr1 = Tid(0)\n\
//!     zeroed: none\n0: r2 = mul.lo.u32 r1, r0\n1: r2 = add.u32 r2, r2\n2: ret\n";
//! let function = Function::parse(text).expect("a function");
//! let found = passes::run("classes", &function, Shape::of([256, 1, 1]), passes::Width::Avx512).expect("a pass");
//! assert_eq!(found, "r0: uniform, 4\nr1: affine(1)\nr2 of 0: affine(4)\nr2 of 1: affine(8)\n");
//! ```

use crate::budget::{Budget, Limits};
use crate::classes::{Class, Steps};
use crate::decode::{Action, decode};
use crate::emit::{Common, Emitter, Labels, Part, Unit};
use crate::flow::Flow;
use crate::listing::lines;
use crate::places::Place;
use crate::quotients::Reciprocal;
use crate::{Level, Mode, Shape};
use softwarp_ir::{Function, Op, Slot};
use std::fmt::Write;

/// Which instructions code may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// AVX2.
    Avx2,
    /// AVX-512.
    Avx512,
}

impl Width {
    fn level(self) -> Level {
        match self {
            Width::Avx2 => Level::Avx2,
            Width::Avx512 => Level::Avx512,
        }
    }
}

/// A pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// What it finds out.
    pub what: &'static str,
    print: fn(&Known<'_>, &mut String) -> Printed,
}

type Printed = Option<()>;

/// Every pass, in the order in which they run.
pub const PASSES: &[Pass] = &[
    Pass { name: "decode", what: "what code does for each operation", print: actions },
    Pass { name: "blocks", what: "basic blocks, loop depths, ifs", print: blocks },
    Pass { name: "fuse", what: "operations that are computed together", print: fused },
    Pass { name: "webs", what: "values: definitions, uses and live ranges", print: webs },
    Pass { name: "profit", what: "whether compiled code is likely to be faster", print: profit },
    Pass { name: "alignment", what: "low bits that are zero in the first lane", print: alignment },
    Pass { name: "classes", what: "how the lanes of values are related", print: classes },
    Pass { name: "same", what: "vectors that are the same in all lanes", print: same },
    Pass { name: "row_addresses", what: "addresses of rows of 16 threads", print: row_addresses },
    Pass { name: "groups", what: "accesses that are checked together", print: groups },
    Pass { name: "spans", what: "loads of words one after the other", print: spans },
    Pass { name: "quotients", what: "quotients by the same divisor", print: quotients },
    Pass { name: "sites", what: "the regions that accesses look at", print: sites },
    Pass { name: "places", what: "where values are in uniform code", print: places },
    Pass { name: "places_masked", what: "where values are in masked code", print: places_masked },
    Pass { name: "nans", what: "values whose NaNs are made canonical later", print: nans },
    Pass { name: "kept", what: "results that are written to the frame at once", print: kept },
    Pass {
        name: "predicates",
        what: "predicates that are known, or that only a branch reads",
        print: predicates,
    },
    Pass { name: "abreast", what: "blocks that several warps execute together", print: abreast },
    Pass { name: "emit", what: "instructions by operation", print: emitted },
    Pass { name: "outside", what: "entries, exits and rare cases", print: outside },
];

/// What a pass finds out about a function for CTAs of a shape. `None` if there is no pass of this name, or the function
/// cannot be compiled.
pub fn run(name: &str, function: &Function, shape: Shape, width: Width) -> Option<String> {
    let pass = PASSES.iter().find(|pass| pass.name == name)?;
    let budget = Budget::new(Limits::default(), function.ops.len());
    let flow = Flow::of(function, width.level(), &budget).ok()?;
    let mut text = String::new();
    (pass.print)(&Known { function, flow, shape, level: width.level() }, &mut text)?;
    Some(text)
}

/// What passes work on.
struct Known<'a> {
    function: &'a Function,
    flow: Flow<'a>,
    shape: Shape,
    level: Level,
}

/// A line of text.
macro_rules! line {
    ($text:ident, $($of:tt)*) => { writeln!($text, $($of)*).ok()? };
}

impl Known<'_> {
    /// Calls a function with the emitter of a mode, before it has emitted anything.
    fn emitter<T>(&self, mode: Mode, f: impl FnOnce(&mut Emitter<'_>) -> T) -> Option<T> {
        let mut unit = Unit::new(self.function.ops.len(), self.level, false).ok()?;
        let count = self.flow.blocks.len();
        let (mut own, other) = (Labels::new(&mut unit, count), Labels::new(&mut unit, count));
        let common = Common::of(self.function, &self.flow, self.shape);
        let known = ((&self.flow, &common), (self.shape, mode));
        Some(f(&mut Emitter::new(&mut unit, self.function, known.0, known.1, (&mut own, &other), true)))
    }

    /// A web: its row, and where it is written.
    fn web(&self, web: usize) -> String {
        let of = &self.flow.webs[web];
        let defs: Vec<String> = self.flow.defs(web).iter().map(usize::to_string).collect();
        let start = if of.from_start { " from the start" } else { "" };
        match defs.is_empty() {
            true => format!("{}{start}", of.slot),
            false => format!("{} of {}{start}", of.slot, defs.join(" ")),
        }
    }

    /// Prints something about each web, in the order of their first definitions.
    fn each_web(&self, text: &mut String, of: impl Fn(usize) -> Option<String>) -> Printed {
        let mut all: Vec<usize> = (0..self.flow.webs.len()).collect();
        all.sort_by_key(|&web| (self.flow.defs(web).first().copied(), self.flow.webs[web].slot.to_string()));
        for web in all {
            if let Some(what) = of(web) {
                line!(text, "{}: {what}", self.web(web));
            }
        }
        Some(())
    }

    /// The rows that are never written.
    fn fixed(&self) -> impl Iterator<Item = Slot> {
        let narrow = (0..self.function.narrow).map(Slot::narrow);
        let all = narrow.chain((0..self.function.wide).map(Slot::wide));
        all.filter(|&slot| self.flow.is_fixed(slot))
    }
}

/// Ranges of positions: an operation, and whether before it, where it reads, or where it writes.
fn positions(ranges: &[(u32, u32)]) -> String {
    let at = |position: u32| format!("{}{}", position / 3, [".", "r", "w"][position as usize % 3]);
    let ranges: Vec<String> =
        ranges.iter().map(|&(start, end)| format!("{}-{}", at(start), at(end))).collect();
    ranges.join(" ")
}

fn actions(known: &Known<'_>, text: &mut String) -> Printed {
    for (op, action) in decode(known.function, known.level)?.iter().enumerate() {
        line!(text, "{op}: {action:?}");
    }
    Some(())
}

fn blocks(known: &Known<'_>, text: &mut String) -> Printed {
    for (number, block) in known.flow.blocks.iter().enumerate() {
        write!(text, "block {number}: {}-{}, depth {}", block.start, block.end - 1, block.depth).ok()?;
        let next: Vec<String> = block.next.iter().map(usize::to_string).collect();
        if !next.is_empty() {
            write!(text, ", then {}", next.join(" ")).ok()?;
        }
        if let Some(to) = block.skips_to {
            write!(text, ", skips to {to}").ok()?;
        }
        text.push('\n');
    }
    Some(())
}

fn fused(known: &Known<'_>, text: &mut String) -> Printed {
    let before = decode(known.function, known.level)?;
    for (op, (action, before)) in known.flow.actions.iter().zip(before.iter()).enumerate() {
        if action == before {
            continue;
        }
        if let Action::Fused(number) = action {
            line!(text, "{op}: {:?}", known.flow.fused.get(*number as usize)?);
        } else {
            line!(text, "{op}: {action:?}");
        }
    }
    Some(())
}

fn webs(known: &Known<'_>, text: &mut String) -> Printed {
    known.each_web(text, |web| {
        let live = positions(known.flow.live_ranges(web));
        let held = positions(known.flow.held(web));
        Some(if held.is_empty() { format!("live {live}") } else { format!("live {live}, held {held}") })
    })
}

fn profit(known: &Known<'_>, text: &mut String) -> Printed {
    let profitable = known.flow.is_profitable(known.function, known.level);
    line!(text, "{}", if profitable { "compiled" } else { "interpreted" });
    Some(())
}

fn alignment(known: &Known<'_>, text: &mut String) -> Printed {
    let found = crate::alignment::Alignment::new(known.function, &known.flow, known.shape);
    for op in 0..known.function.ops.len() {
        let mut known_zeros = Vec::new();
        for touch in known.flow.reads(op) {
            let item = format!("{} {}", touch.slot, found.source(&known.flow, op, touch.slot));
            if !known_zeros.contains(&item) {
                known_zeros.push(item);
            }
        }
        if !known_zeros.is_empty() {
            line!(text, "{op} reads: {}", known_zeros.join(", "));
        }
    }
    Some(())
}

/// A class as text.
fn class(class: Class) -> String {
    match class {
        Class::Unknown => "unknown".to_owned(),
        Class::Varying => "varying".to_owned(),
        Class::UNIFORM => "uniform".to_owned(),
        Class::Affine(steps) if steps == Steps::even(steps.lane) => format!("affine({})", steps.lane),
        Class::Affine(Steps { lane, half }) => format!("affine({lane}, half {half})"),
        Class::HalfAffine(step) => format!("half affine({step})"),
    }
}

fn classes(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for slot in known.fixed() {
            let (of, value) = emitter.classes.source(&known.flow, 0, slot);
            match value {
                Some(value) => line!(text, "{slot}: {}, {value}", class(of)),
                None => line!(text, "{slot}: {}", class(of)),
            }
        }
        known.each_web(text, |web| Some(class(emitter.classes.webs[web])))
    })?
}

fn same(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        known.each_web(text, |web| emitter.same[web].then(|| "same in all lanes".to_owned()))
    })?
}

fn row_addresses(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for op in 0..known.function.ops.len() {
            if let Some(of) = emitter.addresses.of_access(op) {
                let signed = if of.signed { "signed " } else { "" };
                line!(
                    text,
                    "{op}: {} + {signed}{} * {}, step {}, made by {} to {}",
                    of.base,
                    of.index,
                    of.factor,
                    of.step,
                    of.product,
                    of.sum
                );
            }
        }
        known.each_web(text, |web| emitter.addresses.is_pair(web).then(|| "two scalars".to_owned()))
    })?
}

fn groups(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for op in 0..known.function.ops.len() {
            if let Some(group) = emitter.groups.get(op) {
                let (least, most) = group.range;
                line!(
                    text,
                    "{op}: checked by {}, from {least} to {most}, pointer {}",
                    group.first,
                    group.pointer
                );
            }
        }
        Some(())
    })?
}

fn spans(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for op in 0..known.function.ops.len() {
            if let Some((span, word)) = emitter.spans.get(op) {
                write!(text, "{op}: word {word} of the span at {}", span.first).ok()?;
                if let Some(index) = span.index {
                    let signed = if index.signed { "signed " } else { "" };
                    write!(text, ", {signed}index {} + at most {}", known.web(index.web), index.most).ok()?;
                }
                text.push('\n');
            }
        }
        Some(())
    })?
}

fn quotients(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for (op, reciprocal) in emitter.reciprocals.iter().enumerate() {
            match reciprocal {
                Reciprocal::Own => {}
                Reciprocal::Kept => line!(text, "{op}: keeps the reciprocal"),
                Reciprocal::Again => line!(text, "{op}: uses the reciprocal"),
            }
        }
        Some(())
    })?
}

fn sites(known: &Known<'_>, text: &mut String) -> Printed {
    let found = Common::of(known.function, &known.flow, known.shape).sites;
    for (op, site) in found.iter().enumerate() {
        let is_access = match &known.function.ops[op] {
            Op::Other(_, step) => step.properties().memory,
            Op::Alu(_) | Op::Branch(..) => false,
        };
        if is_access {
            line!(text, "{op}: site {site}");
        }
    }
    Some(())
}

fn places(known: &Known<'_>, text: &mut String) -> Printed {
    places_of(known, Mode::Uniform, text)
}

fn places_masked(known: &Known<'_>, text: &mut String) -> Printed {
    places_of(known, Mode::Masked, text)
}

fn places_of(known: &Known<'_>, mode: Mode, text: &mut String) -> Printed {
    known.emitter(mode, |emitter| {
        known.each_web(text, |web| {
            Some(match emitter.places[web] {
                Place::Frame => "frame".to_owned(),
                Place::Scalar(register) => format!("scalar {register}"),
                Place::Halves => "first lanes of both halves".to_owned(),
                Place::Vector(registers) => {
                    let parts = if known.flow.webs[web].is_wide() { 4 } else { 2 };
                    let all: Vec<String> = registers.iter().take(parts).map(u8::to_string).collect();
                    format!("vectors {}", all.join(" "))
                }
            })
        })
    })?
}

fn nans(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        known.each_web(text, |web| {
            let lazy = emitter.lazy.get(web).is_some_and(|&lazy| lazy);
            let quiet = emitter.quiet.get(web).is_some_and(|&quiet| quiet);
            match (lazy, quiet) {
                (true, true) => Some("any NaN, none signalling".to_owned()),
                (true, false) => Some("any NaN".to_owned()),
                (false, true) => Some("canonical, none signalling".to_owned()),
                (false, false) => None,
            }
        })
    })?
}

fn kept(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for &(op, web) in &emitter.kept {
            line!(text, "{op}: writes {} to the frame", known.web(web));
        }
        Some(())
    })?
}

fn predicates(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for (op, of) in known.function.ops.iter().enumerate() {
            if let Op::Branch(guard, _) = of
                && let Some(lanes) = guard.predicate().and_then(|slot| emitter.known_mixed(op, slot))
            {
                line!(text, "{op}: its predicate is 0x{lanes:x}");
            }
            if let Op::Other(guard, _) = of
                && let Some(lanes) = emitter.known_lanes_of(op, *guard)
            {
                line!(text, "{op}: the lanes 0x{lanes:x} pass its guard");
            }
            if let Op::Alu(alu) = of {
                for slot in alu.d.iter().filter(|slot| slot.class() == softwarp_ir::Class::Predicate) {
                    if emitter.only_branches(op, slot) {
                        line!(text, "{op}: only a branch reads {slot}");
                    }
                }
            }
        }
        Some(())
    })?
}

fn abreast(known: &Known<'_>, text: &mut String) -> Printed {
    known.emitter(Mode::Uniform, |emitter| {
        for block in 0..known.flow.blocks.len() {
            match emitter.warps_abreast(block) {
                Some(warps) => line!(text, "block {block}: {warps} warps"),
                None => line!(text, "block {block}: one warp"),
            }
        }
        Some(())
    })?
}

/// A line for each run of instructions that ends with a jump or a return.
fn outside(known: &Known<'_>, text: &mut String) -> Printed {
    let all = lines(known.function, &known.flow, known.level, known.shape)?;
    let mut run = Vec::new();
    for name in all.iter().filter(|one| one.part == Part::Rest).filter_map(|one| name(&one.text)) {
        run.push(name);
        if matches!(name, "jmp" | "ret") {
            line!(text, "{}", run.join(" "));
            run.clear();
        }
    }
    line!(text, "{}", run.join(" "));
    Some(())
}

/// The name of an instruction; none for those that do nothing: which jumps are kept inside blocks of 32 bytes by them
/// depends on the CPU.
fn name(instruction: &str) -> Option<&str> {
    let name = instruction.split(' ').next()?;
    (name != "nop" && instruction != "xchg ax,ax").then_some(name)
}

fn emitted(known: &Known<'_>, text: &mut String) -> Printed {
    let all = lines(known.function, &known.flow, known.level, known.shape)?;
    let mut last = None;
    for one in &all {
        let part = match one.part {
            Part::Uniform(op) => format!("uniform {op}:"),
            Part::Masked(op) => format!("masked {op}:"),
            Part::Frame | Part::Rest => continue,
        };
        if last.as_ref() != Some(&part) {
            if last.is_some() {
                text.push('\n');
            }
            text.push_str(&part);
            last = Some(part);
        }
        if let Some(name) = name(&one.text) {
            write!(text, " {name}").ok()?;
        }
    }
    text.push('\n');
    Some(())
}
