//! Plays the recording of a real driver again and compares step by step.
//!
//! `golden/calls.jsonl.gz` has scenarios: calls by words, with what NVIDIA's driver 580 (CUDA 13.0) on an H200 answered.
//! `golden/record/replay.py` makes it. Each scenario has a process of its own, since the driver's state is the process's:
//! this executable runs itself, with the scenario on standard input.
//!
//! `golden/differences.txt` lists the scenarios that differ, with the reason of each. A scenario that differs and is not
//! listed fails the test, and so does one that is listed and agrees.

use serde_json::Value;
use std::alloc::Layout;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// What memory is filled with that a call may write.
const FILL: u8 = 0xa5;

/// A function of the C API that takes as many words as any of them.
type Function = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;

/// The state of a scenario: what names stand for.
#[derive(Default)]
struct Player {
    values: HashMap<String, u64>,
}

/// Memory that stays.
fn leaked(bytes: Vec<u8>) -> u64 {
    let mut words = vec![0_u64; bytes.len().div_ceil(8).max(1)];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(whole);
    }
    words.leak().as_ptr() as u64
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hexadecimal"));
    digits.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes at an address of this process.
fn bytes_at(address: u64, bytes: usize) -> Vec<u8> {
    // SAFETY: addresses are those of memory that this test has leaked, with at least this size.
    unsafe { std::slice::from_raw_parts(address as *const u8, bytes) }.to_vec()
}

impl Player {
    /// A number, or a name and an offset.
    fn word(&self, value: &Value) -> u64 {
        if let Some(number) = value.as_u64() {
            return number;
        }
        let (name, offset) = (value[0].as_str().expect("a name"), value[1].as_u64().expect("an offset"));
        let known = self.values.get(name.trim_start_matches('=')).copied().unwrap_or(0);
        known.wrapping_add(offset)
    }

    /// Memory with words in it, which may point to other memory.
    fn region(&self, words: &Value) -> u64 {
        let mut bytes = Vec::new();
        for word in words.as_array().expect("words") {
            match (word.get("at"), word.get("bytes")) {
                (Some(inner), _) => bytes.extend_from_slice(&self.region(inner).to_le_bytes()),
                (_, Some(rest)) => bytes.extend(from_hex(rest.as_str().expect("bytes"))),
                _ => bytes.extend_from_slice(&self.word(word).to_le_bytes()),
            }
        }
        leaked(bytes)
    }

    /// The word that stands for an argument.
    fn argument(&mut self, argument: &Value) -> u64 {
        if let Some(text) = argument.get("data").or_else(|| argument.get("string")) {
            let mut bytes = from_hex(text.as_str().expect("text"));
            bytes.push(0);
            return leaked(bytes);
        }
        if argument.get("out").is_some() && argument.get("at").is_none() {
            let bytes = argument["bytes"].as_u64().expect("a size").max(8) as usize;
            return leaked(vec![FILL; bytes]);
        }
        match argument.get("at") {
            Some(words) => self.region(words),
            None => self.word(argument),
        }
    }

    /// Does one step; what differs is the error.
    fn step(&mut self, step: &Value) -> Result<(), String> {
        if let Some(name) = step.get("host") {
            let bytes = step["bytes"].as_u64().expect("a size") as usize + 8192;
            let layout = Layout::from_size_align(bytes, 4096).expect("a layout");
            // SAFETY: the layout has a size; the memory is never freed.
            let base = unsafe { std::alloc::alloc_zeroed(layout) };
            let fill = step["fill"].as_u64().expect("a byte") as u8;
            let data = from_hex(step["data"].as_str().unwrap_or(""));
            // SAFETY: the allocation has `bytes` bytes, and neither write is longer.
            unsafe {
                base.write_bytes(fill, bytes - 8192);
                base.copy_from(data.as_ptr(), data.len().min(bytes));
            }
            self.values.insert(name.as_str().expect("a name").to_owned(), base as u64);
            return Ok(());
        }
        if let Some(at) = step.get("peek") {
            let found = hex(&bytes_at(self.word(at), step["bytes"].as_u64().expect("a size") as usize));
            return same("memory of the host", &step["expect"], &Value::from(found));
        }
        if let Some(at) = step.get("text") {
            // SAFETY: the memory is this test's, and zero behind what a call has written.
            let text = unsafe { std::ffi::CStr::from_ptr(self.word(at) as *const _) };
            return same("a log", &step["expect"], &Value::from(text.to_string_lossy()));
        }
        if let Some(at) = step.get("read") {
            let bytes = step["bytes"].as_u64().expect("a size");
            let to = leaked(vec![0; bytes as usize]);
            let code = call("cuMemcpyDtoH_v2", &[to, self.word(at), bytes]);
            let found = if code == 0 { hex(&bytes_at(to, bytes as usize)) } else { format!("error {code}") };
            return same("memory", &step["expect"], &Value::from(found));
        }
        self.call(step)
    }

    fn call(&mut self, step: &Value) -> Result<(), String> {
        let name = step["call"].as_str().expect("a function");
        let arguments = step["args"].as_array().expect("arguments");
        let words: Vec<u64> = arguments.iter().map(|argument| self.argument(argument)).collect();
        let code = call(name, &words);
        let expect = &step["expect"];
        let mut found = BTreeMap::new();
        for (argument, &at) in arguments.iter().zip(&words) {
            let (Some(out), Some(unique)) = (argument["out"].as_str(), argument["as"].as_str()) else {
                continue;
            };
            let bytes = bytes_at(at, argument["bytes"].as_u64().expect("a size") as usize);
            let mut whole = [0; 8];
            let used = bytes.len().min(8);
            whole[..used].copy_from_slice(&bytes[..used]);
            self.values.insert(unique.to_owned(), u64::from_le_bytes(whole));
            found.insert(out.to_owned(), shown(argument, &bytes, u64::from_le_bytes(whole)));
        }
        let seen = expect["rc_seen"].as_array().is_some_and(|seen| seen.contains(&Value::from(code)));
        if seen {
            return Ok(());
        }
        same(name, &expect["rc"], &Value::from(code))?;
        let empty = serde_json::Map::new();
        for (out, wanted) in expect["out"].as_object().unwrap_or(&empty) {
            same(&format!("{name}: {out}"), wanted, found.get(out).unwrap_or(&Value::Null))?;
        }
        Ok(())
    }
}

/// What was written, as the recording shows it.
fn shown(argument: &Value, bytes: &[u8], word: u64) -> Value {
    let is_untouched = bytes.iter().all(|&byte| byte == FILL);
    match argument["kind"].as_str().expect("a kind") {
        _ if is_untouched => "untouched".into(),
        "h" if bytes.iter().all(|&byte| byte == 0) => 0.into(),
        "h" => "set".into(),
        "s" if word == 0 => 0.into(),
        // SAFETY: a function that gives a string gives one that ends and stays.
        "s" => unsafe { std::ffi::CStr::from_ptr(word as *const _) }.to_string_lossy().into_owned().into(),
        "b" => hex(bytes).into(),
        _ if argument["signed"] == true && bytes.len() == 4 => (word as u32 as i32).into(),
        _ if argument["signed"] == true => (word as i64).into(),
        _ => word.into(),
    }
}

fn same(what: &str, wanted: &Value, found: &Value) -> Result<(), String> {
    if wanted == found { Ok(()) } else { Err(format!("{what}: recorded {wanted}, here {found}")) }
}

/// Calls an exported function.
fn call(name: &str, words: &[u64]) -> u32 {
    let address = cuda::symbols::exported(name).unwrap_or_else(|| panic!("{name} is not exported"));
    // SAFETY: the address is that of a function of the C ABI, which takes words and ignores those that are too many.
    let function: Function = unsafe { std::mem::transmute(address as *const ()) };
    let at = |index: usize| words.get(index).copied().unwrap_or(0);
    function(
        at(0),
        at(1),
        at(2),
        at(3),
        at(4),
        at(5),
        at(6),
        at(7),
        at(8),
        at(9),
        at(10),
        at(11),
        at(12),
        at(13),
    )
}

/// In a process that was started for it: plays the scenario on standard input.
#[test]
fn one() {
    if std::env::var_os("SOFTWARP_REPLAY").is_none() {
        return;
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("a scenario");
    let scenario: Value = serde_json::from_str(&text).expect("a scenario");
    let mut player = Player::default();
    for (index, step) in scenario["ops"].as_array().expect("steps").iter().enumerate() {
        if let Err(difference) = player.step(step) {
            println!("\nDIFFERS step {index}: {difference}");
            return;
        }
    }
    println!("\nAGREES");
}

/// Plays a scenario in a process of its own; what differs, if something does.
fn play(scenario: &Value) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().expect("this executable"));
    command.args(["one", "--exact", "--nocapture", "--test-threads=1"]);
    command
        .env("SOFTWARP_REPLAY", "1")
        .env("SOFTWARP_CUDA_VERSION", "13000")
        .env("SOFTWARP_ARCH", "sm_90")
        .env_remove("CUDA_VISIBLE_DEVICES");
    for (name, value) in scenario["env"].as_object().expect("variables") {
        command.env(name, value.as_str().expect("a value"));
    }
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("started");
    let text = scenario.to_string();
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.lines().any(|line| line == "AGREES") {
        return None;
    }
    let difference = said.lines().find_map(|line| line.strip_prefix("DIFFERS "));
    Some(difference.map_or_else(|| format!("the process ended: {}", output.status), str::to_owned))
}

/// The scenarios that are known to differ, with their reasons.
fn listed() -> BTreeMap<String, String> {
    let path = softwarp_testkit::recording::golden("cuda", "differences.txt");
    let text = std::fs::read_to_string(path).expect("the list of differences");
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| {
        let (name, reason) = row.split_once(": ").expect("`name: reason`");
        (name.to_owned(), reason.to_owned())
    })
    .collect()
}

#[test]
fn scenarios_agree_with_the_recording_unless_listed() {
    if std::env::var_os("SOFTWARP_REPLAY").is_some() {
        return;
    }
    let path = softwarp_testkit::recording::golden("cuda", "calls.jsonl.gz");
    let scenarios: Vec<Value> = softwarp_testkit::recording::values(path).collect();
    assert!(scenarios.len() > 300, "only {} scenarios", scenarios.len());
    let (left, wrong) = (Mutex::new(scenarios.iter()), Mutex::new(Vec::new()));
    let known = listed();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("not poisoned").next();
                    let Some(scenario) = next else { return };
                    let name = scenario["name"].as_str().expect("a name");
                    let message = match (play(scenario), known.get(name)) {
                        (Some(difference), None) => format!("{name}: {difference}"),
                        (None, Some(_)) => format!("{name} agrees, and is listed as different"),
                        _ => continue,
                    };
                    wrong.lock().expect("not poisoned").push(message);
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().expect("not poisoned");
    wrong.sort();
    assert!(wrong.is_empty(), "{} scenarios:\n{}", wrong.len(), wrong.join("\n"));
}
