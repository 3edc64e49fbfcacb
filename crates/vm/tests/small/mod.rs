//! Small kernels: made, launched and looked at by several tests.

use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions, Report};
use softwarp_vm::fault::{BadAccess, Fault, FaultKind};
use std::time::Duration;

pub const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Registers for all, and the address of the thread's word of `out` in `%o`.
pub const PROLOGUE: &str = "
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .b64 %out, %o; .reg .b32 %t;
    .reg .b16 %h<8>; .reg .f32 %f<8>;
    ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %r30, %ctaid.x; mov.u32 %r31, %ntid.x;
    mad.lo.u32 %r30, %r30, %r31, %t;
    mad.wide.u32 %o, %r30, 4, %out;
";

/// A machine with one kernel `k(out)`, behind other declarations.
pub fn device(declared: &str, body: &str) -> Device {
    let source =
        format!("{HEADER}{declared}\n.visible .entry k(.param .u64 out)\n{{{PROLOGUE}{body}\nret;\n}}\n");
    Device::load(&[&source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}\n{source}"))
}

pub fn launch_on(
    device: &mut Device,
    (grid, block): (u32, u32),
    words: usize,
    set: impl for<'a> FnOnce(Launch<'a>) -> Launch<'a>,
) -> (u64, Result<Report, LaunchError>) {
    let out = device.allocate(4 * words as u64).expect("memory");
    let arguments = [out.to_le_bytes().to_vec()];
    let launch = Launch {
        most_time: Some(Duration::from_secs(60)),
        ..Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments)
    };
    (out, device.launch(&set(launch)))
}

pub fn words(device: &Device, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    device.read(address, &mut bytes).expect("inside");
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// What `k` leaves in `out`, of a given number of words: the same on one thread and on two.
pub fn run(declared: &str, body: &str, shape: (u32, u32), count: usize) -> Vec<u32> {
    let results = [1, 2].map(|threads| {
        let mut device = device(declared, body);
        let (out, result) =
            launch_on(&mut device, shape, count, |launch| Launch { threads: Some(threads), ..launch });
        result.unwrap_or_else(|error| panic!("{error}\n{error:?}"));
        words(&device, out, count)
    });
    assert_eq!(results[0], results[1], "one thread and two");
    results.into_iter().next().unwrap_or_default()
}

pub fn fault(declared: &str, body: &str, shape: (u32, u32), count: usize) -> (Device, u64, Fault) {
    let mut device = device(declared, body);
    let (out, result) = launch_on(&mut device, shape, count, |launch| launch);
    match result {
        Err(LaunchError::Fault(fault)) => (device, out, *fault),
        other => panic!("{other:?}"),
    }
}

pub fn bad(fault: &Fault) -> &BadAccess {
    match &fault.kind {
        FaultKind::Access(bad) => bad,
        other => panic!("{other:?}"),
    }
}

/// The text of the instruction at a fault.
pub fn text(device: &Device, fault: &Fault) -> String {
    let place = fault.place.as_ref().expect("a place");
    let module = device.module(Default::default()).expect("loaded");
    let source = &module.units[place.unit as usize].source;
    source[place.span.start as usize..place.span.end as usize].to_owned()
}
