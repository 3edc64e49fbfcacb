//! The page that `softwarp tensor draw --html` writes, in a browser: its walk is the original's, cell by cell, at every
//! position; and what is under the pointer is marked in both memories.
//!
//! Needs Chromium (Debian: `apt-get install chromium`). Without it these tests say so and pass; where `CI` is set, they
//! fail.

use serde_json::{Value as Json, json};
use softwarp::tensor::{Direction, Map, Mode, Target};
use softwarp_cli::tensors::request::{Asked, Copy, Refusal, coordinate_count};
use softwarp_cli::tensors::{file, page};
use softwarp_testkit::SplitMix64;
use std::path::Path;
use std::process::{Command, Stdio};

/// A browser, if there is one.
fn browser() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI is set, and there is no Chromium");
        println!("skipped: there is no Chromium here");
    }
    found
}

/// The page's document after its scripts have run.
fn opened(browser: &str, page: &Path, hash: &str) -> String {
    let profile = softwarp_testkit::files::temporary();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}#{hash}", page.display()))
        .output()
        .expect("the browser runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What is in the element with this id, which has no elements in it.
fn content<'a>(document: &'a str, id: &str) -> &'a str {
    let start =
        document.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in {document:.2000}"));
    let rest = &document[start..];
    let rest = &rest[rest.find('>').expect("an end") + 1..];
    &rest[..rest.find('<').expect("an end")]
}

fn map(text: &str) -> (Map, Target) {
    let file = file::read(text.as_bytes());
    let arch = file.target.unwrap_or(Target::SM_90);
    let description = file.description.expect("readable");
    (Map::new(&description, arch).unwrap_or_else(|findings| panic!("{text}: {findings:?}")), arch)
}

/// A random number from one to another.
fn roll(random: &mut SplitMix64, low: i64, high: i64) -> i64 {
    low + random.below((high - low + 1) as usize) as i64
}

const CASES: &[(&str, Option<Mode>, Direction)] = &[
    (r#"{"type":"f16","dims":[64,64],"box":[64,8],"swizzle":"128B"}"#, None, Direction::Load),
    (
        r#"{"type":"f16","dims":[60,7],"strides":[128],"box":[32,5],"swizzle":"64B","element_strides":[1,2]}"#,
        None,
        Direction::Store,
    ),
    (r#"{"type":"u8","dims":[1000],"box":[48]}"#, None, Direction::Load),
    (
        r#"{"type":"f64","dims":[6,5,4,3,2],"strides":[48,240,960,2880],"box":[4,3,2,2,2],"swizzle":"32B","element_strides":[1,1,2,1,3]}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"type":"u8","dims":[10,10,3,2],"box":[16,4,1,2],"interleave":"32B","swizzle":"32B","element_strides":[3,1,1,1]}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"type":"u8","dims":[9,4,2],"strides":[144,576],"box":[16,1,2],"interleave":"16B"}"#,
        None,
        Direction::Store,
    ),
    (
        r#"{"type":"f16","dims":[64,9,14,64],"lower":[-1,-1],"upper":[-1,-1],"channels":8,"pixels":64}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"type":"f16","dims":[64,8,14,64],"lower":[-1,-1],"upper":[-1,-1],"channels":16,"pixels":32,"element_strides":[1,2,2,1],"swizzle":"64B"}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"type":"f32","dims":[12,5,4,3,2],"lower":[-2,0,1],"upper":[1,-1,0],"channels":8,"pixels":77,"element_strides":[1,1,3,2,2]}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"type":"u8","dims":[6,5,3,4],"strides":[96,480,1440],"lower":[-1,-1],"upper":[1,0],"channels":16,"pixels":40,"interleave":"16B"}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"type":"f32","dims":[16,7,5],"lower":[1],"upper":[-1],"channels":8,"pixels":21}"#,
        None,
        Direction::Store,
    ),
    (
        r#"{"target":"sm_100","type":"bf16","dims":[64,128],"box":[32,1],"swizzle":"64B"}"#,
        Some(Mode::Gather4),
        Direction::Load,
    ),
    (
        r#"{"target":"sm_100","type":"bf16","dims":[64,128],"box":[64,1],"swizzle":"128B_ATOM_32B_FLIP_8B"}"#,
        Some(Mode::Scatter4),
        Direction::Store,
    ),
    (
        r#"{"target":"sm_100","wide":"w","type":"f16","dims":[128,9,7,64],"lower":[-1],"upper":[0],"channels":32,"pixels":50,"element_strides":[1,2,1,1],"swizzle":"64B"}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"target":"sm_100","wide":"w128","type":"u8","dims":[128,9,7,64],"lower":[0],"upper":[1],"channels":64,"swizzle":"64B"}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"target":"sm_100","type":"b4x16_p64","dims":[256,9],"box":[128,4],"swizzle":"128B"}"#,
        None,
        Direction::Load,
    ),
    (r#"{"target":"sm_100","type":"b6p2x16","dims":[256,9],"box":[128,4]}"#, None, Direction::Store),
    (
        r#"{"target":"sm_100","type":"b4x16","dims":[100,9],"strides":[64],"box":[64,4],"swizzle":"128B_ATOM_64B"}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"target":"sm_103","type":"u16","dims":[100,9],"strides":[224],"box":[48,4],"swizzle":"96B"}"#,
        None,
        Direction::Load,
    ),
    (
        r#"{"type":"f32","dims":[2147483648,2147483648,9],"strides":[1099511627760,16],"box":[8,3,2]}"#,
        None,
        Direction::Load,
    ),
];

/// What the original makes of a request, as the page writes it.
fn expected(map: &Map, arch: Target, asked: &Asked) -> Json {
    match Copy::new(*map, arch, asked) {
        Err(Refusal::Fault(fault)) => fault.code.into(),
        Err(Refusal::Usage(why)) => panic!("{why}"),
        Ok(copy) => copy
            .walk
            .cells()
            .map(|cell| {
                let mut row = vec![json!(cell.row), json!(cell.column)];
                row.extend(cell.coordinates.map(Json::from));
                let global = cell.global.map(|offset| offset.to_string());
                row.extend([
                    json!(cell.elements),
                    json!(global),
                    json!(cell.linear),
                    json!(cell.shared),
                    json!(cell.length),
                ]);
                Json::from(row)
            })
            .collect(),
    }
}

/// Requests all over the tensor and around it, and at the ends of all numbers.
fn requests(map: &Map, mode: Option<Mode>, direction: Direction, random: &mut SplitMix64) -> Vec<Asked> {
    let count = coordinate_count(map, mode.unwrap_or(Mode::Tile));
    let mut all = Vec::new();
    for round in 0..40 {
        let mut at: Vec<i32> = Vec::new();
        for index in 0..count {
            let dimension = if mode.is_some() && index > 0 { 1 } else { index };
            let size = i64::try_from(map.dims[dimension.min(4)]).unwrap_or(0).min(1 << 20);
            let mut number = roll(random, -4, size + 4);
            if index == 0 && round % 4 != 3 {
                // Mostly where a copy may start.
                number *= i64::from(128 / map.element.bits().max(1)).max(1);
                number = if map.element.is_packed() { number / 128 * 128 } else { number };
            }
            at.push(number as i32);
        }
        if round == 0 {
            at = vec![i32::MIN; count];
        } else if round == 1 {
            at = vec![i32::MAX - 127; count];
        }
        let offsets = [
            roll(random, 0, 40) as u32,
            roll(random, 0, 300) as u32 / (1 + round % 9),
            roll(random, 0, 70) as u32,
        ];
        let shared = 128 * roll(random, 0, 20) as u64;
        let wanted = softwarp_cli::tensors::request::offset_count(
            map,
            mode.unwrap_or_else(|| softwarp_cli::tensors::request::default_mode(map, direction)),
        );
        all.push(Asked { at: Some(at), offsets: Some(offsets[..wanted].to_vec()), mode, direction, shared });
    }
    all
}

#[test]
fn the_walk_of_the_page_is_the_original() {
    let Some(browser) = browser() else { return };
    let folder = softwarp_testkit::files::temporary();
    let file = folder.path().join("page.html");
    let mut random = SplitMix64::new(7);
    let (mut walks, mut faults) = (0, 0);
    for (text, mode, direction) in CASES {
        let (map, arch) = map(text);
        let start = start(&map, arch, *mode, *direction);
        std::fs::write(&file, page::page(&start)).expect("written");
        let asked = requests(&map, *mode, *direction, &mut random);
        let tried: Vec<Json> = asked
            .iter()
            .map(|asked| {
                let mut offsets = asked.offsets.clone().unwrap_or_default();
                offsets.resize(3, 0);
                json!([asked.at, offsets, asked.shared])
            })
            .collect();
        let document = opened(browser, &file, &format!("try={}", Json::from(tried)));
        let got: Vec<Json> = serde_json::from_str(content(&document, "tried")).expect("JSON");
        assert_eq!(got.len(), asked.len());
        for (asked, got) in asked.iter().zip(got) {
            let expected = expected(&map, arch, asked);
            if expected.is_string() {
                faults += 1
            } else {
                walks += 1
            }
            assert!(
                got == expected,
                "{text} {asked:?}:\n{:.1500}\n{:.1500}",
                got.to_string(),
                expected.to_string()
            );
        }
    }
    println!("{walks} walks and {faults} faults are the same");
    assert!(walks > 200 && faults > 100, "{walks} {faults}");
}

/// A copy that does not fault, from which a page can be made.
fn start(map: &Map, arch: Target, mode: Option<Mode>, direction: Direction) -> Copy {
    let asked = Asked { at: None, offsets: None, mode, direction, shared: 0 };
    Copy::new(*map, arch, &asked).unwrap_or_else(|refusal| panic!("{refusal}"))
}

#[test]
fn a_cell_under_the_pointer_is_marked_in_both_memories() {
    let Some(browser) = browser() else { return };
    let folder = softwarp_testkit::files::temporary();
    let file = folder.path().join("page.html");
    let (map, arch) = map(CASES[0].0);
    std::fs::write(&file, page::page(&start(&map, arch, None, Direction::Load))).expect("written");
    let document = opened(browser, &file, "at=0,60&point=3.2");
    assert_eq!(document.matches("cell marked").count(), 2);
    let info = content(&document, "info");
    assert_eq!(
        info,
        "row 3, cell 2\nelement (16, 63) and 7 after it\nbyte 0x1fa0 of the tensor\nshared 0x190 (unswizzled 0x1a0)\nbanks 4–7"
    );
    assert_eq!(content(&document, "bytes"), "1024 bytes complete on the mbarrier.");
    // 64 cells in each panel; half of the rows are outside.
    assert_eq!(document.matches("class=\"cell").count(), 128);
    assert_eq!(document.matches("class=\"fill\"").count(), 64);
    let (pixels, arch) = self::map(CASES[7].0);
    std::fs::write(&file, page::page(&start(&pixels, arch, None, Direction::Load))).expect("written");
    // A pixel of two cells: its box in the tensor, and the one cell.
    assert_eq!(opened(browser, &file, "at=0,5,7,7&point=9.1").matches("cell marked").count(), 2);
    std::fs::write(&file, page::page(&start(&map, arch, None, Direction::Load))).expect("written");
    let document = opened(browser, &file, "at=4,0");
    assert!(content(&document, "fault").contains("[copy-start]"), "{}", content(&document, "fault"));
    assert_eq!(document.matches("class=\"cell").count(), 0);
}

#[test]
fn a_page_stands_alone() {
    let (map, arch) = map(CASES[6].0);
    let page = page::page(&start(&map, arch, None, Direction::Load));
    assert!(page.starts_with("<!doctype html>") && !page.contains("{{"));
    for foreign in ["src=", "href=", "@import", "fetch("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn large_copies_are_cut_and_say_so() {
    let (map, arch) = map(r#"{"type":"u8","dims":[256,256,64],"box":[256,64,8]}"#);
    let drawing = softwarp_cli::tensors::svg::draw(&start(&map, arch, None, Direction::Load));
    assert!(drawing.contains("Not drawn: 2 planes of the tensor; 40 rows of the tensor"), "{drawing:.3000}");
    assert!(drawing.contains("984 lines of 128 bytes of shared memory"));
    assert!(drawing.len() < 2_000_000, "{}", drawing.len());
}
