// Blocks that share global memory.
#include <cuda/atomic>
extern "C" __global__ void k(int* data, int* out, int n)
{
    int t = threadIdx.x, b = blockIdx.x, i = b * 32 + t;
#if BUG == 0 // a control: each block its own part
    data[i] = i;
    __syncthreads();
    out[i] = data[b * 32 + (31 - t)];
#elif BUG == 1 // the block's barrier does not order blocks
    data[i] = i;
    __syncthreads();
    out[i] = data[(i + 32) % (32 * gridDim.x)];
#elif BUG == 2 // all blocks add
    data[t] += i;
#elif BUG == 3 // a control
    atomicAdd(&data[t], i);
#elif BUG == 4 // atomics and plain reads
    atomicAdd(&data[t], i);
    out[i] = data[t];
#elif BUG == 5 // atomics elsewhere order nothing
    data[t] = i;
    atomicAdd(&out[64], 1);
    __threadfence();
    out[t & 1] = data[t ^ 1];
#elif BUG == 6 // atomics of a block's scope
    atomicAdd_block(&data[t], i);
#elif BUG == 7 // a control: maximum by compare and swap
    int old = atomicCAS(&data[0], -1, -1);
    while (old < i) {
        int seen = atomicCAS(&data[0], old, i);
        if (seen == old)
            break;
        old = seen;
    }
#elif BUG == 8 // the maximum with a plain store
    if (atomicCAS(&data[0], -1, -1) < i)
        data[0] = i;
#elif BUG == 9 // overlapping parts, off by one
    data[b * 31 + t] = i;
#elif BUG == 10 // a control: volatile flag and data
    if (t == 0) {
        if (b == 0)
            *(volatile int*)&data[0] = 5;
        else
            out[b] = *(volatile int*)&data[0];
    }
#elif BUG == 11 // fences order nothing without a flag
    if (t == 0) {
        if (b == 0) {
            data[0] = 5;
            __threadfence();
        } else {
            __threadfence();
            out[b] = data[0];
        }
    }
#elif BUG == 12 // a control: double-checked by acquire
    cuda::atomic_ref<int, cuda::thread_scope_device> once(data[0]);
    if (t == 0) {
        int seen = 0;
        if (once.load(cuda::memory_order_acquire) == 0 && once.compare_exchange_strong(seen, 1, cuda::memory_order_acq_rel)) {
            data[1] = 77;
            once.store(2, cuda::memory_order_release);
        }
        while (once.load(cuda::memory_order_acquire) != 2) {}
        out[b] = data[1];
    }
#endif
    (void)n;
}
