//! What the assembler makes of products that are added to something (PTX ISA sections 9.7.3.3 to 9.7.3.5).
//!
//! `mul`, `add` and `sub` without a rounding modifier "may be fused", and the assembler fuses wherever it can. Programs
//! see that on the GPU, so it is done here, too. What it fuses was found out by giving ptxas 13.4 some 110 kernels and
//! reading what it made of them, and 680 random ones that an H200 ran agree.
//!
//! A product can be fused if everything that reads it is such a sum or difference, of the same type, both with `.ftz`
//! or both without, and in the same basic block unless a factor is a constant or a kernel's parameter. Copies and
//! negations in between do not matter, nor what nobody reads. The product itself has no `.sat` and no guard; the sum
//! may have both. A sum of a product with itself stays. Products of two constants are none, nor those of 1 and -1.
//! Fences end a block, barriers do not.
//!
//! Sums are gone through in order. Of two products that could be fused it is the first, unless the second is read by
//! fewer; the other one is then rounded, and no later sum gets it unrounded. A product that anywhere meets one that is
//! read by fewer is not fused at all.
//!
//! Not followed: products in registers that are written in several places, from block to block; blocks that are one
//! once what is never reached is gone.

use super::assembler::Name;
use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use super::operand::{Destination, Gathered, constant_bits};
use crate::program::Kernel;
use softwarp_check::constant::Value as Constant;
use softwarp_isa::Type;
use softwarp_isa::instruction::{self, Resolution};
use softwarp_syntax::tree::{Instruction, OperandKind, Statement};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A sum, of which one operand is a product that is not rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    /// The statement of the product.
    product: u32,
    /// Which operand it is: 1 or 2.
    operand: u32,
    /// It is negated on the way.
    negated: bool,
}

/// What is fused in a function, by statements.
#[derive(Debug, Default)]
pub(super) struct Contractions {
    sums: HashMap<u32, Sum>,
    products: HashSet<u32>,
    /// The slots of the factors of products, once these are lowered.
    factors: HashMap<u32, [u32; 2]>,
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// The product, by its number.
    product: usize,
    negated: bool,
}

/// A product that may be fused.
#[derive(Debug)]
struct Product {
    statement: u32,
    ty: Type,
    ftz: bool,
    /// A factor is a constant or a parameter: whoever reads it may be in any block.
    anywhere: bool,
    /// The sums that read it: statement, operand, and whether it is negated on the way.
    readers: Vec<(u32, u32, bool)>,
    /// It must be there, rounded.
    rounded: bool,
}

/// What a register holds that holds no product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// 1 or -1.
    One,
    Number,
    /// A parameter of the kernel.
    Parameter,
}

/// The walk through a function.
#[derive(Debug, Default)]
struct Walk {
    products: Vec<Product>,
    held: HashMap<Name, Held>,
    known: HashMap<Name, Known>,
    /// Registers that are written in one place, before they are read.
    lasting: HashSet<Name>,
}

/// Opcodes that do nothing but write a register, and may read a floating-point number.
const VALUES: &[&str] = &[
    "abs", "add", "copysign", "cos", "cvt", "div", "ex2", "fma", "lg2", "mad", "max", "min", "mov", "mul",
    "neg", "rcp", "rsqrt", "selp", "set", "setp", "sin", "slct", "sqrt", "sub", "tanh", "testp",
];

/// What an instruction is to the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Product {
        ty: Type,
        ftz: bool,
    },
    Sum {
        ty: Type,
        ftz: bool,
    },
    Negation,
    Copy,
    /// `ld.param`
    Parameter,
    /// Another that does nothing but write a register.
    Value,
    /// The block ends with it.
    End,
    Other,
}

impl Is {
    fn of(opcode: &str, words: &[&str]) -> Is {
        let ftz = words.first() == Some(&"ftz");
        let rest = &words[usize::from(ftz)..];
        let float = |word: &str| {
            let types = [Type::F32, Type::F64, Type::F16, Type::F16x2, Type::Bf16, Type::Bf16x2];
            types.into_iter().find(|ty| ty.name() == word)
        };
        match (opcode, rest) {
            ("mul", [ty]) => float(ty).map_or(Is::Value, |ty| Is::Product { ty, ftz }),
            ("add" | "sub", [ty] | ["sat", ty]) => float(ty).map_or(Is::Value, |ty| Is::Sum { ty, ftz }),
            ("neg", [ty]) if !ftz && float(ty).is_some() => Is::Negation,
            ("mov", [_]) => Is::Copy,
            ("ld", ["param", ..]) => Is::Parameter,
            ("bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "membar" | "fence", _) => Is::End,
            (opcode, _) if VALUES.contains(&opcode) => Is::Value,
            _ => Is::Other,
        }
    }

    /// Whether nothing happens but that a register is written.
    fn is_pure(self) -> bool {
        !matches!(self, Is::End | Is::Other)
    }
}

impl Walk {
    /// Whatever product a register holds must be there, rounded.
    fn round(&mut self, name: Name) {
        if let Some(held) = self.held.get(&name) {
            self.products[held.product].rounded = true;
        }
    }

    /// A block ends.
    fn end_block(&mut self, exposed: &HashSet<Name>) {
        let Walk { products, held, known, lasting } = self;
        held.retain(|name, held| {
            let product = &mut products[held.product];
            let stays = product.anywhere && lasting.contains(name);
            product.rounded |= !stays && exposed.contains(name);
            stays
        });
        known.retain(|name, _| lasting.contains(name));
    }

    /// Says what is fused.
    fn settle(mut self) -> Contractions {
        let mut found = Contractions::default();
        // Of each sum, the products that its operands hold, and whether they are negated.
        let mut sums: BTreeMap<u32, [Option<Held>; 2]> = BTreeMap::new();
        for (number, product) in self.products.iter().enumerate() {
            for &(sum, operand, negated) in &product.readers {
                sums.entry(sum).or_default()[operand as usize - 1] = Some(Held { product: number, negated });
            }
        }
        for (&sum, held) in &sums {
            let fits = |held: &&Held| self.fits(&sums, held.product);
            let Some((operand, fused)) =
                (1..).zip(held).find_map(|(n, held)| Some((n, held.as_ref().filter(fits)?)))
            else {
                continue;
            };
            let product = self.products[fused.product].statement;
            found.products.insert(product);
            found.sums.insert(sum, Sum { product, operand, negated: fused.negated });
            if let Some(other) = held[2 - operand as usize] {
                self.products[other.product].rounded = true;
            }
        }
        found
    }

    /// Whether a product can be fused into all that read it, none of which has a better one.
    fn fits(&self, sums: &BTreeMap<u32, [Option<Held>; 2]>, number: usize) -> bool {
        let product = &self.products[number];
        let better = |other: &Held| {
            let other = &self.products[other.product];
            !other.rounded && other.readers.len() < product.readers.len()
        };
        let has_better = |&(sum, operand, _): &(u32, u32, bool)| {
            sums.get(&sum).and_then(|held| held[2 - operand as usize]).is_some_and(|other| better(&other))
        };
        !product.rounded && !product.readers.iter().any(has_better)
    }
}

impl Contractions {
    /// The product that is fused into a sum, if one is.
    pub fn sum(&self, statement: u32) -> Option<Sum> {
        self.sums.get(&statement).copied()
    }

    /// Whether a statement is a product that is fused.
    pub fn has_product(&self, statement: u32) -> bool {
        self.products.contains(&statement)
    }
}

impl Builder<'_, '_> {
    /// Keeps the factors of a product for the sums that it is fused into.
    pub fn keep_factors(&mut self, form: &Form, instruction: &Instruction) -> Lowered<()> {
        let (ty, first) = (form.ty(), instruction.operands.start);
        let mut kept = [0; 2];
        for (kept, index) in kept.iter_mut().zip(first + 1..) {
            let slot = self.source(index, ty)?;
            *kept = self.fresh(ty.bits().max(32));
            self.always(|builder| builder.copy(*kept, slot, ty.bits().max(32)));
        }
        self.contractions.factors.insert(self.statement, kept);
        Ok(())
    }

    /// A sum with a product that is not rounded.
    pub fn fused(&mut self, sum: Sum, form: &Form, instruction: &Instruction) -> Lowered<()> {
        let (ty, first) = (form.ty(), instruction.operands.start);
        let Some(&[a, b]) = self.contractions.factors.get(&sum.product) else { return Err(Refusal::Form) };
        let difference = form.shape.opcode == "sub";
        let c = self.source(first + 3 - sum.operand, ty)?;
        let a = self.negated(a, ty, sum.negated ^ (difference && sum.operand == 2))?;
        let c = self.negated(c, ty, difference && sum.operand == 1)?;
        let modifiers = ["ftz", "sat"].into_iter().filter(|word| form.has(word));
        let words: Vec<&str> = ["rn"].into_iter().chain(modifiers).chain([ty.name()]).collect();
        let (kernel, extra) = self.loop_of("fma", &words)?;
        let mut gathered = Gathered::new(extra);
        gathered.write(self.destination(first, ty)?)?;
        [a, b, c].into_iter().try_for_each(|slot| gathered.read(slot))?;
        self.emit(kernel, gathered)
    }

    /// A value, negated if so.
    fn negated(&mut self, slot: u32, ty: Type, negated: bool) -> Lowered<u32> {
        if !negated {
            return Ok(slot);
        }
        let (kernel, extra) = self.loop_of("neg", &[ty.name()])?;
        let result = self.fresh(ty.bits().max(32));
        let mut gathered = Gathered::new(extra);
        gathered.write(Destination::plain(result))?;
        gathered.read(slot)?;
        self.always(|builder| builder.emit(kernel, gathered))?;
        Ok(result)
    }

    /// The loop for an instruction that the text does not have.
    fn loop_of(&self, opcode: &str, words: &[&str]) -> Lowered<(Kernel, u32)> {
        match instruction::resolve(opcode, words) {
            Ok(Resolution::Shape(shape)) => (self.session.select)(&shape).ok_or(Refusal::Form),
            _ => Err(Refusal::Form),
        }
    }

    /// Finds what is fused.
    pub fn contractions(&self) -> Contractions {
        let is_product = |mnemonic| {
            let (opcode, words) = self.words(mnemonic);
            matches!(Is::of(opcode, &words), Is::Product { .. })
        };
        if !self.of.module.mnemonics.iter().any(is_product) {
            return Contractions::default();
        }
        let targets = self.targets();
        let exposed = self.exposed(&targets);
        let unread = self.unread_values(&targets, &exposed);
        let mut walk = Walk { lasting: self.lasting(), ..Walk::default() };
        for (index, statement) in (0..).zip(self.statements) {
            let ends = match statement {
                Statement::Label(_) => targets.contains(&index),
                Statement::Instruction(_) if unread.contains(&index) || self.leads_on(index) => false,
                Statement::Instruction(instruction) => self.pass(&mut walk, index, instruction),
                _ => false,
            };
            if ends {
                walk.end_block(&exposed);
            }
        }
        walk.end_block(&exposed);
        walk.settle()
    }

    fn is(&self, instruction: &Instruction) -> Is {
        let (opcode, words) = self.words(self.of.module.mnemonic(instruction.mnemonic));
        Is::of(opcode, &words)
    }

    /// Notes what an instruction reads and writes; whether the block ends with it.
    fn pass(&self, walk: &mut Walk, index: u32, instruction: &Instruction) -> bool {
        let is = self.is(instruction);
        let first = instruction.operands.start;
        let source = |n: u32| self.name(first + n);
        let mut writes = None;
        let mut known = None;
        match is {
            Is::Negation | Is::Copy
                if instruction.guard.is_none()
                    && instruction.operands.len == 2
                    && self.name(first).is_some() =>
            {
                let held = source(1).and_then(|name| walk.held.get(&name).copied());
                writes = held.map(|held| Held { negated: held.negated ^ (is == Is::Negation), ..held });
                known = self.known(walk, first + 1, None);
                if writes.is_none() {
                    self.each_read(instruction, &mut |name| walk.round(name));
                }
            }
            Is::Sum { ty, ftz } if instruction.operands.len == 3 => {
                let held = [1, 2].map(|n| source(n).and_then(|name| walk.held.get(&name).copied()));
                let same = matches!(held, [Some(a), Some(b)] if a.product == b.product);
                for (operand, held) in (1..).zip(held) {
                    let Some(held) = held else { continue };
                    let product = &mut walk.products[held.product];
                    product.rounded |= same || product.ty != ty || product.ftz != ftz;
                    product.readers.push((index, operand, held.negated));
                }
            }
            Is::Product { ty, ftz } if instruction.operands.len == 3 => {
                self.each_read(instruction, &mut |name| walk.round(name));
                let factors = [1, 2].map(|n| self.known(walk, first + n, Some(ty)));
                let folds = factors == [Some(Known::Number); 2] || factors.contains(&Some(Known::One));
                if instruction.guard.is_none() && !folds {
                    writes = Some(Held { product: walk.products.len(), negated: false });
                    let anywhere = factors != [None; 2];
                    let (readers, rounded) = (Vec::new(), false);
                    let product = Product { statement: index, ty, ftz, anywhere, readers, rounded };
                    walk.products.push(product);
                }
            }
            Is::Parameter if self.entry && instruction.guard.is_none() => known = Some(Known::Parameter),
            _ => self.each_read(instruction, &mut |name| walk.round(name)),
        }
        self.each_part(first, &mut |name| {
            // Behind a guard, a register may keep what it had.
            if instruction.guard.is_some() {
                walk.round(name);
            }
            walk.held.remove(&name);
            walk.known.remove(&name);
        });
        if let Some(name) = self.name(first) {
            writes.into_iter().for_each(|held| {
                walk.held.insert(name, held);
            });
            known.into_iter().for_each(|known| {
                walk.known.insert(name, known);
            });
        }
        is == Is::End
    }

    /// What an operand is, if it is a constant or a parameter; of any type, if none is given.
    fn known(&self, walk: &Walk, index: u32, ty: Option<Type>) -> Option<Known> {
        let is = |value: Constant, ty: Type| match ty {
            Type::F32 => [0x3f80_0000, 0xbf80_0000].contains(&constant_bits(value, ty)),
            Type::F64 => [1f64, -1.0].map(f64::to_bits).contains(&constant_bits(value, ty)),
            _ => false,
        };
        let value = match self.operand(index).kind {
            OperandKind::Literal(literal) => Constant::from(literal),
            OperandKind::Expr(id) => match self.evaluate(id) {
                Ok(value) => value,
                Err(_) => return None,
            },
            _ => return walk.known.get(&self.name(index)?).copied(),
        };
        let is_one = match ty {
            Some(ty) => is(value, ty),
            None => is(value, Type::F32) || is(value, Type::F64),
        };
        Some(if is_one { Known::One } else { Known::Number })
    }

    /// The registers that are written in one place, whatever the guards, and not read before.
    fn lasting(&self) -> HashSet<Name> {
        let (mut lasting, mut others) = (HashSet::new(), HashSet::new());
        for statement in self.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            self.each_read(instruction, &mut |name| {
                if !lasting.contains(&name) {
                    others.insert(name);
                }
            });
            self.each_part(instruction.operands.start, &mut |name| {
                if instruction.guard.is_some() || !lasting.insert(name) {
                    others.insert(name);
                }
            });
        }
        lasting.retain(|name| !others.contains(name));
        lasting
    }

    /// The registers that some block reads before it writes them.
    fn exposed(&self, targets: &HashSet<u32>) -> HashSet<Name> {
        let mut exposed = HashSet::new();
        let mut written = HashSet::new();
        for (index, statement) in (0..).zip(self.statements) {
            match statement {
                Statement::Label(_) if targets.contains(&index) => written.clear(),
                Statement::Instruction(instruction) if !self.leads_on(index) => {
                    self.each_read(instruction, &mut |name| {
                        if !written.contains(&name) {
                            exposed.insert(name);
                        }
                    });
                    if let (None, Some(name)) = (instruction.guard, self.name(instruction.operands.start)) {
                        written.insert(name);
                    }
                    if self.is(instruction) == Is::End {
                        written.clear();
                    }
                }
                _ => {}
            }
        }
        exposed
    }

    /// The instructions that only write what nobody reads.
    fn unread_values(&self, targets: &HashSet<u32>, exposed: &HashSet<Name>) -> HashSet<u32> {
        let mut unread = HashSet::new();
        // From the end of a block to its start: whether a register that was seen is read next.
        let mut next: HashMap<Name, bool> = HashMap::new();
        for (index, statement) in self.statements.iter().enumerate().rev() {
            let index = index as u32;
            let Statement::Instruction(instruction) = statement else {
                if targets.contains(&index) {
                    next.clear();
                }
                continue;
            };
            if self.leads_on(index) {
                continue;
            }
            let is = self.is(instruction);
            if is == Is::End {
                next.clear();
            }
            if let Some(name) = self.name(instruction.operands.start) {
                let read = next.get(&name).copied().unwrap_or_else(|| exposed.contains(&name));
                if !read && is.is_pure() {
                    unread.insert(index);
                    continue;
                }
                if instruction.guard.is_none() {
                    next.insert(name, false);
                }
            }
            self.each_read(instruction, &mut |name| {
                next.insert(name, true);
            });
        }
        unread
    }
}
