//! Makes the functions that are handed on from `src/api.txt`, and gives the library its soname and its symbols their
//! versions.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The names of the versions of symbols: that of programs of CUDA 13, and that of programs of CUDA 12.
const VERSIONS: [(&str, &str); 2] = [("@@", "libnvrtc.so.13"), ("@", "libnvrtc.so.12")];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/api.txt");
    println!("cargo:rustc-check-cfg=cfg(versioned)");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if of_target("OS") == "linux" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvrtc.so.13");
        // GNU's linker does not take versions beside the list of symbols that rustc gives it; rustc's own linker does.
        if of_target("ARCH") == "x86_64" && of_target("ENV") == "gnu" {
            let script = Path::new(&out).join("versions.map");
            let nodes: String = VERSIONS.iter().map(|(_, node)| format!("{node} {{ }};\n")).collect();
            fs::write(&script, nodes).expect("the script can be written");
            println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
            println!("cargo:rustc-cfg=versioned");
        }
    }
    let api = fs::read_to_string("src/api.txt").expect("src/api.txt can be read");
    fs::write(Path::new(&out).join("api.rs"), functions(&api)).expect("the functions can be written");
}

/// A function for each name that is handed on as it is, and the versions of all names.
fn functions(api: &str) -> String {
    let (mut functions, mut versions) = (String::new(), String::new());
    for name in api.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, is_own) = match name.strip_prefix('*') {
            Some(name) => (name, true),
            None => (name, false),
        };
        if !is_own {
            let _ = writeln!(functions, "forward!({name});");
        }
        for (default, node) in VERSIONS {
            let _ = writeln!(versions, ".symver {name}, {name}{default}{node}");
        }
    }
    format!("{functions}#[cfg(versioned)]\ncore::arch::global_asm!({versions:?});\n")
}
