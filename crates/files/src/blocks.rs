//! Block-scaled arrays in `.npz` files.
//!
//! Such a file holds `codes` (`|u1`: the elements, 4-bit ones two to a byte with the first in the low half, a
//! row of odd length ending in half a byte), `scales` (`|u1`: one code for each block of a row), `shape`
//! (`<i8`: of the array before), `format` (a string such as `mxfp4`) and, for formats that have one,
//! `tensor_scale` (`<f4`). Rows are the last axis; blocks do not cross them. Where blocks lie along another axis of
//! the array, the file also holds `axis` (`<i8`: its number), and codes and scales have that axis last.

use crate::formats::has_tensor_scale;
use crate::names;
use crate::npy::{self, Array, DType, Order};
use crate::npz::{Archive, NpzError};
use softwarp::num::block::{BlockFormat, Quantized, dequantize};
use softwarp::num::slice::packed_len;
use std::io::{self, Read, Seek, Write};

/// Why a file holds no block-scaled array.
#[derive(Debug, thiserror::Error)]
pub enum BlocksError {
    /// The archive, or an array in it, cannot be read.
    #[error(transparent)]
    Npz(NpzError),
    /// An array is not what it must be.
    #[error("array `{0}`: {1}")]
    Array(&'static str, String),
}

/// Elements of a row: along the last axis.
pub fn row(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1)
}

/// A shape with one of its axes moved behind the others.
pub fn with_axis_last(shape: &[usize], axis: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if axis < shape.len() {
        shape[axis..].rotate_left(1);
    }
    shape
}

/// Where the elements of an array are that has one of its axes moved behind the others: for each in the new order, its
/// place in the old one.
fn places(shape: &[usize], axis: usize) -> impl Iterator<Item = usize> {
    let axis = axis.min(shape.len());
    let product = |axes: &[usize]| axes.iter().product::<usize>();
    let (outer, length, inner) = (
        product(&shape[..axis]),
        shape.get(axis).copied().unwrap_or(1),
        product(&shape[shape.len().min(axis + 1)..]),
    );
    (0..outer).flat_map(move |outer| {
        (0..inner)
            .flat_map(move |inner_at| (0..length).map(move |at| (outer * length + at) * inner + inner_at))
    })
}

/// The elements of a C-ordered array with one of its axes moved behind the others.
pub fn move_axis_last<T: Copy>(values: &[T], shape: &[usize], axis: usize) -> Vec<T> {
    places(shape, axis).filter_map(|place| values.get(place).copied()).collect()
}

/// What [`move_axis_last`] was given, from what it returned.
pub fn move_axis_back<T: Copy + Default>(values: &[T], shape: &[usize], axis: usize) -> Vec<T> {
    let mut back = vec![T::default(); values.len()];
    for (place, value) in places(shape, axis).zip(values) {
        if let Some(back) = back.get_mut(place) {
            *back = *value;
        }
    }
    back
}

/// A block-scaled array, and the array that it was before.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// Codes and scales.
    pub quantized: Quantized,
    /// The shape of the array before.
    pub shape: Vec<usize>,
    /// The axis that blocks lie along; 0 for an array without axes.
    pub axis: usize,
}

impl Blocks {
    /// The shape in which the codes lie.
    pub fn moved(&self) -> Vec<usize> {
        with_axis_last(&self.shape, self.axis)
    }

    /// Whether the codes lie in another order than the array did.
    pub fn is_moved(&self) -> bool {
        self.axis + 1 < self.shape.len()
    }
}

/// The shapes of `codes` and `scales`.
fn shapes(format: BlockFormat, shape: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let leading = shape.split_last().map_or(&[][..], |(_, leading)| leading);
    let with_last = |last| [leading, &[last]].concat();
    let codes = with_last(packed_len(format.element(), row(shape)));
    (codes, with_last(row(shape).div_ceil(format.block().max(1))))
}

/// The arrays of a file.
pub fn to_arrays(blocks: &Blocks) -> Vec<(&'static str, Array)> {
    let Blocks { quantized, shape, axis } = blocks;
    let format = quantized.format;
    let (codes, scales) = shapes(format, &blocks.moved());
    let byte = DType::new('u', 1);
    let dimensions = shape.iter().flat_map(|&axis| (axis as u64).to_le_bytes()).collect();
    let name = format.name();
    let characters = name.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let mut arrays = vec![
        ("codes", Array::new(byte, codes, quantized.codes.clone())),
        ("scales", Array::new(byte, scales, quantized.scales.clone())),
        ("shape", Array::new(DType::new('i', 8), vec![shape.len()], dimensions)),
        ("format", Array::new(DType::new('U', name.len() as u32), vec![], characters)),
    ];
    if has_tensor_scale(format) {
        let scale = quantized.tensor_scale.to_le_bytes().to_vec();
        arrays.push(("tensor_scale", Array::new(DType::new('f', 4), vec![], scale)));
    }
    if blocks.is_moved() {
        let axis = (*axis as u64).to_le_bytes().to_vec();
        arrays.push(("axis", Array::new(DType::new('i', 8), vec![], axis)));
    }
    arrays
}

/// Whether a shape is one that [`read`] takes back: its axes are positive as 64-bit numbers, and the unpacked array
/// (four bytes an element) has a size.
pub fn check_shape(shape: &[usize]) -> Result<(), BlocksError> {
    let too_large = || BlocksError::Array("shape", "it is larger than any array".to_owned());
    npy::elements(shape).and_then(|count| count.checked_mul(4)).ok_or_else(too_large)?;
    if shape.iter().any(|&axis| axis > isize::MAX as usize / 8) { Err(too_large()) } else { Ok(()) }
}

/// The most bytes that an array of a compressed archive takes when it is unpacked, if the archive is small.
const MOST_UNPACKED: u64 = 1 << 30;

/// The highest ratio of unpacked to packed bytes that is accepted for an archive written without compression.
const MOST_GROWTH: u64 = 64;

/// The maximum unpacked size of the array in an archive, given the archive's length in bytes. Compression makes a few bytes
/// of any size: what is unpacked must be in proportion to what there is.
pub fn most_unpacked(archive_bytes: u64) -> u64 {
    archive_bytes.saturating_mul(MOST_GROWTH).max(MOST_UNPACKED)
}

/// Elements that are unpacked at a time, a multiple of every block.
const SLAB: usize = 1 << 20;

/// Writes the elements of a block-scaled array, as f32.
pub fn write(blocks: &Blocks, out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut put = |values: &[f32]| {
        bytes.clear();
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&bytes)
    };
    if !blocks.is_moved() {
        return unpack(&blocks.quantized, &blocks.shape, put);
    }
    let mut all: Vec<f32> = Vec::new();
    unpack(&blocks.quantized, &blocks.moved(), |values| {
        all.extend_from_slice(values);
        Ok(())
    })?;
    put(&move_axis_back(&all, &blocks.shape, blocks.axis))
}

/// Unpacks an array of this shape, a piece at a time.
fn unpack(
    quantized: &Quantized,
    shape: &[usize],
    mut put: impl FnMut(&[f32]) -> io::Result<()>,
) -> io::Result<()> {
    let (format, row) = (quantized.format, row(shape));
    if npy::elements(shape).unwrap_or(0) == 0 {
        return Ok(());
    }
    // Several rows at a time, or a part of one.
    let (rows, width) = if row < SLAB { (SLAB / row, row) } else { (1, SLAB) };
    let codes = |elements| packed_len(format.element(), elements);
    let scales = |elements: usize| elements.div_ceil(format.block().max(1));
    let several = quantized.codes.chunks(rows * codes(row)).zip(quantized.scales.chunks(rows * scales(row)));
    for (row_codes, row_scales) in several {
        let mut left = row_codes.len() / codes(row) * row;
        let parts = row_codes.chunks(rows * codes(width)).zip(row_scales.chunks(rows * scales(width)));
        for (codes, scales) in parts {
            let elements = left.min(rows * width);
            left -= elements;
            let part = Quantized {
                format,
                codes: codes.to_vec(),
                scales: scales.to_vec(),
                tensor_scale: quantized.tensor_scale,
            };
            put(&dequantize(&part, elements, width.min(elements)))?;
        }
    }
    Ok(())
}

/// Bytes that a small array (a shape, a name) may take.
const SMALL: u64 = 4096;

/// Reads a block-scaled array that takes at most `limit` bytes when it is unpacked, and the shape it had.
pub fn read<R: Read + Seek>(archive: &mut Archive<R>, limit: u64) -> Result<Blocks, BlocksError> {
    let mut small = |name| archive.array(name, SMALL).map_err(BlocksError::Npz);
    let format = read_format(&small("format")?).map_err(|why| BlocksError::Array("format", why))?;
    let shape = read_shape(&small("shape")?).map_err(|why| BlocksError::Array("shape", why))?;
    check_shape(&shape)?;
    let unpacked = npy::elements(&shape).and_then(|count| count.checked_mul(4)).unwrap_or(u64::MAX);
    if unpacked > limit {
        let why = format!("the array takes {unpacked} bytes when it is unpacked, and {limit} are allowed");
        return Err(BlocksError::Array("shape", format!("{why}; --max-input raises that")));
    }
    let tensor_scale = if has_tensor_scale(format) {
        read_scale(&small("tensor_scale")?).map_err(|why| BlocksError::Array("tensor_scale", why))?
    } else {
        1.0
    };
    let last = shape.len().saturating_sub(1);
    let axis = match small("axis") {
        Ok(array) => read_axis(&array, last).map_err(|why| BlocksError::Array("axis", why))?,
        Err(BlocksError::Npz(NpzError::Missing(_))) => last,
        Err(error) => return Err(error),
    };
    let (codes, scales) = shapes(format, &with_axis_last(&shape, axis));
    let mut bytes = |name, shape: &[usize]| {
        let length = npy::elements(shape).unwrap_or(u64::MAX);
        let array = archive.array(name, length).map_err(BlocksError::Npz)?;
        let header = &array.header;
        let fits = header.dtype.bytes() == 1 && matches!(header.dtype.kind, 'u' | 'V' | 'i');
        if !fits || array.data.len() as u64 != length {
            let why = format!("it must be {length} bytes (|u1) for this shape and format");
            return Err(BlocksError::Array(name, why));
        }
        Ok(array.data)
    };
    let quantized =
        Quantized { format, codes: bytes("codes", &codes)?, scales: bytes("scales", &scales)?, tensor_scale };
    Ok(Blocks { quantized, shape, axis })
}

fn read_format(array: &Array) -> Result<BlockFormat, String> {
    let dtype = array.header.dtype;
    let single = array.header.elements() == Some(1);
    if dtype.kind != 'U' || dtype.order == Order::Big || !single {
        return Err("it must be one string".into());
    }
    let (characters, _) = array.data.as_chunks::<4>();
    let characters = characters.iter().map(|&c| char::from_u32(u32::from_le_bytes(c)).unwrap_or('\u{fffd}'));
    let name: String = characters.take_while(|&c| c != '\0').collect();
    names::find_block(&name).ok_or_else(|| {
        let names: Vec<&str> = BlockFormat::ALL.iter().map(|format| format.name()).collect();
        let shown: String = name.chars().take(24).flat_map(char::escape_debug).collect();
        format!("`{shown}` is not one of {}", names.join(", "))
    })
}

fn read_shape(array: &Array) -> Result<Vec<usize>, String> {
    let header = &array.header;
    if header.dtype != DType::new('i', 8) || header.shape.len() != 1 {
        return Err("it must be a row of <i8".into());
    }
    let (numbers, _) = array.data.as_chunks::<8>();
    let numbers = numbers.iter().map(|&n| usize::try_from(i64::from_le_bytes(n)).ok());
    Ok(numbers.collect::<Option<_>>().ok_or("an axis is negative")?)
}

fn read_axis(array: &Array, last: usize) -> Result<usize, String> {
    let number = match (array.header.dtype == DType::new('i', 8), <[u8; 8]>::try_from(array.data.as_slice()))
    {
        (true, Ok(bytes)) => usize::try_from(i64::from_le_bytes(bytes)).ok(),
        _ => return Err("it must be one <i8".into()),
    };
    number.filter(|axis| *axis <= last).ok_or_else(|| format!("it must be from 0 to {last} for this shape"))
}

fn read_scale(array: &Array) -> Result<f32, String> {
    match (array.header.dtype == DType::new('f', 4), array.data.as_slice()) {
        (true, &[a, b, c, d]) => Ok(f32::from_le_bytes([a, b, c, d])),
        _ => Err("it must be one <f4".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npz;
    use softwarp::num::block::quantize;
    use std::io::Cursor;

    #[test]
    fn what_is_quantized_is_unpacked_piece_by_piece_as_at_once() {
        for (format, shape) in [
            (BlockFormat::from_name("mxfp4").unwrap(), vec![3, 5, 33]),
            (BlockFormat::from_name("mxfp4").unwrap(), vec![2, SLAB + 7]),
            (BlockFormat::from_name("nvfp4").unwrap(), vec![SLAB / 16 + 3, 33]),
            (BlockFormat::from_name("mxfp8_e4m3").unwrap(), vec![]),
            (BlockFormat::from_name("mxfp8_e4m3").unwrap(), vec![4, 0]),
        ] {
            let elements = npy::elements(&shape).unwrap() as usize;
            let values: Vec<f32> = (0..elements).map(|i| (i as f32 * 0.37).sin() * 9.0).collect();
            let quantized = quantize(format, &values, row(&shape).max(1));
            let mut pieces = Vec::new();
            unpack(&quantized, &shape, |piece| {
                pieces.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
            assert!(pieces == dequantize(&quantized, elements, row(&shape).max(1)), "{format:?} {shape:?}");
        }
    }

    #[test]
    fn every_shape_that_is_written_is_read() {
        let format = BlockFormat::from_name("mxfp4").unwrap();
        for shape in [vec![], vec![0], vec![0, 7], vec![2, 3], vec![0, isize::MAX as usize / 8]] {
            check_shape(&shape).unwrap();
            let elements = npy::elements(&shape).unwrap() as usize;
            let quantized = quantize(format, &vec![1.0; elements], row(&shape).max(1));
            let blocks = Blocks { quantized, axis: shape.len().saturating_sub(1), shape };
            let file = npz::write(Cursor::new(Vec::new()), &to_arrays(&blocks)).unwrap();
            assert_eq!(read(&mut Archive::new(file).unwrap(), 1 << 20).unwrap(), blocks);
        }
        for shape in [vec![0, usize::MAX], vec![usize::MAX, 0], vec![1 << 40, 1 << 40]] {
            assert!(check_shape(&shape).is_err(), "{shape:?}");
        }
    }

    #[test]
    fn any_axis_can_have_the_blocks() {
        let shape = [2, 3, 5];
        let values: Vec<u32> = (0..30).collect();
        for axis in 0..3 {
            let moved = move_axis_last(&values, &shape, axis);
            let new = with_axis_last(&shape, axis);
            assert_eq!(move_axis_back(&moved, &shape, axis), values);
            // Along the new last axis, the old index of that axis counts.
            let stride = [15, 5, 1][axis];
            assert!(moved.chunks(new[2]).all(|row| row.windows(2).all(|pair| pair[1] == pair[0] + stride)));
        }
        assert_eq!(move_axis_last(&[7], &[], 0), [7]);
        let quantized = quantize(BlockFormat::Nvfp4, &[1.0; 30], 3);
        let blocks = Blocks { quantized, shape: shape.to_vec(), axis: 1 };
        let file = npz::write(Cursor::new(Vec::new()), &to_arrays(&blocks)).unwrap();
        assert_eq!(read(&mut Archive::new(file).unwrap(), 1 << 20).unwrap(), blocks);
    }

    #[test]
    fn an_array_that_is_too_large_when_unpacked_is_not_read() {
        let quantized = quantize(BlockFormat::from_name("mxfp4").unwrap(), &[1.0; 64], 64);
        let blocks = Blocks { quantized, shape: vec![64], axis: 0 };
        let file = npz::write(Cursor::new(Vec::new()), &to_arrays(&blocks)).unwrap();
        let mut archive = Archive::new(file).unwrap();
        assert!(read(&mut archive, 255).unwrap_err().to_string().contains("takes 256 bytes"));
        assert!(read(&mut archive, 256).is_ok());
    }
}
