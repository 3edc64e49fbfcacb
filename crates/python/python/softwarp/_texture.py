"""Textures, surfaces and samplers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _softwarp
from ._convert import _flat, _little
from ._dlpack import _typed

_CHANNELS = {"u1": "u8", "i1": "s8", "u2": "u16", "i2": "s16", "u4": "u32", "i4": "s32", "f2": "f16", "f4": "f32"}

_Sampling = tuple[bool | None, str | None, str | None, list[str] | None, list[float] | None]


def _sampling(
    normalized: bool | None,
    filter: str | None,
    mip_filter: str | None,
    address: str | Sequence[str] | None,
    border: Sequence[float] | None,
) -> _Sampling:
    modes = [address] * 3 if isinstance(address, str) else None if address is None else list(address)
    if modes is not None and not 1 <= len(modes) <= 3:
        raise ValueError(f"address: there are one to three modes, and {len(modes)} were given")
    colour = None if border is None else [float(one) for one in border]
    if colour is not None and len(colour) != 4:
        raise ValueError(f"border: a colour has four numbers, and {len(colour)} were given")
    return normalized, filter, mip_filter, modes, colour


def _format(texels: NDArray[Any], channels: bool) -> tuple[str, tuple[int, ...]]:
    """The format of an array's texels, and the shape of the texels."""
    word = _CHANNELS.get(f"{texels.dtype.kind}{texels.dtype.itemsize}")
    if word is None:
        known = "integers of 8, 16 and 32 bits, float16 and float32"
        raise TypeError(f"texels have {texels.dtype}, and textures have {known}")
    count = texels.shape[-1] if channels and texels.ndim else 1
    if count not in (1, 2, 4):
        raise ValueError(f"texels: the last axis has the channels, 1, 2 or 4 of them, and its length is {count}")
    return f"{word}x{count}", texels.shape[:-1] if channels else texels.shape


def _geometry(shape: tuple[int, ...], layered: bool, cube: bool) -> tuple[str, list[int], int]:
    """The geometry, the size and the number of layers of texels with a shape."""
    if 0 in shape:
        raise ValueError(f"texels have the shape {shape}, and there must be some")
    layers = shape[0] if layered or cube else 1
    axes = shape[1:] if layered or cube else shape
    if cube and (len(axes) != 2 or layers % 6):
        raise ValueError(f"texels have the shape {shape}, and a cube has six faces, each with rows and columns")
    if not 1 <= len(axes) <= (2 if layered else 3):
        raise ValueError(f"texels have the shape {shape}: one to three dimensions, of layers one or two")
    size = [*reversed(axes), 1, 1][:3]
    if cube:
        return "acube" if layered or layers > 6 else "cube", size, layers
    return f"{'a' if layered else ''}{len(axes)}d", size, layers


class _Object:
    """Something that kernels know by a handle, until it is deleted."""

    def __init__(self, machine: _softwarp.Machine, handle: int) -> None:
        self._machine = machine
        self.handle = handle
        """What kernels get."""

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            _softwarp.Texels.destroy(self._machine, self.handle)


class Texture(_Object):
    """Texels and how they are read; :meth:`softwarp.Module.texture` makes one.

    :param texels: An array, which is copied: of axes x; y, x; or z, y, x. A :class:`Surface`, whose texels are read where
        they are. Or an :class:`Array` of the module with one or two axes: its memory is read where it is.
    :param channels: The last axis has the channels of texels.
    :param layered: The first axis has the layers.
    :param cube: The first axis has the six faces of a cube, or of several.
    :param mips: The further levels of a mipmap, each half as large as the one before.
    :param normalized: Coordinates are from 0 to 1.
    :param filter: ``point`` or ``linear``.
    :param mip_filter: The same between levels.
    :param address: ``wrap``, ``mirror``, ``clamp`` or ``border``; one for all dimensions, or one for each.
    :param border: The four numbers of the colour beyond the border.
    :param integers: Integers of 8 and 16 bits are read as they are, and not as fractions.

    What is not said is as the variable that it is bound to has it; otherwise unnormalized, point and clamp.

    >>> import numpy as np, softwarp
    >>> module = softwarp.Module('''.version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry look(.param .u64 image, .param .f32 x, .param .u64 to) {
    ...     .reg .b64 %image, %to;
    ...     .reg .f32 %x, %r, %g, %b, %a;
    ...     ld.param.u64 %image, [image];
    ...     ld.param.f32 %x, [x];
    ...     ld.param.u64 %to, [to];
    ...     tex.1d.v4.f32.f32 {%r, %g, %b, %a}, [%image, {%x}];
    ...     st.global.f32 [%to], %r;
    ...     ret;
    ... }''')
    >>> image = module.texture(np.float32([10, 20, 40]), filter="linear")
    >>> seen = np.zeros(1, np.float32)
    >>> report = module.look[1, 1](image, 2.0, seen)
    >>> seen
    array([30.], dtype=float32)
    """

    def __init__(
        self,
        machine: _softwarp.Machine,
        texels: Any,
        *,
        channels: bool = False,
        layered: bool = False,
        cube: bool = False,
        mips: Sequence[Any] = (),
        normalized: bool | None = None,
        filter: str | None = None,
        mip_filter: str | None = None,
        address: str | Sequence[str] | None = None,
        border: Sequence[float] | None = None,
        integers: bool = False,
    ) -> None:
        from ._arguments import Array

        self._sampling = _sampling(normalized, filter, mip_filter, address, border)
        self._integers = integers
        if isinstance(texels, (Surface, Array)) and (layered or cube or mips):
            raise ValueError("texels: layered, cube and mips are for arrays that are copied")
        if isinstance(texels, (Surface, Array)) and texels._machine is not machine:
            raise ValueError("texels are of another module")
        # What is read where it is must be there as long as the texture.
        self._texels_of = texels
        if isinstance(texels, Surface):
            self._texels = texels._texels
        elif isinstance(texels, Array):
            texels._there("the array of texels")
            self._texels = _in_memory(machine, texels, channels)
        else:
            self._texels = _texels(machine, texels, channels, layered, cube, mips)
        super().__init__(machine, self._texels.texture_object(self._sampling, integers))

    def _bind(self, variable: str) -> None:
        self._texels.bind_texture(variable, self._sampling, self._integers)


class Surface(_Object):
    """Texels that kernels read and write; :meth:`softwarp.Module.surface` makes one.

    :param texels: An array with what it holds at first.
    :param channels: The last axis has the channels of texels.
    :param layered: The first axis has the layers.
    :param cube: The first axis has the six faces of a cube, or of several.
    """

    def __init__(
        self,
        machine: _softwarp.Machine,
        texels: Any,
        *,
        channels: bool = False,
        layered: bool = False,
        cube: bool = False,
    ) -> None:
        values = np.asarray(_typed(texels, "texels"))
        self.shape = values.shape
        self.dtype = values.dtype.newbyteorder("=")
        self._texels = _texels(machine, values, channels, layered, cube, ())
        super().__init__(machine, self._texels.surface_object())

    def numpy(self) -> NDArray[Any]:
        """A copy of the texels."""
        return np.frombuffer(self._texels.read(0), self.dtype.newbyteorder("<")).reshape(self.shape).astype(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("texels of a surface are copied")
        return np.asarray(self.numpy(), dtype)

    def _bind(self, variable: str) -> None:
        self._texels.bind_surface(variable)


class Sampler(_Object):
    """How texels are read; :meth:`softwarp.Module.sampler` makes one. The options are those of :class:`Texture`."""

    def __init__(
        self,
        machine: _softwarp.Machine,
        *,
        normalized: bool | None = None,
        filter: str | None = None,
        mip_filter: str | None = None,
        address: str | Sequence[str] | None = None,
        border: Sequence[float] | None = None,
    ) -> None:
        self._sampling = _sampling(normalized, filter, mip_filter, address, border)
        super().__init__(machine, _softwarp.Texels.sampler_object(machine, self._sampling))

    def _bind(self, variable: str) -> None:
        _softwarp.Texels.bind_sampler(self._machine, variable, self._sampling)


def _texels(
    machine: _softwarp.Machine, texels: Any, channels: bool, layered: bool, cube: bool, mips: Sequence[Any]
) -> _softwarp.Texels:
    """Texels in an array of their own."""
    levels = [np.asarray(_typed(one, "mips" if at else "texels")) for at, one in enumerate((texels, *mips))]
    format, shape = _format(levels[0], channels)
    geometry, size, layers = _geometry(shape, layered, cube)
    made = _softwarp.Texels(machine, format, geometry, size, layers, len(levels), 1)
    for level, values in enumerate(levels):
        if values.dtype != levels[0].dtype:
            raise TypeError(f"mips[{level - 1}] has {values.dtype}, and texels have {levels[0].dtype}")
        if values.nbytes != made.bytes(level):
            wanted = made.bytes(level) // values.dtype.itemsize
            raise ValueError(f"mips[{level - 1}] has {values.size} elements, and the level has {wanted}")
        made.write(level, _flat(_little(values)))
    return made


def _in_memory(machine: _softwarp.Machine, array: Any, channels: bool) -> _softwarp.Texels:
    """Texels in the memory of an array of a module."""
    if array.format is not None:
        raise TypeError(f"texels are {array.format}, which textures do not have")
    format, shape = _format(np.empty(array.shape, array.dtype), channels)
    if len(shape) == 1:
        return _softwarp.Texels.in_memory(machine, format, array.address, shape[0], None)
    if len(shape) == 2:
        pitch = array._bytes // shape[0]
        return _softwarp.Texels.in_memory(machine, format, array.address, shape[1], (shape[0], pitch))
    raise ValueError(f"texels have the shape {shape}: textures of memory have one or two dimensions")
