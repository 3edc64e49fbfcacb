//! Arguments that are described in files of their own: textures, surfaces and tensor maps.

use super::super::super::{CommandError, files};
use super::{Given, shown};
use crate::input::{MOST_DATA, MOST_JSON};
use crate::json;
use crate::run::data::Files;
use crate::run::file::{Argument, LaunchFile};
use crate::run::tensormap;
use serde_json::{Value as Json, json};
use std::path::Path;

/// The JSON in a file.
fn described(path: &Path) -> Result<Json, CommandError> {
    let text = String::from_utf8(files::read(path, MOST_JSON)?);
    let text = text.map_err(|_| CommandError::input(path.display(), "it is not UTF-8"))?;
    json::parse(&text).map_err(|error| CommandError::input(path.display(), format!("not JSON: {error}")))
}

/// `texobj:FILE` and `surfobj:FILE`: a handle; the file has what a launch file has under `textures` or `surfaces`.
pub fn texture(
    option: &str,
    texture: bool,
    path: &Path,
    given: &mut Given,
) -> Result<Argument, CommandError> {
    let (list, kind) = if texture { ("textures", "texobj") } else { ("surfaces", "surfobj") };
    let mut entry = described(path)?;
    let Json::Object(members) = &mut entry else {
        return Err(CommandError::input(path.display(), "it must be an object"));
    };
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    members.entry("kind").or_insert_with(|| kind.into());
    let name = members.entry("name").or_insert_with(|| stem.into()).as_str().unwrap_or_default().to_owned();
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let found = Files { folder, any_place: false, longest: files::limit(MOST_DATA) };
    let read = LaunchFile::from_value(&json!({"launches": [], list: [entry]}), Some(&found));
    let read = read.map_err(|errors| {
        let line =
            errors.to_string().replace(&format!("{list}[0].",), "").replace(&format!("{list}[0]: "), "");
        CommandError::input(path.display(), line)
    })?;
    let names = given.file.textures.iter().map(|one| &one.name);
    if names.chain(given.file.surfaces.iter().map(|one| &one.name)).any(|one| *one == name) {
        let why = format!("there is a texture or surface `{}` already: give it a `name`", shown(&name));
        return Err(CommandError::usage(format!("--arg {}: {why}", shown(option))));
    }
    given.file.textures.extend(read.textures);
    given.file.surfaces.extend(read.surfaces);
    Ok(if texture { Argument::Texture(name) } else { Argument::Surface(name) })
}

/// `tensormap:FILE` or `tensormap:FILE=BUFFER`: a tensor map; the file names the buffer if the argument does not.
pub fn tensor_map(option: &str, value: &str, given: &Given) -> Result<Argument, CommandError> {
    let wrong = |why: String| CommandError::usage(format!("--arg {}: {why}", shown(option)));
    let (path, buffer) = match value.split_once('=') {
        Some((path, buffer)) => (path, Some(Json::from(buffer))),
        None => (value, None),
    };
    let map = described(Path::new(path))?;
    let argument = tensormap::read(&map, buffer.as_ref(), None);
    let argument = argument.map_err(|why| CommandError::input(path, why))?;
    match &argument {
        Argument::TensorMap(_, name, _) if given.file.buffer(name).is_none() => {
            let why = "there is no buffer of this name yet: give it before, as in --buffer x=zero:4096";
            Err(wrong(format!("`{}`: {why}", shown(name))))
        }
        _ => Ok(argument),
    }
}
