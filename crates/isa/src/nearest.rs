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

/// The one of `known` that differs from `name` by a single slip: a letter too many, too few, or wrong, two that changed
/// places, or capitals. `None` if it is none of them, or could be several.
pub fn only_slip<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    match slips(name, known)[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// All of `known` that differ from `name` by a single slip, each once. If only capitals are wrong it is that one.
pub(crate) fn slips<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut near: Vec<&str> = known.into_iter().filter(|known| is_slip(name, known)).collect();
    near.sort_unstable();
    near.dedup();
    match near.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(&same) => vec![same],
        None => near,
    }
}

/// Whether one text is the other with a single slip.
fn is_slip(name: &str, known: &str) -> bool {
    // Every other word is near to one of a single letter.
    name.len() <= LONGEST && known.len() >= 2 && (distance(name, known) <= 1 || is_swapped(name, known))
}

/// Whether two neighbouring letters have changed places.
fn is_swapped(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let first = a.iter().zip(b).position(|(a, b)| a != b);
    first.is_some_and(|at| {
        a.len() == b.len()
            && at + 1 < a.len()
            && a[at] == b[at + 1]
            && a[at + 1] == b[at]
            && a[at + 2..] == b[at + 2..]
    })
}

#[cfg(test)]
mod tests {
    use super::{nearest, only_slip};

    #[test]
    fn a_slip_is_certain_if_there_is_one() {
        let known = ["f32", "f64", "s32", "rn", "rz", "satfinite"];
        assert_eq!(only_slip("f23", known), Some("f32"));
        assert_eq!(only_slip("F32", known), Some("f32"));
        assert_eq!(only_slip("satfinit", known), Some("satfinite"));
        assert_eq!(only_slip("stafinite", known), Some("satfinite"));
        // Either of two.
        assert_eq!(only_slip("32", known), None);
        assert_eq!(only_slip("rx", known), None);
        assert_eq!(only_slip("sat", known), None);
    }

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
