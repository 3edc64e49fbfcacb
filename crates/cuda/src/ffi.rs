//! Pointers that C callers pass.
//!
//! **Why this is sound.** It is as sound as the C API is. The driver API says what each pointer argument must point to;
//! a pointer that is not null is trusted to do so, as the CUDA driver trusts it. Sizes come from the API or from the
//! caller, and a null pointer is [`INVALID_VALUE`](Code::INVALID_VALUE). Values that are read have no invalid bit patterns
//! ([`Bits`]). Handles are numbers (`handle.rs`) and are never followed.
//!
//! [`Out`], [`In`] and [`Text`] cannot be made of numbers. They are arguments of exported functions, whose callers promise
//! what the API says, fields of structures that such arguments point to, and places of values of this library: to follow
//! one needs no further promise but that indices and offsets are those that the API has for it. [`Host`] is any address.
//! To follow one is `unsafe`: the caller says why its bytes are there.

use crate::code::{Code, Done, ensure};
use crate::handle::{Handle, lock};
use softwarp::vm::memory::host::HostMemory;
use softwarp_container::Source;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Types for which every bit pattern is a value.
///
/// # Safety
/// Any bytes, at any alignment that the type has, are a value of it.
pub unsafe trait Bits: Copy {}

macro_rules! bits {
    ($($type:ty),*) => {
        // SAFETY: integers, floats and pointers have no invalid bit patterns.
        $(unsafe impl Bits for $type {})*
    };
}

bits!(u8, i8, u16, i16, u32, i32, u64, i64, usize, f32);

// SAFETY: a handle is a number.
unsafe impl<T> Bits for Handle<T> {}
// SAFETY: a pointer is a number until it is followed.
unsafe impl<T> Bits for Out<T> {}
// SAFETY: the same.
unsafe impl<T> Bits for In<T> {}
// SAFETY: the same.
unsafe impl Bits for Host {}
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

/// Where a caller wants a result.
#[repr(transparent)]
pub struct Out<T>(*mut T);

// SAFETY: it is an address. The linker keeps where its logs go, and may be used by another thread, as the API says.
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

    /// A null pointer is an error.
    pub fn required(self) -> Result<Out<T>, Code> {
        ensure(!self.0.is_null(), Code::INVALID_VALUE)?;
        Ok(self)
    }

    /// Whether there is no place.
    pub fn is_null(self) -> bool {
        self.0.is_null()
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

    /// The first four bytes of the place.
    pub fn first_half(self) -> Out<u32> {
        Out(self.0.cast())
    }

    /// The first byte of the place.
    pub fn first_byte(self) -> Out<u8> {
        Out(self.0.cast())
    }

    /// The place as something that is read.
    pub fn as_in(self) -> In<T> {
        In(self.0.cast_const())
    }

    /// A part of the place that begins at a byte of it; of no place there is no part.
    pub fn part<U: Bits>(self, offset: usize) -> Out<U> {
        Out(if self.0.is_null() { std::ptr::null_mut() } else { self.0.wrapping_byte_add(offset).cast() })
    }
}

/// What a caller passes by a pointer.
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

    /// Elements that the library gives out. They must stay where they are as long as the API says; none are null.
    pub fn of(elements: &[T]) -> In<T> {
        if elements.is_empty() { In::NULL } else { In(elements.as_ptr()) }
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
}

/// A NUL-terminated string.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> Text<'a> {
    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The string; a null pointer is an error.
    pub fn get(self) -> Result<&'a CStr, Code> {
        ensure(!self.0.is_null(), Code::INVALID_VALUE)?;
        // SAFETY: the caller's string ends with a NUL, and stays for the time of the call.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// A string that the library gives out: it is static.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct StaticText(*const c_char);

// SAFETY: a pointer is a number until it is followed.
unsafe impl Bits for StaticText {}

impl StaticText {
    /// No string.
    pub const NULL: StaticText = StaticText(std::ptr::null());

    /// A string that stays: a name is kept once and for all when it is first asked for.
    pub fn leaked(text: &str) -> StaticText {
        static KEPT: Mutex<BTreeMap<String, &'static CStr>> = Mutex::new(BTreeMap::new());
        let mut kept = lock(&KEPT);
        if let Some(text) = kept.get(text) {
            return StaticText::of(text);
        }
        let Ok(copy) = CString::new(text) else { return StaticText::NULL };
        let copy: &'static CStr = Box::leak(copy.into_boxed_c_str());
        kept.insert(text.into(), copy);
        StaticText::of(copy)
    }

    /// A static string.
    pub fn of(text: &'static CStr) -> StaticText {
        StaticText(text.as_ptr())
    }
}

/// Memory of the host by its address. How many bytes are there, the API or the caller says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Host(*mut u8);

// SAFETY: it is an address. Worker threads of streams access the memory behind it: the API requires that the memory of an
// asynchronous call stays valid until the stream has completed the call.
unsafe impl Send for Host {}
// SAFETY: the same.
unsafe impl Sync for Host {}

impl Host {
    /// Memory at an address that the API defines to be the host's.
    pub fn at(address: u64) -> Host {
        Host(address as *mut u8)
    }

    /// Bytes of this library, to be read.
    pub fn of(bytes: &[u8]) -> Host {
        Host(bytes.as_ptr().cast_mut())
    }

    /// The address.
    pub fn address(self) -> u64 {
        self.0 as u64
    }

    /// Whether it is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// A given number of bytes further on.
    pub fn after(self, bytes: u64) -> Host {
        Host(self.0.wrapping_add(bytes as usize))
    }

    /// Lets a function read bytes.
    ///
    /// # Safety
    /// This number of bytes is there, and nothing writes them meanwhile.
    pub unsafe fn read<R>(self, bytes: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        if bytes == 0 {
            return f(&[]);
        }
        // SAFETY: by the contract of this function.
        f(unsafe { std::slice::from_raw_parts(self.0, bytes) })
    }

    /// Lets a function write bytes.
    ///
    /// # Safety
    /// This number of bytes is there, and nothing else uses them meanwhile.
    pub unsafe fn write<R>(self, bytes: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
        if bytes == 0 {
            return f(&mut []);
        }
        // SAFETY: by the contract of this function.
        f(unsafe { std::slice::from_raw_parts_mut(self.0, bytes) })
    }

    /// Copies bytes that may overlap.
    ///
    /// # Safety
    /// This number of bytes is at both places, and nothing else uses them meanwhile.
    pub unsafe fn copy_from(self, from: Host, bytes: usize) {
        if bytes != 0 {
            // SAFETY: by the contract of this function.
            unsafe { std::ptr::copy(from.0, self.0, bytes) }
        }
    }

    /// Copies a string to it, with a NUL, cut off to a given number of bytes.
    ///
    /// # Safety
    /// This number of bytes is there, and nothing else uses them meanwhile.
    pub unsafe fn set_text(self, text: &str, room: usize) {
        let Some(most) = room.checked_sub(1) else { return };
        let bytes = &text.as_bytes()[..text.len().min(most)];
        let copy = |to: &mut [u8]| {
            to[..bytes.len()].copy_from_slice(bytes);
            to[bytes.len()] = 0;
        };
        // SAFETY: by the contract of this function.
        unsafe { self.write(bytes.len() + 1, copy) }
    }

    /// Its page-aligned pointer for the machine to borrow.
    pub fn pointer(self) -> Option<std::ptr::NonNull<u8>> {
        std::ptr::NonNull::new(self.0)
    }
}

/// A function of the program in a structure; it may be null.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct FunctionAt(*const c_void);

// SAFETY: a pointer is a number until it is followed.
unsafe impl Bits for FunctionAt {}

impl FunctionAt {
    /// The address of a function.
    pub fn of(function: extern "C" fn(*mut c_void)) -> FunctionAt {
        FunctionAt(function as *const c_void)
    }

    /// The function.
    pub fn get(self) -> Option<extern "C" fn(*mut c_void)> {
        // SAFETY: a pointer that is not null points to a function of this type, as the API says. A null one is none.
        unsafe { std::mem::transmute::<*const c_void, Option<extern "C" fn(*mut c_void)>>(self.0) }
    }
}

/// A function of the program with its argument, called in order with other work.
#[derive(Clone, Copy, Debug)]
pub struct HostFunction {
    /// The function.
    pub function: extern "C" fn(*mut c_void),
    /// Its argument.
    pub data: Host,
}

impl HostFunction {
    /// Calls it.
    ///
    /// # Safety
    /// The program has given it to be called with this argument, now.
    pub unsafe fn call(self) {
        (self.function)(self.data.0.cast());
    }
}

/// A callback of a stream: the stream, the result so far, and the caller's argument.
#[derive(Clone, Copy, Debug)]
pub struct StreamCallback {
    /// The function.
    pub function: extern "C" fn(u64, u32, *mut c_void),
    /// The stream.
    pub stream: u64,
    /// Its argument.
    pub data: Host,
}

impl StreamCallback {
    /// Calls it.
    ///
    /// # Safety
    /// As for [`HostFunction::call`].
    pub unsafe fn call(self, result: Code) {
        (self.function)(self.stream, result.0, self.data.0.cast());
    }
}

/// Memory of the program that kernels are to see.
///
/// # Safety
/// The memory is there, readable and writable, until it is unmapped; what uses it at the same time does so atomically.
pub unsafe fn borrow_host(
    start: std::ptr::NonNull<u8>,
    bytes: usize,
) -> Result<softwarp::vm::memory::host::HostMemory, softwarp::vm::memory::global::MemoryError> {
    // SAFETY: by the contract of this function.
    unsafe { softwarp::vm::memory::host::HostMemory::borrow(start, bytes) }
}

/// Code at an address. Its own headers say how long it is.
#[derive(Clone, Copy, Debug)]
pub struct CodeAt(Host);

impl CodeAt {
    /// Code that a caller passes.
    ///
    /// # Safety
    /// The code is as long as its headers say, or is a text that ends with a NUL, and stays as long as this is used and what
    /// was read by it.
    pub unsafe fn new(start: Host) -> CodeAt {
        CodeAt(start)
    }
}

impl<'a> Source<'a> for CodeAt {
    fn bytes(&self, from: usize, count: usize) -> Option<&'a [u8]> {
        let start = self.0.0.wrapping_add(from);
        // SAFETY: by the contract of `new`; the reader asks only for what headers promise.
        Some(unsafe { std::slice::from_raw_parts(start, count) })
    }

    fn until_nul(&self, most: usize) -> Option<&'a [u8]> {
        // SAFETY: by the contract of `new`.
        let text = unsafe { CStr::from_ptr(self.0.0.cast_const().cast()) }.to_bytes();
        (text.len() <= most).then_some(text)
    }
}

/// Where memory begins that host and kernels share: between the addresses of programs and those that the machine gives,
/// so that an address has one meaning.
const SHARED_START: u64 = 0x6000_0000_0000;

/// The end of these addresses.
const SHARED_END: u64 = 0x6fff_0000_0000;

/// What addresses of shared memory are multiples of.
const SHARED_STEP: u64 = 64 << 10;

/// The next address for shared memory. Addresses are not used again.
static SHARED_NEXT: AtomicU64 = AtomicU64::new(SHARED_START);

/// Functions of the C library for pages.
mod pages {
    use std::ffi::c_void;

    unsafe extern "C" {
        pub fn mmap(
            at: *mut c_void,
            bytes: usize,
            rights: i32,
            flags: i32,
            file: i32,
            offset: i64,
        ) -> *mut c_void;
        pub fn madvise(at: *mut c_void, bytes: usize, advice: i32) -> i32;
    }
    /// `PROT_READ | PROT_WRITE`
    pub const READ_WRITE: i32 = 3;
    /// `MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE`
    pub const FLAGS: i32 = 0x02 | 0x20 | 0x0010_0000;
    /// `MADV_DONTNEED`
    pub const NOT_NEEDED: i32 = 4;
}

/// Memory of zeros that host and kernels share at one address, outside of the machine's own addresses. The pages stay
/// mapped, so that a late access by the host or by a kernel of another context does not end the process.
pub fn shared_pages(bytes: u64) -> Option<HostMemory> {
    const TRIES: usize = 64;
    let size = bytes.max(1).checked_next_multiple_of(SHARED_STEP)?;
    for _ in 0..TRIES {
        let at = SHARED_NEXT.fetch_add(size.checked_add(SHARED_STEP)?, Ordering::SeqCst);
        if at.checked_add(size)? > SHARED_END {
            SHARED_NEXT.fetch_sub(size + SHARED_STEP, Ordering::SeqCst);
            return None;
        }
        // SAFETY: the flags take no pages that are mapped already; what is given is owned here alone.
        let given = unsafe {
            pages::mmap(
                at as *mut c_void,
                usize::try_from(size).ok()?,
                pages::READ_WRITE,
                pages::FLAGS,
                -1,
                0,
            )
        };
        if given as u64 != at {
            continue;
        }
        let start = std::ptr::NonNull::new(given.cast::<u8>())?;
        // SAFETY: the pages are readable and writable, and are never unmapped.
        return unsafe { HostMemory::borrow(start, usize::try_from(bytes).ok()?.max(16)) }.ok();
    }
    None
}

/// Gives the memory behind shared pages back to the system. They stay mapped, with zeros.
///
/// # Safety
/// Nobody needs what is in these pages, and nobody has a reference to it.
pub unsafe fn discard_pages(start: u64, bytes: u64) {
    let is_shared = (SHARED_START..SHARED_END).contains(&start);
    if let Some(size) = bytes.checked_next_multiple_of(4096).filter(|_| is_shared) {
        // SAFETY: the pages are of `shared_pages`, which alone maps this range, and their contents are not needed.
        unsafe { pages::madvise(start as *mut c_void, size as usize, pages::NOT_NEEDED) };
    }
}

/// This process was forked from one that has the library in use.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn in_child() {
    FORKED.store(true, Ordering::SeqCst);
}

/// Notices forks from now on; whether it can. To ask the system for the number of the process at each call takes longer.
pub fn watch_forks() -> bool {
    unsafe extern "C" {
        fn pthread_atfork(
            before: Option<extern "C" fn()>,
            in_parent: Option<extern "C" fn()>,
            in_child: Option<extern "C" fn()>,
        ) -> i32;
    }
    // SAFETY: the function that is called in the child only writes an atomic variable.
    unsafe { pthread_atfork(None, None, Some(in_child)) == 0 }
}

/// Whether this process was forked after [`watch_forks`].
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}
