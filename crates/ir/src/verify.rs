//! Checks that a function is well formed: what lowering must guarantee, and the interpreter relies on.

use crate::operand::Role;
use crate::start::Given;
use crate::{Class, Function, Slot};
use std::collections::HashSet;

impl Function {
    /// Checks the tables beside the operations, the targets of branches, the numbers of slots, and that rows of
    /// constants and of what the launch gives are not written. Says what is wrong first.
    pub fn verify(&self) -> Result<(), String> {
        let count = self.ops.len();
        if self.spans.len() != count || self.instructions.len() != count + 1 {
            return Err(format!("{count} operations have {} places in the text", self.spans.len()));
        }
        if !self.instructions.is_sorted() {
            return Err("instructions are not counted in order".to_owned());
        }
        let is_sorted =
            [&self.narrow_constants, &self.shared_narrow].map(|list| list.is_sorted_by_key(|one| one.0));
        let is_sorted_too =
            [&self.wide_constants, &self.shared_wide].map(|list| list.is_sorted_by_key(|one| one.0));
        if [is_sorted, is_sorted_too].concat().contains(&false) {
            return Err("constants are not in the order of their rows".to_owned());
        }
        let fixed = self.fixed();
        for (n, op) in self.ops.iter().enumerate() {
            let wrong = |what: String| format!("operation {n}, `{op}`: {what}");
            if let Some(target) = op.targets().iter().find(|&&target| target as usize > count) {
                return Err(wrong(format!("it branches to {target}")));
            }
            let mut found = None;
            // Visiting may change slots, and so needs an operation of its own.
            op.clone().visit(|slot, role| {
                let rows = match slot.class() {
                    Class::Narrow => self.narrow,
                    Class::Wide => self.wide,
                    Class::Predicate => self.predicates,
                };
                if slot.number() >= rows {
                    found = Some(format!("{slot} is none of {rows} rows"));
                }
                if role == Role::Write && fixed.contains(slot) {
                    found = Some(format!("it writes {slot}, which is constant"));
                }
            });
            if let Some(what) = found {
                return Err(wrong(what));
            }
        }
        Ok(())
    }

    /// The rows that no operation may write.
    fn fixed(&self) -> HashSet<Slot> {
        let given = self.start.given.iter().map(|given| match *given {
            Given::Special(row, _) | Given::Narrow(row, _) => Slot::narrow(row),
            Given::Wide(row, _) => Slot::wide(row),
        });
        let narrow = self.narrow_constants.iter().map(|&(row, _)| Slot::narrow(row));
        let wide = self.wide_constants.iter().map(|&(row, _)| Slot::wide(row));
        let of_cta = self.start.of_cta.iter().map(|&(row, _)| Slot::narrow(row));
        given.chain(narrow).chain(wide).chain(of_cta).collect()
    }
}
