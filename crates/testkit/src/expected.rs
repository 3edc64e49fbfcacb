//! Texts that are compared with a file of the repository.

use std::path::Path;

/// Whether the environment asks for expected files to be written anew: `SOFTWARP_BLESS=1`.
pub fn bless() -> bool {
    std::env::var_os("SOFTWARP_BLESS").is_some()
}

/// Fails unless the file holds this text. With `SOFTWARP_BLESS` set, writes the file instead.
#[track_caller]
pub fn assert_file(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    if bless() {
        std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if let Some(difference) = first_difference(&expected, text) {
        panic!(
            "{}: {difference}\nSOFTWARP_BLESS=1 writes the file anew; read the difference before you keep it",
            path.display()
        );
    }
}

/// The first line in which two texts differ.
fn first_difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (mut left, mut right) = (expected.split('\n'), found.split('\n'));
    let mut line = 1;
    loop {
        match (left.next(), right.next()) {
            (Some(left), Some(right)) if left == right => line += 1,
            (left, right) => {
                let show = |text: Option<&str>| text.map_or("nothing".to_owned(), |text| format!("{text:?}"));
                return Some(format!("line {line} should be {}, not {}", show(left), show(right)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        let found = first_difference("a\nb\n", "a\nc\n");
        assert_eq!(found.as_deref(), Some("line 2 should be \"b\", not \"c\""));
        let found = first_difference("a", "a\nb");
        assert_eq!(found.as_deref(), Some("line 2 should be nothing, not \"b\""));
    }
}
