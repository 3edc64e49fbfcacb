//! PTX in software, exact to the bit.
pub mod verify;
pub use softwarp_isa as isa;
pub use softwarp_num as num;
