//! Layouts against the object files that the assembler made of the same modules: 2,665 modules that ptxas 13.4
//! accepted, as executables and as relocatable objects (`-c`), and what its ELF files say about sizes, bytes,
//! addresses, alignments, kernel parameters, shared memory and frames.
//!
//! `cargo test -p softwarp-image --test assembler -- --nocapture` prints the score. `SOFTWARP_FAMILY=init_`
//! restricts it to families whose names begin so and prints every difference with its module. Differences that
//! remain are listed with their reasons in `docs/assembler-differences.md`, and only those.

mod sha256;
mod support;

use serde_json::Value;
use softwarp_check::Options;
use softwarp_image::{Function, Image, Kind, Object, Relocation, Target, Unit, lay_out};
use softwarp_isa::StateSpace;
use softwarp_syntax::Lines;
use softwarp_syntax::tree::Linkage;
use softwarp_testkit::recording;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Comparisons of one kind.
#[derive(Default)]
struct Score {
    same: usize,
    of: usize,
}

/// One module in one mode, ours and the assembler's.
struct Case<'a> {
    id: &'a str,
    image: &'a Image,
    lines: &'a Lines,
    relocatable: bool,
    recorded: &'a Value,
}

/// What came of all comparisons.
#[derive(Default)]
struct Report {
    scores: BTreeMap<&'static str, Score>,
    differences: BTreeMap<String, Vec<String>>,
}

impl Report {
    fn compare<T: PartialEq + Debug>(
        &mut self,
        case: &Case<'_>,
        what: &'static str,
        of: &str,
        ours: T,
        theirs: T,
    ) {
        let score = self.scores.entry(what).or_default();
        score.of += 1;
        if ours == theirs {
            score.same += 1;
            return;
        }
        let mode = if case.relocatable { "rdc" } else { "exe" };
        let difference = format!("{mode} {what} of `{of}`: {ours:?}, assembler {theirs:?}");
        self.differences.entry(case.id.to_owned()).or_default().push(difference);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn map(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

impl Case<'_> {
    /// The object that a symbol stands for. The name of a local has its line in it; of a family there is one
    /// symbol, which stands for all.
    fn object(&self, symbol: &str) -> Option<&Object> {
        let mut objects = self.image.objects.iter().filter(|object| object.space != StateSpace::Reg);
        objects.find(|object| {
            let name: &str = &object.name;
            if object.function.is_some() {
                let line = self.lines.line(object.span.start);
                return symbol == format!("$__{name}__{line}");
            }
            match (object.count, symbol.strip_prefix(name)) {
                (None, Some(rest)) => rest.is_empty(),
                (Some(0), Some(rest)) => rest == "<",
                (Some(count), Some(rest)) => rest.parse::<u32>().is_ok_and(|member| member < count),
                (_, None) => false,
            }
        })
    }

    /// The function that a symbol stands for: itself, or a kernel's own copy of it.
    fn function(&self, symbol: &str) -> Option<&Function> {
        let copied = symbol.strip_prefix('$').and_then(|rest| rest.split_once('$'));
        let name = copied.map_or(symbol, |(_, name)| name);
        self.image.functions.iter().find(|function| &*function.name == name)
    }

    fn target(&self, relocation: &Relocation) -> String {
        match relocation.target {
            Target::Function(id) => self.image.function(id).name.to_string(),
            Target::Object(id, member) => {
                let object = self.image.object(id);
                let name = match object.function {
                    Some(_) => format!("$__{}__{}", object.name, self.lines.line(object.span.start)),
                    None => object.name.to_string(),
                };
                member.map_or_else(|| name.clone(), |member| format!("{name}{member}"))
            }
        }
    }

    fn is_kernel(&self, relocation: &Relocation) -> bool {
        matches!(relocation.target, Target::Function(id) if self.image.function(id).entry)
    }

    /// A relocation in the assembler's words: where it goes, of what, how much is added, how it is meant.
    fn relocation(&self, relocation: &Relocation) -> (u64, String, i64, String) {
        let (whole, byte) = match relocation.kind {
            Kind::Generic => ("G64", "G8"),
            Kind::Offset => ("64", "8"),
            Kind::Function if self.is_kernel(relocation) => ("FUNC_DESC_64", "FUNC_DESC_8"),
            Kind::Function if self.image.header.arch.sm() < 90 => ("64", "8"),
            Kind::Function => ("UNIFIED", "UNIFIED_8"),
        };
        let kind =
            relocation.byte.map_or_else(|| whole.to_owned(), |number| format!("{byte}_{}", 8 * number));
        (relocation.offset, self.target(relocation), relocation.addend, kind)
    }

    fn compare(&self, report: &mut Report) {
        let mut alignments: BTreeMap<&str, u64> = BTreeMap::new();
        for symbol in list(&self.recorded["symbols"]) {
            let name = text(&symbol["name"]);
            if symbol["function"] == true {
                let function = self.function(name);
                report.compare(self, "symbols", name, function.is_some(), true);
                continue;
            }
            let Some(object) = self.object(name) else {
                report.compare(self, "symbols", name, false, true);
                continue;
            };
            // Textures, samplers and surfaces are mere names to the assembler: the driver has their handles.
            if object.opaque().is_some() || object.space == StateSpace::Tex {
                report.compare(self, "symbols", name, 0, number(&symbol["size"]));
                continue;
            }
            let bind = match object.linkage {
                None => "LOCAL",
                Some(Linkage::Weak) => "WEAK",
                Some(_) => "GLOBAL",
            };
            report.compare(
                self,
                "symbols",
                name,
                (object.size, bind),
                (number(&symbol["size"]), text(&symbol["bind"])),
            );
            self.compare_contents(report, object, symbol);
            if let Some(alignment) = symbol["align"].as_u64() {
                report.compare(self, "alignments", name, object.alignment, alignment);
            }
            let section = alignments.entry(text(&symbol["section"])).or_default();
            *section = object.alignment.max(*section);
        }
        for (name, section) in map(&self.recorded["sections"]) {
            // Before linking, nobody knows which of a module's variables a kernel will need.
            if self.relocatable && name.starts_with(".nv.shared.") {
                continue;
            }
            if let Some(&alignment) = alignments.get(name.as_str()) {
                report.compare(self, "alignments", name, alignment, number(&section[0]));
            }
            self.compare_shared(report, name, section);
        }
        for (kernel, recorded) in map(&self.recorded["params"]) {
            self.compare_parameters(report, kernel, recorded);
        }
        for (name, frame) in map(&self.recorded["frames"]) {
            // What a kernel has a copy of shares its frame.
            let owner = name
                .strip_prefix('$')
                .and_then(|rest| rest.split_once('$'))
                .map_or(&**name, |(kernel, _)| kernel);
            let ours = self.function(owner).map_or(0, |function| self.frame(function));
            report.compare(self, "frames", name, ours, number(frame));
        }
    }

    /// A function's `.local` variables as the assembler packs them: the strictest alignment first, then the
    /// largest, of a family only one, and room to align the frame itself, since the stack is aligned to 16 bytes only.
    fn frame(&self, function: &Function) -> u64 {
        let of = function.locals.iter().map(|&id| self.image.object(id));
        let mut variables: Vec<&Object> = of.filter(|object| object.space == StateSpace::Local).collect();
        variables.sort_by_key(|object| std::cmp::Reverse((object.alignment, object.size)));
        let strictest = variables.iter().map(|object| object.alignment).max().unwrap_or(1);
        let packed =
            variables.iter().fold(0u64, |end, object| end.next_multiple_of(object.alignment) + object.size);
        packed.next_multiple_of(strictest.max(8)) + strictest.saturating_sub(16)
    }

    fn compare_contents(&self, report: &mut Report, object: &Object, symbol: &Value) {
        let name = text(&symbol["name"]);
        let theirs: Vec<_> = list(&symbol["relocs"]).collect();
        // Without other modules to come, the assembler may resolve by itself what does not depend on the driver.
        let kept = |offset: u64| theirs.iter().any(|row| row[0].as_u64() == Some(offset));
        let resolved = |found: &Relocation| match found.kind {
            Kind::Generic => false,
            Kind::Offset => found.applied,
            Kind::Function => !self.relocatable && !kept(found.offset) && !self.is_kernel(found),
        };
        let (resolved, relocations): (Vec<_>, Vec<_>) =
            object.relocations.iter().partition(|found| resolved(found));
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut ours = if object.size < 1 << 20 { support::bytes(object) } else { Vec::new() };
        for relocation in resolved {
            self.resolve(&mut ours, relocation, text(&symbol["bytes"]));
        }
        if let Some(recorded) = symbol["sha256"].as_str() {
            report.compare(self, "bytes", name, sha256::hex(&ours).as_str(), recorded);
        }
        if let Some(recorded) = symbol["bytes"].as_str() {
            let hex = hex(&ours);
            let defined = hex
                .chars()
                .zip(recorded.chars())
                .map(|(ours, theirs)| if theirs == '.' { ours } else { theirs });
            report.compare(self, "bytes", name, (hex.len(), &hex), (recorded.len(), &defined.collect()));
        }
        if relocations.is_empty() && theirs.is_empty() {
            return;
        }
        let masked = |index: usize| theirs.get(index).is_some_and(|row| row[2].is_null());
        let ours = relocations.iter().enumerate().map(|(index, relocation)| {
            let (offset, target, addend, kind) = self.relocation(relocation);
            (offset, target, if masked(index) { 0 } else { addend }, kind)
        });
        let ours: Vec<_> = ours.collect();
        let theirs = theirs.iter().map(|row| {
            (
                number(&row[0]),
                text(&row[1]).to_owned(),
                row[2].as_i64().unwrap_or(0),
                text(&row[3]).to_owned(),
            )
        });
        report.compare(self, "relocations", name, ours, theirs.collect());
    }

    /// Puts the assembler's own address into bytes: of a constant its offset there, of a function a number of the
    /// assembler's own, which the recorded bytes say.
    fn resolve(&self, bytes: &mut [u8], relocation: &Relocation, recorded: &str) {
        let at = relocation.offset as usize;
        let width = usize::from(relocation.width);
        if relocation.kind == Kind::Function {
            for (place, byte) in bytes[at..at + width].iter_mut().zip(at..) {
                *place = u8::from_str_radix(&recorded[2 * byte..2 * byte + 2], 16).expect("a byte");
            }
            return;
        }
        let target = self.target(relocation);
        let of = list(&self.recorded["symbols"]).find(|symbol| symbol["name"] == target.as_str());
        let offset = of.map_or(0, |symbol| number(&symbol["offset"]));
        let value =
            offset.wrapping_add_signed(relocation.addend) >> (8 * u32::from(relocation.byte.unwrap_or(0)));
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }

    fn compare_shared(&self, report: &mut Report, name: &str, section: &Value) {
        let Some(kernel) = name.strip_prefix(".nv.shared.").and_then(|name| self.function(name)) else {
            return;
        };
        let bytes = kernel.shared.bytes + self.image.header.arch.properties().reserved_shared;
        report.compare(self, "shared", name, bytes, number(&section[1]));
        report.compare(self, "shared", name, kernel.shared.alignment, number(&section[0]));
    }

    fn compare_parameters(&self, report: &mut Report, kernel: &str, recorded: &Value) {
        let Some(function) = self.function(kernel) else { return };
        let total = (number(&recorded["total"]), list(&recorded["list"]).count());
        let ours = (function.parameter_extent.bytes, function.parameters.len());
        report.compare(self, "parameters", kernel, ours, total);
        for row in list(&recorded["list"]) {
            let Some(&id) = function.parameters.get(number(&row[0]) as usize) else { continue };
            let object = self.image.object(id);
            let pointer = object.pointer.map_or((0, 0), |pointer| {
                let space = match pointer.space {
                    Some(StateSpace::Local) => 1,
                    Some(StateSpace::Shared) => 2,
                    Some(StateSpace::Const) if self.image.header.arch.sm() < 90 => 3,
                    Some(_) => 4,
                    None => 5,
                };
                (pointer.alignment.checked_ilog2().unwrap_or(0).into(), space)
            });
            let ours = (object.offset, object.size, pointer);
            let theirs = (row[1].as_u64(), number(&row[2]), (number(&row[3]), number(&row[4])));
            report.compare(self, "parameters", &object.name, ours, theirs);
        }
    }
}

/// The ids listed in the document: `layout pnames_space/0000`.
fn listed() -> BTreeSet<String> {
    let all = recording::listed_differences();
    all.iter().filter_map(|part| part.strip_prefix("layout ")).map(str::to_owned).collect()
}

#[test]
fn layouts_agree_with_the_assembler() {
    let only = std::env::var("SOFTWARP_FAMILY").ok();
    let mut report = Report::default();
    let mut layouts = 0;
    for row in recording::values(recording::golden("image", "layout.jsonl.gz")) {
        let (id, source) = (text(&row["id"]), text(&row["ptx"]));
        if only.as_ref().is_some_and(|only| !id.starts_with(only.as_str())) {
            continue;
        }
        let arch = softwarp_isa::Target::from_name(text(&row["arch"]));
        for (mode, relocatable) in [("exe", false), ("rdc", true)] {
            if row[mode].is_null() {
                continue;
            }
            layouts += 1;
            let read = support::read(source, Options { arch, relocatable, strict: false });
            assert!(read.errors.is_empty(), "{id} {mode}: {:?}", read.errors);
            let unit = Unit { module: &read.module, checked: &read.checked };
            let image = match lay_out(&[unit], softwarp_image::Options { relocatable, red_zones: false }) {
                Ok(image) => image,
                Err(findings) => {
                    let messages = findings.iter().map(|found| found.message.clone()).collect();
                    report.differences.insert(id.to_owned(), messages);
                    report.scores.entry("symbols").or_default().of += 1;
                    continue;
                }
            };
            let lines = Lines::new(source);
            let case = Case { id, image: &image, lines: &lines, relocatable, recorded: &row[mode] };
            case.compare(&mut report);
        }
        if let Some(differences) = report.differences.get(id).filter(|_| only.is_some()) {
            println!("--- {id} {}\n{source}  {}", row["arch"], differences.join("\n  "));
        }
    }
    println!("{layouts} layouts");
    for (what, score) in &report.scores {
        let percent = 100.0 * score.same as f64 / score.of as f64;
        println!("{what:12} {:5} of {:5} ({percent:.2} %)", score.same, score.of);
        // What the assembler keeps in a frame beside variables is its own affair.
        let least = if *what == "frames" { 98.5 } else { 99.5 };
        assert!(only.is_some() || percent >= least, "{:#?}", report.differences);
    }
    if only.is_some() {
        return;
    }
    let listed = listed();
    let unlisted: Vec<_> = report.differences.iter().filter(|(id, _)| !listed.contains(*id)).collect();
    assert!(unlisted.is_empty(), "{} modules differ and are not listed: {unlisted:#?}", unlisted.len());
    let gone: Vec<_> = listed.iter().filter(|id| !report.differences.contains_key(*id)).collect();
    assert!(gone.is_empty(), "listed, but the same: {gone:?}");
}
