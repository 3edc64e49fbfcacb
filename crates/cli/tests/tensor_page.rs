//! The page that `softwarp tensor draw --html` writes, in a browser: its walk is the original's, cell by cell, at every
//! position; and what is under the pointer is marked in both memories.
//!
//! Needs Chromium (Debian: `apt-get install chromium`). Without it these tests say so and pass; where `CI` is set, they
//! fail.

use serde_json::{Value as Json, json};
use softwarp::diagnostic::Severity;
use softwarp::tensor::{Direction, Element, Map, Mode, Swizzle, Target};
use softwarp_cli::tensors::banks::{self, Pattern};
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
        .arg("--allow-file-access-from-files")
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
    let document = opened(browser, &file, "at=0,60&point=r3c2");
    assert_eq!(document.matches("cell marked").count(), 2);
    let info = content(&document, "info");
    assert_eq!(
        info,
        "row 3, cell 2\nelement (16, 63) and 7 after it\nbyte 0x1fa0 of the tensor\nshared 0x190 (unswizzled 0x1a0)\nbanks 4–7"
    );
    assert_eq!(content(&document, "bytes"), "1024 bytes complete on the mbarrier.");
    // 64 cells in each panel; half of the rows are outside.
    assert_eq!(document.matches("class=\"cell").count(), 128);
    assert_eq!(document.matches("class=\"fill\"").count(), 64 + 1, "and one in the legend");
    let (pixels, arch) = self::map(CASES[7].0);
    std::fs::write(&file, page::page(&start(&pixels, arch, None, Direction::Load))).expect("written");
    // A pixel of two cells: its box in the tensor, and the one cell.
    assert_eq!(opened(browser, &file, "at=0,5,7,7&point=p9c1").matches("cell marked").count(), 2);
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
    assert!(page.contains("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"));
    for foreign in ["src=", "href=", "@import", "fetch("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn large_copies_are_cut_and_say_so() {
    let (map, arch) = map(r#"{"type":"u8","dims":[256,256,64],"box":[256,64,8]}"#);
    let drawing = softwarp_cli::tensors::svg::draw(&start(&map, arch, None, Direction::Load));
    assert!(drawing.contains("Not drawn, on either side: rows 20 to 511."), "{drawing:.3000}");
    // Every cell is there twice: where it is from, and where it goes.
    for (name, count) in [("r0c0", 2), ("r19c15", 2), ("r20c0", 0)] {
        assert_eq!(drawing.matches(&format!(">{name}</text>")).count(), count, "{name}");
    }
    assert!(drawing.len() < 2_000_000, "{}", drawing.len());
    let (wide, arch) = self::map(r#"{"type":"f64","dims":[512,64],"box":[256,64]}"#);
    let drawing = softwarp_cli::tensors::svg::draw(&start(&wide, arch, None, Direction::Load));
    assert!(drawing.contains("Not drawn, on either side: rows 13 to 63; cells 23 to 127 of each row."));
    for (name, count) in [("r12c22", 2), ("r0c23", 0), ("r13c0", 0)] {
        assert_eq!(drawing.matches(&format!(">{name}</text>")).count(), count, "{name}");
    }
}

#[test]
fn legends_have_what_is_drawn() {
    let has = |text: &str, mode: Option<Mode>, words: &str| {
        let (map, arch) = map(text);
        softwarp_cli::tensors::svg::draw(&start(&map, arch, mode, Direction::Load)).contains(words)
    };
    let (tile, pixels) = (CASES[0].0, CASES[6].0);
    assert!(
        !has(tile, None, "outside the tensor: filled") && has(pixels, None, "outside the tensor: filled")
    );
    let single = r#"{"type":"u8","dims":[16,16],"box":[16,1]}"#;
    assert!(!has(single, None, "order of the copy") && has(pixels, None, "order of the copy"));
    assert!(has(tile, None, "order of the copy"));
    let short = r#"{"type":"f16","dims":[64,64],"box":[16,8],"swizzle":"128B"}"#;
    assert!(!has(tile, None, ">untouched<") && has(short, None, ">untouched<"));
    assert!(has(tile, None, "r3c1: row 3, cell 1") && has(pixels, None, ">p3: pixel 3;"));
}

/// The coordinates of a path of horizontal and vertical lines.
fn corners(path: &str) -> Vec<(f64, f64)> {
    let mut at = (0.0, 0.0);
    let mut all = Vec::new();
    let mut rest = path;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        let numbers: Vec<f64> = rest[1..end].split(' ').map(|word| word.parse().expect("a number")).collect();
        match command {
            'M' => at = (numbers[0], numbers[1]),
            'H' => at.0 = numbers[0],
            'V' => at.1 = numbers[0],
            _ => panic!("{command} in {path}"),
        }
        all.push(at);
        rest = &rest[end..];
    }
    all
}

/// The value of an attribute.
fn number(element: &str, name: &str) -> f64 {
    let value = element.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {element}"))
}

#[test]
fn the_walk_strikes_through_no_name() {
    let gathered = vec![16, 2, 5, 0, 9];
    for (case, at, cells, planes) in
        [(6, vec![0, 4, 7, 7], 64, 2), (0, vec![0, 60], 64, 1), (11, gathered, 16, 1)]
    {
        let (text, mode, direction) = CASES[case];
        let (map, arch) = map(text);
        let asked = Asked { at: Some(at), offsets: None, mode, direction, shared: 0 };
        let drawing = softwarp_cli::tensors::svg::draw(&Copy::new(map, arch, &asked).expect("a copy"));
        let is_name = |line: &&str| line.contains("class=\"m mid\"") || line.contains("class=\"m mid over\"");
        let names: Vec<(f64, f64, f64, f64)> = drawing
            .lines()
            .filter(|line| line.contains("<text"))
            .filter(is_name)
            .map(|line| {
                let length =
                    line.split('>').rev().nth(1).map_or(0, |text| text.trim_end_matches("</text").len());
                let size = number(line, "font-size");
                (number(line, "x"), number(line, "y"), size, length as f64 * 0.3 * size)
            })
            .collect();
        assert_eq!(names.len(), 2 * cells);
        let walks: Vec<&str> = drawing
            .lines()
            .filter_map(|line| line.strip_prefix("<path class=\"walk\" d=\"")?.split('"').next())
            .filter(|path| path.contains('V'))
            .collect();
        assert_eq!(walks.len(), planes, "one in each plane");
        for (from, to) in walks.iter().flat_map(|walk| {
            let corners = corners(walk);
            corners.iter().copied().zip(corners.iter().copied().skip(1)).collect::<Vec<_>>()
        }) {
            for &(x, y, size, half) in &names {
                let beside = to.0.max(from.0) < x - half || to.0.min(from.0) > x + half;
                let above = to.1.max(from.1) < y - 0.75 * size || to.1.min(from.1) > y + 0.2 * size;
                assert!(beside || above, "{text}: {from:?} to {to:?} goes through the name at {x} {y}");
            }
        }
    }
}

/// Maps that a page can be switched to are those of the original: legal or not, and cell by cell.
#[test]
fn the_maps_of_the_page_are_the_original() {
    let Some(browser) = browser() else { return };
    let folder = softwarp_testkit::files::temporary();
    let file = folder.path().join("page.html");
    let (mut walks, mut refused) = (0, 0);
    for case in [0, 3, 4, 6, 11, 15] {
        let (text, mode, direction) = CASES[case];
        let (map, arch) = map(text);
        let start = start(&map, arch, mode, direction);
        let page = page::page(&start);
        std::fs::write(&file, &page).expect("written");
        let data: Json = serde_json::from_str(content(&page, "map")).expect("JSON");
        let choices = &data["choices"];
        let list = |key: &str| choices[key].as_array().expect("a list").clone();
        let (types, swizzles, inners) = (list("types"), list("swizzles"), list("inners"));
        let outer: Vec<Json> = list("outer").iter().map(|one| one["value"].clone()).collect();
        let all: Vec<[usize; 3]> = (0..types.len())
            .flat_map(|one| (0..swizzles.len()).map(move |two| (one, two)))
            .flat_map(|(one, two)| (0..inners.len()).map(move |three| [one, two, three]))
            // Every map of one page is much; a part of them is of all kinds.
            .filter(|[one, two, three]| (one + 2 * two + 3 * three) % 7 == case % 7)
            .collect();
        let tried: Vec<Json> = all.iter().map(|[one, two, three]| json!([one, two, three, outer])).collect();
        let document = opened(browser, &file, &format!("maps={}", Json::from(tried)));
        let got: Vec<Json> = serde_json::from_str(content(&document, "triedMaps")).expect("JSON");
        assert_eq!(got.len(), all.len());
        for ([one, two, three], got) in all.iter().zip(got) {
            let element = Element::from_name(types[*one].as_str().expect("a name")).expect("a type");
            let swizzle = Swizzle::from_name(swizzles[*two].as_str().expect("a name")).expect("a swizzle");
            let inner = inners[*three].as_u64().expect("a number") as u32;
            let description = page::choices::changed(&start, element, swizzle, inner);
            let at = Some(start.coordinates().to_vec());
            let expected = match Map::new(&description, arch) {
                Err(findings) => {
                    refused += 1;
                    let error = findings.iter().find(|one| one.severity() == Severity::Error);
                    Json::from(error.expect("an error").code.0)
                }
                Ok(map) => {
                    walks += 1;
                    let asked = Asked { at, offsets: None, mode, direction, shared: 0 };
                    expected(&map, arch, &asked)
                }
            };
            assert!(got == expected, "{text} {element} {swizzle} {inner}: {got:.600} {expected:.600}");
        }
    }
    println!("{walks} maps and {refused} refusals are the same");
    assert!(walks > 100 && refused > 100, "{walks} {refused}");
}

#[test]
fn the_conflicts_of_the_page_are_the_original() {
    let Some(browser) = browser() else { return };
    let folder = softwarp_testkit::files::temporary();
    let file = folder.path().join("page.html");
    let patterns = [
        (json!("row"), Pattern::Row),
        (json!("column"), Pattern::Column),
        (json!("ldmatrix"), Pattern::Ldmatrix),
        (json!(4), Pattern::Stride(4)),
        (json!(132), Pattern::Stride(132)),
    ];
    let asked = Json::from(patterns.iter().map(|one| one.0.clone()).collect::<Vec<_>>());
    for (text, mode, direction) in CASES.iter().step_by(3) {
        let (map, arch) = map(text);
        let start = start(&map, arch, *mode, *direction);
        std::fs::write(&file, page::page(&start)).expect("written");
        let document = opened(browser, &file, &format!("reads={asked}"));
        let got: Vec<Json> = serde_json::from_str(content(&document, "groups")).expect("JSON");
        for ((_, pattern), got) in patterns.iter().zip(got) {
            let groups = banks::count(&start, *pattern);
            let expected: Vec<Json> = groups
                .iter()
                .map(|one| json!([one.row, one.byte, one.banks, one.degree, one.plain_degree]))
                .collect();
            assert_eq!(got, Json::from(expected), "{text} {pattern}");
        }
    }
}

/// A phone is 360 pixels wide: nothing of the page may be wider. The page is shown in a frame of that width.
#[test]
fn a_page_fits_a_phone() {
    let Some(browser) = browser() else { return };
    let folder = softwarp_testkit::files::temporary();
    let file = folder.path().join("frame.html");
    for case in [0, 6, 11, 17] {
        let (text, mode, direction) = CASES[case];
        let (map, arch) = map(text);
        std::fs::write(folder.path().join("page.html"), page::page(&start(&map, arch, mode, direction)))
            .expect("written");
        let frame = "<iframe id=f width=360 height=640 style='border:0' src=page.html></iframe><pre id=width></pre>\
                     <script>f.onload=()=>{const page=f.contentDocument.documentElement;width.textContent=page.scrollWidth-page.clientWidth}</script>";
        std::fs::write(&file, frame).expect("written");
        let document = opened(browser, &file, "");
        assert_eq!(content(&document, "width"), "0", "{text} is wider than the frame");
    }
}
