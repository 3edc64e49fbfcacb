//! Planted bugs and correct controls, one short kernel each, in `planted/*.ptx`: what every sanitizer finds in them, all
//! of them looking at once.
//!
//! A case begins with `//# NAME KEY=VALUE…`: `find` is what must be found, and nothing else: kinds, or `none`; `block`
//! and `grid` are sizes, 32 and 1 without them; `shared` is dynamic shared memory in bytes; `fault` says that the launch
//! is stopped as well. What stands before a line `{` is declared at module scope, the rest is the body of
//! `k(.param .u64 out)`; `%o` is the address of the thread's own word of `out`.

use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::sanitize::{Finding, Sanitize};
use std::time::Duration;

struct Case<'a> {
    name: &'a str,
    find: &'a str,
    block: u32,
    grid: u32,
    shared: u32,
    fault: bool,
    /// What the message must say.
    says: Option<String>,
    source: String,
}

fn parse(text: &str) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for part in text.split("//# ").skip(1) {
        let (head, rest) = part.split_once('\n').expect("a body");
        let mut words = head.split_whitespace();
        let name = words.next().expect("a name");
        let mut case = Case {
            name,
            find: "",
            block: 32,
            grid: 1,
            shared: 0,
            fault: false,
            says: None,
            source: String::new(),
        };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse().unwrap_or_else(|_| panic!("{name}: {word}"));
            match key {
                "find" => case.find = value,
                "block" => case.block = number(),
                "grid" => case.grid = number(),
                "shared" => case.shared = number(),
                "fault" => case.fault = true,
                "says" => case.says = Some(value.replace('_', " ")),
                _ => panic!("{name}: {word}"),
            }
        }
        assert!(!case.find.is_empty(), "{name}: what is to be found?");
        let (declared, body) = rest.split_once("\n{\n").unwrap_or(("", rest));
        case.source = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n{declared}\n.visible .entry k(.param .u64 out)\n{{
            .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<16>, %out, %o; .reg .b32 %t, %c, %n; .reg .b16 %h<8>;
            .reg .f32 %f<40>;
            ld.param.u64 %out, [out];
            mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x;
            mad.lo.u32 %n, %c, %n, %t; mad.wide.u32 %o, %n, 4, %out;
            {body}\nret;\n}}\n"
        );
        cases.push(case);
    }
    cases
}

fn run(case: &Case<'_>) -> (Vec<Finding>, bool) {
    let options = LoadOptions { red_zones: true, ..LoadOptions::default() };
    let name = case.name;
    let device = Device::load(&[&case.source], options).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let out = device.allocate(1 << 16).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch {
        sanitize: Sanitize::ALL,
        most_time: Some(Duration::from_secs(60)),
        dynamic_shared: case.shared,
        ..Launch::new("k", [case.grid, 1, 1], [case.block, 1, 1], &arguments)
    };
    let fault = match device.launch(&launch) {
        Ok(_) => false,
        Err(LaunchError::Fault(_)) => true,
        Err(error) => panic!("{name}: {error}"),
    };
    let mut found = device.findings().to_vec();
    // A launch that was stopped could not free what it had.
    if !fault {
        found.extend(device.leaks());
    }
    (found, fault)
}

fn replay(text: &str) {
    let cases = parse(text);
    assert!(!cases.is_empty());
    let mut wrong = String::new();
    for case in &cases {
        let (found, fault) = run(case);
        let kinds: Vec<&str> = found.iter().map(|finding| finding.kind.word()).collect();
        let expected: Vec<&str> = case.find.split(',').filter(|kind| *kind != "none").collect();
        let says = case.says.as_ref();
        let said = says.is_none_or(|says| found.iter().any(|it| it.to_string().contains(says.as_str())));
        let all = expected.iter().all(|kind| kinds.contains(kind));
        let only = all && kinds.iter().all(|kind| expected.contains(kind));
        if !only || fault != case.fault || !said {
            let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
            wrong += &format!("{}: {expected:?}, got {kinds:?} {texts:?}, fault {fault}\n", case.name);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn collectives() {
    replay(include_str!("planted/collectives.ptx"));
}

#[test]
fn registers() {
    replay(include_str!("planted/registers.ptx"));
}

#[test]
fn bounds() {
    replay(include_str!("planted/bounds.ptx"));
}

#[test]
fn heap() {
    replay(include_str!("planted/heap.ptx"));
}

#[test]
fn a_block_may_be_freed_by_a_later_launch() {
    let source = ".version 8.6\n.target sm_90\n.address_size 64\n.global .u64 kept;
        .extern .func (.param .b64 r) malloc(.param .b64 n);
        .extern .func free(.param .b64 p);
        .visible .entry take() { .reg .b64 %d; .param .b64 a; .param .b64 r;
            st.param.b64 [a], 24; call.uni (r), malloc, (a); ld.param.b64 %d, [r]; st.global.u64 [kept], %d; ret; }
        .visible .entry give() { .reg .b64 %d; .param .b64 a;
            ld.global.u64 %d, [kept]; st.param.b64 [a], %d; call.uni free, (a); ret; }";
    let options = LoadOptions { red_zones: true, ..LoadOptions::default() };
    let mut device = Device::load(&[source], options).unwrap();
    let launch = |device: &mut Device, kernel: &str| {
        let launch = Launch { sanitize: Sanitize::ALL, ..Launch::new(kernel, [1; 3], [1; 3], &[]) };
        assert!(device.launch(&launch).unwrap().findings.is_empty());
        device.leaks()
    };
    let leaks = launch(&mut device, "take");
    assert_eq!(leaks.len(), 1, "{leaks:?}");
    assert_eq!(leaks[0].kind.word(), "leak");
    assert!(leaks[0].at.place.span.text(source).starts_with("call.uni (r), malloc"));
    assert_eq!(launch(&mut device, "give"), []);
}
