#!/usr/bin/env python3
"""Builds CUDA programs with nvcc and runs them on softwarp's libraries.

    python3 tests/field/nvcc_programs.py samples CHECKOUT [--only NAME ...]
    python3 tests/field/nvcc_programs.py hecbench CHECKOUT [--only NAME ...]

CHECKOUT is a clone of https://github.com/NVIDIA/cuda-samples (commit c94ff366) or of
https://github.com/zjin-lcf/HeCBench (commit f27000a5). nvcc is found by --nvcc, $NVCC or PATH; the packages
nvidia-cuda-nvcc, nvidia-cuda-crt, nvidia-nvvm, nvidia-cuda-runtime, nvidia-cuda-cccl, nvidia-cuda-nvrtc 13.4 have it.
The libraries and `softwarp exec`, which runs the programs, are built before by `cargo build --release`.

The programs of HeCBench are built in the checkout itself, once, and run with fewer repetitions and, if that takes too
long, with smaller sizes (hecbench.py). Sizes of samples are in samples_arguments.json. cuRAND's headers for kernels
(package nvidia-curand) are found by --include.

A program passes if it ends with 0 and prints no failure. A program that waives its test (exit status 2 of the samples)
is skipped, as is one that needs graphics, MPI or a closed library. Results go to --out as JSON, one line a program.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import hecbench

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
    "memory shared between processes": r"helper_multiprocess",
}
FAILURE = re.compile(r"\bFAIL(ED|URE)?\b|\bTest failed\b|verification failed|mismatch", re.I)
SUCCESS_WORDS = re.compile(r"failed as expected|0 FAIL|no mismatch|mismatches: 0|FAILED = 0|failed: 0", re.I)


def sources(folder):
    """The files of a program."""
    return sorted(p for p in folder.rglob("*") if p.suffix in {".cu", ".cpp", ".c", ".cc"} and p.is_file())


def headers_of(folder):
    """The headers of a program."""
    return sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".hpp", ".cuh"} and p.is_file())


def needs(files, headers):
    """The closed library that a program needs, or None."""
    text = "".join(p.read_text(errors="replace") for p in files + headers)
    for name, pattern in CLOSED.items():
        if re.search(r"#\s*include\s*[<\"][^>\"\n]*(" + pattern + ")", text):
            return name
    return None


def with_constants(folder, constants):
    """Gives constants of a program's sources other values: `#define NAME 512`, `const int NAME = 512`, or a number."""
    for path in sources(folder) + [p for p in folder.rglob("*.h") if p.is_file()]:
        text = changed = path.read_text(errors="surrogateescape")
        for name, value in constants.items():
            pattern = rf"(#\s*define\s+{name}\s+|\bconst\s+[\w ]+\b{name}\s*=\s*)[^\s;/][^;/\n]*"
            if name.isdigit():
                pattern = rf"\b(){name}\b"
            changed = re.sub(pattern, rf"\g<1>{value}", changed)
        if changed != text:
            path.write_text(changed, errors="surrogateescape")


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
        self.include += args.include
        self.libraries = self.work / "lib"
        self.libraries.mkdir(parents=True, exist_ok=True)
        release = self.release = pathlib.Path(args.release).resolve()
        self.softwarp = str(release / "softwarp")
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
        )

    def flags(self, name):
        """The flags of the compiler."""
        flags = ["-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90", "-w"]
        flags += ["--extended-lambda", "-L", str(self.libraries), "-lcuda"]
        if re.match(r"cdp", name):
            flags += ["-rdc=true"]
        for path in self.include:
            flags += ["-I", str(path)]
        return flags

    def call(self, command, folder, limit):
        """Runs a command; returns its status, its output and its time."""
        begin = time.time()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1)),
        )
        try:
            output, _ = process.communicate(timeout=self.args.patience * limit)
            status = process.returncode
            if status in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
                status = "time limit"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            status = "time limit"
        return status, output.decode(errors="replace"), round(time.time() - begin, 1)

    def judge(self, name, program, arguments, folder):
        """Runs a program and says whether it passed."""
        # Reports of faults are kept apart: some programs expect a fault.
        report = self.work / f"{name}.report"
        report.unlink(missing_ok=True)
        run = [self.softwarp, "exec", "--quiet", "--lib", str(self.release), "--report", str(report)]
        run += ["--threads", str(self.args.threads), "--"]
        status, output, seconds = self.call([*run, program, *arguments], folder, self.args.limit)
        tail = output[-1500:] + (report.read_text(errors="replace")[:1500] if report.exists() else "")
        if status == 2 and self.args.suite == "samples":
            return {"name": name, "result": "skipped", "why": "waived by itself", "output": tail}
        failed = FAILURE.search(SUCCESS_WORDS.sub("", output))
        good = status == 0 and not failed
        result = {"name": name, "result": "passed" if good else "failed", "seconds": seconds, "status": status}
        return result if good else dict(result, output=tail)

    def compile(self, name, command, folder):
        """Builds; returns a result if that fails."""
        status, output, _ = self.call(command, folder, self.args.build_limit)
        if status != 0:
            return {"name": name, "result": "not built", "why": output[-600:] or str(status)}
        return None

    def sample(self, folder):
        """One of NVIDIA's samples."""
        name = folder.name
        files = sources(folder)
        headers = headers_of(folder)
        lacks = needs(files, headers)
        if lacks:
            return {"name": name, "result": "skipped", "why": f"needs {lacks}"}
        out = self.work / name
        shutil.rmtree(out, ignore_errors=True)
        given = self.args.arguments.get(name, {})
        if "constants" in given:
            copy = self.work / "sources" / folder.parent.name / name
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            with_constants(copy, given["constants"])
            common, folder = folder.parents[2] / "Common", copy
            files = sources(folder)
        else:
            common = folder.parents[2] / "Common"
        out.mkdir(parents=True)
        text = "".join(p.read_text(errors="replace") for p in files)
        extra = ["-I", str(folder), "-I", str(folder / "inc"), "-I", str(common)]
        loaded = re.findall(r"\"([\w.]+?)(64)?\.(fatbin|ptx)\"", text)
        nvrtc = "nvrtc" in text
        kernels = [p for p in files if p.suffix == ".cu"] if loaded or nvrtc else []
        if not any(p.suffix == ".cpp" for p in files):
            kernels = []
        compiled = [p for p in files if p not in kernels]
        included = {pathlib.Path(n).name for n in re.findall(r"#include\s+\"([^\"]+\.(?:cu|cpp|c))\"", text)}
        compiled = [p for p in compiled if p.name not in included]
        flags = self.flags(name) + ["-std=c++17", "-O2"] + extra + (["-lnvrtc"] if nvrtc else [])
        flags += ["-Xcompiler", "-fopenmp"]
        fail = self.compile(name, [self.nvcc, *map(str, compiled), "-o", str(out / name), *flags], out)
        if fail:
            return fail
        for path in headers if nvrtc else []:
            shutil.copy(path, out)
        for path in kernels:
            shutil.copy(path, out)
            for stem, bits, kind in loaded:
                target = out / f"{stem}{bits}.{kind}"
                if path.stem.startswith(stem.removesuffix("64").rstrip("_")[:8]) and not target.exists():
                    how = ["-fatbin" if kind == "fatbin" else "-ptx", str(path), "-o", str(target)]
                    self.compile(name, [self.nvcc, *how, *flags[4:8], *extra], out)
        make = folder / "CMakeLists.txt"
        if nvrtc and make.exists() and "cooperative_groups" in make.read_text():
            # As its CMakeLists.txt does: NVRTC looks for these headers beside the program.
            for name_of, parent in {"cooperative_groups.h": 0, "cooperative_groups": 0, "nv": 1, "cuda": 1}.items():
                at = self.include[parent] / name_of
                (shutil.copytree if at.is_dir() else shutil.copy)(at, out / name_of)
        if (folder / "data").is_dir():
            shutil.copytree(folder / "data", out / "data")
        return self.judge(name, str(out / name), given.get("arguments", []), out)

    def hecbench(self, folder):
        """One program of HeCBench."""
        name = folder.name.removesuffix("-cuda")
        files = sources(folder)
        headers = headers_of(folder)
        lacks = needs(files, headers)
        if not (folder / "Makefile").exists():
            lacks = "a Makefile"
        elif any(folder.rglob("*.dvc")):
            lacks = "data that are not in the repository"
        if lacks:
            return {"name": name, "result": "skipped", "why": f"needs {lacks}"}
        out = folder
        tools = self.work / "tools"
        hecbench.wrapper(tools, self.nvcc, self.flags(name) + ["-Xcompiler", "-fopenmp"])
        self.environment = hecbench.path_with(tools, self.environment)
        program = hecbench.program_name(out)
        built = out / "softwarp-built"
        if not built.exists():
            with_constants(out, self.args.arguments.get(name, {}).get("constants", {}))
            fail = self.compile(name, ["make"], out)
            if fail:
                return fail
            built.write_text("")
        if self.args.build:
            return {"name": name, "result": "built"}
        _, lines, _ = self.call(["make", "-n", "run", "LAUNCHER="], out, self.args.limit)
        called = hecbench.names(out)
        own = hecbench.command(lines, program, called, None)
        if own is None:
            return {"name": name, "result": "skipped", "why": "its Makefile does not say how it is run"}
        absent = [word for word in own.split() if word.startswith("../") and not (out / word).exists()]
        if absent:
            return {"name": name, "result": "skipped", "why": f"needs {absent[0]}, which is not in the repository"}
        commands = [hecbench.command(lines, program, called, level) for level in (0, 2, 4)]
        given = self.args.arguments.get(name, {}).get("arguments")
        if given:
            commands = [f"./{program} {' '.join(given)}"]
        for command in dict.fromkeys(commands):
            result = dict(self.judge(name, "/bin/bash", ["-c", command], out), command=command)
            if result["status"] != "time limit":
                break
        # Some checks only hold for the sizes of the Makefile.
        if result["result"] == "failed" and result["status"] != "time limit" and command != own:
            result = dict(self.judge(name, "/bin/bash", ["-c", own], out), command=own)
        return result


def programs(args):
    """The folders of a suite."""
    root = pathlib.Path(args.checkout).resolve()
    if args.suite == "samples":
        folders = [p for part in SAMPLES for p in sorted((root / "Samples" / part).iterdir()) if p.is_dir()]
    else:
        folders = sorted((root / "src").glob("*-cuda"))
    if args.only:
        folders = [p for p in folders if p.name.removesuffix("-cuda") in args.only]
    return folders[args.first :: args.every]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=["samples", "hecbench"])
    parser.add_argument("checkout")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--nvcc")
    parser.add_argument("--release", default=str(ROOT / "target" / "release"), help="the folder of the libraries")
    parser.add_argument("--work", default="/tmp/softwarp-field", help="a folder for what is built")
    parser.add_argument("--out", default="results.jsonl")
    parser.add_argument("--limit", type=float, default=300, help="seconds of CPU time for each run")
    parser.add_argument("--every", type=int, default=1, help="only each Nth program")
    parser.add_argument("--first", type=int, default=0, help="the first program's number")
    parser.add_argument("--build", action="store_true", help="build the programs of HeCBench and do not run them")
    parser.add_argument("--include", nargs="*", default=[], help="more folders with headers, as cuRAND's")
    parser.add_argument("--build-limit", type=float, default=600, help="seconds of CPU time for each build")
    parser.add_argument("--patience", type=float, default=10, help="how many times as long a command may take by the clock")
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
