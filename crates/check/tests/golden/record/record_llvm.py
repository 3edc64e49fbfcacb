"""Assembles llvm/*.ll with llvmlite's LLVM (see record.py for what becomes of the modules)."""

import argparse
import json
import pathlib
import subprocess
import sys

import llvmlite.binding as llvm

HERE = pathlib.Path(__file__).parent
# (GPU, features, optimise)
TARGETS = [("sm_75", "+ptx64", False), ("sm_80", "+ptx75", False), ("sm_90", "+ptx80", True), ("sm_100a", "+ptx87", True)]
NEEDS = {"matrix": 80, "debug": 80}


def emit(text, cpu, features, optimise):
    module = llvm.parse_assembly(f'target triple = "nvptx64-nvidia-cuda"\n{text}')
    level = 2 if optimise else 0
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=cpu, features=features, opt=level)
    module.data_layout = str(machine.target_data)
    module.verify()
    if optimise:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        passes = llvm.create_pass_builder(machine, options).getModulePassManager()
        passes.run(module, llvm.create_pass_builder(machine, options))
    return machine.emit_assembly(module)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    ptxas = args.cuda / "nvidia" / "cu13" / "bin" / "ptxas"
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    folder = args.out / "llvm"
    folder.mkdir(parents=True, exist_ok=True)
    with open(args.out / "index-llvm.jsonl", "a" if args.only else "w") as index:
        for source in sorted((HERE / "llvm").glob("*.ll")):
            for cpu, features, optimise in TARGETS:
                name = f"{source.stem}_{cpu}"
                if args.only not in name or NEEDS.get(source.stem, 0) > int(cpu[3:].rstrip("a")):
                    continue
                path = folder / f"{name}.ptx"
                path.write_text(emit(source.read_text(), cpu, features, optimise))
                for mode, flags in [("exe", []), ("rdc", ["-c"])]:
                    call = [ptxas, *flags, f"-arch={cpu}", path, "-o", "/dev/null"]
                    done = subprocess.run(call, capture_output=True, text=True)
                    if done.returncode == 0:
                        break
                if done.returncode:
                    print(f"{name}: {done.stderr[:600]}", file=sys.stderr)
                    path.unlink()
                    continue
                print(json.dumps({"name": name, "origin": "llvm", "arch": cpu, "mode": mode}), file=index)


main()
