"""Compiles small Triton kernels for several GPUs (see record.py for what becomes of the modules)."""

import argparse
import json
import pathlib
import subprocess
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n) + 1.0, i < n)


@triton.jit
def softmax(out, src, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(src + row * stride + i, i < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), i < n)


@triton.jit
def layer_norm(out, src, weight, bias, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(src + row * n + i, i < n, other=0).to(tl.float32)
    mean = tl.sum(x, 0) / n
    d = tl.where(i < n, x - mean, 0.0)
    r = tl.rsqrt(tl.sum(d * d, 0) / n + 1e-5)
    y = d * r * tl.load(weight + i, i < n) + tl.load(bias + i, i < n)
    tl.store(out + row * n + i, y.to(tl.float16), i < n)


@triton.jit
def matmul(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + m[:, None] * K + k[None, :]
    pb = b + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty), (m[:, None] < M) & (n[None, :] < N))


@triton.jit
def descriptors(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([m, k]), db.load([k, n]), acc)
    dc.store([m, n], acc.to(tl.float16))


@triton.jit
def attention(out, q, k, v, n, B: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    x = tl.load(q + i[:, None] * D + d[None, :])
    top = tl.full((B,), -float("inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, n, B):
        j = start + tl.arange(0, B)
        s = tl.dot(x, tl.trans(tl.load(k + j[:, None] * D + d[None, :]))) * 0.125
        s = tl.where(i[:, None] >= j[None, :], s, -1e9)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        scale = tl.exp2(top - new)
        total = total * scale + tl.sum(p, 1)
        acc = acc * scale[:, None] + tl.dot(p.to(tl.float16), tl.load(v + j[:, None] * D + d[None, :]))
        top = new
    tl.store(out + i[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def atomics(p, q, x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, i < n)
    tl.atomic_add(p + v % 16, 1, i < n, sem="relaxed")
    tl.atomic_max(p + 16 + v % 4, v, sem="acq_rel", scope="gpu")
    old = tl.atomic_cas(q, 0, 1)
    tl.store(q + 1, old)
    tl.store(p + 32 + tl.arange(0, 32), tl.histogram(v % 32, 32))


@triton.jit
def scans(out, src, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(src + i)
    tl.store(out + i, tl.cumsum(x, 0))
    tl.store(out + B + i, tl.sort(x))
    best, where = tl.max(x, 0, return_indices=True)
    tl.store(out + 2 * B, best + where)
    tl.store(out + 3 * B + i, tl.gather(x, i ^ 1, 0))


@triton.jit
def assembly(out, src, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(src + i)
    y = tl.inline_asm_elementwise("shf.l.wrap.b32 $0, $1, $1, 7;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    r = tl.rand(42, i)
    tl.store(out + i, (y + (r * 1000).to(tl.int32)) // 3)


@triton.jit
def small_floats(out, src, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(src + i)
    y = x.to(tl.float8e5).to(tl.float32) + x.to(tl.bfloat16).to(tl.float32) + x.to(tl.float16).to(tl.float32)
    tl.store(out + i, y)
    tl.device_assert(x > 0)
    tl.device_print("x", x)


@triton.jit
def math(out, src, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(src + i)
    tl.store(out + i, tl.sin(x) + tl.cos(x) + tl.log2(x) + tl.sqrt_rn(x) + tl.erf(x) + tl.floor(x) + tl.div_rn(x, 3.0) + tl.fma(x, x, x))


F16 = {"c": "*fp16", "a": "*fp16", "b": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
TILE = {"BM": 64, "BN": 64, "BK": 32}
# kernel, variant, signature, constants, least GPU
CASES = [
    (add, "", {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"B": 256}, 75),
    (softmax, "", {"out": "*fp32", "src": "*fp32", "stride": "i32", "n": "i32"}, {"B": 512}, 75),
    (layer_norm, "", {"out": "*fp16", "src": "*fp16", "weight": "*fp32", "bias": "*fp32", "n": "i32"}, {"B": 256}, 75),
    (matmul, "f16", F16, TILE, 75),
    (matmul, "tf32", {**F16, "c": "*fp32", "a": "*fp32", "b": "*fp32"}, TILE, 80),
    (matmul, "bf16", {**F16, "c": "*bf16", "a": "*bf16", "b": "*bf16"}, TILE, 80),
    (matmul, "fp8", {**F16, "a": "*fp8e4nv", "b": "*fp8e4nv"}, {"BM": 128, "BN": 128, "BK": 64}, 89),
    (matmul, "e5m2", {**F16, "c": "*fp32", "a": "*fp8e5", "b": "*fp8e5"}, {"BM": 64, "BN": 64, "BK": 64}, 90),
    (descriptors, "", F16, {"BM": 64, "BN": 64, "BK": 64}, 90),
    (attention, "", {"out": "*fp16", "q": "*fp16", "k": "*fp16", "v": "*fp16", "n": "i32"}, {"B": 64, "D": 64}, 75),
    (atomics, "", {"p": "*i32", "q": "*i32", "x": "*i32", "n": "i32"}, {"B": 128}, 75),
    (scans, "", {"out": "*i32", "src": "*i32"}, {"B": 64}, 75),
    (assembly, "", {"out": "*i32", "src": "*i32"}, {"B": 128}, 75),
    (small_floats, "", {"out": "*fp32", "src": "*fp32"}, {"B": 128}, 80),
    (math, "", {"out": "*fp32", "src": "*fp32"}, {"B": 128}, 75),
]
GPUS = [75, 80, 89, 90, 100, 120]
SUFFIX = {90: "a", 100: "a", 120: "a"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuda", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    ptxas = args.cuda / "nvidia" / "cu13" / "bin" / "ptxas"
    folder = args.out / "triton"
    folder.mkdir(parents=True, exist_ok=True)
    with open(args.out / "index-triton.jsonl", "w") as index:
        for kernel, variant, signature, constants, least in CASES:
            for gpu in GPUS:
                if gpu < least:
                    continue
                arch = f"sm_{gpu}{SUFFIX.get(gpu, '')}"
                name = "_".join(part for part in [kernel.__name__, variant, arch] if part)
                types = {**signature, **{key: "constexpr" for key in constants}}
                source = ASTSource(fn=kernel, signature=types, constexprs=constants)
                try:
                    text = triton.compile(source, target=GPUTarget("cuda", gpu, 32)).asm["ptx"]
                except Exception as error:
                    print(f"{name}: {str(error)[:300]}", file=sys.stderr)
                    continue
                path = folder / f"{name}.ptx"
                path.write_text(text)
                call = [ptxas, f"-arch={arch}", path, "-o", "/dev/null"]
                done = subprocess.run(call, capture_output=True, text=True)
                if done.returncode:
                    print(f"{name}: {done.stderr[:600]}", file=sys.stderr)
                    path.unlink()
                    continue
                print(json.dumps({"name": name, "origin": "triton", "arch": arch, "mode": "exe"}), file=index)


main()
