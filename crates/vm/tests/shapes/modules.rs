//! Runs random modules both ways, and finds the smallest part of one that differs.

use crate::choices::Choices;
use crate::compare::{Buffer, Job, MOST, Outcome, compare};
use crate::indices::{COMMON, INPUT, OWN, module, statements};
use crate::kernel::Kernel;
use crate::launches::Shape;
use softwarp_num::splitmix::SplitMix64;
use softwarp_vm::device::{Device, LoadError, LoadOptions};
use std::time::{Duration, Instant};

/// Threads of a grid, about.
const THREADS: u32 = 400;

/// How long a smaller program is looked for.
const LONGEST: Duration = Duration::from_secs(30);

/// Words of any value, some of them small.
fn input(seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(seed ^ 0x5eed);
    let word = |_| {
        let bits = random.next_u64();
        let word = bits as u32;
        if bits >> 62 == 0 { word % 64 } else { word }.to_le_bytes()
    };
    (0..INPUT / 4).flat_map(word).collect()
}

fn outcome(text: &str, seed: u64, shape: Shape) -> Result<Outcome, LoadError> {
    let device = Device::load(&[text], LoadOptions::default())?;
    let threads: u32 = shape.grid.iter().chain(&shape.block).product();
    let contents = [input(seed), vec![0xaa; threads as usize * OWN], vec![0; COMMON]];
    let buffers: Vec<Buffer<'_>> = contents
        .iter()
        .map(|initial| Buffer { address: device.allocate(initial.len() as u64).expect("memory"), initial })
        .collect();
    let mut arguments: Vec<Vec<u8>> = buffers.iter().map(|it| it.address.to_le_bytes().to_vec()).collect();
    arguments.push(shape.n.to_le_bytes().to_vec());
    let job = Job {
        kernel: "k",
        grid: shape.grid,
        block: shape.block,
        dynamic_shared: 0,
        arguments,
        buffers,
        most: MOST,
    };
    Ok(compare(&device, &job))
}

/// Leaves out statements as long as the rest still differs.
fn smallest(mut lines: Vec<String>, differs: impl Fn(&[String]) -> bool) -> Vec<String> {
    let start = Instant::now();
    let mut length = lines.len();
    while length > 0 {
        let mut at = 0;
        while at < lines.len() && start.elapsed() < LONGEST {
            let to = (at + length).min(lines.len());
            let without = [&lines[..at], &lines[to..]].concat();
            if differs(&without) {
                lines = without;
            } else {
                at = to;
            }
        }
        length /= 2;
    }
    lines
}

/// Runs a random module in a shape of this number.
pub fn compare_module(seed: u64, choices: &mut Choices<'_>) -> Outcome {
    let any = Kernel::of_any_shape("k");
    let shape = (0..).find_map(|more: u64| Shape::of(&any, THREADS, seed.wrapping_add(more << 20)));
    let shape = shape.expect("some shape fits");
    let lines = statements(choices);
    let text = module(&lines);
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{shape:?}\n{text}");
    }
    let found = outcome(&text, seed, shape).unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{text}"));
    let Outcome::Differs(found) = found else { return found };
    let differs = |lines: &[String]| matches!(outcome(&module(lines), seed, shape), Ok(Outcome::Differs(_)));
    let least = smallest(lines, differs);
    let what = match outcome(&module(&least), seed, shape) {
        Ok(Outcome::Differs(what)) => what,
        _ => found,
    };
    Outcome::Differs(format!("seed {seed}, {shape:?}: {what}\n{}", least.join("\n")))
}
