//! The table of registers of a function ([`softwarp_ir::defined`]), made where registers get their rows.

use crate::builder::Builder;
use crate::form::Form;
use crate::virtuals::Virtual;
use softwarp_ir::Role;
use softwarp_ir::defined::{CONSTANT, Effect, GIVEN, Origin, Table};
use softwarp_ir::{Guard, Op, Step, WarpOpKind};
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Opcode};
use std::collections::HashMap;
use std::rc::Rc;

/// What is known of a register by its virtual register.
#[derive(Default)]
pub struct Names {
    names: HashMap<u32, (String, softwarp_syntax::Span)>,
    effects: Vec<Effect>,
    /// Constants have virtual registers below this; above are those of rows that the launch gives.
    constants: u32,
    /// Bytes of parameters, return values and arguments.
    parameter_bytes: u64,
}

impl Builder<'_, '_> {
    /// Names of registers, and what each operation makes of undefined ones.
    ///
    /// `constants` is how many virtual registers there were before the launch gave any.
    pub fn names(&self, constants: u32) -> Names {
        let mut names = HashMap::new();
        for (met, register) in self.met_registers() {
            names.insert(register.id.number(), (met.name, self.of.checked.variable(met.id).span));
        }
        let effect = |form: Option<Rc<Form>>| form.map_or(Effect::Any, |form| effect(&form.instruction));
        let effects = self.sources().map(effect).collect();
        Names { names, effects, constants, parameter_bytes: self.memory.parameter_bytes }
    }
}

/// What an instruction makes of undefined registers.
fn effect(form: &InstructionForm) -> Effect {
    use Opcode::{And, Bfi, Bmsk, Cvt, Lop3, Mov, Or, Prmt, Selp, Shf, Slct, Sub, Szext, Xor};
    let is_pair = |ty: Option<&Type>| ty.is_some_and(|ty| ty.lanes() == 2);
    match form.opcode {
        Selp => Effect::Select,
        Xor | Sub => Effect::Difference,
        Mov => Effect::Move,
        And | Or | Lop3 | Bfi | Prmt | Shf | Slct | Bmsk | Szext => Effect::All,
        Cvt if is_truncation(&form.types) => Effect::Low,
        // Two numbers become the halves of one register.
        Cvt if is_pair(form.types.first()) => Effect::All,
        _ if is_pair(form.types.last()) => Effect::Halves,
        _ => Effect::Any,
    }
}

/// Whether a conversion takes the low half of an integer, or less.
fn is_truncation(types: &[Type]) -> bool {
    matches!(types, &[to, from] if to.is_int() && from.is_int() && 2 * to.bits() <= from.bits())
}

/// Whether the results of an operation may be undefined though its sources are not.
fn shuffles(op: &Op) -> bool {
    use WarpOpKind::{ShflBfly, ShflDown, ShflIdx, ShflUp};
    let Op::Other(_, step) = op else { return false };
    let shuffle = |op| matches!(op, ShflUp | ShflDown | ShflBfly | ShflIdx);
    matches!(&**step, Step::Warp(op) if op.members.is_some() && shuffle(op.op))
}

/// Whether a function needs a table: `exposed` are virtual registers that may be read before they are written.
pub fn is_needed(ops: &[Op], exposed: &[u32], always: bool) -> bool {
    always || !exposed.is_empty() || ops.iter().any(shuffles)
}

/// The table of a function whose operations have numbers of virtual registers yet; `slots` and `rows` are what becomes
/// of these.
pub fn table(
    ops: &mut [Op],
    exposed: &[u32],
    names: &Names,
    registers: &[Virtual],
    slots: &[u32],
    rows: crate::virtuals::Rows,
) -> Table {
    let narrow = GIVEN + 1;
    let wide = narrow + rows.narrow;
    let predicates = wide + rows.wide;
    let row = |slot: u32| match registers.get(slot as usize) {
        Some(Virtual::Narrow) => narrow + slots[slot as usize],
        Some(Virtual::Wide | Virtual::Pair | Virtual::High) => wide + slots[slot as usize],
        Some(Virtual::Predicate) => predicates + slots[slot as usize],
        Some(Virtual::NarrowConstant(_) | Virtual::WideConstant(_)) if slot < names.constants => CONSTANT,
        Some(Virtual::NarrowConstant(_) | Virtual::WideConstant(_)) => GIVEN,
        // The carry flag has a slot of its own, and is not looked at.
        None => GIVEN,
    };
    let mut table = Table::new(predicates + rows.predicates, wide..predicates, names.parameter_bytes);
    let mut written = vec![false; registers.len()];
    let (mut bases, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for (at, op) in ops.iter_mut().enumerate() {
        bases.clear();
        reads.clear();
        writes.clear();
        let guarded = op.guard();
        let mut first = guarded != Guard::ALWAYS;
        op.visit(|slot, role| match role {
            // The guard comes first.
            Role::Read if std::mem::take(&mut first) => {}
            Role::Address => bases.push(row(slot.number())),
            Role::Read => reads.push(row(slot.number())),
            Role::Write => {
                writes.push(row(slot.number()));
                if let Some(written) = written.get_mut(slot.number() as usize) {
                    *written = true;
                }
            }
        });
        let effect = names.effects.get(at).copied().unwrap_or_default();
        let effect = match effect {
            Effect::Select if reads.len() != 3 => Effect::Any,
            effect => effect,
        };
        let guard = guarded.predicate().map(|slot| row(slot.number()));
        table.push(effect, guard, &bases, &reads, &writes);
    }
    for &register in exposed {
        let Some((name, span)) = names.names.get(&register) else { continue };
        let never = !written[register as usize];
        let origin = table.origins.len() as u32;
        table.origins.push(Origin { name: name.clone(), span: *span, never });
        table.start.push((row(register), origin));
        if registers.get(register as usize) == Some(&Virtual::Pair) {
            table.start.push((row(register) + 1, origin));
        }
    }
    table
}
