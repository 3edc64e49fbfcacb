//! Messages of the Debug Adapter Protocol: JSON behind a header with its length, on standard input and output.

use serde_json::{Value as Json, json};
use std::io::{self, BufRead, Read, Write};
use std::sync::{Mutex, PoisonError};

/// The longest message that is read.
const LONGEST: usize = 16 << 20;

/// The most lines of a header.
const MOST_LINES: usize = 32;

/// The longest line of a header.
const LONGEST_LINE: u64 = 4096;

/// Reads a message; none at the end.
pub fn read(input: &mut impl BufRead) -> io::Result<Option<Json>> {
    let mut length = None;
    for _ in 0..MOST_LINES {
        let mut line = String::new();
        if input.by_ref().take(LONGEST_LINE).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let length = length.ok_or_else(|| wrong("a message has no Content-Length"))?;
    if length > LONGEST {
        return Err(wrong("a message is longer than 16 MiB"));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| wrong(&error.to_string()))
}

/// Writes messages, each with a number.
pub struct Writer {
    state: Mutex<(Box<dyn Write + Send>, u64)>,
}

impl Writer {
    /// Writes to a stream.
    pub fn new(out: Box<dyn Write + Send>) -> Writer {
        Writer { state: Mutex::new((out, 1)) }
    }

    fn send(&self, mut message: Json) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (out, number) = &mut *state;
        message["seq"] = (*number).into();
        *number += 1;
        let text = message.to_string();
        // An editor that is gone closes its end, which ends the session.
        let _ = write!(out, "Content-Length: {}\r\n\r\n{text}", text.len());
        let _ = out.flush();
    }

    /// Sends an event.
    pub fn event(&self, name: &str, body: Json) {
        self.send(json!({"type": "event", "event": name, "body": body}));
    }

    /// Answers a request.
    pub fn answer(&self, request: &Json, answer: Result<Json, String>) {
        let mut message = json!({
            "type": "response",
            "request_seq": request["seq"],
            "command": request["command"],
            "success": answer.is_ok(),
        });
        match answer {
            Ok(body) => message["body"] = body,
            Err(why) => {
                message["message"] = why.as_str().into();
                message["body"] = json!({"error": {"id": 1, "format": why, "showUser": true}});
            }
        }
        self.send(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_framed() {
        let mut text: &[u8] = b"Content-Length: 13\r\nX: y\r\n\r\n{\"seq\": 1234}Content-Length: 2\r\n\r\n{}";
        assert_eq!(read(&mut text).expect("a message"), Some(json!({"seq": 1234})));
        assert_eq!(read(&mut text).expect("a message"), Some(json!({})));
        assert_eq!(read(&mut text).expect("the end"), None);
        for wrong in ["\r\n{}", "Content-Length: 99999999999\r\n\r\n", "Content-Length: 5\r\n\r\n{}"] {
            assert!(read(&mut wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
