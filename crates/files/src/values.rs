//! The array that is quantised, as f32, and what quantisation costs.

use crate::arrays::to_odd;
use crate::blocks;
use crate::npy::{Array, DType};
use softwarp::num::Format;
use softwarp_report::widening::Widening;

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
    /// The elements of an array that holds a format, if there is an exact way from it to f32.
    pub fn new(array: Array, format: Format, shape: Vec<usize>) -> Option<Values> {
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
    fn exact(&self) -> impl Iterator<Item = f64> {
        (0..self.singles.len()).map(|at| match &self.doubles {
            Some(doubles) => doubles[at],
            None => self.singles[at].into(),
        })
    }
}

/// How far an array is from what it was.
#[derive(Debug, PartialEq)]
pub struct Errors {
    /// The largest difference.
    pub largest: f64,
    /// Signal to noise ratio in decibels; infinite if there is no noise, `None` if there is no signal.
    pub snr: Option<f64>,
    /// Elements that were or became infinite or NaN, and are not counted.
    pub not_finite: usize,
}

impl Errors {
    /// The differences between elements and what they became.
    pub fn of(values: &Values, after: &[f32]) -> Errors {
        Errors::between(values.exact(), after)
    }

    fn between(before: impl Iterator<Item = f64>, after: &[f32]) -> Errors {
        let (mut largest, mut signal, mut noise, mut not_finite) = (0f64, 0.0, 0.0, 0);
        for (x, &y) in before.zip(after) {
            let y = f64::from(y);
            let error = (y - x).abs();
            if !error.is_finite() {
                not_finite += 1;
                continue;
            }
            largest = largest.max(error);
            signal += x * x;
            noise += error * error;
        }
        let snr = (signal > 0.0).then(|| 10.0 * (signal / noise).log10());
        Errors { largest, snr, not_finite }
    }
}

/// The format that a dtype says.
pub fn usual(dtype: DType) -> Option<Format> {
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

    #[test]
    fn errors_are_measured() {
        let errors = Errors::between([3.0, 4.0, f64::NAN].into_iter(), &[3.0, 4.5, 1.0]);
        assert_eq!(errors, Errors { largest: 0.5, snr: Some(20.0), not_finite: 1 });
        assert_eq!(Errors::between([1.0].into_iter(), &[1.0]).snr, Some(f64::INFINITY));
        assert_eq!(Errors::between([].into_iter(), &[]).snr, None);
    }
}
