"""Many independent jobs, on the workers of an executor."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._dlpack import _typed
from ._given import several, text
from ._machine import Module, Size
from ._reports import Fault, Report

# Modules that a worker keeps.
_KEPT = 32
# The most jobs that are sent together.
_TOGETHER = 16

_Text = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Job:
    """A launch of a kernel that can be sent to another process, for :func:`softwarp.map`.

    It runs on memory of its own: the arrays that are given stay as they are, and :attr:`Result.arguments` has what the
    kernel made of them.
    """

    ptx: str | Sequence[str]
    """The module, or texts that are linked."""
    kernel: str
    """The kernel's name."""
    grid: Size
    block: Size
    arguments: Sequence[Any]
    arch: str | None = None
    sanitize: str | Sequence[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    """What :meth:`softwarp.Kernel.launch` takes besides: ``shared``, ``cluster``, ``timeout`` and so on."""


@dataclass(frozen=True, eq=False)
class Result:
    """What became of a :class:`Job`."""

    arguments: tuple[Any, ...]
    """The arguments after the launch: arrays are copies."""
    report: Report | None
    """What the launch did, unless it was stopped."""
    fault: Fault | None
    """What stopped it."""


@dataclass(frozen=True)
class _Missing:
    """A worker does not have a module."""


@dataclass(frozen=True)
class _Sent:
    """A job as it goes to a worker: the module by its hash, and its text only where that is needed."""

    digest: str
    text: _Text | None
    job: Job


_texts: OrderedDict[str, _Text] = OrderedDict()
_modules: OrderedDict[tuple[str, str | None], Module] = OrderedDict()
_lock = threading.Lock()


def _after_fork() -> None:
    """A forked worker begins with nothing: a lock could be held, and machines would be shared."""
    global _lock
    _lock = threading.Lock()
    _texts.clear()
    _modules.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _text(sent: _Sent) -> _Text | None:
    """The module's text, from the job or from an earlier one."""
    with _lock:
        if sent.text is not None:
            _texts[sent.digest] = sent.text
            while len(_texts) > _KEPT:
                _texts.popitem(last=False)
        return _texts.get(sent.digest)


def _module(digest: str, text: _Text, job: Job) -> Module:
    """A module for a job. It is kept for others unless launches could leave something in it."""
    if job.sanitize is not None:
        return Module(text, arch=job.arch, sanitize=job.sanitize)
    key = (digest, job.arch)
    with _lock:
        kept = _modules.get(key)
    if kept is not None:
        return kept
    made = Module(text, arch=job.arch)
    if not made._machine.has_state():
        with _lock:
            _modules[key] = made
            while len(_modules) > _KEPT:
                _modules.popitem(last=False)
    return made


def _work(sent: _Sent) -> Result | _Missing:
    """Runs a job in a worker."""
    text = _text(sent)
    if text is None:
        return _Missing()
    job = sent.job
    module = _module(sent.digest, text, job)
    copies = {id(one): one.copy() for one in job.arguments if isinstance(one, np.ndarray)}
    arguments = tuple(copies.get(id(one), one) for one in job.arguments)
    try:
        report = module[job.kernel].launch(job.grid, job.block, **job.options)(*arguments)
    except Fault as fault:
        return Result(arguments, None, fault)
    return Result(arguments, report, None)


def _work_all(all_sent: list[_Sent]) -> list[Result | _Missing]:
    """Runs several jobs in a worker, one after another."""
    return [_work(sent) for sent in all_sent]


def _call_all(function: Callable[..., Any], calls: list[tuple[Any, ...]], options: dict[str, Any]) -> list[Any]:
    """Calls a function several times in a worker."""
    return [function(*call, **options) for call in calls]


def _workers(executor: Executor) -> int:
    """How many workers an executor has, as far as it says."""
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


def _in_order(
    executor: Executor,
    count: int,
    submit: Callable[[range, bool], Future[list[Any]]],
) -> list[Any]:
    """Submits as many at a time as keep the workers busy; gives the results in order.

    Of many, several are sent together: less is pickled, since arrays that they share are sent once, and there is less to
    wait for. There are still at least 16 pieces for each worker, so that none is idle for long at the end.
    """
    results: list[Any] = [None] * count
    workers = _workers(executor)
    window, piece = 4 * workers, max(1, min(_TOGETHER, count // (16 * workers)))
    running: dict[Future[list[Any]], range] = {}
    following = 0
    try:
        while following < count or running:
            while following < count and len(running) < window:
                some = range(following, min(count, following + piece))
                running[submit(some, False)] = some
                following = some.stop
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                for at, result in zip(running.pop(future), future.result()):
                    if isinstance(result, _Missing):
                        again = range(at, at + 1)
                        running[submit(again, True)] = again
                    else:
                        results[at] = result
    finally:
        for future in running:
            future.cancel()
    return results


def _digest(text: _Text) -> str:
    """The hash of a module's texts."""
    texts = [text] if isinstance(text, str) else text
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _plain(job: Job, at: int) -> Job:
    """A job whose arrays are NumPy's, which can be sent."""
    if not isinstance(job, Job):
        raise TypeError(f"job {at} is a {type(job).__name__}, and a softwarp.Job is wanted")
    arguments = several(f"arguments of job {at}", job.arguments, "those of the kernel")
    given = tuple(_typed(one, f"argument {index} of job {at}") for index, one in enumerate(arguments))
    for one in [job.ptx] if isinstance(job.ptx, str) else several(f"ptx of job {at}", job.ptx, "a text or several"):
        text(f"ptx of job {at}", one)
    return Job(job.ptx, job.kernel, job.grid, job.block, given, job.arch, job.sanitize, job.options)


def map(
    work: Callable[..., Any] | Iterable[Job],
    *iterables: Iterable[Any],
    executor: Executor | None = None,
    **options: Any,
) -> list[Any]:
    """Runs independent launches, checks or conversions on the workers of an executor; gives the results in order.

    :param work: Jobs, each a :class:`Job`; or a function, which is called with an element of each of ``iterables``, and
        with ``options``.
    :param executor: Any of ``concurrent.futures``, or one like it, such as ``Client.get_executor()`` of Dask. Without
        it, everything runs here.

    A module's text goes to a worker with the first jobs; afterwards its hash is enough. A launch that is stopped is a
    :class:`Result` with a fault; any other error is raised, and what has not begun is not done.

    >>> import numpy as np, softwarp
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> arrays = [np.float32([0.1, 500]), np.float32([3])]
    >>> with ThreadPoolExecutor(2) as pool:
    ...     codes = softwarp.map(softwarp.convert, arrays, to="e4m3", executor=pool)
    >>> [one.view(np.uint8).tolist() for one in codes]
    [[29, 126], [68]]

    >>> ptx = '''.version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry double(.param .u64 data) {
    ...     .reg .b64 %p;
    ...     .reg .f32 %x;
    ...     ld.param.u64 %p, [data];
    ...     ld.global.f32 %x, [%p];
    ...     add.f32 %x, %x, %x;
    ...     st.global.f32 [%p], %x;
    ...     ret;
    ... }'''
    >>> jobs = [softwarp.Job(ptx, "double", 1, 1, [np.float32([x])]) for x in range(4)]
    >>> [float(result.arguments[0][0]) for result in softwarp.map(jobs)]
    [0.0, 2.0, 4.0, 6.0]
    """
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"executor is a {type(executor).__name__}, which has no submit")
    if callable(work):
        calls = list(zip(*iterables))
        if not iterables:
            raise TypeError("a function is called with elements: give an iterable for each of its arguments")
        if executor is None:
            return [work(*call, **options) for call in calls]
        function = work

        def call(some: range, _: bool) -> Future[list[Any]]:
            return executor.submit(_call_all, function, calls[some.start : some.stop], options)

        return _in_order(executor, len(calls), call)
    if iterables or options:
        raise TypeError("jobs have all that they need: further arguments are for functions")
    jobs = [_plain(job, at) for at, job in enumerate(several("work", work, "a function or jobs"))]
    digests = [_digest(job.ptx) for job in jobs]
    if executor is None:
        done = [_work(_Sent(digest, job.ptx, job)) for digest, job in zip(digests, jobs)]
        return list(done)
    first: dict[str, int] = {}
    workers = _workers(executor)

    def sent(at: int, with_text: bool) -> _Sent:
        job, digest = jobs[at], digests[at]
        first[digest] = first.get(digest, 0) + 1
        text = job.ptx if with_text or first[digest] <= workers else None
        bare = Job("", job.kernel, job.grid, job.block, job.arguments, job.arch, job.sanitize, job.options)
        return _Sent(digest, text, bare)

    def submit(some: range, with_text: bool) -> Future[list[Any]]:
        return executor.submit(_work_all, [sent(at, with_text) for at in some])

    return _in_order(executor, len(jobs), submit)
