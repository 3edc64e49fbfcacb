"""Arrays in the memory of a module, and arguments of kernels as bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _softwarp
from ._convert import _flat, _little, _values, convert
from ._dlpack import Elements, _elements, _host, _one_each
from ._formats import format
from ._texture import Sampler, Surface, Texture

_POINTERS = ("u64", "b64", "s64", "u32", "b32", "s32")


class Array:
    """An array in the memory of a module, which stays there between launches. :meth:`Module.array` makes one."""

    def __init__(self, machine: _softwarp.Machine, values: NDArray[Any], format: str | None = None) -> None:
        if values.dtype.hasobject:
            raise TypeError("values are Python objects, which kernels cannot read")
        self._machine = machine
        self._format = format
        self.shape = values.shape
        self.dtype = values.dtype.newbyteorder("=")
        self._bytes = values.nbytes
        self._freed = False
        self.address = machine.allocate(values.nbytes)
        """Where it is in the machine's memory."""
        self.set(values)

    def set(self, values: ArrayLike) -> None:
        """Writes the elements."""
        self._there("the array")
        given = self._codes(values) if self.format is not None else _values(values, "values", self.dtype)
        if given.shape != self.shape:
            raise ValueError(f"the array has the shape {self.shape}, and {given.shape} was given")
        if given.nbytes:
            self._machine.write(self.address, _flat(_little(given)))

    @property
    def format(self) -> str | None:
        """The format of the elements where the dtype is that of their codes: without ml_dtypes, of arrays of other
        libraries."""
        return self._format if self.dtype.kind in "ui" else None

    def _codes(self, values: Any) -> NDArray[Any]:
        """Elements as codes of the array's format; arrays of its dtype are codes already."""
        given = _elements(values, "values")
        is_codes = given.format is None and isinstance(values, np.ndarray)
        if (is_codes or given.format == self._format) and given.array.dtype == self.dtype:
            return np.asarray(given.array)
        if str(self._format).endswith("x2"):
            raise TypeError(f"values are no {self._format}, which the array has")
        one_each = _one_each(given)
        if one_each.format == self._format:
            return np.asarray(one_each.array).view(self.dtype)
        return _exact(one_each, str(self._format)).view(self.dtype)

    def _softwarp_elements(self) -> tuple[NDArray[Any], str | None]:
        return self.numpy(), self._format

    def numpy(self) -> NDArray[Any]:
        """A copy of the elements."""
        self._there("the array")
        values = np.empty(self.shape, self.dtype)
        if values.nbytes:
            self._machine.read(self.address, _flat(values))
        return values

    def free(self) -> None:
        """Gives the memory back. The array cannot be used any more; kernels that read it through a pointer fault."""
        if not self._freed:
            self._freed = True
            self._machine.free(self.address)

    def _there(self, what: str) -> None:
        if self._freed:
            raise ValueError(f"{what} was freed")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("elements in the memory of a module are copied")
        return np.asarray(self.numpy(), dtype)

    def __repr__(self) -> str:
        return "<softwarp.Array that was freed>" if self._freed else f"softwarp.Array({self.numpy()!r})"

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self.free()


def _exact(given: Elements, to: str) -> NDArray[Any]:
    """Elements as codes of a format: rounded to nearest, or exact powers of two."""

    def codes(rounding: str) -> NDArray[Any]:
        made: NDArray[Any] = convert(given.array, to, from_=given.format, rounding=rounding, like="numpy")
        return made

    if format(to).kind != "exponent":
        return codes("rn")
    below = codes("rz")
    if below.tobytes() != codes("rp").tobytes():
        raise ValueError(f"values are not all powers of two, which {to} has")
    return below


class _Held(NamedTuple):
    """An array that is in the machine's memory during a launch, and the parameter that it is for."""

    name: str
    array: NDArray[Any] | None
    inside: Array

    def give_back(self) -> bool:
        """Copies what the kernel left; false if it wrote to an array that is read-only."""
        if self.array is None:
            return True
        after = self.inside.numpy()
        if self.array.flags.writeable:
            self.array[...] = after
            return True
        return after.tobytes() == self.array.tobytes()


class Arguments:
    """The arguments of a launch: what parameters get, and arrays that are copied for it."""

    def __init__(self, machine: _softwarp.Machine) -> None:
        self._machine = machine
        self._held: dict[object, _Held] = {}
        self._kept: list[_Held] = []

    @property
    def held(self) -> list[_Held]:
        """Arrays that are in the machine's memory during the launch."""
        return list(self._held.values())

    @property
    def buffers(self) -> list[tuple[str, int, int]]:
        """All arrays by name, address and bytes."""
        return [(one.name, one.inside.address, one.inside._bytes) for one in (*self.held, *self._kept)]

    def bytes_of(self, parameter: tuple[str, str, int, bool], given: Any) -> bytes:
        """The bytes of a parameter: its name, type and size, and whether it is an array."""
        name, kind, size, is_array = parameter
        given = given if isinstance(given, Array) else _host(given, name)
        if isinstance(given, (Texture, Surface, Sampler)):
            return self._object(name, kind, size, given)
        if isinstance(given, Array) or (isinstance(given, np.ndarray) and not is_array):
            if kind not in _POINTERS:
                raise TypeError(f"parameter {name} is .{kind}, and an array was given")
            return int(self._array(name, given).address).to_bytes(size, "little")
        if isinstance(given, (bytes, bytearray)) or is_array:
            raw = bytes(given) if isinstance(given, (bytes, bytearray)) else _raw(name, given)
            if len(raw) != size:
                raise ValueError(f"parameter {name} has {size} bytes, and {len(raw)} were given")
            return raw
        return _number(name, kind, size, given)

    def _object(self, name: str, kind: str, size: int, given: Texture | Surface | Sampler) -> bytes:
        what = type(given).__name__.lower()
        if given._machine is not self._machine:
            raise ValueError(f"the {what} for {name} is of another module")
        if kind not in ("u64", "b64", "s64", "handle"):
            raise TypeError(f"parameter {name} is .{kind}, and a {what} was given: handles have 64 bits")
        return given.handle.to_bytes(size, "little")

    def _array(self, name: str, given: Array | NDArray[Any]) -> Array:
        if isinstance(given, Array):
            if given._machine is not self._machine:
                raise ValueError(f"the array for {name} is in the memory of another module")
            given._there(f"the array for {name}")
            self._kept.append(_Held(name, None, given))
            return given
        if given.dtype.hasobject:
            raise TypeError(f"the array for {name} holds Python objects, which kernels cannot read")
        if given.flags.writeable and any(step == 0 and n > 1 for step, n in zip(given.strides, given.shape)):
            raise ValueError(f"the array for {name} has elements that share memory; give a copy")
        # The same array twice is the same memory twice.
        key = (given.__array_interface__["data"][0], given.shape, given.strides, given.dtype.str)
        if key not in self._held:
            for other in self._held.values():
                if other.array is not None and _overlap(given, other.array):
                    both = f"the arrays for {other.name} and {name} share some memory, which copies would not"
                    raise ValueError(f"{both}: give one array, or copies")
            self._held[key] = _Held(name, given, Array(self._machine, given))
        return self._held[key].inside


def _overlap(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether arrays share memory, and one of them can be written."""
    if not (a.flags.writeable or b.flags.writeable) or not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=100_000))  # type: ignore[arg-type]
    except RuntimeError:
        # It would take too long to find out.
        return True


def _raw(name: str, given: Any) -> bytes:
    values = np.asarray(given)
    if values.dtype.hasobject:
        raise TypeError(f"parameter {name}: {given!r} is no array of numbers")
    return _little(values).tobytes()


def _number(name: str, kind: str, size: int, given: Any) -> bytes:
    """A number as a parameter of a type has it."""
    if isinstance(given, (str, complex, np.complexfloating)):
        wanted = "an integer" if kind[0] in "us" else "a number"
        raise TypeError(f"parameter {name} is .{kind}, and {given!r} is not {wanted}")
    if kind[0] in "us" or (kind[0] == "b" and isinstance(given, (bool, int, np.integer, np.bool_))):
        try:
            value = int(given)
            # Numbers with a fraction have an integer part, too.
            if isinstance(given, (float, np.floating)) or value != given:
                raise TypeError
        except (OverflowError, TypeError, ValueError):
            raise TypeError(f"parameter {name} is .{kind}, and {given!r} is not an integer") from None
        lowest, highest = -(1 << 8 * size - 1), (1 << 8 * size) - 1
        if not lowest <= value <= highest:
            raise OverflowError(f"parameter {name} is .{kind}, and {value} does not fit")
        return (value % (1 << 8 * size)).to_bytes(size, "little")
    if kind[0] == "b":
        raw = np.asarray(given).tobytes() if isinstance(given, np.generic) else b""
        if len(raw) != size:
            raise TypeError(f"parameter {name} is .{kind}: give an integer, or a NumPy number of {size} bytes")
        return raw
    if kind not in ("f16", "bf16", "f32", "f64"):
        raise TypeError(f"parameter {name} is .{kind}: give its {size} bytes")
    try:
        number = float(given)
    except OverflowError:
        raise OverflowError(f"parameter {name} is .{kind}, and the number does not fit") from None
    except (TypeError, ValueError):
        raise TypeError(f"parameter {name} is .{kind}, and {given!r} is not a number") from None
    return convert(number, kind).tobytes()
