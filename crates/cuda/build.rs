//! Makes the table of exported symbols from `src/api.txt`, the result codes from `src/errors.txt`, and gives the library
//! its soname.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/api.txt");
    println!("cargo:rerun-if-changed=src/errors.txt");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        // Threads run in it, so that it stays where it is when a program closes it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let api = fs::read_to_string("src/api.txt").expect("src/api.txt can be read");
    let errors = fs::read_to_string("src/errors.txt").expect("src/errors.txt can be read");
    fs::write(Path::new(&out).join("api.rs"), symbols(&api)).expect("the table can be written");
    fs::write(Path::new(&out).join("codes.rs"), codes(&errors)).expect("the codes can be written");
}

/// Rows of a table, without comments.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// A function for each symbol that nothing implements, and the table of all symbols.
fn symbols(api: &str) -> String {
    let mut stubs = String::new();
    let mut table = String::from("pub(crate) static SYMBOLS: &[Symbol] = &[\n");
    for row in rows(api) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let &[symbol, version, twin, module] = words.as_slice() else {
            panic!("src/api.txt: `{row}` has not four columns");
        };
        let twin = (twin != "-").then(|| format!("{symbol}_{twin}"));
        let mut address = |symbol: &str| match module {
            "-" => {
                let _ = writeln!(
                    stubs,
                    "#[unsafe(no_mangle)] extern \"C\" fn {symbol}() -> u32 {{ not_supported(\"{symbol}\").0 }}"
                );
                format!("Address({symbol} as *const ())")
            }
            module => format!("Address(crate::entry::{module}::{symbol} as *const ())"),
        };
        let own = address(symbol);
        let twin = match &twin {
            Some(twin) => format!("Some({})", address(twin)),
            None => "None".into(),
        };
        let (name, implemented) = (name_of(symbol), module != "-");
        let _ = writeln!(
            table,
            "Symbol {{ symbol: \"{symbol}\", name: \"{name}\", version: {version}, implemented: {implemented}, \
             own: {own}, per_thread: {twin} }},"
        );
    }
    format!("{stubs}{table}];\n")
}

/// The name that programs use for a symbol: without the number of its version.
fn name_of(symbol: &str) -> &str {
    match symbol.rsplit_once("_v") {
        Some((name, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => symbol,
    }
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
        let short = name.trim_start_matches("CUDA_ERROR_").trim_start_matches("CUDA_");
        let _ = writeln!(constants, "/// {text}\npub const {short}: Code = Code({code});");
        let _ = writeln!(table, "(Code({code}), c{name:?}, c{text:?}),");
    }
    format!("{constants}}}\n{table}];\n")
}
