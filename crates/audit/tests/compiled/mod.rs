//! Compiles the programs of `tests/programs`, and runs them with the libraries of this workspace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// How a program's objects are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Audit,
    Preload,
    Neither,
}

/// A program that was compiled.
#[derive(Clone, Debug)]
pub struct Compiled(pub PathBuf);

/// What a program did.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Code that uses a runtime of a version, which is linked with it.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    name: &'static str,
    number: i32,
}

/// Code with a function of this name.
pub fn code(name: &'static str, number: i32) -> Code {
    Code { name, number }
}

/// The sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Where everything is compiled.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("redirected");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let versions = folder.join("versions.map");
        std::fs::write(&versions, "libcudart.so.12 {};\nlibcudart.so.13 { global: *; };\n").expect("written");
        let mut ours = Command::new("cc");
        ours.args(["-O1", "-shared", "-fPIC", "-o"]).arg(folder.join("libcudart.so.13"));
        ours.arg(format!("-Wl,--version-script={}", versions.display())).arg(sources().join("ours.c"));
        run(&mut ours);
        // As `softwarp exec` has them: beside the runtime.
        let built = std::env::current_exe().expect("a path");
        let built = built.parent().expect("a folder");
        for library in ["libsoftwarp_audit.so", "libsoftwarp_preload.so"] {
            let file = built.join(library);
            assert!(file.is_file(), "{}", file.display());
            std::os::unix::fs::symlink(file, folder.join(library)).expect("a link");
        }
        folder
    })
}

fn run(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles code, each with its runtime; gives the object files.
fn objects(codes: &[Code], name: &str) -> Vec<OsString> {
    let mut files = Vec::new();
    for code in codes {
        let parts =
            [("user.c", format!("-DNAME={}", code.name)), ("runtime.c", format!("-DNUMBER={}", code.number))];
        for (source, defined) in parts {
            // Each test has what it compiles under names of its own.
            let object = folder().join(format!("{name}-{source}.o"));
            let mut compiler = Command::new("cc");
            compiler
                .args(["-O2", "-fPIC", "-fno-toplevel-reorder", "-c", &defined, "-o"])
                .arg(&object)
                .arg(sources().join(source));
            run(&mut compiler);
            files.push(object.into());
        }
    }
    files
}

/// A library of code. It has the function `needed` or `opened`.
pub fn library(name: &str, codes: &[Code], options: &[&str]) -> PathBuf {
    let file = folder().join(format!("lib{name}.so"));
    let mut linker = Command::new("cc");
    linker.arg("-shared").arg("-o").arg(&file).args(objects(codes, name)).args(options);
    run(&mut linker);
    file
}

/// A program of code: of the function `own`, if there is any; and of a library that has the function `needed`.
pub fn program(name: &str, codes: &[Code], options: &[&str]) -> Compiled {
    let file = folder().join(name);
    let mut linker = Command::new("cc");
    linker.current_dir(folder()).arg("-o").arg(&file).arg(sources().join("main.c"));
    if !codes.is_empty() {
        linker.arg("-DOWN");
    }
    if options.iter().any(|option| option.ends_with(".so")) {
        linker.arg("-DNEEDED");
    }
    linker.args(objects(codes, name)).args(options).args(["-ldl", "-lpthread"]);
    run(&mut linker);
    Compiled(file)
}

/// A program that has nothing to do with a runtime.
pub fn tool_of(name: &str) -> PathBuf {
    let file = folder().join(name);
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(&file).arg(sources().join(format!("{name}.c")));
    run(&mut compiler);
    file
}

/// Options that choose linkers other than the compiler's own: gold, if it is installed, and the one that comes with Rust.
pub fn linkers() -> Vec<Vec<String>> {
    let mut found = Vec::new();
    if Command::new("ld.gold").arg("--version").output().is_ok_and(|output| output.status.success()) {
        found.push(vec!["-fuse-ld=gold".to_owned()]);
    }
    let rust = ended(Command::new("rustc").args(["--print", "target-libdir"]));
    let lld = Path::new(rust.stdout.trim()).with_file_name("bin/gcc-ld");
    if lld.join("ld.lld").is_file() {
        found.push(vec![format!("-B{}", lld.display()), "-fuse-ld=lld".to_owned()]);
    }
    found
}

impl Compiled {
    pub fn command(&self, way: Way) -> Command {
        self.command_of(&self.0, way)
    }

    /// Another command, which starts the program.
    pub fn command_of(&self, program: &Path, way: Way) -> Command {
        let mut command = Command::new(program);
        for name in ["LD_AUDIT", "LD_PRELOAD", "SOFTWARP_TRACE", "SOFTWARP_LIBCUDART"] {
            command.env_remove(name);
        }
        match way {
            Way::Audit => command.env("LD_AUDIT", folder().join("libsoftwarp_audit.so")),
            Way::Preload => command.env("LD_PRELOAD", folder().join("libsoftwarp_preload.so")),
            Way::Neither => &mut command,
        };
        command.current_dir(folder());
        command
    }

    pub fn run(&self, way: Way, arguments: &[&str]) -> Ran {
        let mut command = self.command(way);
        command.args(arguments);
        ended(&mut command)
    }
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Ran {
    let output = command.output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}
