//! Containers made by nvcc 13.4 (`tests/data/make.sh`), whole, cut off and damaged.

use super::*;

macro_rules! data {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../tests/data/", $name)).as_slice())
    };
}

/// All files.
const FILES: &[(&str, &[u8])] = &[
    data!("balance.fatbin"),
    data!("debug.fatbin"),
    data!("default.fatbin"),
    data!("lineinfo.fatbin"),
    data!("lto.fatbin"),
    data!("machine.fatbin"),
    data!("machine_lineinfo.fatbin"),
    data!("newer.fatbin"),
    data!("none.fatbin"),
    data!("options.fatbin"),
    data!("size.fatbin"),
    data!("speed.fatbin"),
    data!("suffixes.fatbin"),
    data!("debug.cubin"),
    data!("lineinfo.cubin"),
    data!("lineinfo_no_fmad.cubin"),
    data!("linked.cubin"),
    data!("linked_half.cubin"),
    data!("linked_reverse.cubin"),
    data!("plain.cubin"),
    data!("relocatable.cubin"),
    data!("sm_100a.cubin"),
    data!("sm_80.cubin"),
    data!("sm_90a.cubin"),
];

fn file(name: &str) -> &'static [u8] {
    FILES.iter().find(|file| file.0 == name).expect(name).1
}

fn image(name: &str) -> Image<'static> {
    match read(&file(name)) {
        Ok(Found::Image(image)) => image,
        other => panic!("{name}: {other:?}"),
    }
}

fn choose(name: &str, device: u32) -> Chosen {
    image(name).choose(Wanted::Device(device)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn refused(name: &str, device: u32) -> String {
    let error = image(name).choose(Wanted::Device(device)).expect_err(name);
    assert_eq!(error.code(), 209, "{name}");
    error.to_string()
}

/// The result code of what cannot be read.
fn code(bytes: &[u8]) -> u32 {
    match read(&bytes) {
        Ok(Found::Image(image)) => image.choose(Wanted::Device(90)).map_or_else(|error| error.code(), |_| 0),
        Ok(Found::Wrapper(_)) => 0,
        Err(error) => error.code(),
    }
}

/// A fat binary's entries as words: kind, architecture, version, options.
fn entries(name: &str) -> Vec<String> {
    let word = |entry: &Entry<'_>| {
        let arch = entry.arch.expect("a fat binary says it");
        let (major, minor) = entry.ptx_version;
        format!("{:?} {arch} {major}.{minor} {}", entry.kind, entry.options).trim_end().to_owned()
    };
    image(name).entries.iter().map(word).collect()
}

#[test]
fn every_compression_gives_the_same_text() {
    let plain = choose("none.fatbin", 90);
    assert_eq!((plain.kind, plain.arch, plain.missing), (Kind::Ptx, Some(Arch::baseline(90)), 0));
    let [text] = plain.texts.as_slice() else { panic!("one text") };
    assert!(text.source.contains("\n.version 9.4\n.target sm_90\n.address_size 64\n"), "{}", text.source);
    assert!(
        text.source.contains("\nfma.rn.f32 ") && text.source.trim_end().ends_with('}'),
        "{}",
        text.source
    );
    assert_eq!((text.version, text.arch), (Some((9, 4)), Some(Arch::baseline(90))));
    for name in ["default.fatbin", "size.fatbin", "speed.fatbin", "balance.fatbin"] {
        assert_eq!(choose(name, 90), plain, "{name}");
    }
}

#[test]
fn entries_of_fat_binaries_are_read() {
    assert_eq!(entries("default.fatbin"), ["Cubin sm_90 1.8", "Ptx sm_90 9.4"]);
    assert_eq!(
        entries("suffixes.fatbin"),
        [
            "Cubin sm_80 1.8",
            "Ptx sm_80 9.4",
            "Cubin sm_90a 1.8",
            "Ptx sm_90a 9.4",
            "Cubin sm_100f 1.8",
            "Ptx sm_100f 9.4"
        ]
    );
    assert_eq!(
        entries("options.fatbin"),
        ["Cubin sm_90 1.8", "Ptx sm_90 9.4 -fmad false -O 1 -maxrregcount 32"]
    );
    assert_eq!(entries("lineinfo.fatbin"), ["Cubin sm_90 1.8", "Ptx sm_90 9.4 -lineinfo"]);
    assert_eq!(entries("debug.fatbin"), ["Cubin sm_90 1.8", "Ptx sm_90 9.4 -g"]);
    assert_eq!(entries("lto.fatbin"), ["LtoIr sm_90 1.67 -fmad true"]);
    let names = |name| image(name).entries.into_iter().map(|entry| entry.identifier).collect::<Vec<_>>();
    assert_eq!(names("lineinfo.fatbin"), vec![Some("saxpy.cu".to_owned()); 2]);
    assert_eq!(names("default.fatbin"), [None, None]);
    assert_eq!(choose("options.fatbin", 90).texts[0].options.fmad, Some(false));
}

#[test]
fn the_nearest_code_is_chosen() {
    let arch = |name, device| choose(name, device).arch.map(|arch| arch.to_string());
    assert_eq!(arch("suffixes.fatbin", 90).as_deref(), Some("sm_90a"));
    assert_eq!(arch("suffixes.fatbin", 89).as_deref(), Some("sm_80"));
    assert_eq!(arch("suffixes.fatbin", 100).as_deref(), Some("sm_100f"));
    assert_eq!(arch("suffixes.fatbin", 103).as_deref(), Some("sm_80"));
    assert_eq!(arch("default.fatbin", 120).as_deref(), Some("sm_90"));
    let chosen = choose("machine_lineinfo.fatbin", 90);
    assert_eq!((chosen.kind, chosen.texts.len()), (Kind::Cubin, 1));
    assert_eq!(chosen.texts[0].source, choose("lineinfo.cubin", 90).texts[0].source);
}

#[test]
fn ptx_inside_cubins_is_read() {
    for (name, arch) in [("lineinfo.cubin", "sm_90"), ("debug.cubin", "sm_90"), ("sm_90a.cubin", "sm_90a")] {
        let chosen = choose(name, 90);
        assert_eq!(chosen.arch.map(|arch| arch.to_string()).as_deref(), Some(arch), "{name}");
        let text = &chosen.texts[0];
        assert_eq!(text.arch, chosen.arch, "{name}");
        assert_eq!(text.version, Some((9, 4)), "{name}");
        assert!(text.source.contains("\n.visible .entry saxpy(\n"), "{name}: {}", text.source);
        assert!(text.source.trim_end().ends_with('}'), "{name}: {}", text.source);
        assert!(!text.source.contains('\0'), "{name}");
        assert_eq!(text.options.fmad, None, "{name}");
        assert_eq!(text.options.debug, name == "debug.cubin");
    }
    assert_eq!(choose("lineinfo_no_fmad.cubin", 90).texts[0].options.fmad, Some(false));
    // It has a megabyte of variables that is not in the file.
    let relocatable = choose("relocatable.cubin", 90);
    assert!(relocatable.texts[0].options.compile_only && file("relocatable.cubin").len() < 10_000);
    assert_eq!(choose("sm_80.cubin", 86).texts[0].arch, Some(Arch::baseline(80)));
    assert_eq!(choose("sm_100a.cubin", 100).arch, Arch::from_name("sm_100a"));
}

#[test]
fn linked_cubins_have_several_texts() {
    let read = |name| {
        let chosen = choose(name, 90);
        let word = |text: &Text| (text.source.contains(".entry first"), text.options.fmad);
        (chosen.texts.iter().map(word).collect::<Vec<_>>(), chosen.missing)
    };
    assert_eq!(read("linked.cubin"), (vec![(true, None), (false, Some(false))], 0));
    assert_eq!(read("linked_reverse.cubin"), (vec![(false, Some(false)), (true, None)], 0));
    assert_eq!(read("linked_half.cubin"), (vec![(true, None)], 1));
}

#[test]
fn what_has_no_ptx_says_what_it_has() {
    let help = "without its PTX. softwarp runs PTX, not machine code. \
                A cubin keeps its PTX if it is made with -lineinfo (";
    let message = refused("plain.cubin", 90);
    assert!(
        message.starts_with("no PTX for sm_90 in this cubin: it has machine code for sm_90 "),
        "{message}"
    );
    assert!(message.contains(help) && message.ends_with("code=compute_90"), "{message}");
    assert!(refused("machine.fatbin", 90).contains(help));
    assert_eq!(
        refused("newer.fatbin", 90),
        "no PTX for sm_90 in this fat binary: it has PTX for sm_100, which sm_90 does not run; \
         nvcc adds PTX with -gencode arch=compute_90,code=compute_90"
    );
    assert!(refused("lto.fatbin", 90).contains("it has LTO-IR for sm_90. softwarp runs PTX, not LTO-IR"));
    assert!(refused("sm_80.cubin", 90).contains("it has machine code for sm_80, which sm_90 does not run"));
    assert!(refused("sm_100a.cubin", 103).contains("sm_100a, which sm_103 does not run"));
}

#[test]
fn bad_images_give_the_codes_of_the_driver() {
    let elf = |machine: u8| {
        let mut bytes = b"\x7fELF\x02\x01\x01\x33\x07".to_vec();
        bytes.resize(220, 0);
        bytes[16..20].copy_from_slice(&[2, 0, machine, 0]);
        bytes
    };
    let fatbin = |version| [&[0x50, 0xed, 0x55, 0xba, version, 0, 16, 0], [0; 40].as_slice()].concat();
    assert_eq!(code(b""), 200);
    assert_eq!(code(b"   \n"), 200);
    assert_eq!(code(b"this is not PTX\n"), 200);
    assert_eq!(code(b".target sm_90\n.address_size 64\n"), 200);
    assert_eq!(code(b"\xef\xbb\xbf.version 8.0\n"), 200);
    assert_eq!(code(b"\x7fELF"), 200);
    assert_eq!(code(&elf(0x3e)), 200);
    assert_eq!(code(&elf(0xbe)), 999);
    assert_eq!(code(&fatbin(1)), 209);
    assert_eq!(code(&fatbin(9)), 200);
    assert_eq!(code(b"\x01\x5a\xe5\x1e some pointers"), 200);
    assert_eq!(code(b".version 99.0\n.target sm_90\n"), 0);
}

#[test]
fn linked_texts_are_chosen_together() {
    let texts: Vec<Text> = ["first.ptx", "second.ptx"]
        .map(|name| Text {
            name: Some(name.to_owned()),
            ..Text::from_source(".version 8.0\n.target sm_90\n".to_owned())
        })
        .to_vec();
    let bytes = write_linked(&texts).expect("small");
    let Ok(Found::Image(image)) = read(&&*bytes) else { panic!("an image") };
    assert_eq!((image.form, image.entries.len()), (Form::Linked, 2));
    assert_eq!(image.choose(Wanted::Device(90)).expect("linked").texts, texts);
}

/// What the modules of a program of the host are: the beginning of each text behind its header, and what it is for.
fn host(name: &str, wanted: Wanted) -> Vec<(Vec<String>, String)> {
    let found = modules(host_file(name), wanted).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(found.form, Form::Host);
    let kernel = |text: &Text| {
        let at = text.source.find(".entry").or_else(|| text.source.find(".func")).expect("a function");
        text.source[at..].split('(').next().unwrap_or_default().to_owned()
    };
    let words = |module: &Chosen| {
        let arch = module.arch.map_or_else(String::new, |arch| arch.to_string());
        (module.texts.iter().map(kernel).collect(), arch)
    };
    found.modules.iter().map(words).collect()
}

fn host_file(name: &str) -> &'static [u8] {
    HOST_FILES.iter().find(|file| file.0 == name).expect(name).1
}

const HOST_FILES: &[(&str, &[u8])] = &[
    data!("two_archs.o"),
    data!("two_files.elf"),
    data!("linked_files.elf"),
    data!("linked_lineinfo.elf"),
    data!("machine.so"),
];

#[test]
fn fat_binaries_are_found_in_programs() {
    let one = |name: &str, arch: &str| (vec![name.to_owned()], arch.to_owned());
    let target = |name| Wanted::Target(Arch::from_name(name).expect(name));
    let hello = ".entry _Z5helloPi";
    assert_eq!(host("two_archs.o", Wanted::Any), [one(hello, "sm_90")]);
    assert_eq!(host("two_archs.o", target("sm_89")), [one(hello, "sm_80")]);
    assert_eq!(host("two_archs.o", target("sm_120")), [one(hello, "sm_90")]);
    let two = [one(hello, "sm_90"), one(".entry _Z5otherPi", "sm_90")];
    assert_eq!(host("two_files.elf", Wanted::Any), two);
    // Functions that are linked with each other are one module, from whichever of both places.
    for name in ["linked_files.elf", "linked_lineinfo.elf"] {
        let [(texts, arch)] = &host(name, Wanted::Any)[..] else { panic!("{name}: one module") };
        assert_eq!((texts.len(), arch.as_str()), (3, "sm_90"), "{name}");
        assert!(texts.iter().any(|text| text == ".entry first"), "{name}: {texts:?}");
        assert!(texts.iter().any(|text| text == hello), "{name}: {texts:?}");
    }
}

#[test]
fn programs_without_ptx_say_what_they_have() {
    let words = |bytes: &[u8], wanted| modules(bytes, wanted).expect_err("no PTX").to_string();
    let machine = words(host_file("machine.so"), Wanted::Any);
    assert!(
        machine.starts_with("no PTX in this file: it has machine code for sm_90 without its PTX."),
        "{machine}"
    );
    let target = Wanted::Target(Arch::baseline(75));
    let older = words(host_file("two_archs.o"), target);
    assert!(older.starts_with("no PTX for sm_75 in this file: it has PTX for sm_80, sm_90 and "), "{older}");
    let suffix = words(file("suffixes.fatbin"), target);
    assert!(suffix.contains("it has PTX for sm_80, sm_90a, sm_100f and "), "{suffix}");
    // A target without a suffix takes none.
    let chosen = modules(file("suffixes.fatbin"), Wanted::Target(Arch::baseline(90))).expect("sm_80").modules;
    assert_eq!(chosen[0].arch, Some(Arch::baseline(80)));
    let mut plain = host_file("two_files.elf").to_vec();
    for section in [b".nv_fatbin\0".as_slice(), b"__nv_relfatbin\0"] {
        if let Some(at) = plain.windows(section.len()).position(|window| window == section) {
            plain[at] = b'x';
        }
    }
    assert_eq!(modules(&plain, Wanted::Any), Err(ReadError::NoFatbin { machine: 62 }));
}

#[test]
fn a_damaged_program_is_an_error_or_another_text() {
    for (name, bytes) in HOST_FILES {
        assert!(modules(bytes, Wanted::Device(90)).is_ok() || *name == "machine.so", "{name}");
        for length in (0..bytes.len()).step_by(7) {
            let _ = modules(&bytes[..length], Wanted::Any);
        }
        let mut bytes = bytes.to_vec();
        for at in (0..bytes.len()).step_by(3) {
            let good = bytes[at];
            for bad in [0, 0xff, good ^ 0x01] {
                bytes[at] = bad;
                let _ = modules(&bytes, Wanted::Any);
            }
            bytes[at] = good;
        }
    }
}

/// Reads everything that there is.
fn exercise(bytes: &[u8]) -> Result<usize, ReadError> {
    let Found::Image(image) = read(&bytes)? else { return Ok(0) };
    let mut texts = 0;
    for entry in &image.entries {
        texts += entry.texts()?.len();
    }
    match image.choose(Wanted::Device(90)) {
        Ok(chosen) => assert!(!chosen.texts.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(texts)
}

#[test]
fn a_file_that_is_cut_off_is_refused() {
    for (name, bytes) in FILES {
        assert!(exercise(bytes).is_ok(), "{name}");
        for length in 0..bytes.len() {
            assert!(read(&&bytes[..length]).is_err(), "{name} cut off after {length} bytes");
        }
    }
}

#[test]
fn a_damaged_byte_is_an_error_or_another_text() {
    for name in ["size.fatbin", "speed.fatbin", "lineinfo.cubin", "linked.cubin"] {
        let mut bytes = file(name).to_vec();
        for at in 0..bytes.len() {
            let good = bytes[at];
            for bad in [0, 0xff, good ^ 0x01, good ^ 0x80] {
                bytes[at] = bad;
                // Either is right, as long as it ends.
                let _ = exercise(&bytes);
            }
            bytes[at] = good;
        }
    }
}

/// An uncompressed entry of a fat binary, with PTX for an architecture.
fn ptx_entry(number: u32, flags: u64) -> Vec<u8> {
    let mut text = format!(".version 9.0\n.target sm_{number}\n.address_size 64\n").into_bytes();
    text.resize(text.len().next_multiple_of(8), 0);
    let mut entry = vec![0; 64];
    entry[..8].copy_from_slice(&[1, 0, 1, 1, 64, 0, 0, 0]);
    entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
    entry[26] = 9;
    entry[28..32].copy_from_slice(&number.to_le_bytes());
    entry[40..48].copy_from_slice(&(flags | 0x11).to_le_bytes());
    entry.extend(text);
    entry
}

/// A fat binary of entries.
fn fat_binary(entries: &[Vec<u8>]) -> Vec<u8> {
    let entries = entries.concat();
    let mut bytes = 0xba55_ed50_u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes
}

#[test]
fn newer_code_is_taken_where_it_is_wanted_and_there_is_no_other() {
    const SPECIFIC: u64 = 0x10_0000;
    const FAMILY: u64 = 0x20_0000;
    let chosen = |wanted, entries: &[(u32, u64)]| {
        let entries: Vec<Vec<u8>> = entries.iter().map(|&(number, flags)| ptx_entry(number, flags)).collect();
        let bytes = fat_binary(&entries);
        let Ok(Found::Image(image)) = read(&&*bytes) else { panic!("a fat binary") };
        image.choose(wanted).ok().and_then(|chosen| chosen.arch).map(|arch| arch.to_string())
    };
    let all = [(120, 0), (100, SPECIFIC), (100, FAMILY), (75, 0), (90, SPECIFIC), (80, 0)];
    let named = |name: &str| Some(name.to_owned());
    for wanted in [Wanted::Device(90), Wanted::DeviceOrNewer(90)] {
        assert_eq!(chosen(wanted, &all), named("sm_90a"));
        assert_eq!(chosen(wanted, &all[..4]), named("sm_75"));
    }
    assert_eq!(chosen(Wanted::Device(90), &all[..3]), None);
    assert_eq!(chosen(Wanted::DeviceOrNewer(90), &all[..3]), named("sm_100f"));
    assert_eq!(chosen(Wanted::DeviceOrNewer(90), &[(120, SPECIFIC), (120, 0)]), named("sm_120"));
    // What is for an older architecture alone is not newer.
    assert_eq!(chosen(Wanted::DeviceOrNewer(100), &[(90, SPECIFIC)]), None);
    let cubin = Image { form: Form::Fatbin, ..image("sm_100a.cubin") };
    let found = cubin.choose(Wanted::DeviceOrNewer(90)).map(|chosen| chosen.arch);
    assert_eq!(found.is_ok(), !cubin.entries[0].texts().expect("read").is_empty());
}
