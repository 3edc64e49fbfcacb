//! Bytes in launch files, and what buffers begin with.

use super::elements::{self, Elements};
use super::numbers;
use super::place::{At, Read, Reading};
use crate::bytes::{Words, from_hex};
use crate::input::{self, Input, InputError, confined};
use crate::json::{is_remark, shown};
use crate::npy::{Array, Header, Order, Reader};
use base64::Engine;
use serde_json::Value as Json;
use softwarp::num::Format;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most bytes that all data in a launch file can become: compressed data is short.
pub const MOST_DATA: u64 = 1 << 30;

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Init {
    /// Zeros.
    Zero,
    /// The host never writes it.
    None,
    /// The 32-bit word `w` holds `w`.
    Iota32,
    /// The 32-bit word `w` holds the high half of splitmix64's output step on the seed + `w`.
    Splitmix32(u64),
    /// These bytes; zeros behind them.
    Bytes(Vec<u8>),
}

impl Init {
    /// Writes what a buffer of a given number of bytes begins with, in pieces: where, and what. What is not written is zero.
    pub fn write<E>(&self, bytes: u64, mut put: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Init::Zero | Init::None => Ok(()),
            Init::Bytes(data) => put(0, data),
            Init::Iota32 => Words::IOTA.pieces(bytes, put),
            Init::Splitmix32(seed) => Words::Splitmix(*seed).pieces(bytes, put),
        }
    }
}

/// Data of a launch file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The array that they are, if that is known.
    pub elements: Option<Elements>,
}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Data {
        Data { bytes, elements: None }
    }
}

/// Where the files are that a launch file names.
#[derive(Clone, Debug)]
pub struct Files {
    /// The folder of the launch file.
    pub folder: PathBuf,
    /// They may lie outside of the folder.
    pub any_place: bool,
    /// The longest that is read.
    pub longest: u64,
}

impl Files {
    /// The bytes of a file; of an array, of its elements.
    pub fn bytes(&self, name: &str, is_array: bool) -> Result<Vec<u8>, String> {
        let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", shown(name));
        let input = self.open(name).map_err(|error| wrong(&error))?;
        match is_array {
            true => array(input).map(|data| data.bytes).map_err(|why| wrong(&why)),
            false => input::all(input, MOST_DATA).map_err(|error| wrong(&error)),
        }
    }

    fn open(&self, name: &str) -> Result<Input, InputError> {
        Input::open(&confined(&self.folder, Path::new(name), self.any_place)?, self.longest)
    }
}

/// The most bytes that an array's header has in a file, and more.
const LONGEST_HEADER: u64 = 1 << 17;

/// What data can be.
const FORMS: &str =
    "data is hexadecimal digits, or an object with one key: hex, zlib, npy, file, or a type such as f32";

/// Reads data of at most a given number of bytes; `room` is how many there are to fill, if that is known.
pub(super) fn read(at: &At<'_>, most: u64, room: Option<u64>) -> Read<Data> {
    let data = match at.json {
        Json::String(digits) => Data::from(from_hex(digits).or_else(|why| at.error(why))?),
        Json::Object(map) => {
            let mut keys = map.iter().filter(|(key, _)| !is_remark(key));
            let (Some((key, json)), None) = (keys.next(), keys.next()) else { return at.error(FORMS) };
            member(at, key, &at.inside(key, json), most, room)?
        }
        _ => return at.error(FORMS),
    };
    match data.bytes.len() as u64 > most {
        true => at.error(format!("{} bytes of data: there is room for {most}", data.bytes.len())),
        false => Ok(data),
    }
}

fn member(at: &At<'_>, key: &str, value: &At<'_>, most: u64, room: Option<u64>) -> Read<Data> {
    match key {
        "hex" => from_hex(&value.text()?).map(Data::from).or_else(|why| at.error(why)),
        "zlib" => inflate(&value.text()?, most).map(Data::from).or_else(|why| at.error(why)),
        "npy" | "file" => {
            let name = value.text()?;
            let input = value.files()?.open(&name);
            let input =
                input.or_else(|error| value.error(format!("cannot read `{}`: {error}", shown(&name))))?;
            // What is too long is not read: an array may have a header besides.
            let length = input.length();
            if length > most.saturating_add(if key == "npy" { LONGEST_HEADER } else { 0 }) {
                return at.error(format!("{length} bytes of data: there is room for {most}"));
            }
            if key == "npy" {
                return array(input).or_else(|why| value.error(format!("{}: {why}", shown(&name))));
            }
            let bytes = input::all(input, most);
            let bytes =
                bytes.or_else(|error| value.error(format!("cannot read `{}`: {error}", shown(&name))))?;
            Ok(Data::from(bytes))
        }
        _ => match elements::format(key) {
            Some(format) => numbers::read(value, format, most, room),
            None => at.error(FORMS),
        },
    }
}

/// Numbers of a type, as launch files have them: a list, `fill` or `range`.
pub fn of_numbers(format: Format, json: &Json) -> Result<Data, String> {
    let reading = Reading::new(None);
    let at = At { json, place: format.to_string(), reading: &reading };
    let data = numbers::read(&at, format, MOST_DATA, None).map_err(|error| error.to_string())?;
    reading.errors().map_or(Ok(data), |errors| Err(errors.to_string()))
}

/// Reads a `.npy` file: its bytes, and what they are.
pub fn array(input: Input) -> Result<Data, String> {
    let length = input.length();
    let reader = Reader::new(input, length).map_err(|error| error.to_string())?;
    let Array { header, data } = reader.rest().map_err(|error| error.to_string())?;
    let Header { dtype, fortran_order, shape } = header;
    if dtype.order == Order::Big {
        return Err(format!("its elements are big-endian ({dtype}): store them as little-endian"));
    }
    if fortran_order && shape.len() > 1 {
        return Err("the array is in Fortran order: store it in C order".to_owned());
    }
    Ok(Data { bytes: data, elements: Some(Elements::of_dtype(dtype, shape)) })
}

fn inflate(text: &str, most: u64) -> Result<Vec<u8>, String> {
    let packed =
        base64::engine::general_purpose::STANDARD.decode(text).map_err(|error| format!("zlib: {error}"))?;
    let mut bytes = Vec::new();
    let mut stream = flate2::read::ZlibDecoder::new(packed.as_slice()).take(most.saturating_add(1));
    stream.read_to_end(&mut bytes).map_err(|error| format!("zlib: {error}"))?;
    match bytes.len() as u64 > most {
        true => Err(format!("zlib: there is more data than {most} bytes")),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decode(json: &Json, most: u64) -> Result<Vec<u8>, String> {
        let reading = Reading::new(None);
        let data = read(&At::root(json, &reading), most, None);
        data.map(|data| data.bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn data_is_hexadecimal_or_compressed() {
        assert_eq!(decode(&json!("00fF"), 2), Ok(vec![0, 255]));
        assert_eq!(decode(&json!({"hex": "10"}), 2), Ok(vec![16]));
        assert_eq!(decode(&json!({"zlib": "eJxjYAAAAAIAAQ=="}), 2), Ok(vec![0, 0]));
        for bad in [
            json!("0"),
            json!("0g"),
            json!(7),
            json!({"zlib": "!"}),
            json!({"zlib": "AAAA"}),
            json!({"x": "00"}),
            json!({"file": "x"}),
        ] {
            assert!(decode(&bad, 100).is_err(), "{bad}");
        }
        assert_eq!(decode(&json!("0000"), 1), Err("2 bytes of data: there is room for 1".to_owned()));
        assert!(decode(&json!({"zlib": "eJxjYAAAAAIAAQ=="}), 1).is_err());
    }

    #[test]
    fn data_is_numbers() {
        let bytes = |json: Json| decode(&json, 64);
        assert_eq!(bytes(json!({"u16": [1, 258]})), Ok(vec![1, 0, 2, 1]));
        assert_eq!(bytes(json!({"i8": [[-1, 2], [3, -4]]})), Ok(vec![255, 2, 3, 252]));
        assert_eq!(
            bytes(json!({"f32": [1, "inf", "0x7"]})),
            Ok(vec![0, 0, 128, 63, 0, 0, 128, 127, 7, 0, 0, 0])
        );
        assert_eq!(bytes(json!({"f16": {"fill": 1.5, "count": 2}})), Ok(vec![0, 62, 0, 62]));
        assert_eq!(bytes(json!({"e2m1": [1, 0.5, 6]})), Ok(vec![0x12, 0x07]));
        assert_eq!(bytes(json!({"u8": {"range": [3, 6]}})), Ok(vec![3, 4, 5]));
        assert_eq!(bytes(json!({"s8": {"range": [1, -4, -2]}})), Ok(vec![1, 255, 253]));
        assert_eq!(
            bytes(json!({"f64": {"range": [0, 1, 0.5]}})),
            Ok([0.0f64.to_le_bytes(), 0.5f64.to_le_bytes()].concat())
        );
        assert_eq!(bytes(json!({"u64": {"range": [0, 0]}})), Ok(vec![]));
        for (bad, why) in [
            (json!({"u8": [1, 256]}), "u8[1]: it does not fit: u8 is from 0 to 255"),
            (json!({"u8": [1.5]}), "u8[0]: it must be a whole number"),
            (
                json!({"u8": 7}),
                "u8: it must be a list, {\"fill\": x, \"count\": n} or {\"range\": [first, end]}",
            ),
            (json!({"u8": [[1, 2], [3]]}), "u8[1]: it has 1 members, and the list before it has 2"),
            (json!({"u8": [[1, 2], 3]}), "u8[1]: it must be a list, as the one before it"),
            (json!({"u8": {"fill": 1}}), "u8: `count` is missing"),
            (json!({"u8": {"fill": 1, "count": 65}}), "65 bytes of data: there is room for 64"),
            (json!({"u8": {"fill": 1, "count": u64::MAX}}), "u8: there is more data than 64 bytes"),
            (json!({"f64": {"range": [0, 1e300]}}), "f64: there is more data than 64 bytes"),
            (json!({"u8": {"range": [0, 1, 0]}}), "u8.range: the step must not be zero"),
            (json!({"u8": {"range": [0]}}), "u8.range: it is [first, end] or [first, end, step]"),
            (json!({"u32": {"range": [-1, 3]}}), "u32.range: it does not fit: u32 is from 0 to 4294967295"),
            (json!({"e2m1": [100]}), "e2m1[0]: 100 is out of range for e2m1: -6 to 6"),
        ] {
            assert_eq!(bytes(bad.clone()), Err(why.to_owned()), "{bad}");
        }
    }
}
