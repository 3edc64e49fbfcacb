"""A small program of each client of the Python package, compared with NumPy. No GPU.

    python -m softwarp python_clients.py CLIENT...
    python python_clients.py --import CLIENT...

With --import, softwarp.cuda is imported before the client. Clients: numba, cuda_core, tinygrad, pycuda, cupy. Run by
python_clients.sh. Triton's programs are in triton_kernels.py.
"""

import os
import sys
import traceback

import numpy as np


def numba():
    from numba import cuda

    @cuda.jit
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] += a * x[i]

    @cuda.reduce
    def total(a, b):
        return a + b

    x = np.arange(1000, dtype=np.float32)
    y = cuda.to_device(np.ones(1000, np.float32))
    saxpy[8, 128](np.float32(2), cuda.to_device(x), y)
    assert (y.copy_to_host() == 2 * x + 1).all()
    assert total(x.astype(np.float64)) == x.sum()


def cuda_core():
    from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream = device.create_stream()
    source = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, size_t n)
{
    size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x;
    if (i < n)
        y[i] += a * x[i];
}"""
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    kernel = Program(source, "c++", options).compile("cubin").get_kernel("saxpy")
    memory = LegacyPinnedMemoryResource()
    buffers = [memory.allocate(4000, stream=stream) for _ in range(2)]
    x, y = (np.from_dlpack(one).view(np.float32) for one in buffers)
    x[:], y[:] = np.arange(1000), 1
    launch(stream, LaunchConfig(grid=8, block=128), kernel, np.float32(2), *buffers, np.uint64(1000))
    stream.sync()
    assert (y == 2 * x + 1).all()


def tinygrad():
    os.environ.setdefault("DEV", "CUDA:PTX")
    from tinygrad import Tensor

    a = np.random.default_rng(0).standard_normal((64, 64), dtype=np.float32)
    sums = (Tensor(a) @ Tensor(a)).relu().sum(axis=1).numpy()
    assert np.allclose(sums, np.maximum(a @ a, 0).sum(1), atol=1e-2)


def pycuda():
    import pycuda.autoinit  # noqa: F401
    import pycuda.driver
    import pycuda.gpuarray
    from pycuda.compiler import SourceModule

    twice = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }").get_function("twice")
    x = np.arange(64, dtype=np.float32)
    y = x.copy()
    twice(pycuda.driver.InOut(y), block=(64, 1, 1))
    assert (y == 2 * x).all()
    assert ((pycuda.gpuarray.to_gpu(x) * 3 + 1).get() == 3 * x + 1).all()


def cupy():
    import cupy

    x = cupy.arange(1000, dtype=cupy.float32)
    assert float((x * 2 + 1).sum()) == float((np.arange(1000) * 2 + 1).sum())


CLIENTS = (numba, cuda_core, tinygrad, pycuda, cupy)


def main():
    wanted = sys.argv[1:]
    if "--import" in wanted:
        import softwarp.cuda  # noqa: F401
    failed = 0
    for client in CLIENTS:
        if client.__name__ in wanted:
            try:
                client()
                print(f"{client.__name__:12} ok")
            except Exception:
                traceback.print_exc()
                print(f"{client.__name__:12} failed")
                failed += 1
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
