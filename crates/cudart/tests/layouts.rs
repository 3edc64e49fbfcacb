//! Structures and functions against the headers of CUDA 12.0 to 13.5.
//!
//! `layouts/structures.txt` and `layouts/functions.txt` are what the headers say. Where headers are installed, the first
//! file is compared with them: `SOFTWARP_CUDA_HEADERS` lists folders of headers, separated by colons; else they are looked
//! for in `CUDA_HOME`, `CUDA_PATH` and `/usr/local/cuda*`.

mod layouts {
    pub mod facts;
    pub mod headers;
    pub mod structures;
}

use cudart::entry::device::*;
use cudart::ffi::Out;
use layouts::facts::{Function, Structure, functions, of_version, structures};
use std::collections::BTreeSet;

const API: &str = include_str!("../src/api.txt");

/// Functions that read or write only the beginning of a structure, which 12 and 13 have in common.
const OF_THE_BEGINNING: [(&str, &str); 3] = [
    ("cudaPointerGetAttributes", "cudaPointerAttributes"),
    ("cudaCreateTextureObject", "cudaResourceViewDesc"),
    ("cudaGetTextureObjectResourceViewDesc", "cudaResourceViewDesc"),
];

/// Functions that do not look into a structure.
const NOT_READ: [(&str, &str); 1] = [("cudaChooseDevice", "cudaDeviceProp")];

/// An export: the name and the major version that programs link with, and the function here.
struct Export {
    name: String,
    major: u32,
    function: String,
    implemented: bool,
}

fn exports() -> Vec<Export> {
    let rows = API.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.flat_map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let &[function, twin, module, exports] = words.as_slice() else { panic!("{row}") };
        let exports =
            if exports == "=" { format!("{function}@12,{function}@13") } else { exports.to_owned() };
        let twin = (twin != "-").then(|| format!("_{twin}"));
        let mut all = Vec::new();
        for suffix in [Some(String::new()), twin].into_iter().flatten() {
            all.extend(exports.split(',').map(|export| {
                let (name, major) = export.split_once('@').expect("a version");
                Export {
                    name: format!("{name}{suffix}"),
                    major: major.parse().expect("a number"),
                    function: format!("{function}{suffix}"),
                    implemented: module != "-",
                }
            }));
        }
        all
    })
    .collect()
}

/// Every function of the headers has a symbol in the versions that have it.
#[test]
fn no_function_is_missing() {
    let exports: BTreeSet<(String, u32)> = exports().into_iter().map(|it| (it.name, it.major)).collect();
    for function in functions() {
        for major in [12, 13].into_iter().filter(|major| function.versions.has_major(*major)) {
            assert!(exports.contains(&(function.name.clone(), major)), "{} of {major}", function.name);
        }
    }
}

/// What a function of a version takes: how many parameters, and structures with their layouts.
fn taken<'a>(
    function: &'a Function,
    major: u32,
    structures: &'a [Structure],
) -> (u32, Vec<(&'a str, Vec<&'a Structure>)>) {
    let versions = function.versions.within_major(major);
    let layouts = |name: &'a String| (name.as_str(), of_version(structures, name, versions));
    (function.parameters, function.structures.iter().map(layouts).collect())
}

/// A function that programs of 12 and of 13 call takes the same in both.
#[test]
fn functions_of_both_versions_take_the_same() {
    let (functions, structures) = (functions(), structures());
    let of = |name: &str, major: u32| {
        let mut found = functions.iter().filter(|it| it.name == name && it.versions.has_major(major));
        let first = found.next();
        assert!(found.next().is_none(), "{name} of {major} has more than one form");
        first
    };
    let exports = exports();
    for old in exports.iter().filter(|it| it.major == 12 && it.implemented) {
        let Some(new) = exports.iter().find(|it| it.major == 13 && it.function == old.function) else {
            continue;
        };
        let (Some(of_12), Some(of_13)) = (of(&old.name, 12), of(&new.name, 13)) else { continue };
        let (count_12, taken_12) = taken(of_12, 12, &structures);
        let (count_13, taken_13) = taken(of_13, 13, &structures);
        let names = |taken: &[(&str, _)]| taken.iter().map(|it| it.0.to_owned()).collect::<Vec<_>>();
        let function = &old.function;
        assert_eq!((count_12, names(&taken_12)), (count_13, names(&taken_13)), "{function}");
        for ((name, of_12), (_, of_13)) in taken_12.into_iter().zip(taken_13) {
            if NOT_READ.contains(&(function.as_str(), name)) {
                continue;
            }
            let beginning = OF_THE_BEGINNING.contains(&(function.as_str(), name));
            for (old, new) in of_12.iter().flat_map(|old| of_13.iter().map(move |new| (old, new))) {
                let why = old.differs_from(new);
                match why {
                    Some(_) if beginning && new.begins_with(old) => {}
                    None => assert!(!beginning, "{function} with {name} is no exception"),
                    Some(why) => panic!("{function} takes {name}, which differs: {why}"),
                }
            }
        }
    }
}

/// Structures of the driver API are the same in all versions: its functions have other names where they are not.
#[test]
fn structures_of_the_driver_api_stay() {
    /// They are in the union of `CUgraphNodeParams`, which is zero where they end in an older version.
    const GROWN: [&str; 3] =
        ["CUDA_CHILD_GRAPH_NODE_PARAMS", "CUDA_EVENT_RECORD_NODE_PARAMS", "CUDA_HOST_NODE_PARAMS_v2"];
    /// Its union ends with words that are not used, of which 13.1 has taken the last one.
    const SHORTER_UNION: &str = "CUdevResource";
    let all = structures();
    for pair in all.windows(2).filter(|pair| pair[0].name == pair[1].name) {
        let [old, new] = pair else { continue };
        if old.name == SHORTER_UNION {
            assert_eq!(
                (old.size, old.differs_from(new).is_some()),
                (new.size, old.fields.len() < new.fields.len())
            );
            continue;
        }
        if !old.name.starts_with("CU") || GROWN.contains(&old.name.as_str()) && new.begins_with(old) {
            continue;
        }
        assert_eq!(old.differs_from(new), None, "{}", old.name);
    }
}

#[test]
fn structures_have_the_layout_of_the_headers() {
    let all = structures();
    for row in layouts::structures::here() {
        row.check(&all);
    }
}

#[test]
fn the_list_of_structures_is_that_of_the_headers() {
    layouts::headers::check(&structures());
}

/// `cudaGetDeviceProperties` writes no more than the fields: what is reserved is left alone.
#[test]
fn properties_end_where_the_fields_end() {
    let written = |get: extern "C" fn(u64, i32) -> u32| {
        let lengths = [0_u8, 0xff].map(|fill| {
            let mut place = [fill; 1100];
            assert_eq!(get(Out::of(&mut place[0]).address(), 0), 0);
            place.iter().rposition(|byte| *byte != fill).map_or(0, |last| last + 1)
        });
        lengths[0].max(lengths[1])
    };
    let structures = structures();
    let end = |major| {
        let all = structures.iter().filter(|it| it.name == "cudaDeviceProp" && it.versions.has_major(major));
        let fields = all.flat_map(|it| &it.fields);
        fields.filter(|it| it.is_reserved()).map(|it| it.offset).min().expect("a reserved field")
    };
    assert_eq!(written(cudaGetDeviceProperties), end(13));
    assert_eq!(written(v12_cudaGetDeviceProperties_v2), end(12));
}
