//! Programs that `cc` compiles with a stand-in of the static runtime, redirected to a stand-in of softwarp's: by the
//! auditor and by the preloaded library, with constructors of programs, of libraries that they need and of those that
//! they open, by several linkers.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod compiled;

use compiled::{Compiled, Way, code, ended, folder, library, linkers, program, tool_of};
use std::process::Command;

const WAYS: [Way; 2] = [Way::Audit, Way::Preload];

/// What a user of a runtime prints.
fn served(function: &str, number: i32) -> String {
    let base = number / 1000 * 100;
    format!(
        "{function}: right early {} kernel {} stream {} table {} version {number} 0 1 own 7 2 text ours entry {}\n",
        base + 3,
        base + 10,
        base + 25,
        base + 30,
        // The newest version of each has the function of that name.
        if matches!(number, 12090 | 13040..) { base + 40 } else { number }
    )
}

fn assert_runs(compiled: &Compiled, way: Way, arguments: &[&str], wanted: &[String]) {
    let ran = compiled.run(way, arguments);
    let about = format!("{way:?} {compiled:?}");
    assert_eq!(ran.stderr, "", "{about}");
    assert_eq!((ran.code, ran.stdout), (Some(0), format!("{}all right\n", wanted.concat())), "{about}");
}

#[test]
fn constructors_and_calls_of_programs_are_redirected() {
    let kinds = [
        (13040, &[][..]),
        (12090, &["-no-pie"]),
        (13000, &["-Wl,-z,now,-z,relro"]),
        (12010, &["-Wl,-z,lazy,--gc-sections"]),
    ];
    for (number, options) in kinds {
        let compiled = program(&format!("own{number}"), &[code("own", number)], options);
        for way in WAYS {
            assert_runs(&compiled, way, &[], &[served("own", number)]);
        }
    }
}

#[test]
fn programs_of_other_linkers_are_redirected() {
    let linkers = linkers();
    for (index, linker) in linkers.iter().enumerate() {
        for more in [&["-Wl,-z,now", "-Wl,--gc-sections", "-Wl,--icf=all"][..], &["-no-pie"]] {
            let name = format!("linked{index}{}", more.concat());
            let options: Vec<&str> = linker.iter().map(String::as_str).chain(more.iter().copied()).collect();
            let compiled = program(&name, &[code("own", 13040)], &options);
            assert_runs(&compiled, Way::Audit, &[], &[served("own", 13040)]);
        }
    }
}

#[test]
fn libraries_get_the_version_that_they_were_linked_with() {
    let needed = library("needed", &[code("needed", 12090)], &[]);
    let opened = library("opened", &[code("opened", 13040)], &["-Wl,-z,now"]);
    let opened = opened.to_str().expect("a path");
    let older = library("older", &[code("opened", 12080)], &[]);
    let older = older.to_str().expect("a path");
    let compiled =
        program("several", &[code("own", 13000)], &["-Wl,-rpath,$ORIGIN", needed.to_str().expect("a path")]);
    for way in WAYS {
        let wanted = [
            served("own", 13000),
            served("needed", 12090),
            served("opened", 13040),
            served("opened", 12080),
            served("opened", 13040),
        ];
        assert_runs(&compiled, way, &[opened, older, opened], &wanted);
    }
}

#[test]
fn threads_load_and_close_libraries() {
    let opened = library("threads", &[code("opened", 13040)], &[]);
    let compiled = program("opener", &[], &[]);
    for way in WAYS {
        assert_runs(&compiled, way, &[&format!("@{}", opened.display())], &[]);
    }
}

/// A program that opens the library for preloading: what it has loaded before stays as it is.
#[test]
fn libraries_that_are_opened_later_are_redirected() {
    let early = library("early", &[code("opened", 13000)], &[]);
    let later = library("later", &[code("opened", 13040)], &[]);
    let compiled = program("late", &[code("own", 13040)], &[]);
    let [early, later] = [&early, &later].map(|path| path.to_str().expect("a path"));
    let preloaded = format!("+{}", folder().join("libsoftwarp_preload.so").display());
    let ran = compiled.run(Way::Neither, &[&format!("+{early}"), &preloaded, later, early]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let (own, late) = (lines.first().expect("a line"), lines.get(2).expect("a third line"));
    assert!(own.contains("early -1 kernel") && late.contains("early -1 kernel"), "{}", ran.stdout);
    assert_eq!((lines[1], ran.stderr.as_str()), (served("opened", 13040).trim_end(), ""));
}

#[test]
fn programs_that_are_arguments_of_the_loader_are_redirected() {
    let compiled = program("loaded", &[code("own", 13040)], &[]);
    for way in WAYS {
        let mut command = compiled.command_of("/lib64/ld-linux-x86-64.so.2".as_ref(), way);
        let ran = ended(command.arg("./loaded"));
        assert_eq!(
            (ran.stdout, ran.code),
            (format!("{}all right\n", served("own", 13040)), Some(0)),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_trace_says_what_was_redirected() {
    let compiled = program("traced", &[code("own", 13040)], &[]);
    for way in WAYS {
        let ran = ended(compiled.command(way).env("SOFTWARP_TRACE", "1"));
        let wanted = format!(
            "softwarp: {}: 13 functions of its CUDA runtime 13.4 redirected\n",
            folder().join("traced").display()
        );
        assert_eq!(ran.stderr, wanted);
    }
}

#[test]
fn functions_that_are_unknown_are_named() {
    let compiled = program("newer", &[code("own", 13040)], &[]);
    let ran = compiled.run(Way::Audit, &["newer"]);
    let wanted = "softwarp: cudaNewerThanAll of libcudart.so.13 is not supported\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), wanted), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("newer 801 801\n"), "{}", ran.stdout);
}

fn tool(words: &[&str]) {
    let mut command = Command::new(words[0]);
    let ran = ended(command.args(&words[1..]).current_dir(folder()));
    assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
}

/// Without names, the runtime is left as it is, and a trace says so; with names in another file that belongs to the
/// object, it is redirected.
#[test]
fn symbols_of_stripped_objects_are_read_from_other_files() {
    for (name, options) in [("identified", "-Wl,--build-id"), ("summed", "-Wl,--build-id=none")] {
        let compiled = program(name, &[code("own", 13040)], &[options]);
        let symbols = format!("{name}.debug");
        tool(&["objcopy", "--only-keep-debug", name, &symbols]);
        tool(&["strip", name]);
        let without = ended(compiled.command(Way::Audit).env("SOFTWARP_TRACE", "1"));
        let wanted = format!(
            "softwarp: {} has a CUDA runtime linked into it and no symbols, without which it cannot be redirected; link \
             it with `-cudart shared`, do not strip it, or keep its symbols in a file that .gnu_debuglink or the \
             build-id leads to\n",
            compiled.0.display()
        );
        assert_eq!((without.code, without.stderr), (Some(1), wanted));
        assert_eq!(compiled.run(Way::Audit, &[]).stderr, "");
        tool(&["objcopy", &format!("--add-gnu-debuglink={symbols}"), name]);
        for way in WAYS {
            assert_runs(&compiled, way, &[], &[served("own", 13040)]);
        }
        std::fs::create_dir_all(folder().join(".debug")).expect("a folder");
        std::fs::rename(folder().join(&symbols), folder().join(".debug").join(&symbols)).expect("moved");
        assert_runs(&compiled, Way::Audit, &[], &[served("own", 13040)]);
        // Another program's symbols.
        let other = format!("other-{name}");
        program(&other, &[code("own", 13040)], &[options, "-no-pie"]);
        tool(&["objcopy", "--only-keep-debug", &other, &format!(".debug/{symbols}")]);
        assert_eq!(compiled.run(Way::Audit, &[]).code, Some(1));
    }
}

/// A system that lets no code be written to: nothing is changed, and a message says so.
#[test]
fn protected_memory_is_left_as_it_is() {
    let compiled = program("protected", &[code("own", 13040)], &[]);
    let denied = tool_of("denied");
    for way in WAYS {
        // The wrapper itself has nothing to be redirected.
        let ran = ended(compiled.command_of(&denied, way).arg(&compiled.0));
        let wanted = match way {
            // The function of the loader cannot be written to either.
            Way::Preload => String::new(),
            Way::Audit | Way::Neither => format!(
                "softwarp: {} has the CUDA runtime 13.4 linked into it, which cannot be redirected: the system does not \
                 let its code be written to (Permission denied (os error 13)); link it with `-cudart shared`\n",
                compiled.0.display()
            ),
        };
        assert_eq!((ran.code, ran.stderr), (Some(1), wanted), "{way:?} {}", ran.stdout);
        assert!(ran.stdout.contains("early -1 kernel"), "{}", ran.stdout);
    }
}

/// Relative paths, links to programs, and programs that were removed.
#[test]
fn programs_are_found_whatever_they_are_called() {
    let compiled = program("linked to", &[code("own", 13040)], &[]);
    let wanted = format!("{}all right\n", served("own", 13040));
    let link = folder().join("link");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink("linked to", &link).expect("a link");
    for path in ["./link", "./linked to", "../redirected/linked to"] {
        let ran = ended(&mut compiled.command_of(path.as_ref(), Way::Audit));
        assert_eq!((ran.stdout, ran.stderr), (wanted.clone(), String::new()), "{path}");
    }
    let mut shell = compiled.command_of("/bin/sh".as_ref(), Way::Audit);
    let ran =
        ended(shell.args(["-c", "cp 'linked to' gone && exec 3< gone && rm gone && exec /proc/self/fd/3"]));
    assert_eq!((ran.stdout, ran.stderr), (wanted, String::new()));
}

/// An object without a runtime; and one with it, without this library.
#[test]
fn other_objects_are_left_alone() {
    for program in ["/bin/true", "/usr/bin/env"] {
        for way in WAYS {
            let mut command = Compiled(program.into()).command(way);
            let ran = ended(command.env("SOFTWARP_TRACE", "1"));
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{program} {way:?}");
        }
    }
    let compiled = program("alone", &[code("own", 13040)], &[]);
    assert!(compiled.run(Way::Neither, &[]).stdout.contains("early -1 "));
}

/// Runtimes of other versions fail in each function, and say so once.
#[test]
fn other_versions_are_refused_as_a_whole() {
    for (number, version, what) in [(11080, "11.8", "older"), (14000, "14.0", "newer")] {
        let compiled = program(&format!("refused{number}"), &[code("own", number)], &[]);
        for way in WAYS {
            let ran = compiled.run(way, &[]);
            let wanted = format!(
                "softwarp: {} has the CUDA runtime {version} linked into it, which is {what} than those that are \
                 supported; build it with CUDA 12 or 13 to run it here\n",
                folder().join(format!("refused{number}")).display()
            );
            assert_eq!((ran.code, ran.stderr), (Some(1), wanted));
            let wanted = format!(
                "own: wrong early 35 kernel 35 stream 35 table 35 version {number} 0 1 own 7 2 text the CUDA runtime in \
                 this object is not supported by softwarp entry 35\nwrong\n"
            );
            assert_eq!(ran.stdout, wanted);
        }
    }
}
