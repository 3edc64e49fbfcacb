//! Laying variables out: how long reading, judging and laying out a module of 100,000 variables takes on one core.
//!
//! usage: `layout`

#![forbid(unsafe_code)]

use softwarp_bench::best_milliseconds;
use softwarp_check::{Options, resolve};
use softwarp_image::{Unit, lay_out};
use softwarp_syntax::parse;
use std::fmt::Write;

const VARIABLES: usize = 100_000;
const ROUNDS: usize = 15;

/// Scalars, arrays and vectors, with initialisers and addresses and without.
fn module() -> String {
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n");
    for n in 0..VARIABLES {
        let _ = match n % 5 {
            0 => writeln!(text, ".global .u32 v{n} = {n};"),
            1 => writeln!(text, ".global .align 16 .b8 v{n}[{}];", n % 100 + 1),
            2 => writeln!(text, ".global .f32 v{n}[4] = {{1.0, 2.0, 3.0, 4.0}};"),
            3 => writeln!(text, ".global .u64 v{n} = v{};", n - 1),
            _ => writeln!(text, ".visible .global .v4 .f32 v{n};"),
        };
    }
    text
}

fn main() {
    let source = module();
    let parsed = parse(&source);
    let (checked, diagnostics) = resolve(&parsed.module, &source, Options::default());
    assert!(parsed.diagnostics.is_empty() && diagnostics.is_empty(), "the module is legal");
    let units = [Unit { module: &parsed.module, checked: &checked }];
    let image = lay_out(&units, softwarp_image::Options::default()).expect("it fits");
    assert_eq!(image.objects.len(), VARIABLES);
    println!("{VARIABLES} variables, {} bytes of text", source.len());
    println!("parse    {:7.1} ms", best_milliseconds(ROUNDS, || parse(&source)));
    println!(
        "check    {:7.1} ms",
        best_milliseconds(ROUNDS, || resolve(&parsed.module, &source, Options::default()))
    );
    println!(
        "lay out  {:7.1} ms",
        best_milliseconds(ROUNDS, || lay_out(&units, softwarp_image::Options::default()))
    );
}
