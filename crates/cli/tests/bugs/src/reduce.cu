// Sum of a block's elements in shared memory.
extern "C" __global__ void k(const int* in, int* out, int n)
{
    __shared__ int s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
#if BUG == 6
    if (i < n)
        s[t] = in[i];
#else
    s[t] = i < n ? in[i] : 0;
#endif
#if BUG != 3
    __syncthreads();
#endif
    for (int step = 64; step > 0; step >>= 1) {
        if (t < step) {
#if BUG == 5
            s[t] += s[t + step + 1];
#else
            s[t] += s[t + step];
#endif
#if BUG == 2
            __syncthreads();
#endif
        }
#if BUG == 4
        if (step > 32)
            __syncthreads();
#elif BUG != 1 && BUG != 2
        __syncthreads();
#endif
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
