//! Launches with sanitizers, for several tests.

use softwarp_vm::device::{Device, Launch, LaunchError, LoadOptions};
use softwarp_vm::fault::FaultKind;
use softwarp_vm::sanitize::{Finding, Sanitize};
use std::time::Duration;

/// A buffer: its bytes, and whether the host writes it.
pub type Buffer = (u64, bool);

/// Launches the only kernel `k`: what was found, and what stopped it.
pub fn launch(
    source: &str,
    grid: u32,
    block: u32,
    buffers: &[Buffer],
    sanitize: Sanitize,
) -> (Vec<Finding>, Option<FaultKind>) {
    let device = Device::load(&[source], LoadOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let arguments: Vec<Vec<u8>> = buffers
        .iter()
        .map(|&(bytes, written)| {
            let address = match written {
                true => device.allocate(bytes),
                false => device.allocate_uninitialised(bytes),
            };
            address.expect("memory").to_le_bytes().to_vec()
        })
        .collect();
    let launch = Launch {
        sanitize,
        most_time: Some(Duration::from_secs(60)),
        ..Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments)
    };
    let fault = match device.launch(&launch) {
        Ok(report) => {
            assert_eq!(report.findings, device.findings());
            None
        }
        Err(LaunchError::Fault(fault)) => Some(fault.kind),
        Err(error) => panic!("{error}"),
    };
    (device.findings().to_vec(), fault)
}

/// A module with a kernel `k(out)` of this body, `%o` being the address of the thread's word of `out`.
pub fn kernel(declared: &str, body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{declared}\n.visible .entry k(.param .u64 out)\n{{
        .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %d<16>, %out, %o; .reg .b32 %t, %c, %s; .reg .b16 %h<8>;
        ld.param.u64 %out, [out];
        mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %r31, %ntid.x;
        mad.lo.u32 %r30, %c, %r31, %t; mad.wide.u32 %o, %r30, 4, %out;
        {body}\nret;\n}}\n"
    )
}

pub const SHARED: &str = ".shared .align 16 .b8 s[4096];";

/// What is found in a kernel on 64 threads of one CTA, with everything looked for.
pub fn found(declared: &str, body: &str) -> Vec<Finding> {
    found_on(declared, body, 1, 64)
}

pub fn found_on(declared: &str, body: &str, grid: u32, block: u32) -> Vec<Finding> {
    launch(&kernel(declared, body), grid, block, &[(1 << 16, true)], Sanitize::ALL).0
}
