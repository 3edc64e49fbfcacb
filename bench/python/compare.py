"""Conversions by softwarp-bench, in Rust, and by the package softwarp, in Python, side by side on one thread.

    python bench/python/compare.py [--bench PROGRAM] [--rounds N]

It needs the packages softwarp (tools/python.sh builds it) and numpy. PROGRAM is softwarp-bench, from the same build as
the package; without it, cargo builds and runs the release. Both convert 16 Mi elements on one thread, in turn; each
one's best time over all rounds counts. Python's results go to an array that is there (out=), as Rust's do. FP4 is left
out: Rust packs two codes to a byte, and arrays of Python have a byte for each.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"

import numpy as np

import softwarp

ELEMENTS = 16 << 20
ROOT = Path(__file__).parents[2]
ROWS = (("f32", "e4m3"), ("f32", "e5m2"), ("f32", "f16"), ("f32", "bf16"), ("e4m3", "f32"))


def rust(program):
    """Seconds of each conversion, by its formats."""
    cargo = ["cargo", "run", "--release", "--quiet", "--package", "softwarp-bench", "--"]
    command = [program] if program else cargo
    done = subprocess.run([*command, "--json", str(ELEMENTS)], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    rows = json.loads(done.stdout)["rows"]
    return {(row["from"], row["to"]): row["seconds"]["softwarp"] for row in rows}


def python(rounds=20):
    """The same for the package."""
    random = np.random.default_rng(1)
    floats = (random.random(ELEMENTS, dtype=np.float32) * 16 - 8).astype(np.float32)
    codes = random.integers(0, 256, ELEMENTS, dtype=np.uint8)
    found = {}
    for source, to in ROWS:
        x, from_ = (floats, None) if source == "f32" else (codes, source)
        out = np.empty_like(softwarp.convert(x, to, from_=from_))
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            softwarp.convert(x, to, from_=from_, out=out)
            times.append(time.perf_counter() - start)
        found[source, to] = min(times)
    return found


def main():
    parser = argparse.ArgumentParser(description="softwarp-bench and the package softwarp, side by side")
    parser.add_argument("--bench", metavar="PROGRAM", help="softwarp-bench; built by cargo without it")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    by_rust, by_python = {}, {}
    for _ in range(arguments.rounds):
        for best, found in ((by_rust, rust(arguments.bench)), (by_python, python())):
            for row, seconds in found.items():
                best[row] = min(seconds, best.get(row, seconds))
    print("| | Rust, ms | Python, ms | Python / Rust |\n|---|---|---|---|")
    for row in ROWS:
        ours, theirs = by_python[row] * 1e3, by_rust[row] * 1e3
        print(f"| {row[0]}→{row[1]} | {theirs:.2f} | {ours:.2f} | {ours / theirs:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
