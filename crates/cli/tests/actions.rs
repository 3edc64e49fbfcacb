//! The action that sets softwarp up on GitHub, and the workflow that uses it: their scripts are run as GitHub runs them,
//! but for those that need the network or make a release build.

use softwarp_testkit::files::temporary;
use softwarp_testkit::repository;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The scripts of an action or workflow by the names of their steps. A script is on the line of its `run:`, or below it,
/// indented further.
fn scripts(text: &str) -> BTreeMap<String, String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut scripts = BTreeMap::new();
    let mut name = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let key = line.trim_start().trim_start_matches("- ");
        if let Some(named) = key.strip_prefix("name: ") {
            name = named.to_owned();
        } else if let Some(script) = key.strip_prefix("run: ") {
            let mut whole = String::new();
            if script == "|" {
                while let Some(more) = lines.next_if(|more| indent(more) > indent(line)) {
                    whole += more.trim_start();
                    whole.push('\n');
                }
            } else {
                script.clone_into(&mut whole);
            }
            scripts.insert(name.clone(), whole);
        }
    }
    scripts
}

fn bash(script: &str, variables: &[(&str, &Path)]) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).envs(variables.iter().copied());
    bash.output().expect("bash runs")
}

#[test]
fn scripts_can_be_read() {
    for (file, count) in [("setup/action.yml", 3), ("examples/ci/workflow.yml", 4)] {
        let scripts = scripts(&read(file));
        assert_eq!(scripts.len(), count, "{file}: {:?}", scripts.keys());
        for (name, script) in scripts {
            let checked = Command::new("bash").args(["-n", "-c", &script]).output().expect("bash runs");
            let said = String::from_utf8_lossy(&checked.stderr);
            assert!(checked.status.success(), "{file}, {name}: {said}");
        }
    }
}

/// The cache of builds has a key that follows the sources.
#[test]
fn sources_have_a_name() {
    let folder = temporary();
    let sources = folder.path().join("sources");
    let (output, crates) = (folder.path().join("output"), sources.join("crates"));
    std::fs::create_dir_all(&crates).expect("a folder");
    std::fs::create_dir(sources.join("tools")).expect("a folder");
    for file in ["Cargo.toml", "Cargo.lock", "crates/lib.rs", "tools/a.sh"] {
        std::fs::write(sources.join(file), "one").expect("a file");
    }
    let script = &scripts(&read("setup/action.yml"))["Name the sources"];
    let name = || {
        let ran = bash(script, &[("ROOT", &sources), ("GITHUB_OUTPUT", &output)]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let text = std::fs::read_to_string(&output).expect("the output");
        std::fs::remove_file(&output).expect("the output");
        let name = text.strip_prefix("digest=").and_then(|name| name.strip_suffix('\n')).map(str::to_owned);
        name.unwrap_or_else(|| panic!("{text}"))
    };
    let first = name();
    assert!(first.len() == 64 && first.bytes().all(|digit| digit.is_ascii_hexdigit()), "{first}");
    assert_eq!(name(), first, "the same sources");
    std::fs::write(crates.join("lib.rs"), "two").expect("a file");
    assert_ne!(name(), first, "other sources");
}

#[test]
fn the_command_is_in_path() {
    let folder = temporary();
    let bin = folder.path().join("softwarp/bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_softwarp"), bin.join("softwarp")).expect("a link");
    let path = folder.path().join("path");
    let script = &scripts(&read("setup/action.yml"))["Put softwarp into PATH"];
    let ran = bash(script, &[("RUNNER_TEMP", folder.path()), ("GITHUB_PATH", &path)]);
    assert!(String::from_utf8_lossy(&ran.stdout).starts_with("softwarp "), "{ran:?}");
    assert_eq!(std::fs::read_to_string(path).expect("the path"), format!("{}\n", bin.display()));
}

/// The page shows the workflow as it is, and what the workflow names is there.
#[test]
fn the_workflow_is_that_of_the_page() {
    let workflow = read("examples/ci/workflow.yml");
    let shown: String =
        workflow.lines().skip_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert!(read("docs/ci.md").contains(&format!("```yaml\n{shown}```")), "docs/ci.md has another workflow");
    assert!(workflow.contains("softwarp/softwarp/setup@") && workflow.contains("cmake -S examples/ci "));
    let lists = read("examples/ci/CMakeLists.txt");
    let tests = lists.lines().find_map(|line| line.strip_prefix("foreach(test ")).expect("a list of tests");
    for test in tests.trim_end_matches(')').split(' ') {
        assert!(repository(&format!("examples/ci/{test}.cu")).exists(), "{test}");
    }
    let command = &scripts(&workflow)["Test"];
    let exec =
        command.strip_prefix("softwarp ").and_then(|line| line.split_once(" -- ")).expect("softwarp exec").0;
    let help = Command::new(env!("CARGO_BIN_EXE_softwarp")).args(["exec", "--help"]).output().expect("help");
    let help = String::from_utf8_lossy(&help.stdout);
    for option in exec.split(' ').filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "{option}");
    }
}
