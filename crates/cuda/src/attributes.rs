//! Attributes of devices: `attributes.txt`, with what depends on the GPU filled in.

use softwarp::isa::Target;
use softwarp::isa::device::{MULTIPROCESSOR_CTAS, MULTIPROCESSORS, RESERVED_SHARED, STATIC_SHARED_BYTES};

const TABLE: &str = include_str!("attributes.txt");

/// An attribute of a device that claims to be a GPU, by number. `number` is the device's own.
pub fn attribute(arch: Target, number: u32, id: u32) -> Option<i32> {
    let rows = TABLE.lines().filter(|row| !row.starts_with('#'));
    let row = rows.map(|row| row.split(' ')).find_map(|mut words| {
        let is = words.next()?.parse::<u32>().ok()? == id;
        is.then(|| words.next())?
    })?;
    match row.strip_prefix('=') {
        None => row.parse().ok(),
        Some(word) => of_gpu(arch, number, word),
    }
}

/// What depends on the GPU.
fn of_gpu(arch: Target, number: u32, word: &str) -> Option<i32> {
    let properties = arch.properties();
    let sm = u32::from(arch.sm());
    // Multiprocessors of consumer GPUs, and of Turing, hold fewer threads (CUDA C++ Programming Guide).
    let (threads, ctas) = match sm {
        75 => (1024, 16),
        86..=89 => (1536, if sm == 89 { 24 } else { 16 }),
        120.. => (1536, 24),
        _ => (2048, MULTIPROCESSOR_CTAS),
    };
    let value = match word {
        "major" => u64::from(sm / 10),
        "minor" => u64::from(sm % 10),
        "static_shared" => STATIC_SHARED_BYTES,
        "shared_optin" => properties.cta_shared,
        "shared_multiprocessor" => properties.multiprocessor_shared,
        "reserved_shared" => {
            if sm >= 80 {
                RESERVED_SHARED
            } else {
                0
            }
        }
        "multiprocessors" => u64::from(MULTIPROCESSORS),
        "threads" => threads,
        "ctas" => u64::from(ctas),
        "cluster" => u64::from(properties.cluster_ctas > 0),
        "pci_bus" => u64::from(number + 1),
        "pci_device" | "pci_domain" => 0,
        _ => return None,
    };
    i32::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_value() {
        let arch = Target::SM_90;
        let rows: Vec<&str> = TABLE.lines().filter(|row| !row.starts_with('#')).collect();
        assert!(rows.len() > 140);
        for row in rows {
            let id = row.split(' ').next().and_then(|id| id.parse().ok()).expect("a number");
            assert!(attribute(arch, 0, id).is_some(), "{row}");
        }
        assert_eq!(attribute(arch, 0, 97), Some(232_448));
        assert_eq!(attribute(arch, 0, 75), Some(9));
        assert_eq!(attribute(arch, 0, 0), None);
        assert_eq!(attribute(arch, 0, 200), None);
    }
}
