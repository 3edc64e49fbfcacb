//! What the parts of the checker share while they walk over a module.

use crate::checked::{CheckedModule, FuncId, Header, VarId};
use crate::names::{Entity, Found, Names};
use crate::options::Options;
use softwarp_isa::{Target, Version};
use softwarp_syntax::tree::Symbol;
use softwarp_syntax::{Diagnostic, Module, Severity, Span};

/// The token that comes next from some byte on: comments and white space are skipped.
pub fn next_token(source: &str, from: u32) -> Span {
    let mut rest = source.get(from as usize..).unwrap_or("");
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
        } else {
            break;
        }
    }
    let start = (source.len() - rest.len()) as u32;
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len()) as u32;
    Span::new(start, start + length)
}

/// The state of the walk.
pub struct Context<'a> {
    /// The tree.
    pub module: &'a Module,
    /// Its text.
    pub source: &'a str,
    /// The options of the check.
    pub options: Options,
    /// What is known so far.
    pub checked: CheckedModule,
    /// The names in scope here.
    pub names: Names,
    /// What was wrong so far.
    pub diagnostics: Vec<Diagnostic>,
    /// The function that the walk is in.
    pub function: Option<FuncId>,
    /// What bodies have left for the end of the module.
    pub deferred: Deferred,
    /// A declaration has changed what an earlier one said, so that it matters in which order bodies are checked.
    pub ordered: bool,
}

/// Findings in function bodies that only the end of the module can decide.
#[derive(Debug, Default)]
pub struct Deferred {
    /// Wrong only if the module has the ABI.
    pub if_abi: Vec<Diagnostic>,
    /// Wrong if the function is not defined further down.
    pub if_undefined: Vec<(FuncId, Diagnostic)>,
    /// Wrong if the assembler generates code for the function.
    pub unreturned: Vec<Unreturned>,
    /// Whether a prototype has several results.
    pub several_results: bool,
}

impl Deferred {
    /// Whether nothing is left to decide; that a prototype has several results is no question.
    pub fn is_empty(&self) -> bool {
        self.if_abi.is_empty() && self.if_undefined.is_empty() && self.unreturned.is_empty()
    }
}

/// A load of a call's `.param` variable that no call before it returned into.
#[derive(Clone, Copy, Debug)]
pub struct Unreturned {
    /// The function that the load is in.
    pub function: FuncId,
    /// The variable that it reads.
    pub variable: VarId,
    /// The place of the load.
    pub at: Span,
}

impl<'a> Context<'a> {
    /// At the start of a module.
    pub fn new(module: &'a Module, source: &'a str, options: Options, header: Header) -> Context<'a> {
        Context::with(module, source, options, CheckedModule::empty(header), Names::new(module))
    }

    /// With what is known already.
    pub fn with(
        module: &'a Module,
        source: &'a str,
        options: Options,
        checked: CheckedModule,
        names: Names,
    ) -> Context<'a> {
        Context {
            module,
            source,
            options,
            checked,
            names,
            diagnostics: Vec::new(),
            function: None,
            deferred: Deferred::default(),
            ordered: false,
        }
    }

    /// Adds a diagnostic. Past a limit of each severity it is dropped, so that the diagnostics of a module take no
    /// more memory than the module.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        const MOST_WARNINGS: usize = 1000;
        const MOST: usize = 4000;
        let most = match diagnostic.severity() {
            Severity::Warning => MOST_WARNINGS,
            Severity::Error => MOST,
        };
        if self.diagnostics.len() < most {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &'a str {
        self.module.name(symbol)
    }

    /// The module's version.
    pub fn version(&self) -> Version {
        self.checked.header.version
    }

    /// The architecture that the module names: the assembler gates features by it.
    pub fn target(&self) -> Target {
        self.checked.header.target
    }

    /// What a name means here, noted as a use of it: some limits count only what is used.
    pub fn resolve(&mut self, symbol: Symbol) -> Option<Found> {
        let found = self.resolve_called(symbol)?;
        if let Entity::Function(id) = found.entity {
            self.checked.functions[id.0 as usize].address_taken = true;
        }
        Some(found)
    }

    /// Finds the function that a `call` names. This does not take its address.
    pub fn resolve_called(&mut self, symbol: Symbol) -> Option<Found> {
        let found = self.names.lookup(symbol)?;
        if let Some(user) = self.function {
            match found.entity {
                Entity::Variable(id) => {
                    let variable = &mut self.checked.variables[id.0 as usize];
                    if variable.user != Some(user) {
                        variable.user = Some(user);
                        if found.depth == 0 {
                            self.checked.functions[user.0 as usize].uses.push(id);
                        }
                    }
                }
                Entity::Function(id) => {
                    self.checked.functions[id.0 as usize].referenced = true;
                    self.checked.functions[user.0 as usize].calls.push(id);
                }
                Entity::Label(_) => {}
            }
        }
        Some(found)
    }
}
