//! Replays recordings of tensor maps and tensor copies: what a driver made of calls, and what a GPU copied.
//!
//! | keys | what is replayed |
//! |---|---|
//! | `api`, `rc`, `desc` | a call that makes a map: refused or not, and the 128 bytes made |
//! | `map`, `coords`, `smem_offset`, `result` | a copy: faulted or not, the bytes on the mbarrier (`tx`), and the memory that was written, from the file of the same name that ends in `.bin`, or as its FNV-1a (`fnv64`) |
//! | `field`, `ordinal`, `value`, `before`, `after` | a field of an object replaced |
//!
//! Loads are from words `w·2654435761` into memory of `CD`; stores from words `w·2246822519 + 374761393` into memory of
//! `CD`; reductions into the words of loads.

use super::{Failure, Outcome, beside};
use crate::bytes::{Words, fnv1a};
use crate::input::MOST_DATA;
use crate::tensors::file::{self, MapFile};
use crate::tensors::object;
use rayon::prelude::*;
use serde_json::Value as Json;
use softwarp::tensor::copy::{Memory, Outside, load, store};
use softwarp::tensor::reduce::Operation;
use softwarp::tensor::replace::{Field, write};
use softwarp::tensor::{Direction, Map, Mode, Request, Target, Walk, object::encode};
use std::path::{Path, PathBuf};

/// The files of a whole recording.
const WHOLE: &[&str] = &["encode", "encode_wide", "load", "store"];
/// The largest memory of a copy that is replayed.
const LARGEST: u64 = 16 << 20;
/// What was in memory before.
const BEFORE: u8 = 0xcd;

/// Whether a row is of a kind that is replayed here.
pub fn is_known(row: &Json) -> bool {
    let has = |keys: &[&str]| keys.iter().all(|key| row.get(*key).is_some());
    has(&["api", "rc"]) || has(&["map", "coords", "result"]) || has(&["field", "before", "after"])
}

/// The files of a recording that are not there: memories of copies, and of a folder what it should have, too.
pub fn missing(file: &Path, rows: &[Json], in_folder: bool) -> Vec<PathBuf> {
    let mut missing = Vec::new();
    if rows.iter().any(|row| row.get("at").is_some()) && !memories(file).is_file() {
        missing.push(memories(file));
    }
    if let Some(folder) = file.parent().filter(|_| in_folder) {
        for name in WHOLE {
            let [plain, zipped] = ["jsonl", "jsonl.gz"].map(|ending| folder.join(format!("{name}.{ending}")));
            if !plain.is_file() && !zipped.is_file() {
                missing.push(plain);
            }
        }
    }
    missing
}

/// Where the memories of a recording's copies are.
fn memories(file: &Path) -> PathBuf {
    file.with_file_name(format!("{}.bin", stem(file)))
}

fn stem(file: &Path) -> &str {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('.').next().unwrap_or_default()
}

/// Replays the rows of a file.
pub fn replay(file: &Path, rows: &[Json]) -> Vec<Outcome> {
    let name = memories(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let memories = match beside(file, &name, MOST_DATA) {
        Ok(memories) => memories,
        Err(error) => {
            let failure = Some(unusable(format!("{name}: {error}")));
            return vec![Outcome { file: file.to_owned(), form: stem(file).to_owned(), failure }];
        }
    };
    let one = |(number, row): (usize, &Json)| {
        let failure = replay_row(file, row, memories.as_deref()).err();
        let name = row.get("id").and_then(Json::as_u64).unwrap_or(number as u64);
        Outcome { file: file.to_owned(), form: format!("{} {name}", stem(file)), failure }
    };
    rows.par_iter().enumerate().map(one).collect()
}

fn unusable(why: impl Into<String>) -> Failure {
    Failure::Unusable(why.into())
}

/// Compares what was recorded with ours, in words.
fn compare(expected: String, got: String) -> Result<(), Failure> {
    if expected == got { Ok(()) } else { Err(Failure::Words { expected, got }) }
}

fn replay_row(file: &Path, row: &Json, memories: Option<&[u8]>) -> Result<(), Failure> {
    if row.get("map").is_some() {
        replay_copy(file, row, memories)
    } else if row.get("field").is_some() {
        replay_replacement(row)
    } else {
        replay_call(row)
    }
}

fn replay_call(row: &Json) -> Result<(), Failure> {
    let expected = match row["rc"].as_i64() {
        Some(0) => row["desc"].as_str().ok_or_else(|| unusable("no object"))?.to_owned(),
        _ => "refused".to_owned(),
    };
    let map = file::from_json(row);
    let findings = map.check(Target::SM_90);
    let got = match map.description.map(|description| Map::new(&description, Target::SM_90)) {
        Some(Ok(map)) if !MapFile::is_refused(&findings) => object::hex(&encode(&map)),
        _ => "refused".to_owned(),
    };
    compare(expected, got)
}

fn replay_replacement(row: &Json) -> Result<(), Failure> {
    let bytes = |key: &str| object::read(row[key].as_str().unwrap_or_default().as_bytes()).map_err(unusable);
    let field = row["field"].as_str().and_then(Field::from_name).ok_or_else(|| unusable("no such field"))?;
    let (ordinal, value) = (number(row, "ordinal")?, number(row, "value")?);
    let mut made = bytes("before")?;
    write(&mut made, field, usize::try_from(ordinal).unwrap_or(usize::MAX), value);
    compare(object::hex(&bytes("after")?), object::hex(&made))
}

fn number(row: &Json, key: &str) -> Result<u64, Failure> {
    row[key].as_u64().ok_or_else(|| unusable(format!("`{key}` is not a number")))
}

/// A short list of numbers, filled up with zeros.
fn list<T: TryFrom<i64> + Default + Copy, const N: usize>(row: &Json, key: &str) -> Result<[T; N], Failure> {
    let mut all = [T::default(); N];
    let given = row.get(key).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let wrong = || unusable(format!("`{key}` is not a list of at most {N} numbers"));
    if given.len() > N {
        return Err(wrong());
    }
    for (to, from) in all.iter_mut().zip(given) {
        *to = from.as_i64().and_then(|number| T::try_from(number).ok()).ok_or_else(wrong)?;
    }
    Ok(all)
}

fn replay_copy(file: &Path, row: &Json, memories: Option<&[u8]>) -> Result<(), Failure> {
    let map = file::from_json(&row["map"]);
    let map = map.description.filter(|_| map.findings.is_empty()).ok_or_else(|| unusable("no map"))?;
    let map = Map::new(&map, Target::SM_90).map_err(|_| unusable("the map is refused"))?;
    let is_load = match row["kind"].as_str() {
        Some(kind) => kind == "load",
        None => stem(file).starts_with("load"),
    };
    let direction = match (is_load, row["reduce"].as_str()) {
        (true, _) => Direction::Load,
        (false, None) => Direction::Store,
        (false, Some(name)) => {
            Direction::Reduce(Operation::from_name(name).ok_or_else(|| unusable("no such reduction"))?)
        }
    };
    let mode = match (crate::tensors::request::default_mode(&map, direction), direction) {
        // Wide maps are used as im2col maps on the GPU that was recorded.
        (Mode::Im2colW | Mode::Im2colW128, Direction::Load) => Mode::Im2col,
        (mode, _) => mode,
    };
    let request = Request {
        mode,
        direction,
        coordinates: list(row, "coords")?,
        offsets: list(row, "offsets")?,
        shared: number(row, "smem_offset")?,
    };
    let expected = match row["result"].as_str() {
        Some("ok") => {
            let bytes = if is_load { format!("{} bytes, ", number(row, "tx")?) } else { String::new() };
            format!("{bytes}memory {}", row["fnv64"].as_str().unwrap_or_default())
        }
        _ => "a fault".to_owned(),
    };
    let length = row["len"].as_u64().unwrap_or(0);
    match perform(&map, &request, length)? {
        None => compare(expected, "a fault".to_owned()),
        Some((transaction, memory)) => {
            let bytes = transaction.map_or(String::new(), |bytes| format!("{bytes} bytes, "));
            compare(expected, format!("{bytes}memory {:016x}", fnv1a(&memory)))?;
            compare_memory(row, memories, &memory)
        }
    }
}

/// What a copy did: the bytes on the mbarrier of a load, and the memory written.
type Done = (Option<u64>, Vec<u8>);

/// The copy, from the recording's words; `None` for a fault.
fn perform(map: &Map, request: &Request, length: u64) -> Result<Option<Done>, Failure> {
    let Ok(walk) = Walk::new(map, request) else { return Ok(None) };
    let needed = request.shared.saturating_add(walk.footprint());
    if needed.max(length) > LARGEST {
        return Err(unusable(format!("the copy takes more than {LARGEST} bytes")));
    }
    let (needed, length) = (needed as usize, length as usize);
    if request.direction == Direction::Load {
        let mut shared = vec![BEFORE; needed.max(length)];
        let loaded = load(map, request, &Tensor { dump: Vec::new() }, &mut shared);
        shared.truncate(length);
        return Ok(loaded.ok().map(|loaded| (Some(loaded.transaction_bytes), shared)));
    }
    let mut shared = vec![0; needed];
    SHARED.fill(&mut shared);
    let mut tensor = Tensor { dump: vec![BEFORE; length] };
    if matches!(request.direction, Direction::Reduce(_)) {
        GLOBAL.fill(&mut tensor.dump);
    }
    let stored = store(map, request, &shared, &mut tensor);
    Ok(stored.ok().map(|()| (None, tensor.dump)))
}

/// The words of global memory.
const GLOBAL: Words = Words::Linear { factor: 2_654_435_761, more: 0 };
/// The words of shared memory.
const SHARED: Words = Words::Linear { factor: 2_246_822_519, more: 374_761_393 };

/// Global memory: what will be compared, and behind it the words of loads.
struct Tensor {
    dump: Vec<u8>,
}

impl Memory for Tensor {
    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Outside> {
        for (at, byte) in (0..).zip(into) {
            let at = offset.wrapping_add(at);
            let dumped = usize::try_from(at).ok().and_then(|at| self.dump.get(at));
            *byte = dumped.copied().unwrap_or_else(|| GLOBAL.byte(at));
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), Outside> {
        for (at, byte) in (0..).zip(from) {
            let place = usize::try_from(offset.wrapping_add(at)).ok().and_then(|at| self.dump.get_mut(at));
            place.into_iter().for_each(|place| *place = *byte);
        }
        Ok(())
    }
}

/// Compares byte by byte where the recorded memory is there.
fn compare_memory(row: &Json, memories: Option<&[u8]>, ours: &[u8]) -> Result<(), Failure> {
    let (Some(memories), Some(at)) = (memories, row.get("at").and_then(Json::as_u64)) else { return Ok(()) };
    let recorded = usize::try_from(at).ok().and_then(|at| memories.get(at..at.checked_add(ours.len())?));
    let recorded = recorded.ok_or_else(|| unusable("its memory is not in the file of memories"))?;
    if recorded == ours {
        return Ok(());
    }
    match recorded.iter().zip(ours).position(|(recorded, ours)| recorded != ours) {
        None => Ok(()),
        Some(at) => {
            compare(format!("{:02x} at byte {at}", recorded[at]), format!("{:02x} at byte {at}", ours[at]))
        }
    }
}
