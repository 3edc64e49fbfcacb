"""What launches come to: reports, findings and faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Fault(RuntimeError):
    """A launch was stopped.

    The attributes are ``kind`` (a word such as ``out_of_bounds``, ``trap`` or ``deadlock``), ``message``, ``kernel``,
    and, unless the fault concerns the launch as a whole, ``line`` and ``column`` in the PTX, ``instruction``,
    ``function``, ``thread`` and ``cta``. ``source_file`` and ``source_line`` are where the instruction comes from, if the
    PTX has line information. ``buffer`` is the array that a bad access was nearest to, by its parameter, or the variable.

    ``stats``, ``coverage`` and ``trace`` are those of a :class:`Report`, up to the fault, if the launch recorded them;
    ``findings`` is what the sanitizers found until then. ``file`` is the name of the module's text.
    """

    kind: str
    message: str
    kernel: str
    file: str | None
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
        self, fields: dict[str, Any], findings: tuple[Finding, ...] = (), recorded: Recorded | None = None
    ) -> None:
        recorded = Recorded() if recorded is None else recorded
        self.findings = findings
        self.stats, self.coverage = recorded.stats, recorded.coverage
        self.trace, self.trace_truncated = recorded.trace, recorded.trace_truncated
        self._made_of = (fields, findings, recorded)
        for key, value in fields.items():
            setattr(self, key, value)
        where = ""
        if self.line is not None:
            where = f"\n  {self.file}:{self.line}: {self.instruction}\n  thread {self.thread} of CTA {self.cta}"
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
    """``race``, ``init``, ``sync``, ``bounds`` or ``leak``; ``compare`` for a mismatch of compare mode."""
    kind: str
    """A word for what it is."""
    message: str
    kernel: str
    count: int
    """How many times it was found at these places."""
    file: str
    """The name of the module's text."""
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
class Recorded:
    """What was recorded of a launch, as lists of dictionaries, which ``pandas.DataFrame`` takes."""

    stats: list[dict[str, Any]] | None = None
    """With ``stats=True``, a row for each instruction of the PTX."""
    coverage: list[dict[str, Any]] | None = None
    """With ``coverage=True``, a row for each line: ``file``, ``line`` and ``count``."""
    trace: list[dict[str, Any]] | None = None
    """With ``trace``, a row for each instruction that the threads executed."""
    trace_truncated: bool = False
    """Whether the trace has reached its limit: later instructions are not in it."""


@dataclass(frozen=True)
class Report(Recorded):
    """What a launch did."""

    ctas: int = 0
    """How many CTAs ran."""
    seconds: float = 0.0
    """How long it took."""
    printed: str = ""
    """What the kernel printed. It was written to standard output too."""
    findings: tuple[Finding, ...] = ()
    """What the sanitizers found, of a module that has them; and what compare mode did."""
    compared: dict[str, Any] | None = None
    """With ``jit="compare"``: how many launches were ``equal``, ``order_dependent``, ``mismatches`` and ``not_compiled``;
    ``not_compared`` by reason; ``folders`` that reproduce mismatches."""
