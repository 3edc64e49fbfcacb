//! What helps where people stumble: names and parameters of kernels, and why a launch may have gone wrong.

use super::super::kernels;
use super::super::{CommandError, remark};
use super::refusal::{self, Refusal};
use crate::layout::spell::declared_type;
use crate::run::file::{Argument, FileError, Launch, LaunchFile};
use crate::run::{Run, RunError};
use softwarp::image::{Image, Object};
use softwarp::isa::{StateSpace, Version};
use softwarp::num::Format;
use softwarp::source::Source;
use softwarp::vm::device::{LaunchError, Module, ModuleId};
use softwarp::vm::fault::{Fault, FaultKind, space_name};
use std::sync::Arc;

/// The most parameters that are listed.
const MOST: usize = 32;

fn module(machine: &Run) -> Option<Arc<Module>> {
    machine.device().module(ModuleId::default()).ok()
}

/// Puts the names that kernels have in the PTX in place of those that were given.
pub fn name_kernels(file: &mut LaunchFile, machine: &Run, refusal: &Refusal<'_>) -> Result<(), CommandError> {
    let Some(module) = module(machine) else { return Ok(()) };
    let names = kernels::of_image(&module.image);
    let mut errors = Vec::new();
    for (index, launch) in file.launches.iter_mut().enumerate() {
        match kernels::find(
            &names,
            Some(&launch.kernel).filter(|name| !name.is_empty() || refusal.launch_file.is_some()),
        ) {
            Ok(name) => launch.kernel = name.to_owned(),
            Err(error) => errors.push((index, error)),
        }
    }
    match (refusal.launch_file, errors.first()) {
        (_, None) => Ok(()),
        (None, Some((_, error))) => Err(error.clone()),
        (Some(source), Some(_)) => {
            let mistake = |(index, error): &(usize, CommandError)| {
                FileError::new(format!("launches[{index}].kernel"), error.line().unwrap_or_default())
            };
            let mistakes: Vec<FileError> = errors.iter().map(mistake).collect();
            Err(refusal::mistakes(source, &mistakes, refusal.colour))
        }
    }
}

/// Gives launches without a block the one that their kernel is for (`.reqntid`), and says so. Others have one thread, and
/// what is to be said about that is returned.
pub fn default_blocks(file: &mut LaunchFile, machine: &Run) -> Option<String> {
    let module = module(machine)?;
    let mut note = None;
    for launch in &mut file.launches {
        let directives = module.directives(&launch.kernel).unwrap_or_default();
        if let Some(block) = directives.block {
            launch.block = block;
            let [x, y, z] = block;
            remark(&format!("note: --block {x},{y},{z} is taken: the kernel is for such CTAs (.reqntid)"));
            continue;
        }
        let most = directives.most_threads;
        let most = most.map_or(String::new(), |most| format!(", at most {most} (.maxntid)"));
        note = Some(format!("note: one thread ran in each CTA: --block says how many there are{most}"));
    }
    note
}

/// The parameters of a kernel.
fn parameters<'a>(image: &'a Image, kernel: &str) -> Vec<&'a Object> {
    let is = |one: &&softwarp::image::Function| one.entry && one.defined && &*one.name == kernel;
    let function = image.functions.iter().find(is);
    function.map_or(Vec::new(), |one| one.parameters.iter().map(|id| image.object(*id)).collect())
}

/// Refuses arguments that are too many or too few, or of other sizes than the parameters, as the machine does: a driver takes
/// what it gets.
pub fn arguments_fit(file: &LaunchFile, machine: &Run, refusal: &Refusal<'_>) -> Result<(), CommandError> {
    let Some(module) = module(machine) else { return Ok(()) };
    for (index, launch) in file.launches.iter().enumerate() {
        let parameters = parameters(&module.image, &launch.kernel);
        let (count, given) = (parameters.len(), launch.arguments.len());
        let refuse =
            |error: LaunchError| Err(refusal.of(&RunError::Launch { index, error }, Some((machine, file))));
        if count != given {
            return refuse(LaunchError::ArgumentCount { parameters: count, given });
        }
        for (number, (argument, parameter)) in launch.arguments.iter().zip(parameters).enumerate() {
            let (given, bytes) = (size(argument), parameter.total());
            if given != bytes {
                let name = parameter.name.to_string();
                return refuse(LaunchError::ArgumentSize { index: number, name, bytes, given });
            }
        }
    }
    Ok(())
}

/// The bytes of an argument.
fn size(argument: &Argument) -> u64 {
    match argument {
        Argument::Bytes(bytes) | Argument::Number(_, bytes) => bytes.len() as u64,
        Argument::Packed(size, _) => *size,
        Argument::TensorMap(..) => 128,
        Argument::Buffer(..) | Argument::Constant(..) | Argument::Texture(_) | Argument::Surface(_) => 8,
    }
}

/// Warns of numbers that are given for parameters of other types of the same size.
pub fn warn_of_types(file: &LaunchFile, machine: &Run) {
    let Some(module) = module(machine) else { return };
    for launch in &file.launches {
        let parameters = parameters(&module.image, &launch.kernel);
        for (index, (argument, parameter)) in launch.arguments.iter().zip(parameters).enumerate() {
            let Argument::Number(format, bytes) = argument else { continue };
            if let Some(why) = mismatch(*format, bytes, parameter) {
                remark(&format!(
                    "warning: argument {index} is {format}, and parameter `{}` {why}",
                    parameter.name
                ));
            }
        }
    }
}

/// What is odd about a number for a parameter.
fn mismatch(format: Format, bytes: &[u8], parameter: &Object) -> Option<String> {
    let ty = declared_type(parameter);
    let (float, whole) = (ty.starts_with(".f"), ty.starts_with(".u") || ty.starts_with(".s"));
    let same_size = parameter.size == bytes.len() as u64;
    let wrong = same_size && (whole && !format.is_int() || float && format.is_int());
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    wrong.then(|| format!("is {ty}: the kernel gets the bits 0x{digits}"))
}

/// Why a launch did not begin, with the parameters of the kernel where they matter.
pub fn launch_error(error: &LaunchError, index: usize, launched: Option<(&Run, &LaunchFile)>) -> String {
    let kernel = launched.and_then(|(_, file)| file.launches.get(index)).map(|launch| &launch.kernel);
    let module = launched.and_then(|(machine, _)| module(machine));
    let (LaunchError::ArgumentCount { given, .. }, Some(kernel), Some(module)) = (error, kernel, module)
    else {
        return error.to_string();
    };
    let parameters = parameters(&module.image, kernel);
    let mut list: Vec<String> =
        parameters.iter().take(MOST).map(|one| format!("{} {}", declared_type(one), one.name)).collect();
    if parameters.len() > MOST {
        list.push(format!("and {} more", parameters.len() - MOST));
    }
    let list = if list.is_empty() { String::new() } else { format!(": {}", list.join(", ")) };
    format!("{given} arguments: kernel `{kernel}` has {} parameters{list}", parameters.len())
}

/// What to say about a module of a later version of PTX.
pub fn newer(source: &Source) -> Option<String> {
    let rest = source.text.split(".version").nth(1)?.trim_start();
    let end = rest.find(|one: char| one != '.' && !one.is_ascii_digit()).unwrap_or(rest.len());
    let (major, minor) = rest[..end].split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    let latest = Version::LATEST;
    ((major, minor) > (u32::from(latest.major), u32::from(latest.minor))).then(|| {
        let name = &source.name;
        format!("note: {name} is PTX {major}.{minor}, and the newest that is known is {latest}: an older toolkit may help")
    })
}

/// Whether a kernel, or a function that it calls, reads `%envreg`.
fn reads_environment(module: &Module, sources: &[Source], kernel: &str) -> bool {
    let Ok(program) = module.program(kernel) else { return false };
    program.functions().any(|function| {
        let source = sources.get(module.image.function(function.function).unit as usize);
        let reads =
            |source: &Source| function.spans.iter().any(|span| span.text(&source.text).contains("%envreg"));
        source.is_some_and(reads)
    })
}

/// What may be the reason for a fault.
pub fn of_fault(machine: &Run, sources: &[Source], launch: Option<&Launch>, fault: &Fault) -> Vec<String> {
    let (Some(module), Some(launch)) = (module(machine), launch) else { return Vec::new() };
    let mut hints = Vec::new();
    let in_shared = matches!(&fault.kind, FaultKind::Access(bad) if space_name(bad.space) == ".shared");
    if in_shared && launch.dynamic_shared == 0 {
        let is_open = |object: &&Object| object.space == StateSpace::Shared && object.open;
        hints.extend(module.image.objects.iter().find(is_open).map(|object| {
            format!(
                "`{}` has as many bytes as the launch gives it, and that is none: pass --shared BYTES (`dynamic_smem` in a launch file)",
                object.name
            )
        }));
    }
    let waits = matches!(fault.kind, FaultKind::Trap | FaultKind::Deadlock(_)) || fault.kind.is_limit();
    if waits && !launch.cooperative && reads_environment(&module, sources, &launch.kernel) {
        hints.push(
            "the kernel reads %envreg, as grid.sync() does, and the launch is not cooperative: pass --cooperative (`\"cooperative\": true` in a launch file)".to_owned(),
        );
    }
    hints
}
