//! Compiled code against the interpreter: random programs, in PTX and in the intermediate representation, leave the same
//! memory, the same counts and the same faults.
//!
//! `cargo test --release -p softwarp-vm --test compiled -- --ignored` runs programs for as many seconds as
//! `SOFTWARP_SECONDS` says (two hours without it). `SOFTWARP_SEED` runs one program. The fuzz target `compiled` has the
//! same generators. `SOFTWARP_SIMD=avx2` tests the code for CPUs without AVX-512.

#[path = "compiled/check.rs"]
mod check;
#[path = "compiled/choices.rs"]
mod choices;
#[path = "compiled/edges.rs"]
mod edges;
#[path = "compiled/functions.rs"]
mod functions;
#[path = "compiled/own.rs"]
mod own;
#[path = "compiled/polls.rs"]
mod polls;
#[path = "compiled/rare.rs"]
mod rare;
#[path = "compiled/run.rs"]
mod run;
#[path = "compiled/short.rs"]
mod short;
#[path = "compiled/spans.rs"]
mod spans;
#[path = "compiled/table.rs"]
mod table;
#[path = "compiled/text.rs"]
mod text;
#[path = "compiled/tiles.rs"]
mod tiles;
#[path = "compiled/torn.rs"]
mod torn;
#[path = "compiled/trees.rs"]
mod trees;
#[path = "compiled/values.rs"]
mod values;
#[path = "compiled/writer.rs"]
mod writer;

use check::{Stub, compare_bytes, compare_function, compare_text};
use choices::Choices;
use own::compare_own;
use polls::compare_polls;
use rare::compare_rare;
use run::assert_compiled_code_ran;
use short::compare_short;
use spans::compare_spans;
use std::time::{Duration, Instant};
use tiles::compare_tiles;
use trees::compare_trees;

fn only() -> Option<u64> {
    std::env::var("SOFTWARP_SEED").ok().and_then(|text| text.parse().ok())
}

#[test]
fn random_programs_do_the_same_compiled_and_interpreted() {
    let compare = |seed| compare_text(seed, &mut Choices::seeded(seed));
    match only() {
        Some(seed) => compare(seed),
        None => (0..400).for_each(compare),
    }
    assert_compiled_code_ran();
}

#[test]
fn random_functions_do_the_same_compiled_and_interpreted() {
    let stub = Stub::new();
    let compare = |seed| compare_function(&stub, seed, &mut Choices::seeded(seed));
    match only() {
        Some(seed) => compare(seed),
        None => (0..400).for_each(compare),
    }
    assert_compiled_code_ran();
}

#[test]
fn random_tiled_kernels_do_the_same_compiled_and_interpreted() {
    match only() {
        Some(seed) => compare_tiles(seed),
        None => (0..150).for_each(compare_tiles),
    }
    assert_compiled_code_ran();
}

#[test]
fn rows_of_threads_do_the_same_at_edges_compiled_and_interpreted() {
    edges::compare_rows();
    assert_compiled_code_ran();
}

#[test]
fn the_first_lanes_do_the_same_at_edges_compiled_and_interpreted() {
    edges::compare_first_lanes();
    assert_compiled_code_ran();
}

#[test]
fn random_lanes_that_poll_do_the_same_compiled_and_interpreted() {
    match only() {
        Some(seed) => compare_polls(seed),
        None => (0..24).for_each(compare_polls),
    }
    assert_compiled_code_ran();
}

/// Among whose instructions are many polls of lanes that have diverged.
#[test]
fn a_function_with_many_polls_does_the_same_compiled_and_interpreted() {
    let seed = 2_200_048_449;
    compare_function(&Stub::new(), seed, &mut Choices::seeded(seed));
    assert_compiled_code_ran();
}

#[test]
fn random_trees_of_sums_do_the_same_compiled_and_interpreted() {
    match only() {
        Some(seed) => compare_trees(seed),
        None => (0..300).for_each(compare_trees),
    }
    assert_compiled_code_ran();
}

#[test]
fn random_loads_of_words_one_behind_the_other_do_the_same_compiled_and_interpreted() {
    match only() {
        Some(seed) => compare_spans(seed),
        None => (0..1000).for_each(compare_spans),
    }
    assert_compiled_code_ran();
}

#[test]
fn random_arrays_of_threads_do_the_same_compiled_and_interpreted() {
    match only() {
        Some(seed) => compare_own(seed),
        None => (0..800).for_each(compare_own),
    }
    assert_compiled_code_ran();
}

#[test]
fn random_short_elements_do_the_same_compiled_and_interpreted() {
    match only() {
        Some(seed) => compare_short(seed),
        None => (0..800).for_each(compare_short),
    }
    assert_compiled_code_ran();
}

#[test]
fn random_rare_operations_do_the_same_compiled_and_interpreted() {
    match only() {
        Some(seed) => compare_rare(seed),
        None => (0..800).for_each(compare_rare),
    }
    assert_compiled_code_ran();
}

#[test]
fn programs_of_the_fuzzer_do_the_same_compiled_and_interpreted() {
    let folder = softwarp_testkit::repository("fuzz/corpus/compiled");
    let files: Vec<_> = std::fs::read_dir(folder).expect("a folder").collect();
    assert!(files.len() > 8);
    for file in files {
        compare_bytes(&std::fs::read(file.expect("a file").path()).expect("readable"));
    }
    assert_compiled_code_ran();
}

/// The tests above, for CPUs with AVX2 alone: in a process of their own, since a process has one level.
#[test]
fn programs_do_the_same_without_avx_512() {
    let level = softwarp_num::LEVEL_VARIABLE;
    if std::env::var_os(level).is_some() {
        return;
    }
    let mut tests = std::process::Command::new(std::env::current_exe().expect("this test"));
    let done = tests.env(level, softwarp_num::Level::Avx2.name()).output().expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    assert_compiled_code_ran();
}

#[test]
#[ignore = "runs for as long as asked for"]
fn random_programs_for_a_long_time() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = number("SOFTWARP_SECONDS").unwrap_or(7200);
    let first = number("SOFTWARP_SEED").unwrap_or(1_000_000);
    let (start, mut seed, stub) = (Instant::now(), first, Stub::new());
    while start.elapsed() < Duration::from_secs(seconds) {
        compare_function(&stub, seed, &mut Choices::seeded(seed));
        compare_function(&stub, !seed, &mut Choices::seeded(!seed));
        compare_text(seed, &mut Choices::seeded(seed));
        compare_tiles(seed);
        compare_polls(seed);
        compare_trees(seed);
        compare_spans(seed);
        compare_short(seed);
        compare_own(seed);
        compare_rare(seed);
        seed += 1;
    }
    println!("{} programs", 10 * (seed - first));
    assert_compiled_code_ran();
}
