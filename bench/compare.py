#!/usr/bin/env python3
"""Softwarp against memcpy, half, minifloat, ml_dtypes and, where it is installed, torch: one run, one table.

usage: python3 bench/compare.py [ELEMENTS] [--torch]

Builds and runs bench/ as it is and once more with the machine's own features (others get the better of the two),
makes a virtual environment in bench/.venv with numpy and ml_dtypes (and torch with --torch; a torch already
importable is used in any case), times them on the same data sizes with one thread, best of several, and prints a
Markdown table: M elements/s, and the time as a multiple of softwarp's.
"""
import json, os, subprocess, sys, time, venv

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
ROUNDS = 7


def rust(elements):
    """Two builds in turn: as users get it, and with the machine's own features, which only the others need."""
    command = ["cargo", "run", "--release", "--quiet", "--manifest-path", os.path.join(HERE, "Cargo.toml"), "--", "--json", str(elements)]
    target = os.path.join(HERE, "..", "target")
    native = dict(os.environ, RUSTFLAGS="-C target-cpu=native", CARGO_TARGET_DIR=os.path.join(target, "bench"))
    ours, theirs = (json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout)
                    for env in (dict(os.environ), native))
    for row, other in zip(ours["rows"], theirs["rows"]):
        for name, seconds in other["seconds"].items():
            if not name.startswith("softwarp"):
                row["seconds"][name] = min(row["seconds"][name], seconds)
    return ours


def best(run):
    run()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def python(elements):
    """Runs inside the virtual environment: {"other": {"from→to": seconds}}."""
    import numpy, ml_dtypes
    floats = (numpy.random.default_rng(1).random(elements, dtype=numpy.float32) * 16 - 8).astype(numpy.float32)
    codes = numpy.random.default_rng(2).integers(0, 256, elements, dtype=numpy.uint8)
    kinds = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m1": ml_dtypes.float4_e2m1fn,
             "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}
    found = {"ml_dtypes": {f"f32→{name}": best(lambda: floats.astype(kind)) for name, kind in kinds.items()}}
    found["ml_dtypes"]["e4m3→f32"] = best(lambda: codes.view(kinds["e4m3"]).astype(numpy.float32))
    found["ml_dtypes"]["e2m1→f32"] = best(lambda: (codes & 15).view(kinds["e2m1"]).astype(numpy.float32))
    try:
        import torch
    except ImportError:
        return found
    torch.set_num_threads(1)
    tensor, bits = torch.from_numpy(floats), torch.from_numpy(codes)
    kinds = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "f16": torch.float16, "bf16": torch.bfloat16}
    found["torch"] = {f"f32→{name}": best(lambda: tensor.to(kind)) for name, kind in kinds.items()}
    found["torch"]["e4m3→f32"] = best(lambda: bits.view(torch.float8_e4m3fn).to(torch.float32))
    return found


def main():
    numbers = [argument for argument in sys.argv[1:] if argument.isdigit()]
    elements = int(numbers[0]) if numbers else 16 << 20
    if "--inside" in sys.argv:
        print(json.dumps(python(elements)))
        return
    if not os.path.exists(PYTHON):
        venv.create(VENV, with_pip=True, system_site_packages=True)
    packages = ["numpy", "ml_dtypes"] + (["torch"] if "--torch" in sys.argv else [])
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *packages], check=True)
    ours = rust(elements)
    inside = subprocess.run([PYTHON, __file__, str(elements), "--inside"], check=True, stdout=subprocess.PIPE)
    theirs = json.loads(inside.stdout)

    columns = ["memcpy", "softwarp", "softwarp, 2 threads", "half", "minifloat", "ml_dtypes", "torch"]
    print(f"{elements} elements, {ours['level']}; M elements/s, and in brackets the time as a multiple of softwarp's.\n")
    print("| | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 1))
    for row in ours["rows"]:
        name = f"{row['from']}→{row['to']}"
        times = dict(row["seconds"], **{other: rows[name] for other, rows in theirs.items() if name in rows})
        cells = [f"{elements / times[c] / 1e6:.0f} ({times[c] / times['softwarp']:.2f})" if c in times else "–" for c in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
