//! Elements of a vector, or of two, by indices: each half is looked up alone, and bits of the indices choose among them.

use super::*;

const PERMUTE32: Opcode = op(P66, M38, 32, 0x36);

impl Assembler {
    /// A permutation: of 32-bit or 64-bit words of a vector, or of 32-bit words of two.
    pub(super) fn permute(&mut self, whole: &Whole) {
        let (byte, wide) = (whole.opcode.byte, whole.opcode.wide);
        // The indices, and the tables.
        let (indices, tables) = match byte {
            0x36 => (whole.v, vec![whole.last]),
            0x7e => (whole.v, vec![Last::Register(whole.d), whole.last]),
            0x76 => (whole.d, vec![Last::Register(whole.v), whole.last]),
            _ => return self.fail(),
        };
        let results = [R, T];
        for (half, to) in results.into_iter().enumerate() {
            let index = match wide {
                true => self.word_indices(home(indices, half)),
                false => self.in_register(home(indices, half), A),
            };
            self.look_up(index, tables[0], to);
            if let Some(&second) = tables.get(1) {
                // The second table's words are in the register of the first one's mask.
                self.look_up_second(index, second, to);
            }
        }
        self.put_both(whole, results, if wide { 8 } else { 4 });
    }

    /// The indices of 32-bit words for those of 64-bit words.
    fn word_indices(&mut self, indices: Operand) -> u8 {
        self.y_byte(op(P66, M0F, 32, 0x70), A, 0, indices, Some(0xa0));
        self.y(ADD32, A, A, A);
        self.y(OR, A, A, Operand::Memory(emulated!(odd, 0, 32)));
        A
    }

    /// The words of a table of 16.
    fn look_up(&mut self, index: u8, table: Last, to: u8) {
        self.y(PERMUTE32, to, index, table.half(0));
        self.y(PERMUTE32, U, index, table.half(1));
        self.shift(SHIFT32, UP, M, index, 28);
        self.blend(to, to, U, M);
    }

    /// The words of a second table of 16, where indices have the bit above, in place of the first one's.
    fn look_up_second(&mut self, index: u8, table: Last, to: u8) {
        // Both sources of the last choice are free: one is the register of the last operand, if that is not a word for
        // all lanes.
        let first = if let Last::Both(_) = table { return self.fail() } else { B };
        self.y(PERMUTE32, first, index, table.half(0));
        self.y(PERMUTE32, U, index, table.half(1));
        self.blend(first, first, U, M);
        self.shift(SHIFT32, UP, M, index, 27);
        self.blend(to, to, first, M);
    }
}
