//! The text of a random kernel, line by line.

use softwarp_num::splitmix::SplitMix64;

/// Random numbers, and the text that has been written.
pub struct Writer {
    pub random: SplitMix64,
    pub text: String,
    labels: u32,
}

impl Writer {
    /// Begins with a text.
    pub fn new(seed: u64, text: &str) -> Writer {
        Writer { random: SplitMix64::new(seed), text: text.to_owned(), labels: 0 }
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    pub fn line(&mut self, line: &str) {
        self.text.push_str("    ");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The number of a new label.
    pub fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }
}
