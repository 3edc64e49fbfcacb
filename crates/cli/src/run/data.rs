//! Bytes in launch files, and what buffers begin with.

use base64::Engine;
use serde_json::Value as Json;
use softwarp::num::splitmix::hash;
use std::io::Read;

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
            Init::Iota32 => words(bytes, put, |word| word as u32),
            Init::Splitmix32(seed) => words(bytes, put, |word| (hash(seed.wrapping_add(word)) >> 32) as u32),
        }
    }
}

/// How many words are made at a time.
const PIECE: u64 = 1 << 16;

/// A last word that does not fit is cut.
fn words<E>(
    bytes: u64,
    mut put: impl FnMut(u64, &[u8]) -> Result<(), E>,
    word: impl Fn(u64) -> u32,
) -> Result<(), E> {
    let count = bytes.div_ceil(4);
    let mut piece = Vec::new();
    for first in (0..count).step_by(PIECE as usize) {
        piece.clear();
        piece.extend((first..count.min(first + PIECE)).flat_map(|at| word(at).to_le_bytes()));
        piece.truncate(usize::try_from(bytes - 4 * first).unwrap_or(usize::MAX));
        put(4 * first, &piece)?;
    }
    Ok(())
}

/// Reads data: digits, `{"hex": digits}` or `{"zlib": base64}`. At most a given number of bytes.
pub fn decode(json: &Json, most: u64) -> Result<Vec<u8>, String> {
    let bytes = match json {
        Json::String(digits) => hex(digits)?,
        Json::Object(map) => match map.iter().next() {
            Some((key, Json::String(text))) if key == "hex" && map.len() == 1 => hex(text)?,
            Some((key, Json::String(text))) if key == "zlib" && map.len() == 1 => inflate(text, most)?,
            _ => return Err("data is hexadecimal digits, {\"hex\": digits} or {\"zlib\": base64}".to_owned()),
        },
        _ => return Err("data is hexadecimal digits, {\"hex\": digits} or {\"zlib\": base64}".to_owned()),
    };
    match bytes.len() as u64 > most {
        true => Err(format!("{} bytes of data: there is room for {most}", bytes.len())),
        false => Ok(bytes),
    }
}

/// Reads hexadecimal digits, two for each byte.
pub fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    if !digits.len().is_multiple_of(2) {
        return Err(format!("{} hexadecimal digits: there are two for each byte", digits.len()));
    }
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| "data has a character that is no hexadecimal digit".to_owned())
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

/// Bytes as hexadecimal digits.
pub fn digits(bytes: &[u8]) -> String {
    let nibble = |bits: u8| char::from(b"0123456789abcdef"[usize::from(bits & 15)]);
    bytes.iter().flat_map(|byte| [nibble(byte >> 4), nibble(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(init: Init, bytes: u64) -> Vec<u8> {
        let mut memory = vec![0; bytes as usize];
        init.write(bytes, |at, piece| {
            memory[at as usize..at as usize + piece.len()].copy_from_slice(piece);
            Ok::<(), ()>(())
        })
        .expect("nothing fails");
        memory
    }

    #[test]
    fn words_count_and_mix_and_the_last_is_cut() {
        assert_eq!(made(Init::Iota32, 10), [0, 0, 0, 0, 1, 0, 0, 0, 2, 0]);
        // splitmix64's first output for the seed 0 is e220a8397b1dcdaf.
        assert_eq!(made(Init::Splitmix32(0), 4), [0x39, 0xa8, 0x20, 0xe2]);
        let long = made(Init::Iota32, 4 * PIECE + 4);
        assert_eq!(long[4 * PIECE as usize..], [0, 0, 1, 0]);
        assert_eq!(made(Init::Bytes(vec![7]), 2), [7, 0]);
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
        ] {
            assert!(decode(&bad, 100).is_err(), "{bad}");
        }
        assert_eq!(decode(&json!("0000"), 1), Err("2 bytes of data: there is room for 1".to_owned()));
        assert!(decode(&json!({"zlib": "eJxjYAAAAAIAAQ=="}), 1).is_err());
    }

    #[test]
    fn digits_and_bytes_are_the_same_thing() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(hex(&digits(&all)), Ok(all));
    }
}
