//! What variables hold at first, against the object files that the assembler made of the same modules: size,
//! bytes and addresses of every symbol, read from ptxas 13.4's ELF in relocatable mode.

use flate2::read::GzDecoder;
use serde_json::Value;
use softwarp_check::checked::{Address, Addressee, Checked};
use softwarp_check::{Options, resolve};
use softwarp_isa::Target;
use softwarp_syntax::{Module, parse};
use std::io::Read;

/// A recorded symbol: its bytes are hexadecimal, with dots where they are undefined.
struct Recorded {
    name: String,
    size: u64,
    bytes: String,
    /// Offset, symbol, addend.
    addresses: Vec<(u64, String, i64)>,
}

fn recorded(row: &Value) -> Recorded {
    let address = |row: &Value| {
        let sym = row[1].as_str().unwrap_or_default().to_owned();
        (row[0].as_u64().unwrap_or_default(), sym, row[2].as_i64().unwrap_or_default())
    };
    Recorded {
        name: row[0].as_str().unwrap_or_default().to_owned(),
        size: row[1].as_u64().unwrap_or_default(),
        bytes: row[2].as_str().unwrap_or_default().to_owned(),
        addresses: row[3].as_array().into_iter().flatten().map(address).collect(),
    }
}

/// How a symbol differs from what was recorded.
fn difference(module: &Module, checked: &Checked, recorded: &Recorded) -> Option<String> {
    let mut variables = checked.variables.iter();
    // Names of locals are changed on the way into the object file.
    let variable = variables.find(|variable| module.name(variable.name) == recorded.name)?;
    if variable.bytes() != recorded.size {
        return Some(format!("{} bytes, recorded {}", variable.bytes(), recorded.size));
    }
    let empty = Default::default();
    let data = variable.initialiser.as_deref().unwrap_or(&empty);
    let mut hex: String = data.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.extend(std::iter::repeat_n('0', recorded.bytes.len().saturating_sub(hex.len())));
    let same = |(ours, theirs): (char, char)| ours == theirs || theirs == '.';
    if !recorded.bytes.is_empty() && !hex.chars().zip(recorded.bytes.chars()).all(same) {
        return Some(format!("{hex}, recorded {}", recorded.bytes));
    }
    let name = |address: &Address| match address.of {
        Addressee::Variable(id, member) => {
            let name = module.name(checked.variable(id).name);
            member.map_or_else(|| name.to_owned(), |member| format!("{name}{member}"))
        }
        Addressee::Function(id) => module.name(checked.function(id).name).to_owned(),
    };
    let addresses: Vec<_> =
        data.addresses.iter().map(|address| (address.at, name(address), address.offset)).collect();
    (addresses != recorded.addresses).then(|| format!("{addresses:?}, recorded {:?}", recorded.addresses))
}

#[test]
fn initial_values_are_the_assemblers() {
    let mut text = String::new();
    let packed = include_bytes!("golden/layout.jsonl.gz");
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("a recording");
    let mut symbols = 0;
    let mut differences = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let source = row["ptx"].as_str().unwrap_or_default();
        let arch = row["arch"].as_str().and_then(Target::from_name);
        let parsed = parse(source);
        let options = Options { arch, relocatable: true, strict: false };
        let (checked, _) = resolve(&parsed.module, source, options);
        for row_symbol in row["symbols"].as_array().into_iter().flatten() {
            symbols += 1;
            let recorded = recorded(row_symbol);
            if let Some(what) = difference(&parsed.module, &checked, &recorded) {
                differences.push(format!("{} `{}`: {what}", row["id"], recorded.name));
            }
        }
    }
    assert!(symbols > 1000, "only {symbols} symbols");
    assert!(differences.is_empty(), "{} of {symbols}:\n{}", differences.len(), differences.join("\n"));
}
