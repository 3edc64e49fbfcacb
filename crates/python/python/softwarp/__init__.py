"""PTX in software, exact to the bit: convert and quantize arrays, check PTX, run kernels without a GPU.

Numbers: :func:`convert` and :func:`cvt` convert arrays as PTX's ``cvt`` does, :func:`quantize` makes MX and NVFP4
arrays, :func:`format` describes number formats. PTX: :func:`check` says what is wrong with a module, :func:`layout` where its
variables are. Kernels: :class:`Module` runs them on NumPy arrays.

>>> import numpy as np, softwarp
>>> print(softwarp.convert(np.float32([1.5, -0.1, 1000]), "e4m3"))
[1.5 -0.101562 448]
"""

from . import tensor
from ._check import Diagnostic, Note, PtxError, check, layout
from ._convert import convert, cvt, pack4, unpack4
from ._debug import Debugger, Stop, debug
from ._formats import Format, format
from ._machine import Array, CompileError, Fault, Finding, Kernel, Module, Report
from ._map import Job, Result, map
from ._quantize import QuantizationError, Quantized, quantize

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
    "Report",
    "Result",
    "Stop",
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
