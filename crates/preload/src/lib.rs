//! A library for `LD_PRELOAD` that sees objects before anything in them runs, without an auditor.
//!
//! glibc's loader calls an empty function of its own, `_dl_debug_state`, when its list of objects has changed: at the
//! start of a program and in `dlopen`, each time before constructors run. Debuggers find its address in `_r_debug`. A
//! jump to `changed` is written over it. A constructor of this library would be too late for that, since constructors
//! of the program's libraries run before it; the resolver of an indirect function (`STT_GNU_IFUNC`) runs earlier, while
//! this library is relocated.
//!
//! A program may also open the library while it runs. Objects that it has loaded before then stay as they are.
//!
//! Not served: namespaces of `dlmopen`; programs under a debugger that has its breakpoint in that function; and
//! AddressSanitizer, which insists on being the first library.
//!
//! **Why this is sound.** The resolver calls nothing of another library, since this one is not relocated yet, but for
//! `_r_debug`, which is data. It changes the function only if that does nothing but return, and begins at a multiple of
//! 16, as functions of the loader do: then 16 bytes are its own. No other thread runs that function meanwhile: the
//! program has one thread yet, or this library is being opened, under the loader's lock. It is never unloaded.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use softwarp_redirect::object::{LinkMap, loaded};
use std::ffi::c_int;
use std::sync::Mutex;

/// `struct r_debug` of link.h.
#[repr(C)]
pub struct Debug {
    version: c_int,
    map: *const LinkMap,
    function: usize,
    state: c_int,
}

unsafe extern "C" {
    static _r_debug: Debug;
    /// This library's own, by which the loader knows it.
    static _DYNAMIC: u8;
}

/// `RT_CONSISTENT`: the list is not being changed.
const CONSISTENT: c_int = 0;

/// The most objects that are looked at.
const MOST_OBJECTS: usize = 1 << 16;

/// The list as it was at the last call: where each object is known by, and where it lies. Nothing before the first.
static SEEN: Mutex<Option<Vec<(usize, usize)>>> = Mutex::new(None);

/// The loader's list of objects has changed, or is about to.
extern "C" fn changed() {
    // SAFETY: the loader calls this with its lock held, and changes the structure only under it.
    if unsafe { (&raw const _r_debug.state).read_volatile() } == CONSISTENT {
        // SAFETY: the same; constructors of what is new in the list run after this, unless the library is being opened.
        unsafe { look(was_opened()) };
    }
}

/// This library is initialised. Where the program has opened it, glibc before 2.41 has not called `changed` for it.
extern "C" fn initialised() {
    let is_first = SEEN.try_lock().is_ok_and(|seen| seen.is_none());
    if is_first {
        // SAFETY: the loader runs constructors with its lock held.
        unsafe { look(true) };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISED: extern "C" fn() = initialised;

/// Looks at the objects that are new in the list. At the first time, if it is `late`, they are only noted.
///
/// # Safety
///
/// The loader's lock is held, and constructors of new objects have not run yet, unless they are only noted.
unsafe fn look(late: bool) {
    // It is taken if this is called within itself.
    let Ok(mut seen) = SEEN.try_lock() else { return };
    let is_late = late && seen.is_none();
    let mut now = Vec::new();
    // SAFETY: as the caller promises.
    let mut map = unsafe { (&raw const _r_debug.map).read_volatile() };
    // New objects are at the end, and others keep their order: each is looked for from where the last was found.
    let mut rest = seen.as_deref().unwrap_or_default();
    // SAFETY: the objects of the list stay while the lock is held.
    while let Some(object) = unsafe { map.as_ref() }.filter(|_| now.len() < MOST_OBJECTS) {
        let key = (map.addr(), object.base);
        match rest.iter().position(|known| *known == key) {
            Some(index) => rest = &rest[index + 1..],
            None if is_late => {}
            // SAFETY: as the caller promises.
            None => unsafe { loaded(object.object()) },
        }
        now.push(key);
        map = object.next;
    }
    *seen = Some(now);
}

/// Whether this library was opened by the running program: what is preloaded comes before the C library.
///
/// # Safety
///
/// The loader's lock is held.
unsafe fn was_opened() -> bool {
    let own = (&raw const _DYNAMIC).addr();
    // SAFETY: as the caller promises.
    let mut map = unsafe { (&raw const _r_debug.map).read_volatile() };
    // SAFETY: as the caller promises.
    while let Some(object) = unsafe { map.as_ref() } {
        let known = object.object();
        if known.inside == own {
            return false;
        }
        if known.name.ends_with(b"/libc.so.6") {
            return true;
        }
        map = object.next;
    }
    false
}

/// A call of the system. Functions of the C library may not be bound yet.
#[inline(always)]
unsafe fn system_call(number: usize, a: usize, b: usize, c: usize) -> isize {
    let result: isize;
    // SAFETY: as the caller promises; the registers are those of the interface.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// `SYS_mprotect`
const PROTECT: usize = 10;
/// `PROT_READ | PROT_EXEC`, and with `PROT_WRITE`
const CODE: usize = 5;
const WRITABLE_CODE: usize = 7;

/// The resolver: writes the jump. It returns the address of a function that is never called.
#[unsafe(no_mangle)]
unsafe extern "C" fn softwarp_preload_install() -> extern "C" fn() {
    // SAFETY: data of the loader, which is relocated.
    let at = unsafe { (&raw const _r_debug.function).read_volatile() };
    let place = at as *mut u8;
    if at == 0 || at % 16 != 0 {
        return changed;
    }
    // SAFETY: the function has these bytes to itself, and can be read.
    let byte = |index: usize| unsafe { place.wrapping_add(index).read_volatile() };
    const RETURN: u8 = 0xc3;
    // `ret`, `rep ret`, or `endbr64` and `ret`.
    let is_empty = byte(0) == RETURN || (byte(0) == 0xf3 && (byte(1) == RETURN || byte(4) == RETURN));
    if !is_empty {
        return changed;
    }
    let to = changed as *const () as usize;
    let page = at & !4095;
    // SAFETY: the page stays readable and executable.
    if unsafe { system_call(PROTECT, page, 4096, WRITABLE_CODE) } != 0 {
        return changed;
    }
    // SAFETY: 16 bytes in the page, which can be written.
    let write = |index: usize, byte: u8| unsafe { place.wrapping_add(index).write_volatile(byte) };
    // `jmp *0(%rip)`, and the address.
    let mut index = 0;
    while index < 14 {
        write(
            index,
            match index {
                0 => 0xff,
                1 => 0x25,
                2..6 => 0,
                6.. => (to >> ((index - 6) * 8)) as u8,
            },
        );
        index += 1;
    }
    // SAFETY: the same as before.
    unsafe { system_call(PROTECT, page, 4096, CODE) };
    changed
}

std::arch::global_asm!(
    ".globl softwarp_preload",
    ".type softwarp_preload, @gnu_indirect_function",
    ".set softwarp_preload, {install}",
    install = sym softwarp_preload_install,
);

unsafe extern "C" {
    fn softwarp_preload();
}

/// A use of the indirect function, without which the linker leaves it out.
#[used]
static KEPT: unsafe extern "C" fn() = softwarp_preload;
