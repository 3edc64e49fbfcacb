//! Runs the transcripts of the README and of the tutorial, from clean folders. (Those of `softwarp exec` in the README
//! are run by `exec_cli.rs`.)
#![cfg(target_os = "linux")]

use softwarp_testkit::files::{TempDir, temporary};
use softwarp_testkit::process::run;
use softwarp_testkit::repository;
use std::path::Path;
use std::process::Command;

/// A command of a page, and what the page says that it prints.
struct Transcript {
    line: String,
    wanted: String,
}

/// The transcripts of a page: in fenced blocks that begin with `$ `, each line that does so and what follows it.
/// A command goes on in the next line if it ends in `\`.
fn transcripts(page: &str) -> Vec<Transcript> {
    let text = std::fs::read_to_string(repository(page)).expect("the page");
    let mut transcripts: Vec<Transcript> = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        let Some(lines) = block.strip_prefix('\n').filter(|lines| lines.starts_with("$ ")) else { continue };
        let mut continues = false;
        for line in lines.lines() {
            if let Some(line) = line.strip_prefix("$ ") {
                transcripts.push(Transcript { line: line.to_owned(), wanted: String::new() });
                continues = line.ends_with('\\');
                continue;
            }
            let last = transcripts.last_mut().expect("the block begins with a command");
            let text = if continues { &mut last.line } else { &mut last.wanted };
            text.push_str(if continues { "\n" } else { "" });
            text.push_str(line);
            text.push_str(if continues { "" } else { "\n" });
            continues = continues && line.ends_with('\\');
        }
    }
    transcripts
}

/// A new folder with copies of the files of a folder of the repository.
fn copy_of(folder: &str, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(repository(folder)).expect("the examples") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
}

/// Runs commands in a folder, one after the other, and compares what they print.
fn replay(page: &str, transcripts: &[Transcript], folder: &TempDir) {
    let binary = Path::new(env!("CARGO_BIN_EXE_softwarp")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    for Transcript { line, wanted } in transcripts {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("( {line} ) 2>&1")).current_dir(folder.path());
        shell.env("PATH", &path).env_remove("NO_COLOR");
        let ran = run(shell, b"");
        assert_eq!(ran.stdout.trim_end(), wanted.trim_end(), "{page}: {line}\n{}", ran.stdout);
    }
}

#[test]
fn the_tutorial_is_true() {
    let folder = temporary();
    copy_of("examples/tutorial", folder.path());
    let transcripts = transcripts("docs/tutorial.md");
    assert!(transcripts.len() >= 8, "{} transcripts", transcripts.len());
    replay("docs/tutorial.md", &transcripts, &folder);
}

#[test]
fn the_page_on_debugging_is_true() {
    let folder = temporary();
    copy_of("examples", folder.path());
    let transcripts = transcripts("docs/debugging.md");
    assert_eq!(transcripts.len(), 1);
    replay("docs/debugging.md", &transcripts, &folder);
}

#[test]
fn the_readme_is_true() {
    let folder = temporary();
    copy_of("examples", &folder.path().join("examples"));
    copy_of("examples/tutorial", &folder.path().join("examples/tutorial"));
    let mut transcripts = transcripts("README.md");
    transcripts.retain(|it| !it.line.starts_with("softwarp exec "));
    assert!(transcripts.len() >= 4, "{} transcripts", transcripts.len());
    replay("README.md", &transcripts, &folder);
}

/// The pages show sources that are in the repository: what they show is what the PTX was made from.
#[test]
fn the_tutorial_shows_its_files() {
    let page = std::fs::read_to_string(repository("docs/tutorial.md")).expect("the page");
    for (language, file) in [("cuda", "rmsnorm.cu"), ("json", "rmsnorm.json")] {
        let file = repository("examples/tutorial").join(file);
        let text = std::fs::read_to_string(&file).expect("a file");
        assert!(page.contains(&format!("```{language}\n{text}```")), "{} is shown", file.display());
    }
}

/// The variants differ from the kernel in the one line that the page names.
#[test]
fn the_planted_bugs_are_one_line_each() {
    let text =
        |name: &str| std::fs::read_to_string(repository("examples/tutorial").join(name)).expect("a source");
    let right = text("rmsnorm.cu");
    assert_eq!(text("rmsnorm_bounds.cu"), right.replacen("i < columns", "i <= columns", 1));
    assert_eq!(text("rmsnorm_race.cu"), right.replacen("    __syncthreads();\n", "", 1));
}

#[test]
fn the_page_on_blackwell_is_true() {
    let folder = temporary();
    copy_of("examples", folder.path());
    let transcripts = transcripts("docs/blackwell.md");
    assert_eq!(transcripts.len(), 5);
    replay("docs/blackwell.md", &transcripts, &folder);
}
