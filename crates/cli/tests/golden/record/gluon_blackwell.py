"""Makes `gluon_blackwell.jsonl.gz`: kernels in Gluon for sm_100a and sm_103a, and what they must compute.

No GPU is needed: Triton compiles for any target, and the expected results are computed here, on small integers.
Usage: gluon_blackwell.py OUT.jsonl.gz [--ptxas PTXAS]
"""

import base64, gzip, json, os, re, subprocess, sys, tempfile, zlib
import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, allocate_tensor_memory, fence_async_shared, mbarrier, tcgen05_commit, tcgen05_copy, tcgen05_mma)

rng = np.random.default_rng(11)
programs = []


def data(array):
    return {"zlib": base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()}


def add(name, fn, signature, constants, arrays, expect, arch=100, warps=4):
    full = {**signature, **{n: "constexpr" for n in constants}}
    try:
        kernel = triton.compile(GluonASTSource(fn, full, constants, {}), target=GPUTarget("cuda", arch, 32),
                                options={"num_warps": warps})
    except Exception as error:
        print(name, "is not compiled:", str(error)[:600])
        return
    ptx = kernel.asm["ptx"].replace(os.path.dirname(os.path.abspath(__file__)), "/record")
    ptx = ptx.replace(os.path.dirname(os.path.dirname(triton.__file__)), "/site-packages")
    meta = kernel.metadata
    buffers = {n: {"bytes": v} if isinstance(v, int) else {"init": data(v)} for n, v in arrays.items()}
    buffers["scratch"] = {"bytes": max(128, getattr(meta, "global_scratch_size", 0))}
    args = [{"buffer": n} for n in signature] + [{"buffer": "scratch"}, {"buffer": "scratch"}]
    needed = re.search(r"\.reqntid (\d+)", ptx)
    threads = int(needed.group(1)) if needed else meta.num_warps * 32
    launch = {"kernel": meta.name, "grid": 1, "block": threads, "dynamic_smem": meta.shared, "args": args}
    file = {"launches": [launch], "buffers": buffers, "dump": sorted(expect),
            "expect": {n: data(e) for n, e in expect.items()}}
    print(name, sorted(set(re.findall(r"tcgen05\.[a-z]+\S*", ptx)))[:9])
    programs.append({"name": f"gluon/{name}_sm{arch}", "ptx": ptx, "launch": file})


@gluon.jit
def product(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, WARPS: gl.constexpr):
    """One product, both factors in shared memory."""
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [WARPS, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    m = gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    n = gl.arange(0, N, layout=gl.SliceLayout(1, rows))
    k = gl.arange(0, K, layout=gl.SliceLayout(0, rows))
    x = gl.allocate_shared_memory(gl.float16, [M, K], shared, gl.load(a + m[:, None] * K + k[None, :]))
    y = gl.allocate_shared_memory(gl.float16, [N, K], shared, gl.load(b + n[:, None] * K + k[None, :]))
    tensor: gl.constexpr = TensorMemoryLayout([M, N], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [M, N], tensor)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    fence_async_shared()
    tcgen05_mma(x, y.permute((1, 0)), acc, use_acc=False)
    tcgen05_mma(x, y.permute((1, 0)), acc, use_acc=True)
    tcgen05_commit(bar)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    result = acc.load()
    out: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [WARPS, 1], [1, 0])
    result = gl.convert_layout(result, out)
    om = gl.arange(0, M, layout=gl.SliceLayout(1, out))
    on = gl.arange(0, N, layout=gl.SliceLayout(0, out))
    gl.store(c + om[:, None] * N + on[None, :], result)


@gluon.jit
def in_tensor_memory(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, WARPS: gl.constexpr):
    """A is in tensor memory, and D is added to what was stored there."""
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [WARPS, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    m = gl.arange(0, M, layout=gl.SliceLayout(1, rows))
    n = gl.arange(0, N, layout=gl.SliceLayout(1, rows))
    k = gl.arange(0, K, layout=gl.SliceLayout(0, rows))
    layout_a: gl.constexpr = TensorMemoryLayout([M, K], col_stride=1)
    x = allocate_tensor_memory(gl.float16, [M, K], layout_a)
    lhs = gl.load(a + m[:, None] * K + k[None, :])
    x.store(gl.convert_layout(lhs, x.get_reg_layout()))
    y = gl.allocate_shared_memory(gl.float16, [N, K], shared, gl.load(b + n[:, None] * K + k[None, :]))
    tensor: gl.constexpr = TensorMemoryLayout([M, N], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [M, N], tensor)
    acc.store(gl.full([M, N], 3.0, gl.float32, layout=acc.get_reg_layout()))
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    fence_async_shared()
    tcgen05_mma(x, y.permute((1, 0)), acc, use_acc=True, mbarriers=[bar])
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    out: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [WARPS, 1], [1, 0])
    result = gl.convert_layout(acc.load(), out)
    om = gl.arange(0, M, layout=gl.SliceLayout(1, out))
    on = gl.arange(0, N, layout=gl.SliceLayout(0, out))
    gl.store(c + om[:, None] * N + on[None, :], result)


@gluon.jit
def largest(a, c, top, M: gl.constexpr, N: gl.constexpr):
    """Loads with a reduction of each row (sm_103)."""
    tensor: gl.constexpr = TensorMemoryLayout([M, N], col_stride=1)
    cells = allocate_tensor_memory(gl.float32, [M, N], tensor)
    layout: gl.constexpr = cells.get_reg_layout()
    m = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    n = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    cells.store(gl.load(a + m[:, None] * N + n[None, :]))
    values, most = cells.load_max()
    gl.store(c + m[:, None] * N + n[None, :], values)
    gl.store(top + gl.arange(0, M, layout=most.type.layout), most)


def ints(shape, low=-2, high=3):
    return rng.integers(low, high, shape).astype(np.float32)


for M, N, K, warps in [(128, 64, 64, 4), (64, 32, 64, 4), (128, 128, 128, 8)]:
    x, y = ints((M, K)), ints((N, K))
    half = {"a": x.astype(np.float16), "b": y.astype(np.float16), "c": M * N * 4}
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32"}
    sizes = {"M": M, "N": N, "K": K, "WARPS": warps}
    add(f"product_{M}x{N}x{K}", product, signature, sizes, half, {"c": 2 * (x @ y.T)}, warps=warps)
    add(f"in_tensor_memory_{M}x{N}x{K}", in_tensor_memory, signature, sizes, half, {"c": x @ y.T + 3}, warps=warps)
values = ints((128, 64), -999, 999)
add("largest", largest, {"a": "*fp32", "c": "*fp32", "top": "*fp32"}, {"M": 128, "N": 64},
    {"a": values, "c": values.nbytes, "top": 128 * 4}, {"c": values, "top": values.max(1)}, arch=103)
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
