#!/usr/bin/env python3
"""Runs programs that are built already on softwarp's libraries, and counts those that pass.

    python3 tests/field/programs.py FOLDER [--only NAME ...] [--arguments FILE]

Every executable file of FOLDER is a program, and so is the executable of a folder in it that has the same name as the
folder. A program is run in the folder that it lies in, by `softwarp exec`. It must be linked with the shared CUDA
runtime (`-cudart shared`) or with the driver alone, and have its PTX inside. FILE is a JSON object: the arguments of
programs, by their names.

A program passes if it ends with 0 and prints no failure. One that waives its test (exit status 2) is skipped. Results
go to --out as JSON, one line a program. `cargo build --release` builds the libraries and `softwarp exec` before.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILURE = re.compile(r"\bFAIL(ED|URE)?\b|\bTest failed\b|verification failed|mismatch", re.I)
SUCCESS_WORDS = re.compile(r"failed as expected|0 FAIL|no mismatch|mismatches: 0|FAILED = 0|failed: 0", re.I)


def is_program(path):
    return path.is_file() and os.access(path, os.X_OK) and path.suffix not in {".so", ".sh", ".py"}


def programs(root, only):
    """The programs of a folder, by their names."""
    found = []
    for path in sorted(root.iterdir()):
        inner = path / path.name
        program = inner if path.is_dir() else path
        if is_program(program) and (not only or program.name in only):
            found.append(program)
    return found


def run(command, folder, args):
    """Runs a command; returns its status, its output and its time."""
    begin = time.time()
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(args.limit), int(args.limit) + 1)),
    )
    try:
        output, _ = process.communicate(timeout=args.patience * args.limit)
        status = process.returncode
        if status in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
            status = "time limit"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = "time limit"
    return status, output.decode(errors="replace"), round(time.time() - begin, 1)


def judge(program, arguments, args):
    """Runs a program and says whether it passed."""
    release = pathlib.Path(args.release).resolve()
    with tempfile.TemporaryDirectory() as folder:
        # Reports of faults are kept apart: some programs expect a fault.
        report = pathlib.Path(folder) / "report"
        command = [str(release / "softwarp"), "exec", "--quiet", "--lib", str(release), "--report", str(report)]
        command += ["--threads", str(args.threads), "--", str(program), *arguments]
        status, output, seconds = run(command, program.parent, args)
        tail = output[-1500:] + (report.read_text(errors="replace")[:1500] if report.exists() else "")
    result = {"name": program.name, "status": status, "seconds": seconds}
    if status == 2:
        return dict(result, result="skipped", output=tail)
    if status == 0 and not FAILURE.search(SUCCESS_WORDS.sub("", output)):
        return dict(result, result="passed")
    return dict(result, result="failed", output=tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    parser.add_argument("--arguments", help="a JSON file with the arguments of programs")
    parser.add_argument("--release", default=str(ROOT / "target" / "release"), help="the folder of the libraries")
    parser.add_argument("--out", default="results.jsonl")
    parser.add_argument("--limit", type=float, default=300, help="seconds of CPU time for each program")
    parser.add_argument("--patience", type=float, default=10, help="how many times as long it may take by the clock")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    if not (pathlib.Path(args.release) / "libcuda.so").exists():
        sys.exit(f"no libcuda.so in {args.release}: build it with cargo build --release")
    given = json.loads(pathlib.Path(args.arguments).read_text()) if args.arguments else {}
    found = programs(pathlib.Path(args.folder).resolve(), args.only)
    if not found:
        sys.exit(f"no programs in {args.folder}")
    counts = {}
    with open(args.out, "a") as out:
        for program in found:
            result = judge(program, given.get(program.name, []), args)
            counts[result["result"]] = counts.get(result["result"], 0) + 1
            out.write(json.dumps(result) + "\n")
            out.flush()
            print(f"{result['result']:8} {program.name} {result['seconds']} s", flush=True)
    ran = counts.get("passed", 0) + counts.get("failed", 0)
    print(f"{counts.get('passed', 0)} of {ran} passed", counts)
    return 1 if counts.get("failed") else 0


if __name__ == "__main__":
    sys.exit(main())
