//! Kernels by name: as the PTX has it, or as C++ does.

use super::CommandError;
use softwarp::demangle::demangled;
use softwarp::image::Image;
use softwarp::isa::nearest;

/// How many kernels are listed.
const MOST: usize = 20;

/// The names of an image's kernels.
pub fn of_image(image: &Image) -> Vec<&str> {
    image.functions.iter().filter(|one| one.entry && one.defined).map(|one| &*one.name).collect()
}

/// Without the arguments of the last template: `a::two` of `a::two<float>`.
fn without_arguments(name: &str) -> &str {
    let mut depth = 0;
    if !name.ends_with('>') {
        return name;
    }
    for (at, one) in name.char_indices().rev() {
        depth += i32::from(one == '>') - i32::from(one == '<');
        if depth == 0 {
            return &name[..at];
        }
    }
    name
}

/// Whether C++ would call a kernel so: by its name, with or without what is before `::`, the arguments of its template
/// and its parameters.
fn is_called(kernel: &str, wanted: &str) -> bool {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let wanted = squeeze(wanted);
    let Some(name) = demangled(kernel, false) else { return false };
    let full = demangled(kernel, true).unwrap_or_default();
    [full.as_str(), name.as_str(), without_arguments(&name)].iter().any(|form| {
        let form = squeeze(form);
        form == wanted || form.strip_suffix(&wanted).is_some_and(|before| before.ends_with("::"))
    })
}

/// A kernel's name for people: with that of C++ if it has one.
fn shown(kernel: &str) -> String {
    match demangled(kernel, true) {
        Some(name) => format!("`{kernel}` ({name})"),
        None => format!("`{kernel}`"),
    }
}

fn list(kernels: &[&str]) -> String {
    let more = kernels.len().saturating_sub(MOST);
    let mut names: Vec<String> = kernels.iter().take(MOST).map(|name| shown(name)).collect();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// The kernel that is meant; without a name, the only one.
pub fn find<'a>(kernels: &[&'a str], wanted: Option<&String>) -> Result<&'a str, CommandError> {
    let Some(wanted) = wanted else {
        return match kernels {
            [name] => Ok(name),
            [] => Err(CommandError::Input("the module has no kernel".to_owned())),
            [first, ..] => Err(CommandError::usage(format!(
                "the module has {} kernels: choose one, as in --kernel {first}: {}",
                kernels.len(),
                list(kernels)
            ))),
        };
    };
    if let Some(name) = kernels.iter().find(|name| *name == wanted) {
        return Ok(name);
    }
    let called: Vec<&str> = kernels.iter().copied().filter(|name| is_called(name, wanted)).collect();
    let given: String = wanted.chars().take(80).flat_map(char::escape_debug).collect();
    match called.as_slice() {
        [name] => Ok(name),
        [] if kernels.is_empty() => Err(CommandError::Input("the module has no kernel".to_owned())),
        [] => {
            let meant = nearest(wanted, kernels.iter().copied());
            let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            Err(CommandError::usage(format!(
                "there is no kernel `{given}`: there is {}{meant}",
                list(kernels)
            )))
        }
        several => Err(CommandError::usage(format!(
            "`{given}` can be {} kernels: {}; give the whole name of one",
            several.len(),
            list(several)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: &[&str] =
        &["plain", "_Z3twoIfEvPT_i", "_Z3oneIfEvPT_i", "_Z3oneIiEvPT_i", "_ZN1a1b5threeEPf", "_Z3"];

    fn found(wanted: &str) -> Result<&'static str, String> {
        find(KERNELS, Some(&wanted.to_owned())).map_err(|error| error.line().unwrap_or_default().to_owned())
    }

    #[test]
    fn kernels_are_found_by_their_names_in_cpp() {
        for (wanted, kernel) in [
            ("plain", "plain"),
            ("two", "_Z3twoIfEvPT_i"),
            ("two<float>", "_Z3twoIfEvPT_i"),
            ("two<float>(float*, int)", "_Z3twoIfEvPT_i"),
            ("one< int >", "_Z3oneIiEvPT_i"),
            ("three", "_ZN1a1b5threeEPf"),
            ("b::three", "_ZN1a1b5threeEPf"),
            ("a::b::three(float*)", "_ZN1a1b5threeEPf"),
            ("_Z3", "_Z3"),
        ] {
            assert_eq!(found(wanted), Ok(kernel), "{wanted}");
        }
        assert_eq!(
            found("one"),
            Err("`one` can be 2 kernels: `_Z3oneIfEvPT_i` (one<float>(float*, int)), `_Z3oneIiEvPT_i` \
                 (one<int>(int*, int)); give the whole name of one"
                .to_owned())
        );
        for absent in ["hree", "tw", "c::three", "", "two<int>"] {
            let error = found(absent).expect_err(absent);
            assert!(error.starts_with(&format!("there is no kernel `{absent}`")), "{error}");
            assert!(error.contains("`_ZN1a1b5threeEPf` (a::b::three(float*))"), "{error}");
        }
        assert_eq!(find(&["k"], None), Ok("k"));
        assert!(find(KERNELS, None).is_err() && find(&[], None).is_err());
    }
}
