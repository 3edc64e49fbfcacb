"""Checks of PTX, and where its variables are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import _softwarp


@dataclass(frozen=True)
class Note:
    """Another place that a diagnostic is about."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """Something that is wrong, or odd, with a module. ``str()`` shows it as ``softwarp check`` does.

    Lines and columns count from 1, columns in characters; the end is one past the last character.
    """

    code: str
    """The rule, as in ``E0301``; ``softwarp explain`` says more about it."""
    severity: str
    """``error`` or ``warning``."""
    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    notes: tuple[Note, ...]
    """Other places that matter."""
    help: str | None
    """What would be right."""
    rendered: str = field(repr=False)

    @property
    def end(self) -> tuple[int, int]:
        """Line and column of the end."""
        return self.end_line, self.end_column

    def __str__(self) -> str:
        return self.rendered


class PtxError(ValueError):
    """A module has errors; ``diagnostics`` has them."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n\n".join(str(one) for one in diagnostics))

    def __reduce__(self) -> tuple[Any, ...]:
        return PtxError, (self.diagnostics,)


def _diagnostic(fields: dict[str, Any]) -> Diagnostic:
    notes = tuple(Note(*note) for note in fields.pop("notes"))
    return Diagnostic(notes=notes, **fields)


def check(
    text: str,
    arch: str | None = None,
    *,
    name: str = "module.ptx",
    relocatable: bool = False,
    strict: bool = False,
) -> list[Diagnostic]:
    """Checks PTX by the rules of the assembler: everything that is wrong or odd, in the order of the text.

    :param text: The module.
    :param arch: Check for this GPU, as in ``sm_90a``, instead of the module's ``.target``.
    :param name: How diagnostics call the module.
    :param relocatable: The module will be linked with others.
    :param strict: Follow the manual where the assembler lets more pass.

    >>> import softwarp
    >>> found = softwarp.check('''.version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry k() {
    ...     .reg .b32 %r<3>;
    ...     add.s33 %r1, %r2, 1;
    ...     ret;
    ... }''')
    >>> [(one.severity, one.line, one.column) for one in found]
    [('error', 6, 8)]
    >>> print(found[0])  # doctest: +ELLIPSIS
    error[E...]: ...
     --> module.ptx:6:8
    ...
    """
    return [_diagnostic(one) for one in _softwarp.check(text, name, arch, relocatable, strict)]


def layout(
    text: str, *, arch: str | None = None, bases: bool = False, name: str = "module.ptx"
) -> dict[str, Any]:
    """Where the variables of a module are in memory, and what they hold before a kernel runs.

    The result has the keys of ``softwarp layout --json``, which its help lists. With ``bases``, absolute addresses too.
    A module with errors raises :class:`PtxError`.

    >>> import softwarp
    >>> layout = softwarp.layout('''.version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .global .u8 flag = 1;
    ... .global .f32 table[2] = {1.0, 2.0};''')
    >>> [(one["name"], one["offset"], one["size"]) for one in layout["variables"]]
    [('flag', 0, 1), ('table', 4, 8)]
    """
    text_of_layout, found = _softwarp.layout(text, name, arch, bases)
    if text_of_layout is None:
        raise PtxError([_diagnostic(one) for one in found if one["severity"] == "error"])
    result: dict[str, Any] = json.loads(text_of_layout)
    return result
