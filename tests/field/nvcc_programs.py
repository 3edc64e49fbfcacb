#!/usr/bin/env python3
"""Builds CUDA programs with nvcc and runs them on softwarp's libraries.

    python3 tests/field/nvcc_programs.py samples CHECKOUT [--only NAME ...]
    python3 tests/field/nvcc_programs.py hecbench CHECKOUT [--only NAME ...]

CHECKOUT is a clone of https://github.com/NVIDIA/cuda-samples (commit c94ff366) or of
https://github.com/zjin-lcf/HeCBench (commit f27000a5). nvcc is found by --nvcc, $NVCC or PATH; the packages
nvidia-cuda-nvcc, nvidia-cuda-crt, nvidia-nvvm, nvidia-cuda-runtime, nvidia-cuda-cccl, nvidia-cuda-nvrtc 13.4 have it.
The libraries are built before by `cargo build --release -p softwarp-cli -p softwarp-cuda -p softwarp-cudart`.

A program passes if it ends with 0 and prints no failure. A program that waives its test (exit status 2 of the samples)
is skipped, as is one that needs graphics, MPI or a closed library. Results go to --out as JSON, one line a program.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ["0_Introduction", "2_Concepts_and_Techniques", "3_CUDA_Features", "6_Performance"]
CLOSED = {
    "graphics": r"GL/|GLFW|GLUT|freeglut|EGL/|cudaGL|cuda_gl_interop|vulkan",
    "MPI": r"mpi\.h",
    "cuBLAS": r"cublas",
    "cuRAND": r"curand\.h|curand\.hpp",
    "cuFFT": r"cufft",
    "cuSPARSE": r"cusparse",
    "cuSOLVER": r"cusolver",
    "cuDNN": r"cudnn",
    "NPP": r"npp\.h|nppi",
    "NCCL": r"nccl\.h",
    "NVSHMEM": r"nvshmem",
    "Boost, GSL or OpenCV": r"boost/|gsl/|opencv",
}
FAILURE = re.compile(r"\bFAIL(ED|URE)?\b|\bTest failed\b|verification failed|mismatch", re.I)
SUCCESS_WORDS = re.compile(r"failed as expected|0 FAIL|no mismatch|mismatches: 0|FAILED = 0|failed: 0", re.I)


def sources(folder):
    """The files of a program."""
    return sorted(p for p in folder.rglob("*") if p.suffix in {".cu", ".cpp", ".c", ".cc"} and p.is_file())


def needs(files, headers):
    """The closed library that a program needs, or None."""
    text = "".join(p.read_text(errors="replace") for p in files + headers)
    for name, pattern in CLOSED.items():
        if re.search(r"#\s*include\s*[<\"][^>\"\n]*(" + pattern + ")", text):
            return name
    return None


class Runner:
    """Builds and runs programs."""

    def __init__(self, args):
        self.args = args
        self.work = pathlib.Path(args.work).resolve()
        self.nvcc = args.nvcc or os.environ.get("NVCC") or shutil.which("nvcc")
        if not self.nvcc:
            sys.exit("nvcc was not found: give --nvcc PATH")
        cuda = pathlib.Path(self.nvcc).resolve().parent.parent
        self.include = [cuda / "include", cuda / "include" / "cccl"]
        self.libraries = self.work / "lib"
        self.libraries.mkdir(parents=True, exist_ok=True)
        release = pathlib.Path(args.release).resolve()
        names = {"libcuda.so": ["libcuda.so", "libcuda.so.1"], "libcudart.so": ["libcudart.so", "libcudart.so.13"]}
        for built, links in names.items():
            for link in links:
                place = self.libraries / link
                place.unlink(missing_ok=True)
                place.symlink_to(release / built)
        nvrtc = cuda / "lib"
        for built in nvrtc.glob("libnvrtc.so.*"):
            place = self.libraries / "libnvrtc.so"
            place.unlink(missing_ok=True)
            place.symlink_to(built)
        self.environment = dict(
            os.environ,
            LD_LIBRARY_PATH=f"{self.libraries}:{nvrtc}",
            CUDA_PATH=str(cuda),
            SOFTWARP_THREADS=str(args.threads),
        )

    def flags(self, name):
        """The flags of the compiler."""
        flags = ["-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90", "-std=c++17", "-O2", "-w"]
        flags += ["--extended-lambda", "-L", str(self.libraries), "-lcuda"]
        if re.match(r"cdp", name):
            flags += ["-rdc=true"]
        for path in self.include:
            flags += ["-I", str(path)]
        return flags

    def call(self, command, folder, limit):
        """Runs a command; returns its status, its output and its time."""
        begin = time.time()
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=limit,
            )
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = "time limit", late.stdout or b""
        return status, output.decode(errors="replace"), round(time.time() - begin, 1)

    def judge(self, name, program, arguments, folder):
        """Runs a program and says whether it passed."""
        status, output, seconds = self.call([program, *arguments], folder, self.args.limit)
        tail = output[-1500:]
        if status == 2 and self.args.suite == "samples":
            return {"name": name, "result": "skipped", "why": "waived by itself", "output": tail}
        failed = FAILURE.search(SUCCESS_WORDS.sub("", output))
        good = status == 0 and not failed
        result = {"name": name, "result": "passed" if good else "failed", "seconds": seconds, "status": status}
        return result if good else dict(result, output=tail)

    def compile(self, name, command, folder):
        """Builds; returns a result if that fails."""
        status, output, _ = self.call(command, folder, self.args.limit)
        if status != 0:
            return {"name": name, "result": "not built", "why": output[-600:] or str(status)}
        return None

    def sample(self, folder):
        """One of NVIDIA's samples."""
        name = folder.name
        files = sources(folder)
        headers = [p for p in folder.rglob("*.h*") if p.suffix in {".h", ".hpp", ".cuh"}]
        lacks = needs(files, headers)
        if lacks:
            return {"name": name, "result": "skipped", "why": f"needs {lacks}"}
        out = self.work / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        text = "".join(p.read_text(errors="replace") for p in files)
        extra = ["-I", str(folder), "-I", str(folder / "inc"), "-I", str(folder.parents[2] / "Common")]
        loaded = re.findall(r"\"([\w.]+?)(64)?\.(fatbin|ptx)\"", text)
        nvrtc = "nvrtc" in text
        kernels = [p for p in files if p.suffix == ".cu"] if loaded or nvrtc else []
        if not any(p.suffix == ".cpp" for p in files):
            kernels = []
        compiled = [p for p in files if p not in kernels]
        included = {pathlib.Path(n).name for n in re.findall(r"#include\s+\"([^\"]+\.(?:cu|cpp|c))\"", text)}
        compiled = [p for p in compiled if p.name not in included]
        flags = self.flags(name) + extra + (["-lnvrtc"] if nvrtc else [])
        flags += ["-Xcompiler", "-fopenmp"]
        fail = self.compile(name, [self.nvcc, *map(str, compiled), "-o", str(out / name), *flags], out)
        if fail:
            return fail
        for path in kernels:
            shutil.copy(path, out)
            for stem, bits, kind in loaded:
                target = out / f"{stem}{bits}.{kind}"
                if path.stem.startswith(stem.removesuffix("64").rstrip("_")[:8]) and not target.exists():
                    how = ["-fatbin" if kind == "fatbin" else "-ptx", str(path), "-o", str(target)]
                    self.compile(name, [self.nvcc, *how, *flags[4:8], *extra], out)
        if (folder / "data").is_dir():
            shutil.copytree(folder / "data", out / "data")
        return self.judge(name, str(out / name), self.args.arguments.get(name, []), out)

    def hecbench(self, folder):
        """One program of HeCBench."""
        name = folder.name.removesuffix("-cuda")
        files = sources(folder)
        headers = [p for p in folder.rglob("*.h*") if p.suffix in {".h", ".hpp", ".cuh"}]
        lacks = needs(files, headers)
        if lacks:
            return {"name": name, "result": "skipped", "why": f"needs {lacks}"}
        out = self.work / name
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folder, out)
        flags = " ".join(self.flags(name) + ["-Xcompiler", "-fopenmp", "-I../include", f"-I{folder.parents[1]}/src/include"])
        command = ["make", f"CC={self.nvcc} {flags}", f"LDFLAGS={flags}", "ARCH=compute_90", "program=main"]
        fail = self.compile(name, command, out)
        if fail:
            return fail
        arguments = self.args.arguments.get(name)
        if arguments is None:
            make = (out / "Makefile").read_text(errors="replace")
            line = re.search(r"^run:.*\n\t(?:\S*LAUNCHER\)? )?\s*\./\$\((?:program)\)(.*)$", make, re.M)
            arguments = line.group(1).split() if line else []
        return self.judge(name, str(out / "main"), arguments, out)


def programs(args):
    """The folders of a suite."""
    root = pathlib.Path(args.checkout).resolve()
    if args.suite == "samples":
        folders = [p for part in SAMPLES for p in sorted((root / "Samples" / part).iterdir()) if p.is_dir()]
    else:
        folders = sorted((root / "src").glob("*-cuda"))
    if args.only:
        folders = [p for p in folders if p.name.removesuffix("-cuda") in args.only]
    return folders


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=["samples", "hecbench"])
    parser.add_argument("checkout")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--nvcc")
    parser.add_argument("--release", default=str(ROOT / "target" / "release"), help="the folder of the libraries")
    parser.add_argument("--work", default="/tmp/softwarp-field", help="a folder for what is built")
    parser.add_argument("--out", default="results.jsonl")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each command")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    table = pathlib.Path(__file__).with_name(f"{args.suite}_arguments.json")
    args.arguments = json.loads(table.read_text()) if table.exists() else {}
    runner = Runner(args)
    counts = {}
    with open(args.out, "a") as out:
        for folder in programs(args):
            result = runner.sample(folder) if args.suite == "samples" else runner.hecbench(folder)
            counts[result["result"]] = counts.get(result["result"], 0) + 1
            out.write(json.dumps(result) + "\n")
            out.flush()
            shown = f"{result['result']:10} {result['name']} {result.get('why', '')[:100]!r}"
            print(shown, result.get("seconds", ""), flush=True)
    ran = counts.get("passed", 0) + counts.get("failed", 0)
    print(f"{counts.get('passed', 0)} of {ran} passed", counts)


if __name__ == "__main__":
    main()
