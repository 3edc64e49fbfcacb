//! The forms of a module: each distinct mnemonic is looked up in the instruction table once, and what its operands
//! may be is laid out so that checking an instruction is a few array accesses and bit tests.
//!
//! PTX ISA chapter 9 through `softwarp_isa::instruction`; which registers fit is section 5.2.1 and 9.4.1. A
//! form with optional operands becomes one [`Variant`] for every way of leaving some out.

use super::accepts::{Accepts, Spaces};
use super::fragment;
use super::ranges::{self, Bounds};
use super::rule::{self, AddressRule};
use crate::context::Context;
use softwarp_isa::instruction::{
    self, Access, InstructionForm, Kind, MnemonicError, Modifier, Opcode, Overrides, Signature, Wanted,
};
use softwarp_isa::{Opaque, Target, Type, Version};
use softwarp_syntax::Module;
use softwarp_syntax::tree::MnemonicId;

/// The forms of a module's mnemonics, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct FormTable {
    /// For every mnemonic of the module its place in `entries`, or [`UNASKED`].
    places: Vec<u32>,
    entries: Vec<FormEntry>,
    variants: Vec<Variant>,
    wants: Vec<Want>,
    counts: Vec<Vec<u8>>,
}

const UNASKED: u32 = u32::MAX;

/// More ways than that of leaving optional operands out are not written down: no form has as many.
const MOST_OPTIONAL: u32 = 6;

/// A mnemonic, looked up.
#[derive(Debug)]
pub(super) struct FormEntry {
    pub verdict: Verdict,
    /// Opcodes that need more than the table says.
    pub special: Special,
    /// It converts 32-bit addresses, which there are no more.
    pub narrow: bool,
    /// It computes in `.f64`, which the target has not: the assembler makes `.f32` of it.
    pub demoted: bool,
    /// `.const[2]`
    pub bank: Option<u64>,
    /// 0 for `.cta_group::1`, 1 for `.cta_group::2`.
    pub cta_group: Option<u8>,
    /// The registers that it writes must be distinct (`tcgen05.ld`).
    pub distinct: bool,
    first: u32,
    len: u32,
}

/// A form for a target, while its operands are laid out.
#[derive(Clone, Copy)]
struct OnTarget<'a> {
    form: &'a InstructionForm,
    special: Special,
    target: Target,
}

/// What the table says of a mnemonic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is a form; [`look_up`] has it in full.
    Form,
    /// It is none, and why.
    Wrong(Box<MnemonicError>),
}

/// What the table says of a mnemonic, in full. The walk keeps only what it needs of it, so that a module of
/// nothing but different mnemonics takes no more memory than others.
pub(super) fn look_up(
    module: &Module,
    id: MnemonicId,
) -> (Result<Box<InstructionForm>, MnemonicError>, Option<u64>) {
    let mnemonic = module.mnemonic(id);
    let mut modifiers: Vec<&str> = mnemonic.modifiers.iter().map(|&word| module.name(word)).collect();
    let bank = modifiers.iter_mut().find_map(|word| {
        let number = word.strip_prefix("const[")?.strip_suffix(']')?.trim().parse().ok()?;
        *word = "const";
        Some(number)
    });
    (instruction::resolve(module.name(mnemonic.opcode), &modifiers), bank)
}

/// Opcodes with rules of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// An opcode without rules of its own.
    No,
    /// `ld`, `ldu`: reads memory into registers.
    Load,
    /// `st`: writes memory.
    Store,
    /// `atom`, `red`: writes memory, and reads it.
    Update,
    /// `mov`: packs, unpacks and takes addresses.
    Mov,
    /// `cvta`, `mapa`, and others that take the address of a variable in a space that they name.
    Address,
    /// `call`
    Call,
    /// `brx.idx`: its label is that of a table.
    IndexedBranch,
    /// `vmad`: either the product or the summand can be negated.
    Vmad,
    /// `vmad.po`: nothing can.
    VmadPlusOne,
    /// `cp.async` of a constant number of bytes.
    AsyncCopy,
    /// `createpolicy.fractional`
    PolicyFraction,
    /// `createpolicy.range`
    PolicyRange,
}

/// One operand list of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    first: u32,
    pub len: u32,
    /// Which of the form's signatures it is of.
    pub signature: u32,
    /// Whether the module's version and target have it.
    pub open: bool,
}

/// An operand that a form wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// As the manual names it.
    pub name: &'static str,
    /// It is a destination.
    pub writes: bool,
    pub what: What,
    /// Which constants may stand, if not all.
    pub bounds: Option<&'static Bounds>,
    /// Which constants may stand for each element of a vector; empty where all may.
    pub elements: &'static [Bounds],
}

impl Want {
    /// A source of that kind.
    pub fn source(name: &'static str, accepts: Accepts) -> Want {
        Want { name, writes: false, what: What::Value(accepts), bounds: None, elements: &[] }
    }
}

/// What may stand for an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Value(Accepts),
    /// The two are in the pool of wants, at that place and the next.
    Pair {
        parts: u32,
        second_optional: bool,
        /// The version and architecture that have the second, where they are others than the form's.
        since: Option<(Version, u16)>,
    },
    Vector {
        /// In the pool of counts.
        counts: u32,
        element: Accepts,
        bare: bool,
    },
    /// An address in one of these spaces.
    Address(Spaces, AddressRule),
    Handle {
        of: Opaque,
        coordinates: Option<(&'static [u8], Accepts)>,
        /// The geometry is that of an array, and the first coordinate an index into it.
        array: bool,
        /// The geometry is that of a cube: in the unified mode it has no sampler.
        cube: bool,
        /// Asks about a sampler (`txq.filter_mode`).
        of_sampler: bool,
    },
    Tensor {
        dimensions: u8,
        overrides: Overrides,
    },
    /// An endpoint, an offset in it and perhaps that of a counter.
    Fabric {
        endpoint: Accepts,
        offset: Accepts,
        counter: bool,
    },
    Immediate(Option<(i64, i64)>),
    Label,
    /// `_`
    Sink,
    Any,
}

impl FormTable {
    /// Makes room for the mnemonics of a module.
    pub fn prepare(&mut self, module: &Module) {
        self.places.resize(module.mnemonics.len(), UNASKED);
    }

    /// The place of a mnemonic's form.
    pub fn find(&mut self, context: &Context<'_>, mnemonic: MnemonicId) -> usize {
        match self.places.get(mnemonic.0 as usize) {
            Some(&place) if place != UNASKED => place as usize,
            _ => self.ask(context, mnemonic),
        }
    }

    /// Whether a mnemonic has been looked up.
    pub fn knows(&self, mnemonic: MnemonicId) -> bool {
        self.places.get(mnemonic.0 as usize).is_some_and(|&place| place != UNASKED)
    }

    /// A form by its place.
    pub fn entry(&self, place: usize) -> &FormEntry {
        &self.entries[place]
    }

    /// How many operand lists a form has.
    pub fn variants(&self, place: usize) -> usize {
        self.entries[place].len as usize
    }

    /// One of a form's operand lists.
    pub fn variant(&self, place: usize, n: usize) -> Variant {
        self.variants[self.entries[place].first as usize + n]
    }

    /// The n-th operand of a list.
    pub fn want(&self, variant: Variant, n: usize) -> &Want {
        &self.wants[variant.first as usize + n]
    }

    /// The operands of a list.
    pub fn wants(&self, variant: Variant) -> &[Want] {
        &self.wants[variant.first as usize..][..variant.len as usize]
    }

    /// The operand at that place of the pool: part of a pair.
    pub fn part(&self, place: u32) -> Want {
        self.wants[place as usize]
    }

    /// The numbers of elements that a vector may have.
    pub fn counts(&self, place: u32) -> &[u8] {
        &self.counts[place as usize]
    }

    #[cold]
    fn ask(&mut self, context: &Context<'_>, id: MnemonicId) -> usize {
        let (resolution, bank) = look_up(context.module, id);
        let first = self.variants.len() as u32;
        let (mut special, mut narrow, mut demoted) = (Special::No, false, false);
        let (mut cta_group, mut distinct) = (None, false);
        let verdict = match resolution {
            Err(fault) => Verdict::Wrong(Box::new(fault)),
            Ok(form) => {
                special = Special::of(&form);
                narrow = form.opcode == Opcode::Cvta && form.types == [Type::U32];
                distinct = form.opcode == Opcode::Tcgen05 && form.modifiers.contains(&Modifier::Ld);
                let groups = [Modifier::CtaGroup1, Modifier::CtaGroup2];
                cta_group =
                    (0..).zip(groups).find(|(_, group)| form.modifiers.contains(group)).map(|it| it.0);
                for (n, signature) in form.signatures.iter().enumerate() {
                    let mut open = signature.shut_gate(context.version(), context.target()).is_none();
                    if !open && is_demoted(context, &form, signature) {
                        (open, demoted) = (true, true);
                    }
                    let on = OnTarget { form: &form, special, target: context.target() };
                    self.lay_out(on, n as u32, open);
                }
                Verdict::Form
            }
        };
        let place = self.entries.len();
        self.entries.push(FormEntry {
            verdict,
            special,
            narrow,
            demoted,
            bank,
            cta_group,
            distinct,
            first,
            len: self.variants.len() as u32 - first,
        });
        if let Some(known) = self.places.get_mut(id.0 as usize) {
            *known = place as u32;
        }
        place
    }

    /// Writes down a signature once for every choice among its optional operands, fullest first.
    fn lay_out(&mut self, on: OnTarget<'_>, number: u32, open: bool) {
        let Some(signature) = on.form.signatures.get(number as usize) else { return };
        let optional = signature.operands.iter().filter(|operand| operand.optional).count() as u32;
        for left_out in 0..1u32 << optional.min(MOST_OPTIONAL) {
            let mut wants = Vec::with_capacity(signature.operands.len());
            let mut seen = 0;
            for operand in &signature.operands {
                let skipped = operand.optional && {
                    seen += 1;
                    left_out >> (seen - 1) & 1 != 0
                };
                if !skipped {
                    wants.push(self.want_of(on, operand));
                }
            }
            let (first, len) = (self.wants.len() as u32, wants.len() as u32);
            self.wants.extend(wants);
            self.variants.push(Variant { first, len, signature: number, open });
        }
    }

    fn want_of(&mut self, on: OnTarget<'_>, wanted: &Wanted) -> Want {
        let OnTarget { form, special, target } = on;
        let what = match &wanted.kind {
            // The depth that `tex` compares with is checked as if its type were fixed.
            Kind::Value(value) if wanted.name == "dref" => What::Value(
                Accepts::new(value, form, special).without(Accepts::FUNCTION).with(Accepts::FIXED),
            ),
            Kind::Value(value) if form.opcode == Opcode::Cvt => {
                What::Value(converted(form, Accepts::new(value, form, special)))
            }
            Kind::Value(value) => {
                What::Value(fragment::value(form, wanted.name, Accepts::new(value, form, special)))
            }
            Kind::Pair(first, second) => {
                let second_optional = second.optional;
                let parts = [self.want_of(on, first), self.want_of(on, second)];
                let place = self.wants.len() as u32;
                self.wants.extend(parts);
                let texture = matches!(form.opcode, Opcode::Tex | Opcode::Tld4);
                let since = texture.then_some((Version::new(7, 1), 60));
                What::Pair { parts: place, second_optional, since }
            }
            Kind::Vector { counts, element, bare } => {
                self.counts.push(counts.clone());
                let mut element = Accepts::new(element, form, special);
                let result = wanted.access == Access::Write;
                if LOOSE_VECTORS.contains(&form.opcode) {
                    element = element.as_element();
                } else if result && LOOSE_RESULTS.contains(&form.opcode) {
                    element = element.with_integers();
                }
                element = fragment::accepts(form, wanted.name, target, element);
                if calls_for_gradients(form, wanted.name) {
                    element = element.with(Accepts::NO_SPECIAL);
                }
                // The assembler lets one register stand for all that a surface or `st.async` stores.
                let stores =
                    form.opcode == Opcode::Sust || (form.opcode == Opcode::St && form.has(Modifier::Async));
                let bare = *bare || (stores && form.vector > 1);
                What::Vector { counts: self.counts.len() as u32 - 1, element, bare }
            }
            Kind::Address(spaces) => What::Address(Spaces::new(spaces), rule::of(form, wanted.name, spaces)),
            Kind::Handle { of, coordinates } => What::Handle {
                of: *of,
                coordinates: coordinates.map(|all| (all.counts, Accepts::new(&all.element, form, special))),
                array: form.modifiers.iter().any(|word| ARRAY_GEOMETRIES.contains(word)),
                cube: (form.has(Modifier::Cube) || form.has(Modifier::Acube)) && !form.has(Modifier::Level),
                of_sampler: form.modifiers.iter().any(|word| SAMPLER_QUERIES.contains(word)),
            },
            Kind::Fabric { endpoint, offset, counter } => What::Fabric {
                endpoint: Accepts::new(endpoint, form, special),
                offset: Accepts::new(offset, form, special),
                counter: *counter,
            },
            Kind::Tensor { dimensions, overrides } => {
                What::Tensor { dimensions: *dimensions, overrides: *overrides }
            }
            Kind::Immediate(range) => What::Immediate(*range),
            Kind::Label => What::Label,
            Kind::Sink => What::Sink,
            Kind::Call | Kind::Any => What::Any,
        };
        let writes = matches!(wanted.access, Access::Write | Access::ReadWrite);
        let elements = ranges::of_elements(form, wanted.name);
        Want { name: wanted.name, writes, what, bounds: ranges::of(form, wanted.name), elements }
    }
}

/// Operands that the assembler moves into a register before it converts them: with `.rna`, and between `.f32` and `.f64`
/// with `.ftz`. It moves neither decimal constants nor wide registers.
fn converted(form: &InstructionForm, accepts: Accepts) -> Accepts {
    let has = |ty| form.types.contains(&ty);
    if form.has(Modifier::Rna) && has(Type::Tf32) {
        accepts.without(Accepts::F64)
    } else if form.has(Modifier::Ftz) && has(Type::F32) && has(Type::F64) {
        accepts.without_type(Type::B128)
    } else {
        accepts
    }
}

/// Whether a form is shut only for its `.f64`, on a target without: the assembler lets it pass as `.f32`.
fn is_demoted(context: &Context<'_>, form: &InstructionForm, signature: &Signature) -> bool {
    // There are no such roundings of `.f32` there.
    let directed = form.has(Modifier::Rm) || form.has(Modifier::Rp);
    if context.target().has_f64() || !form.types.contains(&Type::F64) || directed {
        return false;
    }
    let first = Target::all().find(|target| target.has_f64());
    first.is_some_and(|target| signature.shut_gate(context.version(), target).is_none())
}

/// Whether the derivatives of a texture's coordinates are moved one by one, which takes no special registers.
fn calls_for_gradients(form: &InstructionForm, operand: &str) -> bool {
    let solid =
        form.modifiers.iter().any(|word| matches!(word, Modifier::D3 | Modifier::Cube | Modifier::Acube));
    solid && matches!(operand, "dPdx" | "dPdy")
}

/// Opcodes whose vectors of floats may be vectors of integers: the assembler accepts them.
const LOOSE_VECTORS: [Opcode; 6] =
    [Opcode::Ld, Opcode::Ldu, Opcode::St, Opcode::Atom, Opcode::Red, Opcode::Multimem];

/// Opcodes of which the same is true of results only.
const LOOSE_RESULTS: [Opcode; 2] = [Opcode::Tex, Opcode::Tld4];

const ARRAY_GEOMETRIES: [Modifier; 4] = [Modifier::A1d, Modifier::A2d, Modifier::Acube, Modifier::A2dms];

/// What `txq` asks of the sampler, where textures and samplers are separate (section 9.7.10.3).
const SAMPLER_QUERIES: [Modifier; 5] = [
    Modifier::FilterMode,
    Modifier::AddrMode0,
    Modifier::AddrMode1,
    Modifier::AddrMode2,
    Modifier::ForceUnnormalizedCoords,
];

impl Special {
    fn of(form: &InstructionForm) -> Special {
        match form.opcode {
            Opcode::Ld | Opcode::Ldu => Special::Load,
            Opcode::St => Special::Store,
            Opcode::Atom | Opcode::Red => Special::Update,
            Opcode::Mov => Special::Mov,
            Opcode::Cvta | Opcode::Mapa | Opcode::Getctarank => Special::Address,
            Opcode::Call => Special::Call,
            Opcode::Brx => Special::IndexedBranch,
            Opcode::Vmad if form.has(Modifier::Po) => Special::VmadPlusOne,
            Opcode::Vmad => Special::Vmad,
            Opcode::Cp if form.has(Modifier::Ca) || form.has(Modifier::Cg) => Special::AsyncCopy,
            Opcode::Createpolicy if form.has(Modifier::Fractional) => Special::PolicyFraction,
            Opcode::Createpolicy if form.has(Modifier::Range) => Special::PolicyRange,
            _ => Special::No,
        }
    }
}
