//! Features of declarations that came with a version of PTX or a target (the "PTX ISA Notes" and "Target ISA
//! Notes" of chapters 5, 10 and 11; the numbers are those that the assembler enforces).
//!
//! The assembler goes by the module's own `.version` and `.target`, not by the architecture it assembles for.

use crate::codes::declarations as codes;
use crate::context::Context;
use softwarp_isa::Version;
use softwarp_syntax::{Diagnostic, Span};

/// A feature, and since when it exists.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// What, as it reads at the start of a sentence.
    pub what: &'static str,
    /// The first version that has it.
    pub since: Version,
    /// The first architecture that has it; 0 if all do.
    pub least_sm: u16,
}

const fn feature(what: &'static str, major: u8, minor: u8, least_sm: u16) -> Feature {
    Feature { what, since: Version::new(major, minor), least_sm }
}

#[rustfmt::skip]
mod table {
    use super::{Feature, feature};
    pub const ADDRESS_SIZE:       Feature = feature("`.address_size`",                           2, 3, 0);
    pub const DEBUG_TARGET:       Feature = feature("the target option `debug`",                 3, 0, 0);
    pub const TEXMODE:            Feature = feature("the target option `texmode_independent`",   1, 5, 0);
    pub const WEAK:               Feature = feature("`.weak`",                                   3, 1, 0);
    pub const COMMON:             Feature = feature("`.common`",                                 5, 0, 0);
    pub const MANAGED:            Feature = feature("the attribute `.managed`",                  4, 0, 30);
    pub const UNIFIED:            Feature = feature("the attribute `.unified`",                  8, 0, 90);
    pub const B128:               Feature = feature("the type `.b128`",                          8, 3, 70);
    pub const F16X2:              Feature = feature("the type `.f16x2`",                         4, 2, 53);
    pub const OPAQUE:             Feature = feature("an opaque type",                            1, 5, 0);
    pub const BANKS:              Feature = feature("a bank of constant memory other than 0",    1, 5, 0);
    pub const PTR:                Feature = feature("`.ptr`",                                    2, 2, 0);
    pub const PARAMETER_LIST:     Feature = feature("a kernel's parameter list",                 1, 4, 0);
    pub const FUNCTION_PARAM:     Feature = feature("a function's parameter in `.param`",        2, 0, 20);
    pub const LOCAL_PARAM:        Feature = feature("a `.param` variable in a body",             2, 0, 0);
    pub const UNSIZED_PARAMETER:  Feature = feature("a parameter that is an array without size", 6, 0, 30);
    pub const LARGE_PARAMETERS:   Feature = feature("more than 4352 bytes of parameters",        8, 1, 70);
    pub const ADDRESS_VALUE:      Feature = feature("an address in an initialiser",              2, 1, 0);
    pub const FUNCTION_VALUE:     Feature = feature("a function in an initialiser",              2, 1, 20);
    pub const ENTRY_VALUE:        Feature = feature("a kernel in an initialiser",                3, 1, 35);
    pub const GENERIC_VALUE:      Feature = feature("`generic()`",                               3, 1, 0);
    pub const MASK:               Feature = feature("a mask in an initialiser",                  7, 1, 0);
    pub const INTEGER_MASK:       Feature = feature("a mask over an integer",                    7, 2, 0);
    pub const CALL_PROTOTYPE:     Feature = feature("`.callprototype`",                          2, 1, 20);
    pub const CALL_TARGETS:       Feature = feature("`.calltargets`",                            2, 1, 20);
    pub const BRANCH_TARGETS:     Feature = feature("`.branchtargets`",                          6, 0, 30);
    pub const ALIAS:              Feature = feature("`.alias`",                                  6, 3, 30);
    pub const SMEM_SPILLING:      Feature = feature("the pragma `enable_smem_spilling`",         8, 7, 75);
    pub const FREQUENCY:          Feature = feature("the pragma `frequency`",                    9, 0, 0);
    pub const USED_BYTES_MASK:    Feature = feature("the pragma `used_bytes_mask`",              8, 3, 50);
    pub const RELOCATABLE:        Feature = feature("assembling for the linker",                 3, 1, 0);
}
pub use table::*;

impl Context<'_> {
    /// Whether the module's version and target have a feature.
    pub fn has(&self, feature: &Feature) -> bool {
        let header = &self.checked.header;
        header.version >= feature.since && header.target.sm() >= feature.least_sm
    }

    /// Reports a feature that the module's version or target does not have; whether it has it.
    pub fn require(&mut self, feature: &Feature, span: Span) -> bool {
        let header = self.checked.header;
        let new_enough = header.version >= feature.since;
        let on_target = header.target.sm() >= feature.least_sm;
        if new_enough && on_target {
            return true;
        }
        let needs = match (new_enough, on_target) {
            (false, false) => format!("PTX {} and sm_{}", feature.since, feature.least_sm),
            (false, true) => format!("PTX {}", feature.since),
            _ => format!("sm_{}", feature.least_sm),
        };
        let mut diagnostic = Diagnostic::new(
            codes::FEATURE,
            span,
            format!("{} needs {needs}; this module says {}, {}", feature.what, header.version, header.target),
        );
        if let (false, Some(span)) = (new_enough, header.version_span) {
            diagnostic = diagnostic.with_related(span, "the version is chosen here");
            diagnostic = self.raising_version(diagnostic, on_target.then_some(feature.since));
        }
        if let (false, Some(span)) = (on_target, header.target_span) {
            diagnostic = diagnostic.with_related(span, "the target is chosen here");
        }
        self.report(diagnostic);
        false
    }

    /// Adds a fix that raises the module's version, if there is one to raise it to.
    pub fn raising_version(&self, diagnostic: Diagnostic, to: Option<Version>) -> Diagnostic {
        match (self.checked.header.version_span, to) {
            (Some(span), Some(to)) => {
                diagnostic.with_fix(span, format!(".version {to}"), format!("raise `.version` to {to}"))
            }
            _ => diagnostic,
        }
    }

    /// Reports a feature that later versions took away; whether the module still has it.
    pub fn require_before(&mut self, what: &str, until: Version, span: Span, help: &str) -> bool {
        let header = self.checked.header;
        if header.version < until {
            return true;
        }
        let message = format!("{what} ended with PTX {until}; this module says {}", header.version);
        self.report(Diagnostic::new(codes::REMOVED, span, message).with_help(help));
        false
    }

    /// Reports what the assembler lets pass though the manual does not: a warning, in strict mode an error.
    pub fn deviation(&mut self, code: codes::Deviation, span: Span, message: impl Into<String>) {
        self.deviation_with(code, span, message, |diagnostic| diagnostic);
    }

    /// The same, with more to say.
    pub fn deviation_with(
        &mut self,
        code: codes::Deviation,
        span: Span,
        message: impl Into<String>,
        more: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let code = if self.options.strict { code.error } else { code.warning };
        self.report(more(Diagnostic::new(code, span, message)));
    }
}
