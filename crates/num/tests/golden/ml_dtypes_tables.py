"""Records ml_dtypes' conversions between float32 and the narrow formats.

usage: ml_dtypes_tables.py OUTDIR      (needs numpy and ml_dtypes; writes OUTDIR/down.json.gz and OUTDIR/up.json.gz)
down.json: {"source", "from_bf16": {format: hex of 65536 bytes}, "from_f16": {...}}: byte i is the code of the 16-bit pattern i, widened
exactly to float32 and then converted. up.json: {format: [float32 bits, hex, by code]}.
"""
import gzip, json, os, sys
import numpy as np, ml_dtypes

FORMATS = dict(e4m3=(8, ml_dtypes.float8_e4m3fn), e5m2=(8, ml_dtypes.float8_e5m2), e2m3=(6, ml_dtypes.float6_e2m3fn),
               e3m2=(6, ml_dtypes.float6_e3m2fn), e2m1=(4, ml_dtypes.float4_e2m1fn), ue8m0=(8, ml_dtypes.float8_e8m0fnu))

def write(path, value):
    with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as f:
        f.write((json.dumps(value) + "\n").encode())

def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    np.seterr(all="ignore")
    source = f"ml_dtypes {ml_dtypes.__version__}"
    every = np.arange(65536, dtype=np.uint32)
    inputs = dict(from_bf16=(every << 16).view(np.float32), from_f16=every.astype(np.uint16).view(np.float16).astype(np.float32))
    down = dict(source=source)
    for name, x in inputs.items():
        down[name] = {f: x.astype(t).view(np.uint8).tobytes().hex() for f, (_, t) in FORMATS.items()}
    write(os.path.join(out, "down.json.gz"), down)
    up = {}
    for f, (width, t) in FORMATS.items():
        bits = np.arange(1 << width, dtype=np.uint8).view(t).astype(np.float32).view(np.uint32)
        up[f] = [f"{b:08x}" for b in bits]
    write(os.path.join(out, "up.json.gz"), up)

if __name__ == "__main__":
    main()
