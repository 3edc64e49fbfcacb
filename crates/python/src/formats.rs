//! Number formats: names, properties and codes.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softwarp::num::{Format, Kind, Rounding, Saturation};
use softwarp_cli::names;

/// A format by any of its names.
pub fn find(name: &str) -> PyResult<Format> {
    names::format(name).map_err(PyValueError::new_err)
}

/// A rounding by PTX's name for it, or a word.
pub fn rounding(name: &str) -> PyResult<Rounding> {
    match name {
        "rn" | "nearest" => Ok(Rounding::NearestEven),
        "rna" => Ok(Rounding::NearestAway),
        "rz" | "zero" => Ok(Rounding::TowardZero),
        "rm" | "down" => Ok(Rounding::Down),
        "rp" | "up" => Ok(Rounding::Up),
        "rs" | "stochastic" => Ok(Rounding::Stochastic),
        _ => {
            let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
            let all =
                "rn (nearest even), rna (ties away), rz (toward zero), rm (down), rp (up), rs (stochastic)";
            Err(PyValueError::new_err(format!("`{shown}` is not a rounding; there are {all}")))
        }
    }
}

/// PTX's name for a rounding.
pub fn rounding_name(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::NearestEven => "rn",
        Rounding::NearestAway => "rna",
        Rounding::TowardZero => "rz",
        Rounding::Down => "rm",
        Rounding::Up => "rp",
        Rounding::Stochastic => "rs",
    }
}

/// What there is to know about a format, by the names of the fields of `softwarp.Format`.
#[pyfunction]
pub fn format_properties<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let format = find(name)?;
    let spec = format.spec();
    let (kind, exponent, mantissa, bias) = match spec.kind {
        Kind::Float { exponent, mantissa, bias, .. } => ("float", exponent, mantissa, Some(bias)),
        Kind::Exponent { bias } => ("exponent", spec.bits, 0, Some(bias)),
        Kind::Fixed { fraction } => ("fixed", 0, fraction, None),
        Kind::Int { .. } => ("integer", 0, 0, None),
    };
    let properties = PyDict::new(py);
    properties.set_item("name", spec.name)?;
    properties.set_item("aliases", pyo3::types::PyTuple::new(py, names::aliases(format))?)?;
    properties.set_item("about", spec.about)?;
    properties.set_item("bits", spec.bits)?;
    properties.set_item("kind", kind)?;
    properties.set_item("signed", format.is_signed())?;
    properties.set_item("exponent_bits", exponent)?;
    properties.set_item("mantissa_bits", mantissa)?;
    properties.set_item("bias", bias)?;
    properties.set_item("max", format.decode(format.max_finite()))?;
    properties.set_item("min", format.decode(format.min_finite()))?;
    properties.set_item("smallest", format.decode(format.min_positive()))?;
    properties.set_item("smallest_normal", format.min_normal().map(|code| format.decode(code)))?;
    properties.set_item("has_infinity", format.infinity().is_some())?;
    properties.set_item("has_nan", format.canonical_nan().is_some())?;
    Ok(properties)
}

/// The value of every code of a format of at most 16 bits.
#[pyfunction]
pub fn format_table(name: &str) -> PyResult<Vec<f64>> {
    let format = find(name)?;
    if format.bits() > 16 {
        return Err(PyValueError::new_err(format!(
            "{format} has 2^{} codes; tables are for formats of at most 16 bits",
            format.bits()
        )));
    }
    Ok(format.codes().map(|code| format.decode(code)).collect())
}

/// The value of a code.
#[pyfunction]
pub fn decode(name: &str, code: u64) -> PyResult<f64> {
    let format = find(name)?;
    if code & format.mask() != code {
        return Err(PyValueError::new_err(format!(
            "{code:#x} is not a code of {format}, which has {} bits",
            format.bits()
        )));
    }
    Ok(format.decode(code))
}

/// The code of a value, rounded.
#[pyfunction]
pub fn encode(name: &str, value: f64, rounding: &str, saturate: bool) -> PyResult<u64> {
    let format = find(name)?;
    let how = self::rounding(rounding)?;
    let saturation = match (saturate, format.is_int()) {
        (false, _) => Saturation::None,
        (true, true) => Saturation::Clamp,
        (true, false) => Saturation::Finite,
    };
    format.encode(value, how, saturation).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{format} has no code for {value} with rounding {}",
            rounding_name(how)
        ))
    })
}

/// The bit fields and the number line of a format, as SVG.
#[pyfunction]
pub fn format_drawing(name: &str) -> PyResult<String> {
    Ok(softwarp_cli::draw_format(find(name)?))
}
