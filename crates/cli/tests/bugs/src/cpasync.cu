// A block goes through an array by cp.async, with STAGES buffers.
#include "async.h"
#ifndef STAGES
#define STAGES 1
#endif
extern "C" __global__ void k(const int* in, int* out, int tiles)
{
    __shared__ __align__(16) int s[STAGES][64];
    int t = threadIdx.x, sum = 0;
#if STAGES == 1
    for (int i = 0; i < tiles; i++) {
        copy4(&s[0][t], &in[64 * i + t]);
#if BUG != 4
        commit();
#endif
#if BUG == 2
        wait<1>();
#elif BUG == 4
        wait<0>();
        asm volatile("" ::: "memory");
#elif BUG != 1
        wait<0>();
#endif
#if BUG != 3
        __syncthreads();
#endif
        sum += s[0][t ^ 1];
#if BUG != 5
        __syncthreads();
#endif
    }
#else
    for (int i = 0; i < STAGES - 1; i++) {
        copy4(&s[i][t], &in[64 * i + t]);
        commit();
    }
    for (int i = 0; i < tiles; i++) {
        int ahead = i + STAGES - 1;
#if BUG == 6 // the buffer that is read is filled again
        if (ahead < tiles)
            copy4(&s[(ahead + 1) % STAGES][t], &in[64 * ahead + t]);
#else
        if (ahead < tiles)
            copy4(&s[ahead % STAGES][t], &in[64 * ahead + t]);
#endif
        commit();
#if BUG == 7 // one too many may be open
        wait<STAGES>();
#else
        wait<STAGES - 1>();
#endif
#if BUG != 8
        __syncthreads();
#endif
        sum += s[i % STAGES][t ^ 33];
#if BUG != 9 // others may still read what the next turn fills
        __syncthreads();
#endif
    }
#endif
    out[t] = sum;
}
