//! Devices (driver API: "Device Management").

use crate::attributes::attribute;
use crate::code::{Code, ensure};
use crate::driver::driver;
use crate::ffi::{Host, Out, Text};

/// The PCI bus id of a device.
fn bus_id(number: u32) -> String {
    format!("0000:{:02x}:00.0", number + 1)
}

/// The name of a device.
fn name(arch: softwarp::isa::Target) -> String {
    format!("softwarp {}", arch.baseline().name())
}

crate::entries! {
    /// How many devices there are.
    fn cuDeviceGetCount(count: Out<i32>) {
        let driver = driver()?;
        count.set(driver.devices.len() as i32)
    }

    /// A device by its number.
    fn cuDeviceGet(device: Out<i32>, ordinal: i32) {
        let driver = driver()?;
        device.required()?;
        driver.device(ordinal)?;
        device.set(ordinal)
    }

    /// The name of a device.
    fn cuDeviceGetName(to: Host, room: i32, device: i32) {
        let driver = driver()?;
        driver.device(device)?;
        ensure(!to.is_null(), Code::INVALID_VALUE)?;
        let name = name(driver.config.arch);
        // A negative size is taken for a large one.
        let room = if room < 0 { name.len() + 1 } else { room as usize };
        // SAFETY: the caller's buffer has this room.
        unsafe { to.set_text(&name, room) };
        Ok(())
    }

    /// A number that no other device has: 16 bytes.
    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        let driver = driver()?;
        let gpu = driver.device(device)?;
        let mut bytes = *b"softwarp device0";
        bytes[15] = b'0' + gpu.number as u8;
        uuid.set(bytes)
    }

    /// The same.
    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        match cuDeviceGetUuid(uuid, device) {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// An attribute of a device.
    fn cuDeviceGetAttribute(value: Out<i32>, id: u32, device: i32) {
        let driver = driver()?;
        value.required()?;
        let gpu = driver.device(device)?;
        value.set(attribute(driver.config.arch, gpu.number, id).ok_or(Code::INVALID_VALUE)?)
    }

    /// The memory of a device.
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        bytes.set_if_any(0);
        let driver = driver()?;
        driver.device(device)?;
        bytes.set(driver.config.device_memory() as usize)
    }

    /// The compute capability of a device.
    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        let driver = driver()?;
        driver.device(device)?;
        let sm = i32::from(driver.config.arch.sm());
        major.required()?;
        minor.required()?;
        major.set(sm / 10)?;
        minor.set(sm % 10)
    }

    /// The place of a device on the PCI bus, as text.
    fn cuDeviceGetPCIBusId(to: Host, room: i32, device: i32) {
        let driver = driver()?;
        ensure(!to.is_null(), Code::INVALID_VALUE)?;
        let gpu = driver.device(device)?;
        let text = bus_id(gpu.number);
        // SAFETY: the caller's buffer has this room.
        unsafe { to.set_text(&text, usize::try_from(room).unwrap_or(0)) };
        ensure(room > text.len() as i32, Code::INVALID_VALUE)
    }

    /// The device at a place of the PCI bus.
    fn cuDeviceGetByPCIBusId(device: Out<i32>, id: Text<'_>) {
        let driver = driver()?;
        device.required()?;
        let id = id.get()?.to_str().map_err(|_| Code::INVALID_VALUE)?;
        let is_id = id.contains(':') && id.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
        ensure(is_id, Code::INVALID_VALUE)?;
        let found = driver.devices.iter().position(|gpu| bus_id(gpu.number).eq_ignore_ascii_case(id));
        device.set(found.ok_or(Code::INVALID_DEVICE)? as i32)
    }

    /// Whether a kind of affinity is supported: none is.
    fn cuDeviceGetExecAffinitySupport(value: Out<i32>, _kind: u32, device: i32) {
        driver()?.device(device)?;
        value.set(0)
    }

    /// Whether a device can access another's memory: all share one.
    fn cuDeviceCanAccessPeer(value: Out<i32>, device: i32, peer: i32) {
        let driver = driver()?;
        driver.device(device)?;
        driver.device(peer)?;
        value.set(i32::from(device != peer))
    }
}
