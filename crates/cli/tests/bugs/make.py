#!/usr/bin/env python3
"""Compiles the kernels of `src/*.cu` into `NAME.ptx`, with launch files, as CASES says.

    python3 make.py [NAME...]       needs nvcc; CCCL_INCLUDE may name the folder of CCCL's headers

`BUG=n` selects a variant of a kernel: some have a planted bug, others are correct. The first line of a PTX file is
`// expect: ` and what must be found: `clean`, or sanitizers and `fault`, any of which will do (`race|sync`).
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def zero(size):
    return {"bytes": size, "init": "zero"}


def iota(size):
    return {"bytes": size, "init": "iota32"}


def none(size):
    return {"bytes": size, "init": "none"}


# family: (grid, block, arguments, more keys of the launch, {variant: what to expect, or (what, more defines)})
CASES = {
    "matmul": ([2, 2], [16, 16], ["a", "b", "c", 32], {"a": iota(4096), "b": iota(4096), "c": none(4096)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "bounds|race", 4: "race", 5: "sync|race|fault", 6: "sync", 7: "fault|race|bounds"}),
    "reduce": ([2], [128], ["in", "out", 200], {"in": iota(1024), "out": none(8)}, {}, {
        0: "clean", 1: "race", 2: "sync|fault", 3: "race", 4: "race", 5: "init|bounds|race|fault", 6: "init"}),
    "warpsum": ([1], [64], ["in", "out", 40], {"in": iota(256), "out": zero(1024)}, {}, {
        0: "clean", 1: "sync", 2: "sync", 3: "clean", 4: "sync", 5: "sync", 6: "clean", 7: "sync", 8: "sync", 9: "sync",
        10: "sync", 11: "clean", 12: "clean", 13: "clean", 14: "sync", 15: "sync"}),
    "exchange": ([1], [64], ["in", "out"], {"in": iota(256), "out": none(256)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "clean", 4: "race", 5: "race", 6: "clean", 7: "race", 8: "race", 9: "clean"}),
    "lastblock": ([4], [32], ["in", "partial", "out"], {"in": iota(256), "partial": none(16), "out": none(8)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "race", 4: "clean", 5: "race"}),
    "flag": ([2], [32], ["data", "flag", "out"], {"data": none(128), "flag": zero(4), "out": none(128)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "race", 4: "race", 5: "clean", 6: "race", 7: "race", 8: "race", 9: "clean",
        10: "race", 11: "race"}),
    "lock": ([4], [32], ["lock", "counter"], {"lock": zero(64), "counter": zero(64)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race", 7: "clean", 8: "race", 9: "race",
        10: "clean", 11: "race"}),
    "scan": ([3], [64], ["in", "out", "status", "sums"],
             {"in": iota(768), "out": none(768), "status": zero(12), "sums": none(12)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "clean", 4: "race", 5: "race", 6: "race"}),
    "lookback": ([5], [32], ["in", "out", "tiles", "values"],
                 {"in": iota(640), "out": none(640), "tiles": zero(40), "values": none(20)}, {}, {
        0: "clean", 1: "race", 2: "clean"}),
    "gridsync": ([3], [64], ["a", "b", "arrived"], {"a": none(768), "b": none(768), "arrived": zero(4)},
                 {"cooperative": True}, {
        0: "clean", 1: "race", 2: "race", 3: "race", 4: "clean", 5: "race", 6: "race"}),
    "histogram": ([2], [64], ["in", "out", 512], {"in": iota(512), "out": zero(256)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}),
    "stencil": ([2], [64], ["in", "out", 128], {"in": iota(512), "out": none(512)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "race", 4: "init", 5: "bounds|race|init|fault", 6: "init"}),
    "transpose": ([2, 2], [32, 8], ["in", "out", 64], {"in": iota(16384), "out": none(16384)}, {}, {
        0: "clean", 1: "race", 2: "bounds|fault"}),
    "bitonic": ([1], [128], ["data"], {"data": {"bytes": 512, "init": {"splitmix32": 7}}}, {}, {
        0: "clean", 1: "race", 2: "race"}),
    "cpasync": ([1], [64], ["in", "out", 6], {"in": iota(2048), "out": none(256)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "race", 5: "race",
        "0/2": "clean", "0/4": "clean", "6/2": "race", "6/4": "race", "7/2": "race", "7/3": "race", "7/4": "race",
        "8/2": "race", "9/2": "race", "8/4": "race", "0/3": "clean"}),
    "pipeline": ([1], [64], ["in", "out"], {"in": iota(512), "out": none(256)}, {}, {
        0: "clean", 1: "race", 2: "clean", 3: "race", 4: "race", 5: "clean", 6: "race|sync|fault|init", 7: "race"}),
    "mbar": ([1], [64], ["in", "out", 3], {"in": iota(384), "out": none(128)}, {}, {
        0: "clean", 1: "race|fault|init", 2: "race", 3: "race|sync|fault", 4: "race|init|sync|fault", 5: "race|init", 6: "race", 7: "race|init"}),
    "bulk": ([1], [64], ["in", "out", 4], {"in": iota(1024), "out": zero(1024)}, {}, {
        0: "clean", 1: "race", 2: "race|sync|fault", 3: "race|init|sync|fault", 4: "race", 5: "race|sync|fault", 8: "race|fault|init",
        10: "clean", 11: "race", 12: "race", 13: "race", 14: "race", 15: "clean", 16: "race",
        17: "race", 18: "clean", 19: "clean", 20: "race|fault", 21: "race|init|fault", 22: "race|sync|fault"}),
    "cluster": ([4], [64], ["in", "out"], {"in": iota(1024), "out": zero(1024)}, {}, {
        0: "clean", 1: "race", 2: "race|fault|sync", 3: "race", 4: "race", 5: "race", 6: "clean", 7: "race|init", 8: "clean",
        9: "race", 10: "race|init"}),
    "named": ([1], [128], ["in", "out", 3], {"in": iota(1024), "out": none(256)}, {}, {
        0: "clean", 1: "race|sync|fault", 2: "race|sync|fault", 3: "sync|fault|race", 4: "sync|fault|race", 5: "race|sync|fault"}),
    "memory": ([1], [64], ["in", "out", 1], {"in": iota(256), "out": none(256)}, {"dynamic_smem": 256}, {
        0: "clean", 1: "fault|bounds", 2: "fault|bounds", 3: "fault|bounds|init", 4: "fault|bounds", 5: "fault|bounds",
        6: "fault|bounds", 7: "fault|bounds", 8: "fault", 9: "fault", 10: "leak", 11: "init", 12: "fault|init|bounds",
        13: "fault|init|bounds", 14: "fault", 15: "bounds|fault", 16: "init", 17: "init", 18: "init", 19: "fault",
        20: "fault", 21: "bounds|fault", 22: "fault", 23: "fault|bounds", 24: "fault|bounds", 25: "fault|bounds",
        26: "clean", 27: "fault"}),
    "cub": ([1], [64], ["in", "out"], {"in": iota(512), "out": none(256)}, {}, {
        0: "clean", 1: "race", 2: "clean", 3: "race", 4: "clean", 5: "race", 6: "clean"}),
    "groups": ([1], [64], ["in", "out"], {"in": iota(256), "out": none(256)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "clean", 4: "clean", 5: "sync", 6: "sync", 7: "clean"}),
    "small": ([1], [64], ["in", "out", 3], {"in": iota(256), "out": none(256)}, {}, {
        0: "clean", 1: "race", 2: "clean", 3: "clean", 4: "race", 5: "clean", 6: "race", 7: "race|init", 8: "race", 9: "race",
        10: "clean", 11: "clean", 12: "race|init"}),
    "between": ([3], [32], ["data", "out", 1], {"data": zero(512), "out": zero(512)}, {}, {
        0: "clean", 1: "race", 2: "race", 3: "clean", 4: "race", 5: "race", 6: "race", 7: "clean", 8: "race", 9: "race",
        10: "clean", 11: "race", 12: "clean"}),
    "threadfence": ([4], [64], ["in", "out", 4], {"in": iota(1024), "out": none(16)}, {}, {
        0: "clean", 1: "race", 2: "race|sync|init|fault"}),
    # Several lists of arguments are several launches.
    "heap": ([1], [64], [["out", 0], ["out", 1], ["out", 2]], {"out": none(256)}, {}, {
        0: "clean", 1: "leak", 2: "fault|bounds", 3: "leak"}),
}


def launch(grid, block, arguments, buffers, more):
    launches = []
    for each in arguments if isinstance(arguments[0], list) else [arguments]:
        one = {"kernel": "k", "grid": (grid + [1, 1])[:3], "block": (block + [1, 1])[:3]}
        one.update(more)
        one["args"] = [{"buffer": name} if isinstance(name, str) else {"s32": name} for name in each]
        launches.append(one)
    return {"launches": launches, "buffers": buffers}


def items(text):
    """The declarations of a module, one by one."""
    depth, start, found = 0, 0, []
    for at, letter in enumerate(text):
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
        if depth == 0 and letter in "};" and not text[at + 1:].lstrip().startswith((";", ",")):
            found.append(text[start:at + 1].strip())
            start = at + 1
    return found


def names(text):
    return set(re.findall(r"[\w$%.]+", text))


def alone(module, kernel):
    """The module with this kernel, renamed to `k`, and what it needs."""
    head, body = re.match(r"((?:\.(?:version|target|address_size)[^\n]*\n)+)(.*)", module, re.S).groups()
    body = re.sub(r"//.*", "", body)
    declared = []
    for one in items(body):
        before = re.split(r"[{=]", one)[0]
        if ".entry" in before:
            declared.append((re.search(r"\.entry\s+([\w$]+)", before)[1], one))
        elif ".func" in before:
            declared.append((re.search(r"([\w$]+)\s*\((?:[^()]*)\)\s*[^()]*$|\.func\s+([\w$]+)", before)[0].split("(")[0].split()[-1], one))
        else:
            declared.append((re.search(r"([\w$]+)\s*(?:\[[^]]*\])*\s*;?$", before.strip())[1], one))
    needed, grown = {kernel}, True
    while grown:
        more = set().union(*(names(one) for name, one in declared if name in needed)) & {name for name, _ in declared}
        grown = not more <= needed
        needed |= more
    kept = "\n".join(one for name, one in declared if name in needed)
    kept = re.sub(r"\n[ \t]*\n+", "\n", kept)
    return head + re.sub(rf"\b{kernel}_param_", "k_param_", re.sub(rf"\b{kernel}\b", "k", kept)) + "\n"


def main(wanted):
    include = os.environ.get("CCCL_INCLUDE")
    for family, (grid, block, arguments, buffers, more, variants) in CASES.items():
        if wanted and family not in wanted:
            continue
        source = (HERE / "src" / f"{family}.cu").read_text()
        # All variants are one translation unit, each in a namespace of its own.
        unit = "".join(line + "\n" for line in source.splitlines() if line.startswith("#include"))
        for number, variant in enumerate(variants):
            bug, _, stages = str(variant).partition("/")
            unit += f"#define BUG {bug}\n#define k k_{number}\n" + (f"#define STAGES {stages}\n" if stages else "")
            unit += f"namespace v{number} {{\n#include \"{family}.cu\"\n}}\n#undef BUG\n#undef k\n#undef STAGES\n#undef WAIT\n"
        with tempfile.TemporaryDirectory() as folder:
            file, out = pathlib.Path(folder) / "unit.cu", pathlib.Path(folder) / "unit.ptx"
            file.write_text(unit)
            command = ["nvcc", "-ptx", "-w", "-arch=sm_90a", "-std=c++17", f"-I{HERE.resolve() / 'src'}"]
            command += [f"-I{include}"] if include else []
            subprocess.run(command + [str(file), "-o", str(out)], check=True)
            module = out.read_text()
        module = re.sub(r"^\s*//.*\n", "", module, flags=re.M)
        module = module[module.index(".version"):]
        for number, (variant, expect) in enumerate(variants.items()):
            bug, _, stages = str(variant).partition("/")
            name = f"{family}_{bug}" + (f"_stages{stages}" if stages else "")
            about = f"// {family}.cu, BUG={bug}" + (f", STAGES={stages}" if stages else "")
            (HERE / f"{name}.ptx").write_text(f"// expect: {expect}\n{about}\n{alone(module, f'k_{number}')}")
            file = launch(grid, block, arguments, buffers, more)
            (HERE / f"{name}.json").write_text(json.dumps(file) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
