//! Snapshots of lowering. Each file in `filetests/` is a module, and below `// lowered:` what its kernels become; or,
//! after `// error:`, what is refused. `// pass: NAME` says what is shown ([`PASSES`]), `// fidelity: manual` and
//! `// fmad: false` choose what ptxas does to it. `SOFTWARP_BLESS=1` writes the expectations anew.
//!
//! What lowering makes of the PTX files of the repository is printed and parsed back, too.

use softwarp_image::{FunctionId, Unit};
use softwarp_ir::{Function, Op};
use softwarp_lower::{Fidelity, Lowering, Unsupported, lower};
use softwarp_syntax::{Lines, Severity};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const LOWERED: &str = "// lowered:\n";

/// What is shown of a function.
type Shown = fn(&Function) -> String;

/// The passes, with what is shown of each.
const PASSES: &[(&str, Shown)] = &[
    // What each instruction becomes.
    ("operations", |function| function.to_string()),
    // `.sat` that ptxas loses.
    ("saturation", |function| function.to_string()),
    // Products and sums that ptxas contracts.
    ("contraction", |function| function.to_string()),
    // Copies that nothing reads, and rows that the launch gives.
    ("forward", |function| shown(function, &["unread", "from launch"])),
    // Rows, and those of them that may be read before they are written.
    ("allocate", |function| shown(function, &["rows", "zeroed"])),
    // Registers that may be undefined.
    ("defined", defined),
];

/// The operations, and some of the lines before them.
fn shown(function: &Function, titles: &[&str]) -> String {
    let text = format!("{function:#}");
    let wanted = |line: &&str| {
        titles.iter().any(|title| line.starts_with(title))
            || line.trim_start().starts_with(|c: char| c.is_ascii_digit())
    };
    text.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

/// What the sanitizer of registers needs to know.
fn defined(function: &Function) -> String {
    let mut text = String::new();
    let Some(table) = &function.registers else {
        return "every register is written before it is read\n".to_owned();
    };
    for (number, origin) in table.origins.iter().enumerate() {
        let never = if origin.never { ", never written" } else { "" };
        let _ = writeln!(text, "register {number}: {}{never}", origin.name);
    }
    for (row, register) in &table.start {
        let _ = writeln!(text, "row {row} begins as register {register}");
    }
    for (number, op) in function.ops.iter().enumerate() {
        let uses = table.uses(number);
        let _ =
            writeln!(text, "{number}: {op}: {:?} of {:?}, writes {:?}", uses.effect, uses.reads, uses.writes);
    }
    text
}

fn fidelity(source: &str) -> Fidelity {
    let chosen = if source.contains("// fidelity: manual\n") { Fidelity::MANUAL } else { Fidelity::PTXAS };
    Fidelity { contraction: chosen.contraction && !source.contains("// fmad: false\n"), ..chosen }
}

/// The name of the pass that a file tests.
fn pass_of(source: &str) -> &str {
    source.lines().find_map(|line| line.strip_prefix("// pass: ")).unwrap_or("operations")
}

/// The functions of a kernel by their names, or what is refused.
type Lowered = Result<Vec<(String, Function)>, Vec<Unsupported>>;

/// Lowers the kernels of a module; none if the module is not valid.
fn kernels(source: &str) -> Option<Vec<Lowered>> {
    let parsed = softwarp_syntax::parse(source);
    let (checked, references, found) =
        softwarp_check::resolve_references(&parsed.module, source, softwarp_check::Options::default());
    if parsed.diagnostics.iter().chain(&found).any(|one| one.severity() == Severity::Error) {
        return None;
    }
    let unit = Unit { module: &parsed.module, checked: &checked };
    let image = softwarp_image::lay_out(&[unit], softwarp_image::Options::default()).ok()?;
    let unit = Lowering { module: &parsed.module, source, checked: &checked, references: &references };
    let named = |function: Function| (image.function(function.function).name.to_string(), function);
    let all = (0..).map(FunctionId).zip(&image.functions).filter(|(_, one)| one.entry);
    let lowered = all.map(|(id, _)| {
        let program = lower(&[unit], &image, id, fidelity(source))?;
        Ok(program.functions.into_iter().map(named).collect())
    });
    Some(lowered.collect())
}

/// What the kernels of a module become.
fn lowered(source: &str) -> String {
    let pass = pass_of(source);
    let (_, print) =
        PASSES.iter().find(|(name, _)| *name == pass).unwrap_or_else(|| panic!("no pass {pass}"));
    let lines = Lines::new(source);
    let mut text = String::new();
    for kernel in kernels(source).expect("a valid module") {
        match kernel {
            Ok(functions) => {
                for (name, function) in &functions {
                    function.verify().unwrap_or_else(|why| panic!("{name}: {why}"));
                    let _ = write!(text, "{name}\n{}", print(function));
                }
            }
            Err(refused) => {
                for one in refused {
                    let _ = writeln!(text, "error: line {}: {}", lines.line(one.span.start), one.what);
                }
            }
        }
    }
    text.lines().map(|line| format!("// {line}\n")).collect()
}

#[test]
fn modules_are_lowered_as_their_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let names = softwarp_testkit::files::names(&folder);
    assert!(names.len() >= 10, "{names:?}");
    let mut tested = BTreeSet::new();
    for name in names {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).expect("a file");
        let source = text.split(LOWERED).next().unwrap_or_default();
        tested.insert(pass_of(source).to_owned());
        softwarp_testkit::expected::assert_file(&path, &format!("{source}{LOWERED}{}", lowered(source)));
    }
    let without: Vec<&str> =
        PASSES.iter().map(|(name, _)| *name).filter(|name| !tested.contains(*name)).collect();
    assert!(without.is_empty(), "passes without a file test: {without:?}");
}

/// The PTX files of a folder.
fn modules(folder: &Path, found: &mut Vec<PathBuf>) {
    for name in softwarp_testkit::files::names(folder) {
        let path = folder.join(&name);
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            modules(&path, found);
        } else if name.ends_with(".ptx") {
            found.push(path);
        }
    }
}

#[test]
fn operations_are_parsed_as_they_are_printed() {
    let mut paths = Vec::new();
    modules(&softwarp_testkit::repository("."), &mut paths);
    let (mut seen, mut functions) = (BTreeSet::new(), 0);
    for path in &paths {
        let Ok(source) = std::fs::read_to_string(path) else { continue };
        for (_, function) in kernels(&source).into_iter().flatten().flatten().flatten() {
            let text = format!("{function:#}");
            let parsed =
                Function::parse(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()));
            let again = format!("{parsed:#}");
            let first = text.lines().zip(again.lines()).find(|(a, b)| a != b);
            assert_eq!(first, None, "{}: the first line that differs", path.display());
            assert_eq!(text.lines().count(), again.lines().count(), "{}", path.display());
            for op in &function.ops {
                if let Op::Other(_, step) = op {
                    seen.insert(step.name());
                }
            }
            functions += 1;
        }
    }
    assert!(functions > 100, "{functions} functions of {} files", paths.len());
    let names = softwarp_ir::TABLES.iter().flat_map(|(_, table)| table.iter().map(|one| one.name));
    let missing: Vec<&str> = names.filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "no module of the repository has these operations: {missing:?}");
}
