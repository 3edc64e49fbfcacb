//! Makes the functions that nothing implements and the versions of symbols from `src/api.txt`, the result codes from
//! `src/errors.txt`, and gives the library its soname.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The names of the versions of symbols; programs of CUDA 12 ask for the first one, those of 13 for the second.
const VERSIONS: [(&str, &str); 2] = [("12", "libcudart.so.12"), ("13", "libcudart.so.13")];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/api.txt");
    println!("cargo:rerun-if-changed=src/errors.txt");
    println!("cargo:rustc-check-cfg=cfg(versioned)");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if of_target("OS") == "linux" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.13");
        // The driver's library stays, too, and its functions are kept here by their addresses.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
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
    let errors = fs::read_to_string("src/errors.txt").expect("src/errors.txt can be read");
    fs::write(Path::new(&out).join("api.rs"), symbols(&api)).expect("the table can be written");
    fs::write(Path::new(&out).join("codes.rs"), codes(&errors)).expect("the codes can be written");
}

/// Rows of a table, without comments.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// A function for each symbol that nothing implements, the versions of all, and the table of all.
fn symbols(api: &str) -> String {
    let (mut stubs, mut versions) = (String::new(), String::new());
    let mut table = String::from("pub(crate) static SYMBOLS: &[Symbol] = &[\n");
    for row in rows(api) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let &[function, twin, module, exports] = words.as_slice() else {
            panic!("src/api.txt: `{row}` has not four columns");
        };
        let suffixes =
            if twin == "-" { vec![String::new()] } else { vec![String::new(), format!("_{twin}")] };
        for suffix in suffixes {
            let symbol = format!("{function}{suffix}");
            if module == "-" {
                let name = symbol.trim_start_matches("v12_");
                let _ = writeln!(
                    stubs,
                    "#[unsafe(no_mangle)] extern \"C\" fn {symbol}() -> u32 {{ not_supported(\"{name}\") }}"
                );
            }
            let exports =
                if exports == "=" { format!("{function}@12,{function}@13") } else { exports.into() };
            for export in exports.split(',') {
                let (name, version) = export.split_once('@').expect("an export has a version");
                let (_, node) = VERSIONS.iter().find(|it| it.0 == version).expect("a version is 12 or 13");
                let default = if version == "13" || function.starts_with("v12_") && only_in_12(name, api) {
                    "@@"
                } else {
                    "@"
                };
                let _ = writeln!(versions, ".symver {symbol}, {name}{suffix}{default}{node}");
            }
            let path =
                if module == "-" { symbol.clone() } else { format!("crate::entry::{module}::{symbol}") };
            let _ = writeln!(
                table,
                "Symbol {{ symbol: {symbol:?}, implemented: {}, address: Address({path} as *const ()) }},",
                module != "-"
            );
        }
    }
    format!("{stubs}{table}];\n#[cfg(versioned)]\ncore::arch::global_asm!({versions:?});\n")
}

/// Whether a name is not in version 13, so that its symbol of version 12 is the one that is found without a version.
fn only_in_12(name: &str, api: &str) -> bool {
    !rows(api).any(|row| row.split_whitespace().next() == Some(name))
}

/// A constant for each result code, and the table of names and strings.
fn codes(errors: &str) -> String {
    let mut constants = String::from("impl Code {\n");
    let mut table = String::from("pub(crate) static CODES: &[(Code, &CStr, &CStr)] = &[\n");
    for row in rows(errors) {
        let mut parts = row.splitn(3, ' ');
        let (Some(code), Some(name), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            panic!("src/errors.txt: `{row}` has not three columns");
        };
        let constant = constant_of(name.trim_start_matches("cudaError").trim_start_matches("cuda"));
        let _ = writeln!(constants, "/// {text}\npub const {constant}: Code = Code({code});");
        let _ = writeln!(table, "(Code({code}), c{name:?}, c{text:?}),");
    }
    format!("{constants}}}\n{table}];\n")
}

/// `InvalidValue` as `INVALID_VALUE`.
fn constant_of(name: &str) -> String {
    let mut constant = String::new();
    let mut after_small = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && after_small {
            constant.push('_');
        }
        after_small = !letter.is_ascii_uppercase();
        constant.push(letter.to_ascii_uppercase());
    }
    constant
}
