//! One function: the walk over its statements, and what comes of them.

use crate::allocate::allocate;
use crate::builder::{Builder, Contractions, EPILOGUE, Lowered, NumberMap, Refusal, because};
use crate::form::{self, Action, Form};
use crate::forward::{Registers, forward};
use crate::session::Session;
use softwarp_check::Reference;
use softwarp_image::FunctionId;
use softwarp_ir::group::GroupOp;
use softwarp_ir::start::Start;
use softwarp_ir::{Function, Guard, Location, Op, Step};
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Instruction, Item, Statement};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Lowers a function. What cannot be executed goes to the session.
pub fn lower(session: &mut Session<'_>, function: FunctionId) -> Function {
    let image = session.image;
    let is = image.function(function);
    let of = session.units[is.unit as usize];
    let checked = of.checked.function(is.id);
    let body = match of.module.items.get(checked.item as usize) {
        Some(Item::Function(item)) => item.body.as_ref(),
        _ => None,
    };
    let mut builder = Builder {
        unit: is.unit,
        of,
        id: is.id,
        entry: is.entry,
        statements: body.map_or(&[][..], |body| &body.statements),
        scopes: None,
        ops: Vec::new(),
        spans: Vec::new(),
        mnemonics: Vec::new(),
        mnemonic: None,
        instructions: Vec::new(),
        begun: 0,
        begins: false,
        locations: Vec::new(),
        copies: Vec::new(),
        virtuals: Vec::new(),
        registers: NumberMap::default(),
        narrow_constants: Vec::new(),
        wide_constants: Vec::new(),
        narrow_known: NumberMap::default(),
        wide_known: NumberMap::default(),
        shared_narrow: Vec::new(),
        shared_wide: Vec::new(),
        shared_known: HashMap::new(),
        labels: HashMap::new(),
        guard: Guard::ALWAYS,
        span: body.map_or(is.span, |body| Span::new(body.span.start, body.span.start + 1)),
        unsaturated: HashSet::new(),
        saturation_forgotten: false,
        contractions: Contractions::default(),
        statement: 0,
        homes: HashMap::new(),
        in_frame: HashMap::new(),
        arguments: 0,
        scratch: 0,
        parameter_bytes: 0,
        local_bytes: is.frame.bytes,
        session,
    };
    if body.is_none() {
        let name = &is.name;
        builder.refuse(is.span, format!("`{name}` has no body"));
    }
    builder.place_parameters(is.arguments.bytes);
    builder.enter();
    let fidelity = builder.session.fidelity;
    if fidelity.lost_saturation {
        builder.unsaturated = builder.forgotten_saturations();
    }
    if fidelity.contraction {
        builder.contractions = builder.contractions();
    }
    builder.body();
    builder.span = body.map_or(is.span, |body| Span::new(body.span.end.saturating_sub(1), body.span.end));
    builder.finish(function)
}

impl<'a> Builder<'_, 'a> {
    /// Everything between the braces.
    fn body(&mut self) {
        let guards = self.session.names[self.unit as usize].guards.get(&self.id).cloned().unwrap_or(0..0);
        let mut guards = self.of.references.guards[guards].iter();
        for (index, statement) in (0..).zip(self.statements) {
            match statement {
                Statement::Label(_) => {
                    self.labels.insert(index, self.ops.len() as u32);
                }
                Statement::Loc(span) => self.locate(span.text(self.of.source)),
                Statement::Instruction(instruction) => {
                    let predicate = instruction.guard.and_then(|_| guards.next());
                    let predicate = predicate.map_or(Reference::Nothing, |guard| guard.predicate);
                    self.saturation_forgotten = self.unsaturated.contains(&index);
                    self.statement = index;
                    self.instruction(predicate, instruction);
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, predicate: Reference, instruction: &Instruction) {
        self.span = instruction.span;
        self.mnemonic = Some(instruction.mnemonic);
        self.begins = true;
        let lowered = self.guarded(predicate, instruction);
        self.guard = Guard::ALWAYS;
        self.begins = false;
        self.mnemonic = None;
        let Err(refusal) = lowered else { return };
        let mnemonic = form::text(self.of.module, instruction.mnemonic);
        let what = match refusal {
            Refusal::Form => format!("`{mnemonic}` is not executed"),
            Refusal::Because(why) => format!("`{mnemonic}` is not executed {why}"),
        };
        self.refuse(instruction.mnemonic_span, what);
    }

    fn guarded(&mut self, predicate: Reference, instruction: &Instruction) -> Lowered<()> {
        if let Some(guard) = instruction.guard {
            let Reference::Variable(id, member) = predicate else {
                return because("with a guard that is no register");
            };
            let slot = self.register(id, member, 0)?.id;
            self.guard = Guard::new(slot, guard.negated);
        }
        let form = self.form(instruction.mnemonic).ok_or(Refusal::Form)?;
        if self.saturation_forgotten {
            return self.act(&form.without(Modifier::Sat), instruction);
        }
        self.act(&form, instruction)
    }

    fn act(&mut self, form: &Form, instruction: &Instruction) -> Lowered<()> {
        let operands = instruction.operands;
        match form.action {
            Action::Alu => {
                if self.contracted(form, operands)? {
                    return Ok(());
                }
                self.keep_factors(form, operands)?;
                self.alu(form, operands)
            }
            Action::Video => self.video(form, operands),
            Action::Move => self.mov(form, operands),
            Action::Load => self.load(form, operands),
            Action::Store => self.store(form, operands),
            Action::Atom(op) => self.atomic(form, operands, op, true),
            Action::Red(op) => self.atomic(form, operands, op, false),
            Action::Branch => self.branch(operands),
            Action::Switch => self.switch(operands),
            Action::Call => self.call(operands),
            Action::Return => self.leave(),
            Action::Exit => self.step(Step::Exit),
            Action::Trap => self.step(Step::Trap),
            Action::Breakpoint => self.step(Step::Breakpoint),
            Action::Barrier(op) => self.barrier(form, operands, op),
            Action::Warp(op) => self.warp(operands, op),
            Action::Fence => self.fence(form),
            Action::Yield => self.step(Step::Yield),
            Action::Nothing => Ok(()),
            Action::WholeGroup => self.together(Step::Group(GroupOp::WholeGroup)),
            Action::Zero => self.zero(operands),
            Action::ToGeneric => self.cvta(form, operands),
            Action::FromGeneric => self.cvta_to(form, operands),
            Action::IsSpace => self.is_space(form, operands),
            Action::Alloca => self.alloca(form, operands),
            Action::StackSave => self.stack_save(form, operands),
            Action::StackRestore => self.stack_restore(form, operands),
            Action::Texture => self.texture(form, operands),
            Action::Cluster => {
                if form.has(Modifier::Aligned) {
                    self.together(Step::Group(GroupOp::WholeWarp))?;
                }
                self.cluster(form, operands)
            }
            Action::Multimem => self.multimem(form, operands),
            Action::Asynchronous => self.asynchronous(form, operands),
            Action::Matrix => self.matrix(form, operands),
            Action::Refused => Err(Refusal::Form),
        }
    }

    /// `.loc 1 35 3`
    fn locate(&mut self, text: &str) {
        let mut numbers =
            text.split_whitespace().skip(1).map_while(|word| word.trim_end_matches(',').parse().ok());
        let (Some(file), Some(line)) = (numbers.next(), numbers.next()) else { return };
        let location = Location { file, line, column: numbers.next().unwrap_or(0) };
        let at = self.ops.len() as u32;
        match self.locations.last_mut() {
            Some((first, last)) if *first == at => *last = location,
            Some((_, last)) if *last == location => {}
            _ => self.locations.push((at, location)),
        }
    }

    /// Ends the text, resolves branches and gives registers their rows.
    fn finish(mut self, function: FunctionId) -> Function {
        if matches!(self.ops.last(), Some(Op::Branch(Guard::ALWAYS, EPILOGUE))) {
            // What it would branch to comes next.
            self.ops.pop();
            self.spans.pop();
            self.mnemonics.pop();
            self.begun = self.instructions.pop().unwrap_or(0);
            self.begins = true;
        }
        let end = self.ops.len() as u32;
        self.labels.values_mut().for_each(|at| *at = end.min(*at));
        let falls_through = match self.ops.last() {
            None => true,
            Some(Op::Alu(_)) => true,
            Some(Op::Branch(guard, _)) => *guard != Guard::ALWAYS,
            Some(Op::Other(guard, step)) => {
                *guard != Guard::ALWAYS || !matches!(**step, Step::Return | Step::Exit | Step::Trap)
            }
        };
        self.labels.insert(EPILOGUE, end);
        let ends_at_label = self.labels.iter().any(|(&label, &at)| label != EPILOGUE && at == end);
        if falls_through || ends_at_label || self.has_epilogue() {
            self.epilogue();
        }
        for op in &mut self.ops {
            let place = |target: &mut u32| *target = self.labels.get(target).copied().unwrap_or(end);
            match op {
                Op::Branch(_, target) => place(target),
                Op::Other(_, step) => {
                    if let Step::Switch(switch) = &mut **step {
                        switch.targets.iter_mut().for_each(place);
                    }
                }
                Op::Alu(_) => {}
            }
        }
        self.instructions.push(self.begun);
        let mut constants = (self.narrow_constants.len() as u32, self.wide_constants.len() as u32);
        let mut start = Start::default();
        let parameters = self.session.image.function(function).parameter_extent.bytes;
        let moves = |form: Option<Rc<Form>>| form.is_some_and(|form| form.shape.opcode == Opcode::Mov);
        let moves: Vec<bool> = self.sources().map(moves).collect();
        let named = crate::group::named(&mut self.ops, |at| moves.get(at) == Some(&true));
        let own = self.virtuals.len() as u32;
        let forwarded = forward(
            &mut self.ops,
            &self.copies,
            self.entry.then_some(parameters),
            Registers { virtuals: &mut self.virtuals, constants: &mut constants, start: &mut start },
        );
        let mut ops = std::mem::take(&mut self.ops);
        let (rows, zeroed, table) =
            allocate(&mut ops, &self.virtuals, constants, (self.session.all_tables, || self.names(own)));
        self.ops = ops;
        // Lanes that see each other's registers may see those of lanes that have not written them.
        start.zeroed = (!self.ops.iter().any(sees_lanes)).then_some(zeroed);
        Function {
            function,
            ops: self.ops,
            spans: self.spans,
            instructions: self.instructions,
            locations: self.locations,
            narrow: rows.narrow,
            wide: rows.wide,
            predicates: rows.predicates,
            narrow_constants: self.narrow_constants,
            wide_constants: self.wide_constants,
            shared_narrow: self.shared_narrow,
            shared_wide: self.shared_wide,
            local_bytes: self.local_bytes,
            parameter_bytes: self.parameter_bytes,
            start,
            forwarded,
            named,
            registers: table,
        }
    }
}

/// Whether an operation may see registers of lanes that do not take part in it.
fn sees_lanes(op: &Op) -> bool {
    matches!(op, Op::Other(_, step) if step.properties().lanes)
}
