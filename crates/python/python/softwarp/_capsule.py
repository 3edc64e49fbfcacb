"""DLPack's capsules, for element types that NumPy does not read.

The structures are those of dlpack.h, of versions 0 and 1. What they say of memory is trusted, as everyone does that takes
a capsule.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What a data type can be (`DLDataTypeCode`): a name for messages, and the format, if softwarp has it.
_CODES: dict[int, tuple[str, str | None]] = {
    0: ("int", None),
    1: ("uint", None),
    2: ("float", None),
    3: ("opaque handles", None),
    4: ("bfloat", "bf16"),
    5: ("complex", None),
    6: ("bool", None),
    7: ("float8_e3m4", None),
    8: ("float8_e4m3", None),
    9: ("float8_e4m3b11fnuz", None),
    10: ("float8_e4m3fn", "e4m3"),
    11: ("float8_e4m3fnuz", None),
    12: ("float8_e5m2", "e5m2"),
    13: ("float8_e5m2fnuz", None),
    14: ("float8_e8m0fnu", "ue8m0"),
    15: ("float6_e2m3fn", "e2m3"),
    16: ("float6_e3m2fn", "e3m2"),
    17: ("float4_e2m1fn", "e2m1"),
}
_BITS = {"bf16": 16, "e4m3": 8, "e5m2": 8, "ue8m0": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}
_USUAL = (0, 1, 2, 5, 6)

# `DLPACK_FLAG_BITMASK_READ_ONLY` and `DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED`
_READ_ONLY = 1
_PADDED = 4

# The newest version of DLPack that is understood.
_VERSION = (1, 1)


class _Tensor(ctypes.Structure):
    """`DLTensor`"""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`"""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


def _api(name: str, result: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype = result
    function.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return function


_is_valid = _api("PyCapsule_IsValid", ctypes.c_int)
_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p)


class Capsule:
    """What an array gives to DLPack. The memory stays as long as an array of :meth:`codes` does."""

    def __init__(self, x: Any) -> None:
        try:
            self._capsule = x.__dlpack__(max_version=_VERSION)
        except TypeError:
            # From before there were versions.
            self._capsule = x.__dlpack__()
        self._flags = 0
        if _is_valid(self._capsule, b"dltensor_versioned"):
            whole = _Versioned.from_address(_pointer(self._capsule, b"dltensor_versioned"))
            if whole.major != _VERSION[0]:
                raise ValueError(f"DLPack {whole.major}.{whole.minor} is not known")
            self._tensor, self._flags = whole.tensor, whole.flags
        elif _is_valid(self._capsule, b"dltensor"):
            # `DLManagedTensor` begins with the tensor.
            self._tensor = _Tensor.from_address(_pointer(self._capsule, b"dltensor"))
        else:
            raise TypeError("__dlpack__ gave no capsule of a tensor")
        self.in_pairs = False
        """Two elements share a byte."""
        self.itemsize = (self._tensor.bits * self._tensor.lanes + 7) // 8
        """The bytes of what the shape counts."""
        self.format = self._format()
        """The format of the elements, if it is one of softwarp's that NumPy does not read."""

    @property
    def is_integer(self) -> bool:
        """Whether the elements are said to be integers."""
        return int(self._tensor.code) in (0, 1) and int(self._tensor.lanes) == 1

    @property
    def dtype(self) -> np.dtype | None:
        """NumPy's dtype of the elements, if it has one."""
        code, bits = int(self._tensor.code), int(self._tensor.bits)
        kind = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}.get(code)
        try:
            return np.dtype(f"{kind}{bits // 8}") if kind and self.is_usual and bits % 8 == 0 else None
        except TypeError:
            return None

    @property
    def is_usual(self) -> bool:
        """Whether the elements are of a kind that NumPy has."""
        return int(self._tensor.code) in _USUAL and int(self._tensor.lanes) == 1

    @property
    def name(self) -> str:
        """The type of the elements, for messages."""
        code, bits, lanes = self._tensor.code, self._tensor.bits, self._tensor.lanes
        name = _CODES.get(code, (f"DLPack's type {code}", None))[0]
        name = name if name[-1].isdigit() or "_" in name else f"{name}{bits}"
        return name if lanes == 1 else f"{name}x{lanes}"

    def _format(self) -> str | None:
        code, bits, lanes = self._tensor.code, self._tensor.bits, self._tensor.lanes
        format = _CODES.get(code, ("", None))[1]
        if format is None or bits != _BITS[format] and (bits != 8 or _BITS[format] > 8):
            return None
        if bits >= 8 or self._flags & _PADDED:
            return format if lanes == 1 else None
        # Elements without padding: pairs of four bits.
        if bits != 4 or lanes not in (1, 2):
            return None
        self.in_pairs = True
        return format

    def codes(self) -> NDArray[Any]:
        """The codes of the elements on the same memory."""
        tensor, size = self._tensor, self.itemsize
        shape = [tensor.shape[axis] for axis in range(tensor.ndim)]
        steps = [tensor.strides[axis] for axis in range(tensor.ndim)] if tensor.strides else None
        if self.in_pairs and tensor.lanes == 1:
            # Bytes, of which there is half a one for each element.
            if not shape or shape[-1] % 2 or steps not in (None, _steps(shape)):
                raise ValueError("elements of four bits that are not whole rows of bytes")
            shape, steps = [*shape[:-1], shape[-1] // 2], None
        dtype = np.dtype(f"u{size}")
        if 0 in shape:
            return np.empty(shape, dtype)
        steps = [step * size for step in (steps or _steps(shape))]
        ends = [step * (length - 1) for step, length in zip(steps, shape)]
        low, high = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
        start = (tensor.data or 0) + tensor.byte_offset + low
        memory = (ctypes.c_uint8 * (high - low + size)).from_address(start)
        # Whoever has the array has the memory, and with it what owns it.
        memory._owner = self._capsule
        array: NDArray[Any] = np.ndarray(shape, dtype, memory, -low, steps)
        if self._flags & _READ_ONLY:
            array.flags.writeable = False
        return array


def _steps(shape: list[int]) -> list[int]:
    """The strides of an array in C order, in elements."""
    steps = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        steps[axis - 1] = steps[axis] * shape[axis]
    return steps
