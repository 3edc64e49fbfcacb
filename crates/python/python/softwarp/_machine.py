"""Modules whose kernels run on NumPy arrays."""

from __future__ import annotations

import operator
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _softwarp
from ._arguments import Arguments, Array
from ._check import PtxError, check
from ._convert import _flat, _little, _values
from ._dlpack import _elements, _host
from ._given import integer, real, several, text
from ._reports import CompileError, Fault, Finding, Recorded, Report
from ._texture import Sampler, Surface, Texture

Size = int | Sequence[int]


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
        trace_limit: int | None = None,
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
        :param trace_limit: The most rows of the trace, after which :attr:`Report.trace_truncated` is true. Without it,
            there are 1,000,000 and a ``RuntimeWarning``.

        A launch that is stopped has what was recorded, too: ``stats``, ``coverage`` and ``trace`` of the :class:`Fault`.

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
        own = None if cluster is None else _size(cluster, "cluster")
        sizes = (_size(grid, "grid"), _size(block, "block"), own)
        if trace is not None and not self._module._debug:
            raise ValueError("trace: threads are followed in a module that was made with debug=True")
        followed = []
        for one in () if trace is None else several("trace", trace, "pairs of a CTA and a thread"):
            if not isinstance(one, Sequence) or isinstance(one, (str, bytes)) or len(one) != 2:
                raise TypeError(f"trace: {one!r} is not a CTA and a thread")
            followed.append((_index(one[0], "trace"), _index(one[1], "trace")))
        trace_limit = None if trace_limit is None else integer("trace_limit", trace_limit, 0, (1 << 63) - 1)
        shared = integer("shared", shared, 0, (1 << 32) - 1)
        timeout = None if timeout is None else real("timeout", timeout)
        watch = _Watch(stats, coverage, followed, trace_limit)
        return Launcher(self, _Options(*sizes, cooperative, shared, timeout), watch)

    def __call__(self, *arguments: Any) -> Report:
        raise TypeError(f"a launch has a grid and a block: {self.name}[grid, block](...)")

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(f'.{kind} {name}' for name, kind, _ in self.parameters)})>"


def _three(given: Size, what: str, rest: int) -> tuple[int, int, int]:
    try:
        numbers = (given,) if isinstance(given, (int, np.integer)) else tuple(given)
        x, y, z = (*(operator.index(one) for one in numbers), *(rest,) * (3 - len(numbers)))
    except (TypeError, ValueError):
        raise TypeError(f"{what}: {given!r} is not one to three integers") from None
    if not numbers or any(not 0 <= one < 1 << 32 for one in (x, y, z)):
        raise ValueError(f"{what}: {given!r} is not one to three numbers from 0 to 2**32 - 1")
    return x, y, z


def _size(size: Size, what: str) -> tuple[int, int, int]:
    """A size, whose further dimensions are 1."""
    return _three(size, what, 1)


def _index(index: Size, what: str) -> tuple[int, int, int]:
    """An index, whose further dimensions are 0."""
    return _three(index, what, 0)


class _Watch(NamedTuple):
    """What is recorded of a launch."""

    stats: bool = False
    coverage: bool = False
    trace: list[tuple[tuple[int, int, int], tuple[int, int, int]]] = []
    trace_limit: int | None = None


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
        passed, given = self._passed(arguments)
        watch = self._watch
        counts = watch.stats or watch.coverage
        try:
            outcome = module._machine.launch(
                kernel.name, *self._options, passed, given.buffers, counts, watch.trace, watch.trace_limit
            )
        finally:
            written = [one.name for one in given.held if not one.give_back()]
        recorded = Recorded(
            outcome["stats"] if watch.stats else None,
            outcome["coverage"] if watch.coverage else None,
            outcome["trace"] if watch.trace else None,
            outcome["truncated"],
        )
        if recorded.trace_truncated and watch.trace_limit is None:
            warnings.warn("the trace has 1,000,000 rows, and ends there: see trace_limit", RuntimeWarning, stacklevel=2)
        findings = tuple(Finding(**one) for one in outcome["findings"])
        sys.stdout.write(outcome["printed"])
        if "fault" in outcome:
            raise Fault(outcome["fault"], findings, recorded)
        if written:
            raise ValueError(f"{kernel.name} wrote to {', '.join(written)}, whose array is read-only")
        return Report(
            recorded.stats,
            recorded.coverage,
            recorded.trace,
            recorded.trace_truncated,
            outcome["ctas"],
            outcome["seconds"],
            outcome["printed"],
            findings,
            outcome["compared"],
        )

    def _passed(self, arguments: tuple[Any, ...]) -> tuple[list[bytes], Arguments]:
        """The bytes of the parameters, and the arrays."""
        kernel, module = self._kernel, self._kernel._module
        parameters = kernel._parameters
        if len(arguments) != len(parameters):
            names = ", ".join(f".{kind} {name}" for name, kind, *_ in parameters)
            wanted = f"{kernel.name} takes {len(parameters)} arguments ({names})"
            raise TypeError(f"{wanted}, and {len(arguments)} were given")
        given = Arguments(module._machine)
        return [given.bytes_of(*one) for one in zip(parameters, arguments)], given


class Module:
    """A PTX module that is loaded into a machine of its own.

    :param ptx: The text, or several texts that are linked: what one declares ``.extern``, another has.
    :param arch: The GPU to be, as in ``sm_90a``; the module's ``.target`` without it.
    :param sanitize: What every launch looks for: ``all``, or some of ``race``, ``init``, ``sync``, ``bounds`` and
        ``leak``. :attr:`Report.findings` has what was found.
    :param name: How errors call the module; of several texts, a name for each.
    :param debug: Threads of launches can be followed; registers take more memory.
    :param jit: When kernels are compiled: ``off``, ``on`` or ``auto``; with ``compare``, each launch runs interpreted and
        compiled: :attr:`Report.compared`, and what differs is in :attr:`Report.findings`. Without it, what the environment
        variable ``SOFTWARP_JIT`` says, else ``auto``.

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
        ptx: str | Sequence[str],
        *,
        arch: str | None = None,
        sanitize: str | Sequence[str] | None = None,
        name: str | Sequence[str] = "module.ptx",
        debug: bool = False,
        jit: str | None = None,
    ) -> None:
        names = [] if sanitize is None else sanitize.split(",") if isinstance(sanitize, str) else sanitize
        wanted = [text("sanitize", one) for one in several("sanitize", names, "names of sanitizers")]
        if arch is not None:
            text("arch", arch)
        if jit is not None and text("jit", jit) not in ("off", "on", "auto", "compare"):
            raise ValueError(f"jit: {jit!r} is not off, on, auto or compare")
        texts = _named(ptx, name)
        self.name = texts[0][0]
        """The name of its first text."""
        self.ptx: str | tuple[str, ...] = ptx if isinstance(ptx, str) else tuple(ptx)
        """The text or texts."""
        self._debug = debug
        try:
            self._machine = _softwarp.Machine(texts, arch, wanted, debug, jit)
        except ValueError:
            found = (one for called, ptx in texts for one in check(ptx, arch, name=called, relocatable=True))
            errors = [one for one in found if one.severity == "error"]
            if errors:
                raise PtxError(errors) from None
            raise
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
        jit: str | None = None,
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
        return cls(made[0], arch=arch, sanitize=sanitize, name=name.removesuffix(".cu") + ".ptx", debug=debug, jit=jit)

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
        if dtype is not None:
            return Array(self._machine, _values(values, "values", dtype))
        given = _elements(values, "values")
        return Array(self._machine, np.asarray(given.array), given.format)

    def zeros(self, shape: Size, dtype: DTypeLike = np.float32) -> Array:
        """An array of zeros in the module's memory."""
        sizes = [shape] if isinstance(shape, (int, np.integer)) else several("shape", shape, "integers")
        return self.array(np.zeros([integer("shape", one) for one in sizes], dtype))

    def texture(self, texels: Any, **options: Any) -> Texture:
        """A texture of an array: :class:`Texture` has the options. Kernels take it for a 64-bit handle."""
        return Texture(self._machine, texels, **options)

    def surface(self, texels: Any, **options: Any) -> Surface:
        """A surface with the contents of an array: :class:`Surface` has the options."""
        return Surface(self._machine, texels, **options)

    def sampler(self, **options: Any) -> Sampler:
        """A sampler, for modules in the independent mode of textures: :class:`Sampler` has the options."""
        return Sampler(self._machine, **options)

    def bind(self, variable: str, to: Texture | Surface | Sampler) -> None:
        """Binds a texture, a surface or a sampler to a ``.texref``, ``.surfref`` or ``.samplerref`` variable."""
        if not isinstance(to, (Texture, Surface, Sampler)):
            raise TypeError(f"{variable} is bound to a texture, a surface or a sampler, not to a {type(to).__name__}")
        if to._machine is not self._machine:
            raise ValueError(f"what {variable} is bound to is of another module")
        to._bind(variable)

    def leaks(self) -> tuple[Finding, ...]:
        """Blocks that kernels took from ``malloc`` and no launch has freed, with ``sanitize="leak"``."""
        return tuple(Finding(**one) for one in self._machine.leaks())

    def get(self, variable: str, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """What a ``.global`` or ``.const`` variable holds."""
        address, size = self._place(variable)
        values = np.empty(size, np.uint8)
        self._machine.read(address, values)
        return values.view(dtype)

    def set(self, variable: str, values: ArrayLike, dtype: DTypeLike | None = None) -> None:
        """Writes the beginning of a ``.global`` or ``.const`` variable: the elements of an array as they are, or numbers in
        a dtype."""
        address, size = self._place(variable)
        given = np.asarray(_host(values, "values")) if dtype is None else _values(values, "values", dtype)
        if dtype is None and isinstance(values, (bool, int, float, complex, list, tuple)):
            raise TypeError(f"values for {variable} are numbers without a dtype: give an array, or say dtype=")
        if given.dtype.hasobject or given.dtype.kind in "USMm":
            raise TypeError(f"values for {variable} are {given.dtype}, and numbers are wanted")
        raw = _flat(_little(given))
        if raw.size > size:
            raise ValueError(f"{variable} has {size} bytes, and {raw.size} were given")
        self._machine.write(address, raw)

    def _place(self, variable: str) -> tuple[int, int]:
        place = self._machine.variable(text("variable", variable))
        if place is None:
            raise KeyError(f"the module has no variable {variable}")
        return place


def _named(ptx: str | Sequence[str], name: str | Sequence[str]) -> list[tuple[str, str]]:
    """The texts of a module with their names."""
    if isinstance(ptx, str):
        return [(text("name", name), ptx)]
    texts = several("ptx", ptx, "a text or several")
    wrong = next((one for one in texts if not isinstance(one, str)), None)
    if wrong is not None or not texts:
        what = "nothing" if not texts else f"a {type(wrong).__name__}"
        raise TypeError(f"ptx is a text or several, and {what} was given")
    if isinstance(name, str):
        stem = name.removesuffix(".ptx")
        return [(f"{stem}{index}.ptx", one) for index, one in enumerate(texts)]
    names = [text("name", one) for one in several("name", name, "names of the texts")]
    if len(names) != len(texts):
        raise ValueError(f"name: there are {len(texts)} texts, and {len(names)} names")
    return list(zip(names, texts))
