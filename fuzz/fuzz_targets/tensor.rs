//! Objects and maps of any numbers are judged, encoded, decoded and walked without panic, and what is legal survives
//! the object.
#![no_main]

use libfuzzer_sys::fuzz_target;
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::{
    Access, Description, Direction, Element, Fill, Interleave, Map, Mode, Promotion, Request, Source,
    Swizzle, Target, Walk, WideMode, check, object,
};

/// The most cells of a walk that are looked at: the largest boxes have thousands of millions.
const CELLS: usize = 4096;

/// Numbers from bytes; zeros where there are no more.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let count = N.min(self.0.len());
        let (now, later) = self.0.split_at(count);
        taken[..count].copy_from_slice(now);
        self.0 = later;
        taken
    }

    fn byte(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    fn u32(&mut self) -> u32 {
        let number = u32::from_le_bytes(self.take());
        // Small numbers are where maps are legal.
        if self.byte() % 4 == 0 { number } else { number % 300 }
    }

    fn u64(&mut self) -> u64 {
        let number = u64::from_le_bytes(self.take());
        match self.byte() % 4 {
            0 => number,
            1 => number % (1 << 33),
            _ => number % 64 * 16,
        }
    }

    fn i32(&mut self) -> i32 {
        let number = i32::from_le_bytes(self.take());
        if self.byte() % 4 == 0 { number } else { number % 40 }
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    fn list<T>(&mut self, length: usize, one: fn(&mut Self) -> T) -> Vec<T> {
        (0..length).map(|_| one(self)).collect()
    }

    fn description(&mut self) -> Description {
        let rank = usize::from(self.byte() % 7);
        let other = if self.byte() % 16 == 0 { usize::from(self.byte() % 9) } else { rank };
        let access = match self.byte() % 3 {
            0 => Access::Tiled { box_dims: self.list(other, Self::u32) },
            1 => Access::Im2col {
                lower: self.list(other.saturating_sub(2), Self::i32),
                upper: self.list(other.saturating_sub(2), Self::i32),
                channels: self.u32(),
                pixels: self.u32(),
            },
            _ => Access::Wide {
                mode: self.one(WideMode::ALL),
                lower: self.i32(),
                upper: self.i32(),
                channels: self.u32(),
                pixels: self.u32(),
            },
        };
        Description {
            element: self.one(Element::ALL),
            address: self.u64(),
            dims: self.list(rank, Self::u64),
            strides: self.list(other.saturating_sub(1), Self::u64),
            element_strides: self.list(other, |bytes| bytes.u32() % 10),
            interleave: self.one(Interleave::ALL),
            swizzle: self.one(Swizzle::ALL),
            promotion: self.one(Promotion::ALL),
            fill: self.one(Fill::ALL),
            access,
        }
    }

    fn request(&mut self) -> Request {
        let operation = self.one(Operation::ALL);
        Request {
            mode: self.one(Mode::ALL),
            direction: self.one(&[
                Direction::Load,
                Direction::Load,
                Direction::Store,
                Direction::Reduce(operation),
            ]),
            coordinates: std::array::from_fn(|_| self.i32()),
            offsets: std::array::from_fn(|_| self.u32()),
            shared: self.u64() / 128 * 128,
        }
    }
}

fn walk(map: &Map, request: &Request) {
    let Ok(walk) = Walk::new(map, request) else { return };
    let end = request.shared.saturating_add(walk.footprint());
    // Addresses wrap: what is near the last is only walked.
    let far = end > u64::MAX / 2;
    let inside = |address: u64| far || (request.shared..end).contains(&address);
    for cell in walk.cells().take(CELLS).chain(walk.elements().take(CELLS)) {
        assert!(cell.length > 0 && inside(cell.shared), "{map:?} {request:?} {cell:?}");
    }
    for run in walk.take(CELLS) {
        assert!(run.length > 0 && inside(run.shared), "{map:?} {request:?} {run:?}");
        if let Source::Global(_) = run.source {
            assert!(map.dims.iter().all(|dim| *dim > 0));
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let old = Target::all().next().unwrap_or(Target::SM_90);
    let arch = bytes.one(&[Target::SM_90, Target::SM_100, Target::SM_103, Target::SM_120, old]);
    let description = if bytes.byte() % 2 == 0 {
        match object::decode(&bytes.take()) {
            Ok(decoded) => decoded.description,
            Err(findings) => return assert!(!findings.is_empty()),
        }
    } else {
        bytes.description()
    };
    check(&description, arch);
    let Ok(map) = Map::new(&description, arch) else { return };
    let object = object::encode(&map);
    let decoded = object::decode(&object).expect("an object of a legal map");
    assert!(decoded.unknown.is_empty());
    if !matches!(description.access, Access::Wide { .. }) {
        assert_eq!(decoded.description, map.describe());
    }
    for _ in 0..3 {
        walk(&map, &bytes.request());
    }
});
