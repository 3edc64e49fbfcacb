//! The options of the check.

use softwarp_isa::Target;

/// The options of the check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The GPU to assemble for; the module's `.target` without it.
    pub arch: Option<Target>,
    /// Whether the result will be linked with others (`ptxas -c`).
    pub relocatable: bool,
    /// Follow the manual where the assembler lets more pass.
    pub strict: bool,
}
