//! The array that is quantised, as f32.

use crate::arrays::{self, ArrayError, to_odd};
use crate::blocks;
use crate::commands::{CommandError, files, sources};
use crate::input::{InputError, MOST_DATA};
use crate::npy::{Array, DType};
use crate::widening::Widening;
use softwarp::num::Format;
use std::path::Path;

/// An array.
pub struct Values {
    /// How many elements there are along each axis.
    pub shape: Vec<usize>,
    /// Its elements, in C order. Those of f64 that no f32 holds are rounded to odd, so that rounding them to fewer
    /// bits gives what rounding the f64 would.
    pub singles: Vec<f32>,
    /// Its elements as they were, if they were f64.
    doubles: Option<Vec<f64>>,
}

impl Values {
    /// Reads an array of a format, or of what its dtype says.
    pub fn read(path: &Path, format: Option<Format>) -> Result<Values, CommandError> {
        let name = sources::name(path);
        let in_file = |error: &dyn std::fmt::Display| CommandError::input(&name, error);
        let reader = files::open_array(path)?;
        let most = files::limit(MOST_DATA);
        if reader.left() > most {
            return Err(files::unreadable(path, InputError::TooLong { limit: most }));
        }
        let format = match format {
            Some(format) => format,
            None => usual(reader.header.dtype).ok_or_else(|| {
                let wanted = "<f2, <f4 or <f8 is wanted; --from names other formats, as in --from bf16";
                in_file(&format!("the array holds {}, and {wanted}", reader.header.dtype))
            })?,
        };
        arrays::check_dtype(&reader.header, format).map_err(|error| in_file(&error))?;
        let shape = arrays::element_shape(format, &reader.header.shape);
        let shape = shape.ok_or_else(|| in_file(&ArrayError::Lanes { axis: 1, lanes: 2 }))?;
        // What is written must be readable again.
        blocks::check_shape(&shape).map_err(|error| in_file(&error))?;
        let array = reader.rest().map_err(|error| in_file(&error))?;
        Values::new(array, format, shape).ok_or_else(|| {
            CommandError::Usage(format!("--from {format}: there is no exact way from it to f32"))
        })
    }

    fn new(array: Array, format: Format, shape: Vec<usize>) -> Option<Values> {
        let singles =
            |bytes: &[u8]| bytes.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)).collect();
        if format == Format::F64 {
            let doubles: Vec<f64> =
                array.data.as_chunks::<8>().0.iter().map(|&eight| f64::from_le_bytes(eight)).collect();
            let singles = doubles.iter().map(|&x| to_odd(x)).collect();
            return Some(Values { shape, singles, doubles: Some(doubles) });
        }
        if format == Format::F32 || format == Format::Tf32 {
            return Some(Values { shape, singles: singles(&array.data), doubles: None });
        }
        let widening = Widening::new(format, Format::F32)?;
        let elements = usize::try_from(crate::npy::elements(&shape)?).ok()?;
        let mut bytes = vec![0; elements.checked_mul(4)?];
        widening.run(&array.data, elements, &mut bytes);
        Some(Values { shape, singles: singles(&bytes), doubles: None })
    }

    /// The elements with one of the axes moved behind the others. The shape stays.
    pub fn with_axis_last(self, axis: usize) -> Values {
        if axis + 1 >= self.shape.len() {
            return self;
        }
        let singles = blocks::move_axis_last(&self.singles, &self.shape, axis);
        let doubles = self.doubles.map(|doubles| blocks::move_axis_last(&doubles, &self.shape, axis));
        Values { shape: self.shape, singles, doubles }
    }

    /// The elements as they were.
    pub fn exact(&self) -> impl Iterator<Item = f64> {
        (0..self.singles.len()).map(|at| match &self.doubles {
            Some(doubles) => doubles[at],
            None => self.singles[at].into(),
        })
    }
}

/// The format that a dtype says.
fn usual(dtype: DType) -> Option<Format> {
    match (dtype.kind, dtype.size) {
        ('f', 2) => Some(Format::F16),
        ('f', 4) => Some(Format::F32),
        ('f', 8) => Some(Format::F64),
        // As ml_dtypes writes it.
        ('V', 2) => Some(Format::Bf16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_rounded_to_odd() {
        let above = |x: f64| f64::from_bits(x.to_bits() + 1);
        let below = |x: f64| f64::from_bits(x.to_bits() - 1);
        for (x, wanted) in [
            (1.5, 1.5f32.to_bits()),
            (above(1.5), 1.5f32.to_bits() | 1),
            (below(1.5), 1.5f32.to_bits() - 1),
            (-above(1.5), (-1.5f32).to_bits() | 1),
            (1e300, f32::MAX.to_bits()),
            (-1e300, f32::MIN.to_bits()),
            (1e-300, 1),
            (-1e-300, 1 << 31 | 1),
            (f64::INFINITY, f32::INFINITY.to_bits()),
            (0.0, 0),
        ] {
            assert_eq!(to_odd(x).to_bits(), wanted, "{x:e}");
        }
        assert!(to_odd(f64::NAN).is_nan());
    }
}
