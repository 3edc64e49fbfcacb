//! One memory and several modules: loading and unloading, buffers that outlive modules, memory of the host, and launches
//! from several threads.

use softwarp_image::Window;
use softwarp_isa::Target;
use softwarp_vm::device::{Device, Launch, LaunchError, LoadError, LoadOptions, ModuleError, ModuleId};
use softwarp_vm::fault::{BadAccess, FaultKind, Problem, What};
use softwarp_vm::memory::global::MemoryError;
use softwarp_vm::memory::host::{HostMemory, HostPlace};
use softwarp_vm::sanitize::Sanitize;
use softwarp_vm::texture::array::ArrayDescription;
use softwarp_vm::texture::format::Format;
use softwarp_vm::texture::{Bound, Texture};
use std::ptr::NonNull;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A module with a variable, a constant and a kernel that adds both to each element of a buffer.
fn adds(variable: u32, constant: u32) -> String {
    format!(
        "{HEAD}.global .u32 v = {variable};\n.const .u32 c = {constant};\n\
         .visible .entry k(.param .u64 p) {{\n.reg .b64 %p;\n.reg .b32 %i, %x, %y;\n\
         ld.param.u64 %p, [p];\nmov.u32 %i, %tid.x;\nmad.wide.u32 %p, %i, 4, %p;\n\
         ld.global.u32 %x, [%p];\nld.global.u32 %y, [v];\nadd.u32 %x, %x, %y;\n\
         ld.const.u32 %y, [c];\nadd.u32 %x, %x, %y;\nst.global.u32 [%p], %x;\nret;\n}}\n"
    )
}

/// A kernel that copies a word from one address to another, both generic.
const COPY: &str = ".visible .entry copy(.param .u64 from, .param .u64 to) {\n.reg .b64 %a, %b;\n.reg .b32 %x;\n\
    ld.param.u64 %a, [from];\nld.param.u64 %b, [to];\nld.u32 %x, [%a];\nst.u32 [%b], %x;\nret;\n}\n";

fn device() -> Device {
    Device::new(Target::from_name("sm_90").expect("a target"), 64, None)
}

fn load(device: &Device, source: &str) -> ModuleId {
    device.load_module(&[source], LoadOptions::default()).expect("a valid module")
}

fn words(device: &Device, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    device.read(address, &mut bytes).expect("inside");
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn launch(device: &Device, module: ModuleId, kernel: &str, arguments: &[u64]) -> Result<(), LaunchError> {
    let arguments: Vec<Vec<u8>> = arguments.iter().map(|it| it.to_le_bytes().to_vec()).collect();
    let launch = Launch { module, ..Launch::new(kernel, [1; 3], [32, 1, 1], &arguments) };
    device.launch(&launch).map(drop)
}

fn bad(result: Result<(), LaunchError>) -> BadAccess {
    let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
    let FaultKind::Access(bad) = fault.kind else { panic!("{fault}") };
    *bad
}

#[test]
fn modules_share_buffers_and_have_their_own_variables_and_constants() {
    let device = device();
    let (one, two) = (load(&device, &adds(1, 10)), load(&device, &adds(100, 1000)));
    let buffer = device.allocate(128).expect("memory");
    launch(&device, one, "k", &[buffer]).expect("no fault");
    launch(&device, two, "k", &[buffer]).expect("no fault");
    assert_eq!(words(&device, buffer, 32), [1111; 32]);
    let symbol = |module, name| device.module(module).expect("loaded").symbol(name).expect("a variable");
    let all = [symbol(one, "v"), symbol(two, "v"), symbol(one, "c"), symbol(two, "c")];
    for (index, it) in all.iter().enumerate() {
        assert_eq!(it.bytes, 4);
        assert!(all[..index].iter().all(|other| other.address != it.address), "{all:x?}");
    }
    assert_eq!(all.map(|it| words(&device, it.address, 1)[0]), [1, 100, 10, 1000]);
    device.write(all[1].address, &5u32.to_le_bytes()).expect("inside");
    device.write(all[3].address, &6u32.to_le_bytes()).expect("inside");
    launch(&device, two, "k", &[buffer]).expect("no fault");
    launch(&device, one, "k", &[buffer]).expect("no fault");
    assert_eq!(words(&device, buffer, 32), [1111 + 11 + 11; 32]);
}

#[test]
fn a_kernel_reaches_the_variables_of_another_module_by_their_addresses() {
    let device = device();
    let (one, two) = (load(&device, &adds(7, 8)), load(&device, &format!("{HEAD}{COPY}")));
    let buffer = device.allocate(4).expect("memory");
    let variable = device.module(one).expect("loaded").symbol("v").expect("a variable").address;
    launch(&device, two, "copy", &[variable, buffer]).expect("no fault");
    assert_eq!(words(&device, buffer, 1), [7]);
    // Bounds are those of the variable's own module.
    let sanitized = Sanitize { bounds: true, ..Sanitize::default() };
    let arguments = [variable.to_le_bytes().to_vec(), buffer.to_le_bytes().to_vec()];
    let plain = Launch::new("copy", [1; 3], [1; 3], &arguments);
    let report = device.launch(&Launch { module: two, sanitize: sanitized, ..plain }).expect("no fault");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    // Past the end, the variable is named, whichever module it is of.
    let past = bad(launch(&device, two, "copy", &[variable + 4, buffer]));
    assert_eq!(past.problem, Problem::OutOfBounds);
    assert_eq!(past.nearest.expect("it is near").what, What::Variable("v".into()));
    // Constants are a state space of their own: another module has no access.
    let constant = device.module(one).expect("loaded").symbol("c").expect("a constant").address;
    assert_eq!(bad(launch(&device, two, "copy", &[constant, buffer])).problem, Problem::OutOfBounds);
}

#[test]
fn buffers_outlive_modules_and_what_is_unloaded_is_refused_by_name() {
    let device = device();
    let copy = load(&device, &format!("{HEAD}{COPY}"));
    let module = load(&device, &adds(1, 2));
    let buffer = device.allocate(128).expect("memory");
    launch(&device, module, "k", &[buffer]).expect("no fault");
    let variable = device.module(module).expect("loaded").symbol("v").expect("a variable").address;
    let constant = device.module(module).expect("loaded").symbol("c").expect("a variable").address;
    let held = device.account().used();
    device.unload_module(module).expect("it is loaded");
    assert!(device.account().used() < held, "its variables are given back");
    assert_eq!(words(&device, buffer, 32), [3; 32]);
    let error = launch(&device, module, "k", &[buffer]).expect_err("unloaded");
    assert_eq!(error.to_string(), "module 1 was unloaded");
    assert_eq!(device.unload_module(module), Err(ModuleError::Unloaded(module)));
    assert_eq!(device.modules(), [copy]);
    // Its addresses are known to have been its.
    let stale = bad(launch(&device, copy, "copy", &[variable, buffer]));
    assert_eq!(stale.problem, Problem::Unloaded);
    let nearest = stale.nearest.clone().expect("it was there");
    assert!(nearest.freed && nearest.what == What::Variable("v".into()), "{nearest:?}");
    assert!(stale.to_string().contains("is of a module that was unloaded: 0 bytes into `v`"), "{stale}");
    let error = device.read(variable, &mut [0; 4]).expect_err("unloaded");
    assert_eq!(error, MemoryError::Unloaded { address: variable, variable: Some("v".into()) });
    assert!(device.read(constant, &mut [0; 4]).is_err());
    // Loaded again, it begins anew, elsewhere.
    let again = load(&device, &adds(1, 2));
    let module = device.module(again).expect("loaded");
    assert_ne!(module.symbol("v").expect("a variable").address, variable);
    launch(&device, again, "k", &[buffer]).expect("no fault");
    assert_eq!(words(&device, buffer, 32), [6; 32]);
}

#[test]
fn loading_and_unloading_many_times_takes_no_memory() {
    let device = device();
    for _ in 0..3 {
        let module = load(&device, &adds(1, 2));
        device.unload_module(module).expect("loaded");
    }
    let held = device.account().used();
    for _ in 0..200 {
        let module = load(&device, &adds(1, 2));
        device.unload_module(module).expect("loaded");
    }
    assert_eq!(device.account().used(), held);
    assert_eq!(device.modules(), []);
}

#[test]
fn functions_of_modules_have_addresses_of_their_own() {
    let source = format!(
        "{HEAD}.func f() {{ ret; }}\n.visible .entry call(.param .u64 at) {{\n.reg .b64 %p;\n\
         ld.param.u64 %p, [at];\nP: .callprototype _ ();\ncall %p, (), P;\nret;\n}}\n\
         .visible .entry take(.param .u64 to) {{\n.reg .b64 %p, %f;\nld.param.u64 %p, [to];\n\
         mov.u64 %f, f;\nst.global.u64 [%p], %f;\nret;\n}}\n"
    );
    let device = device();
    let (one, two) = (load(&device, &source), load(&device, &source));
    let address = |module| {
        let to = device.allocate(8).expect("memory");
        launch(&device, module, "take", &[to]).expect("no fault");
        let mut bytes = [0; 8];
        device.read(to, &mut bytes).expect("inside");
        u64::from_le_bytes(bytes)
    };
    let (of_one, of_two) = (address(one), address(two));
    assert_ne!(of_one, of_two);
    launch(&device, one, "call", &[of_one]).expect("no fault");
    launch(&device, two, "call", &[of_two]).expect("no fault");
    let result = launch(&device, one, "call", &[of_two]);
    let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
    assert_eq!(fault.kind, FaultKind::NoFunction(of_two));
}

#[test]
fn texture_references_are_of_modules_and_objects_of_the_device() {
    let source = format!(
        "{HEAD}.global .texref t;\n.visible .entry k(.param .u64 out) {{\n.reg .b32 %r<5>;\n.reg .b64 %o;\n\
         ld.param.u64 %o, [out];\nmov.b32 %r0, 0f3f000000;\ntex.1d.v4.u32.f32 {{%r1,%r2,%r3,%r4}}, [t, {{%r0}}];\n\
         st.global.u32 [%o], %r1;\nret;\n}}\n\
         .visible .entry object(.param .u64 out, .param .u64 h) {{\n.reg .b32 %r<5>;\n.reg .b64 %o, %h;\n\
         ld.param.u64 %o, [out];\nld.param.u64 %h, [h];\nmov.b32 %r0, 0f3f000000;\n\
         tex.1d.v4.u32.f32 {{%r1,%r2,%r3,%r4}}, [%h, {{%r0}}];\nst.global.u32 [%o], %r1;\nret;\n}}\n"
    );
    let device = device();
    let (one, two) = (load(&device, &source), load(&device, &source));
    let texture = |value: u8| {
        let format = Format::parse("u8x1").expect("a format");
        let array = device.create_array(ArrayDescription::row(format, 4)).expect("room");
        array.write(0, &[value; 4]).expect("a level");
        Texture { integers: true, ..Texture::from(&array) }
    };
    device.bind(one, "t", Bound::Texture(texture(11))).expect("a texture");
    device.bind(two, "t", Bound::Texture(texture(22))).expect("a texture");
    let handle = device.texture_object(texture(33)).expect("a texture");
    let out = device.allocate(4).expect("memory");
    for (module, expected) in [(one, 11), (two, 22)] {
        launch(&device, module, "k", &[out]).expect("no fault");
        assert_eq!(words(&device, out, 1), [expected]);
        launch(&device, module, "object", &[out, handle]).expect("no fault");
        assert_eq!(words(&device, out, 1), [33]);
    }
    device.unload_module(one).expect("loaded");
    launch(&device, two, "object", &[out, handle]).expect("objects stay");
    assert!(device.bind(one, "t", Bound::Texture(texture(1))).is_err());
}

/// Whether an address of the host is one that a state space has in the device.
fn in_window(device: &Device, address: u64) -> bool {
    let windows = device.windows();
    let between = |first: u64, last: Window| (first..last.base + last.size).contains(&address);
    between(windows.constant.base, windows.code) || between(windows.local.base, windows.shared)
}

#[test]
fn mapped_memory_is_the_hosts_own() {
    let device = device();
    let module = load(&device, &adds(1, 2));
    let memory = HostMemory::new(1000).expect("memory");
    memory.bytes().write(0, &[5, 0, 0, 0]);
    let mut mapped = 0;
    for place in [HostPlace::Anywhere, HostPlace::SameAddress] {
        let address = match device.map_host(&memory, place) {
            Ok(address) => address,
            // The host may have put it where a state space has its window.
            Err(MemoryError::AddressTaken { address, .. }) if in_window(&device, address) => continue,
            Err(error) => panic!("{error}"),
        };
        mapped += 1;
        assert_eq!(place == HostPlace::SameAddress, address == memory.bytes().host_address());
        launch(&device, module, "k", &[address]).expect("no fault");
        device.free(address).expect("mapped");
        assert_eq!(bad(launch(&device, module, "k", &[address])).problem, Problem::Freed);
    }
    let mut bytes = [0; 8];
    memory.bytes().read(0, &mut bytes);
    assert_eq!(bytes, [5 + 3 * mapped, 0, 0, 0, 3 * mapped, 0, 0, 0]);
}

/// Memory as a driver would own it: pages, found by a pointer.
#[repr(align(4096))]
struct Page([u8; 4096]);

#[test]
fn borrowed_memory_is_seen_by_kernels_and_the_host() {
    let device = device();
    let module = load(&device, &adds(1, 2));
    let mut page = Box::new(Page([0; 4096]));
    let start = NonNull::new(page.0.as_mut_ptr()).expect("an address");
    // SAFETY: the page stays until the end of the test, and the host does not touch it while launches run.
    let memory = unsafe { HostMemory::borrow(start, 128) }.expect("a page");
    let own = start.as_ptr() as u64;
    let place = if in_window(&device, own) { HostPlace::Anywhere } else { HostPlace::SameAddress };
    let address = device.map_host(&memory, place).expect("room");
    if place == HostPlace::SameAddress {
        assert_eq!(address, own);
        let taken = device.map_host(&memory, HostPlace::SameAddress);
        assert_eq!(taken, Err(MemoryError::AddressTaken { address, bytes: 128 }));
    }
    launch(&device, module, "k", &[address]).expect("no fault");
    // SAFETY: the page is there, and no launch runs.
    let seen = unsafe { start.cast::<u32>().read() };
    assert_eq!(seen, 3);
    assert_eq!(bad(launch(&device, module, "k", &[address + 4])).problem, Problem::OutOfBounds);
    // SAFETY: as above.
    assert_eq!(unsafe { start.add(128).read() }, 0, "what was not lent is untouched");
    device.free(address).expect("mapped");
    assert!(matches!(device.free(address), Err(MemoryError::Freed { .. })));
    // SAFETY: nothing is accessed, since these are refused.
    unsafe {
        let unaligned = HostMemory::borrow(start.add(8), 128).map(drop);
        let wanted = MemoryError::HostAlignment { address: own + 8, multiple: 256 };
        assert_eq!(unaligned, Err(wanted));
        let small = HostMemory::borrow(start, 8).map(drop);
        assert_eq!(small, Err(MemoryError::HostSize { bytes: 8, least: 16 }));
    }
}

#[test]
fn mistakes_with_memory_are_errors_that_say_which_memory() {
    let device = Device::new(Target::from_name("sm_90").expect("a target"), 64, Some(1 << 20));
    let buffer = device.allocate(100).expect("memory");
    device.free(buffer).expect("allocated");
    let twice = device.free(buffer).expect_err("freed");
    assert_eq!(twice.to_string(), format!("the allocation of 100 bytes at 0x{buffer:x} was freed"));
    let error = device.write(buffer + 4, &[0]).expect_err("freed");
    let words =
        format!("0x{:x} is in the allocation of 100 bytes at 0x{buffer:x}, which was freed", buffer + 4);
    assert_eq!(error.to_string(), words);
    let error = device.allocate(1 << 30).expect_err("too much");
    assert!(error.to_string().contains("no room for 1073741952 more bytes"), "{error}");
    let error = device.allocate(u64::MAX).expect_err("too much");
    assert_eq!(error, MemoryError::OutOfMemory { bytes: u64::MAX });
    let error = device.allocate_aligned(1, 3).expect_err("no power of two");
    assert_eq!(error, MemoryError::BadAlignment { alignment: 3 });
    assert!(device.allocate_aligned(1, 1 << 21).expect("memory").is_multiple_of(1 << 21));
    assert_eq!(device.free(1), Err(MemoryError::NotAllocated { address: 1 }));
    let missing = launch(&device, ModuleId::default(), "k", &[]).expect_err("none");
    assert!(matches!(missing, LaunchError::Module(ModuleError::Missing(_))), "{missing}");
    assert_eq!(device.write_variable("v", &[0]), Err(MemoryError::NoModule));
    let narrow = Device::new(Target::from_name("sm_90").expect("a target"), 32, None);
    let error = narrow.load_module(&[&adds(1, 2)], LoadOptions::default()).expect_err("other addresses");
    assert!(matches!(error, LoadError::AddressSize { module: 64, device: 32 }), "{error}");
}

#[test]
fn launches_from_several_threads_share_one_device() {
    fn shared<T: Send + Sync>(_: &T) {}
    let device = device();
    shared(&device);
    let modules = [load(&device, &adds(1, 2)), load(&device, &adds(3, 4))];
    let buffers = [(); 2].map(|()| device.allocate(128).expect("memory"));
    std::thread::scope(|scope| {
        for (module, buffer) in modules.into_iter().zip(buffers) {
            let device = &device;
            scope.spawn(move || {
                for _ in 0..200 {
                    launch(device, module, "k", &[buffer]).expect("no fault");
                    // Allocations of other threads come and go meanwhile.
                    let scratch = device.allocate(64).expect("memory");
                    device.write(scratch, &[1; 64]).expect("inside");
                    device.free(scratch).expect("allocated");
                }
            });
        }
    });
    assert_eq!(words(&device, buffers[0], 32), [600; 32]);
    assert_eq!(words(&device, buffers[1], 32), [1400; 32]);
}

#[test]
fn a_launch_is_not_disturbed_by_what_is_freed_meanwhile() {
    // The kernel waits until the host has freed the buffer and unloaded the module.
    let source = format!(
        "{HEAD}.global .u32 v = 9;\n.visible .entry k(.param .u64 flags, .param .u64 p) {{\n.reg .pred %q;\n\
         .reg .b64 %f, %p;\n.reg .b32 %x, %y;\nld.param.u64 %f, [flags];\nld.param.u64 %p, [p];\n\
         st.relaxed.sys.global.u32 [%f], 1;\nWAIT:\nld.relaxed.sys.global.u32 %x, [%f+4];\n\
         setp.eq.u32 %q, %x, 0;\n@%q bra WAIT;\nld.global.u32 %x, [%p];\nld.global.u32 %y, [v];\n\
         add.u32 %x, %x, %y;\nst.global.u32 [%f+8], %x;\nret;\n}}\n"
    );
    let device = device();
    let module = load(&device, &source);
    let flags = HostMemory::new(16).expect("memory");
    let at = device.map_host(&flags, HostPlace::Anywhere).expect("room");
    let buffer = device.allocate(4).expect("memory");
    device.write(buffer, &[5, 0, 0, 0]).expect("inside");
    let word = |place: u64| {
        let mut bytes = [0; 4];
        flags.bytes().read(place, &mut bytes);
        u32::from_le_bytes(bytes)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| launch(&device, module, "k", &[at, buffer]).expect("no fault"));
        while word(0) == 0 {
            std::thread::yield_now();
        }
        device.free(buffer).expect("allocated");
        device.unload_module(module).expect("loaded");
        flags.bytes().write(4, &[1, 0, 0, 0]);
    });
    assert_eq!(word(8), 14);
}

#[test]
fn an_outcome_has_the_report_of_a_launch_that_was_stopped() {
    let device = device();
    let module = load(&device, &adds(1, 2));
    let arguments = [0u64.to_le_bytes().to_vec()];
    let launch = Launch { module, ..Launch::new("k", [1; 3], [32, 1, 1], &arguments) };
    let outcome = device.execute(&launch).expect("it begins");
    assert!(outcome.fault.is_some() && outcome.report.ctas == 0);
    assert!(device.stopped().is_none(), "only `launch` notes it");
}
