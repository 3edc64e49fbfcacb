//! Which instructions may have written a register last: reaching definitions, by going back along the control flow.

use crate::analysis::{Analysis, Entity, Role};
use softwarp_isa::instruction::Opcode;
use softwarp_syntax::tree::{Instruction, OperandKind, Statement, Symbol};
use std::collections::{HashMap, HashSet};

/// The most statements that are looked at.
const MOST: usize = 100_000;

/// What may have written a register last before a statement of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writers {
    /// The statements, in the order of the text.
    pub statements: Vec<u32>,
    /// Whether the start of the function is reached on a way without a write.
    pub unwritten: bool,
}

/// Finds them.
pub fn last_writers(analysis: &Analysis, item: u32, before: u32, register: Entity) -> Writers {
    let statements = analysis.statements(item);
    let written: HashMap<u32, bool> = analysis
        .occurrences()
        .iter()
        .filter(|one| one.entity == register && one.role == Role::Written)
        .filter_map(|one| one.at.filter(|at| at.0 == item))
        .map(|(_, statement)| (statement, is_guarded(&statements[statement as usize])))
        .collect();
    let branches = branches(analysis, statements);
    let mut writers = Writers::default();
    let mut seen = HashSet::new();
    let mut rest = predecessors(analysis, statements, &branches, before, &mut writers.unwritten);
    while let Some(at) = rest.pop() {
        if !seen.insert(at) || seen.len() > MOST {
            continue;
        }
        match written.get(&at) {
            Some(guarded) => {
                writers.statements.push(at);
                if *guarded {
                    rest.extend(predecessors(analysis, statements, &branches, at, &mut writers.unwritten));
                }
            }
            None => rest.extend(predecessors(analysis, statements, &branches, at, &mut writers.unwritten)),
        }
    }
    writers.statements.sort_unstable();
    writers
}

fn is_guarded(statement: &Statement) -> bool {
    matches!(statement, Statement::Instruction(instruction) if instruction.guard.is_some())
}

/// The statements that branch to each label. Every `brx` counts for every list of targets.
fn branches(analysis: &Analysis, statements: &[Statement]) -> HashMap<Symbol, Vec<u32>> {
    let mut found: HashMap<Symbol, Vec<u32>> = HashMap::new();
    let is_brx = |statement: &Statement| match statement {
        Statement::Instruction(instruction) => opcode(analysis, instruction) == Some(Opcode::Brx),
        _ => false,
    };
    let by_index: Vec<u32> =
        (0..).zip(statements).filter(|(_, statement)| is_brx(statement)).map(|(index, _)| index).collect();
    for (index, statement) in (0..).zip(statements) {
        match statement {
            Statement::Instruction(instruction) if opcode(analysis, instruction) == Some(Opcode::Bra) => {
                for operand in instruction.operands.of(&analysis.module.operands) {
                    if let OperandKind::Name(label) = operand.kind {
                        found.entry(label).or_default().push(index);
                    }
                }
            }
            Statement::BranchTargets(targets) => {
                targets.is.iter().for_each(|name| found.entry(name.symbol).or_default().extend(&by_index));
            }
            _ => {}
        }
    }
    found
}

fn opcode(analysis: &Analysis, instruction: &Instruction) -> Option<Opcode> {
    let mnemonic = analysis.module.mnemonic(instruction.mnemonic);
    Opcode::from_name(analysis.name(mnemonic.opcode))
}

/// The statements that may be executed right before one.
fn predecessors(
    analysis: &Analysis,
    statements: &[Statement],
    branches: &HashMap<Symbol, Vec<u32>>,
    at: u32,
    reaches_start: &mut bool,
) -> Vec<u32> {
    let mut found = Vec::new();
    if let Some(Statement::Label(name)) = statements.get(at as usize) {
        found.extend(branches.get(&name.symbol).into_iter().flatten().copied());
    }
    match at.checked_sub(1) {
        None => *reaches_start = true,
        Some(before) => {
            let leaves = match statements.get(before as usize) {
                Some(Statement::Instruction(instruction)) if instruction.guard.is_none() => matches!(
                    opcode(analysis, instruction),
                    Some(Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap)
                ),
                _ => false,
            };
            if !leaves {
                found.push(before);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_found_along_branches() {
        let source = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\n\
            mov.u32 %r1, 0;\nmov.u32 %r2, 5;\nLOOP:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 9;\n\
            @%p bra LOOP;\n@%p mov.u32 %r2, 6;\nmov.u32 %r3, %r2;\nret;\n}\n";
        let analysis = Analysis::new(source, softwarp_check::Options::default());
        let (item, _) = analysis.functions().next().expect("a function");
        let lines = |text: &str, name: &str| {
            let byte = source.find(text).expect("it is there") as u32;
            let (_, statement) = analysis.statement_at(byte).expect("a statement");
            let at = byte + text.find(name).expect("the name") as u32;
            let entity = analysis.occurrence_at(at).expect("a name").entity;
            let writers = last_writers(&analysis, item, statement, entity);
            let line = |&statement: &u32| {
                let span = crate::analysis::statement_span(&analysis.statements(item)[statement as usize]);
                source[..span.start as usize].lines().count() as u32 + 1
            };
            (writers.statements.iter().map(line).collect::<Vec<_>>(), writers.unwritten)
        };
        assert_eq!(lines("add.u32 %r1, %r1, 1", "%r1, 1"), (vec![8, 11], false));
        assert_eq!(lines("mov.u32 %r3, %r2", "%r2"), (vec![9, 14], false));
        assert_eq!(lines("mov.u32 %r3, %r2", "%r3"), (vec![], true));
    }
}
