"""Arguments that are checked: errors name them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


def integer(name: str, given: Any, lowest: int = 0, highest: int = (1 << 64) - 1) -> int:
    """An integer within a range."""
    try:
        value = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} is {_shown(given)}, and an integer is wanted") from None
    if not lowest <= value <= highest:
        raise ValueError(f"{name} is {value}, and an integer from {lowest} to {highest} is wanted")
    return value


def real(name: str, given: Any) -> float:
    """A number."""
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name} is {_shown(given)}, and a number is wanted")
    try:
        return float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {_shown(given)}, and a number is wanted") from None


def text(name: str, given: Any) -> str:
    """A string."""
    if not isinstance(given, str):
        raise TypeError(f"{name} is {_shown(given)}, and a string is wanted")
    return given


def several(name: str, given: Any, what: str) -> list[Any]:
    """The elements of something that has several."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{name} is {_shown(given)}, and {what} are wanted")
    return list(given)


def _shown(given: Any) -> str:
    """A value in an error."""
    shown = repr(given)
    return shown if len(shown) <= 60 and "\n" not in shown else f"a {type(given).__name__}"
