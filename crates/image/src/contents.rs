//! What a variable holds at first: runs of bytes, with zero between and after them.

use softwarp_check::checked::Run;

/// The bytes of a variable. However large it is, only what was written takes memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Bytes of the whole variable.
    pub size: u64,
    /// What was written: in order, not touching, inside the size.
    pub runs: Vec<Run>,
}

impl Contents {
    /// From runs in order; what does not fit the size is left out.
    pub fn new(size: u64, runs: &[Run]) -> Contents {
        let fitting = runs.iter().filter(|run| run.at < size).map(|run| {
            let room = usize::try_from(size - run.at).unwrap_or(usize::MAX).min(run.bytes.len());
            Run { at: run.at, bytes: run.bytes[..room].to_vec() }
        });
        Contents { size, runs: fitting.filter(|run| !run.bytes.is_empty()).collect() }
    }

    /// Copies bytes from `at` on into a buffer; what is beyond the end is zero.
    pub fn read(&self, at: u64, into: &mut [u8]) {
        into.fill(0);
        let end = at.saturating_add(into.len() as u64);
        let first = self.runs.partition_point(|run| run.at.saturating_add(run.bytes.len() as u64) <= at);
        for run in self.runs[first..].iter().take_while(|run| run.at < end) {
            let (skip, to) = (at.saturating_sub(run.at) as usize, run.at.saturating_sub(at) as usize);
            let bytes = &run.bytes[skip..];
            let length = bytes.len().min(into.len() - to);
            into[to..to + length].copy_from_slice(&bytes[..length]);
        }
    }

    /// Writes bytes at `at`. They lie inside a run, as the bytes of an address do.
    pub(crate) fn patch(&mut self, at: u64, bytes: &[u8]) {
        let after = self.runs.partition_point(|run| run.at <= at);
        let Some(run) = after.checked_sub(1).and_then(|index| self.runs.get_mut(index)) else { return };
        let from = (at - run.at) as usize;
        for (place, byte) in run.bytes.iter_mut().skip(from).zip(bytes) {
            *place = *byte;
        }
    }

    /// Where the last byte that was written ends.
    pub fn written(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.at + run.bytes.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> Contents {
        let runs = [Run { at: 2, bytes: vec![1, 2] }, Run { at: 1 << 40, bytes: vec![3, 4, 5] }];
        Contents::new((1 << 40) + 2, &runs)
    }

    #[test]
    fn what_lies_between_runs_is_zero() {
        let mut bytes = [9; 6];
        contents().read(1, &mut bytes);
        assert_eq!(bytes, [0, 1, 2, 0, 0, 0]);
        contents().read((1 << 40) - 1, &mut bytes);
        assert_eq!(bytes, [0, 3, 4, 0, 0, 0], "the fifth byte is beyond the end");
        contents().read(3, &mut bytes);
        assert_eq!(bytes, [2, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_patch_stays_inside_its_run() {
        let mut patched = contents();
        patched.patch(3, &[7, 8]);
        patched.patch(0, &[9]);
        assert_eq!(patched.runs[0].bytes, [1, 7]);
        assert_eq!(patched.written(), (1 << 40) + 2);
    }
}
