"""Block-scaled formats: MX and NVFP4."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _softwarp
from ._convert import _source, _values, convert
from ._dlpack import _as_kind, _kind
from ._given import integer, text


@dataclass(frozen=True)
class QuantizationError:
    """How far a quantised array is from what it was."""

    max_abs: float
    """The largest difference."""
    snr_db: float | None
    """The signal-to-noise ratio in decibels: infinite if there is no noise, None if there is no signal."""
    not_finite: int
    """Elements that were or became infinite or NaN, and are not counted."""


@dataclass(frozen=True, eq=False)
class Quantized:
    """An array in a block-scaled format. Codes and scales have the axis of the blocks last."""

    format: str
    """The format, as in ``mxfp4``."""
    codes: NDArray[np.uint8]
    """The elements: FP8 and FP6 a byte each, FP4 two to a byte with the first in the low half."""
    scales: NDArray[np.uint8]
    """A code for each block: ue8m0, or e4m3 of nvfp4."""
    tensor_scale: float
    """The scale of the whole array: 1 but for nvfp4."""
    shape: tuple[int, ...]
    """The shape of the array."""
    axis: int
    """The axis that the blocks lie along."""
    _before: NDArray[Any] = field(repr=False)
    _like: str = field(default="numpy", repr=False)

    def dequantize(self, *, like: Any = None) -> Any:
        """The values of the elements.

        :param like: ``numpy`` or ``torch``: what the result is. Without it, what was quantised.

        >>> import numpy as np, softwarp
        >>> x = np.array([12, -7, 1, 0.4], np.float32)
        >>> softwarp.quantize(x, "mxfp4").dequantize()
        array([12., -8.,  1.,  0.], dtype=float32)
        """
        moved = _moved(self.shape, self.axis)
        flat = _softwarp.dequantize(
            self.codes.reshape(-1),
            self.scales.reshape(-1),
            self.tensor_scale,
            self.format,
            math.prod(self.shape),
            max(1, moved[-1] if moved else 1),
        )
        values = flat.reshape(moved)
        values = np.ascontiguousarray(np.moveaxis(values, -1, self.axis)) if self.shape else values
        return _as_kind(values, _kind(None, self._like if like is None else like), "f32")

    def error(self, x: ArrayLike | None = None) -> QuantizationError:
        """How far it is from an array: from the one that was quantised, unless another is given.

        >>> import numpy as np, softwarp
        >>> error = softwarp.quantize(np.array([12, -7, 1, 0.5], np.float32), "mxfp4").error()
        >>> error.max_abs, round(error.snr_db, 2), error.not_finite
        (1.0, 21.91, 0)
        """
        before = self._before if x is None else _values(x, "x")
        if before.shape != self.shape:
            raise ValueError(f"the array has the shape {before.shape}, and {self.shape} is wanted")
        wide = before.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            errors = np.abs(self.dequantize(like="numpy").astype(np.float64) - wide)
            counted = np.isfinite(errors)
            errors, wide = errors[counted], wide[counted]
            signal, noise = float(np.sum(wide * wide)), float(np.sum(errors * errors))
        snr = None if signal == 0 else math.inf if noise == 0 else 10 * math.log10(signal / noise)
        return QuantizationError(float(errors.max(initial=0)), snr, int(counted.size - counted.sum()))


def _moved(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :], shape[axis]) if shape else ()


def quantize(
    x: ArrayLike,
    format: str,
    axis: int = -1,
    *,
    from_: str | None = None,
    scale_rule: str | None = None,
    rounding: str = "rn",
    seed: int | None = None,
) -> Quantized:
    """Quantises an array to a block-scaled format, as ``softwarp quantize`` does.

    :param x: An array of f16, f32, f64, bf16 or a narrower format.
    :param format: ``mxfp8_e4m3`` (or ``mxfp8``), ``mxfp8_e5m2``, ``mxfp6_e2m3``, ``mxfp6_e3m2``, ``mxfp4`` or
        ``nvfp4``.
    :param axis: The axis that the blocks lie along.
    :param from_: What the array holds, where that is raw codes.
    :param scale_rule: How the scale of an MX block follows from its largest magnitude: ``floor`` (OCP MX 1.0, the
        default), ``nearest``, ``even`` or ``amax`` (nothing saturates). nvfp4 has a rule of its own.
    :param rounding: Of the elements: ``rn``, ``rz``, or ``rs`` with a seed.
    :param seed: Of the random bits of ``rs``.

    >>> import numpy as np, softwarp
    >>> weights = np.linspace(-1, 1, 96, dtype=np.float32).reshape(3, 32)
    >>> q = softwarp.quantize(weights, "mxfp4")
    >>> q.codes.shape, q.scales.shape
    ((3, 16), (3, 1))
    >>> q.scales.ravel()
    array([125, 123, 125], dtype=uint8)
    >>> q.error().max_abs < 0.13
    True
    """
    name, _, _, block = _softwarp.block_format(text("format", format))
    seed = None if seed is None else integer("seed", seed)
    array, source = _source(x, from_)
    axes = max(1, array.ndim)
    axis = integer("axis", axis, -(1 << 63), (1 << 63) - 1)
    if not -axes <= axis < axes:
        raise ValueError(f"axis {axis} is not there: the array has axes 0 to {axes - 1}")
    axis %= axes
    if source.name == "f64":
        singles = np.empty(array.shape, np.float32)
        _softwarp.to_odd(array.reshape(-1), singles.reshape(-1))
    elif source.name in ("f32", "tf32"):
        singles = array
    elif source.kind == "integer":
        raise TypeError(f"an array of {array.dtype} is not quantised; convert it to f32 first")
    else:
        singles = convert(array, "f32", from_=source.name, like="numpy")
    before = array if source.name in ("f16", "f32", "f64", "tf32") else singles
    moved = np.ascontiguousarray(np.moveaxis(singles, axis, -1)) if singles.ndim else singles
    row = moved.shape[-1] if moved.ndim else 1
    codes, scales, tensor = _softwarp.quantize(moved.reshape(-1), max(1, row), name, scale_rule, rounding, seed)
    leading = moved.shape[:-1]
    return Quantized(
        format=name,
        codes=codes.reshape(*leading, -1) if codes.size else codes.reshape(*leading, 0),
        scales=scales.reshape(*leading, -(-row // block)),
        tensor_scale=tensor,
        shape=array.shape,
        axis=axis,
        _before=before,
        _like=_kind(x, None),
    )
