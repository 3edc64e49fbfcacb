//! Stubs: the functions that redirected functions jump to.
//!
//! Stub `i` jumps to the address in slot `i`. While that is 0, it calls [`resolve`] first, which fills the slot, and
//! keeps the arguments of the call meanwhile. So nothing is loaded until a program calls the runtime, and never while
//! the loader is at work on the object. Stubs are part of this library's code: none are written at run time.
//!
//! **Why this is sound.** A stub that is given out has an entry, which stays for ever. `first_call` saves all registers
//! that can have arguments of the runtime's functions (integers, pointers and floats), keeps the stack aligned, and
//! leaves with the stack as it found it. `r11` belongs to no caller.

use crate::refused;
use crate::settings::say;
use crate::target::{self, Missing};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// How many stubs there are. All versions of the runtime together have about 900 names, counted by major version.
const STUBS: usize = 2048;

/// How many bytes a stub has.
const STUB: usize = 32;

static SLOTS: [AtomicUsize; STUBS] = [const { AtomicUsize::new(0) }; STUBS];
static ENTRIES: [AtomicPtr<Entry>; STUBS] = [const { AtomicPtr::new(null_mut()) }; STUBS];

/// What a stub stands for.
#[derive(Debug)]
enum Entry {
    /// A function of softwarp's runtime, in the version of a major number.
    Function { name: CString, major: Major },
    /// A function of a runtime that is refused as a whole.
    Refused { name: CString, why: &'static Refusal },
}

/// The major versions of the runtime that softwarp's has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Major {
    /// CUDA 12
    Twelve,
    /// CUDA 13
    Thirteen,
}

impl Major {
    /// The number of the newest version of it whose functions softwarp's runtime has.
    pub fn newest(self) -> u32 {
        match self {
            Major::Twelve => 12090,
            Major::Thirteen => 13040,
        }
    }
}

/// Why a runtime is refused, which is said once.
#[derive(Debug)]
pub struct Refusal {
    text: String,
    said: AtomicBool,
}

impl Refusal {
    /// A reason. It stays for ever, since stubs have it.
    pub fn new(text: String) -> &'static Refusal {
        Box::leak(Box::new(Refusal { text, said: AtomicBool::new(false) }))
    }

    fn say(&self) {
        if !self.said.swap(true, Ordering::Relaxed) {
            say(&self.text);
        }
    }
}

/// There are no more stubs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The stubs that were given out.
static GIVEN: Mutex<Given> = Mutex::new(Given { count: 0, functions: BTreeMap::new() });

struct Given {
    count: usize,
    functions: BTreeMap<(Major, CString), usize>,
}

impl Given {
    fn add(&mut self, entry: Entry) -> Result<usize, Full> {
        let place = ENTRIES.get(self.count).ok_or(Full)?;
        place.store(Box::into_raw(Box::new(entry)), Ordering::Release);
        self.count += 1;
        Ok(self.count - 1)
    }
}

/// The address of the stub of a function.
pub fn function(name: CString, major: Major) -> Result<usize, Full> {
    let mut given = GIVEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (major, name);
    let index = match given.functions.get(&key) {
        Some(index) => *index,
        None => {
            let index = given.add(Entry::Function { name: key.1.clone(), major })?;
            given.functions.insert(key, index);
            index
        }
    };
    Ok(address(index))
}

/// The address of the stub of a function that is refused.
pub fn refused(name: CString, why: &'static Refusal) -> Result<usize, Full> {
    let mut given = GIVEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    given.add(Entry::Refused { name, why }).map(address)
}

fn address(index: usize) -> usize {
    (&raw const softwarp_redirect_stubs).addr() + index * STUB
}

/// Where a stub is to jump to from now on.
extern "C" fn resolve(index: usize) -> usize {
    // SAFETY: an entry stays for ever, and is not changed.
    let entry = ENTRIES.get(index).and_then(|entry| unsafe { entry.load(Ordering::Acquire).as_ref() });
    let to = match entry {
        Some(Entry::Function { name, major }) => {
            let version = match major {
                Major::Twelve => c"libcudart.so.12",
                Major::Thirteen => c"libcudart.so.13",
            };
            match target::function(name, version) {
                Ok(address) => address,
                Err(Missing::Library) => refused::of(name.to_bytes()),
                Err(Missing::Function) => {
                    say(&format!(
                        "{} of {} is not supported",
                        name.to_string_lossy(),
                        version.to_string_lossy()
                    ));
                    refused::lacking()
                }
            }
        }
        Some(Entry::Refused { name, why }) => {
            if !refused::is_registration(name.to_bytes()) {
                why.say();
            }
            refused::of(name.to_bytes())
        }
        None => refused::lacking(),
    };
    if let Some(slot) = SLOTS.get(index) {
        slot.store(to, Ordering::Release);
    }
    to
}

unsafe extern "C" {
    /// All stubs, in order.
    static softwarp_redirect_stubs: [[u8; STUB]; STUBS];
}

std::arch::global_asm!(
    ".text",
    ".p2align 5",
    ".hidden softwarp_redirect_stubs",
    ".globl softwarp_redirect_stubs",
    ".type softwarp_redirect_stubs, @function",
    "softwarp_redirect_stubs:",
    ".set softwarp_stub, 0",
    ".rept {count}",
    ".p2align 5",
    "mov r11, qword ptr [rip + {slots} + 8 * softwarp_stub]",
    "test r11, r11",
    "je 2f",
    "jmp r11",
    "2:",
    "push softwarp_stub",
    "jmp softwarp_redirect_first_call",
    ".set softwarp_stub, softwarp_stub + 1",
    ".endr",
    ".p2align 5",
    ".size softwarp_redirect_stubs, . - softwarp_redirect_stubs",
    // On the stack: the number of the stub, and where the call returns to.
    ".type softwarp_redirect_first_call, @function",
    "softwarp_redirect_first_call:",
    "push rax",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "sub rsp, 136",
    "movups [rsp], xmm0",
    "movups [rsp + 16], xmm1",
    "movups [rsp + 32], xmm2",
    "movups [rsp + 48], xmm3",
    "movups [rsp + 64], xmm4",
    "movups [rsp + 80], xmm5",
    "movups [rsp + 96], xmm6",
    "movups [rsp + 112], xmm7",
    "mov rdi, [rsp + 192]",
    "call {resolve}",
    "mov r11, rax",
    "movups xmm0, [rsp]",
    "movups xmm1, [rsp + 16]",
    "movups xmm2, [rsp + 32]",
    "movups xmm3, [rsp + 48]",
    "movups xmm4, [rsp + 64]",
    "movups xmm5, [rsp + 80]",
    "movups xmm6, [rsp + 96]",
    "movups xmm7, [rsp + 112]",
    "add rsp, 136",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rax",
    "lea rsp, [rsp + 8]",
    "jmp r11",
    ".size softwarp_redirect_first_call, . - softwarp_redirect_first_call",
    count = const STUBS,
    slots = sym SLOTS,
    resolve = sym resolve,
);
