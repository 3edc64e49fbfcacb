//! The 128 bytes of a tensor map as text: hexadecimal, C, words; and back.

use serde_json::Value as Json;
use softwarp::tensor::object::SIZE;
use std::fmt::Write;

/// 256 digits, the first byte first.
pub fn hex(object: &[u8; SIZE]) -> String {
    object.iter().fold(String::with_capacity(2 * SIZE), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The sixteen words of which `CUtensorMap` is made.
pub fn words(object: &[u8; SIZE]) -> Vec<u64> {
    object.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
}

/// A definition in C.
pub fn c(object: &[u8; SIZE]) -> String {
    let words: Vec<String> = words(object).iter().map(|word| format!("0x{word:016x}")).collect();
    let lines: Vec<String> = words.chunks(4).map(|line| format!("    {},\n", line.join(", "))).collect();
    format!("_Alignas(64) const unsigned long long tensor_map[16] = {{\n{}}};\n", lines.concat())
}

/// Reads an object: 128 bytes; 256 hexadecimal digits, spaced as one likes; 16 words of 64 bits, 32 of 32 bits or 128
/// bytes as in C; or JSON with such digits under `object`.
pub fn read(given: &[u8]) -> Result<[u8; SIZE], String> {
    // Text may have 128 characters; no object is text, since words of it are zero.
    if let Ok(bytes) = given.try_into()
        && given.contains(&0)
    {
        return Ok(bytes);
    }
    let Ok(text) = std::str::from_utf8(given) else {
        return Err(format!("{} bytes that are no text, and an object has {SIZE}", given.len()));
    };
    if let Ok(Json::Object(pairs)) = serde_json::from_str(text) {
        return match ["object", "desc"].iter().find_map(|key| pairs.get(*key)) {
            Some(Json::String(digits)) => of_text(digits),
            _ => Err("JSON without the digits of an object under `object`".to_owned()),
        };
    }
    of_text(text)
}

fn of_text(text: &str) -> Result<[u8; SIZE], String> {
    let body = match (text.find(['{', '[']), text.rfind(['}', ']'])) {
        // Of a definition in C, what is between the braces; what is before them has brackets of its own.
        _ if text.contains('{') => {
            let start = text.find('{').map_or(0, |at| at + 1);
            text.get(start..text.rfind('}').unwrap_or(text.len())).unwrap_or("")
        }
        (Some(start), Some(end)) => text.get(start + 1..end).unwrap_or(""),
        _ => text,
    };
    let in_c = body.len() < text.len() || body.contains("0x") || body.contains("0X");
    let words: Vec<&str> =
        body.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if let [one] = words.as_slice() {
        return of_digits(one.strip_prefix("0x").or_else(|| one.strip_prefix("0X")).unwrap_or(one));
    }
    if !in_c {
        return of_digits(&words.concat());
    }
    let bits = match words.len() {
        16 => 64,
        32 => 32,
        SIZE => 8,
        count => {
            return Err(format!("{count} numbers; an object has 16 of 64 bits, 32 of 32 or {SIZE} of 8"));
        }
    };
    let mut bytes = Vec::with_capacity(SIZE);
    for word in words {
        let number = c_number(word).filter(|number| bits == 64 || number >> bits == 0);
        let number = number.ok_or_else(|| format!("`{}` is not a number of {bits} bits", brief(word)))?;
        bytes.extend(&number.to_le_bytes()[..bits / 8]);
    }
    bytes.try_into().map_err(|_| "not 128 bytes".to_owned())
}

fn of_digits(digits: &str) -> Result<[u8; SIZE], String> {
    if let Some(wrong) = digits.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(format!("`{}` is not a hexadecimal digit", wrong.escape_debug()));
    }
    if digits.len() != 2 * SIZE {
        return Err(format!("{} hexadecimal digits; an object has {}", digits.len(), 2 * SIZE));
    }
    let mut bytes = [0; SIZE];
    for (byte, digits) in bytes.iter_mut().zip(digits.as_bytes().as_chunks::<2>().0) {
        let text = std::str::from_utf8(digits).unwrap_or_default();
        *byte = u8::from_str_radix(text, 16).unwrap_or_default();
    }
    Ok(bytes)
}

fn c_number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits.trim_end_matches(['u', 'U', 'l', 'L']), 16).ok(),
        None => word.trim_end_matches(['u', 'U', 'l', 'L']).parse().ok(),
    }
}

fn brief(word: &str) -> String {
    word.chars().take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> [u8; SIZE] {
        std::array::from_fn(|at| (at * 7) as u8)
    }

    #[test]
    fn every_text_is_read_back() {
        let object = sample();
        let words_in_c: Vec<String> = words(&object).iter().map(|word| format!("{word}ull")).collect();
        let bytes_in_c: Vec<String> = object.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let spaced: Vec<String> = object.iter().map(|byte| format!("{byte:02X}")).collect();
        let texts = [
            hex(&object),
            c(&object),
            format!("0x{}", hex(&object)),
            format!("{{{}}}", words_in_c.join(", ")),
            format!("unsigned char x[128] = {{{}}};", bytes_in_c.join(",")),
            spaced.join(" "),
            format!("[{}]", object.map(|byte| byte.to_string()).join(",")),
            format!("{{\"object\": \"{}\"}}", hex(&object)),
        ];
        for text in texts {
            assert_eq!(read(text.as_bytes()), Ok(object), "{text}");
        }
        assert_eq!(read(&object), Ok(object));
        let short = format!("{{0x1{}}}", ", 0x0".repeat(15));
        let padded = format!("{short:128}");
        assert_eq!(read(padded.as_bytes()).map(|object| object[..2] == [1, 0]), Ok(true));
    }

    #[test]
    fn what_is_no_object_says_why() {
        let cases: [(&[u8], &str); 8] = [
            (b"", "0 hexadecimal digits"),
            (b"xyz", "`x` is not"),
            (b"00ff", "4 hexadecimal digits"),
            (b"0x1, 0x2", "2 numbers"),
            (b"{}", "JSON without"),
            (b"{", "0 numbers"),
            (b"]1[", "0 numbers"),
            (b"\xff\xfe", "2 bytes that are no text"),
        ];
        for (given, wanted) in cases {
            let why = read(given).unwrap_err();
            assert!(why.contains(wanted), "{why}");
        }
        let large = vec!["0x1ffffffff"; 32].join(", ");
        assert_eq!(read(large.as_bytes()), Err("`0x1ffffffff` is not a number of 32 bits".to_owned()));
    }
}
