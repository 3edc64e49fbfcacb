"""The compiled part of the package. The other files give it shapes, dtypes and documentation."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Machine",
    "Stepper",
    "Texels",
    "block_format",
    "check",
    "compile_cuda",
    "convert",
    "cvt",
    "cvt_form",
    "decode",
    "dequantize",
    "encode",
    "format_drawing",
    "format_properties",
    "format_table",
    "layout",
    "quantize",
    "run_command",
    "tensor_check",
    "tensor_copy",
    "tensor_decode",
    "tensor_draw",
    "tensor_encode",
    "tensor_store",
    "to_odd",
]

_Bytes = bytes
_Register = tuple[str, str | None, int, int]

def check(text: str, name: str, arch: str | None, relocatable: bool, strict: bool) -> list[dict[str, Any]]: ...
def layout(
    text: str, name: str, arch: str | None, bases: bool
) -> tuple[str | None, list[dict[str, Any]]]: ...
def run_command(words: list[str]) -> int: ...
def convert(
    x: NDArray[np.uint8],
    out: NDArray[np.uint8],
    from_: str,
    to: str,
    rounding: str,
    saturate: bool | None,
    seed: int | None,
) -> None: ...
def to_odd(x: NDArray[np.float64], out: NDArray[np.float32]) -> None: ...
def cvt_form(form: str) -> tuple[str, list[_Register], _Register]: ...
def cvt(form: str, operands: list[NDArray[np.uint64]], out: NDArray[np.uint64]) -> None: ...
def format_drawing(name: str) -> str: ...
def compile_cuda(
    source: str, name: str, options: list[str], folder: str
) -> tuple[tuple[str, str] | None, str]: ...
def tensor_check(
    map: str, arch: str | None
) -> tuple[list[tuple[str, str, str, str, str | None]], int | None, str]: ...
def tensor_encode(map: str, arch: str | None) -> bytes: ...
def tensor_decode(bytes: bytes) -> str: ...
def tensor_copy(
    map: str,
    arch: str | None,
    tensor: NDArray[np.uint8],
    at: list[int] | None,
    offsets: list[int] | None,
    mode: str | None,
    shared: int,
) -> bytes: ...
def tensor_store(
    map: str,
    arch: str | None,
    tile: NDArray[np.uint8],
    tensor: NDArray[np.uint8],
    at: list[int] | None,
    offsets: list[int] | None,
    mode: str | None,
    shared: int,
    direction: str,
) -> None: ...
def tensor_draw(
    map: str,
    arch: str | None,
    at: list[int] | None,
    offsets: list[int] | None,
    mode: str | None,
    shared: int,
    direction: str,
) -> tuple[str, str]: ...
def format_properties(name: str) -> dict[str, Any]: ...
def format_table(name: str) -> list[float]: ...
def decode(name: str, code: int) -> float: ...
def encode(name: str, value: float, rounding: str, saturate: bool) -> int: ...
def block_format(name: str) -> tuple[str, str, str, int]: ...
def quantize(
    x: NDArray[np.float32],
    row: int,
    format: str,
    scale_rule: str | None,
    rounding: str,
    seed: int | None,
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], float]: ...
def dequantize(
    codes: NDArray[np.uint8],
    scales: NDArray[np.uint8],
    tensor_scale: float,
    format: str,
    elements: int,
    row: int,
) -> NDArray[np.float32]: ...

@final
class Machine:
    def __new__(
        cls, texts: list[tuple[str, str]], arch: str | None, sanitize: list[str], debug: bool, jit: str | None
    ) -> Machine: ...
    def kernels(self) -> list[tuple[str, list[tuple[str, str, int, bool]]]]: ...
    def allocate(self, bytes: int) -> int: ...
    def free(self, address: int) -> None: ...
    def write(self, address: int, bytes: NDArray[np.uint8]) -> None: ...
    def read(self, address: int, bytes: NDArray[np.uint8]) -> None: ...
    def variable(self, name: str) -> tuple[int, int] | None: ...
    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int] | None,
        cooperative: bool,
        shared: int,
        timeout: float | None,
        arguments: list[bytes],
        buffers: list[tuple[str, int, int]],
        count: bool,
        follow: list[tuple[tuple[int, int, int], tuple[int, int, int]]],
        most_records: int | None,
    ) -> dict[str, Any]: ...
    def has_state(self) -> bool: ...
    def leaks(self) -> list[dict[str, Any]]: ...

@final
class Stepper:
    def __new__(
        cls,
        machine: Machine,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int] | None,
        cooperative: bool,
        shared: int,
        arguments: list[bytes],
        buffers: list[tuple[str, int, int]],
    ) -> Stepper: ...
    def wait(self) -> dict[str, Any] | None: ...
    def go(self, steps: int | None, line: bool, over: bool, back: bool) -> None: ...
    def restart(self) -> None: ...
    def printed(self) -> str: ...
    def registers(self) -> dict[str, Any]: ...
    def evaluate(self, expression: str) -> str: ...
    def breakpoint(self, place: str, condition: str | None) -> int: ...
    def watch(self, expression: str) -> int: ...
    def delete(self, number: int) -> None: ...
    def focus(self, cta: tuple[int, int, int], thread: tuple[int, int, int]) -> dict[str, Any]: ...

_Sampling = tuple[bool | None, str | None, str | None, list[str] | None, list[float] | None]

@final
class Texels:
    def __new__(
        cls,
        machine: Machine,
        format: str,
        geometry: str,
        size: list[int],
        layers: int,
        levels: int,
        samples: int,
    ) -> Texels: ...
    @staticmethod
    def in_memory(
        machine: Machine, format: str, address: int, width: int, rows: tuple[int, int] | None
    ) -> Texels: ...
    def write(self, level: int, bytes: NDArray[np.uint8]) -> None: ...
    def read(self, level: int) -> _Bytes: ...
    def bytes(self, level: int) -> int: ...
    def texture_object(self, sampling: _Sampling, integers: bool) -> int: ...
    def surface_object(self) -> int: ...
    def bind_texture(self, name: str, sampling: _Sampling, integers: bool) -> None: ...
    def bind_surface(self, name: str) -> None: ...
    @staticmethod
    def sampler_object(machine: Machine, sampling: _Sampling) -> int: ...
    @staticmethod
    def bind_sampler(machine: Machine, name: str, sampling: _Sampling) -> None: ...
    @staticmethod
    def destroy(machine: Machine, handle: int) -> None: ...
