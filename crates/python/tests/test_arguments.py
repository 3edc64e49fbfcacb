"""Arguments that are not as they should be: errors that name them."""

import decimal
import fractions
import subprocess
import sys

import numpy as np
import pytest

import softwarp

from test_ptx import HEAD, SAXPY

MANY = HEAD + """
.visible .entry k(.param .u8 small, .param .f64 wide, .param .align 8 .b8 raw[16], .param .f16 half)
{
    ret;
}
"""


@pytest.mark.parametrize(
    "given, error, words",
    [
        (("a", 1.0, bytes(16), 1.0), TypeError, "small is .u8, and 'a' is not an integer"),
        ((None, 1.0, bytes(16), 1.0), TypeError, "small"),
        ((1.5, 1.0, bytes(16), 1.0), TypeError, "small"),
        ((256, 1.0, bytes(16), 1.0), OverflowError, "small is .u8, and 256 does not fit"),
        ((-129, 1.0, bytes(16), 1.0), OverflowError, "small"),
        ((1, "x", bytes(16), 1.0), TypeError, "wide is .f64, and 'x' is not a number"),
        ((1, None, bytes(16), 1.0), TypeError, "wide"),
        ((1, 1j, bytes(16), 1.0), TypeError, "wide"),
        ((1, np.zeros(3), bytes(16), 1.0), TypeError, "wide is .f64, and an array was given"),
        ((1, 1.0, bytes(15), 1.0), ValueError, "raw has 16 bytes, and 15 were given"),
        ((1, 1.0, np.zeros(3), 1.0), ValueError, "raw has 16 bytes, and 24"),
        ((1, 1.0, ["a", None], 1.0), TypeError, "raw"),
        ((1, 1.0, None, 1.0), TypeError, "raw"),
        ((1, 1.0, bytes(16), []), TypeError, "half"),
        ((1, 1.0, bytes(16)), TypeError, "takes 4 arguments"),
    ],
)
def test_wrong_arguments_are_named(given, error, words):
    with pytest.raises(error, match=words):
        softwarp.Module(MANY).k[1, 1](*given)


def test_wrong_sizes_are_named():
    kernel = softwarp.Module(MANY).k
    for make, error, words in (
        (lambda: kernel[-1, 1], ValueError, "grid: -1"),
        (lambda: kernel[1, 1 << 32], ValueError, "block: "),
        (lambda: kernel[1.5, 1], TypeError, "grid: 1.5"),
        (lambda: kernel["a", 1], TypeError, "grid: 'a'"),
        (lambda: kernel[(1, 1, 1, 1), 1], TypeError, "grid: "),
        (lambda: kernel[(), 1], ValueError, "grid: "),
        (lambda: kernel[1], TypeError, r"k\[grid, block\]"),
        (lambda: kernel.launch(1, 1, cluster=-1), ValueError, "cluster: -1"),
        (lambda: kernel.launch(1, 1, shared=-1), ValueError, "shared is -1"),
        (lambda: kernel.launch(1, 1, trace_limit=-1), ValueError, "trace_limit is -1"),
        (lambda: kernel.launch(1, 1, timeout=-1)(1, 1, bytes(16), 1), ValueError, "timeout"),
        (lambda: kernel[0, 1](1, 1, bytes(16), 1), ValueError, "grid.x is 0"),
    ):
        with pytest.raises(error, match=words):
            make()


def test_arrays_that_share_memory():
    saxpy = softwarp.Module(SAXPY).saxpy[1, 32]
    x = np.arange(32, dtype=np.float32)
    with pytest.raises(ValueError, match="the arrays for x and y share some memory"):
        saxpy(1, x[:24], x[8:], 24)
    # The same memory twice is the same array twice; elements in turn are different ones.
    saxpy(1, x, x[:], 32)
    assert (x == 2 * np.arange(32)).all()
    both = np.arange(64, dtype=np.float32)
    saxpy(1, both[::2], both[1::2], 32)
    assert (both[1::2] == 4 * np.arange(32) + 1).all() and (both[::2] == 2 * np.arange(32)).all()
    read = np.arange(48, dtype=np.float32)
    read.flags.writeable = False
    y = np.zeros(32, np.float32)
    saxpy(1, read[:32], y, 32)
    with pytest.raises(ValueError, match="saxpy wrote to y, whose array is read-only"):
        saxpy(1, y, read[:32], 32)
    with pytest.raises(ValueError, match="the array for y has elements that share memory"):
        wide = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (32,), (0,), writeable=True)
        saxpy(1, y, wide, 32)
    with pytest.raises(TypeError, match="the array for x holds Python objects"):
        saxpy(1, np.array([None] * 32), y, 32)


def test_elements_in_other_orders():
    saxpy = softwarp.Module(SAXPY).saxpy[1, 32]
    x = np.arange(32, dtype=np.float32)
    for y in (np.ones(32, ">f4"), np.ones((8, 4), np.float32, order="F"), np.ones(64, np.float32)[::-2]):
        saxpy(1, x.reshape(y.shape), y, 32)
        assert (np.asarray(y).reshape(-1) == x + 1).all()
    assert softwarp.Module(SAXPY).array(np.array([1, 2], ">u2")).numpy().tolist() == [1, 2]


def test_arrays_that_were_freed():
    module = softwarp.Module(SAXPY)
    x = module.array(np.ones(32, np.float32))
    x.free()
    x.free()
    assert repr(x) == "<softwarp.Array that was freed>"
    for use in (x.numpy, lambda: x.set(np.ones(32)), lambda: np.asarray(x)):
        with pytest.raises(ValueError, match="was freed"):
            use()
    with pytest.raises(ValueError, match="the array for x was freed"):
        module.saxpy[1, 32](1, x, np.ones(32, np.float32), 32)
    with pytest.raises(ValueError, match="the array for x is in the memory of another module"):
        other = softwarp.Module(SAXPY).array(np.ones(32, np.float32))
        module.saxpy[1, 32](1, other, np.ones(32, np.float32), 32)
    empty = module.array(np.zeros(0, np.float32))
    assert empty.numpy().shape == (0,)


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
    run = lambda which, text: interpreters.exec(which, text)
except ImportError:
    import _xxsubinterpreters as interpreters
    run = lambda which, text: interpreters.run_string(which, text)
import softwarp
which = interpreters.create()
found = run(which, '''
try:
    import softwarp
    assert softwarp.convert([1.5], "e4m3", like="numpy").tobytes() == bytes([0x3c])
    print("works", flush=True)
except ImportError as error:
    print("ImportError:", error, flush=True)
''')
assert found is None, found
interpreters.destroy(which)
import numpy as np
assert softwarp.convert(np.float32([1.5]), "e4m3").tobytes() == bytes([0x3c])
print("ended")
"""


def test_subinterpreters_work_or_are_refused():
    done = subprocess.run([sys.executable, "-c", SUBINTERPRETER], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert first.startswith(("works", "ImportError:")) and last == "ended", done.stdout
    if first.startswith("ImportError"):
        assert "interpreter" in done.stdout, done.stdout


def test_other_arguments_are_named():
    module, x = softwarp.Module(SAXPY, debug=True), np.ones(4, np.float32)
    map = softwarp.tensor.Map(type="u16", dims=(64, 64), box=(8, 8))
    saxpy = module.saxpy
    for call, name in (
        (lambda given: softwarp.convert(x, given), "to"),
        (lambda given: softwarp.convert(x.view(np.uint32), "f32", from_=given), "from_"),
        (lambda given: softwarp.convert(x, "e4m3", rounding="rs", seed=given), "seed"),
        (lambda given: softwarp.convert(x, "e4m3", out=given), "out"),
        (lambda given: softwarp.quantize(x, given), "format"),
        (lambda given: softwarp.quantize(x, "mxfp4", axis=given), "axis"),
        (lambda given: softwarp.quantize(x, "mxfp4", rounding="rs", seed=given), "seed"),
        (lambda given: softwarp.format(given), "name"),
        (lambda given: softwarp.format("e4m3").decode(given), "code"),
        (lambda given: softwarp.format("e4m3").encode(given), "value"),
        (lambda given: softwarp.Module(given), "ptx"),
        (lambda given: softwarp.Module(SAXPY, arch=given), "arch"),
        (lambda given: softwarp.Module(SAXPY, sanitize=given), "sanitize"),
        (lambda given: softwarp.Module(SAXPY, name=given), "name"),
        (lambda given: module.zeros(given), "shape"),
        (lambda given: module.get(given), "variable"),
        (lambda given: saxpy.launch(1, 1, shared=given), "shared"),
        (lambda given: saxpy.launch(1, 1, timeout=given), "timeout"),
        (lambda given: saxpy.launch(1, 1, trace=given), "trace"),
        (lambda given: saxpy.launch(1, 1, trace=[given]), "trace"),
        (lambda given: saxpy.launch(1, 1, trace=[(0, 0)], trace_limit=given), "trace_limit"),
        (lambda given: softwarp.debug(given), "launch"),
        (lambda given: softwarp.tensor.Map(type="u16", dims=given, box=(8, 8)), "dims"),
        (lambda given: map.copy(np.zeros((64, 64), np.uint16), at=given), "at"),
        (lambda given: map.copy(np.zeros((64, 64), np.uint16), at=(0, 0), shared=given), "shared"),
        (lambda given: softwarp.map([softwarp.Job(given, "k", 1, 1, [])]), "ptx"),
        (lambda given: softwarp.map([softwarp.Job(SAXPY, "k", 1, 1, given)]), "arguments"),
        (lambda given: softwarp.map([], executor=given), "executor"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^{name}\b"):
            call(object())


def test_numbers_are_not_cut():
    ptx = """.version 8.0
    .target sm_80
    .address_size 64
    .global .f32 held[2];
    .visible .entry k(.param .u32 n, .param .f32 x) { ret; }"""
    module = softwarp.Module(ptx)
    launch = module.k[1, 1]
    launch(np.int64(3), fractions.Fraction(5, 2))
    launch(fractions.Fraction(4, 2), 1)
    for n in ("12", fractions.Fraction(5, 2), decimal.Decimal("2.5"), 2.0, np.complex64(2 + 3j)):
        with pytest.raises(TypeError, match="parameter n is .u32"):
            launch(n, 1)
    for x in ("1.5", np.complex64(2 + 3j), 1 + 0j):
        with pytest.raises(TypeError, match="parameter x is .f32"):
            launch(1, x)
    with pytest.raises(OverflowError, match="parameter x is .f32"):
        launch(1, 10**400)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match="parameter n is .u32"):
        launch(ml_dtypes.bfloat16(2.5), 1)
    # Numbers without a dtype are not written in NumPy's own.
    with pytest.raises(TypeError, match="values for held are numbers without a dtype"):
        module.set("held", [1.5])
    module.set("held", [1.5], np.float32)
    assert module.get("held", np.float32)[0] == 1.5
    with pytest.raises(TypeError, match="Python objects"):
        module.array([None])
