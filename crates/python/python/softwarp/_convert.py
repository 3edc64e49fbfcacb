"""Conversions of arrays."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _softwarp
from ._dlpack import _as_kind, _elements, _host, _is_torch, _kind, _one_each
from ._formats import _ML_DTYPES, Format, _dtype, _of_dtype, format
from ._given import integer, text


def _flat(x: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a contiguous array, in order."""
    return x.reshape(-1).view(np.uint8)


def _little(x: NDArray[Any]) -> NDArray[Any]:
    """The array in C order with little-endian elements."""
    if x.dtype.byteorder == ">" or (x.dtype.byteorder == "=" and np.little_endian is False):
        x = x.astype(x.dtype.newbyteorder("<"))
    return np.ascontiguousarray(x).reshape(x.shape)


def _source(x: ArrayLike, from_: str | None) -> tuple[NDArray[Any], Format]:
    """An array, and what its elements are."""
    given = _one_each(_elements(x, "x"))
    array = np.asarray(given.array)
    known = None if given.format is None else format(given.format)
    if from_ is None:
        source = known or format(_of_dtype(array.dtype))
        return _little(array), source
    source = format(text("from_", from_))
    if known not in (None, source):
        raise TypeError(f"x has elements of {given.format}, and from_ says {source.name}")
    if array.dtype != _dtype(source.name):
        size = max(1, _dtype(source.name).itemsize)
        # Python's own numbers are codes too.
        if array.dtype == np.int64 and not isinstance(x, (np.ndarray, np.generic)):
            codes = array.astype(f"u{size}")
            if not np.array_equal(codes, array):
                raise ValueError(f"codes of {source.name} are from 0 to {2**source.bits - 1}")
            array = codes
        if array.dtype.kind not in "uV" or array.dtype.itemsize != size:
            raise TypeError(f"codes of {source.name} are in arrays of uint{8 * size}, and this one has {array.dtype}")
    if source.bits < 8:
        array = (array.view(np.uint8) & np.uint8((1 << source.bits) - 1)).view(array.dtype)
    return _little(array), source


def _values(x: Any, argument: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """The numbers of an array in a dtype of NumPy."""
    array, format = _one_each(_elements(x, argument))
    if format is not None and array.dtype.kind in "ui":
        array = convert(array, "f32", from_=format, like="numpy")
    return np.asarray(array, dtype)


@overload
def convert(
    x: ArrayLike,
    to: str,
    *,
    from_: str | None = None,
    rounding: str = "rn",
    saturate: bool | None = None,
    seed: int | None = None,
    out: NDArray[Any] | None = None,
    like: Literal["numpy"] | NDArray[Any] | None = None,
) -> NDArray[Any]: ...


@overload
def convert(
    x: Any,
    to: str,
    *,
    from_: str | None = None,
    rounding: str = "rn",
    saturate: bool | None = None,
    seed: int | None = None,
    out: Any = None,
    like: Any = None,
) -> Any: ...


def convert(
    x: Any,
    to: str,
    *,
    from_: str | None = None,
    rounding: str = "rn",
    saturate: bool | None = None,
    seed: int | None = None,
    out: Any = None,
    like: Any = None,
) -> Any:
    """Converts an array to another number format, with one rounding, as PTX's ``cvt`` does.

    :param x: An array of any shape and order, of f16, f32, f64, integers or a dtype of ml_dtypes. Arrays of other
        libraries that have ``__dlpack__`` and are in the processor's memory are read where they are.
    :param to: The format of the result, as in ``e4m3``, ``bf16`` or ``float8_e5m2``.
    :param from_: What the array holds, where that is raw codes: ``e4m3`` for an array of uint8.
    :param rounding: ``rn`` (nearest, ties to even), ``rna`` (ties away from zero), ``rz`` (toward zero), ``rm`` (down),
        ``rp`` (up) or ``rs`` (stochastic).
    :param saturate: Whether values beyond the range become its largest number. Without it, as PTX has it: results
        narrower than 16 bits saturate, others become infinite, and integers made of integers keep their low bits.
        Integers made of floats always saturate.
    :param seed: Of the random bits of ``rs``. Element i, in C order, gets the upper 16 bits of splitmix64's output i.
    :param out: An array for the result: of its shape, and of its dtype or unsigned integers as wide.
    :param like: ``numpy`` or ``torch``, or an array of one of them: what the result is. Without it, what ``x`` is:
        a tensor for a tensor of torch, and a NumPy array for all others.
    :return: An array of the same shape in C order. Formats that NumPy lacks have the dtypes of ml_dtypes if it is
        installed, and are codes in uint8 or uint16 otherwise. Formats narrower than a byte take a byte for each
        element; :func:`pack4` puts two to a byte.

    >>> import numpy as np, softwarp
    >>> x = np.array([1.5, -0.1, 1000, np.nan], np.float32)
    >>> print(softwarp.convert(x, "e4m3"))
    [1.5 -0.101562 448 nan]
    >>> softwarp.convert(x, "e4m3").view(np.uint8)
    array([ 60, 157, 126, 127], dtype=uint8)
    >>> print(softwarp.convert(x, "e4m3", saturate=False))
    [1.5 -0.101562 nan nan]
    >>> softwarp.convert(np.array([0x7e], np.uint8), "f32", from_="e4m3")
    array([448.], dtype=float32)
    >>> softwarp.convert([2.5, 3.5, -1e9], "s8", rounding="rz")
    array([   2,    3, -128], dtype=int8)
    """
    array, source = _source(x, from_)
    target = format(text("to", to))
    seed = None if seed is None else integer("seed", seed)
    dtype = _dtype(target.name)
    kind, given = _kind(x, like), out
    if out is None:
        result = np.empty(array.shape, dtype)
    else:
        out = _writable(out, target)
        same = out.dtype == dtype or (out.dtype.kind == "u" and out.dtype.itemsize == dtype.itemsize)
        if not same or out.dtype.byteorder == ">":
            raise TypeError(f"out has {out.dtype}, and {dtype} is wanted")
        if out.shape != array.shape:
            raise ValueError(f"out has the shape {out.shape}, and {array.shape} is wanted")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        if any(step == 0 and size > 1 for step, size in zip(out.strides, out.shape)):
            raise ValueError("out has elements that share memory, as numpy.broadcast_to makes them")
        fits = out.flags.c_contiguous and not np.may_share_memory(out, array)
        result = out if fits else np.empty(out.shape, out.dtype)
    _softwarp.convert(_flat(array), _flat(result), source.name, target.name, rounding, saturate, seed)
    if out is None:
        return _as_kind(result, kind, target.name)
    if out is not result:
        out[...] = result
    return given


def _writable(out: Any, target: Format) -> NDArray[Any]:
    """The array for a result in a format."""
    array, said = _elements(out, "out")
    if not isinstance(array, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}, and an array is wanted")
    if said not in (None, target.name):
        raise TypeError(f"out has elements of {said}, and {target.name} is wanted")
    # Torch may lack unsigned integers for codes.
    is_codes = _is_torch(out) and array.dtype.kind == "i" and target.name in _ML_DTYPES
    return array.view(f"u{array.dtype.itemsize}") if is_codes else array


def _is_codes(given: NDArray[Any], format: str | None, formats: tuple[str, ...]) -> bool:
    """Whether an array has bytes that are codes: integers, or elements of one of some formats."""
    if format is not None:
        return format in formats
    names = [_ML_DTYPES[one] for one in formats if one in _ML_DTYPES]
    return given.dtype.itemsize == 1 and (given.dtype.kind in "uiS" or given.dtype.name in names)


def pack4(codes: ArrayLike) -> NDArray[np.uint8]:
    """Puts 4-bit codes two to a byte along the last axis, the first in the low half, as ``softwarp cvt`` writes them.

    >>> import numpy as np, softwarp
    >>> codes = softwarp.convert(np.array([0.5, 1, -6], np.float32), "e2m1")
    >>> softwarp.pack4(codes)
    array([33, 15], dtype=uint8)
    >>> softwarp.unpack4(softwarp.pack4(codes), 3)
    array([ 1,  2, 15], dtype=uint8)
    """
    given = _elements(codes, "codes")
    bytes_ = np.atleast_1d(np.asarray(given.array))
    if not _is_codes(bytes_, given.format, ("e2m1", "u4", "s4")):
        raise TypeError(f"4-bit codes are in arrays of bytes, and this one has {given.format or bytes_.dtype}")
    bytes_ = np.ascontiguousarray(bytes_).view(np.uint8) & np.uint8(15)
    if bytes_.shape[-1] % 2:
        bytes_ = np.concatenate([bytes_, np.zeros((*bytes_.shape[:-1], 1), np.uint8)], axis=-1)
    return bytes_[..., 0::2] | bytes_[..., 1::2] << np.uint8(4)


def unpack4(packed: ArrayLike, length: int | None = None) -> NDArray[np.uint8]:
    """The 4-bit codes of bytes that hold two each, along the last axis; the first ``length`` of them."""
    given = _elements(packed, "packed")
    bytes_ = np.atleast_1d(np.asarray(given.array))
    if not _is_codes(bytes_, given.format, ("e2m1x2",)):
        raise TypeError(f"packed codes are in arrays of bytes, and this one has {given.format or bytes_.dtype}")
    bytes_ = np.ascontiguousarray(bytes_).view(np.uint8)
    both = np.stack([bytes_ & np.uint8(15), bytes_ >> np.uint8(4)], axis=-1)
    codes = both.reshape(*bytes_.shape[:-1], 2 * bytes_.shape[-1])
    return codes[..., :length]


def _is_register(given: NDArray[Any], element: str) -> bool:
    """Whether integers are what a register of one element can hold: numbers for one of integers, and bits otherwise."""
    return format(element).kind == "integer" or given.dtype == np.dtype(f"u{_dtype(element).itemsize}")


def _register(form: str, operand: tuple[str, str | None, int, int], given: ArrayLike) -> NDArray[np.uint64]:
    """The bits of an operand as registers."""
    name, element, lanes, bits = operand
    elements = _one_each(_elements(given, f"{form}: operand {name}"))
    array = np.asarray(elements.array)
    if elements.format is not None and array.dtype.kind in "ui":
        if elements.format != element or lanes != 1:
            raise TypeError(f"{form}: operand {name} has elements of {elements.format}, and {element or 'bits'} are wanted")
    from_python = not isinstance(given, (np.ndarray, np.generic))
    if element is not None and lanes == 1 and name != "scale-factor":
        dtype = _dtype(element)
        # Python's own floats are rounded into the operand's format; its integers are numbers in a float too.
        if from_python and (array.dtype.kind == "f" or dtype.kind == "f"):
            array = convert(array.astype(np.float64), element) if format(element).kind != "integer" else array
        if array.dtype == dtype:
            array = _little(array).view(f"u{dtype.itemsize}")
    number = lanes == 1 and element is not None and format(element).kind
    if number and name != "scale-factor" and array.dtype.kind in "ui" and not _is_register(array, str(element)):
        raise TypeError(
            f"{form}: operand {name} is {element}, and an array of {array.dtype} was given: give {_dtype(str(element))}, or "
            f"its bits as u{_dtype(str(element)).itemsize}"
        )
    if array.dtype.kind not in "ui":
        what = element if lanes == 1 else f"{element}x{lanes}"
        raise TypeError(f"{form}: operand {name} is {what or 'bits'}, and an array of {array.dtype} was given")
    least, most = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if most >= 1 << bits or least < -(1 << bits - 1):
        raise ValueError(f"{form}: operand {name} has {bits} bits, and a value has more")
    if number == "integer" and array.dtype.kind == "i":
        # Integers with a sign are numbers, and not bits.
        limits = format(str(element))
        for value in (least, most):
            if not limits.min <= value <= limits.max:
                raise ValueError(f"{form}: operand {name} is {element}, and {value} is not")
    registers = array.astype(np.uint64)
    return registers & np.uint64((1 << bits) - 1) if bits < 64 else registers


def cvt(form: str, *operands: ArrayLike) -> NDArray[Any]:
    """Runs a form of ``cvt`` or ``cvt.pack``, by its PTX spelling, on registers.

    Operands come in PTX's order and are broadcast. Those that are one number are arrays of its dtype; packed ones,
    random bits and scales are unsigned integers: the bits of the register. A result of several numbers is its register too.

    >>> import numpy as np, softwarp
    >>> [hex(d) for d in softwarp.cvt("rn.satfinite.e4m3x2.f32", np.float32([1.5, 2]), np.float32([-300, 0.5]))]
    ['0x3cf9', '0x4030']
    >>> hex(softwarp.cvt("rn.f16x2.e4m3x2", 0x3cf9))
    '0x3e00dc80'
    >>> softwarp.cvt("rzi.s32.f32", np.float32([2.7, -2.7]))
    array([ 2, -2], dtype=int32)
    >>> softwarp.cvt("rn.e4m3x2.f32", 1.0, 2.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: ...satfinite...
    """
    spelling, registers, (_, element, lanes, bits) = _softwarp.cvt_form(form)
    if len(operands) != len(registers):
        names = ", ".join(name for name, *_ in registers)
        raise TypeError(f"{spelling} takes {len(registers)} operands ({names}), and {len(operands)} were given")
    given = [_register(spelling, register, one) for register, one in zip(registers, operands)]
    arrays = np.broadcast_arrays(*given)
    shape = arrays[0].shape
    result = np.empty(arrays[0].size, np.uint64)
    _softwarp.cvt(form, [np.ascontiguousarray(one).reshape(-1) for one in arrays], result)
    width = max(8, bits)
    codes = result.astype(f"u{width // 8}").reshape(shape)
    return codes.view(_dtype(element)) if element is not None and lanes == 1 else codes
