//! A search for bytes, in blocks that compilers turn into vector instructions: most of what is searched is looked at
//! once.

/// How many places are looked at together.
const BLOCK: usize = 64;

/// Where `needle` is in `hay`, at or after `from`.
pub fn find(hay: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let (first, last) = (needle.first()?, needle.last()?);
    let distance = needle.len() - 1;
    let firsts = hay.get(from..hay.len().checked_sub(distance)?)?;
    let lasts = &hay[from + distance..];
    let mut begin = from;
    for (firsts, lasts) in firsts.chunks(BLOCK).zip(lasts.chunks(BLOCK)) {
        if may_have(firsts, lasts, *first, *last) {
            let here = &hay[begin..begin + firsts.len() + distance];
            if let Some(at) = here.windows(needle.len()).position(|window| window == needle) {
                return Some(begin + at);
            }
        }
        begin += firsts.len();
    }
    None
}

/// Whether a place has both bytes.
fn may_have(firsts: &[u8], lasts: &[u8], first: u8, last: u8) -> bool {
    let both = |(one, other): (&u8, &u8)| u8::from(*one == first) & u8::from(*other == last);
    // Of a known length, this has no loop.
    let found = match (firsts.first_chunk::<BLOCK>(), lasts.first_chunk::<BLOCK>()) {
        (Some(firsts), Some(lasts)) => firsts.iter().zip(lasts).map(both).fold(0, |any, one| any | one),
        _ => firsts.iter().zip(lasts).map(both).fold(0, |any, one| any | one),
    };
    found != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_windows_find() {
        let hay = [&b"abcabcabdabcab\0cab"[..], &[b'c'; 200], b"abdabd\0"].concat();
        let hay = hay.as_slice();
        for needle in [
            &b"a"[..],
            b"ab",
            b"abd",
            b"cab",
            b"\0cab",
            b"bcabd",
            b"zz",
            hay,
            b"cabdab",
            b"abdabd\0",
            b"ccab",
        ] {
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
