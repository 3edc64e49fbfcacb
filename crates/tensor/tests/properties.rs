//! Walks and copies of random maps against a model that goes element by element, and at the limits of all numbers.

use proptest::prelude::*;
use softwarp_tensor::copy::{load, store};
use softwarp_tensor::map::{Columns, MapShape};
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::{
    Direction, Element, Fill, Interleave, Map, Mode, Promotion, Request, Run, Source, Swizzle, Walk, WideMode,
};

/// For every byte of a load, in the order of shared memory before swizzling: where it comes from, and where it goes.
/// Straight from the rules: nested loops over coordinates, one element at a time.
fn model(map: &Map, request: &Request) -> Vec<(Option<u64>, u64)> {
    let interleaved = map.interleave != Interleave::None;
    let unit =
        if interleaved { u64::from(map.interleave.bytes()) } else { u64::from(map.element.bits()) / 8 };
    let rows = starts(map, request);
    let inner = match map.shape {
        _ if interleaved => 1,
        MapShape::Tiled(sizes) => sizes[0],
        MapShape::Im2col(columns) | MapShape::Wide(_, columns) => columns.channels,
    };
    let row_bytes = u64::from(inner) * unit;
    let pitch = match map.swizzle.span() {
        0 => row_bytes,
        _ if interleaved => row_bytes,
        span => u64::from(span),
    };
    let mut bytes = Vec::new();
    for (number, start) in rows.iter().enumerate() {
        for element in 0..inner {
            let mut at = *start;
            at[0] += i64::from(element);
            let inside = at.iter().zip(map.dims).all(|(at, size)| *at >= 0 && *at < size as i64);
            let offset = |at: &[i64; 5]| {
                let outer = at.iter().zip(map.strides).skip(1).map(|(at, stride)| *at as u64 * stride);
                at[0] as u64 * unit + outer.sum::<u64>()
            };
            for byte in 0..unit {
                let source = inside.then(|| offset(&at) + byte);
                let linear = request.shared + number as u64 * pitch + u64::from(element) * unit + byte;
                bytes.push((source, swizzled(map.swizzle, linear)));
            }
        }
    }
    bytes
}

/// The swizzles of the facts, bit by bit.
fn swizzled(swizzle: Swizzle, address: u64) -> u64 {
    let bit = |number: u32| address >> number & 1;
    let changes: &[(u32, u32)] = match swizzle {
        Swizzle::None => &[],
        Swizzle::B32 | Swizzle::B96 => &[(4, 7)],
        Swizzle::B64 => &[(4, 7), (5, 8)],
        Swizzle::B128 => &[(4, 7), (5, 8), (6, 9)],
        Swizzle::B128Atom32 => &[(5, 7), (6, 8)],
        Swizzle::B128Atom32Flip8 => &[(5, 7), (6, 8), (3, 7)],
        Swizzle::B128Atom64 => &[(6, 7)],
    };
    changes.iter().fold(address, |result, (target, source)| result ^ bit(*source) << target)
}

/// The coordinates at which rows (of an interleaved tensor, slices) start.
fn starts(map: &Map, request: &Request) -> Vec<[i64; 5]> {
    let coordinates = request.coordinates.map(i64::from);
    let steps = map.element_strides.map(i64::from);
    let interleaved = map.interleave != Interleave::None;
    let mut start = [0; 5];
    start[..map.rank].copy_from_slice(&coordinates[..map.rank]);
    match (&map.shape, request.mode) {
        (_, Mode::Gather4 | Mode::Scatter4) => {
            coordinates[1..].iter().map(|row| [coordinates[0], *row, 0, 0, 0]).collect()
        }
        (MapShape::Tiled(sizes), _) => {
            let mut rows = vec![start];
            for dimension in (0..map.rank).rev() {
                if (dimension == 0 && !interleaved) || (interleaved && dimension == map.rank - 2) {
                    continue;
                }
                // The slower dimensions are outside already: each row so far becomes one per step.
                rows = rows
                    .into_iter()
                    .flat_map(|row| {
                        let offsets = (0..i64::from(sizes[dimension])).step_by(steps[dimension] as usize);
                        offsets.map(move |offset| {
                            let mut row = row;
                            row[dimension] += offset;
                            row
                        })
                    })
                    .collect();
            }
            rows
        }
        (MapShape::Im2col(columns), _) => {
            let count = columns.pixels as usize;
            let offsets = if request.mode == Mode::Im2col { request.offsets } else { [0; 3] };
            pixels(map, columns, start, map.rank - 2, offsets, 0, steps[map.rank - 1], count)
        }
        (MapShape::Wide(mode, columns), _) => {
            let [halo, shift, _] = request.offsets.map(|offset| offset as usize);
            let walk = |count| pixels(map, columns, start, 1, [0; 3], shift as i64, 1, count);
            match mode {
                WideMode::W => walk(columns.pixels as usize + halo),
                WideMode::W128 => {
                    let all = walk(128 + halo);
                    (0..4).flat_map(|group| all[group * 32..group * 32 + 32 + halo].to_vec()).collect()
                }
            }
        }
    }
}

#[allow(clippy::too_many_arguments)] // They are what the modes differ in.
fn pixels(
    map: &Map,
    columns: &Columns,
    start: [i64; 5],
    walked: usize,
    offsets: [u32; 3],
    shift: i64,
    image_step: i64,
    count: usize,
) -> Vec<[i64; 5]> {
    let first = usize::from(map.interleave == Interleave::None);
    let mut at = start;
    at[first] += shift;
    let mut visited = Vec::new();
    for _ in 0..count {
        let mut pixel = at;
        for spatial in 0..walked {
            pixel[first + spatial] += i64::from(offsets[spatial]);
        }
        visited.push(pixel);
        let mut carry = true;
        for spatial in 0..walked {
            let moved = if spatial == 0 { shift } else { 0 };
            let end = map.dims[first + spatial] as i64 + i64::from(columns.upper[spatial]) + moved;
            if carry {
                at[first + spatial] += i64::from(map.element_strides[first + spatial]);
                carry = at[first + spatial] >= end;
                if carry {
                    at[first + spatial] = i64::from(columns.lower[spatial]) + moved;
                }
            }
        }
        if carry {
            at[map.rank - 1] += image_step;
        }
    }
    visited
}

/// Types of whole bytes that are copied as they are.
fn element() -> impl Strategy<Value = Element> {
    let rounds = |one: &Element| matches!(one, Element::Tf32 | Element::Tf32Ftz);
    let whole: Vec<Element> =
        Element::ALL.iter().copied().filter(|one| !one.is_packed() && !rounds(one)).collect();
    prop::sample::select(whole)
}

const LOADS: &[Mode] = &[Mode::Tile, Mode::Gather4, Mode::Im2col, Mode::Im2colW, Mode::Im2colW128];
const STORES: &[Mode] = &[Mode::Tile, Mode::Scatter4, Mode::Im2colNoOffs];

/// A small legal map and a request in one of these modes that the hardware takes.
fn case(modes: &'static [Mode]) -> impl Strategy<Value = (Map, Request)> {
    let numbers = (
        3_usize..=5,
        prop::array::uniform5(1_u64..10),
        prop::array::uniform5(1_u32..=4),
        prop::array::uniform5(1_u32..=5),
        prop::array::uniform5(-5_i32..12),
    );
    let choices = (
        element(),
        prop::sample::select(Swizzle::ALL),
        prop::sample::select(Interleave::ALL),
        prop::sample::select(modes),
        prop::sample::select(Fill::ALL),
    );
    let rest = (
        prop::array::uniform3((-2_i32..=0, -1_i32..=2)),
        prop::array::uniform3(0_u32..4),
        1_u32..=8,
        1_u32..60,
        0_u64..4,
        0_u64..16,
    );
    (numbers, choices, rest).prop_map(|(numbers, choices, rest)| legal(numbers, choices, rest))
}

type Numbers = (usize, [u64; 5], [u32; 5], [u32; 5], [i32; 5]);
type Choices = (Element, Swizzle, Interleave, Mode, Fill);
type Rest = ([(i32, i32); 3], [u32; 3], u32, u32, u64, u64);

/// The legal map and request nearest to what was chosen.
fn legal(numbers: Numbers, choices: Choices, rest: Rest) -> (Map, Request) {
    let (rank, mut dims, element_strides, mut sizes, mut coordinates) = numbers;
    let (element, swizzle, interleave, mode, fill) = choices;
    let (corners, offsets, cells, pixels, padding, line) = rest;
    let wide = matches!(mode, Mode::Im2colW | Mode::Im2colW128);
    let four = matches!(mode, Mode::Gather4 | Mode::Scatter4);
    let rank = if four { 2 } else { rank };
    let interleave = if wide || four { Interleave::None } else { interleave };
    let store = matches!(mode, Mode::Scatter4 | Mode::Im2colNoOffs);
    let unit =
        u64::from(if interleave == Interleave::None { element.bits() / 8 } else { interleave.bytes() });
    let per_cell = (16 / unit).max(1);
    if interleave == Interleave::None {
        let most = if swizzle == Swizzle::None { 8 } else { swizzle.span() / 16 };
        sizes[0] = cells.min(most) * per_cell as u32;
        dims[0] *= 3;
        coordinates[0] *= per_cell as i32;
    }
    if four {
        sizes[1] = 1;
    }
    let lower = corners.map(|corner| if store { -corner.0 } else { corner.0 });
    let upper = corners.map(|corner| if store { corner.1.min(0) } else { corner.1 });
    let columns = Columns { lower, upper, channels: sizes[0], pixels };
    let mut strides = [unit, 0, 0, 0, 0];
    let mut bytes = dims[0] * unit;
    for dimension in 1..rank {
        bytes = bytes.next_multiple_of(32) + padding * 32;
        strides[dimension] = bytes;
        bytes *= dims[dimension];
    }
    for dimension in rank..5 {
        (dims[dimension], sizes[dimension]) = (1, 1);
    }
    if matches!(mode, Mode::Im2col | Mode::Im2colNoOffs) || wide {
        // The base goes into the bounding box, which is never empty.
        let first = usize::from(interleave == Interleave::None);
        for spatial in 0..rank - 2 {
            let dim = &mut dims[first + spatial];
            *dim += 4;
            let length = *dim as i32 + upper[spatial] - lower[spatial];
            let at = &mut coordinates[first + spatial];
            *at = lower[spatial] + at.rem_euclid(length);
        }
        // Strides for the larger dimensions.
        for dimension in 1..rank {
            let faster = strides[dimension - 1] * dims[dimension - 1];
            strides[dimension] = faster.next_multiple_of(32) + padding * 32;
        }
    }
    if store {
        coordinates = coordinates.map(i32::abs);
    }
    let shape = match mode {
        Mode::Tile | Mode::Gather4 | Mode::Scatter4 => MapShape::Tiled(sizes),
        Mode::Im2col | Mode::Im2colNoOffs => MapShape::Im2col(columns),
        Mode::Im2colW => MapShape::Wide(WideMode::W, columns),
        Mode::Im2colW128 => MapShape::Wide(WideMode::W128, columns),
    };
    let map = Map {
        element,
        rank,
        address: 0,
        dims,
        strides,
        element_strides,
        interleave,
        swizzle,
        promotion: Promotion::None,
        fill,
        shape,
    };
    let direction = if store { Direction::Store } else { Direction::Load };
    (map, Request { mode, direction, coordinates, offsets, shared: line * 128 })
}

/// The bytes of the tensor, from the first to behind the last.
fn extent(map: &Map) -> usize {
    let last = map.dims.iter().zip(map.strides).map(|(size, stride)| (size - 1) * stride).sum::<u64>();
    last as usize + 64
}

fn bytes_of(runs: &[Run]) -> Vec<(Option<u64>, u64)> {
    let bytes = runs.iter().flat_map(|run| {
        (0..u64::from(run.length)).map(move |byte| match run.source {
            Source::Global(offset) => (Some(offset + byte), run.shared + byte),
            Source::Fill => (None, run.shared + byte),
        })
    });
    bytes.collect()
}

/// Where two lists of bytes differ, without all that is around it.
fn first_difference(was: &[(Option<u64>, u64)], should: &[(Option<u64>, u64)]) -> Option<String> {
    let length = was.len().max(should.len());
    let at = (0..length).find(|at| was.get(*at) != should.get(*at))?;
    Some(format!("byte {at} of {length}: {:?} instead of {:?}", was.get(at), should.get(at)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn runs_are_the_bytes_of_the_model_and_as_long_as_they_can_be((map, request) in case(LOADS)) {
        let walk = Walk::new(&map, &request).expect("no fault");
        let runs: Vec<Run> = walk.clone().collect();
        let bytes = bytes_of(&runs);
        prop_assert_eq!(first_difference(&bytes, &model(&map, &request)), None);
        prop_assert_eq!(bytes.len() as u64, walk.transaction_bytes());
        for pair in runs.windows(2) {
            let together = match (pair[0].source, pair[1].source) {
                (Source::Global(one), Source::Global(other)) => one + u64::from(pair[0].length) == other,
                (one, other) => one == other,
            };
            prop_assert!(!together || pair[0].shared + u64::from(pair[0].length) != pair[1].shared);
        }
        let mut places: Vec<u64> = bytes.iter().map(|byte| byte.1).collect();
        places.sort_unstable();
        prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "no byte of shared memory twice");
        let end = request.shared + walk.footprint();
        prop_assert!(places.iter().all(|place| (request.shared..end).contains(place)));
    }

    #[test]
    fn cells_and_elements_are_the_bytes_of_the_runs((map, request) in case(Mode::ALL)) {
        let walk = Walk::new(&map, &request).expect("no fault");
        let bytes = bytes_of(&walk.clone().collect::<Vec<_>>());
        for cells in [walk.cells(), walk.elements()] {
            let cells: Vec<_> = cells.collect();
            let runs: Vec<Run> = cells
                .iter()
                .map(|cell| Run {
                    source: cell.global.map_or(Source::Fill, Source::Global),
                    shared: cell.shared,
                    length: cell.length,
                })
                .collect();
            prop_assert_eq!(first_difference(&bytes_of(&runs), &bytes), None);
            // Coordinates and offsets say the same.
            for cell in cells.iter().filter(|cell| cell.in_bounds() && cell.column == 0) {
                let at = cell.coordinates.iter().zip(map.strides).map(|(at, stride)| *at as u64 * stride);
                prop_assert_eq!(Some(at.sum::<u64>()), cell.global);
            }
        }
    }

    #[test]
    fn loads_move_the_bytes_of_the_model((map, request) in case(LOADS)) {
        let global: Vec<u8> = (0..extent(&map)).map(|at| (at * 7 + at / 251) as u8).collect();
        let mut shared = vec![0xcd; 1 << 20];
        load(&map, &request, global.as_slice(), &mut shared).expect("no fault");
        let mut expected = vec![0xcd; 1 << 20];
        let nan = map.fill == Fill::Nan && map.element.is_float();
        for (source, place) in model(&map, &request) {
            let fill = if nan { [0xf7, 0x7f][place as usize % 2] } else { 0 };
            expected[place as usize] = source.map_or(fill, |source| global[source as usize]);
        }
        prop_assert!(shared == expected);
    }

    #[test]
    fn a_store_puts_back_what_a_load_took((map, request) in case(STORES)) {
        let mode = match request.mode {
            Mode::Im2colNoOffs => Mode::Im2col,
            Mode::Scatter4 => Mode::Gather4,
            mode => mode,
        };
        let coordinates = request.coordinates.map(i32::abs);
        let reading = Request { mode, direction: Direction::Load, coordinates, offsets: [0; 3], ..request };
        let writing = Request { direction: Direction::Store, coordinates, ..request };
        let global: Vec<u8> = (0..extent(&map)).map(|at| (at * 5 + at / 241) as u8).collect();
        let mut shared = vec![0xcd; 1 << 20];
        load(&map, &reading, global.as_slice(), &mut shared).expect("no fault");
        let mut copy: Vec<u8> = global.iter().map(|byte| !byte).collect();
        let before = copy.clone();
        store(&map, &writing, &shared, copy.as_mut_slice()).expect("no fault");
        let mut touched = vec![false; global.len()];
        for (source, _) in model(&map, &reading) {
            if let Some(source) = source {
                touched[source as usize] = true;
            }
        }
        let row = (map.dims[0] * map.strides[0]) as usize;
        for at in 0..global.len() {
            if touched[at] {
                prop_assert_eq!(copy[at], global[at], "byte {} is back", at);
            } else if copy[at] != before[at] {
                // Only the padding behind a row is written too, up to 16 bytes' alignment.
                let behind = (1..16).any(|back| at >= back && touched[at - back]) && !row.is_multiple_of(16);
                prop_assert!(behind, "byte {} is not of the copy", at);
            }
        }
    }

    #[test]
    fn nothing_panics_at_the_limits_of_all_numbers(
        numbers in (0_usize..7, prop::array::uniform5(wide(33)), prop::array::uniform5(wide(40)),
                    prop::array::uniform5(any::<u32>()), prop::array::uniform5(any::<u32>())),
        choices in (prop::sample::select(Element::ALL), prop::sample::select(Swizzle::ALL),
                    prop::sample::select(Interleave::ALL), prop::sample::select(Mode::ALL), 0..10_usize),
        request in (prop::array::uniform5(any::<i32>()), prop::array::uniform3(any::<u32>()), any::<u64>()),
        corners in (prop::array::uniform3(any::<i32>()), prop::array::uniform3(any::<i32>()), any::<bool>()),
        tame in any::<u8>(),
    ) {
        let (rank, mut dims, strides, mut element_strides, mut sizes) = numbers;
        let (element, swizzle, interleave, mode, way) = choices;
        let (mut coordinates, mut offsets, mut shared) = request;
        // Each bit makes some numbers ordinary, so that not every walk ends in the first fault.
        if tame & 1 != 0 { dims = dims.map(|size| size % (1 << 31) + 1); }
        if tame & 2 != 0 { element_strides = element_strides.map(|stride| stride % 8 + 1); }
        if tame & 4 != 0 { sizes = sizes.map(|size| size % 256 + 1); }
        if tame & 8 != 0 { coordinates[0] &= !0x7f; shared &= !0x7f; }
        if tame & 16 != 0 { coordinates = coordinates.map(|at| at & i32::MAX); offsets = offsets.map(|at| at % 32); }
        let (mut lower, mut upper, clear) = corners;
        if clear { (lower, upper) = ([0; 3], [0; 3]); }
        let columns = Columns { lower, upper, channels: sizes[0], pixels: sizes[1] };
        let shape = match mode {
            Mode::Tile | Mode::Gather4 | Mode::Scatter4 => MapShape::Tiled(sizes),
            Mode::Im2col | Mode::Im2colNoOffs => MapShape::Im2col(columns),
            Mode::Im2colW => MapShape::Wide(WideMode::W, columns),
            Mode::Im2colW128 => MapShape::Wide(WideMode::W128, columns),
        };
        let map = Map {
            element, rank, address: u64::MAX, dims, strides, element_strides, interleave, swizzle,
            promotion: Promotion::None, fill: Fill::Nan, shape,
        };
        let direction = match way {
            0 => Direction::Load,
            1 => Direction::Store,
            other => Direction::Reduce(Operation::ALL[other - 2]),
        };
        let request = Request { mode, direction, coordinates, offsets, shared };
        if let Ok(walk) = Walk::new(&map, &request) {
            prop_assert!(walk.footprint() <= u64::MAX - request.shared || walk.footprint() > 0);
            walk.transaction_bytes();
            walk.cells().take(50).for_each(drop);
            walk.elements().take(50).for_each(drop);
            walk.take(20).for_each(drop);
        }
        let mut memory = vec![0; 4096];
        let _ = load(&map, &request, [0; 256].as_slice(), &mut memory);
        let _ = store(&map, &request, &memory, [0; 256].as_mut_slice());
    }
}

/// Numbers of up to a given number of bits, the largest among them.
fn wide(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits, any::<u64>()).prop_map(|(bits, number)| number & ((1 << bits) - 1))
}
