//! The known name nearest to a misspelt one.

/// How many single-character insertions, deletions and replacements turn one into the other; letters
/// differ only in kind, not in case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let a = a.to_ascii_lowercase();
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A text longer than this is no misspelling of a name, and not worth the time to compare.
const LONGEST: usize = 40;

/// The nearest of `known` to `name`, if it is near enough to have been meant: a quarter of its letters
/// wrong (one at least), or only its beginning written. The first of several equally near wins.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let cut_short = name.len() >= 3 && candidate.starts_with(name);
        let distance = if cut_short { 1 } else { distance(name, candidate) };
        let tolerance = (candidate.len() / 4).max(1);
        if distance <= tolerance && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let known = ["rn", "rni", "satfinite", "scaled::n1::ue8m0", "scaled::n2::ue8m0", "f32", "e4m3x2"];
        let near = |name| nearest(name, known);
        assert_eq!(near("satfinit"), Some("satfinite"));
        assert_eq!(near("SatFinite"), Some("satfinite"));
        assert_eq!(near("e4m3x"), Some("e4m3x2"));
        assert_eq!(near("scaled::n2"), Some("scaled::n2::ue8m0"));
        assert_eq!(near("fp32"), Some("f32"));
        assert_eq!(near("u32x2"), None);
        assert_eq!(near("banana"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"r".repeat(1 << 20)), None);
    }
}
