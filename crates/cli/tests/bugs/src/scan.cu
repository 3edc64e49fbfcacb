// Scans: one block by Hillis and Steele, and many blocks by looking back.
extern "C" __global__ void k(const int* in, int* out, int* status, int* sums)
{
    __shared__ int s[2][64];
    __shared__ int before;
    int t = threadIdx.x, b = blockIdx.x;
    s[0][t] = in[b * 64 + t];
    __syncthreads();
    int from = 0;
#if BUG == 1 // in place, one barrier in each turn
    for (int d = 1; d < 64; d *= 2) {
        if (t >= d)
            s[0][t] += s[0][t - d];
        __syncthreads();
    }
#elif BUG == 2 // two buffers, no barrier
    for (int d = 1; d < 64; d *= 2) {
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        from = 1 - from;
    }
    __syncthreads();
#elif BUG == 3 // a control: in place, two barriers
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[0][t - d] : 0;
        __syncthreads();
        s[0][t] += v;
        __syncthreads();
    }
#else
    for (int d = 1; d < 64; d *= 2) {
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        from = 1 - from;
        __syncthreads();
    }
#endif
    if (t == 0) {
        int all = 0;
        if (b > 0) {
            while (*(volatile int*)&status[b - 1] == 0) {}
#if BUG != 5
            __threadfence();
#endif
            all = sums[b - 1];
        }
        sums[b] = all + s[from][63];
#if BUG != 4
        __threadfence();
#endif
        *(volatile int*)&status[b] = 1;
        before = all;
    }
#if BUG != 6
    __syncthreads();
#endif
    out[b * 64 + t] = before + s[from][t];
}
