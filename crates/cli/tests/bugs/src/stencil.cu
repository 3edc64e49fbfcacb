// Three-point stencil with a halo in shared memory, in several steps over two buffers.
extern "C" __global__ void k(const int* in, int* out, int n)
{
    __shared__ int s[66];
    __shared__ int next[66];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t + 1] = in[i];
    if (t == 0) {
        s[0] = i > 0 ? in[i - 1] : 0;
#if BUG != 4
        s[65] = i + 64 < n ? in[i + 64] : 0;
#endif
    }
#if BUG != 1
    __syncthreads();
#endif
    for (int step = 0; step < 2; step++) {
#if BUG == 5
        next[t + 3] = s[t] + s[t + 1] + s[t + 2];
#else
        next[t + 1] = s[t] + s[t + 1] + s[t + 2];
#endif
#if BUG != 2
        __syncthreads();
#endif
        s[t + 1] = next[t + 1];
#if BUG != 3
        __syncthreads();
#endif
    }
#if BUG == 6
    out[i] = s[65 - t] + next[t];
#else
    out[i] = s[64 - t];
#endif
}
