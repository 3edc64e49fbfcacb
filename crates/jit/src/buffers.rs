//! Lists of the compiler that are kept from one function to the next, so that most functions are compiled without asking
//! the system for memory.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

/// A free list: the lists of a type that are not in use.
pub(crate) type Free<T> = RefCell<Vec<Vec<T>>>;

/// An element type whose lists are kept.
pub(crate) trait Pooled: Sized + 'static {
    fn free() -> &'static LocalKey<Free<Self>>;
}

/// Implements [`Pooled`] for some types.
macro_rules! pooled {
    ($($type:ty),*) => {
        $(impl $crate::buffers::Pooled for $type {
            fn free() -> &'static std::thread::LocalKey<$crate::buffers::Free<$type>> {
                thread_local! {
                    static FREE: $crate::buffers::Free<$type> =
                        const { std::cell::RefCell::new(Vec::new()) };
                }
                &FREE
            }
        })*
    };
}
pub(crate) use pooled;

pooled!(bool, u32, u64, usize, (u32, u32), [u32; 2], (u32, usize), (u32, (u32, u32)), Option<u32>);
pooled!(softwarp_ir::Slot);

/// The most lists of a type that a thread keeps, and the most bytes of one.
const MOST: usize = 16;
const LONGEST: usize = 1 << 20;

/// The fewest elements that a list has room for.
const SHORTEST: usize = 32;

/// A list that is kept for the next function when it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer<T: Pooled>(Vec<T>);

impl<T: Pooled> Buffer<T> {
    /// An empty list, with room for a number of elements.
    pub(crate) fn new(capacity: usize) -> Buffer<T> {
        let kept = T::free().try_with(|free| free.borrow_mut().pop()).ok().flatten();
        match kept {
            Some(list) if list.capacity() >= capacity => Buffer(list),
            // A short list is not made longer: that would copy what it had.
            Some(_) | None => Buffer(Vec::with_capacity(capacity.next_power_of_two().max(SHORTEST))),
        }
    }

    /// A list of the same element a number of times.
    pub(crate) fn filled(element: T, count: usize) -> Buffer<T>
    where
        T: Clone,
    {
        let mut list = Buffer::new(count);
        list.resize(count, element);
        list
    }
}

impl<T: Pooled> Default for Buffer<T> {
    fn default() -> Buffer<T> {
        Buffer(Vec::new())
    }
}

impl<T: Pooled> Deref for Buffer<T> {
    type Target = Vec<T>;
    #[inline]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Pooled> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Pooled> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Buffer<T> {
        let mut list = Buffer::new(0);
        list.extend(all);
        list
    }
}

impl<T: Pooled> Drop for Buffer<T> {
    fn drop(&mut self) {
        let mut list = std::mem::take(&mut self.0);
        if list.capacity() == 0 || list.capacity() * size_of::<T>() > LONGEST {
            return;
        }
        list.clear();
        // A thread that ends keeps nothing.
        _ = T::free().try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < MOST {
                free.push(list);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn lists_are_kept() {
        let mut list = Buffer::filled(7u64, 3);
        list.reserve(100);
        let (place, room) = (list.as_ptr(), list.capacity());
        drop(list);
        let again = Buffer::<u64>::new(100);
        assert!(again.is_empty() && again.as_ptr() == place && again.capacity() == room);
        assert_eq!((1..4).collect::<Buffer<u64>>().as_slice(), [1, 2, 3]);
    }
}
