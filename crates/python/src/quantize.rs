//! Block-scaled formats.

use crate::pool::on_pool;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use softwarp::num::block::{self, BlockFormat, ElementRounding, Quantized, Rules, ScaleRule};
use softwarp_cli::names;

fn find(name: &str) -> PyResult<BlockFormat> {
    names::block(name).map_err(PyValueError::new_err)
}

/// A block-scaled format: its name, the formats of elements and scales, and the elements of a block.
#[pyfunction]
pub fn block_format(name: &str) -> PyResult<(&'static str, &'static str, &'static str, usize)> {
    let format = find(name)?;
    Ok((format.name(), format.element().name(), format.scale().name(), format.block()))
}

fn rules(format: BlockFormat, scale: Option<&str>, rounding: &str, seed: Option<u64>) -> PyResult<Rules> {
    let wrong = |message: String| Err(PyValueError::new_err(message));
    let rule = match scale {
        None | Some("floor" | "ocp") => ScaleRule::Floor,
        Some("nearest") => ScaleRule::Nearest,
        Some("even") => ScaleRule::Even,
        Some("amax" | "ceil" | "nvidia") => ScaleRule::Ceil,
        Some(other) => {
            return wrong(format!(
                "{other:?} is not a rule of scales; there are floor, nearest, even and amax"
            ));
        }
    };
    if format == BlockFormat::Nvfp4 && scale.is_some() && rule != ScaleRule::Ceil {
        return wrong("nvfp4 has one rule of scales: largest magnitude / 6, in e4m3 (amax)".to_owned());
    }
    let rounding = match (rounding, seed) {
        ("nearest" | "rn", None) => ElementRounding::NearestEven,
        ("zero" | "rz", None) => ElementRounding::TowardZero,
        ("stochastic" | "rs", Some(seed)) => ElementRounding::Stochastic { seed },
        ("stochastic" | "rs", None) => {
            return wrong("stochastic rounding takes random bits: give a seed".to_owned());
        }
        ("nearest" | "rn" | "zero" | "rz", Some(_)) => {
            return wrong("a seed is for stochastic rounding".to_owned());
        }
        (other, _) => {
            return wrong(format!("{other:?} is not a rounding of elements; there are rn, rz and rs"));
        }
    };
    Ok(Rules { scale: rule, rounding })
}

/// What `quantize` gives: codes, scales and the scale of the tensor.
type Parts<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u8>>, f32);

/// Quantises rows of `row` elements each.
#[pyfunction]
#[pyo3(signature = (x, row, format, scale_rule, rounding, seed))]
pub fn quantize<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f32>,
    row: usize,
    format: &str,
    scale_rule: Option<&str>,
    rounding: &str,
    seed: Option<u64>,
) -> PyResult<Parts<'py>> {
    let format = find(format)?;
    let rules = rules(format, scale_rule, rounding, seed)?;
    let values = x.as_slice()?;
    let quantized = py.detach(|| on_pool(|| block::quantize_by(format, rules, values, row)));
    let Quantized { codes, scales, tensor_scale, .. } = quantized;
    Ok((codes.into_pyarray(py), scales.into_pyarray(py), tensor_scale))
}

/// Reads rows of `row` elements each back.
#[pyfunction]
pub fn dequantize<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray1<'py, u8>,
    scales: PyReadonlyArray1<'py, u8>,
    tensor_scale: f32,
    format: &str,
    elements: usize,
    row: usize,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let (codes, scales) = (codes.as_slice()?.to_vec(), scales.as_slice()?.to_vec());
    let quantized = Quantized { format: find(format)?, codes, scales, tensor_scale };
    if elements > 0 && !quantized.fits(elements, row) {
        return Err(PyValueError::new_err("codes and scales have not the sizes of that shape"));
    }
    Ok(py.detach(|| on_pool(|| block::dequantize(&quantized, elements, row))).into_pyarray(py))
}
