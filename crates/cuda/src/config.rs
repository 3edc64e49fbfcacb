//! Settings, from the environment.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `SOFTWARP_ARCH` | the GPU that it claims to be; PTX for newer ones is refused if it is set | `sm_90` |
//! | `SOFTWARP_DEVICES` | how many of them | 1 |
//! | `SOFTWARP_THREADS` | threads of the host that run a launch | all cores |
//! | `SOFTWARP_MEMORY` | bytes of memory, with `K`, `M` or `G` | what the host allows |
//! | `SOFTWARP_SANITIZE` | what to look for, as `softwarp run --sanitize` takes it | nothing |
//! | `SOFTWARP_REPORT` | a file for reports of faults and findings | stderr |
//! | `SOFTWARP_MISMATCHES` | the folder for what compare mode found | `softwarp-mismatches` |
//! | `SOFTWARP_SUMMARY` | a file for counts of what the process did (`summary.rs`) | none |
//! | `SOFTWARP_EXIT_TIMEOUT` | for how many seconds the end of the process waits for work that was submitted (`driver/ending.rs`) | 30 |
//! | `SOFTWARP_TRACE` | `1`: every call with its result on stderr | off |
//! | `SOFTWARP_CUDA_VERSION` | the version that `cuDriverGetVersion` gives, and with it the newest PTX that is taken | 13040 |
//! | `CUDA_VISIBLE_DEVICES` | as the driver reads it: numbers, in order | all |

use softwarp::check::unfit;
use softwarp::isa::Target;
use softwarp::vm::host_memory::Account;
use softwarp::vm::sanitize::Sanitize;
use softwarp_container::Arch;
use std::path::PathBuf;
use std::time::Duration;

/// The version of the API: 13.4.
pub const VERSION: u32 = 13040;

/// How long the end of the process waits for work.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of memory of an H200.
const H200_MEMORY: u64 = 150_109_880_320;

/// What the environment says.
#[derive(Clone, Debug)]
pub struct Config {
    /// The GPU that it claims to be, with all features of its architecture.
    pub arch: Target,
    /// Whether code for a newer GPU is loaded, too: no GPU was asked for.
    pub takes_newer: bool,
    /// The numbers of the devices that the program sees.
    pub devices: Vec<u32>,
    /// `CUDA_VISIBLE_DEVICES` names a device twice.
    pub repeated: bool,
    /// Threads of the host that run a launch.
    pub threads: Option<usize>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// What to look for in launches.
    pub sanitize: Sanitize,
    /// Where reports go.
    pub report: Option<PathBuf>,
    /// Where folders go that reproduce what compare mode found.
    pub mismatches: PathBuf,
    /// Where counts of what the process did go.
    pub summary: Option<PathBuf>,
    /// How long the end of the process waits for work.
    pub exit_timeout: Duration,
    /// Whether calls are shown.
    pub trace: bool,
    /// The version that is reported.
    pub version: u32,
    /// The newest version of PTX that is taken. It follows from the version that is set; without one, newer minor
    /// versions are tried, since tools write their own version into cubins.
    pub ptx_version: (u16, u16),
}

/// The version of PTX that came with a version of the API.
pub fn ptx_of(version: u32) -> (u16, u16) {
    let (major, minor) = (version / 1000, version % 1000 / 10);
    let minor = match (major, minor) {
        // 12.6 brought no version of its own.
        (12, 6..) => minor - 1,
        _ => minor,
    };
    (u16::try_from(major.saturating_sub(4)).unwrap_or(u16::MAX), minor as u16)
}

/// The target whose code the JIT compiler of a GPU takes: the one with features of its architecture.
fn with_features(name: &str) -> Option<Target> {
    let target = Target::from_name(name)?;
    Target::from_name(&format!("{name}a")).or(Some(target))
}

/// A number of bytes, such as `512M`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, unit) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(unit)
}

/// The sanitizers of a list such as `race,init`, or `all`.
fn sanitizers(list: &str) -> Option<Sanitize> {
    let mut wanted = Sanitize::default();
    for word in list.split(',') {
        match word.trim() {
            "all" => wanted = Sanitize::ALL,
            "init" => wanted.init = true,
            "race" => wanted.race = true,
            "sync" => wanted.sync = true,
            "bounds" => wanted.bounds = true,
            "leak" => wanted.leak = true,
            _ => return None,
        }
    }
    Some(wanted)
}

/// The devices of a list such as `0,2`. As the driver does it, the list ends before what is no device.
fn visible(list: &str, count: u32) -> Vec<u32> {
    let numbers = list.split(',').map_while(|word| word.trim().parse::<u32>().ok());
    numbers.take_while(|&device| device < count).collect()
}

impl Config {
    /// Bytes of memory that a device says it has: as configured, or what the host allows and an H200 has.
    pub fn device_memory(&self) -> u64 {
        self.memory.unwrap_or_else(|| Account::default_limit().min(H200_MEMORY))
    }

    /// The GPU that code for some architectures is compiled for, if it is newer than the one that this is, and may be.
    pub fn newer(&self, archs: impl IntoIterator<Item = Arch>) -> Option<Target> {
        let named = archs.into_iter().filter(|_| self.takes_newer).filter_map(|arch| {
            let target = Target::from_name(&arch.to_string())?;
            unfit(target, self.arch).is_some().then_some((arch, target))
        });
        named.max_by_key(|(arch, _)| *arch).map(|(_, target)| target)
    }

    /// Reads the environment. What cannot be understood is said on stderr, and the default is taken.
    pub fn from_environment() -> Config {
        Config::new(&|name| std::env::var(name).ok())
    }

    /// The same with variables of one's own.
    pub fn new(variable: &dyn Fn(&str) -> Option<String>) -> Config {
        fn setting<T>(
            variable: &dyn Fn(&str) -> Option<String>,
            name: &str,
            wanted: &str,
            parse: impl FnOnce(&str) -> Option<T>,
        ) -> Option<T> {
            let text = variable(name).filter(|text| !text.is_empty())?;
            let value = parse(&text);
            if value.is_none() {
                eprintln!("softwarp: {name}={text} is ignored: it must be {wanted}");
            }
            value
        }
        let count = setting(variable, "SOFTWARP_DEVICES", "a number from 1 to 16", |text| {
            text.parse().ok().filter(|count| (1..=16).contains(count))
        });
        let count = count.unwrap_or(1);
        let arch = setting(variable, "SOFTWARP_ARCH", "a GPU such as sm_90", with_features);
        let sanitize =
            setting(variable, "SOFTWARP_SANITIZE", "a list of sanitizers such as race,init", |text| {
                sanitizers(text)
            });
        let devices = match variable("CUDA_VISIBLE_DEVICES") {
            Some(list) => visible(&list, count),
            None => (0..count).collect(),
        };
        let version =
            setting(variable, "SOFTWARP_CUDA_VERSION", "a number such as 13040", |text| text.parse().ok());
        let exit_timeout =
            setting(variable, "SOFTWARP_EXIT_TIMEOUT", "a number of seconds such as 30", |text| {
                text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            });
        let repeated = devices.iter().enumerate().any(|(index, device)| devices[..index].contains(device));
        let file = |name| variable(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        Config {
            repeated,
            takes_newer: arch.is_none(),
            arch: arch.or_else(|| with_features("sm_90")).unwrap_or(Target::SM_90),
            devices,
            threads: setting(variable, "SOFTWARP_THREADS", "a number", |text| text.parse().ok()),
            memory: setting(variable, "SOFTWARP_MEMORY", "a number of bytes such as 4G", bytes),
            sanitize: sanitize.unwrap_or_default(),
            report: file("SOFTWARP_REPORT"),
            mismatches: file("SOFTWARP_MISMATCHES").unwrap_or_else(|| "softwarp-mismatches".into()),
            summary: file("SOFTWARP_SUMMARY"),
            exit_timeout: exit_timeout.unwrap_or(EXIT_TIMEOUT),
            trace: variable("SOFTWARP_TRACE").is_some_and(|text| !text.is_empty() && text != "0"),
            version: version.unwrap_or(VERSION),
            ptx_version: version.map_or((ptx_of(VERSION).0, u16::MAX), ptx_of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Config {
        Config::new(&|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn settings_are_read() {
        assert_eq!(with("", "").arch.name(), "sm_90a");
        assert_eq!(with("SOFTWARP_ARCH", "sm_80").arch.name(), "sm_80");
        assert!(with("", "").takes_newer && !with("SOFTWARP_ARCH", "sm_80").takes_newer);
        assert_eq!(with("SOFTWARP_MEMORY", "3M").memory, Some(3 << 20));
        assert_eq!(with("SOFTWARP_MEMORY", "3M").device_memory(), 3 << 20);
        assert_eq!(with("SOFTWARP_MEMORY", "lots").memory, None);
        assert_eq!(with("SOFTWARP_DEVICES", "3").devices, [0, 1, 2]);
        assert!(with("CUDA_VISIBLE_DEVICES", "").devices.is_empty());
        assert_eq!(with("", "").exit_timeout, EXIT_TIMEOUT);
        assert_eq!(with("SOFTWARP_EXIT_TIMEOUT", "0.5").exit_timeout, Duration::from_millis(500));
        assert_eq!(with("SOFTWARP_EXIT_TIMEOUT", "1e99").exit_timeout, EXIT_TIMEOUT);
        assert_eq!(with("SOFTWARP_EXIT_TIMEOUT", "-1").exit_timeout, EXIT_TIMEOUT);
        assert_eq!(with("SOFTWARP_CUDA_VERSION", "13000").ptx_version, (9, 0));
        assert_eq!(with("SOFTWARP_CUDA_VERSION", "12080").ptx_version, (8, 7));
        assert_eq!(with("CUDA_VISIBLE_DEVICES", "0").devices, [0]);
        assert!(with("CUDA_VISIBLE_DEVICES", "7,0").devices.is_empty());
    }
}
