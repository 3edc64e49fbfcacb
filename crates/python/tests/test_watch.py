"""What is recorded of launches, modules from elsewhere, and arguments that are wrong."""

import gc
import multiprocessing
import pickle
import types

import numpy as np
import pytest

import softwarp

from test_ptx import HEAD, SAXPY

FROM_C = HEAD + """
.visible .entry k(.param .u64 data)
{
    .reg .b32 %i;
    .reg .b64 %p;
    .reg .f32 %x;
    .loc 1 12 5
    ld.param.u64 %p, [data];
    mov.u32 %i, %tid.x;
    mad.wide.u32 %p, %i, 4, %p;
    .loc 1 13 7
    ld.global.f32 %x, [%p];
    add.f32 %x, %x, 0f3f800000;
    st.global.f32 [%p], %x;
    ret;
}
.file 1 "kernel.cu"
"""


def test_a_fault_says_where_it_comes_from():
    with pytest.raises(softwarp.Fault) as caught:
        softwarp.Module(FROM_C).k[1, 4](np.zeros(3, np.float32))
    fault = caught.value
    assert fault.source_file.endswith("kernel.cu") and fault.source_line == 13
    assert fault.buffer == "data" and "data" in fault.message
    assert "kernel.cu:13" in str(fault)


def test_counts_are_rows():
    module = softwarp.Module(FROM_C)
    report = module.k.launch(2, 64, stats=True, coverage=True)(np.zeros(64, np.float32))
    row = next(row for row in report.stats if row["text"].startswith("ld.global"))
    assert (row["warps"], row["threads"], row["global_requests"], row["global_sectors"]) == (4, 128, 4, 16)
    assert (row["source_line"], row["function"]) == (13, "k")
    counts = {(row["file"].rsplit("/")[-1], row["line"]): row["count"] for row in report.coverage}
    assert counts[("kernel.cu", 13)] == 16 and counts[("module.ptx", row["line"])] == 4
    plain = module.k[1, 32](np.zeros(32, np.float32))
    assert plain.stats is plain.coverage is plain.trace is None
    pandas = pytest.importorskip("pandas")
    assert int(pandas.DataFrame(report.stats)["warps"].max()) == 4


def test_threads_are_followed():
    module = softwarp.Module(FROM_C, debug=True)
    data = np.arange(64, dtype=np.float32)
    report = module.k.launch(1, 64, trace=[(0, 3), ((0, 0, 0), (40, 0, 0))])(data)
    assert {row["thread"] for row in report.trace} == {(3, 0, 0), (40, 0, 0)}
    of_40 = [row for row in report.trace if row["thread"] == (40, 0, 0)]
    loaded = next(row for row in of_40 if row["instruction"].startswith("ld.global"))
    assert loaded["results"] == {"%x": 40.0} and (loaded["buffer"], loaded["offset"]) == ("data", 160)
    assert isinstance(loaded["results"]["%x"], float)
    stored = next(row for row in of_40 if row["instruction"].startswith("st.global"))
    assert stored["stored"] == [41.0] and stored["space"] == "global"
    with pytest.raises(softwarp.Fault) as caught:
        module.k.launch(1, 64, trace=[(0, 3)])(data[:3].copy())
    assert caught.value.trace[-1]["instruction"].startswith("ld.global")
    with pytest.raises(ValueError, match="debug=True"):
        softwarp.Module(FROM_C).k.launch(1, 1, trace=[(0, 0)])
    with pytest.raises(ValueError, match="trace: "):
        module.k.launch(1, 1, trace=[(0, -1)])


def test_cuda_is_compiled_or_refused():
    source = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'
    with pytest.raises(softwarp.CompileError) as caught:
        softwarp.Module.from_cuda(source.replace("*=", "*/"), name="mine.cu")
    if "was not found" in caught.value.log:
        assert "pip install" in str(caught.value)
        return
    assert "mine.cu" in caught.value.log
    x = np.array([1, 2, 3], np.float32)
    softwarp.Module.from_cuda(source).twice[1, 3](x)
    assert x.tolist() == [2, 4, 6]
    with pytest.raises(softwarp.Fault) as fault:
        softwarp.Module.from_cuda(source, ["-arch=compute_80"], name="mine.cu").twice[1, 4](x)
    assert (fault.value.source_file.rsplit("/")[-1], fault.value.source_line) == ("mine.cu", 1)


def test_compiled_kernels_of_triton_have_ptx():
    kernel = types.SimpleNamespace(asm={"ptx": SAXPY})
    assert "saxpy" in softwarp.Module.from_triton(kernel).kernels
    for wrong in (None, types.SimpleNamespace(asm={"cubin": b""}), types.SimpleNamespace()):
        with pytest.raises(TypeError, match="kernel is a"):
            softwarp.Module.from_triton(wrong)


def test_read_only_arrays_are_inputs_only():
    module = softwarp.Module(SAXPY)
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    x.setflags(write=False)
    module.saxpy[1, 4](2, x, y, 4)
    assert y.tolist() == [3] * 4
    y.setflags(write=False)
    with pytest.raises(ValueError, match="saxpy wrote to y, whose array is read-only"):
        module.saxpy[1, 4](2, x, y, 4)
    assert y.tolist() == [3] * 4


def test_wrong_arrays_are_named():
    module = softwarp.Module(SAXPY)
    y = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="array for x holds Python objects"):
        module.saxpy[1, 4](1, np.array([None] * 4), y, 4)
    shared = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4,), (0,))
    with pytest.raises(ValueError, match="array for y has elements that share memory"):
        module.saxpy[1, 4](1, y, shared, 4)
    with pytest.raises(TypeError, match="parameter n is .u32, and"):
        module.saxpy[1, 4](1, y, y, 4.5)
    with pytest.raises(ValueError, match="out is read-only"):
        out = np.zeros(4, np.float16)
        out.setflags(write=False)
        softwarp.convert(y, "f16", out=out)
    with pytest.raises(ValueError, match="out has elements that share memory"):
        softwarp.convert(y, "f16", out=np.lib.stride_tricks.as_strided(np.zeros(1, np.float16), (4,), (0,)))
    with pytest.raises(TypeError, match="out is a list"):
        softwarp.convert(y, "f16", out=[0] * 4)
    with pytest.raises(TypeError, match="out has float32"):
        softwarp.convert(y, "f16", out=np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="out has the shape"):
        softwarp.convert(y, "f16", out=np.zeros(5, np.float16))
    with pytest.raises(ValueError, match="axis 3"):
        softwarp.quantize(y, "mxfp4", axis=3)


def test_strided_arrays_are_arguments_and_results():
    module = softwarp.Module(SAXPY)
    x, y = np.arange(16, dtype=np.float32)[::4], np.zeros((4, 2), np.float32)
    module.saxpy[1, 4](1, x, y[:, 1], 4)
    assert y.tolist() == [[0, 0], [0, 4], [0, 8], [0, 12]]
    out = np.zeros((4, 2), np.float16)
    softwarp.convert(x, "f16", out=out[:, 0])
    assert out[:, 0].tolist() == [0, 4, 8, 12] and not out[:, 1].any()


def test_arrays_live_as_long_as_they_are_needed():
    module = softwarp.Module(SAXPY)
    x = module.array(np.ones(4, np.float32))
    launch = module.saxpy[1, 4]
    y = np.zeros(4, np.float32)
    del module
    gc.collect()
    launch(1, x, y, 4)
    assert y.tolist() == [1] * 4
    assert x.numpy().tolist() == [1] * 4


def _child(queue):
    x = np.linspace(-2, 2, 1 << 18, dtype=np.float32)
    y = np.zeros(1 << 12, np.float32)
    softwarp.Module(SAXPY).saxpy[16, 256](1, np.ones_like(y), y, y.size)
    codes = softwarp.convert(x, "e4m3").view(np.uint8)
    queue.put((int(codes.astype(np.uint64).sum()), float(y.sum()), softwarp.quantize(x, "mxfp4").error().max_abs))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_processes_work():
    import queue

    own = queue.Queue()
    _child(own)  # The threads of this process are there.
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    children = [context.Process(target=_child, args=(answers,), daemon=True) for _ in range(2)]
    for child in children:
        child.start()
    given = [answers.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert given == [own.get()] * 2


def test_a_fault_has_what_was_recorded():
    module = softwarp.Module(FROM_C, debug=True)
    with pytest.raises(softwarp.Fault) as caught:
        module.k.launch(1, 64, stats=True, coverage=True, trace=[(0, 3)])(np.zeros(40, np.float32))
    fault = pickle.loads(pickle.dumps(caught.value))
    for one in (caught.value, fault):
        counted = {row["text"].split()[0]: row["warps"] for row in one.stats}
        assert counted["mov.u32"] >= 1 and counted["ret;"] <= 1
        assert {"file", "line", "count"} == set(one.coverage[0]) and one.trace
    with pytest.raises(softwarp.Fault) as caught:
        module.k[1, 64](np.zeros(40, np.float32))
    assert caught.value.stats is None and caught.value.coverage is None and caught.value.trace is None


def test_traces_have_a_limit():
    module = softwarp.Module(FROM_C, debug=True)
    data = np.zeros(64, np.float32)
    whole = module.k.launch(1, 64, trace=[(0, 3)])(data)
    assert not whole.trace_truncated
    part = module.k.launch(1, 64, trace=[(0, 3)], trace_limit=2)(data)
    assert part.trace_truncated and len(part.trace) == 2 < len(whole.trace)
    assert [row["line"] for row in part.trace] == [row["line"] for row in whole.trace][:2]
    exact = module.k.launch(1, 64, trace=[(0, 3)], trace_limit=len(whole.trace))(data)
    assert not exact.trace_truncated


def test_modules_know_what_was_not_freed():
    text = HEAD + """
.extern .func (.param .b64 r) malloc(.param .b64 size);
.visible .entry keeps()
{
    .param .b64 size, given;
    st.param.b64 [size], 48;
    call (given), malloc, (size);
    ret;
}
"""
    module = softwarp.Module(text, sanitize="leak")
    assert module.leaks() == ()
    module.keeps[1, 2]()
    (leak,) = module.leaks()
    assert (leak.sanitizer, leak.count, leak.line, leak.kernel) == ("leak", 2, 10, "keeps")
