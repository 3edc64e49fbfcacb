//! Constant memory (PTX ISA sections 5.1.3 and 5.1.3.1): eleven banks of 64 KiB, one behind the other.
//!
//! Bank 0 has the module's constants. A bank that the module names (`.extern .const[2] .b32 table[];`) is all there
//! for it. Of the others the host makes buffers, each wholly in one bank, whose addresses it hands to kernels.

use super::cell::SharedBytes;
use super::global::MemoryError;
use softwarp_image::Image;
use softwarp_image::image::{BANK_BYTES, BANKS, Object};
use softwarp_isa::StateSpace;
use std::sync::Arc;

/// The alignment of buffers.
const ALIGNMENT: u64 = 256;

/// Constant memory of a module. A clone has the same bytes, and the buffers of that moment.
#[derive(Clone, Debug)]
pub struct Constant {
    /// All banks.
    pub cells: Arc<SharedBytes>,
    banks: [Bank; BANKS],
}

/// The use of a bank.
#[derive(Clone, Debug)]
enum Bank {
    /// Variables of the module: how many bytes there are.
    Variables(u64),
    /// Buffers that the host made, in order: where each begins, and its bytes.
    Buffers(Vec<(u64, u64)>),
}

impl Constant {
    /// The constant memory of an image.
    pub fn new(image: &Image) -> Result<Constant, MemoryError> {
        let bytes = BANK_BYTES * BANKS as u64;
        let cells = Arc::new(SharedBytes::new(bytes).ok_or(MemoryError::OutOfMemory { bytes })?);
        let named = |bank: usize| {
            let of_bank =
                |object: &Object| object.space == StateSpace::Const && usize::from(object.bank) == bank;
            bank > 0 && image.objects.iter().any(of_bank)
        };
        let banks = std::array::from_fn(|bank| match bank {
            0 => Bank::Variables(image.constant[0].bytes),
            _ if named(bank) => Bank::Variables(BANK_BYTES),
            _ => Bank::Buffers(Vec::new()),
        });
        Ok(Constant { cells, banks })
    }

    /// The bytes of a variable; of an array without a size, all of its bank.
    pub fn size_of(object: &Object) -> u64 {
        match object.space {
            StateSpace::Const if object.bank > 0 && object.open => {
                BANK_BYTES - object.offset.unwrap_or(0).min(BANK_BYTES)
            }
            _ => object.total(),
        }
    }

    /// Makes a buffer of zeros in the first bank that has room for all of it, and gives its address.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        for (bank, start) in self.banks.iter_mut().zip((0..).step_by(BANK_BYTES as usize)) {
            let Bank::Buffers(buffers) = bank else { continue };
            let used = buffers.last().map_or(0, |(first, bytes)| first + bytes).next_multiple_of(ALIGNMENT);
            if bytes <= BANK_BYTES - used {
                buffers.push((used, bytes));
                return Ok(start + used);
            }
        }
        Err(MemoryError::OutOfMemory { bytes })
    }

    /// Whether a given number of bytes at an address are one variable's or one buffer's memory. (Variables of the module are
    /// not told apart.)
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let bank = usize::try_from(address / BANK_BYTES).ok().and_then(|bank| self.banks.get(bank));
        let first = address % BANK_BYTES;
        let within = |start: u64, size: u64| {
            first.checked_sub(start).and_then(|at| at.checked_add(bytes)).is_some_and(|end| end <= size)
        };
        match bank {
            Some(Bank::Variables(size)) => within(0, *size),
            Some(Bank::Buffers(buffers)) => buffers.iter().any(|&(start, size)| within(start, size)),
            None => false,
        }
    }

    /// The region that an address is in: its first address, and its length.
    pub(crate) fn region(&self, address: u64) -> Option<(u64, u64)> {
        let bank = usize::try_from(address / BANK_BYTES).ok().and_then(|bank| self.banks.get(bank))?;
        let (start, first) = (address / BANK_BYTES * BANK_BYTES, address % BANK_BYTES);
        match bank {
            Bank::Variables(size) => (first < *size).then_some((start, *size)),
            Bank::Buffers(buffers) => {
                let holds = |&&(at, bytes): &&(u64, u64)| at <= first && first - at < bytes;
                buffers.iter().find(holds).map(|&(at, bytes)| (start + at, bytes))
            }
        }
    }

    /// Copies bytes out.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let bytes = into.len() as u64;
        if !self.holds(address, bytes) {
            return Err(MemoryError::OutOfBounds { address, bytes });
        }
        self.cells.read(address, into);
        Ok(())
    }

    /// Copies bytes into a buffer, or anything else that is there.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let count = bytes.len() as u64;
        if !self.holds(address, count) {
            return Err(MemoryError::OutOfBounds { address, bytes: count });
        }
        self.cells.write(address, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(banks: [Bank; BANKS]) -> Constant {
        Constant { cells: Arc::new(SharedBytes::new(BANK_BYTES * BANKS as u64).expect("memory")), banks }
    }

    #[test]
    fn a_buffer_lies_wholly_in_one_bank() {
        let mut constant = with(std::array::from_fn(|bank| match bank {
            0 => Bank::Variables(100),
            2 => Bank::Variables(BANK_BYTES),
            _ => Bank::Buffers(Vec::new()),
        }));
        assert_eq!(constant.allocate(40_000), Ok(BANK_BYTES));
        assert_eq!(constant.allocate(30_000), Ok(3 * BANK_BYTES), "bank 2 is the module's");
        assert_eq!(constant.allocate(25_000), Ok(BANK_BYTES + 40_192), "there is room behind the first");
        assert_eq!(constant.allocate(BANK_BYTES), Ok(4 * BANK_BYTES));
        let too_large = BANK_BYTES + 1;
        assert_eq!(constant.allocate(too_large), Err(MemoryError::OutOfMemory { bytes: too_large }));
        for bank in 5..=10 {
            assert_eq!(constant.allocate(BANK_BYTES), Ok(bank * BANK_BYTES));
        }
        assert_eq!(
            constant.allocate(40_000),
            Err(MemoryError::OutOfMemory { bytes: 40_000 }),
            "all are full"
        );
    }

    #[test]
    fn gaps_between_buffers_are_not_readable() {
        let mut constant = with(std::array::from_fn(|_| Bank::Buffers(Vec::new())));
        let (first, second) = (constant.allocate(10).expect("room"), constant.allocate(4).expect("room"));
        assert_eq!((first, second), (0, 256));
        assert!(constant.holds(8, 2) && !constant.holds(8, 4), "its end");
        assert!(!constant.holds(255, 4) && constant.holds(256, 4));
        assert!(!constant.holds(u64::MAX, 8) && !constant.holds(11 * BANK_BYTES, 1));
    }
}
