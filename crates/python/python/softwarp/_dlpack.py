"""Arrays of other libraries: taken without copies, with what their elements are, and made of results."""

from __future__ import annotations

import re
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._capsule import Capsule
from ._formats import _ML_DTYPES, _dtype, _named_by

# Kinds of devices whose memory the processor can read: the processor's own, and what CUDA and ROCm pin there.
_HOST = (1, 3, 11)

# Names of dtypes that NumPy reads itself.
_NUMPY = re.compile(r"bool_?|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|half|float|double|short|int|long")

# Formats that torch has dtypes for, an element each. Its other ones with fewer bits than a byte have no contents.
_IN_TORCH = ("bf16", "e4m3", "e5m2", "ue8m0")

# A dtype with two elements in each byte, the first in the low half.
_PAIRS = {"float4_e2m1fn_x2": "float4_e2m1fn"}


class Elements(NamedTuple):
    """An array, and what its elements are."""

    array: Any
    format: str | None = None
    """The format of the elements where that is not one of NumPy: the array has their codes, or a dtype of ml_dtypes."""


def _is_torch(x: Any) -> bool:
    """Whether it is a tensor of torch, which is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _dtype_name(x: Any) -> str | None:
    """The name of an array's dtype as its library has it, without the library's name."""
    dtype = getattr(x, "dtype", None)
    words = re.findall(r"[A-Za-z_]\w*", dtype.name if isinstance(dtype, np.dtype) else str(dtype))
    return words[-1] if dtype is not None and words else None


def _on_host(x: Any, argument: str) -> None:
    """Refuses arrays that the processor cannot read."""
    if hasattr(x, "__dlpack_device__"):
        kind = int(x.__dlpack_device__()[0])
        if kind not in _HOST:
            what = getattr(x, "device", f"a device of DLPack's kind {kind}")
            raise TypeError(f"{argument} is on {what}, and memory of the processor is wanted: copy it there first")
    elif not hasattr(x, "__dlpack__") and hasattr(x, "__cuda_array_interface__"):
        raise TypeError(f"{argument} is on a GPU, and memory of the processor is wanted: copy it there first")


def _contradicts(argument: str, name: str, given: str) -> TypeError:
    return TypeError(
        f"{argument} has the dtype {name} and gives elements of {given} to DLPack: pass an array of NumPy, or codes as an "
        "array of unsigned integers with from_="
    )


def _unknown(argument: str, name: str) -> TypeError:
    return TypeError(
        f"{argument} has elements of {name}, which softwarp does not know: convert them in their library, or pass their "
        "codes as an array of uint8 or uint16, with from_= if it is a format that `softwarp formats` lists"
    )


def _elements(x: Any, argument: str) -> Elements:
    """An array of another library as a NumPy array on the same memory; anything else as it is."""
    if isinstance(x, (np.ndarray, np.generic)):
        return Elements(x)
    if hasattr(x, "_softwarp_elements"):
        # An array in the memory of a module.
        return Elements(*x._softwarp_elements())
    _on_host(x, argument)
    name = _dtype_name(x)
    if not hasattr(x, "__dlpack__"):
        return _named_codes(x, name, argument)
    plain = x.detach() if hasattr(x, "detach") else x
    if name is None or _NUMPY.fullmatch(name):
        try:
            array = np.from_dlpack(plain)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            read = _read(plain, None, argument, error)
            if name is not None:
                raise _contradicts(argument, name, str(read.format)) from error
            return read
        # The dtype of a name with its bits, as in `float16` and unlike `long`.
        if name is not None and name[-1].isdigit() and array.dtype != np.dtype(name):
            raise _contradicts(argument, name, str(array.dtype))
        if name in ("bool", "bool_") and array.dtype != np.bool_:
            if array.dtype.itemsize != 1:
                raise _contradicts(argument, name, str(array.dtype))
            array = array.view(np.bool_)
        return Elements(array)
    format = _named_by(_PAIRS.get(name, name))
    is_torch = _is_torch(x)
    if format is None or is_torch and format not in _IN_TORCH and name not in _PAIRS:
        raise _unknown(argument, str(x.dtype))
    if is_torch:
        torch = sys.modules["torch"]
        codes = plain.view(torch.int16 if _dtype(format).itemsize == 2 else torch.uint8)
        return _coded(np.from_dlpack(codes), format, name in _PAIRS)
    if isinstance(x.dtype, np.dtype):
        # Such as those of JAX, which have the dtypes of ml_dtypes.
        return _coded(np.asarray(x), format, False)
    return _read(plain, name, argument, None)


def _named_codes(x: Any, name: str | None, argument: str) -> Elements:
    """What has no DLPack: arrays of other libraries whose dtype is of a format that NumPy lacks. All else is as it is."""
    format = None if name is None or isinstance(x.dtype, np.dtype) else _named_by(_PAIRS.get(name, name))
    if format is None or not (hasattr(x, "__array_interface__") or hasattr(x, "__array__")):
        return Elements(x)
    array = np.asarray(x)
    if array.dtype == _dtype(format):
        return Elements(array, format)
    if array.dtype.kind not in "uiV" or array.dtype.itemsize != _dtype(format).itemsize:
        raise TypeError(f"{argument} has the dtype {name} and gives an array of {array.dtype}: convert it in its library")
    return _coded(array.view(f"u{array.dtype.itemsize}"), format, name in _PAIRS)


def _read(x: Any, name: str | None, argument: str, error: Exception | None) -> Elements:
    """The elements by what the array gives to DLPack, where NumPy cannot read it or the dtype has a name."""
    try:
        capsule = Capsule(x)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as own:
        raise TypeError(f"{argument} cannot be read through DLPack: {error or own}") from (error or own)
    given = capsule.format
    named = None if name is None else _named_by(_PAIRS.get(name, name))
    if named is not None and given not in (None, named):
        raise _contradicts(argument, str(name), str(given))
    if named is not None and given is None and not capsule.is_integer:
        raise _contradicts(argument, str(name), capsule.name)
    if given is None and name is not None and capsule.is_integer and not capsule.in_pairs:
        # Codes under the name of what they are.
        given = named
        if given is not None and _dtype(given).itemsize == capsule.itemsize:
            return _coded(capsule.codes(), given, name in _PAIRS)
        given = None
    if given is None:
        if capsule.is_usual and error is not None:
            raise TypeError(f"{argument} cannot be read through DLPack: {error}") from error
        raise _unknown(argument, capsule.name)
    return _coded(capsule.codes(), given, capsule.in_pairs)


def _coded(codes: NDArray[Any], format: str, in_pairs: bool) -> Elements:
    """Codes of a format, with the dtype of ml_dtypes if it is installed. Pairs stay bytes: :func:`_numbers` splits them."""
    dtype = _dtype(format)
    if in_pairs:
        return Elements(codes.view(np.uint8), f"{format}x2")
    return Elements(codes if codes.dtype == dtype else codes.view(dtype), format)


def _one_each(given: Elements) -> Elements:
    """The same with an element of the array for each element."""
    if given.format is None or not given.format.endswith("x2"):
        return given
    format = given.format.removesuffix("x2")
    both = np.stack([given.array & np.uint8(15), given.array >> np.uint8(4)], axis=-1)
    shape = given.array.shape
    return Elements(both.reshape(*shape[:-1], 2 * shape[-1] if shape else 2).view(_dtype(format)), format)


def _host(x: Any, argument: str) -> Any:
    """An array's memory as a NumPy array, for what takes bytes; anything else as it is."""
    return _elements(x, argument).array


def _typed(x: Any, argument: str) -> Any:
    """An array as a NumPy array whose dtype says what the elements are."""
    given = _one_each(_elements(x, argument))
    if given.format is not None and given.array.dtype.kind in "ui":
        raise TypeError(
            f"{argument} has elements of {given.format}, for which NumPy has no dtype: install ml_dtypes, or pass their "
            "codes as an array of unsigned integers"
        )
    return given.array


def _kind(x: Any, like: Any) -> str:
    """What a result is to be: ``numpy`` or ``torch``."""
    if like is None:
        return "torch" if _is_torch(x) else "numpy"
    if _is_torch(like) or like == "torch":
        return "torch"
    if isinstance(like, np.ndarray) or like == "numpy":
        return "numpy"
    raise ValueError(f"like= is 'numpy', 'torch', or an array of one of them, not {like!r}")


def _as_kind(result: Any, kind: str, format: str) -> Any:
    """A result with elements of a format as an array of NumPy, or as a tensor of torch on the same memory."""
    if kind == "numpy":
        return result
    import torch  # type: ignore[import-not-found,unused-ignore]

    name = _ML_DTYPES.get(format)
    if name is None:
        return torch.from_numpy(result)
    codes = torch.from_numpy(result.view("int16" if result.dtype.itemsize == 2 else "uint8"))
    # Formats that torch lacks are their codes.
    is_there = format in _IN_TORCH and hasattr(torch, name)
    return codes.view(getattr(torch, name)) if is_there else codes
