//! What the module exports: `alloc`, `free` and `call`. Requests and answers are bytes in the module's memory.
//!
//! `unsafe` is here alone. The page gives pointers; what it may do with them is said at each function, and `web/src` holds
//! to it. A page that does not can damage the memory of its own module, and nothing else.

use std::alloc::{Layout, alloc as allocate, dealloc};

/// The layout of a block of memory.
fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.max(1), 4).ok()
}

/// A block of memory; null if there is none.
#[cfg_attr(target_family = "wasm", unsafe(export_name = "alloc"))]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    // SAFETY: the layout is not empty.
    layout(length).map_or(std::ptr::null_mut(), |layout| unsafe { allocate(layout) })
}

/// Gives memory back.
///
/// # Safety
/// [`alloc`] or [`call`] gave the pointer, it was not given back since, and the length is that of the memory.
#[cfg_attr(target_family = "wasm", unsafe(export_name = "free"))]
pub unsafe extern "C" fn free(pointer: *mut u8, length: usize) {
    if let Some(layout) = layout(length).filter(|_| !pointer.is_null()) {
        // SAFETY: it was allocated with this layout, as the caller says.
        unsafe { dealloc(pointer, layout) };
    }
}

/// Answers a request: a length in four bytes, and the bytes of the answer behind it. Null if there is no memory for it.
///
/// # Safety
/// `length` bytes from the pointer on can be read, and nothing writes them meanwhile.
#[cfg_attr(target_family = "wasm", unsafe(export_name = "call"))]
pub unsafe extern "C" fn call(pointer: *const u8, length: usize) -> *mut u8 {
    let request = match pointer.is_null() {
        true => &[],
        // SAFETY: the caller says so.
        false => unsafe { std::slice::from_raw_parts(pointer, length) },
    };
    let answer = crate::call(request);
    let Ok(count) = u32::try_from(answer.len()) else { return std::ptr::null_mut() };
    let Some(total) = answer.len().checked_add(4) else { return std::ptr::null_mut() };
    let to = alloc(total);
    if !to.is_null() {
        // SAFETY: there is room for four bytes and the answer, which was just allocated and so overlaps with nothing.
        unsafe {
            to.copy_from_nonoverlapping(count.to_le_bytes().as_ptr(), 4);
            to.add(4).copy_from_nonoverlapping(answer.as_ptr(), answer.len());
        }
    }
    to
}
