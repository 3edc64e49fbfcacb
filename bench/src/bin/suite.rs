//! Kernels from nvcc and Triton: compiled code beside the interpreter and beside native code.
//!
//! usage: `suite [--json] [KERNEL]...`, or for a profiler `suite --work KERNEL MILLISECONDS` with `SOFTWARP_JIT`
//!
//! Each kernel of `bench/kernels/suite.cu` is run by the interpreter, as compiled code, and as a twin in Rust as one would
//! write it for a CPU (`bench/src/suite/native.rs`), with one thread and with all. Candidates run in turn, many times, and
//! the best time of each counts. Results of compiled code and the interpreter are the same bit by bit, and native ones near
//! them; otherwise the program stops.
//!
//! Also measured: special functions, beside vector approximations; launches of empty CTAs, and the time that it takes to
//! compile the kernels.

#[path = "../suite/functions.rs"]
mod functions;
#[path = "../suite/kernels.rs"]
mod kernels;
#[path = "../suite/measure.rs"]
mod measure;
#[path = "../suite/native.rs"]
mod native;

use kernels::{EMPTY, FUNCTIONS, KERNELS, Kernel, Make, make};
use measure::{TURN, Times, all_threads, measure, work};
use serde_json::{Value, json};
use std::time::Duration;

/// A ratio of two times.
type Ratio = fn(&Times, usize) -> f64;

const TO_NATIVE: Ratio = |times, index| times.compiled[index] / times.native[index];
const TO_INTERPRETER: Ratio = |times, index| times.interpreter[index] / times.compiled[index];

/// The geometric mean.
fn mean(rows: &[(Kernel, Times)], ratio: Ratio, index: usize) -> f64 {
    (rows.iter().map(|(_, times)| ratio(times, index).ln()).sum::<f64>() / rows.len() as f64).exp()
}

fn print_table(rows: &[(Kernel, Times)], index: usize) {
    println!("| | native | compiled | interpreter | compiled / native | interpreter / compiled |");
    println!("|---|---|---|---|---|---|");
    for (kernel, times) in rows {
        println!(
            "| {} | {:.3} | {:.3} | {:.3} | {:.2} | {:.1} |",
            kernel.name,
            times.native[index],
            times.compiled[index],
            times.interpreter[index],
            TO_NATIVE(times, index),
            TO_INTERPRETER(times, index)
        );
    }
    let (native, interpreter) = (mean(rows, TO_NATIVE, index), mean(rows, TO_INTERPRETER, index));
    println!("| geometric mean | | | | {native:.2} | {interpreter:.1} |\n");
}

/// Prints everything.
fn print(kernels: &[(Kernel, Times)], functions: &[(Kernel, Times)], empty: &[(Kernel, Times)]) {
    for (index, threads) in [1, all_threads()].into_iter().enumerate() {
        println!("Times in ms with threads: {threads}\n");
        for rows in [kernels, functions].into_iter().filter(|rows| !rows.is_empty()) {
            print_table(rows, index);
        }
    }
    let (milliseconds, instructions) = compilation(kernels);
    if instructions > 0 {
        println!(
            "compiling {instructions} PTX instructions: {milliseconds:.2} ms, {:.3} ms for 1,000",
            milliseconds * 1e3 / instructions as f64
        );
    }
    for (kernel, times) in empty {
        for (index, threads) in [1, all_threads()].into_iter().enumerate() {
            let microseconds = |times: [f64; 2]| times[index] * 1e3;
            println!(
                "{}, threads: {threads}: compiled {:.1} µs, interpreter {:.1} µs",
                kernel.name,
                microseconds(times.compiled),
                microseconds(times.interpreter)
            );
        }
    }
}

/// Milliseconds to compile all kernels, and their instructions.
fn compilation(rows: &[(Kernel, Times)]) -> (f64, usize) {
    (rows.iter().map(|row| row.1.compile).sum(), rows.iter().map(|row| row.1.instructions).sum())
}

fn as_json(kernels: &[(Kernel, Times)], functions: &[(Kernel, Times)], empty: &[(Kernel, Times)]) -> Value {
    let row = |(kernel, times): &(Kernel, Times)| {
        json!({
            "kernel": kernel.name,
            "native_ms": times.native,
            "compiled_ms": times.compiled,
            "interpreter_ms": times.interpreter,
            "warp_instructions": times.warp_instructions,
            "compile_ms": times.compile,
            "ptx_instructions": times.instructions,
        })
    };
    let group = |rows: &[(Kernel, Times)]| {
        json!({
            "kernels": rows.iter().map(row).collect::<Vec<_>>(),
            "compiled_to_native": [mean(rows, TO_NATIVE, 0), mean(rows, TO_NATIVE, 1)],
            "interpreter_to_compiled": [mean(rows, TO_INTERPRETER, 0), mean(rows, TO_INTERPRETER, 1)],
        })
    };
    let launch = |(kernel, times): &(Kernel, Times)| json!({ "launch": kernel.name, "interpreter_ms": times.interpreter, "compiled_ms": times.compiled });
    json!({
        "threads": [1, all_threads()],
        "suite": group(kernels),
        "functions": group(functions),
        "empty_launches": empty.iter().map(launch).collect::<Vec<_>>(),
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, name, rest @ ..] = &arguments[..]
        && option == "--work"
    {
        let time = rest.first().and_then(|time| time.parse().ok()).map_or(TURN, Duration::from_millis);
        let all = KERNELS.iter().chain(FUNCTIONS).chain(EMPTY);
        all.filter(|kernel| kernel.0 == name).for_each(|kernel| work(&make(kernel), time));
        return;
    }
    let (options, names): (Vec<_>, Vec<_>) =
        arguments.into_iter().partition(|argument| argument.starts_with("--"));
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| name.starts_with(wanted));
    let measured = |list: &[(&str, Make)]| -> Vec<(Kernel, Times)> {
        let kernels = list.iter().filter(|kernel| wanted(kernel.0)).map(make);
        kernels
            .map(|kernel| {
                let times = measure(&kernel);
                (kernel, times)
            })
            .collect()
    };
    let (kernels, functions, empty) = (measured(KERNELS), measured(FUNCTIONS), measured(EMPTY));
    if kernels.is_empty() && functions.is_empty() && empty.is_empty() {
        let known: Vec<_> = KERNELS.iter().chain(FUNCTIONS).map(|kernel| kernel.0).collect();
        eprintln!("no such kernel; there are: {}", known.join(", "));
        std::process::exit(2);
    }
    if options.iter().any(|option| option == "--json") {
        println!("{:#}", as_json(&kernels, &functions, &empty));
    } else {
        print(&kernels, &functions, &empty);
    }
}
