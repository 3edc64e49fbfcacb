"""Makes real.jsonl.gz: modules as compilers write them, each accepted by NVIDIA's assembler.

    python record.py --cuda FOLDER --out FOLDER [--only WORD]

FOLDER is where `pip install --target` put the packages named in README.md. Modules are written to
OUT/<origin>/<name>.ptx with OUT/index.jsonl beside them; `python pack.py` makes the golden file of them.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent

# What the sources are compiled for, unless the table below says otherwise.
TARGETS = ["sm_75", "sm_90a", "sm_100a"]

# Sources that need a newer target.
NEEDS = {
    "bfloat": ["sm_80", "sm_90a", "sm_100a"],
    "async_copies": ["sm_90a", "sm_100a"],
    "tensor_maps": ["sm_90a", "sm_100a"],
    "wgmma": ["sm_90a"],
    "tcgen05": ["sm_100a"],
    "libcu": ["sm_75", "sm_90a"],
    "blocks": ["sm_75", "sm_90a"],
}

# name: (flags, the sources to compile with them, targets)
VARIANTS = {
    "G": (["-G"], ["arithmetic", "calls", "control", "memories", "shared_memory", "textures", "launch"], ["sm_75", "sm_90a"]),
    "lineinfo": (["-lineinfo"], ["atomics", "calls", "gemm", "math", "warps", "control"], ["sm_75", "sm_90a"]),
    "fast": (["--use_fast_math"], ["math", "gemm", "arithmetic"], ["sm_90a"]),
    "O0": (["-Xcicc", "-O0"], ["calls", "vectors", "control"], ["sm_90a"]),
    "rdc": (["-rdc=true"], ["linked", "calls", "memories", "cooperative", "shared_memory"], TARGETS),
    "older": ([], ["arithmetic", "half", "warps"], ["sm_80", "sm_86", "sm_89", "sm_120a", "sm_103f"]),
}


def mode_flags(mode):
    return ["-c"] if mode == "rdc" else []


def accepted(ptxas, path, arch, mode):
    """Whether the assembler takes the module; its words if not."""
    call = [ptxas, *mode_flags(mode), f"-arch={arch}", str(path), "-o", "/dev/null"]
    done = subprocess.run(call, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stdout + done.stderr


def plan():
    for source in sorted((HERE / "cuda").glob("*.cu")):
        if source.stem != "linked":
            for arch in NEEDS.get(source.stem, TARGETS):
                yield source, "", [], arch, "exe"
    for variant, (flags, names, archs) in VARIANTS.items():
        for name in names:
            for arch in archs:
                mode = "rdc" if variant == "rdc" else "exe"
                yield HERE / "cuda" / f"{name}.cu", variant, flags, arch, mode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    root = args.cuda / "nvidia" / "cu13"
    nvcc, ptxas = root / "bin" / "nvcc", root / "bin" / "ptxas"
    folder = args.out / "nvcc"
    folder.mkdir(parents=True, exist_ok=True)
    refused = 0
    with open(args.out / "index-nvcc.jsonl", "a" if args.only else "w") as index:
        for source, variant, flags, arch, mode in plan():
            name = "_".join(part for part in [source.stem, variant, arch] if part)
            if args.only and args.only not in name:
                continue
            path = folder / f"{name}.ptx"
            call = [nvcc, "-ptx", f"-arch={arch}", "-std=c++17", "-w", *flags, source.name, "-o", path,
                    "-I", root / "include" / "cccl"]
            done = subprocess.run(call, capture_output=True, text=True, cwd=source.parent)
            why = done.stderr if done.returncode else accepted(ptxas, path, arch, mode)
            if why:
                print(f"{name}: {why.strip()[:600]}", file=sys.stderr)
                path.unlink(missing_ok=True)
                refused += 1
                continue
            print(json.dumps({"name": name, "origin": "nvcc", "arch": arch, "mode": mode}), file=index, flush=True)
    print(f"{refused} refused")


main()
