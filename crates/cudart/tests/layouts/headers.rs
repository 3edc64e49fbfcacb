//! Compares the list of structures with headers that are installed.

use super::facts::{Structure, Version};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders with the headers of CUDA.
fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("SOFTWARP_CUDA_HEADERS");
    let candidates: Vec<PathBuf> = match &named {
        Some(list) => std::env::split_paths(list).collect(),
        None => {
            let homes =
                ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
            let local = std::fs::read_dir("/usr/local").into_iter().flatten().flatten();
            let local = local.filter(|it| it.file_name().to_string_lossy().starts_with("cuda"));
            homes.chain(local.map(|it| it.path())).map(|home| home.join("include")).collect()
        }
    };
    candidates.into_iter().filter(|it| it.join("cuda_runtime_api.h").is_file()).collect()
}

/// The version of headers.
fn version(folder: &Path) -> Version {
    let text = std::fs::read_to_string(folder.join("cuda_runtime_api.h")).expect("it can be read");
    let line = text.lines().find_map(|line| line.strip_prefix("#define CUDART_VERSION"));
    let number: u32 = line.and_then(|it| it.trim().parse().ok()).expect("a version");
    Version { major: number / 1000, minor: number % 1000 / 10 }
}

/// A program that checks structures, and does nothing else.
fn program(structures: &[&Structure]) -> String {
    let mut text = String::from("#include <stddef.h>\n#include <cuda.h>\n#include <cuda_runtime_api.h>\n");
    for structure in structures {
        let name = format!("{}{}", if structure.tagged { "struct " } else { "" }, structure.name);
        let _ = writeln!(text, "_Static_assert(sizeof({name}) == {}, \"{name}\");", structure.size);
        for field in &structure.fields {
            let (member, offset, size) = (field.name.trim_end_matches('?'), field.offset, field.size);
            if member.is_empty() {
                continue;
            }
            let _ = writeln!(
                text,
                "_Static_assert(offsetof({name}, {member}) == {offset}, \"{name}.{member}\");"
            );
            if !field.name.ends_with('?') {
                let is = format!("sizeof((({name} *)0)->{member}) == {size}");
                let _ = writeln!(text, "_Static_assert({is}, \"{name}.{member}\");");
            }
        }
    }
    text
}

/// Compares all structures with all headers that are found.
pub fn check(structures: &[Structure]) {
    let folders = folders();
    if folders.is_empty() {
        println!("skipped: there are no headers of CUDA here (SOFTWARP_CUDA_HEADERS)");
    }
    for folder in &folders {
        let version = version(folder);
        let of_it: Vec<&Structure> = structures.iter().filter(|it| it.versions.has(version)).collect();
        if of_it.is_empty() {
            println!("skipped: {} is of {version}, which is not in the list", folder.display());
            continue;
        }
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("layouts-{version}.c"));
        std::fs::write(&file, program(&of_it)).expect("it can be written");
        let mut compiler = Command::new("cc");
        compiler.arg("-fsyntax-only").arg("-I").arg(folder).arg(&file);
        // A package of headers may lack those of the compiler: they are looked for in the other packages.
        let others = folders.iter().filter(|other| *other != folder);
        compiler.args(others.flat_map(|other| ["-idirafter".as_ref(), other.as_os_str()]));
        assert!(compiler.status().expect("cc runs").success(), "{} ({version})", folder.display());
        println!("{} structures of {version} agree with {}", of_it.len(), folder.display());
    }
}
