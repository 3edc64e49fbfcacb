//! Reads the pairs of a map file, key by key; says what is wrong and goes on with something else.

use super::{KEY, MOST_FINDINGS, VALUE};
use crate::names;
use crate::tensors::diagnostic;
use serde_json::Value as Json;
use softwarp::diagnostic::Diagnostic;
use softwarp::isa::nearest;
use softwarp::tensor::{
    Access, Description, Element, Fill, Interleave, Promotion, Swizzle, Target, WideMode, explain,
    packed_strides, unlisted,
};

/// The keys with other words for them: the driver's parameters, and what people write.
const KEYS: &[(&str, &[&str])] = &[
    ("kind", &["api"]),
    ("type", &["element", "dtype"]),
    ("rank", &[]),
    ("address", &["addr"]),
    ("dims", &[]),
    ("strides", &[]),
    ("element_strides", &["estrides"]),
    ("interleave", &[]),
    ("swizzle", &[]),
    ("promotion", &["l2"]),
    ("fill", &[]),
    ("box", &[]),
    ("lower", &[]),
    ("upper", &[]),
    ("channels", &[]),
    ("pixels", &[]),
    ("wide", &["mode"]),
    ("target", &[]),
    ("object", &[]),
];

/// Keys for people and for recordings, which say nothing about the map.
const REMARKS: &[&str] = &["name", "comment", "notes", "unknown_bits", "id", "rc", "desc"];

/// What a file has not been asked for yet, and what was wrong so far.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) values: Vec<(&'static str, Json)>,
    /// The keys that are written otherwise.
    written: Vec<(&'static str, String)>,
    pub(super) findings: Vec<Diagnostic>,
}

macro_rules! option {
    ($reader:ident, $key:literal, $type:ident, $default:expr) => {
        match $reader.take($key) {
            None => $default,
            Some(given) => {
                let found = match &given {
                    Json::String(name) => $type::from_name(name),
                    number => {
                        number.as_u64().and_then(|number| $type::from_driver(u32::try_from(number).ok()?))
                    }
                };
                found.unwrap_or_else(|| {
                    let (key, given) = ($reader.spelled($key), shown(&given));
                    $reader.push(unlisted(&key, &given, $type::ALL.iter().map(|one| one.name())));
                    $default
                })
            }
        }
    };
}

impl Reader {
    /// Gives the type the name that maps have for it, where it is a name of libraries.
    fn name_type(&mut self) {
        for (key, value) in &mut self.values {
            if let ("type", Json::String(name)) = (*key, value)
                && Element::from_name(name).is_none()
                && let Some(format) = names::find(name)
                && Element::from_name(format.name()).is_some()
            {
                *name = format.name().to_owned();
            }
        }
    }

    fn push(&mut self, finding: Diagnostic) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        }
    }

    pub(super) fn key(&mut self, message: String, fix: Option<String>) {
        self.push(diagnostic(&KEY, message, fix));
    }

    pub(super) fn value(&mut self, key: &str, why: String) {
        self.push(diagnostic(&VALUE, format!("{key}: {why}"), None));
    }

    /// Gives each key its one name, and leaves out what is unknown, given twice, null, or a remark.
    pub(super) fn sort(&mut self, pairs: Vec<(String, Json)>) {
        for (key, value) in pairs {
            if REMARKS.contains(&key.as_str()) || value.is_null() {
                continue;
            }
            let Some((name, _)) =
                KEYS.iter().find(|(name, others)| *name == key || others.contains(&key.as_str()))
            else {
                let words = KEYS.iter().flat_map(|(name, others)| std::iter::once(name).chain(*others));
                let meant = nearest(&key, words.copied()).map(|name| format!("did you mean {name}?"));
                self.key(format!("there is no key `{}`", shortened(&key)), meant);
                continue;
            };
            if self.values.iter().any(|(known, _)| known == name) {
                let also = if *name == key { String::new() } else { format!(" (as `{key}`)") };
                self.key(format!("`{name}` is given twice{also}"), None);
                continue;
            }
            if *name != key {
                self.written.push((name, key));
            }
            self.values.push((name, value));
        }
    }

    /// Whether the file is a call of the driver's, with the parameters of all calls: each looks at its own.
    fn is_call(&self) -> bool {
        self.written.iter().any(|(_, written)| written == "api")
    }

    /// A key as the file has it.
    fn spelled(&self, key: &str) -> String {
        let other = self.written.iter().find(|(name, _)| *name == key);
        other.map_or(key, |(_, written)| written).to_owned()
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        let at = self.values.iter().position(|(known, _)| *known == key)?;
        Some(self.values.swap_remove(at).1)
    }

    fn has(&self, key: &str) -> bool {
        self.values.iter().any(|(known, _)| *known == key)
    }

    pub(super) fn target(&mut self) -> Option<Target> {
        let given = self.take("target")?;
        let name = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        let target = Target::architecture_from_name(&name);
        if target.is_none() {
            self.value("target", format!("`{}` is not a target, as sm_90 is", shortened(&name)));
        }
        target
    }

    /// A whole number; where it is none, that is said, and another stands for it.
    fn number<T: TryFrom<i128>>(&mut self, name: &str, value: &Json, instead: T) -> T {
        match integer(value).map(T::try_from) {
            Some(Ok(number)) => return number,
            Some(Err(_)) => {
                let bits = 8 * size_of::<T>();
                let least = if T::try_from(-1).is_ok() { "a number" } else { "a number from 0 on" };
                self.value(name, format!("{} is not {least} of {bits} bits", shown(value)));
            }
            None => self.value(name, format!("{} is not a whole number", shown(value))),
        }
        instead
    }

    fn list<T: TryFrom<i128> + Copy>(&mut self, key: &str, instead: T) -> Option<Vec<T>> {
        let name = self.spelled(key);
        let Json::Array(values) = self.take(key)? else {
            self.value(&name, "it is not a list".to_owned());
            return None;
        };
        let numbers = values.iter().enumerate();
        Some(numbers.map(|(index, value)| self.number(&format!("{name}[{index}]"), value, instead)).collect())
    }

    /// A number that must be there.
    fn required<T: TryFrom<i128>>(&mut self, key: &str, instead: T) -> T {
        match self.take(key) {
            Some(value) => self.number(key, &value, instead),
            None => {
                self.key(format!("`{key}` is missing"), None);
                instead
            }
        }
    }

    /// The rank where it is given, as the driver wants it: then lists may be longer than it says, and only as much
    /// of them is looked at as there should be.
    fn rank(&mut self, dims: Option<usize>) -> Option<usize> {
        let value = self.take("rank")?;
        let rank = self.number("rank", &value, dims.unwrap_or(0));
        if let (Some(dims), Some(rule)) = (dims.filter(|dims| *dims < rank), explain("E1006")) {
            self.push(diagnostic(
                rule,
                format!("dims has {dims} entries; rank = {rank} wants as many"),
                None,
            ));
        }
        Some(rank)
    }

    fn kind(&mut self) -> Kind {
        let inferred = match () {
            () if self.has("box") => Kind::Tiled,
            () if self.has("wide") => Kind::Wide,
            () if ["lower", "upper", "channels", "pixels"].iter().any(|key| self.has(key)) => Kind::Im2col,
            () => Kind::Tiled,
        };
        let Some(given) = self.take("kind") else { return inferred };
        let found = given.as_str().and_then(|name| {
            let bare = name.strip_prefix('.').unwrap_or(name);
            KINDS.iter().find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(bare)))
        });
        found.map_or_else(
            || {
                let names = KINDS.iter().filter_map(|(_, names)| names.first().copied());
                self.push(unlisted("kind", &shown(&given), names));
                inferred
            },
            |(kind, _)| *kind,
        )
    }

    /// A corner in W, alone or in a list.
    fn corner(&mut self, key: &str) -> i32 {
        match self.take(key) {
            None => 0,
            Some(Json::Array(list)) => match list.as_slice() {
                [one] => self.number(&format!("{key}[0]"), one, 0),
                [first, ..] if self.is_call() => self.number(&format!("{key}[0]"), first, 0),
                list => {
                    self.value(
                        key,
                        format!("it has {} entries; a wide map has one corner, in W", list.len()),
                    );
                    0
                }
            },
            Some(value) => self.number(key, &value, 0),
        }
    }

    fn access(&mut self, kind: Kind, rank: usize) -> Access {
        let zeros = || vec![0; rank.saturating_sub(2)];
        match kind {
            Kind::Tiled => {
                if !self.has("box") {
                    self.key("`box` is missing".to_owned(), Some("as in \"box\": [64, 8]".to_owned()));
                }
                Access::Tiled { box_dims: self.list("box", 1).unwrap_or_else(|| vec![1; rank]) }
            }
            Kind::Im2col => Access::Im2col {
                lower: self.list("lower", 0).unwrap_or_else(zeros),
                upper: self.list("upper", 0).unwrap_or_else(zeros),
                channels: self.required("channels", 1),
                pixels: self.required("pixels", 1),
            },
            Kind::Wide => {
                let mode = option!(self, "wide", WideMode, WideMode::W);
                let (lower, upper) = (self.corner("lower"), self.corner("upper"));
                let channels = self.required("channels", 1);
                // im2col::w::128 does not look at the number.
                let needed = mode == WideMode::W || self.has("pixels");
                let pixels = if needed { self.required("pixels", 1) } else { 128 };
                Access::Wide { mode, lower, upper, channels, pixels }
            }
        }
    }

    pub(super) fn description(&mut self) -> Option<Description> {
        let kind = self.kind();
        for (key, example) in [("type", "\"type\": \"f16\""), ("dims", "\"dims\": [64, 64]")] {
            if !self.has(key) {
                self.key(format!("`{key}` is missing"), Some(format!("as in {example}")));
            }
        }
        self.name_type();
        let element = option!(self, "type", Element, Element::U8);
        let interleave = option!(self, "interleave", Interleave, Interleave::None);
        let swizzle = option!(self, "swizzle", Swizzle, Swizzle::None);
        let promotion = option!(self, "promotion", Promotion, Promotion::None);
        let fill = option!(self, "fill", Fill, Fill::Zero);
        let address =
            self.take("address").map_or(0, |value| self.number(&self.spelled("address"), &value, 0));
        let dims = self.list("dims", 1);
        let given_rank = self.rank(dims.as_ref().map(Vec::len));
        let mut dims: Vec<u64> = dims.unwrap_or_default();
        dims.truncate(given_rank.unwrap_or(usize::MAX));
        let rank = dims.len();
        let mut access = self.access(kind, rank);
        let strides = self.list("strides", 0);
        let mut strides = strides.unwrap_or_else(|| dense_strides(element, interleave, &dims));
        let mut element_strides = self.list("element_strides", 1).unwrap_or_else(|| vec![1; rank]);
        if let Some(rank) = given_rank {
            strides.truncate(rank.saturating_sub(1));
            element_strides.truncate(rank);
            if let Access::Tiled { box_dims } = &mut access {
                box_dims.truncate(rank);
            }
        }
        let recorded = self.is_call();
        for (key, _) in std::mem::take(&mut self.values).into_iter().filter(|_| !recorded) {
            self.key(format!("`{}` is not for {} maps", self.spelled(key), kind.name()), None);
        }
        Some(Description {
            element,
            address,
            dims,
            strides,
            element_strides,
            interleave,
            swizzle,
            promotion,
            fill,
            access,
        })
    }
}

/// How a map accesses its tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tiled,
    Im2col,
    Wide,
}

const KINDS: &[(Kind, &[&str])] = &[
    (Kind::Tiled, &["tiled", "tile"]),
    (Kind::Im2col, &["im2col"]),
    (Kind::Wide, &["wide", "im2col_wide", "im2col::w"]),
];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        KINDS[self as usize].1[0]
    }
}

/// The strides of a tensor without padding. Of an interleaved one, dimension 0 counts slices.
fn dense_strides(element: Element, interleave: Interleave, dims: &[u64]) -> Vec<u64> {
    if interleave == Interleave::None {
        return packed_strides(element, dims);
    }
    let mut stride = u64::from(interleave.bytes());
    let products = dims.iter().map(|dim| {
        stride = stride.saturating_mul(*dim);
        stride
    });
    products.take(dims.len().saturating_sub(1)).collect()
}

/// A whole number, or a string of one, decimal or after 0x hexadecimal.
fn integer(value: &Json) -> Option<i128> {
    match value {
        Json::Number(number) => number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from)),
        Json::String(text) => match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok().map(i128::from),
            Some(_) => None,
            None => {
                text.parse::<u64>().ok().map(i128::from).or_else(|| text.parse::<i64>().ok().map(i128::from))
            }
        },
        _ => None,
    }
}

/// A value as it stands in a message.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => shortened(text),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        other => shortened(&other.to_string()),
    }
}

fn shortened(text: &str) -> String {
    let escaped: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() { format!("{escaped}…") } else { escaped }
}
