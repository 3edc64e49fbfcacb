//! The kernels in `shapes/kernels`: how each is launched, and its code at each way of compiling it.

use crate::kernel::{Argument, Dimensions, Kernel};
use softwarp_testkit::{recording, repository};
use std::fs;

/// The folder of the kernels' sources and code.
fn folder() -> std::path::PathBuf {
    repository("crates/vm/tests/shapes/kernels")
}

fn kernel(file: &str, line: &str) -> Kernel {
    let (name, rest) = line.split_once('(').unwrap_or_else(|| panic!("{file}: {line}"));
    let (arguments, options) = rest.split_once(')').unwrap_or_else(|| panic!("{file}: {line}"));
    let argument = |text: &str| match text.trim() {
        size @ ("n" | "w" | "h" | "d" | "s" | "k") => Argument::Size(size.chars().next().unwrap_or('n')),
        text if text.contains('.') => Argument::Float(text.parse().expect("a number")),
        text => text.parse().map_or_else(|_| Argument::Buffer(text.to_owned()), Argument::Integer),
    };
    let mut kernel = Kernel {
        file: file.to_owned(),
        arguments: arguments.split(',').map(argument).collect(),
        ..Kernel::of_any_shape(name)
    };
    for option in options.split_whitespace() {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let number = || value.parse().unwrap_or_else(|_| panic!("{file}: {line}"));
        match key {
            "1d" => kernel.dimensions = Dimensions::One,
            "2d" => kernel.dimensions = Dimensions::Two,
            "3d" => kernel.dimensions = Dimensions::Three,
            "any" => kernel.dimensions = Dimensions::Any,
            "warps" => kernel.warps = true,
            "pow2" => kernel.power_of_two = true,
            "max" => kernel.most = number(),
            "shared" => kernel.shared = number(),
            "shift" => kernel.shift = number().into(),
            "alias" => kernel.alias = true,
            "faults" => kernel.faults = true,
            "block" => {
                let (x, y) = value.split_once(',').unwrap_or_else(|| panic!("{file}: {line}"));
                let number = |text: &str| text.parse().expect("a number");
                kernel.dimensions = Dimensions::Block([number(x), number(y)]);
            }
            other => panic!("{file}: what is `{other}`?"),
        }
    }
    kernel
}

/// The kernels of all sources.
pub fn kernels() -> Vec<Kernel> {
    let mut files: Vec<_> = fs::read_dir(folder()).expect("a folder").flatten().map(|it| it.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "cu" || extension == "list"));
    files.sort();
    let mut kernels = Vec::new();
    for path in files {
        let file = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let source = fs::read_to_string(&path).expect("readable");
        kernels
            .extend(source.lines().filter_map(|line| line.strip_prefix("//@ ")).map(|it| kernel(&file, it)));
    }
    kernels
}

/// The ways in which a source was compiled.
pub fn variants(file: &str) -> &'static [&'static str] {
    match file {
        "bench" => &["suite"],
        _ => &["O3", "lineinfo", "O0", "G"],
    }
}

/// The PTX of a source, compiled in one way.
pub fn text(file: &str, variant: &str) -> String {
    if file == "bench" {
        let path = repository("bench/kernels").join(format!("{variant}.ptx"));
        return fs::read_to_string(path).expect("readable");
    }
    let bytes = recording::bytes(folder().join(format!("{file}.{variant}.ptx.gz")));
    String::from_utf8(bytes).expect("a text")
}

/// The bytes of each parameter of a kernel.
pub fn parameters(text: &str, kernel: &str) -> Vec<usize> {
    let entry = format!(".entry {kernel}(");
    let at = text.find(&entry).unwrap_or_else(|| panic!("there is no {kernel}"));
    let list = text[at + entry.len()..].split(')').next().unwrap_or_default();
    let size = |parameter: &str| {
        let ty = parameter.split_whitespace().nth(1).unwrap_or_default();
        let bits: usize = ty.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().expect("a type");
        bits / 8
    };
    list.split(',').filter(|it| !it.trim().is_empty()).map(size).collect()
}
