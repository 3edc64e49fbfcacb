//! `softwarp debug` as its users meet it: in a terminal, and from an editor.

use crate::binary;
use crate::binary::{Ran, run as call};
use crate::files::with_headers as folder;
use serde_json::{Value as Json, json};
use softwarp_testkit::examples;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// Runs commands, and gives what they print.
fn debug(folder: &Path, launch: &[&str], commands: &[&str]) -> Ran {
    let mut words = vec!["debug", "--batch"];
    for command in commands {
        words.extend(["--ex", command]);
    }
    call(binary::command(folder, &[&words[..], launch].concat()), b"")
}

fn saxpy(commands: &[&str]) -> String {
    let ran = debug(&examples(), &["saxpy.json"], commands);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    ran.stdout
}

/// What a command printed, up to the next.
fn answer<'a>(text: &'a str, command: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("(softwarp) {command}\n")).unwrap_or_else(|| panic!("{text}"));
    rest.split("(softwarp) ").next().unwrap_or_default()
}

#[test]
fn a_launch_stops_at_lines_with_conditions() {
    let text = saxpy(&["break 36 if %i == 3", "continue", "print %a * %x + %y", "print/x %x", "info break"]);
    assert!(text.starts_with("stopped before the first instruction\nCTA (0,0,0), thread (0,0,0)"), "{text}");
    let stopped = "breakpoint 1\nCTA (0,0,0), thread (3,0,0), warp 0, lane 3; lanes 0-7 execute\n\
        saxpy.ptx:36  fma.rn.f32 %y, %a, %x, %y;\n";
    assert_eq!(answer(&text, "continue"), stopped);
    assert_eq!(answer(&text, "print %a * %x + %y"), "%a * %x + %y = 36\n");
    assert_eq!(answer(&text, "print/x %x"), "%x = 0x40400000\n");
    assert!(answer(&text, "info break").contains("if %i == 3  met 1 times"), "{text}");
}

#[test]
fn going_back_is_no_change_of_a_watch() {
    let commands = ["watch y[2]", "continue", "reverse-stepi 2", "stepi", "continue"];
    let text = saxpy(&commands);
    let all: Vec<&str> = text.split("(softwarp) ").collect();
    let changed = "watch 1: 20 (0x41a00000) became 24 (0x41c00000)\n";
    assert!(all[2].contains(changed), "{text}");
    assert!(!all[4].contains("watch 1"), "{text}");
    assert!(all[5].contains(changed), "{text}");
}

#[test]
fn steps_go_forward_and_backward() {
    let text =
        saxpy(&["stepi 3", "info moment", "reverse-stepi", "print %thread", "goto 2", "goto 6", "rsi 9"]);
    assert!(answer(&text, "stepi 3").contains("saxpy.ptx:21"), "{text}");
    assert!(answer(&text, "info moment").contains("instruction 4 "), "{text}");
    assert!(answer(&text, "reverse-stepi").contains("saxpy.ptx:20"), "{text}");
    // It has not been executed now.
    assert_eq!(answer(&text, "print %thread"), "%thread = 0 (0x00000000)\n");
    assert!(answer(&text, "goto 2").contains("saxpy.ptx:19"), "{text}");
    assert!(answer(&text, "goto 6").contains("saxpy.ptx:23"), "{text}");
    assert!(answer(&text, "rsi 9").contains("saxpy.ptx:18"), "{text}");
}

#[test]
fn a_launch_can_be_seen_backward_from_its_end() {
    let text = saxpy(&[
        "break 37",
        "c",
        "c",
        "print y",
        "reverse-continue",
        "print y",
        "lanes %y",
        "watch y[2]",
        "c",
    ]);
    let ended = "the launches have ended\ny: f32[8], 32 bytes\n  [0]  0  12  24  36  48  60  72  84\n";
    let all: Vec<&str> = text.split("(softwarp) c\n").collect();
    assert!(all[2].starts_with(ended), "{text}");
    assert!(all[2].contains("y = {0, 12, 24, 36, 48, 60, 72, 84}\n"), "{text}");
    assert!(all[2].contains("y = {0, 10, 20, 30, 40, 50, 60, 70}\n"), "{text}");
    assert!(answer(&text, "lanes %y").contains("lane 3   36 (0x42100000)\n"), "{text}");
    assert!(all[3].starts_with("watch 2: 20 (0x41a00000) became 24 (0x41c00000)\n"), "{text}");
}

/// A kernel that calls a function, diverges, and waits at a barrier.
const CALLS: &str = "\
.shared .align 4 .u32 tile[64];
.func (.param .u32 r) twice(.param .u32 v)
{
    .reg .b32 %a;
    .local .align 4 .u32 kept;
    ld.param.u32 %a, [v];
    st.local.u32 [kept], %a;
    add.u32 %a, %a, %a;
    st.param.u32 [r], %a;
    ret;
}
.visible .entry k()
{
    .reg .b32 %r<4>;
    .reg .pred %p;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p, %r1, 16;
    @!%p bra AFTER;
    {
        .reg .b32 %r1;
        .param .u32 v;
        .param .u32 r;
        mov.u32 %r1, 5;
        st.param.u32 [v], %r1;
        call (r), twice, (v);
        ld.param.u32 %r2, [r];
    }
AFTER:
    bar.sync 0;
    st.shared.u32 [tile], %r1;
    ret;
}
.visible .entry bad()
{
    .reg .b64 %p;
    mov.u64 %p, 12;
    st.u32 [%p], 1;
    ret;
}
";

fn calls(kernel: &str, commands: &[&str]) -> Ran {
    let folder = folder(&[("k.ptx", CALLS)]);
    debug(folder.path(), &["k.ptx", "--kernel", kernel, "--block", "64"], commands)
}

#[test]
fn calls_are_stepped_into_over_and_out_of() {
    let ran = calls(
        "k",
        &[
            "break twice",
            "c",
            "bt",
            "stepi 2",
            "print kept",
            "up",
            "print %r1",
            "down",
            "reverse-finish",
            "c",
            "finish",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let text = ran.stdout;
    let trace: Vec<&str> = answer(&text, "bt").lines().collect();
    assert!(trace[0].starts_with("#0  twice  k.ptx:"), "{text}");
    assert!(trace[1].starts_with("#1  k  k.ptx:") && trace[1].ends_with("call (r), twice, (v);"), "{text}");
    assert_eq!(answer(&text, "print kept"), "kept = 5 (0x00000005)\n");
    // The register of the inner block, not that of the kernel.
    assert_eq!(answer(&text, "print %r1"), "%r1 = 5 (0x00000005)\n");
    assert!(answer(&text, "reverse-finish").contains("call (r), twice, (v);"), "{text}");
    assert!(answer(&text, "finish").contains("ld.param.u32 %r2, [r];"), "{text}");
    let ran = calls(
        "k",
        &["break AFTER", "stepi 5", "nexti", "print %r1", "c", "info warps", "info barriers", "rs 3 warp"],
    );
    let text = ran.stdout;
    assert!(answer(&text, "nexti").contains("ld.param.u32 %r2, [r];"), "{text}");
    assert!(answer(&text, "info warps").contains("lanes 0-31"), "{text}");
    assert_eq!(ran.code, 0, "{text}");
}

#[test]
fn diverged_lanes_and_barriers_are_seen() {
    let commands = [
        "break 8",
        "tbreak AFTER",
        "c",
        "info warps",
        "info threads",
        "lane 20",
        "warp 1",
        "c",
        "c",
        "info barriers",
    ];
    let ran = calls("k", &commands[1..]);
    let text = ran.stdout;
    assert!(answer(&text, "info warps").contains("warp 1  lanes 0-31  ready"), "{text}");
    assert!(answer(&text, "info threads").contains("lane 20  (20,0,0)"), "{text}");
    assert!(answer(&text, "lane 20").contains("thread (20,0,0), warp 0, lane 20"), "{text}");
    assert!(answer(&text, "warp 1").contains("thread (32,0,0), warp 1, lane 0"), "{text}");
}

#[test]
fn a_fault_is_a_stop_that_can_be_left_backward() {
    let ran = calls("bad", &["c", "print %p", "stepi", "reverse-stepi", "print %p"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let text = ran.stdout;
    assert!(
        answer(&text, "c").contains("write of 4 bytes at .global address 0xc is out of bounds"),
        "{text}"
    );
    assert!(answer(&text, "c").contains("st.u32 [%p], 1;"), "{text}");
    assert!(answer(&text, "print %p").contains("0x000000000000000c"), "{text}");
    assert!(answer(&text, "stepi").starts_with("error: the launch failed here"), "{text}");
    assert!(answer(&text, "reverse-stepi").contains("mov.u64 %p, 12;"), "{text}");
}

#[test]
fn source_lines_are_places_and_steps() {
    let launch = ["tutorial/rmsnorm.json"];
    let ran = debug(&examples(), &launch, &["break rmsnorm.cu:15", "c", "next", "rs", "list", "info launch"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let text = ran.stdout;
    assert!(answer(&text, "c").contains("from rmsnorm.cu:15  part[threadIdx.x] += part"), "{text}");
    assert!(answer(&text, "next").contains("from rmsnorm.cu:16  __syncthreads();"), "{text}");
    assert!(answer(&text, "rs").contains("from rmsnorm.cu:15"), "{text}");
    assert!(answer(&text, "list").contains("=>*    87"), "{text}");
    assert!(
        answer(&text, "info launch").starts_with("kernel rmsnorm, grid (4,1,1), block (128,1,1)"),
        "{text}"
    );
}

#[test]
fn mistakes_are_told_and_fail_a_batch() {
    for (command, told) in [
        ("break 999", "has no instruction on line 999"),
        ("break nothing", "there is no function or label `nothing`"),
        ("print %nothing", "there is no register `%nothing`"),
        ("print 1 +", "an expression is missing"),
        ("frobnicate", "there is no command `frobnicate`"),
        ("lane 40", "there is no such thread"),
        ("x/4 f99 0", "x takes"),
        ("finish", "the thread is in no call"),
        ("delete 7", "there is no breakpoint"),
        ("stepi many", "neither a count nor warp"),
        ("info nothing", "info takes one of"),
        ("x/2 f32 0", "there is no memory"),
    ] {
        let ran = debug(&examples(), &["saxpy.json"], &[command]);
        assert_eq!(ran.code, 1, "{command}: {}", ran.stdout);
        assert!(answer(&ran.stdout, command).contains(told), "{command}: {}", ran.stdout);
    }
}

#[test]
fn every_command_is_explained() {
    let text = saxpy(&["help", "help break", "help x"]);
    for word in ["reverse-continue", "watch", "info", "lanes", "goto"] {
        assert!(answer(&text, "help").contains(word), "{text}");
    }
    assert!(answer(&text, "help break").starts_with("break, b PLACE [if CONDITION]\n"), "{text}");
}

#[test]
fn commands_come_from_standard_input_and_files_too() {
    let folder = folder(&[("commands", "break 23\nc\n")]);
    let script = folder.path().join("commands");
    let words = ["debug", "-x", script.to_str().expect("a path"), "saxpy.json"];
    let ran = call(binary::command(&examples(), &words), b"print %i\nquit\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(answer(&ran.stdout, "print %i").starts_with("%i = 0 (0x00000000)\n"), "{}", ran.stdout);
}

/// An editor that talks to the adapter.
struct Editor {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    sent: u64,
    /// Events that came before an answer.
    events: Vec<Json>,
}

impl Editor {
    fn new(folder: &Path) -> Editor {
        let mut command = binary::command(folder, &["debug", "--dap"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the binary");
        let input = process.stdin.take().expect("an input");
        let output = BufReader::new(process.stdout.take().expect("an output"));
        Editor { process, input, output, sent: 0, events: Vec::new() }
    }

    fn read(&mut self) -> Json {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).expect("a line"), 0, "the adapter has ended");
            match line.trim().split_once(": ") {
                Some((_, number)) => length = number.parse().expect("a length"),
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("a message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn send(&mut self, command: &str, arguments: Json) -> u64 {
        self.sent += 1;
        let message =
            json!({"seq": self.sent, "type": "request", "command": command, "arguments": arguments});
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("sent");
        self.input.flush().expect("sent");
        self.sent
    }

    /// The answer to a request that was sent.
    fn answer(&mut self, request: u64) -> Json {
        loop {
            let message = self.read();
            if message["type"] == "response" && message["request_seq"] == request {
                return message;
            }
            self.events.push(message);
        }
    }

    fn ask(&mut self, command: &str, arguments: Json) -> Json {
        let request = self.send(command, arguments);
        let answer = self.answer(request);
        assert_eq!(answer["success"], true, "{command}: {answer}");
        answer["body"].clone()
    }

    /// The next event of a name.
    fn event(&mut self, name: &str) -> Json {
        loop {
            if let Some(at) = self.events.iter().position(|event| event["event"] == name) {
                return self.events.remove(at)["body"].clone();
            }
            let message = self.read();
            self.events.push(message);
        }
    }

    /// Begins a launch with breakpoints in a file.
    fn launch(&mut self, arguments: Json, file: &Path, breakpoints: Json) -> Json {
        let capabilities = self.ask("initialize", json!({"adapterID": "softwarp"}));
        assert_eq!(capabilities["supportsStepBack"], true);
        let launch = self.send("launch", arguments);
        self.event("initialized");
        let source = json!({"path": file.to_str().expect("a path")});
        let set = self.ask("setBreakpoints", json!({"source": source, "breakpoints": breakpoints}));
        self.ask("configurationDone", json!({}));
        assert_eq!(self.answer(launch)["success"], true);
        set
    }

    fn end(mut self) {
        self.ask("disconnect", json!({}));
        drop(self.input);
        assert!(self.process.wait().expect("an end").success());
    }
}

#[test]
fn an_editor_sets_breakpoints_and_sees_registers_and_memory() {
    let mut editor = Editor::new(&examples());
    let ptx = examples().join("saxpy.ptx");
    let breakpoints = json!([{"line": 35, "condition": "%i == 5"}, {"line": 37, "logMessage": "y is {%y}"}]);
    let set = editor.launch(json!({"program": "saxpy.json"}), &ptx, breakpoints);
    assert_eq!(set["breakpoints"][0]["verified"], true, "{set}");
    assert_eq!(set["breakpoints"][0]["line"], 35);
    let stopped = editor.event("stopped");
    assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("breakpoint"), &json!(6)));
    let threads = editor.ask("threads", json!({}));
    assert_eq!(threads["threads"][0]["id"], 6, "{threads}");
    let stack = editor.ask("stackTrace", json!({"threadId": 6}));
    let frame = &stack["stackFrames"][0];
    assert_eq!((&frame["name"], &frame["line"]), (&json!("saxpy"), &json!(35)), "{stack}");
    let scopes = editor.ask("scopes", json!({"frameId": frame["id"]}));
    let registers =
        editor.ask("variables", json!({"variablesReference": scopes["scopes"][0]["variablesReference"]}));
    let all = registers["variables"].as_array().expect("a list");
    let x = all.iter().find(|one| one["name"] == "%x").expect("the register");
    assert_eq!((&x["value"], &x["type"]), (&json!("5 (0x40a00000)"), &json!("f32")));
    let variables =
        editor.ask("variables", json!({"variablesReference": scopes["scopes"][1]["variablesReference"]}));
    let all = variables["variables"].as_array().expect("a list");
    let y = all.iter().find(|one| one["name"] == "y").expect("the buffer");
    assert_eq!(y["value"], "{0, 10, 20, 30, 40, 50, 60, 70}");
    let memory = editor.ask("readMemory", json!({"memoryReference": y["memoryReference"], "count": 8}));
    assert_eq!((&memory["data"], &memory["unreadableBytes"]), (&json!("AAAAAAAAIEE="), &json!(0)));
    let value =
        editor.ask("evaluate", json!({"expression": "%x + 1", "frameId": frame["id"], "context": "watch"}));
    assert_eq!(value["result"], "6");
    let text = editor.ask("evaluate", json!({"expression": "info launch", "context": "repl"}));
    assert!(text["result"].as_str().expect("text").starts_with("kernel saxpy"), "{text}");
    let code = json!({"memoryReference": frame["instructionPointerReference"], "instructionOffset": -1, "instructionCount": 2});
    let code = editor.ask("disassemble", code);
    assert_eq!(code["instructions"][0]["instruction"], "ld.global.f32 %x, [%px];", "{code}");
    editor.ask("next", json!({"threadId": 6, "granularity": "instruction"}));
    assert_eq!(editor.event("stopped")["reason"], "step");
    let stack = editor.ask("stackTrace", json!({"threadId": 6}));
    assert_eq!(stack["stackFrames"][0]["line"], 36);
    editor.ask("stepBack", json!({"threadId": 6, "granularity": "instruction"}));
    editor.event("stopped");
    let stack = editor.ask("stackTrace", json!({"threadId": 6}));
    assert_eq!(stack["stackFrames"][0]["line"], 35);
    editor.ask("continue", json!({"threadId": 6}));
    assert_eq!(editor.event("output")["output"], "y is 60 (0x42700000)\n");
    assert!(editor.event("output")["output"].as_str().expect("text").starts_with("the launches have ended"));
    editor.event("terminated");
    assert_eq!(editor.event("exited")["exitCode"], 0);
    assert!(editor.process.wait().expect("an end").success());
}

#[test]
fn an_editor_debugs_the_source_and_meets_a_fault() {
    let folder = examples().join("tutorial");
    let mut editor = Editor::new(&folder);
    let arguments = json!({
        "program": "rmsnorm_bounds.ptx",
        "args": ["--grid", "4", "--block", "128", "--arg", "buffer:x=@x.npy", "--arg", "buffer:y=zero:1600",
            "--arg", "i32:100"],
        "stopOnEntry": true,
    });
    let source = folder.join("rmsnorm_bounds.cu");
    editor.launch(arguments, &source, json!([{"line": 9}]));
    assert_eq!(editor.event("stopped")["reason"], "entry");
    editor.ask("continue", json!({}));
    assert_eq!(editor.event("stopped")["reason"], "breakpoint");
    let stack = editor.ask("stackTrace", json!({"threadId": 1}));
    let frame = &stack["stackFrames"][0];
    assert_eq!(
        (&frame["line"], &frame["source"]["name"]),
        (&json!(9), &json!("rmsnorm_bounds.cu")),
        "{stack}"
    );
    let none = json!({"source": {"path": source.to_str().expect("a path")}, "breakpoints": []});
    editor.ask("setBreakpoints", none);
    editor.ask("continue", json!({}));
    let stopped = editor.event("stopped");
    assert_eq!(stopped["reason"], "exception");
    assert!(stopped["text"].as_str().expect("text").contains("out of bounds"), "{stopped}");
    editor.ask("reverseContinue", json!({}));
    assert_eq!(editor.event("stopped")["reason"], "step");
    editor.end();
}

#[test]
fn an_editor_can_pause_a_launch_and_is_told_of_mistakes() {
    let folder =
        folder(&[("k.ptx", ".visible .entry k() {\n.reg .b32 %r;\nL: add.u32 %r, %r, 1;\nbra L;\n}\n")]);
    let mut editor = Editor::new(folder.path());
    editor.launch(json!({"program": "k.ptx"}), &folder.path().join("k.ptx"), json!([]));
    let wrong = editor.send("frobnicate", json!({}));
    assert_eq!(editor.answer(wrong)["success"], false);
    editor.ask("pause", json!({"threadId": 1}));
    assert_eq!(editor.event("stopped")["reason"], "pause");
    let value = editor.ask("evaluate", json!({"expression": "%r < 0xffffffff", "context": "hover"}));
    assert_eq!(value["result"], "1");
    editor.end();

    let mut editor = Editor::new(folder.path());
    editor.ask("initialize", json!({}));
    let launch = editor.send("launch", json!({"program": "missing.ptx"}));
    let answer = editor.answer(launch);
    assert_eq!(answer["success"], false);
    assert!(answer["message"].as_str().expect("text").contains("missing.ptx"), "{answer}");
    editor.end();
}
