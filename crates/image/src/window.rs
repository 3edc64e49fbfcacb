//! State spaces as windows in one generic address space (PTX ISA section 5.1, and 9.7.9.9 on `isspacep`).
//!
//! A generic address means global memory unless it falls into the window of another space; there it means that
//! space, at the address less the window's base. So conversion is an addition or a subtraction, and membership
//! two comparisons.
//!
//! The windows are shaped as on an H200, where they were measured: `.shared` has 4 GiB, of which the CTA with
//! rank r in its cluster has the 16 MiB from r·2^24 on and leaves the first KiB to the system; `.local` has
//! 16 MiB, with the stack at the top. Their bases differ from process to process there; here they are fixed.

use softwarp_isa::device::{CONSTANT_BANKS, CONSTANT_BYTES, CTA_SHARED, LOCAL_WINDOW, SHARED_WINDOW};
use softwarp_isa::{StateSpace, Target};

/// From the constants of one module to those of the next.
const CONSTANT_STRIDE: u64 = 1 << 20;

/// From one function's address to the next.
pub(crate) const CODE_STRIDE: u64 = 16;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first address.
    pub base: u64,
    /// The number of addresses.
    pub size: u64,
}

impl Window {
    const fn new(base: u64, size: u64) -> Window {
        Window { base, size }
    }

    /// Whether an address is in it.
    pub const fn contains(self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size
    }
}

/// The windows of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Where the modules' `.global` variables are: a part of global memory, whose own window is all the rest.
    pub globals: Window,
    /// Global memory that the host allocates buffers in.
    pub heap: Window,
    /// `.const`: eleven banks of 64 KiB, the module's own first; the others are what the driver passes pointers
    /// to.
    pub constant: Window,
    /// `.param` of kernels: address 0 there is where the parameters begin in a bank of their own.
    pub parameter: Window,
    /// Functions: addresses that can be called and compared, and hold nothing.
    pub code: Window,
    /// `.local`
    pub local: Window,
    /// `.shared`, of all CTAs of a cluster.
    pub shared: Window,
}

impl Windows {
    /// For addresses of 64 bits, on sm_90.
    pub const WIDE: Windows = Windows {
        globals: Window::new(0x0000_7000_0000_0000, 1 << 40),
        heap: Window::new(0x0000_7200_0000_0000, 1 << 43),
        constant: Window::new(0x0000_7f00_0000_0000, CONSTANT_BANKS * CONSTANT_BYTES),
        parameter: Window::new(0x0000_7f01_0000_0210, CONSTANT_BYTES),
        code: Window::new(0x0000_7f02_0000_0000, 1 << 32),
        local: Window::new(0x0000_7f3f_0000_0000, LOCAL_WINDOW),
        shared: Window::new(0x0000_7f40_0000_0000, SHARED_WINDOW),
    };

    /// For addresses of 32 bits, on the targets that had them. There were no clusters then.
    pub const NARROW: Windows = Windows {
        globals: Window::new(0x1000_0000, 0x4000_0000),
        heap: Window::new(0x5000_0000, 0xa000_0000),
        constant: Window::new(0xf000_0000, CONSTANT_BANKS * CONSTANT_BYTES),
        parameter: Window::new(0xf100_0160, CONSTANT_BYTES),
        code: Window::new(0xf200_0000, 1 << 24),
        local: Window::new(0xfe00_0000, LOCAL_WINDOW),
        shared: Window::new(0xff00_0000, CTA_SHARED),
    };

    /// Whether memory can have these windows: they follow one another, and those of fixed sizes have these.
    pub fn are_usable(&self) -> bool {
        let Windows { globals, heap, constant, parameter, code, local, shared } = *self;
        let all = [globals, heap, constant, parameter, code, local, shared];
        let end = |window: &Window| window.base.checked_add(window.size).filter(|&end| end <= 1 << 48);
        let sizes = |it: &Windows| [it.constant.size, it.parameter.size, it.local.size, it.shared.size];
        all.iter().all(|window| window.size != 0 && end(window).is_some())
            && all.windows(2).all(|pair| end(&pair[0]).is_some_and(|end| end <= pair[1].base))
            && globals.base.is_multiple_of(256)
            && heap.base.is_multiple_of(256)
            && [Windows::WIDE, Windows::NARROW].iter().any(|usual| sizes(usual) == sizes(self))
    }

    /// By the bits of an address.
    pub const fn for_address_bits(bits: u32) -> &'static Windows {
        if bits == 32 { &Windows::NARROW } else { &Windows::WIDE }
    }

    /// For a target, whose kernels' parameters may begin elsewhere.
    pub fn for_target(bits: u32, arch: Target) -> Windows {
        let mut windows = *Windows::for_address_bits(bits);
        let bank = windows.parameter.base & !0xfff;
        windows.parameter.base = bank + arch.properties().parameter_start;
        windows
    }

    /// The same windows for a machine in a process whose memory kernels see at its own addresses. What a process maps
    /// lies in the last terabyte below 2^47, so the windows above the heap move below that. Variables do not begin at a
    /// round address: those are likely wrong ones.
    pub fn beside_host(self) -> Windows {
        if self.heap.base < 1 << 32 {
            return self;
        }
        let lower = |window: Window| Window { base: window.base - (3 << 40), ..window };
        Windows {
            globals: Window { base: self.globals.base + (1 << 36), ..self.globals },
            heap: self.heap,
            constant: lower(self.constant),
            parameter: lower(self.parameter),
            code: lower(self.code),
            local: lower(self.local),
            shared: lower(self.shared),
        }
    }

    /// The windows of one of several modules on a device: its variables are here, and its constants and functions in the
    /// places with these numbers ([`Windows::constant_places`], and a place for each function).
    pub fn for_module(self, globals: Window, constants: u64, functions: u64) -> Windows {
        let constant = Window { base: self.constant.base + constants * CONSTANT_STRIDE, ..self.constant };
        let skipped = functions * CODE_STRIDE;
        let code = Window { base: self.code.base + skipped, size: self.code.size.saturating_sub(skipped) };
        Windows { globals, constant, code, ..self }
    }

    /// How many modules can have constants at the same time.
    pub const fn constant_places(&self) -> u64 {
        (self.parameter.base - self.constant.base) / CONSTANT_STRIDE
    }

    /// How many functions modules can have at the same time.
    pub const fn function_places(&self) -> u64 {
        self.code.size / CODE_STRIDE
    }

    /// The window that a state space has to itself; `None` for global memory, which is everything else, and for
    /// what has no addresses.
    pub const fn of(&self, space: StateSpace) -> Option<Window> {
        match space {
            StateSpace::Const => Some(self.constant),
            StateSpace::Param => Some(self.parameter),
            StateSpace::Local => Some(self.local),
            StateSpace::Shared => Some(self.shared),
            StateSpace::Global | StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex => None,
        }
    }

    /// The part of `.shared` that the CTA with a rank in its cluster has (`isspacep.shared::cta` there).
    pub const fn shared_of(&self, rank: u32) -> Window {
        Window::new(self.shared.base.wrapping_add(rank as u64 * CTA_SHARED), CTA_SHARED)
    }

    /// An address in a state space as a generic one (`cvta.space`). As on the hardware, nothing is checked: an
    /// address outside the window gives one that means another space.
    pub const fn generic(&self, space: StateSpace, address: u64) -> u64 {
        match self.of(space) {
            Some(window) => address.wrapping_add(window.base),
            None => address,
        }
    }

    /// A generic address as one in a state space (`cvta.to.space`), which it must be in for this to mean
    /// anything.
    pub const fn specific(&self, space: StateSpace, generic: u64) -> u64 {
        match self.of(space) {
            Some(window) => generic.wrapping_sub(window.base),
            None => generic,
        }
    }

    /// Whether a generic address is in a state space (`isspacep`). All that is in no window is global.
    pub fn is_in(&self, space: StateSpace, generic: u64) -> bool {
        self.locate(generic).0 == space
    }

    /// The state space that a generic address means, and the address there.
    pub fn locate(&self, generic: u64) -> (StateSpace, u64) {
        let windowed = [StateSpace::Shared, StateSpace::Local, StateSpace::Const, StateSpace::Param];
        let inside = |space: &StateSpace| self.of(*space).is_some_and(|window| window.contains(generic));
        let space = windowed.into_iter().find(inside).unwrap_or(StateSpace::Global);
        (space, self.specific(space, generic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&Windows; 2] = [&Windows::WIDE, &Windows::NARROW];

    #[test]
    fn windows_do_not_overlap() {
        for windows in ALL {
            let list = [
                windows.globals,
                windows.heap,
                windows.constant,
                windows.parameter,
                windows.code,
                windows.local,
                windows.shared,
            ];
            for pair in list.windows(2) {
                assert!(pair[0].base + pair[0].size <= pair[1].base, "{pair:x?}");
            }
        }
        assert_eq!(Windows::NARROW.shared.base + Windows::NARROW.shared.size, 1 << 32);
    }

    #[test]
    fn modules_have_constants_and_functions_apart() {
        for windows in ALL {
            let place = |constants, functions| windows.for_module(windows.globals, constants, functions);
            let (first, second) = (place(0, 0), place(1, 7));
            assert_eq!(first, *windows);
            assert!(second.constant.base >= first.constant.base + first.constant.size);
            assert_eq!(second.code.base, first.code.base + 7 * CODE_STRIDE);
            let last = place(windows.constant_places() - 1, windows.function_places());
            assert!(last.constant.base + last.constant.size <= windows.parameter.base);
            assert_eq!(last.code.size, 0);
        }
    }

    #[test]
    fn generic_addresses_go_there_and_back() {
        for windows in ALL {
            for space in [StateSpace::Const, StateSpace::Param, StateSpace::Local, StateSpace::Shared] {
                let size = windows.of(space).map_or(0, |window| window.size);
                for address in [0, 1, size / 2, size - 1] {
                    let generic = windows.generic(space, address);
                    assert_eq!(windows.locate(generic), (space, address));
                    assert_eq!(windows.specific(space, generic), address);
                }
                assert!(!windows.is_in(space, windows.generic(space, size)));
                assert!(!windows.is_in(space, windows.generic(space, 0).wrapping_sub(1)));
            }
            for address in [0, windows.globals.base, windows.heap.base, windows.code.base] {
                assert_eq!(windows.locate(address), (StateSpace::Global, address));
                assert_eq!(windows.generic(StateSpace::Global, address), address);
            }
        }
    }
}
