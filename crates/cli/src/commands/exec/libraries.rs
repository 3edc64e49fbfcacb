//! The libraries that programs load: where they are, and a folder in which they have the names that programs look for.

use super::super::{CommandError, remark};
use super::program::Program;
use softwarp_redirect::loader::Way;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of nvJitLink's library in the folder.
pub const NVJITLINK: &str = "libnvJitLink.so.13";

/// A library: the name that cargo gives it, the package that it is built from, and the names that programs look for.
struct Library {
    file: &'static str,
    package: &'static str,
    names: &'static [&'static str],
}

const DRIVER: Library =
    Library { file: "libcuda.so", package: "softwarp-cuda", names: &["libcuda.so.1", "libcuda.so"] };
const RUNTIME: Library = Library {
    file: "libcudart.so",
    package: "softwarp-cudart",
    names: &["libcudart.so.13", "libcudart.so.12", "libcudart.so"],
};
const LINKER: Library =
    Library { file: "libnvjitlink.so", package: "softwarp-nvjitlink", names: &[NVJITLINK] };

const COMPILER: Library = Library {
    file: "libnvrtc.so",
    package: "softwarp-nvrtc",
    names: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"],
};

/// Redirects runtimes that are linked into programs, where the loader has auditors that cost nothing.
const AUDITOR: Library =
    Library { file: "libsoftwarp_audit.so", package: "softwarp-audit", names: &["libsoftwarp_audit.so"] };

/// Redirects runtimes that are linked into programs, where the loader is older: it is preloaded.
const PRELOADED: Library = Library {
    file: "libsoftwarp_preload.so",
    package: "softwarp-preload",
    names: &["libsoftwarp_preload.so"],
};

/// The libraries that were found, by their paths.
#[derive(Debug)]
pub struct Libraries {
    driver: PathBuf,
    runtime: Option<PathBuf>,
    linker: Option<PathBuf>,
    compiler: Option<PathBuf>,
    auditor: Option<PathBuf>,
    preloaded: Option<PathBuf>,
}

impl Libraries {
    /// Looks in the folder that the user names; else beside the executable, as cargo puts them, and where packages
    /// have libraries.
    pub fn find(lib: Option<PathBuf>) -> Result<Libraries, CommandError> {
        let set = std::env::var_os("SOFTWARP_LIB").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let folders = match lib.or(set) {
            Some(folder) => vec![folder],
            None => beside_executable(),
        };
        let find = |library: &Library| {
            let found = folders.iter().map(|folder| folder.join(library.file)).find(|path| path.is_file());
            found.and_then(|path| fs::canonicalize(path).ok())
        };
        let driver = find(&DRIVER).ok_or_else(|| {
            let looked: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            CommandError::Usage(format!(
                "{} is not in {}; `cargo build --release` builds it, and --lib or SOFTWARP_LIB says where it is",
                DRIVER.file,
                looked.join(", ")
            ))
        })?;
        let (runtime, linker, compiler) = (find(&RUNTIME), find(&LINKER), find(&COMPILER));
        let (auditor, preloaded) = (find(&AUDITOR), find(&PRELOADED));
        Ok(Libraries { driver, runtime, linker, compiler, auditor, preloaded })
    }

    /// Says what a program will lack.
    pub fn warn_about(&self, program: &Program) {
        if program.has_other_rights() {
            remark(
                "softwarp: warning: the program is set-user-ID or set-group-ID: the loader ignores LD_LIBRARY_PATH and \
                 LD_AUDIT, so that it does not use softwarp's libraries",
            );
        }
        if self.runtime.is_none() && program.names_library("libcudart.so") {
            remark(&format!(
                "softwarp: warning: the program needs {}, which was not found beside {}; `cargo build --release -p {}` \
                 builds it",
                RUNTIME.names[0],
                self.driver.display(),
                RUNTIME.package
            ));
        }
    }

    /// Makes a folder of links.
    pub fn link(&self) -> Result<Folder, CommandError> {
        let folder = Folder::new().map_err(|error| {
            CommandError::Io(format!("cannot make a folder in {}: {error}", std::env::temp_dir().display()))
        })?;
        let compiler = self.compiler.as_ref().map(|path| folder.make_toolkit(path)).transpose();
        let compiler =
            compiler.map_err(|error| CommandError::Io(format!("cannot copy {}: {error}", COMPILER.file)))?;
        let parts = [
            (&DRIVER, Some(&self.driver)),
            (&RUNTIME, self.runtime.as_ref()),
            (&LINKER, self.linker.as_ref()),
            (&COMPILER, compiler.as_ref()),
            (&AUDITOR, self.auditor.as_ref()),
            (&PRELOADED, self.preloaded.as_ref()),
        ];
        for (library, path) in parts {
            let Some(path) = path else { continue };
            // Hidden libraries lie apart: what is in LD_LIBRARY_PATH is found by every program.
            let place = if library.file == LINKER.file { folder.hidden() } else { folder.path().to_owned() };
            for name in library.names {
                link(path, &place.join(name))?;
            }
        }
        if let Some(command) = command() {
            link(&command, &folder.assembler())?;
        }
        Ok(folder)
    }
}

/// The file of this command: the executable, unless that is an interpreter, which says so by `SOFTWARP_COMMAND`.
pub fn command() -> Option<PathBuf> {
    let named = std::env::var_os("SOFTWARP_COMMAND").filter(|file| !file.is_empty()).map(PathBuf::from);
    named.or_else(|| std::env::current_exe().ok())
}

/// The folders in which libraries are looked for.
fn beside_executable() -> Vec<PathBuf> {
    let executable = std::env::current_exe().and_then(fs::canonicalize);
    let Some(folder) = executable.ok().and_then(|path| path.parent().map(Path::to_owned)) else {
        return Vec::new();
    };
    let package = folder.parent().map(|above| above.join("lib").join("softwarp"));
    [folder.clone(), folder.join("deps")].into_iter().chain(package).collect()
}

#[cfg(unix)]
fn link(to: &Path, from: &Path) -> Result<(), CommandError> {
    std::os::unix::fs::symlink(to, from)
        .map_err(|error| CommandError::Io(format!("cannot make the link {}: {error}", from.display())))
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> Result<(), CommandError> {
    Err(CommandError::Usage("programs can be run on Linux only".to_owned()))
}

/// A folder for one run, which is removed with what is in it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one that only this user can read.
    fn new() -> io::Result<Folder> {
        let base = std::env::temp_dir();
        let base = if base.is_absolute() { base } else { std::env::current_dir()?.join(base) };
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for number in 0..1000 {
            let path = base.join(format!("softwarp-{}-{number}", std::process::id()));
            match private(&path) {
                Ok(()) => {
                    let folder = Folder(path);
                    for part in [folder.hidden(), folder.0.join("bin")] {
                        fs::create_dir(part)?;
                    }
                    return Ok(folder);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// The folder with the libraries.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder with libraries that programs find only if they are preloaded.
    fn hidden(&self) -> PathBuf {
        self.0.join("preload")
    }

    /// The stand-in of nvJitLink, if it was found.
    pub fn nvjitlink(&self) -> Option<PathBuf> {
        Some(self.hidden().join(NVJITLINK)).filter(|path| path.exists())
    }

    /// The stand-in of NVRTC, if it was found.
    pub fn nvrtc(&self) -> Option<PathBuf> {
        Some(self.0.join(COMPILER.names[0])).filter(|path| path.exists())
    }

    /// The variable and the library that redirect runtimes which are linked into a program, if both that and the
    /// runtime were found, and the program's loader can load it.
    pub fn redirection(&self, program: &Program) -> Option<(&'static str, PathBuf)> {
        let (variable, library) = match program.redirection() {
            Way::Audit => ("LD_AUDIT", AUDITOR),
            Way::Preload => ("LD_PRELOAD", PRELOADED),
            Way::None => return None,
        };
        let files = [library.names[0], RUNTIME.names[0]].map(|name| self.0.join(name));
        let [library, _] = &files;
        files.iter().all(|file| file.exists()).then(|| (variable, library.clone()))
    }

    /// Makes a folder that looks like a CUDA toolkit, for programs that look for its files beside NVRTC's library, as
    /// CuPy does for `libcudadevrt.a`. They follow links, so that the library there is a copy; gives its path. The
    /// archive is empty: the driver has its functions built in.
    fn make_toolkit(&self, compiler: &Path) -> io::Result<PathBuf> {
        // From such a folder only what links lead to can be loaded.
        if forbids_code(&self.0) {
            return Ok(compiler.to_owned());
        }
        let folder = self.0.join("toolkit").join("lib");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("libcudadevrt.a"), "!<arch>\n")?;
        let copy = folder.join(COMPILER.names[0]);
        fs::copy(compiler, &copy)?;
        Ok(copy)
    }

    /// `softwarp ptxas` by the name `ptxas`.
    pub fn assembler(&self) -> PathBuf {
        self.0.join("bin").join("ptxas")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether a folder's file system does not let code be loaded from it.
#[cfg(unix)]
fn forbids_code(folder: &Path) -> bool {
    use nix::sys::statvfs::{FsFlags, statvfs};
    statvfs(folder).is_ok_and(|found| found.flags().contains(FsFlags::ST_NOEXEC))
}

#[cfg(not(unix))]
fn forbids_code(_: &Path) -> bool {
    true
}

#[cfg(unix)]
fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_and_removed() {
        let (one, other) = (Folder::new().expect("made"), Folder::new().expect("made"));
        assert_ne!(one.path(), other.path());
        let path = one.path().to_owned();
        fs::write(path.join("file"), "x").expect("written");
        assert_eq!(one.nvjitlink(), None);
        drop(one);
        assert!(!path.exists() && other.path().is_dir());
    }
}
