//! Elements of accesses in rows: an element for each register, or words of 32 bits in which shorter elements are packed.

use super::plain::Plain;
use super::{Emitted, Emitter, YMM, ZMM};

/// The vector register that is used beside the one of an element: the other of two.
fn other(register: u8) -> u8 {
    if register == 6 { 7 } else { 6 }
}

impl Emitter<'_> {
    /// The register in which a part of an element may be loaded.
    pub(super) fn element_target(&self, plain: &Plain<'_>, (n, part): (usize, usize), temporary: u8) -> u8 {
        match plain.registers.get(n).and_then(|one| one.slot).filter(|_| plain.is_whole()) {
            Some(slot) => self.target(plain.op, slot, part, temporary),
            None => temporary,
        }
    }

    /// Writes a part of an element that was loaded to its row, or to those of what is packed in it.
    pub(super) fn put_element(&mut self, plain: &Plain<'_>, (n, part): (usize, usize), from: u8) -> Emitted {
        if plain.widens() {
            return self.put_extended(plain, part, from);
        }
        if !plain.is_packed() {
            let slot = plain.registers.get(n).and_then(|one| one.slot);
            return slot.map_or(Ok(()), |slot| self.put(plain.op, slot, part, from));
        }
        let each = plain.registers.len() / plain.count;
        let bits = 32 / each;
        for at in 0..each {
            let register = plain.registers[n * each + at];
            let Some(slot) = register.slot else { continue };
            let target = self.target(plain.op, slot, part, other(from));
            let (t, from) = (ZMM[usize::from(target)], ZMM[usize::from(from)]);
            // Bits above it are cut off first.
            self.unit.a.vpslld(t, from, (32 - bits - bits * at) as u32)?;
            match plain.signed {
                true => self.unit.a.vpsrad(t, t, (32 - bits) as u32)?,
                false => self.unit.a.vpsrld(t, t, (32 - bits) as u32)?,
            }
            if plain.signed && register.bits < 32 {
                let low = self.unit.word((1 << register.bits) - 1);
                self.unit.a.vpandd(t, t, low)?;
            }
            self.put(plain.op, slot, part, target)?;
        }
        Ok(())
    }

    /// Writes half a row of words of 32 bits to a row of 64 bits, of which it is two parts.
    fn put_extended(&mut self, plain: &Plain<'_>, half: usize, from: u8) -> Emitted {
        let to = other(from);
        let (z, y) = (ZMM[usize::from(to)], YMM[usize::from(to)]);
        for n in 0..2 {
            let words = match n == 0 {
                true => YMM[usize::from(from)],
                false => {
                    self.unit.a.vextracti64x4(y, ZMM[usize::from(from)], 1)?;
                    y
                }
            };
            match plain.signed {
                true => self.unit.a.vpmovsxdq(z, words)?,
                false => self.unit.a.vpmovzxdq(z, words)?,
            }
            self.put(plain.op, plain.slot, 2 * half + n, to)?;
        }
        Ok(())
    }

    /// A part of an element that is stored, in a register: the temporary one, or its own, which must not be written.
    pub(super) fn element(
        &mut self,
        plain: &Plain<'_>,
        (n, part): (usize, usize),
        temporary: u8,
    ) -> Emitted<u8> {
        if !plain.is_packed() {
            let slot = plain.registers.get(n).and_then(|one| one.slot).unwrap_or(plain.slot);
            return self.register(plain.op, slot, part, temporary, false);
        }
        let each = plain.registers.len() / plain.count;
        let bits = 32 / each;
        let (t, beside) = (ZMM[usize::from(temporary)], other(temporary));
        for at in 0..each {
            let slot = plain.registers[n * each + at].slot.unwrap_or(plain.slot);
            let from = self.register(plain.op, slot, part, beside, false)?;
            let to = if at == 0 { t } else { ZMM[usize::from(beside)] };
            self.unit.a.vpslld(to, ZMM[usize::from(from)], (32 - bits) as u32)?;
            if at + 1 < each {
                self.unit.a.vpsrld(to, to, (32 - bits - bits * at) as u32)?;
            }
            if at > 0 {
                self.unit.a.vpord(t, t, to)?;
            }
        }
        Ok(temporary)
    }
}
