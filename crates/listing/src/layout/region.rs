//! An image's memory, region by region: the objects whose offsets count from the same place, in their order,
//! and the padding between them.

use softwarp::check::checked::VariableKind;
use softwarp::image::image::BANKS;
use softwarp::image::{Extent, FunctionId, Image, Object, ObjectId};
use softwarp::isa::StateSpace;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.global`
    Global,
    /// A bank of `.const`.
    Constant(u8),
    /// `.shared`, of all kernels.
    Shared,
    /// `.local` at module scope.
    Thread,
    /// `.tex`
    Texture,
    /// Input parameters of a function.
    Parameters(FunctionId),
    /// Return parameters of a function.
    Returns(FunctionId),
    /// `.param` variables of a function's body.
    Arguments(FunctionId),
    /// `.local` variables of a function.
    Frame(FunctionId),
}

impl Kind {
    /// The state space, and what more there is to say.
    pub fn title(self) -> String {
        match self {
            Kind::Global => ".global".into(),
            Kind::Constant(0) => ".const".into(),
            Kind::Constant(bank) => format!(".const[{bank}]"),
            Kind::Shared => ".shared".into(),
            Kind::Thread => ".local of the thread".into(),
            Kind::Texture => ".tex".into(),
            Kind::Parameters(_) => ".param".into(),
            Kind::Returns(_) => ".param, returned".into(),
            Kind::Arguments(_) => ".param, for calls".into(),
            Kind::Frame(_) => ".local frame".into(),
        }
    }
}

/// Objects whose offsets count from the same place.
#[derive(Debug)]
pub struct Region {
    /// The kind of memory.
    pub kind: Kind,
    /// The size and alignment of all its objects together.
    pub extent: Extent,
    /// By offset; those without one last.
    pub objects: Vec<ObjectId>,
}

/// The regions that exist once, without the empty ones.
pub fn of_module(image: &Image) -> Vec<Region> {
    let mut constants: [Vec<ObjectId>; BANKS] = Default::default();
    let (mut global, mut shared, mut thread, mut texture) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (id, object) in (0..).map(ObjectId).zip(&image.objects) {
        match object.space {
            StateSpace::Global => global.push(id),
            StateSpace::Const => {
                constants.get_mut(usize::from(object.bank)).into_iter().for_each(|bank| bank.push(id))
            }
            StateSpace::Shared => shared.push(id),
            StateSpace::Tex => texture.push(id),
            StateSpace::Local if object.kind == VariableKind::Module => thread.push(id),
            _ => {}
        }
    }
    let shared_extent = image.kernels().map(|kernel| kernel.shared).fold(Extent::default(), widest);
    // What no kernel reaches is not in any kernel's extent.
    let shared_extent = shared.iter().map(|&id| reach(image.object(id))).fold(shared_extent, widest);
    let mut regions = vec![(Kind::Global, image.global, global)];
    regions.extend(
        (0..)
            .zip(constants)
            .map(|(bank, ids)| (Kind::Constant(bank), image.constant[usize::from(bank)], ids)),
    );
    regions.push((Kind::Shared, shared_extent, shared));
    regions.push((Kind::Thread, image.thread, thread));
    regions.push((Kind::Texture, image.texture, texture));
    regions.into_iter().filter_map(|(kind, extent, ids)| Region::new(image, kind, extent, ids)).collect()
}

/// The regions of a function, without the empty ones.
pub fn of_function(image: &Image, id: FunctionId) -> Vec<Region> {
    let function = image.function(id);
    let locals = |space| {
        let inside = |id: &&ObjectId| image.object(**id).space == space;
        function.locals.iter().filter(inside).copied().collect()
    };
    let regions = [
        (Kind::Parameters(id), function.parameter_extent, function.parameters.clone()),
        (Kind::Returns(id), function.return_extent, function.returns.clone()),
        (Kind::Arguments(id), function.arguments, locals(StateSpace::Param)),
        (Kind::Frame(id), function.frame, locals(StateSpace::Local)),
    ];
    regions.into_iter().filter_map(|(kind, extent, ids)| Region::new(image, kind, extent, ids)).collect()
}

fn reach(object: &Object) -> Extent {
    let bytes = object.offset.map_or(0, |at| at.saturating_add(object.total()));
    Extent { bytes, alignment: object.alignment }
}

fn widest(a: Extent, b: Extent) -> Extent {
    Extent { bytes: a.bytes.max(b.bytes), alignment: a.alignment.max(b.alignment) }
}

/// Part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// An object, or a member of a family.
    Variable { id: ObjectId, member: Option<u32>, at: Option<u64> },
    /// Members of a family that are not listed: how many, from where, and the bytes they take.
    Rest { id: ObjectId, count: u32, at: Option<u64>, bytes: u64 },
    /// Bytes that belong to nothing.
    Padding { at: u64, bytes: u64 },
}

impl Region {
    fn new(image: &Image, kind: Kind, extent: Extent, mut objects: Vec<ObjectId>) -> Option<Region> {
        objects.sort_by_key(|&id| image.object(id).offset.unwrap_or(u64::MAX));
        (!objects.is_empty()).then_some(Region { kind, extent, objects })
    }

    /// Its parts in order, at most a given number of members of each family.
    pub fn pieces(&self, image: &Image, members: u32) -> Vec<Piece> {
        pieces(image, &self.objects, members)
    }

    /// How many of its bytes belong to nothing.
    pub fn padding(&self, image: &Image) -> u64 {
        let mut filled = 0;
        let mut padding: u64 = 0;
        for object in self.objects.iter().map(|&id| image.object(id)) {
            let Some(at) = object.offset else { continue };
            let between = object.stride().saturating_sub(object.size);
            let inside = between.saturating_mul(u64::from(object.count.unwrap_or(1).saturating_sub(1)));
            padding = padding.saturating_add(at.saturating_sub(filled)).saturating_add(inside);
            filled = filled.max(at.saturating_add(object.total()));
        }
        padding
    }

    /// Its first objects so that none lies over another in the same list, and each list is used by the same kernels.
    /// Only `.shared` needs several.
    pub fn lanes(&self, image: &Image, first: usize) -> Vec<Lane> {
        let users = if self.kind == Kind::Shared { users(image) } else { None };
        let mut lanes: Vec<(u64, Lane)> = Vec::new();
        for &id in self.objects.iter().take(first) {
            let object = image.object(id);
            let owner = users.as_ref().map(|users| users.get(&id).copied().unwrap_or(Owner::Nobody));
            let extent = object.offset.map_or(u64::MAX..u64::MAX, |at| at..at.saturating_add(object.total()));
            let room = |(end, lane): &&mut (u64, Lane)| *end <= extent.start && lane.owner == owner;
            match lanes.iter_mut().find(room) {
                Some((end, lane)) => {
                    *end = extent.end;
                    lane.objects.push(id);
                }
                None => lanes.push((extent.end, Lane { owner, objects: vec![id] })),
            }
        }
        lanes.sort_by_key(|(_, lane)| lane.owner);
        lanes.into_iter().map(|(_, lane)| lane).collect()
    }
}

/// Which kernels use a `.shared` variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// More than one.
    Several,
    /// This one.
    Kernel(FunctionId),
    /// None.
    Nobody,
}

/// Objects that lie side by side.
#[derive(Debug)]
pub struct Lane {
    /// The kernels that use them, where that makes a difference.
    pub owner: Option<Owner>,
    /// By offset; those without one last.
    pub objects: Vec<ObjectId>,
}

/// The kernels that use each `.shared` variable; `None` if that is not known, or there is but one kernel.
fn users(image: &Image) -> Option<BTreeMap<ObjectId, Owner>> {
    image.kernels().nth(1)?;
    let mut users = BTreeMap::new();
    for (id, function) in (0..).map(FunctionId).zip(&image.functions).filter(|(_, function)| function.entry) {
        for &object in function.shared_objects.as_ref()? {
            users.entry(object).and_modify(|owner| *owner = Owner::Several).or_insert(Owner::Kernel(id));
        }
    }
    Some(users)
}

/// Objects in order, with their members and the padding between them.
pub fn pieces(image: &Image, objects: &[ObjectId], members: u32) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(objects.len());
    let mut filled = 0;
    let mut put = |piece: Piece, range: Option<Range<u64>>| {
        if let Some(range) = range {
            if range.start > filled {
                pieces.push(Piece::Padding { at: filled, bytes: range.start - filled });
            }
            filled = filled.max(range.end);
        }
        pieces.push(piece);
    };
    for &id in objects {
        let object = image.object(id);
        let place = |at: Option<u64>, bytes: u64| at.map(|at| at..at.saturating_add(bytes));
        let Some(count) = object.count else {
            let piece = Piece::Variable { id, member: None, at: object.offset };
            put(piece, place(object.offset, object.size));
            continue;
        };
        let at = |member: u32| {
            object.offset.map(|at| at.saturating_add(object.stride().saturating_mul(u64::from(member))))
        };
        let shown = count.min(members);
        for member in 0..shown {
            let piece = Piece::Variable { id, member: Some(member), at: at(member) };
            put(piece, place(at(member), object.size));
        }
        if count > shown {
            let more = u64::from(count - shown);
            let bytes = object.stride().saturating_mul(more - 1).saturating_add(object.size);
            put(Piece::Rest { id, count: count - shown, at: at(shown), bytes }, place(at(shown), bytes));
        }
    }
    pieces
}
