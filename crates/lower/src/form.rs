//! Mnemonics made ready for lowering: what is to be done for each, found out once for a module.

use softwarp_ir::{AtomicOp, BarrierOp, WarpOpKind};
use softwarp_isa::Type;
use softwarp_isa::instruction::{self, Modifier, Opcode, Shape, Space};
use softwarp_syntax::Module;
use softwarp_syntax::tree::MnemonicId;
use softwarp_units::alu::has_loop;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A mnemonic, looked up.
#[derive(Debug)]
pub struct Form {
    /// What it spells.
    pub shape: Arc<Shape>,
    /// What is done for it.
    pub action: Action,
}

impl Form {
    /// Whether a modifier stands.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.shape.has(modifier)
    }

    /// The same without a modifier.
    pub fn without(&self, modifier: Modifier) -> Form {
        let mut shape = Shape::clone(&self.shape);
        shape.words.retain(|one| *one != modifier);
        shape.modifiers.retain(|one| *one != modifier);
        let action = action(&shape);
        Form { shape: Arc::new(shape), action }
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
    /// Arithmetic.
    Alu,
    /// A video instruction: its operands select parts of registers.
    Video,
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

fn look_up(module: &Module, id: MnemonicId) -> Option<Form> {
    let mnemonic = module.mnemonic(id);
    let words: Vec<&str> = mnemonic
        .modifiers
        .iter()
        .map(|&word| module.name(word))
        .map(|word| if word.starts_with("const[") { "const" } else { word })
        .collect();
    match instruction::resolve(module.name(mnemonic.opcode), &words) {
        Ok(shape) => {
            let action = action(&shape);
            Some(Form { shape: Arc::from(shape), action })
        }
        _ => None,
    }
}

fn action(shape: &Shape) -> Action {
    let has = |modifier| shape.has(modifier);
    match shape.opcode {
        Opcode::Tex
        | Opcode::Tld4
        | Opcode::Txq
        | Opcode::Suld
        | Opcode::Sust
        | Opcode::Sured
        | Opcode::Suq
        | Opcode::Istypep => Action::Texture,
        Opcode::Mapa | Opcode::Getctarank | Opcode::Clusterlaunchcontrol => Action::Cluster,
        Opcode::Barrier if has(Modifier::Cluster) => Action::Cluster,
        Opcode::Multimem => Action::Multimem,
        Opcode::Mbarrier | Opcode::Cp | Opcode::Tensormap => Action::Asynchronous,
        Opcode::St | Opcode::Red if has(Modifier::Async) || has(Modifier::Bulk) => Action::Asynchronous,
        Opcode::Prefetch if has(Modifier::Tensormap) => Action::Asynchronous,
        Opcode::Ldmatrix
        | Opcode::Stmatrix
        | Opcode::Movmatrix
        | Opcode::Mma
        | Opcode::Wmma
        | Opcode::Wgmma => Action::Matrix,
        Opcode::Mov => Action::Move,
        Opcode::Ld | Opcode::Ldu => Action::Load,
        Opcode::St if !has(Modifier::Async) && !has(Modifier::Bulk) => Action::Store,
        Opcode::Atom => atomic(shape).map_or(Action::Refused, Action::Atom),
        Opcode::Red if !has(Modifier::Async) => atomic(shape).map_or(Action::Refused, Action::Red),
        Opcode::Bra => Action::Branch,
        Opcode::Brx => Action::Switch,
        Opcode::Call => Action::Call,
        Opcode::Ret => Action::Return,
        Opcode::Exit => Action::Exit,
        Opcode::Trap => Action::Trap,
        Opcode::Brkpt => Action::Breakpoint,
        Opcode::Bar if has(Modifier::Warp) => Action::Warp(WarpOpKind::Sync),
        Opcode::Bar | Opcode::Barrier if !has(Modifier::Cluster) => {
            barrier(shape).map_or(Action::Refused, Action::Barrier)
        }
        Opcode::Shfl | Opcode::Vote | Opcode::Match | Opcode::Redux | Opcode::Activemask | Opcode::Elect => {
            warp(shape).map_or(Action::Refused, Action::Warp)
        }
        Opcode::Membar | Opcode::Fence => Action::Fence,
        Opcode::Nanosleep => Action::Yield,
        Opcode::Applypriority if has(Modifier::Async) => Action::Refused,
        Opcode::Prefetch
        | Opcode::Prefetchu
        | Opcode::Discard
        | Opcode::Applypriority
        | Opcode::Griddepcontrol
        | Opcode::Pmevent => Action::Nothing,
        Opcode::Setmaxnreg => Action::WholeGroup,
        Opcode::Createpolicy => Action::Zero,
        Opcode::Cvta if has(Modifier::To) => Action::FromGeneric,
        Opcode::Cvta => Action::ToGeneric,
        Opcode::Isspacep => Action::IsSpace,
        Opcode::Alloca => Action::Alloca,
        Opcode::Stacksave => Action::StackSave,
        Opcode::Stackrestore => Action::StackRestore,
        _ if !has_loop(shape) => Action::Refused,
        opcode if opcode.video_elements().is_some() => Action::Video,
        _ => Action::Alu,
    }
}

/// What an atomic operation or a reduction does.
pub(super) fn atomic(shape: &Shape) -> Option<AtomicOp> {
    shape.modifiers.iter().find_map(|word| {
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

fn barrier(shape: &Shape) -> Option<BarrierOp> {
    shape.modifiers.iter().find_map(|word| {
        Some(match *word {
            Modifier::Sync => BarrierOp::Sync,
            Modifier::Arrive => BarrierOp::Arrive,
            Modifier::Popc => BarrierOp::Popc,
            Modifier::And => BarrierOp::And,
            Modifier::Or => BarrierOp::Or,
            _ => return None,
        })
    })
}

fn warp(shape: &Shape) -> Option<WarpOpKind> {
    use WarpOpKind as Is;
    let has = |modifier| shape.has(modifier);
    let wide = shape.types.first() == Some(&Type::B64);
    let mode = shape.modifiers.iter().copied().find(|&word| word != Modifier::Sync);
    Some(match (shape.opcode, mode, shape.types.first().copied()) {
        (Opcode::Shfl, Some(Modifier::Up), _) => Is::ShflUp,
        (Opcode::Shfl, Some(Modifier::Down), _) => Is::ShflDown,
        (Opcode::Shfl, Some(Modifier::Bfly), _) => Is::ShflBfly,
        (Opcode::Shfl, Some(Modifier::Idx), _) => Is::ShflIdx,
        (Opcode::Vote, Some(Modifier::All), _) => Is::VoteAll,
        (Opcode::Vote, Some(Modifier::Any), _) => Is::VoteAny,
        (Opcode::Vote, Some(Modifier::Uni), _) => Is::VoteUni,
        (Opcode::Vote, Some(Modifier::Ballot), _) => Is::VoteBallot,
        (Opcode::Match, Some(Modifier::Any), _) if wide => Is::MatchAny64,
        (Opcode::Match, Some(Modifier::Any), _) => Is::MatchAny32,
        (Opcode::Match, Some(Modifier::All), _) if wide => Is::MatchAll64,
        (Opcode::Match, Some(Modifier::All), _) => Is::MatchAll32,
        (Opcode::Redux, Some(Modifier::Min | Modifier::Max), Some(Type::F32)) => Is::ReduxF32 {
            max: mode == Some(Modifier::Max),
            abs: has(Modifier::Abs),
            nan: has(Modifier::PropagateNan),
        },
        (Opcode::Redux, Some(Modifier::Add), _) => Is::ReduxAdd,
        (Opcode::Redux, Some(Modifier::Min), Some(Type::S32)) => Is::ReduxMinS32,
        (Opcode::Redux, Some(Modifier::Min), _) => Is::ReduxMinU32,
        (Opcode::Redux, Some(Modifier::Max), Some(Type::S32)) => Is::ReduxMaxS32,
        (Opcode::Redux, Some(Modifier::Max), _) => Is::ReduxMaxU32,
        (Opcode::Redux, Some(Modifier::And), _) => Is::ReduxAnd,
        (Opcode::Redux, Some(Modifier::Or), _) => Is::ReduxOr,
        (Opcode::Redux, Some(Modifier::Xor), _) => Is::ReduxXor,
        (Opcode::Activemask, ..) => Is::ActiveMask,
        (Opcode::Elect, ..) => Is::Elect,
        _ => return None,
    })
}
