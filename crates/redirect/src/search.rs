//! A search for bytes, by Horspool's algorithm: most of what is searched is skipped.

/// Where `needle` is in `hay`, at or after `from`.
pub fn find(hay: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let (last, front) = needle.split_last()?;
    // How far the needle may be moved if a byte is under its last one.
    let mut skips = [needle.len(); 256];
    for (index, byte) in front.iter().enumerate() {
        skips[usize::from(*byte)] = front.len() - index;
    }
    let mut end = from.checked_add(front.len())?;
    while let Some(byte) = hay.get(end) {
        let begin = end - front.len();
        if byte == last && &hay[begin..end] == front {
            return Some(begin);
        }
        end = end.checked_add(skips[usize::from(*byte)])?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_windows_find() {
        let hay = b"abcabcabdabcab\0cab";
        for needle in
            [&b"a"[..], b"ab", b"abd", b"cab", b"\0cab", b"bcabd", b"zz", hay, b"abcabcabdabcab\0cabx"]
        {
            for from in 0..=hay.len() + 1 {
                let rest = hay.get(from..).unwrap_or_default();
                let plain = rest.windows(needle.len()).position(|window| window == needle);
                assert_eq!(find(hay, needle, from), plain.map(|at| at + from), "{needle:?} from {from}");
            }
        }
        assert_eq!(find(hay, b"", 0), None);
        assert_eq!(find(hay, b"ab", usize::MAX), None);
    }
}
