"""A sweep of kernel variants with softwarp.map: here, and on one and two processes.

    python bench/python/variants.py [VARIANTS [ROUNDS]]

Every variant is a module of its own: a polynomial of some degree with its coefficients in the text, and some elements
for each thread. It is checked, loaded, launched, and its results are compared with NumPy's. It needs the packages
softwarp (tools/python.sh builds it) and numpy. Every process has one thread for its launches. The best of the rounds
counts.
"""

import os
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import softwarp

ELEMENTS = 4096
X = np.linspace(-1, 1, ELEMENTS, dtype=np.float32)


def text(coefficients, elements):
    """A kernel that evaluates a polynomial, at this number of elements in each thread."""
    bits = [f"0f{np.float32(one).view(np.uint32):08x}" for one in coefficients]
    body = []
    for element in range(elements):
        body.append(f"    ld.global.f32 %x, [%p+{4 * element}];\n    mov.f32 %y, {bits[0]};")
        body += [f"    fma.rn.f32 %y, %y, %x, {one};" for one in bits[1:]]
        body.append(f"    st.global.f32 [%q+{4 * element}], %y;")
    lines = "\n".join(body)
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry polynomial(.param .u64 from, .param .u64 to)
{{
    .reg .b32 %i, %n, %c;
    .reg .b64 %p, %q;
    .reg .f32 %x, %y;
    mov.u32 %c, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %c, %n, %i;
    mul.lo.u32 %i, %i, {elements};
    ld.param.u64 %p, [from];
    ld.param.u64 %q, [to];
    mad.wide.u32 %p, %i, 4, %p;
    mad.wide.u32 %q, %i, 4, %q;
{lines}
    ret;
}}
"""


def variants(count):
    """Jobs, and the coefficients of each."""
    random = np.random.default_rng(1)
    to = np.zeros(ELEMENTS, np.float32)
    for number in range(count):
        coefficients = random.standard_normal(4 + number % 13).astype(np.float32)
        elements = 1 << number % 4
        grid = ELEMENTS // 128 // elements
        yield softwarp.Job(text(coefficients, elements), "polynomial", grid, 128, [X, to]), coefficients


def right(result, coefficients):
    wanted = np.polyval(coefficients.astype(np.float64), X.astype(np.float64))
    return result.fault is None and np.allclose(result.arguments[1], wanted, atol=1e-4)


def timed(rounds, run):
    """The best time, the processor time of this process in that round, and results."""
    times = []
    for _ in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        results = run()
        times.append((time.perf_counter() - start, time.process_time() - used))
    return *min(times), results


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    both = list(variants(count))
    jobs = [job for job, _ in both]
    print(f"{count} variants, {sum(len(job.ptx) for job in jobs) / 1e6:.1f} MB of PTX")
    alone, _, results = timed(rounds, lambda: softwarp.map(jobs))
    print(f"{'here':12} {alone:.2f} s, {alone / count * 1e3:.2f} ms each")
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            softwarp.map(jobs[: 4 * workers], executor=pool)
            took, used, results = timed(rounds, lambda: softwarp.map(jobs, executor=pool))
        name = f"{workers} process{'es' if workers > 1 else ''}"
        print(f"{name:12} {took:.2f} s, {alone / took:.2f} times as fast; {used:.2f} s of work here")
    assert all(right(result, coefficients) for result, (_, coefficients) in zip(results, both))


if __name__ == "__main__":
    main()
