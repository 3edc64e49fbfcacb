// The last block to finish adds up what all blocks found.
__device__ unsigned count;
#if BUG == 4
extern "C" __global__ void k(const int* in, volatile int* partial, int* out)
#else
extern "C" __global__ void k(const int* in, int* partial, int* out)
#endif
{
    __shared__ bool last;
    int sum = 0;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 16; i++)
            sum += in[blockIdx.x * 16 + i];
        partial[blockIdx.x] = sum;
#if BUG == 2
        __threadfence_block();
#elif BUG != 1
        __threadfence();
#endif
#if BUG == 3
        unsigned before = atomicAdd_block(&count, 1);
#else
        unsigned before = atomicAdd(&count, 1);
#endif
#if BUG != 4 && BUG != 1
        __threadfence();
#endif
        last = before == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int i = 0; i < gridDim.x; i++)
            total += partial[i];
        *out = total;
    }
#if BUG == 5
    // Everyone looks, without the barrier that follows the write of `last` in the next round.
    if (threadIdx.x == 0)
        last = false;
    if (last)
        out[1] = 1;
#endif
}
