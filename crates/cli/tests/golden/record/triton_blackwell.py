"""Makes `triton_blackwell.jsonl.gz`: kernels that Triton compiles for sm_100a and sm_103a, and what they must compute.

No GPU is needed: Triton compiles for any target, and the expected results are computed here, on small integers.
Usage: triton_blackwell.py OUT.jsonl.gz [--ptxas PTXAS]
"""

import base64, gzip, json, os, subprocess, sys, tempfile, zlib
import numpy as np
import ml_dtypes as ml
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

rng = np.random.default_rng(7)
programs = []


def data(array):
    return {"zlib": base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()}


def compiled(fn, signature, constants, arch, warps, stages=2, **more):
    source = ASTSource(fn, signature, constants, {})
    options = {"num_warps": warps, "num_stages": stages, **more}
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def add(name, fn, signature, constants, arrays, scalars, expect, grid, arch=100, warps=4, stages=2, compare=None, **more):
    """`signature`: parameters in order; `arrays` by parameter, an int is a size; `scalars` by parameter."""
    full = {**signature, **{n: "constexpr" for n in constants}}
    try:
        kernel = compiled(fn, full, constants, arch, warps, stages, **more)
    except Exception as error:
        print(name, "is not compiled:", str(error)[:300])
        return
    ptx = kernel.asm["ptx"].replace(os.path.dirname(os.path.abspath(__file__)), "/record")
    ptx = ptx.replace(os.path.dirname(os.path.dirname(triton.__file__)), "/site-packages")
    meta = kernel.metadata
    args = []
    buffers = {}
    for parameter, ty in signature.items():
        if ty.startswith("*"):
            args.append({"buffer": parameter})
            value = arrays[parameter]
            buffers[parameter] = {"bytes": value} if isinstance(value, int) else {"init": data(value)}
        else:
            args.append({ty.replace("i32", "s32").replace("fp32", "f32"): scalars[parameter]})
    total = grid if isinstance(grid, int) else int(np.prod(grid))
    scratch = getattr(meta, "global_scratch_size", 0)
    buffers["scratch"] = {"bytes": max(128, scratch * total)}
    args += [{"buffer": "scratch"}, {"buffer": "scratch"}]
    threads = meta.num_warps * 32
    import re
    needed = re.search(r"\.reqntid (\d+)", ptx)
    if needed:
        threads = int(needed.group(1))
    launch = {"kernel": meta.name, "grid": grid, "block": threads, "dynamic_smem": meta.shared, "args": args}
    ctas = getattr(meta, "num_ctas", 1)
    if ctas > 1:
        launch["cluster"] = ctas
        launch["grid"] = [g * ctas if i == 0 else g for i, g in enumerate(grid if not isinstance(grid, int) else [grid])]
    file = {"launches": [launch], "buffers": buffers, "dump": sorted(expect),
            "expect": {n: data(e) for n, e in expect.items()}}
    if compare:
        file["compare"] = compare
    count = ptx.count("tcgen05.mma")
    print(name, count, "products", meta.shared, "bytes", sorted(set(re.findall(r"tcgen05\.mma\S+", ptx)))[:2])
    programs.append({"name": f"triton/{name}_sm{arch}", "ptx": ptx, "launch": file})


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr,
           OUT: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=OUT)
    for i in range(0, K, BK):
        if TA:
            x = tl.trans(tl.load(a + (i + k)[:, None] * M + m[None, :]))
        else:
            x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        if TB:
            y = tl.trans(tl.load(b + n[:, None] * K + (i + k)[None, :]))
        else:
            y = tl.load(b + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc, out_dtype=OUT)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in tl.range(0, K, BK):
        x = da.load([m, i])
        y = db.load([n, i])
        acc = tl.dot(x, y.T, acc)
    dc.store([m, n], acc.to(tl.float16))


@triton.jit
def matmul_ws(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in tl.range(0, K, BK, warp_specialize=True):
        x = da.load([m, i])
        y = db.load([n, i])
        acc = tl.dot(x, y.T, acc)
    dc.store([m, n], acc.to(tl.float16))


@triton.jit
def scaled(a, sa, b, sb, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FA: tl.constexpr,
           FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr, VEC: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    ka = tl.arange(0, BK // PA)
    kb = tl.arange(0, BK // PB)
    ks = tl.arange(0, BK // VEC)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * (K // PA) + (i // PA + ka)[None, :])
        y = tl.load(b + n[:, None] * (K // PB) + (i // PB + kb)[None, :])
        s = tl.load(sa + m[:, None] * (K // VEC) + (i // VEC + ks)[None, :])
        t = tl.load(sb + n[:, None] * (K // VEC) + (i // VEC + ks)[None, :])
        acc = tl.dot_scaled(x, s, FA, y.T, t, FB, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def attention(q, k, v, o, T, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + m[:, None] * D + d[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for i in range(0, T, BN):
        n = i + tl.arange(0, BN)
        y = tl.load(k + n[:, None] * D + d[None, :])
        s = tl.dot(x, y.T)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        scale = tl.exp2(top - new)
        total = total * scale + tl.sum(p, 1)
        z = tl.load(v + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), z, acc * scale[:, None])
        top = new
    tl.store(o + m[:, None] * D + d[None, :], acc / total[:, None])


def ints(shape, low=-2, high=3):
    return rng.integers(low, high, shape).astype(np.float32)


def products():
    shapes = [(128, 128, 64, 128, 128, 32, 4), (256, 64, 128, 128, 64, 64, 4), (128, 256, 64, 128, 256, 64, 8),
              (128, 32, 64, 64, 32, 64, 4)]
    kinds = {"fp16": (np.float16, "*fp16", "*fp32", tl.float32, np.float32),
             "bf16": (ml.bfloat16, "*bf16", "*fp32", tl.float32, np.float32),
             "tf32": (np.float32, "*fp32", "*fp32", tl.float32, np.float32),
             "e4m3": (ml.float8_e4m3fn, "*fp8e4nv", "*fp32", tl.float32, np.float32),
             "e5m2": (ml.float8_e5m2, "*fp8e5", "*fp32", tl.float32, np.float32),
             "fp16_acc": (np.float16, "*fp16", "*fp16", tl.float16, np.float16),
             "s8": (np.int8, "*i8", "*i32", tl.int32, np.int32)}
    for name, (dtype, ty, out, out_ty, out_np) in kinds.items():
        for number, (M, N, K, BM, BN, BK, warps) in enumerate(shapes):
            if number > 1 and name not in ("fp16", "e4m3"):
                continue
            for ta, tb in [(False, True), (True, False), (False, False)]:
                if (ta or not tb) and number:
                    continue
                x, y = ints((M, K)), ints((N, K))
                want = (x @ y.T).astype(out_np)
                signature = {"a": ty, "b": ty, "c": out, "M": "i32", "N": "i32", "K": "i32"}
                constants = {"BM": BM, "BN": BN, "BK": BK, "TA": ta, "TB": tb, "OUT": out_ty}
                ax, by = x.astype(dtype), y.astype(dtype)
                arrays = {"a": ax.T if ta else ax, "b": by if tb else by.T, "c": want.nbytes}
                add(f"matmul_{name}_{number}{'t' if ta else 'n'}{'t' if tb else 'n'}", matmul, signature, constants, arrays,
                    {"M": M, "N": N, "K": K}, {"c": want}, [M // BM, N // BN, 1], warps=warps)
    for name, fn, more in [("tma", matmul_tma, {}), ("ws", matmul_ws, {}), ("tma", matmul_tma, {"arch": 103})]:
        M, N, K, BM, BN, BK = 256, 256, 256, 128, 128, 64
        x, y = ints((M, K), -1, 2), ints((N, K), -1, 2)
        want = (x @ y.T).astype(np.float16)
        signature = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
        add(f"matmul_{name}", fn, signature, {"BM": BM, "BN": BN, "BK": BK},
            {"a": x.astype(np.float16), "b": y.astype(np.float16), "c": want.nbytes}, {"M": M, "N": N, "K": K},
            {"c": want}, [M // BM, N // BN, 1], stages=3, **more)


def block_scaled():
    for name, fa, fb, vec in [("mxf8", "e4m3", "e4m3", 32), ("mxf8_e5m2", "e5m2", "e4m3", 32), ("mxf4", "e2m1", "e2m1", 32),
                              ("nvf4", "e2m1", "e2m1", 16), ("mixed", "e4m3", "e2m1", 32)]:
        M, N, K, BM, BN, BK = 128, 128, 256, 128, 128, 128
        def pick(form, rows):
            if form == "e2m1":
                values = rng.choice([-1., -.5, 0, .5, 1, 2], (rows, K))
                raw = values.astype(ml.float4_e2m1fn).view(np.uint8).reshape(rows, K)
                return values, (raw[:, ::2] | raw[:, 1::2] << 4).astype(np.uint8), "*u8", 2
            dtype = ml.float8_e4m3fn if form == "e4m3" else ml.float8_e5m2
            values = rng.integers(-2, 3, (rows, K)).astype(float)
            return values, values.astype(dtype), "*fp8e4nv" if form == "e4m3" else "*fp8e5", 1
        x, ax, tx, px = pick(fa, M)
        y, by, ty, py = pick(fb, N)
        if vec == 32:
            sa, sb = rng.integers(126, 129, (M, K // vec)), rng.integers(126, 129, (N, K // vec))
            va, vb, st = 2.0 ** (sa - 127), 2.0 ** (sb - 127), "*u8"
            sa, sb = sa.astype(np.uint8), sb.astype(np.uint8)
        else:
            va, vb = rng.choice([.5, 1, 1.5], (M, K // vec)), rng.choice([.5, 1, 2], (N, K // vec))
            sa, sb, st = va.astype(ml.float8_e4m3fn), vb.astype(ml.float8_e4m3fn), "*fp8e4nv"
        want = ((x * np.repeat(va, vec, 1)) @ (y * np.repeat(vb, vec, 1)).T).astype(np.float32)
        signature = {"a": tx, "sa": st, "b": ty, "sb": st, "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
        constants = {"BM": BM, "BN": BN, "BK": BK, "FA": fa, "FB": fb, "PA": px, "PB": py, "VEC": vec}
        for arch in (100, 103):
            add(f"scaled_{name}", scaled, signature, constants,
                {"a": ax, "sa": sa, "b": by, "sb": sb, "c": want.nbytes}, {"M": M, "N": N, "K": K}, {"c": want}, [1, 1, 1],
                arch=arch)


def attentions():
    for warps, BN in [(4, 64), (8, 128)]:
        T, D = 256, 64
        q, k, v = ints((T, D), -1, 2), ints((T, D), -1, 2), ints((T, D), -2, 3)
        s = q @ k.T
        p = np.exp2(s - s.max(1, keepdims=True))
        want = (p.astype(np.float16).astype(float) @ v / p.sum(1, keepdims=True)).astype(np.float32)
        signature = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "o": "*fp32", "T": "i32"}
        add(f"attention_{warps}", attention, signature, {"BM": 128, "BN": BN, "D": D},
            {"q": q.astype(np.float16), "k": k.astype(np.float16), "v": v.astype(np.float16), "o": want.nbytes}, {"T": T},
            {"o": want}, [T // 128, 1, 1], warps=warps, compare={"f32_rel": 1e-2, "abs": 1e-3})


products()
block_scaled()
attentions()
ptxas = sys.argv[sys.argv.index("--ptxas") + 1] if "--ptxas" in sys.argv else None
for program in programs if ptxas else []:
    target = program["ptx"].split(".target ")[1].split()[0].rstrip(",")
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(program["ptx"])
        f.flush()
        run = subprocess.run([ptxas, "-arch=" + target, f.name, "-o", "/dev/null"], capture_output=True, text=True)
    if run.returncode:
        print(program["name"], run.stderr[:400])
with gzip.GzipFile(sys.argv[1], "wb", 9, mtime=0) as f:
    for program in programs:
        f.write((json.dumps(program, separators=(",", ":")) + "\n").encode())
print(len(programs), "programs,", os.path.getsize(sys.argv[1]), "bytes")
