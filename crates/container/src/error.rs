//! Why a container gives no code.

use super::{Arch, Form, Kind, Wanted};
use std::fmt;

/// Why code cannot be read or chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It begins like nothing that is known here.
    NotAnImage,
    /// A fat binary of CUDA 3 or earlier: a structure of pointers, not a container.
    OldFatbin,
    /// Bytes that headers promise are not there.
    Truncated {
        /// What should be there.
        what: &'static str,
    },
    /// Something is larger than this reader accepts.
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How many bytes it would be.
        bytes: u64,
    },
    /// There is more of something than this reader accepts.
    TooMany {
        /// What it is.
        what: &'static str,
    },
    /// A fat binary of another version, or with too short a header.
    FatbinVersion {
        /// The version.
        version: u16,
        /// The size of the header that it declares.
        header_size: u16,
    },
    /// An entry of a fat binary is not as long as it says.
    FatbinEntry {
        /// Which one, from 0.
        index: usize,
    },
    /// An ELF file for something other than NVIDIA's GPUs.
    ForeignElf {
        /// The machine that it is for.
        machine: u16,
    },
    /// An ELF file that contradicts itself.
    Elf {
        /// What is wrong.
        what: &'static str,
    },
    /// A section of an ELF file is compressed in a way that is not known here.
    SectionCompression {
        /// The number of the compression.
        kind: u32,
    },
    /// Compressed bytes do not give what they should.
    Decompression {
        /// What the decoder says.
        why: String,
    },
    /// Linked texts written by another version of softwarp.
    LinkedVersion {
        /// The version.
        version: u32,
    },
    /// A linked text is not as long as it says, or bytes follow the last.
    LinkedText {
        /// Which one, from 0.
        index: usize,
    },
    /// A program of the host without fat binaries in it.
    NoFatbin {
        /// The machine that it is for.
        machine: u16,
    },
    /// There is code, but none that softwarp can run on the device.
    NoCode(NoCode),
}

impl ReadError {
    /// The result code that the driver has for it (`CUresult`).
    pub fn code(&self) -> u32 {
        const OUT_OF_MEMORY: u32 = 2;
        const INVALID_IMAGE: u32 = 200;
        const NO_BINARY_FOR_GPU: u32 = 209;
        const UNKNOWN: u32 = 999;
        match self {
            ReadError::TooLarge { .. } | ReadError::TooMany { .. } => OUT_OF_MEMORY,
            ReadError::Elf { .. } => UNKNOWN,
            ReadError::NoCode(_) => NO_BINARY_FOR_GPU,
            _ => INVALID_IMAGE,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotAnImage => {
                f.write_str("not PTX (whose first directive is .version), a fat binary or a cubin")
            }
            ReadError::OldFatbin => f.write_str("a fat binary of CUDA 3 or earlier, which is not supported"),
            ReadError::Truncated { what } => write!(f, "the {what} ends too early"),
            ReadError::TooLarge { what, bytes } => write!(f, "{what} of {bytes} bytes: that is too large"),
            ReadError::TooMany { what } => write!(f, "too many {what}"),
            ReadError::FatbinVersion { version, header_size } => {
                write!(
                    f,
                    "a fat binary of version {version} with a header of {header_size} bytes: version 1 is known"
                )
            }
            ReadError::FatbinEntry { index } => write!(f, "entry {index} of the fat binary is damaged"),
            ReadError::ForeignElf { machine } => {
                write!(f, "an ELF file for machine {machine}, not for NVIDIA GPUs (190)")
            }
            ReadError::Elf { what } => write!(f, "the ELF file is damaged: {what}"),
            ReadError::SectionCompression { kind } => {
                write!(f, "a section of the ELF file is compressed in an unknown way ({kind})")
            }
            ReadError::Decompression { why } => write!(f, "compressed code is damaged: {why}"),
            ReadError::LinkedVersion { version } => {
                write!(f, "linked PTX of another version of softwarp (format {version})")
            }
            ReadError::LinkedText { index } => write!(f, "text {index} of the linked PTX is damaged"),
            ReadError::NoFatbin { machine } => {
                write!(f, "an ELF file for machine {machine} without GPU code: it has no section .nv_fatbin")
            }
            ReadError::NoCode(none) => none.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Something in a container that softwarp cannot run on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    /// What it is.
    pub kind: Kind,
    /// What it is for.
    pub arch: Option<Arch>,
}

/// What there was in a container without code for the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCode {
    /// What code was wanted for.
    pub wanted: Wanted,
    /// The form of the container.
    pub form: Form,
    /// What it holds.
    pub present: Vec<Present>,
}

impl NoCode {
    fn has(&self, kind: Kind) -> bool {
        self.present.iter().any(|present| present.kind == kind)
    }

    /// The architectures of all entries of a kind, without repetition.
    fn archs(&self, kind: Kind) -> String {
        let entries = self.present.iter().filter(|present| present.kind == kind);
        let mut archs: Vec<Arch> = entries.filter_map(|present| present.arch).collect();
        archs.sort_unstable();
        archs.dedup();
        archs.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Whether there is machine code that the device could run, so that only its PTX is missing.
    fn only_ptx_is_missing(&self) -> bool {
        let runs = |arch: Arch| self.wanted.takes_machine_code(arch) || self.wanted.takes_newer(arch);
        self.present.iter().any(|present| present.kind == Kind::Cubin && present.arch.is_some_and(runs))
    }

    /// The architecture that was asked for.
    fn target(&self) -> Option<Arch> {
        match self.wanted {
            Wanted::Any => None,
            Wanted::Device(number) | Wanted::DeviceOrNewer(number) => Some(Arch::baseline(number)),
            Wanted::Target(arch) => Some(arch),
        }
    }

    /// What there is instead, without advice: "no PTX for sm_90 in this cubin: it has machine code for sm_80".
    pub fn summary(&self) -> String {
        let form = match self.form {
            Form::Elf => "cubin",
            Form::Host => "file",
            Form::Text | Form::Fatbin | Form::Linked => "fat binary",
        };
        let target = self.target().map_or(String::new(), |target| format!(" for {target}"));
        let mut parts = Vec::new();
        if self.has(Kind::Ptx) {
            parts.push(format!("PTX for {}", self.archs(Kind::Ptx)));
        }
        if self.has(Kind::Cubin) {
            parts.push(format!("machine code for {}", self.archs(Kind::Cubin)));
        }
        if self.has(Kind::LtoIr) {
            parts.push(format!("LTO-IR for {}", self.archs(Kind::LtoIr)));
        }
        if parts.is_empty() && !self.present.is_empty() {
            parts.push("entries of unknown kinds".to_owned());
        }
        let there =
            if parts.is_empty() { "is empty".to_owned() } else { format!("has {}", parts.join(" and ")) };
        format!("no PTX{target} in this {form}: it {there}")
    }
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        if self.present.is_empty() {
            return Ok(());
        }
        let target = self.target();
        if self.only_ptx_is_missing() {
            f.write_str(
                " without its PTX. softwarp runs PTX, not machine code. A cubin keeps its PTX if it is made \
                 with -lineinfo (nvcc, ptxas, NVRTC, nvJitLink; numba: @cuda.jit(lineinfo=True); Triton: \
                 leave TRITON_DISABLE_LINE_INFO unset)",
            )?;
        } else if self.has(Kind::LtoIr) && !self.has(Kind::Ptx) && !self.has(Kind::Cubin) {
            f.write_str(
                ". softwarp runs PTX, not LTO-IR. nvJitLink makes a cubin of it that keeps its PTX with \
                 -lineinfo",
            )?;
        } else if let Some(target) = target {
            write!(f, ", which {target} does not run")?;
        }
        let name =
            target.map_or("compute_90".to_owned(), |target| target.to_string().replace("sm_", "compute_"));
        write!(f, "; nvcc adds PTX with -gencode arch={name},code={name}")
    }
}
