//! The account of host memory: how many bytes a device and its launches hold, and the limit.
//!
//! Every allocation whose size a kernel or a launch file controls is charged here before it is made: buffers,
//! variables, shared memory, registers and stacks of calls, arrays of texels, the bits of the `init` sanitizer for
//! global and shared memory, copies of buffers that are read back as a whole, and the shadow memory of the race
//! sanitizer (which looks at no more memory beyond the limit). What does not fit is an error and never an abort of the
//! process. Not counted: structures of a fixed size; tables of the `init` sanitizer for `.local` memory and registers, at
//! most as large as what they are for.
//!
//! The default limit is half of what the machine has, or half of what its control group may use (Linux: `MemTotal`
//! in `/proc/meminfo`, `memory.max` of cgroup v2, `memory.limit_in_bytes` of v1). Elsewhere it is 4 GiB.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The default where the machine does not say what it has.
const UNKNOWN: u64 = 4 << 30;

/// An account: the bytes of host memory in use, and the limit. Clones share the account.
#[derive(Clone, Debug)]
pub struct Account {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    used: AtomicU64,
    most: u64,
    /// The account that this one is a part of. Charges are made to both.
    parent: Option<Account>,
}

/// A request that the account refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Bytes that were held then.
    pub used: u64,
    /// The limit.
    pub most: u64,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Refused { bytes, used, most } = self;
        write!(f, "{bytes} more bytes of host memory: {used} of at most {most} are in use")
    }
}

impl Account {
    /// An account with nothing in use yet.
    pub(crate) fn new(most: u64) -> Account {
        Account { shared: Arc::new(Shared { used: AtomicU64::new(0), most, parent: None }) }
    }

    /// A part of this account with a limit of its own.
    pub(crate) fn part(&self, most: u64) -> Account {
        let parent = Some(self.clone());
        Account { shared: Arc::new(Shared { used: AtomicU64::new(0), most, parent }) }
    }

    /// Half of the memory that this process may use: the limit where none is given.
    pub fn default_limit() -> u64 {
        static LIMIT: OnceLock<u64> = OnceLock::new();
        *LIMIT.get_or_init(|| machine_memory().map_or(UNKNOWN, |bytes| bytes / 2))
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.shared.used.load(Ordering::Relaxed)
    }

    /// The limit.
    pub(crate) fn most(&self) -> u64 {
        self.shared.most
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> u64 {
        self.most().saturating_sub(self.used())
    }

    fn add(&self, bytes: u64) -> Result<(), Refused> {
        let most = self.shared.most;
        let add = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= most);
        let added = self.shared.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        added.map_err(|used| Refused { bytes, used, most })?;
        match self.shared.parent.as_ref().map_or(Ok(()), |parent| parent.add(bytes)) {
            Ok(()) => Ok(()),
            Err(refused) => {
                self.shared.used.fetch_sub(bytes, Ordering::Relaxed);
                Err(refused)
            }
        }
    }

    fn subtract(&self, bytes: u64) {
        self.shared.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(parent) = &self.shared.parent {
            parent.subtract(bytes);
        }
    }

    /// A charge of nothing yet.
    pub fn nothing(&self) -> Charge {
        Charge { account: self.clone(), bytes: 0 }
    }

    /// Charges a given number of bytes, until the charge is dropped.
    pub fn charge(&self, bytes: u64) -> Result<Charge, Refused> {
        self.add(bytes)?;
        Ok(Charge { account: self.clone(), bytes })
    }
}

/// A charge: bytes that are in use for as long as this exists.
#[derive(Debug)]
pub struct Charge {
    account: Account,
    bytes: u64,
}

impl Charge {
    /// Bytes of this charge.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Charges more.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Refused> {
        if bytes == 0 {
            return Ok(());
        }
        self.account.add(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Charges less.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        // Threads contend for the account.
        if bytes != 0 {
            self.account.subtract(bytes);
        }
    }

    /// Takes over the bytes of a charge to the same account; another account gets them back.
    pub(crate) fn take_over(&mut self, other: &mut Charge) {
        if Arc::ptr_eq(&self.account.shared, &other.account.shared) {
            self.bytes += std::mem::take(&mut other.bytes);
        }
        other.shrink(u64::MAX);
    }

    /// Hands bytes over to a charge to the same account: whether that is possible.
    pub(crate) fn hand_over(&mut self, bytes: u64, other: &mut Charge) -> bool {
        let can = Arc::ptr_eq(&self.account.shared, &other.account.shared) && bytes <= self.bytes;
        if can {
            self.bytes -= bytes;
            other.bytes += bytes;
        }
        can
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

/// The memory of the machine, or the limit of the process's control group if that is less.
fn machine_memory() -> Option<u64> {
    let total = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_files(&groups);
    let limits = limits.iter().filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
    total.into_iter().chain(limits).min()
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The files that may hold a limit on the memory of the process's control groups, and of those that contain them:
/// `/proc/self/cgroup` has lines `number:controllers:path`, without controllers for version 2.
fn group_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container, the path is often that of the host, and the files are at the root.
        let mut path = path.trim_end_matches('/');
        loop {
            files.push(format!("{root}{path}/{file}"));
            match path.rfind('/') {
                Some(end) => path = &path[..end],
                None => break,
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_count_until_they_are_dropped() {
        let account = Account::new(100);
        let mut first = account.charge(60).unwrap();
        assert_eq!(account.charge(41).map(drop), Err(Refused { bytes: 41, used: 60, most: 100 }));
        first.grow(40).unwrap();
        assert_eq!(first.grow(1), Err(Refused { bytes: 1, used: 100, most: 100 }));
        first.shrink(30);
        assert_eq!((account.used(), account.left()), (70, 30));
        drop(first);
        assert_eq!(account.used(), 0);
        assert_eq!(account.charge(u64::MAX).map(drop), Err(Refused { bytes: u64::MAX, used: 0, most: 100 }));
    }

    #[test]
    fn charges_to_one_account_take_bytes_over() {
        let account = Account::new(100);
        let (mut one, mut other) = (account.charge(60).unwrap(), account.charge(30).unwrap());
        one.take_over(&mut other);
        assert_eq!((one.bytes(), other.bytes(), account.used()), (90, 0, 90));
        assert!(!one.hand_over(91, &mut other));
        assert!(one.hand_over(40, &mut other));
        assert_eq!((one.bytes(), other.bytes(), account.used()), (50, 40, 90));
        // Another account gets its bytes back.
        let elsewhere = Account::new(100);
        let mut third = elsewhere.charge(20).unwrap();
        assert!(!one.hand_over(10, &mut third));
        one.take_over(&mut third);
        assert_eq!((one.bytes(), third.bytes(), elsewhere.used()), (50, 0, 0));
        drop((one, other));
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn a_part_charges_the_whole() {
        let whole = Account::new(100);
        let part = whole.part(80);
        let charge = part.charge(70).unwrap();
        assert_eq!(part.charge(20).map(drop), Err(Refused { bytes: 20, used: 70, most: 80 }));
        let other = whole.charge(25).unwrap();
        assert_eq!(part.charge(8).map(drop), Err(Refused { bytes: 8, used: 95, most: 100 }));
        assert_eq!((part.used(), whole.used()), (70, 95));
        drop((charge, other));
        assert_eq!((part.used(), whole.used()), (0, 0));
    }

    #[test]
    fn the_default_is_read_from_what_linux_says() {
        assert_eq!(total_of("MemFree: 1 kB\nMemTotal:       24605012 kB\n"), Some(24_605_012 << 10));
        assert_eq!(total_of("nothing"), None);
        assert_eq!(
            group_files("0::/a/b\n"),
            ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"]
        );
        assert_eq!(
            group_files("4:cpu:/x\n3:rdma,memory:/\n"),
            ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
        assert!(Account::default_limit() > 0);
    }
}
