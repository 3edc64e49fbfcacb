//! What goes wrong: the driver is not there, or one of its functions fails.

use serde::{Deserialize, Serialize};

/// Why something could not be had from the driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The library cannot be opened.
    #[error("the CUDA driver `{library}` cannot be opened: {why}")]
    Missing {
        /// The library's name or path.
        library: String,
        /// What the system says.
        why: String,
    },
    /// The library lacks a function.
    #[error("the CUDA driver has no {function}: it is older than this needs")]
    NoFunction {
        /// The function.
        function: &'static str,
    },
    /// A function failed.
    #[error("{function}: {name} ({code}): {words}")]
    Call {
        /// The function.
        function: &'static str,
        /// The result.
        code: u32,
        /// The result's name.
        name: String,
        /// What the driver says about it.
        words: String,
    },
    /// Something that the driver would have to be given is not as it takes it.
    #[error("{0}")]
    Unusable(String),
}

/// What was being done when something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The device or its context.
    Device,
    /// The module was being compiled and loaded.
    Load,
    /// Memory, variables, textures and surfaces were being made ready, or read back.
    Memory,
    /// A launch was refused before it began.
    Launch,
    /// A kernel was running.
    Execution,
}

/// Why a job has no results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What was being done.
    pub stage: Stage,
    /// The launch, from 0, if it was about one.
    pub launch: Option<u32>,
    /// What it was about: the name of a buffer, variable, texture or kernel.
    pub of: Option<Box<str>>,
    /// The driver's result, if it is one.
    pub code: Option<u32>,
    /// Its name, as in `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub name: Option<Box<str>>,
    /// All of it, in words.
    pub message: Box<str>,
    /// What the driver's compiler said.
    pub log: Box<str>,
}

impl Failure {
    /// What a function of the driver said.
    pub fn new(stage: Stage, error: &DriverError) -> Failure {
        let (code, name) = match error {
            DriverError::Call { code, name, .. } => (Some(*code), Some(name.as_str().into())),
            _ => (None, None),
        };
        Failure {
            stage,
            launch: None,
            of: None,
            code,
            name,
            message: error.to_string().into(),
            log: "".into(),
        }
    }

    /// The same, about something.
    pub fn of(self, name: &str) -> Failure {
        Failure { of: Some(name.into()), ..self }
    }

    /// The same, in a launch.
    pub fn in_launch(self, index: usize) -> Failure {
        Failure { launch: u32::try_from(index).ok(), ..self }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(of) = &self.of {
            write!(f, "`{of}`: ")?;
        }
        write!(f, "{}", self.message)?;
        let log = self.log.trim();
        if log.is_empty() { Ok(()) } else { write!(f, "\n{log}") }
    }
}
