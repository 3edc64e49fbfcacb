"""Compiles clang/*.c with the clang inside the `ziglang` package (see record.py for what becomes of the modules)."""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# GPU, PTX, flags, variant
TARGETS = [
    ("sm_75", "ptx64", ["-O0"], "O0"),
    ("sm_80", "ptx80", ["-O2"], ""),
    ("sm_80", "ptx80", ["-O1", "-g", "-gdwarf-2"], "g"),
    ("sm_90a", "ptx86", ["-O2", "-gline-tables-only"], "lines"),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", type=pathlib.Path, required=True)
    parser.add_argument("--zig", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    ptxas = args.cuda / "nvidia" / "cu13" / "bin" / "ptxas"
    folder = args.out / "clang"
    folder.mkdir(parents=True, exist_ok=True)
    with open(args.out / "index-clang.jsonl", "w") as index:
        for source in sorted((HERE / "clang").glob("*.c")):
            for arch, ptx, flags, variant in TARGETS:
                name = "_".join(part for part in [source.stem, variant, arch] if part)
                path = folder / f"{name}.ptx"
                call = [args.zig, "clang", "--target=nvptx64-nvidia-cuda", f"-march={arch}", "-Xclang", "-target-feature",
                        "-Xclang", f"+{ptx}", "-w", *flags, "-S", source.name, "-o", path]
                done = subprocess.run(call, capture_output=True, text=True, cwd=source.parent)
                if done.returncode == 0:
                    call = [ptxas, f"-arch={arch}", path, "-o", "/dev/null"]
                    done = subprocess.run(call, capture_output=True, text=True)
                if done.returncode:
                    print(f"{name}: {done.stderr[:600]}", file=sys.stderr)
                    path.unlink(missing_ok=True)
                    continue
                print(json.dumps({"name": name, "origin": "clang", "arch": arch, "mode": "exe"}), file=index)


main()
