"""Jobs on the workers of executors."""

import multiprocessing
import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import softwarp

from test_ptx import RACE, SAXPY, WRONG

COUNTER = RACE.replace("forever() { L: bra L; }", """count(.param .u64 to)
{
    .reg .b32 %r;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    ld.global.u32 %r, [counter];
    add.u32 %r, %r, 1;
    st.global.u32 [counter], %r;
    st.global.u32 [%to], %r;
    ret;
}""")


def jobs(count=12):
    x = np.arange(64, dtype=np.float32)
    return [softwarp.Job(SAXPY, "saxpy", 2, 32, [a, x, np.zeros(64, np.float32), 64]) for a in range(count)]


def check(results):
    assert [result.fault for result in results] == [None] * len(results)
    for a, result in enumerate(results):
        assert (result.arguments[2] == a * np.arange(64)).all()
        assert result.report.ctas == 2


def pools():
    yield "threads", lambda: ThreadPoolExecutor(2)
    for method in ("spawn", "fork"):
        if method in multiprocessing.get_all_start_methods():
            yield method, lambda method=method: ProcessPoolExecutor(2, multiprocessing.get_context(method))


POOLS = dict(pools())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("pool", POOLS)
def test_jobs_run_on_workers(pool):
    mine = jobs()
    with POOLS[pool]() as executor:
        check(softwarp.map(mine, executor=executor))
        codes = softwarp.map(softwarp.convert, [np.float32([x]) for x in range(9)], to="e4m3", executor=executor)
        assert [float(one[0]) for one in codes] == list(range(9))
        found = softwarp.map(softwarp.check, [SAXPY, WRONG], ["sm_90", None], executor=executor)
        assert [len(one) for one in found] == [0, 1] and found[1][0].severity == "error"
        quantized = softwarp.map(softwarp.quantize, [np.ones(32, np.float32)], ["mxfp4"], executor=executor)
        assert quantized[0].dequantize().tolist() == [1] * 32
        stopped, ran = softwarp.map(
            [softwarp.Job(SAXPY, "saxpy", 1, 32, [1.0, np.zeros(n, np.float32), np.zeros(32, np.float32), 32])
             for n in (16, 32)], executor=executor)
        assert (stopped.fault.kind, stopped.fault.buffer, stopped.report) == ("out_of_bounds", "x", None)
        assert stopped.fault.thread == (16, 0, 0) and ran.fault is None
        with pytest.raises(softwarp.PtxError) as error:
            softwarp.map([softwarp.Job(WRONG, "k", 1, 1, [])], executor=executor)
        assert error.value.diagnostics[0].severity == "error"
    assert not mine[1].arguments[2].any()


def test_jobs_run_here():
    check(softwarp.map(jobs()))
    assert softwarp.map(softwarp.format, ["e4m3"])[0].bits == 8


def test_jobs_do_not_see_one_another():
    counting = [softwarp.Job(COUNTER, "count", 1, 1, [np.zeros(1, np.uint32)]) for _ in range(3)]
    assert [int(result.arguments[0][0]) for result in softwarp.map(counting)] == [8, 8, 8]


class Elsewhere(Executor):
    """Workers that have only what was sent to them, and that count texts."""

    _max_workers = 2

    def __init__(self):
        self.texts, self.jobs, self.calls = 0, 0, 0

    def submit(self, function, /, *args, **kwargs):
        import softwarp._map as inside

        sent = pickle.loads(pickle.dumps(args))
        self.calls += 1
        self.jobs += len(sent[0])
        self.texts += sum(one.text is not None for one in sent[0])
        if self.calls == 5:  # Another worker, which has nothing.
            inside._texts.clear()
        future = Future()
        future.set_result(function(*sent, **kwargs))
        return future


def test_a_module_is_sent_once_to_a_worker():
    executor = Elsewhere()
    check(softwarp.map(jobs(40), executor=executor))
    # Two with the first jobs; what the fifth and those submitted with it lacked came again.
    assert executor.texts < 2 + 9 and executor.jobs < 40 + 9


def test_many_jobs_are_sent_together():
    executor = Elsewhere()
    check(softwarp.map(jobs(640), executor=executor))
    # 16 at a time; what all in one piece lacked came again, one by one.
    assert executor.calls < 640 // 16 + 80 and executor.texts < 2 + 80


def test_wrong_calls_are_named():
    with pytest.raises(TypeError, match="job 0 is a str"):
        softwarp.map(["x"])
    with pytest.raises(TypeError, match="iterable"):
        softwarp.map(softwarp.convert)
    with pytest.raises(TypeError, match="functions"):
        softwarp.map([], [1])
    with pytest.raises(KeyError):
        softwarp.map([softwarp.Job(SAXPY, "nothing", 1, 1, [])])


def test_jobs_run_on_dask():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            check(softwarp.map(jobs(), executor=client.get_executor()))
