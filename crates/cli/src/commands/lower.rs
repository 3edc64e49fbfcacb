//! `softwarp lower`: the operations that a kernel is executed as, beside its text; and what of it cannot be executed.

use super::checking::{ErrorColour, SHOWN, count};
use super::linked::{LinkedArgs, LinkedFiles, check, laid_out};
use super::progress::Working;
use super::{CommandError, Printed, fidelity, kernels, machine_code, remark};
use crate::lowered::{kernel_json, line_of};
use crate::render::{self, Event};
use serde_json::json;
use softwarp::check::{CheckedModule, References, resolve_references};
use softwarp::image::{FunctionId, Image};
use softwarp::ir::{Function, Program};
use softwarp::lower::{Lowering, Unsupported, lower};
use softwarp::source::{CheckedSource, Source};
use softwarp::syntax::Location;
use std::fmt::Write;

/// Show the operations that kernels are executed as, and what of them cannot be executed
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The kernel, by its name in the PTX or in C++; all of them without it
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    #[command(flatten)]
    linked: LinkedArgs,
    #[command(flatten)]
    fidelity: fidelity::FidelityArgs,
    /// Show the machine code that the operations are compiled to, for this shape of CTAs
    #[arg(long, value_name = "X,Y,Z", num_args = 0..=1, default_missing_value = "256,1,1", require_equals = true, value_parser = shape)]
    asm: Option<[u32; 3]>,
    /// Show what a pass of the compiler finds out about each function instead; `ir` shows it as it can be read back
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pass: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    colour: ErrorColour,
}

const HELP: &str = "\
A line is an operation: its number, its guard, what it writes, its name, what it reads, and behind
the semicolon the line of PTX that it is made from. r4 is a row of 32-bit words with one for each
lane, d4 one of 64-bit words, p4 a predicate; constants and what the launch gives stand above.
`unread` marks copies whose readers were given the original: the interpreter leaves them out.

--asm shows the machine code of each operation below it: first as all lanes of a warp execute it
together, then as some of them do (`some lanes`). Which values are the same in all lanes depends on the
shape of CTAs.

--pass shows what a pass of the compiler finds out, with AVX-512, for CTAs of the shape that --asm names.
An unknown name shows them all.

Instructions that the machine cannot execute are shown on standard error, all of them, by name and
line, with exit code 1: no launch is needed to find out whether a kernel will run.

JSON fields:
  kernels: name, supported, functions (name, rows: narrow, wide, predicates; operations: text, line,
    unread), unsupported (file, line, column, message)
  with --asm, functions have code, too: null where the interpreter runs them, or parts in the order of
    the code (part: frame, operation or rest; operation: its number, masked: whether it is for some
    lanes, of operations; instructions: offset, text)

Examples:
  softwarp lower kernel.ptx
  softwarp lower --kernel saxpy --fmad=false kernel.ptx
  softwarp lower --asm=32,8 kernel.ptx
  softwarp lower --asm --json kernel.ptx
  softwarp lower --pass classes --asm=16,16 kernel.ptx
  nvcc -ptx -o - kernel.cu | softwarp lower --json -";

/// A file with all that lowering needs.
struct Lowered<'a> {
    source: &'a Source,
    tree: &'a CheckedSource,
    checked: CheckedModule,
    references: References,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    if let Some(name) = args.pass.as_deref().filter(|name| !passes().contains(name)) {
        let known = passes().join(", ");
        return Err(CommandError::Usage(format!("there is no pass `{name}`; the passes are {known}")));
    }
    let options = args.linked.options()?;
    let LinkedFiles { sources, fmad } = args.linked.read(options)?;
    let colour = args.colour.wanted();
    let _working = Working::begin("lowering");
    let trees = check(&sources, options, colour)?;
    let image = laid_out(&sources, &trees, options, colour)?;
    let files: Vec<Lowered<'_>> = sources
        .iter()
        .zip(&trees)
        .map(|(source, tree)| {
            let (checked, references, _) = resolve_references(&tree.module, &source.text, options);
            Lowered { source, tree, checked, references }
        })
        .collect();
    let units: Vec<Lowering<'_>> = files
        .iter()
        .map(|file| Lowering {
            module: &file.tree.module,
            source: &file.source.text,
            checked: &file.checked,
            references: &file.references,
        })
        .collect();
    let chosen = chosen(&image, args.kernel.as_ref())?;
    let fidelity = args.fidelity.fidelity(fmad);
    let (mut text, mut list, mut refused) = (String::new(), Vec::new(), 0);
    for id in chosen {
        let name = &*image.function(id).name;
        let lowered = lower(&units, &image, id, fidelity);
        if args.json {
            let mut kernel = kernel_json(&sources, &image, name, &lowered);
            if let (Some(block), Ok(program)) = (args.asm, &lowered) {
                machine_code::add(&mut kernel, program, block);
            }
            list.push(kernel);
        }
        match lowered {
            Ok(program) if args.pass.is_some() => print_pass(&mut text, &image, &program, args),
            Ok(program) if !args.json => print(&mut text, (&sources, &image), &program, args.asm),
            Ok(_) => {}
            Err(unsupported) => {
                refused += 1;
                if !args.json {
                    show(&sources, name, &unsupported, colour);
                }
            }
        }
    }
    if args.json {
        text = format!("{:#}\n", json!({ "kernels": list }));
    }
    let failure = (refused > 0).then_some(CommandError::Reported(1));
    Ok(Printed { text, failure })
}

/// The dimensions of a CTA.
fn shape(text: &str) -> Result<[u32; 3], String> {
    let mut shape = [1; 3];
    let axes: Vec<&str> = text.split(',').collect();
    if axes.len() > 3 {
        return Err("a CTA has at most three dimensions".to_owned());
    }
    for (size, axis) in shape.iter_mut().zip(axes) {
        *size = axis
            .trim()
            .parse()
            .ok()
            .filter(|&size| size != 0)
            .ok_or_else(|| format!("`{axis}` is no size"))?;
    }
    Ok(shape)
}

/// The kernels that are asked for.
fn chosen(image: &Image, name: Option<&String>) -> Result<Vec<FunctionId>, CommandError> {
    let all = (0..).map(FunctionId).zip(&image.functions).filter(|(_, one)| one.entry && one.defined);
    let name = name.map(|name| kernels::find(&kernels::of_image(image), Some(name))).transpose()?;
    let wanted: Vec<FunctionId> =
        all.filter(|(_, one)| name.is_none_or(|name| &*one.name == name)).map(|(id, _)| id).collect();
    if wanted.is_empty() { Err(CommandError::Input("there is no kernel".to_owned())) } else { Ok(wanted) }
}

/// Shows what cannot be executed.
fn show(sources: &[Source], name: &str, unsupported: &[Unsupported], colour: bool) {
    for one in unsupported.iter().take(SHOWN) {
        let places = vec![(Location { unit: one.unit, span: one.span }, None)];
        let event = Event { message: one.what.clone(), places, notes: Vec::new() };
        remark(render::event(sources, &event, colour).trim_end_matches('\n'));
        remark("");
    }
    remark(&format!(
        "`{name}` will not run: {} cannot be executed",
        count((unsupported.len(), "instruction"))
    ));
}

/// The column that the text of PTX begins in, unless an operation is longer.
const BESIDE: usize = 56;

/// The operations of all functions, with the machine code for CTAs of a shape if there is one.
fn print(text: &mut String, of: (&[Source], &Image), program: &Program, asm: Option<[u32; 3]>) {
    let (sources, image) = of;
    for function in &program.functions {
        let is = image.function(function.function);
        let word = if is.entry { ".entry" } else { ".func" };
        let _ = writeln!(text, "{word} {}", is.name);
        let _ = function.print_head(text);
        let source = &sources[is.unit as usize];
        match asm {
            None => print_operations(text, source, function),
            Some(block) => machine_code::print(text, source, function, block),
        }
        text.push('\n');
    }
}

/// The names that `--pass` takes.
fn passes() -> Vec<&'static str> {
    let known = std::iter::once("ir");
    #[cfg(target_arch = "x86_64")]
    let known = known.chain(softwarp::jit::passes::PASSES.iter().map(|pass| pass.name));
    known.collect()
}

/// What a pass finds out about all functions.
fn print_pass(text: &mut String, image: &Image, program: &Program, args: &Args) {
    let name = args.pass.as_deref().unwrap_or_default();
    for function in &program.functions {
        let _ = writeln!(text, "{}", image.function(function.function).name);
        let _ = writeln!(text, "{}", found(name, function, args.asm.unwrap_or([256, 1, 1])));
    }
}

fn found(name: &str, function: &Function, block: [u32; 3]) -> String {
    if name == "ir" {
        return format!("{function:#}");
    }
    #[cfg(target_arch = "x86_64")]
    let found = {
        use softwarp::jit::{Shape, passes};
        passes::run(name, function, Shape::of(block), passes::Width::Avx512)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let found = Some(block).and_then(|_| None::<String>);
    found.unwrap_or_else(|| "it has no code\n".to_owned())
}

fn print_operations(text: &mut String, source: &Source, function: &Function) {
    let width = function.ops.len().saturating_sub(1).to_string().len();
    let mut last = None;
    for (n, op) in function.ops.iter().enumerate() {
        let unread = if function.is_unread(n) { " (unread)" } else { "" };
        let line = format!("{n:width$}: {op}{unread}");
        let _ = writeln!(text, "{}", beside(line, source, function, n, &mut last));
    }
}

/// A line about an operation, and beside it the instruction that the operation is made from, unless the line of PTX is that
/// of the last one.
pub(super) fn beside(
    line: String,
    source: &Source,
    function: &Function,
    op: usize,
    last: &mut Option<u32>,
) -> String {
    let at = line_of(source, function, op);
    let shown = at.filter(|at| *last != Some(*at));
    *last = at.or(*last);
    match shown {
        None => line,
        Some(at) => format!("{line:BESIDE$}; {at}: {}", instruction(source, function, op)),
    }
}

/// The instruction that an operation is made from, on one line.
fn instruction(source: &Source, function: &Function, op: usize) -> String {
    let text = function.spans.get(op).map_or("", |span| span.text(&source.text));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
