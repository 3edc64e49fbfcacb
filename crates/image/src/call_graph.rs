//! What calls lead to: how deep the stack can get, and which `.shared` variables a kernel needs (PTX ISA
//! sections 5.1.5 and 5.1.7).
//!
//! A kernel's shared memory holds the variables that it and its callees use, and no others: kernels never run in
//! the same CTA, so their variables may lie over one another. A variable has one offset in all kernels: the
//! first that is free in every kernel that reaches it.
//!
//! A call through a pointer may go to every function whose address is taken.

use crate::image::{Function, FunctionId, Image, Object, ObjectId, Target};
use crate::link::Linked;
use crate::place::{Cursor, RedZones};
use crate::{Unit, codes};
use softwarp_check::checked::FuncId;
use softwarp_isa::StateSpace;
use softwarp_syntax::tree::Linkage;
use softwarp_syntax::{Diagnostic, Location};

/// How many steps from kernels to functions are followed. Beyond them every kernel counts as reaching
/// everything, which is wasteful but never wrong.
const MOST_STEPS: usize = 50_000_000;

/// The most bytes of red zones in shared memory. Matrix descriptors hold 18-bit addresses (256 KiB), and a CTA can use
/// up to 227 KiB of shared memory: zones of this size keep every variable within reach of a descriptor.
const MOST_ZONES: u64 = 16 << 10;

/// Resolves stacks and shared memory.
pub fn resolve(units: &[Unit<'_>], linked: &Linked, image: &mut Image, findings: &mut Vec<Diagnostic>) {
    let callees = callees(units, image);
    compute_stacks(image, &callees);
    place_shared(units, linked, image, &callees, findings);
}

/// The functions that each function may call, each once.
fn callees(units: &[Unit<'_>], image: &Image) -> Vec<Vec<FunctionId>> {
    let mut pointed = vec![false; image.functions.len()];
    for (unit, of) in (0..).zip(units) {
        let taken = (0..).zip(&of.checked.functions).filter(|(_, function)| function.address_taken);
        taken.for_each(|(id, _)| pointed[image.function_of(unit, FuncId(id)).0 as usize] = true);
    }
    for relocation in image.objects.iter().flat_map(|object| &object.relocations) {
        if let Target::Function(id) = relocation.target {
            pointed[id.0 as usize] = true;
        }
    }
    let pointed: Vec<FunctionId> =
        (0..).map(FunctionId).zip(&pointed).filter(|(_, pointed)| **pointed).map(|(id, _)| id).collect();
    // Every indirect call has the same callees. They are one more node, so that the lists stay short.
    let hub = FunctionId(image.functions.len() as u32);
    let own = |function: &Function| {
        let mut callees = function.calls.clone();
        callees.extend(function.indirect.then_some(hub));
        callees
    };
    image.functions.iter().map(own).chain([pointed]).collect()
}

/// A function that is being walked.
struct Visit {
    id: usize,
    next: usize,
}

/// What a call of a function comes to.
#[derive(Clone, Copy, Default)]
struct Depth {
    stack: u64,
    alignment: u64,
    recursion: u64,
    recursive: bool,
    indirect: bool,
}

/// Finds, for each function, the deepest stack of its calls: Tarjan's components, in the order in which they are
/// complete, so that callees are known before their callers.
fn compute_stacks(image: &mut Image, callees: &[Vec<FunctionId>]) {
    const NONE: u32 = u32::MAX;
    let count = callees.len();
    let (mut order, mut low, mut component) = (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
    let mut depths = vec![Depth::default(); count];
    let mut open: Vec<usize> = Vec::new();
    let mut clock = 0;
    for root in 0..count {
        if order[root] != NONE {
            continue;
        }
        let mut walk = vec![Visit { id: root, next: 0 }];
        while let Some(visit) = walk.last_mut() {
            let id = visit.id;
            if visit.next == 0 {
                (order[id], low[id]) = (clock, clock);
                clock += 1;
                open.push(id);
            }
            if let Some(callee) = callees[id].get(visit.next) {
                visit.next += 1;
                let callee = callee.0 as usize;
                if order[callee] == NONE {
                    walk.push(Visit { id: callee, next: 0 });
                } else if component[callee] == NONE {
                    low[id] = low[id].min(order[callee]);
                }
                continue;
            }
            walk.pop();
            if let Some(caller) = walk.last() {
                low[caller.id] = low[caller.id].min(low[id]);
            }
            if low[id] == order[id] {
                let from = open.iter().rposition(|&member| member == id).unwrap_or(0);
                let members = open.split_off(from);
                members.iter().for_each(|&member| component[member] = id as u32);
                let inside = |callee: FunctionId| component[callee.0 as usize] == id as u32;
                let depth = depth_of(image, callees, &members, inside, &depths);
                members.iter().for_each(|&member| depths[member] = depth);
            }
        }
    }
    for (function, depth) in image.functions.iter_mut().zip(depths) {
        (function.stack, function.recursion) = (depth.stack, depth.recursion);
        (function.recursive, function.indirect) = (depth.recursive, depth.indirect);
    }
}

/// What a call of the functions of a component comes to: all of them may be active at once, over the deepest of
/// what they call. Frames begin at multiples of the strictest alignment in reach.
fn depth_of(
    image: &Image,
    callees: &[Vec<FunctionId>],
    members: &[usize],
    inside: impl Fn(FunctionId) -> bool,
    depths: &[Depth],
) -> Depth {
    let mut all = Depth { alignment: 1, recursive: members.len() > 1, ..Depth::default() };
    let (mut below, mut recursion) = (0, 0);
    for &member in members {
        if let Some(function) = image.functions.get(member) {
            all.alignment = all.alignment.max(function.frame.alignment);
            all.indirect |= function.indirect;
        }
        for &callee in &callees[member] {
            if inside(callee) {
                all.recursive = true;
                continue;
            }
            let depth = depths[callee.0 as usize];
            all.alignment = all.alignment.max(depth.alignment);
            all.recursive |= depth.recursive;
            all.indirect |= depth.indirect;
            below = below.max(depth.stack);
            recursion = recursion.max(depth.recursion);
        }
    }
    let frame = |member: &usize| {
        let bytes = image.functions.get(*member).map_or(0, |function| function.frame.bytes);
        bytes.checked_next_multiple_of(all.alignment).unwrap_or(u64::MAX)
    };
    let own = members.iter().map(frame).fold(0, u64::saturating_add);
    let rounds =
        members.len() > 1 || members.iter().any(|&member| callees[member].iter().any(|&id| inside(id)));
    all.stack = own.saturating_add(below);
    all.recursion = if rounds { recursion.saturating_add(own) } else { recursion };
    all
}

/// Gives every `.shared` variable its offset, and every kernel its shared memory.
fn place_shared(
    units: &[Unit<'_>],
    linked: &Linked,
    image: &mut Image,
    callees: &[Vec<FunctionId>],
    findings: &mut Vec<Diagnostic>,
) {
    let shared: Vec<ObjectId> = (0..image.objects.len() as u32)
        .map(ObjectId)
        .filter(|&id| image.object(id).space == StateSpace::Shared)
        .collect();
    if shared.is_empty() {
        return;
    }
    let kernels: Vec<usize> = (0..image.functions.len()).filter(|&id| image.functions[id].entry).collect();
    let users = users(units, image, callees, &kernels);
    if users.first_stands_for_all {
        kernels.iter().for_each(|&kernel| image.functions[kernel].shared_objects = None);
    } else {
        for &id in &shared {
            for kernel in users.kernels(id, &kernels) {
                image.functions[kernel].shared_objects.get_or_insert_default().push(id);
            }
        }
    }
    let order = SharedOrder { shared: &shared, kernels: &kernels, users: &users };
    let put = |image: &mut Image, zones: RedZones| order.place(linked, image, zones);
    let mut wrong = put(image, RedZones::NONE);
    if image.red_zones && wrong.is_empty() {
        let plain: Vec<u64> = kernels.iter().map(|&kernel| image.functions[kernel].shared.bytes).collect();
        for most in [1024, 16] {
            wrong = put(image, RedZones::between(16, most));
            let zones = |(&kernel, plain): (&usize, &u64)| image.functions[kernel].shared.bytes - plain;
            if kernels.iter().zip(&plain).map(zones).max().unwrap_or(0) <= MOST_ZONES {
                break;
            }
        }
        for (&kernel, plain) in kernels.iter().zip(plain) {
            let function = &mut image.functions[kernel];
            function.shared_zones = function.shared.bytes - plain;
        }
    }
    findings.extend(wrong);
    place_dynamic(image, &kernels, &users);
}

/// The `.shared` variables in the order in which they are placed, and the kernels that use them.
#[derive(Clone, Copy)]
struct SharedOrder<'a> {
    shared: &'a [ObjectId],
    kernels: &'a [usize],
    users: &'a Users,
}

impl SharedOrder<'_> {
    /// Gives every variable with a size its offset, with red zones behind each.
    fn place(self, linked: &Linked, image: &mut Image, zones: RedZones) -> Vec<Diagnostic> {
        let SharedOrder { shared, kernels, users } = self;
        let mut findings = Vec::new();
        let mut cursors = vec![Cursor::default().with(zones); kernels.len() + 1];
        for &id in shared {
            let object = &mut image.objects[id.0 as usize];
            let elsewhere = object.linkage == Some(Linkage::Extern) && linked.is_elsewhere(object);
            if object.is_dynamic_shared() || elsewhere {
                continue;
            }
            let (total, alignment, reaching) = (object.total(), object.alignment, users.of(id));
            let mut free = reaching.iter().map(|&kernel| cursors[kernel as usize].next(alignment));
            let at = free.try_fold(0, |at, next| next.map(|next| next.max(at)));
            object.offset = at;
            let mut reserve = |at| {
                reaching.iter().all(|&kernel| cursors[kernel as usize].reserve(at, total, alignment).is_ok())
            };
            if !at.is_some_and(&mut reserve) {
                let message = format!("with `{}`, `.shared` has 2^63 bytes or more", object.name);
                let location = Location { unit: object.unit, span: object.span };
                findings.push(Diagnostic::at(location, codes::TOO_LARGE, message));
            }
        }
        for (number, &kernel) in kernels.iter().enumerate() {
            image.functions[kernel].shared = cursors[users.cursor(number)].extent();
        }
        findings
    }
}

/// Arrays without size begin where the kernel's other variables end, each at the next multiple of its alignment.
fn place_dynamic(image: &mut Image, kernels: &[usize], users: &Users) {
    let dynamic = |id: &ObjectId| image.object(*id).is_dynamic_shared();
    let dynamic: Vec<ObjectId> = (0..image.objects.len() as u32).map(ObjectId).filter(dynamic).collect();
    for id in dynamic {
        let object = &mut image.objects[id.0 as usize];
        let mut places = Vec::new();
        for kernel in users.kernels(id, kernels) {
            let function = &mut image.functions[kernel];
            function.shared.alignment = function.shared.alignment.max(object.alignment);
            let at = function.dynamic_offset(object);
            let first = function.dynamic_shared.unwrap_or(u64::MAX);
            function.dynamic_shared = Some(first.min(at));
            places.push(at);
        }
        let first = places.first().copied().unwrap_or(0);
        object.offset = places.iter().all(|&place| place == first).then_some(first);
    }
}

/// Which kernels reach a `.shared` variable.
struct Users {
    /// By object, numbers of kernels; empty for what is not in `.shared`.
    reaching: Vec<Vec<u32>>,
    /// Every kernel counts as reaching everything, and the first stands for all.
    first_stands_for_all: bool,
}

impl Users {
    /// The cursors that an object moves.
    fn of(&self, id: ObjectId) -> &[u32] {
        &self.reaching[id.0 as usize]
    }

    /// The cursor of a kernel.
    fn cursor(&self, kernel: usize) -> usize {
        if self.first_stands_for_all { 0 } else { kernel }
    }

    /// The kernels that reach an object.
    fn kernels(&self, id: ObjectId, kernels: &[usize]) -> impl Iterator<Item = usize> {
        let all = if self.first_stands_for_all { kernels } else { &[] };
        let own = if self.first_stands_for_all { &[] } else { self.of(id) };
        all.iter().copied().chain(own.iter().filter_map(|&number| kernels.get(number as usize).copied()))
    }
}

fn users(units: &[Unit<'_>], image: &Image, callees: &[Vec<FunctionId>], kernels: &[usize]) -> Users {
    let shared: Vec<Vec<ObjectId>> =
        image.functions.iter().map(|function| shared_of(units, image, function)).collect();
    let mut reaching = vec![Vec::new(); image.objects.len()];
    let mut seen = vec![u32::MAX; callees.len()];
    let mut steps = 0;
    for (number, &kernel) in (0..).zip(kernels) {
        let mut open = vec![FunctionId(kernel as u32)];
        let mut reached: Vec<ObjectId> = Vec::new();
        while let Some(id) = open.pop() {
            let id = id.0 as usize;
            if std::mem::replace(&mut seen[id], number) == number {
                continue;
            }
            open.extend(&callees[id]);
            let own = shared.get(id).map_or(&[][..], Vec::as_slice);
            reached.extend(own);
            steps += 1 + callees[id].len() + own.len();
        }
        if steps > MOST_STEPS {
            return everything(image);
        }
        reached.sort_unstable();
        reached.dedup();
        reached.iter().for_each(|id| reaching[id.0 as usize].push(number));
    }
    // What no kernel reaches is laid out too, as if one more kernel did.
    for (of, object) in reaching.iter_mut().zip(&image.objects) {
        if of.is_empty() && object.space == StateSpace::Shared {
            of.push(kernels.len() as u32);
        }
    }
    Users { reaching, first_stands_for_all: false }
}

/// The `.shared` variables that a function declares or names.
fn shared_of(units: &[Unit<'_>], image: &Image, function: &Function) -> Vec<ObjectId> {
    let of = units[function.unit as usize].checked.function(function.id);
    let named = of.uses.iter().map(|&id| image.object_of(function.unit, id));
    let all = function.locals.iter().copied().chain(named);
    all.filter(|&id| image.object(id).space == StateSpace::Shared).collect()
}

/// As if every kernel reached everything.
fn everything(image: &Image) -> Users {
    let of = |object: &Object| if object.space == StateSpace::Shared { vec![0] } else { Vec::new() };
    Users { reaching: image.objects.iter().map(of).collect(), first_stands_for_all: true }
}
