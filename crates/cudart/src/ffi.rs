//! Pointers that C callers pass, and pointers that are passed to the driver.
//!
//! **Why this is sound.** It is as sound as the C API is. The runtime API says what each pointer argument must point to; a
//! pointer that is not null is trusted to do so, as CUDA trusts it. Everything that follows such a pointer is in this
//! module and in `driver/mod.rs`. A null pointer is [`INVALID_VALUE`](Code::INVALID_VALUE). Values that are read have no
//! invalid bit patterns ([`Bits`]). Handles are numbers and are never followed.

use crate::code::{Code, Done, ensure};
use std::ffi::{CStr, c_char, c_void};

/// Types for which every bit pattern is a value.
///
/// # Safety
/// Any bytes, at any alignment that the type has, are a value of it.
pub unsafe trait Bits: Copy {}

macro_rules! bits {
    ($($type:ty),*) => {
        // SAFETY: integers and floats have no invalid bit patterns.
        $(unsafe impl Bits for $type {})*
    };
}

bits!(u8, i8, u16, i16, u32, i32, u64, i64, usize, f32);

// SAFETY: a pointer is a number until it is followed.
unsafe impl<T> Bits for Out<T> {}
// SAFETY: the same.
unsafe impl<T> Bits for In<T> {}
// SAFETY: the same.
unsafe impl Bits for Text {}
// SAFETY: elements have no invalid bit patterns.
unsafe impl<T: Bits, const N: usize> Bits for [T; N] {}

/// Declares a structure of the C API. Its fields have the order and the types of the header.
#[macro_export]
macro_rules! c_struct {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        #[allow(missing_docs, reason = "fields are those of the C API")]
        pub struct $name { $($(#[$about])* pub $field: $type,)* }
        impl $name {
            /// Its fields with their offsets and sizes, for comparisons with the headers.
            pub const FIELDS: &'static [(&'static str, usize, usize)] =
                &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>())),*];
        }
        const _: () = {
            const fn has_bits<T: $crate::ffi::Bits>() {}
            $(has_bits::<$type>();)*
        };
        // SAFETY: no field has invalid bit patterns, as was just asked of the compiler.
        unsafe impl $crate::ffi::Bits for $name {}
    };
}

c_struct! {
    /// `dim3`: sizes of a grid or block.
    Dim3 { x: u32, y: u32, z: u32, }
}

/// A value of which all bytes are zero.
pub fn zeroed<T: Bits>() -> T {
    // SAFETY: every bit pattern is a value.
    unsafe { std::mem::zeroed() }
}

/// Where a result is wanted.
#[repr(transparent)]
pub struct Out<T>(*mut T);

// SAFETY: it is an address. The registry keeps where managed variables are announced.
unsafe impl<T> Send for Out<T> {}

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> std::fmt::Debug for Out<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

impl<T: Bits> Out<T> {
    /// No place.
    pub const NULL: Out<T> = Out(std::ptr::null_mut());

    /// A variable of this library, for the time of a call.
    pub fn of(place: &mut T) -> Out<T> {
        Out(place)
    }

    /// A place at an address.
    pub fn at(address: u64) -> Out<T> {
        Out(address as *mut T)
    }

    /// A null pointer is an error.
    pub fn required(self) -> Result<Out<T>, Code> {
        ensure(!self.0.is_null(), Code::INVALID_VALUE)?;
        Ok(self)
    }

    /// Whether there is no place.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// Writes a result; a null pointer is an error.
    pub fn set(self, value: T) -> Done {
        self.required()?.set_if_any(value);
        Ok(())
    }

    /// Writes a result if there is a place for it.
    pub fn set_if_any(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller's place for a `T`; it need not be aligned.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    /// Writes the element of an array.
    pub fn set_at(self, index: usize, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller's array has this many elements, as the API says.
            unsafe { self.0.add(index).write_unaligned(value) }
        }
    }

    /// What is there now, for arguments that are read and written.
    pub fn get(self) -> Result<T, Code> {
        In(self.0.cast_const()).get()
    }

    /// The same place for another type.
    pub fn cast<U: Bits>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// A part of the place that begins at a byte of it; of no place there is no part.
    pub fn part<U: Bits>(self, offset: usize) -> Out<U> {
        Out(if self.0.is_null() { std::ptr::null_mut() } else { self.0.wrapping_byte_add(offset).cast() })
    }
}

/// What is passed by a pointer.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> std::fmt::Debug for In<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

impl<T: Bits> In<T> {
    /// Nothing.
    pub const NULL: In<T> = In(std::ptr::null());

    /// A variable of this library, for the time of a call.
    pub fn of(value: &T) -> In<T> {
        In(value)
    }

    /// Elements of this library, for the time of a call; none are null.
    pub fn of_all(elements: &[T]) -> In<T> {
        if elements.is_empty() { In::NULL } else { In(elements.as_ptr()) }
    }

    /// What is at an address.
    pub fn at(address: u64) -> In<T> {
        In(address as *const T)
    }

    /// Whether there is nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// The value; a null pointer is an error.
    pub fn get(self) -> Result<T, Code> {
        self.get_at(0)
    }

    /// An element of an array.
    pub fn get_at(self, index: usize) -> Result<T, Code> {
        ensure(!self.0.is_null(), Code::INVALID_VALUE)?;
        // SAFETY: the caller's array has this many elements; a `T` has no invalid bit patterns.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// The elements of an array. A null pointer is an empty one if there are none.
    pub fn all(self, count: usize) -> Result<Vec<T>, Code> {
        (0..count).map(|index| self.get_at(index)).collect()
    }

    /// The same for another type.
    pub fn cast<U: Bits>(self) -> In<U> {
        In(self.0.cast())
    }
}

/// A NUL-terminated string.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// No string.
    pub const NULL: Text = Text(std::ptr::null());

    /// A string of this library.
    pub fn of(text: &CStr) -> Text {
        Text(text.as_ptr())
    }

    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// A copy of the string; a null pointer is an error.
    pub fn get(self) -> Result<std::ffi::CString, Code> {
        ensure(!self.0.is_null(), Code::INVALID_VALUE)?;
        // SAFETY: the caller's string ends with a NUL, and stays for the time of the call.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_owned())
    }
}

/// Bytes at an address of the program, copied.
pub fn bytes_at(address: u64, count: usize) -> Vec<u8> {
    if address == 0 || count == 0 {
        return Vec::new();
    }
    // SAFETY: headers of what the program registered promise this many bytes.
    unsafe { std::slice::from_raw_parts(address as *const u8, count) }.to_vec()
}

/// Writes bytes to the program's memory.
pub fn write_bytes(address: u64, bytes: &[u8]) {
    if address != 0 {
        // SAFETY: the caller's place has this many bytes, as the API says.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) }
    }
}

/// A function of the program with one argument.
pub type HostFunction = Option<extern "C" fn(*mut c_void)>;
/// A callback of a stream: the stream, the result so far, and the caller's argument.
pub type StreamCallback = Option<extern "C" fn(u64, u32, *mut c_void)>;
