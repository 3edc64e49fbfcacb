// A histogram of bytes, in shared memory and then in global memory.
extern "C" __global__ void k(const unsigned char* in, unsigned* out, int n)
{
    __shared__ unsigned s[64];
    int t = threadIdx.x;
    s[t] = 0;
#if BUG != 2
    __syncthreads();
#endif
    for (int i = blockIdx.x * 64 + t; i < n; i += 64 * gridDim.x) {
#if BUG == 1
        s[in[i] & 63]++;
#else
        atomicAdd(&s[in[i] & 63], 1);
#endif
    }
#if BUG != 3
    __syncthreads();
#endif
#if BUG == 4
    out[t] += s[t];
#elif BUG == 5
    atomicAdd_block(&out[t], s[t]);
#else
    atomicAdd(&out[t], s[t]);
#endif
}
