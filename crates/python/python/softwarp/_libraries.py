"""The libraries that CUDA programs load: where they are, and a folder in which they have the names that programs look
for."""

from __future__ import annotations

import atexit
import mmap
import os
import shutil
import tempfile
from pathlib import Path

#: Names that programs look for, by the file in the package.
_NAMES = {
    "libcuda.so": ("libcuda.so.1", "libcuda.so"),
    "libcudart.so": ("libcudart.so.13", "libcudart.so.12", "libcudart.so"),
    "libnvrtc.so": ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"),
}


def folder() -> Path | None:
    """The folder with the libraries: ``SOFTWARP_LIB``, or the one in the package; none if it has no libraries."""
    named = os.environ.get("SOFTWARP_LIB")
    place = Path(named) if named else Path(__file__).parent / "lib"
    return place if (place / "libcuda.so").is_file() else None


def linked(libraries: Path) -> Path:
    """A new folder with links to the libraries, removed when this process ends."""
    place = Path(tempfile.mkdtemp(prefix="softwarp-"))
    owner = os.getpid()

    def remove() -> None:
        # Forked processes leave it to the one that made it.
        if os.getpid() == owner:
            shutil.rmtree(place, ignore_errors=True)

    atexit.register(remove)
    for file, names in _NAMES.items():
        library = (libraries / file).resolve()
        for name in names if library.is_file() else ():
            (place / name).symlink_to(library)
    return place


def loaded(name: str) -> list[Path]:
    """The files that this process has loaded whose names begin so."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        paths = {Path(line.split(maxsplit=5)[5].rstrip("\n")) for line in lines if "/" in line}
    return sorted(path for path in paths if path.name.startswith(name))


def is_softwarp(library: Path) -> bool:
    """Whether a driver library is softwarp's."""
    try:
        with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(b"SOFTWARP_REPORT") >= 0
    except (OSError, ValueError):
        return False
