"""Arrays of other libraries: taken without copies, and made of results."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

# Kinds of devices whose memory the processor can read: the processor's own, and what CUDA and ROCm pin there.
_HOST = (1, 3, 11)

# What NumPy lacks of torch's dtypes, with an integer of the same size.
_TORCH = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "float8_e8m0fnu": "uint8"}


def _is_torch(x: Any) -> bool:
    """Whether it is a tensor of torch, which is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _host(x: Any, argument: str) -> Any:
    """An array with ``__dlpack__`` as a NumPy array on the same memory; anything else as it is."""
    if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "__dlpack__"):
        return x
    if hasattr(x, "__dlpack_device__"):
        kind = int(x.__dlpack_device__()[0])
        if kind not in _HOST:
            what = getattr(x, "device", f"a device of DLPack's kind {kind}")
            raise TypeError(f"{argument} is on {what}, and memory of the processor is wanted: copy it there first")
    if _is_torch(x):
        return _of_torch(x, argument)
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{argument} cannot be read through DLPack: {error}") from error


def _of_torch(x: Any, argument: str) -> Any:
    torch = sys.modules["torch"]
    name = str(x.dtype).removeprefix("torch.")
    plain = x.detach()
    if name not in _TORCH:
        try:
            return np.from_dlpack(plain)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{argument} cannot be read through DLPack: {error}") from error
    codes = np.from_dlpack(plain.view(getattr(torch, _TORCH[name])))
    try:
        import ml_dtypes

        return codes.view(getattr(ml_dtypes, name))
    except ImportError:
        return codes.view(f"u{codes.dtype.itemsize}")


def _kind(x: Any, like: Any) -> str:
    """What a result is to be: ``numpy`` or ``torch``."""
    if like is None:
        return "torch" if _is_torch(x) else "numpy"
    if _is_torch(like) or like == "torch":
        return "torch"
    if isinstance(like, np.ndarray) or like == "numpy":
        return "numpy"
    raise ValueError(f"like= is 'numpy', 'torch', or an array of one of them, not {like!r}")


def _as_kind(result: Any, kind: str) -> Any:
    """A result as an array of NumPy, or as a tensor of torch on the same memory."""
    if kind == "numpy":
        return result
    import torch  # type: ignore[import-not-found,unused-ignore]

    name = result.dtype.name
    if name in _TORCH and hasattr(torch, name):
        codes = torch.from_numpy(result.view(_TORCH[name]))
        return codes.view(getattr(torch, name))
    # Formats that torch lacks are their codes.
    return torch.from_numpy(result if result.dtype.kind in "fiub" else result.view(f"u{result.dtype.itemsize}"))
