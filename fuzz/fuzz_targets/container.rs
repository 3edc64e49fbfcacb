//! Containers of code are read and their PTX unpacked without panic, and linked texts survive being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use softwarp_container::{Found, Text, Wanted, modules, read, write_linked};

fuzz_target!(|data: &[u8]| {
    if let Ok(found) = modules(data, Wanted::Any) {
        assert!(!found.modules.is_empty() && found.modules.iter().all(|module| !module.texts.is_empty()));
    }
    let image = match read(&data) {
        Ok(Found::Image(image)) => image,
        Ok(Found::Wrapper(_)) => return,
        Err(error) => return assert!(!error.to_string().is_empty() && error.code() != 0),
    };
    for entry in &image.entries {
        // Damaged contents are an error of the entry alone.
        let _ = entry.texts();
    }
    let Ok(chosen) = image.choose(Wanted::DeviceOrNewer(90)) else { return };
    let texts: Vec<Text> = chosen.texts;
    let bytes = write_linked(&texts).expect("what was read is not too large");
    let Ok(Found::Image(linked)) = read(&bytes.as_slice()) else { panic!("what was written is read back") };
    assert_eq!(linked.choose(Wanted::DeviceOrNewer(90)).map(|chosen| chosen.texts), Ok(texts));
});
