//! `softwarp layout` as its users meet it.

use crate::binary::{Ran, command, run as call};
use serde_json::{Value as Json, json};
use softwarp_testkit::expected::assert_file;
use softwarp_testkit::{examples, files, repository};
use std::path::Path;

fn run(folder: &Path, args: &[&str]) -> Ran {
    call(command(folder, &[&["layout"], args].concat()), b"")
}

/// A folder of files, in which the command is run.
struct Folder(softwarp_testkit::files::TempDir);

impl Folder {
    /// Modules after the header: name and text.
    fn new(modules: &[(&str, &str)]) -> Folder {
        let header = ".version 8.0\n.target sm_90\n.address_size 64\n";
        Folder(files::folder_of(modules.iter().map(|(name, text)| (name, format!("{header}{text}\n")))))
    }

    fn run(&self, args: &[&str]) -> Ran {
        run(self.0.path(), args)
    }

    fn names(&self) -> Vec<String> {
        files::names(self.0.path())
    }
}

/// The JSON of one module.
fn layout(module: &str, more: &[&str]) -> Json {
    Folder::new(&[("x.ptx", module)]).run(&[&["x.ptx", "--json"], more].concat()).success().json()
}

/// The row of a variable.
fn variable<'a>(layout: &'a Json, name: &str) -> &'a Json {
    let rows = layout["variables"].as_array().expect("a list");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {layout:#}"))
}

/// Some fields of the row of a variable.
fn fields(layout: &Json, name: &str, wanted: &[&str]) -> Vec<Json> {
    let row = variable(layout, name);
    wanted.iter().map(|field| row[*field].clone()).collect()
}

#[test]
fn the_example_is_laid_out_in_tables() {
    let ran = run(&examples(), &["layout.ptx"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_file(repository("crates/cli/tests/transcripts/layout.txt"), &ran.stdout);
}

#[test]
fn json_has_every_field() {
    let layout = run(&examples(), &["layout.ptx", "--json"]).success().json();
    let keys = |value: &Json| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let list = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(keys(&layout), list("version target address_size variables kernels functions"));
    assert_eq!(
        [&layout["version"], &layout["target"], &layout["address_size"]],
        [&json!("8.0"), &json!("sm_90"), &json!(64)]
    );
    assert_eq!(
        *variable(&layout, "tables"),
        json!({
            "name": "tables", "space": "global", "function": null, "type": "u64", "dims": [3], "align": 8,
            "size": 24, "offset": 0x48, "init": "00".repeat(24),
            "relocations": [
                {"offset": 0, "width": 8, "symbol": "colours", "addend": 0, "kind": "generic", "byte": null},
                {"offset": 8, "width": 8, "symbol": "offsets", "addend": 6, "kind": "generic", "byte": null},
                {"offset": 16, "width": 8, "symbol": "taps", "addend": 0, "kind": "generic", "byte": null},
            ],
            "linkage": null, "attributes": [],
        })
    );
    let row = list("name space function type dims align size offset init relocations linkage attributes");
    assert_eq!(keys(variable(&layout, "tables")), row);
    let second = &variable(&layout, "low_bytes")["relocations"][1];
    assert_eq!([&second["width"], &second["byte"]], [&json!(1), &json!(1)]);
    assert_eq!(variable(&layout, "handlers")["relocations"][1]["kind"], "function");
    assert_eq!(
        fields(&layout, "colours", &["type", "dims", "align", "init"]),
        [
            json!("v4.f32"),
            json!([2]),
            json!(16),
            json!("0000803f0000003f0000803e0000803f00000000000000000000803f0000803f")
        ]
    );
    assert_eq!(fields(&layout, "launches", &["linkage", "init"]), [json!("visible"), json!("2a000000")]);
    assert_eq!(fields(&layout, "progress", &["attributes", "init"]), [json!(["managed"]), Json::Null]);
    assert_eq!(fields(&layout, "total", &["space", "function"]), [json!("shared"), json!("count")]);
    assert_eq!(fields(&layout, "%r", &["offset", "count"]), [Json::Null, json!(4)]);
    assert_eq!(
        fields(&layout, "more", &["dims", "size", "offset", "linkage"]),
        [json!([0]), json!(0), json!(0x1000), json!("extern")]
    );
    let picture = variable(&layout, "picture");
    assert_eq!((&picture["type"], &picture["init"]), (&json!("texref"), &Json::Null));
    let members = &picture["members"];
    assert_eq!(
        [&members["width"], &members["channel_data_type"], &members["filter_mode"], &members["addr_mode_1"]],
        [&json!(640), &json!(0x10de), &json!("linear"), &Json::Null]
    );
}

#[test]
fn json_has_kernels_and_functions() {
    let layout = run(&examples(), &["layout.ptx", "--json"]).success().json();
    assert_eq!(
        layout["kernels"][0],
        json!({
            "name": "filter",
            "params": [
                {"name": "input", "offset": 0, "size": 8, "align": 8, "ptr": {"space": "global", "align": 16}},
                {"name": "width", "offset": 8, "size": 4, "align": 4, "ptr": null},
                {"name": "settings", "offset": 16, "size": 24, "align": 8, "ptr": null},
                {"name": "channel", "offset": 40, "size": 1, "align": 1, "ptr": null},
            ],
            "param_bytes": 41, "align": 8, "shared_static": 4096, "shared_dynamic_offset": 4096,
            "local_bytes": 72, "recursive": false, "stack_per_round": 0,
        })
    );
    assert_eq!(layout["kernels"][1]["params"][0]["ptr"], json!({"space": "generic", "align": 4}));
    assert_eq!(layout["kernels"][1]["shared_dynamic_offset"], Json::Null);
    assert_eq!(
        layout["functions"][0],
        json!({
            "name": "blur", "linkage": null, "defined": true,
            "returns": [{"name": "result", "offset": 0, "size": 4, "align": 4, "ptr": null}],
            "params": [
                {"name": "x", "offset": 0, "size": 4, "align": 4, "ptr": null},
                {"name": "pixel", "offset": 16, "size": 12, "align": 16, "ptr": null},
            ],
            "param_bytes": 28, "return_bytes": 4, "frame_bytes": 40, "local_bytes": 40, "recursive": false,
        })
    );
}

#[test]
fn a_prototype_adds_no_parameters() {
    let layout = layout(".func f(.param .b32 x);\n.func f(.param .b32 x) { ret; }", &[]);
    let rows = layout["variables"].as_array().expect("a list");
    assert_eq!(rows.iter().filter(|row| row["name"] == "x").count(), 1, "{layout:#}");
    assert_eq!(variable(&layout, "x")["offset"], 0);
}

#[test]
fn holes_are_rows_of_their_own() {
    let folder = Folder::new(&[("x.ptx", ".global .u8 a = 7;\n.global .align 16 .u8 b;\n.global .u8 c;")]);
    let ran = folder.run(&["x.ptx"]);
    let wanted = "\
.global: 18 bytes, align 16, 15 of them padding
  offset  size  align  type       name  bytes  value
     0x0     1      1  .u8        a     07     = 7
     0x1    15         (padding)
    0x10     1     16  .u8        b
    0x11     1      1  .u8        c
";
    assert_eq!(ran.stdout.split_once("\n\n").expect("two parts").1, wanted);
}

#[test]
fn families_show_some_members_and_count_the_rest() {
    let folder = Folder::new(&[("x.ptx", ".global .u8 before;\n.global .b32 m<100>;\n.global .b64 n<2>;")]);
    let text = folder.run(&["x.ptx"]).stdout;
    assert!(text.contains("    0x40     4      4  .b32       m15\n"), "{text}");
    assert!(text.contains("    0x44   336      4  .b32       … 84 more\n"), "{text}");
    assert!(!text.contains("m16"), "{text}");
    let layout = folder.run(&["x.ptx", "--json"]).success().json();
    assert_eq!(layout["variables"].as_array().map(Vec::len), Some(103));
    assert_eq!(fields(&layout, "m99", &["offset", "size", "dims"]), [json!(400), json!(4), json!([])]);
    assert_eq!(fields(&layout, "n1", &["offset", "count"]), [json!(416), Json::Null]);
}

#[test]
fn a_large_family_is_listed_so_far_and_then_counted() {
    let layout = layout(".global .b8 m<1000000>;\n.global .b8 last;\n", &[]);
    let rows = layout["variables"].as_array().expect("a list");
    assert_eq!(rows.len(), 65_536 + 2);
    let rest = &rows[65_536];
    assert_eq!(
        [&rest["name"], &rest["offset"], &rest["count"]],
        [&json!("m"), &json!(65_536), &json!(934_464)]
    );
    assert_eq!(variable(&layout, "last")["offset"], 1_000_000);
}

#[test]
fn what_is_not_written_costs_nothing() {
    let module = ".global .f64 big[134217728];\n.global .u32 after = 5;";
    let layout = layout(module, &[]);
    assert_eq!(fields(&layout, "big", &["size", "init"]), [json!(1 << 30), Json::Null]);
    assert_eq!(fields(&layout, "after", &["offset", "init"]), [json!(1 << 30), json!("05000000")]);
}

#[test]
fn a_huge_initialiser_is_cut_where_its_zeros_begin() {
    let module = ".global .u8 huge[1099511627776] = { 1, 2, 3 };\n\
                  .global .u8 far[2][549755813888] = { { 4 }, { 5, 6 } };\n\
                  .global .u8 edge[16777216] = { 7 };\n\
                  .global .u8 over[16777217] = { 8 };";
    let folder = Folder::new(&[("x.ptx", module)]);
    let layout = folder.run(&["x.ptx", "--json", "--strict"]).success().json();
    assert_eq!(
        fields(&layout, "huge", &["init", "init_zeros", "init_runs"]),
        [json!("010203"), json!((1u64 << 40) - 3), Json::Null]
    );
    assert_eq!(
        fields(&layout, "far", &["init", "init_zeros", "init_runs"]),
        [json!("04"), json!((1u64 << 40) - 1), json!([{"offset": 1u64 << 39, "bytes": "0506"}])]
    );
    let edge = variable(&layout, "edge");
    assert_eq!(edge["init"].as_str().map(str::len), Some(2 << 24));
    assert_eq!(edge["init_zeros"], Json::Null);
    assert_eq!(fields(&layout, "over", &["init", "init_zeros"]), [json!("08"), json!(1 << 24)]);
    let text = folder.run(&["x.ptx", "--strict"]).stdout;
    assert!(text.contains("huge  01 02 03 00 00 00 00 00 …  = 1, 2, 3, 0, …\n"), "{text}");
}

#[test]
fn values_are_read_by_their_types() {
    let module = ".global .f32 x[2] = { 1.5, -0.1 };\n.global .f64 y = 0d3FF0000000000000;\n\
                  .global .s8 s[5] = { -1, 2, 3, 4, 5 };\n.global .b16 bits = 0xbeef;\n\
                  .global .v2 .u16 pair = { 1, 65535 };\n.global .b8 text[3] = { 104, 105 };";
    let text = Folder::new(&[("x.ptx", module)]).run(&["x.ptx"]).stdout;
    let value = |name: &str| {
        let line = text.lines().find(|line| line.contains(&format!("  {name:4}  ")));
        line.and_then(|line| line.split_once("= ")).map(|(_, value)| value.to_owned())
    };
    let wanted = [
        ("x", "1.5, -0.1"),
        ("y", "1"),
        ("s", "-1, 2, 3, 4, …"),
        ("bits", "0xbeef"),
        ("pair", "{1, 65535}"),
        ("text", "\"hi\""),
    ];
    for (name, wanted) in wanted {
        assert_eq!(value(name).as_deref(), Some(wanted), "{name} in {text}");
    }
}

#[test]
fn bases_put_addresses_into_bytes() {
    let module = ".global .u32 x;\n.const .u32 c;\n.global .u64 p[3] = { x + 4, c, generic(c) };\n\
                  .visible .entry k(.param .u64 a) { ret; }";
    let plain = layout(module, &[]);
    assert_eq!(variable(&plain, "p")["init"], "00".repeat(24));
    assert!(variable(&plain, "p").get("address").is_none());
    let based = layout(module, &["--bases"]);
    let address = |name: &str| variable(&based, name)["address"].as_u64().expect("an address");
    let word = |value: u64| value.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let wanted = [word(address("x") + 4), word(0), word(address("c"))].concat();
    assert_eq!(variable(&based, "p")["init"], wanted);
    assert!(based["kernels"][0]["address"].is_u64(), "{based:#}");
    let text = Folder::new(&[("x.ptx", module)]).run(&["x.ptx", "--bases"]).stdout;
    assert!(text.contains(&format!("{:#x}", address("x"))), "{text}");
}

#[test]
fn errors_name_their_files_and_nothing_is_printed() {
    let wrong = ".global .u32 a[2] = { 1, 2, 3 };";
    let folder = Folder::new(&[("a.ptx", wrong), ("b.ptx", ".global .f16 h = 1.0;"), ("good.ptx", "")]);
    for more in [&[][..], &["--json"], &["--svg", "map.svg"], &["--svg", "-"]] {
        let ran = folder.run(&[&["a.ptx", "good.ptx", "b.ptx"], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{more:?}");
        assert!(ran.stderr.starts_with("error[E0"), "{}", ran.stderr);
        for wanted in [" --> a.ptx:4:", " --> b.ptx:4:", "\n1 error in a.ptx\n", "\n1 error in b.ptx\n"] {
            assert!(ran.stderr.contains(wanted), "{wanted:?} in {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("good.ptx"), "{}", ran.stderr);
    }
    assert_eq!(folder.names(), ["a.ptx", "b.ptx", "good.ptx"]);
}

#[test]
fn warnings_are_counted() {
    let folder = Folder::new(&[(
        "x.ptx",
        ".global .u8 a[2][2] = { { 1 }, { 2 } };\n.global .u8 b[2][2] = { { 1 }, { 2 } };",
    )]);
    let checked = call(command(folder.0.path(), &["check", "x.ptx"]), b"");
    assert_eq!(checked.stderr, "2 warnings in x.ptx\n");
    let ran = folder.run(&["x.ptx"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "2 warnings; `softwarp check` shows them\n"));
}

#[test]
fn modules_are_linked() {
    let folder = Folder::new(&[
        ("a.ptx", ".extern .global .u32 shared_word;\n.visible .global .u64 pointer = shared_word;"),
        ("b.ptx", ".visible .global .u32 shared_word = 9;"),
    ]);
    let layout = folder.run(&["a.ptx", "b.ptx", "--json"]).success().json();
    let rows = layout["variables"].as_array().expect("a list");
    assert_eq!(rows.len(), 2, "{layout:#}");
    assert_eq!(
        fields(&layout, "shared_word", &["file", "init", "linkage"]),
        [json!("b.ptx"), json!("09000000"), json!("visible")]
    );
    assert_eq!(fields(&layout, "pointer", &["file"]), [json!("a.ptx")]);
    let alone = folder.run(&["a.ptx", "--relocatable", "--json"]).success().json();
    assert_eq!(fields(&alone, "shared_word", &["offset", "file"]), [Json::Null, Json::Null]);
    let text = folder.run(&["a.ptx", "--relocatable"]).stdout;
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("-  ") && line.ends_with("shared_word")),
        "{text}"
    );
    let missing = folder.run(&["a.ptx", "a.ptx"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    assert!(missing.stderr.contains("a.ptx"), "{}", missing.stderr);
}

#[test]
fn constant_memory_has_an_end() {
    let module = ".const .u8 a[65536];\n.const .u8 b;";
    let ran = Folder::new(&[("x.ptx", module)]).run(&["x.ptx"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("x.ptx:5:"), "{}", ran.stderr);
}

#[test]
fn bad_calls_are_refused_in_one_line() {
    let folder = Folder::new(&[("x.ptx", "")]);
    let cases: [(&[&str], &str); 6] = [
        (&[], "<FILE>"),
        (&["no.ptx"], "cannot read no.ptx"),
        (&["x.ptx", "--arch", "sm_90b"], "`sm_90b` is not a target; did you mean sm_90"),
        (&["x.ptx", "--json", "--svg", "-"], "standard output"),
        (&["x.ptx", "--svg", "no/map.svg"], "cannot write no/map.svg"),
        (&["-", "-"], "may be given once"),
    ];
    for (args, wanted) in cases {
        let ran = folder.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?} {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(wanted), "{args:?} {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

/// Panics unless a text is XML as far as elements and entities go; gives the number of elements of a name.
fn elements(xml: &str, name: &str) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut count = 0;
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("no end: {part:.80}"));
        assert!(!text.contains('>') || open.last() == Some(&"style"), "{part:.80}");
        for entity in part.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
            assert!(known.iter().any(|name| entity.starts_with(name)), "{entity:.20}");
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
            continue;
        }
        let word = tag.split_whitespace().next().expect("a name").trim_end_matches('/');
        count += usize::from(word == name);
        if !tag.ends_with('/') {
            open.push(word);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    count
}

#[test]
fn the_map_is_well_formed_and_stands_alone() {
    let folder = softwarp_testkit::files::temporary();
    let map = folder.path().join("map.svg");
    let ran = run(&examples(), &["layout.ptx", "--svg", map.to_str().expect("a name")]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let svg = std::fs::read_to_string(&map).expect("a drawing");
    assert_eq!(svg, run(&examples(), &["layout.ptx", "--svg", "-"]).stdout);
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"));
    // Variables, members, and padding, each with its title.
    assert_eq!((elements(&svg, "g"), elements(&svg, "title")), (53, 53));
    for wanted in
        [">launches<", ">scratch<", ">1 GiB<", "→ colours", ">0x40000098<", "(prefers-color-scheme:dark)"]
    {
        assert!(svg.contains(wanted), "{wanted}");
    }
    for unwanted in ["<script", "href", "NaN", "inf\""] {
        assert!(!svg.contains(unwanted), "{unwanted}");
    }
    let both = run(&examples(), &["layout.ptx", "--json", "--svg", map.to_str().expect("a name")]);
    assert!(both.success().json()["variables"].is_array());
}

#[test]
fn the_picture_of_the_page_is_what_svg_makes() {
    let drawn = run(&repository(""), &["examples/layout.ptx", "--svg", "-"]).success().stdout.clone();
    assert_file(repository("docs/images/layout.svg"), &drawn);
}

/// Names of C++ stand in the map as the source has them, with the whole name in a title; and variables of kernels that
/// have the same addresses in rows of their own.
#[test]
fn a_map_has_names_of_cpp_and_a_row_for_each_kernel() {
    let kernel = |name: &str, variable: &str| {
        format!(
            ".visible .entry {name}(.param .u64 {name}_param_0)\n{{\n.reg .b32 %r;\n\
             .shared .align 4 .b8 {variable}[64];\n.shared .u32 _ZZ5scalePfE5count_{variable};\n\
             mov.u32 %r, {variable};\nst.shared.u32 [%r], %r;\n\
             mov.u32 %r, _ZZ5scalePfE5count_{variable};\nst.shared.u32 [%r], %r;\n\
             st.shared.u32 [both], %r;\nret;\n}}\n"
        )
    };
    let module = format!(
        ".global .u32 _ZN2ns5tableE;\n.shared .u32 both;\n{}{}",
        kernel("_Z5scalePf", "_ZZ5scalePfE4tile"),
        kernel("_ZN2ns3addIfEEvPT_", "_ZZN2ns3addIfEEvPT_E4part")
    );
    let folder = Folder::new(&[("x.ptx", &module)]);
    let svg = folder.run(&["x.ptx", "--svg", "-"]).success().stdout.clone();
    elements(&svg, "g");
    for wanted in [
        ">table<",
        ">tile<",
        ">part<",
        ">param_0<",
        "<title>_Z5scalePf</title>of kernel scale(float*)<",
        "<title>_ZN2ns3addIfEEvPT_</title>of kernel ns::add&lt;float&gt;(float*)<",
        ">of several kernels<",
        "<title>_Z5scalePf</title>kernel scale(float*), ",
        "ns::table",
    ] {
        assert!(svg.contains(wanted), "{wanted}: {svg}");
    }
    // Each owner has its own row, and below it only its own variables.
    let row = |owner: &str| svg.find(owner).unwrap_or_else(|| panic!("no {owner}"));
    let (both, scale, add) =
        (row(">of several kernels<"), row(">of kernel scale"), row(">of kernel ns::add"));
    assert!(both < row(">both<") && row(">both<") < scale, "{both} {scale}");
    assert!(scale < row(">tile<") && row(">tile<") < add && add < row(">part<"), "{scale} {add}");
}

#[test]
fn a_map_has_a_bounded_number_of_boxes() {
    let globals: String = (0..3000).map(|n| format!(".global .u32 v{n} = {n};\n")).collect();
    let kernels: String = (0..600)
        .map(|n| format!(".visible .entry k{n}(.param .u8 a, .param .u64 b) {{ .local .u64 x{n}; ret; }}\n"))
        .collect();
    let folder = Folder::new(&[("x.ptx", &format!("{globals}{kernels}"))]);
    let svg = folder.run(&["x.ptx", "--svg", "-"]).stdout;
    assert_eq!(elements(&svg, "g"), 2000);
    assert!(svg.contains("; 2500 more are not drawn<"), "the strip says so");
    assert!(svg.contains(" boxes are not drawn; the tables list them all<"), "the map says so");
}

#[test]
fn names_of_files_do_no_harm() {
    let name = "a<b>&\"c'd\u{1b}[31m\n.ptx";
    let folder = Folder::new(&[(name, ".global .u32 x = 1;"), ("plain.ptx", "")]);
    let svg = folder.run(&[name, "--svg", "-"]).stdout;
    assert_eq!(elements(&svg, "g"), 1);
    assert!(svg.contains("a&lt;b&gt;&amp;&quot;c&#39;d?[31m"), "{svg:.2000}");
    let layout = folder.run(&[name, "plain.ptx", "--json"]).success().json();
    assert_eq!(variable(&layout, "x")["file"], name);
    let text = folder.run(&[name, "plain.ptx"]).stdout;
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_long_name_does_not_make_everything_long() {
    let long = "n".repeat(1 << 20);
    let many: String = (0..2000).map(|n| format!(".shared .u32 s{n};\n")).collect();
    let module = format!(".global .u32 {long};\n.visible .entry k{long}() {{ {many} ret; }}");
    let folder = Folder::new(&[("x.ptx", &module)]);
    for (args, most) in [(&["x.ptx"][..], 4 << 20), (&["x.ptx", "--svg", "-"], 1 << 20)] {
        let ran = folder.run(args);
        assert!(ran.code == 0 && ran.stdout.len() < most, "{args:?}: {} bytes", ran.stdout.len());
    }
}

#[test]
fn standard_input_is_a_file() {
    let text = std::fs::read(examples().join("layout.ptx")).expect("the example");
    let ran = call(command(Path::new("."), &["layout", "-"]), &text);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, run(&examples(), &["layout.ptx"]).stdout);
}

#[test]
fn memory_of_old_versions_is_laid_out() {
    let folder = softwarp_testkit::files::temporary();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write(
        "banks.ptx",
        ".version 1.5\n.target sm_13\n.extern .const[3] .b32 bank[];\n.reg .f32 f<7>;\n.local .u32 z;",
    );
    write("tex.ptx", ".version 1.4\n.target sm_13\n.tex .u32 a;\n.tex .u32 b;");
    let layout = run(folder.path(), &["banks.ptx", "--json"]).success().json();
    assert_eq!(
        fields(&layout, "bank", &["space", "bank", "offset", "size"]),
        [json!("const"), json!(3), json!(0), json!(0)]
    );
    assert_eq!(fields(&layout, "f", &["space", "count", "function"]), [json!("reg"), json!(7), Json::Null]);
    assert_eq!(fields(&layout, "z", &["space", "offset"]), [json!("local"), json!(0)]);
    let text = run(folder.path(), &["banks.ptx"]).stdout;
    for wanted in ["\n.const[3]: ", "\n.local of the thread: ", "\nregisters of the module: 7 .f32\n"] {
        assert!(text.contains(wanted), "{wanted:?} in {text}");
    }
    let layout = run(folder.path(), &["tex.ptx", "--json"]).success().json();
    assert_eq!(fields(&layout, "b", &["space", "offset"]), [json!("tex"), json!(4)]);
}

#[test]
fn handles_in_arrays_say_what_they_were_given() {
    let module = ".global .texref t[4] = { { width = 1 }, { height = 2, filter_mode = linear } };";
    let layout = layout(module, &[]);
    let rows = variable(&layout, "t")["members"].as_array().expect("a list").clone();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(
        [&rows[1]["element"], &rows[1]["width"], &rows[1]["height"]],
        [&json!(1), &Json::Null, &json!(2)]
    );
    let text = Folder::new(&[("x.ptx", module)]).run(&["x.ptx"]).stdout;
    assert!(text.ends_with("\n  t[0]: width 1\n  t[1]: height 2, filter_mode linear\n"), "{text}");
}

#[test]
fn empty_modules_are_laid_out() {
    let folder = Folder::new(&[("empty.ptx", "")]);
    let ran = folder.run(&["empty.ptx"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "PTX 8.0, sm_90, addresses of 64 bits\n"));
    assert_eq!(
        folder.run(&["empty.ptx", "--json"]).success().json(),
        json!({"version": "8.0", "target": "sm_90", "address_size": 64, "variables": [], "kernels": [],
               "functions": []})
    );
    assert_eq!(elements(&folder.run(&["empty.ptx", "--svg", "-"]).stdout, "g"), 0);
}
