//! Folders that reproduce a launch: a module, memory, and a launch file. `softwarp run FOLDER/launch.json` does the launch
//! again with the same bytes at the same addresses.

use crate::vm::comparison::{Piece, PieceKind, Reproduction};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Runs of bytes with at most this number of zeros between them are one file.
const GAP: u64 = 1 << 20;

/// The most folders of a kernel.
const MOST_FOLDERS: u32 = 1000;

/// The most characters of a kernel's name in that of a folder.
const MOST_NAME: usize = 60;

/// The windows, in the order of [`Reproduction::windows`].
pub const WINDOWS: [&str; 7] = ["globals", "heap", "constant", "parameter", "code", "local", "shared"];

/// Writes a folder inside of another one, which is made if it is not there. Returns its path.
pub fn write(
    place: &Path,
    reproduction: &Reproduction,
    (module, code): (&str, &[u8]),
    words: &str,
) -> io::Result<PathBuf> {
    std::fs::create_dir_all(place)?;
    let folder = new_folder(place, &reproduction.kernel)?;
    let mut contents = Vec::new();
    for piece in &reproduction.memory {
        for (start, bytes) in joined(piece) {
            let name = format!("memory-{}.bin", contents.len());
            std::fs::write(folder.join(&name), &bytes)?;
            contents.push((piece.address + start, name));
        }
    }
    std::fs::write(folder.join(module), code)?;
    std::fs::write(folder.join("launch.json"), launch_file(reproduction, module, &contents))?;
    std::fs::write(folder.join("README.txt"), read_me(reproduction, words))?;
    Ok(folder)
}

/// A new folder for a kernel.
fn new_folder(place: &Path, kernel: &str) -> io::Result<PathBuf> {
    let plain = |one: char| if one.is_ascii_alphanumeric() || one == '_' { one } else { '-' };
    let name: String = kernel.chars().map(plain).take(MOST_NAME).collect();
    for number in 1..=MOST_FOLDERS {
        let folder = place.join(format!("{name}-{number}"));
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::Error::other(format!("there are {MOST_FOLDERS} folders of kernel `{kernel}` already")))
}

/// The runs of a piece, with few zeros between two of them as one.
fn joined(piece: &Piece) -> Vec<(u64, Vec<u8>)> {
    let mut all: Vec<(u64, Vec<u8>)> = Vec::new();
    for (start, bytes) in &piece.runs {
        match all.last_mut() {
            Some((first, before)) if start - *first - before.len() as u64 <= GAP => {
                before.resize((start - *first) as usize, 0);
                before.extend_from_slice(bytes);
            }
            _ => all.push((*start, bytes.clone())),
        }
    }
    all
}

/// The launch file.
fn launch_file(reproduction: &Reproduction, module: &str, contents: &[(u64, String)]) -> String {
    let Reproduction { windows, kernel, grid, block, cluster, cooperative, dynamic_shared, .. } =
        reproduction;
    let mut text = format!("{{\n  \"ptx\": \"{module}\",\n  \"windows\": {{");
    for (index, (name, (base, size))) in WINDOWS.iter().zip(windows).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n    \"{name}\": [\"0x{base:x}\", \"0x{size:x}\"]");
    }
    text.push_str("\n  },\n  \"buffers\": {");
    let buffers = reproduction.memory.iter().filter(|piece| piece.kind == PieceKind::Buffer);
    for (index, piece) in buffers.enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let Piece { address, bytes, .. } = piece;
        let _ =
            write!(text, "{comma}\n    \"b{index}\": {{\"address\": \"0x{address:x}\", \"bytes\": {bytes}}}");
    }
    text.push_str("\n  },\n  \"contents\": [");
    for (index, (address, file)) in contents.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}\n    {{\"address\": \"0x{address:x}\", \"data\": {{\"file\": \"{file}\"}}}}"
        );
    }
    let _ = write!(
        text,
        "\n  ],\n  \"launches\": [\n    {{\n      \"kernel\": \"{kernel}\",\n      \"grid\": {grid:?},\n      \"block\": {block:?},\n"
    );
    if let Some(cluster) = cluster {
        let _ = writeln!(text, "      \"cluster\": {cluster:?},");
    }
    if *cooperative {
        text.push_str("      \"cooperative\": true,\n");
    }
    if *dynamic_shared != 0 {
        let _ = writeln!(text, "      \"dynamic_smem\": {dynamic_shared},");
    }
    text.push_str("      \"args\": [");
    for (index, argument) in reproduction.arguments.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n        {{\"bytes\": \"");
        argument.iter().for_each(|byte| {
            let _ = write!(text, "{byte:02x}");
        });
        text.push_str("\"}");
    }
    text.push_str("\n      ]\n    }\n  ]\n}\n");
    text
}

/// What the folder is, for people.
fn read_me(reproduction: &Reproduction, words: &str) -> String {
    let Reproduction { arch, missing, .. } = reproduction;
    let mut text = format!(
        "softwarp's compiled code and its interpreter differ in this launch: an error of softwarp.\n\n{words}\n\n\
         softwarp run launch.json --jit compare --arch {arch}\n\n\
         shows it again. For a report, pack this whole folder. It has the kernel's code and the memory that the launch \
         began with.\n"
    );
    if !missing.is_empty() {
        let _ = writeln!(text, "\nNot in it: {}.", missing.join("; "));
    }
    text
}
