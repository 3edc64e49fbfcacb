//! Messages on a stream: a header with the length, then JSON.
//!
//! What is no message is answered with an error and passed over; only a header without a length ends the reading, since
//! the start of the next message is unknown then.

use crate::protocol::{ErrorCode, Message, RequestId, json};
use crate::run::Outcome;
use std::io::{self, BufRead, Read};

/// The longest message that is read. A document of 4 GiB cannot be opened; one of this size can.
const LONGEST: usize = 1 << 30;
/// The most bytes of a header line.
const LONGEST_HEADER: u64 = 8192;

/// What comes from the client.
#[derive(Debug)]
pub enum Incoming {
    /// A request, a notification or a response.
    Message(Message),
    /// JSON that is none of these, or no JSON: why, and the code of the error.
    Malformed(ErrorCode, String),
    /// A run has ended.
    Ran(RequestId, Box<Outcome>),
    /// The stream ended, or cannot be read any further.
    End(Option<String>),
}

/// Reads the next message.
pub fn read(input: &mut impl BufRead) -> Incoming {
    let length = match length(input) {
        Ok(Some(length)) => length,
        Ok(None) => return Incoming::End(None),
        Err(error) => return Incoming::End(Some(error.to_string())),
    };
    let mut bytes = Vec::new();
    match Read::take(&mut *input, length as u64).read_to_end(&mut bytes) {
        Ok(read) if read == length => {}
        Ok(_) => return Incoming::End(Some("the stream ends inside of a message".to_owned())),
        Err(error) => return Incoming::End(Some(error.to_string())),
    }
    match json::parse(&bytes).map(Message::of) {
        Err(error) => Incoming::Malformed(ErrorCode::ParseError, format!("this is not JSON: {error}")),
        Ok(Some(message)) => Incoming::Message(message),
        Ok(None) => {
            let why = "this is not a message: a request has `id` and `method`, a notification `method`";
            Incoming::Malformed(ErrorCode::InvalidRequest, why.to_owned())
        }
    }
}

/// Reads a header; gives the length of what follows. `None` at the end of the stream.
fn length(input: &mut impl BufRead) -> io::Result<Option<usize>> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut length = None;
    loop {
        let mut line = Vec::new();
        Read::take(&mut *input, LONGEST_HEADER).read_until(b'\n', &mut line)?;
        if line.is_empty() && length.is_none() {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            let length = length.ok_or_else(|| wrong("a header without Content-Length".to_owned()))?;
            return Ok(Some(length));
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| wrong("a header line without `:`".to_owned()))?;
        if name.eq_ignore_ascii_case("content-length") {
            let number = value.trim().parse::<usize>().ok().filter(|&number| number <= LONGEST);
            length = Some(number.ok_or_else(|| wrong(format!("Content-Length is at most {LONGEST}")))?);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn what_is_no_message_is_passed_over() {
        let texts = ["{", "[]", "{\"x\":1}", "{\"method\":\"a\"}"];
        let stream: String = texts.iter().map(|text| framed(text)).collect();
        let mut input = stream.as_bytes();
        let mut codes = Vec::new();
        loop {
            match read(&mut input) {
                Incoming::Malformed(code, _) => codes.push(code),
                Incoming::Message(message) => assert!(matches!(message, Message::Notification(_))),
                Incoming::End(why) => break assert_eq!(why, None),
                Incoming::Ran(..) => panic!("nothing was run"),
            }
        }
        use ErrorCode::{InvalidRequest, ParseError};
        assert_eq!(codes, [ParseError, InvalidRequest, InvalidRequest]);
    }

    #[test]
    fn headers_that_say_nothing_end_the_reading() {
        let ends = [
            "x\r\n\r\n",
            "A: b\r\n\r\n",
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 10\r\n\r\n{}",
        ];
        for stream in ends {
            let mut input = stream.as_bytes();
            assert!(matches!(read(&mut input), Incoming::End(Some(_))), "{stream:?}");
        }
        assert!(matches!(read(&mut &b""[..]), Incoming::End(None)));
    }
}
