//! What cannot be run, shown as `softwarp check` shows what is wrong.

use super::super::checking::{SHOWN, count};
use super::super::{CommandError, remark};
use super::hints;
use crate::render::{self, Event};
use crate::run::file::{FileError, Launch, LaunchFile};
use crate::run::{Run, RunError};
use softwarp::diagnostic::Location;
use softwarp::source::Source;
use softwarp::vm::device::{ClusterError, LaunchError, LoadError};
use softwarp::vm::memory::global::MemoryError;

/// What messages show.
#[derive(Clone, Copy)]
pub struct Refusal<'a> {
    /// The PTX files.
    pub sources: &'a [Source],
    /// The launch file, if there is one.
    pub launch_file: Option<&'a Source>,
    /// With colours.
    pub colour: bool,
}

fn show(text: &str) {
    remark(text.trim_end_matches('\n'));
    remark("");
}

/// Shows what is wrong with a launch file, in the order of its text.
pub fn mistakes(source: &Source, errors: &[FileError], colour: bool) -> CommandError {
    let mut found: Vec<_> = errors.iter().map(|error| (error.find(&source.text), error)).collect();
    found.sort_by_key(|(span, _)| span.map_or(u32::MAX, |span| span.start));
    for (span, error) in found.iter().take(SHOWN) {
        let places = span.map(|span| (Location { unit: 0, span }, None)).into_iter().collect();
        let event = Event { message: error.to_string(), places, notes: Vec::new() };
        let mut text = render::event(std::slice::from_ref(source), &event, colour);
        if span.is_none() {
            text = format!("{}\n --> {}\n", text.trim_end(), source.name);
        }
        show(&text);
    }
    CommandError::Input(format!("{}: {}", source.name, count((errors.len(), "mistake"))))
}

impl Refusal<'_> {
    /// Shows why something did not run.
    pub fn of(&self, error: &RunError, launched: Option<(&Run, &LaunchFile)>) -> CommandError {
        let Refusal { sources, launch_file, colour } = *self;
        match error {
            RunError::Load(LoadError::Invalid(found)) => {
                for (unit, diagnostic) in found.iter().take(SHOWN) {
                    if let Some(source) = sources.get(*unit as usize) {
                        show(&render::text(source, diagnostic, colour));
                    }
                }
                sources.iter().filter_map(hints::newer).for_each(|note| remark(&note));
                CommandError::Input(format!("{}: the module cannot be loaded", count((found.len(), "error"))))
            }
            RunError::Load(LoadError::Unlinked(found)) => {
                found.iter().take(SHOWN).for_each(|one| show(&render::linked(sources, one, colour)));
                CommandError::Input(format!(
                    "{}: the modules cannot be linked",
                    count((found.len(), "error"))
                ))
            }
            RunError::Launch { error: LaunchError::Unsupported(list), .. } => {
                for one in list.iter().take(SHOWN) {
                    let places = vec![(Location { unit: one.unit, span: one.span }, None)];
                    let event = Event { message: one.what.clone(), places, notes: Vec::new() };
                    show(&render::event(sources, &event, colour));
                }
                let what = count((list.len(), "instruction"));
                CommandError::Input(format!("{what} of the kernel cannot be executed by the machine yet"))
            }
            RunError::Launch { error, index } => {
                let launch = launched.and_then(|(_, file)| file.launches.get(*index));
                let why = hints::launch_error(error, *index, launched);
                if is_of_kernel(error, launch) {
                    return CommandError::Input(why);
                }
                // Who said how to launch is at fault.
                match launch_file {
                    None => CommandError::usage(why),
                    Some(source) => {
                        let place = format!("launches[{index}]{}", member(error));
                        mistakes(source, &[FileError::new(place, why)], colour)
                    }
                }
            }
            RunError::File(error) => match launch_file {
                None => CommandError::Input(error.to_string()),
                Some(source) => mistakes(source, std::slice::from_ref(error), colour),
            },
            // Only `--set` names a variable before anything runs.
            RunError::Memory { of, error: MemoryError::NoVariable { .. } } if launch_file.is_none() => {
                CommandError::usage(format!("--set {of}: there is no variable of this name"))
            }
            RunError::Memory { of, error: error @ MemoryError::TooManyBytes { .. } }
                if launch_file.is_none() =>
            {
                CommandError::usage(format!("--set {of}: {error}"))
            }
            RunError::Memory { .. } | RunError::Texture { .. } | RunError::Load(_) => launch_file
                .map_or_else(
                    || CommandError::Input(error.to_string()),
                    |source| CommandError::input(&source.name, error),
                ),
        }
    }
}

/// Whether a launch did not begin because of the module or its kernel: no other launch of the kernel would begin either.
/// Otherwise the launch asks for what cannot be.
fn is_of_kernel(error: &LaunchError, launch: Option<&Launch>) -> bool {
    match error {
        LaunchError::Module(_)
        | LaunchError::Unsupported(_)
        | LaunchError::Local { .. }
        | LaunchError::Memory(_)
        | LaunchError::Fault(_) => true,
        LaunchError::Shared { bytes, most } => {
            let asked = launch.map_or(0, |launch| u64::from(launch.dynamic_shared));
            bytes.saturating_sub(asked) > *most
        }
        // Without a cluster in the launch, the kernel's directives say it.
        LaunchError::Cluster(
            ClusterError::Target(_) | ClusterError::Empty { .. } | ClusterError::TooMany { .. },
        ) => launch.is_some_and(|launch| launch.cluster.is_none()),
        LaunchError::Cluster(
            ClusterError::Grid { .. } | ClusterError::Differs { .. } | ClusterError::Missing,
        )
        | LaunchError::NoKernel { .. }
        | LaunchError::Dimension { .. }
        | LaunchError::Threads { .. }
        | LaunchError::Block { .. }
        | LaunchError::Cooperative { .. }
        | LaunchError::ArgumentCount { .. }
        | LaunchError::ArgumentSize { .. } => false,
    }
}

/// The member of a launch that an error is about.
fn member(error: &LaunchError) -> String {
    match error {
        LaunchError::NoKernel { .. } => ".kernel".to_owned(),
        LaunchError::Dimension { what, .. } => format!(".{what}"),
        LaunchError::Threads { .. } | LaunchError::Block { .. } => ".block".to_owned(),
        LaunchError::ArgumentCount { .. } => ".args".to_owned(),
        LaunchError::ArgumentSize { index, .. } => format!(".args[{index}]"),
        _ => String::new(),
    }
}
