//! Checks a large module body by body, on several threads.
//!
//! First comes what stands at module scope, with the bodies passed over ([`softwarp_syntax::outline`]). Then every
//! thread takes the next body, reads it into the memory of the one before, and judges it with the names that are
//! declared above it. What bodies say about the module as a whole (calls, uses, variables) is put together in the order
//! of the text, and judged last.
//!
//! The result is that of [`crate::resolve`], diagnostics included. Where bodies could influence one another, or the
//! text has errors of the grammar, there is no result, and the module has to be checked as a whole.

use crate::body::{self, Memory};
use crate::checked::{Addressee, Attributes, CheckedModule, FuncId, VarId, Variable};
use crate::context::Context;
use crate::module::{self, BodyPlace};
use crate::names::{MOST_SEARCHES, Names};
use crate::{Options, function, gates, header, limits};
use softwarp_isa::StateSpace;
use softwarp_syntax::tree::Statement;
use softwarp_syntax::{BodyParser, Diagnostic, Module, Outline, Span};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Which variables of bodies are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locals {
    /// All of them, as [`crate::resolve`] gives them.
    All,
    /// Those that rules about the module need.
    Few,
}

/// What a module means, without its bodies.
#[derive(Debug)]
pub struct Outlined {
    /// The tree. The bodies of its functions are empty.
    pub module: Module,
    /// What it means.
    pub checked: CheckedModule,
    /// What is wrong with it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// More diagnostics about bodies than this depend on their order: there are limits to them.
const MOST_SAID: usize = 50;

/// More symbols than these, beside twice as many as are at module scope, and a thread forgets those of the bodies.
const MOST_SYMBOLS: usize = 1 << 16;

/// Judges the text of a module body by body, on a given number of threads. `None` if it has to be read as a whole, by
/// [`softwarp_syntax::parse`] and [`crate::resolve`].
pub fn resolve_outline(source: &str, options: Options, locals: Locals, threads: usize) -> Option<Outlined> {
    resolve_bodies(source, options, locals, |shared| shared.work(threads))
}

/// Judges the text of a module, with its bodies judged by a function.
pub(crate) fn resolve_bodies(
    source: &str,
    options: Options,
    locals: Locals,
    judge: impl FnOnce(&Shared<'_>) -> Option<Work>,
) -> Option<Outlined> {
    let outline = softwarp_syntax::outline(source)?;
    let mut context = Context::new(&outline.module, source, options, header::assumed(options));
    let places = module::check_items(&mut context, &mut Memory::default());
    let old = context.version() < gates::PARAMETER_LIST.since;
    if old || context.ordered || !context.deferred.is_empty() || places.len() != outline.bodies.len() {
        return None;
    }
    let Context { mut checked, names, mut diagnostics, .. } = context;
    let heads = heads(&checked);
    let shared = Shared {
        source,
        options,
        locals,
        outline: &outline,
        heads: &heads,
        names: &names,
        places: &places,
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
    };
    let mut work = judge(&shared)?;
    let said: usize = work.bodies.iter().map(|(_, body)| body.diagnostics.len()).sum();
    if said > MOST_SAID || work.searches.saturating_add(names.searches()) >= MOST_SEARCHES {
        return None;
    }
    for (_, body) in &mut work.bodies {
        diagnostics.append(&mut body.diagnostics);
    }
    let constants = work.converts_constants;
    let several_results = work.several_results;
    let mut module = outline.module;
    Merge::new(&checked, &places, &work).put(&mut module, &mut checked, &places, work);
    let mut context = Context::with(&module, source, options, checked, Names::empty());
    context.diagnostics = diagnostics;
    context.deferred.several_results = several_results;
    limits::check(&mut context);
    let Context { checked, mut diagnostics, .. } = context;
    if constants && limits::constant_pointer(&checked.variables).is_some() {
        return None;
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    Some(Outlined { module, checked, diagnostics })
}

/// What bodies are judged by: everything at module scope but initial values.
fn heads(checked: &CheckedModule) -> CheckedModule {
    let bare = |variable: &Variable| Variable {
        dimensions: variable.dimensions.clone(),
        initialiser: None,
        attributes: variable.attributes.clone(),
        ..*variable
    };
    CheckedModule {
        header: checked.header,
        variables: checked.variables.iter().map(bare).collect(),
        functions: checked.functions.clone(),
        aliases: Vec::new(),
    }
}

/// What all threads read, and what they share out among them.
pub(crate) struct Shared<'s> {
    pub source: &'s str,
    options: Options,
    locals: Locals,
    outline: &'s Outline,
    heads: &'s CheckedModule,
    names: &'s Names,
    pub places: &'s [BodyPlace],
    /// The next body that no thread has taken.
    next: AtomicUsize,
    /// A body has to be read with the others.
    failed: AtomicBool,
}

/// What bodies say about the module.
#[derive(Default)]
pub(crate) struct Work {
    /// The bodies, each with its number.
    pub bodies: Vec<(usize, BodyFacts)>,
    /// For every function, whether it is referenced and whether its address is taken.
    pub marks: Vec<(bool, bool)>,
    pub searches: u32,
    pub several_results: bool,
    pub converts_constants: bool,
}

/// What a body says.
#[derive(Clone)]
pub(crate) struct BodyFacts {
    pub diagnostics: Vec<Diagnostic>,
    uses: Vec<VarId>,
    calls: Vec<FuncId>,
    calls_indirectly: bool,
    pub cta_groups: [Option<Span>; 2],
    pub locals: Vec<Variable>,
    /// The names of the locals, one behind the other, and where each ends.
    names: String,
    name_ends: Vec<usize>,
    /// Which of the body's variables the locals are.
    numbers: Vec<u32>,
}

impl Shared<'_> {
    /// Judges all bodies. `None` if one has to be read with the others.
    fn work(&self, threads: usize) -> Option<Work> {
        let threads = threads.clamp(1, self.places.len().max(1));
        let parts: Vec<Work> = std::thread::scope(|scope| {
            let started: Vec<_> = (1..threads).map(|_| scope.spawn(|| self.work_alone())).collect();
            let first = self.work_alone();
            let others = started.into_iter().map(|thread| thread.join().unwrap_or(None));
            std::iter::once(first).chain(others).collect::<Option<_>>()
        })?;
        let mut all = Work { marks: vec![(false, false); self.heads.functions.len()], ..Work::default() };
        for part in parts {
            all.bodies.extend(part.bodies);
            all.searches = all.searches.saturating_add(part.searches);
            all.several_results |= part.several_results;
            all.converts_constants |= part.converts_constants;
            for (all, mark) in all.marks.iter_mut().zip(part.marks) {
                *all = (all.0 | mark.0, all.1 | mark.1);
            }
        }
        all.bodies.sort_by_key(|(number, _)| *number);
        Some(all)
    }

    /// Takes one body after another.
    fn work_alone(&self) -> Option<Work> {
        let mut work = Work { marks: vec![(false, false); self.heads.functions.len()], ..Work::default() };
        let most_symbols = MOST_SYMBOLS + 3 * self.outline.module.symbols.len();
        let mut worker = Worker::new(self);
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&place) = self.places.get(number) else {
                worker.end(&mut work);
                return Some(work);
            };
            let Some(body) = worker.body(self, place, &mut work) else { break };
            work.bodies.push((number, body));
            if worker.parser.module().symbols.len() > most_symbols {
                worker.end(&mut work);
                worker = Worker::new(self);
            }
        }
        self.failed.store(true, Ordering::Relaxed);
        None
    }
}

impl Shared<'_> {
    /// How many functions there are.
    pub fn functions(&self) -> usize {
        self.heads.functions.len()
    }
}

/// A thread's own state.
pub(crate) struct Worker<'s> {
    parser: BodyParser<'s>,
    names: Names,
    checked: CheckedModule,
    memory: Memory,
    /// The memory of the last body.
    statements: Vec<Statement>,
}

impl<'s> Worker<'s> {
    pub fn new(shared: &Shared<'s>) -> Worker<'s> {
        let CheckedModule { header, variables, functions, .. } = shared.heads;
        Worker {
            parser: BodyParser::new(shared.source, shared.outline),
            names: Names::empty(),
            checked: CheckedModule {
                header: *header,
                variables: variables.clone(),
                functions: functions.clone(),
                aliases: Vec::new(),
            },
            memory: Memory::default(),
            statements: Vec::new(),
        }
    }

    /// Judges a body.
    pub fn body(&mut self, shared: &Shared<'s>, place: BodyPlace, work: &mut Work) -> Option<BodyFacts> {
        let body = self.parser.parse(place.span, std::mem::take(&mut self.statements))?;
        let module = self.parser.module();
        self.names.grow(module);
        self.names.declare_as(shared.names, place.names);
        self.memory.forget_variables();
        let checked = std::mem::replace(&mut self.checked, CheckedModule::empty(shared.heads.header));
        let names = std::mem::replace(&mut self.names, Names::empty());
        let mut context = Context::with(module, shared.source, shared.options, checked, names);
        context.function = Some(place.function);
        context.names.push_scope();
        function::declare_parameters(&mut context, place.function);
        body::check(&mut context, &mut self.memory, place.function, &body);
        context.names.pop_scope();
        let Context { checked, names, diagnostics, deferred, ordered, .. } = context;
        (self.checked, self.names, self.statements) = (checked, names, body.statements);
        if ordered || !deferred.is_empty() {
            return None;
        }
        work.several_results |= deferred.several_results;
        Some(self.facts(shared, place, diagnostics))
    }

    /// Takes what the last body says, and its variables.
    fn facts(&mut self, shared: &Shared<'s>, place: BodyPlace, diagnostics: Vec<Diagnostic>) -> BodyFacts {
        let known = shared.heads.variables.len();
        let function = &mut self.checked.functions[place.function.0 as usize];
        function.locals.clear();
        let mut facts = BodyFacts {
            diagnostics,
            uses: std::mem::take(&mut function.uses),
            calls: std::mem::take(&mut function.calls),
            calls_indirectly: std::mem::take(&mut function.calls_indirectly),
            cta_groups: std::mem::take(&mut function.cta_groups),
            locals: Vec::new(),
            names: String::new(),
            name_ends: Vec::new(),
            numbers: Vec::new(),
        };
        let names = self.parser.module();
        for (number, local) in (0..).zip(self.checked.variables.drain(known..)) {
            if shared.locals == Locals::All || is_counted(&local) {
                facts.names.push_str(names.name(local.name));
                facts.name_ends.push(facts.names.len());
                facts.numbers.push(number);
                facts.locals.push(local);
            }
        }
        facts
    }

    /// Takes what all bodies since the last call say together.
    pub fn take(&mut self, work: &mut Work) {
        self.end(work);
        for function in &mut self.checked.functions {
            (function.referenced, function.address_taken) = (false, false);
        }
    }

    /// Takes what all bodies together say.
    fn end(&mut self, work: &mut Work) {
        for (mark, function) in work.marks.iter_mut().zip(&self.checked.functions) {
            *mark = (mark.0 | function.referenced, mark.1 | function.address_taken);
        }
        work.searches = work.searches.saturating_add(self.names.searches());
        work.converts_constants |= limits::converts_constants(self.parser.module());
    }
}

/// Whether rules about the module count a variable of a body.
fn is_counted(variable: &Variable) -> bool {
    !matches!(variable.space, StateSpace::Reg | StateSpace::Param | StateSpace::Local)
        || variable.opaque().is_some()
        || variable.linkage.is_some()
        || variable.attributes != Attributes::default()
}

/// The numbers that variables have when those of bodies are put behind their functions.
struct Merge {
    /// For each variable at module scope, its new number.
    moved: Vec<u32>,
    /// For each body, the number of its first local.
    first: Vec<u32>,
    /// How many variables there are at module scope.
    known: u32,
}

impl Merge {
    fn new(checked: &CheckedModule, places: &[BodyPlace], work: &Work) -> Merge {
        let known = checked.variables.len() as u32;
        let mut added = 0;
        let mut first = Vec::with_capacity(places.len());
        let mut moved = Vec::with_capacity(known as usize);
        for (place, (_, body)) in places.iter().zip(&work.bodies) {
            moved.extend((moved.len() as u32..place.variables as u32).map(|id| id + added));
            first.push(place.variables as u32 + added);
            added += body.locals.len() as u32;
        }
        moved.extend((moved.len() as u32..known).map(|id| id + added));
        Merge { moved, first, known }
    }

    fn id(&self, VarId(id): VarId) -> VarId {
        VarId(self.moved.get(id as usize).copied().unwrap_or(id))
    }

    /// The new number of a variable that a body names.
    fn id_in(&self, body: usize, facts_numbers: &[u32], VarId(id): VarId) -> VarId {
        match id.checked_sub(self.known) {
            None => self.id(VarId(id)),
            Some(local) => {
                let place = facts_numbers.partition_point(|&number| number < local) as u32;
                VarId(self.first[body] + place)
            }
        }
    }

    /// Puts what bodies say to what is known at module scope.
    fn put(self, module: &mut Module, checked: &mut CheckedModule, places: &[BodyPlace], work: Work) {
        for (function, (referenced, address_taken)) in checked.functions.iter_mut().zip(&work.marks) {
            function.referenced |= referenced;
            function.address_taken |= address_taken;
            let lists = [&mut function.parameters, &mut function.returns, &mut function.uses];
            lists.into_iter().flatten().for_each(|id| *id = self.id(*id));
        }
        let mut variables = Vec::with_capacity(checked.variables.len());
        let mut known = std::mem::take(&mut checked.variables).into_iter();
        let mut taken = 0;
        for ((body, facts), place) in work.bodies.into_iter().zip(places) {
            variables.extend(known.by_ref().take(place.variables - taken));
            taken = place.variables;
            let function = &mut checked.functions[place.function.0 as usize];
            function.uses.extend(facts.uses.iter().map(|&id| self.id(id)));
            function.calls.extend(facts.calls);
            function.calls_indirectly |= facts.calls_indirectly;
            function.cta_groups = facts.cta_groups;
            let ids = self.first[body]..self.first[body] + facts.locals.len() as u32;
            function.locals.extend(ids.map(VarId));
            let mut start = 0;
            for (mut local, &end) in facts.locals.into_iter().zip(&facts.name_ends) {
                local.name = module.symbols.intern(&facts.names[start..end]);
                start = end;
                renumber(&mut local, |id| self.id_in(body, &facts.numbers, id));
                variables.push(local);
            }
        }
        variables.extend(known);
        // Those of bodies have been renumbered already: they have the numbers from the first local of each body on.
        for &id in &self.moved {
            if let Some(variable) = variables.get_mut(id as usize) {
                renumber(variable, |id| self.id(id));
            }
        }
        checked.variables = variables;
    }
}

/// Renumbers the variables in a variable's initial value.
fn renumber(variable: &mut Variable, number: impl Fn(VarId) -> VarId) {
    for address in variable.initialiser.iter_mut().flat_map(|initialiser| &mut initialiser.addresses) {
        if let Addressee::Variable(id, _) = &mut address.of {
            *id = number(*id);
        }
    }
}
