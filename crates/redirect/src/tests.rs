//! Changed ELF files: every answer is allowed but a panic, and each is given in bounded time.

use crate::elf::{Elf, Table};
use crate::runtime::{self, Content};

const BASE: u64 = 0x1000;

/// What a linked file has to have to be taken for one with a runtime: headers, code, and symbols with names.
fn file(functions: &[(&str, u64, u64)]) -> Vec<u8> {
    const HEADERS: usize = 64 + 56;
    let mut code = vec![0xcc; 0x400];
    code[0x20..0x28].copy_from_slice(&[0xc7, 7, 0xf0, 0x32, 0, 0, 0x31, 0xc0]);
    let mut names = vec![0];
    let mut symbols = vec![0; 24];
    for (name, address, size) in functions {
        symbols.extend((names.len() as u32).to_le_bytes());
        symbols.extend([2, 0, 1, 0]);
        symbols.extend((BASE + address).to_le_bytes());
        symbols.extend(size.to_le_bytes());
        names.extend(name.bytes().chain([0]));
    }
    let titles = b"\0.symtab\0.strtab\0.nvFatBinSegment\0.note\0";
    let note = b"\x04\0\0\0\x08\0\0\0\x03\0\0\0GNU\0identity".to_vec();
    let parts: [&[u8]; 5] = [&code, &symbols, &names, titles, &note];
    let mut places = Vec::new();
    let mut at = HEADERS;
    for part in parts {
        places.push((at, part.len()));
        at += part.len();
    }
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(64u64.to_le_bytes());
    bytes.extend((at as u64).to_le_bytes());
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 7, 0, 4, 0]);
    bytes.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    for number in [HEADERS as u64, BASE, BASE, code.len() as u64, code.len() as u64, 16] {
        bytes.extend(number.to_le_bytes());
    }
    parts.iter().for_each(|part| bytes.extend(*part));
    let mut section = |name: u32, kind: u32, place: (usize, usize), link: u32| {
        bytes.extend([name, kind].map(u32::to_le_bytes).concat());
        bytes.extend([0, 0, place.0 as u64, place.1 as u64].map(u64::to_le_bytes).concat());
        bytes.extend([link, 0].map(u32::to_le_bytes).concat());
        bytes.extend([0u64, 0].map(u64::to_le_bytes).concat());
    };
    section(0, 0, (0, 0), 0);
    section(0, 1, places[0], 0);
    section(1, 2, places[1], 3);
    section(9, 3, places[2], 0);
    section(9, 3, places[3], 0);
    section(34, 7, places[4], 0);
    section(17, 1, places[0], 0);
    bytes
}

const HASHED: &str = "libcudart_static_3f56f231a2e9957d049d0b66bdaa3b5d8846b80c";

/// A runtime between functions of the program.
const USUAL: [(&str, u64, u64); 9] = [
    ("main", 0x10, 0x10),
    ("cudaOwn", 0x40, 0x10),
    (HASHED, 0x50, 0x20),
    ("cudaGetExportTable", 0x80, 0x20),
    ("__cudaRegisterFatBinary", 0xa0, 10),
    ("cudaMalloc", 0xb0, 0x30),
    ("folded", 0xb0, 0x30),
    ("libcudart_static_0", 0xe0, 0x20),
    ("cudaAfter", 0x100, 0x20),
];

fn names(content: &Content) -> Vec<(String, u64)> {
    let Content::Runtime(runtime) = content else { panic!("{content:?}") };
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    runtime.functions.iter().map(|function| (text(&function.name), function.room)).collect()
}

#[test]
fn the_run_of_functions_is_found() {
    let bytes = file(&USUAL);
    let elf = Elf::read(&bytes).expect("a file");
    assert_eq!(elf.build_id(), Some(&b"identity"[..]));
    let content = runtime::look(&elf);
    let wanted = [("cudaGetExportTable", 0x20), ("__cudaRegisterFatBinary", 16), ("cudaMalloc", 0x30)];
    assert_eq!(names(&content), wanted.map(|(name, room)| (name.to_owned(), room)));
    let Content::Runtime(found) = content else { unreachable!("found above") };
    // The constant lies before the run.
    assert_eq!((found.version.major, found.version.number), (13, None));
}

/// Functions with names of the runtime, without its private ones; and a runtime without its names.
#[test]
fn what_is_no_runtime_is_not_taken_for_one() {
    let without_private: Vec<_> =
        USUAL.into_iter().filter(|(name, ..)| !name.starts_with("libcudart")).collect();
    for functions in [&without_private[..], &USUAL[..2], &[]] {
        let bytes = file(functions);
        // It has kernels, and registers them with nothing.
        assert_eq!(runtime::look(&Elf::read(&bytes).expect("a file")), Content::NoSymbols, "{functions:?}");
    }
    assert!(Elf::read(b"").is_none() && Elf::read(b"\x7fELF\x02\x01\x01").is_none());
}

/// Looks at everything that is looked at in an object.
fn look(bytes: &[u8]) {
    let Some(elf) = Elf::read(bytes) else { return };
    let _ = (elf.build_id(), elf.interpreter(), elf.section_contents(b".gnu_debuglink"));
    if let Content::Runtime(runtime) = runtime::look(&elf) {
        for function in &runtime.functions {
            let _ = (function.room, elf.code_at(function.address));
        }
        let _ = runtime.version.to_string();
    }
    let _ = elf.symbols(Table::Dynamic).map(|symbols| symbols.functions().count());
}

#[test]
fn changed_files_are_read() {
    let usual = file(&USUAL);
    for length in 0..usual.len() {
        look(&usual[..length]);
    }
    // Each byte, and each aligned number, is changed by itself; then several at once.
    for at in 0..usual.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, usual[at].wrapping_add(1), usual[at].wrapping_sub(1)] {
            let mut bytes = usual.clone();
            bytes[at] = value;
            look(&bytes);
        }
    }
    for at in (0..usual.len() - 8).step_by(4) {
        for value in [u64::MAX, u64::MAX - 63, 1 << 63, usual.len() as u64, 1 << 32, u64::MAX >> 1] {
            let mut bytes = usual.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            look(&bytes);
        }
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..20_000 {
        let mut bytes = usual.clone();
        for _ in 0..1 + random() % 8 {
            let at = random() % bytes.len();
            bytes[at] = random() as u8;
        }
        look(&bytes);
    }
}

/// Many functions near the sign, and many signs, take no time that grows with their product.
#[test]
fn many_symbols_are_bounded() {
    let many: Vec<(&str, u64, u64)> =
        (0..200_000).map(|index| ("cudaGetExportTable", index % 0x300, u64::MAX)).collect();
    look(&file(&many));
    let several: Vec<(&str, u64, u64)> =
        (0..100_000).map(|index| (HASHED, index * 2, u64::MAX)).chain(USUAL).collect();
    look(&file(&several));
}
