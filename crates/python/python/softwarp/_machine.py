"""Modules whose kernels run on NumPy arrays."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _softwarp
from ._check import PtxError, check
from ._convert import _flat, _little, convert
from ._dlpack import _host

Size = int | Sequence[int]

_POINTERS = ("u64", "b64", "s64", "u32", "b32", "s32")


class Fault(RuntimeError):
    """A launch was stopped.

    The attributes are ``kind`` (a word such as ``out_of_bounds``, ``trap`` or ``deadlock``), ``message``, ``kernel``,
    and, unless the fault concerns the launch as a whole, ``line`` and ``column`` in the PTX, ``instruction``,
    ``function``, ``thread`` and ``cta``. ``source_file`` and ``source_line`` are where the instruction comes from, if the
    PTX has line information. ``buffer`` is the array that a bad access was nearest to, by its parameter, or the variable.
    ``trace`` has what the followed threads did.
    """

    kind: str
    message: str
    kernel: str
    line: int | None
    column: int | None
    instruction: str | None
    function: str | None
    thread: tuple[int, int, int] | None
    cta: tuple[int, int, int] | None
    source_file: str | None
    source_line: int | None
    buffer: str | None

    def __init__(
        self,
        name: str,
        fields: dict[str, Any],
        findings: tuple[Finding, ...],
        trace: list[dict[str, Any]] | None = None,
    ) -> None:
        self.findings = findings
        self.trace = trace
        self._made_of = (name, fields, findings, trace)
        for key, value in fields.items():
            setattr(self, key, value)
        where = ""
        if self.line is not None:
            where = f"\n  {name}:{self.line}: {self.instruction}\n  thread {self.thread} of CTA {self.cta}"
            if self.source_file is not None:
                where += f"\n  from {self.source_file}:{self.source_line}"
        super().__init__(f"{self.message}{where}, in kernel {self.kernel}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Fault, self._made_of


class CompileError(RuntimeError):
    """CUDA C++ could not be compiled: the compiler is not there, or refuses the source. ``log`` has its messages."""

    def __init__(self, name: str, log: str) -> None:
        self.name = name
        self.log = log
        super().__init__(f"{name}: {log}")

    def __reduce__(self) -> tuple[Any, ...]:
        return CompileError, (self.name, self.log)


@dataclass(frozen=True)
class Finding:
    """What a sanitizer found."""

    sanitizer: str
    """``race``, ``init``, ``sync``, ``bounds`` or ``leak``."""
    kind: str
    """A word for what it is."""
    message: str
    kernel: str
    count: int
    """How many times it was found at these places."""
    line: int
    """The line of the PTX: of a race, that of the later access."""
    column: int
    instruction: str
    function: str
    thread: tuple[int, int, int]
    cta: tuple[int, int, int]
    other_line: int | None
    """The line of the other place: of a race, the earlier access."""

    def __str__(self) -> str:
        return f"{self.sanitizer}: {self.message} (line {self.line}: {self.instruction})"


@dataclass(frozen=True)
class Report:
    """What a launch did."""

    ctas: int
    """How many CTAs ran."""
    seconds: float
    """How long it took."""
    printed: str
    """What the kernel printed. It was written to standard output too."""
    findings: tuple[Finding, ...]
    """What the sanitizers found, of a module that has them."""
    stats: list[dict[str, Any]] | None = None
    """With ``stats=True``, a row for each instruction of the PTX, which ``pandas.DataFrame`` takes."""
    coverage: list[dict[str, Any]] | None = None
    """With ``coverage=True``, a row for each line: ``file``, ``line`` and ``count``."""
    trace: list[dict[str, Any]] | None = None
    """With ``trace``, a row for each instruction that the threads executed."""


class Array:
    """An array in the memory of a module, which stays there between launches. :meth:`Module.array` makes one."""

    def __init__(self, machine: _softwarp.Machine, values: NDArray[Any]) -> None:
        self._machine = machine
        self.shape = values.shape
        self.dtype = values.dtype
        self._bytes = values.nbytes
        self.address = machine.allocate(values.nbytes)
        self.set(values)

    def set(self, values: ArrayLike) -> None:
        """Writes the elements."""
        given = np.asarray(values, self.dtype)
        if given.shape != self.shape:
            raise ValueError(f"the array has the shape {self.shape}, and {given.shape} was given")
        if given.nbytes:
            self._machine.write(self.address, _flat(_little(given)))

    def numpy(self) -> NDArray[Any]:
        """A copy of the elements."""
        values = np.empty(self.shape, self.dtype)
        if values.nbytes:
            self._machine.read(self.address, _flat(values))
        return values

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("elements in the memory of a module are copied")
        return np.asarray(self.numpy(), dtype)

    def __repr__(self) -> str:
        return f"softwarp.Array({self.numpy()!r})"

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._machine.free(self.address)


class Kernel:
    """A kernel of a module: ``module.saxpy[grid, block](a, x, y, n)``."""

    def __init__(self, module: Module, name: str, parameters: list[tuple[str, str, int, bool]]) -> None:
        self._module = module
        self.name = name
        self.parameters = tuple((parameter, kind, size) for parameter, kind, size, _ in parameters)
        """Name, type and bytes of each parameter."""
        self._parameters = parameters

    def __getitem__(self, sizes: tuple[Size, Size]) -> Launcher:
        if not isinstance(sizes, tuple) or len(sizes) != 2:
            raise TypeError(f"{self.name}[grid, block](...): both are a number or up to three")
        return self.launch(*sizes)

    def launch(
        self,
        grid: Size,
        block: Size,
        *,
        shared: int = 0,
        cluster: Size | None = None,
        cooperative: bool = False,
        timeout: float | None = None,
        stats: bool = False,
        coverage: bool = False,
        trace: Sequence[tuple[Size, Size]] | None = None,
    ) -> Launcher:
        """A launch with more than a grid and a block, to be called with the arguments.

        :param shared: Bytes of shared memory beyond what the kernel declares.
        :param cluster: CTAs of a cluster.
        :param cooperative: All CTAs are there at once and can wait for one another.
        :param timeout: The most seconds.
        :param stats: Count executions, divergent branches, sectors and bank conflicts: :attr:`Report.stats`.
        :param coverage: Count executions of lines, of the PTX and of what it was made from: :attr:`Report.coverage`.
        :param trace: Threads to follow, each as a CTA and a thread of it: :attr:`Report.trace`. The module must have
            been made with ``debug=True``.

        >>> import numpy as np, softwarp
        >>> module = softwarp.Module('''.version 8.0
        ... .target sm_80
        ... .address_size 64
        ... .visible .entry k(.param .u64 to) {
        ...     .reg .b32 %i;
        ...     .reg .b64 %p;
        ...     ld.param.u64 %p, [to];
        ...     mov.u32 %i, %tid.x;
        ...     mad.wide.u32 %p, %i, 4, %p;
        ...     st.global.u32 [%p], %i;
        ...     ret;
        ... }''', debug=True)
        >>> launch = module.k.launch(1, 32, stats=True, trace=[(0, 5)])
        >>> report = launch(np.zeros(32, np.uint32))
        >>> [(row["line"], row["warps"], row["global_sectors"]) for row in report.stats if row["global_requests"]]
        [(10, 1, 4)]
        >>> last = report.trace[-2]
        >>> last["instruction"], last["buffer"], last["offset"], last["stored"]
        ('st.global.u32 [%p], %i;', 'to', 20, [5])
        """
        sizes = (_size(grid), _size(block), None if cluster is None else _size(cluster))
        if trace and not self._module._debug:
            raise ValueError("trace: threads are followed in a module that was made with debug=True")
        followed = [(_index(cta), _index(thread)) for cta, thread in trace or ()]
        watch = _Watch(stats, coverage, followed)
        return Launcher(self, _Options(*sizes, cooperative, shared, timeout), watch)

    def __call__(self, *arguments: Any) -> Report:
        raise TypeError(f"a launch has a grid and a block: {self.name}[grid, block](...)")

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(f'.{kind} {name}' for name, kind, _ in self.parameters)})>"


def _size(size: Size) -> tuple[int, int, int]:
    sizes = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{size} is not a size: it has one to three numbers")
    x, y, z = (*(int(one) for one in sizes), 1, 1)[:3]
    return x, y, z


def _index(index: Size) -> tuple[int, int, int]:
    numbers = (index,) if isinstance(index, (int, np.integer)) else tuple(index)
    if not 1 <= len(numbers) <= 3 or any(one < 0 for one in numbers):
        raise ValueError(f"trace: {index} is not the index of a CTA or thread: it has one to three numbers")
    x, y, z = (*(int(one) for one in numbers), 0, 0)[:3]
    return x, y, z


class _Watch(NamedTuple):
    """What is recorded of a launch."""

    stats: bool = False
    coverage: bool = False
    trace: list[tuple[tuple[int, int, int], tuple[int, int, int]]] = []


class _Options(NamedTuple):
    """What a launch has besides its arguments."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] | None
    cooperative: bool
    shared: int
    timeout: float | None


class Launcher:
    """A kernel with its grid and block, to be called with the arguments."""

    def __init__(self, kernel: Kernel, options: _Options, watch: _Watch = _Watch()) -> None:
        self._kernel = kernel
        self._options = options
        self._watch = watch

    def __call__(self, *arguments: Any) -> Report:
        kernel, module = self._kernel, self._kernel._module
        passed, buffers, held = self._passed(arguments)
        watch = self._watch
        counts = watch.stats or watch.coverage
        try:
            outcome = module._machine.launch(
                kernel.name, *self._options, passed, buffers, counts, watch.trace
            )
        finally:
            written = [one.name for one in held if not one.give_back()]
        trace = outcome["trace"] if watch.trace else None
        findings = tuple(Finding(**one) for one in outcome["findings"])
        sys.stdout.write(outcome["printed"])
        if "fault" in outcome:
            raise Fault(module.name, outcome["fault"], findings, trace)
        if written:
            raise ValueError(f"{kernel.name} wrote to {', '.join(written)}, whose array is read-only")
        stats = outcome["stats"] if watch.stats else None
        coverage = outcome["coverage"] if watch.coverage else None
        return Report(outcome["ctas"], outcome["seconds"], outcome["printed"], findings, stats, coverage, trace)

    def _passed(self, arguments: tuple[Any, ...]) -> tuple[list[bytes], list[tuple[str, int, int]], list[_Held]]:
        """The bytes of the parameters, arrays by name, address and bytes, and those that are copied for the launch."""
        kernel, module = self._kernel, self._kernel._module
        parameters = kernel._parameters
        if len(arguments) != len(parameters):
            names = ", ".join(f".{kind} {name}" for name, kind, *_ in parameters)
            wanted = f"{kernel.name} takes {len(parameters)} arguments ({names})"
            raise TypeError(f"{wanted}, and {len(arguments)} were given")
        held: dict[int, _Held] = {}
        kept: list[_Held] = []
        passed = [_argument(module, one, given, held, kept) for one, given in zip(parameters, arguments)]
        buffers = [(one.name, one.inside.address, one.inside._bytes) for one in (*held.values(), *kept)]
        return passed, buffers, list(held.values())


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


def _argument(
    module: Module,
    parameter: tuple[str, str, int, bool],
    given: Any,
    held: dict[int, _Held],
    kept: list[_Held],
) -> bytes:
    """The bytes of a parameter."""
    name, kind, size, is_array = parameter
    whose = id(given)
    given = _host(given, name)
    if isinstance(given, Array) or (isinstance(given, np.ndarray) and not is_array):
        if isinstance(given, Array) and given._machine is not module._machine:
            raise ValueError(f"the array for {name} is in the memory of another module")
        if isinstance(given, np.ndarray):
            if kind not in _POINTERS:
                raise TypeError(f"parameter {name} is .{kind}, and an array was given")
            if given.dtype.hasobject:
                raise TypeError(f"the array for {name} holds Python objects, which kernels cannot read")
            if given.flags.writeable and any(step == 0 and n > 1 for step, n in zip(given.strides, given.shape)):
                raise ValueError(f"the array for {name} has elements that share memory; give a copy")
            # The same array twice is the same memory twice.
            if whose not in held:
                held[whose] = _Held(name, given, module.array(given))
            given = held[whose].inside
        else:
            kept.append(_Held(name, None, given))
        return int(given.address).to_bytes(size, "little")
    if isinstance(given, (bytes, bytearray)) or is_array:
        raw = bytes(given) if isinstance(given, (bytes, bytearray)) else _little(np.asarray(given)).tobytes()
        if len(raw) != size:
            raise ValueError(f"parameter {name} has {size} bytes, and {len(raw)} were given")
        return raw
    return _number(name, kind, size, given)


def _number(name: str, kind: str, size: int, given: Any) -> bytes:
    """A number as a parameter of a type has it."""
    if kind[0] in "us" or (kind[0] == "b" and isinstance(given, (bool, int, np.integer, np.bool_))):
        if isinstance(given, (float, np.floating)):
            raise TypeError(f"parameter {name} is .{kind}, and {given!r} is not an integer")
        value = int(given)
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
    return convert(float(given), kind).tobytes()


class Module:
    """A PTX module that is loaded into a machine of its own.

    :param ptx: The text.
    :param arch: The GPU to be, as in ``sm_90a``; the module's ``.target`` without it.
    :param sanitize: What every launch looks for: ``all``, or some of ``race``, ``init``, ``sync``, ``bounds`` and
        ``leak``. :attr:`Report.findings` has what was found.
    :param name: How errors call the module.
    :param debug: Threads of launches can be followed; registers take more memory.

    Kernels are attributes. Arguments become what the parameter's type is; arrays are copied into the machine's memory
    before the launch and back after it, unless they are made by :meth:`array`. A module with errors raises
    :class:`PtxError`.

    >>> import numpy as np, softwarp
    >>> module = softwarp.Module('''.version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry scale(.param .u64 data, .param .f32 by) {
    ...     .reg .b32 %i;
    ...     .reg .b64 %p;
    ...     .reg .f32 %x, %by;
    ...     ld.param.u64 %p, [data];
    ...     ld.param.f32 %by, [by];
    ...     mov.u32 %i, %tid.x;
    ...     mad.wide.u32 %p, %i, 4, %p;
    ...     ld.global.f32 %x, [%p];
    ...     mul.f32 %x, %x, %by;
    ...     st.global.f32 [%p], %x;
    ...     ret;
    ... }''')
    >>> x = np.array([1, 2, 3], np.float32)
    >>> report = module.scale[1, 3](x, 2.5)
    >>> x
    array([2.5, 5. , 7.5], dtype=float32)
    >>> try:
    ...     module.scale[1, 4](x, 1)
    ... except softwarp.Fault as fault:
    ...     print(fault.kind, fault.line, fault.thread, fault.cta)
    out_of_bounds 12 (3, 0, 0) (0, 0, 0)
    """

    def __init__(
        self,
        ptx: str,
        *,
        arch: str | None = None,
        sanitize: str | Sequence[str] | None = None,
        name: str = "module.ptx",
        debug: bool = False,
    ) -> None:
        wanted = [] if sanitize is None else sanitize.split(",") if isinstance(sanitize, str) else list(sanitize)
        errors = [one for one in check(ptx, arch, name=name, relocatable=True) if one.severity == "error"]
        if errors:
            raise PtxError(errors)
        self.name = name
        self.ptx = ptx
        self._debug = debug
        self._machine = _softwarp.Machine(ptx, name, arch, wanted, debug)
        self.kernels = {kernel: Kernel(self, kernel, given) for kernel, given in self._machine.kernels()}
        """The kernels by their names."""

    @classmethod
    def from_cuda(
        cls,
        source: str,
        options: Sequence[str] = (),
        *,
        arch: str | None = None,
        sanitize: str | Sequence[str] | None = None,
        name: str = "kernel.cu",
        debug: bool = False,
    ) -> Module:
        """A module from CUDA C++, which NVRTC compiles if it is installed.

        :param source: The program. Kernels that are ``extern "C"`` have their own names.
        :param options: Options of the compiler, as in ``["--std=c++20", "-arch=compute_100"]``.

        Otherwise, and if the compiler refuses the source, :class:`CompileError` says why. Headers are looked for in the
        current folder and beside NVRTC.

        >>> import softwarp
        >>> try:
        ...     module = softwarp.Module.from_cuda('extern "C" __global__ void k(float *x) { y = 1; }')
        ... except softwarp.CompileError as error:
        ...     print("CUDA C++" in error.log or "refuses" in error.log)
        True
        """
        made, why = _softwarp.compile_cuda(source, name, list(options), os.getcwd())
        if made is None:
            raise CompileError(name, why)
        return cls(made[0], arch=arch, sanitize=sanitize, name=name.removesuffix(".cu") + ".ptx", debug=debug)

    @classmethod
    def from_triton(cls, kernel: Any, *, arch: str | None = None, **options: Any) -> Module:
        """A module from a compiled kernel of Triton: any object whose ``asm["ptx"]`` is PTX.

        >>> import types, softwarp
        >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry k() { ret; }"
        >>> softwarp.Module.from_triton(types.SimpleNamespace(asm={"ptx": ptx})).k
        <kernel k()>
        """
        try:
            ptx = kernel.asm["ptx"]
        except (AttributeError, KeyError, TypeError):
            raise TypeError(f"kernel is a {type(kernel).__name__} without PTX in asm[\"ptx\"]") from None
        return cls(ptx, arch=arch, **options)

    def __getattr__(self, name: str) -> Kernel:
        kernels = self.__dict__.get("kernels", {})
        if name in kernels:
            kernel: Kernel = kernels[name]
            return kernel
        known = ", ".join(kernels) or "none"
        raise AttributeError(f"the module has no kernel {name}; there are: {known}")

    def __getitem__(self, name: str) -> Kernel:
        """A kernel by its name."""
        return self.kernels[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.kernels]

    def array(self, values: ArrayLike, dtype: DTypeLike | None = None) -> Array:
        """An array in the module's memory, which stays there between launches.

        >>> import numpy as np, softwarp
        >>> module = softwarp.Module(".version 8.0\\n.target sm_80\\n.address_size 64\\n")
        >>> module.array([[1, 2]], np.float32)
        softwarp.Array(array([[1., 2.]], dtype=float32))
        """
        return Array(self._machine, np.asarray(_host(values, "values"), dtype))

    def zeros(self, shape: Size, dtype: DTypeLike = np.float32) -> Array:
        """An array of zeros in the module's memory."""
        return self.array(np.zeros(shape, dtype))

    def get(self, variable: str, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """What a ``.global`` or ``.const`` variable holds."""
        address, size = self._place(variable)
        values = np.empty(size, np.uint8)
        self._machine.read(address, values)
        return values.view(dtype)

    def set(self, variable: str, values: ArrayLike, dtype: DTypeLike | None = None) -> None:
        """Writes the beginning of a ``.global`` or ``.const`` variable."""
        address, size = self._place(variable)
        raw = _flat(_little(np.asarray(values, dtype)))
        if raw.size > size:
            raise ValueError(f"{variable} has {size} bytes, and {raw.size} were given")
        self._machine.write(address, raw)

    def _place(self, variable: str) -> tuple[int, int]:
        place = self._machine.variable(variable)
        if place is None:
            raise KeyError(f"the module has no variable {variable}")
        return place
