"""Launches that are run step by step."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import _softwarp
from ._machine import Launcher, Size, _index


@dataclass(frozen=True)
class Stop:
    """Where a launch is stopped: before this instruction."""

    reason: str
    """``start``, ``step``, ``breakpoint``, ``watch``, ``exited`` (the thread), ``interrupted`` or ``fault``."""
    message: str | None
    """Of a fault, what is wrong; of a watch, what became of the value."""
    moment: int
    """The number of the instruction among all that warps have executed."""
    function: str
    file: str | None
    """The name of the module's text."""
    line: int | None
    """The line of the PTX."""
    instruction: str | None
    source_file: str | None
    source_line: int | None
    cta: tuple[int, int, int]
    thread: tuple[int, int, int]


class Debugger:
    """A launch that is run step by step; :func:`softwarp.debug` begins one.

    It ends with :meth:`close`, or at the end of a ``with`` statement. Arrays have their elements then, and when the launch
    has run to its end. From there, and from a fault, it can go back: memory becomes what it was before the launch, which
    is run again up to an earlier instruction. What surfaces hold and ``malloc`` gives stays as it is.
    """

    def __init__(self, launch: Launcher, arguments: tuple[Any, ...]) -> None:
        if not isinstance(launch, Launcher):
            raise TypeError(f"launch is a {type(launch).__name__}, and a kernel with its sizes is wanted: module.k[1, 32]")
        module = launch._kernel._module
        if not module._debug:
            raise ValueError("launch: the module is debugged if it was made with debug=True")
        passed, given = launch._passed(arguments)
        self._held = given.held
        options = launch._options
        self._inner: _softwarp.Stepper | None = _softwarp.Stepper(
            module._machine,
            launch._kernel.name,
            options.grid,
            options.block,
            options.cluster,
            options.cooperative,
            options.shared,
            passed,
            given.buffers,
        )
        # Arrays that stay in the machine must be there as long as the launch.
        self._arguments = arguments
        self.stop: Stop | None = None
        """Where it is stopped; none if it has ended."""
        self._wait(self._inner)

    def _wait(self, inner: _softwarp.Stepper) -> Stop | None:
        try:
            place = inner.wait()
        except RuntimeError:
            self.close()
            raise
        sys.stdout.write(inner.printed())
        self.stop = None if place is None else Stop(**place)
        if place is None:
            self._give_back()
        return self.stop

    def _open(self) -> _softwarp.Stepper:
        if self._inner is None:
            raise RuntimeError("the debugger was closed, or the launch ended with a fault")
        return self._inner

    def _running(self) -> _softwarp.Stepper:
        if self._inner is None or self.stop is None:
            raise RuntimeError("the launch has ended")
        return self._inner

    def _give_back(self) -> None:
        written = [one.name for one in self._held if not one.give_back()]
        if written:
            raise ValueError(f"the kernel wrote to {', '.join(written)}, whose array is read-only")

    def step(self, count: int = 1, *, line: bool = False, over: bool = False) -> Stop | None:
        """Goes some instructions of the thread on: where it is then; none if the launch has ended.

        :param line: Go to other lines of the program that the PTX was made from.
        :param over: Calls are one step.
        """
        return self._go(count, line, over, False)

    def cont(self) -> Stop | None:
        """Goes on to a breakpoint, a watch, a fault, or the end."""
        return self._go(None, False, False, False)

    def back(self, count: int = 1, *, line: bool = False, over: bool = False) -> Stop:
        """Goes some instructions of the thread back, or to the first one."""
        stop = self._go(count, line, over, True)
        assert stop is not None
        return stop

    def reverse_cont(self) -> Stop:
        """Goes back to the last breakpoint that was met before, or to the first instruction."""
        stop = self._go(None, False, False, True)
        assert stop is not None
        return stop

    def restart(self) -> Stop:
        """Goes back to the first instruction."""
        inner = self._open()
        inner.restart()
        stop = self._wait(inner)
        assert stop is not None
        return stop

    def _go(self, count: int | None, line: bool, over: bool, back: bool) -> Stop | None:
        if count is not None and count < 1:
            raise ValueError(f"count is {count}, and at least one step is wanted")
        inner = self._open() if back else self._running()
        if not back and self.stop is not None and self.stop.reason == "fault":
            # The launch ends with its fault.
            why = self.stop.message
            self.close()
            raise RuntimeError(why)
        inner.go(count, line, over, back)
        return self._wait(inner)

    def breakpoint(self, place: str | int, when: str | None = None) -> int:
        """Stops at a line of the PTX (``12``), of the source (``kernel.cu:8``), a function or a label.

        :param when: An expression, as in ``%r1 == 7``: it stops for a thread for which this is true.
        :return: Its number, for :meth:`delete`.
        """
        return self._running().breakpoint(str(place), when)

    def watch(self, expression: str) -> int:
        """Stops when the value of an expression changes, as in ``%r1`` or ``data[3]``, for the present thread.

        :return: Its number, for :meth:`delete`.
        """
        return self._running().watch(expression)

    def delete(self, number: int) -> None:
        """Deletes a breakpoint or watch."""
        self._running().delete(number)

    def registers(self) -> dict[str, Any]:
        """The registers of the thread, by name."""
        return self._running().registers()

    def evaluate(self, expression: str) -> str:
        """The value of an expression of ``softwarp debug``, as in ``%r1 + 4`` or ``data[3]``, as text."""
        return self._running().evaluate(expression)

    def focus(self, thread: Size, cta: Size | None = None) -> Stop:
        """Looks at another thread of the CTA that runs: registers and steps are then its own."""
        stop = self.stop
        own = stop.cta if stop is not None else (0, 0, 0)
        place = own if cta is None else _index(cta, "cta")
        self.stop = Stop(**self._running().focus(place, _index(thread, "thread")))
        return self.stop

    def close(self) -> None:
        """Ends the launch, and gives the arrays their elements."""
        if self._inner is not None:
            self._inner = None
            self.stop = None
            self._give_back()

    def __enter__(self) -> Debugger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.stop is None:
            return "<debugger: the launch has ended>"
        return f"<debugger: {self.stop.reason} at line {self.stop.line}: {self.stop.instruction}>"


def debug(launch: Launcher, *arguments: Any) -> Debugger:
    """Begins a launch that is run step by step. It is stopped before its first instruction.

    :param launch: A kernel with its grid and block, as in ``module.scale[1, 32]``, of a module with ``debug=True``.
    :param arguments: Those of the kernel.

    >>> import numpy as np, softwarp
    >>> module = softwarp.Module('''.version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry twice(.param .u64 data) {
    ...     .reg .b64 %p;
    ...     .reg .f32 %x;
    ...     ld.param.u64 %p, [data];
    ...     ld.global.f32 %x, [%p];
    ...     add.f32 %x, %x, %x;
    ...     st.global.f32 [%p], %x;
    ...     ret;
    ... }''', debug=True)
    >>> data = np.float32([1.5])
    >>> debugger = softwarp.debug(module.twice[1, 1], data)
    >>> debugger.breakpoint(9)
    1
    >>> debugger.cont().instruction
    'add.f32 %x, %x, %x;'
    >>> debugger.registers()["%x"]
    1.5
    >>> debugger.step()
    Stop(reason='step', message=None, moment=4, function='twice', file='module.ptx', line=10, \
instruction='st.global.f32 [%p], %x;', source_file=None, source_line=None, cta=(0, 0, 0), thread=(0, 0, 0))
    >>> debugger.evaluate("%x")
    '3 (0x40400000)'
    >>> debugger.back().line, debugger.evaluate("%x")
    (9, '1.5 (0x3fc00000)')
    >>> debugger.cont()
    >>> data
    array([3.], dtype=float32)
    """
    return Debugger(launch, arguments)
