//! Snapshots of lowering. Each file in `filetests/` is a module, and below `// lowered:` what its kernels become; or,
//! behind `// error:`, what is refused. `// fidelity: manual` and `// fmad: false` choose what ptxas does to it.
//! `SOFTWARP_BLESS=1` writes the expectations anew.

use softwarp_image::{FunctionId, Unit};
use softwarp_lower::{Fidelity, Lowering, lower};
use softwarp_syntax::{Lines, Severity};
use std::fmt::Write;
use std::path::Path;

const LOWERED: &str = "// lowered:\n";

fn fidelity(source: &str) -> Fidelity {
    let chosen = if source.contains("// fidelity: manual\n") { Fidelity::MANUAL } else { Fidelity::PTXAS };
    Fidelity { contraction: chosen.contraction && !source.contains("// fmad: false\n"), ..chosen }
}

/// What the kernels of a module become.
fn lowered(source: &str) -> String {
    let parsed = softwarp_syntax::parse(source);
    let (checked, references, found) =
        softwarp_check::resolve_references(&parsed.module, source, softwarp_check::Options::default());
    let wrong: Vec<_> =
        parsed.diagnostics.iter().chain(&found).filter(|one| one.severity() == Severity::Error).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let unit = Unit { module: &parsed.module, checked: &checked };
    let image = softwarp_image::lay_out(&[unit], softwarp_image::Options::default()).expect("it fits");
    let unit = Lowering { module: &parsed.module, source, checked: &checked, references: &references };
    let lines = Lines::new(source);
    let mut text = String::new();
    for (id, kernel) in (0..).map(FunctionId).zip(&image.functions).filter(|(_, one)| one.entry) {
        match lower(&[unit], &image, id, fidelity(source)) {
            Ok(program) => {
                for function in &program.functions {
                    function.verify().unwrap_or_else(|why| panic!("{}: {why}", kernel.name));
                    let _ = write!(text, "{}\n{function}", image.function(function.function).name);
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
    for name in names {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).expect("a file");
        let source = text.split(LOWERED).next().unwrap_or_default();
        softwarp_testkit::expected::assert_file(&path, &format!("{source}{LOWERED}{}", lowered(source)));
    }
}
