"""Tensor maps: checked, encoded and decoded; tensor copies performed and drawn.

>>> import softwarp
>>> map = softwarp.tensor.Map(type="f16", dims=(64, 64), box=(64, 8), swizzle="128B")
>>> map.check()
[]
>>> len(map.encode())
128
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _softwarp
from ._convert import _flat, _little
from ._dlpack import _elements, _host
from ._formats import _ML_DTYPES
from ._given import integer, several

__all__ = ["Diagnostic", "Drawing", "Map", "MapError"]

# Bytes of an element in memory; types that are not here are packed.
_BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "s32": 4, "s64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
_BYTES |= {"f32.ftz": 4, "tf32": 4, "tf32.ftz": 4}


# Formats of numbers by the names of dtypes.
_FLOATS = {"float16": "f16", "float32": "f32", "float64": "f64"} | {name: format for format, name in _ML_DTYPES.items()}


@dataclass(frozen=True)
class Diagnostic:
    """Something that is wrong, or odd, with a tensor map."""

    code: str
    """The rule, as in ``E1013``; ``softwarp explain`` says more about it."""
    severity: str
    """``error`` or ``warning``."""
    message: str
    title: str
    """The rule in a line."""
    fix: str | None
    """What would be right."""

    def __str__(self) -> str:
        return f"{self.severity}[{self.code}]: {self.message}" + (f"\n  fix: {self.fix}" if self.fix else "")


class MapError(ValueError):
    """A tensor map has errors; ``diagnostics`` has them."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(str(one) for one in diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return MapError, (self.diagnostics,)


@dataclass(frozen=True)
class Drawing:
    """A picture of a copy, which notebooks show."""

    svg: str
    """The picture."""
    html: str
    """A page that needs nothing else, in which types, swizzles, boxes and coordinates can be changed."""

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<drawing of a tensor copy, {len(self.svg)} bytes of SVG>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page if the name ends in ``.html``, and the picture otherwise."""
        text = self.html if os.fspath(path).endswith(".html") else self.svg
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Map:
    """A tensor map, as ``cuTensorMapEncodeTiled`` and the like make it. Lists have the fastest dimension first.

    :param kind: ``tiled`` (with box), ``im2col`` (with lower, upper, channels, pixels) or ``wide`` (wide and those).
    :param type: The type of elements, as in ``f16``, ``u8``, ``tf32`` or ``b4x16``.
    :param dims: Elements in each dimension.
    :param strides: Bytes from one element to the next, from dimension 1 on; dense without it.
    :param box: Elements of a copy in each dimension.
    :param swizzle: ``none``, ``32B``, ``64B``, ``128B`` and its forms with atoms.
    :param address: The tensor's global address.
    :param arch: The GPU, as in ``sm_100``; ``sm_90`` without it.

    Nothing is refused here: :meth:`check` says what is wrong.

    >>> import softwarp
    >>> wrong = softwarp.tensor.Map(type="f16", dims=(250, 64), box=(64, 8))
    >>> print(wrong.check()[0])  # doctest: +ELLIPSIS
    error[E1013]: strides[0] = 500 is not a multiple of 16...
    >>> wrong.encode()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    softwarp.tensor.MapError: error[E1013]: strides[0] = 500 is not a multiple of 16...
    """

    def __init__(
        self,
        *,
        type: str,
        dims: Sequence[int],
        kind: str = "tiled",
        strides: Sequence[int] | None = None,
        box: Sequence[int] | None = None,
        element_strides: Sequence[int] | None = None,
        interleave: str | None = None,
        swizzle: str | None = None,
        promotion: str | None = None,
        fill: str | None = None,
        lower: Sequence[int] | None = None,
        upper: Sequence[int] | None = None,
        channels: int | None = None,
        pixels: int | None = None,
        wide: str | None = None,
        address: int | None = None,
        arch: str | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "kind": kind,
            "type": type,
            "dims": dims,
            "strides": strides,
            "box": box,
            "element_strides": element_strides,
            "interleave": interleave,
            "swizzle": swizzle,
            "promotion": promotion,
            "fill": fill,
            "lower": lower,
            "upper": upper,
            "channels": channels,
            "pixels": pixels,
            "wide": wide,
            "address": address,
        }
        self.arch = arch
        """The GPU that it is for, if one was named."""
        self._fields = {key: _plain(key, value) for key, value in given.items() if value is not None}

    def __repr__(self) -> str:
        fields = self._fields | ({"arch": self.arch} if self.arch else {})
        return f"softwarp.tensor.Map({', '.join(f'{key}={value!r}' for key, value in fields.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and (self._fields, self.arch) == (other._fields, other.arch)

    def to_dict(self) -> dict[str, Any]:
        """The map as in the JSON files that ``softwarp tensor`` reads."""
        return dict(self._fields)

    @property
    def _json(self) -> str:
        return json.dumps(self._fields)

    def check(self) -> list[Diagnostic]:
        """All that is wrong or odd with the map, in the order of the rules."""
        return [Diagnostic(*one) for one in _softwarp.tensor_check(self._json, self.arch)[0]]

    def _legal(self) -> str:
        errors = [one for one in self.check() if one.severity == "error"]
        if errors:
            raise MapError(errors)
        return self._json

    @property
    def copied_bytes(self) -> int:
        """The bytes that a copy completes on its mbarrier."""
        bytes_ = _softwarp.tensor_check(self._legal(), self.arch)[1]
        return bytes_ or 0

    def encode(self) -> bytes:
        """The 128 bytes that the driver makes. A map with errors raises :class:`MapError`."""
        return _softwarp.tensor_encode(self._legal(), self.arch)

    @staticmethod
    def decode(bytes: bytes, arch: str | None = None) -> Map:
        """The map that 128 bytes are.

        >>> import softwarp
        >>> map = softwarp.tensor.Map(type="f16", dims=(64, 64), box=(64, 8), swizzle="128B")
        >>> softwarp.tensor.Map.decode(map.encode()).to_dict()["swizzle"]
        '128B'
        """
        if len(bytes) != 128:
            raise ValueError(f"bytes: a tensor map has 128 of them, and {len(bytes)} were given")
        fields = json.loads(_softwarp.tensor_decode(bytes))
        arch = arch or fields.pop("target", None)
        made = Map(type="", dims=(), arch=arch)
        made._fields = fields
        return made

    def copy(
        self,
        array: ArrayLike,
        at: Sequence[int] | None = None,
        *,
        offsets: Sequence[int] | None = None,
        mode: str | None = None,
        shared: int = 0,
    ) -> NDArray[np.uint8]:
        """What a load leaves in shared memory: bytes from the shared address on. What it does not touch is zero.
        :meth:`store` goes the other way.

        :param array: The tensor in C order, so that its last axis is dimension 0, or its bytes.
        :param at: Coordinates, the fastest dimension first; for gather4 the column and four rows.
        :param offsets: Of im2col in W, H and D.
        :param mode: ``tile``, ``gather4``, ``im2col`` and so on; by the map without it.
        :param shared: The address in shared memory.

        >>> import numpy as np, softwarp
        >>> tensor = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)
        >>> map = softwarp.tensor.Map(type="u16", dims=(64, 64), box=(64, 8), swizzle="128B")
        >>> tile = map.copy(tensor, at=(0, 8)).view(np.uint16).reshape(8, 64)
        >>> tile[0, :3], tile[1, :3]  # rows are swizzled in pieces of 16 bytes
        (array([512, 513, 514], dtype=uint16), array([584, 585, 586], dtype=uint16))
        """
        map, shared = self._legal(), integer("shared", shared)
        raw = _flat(_little(self._fits(array if hasattr(array, "__dlpack__") else np.asarray(array))))
        place = _place(at, offsets)
        return np.frombuffer(
            _softwarp.tensor_copy(map, self.arch, raw, *place, mode, shared), np.uint8
        )

    def store(
        self,
        tile: ArrayLike,
        array: Any,
        at: Sequence[int] | None = None,
        *,
        reduce: str | None = None,
        offsets: Sequence[int] | None = None,
        mode: str | None = None,
        shared: int = 0,
    ) -> None:
        """Stores what shared memory holds to a tensor, in place. What is outside of the tensor is not written.

        :param tile: The bytes in shared memory from the shared address on, as :meth:`copy` gives them.
        :param array: The tensor in C order, which can be written, or its bytes.
        :param reduce: ``add``, ``min``, ``max``, ``inc``, ``dec``, ``and``, ``or`` or ``xor``: the elements become this of
            what they are and of what is stored.

        >>> import numpy as np, softwarp
        >>> tensor = np.ones((64, 64), np.uint32)
        >>> map = softwarp.tensor.Map(type="u32", dims=(64, 64), box=(32, 8), swizzle="128B")
        >>> tile = map.copy(tensor, at=(32, 0))
        >>> map.store(tile, tensor, at=(0, 8), reduce="add")
        >>> tensor[8, :3], tensor[8, 32:35]
        (array([2, 2, 2], dtype=uint32), array([1, 1, 1], dtype=uint32))
        """
        map, shared = self._legal(), integer("shared", shared)
        values = self._fits(array)
        if not values.flags.writeable:
            raise ValueError("array is read-only, and a store writes to it")
        if not values.flags.c_contiguous or _little(values) is not values and not np.shares_memory(_little(values), values):
            raise ValueError("array is written in place: it must be in C order and in the machine's byte order")
        raw = _flat(_little(np.asarray(_host(tile, "tile"))))
        place = _place(at, offsets)
        _softwarp.tensor_store(map, self.arch, raw, _flat(values), *place, mode, shared, reduce or "store")

    def _fits(self, given: Any) -> NDArray[Any]:
        """An array that can be the tensor: of the map's elements, or of integers that are their bits or bytes."""
        elements = _elements(given, "array")
        values = elements.array
        if not isinstance(values, np.ndarray):
            raise TypeError(f"array is a {type(values).__name__}, and an array is wanted")
        wanted = _BYTES.get(str(self._fields.get("type")))
        if wanted is not None and values.dtype.itemsize not in (wanted, 1):
            raise TypeError(f"array holds {values.dtype}, and the map's elements are {self._fields['type']}")
        # Numbers of one format are not those of another one as wide.
        own = str(self._fields.get("type")).split(".")[0]
        own = {"tf32": "f32"}.get(own, own)
        held = elements.format or _FLOATS.get(values.dtype.name)
        is_other = held is not None and (wanted, values.dtype.itemsize) != (1, 1) and own in _BYTES
        if is_other and held != own and (own in _FLOATS.values() or values.dtype.itemsize != wanted):
            raise TypeError(f"array holds {held}, and the map's elements are {self._fields['type']}")
        dims = tuple(self._fields["dims"])
        if values.ndim > 1 and "strides" not in self._fields and values.shape[::-1] != dims:
            if values.dtype.itemsize == wanted:
                raise ValueError(f"array has the shape {values.shape}, and the map's is {dims[::-1]}")
        return values

    def draw(
        self,
        at: Sequence[int] | None = None,
        *,
        offsets: Sequence[int] | None = None,
        mode: str | None = None,
        shared: int = 0,
        direction: str = "load",
    ) -> Drawing:
        """Draws a copy: the tensor on the left, shared memory on the right. Notebooks show it.

        :param direction: ``load``, ``store``, or a reduction, as in ``add``.

        >>> import softwarp
        >>> map = softwarp.tensor.Map(type="f16", dims=(64, 64), box=(64, 8), swizzle="128B")
        >>> map.draw(at=(0, 8)).svg.startswith("<svg")
        True
        """
        place = _place(at, offsets)
        return Drawing(*_softwarp.tensor_draw(self._legal(), self.arch, *place, mode, shared, direction))

    def _repr_svg_(self) -> str | None:
        return self.draw().svg if not any(one.severity == "error" for one in self.check()) else None


def _place(
    at: Sequence[int] | None, offsets: Sequence[int] | None
) -> tuple[list[int] | None, list[int] | None]:
    """Coordinates and offsets as lists."""

    def plain(what: str, given: Sequence[int] | None) -> list[int] | None:
        if given is None:
            return None
        return [integer(what, one, -(1 << 31), (1 << 32) - 1) for one in several(what, given, "integers")]

    return plain("at", at), plain("offsets", offsets)


def _plain(name: str, value: Any) -> Any:
    """Numbers and lists of them as JSON has them."""
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, np.integer):
        return int(value)
    given = several(name, value, "names or integers")
    return [one if isinstance(one, (str, float)) else integer(name, one, -(1 << 63)) for one in given]
