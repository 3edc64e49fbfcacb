"""PTX in software, exact to the bit: convert and quantize arrays, check PTX, run kernels without a GPU.

Numbers: :func:`convert` and :func:`cvt` convert arrays as PTX's ``cvt`` does, :func:`quantize` makes MX and NVFP4
arrays, :func:`format` describes number formats. PTX: :func:`check` says what is wrong with a module, :func:`layout` where its
variables are. Kernels: :class:`Module` runs them on NumPy arrays.

>>> import numpy as np, softwarp
>>> print(softwarp.convert(np.float32([1.5, -0.1, 1000]), "e4m3"))
[1.5 -0.101562 448]
"""

try:
    import numpy as _numpy  # noqa: F401
except ImportError as _error:
    _why = "softwarp needs NumPy, which is not installed, or is in use by another interpreter of this process"
    raise ImportError(f"{_why}: {_error}") from _error

from . import tensor
from ._arguments import Array
from ._check import Diagnostic, Note, PtxError, check, layout
from ._convert import convert, cvt, pack4, unpack4
from ._debug import Debugger, Stop, debug
from ._formats import Format, format
from ._machine import Kernel, Module
from ._map import Job, Result, map
from ._quantize import QuantizationError, Quantized, quantize
from ._reports import CompileError, Fault, Finding, Recorded, Report
from ._texture import Sampler, Surface, Texture

__all__ = [
    "Array",
    "CompileError",
    "Debugger",
    "Diagnostic",
    "Fault",
    "Finding",
    "Format",
    "Job",
    "Kernel",
    "Module",
    "Note",
    "PtxError",
    "QuantizationError",
    "Quantized",
    "Recorded",
    "Report",
    "Result",
    "Sampler",
    "Stop",
    "Surface",
    "Texture",
    "check",
    "convert",
    "cvt",
    "debug",
    "format",
    "layout",
    "map",
    "pack4",
    "quantize",
    "tensor",
    "unpack4",
]
