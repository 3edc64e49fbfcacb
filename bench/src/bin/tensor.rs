//! Tensor copies: how fast, beside a copy of as many bytes and a loop that goes element by element.
//!
//! usage: `tensor`
//!
//! Tiles of 64 KiB between buffers that stay in the cache, on one thread; every candidate of a row in turn, over
//! and over, and its best time counts.

#![forbid(unsafe_code)]

use softwarp_tensor::copy::{load, store};
use softwarp_tensor::map::MapShape;
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::{
    Description, Direction, Element, Interleave, Map, Mode, Request, Swizzle, Target, packed_strides,
};
use std::hint::black_box;
use std::time::Instant;

const TILE: usize = 64 << 10;
const ROUNDS: usize = 400;
/// Copies between two looks at the clock.
const REPEATS: u32 = 20;

struct Case {
    name: &'static str,
    description: Description,
    mode: Mode,
    direction: Direction,
}

fn tile(name: &'static str, row: u64, swizzle: Swizzle) -> Case {
    // 512 rows of 64 elements, out of rows of `row`.
    let dims = [row, 256, 2];
    let strides = packed_strides(Element::F16, &dims);
    let mut description = Description::tiled(Element::F16, &dims, &strides, &[64, 256, 2]);
    description.swizzle = swizzle;
    Case { name, description, mode: Mode::Tile, direction: Direction::Load }
}

fn narrow(name: &'static str, swizzle: Swizzle) -> Case {
    let columns = swizzle.span() / 2;
    let dims = [256, 256, TILE as u64 / u64::from(swizzle.span()) / 256];
    let strides = packed_strides(Element::F16, &dims);
    let mut description = Description::tiled(Element::F16, &dims, &strides, &[columns, 256, dims[2] as u32]);
    description.swizzle = swizzle;
    Case { name, description, mode: Mode::Tile, direction: Direction::Load }
}

fn cases() -> Vec<Case> {
    let mut images = tile("", 128, Swizzle::B128);
    let dims = [64, 32, 16, 2];
    images.description = Description::im2col(
        Element::F16,
        &dims,
        &packed_strides(Element::F16, &dims),
        (&[-1, -1], &[-1, -1]),
        (64, 512),
    );
    images.description.swizzle = Swizzle::B128;
    images.mode = Mode::Im2col;
    let mut slices = tile("", 128, Swizzle::None);
    slices.description =
        Description::tiled(Element::F16, &[64, 32, 2, 1], &[2048, 65536, 131_072], &[64, 32, 1, 1]);
    slices.description.interleave = Interleave::B32;
    slices.description.swizzle = Swizzle::B32;
    let tf32 = Description { element: Element::Tf32, ..tile("", 64, Swizzle::B128).description };
    let tf32 = Description {
        dims: vec![64, 256, 2],
        strides: vec![256, 65536],
        access: softwarp_tensor::Access::Tiled { box_dims: vec![32, 256, 2] },
        ..tf32
    };
    let direction = |direction, case: Case| Case { direction, ..case };
    let named = |name, case: Case| Case { name, ..case };
    vec![
        tile("whole rows of the tensor", 64, Swizzle::None),
        tile("128-byte parts of rows", 128, Swizzle::None),
        tile("128B swizzle, whole rows", 64, Swizzle::B128),
        tile("128B swizzle, parts of rows", 128, Swizzle::B128),
        narrow("64B swizzle, 64-byte parts", Swizzle::B64),
        narrow("32B swizzle, 32-byte parts", Swizzle::B32),
        named("im2col, 128B swizzle", images),
        named("32-byte interleave, 32B swizzle", slices),
        named(
            "tf32 (rounds), 128B swizzle",
            Case { name: "", description: tf32, mode: Mode::Tile, direction: Direction::Load },
        ),
        direction(Direction::Store, tile("store, 128-byte parts of rows", 128, Swizzle::None)),
        direction(Direction::Store, tile("store, 128B swizzle, parts", 128, Swizzle::B128)),
        direction(
            Direction::Reduce(Operation::Add),
            tile("add f16, 128B swizzle, parts", 128, Swizzle::B128),
        ),
    ]
}

/// What one would write first: coordinates, bounds, address and exchange for every element.
fn naive<const BYTES: usize>(map: &Map, global: &[u8], shared: &mut [u8]) {
    let MapShape::Tiled(sizes) = map.shape else { return };
    let pitch = map.swizzle.span().max(sizes[0] * BYTES as u32) as usize;
    let mut row = 0;
    for k in 0..u64::from(sizes[2]) {
        for j in 0..u64::from(sizes[1]) {
            for i in 0..u64::from(sizes[0]) {
                let at = map.swizzle.apply((row * pitch + i as usize * BYTES) as u64) as usize;
                if i < map.dims[0] && j < map.dims[1] && k < map.dims[2] {
                    let from = (i * BYTES as u64 + j * map.strides[1] + k * map.strides[2]) as usize;
                    shared[at..at + BYTES].copy_from_slice(&global[from..from + BYTES]);
                } else {
                    shared[at..at + BYTES].fill(0);
                }
            }
            row += 1;
        }
    }
}

/// Seconds of one call.
fn time(run: &mut impl FnMut()) -> f64 {
    let began = Instant::now();
    for _ in 0..REPEATS {
        run();
    }
    began.elapsed().as_secs_f64() / f64::from(REPEATS)
}

fn main() {
    println!("| 64 KiB tile | memcpy, GB/s | softwarp, GB/s | of memcpy | element by element | times that |");
    println!("|---|---|---|---|---|---|");
    for Case { name, description, mode, direction } in cases() {
        let map =
            Map::new(&description, Target::SM_90).unwrap_or_else(|findings| panic!("{name}: {findings:?}"));
        let request = Request { mode, direction, coordinates: [0; 5], offsets: [0; 3], shared: 0 };
        let mut global: Vec<u8> =
            (0..2 * map.copied_bytes() as usize + (1 << 20)).map(|at| at as u8).collect();
        let mut shared = vec![0; TILE];
        let mut copied = vec![0; TILE];
        let simple = mode == Mode::Tile && direction == Direction::Load && map.rank == 3;
        let mut best = [f64::INFINITY; 3];
        for _ in 0..ROUNDS {
            let memcpy = time(&mut || {
                black_box(&mut copied[..]).copy_from_slice(black_box(&global[..TILE]));
            });
            let softwarp = time(&mut || {
                let (map, request) = (black_box(&map), black_box(&request));
                match direction {
                    Direction::Load => {
                        load(map, request, black_box(&global[..]), black_box(&mut shared[..]))
                            .expect("loads");
                    }
                    _ => store(map, request, black_box(&shared[..]), black_box(&mut global[..]))
                        .expect("stores"),
                }
            });
            best[0] = best[0].min(memcpy);
            best[1] = best[1].min(softwarp);
        }
        let slow = if map.unit_bytes() == 4 { naive::<4> } else { naive::<2> };
        for _ in 0..if simple { ROUNDS / 10 } else { 0 } {
            let one = time(&mut || slow(black_box(&map), black_box(&global[..]), black_box(&mut shared[..])));
            best[2] = best[2].min(one);
        }
        let speed = |seconds: f64| TILE as f64 / seconds / 1e9;
        let of_memcpy = 100.0 * best[0] / best[1];
        let (slow, times) = if simple {
            (format!("{:.2}", speed(best[2])), format!("{:.1}", best[2] / best[1]))
        } else {
            ("–".to_string(), "–".to_string())
        };
        println!(
            "| {name} | {:.1} | {:.1} | {of_memcpy:.0} % | {slow} | {times} |",
            speed(best[0]),
            speed(best[1])
        );
    }
}
