//! What the tests share: from text to an image.

#![allow(dead_code)] // Each test uses its own part of this.

use softwarp_check::checked::CheckedModule;
use softwarp_check::{Options, resolve};
use softwarp_image::{Image, Object, ObjectId, Unit, lay_out};
use softwarp_isa::Target;
use softwarp_syntax::{Diagnostic, Module, Severity, parse};

/// A checked module with its errors.
pub struct Source {
    pub module: Module,
    pub checked: CheckedModule,
    pub errors: Vec<Diagnostic>,
}

/// Reads and checks a module.
pub fn read(text: &str, options: Options) -> Source {
    let parsed = parse(text);
    let (checked, found) = resolve(&parsed.module, text, options);
    let all = parsed.diagnostics.into_iter().chain(found);
    let errors = all.filter(|found| found.severity() == Severity::Error).collect();
    Source { module: parsed.module, checked, errors }
}

/// Lays out one module that has no errors.
pub fn try_lay(text: &str, options: Options) -> Result<Image, Vec<Diagnostic>> {
    let source = read(text, options);
    assert!(source.errors.is_empty(), "{:?}\n{text}", source.errors);
    let unit = Unit { module: &source.module, checked: &source.checked };
    lay_out(&[unit], softwarp_image::Options { relocatable: options.relocatable, red_zones: false })
}

/// The image of a module that fits memory.
pub fn lay_with(text: &str, options: Options) -> Image {
    try_lay(text, options).unwrap_or_else(|findings| panic!("{findings:?}\n{text}"))
}

/// The image of what stands below the usual header.
pub fn lay(body: &str) -> Image {
    lay_as("9.0", "sm_90", body)
}

/// The same for a version and target.
pub fn lay_as(version: &str, target: &str, body: &str) -> Image {
    lay_with(
        &headed(version, target, body),
        Options { arch: Target::from_name("sm_90"), ..Options::default() },
    )
}

/// A module from its version, target and the rest.
pub fn headed(version: &str, target: &str, body: &str) -> String {
    let size = if version < "2.3" { "" } else { ".address_size 64\n" };
    format!(".version {version}\n.target {target}\n{size}{body}\n")
}

/// The object of a name: the last that has it.
pub fn id(image: &Image, name: &str) -> ObjectId {
    let at = image.objects.iter().rposition(|object| &*object.name == name);
    ObjectId(at.unwrap_or_else(|| panic!("no `{name}`")) as u32)
}

/// The same, itself.
pub fn object<'a>(image: &'a Image, name: &str) -> &'a Object {
    image.object(id(image, name))
}

/// All bytes of an object before addresses are put in; zero without an initialiser.
pub fn bytes(object: &Object) -> Vec<u8> {
    let mut bytes = vec![0; object.size as usize];
    if let Some(contents) = &object.contents {
        contents.read(0, &mut bytes);
    }
    bytes
}
