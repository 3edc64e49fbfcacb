//! `atom` and `red` (PTX ISA sections 9.7.13.5 and 9.7.13.7).
//!
//! Lanes go one after the other, the lowest first. A CTA runs on one thread of the host, so its shared memory needs
//! no atomic operations of the host; nor does global memory if the whole launch has one thread.

use super::addresses::{addresses, grouped};
use super::used::Used;
use super::{Env, HINTS, Warp};
use crate::fast::{self, At};
use crate::fault::{FaultKind, Problem, Tried, Trouble};
use crate::memory::cell::{Scalar, SharedBytes, Unit};
use softwarp_ir::{Atomic, AtomicOp, Memory, Slot};
use softwarp_isa::Type;
use softwarp_num::half::{Bfloat16, Binary16, Half};
use softwarp_units::lanes::{Frame, LANES, lanes};
use std::sync::atomic::{Ordering, fence};

/// The function of an atomic operation: of the old value, the operand, and the second operand of `cas`; it returns
/// the new value.
pub(super) type Combine = fn(u64, u64, u64) -> u64;

/// The low and high halves of a row of 128-bit words.
type Halves = ([u64; LANES], [u64; LANES]);

impl Warp {
    /// `atom`, `red`
    pub(super) fn atomic(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        atomic: &Atomic,
        pc: usize,
        taking: u32,
    ) -> Tried<()> {
        if self.atomic_together(env, call, atomic, pc, taking) {
            return Ok(());
        }
        let activation = &mut self.calls[call];
        let Used { address, bytes, usage, .. } = Used::atomic(atomic);
        let (spaces, alone) = (&env.spaces, env.launch.alone);
        fence(Ordering::SeqCst);
        let addresses = addresses(activation, address);
        let frame = &mut activation.frame;
        grouped(spaces, address.memory, addresses, bytes, taking, |group| {
            let shared = group.memory.is_shared();
            if !shared && group.memory != Memory::Global {
                let lane = super::run::first(group.lanes);
                let at = group.addresses[lane];
                let nearest = spaces.nearest(group.memory, at);
                let bad = spaces.bad(Problem::WrongSpace, usage, group.memory, at, bytes, nearest);
                return Err(Trouble::new(lane, FaultKind::Access(bad)));
            }
            // Lanes that do not take part have the address of one that does.
            let lead = group.judge(spaces, super::run::first(group.lanes), usage)?;
            let mut places = [lead; LANES];
            for lane in lanes(group.lanes) {
                places[lane] = group.judge(spaces, lane, usage)?;
            }
            perform(frame, atomic, &places, group.lanes, shared, alone);
            Ok(())
        })?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// The same where all lanes access one region of memory. False if they do not, or one of the accesses may be a fault:
    /// nothing has happened then.
    pub(super) fn atomic_together(
        &mut self,
        env: &mut Env<'_>,
        call: usize,
        atomic: &Atomic,
        pc: usize,
        taking: u32,
    ) -> bool {
        let frame = &mut self.calls[call].frame;
        let Used { address, bytes, .. } = Used::atomic(atomic);
        let spaces = &env.spaces;
        let at = At { spaces, taking, hint: &mut env.hints[pc % HINTS] };
        let places = fast::places(frame, address, bytes, at);
        let Some((cells, each)) = places.filter(|(cells, _)| !std::ptr::eq(*cells, spaces.parameters)) else {
            return false;
        };
        fence(Ordering::SeqCst);
        let places = each.map(|at| (cells, at));
        perform(frame, atomic, &places, taking, spaces.is_shared(cells), env.launch.alone);
        fence(Ordering::SeqCst);
        true
    }
}

/// Performs an operation at places that were checked.
fn perform(
    frame: &mut Frame,
    atomic: &Atomic,
    places: &[(&SharedBytes, u64); LANES],
    taking: u32,
    shared: bool,
    alone: bool,
) {
    let element = Used::atomic(atomic).element;
    // Everything is read before anything is written: slots may be the same.
    let row = |frame: &Frame, slot: Option<Slot>| match slot {
        Some(slot) => operand(frame, slot, element),
        None => [0; LANES],
    };
    if element == 16 {
        let Some(&b) = atomic.b.first() else { return };
        let c = if atomic.op == AtomicOp::Cas { atomic.c } else { b };
        let [b, c] = [b, c].map(|slot| (row(frame, slot), row(frame, slot.map(Slot::next))));
        let (low, high) = pairs(places, atomic.op, b, c, taking);
        if let Some(&Some(d)) = atomic.d.first() {
            frame.set_row(d, low, taking);
            frame.set_row(d.next(), high, taking);
        }
        return;
    }
    let combine = combination(atomic.op, atomic.ty, !shared, atomic.noftz);
    let alone = shared || alone;
    let c = row(frame, atomic.c);
    let update = |index: usize, b: &[u64; LANES]| {
        let operands = Operands { combine, b, c: &c, alone, offset: index as u64 * element };
        match element {
            8 => operands.update::<u64>(places, taking),
            2 => operands.update::<u16>(places, taking),
            _ => operands.update::<u32>(places, taking),
        }
    };
    let put = |frame: &mut Frame, index: usize, before: [u64; LANES]| match (
        atomic.d.get(index).copied().flatten(),
        element,
    ) {
        (None, _) => {}
        (Some(d), 8) => frame.set_row(d, before, taking),
        (Some(d), _) => frame.set_row(d, std::array::from_fn(|lane| before[lane] as u32), taking),
    };
    if let [b] = atomic.b[..] {
        let b = row(frame, b);
        put(frame, 0, update(0, &b));
        return;
    }
    let operands: Vec<[u64; LANES]> = atomic.b.iter().map(|&slot| row(frame, slot)).collect();
    for (index, b) in operands.iter().enumerate() {
        put(frame, index, update(index, b));
    }
}

/// What the lanes do with an element of their words.
struct Operands<'a> {
    combine: Combine,
    b: &'a [u64; LANES],
    c: &'a [u64; LANES],
    /// No other thread of the host has the words.
    alone: bool,
    /// Where the element is, from the first one on.
    offset: u64,
}

impl Operands<'_> {
    /// Updates the words of the lanes, one after the other: what was there before.
    fn update<T: Scalar>(&self, places: &[(&SharedBytes, u64); LANES], taking: u32) -> [u64; LANES] {
        let mut before = [0; LANES];
        for lane in lanes(taking) {
            let (cells, at) = places[lane];
            let f = |word| (self.combine)(word, self.b[lane], self.c[lane]);
            before[lane] = apply::<T>(cells, (at + self.offset) as usize, self.alone, f);
        }
        before
    }
}

/// The words of an operand.
fn operand(frame: &Frame, slot: Slot, element: u64) -> [u64; LANES] {
    if element >= 8 { frame.row::<u64>(slot) } else { frame.row::<u32>(slot).map(u64::from) }
}

/// `exch` and `cas` of 128 bits: what was there before, low and high halves.
fn pairs(places: &[(&SharedBytes, u64); LANES], op: AtomicOp, b: Halves, c: Halves, taking: u32) -> Halves {
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for lane in lanes(taking) {
        let (cells, at) = (places[lane].0, places[lane].1 as usize);
        let [b, c] = [b, c].map(|(low, high)| u128::of_words([low[lane], high[lane]]));
        let before = u128::update(cells, at, |before| match op {
            AtomicOp::Cas if before != b => before,
            _ => c,
        });
        [low[lane], high[lane]] = before.words();
    }
    (low, high)
}

#[inline]
pub(super) fn apply<T: Scalar>(cells: &SharedBytes, at: usize, alone: bool, f: impl Fn(u64) -> u64) -> u64 {
    if alone {
        let before = T::load(cells, at).to_word();
        T::from_word(f(before)).store(cells, at);
        return before;
    }
    T::update(cells, at, |word| T::from_word(f(word.to_word()))).to_word()
}

/// The function that an operation applies. On words of fewer bits, only the low bits of the result count.
pub(super) fn combination(op: AtomicOp, ty: Type, global: bool, noftz: bool) -> Combine {
    match (op, ty) {
        (AtomicOp::And, _) => |a, b, _| a & b,
        (AtomicOp::Or, _) => |a, b, _| a | b,
        (AtomicOp::Xor, _) => |a, b, _| a ^ b,
        (AtomicOp::Exch, _) => |_, b, _| b,
        (AtomicOp::Cas, _) => |a, b, c| if a == b { c } else { a },
        (AtomicOp::Inc, _) => |a, b, _| if a >= b { 0 } else { a + 1 },
        (AtomicOp::Dec, _) => |a, b, _| if a == 0 || a > b { b } else { a - 1 },
        (AtomicOp::Add, Type::F32) if global && !noftz => |a, b, _| {
            let sum = add_f32(flush_f32(a as u32), flush_f32(b as u32));
            flush_f32(sum).into()
        },
        (AtomicOp::Add, Type::F32) => |a, b, _| add_f32(a as u32, b as u32).into(),
        // Global memory keeps signalling NaNs as they are, and prefers that of the operand.
        (AtomicOp::Add, Type::F64) if global => |a, b, _| add_f64(a, b, [b, a], 0),
        (AtomicOp::Add, Type::F64) => |a, b, _| add_f64(a, b, [a, b], 1 << 51),
        (AtomicOp::Add, Type::F16 | Type::F16x2) => |a, b, _| halves(a, b, add_half::<Binary16>),
        (AtomicOp::Add, Type::Bf16 | Type::Bf16x2) => |a, b, _| halves(a, b, add_half::<Bfloat16>),
        (AtomicOp::Add, _) => |a, b, _| a.wrapping_add(b),
        (AtomicOp::Min, Type::S32) => |a, b, _| (a as i32).min(b as i32) as u64,
        (AtomicOp::Max, Type::S32) => |a, b, _| (a as i32).max(b as i32) as u64,
        (AtomicOp::Min, Type::S64) => |a, b, _| (a as i64).min(b as i64) as u64,
        (AtomicOp::Max, Type::S64) => |a, b, _| (a as i64).max(b as i64) as u64,
        (AtomicOp::Min, Type::F16 | Type::F16x2) => |a, b, _| halves(a, b, least::<Binary16, 0>),
        (AtomicOp::Max, Type::F16 | Type::F16x2) => |a, b, _| halves(a, b, least::<Binary16, 0xffff>),
        (AtomicOp::Min, Type::Bf16 | Type::Bf16x2) => |a, b, _| halves(a, b, least::<Bfloat16, 0>),
        (AtomicOp::Max, Type::Bf16 | Type::Bf16x2) => |a, b, _| halves(a, b, least::<Bfloat16, 0xffff>),
        (AtomicOp::Min, _) => |a, b, _| a.min(b),
        (AtomicOp::Max, _) => |a, b, _| a.max(b),
    }
}

/// Subnormals become zeros of the same sign.
fn flush_f32(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

fn add_f32(a: u32, b: u32) -> u32 {
    let sum = f32::from_bits(a) + f32::from_bits(b);
    if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() }
}

/// The sum; if it is NaN, the first NaN of these with a bit set, or the one that the hardware makes.
fn add_f64(a: u64, b: u64, nans: [u64; 2], quiet: u64) -> u64 {
    let sum = f64::from_bits(a) + f64::from_bits(b);
    match nans.into_iter().find(|&bits| f64::from_bits(bits).is_nan()) {
        Some(nan) => nan | quiet,
        None if sum.is_nan() => 0xfff8_0000_0000_0000,
        None => sum.to_bits(),
    }
}

/// Does the same to both 16-bit halves of words; a word of 16 bits has zeros in the other.
fn halves(a: u64, b: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    u64::from(f(a as u16, b as u16)) | u64::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// The sum, as if rounded once. Adding in `f32` rounds first, but does not change the result: `f32` has at least twice as
/// many significant bits as the format, and two more.
fn add_half<H: Half>(a: u16, b: u16) -> u16 {
    H::narrow(H::widen(a) + H::widen(b))
}

/// The lesser of two numbers, or, with all bits flipped, the greater; the number if the other is NaN.
fn least<H: Half, const FLIP: u16>(a: u16, b: u16) -> u16 {
    let nan = |bits: u16| bits & 0x7fff > H::INFINITY;
    // In the order of the numbers, with -0 below +0.
    let order = |bits: u16| if bits >> 15 == 1 { !bits } else { bits | 0x8000 };
    match (nan(a), nan(b)) {
        (true, true) => H::NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if order(a) ^ FLIP <= order(b) ^ FLIP {
                a
            } else {
                b
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp_num::splitmix::SplitMix64;
    use softwarp_num::{Rounding, Saturation};

    /// Sums of random codes are those of the exact sum, rounded once by the table of formats.
    fn sums_agree_with_the_table<H: Half>() {
        let (format, mut random) = (H::FORMAT, SplitMix64::new(7));
        for _ in 0..200_000 {
            let word = random.next_u64();
            let a = word as u16;
            // Exponents near each other, and far apart.
            let b = if word >> 63 == 0 { (word >> 16) as u16 } else { a ^ (word >> 16) as u16 & 0x8fff };
            let sum = format.decode(a.into()) + format.decode(b.into());
            let expected = match sum.is_nan() {
                true => format.canonical_nan(),
                false => format.encode(sum, Rounding::NearestEven, Saturation::None),
            };
            assert_eq!(Some(u64::from(add_half::<H>(a, b))), expected, "{a:04x} + {b:04x}");
        }
    }

    #[test]
    fn sums_of_halves_are_rounded_once() {
        sums_agree_with_the_table::<Binary16>();
        sums_agree_with_the_table::<Bfloat16>();
    }

    fn run(op: AtomicOp, ty: Type, a: u64, b: u64) -> u64 {
        combination(op, ty, true, false)(a, b, 99)
    }

    #[test]
    fn increments_and_decrements_wrap_at_the_operand() {
        assert_eq!(run(AtomicOp::Inc, Type::U32, 4, 5), 5);
        assert_eq!(run(AtomicOp::Inc, Type::U32, 5, 5), 0);
        assert_eq!(run(AtomicOp::Inc, Type::U32, 9, 5), 0);
        assert_eq!(run(AtomicOp::Dec, Type::U32, 5, 5), 4);
        assert_eq!(run(AtomicOp::Dec, Type::U32, 0, 5), 5);
        assert_eq!(run(AtomicOp::Dec, Type::U32, 6, 5), 5);
        assert_eq!(run(AtomicOp::Cas, Type::B32, 6, 6), 99);
        assert_eq!(run(AtomicOp::Cas, Type::B32, 6, 5), 6);
    }

    #[test]
    fn minima_and_maxima_know_signs() {
        let minus_one = u64::from(u32::MAX);
        assert_eq!(run(AtomicOp::Min, Type::S32, minus_one, 3) as u32, u32::MAX);
        assert_eq!(run(AtomicOp::Min, Type::U32, minus_one, 3), 3);
        assert_eq!(run(AtomicOp::Max, Type::S64, u64::MAX, 3), 3);
        // f16: -0 is less than +0; a NaN is not chosen.
        assert_eq!(run(AtomicOp::Min, Type::F16x2, 0x8000_3c00, 0x0000_7e00), 0x8000_3c00);
        assert_eq!(run(AtomicOp::Max, Type::F16x2, 0x8000_bc00, 0x0000_b800), 0x0000_b800);
        assert_eq!(run(AtomicOp::Max, Type::Bf16, 0x7fc1, 0xffc0), 0x7fff);
    }

    #[test]
    fn sums_of_floats_round_once_and_flush_where_told() {
        let f32 = |x: f32| u64::from(x.to_bits());
        assert_eq!(run(AtomicOp::Add, Type::F32, f32(1e-45), f32(-0.0)), 0);
        assert_eq!(combination(AtomicOp::Add, Type::F32, false, false)(1, 1, 0), 2);
        assert_eq!(run(AtomicOp::Add, Type::F32, f32(f32::INFINITY), f32(-f32::INFINITY)), 0x7fff_ffff);
        // 2048 + 1 is a tie in f16; 65504 + 16 is one, too, and the even neighbour is infinity.
        assert_eq!(run(AtomicOp::Add, Type::F16, 0x6800, 0x3c00), 0x6800);
        assert_eq!(run(AtomicOp::Add, Type::F16, 0x7bff, 0x4c00), 0x7c00);
        assert_eq!(run(AtomicOp::Add, Type::Bf16x2, 0x3f80_3f80, 0x3f80_0001), 0x4000_3f80);
    }
}
