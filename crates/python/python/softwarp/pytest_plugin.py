"""A plugin for pytest: with ``--softwarp``, kernels of the tests run in softwarp.

The driver is in place before conftest files and tests are imported. What softwarp reports while a test runs, faults of
kernels and findings of sanitizers, fails that test.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Generator
from typing import Any

import pytest

_SANITIZERS = ("init", "race", "sync", "bounds", "leak", "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("softwarp")
    group.addoption(
        "--softwarp",
        action="store_true",
        help="run CUDA kernels in softwarp, without a GPU; a fault of a kernel fails its test",
    )
    group.addoption(
        "--softwarp-sanitize",
        metavar="LIST",
        help="look for bugs in kernels, too; a finding fails its test. "
        f"{', '.join(_SANITIZERS)}, separated by commas; implies --softwarp",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Puts the driver in place, before a conftest file can load another one."""
    options = early_config.known_args_namespace
    sanitizers = options.softwarp_sanitize
    if not options.softwarp and sanitizers is None:
        return
    if sanitizers is not None:
        unknown = [word for word in sanitizers.split(",") if word not in _SANITIZERS]
        if unknown:
            raise pytest.UsageError(
                f"--softwarp-sanitize: {unknown[0]!r} is none of {', '.join(_SANITIZERS)}"
            )
        os.environ["SOFTWARP_SANITIZE"] = sanitizers
    handle, path = tempfile.mkstemp(prefix="softwarp-", suffix=".txt")
    os.close(handle)
    os.environ["SOFTWARP_REPORT"] = path
    try:
        from . import cuda  # noqa: F401
    except ImportError as error:
        os.unlink(path)
        raise pytest.UsageError(f"--softwarp: {error}") from error
    early_config.pluginmanager.register(_Reports(path), "softwarp-reports")


class _Reports:
    """Gives what the driver reports to the tests during which it was written."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._read = 0
        #: The first test in which something was reported.
        self._first: str | None = None
        self._rest = ""

    def _new(self) -> str:
        """What was written since the last call."""
        with open(self._path, "rb") as file:
            file.seek(self._read)
            added = file.read()
        self._read += len(added)
        return added.decode("utf-8", "replace").rstrip("\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fails a test, or what is set up or torn down for it, if something was reported."""
        report = yield
        text = self._new()
        expected = hasattr(report, "wasxfail")
        if text:
            if report.outcome == "failed" or expected:
                report.sections.append(("softwarp", text))
            else:
                report.outcome = "failed"
                report.longrepr = text
            self._first = self._first or item.nodeid
        elif report.outcome == "failed" and self._first not in (None, item.nodeid):
            note = f"{self._first} had a report. A fault stays: all later calls of the process give its code."
            report.sections.append(("softwarp", note))
        return report

    @staticmethod
    def _report_leaks() -> None:
        """Has the driver report what it would report when the process ends, when nobody reads it any more."""
        from . import cuda

        report = getattr(ctypes.CDLL(str(cuda.driver)), "softwarpReportLeaks", None)
        if report is not None:
            report()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """What is reported after the last test is a failure of the session: also blocks that kernels did not free."""
        self._report_leaks()
        self._rest = self._new()
        if self._rest and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Shows what was reported after the last test."""
        if self._rest:
            terminalreporter.section("softwarp, after the last test")
            terminalreporter.write_line(self._rest)

    def pytest_unconfigure(self) -> None:
        """Removes the file."""
        if os.path.exists(self._path):
            os.unlink(self._path)
