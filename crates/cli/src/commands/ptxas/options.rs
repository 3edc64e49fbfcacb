//! The options of ptxas.

use softwarp::isa::Target;
use std::ffi::OsString;
use std::path::PathBuf;

/// The long and the short name of each option that has a value.
const WITH_VALUE: &[(&str, &str)] = &[
    ("Ofast-compile", "Ofc"),
    ("allow-expensive-optimizations", "allow-expensive-optimizations"),
    ("apply-controls", "apply-controls"),
    ("def-load-cache", "dlcm"),
    ("def-store-cache", "dscm"),
    ("device-function-maxrregcount", "func-maxrregcount"),
    ("device-stack-protector", "device-stack-protector"),
    ("enable-func-clone-sc", "enable-func-clone-sc"),
    ("entry", "e"),
    ("fmad", "fmad"),
    ("force-load-cache", "flcm"),
    ("force-store-cache", "fscm"),
    ("gpu-name", "arch"),
    ("input-as-string", "ias"),
    ("machine", "m"),
    ("maxntid", "maxntid"),
    ("maxrregcount", "maxrregcount"),
    ("minnctapersm", "minnctapersm"),
    ("opt-level", "O"),
    ("options-file", "optf"),
    ("output-file", "o"),
    ("position-independent-code", "pic"),
    ("register-usage-level", "regUsageLevel"),
    ("sanitize", "sanitize"),
    ("split-compile", "split-compile"),
];

/// The long and the short name of each option that has none.
const SWITCHES: &[(&str, &str)] = &[
    ("compile-as-tools-patch", "astoolspatch"),
    ("compile-only", "c"),
    ("compiler-annotations", "annotate"),
    ("device-debug", "g"),
    ("disable-optimizer-constants", "disable-optimizer-consts"),
    ("disable-warnings", "w"),
    ("dont-merge-basicblocks", "no-bb-merge"),
    ("extensible-whole-program", "ewp"),
    ("g-tensor-memory-access-check", "g-tmem-access-check"),
    ("generate-line-info", "lineinfo"),
    ("gno-tensor-memory-access-check", "gno-tmem-access-check"),
    ("help", "h"),
    ("jobserver", "jobserver"),
    ("legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior"),
    ("list-arch", "arch-ls"),
    ("list-version", "version-ls"),
    ("make-errors-visible-at-exit", "make-errors-visible-at-exit"),
    ("optimize-float-atomics", "opt-fp-atomics"),
    ("override-directive-values", "override-directive-values"),
    ("preserve-relocs", "preserve-relocs"),
    ("return-at-end", "ret-end"),
    ("sp-bounds-check", "sp-bounds-check"),
    ("suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning"),
    ("suppress-debug-info", "suppress-debug-info"),
    ("suppress-double-demote-warning", "suppress-double-demote-warning"),
    ("suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info"),
    ("suppress-stack-size-warning", "suppress-stack-size-warning"),
    ("verbose", "v"),
    ("verbose2", "v2"),
    ("version", "V"),
    ("warn-on-double-precision-use", "warn-double-usage"),
    ("warn-on-local-memory-usage", "warn-lmem-usage"),
    ("warn-on-spills", "warn-spills"),
    ("warning-as-error", "Werror"),
];

/// Short options whose value may follow without a space: `-O3`, `-m64`.
const JOINED: &[&str] = &["O", "m"];

/// How deep option files may name further ones.
const DEEPEST: usize = 8;

/// PTX that is assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// In a file.
    File(PathBuf),
    /// Given as it is.
    Text(String),
}

/// What is asked for instead of an assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The version.
    Version,
    /// The help.
    Help,
    /// The names of the GPUs.
    Targets,
}

/// What a command line says, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    pub inputs: Vec<Input>,
    pub output: PathBuf,
    pub arch: Option<Target>,
    pub fmad: Option<bool>,
    pub relocatable: bool,
    pub verbose: bool,
    pub no_warnings: bool,
    pub warnings_are_errors: bool,
    pub asked: Option<Asked>,
    /// Options that ptxas does not have, as ptxas names them: without the first dash.
    pub unknown: Vec<String>,
}

impl Invocation {
    /// Reads a command line; what is wrong with it, in ptxas's words.
    pub fn parse(words: &[OsString]) -> Result<Invocation, String> {
        let mut invocation = Invocation {
            inputs: Vec::new(),
            output: "elf.o".into(),
            arch: None,
            fmad: None,
            relocatable: false,
            verbose: false,
            no_warnings: false,
            warnings_are_errors: false,
            asked: None,
            unknown: Vec::new(),
        };
        invocation.take(words, 0)?;
        Ok(invocation)
    }

    fn take(&mut self, words: &[OsString], depth: usize) -> Result<(), String> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty()) else {
                self.inputs.push(Input::File(word.into()));
                continue;
            };
            let Some((option, joined)) = option(name) else {
                self.unknown.push(name.to_owned());
                continue;
            };
            match option {
                Name::Switch(name) => self.switch(name),
                Name::Value(name) => {
                    let value = match joined {
                        Some(value) => OsString::from(value),
                        None => words
                            .next()
                            .cloned()
                            .ok_or_else(|| format!("Missing argument to option '{name}'"))?,
                    };
                    self.value(name, value, depth)?;
                }
            }
        }
        Ok(())
    }

    fn switch(&mut self, name: &str) {
        match name {
            "compile-only" => self.relocatable = true,
            "verbose" | "verbose2" => self.verbose = true,
            "disable-warnings" => self.no_warnings = true,
            "warning-as-error" => self.warnings_are_errors = true,
            "version" => self.asked = Some(Asked::Version),
            "help" => self.asked = Some(Asked::Help),
            "list-arch" => self.asked = Some(Asked::Targets),
            _ => {}
        }
    }

    fn value(&mut self, name: &str, value: OsString, depth: usize) -> Result<(), String> {
        let text = value.to_string_lossy();
        match name {
            "output-file" => self.output = value.into(),
            "input-as-string" => self.inputs.push(Input::Text(text.into_owned())),
            "gpu-name" => {
                let known =
                    text.strip_prefix("compute_").map_or(text.to_string(), |rest| format!("sm_{rest}"));
                let target = Target::from_name(&known);
                self.arch = Some(
                    target.ok_or_else(|| format!("Value '{text}' is not defined for option 'gpu-name'"))?,
                );
            }
            "fmad" => {
                self.fmad = Some(match &*text {
                    "true" | "1" => true,
                    "false" | "0" => false,
                    _ => return Err(format!("'{text}': expected true or false")),
                });
            }
            "options-file" => {
                if depth == DEEPEST {
                    return Err(format!("Option file '{text}' is too deep"));
                }
                let path = PathBuf::from(&value);
                let bytes = super::super::files::read(&path, crate::input::MOST_TEXT)
                    .map_err(|_| format!("Could not open options file '{text}'"))?;
                let words = String::from_utf8_lossy(&bytes);
                let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
                self.take(&words, depth + 1)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// An option by its long name.
enum Name {
    Switch(&'static str),
    Value(&'static str),
}

/// The option of a word without its first dash, and the value in the word.
fn option(word: &str) -> Option<(Name, Option<String>)> {
    let (name, joined) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    // Long names are also taken with one dash.
    let name = name.strip_prefix('-').unwrap_or(name);
    let find = |table: &'static [(&'static str, &'static str)], name: &str| {
        table.iter().find(|(long, short)| *long == name || *short == name).map(|(long, _)| *long)
    };
    if let Some(long) = find(WITH_VALUE, name) {
        return Some((Name::Value(long), joined));
    }
    if let Some(long) = find(SWITCHES, name) {
        return Some((Name::Switch(long), None));
    }
    let short = JOINED.iter().find(|short| word.starts_with(**short))?;
    let value = word.get(short.len()..).filter(|value| value.bytes().all(|it| it.is_ascii_digit()))?;
    Some((Name::Value(find(WITH_VALUE, short)?), Some(value.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Invocation, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Invocation::parse(&words)
    }

    #[test]
    fn the_command_lines_of_tools_are_read() {
        let triton = "-lineinfo -v --fmad=false -regUsageLevel=5 --gpu-name=sm_90a k.ptx -o k.ptx.o";
        let nvcc = "-arch=sm_90 -m64 -O3 -w k.ptx --output-file k.cubin";
        let (triton, nvcc) = (parse(triton).expect("read"), parse(nvcc).expect("read"));
        assert_eq!((triton.arch.map(Target::name), triton.fmad), (Some("sm_90a"), Some(false)));
        assert_eq!((&triton.output, triton.verbose), (&"k.ptx.o".into(), true));
        assert_eq!((nvcc.arch.map(Target::name), nvcc.fmad), (Some("sm_90"), None));
        assert_eq!((&nvcc.output, nvcc.no_warnings), (&"k.cubin".into(), true));
        for invocation in [triton, nvcc] {
            assert_eq!(invocation.inputs, [Input::File("k.ptx".into())]);
            assert!(invocation.unknown.is_empty());
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_ptxas() {
        assert_eq!(parse("-arch sm_9").unwrap_err(), "Value 'sm_9' is not defined for option 'gpu-name'");
        assert_eq!(parse("-fmad=maybe").unwrap_err(), "'maybe': expected true or false");
        assert!(parse("x.ptx -o").unwrap_err().contains("output-file"));
        assert_eq!(parse("--foo=3 -bar -Oh x.ptx").expect("read").unknown, ["-foo=3", "bar", "Oh"]);
        assert!(parse("-optf /nonexistent").unwrap_err().contains("/nonexistent"));
    }

    #[test]
    fn every_option_is_once_in_the_tables() {
        let mut names: Vec<&str> = WITH_VALUE.iter().chain(SWITCHES).map(|(long, _)| *long).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
