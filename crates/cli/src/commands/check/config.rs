//! `softwarp.toml`: what `softwarp check` is told once for a project.
//!
//! ```toml
//! arch = "sm_90a"
//! allow = ["W0401"]
//! deny = ["W0602"]
//! warnings = "error"
//! baseline = "ptx-baseline.json"
//! ```

use super::policy::Warnings;
use crate::commands::checking::target;
use crate::commands::{CommandError, explain, files};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The name of the file.
const NAME: &str = "softwarp.toml";

/// The longest file that is read.
const LONGEST: u64 = 1 << 20;

/// What a project says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The GPU to check for.
    pub arch: Option<String>,
    /// Codes that are not reported.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Codes that are errors.
    #[serde(default)]
    pub deny: Vec<String>,
    /// What warnings are.
    pub warnings: Option<Warnings>,
    /// The file of known findings, from the folder of the configuration on.
    pub baseline: Option<PathBuf>,
}

impl Config {
    /// The configuration in a file, or in the nearest folder from the working directory upward that has one. Without a
    /// file nothing is set.
    pub fn find(given: Option<&Path>) -> Result<Config, CommandError> {
        if let Some(path) = given {
            return Config::read(path);
        }
        let Ok(here) = std::env::current_dir() else { return Ok(Config::default()) };
        let found = here.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file());
        found.map_or(Ok(Config::default()), |path| Config::read(&path))
    }

    fn read(path: &Path) -> Result<Config, CommandError> {
        let wrong = |why: &dyn std::fmt::Display| CommandError::Usage(format!("{}: {why}", path.display()));
        let text = String::from_utf8(files::read(path, LONGEST)?).map_err(|_| wrong(&"it is not UTF-8"))?;
        let mut config: Config = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            wrong(&format!("{place}{}", error.message().replace('\n', "; ")))
        })?;
        // A wrong name is one of the file, not of the arguments.
        let arch = config.arch.iter().map(|arch| target(arch).map(|_| ()));
        let codes = config.allow.iter().chain(&config.deny).map(|code| explain::code(code).map(|_| ()));
        if let Some(error) = arch.chain(codes).find_map(Result::err) {
            return Err(wrong(&error.line().unwrap_or_default()));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        config.baseline = config.baseline.map(|baseline| folder.join(baseline));
        Ok(config)
    }
}
