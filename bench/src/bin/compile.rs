//! Compiling kernels to machine code: how long it takes, on one core.
//!
//! usage: `compile [--masked] [--cold] FILE [MILLISECONDS]`
//!
//! All kernels of a file of PTX are compiled again and again, for one-dimensional CTAs: uniform code, and with
//! `--masked` masked code, too. The least time of each kernel counts. With `--cold`, what the compiler needs is not in the
//! first two levels of caches, as in the first launch of a kernel. `check --make FILE` writes a module of some 3 MB of what compilers write.

#![forbid(unsafe_code)]

use softwarp_check::{Options, resolve_references};
use softwarp_image::{FunctionId, Unit, lay_out};
use softwarp_jit::{Shape, Wanted, compile};
use softwarp_lower::{Fidelity, Lowering, lower};
use softwarp_syntax::parse;
use std::time::{Duration, Instant};

/// Words that do not fit into the second level of caches.
const OTHER: usize = 1 << 20;

fn main() {
    let (options, arguments): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let [path, rest @ ..] = &arguments[..] else {
        eprintln!("usage: compile [--masked] [--cold] FILE [MILLISECONDS]");
        std::process::exit(2);
    };
    let time = rest.first().and_then(|time| time.parse().ok()).map_or(Duration::ZERO, Duration::from_millis);
    let source = std::fs::read_to_string(path).expect("a file of text");
    let parsed = parse(&source);
    let module = &parsed.module;
    let (checked, references, _) = resolve_references(module, &source, Options::default());
    let linked = [Unit { module, checked: &checked }];
    let image = lay_out(&linked, softwarp_image::Options::default()).expect("it fits");
    let units = [Lowering { module, source: &source, checked: &checked, references: &references }];
    let kernels = image.functions.iter().enumerate().filter(|(_, one)| one.entry && one.defined);
    let kernels = kernels.map(|(index, _)| FunctionId(index as u32));
    let programs: Vec<_> = kernels.filter_map(|id| lower(&units, &image, id, Fidelity::PTXAS).ok()).collect();
    let functions = || programs.iter().filter_map(|program| program.functions.first());

    let wanted = Wanted { masked: options.iter().any(|option| option == "--masked"), profitable: false };
    let shape = Shape::of([256, 1, 1]);
    let (mut kernels, mut profitable, mut instructions, mut bytes) = (0, 0, 0, 0);
    for function in functions() {
        if let Some(compiled) = compile(function, shape, wanted) {
            kernels += 1;
            profitable +=
                usize::from(compile(function, shape, Wanted { profitable: true, ..wanted }).is_some());
            instructions += function.instructions_between(0, function.ops.len());
            bytes += compiled.len();
        }
    }
    // What is written before a function is compiled.
    let mut other = vec![0u64; if options.iter().any(|option| option == "--cold") { OTHER } else { 0 }];
    let (mut best, begin) = (vec![f64::INFINITY; programs.len()], Instant::now());
    loop {
        for (best, function) in best.iter_mut().zip(functions()) {
            std::hint::black_box(&mut other).iter_mut().for_each(|word| *word += 1);
            let start = Instant::now();
            let compiled = compile(function, shape, wanted);
            *best = best.min(start.elapsed().as_secs_f64() * 1e3);
            drop(compiled);
        }
        if kernels == 0 || begin.elapsed() >= time {
            break;
        }
    }
    let best: f64 = best.iter().filter(|best| best.is_finite()).sum();
    println!(
        "{kernels} kernels ({profitable} by `auto`), {instructions} instructions, {bytes} bytes: {best:.2} ms, {:.3} ms for 1,000",
        best * 1e3 / instructions as f64
    );
}
