//! Reads JSON with the place of each value, and collects what is wrong: every mistake of a file is told, not only the first.

use super::data::{self, Data, Files, MOST_DATA};
use crate::json;
use crate::locate::{Position, locate};
use serde_json::{Map, Value as Json};
use softwarp::diagnostic::Span;
use std::cell::{Cell, RefCell};

/// The most buffers, launches and the like that a file can have.
const MOST: usize = 1 << 16;

/// The most mistakes that are told.
const MOST_ERRORS: usize = 100;

/// What is wrong with a launch file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", if place.is_empty() { String::new() } else { format!("{place}: ") })]
pub struct FileError {
    /// Where: `launches[0].grid`. Empty for the file as a whole.
    pub place: String,
    /// The member of the object there whose key is wrong.
    pub key: Option<String>,
    /// What is wrong there.
    pub why: String,
    /// Where it is in the text, if that is known already.
    pub span: Option<Span>,
}

impl FileError {
    /// Something wrong at a place.
    pub fn new(place: impl Into<String>, why: impl Into<String>) -> FileError {
        FileError { place: place.into(), key: None, why: why.into(), span: None }
    }

    /// Where it is in the file's text: the value, or the key if that is wrong.
    pub fn find(&self, text: &str) -> Option<Span> {
        self.span.or_else(|| locate(text, &Position { place: &self.place, key: self.key.as_deref() }))
    }
}

/// Everything that is wrong with a launch file, in the order of its text. There is at least one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileErrors(pub Vec<FileError>);

impl std::fmt::Display for FileErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("; "))
    }
}

impl std::error::Error for FileErrors {}

pub(super) type Read<T> = Result<T, FileError>;

/// What is known while a file is read.
pub(super) struct Reading<'a> {
    /// Bytes of data that the file may still have.
    budget: Cell<u64>,
    errors: RefCell<Vec<FileError>>,
    /// Where the files are that it names.
    files: Option<&'a Files>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(files: Option<&'a Files>) -> Reading<'a> {
        Reading { budget: Cell::new(MOST_DATA), errors: RefCell::default(), files }
    }

    /// The value of something that can be wrong; what is wrong is kept.
    pub(super) fn keep<T>(&self, read: Read<T>) -> Option<T> {
        read.map_err(|error| self.push(error)).ok()
    }

    pub(super) fn push(&self, error: FileError) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() < MOST_ERRORS && !errors.contains(&error) {
            errors.push(error);
        }
    }

    /// What was wrong, if something was.
    pub(super) fn errors(self) -> Option<FileErrors> {
        let mut errors = self.errors.into_inner();
        // A key that is misspelt is not missing, too.
        let meant = |error: &FileError| {
            let key = error.why.strip_suffix(" is missing").unwrap_or_default().to_owned();
            (error.place.clone(), format!("did you mean {key}?"))
        };
        let misspelt: Vec<(String, String)> = errors
            .iter()
            .filter(|error| error.key.is_some())
            .filter_map(|error| Some((error.place.clone(), error.why.split_once(": ")?.1.to_owned())))
            .collect();
        errors.retain(|error| !misspelt.contains(&meant(error)));
        if errors.is_empty() { None } else { Some(FileErrors(errors)) }
    }
}

/// A value and its place.
pub(super) struct At<'a> {
    pub(super) json: &'a Json,
    pub(super) place: String,
    pub(super) reading: &'a Reading<'a>,
}

impl<'a> At<'a> {
    /// The whole of a file.
    pub(super) fn root(json: &'a Json, reading: &'a Reading<'a>) -> At<'a> {
        At { json, place: String::new(), reading }
    }

    pub(super) fn error<T>(&self, why: impl Into<String>) -> Read<T> {
        Err(FileError::new(self.place.clone(), why))
    }

    pub(super) fn object(&self) -> Read<&'a Map<String, Json>> {
        self.json.as_object().map_or_else(|| self.error("it must be an object"), Ok)
    }

    pub(super) fn inside(&self, key: &str, json: &'a Json) -> At<'a> {
        let dot = if self.place.is_empty() { "" } else { "." };
        At { json, place: format!("{}{dot}{}", self.place, json::shown(key)), reading: self.reading }
    }

    /// Notes keys that are none of these.
    pub(super) fn only(&self, known: &[&str]) -> Read<()> {
        for (key, why) in json::unknown_keys(self.object()?, known) {
            self.reading
                .push(FileError { key: Some(key.clone()), ..FileError::new(self.place.clone(), why) });
        }
        Ok(())
    }

    /// A key that may be absent or null.
    pub(super) fn get(&self, key: &str) -> Read<Option<At<'a>>> {
        let found = self.object()?.get(key).filter(|json| !json.is_null());
        Ok(found.map(|json| self.inside(key, json)))
    }

    pub(super) fn need(&self, key: &str) -> Read<At<'a>> {
        match self.get(key)? {
            Some(at) => Ok(at),
            None => self.error(format!("`{key}` is missing")),
        }
    }

    /// What a key holds that may be absent. What is wrong with it is kept, and it counts as absent.
    pub(super) fn optional<T>(&self, key: &str, read: impl FnOnce(&At<'a>) -> Read<T>) -> Option<T> {
        self.reading.keep(self.get(key)).flatten().and_then(|at| self.reading.keep(read(&at)))
    }

    /// What a key holds that must be there. What is wrong with it is kept.
    pub(super) fn required<T: Default>(&self, key: &str, read: impl FnOnce(&At<'a>) -> Read<T>) -> T {
        let found = self.need(key).and_then(|at| read(&at));
        self.reading.keep(found).unwrap_or_default()
    }

    /// The members of an object, in order.
    pub(super) fn members(&self) -> Read<Vec<(&'a String, At<'a>)>> {
        Ok(self.object()?.iter().map(|(name, json)| (name, self.inside(name, json))).collect())
    }

    pub(super) fn list(&self) -> Read<Vec<At<'a>>> {
        let Some(list) = self.json.as_array() else { return self.error("it must be a list") };
        if list.len() > MOST {
            return self.error(format!("it has {} members: there can be {MOST}", list.len()));
        }
        let member =
            |(index, json)| At { json, place: format!("{}[{index}]", self.place), reading: self.reading };
        Ok(list.iter().enumerate().map(member).collect())
    }

    /// A list that may be absent. What is wrong with members is kept, and they are left out.
    pub(super) fn list_of<T>(&self, key: &str, read: impl Fn(&At<'a>) -> Read<T>) -> Read<Vec<T>> {
        match self.get(key)? {
            Some(list) => Ok(list.list()?.iter().filter_map(|at| self.reading.keep(read(at))).collect()),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn text(&self) -> Read<String> {
        self.json.as_str().map_or_else(|| self.error("it must be a string"), |text| Ok(text.to_owned()))
    }

    pub(super) fn unsigned(&self) -> Read<u64> {
        self.json.as_u64().map_or_else(|| self.error("it must be a whole number that is not negative"), Ok)
    }

    pub(super) fn boolean(&self) -> Read<bool> {
        self.json.as_bool().map_or_else(|| self.error("it must be true or false"), Ok)
    }

    /// Data of at most a given number of bytes; `room` is how many there are to fill, if that is known.
    pub(super) fn data(&self, most: u64, room: Option<u64>) -> Read<Data> {
        let left = self.reading.budget.get();
        let data = data::read(self, most.min(left), room)?;
        self.reading.budget.set(left.saturating_sub(data.bytes.len() as u64));
        Ok(data)
    }

    /// The files that the launch file can name.
    pub(super) fn files(&self) -> Read<&'a Files> {
        self.reading.files.map_or_else(|| self.error("no files can be read here: give the data itself"), Ok)
    }

    pub(super) fn less_than_2_32(&self) -> Read<u32> {
        u32::try_from(self.unsigned()?).or_else(|_| self.error("it must be less than 2^32"))
    }

    pub(super) fn dimensions(&self) -> Read<[u32; 3]> {
        let mut sizes = [1; 3];
        let list = match self.json {
            Json::Array(_) => self.list()?,
            json => vec![At { json, place: self.place.clone(), reading: self.reading }],
        };
        if list.is_empty() || list.len() > 3 {
            return self.error("there are one to three dimensions");
        }
        for (size, at) in sizes.iter_mut().zip(&list) {
            *size = at.less_than_2_32()?;
            if *size == 0 {
                return at.error("it must be at least 1");
            }
        }
        Ok(sizes)
    }
}
