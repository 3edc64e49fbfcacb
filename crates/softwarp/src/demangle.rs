//! Names of C++ for people: a mangled name as the source has it, and the part of it that matters most.

use cpp_demangle::{DemangleOptions, Symbol};

/// The longest name that is read as one of C++.
const LONGEST: usize = 4096;

/// What C++ calls a function or variable; with the parameters of functions, or without. `None` if the name is not
/// mangled.
pub fn demangled(name: &str, parameters: bool) -> Option<String> {
    let symbol = Symbol::new(name).ok().filter(|_| name.starts_with("_Z") && name.len() <= LONGEST)?;
    let options = DemangleOptions::new().no_return_type();
    let options = if parameters { options } else { options.no_params() };
    symbol.demangle_with_options(&options).ok()
}

/// The last part of a C++ name: `tile` of `ns::kernel<float>(float*)::tile`. Other names as they are.
pub fn last_part(name: &str) -> String {
    let Some(full) = demangled(name, false) else { return name.to_owned() };
    let (mut depth, mut start) = (0, 0);
    let bytes = full.as_bytes();
    for (at, one) in bytes.iter().enumerate() {
        match one {
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' | b')' | b'}' | b']' => depth -= 1,
            b':' if depth == 0 && at > 0 && bytes[at - 1] == b':' => start = at + 1,
            _ => {}
        }
    }
    full.get(start..).filter(|part| !part.is_empty()).map_or(full.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_read() {
        assert_eq!(demangled("_Z5scalePff", true).as_deref(), Some("scale(float*, float)"));
        assert_eq!(demangled("_Z5scalePff", false).as_deref(), Some("scale"));
        assert_eq!(demangled("scale", true), None);
        assert_eq!(demangled("_Z", true), None);
        for (name, last) in [
            ("_ZZ5scalePffE4tile", "tile"),
            ("_ZN2ns4dataE", "data"),
            ("_ZN2ns3twoIN1a1bEEEvv", "two<a::b>"),
            ("plain", "plain"),
        ] {
            assert_eq!(last_part(name), last);
        }
    }
}
