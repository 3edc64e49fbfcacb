// Block 0 makes data, block 1 waits for a flag and reads them.
#include <cuda/atomic>
#if BUG == 3
#define WAIT while (atomicAdd(flag, 0) == 0) {}
#else
#define WAIT while (*(volatile int*)flag == 0) {}
#endif
extern "C" __global__ void k(int* data, int* flag, int* out)
{
    int t = threadIdx.x;
#if BUG <= 4
    if (t != 0)
        return;
    if (blockIdx.x == 0) {
        data[0] = 42;
#if BUG == 4
        __threadfence_block();
#elif BUG != 1
        __threadfence();
#endif
#if BUG == 3
        flag[0] = 1;
#else
        *(volatile int*)flag = 1;
#endif
    } else {
        WAIT
#if BUG != 2
        __threadfence();
#endif
        out[0] = data[0];
    }
#elif BUG >= 5 && BUG <= 8
#if BUG == 7
    cuda::atomic_ref<int, cuda::thread_scope_block> ready(*flag);
#else
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
#endif
    if (t != 0)
        return;
    if (blockIdx.x == 0) {
        data[0] = 42;
#if BUG == 6
        ready.store(1, cuda::memory_order_relaxed);
#else
        ready.store(1, cuda::memory_order_release);
#endif
    } else {
#if BUG == 8
        while (ready.load(cuda::memory_order_relaxed) == 0) {}
#else
        while (ready.load(cuda::memory_order_acquire) == 0) {}
#endif
        out[0] = data[0];
    }
#else
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[t] = t + 42;
#if BUG != 11
        __syncthreads();
#endif
        if (t == 0)
            ready.store(1, cuda::memory_order_release);
    } else {
        if (t == 0)
            while (ready.load(cuda::memory_order_acquire) == 0) {}
#if BUG != 10
        __syncthreads();
#endif
        out[t] = data[t ^ 1];
    }
#endif
}
