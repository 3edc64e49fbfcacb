// Bulk copies into and out of shared memory.
#include "async.h"
extern "C" __global__ void k(const int* in, int* out, int tiles)
{
    __shared__ __align__(128) int s[2][64];
    __shared__ u64 bar[2];
    int t = threadIdx.x;
#if BUG <= 9 // a load at a time
    if (t == 0) {
        mbar_init(&bar[0], 1);
#if BUG != 9
        proxy_fence();
        mbar_fence();
#endif
    }
#if BUG == 8
    // Nothing: another warp waits at a barrier that may not be there.
#else
    __syncthreads();
#endif
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
        if (t == 0) {
            mbar_expect(&bar[0], 256);
            bulk_load(s[0], in + 64 * i, 256, &bar[0]);
        }
#if BUG == 1
        __syncthreads();
#elif BUG == 2
        mbar_wait(&bar[0], 0);
#elif BUG == 3
        mbar_wait(&bar[0], (i & 1) ^ 1);
#elif BUG == 4
        if (t == 0)
            mbar_wait(&bar[0], i & 1);
#else
        mbar_wait(&bar[0], i & 1);
#endif
        sum += s[0][t ^ 1];
#if BUG != 5
        __syncthreads();
#endif
    }
    out[t] = sum;
#elif BUG <= 16 // a store
    s[0][t] = in[t] + 1;
#if BUG != 11
    proxy_fence();
#endif
#if BUG != 12
    __syncthreads();
#endif
    if (t == 0) {
        bulk_store(out, s[0], 256);
#if BUG != 16
        bulk_commit();
#endif
#if BUG == 10 || BUG == 11 || BUG == 12 || BUG == 16
        bulk_wait_read<0>();
#elif BUG == 15
        bulk_wait<0>();
#endif
    }
#if BUG == 13 // another thread waits for what thread 0 issued
    if (t == 32)
        bulk_wait_read<0>();
#endif
    __syncthreads();
#if BUG != 15
    s[0][t] = 7; // the copy may still read
    out[64 + t] = s[0][t ^ 1 ^ 1];
#else
    out[64 + t] = s[0][t];
#endif
#elif BUG == 17 || BUG == 18 // a generic write, then a bulk write to the same place
    if (t == 0) {
        mbar_init(&bar[0], 1);
        mbar_fence();
    }
    s[0][t] = 5;
#if BUG == 18
    proxy_fence();
#endif
    __syncthreads();
    out[64 + t] = s[0][t ^ 3];
    __syncthreads();
    if (t == 0) {
#if BUG == 18
        proxy_fence();
#endif
        mbar_expect(&bar[0], 256);
        bulk_load(s[0], in, 256, &bar[0]);
    }
    mbar_wait(&bar[0], 0);
    out[t] = s[0][t];
#else // two buffers in turn, warp 0 loads ahead
    if (t == 0) {
        mbar_init(&bar[0], 1);
        mbar_init(&bar[1], 1);
        mbar_fence();
        proxy_fence();
        mbar_expect(&bar[0], 256);
        bulk_load(s[0], in, 256, &bar[0]);
    }
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
        if (t == 0 && i + 1 < tiles) {
            mbar_expect(&bar[(i + 1) & 1], 256);
            bulk_load(s[(i + 1) & 1], in + 64 * (i + 1), 256, &bar[(i + 1) & 1]);
        }
#if BUG == 20
        mbar_wait(&bar[i & 1], i & 1);
#elif BUG == 21
        mbar_wait(&bar[(i + 1) & 1], (i >> 1) & 1);
#else
        mbar_wait(&bar[i & 1], (i >> 1) & 1);
#endif
        sum += s[i & 1][t];
#if BUG != 22
        __syncthreads();
#endif
    }
    out[t] = sum;
#endif
}
