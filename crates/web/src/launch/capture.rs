//! What is kept of a launch that stops: a launch does not stay in memory between two calls of the page, but runs again up to
//! the moment that is asked for.

use softwarp::debug::session::{Reason, Session};
use softwarp::debug::value::Value;
use softwarp::debug::view::{Focus, View};
use softwarp::ir::{Memory, Op, Step};
use softwarp::isa::Type;
use softwarp::syntax::Span;
use softwarp::vm::debug::{BarrierState, Group, State};
use softwarp_listing::observe;

/// The most bytes of shared memory that are kept.
const MOST_SHARED: u64 = 1 << 18;

/// A register in all lanes of a warp.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The type that it was declared with.
    pub ty: Type,
    /// Its values; none where a lane has no such register.
    pub lanes: [Option<Value>; 32],
}

/// A memory access of a warp.
#[derive(Clone, Debug)]
pub struct Access {
    /// `load`, `store` or `atomic`
    pub kind: &'static str,
    /// The state space that the instruction names.
    pub space: Memory,
    /// Bytes of a lane.
    pub bytes: u64,
    /// The addresses of lanes that execute it.
    pub addresses: [Option<u64>; 32],
    /// What the first of them is in.
    pub name: Option<String>,
}

/// A named part of shared memory.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its address, as registers hold it.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The type of its elements.
    pub ty: Type,
}

/// A launch that has stopped before an instruction.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Why.
    pub reason: Reason,
    /// The instruction.
    pub span: Span,
    /// The function's name.
    pub function: String,
    /// The thread that steps are about.
    pub focus: Focus,
    /// The lanes at the instruction, and those that pass its guard.
    pub lanes: u32,
    /// Those that pass its guard.
    pub executing: u32,
    /// All lanes of the CTA that have not exited.
    pub groups: Vec<Group>,
    /// The barriers that threads wait at.
    pub barriers: Vec<BarrierState>,
    /// The registers of the warp in focus.
    pub registers: Vec<Row>,
    /// Shared memory of the CTA, and its first address.
    pub shared: (u64, Vec<u8>),
    /// What is in it.
    pub variables: Vec<Named>,
    /// The access of the instruction.
    pub access: Option<Access>,
}

/// The registers of a warp.
pub fn registers(session: &Session, state: &dyn State, warp: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for lane in 0..32 {
        let focus = Focus { warp, lane, call: 0, ..session.focus };
        let view = View { state, program: &session.program, focus };
        for (index, (register, value)) in view.registers().into_iter().enumerate() {
            let same = |row: &Row| row.name == register.name && row.ty == register.ty;
            // Lanes of one function have the same registers in the same order.
            let at = rows.get(index).filter(|row| same(row)).map(|_| index);
            let at = at.or_else(|| rows.iter().position(same)).unwrap_or_else(|| {
                rows.push(Row { name: register.name.clone(), ty: register.ty, lanes: [None; 32] });
                rows.len() - 1
            });
            rows[at].lanes[lane as usize] = Some(value);
        }
    }
    rows
}

fn access(session: &Session, state: &dyn State) -> Option<Access> {
    let at = state.at();
    let Some(Op::Other(_, step)) = at.op else { return None };
    let (kind, address, bytes) = match &**step {
        Step::Load(access) => ("load", &access.address, observe::bytes(access)),
        Step::Store(access) => ("store", &access.address, observe::bytes(access)),
        Step::Atomic(atomic) => {
            let bytes = u64::from(atomic.ty.bits()).div_ceil(8);
            ("atomic", &atomic.address, bytes * atomic.b.len().max(1) as u64)
        }
        _ => return None,
    };
    let places = state.addresses(address);
    let mut addresses = [None; 32];
    for (lane, to) in addresses.iter_mut().enumerate().filter(|(lane, _)| at.executing >> lane & 1 == 1) {
        *to = Some(places[lane]);
    }
    let first = (0..32).find(|lane| at.executing >> lane & 1 == 1)?;
    let view = View { state, program: &session.program, focus: Focus { lane: first, ..session.focus } };
    let name = view.name_of(address.memory, places[first as usize]).map(|(name, offset)| match offset {
        0 => name,
        offset => format!("{name}+{offset}"),
    });
    Some(Access { kind, space: address.memory, bytes, addresses, name })
}

/// Shared memory of the CTA, with its first address as registers hold it.
fn shared(session: &Session, state: &dyn State) -> (u64, Vec<u8>) {
    let first = state.image().header.arch.properties().reserved_shared;
    let mut bytes = vec![0; state.shape().shared_bytes.min(MOST_SHARED) as usize];
    let start = state.shared_window() + first;
    match state.read(session.focus.thread(), 0, Memory::Shared, start, &mut bytes) {
        Ok(()) => (start, bytes),
        Err(_) => (start, Vec::new()),
    }
}

impl Stop {
    /// Looks at a launch that has stopped.
    pub fn new(session: &Session, state: &dyn State, reason: &Reason) -> Stop {
        let at = state.at();
        let view = session.view(state);
        let in_shared = view.variables().into_iter().filter(|(_, one)| one.space == Memory::Shared);
        let variables = in_shared.map(|(name, one)| Named {
            name: name.to_owned(),
            address: one.address,
            bytes: one.bytes,
            ty: one.ty,
        });
        Stop {
            reason: reason.clone(),
            span: at.span,
            function: state.image().function(at.function).name.to_string(),
            focus: session.focus,
            lanes: at.lanes,
            executing: at.executing,
            groups: state.groups(),
            barriers: state.barriers(),
            registers: registers(session, state, session.focus.warp),
            shared: shared(session, state),
            variables: variables.collect(),
            access: access(session, state),
        }
    }
}
