"""Times a sweep of launches with softwarp.map: here, and on one and two processes.

    python bench/python/scale.py [JOBS [ROUNDS]]

It needs the packages softwarp (tools/python.sh builds it) and numpy. Every process has one thread for its launches, so
that workers do not share cores within a launch. The best of the rounds counts.
"""

import os
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import softwarp

# Every thread iterates x = a x (1 - x): a sweep over a.
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry logistic(.param .f32 a, .param .u64 data, .param .u32 steps)
{
    .reg .pred %more;
    .reg .b32 %i, %b, %n, %left;
    .reg .b64 %p;
    .reg .f32 %a, %x, %y;
    mov.u32 %i, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %b, %tid.x;
    mad.lo.u32 %i, %i, %n, %b;
    ld.param.f32 %a, [a];
    ld.param.u64 %p, [data];
    ld.param.u32 %left, [steps];
    mad.wide.u32 %p, %i, 4, %p;
    ld.global.f32 %x, [%p];
again:
    mul.f32 %y, %a, %x;
    neg.f32 %x, %x;
    fma.rn.f32 %x, %x, %y, %y;
    sub.u32 %left, %left, 1;
    setp.ne.u32 %more, %left, 0;
    @%more bra again;
    st.global.f32 [%p], %x;
    ret;
}
"""


def timed(rounds, run):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        results = run()
        times.append(time.perf_counter() - start)
        assert all(result.fault is None for result in results)
    return min(times)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    start = np.linspace(0.1, 0.9, 4096, dtype=np.float32)
    jobs = [softwarp.Job(PTX, "logistic", 16, 256, [a, start, 1000]) for a in np.linspace(2.5, 4, count)]
    softwarp.map(jobs[:1])
    alone = timed(rounds, lambda: softwarp.map(jobs))
    print(f"{'here':12} {alone:.2f} s")
    for workers in (1, 2):
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context) as pool:
            softwarp.map(jobs[: 4 * workers], executor=pool)
            took = timed(rounds, lambda: softwarp.map(jobs, executor=pool))
        print(f"{workers} process{'es' if workers > 1 else '':3} {took:.2f} s ({alone / took:.2f} times as fast)")


if __name__ == "__main__":
    main()
