//! What the server knows: the documents that are open, the files of the workspace, and what the client can do.

use crate::analysis::Document;
use crate::levels::Levels;
use crate::protocol::{Diagnostic, ErrorCode, Location, Position, TextDocumentPositionParams, Uri};
use crate::text::{Encoding, Text};
use crate::uri;
use softwarp_check::{Options, Recheck};
use softwarp_diagnostic::Span;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

/// The most files of a workspace that are read, the deepest folder, and the largest file.
const MOST_FILES: usize = 500;
const DEEPEST: usize = 12;
const LARGEST: u64 = 16 << 20;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The parameters are wrong.
    Parameters(String),
    /// What was asked for cannot be done.
    Failed(String),
}

impl Failure {
    /// The code and message of the error.
    pub fn in_protocol(self) -> (ErrorCode, String) {
        match self {
            Failure::Parameters(why) => (ErrorCode::InvalidParams, why),
            Failure::Failed(why) => (ErrorCode::RequestFailed, why),
        }
    }
}

/// What a request is answered with.
pub type Answer<T> = Result<T, Failure>;

/// A document that the client has open.
pub struct Open {
    /// Its URI.
    pub uri: Uri,
    /// The number of its state.
    pub version: i32,
    /// Its text.
    pub document: Rc<Document>,
    /// Finds what is wrong with it.
    pub recheck: Recheck,
    /// What a run of its kernels found.
    pub findings: Vec<Diagnostic>,
}

/// What the server knows.
#[derive(Default)]
pub struct World {
    /// What columns of positions count.
    pub encoding: Encoding,
    /// How modules are checked.
    pub check: Options,
    /// What warnings are.
    pub levels: Levels,
    /// Whether the client can show snippets, with places to fill in.
    pub snippets: bool,
    /// Whether the client asks for the places related to a diagnostic.
    pub related: bool,
    /// The program that runs kernels.
    pub program: Option<PathBuf>,
    /// The folders of the workspace.
    pub folders: Vec<PathBuf>,
    open: BTreeMap<String, Open>,
    files: RefCell<BTreeMap<PathBuf, (SystemTime, Rc<Document>)>>,
}

/// A document and its URI.
pub type Found = (Uri, Rc<Document>);

impl World {
    /// Nothing yet; kernels are run by a program, if there is one.
    pub fn new(program: Option<PathBuf>, check: Options, levels: Levels) -> World {
        World { program, check, levels, ..World::default() }
    }

    /// Takes a document that the client has opened.
    pub fn open(&mut self, uri: Uri, version: i32, text: String) {
        let document = Rc::new(Document::new(Text::new(text, self.encoding), self.check));
        let (recheck, findings) = (Recheck::default(), Vec::new());
        self.open.insert(uri.0.clone(), Open { uri, version, document, recheck, findings });
    }

    /// Forgets one that it has closed.
    pub fn close(&mut self, uri: &Uri) {
        self.open.remove(&uri.0);
    }

    /// One that is open.
    pub fn opened(&mut self, uri: &Uri) -> Option<&mut Open> {
        self.open.get_mut(&uri.0)
    }

    /// A document that is open, or an error that says that it is not.
    pub fn document(&self, uri: &Uri) -> Answer<&Document> {
        let open = self.open.get(&uri.0);
        open.map(|open| &*open.document).ok_or_else(|| Failure::Parameters(format!("{} is not open", uri.0)))
    }

    /// A document and the byte of a position in it.
    pub fn place(&self, at: &TextDocumentPositionParams) -> Answer<(&Document, u32)> {
        let document = self.document(&at.text_document.uri)?;
        Ok((document, offset(document, at.position)?))
    }

    /// The place of a span.
    pub fn location(&self, uri: &Uri, document: &Document, span: Span) -> Location {
        Location { uri: uri.clone(), range: document.text.range(span) }
    }

    /// A document that is open, with its URI.
    pub fn found(&self, uri: &Uri) -> Option<Found> {
        self.open.get(&uri.0).map(|open| (open.uri.clone(), open.document.clone()))
    }

    /// All documents: those that are open, and the other PTX files of the workspace.
    pub fn documents(&self) -> Vec<Found> {
        let open = self.open.values().map(|open| (open.uri.clone(), open.document.clone()));
        let mut all: Vec<Found> = open.collect();
        let known: Vec<PathBuf> = self.open.values().filter_map(|open| uri::to_path(&open.uri)).collect();
        let mut paths = Vec::new();
        for folder in &self.folders {
            below(folder, "ptx", 0, &mut paths);
        }
        for path in paths.into_iter().filter(|path| !known.contains(path)) {
            if let Some(document) = self.file(&path) {
                all.push((uri::of_path(&path), document));
            }
        }
        all
    }

    /// A file, as it is on the disk.
    fn file(&self, path: &Path) -> Option<Rc<Document>> {
        let about = std::fs::metadata(path).ok().filter(|about| about.is_file() && about.len() <= LARGEST)?;
        let changed = about.modified().ok()?;
        if let Some((known, document)) = self.files.borrow().get(path)
            && *known == changed
        {
            return Some(document.clone());
        }
        let text = String::from_utf8(std::fs::read(path).ok()?).ok()?;
        let document = Rc::new(Document::new(Text::new(text, self.encoding), self.check));
        self.files.borrow_mut().insert(path.to_owned(), (changed, document.clone()));
        Some(document)
    }
}

/// The byte of a position, or an error that says that there is no such line.
pub fn offset(document: &Document, position: Position) -> Answer<u32> {
    document.text.offset(position).ok_or_else(|| {
        let lines = document.text.line_count();
        Failure::Parameters(format!("there is no line {}: the document has {lines}", position.line))
    })
}

/// The files of a folder, and those below it, with an extension, by name. Hidden folders and those that hold what programs
/// make are left out.
pub fn below(folder: &Path, extension: &str, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().map(|entry| (entry.path(), entry.file_type())).collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (path, kind) in entries {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Ok(kind) = kind else { continue };
        if files.len() >= MOST_FILES {
            return;
        }
        if kind.is_dir()
            && depth < DEEPEST
            && !name.starts_with('.')
            && name != "target"
            && name != "node_modules"
        {
            below(&path, extension, depth + 1, files);
        } else if kind.is_file() && path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}
