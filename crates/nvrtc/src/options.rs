//! Options of compilations.

/// Whether `-lineinfo` is to be added: an option names a real architecture, so that machine code is made, and line
/// numbers are not asked for already.
pub fn needs_line_info(options: &[String]) -> bool {
    let is_real = |option: &String| {
        let value = option.rsplit('=').next().unwrap_or_default().trim();
        value.strip_prefix("sm_").is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
    };
    let has_lines = |option: &String| {
        ["-lineinfo", "--generate-line-info", "-G", "--device-debug"].contains(&option.as_str())
    };
    options.iter().any(is_real) && !options.iter().any(has_lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(options: &[&str]) -> bool {
        needs_line_info(&options.iter().map(|&option| option.to_owned()).collect::<Vec<String>>())
    }

    #[test]
    fn machine_code_needs_it() {
        assert!(needs(&["--gpu-architecture=sm_90"]));
        assert!(needs(&["-arch", "sm_100a", "-std=c++17"]));
        assert!(needs(&["-arch=sm_75"]));
    }

    #[test]
    fn ptx_does_not_and_nobody_needs_it_twice() {
        assert!(!needs(&[]));
        assert!(!needs(&["--gpu-architecture=compute_90"]));
        assert!(!needs(&["-arch=sm_90", "-lineinfo"]));
        assert!(!needs(&["-arch=sm_90", "-G"]));
        assert!(!needs(&["-DNAME=sm_art"]));
    }
}
