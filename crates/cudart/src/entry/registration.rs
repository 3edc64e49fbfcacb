//! What the code that nvcc generates calls: registration of fat binaries, and launches with `<<<…>>>`.

use crate::code::{Code, ensure};
use crate::context::lock;
use crate::ffi::{Dim3, Out, Text};
use crate::registry;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Runs the body of a function that returns no code.
fn guard<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// Registers a fat binary.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(wrapper: u64) -> u64 {
    guard(0, || registry::add_binary(wrapper))
}

/// Ends the registration of a fat binary.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_binary: u64) {}

/// Forgets a fat binary.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(binary: u64) {
    guard((), || registry::remove_binary(binary));
}

/// Registers a kernel.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the C API")]
pub extern "C" fn __cudaRegisterFunction(
    binary: u64,
    host: u64,
    _device: u64,
    name: Text,
    _thread_limit: i32,
    _thread: u64,
    _block: u64,
    _block_size: u64,
    _grid_size: u64,
    _warp_size: u64,
) {
    guard((), || {
        if let Ok(name) = name.get() {
            registry::add_function(binary, host, name);
        }
    });
}

/// Registers a variable.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the C API")]
pub extern "C" fn __cudaRegisterVar(
    binary: u64,
    host: u64,
    _device: u64,
    name: Text,
    _external: i32,
    _bytes: usize,
    _constant: i32,
    _global: i32,
) {
    guard((), || {
        if let Ok(name) = name.get() {
            registry::add_variable(binary, host, name);
        }
    });
}

/// Registers a variable of the host that kernels see: the same as a variable.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterHostVar(binary: u64, name: Text, host: u64, bytes: usize) {
    __cudaRegisterVar(binary, host, 0, name, 0, bytes, 0, 0);
}

/// Registers a managed variable.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the arguments are those of the C API")]
pub extern "C" fn __cudaRegisterManagedVar(
    binary: u64,
    place: Out<u64>,
    _device: u64,
    name: Text,
    _external: i32,
    _bytes: usize,
    _constant: i32,
    _global: i32,
) {
    guard((), || {
        if let Ok(name) = name.get() {
            registry::add_managed(binary, place, name);
        }
    });
}

/// Loads a fat binary, so that its managed variables can be used.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(binary: u64) -> u8 {
    guard(0, || u8::from(registry::init_binary(binary).is_ok()))
}

/// Says once that references to textures and surfaces are not there.
fn reference(what: &str) {
    static SAID: Mutex<bool> = Mutex::new(false);
    if !std::mem::replace(&mut *lock(&SAID), true) {
        eprintln!("softwarp: references to {what} are not supported; CUDA 12 removed them");
    }
}

/// Registers a texture reference, which is refused.
#[unsafe(no_mangle)]
pub extern "C" fn v12___cudaRegisterTexture() {
    guard((), || reference("textures"));
}

/// Registers a surface reference, which is refused.
#[unsafe(no_mangle)]
pub extern "C" fn v12___cudaRegisterSurface() {
    guard((), || reference("surfaces"));
}

/// The sizes between `<<<` and `>>>`.
#[derive(Clone, Copy)]
struct Call {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
}

thread_local! {
    /// The call that was begun last. It has no destructor, so that functions that `exit` calls find it.
    static CALL: Cell<Option<Call>> = const { Cell::new(None) };
    /// How many were begun before it, since arguments of a call may have calls.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Those calls. It is used by threads alone that have such calls, since its destructor is registered with the loader,
    /// which may have to wait.
    static OUTER: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// Begins a call. While a thread ends, its calls have no others in them.
fn push(call: Call) {
    if let Some(outer) = CALL.replace(Some(call))
        && OUTER.try_with(|calls| calls.borrow_mut().push(outer)).is_ok()
    {
        DEPTH.set(DEPTH.get() + 1);
    }
}

/// Ends the call that was begun last.
fn pop() -> Option<Call> {
    let Some(depth) = DEPTH.get().checked_sub(1) else { return CALL.take() };
    DEPTH.set(depth);
    CALL.replace(OUTER.try_with(|calls| calls.borrow_mut().pop()).ok().flatten())
}

crate::entries! {
    /// Keeps the sizes of a launch until its stub asks for them.
    fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: u64) {
        push(Call { grid, block, shared, stream });
        Ok(())
    }

    /// Gives back the sizes of a launch.
    fn __cudaPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, shared: Out<usize>, stream: Out<u64>) {
        let call = pop().ok_or(Code::MISSING_CONFIGURATION)?;
        grid.set_if_any(call.grid);
        block.set_if_any(call.block);
        shared.set_if_any(call.shared);
        stream.set_if_any(call.stream);
        Ok(())
    }

    /// The kernel of a stub. Programs keep it for good, so it is the address of the stub, which outlives a reset.
    fn __cudaGetKernel(kernel: Out<u64>, host: u64) {
        ensure(registry::is_registered(host), Code::INVALID_DEVICE_FUNCTION)?;
        kernel.set(host)
    }

    /// Launches a kernel that `__cudaGetKernel` gave.
    fn __cudaLaunchKernel / __cudaLaunchKernel_ptsz(kernel: u64, grid: Dim3, block: Dim3, arguments: u64, shared: usize, stream: u64) {
        super::launch::launch(kernel, grid, block, arguments, shared, stream)
    }
}
