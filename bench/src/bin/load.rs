//! Loading a module: how long each step takes until its kernels could run, on one core.
//!
//! usage: `load FILE`
//!
//! `check --make FILE` writes a module of some 3 MB of what compilers write. Kernels are lowered when they are first
//! launched; here the longest alone, and all of them. Those with instructions that are not executed are counted,
//! and their time too.

#![forbid(unsafe_code)]

use softwarp_bench::best_milliseconds;
use softwarp_check::{Options, resolve_references};
use softwarp_image::{FunctionId, Unit, lay_out};
use softwarp_lower::{Fidelity, Lowering, lower};
use softwarp_syntax::parse;
use softwarp_vm::device::{Device, LoadOptions, Program};

const ROUNDS: usize = 15;

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let source = std::fs::read_to_string(path).expect("a file of text");
    let parsed = parse(&source);
    let module = &parsed.module;
    let (checked, references, _) = resolve_references(module, &source, Options::default());
    let linked = [Unit { module, checked: &checked }];
    let image = lay_out(&linked, softwarp_image::Options::default()).expect("it fits");
    let units = [Lowering { module, source: &source, checked: &checked, references: &references }];
    let kernels = image.functions.iter().enumerate().filter(|(_, one)| one.entry && one.defined);
    let kernels: Vec<FunctionId> = kernels.map(|(index, _)| FunctionId(index as u32)).collect();
    let lowered = |id: &FunctionId| {
        lower(&units, &image, *id, Fidelity::PTXAS).ok().map(|program| (program.functions[0].ops.len(), *id))
    };
    let programs: Vec<_> = kernels.iter().filter_map(lowered).collect();
    let (operations, longest) = *programs.iter().max().expect("a kernel that can be executed");

    println!("{} bytes, {} kernels, {} of them executed", source.len(), kernels.len(), programs.len());
    println!("parse              {:7.2} ms", best_milliseconds(ROUNDS, || parse(&source)));
    println!(
        "check and resolve  {:7.2} ms",
        best_milliseconds(ROUNDS, || resolve_references(module, &source, Options::default()))
    );
    println!(
        "lay out            {:7.2} ms",
        best_milliseconds(ROUNDS, || lay_out(&linked, softwarp_image::Options::default()))
    );
    println!(
        "all of Device::load{:7.2} ms",
        best_milliseconds(ROUNDS, || Device::load(&[&source], LoadOptions::default()).is_ok())
    );
    println!(
        "lower the longest  {:7.2} ms ({operations} operations)",
        best_milliseconds(ROUNDS, || lower(&units, &image, longest, Fidelity::PTXAS).map(Program::new))
    );
    let all = || kernels.iter().filter(|id| lower(&units, &image, **id, Fidelity::PTXAS).is_ok()).count();
    println!("lower all          {:7.2} ms", best_milliseconds(ROUNDS, all));
}
