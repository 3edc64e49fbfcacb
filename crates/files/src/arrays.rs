//! Conversions of whole arrays: which dtype holds which format, what shape the result has, and the random
//! bits of stochastic rounding.
//!
//! An array is a stream of elements in C order. For forms of two or four lanes, consecutive elements along
//! the last axis are the lanes of a register, element 0 lowest. Codes of four bits lie two to a byte, the
//! first in the low half, so that such an array has half as many bytes along its last axis as elements.

use crate::npy::{self, DType, Header, Order};
use softwarp::num::{Cvt, Format, Kind, Rounding, Scaling, slice, splitmix};
use std::fmt;

pub use softwarp::num::slice::{convert_packed, packed_len};

/// Why an array cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrayError {
    /// Its elements are not of the type wanted.
    #[error("the array holds {found}, and {wanted} is wanted")]
    DType {
        /// The type of its elements.
        found: DType,
        /// What is wanted, in words.
        wanted: String,
    },
    /// Its bytes are in the wrong order.
    #[error("the array is big-endian ({0}); save x.astype(x.dtype.newbyteorder('<')) instead")]
    BigEndian(DType),
    /// Its axes are in the wrong order.
    #[error("the array is in Fortran order; save numpy.ascontiguousarray(x) instead")]
    FortranOrder,
    /// The last axis does not divide into registers.
    #[error("the last axis has {axis} elements, which do not divide into registers of {lanes}")]
    Lanes {
        /// Elements along the last axis.
        axis: usize,
        /// Elements of a register.
        lanes: usize,
    },
    /// It has not the shape of the array it goes with.
    #[error("the shape is {}, and {} is wanted", PythonShape(found), PythonShape(wanted))]
    Shape {
        /// Its shape.
        found: Vec<usize>,
        /// The shape of the other array.
        wanted: Vec<usize>,
    },
    /// Too large to count.
    #[error("the array is too large")]
    TooLarge,
}

/// A shape as Python writes it.
struct PythonShape<'a>(&'a [usize]);

impl fmt::Display for PythonShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [one] => write!(f, "({one},)"),
            all => {
                write!(f, "(")?;
                for (i, axis) in all.iter().enumerate() {
                    write!(f, "{}{axis}", if i == 0 { "" } else { ", " })?;
                }
                write!(f, ")")
            }
        }
    }
}

/// The dtype in which arrays of a format are written.
pub fn dtype(format: Format) -> DType {
    let size = format.bytes() as u32;
    match (format, format.spec().kind) {
        (Format::F16 | Format::F32 | Format::Tf32 | Format::F64, _) => DType::new('f', size),
        (_, Kind::Int { signed: true }) => DType::new('i', size),
        _ => DType::new('u', size),
    }
}

/// Checks that an array holds this format, in C order and little-endian. Formats that NumPy lacks are read
/// from unsigned integers of their width, or raw bytes (`V`), as `ml_dtypes` writes them.
pub fn check_dtype(header: &Header, format: Format) -> Result<(), ArrayError> {
    let found = header.dtype;
    let usual = dtype(format);
    let foreign = usual.kind == 'u' && !format.is_int();
    // ml_dtypes has one 4-bit code to a byte: those bytes are not pairs.
    let raw = foreign && found.kind == 'V' && format.pitch() != 4;
    if found.bytes() != usual.bytes() || !(found.kind == usual.kind || raw) {
        let mut wanted = format!("{usual} for {format}");
        if format.pitch() == 4 {
            wanted.push_str(", two codes to a byte,");
        }
        return Err(ArrayError::DType { found, wanted });
    }
    if found.order == Order::Big && found.bytes() > 1 && found.kind != 'V' {
        return Err(ArrayError::BigEndian(found));
    }
    if header.fortran_order && header.shape.len() > 1 {
        return Err(ArrayError::FortranOrder);
    }
    Ok(())
}

/// The shape in elements of an array of a format, from its shape in the file.
pub fn element_shape(format: Format, shape: &[usize]) -> Option<Vec<usize>> {
    let mut shape = shape.to_vec();
    if format.pitch() == 4 {
        let last = shape.last_mut()?;
        *last = last.checked_mul(2)?;
    }
    Some(shape)
}

/// How an array is converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayConversion {
    /// The format of the elements.
    pub src: Format,
    /// The format of the results.
    pub dst: Format,
    /// The shape in elements: that of the array, but for two codes to a byte.
    pub shape: Vec<usize>,
    /// How many elements there are.
    pub elements: u64,
    /// The header of the result.
    pub output: Header,
}

/// Checks an array against an instruction and plans its conversion.
pub fn plan(cvt: Cvt, input: &Header) -> Result<ArrayConversion, ArrayError> {
    plan_lanes(cvt.element.src, cvt.element.dst, usize::from(cvt.lanes), input)
}

/// Checks an array of a format and plans the conversion of its elements one by one. Two of four bits share a byte.
pub fn plan_elements(src: Format, dst: Format, input: &Header) -> Result<ArrayConversion, ArrayError> {
    plan_lanes(src, dst, if dst.pitch() == 4 { 2 } else { 1 }, input)
}

fn plan_lanes(src: Format, dst: Format, lanes: usize, input: &Header) -> Result<ArrayConversion, ArrayError> {
    check_dtype(input, src)?;
    let shape = element_shape(src, &input.shape).ok_or(ArrayError::Lanes { axis: 1, lanes: lanes.max(2) })?;
    let axis = shape.last().copied().unwrap_or(1);
    if axis % lanes.max(1) != 0 {
        return Err(ArrayError::Lanes { axis, lanes });
    }
    let mut output = shape.clone();
    if let (4, Some(last)) = (dst.pitch(), output.last_mut()) {
        *last /= 2;
    }
    let elements = npy::elements(&shape).ok_or(ArrayError::TooLarge)?;
    Ok(ArrayConversion { src, dst, shape, elements, output: Header::new(dtype(dst), output) })
}

/// Checks an array of scales or random bits, one for each element of a plan.
pub fn check_auxiliary(plan: &ArrayConversion, header: &Header, format: Format) -> Result<(), ArrayError> {
    check_dtype(header, format)?;
    if header.shape != plan.shape {
        return Err(ArrayError::Shape { found: header.shape.clone(), wanted: plan.shape.clone() });
    }
    Ok(())
}

/// The format of the auxiliary input that each element takes: ue8m0 for scales, u16 for random bits.
pub fn auxiliary(cvt: Cvt) -> Option<Format> {
    match (cvt.element.rounding, cvt.element.scaling) {
        (Rounding::Stochastic, _) => Some(Format::U16),
        (_, Scaling::None) => None,
        _ => Some(Format::Ue8m0),
    }
}

/// The random bits of elements `first`, `first + 1`, … as they follow from a seed, two bytes each.
///
/// Those of element i are the upper 16 bits of the output number i of splitmix64 started from the seed: of
/// the mix of `seed + (i + 1) * 0x9e3779b97f4a7c15`. They depend on nothing else, so that the same array
/// and seed give the same result on any machine.
pub fn random_bits(seed: u64, first: u64, elements: usize, buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.extend((0..elements as u64).flat_map(|i| {
        let bits = splitmix::output(seed, first.wrapping_add(i)) >> 48;
        (bits as u16).to_le_bytes()
    }));
}

/// Bytes of `elements` elements in an array, for element counts of files.
pub fn bytes(format: Format, elements: u64) -> Option<u64> {
    usize::try_from(elements).ok().map(|elements| slice::packed_len(format, elements) as u64)
}

/// The f32 that a second rounding, to fewer bits, cannot tell from the f64: cut toward zero, and its last bit set if
/// anything was cut off.
pub fn to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    if back == x || x.is_nan() {
        return nearest;
    }
    let bits = nearest.to_bits();
    let cut = if back.abs() > x.abs() { bits - 1 } else { bits };
    f32::from_bits(cut | 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp::isa::{CvtForm, Semantics};

    fn cvt(form: &str) -> Cvt {
        match CvtForm::parse(form).unwrap().semantics() {
            Semantics::Cvt(cvt) => cvt,
            Semantics::Pack { .. } => panic!("{form}"),
        }
    }

    fn header(dtype: &str, shape: &[usize]) -> Header {
        Header::new(DType::parse(dtype).unwrap(), shape.to_vec())
    }

    #[test]
    fn shapes_and_dtypes_of_results() {
        let cases = [
            ("rn.satfinite.e4m3x2.f32", header("<f4", &[3, 4]), "|u1", vec![3, 4], 12),
            ("rn.satfinite.e2m1x2.f32", header("<f4", &[3, 4]), "|u1", vec![3, 2], 12),
            ("rn.f16x2.e2m1x2", header("|u1", &[3, 4]), "<f2", vec![3, 8], 24),
            ("rn.bf16x2.f32", header("<f4", &[2]), "<u2", vec![2], 2),
            ("rna.tf32.f32", header("<f4", &[]), "<f4", vec![], 1),
            ("f32.bf16", header("<V2", &[0, 5]), "<f4", vec![0, 5], 0),
            ("rn.f16x2.e4m3x2", header("|V1", &[6]), "<f2", vec![6], 6),
            ("rni.s8.f64", header("<f8", &[1]), "|i1", vec![1], 1),
        ];
        for (form, input, dtype, shape, elements) in cases {
            let plan = plan(cvt(form), &input).unwrap();
            assert_eq!(plan.output, header(dtype, &shape), "{form}");
            assert_eq!(plan.elements, elements, "{form}");
        }
    }

    #[test]
    fn unfit_arrays_are_refused_with_the_remedy() {
        let fortran = Header { fortran_order: true, ..header("<f4", &[2, 2]) };
        let cases = [
            ("rn.satfinite.e4m3x2.f32", header("<f8", &[2]), "holds <f8, and <f4 for f32 is wanted"),
            ("rn.satfinite.e4m3x2.f32", header(">f4", &[2]), "newbyteorder('<')"),
            ("rn.satfinite.e4m3x2.f32", fortran, "ascontiguousarray"),
            (
                "rn.satfinite.e4m3x2.f32",
                header("<f4", &[2, 3]),
                "has 3 elements, which do not divide into registers of 2",
            ),
            ("rn.satfinite.e4m3x2.f32", header("<f4", &[]), "has 1 elements"),
            ("rn.f16x2.e2m1x2", header("|V1", &[2]), "two codes to a byte"),
        ];
        for (form, input, wanted) in cases {
            let message = plan(cvt(form), &input).unwrap_err().to_string();
            assert!(message.contains(wanted), "{form}: {message}");
        }
    }

    #[test]
    fn random_bits_do_not_depend_on_the_slab() {
        let (mut all, mut part) = (Vec::new(), Vec::new());
        random_bits(7, 0, 100, &mut all);
        random_bits(7, 40, 60, &mut part);
        assert_eq!(all[80..], part);
        // The first output of splitmix64 from seed 0 is e220a8397b1dcdaf.
        random_bits(0, 0, 1, &mut part);
        assert_eq!(part, 0xe220u16.to_le_bytes());
    }
}
