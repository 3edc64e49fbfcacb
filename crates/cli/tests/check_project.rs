//! `softwarp check` for whole projects: folders, patterns, policy, baseline, configuration and SARIF; completions and
//! manual pages.

use crate::binary::{Ran, command, run as call};
use serde_json::Value as Json;
use softwarp_testkit::files::{TempDir, folder_of, names};

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

fn module(body: &str) -> String {
    format!("{HEADER}{body}\n")
}

/// E0603 on line 8.
fn wrong() -> String {
    module(
        ".visible .entry k()\n{\n    .reg .b32 %r<3>;\n    .reg .f64 %d;\n    add.s32 %r0, %r1, %d;\n    ret;\n}",
    )
}

/// W0401 on line 4.
fn odd() -> String {
    module(".global .u32 x[2][2] = { { 1 }, { 3 } };")
}

struct Project(TempDir);

impl Project {
    /// Good, wrong and odd modules in folders.
    fn new() -> Project {
        Project(folder_of([
            ("good.ptx", module("")),
            ("lib/odd.ptx", odd()),
            ("lib/deep/wrong.ptx", wrong()),
            ("lib/notes.txt", "no PTX".to_owned()),
            (".hidden/wrong.ptx", wrong()),
        ]))
    }

    fn run(&self, line: &str) -> Ran {
        self.run_in("", line)
    }

    fn run_in(&self, folder: &str, line: &str) -> Ran {
        call(command(&self.0.path().join(folder), &line.split_whitespace().collect::<Vec<_>>()), b"")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("written");
    }
}

/// The call must fail with this code and one line of error that has `wanted` in it.
#[track_caller]
fn refused(ran: &Ran, code: i32, wanted: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(wanted), "wanted {wanted}: {}", ran.stderr);
}

/// The files that JSON lines name, in their order.
fn files(ran: &Ran) -> Vec<String> {
    ran.rows().iter().map(|row| row["file"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn folders_and_patterns_stand_for_their_files() {
    let project = Project::new();
    let ran = project.run("check . --json");
    assert_eq!(
        (ran.code, files(&ran)),
        (1, vec!["./lib/deep/wrong.ptx".to_owned(), "./lib/odd.ptx".to_owned()])
    );
    assert_eq!(
        ran.stderr,
        "1 error in ./lib/deep/wrong.ptx\n1 warning in ./lib/odd.ptx\n1 error, 1 warning in 3 files\n"
    );
    assert_eq!(files(&project.run("check lib/*.ptx --json")), ["lib/odd.ptx"]);
    assert_eq!(
        files(&project.run("check **/*.ptx lib good.ptx --json")),
        ["lib/deep/wrong.ptx", "lib/odd.ptx"]
    );
    refused(&project.run("check lib/*.cu"), 2, "no file matches this pattern");
    project.write("lib/[x].ptx", &wrong());
    assert_eq!(files(&project.run("check lib/[x].ptx --json")), ["lib/[x].ptx"]);
    std::fs::create_dir(project.0.path().join("empty")).expect("made");
    refused(&project.run("check empty"), 2, "there are no .ptx files in empty");
}

#[test]
fn many_files_are_reported_in_order() {
    let count = 60;
    let project = Project(folder_of(
        (0..count).map(|n| (format!("{n:03}.ptx"), if n % 2 == 0 { wrong() } else { odd() })),
    ));
    let ran = project.run("check . --json");
    let wanted: Vec<String> = (0..count).map(|n| format!("./{n:03}.ptx")).collect();
    assert_eq!(files(&ran), wanted);
    assert!(ran.stderr.ends_with("30 errors, 30 warnings in 60 files\n"), "{}", ran.stderr);
}

#[test]
fn diagnostics_come_before_counts() {
    let project = Project::new();
    // Both streams into one file, as on a terminal.
    let place = project.0.path().join("all.txt");
    let out = std::fs::File::create(&place).expect("made");
    let mut both = command(project.0.path(), &["check", "lib/deep/wrong.ptx", "none.ptx", "good.ptx"]);
    both.stdout(out.try_clone().expect("a second handle")).stderr(out).status().expect("it runs");
    let text = std::fs::read_to_string(place).expect("text");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
    assert!(at("error[E0603]") < at("error: cannot read none.ptx"), "{text}");
    assert!(at("error: cannot read none.ptx") < at("1 error in lib/deep/wrong.ptx"), "{text}");
}

#[test]
fn quiet_shows_errors_alone() {
    let project = Project::new();
    let ran = project.run("check -q lib");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    assert!(ran.stdout.contains("error[E0603]") && !ran.stdout.contains("warning"), "{}", ran.stdout);
    let ran = project.run("check --quiet lib/odd.ptx good.ptx");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

#[test]
fn warnings_are_allowed_or_denied() {
    let project = Project::new();
    let said = |options: &str| {
        let ran = project.run(&format!("check lib/odd.ptx --json {options}"));
        let severities: Vec<String> =
            ran.rows().iter().map(|row| row["severity"].as_str().expect("a word").to_owned()).collect();
        (ran.code, severities.join(" "))
    };
    for (options, wanted) in [
        ("", (0, "warning")),
        ("-W error", (1, "error")),
        ("-W deny", (1, "error")),
        ("-W allow", (0, "")),
        ("--warnings warn", (0, "warning")),
        ("--deny W0401", (1, "error")),
        ("--deny w0602,w0401", (1, "error")),
        ("--allow W0401", (0, "")),
        ("-W error --allow W0401", (0, "")),
        ("-W allow --deny W0401", (1, "error")),
        ("--allow W0401 --deny W0401", (1, "error")),
        ("--allow W0602", (0, "warning")),
    ] {
        assert_eq!(said(options), (wanted.0, wanted.1.to_owned()), "{options}");
    }
    let ran = project.run("check lib/odd.ptx -W error");
    assert!(
        ran.stdout.starts_with("error[W0401]: ") && ran.stderr == "1 error in lib/odd.ptx\n",
        "{}",
        ran.stdout
    );
    let ran = project.run("check lib/odd.ptx -W error --format github");
    assert!(ran.stdout.starts_with("::error file=lib/odd.ptx,"), "{}", ran.stdout);
    refused(&project.run("check good.ptx --allow E0603"), 2, "cannot be allowed");
    refused(&project.run("check good.ptx --deny W0499"), 2, "`W0499` is not a code");
}

#[test]
fn known_findings_are_passed_over() {
    let project = Project::new();
    let ran = project.run("check . --baseline known.json --write-baseline");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(ran.stderr, "2 findings written to known.json\n");
    for (folder, line) in [
        ("", "check . --baseline known.json"),
        ("", "check good.ptx lib/odd.ptx lib/deep/wrong.ptx --baseline known.json"),
        ("lib", "check . --baseline ../known.json"),
    ] {
        let ran = project.run_in(folder, line);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{line}: {}", ran.stderr);
    }
    // On other lines it is the same finding; twice it is one more.
    project.write("lib/deep/wrong.ptx", &wrong().replace("    .reg .f64", "\n\n    .reg .f64"));
    assert_eq!(project.run("check . --baseline known.json").code, 0);
    let twice = wrong().replace("    ret;", "    add.s32 %r0, %r1, %d;\n    ret;");
    project.write("lib/deep/wrong.ptx", &twice);
    let ran = project.run("check . --baseline known.json --json");
    assert_eq!((ran.code, ran.rows().len()), (1, 1), "{}", ran.stdout);
    // What is gone is told.
    project.write("lib/deep/wrong.ptx", &module(""));
    let ran = project.run("check . --baseline known.json");
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("1 finding of the baseline did not occur"), "{}", ran.stderr);

    refused(&project.run("check . --write-baseline"), 2, "--write-baseline needs --baseline");
    refused(&project.run("check . --baseline none.json"), 2, "cannot read none.json");
    for (text, wanted) in [
        ("{", "not a baseline"),
        ("{\"version\": 2, \"findings\": []}", "its version is 2"),
        ("{\"version\": 1, \"findings\": [], \"more\": 1}", "unknown field"),
    ] {
        project.write("bad.json", text);
        refused(&project.run("check . --baseline bad.json"), 1, wanted);
    }
}

#[test]
fn a_project_has_its_configuration() {
    let project = Project::new();
    project.write("softwarp.toml", "warnings = \"error\"\n");
    for (folder, file) in [("", "lib/odd.ptx"), ("lib", "odd.ptx"), ("lib/deep", "../odd.ptx")] {
        assert_eq!(project.run_in(folder, &format!("check {file}")).code, 1, "{folder}");
        assert_eq!(project.run_in(folder, &format!("check {file} --no-config")).code, 0);
        assert_eq!(project.run_in(folder, &format!("check {file} -W warn")).code, 0);
    }
    project.write("softwarp.toml", "allow = [\"W0401\"]\n");
    assert_eq!(project.run("check lib/odd.ptx --json").stdout, "");
    assert_eq!(project.run("check lib/odd.ptx --deny W0401").code, 1);
    project.write("softwarp.toml", "deny = [\"W0401\"]\n");
    assert_eq!(project.run("check lib/odd.ptx").code, 1);
    assert_eq!(project.run("check lib/odd.ptx --allow W0401").code, 0);
    // A module of sm_90 does not run on sm_80.
    project.write("softwarp.toml", "arch = \"80\"\n");
    assert_eq!(project.run("check good.ptx").code, 1);
    assert_eq!(project.run("check good.ptx --arch sm_90").code, 0);
    // The baseline lies beside the configuration.
    project.write("softwarp.toml", "baseline = \"known.json\"\n");
    assert_eq!(project.run_in("lib", "check . --write-baseline").code, 0);
    assert!(project.0.path().join("known.json").is_file());
    assert_eq!(project.run("check .").code, 0);
    project.write("other.toml", "warnings = \"allow\"\n");
    assert_eq!(project.run("check lib/odd.ptx --config other.toml").stderr, "no errors in lib/odd.ptx\n");
}

#[test]
fn a_wrong_configuration_is_refused() {
    let project = Project::new();
    for (text, wanted) in [
        ("colour = 1", "line 1: unknown field `colour`"),
        ("\nwarnings = \"loud\"", "line 2: unknown variant `loud`"),
        ("arch = \"sm_91\"", "did you mean sm_90?"),
        ("allow = [\"W9999\"]", "`W9999` is not a code"),
        ("allow = [\"E0603\"]", "cannot be allowed"),
        ("arch = ", "softwarp.toml: line 1"),
        ("[check]\narch = \"sm_90\"", "unknown field `check`"),
    ] {
        project.write("softwarp.toml", text);
        refused(&project.run("check good.ptx"), 2, wanted);
    }
    refused(&project.run("check good.ptx --config none.toml"), 2, "cannot read none.toml");
}

/// The properties that SARIF 2.1.0 requires, and those that GitHub's code scanning reads.
fn is_sarif(log: &Json) -> &Vec<Json> {
    assert_eq!((&log["version"], log["$schema"].is_string()), (&"2.1.0".into(), true));
    let runs = log["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "softwarp");
    let rules = driver["rules"].as_array().expect("rules");
    for rule in rules {
        assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string(), "{rule}");
        assert!(
            ["error", "warning"].contains(&rule["defaultConfiguration"]["level"].as_str().expect("a level"))
        );
    }
    let invocation = &runs[0]["invocations"][0];
    assert!(invocation["executionSuccessful"].is_boolean(), "{invocation}");
    let results = runs[0]["results"].as_array().expect("results");
    for result in results {
        assert!(result["message"]["text"].is_string(), "{result}");
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let places = result["locations"].as_array().expect("places");
        for place in places.iter().chain(result["relatedLocations"].as_array().expect("places")) {
            let place = &place["physicalLocation"];
            assert!(place["artifactLocation"]["uri"].is_string(), "{place}");
            let region = &place["region"];
            for key in ["startLine", "startColumn", "endLine", "endColumn"] {
                assert!(region[key].as_u64().is_some_and(|number| number >= 1), "{region}");
            }
        }
    }
    results
}

#[test]
fn sarif_has_what_it_must() {
    let project = Project::new();
    let ran = project.run("check . --format sarif");
    assert_eq!(ran.code, 1);
    let log = ran.json();
    let results = is_sarif(&log);
    let told: Vec<[&str; 3]> = results
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            [&place["artifactLocation"]["uri"], &result["ruleId"], &result["level"]]
                .map(|value| value.as_str().expect("text"))
        })
        .collect();
    assert_eq!(told, [["lib/deep/wrong.ptx", "E0603", "error"], ["lib/odd.ptx", "W0401", "warning"]]);
    let region = &results[0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(
        (&region["startLine"], &region["startColumn"], &region["endColumn"]),
        (&8.into(), &23.into(), &25.into())
    );

    assert_eq!(is_sarif(&project.run("check good.ptx --format sarif").json()).len(), 0);
    let levels = project.run("check lib/odd.ptx -W error --format sarif").json();
    assert_eq!(is_sarif(&levels)[0]["level"], "error");
    let failed = project.run("check none.ptx good.ptx --format sarif");
    assert_eq!(failed.code, 2);
    let log = failed.json();
    is_sarif(&log);
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let note = invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().expect("text");
    assert!(note.starts_with("cannot read none.ptx"), "{note}");
}

#[test]
fn every_shell_gets_its_completions() {
    let project = Project::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = project.run(&format!("completions {shell}"));
        assert!(
            ran.code == 0 && ran.stdout.contains("dequantize") && ran.stdout.contains("sanitize"),
            "{shell}"
        );
    }
    refused(&project.run("completions tcsh"), 2, "tcsh");
}

#[test]
fn every_command_has_its_manual_page() {
    let project = Project::new();
    let ran = project.run("man");
    assert!(
        ran.stdout.contains(".TH softwarp 1") && ran.stdout.contains("softwarp\\-check(1)"),
        "{}",
        ran.stdout
    );
    assert_eq!(project.run("man pages").code, 0);
    let pages = names(&project.0.path().join("pages"));
    for name in ["softwarp.1", "softwarp-check.1", "softwarp-diff.1", "softwarp-tensor-draw.1"] {
        assert!(pages.contains(&name.to_owned()), "{pages:?}");
    }
    let page = std::fs::read_to_string(project.0.path().join("pages/softwarp-check.1")).expect("a page");
    assert!(page.contains(".TH softwarp-check 1") && page.contains("write\\-baseline"), "{page}");
    refused(&project.run("man good.ptx"), 2, "cannot write good.ptx");
}

#[test]
fn help_names_every_command() {
    let project = Project::new();
    let help = project.run("--help").stdout;
    let (commands, tasks) = help.split_once("What to use for what:").expect("tasks");
    let lines =
        commands.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let named: Vec<&str> = lines
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(named.len() > 15, "{named:?}");
    for name in named.into_iter().filter(|name| *name != "help") {
        assert!(tasks.contains(&format!("softwarp {name}")), "{name} is not among the tasks");
    }
}

/// The last step of `action.yml`, as GitHub runs it.
#[cfg(target_os = "linux")]
#[test]
fn the_action_checks_what_it_is_told() {
    let action = std::fs::read_to_string(softwarp_testkit::repository("action.yml")).expect("the action");
    let (_, script) = action.rsplit_once("run: |\n").expect("a script");
    let script: String = script.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let project = Project::new();
    let run = |files: &str, arguments: &str, sarif: &str| {
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_softwarp")).parent().expect("a folder");
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").expect("a path"));
        let mut bash = std::process::Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script]).current_dir(project.0.path());
        bash.env("PATH", path).env("FILES", files).env("ARGUMENTS", arguments).env("SARIF", sarif);
        call(bash, b"")
    };
    let all = run(".", "", "");
    assert_eq!(all.code, 1, "{}", all.stderr);
    assert!(all.stdout.starts_with("::error file=lib/deep/wrong.ptx,line=8,"), "{}", all.stdout);
    assert!(all.stdout.contains("\n::warning file=lib/odd.ptx,line=4,"), "{}", all.stdout);
    assert_eq!(run("good.ptx lib/*.ptx", "", "").code, 0, "a warning");
    assert_eq!(run("good.ptx lib/*.ptx", "-W error", "").code, 1, "an error");
    assert_eq!(run(".", "", "out.sarif").code, 1);
    let log = std::fs::read_to_string(project.0.path().join("out.sarif")).expect("a log");
    let log: Json = serde_json::from_str(&log).expect("JSON");
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(2));
}

/// Hooks name commands that are there.
#[test]
fn hooks_of_pre_commit_name_commands() {
    let hooks =
        std::fs::read_to_string(softwarp_testkit::repository(".pre-commit-hooks.yaml")).expect("the hooks");
    let entries: Vec<&str> =
        hooks.lines().filter_map(|line| line.trim().strip_prefix("entry: softwarp ")).collect();
    assert_eq!(entries, ["check", "fmt"]);
    let project = Project::new();
    for (entry, code) in [("check", 0), ("fmt", 0)] {
        assert_eq!(project.run(&format!("{entry} good.ptx lib/odd.ptx")).code, code, "{entry}");
    }
}
