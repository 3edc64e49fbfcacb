//! Mnemonics made ready for lowering: what is to be done for each, found out once for a module.

use crate::program::{AtomicOp, BarrierOp, Kernel, WarpOpKind};
use softwarp_isa::Type;
use softwarp_isa::instruction::{self, Resolution, Shape, Space};
use softwarp_syntax::Module;
use softwarp_syntax::tree::MnemonicId;
use std::rc::Rc;

/// How the loop for a form is found: [`crate::ops::select`], but for tests.
pub type Select = fn(&Shape) -> Option<(Kernel, u32)>;

/// A mnemonic, looked up.
#[derive(Debug)]
pub struct Form {
    /// What it spells.
    pub shape: Shape,
    /// What is done for it.
    pub action: Action,
}

impl Form {
    /// Whether a word is among the modifiers.
    pub fn has(&self, word: &str) -> bool {
        self.shape.words.contains(&word)
    }

    /// The same without a word.
    pub fn without(&self, word: &str, select: Select) -> Form {
        let mut shape = self.shape.clone();
        shape.words.retain(|one| *one != word);
        let action = action(&shape, select);
        Form { shape, action }
    }

    /// The first type.
    pub fn ty(&self) -> Type {
        self.shape.types.first().copied().unwrap_or(Type::B32)
    }

    /// The state space of its addresses.
    pub fn space(&self) -> Space {
        self.shape.spaces.first().copied().unwrap_or(Space::Generic)
    }
}

/// What is done for an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A loop over lanes, with what goes into `extra`.
    Alu(Kernel, u32),
    /// The same, of a video instruction: its operands select parts of registers.
    Video(Kernel, u32),
    /// `mov`
    Move,
    /// `ld`, `ldu`
    Load,
    /// `st`
    Store,
    /// `atom`
    Atom(AtomicOp),
    /// `red`
    Red(AtomicOp),
    /// `bra`
    Branch,
    /// `brx.idx`
    Switch,
    /// `call`
    Call,
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `trap`
    Trap,
    /// `brkpt`
    Breakpoint,
    /// `bar`, `barrier`
    Barrier(BarrierOp),
    /// Operations among the lanes of a warp.
    Warp(WarpOpKind),
    /// `membar`, `fence`
    Fence,
    /// `nanosleep`
    Yield,
    /// A hint without effect.
    Nothing,
    /// An opaque value that only hints: zero.
    Zero,
    /// `cvta`
    ToGeneric,
    /// `cvta.to`
    FromGeneric,
    /// `isspacep`
    IsSpace,
    /// `alloca`
    Alloca,
    /// `stacksave`
    StackSave,
    /// `stackrestore`
    StackRestore,
    /// Textures and surfaces.
    Texture,
    /// CTAs of a cluster.
    Cluster,
    /// Nothing, by all warps of a warpgroup.
    WholeGroup,
    /// Memory that several devices have together.
    Multimem,
    /// Asynchronous copies and mbarriers.
    Asynchronous,
    /// Matrices.
    Matrix,
    /// Not executed.
    Refused,
}

/// The mnemonics of a module.
#[derive(Debug, Default)]
pub struct Forms {
    known: Vec<Option<Option<Rc<Form>>>>,
}

impl Forms {
    /// What a mnemonic is; `None` if it spells nothing that the instruction table has.
    pub fn find(&mut self, module: &Module, id: MnemonicId, select: Select) -> Option<Rc<Form>> {
        self.known.resize(module.mnemonics.len(), None);
        let slot = self.known.get_mut(id.0 as usize)?;
        slot.get_or_insert_with(|| look_up(module, id, select).map(Rc::new)).clone()
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

fn look_up(module: &Module, id: MnemonicId, select: Select) -> Option<Form> {
    let mnemonic = module.mnemonic(id);
    let words: Vec<&str> = mnemonic
        .modifiers
        .iter()
        .map(|&word| module.name(word))
        .map(|word| if word.starts_with("const[") { "const" } else { word })
        .collect();
    match instruction::resolve(module.name(mnemonic.opcode), &words) {
        Ok(Resolution::Shape(shape)) => {
            let action = action(&shape, select);
            Some(Form { shape: *shape, action })
        }
        _ => None,
    }
}

fn action(shape: &Shape, select: Select) -> Action {
    let has = |word: &str| shape.words.contains(&word);
    match shape.opcode {
        "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" | "istypep" => Action::Texture,
        "mapa" | "getctarank" | "clusterlaunchcontrol" => Action::Cluster,
        "barrier" if has("cluster") => Action::Cluster,
        "multimem" => Action::Multimem,
        "mbarrier" | "cp" | "tensormap" => Action::Asynchronous,
        "st" | "red" if has("async") || has("bulk") => Action::Asynchronous,
        "prefetch" if has("tensormap") => Action::Asynchronous,
        "ldmatrix" | "stmatrix" | "movmatrix" | "mma" | "wmma" | "wgmma" => Action::Matrix,
        "mov" => Action::Move,
        "ld" | "ldu" => Action::Load,
        "st" if !has("async") && !has("bulk") => Action::Store,
        "atom" => atomic(shape).map_or(Action::Refused, Action::Atom),
        "red" if !has("async") => atomic(shape).map_or(Action::Refused, Action::Red),
        "bra" => Action::Branch,
        "brx" => Action::Switch,
        "call" => Action::Call,
        "ret" => Action::Return,
        "exit" => Action::Exit,
        "trap" => Action::Trap,
        "brkpt" => Action::Breakpoint,
        "bar" if has("warp") => Action::Warp(WarpOpKind::Sync),
        "bar" | "barrier" if !has("cluster") => barrier(shape).map_or(Action::Refused, Action::Barrier),
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => {
            warp(shape).map_or(Action::Refused, Action::Warp)
        }
        "membar" | "fence" => Action::Fence,
        "nanosleep" => Action::Yield,
        "applypriority" if has("async") => Action::Refused,
        "prefetch" | "prefetchu" | "discard" | "applypriority" | "griddepcontrol" | "pmevent" => {
            Action::Nothing
        }
        "setmaxnreg" => Action::WholeGroup,
        "createpolicy" => Action::Zero,
        "cvta" if has("to") => Action::FromGeneric,
        "cvta" => Action::ToGeneric,
        "isspacep" => Action::IsSpace,
        "alloca" => Action::Alloca,
        "stacksave" => Action::StackSave,
        "stackrestore" => Action::StackRestore,
        opcode => match select(shape) {
            None => Action::Refused,
            Some((kernel, extra)) if opcode.starts_with('v') => Action::Video(kernel, extra),
            Some((kernel, extra)) => Action::Alu(kernel, extra),
        },
    }
}

/// What an atomic operation or a reduction does.
pub(super) fn atomic(shape: &Shape) -> Option<AtomicOp> {
    shape.words.iter().find_map(|word| {
        Some(match *word {
            "and" => AtomicOp::And,
            "or" => AtomicOp::Or,
            "xor" => AtomicOp::Xor,
            "exch" => AtomicOp::Exch,
            "cas" => AtomicOp::Cas,
            "add" => AtomicOp::Add,
            "inc" => AtomicOp::Inc,
            "dec" => AtomicOp::Dec,
            "min" => AtomicOp::Min,
            "max" => AtomicOp::Max,
            _ => return None,
        })
    })
}

fn barrier(shape: &Shape) -> Option<BarrierOp> {
    shape.words.iter().find_map(|word| {
        Some(match *word {
            "sync" => BarrierOp::Sync,
            "arrive" => BarrierOp::Arrive,
            "popc" => BarrierOp::Popc,
            "and" => BarrierOp::And,
            "or" => BarrierOp::Or,
            _ => return None,
        })
    })
}

fn warp(shape: &Shape) -> Option<WarpOpKind> {
    use WarpOpKind as Is;
    let has = |word: &str| shape.words.contains(&word);
    let wide = shape.types.first() == Some(&Type::B64);
    let mode = |word: &&&str| !matches!(**word, "sync");
    let mode = shape.words.iter().find(mode).copied().unwrap_or("");
    Some(match (shape.opcode, mode, shape.types.first().copied()) {
        ("shfl", "up", _) => Is::ShflUp,
        ("shfl", "down", _) => Is::ShflDown,
        ("shfl", "bfly", _) => Is::ShflBfly,
        ("shfl", "idx", _) => Is::ShflIdx,
        ("vote", "all", _) => Is::VoteAll,
        ("vote", "any", _) => Is::VoteAny,
        ("vote", "uni", _) => Is::VoteUni,
        ("vote", "ballot", _) => Is::VoteBallot,
        ("match", "any", _) if wide => Is::MatchAny64,
        ("match", "any", _) => Is::MatchAny32,
        ("match", "all", _) if wide => Is::MatchAll64,
        ("match", "all", _) => Is::MatchAll32,
        ("redux", "min" | "max", Some(Type::F32)) => {
            Is::ReduxF32 { max: mode == "max", abs: has("abs"), nan: has("NaN") }
        }
        ("redux", "add", _) => Is::ReduxAdd,
        ("redux", "min", Some(Type::S32)) => Is::ReduxMinS32,
        ("redux", "min", _) => Is::ReduxMinU32,
        ("redux", "max", Some(Type::S32)) => Is::ReduxMaxS32,
        ("redux", "max", _) => Is::ReduxMaxU32,
        ("redux", "and", _) => Is::ReduxAnd,
        ("redux", "or", _) => Is::ReduxOr,
        ("redux", "xor", _) => Is::ReduxXor,
        ("activemask", ..) => Is::ActiveMask,
        ("elect", ..) => Is::Elect,
        _ => return None,
    })
}
