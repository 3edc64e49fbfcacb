"""Puts softwarp's driver in place of the GPU's: import it before CuPy, numba-cuda, cuda.core, Triton, tinygrad or PyCUDA.

Their kernels then run on the CPU, without a GPU. The ``SOFTWARP_*`` variables are read when the first of them starts
the driver; they can be set in ``os.environ`` until then. ``python -m softwarp script.py`` does the same for scripts
that do not import it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from . import _libraries

__all__ = ["driver", "libraries"]


def _set(name: str, value: str) -> None:
    """Sets a variable, unless it has a value."""
    if not os.environ.get(name):
        os.environ[name] = value


def _put_before(name: str, value: str, separator: str) -> None:
    rest = os.environ.get(name)
    os.environ[name] = value + separator + rest if rest else value


def _with_line_info(name: str) -> None:
    """Adds nvcc's option that keeps PTX in cubins, unless it is there, or ``-G``, which cannot stand beside it."""
    words = os.environ.get(name, "").split()
    if not {"-lineinfo", "--generate-line-info", "-G", "--device-debug"}.intersection(words):
        os.environ[name] = " ".join([*words, "-lineinfo"])


def _install() -> tuple[Path, Path]:
    """Loads the libraries and sets variables; gives the driver and the folder that has the libraries by their names."""
    if not sys.platform.startswith("linux"):
        raise ImportError("softwarp's driver runs on Linux only")
    there = _libraries.loaded("libcuda.so")
    others = [str(path) for path in there if not _libraries.is_softwarp(path)]
    if others:
        raise ImportError(f"{others[0]} is loaded already; import softwarp.cuda before what uses CUDA")
    found = _libraries.folder()
    if found is None:
        raise ImportError(
            "libcuda.so is not in this package; tools/python.sh builds one that has it, and SOFTWARP_LIB names a folder"
        )
    if there:
        # `softwarp exec` has done the rest.
        return there[0], there[0].parent
    driver = (found / "libcuda.so").resolve()
    # nvJitLink is hidden by an empty library of its name: with it, clients make cubins without PTX.
    for file in ("libcuda.so", "libnvjitlink.so", "libnvrtc.so", "libcudart.so"):
        library = (found / file).resolve()
        if library.is_file():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    # CUDA runtimes in modules that are loaded from now on are redirected.
    redirecting = (found / "libsoftwarp_preload.so").resolve()
    if redirecting.is_file():
        ctypes.CDLL(str(redirecting))
    place = _libraries.linked(found)
    # For processes that this one starts, and for clients that look for files.
    _put_before("LD_LIBRARY_PATH", str(place), ":")
    _set("TRITON_LIBCUDA_PATH", str(place))
    _set("NUMBA_CUDA_DRIVER", str(place / "libcuda.so.1"))
    for name in ("NVCC_APPEND_FLAGS", "PYCUDA_DEFAULT_NVCC_FLAGS"):
        _with_line_info(name)
    return driver, place


#: The file of the driver library, and the folder that has the libraries by the names that programs look for.
driver, libraries = _install()
