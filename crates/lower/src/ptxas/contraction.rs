//! Sums that take in a product: what the assembler makes of `mul` and `add` without a rounding (PTX ISA sections
//! 9.7.3.3 to 9.7.3.6 and 9.7.4).
//!
//! Without `.rn`, a product and a sum may become one `fma`, which rounds once. The GPU's assembler does so wherever it
//! can, and compilers leave it such pairs, so programs see it. When it can was found out by giving ptxas 13.4 some
//! 200 kernels and reading which multiplications were left; the results of an H200 agree.
//!
//! Within a basic block, a product that nothing else reads than sums of the same type and `.ftz` goes into them: first
//! each that only one sum reads, then those that several do, sum by sum. Of two products that a sum could take, it is
//! the first. The other one is then added, so it must be computed, and goes into no further sum. A quotient by way of
//! the reciprocal (`div.approx`, `div.full`) is such a product, too. Copies and negations are looked through. A
//! multiplication by a constant or a kernel's parameter is cheap enough to be done again: its sums may be in other
//! blocks.
//!
//! The block of a product does not end at a label that nothing leads to, at a barrier or at an access to memory; it
//! does at a fence, at a division that has branches inside, and at a guarded instruction with an effect beyond
//! registers, which is a branch around it.
//!
//! Not followed: products and sums that meet only since the assembler unrolls a loop.

mod apply;

use super::saturation::Name;
use crate::builder::{Builder, Contractions, Taken};
use crate::form::Action;
use crate::operand::constant_bits;
use softwarp_check::Reference;
use softwarp_check::constant::Value;
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode, Space};
use softwarp_syntax::tree::{Instruction, MnemonicId, OperandKind, Statement};
use std::collections::{HashMap, HashSet};

/// The most statements that are looked at for a later read of a register; then there is one.
const MOST_LOOKED_AT: usize = 4096;

/// The most statements that are looked at for all registers of a function, beside as many for each statement. After them,
/// what is read anywhere else is read later.
const MOST_LOOKED_AT_TOGETHER: usize = 1 << 20;
const LOOKED_AT_FOR_EACH: usize = 16;

/// The longest chain of instructions that only each other read.
const MOST_ROUNDS: usize = 16;

/// What a register holds, or an operand is, if it is the same in all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Constant(u64),
    /// A parameter of the kernel.
    Parameter,
}

/// What an instruction is to the assembler while it looks for products and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Product(Kind),
    Sum(Kind),
    Copy,
    Negation,
    /// The block ends with it.
    End,
    /// It ends the block if it is guarded.
    Effect,
    Other,
}

/// What a product and a sum must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    ty: Type,
    ftz: bool,
}

impl Kind {
    /// A product or a sum of floating-point numbers without a rounding; of sums `.sat` may stand.
    fn of(form: &InstructionForm, saturates: bool) -> Option<Kind> {
        let &[ty] = form.types.as_slice() else { return None };
        let known = |modifier: &Modifier| match modifier {
            Modifier::Ftz | Modifier::Approx | Modifier::Full => true,
            Modifier::Sat => saturates,
            _ => false,
        };
        let kind = Kind { ty, ftz: form.has(Modifier::Ftz) };
        (is_float(ty) && form.modifiers.iter().all(known)).then_some(kind)
    }
}

/// Whether products and sums of the type are contracted.
fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F32 | Type::F64 | Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
}

impl Role {
    fn of(form: &InstructionForm) -> Role {
        use Opcode::{
            Add, Bra, Brkpt, Brx, Call, Div, Exit, Fence, Membar, Mov, Mul, Neg, Rcp, Rem, Ret, Rsqrt, Sqrt,
            Sub, Trap,
        };
        use Type::{B16, B32, B64, F32, F64, U32};
        let has = |modifier| form.has(modifier);
        let fast = has(Modifier::Approx) || has(Modifier::Full);
        let plain = if form.modifiers.is_empty() { form.types.as_slice() } else { &[] };
        match form.opcode {
            Mul => Kind::of(form, false).map_or(Role::Other, Role::Product),
            Add | Sub => Kind::of(form, true).map_or(Role::Other, Role::Sum),
            Div if fast => Kind::of(form, false).map_or(Role::Other, Role::Product),
            Mov if matches!(plain, [B16 | B32 | B64 | U32 | F32 | F64]) => Role::Copy,
            Neg if matches!(plain, &[ty] if is_float(ty)) => Role::Negation,
            Div | Rem if form.types.contains(&U32) => Role::Other,
            Div | Rem | Rcp | Sqrt if !fast => Role::End,
            Rsqrt if form.types.contains(&F64) => Role::End,
            Bra | Brx | Call | Ret | Exit | Trap | Brkpt | Membar => Role::End,
            Fence if !has(Modifier::Proxy) && !has(Modifier::MbarrierInit) => Role::End,
            _ => Role::Effect,
        }
    }
}

/// A product.
#[derive(Debug)]
struct Product {
    statement: u32,
    kind: Kind,
    /// The register that it is in wherever the function reads it: one of its factors is a constant, so that it may go
    /// into sums of other blocks.
    everywhere: Option<Name>,
    /// The sums that read it.
    sums: Vec<u32>,
    /// Something else reads it, or adds it to another product.
    needed: bool,
}

/// A sum that reads a product: which, and whether negated, by terms.
#[derive(Debug)]
struct Sum {
    statement: u32,
    terms: [Option<Held>; 2],
    takes: Option<u32>,
}

/// The product that a register holds, by its number in the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    product: u32,
    negated: bool,
}

/// The walk through a function.
#[derive(Debug, Default)]
struct Walk {
    products: Vec<Product>,
    sums: Vec<Sum>,
    /// What registers hold in the block at hand.
    held: HashMap<Name, Held>,
    /// What registers of earlier blocks hold in all others.
    everywhere: HashMap<Name, Held>,
}

impl Walk {
    fn held(&self, name: Name) -> Option<Held> {
        self.held.get(&name).or_else(|| self.everywhere.get(&name)).copied()
    }

    fn need(&mut self, name: Name) {
        if let Some(Held { product, .. }) = self.held(name) {
            self.products[product as usize].needed = true;
        }
    }

    /// Notes a sum's terms.
    fn add(&mut self, statement: u32, kind: Kind, names: [Option<Name>; 2]) {
        let terms = names.map(|name| self.held(name?));
        let twice = matches!(terms, [Some(one), Some(other)] if one.product == other.product);
        for Held { product, .. } in terms.into_iter().flatten() {
            let product = &mut self.products[product as usize];
            product.sums.push(statement);
            product.needed |= twice || product.kind != kind;
        }
        if terms != [None; 2] {
            self.sums.push(Sum { statement, terms, takes: None });
        }
    }

    /// Lets sums take products in: those that only one sum reads, or any that only sums read.
    fn take(&mut self, only_one: bool) {
        for sum in &mut self.sums {
            if sum.takes.is_some() {
                continue;
            }
            let free = |held: &Held| {
                let product = &self.products[held.product as usize];
                !product.needed && (!only_one || product.sums.len() == 1)
            };
            let Some(taken) = sum.terms.iter().flatten().find(|held| free(held)).map(|held| held.product)
            else {
                continue;
            };
            sum.takes = Some(taken);
            for other in sum.terms.into_iter().flatten().filter(|held| held.product != taken) {
                self.products[other.product as usize].needed = true;
            }
        }
    }

    fn finish(mut self, found: &mut Contractions) {
        self.take(true);
        self.take(false);
        for sum in &self.sums {
            let taken = |held: &Option<Held>| held.is_some_and(|held| Some(held.product) == sum.takes);
            let Some(place) = sum.terms.iter().position(taken) else { continue };
            let Some(Held { product, negated }) = sum.terms[place] else { continue };
            let product = self.products[product as usize].statement;
            found.products.insert(product, None);
            found.sums.insert(sum.statement, Taken { product, second: place == 1, negated });
        }
    }
}

impl Builder<'_, '_> {
    /// The products and sums of the function that become one.
    pub fn contractions(&mut self) -> Contractions {
        let roles: Vec<Role> =
            (0..self.of.module.mnemonics.len() as u32).map(|id| self.role(MnemonicId(id))).collect();
        let is_product = |role: &Role| matches!(role, Role::Product(_));
        let is_sum = |role: &Role| matches!(role, Role::Sum(_));
        if self.of.checked.header.debug || !roles.iter().any(is_product) || !roles.iter().any(is_sum) {
            return Contractions::default();
        }
        let targets = self.targets();
        let dead = self.dead(&targets);
        let reads = self.reads(&dead);
        let written = self.written();
        let fixed = self.fixed(&written, &reads);
        let mut walk = Walk::default();
        let mut later = self.later(&reads);
        for (index, statement) in (0..).zip(self.statements) {
            let ends = match statement {
                Statement::Label(_) => targets.contains(&index),
                Statement::Instruction(_) if self.leads_on(index) => false,
                Statement::Instruction(instruction) => {
                    let role = roles.get(instruction.mnemonic.0 as usize).copied().unwrap_or(Role::Other);
                    if !dead.contains(&index) {
                        let products = walk.products.len();
                        self.meet(&mut walk, index, role, instruction, &fixed);
                        if let Some(product) = walk.products.get_mut(products) {
                            let by_fixed = self.is_by_fixed(instruction, &fixed);
                            product.everywhere =
                                self.written_once(index, instruction, &written, &reads).filter(|_| by_fixed);
                        }
                    }
                    role == Role::End || instruction.guard.is_some() && !self.is_register_only(instruction)
                }
                _ => false,
            };
            if ends || index as usize + 1 == self.statements.len() {
                self.end_block(&mut walk, index, &mut later);
            }
        }
        let mut found = Contractions::default();
        walk.finish(&mut found);
        found
    }

    /// The block ends with a statement: what only registers of other blocks would hold is needed, if they are read.
    fn end_block(&self, walk: &mut Walk, end: u32, later: &mut Later<'_>) {
        // To clear a map takes as long as it ever was large.
        let mut held: Vec<(Name, Held)> = std::mem::take(&mut walk.held).into_iter().collect();
        held.sort_unstable_by_key(|&(name, held)| (held.product, name));
        for (name, held) in held {
            let product = &mut walk.products[held.product as usize];
            if product.everywhere == Some(name) {
                walk.everywhere.insert(name, held);
            } else if !product.needed {
                product.needed = self.is_read_later(name, product.statement, end, later);
            }
        }
    }

    /// The instructions whose results only such instructions read, or none.
    fn dead(&mut self, targets: &HashSet<u32>) -> HashSet<u32> {
        let mut dead = HashSet::new();
        for _ in 0..MOST_ROUNDS {
            let mut more = self.unread(targets, &dead);
            more.retain(|&index| match self.statements.get(index as usize) {
                // Guards read predicates, and are no operands.
                Some(Statement::Instruction(instruction)) => {
                    !self.writes_predicate(instruction) && self.is_register_only(instruction)
                }
                _ => false,
            });
            if more.len() <= dead.len() {
                break;
            }
            dead = more;
        }
        dead
    }

    fn writes_predicate(&self, instruction: &Instruction) -> bool {
        let name = self.name(instruction.operands.start);
        name.is_none_or(|(id, ..)| self.variable(id).value_type() == Some(Type::Pred))
    }

    fn role(&self, mnemonic: MnemonicId) -> Role {
        self.form(mnemonic).map_or(Role::Effect, |form| Role::of(&form.instruction))
    }

    /// Whether an instruction does nothing but compute.
    fn is_register_only(&self, instruction: &Instruction) -> bool {
        let form = self.form(instruction.mnemonic);
        form.is_some_and(|form| form.action != Action::Other || form.instruction.opcode == Opcode::Mov)
    }

    fn meet(
        &self,
        walk: &mut Walk,
        index: u32,
        role: Role,
        instruction: &Instruction,
        fixed: &HashMap<Name, Fixed>,
    ) {
        let places = self.places(instruction.operands);
        let name = |n: u32| (n < places.len() as u32).then(|| self.name(places.start + n)).flatten();
        let guarded = instruction.guard.is_some();
        let mut holds = None;
        match role {
            Role::Sum(kind) if places.len() == 3 => walk.add(index, kind, [name(1), name(2)]),
            Role::Copy | Role::Negation if !guarded => {
                let negates = role == Role::Negation;
                let held = name(1).and_then(|name| walk.held(name));
                holds = held.map(|held| Held { negated: held.negated != negates, ..held });
            }
            _ if walk.held.is_empty() && walk.everywhere.is_empty() => {}
            _ => self.each_read(instruction, &mut |name| walk.need(name)),
        }
        if let Role::Product(kind) = role
            && !guarded
            && places.len() == 3
            && self.is_multiplication(instruction, fixed)
        {
            holds = Some(Held { product: walk.products.len() as u32, negated: false });
            walk.products.push(Product {
                statement: index,
                kind,
                everywhere: None,
                sums: Vec::new(),
                needed: false,
            });
        }
        if let Some(written) = name(0).filter(|_| role != Role::End) {
            if guarded {
                walk.need(written);
            }
            match holds {
                Some(held) => walk.held.insert(written, held),
                None => walk.held.remove(&written),
            };
        }
    }

    /// Whether a product stays one: times one it is a copy, or a negation, and one by something is a reciprocal.
    fn is_multiplication(&self, instruction: &Instruction, fixed: &HashMap<Name, Fixed>) -> bool {
        let Some(form) = self.form(instruction.mnemonic) else { return false };
        let (ty, ones): (_, &[u64]) = match form.instruction.types.last() {
            Some(Type::F64) => (Type::F64, &[0x3ff0_0000_0000_0000, 0xbff0_0000_0000_0000]),
            Some(Type::F32) => (Type::F32, &[0x3f80_0000, 0xbf80_0000]),
            _ => (Type::F32, &[]),
        };
        let constant = |n: u32| match self.fixed_operand(instruction.operands.start + n, ty, fixed)? {
            Fixed::Constant(bits) => Some(bits),
            Fixed::Parameter => None,
        };
        let is_one = |n: u32| constant(n).is_some_and(|bits| ones.contains(&bits));
        let folds = constant(1).is_some() && constant(2).is_some();
        !folds && !is_one(1) && (form.instruction.opcode == Opcode::Div || !is_one(2))
    }

    /// Whether an instruction multiplies by what is the same in all blocks.
    fn is_by_fixed(&self, instruction: &Instruction, fixed: &HashMap<Name, Fixed>) -> bool {
        let multiplies =
            self.form(instruction.mnemonic).is_some_and(|form| form.instruction.opcode == Opcode::Mul);
        let is_fixed =
            |n: u32| self.fixed_operand(instruction.operands.start + n, Type::F32, fixed).is_some();
        multiplies && (is_fixed(1) || is_fixed(2))
    }

    /// What an operand is, as a number of a type, if it is the same in all blocks.
    fn fixed_operand(&self, index: u32, ty: Type, fixed: &HashMap<Name, Fixed>) -> Option<Fixed> {
        let value = match self.operand(index).kind {
            OperandKind::Literal(literal) => Value::from(literal),
            OperandKind::Expr(id) => self.evaluate(id).ok()?,
            _ => return fixed.get(&self.name(index)?).copied(),
        };
        Some(Fixed::Constant(constant_bits(value, ty)))
    }

    /// The registers that hold a constant or a kernel's parameter, and nothing else.
    fn fixed(&self, written: &HashMap<Name, u32>, reads: &HashMap<Name, Vec<u32>>) -> HashMap<Name, Fixed> {
        let mut fixed = HashMap::new();
        for (index, statement) in (0..).zip(self.statements) {
            let Statement::Instruction(instruction) = statement else { continue };
            if instruction.guard.is_some() {
                continue;
            }
            let Some(form) = self.form(instruction.mnemonic) else { continue };
            let InstructionForm { opcode, modifiers, types, spaces, .. } = &*form.instruction;
            let found = match (opcode, &types[..], &spaces[..]) {
                _ if !modifiers.is_empty() => None,
                (Opcode::Mov, &[ty], []) => self.fixed_operand(instruction.operands.start + 1, ty, &fixed),
                (Opcode::Ld, [_], [Space::Param]) if self.entry => Some(Fixed::Parameter),
                _ => None,
            };
            if let Some(found) = found
                && let Some(name) = self.written_once(index, instruction, written, reads)
            {
                fixed.insert(name, found);
            }
        }
        fixed
    }

    /// The register that an instruction writes, if no other does and it is not read before.
    fn written_once(
        &self,
        index: u32,
        instruction: &Instruction,
        written: &HashMap<Name, u32>,
        reads: &HashMap<Name, Vec<u32>>,
    ) -> Option<Name> {
        let name = self.name(instruction.operands.start)?;
        let before = reads.get(&name).and_then(|reads| reads.first()).is_some_and(|&first| first <= index);
        (!before && written.get(&name) == Some(&1)).then_some(name)
    }

    /// How often each register is written.
    fn written(&self) -> HashMap<Name, u32> {
        let mut written = HashMap::new();
        for statement in self.statements {
            if let Statement::Instruction(instruction) = statement
                && instruction.operands.len > 0
            {
                self.each_part(instruction.operands.start, &mut |name| {
                    *written.entry(name).or_insert(0) += 1
                });
            }
        }
        written
    }

    /// The statements that read each register, but for dead ones.
    fn reads(&self, dead: &HashSet<u32>) -> HashMap<Name, Vec<u32>> {
        let mut reads: HashMap<Name, Vec<u32>> = HashMap::new();
        for (index, statement) in (0..).zip(self.statements) {
            if let Statement::Instruction(instruction) = statement
                && !dead.contains(&index)
            {
                self.each_read(instruction, &mut |name| reads.entry(name).or_default().push(index));
            }
        }
        reads
    }

    /// Nothing was looked at for later reads yet.
    fn later<'r>(&self, reads: &'r HashMap<Name, Vec<u32>>) -> Later<'r> {
        let mnemonics = (0..self.of.module.mnemonics.len() as u32).map(MnemonicId);
        let opcode = |mnemonic| self.form(mnemonic).map(|form| form.instruction.opcode);
        let count = self.statements.len();
        Later {
            reads,
            opcodes: mnemonics.map(opcode).collect(),
            seen: vec![0; count + 1],
            searches: 0,
            left: MOST_LOOKED_AT_TOGETHER + LOOKED_AT_FOR_EACH * count,
        }
    }

    /// Whether what a statement left in a register is read behind the end of its block.
    fn is_read_later(&self, name: Name, from: u32, end: u32, later: &mut Later<'_>) -> bool {
        let reads = later.reads.get(&name).map_or(&[][..], Vec::as_slice);
        // They are in order.
        let outside = |index: Option<&u32>| index.is_some_and(|&index| index <= from || index > end);
        if !outside(reads.first()) && !outside(reads.last()) {
            return false;
        }
        later.searches += 1;
        let mut looked_at = 0;
        // The statement at the end itself may be a branch.
        let mut ahead = vec![end];
        while let Some(index) = ahead.pop() {
            let Some(seen) = later.seen.get_mut(index as usize) else { continue };
            if std::mem::replace(seen, later.searches) == later.searches {
                continue;
            }
            looked_at += 1;
            if looked_at > MOST_LOOKED_AT || later.left == 0 {
                return true;
            }
            later.left -= 1;
            let instruction = match self.statements.get(index as usize) {
                None => continue,
                Some(Statement::BranchTargets(_)) => return true,
                Some(Statement::Instruction(instruction)) => instruction,
                Some(_) => {
                    ahead.push(index + 1);
                    continue;
                }
            };
            let opcode = later.opcodes.get(instruction.mnemonic.0 as usize).copied().flatten();
            let guarded = instruction.guard.is_some();
            if index != end {
                if reads.binary_search(&index).is_ok() || opcode == Some(Opcode::Brx) {
                    return true;
                }
                if !guarded && self.name(instruction.operands.start) == Some(name) {
                    continue;
                }
            }
            for operand in self.places(instruction.operands) {
                if let Reference::Label(label) = self.reference(operand) {
                    ahead.push(label);
                }
            }
            use Opcode::{Bra, Brx, Exit, Ret, Trap};
            if guarded || !matches!(opcode, Some(Bra | Brx | Ret | Exit | Trap)) {
                ahead.push(index + 1);
            }
        }
        false
    }
}

/// What was looked at for later reads of registers.
struct Later<'a> {
    /// The statements that read each register.
    reads: &'a HashMap<Name, Vec<u32>>,
    /// Of mnemonics.
    opcodes: Vec<Option<Opcode>>,
    /// The last search that has looked at each statement.
    seen: Vec<u32>,
    searches: u32,
    /// How many statements may be looked at still.
    left: usize,
}
