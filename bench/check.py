#!/usr/bin/env python3
"""Parsing and checking a 3 MB module: softwarp, ptxas and ZLUDA's parser, one run, one table.

usage: python3 bench/check.py [FILE] [--zluda BINARY]

Builds bench/ and makes the module (see src/bin/check.rs), unless a file is given. ptxas comes from PyPI
(nvidia-cuda-nvcc, into bench/.venv). It has no mode that stops after checking, so two of its runs are shown: for a
virtual architecture, after which no code is made, and in full (not of files over 10 MB, which would take hours). Its start alone is timed on an empty module and taken
off. ZLUDA's parser is compared where a binary of it is given: one that prints {"seconds": best, "errors": n} for a file.
It does not know every instruction; the module is then made of what it reads without errors.
"""
import gzip, json, os, subprocess, sys, tempfile, time, venv

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
ROUNDS = 5


def bench(*arguments):
    command = ["cargo", "run", "--release", "--quiet", "--manifest-path", os.path.join(HERE, "Cargo.toml"), "--bin", "check", "--"]
    return subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def ptxas():
    if not os.path.exists(PYTHON):
        venv.create(VENV, with_pip=True, system_site_packages=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "nvidia-cuda-nvcc==13.4.92"], check=True)
    find = "import nvidia, os; print(*(os.path.join(p, 'cu13', 'bin', 'ptxas') for p in nvidia.__path__), sep='\\n')"
    paths = subprocess.run([PYTHON, "-c", find], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    path = next(path for path in paths if os.path.exists(path))
    os.chmod(path, 0o755)
    return path


def timed(command, limit=600):
    """Best time and memory of a command; None where it refuses or takes too long."""
    times, status = [], None
    for _ in range(ROUNDS):
        began = time.perf_counter()
        try:
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
        except OSError:
            return None
        times.append(time.perf_counter() - began)
        if status or times[-1] > limit / ROUNDS:
            break
    return None if status else (min(times), usage.ru_maxrss * 1024)


def readable(zluda, folder):
    """The names of the recorded modules that ZLUDA's parser reads without errors."""
    file = os.path.join(folder, "one.ptx")
    names = []
    with gzip.open(os.path.join(HERE, "..", "crates", "check", "tests", "golden", "real.jsonl.gz"), "rt") as rows:
        for row in map(json.loads, rows):
            with open(file, "w") as out:
                out.write(row["ptx"])
            found = subprocess.run([zluda, file, "1"], stdout=subprocess.PIPE, text=True).stdout
            if found and json.loads(found)["errors"] == 0:
                names.append(row["name"])
    return names


def main():
    arguments = sys.argv[1:]
    zluda = arguments.pop(arguments.index("--zluda") + 1) if "--zluda" in arguments else None
    files = [argument for argument in arguments if not argument.startswith("-")]
    folder = tempfile.mkdtemp()
    file = files[0] if files else os.path.join(folder, "made.ptx")
    if not files:
        bench("--make", file, *(readable(zluda, folder) if zluda else []))
    size = os.path.getsize(file)
    ours = json.loads(bench("--json", file))
    rows = [(f"softwarp, {name}", cost["seconds"], cost["peak"]) for name, cost in ours["costs"].items()]

    assembler = ptxas()
    empty = os.path.join(folder, "empty.ptx")
    with open(file) as module, open(empty, "w") as out:
        header = [next(line for line in module if line.startswith(word)) for word in (".version", ".target", ".address_size")]
        out.writelines(header)
    with open(file) as module:
        target = next(line.split()[1].rstrip(",")[3:] for line in module if line.startswith(".target"))
    runs = [("ptxas, to a virtual architecture", [f"-arch=compute_{target}"])]
    if size < 10_000_000:
        runs.append(("ptxas, in full", [f"-arch=sm_{target}"]))
    for name, flags in runs:
        command = [assembler, "-c", *flags, "-o", os.path.join(folder, "out")]
        start, whole = timed([*command, empty]), timed([*command, file])
        rows.append((name, whole and start and whole[0] - start[0], whole and whole[1]))
    if zluda:
        found = json.loads(subprocess.run([zluda, file], check=True, stdout=subprocess.PIPE, text=True).stdout)
        rows.append((f"ZLUDA's parser ({found['errors']} errors)", found["seconds"], None))

    ours = rows[1][1]
    print(f"{size} bytes.\n\n| | ms | MB/s | time / softwarp's | memory / the file |\n|---|---|---|---|---|")
    for name, seconds, memory in rows:
        cells = [f"{seconds * 1e3:.1f}", f"{size / seconds / 1e6:.1f}", f"{seconds / ours:.1f}"] if seconds else ["–"] * 3
        print(f"| {name} | {' | '.join(cells)} | {f'{memory / size:.1f}' if memory else '–'} |")


if __name__ == "__main__":
    main()
