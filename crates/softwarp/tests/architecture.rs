//! Holds the workspace to what docs/ARCHITECTURE.md says: which crate uses which, where `unsafe` is, and which licences
//! dependencies have.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The layers of the workspace, the lowest first. A crate may use those below it, and no others of ours.
const LAYERS: &[&[&str]] = &[
    &[
        "softwarp-container",
        "softwarp-diagnostic",
        "softwarp-gpu",
        "softwarp-heap",
        "softwarp-num",
        "softwarp-redirect",
    ],
    &["softwarp-isa", TESTKIT],
    &["softwarp-syntax", "softwarp-tensor", "softwarp-units"],
    &["softwarp-check"],
    &["softwarp-image"],
    &["softwarp-ir", "softwarp-lsp"],
    &["softwarp-jit", "softwarp-lower"],
    &["softwarp-vm"],
    &["softwarp"],
    &["softwarp-report"],
    &["softwarp-files", "softwarp-listing"],
    &["softwarp-launch"],
    DRIVER,
    RUNTIME,
    &["softwarp-cli", "softwarp-web"],
    &["softwarp-bench", "softwarp-python"],
];

/// Libraries that programs load. Crates are not linked with them; tests have them built. The Rust function of `nvrtc` that
/// compiles CUDA C++ is an exception ([`COMPILER`]).
const DRIVER: &[&str] = &["softwarp-cuda", "softwarp-nvjitlink", "softwarp-nvrtc", "softwarp-preload"];

/// The library that programs load, and that loads the driver's; and one that is tested with those above.
const RUNTIME: &[&str] = &["softwarp-audit", "softwarp-cudart"];

/// A library that programs load, which also has a function for the command line.
const COMPILER: &str = "softwarp-nvrtc";

fn layer(package: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&package))
}

/// What tests share. Only tests and the benchmarks use it; the layers count for it as for any other crate.
const TESTKIT: &str = "softwarp-testkit";

fn metadata(arguments: &[&str]) -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("metadata is JSON")
}

#[test]
fn arrows_between_crates_go_down() {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() >= 3);
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let from = layer(name).unwrap_or_else(|| panic!("{name} has no layer"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("a name");
            if to == TESTKIT {
                let allowed = dependency["kind"] == "dev" || name == "softwarp-bench";
                assert!(allowed, "{name} uses {TESTKIT} outside of its tests");
            // A crate may depend on itself with another feature, for its tests.
            } else if to.starts_with("softwarp") && to != name {
                let below = layer(to).unwrap_or_else(|| panic!("{to} has no layer"));
                assert!(below < from, "{name} uses {to}, which is not below it");
                let is_loaded = DRIVER.contains(&to) || RUNTIME.contains(&to);
                let is_free =
                    !is_loaded || to == COMPILER || dependency["kind"] == "dev" || name == "softwarp-bench";
                assert!(is_free, "{name} is linked with {to}");
            }
        }
    }
}

/// The library has no code for terminals and files: a user of `softwarp` does not build it.
#[test]
fn the_library_builds_nothing_of_the_command_line() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "softwarp", "--edges", "normal", "--prefix", "none"])
        .args(["--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout).into_owned();
    let built: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(built.contains("softwarp-vm") && built.contains("rayon"), "{built:?}");
    let others = ["annotate-snippets", "base64", "clap", "ctrlc", "flate2", "indicatif", "serde_json", "zip"];
    let found: Vec<&str> = others.into_iter().filter(|one| built.contains(one)).collect();
    assert!(found.is_empty(), "softwarp builds {found:?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// All Rust files of the workspace, from its root.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if entry.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&entry, into);
        } else if name.ends_with(".rs") {
            into.push(entry);
        }
    }
}

/// Whether a file has the keyword in its code. (No string of these files spells it.)
fn has_unsafe(text: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|word| word == "unsafe")
}

/// The table "Where `unsafe` is" of docs/ARCHITECTURE.md lists every file that has some, and no other.
#[test]
fn unsafe_is_where_the_architecture_says() {
    let root = root();
    let page = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).expect("the page");
    let (_, section) = page.split_once("## Where `unsafe` is").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let named: BTreeSet<String> = rows.map(|(file, _)| file.to_owned()).collect();
    let mut files = Vec::new();
    ["crates", "bench", "fuzz"].iter().for_each(|folder| sources(&root.join(folder), &mut files));
    assert!(files.len() > 300);
    let found: BTreeSet<String> = files
        .iter()
        .filter(|file| has_unsafe(&std::fs::read_to_string(file).expect("text")))
        .map(|file| file.strip_prefix(&root).expect("inside").to_string_lossy().replace('\\', "/"))
        .filter(|file| file != "crates/softwarp/tests/architecture.rs")
        .collect();
    let stale: Vec<_> = named.difference(&found).collect();
    let missing: Vec<_> = found.difference(&named).collect();
    assert!(stale.is_empty() && missing.is_empty(), "not unsafe: {stale:?}; not named: {missing:?}");
}

/// The features of the levels are spelled in `levels.rs`; functions in intrinsics name those of them that they need.
#[test]
fn functions_are_compiled_for_features_of_the_levels() {
    let root = root();
    let levels = std::fs::read_to_string(root.join("crates/num/src/levels.rs")).expect("text");
    let (_, list) = levels.split_once("macro_rules! level_features {").expect("the macro");
    let list = list.split("\n}\n").next().unwrap_or_default();
    let known: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    assert!(known.contains("avx2") && known.contains("avx512f"), "{known:?}");
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    let mut found = 0;
    for file in files.iter().filter(|file| !file.ends_with("softwarp/tests/architecture.rs")) {
        let text = std::fs::read_to_string(file).expect("text");
        for attribute in text.split("target_feature(enable = \"").skip(1) {
            let features = attribute.split('"').next().unwrap_or_default();
            found += 1;
            assert!(
                features.split(',').all(|feature| known.contains(feature)),
                "{}: {features}",
                file.display()
            );
        }
    }
    assert!(found > 10, "{found} functions");
}

/// A crate without `unsafe` says so to the compiler.
#[test]
fn crates_without_unsafe_forbid_it() {
    for name in [
        "check",
        "cli",
        "container",
        "diagnostic",
        "files",
        "image",
        "isa",
        "nvjitlink",
        "report",
        "softwarp",
        "syntax",
        "tensor",
        "testkit",
    ] {
        let file = root().join("crates").join(name).join("src/lib.rs");
        let text = std::fs::read_to_string(file).expect("text");
        assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{name}");
    }
}

/// Licences under which code may be linked into what is MIT or Apache-2.0.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "ISC",
    "Zlib",
    "Unlicense",
    "Unicode-3.0",
];

/// Packages with other licences that only the bench is measured against; nothing of them is in softwarp.
const BENCH_ONLY: &[&str] = &["minifloat"];

/// Whether an expression of licences can be kept with those that are allowed.
fn may_be_used(licence: &str) -> bool {
    let licence = licence.replace('/', " OR ");
    let any = |part: &str| {
        part.trim_matches(['(', ')', ' ']).split(" OR ").any(|one| ALLOWED.contains(&one.trim()))
    };
    licence.split(" AND ").all(any)
}

#[test]
fn licences_of_dependencies_are_allowed() {
    assert!(may_be_used("(MIT OR Apache-2.0) AND Unicode-3.0") && may_be_used("GPL-3.0 OR MIT"));
    assert!(!may_be_used("GPL-3.0") && !may_be_used("MIT AND GPL-3.0"));
    let metadata = metadata(&["--filter-platform", &platform()]);
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 50);
    for package in packages {
        let (name, licence) = (&package["name"], &package["license"]);
        let (name, licence) = (name.as_str().expect("a name"), licence.as_str().unwrap_or_default());
        let ours = name.starts_with("softwarp");
        let allowed = may_be_used(licence) || BENCH_ONLY.contains(&name);
        assert!(allowed, "{name} is under {licence:?}");
        let source = package["source"].as_str().unwrap_or_default();
        let public = source == "registry+https://github.com/rust-lang/crates.io-index";
        assert!(ours || public, "{name} comes from {source:?}");
    }
    // What is for the bench only is used by nothing else.
    let names: HashMap<&str, &str> = packages
        .iter()
        .map(|package| (package["id"].as_str().expect("an id"), package["name"].as_str().expect("a name")))
        .collect();
    for node in metadata["resolve"]["nodes"].as_array().expect("nodes") {
        let user = names[node["id"].as_str().expect("an id")];
        for dependency in node["dependencies"].as_array().expect("dependencies") {
            let used = names[dependency.as_str().expect("an id")];
            assert!(!BENCH_ONLY.contains(&used) || user == "softwarp-bench", "{user} uses {used}");
        }
    }
}

/// The platform that this test was built for, as Cargo names it.
fn platform() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host").to_owned()
}

/// The names that follow a prefix such as `crate::`: of `crate::a::b` a, of `crate::{a::b, c}` a and c.
fn imported<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    let begins = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    for (at, start) in code.match_indices(prefix).filter(|&(at, _)| begins(at)) {
        let rest = &code[at + start.len()..];
        let name = |text: &str| {
            text.len() - text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len()
        };
        let Some(inner) = rest.strip_prefix('{') else {
            names.push(&rest[..name(rest)]);
            continue;
        };
        let (mut depth, mut begins) = (1, true);
        for (at, byte) in inner.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b',' if depth == 1 => begins = true,
                byte if byte.is_ascii_whitespace() => {}
                _ if begins && depth == 1 => {
                    names.push(&inner[at..at + name(&inner[at..])]);
                    begins = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

/// The code of a file: without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// How many `super::` lead from a file to the root of its crate.
fn depth(file: &Path) -> usize {
    let parts = file.components().count();
    if file.ends_with("mod.rs") { parts - 1 } else { parts }
}

/// The top modules of a crate, with those that each imports.
fn imports(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(source, &mut files);
    let top = |file: &Path| {
        let first = file.strip_prefix(source).expect("inside").components().next().expect("a part");
        first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    let root = std::fs::read_to_string(source.join("lib.rs")).expect("lib.rs");
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let module = top(file);
        if module != "lib" && module != "main" {
            let text = std::fs::read_to_string(file).expect("text");
            let code = code(&text);
            let up = "super::".repeat(depth(file.strip_prefix(source).expect("inside")));
            let mut names = imported(&code, "crate::");
            names.extend(imported(&code, &up).into_iter().filter(|name| *name != "super"));
            graph.entry(module).or_default().extend(names.into_iter().map(|name| home(&root, name)));
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, uses) in &mut graph {
        uses.retain(|one| one != module && modules.contains(one));
    }
    graph
}

/// The module that a name of the crate's root comes from: itself, or the one that `lib.rs` exports it from.
fn home(root: &str, name: &str) -> String {
    let exports = root.split("use ").skip(1).filter_map(|one| one.split(';').next()?.split_once("::"));
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    let found = exports.into_iter().find(|(_, names)| word(names));
    found.map_or(name, |(module, _)| module.trim_start_matches("crate::")).to_owned()
}

/// What can be reached from a module by imports.
fn reached<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut ahead: Vec<&'a str> = graph[from].iter().map(String::as_str).collect();
    while let Some(module) = ahead.pop() {
        if found.insert(module) {
            ahead.extend(graph[module].iter().map(String::as_str));
        }
    }
    found
}

#[test]
fn modules_import_each_other_in_one_direction() {
    let crates = root().join("crates");
    for entry in std::fs::read_dir(&crates).expect("crates").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
        let graph = imports(&entry.join("src"));
        let is_small = ["audit", "nvjitlink", "preload"].contains(&name.as_str());
        assert!(graph.len() > 1 || is_small, "{name} has only {} modules", graph.len());
        let in_circle: Vec<&str> = graph
            .keys()
            .map(String::as_str)
            .filter(|module| reached(&graph, module).contains(module))
            .collect();
        assert!(in_circle.is_empty(), "{name}: {in_circle:?} import each other");
    }
}

#[test]
fn imports_are_found_in_groups_and_paths() {
    let code = "use crate::{a::{self, x}, b};\nlet y = crate::c::d();\nuse crate::e;";
    assert_eq!(imported(code, "crate::"), ["a", "b", "c", "e"]);
    let code = "use super::a;\nuse super::super::{b, c::d};\nuse super::super::super::e;";
    assert_eq!(imported(code, "super::super::"), ["b", "c", "super"]);
    assert_eq!(depth(Path::new("a.rs")), 1);
    assert_eq!(depth(Path::new("a/mod.rs")), 1);
    assert_eq!(depth(Path::new("a/b.rs")), 2);
}
