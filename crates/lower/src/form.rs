//! Mnemonics made ready for lowering: each is looked up once.

use softwarp_ir::AtomicOp;
use softwarp_isa::Type;
use softwarp_isa::instruction::{self, InstructionForm, Modifier, Space};
use softwarp_syntax::Module;
use softwarp_syntax::tree::MnemonicId;
use softwarp_units::alu::has_loop;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A mnemonic, looked up.
#[derive(Debug)]
pub struct Form {
    /// The form in the instruction table.
    pub instruction: Arc<InstructionForm>,
    /// How it is lowered.
    pub action: Action,
}

impl Form {
    /// Whether a modifier stands.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.instruction.has(modifier)
    }

    /// The form without a modifier.
    pub fn without(&self, modifier: Modifier) -> Form {
        let mut instruction = InstructionForm::clone(&self.instruction);
        instruction.words.retain(|one| *one != modifier);
        instruction.modifiers.retain(|one| *one != modifier);
        let action = action(&instruction);
        Form { instruction: Arc::new(instruction), action }
    }

    /// The first type.
    pub fn ty(&self) -> Type {
        self.instruction.types.first().copied().unwrap_or(Type::B32)
    }

    /// The state space of its addresses.
    pub fn space(&self) -> Space {
        self.instruction.spaces.first().copied().unwrap_or(Space::Generic)
    }
}

/// How an instruction is lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Arithmetic: `units` has a loop for it.
    Alu,
    /// A video instruction: its operands select parts of registers.
    Video,
    /// Everything else. The file that lowers it knows its opcode.
    Other,
}

/// The mnemonics of a module.
#[derive(Debug, Default)]
pub struct Forms {
    known: RefCell<Vec<Option<Option<Rc<Form>>>>>,
}

impl Forms {
    /// What a mnemonic is; `None` if it spells nothing that the instruction table has.
    pub fn find(&self, module: &Module, id: MnemonicId) -> Option<Rc<Form>> {
        let mut known = self.known.borrow_mut();
        known.resize(module.mnemonics.len(), None);
        let slot = known.get_mut(id.0 as usize)?;
        slot.get_or_insert_with(|| look_up(module, id).map(Rc::new)).clone()
    }
}

/// A mnemonic as people write it.
pub fn text(module: &Module, id: MnemonicId) -> String {
    let mnemonic = module.mnemonic(id);
    let mut text = module.name(mnemonic.opcode).to_owned();
    for &word in &mnemonic.modifiers {
        text.push('.');
        text.push_str(module.name(word));
    }
    text
}

/// Forms by their spelling, for all modules of the process: modules have most of their instructions in common, and
/// looking one up in the instruction table takes longer than lowering it.
static KNOWN: LazyLock<Mutex<Spellings>> = LazyLock::new(Mutex::default);

/// What spellings mean; none for those that mean nothing.
type Spellings = HashMap<String, Option<(Arc<InstructionForm>, Action)>>;

/// The most spellings that are kept. With more, all are forgotten: programs have some thousands.
const MOST_KNOWN: usize = 1 << 14;

fn look_up(module: &Module, id: MnemonicId) -> Option<Form> {
    let mnemonic = module.mnemonic(id);
    let words: Vec<&str> = mnemonic
        .modifiers
        .iter()
        .map(|&word| module.name(word))
        .map(|word| if word.starts_with("const[") { "const" } else { word })
        .collect();
    let opcode = module.name(mnemonic.opcode);
    let spelling = [&[opcode], words.as_slice()].concat().join(".");
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    let resolved = known.entry(spelling).or_insert_with(|| {
        let instruction = instruction::resolve(opcode, &words).ok()?;
        let action = action(&instruction);
        Some((Arc::from(instruction), action))
    });
    resolved.clone().map(|(instruction, action)| Form { instruction, action })
}

fn action(instruction: &InstructionForm) -> Action {
    if !has_loop(instruction) {
        return Action::Other;
    }
    let is_video = instruction.opcode.video_elements().is_some();
    if is_video { Action::Video } else { Action::Alu }
}

/// What an atomic operation or a reduction does.
pub(super) fn atomic(instruction: &InstructionForm) -> Option<AtomicOp> {
    instruction.modifiers.iter().find_map(|word| {
        Some(match *word {
            Modifier::And => AtomicOp::And,
            Modifier::Or => AtomicOp::Or,
            Modifier::Xor => AtomicOp::Xor,
            Modifier::Exch => AtomicOp::Exch,
            Modifier::Cas => AtomicOp::Cas,
            Modifier::Add => AtomicOp::Add,
            Modifier::Inc => AtomicOp::Inc,
            Modifier::Dec => AtomicOp::Dec,
            Modifier::Min => AtomicOp::Min,
            Modifier::Max => AtomicOp::Max,
            _ => return None,
        })
    })
}
