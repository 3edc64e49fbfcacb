//! Options of the assembler, as cubins and fat binaries record them.
//!
//! Checked on nvcc 13.4: a cubin has ptxas's command line (`-lineinfo  -arch sm_90 -m 64 -fmad false `, in the short
//! names whatever was typed), an entry of a fat binary what nvcc was told (` --fmad false `, `-O1 `,
//! `-maxrregcount=32 `, ` --generate-line-info `).

use super::Arch;
use std::fmt;

/// What the assembler was told, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssemblerOptions {
    /// Whether multiplications and additions may be contracted: `-fmad`. The assembler's default is yes.
    pub fmad: Option<bool>,
    /// The target: `-arch`.
    pub arch: Option<Arch>,
    /// The level of optimization: `-O`.
    pub optimization: Option<u8>,
    /// The most registers of a thread: `-maxrregcount`.
    pub max_registers: Option<u32>,
    /// Line information was asked for: `-lineinfo`.
    pub line_info: bool,
    /// Debug information was asked for: `-g`.
    pub debug: bool,
    /// Neither is to be written after all: `-suppress-debug-info`.
    pub suppress_debug_info: bool,
    /// The result will be linked: `-c`.
    pub compile_only: bool,
}

impl AssemblerOptions {
    /// Reads a command line. What is not known here is passed over.
    pub fn parse(line: &str) -> AssemblerOptions {
        let mut options = AssemblerOptions::default();
        let mut words = line.split_ascii_whitespace().peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
            let (name, given) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            let (name, given) = match name.strip_prefix('O') {
                Some(level) if !level.is_empty() => ("O", Some(level)),
                _ => (name, given),
            };
            if options.set_switch(name) {
                continue;
            }
            let value = given.or_else(|| words.next_if(|word| takes_value(name) && !word.starts_with('-')));
            if let Some(value) = value {
                options.set_value(name, value);
            }
        }
        options
    }

    /// Sets an option that has no value; says whether it is one.
    fn set_switch(&mut self, name: &str) -> bool {
        let switch = match name {
            "lineinfo" | "generate-line-info" => &mut self.line_info,
            "g" | "G" | "device-debug" => &mut self.debug,
            "suppress-debug-info" => &mut self.suppress_debug_info,
            "c" | "compile-only" => &mut self.compile_only,
            _ => return false,
        };
        *switch = true;
        true
    }

    fn set_value(&mut self, name: &str, value: &str) {
        match name {
            "fmad" | "fma" => {
                self.fmad = match value {
                    "true" | "1" => Some(true),
                    "false" | "0" => Some(false),
                    _ => self.fmad,
                }
            }
            "arch" | "gpu-name" => self.arch = Arch::from_name(value).or(self.arch),
            "O" | "opt-level" => self.optimization = value.parse().ok().or(self.optimization),
            "maxrregcount" => self.max_registers = value.parse().ok().or(self.max_registers),
            _ => {}
        }
    }

    /// Whether the assembler kept the PTX text in the cubin.
    pub fn keeps_ptx(&self) -> bool {
        (self.line_info || self.debug) && !self.suppress_debug_info
    }
}

fn takes_value(name: &str) -> bool {
    matches!(name, "fmad" | "fma" | "arch" | "gpu-name" | "O" | "opt-level" | "maxrregcount")
}

/// The command line, in ptxas's short names.
impl fmt::Display for AssemblerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.fmad.map(|fmad| format!("-fmad {fmad}")));
        words.extend(self.arch.map(|arch| format!("-arch {arch}")));
        words.extend(self.optimization.map(|level| format!("-O {level}")));
        words.extend(self.max_registers.map(|count| format!("-maxrregcount {count}")));
        let switches = [
            (self.line_info, "-lineinfo"),
            (self.debug, "-g"),
            (self.suppress_debug_info, "-suppress-debug-info"),
            (self.compile_only, "-c"),
        ];
        words.extend(switches.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()));
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_lines_are_read() {
        let options =
            AssemblerOptions::parse("-v  -maxrregcount 32 -lineinfo  -O 1 -arch sm_90a -fmad false ");
        let expected = AssemblerOptions {
            fmad: Some(false),
            arch: Arch::from_name("sm_90a"),
            optimization: Some(1),
            max_registers: Some(32),
            line_info: true,
            ..AssemblerOptions::default()
        };
        assert_eq!(options, expected);
        let options = AssemblerOptions::parse("-O1 -v  --fmad false -maxrregcount=32 ");
        assert_eq!(options, AssemblerOptions { arch: None, line_info: false, ..expected });
        let options =
            AssemblerOptions::parse("x.ptx -no-bb-merge  -ret-end  -g  -o x.cubin -arch sm_90 -m 64 -c  ");
        assert!(options.debug && options.compile_only && options.keeps_ptx());
        assert_eq!(options.arch, Some(Arch::baseline(90)));
        let options = AssemblerOptions::parse("-suppress-debug-info  -lineinfo  -arch sm_90a ");
        assert!(!options.keeps_ptx());
    }

    #[test]
    fn every_spelling_of_fmad_is_read() {
        for line in ["-fmad false", "--fmad false", "-fmad=false", "--fmad=false", "-fmad=0", "-fma=0"] {
            assert_eq!(AssemblerOptions::parse(line).fmad, Some(false), "{line}");
        }
        assert_eq!(AssemblerOptions::parse("-ftz=0 -prec_div=1 -fmad=1 ").fmad, Some(true));
        for line in ["", "-fmad", "-fmad -lineinfo", "-fmad maybe", "fmad=false", "- -- -="] {
            assert_eq!(AssemblerOptions::parse(line).fmad, None, "{line}");
        }
        assert!(AssemblerOptions::parse("-fmad -lineinfo").line_info);
    }

    #[test]
    fn what_is_written_is_read_back() {
        for line in
            ["", "-fmad false -arch sm_100f -O 0 -maxrregcount 255 -lineinfo -g -suppress-debug-info -c"]
        {
            let options = AssemblerOptions::parse(line);
            assert_eq!(options.to_string(), line);
        }
    }
}
