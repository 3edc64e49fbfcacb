"""Packs what the recorders made into real.jsonl.gz: python pack.py --out FOLDER FILE"""

import argparse
import gzip
import json
import pathlib

parser = argparse.ArgumentParser()
parser.add_argument("--out", type=pathlib.Path, required=True)
parser.add_argument("file", type=pathlib.Path)
args = parser.parse_args()

# Triton's modules are long and alike on neighbouring GPUs.
SKIP = {"triton": ("_sm_80", "_sm_89", "_sm_120a"), "nvcc": (), "llvm": (), "clang": ()}
KEEP = ("softmax", "matmul_f16", "matmul_fp8", "attention")

rows = []
for index in sorted(args.out.glob("index-*.jsonl")):
    for line in index.read_text().splitlines():
        row = json.loads(line)
        row["ptx"] = (args.out / row["origin"] / f"{row['name']}.ptx").read_text()
        if row["name"].endswith(SKIP[row["origin"]]) and not row["name"].startswith(KEEP):
            continue
        rows.append(row)
rows.sort(key=lambda row: (row["origin"], row["name"]))
# The time is left out, so that equal contents are equal files.
with open(args.file, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9, mtime=0) as packed:
    for row in rows:
        packed.write((json.dumps(row, separators=(",", ":")) + "\n").encode())
print(len(rows), "modules,", sum(len(row["ptx"]) for row in rows), "bytes,", args.file.stat().st_size, "packed")
