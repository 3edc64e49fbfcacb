"""Number formats, and the dtypes that hold them."""

from __future__ import annotations

import functools
import html
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import _softwarp
from ._given import integer, real, text

_NUMPY = {
    "f16": np.float16,
    "f32": np.float32,
    "tf32": np.float32,
    "f64": np.float64,
    "u8": np.uint8,
    "s8": np.int8,
    "u16": np.uint16,
    "s16": np.int16,
    "u32": np.uint32,
    "s32": np.int32,
    "u64": np.uint64,
    "s64": np.int64,
}

_ML_DTYPES = {
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e2m1": "float4_e2m1fn",
    "ue8m0": "float8_e8m0fnu",
    "u2": "uint2",
    "s2": "int2",
    "u4": "uint4",
    "s4": "int4",
}


@dataclass(frozen=True)
class Format:
    """A number format of PTX.

    >>> import softwarp
    >>> e4m3 = softwarp.format("e4m3")
    >>> e4m3.bits, e4m3.max, e4m3.smallest
    (8, 448.0, 0.001953125)
    >>> e4m3.has_infinity, e4m3.has_nan
    (False, True)
    >>> print(e4m3.dtype)
    float8_e4m3fn
    """

    name: str
    """PTX's name, without the dot."""
    aliases: tuple[str, ...]
    """Its other names."""
    about: str
    """The format in one line."""
    bits: int
    """Bits of a code."""
    kind: str
    """``float``, ``exponent`` (a power of two), ``fixed`` or ``integer``."""
    signed: bool
    """Whether there are negative numbers."""
    exponent_bits: int
    mantissa_bits: int
    bias: int | None
    """What is subtracted from the exponent field."""
    max: float
    """The largest finite number."""
    min: float
    """The least number."""
    smallest: float
    """The least positive number."""
    smallest_normal: float | None
    """The least positive normal number, where some are subnormal."""
    has_infinity: bool
    has_nan: bool

    @property
    def dtype(self) -> np.dtype:
        """The dtype of its arrays: NumPy's, else that of ml_dtypes if it is installed, else unsigned integers."""
        return _dtype(self.name)

    def decode(self, code: int) -> float:
        """The value of a code.

        >>> import softwarp
        >>> softwarp.format("e2m1").decode(0b0111)
        6.0
        """
        return _softwarp.decode(self.name, integer("code", code))

    def encode(self, value: float, rounding: str = "rn", saturate: bool = True) -> int:
        """The code of a value.

        >>> import softwarp
        >>> softwarp.format("e2m1").encode(-2.6)
        13
        >>> softwarp.format("e4m3").encode(1000, saturate=False)  # NaN: there is no infinity
        127
        """
        return _softwarp.encode(self.name, real("value", value), text("rounding", rounding), saturate)

    def table(self) -> NDArray[np.float64]:
        """The value of every code, for formats of at most 16 bits.

        >>> import softwarp
        >>> softwarp.format("e2m1").table()[:8]
        array([0. , 0.5, 1. , 1.5, 2. , 3. , 4. , 6. ])
        """
        return np.array(_softwarp.format_table(self.name))

    def draw(self) -> str:
        """The bit fields and the number line as SVG, as ``softwarp formats --svg`` draws them. Notebooks show it.

        >>> import softwarp
        >>> softwarp.format("e4m3").draw().startswith("<svg")
        True
        """
        return _softwarp.format_drawing(self.name)

    def _repr_svg_(self) -> str:
        return self.draw()

    def _repr_html_(self) -> str:
        about = html.escape(f"{self.name}: {self.about}")
        return f'<figure style="margin:0"><figcaption>{about}</figcaption>{self.draw()}</figure>'


def format(name: str) -> Format:
    """A number format by its name: PTX's, or one of libraries and papers.

    >>> import softwarp
    >>> softwarp.format("float8_e4m3fn").name
    'e4m3'
    >>> softwarp.format("e4m4")
    Traceback (most recent call last):
    ...
    ValueError: `e4m4` is not a format; did you mean e4m3?
    """
    return _format(text("name", name))


@functools.lru_cache(maxsize=None)
def _format(name: str) -> Format:
    return Format(**_softwarp.format_properties(name))


def _named_by(dtype: str) -> str | None:
    """The format that a dtype is for by its name, if NumPy has none for it."""
    return next((format for format, name in _ML_DTYPES.items() if name == dtype), None)


@functools.lru_cache(maxsize=None)
def _dtype(name: str) -> np.dtype:
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    try:
        import ml_dtypes

        dtype: np.dtype = np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
        return dtype
    except (ImportError, AttributeError, KeyError):
        return np.dtype(np.uint16 if format(name).bits > 8 else np.uint8)


def _of_dtype(dtype: np.dtype) -> str:
    """The format that an array's dtype says."""
    try:
        return format(dtype.name).name
    except ValueError as error:
        hint = "from_= names the format of raw codes, as in from_='e4m3'"
        raise TypeError(f"an array of {dtype}: {error}; {hint}") from None
