//! The lines of the program that PTX was made from (`.file` and `.loc`, PTX ISA sections 11.5.2 and 11.5.3): which of them
//! an instruction comes from, and which instructions come from a line.

use softwarp_syntax::tree::{Item, Statement};
use softwarp_syntax::{Module, Span};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A line of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// The file, as `.file` names it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if there is none.
    pub column: u32,
}

/// The files of a module.
#[derive(Debug)]
pub struct Lines {
    files: HashMap<u64, String>,
}

impl Lines {
    /// Reads the `.file` directives.
    pub fn new(source: &str, module: &Module) -> Lines {
        let files = module.items.iter().filter_map(|item| match item {
            Item::File(file) => Some((file.is.index, file.is.name.text(source).trim_matches('"').to_owned())),
            _ => None,
        });
        Lines { files: files.collect() }
    }

    /// What a `.loc` names.
    pub fn place(&self, loc: &str) -> Option<SourcePlace> {
        let first = loc.split(',').next()?;
        let mut numbers =
            first.trim().strip_prefix(".loc")?.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        let file = self.files.get(&numbers.next()?)?.clone();
        let line = u32::try_from(numbers.next()?).ok()?;
        let column = numbers.next().and_then(|column| u32::try_from(column).ok()).unwrap_or(0);
        Some(SourcePlace { file, line, column })
    }

    /// The `.loc` directives of a module, each with what it names.
    pub fn all<'m>(
        &'m self,
        source: &'m str,
        module: &'m Module,
    ) -> impl Iterator<Item = (Span, SourcePlace)> + 'm {
        let functions = module.items.iter().filter_map(|item| match item {
            Item::Function(function) => function.body.as_ref(),
            _ => None,
        });
        functions.flat_map(|body| &body.statements).filter_map(move |statement| match statement {
            Statement::Loc(span) => Some((*span, self.place(span.text(source))?)),
            _ => None,
        })
    }
}

/// Finds a file that `.file` names: by its path, or beside the PTX and in the folders of the workspace, by its path there
/// or its name alone.
pub fn find(name: &str, beside: Option<&Path>, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.is_absolute() && path.is_file() {
        return Some(path.to_owned());
    }
    let last = Path::new(path.file_name()?);
    let beside = beside.and_then(Path::parent).map(Path::to_owned);
    let relative = path.strip_prefix("/").unwrap_or(path);
    let all = beside.into_iter().chain(folders.iter().cloned());
    all.flat_map(|folder| [folder.join(relative), folder.join(last)]).find(|path| path.is_file())
}

/// Whether a path is the file that `.file` names.
pub fn is_same_file(name: &str, path: &Path) -> bool {
    let named = Path::new(name);
    path == named || path.ends_with(named) || named.file_name() == path.file_name()
}
