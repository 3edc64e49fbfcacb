//! What `softwarp exec` counts and reports of programs that end while their launches may wait.
//!
//! The programs are in `ends/`. Each way of ending is tried a few times; `SOFTWARP_ENDS` says how often.
#![cfg(target_os = "linux")]

use crate::binary::{Ran, command, run as call};
use serde_json::{Value, json};
use softwarp_testkit::repository;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How often a program is run.
fn times() -> usize {
    std::env::var("SOFTWARP_ENDS").ok().and_then(|times| times.parse().ok()).unwrap_or(3)
}

/// Where cargo puts the libraries that this test depends on.
fn libraries() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_softwarp")).parent().expect("a folder").join("deps")
}

/// How many threads load libraries at the same time.
const LOADERS: usize = 8;

/// A folder with the programs.
fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ends");
        std::fs::create_dir_all(&folder).expect("a folder");
        let compile = |source: &str, options: &[&str]| {
            let mut compiler = Command::new("cc");
            compiler.args(["-Wall", "-Werror", "-O1"]).args(options);
            compiler.arg(repository("crates/cli/tests/ends").join(source)).arg("-L").arg(libraries());
            compiler.args(match source {
                "driver.c" => &["-lcuda", "-lpthread"][..],
                "loader.c" => &["-lcudart", "-ldl", "-lpthread"],
                _ => &["-lcudart", "-ldl"],
            });
            assert!(compiler.current_dir(&folder).status().expect("cc runs").success(), "{source}");
        };
        compile("driver.c", &["-o", "driver"]);
        compile("runtime.c", &["-o", "runtime"]);
        compile("runtime.c", &["-DSHARED", "-shared", "-fPIC", "-o", "libplugin.so"]);
        compile("plugin.c", &["-o", "plugin"]);
        compile("loader.c", &["-rdynamic", "-o", "loader"]);
        for number in 0..LOADERS {
            let library = format!("libload{number}.so");
            compile("runtime.c", &["-DSHARED", "-DAT_LOAD", "-shared", "-fPIC", "-o", &library]);
        }
        folder
    })
}

/// How a program ended, and the summary.
struct End {
    ran: Ran,
    summary: Value,
}

impl End {
    fn number(&self, name: &str) -> u64 {
        self.summary[name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.ran.stderr))
    }

    /// The launches, faults and refused launches.
    fn counts(&self) -> [u64; 3] {
        ["launches", "faults", "refused"].map(|name| self.number(name))
    }
}

/// Runs a program with options of `exec` and variables such as `LIBRARY=1`.
fn exec(options: &[&str], variables: &[(&str, &str)], program: &[&str]) -> End {
    let summary = std::thread::current().name().unwrap_or_default().replace("::", "_") + ".json";
    let own = ["exec", "--format", "json", "--summary", &summary];
    let mut command = command(programs(), &[&own[..], options, &["--"], program].concat());
    command.env("SOFTWARP_LIB", libraries());
    command.env_remove("SOFTWARP_EXIT_TIMEOUT");
    command.envs(variables.iter().copied());
    let ran = call(command, b"");
    let text = std::fs::read_to_string(programs().join(&summary)).unwrap_or_default();
    let summary = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", ran.stderr));
    End { ran, summary }
}

const KERNELS: [&str; 3] = ["plain", "atomic", "volatile"];
const CHECKS: [&[&str]; 2] = [&[], &["--check"]];

/// Everything that a program of the driver API submits happens, however it ends.
#[test]
fn launches_of_the_driver_api_are_not_lost() {
    let ways: [(&str, u64); 12] = [
        ("return", 3),
        ("exit", 3),
        ("quick", 3),
        ("unload", 3),
        ("destroy", 3),
        ("reset", 3),
        ("release", 3),
        ("fork", 3),
        ("streams", 7),
        ("graph", 4),
        ("threads", 20),
        ("atexit", 2),
    ];
    for _ in 0..times() {
        for (at, (way, launches)) in ways.into_iter().enumerate() {
            for library in [&[][..], &[("LIBRARY", "1")]] {
                // Every way with every kernel and option takes long: they are mixed.
                let kernel = KERNELS[(at + library.len()) % 3];
                let options = CHECKS[at % 2];
                let end = exec(options, library, &["./driver", way, kernel]);
                let what = format!("{way} {kernel} {library:?} {options:?}: {}", end.ran.stderr);
                assert_eq!((end.ran.code, end.counts()), (0, [launches, 0, 0]), "{what}");
                match way {
                    "unload" => assert_eq!(end.ran.stdout, "3\n", "{what}"),
                    "streams" => assert_eq!(end.ran.stdout, "called\n", "{what}"),
                    "graph" => assert_eq!(end.ran.stdout, "called\ncalled\n", "{what}"),
                    _ => assert_eq!(end.ran.stdout, "", "{what}"),
                }
            }
        }
    }
}

#[test]
fn a_return_from_main_loses_nothing_whatever_the_kernel_and_the_way_to_load_it() {
    for _ in 0..times() {
        for kernel in KERNELS {
            for options in CHECKS {
                for library in [&[][..], &[("LIBRARY", "1")]] {
                    let end = exec(options, library, &["./driver", "return", kernel]);
                    assert_eq!((end.ran.code, end.counts()), (0, [3, 0, 0]), "{}", end.ran.stderr);
                }
                let end = exec(options, &[("KERNEL", kernel)], &["./runtime"]);
                assert_eq!((end.ran.code, end.counts()), (0, [3, 0, 0]), "{kernel}: {}", end.ran.stderr);
            }
        }
    }
}

#[test]
fn faults_of_launches_that_wait_at_the_end_are_reported() {
    for _ in 0..times() {
        for way in ["return", "exit", "quick", "unload", "destroy", "reset", "release", "graph"] {
            let end = exec(&["--check"], &[], &["./driver", way, "bad"]);
            assert!(end.ran.stderr.contains("kernel `bad`: read of 4 bytes"), "{way}: {}", end.ran.stderr);
            assert_eq!(end.number("faults"), 1, "{way}: {}", end.ran.stderr);
            // Calls that return the fault end the program themselves.
            assert!(matches!(end.ran.code, 1 | 3), "{way}: {}", end.ran.code);
        }
        for library in [&[("KERNEL", "bad")][..], &[("KERNEL", "bad"), ("LIBRARY", "1")]] {
            let end = exec(&["--check"], library, &["./runtime"]);
            assert_eq!((end.ran.code, end.number("faults")), (1, 1), "{}", end.ran.stderr);
            assert_eq!(exec(&[], library, &["./runtime"]).ran.code, 0);
        }
    }
}

#[test]
fn launches_of_the_runtime_are_not_lost() {
    for _ in 0..times() {
        for (at, kernel) in KERNELS.into_iter().enumerate() {
            let (kernel, options) = ([("KERNEL", kernel)], CHECKS[at % 2]);
            for (program, launches) in [
                (&["./runtime", "reset"][..], 3),
                (&["./runtime", "atexit"], 6),
                (&["./plugin", "./libplugin.so"], 3),
            ] {
                let end = exec(options, &kernel, program);
                let what = format!("{program:?} {kernel:?}: {}", end.ran.stderr);
                assert_eq!((end.ran.code, end.counts()), (0, [launches, 0, 0]), "{what}");
            }
        }
    }
}

#[test]
fn destructors_can_launch_and_end_what_waits_for_them() {
    for kernel in KERNELS {
        let end = exec(&["--check"], &[("AT_LAST", "1")], &["./driver", "last", kernel]);
        assert_eq!((end.ran.code, end.counts()), (0, [2, 0, 0]), "{}", end.ran.stderr);
    }
    let end = exec(&["--check"], &[], &["./driver", "flag", "poll"]);
    assert_eq!((end.ran.code, end.counts()), (0, [1, 0, 0]), "{}", end.ran.stderr);
}

#[test]
fn what_never_ends_is_stopped_and_named() {
    for (program, launches) in [(&["./driver", "return", "spin"][..], 1), (&["./driver", "graph", "poll"], 1)]
    {
        let began = Instant::now();
        let end = exec(&["--check", "--exit-timeout", "0.3"], &[], program);
        assert!(began.elapsed() < Duration::from_secs(20));
        assert_eq!((end.ran.code, end.number("launches"), end.number("faults")), (1, launches, 1));
        let kernel = program[2];
        let words = format!(
            "kernel `{kernel}`: it had not ended and was stopped, 0.3 s after the process began to end"
        );
        assert!(end.ran.stderr.contains(&words), "{}", end.ran.stderr);
        assert!(end.ran.stderr.contains("line "), "the place: {}", end.ran.stderr);
        assert_eq!(exec(&["--exit-timeout", "0"], &[], program).ran.code, 0);
    }
    let end = exec(&["--check", "--exit-timeout", "0.3"], &[("KERNEL", "spin")], &["./runtime"]);
    assert_eq!((end.ran.code, end.counts()), (1, [1, 1, 2]), "{}", end.ran.stderr);
    assert!(end.ran.stderr.contains("2 launches did not begin"), "{}", end.ran.stderr);
    let end = exec(&["--check", "--exit-timeout", "0.3"], &[], &["./driver", "value", "plain"]);
    assert_eq!((end.ran.code, end.counts()), (1, [0, 1, 1]), "{}", end.ran.stderr);
    assert!(end.ran.stderr.contains("a stream waited for a value in memory"), "{}", end.ran.stderr);
}

#[test]
fn functions_of_streams_can_end_the_process() {
    let end = exec(&[], &[], &["./driver", "callback", "atomic"]);
    assert_eq!((end.ran.code, end.counts()), (5, [1, 0, 0]), "{}", end.ran.stderr);
    let end = exec(&[], &[("MORE", "1")], &["./driver", "callback", "atomic"]);
    assert_eq!((end.ran.code, end.number("launches"), end.number("faults")), (5, 1, 1), "{}", end.ran.stderr);
    assert!(end.ran.stderr.contains("was ended inside of work of a stream"), "{}", end.ran.stderr);
}

/// A program that ended by a signal is not said to have done nothing.
#[test]
fn processes_that_end_by_signals_have_initialised_the_driver() {
    let signals =
        [("abort", 134), ("kill", 137), ("term", 143), ("segfault", 139), ("_exit", 0), ("ready", 137)];
    for (way, code) in signals {
        for kernel in ["spin", "poll"] {
            let end = exec(&[], &[("WAIT", "150")], &["./driver", way, kernel]);
            assert_eq!((end.ran.code, end.number("processes")), (code, 1), "{way}: {}", end.ran.stderr);
            let not_ended = if way == "ready" { json!([]) } else { json!([kernel]) };
            assert_eq!(end.summary["not_ended"], not_ended, "{way}: {}", end.ran.stderr);
        }
    }
    let end = exec(&["--check"], &[("WAIT", "150")], &["./driver", "_exit", "spin"]);
    assert_eq!(end.ran.code, 1, "a launch that was not checked");
    let end = exec(&[], &[], &["./driver", "before", "plain"]);
    assert_eq!((end.ran.code, end.number("processes")), (137, 0));
    let mut text = command(programs(), &["exec", "--", "./driver", "kill", "spin"]);
    text.env("SOFTWARP_LIB", libraries()).env("WAIT", "150");
    let ran = call(text, b"");
    assert!(!ran.stderr.contains("did not initialise"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 launch had not ended when the process did: spin\n"), "{}", ran.stderr);
}

/// Functions that `exit` calls see what was submitted before it, in whatever order they were registered.
#[test]
fn functions_that_exit_calls_see_what_was_submitted() {
    for _ in 0..times() {
        for kernel in KERNELS {
            let end = exec(&["--check"], &[], &["./driver", "show", kernel]);
            assert_eq!((end.ran.code, end.ran.stdout.as_str()), (0, "1 1\n"), "{kernel}: {}", end.ran.stderr);
            let end = exec(&["--check"], &[], &["./driver", "quick early", kernel]);
            assert_eq!((end.ran.code, end.counts()), (0, [2, 0, 0]), "{kernel}: {}", end.ran.stderr);
        }
    }
}

/// Whatever such a function waits for, the limit holds.
#[test]
fn what_never_ends_is_stopped_while_the_program_waits_for_it() {
    for (way, said) in [("synchronize", "synchronized\n"), ("join", "joined\n")] {
        let began = Instant::now();
        let end = exec(&["--check", "--exit-timeout", "0.5"], &[], &["./driver", way, "spin"]);
        assert!(began.elapsed() < Duration::from_secs(30), "{way}");
        assert_eq!((end.ran.code, end.counts()), (1, [1, 1, 0]), "{way}: {}", end.ran.stderr);
        assert_eq!(end.ran.stdout, said);
        assert!(end.ran.stderr.contains("kernel `spin`: it had not ended"), "{way}: {}", end.ran.stderr);
    }
}

#[test]
fn copies_behind_work_of_other_streams_have_what_was_given() {
    for way in ["copy", "copy default"] {
        for kernel in KERNELS {
            let end = exec(&["--check"], &[], &["./driver", way, kernel]);
            assert_eq!((end.ran.code, end.ran.stdout.as_str()), (0, "41\n"), "{way}: {}", end.ran.stderr);
        }
    }
}

#[test]
fn memory_is_freed_when_kernels_of_its_context_have_ended() {
    for kernel in KERNELS {
        let end = exec(&["--check"], &[], &["./driver", "free", kernel]);
        assert_eq!((end.ran.code, end.counts()), (0, [2, 0, 0]), "{kernel}: {}", end.ran.stderr);
    }
}

/// A signal's handler that calls `exit` is not run by a thread that kernels need.
#[test]
fn handlers_of_signals_can_end_the_process() {
    for _ in 0..3 * times() {
        let end = exec(&["--check"], &[], &["./driver", "signal", "atomic"]);
        assert_eq!((end.ran.code, end.counts()), (14, [3, 0, 0]), "{}", end.ran.stderr);
    }
}

/// A constructor that waits for kernels holds the loader's lock: no thread of the driver may need it, and no thread of the
/// program that needs it may have locked what the constructor's calls need.
#[test]
fn constructors_of_libraries_can_launch_and_wait() {
    let (threads, rounds) = (LOADERS.to_string(), (8 * times()).to_string());
    for kernel in ["plain", "atomic", "volatile"] {
        // Those that count without atomic operations do so one after the other: the null stream is the same for all.
        let end = exec(&[], &[("KERNEL", kernel)], &["./loader", &threads, &rounds]);
        let launches = (3 * LOADERS * 8 * times()) as u64;
        assert_eq!((end.ran.code, end.counts()), (0, [launches, 0, 0]), "{kernel}: {}", end.ran.stderr);
        assert_eq!(end.ran.stdout, "0 calls\n", "{kernel}: {}", end.ran.stderr);
    }
}
