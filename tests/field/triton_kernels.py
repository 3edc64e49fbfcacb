"""Triton kernels on softwarp's libcuda.so.1, compared with numpy. No torch, no GPU.

Run by triton.sh. Names of kernels as arguments choose some of them. The exit code is 0 if all passed.
"""

import ctypes
import sys
import time
import traceback

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name} returned {code}")


class Type(str):
    """A type by its name, with its size as descriptors ask for it."""

    itemsize = 0


class Tensor:
    """A device buffer with what Triton asks of an argument: data_ptr() and dtype."""

    def __init__(self, array):
        array = np.ascontiguousarray(array)
        self.shape, self.host_type, self.bytes = array.shape, array.dtype, array.nbytes
        self.dtype = Type(array.dtype.name)
        self.dtype.itemsize = array.dtype.itemsize
        self.address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(self.bytes, 1)))
        call("cuMemcpyHtoD_v2", self.address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(self.bytes))

    def data_ptr(self):
        return self.address.value

    def numpy(self):
        array = np.empty(self.shape, self.host_type)
        call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), self.address, ctypes.c_size_t(self.bytes))
        return array

    def __del__(self):
        cuda.cuMemFree_v2(self.address)


random = np.random.default_rng(1)


def floats(*shape, dtype="float32"):
    return random.standard_normal(shape, dtype="float32").astype(dtype)


def zeros(*shape, dtype="float32"):
    return Tensor(np.zeros(shape, dtype))


def close(actual, wanted, tolerance):
    np.testing.assert_allclose(actual.astype("float64"), wanted.astype("float64"), rtol=tolerance, atol=tolerance)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


def vector_add():
    n = 98_432
    x, y = floats(n), floats(n)
    out = zeros(n)
    add_kernel[(triton.cdiv(n, 1024),)](Tensor(x), Tensor(y), out, n, BLOCK=1024)
    np.testing.assert_array_equal(out.numpy(), x + y)


@triton.jit
def softmax_kernel(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * stride + at, mask=mask, other=-float("inf"))
    above = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, above / tl.sum(above, axis=0), mask=mask)


def softmax():
    x = floats(183, 781)
    out = zeros(*x.shape)
    softmax_kernel[(183,)](Tensor(x), out, 781, 781, BLOCK=1024)
    above = np.exp(x - x.max(1, keepdims=True))
    close(out.numpy(), above / above.sum(1, keepdims=True), 1e-6)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(
            a + rows[:, None] * K + (k + inner)[None, :],
            mask=(rows[:, None] < M) & ((k + inner)[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + (k + inner)[:, None] * N + columns[None, :],
            mask=((k + inner)[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        sum = tl.dot(left, right, sum, input_precision=PRECISION)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], sum, mask=mask)


def product(dtype, precision, tolerance, m=192, n=160, k=136, block=(64, 64, 32), **options):
    a, b = floats(m, k, dtype=dtype), floats(k, n, dtype=dtype)
    out = zeros(m, n)
    grid = (triton.cdiv(m, block[0]), triton.cdiv(n, block[1]))
    matmul_kernel[grid](
        Tensor(a), Tensor(b), out, m, n, k, BM=block[0], BN=block[1], BK=block[2], PRECISION=precision, **options
    )
    close(out.numpy(), a.astype("float64") @ b.astype("float64"), tolerance)


def matmul_half():
    product("float16", "tf32", 1e-3)


def matmul_half_large_block():
    product("float16", "tf32", 1e-3, m=256, n=256, k=128, block=(128, 128, 64), num_warps=8, num_stages=3)


def matmul_half_small_block():
    product("float16", "tf32", 1e-3, m=64, n=48, k=64, block=(16, 16, 16), num_warps=1)


def matmul_tf32():
    product("float32", "tf32", 5e-2)


def matmul_ieee():
    product("float32", "ieee", 1e-4, m=64, n=64, k=64, block=(32, 32, 16))


@triton.jit
def integer_kernel(a, b, c, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sum = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :])
        right = tl.load(b + inner[:, None] * N + columns[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


def matmul_int8():
    a, b = (random.integers(-128, 128, shape, dtype="int8") for shape in ((64, 128), (128, 64)))
    out = zeros(64, 64, dtype="int32")
    integer_kernel[(2, 2)](Tensor(a), Tensor(b), out, 128, 64, BM=32, BN=32, BK=64)
    np.testing.assert_array_equal(out.numpy(), a.astype("int32") @ b.astype("int32"))


@triton.jit
def descriptor_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(a.load([row, k]), b.load([k, column]), sum)
    c.store([row, column], sum.to(tl.float16))


def matmul_descriptor():
    """The tiles come and go by TMA, with descriptors that the host makes."""
    m, n, k = 256, 128, 192
    a, b = floats(m, k, dtype="float16"), floats(k, n, dtype="float16")
    out = zeros(m, n, dtype="float16")

    def tiles(tensor, block):
        rows, columns = tensor.shape
        return TensorDescriptor(tensor, [rows, columns], [columns, 1], list(block))

    arguments = tiles(Tensor(a), (128, 64)), tiles(Tensor(b), (64, 64)), tiles(out, (128, 64))
    descriptor_kernel[(m // 128, n // 64)](*arguments, k, BM=128, BN=64, BK=64, num_stages=3)
    close(out.numpy(), a.astype("float64") @ b.astype("float64"), 2e-2)


@triton.jit
def attention_kernel(q, k, v, out, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    start, head = tl.program_id(0), tl.program_id(1)
    base = head * N * D
    rows, inner = start * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + base + rows[:, None] * D + inner[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sum = tl.zeros((BM, D), tl.float32)
    end = (start + 1) * BM if CAUSAL else N
    for at in range(0, end, BN):
        columns = at + tl.arange(0, BN)
        keys = tl.load(k + base + columns[None, :] * D + inner[:, None])
        scores = tl.dot(query, keys) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp(scores - now[:, None])
        factor = tl.exp(most - now)
        total = total * factor + tl.sum(weights, 1)
        values = tl.load(v + base + columns[:, None] * D + inner[None, :])
        sum = tl.dot(weights.to(tl.float16), values, sum * factor[:, None])
        most = now
    tl.store(out + base + rows[:, None] * D + inner[None, :], (sum / total[:, None]).to(tl.float16))


def attention_of(causal):
    heads, n, d = 2, 128, 64
    q, k, v = (floats(heads, n, d, dtype="float16") for _ in range(3))
    out = zeros(heads, n, d, dtype="float16")
    attention_kernel[(n // 64, heads)](
        Tensor(q), Tensor(k), Tensor(v), out, d**-0.5, n, D=d, BM=64, BN=32, CAUSAL=causal
    )
    q, k, v = (it.astype("float64") for it in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) * d**-0.5
    if causal:
        scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    close(out.numpy(), weights / weights.sum(-1, keepdims=True) @ v, 4e-3)


def attention():
    attention_of(False)


def attention_causal():
    attention_of(True)


@triton.jit
def layer_norm_kernel(x, out, weight, bias, means, scales, N, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sum = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, N, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        sum += tl.load(x + row * N + columns, mask=columns < N, other=0.0)
    mean = tl.sum(sum, axis=0) / N
    sum = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, N, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        value = tl.load(x + row * N + columns, mask=columns < N, other=0.0)
        apart = tl.where(columns < N, value - mean, 0.0)
        sum += apart * apart
    scale = 1 / tl.sqrt(tl.sum(sum, axis=0) / N + epsilon)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for at in range(0, N, BLOCK):
        columns = at + tl.arange(0, BLOCK)
        mask = columns < N
        value = tl.load(x + row * N + columns, mask=mask, other=0.0)
        w, b = tl.load(weight + columns, mask=mask), tl.load(bias + columns, mask=mask)
        tl.store(out + row * N + columns, (value - mean) * scale * w + b, mask=mask)


def layer_norm():
    m, n = 37, 1151
    x, w, b = floats(m, n), floats(n), floats(n)
    out, means, scales = zeros(m, n), zeros(m), zeros(m)
    layer_norm_kernel[(m,)](Tensor(x), out, Tensor(w), Tensor(b), means, scales, n, 1e-5, BLOCK=512)
    mean = x.mean(1, dtype="float64", keepdims=True)
    scale = 1 / np.sqrt(x.var(1, dtype="float64", keepdims=True) + 1e-5)
    close(means.numpy(), mean[:, 0], 1e-5)
    close(scales.numpy(), scale[:, 0], 1e-5)
    close(out.numpy(), (x - mean) * scale * w + b, 1e-4)


@triton.jit
def histogram_kernel(x, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(counts + values % BINS, 1, mask=at < n)


def atomics():
    n = 5000
    x = random.integers(0, 1 << 20, n, dtype="int32")
    counts = zeros(32, dtype="int32")
    histogram_kernel[(triton.cdiv(n, 256),)](Tensor(x), counts, n, BINS=32, BLOCK=256)
    np.testing.assert_array_equal(counts.numpy(), np.bincount(x % 32, minlength=32))


@triton.jit
def scan_kernel(x, sums, sorted_to, largest, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * BLOCK + at)
    tl.store(sums + row * BLOCK + at, tl.cumsum(values, 0))
    tl.store(sorted_to + row * BLOCK + at, tl.sort(values))
    tl.store(largest + row, tl.argmax(values, 0))


def scan_and_sort():
    x = random.integers(-10_000, 10_000, (7, 256), dtype="int32")
    sums, ordered, largest = zeros(7, 256, dtype="int32"), zeros(7, 256, dtype="int32"), zeros(7, dtype="int32")
    scan_kernel[(7,)](Tensor(x), sums, ordered, largest, BLOCK=256)
    np.testing.assert_array_equal(sums.numpy(), np.cumsum(x, 1))
    np.testing.assert_array_equal(ordered.numpy(), np.sort(x, 1))
    np.testing.assert_array_equal(largest.numpy(), np.argmax(x, 1))


@triton.jit
def math_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    result = tl.sin(value) + tl.log(tl.abs(value) + 1.0) * tl.math.erf(value) - tl.sqrt(value * value + 1.0)
    tl.store(out + at, result, mask=at < n)


def math():
    from math import erf

    x = floats(3000)
    out = zeros(3000)
    math_kernel[(3,)](Tensor(x), out, 3000, BLOCK=1024)
    wide = x.astype("float64")
    wanted = np.sin(wide) + np.log(np.abs(wide) + 1) * np.vectorize(erf)(wide) - np.sqrt(wide * wide + 1)
    close(out.numpy(), wanted, 1e-5)


@triton.jit
def dropout_kernel(x, out, n, seed, chance, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    keep = tl.rand(seed, at) > chance
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=mask) / (1 - chance), 0.0), mask=mask)


def dropout():
    x = np.ones(8192, "float32")
    first, again, other = zeros(8192), zeros(8192), zeros(8192)
    for out, seed in ((first, 7), (again, 7), (other, 8)):
        dropout_kernel[(8,)](Tensor(x), out, 8192, seed, 0.25, BLOCK=1024)
    first, again, other = first.numpy(), again.numpy(), other.numpy()
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert 0.72 < (first != 0).mean() < 0.78, (first != 0).mean()


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def several_warps():
    x = floats(4096)
    for warps in (1, 2, 4, 8, 16, 32):
        out = zeros(4096)
        double_kernel[(4,)](Tensor(x), out, 4096, BLOCK=1024, num_warps=warps)
        np.testing.assert_array_equal(out.numpy(), x * 2)


KERNELS = [
    vector_add, softmax, matmul_half, matmul_half_large_block, matmul_half_small_block, matmul_tf32, matmul_ieee,
    matmul_int8, matmul_descriptor, attention, attention_causal, layer_norm, atomics, scan_and_sort, math, dropout, several_warps,
]  # fmt: skip


def main():
    triton.runtime.driver.active.get_current_device()
    wanted = sys.argv[1:]
    failed = 0
    chosen = [kernel for kernel in KERNELS if not wanted or kernel.__name__ in wanted]
    for kernel in chosen:
        start = time.time()
        try:
            kernel()
            result = "ok"
        except Exception:
            traceback.print_exc()
            failed += 1
            result = "FAILED"
        print(f"{kernel.__name__:28} {result:7} {time.time() - start:6.1f} s", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
