//! Block-scaled arrays in `.npz` files.
//!
//! Such a file holds `codes` (`|u1`: the elements, 4-bit ones two to a byte with the first in the low half, a
//! row of odd length ending in half a byte), `scales` (`|u1`: one code for each block of a row), `shape`
//! (`<i8`: of the array before), `format` (a string such as `mxfp4`) and, for formats that have one,
//! `tensor_scale` (`<f4`). Rows are the last axis; blocks do not cross them.

use crate::npy::{self, Array, DType, Order};
use crate::npz::{Archive, NpzError};
use softwarp_num::Format;
use softwarp_num::block::{BlockFormat, Quantized};
use softwarp_num::slice::packed_len;
use std::fmt;
use std::io::{Read, Seek};

/// Why a file holds no block-scaled array.
#[derive(Debug)]
pub enum BlocksError {
    /// The archive, or an array in it, cannot be read.
    Npz(NpzError),
    /// An array is not what it must be.
    Array(&'static str, String),
}

impl fmt::Display for BlocksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlocksError::Npz(error) => write!(f, "{error}"),
            BlocksError::Array(name, why) => write!(f, "array `{name}`: {why}"),
        }
    }
}

impl std::error::Error for BlocksError {}

/// Whether a format has a scale for the whole tensor besides those of its blocks.
pub fn has_tensor_scale(format: BlockFormat) -> bool {
    format.scale() != Format::Ue8m0
}

/// Elements of a row: along the last axis.
pub fn row(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1)
}

/// The shapes of `codes` and `scales`.
fn shapes(format: BlockFormat, shape: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let leading = shape.split_last().map_or(&[][..], |(_, leading)| leading);
    let with_last = |last| [leading, &[last]].concat();
    let codes = with_last(packed_len(format.element(), row(shape)));
    (codes, with_last(row(shape).div_ceil(format.block().max(1))))
}

/// The arrays of a file.
pub fn to_arrays(quantized: &Quantized, shape: &[usize]) -> Vec<(&'static str, Array)> {
    let format = quantized.format;
    let (codes, scales) = shapes(format, shape);
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
    arrays
}

/// Bytes that a small array (a shape, a name) may take.
const SMALL: u64 = 4096;

/// Reads a block-scaled array and the shape it had.
pub fn read<R: Read + Seek>(archive: &mut Archive<R>) -> Result<(Quantized, Vec<usize>), BlocksError> {
    let mut small = |name| archive.array(name, SMALL).map_err(BlocksError::Npz);
    let format = read_format(&small("format")?).map_err(|why| BlocksError::Array("format", why))?;
    let shape = read_shape(&small("shape")?).map_err(|why| BlocksError::Array("shape", why))?;
    let tensor_scale = if has_tensor_scale(format) {
        read_scale(&small("tensor_scale")?).map_err(|why| BlocksError::Array("tensor_scale", why))?
    } else {
        1.0
    };
    let (codes, scales) = shapes(format, &shape);
    let mut bytes = |name, shape: &[usize]| {
        let length = npy::elements(shape).unwrap_or(u64::MAX);
        let array = archive.array(name, length).map_err(BlocksError::Npz)?;
        let header = &array.header;
        let fits = header.dtype.bytes() == 1 && matches!(header.dtype.kind, 'u' | 'V' | 'i');
        let ordered = !header.fortran_order || header.shape.len() < 2;
        if !fits || !ordered || array.data.len() as u64 != length {
            let why = format!("it must be {length} bytes (|u1) for this shape and format, in C order");
            return Err(BlocksError::Array(name, why));
        }
        Ok(array.data)
    };
    let quantized =
        Quantized { format, codes: bytes("codes", &codes)?, scales: bytes("scales", &scales)?, tensor_scale };
    Ok((quantized, shape))
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
    BlockFormat::from_name(&name).ok_or_else(|| {
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
    let shape: Vec<usize> = numbers.collect::<Option<_>>().ok_or("an axis is negative")?;
    // Four bytes an element is what the array takes when it is unpacked.
    npy::elements(&shape).and_then(|count| count.checked_mul(4)).ok_or("it is larger than any array")?;
    if shape.iter().any(|&axis| axis > isize::MAX as usize / 8) {
        return Err("it is larger than any array".into());
    }
    Ok(shape)
}

fn read_scale(array: &Array) -> Result<f32, String> {
    match (array.header.dtype == DType::new('f', 4), array.data.as_slice()) {
        (true, &[a, b, c, d]) => Ok(f32::from_le_bytes([a, b, c, d])),
        _ => Err("it must be one <f4".into()),
    }
}
