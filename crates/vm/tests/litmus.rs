//! Litmus tests of the PTX memory model (`litmus/README.md` says where they are from).
//!
//! A test that has a data race is reported by the race sanitizer in at least one of its runs; one that has none is
//! never reported; and no run ends in a state that the model forbids. The runs vary where the threads are (warps of a
//! CTA, lanes of a warp, order of the CTAs, CTAs of a cluster) and the order in which they begin. Some runs have a random
//! schedule.

use serde_json::Value;
use softwarp_testkit::recording;
use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::sanitize::{FindingKind, Sanitize};
use softwarp_vm::schedule::Schedule;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Tests whose verdict still differs, a line each: `missed NAME` or `false NAME`.
const DIFFERENCES: &str = include_str!("litmus/differences.txt");
/// Instructions of warps that most tests need at most.
const SHORT: u64 = 8_000;
/// How long a thread waits for each that begins before it: turns of a loop.
const DELAY: u32 = 60;
/// Random schedules that each layout is run with besides.
const SEEDS: [u64; 3] = [1, 2, 3];
/// How many tests need not end in any run.
const MOST_ENDLESS: usize = 30;

struct Test {
    name: String,
    ptx: String,
    /// The GPU and the CTA of each thread.
    threads: Vec<(u64, u64)>,
    /// Whole warps play a thread: it has barriers.
    whole_warps: bool,
    memory: Vec<u32>,
    locations: Vec<String>,
    outputs: Vec<(String, usize)>,
    race: bool,
    forbidden: Option<Value>,
}

fn tests() -> Vec<Test> {
    recording::values(recording::golden("vm", "litmus.jsonl.gz")).map(|line| test(&line)).collect()
}

fn test(line: &Value) -> Test {
    let list = |key: &str| line[key].as_array().unwrap_or_else(|| panic!("{key} in {line}")).clone();
    let number = |value: &Value| value.as_u64().expect("a number");
    Test {
        name: line["name"].as_str().expect("a name").to_owned(),
        ptx: line["ptx"].as_str().expect("a module").to_owned(),
        threads: list("threads").iter().map(|place| (number(&place[0]), number(&place[1]))).collect(),
        whole_warps: line["whole_warps"].as_bool().expect("true or false"),
        memory: list("memory").iter().map(|value| number(value) as u32).collect(),
        locations: list("locations").iter().map(|name| name.as_str().expect("a name").to_owned()).collect(),
        outputs: line["outputs"]
            .as_object()
            .expect("registers")
            .iter()
            .map(|(name, at)| (name.clone(), number(at) as usize))
            .collect(),
        race: line["race"].as_bool().expect("true or false"),
        forbidden: line.get("forbidden").cloned(),
    }
}

/// The order of CTAs, and of threads in a CTA.
#[derive(Clone, Copy)]
enum Order {
    Forwards,
    Backwards,
    /// The last one first.
    Turned,
}

/// Where the threads of a test run.
struct Layout {
    /// Threads of the launch for each thread of the test: 32, or 1 where several are in a warp.
    step: u32,
    /// Threads of the test that a CTA has room for.
    width: u32,
    grid: u32,
    cluster: Option<u32>,
    /// The slot of each thread: its CTA times `width`, plus its place there.
    slots: Vec<u32>,
}

/// Puts the threads into CTAs in this order; a GPU of the test is a cluster here if `clusters`.
fn layout(test: &Test, step: u32, order: Order, clusters: bool) -> Layout {
    let gpus: BTreeSet<u64> = test.threads.iter().map(|&(gpu, _)| gpu).collect();
    let ctas = |gpu: u64| -> Vec<u64> {
        let all: BTreeSet<u64> =
            test.threads.iter().filter(|place| place.0 == gpu).map(|place| place.1).collect();
        all.into_iter().collect()
    };
    let most = gpus.iter().map(|&gpu| ctas(gpu).len()).max().unwrap_or(1) as u32;
    let members = |place: (u64, u64)| test.threads.iter().filter(|&&other| other == place).count();
    let width = test.threads.iter().map(|&place| members(place)).max().unwrap_or(1) as u32;
    let turn = |at: usize, count: usize| match order {
        Order::Forwards => at,
        Order::Backwards => count - 1 - at,
        Order::Turned => (at + 1) % count,
    };
    let slots = test
        .threads
        .iter()
        .enumerate()
        .map(|(index, &(gpu, cta))| {
            let gpu_at = turn(gpus.iter().position(|&one| one == gpu).expect("it is there"), gpus.len());
            let all = ctas(gpu);
            let cta_at = turn(all.iter().position(|&one| one == cta).expect("it is there"), all.len());
            let earlier = test.threads[..index].iter().filter(|&&place| place == (gpu, cta)).count();
            let place = turn(earlier, members((gpu, cta)));
            (gpu_at as u32 * most + cta_at as u32) * width + place as u32
        })
        .collect();
    let grid = gpus.len() as u32 * most;
    Layout { step, width, grid, cluster: clusters.then_some(most), slots }
}

fn layouts(test: &Test) -> Vec<Layout> {
    let gpus: BTreeSet<u64> = test.threads.iter().map(|&(gpu, _)| gpu).collect();
    let mut all = vec![layout(test, 32, Order::Forwards, true)];
    let several = gpus.len() > 1;
    if !several {
        all.extend([layout(test, 32, Order::Forwards, false), layout(test, 32, Order::Turned, false)]);
    }
    all.push(layout(test, 32, Order::Backwards, several));
    if !test.whole_warps {
        all.push(layout(test, 1, Order::Forwards, several));
        if !several {
            all.push(layout(test, 1, Order::Backwards, false));
        }
    }
    all
}

/// Orders in which threads begin: all together, and each first once, forwards and backwards.
fn delays(threads: usize) -> Vec<Vec<u32>> {
    let mut all = vec![vec![0; threads]];
    for first in 0..threads {
        let turned = |index: usize| ((index + threads - first) % threads) as u32 * DELAY;
        all.push((0..threads).map(turned).collect());
        if threads > 2 {
            all.push((0..threads).map(|index| turned((2 * first + threads - index) % threads)).collect());
        }
    }
    all
}

/// What one run gave: whether a race was found, and the final registers and memory if it came to its end.
struct Ran {
    race: bool,
    end: Option<(Vec<u32>, Vec<u32>)>,
}

fn run(test: &Test, ptx: &str, layout: &Layout, (delays, schedule): (&[u32], Schedule), most: u64) -> Ran {
    let device = Device::load(&[ptx], LoadOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error:?}\n{ptx}", test.name));
    let memory = device.allocate(16 * test.memory.len().max(1) as u64).expect("memory");
    let out = device.allocate(4 * test.outputs.len().max(1) as u64).expect("memory");
    for (at, value) in test.memory.iter().enumerate() {
        device.write(memory + 16 * at as u64, &value.to_le_bytes()).expect("it is there");
    }
    let mut arguments = vec![memory.to_le_bytes().to_vec(), out.to_le_bytes().to_vec()];
    arguments.extend([layout.width, layout.step].map(|word| word.to_le_bytes().to_vec()));
    for (slot, delay) in layout.slots.iter().zip(delays) {
        arguments.extend([slot, delay].map(|word| word.to_le_bytes().to_vec()));
    }
    let launch = Launch {
        cluster: layout.cluster.map(|size| [size, 1, 1]),
        sanitize: Sanitize { race: true, ..Sanitize::default() },
        most_instructions: Some(most),
        most_time: Some(Duration::from_secs(60)),
        schedule,
        ..Launch::new("litmus", [layout.grid, 1, 1], [layout.width * layout.step, 1, 1], &arguments)
    };
    let ended = match device.launch(&launch) {
        Ok(_) => true,
        Err(LaunchError::Fault(_)) => false,
        Err(error) => panic!("{}: {error}", test.name),
    };
    let race = device.findings().iter().any(|finding| matches!(finding.kind, FindingKind::Race { .. }));
    let words = |address: u64, count: usize, stride: u64| -> Vec<u32> {
        (0..count as u64)
            .map(|at| {
                let mut bytes = [0; 4];
                device.read(address + stride * at, &mut bytes).expect("it is there");
                u32::from_le_bytes(bytes)
            })
            .collect()
    };
    let end = ended.then(|| (words(out, test.outputs.len(), 4), words(memory, test.memory.len(), 16)));
    Ran { race, end }
}

/// Whether a condition holds in a final state.
fn holds(test: &Test, condition: &Value, registers: &[u32], memory: &[u32]) -> bool {
    let part = |at: usize| holds(test, &condition[at], registers, memory);
    let value = |at: usize| -> u32 {
        match &condition[at] {
            Value::Number(number) => number.as_i64().expect("an integer") as u32,
            Value::String(name) => match test.outputs.iter().find(|(register, _)| register == name) {
                Some(&(_, index)) => registers[index],
                None => match test.locations.iter().position(|location| location == name) {
                    Some(index) => memory[index],
                    None => 0,
                },
            },
            other => panic!("{}: {other}", test.name),
        }
    };
    match condition[0].as_str() {
        Some("and") => part(1) && part(2),
        Some("or") => part(1) || part(2),
        Some("not") => !part(1),
        Some("==") => value(1) == value(2),
        Some("!=") => value(1) != value(2),
        other => panic!("{}: {other:?}", test.name),
    }
}

/// Whether some run of a test came to its end, and what is wrong with the verdict: `missed` or `false`.
fn verdict(test: &Test) -> (bool, Option<&'static str>) {
    let narrowed = test.ptx.replace(".gpu.", ".cluster.").replace(".gpu;", ".cluster;");
    let (mut found, mut ended) = (false, false);
    // A loop that waits may use up a short run before the others have had their turn.
    'runs: for most in [SHORT, 1_000_000] {
        for layout in layouts(test) {
            let ptx = if layout.cluster.is_some() { &narrowed } else { &test.ptx };
            let fixed = delays(test.threads.len()).into_iter().map(|delays| (delays, Schedule::Fixed));
            // A random schedule gives each thread its turn: long runs have nothing new.
            let seeds = SEEDS.iter().filter(|_| most == SHORT);
            let random = seeds.map(|&seed| (vec![0; test.threads.len()], Schedule::Random(seed)));
            for (delays, schedule) in fixed.chain(random) {
                let ran = run(test, ptx, &layout, (&delays, schedule), most);
                found |= ran.race;
                if let Some((registers, memory)) = ran.end {
                    ended = true;
                    if let Some(condition) = &test.forbidden {
                        assert!(
                            !holds(test, condition, &registers, &memory),
                            "{}: forbidden: registers {registers:?}, memory {memory:?}",
                            test.name
                        );
                    }
                }
                if found && test.forbidden.is_none() {
                    break 'runs;
                }
            }
        }
        if found || !test.race {
            break;
        }
    }
    let wrong = match (test.race, found) {
        (true, false) => Some("missed"),
        (false, true) => Some("false"),
        _ => None,
    };
    (ended || found, wrong)
}

#[test]
fn litmus_tests_get_the_verdict_of_the_memory_model() {
    let tests = tests();
    assert!(tests.len() >= 600, "{}", tests.len());
    assert!(tests.iter().filter(|test| test.race).count() >= 70);
    let listed: BTreeSet<String> = DIFFERENCES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut verdicts = Vec::new();
        while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            verdicts.push((&test.name, verdict(test)));
        }
        verdicts
    };
    let verdicts: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    });
    // Tests of forward progress may wait for what never happens; nearly all others end.
    let endless = verdicts.iter().filter(|(_, (ended, _))| !ended).count();
    assert!(endless <= MOST_ENDLESS, "{endless} tests never came to their end");
    let found: BTreeSet<String> =
        verdicts.iter().filter_map(|(name, (_, wrong))| Some(format!("{} {name}", (*wrong)?))).collect();
    let lines = |set: Vec<&String>| set.into_iter().map(|line| format!("  {line}\n")).collect::<String>();
    let (new, stale) =
        (lines(found.difference(&listed).collect()), lines(listed.difference(&found).collect()));
    assert!(
        new.is_empty() && stale.is_empty(),
        "not in litmus/differences.txt:\n{new}in litmus/differences.txt and right by now, to be removed:\n{stale}"
    );
}
