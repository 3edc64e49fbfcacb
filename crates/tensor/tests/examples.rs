//! The worked examples of PTX ISA section 5.5, with the results that its text implies.
//!
//! The manual writes im2col coordinates as (n, h, w, c), and sizes from the channels up; only so are its examples
//! legal. Requests have both the fastest dimension first.

use softwarp_tensor::copy::{load, store};
use softwarp_tensor::{
    Cell, Description, Direction, Element, Interleave, Map, Mode, Packing, Request, Run, Source, Swizzle,
    Target, Walk, WideMode, packed_strides,
};

fn walk(
    description: &Description,
    arch: Target,
    mode: Mode,
    coordinates: [i32; 5],
    offsets: [u32; 3],
) -> Walk {
    let map = Map::new(description, arch).unwrap_or_else(|findings| panic!("{findings:?}"));
    let request = Request { mode, direction: Direction::Load, coordinates, offsets, shared: 0 };
    Walk::new(&map, &request).unwrap_or_else(|fault| panic!("{fault}"))
}

/// The first element of every row: where it is in the tensor, and whether it is.
fn rows(walk: &Walk) -> Vec<([i64; 5], bool)> {
    let mut rows: Vec<Cell> = walk.elements().collect();
    rows.retain(|cell| cell.column == 0);
    rows.iter().map(|cell| (cell.coordinates, cell.in_bounds())).collect()
}

/// (n, h, w) of a pixel of a 4D tensor.
fn nhw(row: &([i64; 5], bool)) -> [i64; 3] {
    let [_, w, h, n, _] = row.0;
    [n, h, w]
}

fn outside(rows: &[([i64; 5], bool)]) -> usize {
    rows.iter().filter(|row| !row.1).count()
}

/// The distinct W of rows, in the order in which they first come.
fn columns(rows: &[([i64; 5], bool)]) -> Vec<i64> {
    let mut columns = Vec::new();
    for row in rows {
        if !columns.contains(&row.0[1]) {
            columns.push(row.0[1]);
        }
    }
    columns
}

/// A 4D tensor of f16, channels, W, H and images.
fn images(dims: [u64; 4], corners: [i32; 2], channels: u32, pixels: u32) -> Description {
    let strides = packed_strides(Element::F16, &dims);
    let [lower, upper] = corners;
    Description::im2col(Element::F16, &dims, &strides, (&[lower; 2], &[upper; 2]), (channels, pixels))
}

#[test]
fn four_boxes_of_gather4_start_where_figure_10_has_them() {
    // Starts (1, 2), (1, 5), (1, 0), (1, 9): column 1 of four rows. With 16-byte elements' worth of columns, the
    // column is a multiple of 16 bytes.
    let description = Description::tiled(Element::U8, &[64, 16], &[64], &[16, 1]);
    let walk = walk(&description, Target::SM_100, Mode::Gather4, [16, 2, 5, 0, 9], [0; 3]);
    assert_eq!((walk.transaction_bytes(), walk.footprint()), (64, 64));
    let runs: Vec<Run> = walk.collect();
    let expected = [2, 5, 0, 9].iter().zip([0, 16, 32, 48]).map(|(row, shared)| Run {
        source: Source::Global(row * 64 + 16),
        shared,
        length: 16,
    });
    assert_eq!(runs, expected.collect::<Vec<_>>());
}

#[test]
fn im2col_example_1_walks_from_the_middle_of_one_image_into_the_next() {
    let description = images([64, 9, 14, 64], [-1, -1], 8, 64);
    let walk = walk(&description, Target::SM_90, Mode::Im2col, [0, 4, 7, 7, 0], [0; 3]);
    let rows = rows(&walk);
    assert_eq!(rows.len(), 64);
    assert_eq!((nhw(&rows[0]), nhw(&rows[63])), ([7, 7, 4], [8, 0, 4]));
    assert_eq!(columns(&rows), [4, 5, 6, 7, -1, 0, 1, 2, 3]);
    let heights = rows.iter().map(|row| row.0[2]);
    assert_eq!((heights.clone().min(), heights.max()), (Some(-1), Some(12)));
    assert_eq!(outside(&rows), 15);
    assert_eq!(walk.transaction_bytes(), 64 * 8 * 2);
}

#[test]
fn im2col_example_2_stays_in_the_tensor_by_its_offsets() {
    let description = images([64, 9, 14, 64], [0, -2], 8, 64);
    let walk = walk(&description, Target::SM_90, Mode::Im2col, [0, 4, 7, 7, 0], [2, 2, 0]);
    let rows = rows(&walk);
    // What is accessed is two further in both directions than the bases (7, 7, 4) and (8, 4, 4).
    assert_eq!((nhw(&rows[0]), nhw(&rows[63])), ([7, 9, 6], [8, 6, 6]));
    assert_eq!(columns(&rows), [6, 7, 8, 2, 3, 4, 5]);
    assert_eq!(outside(&rows), 0);
}

#[test]
fn im2col_example_3_steps_by_its_traversal_stride() {
    let mut description = images([64, 8, 14, 64], [-1, -1], 16, 32);
    description.element_strides = vec![1, 2, 2, 1];
    let walk = walk(&description, Target::SM_90, Mode::Im2col, [0, 5, 7, 7, 0], [1, 1, 0]);
    let rows = rows(&walk);
    assert_eq!(rows.len(), 32);
    assert_eq!((nhw(&rows[0]), nhw(&rows[31])), ([7, 8, 6], [8, 10, 4]));
    // Bases -1, 1, 3, 5, and the offset.
    assert_eq!(columns(&rows), [6, 0, 2, 4]);
    assert_eq!(outside(&rows), 0);
}

/// A 4D tensor of f16 for the W modes, swizzled as they need.
fn along_w(dims: [u64; 4], mode: WideMode, corners: (i32, i32), stride: u32) -> Description {
    let strides = packed_strides(Element::F16, &dims);
    let mut description = Description::wide(Element::F16, &dims, &strides, mode, corners, (64, 128));
    description.element_strides = vec![1, stride, 1, 1];
    description.swizzle = Swizzle::B128;
    description
}

#[test]
fn the_example_of_im2col_w_loads_128_pixels_and_two_of_the_halo() {
    let description = along_w([128, 9, 7, 64], WideMode::W, (0, 0), 1);
    let walk = walk(&description, Target::SM_100, Mode::Im2colW, [0, 3, 2, 7, 0], [2, 0, 0]);
    let rows = rows(&walk);
    assert_eq!(rows.len(), 130);
    assert_eq!(walk.transaction_bytes(), 130 * 64 * 2);
    assert_eq!(nhw(&rows[0]), [7, 2, 3]);
    // H is fixed: after W comes the next image.
    assert_eq!((nhw(&rows[5]), nhw(&rows[6])), ([7, 2, 8], [8, 2, 0]));
    assert!(rows.iter().all(|row| row.0[2] == 2 && row.1));
    // 6 of the first image, 13 images of 9, 5 more; the halo goes on behind them.
    assert_eq!((nhw(&rows[127]), nhw(&rows[128]), nhw(&rows[129])), ([21, 2, 4], [21, 2, 5], [21, 2, 6]));
    // In shared memory the halo follows the main pixels.
    assert_eq!(walk.cells().filter(|cell| cell.row == 128).map(|cell| cell.linear).min(), Some(128 * 128));
}

#[test]
fn the_example_of_im2col_w_128_has_a_halo_after_every_32_pixels() {
    let description = along_w([128, 9, 7, 64], WideMode::W128, (0, 0), 1);
    let walk = walk(&description, Target::SM_100, Mode::Im2colW128, [0, 3, 2, 7, 0], [2, 0, 0]);
    let rows = rows(&walk);
    assert_eq!(rows.len(), 136);
    assert_eq!(walk.transaction_bytes(), 136 * 64 * 2);
    let pixel = |number: i64| [7 + (number + 3) / 9, 2, (number + 3) % 9];
    for group in 0..4 {
        for number in 0..34 {
            // The halo is what the next group begins with.
            let row = &rows[group * 34 + number];
            assert_eq!(nhw(row), pixel(group as i64 * 32 + number as i64), "group {group}, pixel {number}");
        }
    }
}

#[test]
fn w_offset_example_1_fills_two_buffers_with_even_and_odd_columns() {
    let description = along_w([128, 9, 67, 64], WideMode::W, (-1, 0), 2);
    let buffer =
        |offsets| rows(&walk(&description, Target::SM_100, Mode::Im2colW, [0, -1, 2, 7, 0], offsets));
    let first = buffer([1, 0, 0]);
    assert_eq!((first.len(), columns(&first)), (129, vec![-1, 1, 3, 5, 7]));
    let second = buffer([0, 1, 0]);
    assert_eq!((second.len(), columns(&second)), (128, vec![0, 2, 4, 6, 8]));
    assert_eq!((outside(&first), outside(&second)), (26, 0));
}

#[test]
fn w_offset_example_2_fills_three_buffers() {
    let description = along_w([128, 7, 7, 64], WideMode::W, (-1, -1), 3);
    let buffer = |shift| {
        columns(&rows(&walk(&description, Target::SM_100, Mode::Im2colW, [0, -1, 2, 7, 0], [0, shift, 0])))
    };
    assert_eq!(buffer(0), [-1, 2, 5]);
    assert_eq!(buffer(1), [0, 3, 6]);
    assert_eq!(buffer(2), [1, 4, 7]);
}

/// Where the 16-byte cells of a copy lie: for each place in shared memory, row and cell.
fn picture(walk: &Walk) -> Vec<(u64, u32)> {
    let mut cells: Vec<Cell> = walk.cells().collect();
    cells.sort_by_key(|cell| cell.shared);
    let addresses = cells.iter().zip((0..).step_by(16));
    assert!(addresses.clone().all(|(cell, address)| cell.shared == address), "the copy has no holes");
    cells.iter().map(|cell| (cell.row, cell.column)).collect()
}

#[test]
fn the_32_byte_example_exchanges_halves_of_slices_in_every_second_line() {
    // NC/(32B)HWC(32B), 1 x 2 x 10 x 10 x C16: fragment C/(32B) = 0, then 1. Dimensions: W, H, C slices, N.
    let mut description =
        Description::tiled(Element::F16, &[10, 10, 2, 1], &[320, 3200, 6400], &[16, 10, 1, 1]);
    description.interleave = Interleave::B32;
    description.swizzle = Swizzle::B32;
    // A box row is at least 16 bytes for the driver, 16 slices here; only ten of them are in the tensor.
    for slice in 0..2 {
        let walk = walk(&description, Target::SM_90, Mode::Tile, [0, 0, slice, 0, 0], [0; 3]);
        assert_eq!(walk.transaction_bytes(), 160 * 32);
        let cells: Vec<Cell> = walk.cells().collect();
        for cell in &cells {
            let [w, h, c, ..] = cell.coordinates;
            assert_eq!((cell.row as i64, c), (h * 16 + w, i64::from(slice)));
            let inside = (w < 10).then_some((i64::from(slice) * 3200 + h * 320 + w * 32) as u64);
            assert_eq!(cell.global.map(|at| at - u64::from(cell.column) * 16), inside);
            // Lines have four slices; in odd lines the halves change places.
            let half = u64::from(cell.column) ^ (cell.row / 4 % 2);
            assert_eq!(cell.shared, cell.row * 32 + half * 16);
        }
        assert_eq!(cells.len(), 320);
    }
}

#[test]
fn the_64_byte_example_exchanges_cells_of_8_channels_within_half_a_line() {
    // NHWC 1 x 10 x 10 x 64, 2 bytes, 32 channels in the box.
    let dims = [64, 10, 10, 1];
    let strides = packed_strides(Element::F16, &dims);
    let mut description = Description::tiled(Element::F16, &dims, &strides, &[32, 10, 10, 1]);
    description.swizzle = Swizzle::B64;
    let walk = walk(&description, Target::SM_90, Mode::Tile, [32, 0, 0, 0, 0], [0; 3]);
    let picture = picture(&walk);
    assert_eq!(picture.len(), 400);
    for line in 0..50 {
        for half in 0..2 {
            let places = &picture[line * 8 + half * 4..][..4];
            let expected: [(u64, u32); 4] =
                std::array::from_fn(|place| ((line * 2 + half) as u64, (place ^ (line % 4)) as u32));
            assert_eq!(places, expected, "line {line}");
        }
    }
}

#[test]
fn the_96_byte_example_exchanges_neighbours_in_every_second_line() {
    let mut description = Description::tiled(Element::F16, &[48, 32], &[96], &[48, 16]);
    description.swizzle = Swizzle::B96;
    let map = Map::new(&description, Target::SM_103).unwrap_or_else(|findings| panic!("{findings:?}"));
    let request = Request {
        mode: Mode::Tile,
        direction: Direction::Load,
        coordinates: [0; 5],
        offsets: [0; 3],
        shared: 0,
    };
    let walk = Walk::new(&map, &request).expect("no fault");
    assert_eq!(walk.footprint(), 16 * 96);
    let picture = picture(&walk);
    for (place, &(row, column)) in picture.iter().enumerate() {
        // Cells follow one another at six to a row; the manual's table is of lines of eight.
        let number = row * 6 + u64::from(column);
        assert_eq!(number, place as u64 ^ (place as u64 / 8 % 2), "place {place}");
    }
}

#[test]
fn the_128_byte_example_exchanges_cells_of_8_channels_by_the_number_of_the_row() {
    // NHWC 1 x 10 x 10 x 64, 2 bytes, 64 channels.
    let dims = [64, 10, 10, 1];
    let strides = packed_strides(Element::F16, &dims);
    let mut description = Description::tiled(Element::F16, &dims, &strides, &[64, 10, 10, 1]);
    description.swizzle = Swizzle::B128;
    let walk = walk(&description, Target::SM_90, Mode::Tile, [0; 5], [0; 3]);
    let picture = picture(&walk);
    assert_eq!(picture.len(), 800);
    for (place, &(row, column)) in picture.iter().enumerate() {
        assert_eq!((row, column), (place as u64 / 8, (place as u32 % 8) ^ (row as u32 % 8)));
    }
    let first: Vec<Run> = walk.clone().take(2).collect();
    assert_eq!(first[0], Run { source: Source::Global(0), shared: 0, length: 128 }, "row 0 stays as it is");
    assert_eq!(first[1], Run { source: Source::Global(128), shared: 128 + 16, length: 16 });
}

#[test]
fn traversal_strides_skip_elements_of_a_box() {
    let mut description = Description::tiled(Element::U32, &[8, 8, 4], &[32, 256], &[4, 7, 3]);
    description.element_strides = vec![1, 3, 2];
    let walk = walk(&description, Target::SM_90, Mode::Tile, [4, 1, 0, 0, 0], [0; 3]);
    let visited: Vec<(i64, i64)> = rows(&walk).iter().map(|row| (row.0[1], row.0[2])).collect();
    assert_eq!(visited, [(1, 0), (4, 0), (7, 0), (1, 2), (4, 2), (7, 2)]);
    assert_eq!(walk.transaction_bytes(), 6 * 16);
}

/// A 2D tensor of elements below a byte: rows of 256, of which a box takes 128.
fn packed(element: Element, swizzle: Swizzle) -> Map {
    let row = 256 * u64::from(element.bits()) / 8;
    let mut description = Description::tiled(element, &[256, 4], &[row], &[128, 2]);
    description.swizzle = swizzle;
    Map::new(&description, Target::SM_100).unwrap_or_else(|findings| panic!("{findings:?}"))
}

fn at(mode: Mode, direction: Direction, coordinates: [i32; 5]) -> Request {
    Request { mode, direction, coordinates, offsets: [0; 3], shared: 0 }
}

#[test]
fn b4x16_is_copied_as_it_is() {
    let map = packed(Element::B4x16, Swizzle::None);
    let walk = Walk::new(&map, &at(Mode::Tile, Direction::Load, [128, 1, 0, 0, 0])).expect("no fault");
    assert_eq!((walk.packing(), walk.transaction_bytes(), walk.footprint()), (Packing::Plain, 128, 128));
    let runs: Vec<Run> = walk.collect();
    assert_eq!(runs[0], Run { source: Source::Global(128 + 64), shared: 0, length: 64 });
    assert_eq!(runs[1], Run { source: Source::Global(256 + 64), shared: 64, length: 64 });
}

#[test]
fn sixteen_4_bit_elements_get_64_bits_of_padding() {
    let map = packed(Element::B4x16P64, Swizzle::B128);
    let request = at(Mode::Tile, Direction::Load, [128, 1, 0, 0, 0]);
    let walk = Walk::new(&map, &request).expect("no fault");
    assert_eq!((walk.packing(), walk.transaction_bytes(), walk.footprint()), (Packing::Padded(8), 128, 256));
    let runs: Vec<Run> = walk.collect();
    assert_eq!(runs.len(), 16);
    assert_eq!(runs[1], Run { source: Source::Global(128 + 64 + 8), shared: 16, length: 8 });
    assert_eq!(runs[9], Run { source: Source::Global(256 + 64 + 8), shared: 128, length: 8 });
    let global: Vec<u8> = (0..512).map(|at| at as u8).collect();
    let mut shared = [0xcd; 256];
    load(&map, &request, global.as_slice(), &mut shared).expect("no fault");
    assert_eq!(shared[16..24], global[200..208]);
    assert_eq!(shared[24..32], [0xcd; 8], "padding is left alone");
}

#[test]
fn sixteen_6_bit_elements_get_32_bits_of_padding() {
    let map = packed(Element::B6x16, Swizzle::None);
    let request = at(Mode::Tile, Direction::Load, [128, 3, 0, 0, 0]);
    let walk = Walk::new(&map, &request).expect("no fault");
    assert_eq!((walk.packing(), walk.transaction_bytes(), walk.footprint()), (Packing::Padded(12), 192, 256));
    let global: Vec<u8> = (0..768).map(|at| (at % 253) as u8).collect();
    let mut shared = [0xcd; 256];
    load(&map, &request, global.as_slice(), &mut shared).expect("no fault");
    for unit in 0..8 {
        assert_eq!(shared[unit * 16..unit * 16 + 12], global[3 * 192 + 96 + unit * 12..][..12]);
        assert_eq!(shared[unit * 16 + 12..][..4], [0xcd; 4], "padding is left alone");
    }
    // Row 4 does not exist: its elements are zero, and only they.
    assert_eq!(shared[128..144], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xcd, 0xcd, 0xcd, 0xcd]);
}

#[test]
fn sixteen_bytes_of_6_bits_are_stored_as_96_bits() {
    let map = packed(Element::B6x16, Swizzle::None);
    let request = at(Mode::Tile, Direction::Store, [0, 3, 0, 0, 0]);
    assert_eq!(Walk::new(&map, &request).expect("no fault").packing(), Packing::SixBits);
    let mut shared = [0xff; 256];
    // The two upper bits of each byte are dropped.
    shared[..16].copy_from_slice(&std::array::from_fn::<u8, 16, _>(|at| at as u8 | 0xc0));
    let mut global = vec![0xcd; 768];
    store(&map, &request, &shared, global.as_mut_slice()).expect("no fault");
    let row = &global[3 * 192..];
    let bits = row[..12].iter().rev().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    assert_eq!(
        (0..16).map(|at| (bits >> (6 * at) & 0x3f) as u8).collect::<Vec<_>>(),
        (0..16).collect::<Vec<_>>()
    );
    assert_eq!(row[12..96], [0xff; 84]);
    assert_eq!(row[96..], [0xcd; 96], "the other half of the row is not in the box");
    assert!(global[..3 * 192].iter().all(|byte| *byte == 0xcd));
}

#[test]
fn cells_are_all_there_after_some_runs_were_taken() {
    let description = Description::tiled(Element::U32, &[8, 8, 4], &[48, 384], &[4, 2, 3]);
    let mut walk = walk(&description, Target::SM_90, Mode::Tile, [0; 5], [0; 3]);
    let all = walk.cells().count();
    walk.nth(3);
    assert_eq!((walk.cells().count(), all), (6, 6));
}
