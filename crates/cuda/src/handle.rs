//! Handles: numbers that programs hold for contexts, modules, streams and so on.
//!
//! A handle is a kind, a generation and an index into a table. An index is used again with the next generation, so that
//! a handle of something that was destroyed is told from a live one. Handles are no addresses: nothing that a program
//! passes as a handle is followed as a pointer.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `CUcontext`
    Context = 0x11,
    /// `CUmodule`
    Module = 0x12,
    /// `CUfunction`
    Function = 0x13,
    /// `CUlibrary`
    Library = 0x14,
    /// `CUkernel`
    Kernel = 0x15,
    /// `CUstream`
    Stream = 0x16,
    /// `CUevent`
    Event = 0x17,
    /// `CUlinkState`
    Link = 0x18,
    /// `CUmemoryPool`
    Pool = 0x19,
    /// `CUgraph`
    Graph = 0x1a,
    /// `CUgraphExec`
    GraphExec = 0x1b,
    /// `CUgraphNode`
    GraphNode = 0x1c,
    /// `CUarray`
    Array = 0x1d,
    /// `CUmipmappedArray`
    Mipmapped = 0x1e,
    /// `CUtexref`
    TextureReference = 0x1f,
    /// `CUuserObject`
    UserObject = 0x20,
}

/// What tables can hold.
pub trait Handled {
    /// The kind of its handles.
    const KIND: Kind;
}

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 16;

/// A handle as programs see it; 0 is none.
#[repr(transparent)]
pub struct Handle<T> {
    bits: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<T> Eq for Handle<T> {}

impl<T> std::fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0x{:x}", self.bits)
    }
}

impl<T> Handle<T> {
    /// No handle.
    pub const NULL: Handle<T> = Handle::of(0);

    /// The handle with these bits.
    pub const fn of(bits: u64) -> Handle<T> {
        Handle { bits, of: PhantomData }
    }

    /// Its bits.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// Whether it is none.
    pub fn is_null(self) -> bool {
        self.bits == 0
    }

    /// The same number as a handle of something else. Some functions take handles of two kinds.
    pub fn cast<U>(self) -> Handle<U> {
        Handle::of(self.bits)
    }

    /// The kind that its bits say.
    pub fn has_kind(self, kind: Kind) -> bool {
        self.bits >> (INDEX_BITS + GENERATION_BITS) == kind as u64
    }
}

/// Why a handle means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// What it stood for was destroyed.
    Destroyed,
    /// It never was a handle of this kind.
    Never,
}

struct Slot<T> {
    generation: u16,
    value: Option<Arc<T>>,
}

/// Everything of one kind, by handle.
pub struct Table<T> {
    slots: Mutex<Slots<T>>,
}

struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { slots: Mutex::new(Slots { slots: Vec::new(), free: Vec::new() }) }
    }
}

/// Locks; a thread that panicked while it held the lock has left whole values behind.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Handled> Table<T> {
    /// Adds a value. Nothing if there are too many.
    pub fn insert(&self, value: Arc<T>) -> Option<Handle<T>> {
        let mut slots = lock(&self.slots);
        let index = match slots.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(slots.slots.len()).ok().filter(|&it| it < 1 << INDEX_BITS)?;
                slots.slots.push(Slot { generation: 0, value: None });
                index
            }
        };
        let slot = &mut slots.slots[index as usize];
        slot.value = Some(value);
        let kind = (T::KIND as u64) << (INDEX_BITS + GENERATION_BITS);
        Some(Handle::of(kind | u64::from(slot.generation) << INDEX_BITS | u64::from(index)))
    }

    /// Adds a value that holds its own handle.
    pub fn insert_with(&self, make: impl FnOnce(Handle<T>) -> Arc<T>) -> Option<Handle<T>>
    where
        T: Default,
    {
        let handle = self.insert(Arc::default())?;
        let (index, _) = split(handle);
        lock(&self.slots).slots[index].value = Some(make(handle));
        Some(handle)
    }

    /// What a handle stands for.
    pub fn get(&self, handle: Handle<T>) -> Result<Arc<T>, Missing> {
        let slots = lock(&self.slots);
        match find(&slots, handle)? {
            Slot { value: Some(value), .. } => Ok(value.clone()),
            Slot { value: None, .. } => Err(Missing::Destroyed),
        }
    }

    /// Takes a value out; its handle means nothing from then on.
    pub fn remove(&self, handle: Handle<T>) -> Result<Arc<T>, Missing> {
        let mut slots = lock(&self.slots);
        find(&slots, handle)?;
        let (index, _) = split(handle);
        let slot = &mut slots.slots[index];
        let value = slot.value.take().ok_or(Missing::Destroyed)?;
        // An index whose generations are used up is not used again.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            slots.free.push(index as u32);
        }
        Ok(value)
    }

    /// All values.
    pub fn all(&self) -> Vec<(Handle<T>, Arc<T>)> {
        let slots = lock(&self.slots);
        let kind = (T::KIND as u64) << (INDEX_BITS + GENERATION_BITS);
        let live = slots.slots.iter().enumerate().filter_map(|(index, slot)| {
            let bits = kind | u64::from(slot.generation) << INDEX_BITS | index as u64;
            Some((Handle::of(bits), slot.value.clone()?))
        });
        live.collect()
    }
}

fn split<T>(handle: Handle<T>) -> (usize, u16) {
    let index = handle.bits & ((1 << INDEX_BITS) - 1);
    (index as usize, (handle.bits >> INDEX_BITS) as u16)
}

/// The slot of a handle that is, or was, one of this table.
fn find<T: Handled>(slots: &Slots<T>, handle: Handle<T>) -> Result<&Slot<T>, Missing> {
    let (index, generation) = split(handle);
    if !handle.has_kind(T::KIND) {
        return Err(Missing::Never);
    }
    match slots.slots.get(index) {
        Some(slot) if slot.generation == generation => Ok(slot),
        Some(slot) if slot.generation > generation => Err(Missing::Destroyed),
        _ => Err(Missing::Never),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Thing(u32);

    impl Handled for Thing {
        const KIND: Kind = Kind::Event;
    }

    #[test]
    fn destroyed_handles_mean_nothing_even_if_their_index_is_used_again() {
        let table = Table::default();
        let first = table.insert(Arc::new(Thing(1))).expect("room");
        assert_eq!(table.get(first).as_deref(), Ok(&Thing(1)));
        assert_eq!(table.remove(first).as_deref(), Ok(&Thing(1)));
        assert_eq!(table.get(first), Err(Missing::Destroyed));
        assert_eq!(table.remove(first), Err(Missing::Destroyed));
        let second = table.insert(Arc::new(Thing(2))).expect("room");
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(Missing::Destroyed));
        assert_eq!(table.get(second).as_deref(), Ok(&Thing(2)));
        assert_eq!(table.all().len(), 1);
    }

    #[test]
    fn numbers_that_were_never_handles_are_told_apart() {
        let table = Table::<Thing>::default();
        for bits in [0, 1, 0x1234, u64::MAX, (Kind::Event as u64) << 40, (Kind::Stream as u64) << 40] {
            assert_eq!(table.get(Handle::of(bits)), Err(Missing::Never), "{bits:x}");
        }
    }
}
