//! PTX text: how it is recognized, and the first directives of it.
//!
//! The driver takes a text for PTX if its first directive is `.version`; comments and white space may come before
//! it, a byte order mark may not. All else is "not an image" to it, not a syntax error. The text ends with a NUL.
//!
//! `softwarp ptxas` hands a text through and puts what it was told, where that changes results, in a comment before it:
//! `/* softwarp ptxas: -fmad false */`.

use super::compression::Budget;
use super::source::{Source, byte};
use super::{Arch, AssemblerOptions, MOST_UNPACKED, ReadError};

/// How the comment with the options of `softwarp ptxas` begins.
const TOLD: &str = "/* softwarp ptxas: ";

/// One PTX module as text, and what its container says about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text. Bytes that are not UTF-8 are replaced by U+FFFD, which no check accepts outside comments.
    pub source: String,
    /// The language version in its `.version`, major and minor, if it can be read.
    pub version: Option<(u16, u16)>,
    /// The architecture in its `.target`, if it can be read.
    pub arch: Option<Arch>,
    /// What the assembler was told when it translated it.
    pub options: AssemblerOptions,
    /// The name of the file it came from, or one that was given to it.
    pub name: Option<String>,
}

impl Text {
    /// A text from its bytes.
    pub(super) fn new(bytes: &[u8], budget: &mut Budget) -> Result<Text, ReadError> {
        budget.take(bytes.len() as u64, "PTX text")?;
        Ok(Text::from_source(String::from_utf8_lossy(bytes).into_owned()))
    }

    /// Puts line ends where NULs are.
    pub(super) fn restore_lines(&mut self) {
        *self = Text::from_source(self.source.replace('\0', "\n"));
    }

    /// A text without options and name.
    pub fn from_source(source: String) -> Text {
        let (version, arch) = directives(&source);
        Text { source, version, arch, ..Text::default() }
    }
}

/// Reads a text up to its NUL.
pub(super) fn read<'a>(source: &impl Source<'a>) -> Result<Text, ReadError> {
    if !begins_with_version(source) {
        return Err(ReadError::NotAnImage);
    }
    let too_large = ReadError::TooLarge { what: "PTX text", bytes: MOST_UNPACKED as u64 };
    let bytes = source.until_nul(MOST_UNPACKED).ok_or(too_large)?;
    let mut text = Text::new(bytes, &mut Budget::new(MOST_UNPACKED))?;
    let told = text.source.strip_prefix(TOLD).and_then(|rest| rest.split_once("*/"));
    if let Some((options, _)) = told {
        text.options = AssemblerOptions::parse(options);
    }
    Ok(text)
}

/// The bytes before the first NUL; all if there is none.
pub(super) fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Whether the first directive is `.version`. Never looks past a NUL.
fn begins_with_version<'a>(source: &impl Source<'a>) -> bool {
    let at = |place| byte(source, place).filter(|byte| *byte != 0);
    let Some(start) = skip_blank(at, 0) else { return false };
    let word = b".version";
    let same = word.iter().enumerate().all(|(offset, letter)| at(start + offset) == Some(*letter));
    same && !at(start + word.len()).is_some_and(in_word)
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Where white space and comments end. None at the end of the text.
fn skip_blank(at: impl Fn(usize) -> Option<u8>, from: usize) -> Option<usize> {
    let mut place = from;
    loop {
        match at(place)? {
            space if is_space(space) => place += 1,
            b'/' => match at(place + 1)? {
                b'/' => {
                    while at(place)? != b'\n' {
                        place += 1;
                    }
                }
                b'*' => {
                    place += 2;
                    while (at(place)?, at(place + 1)?) != (b'*', b'/') {
                        place += 1;
                    }
                    place += 2;
                }
                _ => return Some(place),
            },
            _ => return Some(place),
        }
    }
}

/// The version and the architecture in the first two directives.
fn directives(source: &str) -> (Option<(u16, u16)>, Option<Arch>) {
    let mut place = 0;
    let mut word = || {
        let start = skip_blank(|at| source.as_bytes().get(at).copied(), place)?;
        let rest = source.get(start..)?;
        let length = rest.bytes().position(|byte| !in_word(byte)).unwrap_or(rest.len());
        place = start + length;
        rest.get(..length)
    };
    if word() != Some(".version") {
        return (None, None);
    }
    let version = word().and_then(|number| {
        let (major, minor) = number.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    let arch = if word() == Some(".target") { word().and_then(Arch::from_name) } else { None };
    (version, arch)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str =
        "// made by hand\n/* .version */\t.version 8.0\n.target sm_90a, debug\n.address_size 64\n";

    #[test]
    fn ptx_is_recognized() {
        let text = read(&SMALL.as_bytes()).expect("PTX");
        assert_eq!(text.source, SMALL);
        assert_eq!((text.version, text.arch), (Some((8, 0)), Arch::from_name("sm_90a")));
        let cut = [SMALL.as_bytes(), b"\0rest"].concat();
        assert_eq!(read(&&*cut).expect("PTX"), text);
        assert_eq!(read(&b".version".as_slice()).expect("PTX").version, None);
        assert_eq!(read(&b".version 9.x .target 90".as_slice()).expect("PTX").arch, None);
    }

    #[test]
    fn options_before_a_text_are_read() {
        let with = |comment: &str| read(&format!("{comment}{SMALL}").as_bytes()).expect("PTX").options;
        assert_eq!(with("/* softwarp ptxas: -fmad false */ ").fmad, Some(false));
        assert_eq!(with("/* softwarp ptxas: */"), AssemblerOptions::default());
        assert_eq!(with("// softwarp ptxas: -fmad false\n"), AssemblerOptions::default());
        assert_eq!(with("/* ptxas: -fmad false */"), AssemblerOptions::default());
    }

    #[test]
    fn all_else_is_not_an_image() {
        let texts = [
            "",
            "   \n",
            "this is not PTX\n",
            ".target sm_90\n",
            ".versions 8.0",
            ".vers\0ion 8.0",
            "\u{feff}.version 8.0",
            "// .version 8.0",
            "/* .version 8.0",
            "/",
            "/ .version",
            "/*/.version 8.0",
        ];
        for text in texts {
            assert_eq!(read(&text.as_bytes()), Err(ReadError::NotAnImage), "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced() {
        let text = read(&b".version 8.0\n// \xff\xfe\n".as_slice()).expect("PTX");
        assert_eq!(text.source, ".version 8.0\n// \u{fffd}\u{fffd}\n");
    }

    /// Counts how far a reader looks.
    struct Watched<'a>(&'a [u8], std::cell::Cell<usize>);

    impl<'a> Source<'a> for Watched<'a> {
        fn bytes(&self, from: usize, count: usize) -> Option<&'a [u8]> {
            self.1.set(self.1.get().max(from + count));
            self.0.bytes(from, count)
        }

        fn until_nul(&self, most: usize) -> Option<&'a [u8]> {
            self.0.until_nul(most)
        }
    }

    #[test]
    fn no_byte_after_a_nul_is_asked_for() {
        let texts: [&[u8]; 9] =
            [b"", b"P", b"\x7fELF", b"\x7fE", b"\x50\xed\x55", b"  ", b"// x", b"/*", b".vers"];
        for text in texts {
            let bytes = [text, b"\0\x02\x01more"].concat();
            let watched = Watched(&bytes, std::cell::Cell::new(0));
            assert_eq!(super::super::read(&watched), Err(ReadError::NotAnImage), "{text:?}");
            assert!(watched.1.get() <= text.len() + 1, "{text:?}: {}", watched.1.get());
        }
    }
}
