"""Launches that are run step by step."""

import gc
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
    # Those of tests before this one come to their end first.
    gc.collect()
    time.sleep(0.3)
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


PRINTS = HEAD + """
.global .u32 count = 5;
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry k(.param .u64 data)
{
    .reg .pred %more;
    .reg .b32 %i, %n;
    .reg .b64 %p, %f;
    .param .b64 format, arguments;
    .param .b32 result;
    mov.u64 %f, text;
    cvta.global.u64 %f, %f;
    st.param.b64 [format], %f;
    st.param.b64 [arguments], 0;
    call (result), vprintf, (format, arguments);
    ld.param.u64 %p, [data];
    mov.u32 %i, 0;
LOOP:
    add.u32 %i, %i, 1;
    st.global.u32 [%p], %i;
    st.global.u32 [count], %i;
    setp.lt.u32 %more, %i, 4;
    @%more bra LOOP;
    ret;
}
"""


def test_back_and_forth(capsys):
    module, data = softwarp.Module(PRINTS, debug=True), np.uint32([77])
    debugger = softwarp.debug(module.k[1, 1], data)
    number = debugger.breakpoint("LOOP")
    debugger.cont()
    assert capsys.readouterr().out == "hello\n"
    moments = [debugger.stop.moment]
    for _ in range(3):
        moments.append(debugger.cont().moment)
    first = lambda: debugger.evaluate("data[0]").split()[0]
    assert first() == "3"
    stop = debugger.reverse_cont()
    assert (stop.moment, stop.reason) == (moments[-2], "step")
    assert first() == "2" and debugger.registers()["%i"] == 2
    stop = debugger.back(2)
    assert stop.instruction == "setp.lt.u32 %more, %i, 4;" and stop.line == debugger.back().line + 1
    debugger.delete(number)
    assert debugger.cont() is None
    assert data[0] == 4 and module.get("count", np.uint32)[0] == 4
    # From the end, and to the beginning.
    assert debugger.back().instruction == "ret;"
    assert first() == "4"
    assert debugger.restart().moment == 1 and first() == "77"
    assert debugger.evaluate("count").split()[0] == "5"
    assert debugger.back(100).moment == 1
    debugger.close()
    assert data[0] == 77
    # What is repeated is not printed again.
    assert capsys.readouterr().out == ""
    for ended in (debugger.back, debugger.reverse_cont, debugger.restart):
        with pytest.raises(RuntimeError, match="closed"):
            ended()


def test_watches_stop():
    data = np.uint32([0])
    with softwarp.debug(softwarp.Module(PRINTS, debug=True).k[1, 1], data) as debugger:
        debugger.watch("data[0]")
        stop = debugger.cont()
        assert (stop.reason, stop.message) == ("watch", "0 (0x00000000) became 1 (0x00000001)")
        assert debugger.cont().message == "1 (0x00000001) became 2 (0x00000002)"
        # Going back is no change.
        debugger.back(2)
        stop = debugger.cont()
        assert (stop.reason, stop.message) == ("watch", "1 (0x00000001) became 2 (0x00000002)")
        number = debugger.breakpoint("LOOP", when="%i == 3")
        while debugger.stop.reason != "breakpoint":
            debugger.cont()
        assert debugger.registers()["%i"] == 3
        for wrong in (99, number + 1):
            with pytest.raises(ValueError, match="number: there is no breakpoint or watch"):
                debugger.delete(wrong)
        with pytest.raises(ValueError):
            debugger.watch("%nothing +")
        with pytest.raises(ValueError, match="count is 0"):
            debugger.step(0)


def test_arrays_that_went_away_are_left_out():
    module, data = softwarp.Module(PRINTS, debug=True), np.uint32([1])
    before = module.array(np.full(8, 7, np.uint32))
    debugger = softwarp.debug(module.k[1, 1], data)
    debugger.step(12)
    before.free()
    # Perhaps at the same place.
    after = module.array(np.full(8, 9, np.uint32))
    assert debugger.back().reason == "step"
    assert after.numpy().tolist() == [9] * 8
    debugger.close()


def test_back_from_a_fault():
    debugger = begin(np.zeros(3, np.float32), 4)
    assert debugger.cont().reason == "fault"
    stop = debugger.back(2)
    assert stop.reason == "step" and stop.thread == (3, 0, 0)
    assert debugger.cont().reason == "fault"
    debugger.close()
