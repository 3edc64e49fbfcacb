"""Times the conversion of 16 Mi elements from f32 to e4m3 on one thread: softwarp.convert, and astype of ml_dtypes.

    python bench/python/convert.py [ROUNDS]

It needs the packages softwarp (tools/python.sh builds it), numpy and ml_dtypes. The best of the rounds counts.
"""

import os
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"

import ml_dtypes
import numpy as np

import softwarp

ELEMENTS = 16 << 20


def best(rounds, convert):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        convert()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    # In range, where both give the same codes: beyond it ml_dtypes gives NaN, and PTX saturates.
    x = np.random.default_rng(1).normal(0, 20, ELEMENTS).astype(np.float32)
    out = np.empty(ELEMENTS, ml_dtypes.float8_e4m3fn)
    assert np.array_equal(softwarp.convert(x, "e4m3").view(np.uint8), x.astype(out.dtype).view(np.uint8))
    rows = [
        ("softwarp.convert(x, 'e4m3')", lambda: softwarp.convert(x, "e4m3")),
        ("softwarp.convert(x, 'e4m3', out=out)", lambda: softwarp.convert(x, "e4m3", out=out)),
        ("x.astype(ml_dtypes.float8_e4m3fn)", lambda: x.astype(ml_dtypes.float8_e4m3fn)),
    ]
    for name, convert in rows:
        seconds = best(rounds, convert)
        print(f"{name:40} {seconds * 1e3:8.1f} ms  {ELEMENTS / seconds / 1e6:8.0f} M elements/s")


if __name__ == "__main__":
    main()
