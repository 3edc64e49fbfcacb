//! Lowers a function: the walk over its statements, and the passes after it.

use crate::allocate::{Allocated, Sharing, allocate};
use crate::builder::{
    Builder, Constants, Current, Decisions, EPILOGUE, Labels, Lowered, PrivateMemory, Refusal, because,
};
use crate::code::Code;
use crate::form::{self, Action, Form};
use crate::forward::{Registers, forward};
use crate::number_map::NumberMap;
use crate::session::Session;
use crate::virtuals::ConstantRows;
use softwarp_check::Reference;
use softwarp_image::FunctionId;
use softwarp_ir::start::{Forwarded, Start};
use softwarp_ir::{Class, Function, Guard, Location, Op, Step};
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Instruction, Item, Operand, Range, Statement};
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
        current: Current {
            statement: 0,
            span: body.map_or(is.span, |body| Span::new(body.span.start, body.span.start + 1)),
            mnemonic: None,
            guard: Guard::ALWAYS,
            begins: false,
        },
        code: Code::default(),
        labels: Labels::default(),
        virtuals: Vec::new(),
        registers: NumberMap::default(),
        constants: Constants::default(),
        ptxas: Decisions::default(),
        memory: PrivateMemory { local_bytes: is.frame.bytes, ..PrivateMemory::default() },
        session,
    };
    if body.is_none() {
        let name = &is.name;
        builder.refuse(is.span, format!("`{name}` has no body"));
    }
    builder.place_parameters(is.arguments.bytes);
    builder.enter();
    let fidelity = builder.session.options.fidelity;
    if fidelity.lost_saturation {
        builder.ptxas.unsaturated = builder.forgotten_saturations();
    }
    if fidelity.contraction {
        builder.ptxas.contractions = builder.contractions();
    }
    builder.body();
    builder.current.span =
        body.map_or(is.span, |body| Span::new(body.span.end.saturating_sub(1), body.span.end));
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
                    self.labels.ops.insert(index, self.code.next());
                }
                Statement::Loc(span) => self.locate(span.text(self.of.source)),
                Statement::Instruction(instruction) => {
                    let predicate = instruction.guard.and_then(|_| guards.next());
                    let predicate = predicate.map_or(Reference::Nothing, |guard| guard.predicate);
                    self.current.statement = index;
                    self.instruction(predicate, instruction);
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, predicate: Reference, instruction: &Instruction) {
        self.current.span = instruction.span;
        self.current.mnemonic = Some(instruction.mnemonic);
        self.current.begins = true;
        let lowered = self.guarded(predicate, instruction);
        self.current.guard = Guard::ALWAYS;
        self.current.begins = false;
        self.current.mnemonic = None;
        let Err(refusal) = lowered else { return };
        let mnemonic = form::text(self.of.module, instruction.mnemonic);
        let what = match refusal {
            Refusal::Form | Refusal::Elsewhere => format!("`{mnemonic}` is not executed"),
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
            self.current.guard = Guard::new(slot, guard.negated);
        }
        let form = self.form(instruction.mnemonic).ok_or(Refusal::Form)?;
        if self.ptxas.unsaturated.contains(&self.current.statement) {
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
            Action::Other => self.other(form, operands),
        }
    }

    /// Everything that is not arithmetic: the file that knows the instruction lowers it. No two know the same one.
    fn other(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let files = [
            Self::moves,
            Self::accesses,
            Self::addresses,
            Self::control,
            Self::barriers_and_lanes,
            Self::fence,
            Self::cluster,
            Self::asynchronous,
            Self::matrix,
            Self::tensor_core,
            Self::texture,
            Self::multimem,
        ];
        for lower in files {
            match lower(self, form, operands) {
                Err(Refusal::Elsewhere) => {}
                lowered => return lowered,
            }
        }
        Err(Refusal::Form)
    }

    /// `.loc 1 35 3`
    fn locate(&mut self, text: &str) {
        let mut numbers =
            text.split_whitespace().skip(1).map_while(|word| word.trim_end_matches(',').parse().ok());
        let (Some(file), Some(line)) = (numbers.next(), numbers.next()) else { return };
        let location = Location { file, line, column: numbers.next().unwrap_or(0) };
        self.code.locate(location);
    }

    /// Replaces the statements that branches lead to by operations.
    fn resolve_branches(&mut self, end: u32) {
        let place = |target: &mut u32| *target = self.labels.ops.get(target).copied().unwrap_or(end);
        for op in &mut self.code.ops {
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
    }

    /// Ends the text: adds the epilogue if it can be reached, and resolves branches.
    fn end(&mut self) {
        if matches!(self.code.ops.last(), Some(Op::Branch(Guard::ALWAYS, EPILOGUE))) {
            // What it would branch to comes next.
            self.code.pop();
            self.current.begins = true;
        }
        let end = self.code.next();
        self.labels.ops.values_mut().for_each(|at| *at = end.min(*at));
        let falls_through = match self.code.ops.last() {
            None => true,
            Some(Op::Alu(_)) => true,
            Some(Op::Branch(guard, _)) => *guard != Guard::ALWAYS,
            Some(Op::Other(guard, step)) => *guard != Guard::ALWAYS || !ends_threads(step),
        };
        self.labels.ops.insert(EPILOGUE, end);
        let ends_at_label = self.labels.ops.iter().any(|(&label, &at)| label != EPILOGUE && at == end);
        if falls_through || ends_at_label || self.has_epilogue() {
            self.epilogue();
        }
        self.resolve_branches(end);
        self.code.instructions.push(self.code.begun);
    }

    /// Ends the text and gives registers their rows.
    fn finish(mut self, function: FunctionId) -> Function {
        self.end();
        let mut constants = ConstantRows {
            narrow: self.constants.narrow.len() as u32,
            wide: self.constants.wide.len() as u32,
        };
        let mut start = Start::default();
        let parameters = self.session.image.function(function).parameter_extent.bytes;
        let moves = |form: Option<Rc<Form>>| form.is_some_and(|form| form.instruction.opcode == Opcode::Mov);
        let moves: Vec<bool> = self.sources().map(moves).collect();
        let named = crate::group::named(&mut self.code.ops, |at| moves.get(at) == Some(&true));
        let own = self.virtuals.len() as u32;
        let debug = self.session.options.debug;
        let forwarded = match debug {
            true => Forwarded::default(),
            false => forward(
                &mut self.code.ops,
                &self.code.copies,
                self.entry.then_some(parameters),
                Registers { virtuals: &mut self.virtuals, constants: &mut constants, start: &mut start },
            ),
        };
        let mut ops = std::mem::take(&mut self.code.ops);
        let always = self.session.all_tables;
        let sharing = if debug { Sharing::None } else { Sharing::Rows };
        let Allocated { rows, zeroed, table, slots } =
            allocate(&mut ops, &self.virtuals, constants, (sharing, always), || self.names(own));
        self.code.ops = ops;
        let debug = debug.then(|| Box::new(self.debug_registers(&slots)));
        let own = [
            self.constants.narrow.len() + start.narrow_given(),
            self.constants.wide.len() + start.wide_given(),
        ];
        start.zeroed = Some(with_seen(zeroed, &mut self.code.ops, own, rows.wide));
        Function {
            function,
            ops: self.code.ops,
            spans: self.code.spans,
            instructions: self.code.instructions,
            locations: self.code.locations,
            narrow: rows.narrow,
            wide: rows.wide,
            predicates: rows.predicates,
            narrow_constants: self.constants.narrow,
            wide_constants: self.constants.wide,
            shared_narrow: self.constants.shared.narrow,
            shared_wide: self.constants.shared.wide,
            local_bytes: self.memory.local_bytes,
            parameter_bytes: self.memory.parameter_bytes,
            start,
            forwarded,
            named,
            registers: table,
            debug,
        }
    }
}

/// Whether the threads that execute an operation execute nothing after it in the function.
fn ends_threads(step: &Step) -> bool {
    match step {
        Step::Return | Step::Exit | Step::Trap => true,
        // An end after it that nothing comes to does no harm.
        Step::Switch(_) => false,
        Step::Breakpoint | Step::Yield | Step::Call(_) | Step::Special(_) | Step::FrameAddress(_) => false,
        Step::Alloca(_) | Step::StackSave(_) | Step::StackRestore(_) | Step::Load(_) => false,
        Step::Store(_) | Step::Atomic(_) | Step::Fence(_) | Step::Barrier(_) | Step::Warp(_) => false,
        Step::Multimem(_) | Step::Group(_) | Step::Texture(_) | Step::Cluster(_) => false,
        Step::Asynchronous(_) | Step::Matrix(_) | Step::TensorCore(_) => false,
    }
}

/// Rows that are zeroed, with those that an operation may see in lanes that do not take part in it: these may not have
/// written them. The rows before `own` are given.
fn with_seen(zeroed: [Vec<u32>; 2], ops: &mut [Op], own: [usize; 2], wide_rows: u32) -> [Vec<u32>; 2] {
    let [mut narrow, mut wide] = zeroed;
    for op in ops.iter_mut().filter(|op| matches!(op, Op::Other(_, step) if step.properties().lanes)) {
        op.visit(|slot, role| match (role.is_read(), slot.class()) {
            (true, Class::Narrow) => narrow.push(slot.number()),
            // A register of 128 bits has two rows.
            (true, Class::Wide) => wide.extend([slot.number(), slot.number() + 1]),
            (true, Class::Predicate) | (false, Class::Narrow | Class::Wide | Class::Predicate) => {}
        });
    }
    narrow.retain(|&row| row as usize >= own[0]);
    wide.retain(|&row| row as usize >= own[1] && row < wide_rows);
    [narrow, wide].map(|mut rows| {
        rows.sort_unstable();
        rows.dedup();
        rows
    })
}
