//! Lists of the compiler that are kept from one function to the next, so that most functions are compiled without asking
//! the system for memory.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

/// The lists of a type that are not in use.
pub(crate) type Shelf<T> = RefCell<Vec<Vec<T>>>;

/// What a kept list can have.
pub(crate) trait Kept: Sized + 'static {
    fn shelf() -> &'static LocalKey<Shelf<Self>>;
}

/// Has lists of some types kept.
macro_rules! kept {
    ($($type:ty),*) => {
        $(impl $crate::buffers::Kept for $type {
            fn shelf() -> &'static std::thread::LocalKey<$crate::buffers::Shelf<$type>> {
                thread_local! {
                    static SHELF: $crate::buffers::Shelf<$type> =
                        const { std::cell::RefCell::new(Vec::new()) };
                }
                &SHELF
            }
        })*
    };
}
pub(crate) use kept;

kept!(bool, u32, u64, usize, (u32, u32), [u32; 2], (u32, usize), (u32, (u32, u32)), Option<u32>);
kept!(softwarp_ir::Slot);

/// The most lists of a type that a thread keeps, and the most bytes of one.
const MOST: usize = 16;
const LONGEST: usize = 1 << 20;

/// A list that is kept for the next function when it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer<T: Kept>(Vec<T>);

impl<T: Kept> Buffer<T> {
    /// An empty list, with room for a number of elements.
    pub(crate) fn new(room: usize) -> Buffer<T> {
        let kept = T::shelf().try_with(|shelf| shelf.borrow_mut().pop()).ok().flatten();
        let mut list = kept.unwrap_or_default();
        list.reserve(room);
        Buffer(list)
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

impl<T: Kept> Default for Buffer<T> {
    fn default() -> Buffer<T> {
        Buffer(Vec::new())
    }
}

impl<T: Kept> Deref for Buffer<T> {
    type Target = Vec<T>;
    #[inline]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Kept> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Kept> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Buffer<T> {
        let mut list = Buffer::new(0);
        list.extend(all);
        list
    }
}

impl<T: Kept> Drop for Buffer<T> {
    fn drop(&mut self) {
        let mut list = std::mem::take(&mut self.0);
        if list.capacity() == 0 || list.capacity() * size_of::<T>() > LONGEST {
            return;
        }
        list.clear();
        // A thread that ends keeps nothing.
        _ = T::shelf().try_with(|shelf| {
            let mut shelf = shelf.borrow_mut();
            if shelf.len() < MOST {
                shelf.push(list);
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
