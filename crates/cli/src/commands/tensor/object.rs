//! `softwarp tensor encode` and `decode`: maps to the 128 bytes that the hardware reads, and back.

use super::super::{CommandError, Printed, sources};
use super::MapArgs;
use crate::tensors::{file, object};
use serde_json::{Value as Json, json};
use softwarp::tensor::object::{decode as decode_object, encode as encode_map};
use std::path::{Path, PathBuf};

/// Make the 128 bytes of a map, as the driver would
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  softwarp tensor encode map.json\n  softwarp tensor encode map.json --c")]
pub struct EncodeArgs {
    #[command(flatten)]
    map: MapArgs,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["c", "u64"])]
    json: bool,
    /// Print a definition in C
    #[arg(long, conflicts_with = "u64")]
    c: bool,
    /// Print sixteen words of 64 bits
    #[arg(long)]
    u64: bool,
}

/// Read the 128 bytes of a map
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the map as JSON that `encode` takes back, with notes and with bits of no known meaning.
An object may be 256 hexadecimal digits, numbers as in C (16, 32 or 128 of them), a file of these or
of 128 bytes; `-` is standard input.

Examples:
  softwarp tensor encode map.json | softwarp tensor decode -
  softwarp tensor decode object.bin")]
pub struct DecodeArgs {
    /// The object, or a file of it
    #[arg(value_name = "OBJECT", num_args = 1.., required = true)]
    object: Vec<String>,
}

/// Runs `encode`.
pub fn encode(args: &EncodeArgs) -> Result<Printed, CommandError> {
    let (description, map, _) = args.map.legal()?;
    let bytes = encode_map(&map);
    let words = object::words(&bytes);
    let text = if args.json {
        let words: Vec<String> = words.iter().map(|word| format!("{word:#018x}")).collect();
        let map = file::to_json(&description);
        super::super::json(&json!({"object": object::hex(&bytes), "words": words, "map": map}))
    } else if args.c {
        object::c(&bytes)
    } else if args.u64 {
        words.iter().map(|word| format!("0x{word:016x}\n")).collect()
    } else {
        format!("{}\n", object::hex(&bytes))
    };
    Ok(text.into())
}

/// Runs `decode`.
pub fn decode(args: &DecodeArgs) -> Result<Printed, CommandError> {
    let (name, given) = match args.object.as_slice() {
        [one] if sources::is_standard_input(Path::new(one)) || Path::new(one).is_file() => {
            let path = PathBuf::from(one);
            (sources::name(&path), super::read(&path, file::LONGEST)?)
        }
        words => ("the object".to_owned(), words.join(" ").into_bytes()),
    };
    let bytes = object::read(&given).map_err(|why| CommandError::input(&name, why))?;
    let decoded = decode_object(&bytes).map_err(|findings| {
        let why: Vec<String> = findings.iter().map(|one| format!("{} [{}]", one.message, one.code)).collect();
        CommandError::input(&name, why.join("; "))
    })?;
    let mut map = file::to_json(&decoded.description);
    if let Json::Object(map) = &mut map {
        if !decoded.unknown.is_empty() {
            let bits = |(at, bits): &(usize, u32)| json!({"at": format!("{at:#04x}"), "bits": format!("{bits:#010x}")});
            map.insert("unknown_bits".to_owned(), decoded.unknown.iter().map(bits).collect());
        }
        if !decoded.notes.is_empty() {
            map.insert("notes".to_owned(), decoded.notes.into());
        }
    }
    Ok(file::to_text(&map).into())
}
