//! Names and scopes (PTX ISA sections 4.4 and 5.4.6): what a name means where it stands.
//!
//! Symbols are small numbers, so the bindings of each are a stack that an array finds at once: looking up is
//! an access or two, leaving a scope undoes what it declared.
//!
//! A family (`%r<10>`) is bound once, under what stands before `<`; `%r7` is found by cutting its digits off.
//! As in the assembler all digits at the end go, so the members of `r1<4>` are never found, `%r007` is `%r7`,
//! and numbers wrap at 32 bits.

use crate::checked::{FuncId, VarId};
use softwarp_isa::Type;
use softwarp_syntax::tree::Symbol;
use softwarp_syntax::{Module, Span};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a name can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// A variable or a family of variables.
    Variable(VarId),
    /// A function.
    Function(FuncId),
    /// A label, with the number that it was declared with.
    Label(u32),
}

/// What a name was found to mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The variable, function or label.
    pub entity: Entity,
    /// Which member, if it is of a family.
    pub member: Option<u32>,
    /// How many scopes are around its declaration: 0 at module scope.
    pub depth: u32,
    /// Where it is declared.
    pub span: Span,
}

const NONE: u32 = u32::MAX;

/// How often a near name is looked for in a module.
pub(crate) const MOST_SEARCHES: u32 = 64;

/// One binding. They lie in the order of declaration, so those of a scope are a tail.
#[derive(Debug)]
struct Binding {
    symbol: Symbol,
    entity: Entity,
    span: Span,
    depth: u32,
    /// Members of a family; `None` for a plain name.
    count: Option<u32>,
    /// The binding that this one hides, of the same symbol and sort.
    hidden: u32,
    /// For a plain name that ends in a number (`r2`): the one before it with the same prefix.
    sibling: u32,
}

/// What a symbol is when its digits are cut off.
#[derive(Clone, Copy, Debug)]
struct Numbered {
    /// The symbol of the prefix, or [`NONE`].
    prefix: u32,
    number: u32,
    /// Written without leading zeros.
    canonical: bool,
}

/// A register that a name means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register {
    pub id: VarId,
    pub ty: Type,
    /// 1, or the number of elements of a vector.
    pub lanes: u8,
}

/// A register that was found, and when; in generation 0 none was.
#[derive(Clone, Copy, Debug)]
struct KnownRegister {
    register: Register,
    generation: u32,
}

const NO_REGISTER: KnownRegister =
    KnownRegister { register: Register { id: VarId(0), ty: Type::B32, lanes: 1 }, generation: 0 };

/// The names in scope.
#[derive(Debug)]
pub struct Names {
    /// The innermost binding of each symbol as a plain name.
    plain: Vec<u32>,
    /// The innermost binding of each symbol as a family.
    families: Vec<u32>,
    /// The latest plain name with each symbol as its prefix.
    siblings: Vec<u32>,
    numbered: Vec<Numbered>,
    bindings: Vec<Binding>,
    /// What was found last for each symbol, where that was a register of a body.
    registers: Vec<KnownRegister>,
    /// What was found in an earlier generation no longer holds: a family has been declared or has gone since.
    generation: u32,
    /// Where each open scope's bindings begin.
    scopes: Vec<u32>,
    /// How often a near name was looked for.
    searches: AtomicU32,
}

impl Names {
    /// No names yet, for the symbols of a module; the module's scope is open.
    pub fn new(module: &Module) -> Names {
        let symbols = module.symbols.len();
        let numbered = (0..symbols as u32).map(|n| number(module, Symbol(n))).collect();
        Names {
            plain: vec![NONE; symbols],
            families: vec![NONE; symbols],
            siblings: vec![NONE; symbols],
            numbered,
            bindings: Vec::new(),
            registers: vec![NO_REGISTER; symbols],
            generation: 1,
            scopes: Vec::new(),
            searches: AtomicU32::new(0),
        }
    }

    /// No names, for no symbols.
    pub(crate) fn empty() -> Names {
        Names {
            plain: Vec::new(),
            families: Vec::new(),
            siblings: Vec::new(),
            numbered: Vec::new(),
            bindings: Vec::new(),
            registers: Vec::new(),
            generation: 1,
            scopes: Vec::new(),
            searches: AtomicU32::new(0),
        }
    }

    /// Makes room for symbols that the module has had since. Those that stand before digits must be among them.
    pub(crate) fn grow(&mut self, module: &Module) {
        let symbols = module.symbols.len();
        self.plain.resize(symbols, NONE);
        self.families.resize(symbols, NONE);
        self.siblings.resize(symbols, NONE);
        self.registers.resize(symbols, NO_REGISTER);
        let new = self.numbered.len() as u32..symbols as u32;
        self.numbered.extend(new.map(|n| number(module, Symbol(n))));
    }

    /// How many names have been declared in the scopes that are open.
    pub(crate) fn declared(&self) -> usize {
        self.bindings.len()
    }

    /// Declares names as in another table, up to a number of them in all. Only the module's scope is open.
    pub(crate) fn declare_as(&mut self, other: &Names, count: usize) {
        for binding in other.bindings.get(self.bindings.len()..count).unwrap_or(&[]) {
            self.bind(binding.symbol, binding.entity, binding.span, binding.count);
        }
    }

    /// How often a name was looked for that is like another. There is a limit to it.
    pub(crate) fn searches(&self) -> u32 {
        self.searches.load(Ordering::Relaxed)
    }

    /// How many scopes are open beside the module's.
    pub fn depth(&self) -> u32 {
        self.scopes.len() as u32
    }

    /// Opens a scope.
    pub fn push_scope(&mut self) {
        self.scopes.push(self.bindings.len() as u32);
    }

    /// Closes the innermost scope and removes its names. The module's stays open.
    pub fn pop_scope(&mut self) {
        let Some(start) = self.scopes.pop() else { return };
        while self.bindings.len() > start as usize {
            let Some(gone) = self.bindings.pop() else { return };
            let index = gone.symbol.0 as usize;
            self.forget(gone.symbol, gone.count.is_some());
            match gone.count {
                Some(_) => self.families[index] = gone.hidden,
                None => {
                    self.plain[index] = gone.hidden;
                    let prefix = self.numbered[index].prefix;
                    if prefix != NONE {
                        self.siblings[prefix as usize] = gone.sibling;
                    }
                }
            }
        }
    }

    /// Declares a plain name in the innermost scope. An error says what has the name there already; the new
    /// declaration is then forgotten.
    pub fn declare(&mut self, symbol: Symbol, entity: Entity, span: Span) -> Result<(), Found> {
        let label = matches!(entity, Entity::Label(_));
        // The assembler lets a label have the name of a family's member.
        let clash = if label { self.plain_binding(symbol).map(Binding::found) } else { self.lookup(symbol) };
        match clash {
            Some(found) if found.depth == self.depth() => Err(found),
            _ => {
                self.bind(symbol, entity, span, None);
                Ok(())
            }
        }
    }

    /// Declares a family in the innermost scope.
    pub fn declare_family(
        &mut self,
        prefix: Symbol,
        count: u32,
        entity: Entity,
        span: Span,
    ) -> Result<(), Found> {
        let index = prefix.0 as usize;
        if let Some(family) = self.bindings.get(self.families[index] as usize)
            && family.depth == self.depth()
        {
            return Err(family.found());
        }
        let mut next = self.siblings[index];
        while let Some(sibling) = self.bindings.get(next as usize)
            && sibling.depth == self.depth()
        {
            let Numbered { number, canonical, .. } = self.numbered[sibling.symbol.0 as usize];
            if canonical && number < count && !matches!(sibling.entity, Entity::Label(_)) {
                return Err(sibling.found());
            }
            next = sibling.sibling;
        }
        self.bind(prefix, entity, span, Some(count));
        Ok(())
    }

    /// What a name means here.
    pub fn lookup(&self, symbol: Symbol) -> Option<Found> {
        let plain = self.plain_binding(symbol).map(Binding::found);
        let Numbered { prefix, number, .. } = self.numbered[symbol.0 as usize];
        if prefix == NONE {
            return plain;
        }
        let mut next = self.families[prefix as usize];
        while let Some(family) = self.bindings.get(next as usize) {
            let hides = |plain: Found| match plain.entity {
                // A label hides only the families of outer scopes.
                Entity::Label(_) => plain.depth > family.depth,
                _ => plain.depth >= family.depth,
            };
            if plain.is_some_and(hides) {
                break;
            }
            if family.count.is_some_and(|count| number < count) {
                return Some(Found { member: Some(number), ..family.found() });
            }
            next = family.hidden;
        }
        plain
    }

    /// The name in scope that this one looks most like, as it would be written.
    pub fn nearest(&self, module: &Module, name: &str) -> Option<String> {
        // Bounds on the search for similar names: how many are compared, and how often.
        const MOST: usize = 4096;
        if self.searches.fetch_add(1, Ordering::Relaxed) >= MOST_SEARCHES {
            return None;
        }
        let known = self.bindings.iter().rev().take(MOST).filter(|binding| binding.count.is_none());
        let near = softwarp_isa::nearest(name, known.map(|binding| module.name(binding.symbol)));
        near.map(str::to_owned).or_else(|| self.nearest_family(module, name))
    }

    /// `%rd<8>` for `%rd12`: the family that the name would be of if it were larger.
    fn nearest_family(&self, module: &Module, name: &str) -> Option<String> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let symbol = module.symbols.find(prefix)?;
        let family = self.bindings.get(self.families[symbol.0 as usize] as usize)?;
        let count = family.count?;
        (count > 0).then(|| format!("{prefix}{}", count - 1))
    }

    /// The register of a body that a symbol was found to mean, if nothing has changed since.
    #[inline]
    pub(crate) fn register(&self, symbol: Symbol) -> Option<Register> {
        let known = self.registers.get(symbol.0 as usize)?;
        (known.generation == self.generation).then_some(known.register)
    }

    /// Notes that a symbol means a register of a body.
    pub(crate) fn note_register(&mut self, symbol: Symbol, register: Register) {
        if let Some(known) = self.registers.get_mut(symbol.0 as usize) {
            *known = KnownRegister { register, generation: self.generation };
        }
    }

    /// Before a name is declared, or when it has gone. A family has any number of members.
    fn forget(&mut self, symbol: Symbol, family: bool) {
        match family {
            // The counter would wrap around, so all entries are cleared instead.
            true if self.generation == u32::MAX => self.registers.fill(NO_REGISTER),
            true => self.generation += 1,
            false => self.registers[symbol.0 as usize].generation = 0,
        }
    }

    fn plain_binding(&self, symbol: Symbol) -> Option<&Binding> {
        self.bindings.get(self.plain[symbol.0 as usize] as usize)
    }

    fn bind(&mut self, symbol: Symbol, entity: Entity, span: Span, count: Option<u32>) {
        let index = symbol.0 as usize;
        self.forget(symbol, count.is_some());
        let this = self.bindings.len() as u32;
        let heads = if count.is_some() { &mut self.families } else { &mut self.plain };
        let hidden = std::mem::replace(&mut heads[index], this);
        let prefix = self.numbered[index].prefix;
        let sibling = match count {
            None if prefix != NONE => std::mem::replace(&mut self.siblings[prefix as usize], this),
            _ => NONE,
        };
        let depth = self.depth();
        self.bindings.push(Binding { symbol, entity, span, depth, count, hidden, sibling });
    }
}

impl Binding {
    fn found(&self) -> Found {
        Found { entity: self.entity, member: None, depth: self.depth, span: self.span }
    }
}

/// Cuts the digits off a symbol's end. The prefix counts only if it occurs as a symbol itself: no family can
/// have it otherwise.
fn number(module: &Module, symbol: Symbol) -> Numbered {
    let none = Numbered { prefix: NONE, number: 0, canonical: false };
    let text = module.name(symbol);
    if !text.ends_with(|c: char| c.is_ascii_digit()) {
        return none;
    }
    let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &text[prefix.len()..];
    match module.symbols.find(prefix) {
        Some(prefix) => Numbered {
            prefix: prefix.0,
            number: digits
                .bytes()
                .fold(0, |n: u32, digit| n.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))),
            canonical: digits.len() == 1 || !digits.starts_with('0'),
        },
        None => none,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module in which all the names occur, and its symbols.
    fn names(text: &str) -> (Module, Names) {
        let source = format!(".version 9.0\n.target sm_90\n.global .u32 {text};\n");
        let module = softwarp_syntax::parse(&source).module;
        let names = Names::new(&module);
        (module, names)
    }

    fn variable(number: u32) -> Entity {
        Entity::Variable(VarId(number))
    }

    #[test]
    fn families_have_members_as_the_assembler_counts_them() {
        let (module, mut names) = names("r, r0, r3, r03, r4, r4294967297, r1, r13");
        let symbol = |text: &str| module.symbols.find(text).expect("it occurs");
        let here = Span::new(0, 1);
        names.push_scope();
        assert!(names.declare_family(symbol("r"), 4, variable(1), here).is_ok());
        for (text, member) in
            [("r0", Some(0)), ("r03", Some(3)), ("r4294967297", Some(1)), ("r4", None), ("r", None)]
        {
            assert_eq!(names.lookup(symbol(text)).and_then(|found| found.member), member, "{text}");
        }
        // All the digits are cut off, so that this family's members are never found.
        assert!(names.declare_family(symbol("r1"), 4, variable(2), here).is_ok());
        assert_eq!(names.lookup(symbol("r13")), None);
        assert!(names.declare(symbol("r3"), variable(3), here).is_err());
        assert!(names.declare(symbol("r3"), Entity::Label(0), here).is_ok());
        assert!(names.declare_family(symbol("r"), 0, variable(4), here).is_err());
        names.pop_scope();
        assert_eq!(names.lookup(symbol("r0")), None);
    }

    #[test]
    fn inner_scopes_hide_outer_ones_until_they_end() {
        let (module, mut names) = names("x, r, r2");
        let symbol = |text: &str| module.symbols.find(text).expect("it occurs");
        let here = Span::new(0, 1);
        let entity = |names: &Names, text: &str| names.lookup(symbol(text)).map(|found| found.entity);
        assert!(names.declare(symbol("x"), variable(0), here).is_ok());
        assert!(names.declare(symbol("r2"), variable(1), here).is_ok());
        names.push_scope();
        assert!(names.declare(symbol("x"), variable(2), here).is_ok());
        assert!(names.declare_family(symbol("r"), 4, variable(3), here).is_ok());
        assert_eq!([entity(&names, "x"), entity(&names, "r2")], [Some(variable(2)), Some(variable(3))]);
        names.push_scope();
        assert!(names.declare(symbol("r2"), variable(4), here).is_ok());
        // `r2` is taken in this scope, `r02` would not be.
        assert!(names.declare_family(symbol("r"), 4, variable(5), here).is_err());
        names.pop_scope();
        names.pop_scope();
        names.pop_scope();
        assert_eq!([entity(&names, "x"), entity(&names, "r2")], [Some(variable(0)), Some(variable(1))]);
    }
}
