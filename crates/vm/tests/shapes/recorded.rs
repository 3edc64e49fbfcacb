//! The recorded programs of `crates/cli/tests/golden`, in other blocks than they were recorded in: with the same number of
//! threads in other rows, or with fewer. What they compute then means nothing, but it is the same both ways.

use crate::compare::{Buffer, Job, Outcome, compare};
use serde_json::Value;
use softwarp_testkit::recording;
use softwarp_vm::device::{Device, Launch, LoadOptions};

/// Files of programs whose launches need nothing but buffers and numbers.
const FILES: [&str; 3] = ["programs.jsonl.gz", "misc.jsonl.gz", "places.jsonl.gz"];

/// Programs that do what the order of warps makes of them: they retry atomic operations until no other warp is in
/// between, or look at what other CTAs have done.
const ORDERED: [&str; 3] = ["kernels/atomics_all", "kernels/libcuxx_atomics", "kernels/scan_lookback"];

/// The most instructions of warps: a program may wait for threads that are not there.
const MOST: u64 = 200_000;

/// The bytes of an argument, or none of kinds that are not launched here.
fn argument(argument: &Value, addresses: &[(String, u64)]) -> Option<Vec<u8>> {
    let (kind, value) = argument.as_object()?.iter().find(|(key, _)| *key != "offset")?;
    Some(match kind.as_str() {
        "buffer" => {
            let (_, address) = addresses.iter().find(|(name, _)| Some(name.as_str()) == value.as_str())?;
            (address + argument["offset"].as_u64().unwrap_or(0)).to_le_bytes().to_vec()
        }
        "u32" => (value.as_u64()? as u32).to_le_bytes().to_vec(),
        "s32" => (value.as_i64()? as i32).to_le_bytes().to_vec(),
        "u64" => value.as_u64()?.to_le_bytes().to_vec(),
        "f32" => (value.as_f64()? as f32).to_le_bytes().to_vec(),
        "f64" => value.as_f64()?.to_le_bytes().to_vec(),
        _ => return None,
    })
}

/// What a buffer holds: what was recorded, or small numbers.
fn contents(buffer: &Value) -> Option<Vec<u8>> {
    let bytes = buffer["bytes"].as_u64()? as usize;
    let mut contents: Vec<u8> = match (&buffer["init"]["hex"], buffer["init"].as_str()) {
        (Value::String(hex), _) => {
            let digits: Vec<u8> =
                hex.bytes().filter_map(|c| (c as char).to_digit(16)).map(|d| d as u8).collect();
            digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
        }
        (_, Some("zero")) => Vec::new(),
        _ => (0..bytes as u32 / 4).flat_map(|n| (n % 61).to_le_bytes()).collect(),
    };
    contents.resize(bytes, 0);
    Some(contents)
}

/// Blocks of as many threads or fewer, but for the recorded one; of more where that has one thread.
fn other_blocks([x, y, z]: [u32; 3]) -> Vec<[u32; 3]> {
    let threads = x * y * z;
    if threads == 1 {
        return vec![[2, 1, 1], [16, 2, 1], [5, 1, 1]];
    }
    let rows = [16, 8, 7, 4, 32, 3, 2, 20, 1].map(|row| [row, threads / row, 1]);
    let planes = [8, 16, 2, 5].map(|row| [row, threads / row / 2, 2]);
    let fewer = [[threads - 1, 1, 1], [threads / 2 + 1, 1, 1], [threads / 3, 1, 2], [1, 1, threads.min(64)]];
    let mut blocks: Vec<[u32; 3]> = rows.into_iter().chain(planes).chain(fewer).collect();
    blocks.retain(|block| !block.contains(&0) && *block != [x, y, z]);
    blocks
}

/// The dimensions of a block or grid.
fn dimensions(value: &Value) -> Option<[u32; 3]> {
    let at = |axis: usize| value[axis].as_u64().map(|size| size as u32);
    Some([at(0)?, at(1)?, at(2)?])
}

/// Runs a row in some other blocks. None if it cannot be launched here.
fn compare_row(row: &Value, number: usize, blocks: usize) -> Option<Vec<(String, Outcome)>> {
    let launch = &row["launch"];
    let [one] = launch["launches"].as_array()?.as_slice() else { return None };
    // Planted bugs are races, whose results depend on the order of warps.
    if launch.get("bug").is_some_and(|bug| !bug.is_null()) || !one["cluster"].is_null() {
        return None;
    }
    let text = row["ptx"].as_str()?;
    // A variable keeps its value from one launch to the next.
    if text.contains(".global .") || ORDERED.contains(&row["name"].as_str()?) {
        return None;
    }
    let device = Device::load(&[text], LoadOptions::default()).ok()?;
    let named = launch["buffers"].as_object()?;
    let contents: Vec<Vec<u8>> = named.values().map(contents).collect::<Option<_>>()?;
    let allocate = |bytes: &Vec<u8>| device.allocate(bytes.len().max(4) as u64).ok();
    let addresses: Vec<u64> = contents.iter().map(allocate).collect::<Option<_>>()?;
    let by_name: Vec<(String, u64)> = named.keys().cloned().zip(addresses.iter().copied()).collect();
    let given = one["args"].as_array()?.iter().map(|it| argument(it, &by_name));
    let arguments: Vec<Vec<u8>> = given.collect::<Option<_>>()?;
    let others = other_blocks(dimensions(&one["block"])?);
    let mut found = Vec::new();
    for n in 0..blocks {
        let block = others[(number * 5 + n) % others.len()];
        let job = Job {
            kernel: one["kernel"].as_str()?,
            grid: dimensions(&one["grid"])?,
            block,
            dynamic_shared: one["dynamic_smem"].as_u64().unwrap_or(0) as u32,
            arguments: arguments.clone(),
            buffers: addresses
                .iter()
                .zip(&contents)
                .map(|(&address, initial)| Buffer { address, initial })
                .collect(),
            most: MOST,
        };
        let launch = Launch {
            dynamic_shared: job.dynamic_shared,
            ..Launch::new(job.kernel, job.grid, job.block, &job.arguments)
        };
        device.check_launch(&launch).ok()?;
        found.push((format!("{} in blocks of {block:?}", row["name"]), compare(&device, &job)));
    }
    Some(found)
}

/// Runs all rows in some other blocks each.
pub fn compare_recorded(blocks: usize) -> Vec<(String, Outcome)> {
    let rows = FILES.into_iter().flat_map(|file| recording::values(recording::golden("cli", file)));
    rows.enumerate().filter_map(|(number, row)| compare_row(&row, number, blocks)).flatten().collect()
}
