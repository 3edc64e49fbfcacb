//! URIs of files, and their paths.

use crate::protocol::Uri;
use std::path::{Path, PathBuf};

/// The path of a `file:` URI on this machine.
pub fn to_path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.0.strip_prefix("file://")?;
    // `file://localhost/x` and `file:///x` are the same.
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => bytes.push(hex(rest.next()?)? * 16 + hex(rest.next()?)?),
            byte => bytes.push(byte),
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    // `/C:/x` is `C:/x` on Windows.
    let drive = path.as_bytes().get(2) == Some(&b':') && cfg!(windows);
    Some(PathBuf::from(if drive { &path[1..] } else { &path }))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

/// The URI of a path, which is absolute.
pub fn of_path(path: &Path) -> Uri {
    let path = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from("file://");
    if !path.starts_with('/') {
        uri.push('/');
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                uri.push(byte.into());
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris() {
        let path = Path::new("/tmp/a b/\u{e9}#.ptx");
        let uri = of_path(path);
        assert_eq!(uri.0, "file:///tmp/a%20b/%C3%A9%23.ptx");
        assert_eq!(to_path(&uri).as_deref(), Some(path));
        for bad in ["untitled:1", "file:", "file://x", "file:///%", "file:///%zz", "file:///%ff"] {
            assert_eq!(to_path(&Uri(bad.to_owned())), None, "{bad}");
        }
    }
}
