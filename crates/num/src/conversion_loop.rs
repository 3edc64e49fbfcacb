//! From a conversion, a value known at run time, to the compiled loops that perform it.

use crate::Conversion;
use crate::conversion::aux_bytes;
use crate::dedicated::Dedicated;
use crate::environment::with_standard_floats;
use crate::forms::exists;
use crate::stages::Staged;

/// The compiled loops for one conversion.
///
/// Elements lie one after another, little-endian, each in [`Format::bytes`](crate::Format::bytes) bytes.
#[derive(Clone, Copy)]
pub struct ConversionLoop {
    conversion: Conversion,
    loops: Loops,
}

#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant, reason = "it is copied seldom")]
enum Loops {
    /// Compiled for this conversion alone.
    Dedicated(Dedicated),
    /// Shared with others.
    Staged(Staged),
}

impl std::fmt::Debug for ConversionLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ConversionLoop").field(&self.conversion).finish()
    }
}

impl ConversionLoop {
    /// What it computes, in canonical form.
    pub fn conversion(&self) -> Conversion {
        self.conversion
    }

    /// Bytes of auxiliary input per element: 1 for a scale, 2 for random bits, else 0.
    pub fn aux_bytes(&self) -> usize {
        aux_bytes(self.conversion)
    }

    /// Converts the elements of `src` into `dst`, on this thread, as many as fit in all of them.
    ///
    /// `aux` has [`ConversionLoop::aux_bytes`] bytes for each element.
    pub fn run(&self, src: &[u8], aux: &[u8], dst: &mut [u8]) {
        with_standard_floats(|| match &self.loops {
            Loops::Dedicated(loops) => loops.plain.run(src, aux, dst),
            Loops::Staged(staged) => staged.run(src, aux, dst),
        });
    }

    /// As [`ConversionLoop::run`], on arrays in which 4-bit codes lie two to a byte, the first in the low half.
    ///
    /// An odd count of 4-bit results leaves the last half byte zero.
    pub fn run_packed(&self, src: &[u8], aux: &[u8], dst: &mut [u8]) {
        let nibbles = [self.conversion.src, self.conversion.dst].map(|format| format.pitch() == 4);
        with_standard_floats(|| match &self.loops {
            Loops::Dedicated(loops) => loops.packed.run(src, aux, dst),
            Loops::Staged(staged) if nibbles == [false; 2] => staged.run(src, aux, dst),
            Loops::Staged(staged) => staged.run_packed(nibbles, src, aux, dst),
        });
    }

    /// Converts a single element.
    pub fn one(&self, code: u64, aux: u32) -> u64 {
        if let Loops::Staged(staged) = &self.loops {
            return with_standard_floats(|| staged.one(self.conversion, code, aux));
        }
        let mut out = [0; 8];
        let bytes = self.conversion.dst.bytes();
        self.run(
            &code.to_le_bytes()[..self.conversion.src.bytes()],
            &aux.to_le_bytes()[..self.aux_bytes()],
            &mut out[..bytes],
        );
        u64::from_le_bytes(out)
    }
}

impl Conversion {
    /// The compiled loops for this conversion; `None` where no such conversion exists.
    ///
    /// All that PTX has are here, and besides: from every narrow format straight to f32, to FP8 without
    /// saturation, and to ue4m3.
    pub fn compiled(self) -> Option<ConversionLoop> {
        let conversion = self.canonical();
        if !exists(conversion) {
            return None;
        }
        let loops = match Dedicated::new(conversion) {
            Some(dedicated) => Loops::Dedicated(dedicated),
            None => Loops::Staged(Staged::new(conversion, aux_bytes(conversion))?),
        };
        Some(ConversionLoop { conversion, loops })
    }
}
