//! Messages between a worker and who started it: JSON, and the bytes that it speaks of behind it.

use crate::driver::Device;
use crate::error::Failure;
use crate::job::{Blob, Job};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// What a worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// It is there, with this device.
    Ready(Device),
    /// The module is compiled.
    Loaded,
    /// It is done: what was read back, and where the buffers were.
    Done(Vec<(String, Blob)>, Vec<(String, u64)>),
    /// It failed.
    Failed(Failure),
}

/// The longest JSON of a message, and the most bytes in one piece.
const MOST: u64 = 1 << 40;

/// Writes a message.
pub fn send(to: &mut dyn Write, message: &impl Serialize, blobs: &[Vec<u8>]) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    to.write_all(&(json.len() as u64).to_le_bytes())?;
    to.write_all(&json)?;
    to.write_all(&(blobs.len() as u64).to_le_bytes())?;
    for blob in blobs {
        to.write_all(&(blob.len() as u64).to_le_bytes())?;
        to.write_all(blob)?;
    }
    to.flush()
}

/// Writes a job.
pub fn send_job(to: &mut dyn Write, job: &Job) -> io::Result<()> {
    send(to, job, &job.blobs)
}

/// Reads a message.
pub fn receive<T: DeserializeOwned>(from: &mut dyn Read) -> io::Result<(T, Vec<Vec<u8>>)> {
    let json = piece(from)?;
    let message = serde_json::from_slice(&json)?;
    let count = number(from)?;
    let mut blobs = Vec::new();
    for _ in 0..count {
        blobs.push(piece(from)?);
    }
    Ok((message, blobs))
}

fn number(from: &mut dyn Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn piece(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let length = number(from)?;
    if length > MOST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let mut job = Job { modules: vec!["ü".to_owned()], ..Job::default() };
        job.blob(vec![1, 2, 3]);
        job.blob(Vec::new());
        let mut stream = Vec::new();
        send_job(&mut stream, &job).expect("written");
        let (read, blobs) = receive::<Job>(&mut stream.as_slice()).expect("read");
        assert_eq!((read.modules, blobs), (job.modules, job.blobs));
        for length in 0..stream.len() {
            assert!(receive::<Job>(&mut &stream[..length]).is_err(), "{length}");
        }
    }
}
