//! Where NVIDIA's library may be.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The names of the library, the newest first.
const NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Folders of packages within a folder of Python packages.
const PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// Folders of libraries within a folder of the CUDA toolkit.
const TOOLKIT: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];

/// The library by a name first, if the name is one of the library's; then by the others. `own` is this library.
pub fn candidates(name: &str, own: Option<&Path>, python: &[PathBuf]) -> Vec<PathBuf> {
    if let Some(path) = env::var_os("SOFTWARP_NVRTC").filter(|path| !path.is_empty()) {
        return vec![path.into()];
    }
    let folders = folders(python);
    let mut names: Vec<&str> = NAMES.iter().copied().filter(|&it| it == name).collect();
    names.extend(NAMES.iter().filter(|&&it| it != name));
    let own = own.and_then(|path| fs::canonicalize(path).ok());
    let all = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.filter(|path| path.is_file() && fs::canonicalize(path).ok() != own).collect()
}

/// All folders, in the order in which programs would look.
fn folders(python: &[PathBuf]) -> Vec<PathBuf> {
    let split =
        |name: &str| env::split_paths(&env::var_os(name).unwrap_or_default()).collect::<Vec<PathBuf>>();
    let mut folders = split("LD_LIBRARY_PATH");
    folders.extend(python.iter().flat_map(|packages| PACKAGES.iter().map(move |part| packages.join(part))));
    let mut toolkits: Vec<PathBuf> = ["CUDA_PATH", "CUDA_HOME"]
        .iter()
        .filter_map(env::var_os)
        .filter(|value: &OsString| !value.is_empty())
        .map(PathBuf::from)
        .collect();
    // A toolkit's compiler is in `bin` beside its libraries.
    let compiler = split("PATH").into_iter().map(|folder| folder.join("nvcc")).find(|path| path.is_file());
    let bin = compiler.and_then(|path| fs::canonicalize(path).ok());
    toolkits.extend(bin.iter().filter_map(|path| path.parent()?.parent()).map(Path::to_owned));
    toolkits.push("/usr/local/cuda".into());
    folders.extend(toolkits.iter().flat_map(|toolkit| TOOLKIT.iter().map(move |part| toolkit.join(part))));
    folders.extend(["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"].map(PathBuf::from));
    folders.retain(|folder| folder.is_absolute());
    folders
}

/// Folders of Python packages that the process has libraries from: `maps` is what Linux says about its memory.
pub fn python_packages(maps: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        let Some(start) = line.find('/') else { continue };
        let path = Path::new(&line[start..]);
        let is_packages = |folder: &&Path| {
            folder.file_name().is_some_and(|name| name == "site-packages" || name == "dist-packages")
        };
        if let Some(folder) = path.ancestors().find(is_packages)
            && !found.iter().any(|there| there == folder)
        {
            found.push(folder.to_owned());
        }
    }
    found
}

/// Folders of packages of the Python interpreters that `VIRTUAL_ENV` and `PATH` name.
pub fn installed_packages() -> Vec<PathBuf> {
    let environment = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let paths = env::var_os("PATH").unwrap_or_default();
    let with_python = env::split_paths(&paths).filter(|folder| folder.join("python3").is_file());
    let prefixes =
        environment.into_iter().chain(with_python.filter_map(|bin| Some(bin.parent()?.to_owned())));
    let libraries = prefixes.filter_map(|prefix| fs::read_dir(prefix.join("lib")).ok()).flatten().flatten();
    libraries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|entry| ["site-packages", "dist-packages"].map(|name| entry.path().join(name)))
        .filter(|folder| folder.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_what_is_loaded_from_them() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 12 /v/lib/python3.11/site-packages/cuda/bindings/a.so\n\
                    7f02-7f03 r--p 00000000 08:01 13 /v/lib/python3.11/site-packages/numpy/b.so\n\
                    7f04-7f05 rw-p 00000000 00:00 0 \n\
                    7f06-7f07 r-xp 00000000 08:01 14 /usr/lib/libc.so.6\n";
        assert_eq!(python_packages(maps), [PathBuf::from("/v/lib/python3.11/site-packages")]);
        assert!(python_packages("").is_empty());
    }

    #[test]
    fn the_library_itself_is_not_a_candidate() {
        let folder = env::temp_dir().join(format!("softwarp-nvrtc-{}", std::process::id()));
        let packages = folder.join("site-packages");
        let real = packages.join(PACKAGES[0]);
        fs::create_dir_all(&real).expect("made");
        fs::write(real.join(NAMES[0]), "x").expect("written");
        let python = [packages.clone()];
        let path = real.join(NAMES[0]);
        assert!(candidates(NAMES[0], None, &python).contains(&path));
        assert!(!candidates(NAMES[0], Some(&path), &python).contains(&path));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
