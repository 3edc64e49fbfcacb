//! Accesses to memory: the part of shared memory that a warp has, the thread's own output, the input, constants, local
//! memory and parameters; sometimes an address that is nowhere.

use super::{
    ADDRESS, BYTES_OUT, BYTES_SHARED, CTA, FAR, FOUR, Generator, IN, LANE, MOST_THREADS, NTID, OUT, OWN_IN,
    OWN_OUT, OWN_SHARED, PART, PLACES_IN, PLACES_SHARED, SHARED, SHORT, STRIDE, TEMPORARY, THREAD, TID, WARP,
};
use softwarp_ir::{
    Access, Address, Atomic, AtomicOp, Barrier, Element, FrameAddress, Guard, Memory, Order, Scope, Slot,
    Step,
};
use softwarp_isa::Type;
use softwarp_units::alu::simple::{Field, Simple};

/// Where words that all threads add to begin in the output: behind the output of four CTAs of up to 128 threads.
const COMMON: u32 = 4 * 128 * STRIDE;

fn at(memory: Memory, base: Slot, offset: i64) -> Address {
    Address { memory, base: Some(base), offset, named: None }
}

impl Generator<'_, '_> {
    /// The addresses of the thread.
    pub(super) fn addresses(&mut self) {
        self.fixed("mad.lo.u32", THREAD, &[TID[1], NTID, TID[0]], Guard::ALWAYS);
        self.fixed("mad.lo.u32", PART, &[WARP, BYTES_SHARED, SHARED], Guard::ALWAYS);
        self.fixed("mad.lo.u32", OWN_SHARED, &[LANE, FOUR, PART], Guard::ALWAYS);
        self.fixed("mad.lo.u32", TEMPORARY, &[CTA, MOST_THREADS, THREAD], Guard::ALWAYS);
        self.fixed("mad.wide.u32", OWN_IN, &[TEMPORARY, FOUR, IN], Guard::ALWAYS);
        self.fixed("mad.wide.u32", OWN_OUT, &[TEMPORARY, BYTES_OUT, OUT], Guard::ALWAYS);
    }

    fn weak(&mut self, address: Address, bytes: u8, registers: Vec<Element>) -> Access {
        let signed = bytes < 8 && self.choices.once_in(2);
        Access::new(address, bytes, signed, registers).expect("an access of PTX")
    }

    /// Loads a word from the input.
    pub(super) fn load_word(&mut self, d: Slot, offset: i64) {
        let access = self.weak(at(Memory::Global, OWN_IN, offset), 4, vec![Element::new(d, 32)]);
        self.step(Guard::ALWAYS, Step::Load(access));
    }

    /// Stores a register to the thread's output.
    pub(super) fn store_word(&mut self, s: Slot, offset: i64) {
        let (bytes, bits) = if s.is_wide() { (8, 64) } else { (4, 32) };
        let access = self.weak(at(Memory::Global, OWN_OUT, offset), bytes, vec![Element::new(s, bits)]);
        self.step(Guard::ALWAYS, Step::Store(access));
    }

    /// An access.
    pub(super) fn access(&mut self) {
        if self.choices.once_in(4) {
            return self.atomic();
        }
        let guard = self.guard();
        let store = self.choices.once_in(2);
        let bytes = self.choices.pick(&[4u8, 4, 4, 8, 2, 1]);
        let count = match self.below(6) {
            0 => 2,
            1 => 4,
            2 if bytes == 4 => 8,
            _ => 1,
        };
        let address = self.address(u64::from(bytes) * count, store);
        let registers = (0..count).map(|n| self.element(bytes, n, store)).collect::<Vec<_>>();
        // A vector that is loaded has no register twice.
        let twice = |n: usize| {
            registers[n].slot.is_some() && registers[..n].iter().any(|one| one.slot == registers[n].slot)
        };
        if !store && (0..registers.len()).any(twice) {
            return self.arithmetic();
        }
        let mut access = self.weak(address, bytes, registers);
        if self.choices.once_in(12) {
            access.order = Order::relaxed(Scope::Gpu);
        }
        self.step(guard, if store { Step::Store(access) } else { Step::Load(access) });
    }

    /// A register of an access.
    fn element(&mut self, bytes: u8, n: u64, store: bool) -> Element {
        if !store && self.choices.once_in(16) {
            return Element { slot: None, bits: 8 * bytes };
        }
        let bits = match (bytes, self.below(8)) {
            (8, _) | (_, 0) => 64,
            (1 | 2, 1..=4) => 16,
            _ => 32,
        };
        let ty = match bits {
            64 => Type::B64,
            16 => Type::B16,
            _ => Type::B32,
        };
        let slot = match (store, bits) {
            (true, _) => self.read(ty),
            // Rows of 16 bits are the only ones that may be written without zeros above.
            (false, 16) => Slot::narrow(super::FIRST_SHORT + ((self.below(4) + n) % 4) as u32),
            (false, 64) => self.wide(),
            (false, _) => self.register(),
        };
        Element::new(slot, bits)
    }

    /// An address for an access of a number of bytes.
    fn address(&mut self, bytes: u64, store: bool) -> Address {
        let aligned = |offset: u64| (offset / bytes * bytes) as i64;
        let offset = aligned(self.below(64));
        let index = self.source();
        match self.below(16) {
            // Nowhere, or not aligned. Any value may be an address that other threads access: the highest bit is set.
            0 if self.choices.once_in(4) => {
                let any = self.wide();
                self.fixed("or.b64", ADDRESS, &[any, Slot::wide(3)], Guard::ALWAYS);
                at(Memory::Global, ADDRESS, offset)
            }
            1 if self.choices.once_in(4) => at(Memory::Global, OWN_OUT, self.below(64) as i64),
            0 | 1 => at(Memory::Generic, OWN_OUT, offset % 64),
            2..=4 => at(Memory::Shared, self.shared_place(index, bytes), offset),
            5 => Address::fixed(Memory::Frame, offset % 64, None),
            6 => {
                self.step(Guard::ALWAYS, Step::FrameAddress(FrameAddress { d: TEMPORARY, offset: 0 }));
                at(Memory::Local, TEMPORARY, offset % 64)
            }
            _ if store => at(Memory::Global, OWN_OUT, offset % 64),
            7 => Address::fixed(Memory::Constant, self.places.constants + offset % 64, None),
            8 => Address::fixed(Memory::Kernel, offset % 16, None),
            9..=11 if bytes <= 4 => at(Memory::Global, OWN_IN, offset),
            _ => {
                self.fixed("and.b32", TEMPORARY, &[index, PLACES_IN], Guard::ALWAYS);
                self.fixed("mad.wide.u32", ADDRESS, &[TEMPORARY, Slot::narrow(1), IN], Guard::ALWAYS);
                at(self.choices.pick(&[Memory::Global, Memory::Generic]), ADDRESS, offset)
            }
        }
    }

    /// An address in the warp's part of shared memory.
    fn shared_place(&mut self, index: Slot, bytes: u64) -> Slot {
        match self.below(4) {
            0 if bytes <= 4 => OWN_SHARED,
            1 => PART,
            _ => {
                self.fixed("and.b32", TEMPORARY, &[index, PLACES_SHARED], Guard::ALWAYS);
                self.fixed("add.u32", TEMPORARY, &[TEMPORARY, PART], Guard::ALWAYS);
                TEMPORARY
            }
        }
    }

    /// `atom` or `red`.
    fn atomic(&mut self) {
        use AtomicOp::{Add, And, Cas, Dec, Exch, Inc, Max, Min, Or, Xor};
        let op = self.choices.pick(&[Add, Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec]);
        let types: &[Type] = match op {
            Add => &[Type::U32, Type::S32, Type::U64, Type::F32, Type::F64, Type::U32],
            Min | Max => &[Type::U32, Type::S32, Type::U64, Type::S64],
            Inc | Dec => &[Type::U32],
            _ => &[Type::B32, Type::B64, Type::B32],
        };
        let ty = self.choices.pick(types);
        let bytes = u64::from(ty.bits()) / 8;
        let (guard, index) = (self.guard(), self.source());
        let offset = (8 * self.below(8)) as i64;
        let common =
            matches!((op, ty), (Add, Type::U32 | Type::S32 | Type::U64) | (Min | Max | And | Or | Xor, _));
        let (address, result) = match self.below(4) {
            0 if common => (at(Memory::Global, OUT, i64::from(COMMON) + offset), false),
            0 | 1 => (at(Memory::Global, OWN_OUT, offset), true),
            _ => (at(Memory::Shared, self.shared_place(index, bytes), offset), true),
        };
        // Words in common have one type of operation each: those of others do not commute with it.
        let address = match address.base {
            Some(base) if base == OUT => {
                Address { offset: i64::from(COMMON) + common_place(op, ty), ..address }
            }
            _ => address,
        };
        let d = if result && self.choices.once_in(2) { vec![Some(self.write(ty))] } else { Vec::new() };
        let d = if matches!(op, Exch | Cas) && d.is_empty() { vec![Some(self.write(ty))] } else { d };
        let b = vec![Some(self.read(ty))];
        let c = (op == Cas).then(|| self.read(ty));
        let order = Order::relaxed(Scope::Gpu);
        self.step(guard, Step::Atomic(Atomic { address, op, ty, d, b, c, order, noftz: false }));
    }

    /// Each thread leaves a word in shared memory, and reads that of another behind a barrier.
    pub(super) fn exchange_in_shared(&mut self, barrier: Barrier) {
        let (value, d) = (self.register(), self.register());
        let far = i64::from(FAR);
        self.fixed("mad.lo.u32", TEMPORARY, &[THREAD, FOUR, SHARED], Guard::ALWAYS);
        let access = self.weak(at(Memory::Shared, TEMPORARY, far), 4, vec![Element::new(value, 32)]);
        self.step(Guard::ALWAYS, Step::Store(access));
        self.step(Guard::ALWAYS, Step::Barrier(barrier));
        let by = Slot::narrow(self.below(u64::from(SHORT) / 2) as u32);
        self.fixed("xor.b32", TEMPORARY, &[THREAD, by], Guard::ALWAYS);
        self.simple(Simple::Extract32(Field { shift: 0, bits: 7 }), TEMPORARY, &[TEMPORARY]);
        self.fixed("mad.lo.u32", TEMPORARY, &[TEMPORARY, FOUR, SHARED], Guard::ALWAYS);
        let access = self.weak(at(Memory::Shared, TEMPORARY, far), 4, vec![Element::new(d, 32)]);
        self.step(Guard::ALWAYS, Step::Load(access));
    }
}

fn common_place(op: AtomicOp, ty: Type) -> i64 {
    8 * (op as i64 * 8 + i64::from(ty.bits() > 32) + 2 * i64::from(matches!(ty, Type::S32 | Type::S64)))
}
