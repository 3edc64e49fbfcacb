"""Makes `blackwell.jsonl.gz`: programs with tcgen05, and what they must compute.

No GPU is needed. The expected results are computed here, from the layouts that the PTX manual (9.7.16) and CUTLASS
state, on small integers, whose sums are exact in any order. Usage: blackwell.py OUT.jsonl.gz [--ptxas PTXAS]
"""

import base64, gzip, json, os, subprocess, sys, tempfile, zlib
import numpy as np
import ml_dtypes as ml

rng = np.random.default_rng(20)
programs = []
LANES, COLUMNS = 128, 512


class Range:
    """Words that count up in both halves, of which a launch file has only the first and the last."""

    def __init__(self, *shape):
        count = int(np.prod(shape))
        self.words = (np.arange(count, dtype=np.uint64) * 65537).astype(np.uint32).reshape(shape)

    def init(self):
        return {"u32": {"range": [0, self.words.size * 65537, 65537]}}


def data(array):
    if isinstance(array, Range):
        return array.init()
    return {"zlib": base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()}


def add(name, ptx, args, buffers, expect, block=128, grid=1, cluster=None, smem=0, compare=None):
    """`args`: parameters in order: ("u64", x), ("u32", x) or the name of a buffer."""
    launch = {"kernel": "k", "grid": grid, "block": block,
              "args": [{"buffer": a} if isinstance(a, str) else {a[0]: int(a[1])} for a in args]}
    if smem:
        launch["dynamic_smem"] = smem
    if cluster:
        launch["cluster"] = cluster
    file = {"launches": [launch],
            "buffers": {n: ({"bytes": b} if isinstance(b, int) else {"init": data(b)}) for n, b in buffers.items()},
            "dump": sorted(expect), "expect": {n: data(e) for n, e in expect.items()}}
    if compare:
        file["compare"] = compare
    programs.append({"name": name, "ptx": ptx, "launch": file})


# ---------------------------------------------------------------- PTX

HEAD = """.version {version}
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 dyn[];

.visible .entry k({params})
{{
  .reg .pred %p, %q, %one;
  .reg .b32 %r<40>, %v<130>, %th, %warp, %lane, %ta, %tl, %s, %n, %x, %y, %red;
  .reg .b64 %rd<40>, %out, %in, %g;
  .shared .align 16 .b8 bar[16];
  .shared .align 16 .b32 slot[4];
  mov.u32 %th, %tid.x;
  shr.u32 %warp, %th, 5;
  and.b32 %lane, %th, 31;
"""

START = """  setp.ne.u32 %p, %th, 0;
  @%p bra INITED;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
INITED:
  setp.ne.u32 %p, %warp, 0;
  @%p bra ALLOCATED;
  tcgen05.alloc.cta_group::{g}.sync.aligned.shared::cta.b32 [slot], {columns};
  tcgen05.relinquish_alloc_permit.cta_group::{g}.sync.aligned;
ALLOCATED:
  bar.sync 0;
  ld.shared.b32 %ta, [slot];
  shl.b32 %tl, %warp, 21;
  add.u32 %tl, %tl, %ta;
"""

END = """  bar.sync 0;
  {sync}setp.ne.u32 %p, %warp, 0;
  @%p bra FREED;
  tcgen05.dealloc.cta_group::{g}.sync.aligned.b32 %ta, {columns};
FREED:
  ret;
}}
"""

CLUSTER_SYNC = "barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  "


def fill_shared(param, size):
    """All threads copy a buffer into dynamic shared memory."""
    return f"""  ld.param.u64 %in, [{param}];
  cvta.to.global.u64 %in, %in;
  mov.u32 %s, dyn;
  mov.u32 %n, %th;
FILL:
  setp.ge.u32 %p, %n, {size // 16};
  @%p bra FILLED;
  mul.wide.u32 %g, %n, 16;
  add.u64 %g, %g, %in;
  ld.global.v4.b32 {{%r0,%r1,%r2,%r3}}, [%g];
  shl.b32 %x, %n, 4;
  add.u32 %x, %x, %s;
  st.shared.v4.b32 [%x], {{%r0,%r1,%r2,%r3}};
  add.u32 %n, %n, 128;
  bra FILL;
FILLED:
  fence.proxy.async;
  bar.sync 0;
"""


def fill_tensor(param, columns):
    """Each thread stores the first columns of its lane."""
    return f"""  ld.param.u64 %in, [{param}];
  cvta.to.global.u64 %in, %in;
  mul.wide.u32 %g, %th, {columns * 4};
  add.u64 %in, %in, %g;
  mov.u32 %n, 0;
TFILL:
  ld.global.b32 %r0, [%in];
  add.u32 %x, %tl, %n;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%x], {{%r0}};
  add.u64 %in, %in, 4;
  add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, {columns};
  @%p bra TFILL;
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
"""


def dump_tensor(param, first, columns):
    """Each thread writes columns of its lane."""
    return f"""  ld.param.u64 %out, [{param}];
  cvta.to.global.u64 %out, %out;
  mul.wide.u32 %g, %th, {columns * 4};
  add.u64 %out, %out, %g;
  mov.u32 %n, 0;
DUMP:
  add.u32 %x, %tl, %n;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r0}}, [%x+{first}];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%out], %r0;
  add.u64 %out, %out, 4;
  add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, {columns};
  @%p bra DUMP;
"""


WAIT = """WAIT:
  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;
  @!%p bra WAIT;
  tcgen05.fence::after_thread_sync;
"""


def module(params, body, target="sm_100a", version="8.7", g=1, columns=512, sync=False):
    decl = ", ".join(f".param .{t} {n}" for n, t in params)
    return (HEAD.format(version=version, target=target, params=decl) + START.format(g=g, columns=columns) + body
            + END.format(g=g, columns=columns, sync=CLUSTER_SYNC if sync else ""))


# ---------------------------------------------------------------- loads and stores

def cell(shape, r, t):
    """(lane, column, second) of register r of thread t."""
    if shape == "32x32b":
        return t, r, 0
    if shape == "16x64b":
        return (t % 2) * 8 + t // 4, 2 * r + (t // 2) % 2, 0
    if shape == "16x128b":
        return (r % 2) * 8 + t // 4, (r // 2) * 4 + t % 4, 0
    if shape == "16x256b":
        return ((r // 2) % 2) * 8 + t // 4, (r // 4) * 8 + (t % 4) * 2 + r % 2, 0
    return t % 16, r, t // 16


PER = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


def registers(count, prefix="%v"):
    return "{" + ", ".join(f"{prefix}{i}" for i in range(count)) + "}"


def load_kernel(shape, num, packed, half, red=None):
    count = PER[shape] * num
    split = 37 if shape == "16x32bx2" else 0
    target, version = ("sm_103a", "8.8") if red else ("sm_100a", "8.7")
    op = f"tcgen05.ld.{'red.' if red else ''}sync.aligned.{shape}.x{num}"
    op += f".{red}" if red else (".pack::16b.b32" if packed else ".b32")
    dest = registers(count) + (", %red" if red else "")
    body = fill_tensor("in", 64 if red else 512)
    body += f"  add.u32 %x, %tl, {(half * 16 << 16) + 5};\n"
    body += f"  {op} {dest}, [%x+3]{', %d' % split if split else ''};\n  tcgen05.wait::ld.sync.aligned;\n"
    total = count + (1 if red else 0)
    body += f"""  ld.param.u64 %out, [out];
  cvta.to.global.u64 %out, %out;
  mul.wide.u32 %g, %warp, {total * 128};
  add.u64 %out, %out, %g;
  mul.wide.u32 %g, %lane, 4;
  add.u64 %out, %out, %g;
"""
    for r in range(count):
        body += f"  st.global.b32 [%out+{r * 128}], %v{r};\n"
    if red:
        body += f"  st.global.b32 [%out+{count * 128}], %red;\n"
    ptx = module([("in", "u64"), ("out", "u64")], body, target, version)
    return ptx, count, split, total


def loads():
    for shape in PER:
        nums = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n * PER[shape] <= 128]
        for packed in (False, True):
            for num in (nums[0], nums[-1] if not packed else nums[-2], nums[3]):
                half = 0 if shape == "32x32b" else (num % 3 == 1)
                given = Range(LANES, COLUMNS)
                tensor = given.words
                ptx, count, split, total = load_kernel(shape, num, packed, int(half))
                out = np.zeros((4, count, 32), np.uint32)
                for w in range(4):
                    for r in range(count):
                        for t in range(32):
                            lane, column, second = cell(shape, r, t)
                            lane += 32 * w + 16 * half
                            column = 8 + second * split + column * (2 if packed else 1)
                            if packed:
                                out[w, r, t] = (tensor[lane, column] & 0xffff) | (tensor[lane, column + 1] & 0xffff) << 16
                            else:
                                out[w, r, t] = tensor[lane, column]
                add(f"tcgen05_ld_{shape}_x{num}{'_pack' if packed else ''}", ptx, ["in", "out"],
                    {"in": given, "out": out.nbytes}, {"out": out})


def stores():
    for shape in PER:
        nums = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n * PER[shape] <= 128]
        for packed in (False, True):
            num = nums[2] if packed else nums[-3]
            half = 0 if shape == "32x32b" else 1
            count, split = PER[shape] * num, (40 if shape == "16x32bx2" else 0)
            columns = 96
            before, given = Range(LANES, columns), Range(4, count, 32)
            tensor, values = before.words, given.words
            body = fill_tensor("in", columns) + f"""  ld.param.u64 %in, [regs];
  cvta.to.global.u64 %in, %in;
  mul.wide.u32 %g, %warp, {count * 128};
  add.u64 %in, %in, %g;
  mul.wide.u32 %g, %lane, 4;
  add.u64 %in, %in, %g;
"""
            for r in range(count):
                body += f"  ld.global.b32 %v{r}, [%in+{r * 128}];\n"
            extra = f" {split}," if split else ""
            body += f"  add.u32 %x, %tl, {half * 16 << 16};\n"
            body += f"  tcgen05.st.sync.aligned.{shape}.x{num}{'.unpack::16b' if packed else ''}.b32 [%x+17],{extra} {registers(count)};\n"
            body += "  tcgen05.wait::st.sync.aligned;\n" + dump_tensor("out", 0, columns)
            ptx = module([("in", "u64"), ("regs", "u64"), ("out", "u64")], body)
            after = tensor.copy()
            for w in range(4):
                for r in range(count):
                    for t in range(32):
                        lane, column, second = cell(shape, r, t)
                        lane += 32 * w + 16 * half
                        column = 17 + second * split + column * (2 if packed else 1)
                        if packed:
                            after[lane, column] = values[w, r, t] & 0xffff
                            after[lane, column + 1] = values[w, r, t] >> 16
                        else:
                            after[lane, column] = values[w, r, t]
            add(f"tcgen05_st_{shape}_x{num}{'_unpack' if packed else ''}", ptx, ["in", "regs", "out"],
                {"in": before, "regs": given, "out": after.nbytes}, {"out": after})


def reductions():
    for shape, num, red in [("32x32b", 8, "max.f32"), ("32x32b", 32, "min.abs.f32"), ("16x32bx2", 4, "max.NaN.f32"),
                            ("32x32b", 2, "max.u32"), ("16x32bx2", 16, "min.s32"), ("32x32b", 4, "min.NaN.f32")]:
        floats = rng.integers(-30, 30, (LANES, 64)).astype(np.float32)
        floats[rng.random((LANES, 64)) < 0.02] = np.nan
        tensor = floats.view(np.uint32) if "f32" in red else Range(LANES, 64).words * np.uint32(0x9e3779b1)
        ptx, count, split, total = load_kernel(shape, num, False, 0, red)
        out = np.zeros((4, total, 32), np.uint32)
        for w in range(4):
            for t in range(32):
                words = []
                for r in range(count):
                    lane, column, second = cell(shape, r, t)
                    out[w, r, t] = tensor[32 * w + lane, 8 + second * split + column]
                    words.append(out[w, r, t])
                words = np.array(words, np.uint32)
                pick = np.max if red.startswith("max") else np.min
                if red.endswith("u32"):
                    result = np.uint32(pick(words))
                elif red.endswith("s32"):
                    result = np.int32(pick(words.view(np.int32))).view(np.uint32)
                else:
                    x = words.view(np.float32)
                    x = np.abs(x) if "abs" in red else x
                    if np.isnan(x).all() or "NaN" in red and np.isnan(x).any():
                        result = np.uint32(0x7fffffff)
                    else:
                        result = np.float32(pick(x[~np.isnan(x)])).view(np.uint32)
                out[w, count, t] = result
        add(f"tcgen05_ld_red_{shape}_x{num}_{red}", ptx, ["in", "out"], {"in": tensor, "out": out.nbytes}, {"out": out})


# ---------------------------------------------------------------- descriptors

SWIZZLE = {"none": (0, 16), "32": (6, 32), "64": (4, 64), "128": (2, 128), "128_32": (1, 128)}


def swizzled(mode, address):
    if mode == "128_32":
        return address ^ ((address >> 7 & 3) << 5)
    bits = {"none": 0, "32": 1, "64": 3, "128": 7}[mode]
    return address ^ ((address >> 7 & bits) << 4)


def strides(mode, k_major, mn_bytes_total, k, k_bytes, mn):
    """LBO and SBO of a compact matrix, and its size."""
    width = SWIZZLE[mode][1]
    if k_major:
        if mode == "none":
            lbo = (mn // 8) * 128 if mn >= 8 else 128
            return lbo, 128, lbo * max(1, k_bytes // 16)
        return 16, 8 * width, (mn // 8) * 8 * width
    if mode == "none":
        sbo = (max(k, 8) // 8) * 128
        return 128, sbo, sbo * (mn_bytes_total // 16)
    rows = 4 if mode == "128_32" else 8
    sbo = rows * width
    lbo = max(1, k // rows) * sbo
    return lbo, sbo, lbo * max(1, mn_bytes_total // width)


def offset(mode, k_major, lbo, sbo, mn, k, size):
    """The byte offset of an element of `size` bytes, before swizzling."""
    width = SWIZZLE[mode][1]
    if k_major:
        kb = k * size
        if mode == "none":
            return (mn % 8) * 16 + (mn // 8) * sbo + (kb // 16) * lbo + kb % 16
        return (mn % 8) * width + (mn // 8) * sbo + kb
    mb = mn * size
    if mode == "none":
        return (k % 8) * 16 + (k // 8) * lbo + (mb // 16) * sbo + mb % 16
    rows = 4 if mode == "128_32" else 8
    return (mb // width) * lbo + mb % width + (k % rows) * width + (k // rows) * sbo


def place(image, at, codes, mode, k_major):
    """Puts a matrix [mn, k] of element codes (any dtype) at an offset of the image, and returns LBO, SBO and the end."""
    size = codes.dtype.itemsize
    mn, k = codes.shape
    lbo, sbo, total = strides(mode, k_major, mn * size, k, k * size, mn)
    raw = codes.reshape(mn, k)
    for m in range(mn):
        for j in range(k):
            address = swizzled(mode, at + offset(mode, k_major, lbo, sbo, m, j, size))
            image[address:address + size] = np.frombuffer(raw[m, j].tobytes(), np.uint8)
    return lbo, sbo, at + total


def descriptor(at, lbo, sbo, mode):
    return (at >> 4) | (lbo >> 4) << 16 | (sbo >> 4) << 32 | 1 << 46 | SWIZZLE[mode][0] << 61


# ---------------------------------------------------------------- tcgen05.cp, shift

def copies():
    shapes = {"128x256b": (128, 2, ""), "128x128b": (128, 1, ""), "4x256b": (4, 2, ""),
              "64x128b": (64, 1, ".warpx2::02_13"), "64x128b_01": (64, 1, ".warpx2::01_23"),
              "32x128b": (32, 1, ".warpx4")}
    formats = ["", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"]
    for name, (rows, pieces, multicast) in shapes.items():
        for n, form in enumerate(formats):
            mode = "128" if name == "128x256b" and n == 0 else "none"
            source = rng.integers(0, 256, (rows, pieces * 16), dtype=np.uint8)
            image = np.zeros(32768, np.uint8)
            lbo, sbo, _ = place(image, 1024, source.view(np.uint64).view(np.uint8), mode, True)
            unpacked = source.copy()
            for r in range(rows):
                for p in range(pieces):
                    bits = int.from_bytes(source[r, p * 16:p * 16 + 16].tobytes(), "little")
                    if n == 1:
                        unpacked[r, p * 16:p * 16 + 16] = [bits >> 6 * i & 63 for i in range(16)]
                    if n == 2:
                        unpacked[r, p * 16:p * 16 + 16] = [(bits >> 4 * i & 15) << 2 for i in range(16)]
            words = unpacked.view(np.uint32)
            out = np.zeros((128, 16), np.uint32)
            for r in range(rows):
                to = {"128x256b": [r], "128x128b": [r], "4x256b": [31 + 32 * r], "64x128b": [r, r + 64],
                      "64x128b_01": [r % 32 + r // 32 * 64, r % 32 + r // 32 * 64 + 32],
                      "32x128b": [r, r + 32, r + 64, r + 96]}[name]
                for lane in to:
                    out[lane, 4:4 + pieces * 4] = words[r]
            lane = 31 << 16 if name == "4x256b" else 0
            body = fill_shared("image", len(image)) + fill_tensor("zero", 16) + f"""  setp.ne.u32 %p, %th, 0;
  @%p bra ISSUED;
  ld.param.u64 %rd0, [desc];
  mov.u32 %s, dyn;
  shr.u32 %s, %s, 4;
  cvt.u64.u32 %rd1, %s;
  add.u64 %rd0, %rd0, %rd1;
  add.u32 %x, %ta, {lane + 4};
  tcgen05.cp.cta_group::1.{name.split('_')[0]}{multicast}{form} [%x], %rd0;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
ISSUED:
""" + WAIT + dump_tensor("out", 0, 16)
            ptx = module([("image", "u64"), ("desc", "u64"), ("zero", "u64"), ("out", "u64")], body)
            add(f"tcgen05_cp_{name}{form}", ptx, ["image", ("u64", descriptor(1024, lbo, sbo, mode)), "zero", "out"],
                {"image": image, "zero": 128 * 64, "out": out.nbytes}, {"out": out}, smem=len(image))


def shift():
    tensor = rng.integers(0, 1 << 32, (LANES, 16), dtype=np.uint32)
    out = tensor.copy()
    out[32:63, 4:12] = tensor[33:64, 4:12]
    body = fill_tensor("in", 16) + f"""  setp.ne.u32 %p, %th, 0;
  @%p bra ISSUED;
  add.u32 %x, %ta, {32 << 16};
  tcgen05.shift.cta_group::1.down [%x+4];
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd5];
ISSUED:
""" + WAIT + dump_tensor("out", 0, 16)
    body = "  mov.u32 %x, bar;\n  cvt.u64.u32 %rd5, %x;\n  cvta.shared.u64 %rd5, %rd5;\n" + body
    ptx = module([("in", "u64"), ("out", "u64")], body)
    add("tcgen05_shift", ptx, ["in", "out"], {"in": tensor, "out": out.nbytes}, {"out": out})


# ---------------------------------------------------------------- tcgen05.mma

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


class Type:
    """A type of elements: its code in instruction descriptors and how values become bytes."""

    def __init__(self, name, code, dtype, size, values):
        self.name, self.code, self.dtype, self.size, self.values = name, code, dtype, size, values

    def pick(self, shape, whole=None):
        return rng.choice(np.array(whole if whole is not None else self.values, float), shape)


INTS = [-3, -2, -1, 0, 0, 1, 2, 3, 4]
F16 = Type("f16", 0, np.float16, 2, INTS)
BF16 = Type("bf16", 1, ml.bfloat16, 2, INTS)
TF32 = Type("tf32", 2, np.float32, 4, INTS)
E4M3 = Type("e4m3", 0, ml.float8_e4m3fn, 1, INTS)
E5M2 = Type("e5m2", 1, ml.float8_e5m2, 1, INTS)
E2M3T = Type("e2m3", 3, ml.float6_e2m3fn, "six", [-3, -1.5, 0, .5, 1, 2, 7])
E3M2T = Type("e3m2", 4, ml.float6_e3m2fn, "six", [-3, 0, .5, 1, 2, 4, -6])
E2M1T = Type("e2m1", 5, ml.float4_e2m1fn, "four", [-6, -.5, 0, .5, 1, 1.5, 4])
S8 = Type("s8", 1, np.int8, 1, range(-128, 128))
U8 = Type("u8", 0, np.uint8, 1, range(256))
MXF4 = Type("mxf4", 1, ml.float4_e2m1fn, "packed", list(E2M1[:8]) + [-1, -3])


def codes(ty, values):
    """Values [mn, k] as bytes or words of shared memory, [mn, k']."""
    if ty.size in ("six", "four"):
        raw = values.astype(ty.dtype).view(np.uint8).reshape(values.shape)
        mn, k = raw.shape
        out = np.zeros((mn, k), np.uint8)
        for m in range(mn):
            for p in range(k // 16):
                bits = 0
                for i in range(16):
                    bits |= int(raw[m, p * 16 + i]) << ((6 if ty.size == "six" else 4) * i)
                out[m, p * 16:p * 16 + 16] = np.frombuffer(bits.to_bytes(16, "little"), np.uint8)
        return out
    if ty.size == "packed":
        raw = values.astype(ty.dtype).view(np.uint8).reshape(values.shape)
        return (raw[:, ::2] | raw[:, 1::2] << 4).astype(np.uint8)
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[ty.size]
    return values.astype(ty.dtype).view(kind).reshape(values.shape)


def tensor_codes(ty, values):
    """Values [rows, k] as words of tensor memory."""
    if ty.size in ("six", "four"):
        raw = values.astype(ty.dtype).view(np.uint8).reshape(values.shape)
        raw = (raw << 2 if ty.size == "four" else raw).astype(np.uint8)
    else:
        raw = codes(ty, values)
    return np.ascontiguousarray(raw).view(np.uint8).reshape(len(raw), -1).view(np.uint32)


def d_cells(m_cta, n, layout, base_lane=0):
    """[(row, column) -> (lane, column)] of a CTA's D as two index arrays."""
    r, c = np.meshgrid(np.arange(m_cta), np.arange(n), indexing="ij")
    if layout in "AD":
        return r, c
    if layout in "BE":
        return r + 64 * (c // (n // 2)), c % (n // 2)
    if layout in "CF":
        return r % 16 + 32 * (r // 16) + base_lane, c
    return r + 32 * (c // (n // 4)), c % (n // 4)


def layout_of(m, ctas, ws, sparse):
    return {(32, 1): "G", (64, 1): "E" if ws else "F", (128, 1): "D", (128, 2): "C" if sparse else "B",
            (256, 2): "A"}[m, ctas]


def sparse_choice(k, chunk, rows):
    """Random metadata [rows, chunks] and the columns of stored elements [rows, k/2]."""
    count = k // chunk
    legal = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110]
    meta = rng.choice([0b1110, 0b0100] if chunk == 2 else legal, (rows, count))
    where = np.zeros((rows, k // 2), int)
    for r in range(rows):
        for c in range(count):
            bits = meta[r, c]
            lo, hi = bits & 3, bits >> 2 & 3
            if chunk == 2:
                where[r, c] = c * 2 + (1 if bits == 0b1110 else 0)
            elif chunk == 4:
                where[r, c * 2:c * 2 + 2] = [c * 4 + lo, c * 4 + hi]
            else:
                where[r, c * 4:c * 4 + 4] = [c * 8 + 2 * lo, c * 8 + 2 * lo + 1, c * 8 + 2 * hi, c * 8 + 2 * hi + 1]
    return meta, where


def meta_words(meta, chunk, bits, rows_lane, tensor, column, selector):
    """Writes metadata of rows whose lanes are given into a tensor image."""
    for r, lane in enumerate(rows_lane):
        word = 0
        for c, four in enumerate(meta[r]):
            word |= int(four) << 4 * c
        if bits >= 16:
            group = lane // 16 * 16
            within = lane % 16
            for half in range(2):
                at = group + within % 8 + 8 * half
                tensor[at, column + selector] |= np.uint32((word >> 16 * half & 0xffff) << (16 * (within // 8)))
        else:
            tensor[lane, column] = np.uint32(word & 0xffffffff)
            tensor[lane, column + 1] = np.uint32(word >> 32)


def mma(name, kind, a_ty, b_ty, d_ty, m, n, ctas=1, ws=False, sparse=False, a_tensor=False, trans=(0, 0), neg=(0, 0),
        modes=("128", "128"), adds=True, steps=2, scale=None, scale_d=None, disable=None, selector=0, base_lane=0,
        ids=(0, 0), saturate=0, mask=None, extra="", target="sm_100a", version="8.7", ashift=False, k96=False):
    """A kernel with `steps` products into one D, and what it computes."""
    dense = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}[kind]
    dense = 96 if k96 else dense
    k = dense * (2 if sparse else 1)
    stored = dense
    chunk = {"tf32": 2, "mxf4": 8, "mxf4nvf4": 8}.get(kind, 4)
    layout = layout_of(m, ctas, ws, sparse)
    rows = m // ctas
    shift_b = 0
    if mask:
        shift_b = mask >> 56 & 63
    shape_n = n + shift_b + (-(n + shift_b) % 8)
    # Values.
    A = [a_ty.pick((m, stored)) for _ in range(steps)]
    B = [b_ty.pick((shape_n * 1, k)) for _ in range(steps)]
    meta = where = None
    if sparse:
        both = [sparse_choice(k, chunk, m) for _ in range(steps)]
        meta, where = [x[0] for x in both], [x[1] for x in both]
    count = {None: 0, "1X": 1, "2X": 2, "4X": 4, "block32": 2 if kind != "mxf8f6f4" else 1, "block16": 4}[scale]
    sf8 = scale and not (kind == "mxf4nvf4" and count == 4 and ids != "e8")
    count = count * 3 // 2 if k96 else count
    if ids == "e8":
        ids, sf8 = (0, 0), True
    if scale:
        if sf8:
            SA, SB = [rng.integers(125, 130, (m, count)) for _ in range(steps)], [rng.integers(125, 130, (n, count)) for _ in range(steps)]
            fa = lambda s: 2.0 ** (s - 127.0)
        else:
            pool = np.array([0.5, 1, 1.5, 2, 3, 1.25]).astype(ml.float8_e4m3fn).view(np.uint8)
            SA, SB = [rng.choice(pool, (m, count)) for _ in range(steps)], [rng.choice(pool, (n, count)) for _ in range(steps)]
            fa = lambda s: s.astype(np.uint8).view(ml.float8_e4m3fn).astype(float)
    out_kind = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[d_ty]
    D0 = rng.integers(-8, 9, (m, n)).astype(float)
    # Images of both memories of each CTA.
    images, tensors = [np.zeros(1 << 18, np.uint8) for _ in range(ctas)], [np.zeros((LANES, COLUMNS), np.uint32) for _ in range(ctas)]
    parts = {"B": 2, "E": 2, "G": 4}.get(layout, 1)
    width = n // parts
    a_col, meta_col, sfa_col, sfb_col = 256, 320, 352, 384
    words0 = D0.astype(out_kind)
    words0 = words0.view(np.uint32) if d_ty != "f16" else words0.view(np.uint16).astype(np.uint32)
    descs = []
    cells = d_cells(rows, n, layout, base_lane)
    for c in range(ctas):
        tensors[c][cells[0], cells[1]] = words0[c * rows:(c + 1) * rows]
        at = 1024
        for s in range(steps):
            mine = A[s][c * rows:(c + 1) * rows]
            lbo = sbo = 0
            start = at
            if not a_tensor:
                lbo, sbo, at = place(images[c], at, codes(a_ty, mine), modes[0], not trans[0])
                at = (at + 1023) // 1024 * 1024
            else:
                words = tensor_codes(a_ty, mine)
                lanes = d_cells(rows, parts, layout, base_lane)[0]
                for part in range(parts):
                    tensors[c][lanes[:, part], a_col + 8 * s:a_col + 8 * s + words.shape[1]] = words
            a_desc = descriptor(start, lbo, sbo, modes[0])
            nb = shape_n // ctas if ctas == 2 else shape_n
            cols = B[s][c * (n // ctas):(c + 1) * (n // ctas)] if ctas == 2 else B[s]
            start = at
            lbo, sbo, at = place(images[c], at, codes(b_ty, cols), modes[1], not trans[1])
            at = (at + 1023) // 1024 * 1024
            if c == 0:
                descs.append((a_desc, descriptor(start, lbo, sbo, modes[1])))
            if sparse:
                lanes = d_cells(rows, parts, layout, base_lane)[0]
                bits = {"f16": 16, "tf32": 32}.get(kind, 8)
                for part in range(parts):
                    meta_words(meta[s][c * rows:(c + 1) * rows], chunk, bits, lanes[:, part], tensors[c],
                               meta_col + 4 * s, selector)
            if scale:
                for q in range(4):
                    for r in range(rows):
                        for i in range(count):
                            # Scales beyond the fourth are behind those of all rows.
                            column = sfa_col + 8 * s + r // 32 + (ids[0] + i) // 4 * -(-rows // 128) * 4
                            tensors[c][32 * q + r % 32, column] |= np.uint32(int(SA[s][c * rows + r, i]) << 8 * ((ids[0] + i) % 4))
                    part = q * parts // 4
                    for j in range(width):
                        for i in range(count):
                            column = sfb_col + 8 * s + j // 32 + (ids[1] + i) // 4 * -(-width // 128) * 4
                            tensors[c][32 * q + j % 32, column] |= np.uint32(int(SB[s][part * width + j, i]) << 8 * ((ids[1] + i) % 4))
        assert at <= 200 << 10, (name, at)
        images[c] = images[c][:at]
    # The result.
    D = D0.copy() if adds else np.zeros((m, n))
    for s in range(steps):
        a = A[s] * (-1 if neg[0] else 1)
        if ashift:
            moved = a.copy()
            for r in range(m):
                if r % 32 != 31:
                    moved[r] = a[r + 1]
            a = moved
        b = B[s][shift_b:shift_b + n] * (-1 if neg[1] else 1)
        if mask and mask >> 39 & 1:
            b = b.copy()
            for j in range(n):
                pieces = 128 // m
                part, local = j // (n // pieces), j % (n // pieces)
                skip, use = (mask >> 40 & 255) + 1, (mask >> 48 & 255) + 1
                start = mask >> 8 * part & 255
                position = (local + start) % (skip + use)
                if (position < skip) if mask >> (32 + part) & 1 else (position >= use):
                    b[j] = 0
        if sparse:
            full = np.zeros((m, k))
            for r in range(m):
                np.add.at(full[r], where[s][r], a[r])
            a = full
        if scale:
            a = a * np.repeat(fa(SA[s]), k // count, axis=1)
            b = b * np.repeat(fa(SB[s]), k // count, axis=1)
        d = D / 2.0 ** scale_d if scale_d else D
        D = a @ b.T + d
        if d_ty == "s32" and saturate:
            D = np.clip(D, -2.0 ** 31, 2.0 ** 31 - 1)
    result = [t.copy() for t in tensors]
    wanted = D.astype(np.int64).astype(np.int32) if d_ty == "s32" else D.astype(out_kind)
    assert d_ty == "s32" or np.array_equal(wanted.astype(float), D), name + " is not exact"
    words = wanted.view(np.uint32) if d_ty != "f16" else wanted.view(np.uint16).astype(np.uint32)
    for c in range(ctas):
        after = result[c].copy()
        after[cells[0], cells[1]] = words[c * rows:(c + 1) * rows]
        if disable is not None:
            for lane in range(LANES):
                if disable[4 * c + lane // 32] >> (lane % 32) & 1:
                    after[lane] = result[c][lane]
        result[c] = after
    # The instruction descriptor.
    if kind.startswith("mx"):
        idesc = (1 if sparse else 0) << 2 | ids[1] << 4 | a_ty.code << 7 | b_ty.code << 10
        idesc |= (1 if sf8 else 0) << 23 | (m >> 7) << 27 | ids[0] << 29 | (1 if k96 else 0) << 31
    else:
        idesc = (selector if sparse else 0) | (1 if sparse else 0) << 2 | saturate << 3
        idesc |= {"f16": 0, "f32": 1, "s32": 2}[d_ty] << 4 | a_ty.code << 7 | b_ty.code << 10 | (m >> 4) << 24
    idesc |= neg[0] << 13 | neg[1] << 14 | trans[0] << 15 | trans[1] << 16 | (n >> 3) << 17
    op = "tcgen05.mma" + (".ws" if ws else "") + (".sp" if sparse else "") + f".cta_group::{ctas}.kind::{kind}"
    if scale:
        op += ".block_scale" + f".{'scale_vec::' + scale if scale[-1] == 'X' else scale}"
    op += (".ashift" if ashift else "") + extra
    issue = ""
    for s in range(steps):
        first = f"[%x+{a_col + 8 * s}]" if a_tensor else f"%rd{4 * s}"
        parts_ = [f"[%x]", first, f"%rd{4 * s + 1}"]
        if sparse:
            parts_.append(f"[%x+{meta_col + 4 * s}]")
        parts_.append("%y")
        if scale:
            parts_ += [f"[%ta+{sfa_col + 8 * s}]", f"[%ta+{sfb_col + 8 * s}]"]
        if disable is not None:
            parts_.append("{" + ", ".join(f"%r{10 + i}" for i in range(len(disable))) + "}")
        parts_.append("%one" if (adds or s) else "%q")
        if mask is not None:
            parts_.append("%rd30")
        if scale_d is not None:
            parts_.append(str(scale_d))
        issue += f"  ld.param.u64 %rd{4 * s}, [a{s}];\n  add.u64 %rd{4 * s}, %rd{4 * s}, %rd20;\n"
        issue += f"  ld.param.u64 %rd{4 * s + 1}, [b{s}];\n  add.u64 %rd{4 * s + 1}, %rd{4 * s + 1}, %rd20;\n"
        issue += f"  {op} {', '.join(parts_)};\n"
    setup = "  setp.eq.u32 %one, 0, 0;\n  setp.ne.u32 %q, 0, 0;\n"
    if disable is not None:
        setup += "".join(f"  mov.b32 %r{10 + i}, {d};\n" for i, d in enumerate(disable))
    if mask is not None:
        setup += "  ld.param.u64 %rd30, [mask];\n"
    params = [("image", "u64"), ("tensor", "u64"), ("out", "u64"), ("idesc", "u32")]
    args = ["image", "tensor", "out", ("u32", idesc)]
    for s in range(steps):
        params += [(f"a{s}", "u64"), (f"b{s}", "u64")]
        args += [("u64", descs[s][0]), ("u64", descs[s][1])]
    if mask is not None:
        params.append(("mask", "u64"))
        args.append(("u64", mask))
    own = ""
    if ctas == 2:
        own = "  mov.u32 %x, %cluster_ctarank;\n"
    size = len(images[0])
    body = ""
    fill_s, fill_t, dump = fill_shared("image", size), fill_tensor("tensor", 512), dump_tensor("out", 0, width)
    if ctas == 2:
        move = lambda text, bytes_: text.replace("  cvta.to.global.u64 %in, %in;\n", f"  cvta.to.global.u64 %in, %in;\n  mov.u32 %y, %cluster_ctarank;\n  mul.wide.u32 %g, %y, {bytes_};\n  add.u64 %in, %in, %g;\n")
        fill_s, fill_t = move(fill_s, size), move(fill_t, 512 * 512)
        dump = dump.replace("  cvta.to.global.u64 %out, %out;\n", f"  cvta.to.global.u64 %out, %out;\n  mov.u32 %y, %cluster_ctarank;\n  mul.wide.u32 %g, %y, {512 * width};\n  add.u64 %out, %out, %g;\n")
    body = fill_s + fill_t
    if ctas == 2:
        body += "  " + CLUSTER_SYNC + "\n"
        body += "  mov.u32 %y, %cluster_ctarank;\n  setp.ne.u32 %p, %y, 0;\n  @%p bra ISSUED;\n"
    body += f"""  setp.ne.u32 %p, %th, 0;
  @%p bra ISSUED;
  mov.u32 %s, dyn;
  shr.u32 %s, %s, 4;
  cvt.u64.u32 %rd20, %s;
{setup}  ld.param.u32 %y, [idesc];
  add.u32 %x, %ta, {base_lane << 16};
{issue}"""
    if ctas == 2:
        body += "  mov.b16 %h, 3;\n  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], %h;\n"
    else:
        body += "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
    body += "ISSUED:\n" + WAIT + dump
    ptx = module(params, body, target, version, ctas, 512, ctas == 2)
    if ctas == 2:
        ptx = ptx.replace("  .reg .pred", "  .reg .b16 %h;\n  .reg .pred")
    image = np.concatenate(images)
    tensor, out = np.stack(tensors), np.stack(result)[:, :, :width]
    add("tcgen05_" + name, ptx, args, {"image": image, "tensor": tensor, "out": out.nbytes}, {"out": out},
        grid=ctas, cluster=ctas if ctas == 2 else None, smem=size)


def products():
    # Kinds and types.
    mma("mma_f16_f32", "f16", F16, F16, "f32", 128, 64)
    mma("mma_f16_f16", "f16", F16, F16, "f16", 128, 32, modes=("64", "32"))
    mma("mma_bf16_f32", "f16", BF16, BF16, "f32", 128, 256, modes=("none", "128"), steps=1)
    mma("mma_f16_bf16", "f16", F16, BF16, "f32", 128, 16, modes=("32", "64"))
    mma("mma_tf32", "tf32", TF32, TF32, "f32", 128, 48, modes=("128", "none"))
    fp = [E4M3, E5M2, E2M3T, E3M2T, E2M1T]
    for i, a in enumerate(fp):
        b = fp[(i * 2 + 1) % 5]
        mma(f"mma_f8f6f4_{a.name}_{b.name}", "f8f6f4", a, b, "f32", 128, 24 + 8 * i, modes=("128", "64"))
    mma("mma_f8f6f4_e2m1_e2m1", "f8f6f4", E2M1T, E2M1T, "f32", 64, 64, modes=("128", "128"))
    mma("mma_f8f6f4_e4m3_f16", "f8f6f4", E4M3, E4M3, "f16", 128, 64, modes=("32", "none"))
    for a, b in [(S8, S8), (U8, S8), (S8, U8), (U8, U8)]:
        mma(f"mma_i8_{a.name}_{b.name}", "i8", a, b, "s32", 128, 48, modes=("64", "128"))
    mma("mma_i8_saturate", "i8", S8, S8, "s32", 64, 16, saturate=1)
    # Rows, lanes, transposition, signs.
    mma("mma_m64", "f16", F16, F16, "f32", 64, 128)
    mma("mma_m64_lane16", "f16", F16, F16, "f32", 64, 40, base_lane=16)
    for mode in ("none", "32", "64", "128"):
        mma(f"mma_trans_f16_{mode}", "f16", F16, F16, "f32", 128, 64, trans=(1, 1), modes=(mode, mode))
        mma(f"mma_trans_e4m3_{mode}", "f8f6f4", E4M3, E5M2, "f32", 128, 128, trans=(1, 1), modes=(mode, mode))
    mma("mma_trans_a_i8", "i8", S8, U8, "s32", 128, 32, trans=(1, 0), modes=("128", "none"))
    mma("mma_trans_tf32", "tf32", TF32, TF32, "f32", 128, 32, trans=(1, 1), modes=("128_32", "128_32"))
    mma("mma_neg", "f16", F16, F16, "f32", 128, 64, neg=(1, 0))
    mma("mma_neg_both_e4m3", "f8f6f4", E4M3, E4M3, "f32", 128, 64, neg=(1, 1))
    mma("mma_neg_b_tf32", "tf32", TF32, TF32, "f32", 64, 8, neg=(0, 1))
    mma("mma_no_input_d", "f16", BF16, F16, "f32", 128, 72, adds=False)
    mma("mma_scale_d", "f16", F16, F16, "f32", 128, 32, scale_d=3, steps=1)
    mma("mma_scale_d_f16", "f16", F16, F16, "f16", 128, 32, scale_d=1, steps=1)
    mma("mma_scale_d_tf32", "tf32", TF32, TF32, "f32", 128, 32, scale_d=15, steps=1)
    mma("mma_disable", "f16", F16, F16, "f32", 128, 32, disable=[0x0000ffff, 0xf, 0x80000001, 0x12345678])
    # A in tensor memory, collectors, shift.
    mma("mma_a_tmem_f16", "f16", F16, F16, "f32", 128, 64, a_tensor=True)
    mma("mma_a_tmem_tf32_m64", "tf32", TF32, TF32, "f32", 64, 64, a_tensor=True, base_lane=16)
    mma("mma_a_tmem_e2m1", "f8f6f4", E2M1T, E4M3, "f32", 128, 64, a_tensor=True)
    mma("mma_a_tmem_e3m2", "f8f6f4", E3M2T, E2M3T, "f32", 128, 64, a_tensor=True)
    mma("mma_a_tmem_i8", "i8", U8, S8, "s32", 128, 64, a_tensor=True)
    mma("mma_ashift", "f16", F16, F16, "f32", 128, 64, a_tensor=True, ashift=True)
    mma("mma_collector", "f16", F16, F16, "f32", 128, 64, extra=".collector::a::fill")
    mma("mma_collector_lastuse", "tf32", TF32, TF32, "f32", 128, 64, extra=".collector::a::lastuse")
    # Scales.
    for a, b in [(E4M3, E4M3), (E5M2, E2M1T), (E2M3T, E3M2T)]:
        mma(f"mma_mxf8f6f4_{a.name}_{b.name}", "mxf8f6f4", a, b, "f32", 128, 64, scale="1X")
    mma("mma_mxf8f6f4_ids", "mxf8f6f4", E4M3, E5M2, "f32", 128, 160, scale="1X", ids=(3, 1))
    mma("mma_mxf8f6f4_block32_tmem", "mxf8f6f4", E2M1T, E4M3, "f32", 128, 48, scale="block32", a_tensor=True, target="sm_100f", version="8.8")
    mma("mma_mxf4_2X", "mxf4", MXF4, MXF4, "f32", 128, 64, scale="2X")
    mma("mma_mxf4_2X_ids", "mxf4", MXF4, MXF4, "f32", 128, 136, scale="2X", ids=(2, 0))
    mma("mma_mxf4_block32_tmem", "mxf4", MXF4, MXF4, "f32", 128, 16, scale="block32", a_tensor=True, target="sm_100f", version="8.8")
    mma("mma_mxf4nvf4_4X", "mxf4nvf4", MXF4, MXF4, "f32", 128, 64, scale="4X")
    mma("mma_mxf4nvf4_4X_ue8m0", "mxf4nvf4", MXF4, MXF4, "f32", 128, 64, scale="4X", ids="e8")
    mma("mma_mxf4nvf4_2X", "mxf4nvf4", MXF4, MXF4, "f32", 128, 32, scale="2X", ids=(0, 2), neg=(1, 0))
    mma("mma_mxf4nvf4_block16", "mxf4nvf4", MXF4, MXF4, "f32", 128, 256, scale="block16", steps=1, target="sm_100f", version="8.8")
    # Sparse A.
    mma("mma_sp_f16", "f16", F16, F16, "f32", 128, 64, sparse=True)
    mma("mma_sp_f16_sel", "f16", BF16, F16, "f32", 64, 32, sparse=True, selector=1)
    mma("mma_sp_tf32", "tf32", TF32, TF32, "f32", 128, 32, sparse=True)
    mma("mma_sp_e4m3", "f8f6f4", E4M3, E5M2, "f32", 128, 64, sparse=True)
    mma("mma_sp_i8_tmem", "i8", S8, S8, "s32", 128, 64, sparse=True, a_tensor=True)
    mma("mma_sp_mxf8f6f4", "mxf8f6f4", E4M3, E2M1T, "f32", 128, 64, sparse=True, scale="1X")
    mma("mma_sp_mxf4", "mxf4", MXF4, MXF4, "f32", 128, 64, sparse=True, scale="2X")
    mma("mma_sp_mxf4nvf4", "mxf4nvf4", MXF4, MXF4, "f32", 128, 64, sparse=True, scale="4X")
    # Two CTAs.
    mma("mma_2cta_m256", "f16", F16, F16, "f32", 256, 128, ctas=2)
    mma("mma_2cta_m128", "f16", BF16, BF16, "f32", 128, 64, ctas=2)
    mma("mma_2cta_m128_tmem", "f8f6f4", E4M3, E4M3, "f32", 128, 64, ctas=2, a_tensor=True)
    mma("mma_2cta_i8", "i8", S8, U8, "s32", 256, 64, ctas=2, modes=("none", "32"))
    mma("mma_2cta_tf32_trans", "tf32", TF32, TF32, "f32", 256, 64, ctas=2, trans=(0, 1), modes=("64", "128_32"))
    mma("mma_2cta_disable", "f16", F16, F16, "f32", 256, 32, ctas=2, disable=[1, 2, 3, 4, 0xf0, 0, 0x80000000, 0xffff])
    mma("mma_2cta_sp", "f16", F16, F16, "f32", 128, 64, ctas=2, sparse=True)
    mma("mma_2cta_mxf8f6f4", "mxf8f6f4", E4M3, E4M3, "f32", 256, 64, ctas=2, scale="1X")
    mma("mma_2cta_mxf4_m128", "mxf4", MXF4, MXF4, "f32", 128, 64, ctas=2, scale="2X")
    mma("mma_2cta_mxf4nvf4", "mxf4nvf4", MXF4, MXF4, "f32", 256, 128, ctas=2, scale="4X")
    # Weight stationary.
    mma("mma_ws_m128", "f16", F16, F16, "f32", 128, 64, ws=True)
    mma("mma_ws_m64", "f16", F16, F16, "f32", 64, 128, ws=True)
    mma("mma_ws_m32", "f8f6f4", E4M3, E4M3, "f32", 32, 64, ws=True)
    mma("mma_ws_m32_i8", "i8", S8, S8, "s32", 32, 256, ws=True, extra=".collector::b2::fill")
    mma("mma_ws_m64_tmem", "tf32", TF32, TF32, "f32", 64, 64, ws=True, a_tensor=True)
    mma("mma_ws_mask", "f16", F16, F16, "f32", 128, 64, ws=True, mask=1 << 39 | 2 << 40 | 3 << 48)
    mma("mma_ws_mask_m32", "f16", F16, F16, "f32", 32, 128, ws=True, modes=("128", "none"),
        mask=1 << 24 | 2 << 16 | 1 << 8 | 3 << 32 | 1 << 39 | 2 << 40 | 3 << 48 | 2 << 56)
    mma("mma_ws_sp_m64", "f16", F16, F16, "f32", 64, 64, ws=True, sparse=True)
    mma("mma_ws_sp_i8", "i8", U8, S8, "s32", 128, 64, ws=True, sparse=True)
    # K = 96.
    long = {"k96": True, "target": "sm_103a", "version": "8.8"}
    mma("mma_k96_mxf4", "mxf4", MXF4, MXF4, "f32", 128, 64, scale="block32", **long)
    mma("mma_k96_mxf4_plain", "mxf4", MXF4, MXF4, "f32", 128, 136, scale="block32", modes=("none", "64"), steps=1, **long)
    mma("mma_k96_mxf4nvf4_16", "mxf4nvf4", MXF4, MXF4, "f32", 128, 128, scale="block16", **long)
    mma("mma_k96_mxf4nvf4_16_wide", "mxf4nvf4", MXF4, MXF4, "f32", 128, 256, scale="block16", steps=1, **long)
    mma("mma_k96_mxf4nvf4_32", "mxf4nvf4", MXF4, MXF4, "f32", 128, 32, scale="block32", neg=(0, 1), **long)
    mma("mma_k96_mxf4nvf4_tmem", "mxf4nvf4", MXF4, MXF4, "f32", 128, 64, scale="block16", a_tensor=True, steps=1, **long)
    mma("mma_k96_2cta_mxf4", "mxf4", MXF4, MXF4, "f32", 256, 64, ctas=2, scale="block32", **long)
    mma("mma_k96_2cta_mxf4nvf4", "mxf4nvf4", MXF4, MXF4, "f32", 256, 128, ctas=2, scale="block16", **long)


def allocation():
    """A warp waits for columns that another returns; addresses of two allocations."""
    body = """.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<8>, %warp;
  .reg .b64 %out;
  .shared .align 16 .b32 slot[4];
  mov.u32 %warp, %tid.x;
  shr.u32 %warp, %warp, 5;
  setp.ne.u32 %p, %warp, 0;
  @%p bra SECOND;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 128;
  bar.sync 0;
  nanosleep.u32 100;
  ld.shared.b32 %r0, [slot];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 256;
  bra JOIN;
SECOND:
  bar.sync 0;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+8], 256;
JOIN:
  bar.sync 0;
  ld.shared.v2.b32 {%r0, %r1}, [slot];
  ld.shared.b32 %r2, [slot+8];
  @!%p bra DONE;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 256;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
DONE:
  ld.param.u64 %out, [out];
  cvta.to.global.u64 %out, %out;
  sub.u32 %r1, %r1, %r0;
  sub.u32 %r2, %r2, %r0;
  st.global.v2.b32 [%out], {%r1, %r2};
  ret;
}
"""
    add("tcgen05_alloc_waits", body, ["out"], {"out": 8}, {"out": np.array([256, 0], np.uint32)}, block=64)


loads(); stores(); reductions(); copies(); shift(); allocation(); products()

out = sys.argv[1]
ptxas = sys.argv[sys.argv.index("--ptxas") + 1] if "--ptxas" in sys.argv else None
if ptxas:
    seen = set()
    for program in programs:
        if program["ptx"] in seen:
            continue
        seen.add(program["ptx"])
        target = program["ptx"].split(".target ")[1].split()[0]
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
            f.write(program["ptx"])
            f.flush()
            run = subprocess.run([ptxas, "-arch=" + target, f.name, "-o", "/dev/null"], capture_output=True, text=True)
        if run.returncode:
            print(program["name"], run.stderr[:400])
with gzip.GzipFile(out, "wb", 9, mtime=0) as f:
    for program in programs:
        f.write((json.dumps(program, separators=(",", ":")) + "\n").encode())
print(len(programs), "programs,", os.path.getsize(out), "bytes")
