"""Launches that are run step by step."""

import os
import sys
import time

import numpy as np
import pytest

import softwarp

from test_ptx import HEAD, RACE, SAXPY
from test_watch import FROM_C


def begin(data, block=64):
    return softwarp.debug(softwarp.Module(FROM_C, debug=True).k[1, block], data)


def test_steps_show_registers_and_lines():
    data = np.arange(64, dtype=np.float32)
    debugger = begin(data)
    assert (debugger.stop.reason, debugger.stop.source_line) == ("start", 12)
    assert debugger.step(2).instruction.startswith("mad.wide")
    stop = debugger.focus(40)
    assert stop.thread == (40, 0, 0)
    assert debugger.step(line=True).thread == (40, 0, 0)
    debugger.breakpoint("kernel.cu:13")
    while not debugger.stop.instruction.startswith("add"):
        debugger.step()
    assert debugger.registers()["%x"] == 40.0 and debugger.registers()["%i"] == 40
    assert debugger.evaluate("%x + 1") == "41"
    while debugger.stop is not None:
        debugger.cont()
    assert (data == np.arange(64) + 1).all()
    for ended in (debugger.step, debugger.cont, debugger.registers, lambda: debugger.breakpoint(3)):
        with pytest.raises(RuntimeError, match="ended"):
            ended()


def test_a_fault_is_a_stop():
    debugger = begin(np.zeros(3, np.float32), 4)
    stop = debugger.cont()
    assert (stop.reason, stop.thread, stop.source_line) == ("fault", (3, 0, 0), 13)
    assert "bytes" in stop.message
    assert debugger.registers()["%i"] == 3
    with pytest.raises(RuntimeError, match="bytes"):
        debugger.cont()


def test_a_launch_can_be_let_go():
    data = np.zeros(64, np.float32)
    with begin(data) as debugger:
        debugger.step()
    assert debugger.stop is None and not data.any()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_a_launch_that_nobody_has_ends():
    module = softwarp.Module(RACE, debug=True)
    module.race[1, 32](np.zeros(1, np.uint32))
    before = len(os.listdir("/proc/self/task"))
    debugger = softwarp.debug(module.forever[1, 1])
    assert len(os.listdir("/proc/self/task")) > before
    del debugger
    until = time.monotonic() + 10
    while len(os.listdir("/proc/self/task")) > before and time.monotonic() < until:
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/task")) <= before
    module.race[1, 32](np.zeros(1, np.uint32))


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="debug=True"):
        softwarp.debug(softwarp.Module(SAXPY).saxpy[1, 1], 1, np.zeros(1), np.zeros(1), 1)
    with pytest.raises(TypeError, match="takes 1 arguments"):
        softwarp.debug(softwarp.Module(FROM_C, debug=True).k[1, 1])
    with pytest.raises(RuntimeError):
        softwarp.debug(softwarp.Module(FROM_C, debug=True).k[1, 5000], np.zeros(1))
    debugger = begin(np.zeros(64, np.float32))
    with pytest.raises(ValueError, match="%nothing"):
        debugger.evaluate("%nothing")
    with pytest.raises(ValueError):
        debugger.breakpoint("nowhere")
    with pytest.raises(ValueError, match="thread: "):
        debugger.focus(64)
    with pytest.raises(ValueError, match="cta: "):
        debugger.focus(0, 1)
    assert debugger.stop.line == HEAD.count("\n") + 8
